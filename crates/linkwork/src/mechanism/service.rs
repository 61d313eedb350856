//! What a mechanism does for the world besides stepping: assembly, fitting of velocities, counts, checks.

use super::Mechanism;
use super::layout::Source;
use crate::error::StepError;
use crate::math::{max_abs, rotation};
use crate::observe::Assembly;
use crate::world::{Bodies, World};

/// Outcome of [`Mechanism::assemble`]: what moved, and the joint slot and gap that stayed open.
pub(crate) struct Closed {
    pub assembly: Assembly,
    pub open: Option<(u32, f64)>,
}

/// Joints are assembled ten times tighter than steps hold them, so that the first step starts converged.
const ASSEMBLY_TOLERANCE: f64 = 1e-10;

impl Mechanism {
    /// Closes the joints from the gathered poses by the least mass-weighted motion.
    pub(crate) fn assemble(&mut self) -> Closed {
        self.robust.start.copy_from_slice(&self.pose);
        self.near.copy_from_slice(&self.values);
        self.next.copy_from_slice(&self.pose);
        self.measure_errors();
        let mut assembly = Assembly { largest_gap_m: max_abs(self.error.iter().copied()), ..Assembly::default() };
        assembly.iterations = self.assemble_poses(ASSEMBLY_TOLERANCE);
        for k in 0..self.layout.movable {
            let (from, to) = (&self.robust.start[k], &self.pose[k]);
            let turn = rotation::log(to.q * from.q.inverse()).length();
            assembly.largest_motion_m = assembly.largest_motion_m.max((to.x - from.x).length());
            assembly.largest_turn_rad = assembly.largest_turn_rad.max(turn);
        }
        Closed { assembly, open: self.open_joint(ASSEMBLY_TOLERANCE) }
    }

    /// The joint with the largest error at `pose`, if it is above the tolerance, or one closed the wrong way round.
    fn open_joint(&mut self, tolerance: f64) -> Option<(u32, f64)> {
        self.next.copy_from_slice(&self.pose);
        self.measure_errors();
        let mut worst: Option<(u32, f64)> = None;
        for node in &self.layout.nodes {
            let (Source::Joint { slot, .. } | Source::Coupling { slot, .. }) = node.source else { continue };
            let rows = node.row as usize..node.row as usize + node.hard as usize;
            let mut gap = max_abs(self.error[rows].iter().copied());
            if let Source::Joint { model, .. } = node.source {
                let m = &self.layout.models[model as usize];
                // opposite axes satisfy the equations of a common axis, but are another machine
                let (za, zb) =
                    (self.pose[node.a as usize].r * m.frame_a.z_axis, self.pose[node.b as usize].r * m.frame_b.z_axis);
                if m.parts.contains(&crate::joint::rows::Part::CommonAxis) && za.dot(zb) < 0.0 {
                    gap = std::f64::consts::PI;
                }
            }
            let open = gap > tolerance || gap.is_nan();
            if open && worst.is_none_or(|w| gap.is_nan() || gap > w.1) {
                worst = Some((slot, gap));
            }
        }
        worst
    }

    /// Makes the gathered velocities fit the joints.
    pub(crate) fn fit_velocities(&mut self) {
        self.near.copy_from_slice(&self.values);
        self.linearise_here(super::FITTING_STEP);
        self.fit_velocities_to_hard_rows();
    }

    /// Linearises at the gathered poses whatever was linearised before.
    pub(crate) fn linearise_anew(&mut self) {
        self.linear.forget();
        self.linearise_here(super::FITTING_STEP);
    }

    pub(crate) fn scatter_poses(&self, bodies: &mut Bodies) {
        for k in 0..self.layout.movable {
            if let Some(body) = bodies.at_mut(self.layout.bodies[k] as usize) {
                (body.x, body.q) = (self.pose[k].x, self.pose[k].q);
            }
        }
    }

    pub(crate) fn scatter_velocities(&self, bodies: &mut Bodies) {
        for k in 0..self.layout.movable {
            if let Some(body) = bodies.at_mut(self.layout.bodies[k] as usize) {
                (body.v, body.w) = self.velocity(k);
            }
        }
    }

    /// Rows that others imply.
    pub(crate) fn redundant_rows(&self) -> usize {
        // sweeps have no factor that would tell
        if self.is_iterative() { 0 } else { self.layout.factor.dropped_count() }
    }

    /// Hard rows.
    pub(crate) fn constraint_rows(&self) -> usize {
        let hard = |n: &super::layout::Node| if n.source.is_internal() { 0 } else { n.hard as usize };
        self.layout.nodes.iter().map(hard).sum()
    }

    /// Whether the hard rows leave no freedom at all.
    pub(super) fn is_immobile(&self) -> bool {
        self.layout.soft.is_empty() && self.constraint_rows() - self.redundant_rows() >= 6 * self.layout.movable
    }

    /// Refuses a state that has left the range of numbers.
    pub(crate) fn check_finite(&self, world: &World) -> Result<(), StepError> {
        for k in 0..self.layout.movable {
            let finite =
                self.pose[k].x.is_finite() && self.pose[k].q.is_finite() && self.u[k].iter().all(|e| e.is_finite());
            if let (false, Some(body)) = (finite, world.bodies.at(self.layout.bodies[k] as usize)) {
                return Err(StepError::not_finite(body));
            }
        }
        Ok(())
    }
}
