//! Piles so large that they are swept over in parts.

use crate::common::Run;
use crate::determinism::any_number_of_threads_agrees;
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Scene, Shape};

const FRICTION: f64 = 0.5;
const LAYERS: usize = 4;
const ACROSS: usize = 13;
const ALONG: usize = 22;

/// A crate full of pairs of capsules, most joined by balls and some by hinges with limits, and of spheres without joints: one pile of
/// 2288 bodies.
fn full_crate() -> Scene {
    let mut scene = Scene::new("crate");
    let (x, y) = (0.21 * ACROSS as f64, 0.105 * ALONG as f64);
    let mut ground = Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(FRICTION));
    for (at, size) in [
        ([-0.1, 0.5 * y, 1.0], [0.2, y + 0.4, 2.0]),
        ([x + 0.1, 0.5 * y, 1.0], [0.2, y + 0.4, 2.0]),
        ([0.5 * x, -0.1, 1.0], [x + 0.4, 0.2, 2.0]),
        ([0.5 * x, y + 0.1, 1.0], [x + 0.4, 0.2, 2.0]),
    ] {
        ground = ground.placed_shape(Shape::new(Geometry::Box { size }).at(at).friction(FRICTION));
    }
    scene.body(ground);
    for k in 0..LAYERS * ACROSS * ALONG {
        let (layer, i, j) = (k / (ACROSS * ALONG), k / ALONG % ACROSS, k % ALONG);
        let middle = DVec3::new(0.105 + 0.21 * i as f64, 0.0525 + 0.105 * j as f64, 0.0505 + 0.101 * layer as f64);
        let joined = k % 9 != 4;
        for (side, aside) in [("a", -0.05), ("b", 0.05)] {
            let shape = match joined {
                true => Geometry::Capsule { radius: 0.045, length: 0.01 },
                false => Geometry::Sphere { radius: 0.045 },
            };
            let body = Body::new(format!("{k}{side}")).at(middle + DVec3::X * aside).with_mass(1.0);
            scene.body(body.placed_shape(Shape::new(shape).friction(FRICTION)));
        }
        let (a, b) = (format!("{k}a"), format!("{k}b"));
        if joined && k % 5 == 0 {
            let mut hinge = Joint::hinge(format!("{k}"), a, b, middle, DVec3::Y);
            if k % 10 == 0 {
                hinge.coordinates.push(Coordinate::of("angle").limit(Some(-0.3), Some(0.3)));
            }
            scene.joint(hinge);
        } else if joined {
            scene.joint(Joint::ball(format!("{k}"), a, b, middle));
        }
    }
    scene
}

#[test]
fn a_pile_in_parts_is_the_same_in_any_number_of_threads() {
    any_number_of_threads_agrees(&full_crate(), "crate", 12);
}

/// What the ground gives to all that lies in the crate, and gravity, is what its momentum gains: impulses across parts are neither lost
/// nor given twice. Joints stay closed and nothing sinks in.
#[test]
fn a_pile_in_parts_obeys_newton() {
    let mut run = Run::new(&full_crate(), 1.0 / 60.0);
    let bodies: Vec<_> = run.world.body_ids().filter(|&b| run.world.mass(b).is_some()).collect();
    assert_eq!(bodies.len(), 2 * LAYERS * ACROSS * ALONG);
    let ground = run.world.body_ids().find(|&b| run.world.mass(b).is_none()).unwrap();
    run.to(0.5);
    let momentum = |run: &Run| -> DVec3 {
        bodies.iter().map(|&b| run.world.mass(b).unwrap() * run.world.velocity(b).unwrap().linear).sum()
    };
    let (before, mut given, steps) = (momentum(&run), DVec3::ZERO, 30);
    for _ in 0..steps {
        let report = run.step();
        assert!(report.joint_error.max_m < 1e-9 && report.penetration_m < 2e-3, "{report:?}");
        for contact in run.world.contacts() {
            let sign = f64::from(contact.a == ground) - f64::from(contact.b == ground);
            given += sign * contact.force / 60.0;
        }
    }
    let weight = run.world.gravity() * bodies.len() as f64 * f64::from(steps) / 60.0;
    let missing = momentum(&run) - before - given - weight;
    assert!(missing.length() < 2e-3 * weight.length(), "{missing} of {weight} N s");
}
