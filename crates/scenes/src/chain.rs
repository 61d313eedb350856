//! A long chain of which little moves.
//!
//! It hangs from a hinge high above the ground, at rest; its last links lie on the ground along +x, and the very last one is held up
//! and falls. All hinges turn about y. Where the hanging part meets the ground is the origin.
//! Links touch the ground, not each other.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping, WORLD};

use crate::parameters::{Parameter, Values};
use crate::{Entry, place};

const LENGTH: f64 = 0.2;
const RADIUS: f64 = 0.02;
const MASS: f64 = 1.0;
const FRICTION: f64 = 0.5;
/// Collision groups: links do not touch each other.
const GROUND: u32 = 1;
const LINKS: u32 = 2;

pub(crate) const ENTRY: Entry = Entry {
    name: "chain",
    collides: true,
    summary: "A long chain hangs with its end on the ground, where its last link falls.",
    parameters: &[
        Parameter::count("links", 100.0, 2.0, 20000.0, "number of links, 1 kg each"),
        Parameter::count("lying", 4.0, 1.0, 1000.0, "links at the end that are not in the hanging part"),
        Parameter::real("raised", 60.0, 0.0, 90.0, "°", "how far the last link is raised"),
    ],
    build: |values| Ok(chain(values)),
};

fn chain(values: &Values) -> Scene {
    let links = values.count("links");
    let lying = values.count("lying").min(links - 1);
    let raised = values.real("raised").to_radians();
    let mut scene = Scene { step: Stepping { dt: 1e-3, duration: 2.0 }, ..Scene::default() };
    scene
        .body(Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).groups(GROUND, LINKS).friction(FRICTION)));
    let hanging = links - lying;
    // by number and not by sums: ten thousand roundings would let the last links sink into the ground
    let pin = |k: usize| match k {
        k if k <= hanging => DVec3::new(0.0, 0.0, RADIUS + (hanging - k) as f64 * LENGTH),
        k => DVec3::new((k - hanging) as f64 * LENGTH, 0.0, RADIUS),
    };
    let mut previous = WORLD.to_string();
    for link in 0..links {
        let from = pin(link);
        let along = match link {
            _ if link + 1 == links => DVec3::new(raised.cos(), 0.0, raised.sin()),
            _ => (pin(link + 1) - from).normalize(),
        };
        let to = from + along * LENGTH;
        let name = format!("link{link}");
        let turn = DQuat::from_rotation_arc(DVec3::Z, along);
        let capsule = Geometry::Capsule { radius: RADIUS, length: LENGTH };
        let shape = Shape::new(capsule).groups(LINKS, GROUND).friction(FRICTION);
        let body = Body::new(&name).at((from + to) / 2.0).oriented(place::wxyz(turn));
        scene.body(body.with_mass(MASS).placed_shape(shape));
        scene.joint(Joint::hinge(format!("pin{link}"), previous, &name, from, DVec3::Y));
        previous = name;
    }
    scene
}
