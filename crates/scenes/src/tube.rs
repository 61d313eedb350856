//! A hanging tube of octahedra made of Cardan and revolute joints: thousands of closed loops in one mechanism.
//!
//! A cell is an octahedron with a hub at each corner: top, bottom, two sides, inside and outside. Cells of a ring share their
//! side hubs, rings share top and bottom hubs; the top hubs are fixed to the world.
//! The eight edges from top and bottom are rods with a Cardan joint at each end: they keep length and twist.
//! The four edges of the waist (side to inside, side to outside) are elbows: two bars with a revolute joint between them
//! and Cardan joints at the hubs. They give way in length and pass on the twist.
//! Springs in the elbows, stronger where more rings hang on them, let every ring sag by the same one or two per cent
//! and the tube bounce. Without them (`stiffness` = 0) it stretches by a few per cent within 0.2 s until many loops are
//! taut at once, a singular pose.
//!
//! With n cells a ring and r rings: n (20 r + 1) bodies, n (116 r + 6) rows, of which none is redundant,
//! 4 n r freedoms. By default n = 20; at 8 rings that is 3220 bodies, 18 680 rows and 640 freedoms
//! (Tomcin, Sibbing, Kobbelt 2014, figure 6d: 18 981 rows).

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Joint, JointKind, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{ball, between, tube};

const CELL_WIDTH: f64 = 1.0;
const CELL_HEIGHT: f64 = 1.0;
const INNER_DEPTH: f64 = 0.2;
const OUTER_DEPTH: f64 = 0.4;
/// How far an elbow hangs below the line between its hubs, per length of that line.
const ELBOW_DROP: f64 = 0.35;
/// How far the waist of a ring is turned against its ends, in half cells, one ring this way and the next that way.
/// Without a turn the tube is its own mirror image and starts in a singular pose if its number of cells is even. Turned
/// always the same way, a small twist of the top grows from ring to ring: the smallest eigenvalue of the system, scaled to
/// a unit diagonal, falls tenfold every three rings (1e-14 at 32), and no arithmetic holds 150 of them. Turned to and fro
/// it falls with the fourth power of the length, as in a beam.
const TURN: f64 = 0.3;
const HUB_RADIUS: f64 = 0.08;
const ROD_RADIUS: f64 = 0.02;
/// Damping per stiffness of the springs, s.
const SPRING_DAMPING_TIME: f64 = 0.02;
const HUB_MASS: f64 = 1.0;
const ROD_MASS: f64 = 0.5;

pub(crate) const ENTRY: Entry = Entry {
    name: "tube",
    collides: false,
    summary: "A hanging tube of octahedra: thousands of loops of Cardan and revolute joints.",
    parameters: &[
        Parameter::count("rings", 8.0, 1.0, 150.0, "number of rings, one below the other"),
        Parameter::count("cells", 20.0, 5.0, 100.0, "number of octahedra round a ring"),
        Parameter::real(
            "stiffness",
            100.0,
            0.0,
            1e6,
            "N m/rad",
            "stiffness of an elbow's spring for each ring that hangs on it; 0: no springs",
        ),
    ],
    build: |values| Ok(hanging_tube(values)),
};

/// A corner of the octahedra: name and place.
struct Hub {
    name: String,
    at: DVec3,
}

#[derive(Clone, Copy)]
enum Corner {
    /// Top of a cell and bottom of the one above.
    Level,
    /// Left of a cell and right of its neighbour.
    Side,
    Inner,
    Outer,
}

fn hanging_tube(values: &Values) -> Scene {
    let (rings, cells) = (values.count("rings"), values.count("cells"));
    let stiffness = values.real("stiffness");
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 5.0 }, ..Scene::default() };
    let corner = |corner: Corner, ring: usize, cell: usize| hub(corner, ring, cell % cells, cells);

    for cell in 0..cells {
        let top = corner(Corner::Level, 0, cell);
        scene.body(hub_body(&top));
        scene.joint(Joint::fixed(format!("hanger{cell}"), WORLD, &top.name, top.at));
    }
    for ring in 0..rings {
        for cell in 0..cells {
            let (top, bottom) = (corner(Corner::Level, ring, cell), corner(Corner::Level, ring + 1, cell));
            let (left, right) = (corner(Corner::Side, ring, cell), corner(Corner::Side, ring, cell + 1));
            let (inner, outer) = (corner(Corner::Inner, ring, cell), corner(Corner::Outer, ring, cell));
            for new in [&left, &inner, &outer, &bottom] {
                scene.body(hub_body(new));
            }
            let outwards = DVec3::new(outer.at.x - inner.at.x, outer.at.y - inner.at.y, 0.0).normalize();
            for end in [&top, &bottom] {
                for waist in [&left, &right, &inner, &outer] {
                    add_rod(&mut scene, end, waist, outwards);
                }
            }
            for side in [&left, &right] {
                for middle in [&inner, &outer] {
                    add_elbow(&mut scene, side, middle, stiffness * (rings - ring) as f64);
                }
            }
        }
    }
    scene
}

fn hub(corner: Corner, ring: usize, cell: usize, cells: usize) -> Hub {
    let radius = cells as f64 * CELL_WIDTH / std::f64::consts::TAU;
    let (name, radius, half_cells_round, half_rings_down) = match corner {
        Corner::Level => ("level", radius, 2 * cell, 2 * ring),
        Corner::Side => ("side", radius, 2 * cell + 2 * cells - 1, 2 * ring + 1),
        Corner::Inner => ("inner", radius - INNER_DEPTH, 2 * cell, 2 * ring + 1),
        Corner::Outer => ("outer", radius + OUTER_DEPTH, 2 * cell, 2 * ring + 1),
    };
    let twist = match half_rings_down % 4 {
        1 => TURN,
        3 => -TURN,
        _ => 0.0,
    };
    let (y, x) = ((half_cells_round as f64 + twist) / cells as f64 * std::f64::consts::PI).sin_cos();
    let at = DVec3::new(radius * x, radius * y, -(half_rings_down as f64) * CELL_HEIGHT / 2.0);
    Hub { name: format!("{name}{ring}.{cell}"), at }
}

fn hub_body(hub: &Hub) -> Body {
    Body::new(&hub.name).at(hub.at).with_mass(HUB_MASS).placed_shape(ball(DVec3::ZERO, HUB_RADIUS))
}

fn rod_body(name: &str, from: DVec3, to: DVec3) -> Body {
    let half = DVec3::X * from.distance(to) / 2.0;
    between(name, from, to).with_mass(ROD_MASS).placed_shape(tube(-half, half, ROD_RADIUS))
}

fn cardan(name: String, hub: &Hub, rod: &str, axis_of_hub: DVec3, axis_of_rod: DVec3) -> Joint {
    Joint::new(JointKind::Universal, name, &hub.name, rod).at(hub.at).axis(axis_of_hub).second_axis(axis_of_rod)
}

fn add_rod(scene: &mut Scene, from: &Hub, to: &Hub, outwards: DVec3) {
    let name = format!("{}-{}", from.name, to.name);
    let along = (to.at - from.at).normalize();
    let first = along.cross(outwards).normalize();
    let second = along.cross(first);
    scene.body(rod_body(&name, from.at, to.at));
    for hub in [from, to] {
        scene.joint(cardan(format!("{name}@{}", hub.name), hub, &name, first, second));
    }
}

fn add_elbow(scene: &mut Scene, from: &Hub, to: &Hub, stiffness: f64) {
    let name = format!("{}-{}", from.name, to.name);
    let (near, far) = (format!("{name}/near"), format!("{name}/far"));
    let chord = to.at - from.at;
    let bend = (from.at + to.at) / 2.0 - DVec3::Z * ELBOW_DROP * chord.length();
    let across = chord.cross(DVec3::Z).normalize();
    scene.body(rod_body(&near, from.at, bend));
    scene.body(rod_body(&far, bend, to.at));
    scene.joint(cardan(format!("{name}@{}", from.name), from, &near, DVec3::Z, across));
    let mut elbow = Joint::hinge(format!("{name}/elbow"), &near, &far, bend, across);
    if stiffness > 0.0 {
        elbow = elbow.with(Coordinate::of("angle").spring(stiffness, SPRING_DAMPING_TIME * stiffness, 0.0));
    }
    scene.joint(elbow);
    scene.joint(cardan(format!("{name}@{}", to.name), to, &far, DVec3::Z, across));
}
