//! Implicit steps, cloth and its collisions, against closed forms, finer meshes and brute force.

use crate::common::{assert_close, assert_near, assert_order};
use linkwork::Pose;
use linkwork::glam::{DQuat, DVec3};
use linkwork::particle::{
    Bend, Bends, ClothMaterial, Constraint, Drag, Gravity, Method, Obstacle, ParticleSystem, Spring, Springs, grid,
};
use linkwork::scene::Geometry;

const G: DVec3 = DVec3::new(0.0, 0.0, -9.81);

#[test]
fn implicit_steps_converge_to_a_damped_oscillation() {
    // m x'' = −k x − c x', k = 100, c = 2, m = 1
    let error = |n: usize| {
        let mut s = ParticleSystem::new();
        s.add_particle(DVec3::ZERO, DVec3::ZERO, 1.0).unwrap();
        s.add_particle(DVec3::X * 1.1, DVec3::ZERO, 1.0).unwrap();
        s.nail(0).unwrap();
        s.add_force(Springs(vec![Spring { a: 0, b: 1, length: 1.0, stiffness: 100.0, damping: 2.0 }])).unwrap();
        s.set_method(Method::Implicit);
        for _ in 0..n {
            s.step(0.5 / n as f64).unwrap();
        }
        let (w, t) = (99.0_f64.sqrt(), 0.5_f64);
        let exact = 0.1 * (-t).exp() * ((w * t).cos() + (w * t).sin() / w);
        (s.positions()[1].x - 1.0 - exact).abs()
    };
    assert_order("backward Euler", 1.0, &[error(2000), error(4000), error(8000)]);
}

/// A square net of springs, hung by two corners.
fn net(n: usize, stiffness: f64, method: Method) -> ParticleSystem {
    let mut s = ParticleSystem::new();
    let at = |i: usize, j: usize| i * (n + 1) + j;
    for i in 0..=n {
        for j in 0..=n {
            s.add_particle(DVec3::new(j as f64, i as f64, 0.0) / n as f64, DVec3::ZERO, 0.01).unwrap();
        }
    }
    let mut springs = Vec::new();
    let mut add = |a: usize, b: usize, length: f64| {
        springs.push(Spring { a, b, length: length / n as f64, stiffness, damping: 1e-4 * stiffness })
    };
    for i in 0..=n {
        for j in 0..=n {
            if j < n {
                add(at(i, j), at(i, j + 1), 1.0);
            }
            if i < n {
                add(at(i, j), at(i + 1, j), 1.0);
            }
            if i < n && j < n {
                add(at(i, j), at(i + 1, j + 1), 2.0_f64.sqrt());
                add(at(i, j + 1), at(i + 1, j), 2.0_f64.sqrt());
            }
        }
    }
    s.add_force(Springs(springs)).unwrap();
    s.add_force(Gravity(G)).unwrap();
    s.add_force(Drag::new(0.002)).unwrap();
    s.nail(at(n, 0)).unwrap();
    s.nail(at(n, n)).unwrap();
    s.set_method(method);
    s
}

#[test]
fn a_stiff_net_explodes_explicitly_and_rests_implicitly() {
    let mut explicit = net(10, 1e6, Method::Verlet);
    let exploded = (0..600).any(|_| explicit.step(1.0 / 60.0).is_err() || explicit.energy().kinetic > 1e6);
    assert!(exploded, "1e6 N/m at 1/60 s is beyond any explicit step");
    for stiffness in [1e3, 1e6, 1e9] {
        let mut s = net(10, stiffness, Method::Implicit);
        let most = (0..1200)
            .map(|_| {
                s.step(1.0 / 60.0).unwrap();
                s.energy().kinetic
            })
            .fold(0.0, f64::max);
        assert!(most < 10.0, "{stiffness} N/m: {most} J");
        let speed = s.velocities().iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(speed < 0.05, "{stiffness} N/m: still {speed} m/s after 20 s");
        // forces balance at rest: what the nails carry is the weight, seen by the net's own equilibrium
        let lowest = s.positions().iter().map(|x| x.z).fold(0.0, f64::min);
        assert!(lowest < -0.4, "{stiffness} N/m: it hangs, {lowest} m");
    }
}

#[test]
fn ropes_take_the_direct_solver_and_hang_as_catenaries() {
    let (n, length, span) = (100, 2.0_f64, 1.2_f64);
    let mut s = ParticleSystem::new();
    // two straight halves of the right length
    let depth = (0.25 * (length * length - span * span)).sqrt();
    for i in 0..=n {
        let part = i as f64 / n as f64;
        let z = -depth * (1.0 - (2.0 * part - 1.0).abs());
        s.add_particle(DVec3::new(span * part, 0.0, z), DVec3::ZERO, 0.01).unwrap();
    }
    let piece = length / n as f64;
    let spring = |i| Spring { a: i, b: i + 1, length: piece, stiffness: 1e7, damping: 10.0 };
    s.add_force(Springs((0..n).map(spring).collect())).unwrap();
    s.add_force(Bends((1..n).map(|i| Bend { a: i - 1, b: i, c: i + 1, stiffness: 1e-3, damping: 0.0 }).collect()))
        .unwrap();
    s.add_force(Gravity(G)).unwrap();
    s.add_force(Drag::new(0.02)).unwrap();
    s.nail(0).unwrap();
    s.nail(n).unwrap();
    s.set_method(Method::Implicit);
    let mut iterations = 0;
    for _ in 0..3000 {
        iterations += s.step(1.0 / 60.0).unwrap().iterations;
    }
    assert_eq!(iterations, 3000, "one factorisation a step");
    // 2 a sinh(span / 2a) = length
    let mut a = 0.3;
    for _ in 0..50 {
        let f = 2.0 * a * (span / (2.0 * a)).sinh() - length;
        let d = 2.0 * (span / (2.0 * a)).sinh() - span / a * (span / (2.0 * a)).cosh();
        a -= f / d;
    }
    let sag = a * ((span / (2.0 * a)).cosh() - 1.0);
    let lowest = s.positions().iter().map(|x| x.z).fold(0.0, f64::min);
    assert_close("sag", -lowest, sag, 2e-3);
}

#[test]
fn implicit_steps_keep_hard_constraints_closed() {
    // a row of rods, held up by stiff springs
    let n = 20;
    let mut s = ParticleSystem::new();
    for i in 0..=n {
        s.add_particle(DVec3::X * (i as f64 * 0.1), DVec3::ZERO, 0.1).unwrap();
    }
    s.nail(0).unwrap();
    for i in 0..n {
        s.add_constraint(Constraint::Distance { a: i, b: i + 1, length: 0.1 }).unwrap();
    }
    s.add_force(Gravity(G)).unwrap();
    s.add_force(Bends((1..n).map(|i| Bend { a: i - 1, b: i, c: i + 1, stiffness: 1e5, damping: 10.0 }).collect()))
        .unwrap();
    s.set_method(Method::Implicit);
    for _ in 0..300 {
        let report = s.step(1.0 / 60.0).unwrap();
        assert!(report.constraint_error < 1e-9, "{:.2e} m", report.constraint_error);
        assert!(s.energy().kinetic < 1e3);
    }
}

/// A strip hung by its upper edge: length after all motion is damped away.
fn hung_strip(cells: usize, material: ClothMaterial) -> f64 {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G)).unwrap();
    let (vertices, triangles) = grid(DVec3::ZERO, DVec3::X * 0.5, DVec3::Z * -1.0, cells / 2, cells);
    s.add_cloth(&vertices, &triangles, material).unwrap();
    for i in 0..=cells / 2 {
        s.nail(i).unwrap();
    }
    for _ in 0..400 {
        s.step(0.05).unwrap();
    }
    -s.positions().iter().map(|x| x.z).fold(0.0, f64::min) - 1.0
}

#[test]
fn hung_cloth_stretches_as_its_weight_says_on_every_mesh() {
    let material = ClothMaterial { stretch: 100.0, self_collision: false, damping: 0.05, ..ClothMaterial::default() };
    // d(stretch)/dz = density g z / k: half of what the whole weight would do
    let exact = 0.5 * material.density * 9.81 / material.stretch;
    for cells in [4, 8, 16] {
        let found = hung_strip(cells, material);
        assert_close(&format!("{cells} cells"), found, exact, 0.12 * exact);
    }
    let (coarse, fine) = (hung_strip(8, material), hung_strip(16, material));
    assert_close("coarse and fine", coarse, fine, 0.03 * fine);
}

#[test]
fn a_clamped_strip_bends_as_a_plate_does() {
    // a cantilever under its weight: deflection w L⁴ / 8 D, for small ones
    let (length, bend) = (0.2, 1e-3);
    let material = ClothMaterial {
        bend,
        density: 0.01,
        stretch: 1e4,
        shear: 1e4,
        air: 0.0,
        damping: 0.1,
        self_collision: false,
        ..ClothMaterial::default()
    };
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G)).unwrap();
    let (columns, rows) = (20, 2);
    let (vertices, triangles) = grid(DVec3::ZERO, DVec3::X * length, DVec3::Y * 0.02, columns, rows);
    s.add_cloth(&vertices, &triangles, material).unwrap();
    for i in 0..=rows {
        s.nail(i * (columns + 1)).unwrap();
        s.nail(i * (columns + 1) + 1).unwrap();
    }
    for _ in 0..600 {
        s.step(0.02).unwrap();
    }
    // the clamped column bends half a cell back
    let free = length * (1.0 - 0.5 / columns as f64);
    let expected = 0.01 * 9.81 * free.powi(4) / (8.0 * bend);
    let found = -s.positions()[columns].z;
    assert!((found / expected - 1.0).abs() < 0.25, "deflection {found:.5} m, plate {expected:.5} m");
}

fn layers_crossed(x: &[DVec3], triangles: &[[u32; 3]]) -> usize {
    let mut edges: Vec<[u32; 2]> = Vec::new();
    for t in triangles {
        for k in 0..3 {
            edges.push([t[k].min(t[(k + 1) % 3]), t[k].max(t[(k + 1) % 3])]);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut crossed = 0;
    for e in &edges {
        for t in triangles.iter().filter(|t| !t.contains(&e[0]) && !t.contains(&e[1])) {
            let [a, b, c] = t.map(|i| x[i as usize]);
            let (p, d) = (x[e[0] as usize], x[e[1] as usize] - x[e[0] as usize]);
            let (u, v) = (b - a, c - a);
            let q = d.cross(v);
            let determinant = u.dot(q);
            if determinant.abs() < 1e-14 {
                continue;
            }
            let w = p - a;
            let s = w.dot(q) / determinant;
            let r = w.cross(u);
            let (t, at) = (d.dot(r) / determinant, v.dot(r) / determinant);
            if s > 1e-6 && t > 1e-6 && s + t < 1.0 - 1e-6 && at > 1e-6 && at < 1.0 - 1e-6 {
                crossed += 1;
            }
        }
    }
    crossed
}

#[test]
fn cloth_drapes_over_a_sphere_without_passing_it_or_itself() {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G)).unwrap();
    let n = 20;
    let (vertices, triangles) = grid(DVec3::new(-0.5, -0.5, 0.31), DVec3::X, DVec3::Y, n, n);
    s.add_cloth(&vertices, &triangles, ClothMaterial { thickness: 0.01, ..ClothMaterial::default() }).unwrap();
    s.set_radius(0.005).unwrap();
    s.add_obstacle(Obstacle::shape(&Geometry::Sphere { radius: 0.3 }, Pose::IDENTITY).unwrap().with(0.5, 0.0));
    s.add_obstacle(Obstacle::plane(DVec3::Z * -0.6, DVec3::Z).unwrap().with(0.5, 0.0));
    for step in 0..300 {
        s.step(1.0 / 60.0).unwrap();
        let nearest = s.positions().iter().map(|x| x.length()).fold(f64::INFINITY, f64::min);
        assert!(nearest > 0.3, "step {step}: a vertex is {:.2e} m inside the sphere", 0.3 - nearest);
        if step % 50 == 49 {
            assert_eq!(layers_crossed(s.positions(), &triangles), 0, "step {step}: cloth through cloth");
        }
    }
    let speed = s.velocities().iter().map(|v| v.length()).fold(0.0, f64::max);
    assert!(speed < 0.3, "it comes to rest: {speed} m/s");
    let top = s.positions().iter().map(|x| x.z).fold(f64::NEG_INFINITY, f64::max);
    assert!(top > 0.3 && top < 0.33, "it lies on the sphere: {top} m");
    let lowest = s.positions().iter().map(|x| x.z).fold(f64::INFINITY, f64::min);
    assert!(lowest < 0.0, "its corners hang: {lowest} m");
}

#[test]
fn cloth_as_stiff_as_paper_falls_on_a_sphere_and_comes_to_rest() {
    for stretch in [1e4, 1e5, 1e7] {
        let mut s = ParticleSystem::new();
        s.add_force(Gravity(G)).unwrap();
        let n = 24;
        let (vertices, triangles) = grid(DVec3::new(-0.55, -0.6, 0.36), DVec3::X * 1.2, DVec3::Y * 1.2, n, n);
        let cloth = ClothMaterial { stretch, shear: 0.1 * stretch, thickness: 0.01, ..ClothMaterial::default() };
        s.add_cloth(&vertices, &triangles, cloth).unwrap();
        s.set_radius(0.005).unwrap();
        s.add_obstacle(Obstacle::shape(&Geometry::Sphere { radius: 0.3 }, Pose::IDENTITY).unwrap().with(0.4, 0.0));
        s.add_obstacle(Obstacle::plane(DVec3::Z * -0.6, DVec3::Z).unwrap().with(0.4, 0.0));
        let weight = s.masses().iter().sum::<f64>() * 9.81;
        for step in 0..360 {
            s.step(1.0 / 60.0).unwrap();
            // what has been thrown would move faster than what has fallen from where it began
            let kinetic = s.energy().kinetic;
            assert!(kinetic < weight * 1.0, "{stretch:e} N/m, step {step}: {kinetic} J of motion");
            let nearest = s.positions().iter().map(|x| x.length()).fold(f64::INFINITY, f64::min);
            assert!(nearest > 0.3, "{stretch:e} N/m, step {step}: {:.2e} m inside the sphere", 0.3 - nearest);
        }
        assert_eq!(layers_crossed(s.positions(), &triangles), 0, "{stretch:e} N/m: cloth through cloth");
        let speed = s.velocities().iter().map(|v| v.length()).fold(0.0, f64::max);
        assert!(speed < 0.3, "{stretch:e} N/m: still {speed} m/s after 6 s");
        let ratio = |t: &[u32; 3], k: usize| {
            let (a, b) = (t[k] as usize, t[(k + 1) % 3] as usize);
            s.positions()[a].distance(s.positions()[b]) / vertices[a].distance(vertices[b])
        };
        let strain = triangles.iter().flat_map(|t| (0..3).map(move |k| (ratio(t, k) - 1.0).abs())).fold(0.0, f64::max);
        assert!(strain < 0.03, "{stretch:e} N/m: an edge is off by {strain:.3} of its length");
    }
}

#[test]
fn a_stiff_sheet_shaken_in_flight_keeps_its_momentum_and_makes_no_energy() {
    for stretch in [1e4, 1e6, 1e8] {
        let mut s = ParticleSystem::new();
        let cloth = ClothMaterial {
            stretch,
            shear: 0.1 * stretch,
            air: 0.0,
            damping: 0.0,
            self_collision: false,
            ..ClothMaterial::default()
        };
        let (vertices, triangles) = grid(DVec3::ZERO, DVec3::X * 0.5, DVec3::Y * 0.5, 12, 12);
        for i in s.add_cloth(&vertices, &triangles, cloth).unwrap() {
            let turn = |k: f64| (i as f64 * k).sin();
            s.set_velocity(i, DVec3::new(0.3 + 0.2 * turn(3.1), 0.1 * turn(1.7), 1.0 * turn(2.3))).unwrap();
        }
        let (before, momentum) = (s.energy().total(), s.momentum());
        for step in 0..120 {
            s.step(1.0 / 60.0).unwrap();
            let now = s.energy().total();
            assert!(now < 1.02 * before, "{stretch:e} N/m, step {step}: {now} J of {before} J");
        }
        // rounding of forces that are 1e8 times as large
        assert_near("momentum", s.momentum().linear, momentum.linear, 1e-7);
    }
}

#[test]
fn cloth_dropped_on_cloth_stays_above_it() {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G)).unwrap();
    let material = ClothMaterial { thickness: 0.01, air: 0.0, ..ClothMaterial::default() };
    let (mut vertices, mut triangles) = grid(DVec3::ZERO, DVec3::X * 0.6, DVec3::Y * 0.6, 10, 10);
    s.add_cloth(&vertices, &triangles, material).unwrap();
    for i in 0..11 {
        s.nail(i).unwrap();
        s.nail(110 + i).unwrap();
    }
    // a smaller one above, turned, thrown down
    let (above, more) = grid(DVec3::new(0.2, 0.22, 0.3), DVec3::new(0.2, 0.1, 0.02), DVec3::new(-0.1, 0.2, 0.0), 6, 6);
    let first = vertices.len() as u32;
    let added = s.add_cloth(&above, &more, material).unwrap();
    for i in added {
        s.set_velocity(i, DVec3::Z * -6.0).unwrap();
    }
    vertices.extend(&above);
    triangles.extend(more.iter().map(|t| t.map(|i| i + first)));
    let mut touched = 0;
    for step in 0..120 {
        touched += s.step(1.0 / 60.0).unwrap().self_contacts;
        if step % 10 == 9 {
            assert_eq!(layers_crossed(s.positions(), &triangles), 0, "step {step}");
        }
    }
    assert!(touched > 0);
    let middle: f64 = s.positions()[121..].iter().map(|x| x.z).sum::<f64>() / 49.0;
    assert!(middle > -0.4, "caught: {middle} m");
}

/// How high a point is above those of the triangles that are below or above it.
pub fn gap_below(p: DVec3, x: &[DVec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let cross = |a: DVec3, b: DVec3| a.x * b.y - a.y * b.x;
    let mut gaps = Vec::new();
    for t in triangles {
        let [a, b, c] = t.map(|i| x[i as usize]);
        let area = cross(b - a, c - a);
        let (s, t) = (cross(p - a, c - a) / area, cross(b - a, p - a) / area);
        if s >= 0.0 && t >= 0.0 && s + t <= 1.0 {
            gaps.push(p.z - (a + (b - a) * s + (c - a) * t).z);
        }
    }
    gaps
}

#[test]
fn layers_that_meet_exchange_momentum_and_make_none() {
    let mut s = ParticleSystem::new();
    let material = ClothMaterial { thickness: 0.01, air: 0.0, damping: 0.0, ..ClothMaterial::default() };
    for (z, v) in [(0.0, 1.0), (0.1, -2.0)] {
        let (vertices, triangles) = grid(DVec3::new(0.01 * v, 0.0, z), DVec3::X * 0.3, DVec3::Y * 0.3, 5, 5);
        for i in s.add_cloth(&vertices, &triangles, material).unwrap() {
            s.set_velocity(i, DVec3::new(0.03 * v, 0.0, v)).unwrap();
        }
    }
    let (_, triangles) = grid(DVec3::ZERO, DVec3::X, DVec3::Y, 5, 5);
    let both: Vec<[u32; 3]> =
        [0, 36].iter().flat_map(|first| triangles.iter().map(move |t| t.map(|i| i + first))).collect();
    let (before, mut touched) = (s.momentum(), 0);
    for step in 0..60 {
        touched += s.step(1.0 / 120.0).unwrap().self_contacts;
        assert_eq!(layers_crossed(s.positions(), &both), 0, "step {step}");
        let (below, above) = s.positions().split_at(36);
        let lowest = above.iter().flat_map(|x| gap_below(*x, below, &triangles)).fold(f64::INFINITY, f64::min);
        assert!(lowest > 0.0, "step {step}: a vertex of the upper sheet is {lowest:.2e} m above the lower");
    }
    assert!(touched > 0);
    assert_near("momentum", s.momentum().linear, before.linear, 1e-9);
}

#[test]
fn crumpled_sheets_thrown_at_each_other_never_cross() {
    // many speeds and angles, coarse and fine, with a step in which they move several times their thickness
    for (speed, tilt, cells, h) in [(3.0, 0.0, 5, 1.0 / 120.0), (8.0, 0.4, 8, 1.0 / 60.0), (20.0, 1.2, 6, 1.0 / 60.0)] {
        let mut s = ParticleSystem::new();
        let material = ClothMaterial { thickness: 0.005, air: 0.0, ..ClothMaterial::default() };
        let (mut all, mut first) = (Vec::new(), 0);
        for (z, v) in [(0.0, speed), (0.3, -speed)] {
            let turn = DQuat::from_rotation_y(if v < 0.0 { tilt } else { 0.0 }) * DQuat::from_rotation_z(0.3 * v);
            let (along, across) = (turn * DVec3::X * 0.4, turn * DVec3::Y * 0.4);
            let (vertices, triangles) = grid(DVec3::Z * z - 0.5 * (along + across), along, across, cells, cells);
            for i in s.add_cloth(&vertices, &triangles, material).unwrap() {
                s.set_velocity(i, DVec3::Z * v).unwrap();
            }
            all.extend(triangles.iter().map(|t| t.map(|i| i + first)));
            first += vertices.len() as u32;
        }
        let before = s.momentum().linear;
        for step in 0..60 {
            s.step(h).unwrap();
            let crossed = layers_crossed(s.positions(), &all);
            assert_eq!(crossed, 0, "{speed} m/s, {cells} cells, step {step}");
        }
        assert_near("momentum", s.momentum().linear, before, 1e-9);
    }
}

/// The middle of the free edge of a flag after 5 s.
fn end_of_flag(wind: DVec3) -> DVec3 {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(G)).unwrap();
    let (vertices, triangles) = grid(DVec3::ZERO, DVec3::X * 1.2, DVec3::Z * 0.8, 12, 8);
    s.add_cloth(&vertices, &triangles, ClothMaterial { wind, density: 0.1, ..ClothMaterial::default() }).unwrap();
    for i in 0..=8 {
        s.nail(i * 13).unwrap();
    }
    for _ in 0..300 {
        s.step(1.0 / 60.0).unwrap();
    }
    (0..=8).map(|i| s.positions()[i * 13 + 12]).sum::<DVec3>() / 9.0
}

#[test]
fn a_flag_hangs_in_still_air_and_streams_in_wind() {
    let (still, streaming) = (end_of_flag(DVec3::Y * 0.3), end_of_flag(DVec3::new(20.0, 2.0, 0.0)));
    assert!(still.z < -0.2, "hangs down: {still}");
    assert!(streaming.x > still.x + 0.2, "the wind carries it from {still} to {streaming}");
    assert!(streaming.z > still.z + 0.1, "and up");
}

#[test]
fn degenerate_meshes_are_refused_with_a_path() {
    let mut s = ParticleSystem::new();
    let told = |e: Result<std::ops::Range<usize>, linkwork::SceneError>| e.unwrap_err().to_string();
    let square = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::X + DVec3::Y];
    let cloth = ClothMaterial::default();
    assert!(told(s.add_cloth(&square, &[[0, 1, 9]], cloth)).contains("triangles[0]"));
    assert!(told(s.add_cloth(&square, &[[0, 1, 1]], cloth)).contains("no area"));
    assert!(told(s.add_cloth(&square, &[[0, 1, 2]], cloth)).contains("vertices[3]"));
    assert!(told(s.add_cloth(&[DVec3::NAN, DVec3::X, DVec3::Y], &[[0, 1, 2]], cloth)).contains("no area"));
    let bad = ClothMaterial { stretch: f64::NAN, ..cloth };
    assert!(told(s.add_cloth(&square, &[[0, 1, 2], [1, 3, 2]], bad)).contains("cloth.stretch"));
    assert!(s.is_empty());
    // three triangles on one edge, and one twice: accepted, no panic
    let fan = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, -DVec3::Y];
    s.add_cloth(&fan, &[[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 2]], cloth).unwrap();
    s.add_force(Gravity(G)).unwrap();
    for _ in 0..60 {
        s.step(1.0 / 60.0).unwrap();
    }
}
