//! Linkages have the lengths, the closures and the row counts that their headers promise.

use glam::{DVec2, DVec3};
use linkwork::Scene;
use linkwork::scene::{Geometry, JointKind, Motor};

use super::{Motion, body, build, total_rows};
use crate::strandbeest::{Leg, jansen};

fn assert_close(value: f64, expected: f64, what: &str) {
    assert!((value - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{what}: {value} instead of {expected}");
}

#[test]
fn jansens_lengths_hold_all_the_way_round() {
    for step in 0..720 {
        let angle = f64::from(step).to_radians() / 2.0;
        for mirrored in [false, true] {
            let leg = Leg::new(angle, mirrored);
            assert_close(leg.pin.x, jansen::M * angle.cos(), "crank pin");
            assert_close(leg.pin.y, jansen::M * angle.sin(), "crank pin");
            for (name, from, to, length) in [
                ("b", leg.pivot, leg.upper, 0.415),
                ("c", leg.pivot, leg.knee, 0.393),
                ("d", leg.pivot, leg.outer, 0.401),
                ("e", leg.upper, leg.outer, 0.558),
                ("f", leg.outer, leg.heel, 0.394),
                ("g", leg.heel, leg.knee, 0.367),
                ("h", leg.heel, leg.foot, 0.657),
                ("i", leg.knee, leg.foot, 0.490),
                ("j", leg.pin, leg.upper, 0.500),
                ("k", leg.pin, leg.knee, 0.619),
            ] {
                assert_close(from.distance(to), length, name);
            }
            assert_close(leg.pivot.x.abs(), 0.380, "a");
            assert_close(leg.pivot.y, -0.078, "l");
        }
    }
}

/// Jansen's foot is on the ground, moving almost level, for about half of the turn: a wrong branch would not do that.
#[test]
fn jansens_foot_walks() {
    let path: Vec<DVec2> = (0..360).map(|degree| Leg::new(f64::from(degree).to_radians(), false).foot).collect();
    let lowest = path.iter().map(|foot| foot.y).fold(f64::INFINITY, f64::min);
    let on_ground: Vec<&DVec2> = path.iter().filter(|foot| foot.y < lowest + 0.02).collect();
    let (left, right) =
        on_ground.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, r), foot| (l.min(foot.x), r.max(foot.x)));
    assert!(on_ground.len() > 140, "on the ground for {} degrees", on_ground.len());
    assert!(right - left > 0.45, "a stride of {} m", right - left);
    assert!(lowest < -0.8, "the foot is below everything else");
}

#[test]
fn strandbeest_has_nine_hinges_a_leg() {
    for legs in [12, 50] {
        let scene = build("strandbeest", &[("legs", legs as f64), ("fixed_frame", 0.0)]);
        assert_eq!(scene.bodies.len(), 6 * legs + 2);
        assert_eq!(total_rows(&scene), 45 * legs + 5);
        println!("strandbeest with {legs} legs: {} rows", total_rows(&scene));
    }
    let scene = build("strandbeest", &[("load", 20.0)]);
    let machine = 1.9 * 12.0;
    let mass: f64 = scene.bodies.iter().filter_map(|body| body.mass).sum();
    assert_close(mass, 21.0 * machine, "mass with load");
}

#[test]
fn strandbeest_feet_start_above_the_ground() {
    let scene = build("strandbeest", &[]);
    let feet = scene.bodies.iter().filter(|body| body.name.ends_with("ghi")).map(|body| {
        let sole = body.shapes.last().unwrap();
        body.position[2] + sole.position[2] - 0.01
    });
    assert_close(feet.fold(f64::INFINITY, f64::min), 0.4, "lowest foot");
}

#[test]
fn peaucelliers_point_lies_on_the_line_in_every_pose() {
    for angle in [-41.4, -30.0, 0.0, 12.5, 41.3, 41.4] {
        let scene = build("peaucellier", &[("angle", angle)]);
        assert_eq!(total_rows(&scene), 50);
        let tips = ["AQ", "BQ"].map(|name| Motion::of(&scene, Some(name)).point([0.4, 0.0, 0.0]));
        for tip in tips {
            assert!((tip.z + 2.1).abs() < 1e-12, "at {angle}°: {tip}");
            assert!((tip - tips[0]).length() < 1e-12, "the bars to Q meet");
        }
        let expected = [("OA", 2.0), ("OB", 2.0), ("AP", 0.8), ("BP", 0.8), ("AQ", 0.8), ("BQ", 0.8), ("EP", 0.8)];
        for (name, length) in expected {
            assert_close(bar_length(&scene, name), length, name);
        }
    }
}

fn bar_length(scene: &Scene, name: &str) -> f64 {
    match body(scene, name).shapes[0].geometry {
        Geometry::Box { size } => size[0],
        ref other => panic!("not a bar: {other:?}"),
    }
}

/// Bars of these linkages end exactly where their hinges are.
#[test]
fn hinges_sit_on_the_ends_of_bars() {
    for (name, settings) in
        [("four-bar", vec![]), ("peaucellier", vec![("angle", 20.0)]), ("strandbeest", vec![("legs", 7.0)])]
    {
        let scene = build(name, &settings);
        for joint in &scene.joints {
            for end in [&joint.a, &joint.b].into_iter().flatten() {
                let Some(bar) = scene.bodies.iter().find(|body| &body.name == end && body.shapes.len() == 1) else {
                    continue;
                };
                let motion = Motion::of(&scene, Some(end));
                let local = motion.turn.inverse() * (DVec3::from(joint.at.unwrap()) - motion.position);
                let half = bar_length(&scene, &bar.name) / 2.0;
                let off = (local.abs() - DVec3::X * half).length();
                assert!(off < 1e-12, "{name}: joint {} is {off} m off the end of {end}", joint.name);
            }
        }
    }
}

#[test]
fn crane_is_in_balance_with_the_forces_computed_by_hand() {
    let scene = build("crane-load", &[]);
    let (gravity, tension, hinge) = (9.81, 187_289.25, DVec3::new(149_831.40, 0.0, -36_395.10));
    let weight = |name: &str| DVec3::NEG_Z * gravity * body(&scene, name).mass.unwrap();
    let at = |name: &str| DVec3::from(scene.joints.iter().find(|joint| joint.name == name).unwrap().at.unwrap());
    let along_tie = (at("tie head") - at("tie foot")).normalize();
    let tie_on_boom = tension * along_tie + weight("tie") / 2.0;
    let hanging = weight("sling") + weight("load");
    let sum = hinge + tie_on_boom + weight("boom") + hanging;
    let center = DVec3::from(body(&scene, "boom").position);
    let moment = at("tie foot").cross(tie_on_boom) + center.cross(weight("boom")) + at("tip").cross(hanging);
    assert!(sum.length() < 1e-6 && moment.length() < 1e-6, "force {sum}, moment {moment}");
    assert_eq!(total_rows(&scene), 6 * 4 - 6, "nothing is free but the hanging load, nothing is redundant");
}

#[test]
fn stewart_rams_reach_the_pose_asked_for() {
    let scene = build("stewart", &[]);
    assert_eq!((scene.bodies.len(), total_rows(&scene)), (14, 72));
    let still = build("stewart", &[("surge", 0.0), ("heave", 0.0), ("roll", 0.0), ("pitch", 0.0), ("yaw", 0.0)]);
    for joint in still.joints.iter().filter(|joint| joint.name.starts_with("ram")) {
        let Some(Motor::Servo { target, .. }) = joint.coordinates[0].motor else { panic!("no servo") };
        assert!(target.abs() < 1e-12, "a platform that stays needs no stroke");
    }
}

#[test]
fn larger_scenes_have_the_rows_that_are_quoted() {
    for (name, rows) in [("spider", 653), ("walker", 126)] {
        assert_eq!(total_rows(&build(name, &[])), rows, "{name}");
    }
}

#[test]
fn tube_is_as_large_as_tomcins() {
    let scene = build("tube", &[("rings", 8.0)]);
    let rows = total_rows(&scene);
    assert_eq!((scene.bodies.len(), rows), (3220, 18_680));
    assert!((rows as f64 / 18_981.0 - 1.0).abs() < 0.02);
}

/// Joints are placed in the world, so what can go wrong is a rod that does not reach its hub.
#[test]
fn tube_rods_reach_from_hub_to_hub() {
    let scene = build("tube", &[("rings", 2.0)]);
    for joint in scene.joints.iter().filter(|joint| joint.kind == JointKind::Universal) {
        let at = DVec3::from(joint.at.unwrap());
        let hub = body(&scene, joint.a.as_deref().unwrap());
        assert!((DVec3::from(hub.position) - at).length() < 1e-12, "{}", joint.name);
        let rod = body(&scene, joint.b.as_deref().unwrap());
        let Geometry::Cylinder { length, .. } = rod.shapes[0].geometry else { panic!("{} is no rod", rod.name) };
        let local = Motion::of(&scene, Some(&rod.name)).turn.inverse() * (at - DVec3::from(rod.position));
        assert!((local.abs() - DVec3::X * length / 2.0).length() < 1e-12, "{}", joint.name);
    }
}

#[test]
fn excavator_weighs_eight_tonnes_without_its_load() {
    let mass =
        |load: f64| build("excavator", &[("load", load)]).bodies.iter().filter_map(|body| body.mass).sum::<f64>();
    assert_close(mass(0.0), 8000.0, "empty");
    assert_close(mass(1000.0), 9000.0, "loaded");
}

#[test]
fn every_kind_of_joint_is_on_show() {
    let scene = build("joints", &[]);
    let kinds = [
        JointKind::Ball,
        JointKind::Hinge,
        JointKind::Slider,
        JointKind::Cylindrical,
        JointKind::Planar,
        JointKind::Universal,
        JointKind::Fixed,
        JointKind::PointOnLine,
        JointKind::PointOnPlane,
        JointKind::Orientation,
        JointKind::Distance,
        JointKind::Rope,
        JointKind::Screw,
        JointKind::Gear,
        JointKind::Rack,
        JointKind::Differential,
    ];
    for kind in kinds {
        let on_show = scene.joints.iter().any(|joint| joint.kind == kind && joint.name.ends_with(".joint"));
        assert!(on_show, "{kind:?} has no exhibit");
    }
}
