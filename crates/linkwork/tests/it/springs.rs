//! Springs and dampers against the linear oscillator.

use crate::common::{Run, assert_close, assert_order, on_axle, on_slider, scientific, weightless};
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Coordinate, Frame, Joint, JointKind, WORLD};

const MASS: f64 = 2.0;
const STIFFNESS: f64 = 50.0;
/// Speed that a step may be off by: it closes its rows to 1e-9 m in 1/30 s.
const NOISE: f64 = 1e-7;

/// A block on a rail, its spring relaxed half a metre away.
fn oscillator(stiffness: f64, damping: f64) -> linkwork::Scene {
    on_slider([0.0; 3], DVec3::X, MASS, Coordinate::default().spring(stiffness, damping, 0.5))
}

/// Displacement from rest of a damped oscillator that starts at −0.5 at rest.
fn exact(damping: f64, t: f64) -> f64 {
    let decay = damping / (2.0 * MASS);
    let omega = (STIFFNESS / MASS - decay * decay).sqrt();
    -0.5 * (-decay * t).exp() * ((omega * t).cos() + decay / omega * (omega * t).sin())
}

/// Largest distance of the block from the exact solution.
fn largest_departure(damping: f64, h: f64, until: f64) -> f64 {
    let mut run = Run::new(&oscillator(STIFFNESS, damping), h);
    let mut worst = 0.0_f64;
    while run.world.time() < until {
        run.step();
        let off = run.position("block").x - 0.5 - exact(damping, run.world.time());
        worst = worst.max(off.abs());
    }
    worst
}

#[test]
fn a_block_on_a_spring_swings_and_decays_as_the_linear_oscillator() {
    for damping in [0.0, 1.5, 6.0] {
        let errors = [4e-3, 2e-3, 1e-3, 5e-4].map(|h| largest_departure(damping, h, 4.0));
        assert_order("oscillator", 2.0, &errors);
        assert!(errors[3] < 1e-5, "damping {damping}: {} m", scientific(&errors));
    }
}

/// A spring was ignored at small steps: a soft row counted as solved when its residual would move the body by less than
/// 1e-9 m in this step, which is a force error of m · 1e-9 / h².
#[test]
fn a_spring_is_as_accurate_at_small_steps() {
    let errors = [1e-4, 1e-5].map(|h| largest_departure(0.0, h, 0.5));
    assert!(errors.iter().all(|e| *e < 1e-6), "{} m", scientific(&errors));
}

#[test]
fn a_torsion_spring_swings_with_its_frequency() {
    let scene = on_axle(0.25, Coordinate::default().spring(4.0, 0.0, 1.0));
    let mut run = Run::new(&scene, 1e-3);
    run.to(3.0);
    assert_close("angle", run.value_of("axle", "angle"), 1.0 - 12.0_f64.cos(), 1e-4);
}

#[test]
fn a_spring_without_damping_keeps_its_energy() {
    let mut run = Run::new(&oscillator(STIFFNESS, 0.0), 1.0 / 60.0);
    let start = run.energy();
    assert_close("elastic energy", start, 0.5 * STIFFNESS * 0.25, 1e-12);
    for _ in 0..6000 {
        run.step();
        assert_close("energy", run.energy(), start, 0.01 * start);
    }
}

#[test]
fn an_absurdly_stiff_spring_neither_explodes_nor_keeps_shaking() {
    for stiffness in [1e6, 1e9, 1e12] {
        for damping in [0.0, 1.0, 1e6] {
            let mut run = Run::new(&oscillator(stiffness, damping), 1.0 / 60.0);
            let mut widest = 0.5_f64;
            for k in 0..240 {
                run.step();
                let off = (run.position("block").x - 0.5).abs();
                assert!(off <= widest * (1.0 + 1e-9), "k {stiffness:e}, d {damping}: {off} m after {k} steps");
                widest = if k % 60 == 59 { 0.5 } else { widest };
            }
            // a damper that is stronger than its spring gives way at the rate k/d
            let creeping = if damping > 0.0 { 0.5 * (-stiffness / damping * 4.0).exp() } else { 0.0 };
            let off = (run.position("block").x - 0.5).abs();
            assert!(off < 1e-3 + 1.1 * creeping, "k {stiffness:e}, d {damping}: {off} m");
            assert!(
                run.velocity("block").length() < 1e-2 + creeping * stiffness / (damping + 1e-300),
                "k {stiffness:e}, d {damping}"
            );
        }
    }
}

#[test]
fn a_weight_hangs_on_a_spring_where_statics_says() {
    for stiffness in [200.0, 1e4, 1e8] {
        let damping = 2.0 * f64::sqrt(stiffness * MASS);
        let acting = Coordinate::default().spring(stiffness, damping, 0.0);
        let mut run = Run::new(&on_slider([0.0, 0.0, -9.81], DVec3::Z, MASS, acting), 1.0 / 60.0);
        run.to(10.0);
        // a step is done when a wrong force would move the block by less than 1e-9 m in it, so a sag may stay wrong by what
        // m · 1e-9 m / h² stretches the spring: 3.6e-8 m for the softest, of which 3.2e-8 m are measured
        let force = MASS * 1e-9 * 3600.0;
        assert_close("sag", run.position("block").z, -MASS * 9.81 / stiffness, f64::max(1e-9, force / stiffness));
        assert_close("spring force", run.reaction("rail").wrench.force.z, MASS * 9.81, 1e-9);
    }
}

#[test]
fn springs_on_a_free_length_pull_two_bodies_together() {
    // two bodies on a spring of rest length 1.2: they swing about their centre of mass with ω² = k/μ
    let mut scene = weightless("dumb-bell");
    scene.body(Body::new("left").at([-1.0, 0.0, 0.0]).with_mass(1.0).with_inertia([0.1; 3]));
    scene.body(Body::new("right").at([1.0, 0.0, 0.0]).with_mass(3.0).with_inertia([0.1; 3]));
    let spring = Coordinate::of("length").spring(30.0, 0.0, 1.2);
    scene.joint(
        Joint::new(JointKind::Rope, "spring", "left", "right").frames(Frame::default(), Frame::default()).with(spring),
    );
    let mut run = Run::new(&scene, 1e-3);
    run.to(2.0);
    let omega = (30.0 / 0.75_f64).sqrt();
    assert_close("length", run.value_of("spring", "length"), 1.2 + 0.8 * (2.0 * omega).cos(), 1e-3);
    let center = (run.position("left") + 3.0 * run.position("right")) / 4.0;
    assert_close("centre of mass", center.distance(DVec3::new(0.5, 0.0, 0.0)), 0.0, 1e-12);
}

/// How far the speed of a block is off that a damper has slowed for two seconds.
fn damping_error(h: f64) -> f64 {
    let mut scene = on_slider([0.0; 3], DVec3::X, MASS, Coordinate::default().damping(3.0));
    scene.bodies[0] = scene.bodies[0].clone().moving([2.0, 0.0, 0.0], [0.0; 3]);
    let mut run = Run::new(&scene, h);
    run.to(2.0);
    (run.velocity("block").x - 2.0 * (-3.0_f64).exp()).abs()
}

#[test]
fn viscous_damping_of_a_joint_slows_exponentially() {
    let errors = [0.02, 0.01, 0.005].map(damping_error);
    assert_order("damper", 2.0, &errors);
    assert!(errors[2] < 1e-5, "{} m/s", scientific(&errors));
}

#[test]
fn an_overwhelming_damper_stops_a_joint_and_does_not_reverse_it() {
    for damping in [1e3, 1e8, 1e12] {
        let mut scene = on_slider([0.0; 3], DVec3::X, MASS, Coordinate::default().damping(damping));
        scene.bodies[0] = scene.bodies[0].clone().moving([2.0, 0.0, 0.0], [0.0; 3]);
        let mut run = Run::new(&scene, 1.0 / 30.0);
        let mut before = 2.0;
        for _ in 0..60 {
            run.step();
            let now = run.velocity("block").x;
            assert!(now.abs() <= before + NOISE, "d {damping:e}: speed grows from {before} to {now}");
            before = now.abs();
        }
        assert!(before < 1e-6, "d {damping:e}: still {before} m/s");
        assert!(run.position("block").x < 0.1, "d {damping:e}");
    }
}

#[test]
fn a_spring_between_the_world_and_a_mechanism_needs_no_grounded_body() {
    let mut scene = weightless("tethered");
    scene.body(Body::new("buoy").at([0.0, 0.0, 2.0]).with_mass(1.0).with_inertia([0.1; 3]));
    let spring = Coordinate::default().spring(9.0, 0.0, 1.2);
    let tether = Joint::new(JointKind::Rope, "tether", WORLD, "buoy").frames(Frame::default(), Frame::default());
    scene.joint(tether.with(spring));
    let mut run = Run::new(&scene, 1e-3);
    run.to(2.0);
    assert_close("height", run.position("buoy").z, 1.2 + 0.8 * 6.0_f64.cos(), 1e-4);
}
