//! The robust step: generalised-α with geometric stiffness, for light bodies under large joint forces.
//!
//! A joint force f at lever arm r gives a body the transverse stiffness K = Σ ½(|r||f| + r·f)(1 − r̂r̂ᵀ); with it in the
//! iteration matrix, M̂ = M + h²β'K, and rows at the end of the step, the iteration converges in two or three rounds
//! where a thousand tons hang on a one-kilogram link. Parameters after Chung and Hulbert 1993 for spectral radius ρ = 0.4 at infinity.
//! Equations of motion in body axes as in Brüls, Cardona and Arnold 2012.

use super::layout::Layout;
use super::stiffness::{solve_lower, solve_upper};
use super::{Hat, Mechanism};
use crate::body::Accelerations;
use crate::math::{Placed, max_abs, rotation};
use crate::params::StepParams;
use glam::{DMat3, DVec3};

const RHO: f64 = 0.4;
const ALPHA_M: f64 = (2.0 * RHO - 1.0) / (RHO + 1.0);
const ALPHA_F: f64 = RHO / (RHO + 1.0);
const GAMMA: f64 = 0.5 + ALPHA_F - ALPHA_M;
const BETA: f64 = 0.25 * (GAMMA + 0.5) * (GAMMA + 0.5);
/// What one unit of v̇ at the end contributes to displacement (× h²) and velocity (× h).
const BETA_PRIME: f64 = BETA * (1.0 - ALPHA_F) / (1.0 - ALPHA_M);
const GAMMA_PRIME: f64 = GAMMA * (1.0 - ALPHA_F) / (1.0 - ALPHA_M);

const MOST_ITERATIONS: u32 = 20;

pub(super) struct RobustScratch {
    /// Σ ½(|r||f| + r·f) of every movable body, N m.
    pub stiffness: Vec<f64>,
    /// The same as a tensor in world axes.
    pub tensor: Vec<DMat3>,
    /// Lower Cholesky factor of the angular block of M̂ in hat coordinates, as columns.
    pub cholesky: Vec<DMat3>,
    pub bounded_force: Vec<Hat>,
    pub kept_u: Vec<Hat>,
    pub start: Vec<Placed>,
    rate: Vec<Hat>,
    pub residual: Vec<Hat>,
    pub multiplier: Vec<f64>,
    pub kept_force: Vec<f64>,
}

impl RobustScratch {
    pub fn new(layout: &Layout) -> Self {
        let n = layout.movable;
        RobustScratch {
            stiffness: vec![0.0; n],
            tensor: vec![DMat3::ZERO; n],
            cholesky: vec![DMat3::IDENTITY; n],
            bounded_force: vec![[0.0; 6]; n],
            kept_u: Vec::with_capacity(n),
            start: vec![Placed::WORLD; layout.bodies.len()],
            rate: vec![[0.0; 6]; n],
            residual: vec![[0.0; 6]; n],
            multiplier: vec![0.0; layout.rows],
            kept_force: vec![0.0; layout.rows],
        }
    }
}

impl Mechanism {
    /// Takes the step, or leaves everything as it was and returns `None`.
    pub(super) fn robust_step(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        self.u_start.copy_from_slice(&self.u);
        self.robust.start.copy_from_slice(&self.pose);
        self.bounded_forces(h);
        let energy_before = self.energy_at_start();
        self.robust.multiplier.copy_from_slice(&self.force);
        self.robust.kept_force.copy_from_slice(&self.force);
        for k in 0..self.layout.movable {
            self.robust.rate[k] = self.acceleration[k].last;
        }
        self.predict_outside(h);
        let done = self.iterate_robust(h, params.joint_tolerance);
        if let Some(iterations) = done {
            self.bounded.average(h);
            self.force.copy_from_slice(&self.robust.multiplier);
            self.damp_bodies(h);
            self.linear.forget();
            self.linearise_here(h);
            self.close_velocities();
            if self.energy_is_plausible(energy_before, h, false) {
                self.remember_robust();
                return Some(iterations);
            }
        }
        self.pose.copy_from_slice(&self.robust.start);
        self.u.copy_from_slice(&self.u_start);
        self.force.copy_from_slice(&self.robust.kept_force);
        self.linear.forget();
        None
    }

    fn iterate_robust(&mut self, h: f64, tolerance: f64) -> Option<u32> {
        let reach = h * h * BETA_PRIME;
        let mut before = [f64::INFINITY; 3];
        for iteration in 0..MOST_ITERATIONS {
            self.place_robust(h);
            self.stiffness_tensors_of_multipliers();
            self.whiten_stiffly(reach);
            self.write_rows();
            self.measure_errors();
            let unbalance = self.balance(reach);
            let closure = max_abs(self.error.iter().copied());
            let softness = self.robust_rhs(h, reach);
            let worst = max_abs([closure, 0.1 * unbalance, 0.1 * softness]);
            if worst < tolerance {
                return Some(iteration);
            }
            if !worst.is_finite() || (iteration > 5 && worst > before[0]) {
                return None;
            }
            before = [before[1], before[2], worst];
            self.timer.lap(|s| &mut s.predict);
            self.sum_products(|soft| {
                let law = &soft.law;
                1.0 / (law.stiffness * reach + law.damping * h * GAMMA_PRIME).max(f64::MIN_POSITIVE)
            });
            self.timer.lap(|s| &mut s.assemble);
            self.factorise();
            self.timer.lap(|s| &mut s.factor);
            self.layout.factor.solve(&mut self.rhs);
            for (l, d) in self.robust.multiplier.iter_mut().zip(&self.rhs) {
                *l += d;
            }
            // dv̇ = C⁻ᵀ(−r + Ĵᵀdλ)
            for r in &mut self.robust.residual {
                for e in r.iter_mut() {
                    *e = -*e;
                }
            }
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.robust.residual);
            for k in 0..self.layout.movable {
                let r = self.robust.residual[k];
                let w = solve_upper(&self.robust.cholesky[k], DVec3::new(r[3], r[4], r[5]));
                let d = [r[0], r[1], r[2], w.x, w.y, w.z];
                self.robust.rate[k].iter_mut().zip(d).for_each(|(a, d)| *a += d);
            }
            self.timer.lap(|s| &mut s.solve);
        }
        None
    }

    /// Poses and velocities at the end of the step for the present accelerations, into `pose`, `next` and `u`.
    fn place_robust(&mut self, h: f64) {
        for k in 0..self.layout.movable {
            let Accelerations { averaged, last } = self.acceleration[k];
            let mut mean = [0.0; 6];
            for s in 0..6 {
                let a = self.robust_average(k, s, averaged[s], last[s]);
                self.u[k][s] = self.u_start[k][s] + h * ((1.0 - GAMMA) * averaged[s] + GAMMA * a);
                mean[s] = self.u_start[k][s] + h * ((0.5 - BETA) * averaged[s] + BETA * a);
            }
            let i = &self.inertia[k];
            let from = &self.robust.start[k];
            let x = from.x + DVec3::new(mean[0], mean[1], mean[2]) * (h * i.inv_sqrt_mass);
            let turn = DVec3::new(mean[3], mean[4], mean[5]) * i.inv_sqrt * h;
            self.pose[k] = Placed::new(x, rotation::renormalised(from.q * rotation::exp(turn)));
            self.next[k] = self.pose[k];
        }
        for k in self.layout.movable..self.layout.bodies.len() {
            self.pose[k] = self.next[k];
        }
    }

    /// The averaged acceleration at the end of the step.
    fn robust_average(&self, k: usize, s: usize, averaged: f64, last: f64) -> f64 {
        ((1.0 - ALPHA_F) * self.robust.rate[k][s] + ALPHA_F * last - ALPHA_M * averaged) / (1.0 - ALPHA_M)
    }

    /// Residual of the equations of motion, C⁻¹(v̇ + gyroscopic − loads) − Ĵᵀλ; returns it as a displacement.
    fn balance(&mut self, reach: f64) -> f64 {
        for k in 0..self.layout.movable {
            let i = &self.inertia[k];
            let (force, torque) = self.load[k];
            let spin = DVec3::new(self.u[k][3], self.u[k][4], self.u[k][5]) * i.inv_sqrt;
            let momentum = DVec3::new(self.u[k][3], self.u[k][4], self.u[k][5]) * i.sqrt;
            let gyroscopic = spin.cross(momentum) * i.inv_sqrt;
            let f = force * i.inv_sqrt_mass;
            let t = (self.pose[k].r.transpose() * torque) * i.inv_sqrt;
            let bounded = &self.robust.bounded_force[k];
            let a = &self.robust.rate[k];
            let w = DVec3::new(a[3] - bounded[3], a[4] - bounded[4], a[5] - bounded[5]) + gyroscopic - t;
            let w = solve_lower(&self.robust.cholesky[k], w);
            self.robust.residual[k] =
                [-(a[0] - bounded[0] - f.x), -(a[1] - bounded[1] - f.y), -(a[2] - bounded[2] - f.z), -w.x, -w.y, -w.z];
        }
        for (k, f) in &self.linear.drive_forces {
            let body = *k as usize;
            let w = solve_lower(&self.robust.cholesky[body], DVec3::new(f[3], f[4], f[5]));
            for (e, x) in self.robust.residual[body].iter_mut().zip([f[0], f[1], f[2], w.x, w.y, w.z]) {
                *e += x;
            }
        }
        Self::apply(&self.layout, &self.linear.jacobian, &self.robust.multiplier, &mut self.robust.residual);
        let mut worst = 0.0;
        for k in 0..self.layout.movable {
            let i = &self.inertia[k];
            let r = &mut self.robust.residual[k];
            for e in r.iter_mut() {
                *e = -*e;
            }
            let w = solve_upper(&self.robust.cholesky[k], DVec3::new(r[3], r[4], r[5])) * i.inv_sqrt;
            worst =
                max_abs([worst, w.x, w.y, w.z, r[0] * i.inv_sqrt_mass, r[1] * i.inv_sqrt_mass, r[2] * i.inv_sqrt_mass]);
        }
        worst * reach
    }

    /// −c/(h²β') + Ĵ r; soft rows by their law. Returns the soft rows' unbalance as a displacement.
    fn robust_rhs(&mut self, h: f64, reach: f64) -> f64 {
        // soft rows need their rate before `u` is borrowed for the residual
        let mut worst = 0.0;
        for (k, s) in self.layout.soft.iter().enumerate() {
            let m = &self.layout.models[s.model as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let (a, b) = (&self.pose[s.a as usize], &self.pose[s.b as usize]);
            let rate = kind.row(m, a, b).velocity(&self.motion(s.a), &self.motion(s.b));
            let q = self.coordinate_at_next(s.model, s.coordinate, s.a, s.b);
            let law = &self.linear.soft[k].law;
            let give = law.stiffness * reach + law.damping * h * GAMMA_PRIME;
            let force = law.bias - law.stiffness * (q - law.rest) - law.damping * rate;
            let off = self.robust.multiplier[s.row as usize] - force;
            self.correction[s.row as usize] = off / give.max(f64::MIN_POSITIVE);
            worst = max_abs([worst, off * reach * self.linear.mobility[s.row as usize]]);
        }
        std::mem::swap(&mut self.u, &mut self.robust.residual);
        self.row_velocities();
        std::mem::swap(&mut self.u, &mut self.robust.residual);
        for node in &self.layout.nodes {
            if node.source.is_internal() {
                continue;
            }
            for r in node.row as usize..(node.row + u32::from(node.rows)) as usize {
                let is_soft = r >= node.row as usize + node.hard as usize;
                let own = if is_soft { self.correction[r] } else { self.error[r] / reach };
                self.rhs[r] = self.rhs[r] - self.linear.drift[r] - own;
            }
        }
        worst
    }

    fn remember_robust(&mut self) {
        for k in 0..self.layout.movable {
            let Accelerations { averaged, last } = self.acceleration[k];
            let mut now = [0.0; 6];
            for s in 0..6 {
                now[s] = self.robust_average(k, s, averaged[s], last[s]);
            }
            self.acceleration[k] = Accelerations { averaged: now, last: self.robust.rate[k] };
        }
        self.remember_impulses(None);
    }
}
