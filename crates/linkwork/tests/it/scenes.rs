//! The scenes of the registry: each must run, and show what it was made for.

use crate::common::{Run, assert_close, build, registered};
use linkwork::glam::DVec3;
use linkwork::scene::ParticleMethod;

const CLOSED: f64 = 1e-9;

/// Steps of a scene with contact, which take longer.
const MOST_IN_CONTACT: usize = 60;

/// A scene of the registry, fewer of its parts where there are very many.
fn in_small(name: &str) -> linkwork::Scene {
    let settings: &[(&str, f64)] = match name {
        "tube" => &[("rings", 2.0), ("cells", 8.0)],
        "rings" => &[("rings", 25.0)],
        "net" => &[("meshes", 3.0), ("boxes", 1.0)],
        "bridge" => &[("pairs", 3.0)],
        "skeletons" => &[("skeletons", 1.0)],
        "magnets" => &[("letters", 28.0)],
        _ => &[],
    };
    registered(name, settings)
}

#[test]
fn every_scene_of_the_registry_runs_with_closed_joints() {
    for entry in linkwork_scenes::all() {
        let scene = in_small(entry.name);
        let rows = build(&scene).census().constraint_rows;
        let most = if scene.particles.is_empty() { scene.step.duration / scene.step.dt } else { 90.0 };
        let steps = (600_000 / rows.max(1)).clamp(30, most.round() as usize);
        let mut run = Run::new(&scene, scene.step.dt);
        run.steps(if scene.collisions { steps.min(MOST_IN_CONTACT) } else { steps });
        assert!(run.worst_error < CLOSED, "{}: joints open by {:e}", entry.name, run.worst_error);
        let energy = run.world.energy();
        assert!(energy.total().is_finite(), "{}", entry.name);
    }
}

#[test]
fn every_scene_runs_at_a_thirtieth_of_a_second_too() {
    for entry in linkwork_scenes::all().iter().filter(|e| e.name != "tube") {
        let scene = in_small(entry.name);
        // explicit particles have a step that they must not exceed
        if scene.particles.iter().any(|p| p.method != ParticleMethod::Implicit) {
            continue;
        }
        let mut run = Run::new(&scene, 1.0 / 30.0);
        let rows = run.world.census().constraint_rows;
        let most = if scene.particles.is_empty() { 150 } else { 45 };
        let steps = (300_000 / rows.max(1)).clamp(20, most);
        run.steps(if scene.collisions { steps.min(MOST_IN_CONTACT) } else { steps });
        assert!(run.worst_error < CLOSED, "{}: joints open by {:e}", entry.name, run.worst_error);
    }
}

/// Runs and returns the largest rise of the energy above any earlier value, and the largest departure from the first one,
/// both in parts of the largest kinetic energy.
fn energy_drift(run: &mut Run, until: f64) -> (f64, f64) {
    let start = run.energy();
    let (mut lowest, mut rise, mut departure, mut kinetic) = (start, 0.0_f64, 0.0_f64, 0.0_f64);
    while run.world.time() < until - 1e-9 {
        run.step();
        let energy = run.world.energy();
        lowest = lowest.min(energy.total());
        rise = rise.max(energy.total() - lowest);
        departure = departure.max((energy.total() - start).abs());
        kinetic = kinetic.max(energy.kinetic);
    }
    (rise / kinetic, departure / kinetic)
}

#[test]
fn the_tree_whips_without_gaining_energy() {
    for bodies in [31.0, 127.0] {
        let mut run = Run::new(&registered("tree", &[("bodies", bodies)]), 1.0 / 30.0);
        let (rise, _) = energy_drift(&mut run, 10.0);
        assert!(run.worst_error < CLOSED, "joints open by {:e}", run.worst_error);
        assert!(rise < 0.01, "{bodies} bodies: energy rises by {:.2} %", 100.0 * rise);
    }
}

#[test]
fn the_star_turns_without_gaining_energy() {
    let mut run = Run::new(&registered("star", &[("bodies", 127.0)]), 1.0 / 30.0);
    let (rise, _) = energy_drift(&mut run, 5.0);
    assert!(run.worst_error < CLOSED);
    assert!(rise < 0.01, "energy rises by {:.2} %", 100.0 * rise);
}

#[test]
fn the_wrecking_ball_keeps_its_energy_at_any_mass() {
    for mass in [1e3, 1e6] {
        let mut run = Run::new(&registered("wrecking-ball", &[("mass", mass)]), 1.0 / 60.0);
        let (_, departure) = energy_drift(&mut run, 10.0);
        assert!(run.worst_error < CLOSED, "{mass} kg: joints open by {:e}", run.worst_error);
        assert!(departure < 0.02, "{mass} kg: energy is off by {:.2} %", 100.0 * departure);
    }
}

#[test]
fn the_scissor_lift_stands_still() {
    for (pairs, seconds) in [(1.0, 10.0), (10.0, 10.0), (50.0, 10.0), (220.0, 2.0)] {
        let mut run = Run::new(&registered("scissor-lift", &[("pairs", pairs)]), 1.0 / 60.0);
        let start: Vec<(linkwork::BodyId, DVec3)> =
            run.world.body_ids().map(|b| (b, run.world.pose(b).unwrap().position)).collect();
        let mut moved = 0.0_f64;
        while run.world.time() < seconds - 1e-9 {
            run.step();
            for (body, at) in &start {
                moved = moved.max(run.world.pose(*body).unwrap().position.distance(*at));
            }
        }
        assert!(moved < 1e-6, "{pairs} pairs: moved by {moved:e} m");
        assert!(run.worst_error < CLOSED);
    }
}

#[test]
fn the_redundant_rows_of_the_scissor_lift_are_three_a_pair_and_four() {
    for pairs in [1, 3, 10, 50, 220] {
        assert_redundant_rows(pairs);
    }
}

fn assert_redundant_rows(pairs: usize) {
    // n pairs: 3n + 2 hinges of 5 rows on 2n + 1 bodies. In the plane 2 (3n + 2) rows hold 3 (2n + 1) freedoms: one too many.
    // Across it 3 (3n + 2) rows hold 3 (2n + 1) freedoms: 3n + 3 too many. The lift is rigid, so all freedoms are held.
    let world = build(&registered("scissor-lift", &[("pairs", pairs as f64)]));
    let census = world.census();
    assert_eq!(census.constraint_rows, 15 * pairs + 10);
    assert_eq!(census.redundant_rows, 3 * pairs + 4, "{pairs} pairs");
    assert_eq!(census.degrees_of_freedom, 0, "{pairs} pairs");
    let mut run = Run::of(world, 1.0 / 60.0);
    assert_eq!(run.step().redundant_rows, 3 * pairs + 4, "{pairs} pairs, while running");
}

#[test]
fn the_peaucellier_linkage_draws_a_straight_line_through_its_near_singular_swing() {
    let (off, iterations) = line_error();
    assert!(off < 1e-8, "off the line by {off:e} m");
    assert!(iterations <= 4.0, "{iterations} iterations in the mean");
}

/// How far the linkage's point is off its line in a run between near-singular poses, and the iterations a step.
fn line_error() -> (f64, f64) {
    let mut run = Run::new(&registered("peaucellier", &[]), 0.03);
    let census = run.world.census();
    assert_eq!((census.constraint_rows, census.redundant_rows, census.degrees_of_freedom), (50, 9, 1));
    let (mut off, mut iterations, mut left, mut right) = (0.0_f64, 0.0, 0.0_f64, 0.0_f64);
    for _ in 0..500 {
        iterations += run.step().joint_iterations / 500.0;
        for bar in ["AQ", "BQ"] {
            let q = run.world.pose(run.body(bar)).unwrap().transform(DVec3::X * 0.4);
            off = off.max((q.z + 2.1).abs());
            (left, right) = (left.min(q.x), right.max(q.x));
        }
    }
    assert!(run.worst_error < CLOSED);
    assert!(left < -1.5 && right > 1.5, "it swings from {left} to {right} m");
    (off, iterations)
}

#[test]
fn the_tube_holds_at_eight_rings() {
    let scene = registered("tube", &[("rings", 8.0)]);
    let mut run = Run::new(&scene, scene.step.dt);
    let rows = run.world.census().constraint_rows;
    assert_eq!(rows, 20 * (116 * 8 + 6));
    run.steps(3);
    assert!(run.worst_error < CLOSED, "joints open by {:e}", run.worst_error);
}

#[test]
fn machines_have_the_freedoms_that_their_headers_count() {
    for (name, settings, freedoms, redundant) in [
        ("strandbeest", vec![("legs", 1.0)], 1, Some(9)),
        ("strandbeest", vec![("legs", 12.0)], 1, Some(9 * 12)),
        ("strandbeest", vec![("legs", 12.0), ("fixed_frame", 0.0)], 7, Some(9 * 12)),
        ("walker", vec![], 6, Some(18)),
        ("car", vec![], 9, Some(0)),
        ("stewart", vec![], 6, Some(0)),
        ("excavator", vec![], 4, Some(12)),
        ("four-bar", vec![], 1, Some(3)),
        ("double-pendulum", vec![], 6, Some(0)),
        ("tree", vec![("bodies", 31.0)], 93, Some(0)),
        ("star", vec![("bodies", 31.0)], 93, Some(0)),
        ("tube", vec![("rings", 1.0), ("cells", 8.0)], 4 * 8, Some(0)),
        ("crane-load", vec![], 6, Some(0)),
    ] {
        let census = build(&registered(name, &settings)).census();
        assert_eq!(census.degrees_of_freedom, freedoms, "{name} {settings:?}");
        assert_eq!(Some(census.redundant_rows), redundant, "{name} {settings:?}");
    }
}

/// Joints that share a body share a block of the matrix: the cliques of Tomcin, Sibbing and Kobbelt 2014, section 5.
#[test]
fn the_entries_of_a_matrix_are_those_of_joints_that_share_bodies() {
    // in a binary tree every body with children shares its own ball joint with those of two children: three pairs
    let (bodies, parents) = (31, 15);
    for (name, settings, blocks) in
        [("double-pendulum", vec![], 2 + 1), ("tree", vec![("bodies", bodies as f64)], bodies + 3 * parents)]
    {
        let census = build(&registered(name, &settings)).census();
        assert_eq!(census.matrix_entries, 9 * blocks, "{name}");
        assert!(census.factor_entries >= census.matrix_entries, "{name}: {census:?}");
    }
}

#[test]
fn the_stewart_platform_goes_where_it_is_told() {
    let mut run = Run::new(&registered("stewart", &[]), 1.0 / 120.0);
    run.to(6.0);
    let at = run.position("platform");
    // servos of 4e5 N/m under 560 kg and six rams give way by a centimetre
    assert!(at.distance(DVec3::new(0.1, 0.0, 1.15)) < 0.02, "{at}");
    assert_close("yaw", run.orientation("platform").to_scaled_axis().z, 10.0_f64.to_radians(), 0.02);
}

#[test]
fn the_moving_excavator_reaches_its_stops_with_closed_pins() {
    let mut run = Run::new(&registered("excavator", &[("motion", 1.0)]), 1.0 / 30.0);
    run.to(8.0);
    assert!(run.worst_error < CLOSED, "pins open by {:e} m", run.worst_error);
    assert_close("slew at its stop", run.value_of("slew", "angle"), 1.5, 1e-8);
    assert_close("boom ram at its stop", run.value_of("boom ram.slide", "displacement"), 0.2, 1e-8);
}

/// It panicked when the hoist met its stop: what only particles push has no two bodies that touch to be named when it jams.
#[test]
fn a_crane_that_only_its_rope_pushes_hoists_to_the_stop() {
    let mut run = Run::new(&registered("rope-crane", &[]), 1.0 / 120.0);
    run.to(12.0);
    let load = run.position("load");
    assert!(load.is_finite() && load.z > 0.7, "the load is at {load}");
}

#[test]
fn scenes_of_particles_show_what_they_say() {
    // two beads that move alike
    let mut run = Run::new(&registered("bead", &[]), 1.0 / 240.0);
    for _ in 0..480 {
        run.step();
        let at = |k: usize| run.world.particle_system(k).unwrap().positions()[0];
        let apart = at(1) - at(0);
        assert!((apart - DVec3::X * 1.2).length() < 1e-5, "{apart}");
    }
    // a bridge that carries its ball, and a crane that lifts its load
    let mut run = Run::new(&registered("rope-bridge", &[]), 1.0 / 120.0);
    run.to(4.0);
    assert!(run.position("ball").z > -1.2, "the ball is at {}", run.position("ball"));
    let mut run = Run::new(&registered("rope-crane", &[]), 1.0 / 120.0);
    run.to(5.0);
    assert!(run.position("load").z > 0.7, "the load is at {}", run.position("load"));
    // a hammock that holds its boxes above the ground
    let mut run = Run::new(&registered("hammock", &[]), 1.0 / 120.0);
    run.to(4.0);
    for k in 0..3 {
        let at = run.position(&format!("box {k}"));
        assert!(at.z > -1.0, "box {k} is at {at}");
    }
    // cloth that stays on the sphere
    let mut run = Run::new(&registered("cloth-sphere", &[("cells", 20.0)]), 1.0 / 60.0);
    run.to(3.0);
    let cloth = run.world.particle_system(0).unwrap().positions();
    let top = cloth.iter().map(|x| x.z).fold(0.0, f64::max);
    assert!(top > 0.94 && top < 1.0, "its top is at {top} m");
    assert!(cloth.iter().all(|x| x.distance(DVec3::Z * 0.6) > 0.35));
}
