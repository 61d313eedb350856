//! Soft materials: a spring and a damper at every contact point, with and without joints.

use crate::common::{Complaints, Run, wxyz};
use crate::contact::{cuboid, sphere};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Geometry, Joint, Scene, Shape, Softness, WORLD};

const G: f64 = 9.81;
const MASS: f64 = 3.0;
const STIFFNESS: f64 = 2000.0;

fn soft_ground(damping: f64, friction: f64) -> Body {
    let mut ground = Shape::new(Geometry::Plane).friction(friction);
    ground.softness = Some(Softness { stiffness: STIFFNESS, damping });
    Body::fixed("ground").placed_shape(ground)
}

/// A ball that begins at the surface, at rest: free, or held upright by a joint that changes nothing.
fn ball_on_soft_ground(damping: f64, jointed: bool) -> Scene {
    let mut scene = Scene::new("ball");
    scene.body(soft_ground(damping, 0.5));
    scene.body(sphere("ball", 0.2, 0.5).with_mass(MASS).at([0.0, 0.0, 0.2]));
    if jointed {
        scene.joint(Joint::slider("rail", WORLD, "ball", [0.0, 0.0, 0.2], DVec3::Z));
    }
    scene
}

/// m x'' = −m g − k x − d x' from rest at x = 0, underdamped.
fn oscillation(t: f64, damping: f64) -> f64 {
    let (w2, decay) = (STIFFNESS / MASS, 0.5 * damping / MASS);
    let w = (w2 - decay * decay).sqrt();
    let sag = MASS * G / STIFFNESS;
    -sag + sag * (-decay * t).exp() * ((w * t).cos() + decay / w * (w * t).sin())
}

#[test]
fn a_soft_contact_swings_as_its_spring_does() {
    let mut wrong = Complaints::default();
    let damping = 30.0;
    for jointed in [false, true] {
        let mut errors = Vec::new();
        for h in [1e-3, 5e-4] {
            let mut run = Run::new(&ball_on_soft_ground(damping, jointed), h);
            let mut worst = 0.0_f64;
            for k in 1..=(0.5 / h).round() as usize {
                run.step();
                worst = worst.max((run.position("ball").z - 0.2 - oscillation(k as f64 * h, damping)).abs());
            }
            errors.push(worst);
        }
        // backward Euler: first order
        wrong.unless(errors[0] < 4e-4, || format!("jointed {jointed}: {errors:?} m"));
        wrong.unless(errors[1] < 0.6 * errors[0], || format!("jointed {jointed}: no first order, {errors:?} m"));
    }
}

#[test]
fn what_rests_on_a_soft_material_sinks_by_its_weight_over_the_stiffness() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 240.0, 1.0 / 60.0, 1.0 / 30.0] {
        for jointed in [false, true] {
            let mut run = Run::new(&ball_on_soft_ground(60.0, jointed), h);
            run.steps((6.0 / h) as usize);
            let sag = 0.2 - run.position("ball").z;
            wrong.close(&format!("h {h}, jointed {jointed}: sag"), sag, MASS * G / STIFFNESS, 1e-6);
        }
        // an arm on a hinge, the smooth ball at its end on the ground
        let mut scene = Scene::new("arm");
        scene.body(soft_ground(60.0, 0.0));
        let arm = Shape::new(Geometry::Capsule { radius: 0.05, length: 0.9 });
        let (foot, hinge) = (Shape::new(Geometry::Sphere { radius: 0.05 }).friction(0.0), [0.0, 0.0, 0.05]);
        scene.body(
            Body::new("arm")
                .at([0.5, 0.0, 0.05])
                .oriented(wxyz(DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2)))
                .with_mass(MASS)
                .placed_shape(arm.groups(2, 0))
                .placed_shape(foot.at([0.0, 0.0, 0.5])),
        );
        scene.joint(Joint::hinge("hinge", WORLD, "arm", hinge, DVec3::Y));
        let mut run = Run::new(&scene, h);
        run.steps((6.0 / h) as usize);
        // where the weight of capsule and ball acts, by their volumes over π: the ground bears that part of it, 1 m from the hinge
        let (capsule, ball) = (0.05_f64.powi(2) * 0.9 + 4.0 / 3.0 * 0.05_f64.powi(3), 4.0 / 3.0 * 0.05_f64.powi(3));
        let borne = (0.5 * capsule + ball) / (capsule + ball) * MASS * G;
        let sag = 2.0 * (0.05 - run.position("arm").z);
        wrong.close(&format!("h {h}: sag of the arm's end"), sag, borne / STIFFNESS, 1e-6);
        wrong.unless(run.worst_error < 1e-9, || format!("h {h}: joint open by {:e} m", run.worst_error));
    }
}

/// A block on a slope, held by friction on a soft material, does not creep, even where a joint is in the same island.
#[test]
fn a_soft_material_holds_a_block_on_a_slope() {
    let mut wrong = Complaints::default();
    for jointed in [false, true] {
        let mut scene = Scene::new("slope");
        scene.body(soft_ground(60.0, 0.5));
        // gravity leans instead of the ground
        scene.gravity = [0.3 * G, 0.0, -G];
        scene.body(cuboid("block", [0.4, 0.4, 0.2], 0.5).with_mass(MASS).at([0.0, 0.0, 0.1]));
        if jointed {
            scene.body(cuboid("lid", [0.2, 0.2, 0.1], 0.5).with_mass(0.5).at([0.0, 0.0, 0.25]));
            scene.joint(Joint::hinge("hinge", "block", "lid", [0.0, 0.0, 0.2], DVec3::Z));
        }
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.steps(240);
        let settled = run.position("block");
        run.steps(600);
        let crept = run.position("block").distance(settled);
        wrong.unless(crept < 1e-6, || format!("jointed {jointed}: crept {crept:e} m in 10 s"));
    }
}
