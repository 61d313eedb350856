//! Implicit steps for stiff systems: backward Euler, linearised once a step (course notes, equations 4–5; Baraff, Witkin 1998).
//!
//! (M − h ∂f/∂v − h² ∂f/∂x) Δv = h (f₀ + h ∂f/∂x v₀), which for the new velocities v = v₀ + Δv reads
//!
//! A v = M v₀ + h (f₀ − ∂f/∂v v₀),   A = M − h ∂f/∂v − h² ∂f/∂x.
//!
//! Not every particle is free to take any velocity. One that touches a solid has its normal velocity from the solid, one
//! that is attached to a body has all of it, and bodies that answer (riders) have unknown velocities of their own, V:
//!
//! v = S z + T V + c,
//!
//! with S a projection, T the velocity of a point of a body, c what is given. The system solved is
//!
//! Sᵀ A v = Sᵀ b,   Tᵀ A v + M_b (V − V₀) = Tᵀ b:
//!
//! momentum that particles lose is what bodies gain. It is symmetric positive definite; conjugate gradients, preconditioned
//! with diagonal blocks, or a block factorisation where that is cheap or the iteration does not get there.
//!
//! Which contacts hold is found by trying: solve, let go of those that pull, take those that would be passed, again.
//! Friction then takes off sliding by at most μ times the impulse of the contact. Hard constraints are closed after the
//! solve, which until then keeps to their directions by projected conjugate gradients.

use super::coarse::Coarse;
use super::direct::Direct;
use super::matrix::BlockMatrix;
use super::multipliers::Answer;
use super::solid::Solid;
use super::{Motion, ParticleReport, ParticleSystem};
use glam::{DMat3, DVec3};

/// A rigid body that answers to what particles do.
#[derive(Clone, Debug)]
pub(crate) struct Rider {
    pub mass: f64,
    /// In world axes.
    pub inertia: DMat3,
    /// What its velocities would be without particles.
    pub v0: DVec3,
    pub w0: DVec3,
    pub v: DVec3,
    pub w: DVec3,
}

impl Rider {
    pub fn point(&self, lever: DVec3) -> DVec3 {
        self.v + self.w.cross(lever)
    }

    /// Takes an impulse at a lever.
    pub fn push(&mut self, impulse: DVec3, lever: DVec3) {
        self.v += impulse / self.mass;
        self.w += self.inertia.inverse() * lever.cross(impulse);
    }
}

/// A particle fixed to a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attached {
    pub particle: usize,
    /// `None`: a body that does not answer.
    pub rider: Option<usize>,
    /// From the body's centre of mass to where the particle belongs.
    pub lever: DVec3,
    /// What the particle's velocity is without the body's answer, with what brings it to its place.
    pub velocity: DVec3,
}

/// What a step meets: solids, bodies that answer, particles fixed to bodies.
#[derive(Default)]
pub(crate) struct Surroundings {
    pub solids: Vec<Solid>,
    pub riders: Vec<Rider>,
    pub attached: Vec<Attached>,
}

/// What a particle's velocity is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    Free,
    /// All of it is given.
    Fixed,
    /// The normal part is the solid's plus `target`.
    Contact {
        normal: DVec3,
        target: f64,
        /// Normal velocity of a solid that does not answer.
        given: f64,
        solid: usize,
        rider: Option<(usize, DVec3)>,
    },
    /// That of a point of a rider, plus `drift`.
    Attached {
        rider: usize,
        lever: DVec3,
        drift: DVec3,
    },
}

/// Working memory and what is remembered from step to step.
#[derive(Default)]
pub(super) struct Implicit {
    matrix: BlockMatrix,
    right: Vec<DVec3>,
    direct: Direct,
    coarse: Coarse,
    /// Contacts that held at the end of the last step, by particle: the solid's key.
    pub held: Vec<u32>,
}

impl Clone for Implicit {
    /// The pattern and factors are found again; which contacts held is state.
    fn clone(&self) -> Self {
        Implicit { held: self.held.clone(), ..Implicit::default() }
    }
}

const NONE: u32 = u32::MAX;
/// Residual relative to the right-hand side, in the norm of the preconditioner: what friction and contact do not notice.
const ACCURACY: f64 = 1e-3;
/// At rest the right-hand side vanishes; velocities need not be known better than the accuracy times this, m/s.
const SLOW: f64 = 0.05;
/// Iterations of the projected method, which has no other way out.
const MOST_ITERATIONS: usize = 400;
/// Iterations before a factorisation is tried, where that is bearable; where it is not, what has been found is taken: it
/// is nearer to the minimum of the step's energy than the start was, so that nothing explodes.
const PATIENCE: usize = 120;
/// Solves to find out which contacts hold.
const MOST_ROUNDS: usize = 3;
/// Overlap is taken out at no more than this, m/s.
const FASTEST_RECOVERY: f64 = 2.0;

impl ParticleSystem {
    pub(super) fn implicit_step(&mut self, h: f64, around: &mut Surroundings) -> ParticleReport {
        self.lay_out();
        let n = self.x.len();
        let mut report = ParticleReport::default();
        let mut work = std::mem::take(&mut self.implicit);
        self.lambda.fill(0.0);
        self.add_forces();
        // scripts and nails give velocities
        let end = self.time + h;
        let mut holds = vec![Hold::Free; n];
        for i in 0..n {
            match &self.motion[i] {
                Motion::Nailed => {
                    self.v[i] = DVec3::ZERO;
                    holds[i] = Hold::Fixed;
                }
                Motion::Scripted(script) => {
                    self.v[i] = (script(end) - self.x[i]) / h;
                    holds[i] = Hold::Fixed;
                }
                Motion::Free | Motion::Driven(_) => {}
            }
        }
        // M v₀ + h f₀ − h ∂f/∂v v₀
        work.right.clear();
        work.right.extend((0..n).map(|i| self.v[i] * self.mass[i] + self.f[i] * h));
        let at = super::Points { x: &self.x, v: &self.v, mass: &self.mass, time: self.time };
        let forces = &self.forces;
        work.matrix.assemble(&self.mass, &self.v, h, &mut work.right, |slopes| {
            forces.iter().for_each(|(_, f)| f.slopes(&at, slopes));
        });
        for a in &around.attached {
            match a.rider {
                Some(rider) => {
                    let drift = a.velocity - around.riders[rider].point(a.lever);
                    holds[a.particle] = Hold::Attached { rider, lever: a.lever, drift };
                }
                None => {
                    self.v[a.particle] = a.velocity;
                    holds[a.particle] = Hold::Fixed;
                }
            }
        }
        let held = self.multipliers.total > 0;
        work.held.resize(n, NONE);
        if !held {
            self.resume_contacts(h, around, &mut holds, &work.held);
        }
        let mut v = self.v.clone();
        let rounds = if around.solids.is_empty() || held { 1 } else { MOST_ROUNDS };
        for round in 0..rounds {
            report.iterations += match held {
                true => self.projected_solve(h, &work, &holds, around, &mut v),
                false => solve(&mut work, &holds, &mut around.riders, &mut v),
            };
            if around.solids.is_empty() || held || !self.change_contacts(h, around, &mut holds, &work, &v) {
                break;
            }
            if round + 1 == rounds {
                // enough of trying: what would pass is stopped by itself
                self.keep_out(around, &holds, &mut v);
            }
        }
        self.rub(around, &holds, &work, &mut v);
        for i in 0..n {
            work.held[i] = match holds[i] {
                Hold::Contact { solid, .. } => around.solids[solid].key,
                _ => NONE,
            };
        }
        report.contacts = holds.iter().filter(|h| matches!(h, Hold::Contact { .. })).count() as u32;
        self.implicit = work;

        // cloth against itself, then on with the new velocities
        if !self.sheets.is_empty() {
            let mobile: Vec<f64> = (0..n)
                .map(|i| if matches!(holds[i], Hold::Fixed | Hold::Attached { .. }) { 0.0 } else { self.w[i] })
                .collect();
            let mut sheets = std::mem::take(&mut self.sheets);
            report.self_contacts = sheets.resolve(&self.x, &mut v, &mobile, h);
            self.sheets = sheets;
            self.keep_out(around, &holds, &mut v);
        }
        self.v = v;
        for i in 0..n {
            self.x[i] += self.v[i] * h;
        }
        self.time = end;
        if held {
            report.constraint_iterations = self.close(h, false);
            if !around.solids.is_empty() {
                let solids = std::mem::take(&mut around.solids);
                let before = std::mem::take(&mut self.start.0);
                report.contacts = self.collide(0..n, h, &before, &solids, &mut around.riders);
                self.start.0 = before;
                around.solids = solids;
                if report.contacts > 0 {
                    report.constraint_iterations += self.close(h, false);
                }
            }
            self.fit_velocities(h);
            self.react(h, around, &holds);
            report.constraint_error = self.multipliers.largest_error();
        }
        self.f_is_known = false;
        report
    }

    /// What touches now and touched before holds from the start, which saves a solve.
    fn resume_contacts(&self, h: f64, around: &Surroundings, holds: &mut [Hold], held: &[u32]) {
        for i in 0..holds.len() {
            if !matches!(holds[i], Hold::Free) {
                continue;
            }
            // solids keep their order by key, though not their numbers
            let Ok(k) = around.solids.binary_search_by_key(&held[i], |s| s.key) else { continue };
            let solid = &around.solids[k];
            let Some((d, normal)) = solid.distance(self.x[i], self.radius + 1e-3) else { continue };
            holds[i] = contact(solid, k, self.x[i], normal, (self.radius - d) / h);
        }
    }

    /// Lets contacts go that pull, and takes up those that would be passed; false if there are none of either.
    fn change_contacts(&self, h: f64, around: &Surroundings, holds: &mut [Hold], work: &Implicit, v: &[DVec3]) -> bool {
        let mut changed = false;
        let mut product = vec![DVec3::ZERO; v.len()];
        work.matrix.multiply(v, &mut product);
        let reach = self.radius + 1e-6;
        let swept: Vec<_> = around.solids.iter().map(|s| s.swept(h, reach)).collect();
        for i in 0..holds.len() {
            match holds[i] {
                Hold::Contact { normal, .. } if (product[i] - work.right[i]).dot(normal) < 0.0 => {
                    holds[i] = Hold::Free;
                    changed = true;
                }
                Hold::Free => {
                    let to = self.x[i] + v[i] * h;
                    let path = crate::collide::parry::Bounds::of([self.x[i], to]);
                    let mut first: Option<(f64, usize, DVec3)> = None;
                    for (k, solid) in around.solids.iter().enumerate() {
                        if !swept[k].overlaps(&path) {
                            continue;
                        }
                        let Some(hit) = solid.hit(self.x[i], to, h, self.radius, &around.riders) else { continue };
                        if first.is_none_or(|f| hit.fraction < f.0) {
                            first = Some((hit.fraction, k, hit.normal));
                        }
                    }
                    if let Some((fraction, k, normal)) = first {
                        let solid = &around.solids[k];
                        let moved = to - self.x[i] - solid.velocity(to, &around.riders) * h;
                        // to the plane that touches where the path meets the solid
                        let mut target = moved.dot(normal) * fraction / h;
                        if fraction == 0.0
                            && let Some((d, _)) = solid.distance(self.x[i], self.radius)
                        {
                            target = (self.radius - d) / h;
                        }
                        holds[i] = contact(solid, k, self.x[i], normal, target);
                        changed = true;
                    }
                }
                _ => {}
            }
        }
        changed
    }

    /// Friction: sliding is taken off by at most μ times the normal impulse.
    fn rub(&self, around: &mut Surroundings, holds: &[Hold], work: &Implicit, v: &mut [DVec3]) {
        if !holds.iter().any(|h| matches!(h, Hold::Contact { .. })) {
            return;
        }
        let mut product = vec![DVec3::ZERO; v.len()];
        work.matrix.multiply(v, &mut product);
        for i in 0..holds.len() {
            let Hold::Contact { normal, solid, rider, .. } = holds[i] else { continue };
            let push = (product[i] - work.right[i]).dot(normal);
            if push <= 0.0 {
                continue;
            }
            let solid = &around.solids[solid];
            let relative = v[i] - solid.velocity(self.x[i], &around.riders);
            let along = relative - normal * relative.dot(normal);
            let slide = along.length();
            if slide < 1e-12 {
                continue;
            }
            // what stops the sliding of particle and body together
            let mut answer = self.w[i];
            if let Some((k, lever)) = rider {
                let r = &around.riders[k];
                let arm = lever.cross(along / slide);
                answer += 1.0 / r.mass + arm.dot(r.inertia.inverse() * arm);
            }
            let impulse = along * (-(solid.friction * push).min(slide / answer) / slide);
            v[i] += impulse * self.w[i];
            if let Some((k, lever)) = rider {
                around.riders[k].push(-impulse, lever);
            }
        }
    }

    /// After other corrections: what touches a solid must not go into it.
    fn keep_out(&self, around: &mut Surroundings, holds: &[Hold], v: &mut [DVec3]) {
        for i in 0..holds.len() {
            let Hold::Contact { normal, target, solid, rider, .. } = holds[i] else { continue };
            let at = around.solids[solid].velocity(self.x[i], &around.riders);
            let lacking = target - (v[i] - at).dot(normal);
            if lacking > 0.0 {
                v[i] += normal * lacking;
                if let Some((k, lever)) = rider {
                    around.riders[k].push(normal * (-lacking * self.mass[i]), lever);
                }
            }
        }
    }

    /// Constraint forces on attached particles are the bodies'.
    fn react(&self, h: f64, around: &mut Surroundings, holds: &[Hold]) {
        let mut f = vec![DVec3::ZERO; holds.len()];
        self.multipliers.add_forces(&self.lambda, &mut f);
        for i in 0..holds.len() {
            if let Hold::Attached { rider, lever, .. } = holds[i] {
                around.riders[rider].push(f[i] * h, lever);
            }
        }
    }

    /// With hard constraints: conjugate gradients among velocities that keep them closed, in the metric of the masses.
    fn projected_solve(
        &mut self,
        h: f64,
        work: &Implicit,
        holds: &[Hold],
        around: &mut Surroundings,
        v: &mut [DVec3],
    ) -> u32 {
        let n = v.len();
        let w: Vec<f64> = (0..n).map(|i| if matches!(holds[i], Hold::Free) { self.w[i] } else { 0.0 }).collect();
        let m = &mut self.multipliers;
        m.evaluate(self.constraints.iter().map(|c| &c.1), &self.x, &self.v);
        m.factor(&w);
        let answer = Answer { w: &w, objects: &[] };
        let (mut rows, mut f) = (vec![0.0; m.total], vec![DVec3::ZERO; n]);
        for i in 0..n {
            if let Hold::Attached { rider, lever, drift } = holds[i] {
                v[i] = around.riders[rider].point(lever) + drift;
            }
        }
        // onto the constraints: J v = −C/h
        m.rate(v, &mut rows);
        let mut error = vec![0.0; m.total];
        m.errors(&mut error);
        for k in 0..rows.len() {
            rows[k] = -rows[k] - error[k] / h;
        }
        m.solve(&answer, &mut rows);
        m.add_forces(&rows, &mut f);
        for i in 0..n {
            v[i] += f[i] * w[i];
        }
        // z = W (r − Jᵀ λ) with J z = 0
        let mut project = |r: &[DVec3], z: &mut [DVec3]| {
            for i in 0..n {
                z[i] = r[i] * w[i];
            }
            m.rate(z, &mut rows);
            m.solve(&answer, &mut rows);
            f.fill(DVec3::ZERO);
            m.add_forces(&rows, &mut f);
            for i in 0..n {
                z[i] -= f[i] * w[i];
            }
        };
        let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let (mut q, mut r, mut z) = (vec![DVec3::ZERO; n], vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
        work.matrix.multiply(v, &mut q);
        for i in 0..n {
            r[i] = work.right[i] - q[i];
        }
        project(&r, &mut z);
        let mut d = z.clone();
        let mut rho = dot(&r, &z);
        let size: f64 = (0..n).map(|i| work.right[i].length_squared() * w[i]).sum();
        let goal = 1e-4 * ACCURACY * ACCURACY * size.max(rho * 1e-6);
        let mut iterations = 0;
        while rho > goal && iterations < MOST_ITERATIONS as u32 {
            work.matrix.multiply(&d, &mut q);
            let curvature = dot(&d, &q);
            if curvature <= 0.0 {
                break;
            }
            let step = rho / curvature;
            for i in 0..n {
                v[i] += d[i] * step;
                r[i] -= q[i] * step;
            }
            project(&r, &mut z);
            let next = dot(&r, &z);
            let beta = next / rho;
            rho = next;
            for i in 0..n {
                d[i] = z[i] + d[i] * beta;
            }
            iterations += 1;
        }
        // what held particles do not follow, the bodies take
        work.matrix.multiply(v, &mut q);
        for i in 0..n {
            if let Hold::Attached { rider, lever, .. } = holds[i] {
                around.riders[rider].push(work.right[i] - q[i], lever);
            }
        }
        iterations
    }
}

fn contact(solid: &Solid, number: usize, x: DVec3, normal: DVec3, target: f64) -> Hold {
    let rider = solid.rider.map(|k| (k, x - solid.center));
    let given = normal.dot(solid.velocity(x, &[]));
    Hold::Contact { normal, target: target.min(FASTEST_RECOVERY), given, solid: number, rider }
}

/// A vector of reduced unknowns: particles and riders.
#[derive(Clone, Default)]
struct Reduced {
    z: Vec<DVec3>,
    riders: Vec<(DVec3, DVec3)>,
}

impl Reduced {
    fn dot(&self, other: &Reduced) -> f64 {
        let particles: f64 = self.z.iter().zip(&other.z).map(|(a, b)| a.dot(*b)).sum();
        let riders: f64 = self.riders.iter().zip(&other.riders).map(|(a, b)| a.0.dot(b.0) + a.1.dot(b.1)).sum();
        particles + riders
    }

    /// self = other + s self.
    fn follow(&mut self, other: &Reduced, s: f64) {
        for (a, b) in self.z.iter_mut().zip(&other.z) {
            *a = *b + *a * s;
        }
        for (a, b) in self.riders.iter_mut().zip(&other.riders) {
            *a = (b.0 + a.0 * s, b.1 + a.1 * s);
        }
    }
}

/// v = S z + T V.
fn expand(holds: &[Hold], u: &Reduced, v: &mut [DVec3]) {
    let point = |k: usize, lever: DVec3| u.riders[k].0 + u.riders[k].1.cross(lever);
    for i in 0..holds.len() {
        v[i] = match holds[i] {
            Hold::Free => u.z[i],
            Hold::Fixed => DVec3::ZERO,
            Hold::Contact { normal, rider, .. } => {
                let along = u.z[i] - normal * normal.dot(u.z[i]);
                rider.map_or(along, |(k, lever)| along + normal * normal.dot(point(k, lever)))
            }
            Hold::Attached { rider, lever, .. } => point(rider, lever),
        };
    }
}

/// (Sᵀ f, Tᵀ f), added to the riders.
fn reduce(holds: &[Hold], f: &[DVec3], out: &mut Reduced) {
    for i in 0..holds.len() {
        out.z[i] = match holds[i] {
            Hold::Free => f[i],
            Hold::Fixed => DVec3::ZERO,
            Hold::Contact { normal, rider, .. } => {
                let push = normal * normal.dot(f[i]);
                if let Some((k, lever)) = rider {
                    out.riders[k].0 += push;
                    out.riders[k].1 += lever.cross(push);
                }
                f[i] - push
            }
            Hold::Attached { rider, lever, .. } => {
                out.riders[rider].0 += f[i];
                out.riders[rider].1 += lever.cross(f[i]);
                DVec3::ZERO
            }
        };
    }
}

/// Solves for velocities (`v` is the guess) and those of the riders; returns iterations.
fn solve(work: &mut Implicit, holds: &[Hold], riders: &mut [Rider], v: &mut [DVec3]) -> u32 {
    let n = v.len();
    for i in 0..n {
        match holds[i] {
            Hold::Free | Hold::Fixed => {}
            Hold::Contact { normal, target, given, rider, .. } => {
                let at = rider.map_or(given, |(k, lever)| normal.dot(riders[k].point(lever)));
                v[i] += normal * (target + at - normal.dot(v[i]));
            }
            Hold::Attached { rider, lever, drift } => v[i] = riders[rider].point(lever) + drift,
        }
    }
    let matrix = &work.matrix;
    let mut q = vec![DVec3::ZERO; n];
    matrix.multiply(v, &mut q);
    let residual: Vec<DVec3> = (0..n).map(|i| work.right[i] - q[i]).collect();
    let zero = Reduced { z: vec![DVec3::ZERO; n], riders: vec![(DVec3::ZERO, DVec3::ZERO); riders.len()] };
    let mut r = zero.clone();
    for (r, body) in r.riders.iter_mut().zip(riders.iter()) {
        *r = ((body.v0 - body.v) * body.mass, body.inertia * (body.w0 - body.w));
    }
    reduce(holds, &residual, &mut r);

    if work.direct.is_cheap(matrix, holds, riders.len()) {
        let mut u = r;
        work.direct.solve(matrix, holds, riders, &mut u.z, &mut u.riders);
        add(holds, &u, 1.0, &mut q, v, riders);
        return 1;
    }
    let moves: Vec<bool> = holds.iter().map(|h| matches!(h, Hold::Free | Hold::Contact { .. })).collect();
    let coarse = work.coarse.prepare(matrix, &moves).then_some(&mut work.coarse);
    let mut precondition = Preconditioner::new(matrix, holds, riders, coarse);
    let mut right = zero.clone();
    reduce(holds, &work.right, &mut right);
    for (r, body) in right.riders.iter_mut().zip(riders.iter()) {
        r.0 += body.v0 * body.mass;
        r.1 += body.inertia * body.w0;
    }
    let mut z = zero.clone();
    precondition.apply(holds, &right, &mut z);
    let size = right.dot(&z);
    precondition.apply(holds, &r, &mut z);
    let mut rho = r.dot(&z);
    let slow = SLOW * SLOW * matrix.masses;
    let goal = ACCURACY * ACCURACY * size.max(slow);
    let mut d = z.clone();
    let (mut p, mut reduced) = (vec![DVec3::ZERO; n], zero);
    let mut iterations = 0;
    while rho > goal {
        if iterations >= PATIENCE {
            let mut u = r;
            if work.direct.solve(matrix, holds, riders, &mut u.z, &mut u.riders) {
                add(holds, &u, 1.0, &mut q, v, riders);
            }
            break;
        }
        expand(holds, &d, &mut p);
        matrix.multiply(&p, &mut q);
        let mut curvature: f64 = p.iter().zip(&q).map(|(a, b)| a.dot(*b)).sum();
        for ((out, d), body) in reduced.riders.iter_mut().zip(&d.riders).zip(riders.iter()) {
            *out = (d.0 * body.mass, body.inertia * d.1);
            curvature += out.0.dot(d.0) + out.1.dot(d.1);
        }
        if curvature <= 0.0 {
            break;
        }
        reduce(holds, &q, &mut reduced);
        let step = rho / curvature;
        for i in 0..n {
            v[i] += p[i] * step;
            r.z[i] -= reduced.z[i] * step;
        }
        for k in 0..riders.len() {
            riders[k].v += d.riders[k].0 * step;
            riders[k].w += d.riders[k].1 * step;
            r.riders[k].0 -= reduced.riders[k].0 * step;
            r.riders[k].1 -= reduced.riders[k].1 * step;
        }
        precondition.apply(holds, &r, &mut z);
        let next = r.dot(&z);
        d.follow(&z, next / rho);
        rho = next;
        iterations += 1;
    }
    iterations as u32
}

/// Adds a change of the unknowns.
fn add(holds: &[Hold], u: &Reduced, s: f64, p: &mut [DVec3], v: &mut [DVec3], riders: &mut [Rider]) {
    expand(holds, u, p);
    for i in 0..v.len() {
        v[i] += p[i] * s;
    }
    for (body, u) in riders.iter_mut().zip(&u.riders) {
        body.v += u.0 * s;
        body.w += u.1 * s;
    }
}

/// Inverses of the diagonal blocks; of a rider with all that hangs on it, its linear and angular part apart; and the coarse level.
struct Preconditioner<'a> {
    particles: Vec<DMat3>,
    riders: Vec<(DMat3, DMat3)>,
    coarse: Option<&'a mut Coarse>,
}

impl<'a> Preconditioner<'a> {
    fn new(matrix: &BlockMatrix, holds: &[Hold], riders: &[Rider], coarse: Option<&'a mut Coarse>) -> Self {
        let mut blocks: Vec<(DMat3, DMat3)> =
            riders.iter().map(|r| (DMat3::from_diagonal(DVec3::splat(r.mass)), r.inertia)).collect();
        for i in 0..holds.len() {
            let (k, lever) = match holds[i] {
                Hold::Contact { rider: Some(rider), .. } => rider,
                Hold::Attached { rider, lever, .. } => (rider, lever),
                _ => continue,
            };
            let a = matrix.diagonal[i];
            let arm = cross_matrix(lever);
            blocks[k].0 += a;
            blocks[k].1 += arm * a * arm.transpose();
        }
        Preconditioner {
            particles: matrix.diagonal.iter().map(|d| d.inverse()).collect(),
            riders: blocks.into_iter().map(|(a, b)| (a.inverse(), b.inverse())).collect(),
            coarse,
        }
    }

    fn apply(&mut self, holds: &[Hold], r: &Reduced, z: &mut Reduced) {
        for i in 0..holds.len() {
            z.z[i] = self.particles[i] * r.z[i];
        }
        if let Some(coarse) = &mut self.coarse {
            coarse.add(&r.z, &mut z.z);
        }
        for (z, hold) in z.z.iter_mut().zip(holds) {
            *z = match hold {
                Hold::Contact { normal, .. } => *z - *normal * normal.dot(*z),
                Hold::Free => *z,
                Hold::Fixed | Hold::Attached { .. } => DVec3::ZERO,
            };
        }
        for (k, (a, b)) in self.riders.iter().enumerate() {
            z.riders[k] = (*a * r.riders[k].0, *b * r.riders[k].1);
        }
    }
}

/// [r]× with [r]× x = r × x.
pub(super) fn cross_matrix(r: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, r.z, -r.y), DVec3::new(-r.z, 0.0, r.x), DVec3::new(r.y, -r.x, 0.0))
}
