//! Tests of what the engine does not reach yet; each names the symptom and its cause. Not part of the suite until it passes.

use crate::common::{Run, assert_close, assert_order, on_slider, registered, scientific, servo};
use crate::reference::{double_pendulum, four_bar, largest_departure};
use crate::{assembly, bad_input, scenes, springs};
use linkwork::StepParams;
use linkwork::glam::DVec3;
use linkwork::scene::Coordinate;

/// A damper is first order: both halves of a step take its force from the end of the half (backward Euler), so the speed
/// after 2 s is off by n (h d/m)²/2. The explicit–implicit pair that springs use would make it second order.
#[test]
fn viscous_damping_converges_with_order_two() {
    let errors = [0.02, 0.01, 0.005].map(springs::damping_error);
    assert_order("damper", 2.0, &errors);
}

/// A spring is ignored at small steps: a soft row counts as solved when its residual would move the body by less than
/// 1e-9 m in this step, which is a force error of m · 1e-9 / h², 0.2 N on 2 kg at h = 1e-4 and 20 N at 1e-5.
#[test]
fn a_spring_is_as_accurate_at_small_steps() {
    let errors = [4e-3, 2e-3, 1e-3, 5e-4].map(|h| springs::largest_departure(0.0, h, 4.0));
    assert_order("oscillator", 2.0, &errors);
    let errors = [1e-4, 1e-5].map(|h| springs::largest_departure(0.0, h, 0.5));
    assert!(errors.iter().all(|e| *e < 1e-6), "{} m", scientific(&errors));
}

/// A servo stops 5 µm beside its target at h = 1e-3: the same stop test of soft rows.
#[test]
fn a_servo_arrives_at_small_steps() {
    for h in [1e-2, 1e-3, 1e-4] {
        let acting = Coordinate::default().motor(servo(1.0, 160.0, 40.0));
        let mut run = Run::new(&on_slider([0.0; 3], DVec3::X, 2.5, acting), h);
        run.to(5.0);
        assert_close("arrived", run.position("block").x, 1.0, 1e-9);
    }
}

/// The car cannot be stepped at 1/30 s: wheels that turn 0.67 rad a step make the accurate and the robust iteration diverge
/// (13 iterations at 1/60 s already), and after six last resorts a tie rod is left 27 m open.
#[test]
fn the_car_runs_at_a_thirtieth_of_a_second() {
    let mut run = Run::new(&registered("car", &[]), 1.0 / 30.0);
    run.steps(150);
    assert!(run.worst_error < 1e-9);
}

/// The walking machine explodes at 1/30 s (1e18 J): the accurate step and the robust step do not converge, the projection of
/// the last resort leaves a gap of 0.6 m, and velocities are still taken from that projection.
#[test]
fn the_strandbeest_runs_at_a_thirtieth_of_a_second() {
    for legs in [1.0, 2.0, 3.0, 12.0] {
        let mut run = Run::new(&registered("strandbeest", &[("legs", legs)]), 1.0 / 30.0);
        run.steps(150);
        assert!(run.worst_error < 1e-9);
    }
}

/// One redundant row of the scissor lift is not found from 50 pairs on: its pivot is rounding above 1e-8 of the diagonal.
#[test]
fn the_redundant_rows_of_tall_scissor_lifts_are_counted() {
    for pairs in [50, 220] {
        scenes::assert_redundant_rows(pairs);
    }
}

/// The table asks for 1e-8 m and 4 iterations in the mean; near the flat rhombus joints that are closed to 1e-9 m leave
/// 1.4e-8 m, and it takes 6.1 iterations.
#[test]
fn the_peaucellier_linkage_reaches_its_figures() {
    let (off, iterations) = scenes::line_error();
    assert!(off < 1e-8, "off the line by {off:e} m");
    assert!(iterations <= 4.0, "{iterations} iterations in the mean");
}

/// A planar machine drawn 2 mm and 2 mrad off moves by 0.35 m to close: out of its plane its redundant rows are
/// independent by 1e-6 only, which is above the pivot bound, and their small gaps are divided by that.
#[test]
fn planar_machines_close_with_a_motion_of_the_size_of_the_mistake() {
    let motion = assembly::closing_motion_of_four_bars(false, 100);
    assert!(motion < 1.5, "four-bar, weighted: {motion:.2} times the mistake");
    for name in ["excavator", "walker"] {
        let motion = assembly::closing_motion(name, &[], 12);
        assert!(motion < 20.0, "{name}: {motion:.1} times the mistake");
    }
}

/// NaN products of inertia are taken: the rotation to principal axes stops at once on NaN, and the moments it leaves are
/// the diagonal, which is finite. Infinite ones are blamed on `inertia`.
#[test]
fn products_of_inertia_that_are_not_finite_are_refused() {
    bad_input::assert_not_finite_refused(bad_input::PENDING_FIELDS);
}

/// Needs the error-controlled mode.
#[test]
fn error_control_follows_the_references_to_a_micrometre() {
    for ((scene, table, expected), until) in [(double_pendulum(), 2.0), (four_bar(), 5.0)] {
        let mut run = Run::new(&scene, 0.01);
        run.params = StepParams { tolerance: Some(1e-9), ..run.params };
        let departure = largest_departure(&mut run, &table, expected, until);
        assert!(departure < 1e-6, "{}: {departure:.2e} m", scene.name);
        assert!(run.kinds.accurate == 0, "{}: {:?}", scene.name, run.kinds);
    }
}
