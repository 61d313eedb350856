//! Tests of contact that fail today (see the note of each run: `contact.rs` and its siblings hold those that pass). They join the list
//! when they pass; they use the helpers of `contact_piles.rs`.

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
        prop_assert!(worst < 1e-3, "seed {}: {:e} m deep", seed, worst);
    }
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
