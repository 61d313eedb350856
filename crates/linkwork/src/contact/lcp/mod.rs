//! Complementarity: forces x and the velocities (or accelerations) w = Ax + b that they make, of which only one may be at work.
//!
//! Every row has bounds. Inside them w = 0; at the lower bound w ≥ 0; at the upper bound w ≤ 0. Baraff's resting contact
//! (course notes, section 8 and appendix D) has bounds 0 and ∞; joints have none (equality); dry friction of a contact is
//! bounded by μ times its normal force, |x_t| ≤ μ x_n, direction by direction (a pyramid).
//!
//! | solver | how | when it is certain to end well |
//! | --- | --- | --- |
//! | [`dantzig`] | one row after the other is brought in, keeping the earlier ones solved (Baraff 1994) | A symmetric positive semidefinite, a solution exists, no friction |
//! | [`lemke`] | complementary pivots along a ray (Lemke 1965), lexicographic, softened where rounding misleads | the same |
//! | [`gauss_seidel`] | projected sweeps | A positive definite, no friction; slowly |
//!
//! None of them hangs: each has a bound on its work, and each checks what it returns. [`residual`] is the judge.

mod dantzig;
mod gauss_seidel;
mod lemke;
#[cfg(test)]
mod tests;

pub use dantzig::dantzig;
pub use gauss_seidel::gauss_seidel;
pub use lemke::lemke;

use std::fmt;

/// Bounds of a row's force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// None: w = 0 whatever it takes.
    Equality,
    /// Not negative.
    Unilateral,
    /// Between two numbers.
    Box {
        /// Smallest force.
        lo: f64,
        /// Largest force.
        hi: f64,
    },
    /// Between ∓ μ times the force of another row.
    Friction {
        /// The row of the normal force, which must be [`Bounds::Unilateral`].
        normal: usize,
        /// Coefficient of friction.
        mu: f64,
    },
}

/// A problem: w = Ax + b with bounds on x.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'p> {
    /// n × n, row by row.
    pub a: &'p [f64],
    /// n.
    pub b: &'p [f64],
    /// n.
    pub bounds: &'p [Bounds],
}

/// A solution, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Forces.
    pub x: Vec<f64>,
    /// Largest violation, in units of w: see [`residual`].
    pub residual: f64,
    /// Pivots or sweeps.
    pub iterations: usize,
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The problem itself is wrong.
    Malformed {
        /// What is wrong with it.
        problem: String,
    },
    /// No forces can meet the conditions, as far as the solver can see; with friction or with a matrix that is not
    /// positive semidefinite it may be wrong.
    NoSolution {
        /// The row that could not be met.
        row: usize,
    },
    /// The bound on the work was reached, or the result is not accurate enough.
    NotConverged {
        /// The best forces found.
        best: Solution,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Malformed { problem } => write!(f, "{problem}"),
            Failure::NoSolution { row } => {
                write!(
                    f,
                    "no forces can meet row {row}: another row works against it; try less friction or softer rows"
                )
            }
            Failure::NotConverged { best } => write!(
                f,
                "not converged after {} iterations, {:.2e} remain; try another solver or a softer problem",
                best.iterations, best.residual
            ),
        }
    }
}

impl std::error::Error for Failure {}

impl Problem<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.b.len()
    }

    /// w = Ax + b.
    pub fn velocities(&self, x: &[f64]) -> Vec<f64> {
        let n = self.rows();
        (0..n).map(|i| self.b[i] + dot(&self.a[i * n..(i + 1) * n], x)).collect()
    }

    /// The bounds of a row at the present forces.
    pub fn range(&self, row: usize, x: &[f64]) -> (f64, f64) {
        match self.bounds[row] {
            Bounds::Equality => (f64::NEG_INFINITY, f64::INFINITY),
            Bounds::Unilateral => (0.0, f64::INFINITY),
            Bounds::Box { lo, hi } => (lo, hi),
            Bounds::Friction { normal, mu } => {
                // without friction there is none under a force that runs away, either: 0 · ∞ is no bound
                let most = if mu > 0.0 { mu * x[normal].max(0.0) } else { 0.0 };
                (-most, most)
            }
        }
    }

    fn check(&self) -> Result<(), Failure> {
        let n = self.rows();
        let wrong = |problem: String| Err(Failure::Malformed { problem });
        if self.a.len() != n * n || self.bounds.len() != n {
            let (a, bounds) = (self.a.len(), self.bounds.len());
            return wrong(format!("{n} rows need {} entries and {n} bounds, not {a} and {bounds}", n * n));
        }
        if let Some(k) = self.a.iter().chain(self.b).position(|e| !e.is_finite()) {
            return wrong(format!("entry {k} of the matrix and right side is not finite"));
        }
        for (row, bounds) in self.bounds.iter().enumerate() {
            match *bounds {
                Bounds::Box { lo, hi } if lo > hi || lo.is_nan() || hi.is_nan() => {
                    return wrong(format!("row {row}: bounds {lo} and {hi} leave nothing between them"));
                }
                Bounds::Friction { normal, mu } => {
                    if self.bounds.get(normal) != Some(&Bounds::Unilateral) {
                        return wrong(format!("row {row}: friction on row {normal}, which is not a unilateral one"));
                    }
                    if !(mu.is_finite() && mu >= 0.0) {
                        return wrong(format!("row {row}: coefficient of friction {mu} is not a number from 0 up"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A size of velocities below which nothing is told apart.
    fn scale(&self, x: &[f64]) -> f64 {
        let n = self.rows();
        let mut scale = self.b.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        for i in 0..n {
            let row = self.a[i * n..(i + 1) * n].iter().zip(x).fold(0.0_f64, |m, (a, x)| m.max((a * x).abs()));
            scale = scale.max(row);
        }
        scale
    }

    /// The solution with its residual, or a failure if that is more than rounding can explain.
    fn judged(&self, x: Vec<f64>, iterations: usize) -> Result<Solution, Failure> {
        let residual = residual(self, &x);
        let scale = self.scale(&x);
        let solution = Solution { x, residual, iterations };
        if residual <= ACCEPTED * (scale + f64::MIN_POSITIVE) {
            Ok(solution)
        } else {
            Err(Failure::NotConverged { best: solution })
        }
    }
}

/// The product of two vectors in eight partial sums, which the processor adds side by side: the same bits every time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut rest = 0.0;
    for (x, y) in a_rest.iter().zip(b_rest) {
        rest += x * y;
    }
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for k in 0..LANES {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// What a solution may miss, as a part of the largest term of w.
const ACCEPTED: f64 = 1e-8;

/// Part of the largest response below which a row has none of its own.
const NO_RESPONSE: f64 = 1e-14;

/// The largest violation of any condition, in units of w: |w| inside the bounds, w of the wrong sign at a bound, and how far
/// x is outside its bounds, times the row's own response; times the largest response, if it has none of its own.
///
/// # Panics
/// If `x` and the parts of the problem are not of one size.
pub fn residual(problem: &Problem, x: &[f64]) -> f64 {
    let n = problem.rows();
    let w = problem.velocities(x);
    let mut worst = 0.0_f64;
    let largest = (0..n).fold(0.0_f64, |m, i| m.max(problem.a[i * n + i].abs()));
    let otherwise = if largest > 0.0 { largest } else { 1.0 };
    for i in 0..n {
        let own = problem.a[i * n + i].abs();
        let own = if own > NO_RESPONSE * largest { own } else { otherwise };
        let (lo, hi) = problem.range(i, x);
        // the change of x that a projected step of its own would make, as a velocity
        let moved = (x[i] - w[i] / own).clamp(lo, hi);
        let off = ((x[i] - moved) * own).abs();
        worst = if off > worst || off.is_nan() { off } else { worst };
    }
    if worst.is_nan() { f64::INFINITY } else { worst }
}
