//! Systems of particles by themselves, measured like scenes: `linkwork bench particles`.

use super::cases::Target;
use super::measure::{Measured, Spread};
use crate::args::BenchOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::record::StepTimes;
use crate::time::Stopwatch;
use linkwork::glam::DVec3;
use linkwork::particle::{ClothMaterial, Constraint, Drag, Gravity, Neighbours, Obstacle, ParticleSystem, grid};
use linkwork::scene::Geometry;
use linkwork::{Pose, SceneError};

/// The name under which all of them are asked for.
pub const NAME: &str = "particles";

const G: DVec3 = DVec3::new(0.0, 0.0, -9.81);

/// A system to be measured.
pub struct SystemCase {
    /// Its kind and size on one line.
    pub label: &'static str,
    build: fn() -> Result<ParticleSystem, SceneError>,
    dt: f64,
    steps: u64,
    targets: &'static [Target],
}

/// All of them.
pub const SYSTEMS: &[SystemCase] = &[
    SystemCase {
        label: "particles free=100000",
        build: || free(100_000),
        dt: 1e-3,
        steps: 200,
        targets: &[Target::StepTime(2.0)],
    },
    SystemCase { label: "particles neighbours=10000", build: || neighbours(10_000), dt: 1e-3, steps: 40, targets: &[] },
    SystemCase { label: "particles neighbours=40000", build: || neighbours(40_000), dt: 1e-3, steps: 40, targets: &[] },
    SystemCase {
        label: "particles links=1000",
        build: || chain(1000),
        dt: 1.0 / 240.0,
        steps: 480,
        targets: &[Target::JointError(1e-9), Target::StepTime(1.0)],
    },
    SystemCase {
        label: "particles cloth=50 stretch=1e3",
        build: || cloth(50, 1e3),
        dt: 1.0 / 60.0,
        steps: 240,
        targets: &[Target::StepTime(16.0)],
    },
    SystemCase {
        label: "particles cloth=50 stretch=1e5",
        build: || cloth(50, 1e5),
        dt: 1.0 / 60.0,
        steps: 240,
        targets: &[Target::StepTime(16.0)],
    },
];

/// Measures a system; `None` if the user does not want to wait.
pub fn measure(case: &SystemCase, options: &BenchOptions) -> Result<Option<Measured>, Failure> {
    let told = |error: SceneError| Failure::failed(format!("{}: {error}", case.label), "");
    let mut progress = Progress::start(case.steps * u64::from(options.repeats), options.quiet);
    progress.name(case.label);
    let (mut wall, mut cpu, mut error, mut iterations) = (Vec::new(), Vec::new(), 0.0_f64, 0_u64);
    let mut ends: Vec<Vec<DVec3>> = Vec::new();
    let mut count = 0;
    for repeat in 0..u64::from(options.repeats) {
        let mut system = (case.build)().map_err(told)?;
        let mut times = StepTimes::default();
        for step in 0..case.steps {
            if interrupt::requested() {
                progress.finish();
                return Ok(None);
            }
            let watch = Stopwatch::start();
            let report = system.step(case.dt).map_err(told)?;
            times.add(watch.elapsed());
            error = error.max(report.constraint_error);
            iterations += u64::from(report.iterations + report.constraint_iterations);
            progress.show(repeat * case.steps + step + 1, error);
        }
        wall.push(times.wall_ms().median);
        cpu.push(times.median_cpu_ms());
        ends.push(system.positions().to_vec());
        count = system.len();
    }
    progress.finish();
    let rows = (case.build)().map_err(told)?.constraints().count();
    let measured = Measured::of_times(case.label, NAME, Spread::of(wall), Spread::of(cpu));
    Ok(Some(Measured {
        targets: case.targets,
        dt: case.dt,
        steps: case.steps,
        bodies: count,
        // where nothing is held, times are compared by the number of particles
        rows: if rows > 0 { rows } else { count },
        joint_error_m: error,
        joint_iterations: iterations as f64 / (case.steps * u64::from(options.repeats)) as f64,
        deterministic: ends.windows(2).all(|pair| pair[0] == pair[1]),
        ..measured
    }))
}

/// Numbers that look random and are the same everywhere.
fn scatter(k: usize) -> DVec3 {
    let part = |s: f64| (k as f64 * s).fract() - 0.5;
    DVec3::new(part(0.754_877_666_246_693), part(0.569_840_290_998_053), part(0.362_998_031_902_71))
}

/// Gravity, drag, a plane.
fn free(count: usize) -> Result<ParticleSystem, SceneError> {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G))?;
    s.add_force(Drag::new(0.01))?;
    s.add_obstacle(Obstacle::plane(DVec3::ZERO, DVec3::Z)?.with(0.3, 0.5));
    for k in 0..count {
        s.add_particle(scatter(k) * 10.0 + DVec3::Z * 6.0, scatter(k + 7), 0.1)?;
    }
    Ok(s)
}

/// Each pushed and pulled by those near it.
fn neighbours(count: usize) -> Result<ParticleSystem, SceneError> {
    let mut s = ParticleSystem::new();
    let side = (count as f64).cbrt();
    s.add_force(Neighbours { strength: 1.0, rest: 1.0, cutoff: 1.5, damping: 0.01 })?;
    for k in 0..count {
        s.add_particle(scatter(k) * side, DVec3::ZERO, 1.0)?;
    }
    Ok(s)
}

/// Rods end to end, which swing down.
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

/// A square of `points` × `points` that falls over a sphere and folds.
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
