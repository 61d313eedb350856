//! What each kind of joint leaves free, as coordinates and motions: the complement of its rows.
//!
//! With joint frames F_a and F_b: F_b = F_a R(q), P_b = P_a + F_a d(q). Every joint is a slide d and a turn R:
//!
//! | slide | positions | rates | d |
//! | --- | --- | --- | --- |
//! | none, axis, plane, space | 0, 1, 2, 3 | as many | along z, along x and y, along x, y and z |
//! | sphere | unit quaternion Q | ω_x, ω_y in Q | length · Q z |
//!
//! | turn | positions | rates | R |
//! | --- | --- | --- | --- |
//! | none, axis | 0, 1 | as many | about z |
//! | helix | 1 | 1 | about z, with d = lead · angle z |
//! | cross | 2 | 2 | about z of a and about z of b, at a constant angle to each other |
//! | free | unit quaternion | ω in b's frame | the quaternion |
//!
//! Positions and rates of the slide come first. Quaternions are stored (x, y, z, w).

use super::JointModel;
use super::rows::Part;
use crate::math::rotation;
use glam::{DQuat, DVec3};
use std::f64::consts::PI;

/// How the anchor of b moves in a's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slide {
    None,
    Axis,
    Plane,
    Space,
    Sphere,
}

/// How b's frame turns against a's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    None,
    Axis,
    Helix,
    Cross,
    Free,
}

/// The freedoms of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Freedom {
    pub slide: Slide,
    pub turn: Turn,
}

/// Pose of b's joint frame in a's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relative {
    pub d: DVec3,
    pub q: DQuat,
}

impl Freedom {
    /// Everything: a body that nothing holds.
    pub const FREE: Freedom = Freedom { slide: Slide::Space, turn: Turn::Free };

    /// The freedoms that rows leave; `None` where they are not a slide and a turn (black boxes), or are all six.
    pub fn of(parts: &[Part]) -> Option<Freedom> {
        use Part::*;
        let (slide, turn) = match parts {
            [PointOnPoint] => (Slide::None, Turn::Free),
            [PointOnPoint, CommonAxis] => (Slide::None, Turn::Axis),
            [PointOnLine, OrientationFixed] => (Slide::Axis, Turn::None),
            [PointOnLine, CommonAxis] => (Slide::Axis, Turn::Axis),
            [PointOnPlane, CommonAxis] => (Slide::Plane, Turn::Axis),
            [PointOnPoint, ConstantAngle] => (Slide::None, Turn::Cross),
            [PointOnPoint, OrientationFixed] => (Slide::None, Turn::None),
            [PointOnLine] => (Slide::Axis, Turn::Free),
            [PointOnPlane] => (Slide::Plane, Turn::Free),
            [OrientationFixed] => (Slide::Space, Turn::None),
            [Distance] => (Slide::Sphere, Turn::Free),
            [PointOnLine, CommonAxis, Helix] => (Slide::None, Turn::Helix),
            _ => return None,
        };
        Some(Freedom { slide, turn })
    }

    pub fn slide_positions(self) -> usize {
        match self.slide {
            Slide::None => 0,
            Slide::Axis => 1,
            Slide::Plane => 2,
            Slide::Space => 3,
            Slide::Sphere => 4,
        }
    }

    pub fn slide_rates(self) -> usize {
        match self.slide {
            Slide::Sphere => 2,
            _ => self.slide_positions(),
        }
    }

    pub fn positions(self) -> usize {
        self.slide_positions()
            + match self.turn {
                Turn::None => 0,
                Turn::Axis | Turn::Helix => 1,
                Turn::Cross => 2,
                Turn::Free => 4,
            }
    }

    pub fn rates(self) -> usize {
        self.slide_rates()
            + match self.turn {
                Turn::None => 0,
                Turn::Axis | Turn::Helix => 1,
                Turn::Cross => 2,
                Turn::Free => 3,
            }
    }

    /// The pose at the given positions.
    #[inline]
    pub fn relative(self, m: &JointModel, q: &[f64]) -> Relative {
        let turn = &q[self.slide_positions()..];
        let d = match self.slide {
            Slide::None => DVec3::ZERO,
            Slide::Axis => DVec3::Z * q[0],
            Slide::Plane => DVec3::new(q[0], q[1], 0.0),
            Slide::Space => DVec3::new(q[0], q[1], q[2]),
            Slide::Sphere => quaternion(q) * DVec3::Z * m.length,
        };
        match self.turn {
            Turn::None => Relative { d, q: DQuat::IDENTITY },
            Turn::Axis => Relative { d, q: about_z(turn[0]) },
            Turn::Helix => Relative { d: DVec3::Z * (m.lead * turn[0]), q: about_z(turn[0]) },
            Turn::Cross => {
                // R = Rz(φ) Ry(α) Rz(γ) with φ and γ from the zeros of the two angles
                let half = 0.5 * m.cos_angle.clamp(-1.0, 1.0).acos();
                let (s, c) = rotation::sin_cos(half);
                let middle = DQuat::from_xyzw(0.0, s, 0.0, c);
                let q = about_z(turn[0] + m.zero_a) * middle * about_z(PI - m.zero_b + turn[1]);
                Relative { d, q }
            }
            Turn::Free => Relative { d, q: quaternion(turn) },
        }
    }

    /// The positions of a pose; angles are those nearest to what stands in `q`, quaternions on the side of what stands there.
    pub fn read(self, m: &JointModel, at: &Relative, q: &mut [f64]) {
        let (slide, turn) = q.split_at_mut(self.slide_positions());
        match self.slide {
            Slide::None => {}
            Slide::Axis => slide[0] = at.d.z,
            Slide::Plane => (slide[0], slide[1]) = (at.d.x, at.d.y),
            Slide::Space => slide.copy_from_slice(&at.d.to_array()),
            Slide::Sphere => {
                // the least turn from where the frame was: frames are carried along, not defined by the direction
                let old = quaternion(slide);
                let old = if old.length_squared() > 0.5 { old } else { DQuat::IDENTITY };
                let n = at.d.try_normalize().unwrap_or(DVec3::Z);
                store(slide, (DQuat::from_rotation_arc(old * DVec3::Z, n) * old).normalize());
            }
        }
        let near = |new: f64, old: f64| new + std::f64::consts::TAU * ((old - new) / std::f64::consts::TAU).round();
        match self.turn {
            Turn::None => {}
            Turn::Axis => turn[0] = near(2.0 * at.q.z.atan2(at.q.w), turn[0]),
            Turn::Helix => {
                // the displacement knows how many turns were made
                let counted = if m.lead.abs() > 1e-9 { at.d.z / m.lead } else { turn[0] };
                turn[0] = near(2.0 * at.q.z.atan2(at.q.w), counted);
            }
            Turn::Cross => {
                let z_b = at.q * DVec3::Z;
                let z_a = at.q.inverse() * DVec3::Z;
                turn[0] = near(z_b.y.atan2(z_b.x) - m.zero_a, turn[0]);
                turn[1] = near(m.zero_b - z_a.y.atan2(z_a.x), turn[1]);
            }
            Turn::Free => {
                let old = quaternion(turn);
                store(turn, if old.dot(at.q) < 0.0 { -at.q } else { at.q });
            }
        }
    }

    /// Positions after moving with constant rates for a time.
    pub fn integrate(self, q: &mut [f64], rates: &[f64], time: f64) {
        let (slide, turn) = q.split_at_mut(self.slide_positions());
        let (sr, tr) = rates.split_at(self.slide_rates());
        if self.slide == Slide::Sphere {
            let turned = quaternion(slide) * rotation::exp(DVec3::new(sr[0], sr[1], 0.0) * time);
            store(slide, rotation::renormalised(turned));
        } else {
            slide.iter_mut().zip(sr).for_each(|(q, r)| *q += time * r);
        }
        if self.turn == Turn::Free {
            let turned = quaternion(turn) * rotation::exp(DVec3::new(tr[0], tr[1], tr[2]) * time);
            store(turn, rotation::renormalised(turned));
        } else {
            turn.iter_mut().zip(tr).for_each(|(q, r)| *q += time * r);
        }
    }
}

pub(crate) fn quaternion(q: &[f64]) -> DQuat {
    DQuat::from_xyzw(q[0], q[1], q[2], q[3])
}

pub(crate) fn store(to: &mut [f64], q: DQuat) {
    to.copy_from_slice(&q.to_array());
}

fn about_z(angle: f64) -> DQuat {
    let (s, c) = rotation::sin_cos(0.5 * angle);
    DQuat::from_xyzw(0.0, 0.0, s, c)
}
