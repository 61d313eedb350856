//! The coordinates of joints: what is free, as numbers a user reads, limits and drives.

use super::rows::Row;
use super::{JointModel, Motion};
use crate::math::{Placed, rotation};
use crate::scene::JointKind;
use glam::{DMat3, DVec3};
use std::f64::consts::TAU;

/// A way to measure the pose of b against a by one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoordinateKind {
    /// Rotation of b about the common axis z.
    Angle,
    /// Displacement of b's anchor along axis k of a's frame.
    Along(u8),
    /// Component k, in a's frame, of the rotation vector from a's frame to b's.
    RotationVector(u8),
    /// Angle between the axes z of a and b.
    Swing,
    /// Rotation of b about its axis z, after the swing is undone.
    Twist,
    /// Rotation of a universal joint's cross about the axis of a.
    AngleA,
    /// Rotation of b about its own axis, against the cross.
    AngleB,
    /// Distance of the anchors.
    Length,
}

use CoordinateKind::{Along, Angle, AngleA, AngleB, Length, RotationVector, Swing, Twist};

/// Names and kinds of a joint's coordinates.
pub(crate) fn coordinates_of(kind: JointKind) -> &'static [(&'static str, CoordinateKind)] {
    match kind {
        JointKind::Ball => &[
            ("x", RotationVector(0)),
            ("y", RotationVector(1)),
            ("z", RotationVector(2)),
            ("swing", Swing),
            ("twist", Twist),
        ],
        JointKind::Hinge => &[("angle", Angle)],
        JointKind::Slider | JointKind::PointOnLine => &[("displacement", Along(2))],
        JointKind::Cylindrical => &[("displacement", Along(2)), ("angle", Angle)],
        JointKind::Planar => &[("x", Along(0)), ("y", Along(1)), ("angle", Angle)],
        JointKind::Universal => &[("angle_a", AngleA), ("angle_b", AngleB)],
        JointKind::PointOnPlane => &[("x", Along(0)), ("y", Along(1))],
        JointKind::Orientation => &[("x", Along(0)), ("y", Along(1)), ("z", Along(2))],
        JointKind::Distance | JointKind::Rope => &[("length", Length)],
        JointKind::Screw => &[("angle", Angle), ("displacement", Along(2))],
        JointKind::Fixed | JointKind::Gear | JointKind::Rack | JointKind::Differential => &[],
    }
}

impl CoordinateKind {
    pub fn is_angle(self) -> bool {
        !matches!(self, Along(_) | Length)
    }

    /// Whether the raw value jumps by a turn somewhere, so that turns must be counted.
    pub fn wraps(self) -> bool {
        matches!(self, Angle | AngleA | AngleB | Twist)
    }

    /// Swing is measured from one side and twist has no direction there: they can be limited, not driven.
    pub fn can_be_driven(self) -> bool {
        !matches!(self, Swing | Twist)
    }

    /// The value, angles within (−π, π].
    pub fn raw(self, m: &JointModel, a: &Placed, b: &Placed) -> f64 {
        match self {
            Angle => {
                let x = b.r * m.frame_b.x_axis;
                x.dot(a.r * m.frame_a.y_axis).atan2(x.dot(a.r * m.frame_a.x_axis))
            }
            Along(k) => (a.r * m.frame_a.col(k as usize)).dot(m.gap(a, b)),
            RotationVector(k) => m.rotation_vector(a, b)[k as usize],
            Swing => {
                let (za, zb) = (a.r * m.frame_a.z_axis, b.r * m.frame_b.z_axis);
                za.cross(zb).length().atan2(za.dot(zb))
            }
            Twist => {
                let q = (a.q * m.turn_a).inverse() * (b.q * m.turn_b);
                let q = if q.w < 0.0 { -q } else { q };
                2.0 * q.z.atan2(q.w)
            }
            AngleA => {
                let w = b.r * m.frame_b.z_axis;
                m.wrapped(w.dot(a.r * m.frame_a.y_axis).atan2(w.dot(a.r * m.frame_a.x_axis)) - m.zero_a)
            }
            AngleB => {
                let u = a.r * m.frame_a.z_axis;
                m.wrapped(m.zero_b - u.dot(b.r * m.frame_b.y_axis).atan2(u.dot(b.r * m.frame_b.x_axis)))
            }
            Length => m.gap(a, b).length(),
        }
    }

    /// The value with the turns that bring it nearest to `near`.
    pub fn unwrapped(self, m: &JointModel, a: &Placed, b: &Placed, near: f64) -> f64 {
        let raw = self.raw(m, a, b);
        if self.wraps() { raw + TAU * ((near - raw) / TAU).round() } else { raw }
    }

    /// The rate of the value as a row.
    pub fn row(self, m: &JointModel, a: &Placed, b: &Placed) -> Row {
        match self {
            Angle => Row::turning(a.r * m.frame_a.z_axis),
            Along(k) => m.sliding_row(a, b, a.r * m.frame_a.col(k as usize)),
            RotationVector(k) => {
                // θ̇ = J⁻¹(θ) ω in a's frame, J the left Jacobian of the rotation group
                let theta = m.rotation_vector(a, b);
                let g = inverse_left_jacobian(theta).transpose().col(k as usize);
                Row::turning(a.r * (m.frame_a * g))
            }
            Swing => {
                let (za, zb) = (a.r * m.frame_a.z_axis, b.r * m.frame_b.z_axis);
                Row::turning(za.cross(zb).try_normalize().unwrap_or(a.r * m.frame_a.x_axis))
            }
            Twist => {
                let (za, zb) = (a.r * m.frame_a.z_axis, b.r * m.frame_b.z_axis);
                // the floor only matters at a swing of half a turn, where twist has no meaning
                Row::turning((za + zb) / (1.0 + za.dot(zb)).max(1e-9))
            }
            AngleA => {
                let (u, w) = (a.r * m.frame_a.z_axis, b.r * m.frame_b.z_axis);
                Row::turning(about_first(u, w))
            }
            AngleB => {
                let (u, w) = (a.r * m.frame_a.z_axis, b.r * m.frame_b.z_axis);
                Row::turning(about_first(w, u))
            }
            Length => {
                let n = m.gap(a, b).try_normalize().unwrap_or(DVec3::Z);
                let (ra, rb) = (a.r * m.anchor_a, b.r * m.anchor_b);
                Row { lin: n, ang_a: -ra.cross(n), ang_b: rb.cross(n) }
            }
        }
    }

    /// d/dt of the rate at constant velocities, by a central difference along the motion.
    ///
    /// Used where a closed form is not worth its lines (couplings in the error-controlled mode); relative error about 1e-9.
    pub fn bias_acceleration(self, m: &JointModel, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion) -> f64 {
        let scale = ua.w.length().max(ub.w.length()).max(1e-3);
        let dt = 1e-5 / scale;
        let at = |t: f64| self.row(m, &ua.moved(a, t), &ub.moved(b, t)).velocity(ua, ub);
        (at(dt) - at(-dt)) / (2.0 * dt)
    }
}

/// The row direction of a rotation about `u` that carries `w` along: u − (u·w) w⊥/|w⊥|².
fn about_first(u: DVec3, w: DVec3) -> DVec3 {
    let across = w - u * u.dot(w);
    u - across * (u.dot(w) / across.length_squared().max(1e-12))
}

fn inverse_left_jacobian(theta: DVec3) -> DMat3 {
    let angle2 = theta.length_squared();
    let skew = DMat3::from_cols(
        DVec3::new(0.0, theta.z, -theta.y),
        DVec3::new(-theta.z, 0.0, theta.x),
        DVec3::new(theta.y, -theta.x, 0.0),
    );
    let k = if angle2 < 1e-6 {
        1.0 / 12.0 + angle2 / 720.0
    } else {
        let half = 0.5 * angle2.sqrt();
        let (s, c) = rotation::sin_cos(half);
        (1.0 - half * c / s) / angle2
    };
    DMat3::IDENTITY - skew * 0.5 + skew * skew * k
}
