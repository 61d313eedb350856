//! A heavy symmetric top on a ball joint at the origin.
//!
//! With C the moment about the axis, A the one across it at the tip, s the spin about the axis, t the tilt from upright
//! and r the centre's distance from the tip, the top goes round steadily at every rate p with
//! `C s p − A p² cos t = m g r`. With `steady` it starts at the slower of the two; without, it is let go and nods.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Joint, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, ParameterError, Values};
use crate::place::{tube, wxyz};

const MASS: f64 = 1.0;
const RADIUS: f64 = 0.1;
const THICKNESS: f64 = 0.02;
const CENTER_FROM_TIP: f64 = 0.15;
const GRAVITY: f64 = 9.81;

pub(crate) const ENTRY: Entry = Entry {
    name: "top",
    collides: false,
    summary: "A heavy spinning top on a ball joint goes round and nods.",
    parameters: &[
        Parameter::real("spin", 100.0, -2000.0, 2000.0, "rad/s", "angular velocity about the top's own axis"),
        Parameter::real("tilt", 30.0, 0.0, 180.0, "deg", "angle of the axis from upright"),
        Parameter::switch("steady", 0.0, "1: start in steady precession, 0: let the axis go from rest"),
    ],
    build: top,
};

fn top(values: &Values) -> Result<Scene, ParameterError> {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 240.0, duration: 10.0 }, ..Scene::default() };
    let spin = values.real("spin");
    let tilt = values.real("tilt").to_radians();
    let turn = DQuat::from_rotation_y(tilt);
    let axis = turn * DVec3::Z;

    let about_axis = MASS * RADIUS * RADIUS / 2.0;
    let across_axis = MASS * (3.0 * RADIUS * RADIUS + THICKNESS * THICKNESS) / 12.0;
    let across_at_tip = across_axis + MASS * CENTER_FROM_TIP * CENTER_FROM_TIP;

    let mut turning = spin * axis;
    if values.is_on("steady") {
        let weight_moment = MASS * GRAVITY * CENTER_FROM_TIP;
        let momentum = about_axis * spin;
        let discriminant = momentum * momentum - 4.0 * across_at_tip * tilt.cos() * weight_moment;
        if discriminant < 0.0 || spin == 0.0 {
            let least = (4.0 * across_at_tip * tilt.cos().max(0.0) * weight_moment).sqrt() / about_axis;
            let problem = format!("at {spin} rad/s there is no steady precession");
            return Err(values.reject(
                "spin",
                problem,
                Some(format!("it takes more than {least:.1} rad/s, or steady = 0")),
            ));
        }
        // Written so that the horizontal axis, where the equation is linear, is no special case.
        let precession = 2.0 * weight_moment / (momentum + momentum.signum() * discriminant.sqrt());
        turning += precession * (DVec3::Z - axis.z * axis);
    }

    let center = CENTER_FROM_TIP * axis;
    let mut body = Body::new("top")
        .at(center)
        .oriented(wxyz(turn))
        .moving(turning.cross(center), turning)
        .with_mass(MASS)
        .with_inertia([across_axis, across_axis, about_axis])
        .placed_shape(tube(-DVec3::Z * THICKNESS / 2.0, DVec3::Z * THICKNESS / 2.0, RADIUS))
        .placed_shape(tube(-DVec3::Z * CENTER_FROM_TIP, DVec3::Z * 0.06, 0.006));
    // The stem is for the eye only: the disc carries the mass.
    body.center_of_mass = Some([0.0; 3]);
    scene.body(body);
    scene.joint(Joint::ball("tip", WORLD, "top", DVec3::ZERO));
    Ok(scene)
}
