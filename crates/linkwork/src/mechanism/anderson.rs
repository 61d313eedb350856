//! Anderson acceleration of a fixed-point iteration p ← p + f(p): the step that the last few residuals predict to be best.
//!
//! The modified Newton iteration of the accurate step converges linearly; its slow part lies in few directions (a fast
//! tip, a near-singular pose), and a few past residuals are enough to take it out (Walker and Ni 2011).

use crate::math::multiply_add;

/// Past residuals kept; more did not help on any scene.
const DEPTH: usize = 4;
/// A past residual that adds less than this to the others is left out.
const INDEPENDENT: f64 = 1e-8;

/// Products of the residual changes with each other and with the present residual.
#[derive(Clone, Copy, Debug, Default)]
struct Products {
    gram: [[f64; DEPTH]; DEPTH],
    with_residual: [f64; DEPTH],
}

#[derive(Default)]
pub(super) struct Anderson {
    products: Products,
    residual_change: [Vec<f64>; DEPTH],
    /// Changes of what the iteration arrives at, p + f(p).
    arrival_change: [Vec<f64>; DEPTH],
    last_residual: Vec<f64>,
    last_step: Vec<f64>,
    /// How many iterations have been seen since the start.
    seen: usize,
}

impl Anderson {
    pub fn new(rows: usize) -> Self {
        Anderson {
            residual_change: std::array::from_fn(|_| vec![0.0; rows]),
            arrival_change: std::array::from_fn(|_| vec![0.0; rows]),
            last_residual: vec![0.0; rows],
            last_step: vec![0.0; rows],
            ..Anderson::default()
        }
    }

    /// Begins a new iteration.
    pub fn restart(&mut self) {
        self.seen = 0;
    }

    /// Turns the plain step `f` into the accelerated one and adds it to `p`. `weight` makes the entries comparable.
    pub fn accelerate(&mut self, f: &mut [f64], weight: &[f64], p: &mut [f64]) {
        let count = self.seen.min(DEPTH);
        if self.seen > 0 {
            let slot = (self.seen - 1) % DEPTH;
            let (change, arrival) = (&mut self.residual_change[slot], &mut self.arrival_change[slot]);
            let last = self.last_residual.iter_mut().zip(&self.last_step);
            for (((f, change), arrival), (last, step)) in f.iter().zip(change).zip(arrival).zip(last) {
                *change = f - *last;
                *arrival = step + *change;
                *last = *f;
            }
            let columns = self.residual_change.each_ref().map(Vec::as_slice);
            self.products.renew(slot, &columns[..count], f, weight);
        } else {
            self.last_residual.copy_from_slice(f);
        }
        let gamma = self.products.coefficients(count);
        let step = &mut self.last_step;
        match self.arrival_change.each_ref().map(Vec::as_slice) {
            [a, ..] if count == 1 => take_out([a], &gamma, f, step, p),
            [a, b, ..] if count == 2 => take_out([a, b], &gamma, f, step, p),
            [a, b, c, ..] if count == 3 => take_out([a, b, c], &gamma, f, step, p),
            all if count == DEPTH => take_out(all, &gamma, f, step, p),
            _ => take_out([], &gamma, f, step, p),
        }
        self.seen += 1;
    }
}

impl Products {
    /// Takes over a new change, that in `slot`, and a new residual.
    fn renew(&mut self, slot: usize, columns: &[&[f64]], residual: &[f64], weight: &[f64]) {
        let (with_new, with_residual) = match *columns {
            [a] => weighted_products([a], slot, residual, weight),
            [a, b] => weighted_products([a, b], slot, residual, weight),
            [a, b, c] => weighted_products([a, b, c], slot, residual, weight),
            [a, b, c, d] => weighted_products([a, b, c, d], slot, residual, weight),
            _ => Default::default(),
        };
        for other in 0..columns.len() {
            (self.gram[slot][other], self.gram[other][slot]) = (with_new[other], with_new[other]);
        }
        self.with_residual = with_residual;
    }

    /// Least squares min |f − ΔF γ| by normal equations on columns scaled to unit length.
    fn coefficients(&self, count: usize) -> [f64; DEPTH] {
        let mut scale = [0.0; DEPTH];
        let mut a = [[0.0; DEPTH]; DEPTH];
        let mut x = [0.0; DEPTH];
        for i in 0..count {
            let norm = self.gram[i][i].sqrt();
            scale[i] = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            for j in 0..=i {
                a[i][j] = self.gram[i][j] * scale[i] * scale[j];
            }
            x[i] = self.with_residual[i] * scale[i];
        }
        // LDLᵀ, dependent columns left out
        let mut d = [0.0; DEPTH];
        for k in 0..count {
            d[k] = a[k][k] - (0..k).map(|s| a[k][s] * a[k][s] * d[s]).sum::<f64>();
            if d[k] <= INDEPENDENT {
                d[k] = 0.0;
            }
            for i in k + 1..count {
                let e = a[i][k] - (0..k).map(|s| a[i][s] * a[k][s] * d[s]).sum::<f64>();
                a[i][k] = if d[k] > 0.0 { e / d[k] } else { 0.0 };
            }
        }
        for i in 0..count {
            for s in 0..i {
                x[i] -= a[i][s] * x[s];
            }
        }
        for i in (0..count).rev() {
            x[i] = if d[i] > 0.0 { x[i] / d[i] } else { 0.0 };
            for s in i + 1..count {
                if d[i] > 0.0 {
                    x[i] -= a[s][i] * x[s];
                }
            }
        }
        for i in 0..count {
            x[i] *= scale[i];
        }
        x
    }
}

/// Numbers that are worked on together.
const LANES: usize = 4;

/// Σ |w| c_slot c_i and Σ |w| f c_i over all columns c_i at once: every number is read once.
#[inline(always)]
fn weighted_products<const N: usize>(
    columns: [&[f64]; N],
    slot: usize,
    f: &[f64],
    weight: &[f64],
) -> ([f64; DEPTH], [f64; DEPTH]) {
    let (mut with_new, mut with_residual) = ([[0.0; LANES]; N], [[0.0; LANES]; N]);
    let whole = f.len() / LANES;
    let (w4, f4) = (&weight.as_chunks::<LANES>().0[..whole], &f.as_chunks::<LANES>().0[..whole]);
    let columns4 = columns.map(|column| &column.as_chunks::<LANES>().0[..whole]);
    for chunk in 0..whole {
        let (w, residual, new) = (w4[chunk].map(f64::abs), f4[chunk], columns4[slot][chunk]);
        for (i, column) in columns4.iter().enumerate() {
            for k in 0..LANES {
                with_new[i][k] = multiply_add(w[k] * new[k], column[chunk][k], with_new[i][k]);
                with_residual[i][k] = multiply_add(w[k] * residual[k], column[chunk][k], with_residual[i][k]);
            }
        }
    }
    for row in LANES * whole..f.len() {
        let w = weight[row].abs();
        for (i, column) in columns.iter().enumerate() {
            with_new[i][0] = multiply_add(w * columns[slot][row], column[row], with_new[i][0]);
            with_residual[i][0] = multiply_add(w * f[row], column[row], with_residual[i][0]);
        }
    }
    let total = |lanes: &[[f64; LANES]; N]| {
        let mut sums = [0.0; DEPTH];
        for (sum, l) in sums.iter_mut().zip(lanes) {
            *sum = (l[0] + l[1]) + (l[2] + l[3]);
        }
        sums
    };
    (total(&with_new), total(&with_residual))
}

/// f −= Σ γ_i c_i, kept as the step, and added to p.
#[inline(always)]
fn take_out<const N: usize>(
    columns: [&[f64]; N],
    gamma: &[f64; DEPTH],
    f: &mut [f64],
    step: &mut [f64],
    p: &mut [f64],
) {
    let rows = f.len();
    let (columns, step, p) = (columns.map(|column| &column[..rows]), &mut step[..rows], &mut p[..rows]);
    for k in 0..rows {
        let mut e = f[k];
        for i in 0..N {
            e = multiply_add(-gamma[i], columns[i][k], e);
        }
        (f[k], step[k]) = (e, e);
        p[k] += e;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_iteration_of_few_slow_directions_ends_in_their_number_of_steps() {
        // p ← p + (b − B p) with B = 1 but for three eigenvalues
        let n = 12;
        let eigenvalue = |k: usize| [0.2, 0.4, 1.7].get(k).copied().unwrap_or(1.0);
        let b: Vec<f64> = (0..n).map(|k| 1.0 + k as f64).collect();
        let mut p = vec![0.0; n];
        let mut anderson = Anderson::new(n);
        for _ in 0..6 {
            let mut f: Vec<f64> = (0..n).map(|k| b[k] - eigenvalue(k) * p[k]).collect();
            anderson.accelerate(&mut f, &vec![1.0; n], &mut p);
        }
        for k in 0..n {
            assert!((p[k] - b[k] / eigenvalue(k)).abs() < 1e-9 * b[k] / eigenvalue(k), "{k}: {}", p[k]);
        }
    }

    #[test]
    fn products_of_all_columns_at_once_are_those_of_each() {
        let wave = |k: usize, a: f64| (a * k as f64).sin();
        for rows in [1, 4, 7, 45] {
            let columns: Vec<Vec<f64>> = (0..4).map(|i| (0..rows).map(|k| wave(k, 0.3 + i as f64)).collect()).collect();
            let (f, weight): (Vec<f64>, Vec<f64>) = (0..rows).map(|k| (wave(k, 1.7), wave(k, 2.3))).unzip();
            let all = [&columns[0][..], &columns[1], &columns[2], &columns[3]];
            let (with_new, with_residual) = weighted_products(all, 2, &f, &weight);
            let plain = |a: &[f64], b: &[f64]| (0..rows).map(|k| weight[k].abs() * a[k] * b[k]).sum::<f64>();
            for i in 0..4 {
                assert!((with_new[i] - plain(&columns[2], &columns[i])).abs() < 1e-13 * rows as f64);
                assert!((with_residual[i] - plain(&f, &columns[i])).abs() < 1e-13 * rows as f64);
            }
        }
    }
}
