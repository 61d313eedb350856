//! The event-driven stepper against closed forms: times of bounces, sliding to rest, a ladder, blows through joints.

use crate::common::{Run, bar, build, distance, lump, on_axle, registered, weightless};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Scene, Shape, WORLD};
use linkwork::{ContactSolver, Method, Scratch, StepError, StepParams, Stepper, step};

const G: f64 = 9.81;

fn events(scene: &Scene, dt: f64) -> Run {
    let mut run = Run::new(scene, dt);
    run.params = StepParams { stepper: Stepper::Events, ..run.params };
    run
}

fn ground(friction: f64, restitution: f64) -> Body {
    Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(friction).restitution(restitution))
}

fn ball(name: &str, radius: f64, restitution: f64) -> Body {
    let shape = Shape::new(Geometry::Sphere { radius }).restitution(restitution).friction(0.0);
    Body::new(name).with_mass(1.0).placed_shape(shape)
}

fn block(name: &str, size: [f64; 3], friction: f64) -> Body {
    Body::new(name).with_mass(2.0).placed_shape(Shape::new(Geometry::Box { size }).friction(friction))
}

/// Height of a ball dropped from `drop` above the ground, and its speed, after infinitely many bounces or fewer.
fn bouncing(drop: f64, e: f64, time: f64) -> (f64, f64) {
    let first = (2.0 * drop / G).sqrt();
    if time <= first {
        return (drop - 0.5 * G * time * time, -G * time);
    }
    let (mut at, mut v) = (first, e * G * first);
    while v > 1e-12 {
        let flight = 2.0 * v / G;
        if time < at + flight {
            let t = time - at;
            return (v * t - 0.5 * G * t * t, v - G * t);
        }
        at += flight;
        v *= e;
    }
    (0.0, 0.0)
}

#[test]
fn a_ball_bounces_at_the_times_of_the_closed_form_and_comes_to_rest() {
    for (e, dt) in [(0.5, 0.05), (0.8, 0.1), (0.0, 0.02)] {
        let mut scene = Scene::new("bounce");
        scene.body(ground(0.0, e));
        scene.body(ball("ball", 0.1, e).at([0.0, 0.0, 1.1]));
        let mut run = events(&scene, dt);
        let first = (2.0 / G).sqrt();
        let rest = first + if e > 0.0 { 2.0 * e * first / (1.0 - e) } else { 0.0 };
        while run.world.time() < rest + 0.3 {
            run.step();
            let (z, v) = bouncing(1.0, e, run.world.time());
            let (found, speed) = (run.position("ball").z - 0.1, run.velocity("ball").z);
            // bounces slower than the stepper's smallest rise less than 60 nm
            assert!((found - z).abs() < 2e-7, "e {e}, {} s: {found} and {z}", run.world.time());
            let settled = (run.world.time() - rest).abs() < 1e-3;
            assert!(settled || (speed - v).abs() < 2e-3 * (1.0 + v.abs()), "{speed} and {v}");
        }
        assert!((run.position("ball").z - 0.1).abs() < 1e-9, "it has come to rest");
        assert!(run.velocity("ball").length() < 1e-12);
        let force: f64 = run.world.contacts().map(|c| c.force.length()).sum();
        assert!((force - G).abs() < 1e-6, "the ground carries it: {force}");
    }
}

#[test]
fn a_perfect_ball_keeps_its_energy_and_falls_through_nothing() {
    let mut scene = Scene::new("bounce for ever");
    scene.body(ground(0.0, 1.0));
    scene.body(ball("ball", 0.1, 1.0).at([0.0, 0.0, 1.1]));
    let mut run = events(&scene, 0.1);
    let before = run.energy();
    for _ in 0..100 {
        run.step();
        assert!((run.energy() - before).abs() < 1e-7 * before, "{} at {}", run.energy(), run.world.time());
        assert!(run.position("ball").z > 0.1 - 1e-8);
    }
}

#[test]
fn a_block_slides_to_rest_where_friction_says() {
    let (mu, v0) = (0.3, 2.0);
    let mut scene = Scene::new("slide");
    scene.body(ground(mu, 0.0));
    scene.body(block("block", [0.4, 0.3, 0.05], mu).at([0.0, 0.0, 0.025]).moving([v0, 0.0, 0.0], [0.0; 3]));
    let mut run = events(&scene, 0.05);
    let stops = v0 / (mu * G);
    while run.world.time() < stops + 0.2 {
        run.step();
        let t = run.world.time().min(stops);
        let expected = v0 * t - 0.5 * mu * G * t * t;
        assert!((run.position("block").x - expected).abs() < 1e-8, "{} and {expected}", run.position("block").x);
        assert!((run.position("block").z - 0.025).abs() < 1e-8);
    }
    assert!(run.velocity("block").length() < 1e-9 && run.spin("block").length() < 1e-9);
    let contacts: Vec<_> = run.world.contacts().collect();
    assert_eq!(contacts.len(), 4);
    let sum = contacts.iter().fold(DVec3::ZERO, |s, c| s + c.force * if c.normal.z > 0.0 { 1.0 } else { -1.0 });
    assert!((sum - DVec3::Z * 2.0 * G).length() < 1e-5, "{sum}");
}

#[test]
fn a_block_on_an_incline_holds_or_slides_by_its_angle() {
    let angle = 0.4_f64;
    for (mu, slides) in [(0.5, false), (0.3, true)] {
        assert_eq!(mu < angle.tan(), slides);
        let mut scene = Scene::new("incline");
        scene.gravity = [G * angle.sin(), 0.0, -G * angle.cos()];
        scene.body(ground(mu, 0.0));
        scene.body(block("block", [0.4, 0.3, 0.05], mu).at([0.0, 0.0, 0.025]));
        let mut run = events(&scene, 0.1);
        run.to(1.0);
        let expected = if slides { 0.5 * G * (angle.sin() - mu * angle.cos()) } else { 0.0 };
        assert!((run.position("block").x - expected).abs() < 1e-7, "{} and {expected}", run.position("block").x);
        assert!(run.position("block").y.abs() < 1e-9);
    }
}

/// A slender ladder of length 2 m and mass 3 kg with round ends, leaning against a wall at an angle to the floor.
fn ladder(angle: f64, floor_friction: f64) -> Scene {
    let (length, radius, mass) = (2.0, 0.02, 3.0);
    let mut scene = Scene::new("ladder");
    scene.body(ground(floor_friction, 0.0));
    let wall = DQuat::from_rotation_arc(DVec3::Z, DVec3::X);
    let face = Shape::new(Geometry::Plane).friction(0.0).oriented([wall.w, wall.x, wall.y, wall.z]);
    scene.body(Body::fixed("wall").placed_shape(face));
    let along = DVec3::new(-angle.cos(), 0.0, angle.sin());
    let turn = DQuat::from_rotation_arc(DVec3::Z, along);
    let center = DVec3::new(0.5 * length * angle.cos() + radius, 0.0, 0.5 * length * angle.sin() + radius);
    let moment = mass * length * length / 12.0;
    scene.body(
        Body::new("ladder")
            .at(center)
            .oriented([turn.w, turn.x, turn.y, turn.z])
            .with_mass(mass)
            .with_inertia([moment, moment, 1e-3])
            .placed_shape(Shape::new(Geometry::Capsule { radius, length }).friction(floor_friction)),
    );
    scene
}

#[test]
fn a_ladder_slides_down_a_wall_and_leaves_it_at_two_thirds_of_its_height() {
    // while both ends touch, ω² = 3g/L (sin θ₀ − sin θ); the wall lets go where sin θ = ⅔ sin θ₀, whatever the length
    let start = 1.1_f64;
    let mut run = events(&ladder(start, 0.0), 0.01);
    let energy = run.energy();
    let mut left_at = None;
    let mut drift = 0.0;
    while run.position("ladder").z > 0.3 {
        run.step();
        let up = (run.orientation("ladder") * DVec3::Z).z;
        let (spin, v) = (run.spin("ladder").y.abs(), run.velocity("ladder"));
        assert!((run.energy() - energy).abs() < 1e-7 * energy, "{} of {energy}", run.energy());
        let on_wall = run.world.contacts().any(|c| c.normal.x.abs() > 0.5 && c.force.length() > 1e-6);
        if up > 2.0 / 3.0 * start.sin() + 0.02 {
            let expected = (3.0 * G / 2.0 * (start.sin() - up)).sqrt();
            assert!((spin - expected).abs() < 1e-6, "{spin} and {expected} at {up}");
            assert!(on_wall);
        }
        if !on_wall && left_at.is_none() {
            left_at = Some(up);
            drift = v.x;
        }
        if left_at.is_some() {
            assert!((v.x - drift).abs() < 1e-8, "nothing pushes it sideways any more: {} and {drift}", v.x);
        }
    }
    // v_x where it leaves: x = (L/2) cos θ
    let sine = 2.0 / 3.0 * start.sin();
    let expected = sine * (3.0 * G / 2.0 * (start.sin() - sine)).sqrt();
    assert!(left_at.is_some_and(|up| up < sine && up > sine - 0.03), "{left_at:?}");
    assert!((drift - expected).abs() < 1e-6, "{drift} and {expected}");
}

#[test]
fn a_ladder_stands_if_the_floor_is_rough_enough() {
    // a frictionless wall: it stands where μ ≥ cot θ / 2; the capsule's round ends leave the centre line's geometry
    for (angle, stands) in [(1.1_f64, true), (0.7, false)] {
        let mu = 0.45;
        let mut run = events(&ladder(angle, mu), 0.02);
        let needed = 0.5 / angle.tan();
        assert_eq!(mu > needed, stands);
        let before = run.position("ladder");
        run.to(0.5);
        let moved = run.position("ladder").distance(before);
        assert!(if stands { moved < 1e-8 } else { moved > 0.01 }, "{moved} at {angle}");
    }
}

#[test]
fn blows_pass_through_a_row_of_balls() {
    let mut scene = weightless("row");
    for k in 0..4 {
        let x = 0.2 * f64::from(k) + if k > 0 { 0.5 } else { 0.0 };
        let v = if k == 0 { 1.0 } else { 0.0 };
        scene.body(ball(&format!("ball {k}"), 0.1, 1.0).at([x, 0.0, 0.0]).moving([v, 0.0, 0.0], [0.0; 3]));
    }
    let mut run = events(&scene, 0.1);
    run.to(1.0);
    for k in 0..4 {
        let expected = if k == 3 { 1.0 } else { 0.0 };
        assert!((run.velocity(&format!("ball {k}")).x - expected).abs() < 1e-9);
    }
    let begun: f64 = run.position("ball 3").x - 1.1;
    assert!((begun - 0.5).abs() < 1e-7, "hit at 0.5 s, it has gone 0.5 m: {begun}");
}

#[test]
fn two_bodies_that_collide_keep_their_momentum() {
    let mut scene = weightless("meet");
    scene.body(block("a", [0.3, 0.2, 0.1], 0.4).moving([1.0, 0.0, 0.0], [0.0, 0.0, 0.5]));
    scene.body(ball("b", 0.15, 0.6).at([1.0, 0.06, 0.02]).moving([-0.5, 0.0, 0.0], [0.0, 2.0, 0.0]));
    let mut run = events(&scene, 0.05);
    let (before, energy) = (run.world.momentum(), run.energy());
    run.to(1.5);
    let after = run.world.momentum();
    assert!((after.linear - before.linear).length() < 1e-10);
    assert!((after.angular - before.angular).length() < 1e-8, "{} and {}", after.angular, before.angular);
    assert!(run.velocity("b").x > -0.4, "they met");
    assert!(run.energy() < energy);
}

#[test]
fn a_rod_on_a_hinge_bounces_off_a_wall_by_its_restitution() {
    // the joint answers the blow: whatever the lever, ω⁺ = −e ω⁻
    let e = 0.7;
    let mut scene = weightless("gate");
    scene.body(bar("rod", DVec3::ZERO, DVec3::X, 2.0));
    scene.body(ball("tip", 0.05, e).at([1.0, 0.0, 0.0]));
    scene.joint(Joint::fixed("weld", "rod", "tip", [1.0, 0.0, 0.0]));
    scene.joint(Joint::hinge("hinge", WORLD, "rod", [0.0; 3], [0.0, 0.0, 1.0]));
    scene.body(
        Body::fixed("wall")
            .at([0.9, 0.6, 0.0])
            .placed_shape(Shape::new(Geometry::Box { size: [1.0, 0.2, 1.0] }).restitution(e).friction(0.0)),
    );
    for (body, x) in scene.bodies.iter_mut().zip([0.5, 1.0]) {
        (body.velocity, body.angular_velocity) = ([0.0, 1.5 * x, 0.0], [0.0, 0.0, 1.5]);
    }
    let mut run = events(&scene, 0.05);
    run.to(1.0);
    assert!((run.spin("rod").z + 1.5 * e).abs() < 1e-8, "{}", run.spin("rod").z);
    assert!(run.worst_error < 1e-9);
}

#[test]
fn limits_stop_and_carry_and_joint_friction_holds() {
    // a rod falls from the horizontal onto a limit 0.5 rad lower and stays there: the limit carries m g L/2 cos 0.5
    let mut scene = Scene::new("flap");
    scene.body(bar("rod", DVec3::ZERO, DVec3::X, 2.0));
    scene.joint(
        Joint::hinge("hinge", WORLD, "rod", [0.0; 3], [0.0, 1.0, 0.0])
            .with(Coordinate::of("angle").limit(None, Some(0.5))),
    );
    let mut run = events(&scene, 0.05);
    run.to(1.0);
    assert!((run.value_of("hinge", "angle") - 0.5).abs() < 1e-8);
    assert!(run.rate_of("hinge", "angle").abs() < 1e-9);

    // dry friction: ω falls by F/I a second to exactly zero
    let mut scene = on_axle(0.5, Coordinate::of("angle").friction(0.2));
    scene.bodies[0].angular_velocity = [0.0, 0.0, 1.0];
    let mut run = events(&scene, 0.25);
    run.to(4.0);
    assert!((run.value_of("axle", "angle") - 0.5 * 0.5 / 0.2).abs() < 1e-8, "{}", run.value_of("axle", "angle"));
    assert!(run.rate_of("axle", "angle").abs() < 1e-9);

    // a motor with a bound: ω rises by F/I up to its target
    let scene = on_axle(0.5, Coordinate::of("angle").motor(Motor::Velocity { target: 2.0, max_force: Some(0.5) }));
    let mut run = events(&scene, 0.25);
    run.to(3.0);
    assert!((run.value_of("axle", "angle") - (2.0 + 2.0)).abs() < 1e-8, "{}", run.value_of("axle", "angle"));
}

#[test]
fn a_ball_rolls_down_without_slipping_and_slides_into_rolling() {
    // thrown without spin it slides until v = 5/7 v₀, at t = 2 v₀ / (7 μ g)
    let (mu, v0, r) = (0.2, 3.0, 0.1);
    let mut scene = Scene::new("bowling");
    scene.body(ground(mu, 0.0));
    let inertia = 0.4 * r * r;
    let shape = Shape::new(Geometry::Sphere { radius: r }).friction(mu);
    scene.body(
        Body::new("ball")
            .at([0.0, 0.0, r])
            .with_mass(1.0)
            .with_inertia([inertia; 3])
            .placed_shape(shape)
            .moving([v0, 0.0, 0.0], [0.0; 3]),
    );
    let mut run = events(&scene, 0.05);
    run.to(1.0);
    let rolls = 2.0 * v0 / (7.0 * mu * G);
    let expected = v0 * rolls - 0.5 * mu * G * rolls * rolls + 5.0 / 7.0 * v0 * (1.0 - rolls);
    assert!((run.position("ball").x - expected).abs() < 1e-6, "{} and {expected}", run.position("ball").x);
    assert!((run.velocity("ball").x - 5.0 / 7.0 * v0).abs() < 1e-6);
    assert!((run.spin("ball").y - run.velocity("ball").x / r).abs() < 1e-5);
}

#[test]
fn a_double_pendulum_is_followed_as_closely_as_by_error_control() {
    let mut scene = Scene::new("double");
    scene.body(bar("upper", DVec3::ZERO, DVec3::X, 1.0));
    scene.body(bar("lower", DVec3::X, 2.0 * DVec3::X, 1.0));
    scene.joint(Joint::hinge("one", WORLD, "upper", [0.0; 3], [0.0, 1.0, 0.0]));
    scene.joint(Joint::hinge("two", "upper", "lower", [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]));
    let mut followed = events(&scene, 1.0 / 30.0);
    let mut controlled = Run::new(&scene, 1.0 / 30.0);
    controlled.params = StepParams { tolerance: Some(1e-11), ..controlled.params };
    followed.to(2.0);
    controlled.to(2.0);
    assert!(followed.position("lower").distance(controlled.position("lower")) < 1e-6);
    assert!(followed.worst_error < 1e-9);
    // of a rod at rest on a support the reaction is what statics says
    let total = followed.energy();
    assert!((total - Run::new(&scene, 1.0).energy()).abs() < 1e-6);
}

#[test]
fn every_complementarity_solver_holds_a_stack() {
    for contact in [ContactSolver::Newton, ContactSolver::Dantzig, ContactSolver::Lemke, ContactSolver::GaussSeidel] {
        let mut scene = Scene::new("stack");
        scene.body(ground(0.5, 0.0));
        for k in 0..3 {
            scene.body(block(&format!("block {k}"), [0.4, 0.3, 0.2], 0.5).at([
                0.02 * f64::from(k),
                0.0,
                0.1 + 0.2 * f64::from(k),
            ]));
        }
        let mut run = events(&scene, 0.1);
        run.params.contact = contact;
        run.to(0.5);
        for k in 0..3 {
            let z = run.position(&format!("block {k}")).z - 0.1 - 0.2 * f64::from(k);
            assert!(z.abs() < 1e-7, "{contact:?}: block {k} has moved by {z}");
            assert!(run.velocity(&format!("block {k}")).length() < 1e-7);
        }
    }
}

#[test]
fn a_box_that_falls_on_a_corner_comes_to_rest_and_never_gains_energy() {
    let mut scene = Scene::new("tumble");
    scene.body(ground(0.4, 0.3));
    let turn = DQuat::from_euler(linkwork::glam::EulerRot::XYZ, 0.5, 0.3, 0.2);
    let shape = Shape::new(Geometry::Box { size: [0.4, 0.3, 0.2] }).friction(0.4).restitution(0.3);
    scene.body(
        Body::new("box")
            .with_mass(1.0)
            .at([0.0, 0.0, 0.6])
            .oriented([turn.w, turn.x, turn.y, turn.z])
            .placed_shape(shape),
    );
    let mut run = events(&scene, 1.0 / 60.0);
    let mut energy = run.energy();
    for _ in 0..180 {
        run.step();
        assert!(run.energy() < energy + 1e-6, "{} after {energy} at {}", run.energy(), run.world.time());
        energy = run.energy();
    }
    assert!(
        run.velocity("box").length() + run.spin("box").length() < 1e-6,
        "{} {}",
        run.velocity("box"),
        run.spin("box")
    );
}

#[test]
fn what_the_stepper_cannot_do_is_refused_and_changes_nothing() {
    let scene = registered("cloth-sphere", &[]);
    let mut world = build(&scene);
    let before = world.state_hash();
    let params = StepParams { stepper: Stepper::Events, ..StepParams::new(0.01) };
    let refused = step(&mut world, &mut Scratch::default(), &params);
    assert!(matches!(refused, Err(StepError::Parameter(ref e)) if e.path == "stepper"), "{refused:?}");
    assert_eq!(world.state_hash(), before);
}

#[test]
fn rolling_friction_that_is_not_felt_is_told() {
    let mut scene = Scene::new("rolling");
    scene.body(ground(0.5, 0.0));
    let shape = Shape { rolling_friction: 0.01, ..Shape::new(Geometry::Sphere { radius: 0.1 }) };
    scene.body(
        Body::new("ball")
            .with_mass(1.0)
            .at([0.0, 0.0, 0.1])
            .moving([1.0, 0.0, 0.0], [0.0, 10.0, 0.0])
            .placed_shape(shape),
    );
    let mut run = events(&scene, 0.01);
    let report = run.step();
    let told: Vec<String> = report.warnings.iter().map(|w| w.describe(&run.world)).collect();
    assert!(told.iter().any(|t| t.contains("rolling") && t.contains("ball")), "{told:?}");
}

#[test]
fn the_same_step_gives_the_same_bits() {
    let run = || {
        let mut scene = Scene::new("bits");
        scene.body(ground(0.4, 0.3));
        scene.body(
            lump("lump", 1.0)
                .at([0.0, 0.0, 0.5])
                .shape(Geometry::Box { size: [0.4, 0.3, 0.2] })
                .moving([1.0, 0.2, 0.0], [1.0, 2.0, 3.0]),
        );
        let mut run = events(&scene, 1.0 / 60.0);
        for _ in 0..60 {
            run.scratch = Scratch::default();
            run.step();
        }
        run.world.state_hash()
    };
    assert_eq!(run(), run());
}

#[test]
fn joints_can_be_held_by_reduced_coordinates_between_events() {
    // a double pendulum against a wall, a four-bar linkage with a limit, and what floats and falls on the ground
    let mut wall = Scene::new("wall");
    let side = Shape::new(Geometry::Box { size: [0.5, 4.0, 8.0] }).friction(0.3).restitution(0.5);
    wall.body(Body::fixed("wall").at([-0.3, 0.0, 0.0]).placed_shape(side));
    wall.body(bar("upper", DVec3::Z * 2.0, DVec3::new(0.5, 0.0, 2.0), 1.0));
    wall.body(ball("bob", 0.1, 0.5).at([1.0, 0.0, 2.0]));
    wall.joint(Joint::hinge("top", WORLD, "upper", DVec3::Z * 2.0, DVec3::Y));
    wall.joint(Joint::ball("elbow", "upper", "bob", [0.5, 0.0, 2.0]));
    let mut linkage = registered("four-bar", &[]);
    linkage.joints[0] = linkage.joints[0].clone().with(Coordinate::of("angle").limit(Some(-0.4), Some(0.4)));
    let mut fallen = Scene::new("fallen");
    fallen.body(ground(0.4, 0.2));
    fallen.body(ball("one", 0.1, 0.2).at([0.0, 0.0, 0.4]));
    fallen.body(ball("other", 0.1, 0.2).at([0.3, 0.0, 0.5]));
    fallen.joint(Joint::ball("link", "one", "other", [0.15, 0.0, 0.45]));
    for scene in [wall, linkage, fallen] {
        let [mut direct, mut reduced] = [Method::Direct, Method::Reduced].map(|method| {
            let mut run = events(&scene, 1.0 / 60.0);
            run.params.method = method;
            run
        });
        let (start, mut bits) = (direct.energy(), false);
        for _ in 0..40 {
            direct.step();
            reduced.step();
            bits |= direct.world.state_hash() != reduced.world.state_hash();
            let off = distance(&direct, &reduced);
            assert!(off < 1e-5, "{}: {off:e} m apart", scene.name);
            assert!(reduced.energy() < start + 1e-6, "{}: {} J", scene.name, reduced.energy());
        }
        assert!(bits, "{}: the method has no effect", scene.name);
        assert!(reduced.worst_error < 1e-9, "{}: {:e}", scene.name, reduced.worst_error);
    }
}

#[test]
fn a_gripper_lifts_a_box_from_event_to_event() {
    let mut run = events(&registered("gripper", &[]), 1.0 / 60.0);
    run.to(0.5);
    // the carriage rises at 0.1 m/s once it has reached that, and the box with it
    assert!((run.velocity("box").z - 0.1).abs() < 1e-4, "{}", run.velocity("box"));
    let slip = run.position("box").z - 0.2 - run.value_of("mast", "displacement");
    assert!(slip.abs() < 1e-5, "{slip}");
    assert!(run.worst_error < 1e-9);
}
