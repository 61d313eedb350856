//! Every kind of joint and coordinate against finite differences: a new kind is tested by being listed.

use super::coordinate::coordinates_of;
use super::rows::Row;
use super::{JointModel, MAX_ROWS, Motion};
use crate::math::{Placed, rotation};
use crate::scene::JointKind;
use glam::{DMat3, DVec3};

const KINDS: [JointKind; 13] = [
    JointKind::Ball,
    JointKind::Hinge,
    JointKind::Slider,
    JointKind::Cylindrical,
    JointKind::Planar,
    JointKind::Universal,
    JointKind::Fixed,
    JointKind::PointOnLine,
    JointKind::PointOnPlane,
    JointKind::Orientation,
    JointKind::Distance,
    JointKind::Rope,
    JointKind::Screw,
];

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64) / (1_u64 << 52) as f64 - 1.0
    }
    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.next(), self.next(), self.next())
    }
    fn placed(&mut self) -> Placed {
        Placed::new(self.vector(), rotation::exp(self.vector() * 2.0))
    }
    fn motion(&mut self) -> Motion {
        Motion { v: self.vector(), w: self.vector() }
    }
}

/// A random joint, and two bodies placed so that it is closed somewhere inside its freedom.
fn closed_joint(kind: JointKind, noise: &mut Noise) -> (JointModel, Placed, Placed) {
    let frame = |noise: &mut Noise| DMat3::from_quat(rotation::exp(noise.vector() * 1.5));
    let (fa, fb) = (frame(noise), frame(noise));
    let mut m = JointModel::new(kind, noise.vector(), fa, noise.vector(), fb);
    m.lead = 0.3;
    let a = noise.placed();
    let (turn, shift) = (0.8 * noise.next(), noise.vector());
    let about_z = rotation::exp(DVec3::Z * turn);
    let free = rotation::exp(noise.vector());
    use JointKind::*;
    let (relative_turn, relative_shift) = match kind {
        Ball => (free, DVec3::ZERO),
        Hinge => (about_z, DVec3::ZERO),
        Slider => (glam::DQuat::IDENTITY, DVec3::Z * shift.z),
        Cylindrical => (about_z, DVec3::Z * shift.z),
        Screw => (about_z, DVec3::Z * (m.lead * turn)),
        Planar => (about_z, shift.with_z(0.0)),
        // the cross: z of b lies across z of a
        Universal => (
            about_z * rotation::exp(DVec3::X * std::f64::consts::FRAC_PI_2) * rotation::exp(DVec3::Z * 0.4),
            DVec3::ZERO,
        ),
        Fixed => (glam::DQuat::IDENTITY, DVec3::ZERO),
        PointOnLine => (free, DVec3::Z * shift.z),
        PointOnPlane => (free, shift.with_z(0.0)),
        Orientation => (glam::DQuat::IDENTITY, shift),
        _ => (free, shift),
    };
    let q = a.q * m.turn_a * relative_turn * m.turn_b.inverse();
    let b = Placed::new(DVec3::ZERO, q.normalize());
    let anchor = a.x + a.r * m.anchor_a + a.r * (m.frame_a * relative_shift);
    let b = Placed { x: anchor - b.r * m.anchor_b, ..b };
    m.length = m.gap(&a, &b).length();
    (m, a, b)
}

const STEP: f64 = 1e-5;

#[test]
fn rows_are_derivatives_of_errors() {
    for kind in KINDS {
        let mut noise = Noise(3 + kind as u64);
        for case in 0..50 {
            let (m, a, b) = closed_joint(kind, &mut noise);
            let (ua, ub) = (noise.motion(), noise.motion());
            let mut rows = [Row::default(); MAX_ROWS];
            m.rows(&a, &b, &mut rows);
            let error_at = |t: f64| {
                let mut error = [0.0; MAX_ROWS];
                m.error(&ua.moved(&a, t), &ub.moved(&b, t), 0.0, &mut error);
                error
            };
            let (zero, plus, minus) = (error_at(0.0), error_at(STEP), error_at(-STEP));
            for r in 0..m.row_count() {
                assert!(zero[r].abs() < 1e-13, "{kind:?} case {case} is not closed: {zero:?}");
                let slope = (plus[r] - minus[r]) / (2.0 * STEP);
                let row = rows[r].velocity(&ua, &ub);
                assert!((slope - row).abs() < 1e-8, "{kind:?} row {r} case {case}: {row} for {slope}");
            }
        }
    }
}

#[test]
fn coordinate_rows_are_derivatives_of_coordinates() {
    for kind in KINDS {
        let mut noise = Noise(100 + kind as u64);
        for case in 0..50 {
            let (m, a, b) = closed_joint(kind, &mut noise);
            let (ua, ub) = motions_that_fit(&m, &a, &b, &mut noise);
            for (name, coordinate) in coordinates_of(kind) {
                let value = |t: f64| coordinate.raw(&m, &ua.moved(&a, t), &ub.moved(&b, t));
                let slope = (value(STEP) - value(-STEP)) / (2.0 * STEP);
                let row = coordinate.row(&m, &a, &b).velocity(&ua, &ub);
                if value(0.0).abs() < 3.0 {
                    assert!(
                        (slope - row).abs() < 1e-7 * (1.0 + row.abs()),
                        "{kind:?} {name} case {case}: {row} for {slope}"
                    );
                }
            }
        }
    }
}

#[test]
fn bias_accelerations_are_second_derivatives_along_motions_that_fit() {
    for kind in KINDS {
        let mut noise = Noise(200 + kind as u64);
        for case in 0..50 {
            let (m, a, b) = closed_joint(kind, &mut noise);
            let (ua, ub) = motions_that_fit(&m, &a, &b, &mut noise);
            let mut bias = [0.0; MAX_ROWS];
            m.bias_acceleration(&a, &b, &ua, &ub, &mut bias);
            let rate_at = |t: f64| {
                let mut rows = [Row::default(); MAX_ROWS];
                m.rows(&ua.moved(&a, t), &ub.moved(&b, t), &mut rows);
                rows.map(|row| row.velocity(&ua, &ub))
            };
            let (plus, minus) = (rate_at(STEP), rate_at(-STEP));
            for r in 0..m.row_count() {
                let slope = (plus[r] - minus[r]) / (2.0 * STEP);
                assert!((slope - bias[r]).abs() < 1e-6, "{kind:?} row {r} case {case}: {} for {slope}", bias[r]);
            }
        }
    }
}

/// Random motions with every hard row at rest: b's motion is corrected along the rows (Gram–Schmidt).
fn motions_that_fit(m: &JointModel, a: &Placed, b: &Placed, noise: &mut Noise) -> (Motion, Motion) {
    let (ua, mut ub) = (noise.motion(), noise.motion());
    let mut rows = [Row::default(); MAX_ROWS];
    m.rows(a, b, &mut rows);
    let count = m.row_count();
    // orthonormal basis of the rows' parts on b
    let mut basis: Vec<([f64; 6], f64)> = Vec::new();
    for row in &rows[..count] {
        let (l, g) = (row.lin, row.ang_b);
        let mut v = [l.x, l.y, l.z, g.x, g.y, g.z];
        let target = -(row.velocity(&ua, &Motion::default()));
        let mut target = target;
        for (e, t) in &basis {
            let along: f64 = v.iter().zip(e).map(|(x, y)| x * y).sum();
            v.iter_mut().zip(e).for_each(|(x, y)| *x -= along * y);
            target -= along * t;
        }
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        basis.push((v.map(|x| x / norm), target / norm));
    }
    for (e, t) in &basis {
        let now: f64 = [ub.v.x, ub.v.y, ub.v.z, ub.w.x, ub.w.y, ub.w.z].iter().zip(e).map(|(x, y)| x * y).sum();
        ub.v += DVec3::new(e[0], e[1], e[2]) * (t - now);
        ub.w += DVec3::new(e[3], e[4], e[5]) * (t - now);
    }
    for row in &rows[..count] {
        assert!(row.velocity(&ua, &ub).abs() < 1e-12);
    }
    (ua, ub)
}
