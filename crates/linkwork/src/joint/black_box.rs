//! Black-box joints (Weinstein, Teran and Fedkiw 2006, section IV): a user function says which relative pose is allowed.
//!
//! The function is a projection, so the departure e = x ⊖ nearest(x) vanishes on the allowed poses and its derivative there
//! is a projector D, whose trace is its rank: the number k of rows. The rows are those of Bᵀe with an orthonormal frame B
//! (6 × k) of the range of D that is *kept* from step to step: error Bᵀe and rows BᵀD are of one function, and their number
//! and meaning do not change while the joint moves. (The six components of e themselves would not do: each is a multiple of
//! the same few directions, and the one that a pivot picks passes through zero as the joint moves, the normal of a curve at
//! its lowest point for instance.) When the range has turned away from B, between steps, B is turned after it.

use super::rows::Row;
use super::{JointModel, JointState, MAX_ROWS, Motion};
use crate::math::{Placed, Pose, rotation};
use glam::{DMat3, DVec3};
use std::sync::Arc;

/// A joint given by a function: the pose of b's joint frame in a's joint frame, to the nearest pose that the joint allows.
///
/// The function must be a projection (an allowed pose maps to itself), smooth near the allowed poses, and leave the same
/// number of freedoms everywhere.
pub trait BlackBox: Send + Sync {
    /// The nearest allowed pose.
    fn nearest(&self, relative: Pose) -> Pose;
}

type Vector = [f64; MAX_ROWS];

/// A black box at work: the function, and the directions in which its rows are measured, in a's joint frame (m, rad).
#[derive(Clone)]
pub(crate) struct Held {
    function: Arc<dyn BlackBox>,
    rank: usize,
    basis: [Vector; MAX_ROWS],
}

/// Step of the central differences through the user's function, m and rad: its error, about 1e-10, is far below what the rows need.
const DIFFERENCE: f64 = 1e-5;
/// The frame is turned after the range when a direction of it is shorter in the range than this, at an angle of 4e-3 rad. A
/// row's force is that of a unit direction to the same extent; a machine at rest keeps its frame, and its factor with it.
const ALIGNED: f64 = 1.0 - 1e-5;
/// Below this the frame says nothing about the range any more.
const LOST: f64 = 0.1;
/// How far a projection may be from one, by its trace and by its second application, m and rad.
const PROJECTION: f64 = 1e-3;

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// x ⊖ allowed: displacement and rotation vector, in a's frame.
fn difference(relative: Pose, allowed: Pose) -> Vector {
    let p = relative.position - allowed.position;
    let w = rotation::log(relative.orientation * allowed.orientation.inverse());
    [p.x, p.y, p.z, w.x, w.y, w.z]
}

/// The product of the derivative, given by columns, and a vector.
fn times(columns: &[Vector; MAX_ROWS], v: &Vector) -> Vector {
    let mut out = [0.0; MAX_ROWS];
    for (column, v) in columns.iter().zip(v) {
        out.iter_mut().zip(column).for_each(|(o, c)| *o += c * v);
    }
    out
}

/// Takes the part along earlier directions away from `v` and makes it a unit; returns the length that was left.
fn orthonormalise(earlier: &[Vector], v: &mut Vector) -> f64 {
    // twice is enough: the second pass removes the rounding of the first
    for _ in 0..2 {
        for e in earlier {
            let along = dot(e, v);
            v.iter_mut().zip(e).for_each(|(v, e)| *v -= along * e);
        }
    }
    let length = dot(v, v).sqrt();
    v.iter_mut().for_each(|v| *v /= length.max(f64::MIN_POSITIVE));
    length
}

impl Held {
    /// Takes a function into use at a relative pose, or says why it is not a projection there.
    pub fn new(function: Arc<dyn BlackBox>, relative: Pose) -> Result<Held, String> {
        let allowed = function.nearest(relative);
        let is_pose = |p: &Pose| {
            p.position.is_finite() && p.orientation.is_finite() && (p.orientation.length() - 1.0).abs() < PROJECTION
        };
        if !is_pose(&allowed) {
            return Err(format!(
                "the function gives no pose at the start: position {}, orientation {}",
                allowed.position, allowed.orientation
            ));
        }
        let moved = difference(allowed, function.nearest(allowed));
        let away = dot(&moved, &moved).sqrt();
        if away.is_nan() || away > PROJECTION {
            return Err(format!("the pose that the function gives is not one it allows: {away:.3e} m or rad apart"));
        }
        let mut held = Held { function, rank: 0, basis: [[0.0; MAX_ROWS]; MAX_ROWS] };
        let columns = held.derivative(allowed);
        let trace: f64 = (0..MAX_ROWS).map(|k| columns[k][k]).sum();
        held.rank = trace.round().clamp(0.0, MAX_ROWS as f64) as usize;
        if trace.is_nan() || (trace - held.rank as f64).abs() > PROJECTION {
            return Err(format!("the function is not a smooth projection at the start: it holds {trace:.3} freedoms"));
        }
        if held.rank == 0 {
            return Err("the function allows every pose near the start".into());
        }
        held.choose_basis(&columns);
        Ok(held)
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Whether a row is mostly an angle.
    pub fn is_angle(&self, row: usize) -> bool {
        let b = &self.basis[row];
        b[3] * b[3] + b[4] * b[4] + b[5] * b[5] > 0.5
    }

    /// Takes over the directions of another copy; whether they were others.
    pub fn take_basis(&mut self, from: &Held) -> bool {
        let differs = self.basis != from.basis;
        self.basis = from.basis;
        differs
    }

    fn departure(&self, relative: Pose) -> Vector {
        difference(relative, self.function.nearest(relative))
    }

    fn error(&self, relative: Pose) -> Vector {
        let departure = self.departure(relative);
        let mut error = [0.0; MAX_ROWS];
        for (error, basis) in error.iter_mut().zip(&self.basis[..self.rank]) {
            *error = dot(basis, &departure);
        }
        error
    }

    /// Derivative of the departure by the relative motion (v, ω) in a's frame; column k belongs to motion k.
    fn derivative(&self, relative: Pose) -> [Vector; MAX_ROWS] {
        let mut columns = [[0.0; MAX_ROWS]; MAX_ROWS];
        for (k, column) in columns.iter_mut().enumerate() {
            let moved = |t: f64| {
                let mut pose = relative;
                if k < 3 {
                    pose.position[k] += t;
                } else {
                    let mut axis = DVec3::ZERO;
                    axis[k - 3] = t;
                    pose.orientation = rotation::exp(axis) * pose.orientation;
                }
                self.departure(pose)
            };
            let (plus, minus) = (moved(DIFFERENCE), moved(-DIFFERENCE));
            for r in 0..MAX_ROWS {
                column[r] = (plus[r] - minus[r]) / (2.0 * DIFFERENCE);
            }
        }
        columns
    }

    /// A frame of the range of D: its columns, the longest remaining one first.
    fn choose_basis(&mut self, columns: &[Vector; MAX_ROWS]) {
        let mut left = *columns;
        for r in 0..self.rank {
            let mut longest = (0, 0.0);
            for (k, column) in left.iter().enumerate() {
                let length = dot(column, column);
                // of equal ones the first, so that rounding does not choose
                if length > longest.1 * (1.0 + 1e-6) {
                    longest = (k, length);
                }
            }
            let mut chosen = left[longest.0];
            orthonormalise(&self.basis[..r], &mut chosen);
            self.basis[r] = chosen;
            for column in &mut left {
                let along = dot(&chosen, column);
                column.iter_mut().zip(&chosen).for_each(|(c, b)| *c -= along * b);
            }
        }
    }

    /// Turns the frame after the range of D if that has turned away, so that its directions go on; whether they could.
    fn follow(&mut self, columns: &[Vector; MAX_ROWS]) -> bool {
        let mut turned = self.basis;
        let mut least = f64::INFINITY;
        for r in 0..self.rank {
            let mut projected = times(columns, &self.basis[r]);
            let length = orthonormalise(&turned[..r], &mut projected);
            turned[r] = projected;
            // not `min`: a function that gives no number is lost too
            least = if length < least || length.is_nan() { length } else { least };
        }
        if least > LOST && least < ALIGNED {
            self.basis = turned;
        } else if columns.as_flattened().iter().all(|c| c.is_finite()) && least <= LOST {
            self.choose_basis(columns);
        }
        least > LOST
    }
}

impl JointModel {
    pub(crate) fn relative(&self, a: &Placed, b: &Placed) -> Pose {
        let frame = a.r * self.frame_a;
        Pose {
            position: frame.transpose() * self.gap(a, b),
            orientation: (a.q * self.turn_a).inverse() * (b.q * self.turn_b),
        }
    }

    pub(super) fn black_box_error(&self, a: &Placed, b: &Placed) -> Vector {
        self.black_box.as_ref().map_or([0.0; MAX_ROWS], |held| held.error(self.relative(a, b)))
    }

    pub(super) fn black_box_rows(&self, a: &Placed, b: &Placed, out: &mut [Row]) {
        let Some(held) = &self.black_box else { return };
        let columns = held.derivative(self.relative(a, b));
        let frame: DMat3 = a.r * self.frame_a;
        for (row, basis) in out.iter_mut().zip(&held.basis[..held.rank]) {
            let slope = columns.map(|column| dot(basis, &column));
            let along = frame * DVec3::new(slope[0], slope[1], slope[2]);
            let turning = frame * DVec3::new(slope[3], slope[4], slope[5]);
            *row = self.sliding_row(a, b, along).plus(&Row::turning(turning));
        }
    }

    /// d²/dt² of the errors at constant velocities, by the difference of fourth order along the motion.
    pub(super) fn black_box_bias(&self, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion, out: &mut [f64]) {
        let Some(held) = &self.black_box else { return };
        let fastest = ua.w.length().max(ub.w.length()).max((ub.v - ua.v).length());
        let dt = 2e-3 / fastest.max(1e-2);
        let at = |t: f64| self.black_box_error(&ua.moved(a, t), &ub.moved(b, t));
        let (here, near, far) = (at(0.0), [at(dt), at(-dt)], [at(2.0 * dt), at(-2.0 * dt)]);
        for r in 0..held.rank {
            let (near, far) = (near[0][r] + near[1][r], far[0][r] + far[1][r]);
            out[r] = (16.0 * near - far - 30.0 * here[r]) / (12.0 * dt * dt);
        }
    }
}

impl JointState {
    /// Turns the directions of a black box after its allowed poses, and its remembered forces with them.
    pub(crate) fn follow_black_box(&mut self, a: &Placed, b: &Placed) {
        let relative = self.model.relative(a, b);
        let Some(held) = &mut self.model.black_box else { return };
        let columns = held.derivative(relative);
        let before = held.basis;
        if !held.follow(&columns) {
            self.memory.filled = 0;
        }
        if held.basis == before {
            return;
        }
        for forces in [&mut self.memory.force, &mut self.memory.mean_force] {
            let mut wrench = [0.0; MAX_ROWS];
            for (basis, force) in before[..held.rank].iter().zip(forces.iter()) {
                wrench.iter_mut().zip(basis).for_each(|(w, b)| *w += b * force);
            }
            let wrench = columns.map(|column| dot(&column, &wrench));
            for (force, basis) in forces.iter_mut().zip(&held.basis[..held.rank]) {
                *force = dot(basis, &wrench);
            }
        }
    }
}
