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
//! A contact that holds also sticks, in the same solve, unless that takes more than μ times its impulse; then it slides and
//! feels that much. Hard constraints are closed after the
//! solve, which until then keeps to their directions by projected conjugate gradients.

use super::coarse::Coarse;
use super::direct::Direct;
use super::matrix::BlockMatrix;
use super::multipliers::Answer;
use super::packed::Packed;
use super::press::Press;
use super::rider::Riders;
use super::solid::Solid;
use super::solve::{ACCURACY, follow_holds, note_impulses, solve};
use super::{Motion, ParticleReport, ParticleSystem};
use glam::DVec3;

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
    /// The normal part is the solid's plus `target`; the rest too, while it sticks.
    Contact {
        normal: DVec3,
        target: f64,
        /// Velocity of a solid that does not answer.
        given: DVec3,
        solid: usize,
        rider: Option<(usize, DVec3)>,
        grip: Grip,
    },
    /// That of a point of a rider, plus `drift`.
    Attached {
        rider: usize,
        lever: DVec3,
        drift: DVec3,
    },
}

/// Whether a contact holds along the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Grip {
    Stick,
    /// Slides; friction gives this impulse.
    Slip(DVec3),
}

impl Grip {
    fn friction(&self) -> Option<DVec3> {
        match self {
            Grip::Stick => None,
            Grip::Slip(friction) => Some(*friction),
        }
    }
}

impl Hold {
    /// Impulse of friction on a particle that slides.
    pub fn friction(&self) -> DVec3 {
        match self {
            Hold::Contact { grip, .. } => grip.friction().unwrap_or(DVec3::ZERO),
            _ => DVec3::ZERO,
        }
    }
}

/// A contact that held: the solid's key, or `NONE`, and the friction that it slid with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    solid: u32,
    friction: Option<DVec3>,
}

/// Working memory and what is remembered from step to step.
#[derive(Default)]
pub(super) struct Implicit {
    pub matrix: BlockMatrix,
    pub right: Vec<DVec3>,
    pub direct: Direct,
    pub coarse: Coarse,
    /// The matrix without what holds take away, for the preconditioner.
    pub held_matrix: BlockMatrix,
    pub packed: Packed,
    /// Faces of cloth that solids may press.
    pub presses: Vec<Press>,
    /// Contacts that held at the end of the last step, by particle.
    pub held: Vec<Held>,
}

impl Clone for Implicit {
    /// The pattern and factors are found again; which contacts held is state.
    fn clone(&self) -> Self {
        Implicit { held: self.held.clone(), ..Implicit::default() }
    }
}

const NONE: u32 = u32::MAX;
/// Iterations of the projected method, which has no other way out.
const MOST_ITERATIONS: usize = 400;
/// Solves to find out which contacts hold.
const MOST_ROUNDS: usize = 4;
/// Solves to find out which contacts slide; the next step goes on with what was found.
const GRIP_ROUNDS: usize = 2;
/// One change in so many contacts does not call for another solve.
const FEW: usize = 50;
/// The same where forces act on one side only.
const MOST_DECISIONS: usize = 8;
/// Energy beyond what the slopes of cloth predict, against what was gained, that calls for slopes taken anew.
const BEYOND: f64 = 0.25;
/// A solve of which this part would be too much is not followed any further.
const LEAST_SHARE: f64 = 1.0 / 256.0;
/// Overlap is taken out at no more than this, m/s.
const FASTEST_RECOVERY: f64 = 2.0;

impl Implicit {
    /// A v, with the velocities of riders that press on faces.
    pub fn product(&self, v: &[DVec3], riders: &Riders) -> Vec<DVec3> {
        let mut product = vec![DVec3::ZERO; v.len()];
        self.matrix.multiply(v, &mut product);
        if self.presses.iter().any(|p| p.active && p.rider.is_some()) {
            let bodies = riders.velocities();
            for p in self.presses.iter().filter(|p| p.active) {
                let body = p.resist(p.of_body(&bodies));
                (0..3).for_each(|i| product[p.who[i]] -= body * p.weight[i]);
            }
        }
        product
    }

    /// Lets faces go that are pulled, once they are `solved`, and takes up those that would come too near; returns how
    /// many.
    fn press(&mut self, v: &[DVec3], riders: &Riders, solved: bool) -> usize {
        let bodies = riders.velocities();
        let mut changed = 0;
        for p in &mut self.presses {
            let next = p.next(v, &bodies);
            if next == (p.active, p.sticks, p.friction) || p.active && !solved {
                continue;
            }
            if p.active {
                p.enter(&mut self.matrix, &mut self.right, -1.0);
            }
            (p.active, p.sticks, p.friction) = next;
            if p.active {
                p.enter(&mut self.matrix, &mut self.right, 1.0);
            }
            changed += 1;
        }
        changed
    }
}

impl ParticleSystem {
    pub(super) fn implicit_step(&mut self, h: f64, around: &mut Surroundings) -> ParticleReport {
        self.lay_out();
        let n = self.x.len();
        let mut report = ParticleReport::default();
        let mut work = std::mem::take(&mut self.implicit);
        work.presses.clear();
        self.lambda.fill(0.0);
        self.add_forces_if(|force| !force.is_in_slopes());
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
        let given: Vec<DVec3> = self.v.clone();
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
        work.held.resize(n, Held { solid: NONE, friction: None });
        let mut v = self.v.clone();
        if !held && !around.solids.is_empty() {
            self.resume_contacts(h, around, &mut holds, &work.held);
        }
        // bodies that answer would have to go as far as the cloth they touch, and no further
        let alone = around.riders.bodies.is_empty();
        let bends_much = !held && alone && self.forces.iter().any(|(_, f)| f.is_in_slopes());
        let (mut about, mut taken_anew) = (vec![DVec3::ZERO; n], false);
        let mut decided = self.assemble(h, &mut work, &holds, [&given, &given, &about]);
        if !held && !around.solids.is_empty() {
            work.presses = self.faces_near(h, around, &work.matrix);
            work.press(&v, &around.riders, false);
        }
        let rounds = match (!bends_much && (held || around.solids.is_empty()), decided.is_empty()) {
            (true, true) => 1,
            (false, true) => MOST_ROUNDS,
            (_, false) => MOST_DECISIONS,
        };
        for round in 0..rounds {
            let mut settled = true;
            let mut solution = None;
            if held {
                report.iterations += self.projected_solve(h, &work, &holds, around, &mut v);
            } else {
                follow_holds(&holds, &around.riders, &mut v);
                let guess = v.clone();
                report.iterations += solve(&mut work, &holds, &mut around.riders, &mut v);
                if bends_much {
                    solution = Some(v.clone());
                    let from = (&about[..], taken_anew.then_some(&guess[..]));
                    settled = self.go_as_far_as_it_helps(h, &work, (&holds, &around.riders), from, &mut v);
                }
                note_impulses(&work, &holds, &mut around.riders, &v);
            }
            let (mut changes, mut slides, mut contacts) = (0, 0, 0);
            if !held && !around.solids.is_empty() {
                let solution = solution.as_deref().unwrap_or(&v);
                (changes, slides) = self.change_contacts(h, around, &mut holds, &mut work, (&v, solution));
                contacts = holds.iter().filter(|h| matches!(h, Hold::Contact { .. })).count();
            }
            if round + 1 < GRIP_ROUNDS || !alone {
                changes += slides;
            }
            let mut changed = changes > 0 || !settled;
            let last = round + 1 == rounds;
            if !last && (!settled || !decided.is_empty()) {
                if !settled {
                    taken_anew = true;
                    about.clone_from(&v);
                    follow_holds(&holds, &around.riders, &mut about);
                }
                let again = self.assemble(h, &mut work, &holds, [&given, &v, &about]);
                changed |= again != decided;
                decided = again;
            }
            if !changed {
                break;
            }
            // a few of very many are not worth another solve: what pulls is let go in the next step, what passes is stopped
            let few = decided.is_empty() && settled && changes * FEW < contacts;
            if (last || few) && !held {
                // enough of trying: what would pass is stopped by itself
                self.keep_out(around, &holds, &mut v);
                break;
            }
        }
        for i in 0..n {
            work.held[i] = match holds[i] {
                Hold::Contact { solid, grip, .. } => {
                    Held { solid: around.solids[solid].key, friction: grip.friction() }
                }
                _ => Held { solid: NONE, friction: None },
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
            let absorbed = sheets.take_absorbed();
            self.sheets = sheets;
            for (i, impulse) in absorbed.into_iter().enumerate() {
                match holds[i] {
                    Hold::Attached { rider, lever, .. } | Hold::Contact { rider: Some((rider, lever)), .. } => {
                        around.riders.push(rider, impulse, lever);
                    }
                    _ => {}
                }
            }
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

    /// Goes towards what a solve found as far as that lowers the energy of the step: the system is its slope only near the
    /// velocities `about` which it was set up, and stiff cloth whose edges turn by a tenth within the step pulls a thousand
    /// times harder than it says. The way starts `from` the last guess, or where all cloth moves as one, which strains
    /// nothing. Returns whether the system can be trusted where it ends.
    fn go_as_far_as_it_helps(
        &self,
        h: f64,
        work: &Implicit,
        (holds, riders): (&[Hold], &Riders),
        (about, from): (&[DVec3], Option<&[DVec3]>),
        v: &mut [DVec3],
    ) -> bool {
        let beyond = |v: &[DVec3]| -> f64 {
            self.forces.iter().map(|(_, force)| force.beyond_slopes(&self.points(), h, about, v)).sum()
        };
        let energy = |v: &[DVec3]| -> f64 {
            let product = work.product(v, riders);
            (0..v.len()).map(|i| v[i].dot(product[i] * 0.5 - work.right[i])).sum()
        };
        let mut start = from.map_or_else(|| as_one(&work.matrix, holds, &self.mass, v), <[DVec3]>::to_vec);
        for i in 0..v.len() {
            match holds[i] {
                Hold::Free => {}
                Hold::Contact { normal, grip: Grip::Slip(_), .. } => {
                    let across = normal.dot(v[i] - start[i]);
                    start[i] += normal * across;
                }
                _ => start[i] = v[i],
            }
        }
        let change: Vec<DVec3> = v.iter().zip(&start).map(|(v, start)| *v - *start).collect();
        let gain = energy(&start) - energy(v);
        let (before, mut share) = (beyond(&start), 1.0);
        let mut after = beyond(v) - before;
        while after > gain * share * (2.0 - share) && share > LEAST_SHARE {
            share *= 0.5;
            for i in 0..v.len() {
                v[i] = start[i] + change[i] * share;
            }
            after = beyond(v) - before;
        }
        share == 1.0 && after <= BEYOND * gain
    }

    /// Sets the system of the step up: M v₀ + h f₀ − h ∂f/∂v v₀ and A, for velocities at the start, those expected at the end
    /// and those about which slopes that change much are taken. Returns what one-sided forces decided.
    fn assemble(&self, h: f64, work: &mut Implicit, holds: &[Hold], velocities: [&[DVec3]; 3]) -> Vec<bool> {
        let given = velocities[0];
        work.right.clear();
        work.right.extend((0..given.len()).map(|i| given[i] * self.mass[i] + self.f[i] * h));
        let at = super::Points { x: &self.x, v: given, mass: &self.mass, time: self.time };
        let decided = work.matrix.assemble(&self.mass, velocities, h, &mut work.right, |slopes| {
            self.forces.iter().for_each(|(_, f)| f.slopes(&at, slopes));
        });
        for p in work.presses.iter().filter(|p| p.active) {
            p.enter(&mut work.matrix, &mut work.right, 1.0);
        }
        work.right.iter_mut().zip(holds).for_each(|(r, hold)| *r += hold.friction());
        decided
    }

    /// What a contact becomes at the impulse that it gives and the velocity it leaves, if not what it is: let go if it pulls,
    /// let slide if friction does not suffice, held again if friction would drive.
    fn next_hold(&self, i: usize, hold: &Hold, around: &Surroundings, impulse: DVec3, v: DVec3) -> Option<Hold> {
        let Hold::Contact { normal, target, given, solid, rider, grip } = *hold else { return None };
        let push = impulse.dot(normal);
        if push < 0.0 {
            return Some(Hold::Free);
        }
        let most = around.solids[solid].friction * push;
        let next = match grip {
            Grip::Stick => {
                let along = impulse - normal * push;
                if along.length() <= most {
                    return None;
                }
                Grip::Slip(along.normalize_or_zero() * most)
            }
            Grip::Slip(friction) => {
                let relative = v - around.solids[solid].velocity(self.x[i], &around.riders);
                let slide = relative - normal * relative.dot(normal);
                if slide.dot(friction) >= 0.0 {
                    Grip::Stick
                } else {
                    let wanted = slide.normalize_or_zero() * -most;
                    if wanted.distance(friction) < 0.2 * most {
                        return None;
                    }
                    Grip::Slip(wanted)
                }
            }
        };
        Some(Hold::Contact { normal, target, given, solid, rider, grip: next })
    }

    /// What touches now and touched before holds from the start, which saves a solve.
    fn resume_contacts(&self, h: f64, around: &Surroundings, holds: &mut [Hold], held: &[Held]) {
        for i in 0..holds.len() {
            if !matches!(holds[i], Hold::Free) {
                continue;
            }
            // solids keep their order by key, though not their numbers
            let Ok(k) = around.solids.binary_search_by_key(&held[i].solid, |s| s.key) else { continue };
            let solid = &around.solids[k];
            let Some((d, normal)) = solid.distance(self.x[i], self.radius + 1e-3) else { continue };
            let mut hold = contact(solid, k, self.x[i], normal, (self.radius - d) / h);
            if let (Hold::Contact { grip, rider: None, .. }, Some(friction)) = (&mut hold, held[i].friction) {
                *grip = Grip::Slip(friction - normal * normal.dot(friction));
            }
            holds[i] = hold;
        }
    }

    /// Lets contacts go that pull, by what the system was solved to, and takes up those that would be passed at the
    /// velocities taken; returns how many there are of either, and how many begin or cease to slide.
    fn change_contacts(
        &self,
        h: f64,
        around: &Surroundings,
        holds: &mut [Hold],
        work: &mut Implicit,
        (v, solution): (&[DVec3], &[DVec3]),
    ) -> (usize, usize) {
        let (mut changed, mut slides) = (0, 0);
        let product = work.product(solution, &around.riders);
        let reach = self.radius + 1e-6;
        let swept: Vec<_> = around.solids.iter().map(|s| s.swept(h, reach)).collect();
        for i in 0..holds.len() {
            match holds[i] {
                Hold::Contact { .. } => {
                    let next = self.next_hold(i, &holds[i], around, product[i] - work.right[i], v[i]);
                    if let Some(next) = next {
                        work.right[i] += next.friction() - holds[i].friction();
                        holds[i] = next;
                        match next {
                            Hold::Contact { .. } => slides += 1,
                            _ => changed += 1,
                        }
                    }
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
                        changed += 1;
                    }
                }
                _ => {}
            }
        }
        (changed + work.press(v, &around.riders, true), slides)
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

/// The velocity of every particle if each connected piece moved as one with what holds it, or else with its momentum.
fn as_one(matrix: &BlockMatrix, holds: &[Hold], mass: &[f64], v: &[DVec3]) -> Vec<DVec3> {
    let n = v.len();
    let mut piece: Vec<u32> = (0..n as u32).collect();
    fn root(piece: &mut [u32], mut i: u32) -> u32 {
        while piece[i as usize] != i {
            piece[i as usize] = piece[piece[i as usize] as usize];
            i = piece[i as usize];
        }
        i
    }
    for i in 0..n {
        for &j in &matrix.column[matrix.row(i)] {
            let (a, b) = (root(&mut piece, i as u32), root(&mut piece, j));
            piece[a.max(b) as usize] = a.min(b);
        }
    }
    let of: Vec<usize> = (0..n as u32).map(|i| root(&mut piece, i) as usize).collect();
    // momentum and mass of a piece, and of those of it that are held
    let mut sums = vec![[(DVec3::ZERO, 0.0); 2]; n];
    for i in 0..n {
        let held = usize::from(!matches!(holds[i], Hold::Free));
        for sum in &mut sums[of[i]][..=held] {
            *sum = (sum.0 + v[i] * mass[i], sum.1 + mass[i]);
        }
    }
    let mean = |i: usize| {
        let [all, held] = sums[of[i]];
        if held.1 > 0.0 { held.0 / held.1 } else { all.0 / all.1 }
    };
    (0..n).map(mean).collect()
}

fn contact(solid: &Solid, number: usize, x: DVec3, normal: DVec3, target: f64) -> Hold {
    let rider = solid.rider.map(|k| (k, x - solid.center));
    let given = solid.velocity(x, &Riders::default());
    Hold::Contact { normal, target: target.min(FASTEST_RECOVERY), given, solid: number, rider, grip: Grip::Stick }
}
