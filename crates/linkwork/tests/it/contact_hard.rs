//! Contact where it is hard: fast, heavy, in closed loops, in random piles.

use crate::common::{Complaints, Random, Run, weightless, wxyz};
use crate::contact::{cuboid, ground, sphere};
use crate::contact_mechanisms::crane;
use crate::contact_piles::stands;
use crate::overlap;
use linkwork::Warning;
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, BodyKind, Coordinate, Geometry, Joint, Motor, Scene, Shape, WORLD};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const G: f64 = 9.81;

/// A press: a carriage on a vertical rail stands on a foot that a crank and a rod push down out of it.
fn press(speed: f64) -> Scene {
    let (crank, rod) = (0.2, 0.6);
    let mut scene = Scene::new("press");
    scene.body(ground(0.5));
    // crank level at the start
    let drop = f64::sqrt(rod * rod - crank * crank);
    let axle = DVec3::Z * (drop + 0.1);
    let (pin, foot) = (axle + DVec3::X * crank, DVec3::Z * 0.1);
    let quiet = |size: [f64; 3]| Shape::new(Geometry::Box { size }).groups(2, 0);
    scene.body(Body::new("carriage").at(axle).with_mass(100.0).placed_shape(quiet([0.3, 0.3, 0.3])));
    scene.body(
        Body::new("crank").at(axle + DVec3::X * crank / 2.0).with_mass(1.0).placed_shape(quiet([crank, 0.05, 0.05])),
    );
    let turn = DQuat::from_rotation_arc(DVec3::X, (foot - pin).normalize());
    let middle = (pin + foot) / 2.0;
    scene.body(Body::new("rod").at(middle).oriented(wxyz(turn)).with_mass(1.0).placed_shape(quiet([rod, 0.05, 0.05])));
    scene.body(sphere("foot", 0.1, 0.5).at(foot).with_mass(2.0));
    scene.joint(Joint::slider("rail", WORLD, "carriage", axle, DVec3::Z));
    let motor = Coordinate::of("angle").motor(Motor::Velocity { target: speed, max_force: Some(1e4) });
    scene.joint(Joint::hinge("drive", "carriage", "crank", axle, DVec3::Y).with(motor));
    scene.joint(Joint::hinge("pin", "crank", "rod", pin, DVec3::Y));
    scene.joint(Joint::hinge("ankle", "rod", "foot", foot, DVec3::Y));
    scene.joint(Joint::slider("guide", "carriage", "foot", foot, DVec3::Z));
    scene
}

/// Boxes, balls and capsules above each other with gaps, in a narrow shaft of air.
pub fn random_pile(seed: u64) -> Scene {
    let mut random = Random(seed);
    let mut scene = Scene::new(format!("pile {seed}"));
    scene.body(ground(0.5));
    let friction = random.between(0.0, 1.0);
    for k in 0..3 + random.below(8) {
        let size = random.between(0.2, 0.5);
        let geometry = match random.below(3) {
            0 => Geometry::Sphere { radius: 0.5 * size },
            1 => Geometry::Capsule { radius: 0.3 * size, length: 0.4 * size },
            _ => Geometry::Box { size: [size, random.between(0.5, 1.0) * size, 0.7 * size] },
        };
        let turn = random.rotation();
        let at = DVec3::new(random.between(-0.2, 0.2), random.between(-0.2, 0.2), 0.6 + 0.9 * k as f64);
        let body = Body::new(format!("body{k}")).at(at).oriented(crate::common::wxyz(turn));
        let body = body.moving(random.vector(), 2.0 * random.vector());
        scene.body(body.with_density(1000.0).placed_shape(Shape::new(geometry).friction(friction)));
    }
    scene
}

/// Runs a pile and checks energy after every step: returns the deepest overlap seen.
fn falls_quietly(seed: u64, steps: usize) -> f64 {
    let h = 1.0 / 60.0;
    let mut run = Run::new(&random_pile(seed), h);
    let start = run.energy();
    // the least that the energy can have been at the end of any step
    let (mut least, mut worst) = (start, 0.0_f64);
    let ids: Vec<_> = run.world.body_ids().collect();
    for k in 0..steps {
        run.step();
        // velocities of what touches are those of the middle of its step; at the end they may differ by up to g h/2
        let kick = 0.5 * h * 9.81;
        let unsure: f64 = ids
            .iter()
            .filter_map(|&b| Some((run.world.mass(b)?, run.world.velocity(b)?.linear.z)))
            .filter(|(mass, _)| mass.is_finite())
            .map(|(mass, speed)| mass * kick * (speed.abs() + 0.5 * kick))
            .sum();
        let energy = run.energy();
        assert!(
            energy - unsure < least + 1e-6 * start,
            "seed {seed}, step {k}: energy rises from at most {least} to at least {} J",
            energy - unsure
        );
        least = least.min(energy + unsure);
        worst = worst.max(overlap::deepest(&run.world).0);
    }
    worst
}

#[test]
fn a_sliding_block_stops_after_v_squared_over_two_mu_g() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 240.0, 1.0 / 60.0, 1.0 / 30.0] {
        for mu in [0.1, 0.3, 0.8] {
            let speed = 4.0;
            let mut scene = Scene::new("slide");
            scene.body(ground(mu));
            scene.body(cuboid("block", [1.0, 1.0, 0.2], mu).at([0.0, 0.0, 0.1]).moving([speed, 0.0, 0.0], [0.0; 3]));
            let mut run = Run::new(&scene, h);
            let duration = speed / (mu * G);
            run.steps((duration / h).ceil() as usize + 5);
            let stopped = run.position("block");
            // the velocity is constant within a step: within the one in which it stops, up to this much is lost
            let resolution = 0.5 * mu * G * h * h;
            let what = format!("distance at h = {h}, mu = {mu}");
            wrong.close(&what, stopped.x, speed * speed / (2.0 * mu * G), resolution + 1e-5);
            wrong.close("sideways", stopped.y, 0.0, 1e-9);
            run.steps((1.0 / h) as usize);
            let moved = run.position("block") - stopped;
            wrong.unless(moved.truncate().length() < 5e-6, || format!("{what}: moves on by {moved} m"));
            // contacts give way by micrometres, more so on the front edge of what is braked
            wrong.close("height", run.position("block").z, stopped.z, 1e-5);
        }
    }
}

#[test]
fn landing_bodies_do_not_penetrate() {
    let mut wrong = Complaints::default();
    let shapes = [
        Geometry::Box { size: [0.5, 0.3, 0.2] },
        Geometry::Sphere { radius: 0.2 },
        Geometry::Capsule { radius: 0.1, length: 0.5 },
        Geometry::Cylinder { radius: 0.2, length: 0.3 },
    ];
    for h in [1.0 / 60.0, 1.0 / 30.0] {
        for (k, geometry) in shapes.iter().enumerate() {
            for (spin, turn) in
                [(DVec3::ZERO, 0.0), (DVec3::new(1.0, -2.0, 0.5), 0.7), (DVec3::new(0.0, 3.0, 1.0), 1.3)]
            {
                let mut scene = Scene::new("landing");
                scene.body(ground(0.5));
                let turn = DQuat::from_axis_angle(DVec3::new(1.0, 1.0, 0.3).normalize(), turn);
                let body = Body::new("body").shape(geometry.clone()).at([0.0, 0.0, 1.0]).oriented(wxyz(turn));
                scene.body(body.moving([1.0, 0.0, -5.0], spin));
                let mut run = Run::new(&scene, h);
                let (a, b) = (run.body("ground"), run.body("body"));
                let mut worst = 0.0_f64;
                for _ in 0..(2.0 / h) as usize {
                    run.step();
                    worst = worst.max(overlap::between(&run.world, a, b));
                }
                // the point of a rim that touches runs along it within a step
                let allowed = if matches!(geometry, Geometry::Cylinder { .. }) { 1e-3 } else { 1e-4 };
                wrong.unless(worst < allowed, || format!("shape {k} spinning {spin}, h = {h}: {worst:e} m deep"));
            }
        }
    }
}

#[test]
fn a_bullet_does_not_pass_a_thin_wall() {
    let mut wrong = Complaints::default();
    for offset in [0.0, 1.0, 2.7, 5.1, 8.0] {
        for (kind, mass) in [(BodyKind::Static, None), (BodyKind::Dynamic, Some(100.0))] {
            let mut scene = weightless("bullet");
            let wall = cuboid("wall", [0.01, 2.0, 2.0], 0.5);
            scene.body(Body { kind, mass, ..wall });
            let start = DVec3::new(-20.0 - offset, 0.13, 0.21);
            scene.body(sphere("bullet", 0.01, 0.5).with_mass(0.01).at(start).moving([500.0, 0.0, 0.0], [0.0; 3]));
            let mut run = Run::new(&scene, 1.0 / 60.0);
            let mut deepest = f64::NEG_INFINITY;
            for _ in 0..30 {
                run.step();
                // seen from the wall, which a bullet moves a little
                let pose = run.world.pose(run.body("wall")).unwrap();
                let seen = pose.orientation.inverse() * (run.position("bullet") - pose.position);
                deepest = deepest.max(seen.x + 0.015);
            }
            wrong.unless(deepest < 1e-4, || format!("offset {offset}, {kind:?}: {deepest:e} m into the wall"));
        }
    }
}

/// At a third of all step sizes it ended 0.1 to 0.3 mm deep where the second look had not converged after four rounds, which it does
/// after five to eight.
#[test]
fn a_chain_lies_down_on_the_ground() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 0.01673, 0.01727, 0.01793, 1.0 / 30.0, 0.0336, 0.0347, 0.0357, 0.036] {
        let mut scene = Scene::new("chain");
        scene.body(ground(0.5));
        let links = 10;
        for k in 0..links {
            let x = 0.25 * k as f64;
            let z = 0.5 + 0.05 * k as f64;
            let turn = DQuat::from_rotation_y(-(0.05_f64 / 0.25).atan());
            let length = 0.25_f64.hypot(0.05);
            scene.body(
                cuboid(&format!("link{k}"), [0.8 * length, 0.1, 0.1], 0.5).oriented(wxyz(turn)).with_mass(1.0).at([
                    x + 0.125,
                    0.0,
                    z + 0.025,
                ]),
            );
            if k > 0 {
                let (a, b) = (format!("link{}", k - 1), format!("link{k}"));
                scene.joint(Joint::ball(format!("pin{k}"), a, b, [x, 0.0, z]));
            }
        }
        let mut run = Run::new(&scene, h);
        let mut worst = 0.0_f64;
        for _ in 0..(6.0 / h) as usize {
            run.step();
            worst = worst.max(overlap::deepest(&run.world).0);
        }
        wrong.unless(run.worst_error < 1e-9, || format!("h = {h}: joints open by {:e}", run.worst_error));
        wrong.unless(worst < 1e-4, || format!("h = {h}: {worst:e} m deep"));
        for k in 0..links {
            let speed = run.velocity(&format!("link{k}")).length();
            wrong.unless(speed < 1e-3, || format!("h = {h}: link {k} still moves at {speed} m/s"));
        }
    }
}

#[test]
fn a_closed_linkage_lifts_itself_off_the_ground() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 1.0 / 30.0] {
        let mut run = Run::new(&press(2.0), h);
        let mut worst = 0.0_f64;
        for _ in 0..(4.0 / h) as usize {
            run.step();
            let angle = run.value_of("drive", "angle");
            // turning about +y carries the pin from +x down
            let (x, z) = (0.2 * angle.cos(), -0.2 * angle.sin());
            let below = f64::sqrt(0.36 - x * x) - z;
            worst = worst.max((run.position("carriage").z - 0.1 - below).abs());
        }
        wrong.unless(worst < 1e-4, || format!("h = {h}: the foot leaves the ground or sinks by {worst:e} m"));
        wrong.unless(run.worst_error < 1e-9, || format!("h = {h}: joints open by {:e}", run.worst_error));
    }
}

#[test]
fn a_swinging_crane_keeps_its_rod_on_the_edge() {
    let mut wrong = Complaints::default();
    for ratio in [1.0, 150.0, 1e6] {
        let mut scene = crane(50.0 * ratio);
        let block = scene.bodies.iter_mut().find(|b| b.name == "block").unwrap();
        (block.velocity, block.angular_velocity) = ([-0.6, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let mut run = Run::new(&scene, 1.0 / 60.0);
        let (edge, rod) = (run.body("edge"), run.body("rod"));
        let mut worst = 0.0_f64;
        for _ in 0..600 {
            run.step();
            worst = worst.max(overlap::between(&run.world, edge, rod));
        }
        wrong.unless(worst < 1e-6, || format!("ratio {ratio:e}: {worst:e} m in the edge"));
        wrong.unless(run.worst_error < 1e-6, || format!("ratio {ratio:e}: joints open by {:e}", run.worst_error));
    }
}

#[test]
fn a_tower_bears_a_heavy_box() {
    let mut masses = [1.0; 10];
    masses[9] = 1e4;
    stands(&masses, 0.0, 1.0 / 60.0);
    stands(&masses, 0.01, 1.0 / 60.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_piles_lose_energy_and_do_not_overlap(seed in 0_u64..1 << 32) {
        let worst = falls_quietly(seed, 180);
        prop_assert!(worst < 2e-4, "seed {}: {:e} m deep", seed, worst);
    }
}

/// Symptom: single pairs of a pile went up to 3.4 mm into each other, with no impulse. Cause: a contact that slid fast before the step had
/// its wanted velocity lowered by de Saxcé's μ|v_t|, and kept that for as long as it did not press.
#[test]
fn what_slid_before_a_blow_is_stopped_by_it() {
    for seed in [704_791, 799_819, 1_662_990, 2_074_778, 241_574_671, 1_379_268_853] {
        let worst = falls_quietly(seed, 180);
        assert!(worst < 2e-4, "seed {seed}: {worst:e} m deep");
    }
}

/// Light boxes just above a heavy tray.
fn tray(mass: f64) -> Scene {
    let mut scene = Scene::new("tray");
    scene.body(ground(0.5));
    scene.body(cuboid("tray", [20.0, 20.0, 0.1], 0.5).with_mass(mass).at([0.0, 0.0, 0.05]));
    for k in 0..6 {
        let (y, z) = (f64::from(k) - 3.0, 0.2 + 3e-4 * f64::from(k * k));
        scene.body(cuboid(&format!("box{k}"), [0.4, 0.4, 0.2], 0.5).with_mass(1.0).at([-5.0, y, z]));
    }
    scene
}

/// A hundred million to one is more than Newton's method solves with 64 bits: the tray stays where it is all the same, swept over.
#[test]
fn what_newton_does_not_solve_is_swept_over_and_stays() {
    let mut run = Run::new(&tray(1e8), 1.0 / 30.0);
    while run.world.time() < 0.5 {
        run.step();
    }
    let moved = (run.position("tray").z - 0.05).abs();
    assert!(moved < 1e-5, "the tray moved by {moved} m");
    let [a, b] = ["tray", "box0"].map(|name| run.world.body(name).unwrap());
    let told = Warning::Unsolved { a, b, residual: 0.25 }.describe(&run.world);
    assert!(["\"tray\"", "\"box0\"", "0.25", "m/s", "try"].iter().all(|word| told.contains(word)), "{told}");
}

/// Symptom: a tray of five tons that lay on the ground jumped by millimetres, with 80 J from nowhere, when a box of a kilogram was a
/// millimetre above it. Cause: the search along Newton's direction went some ten-thousandths of the way to where the box meets the tray,
/// and iterations ended before that.
#[test]
fn light_boxes_land_on_a_heavy_tray_without_moving_it() {
    // as if one box rose by a micrometre, or ten thousand tons by 30 nm
    for (mass, most) in [(5e3, 9.81e-6), (1e6, 9.81e-6), (1e7, 3.0)] {
        for dt in [1.0 / 30.0, 1.0 / 60.0, 1.0 / 120.0] {
            let mut run = Run::new(&tray(mass), dt);
            let tray = run.world.body("tray").unwrap();
            let (mut before, mut rise, mut iterations) = (run.world.energy().total(), 0.0_f64, 0.0);
            while run.world.time() < 0.5 {
                let report = run.step();
                iterations += report.contact_iterations * dt / 0.5;
                assert!(report.warnings.is_empty(), "{:?} with {mass} kg at h = {dt} s", report.warnings);
                let now = run.world.energy().total();
                (before, rise) = (now, rise.max(now - before));
                let moved = (run.world.pose(tray).unwrap().position.z - 0.05).abs();
                assert!(moved < 1e-5, "the tray of {mass} kg moved by {moved} m at h = {dt} s");
            }
            // rounding is not iterated on: 428 before that was seen, 540 with 5e6 kg
            assert!(iterations < 150.0, "{iterations} iterations a step with {mass} kg at h = {dt} s");
            assert!(rise < most, "{rise} J in a step with {mass} kg at h = {dt} s");
        }
    }
}

#[test]
fn a_kinematic_body_pushes_a_box() {
    let mut wrong = Complaints::default();
    let mut scene = Scene::new("push");
    scene.body(ground(0.5));
    let pusher = Body { kind: BodyKind::Kinematic, ..cuboid("pusher", [0.2, 1.0, 1.0], 0.5) };
    scene.body(pusher.at([-0.8, 0.0, 0.6]).moving([1.0, 0.0, 0.0], [0.0; 3]));
    scene.body(cuboid("box", [1.0; 3], 0.5).at([0.0, 0.0, 0.5]));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    let mut least = f64::INFINITY;
    for _ in 0..180 {
        run.step();
        least = least.min(run.position("box").x - run.position("pusher").x - 0.6);
    }
    wrong.unless(least > -1e-4, || format!("{least:e} m between box and pusher"));
    wrong.close("pushed", run.position("box").x - run.position("pusher").x, 0.6, 2e-3);
    wrong.close("at the speed", run.velocity("box").x, 1.0, 1e-3);
}

#[test]
fn the_pillar_of_a_crane_tells_its_load() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 60.0, 0.1, 0.25] {
        for ratio in [1.0, 150.0, 1e4, 1e6] {
            let mut scene = crane(50.0 * ratio);
            // friction at the edge has a lever about the hinge: without it the reaction is unique
            scene.bodies.iter_mut().flat_map(|b| &mut b.shapes).for_each(|s| s.friction = 0.0);
            let mut run = Run::new(&scene, h);
            run.steps(40);
            let what = format!("h = {h}, ratio {ratio:e}");
            // twenty-to-one: what the edge bears, less the weights, pulls at the pillar
            let load = 50.0 * G * 0.9 / 0.1 + 50.0 * ratio * G * 20.0;
            let pull = load - 50.0 * G - 50.0 * ratio * G;
            wrong.close(&format!("pillar, {what}"), run.reaction("pillar").wrench.force.z / pull, -1.0, 0.02);
        }
    }
}

#[test]
fn a_dead_blow_leaves_two_balls_with_their_common_speed() {
    let mut wrong = Complaints::default();
    let mut scene = weightless("dead blow");
    scene.body(sphere("a", 0.2, 0.0).with_mass(3.0).at([-1.0, 0.0, 0.0]).moving([2.0, 0.0, 0.0], [0.0; 3]));
    scene.body(sphere("b", 0.2, 0.0).with_mass(1.0));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(1.0);
    wrong.near("a", run.velocity("a"), DVec3::X * 1.5, 1e-5);
    wrong.near("b", run.velocity("b"), DVec3::X * 1.5, 1e-5);
}

#[test]
fn a_ball_that_is_struck_into_another_gives_it_its_speed() {
    // the striker throws the middle ball, which had no reach, across a gap into a third within one step
    let mut wrong = Complaints::default();
    for gap in [0.05, 0.5, 2.0] {
        let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("thrown") };
        let ball = |name: &str, x: f64| {
            let shape = Shape::new(Geometry::Sphere { radius: 0.1 }).restitution(1.0);
            Body::new(name).placed_shape(shape).with_mass(1.0).at([x, 0.0, 0.0])
        };
        scene.body(Body { velocity: [300.0, 0.0, 0.0], ..ball("striker", -0.201) });
        scene.body(ball("middle", 0.0));
        scene.body(ball("last", 0.2 + gap));
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.steps(3);
        let speeds = ["striker", "middle", "last"].map(|name| run.velocity(name).x);
        wrong.close(&format!("momentum, gap {gap}"), speeds.iter().sum(), 300.0, 1e-6);
        wrong.close(&format!("speed of the last, gap {gap}: {speeds:?}"), speeds[2], 300.0, 1e-3);
    }
}
