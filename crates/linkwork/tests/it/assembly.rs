//! Closing joints from inexact poses: little motion, the same branch, clear refusals.

use crate::common::{Random, Run, assert_near, bar, build, lump, registered, weightless};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Frame, Geometry, Joint, JointKind, WORLD};
use linkwork::{Pose, Scene, StepError, World, step};

/// Names its joints by frames on the bodies of the exact pose, so that moving a body opens them.
fn by_frames(scene: &Scene) -> Scene {
    use JointKind::{Fixed, Hinge, Slider};
    let world = build(scene);
    let mut scene = scene.clone();
    for joint in scene.joints.iter_mut().filter(|j| matches!(j.kind, Hinge | Slider | Fixed)) {
        let axis = joint.axis.map_or(DVec3::Z, DVec3::from).normalize();
        let frame = |body: &Option<String>| {
            let pose = body.as_deref().and_then(|b| world.body(b)).map_or(Pose::IDENTITY, |b| world.pose(b).unwrap());
            let inward = |v: DVec3| pose.orientation.inverse() * v;
            Frame::at(pose.to_local(joint.at.unwrap().into()))
                .axis(inward(axis))
                .reference(inward(axis.any_orthonormal_vector()))
        };
        let (a, b) = (frame(&joint.a), frame(&joint.b));
        (joint.at, joint.axis) = (None, None);
        (joint.frame_a, joint.frame_b) = (Some(a), Some(b));
    }
    scene
}

/// Distance of two states of a scene of bars, weighted by mass: √(Σ m |Δx|² + θ·Iθ).
fn weighted_distance(scene: &Scene, from: impl Fn(&Body) -> Pose, to: impl Fn(&Body) -> Pose) -> f64 {
    let mut sum = 0.0;
    for body in &scene.bodies {
        let Geometry::Box { size } = body.shapes[0].geometry else { panic!("not a bar") };
        let (mass, (p, q)) = (body.mass.unwrap(), (from(body), to(body)));
        let squares = DVec3::from(size) * DVec3::from(size);
        let inertia = mass / 12.0 * (DVec3::splat(squares.element_sum()) - squares);
        let turn = (p.orientation.inverse() * q.orientation).to_scaled_axis();
        sum += mass * p.position.distance_squared(q.position) + turn.dot(inertia * turn);
    }
    sum.sqrt()
}

fn described(body: &Body) -> Pose {
    let [w, x, y, z] = body.orientation;
    Pose { position: body.position.into(), orientation: DQuat::from_xyzw(x, y, z, w) }
}

fn disturb(scene: &mut Scene, random: &mut Random, shift: f64, turn: f64, in_plane: bool) {
    let confined = |v: DVec3| if in_plane { v.with_y(0.0) } else { v };
    for body in &mut scene.bodies {
        body.position = (DVec3::from(body.position) + confined(random.direction()) * shift * random.unit()).into();
        let [w, x, y, z] = body.orientation;
        let axis = if in_plane { DVec3::Y } else { random.direction() };
        let q = DQuat::from_axis_angle(axis, turn * random.between(-1.0, 1.0)) * DQuat::from_xyzw(x, y, z, w);
        body.orientation = [q.w, q.x, q.y, q.z];
    }
}

fn four_bar_c(world: &World) -> DVec3 {
    world.joint_anchors(world.joint("C").unwrap()).unwrap().0
}

/// Closes a four-bar linkage from poses that are off by up to a tenth of its shortest link, in its plane or in space.
/// Returns the largest motion, in mistakes, both weighted by mass.
fn closing_motion_of_four_bars(in_plane: bool, cases: usize) -> f64 {
    let exact = by_frames(&registered("four-bar", &[]));
    let mut random = Random(11);
    let mut largest = 0.0_f64;
    for _ in 0..cases {
        let mut scene = exact.clone();
        disturb(&mut scene, &mut random, 0.06, 0.06, in_plane);
        let world = build(&scene);
        assert!(world.assembly().largest_gap_m > 1e-4, "was open");
        let closed = |body: &Body| world.pose(world.body(&body.name).unwrap()).unwrap();
        let back = |body: &Body| described(exact.bodies.iter().find(|b| b.name == body.name).unwrap());
        largest =
            largest.max(weighted_distance(&scene, described, closed) / weighted_distance(&scene, described, back));
        assert!(four_bar_c(&world).z < -0.2, "C stays below: {}", four_bar_c(&world));
        for joint in world.joint_ids() {
            let (m, rad) = world.joint_error(joint).unwrap();
            assert!(m < 1e-9 && rad < 1e-9);
        }
    }
    largest
}

#[test]
fn a_four_bar_linkage_drawn_inexactly_closes_nearby_on_its_branch() {
    // the exact pose is one way to close: the least motion is no longer than the way back to it, but for curvature
    let motion = closing_motion_of_four_bars(true, 200);
    assert!(motion < 1.1, "in its plane: moved by {motion} times the mistake");
    let motion = closing_motion_of_four_bars(false, 100);
    assert!(motion < 1.5, "in space: moved by {motion} times the mistake");
}

/// Largest motion of a body, in mistakes of 2 mm and 2 mrad, while machines close.
fn closing_motion(name: &str, settings: &[(&str, f64)], seed: u64) -> f64 {
    let mut random = Random(seed);
    let exact = by_frames(&registered(name, settings));
    let motion = |_| {
        let mut scene = exact.clone();
        disturb(&mut scene, &mut random, 0.002, 0.002, false);
        build(&scene).assembly().largest_motion_m / 0.002
    };
    (0..5).map(motion).fold(0.0, f64::max)
}

/// An excavator drawn 2 mm and 2 mrad off moved by 0.35 m to close: rows that are redundant in the plane are nearly so out of
/// it, and their small gaps were divided by next to nothing.
#[test]
fn machines_drawn_inexactly_close_with_a_motion_of_the_size_of_the_mistake() {
    for (name, settings) in [
        ("strandbeest", vec![("legs", 3.0)]),
        ("scissor-lift", vec![("pairs", 3.0)]),
        ("excavator", vec![]),
        ("walker", vec![]),
    ] {
        let motion = closing_motion(name, &settings, 12);
        assert!(motion < 20.0, "{name}: {motion:.1} times the mistake");
    }
}

#[test]
fn a_closed_start_pose_is_not_touched() {
    let scene = registered("four-bar", &[]);
    let world = build(&scene);
    for body in &scene.bodies {
        let pose = world.pose(world.body(&body.name).unwrap()).unwrap();
        assert_near(&body.name, pose.position, body.position.into(), 1e-12);
    }
    assert!(world.assembly().largest_motion_m < 1e-12);
}

#[test]
fn velocities_that_do_not_fit_the_joints_are_made_to_fit() {
    let mut scene = Scene::new("pendulum");
    scene.body(bar("bob", DVec3::ZERO, DVec3::X, 1.0).moving([3.0, 1.0, 0.0], [0.0; 3]));
    scene.joint(Joint::ball("pin", WORLD, "bob", DVec3::ZERO));
    let world = build(&scene);
    let twist = world.velocity(world.body("bob").unwrap()).unwrap();
    let at_pin = twist.linear + twist.angular.cross(DVec3::X * -0.5);
    assert_near("velocity of the pin", at_pin, DVec3::ZERO, 1e-12);
    // the angular momentum about the pin, 1 · 0.5 along z, is what an impulse at the pin cannot change
    let inertia = (1.0 + 0.05 * 0.05) / 12.0 + 0.25;
    assert_near("spin", twist.angular, DVec3::Z * 0.5 / inertia, 1e-12);
}

#[test]
fn a_chain_that_cannot_reach_is_refused_with_joint_and_gap() {
    let mut scene = Scene::new("too short");
    scene.body(bar("left", DVec3::ZERO, DVec3::X, 1.0));
    scene.body(bar("right", DVec3::X, DVec3::X * 2.0, 1.0));
    scene.joint(Joint::ball("start", WORLD, "left", DVec3::ZERO));
    scene.joint(Joint::ball("middle", "left", "right", DVec3::X));
    // its end is 2 m away at most, the wall 3 m
    let end = Joint::new(JointKind::Ball, "end", WORLD, "right")
        .frames(Frame::at([3.0, 0.0, 0.0]), Frame::at([0.5, 0.0, 0.0]));
    scene.joint(end);
    let error = World::build(&scene).err().expect("refused");
    assert_eq!(error.problems.len(), 1);
    let problem = &error.problems[0];
    let named: Vec<&str> =
        ["start", "middle", "end"].into_iter().filter(|n| problem.problem.contains(&format!("\"{n}\""))).collect();
    assert_eq!(named.len(), 1, "{problem}");
    let index = ["start", "middle", "end"].iter().position(|n| *n == named[0]).unwrap();
    assert_eq!(problem.path, format!("joints[{index}]"), "{problem}");
    assert!(problem.hint.is_some());
    // a metre is missing, shared by three joints
    let gap: f64 = problem.problem.split_whitespace().find_map(|w| w.parse().ok()).expect("a number");
    assert!((0.1..1.1).contains(&gap), "{problem}");
}

#[test]
fn joints_that_contradict_each_other_are_refused() {
    let mut scene = Scene::new("conflict");
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
    scene.joint(Joint::fixed("here", WORLD, "bar", DVec3::ZERO));
    scene.joint(
        Joint::new(JointKind::Ball, "there", WORLD, "bar")
            .frames(Frame::at([0.0, 0.0, 0.1]), Frame::at([-0.5, 0.0, 0.0])),
    );
    let error = World::build(&scene).err().expect("refused");
    assert!(error.problems[0].path.starts_with("joints["), "{error}");
    assert!(error.problems[0].problem.contains("cannot be closed"), "{error}");
}

#[test]
fn joints_that_say_the_same_twice_are_counted_and_harmless() {
    let mut scene = Scene::new("redundant");
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
    scene.joint(Joint::hinge("one", WORLD, "bar", DVec3::ZERO, DVec3::Y));
    scene.joint(Joint::hinge("two", WORLD, "bar", DVec3::Y * 0.3, DVec3::Y));
    let mut single = scene.clone();
    single.joints.pop();
    let census = build(&scene).census();
    assert_eq!((census.constraint_rows, census.redundant_rows, census.degrees_of_freedom, census.loops), (10, 5, 1, 1));
    let (mut twice, mut once) = (Run::new(&scene, 1.0 / 120.0), Run::new(&single, 1.0 / 120.0));
    for _ in 0..240 {
        twice.step();
        once.step();
        assert_near("bar", twice.position("bar"), once.position("bar"), 1e-6);
    }
    assert!(!twice.reaction("one").unique && once.reaction("one").unique);
}

#[test]
fn a_start_outside_its_limits_is_refused_with_the_numbers() {
    let mut scene = Scene::new("outside");
    scene.body(lump("block", 1.0).at([0.4, 0.0, 0.0]));
    let frames = (Frame::at([0.0; 3]).axis(DVec3::X), Frame::at([0.0; 3]).axis(DVec3::X));
    let stop = Coordinate::default().limit(Some(-0.1), Some(0.25));
    scene.joint(Joint::new(JointKind::Slider, "rail", WORLD, "block").frames(frames.0, frames.1).with(stop));
    let error = World::build(&scene).err().expect("refused");
    let problem = &error.problems[0];
    assert_eq!(problem.path, "joints[0].coordinates", "{problem}");
    for part in ["rail", "displacement", "0.4", "0.25"] {
        assert!(problem.problem.contains(part), "{part} is missing in {problem}");
    }
}

#[test]
fn a_body_put_elsewhere_takes_its_mechanism_along() {
    let mut run = Run::new(&registered("four-bar", &[]), 1.0 / 120.0);
    run.steps(30);
    let crank = run.body("crank");
    let pose = run.world.pose(crank).unwrap();
    let turn = DQuat::from_rotation_y(0.3);
    run.world.set_pose(crank, Pose { position: turn * pose.position, orientation: turn * pose.orientation }).unwrap();
    let before = run.world.pose(crank).unwrap();
    run.step();
    assert!(run.worst_error < 1e-9);
    for joint in run.world.joint_ids() {
        assert!(run.world.joint_error(joint).unwrap().0 < 1e-9);
    }
    let moved = run.world.pose(crank).unwrap().position.distance(before.position);
    assert!(moved < 0.3, "the crank stays about where it was put: {moved} m");
    assert!(four_bar_c(&run.world).z < 0.0);
}

#[test]
fn a_pose_that_cannot_be_closed_fails_the_step_and_changes_nothing() {
    let mut scene = weightless("anchored");
    scene.body(Body::kinematic("hook"));
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
    scene.joint(Joint::ball("pin", WORLD, "bar", DVec3::ZERO));
    scene.joint(
        Joint::new(JointKind::Ball, "hook pin", "hook", "bar")
            .frames(Frame::at([1.0, 0.0, 0.0]), Frame::at([0.5, 0.0, 0.0])),
    );
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.steps(5);
    let hook = run.body("hook");
    let fine = run.world.pose(hook).unwrap();
    run.world.set_pose(hook, Pose { position: DVec3::X * 5.0, ..fine }).unwrap();
    let before = run.world.state_hash();
    let error = step(&mut run.world, &mut run.scratch, &run.params).expect_err("cannot reach");
    let StepError::CannotAssemble { joint, gap } = &error else { panic!("{error}") };
    assert!(["pin", "hook pin"].contains(&joint.as_str()), "{error}");
    assert!(*gap > 1.0, "{error}");
    assert_eq!(run.world.state_hash(), before, "as it was before the step");
    run.world.set_pose(hook, fine).unwrap();
    run.steps(5);
    assert!(run.worst_error < 1e-9, "put back, it goes on");
}

/// Two links of 1 m between points further apart: a gap must remain. The iteration swings through the stretched pose, and what it
/// told was the gap where it happened to end, up to 2.5 times the least.
#[test]
fn the_gap_that_remains_at_a_stretched_pose_is_the_least_one() {
    for (apart, bend) in [(2.1, 0.3), (2.1, 0.01), (2.001, 0.5), (2.5, 0.2), (2.0001, 0.9), (2.000001, 0.001)] {
        let mut scene = weightless("stretched");
        let middle = DVec3::new(0.5 * apart, 0.0, bend);
        let (left, right) = (DVec3::ZERO, DVec3::X * apart);
        let link = |name: &str, from: DVec3, to: DVec3| {
            let along = (to - from).normalize();
            bar(name, from, from + along, 1.0)
        };
        scene.body(link("left", left, middle));
        scene.body(link("right", right, middle));
        let half = [0.5, 0.0, 0.0];
        let ball = |name: &str, a: &str, at_a: [f64; 3], b: &str, at_b: [f64; 3]| {
            Joint::new(JointKind::Ball, name, a, b).frames(Frame::at(at_a), Frame::at(at_b))
        };
        scene.joint(ball("L", WORLD, left.into(), "left", [-0.5, 0.0, 0.0]));
        scene.joint(ball("R", WORLD, right.into(), "right", [-0.5, 0.0, 0.0]));
        scene.joint(ball("M", "left", half, "right", half));
        let error = World::build(&scene).err().unwrap();
        let words = &error.problems[0].problem;
        let gap: f64 = words.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        // the middle joint, where both links give way, has as much of it as the two others together
        let least = 0.5 * (apart - 2.0);
        assert!((gap / least - 1.0).abs() < 0.01, "{apart} m apart, bent {bend} m: {words}, not {least:e}");
    }
}
