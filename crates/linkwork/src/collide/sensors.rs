//! Sensors: what overlaps them, and what has begun or ended to.
//!
//! What a sensor may meet is looked at where the step begins and followed on the straight way to where it ends, so that a thin one does not
//! miss what is on this side before the step and on the other after it.

use super::apart::{Moving, first_touch};
use super::convex::Workspace;
use super::{Collisions, Touches};
use crate::body::BodyState;
use crate::handle::BodyId;
use crate::math::{Placed, rotation};
use crate::world::World;

/// That a shape has begun or ended to overlap a sensor. [`crate::ContactEvent`] is for shapes that push each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorEvent {
    /// Whether it began; otherwise it ended.
    pub began: bool,
    /// The body of the sensor.
    pub sensor: BodyId,
    /// Index of the sensor among that body's shapes.
    pub sensor_shape: usize,
    /// The body that it notices.
    pub other: BodyId,
    /// Index of the shape that overlaps.
    pub other_shape: usize,
}

/// A sensor and what overlaps it: bodies and shapes by index, the sensor first.
pub(crate) type Sensed = (BodyId, u32, BodyId, u32);

/// What overlapped a sensor in a step, by colliders, the sensor first, and what may yet.
#[derive(Clone, Default)]
pub(super) struct Watch {
    pub found: Vec<(u32, u32)>,
    pub near: Vec<Near>,
    /// Whether a step is under way.
    pub on: bool,
}

/// A sensor and a collider that may come to it within the step.
#[derive(Clone, Copy)]
pub(super) struct Near {
    pub colliders: (u32, u32),
    /// Where their bodies were when they were looked at.
    pub from: [Placed; 2],
    /// How far apart they were, at least, m.
    pub separation: f64,
}

impl Watch {
    pub fn clear(&mut self) {
        self.found.clear();
        self.near.clear();
    }
}

impl Collisions {
    /// Follows what may come to a sensor from where it was looked at to where bodies are now (by slot).
    pub(super) fn follow_to_sensors(&mut self, now: impl Fn(usize) -> Option<Placed>) {
        let (mut work, mut touches) = (Workspace::default(), Touches::default());
        let Collisions { watch, entries, .. } = self;
        for near in std::mem::take(&mut watch.near) {
            let sides = [near.colliders.0, near.colliders.1].map(|k| &entries[k as usize]);
            let [Some(a), Some(b)] = sides.map(|entry| now(entry.body.slot())) else { continue };
            let moving = |k: usize, to: &Placed| {
                let from = near.from[k];
                let w = rotation::log(to.q * from.q.conjugate());
                Moving { collider: &sides[k].collider, start: from, v: to.x - from.x, w }
            };
            let (a, b) = (moving(0, &a), moving(1, &b));
            if a.fastest() + b.fastest() >= near.separation
                && first_touch(&a, &b, 1.0, &mut work, &mut touches).is_some()
            {
                watch.found.push(near.colliders);
            }
        }
    }

    /// Ends a step for sensors, with bodies (by slot) where they are now: returns what overlapped one at some time of it.
    pub fn end_watch(&mut self, now: impl Fn(usize) -> Option<Placed>) -> impl Iterator<Item = Sensed> + '_ {
        match std::mem::take(&mut self.watch.on) {
            true => self.follow_to_sensors(now),
            false => self.watch.clear(),
        }
        let of = |k: u32| (self.entries[k as usize].body, self.entries[k as usize].collider.shape);
        self.watch.found.iter().map(move |&(sensor, other)| {
            let ((sensor, sensor_shape), (other, other_shape)) = (of(sensor), of(other));
            (sensor, sensor_shape, other, other_shape)
        })
    }

    /// Forgets a step that has failed.
    pub fn stop_watching(&mut self) {
        self.watch.on = false;
    }
}

impl World {
    /// What overlapped a sensor at some time of the last step, between its beginning and its end: the body of the sensor and the index of its
    /// shape, then those of what it noticed.
    ///
    /// Bodies are followed on the straight way from where the step found them to where it left them, so that a thin sensor notices what flies
    /// through it within a step. What a blow or a motor makes much faster in that very step is noticed only where it ends. Sensors do not notice
    /// each other, nor what their body is joined to (unless the joint says `collide`), nor anything in a world without collisions.
    pub fn sensor_touches(&self) -> impl Iterator<Item = ((BodyId, usize), (BodyId, usize))> {
        let pair =
            |&(sensor, shape, other, other_shape): &Sensed| ((sensor, shape as usize), (other, other_shape as usize));
        // a body that was removed since overlaps nothing
        let exist = |s: &&Sensed| self.bodies.get(s.0).is_some() && self.bodies.get(s.2).is_some();
        self.sensing.iter().filter(exist).map(pair)
    }

    /// What began and ended to overlap sensors in the last step: ends first, then beginnings, each in the order of sensors. What flies through
    /// within a step begins in that step and ends in the next; what overlapped a body that was removed since has ended, with the id that the
    /// body had.
    pub fn sensor_events(&self) -> impl Iterator<Item = SensorEvent> {
        let (before, now) = (&self.sensed, &self.sensing);
        let ended = before.iter().filter(|s| now.binary_search(s).is_err()).map(|s| (false, s));
        let began = now.iter().filter(|s| before.binary_search(s).is_err()).map(|s| (true, s));
        ended.chain(began).map(|(began, &(sensor, sensor_shape, other, other_shape))| SensorEvent {
            began,
            sensor,
            sensor_shape: sensor_shape as usize,
            other,
            other_shape: other_shape as usize,
        })
    }

    /// Takes note of what overlapped sensors, after a step.
    pub(crate) fn note_sensors(&mut self) {
        std::mem::swap(&mut self.sensed, &mut self.sensing);
        self.sensing.clear();
        let World { collisions, bodies, sensing, .. } = self;
        sensing.extend(collisions.end_watch(|slot| bodies.at(slot).map(BodyState::placed)));
        // several pieces of one shape may overlap
        sensing.sort_unstable();
        sensing.dedup();
    }
}
