//! A scene as every engine can read it: everything resolved, nothing left to conventions.
//!
//! SI units, quaternions (w, x, y, z). Bodies and joints refer to each other by index; −1 is the world.

use serde::{Deserialize, Serialize};

/// A scene at its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scene {
    /// What it is called in tables.
    pub name: String,
    /// Gravitational acceleration, m/s².
    pub gravity: [f64; 3],
    /// Step size, s.
    pub h: f64,
    /// Time to simulate, s.
    pub duration: f64,
    /// Whether anything collides.
    pub collisions: bool,
    /// In the order in which trajectories list them.
    pub bodies: Vec<Body>,
    /// In Linkwork's order.
    pub joints: Vec<Joint>,
}

/// A rigid body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// Whether forces move it; otherwise it never moves.
    pub dynamic: bool,
    /// Origin of its frame.
    pub position: [f64; 3],
    /// World from body.
    pub orientation: [f64; 4],
    /// Velocity of the centre of mass.
    pub velocity: [f64; 3],
    /// In world axes.
    pub angular_velocity: [f64; 3],
    /// Zero if it is not dynamic.
    pub mass: f64,
    /// Centre of mass in the body's frame.
    pub center: [f64; 3],
    /// Principal moments about the centre of mass.
    pub moments: [f64; 3],
    /// Body frame from principal axes.
    pub axes: [f64; 4],
    /// What collides; empty if nothing does.
    pub shapes: Vec<Shape>,
}

/// A solid fixed to a body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shape {
    /// Its geometry.
    pub solid: Solid,
    /// Its origin in the body's frame.
    pub position: [f64; 3],
    /// Body from shape.
    pub orientation: [f64; 4],
    /// Coulomb's coefficient.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Groups it belongs to.
    pub group: u32,
    /// Groups it collides with.
    pub mask: u32,
}

/// Geometry, centred on its origin; capsules and cylinders along z.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solid {
    /// Full extents.
    Box { size: [f64; 3] },
    /// A ball.
    Sphere { radius: f64 },
    /// `length` is that of the segment between the half balls.
    Capsule { radius: f64, length: f64 },
    /// With flat ends.
    Cylinder { radius: f64, length: f64 },
    /// Everything below z = 0.
    Plane,
}

/// What a joint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Two points coincide.
    Ball,
    /// And two axes.
    Hinge,
}

/// A joint. Bodies that are joined do not collide with each other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Joint {
    /// What it holds.
    pub kind: JointKind,
    /// Index of the first body.
    pub a: i64,
    /// Index of the second body.
    pub b: i64,
    /// Its point in the frame of a.
    pub point_a: [f64; 3],
    /// Its point in the frame of b.
    pub point_b: [f64; 3],
    /// Frame of a from the joint's frame, whose z is the axis.
    pub turn_a: [f64; 4],
    /// The same for b.
    pub turn_b: [f64; 4],
}
