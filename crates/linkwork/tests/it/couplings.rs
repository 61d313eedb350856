//! Screw, gear, rack, differential and driven mechanisms: ratios over many turns, and the inertia that they carry over.

use crate::common::{Run, assert_close, assert_near, bar, lump, weightless};
use linkwork::Scene;
use linkwork::glam::{DVec2, DVec3};
use linkwork::scene::{Body, Coordinate, Joint, JointKind, Motor, WORLD};
use std::f64::consts::TAU;

fn wheel(scene: &mut Scene, name: &str, at: DVec3, inertia: f64, acting: Coordinate) {
    scene.body(Body::new(name).at(at).with_mass(1.0).with_inertia([inertia; 3]));
    scene.joint(Joint::hinge(format!("{name} axle"), WORLD, name, at, DVec3::Z).with(acting));
}

fn turning(rate: f64) -> Coordinate {
    Coordinate::default().motor(Motor::Velocity { target: rate, max_force: None })
}

fn pushing(torque: f64) -> Coordinate {
    Coordinate::default().motor(Motor::Force { value: torque })
}

#[test]
fn a_gear_keeps_its_ratio_over_many_turns() {
    for ratio in [-2.5, 0.3, 7.0] {
        let mut scene = weightless("gear");
        wheel(&mut scene, "first", DVec3::ZERO, 0.2, turning(9.0));
        wheel(&mut scene, "second", DVec3::X, 0.05, Coordinate::default());
        scene.joint(Joint::gear("gear", "first axle", "second axle", ratio));
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.to(10.0);
        let (first, second) = (run.value_of("first axle", "angle"), run.value_of("second axle", "angle"));
        assert!(first > 14.0 * TAU, "turned {first} rad");
        assert_close("angle of the second wheel", second, ratio * first, 1e-9 * (1.0 + ratio.abs()) + 1e-8);
        let q = run.orientation("second");
        let seen = 2.0 * q.z.atan2(q.w);
        assert_close(
            "what the eye sees",
            ((second - seen) / TAU).fract().abs().min(1.0 - ((second - seen) / TAU).fract().abs()),
            0.0,
            1e-9,
        );
        assert!(run.worst_error < 1e-9);
    }
}

#[test]
fn a_gear_carries_inertia_over_by_its_ratio_squared() {
    let (ratio, torque) = (-3.0, 0.7);
    let mut scene = weightless("geared load");
    wheel(&mut scene, "motor", DVec3::ZERO, 0.2, pushing(torque));
    wheel(&mut scene, "load", DVec3::X, 0.05, Coordinate::default());
    scene.joint(Joint::gear("gear", "motor axle", "load axle", ratio));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(4.0);
    assert_close("spin", run.spin("motor").z, torque / (0.2 + ratio * ratio * 0.05) * 4.0, 1e-8);
}

#[test]
fn a_rack_moves_by_its_radius_and_feels_the_pinion() {
    let (radius, torque, mass) = (0.05, 0.3, 4.0);
    let mut scene = weightless("rack");
    wheel(&mut scene, "pinion", DVec3::ZERO, 0.01, pushing(torque));
    scene.body(lump("bar", mass).at(DVec3::Y * radius));
    scene.joint(Joint::slider("guide", WORLD, "bar", DVec3::Y * radius, DVec3::X));
    scene.joint(Joint::rack("rack", "pinion axle", "guide", radius));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(3.0);
    let turned = run.value_of("pinion axle", "angle");
    assert!(turned > 10.0 * TAU, "turned {turned} rad");
    assert_close("way", run.value_of("guide", "displacement"), radius * turned, 1e-9);
    assert_close("spin", run.spin("pinion").z, torque / (0.01 + mass * radius * radius) * 3.0, 1e-8);
}

#[test]
fn a_differential_keeps_the_mean_of_its_sides_and_splits_the_torque() {
    let mut scene = weightless("differential");
    wheel(&mut scene, "left", DVec3::X, 0.1, Coordinate::default());
    wheel(&mut scene, "right", DVec3::NEG_X, 0.3, Coordinate::default());
    wheel(&mut scene, "shaft", DVec3::ZERO, 0.02, pushing(1.2));
    scene.joint(Joint::differential("differential", "left axle", "right axle", "shaft axle"));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(8.0);
    let angle = |name: &str| run.value_of(&format!("{name} axle"), "angle");
    assert!(angle("shaft") > 10.0 * TAU);
    assert_close("mean", angle("shaft"), 0.5 * (angle("left") + angle("right")), 1e-8);
    // equal torque λ/2 on both sides: 0.1 α_l = 0.3 α_r = λ/2, 0.02 (α_l + α_r)/2 = 1.2 − λ
    let half = 1.2 / (2.0 + 0.01 * (1.0 / 0.1 + 1.0 / 0.3));
    assert_close("left", run.spin("left").z, half / 0.1 * 8.0, 1e-7);
    assert_close("right", run.spin("right").z, half / 0.3 * 8.0, 1e-7);
}

fn screw(pitch: f64, gravity: [f64; 3], acting: Coordinate) -> Scene {
    let mut scene = Scene { gravity, ..Scene::new("screw") };
    scene.body(Body::new("nut").with_mass(2.0).with_inertia([0.01; 3]));
    let mut joint = Joint::new(JointKind::Screw, "thread", WORLD, "nut").at(DVec3::ZERO).axis(DVec3::Z).with(acting);
    joint.pitch = Some(pitch);
    scene.joint(joint);
    scene
}

#[test]
fn a_screw_moves_by_its_pitch_a_turn_for_many_turns() {
    for pitch in [0.02, -0.3] {
        let mut run = Run::new(&screw(pitch, [0.0; 3], turning(10.0)), 1.0 / 60.0);
        run.to(8.0);
        let turns = run.value_of("thread", "angle") / TAU;
        assert!(turns > 12.0);
        assert_close("way", run.position("nut").z, pitch * turns, 1e-9);
        assert_close("displacement", run.value_of("thread", "displacement"), pitch * turns, 1e-9);
    }
}

#[test]
fn a_nut_on_a_steep_thread_falls_with_its_spin_as_ballast() {
    let pitch: f64 = 0.5;
    let lead = pitch / TAU;
    let mut run = Run::new(&screw(pitch, [0.0, 0.0, -9.81], Coordinate::default()), 1.0 / 240.0);
    run.to(2.0);
    let acceleration = 2.0 * 9.81 / (2.0 + 0.01 / (lead * lead));
    assert_close("fall", run.position("nut").z, -0.5 * acceleration * 4.0, 1e-8);
    assert_close("spin", run.spin("nut").z, -acceleration / lead * 2.0, 1e-7);
}

#[test]
fn turns_are_counted_on_a_joint_that_nothing_acts_on() {
    let mut scene = weightless("free wheel");
    wheel(&mut scene, "wheel", DVec3::ZERO, 0.2, Coordinate::default());
    scene.bodies[0] = scene.bodies[0].clone().moving([0.0; 3], [0.0, 0.0, -20.0]);
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(10.0);
    assert_close("32 turns backwards", run.value_of("wheel axle", "angle"), -200.0, 1e-8);
}

#[test]
fn a_chain_of_gears_multiplies() {
    let mut scene = weightless("gear train");
    let ratios = [-2.0, -1.5, -0.5, -3.0];
    wheel(&mut scene, "w0", DVec3::ZERO, 0.1, turning(2.0));
    for (k, ratio) in ratios.iter().enumerate() {
        wheel(&mut scene, &format!("w{}", k + 1), DVec3::X * (k as f64 + 1.0), 0.1, Coordinate::default());
        scene.joint(Joint::gear(format!("g{k}"), format!("w{k} axle"), format!("w{} axle", k + 1), *ratio));
    }
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(5.0);
    let product: f64 = ratios.iter().product();
    assert_close("last spin", run.spin("w4").z, product * run.spin("w0").z, 1e-8);
    assert!(run.worst_error < 1e-9);
}

/// The point at distances `p` and `q` from two centres, below the line between them.
fn lower_meeting(a: DVec2, p: f64, b: DVec2, q: f64) -> DVec2 {
    let d = a.distance(b);
    let along = (p * p - q * q + d * d) / (2.0 * d);
    let forward = (b - a) / d;
    a + forward * along - forward.perp() * (p * p - along * along).sqrt()
}

#[test]
fn a_kinematic_crank_drives_a_four_bar_linkage_through_its_geometry() {
    // crank 0.3, coupler 1.0, rocker 0.8, ground 1.0: Grashof, so the crank can go round
    let (crank, coupler, rocker, ground) = (0.3, 1.0, 0.8, DVec2::new(1.0, 0.0));
    let in_space = |p: DVec2| DVec3::new(p.x, 0.0, p.y);
    let b = DVec2::new(crank, 0.0);
    let c = lower_meeting(b, coupler, ground, rocker);
    let mut scene = Scene::new("driven four-bar");
    scene.body(Body::kinematic("crank").moving([0.0; 3], [0.0, -3.0, 0.0]));
    scene.body(bar("coupler", in_space(b), in_space(c), 1.0));
    scene.body(bar("rocker", in_space(ground), in_space(c), 1.0));
    scene.joint(Joint::hinge("B", "crank", "coupler", in_space(b), DVec3::Y));
    scene.joint(Joint::hinge("C", "coupler", "rocker", in_space(c), DVec3::Y));
    scene.joint(Joint::hinge("D", WORLD, "rocker", in_space(ground), DVec3::Y));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    for _ in 0..600 {
        run.step();
        let angle = 3.0 * run.world.time();
        let b = DVec2::new(angle.cos(), angle.sin()) * crank;
        let c = lower_meeting(b, coupler, ground, rocker);
        assert_near("coupler", run.position("coupler"), in_space((b + c) / 2.0), 1e-8);
        assert_near("rocker", run.position("rocker"), in_space((ground + c) / 2.0), 1e-8);
    }
    assert!(run.worst_error < 1e-9);
}

#[test]
fn a_kinematic_carriage_drags_a_pendulum_and_does_not_feel_it() {
    // accelerated evenly for a second, the bob lags at the angle of the apparent gravity
    let mut scene = Scene::new("carriage");
    scene.body(Body::kinematic("carriage"));
    let mut bob = lump("bob", 100.0).at([0.0, 0.0, -1.0]);
    bob.linear_damping = 0.0;
    scene.body(bob);
    scene.joint(Joint::hinge("pin", "carriage", "bob", DVec3::ZERO, DVec3::Y));
    let mut run = Run::new(&scene, 1.0 / 240.0);
    let carriage = run.body("carriage");
    for k in 0..240 {
        let v = DVec3::X * (2.0 * f64::from(k) / 240.0);
        run.world.set_velocity(carriage, linkwork::Twist { linear: v, angular: DVec3::ZERO }).unwrap();
        run.step();
    }
    let way: f64 = (0..240).map(|k| 2.0 * f64::from(k) / 240.0 / 240.0).sum();
    assert_near("carriage", run.position("carriage"), DVec3::X * way, 1e-12);
    // θ̈ = −(g/l')sin θ − (a/l')cos θ from rest, l' = l + I/(m l), by small steps of an own integrator
    let reach = 1.0 + 0.03;
    let (mut angle, mut rate) = (0.0_f64, 0.0_f64);
    let n = 100_000;
    for _ in 0..n {
        let dt = 1.0 / f64::from(n);
        rate += dt * -(9.81 * angle.sin() + 2.0 * angle.cos()) / reach;
        angle += dt * rate;
    }
    let lag = run.position("bob") - run.position("carriage");
    assert_close("angle of the bob", lag.x.atan2(-lag.z), angle, 2e-3);
    assert!(run.worst_error < 1e-9);
}
