//! Poses, twists, rotations and inertia.

pub(crate) mod inertia;
pub(crate) mod lanes;
pub(crate) mod rotation;

use glam::{DMat3, DQuat, DVec3};

/// Where a body frame is: origin and orientation in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Origin, m.
    pub position: DVec3,
    /// World from body.
    pub orientation: DQuat,
}

impl Pose {
    /// The world's own frame.
    pub const IDENTITY: Pose = Pose { position: DVec3::ZERO, orientation: DQuat::IDENTITY };

    /// A point of the body in world coordinates.
    pub fn transform(&self, point: DVec3) -> DVec3 {
        self.position + self.orientation * point
    }

    /// A world point in body coordinates.
    pub fn to_local(&self, point: DVec3) -> DVec3 {
        self.orientation.inverse() * (point - self.position)
    }
}

/// How a body moves: velocity of its origin and angular velocity, both in world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// m/s.
    pub linear: DVec3,
    /// rad/s.
    pub angular: DVec3,
}

/// A force and a torque in world axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wrench {
    /// N.
    pub force: DVec3,
    /// N m.
    pub torque: DVec3,
}

/// A pose with its rotation matrix at hand: what joints are evaluated on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub x: DVec3,
    pub q: DQuat,
    pub r: DMat3,
}

impl Placed {
    pub const WORLD: Placed = Placed { x: DVec3::ZERO, q: DQuat::IDENTITY, r: DMat3::IDENTITY };

    pub fn new(x: DVec3, q: DQuat) -> Self {
        Placed { x, q, r: DMat3::from_quat(q) }
    }
}

/// a b + c, in one instruction where the target has it; a call that emulates it would cost more than it saves.
#[inline(always)]
pub(crate) fn multiply_add(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

/// Product of two rows of six, in three sums that do not wait for each other.
#[inline(always)]
pub(crate) fn dot(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    let mut sums = [a[0] * b[0], a[1] * b[1], a[2] * b[2]];
    for k in 0..3 {
        sums[k] = multiply_add(a[k + 3], b[k + 3], sums[k]);
    }
    (sums[0] + sums[1]) + sums[2]
}

/// The largest of a sequence of magnitudes; NaN wins, so that it cannot hide.
pub(crate) fn max_abs(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut largest = 0.0_f64;
    for v in values {
        let a = v.abs();
        if a > largest || a.is_nan() {
            largest = a;
        }
    }
    largest
}

/// The length of two numbers across each other; several times as quick as `hypot`, which guards against squares out of range.
pub(crate) fn length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// [`max_abs`] of many numbers, in four lanes.
pub(crate) fn largest(values: &[f64]) -> f64 {
    let (fours, rest) = values.as_chunks::<4>();
    let (mut most, mut finite) = ([0.0_f64; 4], [0.0_f64; 4]);
    for four in fours {
        for k in 0..4 {
            most[k] = if four[k].abs() > most[k] { four[k].abs() } else { most[k] };
            // zero as long as all are finite
            finite[k] += 0.0 * four[k];
        }
    }
    match finite.iter().all(|zero| *zero == 0.0) {
        true => max_abs(most.into_iter().chain(rest.iter().copied())),
        false => max_abs(values.iter().copied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_in_lanes_is_the_largest() {
        for count in 0..13 {
            let mut values: Vec<f64> = (0..count).map(|k| (1.7 * f64::from(k)).sin()).collect();
            assert_eq!(largest(&values), max_abs(values.iter().copied()));
            for k in 0..values.len() {
                for odd in [f64::NEG_INFINITY, f64::NAN, -7.0] {
                    let kept = std::mem::replace(&mut values[k], odd);
                    assert_eq!(largest(&values).to_bits(), max_abs(values.iter().copied()).to_bits(), "{values:?}");
                    values[k] = kept;
                }
            }
        }
    }
}
