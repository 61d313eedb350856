//! A mechanism in the event-driven stepper: how it answers forces where it is, and how it is put back onto its joints.

use super::{Advance, Mechanism};
use crate::joint::rows::Row;
use crate::params::StepParams;
use crate::report::StepKind;
use glam::DVec3;

impl Mechanism {
    /// Changes of velocity (by world slot: linear, angular) that unit impulses along rows bring about, joints answering. A row acts
    /// on a body (local index) as its first or second. [`Mechanism::accelerations`] must have been asked for at these poses.
    pub(crate) fn response_to(&mut self, pushes: &[(Row, usize, bool)]) -> Vec<(u32, DVec3, DVec3)> {
        if let Some(found) = self.response_in_tree(pushes) {
            return found;
        }
        let mut impulses = vec![[0.0; 6]; self.layout.movable];
        for (row, k, is_b) in pushes {
            let hat = self.hat_row(row, *k, *is_b);
            impulses[*k].iter_mut().zip(hat).for_each(|(p, x)| *p += x);
        }
        self.respond(&mut impulses);
        let moved = |(k, hat)| {
            let (v, w) = self.motion_of_hat(k, hat);
            (self.layout.bodies[k], v, w)
        };
        impulses.iter().enumerate().map(moved).collect()
    }

    /// Closes the joints of the gathered state in poses and velocities, by the least mass-weighted motion.
    pub(crate) fn close(&mut self) {
        self.assemble();
        self.linear.forget();
        self.fit_velocities();
    }

    /// Ends a step of `h` where it is: the gathered loads (contacts among them) give the forces of the joints.
    pub(crate) fn finish_events(&mut self, h: f64, params: &StepParams) -> Advance {
        self.force_sum.fill(0.0);
        self.bounded.force_sum.fill(0.0);
        self.accelerations_by_multipliers();
        self.remember_impulses(None);
        for k in 0..self.layout.movable {
            self.acceleration[k] = Default::default();
        }
        self.account = Default::default();
        self.left = self.left_between_events();
        let mut advance = self.taken(h, StepKind::Controlled, None, 0);
        self.measure_closure(&mut advance, params);
        advance
    }
}
