//! Poses as small integers, and back.

use super::columns::Bytes;
use linkwork::glam::DQuat;
use std::f64::consts::SQRT_2;

/// A position is one of so many equal steps between the smallest and the largest of its block, less one.
pub const POSITION_STEPS: f64 = 65535.0;
/// An orientation that was packed is at most this far from the original, rad.
///
/// Each of three components is off by at most half a step of √2/32767. The fourth makes up for them and is at least as large as each, so it is
/// off by at most three half steps: the quaternion is off by at most √12 of them, and the rotation by twice the angle.
pub const ANGLE_BOUND: f64 = 1.5e-4;

const COMPONENT_STEPS: f64 = 32767.0;

/// The three smallest components of a unit quaternion, 15 bits each; the top bits of the first two words say which is left out.
pub fn pack_orientation(q: DQuat) -> [u16; 3] {
    let q = [q.x, q.y, q.z, q.w];
    let mut largest = 0;
    for k in 1..4 {
        if q[k].abs() > q[largest].abs() {
            largest = k;
        }
    }
    let sign = if q[largest] < 0.0 { -1.0 } else { 1.0 };
    let mut words = [0; 3];
    for (word, k) in words.iter_mut().zip((0..4).filter(|&k| k != largest)) {
        // between -1/√2 and 1/√2, because the largest is larger; `as` saturates and turns NaN into 0
        *word = ((sign * q[k] / SQRT_2 + 0.5) * COMPONENT_STEPS).round().clamp(0.0, COMPONENT_STEPS) as u16;
    }
    words[0] |= (largest as u16 & 1) << 15;
    words[1] |= (largest as u16 >> 1) << 15;
    words
}

/// What [`pack_orientation`] packed.
pub fn unpack_orientation(words: [u16; 3]) -> DQuat {
    let largest = usize::from(words[0] >> 15) | usize::from(words[1] >> 15) << 1;
    let mut q = [0.0; 4];
    for (word, k) in words.into_iter().zip((0..4).filter(|&k| k != largest)) {
        q[k] = (f64::from(word & 0x7fff) / COMPONENT_STEPS - 0.5) * SQRT_2;
    }
    let rest = 1.0 - q.iter().map(|c| c * c).sum::<f64>();
    q[largest] = rest.max(0.0).sqrt();
    DQuat::from_array(q).normalize()
}

/// The range of numbers of a block, so that its ends are exact 32-bit numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub low: f32,
    pub extent: f32,
}

impl Range {
    /// The smallest range that holds all of them. What is not a number is left out.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Range {
        let finite = || values.clone().filter(|v| v.is_finite()).map(|v| v.clamp(-1e30, 1e30));
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        if low > high {
            return Range { low: 0.0, extent: 0.0 };
        }
        if low == high {
            return Range { low: low as f32, extent: 0.0 };
        }
        let below = if f64::from(low as f32) <= low { low as f32 } else { (low as f32).next_down() };
        let extent = high - f64::from(below);
        let above = if f64::from(extent as f32) >= extent { extent as f32 } else { (extent as f32).next_up() };
        Range { low: below, extent: above }
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.low.to_le_bytes());
        bytes.extend(self.extent.to_le_bytes());
    }

    pub fn read(bytes: &mut Bytes<'_>) -> Result<Range, String> {
        Ok(Range { low: f32::from_le_bytes(bytes.array()?), extent: f32::from_le_bytes(bytes.array()?) })
    }

    pub fn pack(&self, value: f64) -> u16 {
        if self.extent == 0.0 {
            return 0;
        }
        ((value - f64::from(self.low)) / f64::from(self.extent) * POSITION_STEPS).round().clamp(0.0, POSITION_STEPS)
            as u16
    }

    pub fn unpack(&self, word: u16) -> f64 {
        f64::from(self.low) + f64::from(self.extent) * f64::from(word) / POSITION_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All components alike, and all errors the same way: the worst there is. A bound of √6 half steps was exceeded near it.
    #[test]
    fn the_worst_orientation_comes_back_within_the_bound() {
        let half_step = 0.5 * SQRT_2 / COMPONENT_STEPS;
        let mut worst = 0.0_f64;
        for k in 0..1000 {
            let c = 0.5 - f64::from(k) * 1e-3 * half_step * 2.0;
            let q = DQuat::from_xyzw(c, c, c, (1.0 - 3.0 * c * c).sqrt());
            worst = worst.max(angle_between(q, unpack_orientation(pack_orientation(q))));
        }
        assert!(worst < ANGLE_BOUND && worst > 0.95 * ANGLE_BOUND, "{worst}");
    }

    fn angle_between(p: DQuat, q: DQuat) -> f64 {
        2.0 * (p.inverse() * q).xyz().length().min(1.0).asin()
    }

    proptest! {
        #[test]
        fn orientations_come_back_within_their_bound(x in -1.0..1.0f64, y in -1.0..1.0f64, z in -1.0..1.0f64, w in -1.0..1.0f64) {
            prop_assume!(x * x + y * y + z * z + w * w > 1e-3);
            let q = DQuat::from_xyzw(x, y, z, w).normalize();
            let back = unpack_orientation(pack_orientation(q));
            let angle = angle_between(q, back);
            prop_assert!(angle < ANGLE_BOUND, "{angle}");
        }

        #[test]
        fn positions_come_back_within_half_a_step(values in prop::collection::vec(-1e4..1e4f64, 1..20)) {
            let range = Range::of(values.iter().copied());
            let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
            // what a 32-bit number at the range's ends cannot say is added to it
            let bound = 0.5 * (high - low) / POSITION_STEPS * (1.0 + 1e-6) + 1e4 * f64::from(f32::EPSILON);
            for &value in &values {
                let error = (range.unpack(range.pack(value)) - value).abs();
                prop_assert!(error <= bound, "{error} > {bound}");
            }
        }

        #[test]
        fn any_words_are_an_orientation(a: u16, b: u16, c: u16) {
            prop_assert!((unpack_orientation([a, b, c]).length() - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn what_is_not_a_number_does_no_harm() {
        let range = Range::of([1.0, f64::NAN, 2.0, f64::INFINITY].into_iter());
        assert_eq!(range, Range { low: 1.0, extent: 1.0 });
        assert_eq!(range.pack(f64::NAN), 0);
        assert_eq!(Range::of([f64::NAN].into_iter()), Range { low: 0.0, extent: 0.0 });
        pack_orientation(DQuat::from_xyzw(f64::NAN, 0.0, f64::INFINITY, 0.0));
    }
}
