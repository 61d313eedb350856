//! Vectors, rotations and poses of four things at once, one to a lane.

use super::Placed;
use glam::{DMat3, DQuat, DVec3};
use wide::f64x4;

/// Three numbers of four things.
pub(crate) type Vector = [f64x4; 3];

#[inline(always)]
pub(crate) fn dot(a: &Vector, b: &Vector) -> f64x4 {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

#[inline(always)]
pub(crate) fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[inline(always)]
pub(crate) fn times(a: &Vector, b: &Vector) -> Vector {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

/// The larger of two; what is not a number wins, so that it cannot hide.
#[inline(always)]
pub(crate) fn larger(a: f64x4, b: f64x4) -> f64x4 {
    (a.is_nan() | b.simd_le(a)).select(a, b)
}

/// The smaller of two; what is not a number wins.
#[inline(always)]
pub(crate) fn smaller(a: f64x4, b: f64x4) -> f64x4 {
    (a.is_nan() | b.simd_ge(a)).select(a, b)
}

/// One vector of each of four things, into lanes.
#[inline(always)]
pub(crate) fn vector(of: [DVec3; 4]) -> Vector {
    [f64x4::new(of.map(|v| v.x)), f64x4::new(of.map(|v| v.y)), f64x4::new(of.map(|v| v.z))]
}

/// The vectors of four things, one by one.
#[inline(always)]
pub(crate) fn vectors(lanes: &Vector) -> [DVec3; 4] {
    let [x, y, z] = lanes.map(|c| c.to_array());
    std::array::from_fn(|l| DVec3::new(x[l], y[l], z[l]))
}

/// Where four bodies are.
#[derive(Clone, Copy)]
pub(crate) struct Poses {
    pub x: Vector,
    /// x, y, z, w.
    pub q: [f64x4; 4],
    /// Columns of the rotation.
    pub r: [Vector; 3],
}

impl Poses {
    pub fn new(x: Vector, q: [f64x4; 4]) -> Poses {
        let one = f64x4::splat(1.0);
        let [i, j, k, w] = q;
        let [i2, j2, k2] = [i + i, j + j, k + k];
        let (ii, ij, ik) = (i * i2, i * j2, i * k2);
        let (jj, jk, kk) = (j * j2, j * k2, k * k2);
        let (wi, wj, wk) = (w * i2, w * j2, w * k2);
        let r = [
            [one - (jj + kk), ij + wk, ik - wj],
            [ij - wk, one - (ii + kk), jk + wi],
            [ik + wj, jk - wi, one - (ii + jj)],
        ];
        Poses { x, q, r }
    }

    /// From body axes to those of the world.
    #[inline(always)]
    pub fn turn(&self, v: &Vector) -> Vector {
        std::array::from_fn(|c| self.r[0][c].mul_add(v[0], self.r[1][c].mul_add(v[1], self.r[2][c] * v[2])))
    }

    /// From the axes of the world to those of the bodies.
    #[inline(always)]
    pub fn turn_back(&self, v: &Vector) -> Vector {
        self.r.map(|column| dot(&column, v))
    }

    pub fn quaternions(&self) -> [DQuat; 4] {
        let q = self.q.map(|c| c.to_array());
        std::array::from_fn(|l| DQuat::from_xyzw(q[0][l], q[1][l], q[2][l], q[3][l]))
    }

    /// Where one of the four is.
    pub fn one(&self, lane: usize) -> Placed {
        let column = |c: usize| vectors(&self.r[c])[lane];
        let r = DMat3::from_cols(column(0), column(1), column(2));
        Placed { x: vectors(&self.x)[lane], q: self.quaternions()[lane], r }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_number_does_not_hide() {
        let (a, b) = (f64x4::new([f64::NAN, 1.0, 1.0, 2.0]), f64x4::new([1.0, f64::NAN, 2.0, 1.0]));
        let (large, small) = (larger(a, b).to_array(), smaller(a, b).to_array());
        assert!(large[0].is_nan() && large[1].is_nan() && large[2..] == [2.0, 2.0]);
        assert!(small[0].is_nan() && small[1].is_nan() && small[2..] == [1.0, 1.0]);
    }

    #[test]
    fn four_poses_are_those_of_their_quaternions() {
        let q: [DQuat; 4] =
            std::array::from_fn(|l| DQuat::from_xyzw(0.3, -0.2 * l as f64, 0.5, 0.4 + l as f64).normalize());
        let x: [DVec3; 4] = std::array::from_fn(|l| DVec3::new(l as f64, 1.0, -2.0));
        let parts = |c: usize| f64x4::new(q.map(|q| q.to_array()[c]));
        let poses = Poses::new(vector(x), [parts(0), parts(1), parts(2), parts(3)]);
        let v = DVec3::new(0.2, -1.0, 0.7);
        let (turned, back) = (poses.turn(&vector([v; 4])), poses.turn_back(&vector([v; 4])));
        for l in 0..4 {
            let one = poses.one(l);
            assert_eq!((one.x, one.q), (x[l], q[l]));
            assert!((vectors(&turned)[l] - q[l] * v).length() < 1e-15);
            assert!((vectors(&back)[l] - q[l].inverse() * v).length() < 1e-15);
            assert!((one.r * v - q[l] * v).length() < 1e-15);
        }
    }
}
