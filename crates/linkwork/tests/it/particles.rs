//! Particles: forces, constraints, parametric objects and contact with solids, against closed forms.

use crate::common::{Random, assert_close, assert_near, assert_order};
use linkwork::glam::{DQuat, DVec3};
use linkwork::ode::{Adaptive, DormandPrince, Equation, Solver, Tolerance};
use linkwork::particle::{
    AngleSpring, AngleSprings, Behaviour, Bend, Bends, Buckets, Constraint, Drag, Force, Gravity, LinearSolver, Method,
    Neighbours, Obstacle, Parametric, ParticleSystem, Points, Pull, Spline, Spring, Springs,
};
use linkwork::scene::Geometry;
use linkwork::{Pose, Twist};
use std::sync::Arc;

const G: DVec3 = DVec3::new(0.0, 0.0, -9.81);

fn system(points: &[DVec3]) -> ParticleSystem {
    let mut system = ParticleSystem::new();
    for p in points {
        system.add_particle(*p, DVec3::ZERO, 1.0).unwrap();
    }
    system
}

fn run(system: &mut ParticleSystem, h: f64, steps: usize) -> f64 {
    (0..steps).map(|_| system.step(h).unwrap().constraint_error).fold(0.0, f64::max)
}

fn all_forces() -> Vec<(&'static str, Box<dyn Force>)> {
    let spring = |a, b, length| Spring { a, b, length, stiffness: 40.0, damping: 0.0 };
    vec![
        ("gravity", Box::new(Gravity(G))),
        ("springs", Box::new(Springs(vec![spring(0, 1, 0.7), spring(1, 2, 1.3), spring(3, 0, 0.2)]))),
        ("bends", Box::new(Bends(vec![Bend { a: 0, b: 1, c: 2, stiffness: 5.0, damping: 0.0 }]))),
        (
            "angles",
            Box::new(AngleSprings(vec![AngleSpring { a: 0, b: 1, c: 3, angle: 1.0, stiffness: 3.0, damping: 0.0 }])),
        ),
        ("pull", Box::new(Pull { particle: 2, to: DVec3::new(1.0, 2.0, 3.0), stiffness: 10.0, damping: 0.0 })),
        ("neighbours", Box::new(Neighbours { strength: 4.0, rest: 1.0, cutoff: 2.5, damping: 0.0 })),
        (
            "behaviour",
            Box::new(Behaviour {
                particles: vec![1, 3],
                stiffness: 7.0,
                damping: 0.0,
                function: Arc::new(|x, g| {
                    g[0] = x[1];
                    g[1] = x[0];
                    x[0].dot(x[1]) - 0.5
                }),
            }),
        ),
    ]
}

/// A spread of four particles that makes no direction special.
fn spread(seed: u64) -> Vec<DVec3> {
    let mut random = Random(seed);
    (0..4).map(|_| random.vector()).collect()
}

#[test]
fn every_force_is_the_slope_of_its_energy() {
    for (name, force) in all_forces() {
        for seed in 0..20 {
            let (x, mass) = (spread(seed), [1.0, 2.0, 0.5, 1.5]);
            let v = vec![DVec3::ZERO; 4];
            let energy = |x: &[DVec3]| force.energy(&Points { x, v: &v, mass: &mass, time: 0.0 });
            let mut f = vec![DVec3::ZERO; 4];
            force.apply(&Points { x: &x, v: &v, mass: &mass, time: 0.0 }, &mut f);
            for i in 0..4 {
                for axis in DVec3::AXES {
                    let d = 1e-5;
                    let (mut ahead, mut behind) = (x.clone(), x.clone());
                    ahead[i] += axis * d;
                    behind[i] -= axis * d;
                    let slope = (energy(&ahead) - energy(&behind)) / (2.0 * d);
                    assert_close(&format!("{name}, seed {seed}, particle {i}"), f[i].dot(axis), -slope, 1e-4);
                }
            }
        }
    }
}

#[test]
fn forces_between_particles_carry_no_momentum_away() {
    for (name, force) in all_forces().into_iter().filter(|f| !["gravity", "pull", "behaviour"].contains(&f.0)) {
        let (x, v, mass) = (spread(5), spread(6), [1.0; 4]);
        let mut f = vec![DVec3::ZERO; 4];
        force.apply(&Points { x: &x, v: &v, mass: &mass, time: 0.0 }, &mut f);
        let torque: DVec3 = x.iter().zip(&f).map(|(x, f)| x.cross(*f)).sum();
        assert_near(&format!("{name}: sum of forces"), f.iter().sum(), DVec3::ZERO, 1e-12);
        assert_near(&format!("{name}: sum of torques"), torque, DVec3::ZERO, 1e-12);
    }
}

#[test]
fn a_spring_oscillates_at_its_frequency_and_keeps_its_energy() {
    let mut s = system(&[DVec3::ZERO, DVec3::X * 1.1]);
    s.nail(0).unwrap();
    s.add_force(Springs(vec![Spring { a: 0, b: 1, length: 1.0, stiffness: 100.0, damping: 0.0 }])).unwrap();
    let energy = s.energy().total();
    // ten periods of 2π/10 s
    let h = 2.0 * std::f64::consts::PI / 10.0 / 1000.0;
    run(&mut s, h, 10_000);
    assert_near("after ten periods", s.positions()[1], DVec3::X * 1.1, 1e-5);
    let mut worst = 0.0_f64;
    for _ in 0..100_000 {
        s.step(h).unwrap();
        worst = worst.max((s.energy().total() / energy - 1.0).abs());
    }
    assert!(worst < 1e-4, "energy off by {worst:.2e} within a hundred periods");
}

#[test]
fn fall_through_air_follows_its_closed_form() {
    // v' = g − (k/m) v
    let (k, m, t) = (0.5, 2.0, 3.0);
    let exact = |t: f64| -9.81 * (m / k) * (t - (m / k) * (1.0 - (-k * t / m).exp()));
    let error = |n: usize| {
        let mut s = ParticleSystem::new();
        s.add_particle(DVec3::ZERO, DVec3::ZERO, m).unwrap();
        s.add_force(Gravity(G)).unwrap();
        s.add_force(Drag::new(k)).unwrap();
        s.set_method(Method::RungeKutta4);
        run(&mut s, t / n as f64, n);
        (s.positions()[0].z - exact(t)).abs()
    };
    assert_order("Runge-Kutta", 4.0, &[error(10), error(20), error(40)]);
}

/// n rods in a row from a nail at the origin, along +x.
fn chain(n: usize) -> ParticleSystem {
    let mut s = system(&(0..=n).map(|i| DVec3::X * (i as f64 / n as f64)).collect::<Vec<_>>());
    s.nail(0).unwrap();
    s.add_force(Gravity(G)).unwrap();
    for i in 0..n {
        s.add_constraint(Constraint::Distance { a: i, b: i + 1, length: 1.0 / n as f64 }).unwrap();
    }
    s
}

#[test]
fn rods_stay_closed_and_keep_energy_for_a_minute() {
    let mut s = chain(3);
    let start = s.energy().total();
    let (mut drift, mut worst) = (0.0_f64, 0.0_f64);
    for _ in 0..60_000 {
        worst = worst.max(s.step(0.001).unwrap().constraint_error);
        drift = drift.max((s.energy().total() - start).abs());
    }
    assert!(worst < 1e-9, "open by {worst:.2e} m");
    assert!(drift < 0.02, "energy off by {drift:.2e} J of about 20 J in motion");
    let rates: f64 = (0..3)
        .map(|i| {
            let d = (s.positions()[i] - s.positions()[i + 1]).normalize();
            d.dot(s.velocities()[i] - s.velocities()[i + 1]).abs()
        })
        .sum();
    assert!(rates < 1e-9, "velocities open the rods by {rates:.2e} m/s");
}

#[test]
fn a_pendulum_of_a_rod_has_its_period_and_rod_force() {
    let mut s = chain(1);
    let rod = s.constraints().next().unwrap().0;
    let pendulum = |h: f64| {
        let mut s = chain(1);
        run(&mut s, h, (0.5 / h).round() as usize);
        s.positions()[1]
    };
    // second order against a much finer step
    let fine = pendulum(0.5 / 65536.0);
    let errors: Vec<f64> = [64.0, 128.0, 256.0].map(|n| pendulum(0.5 / n).distance(fine)).into();
    assert_order("RATTLE", 2.0, &errors);
    // falling from level: at the bottom v² = 2 g L, and the rod carries 3 m g
    let mut lowest = (0.0, DVec3::ZERO);
    for _ in 0..2000 {
        s.step(0.0005).unwrap();
        if s.positions()[1].z < lowest.0 {
            lowest = (s.positions()[1].z, s.constraint_force(rod).unwrap());
        }
    }
    assert_near("force on the nail", lowest.1, DVec3::new(0.0, 0.0, -3.0 * 9.81), 0.05);
}

#[test]
fn redundant_rods_do_no_harm_with_either_solver() {
    for solver in [LinearSolver::ConjugateGradients, LinearSolver::Direct] {
        // a cube with all its diagonals: 28 rods for 24 − 6 freedoms, hung by a corner
        let corners: Vec<DVec3> =
            (0..8).map(|k| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2 & 1) as f64)).collect();
        let mut s = system(&corners);
        s.set_linear_solver(solver);
        s.nail(0).unwrap();
        s.add_force(Gravity(G)).unwrap();
        for a in 0..8 {
            for b in 0..a {
                s.add_constraint(Constraint::Distance { a, b, length: corners[a].distance(corners[b]) }).unwrap();
            }
        }
        let energy = s.energy().total();
        let error = run(&mut s, 0.002, 1000);
        assert!(error < 1e-9, "{solver:?}: {error:.2e} m");
        assert_close(&format!("{solver:?}: energy"), s.energy().total(), energy, 0.02);
    }
}

#[test]
fn the_two_solvers_agree() {
    let end = |solver| {
        let mut s = chain(12);
        s.set_linear_solver(solver);
        run(&mut s, 0.002, 200);
        s.positions()[12]
    };
    assert_near("end", end(LinearSolver::ConjugateGradients), end(LinearSolver::Direct), 1e-6);
}

#[test]
fn constraints_come_and_go_while_running() {
    let mut s = chain(2);
    run(&mut s, 0.001, 100);
    let last = s.constraints().last().unwrap().0;
    assert!(s.remove_constraint(last));
    assert!(!s.remove_constraint(last));
    let (x, v) = (s.positions()[2], s.velocities()[2]);
    run(&mut s, 0.001, 200);
    assert_near("free flight", s.positions()[2], x + v * 0.2 + G * 0.02, 1e-9);
    s.add_constraint(Constraint::Nail { a: 2, at: DVec3::new(1.0, 0.0, -1.0) }).unwrap();
    let report = s.step(0.001).unwrap();
    assert!(report.constraint_error < 1e-9, "{:.2e}", report.constraint_error);
}

#[test]
fn points_stay_on_their_curves_and_surfaces() {
    let spline = Arc::new(
        Spline::new(
            vec![DVec3::ZERO, DVec3::new(1.0, 0.0, -0.5), DVec3::new(2.0, 0.5, -0.2), DVec3::new(3.0, 0.0, 0.3)],
            false,
        )
        .unwrap(),
    );
    let torus = |p: DVec3| {
        let ring = p.x.hypot(p.y);
        let away = DVec3::new(p.x * (1.0 - 1.0 / ring), p.y * (1.0 - 1.0 / ring), p.z);
        (away.length() - 0.3, away / away.length())
    };
    let cases: Vec<(&str, DVec3, Constraint)> = vec![
        ("line", DVec3::ZERO, Constraint::OnLine { a: 0, point: DVec3::ZERO, direction: DVec3::new(1.0, 2.0, -1.0) }),
        ("plane", DVec3::ZERO, Constraint::OnPlane { a: 0, point: DVec3::ZERO, normal: DVec3::new(1.0, 1.0, 1.0) }),
        (
            "circle",
            DVec3::X,
            Constraint::OnCircle { a: 0, center: DVec3::ZERO, normal: DVec3::new(0.0, 1.0, 0.3), radius: 1.0 },
        ),
        ("sphere", DVec3::X, Constraint::OnSphere { a: 0, center: DVec3::ZERO, radius: 1.0 }),
        ("spline", DVec3::new(0.3, 0.0, -0.2), Constraint::OnSpline { a: 0, spline }),
        ("torus", DVec3::new(1.3, 0.0, 0.0), Constraint::OnSurface { a: 0, surface: Arc::new(torus) }),
    ];
    for (name, start, constraint) in cases {
        let mut s = system(&[start]);
        s.add_force(Gravity(G)).unwrap();
        s.add_constraint(constraint).unwrap();
        s.step(1e-3).unwrap();
        s.set_velocity(0, DVec3::ZERO).unwrap();
        let energy = s.energy().total();
        let error = run(&mut s, 1e-3, 1000);
        assert!(error < 1e-9, "{name}: off by {error:.2e} m");
        assert_close(&format!("{name}: energy"), s.energy().total(), energy, 2e-3);
    }
}

/// A bead on a circular wire, as a point with one coordinate.
struct Ring;

impl Parametric for Ring {
    fn coordinates(&self) -> usize {
        1
    }
    fn place(&self, u: &[f64], x: &mut [DVec3]) {
        x[0] = DVec3::new(u[0].cos(), 0.0, u[0].sin());
    }
}

#[test]
fn a_bead_on_a_wire_is_the_same_implicit_and_parametric() {
    let mut held = system(&[DVec3::X]);
    held.add_force(Gravity(G)).unwrap();
    held.add_constraint(Constraint::OnCircle { a: 0, center: DVec3::ZERO, normal: DVec3::Y, radius: 1.0 }).unwrap();
    held.set_method(Method::RungeKutta4);
    let mut parametric = ParticleSystem::new();
    parametric.add_force(Gravity(G)).unwrap();
    let bead = parametric.add_parametric(Arc::new(Ring), &[1.0], &[0.0], &[0.0]).unwrap();
    for _ in 0..2000 {
        held.step(1e-3).unwrap();
        parametric.step(1e-3).unwrap();
        assert_near("bead", held.positions()[0], parametric.positions()[0], 1e-8);
        assert_near("its velocity", held.velocities()[0], parametric.velocities()[0], 1e-7);
    }
    assert!(parametric.parametric(bead).unwrap().1[0].abs() > 0.1);
    // and with an error-controlled solver of ode, both again
    let mut solver = DormandPrince::new(Tolerance::new(1e-11)).unwrap();
    solver.integrate(&mut held, 4.0).unwrap();
    let mut solver = DormandPrince::new(Tolerance::new(1e-11)).unwrap();
    solver.integrate(&mut parametric, 4.0).unwrap();
    assert_near("bead after 4 s", held.positions()[0], parametric.positions()[0], 1e-6);
}

/// How far a bead held on a circle and one with an angle are apart after 2 s of Runge–Kutta steps, each against the truth.
fn bead_errors(steps: usize) -> [f64; 2] {
    let truth = {
        // θ̈ = −g cos θ, to rounding
        let mut angle = Equation::new([0.0, 0.0], |_, y, dy| {
            dy[0] = y[1];
            dy[1] = -9.81 * y[0].cos();
        });
        DormandPrince::new(Tolerance::new(1e-13)).unwrap().integrate(&mut angle, 2.0).unwrap();
        let u = angle.values()[0];
        DVec3::new(u.cos(), 0.0, u.sin())
    };
    let mut held = system(&[DVec3::X]);
    held.add_force(Gravity(G)).unwrap();
    held.add_constraint(Constraint::OnCircle { a: 0, center: DVec3::ZERO, normal: DVec3::Y, radius: 1.0 }).unwrap();
    held.set_method(Method::RungeKutta4);
    let mut parametric = ParticleSystem::new();
    parametric.add_force(Gravity(G)).unwrap();
    parametric.add_parametric(Arc::new(Ring), &[1.0], &[0.0], &[0.0]).unwrap();
    for _ in 0..steps {
        held.step(2.0 / steps as f64).unwrap();
        parametric.step(2.0 / steps as f64).unwrap();
    }
    [held.positions()[0].distance(truth), parametric.positions()[0].distance(truth)]
}

#[test]
fn both_beads_converge_with_fourth_order_to_the_same_motion() {
    let errors = [60, 120, 240].map(bead_errors);
    assert_order("held by a multiplier", 4.0, &errors.map(|e| e[0]));
    assert_order("by its angle", 4.0, &errors.map(|e| e[1]));
}

/// A chain of n rods by its angles.
struct Pendulum(usize);

impl Parametric for Pendulum {
    fn coordinates(&self) -> usize {
        self.0
    }
    fn place(&self, u: &[f64], x: &mut [DVec3]) {
        let mut at = DVec3::ZERO;
        for (x, u) in x.iter_mut().zip(u) {
            at += DVec3::new(u.cos(), 0.0, u.sin()) / self.0 as f64;
            *x = at;
        }
    }
}

#[test]
fn a_triple_pendulum_is_the_same_by_rods_and_by_angles() {
    let mut rods = chain(3);
    let mut angles = ParticleSystem::new();
    angles.add_force(Gravity(G)).unwrap();
    angles.add_parametric(Arc::new(Pendulum(3)), &[1.0; 3], &[0.0; 3], &[0.0; 3]).unwrap();
    rods.set_method(Method::RungeKutta4);
    let start = angles.energy().total();
    for _ in 0..1000 {
        rods.step(1e-3).unwrap();
        angles.step(1e-3).unwrap();
    }
    assert_near("end", rods.positions()[3], angles.positions()[2], 1e-6);
    assert_close("energy", angles.energy().total(), start, 1e-6);
}

#[test]
fn parametric_objects_and_rods_join_into_one_model() {
    // a bead on a ring carries a rod: against two constraints
    let mut hybrid = ParticleSystem::new();
    hybrid.add_force(Gravity(G)).unwrap();
    hybrid.add_parametric(Arc::new(Ring), &[1.0], &[0.0], &[0.0]).unwrap();
    hybrid.add_particle(DVec3::X * 2.0, DVec3::ZERO, 1.0).unwrap();
    hybrid.add_constraint(Constraint::Distance { a: 0, b: 1, length: 1.0 }).unwrap();
    let mut held = system(&[DVec3::X, DVec3::X * 2.0]);
    held.add_force(Gravity(G)).unwrap();
    held.add_constraint(Constraint::OnCircle { a: 0, center: DVec3::ZERO, normal: DVec3::Y, radius: 1.0 }).unwrap();
    held.add_constraint(Constraint::Distance { a: 0, b: 1, length: 1.0 }).unwrap();
    held.set_method(Method::RungeKutta4);
    for _ in 0..1000 {
        assert!(hybrid.step(1e-3).unwrap().constraint_error < 1e-9);
        held.step(1e-3).unwrap();
    }
    assert_near("bead", hybrid.positions()[0], held.positions()[0], 1e-6);
    assert_near("load", hybrid.positions()[1], held.positions()[1], 1e-6);
}

#[test]
fn a_scripted_particle_drags_a_chain_along() {
    let mut s = chain(4);
    s.script(0, |t| DVec3::new(0.0, 0.2 * (3.0 * t).sin(), 0.0)).unwrap();
    let error = run(&mut s, 0.002, 1000);
    assert!(error < 1e-9);
    assert_near("its start", s.positions()[0], DVec3::Y * 0.2 * 6.0_f64.sin(), 1e-9);
}

#[test]
fn particles_find_the_same_pairs_as_brute_force() {
    let mut random = Random(3);
    let points: Vec<DVec3> = (0..500).map(|_| random.vector() * 3.0).collect();
    for width in [0.2, 0.7, 2.0] {
        let mut buckets = Buckets::default();
        buckets.sort(&points, width);
        let mut found = Vec::new();
        buckets.pairs(&points, |i, j| found.push((i.min(j), i.max(j))));
        found.sort_unstable();
        let mut expected = Vec::new();
        for i in 0..points.len() {
            for j in i + 1..points.len() {
                if points[i].distance(points[j]) <= width {
                    expected.push((i, j));
                }
            }
        }
        assert_eq!(found, expected, "width {width}");
        let mut near = Vec::new();
        buckets.near(&points, points[7], |i| near.push(i));
        near.sort_unstable();
        let brute: Vec<usize> = (0..points.len()).filter(|&i| points[i].distance(points[7]) <= width).collect();
        assert_eq!(near, brute);
    }
}

#[test]
fn particles_bounce_on_a_plane_to_the_height_of_their_restitution() {
    let mut s = system(&[DVec3::Z]);
    s.add_force(Gravity(G)).unwrap();
    s.add_obstacle(Obstacle::plane(DVec3::ZERO, DVec3::Z).unwrap().with(0.0, 0.8));
    let mut heights = Vec::new();
    let mut rising = 0.0;
    for _ in 0..30_000 {
        s.step(1e-4).unwrap();
        assert!(s.positions()[0].z >= -1e-12);
        let v = s.velocities()[0].z;
        if rising > 0.0 && v <= 0.0 {
            heights.push(s.positions()[0].z);
        }
        rising = v;
    }
    for (k, h) in heights.iter().take(4).enumerate() {
        assert_close("height of a bounce", *h, 0.64_f64.powi(k as i32 + 1), 2e-3);
    }
}

#[test]
fn friction_holds_below_its_cone_and_lets_slide_above() {
    let slope = |mu: f64, angle: f64| {
        let normal = DVec3::new(-angle.sin(), 0.0, angle.cos());
        let mut s = system(&[normal * 0.1]);
        s.set_radius(0.1).unwrap();
        s.add_force(Gravity(G)).unwrap();
        s.add_obstacle(Obstacle::plane(DVec3::ZERO, normal).unwrap().with(mu, 0.0));
        run(&mut s, 1e-3, 1000);
        let down = DVec3::new(-angle.cos(), 0.0, -angle.sin());
        (s.positions()[0] - normal * 0.1).dot(down)
    };
    assert!(slope(0.6, 0.5).abs() < 1e-6, "tan 0.5 = 0.546: holds, moved {:.2e} m", slope(0.6, 0.5));
    let (mu, angle) = (0.3, 0.5_f64);
    assert_close("slides", slope(mu, angle), 0.5 * 9.81 * (angle.sin() - mu * angle.cos()), 5e-3);
}

fn shapes() -> Vec<(&'static str, Geometry)> {
    let tetrahedron = vec![[0.5, 0.5, 0.5], [0.5, -0.5, -0.5], [-0.5, 0.5, -0.5], [-0.5, -0.5, 0.5]];
    vec![
        ("sphere", Geometry::Sphere { radius: 0.5 }),
        ("box", Geometry::Box { size: [1.0, 0.6, 0.4] }),
        ("capsule", Geometry::Capsule { radius: 0.3, length: 0.5 }),
        ("cylinder", Geometry::Cylinder { radius: 0.4, length: 0.8 }),
        ("cone", Geometry::Cone { radius: 0.5, length: 0.8 }),
        ("hull", Geometry::ConvexHull { points: tetrahedron.clone() }),
        ("mesh", Geometry::Mesh { vertices: tetrahedron, triangles: vec![[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]] }),
        (
            "terrain",
            Geometry::HeightField {
                heights: vec![vec![0.0, 0.1, 0.0], vec![0.1, 0.3, 0.0], vec![0.0; 3]],
                size: [2.0, 2.0],
            },
        ),
        ("plane", Geometry::Plane),
    ]
}

#[test]
fn nothing_passes_into_any_shape_however_fast_and_however_it_moves() {
    for (name, geometry) in shapes() {
        let mut random = Random(11);
        let pose = Pose { position: DVec3::new(0.1, -0.2, 0.0), orientation: DQuat::from_rotation_x(0.2) };
        let mut obstacle = Obstacle::shape(&geometry, pose).unwrap().with(0.3, 0.2);
        obstacle.velocity = Twist { linear: DVec3::new(0.3, 0.0, 0.2), angular: DVec3::new(0.0, 0.0, 1.0) };
        let mut s = ParticleSystem::new();
        for _ in 0..300 {
            let from = DVec3::new(random.between(-0.9, 0.9), random.between(-0.9, 0.9), random.between(1.2, 2.0));
            s.add_particle(from, DVec3::new(0.0, 0.0, -random.between(1.0, 400.0)), 0.1).unwrap();
        }
        s.set_radius(0.02).unwrap();
        s.add_force(Gravity(G)).unwrap();
        let k = s.add_obstacle(obstacle);
        let mut contacts = 0;
        let mut last: Vec<DVec3> = s.positions().iter().map(|x| pose.to_local(*x)).collect();
        for step in 0..120 {
            contacts += s.step(1.0 / 120.0).unwrap().contacts;
            let pose = s.obstacle_mut(k).unwrap().pose;
            for (i, x) in s.positions().iter().enumerate() {
                let p = pose.to_local(*x);
                let before = std::mem::replace(&mut last[i], p);
                // terrain has an edge to fall over: only what was above it must stay there
                let terrain = matches!(geometry, Geometry::HeightField { .. });
                let above = before.x.abs().max(before.y.abs()) < 0.95 && depth_in(&geometry, before) < 5e-3;
                if terrain && !above {
                    continue;
                }
                let depth = depth_in(&geometry, p);
                // the solid turns within a step: its surface is met to the order of that
                assert!(depth < 5e-3, "{name}, step {step}: particle {i} is {depth:.2e} m inside");
            }
        }
        assert!(contacts > 20, "{name}: {contacts} contacts");
    }
}

/// How deep a point is inside a shape, by its definition.
fn depth_in(geometry: &Geometry, p: DVec3) -> f64 {
    let rho = p.x.hypot(p.y);
    match geometry {
        Geometry::Sphere { radius } => radius - p.length(),
        Geometry::Box { size } => (DVec3::from(*size) * 0.5 - p.abs()).min_element(),
        Geometry::Capsule { radius, length } => {
            radius - (p - DVec3::Z * p.z.clamp(-0.5 * length, 0.5 * length)).length()
        }
        Geometry::Cylinder { radius, length } => (radius - rho).min(0.5 * length - p.z.abs()),
        Geometry::Cone { radius, length } => {
            let side = (radius * (0.5 - p.z / length) - rho) * length / radius.hypot(*length);
            side.min(p.z + 0.5 * length)
        }
        // the tetrahedron of the tests: its faces are ±x ±y ±z ≤ 1/2 with an odd number of minus signs … all four
        Geometry::ConvexHull { .. } | Geometry::Mesh { .. } => {
            let faces = [[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]];
            faces.map(|n| (0.5 - DVec3::from(n).dot(p)) / 3.0_f64.sqrt()).into_iter().fold(f64::INFINITY, f64::min)
        }
        Geometry::Plane => -p.z,
        Geometry::HeightField { .. } => {
            if p.x.abs() > 1.0 || p.y.abs() > 1.0 {
                return -1.0;
            }
            terrain_height(p.x, p.y) - p.z
        }
    }
}

/// The terrain of the tests: two triangles a cell, split along the rising diagonal.
fn terrain_height(x: f64, y: f64) -> f64 {
    let heights = [[0.0, 0.1, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.0]];
    let (u, v) = ((x + 1.0).clamp(0.0, 1.999_999), (y + 1.0).clamp(0.0, 1.999_999));
    let (j, i) = (u.floor() as usize, v.floor() as usize);
    let (u, v) = (u - j as f64, v - i as f64);
    let (a, b, c, d) = (heights[i][j], heights[i][j + 1], heights[i + 1][j + 1], heights[i + 1][j]);
    if u > v { a + (b - a) * u + (c - b) * v } else { a + (c - d) * u + (d - a) * v }
}

#[test]
fn a_system_is_its_own_equation_for_any_solver() {
    let mut s = chain(2);
    linkwork::ode::RungeKutta4::default().run(&mut s, 0.5, 1e-3).unwrap();
    let mut stepped = chain(2);
    stepped.set_method(Method::RungeKutta4);
    run(&mut stepped, 1e-3, 500);
    assert_near("end", s.positions()[2], stepped.positions()[2], 1e-6);
    assert!(s.constraint_error() < 1e-6, "feedback holds drift at {:.2e}", s.constraint_error());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let mut s = system(&[DVec3::ZERO, DVec3::X]);
    let told = |e: Result<(), linkwork::SceneError>| e.unwrap_err().to_string();
    assert!(told(s.add_particle(DVec3::NAN, DVec3::ZERO, 1.0).map(drop)).starts_with("particles[2].position"));
    assert!(told(s.add_particle(DVec3::ZERO, DVec3::ZERO, -1.0).map(drop)).contains("-1 kg"));
    assert!(told(s.nail(7)).contains("particles[7]"));
    let spring = Spring { a: 0, b: 9, length: 1.0, stiffness: 1.0, damping: 0.0 };
    assert!(told(s.add_force(Springs(vec![spring])).map(drop)).contains("particles[9]"));
    let rod = |a, b, length| Constraint::Distance { a, b, length };
    assert!(told(s.add_constraint(rod(0, 5, 1.0)).map(drop)).contains("particles[5]"));
    assert!(told(s.add_constraint(rod(0, 1, -2.0)).map(drop)).contains("-2 m"));
    assert!(told(s.add_constraint(rod(1, 1, 1.0)).map(drop)).contains("itself"));
    assert!(told(s.step(f64::NAN).map(drop)).contains("dt"));
    assert!(Obstacle::plane(DVec3::ZERO, DVec3::ZERO).is_err());
    assert!(Obstacle::shape(&Geometry::Sphere { radius: -1.0 }, Pose::IDENTITY).is_err());
    assert!(Spline::new(vec![DVec3::ZERO], false).is_none());
    // an explosion is refused, not shown
    let stiff = Spring { a: 0, b: 1, length: 0.5, stiffness: 1e300, damping: 0.0 };
    s.add_force(Springs(vec![stiff])).unwrap();
    let before = s.positions().to_vec();
    let failed = (0..50).find_map(|_| s.step(1.0).err()).expect("leaves the range of numbers");
    assert!(failed.to_string().contains("range of numbers"), "{failed}");
    assert_eq!(before.len(), s.positions().len());
    assert!(s.positions().iter().all(|x| x.is_finite()));
}
