//! Implicit steps for stiff systems: backward Euler, linearised once a step (course notes, equations 4–5; Baraff, Witkin 1998).
//!
//! (M − h ∂f/∂v − h² ∂f/∂x) Δv = h (f₀ + h ∂f/∂x v₀), which for the new velocities v = v₀ + Δv reads
//!
//! A v = M v₀ + h (f₀ − ∂f/∂v v₀),   A = M − h ∂f/∂v − h² ∂f/∂x.
//!
//! Not every particle is free to take any velocity. One that touches a solid has its normal velocity from the solid, one
//! that is attached to a body has all of it, and bodies that answer (riders) have unknown velocities of their own:
//!
//! v = S z + T y + c,
//!
//! with S a projection, y the coordinates of units of riders (rider.rs), T the velocity of a point of a body for these, c
//! what is given. The system solved is
//!
//! Sᵀ A v = Sᵀ b,   Tᵀ A v + y = Tᵀ b − Bᵀ P_last:
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
use super::rider::Riders;
use super::solid::Solid;
use super::{Motion, ParticleReport, ParticleSystem};
use glam::{DMat3, DVec3};

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
    pub riders: Riders,
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
                    let drift = a.velocity - around.riders.point(rider, a.lever);
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
            if held {
                break;
            }
            let solved = holds.clone();
            if around.solids.is_empty() || !self.change_contacts(h, around, &mut holds, &work, &v) {
                note_impulses(&work, &solved, &mut around.riders, &v);
                break;
            }
            if round + 1 == rounds {
                // enough of trying: what would pass is stopped by itself
                note_impulses(&work, &solved, &mut around.riders, &v);
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
            if self.keep_out(around, &holds, &mut v) {
                // what touches a solid stays, and the rest gives way
                let touches = |i: usize| matches!(holds[i], Hold::Contact { .. });
                let mobile: Vec<f64> = (0..n).map(|i| if touches(i) { 0.0 } else { mobile[i] }).collect();
                report.self_contacts += sheets.stop(&self.x, &mut v, &mobile, h);
            }
            self.sheets = sheets;
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
                Hold::Contact { .. } => {}
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
            let of_body = rider.map_or(0.0, |(k, lever)| around.riders.answer(k, lever, along / slide));
            let answer = self.w[i] + of_body;
            let impulse = along * (-(solid.friction * push).min(slide / answer) / slide);
            v[i] += impulse * self.w[i];
            if let Some((k, lever)) = rider {
                around.riders.push(k, -impulse, lever);
            }
        }
    }

    /// After other corrections: what touches a solid must not go into it. Returns whether something had to be stopped.
    fn keep_out(&self, around: &mut Surroundings, holds: &[Hold], v: &mut [DVec3]) -> bool {
        let mut stopped = false;
        for i in 0..holds.len() {
            let Hold::Contact { normal, target, solid, rider, .. } = holds[i] else { continue };
            let at = around.solids[solid].velocity(self.x[i], &around.riders);
            let lacking = target - (v[i] - at).dot(normal);
            if lacking > 1e-9 {
                stopped = true;
                v[i] += normal * lacking;
                if let Some((k, lever)) = rider {
                    around.riders.push(k, normal * (-lacking * self.mass[i]), lever);
                }
            }
        }
        stopped
    }

    /// Constraint forces on attached particles are the bodies'.
    fn react(&self, h: f64, around: &mut Surroundings, holds: &[Hold]) {
        let mut f = vec![DVec3::ZERO; holds.len()];
        self.multipliers.add_forces(&self.lambda, &mut f);
        for i in 0..holds.len() {
            if let Hold::Attached { rider, lever, .. } = holds[i] {
                around.riders.push(rider, f[i] * h, lever);
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
                v[i] = around.riders.point(rider, lever) + drift;
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
        around.riders.let_go();
        work.matrix.multiply(v, &mut q);
        for i in 0..n {
            if let Hold::Attached { rider, lever, .. } = holds[i] {
                around.riders.push(rider, work.right[i] - q[i], lever);
            }
        }
        iterations
    }
}

fn contact(solid: &Solid, number: usize, x: DVec3, normal: DVec3, target: f64) -> Hold {
    let rider = solid.rider.map(|k| (k, x - solid.center));
    let given = normal.dot(solid.velocity(x, &Riders::default()));
    Hold::Contact { normal, target: target.min(FASTEST_RECOVERY), given, solid: number, rider }
}

/// A vector of reduced unknowns: particles, and coordinates of units of riders.
#[derive(Clone, Default)]
struct Reduced {
    z: Vec<DVec3>,
    units: Vec<f64>,
}

impl Reduced {
    fn dot(&self, other: &Reduced) -> f64 {
        let particles: f64 = self.z.iter().zip(&other.z).map(|(a, b)| a.dot(*b)).sum();
        let units: f64 = self.units.iter().zip(&other.units).map(|(a, b)| a * b).sum();
        particles + units
    }

    /// self = other + s self.
    fn follow(&mut self, other: &Reduced, s: f64) {
        for (a, b) in self.z.iter_mut().zip(&other.z) {
            *a = *b + *a * s;
        }
        for (a, b) in self.units.iter_mut().zip(&other.units) {
            *a = *b + *a * s;
        }
    }
}

/// Particles and riders side by side, with working memory for what goes from one to the other.
struct Between<'a> {
    holds: &'a [Hold],
    /// Velocities of riders, or impulses on them.
    of_bodies: Vec<(DVec3, DVec3)>,
}

impl Between<'_> {
    /// v = S z + T y.
    fn expand(&mut self, riders: &Riders, u: &Reduced, v: &mut [DVec3]) {
        riders.motions_of(&u.units, &mut self.of_bodies);
        let point = |k: usize, lever: DVec3| self.of_bodies[k].0 + self.of_bodies[k].1.cross(lever);
        for ((v, hold), z) in v.iter_mut().zip(self.holds).zip(&u.z) {
            *v = match *hold {
                Hold::Free => *z,
                Hold::Fixed => DVec3::ZERO,
                Hold::Contact { normal, rider, .. } => {
                    let along = *z - normal * normal.dot(*z);
                    rider.map_or(along, |(k, lever)| along + normal * normal.dot(point(k, lever)))
                }
                Hold::Attached { rider, lever, .. } => point(rider, lever),
            };
        }
    }

    /// (Sᵀ f, Tᵀ f), the latter added to the units.
    fn reduce(&mut self, riders: &Riders, f: &[DVec3], out: &mut Reduced) {
        self.of_bodies.clear();
        self.of_bodies.resize(riders.bodies.len(), (DVec3::ZERO, DVec3::ZERO));
        let on_bodies = &mut self.of_bodies;
        let mut push = |k: usize, lever: DVec3, f: DVec3| {
            on_bodies[k].0 += f;
            on_bodies[k].1 += lever.cross(f);
        };
        for ((out, hold), f) in out.z.iter_mut().zip(self.holds).zip(f) {
            *out = match *hold {
                Hold::Free => *f,
                Hold::Fixed => DVec3::ZERO,
                Hold::Contact { normal, rider, .. } => {
                    let across = normal * normal.dot(*f);
                    if let Some((k, lever)) = rider {
                        push(k, lever, across);
                    }
                    *f - across
                }
                Hold::Attached { rider, lever, .. } => {
                    push(rider, lever, *f);
                    DVec3::ZERO
                }
            };
        }
        riders.gather(&self.of_bodies, &mut out.units);
    }
}

/// What particles do to riders at the velocities found: the part of b − A v that the particles themselves do not follow.
fn note_impulses(work: &Implicit, holds: &[Hold], riders: &mut Riders, v: &[DVec3]) {
    if riders.bodies.is_empty() {
        return;
    }
    let mut product = vec![DVec3::ZERO; v.len()];
    work.matrix.multiply(v, &mut product);
    for i in 0..holds.len() {
        let lost = work.right[i] - product[i];
        match holds[i] {
            Hold::Contact { normal, rider: Some((k, lever)), .. } => riders.note(k, normal * normal.dot(lost), lever),
            Hold::Attached { rider, lever, .. } => riders.note(rider, lost, lever),
            _ => {}
        }
    }
}

/// Solves for velocities (`v` is the guess) and those of the riders; returns iterations.
fn solve(work: &mut Implicit, holds: &[Hold], riders: &mut Riders, v: &mut [DVec3]) -> u32 {
    let n = v.len();
    for i in 0..n {
        match holds[i] {
            Hold::Free | Hold::Fixed => {}
            Hold::Contact { normal, target, given, rider, .. } => {
                let at = rider.map_or(given, |(k, lever)| normal.dot(riders.point(k, lever)));
                v[i] += normal * (target + at - normal.dot(v[i]));
            }
            Hold::Attached { rider, lever, drift } => v[i] = riders.point(rider, lever) + drift,
        }
    }
    let matrix = &work.matrix;
    let mut between = Between { holds, of_bodies: Vec::new() };
    let mut q = vec![DVec3::ZERO; n];
    matrix.multiply(v, &mut q);
    let residual: Vec<DVec3> = (0..n).map(|i| work.right[i] - q[i]).collect();
    let zero = Reduced { z: vec![DVec3::ZERO; n], units: vec![0.0; riders.size] };
    let mut r = zero.clone();
    riders.lacking(&mut r.units);
    between.reduce(riders, &residual, &mut r);

    if work.direct.is_cheap(matrix, holds, riders) {
        let mut u = r;
        work.direct.solve(matrix, holds, riders, &mut u.z, &mut u.units);
        add(&mut between, &u, &mut q, v, riders);
        return 1;
    }
    let moves: Vec<bool> = holds.iter().map(|h| matches!(h, Hold::Free | Hold::Contact { .. })).collect();
    let coarse = work.coarse.prepare(matrix, &moves).then_some(&mut work.coarse);
    let mut precondition = Preconditioner::new(matrix, holds, riders, coarse);
    let mut right = zero.clone();
    between.reduce(riders, &work.right, &mut right);
    let mut z = zero.clone();
    precondition.apply(holds, riders, &right, &mut z);
    let size = right.dot(&z);
    precondition.apply(holds, riders, &r, &mut z);
    let mut rho = r.dot(&z);
    let slow = SLOW * SLOW * matrix.masses;
    let goal = ACCURACY * ACCURACY * size.max(slow);
    let mut d = z.clone();
    let (mut p, mut reduced) = (vec![DVec3::ZERO; n], zero);
    let mut moved = vec![0.0; riders.size];
    let mut iterations = 0;
    while rho > goal {
        if iterations >= PATIENCE {
            let mut u = r;
            riders.shift_all(&moved, 1.0);
            moved.fill(0.0);
            if work.direct.solve(matrix, holds, riders, &mut u.z, &mut u.units) {
                add(&mut between, &u, &mut q, v, riders);
            }
            break;
        }
        between.expand(riders, &d, &mut p);
        matrix.multiply(&p, &mut q);
        let particles: f64 = p.iter().zip(&q).map(|(a, b)| a.dot(*b)).sum();
        let curvature = particles + d.units.iter().map(|d| d * d).sum::<f64>();
        if curvature <= 0.0 {
            break;
        }
        reduced.units.copy_from_slice(&d.units);
        between.reduce(riders, &q, &mut reduced);
        let step = rho / curvature;
        for i in 0..n {
            v[i] += p[i] * step;
            r.z[i] -= reduced.z[i] * step;
        }
        for k in 0..moved.len() {
            moved[k] += d.units[k] * step;
            r.units[k] -= reduced.units[k] * step;
        }
        precondition.apply(holds, riders, &r, &mut z);
        let next = r.dot(&z);
        d.follow(&z, next / rho);
        rho = next;
        iterations += 1;
    }
    riders.shift_all(&moved, 1.0);
    iterations as u32
}

/// Adds a change of the unknowns.
fn add(between: &mut Between, u: &Reduced, p: &mut [DVec3], v: &mut [DVec3], riders: &mut Riders) {
    between.expand(riders, u, p);
    for i in 0..v.len() {
        v[i] += p[i];
    }
    riders.shift_all(&u.units, 1.0);
}

/// Inverses of the diagonal blocks; of a unit with all that hangs on it; and the coarse level.
struct Preconditioner<'a> {
    particles: Vec<DMat3>,
    units: Vec<Cholesky>,
    coarse: Option<&'a mut Coarse>,
}

impl<'a> Preconditioner<'a> {
    fn new(matrix: &BlockMatrix, holds: &[Hold], riders: &Riders, coarse: Option<&'a mut Coarse>) -> Self {
        let mut blocks: Vec<Vec<Vec<f64>>> = riders
            .units
            .iter()
            .map(|u| (0..u.z.len()).map(|i| (0..=i).map(|j| f64::from(u8::from(i == j))).collect()).collect())
            .collect();
        for i in 0..holds.len() {
            let (k, lever, along) = match holds[i] {
                Hold::Contact { rider: Some((k, lever)), normal, .. } => (k, lever, Some(normal)),
                Hold::Attached { rider, lever, .. } => (rider, lever, None),
                _ => continue,
            };
            let a = matrix.diagonal[i];
            let columns: Vec<DVec3> =
                riders.point_motions(k, lever).map(|c| along.map_or(c, |normal| normal * normal.dot(c))).collect();
            let block = &mut blocks[riders.bodies[k].unit];
            for (p, row) in block.iter_mut().enumerate() {
                let answer = a * columns[p];
                row.iter_mut().zip(&columns).for_each(|(e, c)| *e += answer.dot(*c));
            }
        }
        Preconditioner {
            particles: matrix.diagonal.iter().map(|d| d.inverse()).collect(),
            units: blocks.into_iter().map(Cholesky::of).collect(),
            coarse,
        }
    }

    fn apply(&mut self, holds: &[Hold], riders: &Riders, r: &Reduced, z: &mut Reduced) {
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
        z.units.copy_from_slice(&r.units);
        for (unit, factor) in riders.units.iter().zip(&self.units) {
            factor.solve(&mut z.units[unit.first..unit.first + unit.z.len()]);
        }
    }
}

/// A small dense Cholesky factor, by rows of its lower triangle.
struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// Of a positive definite matrix.
    fn of(mut a: Vec<Vec<f64>>) -> Cholesky {
        for i in 0..a.len() {
            for j in 0..=i {
                let (above, here) = a.split_at_mut(i);
                let row = &mut here[0];
                let other: &[f64] = if j < i { &above[j] } else { &[] };
                let mut sum = row[j];
                for k in 0..j {
                    sum -= row[k] * if j < i { other[k] } else { row[k] };
                }
                row[j] = if j < i { sum / other[j] } else { sum.max(f64::MIN_POSITIVE).sqrt() };
            }
        }
        Cholesky(a)
    }

    fn solve(&self, x: &mut [f64]) {
        let l = &self.0;
        for i in 0..x.len() {
            for k in 0..i {
                x[i] -= l[i][k] * x[k];
            }
            x[i] /= l[i][i];
        }
        for i in (0..x.len()).rev() {
            x[i] /= l[i][i];
            for k in 0..i {
                x[k] -= l[i][k] * x[i];
            }
        }
    }
}
