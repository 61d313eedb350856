//! What is fast, thin, driven or just touches: nothing passes through anything, and no contact makes energy.

use crate::common::{Run, wxyz};
use crate::contact::{cuboid, ground};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, BodyKind, Coordinate, Geometry, Joint, Motor, Shape, WORLD};
use linkwork::{Scene, Warning};

/// A turn that depends on a number.
fn turned(k: u32) -> DQuat {
    let a = f64::from(k);
    DQuat::from_xyzw((0.9 * a).sin(), 0.5 * (0.3 * a).sin(), 0.2, (0.37 * a).cos()).normalize()
}

fn convex(points: &[DVec3]) -> Geometry {
    Geometry::ConvexHull { points: points.iter().map(|p| p.to_array()).collect() }
}

/// Symptom: coins and dice that fell on terrain or a thin tray at 5 m/s went through it, one in six and more. Cause: a corner was
/// stopped, the body spun about it within the step, and its middle ended behind the surface, where terrain is not seen any more.
#[test]
fn thin_and_small_things_that_fall_do_not_pass_through_the_ground() {
    let terrain = Shape::new(Geometry::HeightField { heights: vec![vec![0.0; 2]; 2], size: [100.0, 100.0] });
    let tray = Shape::new(Geometry::Box { size: [100.0, 100.0, 0.02] }).at([0.0, 0.0, -0.01]);
    let quad = Shape::new(Geometry::Mesh {
        vertices: vec![[-50.0, -50.0, 0.0], [50.0, -50.0, 0.0], [50.0, 50.0, 0.0], [-50.0, 50.0, 0.0]],
        triangles: vec![[0, 1, 2], [0, 2, 3]],
    });
    let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
    let things = [
        ("coin", Geometry::Cylinder { radius: 0.012, length: 0.0015 }),
        ("die", Geometry::Box { size: [0.016; 3] }),
        ("brick", Geometry::Box { size: [0.2, 0.1, 0.06] }),
        ("plank", Geometry::Box { size: [1.0, 0.2, 0.02] }),
        ("tetrahedron", convex(&corners.map(|c| 0.02 * DVec3::from_array(c)))),
    ];
    for (name, geometry) in &things {
        let (mut runs, mut passed, mut shot) = (0, 0, 0);
        for floor in [&terrain, &tray, &quad] {
            for speed in [5.0, 10.0, 20.0] {
                for k in 0..10 {
                    let mut scene = Scene::new("fall");
                    scene.body(Body::fixed("floor").placed_shape(floor.clone()));
                    let z = 1.2 + (0.618 * f64::from(k)).fract() * speed / 60.0;
                    let thing = Body::new("thing").at([0.313, 0.227, z]).oriented(wxyz(turned(k)));
                    scene.body(thing.moving([0.0, 0.0, -speed], [0.0; 3]).shape(geometry.clone()));
                    let mut run = Run::new(&scene, 1.0 / 60.0);
                    let start = run.world.energy().total();
                    let mut most = start;
                    for _ in 0..60 {
                        run.step();
                        most = most.max(run.world.energy().total());
                    }
                    runs += 1;
                    passed += u32::from(run.position("thing").z < -0.02);
                    shot += u32::from(most > 1.05 * start);
                }
            }
        }
        // single ones at 20 m/s: docs/method.md, What is not there yet
        assert!(passed <= 2 && shot <= 2, "{name}: of {runs}, {passed} passed and {shot} gained energy");
    }
}

/// Symptom: a heavy box on loose blocks was shot up with a multiple of its energy, or the run stopped. Cause: what Newton's method
/// left unsolved was used as it was.
#[test]
fn heavy_boxes_that_fall_on_rubble_are_not_shot_up() {
    for mass in [1e3, 1e5] {
        for dt in [1.0 / 30.0, 1.0 / 60.0, 1.0 / 120.0] {
            let mut scene = Scene::new("rubble");
            scene.body(ground(0.5));
            for k in 0..12_u32 {
                let (column, level) = (f64::from(k % 4), f64::from(k / 4));
                let at = [0.35 * (column % 2.0) - 0.17, 0.35 * (column / 2.0).floor() - 0.17, 0.2 + 0.4 * level];
                let block = cuboid(&format!("block{k}"), [0.2, 0.15, 0.1], 0.5).with_mass(1.0);
                scene.body(block.at(at).oriented(wxyz(turned(k + 3))));
            }
            scene.body(cuboid("load", [1.0; 3], 0.5).with_mass(mass).at([0.0, 0.0, 6.0]));
            let mut run = Run::new(&scene, dt);
            let start = run.world.energy().total();
            let (mut before, mut rise) = (start, 0.0_f64);
            while run.world.time() < 2.5 {
                run.step();
                let now = run.world.energy().total();
                (before, rise) = (now, rise.max(now - before));
            }
            assert!(rise < 0.02 * start, "{rise:.0} J more in a step, of {start:.0} J, with {mass} kg at h = {dt} s");
        }
    }
}

/// Symptom: stones of an arch face to face overlapped "by half a metre" and flew apart. Cause: of shapes that just touch the search for
/// the deepest overlap may answer with any normal.
#[test]
fn stones_of_an_arch_that_just_touch_stand() {
    for count in [15_u32, 31] {
        let mut scene = Scene::new("arch");
        scene.body(ground(0.7));
        let edge = |k: u32, radius: f64| {
            let angle = std::f64::consts::PI * f64::from(k) / f64::from(count);
            DVec3::new(radius * angle.cos(), 0.0, radius * angle.sin())
        };
        for k in 0..count {
            let faces = [edge(k, 2.0), edge(k, 2.4), edge(k + 1, 2.0), edge(k + 1, 2.4)];
            let middle = faces.iter().sum::<DVec3>() / 4.0;
            let points: Vec<DVec3> =
                faces.iter().flat_map(|p| [-0.25, 0.25].map(|y| *p - middle + DVec3::Y * y)).collect();
            let stone = Shape::new(convex(&points)).friction(0.7);
            scene.body(Body::new(format!("stone{k}")).at(middle).with_density(2000.0).placed_shape(stone));
        }
        let mut run = Run::new(&scene, 1.0 / 60.0);
        let at = |run: &Run| (0..count).map(|k| run.position(&format!("stone{k}"))).collect::<Vec<_>>();
        let start = at(&run);
        let mut deepest = 0.0_f64;
        for _ in 0..120 {
            deepest = deepest.max(run.step().penetration_m);
        }
        let moved = start.iter().zip(at(&run)).map(|(a, b)| a.distance(b)).fold(0.0, f64::max);
        assert!(deepest < 1e-4 && moved < 1e-3, "{count} stones: {deepest:e} m deep, moved by {moved:e} m");
    }
}

/// Symptom: a ram that a motor drives from rest went through a wall 3 cm ahead. Cause: contacts were looked for as far as bodies go by
/// the speed that they have, and what touches nothing was in no island that looks where it ends.
#[test]
fn what_is_driven_from_rest_does_not_pass_through_a_wall() {
    let motors = [Motor::Force { value: 2000.0 }, Motor::Velocity { target: 10.0, max_force: Some(2000.0) }];
    for motor in motors {
        for dt in [1.0 / 20.0, 1.0 / 60.0] {
            let mut scene = Scene::new("ram");
            scene.body(cuboid("ram", [0.2; 3], 0.5).with_mass(1.0).at([-0.13, 0.0, 0.5]));
            scene.body(Body::fixed("wall").at([0.05, 0.0, 0.5]).shape(Geometry::Box { size: [0.1, 1.0, 1.0] }));
            let slider = Joint::slider("guide", WORLD, "ram", [-0.13, 0.0, 0.5], [1.0, 0.0, 0.0]);
            scene.joint(slider.with(Coordinate::of("displacement").motor(motor)));
            let mut run = Run::new(&scene, dt);
            while run.world.time() < 1.0 {
                run.step();
            }
            let gap = -0.1 - run.position("ram").x;
            assert!(gap.abs() < 1e-4, "{motor:?} at h = {dt} s: the ram is {gap} m before the wall");
        }
    }
    let mut scene = Scene::new("heavy");
    scene.body(Body::fixed("plate").shape(Geometry::Box { size: [2.0, 2.0, 0.05] }));
    let mut ball = Body::new("ball").at([0.0, 0.0, 0.16]).shape(Geometry::Sphere { radius: 0.1 });
    ball.gravity_scale = 40.0;
    scene.body(ball);
    let mut run = Run::new(&scene, 1.0 / 20.0);
    (0..20).for_each(|_| drop(run.step()));
    let height = run.position("ball").z;
    assert!((height - 0.125).abs() < 1e-4, "the ball that weighs forty times as much is at {height} m");
}

/// Symptom: a nail that tumbled at 100 rad/s had thirty times its energy. Cause: the splitting of free rotation turns a little of the
/// momentum to the axis about which the nail has a thousandth of its inertia.
#[test]
fn what_tumbles_freely_keeps_its_energy_at_any_speed() {
    let nail = Geometry::Cylinder { radius: 0.0015, length: 0.06 };
    for (name, geometry) in [("nail", nail), ("box", Geometry::Box { size: [0.03, 0.02, 0.01] })] {
        for spin in [30.0, 100.0, 400.0] {
            let mut scene = Scene::new("tumble");
            scene.gravity = [0.0; 3];
            scene.body(Body::new("thing").moving([0.0; 3], [spin, 0.3 * spin, 0.1 * spin]).shape(geometry.clone()));
            let mut run = Run::new(&scene, 1.0 / 60.0);
            let start = run.world.energy().total();
            for _ in 0..300 {
                run.step();
                let now = run.world.energy().total() / start;
                assert!((now - 1.0).abs() < 0.02, "{name} at {spin} rad/s: {now} of its energy");
            }
        }
    }
}

/// Symptom: a press that came down on a ball at 0.1 m/s ended the run, with a ball that left the range of numbers. Cause: what held the
/// ball from two sides contradicted itself, and nothing judged what came of it.
#[test]
fn a_press_on_a_ball_jams_and_shoots_nothing() {
    let (mut jams, mut silent) = (0, 0);
    for dt in [1.0 / 60.0, 1.0 / 240.0] {
        let mut scene = Scene::new("press");
        scene.body(ground(0.5));
        let press = Body { kind: BodyKind::Kinematic, ..cuboid("press", [2.0, 2.0, 1.0], 0.5) };
        scene.body(press.at([0.0, 0.0, 1.6]).moving([0.0, 0.0, -0.1], [0.0; 3]));
        scene.body(Body::new("ball").at([0.02, 0.01, 0.3]).shape(Geometry::Sphere { radius: 0.3 }));
        let mut run = Run::new(&scene, dt);
        let mut fastest = 0.0_f64;
        while run.world.time() < 7.0 {
            let report = run.step();
            let told = report.warnings.iter().any(|w| matches!(w, Warning::Jam { .. }));
            (jams, silent) = (jams + u32::from(told), silent + u32::from(!told && report.penetration_m > 5e-3));
            fastest = fastest.max(run.velocity("ball").length());
        }
        assert!(fastest < 3.0, "{fastest} m/s at h = {dt} s");
    }
    assert!(jams > 100, "{jams} steps told");
    assert!(silent < jams / 10, "{silent} steps were silent");
}

/// Symptom: a box between a plate and a wall took half a second a step, with "NaN m/s left", and was pressed through the wall. Cause: contacts
/// stiffened with their load, and the load with their stiffness, without end.
#[test]
fn a_box_squeezed_against_a_wall_stays_before_it() {
    for dt in [1.0 / 60.0, 1.0 / 240.0] {
        let mut scene = Scene::new("squeeze");
        scene.body(ground(0.5));
        let wall = Shape::new(Geometry::Box { size: [0.2, 3.0, 1.0] }).friction(0.3);
        scene.body(Body::fixed("wall").at([2.0, 0.0, 0.5]).placed_shape(wall));
        let plate = Shape::new(Geometry::Box { size: [0.2, 3.0, 0.4] }).friction(0.3);
        let plate = Body::kinematic("plate").at([1.0, 0.0, 0.3]).placed_shape(plate);
        scene.body(plate.moving([1.0, 0.0, 0.0], [0.0; 3]));
        scene.body(cuboid("box", [0.2; 3], 0.3).at([1.3, 0.0, 0.1]));
        let mut run = Run::new(&scene, dt);
        let (mut most, mut fastest) = (0.0_f64, 0.0_f64);
        while run.world.time() < 0.85 {
            let report = run.step();
            assert!(report.contact_residual.is_finite(), "{} m/s are left", report.contact_residual);
            most = most.max(report.contact_iterations);
            fastest = fastest.max(run.velocity("box").length());
        }
        let x = run.position("box").x;
        assert!(x < 1.95, "the box is in the wall, at {x} m, h = {dt} s");
        assert!(fastest < 1.2, "{fastest} m/s, h = {dt} s");
        assert!(most < 1e4, "{most} iterations in a step, h = {dt} s");
    }
}

/// Pairs that are pushed apart add up along a row and a tower: that is no energy from nowhere.
#[test]
fn rows_of_bodies_that_overlap_come_apart() {
    let mut row = Scene::new("row");
    row.gravity = [0.0; 3];
    let mut tower = Scene::new("tower");
    tower.body(ground(0.5));
    for k in 0..10 {
        let x = f64::from(k) * 0.197;
        row.body(Body::new(format!("ball{k}")).at([x, 0.0, 0.0]).shape(Geometry::Sphere { radius: 0.1 }));
        let z = 0.095 + f64::from(k) * 0.195;
        tower.body(cuboid(&format!("box{k}"), [0.2; 3], 0.5).at([0.0, 0.0, z]));
    }
    for scene in [row, tower] {
        let mut run = Run::new(&scene, 1.0 / 60.0);
        let (mut deepest, mut warnings) = (0.0, 0);
        for _ in 0..180 {
            let report = run.step();
            (deepest, warnings) = (report.penetration_m, warnings + report.warnings.len());
        }
        assert!(deepest < 1e-4 && warnings == 0, "{}: {deepest:e} m deep after 3 s, {warnings} warnings", scene.name);
    }
}
