//! Sweeps accelerated by conjugate gradients, for what sweeps alone close too slowly: long chains, heavy loads on light links,
//! lattices.
//!
//! A sweep to and fro over the joints, from no impulse at all, is a symmetric approximation of A⁻¹ (block Gauss and Seidel), which
//! is what the conjugate gradients on A = ĴĴᵀ + Γ ask for. No A is set up: Ap = Ĵ(Ĵᵀp) + γp by way of the bodies. One iteration costs
//! a sweep to and fro and a pass over the rows.
//!
//! In loops some rows imply others, but for what the joints are open by: they then contradict each other a little, and an exact solve
//! would answer by very large impulses. There every row gives way by a small part of its mobility; the next round, which starts
//! from what is missing then, takes that out where rows do agree.
//!
//! Bounded rows take part while they are within their bounds, as further rows after those of the joints.

use super::super::{Hat, Mechanism};
use super::bounded::Aimed;
use super::position::Bounds;
use super::velocity::{Answering, rows_of};
use super::{Worst, block};

/// How rows in loops give way, as a part of their mobility: far less than the pivots of thin linkages (1e-5, docs/method.md, Linear
/// algebra), far more than what gaps of a micrometre make of rows that others imply.
const GIVING_WAY: f64 = 1e-6;
/// Iterations in which the residual must have halved.
const PATIENCE: u32 = 40;

/// Which stage of the step a solve is for.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    /// Errors at the end of the step, of size `h`.
    Positions { h: f64, bounds: Bounds },
    /// Velocities after the move; with bounded rows if these are aimed for a step's size and joint tolerance.
    Velocities { aimed: Option<(f64, f64)> },
}

/// How often bounded rows that meet their bounds are held there and the rest is solved again.
const MOST_HELD: u32 = 4;

/// Working memory; rows are those of the joints and then the bounded ones.
#[derive(Default)]
pub(super) struct Conjugate {
    /// What is still missing of the right side, then what was found: impulses, and velocities by them.
    residual: Vec<f64>,
    impulse: Vec<f64>,
    velocity: Vec<Hat>,
    /// Of each bounded row: whether it takes part, and how it gives way.
    free: Vec<bool>,
    give: Vec<f64>,
    answer: Vec<f64>,
    answer_velocity: Vec<Hat>,
    direction: Vec<f64>,
    direction_velocity: Vec<Hat>,
    product: Vec<f64>,
    /// How joint rows give way.
    compliance: Vec<f64>,
    /// Bounded rows that are held at a bound.
    held: Vec<bool>,
}

impl Conjugate {
    /// Clears the right side for so many rows, bounded rows and bodies; no bounded row takes part yet.
    fn restart(&mut self, rows: usize, bounded: usize, bodies: usize) {
        for v in [&mut self.residual, &mut self.impulse, &mut self.answer, &mut self.direction, &mut self.product] {
            v.clear();
            v.resize(rows + bounded, 0.0);
        }
        for v in [&mut self.velocity, &mut self.answer_velocity, &mut self.direction_velocity] {
            v.clear();
            v.resize(bodies, [0.0; 6]);
        }
        self.free.clear();
        self.free.resize(bounded, false);
        self.give.clear();
        self.give.resize(bounded, 0.0);
    }
}

impl Mechanism {
    /// Takes out what all rows are wrong by at once, to `tolerance` (a velocity), adding to the impulses `x` of the joints, to those
    /// of bounded rows and to the velocities. Returns the sweeps to and fro that it took.
    ///
    /// Bounded rows that would leave their bounds are held there and the rest is solved again; they are let go, if they want to be,
    /// in the next round.
    pub(super) fn accelerate(
        &mut self,
        x: &mut [f64],
        stage: Stage,
        answering: Answering,
        tolerance: f64,
        most: u32,
    ) -> u32 {
        let (rows, bounded) = (self.layout.rows, self.layout.bounded.len());
        let mut sweeps = 0;
        let mut c = std::mem::take(&mut self.iterative.conjugate);
        c.held.clear();
        c.held.resize(bounded, false);
        for round in 1..=MOST_HELD {
            c.restart(rows, bounded, self.layout.movable);
            for node in self.layout.nodes.iter().filter(|n| !n.source.is_internal()) {
                let (first, count) = (node.row as usize, rows_of(node, answering));
                let wrong = match stage {
                    Stage::Positions { h, .. } => self.predicted_rates(node, h, x),
                    Stage::Velocities { .. } => self.joint_rates(node, x, count),
                };
                (0..count).for_each(|r| c.residual[first + r] = -wrong[r]);
            }
            for k in 0..bounded {
                let Some((aimed, at)) = self.aimed_in(k, stage) else { continue };
                c.free[k] = !c.held[k] && aimed.is_free(at, self.iterative.bounded[k].mobility);
                c.give[k] = aimed.give;
                c.residual[rows + k] = if c.free[k] { -aimed.wrong } else { 0.0 };
            }
            self.iterative.conjugate = c;
            sweeps += self.solve_conjugate(answering, tolerance, most.saturating_sub(sweeps));
            c = std::mem::take(&mut self.iterative.conjugate);
            let mut any = false;
            for k in (0..bounded).filter(|&k| c.free[k]) {
                let Some((aimed, at)) = self.aimed_in(k, stage) else { continue };
                let wanted = at + c.impulse[rows + k];
                let allowed = aimed.clamped(wanted);
                if allowed != wanted {
                    (c.held[k], any) = (true, true);
                    self.push_bounded_row(k, allowed - at);
                    self.set_impulse_in(k, stage, allowed);
                    // what was found for it goes with the joints' share, or is found again
                    self.iterative.bounded[k].push(-c.impulse[rows + k], &mut c.velocity);
                    c.impulse[rows + k] = 0.0;
                }
            }
            if !any || round == MOST_HELD || sweeps >= most {
                break;
            }
            if let Stage::Positions { h, .. } = stage {
                self.predict(h);
            }
        }
        x.iter_mut().zip(&c.impulse).for_each(|(x, d)| *x += d);
        for (u, d) in self.u.iter_mut().zip(&c.velocity) {
            (0..6).for_each(|s| u[s] += d[s]);
        }
        for k in (0..bounded).filter(|&k| c.free[k]) {
            if let Some((_, at)) = self.aimed_in(k, stage) {
                self.set_impulse_in(k, stage, at + c.impulse[rows + k]);
            }
        }
        self.iterative.conjugate = c;
        sweeps
    }

    /// A bounded row and its present impulse, if it takes part.
    fn aimed_in(&self, k: usize, stage: Stage) -> Option<(Aimed, f64)> {
        match stage {
            Stage::Positions { h, bounds } => {
                let share = self.share_of(k, h, bounds)?;
                Some((self.aimed_first(k, h, share), self.bounded.first[k]))
            }
            Stage::Velocities { aimed } => {
                let (h, joint_tolerance) = aimed?;
                Some((self.aimed_second(k, h, joint_tolerance), self.bounded.second[k]))
            }
        }
    }

    fn set_impulse_in(&mut self, k: usize, stage: Stage, impulse: f64) {
        match stage {
            Stage::Positions { .. } => self.bounded.first[k] = impulse,
            Stage::Velocities { .. } => self.bounded.second[k] = impulse,
        }
    }

    /// Finds impulses x with Ax = r, for the r in `conjugate.residual`, until no row misses it by more than `tolerance` (a velocity).
    /// Returns the iterations. `inverses` must be those of the rows that answer.
    fn solve_conjugate(&mut self, answering: Answering, tolerance: f64, most: u32) -> u32 {
        debug_assert_eq!(self.iterative.inverted, Some(answering));
        let mut c = std::mem::take(&mut self.iterative.conjugate);
        let part = if self.layout.can_be_redundant { GIVING_WAY } else { 0.0 };
        c.compliance.clear();
        let rows = self.iterative.compliance.iter().zip(&self.linear.mobility);
        c.compliance.extend(rows.map(|(compliance, mobility)| compliance + part * mobility));
        self.sweep_to_and_fro(&mut c, answering);
        c.direction.copy_from_slice(&c.answer);
        c.direction_velocity.copy_from_slice(&c.answer_velocity);
        let mut power = product(&c.residual, &c.answer);
        let (mut iterations, mut best, mut since) = (0, f64::INFINITY, 0);
        while iterations < most && power > 0.0 && power.is_finite() {
            self.multiply(&mut c, answering);
            let curvature = product(&c.direction, &c.product);
            // the rest lies in what rows imply of each other
            if curvature <= 1e-300 {
                break;
            }
            let length = power / curvature;
            for k in 0..c.impulse.len() {
                c.impulse[k] += length * c.direction[k];
                c.residual[k] -= length * c.product[k];
            }
            for (v, d) in c.velocity.iter_mut().zip(&c.direction_velocity) {
                (0..6).for_each(|s| v[s] += length * d[s]);
            }
            iterations += 1;
            let left = self.missing(&c);
            if left <= tolerance || left.is_nan() {
                break;
            }
            (best, since) = if left < 0.5 * best { (left, 0) } else { (best, since + 1) };
            if since > PATIENCE {
                break;
            }
            self.sweep_to_and_fro(&mut c, answering);
            let next = product(&c.residual, &c.answer);
            let kept = next / power;
            power = next;
            for (d, a) in c.direction.iter_mut().zip(&c.answer) {
                *d = a + kept * *d;
            }
            for (d, a) in c.direction_velocity.iter_mut().zip(&c.answer_velocity) {
                (0..6).for_each(|s| d[s] = a[s] + kept * d[s]);
            }
        }
        self.iterative.joint_solves += 2 * u64::from(iterations) * self.layout.nodes.len() as u64;
        self.iterative.conjugate = c;
        iterations
    }

    /// The largest velocity that is missing; of a row that gives way, what it would move if it alone were set right.
    fn missing(&self, c: &Conjugate) -> f64 {
        let mut worst = Worst::default();
        for (r, v) in c.residual[..self.layout.rows].iter().enumerate() {
            let (mobility, give) = (self.linear.mobility[r], self.iterative.compliance[r]);
            worst.note(if give > 0.0 { v.abs() * mobility / (mobility + give) } else { v.abs() });
        }
        for (k, v) in c.residual[self.layout.rows..].iter().enumerate() {
            let mobility = self.iterative.bounded[k].mobility;
            worst.note(if c.give[k] > 0.0 { v.abs() * mobility / (mobility + c.give[k]) } else { v.abs() });
        }
        worst.0
    }

    /// The answer of a sweep to and fro to the residual, and the velocities it gives.
    fn sweep_to_and_fro(&self, c: &mut Conjugate, answering: Answering) {
        c.answer.fill(0.0);
        c.answer_velocity.fill([0.0; 6]);
        for n in 0..self.layout.nodes.len() {
            self.relax_joint(c, n, answering);
        }
        for k in 0..c.free.len() {
            self.relax_bounded(c, k);
        }
        for k in (0..c.free.len()).rev() {
            self.relax_bounded(c, k);
        }
        for n in (0..self.layout.nodes.len()).rev() {
            self.relax_joint(c, n, answering);
        }
    }

    fn relax_joint(&self, c: &mut Conjugate, n: usize, answering: Answering) {
        let node = &self.layout.nodes[n];
        if node.source.is_internal() {
            return;
        }
        let (first, count) = (node.row as usize, rows_of(node, answering));
        let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
        let mut missing = [0.0; crate::joint::MAX_ROWS];
        for r in 0..count {
            missing[r] = c.residual[first + r] - c.compliance[first + r] * c.answer[first + r];
        }
        for side in sides {
            let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
            let u = &c.answer_velocity[side.body as usize];
            for (m, row) in missing.iter_mut().zip(rows.as_chunks::<6>().0) {
                *m -= (0..6).map(|s| row[s] * u[s]).sum::<f64>();
            }
        }
        let change = block::times(&self.iterative.inverses[n], count, &missing);
        for r in 0..count {
            c.answer[first + r] += change[r];
        }
        for side in sides {
            let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
            let u = &mut c.answer_velocity[side.body as usize];
            for (p, row) in change.iter().zip(rows.as_chunks::<6>().0) {
                (0..6).for_each(|s| u[s] += p * row[s]);
            }
        }
    }

    fn relax_bounded(&self, c: &mut Conjugate, k: usize) {
        if !c.free[k] {
            return;
        }
        let at = self.layout.rows + k;
        let row = &self.iterative.bounded[k];
        let missing = c.residual[at] - c.give[k] * c.answer[at] - row.rate(&c.answer_velocity);
        let response = row.mobility + c.give[k];
        let change = if response > 0.0 { missing / response } else { 0.0 };
        c.answer[at] += change;
        row.push(change, &mut c.answer_velocity);
    }

    /// A times the direction.
    fn multiply(&self, c: &mut Conjugate, answering: Answering) {
        for node in self.layout.nodes.iter().filter(|n| !n.source.is_internal()) {
            let (first, count) = (node.row as usize, rows_of(node, answering));
            for r in first..first + count {
                c.product[r] = c.compliance[r] * c.direction[r];
            }
            for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
                let u = &c.direction_velocity[side.body as usize];
                for (p, row) in c.product[first..].iter_mut().zip(rows.as_chunks::<6>().0) {
                    *p += (0..6).map(|s| row[s] * u[s]).sum::<f64>();
                }
            }
        }
        for k in 0..c.free.len() {
            let at = self.layout.rows + k;
            let give = c.give[k] * c.direction[at];
            c.product[at] = if c.free[k] { self.iterative.bounded[k].rate(&c.direction_velocity) + give } else { 0.0 };
        }
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
