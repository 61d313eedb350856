//! The last resort: free flight, then projection of the poses with M + h²K (backward Euler). Dissipates, never explodes.

use super::Mechanism;
use super::linear::INFINITELY_SOFT;
use crate::math::{Placed, max_abs, rotation};
use crate::params::StepParams;
use glam::DVec3;

const MOST_ITERATIONS: u32 = 60;
/// Damping of the assembly's iteration per metre of error: it vanishes with the error, and so does what it costs.
const ASSEMBLY_DAMPING: f64 = 0.1;
/// Damping at which the assembly's steps are too small to be worth more of them.
const MOST_CAUTION: f64 = 1e7;
/// Above this angle a step the angular velocity is read off the poses, which bounds it by π/h.
const FAST: f64 = 0.5;

impl Mechanism {
    /// Takes the step whatever happens; whether the joints could be closed is measured afterwards. Bodies whose joints
    /// would be left further open than they were stay where they are.
    pub(super) fn last_resort_step(&mut self, h: f64, params: &StepParams) -> u32 {
        self.u_start.copy_from_slice(&self.u);
        let energy = self.energy_at_start();
        self.whiten_plainly();
        self.bounded_forces(h);
        self.kick(h);
        self.apply_bounded_to_mechanism();
        self.fly_and_project(h, params, energy)
    }

    /// The same for a mechanism that has been kicked and pushed already.
    pub(super) fn last_resort_in_contact(&mut self, h: f64, params: &StepParams) -> u32 {
        let energy = self.energy_at_start();
        self.whiten_plainly();
        let pushed: Vec<f64> = self.impulse.iter().map(|p| p / h).collect();
        let iterations = self.fly_and_project(h, params, energy);
        self.force.iter_mut().zip(&pushed).for_each(|(f, p)| *f += p);
        iterations
    }

    fn fly_and_project(&mut self, h: f64, params: &StepParams, energy: f64) -> u32 {
        self.robust.start.copy_from_slice(&self.pose);
        self.predict(h);
        self.predict_outside(h);
        self.commit_prediction();
        let iterations = self.project(h, params.joint_tolerance);
        self.velocities_from_projection(h);
        self.bounded.average(h);
        self.remember_impulses(None);
        for (f, p) in self.force.iter_mut().zip(&self.impulse) {
            *f = p / (h * h);
        }
        self.linear.forget();
        self.linearise_here(h);
        self.close_velocities();
        if self.is_worse_than_start(params.joint_tolerance) {
            self.stay(h);
        } else {
            self.take_out_gain(energy, h);
        }
        self.remember_accelerations(h);
        self.keep_account(0.0, 0.0);
        iterations
    }

    /// Whether the projection left joints open that were less so before.
    fn is_worse_than_start(&mut self, tolerance: f64) -> bool {
        let open = self.largest_error();
        if open <= tolerance || self.is_driven() {
            return false;
        }
        std::mem::swap(&mut self.pose, &mut self.robust.start);
        let before = self.largest_error();
        std::mem::swap(&mut self.pose, &mut self.robust.start);
        // not a number is worse than anything
        open.is_nan() || open > before
    }

    fn largest_error(&mut self) -> f64 {
        self.next.copy_from_slice(&self.pose);
        self.measure_errors();
        max_abs(self.error.iter().copied())
    }

    /// Whether the user moves a body of this mechanism.
    pub(super) fn is_driven(&self) -> bool {
        self.outside.iter().any(|m| m.v != DVec3::ZERO || m.w != DVec3::ZERO)
    }

    /// Puts the bodies back where the step began, at rest but for the motion of their common centre of mass.
    pub(super) fn stay(&mut self, h: f64) {
        self.u.copy_from_slice(&self.u_start);
        let drift = self.common_velocity();
        for (k, start) in self.robust.start.iter().enumerate() {
            self.pose[k] = Placed { x: start.x + drift * h, ..*start };
        }
        for (u, i) in self.u.iter_mut().zip(&self.inertia) {
            let v = drift * i.sqrt_mass;
            *u = [v.x, v.y, v.z, 0.0, 0.0, 0.0];
        }
        self.linear.forget();
        if self.is_iterative() { self.prepare_sweeps(h) } else { self.linearise_here(h) }
    }

    /// Moves `pose` onto the joints, the multipliers Λ = h²λ in `impulse`, the motion of each body in `residual` terms of world
    /// displacement and rotation, kept in `kept_u`.
    fn project(&mut self, h: f64, tolerance: f64) -> u32 {
        let mut moved = std::mem::take(&mut self.robust.kept_u);
        moved.clear();
        moved.resize(self.layout.movable, [0.0; 6]);
        let mut step = std::mem::take(&mut self.robust.residual);
        self.impulse.fill(0.0);
        let mut iterations = 0;
        let mut best = f64::INFINITY;
        let mut since_best = 0;
        while iterations < MOST_ITERATIONS {
            self.next.copy_from_slice(&self.pose);
            self.measure_errors();
            let worst = max_abs([max_abs(self.error.iter().copied()), self.soft_errors(h)]);
            if worst < tolerance || !worst.is_finite() {
                break;
            }
            since_best = if worst < 0.5 * best { 0 } else { since_best + 1 };
            best = best.min(worst);
            if since_best > 12 {
                break;
            }
            // the first round has no forces of its own yet: the last step's are the best guess
            if iterations == 0 {
                let forces = std::mem::take(&mut self.force);
                self.stiffness_tensors(&forces, 1.0);
                self.force = forces;
            } else {
                let forces = std::mem::take(&mut self.impulse);
                self.stiffness_tensors(&forces, 1.0 / (h * h));
                self.impulse = forces;
            }
            self.whiten_stiffly(h * h);
            self.write_rows();
            self.sum_products(|soft| {
                let law = &soft.law;
                1.0 / (h * h * law.stiffness + h * law.damping).max(f64::MIN_POSITIVE)
            });
            self.factorise();
            for r in 0..self.rhs.len() {
                self.rhs[r] = -self.error[r];
            }
            for (k, s) in self.layout.soft.iter().enumerate() {
                let law = &self.linear.soft[k].law;
                let give = (h * h * law.stiffness + h * law.damping).max(f64::MIN_POSITIVE);
                self.rhs[s.row as usize] = -self.correction[s.row as usize] / give;
            }
            self.layout.factor.solve(&mut self.rhs);
            step.iter_mut().for_each(|s| *s = [0.0; 6]);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut step);
            let mut largest_turn = 0.0_f64;
            for k in 0..self.layout.movable {
                let turn = self.projected_turn(k, &step[k]);
                largest_turn = largest_turn.max(turn.length());
            }
            let scale = if largest_turn > 1.0 { 1.0 / largest_turn } else { 1.0 };
            for k in 0..self.layout.movable {
                let turn = self.projected_turn(k, &step[k]) * scale;
                let shift = DVec3::new(step[k][0], step[k][1], step[k][2]) * (self.inertia[k].inv_sqrt_mass * scale);
                let at = &self.pose[k];
                self.pose[k] = Placed::new(at.x + shift, rotation::renormalised(rotation::exp(turn) * at.q));
                for (m, d) in moved[k].iter_mut().zip([shift.x, shift.y, shift.z, turn.x, turn.y, turn.z]) {
                    *m += d;
                }
            }
            for (p, d) in self.impulse.iter_mut().zip(&self.rhs) {
                *p += scale * d;
            }
            iterations += 1;
        }
        self.robust.residual = step;
        self.robust.kept_u = moved;
        iterations
    }

    /// World rotation of body k for a hat motion in stiff coordinates.
    fn projected_turn(&self, k: usize, step: &[f64; 6]) -> DVec3 {
        self.linear.whitening[k] * DVec3::new(step[3], step[4], step[5])
    }

    /// Λ − h²λ(q₁) of the soft rows into `correction`; returns the largest as a displacement.
    fn soft_errors(&mut self, h: f64) -> f64 {
        let mut worst = 0.0;
        for (k, s) in self.layout.soft.iter().enumerate() {
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let q1 = self.coordinate_at_next(s.model, s.coordinate, s.a, s.b);
            let law = &self.linear.soft[k].law;
            let (c0, c1) = (self.values[at] - law.rest, q1 - law.rest);
            let force = law.bias - law.stiffness * c1 - law.damping * (c1 - c0) / h;
            let off = self.impulse[s.row as usize] - h * h * force;
            self.correction[s.row as usize] = off;
            worst = max_abs([worst, off * self.linear.mobility[s.row as usize]]);
        }
        worst
    }

    /// u = free-flight velocity + correction/h; where a body turns fast, ω is what carried it from pose to pose.
    fn velocities_from_projection(&mut self, h: f64) {
        for k in 0..self.layout.movable {
            let i = self.inertia[k];
            let moved = self.robust.kept_u[k];
            let at = self.pose[k];
            let v = DVec3::new(self.u[k][0], self.u[k][1], self.u[k][2]) * i.inv_sqrt_mass
                + DVec3::new(moved[0], moved[1], moved[2]) / h;
            // `u` holds the free flight's body momentum; the frame has turned with the projection
            let free = self.next_momentum[k] * i.inverse;
            let mut w = at.r * free + DVec3::new(moved[3], moved[4], moved[5]) / h;
            if h * w.length() > FAST {
                w = rotation::log(at.q * self.robust.start[k].q.inverse()) / h;
            }
            self.u[k] = super::hat(&i, &at, v, w);
        }
    }

    /// Closes the joints at the start: poses moved by the least mass-weighted motion, no velocities, no springs.
    /// Returns the iterations; errors are left in `error`.
    pub(crate) fn assemble_poses(&mut self, tolerance: f64) -> u32 {
        self.near.copy_from_slice(&self.values);
        let mut step = std::mem::take(&mut self.robust.residual);
        let mut iterations = 0;
        let (mut best, mut since_best) = (f64::INFINITY, 0);
        // near a stretched pose the iteration overshoots and would end far from the least gap it met
        let mut best_pose = self.pose.clone();
        let mut caution = 1.0;
        loop {
            self.next.copy_from_slice(&self.pose);
            self.measure_errors();
            let worst = max_abs(self.error.iter().copied());
            since_best = if worst < 0.9 * best { 0 } else { since_best + 1 };
            // once it gets no nearer it goes on from the best with more damping, and so finds what gap must remain
            let stuck = since_best > 25;
            if worst < best {
                best = worst;
                best_pose.copy_from_slice(&self.pose);
                caution = f64::max(1.0, 0.25 * caution);
            } else if stuck {
                self.pose.copy_from_slice(&best_pose);
                caution *= 8.0;
            }
            if worst < tolerance || iterations >= 200 || caution > MOST_CAUTION || !worst.is_finite() {
                self.pose.copy_from_slice(&best_pose);
                break;
            }
            if stuck && worst > best {
                self.next.copy_from_slice(&self.pose);
                self.measure_errors();
            }
            self.robust.tensor.fill(glam::DMat3::ZERO);
            self.whiten_plainly();
            self.linear.forget();
            self.write_rows();
            // springs do not act in assembly: they are infinitely soft
            self.sum_products(|_| INFINITELY_SOFT);
            self.soften((ASSEMBLY_DAMPING * worst).min(1e-3) * caution);
            self.factorise();
            for node in &self.layout.nodes {
                for r in 0..node.rows as usize {
                    let k = node.row as usize + r;
                    let hard = r < node.hard as usize && !node.source.is_internal();
                    self.rhs[k] = if hard { -self.error[k] } else { 0.0 };
                }
            }
            self.layout.factor.solve(&mut self.rhs);
            step.iter_mut().for_each(|s| *s = [0.0; 6]);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut step);
            let turns = (0..self.layout.movable).map(|k| self.projected_turn(k, &step[k]).length());
            let largest_turn = turns.fold(0.0, f64::max);
            let scale = if largest_turn > 0.5 { 0.5 / largest_turn } else { 1.0 };
            for k in 0..self.layout.movable {
                let turn = self.projected_turn(k, &step[k]) * scale;
                let shift = DVec3::new(step[k][0], step[k][1], step[k][2]) * (self.inertia[k].inv_sqrt_mass * scale);
                let at = &self.pose[k];
                self.pose[k] = Placed::new(at.x + shift, (rotation::exp(turn) * at.q).normalize());
            }
            iterations += 1;
        }
        self.robust.residual = step;
        iterations
    }
}
