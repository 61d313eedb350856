//! Anderson acceleration of a fixed-point iteration p ← p + f(p): the step that the last few residuals predict to be best.
//!
//! The modified Newton iteration of the accurate step converges linearly; its slow part lies in few directions (a fast
//! tip, a near-singular pose), and a few past residuals are enough to take it out (Walker and Ni 2011).

/// Past residuals kept; more did not help on any scene.
const DEPTH: usize = 4;
/// A past residual that adds less than this to the others is left out.
const INDEPENDENT: f64 = 1e-8;

#[derive(Default)]
pub(super) struct Anderson {
    residual_change: [Vec<f64>; DEPTH],
    step_change: [Vec<f64>; DEPTH],
    last_residual: Vec<f64>,
    last_step: Vec<f64>,
    /// Products of the residual changes with each other.
    gram: [[f64; DEPTH]; DEPTH],
    /// How many iterations have been seen since the start.
    seen: usize,
}

impl Anderson {
    pub fn new(rows: usize) -> Self {
        Anderson {
            residual_change: std::array::from_fn(|_| vec![0.0; rows]),
            step_change: std::array::from_fn(|_| vec![0.0; rows]),
            last_residual: vec![0.0; rows],
            last_step: vec![0.0; rows],
            gram: [[0.0; DEPTH]; DEPTH],
            seen: 0,
        }
    }

    /// Begins a new iteration.
    pub fn restart(&mut self) {
        self.seen = 0;
    }

    /// Turns the plain step `f` into the accelerated one. `weight` makes the entries comparable.
    pub fn accelerate(&mut self, f: &mut [f64], weight: &[f64]) {
        if self.seen > 0 {
            let slot = (self.seen - 1) % DEPTH;
            for k in 0..f.len() {
                self.residual_change[slot][k] = f[k] - self.last_residual[k];
                self.step_change[slot][k] = self.last_step[k];
            }
            for other in 0..self.seen.min(DEPTH) {
                let product = weighted_product(&self.residual_change[slot], &self.residual_change[other], weight);
                (self.gram[slot][other], self.gram[other][slot]) = (product, product);
            }
        }
        self.last_residual.copy_from_slice(f);
        let count = self.seen.min(DEPTH);
        let gamma = self.coefficients(f, weight, count);
        for (slot, &g) in gamma.iter().enumerate().take(count) {
            if g != 0.0 {
                let (df, ds) = (&self.residual_change[slot], &self.step_change[slot]);
                for k in 0..f.len() {
                    f[k] -= g * (ds[k] + df[k]);
                }
            }
        }
        self.last_step.copy_from_slice(f);
        self.seen += 1;
    }

    /// Least squares min |f − ΔF γ| by normal equations on columns scaled to unit length.
    fn coefficients(&self, f: &[f64], weight: &[f64], count: usize) -> [f64; DEPTH] {
        let mut scale = [0.0; DEPTH];
        let mut a = [[0.0; DEPTH]; DEPTH];
        let mut x = [0.0; DEPTH];
        for i in 0..count {
            let norm = self.gram[i][i].sqrt();
            scale[i] = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            for j in 0..=i {
                a[i][j] = self.gram[i][j] * scale[i] * scale[j];
            }
            x[i] = weighted_product(&self.residual_change[i], f, weight) * scale[i];
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

/// Σ |w| a b, in four sums so that the compiler can keep four lanes busy.
fn weighted_product(a: &[f64], b: &[f64], weight: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b.as_chunks::<4>();
    let (w4, w1) = weight.as_chunks::<4>();
    for ((a, b), w) in a4.iter().zip(b4).zip(w4) {
        for k in 0..4 {
            sums[k] += w[k].abs() * a[k] * b[k];
        }
    }
    let rest: f64 = a1.iter().zip(b1).zip(w1).map(|((a, b), w)| w.abs() * a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
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
            anderson.accelerate(&mut f, &vec![1.0; n]);
            p.iter_mut().zip(&f).for_each(|(p, f)| *p += f);
        }
        for k in 0..n {
            assert!((p[k] - b[k] / eigenvalue(k)).abs() < 1e-9 * b[k] / eigenvalue(k), "{k}: {}", p[k]);
        }
    }
}
