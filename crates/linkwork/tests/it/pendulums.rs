//! Pendulums against elliptic integrals.

use crate::common::{Run, assert_close, assert_order, bar, scientific};
use linkwork::Scene;
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Joint, WORLD};
use std::f64::consts::TAU;

const G: f64 = 9.81;

/// Period of a pendulum with the small-swing frequency `omega`, let go at `amplitude`.
fn period(omega: f64, amplitude: f64) -> f64 {
    // arithmetic-geometric mean: the digits double each time
    let (mut a, mut b) = (1.0_f64, (amplitude / 2.0).cos());
    for _ in 0..8 {
        (a, b) = ((a + b) / 2.0, (a * b).sqrt());
    }
    TAU / omega / a
}

/// Time at which `angle` passes zero for the second time: half a period after the first.
fn half_period(scene: &Scene, h: f64, angle: impl Fn(&Run) -> f64) -> f64 {
    let mut run = Run::new(scene, h);
    let mut crossings = Vec::new();
    let mut before = angle(&run);
    while crossings.len() < 2 {
        assert!(run.world.time() < 20.0, "it does not swing: crossings at {crossings:?}, now {before}");
        run.step();
        let now = angle(&run);
        if before * now < 0.0 {
            // nothing pulls on a pendulum that passes its lowest point: the angle is straight there
            crossings.push(run.world.time() - h * now / (now - before));
        }
        before = now;
    }
    assert!(run.worst_error < 1e-9);
    crossings[1] - crossings[0]
}

fn assert_period(what: &str, exact: f64, measured: impl Fn(f64) -> f64) {
    let errors = [4e-3, 2e-3, 1e-3].map(|h| (2.0 * measured(h) - exact).abs() / exact);
    assert!(errors[2] < 4e-6, "{what}: relative errors of the period {}", scientific(&errors));
    assert_order(what, 2.0, &errors);
}

#[test]
fn a_point_on_a_ball_joint_swings_with_the_period_of_the_elliptic_integral() {
    let (length, amplitude) = (1.3, 2.2_f64);
    let inertia = 1e-3;
    let mut scene = Scene::new("pendulum");
    let start = DVec3::new(amplitude.sin(), 0.0, -amplitude.cos()) * length;
    scene.body(Body::new("bob").at(start).with_mass(2.0).with_inertia([inertia; 3]));
    scene.joint(Joint::ball("pin", WORLD, "bob", DVec3::ZERO));
    let omega = (2.0 * G * length / (inertia + 2.0 * length * length)).sqrt();
    assert_period("ball", period(omega, amplitude), |h| half_period(&scene, h, |run| run.position("bob").x));
}

#[test]
fn a_bar_on_a_hinge_swings_as_a_physical_pendulum() {
    let (length, amplitude) = (0.8, 1.0_f64);
    let mut scene = Scene::new("physical pendulum");
    let end = DVec3::new(amplitude.sin(), 0.0, -amplitude.cos()) * length;
    scene.body(bar("bar", DVec3::ZERO, end, 3.0));
    scene.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y));
    // a bar of square section 0.05 m about its end
    let inertia = (length * length + 0.05 * 0.05) / 12.0 + length * length / 4.0;
    let omega = (G * length / 2.0 / inertia).sqrt();
    assert_period("bar", period(omega, amplitude), |h| half_period(&scene, h, |run| run.position("bar").x));
}

#[test]
fn hinge_angles_of_a_pendulum_are_measured_from_the_start() {
    let mut scene = Scene::new("pendulum");
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
    scene.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y));
    let mut run = Run::new(&scene, 1e-3);
    let mut lowest = 0.0_f64;
    for _ in 0..1000 {
        run.step();
        let at = run.position("bar");
        // joints are closed to 1e-9 m on a lever of 0.5 m
        assert_close("angle", run.value_of("pin", "angle"), (-at.z).atan2(at.x), 4e-9);
        lowest = lowest.max(run.value_of("pin", "angle"));
    }
    assert!(lowest > 3.0, "it swings over to the other side: {lowest}");
}
