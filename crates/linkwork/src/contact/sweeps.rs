//! Sweeps over the contacts of a pile: projected Gauss–Seidel on the same problem that Newton's method solves.
//!
//! A tumbling pile changes its contacts in every step: Newton's method then has nothing to start from, and its matrix fills in.
//! A sweep costs the same whatever moves, and what a pile does while it tumbles need not be known to more digits than its motion
//! keeps (contact.md, sections 2 and 3).
//!
//! Rows are copied in lanes of four, coordinates of a unit padded to whole lanes.

use super::members::Members;
use super::problem::{Entry, Law, Problem};
use crate::math::max_abs;

/// What is left when sweeping stops: how far an entry's own velocity misses its law, times the step, m.
const TOLERANCE: f64 = 1e-5;
const MOST_SWEEPS: u32 = 40;
const MOST_SIDES: usize = super::problem::MOST_SIDES;

type Lanes = [f64; 4];

/// Working memory.
#[derive(Default)]
pub(super) struct Sweeps {
    packed: Vec<Packed>,
    /// Of each side and four coordinates: three rows.
    rows: Vec<[Lanes; 3]>,
    z: Vec<Lanes>,
    /// All pushes on what is solved body by body, without what its joints answered; and z with the last answer.
    pushes: Vec<Lanes>,
    answered: Vec<Lanes>,
    /// Of each unit: its first four coordinates in `z`.
    starts: Vec<u32>,
    pushed: Vec<[f64; 6]>,
}

/// An entry in lanes.
#[derive(Clone, Copy)]
struct Packed {
    law: Law,
    /// First lanes in z, how many, and first of its rows.
    sides: [(u32, u32, u32); MOST_SIDES],
    b: [f64; 3],
    target: f64,
    start: [f64; 3],
    /// How an entry gives way by itself: 1/stiffness.
    compliance: f64,
    impulse: [f64; 3],
    /// What turns a velocity along the normal, or across it, into the impulse that takes it out.
    inverse: [f64; 2],
}

/// What sweeping did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub sweeps: u32,
    /// Largest miss in the last sweep, m/s.
    pub residual: f64,
    pub converged: bool,
}

impl Sweeps {
    /// Sweeps from the impulses in the entries, leaving impulses and velocities there and z = Gᵀλ. Contacts are rigid, or as
    /// soft as their stiffness; `slips` is what their targets have been lowered by. Joints of mechanisms that are solved
    /// body by body, given with the first coordinate of each, answer exactly after every sweep.
    pub fn solve(
        &mut self,
        problem: &mut Problem,
        z: &mut Vec<f64>,
        rigid: bool,
        slips: &[f64],
        mechanisms: &mut Members,
        body_wise: &[(u32, u32)],
        h: f64,
    ) -> Outcome {
        self.pack(problem, rigid, slips);
        self.project(problem, mechanisms, body_wise);
        let mut outcome = Outcome::default();
        while outcome.sweeps < MOST_SWEEPS && !outcome.converged {
            outcome.sweeps += 1;
            outcome.residual = 0.0;
            for k in 0..self.packed.len() {
                outcome.residual = outcome.residual.max(self.relax(k));
            }
            self.project(problem, mechanisms, body_wise);
            outcome.converged = outcome.residual * h < TOLERANCE;
        }
        self.unpack(problem, z);
        outcome
    }

    fn pack(&mut self, problem: &Problem, rigid: bool, slips: &[f64]) {
        self.starts.clear();
        let mut lanes = 0;
        for unit in &problem.units {
            self.starts.push(lanes);
            lanes += unit.1.div_ceil(4);
        }
        for lists in [&mut self.z, &mut self.pushes, &mut self.answered] {
            lists.clear();
            lists.resize(lanes as usize, [0.0; 4]);
        }
        self.rows.clear();
        self.packed.clear();
        let is_joint = |e: &&Entry| matches!(e.law, Law::Joint(_));
        for (k, entry) in problem.entries.iter().take_while(|e| !is_joint(e)).enumerate() {
            let mut sides = [(0, 0, 0); MOST_SIDES];
            for (packed, side) in sides.iter_mut().zip(&entry.sides).filter(|(_, s)| s.size > 0) {
                let unit = problem.units.partition_point(|u| u.0 <= side.first) - 1;
                let size = side.size as usize;
                *packed = (self.starts[unit], side.size.div_ceil(4), self.rows.len() as u32);
                let rows = &problem.data[side.data as usize..side.data as usize + size * entry.rows()];
                for first in (0..size).step_by(4) {
                    let mut lanes = [[0.0; 4]; 3];
                    for (lane, row) in lanes.iter_mut().zip(rows.chunks_exact(size)) {
                        let part = &row[first..(first + 4).min(size)];
                        lane[..part.len()].copy_from_slice(part);
                    }
                    self.rows.push(lanes);
                }
            }
            let soft =
                matches!(entry.law, Law::Cone(_)) && if rigid { entry.compliance > 0.0 } else { entry.stiffness > 0.0 };
            let mut packed = Packed {
                law: entry.law,
                sides,
                b: entry.b,
                target: entry.target + if rigid { 0.0 } else { slips.get(k).copied().unwrap_or(0.0) },
                start: if soft { entry.start } else { [0.0; 3] },
                compliance: if soft { 1.0 / entry.stiffness } else { entry.compliance },
                impulse: entry.impulse,
                inverse: [0.0; 2],
            };
            packed.inverse = self.inverse_response(&packed, entry);
            self.push(&packed.sides, &packed.impulse);
            self.packed.push(packed);
        }
    }

    /// Lets the joints of mechanisms that are solved body by body answer to all pushes. To answer to the last answer and what came since
    /// would do for hard joints; springs and dampers would act once more after every sweep. Joints that are swept do so: they come nearer to
    /// their answer every time.
    fn project(&mut self, problem: &Problem, mechanisms: &mut Members, body_wise: &[(u32, u32)]) {
        for &(m, first) in body_wise {
            let mechanism = &mut mechanisms[m];
            let unit = problem.units.partition_point(|u| u.0 < first);
            let start = self.starts[unit] as usize;
            let lanes = start..start + 2 * mechanism.movable_bodies().len();
            let (z, pushes) = (&mut self.z[lanes.clone()], &mut self.pushes[lanes.clone()]);
            let answered = &mut self.answered[lanes];
            for ((push, z), answered) in pushes.iter_mut().zip(&*z).zip(&*answered) {
                (0..4).for_each(|l| push[l] += z[l] - answered[l]);
            }
            if mechanism.answers_by_turns() {
                pushes.copy_from_slice(z);
            }
            self.pushed.clear();
            self.pushed.extend(pushes.chunks_exact(2).map(|l| [l[0][0], l[0][1], l[0][2], l[0][3], l[1][0], l[1][1]]));
            mechanism.respond(&mut self.pushed);
            for (l, p) in z.chunks_exact_mut(2).zip(&self.pushed) {
                l[0].copy_from_slice(&p[..4]);
                l[1][..2].copy_from_slice(&p[4..]);
            }
            answered.copy_from_slice(z);
        }
    }

    fn unpack(&self, problem: &mut Problem, z: &mut Vec<f64>) {
        z.clear();
        for (unit, &start) in problem.units.iter().zip(&self.starts) {
            let lanes = &self.z[start as usize..(start + unit.1.div_ceil(4)) as usize];
            z.extend_from_slice(&lanes.as_flattened()[..unit.1 as usize]);
        }
        for (entry, packed) in problem.entries.iter_mut().zip(&self.packed) {
            entry.impulse = packed.impulse;
            entry.velocity = self.velocity(packed);
        }
    }

    /// Gives an entry the impulse that its law asks for at the present velocities; returns by how much it missed it, m/s.
    fn relax(&mut self, k: usize) -> f64 {
        let p = self.packed[k];
        let old = p.impulse;
        let mut new = old;
        match p.law {
            Law::Cone(mu) => {
                if old[0] == 0.0 && self.normal_velocity(&p) >= p.target {
                    return 0.0;
                }
                let v = self.velocity(&p);
                let miss = [
                    v[0] - p.target + p.compliance * (old[0] - p.start[0]),
                    v[1] + p.compliance * (old[1] - p.start[1]),
                    v[2] + p.compliance * (old[2] - p.start[2]),
                ];
                new[0] = (old[0] - miss[0] * p.inverse[0]).max(0.0);
                let t = [old[1] - miss[1] * p.inverse[1], old[2] - miss[2] * p.inverse[1]];
                let (square, most) = (t[0] * t[0] + t[1] * t[1], mu * new[0]);
                let scale = if square > most * most { most / square.sqrt() } else { 1.0 };
                (new[1], new[2]) = (scale * t[0], scale * t[1]);
            }
            Law::Bounds(lo, hi) => {
                let v = self.velocity(&p);
                new[0] = (old[0] - (v[0] - p.target + p.compliance * old[0]) * p.inverse[0]).clamp(lo, hi);
            }
            Law::Joint(_) => return 0.0,
        }
        self.packed[k].impulse = new;
        let change = [new[0] - old[0], new[1] - old[1], new[2] - old[2]];
        self.push(&p.sides, &change);
        let mobility = 1.0 / p.inverse[0].max(f64::MIN_POSITIVE);
        mobility * max_abs(change)
    }

    fn normal_velocity(&self, p: &Packed) -> f64 {
        let mut sum = [0.0; 4];
        for &(first, lanes, rows) in &p.sides[..2] {
            let z = &self.z[first as usize..(first + lanes) as usize];
            for (row, z) in self.rows[rows as usize..(rows + lanes) as usize].iter().zip(z) {
                (0..4).for_each(|l| sum[l] += row[0][l] * z[l]);
            }
        }
        p.b[0] + (sum[0] + sum[1]) + (sum[2] + sum[3])
    }

    fn velocity(&self, p: &Packed) -> [f64; 3] {
        let mut sum = [[0.0; 4]; 3];
        for &(first, lanes, rows) in p.sides.iter().filter(|s| s.1 > 0) {
            let z = &self.z[first as usize..(first + lanes) as usize];
            for (row, z) in self.rows[rows as usize..(rows + lanes) as usize].iter().zip(z) {
                for (sum, row) in sum.iter_mut().zip(row) {
                    (0..4).for_each(|l| sum[l] += row[l] * z[l]);
                }
            }
        }
        let total = |r: usize| p.b[r] + (sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]);
        [total(0), total(1), total(2)]
    }

    /// z += Gᵀ p.
    fn push(&mut self, sides: &[(u32, u32, u32)], p: &[f64; 3]) {
        for &(first, lanes, rows) in sides.iter().filter(|s| s.1 > 0) {
            let z = &mut self.z[first as usize..(first + lanes) as usize];
            for (row, z) in self.rows[rows as usize..(rows + lanes) as usize].iter().zip(z) {
                (0..4).for_each(|l| z[l] += row[0][l] * p[0] + row[1][l] * p[1] + row[2][l] * p[2]);
            }
        }
    }

    fn inverse_response(&self, packed: &Packed, entry: &Entry) -> [f64; 2] {
        let mut w = [[0.0; 3]; 3];
        for &(_, lanes, rows) in packed.sides.iter().filter(|s| s.1 > 0) {
            for row in &self.rows[rows as usize..(rows + lanes) as usize] {
                for i in 0..3 {
                    for k in 0..=i {
                        w[i][k] += (0..4).map(|l| row[i][l] * row[k][l]).sum::<f64>();
                    }
                }
            }
        }
        (0..entry.rows()).for_each(|r| w[r][r] += packed.compliance);
        // tangents by the largest eigenvalue of their response
        let (a, b, c) = (w[1][1], w[2][1], w[2][2]);
        let largest = 0.5 * (a + c) + (0.25 * (a - c) * (a - c) + b * b).sqrt();
        let invert = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
        [invert(w[0][0]), invert(largest)]
    }
}
