//! Geometric stiffness: a joint force f at lever arm r gives a body the transverse stiffness ½(|r||f| + r·f)(1 − r̂r̂ᵀ).
//!
//! It decides which step is fit (σ), and it is what the robust step and the last resort add to the mass matrix.

use super::layout::Source;
use super::{Hat, Mechanism};
use glam::{DMat3, DVec3};

/// Enough to find the largest stiffness within a few per cent; the bound it is compared with has a third in hand.
const POWER_ITERATIONS: u32 = 8;

impl Mechanism {
    /// The scalar stiffness of every body from the last forces, for σ.
    pub(super) fn joint_stiffness(&mut self) {
        self.robust.stiffness.fill(0.0);
        for node in &self.layout.nodes {
            let Source::Joint { model, .. } = node.source else { continue };
            let f = joint_force(&self.force, &self.linear.directions, node.row as usize, node.rows as usize);
            let (a, b) = (&self.pose[node.a as usize], &self.pose[node.b as usize]);
            let (ra, rb) = self.layout.models[model as usize].levers(a, b);
            for (body, r, f) in [(node.a, ra, -f), (node.b, rb, f)] {
                if (body as usize) < self.layout.movable {
                    self.robust.stiffness[body as usize] +=
                        0.5 * ((r.length_squared() * f.length_squared()).sqrt() + r.dot(f));
                }
            }
        }
    }

    /// K of every body, world axes, for the forces of the present multipliers.
    pub(super) fn stiffness_tensors_of_multipliers(&mut self) {
        let forces = std::mem::take(&mut self.robust.multiplier);
        self.stiffness_tensors(&forces, 1.0);
        self.robust.multiplier = forces;
    }

    /// K of every body, world axes, for row forces `scale · forces`.
    pub(super) fn stiffness_tensors(&mut self, forces: &[f64], scale: f64) {
        self.robust.tensor.fill(DMat3::ZERO);
        for node in &self.layout.nodes {
            let Source::Joint { model, .. } = node.source else { continue };
            let f = joint_force(forces, &self.linear.directions, node.row as usize, node.rows as usize) * scale;
            let (a, b) = (&self.pose[node.a as usize], &self.pose[node.b as usize]);
            let (ra, rb) = self.layout.models[model as usize].levers(a, b);
            for (body, r, f) in [(node.a, ra, -f), (node.b, rb, f)] {
                let length2 = r.length_squared();
                if (body as usize) < self.layout.movable && length2 > 0.0 {
                    let k = 0.5 * ((length2 * f.length_squared()).sqrt() + r.dot(f));
                    let along = DMat3::from_cols(r * r.x, r * r.y, r * r.z) * (1.0 / length2);
                    self.robust.tensor[body as usize] += (DMat3::IDENTITY - along) * k;
                }
            }
        }
    }

    /// Hat coordinates of M + reach·K at `pose`: whitening S C⁻ᵀ with 1 + reach·SᵀKS = C Cᵀ.
    pub(super) fn whiten_stiffly(&mut self, reach: f64) {
        self.whiten_plainly();
        for k in 0..self.layout.movable {
            let s = self.linear.whitening[k];
            let m = DMat3::IDENTITY + s.transpose() * self.robust.tensor[k] * s * reach;
            let c = cholesky(&m);
            self.robust.cholesky[k] = c;
            // columns of S C⁻ᵀ: solve C Xᵀ = Sᵀ
            let x = DMat3::from_cols(
                solve_lower(&c, s.transpose().x_axis),
                solve_lower(&c, s.transpose().y_axis),
                solve_lower(&c, s.transpose().z_axis),
            );
            self.linear.whitening[k] = x.transpose();
        }
    }

    /// Largest σ/h² among the motions that the joints leave free, by power iteration on the projected stiffness.
    ///
    /// A truss under load has stiff bodies and nothing that could swing: the plain bound, body by body, would call it unstable.
    /// Stops as soon as the answer is known to be `enough`.
    pub(super) fn free_stiffness(&mut self, enough: f64) -> f64 {
        if self.is_immobile() {
            return 0.0;
        }
        let forces = std::mem::take(&mut self.force);
        self.stiffness_tensors(&forces, 1.0);
        self.force = forces;
        self.whiten_plainly();
        let mut z = std::mem::take(&mut self.robust.residual);
        let mut seed = 0x9E37_79B9_u64;
        for e in z.iter_mut().flatten() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *e = (seed >> 40) as f64 / (1 << 24) as f64 - 0.5;
        }
        let norm = |z: &[Hat]| z.iter().flatten().map(|e| e * e).sum::<f64>().sqrt();
        let mut largest = 0.0;
        for _ in 0..POWER_ITERATIONS {
            let before = norm(&z);
            if before == 0.0 {
                break;
            }
            for (k, e) in z.iter_mut().enumerate() {
                let s = &self.linear.whitening[k];
                let w = s.transpose() * (self.robust.tensor[k] * (*s * DVec3::new(e[3], e[4], e[5])));
                *e = [0.0, 0.0, 0.0, w.x, w.y, w.z].map(|x| x / before);
            }
            std::mem::swap(&mut self.u, &mut z);
            self.row_velocities();
            for (r, d) in self.rhs.iter_mut().zip(&self.linear.drift) {
                *r = d - *r;
            }
            self.layout.factor.solve(&mut self.rhs);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.u);
            std::mem::swap(&mut self.u, &mut z);
            // a projected symmetric matrix never stretches a vector by more than its largest eigenvalue
            largest = norm(&z);
            if largest >= enough {
                break;
            }
        }
        self.robust.residual = z;
        largest
    }
}

fn joint_force(forces: &[f64], directions: &[DVec3], row: usize, count: usize) -> DVec3 {
    (row..row + count).map(|r| directions[r] * forces[r]).sum()
}

/// Lower Cholesky factor of a symmetric positive definite matrix.
fn cholesky(m: &DMat3) -> DMat3 {
    let l11 = m.x_axis.x.sqrt();
    let (l21, l31) = (m.x_axis.y / l11, m.x_axis.z / l11);
    let l22 = (m.y_axis.y - l21 * l21).sqrt();
    let l32 = (m.y_axis.z - l21 * l31) / l22;
    let l33 = (m.z_axis.z - l31 * l31 - l32 * l32).sqrt();
    DMat3::from_cols(DVec3::new(l11, l21, l31), DVec3::new(0.0, l22, l32), DVec3::new(0.0, 0.0, l33))
}

/// C⁻¹v for lower triangular C.
pub(super) fn solve_lower(c: &DMat3, v: DVec3) -> DVec3 {
    let x = v.x / c.x_axis.x;
    let y = (v.y - c.x_axis.y * x) / c.y_axis.y;
    let z = (v.z - c.x_axis.z * x - c.y_axis.z * y) / c.z_axis.z;
    DVec3::new(x, y, z)
}

/// C⁻ᵀv for lower triangular C.
pub(super) fn solve_upper(c: &DMat3, v: DVec3) -> DVec3 {
    let z = v.z / c.z_axis.z;
    let y = (v.y - c.y_axis.z * z) / c.y_axis.y;
    let x = (v.x - c.x_axis.y * y - c.x_axis.z * z) / c.x_axis.x;
    DVec3::new(x, y, z)
}
