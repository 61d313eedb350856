//! What must hold for every scene, in several sizes.

use std::collections::HashSet;

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{BodyKind, Geometry, Joint, JointKind, WORLD};

use super::{Motion, body, build};
use crate::all;

/// Every scene with its defaults, and with each parameter at other values that it allows.
fn every_scene() -> Vec<Scene> {
    let others: &[(&str, &[(&str, f64)])] = &[
        ("tree", &[("bodies", 3.0)]),
        ("tree", &[("bodies", 31.0)]),
        ("star", &[("bodies", 3.0)]),
        ("wrecking-ball", &[("links", 1.0), ("mass", 1e6)]),
        ("scissor-lift", &[("pairs", 1.0)]),
        ("scissor-lift", &[("pairs", 50.0)]),
        ("car", &[("held", 0.0), ("steer", -30.0)]),
        ("crane-load", &[("load", 1e6)]),
        ("excavator", &[("load", 0.0), ("motion", 1.0)]),
        ("peaucellier", &[("angle", -41.4)]),
        ("peaucellier", &[("angle", 0.0)]),
        ("spider", &[("legs", 1.0)]),
        ("spider", &[("legs", 200.0)]),
        ("stewart", &[("heave", -0.2), ("pitch", 15.0), ("yaw", -20.0)]),
        ("strandbeest", &[("legs", 1.0), ("fixed_frame", 0.0)]),
        ("strandbeest", &[("legs", 50.0), ("load", 20.0)]),
        ("tube", &[("rings", 1.0), ("cells", 5.0)]),
        ("tube", &[("rings", 20.0), ("stiffness", 0.0)]),
        ("walker", &[("legs", 12.0), ("held", 0.0)]),
        ("walker", &[("ground", 1.0)]),
        ("car", &[("ground", 1.0), ("bumps", 0.2)]),
        ("strandbeest", &[("ground", 1.0), ("load", 20.0), ("slope", 0.2)]),
        ("excavator", &[("motion", 2.0)]),
        ("rings", &[("rings", 3.0)]),
        ("net", &[("meshes", 1.0), ("boxes", 1.0)]),
        ("bridge", &[("rings", 1.0)]),
        ("cradle", &[("balls", 7.0), ("lifted", 3.0)]),
        ("gripper", &[("lift", 0.0), ("mass", 1e4)]),
        ("magnets", &[("letters", 30.0), ("friction", 0.0)]),
        ("tank", &[("left", -2.0), ("table", 0.0)]),
        ("top", &[("steady", 1.0)]),
        ("top", &[("tilt", 90.0), ("steady", 1.0)]),
        ("top", &[("tilt", 180.0), ("spin", -3.0)]),
    ];
    let defaults = all().iter().map(|entry| entry.default_scene());
    defaults.chain(others.iter().map(|(name, settings)| build(name, settings))).collect()
}

fn is_coupling(joint: &Joint) -> bool {
    matches!(joint.kind, JointKind::Gear | JointKind::Rack | JointKind::Differential)
}

#[test]
fn scenes_say_what_they_are_and_how_long_they_run() {
    for scene in every_scene() {
        assert!(!scene.name.is_empty() && scene.description.ends_with('.'), "{}", scene.name);
        assert!(scene.step.dt > 0.0 && scene.step.duration > scene.step.dt, "{}", scene.name);
        assert!(!scene.bodies.is_empty(), "{}", scene.name);
        assert!(scene.collisions || !scene.joints.is_empty(), "{}: nothing holds anything", scene.name);
    }
}

#[test]
fn names_are_unique_and_references_resolve() {
    for scene in every_scene() {
        let bodies: HashSet<_> = scene.bodies.iter().map(|body| body.name.as_str()).collect();
        let joints: HashSet<_> = scene.joints.iter().map(|joint| joint.name.as_str()).collect();
        assert_eq!(bodies.len(), scene.bodies.len(), "{}: bodies share a name", scene.name);
        assert_eq!(joints.len(), scene.joints.len(), "{}: joints share a name", scene.name);
        assert!(!bodies.contains(WORLD) && !bodies.contains("") && !joints.contains(""), "{}", scene.name);
        for joint in &scene.joints {
            let at = format!("{}: joint {}", scene.name, joint.name);
            for end in [&joint.a, &joint.b].into_iter().flatten() {
                assert!(end == WORLD || bodies.contains(end.as_str()), "{at} refers to body {end}");
            }
            assert!(is_coupling(joint) || joint.a != joint.b, "{at} joins a body to itself");
            let expected = match joint.kind {
                JointKind::Differential => 3,
                JointKind::Gear | JointKind::Rack => 2,
                _ => 0,
            };
            assert_eq!(joint.joints.len(), expected, "{at}");
            for coupled in &joint.joints {
                assert!(joints.contains(coupled.as_str()), "{at} refers to joint {coupled}");
            }
        }
    }
}

#[test]
fn bodies_have_mass_and_something_to_look_at() {
    for scene in every_scene() {
        for body in &scene.bodies {
            let at = format!("{}: body {}", scene.name, body.name);
            let numbers = body.position.iter().chain(&body.orientation).chain(&body.velocity);
            assert!(numbers.chain(&body.angular_velocity).all(|number| number.is_finite()), "{at}");
            let norm: f64 = body.orientation.iter().map(|c| c * c).sum();
            assert!((norm - 1.0).abs() < 1e-12, "{at}: orientation of norm {norm}");
            assert!(!body.shapes.is_empty(), "{at} has no shape");
            for shape in &body.shapes {
                let sizes = match shape.geometry {
                    Geometry::Sphere { radius } => vec![radius],
                    Geometry::Box { size } => size.to_vec(),
                    Geometry::Capsule { radius, length } | Geometry::Cylinder { radius, length } => {
                        vec![radius, length]
                    }
                    Geometry::Plane => vec![],
                    Geometry::HeightField { size, .. } => size.to_vec(),
                    Geometry::ConvexHull { ref points } => {
                        let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| {
                            (l.min(DVec3::from(*p)), h.max(DVec3::from(*p)))
                        });
                        (high - low).to_array().to_vec()
                    }
                    ref other => panic!("{at}: teach this test about {other:?}"),
                };
                assert!(sizes.iter().all(|size| *size > 0.0 && size.is_finite()), "{at}: shape of size {sizes:?}");
                let norm: f64 = shape.orientation.iter().map(|c| c * c).sum();
                assert!((norm - 1.0).abs() < 1e-12, "{at}: shape orientation of norm {norm}");
            }
            if body.kind == BodyKind::Dynamic {
                assert!(body.mass.or(body.density).is_some_and(|amount| amount > 0.0), "{at} has no mass");
            }
            if let Some([x, y, z]) = body.inertia {
                assert!(x + y >= z && y + z >= x && z + x >= y, "{at}: no solid has inertia {:?}", body.inertia);
            }
        }
    }
}

#[test]
fn joints_are_placed_and_their_coordinates_exist() {
    for scene in every_scene() {
        for joint in scene.joints.iter().filter(|joint| !is_coupling(joint)) {
            let at = format!("{}: joint {}", scene.name, joint.name);
            let by_frames = joint.frame_a.is_some() && joint.frame_b.is_some();
            assert!(joint.at.is_some() != by_frames, "{at} must be placed in exactly one way");
            let free_of_axes = matches!(
                joint.kind,
                JointKind::Ball | JointKind::Fixed | JointKind::Orientation | JointKind::Distance | JointKind::Rope
            );
            if !by_frames && !free_of_axes {
                assert!(joint.axis.is_some_and(|axis| DVec3::from(axis).length() > 0.1), "{at} has no axis");
            }
            if joint.kind == JointKind::Universal && !by_frames {
                let (first, second) = (DVec3::from(joint.axis.unwrap()), DVec3::from(joint.second_axis.unwrap()));
                assert!(first.dot(second).abs() < 1e-12, "{at}: the axes of the cross are not perpendicular");
            }
            assert_eq!(joint.pitch.is_some(), joint.kind == JointKind::Screw, "{at}");
            for coordinate in &joint.coordinates {
                let allowed = coordinates(joint.kind);
                let name = coordinate.of.as_deref().unwrap_or(allowed.first().copied().unwrap_or("none"));
                assert!(allowed.contains(&name), "{at} has no coordinate {name}");
            }
        }
    }
}

fn coordinates(kind: JointKind) -> &'static [&'static str] {
    match kind {
        JointKind::Ball => &["x", "y", "z", "swing", "twist"],
        JointKind::Hinge => &["angle"],
        JointKind::Slider | JointKind::PointOnLine => &["displacement"],
        JointKind::Cylindrical => &["displacement", "angle"],
        JointKind::Planar => &["x", "y", "angle"],
        JointKind::Universal => &["angle_a", "angle_b"],
        JointKind::PointOnPlane => &["x", "y"],
        JointKind::Orientation => &["x", "y", "z"],
        JointKind::Distance | JointKind::Rope => &["length"],
        JointKind::Screw => &["angle", "displacement"],
        JointKind::Fixed | JointKind::Gear | JointKind::Rack | JointKind::Differential => &[],
    }
}

#[test]
fn joints_given_by_frames_are_closed_at_the_start() {
    for scene in every_scene() {
        for joint in &scene.joints {
            let (Some(on_a), Some(on_b)) = (joint.frame_a, joint.frame_b) else { continue };
            let at = format!("{}: joint {}", scene.name, joint.name);
            let a = Motion::of(&scene, joint.a.as_deref());
            let b = Motion::of(&scene, joint.b.as_deref());
            let gap = b.point(on_b.position) - a.point(on_a.position);
            let axis = a.turn * DVec3::from(on_a.axis).normalize();
            let open = match joint.kind {
                JointKind::Distance => joint.length.map_or(0.0, |length| (gap.length() - length).abs()),
                JointKind::Rope | JointKind::Orientation => 0.0,
                JointKind::PointOnLine | JointKind::Slider | JointKind::Cylindrical => gap.cross(axis).length(),
                JointKind::PointOnPlane | JointKind::Planar => gap.dot(axis).abs(),
                _ => gap.length(),
            };
            assert!(open < 1e-9, "{at} is open by {open} m");
            if matches!(joint.kind, JointKind::Hinge | JointKind::Slider | JointKind::Cylindrical | JointKind::Planar) {
                let skew = axis.cross(b.turn * DVec3::from(on_b.axis).normalize()).length();
                assert!(skew < 1e-9, "{at} is skew by {skew} rad");
            }
        }
    }
}

#[test]
fn velocities_at_the_start_keep_joints_closed() {
    for scene in every_scene() {
        for joint in &scene.joints {
            let Some(point) = joint.at.map(DVec3::from) else { continue };
            let at = format!("{}: joint {}", scene.name, joint.name);
            let a = Motion::of(&scene, joint.a.as_deref());
            let b = Motion::of(&scene, joint.b.as_deref());
            let sliding = b.velocity_at(point) - a.velocity_at(point);
            let turning = b.turning - a.turning;
            let axis = joint.axis.map_or(DVec3::ZERO, |axis| DVec3::from(axis).normalize());
            let across = |vector: DVec3| (vector - vector.dot(axis) * axis).length();
            let (held_sliding, held_turning) = match joint.kind {
                JointKind::Ball => (sliding.length(), 0.0),
                JointKind::Hinge => (sliding.length(), across(turning)),
                JointKind::Fixed => (sliding.length(), turning.length()),
                JointKind::Slider => (across(sliding), turning.length()),
                JointKind::Cylindrical => (across(sliding), across(turning)),
                JointKind::Planar => (sliding.dot(axis).abs(), across(turning)),
                JointKind::Universal => {
                    let second = DVec3::from(joint.second_axis.unwrap()).normalize();
                    (sliding.length(), turning.dot(axis.cross(second)).abs())
                }
                JointKind::Screw => {
                    let lead = joint.pitch.unwrap() / std::f64::consts::TAU;
                    ((sliding - lead * turning.dot(axis) * axis).length(), across(turning))
                }
                JointKind::PointOnLine => (across(sliding), 0.0),
                JointKind::PointOnPlane => (sliding.dot(axis).abs(), 0.0),
                JointKind::Orientation => (0.0, turning.length()),
                _ => (0.0, 0.0),
            };
            let scale = 1.0 + a.velocity_at(point).length();
            assert!(held_sliding < 1e-9 * scale, "{at} opens at {held_sliding} m/s");
            assert!(held_turning < 1e-9, "{at} opens at {held_turning} rad/s");
        }
    }
}

/// A joint far away from both its bodies is a slip of the pen: every body has a shape near each of its joints.
#[test]
fn joints_touch_the_shapes_of_their_bodies() {
    for scene in every_scene() {
        // Where orientation is all that is held, or nothing is free, the point is only a reference.
        let has_a_place = |joint: &&Joint| !matches!(joint.kind, JointKind::Fixed | JointKind::Orientation);
        for joint in scene.joints.iter().filter(has_a_place) {
            let Some(point) = joint.at.map(DVec3::from) else { continue };
            for name in [&joint.a, &joint.b].into_iter().flatten().filter(|name| *name != WORLD) {
                let motion = Motion::of(&scene, Some(name));
                let local = motion.turn.inverse() * (point - motion.position);
                let nearest = body(&scene, name)
                    .shapes
                    .iter()
                    .map(|shape| {
                        let [w, x, y, z] = shape.orientation;
                        let turn = glam::DQuat::from_xyzw(x, y, z, w);
                        let p = turn.inverse() * (local - DVec3::from(shape.position));
                        distance_outside(&shape.geometry, p)
                    })
                    .fold(f64::INFINITY, f64::min);
                assert!(nearest < 0.1, "{}: joint {} is {nearest} m off body {name}", scene.name, joint.name);
            }
        }
    }
}

fn distance_outside(geometry: &Geometry, p: DVec3) -> f64 {
    let round = |radius: f64, half: f64| {
        let outside = DVec3::new((p.truncate().length() - radius).max(0.0), (p.z.abs() - half).max(0.0), 0.0);
        outside.length()
    };
    match *geometry {
        Geometry::Sphere { radius } => (p.length() - radius).max(0.0),
        Geometry::Box { size } => (p.abs() - DVec3::from(size) / 2.0).max(DVec3::ZERO).length(),
        Geometry::Capsule { radius, length } => round(radius, length / 2.0 + radius),
        Geometry::Cylinder { radius, length } => round(radius, length / 2.0),
        Geometry::ConvexHull { ref points } => {
            // the distance to its box is less than that to the hull
            let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| {
                (l.min(DVec3::from(*p)), h.max(DVec3::from(*p)))
            });
            (p - high).max(low - p).max(DVec3::ZERO).length()
        }
        ref other => panic!("teach this test about {other:?}"),
    }
}
