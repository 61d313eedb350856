//! Particles in a world: bodies stop them, carry them and feel them.
//!
//! Once a step, before the bodies move, particles are stepped among the shapes of the bodies as these move, with the
//! velocities of dynamic bodies as further unknowns (implicit.rs). Bodies that joints connect answer through their joints,
//! in the coordinates of the motions that these leave free, as they do to contacts. The impulses they exchange act on the
//! bodies at the start of the step that follows, joints and contacts included: a body that particles push takes its whole
//! kick before it moves, as one does that touches something, so that it goes where the particles expect it. Then attached
//! particles are put where their bodies have come to, and those that touch are brought out of the shapes.
//!
//! What a body does without particles must be guessed: that it goes on to accelerate as it did in the last step, when
//! particles pushed it by a known force. So a hook that contacts hold up is not taken for one that falls, and only the
//! change of the push, P − P_last, meets the body's inertia. Several systems that push one body do so one after the other,
//! each knowing what those before it changed.

use super::bond::{Bond, Bound, Cluster, Holding};
use super::implicit::{Attached, Surroundings};
use super::rider::{Lever, free_motions};
use super::solid::Solid;
use super::way::on_chord;
use super::{ForceId, Gravity, ParticleSystem, Saved};
use crate::collide::narrow::Place;
use crate::collide::parry::Bounds;
use crate::collide::shape::Material;
use crate::error::{SceneError, StepError};
use crate::handle::BodyId;
use crate::math::Placed;
use crate::mechanism::Mechanism;
use crate::params::Method;
use crate::scene::Combine;
use crate::world::World;
use glam::{DMat3, DQuat, DVec3};

/// A particle system of a world.
#[derive(Clone)]
pub(crate) struct SystemState {
    pub name: String,
    pub system: ParticleSystem,
    pub gravity: ForceId,
    pub anchors: Vec<Anchor>,
    pub collides: bool,
    pub friction: f64,
    pub restitution: f64,
    /// What is drawn between particles.
    pub lines: Vec<[u32; 2]>,
    pub triangles: Vec<[u32; 3]>,
    /// What it gave to bodies in the last step: slot, impulse, moment.
    pub given: Vec<Impulse>,
    /// What attached particles lost when they were put where their bodies are; these get it in the next step.
    pub owed: Vec<Impulse>,
}

/// An impulse on a body: slot, impulse, moment about the centre of mass.
pub(crate) type Impulse = (u32, DVec3, DVec3);

/// A particle fixed to a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub particle: usize,
    pub body: BodyId,
    /// In the principal frame at the centre of mass.
    pub local: DVec3,
}

impl Anchor {
    pub fn here(world: &World, system: &ParticleSystem, particle: usize, body: BodyId) -> Result<Anchor, SceneError> {
        let gone = || SceneError::new("body", "is gone");
        let state = world.bodies.get(body).ok_or_else(gone)?;
        system.check_not_driven(particle)?;
        let local = state.q.inverse() * (system.x[particle] - state.x);
        Ok(Anchor { particle, body, local })
    }
}

/// What a body feels from particles within a step, N and N m, and how it moved before that step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pushed {
    pub force: DVec3,
    pub torque: DVec3,
    pub v: DVec3,
    pub w: DVec3,
    pub span: f64,
}

impl Pushed {
    pub fn is_push(&self) -> bool {
        self.force != DVec3::ZERO || self.torque != DVec3::ZERO
    }
}

/// Coordinates of riders up to which more bodies ride because they touch one.
const MOST_HELD: usize = 72;
/// Accelerations beyond this, m/s² and rad/s², are blows and say nothing about the next step.
const FASTEST: f64 = 300.0;

/// What is needed to undo a push, and what it expects of the bodies.
pub(crate) struct Undo {
    systems: Vec<(Saved, Vec<Impulse>, Vec<Impulse>)>,
    bodies: Vec<(u32, Option<Pushed>)>,
    expected: Vec<Expected>,
    h: f64,
}

/// How a body is expected to move in the step, and what of particles resists if it moves otherwise: lever and matrix.
struct Expected {
    slot: u32,
    v: DVec3,
    w: DVec3,
    from: Placed,
    moved: Vec<(Lever, DMat3)>,
}

/// A velocity and an angular velocity.
type Twist = (DVec3, DVec3);

/// What a step has shown that must be taken again: what held the bodies, by slot how they moved, and by system what they
/// were given.
pub(crate) struct Learned {
    holding: Holding,
    motions: Vec<Option<Twist>>,
    given: Vec<Vec<Impulse>>,
}

/// A step is taken again if bodies have strained particles by more than this part of the energy of motion.
const MISSED: f64 = 1e-3;
/// Motion that counts as none, m/s.
const STILL: f64 = 1e-3;

impl Undo {
    /// Whether there are bodies that answer.
    pub fn expects_bodies(&self) -> bool {
        !self.expected.is_empty()
    }

    /// What is to be learned from a step in which bodies moved so much otherwise than expected that it must be taken again,
    /// and the energy, J, that they have given particles by that.
    pub fn learn(&self, world: &World) -> Option<(f64, Learned)> {
        let slots = self.expected.iter().map(|e| e.slot as usize + 1).max().unwrap_or(0);
        let mut motions = vec![None; slots];
        let (mut missed, mut moving) = (0.0, 0.0);
        for e in &self.expected {
            let body = world.bodies.at(e.slot as usize)?;
            let v = (body.x - e.from.x) / self.h;
            let w = DQuat::from_mat3(&(body.placed().r * e.from.r.transpose())).to_scaled_axis() / self.h;
            for (lever, matrix) in &e.moved {
                let off = v - e.v + lever.velocity(w - e.w);
                missed += 0.5 * off.dot(*matrix * off);
            }
            let spin = body.q.inverse() * w;
            moving += 0.5 * body.mass.mass * (v.length_squared() + STILL * STILL);
            moving += 0.5 * spin.dot(body.mass.moments * spin);
            motions[e.slot as usize] = Some((v, w));
        }
        let given = || world.particles.iter().map(|s| s.given.clone()).collect();
        let learned = |motions| Learned { holding: Holding::last(world), motions, given: given() };
        (missed > MISSED * moving).then(|| (missed, learned(motions)))
    }

    pub fn undo(self, world: &mut World) {
        for (state, (saved, given, owed)) in world.particles.iter_mut().zip(self.systems) {
            state.system.go_back(saved);
            (state.given, state.owed) = (given, owed);
        }
        for (slot, pushed) in self.bodies {
            if let Some(body) = world.bodies.at_mut(slot as usize) {
                body.pushed = pushed.map(Box::new);
            }
        }
    }
}

/// Steps all particle systems, and gives what they do to bodies to these. What an attempt at the same step has shown is
/// known in place of the last step.
pub(crate) fn push(
    world: &mut World,
    mechanisms: &mut [Mechanism],
    h: f64,
    learned: Option<&Learned>,
) -> Result<Option<Undo>, StepError> {
    if world.particles.is_empty() {
        return Ok(None);
    }
    let saved = |s: &SystemState| (s.system.save(), s.given.clone(), s.owed.clone());
    let systems = world.particles.iter().map(saved).collect();
    let mut undo = Undo { systems, bodies: Vec::new(), expected: Vec::new(), h };
    for (slot, body) in world.bodies.iter().filter(|(_, b)| b.is_dynamic()) {
        undo.bodies.push((slot.slot() as u32, body.pushed.as_deref().copied()));
    }
    let mut systems = std::mem::take(&mut world.particles);
    let of_last = if learned.is_none() { Some(Holding::last(world)) } else { None };
    let holding = learned.map(|l| &l.holding).or(of_last.as_ref());
    let mut answers = Answers::new(world, mechanisms, h);
    let mut failed = None;
    for (number, state) in systems.iter_mut().enumerate() {
        answers.holding = holding;
        answers.learned = learned.map(|l| (&l.motions[..], &l.given[number][..]));
        if let Err(e) = step_system(world, state, &mut answers, &mut undo.expected) {
            let path = format!("particles \"{}\": {}", state.name, e.path);
            failed = Some(StepError::Particles(SceneError { path, ..e }));
            break;
        }
    }
    world.particles = systems;
    if let Some(error) = failed {
        undo.undo(world);
        return Err(error);
    }
    // the memory of every body that may be touched: what it felt and how it moved before
    for (_, body) in world.bodies.iter_mut().filter(|(_, b)| b.is_dynamic()) {
        body.pushed = Some(Box::new(Pushed { v: body.v, w: body.w, span: h, ..Pushed::default() }));
    }
    for &(slot, linear, angular) in world.particles.iter().flat_map(|s| &s.given) {
        let Some(body) = world.bodies.at_mut(slot as usize) else { continue };
        if let Some(p) = &mut body.pushed {
            p.force += linear / h;
            p.torque += angular / h;
            // what hangs on particles does not sleep
            if p.is_push() {
                body.wake();
            }
        }
    }
    Ok(Some(undo))
}

/// How bodies answer to particles in this step, found as it is asked for.
struct Answers<'a> {
    mechanisms: &'a mut [Mechanism],
    /// By slot: mechanism and place in it.
    place: Vec<Option<(u32, u32)>>,
    /// By mechanism, once it has been asked.
    opened: Vec<Option<Opened>>,
    /// By mechanism, and by slot of bodies alone: changes of the coordinates by systems stepped before.
    changes: Vec<Vec<f64>>,
    alone: Vec<Vec<f64>>,
    /// What holds bodies.
    holding: Option<&'a Holding>,
    /// By slot how bodies moved in an attempt at this step, and what the present system gave them in it.
    learned: Option<(&'a [Option<Twist>], &'a [Impulse])>,
    h: f64,
}

/// How a mechanism answers.
#[derive(Clone)]
enum Opened {
    /// Through its joints; accelerations of its bodies under the loads.
    Jointed(Vec<(DVec3, DVec3)>),
    /// Too many motions for a basis: its bodies answer as if they were alone, which is more than they do, so that what is left
    /// for the next step dies away.
    BodyWise,
}

impl<'a> Answers<'a> {
    fn new(world: &World, mechanisms: &'a mut [Mechanism], h: f64) -> Answers<'a> {
        let slots = world.bodies.iter().map(|(id, _)| id.slot() + 1).max().unwrap_or(0);
        let mut place = vec![None; slots];
        for (m, mechanism) in mechanisms.iter().enumerate() {
            for (k, &slot) in mechanism.movable_bodies().iter().enumerate() {
                place[slot as usize] = Some((m as u32, k as u32));
            }
        }
        let count = mechanisms.len();
        Answers {
            mechanisms,
            place,
            opened: vec![None; count],
            changes: vec![Vec::new(); count],
            alone: vec![Vec::new(); slots],
            holding: None,
            learned: None,
            h,
        }
    }

    /// The mechanism of a body that answers through its joints, and the body's place in it.
    fn jointed(&mut self, world: &World, slot: u32) -> Option<(usize, usize)> {
        let (m, k) = self.place[slot as usize].map(|(m, k)| (m as usize, k as usize))?;
        if self.opened[m].is_none() {
            let mechanism = &mut self.mechanisms[m];
            mechanism.gather(&world.bodies, &world.joints, world.gravity);
            // whatever method the mechanism is stepped by, a basis of its motions is that of the direct one
            mechanism.method = Method::Direct;
            mechanism.begin_contact(self.h);
            self.opened[m] = Some(match mechanism.is_body_wise() {
                true => Opened::BodyWise,
                false => {
                    let count = mechanism.free_motions();
                    self.changes[m].resize(count, 0.0);
                    Opened::Jointed(mechanism.accelerations_by_loads())
                }
            });
        }
        matches!(self.opened[m], Some(Opened::Jointed(_))).then_some((m, k))
    }

    /// Adds a body to the riders of a system.
    fn ride(&mut self, world: &World, around: &mut Surroundings, units: &mut Units, slot: u32, state: &SystemState) {
        let Some(body) = world.bodies.at(slot as usize).filter(|b| b.is_dynamic()) else { return };
        if units.riders.contains(&slot) {
            return;
        }
        let of = |list: &[Impulse]| {
            let own = list.iter().filter(|g| g.0 == slot);
            own.fold((DVec3::ZERO, DVec3::ZERO), |sum, g| (sum.0 + g.1, sum.1 + g.2))
        };
        let tried = self.learned.and_then(|(motions, given)| Some((*motions.get(slot as usize)?.as_ref()?, of(given))));
        let free = world.gravity * body.gravity_scale + body.force / body.mass.mass;
        let (key, motions, free, before) = match self.jointed(world, slot) {
            Some((m, k)) => {
                let falls = match &self.opened[m] {
                    Some(Opened::Jointed(accelerations)) => accelerations[k],
                    _ => (free, DVec3::ZERO),
                };
                (Key::Jointed(m), self.mechanisms[m].free_motions_of(k), falls, &self.changes[m])
            }
            None => {
                let axes = DMat3::from_quat(body.q);
                let motions = free_motions(body.mass.mass, axes, body.mass.moments);
                (Key::Alone(slot), motions, (free, DVec3::ZERO), &self.alone[slot as usize])
            }
        };
        let ahead = 0.5 * self.h + body.lag;
        let known = body.pushed.as_ref().map(|p| ((body.v - p.v) / p.span, (body.w - p.w) / p.span));
        let smooth = known.filter(|(a, b)| a.length() < FASTEST && b.length() < FASTEST);
        let (a, b) = smooth.unwrap_or(free);
        let guess = (body.v + a * ahead, body.w + b * ahead);
        let before_last = if smooth.is_some() { of(&state.given) } else { (DVec3::ZERO, DVec3::ZERO) };
        let ((mut v, mut w), mut last) = tried.unwrap_or((guess, before_last));
        // what it is still owed comes whatever particles do now
        let owed = of(&state.owed);
        (last.0, last.1) = (last.0 - owed.0, last.1 - owed.1);
        for ((lin, ang), c) in motions.iter().zip(before) {
            v += *lin * *c;
            w += *ang * *c;
        }
        let unit = match units.keys.iter().position(|k| *k == key) {
            Some(unit) => unit,
            None => {
                units.keys.push(key);
                around.riders.add_unit(motions.len())
            }
        };
        around.riders.moving += body.kinetic_energy() + 0.5 * body.mass.mass * STILL * STILL;
        around.riders.add(unit, motions, (v, w), last);
        units.riders.push(slot);
    }

    /// Remembers how far the units of a system have changed.
    fn remember(&mut self, around: &Surroundings, units: &Units) {
        for (key, bound) in units.keys.iter().zip(&units.bound) {
            let changes = match *key {
                Key::Jointed(m) => &mut self.changes[m],
                Key::Alone(slot) => &mut self.alone[slot as usize],
            };
            let change = bound.unfold(&around.riders.units[bound.unit].z);
            changes.resize(change.len(), 0.0);
            changes.iter_mut().zip(&change).for_each(|(c, z)| *c += z);
        }
    }

    /// Lets bodies that riders touch or are held by ride as well, and takes what is held out of their coordinates.
    fn hold(&mut self, world: &World, around: &mut Surroundings, units: &mut Units, state: &SystemState) {
        let Some(holding) = self.holding.filter(|_| !units.riders.is_empty()) else {
            (units.bound, units.clusters) = around.riders.bind(&[]);
            return;
        };
        units.endures.resize(holding.touching.len(), (true, true));
        let is_dynamic = |slot: u32| world.bodies.at(slot as usize).is_some_and(|b| b.is_dynamic());
        loop {
            let before = units.riders.len();
            for t in &holding.touching {
                let rides = [t.a, t.b].map(|slot| units.riders.contains(&slot));
                if rides[0] != rides[1] && around.riders.size < MOST_HELD {
                    let other = if rides[0] { t.b } else { t.a };
                    self.ride(world, around, units, other, state);
                }
            }
            if units.riders.len() == before {
                break;
            }
        }
        let rider = |units: &Units, slot: u32| units.riders.iter().position(|r| *r == slot);
        let mut bonds: Vec<Bond> = Vec::new();
        for (number, t) in holding.touching.iter().enumerate() {
            let (holds, sticks) = units.endures[number];
            let ends = [(t.a, -1.0), (t.b, 1.0)];
            // what does not ride though it could is beyond what can be looked at
            if !holds
                || !ends.iter().any(|e| rider(units, e.0).is_some())
                || ends.iter().any(|e| is_dynamic(e.0) && rider(units, e.0).is_none())
            {
                continue;
            }
            for direction in &t.directions()[..if t.sticks && sticks { 3 } else { 1 }] {
                let part = |(slot, sign): (u32, f64)| {
                    let center = world.bodies.at(slot as usize)?.x;
                    Some((rider(units, slot)?, *direction * sign, (t.point - center).cross(*direction) * sign))
                };
                // where it is not known how they will move, they stay together
                let given = |(slot, sign): (u32, f64)| {
                    let body = world.bodies.at(slot as usize).filter(|b| !b.is_dynamic())?;
                    Some(sign * direction.dot(body.v + body.w.cross(t.point - body.x)))
                };
                let others: f64 = ends.into_iter().filter_map(given).sum();
                let rate = self.learned.is_none().then_some(-others);
                bonds.push(Bond { parts: ends.into_iter().filter_map(part).collect(), rate });
                units.contacts.push(number);
            }
        }
        for &(id, k) in &holding.driven {
            let Some(joint) = world.joints.get(id) else { continue };
            let slots = [joint.a, joint.b].map(|id| id.map(|id| id.slot() as u32).filter(|s| is_dynamic(*s)));
            // a mechanism that answers through its joints, of which some body rides
            let jointed = |slot: u32| {
                self.place[slot as usize].filter(|(m, _)| matches!(self.opened[*m as usize], Some(Opened::Jointed(_))))
            };
            let Some(of) = slots.iter().flatten().find_map(|&s| jointed(s)) else { continue };
            if !units.keys.contains(&Key::Jointed(of.0 as usize)) {
                continue;
            }
            slots.iter().flatten().for_each(|&slot| self.ride(world, around, units, slot, state));
            let (a, b) = world.placed(joint);
            let row = joint.model.coordinates[k].1.row(&joint.model, &a, &b);
            let parts = [(slots[0], -row.lin, row.ang_a), (slots[1], row.lin, row.ang_b)];
            let parts = parts.into_iter().filter_map(|(slot, lin, ang)| Some((rider(units, slot?)?, lin, ang)));
            bonds.push(Bond { parts: parts.collect(), rate: None });
        }
        (units.bound, units.clusters) = around.riders.bind(&bonds);
    }

    /// Notes contacts that would not endure what particles have been found to do; returns whether there are such.
    fn has_overstrained(&self, around: &Surroundings, units: &mut Units) -> bool {
        let Some(holding) = self.holding else { return false };
        let mut more = vec![(0, [0.0; 3]); holding.touching.len()];
        for (bond, impulse) in units.clusters.iter().flat_map(|c| c.more(&around.riders)) {
            // those of motors come after those of contacts
            if let Some(&contact) = units.contacts.get(bond) {
                let (known, parts) = &mut more[contact];
                parts[*known] = impulse;
                *known += 1;
            }
        }
        let mut overstrained = false;
        for (number, (known, more)) in more.into_iter().enumerate().filter(|(_, m)| m.0 > 0) {
            let (holds, sticks) = holding.touching[number].endures(more);
            overstrained |= !holds || known == 3 && !sticks;
            units.endures[number] = (holds, sticks || known == 1 && units.endures[number].1);
        }
        overstrained
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Jointed(usize),
    Alone(u32),
}

/// Which bodies ride in a system, and what its units are.
#[derive(Default)]
struct Units {
    riders: Vec<u32>,
    keys: Vec<Key>,
    /// By key where its coordinates are once what is held has been taken out.
    bound: Vec<Bound>,
    clusters: Vec<Cluster>,
    /// By bond the contact that it belongs to.
    contacts: Vec<usize>,
    /// By contact of the last step: whether it is taken to hold and to stick.
    endures: Vec<(bool, bool)>,
}

/// What a system meets in this step.
fn surroundings(world: &World, state: &SystemState, answers: &mut Answers, units: &mut Units) -> Surroundings {
    let h = answers.h;
    let mut around = Surroundings::default();
    if state.collides {
        let reach = state.system.swept_bounds(h);
        let own = Material {
            friction: (state.friction, Combine::GeometricMean),
            restitution: (state.restitution, Combine::Max),
            rolling: 0.0,
            spinning: 0.0,
            softness: None,
        };
        for (id, body) in world.bodies.iter() {
            let placed = body.placed();
            let slot = id.slot() as u32;
            for (number, c) in body.colliders.iter().enumerate().filter(|(_, c)| !c.sensor) {
                let place = Place { x: placed.x + placed.r * c.position, r: placed.r * c.turn };
                let (v, w) = (body.v, body.w);
                let mut solid = Solid::new(c.form.clone(), place, body.x, v, w);
                if !solid.swept(h, 0.05).overlaps(&reach) {
                    continue;
                }
                let touch = c.material.with(&own);
                solid = solid.material(touch.friction, touch.restitution);
                answers.ride(world, &mut around, units, slot, state);
                solid.rider = units.riders.iter().position(|r| *r == slot);
                solid.key = slot << 12 | (number as u32).min(4095);
                around.solids.push(solid);
            }
        }
    }
    for anchor in &state.anchors {
        let Some(body) = world.bodies.get(anchor.body) else { continue };
        let slot = anchor.body.slot() as u32;
        answers.ride(world, &mut around, units, slot, state);
        let rider = units.riders.iter().position(|r| *r == slot);
        let lever = body.q * anchor.local;
        let moving = match rider {
            Some(k) => around.riders.point(k, Lever::at(lever)),
            None => body.v + body.w.cross(on_chord(lever, body.w * h)),
        };
        let place = (body.x + lever - state.system.x[anchor.particle]) / h;
        let (particle, velocity) = (anchor.particle, moving + place);
        around.attached.push(Attached { particle, rider, lever, place, velocity });
    }
    answers.hold(world, &mut around, units, state);
    around
}

/// Times that a system is stepped to find out which contacts between bodies endure what it does.
const MOST_TRIALS: usize = 4;

/// Steps one system and notes the impulses it gives to bodies, and how it expects these to move.
fn step_system(
    world: &World,
    state: &mut SystemState,
    answers: &mut Answers,
    expected: &mut Vec<Expected>,
) -> Result<(), SceneError> {
    let h = answers.h;
    state.system.set_force(state.gravity, Gravity(world.gravity))?;
    let mut units = Units::default();
    let mut around = surroundings(world, state, answers, &mut units);
    for trial in 1.. {
        let before = (!units.contacts.is_empty() && trial < MOST_TRIALS).then(|| state.system.save());
        state.system.step_among(h, &mut around)?;
        let Some(before) = before.filter(|_| answers.has_overstrained(&around, &mut units)) else { break };
        state.system.go_back(before);
        units = Units { endures: units.endures, ..Units::default() };
        around = surroundings(world, state, answers, &mut units);
    }
    answers.remember(&around, &units);
    for (k, (&slot, rider)) in units.riders.iter().zip(&around.riders.bodies).enumerate() {
        if state.anchors.is_empty() {
            break;
        }
        let Some(body) = world.bodies.at(slot as usize) else { continue };
        let moved = around.moved.iter().filter(|m| m.0 == k).map(|m| (m.1, m.2)).collect();
        // the last system knows what those before it have changed
        expected.iter_mut().filter(|e| e.slot == slot).for_each(|e| (e.v, e.w) = (rider.v, rider.w));
        expected.push(Expected { slot, v: rider.v, w: rider.w, from: body.placed(), moved });
    }
    state.given.clear();
    state.given.extend(units.riders.iter().zip(&around.riders.bodies).map(|(slot, r)| (*slot, r.impulse, r.moment)));
    for owed in state.owed.drain(..) {
        if let Some(given) = state.given.iter_mut().find(|g| g.0 == owed.0) {
            given.1 += owed.1;
            given.2 += owed.2;
        }
    }
    Ok(())
}

/// After the bodies have moved: attached particles are where their bodies are, and none is inside a shape. If the bodies
/// could not be moved, neither have the particles.
pub(crate) fn settle(world: &mut World, pushed: Option<Undo>, moved: bool, h: f64) {
    let Some(pushed) = pushed else { return };
    if !moved {
        return pushed.undo(world);
    }
    let mut systems = std::mem::take(&mut world.particles);
    for state in &mut systems {
        state.anchors.retain(|a| world.bodies.get(a.body).is_some());
        for anchor in &state.anchors {
            let Some(body) = world.bodies.get(anchor.body) else { continue };
            let lever = body.q * anchor.local;
            let (before, after) = (state.system.v[anchor.particle], body.v + body.w.cross(lever));
            if body.is_dynamic() {
                let lost = (before - after) * state.system.mass[anchor.particle];
                state.owed.push((anchor.body.slot() as u32, lost, lever.cross(lost)));
            }
            state.system.x[anchor.particle] = body.x + lever;
            state.system.v[anchor.particle] = after;
        }
        if !state.collides {
            continue;
        }
        let reach = state.system.swept_bounds(h);
        for (_, body) in world.bodies.iter() {
            let placed: Placed = body.placed();
            for c in body.colliders.iter().filter(|c| !c.sensor) {
                let place = Place { x: placed.x + placed.r * c.position, r: placed.r * c.turn };
                let solid = Solid::new(c.form.clone(), place, body.x, body.v, body.w);
                if solid.swept(0.0, 0.0).overlaps(&reach) {
                    state.system.bring_out(&solid, &state.anchors);
                }
            }
        }
    }
    world.particles = systems;
}

impl ParticleSystem {
    /// Box around all particles and where they are going.
    pub(crate) fn swept_bounds(&self, h: f64) -> Bounds {
        let points = self.x.iter().zip(&self.v).flat_map(|(x, v)| [*x, *x + *v * h]);
        Bounds::of(points).grown(self.radius + 0.01)
    }

    /// Moves particles that are within a solid to its surface.
    fn bring_out(&mut self, solid: &Solid, anchors: &[Anchor]) {
        let bounds = solid.swept(0.0, self.radius);
        for i in 0..self.x.len() {
            let p = self.x[i];
            if self.w[i] == 0.0 || !bounds.overlaps(&Bounds { low: p, high: p }) {
                continue;
            }
            if let Some((d, n)) = solid.distance(p, self.radius)
                && d < self.radius
                && !anchors.iter().any(|a| a.particle == i)
            {
                self.x[i] = p + n * (self.radius - d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Geometry, Particles, Rope, Scene, WORLD};
    use crate::{Scratch, StepParams, step};

    #[test]
    fn a_push_that_bodies_do_not_follow_is_undone_to_the_bit() {
        let mut scene = Scene::new("load");
        scene.body(Body::new("load").at([0.0, 0.0, -1.0]).with_mass(1.0).shape(Geometry::Sphere { radius: 0.1 }));
        let rope = Rope::new([0.0; 3], [0.0, 0.0, -1.0], 5, 0.1, 1e4).between(WORLD, "load");
        scene.particles(Particles { ropes: vec![rope], ..Particles::new("rope") });
        let mut world = World::build(&scene).unwrap();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
        step(&mut world, &mut scratch, &params).unwrap();
        let state = |w: &World| {
            let body = w.bodies.at(0).unwrap();
            (w.state_hash(), body.pushed.clone(), w.particles[0].given.clone(), w.particles[0].system.time())
        };
        let before = state(&world);
        let undo = push(&mut world, scratch.mechanisms_mut(), params.dt, None).unwrap();
        assert_ne!(state(&world), before);
        settle(&mut world, undo, false, params.dt);
        assert_eq!(state(&world), before);
    }
}
