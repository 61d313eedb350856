//! Dry friction of joints: holds without creep, slides with its force, damping and gravity per body.

use crate::common::{Run, assert_close, bar, lump, on_axle, on_slider, weightless};
use linkwork::Scene;
use linkwork::glam::DVec3;
use linkwork::scene::{Coordinate, Joint, Motor, WORLD};

const MASS: f64 = 2.0;
const FRICTION: f64 = 8.0;

fn pushed(force: f64) -> Scene {
    let acting = Coordinate::default().friction(FRICTION).motor(Motor::Force { value: force });
    on_slider([0.0; 3], DVec3::X, MASS, acting)
}

#[test]
fn friction_holds_just_below_its_bound_without_creep() {
    for h in [1.0 / 30.0, 1.0 / 240.0] {
        let mut run = Run::new(&pushed(0.999 * FRICTION), h);
        run.to(10.0);
        assert!(run.position("block").x.abs() < 1e-9, "crept {:e} m at h = {h}", run.position("block").x);
        let reading = run.world.coordinates(run.joint("rail")).unwrap()[0];
        assert_close("friction", reading.friction_force, -0.999 * FRICTION, 1e-9);
    }
}

#[test]
fn friction_holds_a_bar_level_just_below_its_bound() {
    let (sunk, turned) = sinking_bar(10.0);
    assert!(sunk.abs() < 1e-9 && turned.abs() < 1e-9, "sank {sunk:e} m, turned {turned:e} rad");
}

/// How far a bar sinks in a time, m and rad, that the friction of its hinge holds level just below its bound.
fn sinking_bar(time: f64) -> (f64, f64) {
    let mut scene = Scene::new("stiff hinge");
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, MASS));
    let moment = MASS * 9.81 * 0.5;
    let friction = Coordinate::default().friction(1.001 * moment);
    scene.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y).with(friction));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(time);
    (run.position("bar").z, run.value_of("pin", "angle"))
}

#[test]
fn friction_overcome_leaves_the_rest_of_the_force() {
    let mut run = Run::new(&pushed(1.5 * FRICTION), 1.0 / 60.0);
    run.to(2.0);
    assert_close("speed", run.velocity("block").x, 0.5 * FRICTION / MASS * 2.0, 1e-9);
    assert_close("way", run.position("block").x, 0.5 * 0.5 * FRICTION / MASS * 4.0, 0.05);
}

#[test]
fn friction_brings_a_sliding_block_to_rest_where_newton_says() {
    // 3 m/s against 4 m/s²: 0.75 s and 1.125 m
    let mut scene = on_slider([0.0; 3], DVec3::X, MASS, Coordinate::default().friction(FRICTION));
    scene.bodies[0] = scene.bodies[0].clone().moving([3.0, 0.0, 0.0], [0.0; 3]);
    let mut run = Run::new(&scene, 1.0 / 60.0);
    for k in 1..=44 {
        run.step();
        assert_close("speed", run.velocity("block").x, 3.0 - 4.0 * f64::from(k) / 60.0, 1e-9);
    }
    run.to(5.0);
    assert_close("way", run.position("block").x, 1.125, 1e-3);
    let rest = run.position("block").x;
    run.to(15.0);
    assert!((run.position("block").x - rest).abs() < 1e-9, "creeps after it has stopped");
}

#[test]
fn friction_stops_a_wheel_with_the_right_torque() {
    let mut scene = on_axle(0.5, Coordinate::default().friction(2.0));
    scene.bodies[0] = scene.bodies[0].clone().moving([0.0; 3], [0.0, 0.0, 12.0]);
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(2.5);
    assert_close("spin", run.spin("wheel").z, 2.0, 1e-9);
    run.to(4.0);
    assert_close("stopped", run.spin("wheel").z, 0.0, 1e-12);
    assert_close("angle", run.value_of("axle", "angle"), 18.0, 1e-2);
}

#[test]
fn the_damping_of_a_body_slows_it_exponentially_alone_and_on_a_joint() {
    for jointed in [false, true] {
        let mut scene = weightless("damped");
        let mut body = lump("block", 1.0).moving([2.0, 0.0, 0.0], [0.0; 3]);
        (body.linear_damping, body.angular_damping) = (0.7, 0.4);
        scene.body(body);
        if jointed {
            scene.joint(Joint::slider("rail", WORLD, "block", DVec3::ZERO, DVec3::X));
        }
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.to(3.0);
        assert_close("speed", run.velocity("block").x, 2.0 * (-2.1_f64).exp(), 1e-10);
    }
    let mut scene = on_axle(0.5, Coordinate::default());
    scene.bodies[0] = scene.bodies[0].clone().moving([0.0; 3], [0.0, 0.0, 5.0]);
    scene.bodies[0].angular_damping = 0.4;
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(3.0);
    assert_close("spin", run.spin("wheel").z, 5.0 * (-1.2_f64).exp(), 1e-10);
}

#[test]
fn gravity_scale_acts_on_its_body_alone_on_and_off_joints() {
    for jointed in [false, true] {
        let mut scene = Scene::new("scales");
        for (name, scale) in [("heavy", 2.0), ("floating", 0.0), ("rising", -0.5)] {
            let mut body = lump(name, 1.0);
            body.gravity_scale = scale;
            scene.body(body);
            if jointed {
                scene.joint(Joint::slider(format!("{name} rail"), WORLD, name, DVec3::ZERO, DVec3::Z));
            }
        }
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.to(2.0);
        for (name, scale) in [("heavy", 2.0), ("floating", 0.0), ("rising", -0.5)] {
            assert_close(name, run.position(name).z, -0.5 * scale * 9.81 * 4.0, 1e-10);
        }
    }
}
