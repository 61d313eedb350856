//! Stacks, towers and piles: they stand, they lose energy and never gain it, nothing sinks into anything.

use crate::common::{Random, Run};
use crate::contact::{cuboid, ground};
use crate::overlap;
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Geometry, Scene, Shape};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A tower of boxes, the lowest first, with a gap below each.
fn tower(masses: &[f64], gap: f64) -> Scene {
    let mut scene = Scene::new("tower");
    scene.body(ground(0.5));
    for (k, &mass) in masses.iter().enumerate() {
        let z = 0.5 + k as f64 + (k + 1) as f64 * gap;
        scene.body(cuboid(&format!("box{k}"), [1.0; 3], 0.5).with_mass(mass).at([0.0, 0.0, z]));
    }
    scene
}

fn stands(masses: &[f64], gap: f64, h: f64) {
    let what = format!("{} boxes, top of {} kg, gap {gap}, h = {h}", masses.len(), masses[masses.len() - 1]);
    let mut run = Run::new(&tower(masses, gap), h);
    let mut worst = 0.0_f64;
    for _ in 0..(5.0 / h) as usize {
        run.step();
        worst = worst.max(overlap::deepest(&run.world).0);
    }
    assert!(worst < 1e-4, "{what}: {worst:e} m deep");
    let mut last = Vec::new();
    for k in 0..masses.len() {
        let name = format!("box{k}");
        let at = run.position(&name);
        let expected = DVec3::new(0.0, 0.0, 0.5 + k as f64);
        assert!(at.distance(expected) < 1e-3, "{what}: box {k} at {at}");
        assert!(run.velocity(&name).length() < 1e-5, "{what}: box {k} at {}", run.velocity(&name));
        last.push(at);
    }
    run.to(10.0);
    for (k, at) in last.iter().enumerate() {
        let moved = run.position(&format!("box{k}")).distance(*at);
        assert!(moved < 1e-5, "{what}: box {k} moves {moved:e} m in five seconds");
    }
}

#[test]
fn a_stack_of_ten_boxes_stands() {
    stands(&[1000.0; 10], 0.0, 1.0 / 60.0);
    stands(&[1000.0; 10], 0.0, 1.0 / 30.0);
}

#[test]
fn a_dropped_stack_of_ten_boxes_stands() {
    stands(&[1000.0; 10], 0.01, 1.0 / 60.0);
    stands(&[1000.0; 10], 0.01, 1.0 / 30.0);
}

#[test]
fn a_tower_bears_a_heavy_box() {
    let mut masses = [1.0; 10];
    masses[9] = 1e4;
    stands(&masses, 0.0, 1.0 / 60.0);
    stands(&masses, 0.01, 1.0 / 60.0);
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_piles_lose_energy_and_do_not_overlap(seed in 0_u64..1 << 32) {
        let worst = falls_quietly(seed, 180);
        prop_assert!(worst < 1e-3, "seed {}: {:e} m deep", seed, worst);
    }
}
