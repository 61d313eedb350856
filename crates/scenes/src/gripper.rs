//! A gripper lifts a box by friction alone.
//!
//! Two fingers slide in a carriage that slides on a mast. Constant forces press the fingers on the box with `margin` times
//! what friction needs to hold it; the carriage's motor is a little stronger than the weight and lifts all of it by half a metre.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{block, silent};

const BOX_EDGE: f64 = 0.4;
const FINGER: [f64; 3] = [0.08, 0.2, 0.3];
const FINGER_MASS: f64 = 5.0;
const CARRIAGE_MASS: f64 = 40.0;
const CARRIAGE_ABOVE: f64 = 0.6;
const LIFT: f64 = 0.5;
const SPEED: f64 = 0.1;

pub(crate) const ENTRY: Entry = Entry {
    name: "gripper",
    collides: true,
    summary: "Two fingers press on a heavy box and lift it by friction.",
    parameters: &[
        Parameter::real("mass", 1000.0, 0.1, 1e6, "kg", "mass of the box"),
        Parameter::real("friction", 0.5, 0.05, 2.0, "", "friction of fingers and box"),
        Parameter::real("margin", 1.5, 0.1, 10.0, "", "force of the fingers, in parts of what holds the box"),
        Parameter::switch("lift", 1.0, "1: the carriage rises, 0: it is held and the box hangs between the fingers"),
    ],
    build: |values| Ok(gripper(values)),
};

fn gripper(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let (mass, friction) = (values.real("mass"), values.real("friction"));
    let rough = |size: [f64; 3]| Shape::new(Geometry::Box { size }).friction(friction);
    let center = DVec3::Z * BOX_EDGE / 2.0;
    let lifts = values.is_on("lift");
    if lifts {
        scene.body(Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(friction)));
    }
    scene.body(Body::new("box").at(center).with_mass(mass).placed_shape(rough([BOX_EDGE; 3])));

    let mount = center + DVec3::Z * CARRIAGE_ABOVE;
    let mut beam = block(DVec3::ZERO, [1.2, 0.15, 0.1]);
    silent(&mut beam);
    scene.body(Body::new("carriage").at(mount).with_mass(CARRIAGE_MASS).placed_shape(beam));
    let hanging = mass + CARRIAGE_MASS + 2.0 * FINGER_MASS;
    let guide = Joint::slider("mast", WORLD, "carriage", mount, DVec3::Z);
    let raise = Motor::Velocity { target: SPEED, max_force: Some(1.05 * hanging * 9.81) };
    scene.joint(if lifts {
        guide.with(Coordinate::of("displacement").motor(raise).limit(Some(0.0), Some(LIFT)))
    } else {
        guide.with(Coordinate::of("displacement").motor(Motor::Velocity { target: 0.0, max_force: None }))
    });
    let press = values.real("margin") * mass * 9.81 / (2.0 * friction);
    for (name, side) in [("left finger", -1.0), ("right finger", 1.0)] {
        let at = center + DVec3::X * side * (BOX_EDGE + FINGER[0]) / 2.0;
        let mut arm =
            block(DVec3::Z * (CARRIAGE_ABOVE + FINGER[2] / 2.0) / 2.0, [0.06, 0.1, CARRIAGE_ABOVE - FINGER[2] / 2.0]);
        silent(&mut arm);
        scene.body(Body::new(name).at(at).with_mass(FINGER_MASS).placed_shape(rough(FINGER)).placed_shape(arm));
        let rail = Joint::slider(format!("{name} rail"), "carriage", name, at + DVec3::Z * CARRIAGE_ABOVE, DVec3::X);
        scene.joint(rail.with(Coordinate::of("displacement").motor(Motor::Force { value: -side * press })));
    }
    scene
}
