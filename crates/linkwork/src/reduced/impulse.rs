//! How a tree answers impulses, and what follows from it: Mirtich's collision matrix, Kokkevis' prescribed accelerations.
//!
//! An impulse travels inward along the path to the ground, losing at every joint what the joint gives way to:
//! Y_h = Y_i − I S D⁻¹ Sᵀ Y_i, with the articulated inertias of the present pose; the changes of velocity then travel outward,
//! Δq̇ = D⁻¹(−Sᵀ Y − Uᵀ Δv_h). Forces and accelerations behave the same: at one moment the acceleration of any joint or point is
//! an affine function of any force, a = k f + a₀ (Kokkevis 2004), so that m prescribed accelerations cost m responses and one
//! small system.

use super::aba::{absorb, accelerate, factor};
use super::inverse::each_column;
use super::kinematics::{Data, check_memory, check_sizes, is_memory_of, place};
use super::model::Model;
use super::spatial::{Force6, Motion6};
use crate::math::Wrench;
use glam::{DMat3, DVec3};
use std::fmt;

/// Changes of the rates (`data.acceleration`) by joint impulses and by impulses on points, for a tree at positions `q`.
///
/// A point impulse is (place of the body in the tree, world point, impulse in N s). Read with [`rate_of_change`].
///
/// # Panics
/// If the vectors are not as long as the model's, `data` is another model's, or a point is on a body that is not in the tree.
pub fn respond(model: &Model, data: &mut Data, q: &[f64], joint_impulse: &[f64], points: &[(usize, DVec3, DVec3)]) {
    check_sizes(model, data, q, &[("joint_impulse", joint_impulse)]);
    place(model, data, q);
    factor(model, data);
    respond_again(model, data, joint_impulse, points);
}

/// The same at the poses of the last [`respond`].
pub(crate) fn respond_again(model: &Model, data: &mut Data, joint_impulse: &[f64], points: &[(usize, DVec3, DVec3)]) {
    for at in &mut data.links {
        (at.p, at.c) = (Force6::default(), Motion6::default());
    }
    for &(index, point, impulse) in points {
        let lever = point - data.links[index].o;
        data.links[index].p -= Force6::new(lever.cross(impulse), impulse);
    }
    absorb(model, data, joint_impulse);
    accelerate(model, data, false);
}

/// The change of a point's velocity that the last [`respond`] found.
///
/// # Panics
/// If there is no body at that place of the tree.
pub fn rate_of_change(data: &Data, index: usize, point: DVec3) -> DVec3 {
    let at = &data.links[index];
    at.a.at(point - at.o).v
}

/// Mirtich's collision matrix: the change of a point's velocity per impulse at that point, by three test impulses, 1/kg.
///
/// # Panics
/// If there is no body at that place of the tree, `q` is not as long as the model's positions, or `data` is another model's.
pub fn collision_matrix(model: &Model, data: &mut Data, q: &[f64], index: usize, point: DVec3) -> DMat3 {
    check_sizes(model, data, q, &[]);
    place(model, data, q);
    factor(model, data);
    let none = vec![0.0; model.rates()];
    let mut column = |test: DVec3| {
        respond_again(model, data, &none, &[(index, point, test)]);
        rate_of_change(data, index, point)
    };
    DMat3::from_cols(column(DVec3::X), column(DVec3::Y), column(DVec3::Z))
}

/// Whose acceleration is prescribed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// One of the rates, by its number; the force acts along it (N m, N).
    Rate(usize),
    /// A world point that moves with the body at a place of the tree, along a unit direction; the force acts at the point along it.
    Point {
        /// Place of the body in the tree.
        index: usize,
        /// World point, m.
        point: DVec3,
        /// Unit direction in which it is prescribed.
        direction: DVec3,
    },
}

/// An acceleration that is to come about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prescribed {
    /// Of what.
    pub target: Target,
    /// rad/s² or m/s².
    pub acceleration: f64,
}

/// A velocity that is to come about at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrescribedVelocity {
    /// Of what; the impulse acts as a [`Prescribed`] acceleration's force does (N m s, N s).
    pub target: Target,
    /// rad/s or m/s.
    pub velocity: f64,
}

/// Why accelerations or velocities cannot be prescribed.
#[derive(Clone, Debug, PartialEq)]
pub enum CannotPrescribe {
    /// Positions, rates or forces are not as many as the model's, or not finite.
    BadState {
        /// Which of them.
        what: &'static str,
    },
    /// There is no such rate or body, or the prescription has numbers that are not finite.
    NoSuchTarget {
        /// Which prescription.
        number: usize,
    },
    /// It follows from the ones before, or nothing can move that way, and it asks for something else.
    Contradiction {
        /// Which prescription.
        number: usize,
        /// What cannot be had, rad/s² or m/s².
        missing: f64,
    },
}

impl fmt::Display for CannotPrescribe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotPrescribe::NoSuchTarget { number } => {
                write!(f, "prescription {number}: the tree has no such rate or body, or its numbers are not finite")
            }
            CannotPrescribe::BadState { what } => {
                write!(f, "{what}: must be as many as the model has, and finite")
            }
            CannotPrescribe::Contradiction { number, missing } => write!(
                f,
                "prescription {number} contradicts the ones before it, or nothing can move that way: {missing:.3e} m/s² or rad/s² cannot be had; leave it out"
            ),
        }
    }
}

impl std::error::Error for CannotPrescribe {}

/// A response below this part of the target's own is rounding.
const IMPLIED: f64 = 1e-10;

/// The forces, one for each prescription, under which all prescribed accelerations come about; `data.acceleration` has all
/// accelerations then. Where prescriptions imply each other, the later ones need no force.
///
/// `force` and `external` are what acts anyway, as for [`aba`](super::aba()).
pub fn prescribe(
    model: &Model,
    data: &mut Data,
    q: &[f64],
    v: &[f64],
    force: &[f64],
    external: &[Wrench],
    wanted: &[Prescribed],
) -> Result<Vec<f64>, CannotPrescribe> {
    check_numbers(
        model,
        data,
        &[("q", q, model.positions()), ("v", v, model.rates()), ("force", force, model.rates())],
    )?;
    if external.len() > model.bodies() || external.iter().any(|w| !w.force.is_finite() || !w.torque.is_finite()) {
        return Err(CannotPrescribe::BadState { what: "external" });
    }
    let targets: Vec<Target> = wanted.iter().map(|w| w.target).collect();
    if let Some(number) = wanted.iter().position(|w| !is_known(model, &w.target) || !w.acceleration.is_finite()) {
        return Err(CannotPrescribe::NoSuchTarget { number });
    }
    super::aba(model, data, q, v, force, external);
    let right: Vec<f64> = wanted.iter().map(|w| w.acceleration - acceleration_of(data, &w.target)).collect();
    let forces = solve_in_order(responses(model, data, &targets), right)?;
    // what comes about under them
    let mut total = force.to_vec();
    let mut outer = vec![Wrench::default(); model.bodies()];
    outer.iter_mut().zip(external).for_each(|(o, e)| *o = *e);
    for (w, f) in wanted.iter().zip(&forces) {
        match w.target {
            Target::Rate(r) => total[r] += f,
            Target::Point { index, point, direction } => {
                outer[index].force += direction * *f;
                outer[index].torque += (point - data.links[index].placed.x).cross(direction * *f);
            }
        }
    }
    super::aba(model, data, q, v, &total, &outer);
    Ok(forces)
}

/// The impulses, one for each prescription, that bring all prescribed velocities about at once, and the rates after them.
/// Where prescriptions imply each other, the later ones need no impulse.
pub fn prescribe_velocities(
    model: &Model,
    data: &mut Data,
    q: &[f64],
    v: &[f64],
    wanted: &[PrescribedVelocity],
) -> Result<(Vec<f64>, Vec<f64>), CannotPrescribe> {
    check_numbers(model, data, &[("q", q, model.positions()), ("v", v, model.rates())])?;
    let targets: Vec<Target> = wanted.iter().map(|w| w.target).collect();
    if let Some(number) = wanted.iter().position(|w| !is_known(model, &w.target) || !w.velocity.is_finite()) {
        return Err(CannotPrescribe::NoSuchTarget { number });
    }
    super::forward_kinematics(model, data, q, v);
    factor(model, data);
    let velocity_of = |data: &Data, target: &Target| match *target {
        Target::Rate(r) => v[r],
        Target::Point { index, point, direction } => {
            let at = &data.links[index];
            at.v.at(point - at.o).v.dot(direction)
        }
    };
    let right: Vec<f64> = wanted.iter().map(|w| w.velocity - velocity_of(data, &w.target)).collect();
    let impulses = solve_in_order(responses(model, data, &targets), right)?;
    let mut joints = vec![0.0; model.rates()];
    let mut points = Vec::new();
    for (target, p) in targets.iter().zip(&impulses) {
        match *target {
            Target::Rate(r) => joints[r] += p,
            Target::Point { index, point, direction } => points.push((index, point, direction * *p)),
        }
    }
    respond_again(model, data, &joints, &points);
    let rates = v.iter().zip(&data.acceleration).map(|(v, change)| v + change).collect();
    Ok((impulses, rates))
}

fn check_numbers(model: &Model, data: &Data, vectors: &[(&'static str, &[f64], usize)]) -> Result<(), CannotPrescribe> {
    if !is_memory_of(model, data) {
        return Err(CannotPrescribe::BadState { what: "data" });
    }
    let wrong = |(_, x, count): &&(&str, &[f64], usize)| x.len() != *count || x.iter().any(|x| !x.is_finite());
    match vectors.iter().find(wrong) {
        Some((what, ..)) => Err(CannotPrescribe::BadState { what }),
        None => Ok(()),
    }
}

fn is_known(model: &Model, target: &Target) -> bool {
    match *target {
        Target::Rate(r) => r < model.rates(),
        Target::Point { index, point, direction } => {
            index < model.bodies() && point.is_finite() && direction.is_finite()
        }
    }
}

/// How each target answers a unit of force on each, at the poses and inertias at hand.
fn responses(model: &Model, data: &mut Data, targets: &[Target]) -> Vec<f64> {
    let m = targets.len();
    let still = vec![0.0; model.rates()];
    let mut unit = still.clone();
    let mut k = vec![0.0; m * m];
    for (j, target) in targets.iter().enumerate() {
        match *target {
            Target::Rate(r) => {
                unit[r] = 1.0;
                respond_again(model, data, &unit, &[]);
                unit[r] = 0.0;
            }
            Target::Point { index, point, direction } => {
                respond_again(model, data, &still, &[(index, point, direction)])
            }
        }
        for (i, target) in targets.iter().enumerate() {
            k[i * m + j] = match *target {
                Target::Rate(r) => data.acceleration[r],
                Target::Point { index, point, direction } => rate_of_change(data, index, point).dot(direction),
            };
        }
    }
    k
}

/// The acceleration of a target in the last dynamics.
fn acceleration_of(data: &Data, target: &Target) -> f64 {
    match *target {
        Target::Rate(r) => data.acceleration[r],
        Target::Point { index, point, direction } => {
            let at = &data.links[index];
            let (a, v) = (at.a.at(point - at.o), at.v.at(point - at.o));
            (a.v + v.w.cross(v.v)).dot(direction)
        }
    }
}

/// K f = right for a symmetric positive semidefinite K, taken in order: what earlier rows imply gets no force.
fn solve_in_order(mut k: Vec<f64>, mut right: Vec<f64>) -> Result<Vec<f64>, CannotPrescribe> {
    let m = right.len();
    let own: Vec<f64> = (0..m).map(|i| k[i * m + i]).collect();
    let asked = right.iter().fold(0.0_f64, |s, r| s.max(r.abs()));
    let largest = own.iter().fold(0.0_f64, |s, x| s.max(*x));
    let mut implied = vec![false; m];
    for j in 0..m {
        if k[j * m + j] <= IMPLIED * own[j] || own[j] <= 1e-14 * largest {
            implied[j] = true;
            if right[j].abs() > 1e-7 * asked {
                return Err(CannotPrescribe::Contradiction { number: j, missing: right[j] });
            }
            continue;
        }
        for i in j + 1..m {
            let f = k[i * m + j] / k[j * m + j];
            for c in j..m {
                k[i * m + c] -= f * k[j * m + c];
            }
            right[i] -= f * right[j];
        }
    }
    let mut f = vec![0.0; m];
    for j in (0..m).rev().filter(|&j| !implied[j]) {
        let sum: f64 = (j + 1..m).map(|c| k[j * m + c] * f[c]).sum();
        f[j] = (right[j] - sum) / k[j * m + j];
    }
    Ok(f)
}

/// Rates that give a point of a body a velocity: the row of the Jacobian for one direction, for users who build their own systems.
///
/// # Panics
/// If there is no body at that place of the tree, or `data` is another model's.
pub fn point_row(model: &Model, data: &Data, index: usize, point: DVec3, direction: DVec3) -> Vec<f64> {
    check_memory(model, data);
    let mut row = vec![0.0; model.rates()];
    each_column(model, data, index, |column, o, s| row[column] = s.at(point - o).v.dot(direction));
    row
}
