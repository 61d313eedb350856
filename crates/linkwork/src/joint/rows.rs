//! The basic constraints, of which every joint is a sum: error, rows and bias acceleration.
//!
//! For bodies a and b with poses (x, R), anchors P = x + r, r = R p, and joint frames with axes fixed to their bodies:
//!
//! | part | error c | rows ċ = lin·(v_b − v_a) + ang_a·ω_a + ang_b·ω_b |
//! | --- | --- | --- |
//! | point on point | P_b − P_a | lin = e_k, ang_b = r_b×e_k, ang_a = −r_a×e_k |
//! | point on line, plane | t·d, d = P_b − P_a, t fixed to a | lin = t, ang_b = r_b×t, ang_a = −(r_a + d)×t |
//! | orientation fixed | rotation vector of F_b F_aᵀ | ±e_k |
//! | common axis | z_b·t_k | ang_b = z_b×t_k = −ang_a |
//! | constant angle | z_a·z_b − cos φ₀ | ang_b = z_b×z_a = −ang_a |
//! | distance | \|d\| − length | as a line with t = d/\|d\| that turns with both |
//! | helix | z·d − lead·angle | line along z minus lead times ±z |
//!
//! The first five and their sums are Bender and Schmitt 2006, sections 4.2 to 4.4, with lever arms as docs/method.md derives
//! them; distance and helix are not in that paper.

use super::coordinate::CoordinateKind;
use super::{JointModel, Motion};
use crate::math::{Placed, rotation};
use glam::DVec3;

/// One scalar constraint row: ċ = lin·(v_b − v_a) + ang_a·ω_a + ang_b·ω_b, velocities of centres of mass, world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Row {
    pub lin: DVec3,
    pub ang_a: DVec3,
    pub ang_b: DVec3,
}

impl Row {
    pub fn velocity(&self, a: &Motion, b: &Motion) -> f64 {
        self.lin.dot(b.v - a.v) + self.ang_a.dot(a.w) + self.ang_b.dot(b.w)
    }

    pub fn scaled(&self, k: f64) -> Row {
        Row { lin: self.lin * k, ang_a: self.ang_a * k, ang_b: self.ang_b * k }
    }

    pub fn plus(&self, other: &Row) -> Row {
        Row { lin: self.lin + other.lin, ang_a: self.ang_a + other.ang_a, ang_b: self.ang_b + other.ang_b }
    }

    /// Rotation of b against a about a unit axis.
    pub fn turning(axis: DVec3) -> Row {
        Row { lin: DVec3::ZERO, ang_a: -axis, ang_b: axis }
    }
}

/// A basic constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    PointOnPoint,
    PointOnLine,
    PointOnPlane,
    OrientationFixed,
    CommonAxis,
    ConstantAngle,
    Distance,
    Helix,
    /// A user's function, with its number of rows.
    BlackBox(u8),
}

impl Part {
    pub fn rows(self) -> usize {
        match self {
            Part::PointOnPoint | Part::OrientationFixed => 3,
            Part::PointOnLine | Part::CommonAxis => 2,
            Part::PointOnPlane | Part::ConstantAngle | Part::Distance | Part::Helix => 1,
            Part::BlackBox(rows) => rows as usize,
        }
    }

    /// Whether the rows measure an angle (rad) rather than a length (m); a black box knows that by row.
    pub fn is_angle(self) -> bool {
        matches!(self, Part::OrientationFixed | Part::CommonAxis | Part::ConstantAngle)
    }

    /// Writes the errors; `turn` is the unwrapped angle near which a helix counts its turns.
    ///
    /// Not inlined: in a loop over parts the compiler would compute the products of all arms for each of them.
    #[inline(never)]
    pub fn error(self, m: &JointModel, a: &Placed, b: &Placed, turn: f64, out: &mut [f64]) {
        match self {
            Part::PointOnPoint => {
                let d = m.gap(a, b);
                out[..3].copy_from_slice(&[d.x, d.y, d.z]);
            }
            Part::PointOnLine => {
                let d = m.gap(a, b);
                out[0] = (a.r * m.frame_a.x_axis).dot(d);
                out[1] = (a.r * m.frame_a.y_axis).dot(d);
            }
            Part::PointOnPlane => out[0] = (a.r * m.frame_a.z_axis).dot(m.gap(a, b)),
            Part::OrientationFixed => {
                let d = rotation::log((b.q * m.turn_b) * (a.q * m.turn_a).inverse());
                out[..3].copy_from_slice(&[d.x, d.y, d.z]);
            }
            Part::CommonAxis => out[..2].copy_from_slice(&m.axis_error(a, b)),
            Part::ConstantAngle => {
                out[0] = (a.r * m.frame_a.z_axis).dot(b.r * m.frame_b.z_axis) - m.cos_angle;
            }
            Part::Distance => out[0] = m.gap(a, b).length() - m.length,
            Part::Helix => {
                let along = (a.r * m.frame_a.z_axis).dot(m.gap(a, b));
                out[0] = along - m.lead * CoordinateKind::Angle.unwrapped(m, a, b, turn);
            }
            Part::BlackBox(rows) => out[..rows as usize].copy_from_slice(&m.black_box_error(a, b)[..rows as usize]),
        }
    }

    /// Writes the rows, the derivative of [`Part::error`] where the error is zero.
    #[inline(never)]
    pub fn rows_into(self, m: &JointModel, a: &Placed, b: &Placed, out: &mut [Row]) {
        match self {
            Part::PointOnPoint => {
                let (ra, rb) = (a.r * m.anchor_a, b.r * m.anchor_b);
                for (k, e) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
                    out[k] = Row { lin: e, ang_a: -ra.cross(e), ang_b: rb.cross(e) };
                }
            }
            Part::PointOnLine => {
                out[0] = m.sliding_row(a, b, a.r * m.frame_a.x_axis);
                out[1] = m.sliding_row(a, b, a.r * m.frame_a.y_axis);
            }
            Part::PointOnPlane => out[0] = m.sliding_row(a, b, a.r * m.frame_a.z_axis),
            Part::OrientationFixed => {
                for (k, e) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
                    out[k] = Row::turning(e);
                }
            }
            Part::CommonAxis => {
                let z = b.r * m.frame_b.z_axis;
                out[0] = Row::turning(z.cross(a.r * m.frame_a.x_axis));
                out[1] = Row::turning(z.cross(a.r * m.frame_a.y_axis));
            }
            Part::ConstantAngle => {
                out[0] = Row::turning((b.r * m.frame_b.z_axis).cross(a.r * m.frame_a.z_axis));
            }
            Part::Distance => out[0] = CoordinateKind::Length.row(m, a, b),
            Part::Helix => {
                let z = a.r * m.frame_a.z_axis;
                out[0] = m.sliding_row(a, b, z).plus(&Row::turning(z).scaled(-m.lead));
            }
            Part::BlackBox(_) => m.black_box_rows(a, b, out),
        }
    }

    /// Writes the forces of the rows that make a wrench on b (force at b's anchor and torque about it) which the rows can make.
    pub fn forces_of(self, m: &JointModel, a: &Placed, b: &Placed, force: DVec3, torque: DVec3, out: &mut [f64]) {
        match self {
            Part::PointOnPoint => out[..3].copy_from_slice(&force.to_array()),
            Part::PointOnLine => {
                out[0] = (a.r * m.frame_a.x_axis).dot(force);
                out[1] = (a.r * m.frame_a.y_axis).dot(force);
            }
            Part::PointOnPlane | Part::Helix => out[0] = (a.r * m.frame_a.z_axis).dot(force),
            Part::OrientationFixed => out[..3].copy_from_slice(&torque.to_array()),
            Part::CommonAxis => {
                let z = b.r * m.frame_b.z_axis;
                out[0] = z.cross(a.r * m.frame_a.x_axis).dot(torque);
                out[1] = z.cross(a.r * m.frame_a.y_axis).dot(torque);
            }
            Part::ConstantAngle => {
                let across = (b.r * m.frame_b.z_axis).cross(a.r * m.frame_a.z_axis);
                out[0] = across.dot(torque) / across.length_squared().max(f64::MIN_POSITIVE);
            }
            Part::Distance => out[0] = m.gap(a, b).try_normalize().unwrap_or(DVec3::Z).dot(force),
            // never a joint of a tree
            Part::BlackBox(rows) => out[..rows as usize].fill(0.0),
        }
    }

    /// Writes J̇u: what c̈ would be if every body kept its velocities, for velocities that satisfy the rows.
    pub fn bias_acceleration(self, m: &JointModel, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion, out: &mut [f64]) {
        match self {
            Part::PointOnPoint => {
                let d = m.gap_bias(a, b, ua, ub);
                out[..3].copy_from_slice(&[d.x, d.y, d.z]);
            }
            Part::PointOnLine => {
                out[0] = m.sliding_bias(a, b, ua, ub, a.r * m.frame_a.x_axis);
                out[1] = m.sliding_bias(a, b, ua, ub, a.r * m.frame_a.y_axis);
            }
            Part::PointOnPlane | Part::Helix => out[0] = m.sliding_bias(a, b, ua, ub, a.r * m.frame_a.z_axis),
            // with equal angular velocities the relative orientation stays put
            Part::OrientationFixed => out[..3].fill(0.0),
            Part::CommonAxis => {
                let z = b.r * m.frame_b.z_axis;
                out[0] = direction_bias(z, a.r * m.frame_a.x_axis, ua, ub);
                out[1] = direction_bias(z, a.r * m.frame_a.y_axis, ua, ub);
            }
            Part::ConstantAngle => {
                out[0] = direction_bias(b.r * m.frame_b.z_axis, a.r * m.frame_a.z_axis, ua, ub);
            }
            Part::Distance => {
                let d = m.gap(a, b);
                let length = d.length().max(f64::MIN_POSITIVE);
                let n = d / length;
                let rate = m.gap_rate(a, b, ua, ub);
                let across = rate - n * n.dot(rate);
                out[0] = n.dot(m.gap_bias(a, b, ua, ub)) + across.length_squared() / length;
            }
            Part::BlackBox(_) => m.black_box_bias(a, b, ua, ub, out),
        }
    }
}

/// d²/dt² of (axis of b)·(axis of a) at constant angular velocities.
fn direction_bias(of_b: DVec3, of_a: DVec3, ua: &Motion, ub: &Motion) -> f64 {
    let (da, db) = (ua.w.cross(of_a), ub.w.cross(of_b));
    ub.w.cross(db).dot(of_a) + 2.0 * db.dot(da) + of_b.dot(ua.w.cross(da))
}
