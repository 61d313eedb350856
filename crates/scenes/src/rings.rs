//! Weinstein's rings: loops of six capsules fall down a forest of poles.
//!
//! Poles (25 if nothing is said) stand in a square. Rings hang around them, one above the other, a little off the middle; each is a hexagon of
//! capsules joined by ball joints, a closed loop of 18 rows on 36 freedoms. Neighbours in a ring do not collide.
//! (Weinstein, Teran, Fedkiw 2006, figure 6.)

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Seeded, wxyz};

const POLE_SPACING: f64 = 1.2;
const POLE_RADIUS: f64 = 0.1;
const POLE_HEIGHT: f64 = 3.0;
const LINK_RADIUS: f64 = 0.05;
const LINK_LENGTH: f64 = 0.25;
const STACKING: f64 = 0.2;
const LOWEST: f64 = 0.3;
const FRICTION: f64 = 0.5;

pub(crate) const ENTRY: Entry = Entry {
    name: "rings",
    collides: true,
    summary: "Rings of six jointed capsules fall down poles and pile up.",
    parameters: &[
        Parameter::count("rings", 360.0, 1.0, 5000.0, "number of rings, shared among the poles"),
        Parameter::count("poles", 5.0, 1.0, 50.0, "poles on a side of the square in which they stand"),
    ],
    build: |values| Ok(rings(values)),
};

fn rings(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let a_side = values.count("poles");
    let poles = a_side * a_side;
    let foot = |pole: usize| {
        let along = |k: usize| (k as f64 - 0.5 * (a_side - 1) as f64) * POLE_SPACING;
        DVec3::new(along(pole % a_side), along(pole / a_side), 0.0)
    };
    let mut ground = Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(FRICTION));
    for pole in 0..poles {
        let post = Geometry::Cylinder { radius: POLE_RADIUS, length: POLE_HEIGHT };
        ground = ground.placed_shape(Shape::new(post).at(foot(pole) + DVec3::Z * POLE_HEIGHT / 2.0).friction(FRICTION));
    }
    scene.body(ground);
    let mut random = Seeded::new(360);
    for ring in 0..values.count("rings") {
        let aside = DVec3::new(random.between(-0.02, 0.02), random.between(-0.02, 0.02), 0.0);
        let level = LOWEST + STACKING * (ring / poles) as f64;
        add_ring(&mut scene, ring, foot(ring % poles) + aside + DVec3::Z * level, random.between(0.0, 1.0));
    }
    scene
}

fn add_ring(scene: &mut Scene, ring: usize, center: DVec3, turned: f64) {
    let corner = |k: usize| {
        let angle = turned + (k % 6) as f64 * std::f64::consts::FRAC_PI_3;
        center + LINK_LENGTH * DVec3::new(angle.cos(), angle.sin(), 0.0)
    };
    let name = |k: usize| format!("ring{ring}.{}", k % 6);
    for k in 0..6 {
        let (from, to) = (corner(k), corner(k + 1));
        let turn = DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize());
        let capsule = Shape::new(Geometry::Capsule { radius: LINK_RADIUS, length: LINK_LENGTH }).friction(FRICTION);
        scene.body(Body::new(name(k)).at((from + to) / 2.0).oriented(wxyz(turn)).with_mass(1.0).placed_shape(capsule));
    }
    for k in 0..6 {
        scene.joint(Joint::ball(format!("ring{ring}.pin{k}"), name(k), name(k + 1), corner(k + 1)));
    }
}
