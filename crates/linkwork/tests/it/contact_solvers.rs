//! Contacts by complementarity solvers, chosen in the step: against Newton's method and closed forms.

use crate::common::{Complaints, Run, wxyz};
use crate::contact::{cuboid, ground, sphere};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Scene, Shape, WORLD};
use linkwork::{ContactSolver, Method, Warning};

const G: f64 = 9.81;
const SOLVERS: [ContactSolver; 3] = [ContactSolver::Dantzig, ContactSolver::Lemke, ContactSolver::GaussSeidel];

fn with(scene: &Scene, h: f64, solver: ContactSolver) -> Run {
    let mut run = Run::new(scene, h);
    run.params.contact = solver;
    run
}

#[test]
fn a_block_slides_and_sticks_along_a_tangent() {
    let mut wrong = Complaints::default();
    let mu: f64 = 0.5;
    for solver in SOLVERS {
        for (share, holds) in [(0.9, true), (1.2, false)] {
            let angle = (share * mu).atan();
            let turn = DQuat::from_rotation_y(angle);
            let mut scene = Scene::new("slope");
            scene.body(ground(mu));
            scene.body(cuboid("block", [1.0, 1.0, 0.2], mu).at([0.0, 0.0, 0.1]));
            // gravity leans instead of the ground: the tangents are x and y then
            scene.gravity = (turn.inverse() * DVec3::new(0.0, 0.0, -G)).to_array();
            let mut run = with(&scene, 1.0 / 120.0, solver);
            run.to(1.0);
            let acceleration = if holds { 0.0 } else { G * (angle.sin() - mu * angle.cos()) };
            let gone = run.position("block").x.abs();
            wrong.close(&format!("{solver:?}, {share}"), gone, 0.5 * acceleration, 2e-3 * acceleration + 2e-5);
        }
    }
}

#[test]
fn stacks_and_machines_come_out_as_by_newtons_method() {
    let mut wrong = Complaints::default();
    let mut stack = Scene::new("stack");
    stack.body(ground(0.6));
    for k in 0..3 {
        stack.body(cuboid(&format!("box{k}"), [0.4, 0.4, 0.2], 0.6).at([0.0, 0.0, 0.1 + 0.2 * f64::from(k)]));
    }
    let mut arm = Scene::new("arm on the ground");
    arm.body(ground(0.3));
    let bob = Shape::new(Geometry::Sphere { radius: 0.1 }).friction(0.3);
    arm.body(
        Body::new("arm").at([0.5, 0.0, 0.3]).with_mass(2.0).placed_shape(Shape { position: [0.5, 0.0, 0.0], ..bob }),
    );
    let limit = Coordinate::default().limit(Some(-1.0), Some(1.0)).friction(0.2);
    arm.joint(Joint::hinge("hinge", WORLD, "arm", [0.0, 0.0, 0.3], DVec3::Y).with(limit));
    for scene in [&stack, &arm] {
        let mut newton = Run::new(scene, 1.0 / 120.0);
        newton.to(1.0);
        for solver in SOLVERS {
            for method in [Method::Direct, Method::Reduced] {
                let mut run = with(scene, 1.0 / 120.0, solver);
                run.params.method = method;
                run.to(1.0);
                for id in run.world.body_ids() {
                    let (a, b) = (run.world.center_of_mass(id).unwrap(), newton.world.center_of_mass(id).unwrap());
                    let name = run.world.body_name(id).unwrap().to_string();
                    wrong.near(&format!("{} {solver:?} {method:?} {name}", scene.name), a, b, 1e-4);
                }
            }
        }
    }
}

#[test]
fn a_gripper_holds_by_any_solver() {
    let mut wrong = Complaints::default();
    for solver in SOLVERS {
        let mut scene = Scene::new("gripper");
        scene.body(cuboid("box", [0.4; 3], 0.5).with_mass(10.0));
        for (name, side) in [("left", -1.0), ("right", 1.0)] {
            scene.body(cuboid(name, [0.1, 0.3, 0.3], 0.5).with_mass(1.0).at([side * 0.25, 0.0, 0.0]));
            let motor = Motor::Force { value: -side * 1.5 * 10.0 * G };
            let rail = Joint::slider(format!("{name} rail"), WORLD, name, [side * 0.25, 0.0, 0.0], DVec3::X);
            scene.joint(rail.with(Coordinate::of("displacement").motor(motor)));
        }
        let mut run = with(&scene, 1.0 / 60.0, solver);
        run.to(2.0);
        wrong.near(&format!("{solver:?}"), run.position("box"), DVec3::ZERO, 1e-4);
    }
}

#[test]
fn what_is_too_large_is_left_to_newtons_method_and_told() {
    let mut scene = Scene::new("carpet");
    scene.body(ground(0.5));
    // boxes side by side that touch each other: one island of very many rows
    for k in 0..60 {
        let at = DVec3::new(0.4 * f64::from(k % 10), 0.4 * f64::from(k / 10), 0.2);
        scene.body(cuboid(&format!("b{k}"), [0.4; 3], 0.5).at(at).oriented(wxyz(DQuat::IDENTITY)));
    }
    scene.body(sphere("ball", 0.2, 0.5).at([-5.0, 0.0, 0.2]));
    let mut run = with(&scene, 1.0 / 60.0, ContactSolver::Dantzig);
    let report = run.step();
    assert!(report.warnings.iter().any(|w| matches!(w, Warning::Refused { .. })), "{:?}", report.warnings);
    run.to(0.5);
    assert!(run.position("b30").z > 0.199, "{}", run.position("b30"));
}
