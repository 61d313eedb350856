//! Where a scene is going, as far as a short look ahead tells: pages lay their floor below all of it and place their camera
//! so that what swings stays in the picture.

use crate::render::solid;
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{BodyKind, Geometry, Shape};
use linkwork::{BodyId, Pose, Scratch, StepParams, World, step};
use linkwork_io::recording::particle_positions;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// So long is looked ahead, at most.
const LOOK_AHEAD: Duration = Duration::from_millis(60);
/// Simulated seconds that the camera shall show; what drives away later is followed by hand.
const FRAMED: f64 = 4.0;

/// What is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ahead {
    /// Lower corner of the box around everything during the first seconds, m.
    pub low: DVec3,
    /// Its upper corner.
    pub high: DVec3,
    /// The lowest point that is reached at all, m.
    pub floor: f64,
}

impl Ahead {
    /// Looks ahead for a duration of the scene (s) if that can be afforded. Leaves the world where that ends.
    pub fn of(world: &mut World, dt: f64, duration: f64, building: Duration) -> Ahead {
        let bodies: Vec<BodyId> = world.body_ids().collect();
        let (low, high) = spread(world, &bodies);
        let mut ahead = Ahead { low, high, floor: low.z };
        // what is slow to build is slow to step
        if building > LOOK_AHEAD {
            return ahead;
        }
        let begun = Instant::now();
        let moving: Vec<BodyId> =
            bodies.into_iter().filter(|&id| world.body_kind(id) != Some(BodyKind::Static)).collect();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(dt));
        while world.time() < duration && begun.elapsed() < LOOK_AHEAD {
            if step(world, &mut scratch, &params).is_err() {
                break;
            }
            let (low, high) = spread(world, &moving);
            ahead.floor = ahead.floor.min(low.z);
            if world.time() <= FRAMED {
                (ahead.low, ahead.high) = (ahead.low.min(low), ahead.high.max(high));
            }
        }
        ahead
    }

    /// For pages; nothing if there is nothing to see.
    pub fn as_json(&self) -> Value {
        match self.low.is_finite() && self.high.is_finite() {
            true => json!({"low": self.low.to_array(), "high": self.high.to_array(), "floor": self.floor}),
            false => Value::Null,
        }
    }
}

/// The box around all shapes and particles; inverted if there are none.
fn spread(world: &World, bodies: &[BodyId]) -> (DVec3, DVec3) {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for &id in bodies {
        let (Some(pose), Some(shapes)) = (world.pose(id), world.shapes(id)) else { continue };
        for shape in shapes.iter().filter(|shape| !shape.sensor) {
            let (least, most) = bounds(shape, &pose);
            (low, high) = (low.min(least), high.max(most));
        }
        if let Some(center) = world.center_of_mass(id).filter(|_| shapes.is_empty()) {
            (low, high) = (low.min(center), high.max(center));
        }
    }
    particle_positions(world).fold((low, high), |(low, high), point| (low.min(point), high.max(point)))
}

/// The box around a shape; inverted for a plane, which has no end.
fn bounds(shape: &Shape, pose: &Pose) -> (DVec3, DVec3) {
    let turn = pose.orientation * solid::orientation(shape);
    let center = pose.transform(DVec3::from(shape.position));
    let rounded = |half: &dyn Fn(DVec3) -> f64| {
        let reach = DVec3::from([DVec3::X, DVec3::Y, DVec3::Z].map(|axis| half(turn.inverse() * axis)));
        (center - reach, center + reach)
    };
    let aside = |d: DVec3| d.x.hypot(d.y);
    match &shape.geometry {
        Geometry::Box { size } => rounded(&|d| 0.5 * d.abs().dot(DVec3::from(*size))),
        Geometry::Sphere { radius } => rounded(&|_| *radius),
        Geometry::Capsule { radius, length } => rounded(&|d| 0.5 * length * d.z.abs() + radius),
        Geometry::Cylinder { radius, length } => rounded(&|d| 0.5 * length * d.z.abs() + radius * aside(d)),
        Geometry::ConvexHull { points } => around(points.iter().map(|p| DVec3::from(*p)), center, turn),
        Geometry::Mesh { vertices, .. } => around(vertices.iter().map(|p| DVec3::from(*p)), center, turn),
        geometry => around(solid::surface(geometry, 16).into_iter().flatten(), center, turn),
    }
}

fn around(points: impl Iterator<Item = DVec3>, center: DVec3, turn: DQuat) -> (DVec3, DVec3) {
    points
        .map(|point| center + turn * point)
        .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), point| (low.min(point), high.max(point)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::Scene;
    use linkwork::scene::Body;

    /// Looked at for a second, with a step of 1/60 s.
    fn second(scene: &Scene) -> Ahead {
        Ahead::of(&mut World::build(scene).unwrap(), 1.0 / 60.0, 1.0, Duration::ZERO)
    }

    #[test]
    fn boxes_are_around_their_shapes_whichever_way_they_lie() {
        let tilted = DQuat::from_euler(linkwork::glam::EulerRot::XYZ, 0.4, -0.9, 2.0);
        let pose = Pose { position: DVec3::new(1.0, 2.0, 3.0), orientation: tilted };
        for geometry in [
            Geometry::Box { size: [0.3, 0.8, 1.4] },
            Geometry::Sphere { radius: 0.4 },
            Geometry::Capsule { radius: 0.2, length: 0.9 },
            Geometry::Cylinder { radius: 0.3, length: 0.5 },
            Geometry::Cone { radius: 0.5, length: 1.1 },
        ] {
            let shape = Shape::new(geometry).at([0.2, -0.1, 0.5]);
            let corners = solid::surface(&shape.geometry, 64).into_iter().flatten();
            let drawn = corners.map(|point| pose.transform(solid::placed(&shape, point)));
            let drawn = drawn.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(a, b), p| (a.min(p), b.max(p)));
            let (low, high) = bounds(&shape, &pose);
            let off = (low - drawn.0).abs().max((high - drawn.1).abs()).max_element();
            assert!(off < 0.02, "{:?}: {off}", shape.geometry);
        }
    }

    #[test]
    fn a_fall_is_seen_before_it_happens() {
        let mut scene = Scene::new("stone");
        scene.body(Body::new("stone").with_mass(1.0).shape(Geometry::Sphere { radius: 0.1 }));
        let ahead = second(&scene);
        assert!(ahead.low.z < -1.0 && (ahead.high.z - 0.1).abs() < 1e-9, "{ahead:?}");
        assert_eq!(ahead.floor, ahead.low.z);
    }

    #[test]
    fn an_empty_scene_has_no_box() {
        assert_eq!(second(&Scene::new("nothing")).as_json(), Value::Null);
    }
}
