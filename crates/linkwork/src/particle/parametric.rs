//! Parametric objects: points whose places are functions of a few coordinates, x = q(u) (Lagrangian dynamics).
//!
//! With J = ∂q/∂u and the masses M of the points, forces Q on them accelerate the coordinates by
//!
//! (Jᵀ M J) ü = Jᵀ (Q − M J̇u̇),
//!
//! and the points by J ü + J̇u̇. What the points can do, they do without any constraint; constraints between points of
//! objects and free particles act through Jᵀ like any other force (hybrid models).

use glam::DVec3;
use std::fmt;
use std::sync::Arc;

/// Points as functions of coordinates.
///
/// ```
/// use linkwork::glam::DVec3;
/// use linkwork::particle::{Gravity, ParticleSystem, Parametric};
/// use std::sync::Arc;
///
/// /// A bead on a helix.
/// struct Helix;
/// impl Parametric for Helix {
///     fn coordinates(&self) -> usize {
///         1
///     }
///     fn place(&self, u: &[f64], x: &mut [DVec3]) {
///         x[0] = DVec3::new(u[0].cos(), u[0].sin(), 0.1 * u[0]);
///     }
/// }
///
/// let mut system = ParticleSystem::new();
/// system.add_force(Gravity(DVec3::new(0.0, 0.0, -10.0)))?;
/// let bead = system.add_parametric(Arc::new(Helix), &[1.0], &[0.0], &[0.0])?;
/// for _ in 0..100 {
///     system.step(0.01)?;
/// }
/// // a straight slope of the same steepness: u = −½ g b t²/(1 + b²)
/// let (u, _) = system.parametric(bead).unwrap();
/// assert!((u[0] + 0.5 * 10.0 * 0.1 / 1.01).abs() < 1e-9);
/// # Ok::<(), linkwork::SceneError>(())
/// ```
pub trait Parametric: Send + Sync {
    /// How many coordinates there are.
    fn coordinates(&self) -> usize;

    /// Writes the places of the points.
    fn place(&self, u: &[f64], x: &mut [DVec3]);

    /// Writes ∂x/∂u: for every point, one vector per coordinate. By central differences unless told otherwise.
    fn jacobian(&self, u: &[f64], j: &mut [DVec3]) {
        let (n, mut moved) = (u.len(), u.to_vec());
        let points = j.len() / n.max(1);
        let (mut ahead, mut behind) = (vec![DVec3::ZERO; points], vec![DVec3::ZERO; points]);
        for k in 0..n {
            let d = 1e-5 * u[k].abs().max(1.0);
            moved[k] = u[k] + d;
            self.place(&moved, &mut ahead);
            moved[k] = u[k] - d;
            self.place(&moved, &mut behind);
            moved[k] = u[k];
            for p in 0..points {
                j[p * n + k] = (ahead[p] - behind[p]) / (2.0 * d);
            }
        }
    }

    /// Writes J̇u̇, the acceleration of the points while the coordinates keep their speeds. By differences unless told otherwise.
    fn bias(&self, u: &[f64], du: &[f64], a: &mut [DVec3]) {
        let speed = du.iter().map(|v| v.abs()).fold(0.0, f64::max);
        a.fill(DVec3::ZERO);
        if speed == 0.0 {
            return;
        }
        // the second derivative of the place along the straight path in u
        let s = 1e-3 / speed;
        let along = |f: f64| u.iter().zip(du).map(|(u, d)| u + f * s * d).collect::<Vec<_>>();
        let mut x = vec![DVec3::ZERO; a.len()];
        for (f, weight) in [(-2.0, -1.0), (-1.0, 16.0), (0.0, -30.0), (1.0, 16.0), (2.0, -1.0)] {
            self.place(&along(f), &mut x);
            for (a, x) in a.iter_mut().zip(&x) {
                *a += *x * (weight / (12.0 * s * s));
            }
        }
    }
}

/// Names a parametric object of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParametricId(pub(super) usize);

/// A parametric object in motion, with what its answer to forces needs.
#[derive(Clone)]
pub(super) struct Body {
    pub shape: Arc<dyn Parametric>,
    /// Its points among the particles.
    pub first: usize,
    pub mass: Vec<f64>,
    pub u: Vec<f64>,
    pub du: Vec<f64>,
    j: Vec<DVec3>,
    pub bias: Vec<DVec3>,
    /// Cholesky factor of Jᵀ M J, by rows.
    factor: Vec<f64>,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parametric object of {} points, u = {:?}, u̇ = {:?}", self.mass.len(), self.u, self.du)
    }
}

impl Body {
    pub fn new(shape: Arc<dyn Parametric>, first: usize, mass: &[f64], u: &[f64], du: &[f64]) -> Body {
        let (n, points) = (u.len(), mass.len());
        Body {
            shape,
            first,
            mass: mass.to_vec(),
            u: u.to_vec(),
            du: du.to_vec(),
            j: vec![DVec3::ZERO; n * points],
            bias: vec![DVec3::ZERO; points],
            factor: vec![0.0; n * n],
        }
    }

    /// Puts the points where the coordinates say, with their velocities, and prepares the answer to forces.
    pub fn place(&mut self, x: &mut [DVec3], v: &mut [DVec3]) {
        let (n, points) = (self.u.len(), self.mass.len());
        self.shape.place(&self.u, &mut x[self.first..self.first + points]);
        self.shape.jacobian(&self.u, &mut self.j);
        self.shape.bias(&self.u, &self.du, &mut self.bias);
        for p in 0..points {
            v[self.first + p] = self.point(p, &self.du);
        }
        let mut a = vec![0.0; n * n];
        for p in 0..points {
            for r in 0..n {
                for s in 0..=r {
                    a[r * n + s] += self.mass[p] * self.j[p * n + r].dot(self.j[p * n + s]);
                }
            }
        }
        for r in 0..n {
            for s in 0..=r {
                let mut sum = a[r * n + s];
                for k in 0..s {
                    sum -= self.factor[r * n + k] * self.factor[s * n + k];
                }
                // a coordinate that moves nothing gets no acceleration
                self.factor[r * n + s] = match r == s {
                    true if sum > 1e-13 * a[r * n + r].max(1e-300) => sum.sqrt(),
                    true => f64::INFINITY,
                    false => sum / self.factor[s * n + s],
                };
            }
        }
    }

    fn point(&self, p: usize, rates: &[f64]) -> DVec3 {
        let n = rates.len();
        (0..n).map(|k| self.j[p * n + k] * rates[k]).sum()
    }

    /// Rates of the coordinates from generalised forces Jᵀ f.
    pub fn rates(&self, f: &[DVec3]) -> Vec<f64> {
        let n = self.u.len();
        let mut b = vec![0.0; n];
        for p in 0..self.mass.len() {
            for k in 0..n {
                b[k] += self.j[p * n + k].dot(f[self.first + p]);
            }
        }
        for r in 0..n {
            for k in 0..r {
                b[r] -= self.factor[r * n + k] * b[k];
            }
            b[r] /= self.factor[r * n + r];
        }
        for r in (0..n).rev() {
            for k in r + 1..n {
                b[r] -= self.factor[k * n + r] * b[k];
            }
            b[r] /= self.factor[r * n + r];
        }
        b
    }

    /// Writes the answer of its points to forces, without their bias.
    pub fn answer(&self, f: &[DVec3], a: &mut [DVec3]) {
        let rates = self.rates(f);
        for p in 0..self.mass.len() {
            a[self.first + p] = self.point(p, &rates);
        }
    }

    /// Forces on its points that take their bias accelerations off.
    pub fn subtract_inertia(&self, f: &mut [DVec3]) {
        for p in 0..self.mass.len() {
            f[self.first + p] -= self.bias[p] * self.mass[p];
        }
    }
}
