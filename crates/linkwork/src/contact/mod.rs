//! Contact in the step: islands of bodies and mechanisms that touch, and their common solve.
//!
//! An island is kicked, its contacts are solved for the velocities with which it moves, and it moves (docs/method.md,
//! Contact). Bodies without joints are solved with very stiff contacts that take long to relax, which brings stacks to rest; what
//! has joints is solved rigidly. Both are Newton's method in the coordinates of free motions. Heaps of things with joints are
//! swept over instead ([`pile`]), and stacks that rest keep their matrix ([`quiet`]).

mod bounce;
pub mod collision;
mod complementarity;
mod cone;
mod coulomb;
mod entries;
mod free;
pub mod lcp;
mod listing;
mod look;
mod members;
mod newton;
mod passive;
mod pile;
mod problem;
mod quiet;
mod rest;
mod rigid;
mod rolling;
mod runaway;
mod slip;
mod solve;
mod sweeps;

pub(crate) use listing::Touch;
pub use listing::{Contact, ContactEvent};
pub(crate) use quiet::Resting;

use crate::body::{Accelerations, BodyState};
use crate::collide::{Looker, Manifold, PlacedBody};
use crate::joint::Motion;
use crate::joint::rows::Row;
use crate::math::length;
use crate::mechanism::four::{LoadedJoint, MovedBody};
use crate::mechanism::herd::Herds;
use crate::mechanism::{Advance, Mechanism};
use crate::params::{ContactSolver, StepParams};
use crate::scene::BodyKind;
use crate::step::{Active, Halving, Part};
use crate::world::{Bodies, Joints, Seen, World};
use bounce::Bounces;
use entries::guess_joints;
use free::{Free, predict_all};
use look::Hit;
use members::Members;
use newton::Newton;
use pile::{Plan, PointImpulse};
use problem::{Entry, Law, Problem};
use rigid::Rigid;
use solve::{relaxation, sticking_spring};

const NONE: u32 = u32::MAX;
/// What contacts did in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContactReport {
    pub contacts: u32,
    pub iterations: u32,
    /// Largest residual as a velocity, m/s.
    pub residual: f64,
    pub penetration: f64,
    pub jammed: Option<(u32, u32)>,
    /// Two bodies of an island whose contacts were not solved well, and what is left, m/s.
    pub unsolved: Option<(u32, u32, f64)>,
    /// Two bodies of an island that the solver asked for refused.
    pub refused: Option<(u32, u32)>,
    /// Two bodies that touch with rolling friction that is not felt.
    pub rolls_freely: Option<(u32, u32)>,
}

/// Bodies and mechanisms that touch each other.
#[derive(Default)]
struct Island {
    mechanisms: Vec<u32>,
    free: Vec<u32>,
    manifolds: Vec<u32>,
    /// Numbers of those that were not seen where the step begins.
    unseen: std::ops::Range<u32>,
    /// Slots of all its bodies, and whether they sleep.
    bodies: Vec<u32>,
    asleep: bool,
    /// Its manifolds, with what the step makes of them, and those that were not seen where it begins.
    touching: Vec<Manifold>,
    /// Its bodies without joints.
    states: Vec<Free>,
    /// Of each of its mechanisms and bodies without joints: its first coordinate, or its first body if it is a pile, and
    /// whether a contact or particles push it.
    first: Vec<u32>,
    /// Bodies of its mechanisms, if it is a pile.
    jointed: usize,
    pushed: Vec<bool>,
    /// Of each of them, in a pile: whether something presses that pushed it in the last step.
    presses: Vec<bool>,
    /// How its mechanisms advanced, and what all of it did.
    advances: Vec<Advance>,
    report: ContactReport,
    outcome: Attempt,
    /// Impulses of contact points that are not in `touching`, because it was swept over or rests.
    impulses: Vec<PointImpulse>,
    /// What is met beyond its reach.
    hits: Vec<Hit>,
    bounces: Bounces,
    looker: Looker,
    /// What is to be done with it.
    plan: Plan,
    problem: Problem,
    newton: Newton,
    work: Rigid,
    sweeps: sweeps::Sweeps,
    quiet: quiet::Quiet,
    /// Mechanisms that are solved body by body, and their first coordinates.
    body_wise: Vec<(u32, u32)>,
    z: Vec<f64>,
    /// Of each contact: its rows, de Saxcé's μ|v_t| that its target takes off, and how much the way bends its gap at the
    /// end of the step away from what its velocity says, m.
    rows: Vec<[Row; 3]>,
    /// Rolling and spinning friction, and where its entries begin.
    rolls: Vec<rolling::Roll>,
    first_roll: usize,
    /// Joints of mechanisms that are solved body by body, and of each its mechanism, by its place, and its first row there.
    joints: Vec<Entry>,
    joint_rows: Vec<(u32, u32)>,
    slips: Vec<f64>,
    bends: Vec<f64>,
    /// Whether contacts are rigid: something here has joints.
    rigid: bool,
    /// Whether it is a pile that Newton's method is tried on, softly.
    calm: bool,
    /// Whether it is a pile of light bodies that are held tightly among heavy ones.
    tight: bool,
    /// Whether a solve of this step took many iterations.
    hard: bool,
    /// Whether the last solve met its tolerance, and whether the step was solved with the matrix of an earlier one.
    solved: bool,
    /// Where Newton's method left soft contacts: the entry that is farthest from its answer, and how far, m/s.
    left: (usize, f64),
    rested: bool,
    /// The fastest that meets, m/s.
    fastest: f64,
    /// Of each mechanism: iterations that closed its joints.
    closings: Vec<Option<u32>>,
    /// Those of its mechanisms that were advanced as members of a herd, by their numbers, and what the step made of their bodies
    /// and joints.
    herded: Vec<u32>,
    moved: Vec<MovedBody>,
    loaded: Vec<LoadedJoint>,
}

/// How an attempt to advance an island ended. What has not advanced is as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Attempt {
    #[default]
    Advanced,
    NeedsSmallerStep,
    /// It is a pile that Newton's method does not solve.
    NeedsSweeps,
    /// It is no pile.
    NeedsNewton,
}

impl ContactReport {
    /// Adds what an island did, but its iterations, which count for every attempt.
    fn add(&mut self, island: &ContactReport) {
        self.contacts += island.contacts;
        self.residual = self.residual.max(island.residual);
        self.penetration = self.penetration.max(island.penetration);
        self.jammed = self.jammed.or(island.jammed);
        self.unsolved = self.unsolved.or(island.unsolved);
        self.refused = self.refused.or(island.refused);
    }
}

impl Island {
    /// Leaves it for smaller steps.
    fn delay(&self, late: &mut Active) {
        self.mechanisms.iter().for_each(|&m| late.mechanisms[m as usize] = true);
        self.free.iter().for_each(|&k| late.free[k as usize] = true);
    }

    /// Slots of all bodies that move in it.
    fn slots<'a>(&'a self, herds: &'a Herds, free: &'a [u32]) -> impl Iterator<Item = u32> + Clone + 'a {
        let jointed = self.mechanisms.iter().flat_map(|&m| herds.bodies_of(m));
        jointed.copied().chain(self.free.iter().map(|&k| free[k as usize]))
    }

    fn body_count(&self, herds: &Herds) -> usize {
        self.mechanisms.iter().map(|&m| herds.bodies_of(m).len()).sum::<usize>() + self.free.len()
    }

    /// The lowest of them, by which the world remembers it.
    fn lowest_slot(&self, herds: &Herds, free: &[u32]) -> Option<u32> {
        self.slots(herds, free).min()
    }

    fn collect_bodies(&mut self, herds: &Herds, free: &[u32]) {
        let mut bodies = std::mem::take(&mut self.bodies);
        bodies.clear();
        bodies.extend(self.slots(herds, free));
        self.bodies = bodies;
    }
}

/// Working memory of contacts, and the islands of the present step.
#[derive(Default)]
pub(crate) struct Contacts {
    placed: Vec<PlacedBody>,
    /// By slot: the unit (mechanisms first, then free bodies), and the local index in it.
    unit: Vec<u32>,
    local: Vec<u32>,
    parent: Vec<u32>,
    island_of: Vec<u32>,
    #[allow(clippy::vec_box, reason = "they are lent out, and large")]
    islands: Vec<Box<Island>>,
    #[allow(clippy::vec_box, reason = "the same")]
    vacant: Vec<Box<Island>>,
    count: usize,
    mechanism_count: usize,
    /// By unit: its place among the mechanisms or the free bodies of its island, and whether particles push it.
    place: Vec<u32>,
    carried: Vec<bool>,
    /// By slot: speed that a body turned out to be given within the step, faster than its reach allows for.
    pushes: Vec<f64>,
    /// Units of other islands, or of none, that a thrown body meets.
    hit: Vec<u32>,
    solver: ContactSolver,
    advances: Vec<Advance>,
    /// By mechanism: whether it was advanced as a member of a herd.
    herded: Vec<bool>,
    spare: pile::Spare,
}

impl Contacts {
    /// Finds what touches within a step of `h`, and the islands of what is active; the rest stands still. `free` are the
    /// slots of bodies without joints; `part` tells whether it is a part of a step.
    pub fn find(
        &mut self,
        world: &mut World,
        herds: &Herds,
        free: &[u32],
        active: &Active,
        h: f64,
        part: Option<Part>,
    ) {
        self.count = 0;
        self.advances.clear();
        self.herded.resize(herds.mechanisms(), false);
        self.herded.iter_mut().zip(&active.mechanisms).for_each(|(herded, active)| *herded &= !active);
        let World { bodies, joints, collisions, gravity, graph_version, collides, .. } = world;
        if !*collides && !bodies.iter().any(|(_, b)| b.push_by_particles().is_some()) {
            return;
        }
        let slots = bodies.slots();
        // slots without a body keep what they had: nothing looks at them
        self.placed.resize(slots, PlacedBody::default());
        self.number_units(slots, herds, free, active);
        let stale = part.and_then(|part| part.moved.zip(Some(part.driven))).map(|(moved, driven)| {
            let jointed = (0..herds.mechanisms()).filter(|m| moved.mechanisms[*m]);
            let mut stale: Vec<u32> = jointed.flat_map(|m| herds.bodies_of(m as u32)).copied().collect();
            stale.extend(free.iter().zip(&moved.free).filter(|(_, moved)| **moved).map(|(slot, _)| *slot));
            stale.extend(driven.iter().map(|(slot, _)| *slot as u32));
            stale
        });
        let mut place = |slot: usize, b: &BodyState| {
            let unit = self.unit[slot];
            let (pushed, waits) = (self.pushes.get(slot).copied().unwrap_or(0.0), part.is_some() && unit == NONE);
            let gain = h * b.acceleration_beyond_gravity(*gravity);
            self.placed[slot] = PlacedBody { x: b.x, q: b.q, v: b.v, w: b.w, pushed, gain, waits };
            if let Some(carried) = self.carried.get_mut(unit as usize) {
                *carried |= b.push_by_particles().is_some();
            }
        };
        match &stale {
            None => bodies.iter().for_each(|(id, body)| place(id.slot(), body)),
            Some(slots) => {
                slots.iter().for_each(|&k| bodies.at(k as usize).into_iter().for_each(|body| place(k as usize, body)))
            }
        }
        if *collides {
            collisions.sync(*graph_version, bodies, joints);
            match part {
                Some(_) => collisions.update_part(&self.placed, stale.as_deref(), h, gravity.length()),
                None => collisions.update(&self.placed, h, gravity.length()),
            }
            let (first, manifolds) = collisions.present();
            self.join(manifolds);
            self.collect(manifolds, first, herds.mechanisms(), free.len());
        } else {
            self.collect(&[], 0, herds.mechanisms(), free.len());
        }
    }

    fn number_units(&mut self, slots: usize, herds: &Herds, free: &[u32], active: &Active) {
        let mechanisms = herds.mechanisms();
        self.mechanism_count = mechanisms;
        self.unit.clear();
        self.unit.resize(slots, NONE);
        self.local.clear();
        self.local.resize(slots, 0);
        for m in (0..mechanisms).filter(|m| active.mechanisms[*m]) {
            for (k, &slot) in herds.bodies_of(m as u32).iter().enumerate() {
                (self.unit[slot as usize], self.local[slot as usize]) = (m as u32, k as u32);
            }
        }
        for (k, &slot) in free.iter().enumerate().filter(|(k, _)| active.free[*k]) {
            self.unit[slot as usize] = (mechanisms + k) as u32;
        }
        self.place.clear();
        self.place.resize(mechanisms + free.len(), NONE);
        self.carried.clear();
        self.carried.resize(mechanisms + free.len(), false);
        self.parent.clear();
        self.parent.extend(0..(mechanisms + free.len()) as u32);
    }

    fn root(&mut self, mut k: u32) -> u32 {
        while self.parent[k as usize] != k {
            self.parent[k as usize] = self.parent[self.parent[k as usize] as usize];
            k = self.parent[k as usize];
        }
        k
    }

    fn join(&mut self, manifolds: &[Manifold]) {
        for m in manifolds {
            let (a, b) = (self.unit[m.a as usize], self.unit[m.b as usize]);
            if a != NONE && b != NONE {
                let (a, b) = (self.root(a), self.root(b));
                self.parent[a.max(b) as usize] = a.min(b);
            }
        }
    }

    /// Collects islands from contacts that are numbered from `first` on.
    fn collect(&mut self, manifolds: &[Manifold], first: usize, mechanisms: usize, free: usize) {
        self.island_of.clear();
        self.island_of.resize(mechanisms + free, NONE);
        for (k, m) in manifolds.iter().enumerate() {
            let units = [self.unit[m.a as usize], self.unit[m.b as usize]];
            let Some(unit) = units.into_iter().find(|&u| u != NONE) else { continue };
            let island = self.open_island(unit);
            self.islands[island].manifolds.push((first + k) as u32);
        }
        // what particles push moves as what touches does, even if it touches nothing
        for unit in 0..(mechanisms + free) as u32 {
            if self.carried[unit as usize] {
                self.open_island(unit);
            }
        }
        for unit in 0..(mechanisms + free) as u32 {
            let root = self.root(unit) as usize;
            let island = self.island_of[root];
            self.island_of[unit as usize] = island;
            if island != NONE {
                let island = &mut self.islands[island as usize];
                let (list, number) = match (unit as usize) < mechanisms {
                    true => (&mut island.mechanisms, unit),
                    false => (&mut island.free, unit - mechanisms as u32),
                };
                self.place[unit as usize] = list.len() as u32;
                list.push(number);
            }
        }
    }

    /// The island of a unit, made if there is none yet.
    fn open_island(&mut self, unit: u32) -> usize {
        let root = self.root(unit) as usize;
        if self.island_of[root] == NONE {
            self.island_of[root] = self.count as u32;
            if self.count == self.islands.len() {
                self.islands.push(Box::default());
            }
            let island = &mut self.islands[self.count];
            island.mechanisms.clear();
            island.free.clear();
            island.manifolds.clear();
            island.unseen = 0..0;
            island.states.clear();
            island.herded.clear();
            island.moved.clear();
            island.loaded.clear();
            island.asleep = false;
            self.count += 1;
        }
        self.island_of[root] as usize
    }

    /// An island to work on; an empty one stands for it until it is given back.
    fn lend(&mut self, k: usize) -> Box<Island> {
        let vacant = self.vacant.pop().unwrap_or_default();
        std::mem::replace(&mut self.islands[k], vacant)
    }

    fn give_back(&mut self, k: usize, island: Box<Island>) {
        self.vacant.push(std::mem::replace(&mut self.islands[k], island));
    }

    /// Whether mechanism `k` touches something or is pushed by particles.
    pub fn touches(&self, mechanism: usize) -> bool {
        self.count > 0 && self.island_of[mechanism] != NONE
    }

    /// Whether the `k`-th free body touches something or is pushed by particles.
    pub fn free_touches(&self, k: usize, mechanisms: usize) -> bool {
        self.count > 0 && self.island_of[mechanisms + k] != NONE
    }

    /// Advances every island in working memory, but those that need smaller steps: these are `late` if they may.
    /// It must have been planned ([`Contacts::plan`]), and the mechanisms gathered but those that islands gather themselves.
    pub fn advance(
        &mut self,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        herds: &Herds,
        free: &[u32],
        params: &StepParams,
        halving: Halving,
        late: &mut Active,
    ) -> ContactReport {
        let mut report = ContactReport::default();
        self.hit.clear();
        let (mut piles, mut others) = (Vec::new(), Vec::new());
        for (k, island) in self.islands[..self.count].iter().enumerate().filter(|(_, i)| !i.asleep) {
            match island.plan {
                Plan::Sweep => piles.push(k),
                Plan::Solve | Plan::Calm => others.push(k),
                Plan::Wait => island.delay(late),
            }
        }
        let more = self.advance_piles(&piles, true, world, mechanisms, herds, free, params, halving, late, &mut report);
        others.extend(more);
        others.sort_unstable();
        let piles = self.advance_others(&others, world, mechanisms, herds, free, params, halving, late, &mut report);
        let left =
            self.advance_piles(&piles, false, world, mechanisms, herds, free, params, halving, late, &mut report);
        debug_assert!(left.is_empty(), "what was a pile before Newton's method is one after it");
        if halving.is_possible() && world.collides {
            self.stop_runaways(&world.seen(), mechanisms, params.dt, late);
        }
        self.delay_hits(world, herds, free, late);
        self.tell(late, &mut report);
        report
    }

    /// How the mechanisms of islands advanced.
    pub fn advances(&self) -> impl Iterator<Item = &Advance> {
        self.advances.iter()
    }

    /// Advances islands by Newton's method, several at once; those that need a smaller step are late. Returns those that need
    /// sweeps.
    fn advance_others(
        &mut self,
        others: &[usize],
        world: &mut World,
        mechanisms: &mut [Mechanism],
        herds: &Herds,
        free: &[u32],
        params: &StepParams,
        halving: Halving,
        late: &mut Active,
        report: &mut ContactReport,
    ) -> Vec<usize> {
        let mut piles = Vec::new();
        if others.is_empty() {
            return piles;
        }
        let (seen, resting) = (world.seen(), &world.resting);
        self.work_on(others, mechanisms, herds, |contacts, island, members| {
            island.calm = island.plan == Plan::Calm && contacts.is_pile(island, &seen, members, herds, free, params.dt);
            (island.report, island.outcome) = (ContactReport::default(), Attempt::Advanced);
            island.rested = contacts.advance_quietly(island, &seen, resting, free, params);
            if !island.rested {
                island.outcome = contacts.advance_island(island, &seen, members, free, params, halving);
            }
        });
        for &k in others {
            let mut island = self.lend(k);
            report.iterations += island.report.iterations;
            self.take_hits(&mut island);
            self.take_manifolds(&mut island, world);
            match island.outcome {
                Attempt::Advanced => self.keep_matrix(&island, world, params.dt),
                Attempt::NeedsSmallerStep => island.delay(late),
                Attempt::NeedsSweeps | Attempt::NeedsNewton => piles.push(k),
            }
            if let Some(slot) = island.lowest_slot(herds, free).filter(|_| island.calm) {
                world.resting.note_calm(slot, island.outcome != Attempt::NeedsSweeps);
            }
            self.give_back(k, island);
        }
        piles
    }

    /// Advances an island; returns whether it did, or what it needs.
    fn advance_island(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        free: &[u32],
        params: &StepParams,
        halving: Halving,
    ) -> Attempt {
        let h = params.dt;
        let mut report = std::mem::take(&mut island.report);
        self.open(island, world, mechanisms, free, h, &mut report);
        self.bounce(island, world, mechanisms, h, solve::RIGID_TOLERANCE * island.fastest);
        mechanisms.list.iter_mut().for_each(|m| m.kick_in_contact(h));
        island.states.iter_mut().for_each(|state| state.kick_before_move(world.bodies, world.gravity, h));
        self.aim_contacts(island, world, mechanisms, h);
        self.add_bounded(island, mechanisms);
        self.add_rolling(island, world, mechanisms);
        island.problem.entries.extend_from_slice(&island.joints);
        guess_joints(island, mechanisms);
        self.guess(island, world, mechanisms);
        for look in 0.. {
            report.unsolved = None;
            self.solve(island, world, mechanisms, h, &mut report);
            island.report = report;
            if island.calm && look == 0 && !island.solved {
                mechanisms.list.iter_mut().for_each(|m| m.take_kick_back());
                return Attempt::NeedsSweeps;
            }
            if report.unsolved.is_some() && !island.solved {
                if halving.is_usual() {
                    return Attempt::NeedsSmallerStep;
                }
                self.sweep_instead(island, mechanisms, h, &mut report);
                island.report = report;
            }
            self.push_all(island, mechanisms, h);
            let closed = predict(island, mechanisms, params);
            // where a solve is hard already, another look is not worth it
            let last = look >= if island.hard { 1 } else { look::MOST_LOOKS };
            let deeper = match closed {
                true => self.look_again(island, world, mechanisms, h, !last),
                false => f64::INFINITY,
            };
            let enough = last || !closed || deeper <= look::TOLERANCE;
            let failed = !closed || last && deeper > look::too_deep(halving);
            if halving.is_possible() && (failed || enough && self.outruns_its_reach(island, world, mechanisms, h)) {
                return Attempt::NeedsSmallerStep;
            }
            let inexact = enough && mechanisms.list.iter().any(|m| m.answers_by_turns());
            let far_more = inexact && self.part_to_give(island, world, mechanisms, h).is_some();
            if far_more || enough && self.make_energy(island, world, mechanisms, h) {
                if halving.is_possible() {
                    return Attempt::NeedsSmallerStep;
                }
                self.stop_only(island, world, mechanisms, h, &mut report);
                island.report = report;
                predict(island, mechanisms, params);
                if let Some(part) = self.part_to_give(island, world, mechanisms, h) {
                    self.give_part(part, island, mechanisms, h);
                    predict(island, mechanisms, params);
                }
            }
            if enough {
                break;
            }
        }
        island.report.jammed = island.report.jammed.or(self.pressed_together(island));
        let Island { closings, pushed, states, advances, .. } = island;
        advances.clear();
        for ((mechanism, &iterations), &touched) in mechanisms.list.iter_mut().zip(&*closings).zip(&*pushed) {
            advances.push(mechanism.finish_contact(h, params, iterations, touched));
        }
        if halving.is_usual() && mechanisms.list.iter_mut().any(|m| m.has_gained_in_flight(h, halving.times)) {
            return Attempt::NeedsSmallerStep;
        }
        for (state, &touched) in states.iter_mut().zip(&pushed[closings.len()..]) {
            state.advance(world.bodies, world.gravity, h, touched);
        }
        Attempt::Advanced
    }

    /// Forgets what blows were found, and how mechanisms were advanced; a new step begins.
    pub fn begin(&mut self) {
        self.pushes.clear();
        self.herded.clear();
    }

    /// A body without joints of an island.
    #[inline]
    fn state<'a>(&self, island: &'a Island, unit: u32) -> &'a Free {
        &island.states[self.place[unit as usize] as usize]
    }

    #[inline]
    fn motion(&self, island: &Island, world: &Seen, mechanisms: &Members, slot: u32) -> Motion {
        let unit = self.unit[slot as usize];
        if unit == NONE {
            return motion_by_user(world.bodies, slot);
        }
        if (unit as usize) < self.mechanism_count {
            let (v, w) = mechanisms[unit].motion_of(self.local[slot as usize] as usize);
            return Motion { v, w };
        }
        self.state(island, unit).motion()
    }

    /// How the bodies of a manifold move.
    fn motions(&self, island: &Island, world: &Seen, mechanisms: &Members, manifold: &Manifold) -> [Motion; 2] {
        [manifold.a, manifold.b].map(|slot| self.motion(island, world, mechanisms, slot))
    }

    /// Gives the impulse of one point to both bodies.
    fn push_point(
        &self,
        island: &mut Island,
        mechanisms: &mut Members,
        slots: [u32; 2],
        rows: &[Row; 3],
        impulse: &[f64; 3],
    ) {
        for slot in slots {
            let unit = self.unit[slot as usize];
            if unit != NONE {
                let place = self.place_in(island, unit);
                island.pushed[place] |= impulse[0] > 0.0;
            }
        }
        self.push_rows(island, mechanisms, slots, rows, impulse);
    }

    /// Gives impulses along rows to both bodies.
    fn push_rows(&self, island: &mut Island, mechanisms: &mut Members, slots: [u32; 2], rows: &[Row], impulse: &[f64]) {
        for (slot, is_b) in slots.into_iter().zip([false, true]) {
            let unit = self.unit[slot as usize];
            if unit == NONE {
                continue;
            }
            for (row, &p) in rows.iter().zip(impulse) {
                if (unit as usize) < self.mechanism_count {
                    mechanisms[unit].push(row, p, self.local[slot as usize] as usize, is_b);
                } else {
                    island.states[self.place[unit as usize] as usize].push(row, p, is_b);
                }
            }
        }
    }

    /// Takes all impulses of contacts in an island back.
    fn take_back(&self, island: &mut Island, mechanisms: &mut Members) {
        mechanisms.list.iter_mut().for_each(|m| m.take_pushes_back());
        island.states.iter_mut().for_each(|state| state.u = state.kicked);
        self.forget_pushes(island);
    }

    /// No contact pushes anything any more.
    fn forget_pushes(&self, island: &mut Island) {
        let free = island.free.iter().map(|&k| self.mechanism_count + k as usize);
        let units = island.mechanisms.iter().map(|&m| m as usize).chain(free);
        island.pushed.clear();
        island.pushed.extend(units.map(|unit| self.carried[unit]));
    }

    /// Gives the impulses to bodies, mechanisms and contact points.
    fn push_all(&self, island: &mut Island, mechanisms: &mut Members, h: f64) {
        self.take_back(island, mechanisms);
        let contacts = island.rows.len();
        let mut touching = std::mem::take(&mut island.touching);
        let mut k = 0;
        for manifold in &mut touching {
            let (slots, soft) = ([manifold.a, manifold.b], manifold.material.softness.is_some());
            let relaxation = relaxation(manifold);
            for point in manifold.points_mut().iter_mut().take(contacts - k) {
                let (entry, rows) = (island.problem.entries[k], island.rows[k]);
                k += 1;
                self.push_point(island, mechanisms, slots, &rows, &entry.impulse);
                point.impulse_n = entry.impulse[0];
                let held = match island.rigid && !soft {
                    true => [entry.impulse[1], entry.impulse[2]],
                    false => {
                        let spring = sticking_spring(&entry, relaxation, h);
                        let m = [1, 2].map(|s| entry.start[s] - spring * entry.velocity[s]);
                        let Law::Cone(mu) = entry.law else { continue };
                        let (across, most) = (length(m[0], m[1]), mu * entry.impulse[0]);
                        let scale = if across > most { most / across } else { 1.0 };
                        m.map(|x| scale * x)
                    }
                };
                point.impulse_t = rows[1].lin * held[0] + rows[2].lin * held[1];
            }
        }
        island.touching = touching;
        self.push_rolling(island, mechanisms);
        let mut bounded = island.problem.entries[contacts..].iter();
        for mechanism in &mut mechanisms.list {
            for k in 0..mechanism.bounded_entries().count() {
                let Some(entry) = bounded.next() else { break };
                mechanism.push_bounded(k, entry.impulse[0]);
            }
        }
    }

    /// Gives the world what the step has made of an island's manifolds, and those that were not seen where it begins.
    fn take_manifolds(&self, island: &mut Island, world: &mut World) {
        let manifolds = &mut world.collisions.manifolds;
        let (changed, unseen) = island.touching.split_at(island.manifolds.len().min(island.touching.len()));
        for (&m, changed) in island.manifolds.iter().zip(changed) {
            for (point, changed) in manifolds[m as usize].points_mut().iter_mut().zip(changed.points()) {
                (point.impulse_n, point.impulse_t) = (changed.impulse_n, changed.impulse_t);
                point.blow = changed.blow;
            }
        }
        island.unseen = world.collisions.add_unseen(unseen);
        island.touching.clear();
        for p in island.impulses.drain(..) {
            p.give_to(&mut world.collisions.manifolds[p.manifold as usize]);
        }
    }

    /// Into how many parts piles were divided in the last step, at most.
    #[cfg(test)]
    pub fn parts_of_piles(&self) -> usize {
        self.spare.parts()
    }

    /// Whether a mechanism was advanced as a member of a herd: its new state is here, not in its own memory.
    pub fn is_herded(&self, mechanism: usize) -> bool {
        self.herded.get(mechanism).is_some_and(|herded| *herded)
    }

    /// Checks that the free bodies of islands and those of herds have stayed within the range of numbers; names the slot of one
    /// that has not.
    pub fn not_finite(&self, late: &Active) -> Option<u32> {
        let fine = |s: &Free| s.pose.x.is_finite() && s.pose.q.is_finite() && s.u.iter().all(|e| e.is_finite());
        let bad = |s: &&Free| !(self.is_late(s, late) || fine(s));
        let in_range = |m: &MovedBody| m.x.is_finite() && m.q.is_finite() && m.v.is_finite() && m.w.is_finite();
        let lost = |m: &&MovedBody| !(in_range(m) || late.mechanisms[self.unit[m.slot as usize] as usize]);
        let free = self.states().find(bad).map(|s| s.slot);
        free.or_else(|| self.islands[..self.count].iter().flat_map(|i| &i.moved).find(lost).map(|m| m.slot))
    }

    /// The free bodies of all islands.
    fn states(&self) -> impl Iterator<Item = &Free> {
        self.islands[..self.count].iter().filter(|island| !island.asleep).flat_map(|island| &island.states)
    }

    fn is_late(&self, state: &Free, late: &Active) -> bool {
        late.free[self.unit[state.slot as usize] as usize - self.mechanism_count]
    }

    /// Writes the free bodies and the members of herds of all islands back, but those that are late.
    pub fn scatter(&self, bodies: &mut Bodies, joints: &mut Joints, late: &Active) {
        for island in &self.islands[..self.count] {
            if island.mechanisms.first().is_some_and(|&m| late.mechanisms[m as usize]) {
                continue;
            }
            for m in &island.moved {
                let Some(body) = bodies.at_mut(m.slot as usize) else { continue };
                (body.x, body.q, body.v, body.w, body.lag) = (m.x, m.q, m.v, m.w, m.lag);
                body.memory = Accelerations { averaged: m.acceleration, last: m.acceleration };
            }
            for loaded in &island.loaded {
                let Some(joint) = joints.at_mut(loaded.slot as usize) else { continue };
                let memory = &mut joint.memory;
                memory.force[..3].copy_from_slice(&loaded.force);
                memory.mean_force[..3].copy_from_slice(&loaded.force);
                (memory.filled, memory.not_unique) = (0, false);
                if memory.swept.step != 0.0 {
                    memory.swept = Default::default();
                }
            }
        }
        for state in self.states().filter(|s| !self.is_late(s, late)) {
            let Some(body) = bodies.at_mut(state.slot as usize) else { continue };
            let Motion { v, w } = state.motion();
            (body.x, body.q, body.v, body.w) = (state.pose.x, state.pose.q, v, w);
            body.lag = state.lag;
        }
    }
}

/// The velocity of b against a along three rows.
fn contact_velocity([a, b]: &[Motion; 2], rows: &[Row; 3]) -> [f64; 3] {
    [0, 1, 2].map(|r| rows[r].velocity(a, b))
}

/// Finds where all bodies of an island go; returns whether all joints can be closed there.
fn predict(island: &mut Island, mechanisms: &mut Members, params: &StepParams) -> bool {
    island.closings.clear();
    island.closings.extend(mechanisms.list.iter_mut().map(|m| m.predict_contact(params.dt, params)));
    predict_all(&mut island.states, params.dt);
    island.closings.iter().all(Option::is_some)
}

/// The motion of a body that no unit moves.
fn motion_by_user(bodies: &Bodies, slot: u32) -> Motion {
    let body = bodies.at(slot as usize).filter(|b| b.kind == BodyKind::Kinematic);
    body.map_or(Motion::default(), |b| Motion { v: b.v, w: b.w })
}
