//! Four pairs of bodies in lanes.

use super::Wide;
pub(in crate::contact) use crate::math::lanes::Vector;
pub(super) use crate::math::lanes::dot;
use glam::DVec3;
use wide::f64x4;

/// Hat coordinates of both bodies of four pairs.
type Lanes = [[f64x4; 6]; 2];

/// Four pairs of bodies that touch.
#[derive(Clone, Copy)]
pub(in crate::contact) struct Pair {
    pub bodies: [[u32; 4]; 2],
    /// The normals, and two directions across each.
    pub directions: [Vector; 3],
    pub inv_sqrt_mass: [f64x4; 2],
    /// 1/m_a + 1/m_b: how much a push changes the velocity of b against a.
    pub inverse_mass: f64x4,
    /// The mass that they have against each other; none if nothing moves.
    mass: f64x4,
}

/// How two bodies move against each other: all that contacts see of them.
#[derive(Clone, Copy)]
pub(in crate::contact) struct Against {
    /// Velocity of b's centre of mass against a's.
    pub linear: Vector,
    /// Angular hat coordinates of a and b.
    pub angular: [Vector; 2],
}

impl Pair {
    pub fn new(bodies: [[u32; 4]; 2], directions: [Vector; 3], inv_sqrt_mass: [f64x4; 2]) -> Pair {
        let [a, b] = inv_sqrt_mass;
        let (zero, inverse_mass) = (f64x4::splat(0.0), a.mul_add(a, b * b));
        let mass = inverse_mass.simd_gt(zero).select(f64x4::splat(1.0) / inverse_mass, zero);
        Pair { bodies, directions, inv_sqrt_mass, inverse_mass, mass }
    }

    #[inline(always)]
    pub fn gather(&self, u: &[Wide]) -> Lanes {
        self.bodies.map(|b| gather(u, &b))
    }

    #[inline(always)]
    pub fn against(&self, lanes: &Lanes) -> Against {
        let ([a, b], [sa, sb]) = (lanes, self.inv_sqrt_mass);
        Against {
            linear: std::array::from_fn(|c| b[c] * sb - a[c] * sa),
            angular: lanes.map(|side| [side[3], side[4], side[5]]),
        }
    }

    /// Gives bodies with the coordinates `before` those with which they move as `after` says: what was pushed follows from how
    /// the velocity against each other has changed.
    #[inline(always)]
    pub fn scatter(&self, u: &mut [Wide], before: Lanes, after: &Against) {
        let was = self.against(&before).linear;
        let mut lanes = before;
        for c in 0..3 {
            let pushed = (after.linear[c] - was[c]) * self.mass;
            lanes[0][c] = (-pushed).mul_add(self.inv_sqrt_mass[0], lanes[0][c]);
            lanes[1][c] = pushed.mul_add(self.inv_sqrt_mass[1], lanes[1][c]);
            (lanes[0][3 + c], lanes[1][3 + c]) = (after.angular[0][c], after.angular[1][c]);
        }
        scatter(u, &self.bodies, &lanes);
    }

    /// Adds pushes, the linear one on b, to the hat coordinates of bodies, one after the other: lanes may have the same ones.
    #[inline(always)]
    pub fn add(&self, u: &mut [Wide], push: &Against) {
        for (side, sign) in [(0, f64x4::splat(-1.0)), (1, f64x4::splat(1.0))] {
            let scale = self.inv_sqrt_mass[side] * sign;
            let [[x, y, z], [a, b, c]] = [push.linear.map(|p| p * scale), push.angular[side]];
            add_lanes(u, &self.bodies[side], &[x, y, z, a, b, c]);
        }
    }
}

impl Against {
    pub fn none() -> Against {
        let zero = [f64x4::splat(0.0); 3];
        Against { linear: zero, angular: [zero; 2] }
    }

    /// Velocity along a row, of which `turns` are the angular parts.
    #[inline(always)]
    pub fn rate(&self, direction: &Vector, turns: &[Vector; 2]) -> f64x4 {
        let mut sums = [direction[0] * self.linear[0], turns[0][0] * self.angular[0][0]];
        sums[0] = direction[1].mul_add(self.linear[1], sums[0]);
        sums[1] = turns[0][1].mul_add(self.angular[0][1], sums[1]);
        sums[0] = direction[2].mul_add(self.linear[2], sums[0]);
        sums[1] = turns[0][2].mul_add(self.angular[0][2], sums[1]);
        let last = dot(&turns[1], &self.angular[1]);
        sums[0] + sums[1] + last
    }

    /// Adds to it along a row.
    #[inline(always)]
    pub fn push(&mut self, direction: &Vector, turns: &[Vector; 2], linear: f64x4, angular: f64x4) {
        for c in 0..3 {
            self.linear[c] = direction[c].mul_add(linear, self.linear[c]);
            self.angular[0][c] = turns[0][c].mul_add(angular, self.angular[0][c]);
            self.angular[1][c] = turns[1][c].mul_add(angular, self.angular[1][c]);
        }
    }
}

#[inline(always)]
pub(super) fn with_fourth(v: DVec3, fourth: f64) -> [f64; 4] {
    [v.x, v.y, v.z, fourth]
}

fn first_half(w: &Wide) -> [f64; 4] {
    [w[0], w[1], w[2], w[3]]
}

fn second_half(w: &Wide) -> [f64; 4] {
    [w[4], w[5], w[6], w[7]]
}

/// Numbers of four things, one thing to a lane.
#[inline(always)]
pub(super) fn in_lanes(rows: [[f64; 4]; 4]) -> [f64x4; 4] {
    f64x4::transpose(rows.map(f64x4::new))
}

/// Coordinates of four bodies, one to a lane.
#[inline(always)]
pub(super) fn gather(u: &[Wide], bodies: &[u32; 4]) -> [f64x4; 6] {
    let all = bodies.map(|b| u.get(b as usize).unwrap_or(&[0.0; 8]));
    let linear = in_lanes(all.map(first_half));
    let angular = in_lanes(all.map(second_half));
    [linear[0], linear[1], linear[2], angular[0], angular[1], angular[2]]
}

#[inline(always)]
pub(super) fn scatter(u: &mut [Wide], bodies: &[[u32; 4]; 2], lanes: &Lanes) {
    for (bodies, lanes) in bodies.iter().zip(lanes) {
        scatter_one(u, bodies, lanes);
    }
}

/// Two halves of the coordinates of each of four bodies.
#[inline(always)]
fn of_lanes(lanes: &[f64x4; 6]) -> [[[f64; 4]; 4]; 2] {
    let zero = f64x4::splat(0.0);
    [[lanes[0], lanes[1], lanes[2], zero], [lanes[3], lanes[4], lanes[5], zero]]
        .map(|half| f64x4::transpose(half).map(|l| l.to_array()))
}

#[inline(always)]
pub(super) fn scatter_one(u: &mut [Wide], bodies: &[u32; 4], lanes: &[f64x4; 6]) {
    let [linear, angular] = of_lanes(lanes);
    for l in 0..4 {
        if let Some(w) = u.get_mut(bodies[l] as usize) {
            w[..4].copy_from_slice(&linear[l]);
            w[4..].copy_from_slice(&angular[l]);
        }
    }
}

#[inline(always)]
fn add_lanes(u: &mut [Wide], bodies: &[u32; 4], lanes: &[f64x4; 6]) {
    let [linear, angular] = of_lanes(lanes);
    for l in 0..4 {
        if let Some(w) = u.get_mut(bodies[l] as usize) {
            (0..4).for_each(|s| w[s] += linear[l][s]);
            (0..4).for_each(|s| w[4 + s] += angular[l][s]);
        }
    }
}
