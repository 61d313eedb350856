//! A Stewart platform: six rams between a base and a platform, six freedoms, six servos.
//!
//! Base joints sit in three pairs on a circle of 1 m, platform joints in three pairs on a circle of 0.7 m, turned so that
//! neighbouring rams lean against each other. A ram is a cylinder on a Cardan joint at the base, a rod sliding in it, and
//! a ball joint at the platform. The servos are given the lengths that put the platform exactly where the parameters say.
//! 72 rows on 78 freedoms: six are left, none of the rows is redundant.

use glam::{DQuat, DVec3, EulerRot};
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Joint, JointKind, Motor, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{ball, between, tube};

const BASE_RADIUS: f64 = 1.0;
const PLATFORM_RADIUS: f64 = 0.7;
const HEIGHT: f64 = 1.0;
/// Half the angle between the joints of a pair, rad.
const HALF_PAIR: f64 = 0.2;
const CYLINDER_LENGTH: f64 = 0.7;
const ROD_LENGTH: f64 = 0.8;
const CYLINDER_MASS: f64 = 10.0;
const ROD_MASS: f64 = 5.0;
const PLATFORM_MASS: f64 = 60.0;
const STIFFNESS: f64 = 4e5;
const DAMPING: f64 = 2e4;

pub(crate) const ENTRY: Entry = Entry {
    name: "stewart",
    collides: false,
    summary: "Six servo rams move a loaded platform in all six directions.",
    parameters: &[
        Parameter::real("surge", 0.1, -0.2, 0.2, "m", "where the platform shall go along x"),
        Parameter::real("sway", 0.0, -0.2, 0.2, "m", "where the platform shall go along y"),
        Parameter::real("heave", 0.15, -0.2, 0.2, "m", "where the platform shall go along z"),
        Parameter::real("roll", 8.0, -15.0, 15.0, "deg", "how far the platform shall turn about x"),
        Parameter::real("pitch", -5.0, -15.0, 15.0, "deg", "how far the platform shall turn about y"),
        Parameter::real("yaw", 10.0, -20.0, 20.0, "deg", "how far the platform shall turn about z"),
        Parameter::real("load", 500.0, 0.0, 1e5, "kg", "mass added to the platform"),
    ],
    build: |values| Ok(platform(values)),
};

fn platform(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 120.0, duration: 4.0 }, ..Scene::default() };
    let center = DVec3::Z * HEIGHT;
    let shift = DVec3::new(values.real("surge"), values.real("sway"), values.real("heave"));
    let turn = DQuat::from_euler(
        EulerRot::ZYX,
        values.real("yaw").to_radians(),
        values.real("pitch").to_radians(),
        values.real("roll").to_radians(),
    );

    scene.body(Body::fixed("base").placed_shape(tube(DVec3::Z * -0.15, DVec3::Z * -0.05, 1.1 * BASE_RADIUS)));
    scene.body(Body::new("platform").at(center).with_mass(PLATFORM_MASS + values.real("load")).placed_shape(tube(
        DVec3::Z * -0.05,
        DVec3::Z * 0.05,
        1.1 * PLATFORM_RADIUS,
    )));
    for ram in 0..6 {
        let foot = on_circle(BASE_RADIUS, base_angle(ram));
        let head = on_circle(PLATFORM_RADIUS, platform_angle(ram)) + center;
        let goal = turn * (head - center) + center + shift;
        add_ram(&mut scene, ram, foot, head, goal.distance(foot) - head.distance(foot));
    }
    scene
}

fn add_ram(scene: &mut Scene, ram: usize, foot: DVec3, head: DVec3, extension: f64) {
    let along = (head - foot).normalize();
    let across = along.cross(DVec3::Z).normalize();
    let (cylinder, rod) = (format!("cylinder{ram}"), format!("rod{ram}"));
    let cylinder_end = foot + CYLINDER_LENGTH * along;
    let rod_end = head - ROD_LENGTH * along;
    let x = DVec3::X;
    scene.body(between(&cylinder, foot, cylinder_end).with_mass(CYLINDER_MASS).placed_shape(tube(
        x * -CYLINDER_LENGTH / 2.0,
        x * CYLINDER_LENGTH / 2.0,
        0.05,
    )));
    scene.body(
        between(&rod, rod_end, head)
            .with_mass(ROD_MASS)
            .placed_shape(tube(x * -ROD_LENGTH / 2.0, x * ROD_LENGTH / 2.0, 0.025))
            .placed_shape(ball(x * ROD_LENGTH / 2.0, 0.05)),
    );
    scene.joint(
        Joint::new(JointKind::Universal, format!("foot{ram}"), "base", &cylinder)
            .at(foot)
            .axis(across)
            .second_axis(along.cross(across)),
    );
    let servo = Motor::Servo {
        target: extension,
        target_velocity: 0.0,
        stiffness: STIFFNESS,
        damping: DAMPING,
        integral: 0.0,
        max_force: Some(5e4),
    };
    scene.joint(
        Joint::slider(format!("ram{ram}"), cylinder, &rod, cylinder_end, along)
            .with(Coordinate::of("displacement").motor(servo)),
    );
    scene.joint(Joint::ball(format!("head{ram}"), rod, "platform", head));
}

fn base_angle(ram: usize) -> f64 {
    pair_angle(ram) + lean(ram) * HALF_PAIR
}

/// Pairs of the platform stand between those of the base, so the rams of a base pair lean apart.
fn platform_angle(ram: usize) -> f64 {
    pair_angle(ram) + lean(ram) * (std::f64::consts::TAU / 6.0 - HALF_PAIR)
}

fn pair_angle(ram: usize) -> f64 {
    (ram / 2) as f64 * std::f64::consts::TAU / 3.0
}

fn lean(ram: usize) -> f64 {
    if ram.is_multiple_of(2) { -1.0 } else { 1.0 }
}

fn on_circle(radius: f64, angle: f64) -> DVec3 {
    radius * DVec3::new(angle.cos(), angle.sin(), 0.0)
}
