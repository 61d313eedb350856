//! Heavy things fall on light chains: the hardest that joints and contacts ask of each other.

use crate::common::{Complaints, Run, wxyz};
use crate::contact::{cuboid, ground};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Scene, Shape, WORLD};
use std::f64::consts::PI;

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

/// A cable of capsules on hinges with damping that lies over a drum, a box on each end: balanced.
fn cable_on_a_drum(damping: f64) -> Scene {
    const ON_DRUM: usize = 24;
    const HANGING: usize = 10;
    let (radius, thick) = (0.3, 0.01);
    let mut scene = Scene::new("cable on a drum");
    let lying = wxyz(DQuat::from_rotation_x(PI / 2.0));
    let drum = Shape::new(Geometry::Cylinder { radius, length: 0.3 }).friction(0.3).oriented(lying);
    scene.body(Body::fixed("drum").placed_shape(drum));
    let step = PI / ON_DRUM as f64;
    let reach = (radius + thick) / (0.5 * step).cos();
    let link = 2.0 * reach * (0.5 * step).sin();
    let hanging = |side: f64, k: usize| DVec3::new(side * reach, 0.0, -link * k as f64);
    let on_drum = (0..=ON_DRUM).map(|k| reach * DQuat::from_rotation_y(step * k as f64).mul_vec3(-DVec3::X));
    let down = (1..=HANGING).rev().map(|k| hanging(-1.0, k));
    let pins: Vec<DVec3> = down.chain(on_drum).chain((1..=HANGING).map(|k| hanging(1.0, k))).collect();
    for (k, ends) in pins.windows(2).enumerate() {
        let along = wxyz(DQuat::from_rotation_arc(DVec3::Z, (ends[1] - ends[0]).normalize()));
        let shape = Shape::new(Geometry::Capsule { radius: thick, length: 0.8 * link }).friction(0.3);
        let body = Body::new(format!("link {k}")).at(0.5 * (ends[0] + ends[1])).oriented(along);
        scene.body(body.with_mass(0.02).placed_shape(shape));
        if k > 0 {
            let (before, this) = (format!("link {}", k - 1), format!("link {k}"));
            let hinge = Joint::hinge(format!("hinge {k}"), before, this, ends[0], DVec3::Y);
            scene.joint(hinge.with(Coordinate::of("angle").damping(damping)));
        }
    }
    let last = pins.len() - 1;
    for (name, link, at) in
        [("left", "link 0".to_owned(), pins[0]), ("right", format!("link {}", last - 1), pins[last])]
    {
        scene.body(cuboid(name, [0.1; 3], 0.3).at((at - 0.05 * DVec3::Z).to_array()).with_mass(1.0));
        scene.joint(Joint::fixed(format!("{name} end"), link, name, at));
    }
    scene
}

/// Symptom: the first step gave 126 J, the cable flew off. Cause: sweeps let the joints answer to their own last answer once more, which is
/// nothing new where they are hard, but had dampers take out the same velocity again and again, against which contacts pushed.
#[test]
fn a_damped_cable_rests_on_a_drum() {
    let mut wrong = Complaints::default();
    for damping in [0.02, 0.05, 0.2] {
        for h in [1.0 / 30.0, 1.0 / 60.0, 1.0 / 120.0] {
            let mut run = Run::new(&cable_on_a_drum(damping), h);
            let (start, drum, mut highest, mut borne, mut steps) = (run.energy(), run.body("drum"), f64::MIN, 0.0, 0);
            while run.world.time() < 2.0 {
                run.step();
                highest = highest.max(run.energy());
                if run.world.time() > 1.0 {
                    // the drum is the first body, and so a of all its contacts
                    borne += run.world.contacts().filter(|c| c.a == drum).map(|c| c.force.z).sum::<f64>();
                    steps += 1;
                }
            }
            let what = format!("damping {damping}, h = {h:.4}");
            wrong.unless(highest < start + 1e-3, || format!("energy rises by {} J, {what}", highest - start));
            wrong.close(&format!("borne by the drum, {what}"), borne / f64::from(steps), (2.0 + 44.0 * 0.02) * G, 0.1);
        }
    }
}
