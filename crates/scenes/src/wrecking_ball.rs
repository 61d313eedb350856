//! A heavy ball on a light chain: the mass ratio that breaks iterative solvers.
//!
//! The chain lies along +x from the origin, at rest; the ball's centre is the chain's end.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};

const LINK_SIZE: [f64; 3] = [0.2, 0.04, 0.04];
const LINK_MASS: f64 = 1.0;
const BALL_RADIUS: f64 = 0.3;

pub(crate) const ENTRY: Entry = Entry {
    name: "wrecking-ball",
    collides: false,
    summary: "A heavy ball swings on a chain of light links.",
    parameters: &[
        Parameter::count("links", 20.0, 1.0, 10000.0, "number of links of the chain, 1 kg each"),
        Parameter::real("mass", 1000.0, 1e-3, 1e9, "kg", "mass of the ball"),
    ],
    build: |values| Ok(chain_with_ball(values)),
};

fn chain_with_ball(values: &Values) -> Scene {
    let links = values.count("links");
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let pin = |link: usize| DVec3::X * (link as f64 * LINK_SIZE[0]);
    let mut previous = WORLD.to_string();
    for link in 0..links {
        let name = format!("link{link}");
        let geometry = Geometry::Box { size: LINK_SIZE };
        scene.body(Body::new(&name).at((pin(link) + pin(link + 1)) / 2.0).with_mass(LINK_MASS).shape(geometry));
        scene.joint(Joint::ball(format!("pin{link}"), previous, &name, pin(link)));
        previous = name;
    }
    let sphere = Geometry::Sphere { radius: BALL_RADIUS };
    scene.body(Body::new("ball").at(pin(links)).with_mass(values.real("mass")).shape(sphere));
    scene.joint(Joint::ball(format!("pin{links}"), previous, "ball", pin(links)));
    scene
}
