//! Rotations: our own sine and cosine (same bits whatever the C library, cheap for the small angles of a step),
//! exponential and logarithm, and the symplectic splitting of free rotation.

use super::multiply_add;
use glam::{DQuat, DVec3};
use wide::f64x8;

// π/2 in three parts of which the first two have trailing zeros, so that k·part is exact for moderate k (Cody and Waite).
const HALF_PI_1: f64 = 1.570_796_326_734_125_6;
const HALF_PI_2: f64 = 6.077_100_506_303_966e-11;
const HALF_PI_3: f64 = 2.022_266_248_795_950_6e-21;

/// Sine and cosine. Taylor's series to full precision on |x| ≤ π/4, reduced to it by quarter turns.
#[inline]
pub(crate) fn sin_cos(x: f64) -> (f64, f64) {
    if x.abs() <= std::f64::consts::FRAC_PI_4 {
        return sin_cos_kernel(x);
    }
    let k = (x * std::f64::consts::FRAC_2_PI).round();
    let y = ((x - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    let (s, c) = sin_cos_kernel(y);
    match (k.rem_euclid(4.0)) as u8 {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    }
}

/// Taylor's coefficients of sin x = x + x z (…) and cos x = 1 + z (…), z = x².
const SINE: [f64; 8] = [
    -1.0 / 6.0,
    1.0 / 120.0,
    -1.0 / 5_040.0,
    1.0 / 362_880.0,
    -1.0 / 39_916_800.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 355_687_428_096_000.0,
];
const COSINE: [f64; 8] = [
    -1.0 / 2.0,
    1.0 / 24.0,
    -1.0 / 720.0,
    1.0 / 40_320.0,
    -1.0 / 3_628_800.0,
    1.0 / 479_001_600.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 20_922_789_888_000.0,
];

#[inline(always)]
fn sin_cos_kernel(x: f64) -> (f64, f64) {
    let z = x * x;
    let mut s = SINE[7];
    let mut c = COSINE[7];
    for k in (0..7).rev() {
        s = multiply_add(s, z, SINE[k]);
        c = multiply_add(c, z, COSINE[k]);
    }
    (multiply_add(x * z, s, x), multiply_add(z, c, 1.0))
}

/// The rotation by the vector `theta` (axis times angle).
#[inline]
pub(crate) fn exp(theta: DVec3) -> DQuat {
    let half = 0.5 * theta.length();
    let (s, c) = sin_cos(half);
    // sin(half)/angle, from the series where the quotient loses digits
    let k = if half < 1e-4 { 0.5 - half * half / 12.0 } else { 0.5 * s / half };
    DQuat::from_xyzw(k * theta.x, k * theta.y, k * theta.z, c)
}

/// The rotation vector of `q`, angle in [0, π].
pub(crate) fn log(q: DQuat) -> DVec3 {
    let q = if q.w < 0.0 { -q } else { q };
    let v = DVec3::new(q.x, q.y, q.z);
    let s = v.length();
    if s < 1e-9 { 2.0 * v / q.w } else { v * (2.0 * s.atan2(q.w) / s) }
}

/// Free rotation over time `h` by the splitting x(h/2) y(h/2) z(h) y(h/2) x(h/2) of the body angular momentum `l`
/// (principal axes, `inverse_inertia` per axis): second order, symplectic, conserves |l| exactly (docs/method.md, Free motion).
#[inline]
pub(crate) fn rotate_free(q: DQuat, l: DVec3, inverse_inertia: DVec3, h: f64) -> (DQuat, DVec3) {
    let (mut q, mut l) = (q, l);
    let quarter = 0.25 * h; // a quaternion takes half the angle
    about_x(&mut q, &mut l, quarter * inverse_inertia.x);
    about_y(&mut q, &mut l, quarter * inverse_inertia.y);
    about_z(&mut q, &mut l, 2.0 * quarter * inverse_inertia.z);
    about_y(&mut q, &mut l, quarter * inverse_inertia.y);
    about_x(&mut q, &mut l, quarter * inverse_inertia.x);
    (renormalised(q), l)
}

/// What free rotation may change of the energy before it is taken in parts, what the parts may change, and how many there are at most.
const MOST_CHANGE: f64 = 1e-3;
const CHANGE_IN_PARTS: f64 = 1e-4;
const MOST_PARTS: u32 = 256;

/// Whether free rotation has kept its energy; `l` is the body angular momentum before and after.
#[inline]
pub(crate) fn keeps_energy(before: DVec3, after: DVec3, inverse_inertia: DVec3) -> bool {
    changes_by(before, after, inverse_inertia) <= MOST_CHANGE
}

/// By how much free rotation has changed the energy, relative to it.
fn changes_by(before: DVec3, after: DVec3, inverse_inertia: DVec3) -> f64 {
    let energy = |l: DVec3| l.dot(l * inverse_inertia);
    let was = energy(before);
    if was > 0.0 { (energy(after) - was).abs() / was } else { 0.0 }
}

/// [`rotate_free`] of a body that no joint holds, in parts where it turns so far that the splitting would change its energy. A nail that
/// tumbles has a thousandth of its inertia about its axis, and a little of its momentum that the splitting turns there is much energy.
pub(crate) fn rotate_loose(q: DQuat, l: DVec3, inverse_inertia: DVec3, h: f64) -> (DQuat, DVec3) {
    let mut turned = rotate_free(q, l, inverse_inertia, h);
    if keeps_energy(l, turned.1, inverse_inertia) {
        return turned;
    }
    let mut parts = 1;
    while parts < MOST_PARTS && changes_by(l, turned.1, inverse_inertia) > CHANGE_IN_PARTS {
        parts *= 2;
        let part = |(q, l), _| rotate_free(q, l, inverse_inertia, h / f64::from(parts));
        turned = (0..parts).fold((q, l), part);
    }
    turned
}

/// Bodies that are rotated together.
pub(crate) const LANES: usize = 8;

/// The numbers of eight bodies, one number of all of them to a lane vector.
#[inline(always)]
pub(crate) fn in_lanes<const N: usize>(bodies: [[f64; N]; LANES]) -> [f64x8; N] {
    std::array::from_fn(|c| f64x8::new(bodies.map(|body| body[c])))
}

/// Body by body again.
#[inline(always)]
pub(crate) fn of_lanes<const N: usize>(lanes: [f64x8; N]) -> [[f64; N]; LANES] {
    let lanes = lanes.map(f64x8::to_array);
    std::array::from_fn(|i| lanes.map(|lane| lane[i]))
}

/// [`rotate_free`] of eight bodies at once: quaternion (x, y, z, w), body angular momentum, `quarter` = h/4 times inverse inertia.
/// The same bits as one by one. Returns whether no stage turned further than the sine and cosine used here reach;
/// otherwise the result means nothing.
#[inline]
pub(crate) fn rotate_free_lanes(q: &mut [f64x8; 4], l: &mut [f64x8; 3], quarter: &[f64x8; 3]) -> bool {
    let double = quarter[2] + quarter[2];
    let mut widest = f64x8::splat(0.0);
    turn_lanes(q, l, [0, 1, 2], quarter[0], &mut widest);
    turn_lanes(q, l, [1, 2, 0], quarter[1], &mut widest);
    turn_lanes(q, l, [2, 0, 1], double, &mut widest);
    turn_lanes(q, l, [1, 2, 0], quarter[1], &mut widest);
    turn_lanes(q, l, [0, 1, 2], quarter[0], &mut widest);
    let n = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    let k = f64x8::splat(1.5) - f64x8::splat(0.5) * n;
    q.iter_mut().for_each(|part| *part *= k);
    widest.to_array().iter().all(|angle| *angle <= std::f64::consts::FRAC_PI_4)
}

/// A turn about body axis `axes[0]`, `axes[1]` and `axes[2]` following it in the positive sense.
#[inline(always)]
fn turn_lanes(q: &mut [f64x8; 4], l: &mut [f64x8; 3], axes: [usize; 3], k: f64x8, widest: &mut f64x8) {
    let [x, y, z] = axes;
    let angle = k * l[x];
    *widest = widest.max(angle.abs());
    let (s, c) = sin_cos_lanes(angle);
    let (two, one) = (f64x8::splat(2.0), f64x8::splat(1.0));
    (l[y], l[z]) = turn_plane_lanes(two * s * c, (-two * s).mul_add(s, one), l[y], l[z]);
    (q[x], q[3]) = turn_plane_lanes(s, c, q[x], q[3]);
    (q[y], q[z]) = turn_plane_lanes(s, c, q[y], q[z]);
}

/// [`sin_cos_kernel`] of eight angles.
#[inline(always)]
fn sin_cos_lanes(x: f64x8) -> (f64x8, f64x8) {
    let z = x * x;
    let mut s = f64x8::splat(SINE[7]);
    let mut c = f64x8::splat(COSINE[7]);
    for k in (0..7).rev() {
        s = s.mul_add(z, f64x8::splat(SINE[k]));
        c = c.mul_add(z, f64x8::splat(COSINE[k]));
    }
    ((x * z).mul_add(s, x), z.mul_add(c, f64x8::splat(1.0)))
}

/// [`turn_plane`] of eight pairs.
#[inline(always)]
fn turn_plane_lanes(s: f64x8, c: f64x8, a: f64x8, b: f64x8) -> (f64x8, f64x8) {
    (s.mul_add(b, c * a), (-s).mul_add(a, c * b))
}

/// One Newton step towards unit length: enough for the rounding of a step, and free of a square root.
#[inline(always)]
pub(crate) fn renormalised(q: DQuat) -> DQuat {
    let n = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
    let k = 1.5 - 0.5 * n;
    DQuat::from_xyzw(q.x * k, q.y * k, q.z * k, q.w * k)
}

/// Sine and cosine of twice the angle.
#[inline(always)]
fn double_angle(s: f64, c: f64) -> (f64, f64) {
    (2.0 * s * c, multiply_add(-2.0 * s, s, 1.0))
}

/// (a, b) turned in their plane, b towards a.
#[inline(always)]
fn turn_plane((s, c): (f64, f64), a: f64, b: f64) -> (f64, f64) {
    (multiply_add(s, b, c * a), multiply_add(-s, a, c * b))
}

#[inline(always)]
fn about_x(q: &mut DQuat, l: &mut DVec3, k: f64) {
    let (s, c) = sin_cos(k * l.x);
    (l.y, l.z) = turn_plane(double_angle(s, c), l.y, l.z);
    (q.x, q.w) = turn_plane((s, c), q.x, q.w);
    (q.y, q.z) = turn_plane((s, c), q.y, q.z);
}

#[inline(always)]
fn about_y(q: &mut DQuat, l: &mut DVec3, k: f64) {
    let (s, c) = sin_cos(k * l.y);
    (l.z, l.x) = turn_plane(double_angle(s, c), l.z, l.x);
    (q.y, q.w) = turn_plane((s, c), q.y, q.w);
    (q.z, q.x) = turn_plane((s, c), q.z, q.x);
}

#[inline(always)]
fn about_z(q: &mut DQuat, l: &mut DVec3, k: f64) {
    let (s, c) = sin_cos(k * l.z);
    (l.x, l.y) = turn_plane(double_angle(s, c), l.x, l.y);
    (q.z, q.w) = turn_plane((s, c), q.z, q.w);
    (q.x, q.y) = turn_plane((s, c), q.x, q.y);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sine_and_cosine_are_those_of_the_standard_library() {
        for i in -20_000..20_000 {
            let x = f64::from(i) * 1.7e-3;
            let (s, c) = sin_cos(x);
            assert!((s - x.sin()).abs() < 3e-16 && (c - x.cos()).abs() < 3e-16, "x = {x}");
        }
        assert_eq!(sin_cos(0.0), (0.0, 1.0));
    }

    #[test]
    fn logarithm_inverts_exponential() {
        for i in 0..200 {
            let t = DVec3::new(0.3, -0.7, 0.65) * (f64::from(i) * 0.015 + 1e-7);
            assert!((log(exp(t)) - t).length() < 1e-14 * (1.0 + t.length()));
        }
    }

    #[test]
    fn lanes_have_the_bits_of_single_bodies() {
        let bodies: Vec<(DQuat, DVec3, DVec3)> = (0..8)
            .map(|k| {
                let k = f64::from(k);
                let l = DVec3::new(0.4 - 0.2 * k, 0.3 * k, 0.5 - 0.1 * k);
                (exp(DVec3::new(0.1 + k, 0.5, -0.3 * k)), l, DVec3::new(1.0, 0.5 + 0.1 * k, 2.0))
            })
            .collect();
        let h = 0.4;
        let mut q = in_lanes(std::array::from_fn(|i| bodies[i].0.to_array()));
        let mut l = in_lanes(std::array::from_fn(|i| bodies[i].1.to_array()));
        let quarter = in_lanes(std::array::from_fn(|i| (0.25 * h * bodies[i].2).to_array()));
        assert!(rotate_free_lanes(&mut q, &mut l, &quarter));
        let (q, l) = (of_lanes(q), of_lanes(l));
        for (i, body) in bodies.iter().enumerate() {
            let (one_q, one_l) = rotate_free(body.0, body.1, body.2, h);
            assert_eq!(q[i], one_q.to_array());
            assert_eq!(l[i], one_l.to_array());
        }
    }

    #[test]
    fn axis_rotations_match_quaternion_products() {
        let q0 = exp(DVec3::new(0.4, -1.1, 0.8));
        type Turn = fn(&mut DQuat, &mut DVec3, f64);
        for (turn, axis) in [(about_x as Turn, DVec3::X), (about_y, DVec3::Y), (about_z, DVec3::Z)] {
            let (mut q, mut l) = (q0, DVec3::new(0.9, 0.5, -0.3));
            let before = q * l;
            turn(&mut q, &mut l, 0.35);
            let angle = 0.35 * DVec3::new(0.9, 0.5, -0.3).dot(axis);
            let expected = q0 * exp(2.0 * angle * axis);
            assert!(1.0 - q.dot(expected).abs() < 1e-15);
            // the momentum stays where it was in the world
            assert!((q * l - before).length() < 1e-14);
        }
    }
}
