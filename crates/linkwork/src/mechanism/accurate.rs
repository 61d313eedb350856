//! The accurate step: RATTLE, which is Bender's and Tomcin's joint and velocity correction under velocity Verlet.
//!
//! Half kick; find impulses p with c(predicted poses) = 0 by a modified Newton iteration on the factor at t; move;
//! half kick; factorise at t+h; velocity correction. That factor serves the next step's position stage.
//! Second order, symplectic, and only conditionally stable: [`Mechanism::accurate_is_unfit`] guards it.

use super::Mechanism;
use crate::math::{largest, max_abs};
use crate::params::StepParams;

/// Loops are closed to this fraction of the joint tolerance.
const IN_LOOPS: f64 = 0.2;
/// The step at which the joint tolerance is meant.
const FRAME: f64 = 1.0 / 60.0;
/// Iterations after which the step is given up; convergence takes three or four.
const MOST_ITERATIONS: u32 = 15;

impl Mechanism {
    /// Takes the step, or leaves poses and velocities as they were and returns `None`. Returns the iterations used.
    pub(super) fn accurate_step(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        self.u_start.copy_from_slice(&self.u);
        self.robust.start.copy_from_slice(&self.pose);
        let energy = self.energy_at_start();
        self.read_soft_rates();
        self.kick(0.5 * h);
        self.guess_impulses(h);
        self.predict_outside(h);
        self.timer.lap(|s| &mut s.other);
        // an error of position is one of force, by h²: small steps must close their joints tighter
        // and a loop can turn a small gap into a large error elsewhere
        let in_loops = if self.layout.can_be_redundant { IN_LOOPS } else { 1.0 };
        let tightening = in_loops * (h / FRAME).powi(2).clamp(1e-3, 1.0);
        let (wish, enough) = (tightening * params.joint_tolerance, in_loops * params.joint_tolerance);
        let Some(iterations) = self.close_positions(h, wish, enough) else {
            self.u.copy_from_slice(&self.u_start);
            return None;
        };
        if self.remembers_curvature() {
            self.note_curvature();
        }
        self.commit_prediction();
        self.kick_after_move(h);
        self.linearise_here(h);
        self.correct_velocities(h);
        if !self.bounded.is_empty() {
            self.bounded_second_half(h, params.joint_tolerance);
            self.bounded.average(h);
        }
        self.timer.lap(|s| &mut s.solve);
        self.robust.kept_force.copy_from_slice(&self.force);
        self.average_forces(h);
        if !self.energy_is_plausible(energy, h, true) {
            self.pose.copy_from_slice(&self.robust.start);
            self.u.copy_from_slice(&self.u_start);
            self.force.copy_from_slice(&self.robust.kept_force);
            return None;
        }
        self.remember_impulses(Some(h));
        self.last_iterations = iterations;
        self.remember_accelerations(h);
        Some(iterations)
    }

    /// Whether row velocities are remembered instead of impulses: bounded rows make impulses jump, and so does another
    /// choice of the redundant rows that are dropped in a loop. What curvature asks for stays smooth.
    pub(super) fn remembers_curvature(&self) -> bool {
        self.layout.can_be_redundant || !self.bounded.is_empty()
    }

    /// Starts the position stage from what the last steps remembered, extrapolated.
    fn guess_impulses(&mut self, h: f64) {
        // where the last impulses were good enough as they are, or nothing moves, extrapolation would only make rounding grow
        let pays = self.last_iterations >= 2 && !self.is_immobile();
        if self.bounded.is_empty() && !pays && self.filled > 0 {
            let scale = h / self.filled_step;
            self.impulse.iter_mut().zip(&self.last_impulse).for_each(|(p, l)| *p = scale * l);
            Self::apply(&self.layout, &self.linear.jacobian, &self.impulse, &mut self.u);
            return;
        }
        self.extrapolate_past(h, pays);
        if !self.remembers_curvature() {
            Self::apply(&self.layout, &self.linear.jacobian, &self.impulse, &mut self.u);
            return;
        }
        self.correction.copy_from_slice(&self.impulse);
        if self.bounded.is_empty() {
            self.close_for_first_half(h);
        } else {
            self.bounded_first_half(h, 0.5 * h);
        }
    }

    pub(super) fn read_soft_rates(&mut self) {
        for (k, s) in self.layout.soft.iter().enumerate() {
            let m = &self.layout.models[s.model as usize];
            let (a, b) = (&self.pose[s.a as usize], &self.pose[s.b as usize]);
            let row = m.coordinates[s.coordinate as usize].1.row(m, a, b);
            self.linear.soft_rates[k] = row.velocity(&self.motion(s.a), &self.motion(s.b));
        }
    }

    /// What the last steps remembered, carried on to this one, into `impulse`.
    fn extrapolate_past(&mut self, h: f64, pays: bool) {
        let [p1, p2, p3, p4] = &self.past;
        let rows = self.impulse.iter_mut().enumerate();
        match if pays && self.filled_step == h { self.filled } else { self.filled.min(1) } {
            4 => rows.for_each(|(k, p)| *p = 4.0 * (p1[k] + p3[k]) - 6.0 * p2[k] - p4[k]),
            3 => rows.for_each(|(k, p)| *p = 3.0 * (p1[k] - p2[k]) + p3[k]),
            2 => rows.for_each(|(k, p)| *p = 2.0 * p1[k] - p2[k]),
            // both kinds go with the step
            1 => rows.for_each(|(k, p)| *p = h / self.filled_step * p1[k]),
            _ => self.impulse.fill(0.0),
        }
    }

    /// Row velocities of the converged position stage, which bounded mechanisms remember instead of impulses.
    fn note_curvature(&mut self) {
        self.row_velocities();
        for s in &self.layout.soft {
            self.rhs[s.row as usize] = 0.0;
        }
        self.curvature.copy_from_slice(&self.rhs);
    }

    /// Modified Newton on the predicted joint errors, to a tolerance or, where rounding keeps it from getting on, to what is
    /// `enough`; `None` if it does not converge.
    pub(super) fn close_positions(&mut self, h: f64, tolerance: f64, enough: f64) -> Option<u32> {
        let mut before = [f64::INFINITY; 2];
        self.anderson.restart();
        for iteration in 0..MOST_ITERATIONS {
            self.predict(h);
            self.timer.lap(|s| &mut s.predict);
            self.measure_errors();
            let mut worst = self.position_residuals(h);
            if self.bounded.has_limits() {
                worst = max_abs([worst, self.limit_violation()]);
            }
            if worst < tolerance {
                self.timer.lap(|s| &mut s.solve);
                return Some(iteration);
            }
            if !worst.is_finite() || worst > 0.7 * before[0] {
                return (worst < enough).then_some(iteration);
            }
            before = [before[1], worst];
            if self.bounded.has_limits() {
                self.correct_limits(h);
                self.anderson.restart();
            }
            self.layout.factor.solve(&mut self.rhs);
            self.anderson.accelerate(&mut self.rhs, &self.linear.mobility, &mut self.impulse);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.u);
            self.timer.lap(|s| &mut s.solve);
        }
        None
    }

    /// Fills the right side −c/h (soft rows: minus their residual) and returns the largest error, m or rad.
    fn position_residuals(&mut self, h: f64) -> f64 {
        let inverse = 1.0 / h;
        for (r, &c) in self.rhs.iter_mut().zip(&self.error) {
            *r = -c * inverse;
        }
        let mut worst = largest(&self.error);
        for (k, s) in self.layout.soft.iter().enumerate() {
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let q1 = self.coordinate_at_next(s.model, s.coordinate, s.a, s.b);
            let row = s.row as usize;
            let soft = &self.linear.soft[k];
            let rate = self.linear.soft_rates[k];
            let residual = soft.position_residual(self.values[at], rate, q1, self.impulse[row], h);
            self.rhs[row] = -residual;
            // as a displacement of the row alone in a frame's time: a small step must not hide a wrong force
            let mobility = self.linear.mobility[row];
            let time = h.max(FRAME * FRAME / h);
            worst = max_abs([worst, residual * time * mobility / (mobility + soft.compliance)]);
        }
        worst
    }

    pub(super) fn kick_after_move(&mut self, h: f64) {
        self.whiten_plainly();
        self.refresh_drive_forces();
        self.kick(0.5 * h);
    }

    /// Mean force of every row over the step.
    pub(super) fn average_forces(&mut self, h: f64) {
        for k in 0..self.force.len() {
            self.force[k] = (self.impulse[k] + self.correction[k]) / h;
        }
    }

    /// What the robust step would continue from.
    pub(super) fn remember_accelerations(&mut self, h: f64) {
        for k in 0..self.layout.movable {
            let mut a = [0.0; 6];
            for s in 0..6 {
                a[s] = (self.u[k][s] - self.u_start[k][s]) / h;
            }
            self.acceleration[k].averaged = a;
            self.acceleration[k].last = a;
        }
    }
}
