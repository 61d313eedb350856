//! Rods between particles and wires through them, held exactly: the notes' beads, pendulums and tinkertoys.

use super::{ground, knob, stage};
use crate::Entry;
use crate::parameters::Parameter;
use glam::DVec3;
use linkwork::scene::{Body, Geometry, ParametricObject, ParticleMethod, Particles, Shape, Wire};
use std::f64::consts::TAU;

pub(crate) const BEAD: Entry = Entry {
    name: "bead",
    collides: true,
    summary: "Beads on two wires: one held by a constraint, one by its coordinate; they move alike.",
    parameters: &[
        Parameter::real("radius", 0.5, 0.05, 10.0, "m", "radius of the wires"),
        Parameter::real("angle", 80.0, -180.0, 180.0, "deg", "where the beads start, above level"),
    ],
    build: |values| {
        let (radius, angle) = (values.real("radius"), values.real("angle").to_radians());
        let mut scene = stage(1.0 / 240.0, 10.0);
        let centers = [DVec3::new(-1.2 * radius, 0.0, 1.2 * radius), DVec3::new(1.2 * radius, 0.0, 1.2 * radius)];
        for (name, center) in ["wire by constraint", "wire by coordinate"].into_iter().zip(centers) {
            scene.body(ring(name, center, radius));
        }
        let start = |center: DVec3| center + DVec3::new(angle.cos(), 0.0, angle.sin()) * radius;
        let method = ParticleMethod::RungeKutta;
        let mut held = Particles { method, collides: false, ..Particles::new("by constraint") };
        let point = held.point(start(centers[0]), 1.0);
        let (center, normal) = (centers[0].to_array(), [0.0, 1.0, 0.0]);
        held.wires.push(Wire::Circle { point, center, normal, radius });
        scene.particles(held);
        let mut free = Particles { method, collides: false, ..Particles::new("by coordinate") };
        let (center, start) = (centers[1].to_array(), start(centers[1]).to_array());
        free.parametric.push(ParametricObject::Bead { center, normal, radius, mass: 1.0, start, rate: 0.0 });
        scene.particles(free);
        Ok(scene)
    },
};

/// A circle of capsules across y.
fn ring(name: &str, center: DVec3, radius: f64) -> Body {
    const PIECES: usize = 40;
    let mut body = Body::fixed(name).at(center);
    for k in 0..PIECES {
        let angle = TAU * (k as f64 + 0.5) / PIECES as f64;
        let length = TAU * radius / PIECES as f64;
        // along z at angle zero, turned about y
        let half = -0.5 * angle;
        let at = DVec3::new(angle.cos(), 0.0, angle.sin()) * radius;
        let piece = Shape::new(Geometry::Capsule { radius: 0.004, length });
        body = body.placed_shape(piece.at(at).oriented([half.cos(), 0.0, half.sin(), 0.0]));
    }
    body
}

pub(crate) const PENDULUMS: Entry = Entry {
    name: "particle-pendulums",
    collides: true,
    summary: "A double and a triple pendulum of particles and rods.",
    parameters: &[Parameter::real("angle", 10.0, -180.0, 180.0, "deg", "of the rods above level at the start")],
    build: |values| {
        let angle = values.real("angle").to_radians();
        let mut scene = stage(1.0 / 480.0, 20.0);
        for (name, rods, x) in [("double", 2, -1.2), ("triple", 3, 1.2)] {
            let pivot = DVec3::new(x, 0.0, 1.5);
            scene.body(knob(format!("pivot of the {name} one"), pivot.to_array()));
            let mut system = Particles { method: ParticleMethod::Verlet, collides: false, ..Particles::new(name) };
            for k in 0..=rods {
                let at = pivot + DVec3::new(angle.cos(), 0.0, angle.sin()) * (0.9 * k as f64 / rods as f64);
                system.point(at, 1.0);
                if k > 0 {
                    system.rod(k - 1, k);
                }
            }
            system.points[0].nailed = true;
            scene.particles(system);
        }
        Ok(scene)
    },
};

/// How far the top of the tower is beside its foot, in widths of the tower: it falls from one width on.
const LEAN: f64 = 1.4;

pub(crate) const TINKERTOYS: Entry = Entry {
    name: "tinkertoys",
    collides: true,
    summary: "Particles and rods: a chain that swings and a braced tower that falls over.",
    parameters: &[
        Parameter::count("links", 30.0, 1.0, 100000.0, "rods of the chain"),
        Parameter::count("storeys", 4.0, 1.0, 200.0, "of the tower"),
    ],
    build: |values| {
        let (links, storeys) = (values.count("links"), values.count("storeys"));
        let mut scene = stage(1.0 / 240.0, 10.0);
        scene.body(ground(0.0));
        let pivot = DVec3::new(-1.0, 0.0, 2.5);
        scene.body(knob("pivot", pivot.to_array()));
        let method = ParticleMethod::Verlet;
        let mut chain = Particles { method, radius: 0.02, ..Particles::new("chain") };
        for k in 0..=links {
            chain.point(pivot - DVec3::X * (2.0 * k as f64 / links as f64), 0.05);
            if k > 0 {
                chain.rod(k - 1, k);
            }
        }
        chain.points[0].nailed = true;
        scene.particles(chain);
        let mut tower = Particles { method, radius: 0.02, friction: 0.8, ..Particles::new("tower") };
        let side = 0.3;
        for level in 0..=storeys {
            for (x, y) in [(0.0, 0.0), (side, 0.0), (side, side), (0.0, side)] {
                // its middle is beside its foot, so that it falls
                let lean = LEAN / storeys as f64 * level as f64 * side;
                tower.point([0.3 + x + lean, y - 0.5 * side, 0.02 + side * level as f64], 0.05);
            }
            let first = 4 * level;
            for k in 0..4 {
                tower.rod(first + k, first + (k + 1) % 4);
            }
            tower.rod(first, first + 2);
            if level > 0 {
                for k in 0..4 {
                    tower.rod(first - 4 + k, first + k).rod(first - 4 + k, first + (k + 1) % 4);
                }
            }
        }
        scene.particles(tower);
        Ok(scene)
    },
};
