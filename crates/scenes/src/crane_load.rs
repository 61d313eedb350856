//! A boom hinged to a pillar, held by a tie rod, with a heavy load on a sling: reactions that can be computed by hand.
//!
//! The hinge is the origin. The boom (B = 200 kg, uniform) reaches 6 m along +x. The tie rod (R = 50 kg, uniform) leads from
//! the boom, 4 m out, to the pillar, 3 m above the hinge: 5 m long, direction u = (−4/5, 0, 3/5).
//! The sling (S = 20 kg) hangs from the boom's end with the load M. No freedom is left but that of the hanging load,
//! and no row is redundant, so every reaction is unique.
//!
//! By hand. A uniform rod shares its weight equally between its ends, so the tie rod acts on the boom with
//! T u − ½ R g z and on the pillar with −T u − ½ R g z, T the tension in its middle. Moments on the boom about the hinge:
//!
//! ```text
//! 4 m · (3/5 T − ½ R g) = 3 m · B g + 6 m · (S + M) g
//! T = g (3 B + 2 R + 6 (S + M)) / 2.4
//! hinge on boom: x = 4/5 T,   z = (B + ½ R + S + M) g − 3/5 T
//! ```
//!
//! With M = 7500 kg: T = 187 289.25 N, hinge x = 149 831.40 N, z = −36 395.10 N (the pillar holds the boom down).

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, JointKind, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{bar, block, tube};

const TIP: DVec3 = DVec3::new(6.0, 0.0, 0.0);
const TIE_FOOT: DVec3 = DVec3::new(4.0, 0.0, 0.0);
const TIE_HEAD: DVec3 = DVec3::new(0.0, 0.0, 3.0);
const SLING_LENGTH: f64 = 1.5;
const LOAD_EDGE: f64 = 1.0;
const BOOM_MASS: f64 = 200.0;
const TIE_MASS: f64 = 50.0;
const SLING_MASS: f64 = 20.0;

pub(crate) const ENTRY: Entry = Entry {
    name: "crane-load",
    collides: false,
    summary: "A crane's boom, tie rod and heavy load at rest, with reactions known by hand.",
    parameters: &[Parameter::real("load", 7500.0, 1.0, 1e9, "kg", "mass of the hanging load")],
    build: |values| Ok(crane(values)),
};

fn crane(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 5.0 }, ..Scene::default() };
    let hook = TIP - DVec3::Z * SLING_LENGTH;
    let load_center = hook - DVec3::Z * LOAD_EDGE / 2.0;

    scene.body(
        Body::fixed("pillar")
            .placed_shape(block(DVec3::new(0.0, 0.0, -0.5), [0.4, 0.4, 7.0]))
            .placed_shape(block(DVec3::new(0.0, 0.0, -4.1), [2.0, 2.0, 0.2])),
    );
    scene.body(bar("boom", DVec3::ZERO, TIP, 0.2).with_mass(BOOM_MASS));
    scene.body(bar("tie", TIE_FOOT, TIE_HEAD, 0.06).with_mass(TIE_MASS));
    let half_sling = DVec3::Z * SLING_LENGTH / 2.0;
    let sling = Body::new("sling").at(TIP - half_sling).with_mass(SLING_MASS);
    scene.body(sling.placed_shape(tube(-half_sling, half_sling, 0.04)));
    let load = Body::new("load").at(load_center).with_mass(values.real("load"));
    scene.body(load.shape(Geometry::Box { size: [LOAD_EDGE; 3] }));

    scene.joint(Joint::hinge("foot", "pillar", "boom", DVec3::ZERO, DVec3::Y));
    scene.joint(Joint::ball("tie foot", "boom", "tie", TIE_FOOT));
    // A Cardan joint keeps the rod from spinning about itself without adding a redundant row.
    let across = DVec3::Y.cross(TIE_HEAD - TIE_FOOT).normalize();
    scene.joint(
        Joint::new(JointKind::Universal, "tie head", "pillar", "tie").at(TIE_HEAD).axis(DVec3::Y).second_axis(across),
    );
    scene.joint(Joint::ball("tip", "boom", "sling", TIP));
    scene.joint(Joint::ball("hook", "sling", "load", hook));
    scene
}
