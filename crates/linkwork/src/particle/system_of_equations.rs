//! A particle system as a system of differential equations, for any solver.
//!
//! The state is all positions, all velocities, and the coordinates of parametric objects with their rates. Constraints
//! act through their multipliers (course notes, chapter on constrained dynamics),
//!
//! (J W Jᵀ) λ = −J̇ẋ − J W Q − k C − d Ċ,
//!
//! with feedback k, d against the drift of solvers that know nothing of C.

use super::multipliers::Answer;
use super::{Motion, ParticleSystem};
use crate::ode::System;
use glam::DVec3;

impl ParticleSystem {
    pub(super) fn lay_out(&mut self) {
        if !self.multipliers.ready {
            let direct = self.objects.is_empty();
            self.multipliers.lay_out(self.constraints.iter().map(|c| &c.1), &self.w, self.linear_solver, direct);
            self.lambda.resize(self.multipliers.total, 0.0);
        }
    }

    pub(super) fn add_forces(&mut self) {
        self.add_forces_if(|_| true);
    }

    /// Of those that are wanted.
    pub(super) fn add_forces_if(&mut self, wanted: impl Fn(&dyn super::Force) -> bool) {
        self.f.clear();
        self.f.resize(self.x.len(), DVec3::ZERO);
        let at = super::Points { x: &self.x, v: &self.v, mass: &self.mass, time: self.time };
        for (_, force) in self.forces.iter().filter(|(_, force)| wanted(&**force)) {
            force.apply(&at, &mut self.f);
        }
    }

    /// Accelerations at the present state, constraint forces included; rates of parametric coordinates come from `f`.
    fn accelerations(&mut self, a: &mut [DVec3]) {
        self.lay_out();
        self.add_forces();
        for object in &self.objects {
            object.subtract_inertia(&mut self.f);
        }
        let answer = Answer { w: &self.w, objects: &self.objects };
        let with_bias = |f: &[DVec3], a: &mut [DVec3]| {
            answer.apply(f, a);
            for object in &self.objects {
                for (p, bias) in object.bias.iter().enumerate() {
                    a[object.first + p] += *bias;
                }
            }
        };
        with_bias(&self.f, a);
        if self.multipliers.total == 0 {
            return;
        }
        let m = &mut self.multipliers;
        m.evaluate(self.constraints.iter().map(|c| &c.1), &self.x, &self.v);
        m.factor(&self.w);
        let (mut b, mut rate) = (vec![0.0; m.total], vec![0.0; m.total]);
        m.rate(a, &mut b);
        m.rate(&self.v, &mut rate);
        let (k, d) = self.feedback;
        for (rows, first) in m.rows.iter().zip(&m.first) {
            for r in 0..rows.count {
                let i = first + r;
                b[i] = -b[i] - rows.bias[r] - k * rows.c[r] - d * rate[i];
            }
        }
        m.solve(&answer, &mut b);
        m.add_forces(&b, &mut self.f);
        with_bias(&self.f, a);
        self.lambda = b;
    }

    pub(super) fn follow_scripts(&mut self, h: f64) {
        for i in 0..self.x.len() {
            if let Motion::Scripted(script) = &self.motion[i] {
                let x = script(self.time);
                self.v[i] = (x - script(self.time - h)) / h;
                self.x[i] = x;
            }
        }
    }
}

impl System for ParticleSystem {
    fn dimension(&self) -> usize {
        6 * self.x.len() + 2 * self.objects.iter().map(|o| o.u.len()).sum::<usize>()
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn state(&self, y: &mut [f64]) {
        let vectors = self.x.iter().chain(&self.v).flat_map(|p| p.to_array());
        let coordinates = self.objects.iter().flat_map(|o| o.u.iter().chain(&o.du)).copied();
        y.iter_mut().zip(vectors.chain(coordinates)).for_each(|(y, value)| *y = value);
    }

    fn set_state(&mut self, time: f64, y: &[f64]) {
        let n = self.x.len();
        self.time = time;
        for i in 0..n {
            self.x[i] = DVec3::from_slice(&y[3 * i..]);
            self.v[i] = DVec3::from_slice(&y[3 * (n + i)..]);
        }
        let mut rest = &y[6 * n..];
        for object in &mut self.objects {
            let k = object.u.len();
            object.u.copy_from_slice(&rest[..k]);
            object.du.copy_from_slice(&rest[k..2 * k]);
            rest = &rest[2 * k..];
        }
        self.follow_scripts(1e-6);
        self.place_objects();
        self.f_is_known = false;
    }

    fn derivative(&mut self, dy: &mut [f64]) {
        let n = self.x.len();
        let mut a = vec![DVec3::ZERO; n];
        self.accelerations(&mut a);
        for i in 0..n {
            let moved = matches!(self.motion[i], Motion::Free);
            let (dx, dv) = if moved { (self.v[i], a[i]) } else { (DVec3::ZERO, DVec3::ZERO) };
            dx.write_to_slice(&mut dy[3 * i..]);
            dv.write_to_slice(&mut dy[3 * (n + i)..]);
        }
        let mut rest = &mut dy[6 * n..];
        for object in &self.objects {
            let k = object.u.len();
            rest[..k].copy_from_slice(&object.du);
            rest[k..2 * k].copy_from_slice(&object.rates(&self.f));
            rest = &mut rest[2 * k..];
        }
    }
}
