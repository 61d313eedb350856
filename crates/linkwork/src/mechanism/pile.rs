//! A mechanism in a pile: the island moves its bodies' velocities, the mechanism keeps them on its joints.
//!
//! Between the kick and the move every sweep of the pile ends with u −= Ĵᵀ A⁻¹ (Ĵu + drift): [`Mechanism::project_velocities`]
//! for one, [`Mechanism::project_lanes`] for four that are laid out alike.

use super::layout::Source;
use super::{Advance, Hat, Mechanism, Reason, SIGMA_BOUND};
use crate::linalg::Factor;
use crate::linalg::kernels::with_size;
use crate::math::{Placed, max_abs, rotation};
use crate::params::StepParams;
use crate::report::StepKind;
use glam::{DMat3, DVec3};
use std::ops::Range;
use wide::{f64x4, f64x8};

/// How far a body may turn in a step of a pile, rad; beyond, turns could not be told from each other.
pub(super) const SPIN_IN_PILE: f64 = 3.0;
/// Newton steps that close joints where the rows of the start do not.
const MOST_PROJECTIONS: u32 = 20;
/// What one of them may leave of what the one before left for the rows to be kept.
const FAST: f64 = 0.1;
/// Turn in one of them at most, rad.
const FARTHEST_TURN: f64 = 0.5;

/// Jacobian, factor and drift of a mechanism's joints.
#[derive(Clone, Copy)]
pub(crate) struct JointSystem<'a> {
    pub jacobian: &'a [f64],
    pub factor: &'a [f64],
    pub drift: &'a [f64],
}

/// Working memory of [`Mechanism::respond_lanes`]: pushes on a mechanism in eight lanes, then the velocities they cause.
#[derive(Default)]
pub(crate) struct Response {
    /// Whether a body's answer is asked for.
    watched: Vec<bool>,
    pushed: Vec<u32>,
    u: Vec<[f64x8; 6]>,
    rhs: Vec<f64x8>,
    /// Nodes with a body that is watched, and the blocks of the factor between pushes and answers there.
    nodes: Vec<u32>,
    reached: Vec<u32>,
    /// The rows of those blocks.
    spans: Vec<Range<usize>>,
}

impl Response {
    /// Begins with a mechanism of which the answers of some bodies are asked for; only these can be pushed.
    pub fn watch(&mut self, mechanism: &Mechanism, bodies: impl Iterator<Item = u32>) {
        let layout = &mechanism.layout;
        self.watched.clear();
        self.watched.resize(layout.bodies.len(), false);
        bodies.for_each(|b| self.watched[b as usize] = true);
        self.nodes.clear();
        for (k, node) in layout.nodes.iter().enumerate().filter(|(_, n)| !n.source.is_internal()) {
            let sides = &layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            if sides.iter().any(|side| self.watched[side.body as usize]) {
                self.nodes.push(k as u32);
            }
        }
        self.reached = match &layout.factor {
            Factor::Block(factor) => factor.reached_from(&self.nodes),
            Factor::Supernodal(_) => Vec::new(),
        };
        self.spans.clear();
        for node in self.reached.iter().map(|&k| &layout.nodes[k as usize]) {
            let (first, end) = (node.row as usize, node.row as usize + node.rows as usize);
            match self.spans.last_mut().filter(|span| span.end == first) {
                Some(span) => span.end = end,
                None => self.spans.push(first..end),
            }
        }
        self.u.clear();
        self.u.resize(layout.bodies.len(), [f64x8::splat(0.0); 6]);
        self.rhs.clear();
        self.rhs.resize(layout.rows, f64x8::splat(0.0));
    }

    /// Takes all pushes and answers back.
    pub fn clear(&mut self) {
        let zero = f64x8::splat(0.0);
        self.u.iter_mut().zip(&self.watched).filter(|(_, w)| **w).for_each(|(u, _)| *u = [zero; 6]);
        self.spans.iter().for_each(|span| self.rhs[span.clone()].fill(zero));
        self.pushed.clear();
    }

    pub fn push(&mut self, body: u32, lane: usize, push: &Hat) {
        for (u, p) in self.u[body as usize].iter_mut().zip(push) {
            u.as_mut_array()[lane] += p;
        }
        self.pushed.push(body);
    }

    pub fn velocity(&self, body: u32) -> &[f64x8; 6] {
        &self.u[body as usize]
    }
}

impl Mechanism {
    pub(crate) fn can_respond_in_lanes(&self) -> bool {
        matches!(self.layout.factor, Factor::Block(_))
    }

    /// u ← u − Ĵᵀ A⁻¹ Ĵ u in eight lanes.
    pub(super) fn respond_in_lanes(&mut self, u: &mut [[f64x8; 6]]) {
        let Factor::Block(factor) = &self.layout.factor else { return };
        let (jacobian, rhs) = (&self.linear.jacobian, &mut self.contact.lanes_rhs);
        rhs.clear();
        rhs.resize(self.layout.rows, f64x8::splat(0.0));
        for node in self.layout.nodes.iter().filter(|n| !n.source.is_internal()) {
            for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                let rows = jacobian[side.jacobian as usize..].as_chunks::<6>().0;
                let (u, rhs) = (&u[side.body as usize], &mut rhs[node.row as usize..]);
                for (row, sum) in rows.iter().zip(rhs).take(node.rows as usize) {
                    (0..6).for_each(|c| *sum = f64x8::splat(row[c]).mul_neg_add(u[c], *sum));
                }
            }
        }
        factor.solve_lanes(factor.values(), rhs);
        for node in self.layout.nodes.iter().filter(|n| !n.source.is_internal()) {
            for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                let rows = jacobian[side.jacobian as usize..].as_chunks::<6>().0;
                let (u, rhs) = (&mut u[side.body as usize], &rhs[node.row as usize..]);
                for (row, p) in rows.iter().zip(rhs).take(node.rows as usize) {
                    (0..6).for_each(|c| u[c] = f64x8::splat(row[c]).mul_add(*p, u[c]));
                }
            }
        }
    }

    /// u ← u − Ĵᵀ A⁻¹ Ĵ u in eight lanes, for pushes on few bodies and the answers of few.
    pub(crate) fn respond_lanes(&self, work: &mut Response) {
        let Factor::Block(factor) = &self.layout.factor else { return };
        let Response { watched, pushed, u, rhs, nodes, reached, .. } = work;
        let jacobian = &self.linear.jacobian;
        for node in nodes.iter().map(|&k| &self.layout.nodes[k as usize]) {
            let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            for side in sides.iter().filter(|side| pushed.contains(&side.body)) {
                for r in 0..node.rows as usize {
                    let row = &jacobian[side.jacobian as usize + 6 * r..side.jacobian as usize + 6 * r + 6];
                    let sum = &mut rhs[node.row as usize + r];
                    (0..6).for_each(|c| *sum = f64x8::splat(row[c]).mul_neg_add(u[side.body as usize][c], *sum));
                }
            }
        }
        factor.solve_lanes_among(reached, rhs);
        for node in nodes.iter().map(|&k| &self.layout.nodes[k as usize]) {
            let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            for side in sides.iter().filter(|side| watched[side.body as usize]) {
                for r in 0..node.rows as usize {
                    let row = &jacobian[side.jacobian as usize + 6 * r..side.jacobian as usize + 6 * r + 6];
                    let (u, p) = (&mut u[side.body as usize], rhs[node.row as usize + r]);
                    (0..6).for_each(|c| u[c] = f64x8::splat(row[c]).mul_add(p, u[c]));
                }
            }
        }
    }

    /// Whether its joints can be held by projection: springs and servos would act again with each.
    pub(crate) fn can_pile(&self) -> bool {
        self.layout.soft.is_empty()
    }

    /// Whether it has few freedoms for its bodies: what pushes one of them moves all, and what a body weighs by itself tells
    /// nothing of what a contact feels.
    pub(crate) fn is_machine(&self) -> bool {
        let freedoms = self.count_freedoms();
        !self.has_many_motions() && freedoms < self.layout.movable
    }

    /// The place in the world about which it can turn at most, if it hangs on something: the middle of where its joints hold it there.
    pub(crate) fn anchor(&self) -> Option<DVec3> {
        let (mut sum, mut count) = (DVec3::ZERO, 0.0);
        for node in &self.layout.nodes {
            let Source::Joint { model, .. } = node.source else { continue };
            let model = &self.layout.models[model as usize];
            for (k, anchor) in [(node.a as usize, model.anchor_a), (node.b as usize, model.anchor_b)] {
                if k >= self.layout.movable {
                    let (at, turns) = (&self.pose[k], self.outside[k].w != DVec3::ZERO);
                    // what turns with what the user moves turns about its middle
                    sum += if turns { at.x } else { at.x + at.r * anchor };
                    count += 1.0;
                }
            }
        }
        (count > 0.0).then(|| sum / count)
    }

    pub(crate) fn row_count(&self) -> usize {
        self.layout.rows
    }

    /// Whether nodes, sides and factor of two mechanisms are laid out alike, so that both can be solved in lanes.
    pub(crate) fn is_laid_out_like(&self, other: &Mechanism) -> bool {
        let (a, b) = (&self.layout, &other.layout);
        let (Factor::Block(fa), Factor::Block(fb)) = (&a.factor, &b.factor) else { return false };
        a.movable == b.movable
            && a.rows == b.rows
            && a.nodes.len() == b.nodes.len()
            && a.sides.len() == b.sides.len()
            && a.nodes.iter().zip(&b.nodes).all(|(a, b)| {
                (a.rows, a.row, a.sides, a.source.is_internal()) == (b.rows, b.row, b.sides, b.source.is_internal())
            })
            && a.sides.iter().zip(&b.sides).all(|(a, b)| (a.body, a.jacobian) == (b.body, b.jacobian))
            && fa.is_laid_out_like(fb)
    }

    pub(crate) fn joint_system(&self) -> JointSystem<'_> {
        let factor = match &self.layout.factor {
            Factor::Block(f) => f.values(),
            Factor::Supernodal(_) => &[],
        };
        JointSystem { jacobian: &self.linear.jacobian, factor, drift: &self.linear.drift }
    }

    /// Where body `k` (local) is, as rows need it: centre of mass, angular rows to hat coordinates, 1/√m.
    pub(crate) fn frame_of(&self, k: usize) -> (DVec3, DMat3, f64) {
        (self.pose[k].x, self.linear.whitening[k], self.inertia[k].inv_sqrt_mass)
    }

    /// Velocities of body `k` (local) before and after the kick, which substeps share.
    pub(crate) fn kick_of(&self, k: usize) -> (&Hat, &Hat) {
        (&self.u_start[k], &self.contact.kicked[k])
    }

    /// By how much its velocities lag behind the start of the step, s.
    pub(crate) fn lag(&self) -> f64 {
        self.lag
    }

    /// Brings velocities back to the joints; returns the impulses of their rows.
    pub(crate) fn project_velocities(&mut self, u: &mut Vec<Hat>) -> &[f64] {
        std::mem::swap(&mut self.u, u);
        self.row_velocities();
        self.rhs.iter_mut().for_each(|r| *r = -*r);
        self.layout.factor.solve(&mut self.rhs);
        Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.u);
        std::mem::swap(&mut self.u, u);
        &self.rhs
    }

    /// The same for four mechanisms that are laid out as this one; `rhs` holds their drifts, then their impulses.
    pub(crate) fn project_lanes(&self, jacobian: &[f64x4], factor: &[f64x4], rhs: &mut [f64x4], u: &mut [[f64x4; 6]]) {
        let Factor::Block(pattern) = &self.layout.factor else { return };
        let zero = f64x4::splat(0.0);
        for node in &self.layout.nodes {
            let first = node.row as usize;
            if node.source.is_internal() {
                rhs[first..first + node.rows as usize].fill(zero);
                continue;
            }
            with_size!(node.rows, M => {
                let mut sums: [f64x4; M] = std::array::from_fn(|r| -rhs[first + r]);
                for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                    let rows = &jacobian[side.jacobian as usize..side.jacobian as usize + 6 * M];
                    let u = &u[side.body as usize];
                    for r in 0..M {
                        for c in 0..6 {
                            sums[r] = rows[6 * r + c].mul_neg_add(u[c], sums[r]);
                        }
                    }
                }
                rhs[first..first + M].copy_from_slice(&sums);
            });
        }
        pattern.solve_lanes(factor, rhs);
        for node in self.layout.nodes.iter().filter(|n| !n.source.is_internal()) {
            let first = node.row as usize;
            with_size!(node.rows, M => {
                let p: [f64x4; M] = std::array::from_fn(|r| rhs[first + r]);
                for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                    let rows = &jacobian[side.jacobian as usize..side.jacobian as usize + 6 * M];
                    let u = &mut u[side.body as usize];
                    for r in 0..M {
                        for c in 0..6 {
                            u[c] = rows[6 * r + c].mul_add(p[r], u[c]);
                        }
                    }
                }
            });
        }
    }

    /// Finds where the mean velocities of a step lead with the joints closed, given the impulses of the joints so far, unless it has been
    /// asked before in this step, and the substep of the pile; `None` if they cannot be closed so.
    pub(crate) fn predict_in_pile(
        &mut self,
        h: f64,
        params: &StepParams,
        mean: &[Hat],
        impulses: Option<&[f64]>,
        substep: f64,
    ) -> Option<u32> {
        self.timer.resume();
        self.u.copy_from_slice(mean);
        if let Some(impulses) = impulses {
            let part = 1.0 + more_kick(self.lag, self.contact.presses, substep) / h;
            let kicked = self.contact.kicked_impulse.iter().zip(impulses);
            self.impulse.iter_mut().zip(kicked).for_each(|(p, (k, d))| *p = part * k + d);
        }
        self.contact.with_contacts.clone_from(&self.u);
        self.contact.answered.clone_from(&self.impulse);
        self.predict_outside(h);
        if impulses.is_some() {
            self.contact.bends_off = false;
            if self.accurate_is_unfit(h, 4.0 * SIGMA_BOUND, SPIN_IN_PILE).is_some() {
                return None;
            }
        } else if h * self.fastest_spin() >= SPIN_IN_PILE {
            return None;
        }
        if !self.contact.bends_off {
            let closed = self.close_positions(h, params.joint_tolerance, params.joint_tolerance);
            if closed.is_some() {
                return closed;
            }
            self.contact.bends_off = true;
        }
        self.close_by_projection(h, params.joint_tolerance)
    }

    /// Closes the joints at the predicted poses by Newton's method with the rows there, and the least motion. What falls in
    /// a heap turns too far in a step for the rows of the start; halving the step of the whole heap would cost far more.
    /// The rows of the start are still held after it, for what moves bodies apart where they end, unless the factor is supernodal.
    fn close_by_projection(&mut self, h: f64, tolerance: f64) -> Option<u32> {
        self.change_ends();
        let closed = self.project_positions(h, tolerance);
        self.change_ends();
        closed
    }

    /// Puts rows and factor of the end of the step in the place of those of its start, or the other way round.
    fn change_ends(&mut self) {
        let Factor::Block(factor) = &mut self.layout.factor else { return };
        let other = self.contact.at_end.get_or_insert_with(|| Box::new((self.linear.clone(), factor.clone())));
        std::mem::swap(&mut self.linear, &mut other.0);
        std::mem::swap(factor, &mut other.1);
        self.linear.read_like(&other.0);
    }

    fn project_positions(&mut self, h: f64, tolerance: f64) -> Option<u32> {
        let mut start = std::mem::take(&mut self.contact.start);
        start.clone_from(&self.pose);
        self.u.copy_from_slice(&self.contact.with_contacts);
        self.impulse.copy_from_slice(&self.contact.answered);
        self.predict(h);
        let (mut closed, mut before) = (None, 0.0);
        for round in 0..MOST_PROJECTIONS {
            self.measure_errors();
            let worst = max_abs(self.error.iter().copied());
            if worst < tolerance {
                closed = Some(round);
                break;
            }
            if !worst.is_finite() {
                break;
            }
            if worst > FAST * before {
                self.pose.copy_from_slice(&self.next);
                self.whiten_plainly();
                self.linearise(h);
            }
            before = worst;
            self.rhs.iter_mut().zip(&self.error).for_each(|(r, c)| *r = -c);
            self.layout.factor.solve(&mut self.rhs);
            let mut step = std::mem::take(&mut self.contact.pushed);
            step.fill([0.0; 6]);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut step);
            for (k, d) in step.iter().enumerate() {
                let i = &self.inertia[k];
                let shift = DVec3::new(d[0], d[1], d[2]) * i.inv_sqrt_mass;
                let turn = (DVec3::new(d[3], d[4], d[5]) * i.inv_sqrt).clamp_length_max(FARTHEST_TURN);
                let at = &self.next[k];
                self.next[k] = Placed::new(at.x + shift, rotation::renormalised(at.q * rotation::exp(turn)));
            }
            self.contact.pushed = step;
        }
        self.pose.copy_from_slice(&start);
        self.contact.start = start;
        if closed.is_some() {
            self.note_mean(h);
        }
        closed
    }

    /// Changes the mean velocities to those that lead to the closed poses, but for what turning changes of how bodies turn.
    fn note_mean(&mut self, h: f64) {
        let mut closed = std::mem::take(&mut self.contact.start);
        closed.clone_from(&self.next);
        self.u.copy_from_slice(&self.contact.with_contacts);
        self.predict(h);
        for k in 0..self.layout.movable {
            let (i, here) = (&self.inertia[k], &self.pose[k]);
            let shift = (closed[k].x - self.next[k].x) / (h * i.inv_sqrt_mass);
            let turn = rotation::log(closed[k].q * self.next[k].q.conjugate());
            let turn = here.r.transpose() * turn * i.sqrt / h;
            let more = [shift.x, shift.y, shift.z, turn.x, turn.y, turn.z];
            self.u[k].iter_mut().zip(more).for_each(|(u, more)| *u += more);
        }
        self.next.copy_from_slice(&closed);
        self.contact.start = closed;
    }

    /// The mean velocity with which body `k` (local) goes where it was found to go.
    pub(crate) fn mean_of(&self, k: usize) -> &Hat {
        &self.u[k]
    }

    /// Goes where [`Mechanism::predict_in_pile`] found and takes the velocities that the pile ends with, brought to the joints there.
    /// `substep` is that of the pile.
    pub(crate) fn finish_in_pile(
        &mut self,
        h: f64,
        params: &StepParams,
        iterations: Option<u32>,
        end: &[Hat],
        substep: f64,
        supported: bool,
    ) -> Advance {
        self.timer.resume();
        let Some(iterations) = iterations else {
            return self.finish_contact(h, params, None, supported);
        };
        // what moved the poses further than the velocities is forgotten; momentum stays as it is in the world
        for k in 0..self.layout.movable {
            let turned = turn_spin(&self.pose[k], &self.next[k], &self.inertia[k].sqrt, &end[k]);
            self.u[k] = turned;
        }
        self.pose.copy_from_slice(&self.next);
        self.settle_after_move(h, substep, supported);
        let mut advance = self.taken(h, StepKind::Accurate, None::<Reason>, iterations);
        self.lag = if supported { 0.5 * substep } else { 0.0 };
        self.measure_closure(&mut advance, params);
        advance
    }
}

/// By how much the kick of a pile's first substep is longer than those of the others, s. In a substep the kick comes before the move, so
/// that it ends in its middle. Whatever still presses has pressed all the time, also in that by which velocities lag behind, and is taken
/// to be where sweeps would have left it: a longer kick would have to be held by sweeps that start from the impulses of a substep.
pub(crate) fn more_kick(lag: f64, presses: bool, substep: f64) -> f64 {
    if presses && lag > 0.0 { 0.0 } else { lag - 0.5 * substep }
}

/// Velocities of a body whose frame has turned while its angular momentum stayed.
pub(crate) fn turn_spin(from: &Placed, to: &Placed, sqrt: &DVec3, u: &Hat) -> Hat {
    let momentum = from.r * (DVec3::new(u[3], u[4], u[5]) * *sqrt);
    let w = (to.r.transpose() * momentum) / *sqrt;
    [u[0], u[1], u[2], w.x, w.y, w.z]
}
