//! What can act on a joint's coordinates: limits, friction, damping, springs and motors.

use glam::DVec3;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Limit, Motor};

use super::{Exhibit, STEEL, Show, hook};
use crate::place::{ball, bar, beam, tube};

pub(super) const SHOWS: &[(&str, Show)] = &[
    ("hinge limit", hinge_limit),
    ("cone limit", cone_limit),
    ("dry friction", dry_friction),
    ("damping", damping),
    ("spring", spring),
    ("force", force),
    ("velocity", velocity),
    ("servo", servo),
];

/// A bar 0.7 m long that is let go level and swings under a hook, with something acting on the hinge.
fn swinging(show: &mut Exhibit, acting: Coordinate) {
    show.mount([hook(DVec3::Z * 0.4)]);
    let (top, end) = (show.point(0.0, 0.0, 0.4), show.point(0.7, 0.0, 0.4));
    show.part(bar("bar", top, end, 0.08).with_density(STEEL));
    show.joint(Joint::hinge("joint", "mount", "bar", top, DVec3::Y).with(acting));
}

/// The bar bounces between stops. The angle counts from the level start, downwards.
fn hinge_limit(show: &mut Exhibit) {
    let limit = Some(Limit { min: Some(0.0), max: Some(120.0_f64.to_radians()), restitution: 0.7 });
    swinging(show, Coordinate { limit, ..Coordinate::of("angle") });
}

/// A ball joint keeps its bar within 40° of where it hung, and from turning by more than 20° about itself.
fn cone_limit(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.6)]);
    let (top, end) = (show.point(0.0, 0.0, 0.6), show.point(0.0, 0.0, -0.2));
    let turning = DVec3::new(3.0, 3.0, 2.0);
    let middle = (top + end) / 2.0;
    let hanging = bar("bar", top, end, 0.08).with_density(STEEL).moving(turning.cross(middle - top), turning);
    show.part(hanging.placed_shape(ball(DVec3::new(0.4, 0.0, 0.06), 0.06)));
    let twist = 20.0_f64.to_radians();
    let joint = Joint::ball("joint", "mount", "bar", top).axis(DVec3::NEG_Z);
    let swing = Coordinate::of("swing").limit(None, Some(40.0_f64.to_radians()));
    show.joint(joint.with(swing).with(Coordinate::of("twist").limit(Some(-twist), Some(twist))));
}

/// The bar swings less and less and sticks short of the lowest point.
fn dry_friction(show: &mut Exhibit) {
    swinging(show, Coordinate::of("angle").friction(4.0));
}

/// The bar sinks as if through honey.
fn damping(show: &mut Exhibit) {
    swinging(show, Coordinate::of("angle").damping(8.0));
}

/// A weight bounces on a spring.
fn spring(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.7), beam(DVec3::new(0.0, 0.0, -0.6), DVec3::new(0.0, 0.0, 0.7), 0.03)]);
    let weight = Body::new("weight").at(show.point(0.0, 0.0, 0.3)).with_mass(8.0);
    show.part(weight.shape(Geometry::Box { size: [0.25; 3] }));
    let joint = Joint::slider("joint", "mount", "weight", show.point(0.0, 0.0, 0.3), DVec3::Z);
    show.joint(joint.with(Coordinate::of("displacement").spring(200.0, 2.0, 0.0)));
}

/// A steady force, a little more than the weight, lifts a block off its stop until it meets the upper one.
fn force(show: &mut Exhibit) {
    show.mount([beam(DVec3::Z * -0.7, DVec3::Z * 0.7, 0.03)]);
    let start = show.point(0.0, 0.0, -0.5);
    show.part(Body::new("block").at(start).with_mass(8.0).shape(Geometry::Box { size: [0.25; 3] }));
    let limit = Some(Limit { min: Some(0.0), max: Some(1.0), restitution: 0.6 });
    let motor = Some(Motor::Force { value: 85.0 });
    let acting = Coordinate { limit, motor, ..Coordinate::of("displacement") };
    show.joint(Joint::slider("joint", "mount", "block", start, DVec3::Z).with(acting));
}

/// A motor of limited torque brings a propeller to its speed.
fn velocity(show: &mut Exhibit) {
    show.mount([hook(DVec3::Y * 0.12)]);
    let half = DVec3::X * 0.6;
    show.part(bar("propeller", show.at - half, show.at + half, 0.1).with_density(STEEL));
    let motor = Motor::Velocity { target: 6.0, max_force: Some(2.0) };
    let joint = Joint::hinge("joint", "mount", "propeller", show.at, DVec3::Y);
    show.joint(joint.with(Coordinate::of("angle").motor(motor)));
}

/// An arm with a weight rises to its angle and, thanks to the integral gain, ends there exactly.
fn servo(show: &mut Exhibit) {
    show.mount([tube(DVec3::Z * -0.6, DVec3::ZERO, 0.05)]);
    let (foot, end) = (show.at, show.point(0.7, 0.0, 0.0));
    let arm = bar("arm", foot, end, 0.08).with_density(STEEL);
    show.part(arm.placed_shape(ball(DVec3::X * 0.35, 0.1)));
    let servo = Motor::Servo {
        target: -45.0_f64.to_radians(),
        target_velocity: 0.0,
        stiffness: 400.0,
        damping: 60.0,
        integral: 400.0,
        max_force: Some(200.0),
    };
    let joint = Joint::hinge("joint", "mount", "arm", foot, DVec3::Y);
    show.joint(joint.with(Coordinate::of("angle").motor(servo)));
}
