//! Placing things: bars and tubes between two points, turned bodies, points of intersection.

use glam::{DQuat, DVec2, DVec3};
use linkwork::scene::{Body, Geometry, Shape};

/// A quaternion in the order in which scenes write it.
pub(crate) fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

/// A point of the vertical x-z plane.
pub(crate) fn in_xz(p: DVec2) -> DVec3 {
    DVec3::new(p.x, 0.0, p.y)
}

/// The direction at an angle from +x towards +z.
pub(crate) fn heading(angle: f64) -> DVec2 {
    DVec2::new(angle.cos(), angle.sin())
}

/// A body named and placed between two points: origin in the middle, x towards `to`.
pub(crate) fn between(name: impl Into<String>, from: DVec3, to: DVec3) -> Body {
    let turn = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
    Body::new(name).at((from + to) / 2.0).oriented(wxyz(turn))
}

/// A straight bar of square section whose end faces are centred on two points.
pub(crate) fn bar(name: impl Into<String>, from: DVec3, to: DVec3, section: f64) -> Body {
    between(name, from, to).shape(Geometry::Box { size: [from.distance(to), section, section] })
}

/// A bar-shaped piece of a body, between two points of the body frame.
pub(crate) fn beam(from: DVec3, to: DVec3, section: f64) -> Shape {
    let turn = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
    Shape::new(Geometry::Box { size: [from.distance(to), section, section] }).at((from + to) / 2.0).oriented(wxyz(turn))
}

/// A round piece of a body, between two points of the body frame.
pub(crate) fn tube(from: DVec3, to: DVec3, radius: f64) -> Shape {
    let turn = DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize());
    Shape::new(Geometry::Cylinder { radius, length: from.distance(to) }).at((from + to) / 2.0).oriented(wxyz(turn))
}

/// A box-shaped piece of a body, its sides along the body's axes.
pub(crate) fn block(center: DVec3, size: [f64; 3]) -> Shape {
    Shape::new(Geometry::Box { size }).at(center)
}

/// A ball-shaped piece of a body.
pub(crate) fn ball(center: DVec3, radius: f64) -> Shape {
    Shape::new(Geometry::Sphere { radius }).at(center)
}

/// Which of the two points where circles meet: seen along the line from the first centre to the second.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The point at `from_p` from p and at `from_q` from q, on the given side of the line from p to q.
///
/// The circles must meet: every mechanism here has lengths for which they do, in every pose it is asked for.
pub(crate) fn circles_meet(p: DVec2, from_p: f64, q: DVec2, from_q: f64, side: Side) -> DVec2 {
    let span = p.distance(q);
    debug_assert!(span <= from_p + from_q && span >= (from_p - from_q).abs(), "circles do not meet");
    let forward = (q - p) / span;
    let along = (span * span + (from_p - from_q) * (from_p + from_q)) / (2.0 * span);
    let across = ((from_p - along) * (from_p + along)).max(0.0).sqrt();
    let left = forward.perp();
    p + along * forward + if side == Side::Left { across } else { -across } * left
}

/// Takes a piece of a body out of all collisions: it is only looked at and weighed.
pub(crate) fn silent(shape: &mut Shape) {
    (shape.group, shape.mask) = (0, 0);
}

/// Numbers that look random and are the same on every machine (splitmix64).
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Seeded(seed)
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (high - low) * ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A unit vector.
    pub(crate) fn direction(&mut self) -> DVec3 {
        let (up, around) = (self.between(-1.0, 1.0), self.between(0.0, std::f64::consts::TAU));
        let level = (1.0 - up * up).sqrt();
        DVec3::new(level * around.cos(), level * around.sin(), up)
    }
}
