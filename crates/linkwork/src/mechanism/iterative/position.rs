//! Pre-stabilisation (Weinstein, Teran and Fedkiw 2006, section IV): impulses at the start of the step such that joints are
//! closed at its end.
//!
//! For one joint with impulses p on its rows, f(p) = c(poses after the step)/h, and of soft rows what their law leaves over. Its
//! bodies are flown to the end of the step, so f is as nonlinear as their way is. Newton: K Δp = −f with
//!
//! K = Ĵ(end) T Ĵ(start)ᵀ + Γ, T = 1 − ½h Ω× on the angular part,
//!
//! the derivative of the end pose by the velocity at the start (the exponential to second order in hΩ). Where a step does not take
//! out what it promises, its length is found by golden section and K is made anew. A visit in a sweep aims at (1 − ε) of what it
//! finds: early sweeps correct all joints a little, so that the first does not take on what the others should (the paper's ε).

use super::super::Mechanism;
use super::super::layout::{BoundedKind, Node, Source};
use super::block::{self, Rows, Square};
use super::conjugate::Stage;
use super::velocity::Answering;
use super::{ACCELERATED, FEW_SWEEPS, MOST_SWEEPS, Patience, RAMP, Swept, Worst};
use crate::joint::MAX_ROWS;
use crate::joint::rows::Row;
use crate::math::{Placed, rotation};
use glam::{DMat3, DVec3};

/// Newton steps of a visit at most, and what a step must leave of the square of the error to be taken as it is.
const MOST_STEPS: u32 = 4;
const GOOD: f64 = 0.25;
/// A visit ends when the square of its error is below this part of what it began with.
const DONE: f64 = 1e-2;
/// The smaller part of a line cut in the golden section, and how often it is cut: to a hundredth.
const GOLDEN: f64 = 0.381_966_011_250_105_1;
const CUTS: u32 = 9;
/// What a Newton step of all joints may leave of the error, for it is not linear.
pub(super) const NEWTON: f64 = 0.05;
/// The step at which tolerances are meant.
const FRAME: f64 = 1.0 / 60.0;

/// Which bounded rows take part in the position stage.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bounds {
    /// All, over a time.
    All(f64),
    /// Limits: the others have had their impulse with the contacts.
    Limits,
    /// None.
    Out,
}

/// How one joint's bodies move with the length of a Newton step.
struct Line {
    node: Node,
    /// Sides of the node in the layout, and the velocities from which the step goes.
    rows: usize,
    from: Rows,
    step: Rows,
    /// What is aimed at.
    goal: Rows,
}

impl Mechanism {
    /// Closes joints and bounded rows to `tolerance` at the end of the step, adding to `impulse`, to the impulses of the first half
    /// of bounded rows, and to the velocities; `next` follows. By sweeps to and fro, and if those do not do, by conjugate
    /// gradients over sweeps, each time followed by a sweep.
    pub(super) fn sweep_positions(&mut self, h: f64, bounds: Bounds, tolerance: f64) -> Swept {
        self.restart_sweeps();
        let mut swept = Swept::default();
        while swept.sweeps < FEW_SWEEPS {
            let epsilon = (f64::from(swept.sweeps + 1) / f64::from(RAMP)).min(1.0);
            swept.worst = self.sweep_positions_once(swept.sweeps % 2 == 1, epsilon, h, bounds, tolerance);
            if swept.worst <= tolerance || !swept.worst.is_finite() {
                return swept;
            }
            swept.sweeps += 1;
        }
        if self.iterative.inverted != Some(Answering::All) {
            self.invert_joints(Answering::All);
        }
        let mut patience = Patience::new();
        while swept.sweeps < MOST_SWEEPS && patience.lasts(swept.worst) {
            swept.sweeps += self.accelerate_positions(h, bounds, tolerance, swept.worst, MOST_SWEEPS - swept.sweeps);
            for back in [false, true] {
                swept.worst = self.sweep_positions_once(back, 1.0, h, bounds, tolerance);
                swept.sweeps += 1;
                if swept.worst <= tolerance || !swept.worst.is_finite() {
                    return swept;
                }
            }
        }
        swept
    }

    /// One sweep; returns the largest error that it met.
    fn sweep_positions_once(&mut self, back: bool, epsilon: f64, h: f64, bounds: Bounds, tolerance: f64) -> f64 {
        let count = self.layout.nodes.len();
        let mut worst = Worst::default();
        for k in 0..count {
            let n = if back { count - 1 - k } else { k };
            let node = self.layout.nodes[n];
            if !node.source.is_internal() && !self.is_seen_closed(n, &node) {
                worst.note(self.close_joint(n, &node, h, epsilon, tolerance));
            }
        }
        for k in 0..self.layout.bounded.len() {
            if let Some(share) = self.share_of(k, h, bounds) {
                worst.note(self.close_bounded(k, h, share, tolerance));
            }
        }
        worst.0
    }

    /// The time for which a bounded row acts, if it takes part.
    pub(super) fn share_of(&self, k: usize, h: f64, bounds: Bounds) -> Option<f64> {
        match bounds {
            Bounds::All(share) => Some(share),
            Bounds::Limits => (self.layout.bounded[k].kind == BoundedKind::Limit).then_some(h),
            Bounds::Out => None,
        }
    }

    /// A Newton step of all joints at once with the rows of the start; returns how many sweeps to and fro it took.
    fn accelerate_positions(&mut self, h: f64, bounds: Bounds, tolerance: f64, worst: f64, most: u32) -> u32 {
        let goal = (NEWTON * worst).max(ACCELERATED * tolerance) / h;
        let mut x = std::mem::take(&mut self.impulse);
        let sweeps = self.accelerate(&mut x, Stage::Positions { h, bounds }, Answering::All, goal, most);
        self.impulse = x;
        self.predict_all(h);
        sweeps
    }

    fn predict_all(&mut self, h: f64) {
        self.iterative.changes += 1;
        let changes = self.iterative.changes;
        self.iterative.moved.fill(changes);
        self.predict(h);
    }

    fn restart_sweeps(&mut self) {
        let scratch = &mut self.iterative;
        scratch.newton.clear();
        scratch.newton.resize(self.layout.nodes.len(), block::ZERO);
        scratch.moved.clear();
        scratch.moved.resize(self.layout.movable, 1);
        scratch.seen.clear();
        scratch.seen.resize(self.layout.nodes.len(), 0);
        scratch.changes = 1;
    }

    /// Whether nothing has moved a joint since it was seen closed.
    fn is_seen_closed(&self, n: usize, node: &Node) -> bool {
        let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
        sides.iter().all(|s| self.iterative.moved[s.body as usize] <= self.iterative.seen[n])
    }

    /// Notes that a body's velocity was changed, and finds where it goes now.
    pub(super) fn moved(&mut self, body: usize, h: f64) {
        self.iterative.changes += 1;
        self.iterative.moved[body] = self.iterative.changes;
        self.predict_body(body, h);
    }

    /// Where one body will be after `h`.
    pub(super) fn predict_body(&mut self, k: usize, h: f64) {
        let (inertia, u, at) = (&self.inertia[k], &self.u[k], &self.pose[k]);
        let momentum = DVec3::new(u[3], u[4], u[5]) * inertia.sqrt;
        let (q, momentum) = rotation::rotate_free(at.q, momentum, inertia.inverse, h);
        let x = at.x + DVec3::new(u[0], u[1], u[2]) * (h * inertia.inv_sqrt_mass);
        self.next[k] = Placed { x, q, r: DMat3::from_quat(q) };
        self.next_momentum[k] = momentum;
    }

    /// Takes ε of one joint's error out; returns the error it had, m or rad.
    fn close_joint(&mut self, n: usize, node: &Node, h: f64, epsilon: f64, tolerance: f64) -> f64 {
        let start = self.predicted_rates(node, h, &self.impulse);
        let error = self.largest_of(node, &start, h);
        if error <= tolerance || !error.is_finite() {
            self.iterative.seen[n] = self.iterative.changes;
            return error;
        }
        let goal = start.map(|f| (1.0 - epsilon) * f);
        let begun = self.size_of(node, &start, &goal);
        let (mut present, mut size) = (start, begun);
        for step in 0..MOST_STEPS {
            // that of the last visit does at first; it is made anew where it does not do
            if step > 0 || self.iterative.newton[n] == block::ZERO {
                self.iterative.newton[n] = self.newton_inverse(node, h);
            }
            let mut off = [0.0; MAX_ROWS];
            (0..node.rows as usize).for_each(|r| off[r] = goal[r] - present[r]);
            let step = block::times(&self.iterative.newton[n], node.rows as usize, &off);
            let mut from = [0.0; MAX_ROWS];
            let first = node.row as usize;
            from[..node.rows as usize].copy_from_slice(&self.impulse[first..first + node.rows as usize]);
            let line = Line { node: *node, rows: node.rows as usize, from, step, goal };
            let mut reached = 0.0;
            let mut better = self.go_along(&line, &mut reached, 1.0, h);
            self.iterative.joint_solves += 1;
            if better > GOOD * size || better.is_nan() {
                better = self.search_along(&line, &mut reached, size, better, h);
            }
            present = self.predicted_rates(node, h, &self.impulse);
            let gained = better < size;
            size = better;
            if size <= DONE * begun || !gained {
                break;
            }
        }
        for s in node.sides.0..node.sides.1 {
            let body = self.layout.sides[s as usize].body as usize;
            self.iterative.changes += 1;
            self.iterative.moved[body] = self.iterative.changes;
        }
        error
    }

    /// Goes from one length of a Newton step to another; returns the square of the error there.
    fn go_along(&mut self, line: &Line, reached: &mut f64, to: f64, h: f64) -> f64 {
        let change = to - *reached;
        *reached = to;
        let first = line.node.row as usize;
        for r in 0..line.rows {
            self.impulse[first + r] = line.from[r] + to * line.step[r];
        }
        for s in line.node.sides.0..line.node.sides.1 {
            let side = self.layout.sides[s as usize];
            let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * line.rows];
            let u = &mut self.u[side.body as usize];
            for (p, row) in line.step.iter().zip(rows.as_chunks::<6>().0) {
                (0..6).for_each(|k| u[k] += change * p * row[k]);
            }
            self.predict_body(side.body as usize, h);
        }
        let there = self.predicted_rates(&line.node, h, &self.impulse);
        self.size_of(&line.node, &there, &line.goal)
    }

    /// Golden section between no step (of size `none`) and the whole (of size `whole`, where it stands): goes to the best.
    fn search_along(&mut self, line: &Line, reached: &mut f64, none: f64, whole: f64, h: f64) -> f64 {
        let mut best = if whole < none { (1.0, whole) } else { (0.0, none) };
        let (mut low, mut high) = (0.0, 1.0);
        let mut left = (GOLDEN, self.go_along(line, reached, GOLDEN, h));
        let mut right = (1.0 - GOLDEN, self.go_along(line, reached, 1.0 - GOLDEN, h));
        for _ in 0..CUTS {
            for point in [left, right] {
                best = if point.1 < best.1 { point } else { best };
            }
            if left.1 < right.1 {
                (high, right) = (right.0, left);
                let at = low + GOLDEN * (high - low);
                left = (at, self.go_along(line, reached, at, h));
            } else {
                (low, left) = (left.0, right);
                let at = high - GOLDEN * (high - low);
                right = (at, self.go_along(line, reached, at, h));
            }
        }
        self.go_along(line, reached, best.0, h);
        best.1
    }

    /// f(p): errors at the predicted poses by the step; of soft rows, what their law leaves over at their impulses.
    pub(super) fn predicted_rates(&self, node: &Node, h: f64, impulse: &[f64]) -> Rows {
        let mut out = [0.0; MAX_ROWS];
        let row = node.row as usize;
        match node.source {
            Source::Joint { model, .. } => {
                let m = &self.layout.models[model as usize];
                let (a, b) = (&self.next[node.a as usize], &self.next[node.b as usize]);
                let turn = self.near.get(self.first_value[model as usize] as usize).copied().unwrap_or(0.0);
                m.error(a, b, turn, &mut out[..node.hard as usize]);
            }
            Source::Coupling { first, last, .. } => {
                out[0] = -self.linear.coupling_offset[row];
                for t in &self.layout.terms[first as usize..last as usize] {
                    out[0] += t.factor * self.coordinate_at_next(t.model, t.coordinate, t.a, t.b);
                }
            }
            Source::Fixation | Source::Hub => {}
        }
        out[..node.hard as usize].iter_mut().for_each(|c| *c /= h);
        for k in node.soft.0 as usize..node.soft.1 as usize {
            let s = &self.layout.soft[k];
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let q1 = self.coordinate_at_next(s.model, s.coordinate, s.a, s.b);
            let (soft, rate) = (&self.linear.soft[k], self.linear.soft_rates[k]);
            let impulse = impulse[s.row as usize];
            out[s.row as usize - row] = soft.position_residual(self.values[at], rate, q1, impulse, h);
        }
        out
    }

    /// The square of what is missing, each row in units of its own motion, so that metres, radians and springs compare.
    fn size_of(&self, node: &Node, rates: &Rows, goal: &Rows) -> f64 {
        let first = node.row as usize;
        let mut sum = 0.0;
        for r in 0..node.rows as usize {
            let mobility = self.linear.mobility[first + r] + self.iterative.compliance[first + r];
            let off = rates[r] - goal[r];
            sum += off * off / mobility.max(f64::MIN_POSITIVE);
        }
        sum
    }

    /// The largest error, m or rad; of a soft row what it would move in a frame's time if it alone were set right.
    pub(super) fn largest_of(&self, node: &Node, rates: &Rows, h: f64) -> f64 {
        let mut worst = Worst::default();
        for r in 0..node.rows as usize {
            let row = node.row as usize + r;
            let (mobility, compliance) = (self.linear.mobility[row], self.iterative.compliance[row]);
            worst.note(match r < node.hard as usize {
                true => rates[r].abs() * h,
                false => rates[r].abs() * h.max(FRAME * FRAME / h) * mobility / (mobility + compliance),
            });
        }
        worst.0
    }

    /// The inverse of K at the predicted poses. Couplings, and joints whose K says nothing, take that of the start.
    fn newton_inverse(&self, node: &Node, h: f64) -> Square {
        let Source::Joint { model, .. } = node.source else {
            return self.inverse_of_joint(node, Answering::All);
        };
        let m = &self.layout.models[model as usize];
        let (a, b) = (&self.next[node.a as usize], &self.next[node.b as usize]);
        let (count, hard, first) = (node.rows as usize, node.hard as usize, node.row as usize);
        let mut rows = [Row::default(); MAX_ROWS];
        m.rows(a, b, &mut rows);
        for (k, s) in self.layout.soft[node.soft.0 as usize..node.soft.1 as usize].iter().enumerate() {
            rows[hard + k] = m.coordinates[s.coordinate as usize].1.row(m, a, b);
        }
        let mut system = block::ZERO;
        for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
            let body = side.body as usize;
            let start = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
            let (start, _) = start.as_chunks::<6>();
            let turned = self.body_spin(body) * (0.5 * h);
            let inertia = &self.inertia[body];
            for i in 0..count {
                let (l, g) = if side.is_b { (1.0, rows[i].ang_b) } else { (-1.0, rows[i].ang_a) };
                let l = rows[i].lin * (l * inertia.inv_sqrt_mass);
                let g = self.next[body].r.transpose() * g;
                let g = (g - g.cross(turned)) * inertia.inv_sqrt;
                let end = [l.x, l.y, l.z, g.x, g.y, g.z];
                for k in 0..count {
                    system[i][k] += (0..6).map(|s| end[s] * start[k][s]).sum::<f64>();
                }
            }
        }
        let mut scale = [0.0; MAX_ROWS];
        for r in 0..count {
            system[r][r] += self.iterative.compliance[first + r];
            scale[r] = self.linear.mobility[first + r] + self.iterative.compliance[first + r];
        }
        block::inverse(&system, count, &scale)
    }
}
