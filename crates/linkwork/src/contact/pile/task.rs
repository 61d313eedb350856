//! The step of one pile, from the world's state to its end in working memory. All of it is done at once: a pile's memory is near
//! then, while that of all piles would be fetched again for every stage.

use super::island::{drift_at, drifts};
use super::{Frame, Pile};
use crate::collide::{Looker, Manifold};
use crate::contact::free::{Free, predict_all};
use crate::contact::{ContactReport, Contacts, Island, NONE, motion_by_user};
use crate::joint::Motion;
use crate::math::Placed;
use crate::mechanism::{Advance, Hat, Mechanism, outside_moved};
use crate::parallel::{MANY, for_each};
use crate::params::StepParams;
use crate::world::Seen;
use glam::DVec3;
use std::sync::{Mutex, PoisonError};

/// How far bodies may pass along each other, or the ends of a turning one bend off, before their contacts are doubted, m.
const PASSING: f64 = 5e-3;
const TURNING: f64 = 3e-4;
/// How much deeper than foreseen asks for a smaller step, m.
const DEEPER: f64 = 1e-3;

/// What became of an island that may be a pile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outcome {
    #[default]
    NoPile,
    NeedsSmallerStep,
    /// Something is thrown farther than contacts were looked for; it is to be finished if that meets nothing.
    Thrown,
    Advanced,
}

/// The impulse of a contact point.
#[derive(Clone, Copy)]
pub(super) struct PointImpulse {
    pub manifold: u32,
    pub point: usize,
    pub normal: f64,
    pub across: DVec3,
}

/// What the step of a pile leaves.
#[derive(Default)]
pub(in crate::contact) struct Swept {
    pub(super) outcome: Outcome,
    pub(super) report: ContactReport,
    /// Its bodies without joints.
    pub(super) states: Vec<Free>,
    pub(super) impulses: Vec<PointImpulse>,
    pub(super) advances: Vec<Advance>,
    /// Colliders that go farther than was reckoned.
    pub(super) thrown: Vec<u32>,
    /// Of each mechanism, then of each free body: whether a contact pushes it.
    pushed: Vec<bool>,
    work: Option<Work>,
}

impl Swept {
    pub(super) fn give_back(&mut self, spare: &Spare) {
        self.work.take().into_iter().for_each(|work| spare.give_back(work));
    }
}

/// Working memory of a pile that is being solved.
#[derive(Default)]
struct Work {
    pile: Pile,
    looker: Looker,
    hats: Vec<Hat>,
    motions: Vec<Motion>,
}

/// Working memory for as many piles as are solved at once.
#[derive(Default)]
pub(in crate::contact) struct Spare(Mutex<Vec<Work>>);

impl Spare {
    fn take(&self) -> Work {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, work: Work) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(work);
    }
}

/// An island that may be a pile, with its mechanisms in the order of their numbers.
pub(super) struct Task<'a> {
    pub island: &'a mut Island,
    pub mechanisms: Vec<&'a mut Mechanism>,
}

impl Task<'_> {
    pub fn bodies(&self) -> usize {
        self.mechanisms.iter().map(|m| m.movable_bodies().len()).sum::<usize>() + self.island.free.len()
    }
}

/// What all piles look at.
pub(super) struct Tasks<'a> {
    pub contacts: &'a Contacts,
    pub world: Seen<'a>,
    pub free: &'a [u32],
    pub params: &'a StepParams,
    /// Whether mechanisms must be gathered.
    pub fresh: bool,
    pub may_halve: bool,
}

impl Tasks<'_> {
    /// Advances an island in working memory if it is a pile.
    pub fn run(&self, task: &mut Task) {
        let Tasks { contacts, world, params, .. } = *self;
        let h = params.dt;
        let many = task.bodies() > MANY;
        if self.fresh {
            for_each(&mut task.mechanisms, many, |_, m| m.gather_in_turn(&world, params));
        }
        task.island.swept.states.clear();
        task.island.swept.report = ContactReport::default();
        // what Newton's method has been tried on is one
        if self.fresh && !contacts.is_pile(task.island, &world, &mut task.mechanisms, self.free, h) {
            task.island.swept.outcome = Outcome::NoPile;
            return;
        }
        let mut work = contacts.spare.take();
        self.kick(task);
        self.solve(task, &mut work);
        let closed = self.predict(task, &mut work);
        let Work { looker, motions, .. } = &mut work;
        self.find_motions(task, motions);
        let view = View { shared: self, mechanisms: &task.mechanisms, states: &task.island.swept.states, motions };
        let too_deep = self.may_halve && (!closed || view.ends_too_deep(task.island, looker, h));
        let mut thrown = std::mem::take(&mut task.island.swept.thrown);
        thrown.clear();
        if self.may_halve && !too_deep {
            view.find_thrown(task.island, h, &mut thrown);
        }
        let outcome = match (too_deep, thrown.is_empty()) {
            (true, _) => Outcome::NeedsSmallerStep,
            (_, false) => Outcome::Thrown,
            _ => Outcome::Advanced,
        };
        (task.island.swept.thrown, task.island.swept.outcome) = (thrown, outcome);
        if outcome == Outcome::NeedsSmallerStep {
            return contacts.spare.give_back(work);
        }
        task.island.swept.work = Some(work);
        if outcome == Outcome::Advanced {
            self.finish(task);
        }
    }

    /// Kicks all bodies.
    fn kick(&self, task: &mut Task) {
        let Tasks { world, params, .. } = *self;
        let many = task.bodies() > MANY;
        for_each(&mut task.mechanisms, many, |_, m| m.kick_in_pile(params.dt));
        for &k in &task.island.free {
            let mut state = Free::new(world.bodies, self.free[k as usize]);
            state.kick(world.bodies, world.gravity, params.dt);
            task.island.swept.states.push(state);
        }
    }

    /// Gives the pile bodies, joints and contacts, and solves it.
    fn solve(&self, task: &mut Task, work: &mut Work) {
        let Tasks { contacts, world, params, .. } = *self;
        let Task { island, mechanisms } = task;
        let pile = &mut work.pile;
        pile.clear();
        let mut count = 0;
        for (place, mechanism) in mechanisms.iter().enumerate() {
            pile.add_mechanism(place as u32, count);
            for k in 0..mechanism.movable_bodies().len() {
                let (x, whitening, inv_sqrt_mass) = mechanism.frame_of(k);
                let (before, kicked) = mechanism.kick_of(k);
                count = 1 + pile.add_body(Frame { x, whitening, inv_sqrt_mass }, before, kicked);
            }
        }
        for state in &island.swept.states {
            // as mechanisms do: see `kick_of`
            let before = if state.supported { state.before(world.bodies) } else { state.kicked };
            pile.add_body(state.frame(), &before, &state.kicked);
        }
        let report = &mut island.swept.report;
        for &m in &island.manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            let bodies = [manifold.a, manifold.b].map(|slot| contacts.body_in_pile(slot));
            pile.add_contact(m, manifold, bodies, drifts(world.bodies, manifold));
            for point in manifold.points() {
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        let drift = |manifold: &Manifold, at| drift_at(world.bodies, manifold, at);
        pile.prepare(&world.collisions.manifolds, mechanisms, island.tight, params.shock_propagation, drift);
        for (&m, mechanism) in island.mechanisms.iter().zip(mechanisms.iter()) {
            let (first, movable) = (contacts.first_coordinate[m as usize], mechanism.movable_bodies().len());
            for b in mechanism.bounded_entries() {
                let sides = [(b.a as usize, false), (b.b as usize, true)];
                let bodies = sides.map(|(k, _)| (k < movable).then_some(first + k as u32));
                let rows = sides.map(|(k, is_b)| match k < movable {
                    true => mechanism.hat_row(&b.row, k, is_b),
                    false => [0.0; 6],
                });
                pile.add_bounded(bodies, rows, b.bounds, b.velocity, b.compliance, b.guess);
            }
        }
        let outcome = pile.solve(mechanisms, params.dt, params.shock_propagation);
        report.iterations += outcome.sweeps;
        report.residual = report.residual.max(outcome.residual);
        let mut bounded = pile.bounded();
        for mechanism in mechanisms.iter_mut() {
            for k in 0..mechanism.bounded_entries().count() {
                mechanism.note_bounded(k, bounded.next().unwrap_or(0.0));
            }
        }
    }

    /// Finds where all bodies go; returns whether all joints can be closed there.
    fn predict(&self, task: &mut Task, work: &mut Work) -> bool {
        let h = self.params.dt;
        let Task { island, mechanisms } = task;
        let Work { pile, hats, .. } = work;
        let closings = &mut island.closings;
        closings.clear();
        closings.resize(mechanisms.len(), None);
        pile.each_joint_impulse(|k, first, impulses| {
            let mechanism = &mut mechanisms[k as usize];
            hats.clear();
            hats.extend((0..mechanism.movable_bodies().len()).map(|b| pile.velocities(first + b as u32, h).1));
            closings[k as usize] = mechanism.predict_in_pile(h, self.params, hats, impulses);
        });
        for state in &mut island.swept.states {
            let Some(body) = self.contacts.body_in_pile(state.slot) else { continue };
            state.u = pile.velocities(body, h).1;
        }
        predict_all(&mut island.swept.states, h);
        island.closings.iter().all(Option::is_some)
    }

    /// The motions of all bodies, in the order of their numbers.
    fn find_motions(&self, task: &Task, motions: &mut Vec<Motion>) {
        motions.clear();
        for mechanism in &task.mechanisms {
            motions.extend((0..mechanism.movable_bodies().len()).map(|k| {
                let (v, w) = mechanism.motion_of(k);
                Motion { v, w }
            }));
        }
        motions.extend(task.island.swept.states.iter().map(Free::motion));
    }

    /// Takes the impulses, and moves all bodies to their ends.
    pub fn finish(&self, task: &mut Task) {
        let Tasks { contacts, world, params, .. } = *self;
        let h = params.dt;
        let Task { island, mechanisms } = task;
        let Swept { states, impulses, advances, pushed, work, .. } = &mut island.swept;
        let Some(work) = work.take() else {
            return debug_assert!(false, "a pile that was solved has its working memory");
        };
        let pile = &work.pile;
        impulses.clear();
        pushed.clear();
        pushed.resize(mechanisms.len() + states.len(), false);
        // bodies without joints follow those with joints, in their order
        let jointed = mechanisms.iter().map(|m| m.movable_bodies().len()).sum::<usize>();
        let place_of = |slot: u32| {
            let unit = contacts.unit[slot as usize] as usize;
            match unit < contacts.mechanism_count {
                true => Some(contacts.place[unit] as usize),
                false => contacts.body_in_pile(slot).map(|body| mechanisms.len() + body as usize - jointed),
            }
        };
        pile.each_impulse(|manifold, point, normal, across| {
            impulses.push(PointImpulse { manifold, point, normal, across });
            if normal > 0.0 {
                let m = &world.collisions.manifolds[manifold as usize];
                [m.a, m.b].into_iter().filter_map(place_of).for_each(|place| pushed[place] = true);
            }
        });
        let mut moves: Vec<(u32, &mut Mechanism, Option<Advance>)> = Vec::with_capacity(mechanisms.len());
        let mut first = 0;
        for mechanism in mechanisms.iter_mut() {
            let bodies = mechanism.movable_bodies().len() as u32;
            moves.push((first, mechanism, None));
            first += bodies;
        }
        let closings = &island.closings;
        for_each(&mut moves, jointed > MANY, |k, (first, mechanism, advance)| {
            let bodies = *first..*first + mechanism.movable_bodies().len() as u32;
            let ends: Vec<Hat> = bodies.map(|body| pile.velocities(body, h).0).collect();
            *advance = Some(mechanism.finish_in_pile(h, params, closings[k], &ends, pushed[k]));
        });
        advances.clear();
        advances.extend(moves.into_iter().filter_map(|(_, _, advance)| advance));
        for (k, state) in states.iter_mut().enumerate() {
            state.turn_to_end(&pile.velocities(first + k as u32, h).0);
            state.advance(world.bodies, world.gravity, h, pushed[closings.len() + k]);
        }
        contacts.spare.give_back(work);
    }
}

/// A pile where it has been solved and not yet moved.
struct View<'a> {
    shared: &'a Tasks<'a>,
    mechanisms: &'a [&'a mut Mechanism],
    states: &'a [Free],
    motions: &'a [Motion],
}

impl View<'_> {
    /// Whether something that passes by or turns fast ends deeper than its contacts, which are those of the start, foresaw.
    fn ends_too_deep(&self, island: &Island, looker: &mut Looker, h: f64) -> bool {
        let collisions = self.shared.world.collisions;
        let all = &collisions.manifolds;
        let mut rest = &island.manifolds[..];
        while let Some(&first) = rest.first() {
            let manifold = &all[first as usize];
            let pair = (manifold.collider_a, manifold.collider_b);
            // manifolds of one pair follow each other
            let same = |m: &&u32| (all[**m as usize].collider_a, all[**m as usize].collider_b) == pair;
            let (group, others) = rest.split_at(rest.iter().take_while(same).count());
            rest = others;
            if !self.passes_by(manifold, h) {
                continue;
            }
            let points = group.iter().flat_map(|&m| all[m as usize].points());
            let depth = points.map(|p| -p.gap).fold(0.0, f64::max);
            let (a, b) = (self.end(manifold.a, h), self.end(manifold.b, h));
            let touches = collisions.look_ahead_with(looker, manifold, &a, &b, 0.0);
            if touches.iter().flat_map(|t| &t.points).any(|p| -p.1 > depth + DEEPER) {
                return true;
            }
        }
        false
    }

    fn passes_by(&self, manifold: &Manifold, h: f64) -> bool {
        let sides = [(manifold.a, manifold.collider_a), (manifold.b, manifold.collider_b)];
        let [a, b] = sides.map(|(slot, _)| self.motion(slot));
        let across = (b.v - a.v).reject_from_normalized(manifold.normal).length_squared();
        let turns = |w: DVec3, collider: u32| {
            let angle = h * w.length();
            // a plane has no size, and does not turn
            angle > 0.0 && 0.5 * angle * angle * self.shared.world.collisions.sweep(collider) > TURNING
        };
        h * h * across > PASSING * PASSING || turns(a.w, sides[0].1) || turns(b.w, sides[1].1)
    }

    /// Finds the colliders that go farther than contacts were looked for.
    fn find_thrown(&self, island: &Island, h: f64, thrown: &mut Vec<u32>) {
        let (contacts, collisions) = (self.shared.contacts, self.shared.world.collisions);
        for &m in &island.manifolds {
            let m = &collisions.manifolds[m as usize];
            for (slot, collider) in [(m.a, m.collider_a), (m.b, m.collider_b)] {
                let moves = contacts.unit[slot as usize] != NONE;
                if moves && h * collisions.speed(collider, &self.motion(slot)) > collisions.reach(collider) {
                    thrown.push(collider);
                }
            }
        }
    }

    fn motion(&self, slot: u32) -> Motion {
        match self.shared.contacts.body_in_pile(slot) {
            Some(body) => self.motions[body as usize],
            None => motion_by_user(self.shared.world.bodies, slot),
        }
    }

    /// Where a body will be.
    fn end(&self, slot: u32, h: f64) -> Placed {
        let contacts = self.shared.contacts;
        let unit = contacts.unit[slot as usize] as usize;
        let here = || self.shared.world.bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
        if unit == NONE as usize {
            return outside_moved(&self.motion(slot), &here(), h);
        }
        if unit < contacts.mechanism_count {
            let mechanism = &self.mechanisms[contacts.place[unit] as usize];
            return *mechanism.next_pose(contacts.local[slot as usize] as usize);
        }
        // bodies without joints follow those with joints
        let first = self.motions.len() - self.states.len();
        let state = contacts.body_in_pile(slot).and_then(|body| self.states.get(body as usize - first));
        state.map_or_else(here, |state| state.next)
    }
}
