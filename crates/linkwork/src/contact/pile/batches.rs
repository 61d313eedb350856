//! Contacts in batches of four that share no body, one to a lane.

use super::{DEAD_BAND, FASTEST_PUSH, Frame, PUSH_OUT, Wide};
use crate::collide::Manifold;
use glam::DVec3;
use wide::f64x4;

/// A body that no contact moves: rows on it are zero.
const NOBODY: u32 = u32::MAX;
/// Colours: bits of a word. What finds no colour goes into batches of its own.
const COLOURS: usize = 64;

/// A manifold on its way into a batch.
#[derive(Clone, Copy)]
struct Waiting {
    number: u32,
    bodies: [u32; 2],
    points: u8,
    colour: u8,
    /// First of its points in `loose`.
    first: u32,
}

/// A contact point, before it is put in lanes: rows by direction and side.
#[derive(Clone, Copy)]
struct Loose {
    rows: [[Wide; 2]; 3],
    /// Drift along the three rows, gap.
    drift: [f64; 4],
    /// Impulses and friction.
    impulse: [f64; 4],
    /// Inverse mobility along and across, mobility along, restitution.
    inverse: [f64; 4],
    across: [DVec3; 2],
}

/// A lane that is empty: nothing moves, nothing is near.
const EMPTY: Loose = Loose {
    rows: [[[0.0; 8]; 2]; 3],
    drift: [0.0, 0.0, 0.0, 1.0],
    impulse: [0.0; 4],
    inverse: [0.0; 4],
    across: [DVec3::ZERO; 2],
};

/// Four points in lanes.
#[derive(Clone, Copy)]
pub(in crate::contact) struct Point {
    pub rows: [[[f64x4; 6]; 2]; 3],
    pub drift: [f64x4; 3],
    pub gap: f64x4,
    /// Gap by now.
    now: f64x4,
    target: f64x4,
    inverse: [f64x4; 2],
    mobility: f64x4,
    pub friction: f64x4,
    pub impulse: [f64x4; 3],
    total: [f64x4; 3],
    restitution: f64x4,
    approach: f64x4,
}

#[derive(Clone, Copy)]
struct Batch {
    bodies: [[u32; 4]; 2],
    first: u32,
    points: u32,
}

/// The contacts of a pile.
#[derive(Default)]
pub(in crate::contact) struct Batches {
    loose: Vec<Loose>,
    waiting: Vec<Waiting>,
    batches: Vec<Batch>,
    points: Vec<Point>,
    /// Of each lane of each point: manifold, number of the point in it, tangents.
    names: Vec<[(u32, u32); 4]>,
    across: Vec<[[DVec3; 2]; 4]>,
    /// By body: colours taken.
    taken: Vec<u64>,
    order: Vec<u32>,
    bouncy: bool,
}

impl Batches {
    pub fn clear(&mut self) {
        self.loose.clear();
        self.waiting.clear();
        self.batches.clear();
        self.points.clear();
        self.names.clear();
        self.across.clear();
        self.bouncy = false;
    }

    pub fn add(
        &mut self,
        number: u32,
        manifold: &Manifold,
        bodies: [Option<u32>; 2],
        drift: [DVec3; 4],
        frames: &[Frame],
    ) {
        let n = manifold.normal;
        let (t1, t2) = n.any_orthonormal_pair();
        let first = self.loose.len() as u32;
        for (point, drift) in manifold.points().iter().zip(drift) {
            let mut rows = [[[0.0; 8]; 2]; 3];
            let mut response = [[0.0; 3]; 3];
            for (side, body) in bodies.iter().enumerate().filter_map(|(s, b)| b.map(|b| (s, b))) {
                let frame = &frames[body as usize];
                let lever = point.position - frame.x;
                let sign = if side == 0 { -1.0 } else { 1.0 };
                let turn = frame.whitening.transpose();
                for (row, d) in rows.iter_mut().zip([n, t1, t2]) {
                    let linear = d * (sign * frame.inv_sqrt_mass);
                    let angular = turn * (lever.cross(d) * sign);
                    row[side] = [linear.x, linear.y, linear.z, 0.0, angular.x, angular.y, angular.z, 0.0];
                }
                for i in 0..3 {
                    for k in 0..=i {
                        response[i][k] += (0..8).map(|s| rows[i][side][s] * rows[k][side][s]).sum::<f64>();
                    }
                }
            }
            // tangents by the largest eigenvalue of their response
            let (a, b, c) = (response[1][1], response[2][1], response[2][2]);
            let largest = 0.5 * (a + c) + (0.25 * (a - c) * (a - c) + b * b).sqrt();
            let invert = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
            self.bouncy |= manifold.material.restitution > 0.0;
            let material = &manifold.material;
            self.loose.push(Loose {
                rows,
                drift: [drift.dot(n), drift.dot(t1), drift.dot(t2), point.gap],
                impulse: [point.impulse_n, point.impulse_t.dot(t1), point.impulse_t.dot(t2), material.friction],
                inverse: [invert(response[0][0]), invert(largest), response[0][0], material.restitution],
                across: [t1, t2],
            });
        }
        self.waiting.push(Waiting {
            number,
            bodies: bodies.map(|b| b.unwrap_or(NOBODY)),
            points: manifold.points().len() as u8,
            colour: 0,
            first,
        });
    }

    /// Puts all contacts into lanes, with impulses of one of `n` substeps. What is to be swept over is coloured, so that no
    /// batch has a body twice.
    pub fn prepare(&mut self, n: f64, coloured: bool) {
        if coloured {
            self.colour();
        }
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(0..self.waiting.len() as u32);
        let class = |points: u8| if points > 2 { 4 } else { points };
        order.sort_by_key(|&k| {
            let w = &self.waiting[k as usize];
            (w.colour, class(w.points), k)
        });
        let mut at = 0;
        while at < order.len() {
            let head = self.waiting[order[at] as usize];
            let same = |k: &u32| {
                let w = &self.waiting[*k as usize];
                w.colour == head.colour && class(w.points) == class(head.points)
            };
            // what found no colour shares no batch
            let most = if usize::from(head.colour) == COLOURS { 1 } else { 4 };
            let count = order[at..].iter().take(most).take_while(|k| same(k)).count();
            let members: [Option<Waiting>; 4] =
                std::array::from_fn(|l| (l < count).then(|| self.waiting[order[at + l] as usize]));
            self.push_batch(&members, usize::from(class(head.points)), n);
            at += count;
        }
        self.order = order;
    }

    fn push_batch(&mut self, members: &[Option<Waiting>; 4], points: usize, n: f64) {
        let bodies = [0, 1].map(|side| members.map(|m| m.map_or(NOBODY, |m| m.bodies[side])));
        self.batches.push(Batch { bodies, first: self.points.len() as u32, points: points as u32 });
        for p in 0..points {
            let named = members.map(|m| m.filter(|m| p < usize::from(m.points)));
            let loose = named.map(|m| m.map_or(&EMPTY, |m| &self.loose[m.first as usize + p]));
            let side = |r: usize, side: usize| -> [f64x4; 6] {
                let l = in_lanes(loose.map(|l| first_half(&l.rows[r][side])));
                let a = in_lanes(loose.map(|l| second_half(&l.rows[r][side])));
                [l[0], l[1], l[2], a[0], a[1], a[2]]
            };
            let [along, across, other, gap] = in_lanes(loose.map(|l| l.drift));
            let [normal, first, second, friction] = in_lanes(loose.map(|l| l.impulse));
            let [inverse_along, inverse_across, mobility, restitution] = in_lanes(loose.map(|l| l.inverse));
            let (zero, share) = (f64x4::splat(0.0), f64x4::splat(1.0 / n));
            self.points.push(Point {
                rows: [0, 1, 2].map(|r| [side(r, 0), side(r, 1)]),
                drift: [along, across, other],
                gap,
                now: zero,
                target: zero,
                inverse: [inverse_along, inverse_across],
                mobility,
                friction,
                impulse: [normal * share, first * share, second * share],
                total: [zero; 3],
                restitution,
                approach: zero,
            });
            self.names.push(named.map(|m| m.map_or((NOBODY, 0), |m| (m.number, p as u32))));
            self.across.push(loose.map(|l| l.across));
        }
    }

    /// Gives every contact the first colour that neither of its bodies has yet.
    fn colour(&mut self) {
        let bodies = self.waiting.iter().flat_map(|w| w.bodies).filter(|b| *b != NOBODY).max().map_or(0, |b| b + 1);
        self.taken.clear();
        self.taken.resize(bodies as usize, 0);
        for w in &mut self.waiting {
            let used = w.bodies.iter().filter(|b| **b != NOBODY).fold(0, |m, b| m | self.taken[*b as usize]);
            let colour = (!used).trailing_zeros() as usize;
            w.colour = colour as u8;
            if colour < COLOURS {
                for &b in w.bodies.iter().filter(|b| **b != NOBODY) {
                    self.taken[b as usize] |= 1 << colour;
                }
            }
        }
    }

    /// Bodies and points of every batch.
    pub fn iter(&self) -> impl Iterator<Item = (&[[u32; 4]; 2], &[Point])> {
        self.batches.iter().map(|b| (&b.bodies, &self.points[b.first as usize..(b.first + b.points) as usize]))
    }

    /// The same, with what goes with every point.
    pub fn with<'a, T>(&'a self, laws: &'a mut [T]) -> impl Iterator<Item = (&'a [[u32; 4]; 2], &'a [Point], &'a mut [T])> {
        let mut rest = laws;
        self.batches.iter().map(move |b| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(b.points as usize);
            rest = later;
            (&b.bodies, &self.points[b.first as usize..(b.first + b.points) as usize], now)
        })
    }

    /// Calls `visit` with every point and the bodies of its lanes.
    pub fn each_point(&self, mut visit: impl FnMut(&Point, &[[u32; 4]; 2])) {
        for (bodies, points) in self.iter() {
            points.iter().for_each(|p| visit(p, bodies));
        }
    }

    /// Of every point and lane: its manifold, its number in it, and the directions of its second and third row.
    pub fn names(&self) -> impl Iterator<Item = (&[(u32, u32); 4], &[[DVec3; 2]; 4])> {
        self.names.iter().zip(&self.across)
    }

    /// Begins a substep: gaps by now, and the impulses of the substep before.
    pub fn start(&mut self, u: &mut [Wide], way: &[Wide]) {
        let Batches { batches, points, bouncy, .. } = self;
        for batch in batches {
            let moved = batch.bodies.map(|b| gather(way, &b));
            let mut lanes = batch.bodies.map(|b| gather(u, &b));
            for point in &mut points[batch.first as usize..(batch.first + batch.points) as usize] {
                point.now = point.gap + rate(&point.rows[0], &moved);
                if *bouncy {
                    point.approach = point.approach.min(rate(&point.rows[0], &lanes) + point.drift[0]);
                }
            }
            for point in &points[batch.first as usize..(batch.first + batch.points) as usize] {
                for r in 0..3 {
                    push(&point.rows[r], point.impulse[r], &mut lanes);
                }
            }
            scatter(u, &batch.bodies, &lanes);
        }
    }

    /// Sets the velocities along the normals that are wanted.
    pub fn aim(&mut self, h_s: f64, biased: bool) {
        let (band, inverse) = (f64x4::splat(DEAD_BAND), f64x4::splat(1.0 / h_s));
        let zero = f64x4::splat(0.0);
        for p in &mut self.points {
            let open = (p.now - band).max(zero);
            p.target = -open * inverse;
            if biased {
                let deep = (-p.now - band).max(zero);
                p.target += (deep * inverse * f64x4::splat(PUSH_OUT)).min(f64x4::splat(FASTEST_PUSH));
            }
        }
    }

    /// One sweep, with or without friction; returns how much it changed any velocity at most, m/s.
    pub fn sweep(&mut self, u: &mut [Wide], friction: bool) -> f64 {
        let Batches { batches, points, .. } = self;
        let mut moved = f64x4::splat(0.0);
        for batch in batches {
            let points = &mut points[batch.first as usize..(batch.first + batch.points) as usize];
            let mut lanes = batch.bodies.map(|b| gather(u, &b));
            for point in points {
                if friction {
                    moved = moved.max(point.relax_across(&mut lanes));
                }
                moved = moved.max(point.relax_along(&mut lanes));
            }
            scatter(u, &batch.bodies, &lanes);
        }
        moved.to_array().into_iter().fold(0.0, f64::max)
    }

    /// Ends a substep.
    pub fn end(&mut self) {
        for p in &mut self.points {
            (0..3).for_each(|r| p.total[r] += p.impulse[r]);
        }
    }

    /// Whether anything may bounce.
    pub fn bounces(&self) -> bool {
        self.bouncy
    }

    /// Wants what came together to part with its restitution.
    pub fn aim_bounces(&mut self, slow: f64) {
        let zero = f64x4::splat(0.0);
        for p in &mut self.points {
            let pressed = p.total[0].simd_gt(zero);
            let fast = (-p.approach).simd_gt(f64x4::splat(slow));
            let wanted = -p.restitution * p.approach;
            p.target = (pressed & fast).select(wanted, zero);
            p.impulse = [zero; 3];
        }
    }

    pub fn each_impulse(&self, mut visit: impl FnMut(u32, usize, f64, DVec3)) {
        for ((point, names), across) in self.points.iter().zip(&self.names).zip(&self.across) {
            let total = point.total.map(|t| t.to_array());
            for l in (0..4).filter(|&l| names[l].0 != NOBODY) {
                let friction = across[l][0] * total[1][l] + across[l][1] * total[2][l];
                visit(names[l].0, names[l].1 as usize, total[0][l], friction);
            }
        }
    }
}

pub(in crate::contact) type Lanes = [[f64x4; 6]; 2];

impl Point {
    #[inline(always)]
    fn relax_along(&mut self, u: &mut Lanes) -> f64x4 {
        let v = rate(&self.rows[0], u) + self.drift[0];
        let old = self.impulse[0];
        let new = (old - (v - self.target) * self.inverse[0]).max(f64x4::splat(0.0));
        let change = new - old;
        self.impulse[0] = new;
        push(&self.rows[0], change, u);
        change.abs() * self.mobility
    }

    #[inline(always)]
    fn relax_across(&mut self, u: &mut Lanes) -> f64x4 {
        let v1 = rate(&self.rows[1], u) + self.drift[1];
        let v2 = rate(&self.rows[2], u) + self.drift[2];
        let (old1, old2) = (self.impulse[1], self.impulse[2]);
        let t1 = old1 - v1 * self.inverse[1];
        let t2 = old2 - v2 * self.inverse[1];
        let length = t1.mul_add(t1, t2 * t2).sqrt();
        let most = self.friction * self.impulse[0];
        let scale = length.simd_gt(most).select(most / length, f64x4::splat(1.0));
        let (new1, new2) = (scale * t1, scale * t2);
        let (d1, d2) = (new1 - old1, new2 - old2);
        (self.impulse[1], self.impulse[2]) = (new1, new2);
        push(&self.rows[1], d1, u);
        push(&self.rows[2], d2, u);
        d1.abs().max(d2.abs()) * self.mobility
    }
}

/// Velocity along a row in each lane.
#[inline(always)]
pub(in crate::contact) fn rate(row: &[[f64x4; 6]; 2], u: &Lanes) -> f64x4 {
    let mut sums = [row[0][0] * u[0][0], row[1][0] * u[1][0]];
    for c in 1..6 {
        sums[0] = row[0][c].mul_add(u[0][c], sums[0]);
        sums[1] = row[1][c].mul_add(u[1][c], sums[1]);
    }
    sums[0] + sums[1]
}

#[inline(always)]
pub(in crate::contact) fn push(row: &[[f64x4; 6]; 2], impulse: f64x4, u: &mut Lanes) {
    for side in 0..2 {
        for c in 0..6 {
            u[side][c] = row[side][c].mul_add(impulse, u[side][c]);
        }
    }
}

fn first_half(w: &Wide) -> [f64; 4] {
    [w[0], w[1], w[2], w[3]]
}

fn second_half(w: &Wide) -> [f64; 4] {
    [w[4], w[5], w[6], w[7]]
}

/// Numbers of four things, one thing to a lane.
#[inline(always)]
fn in_lanes(rows: [[f64; 4]; 4]) -> [f64x4; 4] {
    f64x4::transpose(rows.map(f64x4::new))
}

/// Coordinates of four bodies, one to a lane.
#[inline(always)]
pub(in crate::contact) fn gather(u: &[Wide], bodies: &[u32; 4]) -> [f64x4; 6] {
    let all = bodies.map(|b| u.get(b as usize).unwrap_or(&[0.0; 8]));
    let linear = in_lanes(all.map(first_half));
    let angular = in_lanes(all.map(second_half));
    [linear[0], linear[1], linear[2], angular[0], angular[1], angular[2]]
}

#[inline(always)]
fn scatter(u: &mut [Wide], bodies: &[[u32; 4]; 2], lanes: &Lanes) {
    for (bodies, lanes) in bodies.iter().zip(lanes) {
        scatter_one(u, bodies, lanes);
    }
}

#[inline(always)]
pub(super) fn scatter_one(u: &mut [Wide], bodies: &[u32; 4], lanes: &[f64x4; 6]) {
    let zero = f64x4::splat(0.0);
    let linear = f64x4::transpose([lanes[0], lanes[1], lanes[2], zero]);
    let angular = f64x4::transpose([lanes[3], lanes[4], lanes[5], zero]);
    for l in 0..4 {
        if let Some(w) = u.get_mut(bodies[l] as usize) {
            w[..4].copy_from_slice(&linear[l].to_array());
            w[4..].copy_from_slice(&angular[l].to_array());
        }
    }
}

/// Adds to four bodies, one after the other: they may be the same.
#[inline(always)]
pub(in crate::contact) fn add_lanes(u: &mut [Wide], bodies: &[u32; 4], lanes: &[f64x4; 6]) {
    let zero = f64x4::splat(0.0);
    let linear = f64x4::transpose([lanes[0], lanes[1], lanes[2], zero]).map(|l| l.to_array());
    let angular = f64x4::transpose([lanes[3], lanes[4], lanes[5], zero]).map(|l| l.to_array());
    for l in 0..4 {
        if let Some(w) = u.get_mut(bodies[l] as usize) {
            (0..4).for_each(|s| w[s] += linear[l][s]);
            (0..4).for_each(|s| w[4 + s] += angular[l][s]);
        }
    }
}
