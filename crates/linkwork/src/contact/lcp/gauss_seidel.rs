//! Projected Gauss–Seidel: every row in turn takes the force that would satisfy it alone, cut to its bounds.

use super::{Failure, Problem, Solution, dot, residual};

/// How often the residual is looked at, in sweeps: it costs as much as one.
const LOOK: usize = 8;

/// Sweeps from a guess until the residual is below `tolerance` (units of w), at most `sweeps` times.
pub fn gauss_seidel(problem: &Problem, guess: &[f64], sweeps: usize, tolerance: f64) -> Result<Solution, Failure> {
    problem.check()?;
    let n = problem.rows();
    let mut x = if guess.len() == n { guess.to_vec() } else { vec![0.0; n] };
    for sweep in 1..=sweeps {
        for i in 0..n {
            let row = &problem.a[i * n..(i + 1) * n];
            let own = row[i];
            let (lo, hi) = problem.range(i, &x);
            let w = problem.b[i] + dot(row, &x);
            if own <= 0.0 {
                // nothing answers here: a velocity that is not zero belongs to a bound, if there is one
                let bound = if w > 0.0 { lo } else { hi };
                x[i] = if w != 0.0 && bound.is_finite() { bound } else { x[i].clamp(lo, hi) };
                continue;
            }
            x[i] = (x[i] - w / own).clamp(lo, hi);
        }
        if sweep % LOOK == 0 || sweep == sweeps {
            let left = residual(problem, &x);
            if left <= tolerance {
                return Ok(Solution { x, residual: left, iterations: sweep });
            }
        }
    }
    let residual = residual(problem, &x);
    Err(Failure::NotConverged { best: Solution { x, residual, iterations: sweeps } })
}
