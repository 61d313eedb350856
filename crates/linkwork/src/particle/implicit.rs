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
//! A contact that holds also sticks, in the same solve, unless that takes more than μ times its impulse; then it slides, and
//! friction is a part of the matrix that takes about as much. Hard constraints are closed after the
//! solve, which until then keeps to their directions by projected conjugate gradients.

use super::coarse::Coarse;
use super::direct::Direct;
use super::force::{Force, outer};
use super::matrix::BlockMatrix;
use super::multipliers::Answer;
use super::packed::Packed;
use super::press::{Press, on_riders};
use super::rider::{Lever, Riders};
use super::solid::Solid;
use super::solve::{ACCURACY, follow_holds, note_impulses, solve};
use super::way::{resist_turning, turn_levers};
use super::{Motion, ParticleReport, ParticleSystem};
use crate::collide::parry::Bounds;
use glam::{DMat3, DVec3};
use std::collections::HashMap;

/// A particle fixed to a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attached {
    pub particle: usize,
    /// `None`: a body that does not answer.
    pub rider: Option<usize>,
    /// From the body's centre of mass to where the particle belongs.
    pub lever: DVec3,
    /// What brings it to its place, m/s.
    pub place: DVec3,
    /// What the particle's velocity is without the body's answer, with that.
    pub velocity: DVec3,
}

/// What a step meets: solids, bodies that answer, particles fixed to bodies.
#[derive(Default)]
pub(crate) struct Surroundings {
    pub solids: Vec<Solid>,
    pub riders: Riders,
    pub attached: Vec<Attached>,
    /// What was moved by riders in the step, and how much it resists: rider, lever, matrix.
    pub moved: Vec<(usize, Lever, DMat3)>,
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
        rider: Option<(usize, Lever)>,
        grip: Grip,
    },
    /// That of a point of a rider, plus `drift`.
    Attached {
        rider: usize,
        lever: Lever,
        drift: DVec3,
    },
}

/// Whether a contact holds along the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Grip {
    Stick,
    /// Slides; friction is this times the velocity of sliding, kg, which no guess can turn round.
    Drag(f64),
}

impl Hold {
    /// Puts friction that grows with sliding into the system of the step, or takes it out with the sign −1.
    fn enter(&self, i: usize, matrix: &mut BlockMatrix, right: &mut [DVec3], sign: f64) {
        if let Hold::Contact { grip: Grip::Drag(drag), normal, given, rider, .. } = self {
            let drag = drag * sign;
            matrix.diagonal[i] += (DMat3::IDENTITY - outer(*normal, *normal)) * drag;
            // how fast a body moves that answers is not known before (press.rs, `on_riders`)
            if rider.is_none() {
                right[i] += (*given - *normal * normal.dot(*given)) * drag;
            }
        }
    }
}

/// A contact that held: the solid's key, or `NONE`, and the drag that it slid with, zero if it stuck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    solid: u32,
    drag: f64,
}

/// What is remembered of contacts: by particle, and by solid and face the drag of faces that slid.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    particles: Vec<Held>,
    pub faces: HashMap<(u32, [usize; 3]), f64>,
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
    /// What a particle alone resists a change of its velocity with, kg, contacts and friction apart: these are measured by it.
    pub resistance: Vec<DMat3>,
    /// Faces of cloth that solids may press.
    pub presses: Vec<Press>,
    /// Contacts that were let go in this step, by particle.
    pub let_go: Vec<bool>,
    /// The drag that sliding contacts were last found to have, by particle, kg.
    pub drags: Vec<f64>,
    /// Contacts that held at the end of the last step.
    pub held: Memory,
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
/// One change in so many contacts does not call for another solve.
const FEW: usize = 50;
const FEW_LATER: usize = 10;
/// The same where forces act on one side only.
const MOST_DECISIONS: usize = 8;
/// The same where slopes change much and there is no cloth, whose solves cost more.
const MOST_DESCENTS: usize = 12;
/// Friction that resists sliding so many times as much as the cloth does is a contact that sticks.
const STICKY: f64 = 100.0;
/// Overlap is taken out at no more than this, m/s.
const FASTEST_RECOVERY: f64 = 2.0;

impl Implicit {
    /// A v, with the velocities of riders that press on faces or rub particles.
    pub fn product(&self, v: &[DVec3], holds: &[Hold], riders: &Riders) -> Vec<DVec3> {
        let mut product = vec![DVec3::ZERO; v.len()];
        self.matrix.multiply(v, &mut product);
        if riders.bodies.is_empty() {
            return product;
        }
        let bodies = riders.velocities();
        for p in on_riders(&self.presses, holds) {
            let body = p.resist(p.of_body(&bodies));
            (0..3).for_each(|i| product[p.who[i]] -= body * p.weight[i]);
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
            if next == (p.active, p.grip) || p.active && !solved {
                continue;
            }
            p.drag = if let (true, Grip::Drag(drag)) = next { drag } else { 0.0 };
            if let (true, Grip::Drag(_), (true, Grip::Drag(_))) = (p.active, p.grip, next) {
                // goes into the matrix when that is set up anew
                continue;
            }
            if p.active {
                p.enter(&mut self.matrix, &mut self.right, -1.0);
            }
            (p.active, p.grip) = next;
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
                    holds[a.particle] = Hold::Attached { rider, lever: Lever::at(a.lever), drift: a.place };
                }
                None => {
                    self.v[a.particle] = a.velocity;
                    holds[a.particle] = Hold::Fixed;
                }
            }
        }
        let held = self.multipliers.total > 0;
        work.held.particles.resize(n, Held { solid: NONE, drag: 0.0 });
        work.let_go.clear();
        work.let_go.resize(n, false);
        work.drags.clear();
        work.drags.extend(work.held.particles.iter().map(|held| held.drag));
        let mut v = self.v.clone();
        if !held && !around.solids.is_empty() {
            self.resume_contacts(h, around, &mut holds, &work.held.particles);
        }
        let alone = around.riders.bodies.is_empty();
        let of_forces = |is: fn(&dyn Force) -> bool| self.forces.iter().any(|(_, f)| is(&**f));
        // springs by themselves are followed well enough by the slopes at the start
        let matters = !alone || !self.faces.is_empty() || of_forces(|f| f.is_one_sided());
        let bends_much = !held && matters && of_forces(|f| f.is_in_slopes());
        let cloth_alone = alone && !self.faces.is_empty();
        let (mut about, mut taken_anew) = (vec![DVec3::ZERO; n], false);
        let mut first_gain = None;
        if bends_much && !cloth_alone {
            self.go_on_by_inertia(h, around, &mut holds, &mut v);
            about.clone_from(&v);
        }
        let mut decided = self.assemble(h, &mut work, &holds, [&given, &v, &about]);
        if !held && !around.solids.is_empty() {
            work.presses = self.faces_near(h, around, &work.resistance, &work.held.faces);
            work.press(&v, &around.riders, false);
        }
        let rounds = match (!bends_much && (held || around.solids.is_empty()), decided.is_empty()) {
            (true, true) => 1,
            (false, true) if bends_much && self.faces.is_empty() => MOST_DESCENTS,
            (false, true) => MOST_ROUNDS,
            (_, false) => MOST_DECISIONS,
        };
        for round in 0..rounds {
            let mut settled = true;
            let mut solution = None;
            if held {
                report.iterations += self.projected_solve(h, &work, &holds, around, &mut v);
            } else {
                let guess = v.clone();
                follow_holds(&holds, &around.riders, &mut v);
                let start = (v.clone(), around.riders.coordinates());
                if bends_much && !around.attached.is_empty() {
                    resist_turning(h, &work, &holds, around, &v);
                }
                report.iterations += solve(&mut work, &holds, &mut around.riders, &mut v);
                if bends_much {
                    solution = Some(v.clone());
                    settled = match cloth_alone {
                        true => {
                            let from = (&about[..], taken_anew.then_some(&guess[..]));
                            self.go_as_far_as_it_helps(h, &work, &holds, from, &mut first_gain, &mut v)
                        }
                        false => self.descend(h, &work, &holds, around, (&about, &start), &mut v),
                    };
                }
                note_impulses(&work, &holds, &mut around.riders, &v);
            }
            let (mut changes, mut slides, mut contacts) = (0, 0, 0);
            if !held && !around.solids.is_empty() {
                let solution = solution.as_deref().unwrap_or(&v);
                (changes, slides) = self.change_contacts(h, around, &mut holds, &mut work, (&v, solution));
                contacts = holds.iter().filter(|h| matches!(h, Hold::Contact { .. })).count();
            }
            if !alone {
                changes += slides;
            }
            let mut changed = changes > 0 || !settled;
            let last = round + 1 == rounds;
            if !last && (!settled || !decided.is_empty()) {
                for i in 0..n {
                    if let Hold::Contact { grip: Grip::Drag(drag), .. } = &mut holds[i] {
                        *drag = work.drags[i];
                    }
                }
                // what does not act yet keeps what it slid with in the step before
                for p in work.presses.iter_mut().filter(|p| p.active) {
                    if let Grip::Drag(drag) = &mut p.grip {
                        *drag = p.drag;
                    }
                }
                if !settled {
                    taken_anew = true;
                    turn_levers(h, around, &mut holds);
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
            let few = decided.is_empty() && settled && changes * if round == 0 { FEW } else { FEW_LATER } < contacts;
            if (last || few) && !held {
                // enough of trying: what would pass is stopped by itself
                self.keep_out(around, &holds, &mut v);
                break;
            }
        }
        for i in 0..n {
            work.held.particles[i] = match holds[i] {
                Hold::Contact { solid, grip, .. } => {
                    let drag = if let Grip::Drag(_) = grip { work.drags[i] } else { 0.0 };
                    Held { solid: around.solids[solid].key, drag }
                }
                _ => Held { solid: NONE, drag: 0.0 },
            };
        }
        work.held.faces.clear();
        let sliding = work.presses.iter().filter(|p| p.active && p.drag > 0.0);
        work.held.faces.extend(sliding.map(|p| ((p.solid, p.who), p.drag)));
        report.contacts = holds.iter().filter(|h| matches!(h, Hold::Contact { .. })).count() as u32;
        for (i, hold) in holds.iter().enumerate() {
            if let Hold::Attached { rider, lever, .. } | Hold::Contact { rider: Some((rider, lever)), .. } = *hold {
                around.moved.push((rider, lever, work.matrix.diagonal[i]));
            }
        }
        self.implicit = work;

        // cloth against itself, then on with the new velocities
        if !self.sheets.is_empty() {
            let mobile: Vec<f64> = (0..n)
                .map(|i| if matches!(holds[i], Hold::Fixed | Hold::Attached { .. }) { 0.0 } else { self.w[i] })
                .collect();
            let mut sheets = std::mem::take(&mut self.sheets);
            // bodies that answer would have to be in it
            let elastic = if alone { self.implicit.direct.elastic() } else { None };
            report.self_contacts = sheets.resolve(&self.x, &mut v, &mobile, h, elastic);
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

    /// Sets the system of the step up: M v₀ + h f₀ − h ∂f/∂v v₀ and A, for velocities at the start, those expected at the end
    /// and those about which slopes that change much are taken. Returns what one-sided forces decided.
    fn assemble(&self, h: f64, work: &mut Implicit, holds: &[Hold], velocities: [&[DVec3]; 3]) -> Vec<bool> {
        let given = velocities[0];
        work.direct.forget();
        work.right.clear();
        work.right.extend((0..given.len()).map(|i| given[i] * self.mass[i] + self.f[i] * h));
        let at = super::Points { x: &self.x, v: given, mass: &self.mass, time: self.time };
        let decided = work.matrix.assemble(&self.mass, velocities, h, &mut work.right, |slopes| {
            self.forces.iter().for_each(|(_, f)| f.slopes(&at, slopes));
        });
        work.resistance.clone_from(&work.matrix.diagonal);
        for p in work.presses.iter().filter(|p| p.active) {
            p.enter(&mut work.matrix, &mut work.right, 1.0);
        }
        for (i, hold) in holds.iter().enumerate() {
            hold.enter(i, &mut work.matrix, &mut work.right, 1.0);
        }
        decided
    }

    /// What a contact becomes at the impulse that it gives and the velocity it leaves, if not what it is: let go if it pulls,
    /// let slide if friction does not suffice, held again if friction would drive.
    fn next_hold(
        &self,
        i: usize,
        hold: &Hold,
        around: &Surroundings,
        (impulse, resistance): (DVec3, f64),
        v: DVec3,
        let_go: bool,
    ) -> Option<Hold> {
        let Hold::Contact { normal, target, given, solid, rider, grip } = *hold else { return None };
        let push = impulse.dot(normal);
        if push < 0.0 {
            return (!let_go).then_some(Hold::Free);
        }
        let most = around.solids[solid].friction * push;
        let relative = v - around.solids[solid].velocity(self.x[i], &around.riders);
        let slide = relative - normal * relative.dot(normal);
        let next = match grip {
            Grip::Stick => {
                let along = impulse - normal * push;
                let excess = along.length() - most;
                if excess <= 0.0 {
                    return None;
                }
                drag(most, excess / resistance, resistance)
            }
            Grip::Drag(_) => drag(most, slide.length(), resistance),
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
            if let Hold::Contact { grip, .. } = &mut hold
                && held[i].drag > 0.0
            {
                *grip = Grip::Drag(held[i].drag);
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
        let product = work.product(solution, holds, &around.riders);
        let reach = self.radius + 1e-6;
        let swept: Vec<_> = around.solids.iter().map(|s| s.swept(h, reach)).collect();
        for i in 0..holds.len() {
            match holds[i] {
                Hold::Contact { .. } => {
                    let now = (product[i] - work.right[i], resistance(&work.resistance[i]));
                    let Some(next) = self.next_hold(i, &holds[i], around, now, v[i], work.let_go[i]) else { continue };
                    match (holds[i], next) {
                        (Hold::Contact { grip: Grip::Drag(_), .. }, Hold::Contact { grip: Grip::Drag(_), .. }) => {}
                        (_, Hold::Contact { .. }) => slides += 1,
                        _ => {
                            changed += 1;
                            // if it is met again in this step, it is not let go again: that would go on for ever
                            work.let_go[i] = true;
                        }
                    }
                    work.drags[i] = if let Hold::Contact { grip: Grip::Drag(drag), .. } = next { drag } else { 0.0 };
                    if let (Hold::Contact { grip: Grip::Drag(_), .. }, Hold::Contact { grip: Grip::Drag(_), .. }) =
                        (holds[i], next)
                    {
                        // goes into the matrix when that is set up anew
                        continue;
                    }
                    holds[i].enter(i, &mut work.matrix, &mut work.right, -1.0);
                    next.enter(i, &mut work.matrix, &mut work.right, 1.0);
                    holds[i] = next;
                }
                Hold::Free => {
                    if let Some((k, normal, target)) = self.met(i, v[i], h, around, &swept) {
                        let solid = &around.solids[k];
                        holds[i] = contact(solid, k, self.x[i], normal, target);
                        // what it is about to lose along the surface, against what it loses across
                        let relative = v[i] - solid.velocity(self.x[i], &around.riders);
                        let across = relative.dot(normal);
                        let (along, most) = ((relative - normal * across).length(), solid.friction * (target - across));
                        if let Hold::Contact { grip, .. } = &mut holds[i]
                            && along > most
                        {
                            let resistance = resistance(&work.resistance[i]);
                            *grip = drag(most * resistance, along - most, resistance);
                        }
                        if let Hold::Contact { grip: Grip::Drag(drag), .. } = holds[i] {
                            work.drags[i] = drag;
                        }
                        holds[i].enter(i, &mut work.matrix, &mut work.right, 1.0);
                        changed += 1;
                    }
                }
                _ => {}
            }
        }
        (changed + work.press(v, &around.riders, true), slides)
    }

    /// The solid that a particle meets first at a velocity: its number, the normal, and the speed along it that brings the
    /// particle to the plane that touches where its path meets the solid.
    fn met(&self, i: usize, v: DVec3, h: f64, around: &Surroundings, swept: &[Bounds]) -> Option<(usize, DVec3, f64)> {
        let to = self.x[i] + v * h;
        let path = Bounds::of([self.x[i], to]);
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
        let (fraction, k, normal) = first?;
        let solid = &around.solids[k];
        let moved = to - self.x[i] - solid.velocity(to, &around.riders) * h;
        let inside = if fraction == 0.0 { solid.distance(self.x[i], self.radius) } else { None };
        let target = inside.map_or(moved.dot(normal) * fraction, |(d, _)| self.radius - d) / h;
        Some((k, normal, target))
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

/// The mean over directions.
fn resistance(of: &DMat3) -> f64 {
    (of.x_axis.x + of.y_axis.y + of.z_axis.z) / 3.0
}

/// How a contact slides that may rub with the impulse `most` and moves at a speed: what hardly moves sticks.
fn drag(most: f64, speed: f64, resistance: f64) -> Grip {
    match most < STICKY * resistance * speed {
        true => Grip::Drag(most / speed),
        false => Grip::Stick,
    }
}

fn contact(solid: &Solid, number: usize, x: DVec3, normal: DVec3, target: f64) -> Hold {
    let rider = solid.rider.map(|k| (k, Lever::at(x - solid.center)));
    let given = solid.velocity(x, &Riders::default());
    Hold::Contact { normal, target: target.min(FASTEST_RECOVERY), given, solid: number, rider, grip: Grip::Stick }
}
