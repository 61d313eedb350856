//! Bender's walking machine: every leg is driven by one motor through a closed chain of two hinges and one slider.
//!
//! In the plane of a leg: a crank turns on the trunk; the leg hangs on the crank's pin and slides through a collar that
//! swivels on the trunk straight below the crank. Where the pin goes forward the foot goes back, further and flatter.
//! Legs of one side follow each other by half a turn, as do the two sides, so two sets of legs stand in turn.
//! With `ground` it walks: the trunk is free, and the feet start a little above the ground. A short crank and feet far apart keep its weight
//! between the three feet on which it stands, also while it speeds up and slows down in every step. Trunk, legs and feet meet the ground,
//! not each other.
//! 20 rows a leg on 18 freedoms that depend on the crank alone: three rows a leg are redundant.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, ParameterError, Values};
use crate::place::{ball, bar, block, silent, wxyz};

const CRANK_RADIUS: f64 = 0.07;
const COLLAR_BELOW_CRANK: f64 = 0.35;
const LEG_LENGTH: f64 = 0.95;
const LEG_SPACING: f64 = 0.7;
const HALF_WIDTH: f64 = 0.5;
const LEG_SECTION: f64 = 0.04;
const FOOT_RADIUS: f64 = 0.05;
const FOOT_FRICTION: f64 = 0.8;
const CLEARANCE: f64 = 0.02;
const TRUNK_MASS: f64 = 60.0;
/// Groups of what the machine is made of and of what it walks on.
const MACHINE: u32 = 2;
const GROUND: u32 = 1;

pub(crate) const ENTRY: Entry = Entry {
    name: "walker",
    collides: true,
    summary: "A walking machine whose legs are closed chains of crank, collar and slider, one motor each.",
    parameters: &[
        Parameter::count("legs", 6.0, 2.0, 100.0, "number of legs, an even number"),
        Parameter::real("speed", 3.0, -50.0, 50.0, "rad/s", "speed of the motors"),
        Parameter::switch("held", 1.0, "1: the trunk is held up, 0: the machine falls"),
        Parameter::switch("ground", 0.0, "1: the machine, held by nothing, walks on the ground"),
    ],
    build: machine,
};

fn machine(values: &Values) -> Result<Scene, ParameterError> {
    let legs = values.count("legs");
    if legs % 2 == 1 {
        let hint = format!("try {} or {}", legs - 1, legs + 1);
        return Err(values.reject("legs", format!("{legs} is odd, but legs come in pairs"), Some(hint)));
    }
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let rows = legs / 2;
    let length = rows as f64 * LEG_SPACING;
    let crank_height = DVec3::Z * (LEG_LENGTH + CRANK_RADIUS);
    let mut trunk = Body::new("trunk").at(crank_height).with_mass(TRUNK_MASS);
    trunk = trunk.shape(Geometry::Box { size: [length, 1.7 * HALF_WIDTH, 0.2] });

    let mut joints = Vec::new();
    let mut parts = Vec::new();
    let mut lowest = f64::INFINITY;
    for leg in 0..legs {
        let (row, side) = (leg / 2, if leg % 2 == 0 { 1.0 } else { -1.0 });
        let along = (row as f64 - (rows - 1) as f64 / 2.0) * LEG_SPACING;
        let crank = DVec3::new(along, side * HALF_WIDTH, 0.0) + crank_height;
        let half_turns = (row + leg % 2) as f64;
        let (rise, reach) = (half_turns * std::f64::consts::PI + 0.3).sin_cos();
        let pin = crank + CRANK_RADIUS * DVec3::new(reach, 0.0, rise);
        let collar = crank - DVec3::Z * COLLAR_BELOW_CRANK;
        let down = (collar - pin).normalize();
        let foot = pin + LEG_LENGTH * down;
        lowest = lowest.min(foot.z - FOOT_RADIUS);

        let post = collar - crank_height;
        trunk = trunk.placed_shape(block(post + DVec3::Z * COLLAR_BELOW_CRANK / 2.0, [0.04, 0.03, COLLAR_BELOW_CRANK]));
        let named = |part: &str| format!("leg{leg}.{part}");
        parts.push(bar(named("crank"), crank, pin, 0.05).with_mass(1.0));
        let shin = bar(named("shin"), pin, foot, LEG_SECTION).with_mass(3.0);
        parts.push(shin.placed_shape(ball(DVec3::X * LEG_LENGTH / 2.0, FOOT_RADIUS)));
        let turn = DQuat::from_rotation_arc(DVec3::X, down);
        let sleeve = Body::new(named("collar")).at(collar).oriented(wxyz(turn)).with_mass(0.5);
        parts.push(sleeve.shape(Geometry::Box { size: [0.1, 0.08, 0.08] }));

        let motor = Motor::Velocity { target: values.real("speed"), max_force: Some(200.0) };
        let driven = Joint::hinge(named("motor"), "trunk", named("crank"), crank, DVec3::Y);
        joints.push(driven.with(Coordinate::of("angle").motor(motor)));
        joints.push(Joint::hinge(named("pin"), named("crank"), named("shin"), pin, DVec3::Y));
        joints.push(Joint::slider(named("slide"), named("collar"), named("shin"), collar, down));
        joints.push(Joint::hinge(named("swivel"), "trunk", named("collar"), collar, DVec3::Y));
    }
    scene.bodies = std::iter::once(trunk).chain(parts).collect();
    let walks = values.is_on("ground");
    for body in &mut scene.bodies {
        let meets_ground = walks && (body.name == "trunk" || body.name.ends_with(".shin"));
        for shape in &mut body.shapes {
            shape.friction = FOOT_FRICTION;
            if meets_ground { (shape.group, shape.mask) = (MACHINE, GROUND) } else { silent(shape) }
        }
    }
    if walks {
        let plane = Shape::new(Geometry::Plane).friction(FOOT_FRICTION);
        scene.body(Body::fixed("ground").at(DVec3::Z * (lowest - CLEARANCE)).placed_shape(plane));
    }
    if values.is_on("held") && !walks {
        scene.joint(Joint::fixed("stand", WORLD, "trunk", crank_height));
    }
    scene.joints.extend(joints);
    Ok(scene)
}
