//! Explicit steps: velocity Verlet (RATTLE where there are constraints) and projected Runge–Kutta; contact with solids.
//!
//! Verlet: half a kick, drift, constraints closed along the gradients of the start, forces anew, half a kick, velocities
//! made to fit the constraints. The factor of J W Jᵀ at the end of a step serves the start of the next.
//!
//! Contact: a particle that comes within the radius of a solid stops there, its normal velocity turned round times the
//! restitution, its sliding slowed by at most the friction coefficient times that change (Coulomb), and goes the rest of the
//! step with the new velocity. One too slow to leave within a step of the acceleration it has comes to rest.

use super::multipliers::Answer;
use super::rider::{Lever, Riders};
use super::solid::Solid;
use super::{CLOSED, ParticleReport, ParticleSystem};
use crate::ode::{RungeKutta4, Solver};
use glam::DVec3;
use std::ops::Range;

/// Particles whose positions, velocities and forces fit into a quarter of a megabyte.
const PART: usize = 2048;

impl ParticleSystem {
    pub(super) fn verlet_step(&mut self, h: f64, solids: &[Solid], riders: &mut Riders) -> ParticleReport {
        self.lay_out();
        let mut report = ParticleReport::default();
        if !self.f_is_known {
            self.add_forces();
        }
        let n = self.x.len();
        let before = std::mem::take(&mut self.start.0);
        let held = self.multipliers.total > 0;
        self.time += h;
        if !held && self.forces.iter().all(|(_, f)| f.acts_alone()) {
            // part by part, so that everything about a particle is done while it is in the cache
            for from in (0..n).step_by(PART) {
                let part = from..(from + PART).min(n);
                self.kick_and_drift(part.clone(), h);
                report.contacts += self.collide(part.clone(), h, &before, solids, riders);
                self.add_forces_to(part.clone());
                self.kick(part, h);
            }
            self.follow_scripts(h);
        } else {
            if held {
                self.multipliers.evaluate(self.constraints.iter().map(|c| &c.1), &self.x, &self.v);
                self.multipliers.factor(&self.w);
                self.lambda.fill(0.0);
            }
            self.kick_and_drift(0..n, h);
            self.follow_scripts(h);
            if held {
                report.constraint_iterations += self.close(h, true);
            }
            report.contacts = self.collide(0..n, h, &before, solids, riders);
            if held && report.contacts > 0 {
                report.constraint_iterations += self.close(h, false);
            }
            self.add_forces();
            self.kick(0..n, h);
            if held {
                self.fit_velocities(h);
                report.constraint_error = self.multipliers.largest_error();
            }
        }
        self.f_is_known = true;
        self.start.0 = before;
        report
    }

    /// Half a kick, then on with the new velocity.
    fn kick_and_drift(&mut self, part: Range<usize>, h: f64) {
        let (x, v) = (&mut self.x[part.clone()], &mut self.v[part.clone()]);
        let (f, w) = (&self.f[part.clone()], &self.w[part]);
        for i in 0..x.len() {
            v[i] += f[i] * (0.5 * h * w[i]);
            x[i] += v[i] * h;
        }
    }

    fn kick(&mut self, part: Range<usize>, h: f64) {
        let v = &mut self.v[part.clone()];
        let (f, w) = (&self.f[part.clone()], &self.w[part]);
        for i in 0..v.len() {
            v[i] += f[i] * (0.5 * h * w[i]);
        }
    }

    /// Forces that act alone, on a part.
    fn add_forces_to(&mut self, part: Range<usize>) {
        let f = &mut self.f[part.clone()];
        f.fill(DVec3::ZERO);
        let (x, v, mass) = (&self.x[part.clone()], &self.v[part.clone()], &self.mass[part]);
        let at = super::Points { x, v, mass, time: self.time };
        self.forces.iter().for_each(|(_, force)| force.apply(&at, f));
    }

    /// `None` if the state leaves the range of numbers.
    pub(super) fn runge_kutta_step(&mut self, h: f64, solids: &[Solid], riders: &mut Riders) -> Option<ParticleReport> {
        self.lay_out();
        let mut report = ParticleReport::default();
        self.add_forces();
        RungeKutta4::default().step(self, h).ok()?;
        let before = std::mem::take(&mut self.start.0);
        self.follow_scripts(h);
        if self.multipliers.total > 0 {
            report.constraint_iterations = self.close(h, false);
        }
        if !solids.is_empty() && self.objects.is_empty() {
            report.contacts = self.collide(0..self.x.len(), h, &before, solids, riders);
            if report.contacts > 0 && self.multipliers.total > 0 {
                report.constraint_iterations += self.close(h, false);
            }
        }
        if self.multipliers.total > 0 {
            let lambda = self.lambda.clone();
            self.fit_velocities(h);
            self.lambda = lambda;
            report.constraint_error = self.multipliers.largest_error();
        }
        self.f_is_known = false;
        self.start.0 = before;
        Some(report)
    }

    /// Brings the positions onto the constraints; returns the iterations. With `along_start` the corrections act along
    /// the gradients at the start of the step, whose factor is at hand, and count as impulses of the step; if that is slow,
    /// and otherwise, along those of where the particles are.
    pub(super) fn close(&mut self, h: f64, along_start: bool) -> u32 {
        let n = self.x.len();
        let m = &mut self.multipliers;
        let (mut b, mut f, mut dx) = (vec![0.0; m.total], vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
        let constraints = || self.constraints.iter().map(|c| &c.1);
        let mut error_before = f64::INFINITY;
        let mut fixed = along_start && self.objects.is_empty();
        let start = fixed.then(|| m.rows.clone());
        for iteration in 0..40 {
            m.evaluate(constraints(), &self.x, &self.v);
            m.errors(&mut b);
            let error = m.largest_error();
            if error <= CLOSED || !error.is_finite() || iteration == 39 {
                return iteration;
            }
            if fixed && error > 0.3 * error_before {
                fixed = false;
            }
            error_before = error;
            match (&start, fixed) {
                (Some(rows), true) => m.rows.clone_from(rows),
                _ => m.factor(&self.w),
            }
            b.iter_mut().for_each(|b| *b = -*b);
            m.solve(&Answer { w: &self.w, objects: &self.objects }, &mut b);
            f.fill(DVec3::ZERO);
            m.add_forces(&b, &mut f);
            Answer { w: &self.w, objects: &self.objects }.apply(&f, &mut dx);
            for i in 0..n {
                self.x[i] += dx[i];
                self.v[i] += dx[i] / h;
            }
            for (sum, b) in self.lambda.iter_mut().zip(&b) {
                *sum += *b / (h * h);
            }
            for object in &mut self.objects {
                let du = object.rates(&f);
                for k in 0..du.len() {
                    object.u[k] += du[k];
                    object.du[k] += du[k] / h;
                }
                object.place(&mut self.x, &mut self.v);
            }
        }
        40
    }

    /// Takes off what of the velocities would open the constraints.
    pub(super) fn fit_velocities(&mut self, h: f64) {
        let n = self.x.len();
        let m = &mut self.multipliers;
        m.evaluate(self.constraints.iter().map(|c| &c.1), &self.x, &self.v);
        m.factor(&self.w);
        let (mut b, mut f, mut dv) = (vec![0.0; m.total], vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
        m.rate(&self.v, &mut b);
        b.iter_mut().for_each(|b| *b = -*b);
        let answer = Answer { w: &self.w, objects: &self.objects };
        m.solve(&answer, &mut b);
        m.add_forces(&b, &mut f);
        answer.apply(&f, &mut dv);
        for i in 0..n {
            self.v[i] += dv[i];
        }
        for (sum, b) in self.lambda.iter_mut().zip(&b) {
            *sum += *b / h;
        }
        for object in &mut self.objects {
            let rates = object.rates(&f);
            object.du.iter_mut().zip(rates).for_each(|(du, r)| *du += r);
            object.place(&mut self.x, &mut self.v);
        }
    }

    /// Stops particles at solids; returns how many.
    pub(super) fn collide(
        &mut self,
        part: Range<usize>,
        h: f64,
        before: &[DVec3],
        solids: &[Solid],
        riders: &mut Riders,
    ) -> u32 {
        let mut touched = 0;
        for solid in solids {
            let swept = solid.swept(h, self.radius + 1e-6);
            let still_plane = solid.is_plane() && solid.v == DVec3::ZERO && solid.w == DVec3::ZERO;
            let plane = still_plane.then(|| solid.distance(DVec3::ZERO, f64::INFINITY)).flatten();
            for i in part.clone() {
                if self.w[i] == 0.0 {
                    continue;
                }
                match plane {
                    Some((d, n)) if d + n.dot(self.x[i]) >= self.radius => continue,
                    None if !swept.overlaps(&crate::collide::parry::Bounds::of([before[i], self.x[i]])) => continue,
                    _ => {}
                }
                let Some(hit) = solid.hit(before[i], self.x[i], h, self.radius, riders) else { continue };
                touched += 1;
                let at = solid.velocity(self.x[i], riders);
                let slow = 2.0 * h * self.f[i].length() * self.w[i];
                let (n, relative) = (hit.normal, self.v[i] - at);
                let after = reflected(relative, n, solid.friction, solid.restitution, slow);
                self.v[i] = at + after;
                if let Some(k) = solid.rider {
                    riders.push(k, (relative - after) * self.mass[i], Lever::at(self.x[i] - solid.center));
                }
                // to the surface with the old velocity, on with the new one
                let path = self.x[i] - at * h - before[i];
                let mut end = before[i] + path * hit.fraction + after * ((1.0 - hit.fraction) * h);
                if let Some((d, out)) = solid.distance(end, self.radius)
                    && d < self.radius
                {
                    end += out * (self.radius - d);
                }
                self.x[i] = end + at * h;
            }
        }
        touched
    }
}

/// A relative velocity after contact.
pub(super) fn reflected(v: DVec3, n: DVec3, friction: f64, restitution: f64, slow: f64) -> DVec3 {
    let speed = v.dot(n);
    if speed >= 0.0 {
        return v;
    }
    let e = if -speed > slow { restitution } else { 0.0 };
    let push = -(1.0 + e) * speed;
    let along = v - n * speed;
    let slide = along.length();
    let kept = if slide > 0.0 { (1.0 - friction * push / slide).max(0.0) } else { 0.0 };
    along * kept + n * (-e * speed)
}
