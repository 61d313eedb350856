//! What rests may sleep, and wakes when it should.

use crate::common::Run;
use crate::contact::{cuboid, ground, sphere};
use linkwork::StepParams;
use linkwork::glam::DVec3;
use linkwork::scene::{Body, BodyKind, Coordinate, Joint, Motor, Scene, WORLD};

const H: f64 = 1.0 / 60.0;

fn asleep(scene: &Scene, after: f64) -> Run {
    let mut run = Run::new(scene, H);
    run.params = StepParams { sleeping: true, ..run.params };
    run.to(after);
    run
}

fn stack() -> Scene {
    let mut scene = Scene::new("stack");
    scene.body(ground(0.5));
    for k in 0..4 {
        scene.body(cuboid(&format!("box{k}"), [1.0; 3], 0.5).at([0.0, 0.0, 0.5 + k as f64]));
    }
    scene
}

fn sleeps(run: &Run, body: &str) -> bool {
    run.world.is_asleep(run.body(body))
}

#[test]
fn a_stack_falls_asleep_and_does_not_move_at_all() {
    let mut run = asleep(&stack(), 3.0);
    assert!((0..4).all(|k| sleeps(&run, &format!("box{k}"))));
    assert_eq!(run.step().sleeping, 4);
    let before: Vec<DVec3> = (0..4).map(|k| run.position(&format!("box{k}"))).collect();
    run.steps(600);
    for (k, at) in before.iter().enumerate() {
        assert_eq!(run.position(&format!("box{k}")), *at, "box {k}");
        assert_eq!(run.velocity(&format!("box{k}")), DVec3::ZERO);
    }
    // what it bears is still told
    let weight: f64 = run.world.contacts().map(|c| c.force.z).fold(0.0, f64::max);
    assert!(weight > 0.0);
}

/// Symptom: a link of a chain was told to sleep after another link of it had been pushed. Cause: the others woke in the next step only.
#[test]
fn what_is_joined_to_or_touches_what_is_pushed_is_awake_at_once() {
    let mut scene = stack();
    for k in 0..3 {
        scene.body(sphere(&format!("link{k}"), 0.1, 0.5).at([9.0, 0.0, 5.0 - k as f64]));
        let (a, at) = if k == 0 { (WORLD.into(), 5.5) } else { (format!("link{}", k - 1), 5.5 - k as f64) };
        scene.joint(Joint::ball(format!("pin{k}"), a, format!("link{k}"), [9.0, 0.0, at]));
    }
    scene.body(cuboid("other", [1.0; 3], 0.5).at([-9.0, 0.0, 0.5]));
    let all = ["link0", "link1", "link2", "box0", "box1", "box2", "box3", "other"];
    for (pushed, count) in [("link2", 3), ("link0", 3), ("box3", 4), ("other", 1)] {
        let mut run = asleep(&scene, 3.0);
        assert!(all.iter().all(|name| sleeps(&run, name)));
        let id = run.body(pushed);
        run.world.apply_central_force(id, DVec3::X).unwrap();
        let awake = |run: &Run| all.into_iter().filter(|name| !sleeps(run, name)).collect::<Vec<_>>();
        let at_once = awake(&run);
        assert_eq!(at_once.len(), count, "{at_once:?} wake with {pushed}");
        // the step wakes no others
        run.step();
        assert_eq!(awake(&run), at_once);
        let mut run = asleep(&scene, 3.0);
        run.world.wake(id);
        assert_eq!(awake(&run), at_once);
    }
}

#[test]
fn without_the_option_nothing_sleeps() {
    let mut run = Run::new(&stack(), H);
    run.to(3.0);
    assert!((0..4).all(|k| !sleeps(&run, &format!("box{k}"))));
}

#[test]
fn sleepers_wake_when_something_hits_them() {
    let mut scene = stack();
    scene.body(sphere("ball", 0.2, 0.5).with_mass(500.0).at([-40.0, 0.0, 3.5]).moving([9.64, 0.0, 20.0], [0.0; 3]));
    let mut run = asleep(&scene, 3.0);
    assert!(sleeps(&run, "box3"));
    let before = run.position("box3");
    run.to(5.5);
    assert!(run.position("box3").distance(before) > 0.1, "box3 at {} stayed where it was", run.position("box3"));
}

#[test]
fn sleepers_wake_when_pushed_or_when_their_support_goes() {
    let mut run = asleep(&stack(), 3.0);
    let top = run.body("box3");
    run.world.apply_central_force(top, DVec3::X * 1e4).unwrap();
    run.step();
    assert!(!sleeps(&run, "box0"), "the whole stack wakes");
    run.to(8.0);
    assert!(sleeps(&run, "box0"));
    let lowest = run.body("box0");
    assert!(run.world.remove_body(lowest));
    run.to(9.0);
    assert!(run.position("box1").z < 0.6, "box1 at {}", run.position("box1"));
}

#[test]
fn a_hanging_machine_sleeps_until_its_motor_is_set() {
    let mut scene = Scene::new("arm");
    scene.body(
        Body::new("arm")
            .with_density(1000.0)
            .shape(linkwork::scene::Geometry::Box { size: [0.1, 0.1, 1.0] })
            .at([0.0, 0.0, -0.5]),
    );
    let friction = Coordinate { friction: 1.0, ..Coordinate::of("angle") };
    scene.joint(Joint::hinge("shoulder", WORLD, "arm", DVec3::ZERO, DVec3::Y).with(friction));
    let mut run = asleep(&scene, 2.0);
    assert!(sleeps(&run, "arm"));
    let shoulder = run.joint("shoulder");
    run.world.set_motor(shoulder, "angle", Some(Motor::Velocity { target: 1.0, max_force: None })).unwrap();
    run.to(3.0);
    assert!(!sleeps(&run, "arm"));
    assert!((run.value_of("shoulder", "angle") - 1.0).abs() < 0.05, "{}", run.value_of("shoulder", "angle"));
}

#[test]
fn a_moving_platform_keeps_what_it_carries_awake() {
    let mut scene = Scene::new("belt");
    let belt = Body { kind: BodyKind::Kinematic, ..cuboid("belt", [4.0, 1.0, 0.2], 0.5) };
    scene.body(belt.moving([0.5, 0.0, 0.0], [0.0; 3]));
    scene.body(cuboid("box", [0.5; 3], 0.5).at([0.0, 0.0, 0.35]).moving([0.5, 0.0, 0.0], [0.0; 3]));
    let run = asleep(&scene, 2.0);
    assert!(!sleeps(&run, "box"));
    assert!((run.position("box").x - 1.0).abs() < 1e-3, "{}", run.position("box"));
}

#[test]
fn what_is_joined_to_a_driven_base_does_not_sleep_nor_tear() {
    let mut scene = Scene::new("carried");
    let base = Body { kind: BodyKind::Kinematic, ..Body::new("base") };
    scene.body(base);
    scene.body(
        Body::new("arm")
            .with_density(1000.0)
            .shape(linkwork::scene::Geometry::Box { size: [0.1, 0.1, 1.0] })
            .at([0.0, 0.0, -0.5]),
    );
    let friction = Coordinate { friction: 5.0, ..Coordinate::of("angle") };
    scene.joint(Joint::hinge("pin", "base", "arm", DVec3::ZERO, DVec3::Y).with(friction));
    let mut run = asleep(&scene, 2.0);
    assert!(sleeps(&run, "arm"));
    let base = run.body("base");
    run.world.set_velocity(base, linkwork::Twist { linear: DVec3::X * 5e-4, angular: DVec3::ZERO }).unwrap();
    run.to(6.0);
    assert!(!sleeps(&run, "arm"));
    assert!(run.worst_error < 1e-9, "the pin opened by {:e} m", run.worst_error);
    assert!((run.position("arm").x - run.position("base").x).abs() < 0.01);
}

#[test]
fn a_slow_motor_runs_on() {
    let mut scene = Scene::new("clock");
    scene
        .body(Body::new("hand").with_density(1000.0).shape(linkwork::scene::Geometry::Box { size: [0.02, 0.02, 0.2] }));
    let motor = Coordinate::of("angle").motor(Motor::Velocity { target: 1e-3, max_force: None });
    scene.joint(Joint::hinge("axle", WORLD, "hand", DVec3::ZERO, DVec3::Y).with(motor));
    let run = asleep(&scene, 4.0);
    assert!((run.value_of("axle", "angle") - 4e-3).abs() < 1e-5, "{}", run.value_of("axle", "angle"));
}

#[test]
fn a_floor_that_is_moved_away_wakes_what_lay_on_it() {
    let mut scene = Scene::new("trapdoor");
    scene.body(Body { kind: BodyKind::Static, ..cuboid("floor", [2.0, 2.0, 0.2], 0.5) });
    scene.body(cuboid("box", [0.5; 3], 0.5).at([0.0, 0.0, 0.35]));
    let mut run = asleep(&scene, 2.0);
    assert!(sleeps(&run, "box"));
    let floor = run.body("floor");
    let mut pose = run.world.pose(floor).unwrap();
    pose.position.x = 50.0;
    run.world.set_pose(floor, pose).unwrap();
    run.to(3.0);
    assert!(run.position("box").z < -1.0, "{}", run.position("box"));
}
