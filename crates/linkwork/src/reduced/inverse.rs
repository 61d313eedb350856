//! Inverse dynamics (recursive Newton–Euler), the mass matrix (composite rigid bodies), Jacobians, momentum.

use super::aba::{inertia_times, momentum, rigid};
use super::kinematics::{Data, carrier_acceleration, check_memory, check_sizes, drive, place};
use super::mass::composites;
use super::model::{Model, NONE};
use super::spatial::{Force6, Motion6};
use crate::math::Wrench;
use glam::{DMat3, DVec3};

/// Joint forces that make given accelerations: `data.force`.
///
/// `external` acts at the centres of mass, by body, and may be empty; gravity acts by itself.
///
/// # Panics
/// If the vectors are not as long as the model's, or `data` is another model's.
pub fn rnea(model: &Model, data: &mut Data, q: &[f64], v: &[f64], acceleration: &[f64], external: &[Wrench]) {
    check_sizes(model, data, q, &[("v", v), ("acceleration", acceleration)]);
    place(model, data, q);
    drive(model, data, v);
    rnea_driven(model, data, acceleration, external);
}

/// The same where the tree is placed and driven. Afterwards every link knows the force that its joint transmits to it.
pub(crate) fn rnea_driven(model: &Model, data: &mut Data, acceleration: &[f64], external: &[Wrench]) {
    for (k, link) in model.links.iter().enumerate() {
        let at = &data.links[k];
        let mut a = carrier_acceleration(model, data, link, at) + at.c;
        let first = link.v as usize;
        for i in 0..link.rates as usize {
            a += data.s[first + i] * acceleration[first + i];
        }
        data.links[k].a = a;
        let at = &data.links[k];
        let mut p = inertia_times(link, at, a) + at.v.cross_force(momentum(link, at));
        let outer = external.get(k).copied().unwrap_or_default();
        let force = model.weight[k] + outer.force;
        p -= Force6::new(outer.torque + at.lever().cross(force), force);
        data.links[k].p = p;
    }
    for (k, link) in model.links.iter().enumerate().rev() {
        let (p, r) = (data.links[k].p, data.links[k].r);
        let first = link.v as usize;
        for i in 0..link.rates as usize {
            data.force[first + i] = data.s[first + i].dot(p);
        }
        if link.parent != NONE {
            data.links[link.parent as usize].p += p.carried(r);
        }
    }
}

/// The mass matrix: `data.mass_matrix`, [`Model::rates`] rows and columns.
///
/// # Panics
/// If `q` is not as long as the model's positions, or `data` is another model's.
pub fn crba(model: &Model, data: &mut Data, q: &[f64]) {
    check_sizes(model, data, q, &[]);
    place(model, data, q);
    let n = model.rates();
    let mut matrix = std::mem::take(&mut data.mass_matrix);
    matrix.clear();
    matrix.resize(n * n, 0.0);
    crba_placed(model, data, &mut matrix);
    for i in 0..n {
        for j in 0..i {
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
    data.mass_matrix = matrix;
}

/// The entries of the mass matrix on and below the diagonal along the branches, where the tree is placed. Articulated
/// inertias stay as they are.
pub(crate) fn crba_placed(model: &Model, data: &mut Data, matrix: &mut [f64]) {
    let n = model.rates();
    let mut composite = std::mem::take(&mut data.composite);
    composites(model, data, &mut composite);
    data.composite = composite;
    for (k, link) in model.links.iter().enumerate().rev() {
        let ia = data.composite[k];
        for i in link.v as usize..link.v as usize + link.rates as usize {
            let mut f = ia.times(data.s[i]);
            for j in link.v as usize..=i {
                matrix[i * n + j] = data.s[j].dot(f);
            }
            let mut above = k;
            while model.links[above].parent != NONE {
                f = f.carried(data.links[above].r);
                above = model.links[above].parent as usize;
                let carrier = &model.links[above];
                for j in carrier.v as usize..carrier.v as usize + carrier.rates as usize {
                    matrix[i * n + j] = data.s[j].dot(f);
                }
            }
        }
    }
}

/// How a world point that moves with a body answers the rates: six rows (angular velocity, then velocity of the point) of
/// [`Model::rates`] columns, at the poses of the last kinematics or dynamics.
///
/// # Panics
/// If there is no body at that place of the tree, or `data` is another model's.
pub fn jacobian(model: &Model, data: &Data, index: usize, point: DVec3) -> Vec<f64> {
    check_memory(model, data);
    let n = model.rates();
    let mut out = vec![0.0; 6 * n];
    each_column(model, data, index, |column, o, s| {
        let s = s.at(point - o);
        for (row, x) in s.w.to_array().into_iter().chain(s.v.to_array()).enumerate() {
            out[row * n + column] = x;
        }
    });
    out
}

/// Visits the columns of all joints between a link and the ground, with the point they are taken at.
pub(crate) fn each_column(model: &Model, data: &Data, index: usize, mut visit: impl FnMut(usize, DVec3, Motion6)) {
    let mut k = index;
    loop {
        let link = &model.links[k];
        for column in link.v as usize..link.v as usize + link.rates as usize {
            visit(column, data.links[k].o, data.s[column]);
        }
        if link.parent == NONE {
            return;
        }
        k = link.parent as usize;
    }
}

/// Momentum of a tree, its mass and the inertia it would have as one body, about its centre of mass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centroidal {
    /// kg.
    pub mass: f64,
    /// Centre of mass, m.
    pub center: DVec3,
    /// kg m/s.
    pub linear: DVec3,
    /// About the centre of mass, kg m²/s.
    pub angular: DVec3,
    /// About the centre of mass, kg m².
    pub inertia: DMat3,
}

/// Momentum about the common centre of mass, at the poses and velocities of the last kinematics or dynamics.
///
/// # Panics
/// If `data` is another model's.
pub fn centroidal(model: &Model, data: &Data) -> Centroidal {
    check_memory(model, data);
    let (mut mass, mut first, mut linear) = (0.0, DVec3::ZERO, DVec3::ZERO);
    for (k, link) in model.links.iter().enumerate() {
        mass += link.mass;
        first += data.links[k].placed.x * link.mass;
        linear += data.velocity(k).0 * link.mass;
    }
    let center = if mass > 0.0 { first / mass } else { DVec3::ZERO };
    let (mut angular, mut inertia) = (DVec3::ZERO, DMat3::ZERO);
    for (k, link) in model.links.iter().enumerate() {
        let at = &data.links[k];
        let h = momentum(link, at);
        angular += h.n + (at.o - center).cross(h.f);
        inertia += rigid(link, at).carried(at.o - center).a.matrix();
    }
    Centroidal { mass, center, linear, angular, inertia }
}
