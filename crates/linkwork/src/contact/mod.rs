//! Contact in the step: islands of bodies and mechanisms that touch, and their common solve.
//!
//! An island is kicked, its contacts are solved for the velocities with which it moves, and it moves (docs/method.md,
//! Contact). Bodies without joints are solved with very stiff contacts that take long to relax, which brings stacks to rest; what
//! has joints is solved rigidly. Both are Newton's method in the coordinates of free motions.

mod bounce;
pub mod collision;
mod cone;
pub mod lcp;
mod listing;
mod newton;
mod problem;
mod rigid;

pub(crate) use listing::Touch;
pub use listing::{Contact, ContactEvent};

use crate::collide::{ContactPoint, Manifold, PlacedBody};
use crate::joint::Motion;
use crate::joint::rows::Row;
use crate::math::{Placed, rotation};
use crate::mechanism::{Advance, Mechanism};
use crate::params::StepParams;
use crate::scene::BodyKind;
use crate::world::{Bodies, World};
use bounce::Bounces;
use glam::DVec3;
use newton::Newton;
use problem::{Entry, Law, Problem, Side};
use rigid::Rigid;

const NONE: u32 = u32::MAX;
/// How deep a body rests in another under its own weight, m, and the time in which deeper overlap is pushed out, s.
const REST_DEPTH: f64 = 2e-6;
const RELAXATION: f64 = 0.2;
/// Fraction of an overlap that rigid contact takes out in a step.
const PUSH_OUT: f64 = 0.2;
/// Fastest push-out, m/s.
const FASTEST_PUSH: f64 = 3.0;
/// How exact contacts are solved: soft ones as a velocity (m/s), rigid ones relative to the fastest that meets.
const SOFT_TOLERANCE: f64 = 1e-6;
const RIGID_TOLERANCE: f64 = 1e-6;
const MOST_SOFT_ITERATIONS: u32 = 60;
/// Rounds in which the slip of contacts is corrected, and the overlap that a wrong slip may cause, m.
const MOST_SLIP_ROUNDS: u32 = 20;
const SLIP_TOLERANCE: f64 = 1e-6;
/// Overlap that a heavy load may cause before contacts get stiffer, m.
const LOADED_DEPTH: f64 = 1e-5;

/// What contacts did in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContactReport {
    pub contacts: u32,
    pub iterations: u32,
    /// Largest residual as a velocity, m/s.
    pub residual: f64,
    pub penetration: f64,
    pub jammed: Option<(u32, u32)>,
}

/// A body without joints, in working memory.
#[derive(Clone, Copy)]
struct Free {
    slot: u32,
    inv_sqrt_mass: f64,
    inv_sqrt: DVec3,
    pose: Placed,
    u: [f64; 6],
    supported: bool,
    /// How far a bounce within the step has carried it, against a bounce at its start.
    shift: DVec3,
}

/// Bodies and mechanisms that touch each other.
#[derive(Default)]
struct Island {
    mechanisms: Vec<u32>,
    free: Vec<u32>,
    manifolds: Vec<u32>,
    problem: Problem,
    newton: Newton,
    rigid: Rigid,
    z: Vec<f64>,
    /// De Saxcé's μ|v_t| that each contact's target takes off.
    slips: Vec<f64>,
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
    islands: Vec<Island>,
    count: usize,
    states: Vec<Free>,
    first_coordinate: Vec<u32>,
    mechanism_count: usize,
    /// By unit: whether a contact pushes it.
    pushed: Vec<bool>,
    bounces: Bounces,
}

impl Contacts {
    /// Finds what touches within a step of `h`, and the islands. `free` are the slots of bodies without joints.
    pub fn find(&mut self, world: &mut World, mechanisms: &[Mechanism], free: &[u32], h: f64) {
        self.count = 0;
        if !world.collides {
            return;
        }
        let World { bodies, joints, collisions, gravity, graph_version, .. } = world;
        collisions.sync(*graph_version, bodies, joints);
        let slots = bodies.iter().map(|(id, _)| id.slot() + 1).max().unwrap_or(0);
        self.placed.clear();
        self.placed.resize(slots, PlacedBody::default());
        for (id, b) in bodies.iter() {
            self.placed[id.slot()] = PlacedBody { x: b.x, q: b.q, v: b.v, w: b.w };
        }
        collisions.update(&self.placed, h, gravity.length());
        self.number_units(slots, mechanisms, free);
        self.join(&collisions.manifolds);
        self.collect(&collisions.manifolds, mechanisms.len(), free.len());
    }

    fn number_units(&mut self, slots: usize, mechanisms: &[Mechanism], free: &[u32]) {
        self.mechanism_count = mechanisms.len();
        self.unit.clear();
        self.unit.resize(slots, NONE);
        self.local.clear();
        self.local.resize(slots, 0);
        for (m, mechanism) in mechanisms.iter().enumerate() {
            for (k, &slot) in mechanism.movable_bodies().iter().enumerate() {
                (self.unit[slot as usize], self.local[slot as usize]) = (m as u32, k as u32);
            }
        }
        for (k, &slot) in free.iter().enumerate() {
            self.unit[slot as usize] = (mechanisms.len() + k) as u32;
        }
        self.pushed.clear();
        self.pushed.resize(mechanisms.len() + free.len(), false);
        self.parent.clear();
        self.parent.extend(0..(mechanisms.len() + free.len()) as u32);
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

    fn collect(&mut self, manifolds: &[Manifold], mechanisms: usize, free: usize) {
        self.island_of.clear();
        self.island_of.resize(mechanisms + free, NONE);
        for (k, m) in manifolds.iter().enumerate() {
            let units = [self.unit[m.a as usize], self.unit[m.b as usize]];
            let Some(unit) = units.into_iter().find(|&u| u != NONE) else { continue };
            let root = self.root(unit) as usize;
            if self.island_of[root] == NONE {
                self.island_of[root] = self.count as u32;
                if self.count == self.islands.len() {
                    self.islands.push(Island::default());
                }
                let island = &mut self.islands[self.count];
                island.mechanisms.clear();
                island.free.clear();
                island.manifolds.clear();
                self.count += 1;
            }
            self.islands[self.island_of[root] as usize].manifolds.push(k as u32);
        }
        for unit in 0..(mechanisms + free) as u32 {
            let root = self.root(unit) as usize;
            let island = self.island_of[root];
            self.island_of[unit as usize] = island;
            if island != NONE {
                let island = &mut self.islands[island as usize];
                if (unit as usize) < mechanisms {
                    island.mechanisms.push(unit);
                } else {
                    island.free.push(unit - mechanisms as u32);
                }
            }
        }
    }

    /// Whether mechanism `k` touches something.
    pub fn touches(&self, mechanism: usize) -> bool {
        self.count > 0 && self.island_of[mechanism] != NONE
    }

    /// Whether the `k`-th free body touches something.
    pub fn free_touches(&self, k: usize, mechanisms: usize) -> bool {
        self.count > 0 && self.island_of[mechanisms + k] != NONE
    }

    /// Advances every island in working memory. Mechanisms of islands must have been gathered.
    pub fn advance(
        &mut self,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        params: &StepParams,
        mut done: impl FnMut(usize, &Advance),
    ) -> ContactReport {
        let mut report = ContactReport::default();
        self.states.clear();
        for k in 0..self.count {
            let mut island = std::mem::take(&mut self.islands[k]);
            self.advance_island(&mut island, world, mechanisms, free, params, &mut report, &mut done);
            self.islands[k] = island;
        }
        report
    }

    fn advance_island(
        &mut self,
        island: &mut Island,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        params: &StepParams,
        report: &mut ContactReport,
        done: &mut impl FnMut(usize, &Advance),
    ) {
        let h = params.dt;
        let first_state = self.states.len();
        let mut problem = std::mem::take(&mut island.problem);
        problem.clear();
        self.first_coordinate.clear();
        self.first_coordinate.resize(self.island_of.len(), NONE);
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            mechanism.begin_contact(h);
            self.first_coordinate[m as usize] = problem.unit(mechanism.free_motions());
        }
        for &k in &island.free {
            let unit = mechanisms.len() as u32 + k;
            // the local index of a free body is that of its state
            self.local[free[k as usize] as usize] = self.states.len() as u32;
            self.states.push(Free::new(&world.bodies, free[k as usize]));
            self.first_coordinate[unit as usize] = problem.unit(6);
        }
        let rigid = !island.mechanisms.is_empty();
        let mut fastest = world.gravity.length() * h;
        for &k in &island.manifolds {
            let manifold = &world.collisions.manifolds[k as usize];
            for point in manifold.points() {
                fastest = self.add_contact(&mut problem, world, mechanisms, manifold, point).max(fastest);
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        island.problem = problem;
        self.bounce(island, world, mechanisms, first_state, h, RIGID_TOLERANCE * fastest);
        let mut problem = std::mem::take(&mut island.problem);
        for &m in &island.mechanisms {
            mechanisms[m as usize].kick_in_contact(h);
        }
        for state in &mut self.states[first_state..] {
            state.kick(&world.bodies, world.gravity, h);
        }
        let mut slips = std::mem::take(&mut island.slips);
        self.aim_contacts(&mut problem, island, world, mechanisms, h, rigid, &mut slips);
        island.slips = slips;
        let contacts = problem.entries.len();
        for &m in &island.mechanisms {
            self.add_bounded(&mut problem, &mechanisms[m as usize], m);
        }
        island.problem = problem;
        let Island { problem, newton, rigid: work, z, slips, .. } = island;
        if rigid {
            let outcome = rigid::solve(problem, newton, work, z, RIGID_TOLERANCE * fastest);
            report.iterations += outcome.iterations;
            report.residual = report.residual.max(outcome.residual);
            if outcome.jammed {
                let m = &world.collisions.manifolds[island.manifolds[0] as usize];
                report.jammed.get_or_insert((m.a, m.b));
            }
        } else {
            newton.prepare(problem);
            z.clear();
            z.resize(problem.size, 0.0);
            // the last velocities are the best guess
            for state in &self.states[first_state..] {
                let first = self.first_coordinate[self.unit[state.slot as usize] as usize] as usize;
                let before = hat_velocity(&world.bodies, state);
                (0..6).for_each(|s| z[first + s] = before[s] - state.u[s]);
            }
            for _ in 0..MOST_SLIP_ROUNDS {
                let outcome = newton.solve(problem, z, SOFT_TOLERANCE, MOST_SOFT_ITERATIONS);
                report.iterations += outcome.iterations;
                report.residual = report.residual.max(outcome.residual);
                if correct_slip(problem, slips) * h < SLIP_TOLERANCE {
                    break;
                }
            }
        }
        self.take_impulses(island, world, mechanisms, contacts, h, rigid);
        for &m in &island.mechanisms {
            let touched = self.pushed[m as usize];
            let advance = mechanisms[m as usize].finish_contact(h, params, touched);
            done(m as usize, &advance);
        }
        for k in first_state..self.states.len() {
            let unit = self.unit[self.states[k].slot as usize];
            let touched = self.pushed[unit as usize];
            self.states[k].advance(&world.bodies, world.gravity, h, touched);
        }
    }

    fn motion(&self, world: &World, mechanisms: &[Mechanism], slot: u32) -> Motion {
        let unit = self.unit[slot as usize];
        if unit == NONE {
            let body = world.bodies.at(slot as usize).filter(|b| b.kind == BodyKind::Kinematic);
            return body.map_or(Motion::default(), |b| Motion { v: b.v, w: b.w });
        }
        let local = self.local[slot as usize] as usize;
        if (unit as usize) < mechanisms.len() {
            let (v, w) = mechanisms[unit as usize].motion_of(local);
            return Motion { v, w };
        }
        self.states[local].motion()
    }

    /// Adds a contact point; returns how fast it meets.
    fn add_contact(
        &self,
        problem: &mut Problem,
        world: &World,
        mechanisms: &[Mechanism],
        manifold: &Manifold,
        point: &ContactPoint,
    ) -> f64 {
        let rows = contact_rows(world, manifold, point);
        let mut sides = [Side::default(); 2];
        for (side, (slot, is_b)) in sides.iter_mut().zip([(manifold.a, false), (manifold.b, true)]) {
            let unit = self.unit[slot as usize];
            if unit == NONE {
                continue;
            }
            let first = self.first_coordinate[unit as usize];
            let data = problem.data.len() as u32;
            let local = self.local[slot as usize] as usize;
            for row in &rows {
                if (unit as usize) < mechanisms.len() {
                    mechanisms[unit as usize].row_on_free_motions(row, local, is_b, &mut problem.data);
                } else {
                    problem.data.extend(self.states[local].hat_row(row, is_b));
                }
            }
            let size = (problem.data.len() as u32 - data) / 3;
            *side = Side { first, size, data };
        }
        // two bodies of one mechanism: one side, with the rows of both
        if sides[0].size > 0 && sides[1].size > 0 && sides[0].first == sides[1].first {
            let [a, b] = sides;
            for k in 0..3 * a.size as usize {
                problem.data[a.data as usize + k] += problem.data[b.data as usize + k];
            }
            problem.data.truncate(b.data as usize);
            sides[1] = Side::default();
        }
        let velocity = self.contact_velocity(world, mechanisms, manifold, &rows);
        problem.entries.push(Entry {
            law: Law::Cone(manifold.material.friction),
            sides,
            b: velocity,
            target: 0.0,
            start: [0.0; 3],
            stiffness: 0.0,
            compliance: 0.0,
            impulse: [0.0; 3],
            velocity,
        });
        velocity.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    fn contact_velocity(
        &self,
        world: &World,
        mechanisms: &[Mechanism],
        manifold: &Manifold,
        rows: &[Row; 3],
    ) -> [f64; 3] {
        let (a, b) = (self.motion(world, mechanisms, manifold.a), self.motion(world, mechanisms, manifold.b));
        [0, 1, 2].map(|r| rows[r].velocity(&a, &b))
    }

    /// Sets velocities, targets and first guesses of the contacts after the kick.
    fn aim_contacts(
        &self,
        problem: &mut Problem,
        island: &Island,
        world: &World,
        mechanisms: &[Mechanism],
        h: f64,
        rigid: bool,
        slips: &mut Vec<f64>,
    ) {
        slips.clear();
        let mut entries = problem.entries.iter_mut();
        for &k in &island.manifolds {
            let manifold = &world.collisions.manifolds[k as usize];
            for point in manifold.points() {
                let Some(entry) = entries.next() else { return };
                let rows = contact_rows(world, manifold, point);
                let mu = manifold.material.friction;
                let old = entry.b;
                entry.b = self.contact_velocity(world, mechanisms, manifold, &rows);
                let gap = point.gap + self.shift(manifold);
                let held = [rows[1].lin.dot(point.impulse_t), rows[2].lin.dot(point.impulse_t)];
                entry.impulse = [point.impulse_n, held[0], held[1]];
                entry.velocity = entry.b;
                if rigid {
                    entry.target = if gap > 0.0 { -gap / h } else { (-PUSH_OUT * gap / h).min(FASTEST_PUSH) };
                } else {
                    let time = relaxation(manifold);
                    entry.stiffness = h * stiffness(world, manifold, point, h) * (h + time);
                    let slip = mu * old[1].hypot(old[2]);
                    let approach = if gap > 0.0 { -gap / h } else { -gap / (h + time) };
                    entry.target = approach.min(FASTEST_PUSH) - slip;
                    slips.push(slip);
                    entry.start = [0.0, held[0], held[1]];
                }
            }
        }
    }

    /// By how much a bounce within the step moved the bodies of a manifold apart.
    fn shift(&self, manifold: &Manifold) -> f64 {
        let of = |slot: u32, units: usize| {
            let unit = self.unit[slot as usize];
            let is_free = unit != NONE && unit as usize >= units;
            if is_free { self.states[self.local[slot as usize] as usize].shift } else { DVec3::ZERO }
        };
        let units = self.mechanism_count;
        manifold.normal.dot(of(manifold.b, units) - of(manifold.a, units))
    }

    fn add_bounded(&self, problem: &mut Problem, mechanism: &Mechanism, unit: u32) {
        for bounded in mechanism.bounded_entries() {
            let mut sides = [Side::default(); 2];
            let data = problem.data.len();
            let mut row = Vec::new();
            for (body, is_b) in [(bounded.a, false), (bounded.b, true)] {
                if (body as usize) < mechanism.movable_bodies().len() {
                    let mut part = Vec::new();
                    mechanism.row_on_free_motions(&bounded.row, body as usize, is_b, &mut part);
                    row.resize(part.len(), 0.0);
                    row.iter_mut().zip(&part).for_each(|(r, p)| *r += p);
                }
            }
            sides[0] = Side { first: self.first_coordinate[unit as usize], size: row.len() as u32, data: data as u32 };
            problem.data.extend(row);
            problem.entries.push(Entry {
                law: Law::Bounds(bounded.bounds.0, bounded.bounds.1),
                sides,
                b: [bounded.velocity, 0.0, 0.0],
                target: 0.0,
                start: [0.0; 3],
                stiffness: 0.0,
                compliance: bounded.compliance,
                impulse: [bounded.guess.clamp(bounded.bounds.0, bounded.bounds.1), 0.0, 0.0],
                velocity: [0.0; 3],
            });
        }
    }

    /// Gives the impulse of one point to both bodies.
    fn push_point(&mut self, mechanisms: &mut [Mechanism], manifold: &Manifold, rows: &[Row; 3], impulse: &[f64; 3]) {
        for (slot, is_b) in [(manifold.a, false), (manifold.b, true)] {
            let unit = self.unit[slot as usize];
            let local = self.local[slot as usize] as usize;
            if unit == NONE {
                continue;
            }
            self.pushed[unit as usize] |= impulse[0] > 0.0;
            for (row, &p) in rows.iter().zip(impulse) {
                if (unit as usize) < mechanisms.len() {
                    mechanisms[unit as usize].push(row, p, local, is_b);
                } else {
                    self.states[local].push(row, p, is_b);
                }
            }
        }
    }

    /// Gives the impulses to bodies, mechanisms and the memory of the contact points.
    fn take_impulses(
        &mut self,
        island: &Island,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        contacts: usize,
        h: f64,
        rigid: bool,
    ) {
        let mut entries = island.problem.entries.iter();
        for &k in &island.manifolds {
            let manifold = world.collisions.manifolds[k as usize];
            let mut updated = manifold;
            for point in updated.points_mut() {
                let Some(entry) = entries.next() else { break };
                let rows = contact_rows(world, &manifold, point);
                self.push_point(mechanisms, &manifold, &rows, &entry.impulse);
                point.impulse_n = entry.impulse[0];
                let held = match rigid {
                    true => [entry.impulse[1], entry.impulse[2]],
                    false => {
                        // the spring of sticking friction, without the damping that acts with it
                        let spring = entry.stiffness * h / (h + relaxation(&manifold));
                        let m = [1, 2].map(|s| entry.start[s] - spring * entry.velocity[s]);
                        let Law::Cone(mu) = entry.law else { continue };
                        let (length, most) = (m[0].hypot(m[1]), mu * entry.impulse[0]);
                        let scale = if length > most { most / length } else { 1.0 };
                        m.map(|x| scale * x)
                    }
                };
                point.impulse_t = rows[1].lin * held[0] + rows[2].lin * held[1];
            }
            world.collisions.manifolds[k as usize] = updated;
        }
        let mut bounded = island.problem.entries[contacts..].iter();
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            for k in 0..mechanism.bounded_entries().count() {
                let Some(entry) = bounded.next() else { break };
                mechanism.push_bounded(k, entry.impulse[0]);
            }
        }
    }

    /// Checks that the free bodies of islands have stayed within the range of numbers; names the slot of one that has not.
    pub fn not_finite(&self) -> Option<u32> {
        let bad = |s: &&Free| !(s.pose.x.is_finite() && s.pose.q.is_finite() && s.u.iter().all(|e| e.is_finite()));
        self.states.iter().find(bad).map(|s| s.slot)
    }

    /// Writes the free bodies of all islands back.
    pub fn scatter(&self, bodies: &mut Bodies) {
        for state in &self.states {
            let Some(body) = bodies.at_mut(state.slot as usize) else { continue };
            let Motion { v, w } = state.motion();
            (body.x, body.q, body.v, body.w) = (state.pose.x, state.pose.q, v, w);
            body.supported = state.supported;
        }
    }
}

/// Rows of a contact's normal and two tangents, as velocities of b against a.
fn contact_rows(world: &World, manifold: &Manifold, point: &ContactPoint) -> [Row; 3] {
    let n = manifold.normal;
    let (t1, t2) = n.any_orthonormal_pair();
    let lever = |slot: u32| point.position - world.bodies.at(slot as usize).map_or(DVec3::ZERO, |b| b.x);
    let (ra, rb) = (lever(manifold.a), lever(manifold.b));
    [n, t1, t2].map(|d| Row { lin: d, ang_a: -ra.cross(d), ang_b: rb.cross(d) })
}

/// Takes the slip that came out of a solve for the one it went in with; returns the largest change, m/s.
fn correct_slip(problem: &mut Problem, slips: &mut [f64]) -> f64 {
    let mut largest = 0.0_f64;
    for (entry, slip) in problem.entries.iter_mut().zip(slips) {
        let Law::Cone(mu) = entry.law else { continue };
        let new = if entry.impulse[0] > 0.0 { mu * entry.velocity[1].hypot(entry.velocity[2]) } else { *slip };
        largest = largest.max((new - *slip).abs());
        entry.target += *slip - new;
        *slip = new;
    }
    largest
}

/// The time in which overlap is pushed out, s: damping by stiffness.
fn relaxation(manifold: &Manifold) -> f64 {
    manifold.material.softness.map_or(RELAXATION, |soft| soft.damping / soft.stiffness.max(f64::MIN_POSITIVE))
}

/// Stiffness of a contact point, N/m: such that the heavier body rests [`REST_DEPTH`] deep on four of them; more under load.
fn stiffness(world: &World, manifold: &Manifold, point: &ContactPoint, h: f64) -> f64 {
    if let Some(soft) = manifold.material.softness {
        return soft.stiffness;
    }
    let mass = |slot: u32| world.bodies.at(slot as usize).filter(|b| b.is_dynamic()).map_or(0.0, |b| b.mass.mass);
    let heavier = mass(manifold.a).max(mass(manifold.b));
    let gravity = world.gravity.length().max(1.0);
    let own = heavier * gravity / (4.0 * REST_DEPTH);
    own.max(point.impulse_n / (h * LOADED_DEPTH))
}

/// Velocities of a free body before the step, in its hat coordinates.
fn hat_velocity(bodies: &Bodies, state: &Free) -> [f64; 6] {
    bodies.at(state.slot as usize).map_or([0.0; 6], |b| state.hat(b.v, b.w))
}

impl Free {
    fn new(bodies: &Bodies, slot: u32) -> Free {
        let Some(body) = bodies.at(slot as usize) else {
            unreachable!("free bodies are listed from the world's own bodies")
        };
        let m = &body.mass;
        let root = DVec3::new(m.moments.x.sqrt(), m.moments.y.sqrt(), m.moments.z.sqrt());
        let mut state = Free {
            slot,
            inv_sqrt_mass: 1.0 / m.mass.sqrt(),
            inv_sqrt: root.recip(),
            pose: body.placed(),
            u: [0.0; 6],
            supported: body.supported,
            shift: DVec3::ZERO,
        };
        state.u = state.hat(body.v, body.w);
        state
    }

    fn kick(&mut self, bodies: &Bodies, gravity: DVec3, h: f64) {
        let Some(body) = bodies.at(self.slot as usize) else { return };
        let kick = if self.supported { h } else { 0.5 * h };
        let acceleration = body.force / body.mass.mass + gravity * body.gravity_scale;
        let spin = self.pose.r * (self.pose.r.transpose() * body.torque / body.mass.moments);
        let damp = |rate: f64| (-rate * h).exp();
        let Motion { v, w } = self.motion();
        let v = (v + acceleration * kick) * damp(body.linear_damping);
        let w = (w + spin * kick) * damp(body.angular_damping);
        self.u = self.hat(v, w);
    }

    fn hat(&self, v: DVec3, w: DVec3) -> [f64; 6] {
        let v = v / self.inv_sqrt_mass;
        let w = (self.pose.r.transpose() * w) / self.inv_sqrt;
        [v.x, v.y, v.z, w.x, w.y, w.z]
    }

    fn motion(&self) -> Motion {
        let u = &self.u;
        let v = DVec3::new(u[0], u[1], u[2]) * self.inv_sqrt_mass;
        Motion { v, w: self.pose.r * (DVec3::new(u[3], u[4], u[5]) * self.inv_sqrt) }
    }

    fn hat_row(&self, row: &Row, is_b: bool) -> [f64; 6] {
        let (sign, g) = if is_b { (self.inv_sqrt_mass, row.ang_b) } else { (-self.inv_sqrt_mass, row.ang_a) };
        let l = row.lin * sign;
        let g = (self.pose.r.transpose() * g) * self.inv_sqrt;
        [l.x, l.y, l.z, g.x, g.y, g.z]
    }

    fn push(&mut self, row: &Row, impulse: f64, is_b: bool) {
        let hat = self.hat_row(row, is_b);
        self.u.iter_mut().zip(hat).for_each(|(u, x)| *u += impulse * x);
    }

    /// Moves; a body that nothing pushed gets the other half of its kick.
    fn advance(&mut self, bodies: &Bodies, gravity: DVec3, h: f64, supported: bool) {
        let Motion { v, .. } = self.motion();
        let momentum = DVec3::new(self.u[3], self.u[4], self.u[5]) / self.inv_sqrt;
        let inverse = self.inv_sqrt * self.inv_sqrt;
        let (q, momentum) = rotation::rotate_free(self.pose.q, momentum, inverse, h);
        self.pose = Placed::new(self.pose.x + v * h + self.shift, q);
        let w = momentum * self.inv_sqrt;
        self.u[3..].copy_from_slice(&[w.x, w.y, w.z]);
        self.supported = supported;
        let Some(body) = bodies.at(self.slot as usize).filter(|_| !supported) else { return };
        let acceleration = body.force / body.mass.mass + gravity * body.gravity_scale;
        let spin = self.pose.r * (self.pose.r.transpose() * body.torque / body.mass.moments);
        let Motion { v, w } = self.motion();
        self.u = self.hat(v + acceleration * 0.5 * h, w + spin * 0.5 * h);
    }
}
