//! Times of particle systems against their targets: `cargo run --release -p linkwork --example particles_bench`.
//!
//! CPU time of the thread where the system tells it, so that a loaded machine counts less.

use linkwork::glam::DVec3;
use linkwork::particle::{
    ClothMaterial, Constraint, Drag, Gravity, Method, Neighbours, Obstacle, ParticleSystem, grid,
};
use linkwork::scene::Geometry;
use linkwork::{Pose, SceneError};
use std::time::Instant;

const G: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// Seconds that this thread has run.
fn cpu_seconds(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or(since.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// Mean time of a step over the run, and in the worst of ten parts of it, s. The system's clock of CPU time ticks too
/// seldom for single steps.
fn times(system: &mut ParticleSystem, h: f64, steps: usize) -> Result<(f64, f64), SceneError> {
    let start = Instant::now();
    let part = steps.div_ceil(10);
    let (mut total, mut worst, mut iterations, mut pairs) = (0.0, 0.0_f64, 0, 0);
    for _ in 0..10 {
        let before = cpu_seconds(start);
        for _ in 0..part {
            let report = system.step(h)?;
            iterations += report.iterations;
            pairs += report.self_contacts;
        }
        let spent = cpu_seconds(start) - before;
        total += spent;
        worst = worst.max(spent / part as f64);
    }
    let per_step = |count: u32| f64::from(count) / (10 * part) as f64;
    if iterations > 0 {
        println!("  {:.1} iterations, {:.1} pairs of cloth kept apart a step", per_step(iterations), per_step(pairs));
    }
    Ok((total / (10 * part) as f64, worst))
}

fn show(what: &str, (mean, worst): (f64, f64), target: f64) {
    let verdict = if mean <= target { "ok" } else { "MISSED" };
    println!("{what:<58} {:>9.3} {:>9.3} {:>9.3}  {verdict}", 1e3 * mean, 1e3 * worst, 1e3 * target);
}

/// Numbers that look random and are the same everywhere.
fn scatter(k: usize) -> DVec3 {
    let part = |s: f64| (k as f64 * s).fract() - 0.5;
    DVec3::new(part(0.754_877_666_246_693), part(0.569_840_290_998_053), part(0.362_998_031_902_71))
}

fn free_particles(count: usize) -> Result<ParticleSystem, SceneError> {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G))?;
    s.add_force(Drag::new(0.01))?;
    s.add_obstacle(Obstacle::plane(DVec3::ZERO, DVec3::Z)?.with(0.3, 0.5));
    for k in 0..count {
        s.add_particle(scatter(k) * 10.0 + DVec3::Z * 6.0, scatter(k + 7), 0.1)?;
    }
    Ok(s)
}

fn neighbours(count: usize) -> Result<ParticleSystem, SceneError> {
    let mut s = ParticleSystem::new();
    let side = (count as f64).cbrt();
    s.add_force(Neighbours { strength: 1.0, rest: 1.0, cutoff: 1.5, damping: 0.01 })?;
    for k in 0..count {
        s.add_particle(scatter(k) * side, DVec3::ZERO, 1.0)?;
    }
    Ok(s)
}

fn chain(links: usize) -> Result<ParticleSystem, SceneError> {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G))?;
    for i in 0..=links {
        s.add_particle(DVec3::X * (0.05 * i as f64), DVec3::ZERO, 0.05)?;
    }
    s.nail(0)?;
    for i in 0..links {
        s.add_constraint(Constraint::Distance { a: i, b: i + 1, length: 0.05 })?;
    }
    Ok(s)
}

fn cloth(points: usize, stretch: f64) -> Result<ParticleSystem, SceneError> {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G))?;
    let side = 1.4;
    let corner = DVec3::new(-0.47 * side, -0.53 * side, 0.4);
    let (vertices, triangles) = grid(corner, DVec3::X * side, DVec3::Y * side, points - 1, points - 1);
    let material = ClothMaterial { stretch, shear: 0.1 * stretch, thickness: 0.01, ..ClothMaterial::default() };
    s.add_cloth(&vertices, &triangles, material)?;
    s.set_radius(0.005)?;
    s.add_obstacle(Obstacle::shape(&Geometry::Sphere { radius: 0.35 }, Pose::IDENTITY)?.with(0.4, 0.0));
    s.add_obstacle(Obstacle::plane(DVec3::Z * -0.6, DVec3::Z)?.with(0.4, 0.0));
    Ok(s)
}

fn main() -> Result<(), SceneError> {
    println!("{:<58} {:>9} {:>9} {:>9}", "CPU time of a step, ms", "mean", "worst", "target");
    show("100 000 particles, gravity, drag, a plane, Verlet", times(&mut free_particles(100_000)?, 1e-3, 300)?, 2e-3);
    let mut last = 0.0;
    for count in [10_000, 20_000, 40_000] {
        let found = times(&mut neighbours(count)?, 1e-3, 40)?;
        show(&format!("{count} particles with neighbour forces"), found, if last > 0.0 { 2.6 * last } else { 1.0 });
        last = found.0;
    }
    let mut links = chain(1000)?;
    show("chain of 1000 rods closed to 1e-9 m, h = 1/240", times(&mut links, 1.0 / 240.0, 600)?, 1e-3);
    assert!(links.constraint_error() < 1e-9);
    for stretch in [1e3, 1e5] {
        let mut sheet = cloth(50, stretch)?;
        show(
            &format!("cloth 50 x 50 on a sphere, 1/60 s, {stretch:e} N/m"),
            times(&mut sheet, 1.0 / 60.0, 240)?,
            16e-3,
        );
        assert_eq!(sheet.method(), Method::Implicit);
    }
    Ok(())
}
