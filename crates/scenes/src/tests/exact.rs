//! The scenes that are compared with other engines or with reference trajectories have exactly the numbers agreed on.

use glam::DVec3;
use linkwork::scene::{Geometry, JointKind};

use super::{Motion, body, build, total_rows};

fn box_size(geometry: &Geometry) -> [f64; 3] {
    match geometry {
        Geometry::Box { size } => *size,
        other => panic!("not a box: {other:?}"),
    }
}

#[test]
fn tree_bars_shrink_geometrically_and_hang_on_each_other() {
    let scene = build("tree", &[("bodies", 127.0)]);
    assert_eq!(scene.bodies.len(), 127);
    assert_eq!(total_rows(&scene), 381);
    let lengths: Vec<f64> = scene.bodies.iter().map(|bar| box_size(&bar.shapes[0].geometry)[2]).collect();
    assert!((lengths[0] - 11.4).abs() < 1e-12 && (lengths[126] - 1.0).abs() < 1e-12);
    let shrink = (1.0_f64 / 11.4).powf(1.0 / 6.0);
    for bar in 1..127 {
        let parent = (bar - 1) / 2;
        assert!((lengths[bar] / lengths[parent] - shrink).abs() < 1e-12);
        let bottom = DVec3::from(scene.bodies[parent].position) - DVec3::Z * lengths[parent] / 2.0;
        let top = DVec3::from(scene.bodies[bar].position) + DVec3::Z * lengths[bar] / 2.0;
        let side = if bar % 2 == 1 { -0.05 } else { 0.05 };
        assert!((top - bottom - DVec3::X * side * lengths[parent]).length() < 1e-12);
        assert!((DVec3::from(scene.joints[bar].at.unwrap()) - top).length() < 1e-12);
    }
    for bar in &scene.bodies {
        let size = box_size(&bar.shapes[0].geometry);
        assert!((size[0] - 0.1 * size[2]).abs() < 1e-12 && size[0] == size[1]);
        assert_eq!(bar.density, Some(100.0));
        let turning = DVec3::new(0.5, 1.0, 0.2);
        assert_eq!(DVec3::from(bar.angular_velocity), turning);
        assert!((DVec3::from(bar.velocity) - turning.cross(bar.position.into())).length() < 1e-12);
    }
}

#[test]
fn star_has_the_bars_of_the_tree_on_one_body() {
    let (tree, star) = (build("tree", &[]), build("star", &[]));
    for (in_tree, in_star) in tree.bodies.iter().zip(&star.bodies) {
        assert_eq!(in_tree.shapes, in_star.shapes);
    }
    assert!(star.joints[1..].iter().all(|joint| joint.a.as_deref() == Some("bar0")));
    let bottom = -11.4;
    for joint in &star.joints[1..] {
        let [x, _, z] = joint.at.unwrap();
        assert!(x.abs() <= 0.05 * 11.4 + 1e-12 && (z - bottom).abs() < 1e-12);
    }
}

#[test]
fn wrecking_ball_hangs_at_the_end_of_its_chain() {
    let scene = build("wrecking-ball", &[("mass", 1e6)]);
    assert_eq!((scene.bodies.len(), total_rows(&scene)), (21, 63));
    assert!((DVec3::from(body(&scene, "ball").position) - DVec3::X * 4.0).length() < 1e-12);
    assert_eq!(body(&scene, "ball").mass, Some(1e6));
}

#[test]
fn scissor_lift_is_overconstrained_and_closed() {
    for pairs in [10, 50, 220] {
        let scene = build("scissor-lift", &[("pairs", pairs as f64)]);
        assert_eq!(scene.bodies.len(), 2 * pairs + 1);
        assert_eq!(total_rows(&scene), 15 * pairs + 10);
    }
    let scene = build("scissor-lift", &[]);
    for joint in scene.joints.iter().filter(|joint| !joint.name.starts_with("cross")) {
        for end in [&joint.a, &joint.b].into_iter().flatten().filter(|end| end.contains("ing")) {
            let along = Motion::of(&scene, Some(end)).turn.inverse()
                * (DVec3::from(joint.at.unwrap()) - DVec3::from(body(&scene, end).position));
            assert!((along.abs() - DVec3::X).length() < 1e-12, "{} is not at an end of {end}", joint.name);
        }
    }
    let [_, _, top] = body(&scene, "load").position;
    assert!((top - 10.0).abs() < 1e-12);
}

#[test]
fn four_bar_starts_in_the_reference_pose() {
    let scene = build("four-bar", &[]);
    let centers = [
        ("crank", 0.2954423259037, -0.05209445330008, -0.1745329251994),
        ("coupler", 1.100678675384, -0.3106109343143, -0.384734196981),
        ("rocker", 1.30523634948, -0.2585164810143, -0.7027141424949),
    ];
    for (name, x, z, angle) in centers {
        let motion = Motion::of(&scene, Some(name));
        assert!((motion.position - DVec3::new(x, 0.0, z)).length() < 1e-11, "{name} {}", motion.position);
        let along = motion.turn * DVec3::X;
        assert!((along.z.atan2(along.x) - angle).abs() < 1e-11, "{name}");
        assert!((motion.turn * DVec3::Y - DVec3::Y).length() < 1e-12, "{name} is out of its plane");
    }
}

#[test]
fn double_pendulum_has_the_reference_energy() {
    let scene = build("double-pendulum", &[]);
    let mut energy = 0.0;
    for link in &scene.bodies {
        let [a, b, c] = box_size(&link.shapes[0].geometry);
        let inertia = DVec3::new(b * b + c * c, a * a + c * c, a * a + b * b) / 12.0;
        let turning = DVec3::from(link.angular_velocity);
        let velocity = DVec3::from(link.velocity);
        energy += 0.5 * velocity.length_squared() + 0.5 * (turning * inertia).dot(turning) + 9.81 * link.position[2];
    }
    assert!((energy - 0.492510166667).abs() < 1e-11, "{energy}");
    assert!(scene.joints.iter().all(|joint| joint.kind == JointKind::Ball));
}

#[test]
fn steady_top_balances_weight_and_gyroscopic_moment() {
    for (spin, tilt) in [(100.0, 30.0), (-80.0, 60.0), (40.0, 90.0), (30.0, 150.0)] {
        let scene = build("top", &[("spin", spin), ("tilt", tilt), ("steady", 1.0)]);
        let top = body(&scene, "top");
        let motion = Motion::of(&scene, Some("top"));
        let axis = motion.turn * DVec3::Z;
        // Angular momentum about the tip turns about the vertical with the top: its rate must be the moment of the weight.
        let inertia = DVec3::from(top.inertia.unwrap());
        let own = motion.turn * (inertia * (motion.turn.inverse() * motion.turning));
        let momentum = own + top.mass.unwrap() * motion.position.cross(motion.velocity);
        let precession = (motion.turning - motion.turning.dot(axis) * axis).dot(DVec3::Z) / (1.0 - axis.z * axis.z);
        let weight = motion.position.cross(DVec3::NEG_Z * 9.81 * top.mass.unwrap());
        assert!((precession * DVec3::Z.cross(momentum) - weight).length() < 1e-12, "spin {spin}, tilt {tilt}");
    }
}

/// The tower of tinkertoys stood for ever, though the scene says that it falls: its middle was above its foot.
#[test]
fn the_tower_of_tinkertoys_cannot_stand() {
    for storeys in [1.0, 4.0, 30.0] {
        let scene = build("tinkertoys", &[("storeys", storeys)]);
        let points = &scene.particles.iter().find(|system| system.name == "tower").unwrap().points;
        let middle = points.iter().map(|point| point.position[0]).sum::<f64>() / points.len() as f64;
        let foot = points[..4].iter().map(|point| point.position[0]).fold(f64::MIN, f64::max);
        assert!(middle > foot + 0.01, "{storeys} storeys: middle at {middle} m, foot ends at {foot} m");
    }
}
