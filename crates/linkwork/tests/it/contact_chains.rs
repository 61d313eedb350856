//! Heavy things fall on light chains: the hardest that joints and contacts ask of each other.

use crate::common::{Complaints, Run, wxyz};
use crate::contact::{cuboid, ground};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Geometry, Joint, Scene, WORLD};

const G: f64 = 9.81;
const LINK: f64 = 0.25;

/// A chain of planks of a kilogram that hangs between two points of the world, every plank turned by `bend` against the one before.
fn hung(planks: usize, bend: f64, width: f64, height: f64, joint: fn(String, &str, &str, DVec3) -> Joint) -> Scene {
    let mut scene = Scene::new("hung chain");
    scene.body(ground(0.5));
    let (mut above, mut at) = (WORLD.to_owned(), DVec3::Z * height);
    for k in 0..planks {
        let turn = DQuat::from_rotation_y(-bend * (k as f64 - 0.5 * (planks as f64 - 1.0)));
        let (name, along) = (format!("plank {k}"), turn * DVec3::X * LINK);
        let plank = Body::new(&name).at(at + 0.5 * along).oriented(wxyz(turn)).with_mass(1.0);
        scene.body(plank.shape(Geometry::Box { size: [LINK - 0.01, width, 0.05] }));
        scene.joint(joint(format!("joint {k}"), &above, &name, at));
        (above, at) = (name, at + along);
    }
    scene.joint(joint("end".to_owned(), &above, WORLD, at));
    scene
}

/// What became of boxes that fell on it.
struct Fall {
    /// Largest rise of the energy in a step, J.
    rise: f64,
    deepest: f64,
    lowest: f64,
}

/// Runs it for so many seconds; `boxes` are watched.
fn fall(scene: &Scene, h: f64, seconds: f64, boxes: usize) -> (Run, Fall) {
    let mut run = Run::new(scene, h);
    let mut fall = Fall { rise: 0.0, deepest: 0.0, lowest: f64::INFINITY };
    let mut before = run.energy();
    while run.world.time() < seconds {
        let report = run.step();
        fall.rise = fall.rise.max(run.energy() - before);
        before = run.energy();
        fall.deepest = fall.deepest.max(report.penetration_m);
    }
    fall.lowest = (0..boxes).map(|k| run.position(&format!("box {k}")).z).fold(f64::INFINITY, f64::min);
    (run, fall)
}

/// By how much the energy that a user reads may rise without a cause, J: what is pushed tells the velocity of the middle of the step, what flies
/// that of its end.
fn lag(mass: f64, speed: f64, h: f64) -> f64 {
    mass * speed * 0.5 * h * G
}

/// Symptom: energy rose by five times what there was in a step, in which the boxes were shot off. Cause: links that whip are moved by the
/// closing of their joints; a second look at where they end asked contacts to undo that with a blow.
#[test]
fn heavy_boxes_on_a_light_chain_are_not_shot_off() {
    let mut wrong = Complaints::default();
    for (h, drop) in [(1.0 / 120.0, 0.5), (1.0 / 120.0, 2.0), (1.0 / 60.0, 0.5), (1.0 / 60.0, 2.0), (1.0 / 30.0, 2.0)] {
        let mut scene = hung(12, 0.15, 0.2, 1.5, |name, a, b, at| Joint::ball(name, a, b, at));
        for (k, x) in [1.0, 1.6].into_iter().enumerate() {
            scene.body(cuboid(&format!("box {k}"), [0.4; 3], 0.5).with_mass(100.0).at([x, 0.01, 1.4 + drop]));
        }
        let (run, fall) = fall(&scene, h, 2.0, 2);
        let what = format!("h = {h:.4}, from {drop} m");
        let most = lag(200.0, (2.0 * G * (drop + 0.6)).sqrt(), h) + 30.0;
        wrong.unless(fall.rise < most, || format!("{what}: energy rises by {} J, {most} may be", fall.rise));
        // links are 5 cm thick
        let most = if h > 0.02 { 0.05 } else { 0.02 };
        wrong.unless(fall.deepest < most, || format!("{what}: {} m deep", fall.deepest));
        wrong.unless(run.worst_error < 1e-9, || format!("{what}: joints open by {:e} m", run.worst_error));
    }
}

/// Symptom: boxes fell through the planks, with a last resort in nearly every step and energy from nowhere. Cause: an eighth of a step was the
/// smallest, in which joints under such loads could not be closed.
#[test]
fn a_bridge_of_planks_carries_a_hundred_times_their_weight() {
    let mut wrong = Complaints::default();
    for (h, drop) in [(1.0 / 60.0, 0.5), (1.0 / 30.0, 0.5)] {
        let mut scene = hung(20, 0.08, 0.8, 3.0, |name, a, b, at| Joint::hinge(name, a, b, at, DVec3::Y));
        for k in 0..4 {
            let at = DVec3::new(1.2 + 0.7 * k as f64, 0.01, 3.4 + drop + 0.1 * k as f64);
            scene.body(cuboid(&format!("box {k}"), [0.4; 3], 0.5).with_mass(100.0).at(at));
        }
        let (run, fall) = fall(&scene, h, 2.0, 4);
        let what = format!("h = {h:.4}");
        let most = lag(400.0, (2.0 * G * (drop + 1.0)).sqrt(), h) + 30.0;
        wrong.unless(fall.rise < most, || format!("{what}: energy rises by {} J, {most} may be", fall.rise));
        wrong.unless(fall.deepest < 0.03, || format!("{what}: {} m deep", fall.deepest));
        wrong.unless(fall.lowest > 1.0, || format!("{what}: a box is at {} m, below the planks", fall.lowest));
        wrong.unless(run.worst_error < 1e-9, || format!("{what}: joints open by {:e} m", run.worst_error));
    }
}
