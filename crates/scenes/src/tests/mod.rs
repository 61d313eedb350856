//! Geometry checked without the engine: what a scene says must hold before anything moves.

mod exact;
mod mechanisms;
mod parameters;
mod rank;
mod wellformed;

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, JointKind, WORLD};

use crate::find;

fn build(name: &str, settings: &[(&str, f64)]) -> Scene {
    let settings: Vec<_> = settings.iter().map(|(key, value)| (key.to_string(), *value)).collect();
    find(name).unwrap().build(&settings).unwrap_or_else(|error| panic!("{error}"))
}

fn body<'a>(scene: &'a Scene, name: &str) -> &'a Body {
    scene.bodies.iter().find(|body| body.name == name).unwrap_or_else(|| panic!("no body {name}"))
}

/// Pose and velocity of a body or of the world.
struct Motion {
    position: DVec3,
    turn: DQuat,
    velocity: DVec3,
    turning: DVec3,
}

impl Motion {
    fn of(scene: &Scene, name: Option<&str>) -> Self {
        let name = name.unwrap_or(WORLD);
        if name == WORLD {
            return Motion {
                position: DVec3::ZERO,
                turn: DQuat::IDENTITY,
                velocity: DVec3::ZERO,
                turning: DVec3::ZERO,
            };
        }
        let body = body(scene, name);
        let [w, x, y, z] = body.orientation;
        Motion {
            position: body.position.into(),
            turn: DQuat::from_xyzw(x, y, z, w),
            velocity: body.velocity.into(),
            turning: body.angular_velocity.into(),
        }
    }

    fn point(&self, local: impl Into<DVec3>) -> DVec3 {
        self.position + self.turn * local.into()
    }

    fn velocity_at(&self, point: DVec3) -> DVec3 {
        self.velocity + self.turning.cross(point - self.position)
    }
}

/// Number of conditions that a joint puts on the motion of its bodies.
fn rows(kind: JointKind) -> usize {
    match kind {
        JointKind::Fixed => 6,
        JointKind::Hinge | JointKind::Slider | JointKind::Screw => 5,
        JointKind::Cylindrical | JointKind::Universal => 4,
        JointKind::Ball | JointKind::Planar | JointKind::Orientation => 3,
        JointKind::PointOnLine => 2,
        JointKind::PointOnPlane | JointKind::Distance => 1,
        JointKind::Gear | JointKind::Rack | JointKind::Differential => 1,
        JointKind::Rope => 0,
    }
}

fn total_rows(scene: &Scene) -> usize {
    scene.joints.iter().map(|joint| rows(joint.kind)).sum()
}
