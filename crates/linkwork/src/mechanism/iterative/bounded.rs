//! Limits, dry friction and motors with a bound in the sweeps: each is a joint of one row whose impulse, summed over all
//! sweeps, is kept within its bounds.

use super::super::bounded::Law;
use super::super::linear::SoftLaw;
use super::super::{Hat, Mechanism};

/// A bounded row on its two bodies (those that are movable), and how far it moves under its own unit impulse.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HatRow {
    sides: [Option<(u32, Hat)>; 2],
    pub mobility: f64,
}

impl HatRow {
    /// Its rate at the velocities of movable bodies.
    pub fn rate(&self, u: &[Hat]) -> f64 {
        let on = |(body, hat): &(u32, Hat)| (0..6).map(|s| hat[s] * u[*body as usize][s]).sum::<f64>();
        self.sides.iter().flatten().map(on).sum()
    }

    /// Adds the velocities that an impulse of it gives.
    pub fn push(&self, impulse: f64, u: &mut [Hat]) {
        for (body, hat) in self.sides.iter().flatten() {
            let u = &mut u[*body as usize];
            (0..6).for_each(|s| u[s] += impulse * hat[s]);
        }
    }
}

/// A bounded row at the present velocities: by how much it is wrong, its bounds, and how it gives way.
pub(super) struct Aimed {
    pub wrong: f64,
    lo: f64,
    hi: f64,
    pub give: f64,
}

impl Aimed {
    /// What takes a velocity out, within the bounds of the sum.
    pub fn change(&self, x: f64, mobility: f64) -> f64 {
        let response = mobility + self.give;
        if response <= 0.0 || self.lo > self.hi {
            return -x;
        }
        (x - self.wrong / response).clamp(self.lo, self.hi) - x
    }

    /// Whether it would stay within its bounds.
    pub fn is_free(&self, x: f64, mobility: f64) -> bool {
        let response = mobility + self.give;
        let to = x - self.wrong / response;
        response > 0.0 && to > self.lo && to < self.hi
    }

    pub fn clamped(&self, x: f64) -> f64 {
        if self.lo > self.hi { 0.0 } else { x.clamp(self.lo, self.hi) }
    }
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

    pub(super) fn push_bounded_row(&mut self, k: usize, impulse: f64) {
        if impulse != 0.0 {
            self.iterative.bounded[k].push(impulse, &mut self.u);
        }
    }

    /// A bounded row at the end of the step, over which it acts for a time `share`.
    pub(super) fn aimed_first(&self, k: usize, h: f64, share: f64) -> Aimed {
        let b = self.layout.bounded[k];
        let most = self.bounded_most(k) * share;
        let aimed = |wrong: f64| Aimed { wrong, lo: -most, hi: most, give: 0.0 };
        match self.bounded.laws[k] {
            Law::Limit(_) => {
                let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
                match self.bounded.limit_bound(k, q - self.bounded.value[k]) {
                    Some(bound) => {
                        let (lo, hi) = self.bounded.limit_sign(k, bound);
                        Aimed { wrong: (q - bound) / h, lo, hi, give: 0.0 }
                    }
                    None => Aimed { wrong: 0.0, lo: 0.0, hi: 0.0, give: 0.0 },
                }
            }
            Law::Friction(_) => aimed(self.bounded_rate(k)),
            Law::Velocity { target, .. } => aimed(self.bounded_rate(k) - target),
            Law::Servo { law, .. } => {
                let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
                let (value, incoming) = (self.bounded.value[k], self.bounded.incoming[k]);
                let wrong = law.position_residual(value, incoming, q, self.bounded.first[k], h);
                Aimed { give: law.compliance, ..aimed(wrong) }
            }
        }
    }

    /// A bounded row after the move.
    pub(super) fn aimed_second(&self, k: usize, h: f64, joint_tolerance: f64) -> Aimed {
        let (wrong, lo, hi) = self.bounded.second_law(k, self.bounded_rate(k), h, joint_tolerance);
        let give = if let Law::Servo { law, .. } = self.bounded.laws[k] { law.compliance } else { 0.0 };
        Aimed { wrong: wrong + give * self.bounded.second[k], lo, hi, give }
    }

    /// Sets one bounded row right at the end of the step, where its impulse may; returns by how much it was wrong, m or rad.
    pub(super) fn close_bounded(&mut self, k: usize, h: f64, share: f64, tolerance: f64) -> f64 {
        let mobility = self.iterative.bounded[k].mobility;
        let change = self.aimed_first(k, h, share).change(self.bounded.first[k], mobility);
        let missed = change.abs() * mobility * h;
        if missed <= tolerance {
            return missed;
        }
        self.iterative.joint_solves += 1;
        self.bounded.first[k] += change;
        self.push_bounded_row(k, change);
        for (body, _) in self.iterative.bounded[k].sides.into_iter().flatten() {
            self.moved(body as usize, h);
        }
        missed
    }

    /// Sets the velocity of one bounded row right after the move, where its impulse may; returns by how much it was wrong.
    pub(super) fn stop_bounded(&mut self, k: usize, h: f64, joint_tolerance: f64) -> f64 {
        let mobility = self.iterative.bounded[k].mobility;
        let change = self.aimed_second(k, h, joint_tolerance).change(self.bounded.second[k], mobility);
        self.bounded.second[k] += change;
        self.push_bounded_row(k, change);
        change.abs() * mobility
    }
}
