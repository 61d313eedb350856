//! Which islands are piles, and their step, each by itself while its memory is near (docs/method.md, Piles).

use super::Frame;
use super::task::Tasks;
use crate::collide::Manifold;
use crate::contact::free::Free;
use crate::contact::members::Members;
use crate::contact::{Attempt, ContactReport, Contacts, Island};
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use crate::parallel::{MANY, for_each};
use crate::params::{ContactSolver, Method, StepParams};
use crate::scene::BodyKind;
use crate::step::{Active, Halving};
use crate::world::{Bodies, Seen, World};
use glam::DVec3;

/// Units and freedoms from which on things with joints are a pile.
const PILE_UNITS: usize = 3;
const PILE_FREEDOMS: usize = 50;
/// The same for two of them whose bodies weigh about the same, the heaviest by the lightest at most: sweeps converge fast there, while
/// Newton's method takes a hundred iterations for two rings that fall on each other.
const PAIR_FREEDOMS: usize = 30;
const PAIR_RATIO: f64 = 10.0;
/// Masses of bodies in one pile, the heaviest by the lightest at most, where bodies have fewer freedoms than this each.
const MOST_RATIO: f64 = 100.0;
const TIGHT: usize = 2;
/// Freedoms from which on they are one whatever the units.
const LARGE: usize = 200;

/// Bodies up to which a pile can be calm, and how fast they may be then, m/s: many are tried only where they hardly move, because
/// an attempt that fails costs a sweep for each of its iterations.
const CALM: [(usize, f64); 2] = [(60, 0.2), (200, 0.02)];

/// What is to be done with an island.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::contact) enum Plan {
    /// Newton's method.
    #[default]
    Solve,
    /// Newton's method, softly, if it is a pile: sweeps would rock it.
    Calm,
    /// Sweeps, if it is a pile; its mechanisms are gathered when it is its turn.
    Sweep,
    /// Smaller steps, as all of its last ones were.
    Wait,
}

/// What is in an island, as far as it tells whether that is a pile.
#[derive(Clone, Copy)]
pub(super) struct Census {
    units: usize,
    bodies: usize,
    freedoms: usize,
    lightest: f64,
    heaviest: f64,
    /// Whether there are mechanisms of so few freedoms that what pushes a body moves all of them.
    pub machines: bool,
}

impl Default for Census {
    fn default() -> Self {
        Census { units: 0, bodies: 0, freedoms: 0, lightest: f64::INFINITY, heaviest: 0.0, machines: false }
    }
}

impl Census {
    /// Adds a mechanism or a body without joints.
    pub fn add_bodies(&mut self, slots: &[u32], freedoms: usize, world: &Seen) {
        self.units += 1;
        self.bodies += slots.len();
        self.freedoms += freedoms;
        for &slot in slots {
            let mass = world.bodies.at(slot as usize).map_or(1.0, |b| b.mass.mass);
            (self.lightest, self.heaviest) = (self.lightest.min(mass), self.heaviest.max(mass));
        }
    }

    /// Whether light bodies are held tightly: these feel what they bear, not what they weigh.
    pub fn is_tight(&self) -> bool {
        self.freedoms < TIGHT * self.bodies && self.heaviest > MOST_RATIO * self.lightest
    }

    pub fn is_pile(&self) -> bool {
        let many = self.units >= PILE_UNITS && self.freedoms > PILE_FREEDOMS || self.freedoms > LARGE;
        let are_alike = self.heaviest <= PAIR_RATIO * self.lightest;
        let is_pair = self.units == 2 && self.freedoms > PAIR_FREEDOMS && are_alike;
        (many || is_pair) && !self.machines
    }
}

impl Contacts {
    /// Plans what is done with each island.
    pub fn plan(
        &mut self,
        world: &mut World,
        mechanisms: &[Mechanism],
        herds: &Herds,
        free: &[u32],
        params: &StepParams,
        halving: Halving,
    ) {
        self.solver = params.contact;
        for k in 0..self.count {
            let island = &self.islands[k];
            let plan = if island.asleep || !self.may_be_pile(island, &world.seen(), mechanisms, herds, params) {
                Plan::Solve
            } else if !params.shock_propagation && self.is_calm(island, world, herds, free) {
                Plan::Calm
            } else {
                let lowest = island.lowest_slot(herds, free);
                let hurries = |slot| halving.is_possible() && world.resting.hurries(slot, halving.times);
                match lowest.is_some_and(hurries) {
                    true => Plan::Wait,
                    false => Plan::Sweep,
                }
            };
            self.islands[k].plan = plan;
        }
    }

    /// Whether a mechanism is gathered by its island, when it is that one's turn.
    pub fn gathers(&self, mechanism: usize) -> bool {
        self.touches(mechanism) && self.islands[self.island_of[mechanism] as usize].plan == Plan::Sweep
    }

    /// Whether an island may be a pile, by what is known before its mechanisms are gathered.
    fn may_be_pile(
        &self,
        island: &Island,
        world: &Seen,
        mechanisms: &[Mechanism],
        herds: &Herds,
        params: &StepParams,
    ) -> bool {
        let alone = island.mechanisms.is_empty() && !params.shock_propagation;
        if alone || 6 * island.body_count(herds) <= PILE_FREEDOMS || self.solver != ContactSolver::Newton {
            return false;
        }
        let jointed = |m: &u32| {
            let direct = params.method == Method::Direct && !self.carried[*m as usize];
            direct && (herds.of(*m).is_some() || mechanisms[*m as usize].can_pile())
        };
        let free = |k: &u32| !self.carried[self.mechanism_count + *k as usize];
        let plain = |m: &u32| is_plain(world, *m, params.dt);
        island.mechanisms.iter().all(jointed) && island.free.iter().all(free) && island.manifolds.iter().all(plain)
    }

    /// Whether an island that may be a pile is so many things with joints that touch each other that they are swept over: what
    /// they do while they tumble changes from step to step, and Newton's method would start anew in each. Shocks are propagated
    /// in sweeps only, so that things without joints are swept over as well where this is asked for.
    /// Its mechanisms must have been gathered; they begin their step in contact.
    pub(in crate::contact) fn is_pile(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        herds: &Herds,
        free: &[u32],
        h: f64,
    ) -> bool {
        let many = island.body_count(herds) > MANY;
        let mechanisms = &mut mechanisms.list;
        let mut census = Census::default();
        for &k in &island.free {
            census.add_bodies(&[free[k as usize]], 6, world);
        }
        for_each(mechanisms, many, |_, mechanism| mechanism.begin_contact(h));
        for mechanism in mechanisms.iter() {
            census.add_bodies(mechanism.movable_bodies(), mechanism.count_freedoms(), world);
            census.machines |= mechanism.is_machine();
        }
        island.tight = census.is_tight();
        census.is_pile()
    }

    /// Whether an island is so small and slow that Newton's method is worth a try: it brings to rest what sweeps rock.
    fn is_calm(&self, island: &Island, world: &mut World, herds: &Herds, free: &[u32]) -> bool {
        let (mut slots, bodies) = (island.slots(herds, free), island.body_count(herds));
        let Some((_, speed)) = CALM.iter().find(|(most, _)| bodies <= *most) else { return false };
        let slow = |slot: u32| self.placed[slot as usize].v.length() < *speed;
        slots.all(slow) && island.lowest_slot(herds, free).is_some_and(|slot| !world.resting.is_restless(slot))
    }

    /// Advances islands that may be piles, several at once; those that need a smaller step are left and are `late`. Returns
    /// those that are no piles, their mechanisms gathered. `fresh`: mechanisms are not gathered yet.
    pub(in crate::contact) fn advance_piles(
        &mut self,
        piles: &[usize],
        fresh: bool,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        herds: &Herds,
        free: &[u32],
        params: &StepParams,
        halving: Halving,
        late: &mut Active,
        report: &mut ContactReport,
    ) -> Vec<usize> {
        let mut others = Vec::new();
        if piles.is_empty() {
            return others;
        }
        let tasks = Tasks { world: world.seen(), free, herds, params, fresh, halving };
        self.work_on(piles, mechanisms, herds, |contacts, island, members| tasks.run(contacts, island, members));
        for &k in piles {
            let mut island = self.lend(k);
            report.iterations += island.report.iterations;
            self.take_hits(&mut island);
            match island.outcome {
                Attempt::NeedsNewton | Attempt::NeedsSweeps => others.push(k),
                Attempt::NeedsSmallerStep => island.delay(late),
                Attempt::Advanced => {
                    self.take_manifolds(&mut island, world);
                    island.herded.iter().for_each(|&m| self.herded[m as usize] = true);
                    if let Some(slot) = island.lowest_slot(herds, free) {
                        world.resting.note_pace(slot, halving.times);
                    }
                }
            }
            self.give_back(k, island);
        }
        others
    }
}

/// Whether two bodies touch in the way that piles know: without rolling friction and softness, and without a bounce to come.
fn is_plain(world: &Seen, manifold: u32, h: f64) -> bool {
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
