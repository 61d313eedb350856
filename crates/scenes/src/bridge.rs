//! Weinstein's bridge: a hanging footbridge of 102 bodies with loops in its deck and in its ropes, and what falls on it.
//!
//! 20 planks hang in a chain between two banks, joined by two ball joints each, which closes a loop between any two. Above
//! each side of the deck runs a rope of 21 rods; 20 uprights a side join it to the planks. The falling things are 81 pairs of blocks, or
//! 60 rings of six bodies that are not convex. Parts of the bridge do not collide with each other.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Seeded, block, wxyz};

const PLANKS: usize = 20;
const HALF_SPAN: f64 = 10.0;
const SAG: f64 = 1.5;
const HALF_WIDTH: f64 = 1.2;
const ROPE_ABOVE: f64 = 1.0;
const PLANK_THICKNESS: f64 = 0.1;
const ROD_RADIUS: f64 = 0.04;
const HEIGHT: f64 = 5.0;
/// Collision groups.
const BRIDGE: u32 = 2;
const OTHER: u32 = 1;

pub(crate) const ENTRY: Entry = Entry {
    name: "bridge",
    collides: true,
    summary: "A hanging bridge with loops in deck and ropes bears what falls on it.",
    parameters: &[
        Parameter::switch(
            "rings",
            0.0,
            "1: rings of six bodies that are not convex fall on it, 0: pairs of jointed blocks",
        ),
        Parameter::count("pairs", 81.0, 0.0, 500.0, "number of pairs of blocks"),
        Parameter::count("loops", 60.0, 0.0, 500.0, "number of rings"),
    ],
    build: |values| Ok(bridge(values)),
};

/// A point of the deck's middle line, at a share of the span.
fn deck(share: f64) -> DVec3 {
    let x = (2.0 * share - 1.0) * HALF_SPAN;
    DVec3::new(x, 0.0, HEIGHT - SAG * (1.0 - (x / HALF_SPAN).powi(2)))
}

fn bridge(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let mut ground = Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).groups(OTHER, OTHER | BRIDGE));
    for side in [-1.0, 1.0] {
        let bank = block(DVec3::new(side * (HALF_SPAN + 2.0), 0.0, HEIGHT / 2.0 - 0.2), [3.6, 4.0, HEIGHT - 0.4]);
        ground = ground.placed_shape(bank.groups(OTHER, OTHER | BRIDGE));
    }
    scene.body(ground);
    add_deck(&mut scene);
    for (name, side) in [("left", 1.0), ("right", -1.0)] {
        add_rope(&mut scene, name, side * HALF_WIDTH);
    }
    if values.is_on("rings") {
        add_rings(&mut scene, values.count("loops"));
    } else {
        add_pairs(&mut scene, values.count("pairs"));
    }
    scene
}

fn of_bridge(geometry: Geometry) -> Shape {
    Shape::new(geometry).groups(BRIDGE, OTHER)
}

fn add_deck(scene: &mut Scene) {
    let edge = |k: usize| deck(k as f64 / PLANKS as f64);
    let name = |k: usize| format!("plank{k}");
    for k in 0..PLANKS {
        let (from, to) = (edge(k), edge(k + 1));
        let turn = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
        let plank = of_bridge(Geometry::Box { size: [from.distance(to), 2.0 * HALF_WIDTH, PLANK_THICKNESS] });
        scene.body(Body::new(name(k)).at((from + to) / 2.0).oriented(wxyz(turn)).with_mass(40.0).placed_shape(plank));
    }
    for k in 0..=PLANKS {
        let a = if k == 0 { WORLD.to_string() } else { name(k - 1) };
        let b = if k == PLANKS { WORLD.to_string() } else { name(k) };
        for (part, side) in [("left", 1.0), ("right", -1.0)] {
            let at = edge(k) + DVec3::Y * side * 0.8 * HALF_WIDTH;
            scene.joint(Joint::ball(format!("deck{k}.{part}"), &a, &b, at));
        }
    }
}

fn add_rope(scene: &mut Scene, name: &str, aside: f64) {
    let middle = |k: usize| {
        let (from, to) = (deck(k as f64 / PLANKS as f64), deck((k + 1) as f64 / PLANKS as f64));
        (from + to) / 2.0 + DVec3::Y * aside
    };
    let up = DVec3::Z * ROPE_ABOVE;
    // the ends, and a knot above the middle of every plank
    let knot = |k: usize| match k {
        0 => deck(0.0) + DVec3::Y * aside + up,
        k if k == PLANKS + 1 => deck(1.0) + DVec3::Y * aside + up,
        k => middle(k - 1) + up,
    };
    let rod = |body: String, from: DVec3, to: DVec3, mass: f64| {
        let turn = DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize());
        let shape = of_bridge(Geometry::Capsule { radius: ROD_RADIUS, length: from.distance(to) });
        Body::new(body).at((from + to) / 2.0).oriented(wxyz(turn)).with_mass(mass).placed_shape(shape)
    };
    let rope = |k: usize| format!("{name} rope{k}");
    for k in 0..=PLANKS {
        scene.body(rod(rope(k), knot(k), knot(k + 1), 3.0));
        let before = if k == 0 { WORLD.to_string() } else { rope(k - 1) };
        scene.joint(Joint::ball(format!("{}.start", rope(k)), before, rope(k), knot(k)));
    }
    scene.joint(Joint::ball(format!("{name} rope end"), rope(PLANKS), WORLD, knot(PLANKS + 1)));
    for k in 0..PLANKS {
        let upright = format!("{name} upright{k}");
        scene.body(rod(upright.clone(), middle(k), knot(k + 1), 2.0));
        scene.joint(Joint::ball(format!("{upright}.foot"), format!("plank{k}"), &upright, middle(k)));
        scene.joint(Joint::ball(format!("{upright}.head"), upright, rope(k), knot(k + 1)));
    }
}

/// Places in a heap over the middle of the bridge, some metres of air apart from it.
fn heap(k: usize, spacing: f64, random: &mut Seeded) -> DVec3 {
    let (row, column, layer) = ((k / 2) % 9, k % 2, k / 18);
    DVec3::new((row as f64 - 4.0) * spacing, (column as f64 - 0.5) * spacing, HEIGHT + 1.0 + 0.8 * layer as f64)
        + 0.05 * random.direction()
}

fn add_pairs(scene: &mut Scene, pairs: usize) {
    let edge = 0.35;
    let mut random = Seeded::new(81);
    for k in 0..pairs {
        let center = heap(k, 1.05, &mut random);
        let names = ["a", "b"].map(|part| format!("pair{k}.{part}"));
        for (name, side) in names.iter().zip([-1.0, 1.0]) {
            let at = center + DVec3::X * side * 0.22;
            scene.body(Body::new(name).at(at).with_mass(5.0).shape(Geometry::Box { size: [edge; 3] }));
        }
        scene.joint(Joint::ball(format!("pair{k}.joint"), &names[0], &names[1], center));
    }
}

fn add_rings(scene: &mut Scene, rings: usize) {
    let radius = 0.35;
    let mut random = Seeded::new(60);
    for ring in 0..rings {
        let center = heap(ring, 1.05, &mut random);
        let corner = |k: usize| {
            let angle = (k % 6) as f64 * std::f64::consts::FRAC_PI_3;
            center + radius * DVec3::new(angle.cos(), angle.sin(), 0.0)
        };
        let name = |k: usize| format!("ring{ring}.{}", k % 6);
        for k in 0..6 {
            let (from, to) = (corner(k), corner(k + 1));
            let turn = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
            // a bar with a fin that stands up: not convex
            let body = Body::new(name(k)).at((from + to) / 2.0).oriented(wxyz(turn)).with_mass(1.5);
            let bar = block(DVec3::ZERO, [0.8 * radius, 0.08, 0.08]);
            scene.body(body.placed_shape(bar).placed_shape(block(DVec3::Z * 0.12, [0.08, 0.08, 0.16])));
        }
        for k in 0..6 {
            scene.joint(Joint::ball(format!("ring{ring}.pin{k}"), name(k), name(k + 1), corner(k + 1)));
        }
    }
}
