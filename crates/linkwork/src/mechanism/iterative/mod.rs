//! The iterative method (Weinstein, Teran and Fedkiw 2006): joints are held one at a time, in sweeps, and no system of all of
//! them is ever set up. A step costs a bounded number of sweeps, and a sweep costs one small solve a joint.
//!
//! Half kick; *pre-stabilisation* (`position.rs`): joint by joint an impulse at the start of the step such that the joint is
//! closed at its end, where its bodies fly to; move; half kick; *velocity post-stabilisation* (`velocity.rs`). With both stages
//! swept to convergence this is the accurate step, RATTLE; what is left is what the sweeps leave.
//!
//! Different from the paper:
//! - A joint's Newton iteration is on its own rows, all of them at once, not on three impulses for the point and then on three
//!   for the orientation: so every joint, coupling and black box is swept alike. The paper's ∂f/∂j (appendix) is here the rows at
//!   the predicted poses times those at the start, turned by half the step's rotation.
//! - Impulses start from those of the last step, not from zero. Long chains and nets would need far more than ten sweeps
//!   without: a sweep carries a correction from one joint to the next.
//! - After the sweeps in which ε rises, sweeps with ε = 1 go on until the joints are closed, a bounded number of times.
//!
//! Impulses act at the midpoint of the two articulation points (figure 5 of the paper), so that momentum is kept to rounding
//! however far a joint is open.

mod block;
mod bounded;
mod conjugate;
mod contact;
mod position;
mod projection;
mod velocity;

use super::layout::Source;
use super::{Advance, Hat, MOST_HALVINGS, Mechanism, Reason, SPIN_BOUND};
use crate::joint::rows::Row;
use crate::joint::{MAX_ROWS, Swept as Memory};
use crate::params::{Method, StepParams};
use crate::report::StepKind;
use crate::world::Joints;
use block::Square;
use glam::DVec3;
use position::Bounds;
use velocity::Answering;

/// How far sweeps close the joints where they can, m and rad, unless a larger tolerance is asked for. A sweep takes out a part
/// of the error that depends on the scene; ten times less would cost up to twice the sweeps and be lost in the error of the step.
const CLOSED: f64 = 1e-6;
/// What the method promises, m and rad: a step that leaves more open is one that failed.
pub(crate) const PROMISED: f64 = 1e-3;
/// What is left open above this is tried again with half the step.
const TOO_OPEN: f64 = 2e-4;
/// Sweeps in which ε rises to 1 (the paper: always fewer than ten), and most sweeps of each stage.
const RAMP: u32 = 3;
const FEW_SWEEPS: u32 = 9;
const MOST_SWEEPS: u32 = 300;
/// How far below the tolerance conjugate gradients go, for what is not linear; and what of an error must be left after them to say
/// that they do not help.
const ACCELERATED: f64 = 0.3;
const STALLED: f64 = 0.7;
const MOST_STALLS: u32 = 4;
/// How much of the last impulses a step in a mechanism with loops starts from.
const KEPT: f64 = 0.98;
/// Velocities are closed to this part of what the closing of positions would make of them.
const STOPPED: f64 = 0.1;

/// What sweeping reached: how often, and the largest error that it met in its last sweep.
#[derive(Clone, Copy, Debug, Default)]
struct Swept {
    sweeps: u32,
    worst: f64,
}

/// Rounds of accelerated sweeps that got no nearer: bounded rows may change sides before they settle.
struct Patience {
    best: f64,
    stalls: u32,
}

impl Patience {
    fn new() -> Self {
        Patience { best: f64::INFINITY, stalls: 0 }
    }

    /// Whether another round may help where this much is left.
    fn lasts(&mut self, left: f64) -> bool {
        self.stalls = if left <= STALLED * self.best { 0 } else { self.stalls + 1 };
        self.best = self.best.min(left);
        self.stalls < MOST_STALLS
    }
}

/// The largest of several sizes; not a number is larger than all.
#[derive(Clone, Copy, Debug, Default)]
struct Worst(f64);

impl Worst {
    #[inline]
    fn note(&mut self, size: f64) {
        if size > self.0 || size.is_nan() {
            self.0 = size;
        }
    }
}

/// Working memory.
#[derive(Default)]
pub(super) struct IterativeScratch {
    /// Of each node: the inverse of its own system for velocities, and for which rows; and for positions.
    inverses: Vec<Square>,
    inverted: Option<Answering>,
    newton: Vec<Square>,
    /// Of each row: how it gives way, and the velocity that is wanted of it, negative.
    compliance: Vec<f64>,
    offset: Vec<f64>,
    bounded: Vec<bounded::HatRow>,
    conjugate: conjugate::Conjugate,
    /// What the last step remembered.
    memory: Memory,
    first: Vec<f64>,
    second: Vec<f64>,
    /// When each body was moved last, and each node was seen closed, by the count of changes.
    moved: Vec<u32>,
    seen: Vec<u32>,
    changes: u32,
    velocities: Vec<Hat>,
    /// Joint impulses that answer to contacts, from which the next look starts, and the size of the step.
    answered: Vec<f64>,
    step: f64,
    /// What the last prediction among contacts left open.
    left: f64,
    /// Whether the last sweeps ended before the joints were closed.
    pub unfinished: bool,
    /// Systems of single joints solved since the last report.
    joint_solves: u64,
}

impl Mechanism {
    pub(super) fn is_iterative(&self) -> bool {
        self.method == Method::Iterative
    }

    /// Systems of single joints that were solved since this was asked last.
    pub(crate) fn take_joint_solves(&mut self) -> u64 {
        std::mem::take(&mut self.iterative.joint_solves)
    }

    /// How far the sweeps close joints.
    fn swept_tolerance(params: &StepParams) -> f64 {
        params.joint_tolerance.max(CLOSED)
    }

    /// Reads what the joints remember of the last sweeps.
    pub(super) fn gather_swept(&mut self, joints: &Joints) {
        let rows = self.layout.rows;
        let scratch = &mut self.iterative;
        scratch.first.clear();
        scratch.first.resize(rows, 0.0);
        scratch.second.clear();
        scratch.second.resize(rows, 0.0);
        scratch.memory = Memory::default();
        for node in &self.layout.nodes {
            let (Source::Joint { slot, .. } | Source::Coupling { slot, .. }) = node.source else { continue };
            let Some(joint) = joints.at(slot as usize) else { continue };
            let (row, count) = (node.row as usize, node.rows as usize);
            scratch.memory = joint.memory.swept;
            scratch.first[row..row + count].copy_from_slice(&joint.memory.swept.first[..count]);
            scratch.second[row..row + count].copy_from_slice(&joint.memory.swept.second[..count]);
        }
    }

    /// What a joint remembers of this step's sweeps.
    pub(super) fn swept_memory(&self, row: usize, count: usize) -> Memory {
        if !self.is_iterative() {
            return Memory::default();
        }
        let mut memory = self.iterative.memory;
        (memory.first, memory.second) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        memory.first[..count].copy_from_slice(&self.iterative.first[row..row + count]);
        memory.second[..count].copy_from_slice(&self.iterative.second[row..row + count]);
        memory
    }

    /// Rows, soft laws and bounded rows at the present poses, without a system of all of them.
    pub(super) fn prepare_sweeps(&mut self, h: f64) {
        self.linear.forget();
        self.whiten_plainly();
        self.write_rows();
        self.set_soft_laws(h);
        self.refresh_drive_forces();
        self.prepare_bounded_rows(h);
        let scratch = &mut self.iterative;
        scratch.inverted = None;
        scratch.compliance.clear();
        scratch.compliance.resize(self.layout.rows, 0.0);
        scratch.offset.clear();
        scratch.offset.resize(self.layout.rows, 0.0);
        for (s, soft) in self.layout.soft.iter().zip(&self.linear.soft) {
            scratch.compliance[s.row as usize] = soft.compliance;
        }
        // which forces are unique is not known without a factor: in loops one choice of many is found
        self.linear.not_unique.fill(self.layout.can_be_redundant);
        self.linear.dropped_count = usize::MAX;
        self.timer.lap(|s| &mut s.assemble);
    }

    /// The step that sweeps can take: whole, in halves, or by projection.
    pub(super) fn swept_step(&mut self, h: f64, params: &StepParams, halvings: u32) -> Advance {
        self.halvings = halvings;
        self.expect_values(h);
        let spins = (0..self.layout.movable).map(|k| (k, h * self.body_spin(k).length()));
        let fastest = spins.fold((0, 0.0), |worst, s| if s.1 > worst.1 { s } else { worst });
        let reason = if fastest.1 >= SPIN_BOUND {
            Reason::FastSpin { body: self.layout.bodies[fastest.0], angle: fastest.1 }
        } else if let Some(sweeps) = self.iterative_step(h, params) {
            return self.taken(h, StepKind::Accurate, None, sweeps);
        } else {
            Reason::NoConvergence
        };
        if halvings < MOST_HALVINGS {
            let first = self.swept_step(0.5 * h, params, halvings + 1);
            let second = self.swept_step(0.5 * h, params, halvings + 1);
            return first.followed_by(&second);
        }
        let sweeps = self.projected_step(h, params);
        self.taken(h, StepKind::LastResort, Some(reason), sweeps)
    }

    /// Takes the step, or leaves poses and velocities as they were and returns `None`. Returns the sweeps of the position stage.
    fn iterative_step(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        let tolerance = Self::swept_tolerance(params);
        self.u_start.copy_from_slice(&self.u);
        self.robust.start.copy_from_slice(&self.pose);
        self.robust.kept_force.copy_from_slice(&self.force);
        let energy = self.energy_at_start();
        self.prepare_sweeps(h);
        self.read_soft_rates();
        self.kick(0.5 * h);
        self.guess_first_half(h);
        Self::apply(&self.layout, &self.linear.jacobian, &self.impulse, &mut self.u);
        self.open_bounded_sweeps(h, 0.5 * h);
        self.predict_outside(h);
        self.predict(h);
        self.timer.lap(|s| &mut s.predict);

        let closed = self.sweep_positions(h, Bounds::All(0.5 * h), tolerance);
        self.measure_errors();
        self.timer.lap(|s| &mut s.solve);
        if closed.worst > TOO_OPEN.max(tolerance) || !closed.worst.is_finite() {
            self.u.copy_from_slice(&self.u_start);
            return None;
        }
        self.commit_prediction();
        self.kick_after_move(h);

        self.prepare_sweeps(h);
        self.guess_second_half(h);
        self.aim_soft_velocities(h);
        self.invert_joints(Answering::All);
        let mut x = std::mem::take(&mut self.correction);
        Self::apply(&self.layout, &self.linear.jacobian, &x, &mut self.u);
        self.open_second_half(h);
        let aimed = (!self.bounded.is_empty()).then_some((h, tolerance));
        let stopped = self.sweep_velocities(&mut x, Answering::All, STOPPED * tolerance / h, MOST_SWEEPS, aimed);
        self.correction = x;
        self.bounded.average(h);
        self.average_forces(h);
        self.timer.lap(|s| &mut s.solve);
        // joint forces work over what sweeps leave open
        let errors = self.force.iter().zip(&self.error);
        let unknown = errors.map(|(force, error)| force.abs() * (error.abs() + tolerance)).sum();
        let stopped = stopped.worst * h <= TOO_OPEN.max(tolerance);
        // a whip that is cut short loses energy: that is a reason for smaller steps, as long as there are any
        let swings = self.halvings < MOST_HALVINGS;
        if !stopped || !self.energy_is_plausible_within(energy, h, swings, unknown) {
            self.pose.copy_from_slice(&self.robust.start);
            self.u.copy_from_slice(&self.u_start);
            self.force.copy_from_slice(&self.robust.kept_force);
            return None;
        }
        self.remember_sweeps(h);
        self.remember_impulses(None);
        self.remember_accelerations(h);
        self.iterative.unfinished = closed.worst > tolerance;
        Some(closed.sweeps)
    }

    /// Position impulses from those of the last step. In a step of RATTLE p is the force of a third of the step, times h/2, and
    /// μ that of two thirds, because a force counts for the way by the time that is left: along a line the next p is 3μ − 2p.
    fn guess_first_half(&mut self, h: f64) {
        let scratch = &self.iterative;
        let halves = scratch.memory.step > 0.0;
        let same = scratch.memory.step == h && !self.layout.can_be_redundant;
        // in loops what joints press against each other is not determined, and a guess must not let it grow
        let kept = if self.layout.can_be_redundant { KEPT } else { 1.0 };
        for k in 0..self.layout.rows {
            let (p, m) = (scratch.first[k], scratch.second[k]);
            self.impulse[k] = if same {
                3.0 * m - 2.0 * p
            } else if halves {
                kept * h / scratch.memory.step * m
            } else {
                // after another kind of step: the mean force
                kept * 0.5 * h * self.force[k]
            };
        }
    }

    /// Velocity impulses from the position stage's, continued along a line from the last velocity stage: at −1/3, 1/3 and 2/3.
    fn guess_second_half(&mut self, h: f64) {
        let scratch = &self.iterative;
        let same = scratch.memory.step == h && !self.layout.can_be_redundant;
        for k in 0..self.layout.rows {
            let p = self.impulse[k];
            self.correction[k] = if same { p + 0.5 * (p - scratch.second[k]) } else { p };
        }
    }

    /// Remembers both stages of a step of size `h`.
    fn remember_sweeps(&mut self, h: f64) {
        self.iterative.memory.step = h;
        self.iterative.first.copy_from_slice(&self.impulse);
        self.iterative.second.copy_from_slice(&self.correction);
    }

    /// What the second half of a step asks of springs and dampers, as a velocity at rest of their rows.
    fn aim_soft_velocities(&mut self, h: f64) {
        for (k, s) in self.layout.soft.iter().enumerate() {
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let m = &self.layout.models[s.model as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let q = kind.unwrapped(m, &self.pose[s.a as usize], &self.pose[s.b as usize], self.near[at]);
            let mean_rate = (q - self.values[at]) / h;
            self.iterative.offset[s.row as usize] = self.linear.soft[k].velocity_residual(q, mean_rate, 0.0, 0.0, h);
        }
    }

    /// How far open a joint may be at the end of a step that did not fail.
    pub(super) fn closing_tolerance(&self, params: &StepParams) -> f64 {
        if self.is_iterative() { params.joint_tolerance.max(PROMISED) } else { params.joint_tolerance }
    }

    /// Whether the sweeps of the last step left joints further open than they were to.
    pub(super) fn sweeps_are_unfinished(&self) -> bool {
        self.is_iterative() && self.iterative.unfinished
    }

    /// Brings velocities that were disturbed, or kicked, back to the joints by impulses of the hard rows alone.
    pub(super) fn sweep_velocities_closed(&mut self, h: f64, params_tolerance: f64) {
        self.prepare_sweeps(h);
        self.stop_hard_rows(h, params_tolerance.max(CLOSED));
    }

    pub(super) fn stop_hard_rows(&mut self, h: f64, tolerance: f64) {
        self.iterative.offset.fill(0.0);
        self.invert_joints(Answering::Hard);
        let mut x = std::mem::take(&mut self.rhs);
        x.fill(0.0);
        self.sweep_velocities(&mut x, Answering::Hard, STOPPED * tolerance / h, MOST_SWEEPS, None);
        self.rhs = x;
    }
}

/// Impulses act where both articulation points are halfway: what they would turn the two bodies by together is shared out.
/// Where a joint is closed, or its rows reach to one point anyway, this changes nothing.
pub(super) fn act_at_midpoint(row: &mut Row, a: DVec3, b: DVec3) {
    let excess = (b - a).cross(row.lin) + row.ang_a + row.ang_b;
    row.ang_a -= excess * 0.5;
    row.ang_b -= excess * 0.5;
}
