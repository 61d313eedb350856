//! The step of one pile, from the world's state to its end in working memory. All of it is done at once: a pile's memory is near
//! then, while that of all piles would be fetched again for every stage.

use super::apart::{End, Ends};
use super::island::{Census, drift_at, drifts};
use super::turning::Turning;
use super::{DEAD_BAND, Frame, Pile, Wide, widen};
use crate::collide::{ContactPoint, Looker, Manifold, Touches};
use crate::contact::free::{Free, predict_all};
use crate::contact::members::Members;
use crate::contact::{Attempt, ContactReport, Contacts, Island, NONE, motion_by_user};
use crate::joint::Motion;
use crate::math::{Placed, rotation};
use crate::mechanism::four::Member;
use crate::mechanism::herd::Herds;
use crate::mechanism::{Advance, Hat, Mechanism};
use crate::parallel::{MANY, for_each};
use crate::params::StepParams;
use crate::step::Halving;
use crate::world::Seen;
use glam::DVec3;
use std::sync::{Mutex, PoisonError};

/// How far bodies may pass along each other, or the ends of a turning one bend off, before their contacts are doubted, m.
const PASSING: f64 = 5e-3;
const TURNING: f64 = 3e-4;
/// How far what one or two points hold may turn over them, m.
const TIPPING: f64 = 2e-3;
/// How far points of shapes may go in a step for nothing of all that to happen, m: less than half of that by which contacts are looked for
/// farther than anything moves.
const CALM: f64 = 1e-3;
/// Turn of a body in a step up to which closing the joints moves nothing that counts, rad.
const TURNS: f64 = 1e-2;
/// How far apart shapes are looked at where they end, m.
const NEAR: f64 = 4e-3;
/// How much nearer than foreseen something must come for all to be moved apart once, and once more, m.
const LEAST_APART: [f64; 2] = [1e-4, 5e-4];
/// How much deeper than foreseen asks for a smaller step, m, and for a very small one.
const DEEPER: f64 = 1e-3;
const MUCH_DEEPER: f64 = 5e-3;

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
    goings: Vec<Going>,
    /// How far points of shapes are from what they turn about, at most, m.
    sweep: f64,
    /// Whether something touches what the user moves.
    is_driven: bool,
    ends: Ends,
    /// By slot: the number of a body in the pile; of others it means nothing.
    numbers: Vec<u32>,
    /// Of every mechanism: which four of a herd it is in, and its lane there. The others are advanced by themselves.
    lanes: Vec<Option<(u32, u32)>>,
    /// Mechanisms that a four has given back, by their places, with the four and the lane that they were in.
    given_back: Vec<(u32, (u32, u32))>,
}

impl Work {
    /// Whether bodies turn so far that closing the joints moves them, or other faces meet.
    fn turns(&self, h: f64) -> bool {
        self.goings.iter().any(|going| h * going.spin >= TURNS)
    }

    /// Whether all bodies go so slowly that none of their contacts is in doubt and nothing comes from beyond reach.
    fn is_calm(&self, h: f64) -> bool {
        let most = |of: fn(&Going) -> f64| h * self.goings.iter().map(of).fold(0.0, f64::max);
        let (goes, turns) = (most(|going| going.speed), most(|going| going.spin));
        !self.is_driven && goes + turns * self.sweep < CALM && 0.5 * turns * turns * self.sweep < TURNING
    }
}

/// How a body goes: its motion, and how fast it moves and turns.
#[derive(Clone, Copy, Debug, Default)]
struct Going {
    motion: Motion,
    speed: f64,
    spin: f64,
}

impl Going {
    fn new(motion: Motion) -> Going {
        Going { motion, speed: motion.v.length(), spin: motion.w.length() }
    }
}

/// Working memory for as many piles as are solved at once.
#[derive(Default)]
pub(in crate::contact) struct Spare(Mutex<Vec<Work>>);

impl Spare {
    fn take(&self) -> Work {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Into how many parts the last piles were divided, at most.
    #[cfg(test)]
    pub fn parts(&self) -> usize {
        let works = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        works.iter().map(|work| work.pile.parts()).max().unwrap_or(0)
    }

    fn give_back(&self, work: Work) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(work);
    }
}

/// What all piles look at.
pub(super) struct Tasks<'a> {
    pub world: Seen<'a>,
    pub free: &'a [u32],
    pub herds: &'a Herds,
    pub params: &'a StepParams,
    /// Whether mechanisms must be gathered.
    pub fresh: bool,
    pub halving: Halving,
}

impl Tasks<'_> {
    /// Advances an island in working memory if it is a pile.
    pub fn run(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members) {
        let mut work = contacts.spare.take();
        island.states.clear();
        island.report = ContactReport::default();
        // what Newton's method has been tried on is one
        island.outcome = match self.begin(island, mechanisms, &mut work) {
            true => self.advance(contacts, island, mechanisms, &mut work),
            false => Attempt::NeedsNewton,
        };
        contacts.spare.give_back(work);
    }

    /// Gathers mechanisms, if they are not, and begins their step; returns whether the island is a pile.
    fn begin(&self, island: &mut Island, mechanisms: &mut Members, work: &mut Work) -> bool {
        let Tasks { world, params, herds, .. } = *self;
        work.pile.clear();
        work.lanes.clear();
        work.lanes.resize(mechanisms.list.len(), None);
        work.given_back.clear();
        self.number_bodies(island, &mut work.numbers);
        if !self.fresh {
            return true;
        }
        if !params.shock_propagation {
            self.form_fours(island, work);
        }
        self.begin_others(island, mechanisms, &work.lanes, |_| true);
        let mut census = Census::default();
        island.free.iter().for_each(|&k| census.add_bodies(&[self.free[k as usize]], 6, &world));
        for ((mechanism, &number), lane) in mechanisms.list.iter().zip(&island.mechanisms).zip(&work.lanes) {
            let (freedoms, machine) = match lane {
                Some((four, _)) => {
                    // none of its rows is redundant
                    let herd = herds.herd_of(&work.pile.fours()[*four as usize]);
                    (herd.freedoms(), herd.is_of_machines())
                }
                None => (mechanism.count_freedoms(), mechanism.is_machine()),
            };
            census.add_bodies(herds.bodies_of(number), freedoms, &world);
            census.machines |= machine;
        }
        island.tight = census.is_tight();
        let is_pile = census.is_pile();
        if !is_pile || island.tight {
            // each by itself after all
            work.pile.clear();
            let lanes = std::mem::replace(&mut work.lanes, vec![None; mechanisms.list.len()]);
            self.begin_others(island, mechanisms, &work.lanes, |place| lanes[place].is_some());
        }
        is_pile
    }

    /// Gathers those of the mechanisms that are in no four and are asked for, and begins their step.
    fn begin_others(
        &self,
        island: &Island,
        mechanisms: &mut Members,
        lanes: &[Option<(u32, u32)>],
        asked: impl Fn(usize) -> bool + Sync + Send,
    ) {
        for_each(&mut mechanisms.list, self.bodies(island) > MANY, |place, mechanism| {
            if lanes[place].is_none() && asked(place) {
                mechanism.gather_in_turn(&self.world, self.params);
                mechanism.begin_contact(self.params.dt);
            }
        });
    }

    /// Gives every body of an island its number among them.
    fn number_bodies(&self, island: &mut Island, numbers: &mut Vec<u32>) {
        let mut count = 0;
        island.first.clear();
        numbers.resize(self.world.bodies.slots(), 0);
        let mut number_all = |slots: &[u32]| {
            island.first.push(count);
            for &slot in slots {
                numbers[slot as usize] = count;
                count += 1;
            }
            count
        };
        island.jointed = 0;
        for &number in &island.mechanisms {
            island.jointed = number_all(self.herds.bodies_of(number)) as usize;
        }
        for &k in &island.free {
            number_all(&[self.free[k as usize]]);
        }
    }

    fn bodies(&self, island: &Island) -> usize {
        island.jointed + island.free.len()
    }

    /// Puts members of one herd that follow each other together, four at most. One that stands alone, and those that are not of the
    /// simple kind just now, are advanced by themselves.
    fn form_fours(&self, island: &Island, work: &mut Work) {
        let herd_at = |place: usize| island.mechanisms.get(place).and_then(|&m| self.herds.of(m));
        let mut place = 0;
        while place < island.mechanisms.len() {
            let Some((herd, _)) = herd_at(place) else {
                place += 1;
                continue;
            };
            let alike = |k: &usize| herd_at(*k).is_some_and(|(other, _)| other == herd);
            let count = (place..place + 4).take_while(alike).count();
            let member = |k: usize| Member {
                number: herd_at(k).map_or(0, |(_, number)| number),
                place: k as u32,
                first_body: island.first[k],
            };
            if count > 1 {
                let members: [Member; 4] = std::array::from_fn(|l| member(place + l.min(count - 1)));
                work.pile.add_herded(herd, &members[..count]);
            }
            place += count;
        }
        work.pile.begin_herded(self.herds, &self.world, self.bodies(island) > MANY);
        for (number, four) in work.pile.fours().iter().enumerate() {
            for (l, member) in four.members().iter().enumerate() {
                work.lanes[member.place as usize] = Some((number as u32, l as u32));
            }
        }
    }

    fn advance(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members, work: &mut Work) -> Attempt {
        let Tasks { world, params, .. } = *self;
        let h = params.dt;
        find_presses(contacts, island, &world);
        self.kick(island, mechanisms, work);
        self.solve(contacts, island, mechanisms, work);
        let mut closed = self.predict(island, mechanisms, work, false);
        let mut deeper = self.look_at_ends(contacts, island, mechanisms, work);
        for least in LEAST_APART {
            if !closed || !self.move_apart(island, mechanisms, work, least) {
                break;
            }
            let before = deeper;
            closed = self.predict(island, mechanisms, work, true);
            deeper = self.look_at_ends(contacts, island, mechanisms, work);
            // what is held tightly must not end deeper at all
            let most = if island.tight { before } else { before.max(DEEPER) };
            if !closed || deeper > most {
                work.pile.take_back(&work.ends, &mut mechanisms.list, h);
                closed = self.predict(island, mechanisms, work, false);
                deeper = self.look_at_ends(contacts, island, mechanisms, work);
                break;
            }
        }
        let most = if self.halving.is_usual() { DEEPER } else { MUCH_DEEPER };
        let too_deep = self.halving.is_possible() && (!closed || deeper > most);
        let is_calm = work.is_calm(h);
        let Work { pile, goings, numbers, lanes, .. } = work;
        let view = View { contacts, world, mechanisms, island, goings, numbers, pile, lanes };
        let thrown = if self.halving.is_possible() && !too_deep && !is_calm { view.find_thrown(h) } else { Vec::new() };
        if !thrown.is_empty() {
            show_fours(pile, lanes, mechanisms);
        }
        if too_deep || contacts.meets_beyond_reach(island, &world, mechanisms, thrown, h) {
            return Attempt::NeedsSmallerStep;
        }
        self.finish(contacts, island, mechanisms, work);
        Attempt::Advanced
    }

    /// Kicks all bodies.
    fn kick(&self, island: &mut Island, mechanisms: &mut Members, work: &Work) {
        let Tasks { world, params, .. } = *self;
        let many = self.bodies(island) > MANY;
        let presses = &island.presses;
        for_each(&mut mechanisms.list, many, |k, m| {
            if work.lanes[k].is_none() {
                m.kick_in_pile(params.dt, presses[k]);
            }
        });
        for &k in &island.free {
            let mut state = Free::new(world.bodies, self.free[k as usize]);
            state.kick(world.bodies, world.gravity, params.dt, params.dt);
            island.states.push(state);
        }
    }

    /// Gives the pile bodies, joints and contacts, and solves it.
    fn solve(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members, work: &mut Work) {
        let Tasks { world, params, herds, .. } = *self;
        let Work { pile, lanes, numbers, sweep, is_driven, .. } = work;
        let mechanisms = &mut mechanisms.list;
        pile.make_room(self.bodies(island));
        pile.set_herded_bodies(params.dt, &island.presses);
        let (by_mechanisms, by_free) = island.presses.split_at(mechanisms.len());
        for (place, mechanism) in mechanisms.iter().enumerate().filter(|(k, _)| lanes[*k].is_none()) {
            let first = island.first[place];
            pile.add_mechanism(place as u32, first);
            for k in 0..mechanism.movable_bodies().len() {
                let (x, whitening, inv_sqrt_mass) = mechanism.frame_of(k);
                let lag = (mechanism.lag(), by_mechanisms[place]);
                pile.set_body(first + k as u32, Frame { x, whitening, inv_sqrt_mass }, mechanism.kick_of(k), lag);
            }
        }
        let bodies = &island.first[mechanisms.len()..];
        for ((state, &presses), &body) in island.states.iter().zip(by_free).zip(bodies) {
            pile.set_body(body, state.frame(), (&state.before(world.bodies), &state.kicked), (state.lag, presses));
        }
        let mut report = island.report;
        (*sweep, *is_driven) = (0.0, false);
        let mut turning = Turning::new(contacts, island, world, herds, self.free, params.dt);
        for &m in &island.manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            let number = |slot: u32| (contacts.unit[slot as usize] != NONE).then(|| numbers[slot as usize]);
            let bodies = [manifold.a, manifold.b].map(number);
            for (body, collider) in bodies.iter().zip([manifold.collider_a, manifold.collider_b]) {
                let own = world.collisions.reach_and_sweep(collider).1;
                *sweep = if body.is_some() { sweep.max(own) } else { *sweep };
            }
            // only what nothing here moves can be moved by the user
            let may_drift = bodies.contains(&None);
            let drifts = may_drift && drifts(world.bodies, manifold);
            *is_driven |= drifts;
            pile.add_contact(m, manifold, bodies, drifts, turning.of(manifold, mechanisms));
            for point in manifold.points() {
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        let drift = |manifold: &Manifold, at| drift_at(world.bodies, manifold, at);
        pile.prepare(
            &world.collisions.manifolds,
            mechanisms,
            island.tight,
            params.shock_propagation,
            self.halving.times,
            &island.first,
            drift,
        );
        for (place, mechanism) in mechanisms.iter().enumerate().filter(|(k, _)| lanes[*k].is_none()) {
            let (first, movable) = (island.first[place], mechanism.movable_bodies().len());
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
        let is_moved =
            |slot: u32| world.bodies.at(slot as usize).is_some_and(|b| b.v != DVec3::ZERO || b.w != DVec3::ZERO);
        pile.is_driven = *is_driven || mechanisms.iter().any(|m| m.outside_bodies().any(is_moved));
        let outcome = pile.solve(mechanisms, herds, params.dt, params.shock_propagation);
        report.iterations += outcome.sweeps;
        report.residual = report.residual.max(outcome.residual);
        island.report = report;
        let mut bounded = pile.bounded();
        for (_, mechanism) in mechanisms.iter_mut().enumerate().filter(|(k, _)| lanes[*k].is_none()) {
            for k in 0..mechanism.bounded_entries().count() {
                mechanism.note_bounded(k, bounded.next().unwrap_or(0.0));
            }
        }
    }

    /// Finds where all bodies go, `again` from where the last asking left their joints; returns whether all joints can be closed there.
    fn predict(&self, island: &mut Island, mechanisms: &mut Members, work: &mut Work, again: bool) -> bool {
        let h = self.params.dt;
        let mechanisms = &mut mechanisms.list;
        let Work { pile, hats, lanes, given_back, goings, .. } = work;
        let jointed = island.jointed;
        let closings = &mut island.closings;
        closings.clear();
        closings.resize(mechanisms.len(), None);
        pile.predict_herded(self.herds, h, self.params.joint_tolerance, (again, jointed > MANY), closings);
        let substep = pile.substep(h);
        let mut close = |mechanism: &mut Mechanism, first: u32, impulses: &[f64], again: bool| {
            hats.clear();
            hats.extend((0..mechanism.movable_bodies().len()).map(|b| pile.velocities(first + b as u32, h).1));
            mechanism.predict_in_pile(h, self.params, hats, (!again).then_some(impulses), substep)
        };
        pile.each_joint_impulse(|k, first, impulses| {
            closings[k as usize] = close(mechanisms[k as usize], first, impulses, again);
        });
        // what a four has given back is advanced by itself
        let before = given_back.len();
        for (place, lane) in lanes.iter_mut().enumerate() {
            let Some(lane) = lane.take_if(|_| closings[place].is_none()) else { continue };
            given_back.push((place as u32, lane));
            let mechanism = &mut *mechanisms[place];
            mechanism.gather_in_turn(&self.world, self.params);
            mechanism.begin_contact(h);
            mechanism.kick_in_pile(h, island.presses[place]);
        }
        for (k, &(place, (four, l))) in given_back.iter().enumerate() {
            let (place, again) = (place as usize, again && k < before);
            let impulses: Vec<f64> = pile.fours()[four as usize].totals(l as usize).collect();
            closings[place] = close(mechanisms[place], island.first[place], &impulses, again);
        }
        for (state, &body) in island.states.iter_mut().zip(&island.first[mechanisms.len()..]) {
            state.u = pile.velocities(body, h).1;
        }
        predict_all(&mut island.states, h);
        self.find_goings(island, mechanisms, pile, lanes, goings);
        island.closings.iter().all(Option::is_some)
    }

    /// Looks at pairs that may end elsewhere than contacts foresaw, and finds where bodies end if some have to be moved apart; returns by
    /// how much deeper than at the start a pair ends at most.
    fn look_at_ends(&self, contacts: &Contacts, island: &Island, mechanisms: &Members, work: &mut Work) -> f64 {
        let (Tasks { world, herds, .. }, h) = (self, self.params.dt);
        let (turns, is_calm) = (work.turns(h), work.is_calm(h));
        let Work { pile, looker, goings, ends, numbers, lanes, .. } = work;
        let view = View { contacts, world: *world, mechanisms, island, goings, numbers, pile, lanes };
        ends.clear();
        if island.closings.iter().any(Option::is_none) {
            // there is no end to look at
            return 0.0;
        }
        let looks = !is_calm && (turns || self.halving.is_possible());
        let deeper = if looks { view.find_unforeseen(looker, h, &mut ends.touching) } else { 0.0 };
        if turns {
            let number = |slot: u32| (contacts.unit[slot as usize] != NONE).then(|| numbers[slot as usize]);
            ends.bodies.extend(ends.touching.iter().map(|m| [m.a, m.b].map(number)));
            let jointed = island.mechanisms.iter().flat_map(|&number| herds.bodies_of(number)).copied();
            let slots = jointed.chain(island.free.iter().map(|&k| self.free[k as usize]));
            ends.places.extend(slots.map(|slot| {
                let here = world.bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
                let end = view.end(slot, h);
                End { x: end.x, by: end.x - here.x, turn: rotation::log(end.q * here.q.conjugate()) }
            }));
            ends.units.clone_from(&island.first);
            view.find_means(herds, &mut ends.means);
        }
        deeper
    }

    /// Moves bodies apart that come nearer than foreseen where they end, by `least` or more ([`super::apart`]); returns whether there
    /// were any.
    fn move_apart(&self, island: &Island, mechanisms: &mut Members, work: &mut Work, least: f64) -> bool {
        debug_assert!(work.ends.places.is_empty() || work.ends.places.len() == self.bodies(island));
        let is_first = least == LEAST_APART[0];
        !work.ends.places.is_empty()
            && work.pile.move_apart(&mut work.ends, &mut mechanisms.list, self.herds, self.params.dt, least, is_first)
    }

    /// How all bodies go, in the order of their numbers.
    fn find_goings(
        &self,
        island: &Island,
        mechanisms: &[&mut Mechanism],
        pile: &Pile,
        lanes: &[Option<(u32, u32)>],
        goings: &mut Vec<Going>,
    ) {
        goings.clear();
        goings.resize(self.bodies(island), Going::default());
        for four in pile.fours() {
            for b in 0..self.herds.herd_of(four).bodies {
                let of = four.motions(b);
                four.members().iter().zip(of).for_each(|(m, of)| goings[m.first_body as usize + b] = Going::new(of));
            }
        }
        for (place, mechanism) in mechanisms.iter().enumerate().filter(|(k, _)| lanes[*k].is_none()) {
            for k in 0..mechanism.movable_bodies().len() {
                let (v, w) = mechanism.motion_of(k);
                goings[island.first[place] as usize + k] = Going::new(Motion { v, w });
            }
        }
        let free = &island.first[mechanisms.len()..];
        let states = free.iter().zip(&island.states);
        states.for_each(|(&body, state)| goings[body as usize] = Going::new(state.motion()));
    }

    /// Takes the impulses, and moves all bodies to their ends.
    fn finish(&self, contacts: &Contacts, island: &mut Island, mechanisms: &mut Members, work: &mut Work) {
        let Tasks { world, params, herds, .. } = *self;
        let Work { pile, lanes, .. } = work;
        let h = params.dt;
        let (jointed, substep) = (island.jointed, pile.substep(h));
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
        let Island { closings, states, advances, first, herded, moved, loaded, mechanisms: numbers, .. } = &mut *island;
        advances.clear();
        pile.finish_herded(herds, h, &pushed, jointed > MANY);
        for (number, four) in pile.fours().iter().enumerate() {
            let herd = herds.herd_of(four);
            let is_in = |l: usize| lanes[four.members()[l].place as usize] == Some((number as u32, l as u32));
            four.each_moved(herd, |l, body| moved.extend(is_in(l).then_some(body)));
            four.each_force(herd, h, |l, joint| loaded.extend(is_in(l).then_some(joint)));
            for (l, member) in four.members().iter().enumerate().filter(|(l, _)| is_in(*l)) {
                herded.push(numbers[member.place as usize]);
                advances.push(four.advance(herd, l, closings[member.place as usize].unwrap_or(0)));
            }
        }
        let plain = mechanisms.iter_mut().enumerate().filter(|(k, _)| lanes[*k].is_none());
        let mut moves: Vec<(usize, &mut Mechanism, Option<Advance>)> =
            plain.map(|(k, m)| (k, &mut **m, None)).collect();
        let pile = &*pile;
        for_each(&mut moves, jointed > MANY, |_, (k, mechanism, advance)| {
            let bodies = first[*k]..first[*k] + mechanism.movable_bodies().len() as u32;
            let ends: Vec<Hat> = bodies.map(|body| pile.velocities(body, h).0).collect();
            *advance = Some(mechanism.finish_in_pile(h, params, closings[*k], &ends, substep, pushed[*k]));
        });
        advances.extend(moves.into_iter().filter_map(|(_, _, advance)| advance));
        for (k, state) in states.iter_mut().enumerate() {
            state.turn_to_end(&pile.velocities(first[closings.len() + k], h).0);
            state.advance_in_pile(world.bodies, world.gravity, substep, pushed[closings.len() + k]);
        }
        island.pushed = pushed;
    }
}

/// Shows where members of herds are and go to their mechanisms, for what asks these.
fn show_fours(pile: &Pile, lanes: &[Option<(u32, u32)>], mechanisms: &mut Members) {
    for (mechanism, lane) in mechanisms.list.iter_mut().zip(lanes) {
        if let Some((four, l)) = *lane {
            mechanism.show(&pile.fours()[four as usize], l as usize);
        }
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

/// A pile where it has been solved and not yet moved.
struct View<'a> {
    contacts: &'a Contacts,
    world: Seen<'a>,
    mechanisms: &'a Members<'a>,
    island: &'a Island,
    goings: &'a [Going],
    numbers: &'a [u32],
    pile: &'a Pile,
    lanes: &'a [Option<(u32, u32)>],
}

impl View<'_> {
    /// Finds the mean velocities with which bodies go where they end.
    fn find_means(&self, herds: &Herds, means: &mut Vec<Wide>) {
        means.clear();
        means.resize(self.goings.len(), [0.0; 8]);
        for four in self.pile.fours() {
            for b in 0..herds.herd_of(four).bodies {
                let of = four.means(b);
                four.members().iter().zip(&of).for_each(|(m, of)| means[m.first_body as usize + b] = widen(of));
            }
        }
        let (mechanisms, first) = (&self.mechanisms.list, &self.island.first);
        for (place, mechanism) in mechanisms.iter().enumerate().filter(|(k, _)| self.lanes[*k].is_none()) {
            for k in 0..mechanism.movable_bodies().len() {
                means[first[place] as usize + k] = widen(mechanism.mean_of(k));
            }
        }
        let free = first[mechanisms.len()..].iter().zip(&self.island.states);
        free.for_each(|(&body, state)| means[body as usize] = widen(&state.u));
    }

    /// Finds how pairs touch where they end that end deeper than they began; gaps are by how much points may come nearer. Returns by how
    /// much deeper they end at most.
    fn find_unforeseen(&self, looker: &mut Looker, h: f64, touching: &mut Vec<Manifold>) -> f64 {
        let mut most = 0.0_f64;
        self.each_doubtful(looker, h, NEAR, |manifold, depth, touches| {
            let ends = touches.iter().flat_map(|t| &t.points).map(|p| -p.1).fold(0.0, f64::max);
            most = most.max(ends - depth);
            let allowed = depth.max(DEAD_BAND);
            if ends <= allowed + LEAST_APART[0] {
                return;
            }
            // what has gone so far through a thin thing that it would be led out on its other side is for smaller steps
            for touch in touches.iter().filter(|t| t.normal.dot(manifold.normal) > 0.0) {
                let at = |p: &(DVec3, f64)| ContactPoint { position: p.0, gap: p.1 + allowed, ..ContactPoint::NONE };
                let points: Vec<ContactPoint> = touch.points.iter().map(at).collect();
                touching.push(manifold.with_points(touch.normal, &points));
            }
        });
        most
    }

    /// Calls `visit` with pairs of which the end of the step may be elsewhere than contacts, which are those of the start, foresaw: one of
    /// their manifolds, how deep they overlap at the start, and how they touch at the end, within `reach`.
    fn each_doubtful(&self, looker: &mut Looker, h: f64, reach: f64, mut visit: impl FnMut(&Manifold, f64, &Touches)) {
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
            visit(manifold, depth, collisions.look_ahead_with(looker, manifold, &a, &b, reach));
        }
    }

    fn passes_by(&self, manifold: &Manifold, h: f64) -> bool {
        let [a, b] = [manifold.a, manifold.b].map(|slot| self.going(slot));
        let across = (b.motion.v - a.motion.v).reject_from_normalized(manifold.normal).length_squared();
        let turns = |spin: f64, collider: u32| {
            let angle = h * spin;
            // a plane has no size, and does not turn
            angle > 0.0 && 0.5 * angle * angle * self.world.collisions.reach_and_sweep(collider).1 > TURNING
        };
        let passes = h * h * across > PASSING * PASSING;
        // what one or two points hold can tip over them
        let tips = |spin: f64, collider: u32| {
            spin > 0.0 && h * spin * self.world.collisions.reach_and_sweep(collider).1 > TIPPING
        };
        let sides = [(a.spin, manifold.collider_a), (b.spin, manifold.collider_b)];
        let is_loose = manifold.points().len() < 3;
        passes || sides.into_iter().any(|(spin, collider)| turns(spin, collider) || is_loose && tips(spin, collider))
    }

    /// Finds the colliders that go farther than contacts were looked for.
    fn find_thrown(&self, h: f64) -> Vec<u32> {
        let collisions = self.world.collisions;
        let mut thrown = Vec::new();
        for &m in &self.island.manifolds {
            let m = &collisions.manifolds[m as usize];
            for (slot, collider) in [(m.a, m.collider_a), (m.b, m.collider_b)] {
                if self.contacts.unit[slot as usize] == NONE {
                    continue;
                }
                let (Going { speed, spin, .. }, (reach, sweep)) =
                    (self.going(slot), collisions.reach_and_sweep(collider));
                // a plane has no size, and does not turn
                let turning = if spin == 0.0 { 0.0 } else { spin * sweep };
                if h * (speed + turning) > reach {
                    thrown.push(collider);
                }
            }
        }
        thrown
    }

    fn going(&self, slot: u32) -> Going {
        match self.contacts.unit[slot as usize] {
            NONE => Going::new(motion_by_user(self.world.bodies, slot)),
            _ => self.goings[self.numbers[slot as usize] as usize],
        }
    }

    fn end(&self, slot: u32, h: f64) -> Placed {
        let unit = self.contacts.unit[slot as usize];
        let place = if unit == NONE { NONE } else { self.contacts.place_in(self.island, unit) as u32 };
        if let Some(&Some((four, lane))) = self.lanes.get(place as usize) {
            return self.pile.fours()[four as usize]
                .next_pose(lane as usize, self.contacts.local[slot as usize] as usize);
        }
        self.contacts.end(self.island, &self.world, self.mechanisms, slot, h)
    }
}
