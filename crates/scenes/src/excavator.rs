//! An excavator of 8 t: boom, stick and bucket moved by hydraulic rams, each ram closing a loop; a full bucket of soil.
//!
//! Points lie in the plane y = 0 of the start pose, the ground is z = 0, the machine looks along +x.
//! Boom and stick are drawn in frames of their own: along the line between their pivots, and across it.
//! The bucket is turned by a four-bar linkage: the ram pushes the pin between a rocker on the stick and a link to the bucket.
//!
//! With `motion` = 0 the rams hold their length as stiff servos. With 1 they run at constant speed, as pumps drive them,
//! to the ends of their strokes: the boom rises, the stick reaches out, the bucket empties, and the house swings round.
//! With `motion` = 2 it digs: the boom comes down, the stick pulls in and the bucket curls through a heap of boxes; then only bucket,
//! boxes and ground collide, and there is no soil.
//! The undercarriage is fixed to the world by the joint "ground", whose reaction says whether the machine would tip.
//! Every loop is planar, so each of the four has three redundant rows; freedoms: slew, boom, stick, bucket.

use glam::{DVec2, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{bar, beam, block, heading, in_xz, silent, tube, wxyz};
use crate::ram::Ram;

const BOOM_FOOT: DVec2 = DVec2::new(0.35, 1.35);
const BOOM_LENGTH: f64 = 3.6;
const BOOM_ANGLE: f64 = 40.0;
const STICK_LENGTH: f64 = 1.8;
const STICK_ANGLE: f64 = -70.0;
const BOOM_RAM_FOOT: DVec2 = DVec2::new(0.75, 0.95);
const SLEW_BEARING: DVec3 = DVec3::new(0.0, 0.0, 0.8);

pub(crate) const ENTRY: Entry = Entry {
    name: "excavator",
    collides: true,
    summary: "An 8 t excavator holds or swings a full bucket on hydraulic rams.",
    parameters: &[
        Parameter::real("load", 1000.0, 0.0, 20000.0, "kg", "soil in the bucket"),
        Parameter::count(
            "motion",
            0.0,
            0.0,
            2.0,
            "1: lift, reach out, empty the bucket and swing, 2: dig in boxes, 0: hold",
        ),
    ],
    build: |values| Ok(machine(values)),
};

/// A straight line of a part, along which and across which (to the left) its points are given.
struct Line {
    start: DVec2,
    along: DVec2,
}

impl Line {
    fn new(start: DVec2, degrees: f64) -> Self {
        Line { start, along: heading(degrees.to_radians()) }
    }

    fn point(&self, along: f64, left: f64) -> DVec2 {
        self.start + along * self.along + left * self.along.perp()
    }
}

/// The pins of the start pose.
struct Pins {
    boom_foot: DVec2,
    boom_knee: DVec2,
    boom_ram_head: DVec2,
    stick_ram_foot: DVec2,
    boom_tip: DVec2,
    stick_ram_head: DVec2,
    bucket_ram_foot: DVec2,
    rocker_pivot: DVec2,
    linkage_pin: DVec2,
    bucket_pivot: DVec2,
    bucket_lug: DVec2,
}

impl Pins {
    fn new() -> Self {
        let boom = Line::new(BOOM_FOOT, BOOM_ANGLE);
        let stick = Line::new(boom.point(BOOM_LENGTH, 0.0), STICK_ANGLE);
        Pins {
            boom_foot: BOOM_FOOT,
            boom_knee: boom.point(1.7, 0.45),
            boom_ram_head: boom.point(1.75, 0.1),
            stick_ram_foot: boom.point(1.6, 0.65),
            boom_tip: boom.point(BOOM_LENGTH, 0.0),
            stick_ram_head: stick.point(-0.5, 0.0),
            bucket_ram_foot: stick.point(0.15, 0.3),
            rocker_pivot: stick.point(1.45, 0.02),
            linkage_pin: stick.point(1.36, 0.42),
            bucket_pivot: stick.point(STICK_LENGTH, 0.0),
            bucket_lug: stick.point(1.83, 0.3),
        }
    }
}

fn machine(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 8.0 }, ..Scene::default() };
    let pins = Pins::new();
    let motion = match values.count("motion") {
        0 => Motion::Hold,
        1 => Motion::Empty,
        _ => Motion::Dig,
    };
    add_carriage_and_house(&mut scene, motion == Motion::Empty);
    add_boom_and_stick(&mut scene, &pins);
    add_bucket(&mut scene, &pins, if motion == Motion::Dig { 0.0 } else { values.real("load") });
    add_rams(&mut scene, &pins, motion);
    for body in scene.bodies.iter_mut().filter(|body| motion != Motion::Dig || body.name != "bucket") {
        body.shapes.iter_mut().for_each(silent);
    }
    if motion == Motion::Dig {
        add_boxes(&mut scene);
    }
    scene
}

#[derive(Clone, Copy, PartialEq)]
enum Motion {
    Hold,
    Empty,
    Dig,
}

/// A heap of boxes on the ground where the bucket passes.
fn add_boxes(scene: &mut Scene) {
    scene.body(Body::fixed("earth").placed_shape(Shape::new(Geometry::Plane).friction(0.6)));
    let (edge, pitch) = (0.2, 0.21);
    for (layer, columns) in [(0, 9), (1, 7), (2, 5)] {
        for row in 0..6 {
            for column in 0..columns {
                let x = 3.2 + (column as f64 - 0.5 * f64::from(columns)) * pitch;
                let y = (f64::from(row) - 2.5) * pitch;
                let z = edge * (f64::from(layer) + 0.5);
                let cube = Shape::new(Geometry::Box { size: [edge; 3] }).friction(0.6);
                let name = format!("box{layer}.{row}.{column}");
                scene.body(Body::new(name).at([x, y, z]).with_density(1500.0).placed_shape(cube));
            }
        }
    }
}

fn add_carriage_and_house(scene: &mut Scene, moving: bool) {
    let track = |side: f64| block(DVec3::new(0.0, 0.95 * side, 0.3), [2.8, 0.45, 0.6]);
    scene.body(
        Body::new("undercarriage")
            .with_mass(2600.0)
            .placed_shape(track(1.0))
            .placed_shape(track(-1.0))
            .placed_shape(block(DVec3::new(0.0, 0.0, 0.45), [1.4, 1.5, 0.4]))
            .placed_shape(tube(DVec3::Z * 0.65, SLEW_BEARING, 0.55)),
    );
    let local = |x: f64, y: f64, z: f64| DVec3::new(x, y, z) - SLEW_BEARING;
    scene.body(
        Body::new("house")
            .at(SLEW_BEARING)
            .with_mass(3810.0)
            .placed_shape(block(local(-0.35, 0.0, 1.0), [2.4, 2.1, 0.35]))
            .placed_shape(block(local(-1.3, 0.0, 1.55), [0.6, 2.0, 0.75]))
            .placed_shape(block(local(-0.6, -0.5, 1.5), [0.8, 0.9, 0.6]))
            .placed_shape(block(local(0.15, 0.65, 1.95), [1.2, 0.75, 1.5]))
            .placed_shape(block(local(0.55, 0.0, 1.1), [0.6, 0.5, 0.5])),
    );
    scene.joint(Joint::fixed("ground", WORLD, "undercarriage", DVec3::ZERO));
    let slew = if moving {
        let motor = Motor::Velocity { target: 0.3, max_force: Some(6e4) };
        Coordinate::of("angle").motor(motor).limit(Some(-1.5), Some(1.5))
    } else {
        Coordinate::of("angle").motor(holding(5e6, 5e5, 6e4))
    };
    scene.joint(Joint::hinge("slew", "undercarriage", "house", SLEW_BEARING, DVec3::Z).with(slew));
}

fn add_boom_and_stick(scene: &mut Scene, pins: &Pins) {
    scene.body(
        planar("boom", pins.boom_foot)
            .with_mass(650.0)
            .placed_shape(local_beam(pins.boom_foot, pins.boom_foot, pins.boom_knee, 0.32))
            .placed_shape(local_beam(pins.boom_foot, pins.boom_knee, pins.boom_tip, 0.26))
            .placed_shape(local_beam(pins.boom_foot, pins.boom_knee, pins.boom_ram_head, 0.12))
            .placed_shape(local_beam(pins.boom_foot, pins.boom_knee, pins.stick_ram_foot, 0.12)),
    );
    scene.body(
        planar("stick", pins.boom_tip)
            .with_mass(330.0)
            .placed_shape(local_beam(pins.boom_tip, pins.stick_ram_head, pins.boom_tip, 0.2))
            .placed_shape(local_beam(pins.boom_tip, pins.boom_tip, pins.bucket_pivot, 0.24))
            .placed_shape(local_beam(pins.boom_tip, pins.boom_tip, pins.bucket_ram_foot, 0.12)),
    );
    scene.joint(Joint::hinge("boom foot", "house", "boom", in_xz(pins.boom_foot), DVec3::Y));
    scene.joint(Joint::hinge("stick pivot", "boom", "stick", in_xz(pins.boom_tip), DVec3::Y));
}

fn add_bucket(scene: &mut Scene, pins: &Pins, load: f64) {
    let pivot = pins.bucket_pivot;
    // The bucket's profile from its lug round the back to the teeth, seen from its pivot.
    let profile = [pins.bucket_lug - pivot, DVec2::new(0.42, -0.42), DVec2::new(0.1, -0.78), DVec2::new(-0.6, -0.55)];
    let mut bucket = planar("bucket", pivot).with_mass(280.0).placed_shape(plate(DVec2::ZERO, profile[0], 0.3, 0.08));
    for edge in profile.windows(2) {
        bucket = bucket.placed_shape(plate(edge[0], edge[1], 0.9, 0.05));
    }
    scene.body(bucket);
    scene.joint(Joint::hinge("bucket pivot", "stick", "bucket", in_xz(pivot), DVec3::Y));
    if load > 0.0 {
        let soil = in_xz(pivot + DVec2::new(0.0, -0.45));
        scene.body(Body::new("soil").at(soil).with_mass(load).shape(Geometry::Box { size: [0.65, 0.85, 0.5] }));
        scene.joint(Joint::fixed("soil in bucket", "bucket", "soil", soil));
    }

    scene.body(bar("rocker", in_xz(pins.rocker_pivot), in_xz(pins.linkage_pin), 0.08).with_mass(20.0));
    scene.body(bar("link", in_xz(pins.linkage_pin), in_xz(pins.bucket_lug), 0.08).with_mass(30.0));
    scene.joint(Joint::hinge("rocker pivot", "stick", "rocker", in_xz(pins.rocker_pivot), DVec3::Y));
    scene.joint(Joint::hinge("linkage pin", "rocker", "link", in_xz(pins.linkage_pin), DVec3::Y));
    scene.joint(Joint::hinge("bucket lug", "link", "bucket", in_xz(pins.bucket_lug), DVec3::Y));
}

fn add_rams(scene: &mut Scene, pins: &Pins, motion: Motion) {
    let drive = |speed: f64, shortest: f64, longest: f64, max_force: f64| {
        let motor = match motion {
            Motion::Hold => holding(5e7, 2e6, max_force),
            Motion::Empty => Motor::Velocity { target: speed, max_force: Some(max_force) },
            Motion::Dig => Motor::Velocity { target: -speed, max_force: Some(max_force) },
        };
        Coordinate::of("displacement").motor(motor).limit(Some(shortest), Some(longest))
    };
    let rams = [
        Ram {
            name: "boom ram",
            foot: ("house", in_xz(BOOM_RAM_FOOT)),
            head: ("boom", in_xz(pins.boom_ram_head)),
            radius: 0.08,
            mass: 120.0,
            drive: drive(0.04, -0.4, 0.2, 6e5),
        },
        Ram {
            name: "stick ram",
            foot: ("boom", in_xz(pins.stick_ram_foot)),
            head: ("stick", in_xz(pins.stick_ram_head)),
            radius: 0.07,
            mass: 90.0,
            drive: drive(-0.06, -0.35, 0.25, 4e5),
        },
        Ram {
            name: "bucket ram",
            foot: ("stick", in_xz(pins.bucket_ram_foot)),
            head: ("rocker", in_xz(pins.linkage_pin)),
            radius: 0.06,
            mass: 70.0,
            drive: drive(-0.04, -0.2, 0.25, 3e5),
        },
    ];
    for ram in rams {
        ram.add_to(scene);
    }
}

fn holding(stiffness: f64, damping: f64, max_force: f64) -> Motor {
    let max_force = Some(max_force);
    Motor::Servo { target: 0.0, target_velocity: 0.0, stiffness, damping, integral: 0.0, max_force }
}

/// A body of the plane whose frame stands at a pin, level.
fn planar(name: &str, pin: DVec2) -> Body {
    Body::new(name).at(in_xz(pin))
}

fn local_beam(pin: DVec2, from: DVec2, to: DVec2, section: f64) -> Shape {
    beam(in_xz(from - pin), in_xz(to - pin), section)
}

/// A plate across y between two points of the body's plane.
fn plate(from: DVec2, to: DVec2, width: f64, thickness: f64) -> Shape {
    let turn = glam::DQuat::from_rotation_arc(DVec3::X, in_xz(to - from).normalize());
    Shape::new(Geometry::Box { size: [from.distance(to), width, thickness] })
        .at(in_xz((from + to) / 2.0))
        .oriented(wxyz(turn))
}
