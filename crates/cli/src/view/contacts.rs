//! What touches, small enough for a frame: the strongest contacts first, as many as there is room for.
//!
//! | at | what |
//! | --- | --- |
//! | 0 | number of contacts that there are (u32) |
//! | 4 | number of those that follow (u32) |
//! | 8 | lower corner of the box around their points, m (3 f32) |
//! | 20 | its extent, m (3 f32) |
//! | 32 | unit of forces, N (f32) |
//! | 36 | for each: point (3 u16, parts of the box), normal from a to b (2 i8), direction of the force on b (2 i8), strength of that force (u16, in units) |
//!
//! Directions are points of an octahedron, folded into a square: those along an axis come back as they are, others within
//! [`ANGLE_BOUND`] rad.

use linkwork::World;
use linkwork::glam::{DVec2, DVec3};

/// Bytes before the contacts.
pub const HEAD: usize = 36;
/// Bytes of a contact.
pub const EACH: usize = 12;
/// Steps of a coordinate of a point.
const STEPS: f64 = 65535.0;
/// Steps of a folded direction.
const FOLDS: f64 = 127.0;
/// The largest angle between a direction and what comes back, rad.
#[cfg(test)]
const ANGLE_BOUND: f64 = 0.0165;
/// Strengths within this factor of each other may count as the same: their squares have the same binary exponent. Of these the
/// first in the engine's order are taken: what lies still would twinkle otherwise.
#[cfg(test)]
const SAME_STRENGTH: f64 = std::f64::consts::SQRT_2;
/// Bits of a number below its exponent.
const MANTISSA: u32 = 52;

/// Contacts as bytes, strongest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contacts {
    total: usize,
    box_and_unit: [f32; 7],
    each: Vec<[u8; EACH]>,
}

struct Touch {
    point: DVec3,
    normal: DVec3,
    force: DVec3,
}

impl Touch {
    fn strength(&self) -> f64 {
        self.force.length()
    }
}

impl Contacts {
    /// What touched in the last step of a world; no more than `most`.
    pub fn of(world: &World, most: usize) -> Contacts {
        let all = world.contacts().map(|c| Touch { point: c.point, normal: c.normal, force: c.force });
        Contacts::from(&all.filter(|c| c.point.is_finite() && c.force.is_finite()).collect::<Vec<_>>(), most)
    }

    fn from(all: &[Touch], most: usize) -> Contacts {
        let total = all.len();
        let touches = strongest(all, most);
        let (low, high) = touches
            .iter()
            .fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), c| (low.min(c.point), high.max(c.point)));
        let (low, extent) = if touches.is_empty() { (DVec3::ZERO, DVec3::ZERO) } else { (low, high - low) };
        let largest = touches.iter().map(|c| c.strength()).fold(0.0, f64::max);
        let unit = (largest / STEPS).clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX));
        let part = |c: &Touch, k: usize| {
            let of_box = (c.point[k] - low[k]) / extent[k].max(f64::MIN_POSITIVE);
            (STEPS * of_box).round().clamp(0.0, STEPS) as u16
        };
        let each = touches.iter().map(|c| {
            let mut bytes = [0; EACH];
            let words = [part(c, 0), part(c, 1), part(c, 2)].map(u16::to_le_bytes);
            bytes[..6].copy_from_slice(words.as_flattened());
            let directions = [fold(c.normal), fold(c.force)].map(|[u, v]| [u as u8, v as u8]);
            bytes[6..10].copy_from_slice(directions.as_flattened());
            bytes[10..].copy_from_slice(&((c.strength() / unit).round().min(STEPS) as u16).to_le_bytes());
            bytes
        });
        let [low, extent] = [low, extent].map(|v| v.as_vec3());
        let box_and_unit = [low.x, low.y, low.z, extent.x, extent.y, extent.z, unit as f32];
        Contacts { total, box_and_unit, each: each.collect() }
    }

    /// Appends the bytes of at most so many.
    pub fn write(&self, out: &mut Vec<u8>, most: usize) {
        let shown = &self.each[..self.each.len().min(most)];
        out.extend((self.total as u32).to_le_bytes());
        out.extend((shown.len() as u32).to_le_bytes());
        out.extend_from_slice(self.box_and_unit.map(f32::to_le_bytes).as_flattened());
        out.extend_from_slice(shown.as_flattened());
    }
}

/// The strongest so many, strongest first; what is about equal stays in its order. All of them, in their order, if there are no
/// more.
fn strongest(touches: &[Touch], most: usize) -> Vec<&Touch> {
    if touches.len() <= most {
        return touches.iter().collect();
    }
    let rank = |c: &Touch| !(c.force.length_squared().to_bits() >> MANTISSA);
    let mut ranked: Vec<(u64, usize)> = touches.iter().enumerate().map(|(k, c)| (rank(c), k)).collect();
    ranked.select_nth_unstable(most);
    ranked.truncate(most);
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, k)| &touches[k]).collect()
}

/// A direction as a point of a square: that of the octahedron's upper half is the middle, the lower half is folded out over
/// its corners.
fn fold(direction: DVec3) -> [i8; 2] {
    let size = direction.abs().element_sum();
    if size.is_nan() || size <= 0.0 {
        return [0, 0];
    }
    let on = direction / size;
    let flat = match on.z >= 0.0 {
        true => DVec2::new(on.x, on.y),
        false => DVec2::new((1.0 - on.y.abs()) * sign(on.x), (1.0 - on.x.abs()) * sign(on.y)),
    };
    [flat.x, flat.y].map(|c| (FOLDS * c).round() as i8)
}

fn sign(number: f64) -> f64 {
    if number < 0.0 { -1.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the page does it.
    fn unfold([u, v]: [i8; 2]) -> DVec3 {
        let (x, y) = (f64::from(u) / FOLDS, f64::from(v) / FOLDS);
        let z = 1.0 - x.abs() - y.abs();
        match z >= 0.0 {
            true => DVec3::new(x, y, z).normalize(),
            false => DVec3::new((1.0 - y.abs()) * sign(x), (1.0 - x.abs()) * sign(y), z).normalize(),
        }
    }

    #[test]
    fn directions_come_back() {
        for axis in [DVec3::X, DVec3::Y, DVec3::Z] {
            assert_eq!((unfold(fold(3.0 * axis)), unfold(fold(-axis))), (axis, -axis));
        }
        let mut worst: f64 = 0.0;
        for k in 0..20_000 {
            let z = 1.0 - 2.0 * (f64::from(k) + 0.5) / 20_000.0;
            let (across, turn) = ((1.0 - z * z).sqrt(), 2.399963 * f64::from(k));
            let direction = DVec3::new(across * turn.cos(), across * turn.sin(), z);
            worst = worst.max(unfold(fold(5.0 * direction)).angle_between(direction));
        }
        assert!(worst < ANGLE_BOUND && worst > 0.5 * ANGLE_BOUND, "{worst} rad");
        assert_eq!(fold(DVec3::ZERO), [0, 0]);
    }

    fn touch(k: usize, strength: f64) -> Touch {
        let point = DVec3::new(k as f64, -2.0 * k as f64, 0.25);
        Touch { point, normal: DVec3::Z, force: strength * DVec3::Y }
    }

    #[test]
    fn the_strongest_are_kept_and_the_rest_is_counted() {
        let touches: Vec<Touch> = (0..1000).map(|k| touch(k, ((37 * k) % 1000) as f64 + 1.0)).collect();
        let contacts = Contacts::from(&touches, 100);
        let mut out = Vec::new();
        contacts.write(&mut out, 60);
        assert_eq!(out.len(), HEAD + 60 * EACH);
        let word = |at: usize| u32::from_le_bytes(out[at..at + 4].try_into().unwrap());
        assert_eq!((word(0), word(4)), (1000, 60));
        let unit = f64::from(f32::from_le_bytes(out[32..36].try_into().unwrap()));
        let strengths = contacts.each.iter().map(|c| unit * f64::from(u16::from_le_bytes([c[10], c[11]])));
        let strengths: Vec<f64> = strengths.collect();
        assert!((strengths.iter().fold(0.0f64, |a, &b| a.max(b)) - 1000.0).abs() < 0.05);
        assert!(strengths.iter().all(|&s| s > 899.0 / SAME_STRENGTH), "{strengths:?}");
        assert!(strengths.windows(2).all(|pair| pair[1] < pair[0] * SAME_STRENGTH * 1.001), "strongest first");
    }

    #[test]
    fn points_forces_and_normals_come_back() {
        let contacts = Contacts::from(&(0..50).map(|k| touch(k, 10.0 + k as f64)).collect::<Vec<_>>(), 64);
        let number = |k: usize| f64::from(contacts.box_and_unit[k]);
        for (k, c) in contacts.each.iter().enumerate() {
            let part = |i: usize| f64::from(u16::from_le_bytes([c[2 * i], c[2 * i + 1]])) / STEPS;
            let point = DVec3::from([0, 1, 2].map(|i| number(i) + number(3 + i) * part(i)));
            assert!(point.distance(touch(k, 1.0).point) < 100.0 / STEPS, "{point}");
            assert_eq!((unfold([c[6] as i8, c[7] as i8]), unfold([c[8] as i8, c[9] as i8])), (DVec3::Z, DVec3::Y));
            let strength = number(6) * f64::from(u16::from_le_bytes([c[10], c[11]]));
            assert!((strength - 10.0 - k as f64).abs() < 60.0 / STEPS, "{strength} N");
        }
    }

    #[test]
    fn nothing_touches() {
        let mut out = Vec::new();
        Contacts::from(&[], 10).write(&mut out, 10);
        assert_eq!(out.len(), HEAD);
        assert!(out[..32].iter().all(|byte| *byte == 0));
    }
}
