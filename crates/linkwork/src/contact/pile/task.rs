//! The step of one pile, from the world's state to its end in working memory. All of it is done at once: a pile's memory is near
//! then, while that of all piles would be fetched again for every stage.

use super::island::{drift_at, drifts};
use super::{Frame, Pile};
use crate::collide::{Looker, Manifold};
use crate::contact::free::{Free, predict_all};
use crate::contact::members::Members;
use crate::contact::{Attempt, ContactReport, Contacts, Island, NONE, motion_by_user};
use crate::joint::Motion;
use crate::math::Placed;
use crate::mechanism::{Advance, Hat, Mechanism};
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

/// The impulse of a contact point.
#[derive(Clone, Copy)]
pub(in crate::contact) struct PointImpulse {
    pub manifold: u32,
    pub point: usize,
    pub normal: f64,
    pub across: DVec3,
}

impl PointImpulse {
    pub fn give_to(&self, manifold: &mut Manifold) {
        let point = &mut manifold.points_mut()[self.point];
        (point.impulse_n, point.impulse_t) = (self.normal, self.across);
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

/// What all piles look at.
pub(super) struct Tasks<'a> {
    pub world: Seen<'a>,
    pub free: &'a [u32],
    pub params: &'a StepParams,
    /// Whether mechanisms must be gathered.
    pub fresh: bool,
    pub may_halve: bool,
}

impl Tasks<'_> {
    /// Advances an island in working memory if it is a pile.
    pub fn run(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members) {
        let Tasks { world, params, .. } = *self;
        let h = params.dt;
        let many = mechanisms.bodies() + island.free.len() > MANY;
        if self.fresh {
            for_each(&mut mechanisms.list, many, |_, m| m.gather_in_turn(&world, params));
        }
        island.states.clear();
        island.report = ContactReport::default();
        // what Newton's method has been tried on is one
        if self.fresh && !contacts.is_pile(island, &world, mechanisms, self.free, h) {
            island.outcome = Attempt::NeedsNewton;
            return;
        }
        let mut work = contacts.spare.take();
        Contacts::number_bodies(island, mechanisms);
        find_presses(contacts, island, &world);
        self.kick(island, mechanisms);
        self.solve(contacts, island, mechanisms, &mut work);
        let closed = self.predict(island, mechanisms, &mut work);
        let Work { looker, motions, .. } = &mut work;
        find_motions(island, mechanisms, motions);
        let view = View { contacts, world, mechanisms, island, motions };
        let too_deep = self.may_halve && (!closed || view.ends_too_deep(looker, h));
        let thrown = if self.may_halve && !too_deep { view.find_thrown(h) } else { Vec::new() };
        island.outcome = match too_deep || contacts.meets_beyond_reach(island, &world, mechanisms, thrown, h) {
            true => Attempt::NeedsSmallerStep,
            false => Attempt::Advanced,
        };
        if island.outcome == Attempt::Advanced {
            self.finish(contacts, island, mechanisms, &work.pile);
        }
        contacts.spare.give_back(work);
    }

    /// Kicks all bodies.
    fn kick(&self, island: &mut Island, mechanisms: &mut Members) {
        let Tasks { world, params, .. } = *self;
        let many = mechanisms.bodies() + island.free.len() > MANY;
        let presses = &island.presses;
        for_each(&mut mechanisms.list, many, |k, m| m.kick_in_pile(params.dt, presses[k]));
        for &k in &island.free {
            let mut state = Free::new(world.bodies, self.free[k as usize]);
            state.kick(world.bodies, world.gravity, params.dt, params.dt);
            island.states.push(state);
        }
    }

    /// Gives the pile bodies, joints and contacts, and solves it.
    fn solve(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members, work: &mut Work) {
        let Tasks { world, params, .. } = *self;
        let mechanisms = &mut mechanisms.list;
        let pile = &mut work.pile;
        pile.clear();
        let mut count = 0;
        let (by_mechanisms, by_free) = island.presses.split_at(mechanisms.len());
        for ((place, mechanism), &presses) in mechanisms.iter().enumerate().zip(by_mechanisms) {
            pile.add_mechanism(place as u32, count);
            for k in 0..mechanism.movable_bodies().len() {
                let (x, whitening, inv_sqrt_mass) = mechanism.frame_of(k);
                let frame = Frame { x, whitening, inv_sqrt_mass };
                count = 1 + pile.add_body(frame, mechanism.kick_of(k), (mechanism.lag(), presses));
            }
        }
        for (state, &presses) in island.states.iter().zip(by_free) {
            pile.add_body(state.frame(), (&state.before(world.bodies), &state.kicked), (state.lag, presses));
        }
        let mut report = island.report;
        for &m in &island.manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            let bodies = [manifold.a, manifold.b].map(|slot| contacts.body_in_pile(island, slot));
            pile.add_contact(m, manifold, bodies, drifts(world.bodies, manifold));
            for point in manifold.points() {
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        let drift = |manifold: &Manifold, at| drift_at(world.bodies, manifold, at);
        pile.prepare(&world.collisions.manifolds, mechanisms, island.tight, params.shock_propagation, drift);
        for (&first, mechanism) in island.first.iter().zip(mechanisms.iter()) {
            let movable = mechanism.movable_bodies().len();
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
        island.report = report;
        let mut bounded = pile.bounded();
        for mechanism in mechanisms.iter_mut() {
            for k in 0..mechanism.bounded_entries().count() {
                mechanism.note_bounded(k, bounded.next().unwrap_or(0.0));
            }
        }
    }

    /// Finds where all bodies go; returns whether all joints can be closed there.
    fn predict(&self, island: &mut Island, mechanisms: &mut Members, work: &mut Work) -> bool {
        let h = self.params.dt;
        let mechanisms = &mut mechanisms.list;
        let Work { pile, hats, .. } = work;
        let closings = &mut island.closings;
        closings.clear();
        closings.resize(mechanisms.len(), None);
        pile.each_joint_impulse(|k, first, impulses| {
            let mechanism = &mut mechanisms[k as usize];
            hats.clear();
            hats.extend((0..mechanism.movable_bodies().len()).map(|b| pile.velocities(first + b as u32, h).1));
            closings[k as usize] = mechanism.predict_in_pile(h, self.params, hats, impulses, pile.substep(h));
        });
        for (state, &body) in island.states.iter_mut().zip(&island.first[mechanisms.len()..]) {
            state.u = pile.velocities(body, h).1;
        }
        predict_all(&mut island.states, h);
        island.closings.iter().all(Option::is_some)
    }

    /// Takes the impulses, and moves all bodies to their ends.
    fn finish(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members, pile: &Pile) {
        let Tasks { world, params, .. } = *self;
        let h = params.dt;
        let (jointed, substep) = (mechanisms.bodies(), pile.substep(h));
        let mechanisms = &mut mechanisms.list;
        let mut pushed = std::mem::take(&mut island.pushed);
        pushed.clear();
        pushed.resize(mechanisms.len() + island.states.len(), false);
        let mut impulses = std::mem::take(&mut island.impulses);
        impulses.clear();
        pile.each_impulse(|manifold, point, normal, across| {
            impulses.push(PointImpulse { manifold, point, normal, across });
            if normal > 0.0 {
                let m = &world.collisions.manifolds[manifold as usize];
                let units = [m.a, m.b].map(|slot| contacts.unit[slot as usize]).into_iter().filter(|u| *u != NONE);
                units.for_each(|unit| pushed[contacts.place_in(island, unit)] = true);
            }
        });
        island.impulses = impulses;
        let mut moves: Vec<(u32, &mut Mechanism, Option<Advance>)> = Vec::with_capacity(mechanisms.len());
        let mut first = 0;
        for mechanism in mechanisms.iter_mut() {
            let bodies = mechanism.movable_bodies().len() as u32;
            moves.push((first, mechanism, None));
            first += bodies;
        }
        let Island { closings, states, advances, .. } = &mut *island;
        for_each(&mut moves, jointed > MANY, |k, (first, mechanism, advance)| {
            let bodies = *first..*first + mechanism.movable_bodies().len() as u32;
            let ends: Vec<Hat> = bodies.map(|body| pile.velocities(body, h).0).collect();
            *advance = Some(mechanism.finish_in_pile(h, params, closings[k], &ends, substep, pushed[k]));
        });
        advances.clear();
        advances.extend(moves.into_iter().filter_map(|(_, _, advance)| advance));
        for (k, state) in states.iter_mut().enumerate() {
            state.turn_to_end(&pile.velocities(first + k as u32, h).0);
            state.advance_in_pile(world.bodies, world.gravity, substep, pushed[closings.len() + k]);
        }
        island.pushed = pushed;
    }
}

/// Finds the mechanisms and bodies without joints on which something presses that pushed them in the last step.
fn find_presses(contacts: &Contacts, island: &mut Island, world: &Seen) {
    let mut presses = std::mem::take(&mut island.presses);
    presses.clear();
    presses.resize(island.mechanisms.len() + island.free.len(), false);
    for &m in &island.manifolds {
        let manifold = &world.collisions.manifolds[m as usize];
        if manifold.points().iter().any(|p| p.impulse_n > 0.0) {
            let units = [manifold.a, manifold.b].map(|slot| contacts.unit[slot as usize]);
            units.into_iter().filter(|u| *u != NONE).for_each(|u| presses[contacts.place_in(island, u)] = true);
        }
    }
    island.presses = presses;
}

/// The motions of all bodies, in the order of their numbers.
fn find_motions(island: &Island, mechanisms: &Members, motions: &mut Vec<Motion>) {
    motions.clear();
    for mechanism in &mechanisms.list {
        motions.extend((0..mechanism.movable_bodies().len()).map(|k| {
            let (v, w) = mechanism.motion_of(k);
            Motion { v, w }
        }));
    }
    motions.extend(island.states.iter().map(Free::motion));
}

/// A pile where it has been solved and not yet moved.
struct View<'a> {
    contacts: &'a Contacts,
    world: Seen<'a>,
    mechanisms: &'a Members<'a>,
    island: &'a Island,
    motions: &'a [Motion],
}

impl View<'_> {
    /// Whether something that passes by or turns fast ends deeper than its contacts, which are those of the start, foresaw.
    fn ends_too_deep(&self, looker: &mut Looker, h: f64) -> bool {
        let collisions = self.world.collisions;
        let all = &collisions.manifolds;
        let mut rest = &self.island.manifolds[..];
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
            angle > 0.0 && 0.5 * angle * angle * self.world.collisions.sweep(collider) > TURNING
        };
        h * h * across > PASSING * PASSING || turns(a.w, sides[0].1) || turns(b.w, sides[1].1)
    }

    /// Finds the colliders that go farther than contacts were looked for.
    fn find_thrown(&self, h: f64) -> Vec<u32> {
        let collisions = self.world.collisions;
        let mut thrown = Vec::new();
        for &m in &self.island.manifolds {
            let m = &collisions.manifolds[m as usize];
            for (slot, collider) in [(m.a, m.collider_a), (m.b, m.collider_b)] {
                let moves = self.contacts.unit[slot as usize] != NONE;
                if moves && h * collisions.speed(collider, &self.motion(slot)) > collisions.reach(collider) {
                    thrown.push(collider);
                }
            }
        }
        thrown
    }

    fn motion(&self, slot: u32) -> Motion {
        match self.contacts.body_in_pile(self.island, slot) {
            Some(body) => self.motions[body as usize],
            None => motion_by_user(self.world.bodies, slot),
        }
    }

    fn end(&self, slot: u32, h: f64) -> Placed {
        self.contacts.end(self.island, &self.world, self.mechanisms, slot, h)
    }
}
