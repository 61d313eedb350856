//! Parametric objects that are often wanted, with exact derivatives.

use super::Parametric;
use crate::error::SceneError;
use crate::math::rotation::sin_cos;
use glam::DVec3;

/// A bead on a circular wire; its coordinate is the angle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    center: DVec3,
    /// Radii to angle zero and to a quarter turn.
    u: DVec3,
    v: DVec3,
}

impl Ring {
    /// A circle about a centre, across a normal; angle zero is towards `start`.
    pub fn new(center: DVec3, normal: DVec3, radius: f64, start: DVec3) -> Result<Ring, SceneError> {
        let n = normal.try_normalize().ok_or_else(|| SceneError::new("normal", "has no length"))?;
        if !(radius.is_finite() && radius > 1e-12) {
            return Err(SceneError::new("radius", format!("{radius} m must be positive")));
        }
        let towards = start - center - n * n.dot(start - center);
        let u = towards.try_normalize().unwrap_or(n.any_orthonormal_vector()) * radius;
        if !(center.is_finite() && u.is_finite()) {
            return Err(SceneError::new("center", "is not finite"));
        }
        Ok(Ring { center, u, v: n.cross(u) })
    }
}

impl Parametric for Ring {
    fn coordinates(&self) -> usize {
        1
    }

    fn place(&self, u: &[f64], x: &mut [DVec3]) {
        let (s, c) = sin_cos(u[0]);
        x[0] = self.center + self.u * c + self.v * s;
    }

    fn jacobian(&self, u: &[f64], j: &mut [DVec3]) {
        let (s, c) = sin_cos(u[0]);
        j[0] = self.v * c - self.u * s;
    }

    fn bias(&self, u: &[f64], du: &[f64], a: &mut [DVec3]) {
        let (s, c) = sin_cos(u[0]);
        a[0] = (self.u * c + self.v * s) * -(du[0] * du[0]);
    }
}

/// A chain of rods in the plane of x and z by their angles against x, masses at their ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Pendulum {
    pivot: DVec3,
    lengths: Vec<f64>,
}

impl Pendulum {
    /// Rods of the given lengths, m, from a pivot.
    pub fn new(pivot: DVec3, lengths: Vec<f64>) -> Result<Pendulum, SceneError> {
        if !pivot.is_finite() || lengths.is_empty() {
            return Err(SceneError::new("pivot", "needs a finite place and at least one rod"));
        }
        match lengths.iter().position(|l| !(l.is_finite() && *l > 1e-12)) {
            Some(k) => Err(SceneError::new(format!("lengths[{k}]"), format!("{} m must be positive", lengths[k]))),
            None => Ok(Pendulum { pivot, lengths }),
        }
    }
}

impl Parametric for Pendulum {
    fn coordinates(&self) -> usize {
        self.lengths.len()
    }

    fn place(&self, u: &[f64], x: &mut [DVec3]) {
        let mut at = self.pivot;
        for k in 0..u.len() {
            let (s, c) = sin_cos(u[k]);
            at += DVec3::new(c, 0.0, s) * self.lengths[k];
            x[k] = at;
        }
    }

    fn jacobian(&self, u: &[f64], j: &mut [DVec3]) {
        let n = u.len();
        for k in 0..n {
            let (s, c) = sin_cos(u[k]);
            let turn = DVec3::new(-s, 0.0, c) * self.lengths[k];
            for p in 0..n {
                j[p * n + k] = if p >= k { turn } else { DVec3::ZERO };
            }
        }
    }

    fn bias(&self, u: &[f64], du: &[f64], a: &mut [DVec3]) {
        let mut sum = DVec3::ZERO;
        for k in 0..u.len() {
            let (s, c) = sin_cos(u[k]);
            sum -= DVec3::new(c, 0.0, s) * (self.lengths[k] * du[k] * du[k]);
            a[k] = sum;
        }
    }
}
