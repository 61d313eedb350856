//! Changing a running world and going back to snapshots.

use crate::common::{Run, angle_between, assert_close, assert_near, bar, build, lump, on_axle, registered, weightless};
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Coordinate, Frame, Joint, JointKind, Limit, Motor, WORLD};
use linkwork::{BlackBox, Pose, Scene, Scratch, StepParams, Twist, World, step};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn bodies_and_joints_join_a_running_world_as_if_they_had_always_been_there() {
    let whole = registered("double-pendulum", &[]);
    let mut grown = Run::of(World::new(whole.gravity).unwrap(), 0.01);
    for body in &whole.bodies {
        grown.world.add_body(body).unwrap();
    }
    for joint in &whole.joints {
        grown.world.add_joint(joint).unwrap();
    }
    let mut built = Run::new(&whole, 0.01);
    for _ in 0..100 {
        grown.step();
        built.step();
        assert_near("link1", grown.position("link1"), built.position("link1"), 1e-7);
    }
}

#[test]
fn a_chain_cut_in_flight_falls_apart_and_can_be_joined_again() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    run.steps(20);
    let joint = run.joint("ball1");
    let description = run.world.joint_description(joint).unwrap().clone();
    assert!(run.world.remove_joint(joint));
    assert!(!run.world.remove_joint(joint), "a second time there is nothing to remove");
    let (start, velocity) = (run.position("link1"), run.velocity("link1"));
    run.steps(30);
    let t = 0.3;
    assert_near("free flight", run.position("link1"), start + velocity * t + DVec3::NEG_Z * (0.5 * 9.81 * t * t), 1e-9);
    // joined where the bodies are now: the new joint holds their present distance
    let at = run.position("link1");
    let again = Joint { at: Some(at.into()), ..description };
    run.world.add_joint(&again).unwrap();
    run.steps(50);
    assert!(run.worst_error < 1e-9);
    assert_eq!(run.world.census().degrees_of_freedom, 6);
}

#[test]
fn ids_of_what_was_removed_find_nothing_more() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    let (body, joint) = (run.body("link1"), run.joint("ball1"));
    assert!(run.world.remove_body(body));
    assert!(run.world.joint_name(joint).is_none(), "its joint went with it");
    let replacement = run.world.add_body(&lump("other", 1.0)).unwrap();
    assert_ne!(replacement, body);
    let hash = run.world.state_hash();
    assert!(run.world.pose(body).is_none() && run.world.velocity(body).is_none() && run.world.mass(body).is_none());
    assert!(run.world.coordinates(joint).is_none() && run.world.reaction(joint).is_none());
    assert!(!run.world.remove_body(body) && !run.world.remove_joint(joint));
    let refusals = [
        run.world.set_pose(body, Pose::IDENTITY),
        run.world.set_velocity(body, Twist::default()),
        run.world.apply_central_force(body, DVec3::X),
        run.world.apply_force(body, DVec3::X, DVec3::ZERO),
        run.world.apply_torque(body, DVec3::X),
        run.world.apply_impulse(body, DVec3::X, DVec3::ZERO),
        run.world.apply_angular_impulse(body, DVec3::X),
        run.world.set_gravity_scale(body, 0.0),
        run.world.set_damping(body, 0.0, 0.0),
        run.world.change_body(body, &lump("x", 1.0)),
    ];
    for refusal in refusals {
        let error = refusal.expect_err("the body is gone");
        assert!(error.to_string().contains("no longer"), "{error}");
    }
    let refusals = [
        run.world.set_motor(joint, "x", None),
        run.world.set_limit(joint, "x", None),
        run.world.set_spring(joint, "x", None),
        run.world.set_friction(joint, "x", 0.0, 0.0),
        run.world.change_joint(joint, &Joint::ball("x", WORLD, "link0", DVec3::ZERO)),
    ];
    for refusal in refusals {
        let error = refusal.expect_err("the joint is gone");
        assert!(error.to_string().contains("no longer"), "{error}");
    }
    assert_eq!(run.world.state_hash(), hash);
}

#[test]
fn couplings_go_with_the_joints_that_they_couple() {
    let mut scene = on_axle(0.1, Coordinate::default());
    scene.body(Body::new("second").at([1.0, 0.0, 0.0]).with_mass(1.0).with_inertia([0.1; 3]));
    scene.joint(Joint::hinge("second axle", WORLD, "second", [1.0, 0.0, 0.0], DVec3::Z));
    scene.joint(Joint::gear("gear", "axle", "second axle", 2.0));
    let mut run = Run::new(&scene, 0.01);
    run.steps(3);
    let axle = run.joint("axle");
    assert!(run.world.remove_joint(axle));
    assert!(run.world.joint("gear").is_none());
    run.steps(3);
    assert_eq!(run.world.census().joints, 1);
}

#[test]
fn a_body_made_heavier_in_motion_keeps_its_velocity_and_its_joints() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    run.steps(20);
    let link = run.body("link1");
    let (pose, twist) = (run.world.pose(link).unwrap(), run.world.velocity(link).unwrap());
    let mut heavier = lump("ignored", 50.0);
    heavier.center_of_mass = Some([0.2, 0.1, 0.0]);
    run.world.change_body(link, &heavier).unwrap();
    assert_eq!(run.world.body_name(link), Some("link1"), "it keeps its name");
    assert_eq!(run.world.mass(link), Some(50.0));
    assert_near("place", run.world.pose(link).unwrap().position, pose.position, 1e-12);
    assert_near("velocity", run.world.velocity(link).unwrap().linear, twist.linear, 1e-12);
    let anchors = run.world.joint_anchors(run.joint("ball1")).unwrap();
    assert_near("the joint's point", anchors.0, anchors.1, 1e-9);
    let energy = run.energy();
    run.steps(100);
    assert!(run.worst_error < 1e-9);
    assert_close("energy", run.energy(), energy, 0.02 * energy.abs().max(50.0));
}

#[test]
fn a_body_can_be_held_and_let_go() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    run.steps(20);
    let (upper, lower) = (run.body("link0"), run.body("link1"));
    let held = run.position("link1");
    let description = |kind| Body { kind, ..lump("x", 1.0) };
    // the upper link hangs between the world and the lower one: holding it would leave a joint nothing to move
    let hash = run.world.state_hash();
    let refused = run.world.change_body(upper, &description(linkwork::scene::BodyKind::Static)).expect_err("refused");
    assert_eq!(refused.path, "body.kind");
    assert_eq!(run.world.state_hash(), hash);
    run.world.change_body(lower, &description(linkwork::scene::BodyKind::Static)).unwrap();
    run.steps(50);
    assert_near("held", run.position("link1"), held, 1e-12);
    run.world.change_body(lower, &description(linkwork::scene::BodyKind::Dynamic)).unwrap();
    run.steps(50);
    assert!(run.position("link1").distance(held) > 0.05, "let go");
    assert!(run.worst_error < 1e-9);
}

#[test]
fn a_joint_changed_in_motion_holds_the_new_way() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    run.steps(20);
    let joint = run.joint("ball1");
    let at = run.world.joint_anchors(joint).unwrap().0;
    run.world.change_joint(joint, &Joint::fixed("", "link0", "link1", at)).unwrap();
    assert_eq!(run.world.joint_name(joint), Some("ball1"), "it keeps its name");
    assert_eq!(run.world.census().degrees_of_freedom, 3);
    let turn = |run: &Run| run.orientation("link0").inverse() * run.orientation("link1");
    let before = turn(&run);
    run.steps(100);
    assert!(angle_between(turn(&run), before) < 1e-8, "as one body");
    assert!(run.worst_error < 1e-9);
}

#[test]
fn a_joint_that_cannot_be_closed_is_refused_and_nothing_has_changed() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    run.steps(20);
    let (hash, joints) = (run.world.state_hash(), run.world.joint_ids().count());
    let far = Joint::new(JointKind::Ball, "far", WORLD, "link1").frames(Frame::at([9.0, 0.0, 0.0]), Frame::default());
    let error = run.world.add_joint(&far).expect_err("out of reach");
    assert!(error.path.starts_with("joint"), "{error}");
    assert_eq!((run.world.state_hash(), run.world.joint_ids().count()), (hash, joints));
    let mut untouched = Run::new(&registered("double-pendulum", &[]), 0.01);
    untouched.steps(40);
    run.steps(20);
    assert_eq!(run.world.state_hash(), untouched.world.state_hash(), "it goes on as if it had not been asked");
}

/// Scenes that use every kind of memory: warm starts, robust steps, servos with integrals, turns, hubs, redundancy.
fn remembering() -> Vec<Scene> {
    vec![
        registered("double-pendulum", &[]),
        registered("four-bar", &[]),
        registered("wrecking-ball", &[("links", 8.0)]),
        registered("joints", &[]),
        registered("excavator", &[("motion", 1.0)]),
        registered("car", &[]),
        registered("stewart", &[]),
        registered("strandbeest", &[("legs", 6.0)]),
        registered("spider", &[("legs", 16.0)]),
        registered("star", &[("bodies", 31.0)]),
        registered("tree", &[("bodies", 31.0)]),
        registered("scissor-lift", &[("pairs", 4.0)]),
        registered("peaucellier", &[]),
        integrating_servo(),
    ]
}

fn integrating_servo() -> Scene {
    let servo = |max_force| Motor::Servo {
        target: 3.0,
        target_velocity: 0.0,
        stiffness: 2.0,
        damping: 0.3,
        integral: 0.7,
        max_force,
    };
    let mut scene = on_axle(0.1, Coordinate::default().motor(servo(None)));
    scene.body(Body::new("second").at([1.0, 0.0, 0.0]).with_mass(1.0).with_inertia([0.1; 3]));
    let bounded = Coordinate::default().motor(servo(Some(0.5))).friction(0.05);
    scene.joint(Joint::hinge("second axle", WORLD, "second", [1.0, 0.0, 0.0], DVec3::Z).with(bounded));
    scene
}

/// State hashes after each step of an uninterrupted run.
fn uninterrupted(scene: &Scene, steps: usize) -> Vec<u64> {
    let mut run = Run::new(scene, scene.step.dt);
    (0..steps)
        .map(|_| {
            run.step();
            run.world.state_hash()
        })
        .collect()
}

const STEPS: usize = 60;

#[test]
fn going_back_to_a_snapshot_anywhere_repeats_the_run_bit_for_bit() {
    for scene in remembering() {
        let expected = uninterrupted(&scene, STEPS);
        let mut run = Run::new(&scene, scene.step.dt);
        let mut snapshots = vec![(0, run.world.snapshot())];
        for k in 0..STEPS {
            run.step();
            if k % 7 == 3 {
                snapshots.push((k + 1, run.world.snapshot()));
            }
        }
        for (from, snapshot) in snapshots.iter().rev() {
            run.world.restore(snapshot);
            for (k, hash) in expected.iter().enumerate().skip(*from).take(10) {
                run.step();
                assert_eq!(run.world.state_hash(), *hash, "{}: step {} after restoring step {from}", scene.name, k + 1);
            }
        }
    }
}

#[test]
fn a_snapshot_continues_in_another_world() {
    for scene in [registered("joints", &[]), registered("wrecking-ball", &[("links", 8.0)])] {
        let expected = uninterrupted(&scene, 40);
        let mut run = Run::new(&scene, scene.step.dt);
        run.steps(20);
        let mut other = Run::of(World::new([0.0; 3]).unwrap(), scene.step.dt);
        other.world.restore(&run.world.snapshot());
        for hash in &expected[20..] {
            other.step();
            assert_eq!(other.world.state_hash(), *hash, "{}", scene.name);
        }
    }
}

#[test]
fn dropping_the_scratch_at_any_step_changes_nothing() {
    for scene in remembering() {
        let expected = uninterrupted(&scene, STEPS);
        let mut run = Run::new(&scene, scene.step.dt);
        for (k, hash) in expected.iter().enumerate() {
            if k % 3 == 0 {
                run.scratch = Scratch::default();
            }
            run.step();
            assert_eq!(run.world.state_hash(), *hash, "{}: step {}", scene.name, k + 1);
        }
    }
}

#[test]
fn worlds_can_share_a_scratch() {
    let scenes = [registered("double-pendulum", &[]), registered("four-bar", &[]), registered("four-bar", &[])];
    let expected: Vec<Vec<u64>> = scenes.iter().map(|s| uninterrupted(s, STEPS)).collect();
    let mut worlds: Vec<World> = scenes.iter().map(build).collect();
    let mut scratch = Scratch::default();
    for k in 0..STEPS {
        for (w, world) in worlds.iter_mut().enumerate() {
            step(world, &mut scratch, &StepParams::new(scenes[w].step.dt)).unwrap();
            assert_eq!(world.state_hash(), expected[w][k], "world {w}, step {}", k + 1);
        }
    }
}

#[test]
fn forces_act_for_one_step_and_impulses_at_once() {
    let mut scene = weightless("pushed");
    scene.body(lump("block", 2.0));
    let mut run = Run::new(&scene, 0.01);
    let block = run.body("block");
    run.world.apply_central_force(block, DVec3::X * 10.0).unwrap();
    run.steps(2);
    assert_near("velocity after a force", run.velocity("block"), DVec3::X * 0.05, 1e-14);
    let at = run.position("block");
    run.world.apply_impulse(block, DVec3::Y * 3.0, at).unwrap();
    run.step();
    assert_near("velocity after an impulse", run.velocity("block"), DVec3::new(0.05, 1.5, 0.0), 1e-14);
    run.world.apply_angular_impulse(block, DVec3::Z * 0.8).unwrap();
    assert_near("spin", run.spin("block"), DVec3::Z * 10.0, 1e-12);
    run.world.apply_force(block, DVec3::X, at + DVec3::Y).unwrap();
    let before = run.world.momentum().angular;
    run.step();
    let gained = run.world.momentum().angular - before;
    assert!((gained.z - -0.01).abs() < 1e-3, "torque of a force with a lever: {gained}");
}

#[test]
fn an_impulse_on_a_mechanism_is_felt_through_its_joints() {
    // struck at its end, a bar on a pin turns with J L / I
    let mut scene = weightless("struck");
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, 3.0));
    scene.joint(Joint::ball("pin", WORLD, "bar", DVec3::ZERO));
    let mut run = Run::new(&scene, 1e-3);
    let bar = run.body("bar");
    run.world.apply_impulse(bar, DVec3::Y * 2.0, DVec3::X).unwrap();
    run.step();
    let inertia = 3.0 * ((1.0 + 0.0025) / 12.0 + 0.25);
    assert_near("spin", run.spin("bar"), DVec3::Z * 2.0 / inertia, 1e-6);
}

/// Everything that a step could have changed, as bits.
fn bits(world: &World) -> (u64, Vec<u64>) {
    let numbers = world.body_ids().flat_map(|id| {
        let (pose, twist) = (world.pose(id).unwrap(), world.velocity(id).unwrap());
        let poses = pose.position.to_array().into_iter().chain(pose.orientation.to_array());
        poses.chain(twist.linear.to_array()).chain(twist.angular.to_array())
    });
    (world.state_hash(), numbers.map(f64::to_bits).collect())
}

/// A rod of a metre that can be broken: it answers with what is no number then.
#[derive(Default)]
struct BreakingRod {
    broken: AtomicBool,
}

impl BlackBox for BreakingRod {
    fn nearest(&self, relative: Pose) -> Pose {
        let length = if self.broken.load(Ordering::Relaxed) { f64::NAN } else { 1.0 };
        Pose { position: relative.position.normalize() * length, ..relative }
    }
}

/// The joints of a moved body were closed before the step and stayed so when it failed in another mechanism.
#[test]
fn a_step_that_fails_takes_back_the_closing_of_moved_bodies() {
    let mut scene = registered("double-pendulum", &[]);
    scene.body(lump("bob", 1.0).at([1.0, 0.0, 0.0]));
    let mut run = Run::new(&scene, 0.01);
    let (link, bob) = (run.body("link0"), run.body("bob"));
    let rod = Arc::new(BreakingRod::default());
    run.world.add_black_box_joint("rod", None, Some((bob, Frame::default())), rod.clone()).unwrap();
    run.steps(5);
    let pose = run.world.pose(link).unwrap();
    run.world.set_pose(link, Pose { position: pose.position + DVec3::new(0.02, 0.03, 0.01), ..pose }).unwrap();
    let kept = run.world.snapshot();
    rod.broken.store(true, Ordering::Relaxed);
    let before = bits(&run.world);
    for _ in 0..2 {
        let error = step(&mut run.world, &mut run.scratch, &run.params).unwrap_err();
        assert!(error.to_string().contains("rod"), "{error}");
        assert_eq!(bits(&run.world), before);
    }
    run.world.restore(&kept);
    rod.broken.store(false, Ordering::Relaxed);
    run.step();
    assert!(run.worst_error < 1e-9, "with a rod that holds the bodies are closed and step");
    assert_ne!(bits(&run.world), before);
}

/// A problem of one joint was told of another: whatever failed when a joint was added had the path `joint`.
#[test]
fn a_joint_that_breaks_another_is_refused_in_the_name_of_the_other() {
    let limit = Coordinate {
        limit: Some(Limit { min: Some(-0.1), max: Some(0.1), restitution: 0.0 }),
        ..Coordinate::default()
    };
    let mut scene = on_axle(0.1, limit);
    scene.body(lump("tip", 1.0).at([1.0, 0.0, 0.0]));
    let wheel = scene.bodies[0].name.clone();
    let mut world = build(&scene);
    let before = (bits(&world), world.joint_ids().count());
    // a rod that can be closed only by turning the wheel half a turn round
    let mut rod = Joint::distance("rod", &wheel, [1.0, 0.0, 0.0], WORLD, [0.0, 1.0, 0.0]);
    rod.length = Some(0.2);
    let error = world.add_joint(&rod).unwrap_err();
    assert_eq!(error.path, "joint \"axle\".coordinates", "{error}");
    assert!(error.problem.contains("outside its limits from -0.1 to 0.1 rad"), "{error}");
    // one that can be closed in no way is its own fault
    let too_far = Joint { length: Some(5.0), ..rod };
    let error = world.add_joint(&too_far).unwrap_err();
    assert_eq!(error.path, "joint", "{error}");
    assert!(error.problem.contains("\"rod\" cannot be closed"), "{error}");
    assert_eq!((bits(&world), world.joint_ids().count()), before, "nothing has changed");
}

#[test]
fn a_limit_that_excludes_the_present_value_is_refused_with_number_and_unit() {
    let mut run = Run::new(&on_axle(0.1, Coordinate::default()), 0.01);
    let axle = run.joint("axle");
    let before = run.world.state_hash();
    let error = run
        .world
        .set_limit(axle, "angle", Some(Limit { min: Some(0.25), max: Some(0.5), restitution: 0.0 }))
        .unwrap_err();
    assert_eq!(error.path, "limit");
    assert!(error.problem.contains("angle is at 0.000000 rad, outside its limits from 0.25 to 0.5 rad"), "{error}");
    assert_eq!(run.world.state_hash(), before);
    let description = run.world.joint_description(axle).unwrap();
    assert!(description.coordinates.iter().all(|c| c.limit.is_none()), "the description is as it was");
    run.world.set_limit(axle, "angle", Some(Limit { min: Some(-0.25), max: Some(0.5), restitution: 0.0 })).unwrap();
    // an old limit does not stand in the way of other changes
    run.world.set_friction(axle, "angle", 0.1, 0.0).unwrap();
    run.steps(10);
}

#[test]
fn every_problem_of_a_scene_is_told_at_once_and_only_where_it_is() {
    let mut scene = Scene { gravity: [0.0, f64::NAN, 0.0], ..Scene::new("faulty") };
    scene.body(lump("good", 1.0));
    scene.body(lump("bad", -1.0).at([1.0, 0.0, 0.0]));
    scene.joint(Joint::gear("gear", "hinge", "no such", 1.0));
    scene.joint(Joint::gear("follows", "hinge", "axis", 1.0));
    scene.joint(Joint::hinge("hinge", WORLD, "good", DVec3::ZERO, DVec3::Z));
    scene.joint(Joint::hinge("of bad", WORLD, "bad", DVec3::ZERO, DVec3::Z));
    scene.joint(Joint::hinge("axis", WORLD, "good", DVec3::ZERO, DVec3::ZERO));
    let error = World::build(&scene).err().unwrap();
    let paths: Vec<&str> = error.problems.iter().map(|p| p.path.as_str()).collect();
    assert_eq!(paths, ["gravity", "bodies[1].mass", "joints[0].joints[1]", "joints[4].axis"], "{error}");
}
