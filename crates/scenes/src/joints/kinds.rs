//! One exhibit for each kind of joint.

use glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, JointKind, Limit, Motor};

use super::{Exhibit, STEEL, Show, hook};
use crate::place::{ball, bar, beam, block, tube, wxyz};

pub(super) const SHOWS: &[(&str, Show)] = &[
    ("ball", ball_joint),
    ("hinge", hinge),
    ("slider", slider),
    ("cylindrical", cylindrical),
    ("planar", planar),
    ("universal", universal),
    ("fixed", fixed),
    ("point on line", point_on_line),
    ("point on plane", point_on_plane),
    ("orientation", orientation),
    ("distance", distance),
    ("rope", rope),
    ("screw", screw),
    ("gear", gear),
    ("rack", rack),
    ("differential", differential),
];

/// A bar goes round on a cone.
fn ball_joint(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.6)]);
    let (top, end) = (show.point(0.0, 0.0, 0.6), show.point(0.5, 0.0, -0.1));
    let turning = DVec3::Z * 4.0;
    let middle = (top + end) / 2.0;
    show.part(bar("bar", top, end, 0.08).with_density(STEEL).moving(turning.cross(middle - top), turning));
    show.joint(Joint::ball("joint", "mount", "bar", top));
}

/// A bar swings in a plane.
fn hinge(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.5)]);
    let (top, end) = (show.point(0.0, 0.0, 0.5), show.point(0.7, 0.0, 0.2));
    show.part(bar("bar", top, end, 0.08).with_density(STEEL));
    show.joint(Joint::hinge("joint", "mount", "bar", top, DVec3::Y));
}

/// A block runs down a rail and bounces off its end.
fn slider(show: &mut Exhibit) {
    let (low, high) = (DVec3::new(-0.7, 0.0, -0.3), DVec3::new(0.7, 0.0, 0.3));
    let down = (low - high).normalize();
    show.mount([beam(low, high, 0.05)]);
    let start = show.at + high + 0.2 * down;
    let turn = DQuat::from_rotation_arc(DVec3::X, -down);
    let block = Body::new("block").at(start).oriented(wxyz(turn)).with_density(STEEL);
    show.part(block.shape(Geometry::Box { size: [0.2, 0.2, 0.2] }));
    let stop = Coordinate { limit: Some(bouncing(0.0, 1.1)), ..Coordinate::of("displacement") };
    show.joint(Joint::slider("joint", "mount", "block", start, down).with(stop));
}

/// A disc slides along a level shaft on a spring and spins about it.
fn cylindrical(show: &mut Exhibit) {
    show.mount([tube(DVec3::X * -0.8, DVec3::X * 0.8, 0.03)]);
    let side = DVec3::X * 0.05;
    let disc = Body::new("disc").at(show.at).moving([1.5, 0.0, 0.0], [6.0, 0.0, 0.0]).with_density(STEEL);
    show.part(disc.placed_shape(tube(-side, side, 0.2)).placed_shape(ball(DVec3::Z * 0.17, 0.07)));
    let spring = Coordinate::of("displacement").spring(100.0, 0.0, 0.0);
    let joint = Joint::new(JointKind::Cylindrical, "joint", "mount", "disc").at(show.at).axis(DVec3::X);
    show.joint(joint.with(spring));
}

/// A plate glides and turns on a wall, on springs.
fn planar(show: &mut Exhibit) {
    show.mount([block(DVec3::Y * 0.08, [1.3, 0.04, 1.3])]);
    let plate = Body::new("plate").at(show.at).moving([0.9, 0.0, 0.0], [0.0, 3.0, 0.0]).with_density(STEEL);
    show.part(plate.shape(Geometry::Box { size: [0.35, 0.06, 0.2] }));
    let mut joint = Joint::new(JointKind::Planar, "joint", "mount", "plate").at(show.at).axis(DVec3::Y);
    for direction in ["x", "y"] {
        joint = joint.with(Coordinate::of(direction).spring(200.0, 0.0, 0.0));
    }
    show.joint(joint);
}

/// A shaft drives another through a Cardan joint, at 35° to it.
fn universal(show: &mut Exhibit) {
    let bend = 35.0_f64.to_radians();
    let out = DVec3::new(bend.cos(), 0.0, bend.sin());
    let outlet = 0.6 * out;
    show.mount([hook(DVec3::X * -0.6), hook(outlet)]);
    let (inlet, middle, end) = (show.point(-0.6, 0.0, 0.0), show.at, show.at + outlet);
    show.part(bar("driving", inlet, middle, 0.08).with_density(STEEL));
    show.part(bar("driven", middle, end, 0.08).with_density(STEEL));
    let motor = Motor::Velocity { target: 3.0, max_force: None };
    let bearing = Joint::hinge("driving bearing", "mount", "driving", inlet, DVec3::X);
    show.joint(bearing.with(Coordinate::of("angle").motor(motor)));
    let cross = Joint::new(JointKind::Universal, "joint", "driving", "driven").at(middle);
    show.joint(cross.axis(DVec3::Y).second_axis(out.cross(DVec3::Y)));
    show.joint(Joint::hinge("driven bearing", "mount", "driven", end, out));
}

/// Two bars swing as one.
fn fixed(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.6)]);
    let (top, corner, end) = (show.point(0.0, 0.0, 0.6), show.point(0.0, 0.0, 0.0), show.point(0.6, 0.0, 0.0));
    show.part(bar("upper", top, corner, 0.08).with_density(STEEL));
    show.part(bar("lower", corner, end, 0.08).with_density(STEEL));
    show.joint(Joint::hinge("hinge", "mount", "upper", top, DVec3::Y));
    show.joint(Joint::fixed("joint", "upper", "lower", corner));
}

/// A bar's end runs along a wire and the bar swings below it.
fn point_on_line(show: &mut Exhibit) {
    show.mount([tube(DVec3::new(-0.8, 0.0, 0.5), DVec3::new(0.8, 0.0, 0.5), 0.02)]);
    let (top, end) = (show.point(-0.3, 0.0, 0.5), show.point(0.1, 0.3, 0.0));
    show.part(bar("bar", top, end, 0.08).with_density(STEEL));
    let joint = Joint::new(JointKind::PointOnLine, "joint", "mount", "bar").at(top).axis(DVec3::X);
    show.joint(joint.with(Coordinate { limit: Some(bouncing(-0.45, 1.05)), ..Coordinate::of("displacement") }));
}

/// A bar's end glides under a ceiling.
fn point_on_plane(show: &mut Exhibit) {
    show.mount([block(DVec3::Z * 0.52, [1.4, 1.0, 0.04])]);
    let (top, end) = (show.point(-0.3, 0.0, 0.5), show.point(0.3, 0.1, 0.1));
    show.part(bar("bar", top, end, 0.08).with_density(STEEL));
    show.joint(Joint::new(JointKind::PointOnPlane, "joint", "mount", "bar").at(top).axis(DVec3::Z));
}

/// A block bounces about on springs but never turns.
fn orientation(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.6)]);
    let turn = DQuat::from_rotation_y(0.5);
    let block = Body::new("block").at(show.at).oriented(wxyz(turn)).moving([1.0, 0.5, 0.0], [0.0; 3]);
    show.part(block.with_density(STEEL).shape(Geometry::Box { size: [0.3, 0.15, 0.2] }));
    let mut joint = Joint::new(JointKind::Orientation, "joint", "mount", "block").at(show.at);
    for direction in ["x", "y", "z"] {
        joint = joint.with(Coordinate::of(direction).spring(300.0, 0.0, 0.0));
    }
    show.joint(joint);
}

/// A ball on a rod that weighs nothing.
fn distance(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.6)]);
    let weight = Body::new("weight").at(show.point(0.6, 0.0, 0.2)).with_density(STEEL);
    show.part(weight.shape(Geometry::Sphere { radius: 0.12 }));
    show.joint(Joint::distance("joint", "mount", [0.0, 0.0, 0.6], "weight", [0.0, 0.0, 0.12]));
}

/// A ball falls until its rope is tight.
fn rope(show: &mut Exhibit) {
    show.mount([hook(DVec3::Z * 0.6)]);
    let weight = Body::new("weight").at(show.point(0.3, 0.0, 0.4)).with_density(STEEL);
    show.part(weight.shape(Geometry::Sphere { radius: 0.12 }));
    show.joint(Joint::rope("joint", "mount", [0.0, 0.0, 0.6], "weight", [0.0, 0.0, 0.12], 0.9));
}

/// A heavy nut winds itself down a thread and bounces up again.
fn screw(show: &mut Exhibit) {
    show.mount([tube(DVec3::Z * -0.7, DVec3::Z * 0.7, 0.04)]);
    let half = DVec3::Z * 0.06;
    let nut = Body::new("nut").at(show.point(0.0, 0.0, 0.6)).with_density(STEEL);
    let nut = nut.placed_shape(tube(-half, half, 0.1)).placed_shape(block(DVec3::ZERO, [0.5, 0.08, 0.08]));
    show.part(nut);
    let joint = Joint::new(JointKind::Screw, "joint", "mount", "nut").at(show.point(0.0, 0.0, 0.6)).axis(DVec3::Z);
    let stop = Coordinate { limit: Some(bouncing(-1.2, 0.0)), ..Coordinate::of("displacement") };
    show.joint(Joint { pitch: Some(0.25), ..joint }.with(stop));
}

/// A small wheel drives a large one.
fn gear(show: &mut Exhibit) {
    let (small, large) = (0.2, 0.35);
    let (left, right) = (DVec3::X * -large, DVec3::X * small);
    show.mount([hook(left), hook(right)]);
    for (name, center, radius) in [("driving", left, small), ("driven", right, large)] {
        show.part(wheel(name, show.at + center, radius));
    }
    let motor = Motor::Velocity { target: 2.0, max_force: None };
    let driving = Joint::hinge("driving bearing", "mount", "driving", show.at + left, DVec3::Y);
    show.joint(driving.with(Coordinate::of("angle").motor(motor)));
    show.joint(Joint::hinge("driven bearing", "mount", "driven", show.at + right, DVec3::Y));
    show.joint(Joint::gear("joint", "driving bearing", "driven bearing", -small / large));
}

/// A pinion on a spring pushes a toothed bar to and fro.
fn rack(show: &mut Exhibit) {
    let radius = 0.25;
    show.mount([hook(DVec3::ZERO), hook(DVec3::new(0.0, 0.1, radius + 0.04))]);
    let turning = DVec3::Y * 6.0;
    show.part(wheel("pinion", show.at, radius).moving(DVec3::ZERO, turning));
    let bar_center = show.point(0.0, 0.0, radius + 0.04);
    let half = DVec3::X * 0.5;
    let toothed = bar("bar", bar_center - half, bar_center + half, 0.08).with_density(STEEL);
    show.part(toothed.moving(DVec3::X * radius * turning.y, DVec3::ZERO));
    let spring = Coordinate::of("angle").spring(20.0, 0.0, 0.0);
    show.joint(Joint::hinge("bearing", "mount", "pinion", show.at, DVec3::Y).with(spring));
    show.joint(Joint::slider("guide", "mount", "bar", bar_center, DVec3::X));
    show.joint(Joint::rack("joint", "bearing", "guide", radius));
}

/// Two wheels turn at different speeds; the cage between them at the mean.
fn differential(show: &mut Exhibit) {
    show.mount([tube(DVec3::X * -0.65, DVec3::X * 0.65, 0.03)]);
    for (name, x, radius, speed) in
        [("left", -0.5, 0.3, Some(4.0)), ("cage", 0.0, 0.2, None), ("right", 0.5, 0.3, Some(-1.0))]
    {
        let center = show.point(x, 0.0, 0.0);
        let half = DVec3::X * 0.06;
        let disc = Body::new(name).at(center).with_density(STEEL).placed_shape(tube(-half, half, radius));
        show.part(disc.placed_shape(block(DVec3::Z * 0.7 * radius, [0.16, 0.06, 0.06])));
        let mut shaft = Joint::hinge(format!("{name} shaft"), "mount", name, center, DVec3::X);
        if let Some(target) = speed {
            shaft = shaft.with(Coordinate::of("angle").motor(Motor::Velocity { target, max_force: Some(50.0) }));
        }
        show.joint(shaft);
    }
    show.joint(Joint::differential("joint", "left shaft", "right shaft", "cage shaft"));
}

fn bouncing(min: f64, max: f64) -> Limit {
    Limit { min: Some(min), max: Some(max), restitution: 0.8 }
}

/// A disc across y with a mark that shows how it turns.
fn wheel(name: &str, center: DVec3, radius: f64) -> Body {
    let half = DVec3::Y * 0.05;
    Body::new(name)
        .at(center)
        .with_density(STEEL)
        .placed_shape(tube(-half, half, radius))
        .placed_shape(block(DVec3::Z * 0.7 * radius, [0.05, 0.14, 0.05]))
}
