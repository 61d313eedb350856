//! Jansen's walking machine: many legs on one crankshaft and one frame.
//!
//! A leg lies in a plane across y. From the crank's centre O, the frame's pivot A is `a` to the side and `l` below.
//! The crank pin P is `m` from O; bars j and k lead from it to the upper corner U of triangle b-d-e (A, U, V) and to the
//! knee W; c holds W from A; f leads from V to X of the foot triangle g-h-i (X, W, foot). Lengths are Jansen's, in cm.
//! Alternate legs are mirrored; crank pins follow each other by a third of a turn.
//!
//! With `ground` the frame is free, the machine is dropped and only its feet collide; the motor still turns the crank if it has
//! a `speed`. The crank is otherwise free: on a slope of 0.2 its gravity torque is held by the friction of feet at few angles only,
//! so the machine runs down like a wheel (in MuJoCo, too) unless a `brake` holds the crank. The ground is a plane through the origin that rises along +x by `slope`; the lowest foot starts 0.4 m above it.
//! Nine hinges a leg (45 rows) on 36 freedoms that depend on the crank alone: nine rows a leg are redundant.

use glam::{DQuat, DVec2, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Side, ball, bar, beam, circles_meet, heading, in_xz, silent, tube, wxyz};

/// Jansen's lengths, m.
pub(crate) mod jansen {
    pub(crate) const A: f64 = 0.380;
    pub(crate) const B: f64 = 0.415;
    pub(crate) const C: f64 = 0.393;
    pub(crate) const D: f64 = 0.401;
    pub(crate) const E: f64 = 0.558;
    pub(crate) const F: f64 = 0.394;
    pub(crate) const G: f64 = 0.367;
    pub(crate) const H: f64 = 0.657;
    pub(crate) const I: f64 = 0.490;
    pub(crate) const J: f64 = 0.500;
    pub(crate) const K: f64 = 0.619;
    pub(crate) const L: f64 = 0.078;
    pub(crate) const M: f64 = 0.150;
}

const LEG_PITCH: f64 = 0.05;
const SECTION: f64 = 0.01;
const BAR_MASS: f64 = 0.1;
const TRIANGLE_MASS: f64 = 0.2;
const CRANK_MASS_PER_LEG: f64 = 0.1;
const FRAME_MASS_PER_LEG: f64 = 1.0;
const FOOT_RADIUS: f64 = 0.01;
const FOOT_CLEARANCE: f64 = 0.4;
const FOOT_FRICTION: f64 = 0.6;
const MOTOR_TORQUE_PER_LEG: f64 = 5.0;

pub(crate) const ENTRY: Entry = Entry {
    name: "strandbeest",
    collides: true,
    summary: "Jansen's walking machine: every leg a closed linkage, all on one crankshaft.",
    parameters: &[
        Parameter::count("legs", 12.0, 1.0, 1000.0, "number of legs, 0.05 m apart"),
        Parameter::real("load", 0.0, 0.0, 1000.0, "", "mass added to the frame, in masses of the machine"),
        Parameter::switch("fixed_frame", 1.0, "1: the frame is held and a motor turns the crank, 0: it falls freely"),
        Parameter::real("speed", 4.0, -100.0, 100.0, "rad/s", "speed of the motor while the frame is held"),
        Parameter::switch("ground", 0.0, "1: the machine, its frame free, is dropped on the ground"),
        Parameter::real("slope", 0.0, -1.0, 1.0, "", "rise of the ground along x, as a tangent"),
        Parameter::switch("walk", 0.0, "1: the motor turns the crank on the ground too"),
        Parameter::switch(
            "brake",
            0.0,
            "1: a brake holds the crank on the ground; without it the machine runs down slopes",
        ),
    ],
    build: |values| Ok(machine(values)),
};

/// Collision groups.
const GROUND: u32 = 1;
const FEET: u32 = 2;

/// The joints of one leg, seen from the crank's centre: x towards the far side of the machine, z up.
pub(crate) struct Leg {
    pub(crate) pin: DVec2,
    pub(crate) pivot: DVec2,
    pub(crate) upper: DVec2,
    pub(crate) knee: DVec2,
    pub(crate) outer: DVec2,
    pub(crate) heel: DVec2,
    pub(crate) foot: DVec2,
}

impl Leg {
    pub(crate) fn new(crank_angle: f64, mirrored: bool) -> Self {
        let flip = |p: DVec2| if mirrored { DVec2::new(-p.x, p.y) } else { p };
        // Solved as a leg of the left side; a mirrored leg sees the crank pin mirrored.
        let pin = flip(jansen::M * heading(crank_angle));
        let pivot = DVec2::new(-jansen::A, -jansen::L);
        let upper = circles_meet(pivot, jansen::B, pin, jansen::J, Side::Left);
        let knee = circles_meet(pivot, jansen::C, pin, jansen::K, Side::Right);
        let outer = circles_meet(pivot, jansen::D, upper, jansen::E, Side::Left);
        let heel = circles_meet(outer, jansen::F, knee, jansen::G, Side::Right);
        let foot = circles_meet(heel, jansen::H, knee, jansen::I, Side::Right);
        Leg {
            pin: flip(pin),
            pivot: flip(pivot),
            upper: flip(upper),
            knee: flip(knee),
            outer: flip(outer),
            heel: flip(heel),
            foot: flip(foot),
        }
    }
}

fn machine(values: &Values) -> Scene {
    let legs = values.count("legs");
    let mut scene = Scene { step: Stepping { dt: 0.02, duration: 5.0 }, ..Scene::default() };
    let poses: Vec<Leg> =
        (0..legs).map(|leg| Leg::new(leg as f64 * std::f64::consts::TAU / 3.0, leg % 2 == 1)).collect();
    let slope = values.real("slope");
    let clearance = |leg: &Leg| leg.foot.y - slope * leg.foot.x;
    let lowest = poses.iter().map(clearance).fold(f64::INFINITY, f64::min);
    let origin = DVec3::Z * (FOOT_CLEARANCE + FOOT_RADIUS - lowest);
    let last = (legs - 1) as f64 * LEG_PITCH;

    scene.body(frame(origin, last, values.real("load"), legs));
    scene.body(crankshaft(origin, last, &poses));
    let mut main_bearing = Joint::hinge("crankshaft", "frame", "crank", origin - DVec3::Y * LEG_PITCH, DVec3::Y);
    let (on_ground, held) = (values.is_on("ground"), values.is_on("fixed_frame") && !values.is_on("ground"));
    if held {
        scene.joint(Joint::fixed("stand", WORLD, "frame", origin - DVec3::Y * LEG_PITCH));
    }
    if held || (on_ground && values.is_on("walk")) {
        let max_force = Some(MOTOR_TORQUE_PER_LEG * legs as f64);
        main_bearing = main_bearing
            .with(Coordinate::of("angle").motor(Motor::Velocity { target: values.real("speed"), max_force }));
    } else if on_ground && values.is_on("brake") {
        main_bearing =
            main_bearing.with(Coordinate::of("angle").motor(Motor::Velocity { target: 0.0, max_force: None }));
    }
    scene.joint(main_bearing);
    for (index, pose) in poses.iter().enumerate() {
        add_leg(&mut scene, index, origin + DVec3::Y * (index as f64 * LEG_PITCH), pose);
    }
    scene.bodies.iter_mut().flat_map(|body| &mut body.shapes).for_each(silent);
    if on_ground {
        for foot in scene.bodies.iter_mut().filter(|body| body.name.ends_with(".ghi")) {
            if let Some(sole) = foot.shapes.last_mut() {
                *sole = sole.clone().groups(FEET, GROUND).friction(FOOT_FRICTION);
            }
        }
        let plane = Shape::new(Geometry::Plane).groups(GROUND, FEET).friction(FOOT_FRICTION);
        let tilt = DQuat::from_rotation_y(-slope.atan());
        scene.body(Body::fixed("ground").oriented(wxyz(tilt)).placed_shape(plane));
    }
    scene
}

fn frame(origin: DVec3, last: f64, load: f64, legs: usize) -> Body {
    let machine = (4.0 * BAR_MASS + 2.0 * TRIANGLE_MASS + CRANK_MASS_PER_LEG + FRAME_MASS_PER_LEG) * legs as f64;
    let mass = FRAME_MASS_PER_LEG * legs as f64 + load * machine;
    let (front, back) = (DVec3::Y * -LEG_PITCH, DVec3::Y * (last + LEG_PITCH));
    let left = DVec3::new(-jansen::A, 0.0, -jansen::L);
    let right = DVec3::new(jansen::A, 0.0, -jansen::L);
    let mut frame = Body::new("frame").at(origin).with_mass(mass);
    for side in [left, right] {
        frame = frame.placed_shape(tube(front + side, back + side, SECTION));
        for end in [front, back] {
            frame = frame.placed_shape(beam(end, end + side, 2.0 * SECTION));
        }
    }
    frame
}

fn crankshaft(origin: DVec3, last: f64, poses: &[Leg]) -> Body {
    let mut crank = Body::new("crank").at(origin).with_mass(CRANK_MASS_PER_LEG * poses.len() as f64);
    crank = crank.placed_shape(tube(DVec3::Y * -LEG_PITCH, DVec3::Y * (last + LEG_PITCH), SECTION));
    for (index, pose) in poses.iter().enumerate() {
        let middle = DVec3::Y * (index as f64 * LEG_PITCH);
        crank = crank.placed_shape(beam(middle, middle + in_xz(pose.pin), SECTION));
    }
    crank
}

fn add_leg(scene: &mut Scene, index: usize, center: DVec3, pose: &Leg) {
    let world = |p: DVec2| center + in_xz(p);
    let named = |part: &str| format!("leg{index}.{part}");
    for (part, from, to) in [
        ("j", pose.pin, pose.upper),
        ("k", pose.pin, pose.knee),
        ("c", pose.pivot, pose.knee),
        ("f", pose.outer, pose.heel),
    ] {
        scene.body(bar(named(part), world(from), world(to), SECTION).with_mass(BAR_MASS));
    }
    scene.body(triangle(named("bde"), [pose.pivot, pose.upper, pose.outer].map(world)));
    let foot = triangle(named("ghi"), [pose.heel, pose.knee, pose.foot].map(world));
    let sole = world(pose.foot) - DVec3::from(foot.position);
    scene.body(foot.placed_shape(ball(sole, FOOT_RADIUS)));

    for (first, second, at) in [
        ("crank", "j", pose.pin),
        ("crank", "k", pose.pin),
        ("frame", "bde", pose.pivot),
        ("frame", "c", pose.pivot),
        ("j", "bde", pose.upper),
        ("k", "ghi", pose.knee),
        ("c", "ghi", pose.knee),
        ("bde", "f", pose.outer),
        ("f", "ghi", pose.heel),
    ] {
        let a = if matches!(first, "crank" | "frame") { first.to_string() } else { named(first) };
        scene.joint(Joint::hinge(named(&format!("{first}-{second}")), a, named(second), world(at), DVec3::Y));
    }
}

fn triangle(name: String, corners: [DVec3; 3]) -> Body {
    let middle = corners.iter().sum::<DVec3>() / 3.0;
    let [p, q, r] = corners.map(|corner| corner - middle);
    Body::new(name)
        .at(middle)
        .with_mass(TRIANGLE_MASS)
        .placed_shape(beam(p, q, SECTION))
        .placed_shape(beam(q, r, SECTION))
        .placed_shape(beam(r, p, SECTION))
}
