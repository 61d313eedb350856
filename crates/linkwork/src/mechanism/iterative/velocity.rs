//! Velocity post-stabilisation (Weinstein, Teran and Fedkiw 2006, section V): joint by joint the impulse that takes out the
//! velocity of the joint's rows, until no row moves.
//!
//! The system of one joint is the 6 × 6 one of the paper, A_jj = Ĵ_j Ĵ_jᵀ, in the rows that the joint has. A row may give way
//! by a compliance γ and be wanted at a velocity −s, as springs are: Ĵu + γx + s = 0. A bounded row is a joint of one row whose
//! impulse stays within its bounds.

use super::super::Mechanism;
use super::super::layout::Node;
use super::block::{self, Rows, Square};
use super::conjugate::Stage;
use super::{ACCELERATED, FEW_SWEEPS, Patience, Swept, Worst};
use crate::joint::MAX_ROWS;

/// Which rows of the joints answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answering {
    /// Hard rows alone: springs have had their say, or have none.
    Hard,
    All,
}

impl Mechanism {
    /// A_jj and its inverse for every joint, at the rows that stand in `linear`.
    pub(super) fn invert_joints(&mut self, answering: Answering) {
        let mut inverses = std::mem::take(&mut self.iterative.inverses);
        inverses.resize(self.layout.nodes.len(), block::ZERO);
        for (inverse, node) in inverses.iter_mut().zip(&self.layout.nodes) {
            if !node.source.is_internal() {
                *inverse = self.inverse_of_joint(node, answering);
            }
        }
        self.iterative.inverses = inverses;
        self.iterative.inverted = Some(answering);
    }

    pub(super) fn inverse_of_joint(&self, node: &Node, answering: Answering) -> Square {
        let count = rows_of(node, answering);
        let first = node.row as usize;
        let mut system = block::ZERO;
        let mut scale = [0.0; MAX_ROWS];
        for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
            let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * node.rows as usize];
            let (rows, _) = rows.as_chunks::<6>();
            for i in 0..count {
                for k in 0..count {
                    system[i][k] += (0..6).map(|s| rows[i][s] * rows[k][s]).sum::<f64>();
                }
            }
        }
        for r in 0..count {
            system[r][r] += self.iterative.compliance[first + r];
            scale[r] = system[r][r];
        }
        block::inverse(&system, count, &scale)
    }

    /// Stops the joints' rows to below `tolerance` (m/s, rad/s), adding to the impulses `x` and the velocities `u`: by sweeps to
    /// and fro, and if those do not do, by conjugate gradients over sweeps. Of bounded rows those of the second half of a step answer
    /// too, if they are `aimed` for its size and the joint tolerance.
    pub(super) fn sweep_velocities(
        &mut self,
        x: &mut [f64],
        answering: Answering,
        tolerance: f64,
        most: u32,
        aimed: Option<(f64, f64)>,
    ) -> Swept {
        let mut swept = self.plain_velocity_sweeps(x, answering, tolerance, most.min(FEW_SWEEPS), aimed);
        let mut patience = Patience::new();
        while swept.worst > tolerance && swept.sweeps < most && swept.worst.is_finite() && patience.lasts(swept.worst) {
            let stage = Stage::Velocities { aimed };
            swept.sweeps += self.accelerate(x, stage, answering, ACCELERATED * tolerance, most - swept.sweeps);
            let last = self.plain_velocity_sweeps(x, answering, tolerance, 1, aimed);
            swept = Swept { sweeps: swept.sweeps + last.sweeps, worst: last.worst };
        }
        swept
    }

    fn plain_velocity_sweeps(
        &mut self,
        x: &mut [f64],
        answering: Answering,
        tolerance: f64,
        most: u32,
        aimed: Option<(f64, f64)>,
    ) -> Swept {
        debug_assert_eq!(self.iterative.inverted, Some(answering));
        let mut swept = Swept::default();
        let count = self.layout.nodes.len();
        while swept.sweeps < most {
            let mut worst = Worst::default();
            for k in 0..count {
                let n = if swept.sweeps % 2 == 0 { k } else { count - 1 - k };
                let node = self.layout.nodes[n];
                if !node.source.is_internal() {
                    worst.note(self.stop_joint(n, &node, x, answering, tolerance));
                }
            }
            if let Some((h, joint_tolerance)) = aimed {
                for k in 0..self.layout.bounded.len() {
                    worst.note(self.stop_bounded(k, h, joint_tolerance));
                }
            }
            swept.sweeps += 1;
            swept.worst = worst.0;
            if swept.worst <= tolerance || !swept.worst.is_finite() {
                break;
            }
        }
        self.iterative.joint_solves += u64::from(swept.sweeps) * count as u64;
        swept
    }

    /// Velocities of a joint's rows, with what compliance and offset make of them.
    pub(super) fn joint_rates(&self, node: &Node, x: &[f64], count: usize) -> Rows {
        let first = node.row as usize;
        let mut rate = [0.0; MAX_ROWS];
        for r in 0..count {
            let row = first + r;
            rate[r] = self.linear.drift[row] + self.iterative.offset[row] + self.iterative.compliance[row] * x[row];
        }
        for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
            let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
            let u = &self.u[side.body as usize];
            for (rate, row) in rate.iter_mut().zip(rows.as_chunks::<6>().0) {
                *rate += (0..6).map(|s| row[s] * u[s]).sum::<f64>();
            }
        }
        rate
    }

    /// Takes the velocity of one joint out; returns how fast its rows moved.
    fn stop_joint(&mut self, n: usize, node: &Node, x: &mut [f64], answering: Answering, tolerance: f64) -> f64 {
        let (first, count) = (node.row as usize, rows_of(node, answering));
        let rate = self.joint_rates(node, x, count);
        let fastest = self.fastest_row(&rate[..count], first);
        if fastest <= tolerance {
            return fastest;
        }
        let impulse = block::times(&self.iterative.inverses[n], count, &rate);
        for r in 0..count {
            x[first + r] -= impulse[r];
        }
        for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
            let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
            let u = &mut self.u[side.body as usize];
            for (p, row) in impulse.iter().zip(rows.as_chunks::<6>().0) {
                (0..6).for_each(|s| u[s] -= p * row[s]);
            }
        }
        fastest
    }

    /// The fastest of a joint's rows. A soft row counts by what it would move if it alone were set right.
    fn fastest_row(&self, rate: &[f64], first: usize) -> f64 {
        let mut worst = Worst::default();
        for (r, v) in rate.iter().enumerate() {
            let (mobility, compliance) = (self.linear.mobility[first + r], self.iterative.compliance[first + r]);
            worst.note(if compliance > 0.0 { v.abs() * mobility / (mobility + compliance) } else { v.abs() });
        }
        worst.0
    }
}

pub(super) fn rows_of(node: &Node, answering: Answering) -> usize {
    match answering {
        Answering::Hard => node.hard as usize,
        Answering::All => node.rows as usize,
    }
}
