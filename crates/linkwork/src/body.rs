//! Bodies of a running world.

use crate::collide::shape::Collider;
use crate::math::inertia::MassProperties;
use crate::math::{Placed, Pose, Twist};
use crate::particle::couple::Pushed;
use crate::scene::{BodyKind, Shape};
use glam::{DQuat, DVec3};
use std::sync::Arc;

/// A body: its state is kept at the centre of mass, in principal axes.
///
/// What every step reads and writes comes first, in few lines of the cache. What is only looked at by users is behind shared pointers:
/// copies of a world, which some steps make, share it, and a `String` or `Vec` here would be where `Option<BodyState>` keeps its tag, far from
/// the rest.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct BodyState {
    /// Centre of mass.
    pub x: DVec3,
    /// World from principal axes.
    pub q: DQuat,
    /// How long before the end of the last step it had its velocities, s: half of that step if it was pushed by what it touches, or
    /// half a substep in a pile.
    pub lag: f64,
    /// Velocity of the centre of mass.
    pub v: DVec3,
    /// Angular velocity, world axes.
    pub w: DVec3,
    pub gravity_scale: f64,
    /// How long it has been at rest, s, and whether it sleeps.
    pub at_rest: f64,
    /// Linear and angular acceleration of the last step, for the robust step: (v̇, body Ω̇), algorithmic and true.
    pub memory: Accelerations,
    pub asleep: bool,
    pub kind: BodyKind,
    /// What particles do to it in this step, or did in the last.
    pub pushed: Option<Box<Pushed>>,
    pub linear_damping: f64,
    pub angular_damping: f64,
    /// Applied by the user since the last step, at the centre of mass.
    pub force: DVec3,
    pub torque: DVec3,
    pub mass: MassProperties,
    pub name: Arc<str>,
    pub shapes: Arc<[Shape]>,
    /// The shapes compiled for collision.
    pub colliders: Arc<[Collider]>,
    /// What the user should know about the shapes, in plain words.
    pub warnings: Arc<[String]>,
}

/// What generalised-α carries from step to step: its averaged acceleration and the true one, hat coordinates of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Accelerations {
    pub averaged: [f64; 6],
    pub last: [f64; 6],
}

impl BodyState {
    pub fn is_dynamic(&self) -> bool {
        self.kind == BodyKind::Dynamic
    }

    /// Force and torque by particles within this step, if they push it.
    pub fn push_by_particles(&self) -> Option<(DVec3, DVec3)> {
        self.pushed.as_ref().filter(|p| p.is_push()).map(|p| (p.force, p.torque))
    }

    /// What forces on it, and its own share of gravity, may add to what gravity does to all, m/s².
    pub fn acceleration_beyond_gravity(&self, gravity: DVec3) -> f64 {
        if !self.is_dynamic() {
            return 0.0;
        }
        let more = gravity.length() * (self.gravity_scale.abs() - 1.0).max(0.0);
        if self.force == DVec3::ZERO { more } else { more + self.force.length() / self.mass.mass }
    }

    pub fn kinetic_energy(&self) -> f64 {
        let spin = self.q.inverse() * self.w;
        0.5 * self.mass.mass * self.v.length_squared() + 0.5 * spin.dot(self.mass.moments * spin)
    }

    pub fn wake(&mut self) {
        (self.asleep, self.at_rest) = (false, 0.0);
    }

    pub fn placed(&self) -> Placed {
        Placed::new(self.x, self.q)
    }

    pub fn pose(&self) -> Pose {
        let orientation = self.q * self.mass.axes.inverse();
        Pose { position: self.x - orientation * self.mass.center, orientation }
    }

    pub fn set_pose(&mut self, pose: Pose) {
        self.x = pose.transform(self.mass.center);
        self.q = (pose.orientation * self.mass.axes).normalize();
    }

    pub fn twist(&self) -> Twist {
        let lever = self.pose().position - self.x;
        Twist { linear: self.v + self.w.cross(lever), angular: self.w }
    }

    pub fn set_twist(&mut self, twist: Twist) {
        let lever = self.x - self.pose().position;
        self.v = twist.linear + twist.angular.cross(lever);
        self.w = twist.angular;
    }

    /// A point of the body frame, in the principal frame at the centre of mass.
    pub fn to_principal(&self, point: DVec3) -> DVec3 {
        self.mass.axes.inverse() * (point - self.mass.center)
    }

    /// A direction of the body frame, in the principal frame.
    pub fn direction_to_principal(&self, direction: DVec3) -> DVec3 {
        self.mass.axes.inverse() * direction
    }
}
