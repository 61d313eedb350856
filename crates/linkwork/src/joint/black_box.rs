//! Black-box joints (Weinstein, Teran and Fedkiw 2006, section IV): a user function says which relative pose is allowed.

use super::rows::Row;
use super::{JointModel, Motion};
use crate::math::{Placed, Pose, rotation};
use glam::{DMat3, DVec3};

/// A joint given by a function: the pose of b's joint frame in a's joint frame, to the nearest pose that the joint allows.
///
/// The function must be a projection (an allowed pose maps to itself), smooth near the allowed poses.
pub trait BlackBox: Send + Sync {
    /// The nearest allowed pose.
    fn nearest(&self, relative: Pose) -> Pose;
}

/// Step of the central differences through the user's function, m and rad: its error, about 1e-10, is far below what the rows need.
const DIFFERENCE: f64 = 1e-5;

/// Slopes below this are rounding: that of a difference is about 1e-16/1e-5, and a projection's slopes are of order one.
const ROUNDING: f64 = 1e-7;

impl JointModel {
    fn relative(&self, a: &Placed, b: &Placed) -> Pose {
        let frame = a.r * self.frame_a;
        Pose {
            position: frame.transpose() * self.gap(a, b),
            orientation: (a.q * self.turn_a).inverse() * (b.q * self.turn_b),
        }
    }

    fn departure(&self, relative: Pose) -> [f64; 6] {
        let Some(black_box) = &self.black_box else { return [0.0; 6] };
        let allowed = black_box.nearest(relative);
        let p = relative.position - allowed.position;
        let w = rotation::log(relative.orientation * allowed.orientation.inverse());
        [p.x, p.y, p.z, w.x, w.y, w.z]
    }

    pub(super) fn black_box_error(&self, a: &Placed, b: &Placed) -> [f64; 6] {
        self.departure(self.relative(a, b))
    }

    /// Derivative of the departure by the relative motion (v, ω) in a's frame; column k belongs to motion k.
    fn departure_derivative(&self, relative: Pose) -> [[f64; 6]; 6] {
        let mut columns = [[0.0; 6]; 6];
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
            for r in 0..6 {
                let slope = (plus[r] - minus[r]) / (2.0 * DIFFERENCE);
                // what is only the rounding of the difference would look like a row of its own
                column[r] = if slope.abs() < ROUNDING { 0.0 } else { slope };
            }
        }
        columns
    }

    pub(super) fn black_box_rows(&self, a: &Placed, b: &Placed, out: &mut [Row]) {
        let columns = self.departure_derivative(self.relative(a, b));
        let frame: DMat3 = a.r * self.frame_a;
        for (r, row) in out.iter_mut().enumerate().take(6) {
            let along = frame * DVec3::new(columns[0][r], columns[1][r], columns[2][r]);
            let turning = frame * DVec3::new(columns[3][r], columns[4][r], columns[5][r]);
            *row = self.sliding_row(a, b, along).plus(&Row::turning(turning));
        }
    }

    pub(super) fn black_box_bias(&self, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion, out: &mut [f64]) {
        let dt = 1e-4 / ua.w.length().max(ub.w.length()).max(1e-1);
        let at = |t: f64| {
            let mut rows = [Row::default(); 6];
            self.black_box_rows(&ua.moved(a, t), &ub.moved(b, t), &mut rows);
            rows.map(|row| row.velocity(ua, ub))
        };
        let (plus, minus) = (at(dt), at(-dt));
        for r in 0..6 {
            out[r] = (plus[r] - minus[r]) / (2.0 * dt);
        }
    }
}
