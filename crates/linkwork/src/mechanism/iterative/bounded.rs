//! Limits, dry friction and motors with a bound in the sweeps: each is a joint of one row whose impulse, summed over all
//! sweeps, is kept within its bounds.

use super::super::bounded::Law;
use super::super::linear::SoftLaw;
use super::super::{Hat, Mechanism};

/// A bounded row on its two bodies (those that are movable), and how far it moves under its own unit impulse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HatRow {
    sides: [Option<(u32, Hat)>; 2],
    mobility: f64,
}

impl Mechanism {
    /// Bounded rows at the present poses, and the laws of servos for steps of `h`.
    pub(super) fn prepare_bounded_rows(&mut self, h: f64) {
        self.iterative.bounded.clear();
        for k in 0..self.layout.bounded.len() {
            let b = self.layout.bounded[k];
            let mut row = self.bounded_row(&b);
            super::act_at_midpoint(&mut row, self.pose[b.a as usize].x, self.pose[b.b as usize].x);
            self.bounded.rows[k] = row;
            let mut hat_row = HatRow::default();
            for (side, (body, is_b)) in hat_row.sides.iter_mut().zip([(b.a, false), (b.b, true)]) {
                if (body as usize) < self.layout.movable {
                    let hat = self.hat_row(&row, body as usize, is_b);
                    hat_row.mobility += hat.iter().map(|e| e * e).sum::<f64>();
                    *side = Some((body, hat));
                }
            }
            if let Law::Servo { law, .. } = &mut self.bounded.laws[k] {
                let new = if self.linear.whole { SoftLaw::whole } else { SoftLaw::new };
                *law = new(law.law, h, hat_row.mobility);
            }
            self.iterative.bounded.push(hat_row);
        }
    }

    /// Values and speeds at the start of a step, and the impulses of the last one to start from, over a time `share`.
    pub(super) fn open_bounded_sweeps(&mut self, h: f64, share: f64) {
        if self.bounded.is_empty() {
            return;
        }
        self.read_bounded_values();
        self.bounded.start_value.copy_from_slice(&self.bounded.value);
        for k in 0..self.layout.bounded.len() {
            self.bounded.incoming[k] = self.bounded_incoming(k);
            let rate = self.bounded_rate(k);
            self.bounded.aim_first(k, rate, h, share);
            self.bounded.first[k] = self.bounded.first[k].clamp(self.bounded.lo[k], self.bounded.hi[k]);
            self.push_bounded_row(k, self.bounded.first[k]);
        }
    }

    /// The same for the half after the move.
    pub(super) fn open_second_half(&mut self, h: f64) {
        if self.bounded.is_empty() {
            return;
        }
        self.read_bounded_values();
        for k in 0..self.layout.bounded.len() {
            // what stopped a coordinate in the first half has done so
            let limit = matches!(self.bounded.laws[k], Law::Limit(_));
            let most = self.bounded_most(k) * 0.5 * h;
            self.bounded.second[k] = if limit { 0.0 } else { self.bounded.first[k].clamp(-most, most) };
            self.push_bounded_row(k, self.bounded.second[k]);
        }
    }

    /// The largest force of friction or a motor.
    fn bounded_most(&self, k: usize) -> f64 {
        match self.bounded.laws[k] {
            Law::Limit(_) => f64::INFINITY,
            Law::Friction(most) | Law::Velocity { max_force: most, .. } | Law::Servo { max_force: most, .. } => most,
        }
    }

    fn push_bounded_row(&mut self, k: usize, impulse: f64) {
        if impulse == 0.0 {
            return;
        }
        for (body, hat) in self.iterative.bounded[k].sides.into_iter().flatten() {
            let u = &mut self.u[body as usize];
            (0..6).for_each(|s| u[s] += impulse * hat[s]);
        }
    }

    /// Sets one bounded row right at the end of the step, where its impulse may; returns by how much it was wrong, m or rad.
    pub(super) fn close_bounded(&mut self, k: usize, h: f64, share: f64, tolerance: f64) -> f64 {
        let b = self.layout.bounded[k];
        let x = self.bounded.first[k];
        let most = self.bounded_most(k) * share;
        let mut response = self.iterative.bounded[k].mobility;
        let (wrong, lo, hi) = match self.bounded.laws[k] {
            Law::Limit(_) => {
                let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
                let Some(bound) = self.bounded.limit_bound(k, q - self.bounded.value[k]) else { return 0.0 };
                let (lo, hi) = self.bounded.limit_sign(k, bound);
                ((q - bound) / h, lo, hi)
            }
            Law::Friction(_) => (self.bounded_rate(k), -most, most),
            Law::Velocity { target, .. } => (self.bounded_rate(k) - target, -most, most),
            Law::Servo { law, .. } => {
                response += law.compliance;
                let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
                (law.position_residual(self.bounded.value[k], self.bounded.incoming[k], q, x, h), -most, most)
            }
        };
        let change = bounded_change(x, wrong, response, lo, hi);
        let missed = change.abs() * self.iterative.bounded[k].mobility * h;
        if missed <= tolerance {
            return missed;
        }
        self.iterative.joint_solves += 1;
        self.bounded.first[k] = x + change;
        self.push_bounded_row(k, change);
        for (body, _) in self.iterative.bounded[k].sides.into_iter().flatten() {
            self.moved(body as usize, h);
        }
        missed
    }

    /// Sets the velocity of one bounded row right after the move, where its impulse may; returns by how much it was wrong.
    pub(super) fn stop_bounded(&mut self, k: usize, h: f64, joint_tolerance: f64) -> f64 {
        let x = self.bounded.second[k];
        let rate = self.bounded_rate(k);
        let (mut wrong, lo, hi) = self.bounded.second_law(k, rate, h, joint_tolerance);
        let mut response = self.iterative.bounded[k].mobility;
        if let Law::Servo { law, .. } = self.bounded.laws[k] {
            wrong += law.compliance * x;
            response += law.compliance;
        }
        let change = bounded_change(x, wrong, response, lo, hi);
        self.bounded.second[k] = x + change;
        self.push_bounded_row(k, change);
        change.abs() * self.iterative.bounded[k].mobility
    }
}

/// What takes a velocity out, within the bounds of the sum.
fn bounded_change(x: f64, wrong: f64, response: f64, lo: f64, hi: f64) -> f64 {
    if response <= 0.0 || lo > hi {
        return -x;
    }
    (x - wrong / response).clamp(lo, hi) - x
}
