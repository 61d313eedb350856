//! Masses and springs: a net explicit and implicit, and a block that falls.

use super::{ground, knob, stage};
use crate::Entry;
use crate::parameters::Parameter;
use glam::DVec3;
use linkwork::scene::{ParticleMethod, Particles, PointSpring};

pub(crate) const MESH: Entry = Entry {
    name: "spring-mesh",
    collides: true,
    summary: "Two nets of springs: one explicit, as stiff as its step allows, one implicit and far stiffer.",
    parameters: &[
        Parameter::count("cells", 16.0, 1.0, 300.0, "along each side"),
        Parameter::real("stiffness", 1000.0, 1e-3, 1e9, "", "of the implicit net, in stiffnesses of the explicit one"),
    ],
    build: |values| {
        let (n, ratio) = (values.count("cells"), values.real("stiffness"));
        let dt = 1.0 / 240.0;
        let mut scene = stage(dt, 10.0);
        let mass = 0.2 / ((n + 1) * (n + 1)) as f64;
        // eight springs at a particle, all the neighbours moving against it: ω² < 16 k/m, and h ω must stay below 2
        let limit = 0.2 * mass / (dt * dt);
        let nets = [
            ("explicit", -1.1, ParticleMethod::Verlet, limit),
            ("implicit", 0.1, ParticleMethod::Implicit, ratio * limit),
        ];
        for (name, x, method, stiffness) in nets {
            let corner = DVec3::new(x, 0.0, 1.5);
            let mut net = net(name, corner, n, mass, stiffness, 0.02 * dt * stiffness);
            net.method = method;
            net.drag = 0.2 * mass;
            let hung = [n * (n + 1), n * (n + 1) + n];
            net.nails = hung.to_vec();
            for (k, i) in hung.into_iter().enumerate() {
                scene.body(knob(format!("nail {k} of the {name} one"), net.points[i].position));
            }
            scene.particles(net);
        }
        Ok(scene)
    },
};

/// A square metre of springs along the sides and diagonals of its cells, across z.
fn net(name: &str, corner: DVec3, n: usize, mass: f64, stiffness: f64, damping: f64) -> Particles {
    let mut net = Particles { collides: false, ..Particles::new(name) };
    let at = |i: usize, j: usize| i * (n + 1) + j;
    for i in 0..=n {
        for j in 0..=n {
            net.point(corner + DVec3::new(j as f64, i as f64, 0.0) / n as f64, mass);
        }
    }
    for i in 0..=n {
        for j in 0..=n {
            if j < n {
                net.spring(at(i, j), at(i, j + 1), stiffness, damping);
            }
            if i < n {
                net.spring(at(i, j), at(i + 1, j), stiffness, damping);
            }
            if i < n && j < n {
                net.spring(at(i, j), at(i + 1, j + 1), stiffness, damping);
                net.spring(at(i, j + 1), at(i + 1, j), stiffness, damping);
            }
        }
    }
    net
}

pub(crate) const BLOCK: Entry = Entry {
    name: "spring-block",
    collides: true,
    summary: "A soft block of masses and springs falls on its corner and wobbles.",
    parameters: &[
        Parameter::count("cells", 5.0, 1.0, 40.0, "along each side"),
        Parameter::real("stiffness", 2000.0, 1.0, 1e9, "N/m", "of each spring"),
    ],
    build: |values| {
        let (n, stiffness) = (values.count("cells"), values.real("stiffness"));
        let mut scene = stage(1.0 / 120.0, 6.0);
        scene.body(ground(0.0));
        let mut block = Particles { radius: 0.01, friction: 0.6, ..Particles::new("block") };
        let turn = glam::DQuat::from_rotation_y(0.4) * glam::DQuat::from_rotation_x(0.5);
        let at = |i: usize, j: usize, k: usize| (i * (n + 1) + j) * (n + 1) + k;
        let mass = 8.0 / ((n + 1) * (n + 1) * (n + 1)) as f64;
        for i in 0..=n {
            for j in 0..=n {
                for k in 0..=n {
                    let local = DVec3::new(i as f64, j as f64, k as f64) / n as f64 - 0.5;
                    block.point(DVec3::Z * 1.2 + turn * (local * 0.8), mass);
                }
            }
        }
        let mut join = |a: usize, b: usize| {
            block.springs.push(PointSpring { a, b, length: None, stiffness, damping: 0.004 * stiffness });
        };
        // every pair of corners of every cell, once
        for i in 0..=n {
            for j in 0..=n {
                for k in 0..=n {
                    for di in 0..=1_i64 {
                        for dj in -1..=1_i64 {
                            for dk in -1..=1_i64 {
                                let first = (di, dj, dk) > (0, 0, 0);
                                let (a, b, c) = (i as i64 + di, j as i64 + dj, k as i64 + dk);
                                let inside = |x: i64| (0..=n as i64).contains(&x);
                                if first && inside(a) && inside(b) && inside(c) {
                                    join(at(i, j, k), at(a as usize, b as usize, c as usize));
                                }
                            }
                        }
                    }
                }
            }
        }
        scene.particles(block);
        Ok(scene)
    },
};
