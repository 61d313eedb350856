//! Spatial vectors and inertias: world axes, each taken at a point of its own choice.
//!
//! A motion (ω, v) is an angular velocity and the velocity of whatever is at the point; a force (n, f) is a torque about the
//! point and a force. Accelerations are the derivatives of such motions at a *standing* point (Featherstone's spatial
//! accelerations), so that they add up along a tree without further terms.
//! From a point O to a point O + r: v += ω × r, n −= r × f.

use glam::{DMat3, DVec3};
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// A velocity or an acceleration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion6 {
    /// rad/s or rad/s².
    pub w: DVec3,
    /// Of what is at the point, m/s or m/s².
    pub v: DVec3,
}

/// A torque about the point and a force, or the integral of both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force6 {
    /// N m.
    pub n: DVec3,
    /// N.
    pub f: DVec3,
}

impl Motion6 {
    /// From its parts.
    #[inline(always)]
    pub fn new(w: DVec3, v: DVec3) -> Self {
        Motion6 { w, v }
    }

    /// The same motion, seen at a point `r` away.
    #[inline(always)]
    pub fn at(self, r: DVec3) -> Self {
        Motion6 { w: self.w, v: self.v + self.w.cross(r) }
    }

    /// How a motion that is fixed to a body moving with `self` changes: ad(self) m.
    #[inline(always)]
    pub fn cross(self, m: Motion6) -> Motion6 {
        Motion6 { w: self.w.cross(m.w), v: self.w.cross(m.v) + self.v.cross(m.w) }
    }

    /// How a force that is fixed to a body moving with `self` changes: ad*(self) f.
    #[inline(always)]
    pub fn cross_force(self, f: Force6) -> Force6 {
        Force6 { n: self.w.cross(f.n) + self.v.cross(f.f), f: self.w.cross(f.f) }
    }

    /// Power of a force, both at the same point.
    #[inline(always)]
    pub fn dot(self, f: Force6) -> f64 {
        self.w.dot(f.n) + self.v.dot(f.f)
    }
}

impl Force6 {
    /// From its parts.
    #[inline(always)]
    pub fn new(n: DVec3, f: DVec3) -> Self {
        Force6 { n, f }
    }

    /// The same force, seen at the point from which its own is `r` away.
    #[inline(always)]
    pub fn carried(self, r: DVec3) -> Self {
        Force6 { n: self.n + r.cross(self.f), f: self.f }
    }
}

macro_rules! linear {
    ($t:ident, $a:ident, $b:ident) => {
        impl Add for $t {
            type Output = $t;
            #[inline(always)]
            fn add(self, o: $t) -> $t {
                $t { $a: self.$a + o.$a, $b: self.$b + o.$b }
            }
        }
        impl Sub for $t {
            type Output = $t;
            #[inline(always)]
            fn sub(self, o: $t) -> $t {
                $t { $a: self.$a - o.$a, $b: self.$b - o.$b }
            }
        }
        impl Neg for $t {
            type Output = $t;
            #[inline(always)]
            fn neg(self) -> $t {
                $t { $a: -self.$a, $b: -self.$b }
            }
        }
        impl Mul<f64> for $t {
            type Output = $t;
            #[inline(always)]
            fn mul(self, k: f64) -> $t {
                $t { $a: self.$a * k, $b: self.$b * k }
            }
        }
        impl AddAssign for $t {
            #[inline(always)]
            fn add_assign(&mut self, o: $t) {
                *self = *self + o;
            }
        }
        impl SubAssign for $t {
            #[inline(always)]
            fn sub_assign(&mut self, o: $t) {
                *self = *self - o;
            }
        }
    };
}

linear!(Motion6, w, v);
linear!(Force6, n, f);

/// A symmetric 3 × 3 matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sym3 {
    pub xx: f64,
    pub yy: f64,
    pub zz: f64,
    pub xy: f64,
    pub xz: f64,
    pub yz: f64,
}

impl Sym3 {
    #[inline(always)]
    pub fn scalar(m: f64) -> Self {
        Sym3 { xx: m, yy: m, zz: m, ..Sym3::default() }
    }

    /// R diag(d) Rᵀ.
    #[inline(always)]
    pub fn rotated(r: &DMat3, d: DVec3) -> Self {
        let (x, y, z) = (r.x_axis, r.y_axis, r.z_axis);
        let (dx, dy, dz) = (x * d.x, y * d.y, z * d.z);
        Sym3 {
            xx: dx.x * x.x + dy.x * y.x + dz.x * z.x,
            yy: dx.y * x.y + dy.y * y.y + dz.y * z.y,
            zz: dx.z * x.z + dy.z * y.z + dz.z * z.z,
            xy: dx.x * x.y + dy.x * y.y + dz.x * z.y,
            xz: dx.x * x.z + dy.x * y.z + dz.x * z.z,
            yz: dx.y * x.z + dy.y * y.z + dz.y * z.z,
        }
    }

    /// m (|c|² − c cᵀ): what a mass at `c` adds to an inertia.
    #[inline(always)]
    pub fn of_mass_at(m: f64, c: DVec3) -> Self {
        let (x, y, z) = (c.x * c.x, c.y * c.y, c.z * c.z);
        let k = c * m;
        Sym3 { xx: m * (y + z), yy: m * (x + z), zz: m * (x + y), xy: -k.x * c.y, xz: -k.x * c.z, yz: -k.y * c.z }
    }

    #[inline(always)]
    pub fn times(&self, v: DVec3) -> DVec3 {
        DVec3::new(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )
    }

    #[inline(always)]
    pub fn matrix(&self) -> DMat3 {
        DMat3::from_cols(
            DVec3::new(self.xx, self.xy, self.xz),
            DVec3::new(self.xy, self.yy, self.yz),
            DVec3::new(self.xz, self.yz, self.zz),
        )
    }

    /// The symmetric part of a matrix that is symmetric but for rounding.
    #[inline(always)]
    pub fn of(m: &DMat3) -> Self {
        let (x, y, z) = (m.x_axis, m.y_axis, m.z_axis);
        Sym3 { xx: x.x, yy: y.y, zz: z.z, xy: y.x, xz: z.x, yz: z.y }
    }

    /// The inverse of a positive definite matrix.
    #[inline(always)]
    pub fn inverse(&self) -> Sym3 {
        let xx = self.yy * self.zz - self.yz * self.yz;
        let xy = self.xz * self.yz - self.xy * self.zz;
        let xz = self.xy * self.yz - self.xz * self.yy;
        let k = 1.0 / (self.xx * xx + self.xy * xy + self.xz * xz);
        Sym3 {
            xx: xx * k,
            xy: xy * k,
            xz: xz * k,
            yy: (self.xx * self.zz - self.xz * self.xz) * k,
            yz: (self.xy * self.xz - self.xx * self.yz) * k,
            zz: (self.xx * self.yy - self.xy * self.xy) * k,
        }
    }
}

impl Add for Sym3 {
    type Output = Sym3;
    #[inline(always)]
    fn add(self, o: Sym3) -> Sym3 {
        Sym3 {
            xx: self.xx + o.xx,
            yy: self.yy + o.yy,
            zz: self.zz + o.zz,
            xy: self.xy + o.xy,
            xz: self.xz + o.xz,
            yz: self.yz + o.yz,
        }
    }
}

/// a × as a matrix times m: columns a × m_k.
#[inline(always)]
fn cross_columns(a: DVec3, m: &DMat3) -> DMat3 {
    DMat3::from_cols(a.cross(m.x_axis), a.cross(m.y_axis), a.cross(m.z_axis))
}

/// A symmetric map from motions to forces at one point: n = A ω + B v, f = Bᵀ ω + M v.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inertia6 {
    pub a: Sym3,
    pub b: DMat3,
    pub m: Sym3,
}

impl Inertia6 {
    /// A rigid body of mass `m` with central inertia `i` whose centre of mass is `c` away from the point.
    #[inline(always)]
    pub fn rigid(m: f64, i: Sym3, c: DVec3) -> Self {
        let k = c * m;
        Inertia6 {
            a: i + Sym3::of_mass_at(m, c),
            b: DMat3::from_cols(DVec3::new(0.0, k.z, -k.y), DVec3::new(-k.z, 0.0, k.x), DVec3::new(k.y, -k.x, 0.0)),
            m: Sym3::scalar(m),
        }
    }

    #[inline(always)]
    pub fn times(&self, m: Motion6) -> Force6 {
        let bt = DVec3::new(self.b.x_axis.dot(m.w), self.b.y_axis.dot(m.w), self.b.z_axis.dot(m.w));
        Force6 { n: self.a.times(m.w) + self.b * m.v, f: bt + self.m.times(m.v) }
    }

    /// The same inertia, seen at the point from which its own is `r` away.
    #[inline(always)]
    pub fn carried(&self, r: DVec3) -> Self {
        // B' = B + r×M, A' = A − B r× + r× B'ᵀ; column k of B r× is B (r × e_k)
        let b = self.b + cross_columns(r, &self.m.matrix());
        let bt = b.transpose();
        let old = &self.b;
        let left = DMat3::from_cols(
            old.y_axis * r.z - old.z_axis * r.y,
            old.z_axis * r.x - old.x_axis * r.z,
            old.x_axis * r.y - old.y_axis * r.x,
        );
        let right = cross_columns(r, &bt);
        Inertia6 { a: self.a + Sym3::of(&(right - left)), b, m: self.m }
    }

    /// self − Σ u_i d_ij u_jᵀ for a symmetric d, given u and w = u d.
    #[inline(always)]
    pub fn less(&self, u: &[Force6], w: &[Force6]) -> Self {
        let mut out = *self;
        for (u, w) in u.iter().zip(w) {
            out.a.xx -= u.n.x * w.n.x;
            out.a.yy -= u.n.y * w.n.y;
            out.a.zz -= u.n.z * w.n.z;
            out.a.xy -= u.n.x * w.n.y;
            out.a.xz -= u.n.x * w.n.z;
            out.a.yz -= u.n.y * w.n.z;
            out.m.xx -= u.f.x * w.f.x;
            out.m.yy -= u.f.y * w.f.y;
            out.m.zz -= u.f.z * w.f.z;
            out.m.xy -= u.f.x * w.f.y;
            out.m.xz -= u.f.x * w.f.z;
            out.m.yz -= u.f.y * w.f.z;
            out.b.x_axis -= u.n * w.f.x;
            out.b.y_axis -= u.n * w.f.y;
            out.b.z_axis -= u.n * w.f.z;
        }
        out
    }
}

impl AddAssign for Inertia6 {
    #[inline(always)]
    fn add_assign(&mut self, o: Inertia6) {
        self.a = self.a + o.a;
        self.b += o.b;
        self.m = self.m + o.m;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rigid_body_seen_from_elsewhere_is_the_same_body() {
        let (m, i) = (2.5, Sym3 { xx: 1.0, yy: 1.3, zz: 0.8, xy: 0.1, xz: -0.2, yz: 0.05 });
        let (c, r) = (DVec3::new(0.3, -0.4, 0.9), DVec3::new(-1.1, 0.7, 0.2));
        let carried = Inertia6::rigid(m, i, c).carried(r);
        let there = Inertia6::rigid(m, i, c + r);
        let motion = Motion6::new(DVec3::new(0.4, 1.2, -0.7), DVec3::new(2.0, -1.0, 0.3));
        let (f, g) = (carried.times(motion), there.times(motion));
        assert!((f.n - g.n).length() < 1e-13 && (f.f - g.f).length() < 1e-13);
        // and by carrying motion and force themselves
        let h = Inertia6::rigid(m, i, c).times(motion.at(r)).carried(r);
        assert!((f.n - h.n).length() < 1e-13 && (f.f - h.f).length() < 1e-13);
    }

    #[test]
    fn the_inverse_of_a_symmetric_matrix_is_its_inverse() {
        let s = Sym3 { xx: 2.0, yy: 3.0, zz: 1.5, xy: 0.4, xz: -0.3, yz: 0.7 };
        let e = s.matrix() * s.inverse().matrix();
        assert!((e - DMat3::IDENTITY).to_cols_array().iter().all(|x| x.abs() < 1e-15));
    }
}
