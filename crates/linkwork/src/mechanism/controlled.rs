//! The error-controlled mode: a mechanism is followed to a tolerance in as many substeps as that takes.
//!
//! Index-1 form: at every stage the rows are linearised, A λ = −(Ĵa₀ + J̇u) and u̇ = a₀ + Ĵᵀλ, and an explicit
//! Runge–Kutta method integrates (x, q, u). After every substep poses and velocities are projected onto the joints, so that
//! nothing drifts. Bounded rows (limits, dry friction, motors) and stiff springs are not smooth: there the accurate step is
//! taken in substeps ([`doubling`](super::doubling)).

use super::linear::INFINITELY_SOFT;
use super::runge_kutta::{DOP853, Estimate, RK4, Tableau};
use super::{Advance, Hat, Mechanism};
use crate::math::{Placed, max_abs, rotation};
use crate::params::StepParams;
use crate::report::StepKind;
use glam::{DQuat, DVec3};

/// From here on the method of order four is cheaper than that of order eight.
pub(super) const LOOSE: f64 = 1e-5;
/// Substeps smaller than this fraction of the step mean that the motion cannot be followed.
pub(super) const SMALLEST_FRACTION: f64 = 1e-5;
/// A stage turns no body further than this, rad: explicit stages know nothing of what lies between.
pub(super) const MOST_TURN: f64 = 1.0;

/// Position, orientation and hat velocity of a body, or their rates.
#[derive(Clone, Copy, Default)]
struct State {
    x: DVec3,
    q: [f64; 4],
    u: Hat,
}

impl State {
    fn plus(&self, k: f64, other: &State) -> State {
        let mut sum = *self;
        sum.x += other.x * k;
        for i in 0..4 {
            sum.q[i] += k * other.q[i];
        }
        for i in 0..6 {
            sum.u[i] += k * other.u[i];
        }
        sum
    }
}

/// The next substep of what is left: two equal ones rather than a long one and a sliver.
pub(super) fn part_of(left: f64, size: f64) -> f64 {
    if size >= left { left } else { size.min(0.5 * left).max(0.5 * size) }
}

/// The substep after one that had an error, in units of the tolerance.
pub(super) fn next_size(attempt: f64, error: f64, order: f64, smallest: f64) -> f64 {
    let factor = if error > 0.0 { (0.9 * error.powf(-1.0 / order)).clamp(0.2, 4.0) } else { 4.0 };
    (attempt * if error <= 1.0 { factor } else { factor.min(0.5) }).max(smallest)
}

#[derive(Default)]
pub(super) struct ControlledScratch {
    start: Vec<State>,
    trial: Vec<State>,
    slopes: Vec<Vec<State>>,
    /// Forces of the rows at every stage.
    forces: Vec<Vec<f64>>,
    outside: Vec<Placed>,
}

impl Mechanism {
    pub(super) fn controlled_step(&mut self, h: f64, tolerance: f64, params: &StepParams) -> Advance {
        if !self.is_smooth(h) {
            return self.doubling_steps(h, tolerance, params);
        }
        let tableau = if tolerance >= LOOSE { &RK4 } else { &DOP853 };
        self.reserve_slopes(tableau.b.len() + 1);
        let mut done = 0.0;
        let mut substeps = 0;
        let mut missed = false;
        let cautious = h.min(0.5 * MOST_TURN / self.largest_spin().max(1e-9));
        let mut size = if self.substep > 0.0 { self.substep.min(h) } else { cautious };
        self.keep_start();
        self.expect_values(0.0);
        self.slope_into(0, false);
        while done < h * (1.0 - 1e-12) {
            let attempt = part_of(h - done, size);
            // turns are counted from the start of the substep: within it no body turns further than a stage may
            self.expect_values(attempt);
            let error = self.runge_kutta(tableau, attempt, tolerance, params.joint_tolerance);
            let fits = error <= 1.0;
            if fits || attempt <= SMALLEST_FRACTION * h {
                missed |= !fits;
                done += attempt;
                substeps += 1;
                self.commit_values();
                for (b, forces) in tableau.b.iter().zip(&self.controlled.forces) {
                    self.force_sum.iter_mut().zip(forces).for_each(|(sum, f)| *sum += attempt * b * f);
                }
                self.keep_start();
                match tableau.estimate {
                    Estimate::LastSlope(_) => {
                        self.controlled.slopes.swap(0, tableau.b.len());
                        self.controlled.forces.swap(0, tableau.b.len());
                    }
                    Estimate::FiveThree { .. } => self.slope_into(0, true),
                }
            } else {
                self.back_to_start();
            }
            size = next_size(attempt, error, tableau.order, SMALLEST_FRACTION * h);
        }
        self.substep = size;
        self.remember_impulses(None);
        for k in 0..self.layout.movable {
            let a = self.controlled.slopes[0][k].u;
            self.acceleration[k].averaged = a;
            self.acceleration[k].last = a;
        }
        self.linear.forget();
        self.linearise_here(h);
        // the forces of the substeps have been counted
        let mut advance = self.taken(0.0, StepKind::Controlled, None, substeps);
        advance.substeps = substeps;
        advance.tolerance_missed = missed;
        advance
    }

    /// Linear and angular accelerations of the movable bodies where they are, in world axes.
    pub(crate) fn accelerations(&mut self) -> Vec<(DVec3, DVec3)> {
        self.expect_values(0.0);
        self.accelerations_in_tree().unwrap_or_else(|| self.accelerations_by_multipliers())
    }

    /// The same by the direct method, which finds the forces of the joints with them.
    pub(super) fn accelerations_by_multipliers(&mut self) -> Vec<(DVec3, DVec3)> {
        self.reserve_slopes(1);
        self.expect_values(0.0);
        self.slope_into(0, false);
        let accelerate = |k: usize| self.motion_of_hat(k, &self.controlled.slopes[0][k].u);
        (0..self.layout.movable).map(accelerate).collect()
    }

    /// Whether the equations of motion are smooth and not stiff at steps of `h`.
    fn is_smooth(&self, h: f64) -> bool {
        let slow = |k: usize| {
            let law = &self.linear.soft[k].law;
            let mobility = self.linear.mobility[self.layout.soft[k].row as usize];
            h * h * law.stiffness * mobility < 1.0 && h * law.damping * mobility < 1.0
        };
        self.bounded.is_empty() && (0..self.layout.soft.len()).all(slow)
    }

    fn largest_spin(&self) -> f64 {
        (0..self.layout.movable).map(|k| self.body_spin(k).length()).fold(0.0, f64::max)
    }

    fn reserve_slopes(&mut self, stages: usize) {
        let movable = self.layout.movable;
        let c = &mut self.controlled;
        c.slopes.resize_with(stages.max(c.slopes.len()), Vec::new);
        c.forces.resize_with(stages.max(c.forces.len()), Vec::new);
        for slope in &mut c.slopes {
            slope.resize(movable, State::default());
        }
        for forces in &mut c.forces {
            forces.resize(self.layout.rows, 0.0);
        }
        c.start.resize(movable, State::default());
        c.trial.resize(movable, State::default());
        c.outside.resize(self.layout.bodies.len(), Placed::WORLD);
    }

    fn keep_start(&mut self) {
        for k in 0..self.layout.movable {
            self.controlled.start[k] = State { x: self.pose[k].x, q: self.pose[k].q.to_array(), u: self.u[k] };
        }
        self.controlled.outside.copy_from_slice(&self.pose);
    }

    fn back_to_start(&mut self) {
        self.pose.copy_from_slice(&self.controlled.outside);
        for k in 0..self.layout.movable {
            self.u[k] = self.controlled.start[k].u;
        }
    }

    /// Sets poses and velocities to a state, bodies moved by the user to where they are after `time`.
    fn place_trial(&mut self, time: f64) {
        for k in 0..self.layout.movable {
            let s = &self.controlled.trial[k];
            self.pose[k] = Placed::new(s.x, DQuat::from_array(s.q).normalize());
            self.u[k] = s.u;
        }
        for k in self.layout.movable..self.layout.bodies.len() {
            self.pose[k] = super::outside_moved(&self.outside[k], &self.controlled.outside[k], time);
        }
    }

    /// The rates of the present state into slope `stage`. Projection leaves the system `factorised` at its end.
    fn slope_into(&mut self, stage: usize, factorised: bool) {
        if !factorised {
            self.factorise_hard_rows();
        }
        self.refresh_drive_forces();
        self.free_accelerations(stage);
        self.constrain_accelerations(stage);
        for k in 0..self.layout.movable {
            let i = &self.inertia[k];
            let u = &self.u[k];
            let spin = self.body_spin(k);
            let q = self.pose[k].q;
            let rate = q * DQuat::from_xyzw(0.5 * spin.x, 0.5 * spin.y, 0.5 * spin.z, 0.0);
            let slope = &mut self.controlled.slopes[stage][k];
            slope.x = DVec3::new(u[0], u[1], u[2]) * i.inv_sqrt_mass;
            slope.q = rate.to_array();
        }
        self.timer.lap(|s| &mut s.solve);
    }

    /// a₀: loads, gyroscopic torque, damping, springs.
    fn free_accelerations(&mut self, stage: usize) {
        for k in 0..self.layout.movable {
            let i = &self.inertia[k];
            let (force, torque) = self.load[k];
            let u = &self.u[k];
            let spin = self.body_spin(k);
            let momentum = DVec3::new(u[3], u[4], u[5]) * i.sqrt;
            let f = force * i.inv_sqrt_mass;
            let t = (self.pose[k].r.transpose() * torque - spin.cross(momentum)) * i.inv_sqrt;
            let mut a = [f.x, f.y, f.z, t.x, t.y, t.z];
            for s in 0..6 {
                a[s] -= u[s] * if s < 3 { i.linear_damping } else { i.angular_damping };
            }
            self.controlled.slopes[stage][k].u = a;
        }
        for (k, f) in &self.linear.drive_forces {
            let a = &mut self.controlled.slopes[stage][*k as usize].u;
            a.iter_mut().zip(f).for_each(|(a, f)| *a += f);
        }
        for k in 0..self.layout.soft.len() {
            let s = self.layout.soft[k];
            let m = &self.layout.models[s.model as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let (a, b) = (&self.pose[s.a as usize], &self.pose[s.b as usize]);
            let near = self.near[self.first_value[s.model as usize] as usize + s.coordinate as usize];
            let row = kind.row(m, a, b);
            let (q, rate) = (kind.unwrapped(m, a, b, near), row.velocity(&self.motion(s.a), &self.motion(s.b)));
            let law = &self.linear.soft[k].law;
            let force = law.bias - law.stiffness * (q - law.rest) - law.damping * rate;
            self.correction[s.row as usize] = force;
            for (body, is_b) in [(s.a, false), (s.b, true)] {
                if (body as usize) < self.layout.movable {
                    let hat = self.hat_row(&row.scaled(force), body as usize, is_b);
                    let a = &mut self.controlled.slopes[stage][body as usize].u;
                    a.iter_mut().zip(hat).for_each(|(a, f)| *a += f);
                }
            }
        }
    }

    /// A λ = −(Ĵa₀ + J̇u), a += Ĵᵀλ; λ goes to `force`.
    fn constrain_accelerations(&mut self, stage: usize) {
        let mut a: Vec<Hat> = std::mem::take(&mut self.robust.kept_u);
        a.clear();
        a.extend(self.controlled.slopes[stage].iter().map(|s| s.u));
        std::mem::swap(&mut self.u, &mut a);
        self.row_velocities();
        std::mem::swap(&mut self.u, &mut a);
        for r in 0..self.rhs.len() {
            self.rhs[r] -= self.linear.drift[r];
        }
        self.add_bias_accelerations();
        for r in &mut self.rhs {
            *r = -*r;
        }
        for s in &self.layout.soft {
            self.rhs[s.row as usize] = 0.0;
        }
        self.layout.factor.solve(&mut self.rhs);
        for s in &self.layout.soft {
            self.rhs[s.row as usize] = 0.0;
        }
        Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut a);
        for (slope, a) in self.controlled.slopes[stage].iter_mut().zip(&a) {
            slope.u = *a;
        }
        self.robust.kept_u = a;
        self.force.copy_from_slice(&self.rhs);
        for s in &self.layout.soft {
            self.force[s.row as usize] = self.correction[s.row as usize];
        }
        self.controlled.forces[stage].copy_from_slice(&self.force);
    }

    /// The system of the hard rows at the present poses: springs are infinitely soft.
    fn factorise_hard_rows(&mut self) {
        self.whiten_plainly();
        self.linear.forget();
        self.write_rows();
        self.sum_products(|_| INFINITELY_SOFT);
        self.timer.lap(|s| &mut s.assemble);
        self.factorise();
        self.timer.lap(|s| &mut s.factor);
    }

    fn add_bias_accelerations(&mut self) {
        use super::layout::Source;
        let mut bias = [0.0; crate::joint::MAX_ROWS];
        for n in 0..self.layout.nodes.len() {
            let node = self.layout.nodes[n];
            let row = node.row as usize;
            match node.source {
                Source::Joint { model, .. } => {
                    let m = &self.layout.models[model as usize];
                    let (a, b) = (&self.pose[node.a as usize], &self.pose[node.b as usize]);
                    m.bias_acceleration(a, b, &self.motion(node.a), &self.motion(node.b), &mut bias);
                    for r in 0..node.hard as usize {
                        self.rhs[row + r] += bias[r];
                    }
                }
                Source::Coupling { first, last, .. } => {
                    for t in first..last {
                        let t = self.layout.terms[t as usize];
                        let m = &self.layout.models[t.model as usize];
                        let kind = m.coordinates[t.coordinate as usize].1;
                        let (a, b) = (&self.pose[t.a as usize], &self.pose[t.b as usize]);
                        let motions = (self.motion(t.a), self.motion(t.b));
                        self.rhs[row] += t.factor * kind.bias_acceleration(m, a, b, &motions.0, &motions.1);
                    }
                }
                Source::Fixation | Source::Hub => {}
            }
        }
    }

    /// One trial substep from the kept start; projects it onto the joints. Returns the error in units of the tolerance.
    fn runge_kutta(&mut self, tableau: &Tableau, h: f64, tolerance: f64, joint_tolerance: f64) -> f64 {
        if h * self.largest_spin() > MOST_TURN {
            return 16.0;
        }
        for (i, row) in tableau.a.iter().enumerate() {
            let time: f64 = row.iter().sum::<f64>() * h;
            self.sum_slopes(row, h);
            self.place_trial(time);
            self.slope_into(i + 1, false);
        }
        self.sum_slopes(tableau.b, h);
        self.place_trial(h);
        let projected = self.project_plainly(joint_tolerance);
        let error = match &tableau.estimate {
            Estimate::FiveThree { e5, e3 } => self.five_three(e5, e3, h, tolerance),
            Estimate::LastSlope(c) => {
                let end = tableau.b.len();
                self.slope_into(end, true);
                self.slope_difference(end - 1, end, c * h, tolerance)
            }
        };
        if projected && error.is_finite() { error } else { 1e6 }
    }

    /// trial = start + h Σ w_i k_i.
    fn sum_slopes(&mut self, weights: &[f64], h: f64) {
        let c = &mut self.controlled;
        for k in 0..c.trial.len() {
            let mut sum = c.start[k];
            for (w, slope) in weights.iter().zip(&c.slopes) {
                if *w != 0.0 {
                    sum = sum.plus(h * w, &slope[k]);
                }
            }
            c.trial[k] = sum;
        }
    }

    /// Largest entry of a combination of slopes, in units of the tolerance: positions and angles, velocities relative to one.
    fn weighted(&self, combination: impl Fn(usize) -> State, tolerance: f64) -> f64 {
        let mut worst = 0.0;
        for k in 0..self.layout.movable {
            let e = combination(k);
            let i = &self.inertia[k];
            let q = 2.0 * max_abs(e.q);
            let v = DVec3::new(e.u[0], e.u[1], e.u[2]) * i.inv_sqrt_mass;
            let w = DVec3::new(e.u[3], e.u[4], e.u[5]) * i.inv_sqrt;
            let speed = self.velocity(k).0.length();
            let spin = self.body_spin(k).length();
            let parts = [e.x.length(), q, v.length() / (1.0 + speed), w.length() / (1.0 + spin)];
            worst = max_abs([worst, max_abs(parts)]);
        }
        worst / tolerance
    }

    fn slope_difference(&self, i: usize, j: usize, h: f64, tolerance: f64) -> f64 {
        let slopes = &self.controlled.slopes;
        self.weighted(|k| State::default().plus(h, &slopes[i][k]).plus(-h, &slopes[j][k]), tolerance)
    }

    /// Hairer's estimate: h e₅²/√(e₅² + 0.01 e₃²).
    fn five_three(&self, e5: &[f64], e3: &[f64], h: f64, tolerance: f64) -> f64 {
        let slopes = &self.controlled.slopes;
        let sum = |weights: &[f64], k: usize| {
            weights.iter().zip(slopes).fold(State::default(), |s, (w, slope)| s.plus(h * w, &slope[k]))
        };
        let five = self.weighted(|k| sum(e5, k), tolerance);
        let three = self.weighted(|k| sum(e3, k), tolerance);
        let scale = (five * five + 0.01 * three * three).sqrt();
        if scale > 0.0 { five * five / scale } else { 0.0 }
    }

    /// Poses onto the joints by the least mass-weighted motion, then velocities. Whether that converged.
    fn project_plainly(&mut self, tolerance: f64) -> bool {
        for _ in 0..6 {
            self.next.copy_from_slice(&self.pose);
            self.measure_errors();
            for s in &self.layout.soft {
                self.error[s.row as usize] = 0.0;
            }
            let worst = max_abs(self.error.iter().copied());
            self.factorise_hard_rows();
            if worst < 0.1 * tolerance {
                self.close_velocities();
                return true;
            }
            for r in 0..self.rhs.len() {
                self.rhs[r] = -self.error[r];
            }
            self.layout.factor.solve(&mut self.rhs);
            let mut step = std::mem::take(&mut self.robust.kept_u);
            step.clear();
            step.resize(self.layout.movable, [0.0; 6]);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut step);
            for (k, d) in step.iter().enumerate() {
                let i = &self.inertia[k];
                let shift = DVec3::new(d[0], d[1], d[2]) * i.inv_sqrt_mass;
                let turn = DVec3::new(d[3], d[4], d[5]) * i.inv_sqrt;
                let at = &self.pose[k];
                // a turn in body axes leaves the body velocities as they are
                self.pose[k] = Placed::new(at.x + shift, (at.q * rotation::exp(turn)).normalize());
            }
            self.robust.kept_u = step;
        }
        false
    }
}
