//! Tomcin's crane: a light rod between a hinge, an edge close to it, and a heavy block far out.
//!
//! The rod (50 kg, uniform, 4.2 m) is hinged to a pillar at the origin and rests on the edge 0.2 m further out; the block hangs
//! from a hinge at 4 m. The edge bears 20 times the block's weight and 9.5 times the rod's; the pillar holds the rod down.
//! Nothing moves but the block, if it swings. (Tomcin, Sibbing, Kobbelt 2014, figure 1d.)

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::block;

const ROD_MASS: f64 = 50.0;
const ROD_SECTION: f64 = 0.1;
const ROD_FROM: f64 = -0.1;
const ROD_TO: f64 = 4.1;
const HOOK: DVec3 = DVec3::new(4.0, 0.0, 0.0);
const EDGE_AT: f64 = 0.2;
const EDGE_WIDTH: f64 = 0.02;
const BLOCK_EDGE: f64 = 1.0;
const SLING: f64 = 0.3;
const FRICTION: f64 = 0.3;

pub(crate) const ENTRY: Entry = Entry {
    name: "crane",
    collides: true,
    summary: "A light rod on a hinge and an edge close by bears a heavy block far out.",
    parameters: &[
        Parameter::real("load", 7500.0, 1.0, 1e9, "kg", "mass of the block"),
        Parameter::real("swing", 0.0, -2.0, 2.0, "rad/s", "angular velocity of the block at the start"),
    ],
    build: |values| Ok(crane(values)),
};

fn crane(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 0.02, duration: 10.0 }, ..Scene::default() };
    let (top, foot) = (-ROD_SECTION / 2.0, -3.0);
    scene.body(Body::fixed("pillar").placed_shape(block(DVec3::new(-0.05, 0.0, foot / 2.0), [0.1, 0.2, -foot])));
    // bears the rod on the corner that looks to the load
    let edge = Geometry::Box { size: [EDGE_WIDTH, 0.4, top - foot] };
    let middle = DVec3::new(EDGE_AT - EDGE_WIDTH / 2.0, 0.0, (top + foot) / 2.0);
    scene.body(Body::fixed("edge").at(middle).placed_shape(Shape::new(edge).friction(FRICTION)));
    let rod = Shape::new(Geometry::Box { size: [ROD_TO - ROD_FROM, ROD_SECTION, ROD_SECTION] }).friction(FRICTION);
    scene.body(Body::new("rod").at(DVec3::X * (ROD_FROM + ROD_TO) / 2.0).with_mass(ROD_MASS).placed_shape(rod));

    let below = DVec3::Z * -(SLING + BLOCK_EDGE / 2.0);
    let turning = DVec3::Y * values.real("swing");
    scene.body(
        Body::new("block")
            .at(HOOK + below)
            .with_mass(values.real("load"))
            .moving(turning.cross(below), turning)
            .shape(Geometry::Box { size: [BLOCK_EDGE; 3] })
            .placed_shape(block(DVec3::Z * (SLING + BLOCK_EDGE) / 2.0, [0.05, 0.05, SLING])),
    );
    scene.joint(Joint::hinge("pillar", "pillar", "rod", DVec3::ZERO, DVec3::Y));
    scene.joint(Joint::hinge("hook", "rod", "block", HOOK, DVec3::Y));
    scene
}
