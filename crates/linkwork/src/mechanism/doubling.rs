//! Error control where motion is not smooth: limits, dry friction, motors and stiff springs.
//!
//! The accurate step is taken once whole and twice in halves from the same state. It is of second order, so the halves are
//! wrong by a third of the difference. They are kept if that is within the tolerance, else the state goes back and a smaller
//! substep is tried. Across a jump (a limit is hit, friction lets go) the difference falls with the first power of the size
//! only, or not at all where the jump lies between two substeps: a substep of the least size is taken as it is.

use super::controlled::SMALLEST_FRACTION;
use super::{Advance, Hat, Mechanism};
use crate::body::Accelerations;
use crate::joint::{EnergyAccount, REMEMBERED};
use crate::math::{Placed, max_abs, rotation};
use crate::params::StepParams;
use crate::report::StepKind;
use glam::DVec3;

/// Under error control the accurate step must be far from where it is unstable, and resolve rotations well (docs/method.md,
/// The step): bounds of σ and of rad a substep.
const SIGMA_BOUND: f64 = 1.0;
const SPIN_BOUND: f64 = 0.7;

/// The state at the start of a substep, all that a step changes, and the end of the whole step.
#[derive(Default)]
pub(super) struct DoublingScratch {
    pose: Vec<Placed>,
    u: Vec<Hat>,
    acceleration: Vec<Accelerations>,
    values: Vec<f64>,
    force: Vec<f64>,
    force_sum: Vec<f64>,
    bounded_forces: Vec<f64>,
    bounded_sum: Vec<f64>,
    past: [Vec<f64>; REMEMBERED],
    last_impulse: Vec<f64>,
    filled: u8,
    filled_step: f64,
    account: EnergyAccount,
    last_iterations: u32,
    whole_pose: Vec<Placed>,
    whole_u: Vec<Hat>,
}

/// Difference of the whole step and its halves, in units of the tolerance.
#[derive(Clone, Copy)]
struct Difference {
    in_place: f64,
    in_velocity: f64,
}

impl Mechanism {
    /// A step of size `h` in doubled substeps of the accurate step.
    pub(super) fn doubling_steps(&mut self, h: f64, tolerance: f64, params: &StepParams) -> Advance {
        let smallest = SMALLEST_FRACTION * h;
        let mut done = 0.0;
        let mut total: Option<Advance> = None;
        let mut missed = false;
        let mut size = if self.substep > 0.0 { self.substep.min(h) } else { 0.125 * h };
        while done < h * (1.0 - 1e-12) {
            let left = h - done;
            let wanted = if size >= left { left } else { size.min(0.5 * left).max(0.5 * size) };
            let attempt = self.fit_size(wanted, smallest);
            self.keep_state();
            let (advance, difference) = self.doubled_step(attempt, tolerance, params);
            let error = max_abs([difference.in_place, difference.in_velocity]);
            let growth = if error > 0.0 { (0.9 * error.powf(-1.0 / 3.0)).clamp(0.2, 2.0) } else { 2.0 };
            let fits = error <= 1.0;
            if fits || attempt <= smallest {
                // a jump of velocity may fall into one half or the next: only a wrong place is a miss
                missed |= difference.in_place > 1.0;
                done += attempt;
                size = (attempt * if fits { growth } else { 1.0 }).max(smallest);
                total = Some(match total {
                    Some(sum) => sum.followed_by(&advance),
                    None => advance,
                });
            } else {
                self.back_to_kept_state();
                size = (attempt * growth.min(0.5)).max(smallest);
            }
        }
        self.substep = size;
        let mut advance = total.unwrap_or_else(|| self.taken(0.0, StepKind::Accurate, None, 0));
        advance.tolerance_missed = missed;
        advance
    }

    /// The size, or as much less as the accurate step needs to be well within its bounds.
    fn fit_size(&mut self, wanted: f64, smallest: f64) -> f64 {
        let mut size = wanted;
        self.linearise_here(size);
        while size > smallest && self.accurate_is_unfit(size, SIGMA_BOUND, SPIN_BOUND).is_some() {
            size = (0.5 * size).max(smallest);
        }
        size
    }

    /// Takes two halves of a step, and says how far from them the whole would have ended.
    fn doubled_step(&mut self, h: f64, tolerance: f64, params: &StepParams) -> (Advance, Difference) {
        self.halving_step(h, params, 0);
        self.doubling.whole_pose.clone_from(&self.pose);
        self.doubling.whole_u.clone_from(&self.u);
        self.back_to_kept_state();
        let first = self.halving_step(0.5 * h, params, 0);
        let second = self.halving_step(0.5 * h, params, 0);
        (first.followed_by(&second), self.difference_from_whole(3.0 * tolerance))
    }

    fn difference_from_whole(&self, unit: f64) -> Difference {
        let mut difference = Difference { in_place: 0.0, in_velocity: 0.0 };
        for k in 0..self.layout.movable {
            let (i, whole, u) = (&self.inertia[k], &self.doubling.whole_pose[k], &self.doubling.whole_u[k]);
            let turn = rotation::log(self.pose[k].q * whole.q.inverse()).length();
            let change = |s: usize| self.u[k][s] - u[s];
            let v = DVec3::new(change(0), change(1), change(2)) * i.inv_sqrt_mass;
            let w = DVec3::new(change(3), change(4), change(5)) * i.inv_sqrt;
            let speed = v.length() / (1.0 + self.velocity(k).0.length());
            let spin = w.length() / (1.0 + self.body_spin(k).length());
            let shift = (self.pose[k].x - whole.x).length();
            difference.in_place = max_abs([difference.in_place, shift / unit, turn / unit]);
            difference.in_velocity = max_abs([difference.in_velocity, speed / unit, spin / unit]);
        }
        difference
    }

    fn keep_state(&mut self) {
        let kept = &mut self.doubling;
        kept.pose.clone_from(&self.pose);
        kept.u.clone_from(&self.u);
        kept.acceleration.clone_from(&self.acceleration);
        kept.values.clone_from(&self.values);
        kept.force.clone_from(&self.force);
        kept.force_sum.clone_from(&self.force_sum);
        kept.bounded_forces.clone_from(&self.bounded.forces);
        kept.bounded_sum.clone_from(&self.bounded.force_sum);
        for (kept, past) in kept.past.iter_mut().zip(&self.past) {
            kept.clone_from(past);
        }
        kept.last_impulse.clone_from(&self.last_impulse);
        (kept.filled, kept.filled_step) = (self.filled, self.filled_step);
        (kept.account, kept.last_iterations) = (self.account, self.last_iterations);
    }

    fn back_to_kept_state(&mut self) {
        let kept = &self.doubling;
        self.pose.copy_from_slice(&kept.pose);
        self.u.copy_from_slice(&kept.u);
        self.acceleration.copy_from_slice(&kept.acceleration);
        self.values.copy_from_slice(&kept.values);
        self.force.copy_from_slice(&kept.force);
        self.force_sum.copy_from_slice(&kept.force_sum);
        self.bounded.forces.copy_from_slice(&kept.bounded_forces);
        self.bounded.force_sum.copy_from_slice(&kept.bounded_sum);
        for (past, kept) in self.past.iter_mut().zip(&kept.past) {
            past.copy_from_slice(kept);
        }
        self.last_impulse.copy_from_slice(&kept.last_impulse);
        (self.filled, self.filled_step) = (kept.filled, kept.filled_step);
        (self.account, self.last_iterations) = (kept.account, kept.last_iterations);
    }
}
