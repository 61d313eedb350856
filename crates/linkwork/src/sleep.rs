//! Sleep: what has come to rest is left alone until something disturbs it.
//!
//! Islands (and mechanisms and bodies that touch nothing) whose bodies have been slower than [`REST_SPEED`] for [`REST_TIME`] fall
//! asleep together: their velocities become zero, and they are not advanced. They wake together when a body of theirs is changed, pushed
//! or struck by the user, or comes within reach of something that moves.

use crate::handle::BodyId;
use crate::joint::JointState;
use crate::math::max_abs;
use crate::world::World;
use glam::DVec3;

/// Slower than this counts as rest, m/s (angular velocity by the radius of gyration).
const REST_SPEED: f64 = 1e-3;
/// How long it must last, s.
const REST_TIME: f64 = 0.5;

impl World {
    /// Whether a body sleeps. Only with [`crate::StepParams::sleeping`]. What is pushed or changed is awake at once, and so is what it is joined
    /// to and touches; what comes within reach of something that moves wakes in the next step.
    pub fn is_asleep(&self, id: BodyId) -> bool {
        self.bodies.get(id).is_some_and(|b| b.asleep)
    }

    /// Wakes a body, and with it at once what it is joined to and touches.
    pub fn wake(&mut self, id: BodyId) {
        if self.is_asleep(id) {
            self.wake_with_neighbours(id);
        }
        if let Some(body) = self.bodies.get_mut(id) {
            body.wake();
        }
    }

    /// Wakes a sleeper and, from one to the next, the sleepers that joints and contacts connect it with: all that would wake with it in the next
    /// step, so that [`World::is_asleep`] is right before it.
    fn wake_with_neighbours(&mut self, id: BodyId) {
        // what does not sleep, as what forces do not move, hands nothing on
        let sleeps = |slot: u32| self.bodies.at(slot as usize).is_some_and(|b| b.asleep);
        let mut pairs = Vec::new();
        let mut connect = |a: u32, b: u32| {
            if sleeps(a) && sleeps(b) {
                pairs.push((a, b));
            }
        };
        let ends = |joint: &JointState| [joint.a, joint.b].into_iter().flatten().map(|id| id.slot() as u32);
        for (_, joint) in self.joints.iter() {
            let coupled = joint.coupling.iter().flat_map(|coupling| &coupling.terms);
            let coupled = coupled.filter_map(|term| self.joints.get(term.joint)).flat_map(ends);
            let bodies: Vec<u32> = ends(joint).chain(coupled).collect();
            bodies.windows(2).for_each(|pair| connect(pair[0], pair[1]));
        }
        for manifold in self.collisions.manifolds.iter() {
            connect(manifold.a, manifold.b);
        }
        // many sleep by themselves: a list for every body of the world would be made for nothing
        let mut beside: Vec<Vec<u32>> = vec![Vec::new(); if pairs.is_empty() { 0 } else { self.bodies.slots() }];
        for (a, b) in pairs {
            beside[a as usize].push(b);
            beside[b as usize].push(a);
        }
        let mut waking = vec![id.slot() as u32];
        while let Some(slot) = waking.pop() {
            if let Some(body) = self.bodies.at_mut(slot as usize).filter(|b| b.asleep) {
                body.wake();
                beside.get_mut(slot as usize).into_iter().for_each(|others| waking.append(others));
            }
        }
    }

    /// Wakes every body.
    pub fn wake_all(&mut self) {
        self.bodies.iter_mut().for_each(|(_, body)| body.wake());
    }

    /// Wakes a group: its time of rest begins anew.
    pub(crate) fn wake_slots(&mut self, slots: &[u32]) {
        for &slot in slots {
            if let Some(body) = self.bodies.at_mut(slot as usize) {
                body.wake();
            }
        }
    }

    /// Wakes those of a group that sleep.
    pub(crate) fn wake_sleepers(&mut self, slots: &[u32]) {
        for &slot in slots {
            if let Some(body) = self.bodies.at_mut(slot as usize).filter(|b| b.asleep) {
                body.wake();
            }
        }
    }

    /// Whether all bodies of a group sleep.
    pub(crate) fn all_asleep(&self, slots: &[u32]) -> bool {
        slots.iter().all(|&slot| self.bodies.at(slot as usize).is_some_and(|b| b.asleep))
    }

    /// Notes how long a body has been at rest.
    pub(crate) fn note_rest(&mut self, dt: f64) {
        for (_, body) in self.bodies.iter_mut().filter(|(_, b)| b.is_dynamic() && !b.asleep) {
            let gyration = (max_abs(body.mass.moments.to_array()) / body.mass.mass).sqrt();
            let speed = body.v.length() + body.w.length() * gyration;
            body.at_rest = if speed < REST_SPEED { body.at_rest + dt } else { 0.0 };
        }
    }

    /// Puts a group to sleep if all of it has been at rest for long enough.
    pub(crate) fn fall_asleep(&mut self, slots: &[u32]) {
        let tired = |slot: &u32| self.bodies.at(*slot as usize).is_some_and(|b| b.at_rest >= REST_TIME);
        if !slots.iter().all(tired) {
            return;
        }
        for &slot in slots {
            let Some(body) = self.bodies.at_mut(slot as usize) else { continue };
            (body.asleep, body.v, body.w) = (true, DVec3::ZERO, DVec3::ZERO);
        }
    }
}
