//! Newton's cradle: a row of steel balls, each on two rods, passes a blow on.
//!
//! The balls touch and have restitution 1: as many as were lifted swing out on the other side, the others hardly move.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, ParameterError, Values};
use crate::place::{beam, silent, wxyz};

const RADIUS: f64 = 0.05;
const HEIGHT: f64 = 0.5;
const HALF_WIDTH: f64 = 0.15;
const DENSITY: f64 = 7800.0;

pub(crate) const ENTRY: Entry = Entry {
    name: "cradle",
    collides: true,
    summary: "Newton's cradle: the blow of lifted balls passes through those at rest.",
    parameters: &[
        Parameter::count("balls", 5.0, 2.0, 50.0, "number of balls"),
        Parameter::count("lifted", 1.0, 0.0, 49.0, "balls that start lifted, fewer than there are"),
        Parameter::real("angle", 40.0, 0.0, 80.0, "deg", "how far they are lifted"),
        Parameter::real("restitution", 1.0, 0.0, 1.0, "", "speed kept in a blow"),
    ],
    build: cradle,
};

fn cradle(values: &Values) -> Result<Scene, ParameterError> {
    let (balls, lifted) = (values.count("balls"), values.count("lifted"));
    if lifted >= balls {
        let hint = format!("try {}", balls - 1);
        return Err(values.reject("lifted", format!("{lifted} of {balls} balls leave none to hit"), Some(hint)));
    }
    let mut scene = Scene { step: Stepping { dt: 1.0 / 240.0, duration: 10.0 }, ..Scene::default() };
    let top = DVec3::Z * HEIGHT;
    let length = balls as f64 * 2.0 * RADIUS;
    let mut frame = Body::fixed("frame");
    for side in [-1.0, 1.0] {
        let (across, along) = (DVec3::Y * side * HALF_WIDTH, DVec3::X * (length / 2.0 + RADIUS));
        frame = frame.placed_shape(beam(top + across - along, top + across + along, 0.01));
    }
    frame.shapes.iter_mut().for_each(silent);
    scene.body(frame);
    for k in 0..balls {
        let hang = DVec3::X * ((k as f64 - 0.5 * (balls - 1) as f64) * 2.0 * RADIUS);
        let angle = if k < lifted { values.real("angle").to_radians() } else { 0.0 };
        let turn = DQuat::from_rotation_y(angle);
        let at = hang + top - turn * top;
        let name = format!("ball{k}");
        let steel =
            Shape::new(Geometry::Sphere { radius: RADIUS }).friction(0.0).restitution(values.real("restitution"));
        let mut ball = Body::new(&name).at(at).oriented(wxyz(turn)).with_density(DENSITY).placed_shape(steel);
        let eye = DVec3::Z * RADIUS;
        for side in [-1.0, 1.0] {
            let hook = hang + top + DVec3::Y * side * HALF_WIDTH;
            let rod = (hook - at - turn * eye).length();
            let joint = Joint::distance(format!("{name} rod{side}"), WORLD, hook, &name, eye);
            scene.joint(Joint { length: Some(rod), ..joint });
        }
        ball.angular_damping = 0.1;
        scene.body(ball);
    }
    Ok(scene)
}
