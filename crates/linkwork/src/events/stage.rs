//! A world between two events, as a system of differential equations.

use super::push::{Point, Push, What, coordinate_row, of_joints, row_at, tangents};
use super::{REST_SPEED, SLIDE_SPEED, TOUCH};
use crate::collide::{Manifold, PlacedBody};
use crate::contact::ContactReport;
use crate::equations::{OF_BODY, read_body, write_body, write_rates};
use crate::error::StepError;
use crate::flight::{kinematic_bodies, place_kinematic_bodies};
use crate::joint::Motion;
use crate::math::{Placed, rotation};
use crate::mechanism::Mechanism;
use crate::ode::System;
use crate::params::{ContactSolver, StepParams};
use crate::report::StepReport;
use crate::scene::BodyKind;
use crate::step::Scratch;
use crate::world::World;
use glam::{DMat3, DVec3};

/// To whom a body belongs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unit {
    Outside,
    Free,
    /// A mechanism, and its number there.
    Of(usize, usize),
}

/// Step of the difference quotients along the motion, s at slow turns.
const GLANCE: f64 = 1e-5;
/// Rounds in which what overlaps is pushed apart.
const MOST_PUSH_OUTS: u32 = 8;
/// Acceleration with which something that stuck begins to slide, m/s² or rad/s².
const ONSET: f64 = 1e-6;
/// How far from touching points are told apart, m.
pub(super) const NEAR: f64 = 1e-4;
/// Speed at which a point that touches is leaving, m/s.
const LEAVING: f64 = 1e-6;

pub(super) struct Stage<'w> {
    pub world: &'w mut World,
    pub scratch: &'w mut Scratch,
    /// Bodies moved by the user, where they were when the step began.
    pub driven: Vec<(usize, Placed)>,
    slots: Vec<usize>,
    pub units: Vec<Unit>,
    time: f64,
    pub pushes: Vec<Push>,
    /// Pairs that may touch before the step is over, and where they stood when they were found.
    pub watched: Vec<Manifold>,
    /// Below this speed nothing bounces, m/s.
    pub rest_speed: f64,
    pub solver: ContactSolver,
    /// Whether friction is left to the complementarity problem alone, because looking for its events leads nowhere.
    pub careful: bool,
    pub failure: Option<String>,
    pub blows: Vec<(Point, f64, DVec3)>,
    pub substeps: u32,
    pub report: ContactReport,
}

impl<'w> Stage<'w> {
    pub fn new(world: &'w mut World, scratch: &'w mut Scratch, params: &StepParams) -> Stage<'w> {
        let driven = kinematic_bodies(world);
        let slots: Vec<usize> = world.bodies.iter().filter(|(_, b)| b.is_dynamic()).map(|(id, _)| id.slot()).collect();
        let count = world.bodies.iter().map(|(id, _)| id.slot() + 1).max().unwrap_or(0);
        let mut units = vec![Unit::Outside; count];
        scratch.free().iter().for_each(|&slot| units[slot as usize] = Unit::Free);
        for (m, mechanism) in scratch.mechanisms_mut().iter_mut().enumerate() {
            mechanism.method = params.method;
            for (k, &slot) in mechanism.movable_bodies().iter().enumerate() {
                units[slot as usize] = Unit::Of(m, k);
            }
        }
        for (_, body) in world.bodies.iter_mut() {
            body.lag = 0.0;
        }
        Stage {
            world,
            scratch,
            driven,
            slots,
            units,
            time: 0.0,
            pushes: Vec::new(),
            watched: Vec::new(),
            rest_speed: REST_SPEED,
            solver: params.contact,
            careful: false,
            failure: None,
            blows: Vec::new(),
            substeps: 0,
            report: ContactReport::default(),
        }
    }

    pub fn placed(&self, slot: Option<u32>) -> Placed {
        slot.and_then(|slot| self.world.bodies.at(slot as usize)).map_or(Placed::WORLD, |b| b.placed())
    }

    pub fn motion(&self, slot: Option<u32>) -> Motion {
        let body = slot.and_then(|slot| self.world.bodies.at(slot as usize)).filter(|b| b.kind != BodyKind::Static);
        body.map_or(Motion::default(), |b| Motion { v: b.v, w: b.w })
    }

    /// The rates of a push's rows as bodies move now.
    pub fn rates(&self, push: &Push) -> [f64; 3] {
        let (a, b) = (self.motion(push.a), self.motion(push.b));
        push.rows.map(|row| row.velocity(&a, &b))
    }

    /// Brings poses and velocities onto the joints.
    pub fn close_joints(&mut self) {
        let world = &mut *self.world;
        for mechanism in self.scratch.mechanisms_mut() {
            mechanism.gather(&world.bodies, &world.joints, world.gravity);
            mechanism.close();
            mechanism.scatter_poses(&mut world.bodies);
            mechanism.scatter_velocities(&mut world.bodies);
        }
        world.read_coordinates();
    }

    /// Strikes what meets and finds what rests, for the time that is left.
    pub fn settle(&mut self, left: f64, careful: bool) -> Result<(), String> {
        self.careful = careful;
        self.find(left);
        self.push_out()?;
        self.strike()?;
        self.let_rest()
    }

    /// Finds what touches, and what may within a time.
    pub fn find(&mut self, left: f64) {
        let mut pushes = of_joints(self.world);
        let World { bodies, joints, collisions, gravity, graph_version, collides, .. } = &mut *self.world;
        self.watched.clear();
        if *collides {
            let mut placed = vec![PlacedBody::default(); self.units.len()];
            for (id, b) in bodies.iter() {
                placed[id.slot()] = PlacedBody { x: b.x, q: b.q, v: b.v, w: b.w, ..PlacedBody::default() };
            }
            collisions.sync(*graph_version, bodies, joints);
            collisions.update(&placed, left.max(1e-6), gravity.length());
            self.watched.extend_from_slice(&collisions.manifolds);
            self.watched.dedup_by_key(|m| (m.collider_a, m.collider_b));
        }
        let mut deepest = 0.0_f64;
        for manifold in &self.watched {
            let place = |slot: u32| bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
            let (a, b) = (place(manifold.a), place(manifold.b));
            // within a small reach: of all that may touch within the step only four points are kept
            for touch in collisions.look_ahead(manifold, &a, &b, NEAR).iter() {
                for &(position, gap) in touch.points.iter().filter(|(_, gap)| *gap <= TOUCH) {
                    deepest = deepest.max(-gap);
                    let material = &manifold.material;
                    if material.rolling > 0.0 || material.spinning > 0.0 {
                        self.report.rolls_freely = self.report.rolls_freely.or(Some((manifold.a, manifold.b)));
                    }
                    let what = What::Contact(Point::new(*manifold, touch.normal, position, &a, &b));
                    pushes.push(Push { gap, ..Push::new(Some(manifold.a), Some(manifold.b), what) });
                }
            }
        }
        let contacts: usize = self.watched.iter().map(|m| m.points().len()).sum();
        self.report.contacts = self.report.contacts.max(contacts as u32);
        self.report.penetration = self.report.penetration.max(deepest);
        pushes.retain(|push| match push.what {
            What::Limit { held, .. } => held || push.gap <= TOUCH,
            _ => true,
        });
        self.pushes = pushes;
        self.write_rows(false);
    }

    /// Rows of all pushes where the bodies are; `again`: contact points are found anew.
    pub fn write_rows(&mut self, again: bool) {
        let mut pushes = std::mem::take(&mut self.pushes);
        if again {
            self.find_points_again(&mut pushes);
        }
        for push in &mut pushes {
            let (a, b) = (self.placed(push.a), self.placed(push.b));
            let (ua, ub) = (self.motion(push.a), self.motion(push.b));
            match &mut push.what {
                What::Contact(point) => {
                    let [t1, t2] = point.tangents;
                    push.rows = [point.normal, t1, t2].map(|d| row_at(d, point.position, &a, &b));
                }
                What::Limit { at, side, .. } => {
                    let Some((row, _, bias)) = coordinate_row(self.world, *at, (&a, &b), (&ua, &ub)) else { continue };
                    (push.rows[0], push.bias[0]) = (row.scaled(*side), *side * bias);
                }
                What::Drive { at, .. } | What::Servo { at, .. } => {
                    let Some((row, _, bias)) = coordinate_row(self.world, *at, (&a, &b), (&ua, &ub)) else { continue };
                    (push.rows[0], push.bias[0]) = (row, bias);
                }
            }
        }
        self.pushes = pushes;
    }

    /// Finds contact points where the bodies are now.
    fn find_points_again(&mut self, pushes: &mut [Push]) {
        let place = |world: &World, slot: u32| world.bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
        for push in pushes {
            let Some(point) = push.point().copied() else { continue };
            let (a, b) = (place(self.world, point.manifold.a), place(self.world, point.manifold.b));
            let (normal, position, gap) = self.nearest(&point, &a, &b);
            push.gap = gap;
            if let Some(point) = push.point_mut() {
                point.put(normal, position, &a, &b);
            }
        }
    }

    /// The contact point of a pair at other poses that is nearest to a known one; where there is none, the known one as part of b.
    pub fn nearest(&mut self, point: &Point, a: &Placed, b: &Placed) -> (DVec3, DVec3, f64) {
        let touches = self.world.collisions.look_ahead(&point.manifold, a, b, NEAR);
        let mut best = (f64::INFINITY, (point.normal, b.x + b.q * point.local_b, NEAR));
        for touch in touches.iter().filter(|t| t.normal.dot(point.normal) > 0.7) {
            for &(position, gap) in &touch.points {
                let distance = point.distance(position, a, b);
                if distance < best.0 {
                    best = (distance, (touch.normal, position, gap));
                }
            }
        }
        best.1
    }

    /// J̇u of contact points: how their rows change along the motion, by a central difference.
    pub fn write_contact_bias(&mut self) {
        let mut pushes = std::mem::take(&mut self.pushes);
        for push in &mut pushes {
            let Some(point) = push.point().copied() else { continue };
            let (a, b) = (self.placed(push.a), self.placed(push.b));
            let (ua, ub) = (self.motion(push.a), self.motion(push.b));
            let spin = ua.w.length().max(ub.w.length());
            let still = spin == 0.0 && ua.v == ub.v;
            push.bias = [0.0; 3];
            if still {
                continue;
            }
            let glance = GLANCE / (0.1 * spin).max(1.0);
            let mut at = |time: f64| {
                let (a, b) = (ua.moved(&a, time), ub.moved(&b, time));
                let (normal, position, _) = self.nearest(&point, &a, &b);
                let [t1, t2] = tangents(normal, point.tangents[0]);
                [normal, t1, t2].map(|d| row_at(d, position, &a, &b).velocity(&ua, &ub))
            };
            let (after, before) = (at(glance), at(-glance));
            (0..3).for_each(|r| push.bias[r] = (after[r] - before[r]) / (2.0 * glance));
        }
        self.pushes = pushes;
    }

    /// Keeps what stays in touch and tells what slides from what sticks.
    fn let_rest(&mut self) -> Result<(), String> {
        self.polish()?;
        let mut pushes = std::mem::take(&mut self.pushes);
        pushes.retain(|push| match push.what {
            What::Contact(_) => self.rates(push)[0] <= LEAVING,
            What::Limit { held, .. } => held || self.rates(push)[0] <= LEAVING,
            _ => true,
        });
        for push in &mut pushes {
            let rates = self.rates(push);
            match &mut push.what {
                What::Contact(point) => {
                    let along = point.tangents[0] * rates[1] + point.tangents[1] * rates[2];
                    let slides = !self.careful && along.length() > SLIDE_SPEED;
                    point.slip = if slides { along.try_normalize() } else { None };
                }
                What::Drive { target, most, slip, .. } => {
                    let rate = rates[0] - *target;
                    let slides = most.is_finite() && rate.abs() > SLIDE_SPEED;
                    *slip = slides.then(|| rate.signum());
                }
                _ => {}
            }
        }
        self.pushes = pushes;
        if !self.careful {
            self.let_slip()?;
        }
        Ok(())
    }

    /// What sticks but cannot be held begins to slide, against its friction.
    fn let_slip(&mut self) -> Result<(), String> {
        let changes = self.forces(true)?;
        for (push, change) in self.pushes.iter_mut().zip(changes) {
            let force = push.force;
            match &mut push.what {
                What::Contact(point) if point.slip.is_none() => {
                    let mu = point.manifold.material.friction;
                    let (pull, most) = (force[1].hypot(force[2]), mu * force[0]);
                    let starts = change[1].hypot(change[2]) > ONSET && pull >= most * (1.0 - 1e-6);
                    if starts {
                        let way = point.tangents[0] * change[1] + point.tangents[1] * change[2];
                        point.slip = way.try_normalize();
                    }
                }
                What::Drive { most, slip, .. } if slip.is_none() && most.is_finite() && change[0].abs() > ONSET => {
                    *slip = Some(change[0].signum());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Pushes apart what overlaps, by the least motion that does.
    fn push_out(&mut self) -> Result<(), String> {
        for _ in 0..MOST_PUSH_OUTS {
            let deep = |p: &Push| p.gap < -0.5 * TOUCH;
            if !self.pushes.iter().any(deep) {
                return Ok(());
            }
            let moves = self.motion_out()?;
            for (slot, shift, turn) in moves {
                if let Some(body) = self.world.bodies.at_mut(slot as usize) {
                    body.x += shift;
                    body.q = (rotation::exp(turn) * body.q).normalize();
                }
            }
            self.close_joints();
            for push in &mut self.pushes {
                if let What::Limit { at, side, .. } = push.what
                    && let Some(drive) = self.world.joints.at(at.joint).and_then(|j| j.drives.get(at.coordinate))
                    && let Some(limit) = drive.limit
                {
                    let bound = if side > 0.0 { limit.min } else { limit.max };
                    push.gap = bound.map_or(0.0, |bound| side * (drive.value - bound));
                }
            }
            self.write_rows(true);
        }
        Ok(())
    }

    /// How fast points of two bodies can come nearer at most, m/s.
    pub fn closing_speed(&self, manifold: &Manifold) -> f64 {
        let of = |slot: u32, collider: u32| {
            let Motion { v, w } = self.motion(Some(slot));
            v.length() + w.length() * self.world.collisions.sweep(collider)
        };
        of(manifold.a, manifold.collider_a) + of(manifold.b, manifold.collider_b)
    }

    /// Ends the step where it is: forces for those who ask, and what the step did.
    pub fn finish(&mut self, params: &StepParams) -> StepReport {
        let dt = params.dt;
        self.share_forces(dt);
        let world = &mut *self.world;
        let mut report = StepReport::default();
        let mechanisms = self.scratch.mechanisms_mut();
        let count = mechanisms.len();
        for push in &self.pushes {
            for (slot, sign) in [(push.a, -1.0), (push.b, 1.0)] {
                let Some(body) = slot.and_then(|slot| world.bodies.at_mut(slot as usize)) else { continue };
                for (row, f) in push.rows.iter().zip(push.force) {
                    body.force += row.lin * (sign * f);
                    body.torque += if sign > 0.0 { row.ang_b } else { row.ang_a } * f;
                }
            }
        }
        for mechanism in mechanisms.iter_mut() {
            mechanism.gather(&world.bodies, &world.joints, world.gravity);
            let advance = mechanism.finish_events(dt, params);
            mechanism.scatter(&mut world.bodies, &mut world.joints, dt);
            report.add(world, &advance, count);
        }
        for push in &self.pushes {
            let (What::Limit { at, .. } | What::Drive { at, .. } | What::Servo { at, .. }) = push.what else {
                continue;
            };
            let Some(drive) = world.joints.at_mut(at.joint).and_then(|j| j.drives.get_mut(at.coordinate)) else {
                continue;
            };
            for forces in [&mut drive.forces, &mut drive.mean] {
                match push.what {
                    What::Limit { side, .. } => forces.limit = side * push.force[0],
                    What::Drive { motor: false, .. } => forces.friction = push.force[0],
                    _ => forces.motor = push.force[0],
                }
            }
        }
        report.substeps = self.substeps;
        report.redundant_rows = mechanisms.iter().map(Mechanism::redundant_rows).sum();
        report.add_contacts(world, &self.report);
        report
    }

    /// Gives the contact points of the world their impulses: the present force over the step, and the blows within it.
    fn share_forces(&mut self, dt: f64) {
        let collisions = &mut self.world.collisions;
        collisions.forget();
        for manifold in collisions.manifolds.iter_mut() {
            manifold.step = dt;
            let pair = (manifold.collider_a, manifold.collider_b);
            let same = |m: &Manifold| (m.collider_a, m.collider_b) == pair;
            let resting = self.pushes.iter().filter_map(|p| Some((p.point()?, p))).filter(|(p, _)| same(&p.manifold));
            let resting = resting.map(|(point, push)| {
                let [_, t1, t2] = push.force;
                (point, push.force[0] * dt, (point.tangents[0] * t1 + point.tangents[1] * t2) * dt, 0.0)
            });
            let struck = self.blows.iter().filter(|(p, ..)| same(&p.manifold));
            let struck = struck.map(|(point, blow, across)| (point, 0.0, *across, *blow));
            for (point, normal, across, blow) in resting.chain(struck) {
                let from = |p: &crate::collide::ContactPoint| p.local_b.distance_squared(point.local_b);
                let nearest = manifold.points_mut().iter_mut().min_by(|x, y| from(x).total_cmp(&from(y)));
                let Some(nearest) = nearest else { continue };
                nearest.impulse_n += normal;
                nearest.impulse_t += across;
                nearest.blow += blow;
            }
        }
    }

    /// The names of what pushes, for messages.
    pub fn names_of_pushing(&self) -> String {
        let name =
            |slot: Option<u32>| slot.and_then(|s| self.world.bodies.at(s as usize)).map_or("the ground", |b| &b.name);
        let first = self.pushes.iter().find(|p| p.point().is_some()).or(self.pushes.first());
        first.map_or(String::new(), |p| format!(" near \"{}\" and \"{}\"", name(p.a), name(p.b)))
    }

    /// A body that has left the range of numbers, or the fastest.
    pub fn lost_body(&self) -> StepError {
        let speed = |slot: &usize| {
            let b = self.world.bodies.at(*slot);
            let s = b.map_or(0.0, |b| b.v.length() + b.w.length() + 0.0 * b.x.length());
            if s.is_nan() { f64::INFINITY } else { s }
        };
        let worst = self.slots.iter().max_by(|x, y| speed(x).total_cmp(&speed(y)));
        match worst.and_then(|slot| self.world.bodies.at(*slot)) {
            Some(body) => StepError::not_finite(body),
            None => StepError::Events { time: self.time(), problem: "the motion leaves the range of numbers".into() },
        }
    }

    /// Changes of velocity by a unit impulse along a row, by slot.
    pub fn response(
        &mut self,
        a: Option<u32>,
        b: Option<u32>,
        row: &crate::joint::rows::Row,
    ) -> Vec<(u32, DVec3, DVec3)> {
        let mut found = Vec::new();
        let mut pushes: Vec<(usize, Vec<_>)> = Vec::new();
        for (slot, is_b) in [(a, false), (b, true)] {
            let Some(slot) = slot else { continue };
            match self.units[slot as usize] {
                Unit::Outside => {}
                Unit::Free => {
                    let Some(body) = self.world.bodies.at(slot as usize) else { continue };
                    let (lin, ang) = if is_b { (row.lin, row.ang_b) } else { (-row.lin, row.ang_a) };
                    let r = DMat3::from_quat(body.q);
                    found.push((slot, lin / body.mass.mass, r * (r.transpose() * ang / body.mass.moments)));
                }
                Unit::Of(m, k) => match pushes.iter_mut().find(|(of, _)| *of == m) {
                    Some((_, list)) => list.push((*row, k, is_b)),
                    None => pushes.push((m, vec![(*row, k, is_b)])),
                },
            }
        }
        for (m, list) in pushes {
            found.extend(self.scratch.mechanisms_mut()[m].response_to(&list));
        }
        found.sort_by_key(|(slot, ..)| *slot);
        found
    }
}

impl System for Stage<'_> {
    fn dimension(&self) -> usize {
        OF_BODY * self.slots.len()
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn state(&self, y: &mut [f64]) {
        for (slot, y) in self.slots.iter().zip(y.chunks_exact_mut(OF_BODY)) {
            let Some(b) = self.world.bodies.at(*slot) else { continue };
            write_body(b, y);
        }
    }

    fn set_state(&mut self, time: f64, y: &[f64]) {
        self.time = time;
        for (slot, y) in self.slots.iter().zip(y.chunks_exact(OF_BODY)) {
            let Some(b) = self.world.bodies.at_mut(*slot) else { continue };
            read_body(y, b);
        }
        place_kinematic_bodies(self.world, &self.driven, time);
        self.world.read_coordinates();
    }

    fn derivative(&mut self, dy: &mut [f64]) {
        self.write_rows(true);
        let accelerations = match self.accelerations(true) {
            Ok(found) => found,
            Err(problem) => {
                // no derivative: the solver is told by numbers that are none
                self.failure = Some(problem);
                dy.fill(f64::NAN);
                return;
            }
        };
        for (slot, dy) in self.slots.iter().zip(dy.chunks_exact_mut(OF_BODY)) {
            let Some(b) = self.world.bodies.at(*slot) else { continue };
            write_rates(b, accelerations[*slot], dy);
        }
    }
}
