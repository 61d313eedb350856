//! min ½xᵀWx + bᵀx with lo ≤ x ≤ hi: the impulses of limits, dry friction and force-limited motors, whose row velocities are v = Wx + b.
//!
//! W is symmetric positive semidefinite and small (one row per such row of a mechanism). Projected sweeps find most of the
//! active set, a primal active-set method finishes it exactly.

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BoxSolution {
    pub sweeps: u32,
    /// Largest violation of the optimality conditions, in units of v.
    pub residual: f64,
}

/// Working memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoxScratch {
    v: Vec<f64>,
    free: Vec<usize>,
    matrix: Vec<f64>,
    step: Vec<f64>,
}

impl BoxScratch {
    /// For problems of up to `n` rows.
    pub fn new(n: usize) -> Self {
        let row = || Vec::with_capacity(n);
        BoxScratch { v: row(), free: Vec::with_capacity(n), matrix: Vec::with_capacity(n * n), step: row() }
    }
}

const SWEEPS: u32 = 8;

/// Solves in place from the guess `x`; `w` is n×n. Stops at a residual of `tolerance` (in v's unit) at the latest round-off permits.
pub(crate) fn solve(
    w: &[f64],
    b: &[f64],
    lo: &[f64],
    hi: &[f64],
    x: &mut [f64],
    tolerance: f64,
    scratch: &mut BoxScratch,
) -> BoxSolution {
    let n = b.len();
    let mut solution = BoxSolution::default();
    for i in 0..n {
        x[i] = x[i].clamp(lo[i], hi[i]);
    }
    for _ in 0..SWEEPS {
        for i in 0..n {
            let d = w[i * n + i];
            if d > 0.0 {
                let v = row_velocity(w, b, x, i);
                x[i] = (x[i] - v / d).clamp(lo[i], hi[i]);
            }
        }
        solution.sweeps += 1;
    }
    for _ in 0..(4 * n + 20) {
        scratch.v.clear();
        scratch.v.extend((0..n).map(|i| row_velocity(w, b, x, i)));
        solution.residual = residual(&scratch.v, lo, hi, x);
        if solution.residual <= tolerance {
            break;
        }
        // free: strictly inside, or at a bound that the velocity wants to leave
        scratch.free.clear();
        for i in 0..n {
            let v = scratch.v[i];
            let held = (x[i] <= lo[i] && v >= 0.0) || (x[i] >= hi[i] && v <= 0.0);
            if !held && lo[i] < hi[i] && w[i * n + i] > 0.0 {
                scratch.free.push(i);
            }
        }
        if scratch.free.is_empty() {
            break;
        }
        newton_step(w, n, scratch);
        // as far as the first bound
        let mut fraction = 1.0_f64;
        for (k, &i) in scratch.free.iter().enumerate() {
            let d = scratch.step[k];
            let room = if d < 0.0 { lo[i] - x[i] } else { hi[i] - x[i] };
            if d != 0.0 && room / d < fraction {
                fraction = (room / d).max(0.0);
            }
        }
        for (k, &i) in scratch.free.iter().enumerate() {
            x[i] = (x[i] + fraction * scratch.step[k]).clamp(lo[i], hi[i]);
        }
        if fraction == 0.0 {
            // a bound stands in the way at once: one sweep moves the active set on
            for i in 0..n {
                if w[i * n + i] > 0.0 {
                    let v = row_velocity(w, b, x, i);
                    x[i] = (x[i] - v / w[i * n + i]).clamp(lo[i], hi[i]);
                }
            }
        }
        solution.sweeps += 1;
    }
    solution
}

fn row_velocity(w: &[f64], b: &[f64], x: &[f64], i: usize) -> f64 {
    let n = b.len();
    b[i] + w[i * n..(i + 1) * n].iter().zip(x).map(|(a, x)| a * x).sum::<f64>()
}

fn residual(v: &[f64], lo: &[f64], hi: &[f64], x: &[f64]) -> f64 {
    let mut worst = 0.0_f64;
    for i in 0..v.len() {
        let r = match (x[i] <= lo[i], x[i] >= hi[i]) {
            (true, true) => 0.0,
            (true, false) => (-v[i]).max(0.0),
            (false, true) => v[i].max(0.0),
            (false, false) => v[i].abs(),
        };
        worst = worst.max(r);
    }
    worst
}

/// Newton's step on the free rows by LDLᵀ; rows that others imply stay where they are.
fn newton_step(w: &[f64], n: usize, scratch: &mut BoxScratch) {
    let m = scratch.free.len();
    scratch.matrix.clear();
    for &i in &scratch.free {
        scratch.matrix.extend(scratch.free.iter().map(|&j| w[i * n + j]));
    }
    scratch.step.clear();
    scratch.step.extend(scratch.free.iter().map(|&i| -scratch.v[i]));
    let (a, x) = (&mut scratch.matrix, &mut scratch.step);
    for k in 0..m {
        let scale = w[scratch.free[k] * n + scratch.free[k]];
        let pivot = a[k * m + k];
        if pivot <= super::DROP_FRACTIONS[2] * scale {
            a[k * m + k] = 0.0;
            for i in k + 1..m {
                a[i * m + k] = 0.0;
            }
            continue;
        }
        for i in k + 1..m {
            let l = a[i * m + k] / pivot;
            for j in k + 1..=i {
                a[i * m + j] -= l * a[j * m + k];
            }
        }
        for i in k + 1..m {
            a[i * m + k] /= pivot;
        }
    }
    for k in 0..m {
        for i in k + 1..m {
            x[i] -= a[i * m + k] * x[k];
        }
    }
    for k in (0..m).rev() {
        let pivot = a[k * m + k];
        let mut s = if pivot > 0.0 { x[k] / pivot } else { 0.0 };
        if pivot > 0.0 {
            for i in k + 1..m {
                s -= a[i * m + k] * x[i];
            }
        }
        x[k] = s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimality_conditions_hold_on_random_problems_also_rank_deficient_ones() {
        let mut state = 7_u64;
        let mut noise = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 11) as f64) / (1_u64 << 52) as f64 - 1.0
        };
        let mut scratch = BoxScratch::default();
        for case in 0..500 {
            let n = 1 + case % 13;
            let rank = if case % 3 == 0 { n } else { 1 + n / 2 };
            let g: Vec<Vec<f64>> = (0..n).map(|_| (0..rank).map(|_| noise()).collect()).collect();
            let w: Vec<f64> = (0..n * n).map(|k| g[k / n].iter().zip(&g[k % n]).map(|(a, b)| a * b).sum()).collect();
            let b: Vec<f64> = (0..n).map(|_| 3.0 * noise()).collect();
            let lo: Vec<f64> = (0..n).map(|_| -noise().abs()).collect();
            let hi: Vec<f64> = (0..n).map(|_| noise().abs()).collect();
            let mut x = vec![0.0; n];
            let solution = solve(&w, &b, &lo, &hi, &mut x, 1e-10, &mut scratch);
            assert!(solution.residual < 1e-9, "case {case}: {solution:?}");
        }
    }
}
