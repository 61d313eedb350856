//! The error-controlled mode where motion is not smooth, and what it says of forces and turns.

use crate::common::{Run, assert_close, assert_near, bar, lump, on_axle, on_slider};
use linkwork::Scene;
use linkwork::glam::DVec3;
use linkwork::scene::{Coordinate, Joint, Limit, Motor, Spring, WORLD};

fn controlled(scene: &Scene, h: f64, tolerance: f64) -> Run {
    let mut run = Run::new(scene, h);
    run.params.tolerance = Some(tolerance);
    run
}

/// A pendulum let go from the horizontal against dry friction: it has lost friction times the angle passed.
#[test]
fn dry_friction_is_followed_to_the_tolerance() {
    let friction = 0.8;
    let energy_error = |tolerance: Option<f64>| {
        let mut scene = Scene::new("pendulum");
        scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
        let dry = Coordinate { friction, ..Coordinate::default() };
        scene.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y).with(dry));
        let mut run = Run::new(&scene, 1.0 / 30.0);
        run.params.tolerance = tolerance;
        let start = run.energy();
        let mut worst = 0.0_f64;
        loop {
            let report = run.step();
            if run.rate_of("pin", "angle") <= 0.0 {
                return worst;
            }
            assert!(!report.warnings.iter().any(|w| w.describe(&run.world).contains("tolerance")));
            worst = worst.max((run.energy() - (start - friction * run.value_of("pin", "angle"))).abs());
        }
    };
    let (fixed, loose, tight) = (energy_error(None), energy_error(Some(1e-5)), energy_error(Some(1e-8)));
    assert!(fixed > 1e-3, "the fixed step is not that good here: {fixed:e} J");
    assert!(loose < 1e-3, "{loose:e} J");
    // local errors of 1e-8 add up over some thousand substeps of second order
    assert!(tight < 2e-5, "{tight:e} J");
}

/// A block that falls on a limit and bounces: its height follows from the times of flight.
#[test]
fn a_bounce_is_followed_to_the_tolerance() {
    let (g, height, restitution) = (9.81, 1.0, 0.6);
    let limit =
        Coordinate { limit: Some(Limit { min: Some(-height), max: None, restitution }), ..Coordinate::default() };
    let scene = on_slider([0.0, 0.0, -g], DVec3::Z, 2.0, limit);
    let expected = |time: f64| {
        let mut left = time;
        let fall = (2.0 * height / g).sqrt();
        if left < fall {
            return -0.5 * g * left * left;
        }
        left -= fall;
        let mut speed = restitution * g * fall;
        while left > 2.0 * speed / g {
            left -= 2.0 * speed / g;
            speed *= restitution;
        }
        -height + speed * left - 0.5 * g * left * left
    };
    for (tolerance, allowed) in [(1e-4, 2e-3), (1e-7, 2e-5)] {
        let mut run = controlled(&scene, 1.0 / 25.0, tolerance);
        for _ in 0..30 {
            run.step();
            assert_close("height", run.value_of("rail", "displacement"), expected(run.world.time()), allowed);
        }
    }
}

/// A spring too stiff for explicit stages is not smooth at this step, and is followed all the same.
#[test]
fn a_stiff_spring_is_followed_to_the_tolerance() {
    let (mass, stiffness, amplitude) = (2.0, 4e3, 0.1);
    let spring =
        Coordinate { spring: Some(Spring { stiffness, damping: 0.0, rest: amplitude }), ..Coordinate::default() };
    let mut run = controlled(&on_slider([0.0; 3], DVec3::X, mass, spring), 1.0 / 20.0, 1e-7);
    let omega = (stiffness / mass).sqrt();
    for _ in 0..10 {
        run.step();
        let expected = amplitude * (1.0 - (omega * run.world.time()).cos());
        assert_close("displacement", run.value_of("rail", "displacement"), expected, 2e-4);
    }
}

/// Turns were counted from the start of the step only: more than half a turn a step lost whole turns.
#[test]
fn turns_are_counted_however_many_a_step_has() {
    let (inertia, torque) = (0.01, 4.0);
    let motor = |motor| Coordinate { motor: Some(motor), ..Coordinate::default() };
    let smooth = on_axle(inertia, motor(Motor::Force { value: torque }));
    let mut bounded = smooth.clone();
    // a motor that never reaches its speed pushes with all it has
    let limited = Motor::Velocity { target: 1e6, max_force: Some(torque) };
    bounded.joints[0].coordinates = vec![motor(limited)];
    for scene in [smooth, bounded] {
        let mut run = controlled(&scene, 0.2, 1e-6);
        for _ in 0..4 {
            run.step();
            let time = run.world.time();
            assert_close("angle", run.value_of("axle", "angle"), 0.5 * torque / inertia * time * time, 1e-3);
        }
    }
}

/// The mean force of a pivot over a step is the change of momentum less the weight, over all substeps.
#[test]
fn a_reaction_is_the_mean_over_the_step_whatever_it_was_made_of() {
    let mass = 1.5;
    let mut pendulum = Scene::new("pendulum");
    let long = bar("bar", DVec3::ZERO, DVec3::X, mass);
    pendulum.body(long.clone().moving([0.0, 0.0, 1.0], [0.3, -2.0, 0.0]));
    pendulum.joint(Joint::ball("pin", WORLD, "bar", DVec3::ZERO));
    let mut dry = pendulum.clone();
    dry.joints[0] = Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y)
        .with(Coordinate { friction: 0.3, ..Coordinate::default() });
    // so fast that the step is halved
    let mut fast = Scene::new("fast");
    fast.body(long.moving([0.0, 0.0, -15.0], [0.0, 30.0, 0.0]));
    fast.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y));
    let cases = [
        (&pendulum, 0.1, Some(1e-10), 1e-5),
        (&pendulum, 0.1, Some(1e-4), 1e-2),
        (&dry, 0.1, Some(1e-6), 1e-6),
        (&fast, 1.0 / 15.0, None, 1e-6),
    ];
    for (scene, h, tolerance, allowed) in cases {
        let mut run = Run::new(scene, h);
        run.params.tolerance = tolerance;
        for _ in 0..8 {
            let before = run.world.momentum().linear;
            let report = run.step();
            // one step of order four is enough for the loose one
            let enough = if tolerance == Some(1e-4) { 1 } else { 2 };
            assert!(report.substeps >= enough, "{} at {tolerance:?}: {} substeps", scene.name, report.substeps);
            let mean = (run.world.momentum().linear - before) / h - DVec3::NEG_Z * (9.81 * mass);
            assert_near(&format!("{} at {tolerance:?}", scene.name), run.reaction("pin").wrench.force, mean, allowed);
        }
    }
}

/// A weight on a limit, which bears it: the limit's force is the weight, in as many substeps as you like.
#[test]
fn the_mean_force_of_a_limit_is_the_weight_on_it() {
    let limit =
        Coordinate { limit: Some(Limit { min: Some(0.0), max: None, restitution: 0.0 }), ..Coordinate::default() };
    let mut scene = on_slider([0.0, 0.0, -9.81], DVec3::Z, 2.0, limit);
    scene.body(lump("other", 1.0).at([3.0, 0.0, 0.0]));
    let mut run = controlled(&scene, 0.05, 1e-6);
    for _ in 0..5 {
        run.step();
        let reading = run.world.coordinates(run.joint("rail")).unwrap()[0];
        assert_close("limit", reading.limit_force, 2.0 * 9.81, 1e-6);
    }
}
