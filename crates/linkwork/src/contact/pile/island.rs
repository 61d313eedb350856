//! The step of an island that is a pile (docs/method.md, Piles).

use super::{Frame, Pile};
use crate::collide::Manifold;
use crate::contact::free::{Free, predict_all};
use crate::contact::{ContactReport, Contacts, Island, NONE};
use crate::mechanism::{Advance, Hat, Mechanism};
use crate::parallel::{MANY, for_each};
use crate::params::{ContactSolver, StepParams};
use crate::scene::BodyKind;
use crate::step::Active;
use crate::world::{Bodies, World};
use glam::DVec3;

/// Units and freedoms from which on things with joints are a pile.
const PILE_UNITS: usize = 3;
const PILE_FREEDOMS: usize = 50;
/// Masses of bodies in one pile, the heaviest by the lightest at most, where bodies have fewer freedoms than this each.
const MOST_RATIO: f64 = 100.0;
const TIGHT: usize = 2;
/// Freedoms from which on they are one whatever the units.
const LARGE: usize = 200;

/// Bodies up to which a pile can be calm, and how fast they may be then, m/s: many are tried only where they hardly move, because
/// an attempt that fails costs a sweep for each of its iterations.
const CALM: [(usize, f64); 2] = [(60, 0.2), (200, 0.02)];

/// How far bodies may pass along each other, or the ends of a turning one bend off, before their contacts are doubted, m.
const PASSING: f64 = 5e-3;
const TURNING: f64 = 3e-4;
/// How much deeper than foreseen asks for a smaller step, m.
const DEEPER: f64 = 1e-3;

impl Contacts {
    /// Whether an island is so many things with joints that touch each other that they are swept over: what they do while they
    /// tumble changes from step to step, and Newton's method would start anew in each. Shocks are propagated in sweeps only, so
    /// that things without joints are swept over as well where this is asked for.
    pub(in crate::contact) fn is_pile(
        &self,
        island: &mut Island,
        world: &World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        params: &StepParams,
    ) -> bool {
        let h = params.dt;
        let bodies: usize = island.mechanisms.iter().map(|&m| mechanisms[m as usize].movable_bodies().len()).sum();
        let units = island.mechanisms.len() + island.free.len();
        let most = 6 * (bodies + island.free.len());
        let alone = island.mechanisms.is_empty() && !params.shock_propagation;
        if alone || most <= PILE_FREEDOMS || self.solver != ContactSolver::Newton {
            return false;
        }
        let carried = |k: &u32| self.carried[self.mechanism_count + *k as usize];
        if island.free.iter().any(carried) || !island.manifolds.iter().all(|&m| is_plain(world, m, h)) {
            return false;
        }
        let (mut lightest, mut heaviest) = (f64::INFINITY, 0.0_f64);
        for slot in island.slots(mechanisms, free) {
            let mass = world.bodies.at(slot as usize).map_or(1.0, |b| b.mass.mass);
            (lightest, heaviest) = (lightest.min(mass), heaviest.max(mass));
        }
        let mut freedoms = 6 * island.free.len();
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            if !mechanism.can_pile() || self.carried[m as usize] {
                return false;
            }
            mechanism.begin_contact(h);
            freedoms += mechanism.count_freedoms();
            if mechanism.is_machine() {
                return false;
            }
        }
        // light bodies that are held tightly feel what they bear, not what they weigh
        let tight = freedoms < TIGHT * (bodies + island.free.len()) && heaviest > MOST_RATIO * lightest;
        island.tight = tight;
        units >= PILE_UNITS && freedoms > PILE_FREEDOMS || freedoms > LARGE
    }

    /// Whether a pile is so small and slow that Newton's method is worth a try: it brings to rest what sweeps rock.
    pub(in crate::contact) fn is_calm(
        &self,
        island: &Island,
        world: &mut World,
        mechanisms: &[Mechanism],
        free: &[u32],
    ) -> bool {
        let mut slots = island.slots(mechanisms, free);
        let bodies = slots.clone().count();
        let Some((_, speed)) = CALM.iter().find(|(most, _)| bodies <= *most) else { return false };
        let slow = |slot: u32| world.bodies.at(slot as usize).is_none_or(|b| b.v.length() < *speed);
        slots.all(slow) && island.lowest_slot(mechanisms, free).is_some_and(|slot| !world.resting.is_restless(slot))
    }

    /// Advances all piles, several at once; those that need a smaller step are left and are `late`.
    pub(in crate::contact) fn advance_piles(
        &mut self,
        piles: &[usize],
        world: &mut World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        params: &StepParams,
        (halvings, may_halve): (u32, bool),
        late: &mut Active,
        report: &mut ContactReport,
    ) {
        if piles.is_empty() {
            return;
        }
        let h = params.dt;
        self.first_coordinate.resize(self.island_of.len(), NONE);
        let mut islands: Vec<Island> = piles.iter().map(|&k| std::mem::take(&mut self.islands[k])).collect();
        for island in &mut islands {
            self.number_bodies(island, world, mechanisms, free, h);
        }
        let bodies = |i: &Island| {
            i.free.len() + i.mechanisms.iter().map(|&m| mechanisms[m as usize].movable_bodies().len()).sum::<usize>()
        };
        let many = islands.iter().map(bodies).sum::<usize>() > MANY;
        let mut reports = vec![ContactReport::default(); islands.len()];
        let place: Vec<u32> = self.places_of(&islands, mechanisms.len());
        {
            let mut tasks: Vec<Task> = islands
                .iter_mut()
                .zip(&mut reports)
                .map(|(island, report)| Task { island, mechanisms: Vec::new(), report })
                .collect();
            for (mechanism, place) in mechanisms.iter_mut().zip(&place).filter(|(_, p)| **p != NONE) {
                tasks[*place as usize].mechanisms.push(mechanism);
            }
            let shared = Shared {
                contacts: self.numbers(),
                bodies: &world.bodies,
                manifolds: &world.collisions.manifolds,
                states: &self.states,
            };
            for_each(&mut tasks, many, |_, task| shared.solve(task, params));
        }
        let mut taken = vec![false; islands.len()];
        for (k, island) in islands.iter_mut().enumerate() {
            let pile = std::mem::take(&mut island.pile);
            self.predict_free(&pile, island, h);
            let closed = island.closings.iter().all(Option::is_some);
            taken[k] = !(may_halve
                && (!closed
                    || self.ends_too_deep(island, world, mechanisms, h)
                    || self.outruns_its_reach(island, world, mechanisms, h)));
            if taken[k] {
                if let Some(slot) = island.lowest_slot(mechanisms, free) {
                    world.resting.note_pace(slot, halvings);
                }
                self.take_impulses(&pile, island, world);
                self.finish_free(&pile, island, world, h);
            } else {
                island.delay(late);
            }
            island.pile = pile;
            report.add(&reports[k], taken[k]);
        }
        self.finish_mechanisms(&islands, &taken, &place, mechanisms, params);
        for (island, &k) in islands.into_iter().zip(piles) {
            self.islands[k] = island;
        }
    }

    /// Gives every body of a pile its number in it, and kicks those without joints.
    fn number_bodies(&mut self, island: &mut Island, world: &World, mechanisms: &[Mechanism], free: &[u32], h: f64) {
        island.first_state = self.states.len();
        island.seen = island.manifolds.len();
        let mut count = 0;
        for &m in &island.mechanisms {
            self.first_coordinate[m as usize] = count;
            count += mechanisms[m as usize].movable_bodies().len() as u32;
        }
        for &k in &island.free {
            let slot = free[k as usize];
            let mut state = Free::new(&world.bodies, slot);
            state.kick(&world.bodies, world.gravity, h);
            self.local[slot as usize] = self.states.len() as u32;
            self.first_coordinate[self.mechanism_count + k as usize] = count;
            self.states.push(state);
            count += 1;
        }
    }

    /// Of every mechanism: the pile that it is in.
    fn places_of(&self, islands: &[Island], mechanisms: usize) -> Vec<u32> {
        let mut place = vec![NONE; mechanisms];
        for (k, island) in islands.iter().enumerate() {
            island.mechanisms.iter().for_each(|&m| place[m as usize] = k as u32);
        }
        place
    }

    fn numbers(&self) -> Numbers<'_> {
        Numbers {
            unit: &self.unit,
            local: &self.local,
            first: &self.first_coordinate,
            mechanisms: self.mechanism_count,
        }
    }

    pub(in crate::contact) fn body_in_pile(&self, slot: u32) -> Option<u32> {
        self.numbers().body(slot)
    }

    /// Gives the impulses to the memory of the contact points.
    fn take_impulses(&mut self, pile: &Pile, island: &Island, world: &mut World) {
        for &m in &island.mechanisms {
            self.pushed[m as usize] = self.carried[m as usize];
        }
        let manifolds = &mut world.collisions.manifolds;
        let (unit, pushed) = (&self.unit, &mut self.pushed);
        pile.each_impulse(|m, p, normal, across| {
            note_impulse(&mut manifolds[m as usize], p, normal, across, unit, pushed);
        });
    }

    /// Finds where bodies without joints go.
    fn predict_free(&mut self, pile: &Pile, island: &Island, h: f64) {
        let range = island.first_state..island.first_state + island.free.len();
        for state in &mut self.states[range.clone()] {
            let body = self.first_coordinate[self.unit[state.slot as usize] as usize];
            state.u = pile.velocities(body, h).1;
        }
        predict_all(&mut self.states[range], h);
    }

    fn finish_free(&mut self, pile: &Pile, island: &Island, world: &World, h: f64) {
        for state in &mut self.states[island.first_state..island.first_state + island.free.len()] {
            let unit = self.unit[state.slot as usize];
            let end = pile.velocities(self.first_coordinate[unit as usize], h).0;
            state.turn_to_end(&end);
            state.advance(&world.bodies, world.gravity, h, self.pushed[unit as usize]);
        }
    }

    /// Moves the mechanisms of all piles that are taken, several at once.
    fn finish_mechanisms(
        &mut self,
        islands: &[Island],
        taken: &[bool],
        place: &[u32],
        mechanisms: &mut [Mechanism],
        params: &StepParams,
    ) {
        let (first, pushed) = (&self.first_coordinate, &self.pushed);
        let is_taken = |p: &u32| *p != NONE && taken[*p as usize];
        let moving = mechanisms.iter_mut().zip(place).enumerate().filter(|(_, (_, p))| is_taken(p));
        let mut tasks: Vec<(usize, &mut Mechanism, Option<Advance>)> =
            moving.map(|(m, (mechanism, _))| (m, mechanism, None)).collect();
        let many = tasks.iter().map(|(_, m, _)| m.movable_bodies().len()).sum::<usize>() > MANY;
        for_each(&mut tasks, many, |_, (m, mechanism, advance)| {
            let island = &islands[place[*m] as usize];
            let Ok(k) = island.mechanisms.binary_search(&(*m as u32)) else { return };
            let bodies = 0..mechanism.movable_bodies().len() as u32;
            let end: Vec<Hat> = bodies.map(|b| island.pile.velocities(first[*m] + b, params.dt).0).collect();
            *advance = Some(mechanism.finish_in_pile(params.dt, params, island.closings[k], &end, pushed[*m]));
        });
        self.advances.extend(tasks.into_iter().filter_map(|(_, _, advance)| advance));
    }

    /// Whether something that passes by or turns fast ends deeper than its contacts, which are those of the start, foresaw.
    fn ends_too_deep(&self, island: &Island, world: &mut World, mechanisms: &[Mechanism], h: f64) -> bool {
        let mut rest = &island.manifolds[..];
        while let Some(&first) = rest.first() {
            let all = &world.collisions.manifolds;
            let manifold = all[first as usize];
            let pair = (manifold.collider_a, manifold.collider_b);
            // manifolds of one pair follow each other
            let same = |m: &&u32| (all[**m as usize].collider_a, all[**m as usize].collider_b) == pair;
            let (group, others) = rest.split_at(rest.iter().take_while(same).count());
            let points = group.iter().flat_map(|&m| all[m as usize].points());
            let depth = points.map(|p| -p.gap).fold(0.0, f64::max);
            rest = others;
            if !self.passes_by(world, mechanisms, &manifold, h) {
                continue;
            }
            let (a, b) = (self.end(world, mechanisms, manifold.a, h), self.end(world, mechanisms, manifold.b, h));
            let touches = world.collisions.look_ahead(&manifold, &a, &b, 0.0);
            if touches.iter().flat_map(|t| &t.points).any(|p| -p.1 > depth + DEEPER) {
                return true;
            }
        }
        false
    }

    fn passes_by(&self, world: &World, mechanisms: &[Mechanism], manifold: &Manifold, h: f64) -> bool {
        let sides = [(manifold.a, manifold.collider_a), (manifold.b, manifold.collider_b)];
        let [a, b] = sides.map(|(slot, _)| self.motion(world, mechanisms, slot));
        let across = (b.v - a.v).reject_from_normalized(manifold.normal).length_squared();
        let turns = |w: DVec3, collider: u32| {
            let angle = h * w.length();
            // a plane has no size, and does not turn
            angle > 0.0 && 0.5 * angle * angle * world.collisions.sweep(collider) > TURNING
        };
        h * h * across > PASSING * PASSING || turns(a.w, sides[0].1) || turns(b.w, sides[1].1)
    }
}

/// Whether two bodies touch in the way that piles know: without rolling friction and softness, and without a bounce to come.
fn is_plain(world: &World, manifold: u32, h: f64) -> bool {
    let manifold = &world.collisions.manifolds[manifold as usize];
    let material = &manifold.material;
    let bounces = || {
        let slow = 2.0 * h * world.gravity.length();
        let velocity =
            |slot: u32, at: DVec3| world.bodies.at(slot as usize).map_or(DVec3::ZERO, |b| b.v + b.w.cross(at - b.x));
        let fast = |at: DVec3| (velocity(manifold.b, at) - velocity(manifold.a, at)).dot(manifold.normal) < -slow;
        manifold.points().iter().any(|p| fast(p.position))
    };
    material.softness.is_none()
        && material.rolling == 0.0
        && material.spinning == 0.0
        && !(material.restitution > 0.0 && bounces())
}

/// A pile, its own mechanisms in the order of their numbers, and what it did.
struct Task<'a> {
    island: &'a mut Island,
    mechanisms: Vec<&'a mut Mechanism>,
    report: &'a mut ContactReport,
}

/// Where bodies are found in their piles, by slot.
#[derive(Clone, Copy)]
struct Numbers<'a> {
    unit: &'a [u32],
    local: &'a [u32],
    first: &'a [u32],
    mechanisms: usize,
}

impl Numbers<'_> {
    /// The number of a body in its pile; `None` if nothing there moves it.
    fn body(&self, slot: u32) -> Option<u32> {
        let unit = self.unit[slot as usize];
        let local = if (unit as usize) < self.mechanisms { self.local[slot as usize] } else { 0 };
        (unit != NONE).then(|| self.first[unit as usize] + local)
    }
}

/// What all piles look at while they are solved.
struct Shared<'a> {
    contacts: Numbers<'a>,
    bodies: &'a Bodies,
    manifolds: &'a [Manifold],
    states: &'a [Free],
}

impl Shared<'_> {
    /// Solves a pile and finds where the bodies of its mechanisms go.
    fn solve(&self, task: &mut Task, params: &StepParams) {
        let h = params.dt;
        let Task { island, mechanisms, report } = task;
        let mut pile = std::mem::take(&mut island.pile);
        pile.clear();
        self.fill(&mut pile, island, mechanisms, params, report);
        let outcome = pile.solve(mechanisms, h, params.shock_propagation);
        report.iterations += outcome.sweeps;
        report.residual = report.residual.max(outcome.residual);
        {
            let mut bounded = pile.bounded();
            for mechanism in mechanisms.iter_mut() {
                for k in 0..mechanism.bounded_entries().count() {
                    mechanism.note_bounded(k, bounded.next().unwrap_or(0.0));
                }
            }
        }
        let closings = &mut island.closings;
        closings.clear();
        closings.resize(mechanisms.len(), None);
        let mut mean: Vec<Hat> = Vec::new();
        pile.each_joint_impulse(|k, first, impulses| {
            let mechanism = &mut mechanisms[k as usize];
            mean.clear();
            mean.extend((0..mechanism.movable_bodies().len()).map(|b| pile.velocities(first + b as u32, h).1));
            closings[k as usize] = mechanism.predict_in_pile(h, params, &mean, impulses);
        });
        island.pile = pile;
    }

    /// Kicks the mechanisms and gives the pile bodies, joints and contacts.
    fn fill(
        &self,
        pile: &mut Pile,
        island: &Island,
        mechanisms: &mut [&mut Mechanism],
        params: &StepParams,
        report: &mut ContactReport,
    ) {
        let (mut count, h) = (0, params.dt);
        for (place, mechanism) in mechanisms.iter_mut().enumerate() {
            mechanism.kick_in_contact(h);
            pile.add_mechanism(place as u32, count);
            for k in 0..mechanism.movable_bodies().len() {
                let (x, whitening, inv_sqrt_mass) = mechanism.frame_of(k);
                let (before, kicked) = mechanism.kick_of(k);
                count = 1 + pile.add_body(Frame { x, whitening, inv_sqrt_mass }, before, kicked);
            }
        }
        for state in &self.states[island.first_state..island.first_state + island.free.len()] {
            pile.add_body(state.frame(), &state.before(self.bodies), &state.kicked);
        }
        for &m in &island.manifolds {
            let manifold = &self.manifolds[m as usize];
            let bodies = [manifold.a, manifold.b].map(|slot| self.contacts.body(slot));
            pile.add_contact(m, manifold, bodies, drifts(self.bodies, manifold));
            for point in manifold.points() {
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        let drift = |manifold: &Manifold, at| drift_at(self.bodies, manifold, at);
        pile.prepare(self.manifolds, mechanisms, island.tight, params.shock_propagation, drift);
        for (&m, mechanism) in island.mechanisms.iter().zip(mechanisms.iter()) {
            let (first, movable) = (self.contacts.first[m as usize], mechanism.movable_bodies().len());
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
    }
}

/// Gives a contact point its impulses, along the normal and across it, and notes the units that it pushes.
pub(in crate::contact) fn note_impulse(
    manifold: &mut Manifold,
    point: usize,
    normal: f64,
    across: DVec3,
    unit: &[u32],
    pushed: &mut [bool],
) {
    for slot in [manifold.a, manifold.b] {
        if let Some(pushed) = pushed.get_mut(unit[slot as usize] as usize).filter(|_| normal > 0.0) {
            *pushed = true;
        }
    }
    let point = &mut manifold.points_mut()[point];
    (point.impulse_n, point.impulse_t) = (normal, across);
}

/// Whether the user moves one of two bodies that touch.
pub(in crate::contact) fn drifts(bodies: &Bodies, manifold: &Manifold) -> bool {
    let moved = |slot: u32| bodies.at(slot as usize).is_some_and(|b| b.kind == BodyKind::Kinematic);
    moved(manifold.a) || moved(manifold.b)
}

/// The velocity of b against a at a place, of those of the two that the user moves.
pub(in crate::contact) fn drift_at(bodies: &Bodies, manifold: &Manifold, at: DVec3) -> DVec3 {
    let of = |slot: u32| {
        let body = bodies.at(slot as usize).filter(|b| b.kind == BodyKind::Kinematic);
        body.map_or(DVec3::ZERO, |b| b.v + b.w.cross(at - b.x))
    };
    of(manifold.b) - of(manifold.a)
}

impl Free {
    pub(in crate::contact) fn frame(&self) -> Frame {
        let (r, i) = (&self.pose.r, self.inv_sqrt);
        let whitening = glam::DMat3::from_cols(r.x_axis * i.x, r.y_axis * i.y, r.z_axis * i.z);
        Frame { x: self.pose.x, whitening, inv_sqrt_mass: self.inv_sqrt_mass }
    }
}
