//! The Peaucellier-Lipkin linkage hangs from O and swings; its point Q stays on the level line z = −2.1 m.
//!
//! In the plane x-z: long bars OA and OB (2 m), a rhombus A-P-B-Q (0.8 m), and a crank from E, 0.8 m below O, to P.
//! O, P and Q are in line and |OP| |OQ| = 2² − 0.8² always; P runs on a circle through O, so Q runs on a straight line.
//! Q is the far end of the bars "AQ" and "BQ": body point (0.4, 0, 0) of each.
//!
//! `angle` is that of OQ from the vertical. At 41.41° the rhombus is flat and the linkage singular; it is let go just
//! short of that and swings through to the same near-singular pose on the other side.
//! 50 rows on 42 freedoms with one left: 9 rows are redundant. (Tomcin, Sibbing, Kobbelt 2014, figure 3.)

use glam::{DVec2, DVec3};
use linkwork::Scene;
use linkwork::scene::{Joint, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Side, bar, circles_meet, heading, in_xz};

const LONG: f64 = 2.0;
const SHORT: f64 = 0.8;
const CRANK: f64 = 0.8;
const SECTION: f64 = 0.05;
const MASS_PER_LENGTH: f64 = 2.0;

pub(crate) const ENTRY: Entry = Entry {
    name: "peaucellier",
    collides: false,
    summary: "A Peaucellier-Lipkin linkage swings between near-singular poses; its tip draws a straight line.",
    parameters: &[Parameter::real("angle", 41.3, -41.4, 41.4, "deg", "start angle of the linkage from the vertical")],
    build: |values| Ok(linkage(values)),
};

fn linkage(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 0.03, duration: 15.0 }, ..Scene::default() };
    let from_vertical = values.real("angle").to_radians();
    let towards_q = heading(from_vertical - std::f64::consts::FRAC_PI_2);
    let o = DVec2::ZERO;
    let e = DVec2::new(0.0, -CRANK);
    let p = 2.0 * CRANK * from_vertical.cos() * towards_q;
    let q = (LONG * LONG - SHORT * SHORT) / p.length() * towards_q;
    let a = circles_meet(o, LONG, p, SHORT, Side::Left);
    let b = circles_meet(o, LONG, p, SHORT, Side::Right);

    for (name, from, to) in
        [("OA", o, a), ("OB", o, b), ("AP", a, p), ("BP", b, p), ("AQ", a, q), ("BQ", b, q), ("EP", e, p)]
    {
        scene.body(bar(name, in_xz(from), in_xz(to), SECTION).with_mass(MASS_PER_LENGTH * from.distance(to)));
    }
    for (first, second, at) in [
        (WORLD, "OA", o),
        (WORLD, "OB", o),
        (WORLD, "EP", e),
        ("OA", "AP", a),
        ("OA", "AQ", a),
        ("OB", "BP", b),
        ("OB", "BQ", b),
        ("AP", "BP", p),
        ("AP", "EP", p),
        ("AQ", "BQ", q),
    ] {
        scene.joint(Joint::hinge(format!("{first}-{second}"), first, second, in_xz(at), DVec3::Y));
    }
    scene
}
