//! The planar four-bar linkage of the reference trajectory, falling from rest.
//!
//! Plane x-z, ground pivots A = (0, 0) and D = (1, 0). Crank AB 0.6 m, coupler BC 1.1 m, rocker DC 0.8 m.
//! The crank starts 10° below +x; C is the lower of its two possible places. Each bar's x points along it, from A, B, D.

use glam::{DVec2, DVec3};
use linkwork::Scene;
use linkwork::scene::{Joint, Stepping, WORLD};

use crate::Entry;
use crate::place::{Side, bar, circles_meet, heading, in_xz};

const A: DVec2 = DVec2::new(0.0, 0.0);
const D: DVec2 = DVec2::new(1.0, 0.0);
const CRANK: f64 = 0.6;
const COUPLER: f64 = 1.1;
const ROCKER: f64 = 0.8;
const SECTION: f64 = 0.05;

pub(crate) const ENTRY: Entry = Entry {
    name: "four-bar",
    collides: false,
    summary: "A planar four-bar linkage falls from rest, as in the reference trajectory.",
    parameters: &[],
    build: |_| Ok(linkage()),
};

fn linkage() -> Scene {
    let mut scene = Scene { step: Stepping { dt: 0.01, duration: 5.0 }, ..Scene::default() };
    let b = A + CRANK * heading((-10.0_f64).to_radians());
    let c = circles_meet(b, COUPLER, D, ROCKER, Side::Right);

    scene.body(bar("crank", in_xz(A), in_xz(b), SECTION).with_mass(1.0));
    scene.body(bar("coupler", in_xz(b), in_xz(c), SECTION).with_mass(2.0));
    scene.body(bar("rocker", in_xz(D), in_xz(c), SECTION).with_mass(1.5));
    scene.joint(Joint::hinge("A", WORLD, "crank", in_xz(A), DVec3::Y));
    scene.joint(Joint::hinge("B", "crank", "coupler", in_xz(b), DVec3::Y));
    scene.joint(Joint::hinge("C", "coupler", "rocker", in_xz(c), DVec3::Y));
    scene.joint(Joint::hinge("D", WORLD, "rocker", in_xz(D), DVec3::Y));
    scene
}
