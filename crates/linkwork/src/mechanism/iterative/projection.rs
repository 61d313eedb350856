//! The last resort of the iterative method: free flight, then the poses themselves are moved onto the joints, joint by joint,
//! with rows where the bodies then are. Backward Euler in sweeps: it dissipates and does not explode.

use super::super::Mechanism;
use super::super::bounded::Law;
use super::super::layout::{Node, Source};
use super::block;
use super::conjugate::Stage;
use super::position::{Bounds, NEWTON};
use super::velocity::Answering;
use super::{ACCELERATED, FEW_SWEEPS, MOST_SWEEPS, Patience, Worst};
use crate::joint::MAX_ROWS;
use crate::joint::rows::Row;
use crate::math::{Placed, rotation};
use crate::params::StepParams;
use glam::DVec3;

/// A joint turns a body by no more than this in one visit, rad.
const MOST_TURN: f64 = 0.5;
/// Above this angle a step the angular velocity is read off the poses, which bounds it by π/h.
const FAST: f64 = 0.5;

impl Mechanism {
    /// Takes the step whatever happens; how far the joints are open is measured afterwards.
    pub(super) fn projected_step(&mut self, h: f64, params: &StepParams) -> u32 {
        self.u_start.copy_from_slice(&self.u);
        let energy = self.energy_at_start();
        self.act_whole(true);
        self.prepare_sweeps(h);
        self.read_soft_rates();
        self.kick(h);
        self.open_bounded_sweeps(h, h);
        let sweeps = self.fly_and_close(h, params, energy);
        self.act_whole(false);
        sweeps
    }

    /// The same for a mechanism that has been kicked and pushed already.
    pub(in crate::mechanism) fn projected_in_contact(&mut self, h: f64, params: &StepParams) -> u32 {
        let energy = self.energy_at_start();
        let answered = self.contact.answered.clone();
        let sweeps = self.fly_and_close(h, params, energy);
        self.force.iter_mut().zip(&answered).for_each(|(f, p)| *f += p / h);
        sweeps
    }

    fn fly_and_close(&mut self, h: f64, params: &StepParams, energy: f64) -> u32 {
        let tolerance = Self::swept_tolerance(params);
        self.robust.start.copy_from_slice(&self.pose);
        self.predict(h);
        self.predict_outside(h);
        for k in 0..self.layout.movable {
            let w = self.next_momentum[k] * self.inertia[k].inv_sqrt;
            self.u[k][3..].copy_from_slice(&[w.x, w.y, w.z]);
        }
        self.impulse.fill(0.0);
        let (mut sweeps, mut left) = (0, f64::INFINITY);
        let mut patience = Patience::new();
        while sweeps < MOST_SWEEPS {
            left = self.project_once(sweeps % 2 == 1, h, tolerance);
            sweeps += 1;
            if left <= tolerance || !left.is_finite() {
                break;
            }
            if sweeps > FEW_SWEEPS {
                if !patience.lasts(left) {
                    break;
                }
                sweeps += self.project_all(h, (NEWTON * left).max(ACCELERATED * tolerance), MOST_SWEEPS - sweeps);
            }
        }
        self.iterative.unfinished = left > tolerance || left.is_nan();
        self.velocities_along_the_way(h);
        self.pose.copy_from_slice(&self.next);
        self.bounded.average(h);
        for (f, p) in self.force.iter_mut().zip(&self.impulse) {
            *f = p / h;
        }
        self.sweep_velocities_closed(h, params.joint_tolerance);
        self.take_out_gain(energy, h);
        self.iterative.memory = Default::default();
        self.remember_impulses(None);
        self.remember_accelerations(h);
        self.keep_account(0.0, 0.0);
        sweeps
    }

    /// One sweep; returns the largest error that it met.
    fn project_once(&mut self, back: bool, h: f64, tolerance: f64) -> f64 {
        let mut worst = Worst::default();
        let count = self.layout.nodes.len();
        for k in 0..count {
            let node = self.layout.nodes[if back { count - 1 - k } else { k }];
            if !node.source.is_internal() {
                worst.note(self.project_joint(&node, h, tolerance));
            }
        }
        for k in 0..self.layout.bounded.len() {
            worst.note(self.project_limit(k, h));
        }
        worst.0
    }

    /// Moves all bodies at once, by conjugate gradients with the rows where they are; returns the sweeps to and fro.
    fn project_all(&mut self, h: f64, goal: f64, most: u32) -> u32 {
        std::mem::swap(&mut self.pose, &mut self.next);
        self.whiten_plainly();
        self.write_rows();
        std::mem::swap(&mut self.pose, &mut self.next);
        self.invert_joints(Answering::All);
        let mut moved = std::mem::take(&mut self.iterative.velocities);
        moved.clone_from(&self.u);
        let mut x = std::mem::take(&mut self.impulse);
        let stage = Stage::Positions { h, bounds: Bounds::Out };
        let sweeps = self.accelerate(&mut x, stage, Answering::All, goal / h, most);
        self.impulse = x;
        std::mem::swap(&mut self.u, &mut moved);
        for k in 0..self.layout.movable {
            let step = std::array::from_fn(|s| moved[k][s] - self.u[k][s]);
            self.displace(k, &step, h);
        }
        self.iterative.velocities = moved;
        sweeps
    }

    /// Moves the two bodies of a joint onto it; returns the error it had.
    fn project_joint(&mut self, node: &Node, h: f64, tolerance: f64) -> f64 {
        let rates = self.predicted_rates(node, h, &self.impulse);
        let error = self.largest_of(node, &rates, h);
        if error <= tolerance || !error.is_finite() {
            return error;
        }
        let (first, count) = (node.row as usize, node.rows as usize);
        let blocks = self.rows_at_end(node);
        let mut system = block::ZERO;
        for (_, rows) in blocks.iter() {
            for i in 0..count {
                for k in 0..count {
                    system[i][k] += (0..6).map(|s| rows[i][s] * rows[k][s]).sum::<f64>();
                }
            }
        }
        let mut scale = [0.0; MAX_ROWS];
        for r in 0..count {
            system[r][r] += self.iterative.compliance[first + r];
            scale[r] = system[r][r];
        }
        let impulse = block::times(&block::inverse(&system, count, &scale), count, &rates);
        for r in 0..count {
            self.impulse[first + r] -= impulse[r];
        }
        for (body, rows) in blocks {
            let mut step = [0.0; 6];
            for (p, row) in impulse[..count].iter().zip(&rows) {
                (0..6).for_each(|s| step[s] -= p * row[s]);
            }
            self.displace(body as usize, &step, h);
        }
        self.iterative.joint_solves += 1;
        error
    }

    /// Moves a limit that is exceeded back to its bound.
    fn project_limit(&mut self, k: usize, h: f64) -> f64 {
        let Law::Limit(_) = self.bounded.laws[k] else { return 0.0 };
        let b = self.layout.bounded[k];
        let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
        let Some(bound) = self.bounded.limit_bound(k, q - self.bounded.value[k]) else { return 0.0 };
        let (lo, hi) = self.bounded.limit_sign(k, bound);
        let m = &self.layout.models[b.model as usize];
        let row = m.coordinates[b.coordinate as usize].1.row(m, &self.next[b.a as usize], &self.next[b.b as usize]);
        let sides = [(b.a, false), (b.b, true)];
        let movable = |s: &(u32, bool)| (s.0 as usize) < self.layout.movable;
        let hats: Vec<_> =
            sides.into_iter().filter(movable).map(|(n, is_b)| (n, self.row_at_end(&row, n, is_b))).collect();
        let mobility: f64 = hats.iter().flat_map(|(_, hat)| hat).map(|e| e * e).sum();
        if mobility <= 0.0 {
            return 0.0;
        }
        let x = self.bounded.first[k];
        let change = (x - (q - bound) / (h * mobility)).clamp(lo, hi) - x;
        self.bounded.first[k] += change;
        for (body, hat) in hats {
            self.displace(body as usize, &hat.map(|e| change * e), h);
        }
        change.abs() * mobility * h
    }

    /// The rows of a joint on each of its movable bodies, where the bodies are now.
    fn rows_at_end(&self, node: &Node) -> Vec<(u32, [[f64; 6]; MAX_ROWS])> {
        let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
        let mut blocks: Vec<_> = sides.iter().map(|s| (s.body, [[0.0; 6]; MAX_ROWS])).collect();
        match node.source {
            Source::Joint { model, .. } => {
                let m = &self.layout.models[model as usize];
                let (a, b) = (&self.next[node.a as usize], &self.next[node.b as usize]);
                let mut rows = [Row::default(); MAX_ROWS];
                m.rows(a, b, &mut rows);
                for (k, s) in self.layout.soft[node.soft.0 as usize..node.soft.1 as usize].iter().enumerate() {
                    rows[node.hard as usize + k] = m.coordinates[s.coordinate as usize].1.row(m, a, b);
                }
                for (side, (body, block)) in sides.iter().zip(&mut blocks) {
                    for (out, row) in block.iter_mut().zip(&rows[..node.rows as usize]) {
                        *out = self.row_at_end(row, *body, side.is_b);
                    }
                }
            }
            Source::Coupling { first, last, .. } => {
                for t in &self.layout.terms[first as usize..last as usize] {
                    let m = &self.layout.models[t.model as usize];
                    let (a, b) = (&self.next[t.a as usize], &self.next[t.b as usize]);
                    let row = m.coordinates[t.coordinate as usize].1.row(m, a, b).scaled(t.factor);
                    for (body, is_b) in [(t.a, false), (t.b, true)] {
                        let hat = blocks.iter_mut().find(|(n, _)| *n == body);
                        if let Some((_, block)) = hat {
                            let part = self.row_at_end(&row, body, is_b);
                            (0..6).for_each(|s| block[0][s] += part[s]);
                        }
                    }
                }
            }
            Source::Fixation | Source::Hub => {}
        }
        blocks
    }

    fn row_at_end(&self, row: &Row, body: u32, is_b: bool) -> [f64; 6] {
        let i = &self.inertia[body as usize];
        let (sign, g) = if is_b { (i.inv_sqrt_mass, row.ang_b) } else { (-i.inv_sqrt_mass, row.ang_a) };
        let l = row.lin * sign;
        let g = (self.next[body as usize].r.transpose() * g) * i.inv_sqrt;
        [l.x, l.y, l.z, g.x, g.y, g.z]
    }

    /// Moves a body by `h` times a hat velocity, which it keeps.
    fn displace(&mut self, k: usize, step: &[f64; 6], h: f64) {
        let i = &self.inertia[k];
        let at = self.next[k];
        let turn = at.r * (DVec3::new(step[3], step[4], step[5]) * i.inv_sqrt) * h;
        let part = (MOST_TURN / turn.length().max(MOST_TURN)).min(1.0);
        let shift = DVec3::new(step[0], step[1], step[2]) * (h * i.inv_sqrt_mass * part);
        self.next[k] = Placed::new(at.x + shift, rotation::renormalised(rotation::exp(turn * part) * at.q));
        (0..6).for_each(|s| self.u[k][s] += part * step[s]);
    }

    /// Where a body turned far, its angular velocity is what carried it from pose to pose.
    fn velocities_along_the_way(&mut self, h: f64) {
        for k in 0..self.layout.movable {
            if h * self.body_spin(k).length() > FAST {
                let (from, to, i) = (&self.robust.start[k], &self.next[k], &self.inertia[k]);
                let w = (to.r.transpose() * (rotation::log(to.q * from.q.inverse()) / h)) * i.sqrt;
                self.u[k][3..].copy_from_slice(&[w.x, w.y, w.z]);
            }
        }
    }
}
