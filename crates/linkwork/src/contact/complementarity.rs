//! The contacts of an island as a complementarity problem, for the solvers of [`lcp`](super::lcp).
//!
//! With v = Gz + b and z = Gᵀλ, A = GGᵀ. A soft contact of stiffness k adds 1/k to its rows: λ = −k (v − target) is the same as
//! v − target + λ/k = 0. Friction is a pyramid along the two tangents. A problem that a solver refuses, or that is too large for
//! a dense matrix, is left to Newton's method, and the report says so.

use super::lcp::{self, Bounds};
use super::problem::{Entry, Law};
use super::rolling::bound_rolling;
use super::{ContactReport, Island};
use crate::params::ContactSolver;

/// Rows up to which a dense matrix is set up.
const MOST_ROWS: usize = 600;
/// Sweeps of projected Gauss-Seidel, and how exact it must be, relative to the fastest that meets.
const MOST_SWEEPS: usize = 5000;
const SWEPT_TO: f64 = 1e-7;
/// Solves in which impulses and the bounds of rolling friction settle, and the changes that are not worth another: of a
/// velocity, relative to the fastest that meets, and of a bound, relative to it.
const MOST_ROUNDS: usize = 5;
const SETTLED: f64 = 1e-6;
const ROLL_TOLERANCE: f64 = 1e-3;
/// Rigid contacts hold on to the impulses they had, by so much of their own response: points that could share a load in many
/// ways go on sharing it as they did. Without it a pivot leaves all on a few of them, and the rest slips.
const HOLD: f64 = 1e-3;

/// Solves the contacts; false if the solver refuses them.
pub(super) fn solve(island: &mut Island, with: ContactSolver, report: &mut ContactReport) -> bool {
    let rows: usize = island.problem.entries.iter().map(Entry::rows).sum();
    if rows > MOST_ROWS {
        return false;
    }
    let (a, hold) = matrix(island, rows);
    for _ in 0..MOST_ROUNDS {
        let (mut b, bounds, start) = right_side(island, rows);
        b.iter_mut().zip(hold.iter().zip(&start)).for_each(|(b, (hold, x))| *b -= hold * x);
        let problem = lcp::Problem { a: &a, b: &b, bounds: &bounds };
        let solved = match with {
            ContactSolver::Dantzig => lcp::dantzig(&problem),
            ContactSolver::Lemke => lcp::lemke(&problem),
            ContactSolver::GaussSeidel => {
                lcp::gauss_seidel(&problem, &start, MOST_SWEEPS, SWEPT_TO * island.fastest.max(f64::MIN_POSITIVE))
            }
            ContactSolver::Newton => return false,
        };
        let Ok(solution) = solved else { return false };
        report.iterations += solution.iterations as u32;
        report.residual = report.residual.max(solution.residual);
        take(island, &solution.x);
        let moved =
            hold.iter().zip(solution.x.iter().zip(&start)).fold(0.0_f64, |m, (h, (x, s))| m.max(h * (x - s).abs()));
        let Island { problem, rolls, first_roll, fastest, .. } = island;
        if bound_rolling(problem, rolls, *first_roll) <= ROLL_TOLERANCE && moved <= SETTLED * *fastest {
            break;
        }
    }
    island.solved = true;
    true
}

/// A = GGᵀ with the compliance of what gives way, and of each row how much it holds on to its impulse.
fn matrix(island: &Island, rows: usize) -> (Vec<f64>, Vec<f64>) {
    let (problem, size) = (&island.problem, island.problem.size);
    let mut g = vec![0.0; rows * size];
    let mut first = 0;
    for entry in &problem.entries {
        for side in entry.sides.iter().filter(|s| s.size > 0) {
            let (at, n) = (side.first as usize, side.size as usize);
            for r in 0..entry.rows() {
                let from = side.data as usize + r * n;
                let line = &mut g[(first + r) * size + at..(first + r) * size + at + n];
                line.iter_mut().zip(&problem.data[from..from + n]).for_each(|(g, x)| *g += x);
            }
        }
        first += entry.rows();
    }
    let mut a = vec![0.0; rows * rows];
    for i in 0..rows {
        for j in 0..=i {
            let sum = g[i * size..(i + 1) * size].iter().zip(&g[j * size..(j + 1) * size]).map(|(x, y)| x * y).sum();
            (a[i * rows + j], a[j * rows + i]) = (sum, sum);
        }
    }
    let mut hold = vec![0.0; rows];
    let mut row = 0;
    for entry in &problem.entries {
        let compliance = compliance(entry, island.rigid);
        let holds = if island.rigid && matches!(entry.law, Law::Cone(_)) { HOLD } else { 0.0 };
        for r in row..row + entry.rows() {
            hold[r] = holds * a[r * rows + r];
            a[r * rows + r] += compliance + hold[r];
        }
        row += entry.rows();
    }
    (a, hold)
}

fn compliance(entry: &Entry, rigid: bool) -> f64 {
    match entry.law {
        Law::Cone(_) if !rigid && entry.stiffness > 0.0 => 1.0 / entry.stiffness,
        _ => entry.compliance,
    }
}

/// b, bounds and the impulses at hand.
fn right_side(island: &Island, rows: usize) -> (Vec<f64>, Vec<Bounds>, Vec<f64>) {
    let (mut b, mut bounds, mut start) = (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows));
    for (k, entry) in island.problem.entries.iter().enumerate() {
        start.extend_from_slice(&entry.impulse[..entry.rows()]);
        match entry.law {
            Law::Cone(mu) => {
                let (soft, normal) = (compliance(entry, island.rigid), b.len());
                // what de Saxcé's correction took off the target of soft contacts is not needed here
                let slip = if island.rigid { 0.0 } else { island.slips.get(k).copied().unwrap_or(0.0) };
                // rigid contacts start from nothing; what is soft holds on to its spring
                let held = if soft > 0.0 { entry.start } else { [0.0; 3] };
                b.push(entry.b[0] - (entry.target + slip) - soft * held[0]);
                bounds.push(Bounds::Unilateral);
                for s in [1, 2] {
                    b.push(entry.b[s] - soft * held[s]);
                    bounds.push(Bounds::Friction { normal, mu });
                }
            }
            Law::Bounds(lo, hi) => {
                b.push(entry.b[0]);
                bounds.push(match (lo == f64::NEG_INFINITY, hi == f64::INFINITY) {
                    (true, true) => Bounds::Equality,
                    (false, true) if lo == 0.0 => Bounds::Unilateral,
                    _ => Bounds::Box { lo, hi },
                });
            }
            Law::Joint(count) => {
                b.extend_from_slice(&entry.b[..usize::from(count)]);
                bounds.extend(std::iter::repeat_n(Bounds::Equality, usize::from(count)));
            }
        }
    }
    (b, bounds, start)
}

/// Gives the impulses to the entries, and the velocities that go with them.
fn take(island: &mut Island, x: &[f64]) {
    let Island { problem, z, .. } = island;
    z.clear();
    z.resize(problem.size, 0.0);
    let mut row = 0;
    for k in 0..problem.entries.len() {
        let rows = problem.entries[k].rows();
        let mut impulse = [0.0; 3];
        impulse[..rows].copy_from_slice(&x[row..row + rows]);
        problem.entries[k].impulse = impulse;
        problem.push(&problem.entries[k], &impulse, z);
        row += rows;
    }
    for k in 0..problem.entries.len() {
        let rates = problem.rates(&problem.entries[k], z);
        let entry = &mut problem.entries[k];
        (0..3).for_each(|s| entry.velocity[s] = entry.b[s] + rates[s]);
    }
}
