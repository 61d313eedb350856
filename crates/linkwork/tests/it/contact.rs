//! Contact of free bodies against closed forms: friction, rolling, rest, impact, what overlaps measured from outside.

use crate::common::{Complaints, Run, assert_close, weightless, wxyz};
use crate::overlap;
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, BodyKind, Geometry, Scene, Shape};
use linkwork::{Scratch, StepParams, Twist, step};

const G: f64 = 9.81;

pub fn ground(friction: f64) -> Body {
    Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(friction))
}

pub fn cuboid(name: &str, size: [f64; 3], friction: f64) -> Body {
    Body::new(name).placed_shape(Shape::new(Geometry::Box { size }).friction(friction))
}

pub fn sphere(name: &str, radius: f64, friction: f64) -> Body {
    Body::new(name).placed_shape(Shape::new(Geometry::Sphere { radius }).friction(friction))
}

/// A slope that falls along +x, and a body that touches it with its lower side.
fn on_slope(body: Body, height: f64, angle: f64, friction: f64) -> (Scene, DVec3) {
    let turn = DQuat::from_rotation_y(angle);
    let mut scene = Scene::new("slope");
    scene.body(ground(friction).oriented(wxyz(turn)));
    scene.body(Body { position: (turn * DVec3::Z * height).to_array(), ..body.oriented(wxyz(turn)) });
    (scene, turn * DVec3::X)
}

#[test]
fn a_block_holds_just_below_the_friction_angle_and_slides_just_above() {
    let mut wrong = Complaints::default();
    let mu: f64 = 0.5;
    for h in [1.0 / 120.0, 1.0 / 60.0, 1.0 / 30.0] {
        for (share, holds) in [(0.5, true), (0.99, true), (1.01, false), (1.3, false)] {
            let angle = (share * mu).atan();
            let (scene, down) = on_slope(cuboid("block", [1.0, 1.0, 0.2], mu), 0.1, angle, mu);
            let mut run = Run::new(&scene, h);
            let start = run.position("block");
            run.to(2.0);
            let gone = (run.position("block") - start).dot(down);
            let acceleration = if holds { 0.0 } else { G * (angle.sin() - mu * angle.cos()) };
            let allowed = if holds { 2e-5 } else { 2e-3 * 2.0 * acceleration + 2e-5 };
            wrong.close(&format!("{share} of the angle, h = {h}"), gone, 2.0 * acceleration, allowed);
        }
    }
}

/// What touches has the velocities of the middle of a step, so a step of another size begins with a kick that ends in its own middle.
#[test]
fn a_block_on_ice_goes_as_fast_as_it_should_however_step_sizes_change() {
    let angle = 0.3_f64;
    let (scene, down) = on_slope(cuboid("block", [1.0, 1.0, 0.2], 0.0), 0.1, angle, 0.0);
    let mut run = Run::new(&scene, 1.0 / 60.0);
    for h in [1.0 / 60.0, 1.0 / 120.0, 1.0 / 30.0, 1.0 / 250.0, 1.0 / 60.0, 1.0 / 200.0] {
        run.params.dt = h;
        run.steps(7);
        let expected = G * angle.sin() * (run.world.time() - 0.5 * h);
        assert_close(&format!("speed after steps of {h} s"), run.velocity("block").dot(down), expected, 1e-6);
    }
}

#[test]
fn a_held_block_does_not_creep() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 1.0 / 30.0] {
        let (scene, _) = on_slope(cuboid("block", [1.0, 1.0, 0.2], 0.5), 0.1, 0.45_f64.atan(), 0.5);
        let mut run = Run::new(&scene, h);
        run.to(1.0);
        let start = run.position("block");
        run.to(11.0);
        wrong.near(&format!("after ten seconds, h = {h}"), run.position("block"), start, 1e-6);
    }
}

#[test]
fn a_sphere_rolls_down_a_slope_and_slips_where_friction_does_not_suffice() {
    let mut wrong = Complaints::default();
    let (radius, angle) = (0.3, 0.5_f64);
    let enough = 2.0 / 7.0 * angle.tan();
    for h in [1.0 / 240.0, 1.0 / 60.0] {
        for mu in [1.1 * enough, 0.8, 0.5 * enough] {
            let (scene, down) = on_slope(sphere("ball", radius, mu), radius, angle, mu);
            let mut run = Run::new(&scene, h);
            let start = run.position("ball");
            run.to(1.0);
            let rolls = mu > enough;
            let acceleration = if rolls { 5.0 / 7.0 * G * angle.sin() } else { G * (angle.sin() - mu * angle.cos()) };
            let spinning = if rolls { acceleration / radius } else { 2.5 * mu * G * angle.cos() / radius };
            let gone = (run.position("ball") - start).dot(down);
            let what = format!("mu = {mu:.3}, h = {h}");
            wrong.close(&format!("path, {what}"), gone, 0.5 * acceleration, 1e-3 * acceleration);
            // velocities are those of the middle of a step
            let middle = 1.0 - 0.5 * h;
            let tolerance = 2e-3 + 0.6 * h;
            wrong.close(&format!("speed, {what}"), run.velocity("ball").dot(down) / acceleration, middle, tolerance);
            wrong.close(&format!("spin, {what}"), run.spin("ball").y / spinning, middle, tolerance);
        }
    }
}

#[test]
fn a_ball_falls_and_comes_to_rest_at_its_radius() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 120.0, 1.0 / 60.0, 1.0 / 30.0, 0.1] {
        let mut scene = Scene::new("drop");
        scene.body(ground(0.5));
        scene.body(sphere("ball", 0.25, 0.5).at([0.0, 0.0, 1.25]));
        let mut run = Run::new(&scene, h);
        let mut lowest = f64::INFINITY;
        for _ in 0..(3.0 / h) as usize {
            run.step();
            lowest = lowest.min(run.position("ball").z);
        }
        wrong.unless(lowest > 0.25 - 1e-4, || format!("h = {h}: centre down to {lowest} m"));
        wrong.near(&format!("at rest, h = {h}"), run.position("ball"), DVec3::Z * 0.25, 1e-5);
        wrong.unless(run.velocity("ball").length() < 1e-6, || format!("h = {h}: {}", run.velocity("ball")));
    }
}

#[test]
fn impacts_conserve_momentum() {
    let mut wrong = Complaints::default();
    for friction in [0.0, 0.6] {
        let mut scene = weightless("impact");
        scene.body(sphere("a", 0.3, friction).at([-1.0, 0.1, 0.05]).moving([3.0, 0.2, 0.0], [0.0, 5.0, 1.0]));
        let turn = DQuat::from_axis_angle(DVec3::new(0.2, 0.5, 1.0).normalize(), 0.8);
        let brick = cuboid("b", [0.6, 0.4, 0.3], friction).oriented(wxyz(turn));
        scene.body(brick.moving([-1.0, 0.0, 0.3], [1.0, -2.0, 0.5]));
        scene.body(cuboid("c", [0.3, 0.4, 0.3], friction).at([0.9, 0.0, 0.0]).moving([-4.0, 0.0, 0.0], [0.0; 3]));
        let mut run = Run::new(&scene, 1.0 / 60.0);
        let (before, energy) = (run.world.momentum(), run.energy());
        let old = run.velocity("a");
        run.to(1.0);
        wrong.unless(run.velocity("a").distance(old) > 0.1, || "they must meet".to_string());
        let after = run.world.momentum();
        let scale = 3.0 * run.world.mass(run.body("a")).unwrap();
        wrong.near(&format!("linear, friction {friction}"), after.linear, before.linear, 1e-9 * scale);
        wrong.near(&format!("angular, friction {friction}"), after.angular, before.angular, 1e-9 * scale);
        wrong
            .unless(run.energy() < energy, || format!("friction {friction}: energy from {energy} to {}", run.energy()));
    }
}

#[test]
fn deep_overlap_at_the_start_is_resolved_without_explosion() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 1.0 / 30.0] {
        let mut scene = Scene::new("overlap");
        scene.body(ground(0.5));
        scene.body(cuboid("a", [1.0; 3], 0.5).at([0.0, 0.0, 0.4]));
        scene.body(cuboid("b", [1.0; 3], 0.5).at([0.1, 0.0, 0.9]));
        scene.body(cuboid("c", [1.0; 3], 0.5).at([0.5, 0.2, 0.6]));
        scene.body(sphere("d", 0.4, 0.5).at([0.2, 0.1, 0.8]));
        let mut run = Run::new(&scene, h);
        let mut fastest = 0.0_f64;
        for _ in 0..(8.0 / h) as usize {
            run.step();
            for name in ["a", "b", "c", "d"] {
                fastest = fastest.max(run.velocity(name).length());
            }
        }
        wrong.unless(fastest < 6.0, || format!("h = {h}: {fastest} m/s"));
        let (deep, whose) = overlap::deepest(&run.world);
        wrong.unless(deep < 1e-4, || format!("h = {h}: {deep:e} m of {whose} left"));
    }
}

#[test]
fn a_scratch_that_is_dropped_and_a_world_restored_give_the_same_bits() {
    let mut scene = Scene::new("bits");
    scene.body(ground(0.5));
    for k in 0..6 {
        let z = 0.6 + 0.7 * f64::from(k);
        scene.body(cuboid(&format!("box{k}"), [0.6, 0.5, 0.4], 0.5).at([0.1 * f64::from(k % 3), 0.05, z]));
        scene.body(sphere(&format!("ball{k}"), 0.2, 0.5).at([1.0, 0.1 * f64::from(k % 2), z]));
    }
    let mut bar = cuboid("bar", [1.0, 0.1, 0.1], 0.5).at([0.5, 0.0, 5.0]);
    bar.angular_velocity = [0.0; 3];
    scene.body(bar);
    scene.body(sphere("bob", 0.2, 0.5).at([1.2, 0.0, 5.0]));
    scene.joint(linkwork::scene::Joint::ball("link", "bar", "bob", [1.0, 0.0, 5.0]));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.steps(90);
    let snapshot = run.world.snapshot();
    run.steps(60);
    let hash = run.world.state_hash();
    run.world.restore(&snapshot);
    run.scratch = Scratch::default();
    run.steps(60);
    assert_eq!(run.world.state_hash(), hash, "restored");
    run.world.restore(&snapshot);
    for _ in 0..60 {
        run.scratch = Scratch::default();
        run.step();
    }
    assert_eq!(run.world.state_hash(), hash, "a new scratch every step");
}

#[test]
fn huge_numbers_give_an_error_or_numbers_never_a_panic() {
    let mut wrong = Complaints::default();
    for (mass, speed, size) in
        [(1e-6, 1e7, 1e-3), (1e12, 1e6, 1e4), (1.0, 1e12, 1.0), (1e-9, 1.0, 1e5), (1e15, 0.0, 0.1)]
    {
        let mut scene = Scene::new("huge");
        scene.body(ground(0.5));
        scene.body(cuboid("small", [0.1; 3], 0.5).with_mass(1.0).at([0.0, 0.0, 0.05]));
        let big = cuboid("big", [size; 3], 0.5).with_mass(mass).at([0.0, 0.0, 0.2 + size]);
        scene.body(big.moving([speed, 0.0, -speed], [0.0; 3]));
        let Ok(mut world) = linkwork::World::build(&scene) else { continue };
        let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
        for _ in 0..30 {
            let before = world.state_hash();
            if step(&mut world, &mut scratch, &params).is_err() {
                assert_eq!(world.state_hash(), before, "a step that fails changes nothing");
                break;
            }
            for id in world.body_ids() {
                let (pose, Twist { linear, angular }) = (world.pose(id).unwrap(), world.velocity(id).unwrap());
                wrong.unless(pose.position.is_finite() && linear.is_finite() && angular.is_finite(), || {
                    format!("{mass} {speed} {size}")
                });
            }
        }
    }
}

#[test]
fn a_belt_carries_a_box_along() {
    let mut wrong = Complaints::default();
    // a belt: the box slips until it has the belt's speed, v/(mu g) long, v²/(2 mu g) far behind
    let (speed, mu) = (2.0, 0.4);
    let mut scene = Scene::new("belt");
    let belt = Body { kind: BodyKind::Kinematic, ..cuboid("belt", [50.0, 2.0, 0.2], mu) };
    scene.body(belt.at([0.0, 0.0, -0.1]).moving([speed, 0.0, 0.0], [0.0; 3]));
    scene.body(cuboid("box", [0.5, 0.5, 0.2], mu).at([0.0, 0.0, 0.1]));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    run.to(2.0);
    let expected = 2.0 * speed - speed * speed / (2.0 * mu * G);
    wrong.close("carried", run.position("box").x, expected, 1e-3);
    wrong.close("speed of the belt", run.velocity("box").x, speed, 1e-5);
}

#[test]
fn a_ball_rebounds_to_the_square_of_its_restitution() {
    let mut wrong = Complaints::default();
    for friction in [0.0, 0.5] {
        for h in [1.0 / 240.0, 1.0 / 60.0] {
            for e in [0.3, 0.7, 1.0] {
                let mut scene = Scene::new("bounce");
                scene.body(ground(friction));
                let shape = Shape::new(Geometry::Sphere { radius: 0.1 }).restitution(e).friction(friction);
                scene.body(Body::new("ball").placed_shape(shape).at([0.0, 0.0, 1.1]));
                let mut run = Run::new(&scene, h);
                let fall = (2.0 / G).sqrt();
                run.to(((1.0 + 0.5 * e) * fall / h).round() * h);
                let mut highest = 0.0_f64;
                for _ in 0..((e * fall) / h) as usize {
                    run.step();
                    highest = highest.max(run.position("ball").z - 0.1);
                }
                // its highest point lies up to half a step from where it was looked at
                let unseen = G * h * h / 8.0 + 1e-9;
                wrong.close(&format!("height, e = {e}, h = {h}, mu = {friction}"), highest, e * e, unseen);
            }
        }
    }
}

fn ball_with(resist: impl Fn(Shape) -> Shape) -> Body {
    let shape = resist(Shape::new(Geometry::Sphere { radius: 0.2 }).friction(0.8));
    Body::new("ball").with_density(1000.0).placed_shape(shape).at([0.0, 0.0, 0.2])
}

/// Of the rim of a wheel the points ahead go straight down as far as rows know, which held wheels up and let them fall again.
#[test]
fn a_wheel_rolls_on_without_bumping() {
    let mut wrong = Complaints::default();
    let (radius, speed) = (0.3, 3.0);
    let flat = Geometry::HeightField { size: [100.0, 100.0], heights: vec![vec![0.0; 21]; 21] };
    let block = Shape::new(Geometry::Box { size: [100.0, 100.0, 1.0] }).at([0.0, 0.0, -0.5]);
    for (what, under) in [("plane", Shape::new(Geometry::Plane)), ("box", block), ("terrain", Shape::new(flat))] {
        for h in [1.0 / 240.0, 1.0 / 60.0] {
            let mut scene = Scene::new("wheel");
            scene.body(Body::fixed("ground").placed_shape(under.clone().friction(0.8)));
            let tyre = Shape::new(Geometry::Cylinder { radius, length: 0.1 }).friction(0.8);
            let upright = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
            let wheel = Body::new("wheel").at([0.0, 0.0, radius]).oriented(wxyz(upright)).placed_shape(tyre);
            scene.body(wheel.moving([speed, 0.0, 0.0], [0.0, speed / radius, 0.0]));
            let mut run = Run::new(&scene, h);
            for _ in 0..(2.0 / h) as usize {
                run.step();
                wrong.close(&format!("height on {what}, h = {h}"), run.position("wheel").z, radius, 1e-5);
            }
            wrong.close(&format!("speed on {what}, h = {h}"), run.velocity("wheel").x, speed, 2e-3);
        }
    }
}

/// With a torque c m g against rolling: a (m R + I/R) = −c m g/R · R, so a = −c g/(1.4 R).
#[test]
fn rolling_friction_brings_a_ball_to_rest_where_it_should() {
    let mut wrong = Complaints::default();
    let (lever, radius, speed) = (0.004, 0.2, 1.0);
    for h in [1.0 / 240.0, 1.0 / 60.0] {
        let mut scene = Scene::new("rolling");
        scene.body(ground(0.8));
        let ball = ball_with(|s| Shape { rolling_friction: lever, ..s });
        scene.body(ball.moving([speed, 0.0, 0.0], [0.0, speed / radius, 0.0]));
        let mut run = Run::new(&scene, h);
        let deceleration = lever * G / (1.4 * radius);
        run.to(0.5 * speed / deceleration);
        wrong.close(&format!("half way, h = {h}"), run.velocity("ball").x, 0.5 * speed, 0.02);
        run.to(1.5 * speed / deceleration);
        let distance = speed * speed / (2.0 * deceleration);
        wrong.close(&format!("distance, h = {h}"), run.position("ball").x, distance, 0.01 * distance);
        let stopped = run.position("ball");
        run.to(3.0 * speed / deceleration);
        wrong.near("it stays", run.position("ball"), stopped, 1e-4);
    }
}

/// A torque c m g against I ω̇ = 0.4 m R² ω̇.
#[test]
fn spinning_friction_stops_a_spinning_ball() {
    let mut wrong = Complaints::default();
    let (lever, radius, spin) = (0.002, 0.2, 5.0);
    let mut scene = Scene::new("spinning");
    scene.body(ground(0.8));
    let ball = ball_with(|s| Shape { spinning_friction: lever, ..s });
    scene.body(ball.moving([0.0; 3], [0.0, 0.0, spin]));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    let deceleration = lever * G / (0.4 * radius * radius);
    run.to(0.5 * spin / deceleration);
    let twist = run.world.velocity(run.body("ball")).unwrap();
    wrong.close("half way", twist.angular.z, 0.5 * spin, 0.05);
    run.to(2.0 * spin / deceleration);
    let twist = run.world.velocity(run.body("ball")).unwrap();
    wrong.close("at rest", twist.angular.length(), 0.0, 1e-4);
}

/// Symptom: a body that was added after another had been removed was told to touch what that one had touched, and never to begin to.
/// Cause: contacts were kept by slot.
#[test]
fn contacts_end_with_the_body_that_is_removed() {
    let mut scene = Scene::new("tenants");
    scene.body(ground(0.5));
    scene.body(cuboid("old", [1.0; 3], 0.5).at([0.0, 0.0, 0.5]));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.steps(5);
    let old = run.world.body("old").unwrap();
    assert_eq!(run.world.contacts().count(), 4);
    run.world.remove_body(old);
    let new = run.world.add_body(&cuboid("new", [1.0; 3], 0.5).at([5.0, 0.0, 0.5])).unwrap();
    assert_eq!(run.world.contacts().count(), 0, "the new body has not touched anything yet");
    run.step();
    let events: Vec<_> = run.world.contact_events().map(|e| (e.began, e.a.max(e.b))).collect();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events.contains(&(false, old)) && events.contains(&(true, new)), "{events:?}");
}
