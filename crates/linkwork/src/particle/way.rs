//! How far to go towards what a solve found (implicit.rs): backward Euler is the minimum of the energy of the step,
//!
//! Φ(v, y) = ½ (v − v₀)ᵀM(v − v₀) − h gᵀv + ½ |y|² + yᵀBᵀP_last + E(x₀ + h v),
//!
//! and a solve is a step of Newton's method towards it, in which parts of the Hessian are left out.

use super::ParticleSystem;
use super::force::outer;
use super::implicit::{Grip, Hold, Implicit, Surroundings};
use super::matrix::BlockMatrix;
use super::press::Press;
use super::rider::{Lever, Rider, Riders};
use super::solve::{curvature, follow_holds, go_on};
use crate::math::inertia::principal_axes;
use glam::{DMat3, DQuat, DVec3};

/// Energy beyond what the slopes of cloth predict, against what was gained, that calls for slopes taken anew.
const BEYOND: f64 = 0.25;
/// Energy that does not matter, against what the first solve of a step gained.
const NEGLIGIBLE: f64 = 0.01;
/// A solve of which this part would be too much is not followed any further.
const LEAST_SHARE: f64 = 1.0 / 256.0;
/// Motion that counts as none, m/s.
const STILL: f64 = 1e-3;
/// Energy that does not matter, against that of motion.
const SETTLED: f64 = 1e-6;
/// Part of what the system promises that may be lost to what it does not know.
const DESCENT: f64 = 0.9;

/// Sweeps over contacts that find how cloth can move as one.
const SWEEPS: usize = 8;

/// How attached particles move with their bodies about where these are expected at the end of the step: a body that turns by
/// h W carries a lever l to R l, so that the particle's velocity on the straight way there is V + (R l − l)/h, which changes by
/// (J dW) × R l, J the left Jacobian of the rotation. Bodies feel impulses through the transpose of the same: the slope of the
/// energy, and so what they gain is what particles lose.
pub(super) fn turn_levers(h: f64, around: &Surroundings, holds: &mut [Hold]) {
    for a in &around.attached {
        if let (Some(k), Hold::Attached { lever, drift, .. }) = (a.rider, &mut holds[a.particle]) {
            let w = around.riders.bodies[k].w;
            let end = DQuat::from_scaled_axis(w * h) * a.lever;
            *lever = Lever(Lever::at(end).0 * left_jacobian(w * h));
            *drift = a.place + (end - a.lever) / h - lever.velocity(w);
        }
    }
}

/// J(θ) = 1 + (1 − cos θ)/θ² [θ] + (θ − sin θ)/θ³ [θ]².
fn left_jacobian(turn: DVec3) -> DMat3 {
    let angle = turn.length();
    let cross = Lever::at(turn).0 * -1.0;
    let (first, second) = match angle < 1e-3 {
        true => (0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0),
        false => ((1.0 - angle.cos()) / angle.powi(2), (angle - angle.sin()) / angle.powi(3)),
    };
    DMat3::IDENTITY + cross * first + cross * cross * second
}

/// What a body that turns with what pulls on it resists: impulses P at the ends l of levers do −½ h P·(dW × (dW × l)) more than
/// their slope says. Only what is positive semidefinite: pushes that would turn it over are left out.
pub(super) fn resist_turning(h: f64, work: &Implicit, holds: &[Hold], around: &mut Surroundings, v: &[DVec3]) {
    let product = work.product(v, holds, &around.riders);
    around.riders.bodies.iter_mut().for_each(|b| b.turning = DMat3::ZERO);
    for a in &around.attached {
        if let Some(k) = a.rider {
            let body = &mut around.riders.bodies[k];
            let pull = (work.right[a.particle] - product[a.particle]) * h;
            let end = DQuat::from_scaled_axis(body.w * h) * a.lever;
            body.turning += DMat3::IDENTITY * pull.dot(end) - (outer(pull, end) + outer(end, pull)) * 0.5;
        }
    }
    for body in around.riders.bodies.iter_mut().filter(|b| b.turning != DMat3::ZERO) {
        let (moments, axes) = principal_axes(body.turning);
        let axes = DMat3::from_quat(axes);
        body.turning = axes * DMat3::from_diagonal(moments.max(DVec3::ZERO)) * axes.transpose();
    }
}

/// The lever l' with turn × l' = R l − l, R the rotation by `turn`.
pub(super) fn on_chord(lever: DVec3, turn: DVec3) -> DVec3 {
    let angle = turn.length();
    if angle < 1e-12 {
        return lever;
    }
    let axis = turn / angle;
    let along = axis * axis.dot(lever);
    let chord = (0.5 * angle).sin() / (0.5 * angle);
    along + DQuat::from_axis_angle(axis, 0.5 * angle) * (lever - along) * chord
}

impl ParticleSystem {
    /// Energy of the step beyond that of its system, which was set up `about` velocities.
    fn beyond_system(&self, h: f64, work: &Implicit, bodies: &[(DVec3, DVec3)], about: &[DVec3], v: &[DVec3]) -> f64 {
        let of_forces: f64 =
            self.forces.iter().map(|(_, force)| force.beyond_slopes(&self.points(), h, about, v)).sum();
        // faces that are let go do not pull, and those that are met push, whatever the system took them for
        let of_press = |p: &Press| {
            let speed = p.normal.dot(p.target - p.velocity(v, bodies));
            if p.active { -0.5 * p.kappa * speed.min(0.0).powi(2) } else { 0.5 * p.kappa * speed.max(0.0).powi(2) }
        };
        of_forces + work.presses.iter().map(of_press).sum::<f64>()
    }

    /// Where everything would go if what bends much did nothing: from there the way begins, with the momentum that it
    /// has in the end.
    pub(super) fn go_on_by_inertia(&self, h: f64, around: &mut Surroundings, holds: &mut [Hold], v: &mut [DVec3]) {
        let right: Vec<DVec3> = (0..v.len()).map(|i| self.v[i] * self.mass[i] + self.f[i] * h).collect();
        turn_levers(h, around, holds);
        follow_holds(holds, &around.riders, v);
        go_on(&self.mass, &right, holds, &mut around.riders, v);
    }

    /// Goes from `start` towards what a solve found, bodies included, as far as that lowers the energy of the step. Returns
    /// whether the system can be trusted where it ends.
    pub(super) fn descend(
        &self,
        h: f64,
        work: &Implicit,
        holds: &[Hold],
        around: &mut Surroundings,
        (about, start): (&[DVec3], &(Vec<DVec3>, Vec<f64>)),
        v: &mut [DVec3],
    ) -> bool {
        let Surroundings { riders, attached, .. } = around;
        let change: Vec<DVec3> = v.iter().zip(&start.0).map(|(v, start)| *v - *start).collect();
        let of_units: Vec<f64> = riders.coordinates().iter().zip(&start.1).map(|(z, start)| z - start).collect();
        let gain = 0.5 * curvature(work, holds, riders, &change, &of_units);
        let rounding = 1e-12 * (gain + work.matrix.masses * STILL * STILL);
        // energy beyond what the system says of linear motion, where bodies carry attached particles as they turn
        let beyond = |riders: &Riders, v: &[DVec3]| -> f64 {
            let mut carried = v.to_vec();
            let mut sum = 0.0;
            if attached.iter().any(|a| a.rider.is_some()) {
                for a in attached.iter() {
                    if let Some(k) = a.rider {
                        let Rider { v, w, .. } = riders.bodies[k];
                        carried[a.particle] = v + w.cross(on_chord(a.lever, w * h)) + a.place;
                    }
                }
                let product = work.product(v, holds, riders);
                let off: Vec<DVec3> = carried.iter().zip(v).map(|(c, v)| *c - *v).collect();
                let mut more = vec![DVec3::ZERO; v.len()];
                work.matrix.multiply(&off, &mut more);
                sum += (0..v.len()).map(|i| off[i].dot(product[i] + more[i] * 0.5 - work.right[i])).sum::<f64>();
                let turned: Vec<f64> = riders.coordinates().iter().zip(&start.1).map(|(z, start)| z - start).collect();
                let mut resisted = vec![0.0; turned.len()];
                riders.resist_turning(&turned, &mut resisted);
                sum -= 0.5 * turned.iter().zip(&resisted).map(|(t, r)| t * r).sum::<f64>();
            }
            sum + self.beyond_system(h, work, &riders.velocities(), about, &carried)
        };
        riders.shift_all(&of_units, -1.0);
        let before = beyond(riders, &start.0);
        riders.shift_all(&of_units, 1.0);
        let mut share = 1.0;
        let mut after = beyond(riders, v) - before;
        while after > DESCENT * gain * share * (2.0 - share) + rounding && share > LEAST_SHARE {
            share *= 0.5;
            for i in 0..v.len() {
                v[i] = start.0[i] + change[i] * share;
            }
            riders.shift_all(&of_units, -share);
            after = beyond(riders, v) - before;
        }
        let moving = (0..v.len()).map(|i| 0.5 * self.mass[i] * v[i].length_squared()).sum::<f64>() + riders.moving;
        let little = SETTLED * (moving + work.matrix.masses * STILL * STILL);
        share == 1.0 && after.abs().min(gain) <= little
    }

    /// For cloth among solids that do not answer: goes towards what a solve found as far as that lowers the energy of the step: the system is its slope only near the
    /// velocities `about` which it was set up, and stiff cloth whose edges turn by a tenth within the step pulls a thousand
    /// times harder than it says. The way starts `from` the last guess, or where all cloth moves as one, which strains
    /// nothing. Returns whether the system can be trusted where it ends.
    pub(super) fn go_as_far_as_it_helps(
        &self,
        h: f64,
        work: &Implicit,
        holds: &[Hold],
        (about, from): (&[DVec3], Option<&[DVec3]>),
        first_gain: &mut Option<f64>,
        v: &mut [DVec3],
    ) -> bool {
        let beyond = |v: &[DVec3]| self.beyond_system(h, work, &[], about, v);
        let energy = |v: &[DVec3]| -> f64 {
            let product = work.product(v, holds, &Riders::default());
            (0..v.len()).map(|i| v[i].dot(product[i] * 0.5 - work.right[i])).sum()
        };
        let start = start_of_way(work, holds, &self.mass, from, v);
        let change: Vec<DVec3> = v.iter().zip(&start).map(|(v, start)| *v - *start).collect();
        let least = energy(v);
        let gain = energy(&start) - least;
        // what is little against what the first solve gained is not worth another
        let noise = (NEGLIGIBLE * *first_gain.get_or_insert(gain)).max(0.0)
            + 1e-12 * (least.abs() + work.matrix.masses * STILL * STILL);
        let (before, mut share) = (beyond(&start), 1.0);
        let mut after = beyond(v) - before;
        while after > gain * share * (2.0 - share) + noise && share > LEAST_SHARE {
            share *= 0.5;
            for i in 0..v.len() {
                v[i] = start[i] + change[i] * share;
            }
            after = beyond(v) - before;
        }
        share == 1.0 && after <= BEYOND * gain + noise || gain < noise
    }
}

/// Where the way to what a solve found begins. Cloth that nothing holds moves as one there, which strains nothing, as its
/// momentum says but so that it goes into no solid; or, from the velocities `from` that were taken before, as much like these as
/// goes into no solid. Cloth that is held somewhere moves with what holds it.
pub(super) fn start_of_way(
    work: &Implicit,
    holds: &[Hold],
    mass: &[f64],
    from: Option<&[DVec3]>,
    v: &[DVec3],
) -> Vec<DVec3> {
    let n = v.len();
    let of = pieces(&work.matrix);
    // momentum and mass of a piece, and of those of it that are held
    let mut sums = vec![[(DVec3::ZERO, 0.0); 2]; n];
    let mut bound = vec![false; n];
    for i in 0..n {
        let held = usize::from(!matches!(holds[i], Hold::Free));
        for sum in &mut sums[of[i]][..=held] {
            *sum = (sum.0 + v[i] * mass[i], sum.1 + mass[i]);
        }
        bound[of[i]] |= matches!(holds[i], Hold::Fixed | Hold::Attached { .. });
    }
    // normals and the least speeds along them
    let mut least: Vec<(usize, DVec3, f64)> = Vec::new();
    for i in 0..n {
        if let Hold::Contact { normal, target, given, .. } = holds[i] {
            least.push((i, normal, target + normal.dot(given)));
        }
    }
    for p in work.presses.iter().filter(|p| p.active) {
        least.push((p.who[0], p.normal, p.normal.dot(p.target)));
    }
    least.retain(|l| !bound[of[l.0]]);
    let mean = |i: usize| {
        let [all, held] = sums[i];
        if bound[i] && held.1 > 0.0 { held.0 / held.1 } else { all.0 / all.1.max(f64::MIN_POSITIVE) }
    };
    let mut as_one: Vec<DVec3> = (0..n).map(mean).collect();
    for _ in 0..SWEEPS {
        for &(i, normal, least) in &least {
            let lacking = least - normal.dot(as_one[of[i]]);
            as_one[of[i]] += normal * lacking.max(0.0);
        }
    }
    let mut start: Vec<DVec3> = (0..n).map(|i| as_one[of[i]]).collect();
    if let Some(from) = from {
        let mut share = vec![1.0_f64; n];
        for &(i, normal, least) in &least {
            let (here, there) = (normal.dot(start[i]), normal.dot(from[i]));
            if there < least {
                let part = ((here - least) / (here - there).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                share[of[i]] = share[of[i]].min(part);
            }
        }
        for i in 0..n {
            start[i] = start[i].lerp(from[i], share[of[i]]);
        }
    }
    for i in 0..n {
        match holds[i] {
            Hold::Fixed | Hold::Attached { .. } => start[i] = v[i],
            Hold::Contact { normal, grip, .. } if bound[of[i]] => match grip {
                Grip::Stick => start[i] = v[i],
                _ => start[i] = start[i] + normal * normal.dot(v[i] - start[i]),
            },
            _ => {}
        }
    }
    start
}

/// The connected piece of every particle, by its first one.
fn pieces(matrix: &BlockMatrix) -> Vec<usize> {
    let n = matrix.diagonal.len();
    let mut piece: Vec<u32> = (0..n as u32).collect();
    fn root(piece: &mut [u32], mut i: u32) -> u32 {
        while piece[i as usize] != i {
            piece[i as usize] = piece[piece[i as usize] as usize];
            i = piece[i as usize];
        }
        i
    }
    for i in 0..n {
        for &j in &matrix.column[matrix.row(i)] {
            let (a, b) = (root(&mut piece, i as u32), root(&mut piece, j));
            piece[a.max(b) as usize] = a.min(b);
        }
    }
    (0..n as u32).map(|i| root(&mut piece, i) as usize).collect()
}
