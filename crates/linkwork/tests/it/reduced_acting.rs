//! What acts on joints and what touches, in reduced coordinates: against the direct method and closed forms.

use crate::common::{Complaints, Run, assert_close, bar, distance, lump, on_axle, on_slider, registered, servo};
use crate::contact::{cuboid, ground, sphere};
use crate::overlap;
use crate::random_mechanism::{Ingredients, PLAIN, mechanism};
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Limit, Motor, Shape, WORLD};
use linkwork::{Method, Scene, Scratch};

const DOWN: [f64; 3] = [0.0, 0.0, -9.81];

fn reduced(scene: &Scene, h: f64) -> Run {
    Run::by(Method::Reduced, scene, h)
}

/// Distance of the two methods after a time, for a step and a sixteenth of it.
fn off(scene: &Scene, h: f64, time: f64) -> [f64; 2] {
    [h, h / 16.0].map(|h| {
        let (mut a, mut b) = (reduced(scene, h), Run::new(scene, h));
        a.to(time);
        b.to(time);
        assert_ne!(a.world.state_hash(), b.world.state_hash(), "{}: the direct method took it", scene.name);
        distance(&a, &b)
    })
}

#[test]
fn both_methods_meet_on_random_mechanisms_that_are_acted_on() {
    let mut complaints = Complaints::default();
    let plain = Ingredients { bodies: 6, acting: true, ..PLAIN };
    for seed in 0..24 {
        let with = Ingredients { grounded: seed % 3 != 0, loops: [0, 0, 1, 2][seed as usize % 4], ..plain };
        let scene = mechanism(900 + seed, with);
        let [coarse, fine] = off(&scene, 4e-3, 0.16);
        // friction beside damping makes the direct method one of first order with a small constant
        complaints.unless(fine < 5e-4 && (fine < 0.8 * coarse || fine < 2e-5), || {
            format!("{}: {coarse:.2e} and {fine:.2e} m", scene.name)
        });
    }
}

#[test]
fn a_bar_falls_on_its_limit_and_rests_there() {
    for h in [1.0 / 30.0, 1.0 / 240.0] {
        let mut scene = Scene::new("stopped bar");
        scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
        let stop = Coordinate::default().limit(None, Some(0.8));
        scene.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Y).with(stop));
        let mut run = reduced(&scene, h);
        for _ in 0..(3.0 / h) as usize {
            run.step();
            assert!(run.value_of("pin", "angle") < 0.8 + 1e-8, "at {}", run.value_of("pin", "angle"));
        }
        assert_close("rests on the limit", run.value_of("pin", "angle"), 0.8, 1e-8);
        assert_close("at rest", run.rate_of("pin", "angle"), 0.0, 1e-8);
        let reading = run.world.coordinates(run.joint("pin")).unwrap()[0];
        assert_close("limit torque", reading.limit_force, -9.81 * 0.5 * 0.8_f64.cos(), 1e-6);
        assert_close("the hinge carries the weight", run.reaction("pin").wrench.force.z, 9.81, 1e-6);
    }
}

#[test]
fn limits_give_back_their_share_of_the_speed() {
    for (h, e) in [(1.0 / 60.0, 0.0), (1.0 / 60.0, 0.5), (1.0 / 240.0, 0.9), (1.0 / 60.0, 1.0)] {
        let stop =
            Coordinate { limit: Some(Limit { min: None, max: Some(1.0), restitution: e }), ..Coordinate::default() };
        let mut scene = on_slider([0.0; 3], DVec3::X, 2.0, stop);
        scene.bodies[0] = scene.bodies[0].clone().moving([3.0, 0.0, 0.0], [0.0; 3]);
        let mut run = reduced(&scene, h);
        run.to(1.0);
        assert_close("speed after", run.velocity("block").x, -3.0 * e, 1e-9);
    }
}

#[test]
fn limits_hold_in_a_loop() {
    // a linkage runs on the limit of its rocker, a coordinate that is no rate of the tree
    let mut scene = registered("four-bar", &[]);
    let names: Vec<String> = scene.joints.iter().map(|j| j.name.clone()).collect();
    for k in 0..scene.joints.len() {
        let mut stopped = scene.clone();
        let limited = stopped.joints[k].clone().with(Coordinate::default().limit(Some(-0.4), Some(0.4)));
        stopped.joints[k] = limited;
        let mut run = reduced(&stopped, 1.0 / 120.0);
        let mut reached = 0.0_f64;
        for _ in 0..240 {
            run.step();
            let angle = run.value_of(&names[k], "angle");
            reached = reached.max(angle.abs());
            assert!(angle.abs() < 0.4 + 1e-7, "{}: {angle}", names[k]);
        }
        assert!(reached > 0.39, "{}: no further than {reached}", names[k]);
    }
    scene.name.clear();
}

#[test]
fn motors_do_what_they_are_told() {
    let driven = |motor| on_slider([0.0; 3], DVec3::X, 2.5, Coordinate::default().motor(motor));
    let mut run = reduced(&driven(Motor::Velocity { target: 3.0, max_force: Some(10.0) }), 1.0 / 60.0);
    for k in 1..=120 {
        run.step();
        assert_close("speed", run.velocity("block").x, (4.0 * f64::from(k) / 60.0).min(3.0), 1e-9);
    }
    let lift = Coordinate::default().motor(Motor::Velocity { target: 0.5, max_force: None });
    let mut run = reduced(&on_slider(DOWN, DVec3::Z, 2.5, lift), 1.0 / 30.0);
    run.steps(60);
    assert_close("speed", run.velocity("block").z, 0.5, 1e-9);
    let force = run.world.coordinates(run.joint("rail")).unwrap()[0].motor_force;
    assert_close("lifting force", force, 2.5 * 9.81, 1e-6);
    // a servo far stiffer than an explicit step could bear, and its force at rest
    let mut run =
        reduced(&on_slider(DOWN, DVec3::Z, 2.0, Coordinate::default().motor(servo(0.5, 1e6, 4e3))), 1.0 / 60.0);
    run.to(2.0);
    assert_close("sags by its weight", run.position("block").z, 0.5 - 2.0 * 9.81 / 1e6, 1e-9);
    assert_close("bears it", run.reaction("rail").wrench.force.z, 2.0 * 9.81, 1e-5);
}

#[test]
fn dry_friction_brakes_evenly_and_holds() {
    let mut scene = on_axle(0.1, Coordinate::default().friction(0.2));
    scene.bodies[0] = scene.bodies[0].clone().moving([0.0; 3], [0.0, 0.0, 6.0]);
    let mut run = reduced(&scene, 1.0 / 60.0);
    run.to(1.0);
    assert_close("after a second", run.spin("wheel").z, 6.0 - 0.2 / 0.1, 1e-9);
    run.to(3.5);
    assert_close("at rest", run.spin("wheel").z, 0.0, 1e-12);
    assert_close("angle", run.value_of("axle", "angle"), 9.0, 1e-6);
}

#[test]
fn both_methods_meet_where_a_tree_and_a_loop_are_driven() {
    let mut complaints = Complaints::default();
    for name in ["robot-arm", "strandbeest", "walker", "excavator", "stewart", "car", "spider"] {
        let Some(entry) = linkwork_scenes::find(name) else { continue };
        let scene = entry.build(&[]).unwrap();
        if scene.joints.iter().any(|j| j.kind == linkwork::scene::JointKind::Gear) {
            continue;
        }
        let fine = [1.0 / 480.0, 1.0 / 960.0].map(|h| {
            let (mut a, mut b) = (reduced(&scene, h), Run::new(&scene, h));
            a.to(0.1);
            b.to(0.1);
            distance(&a, &b)
        });
        complaints.unless(fine[1] < 2e-4, || format!("{name}: {fine:?} m"));
    }
}

#[test]
fn a_pendulum_hits_a_wall_and_rests_on_it() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 1.0 / 30.0] {
        let mut scene = Scene::new("bob");
        scene.body(Body::fixed("wall").at([-0.9, 0.0, 0.0]).shape(Geometry::Box { size: [0.6, 2.0, 4.0] }));
        let (rod, bob) = (DVec3::new(0.5, 0.0, 0.0), DVec3::new(1.0, 0.0, 0.0));
        let silent = Shape::new(Geometry::Box { size: [1.0, 0.02, 0.02] }).groups(2, 0);
        scene.body(Body::new("rod").at(rod).with_mass(0.1).placed_shape(silent));
        scene.body(sphere("bob", 0.1, 0.3).at(bob).with_mass(5.0));
        scene.joint(Joint::hinge("pivot", WORLD, "rod", DVec3::ZERO, DVec3::Y));
        scene.joint(Joint::fixed("end", "rod", "bob", bob));
        scene.gravity = [-6.0, 0.0, -8.0];
        let mut run = reduced(&scene, h);
        let (wall, ball) = (run.body("wall"), run.body("bob"));
        let mut worst = 0.0_f64;
        for _ in 0..(6.0 / h) as usize {
            run.step();
            worst = worst.max(overlap::between(&run.world, wall, ball));
        }
        wrong.unless(worst < 1e-4, || format!("h = {h}: {worst:e} m in the wall"));
        wrong.unless(run.worst_error < 1e-12, || format!("h = {h}: joints open by {:e}", run.worst_error));
        wrong.close("rests on the wall", run.position("bob").x, -0.5, 1e-5);
        wrong.unless(run.velocity("bob").length() < 1e-5, || format!("{}", run.velocity("bob")));
    }
}

#[test]
fn a_gripper_lifts_a_box_by_friction() {
    let mut wrong = Complaints::default();
    let scene = registered("gripper", &[("mass", 100.0)]);
    let (mut a, mut b) = (reduced(&scene, 1.0 / 120.0), Run::new(&scene, 1.0 / 120.0));
    a.to(4.0);
    b.to(4.0);
    wrong.near("box", a.position("box"), b.position("box"), 1e-4);
    wrong.unless(a.position("box").z > 0.5, || format!("not lifted: {}", a.position("box")));
    let (deep, whose) = overlap::deepest(&a.world);
    wrong.unless(deep < 1e-4, || format!("{deep:e} m of {whose}"));
}

#[test]
fn a_crane_holds_any_mass() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 0.1] {
        for ratio in [1.0, 1e4, 1e6] {
            let mut run = reduced(&crate::contact_mechanisms::crane(50.0 * ratio), h);
            let (edge, rod) = (run.body("edge"), run.body("rod"));
            let mut worst = 0.0_f64;
            for _ in 0..(5.0 / h) as usize {
                run.step();
                worst = worst.max(overlap::between(&run.world, edge, rod));
            }
            let what = format!("h = {h}, ratio {ratio:e}");
            wrong.unless(worst < 1e-6, || format!("{what}: {worst:e} m in the edge"));
            wrong.unless(run.worst_error < 1e-12, || format!("{what}: joints open by {:e}", run.worst_error));
            wrong.near(&format!("block, {what}"), run.position("block"), DVec3::new(2.0, 0.0, -0.6), 1e-4);
        }
    }
}

#[test]
fn a_thrown_chain_slides_to_rest_as_by_the_direct_method() {
    // links of a floating chain land on the ground and slide: contact, friction, many freedoms
    let mut scene = Scene::new("chain");
    scene.body(ground(0.4));
    for k in 0..5 {
        let at = [0.3 * f64::from(k), 0.0, 0.12 + 0.02 * f64::from(k)];
        scene.body(sphere(&format!("b{k}"), 0.1, 0.4).at(at).moving([1.5, 0.0, 0.0], [0.0; 3]));
    }
    for k in 0..4 {
        let at = [0.3 * f64::from(k) + 0.15, 0.0, 0.13 + 0.02 * f64::from(k)];
        scene.joint(Joint::hinge(format!("j{k}"), format!("b{k}"), format!("b{}", k + 1), at, DVec3::Y));
    }
    let off = [1.0 / 240.0, 1.0 / 960.0].map(|h| {
        let (mut a, mut b) = (reduced(&scene, h), Run::new(&scene, h));
        a.to(0.5);
        b.to(0.5);
        assert!(a.worst_error < 1e-12, "{}", a.worst_error);
        distance(&a, &b)
    });
    // both solve the same equations, where links turn in one plane to rounding and the tolerance of contacts
    assert!(off.iter().all(|off| *off < 1e-6), "{off:?}");
    let mut run = reduced(&scene, 1.0 / 60.0);
    run.to(4.0);
    assert!(run.velocity("b2").length() < 1e-4, "{}", run.velocity("b2"));
}

#[test]
fn a_walking_machine_stands_in_reduced_coordinates() {
    let mut wrong = Complaints::default();
    let scene = registered("strandbeest", &[("legs", 12.0), ("ground", 1.0)]);
    let mut run = reduced(&scene, scene.step.dt);
    let ground = run.body("ground");
    let feet: Vec<_> = (0..12).map(|k| run.body(&format!("leg{k}.ghi"))).collect();
    let mut worst = 0.0_f64;
    for _ in 0..250 {
        run.step();
        for &foot in &feet {
            worst = worst.max(overlap::between(&run.world, ground, foot));
        }
    }
    wrong.unless(worst < 1e-4, || format!("{worst:e} m in the ground"));
    wrong.unless(run.worst_error < 1e-6, || format!("joints open by {:e}", run.worst_error));
    wrong.unless(run.position("frame").z > 0.3, || format!("it stands: {}", run.position("frame")));
}

#[test]
fn working_memory_is_not_state_where_things_act_and_touch() {
    let mut chain = Scene::new("chain");
    chain.body(ground(0.5));
    chain.body(cuboid("a", [0.4, 0.1, 0.1], 0.5).at([0.0, 0.0, 0.3]));
    chain.body(cuboid("b", [0.4, 0.1, 0.1], 0.5).at([0.5, 0.0, 0.3]));
    let elbow = Coordinate::default().limit(Some(-0.5), Some(0.5)).friction(0.1).spring(200.0, 1.0, 0.1);
    chain.joint(Joint::hinge("elbow", "a", "b", [0.25, 0.0, 0.3], DVec3::Y).with(elbow));
    chain.body(lump("free", 1.0).at([3.0, 0.0, 1.0]));
    for scene in [chain, registered("gripper", &[]), registered("strandbeest", &[("ground", 1.0)])] {
        let (mut a, mut b) = (reduced(&scene, 1.0 / 60.0), reduced(&scene, 1.0 / 60.0));
        for _ in 0..60 {
            a.step();
            b.step();
            b.scratch = Scratch::default();
            assert_eq!(a.world.state_hash(), b.world.state_hash(), "{}", scene.name);
        }
    }
}

/// Small steps went 1.5 cm astray in 0.16 s: joints were asked to close to 2e-13 m, rounding did not let them, and the damped robust
/// step was taken nearly always.
#[test]
fn small_steps_are_not_given_up_because_of_rounding() {
    let with = Ingredients { bodies: 6, loops: 2, acting: true, ..PLAIN };
    let scene = mechanism(923, with);
    let h = 1.0 / 16_000.0;
    let (mut reduced, mut direct) = (reduced(&scene, h), Run::new(&scene, h));
    reduced.to(0.16);
    direct.to(0.16);
    assert_eq!(direct.kinds.robust, 0, "{:?}", direct.kinds);
    let apart = distance(&reduced, &direct);
    assert!(apart < 1e-7, "{apart:e} m apart");
}
