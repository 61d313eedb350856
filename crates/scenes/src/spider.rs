//! A round body with many legs: one body carries a great many joints.
//!
//! The body hangs by a ball joint on its back. Legs stand all around it: thigh on a ball joint, then shin and foot on
//! hinges along the tangent. At the start the whole turns about the vertical; the legs swing down from a spider's stance.
//! With more legs the body is wider and the legs are faster at the same spin; a given radius keeps the motion of a leg the same
//! whatever their number.
//! (Tomcin, Sibbing, Kobbelt 2014, figure 5a; 13 rows a leg and 3 for the body.)

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Joint, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{bar, tube};

const HIP_SPACING: f64 = 0.1;
const SMALLEST_RADIUS: f64 = 0.3;
const BODY_HEIGHT: f64 = 0.2;
const BODY_DENSITY: f64 = 100.0;
const LEG_DENSITY: f64 = 600.0;
/// Name, length (m), slope (degrees above the horizontal) and section (m) of each link, from the hip outwards.
const LINKS: [(&str, f64, f64, f64); 3] =
    [("thigh", 0.6, 35.0, 0.05), ("shin", 0.7, -50.0, 0.04), ("foot", 0.4, -80.0, 0.03)];

pub(crate) const ENTRY: Entry = Entry {
    name: "spider",
    collides: false,
    summary: "A hanging body with a great many three-link legs.",
    parameters: &[
        Parameter::count("legs", 50.0, 1.0, 5000.0, "number of legs"),
        Parameter::real("radius", 0.0, 0.0, 100.0, "m", "radius of the body; 0: so that legs stand side by side"),
        Parameter::real("spin", 1.5, -20.0, 20.0, "rad/s", "angular velocity about the vertical at the start"),
    ],
    build: |values| Ok(spider(values)),
};

fn spider(values: &Values) -> Scene {
    let legs = values.count("legs");
    let spin = DVec3::Z * values.real("spin");
    let turning = |body: Body| {
        let velocity = spin.cross(body.position.into());
        body.moving(velocity, spin)
    };
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let needed = (legs as f64 * HIP_SPACING / std::f64::consts::TAU).max(SMALLEST_RADIUS);
    let given = values.real("radius");
    let radius = if given > 0.0 { given } else { needed };
    let back = DVec3::Z * BODY_HEIGHT / 2.0;
    let trunk = Body::new("body").at(-back).with_density(BODY_DENSITY).placed_shape(tube(-back, back, radius));
    scene.body(turning(trunk));
    scene.joint(Joint::ball("thread", WORLD, "body", DVec3::ZERO));

    for leg in 0..legs {
        let around = leg as f64 / legs as f64 * std::f64::consts::TAU;
        let outwards = DVec3::new(around.cos(), around.sin(), 0.0);
        let tangent = DVec3::Z.cross(outwards);
        let mut previous = "body".to_string();
        let mut joint_at = radius * outwards - back;
        for (part, length, slope, section) in LINKS {
            let (rise, reach) = slope.to_radians().sin_cos();
            let end = joint_at + length * (reach * outwards + rise * DVec3::Z);
            let name = format!("leg{leg}.{part}");
            scene.body(turning(bar(&name, joint_at, end, section).with_density(LEG_DENSITY)));
            let joint = format!("leg{leg}.{}", if previous == "body" { "hip" } else { part });
            scene.joint(if previous == "body" {
                Joint::ball(joint, previous, &name, joint_at)
            } else {
                Joint::hinge(joint, previous, &name, joint_at, tangent)
            });
            previous = name;
            joint_at = end;
        }
    }
    scene
}
