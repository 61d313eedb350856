//! Small dense linear algebra for oracles: nothing here is shared with the engine.

/// Solves the square system by Gaussian elimination with complete row pivoting; `None` if it is singular.
pub fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        if a[pivot][k].abs() < 1e-12 {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            if factor != 0.0 {
                for j in k..n {
                    a[i][j] -= factor * a[k][j];
                }
                b[i] -= factor * b[k];
            }
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            b[k] -= a[k][j] * b[j];
        }
        b[k] /= a[k][k];
    }
    Some(b)
}

/// A least-squares solution of a symmetric positive semidefinite system, by Jacobi's eigenvalues: small ones are left out.
/// `None` if it is not clear which are small.
pub fn solve_semidefinite(mut a: Vec<Vec<f64>>, b: &[f64]) -> Option<Vec<f64>> {
    let n = b.len();
    let mut v: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let scale = (0..n).map(|i| a[i][i]).fold(0.0, f64::max);
    for _ in 0..100 {
        let mut off = 0.0_f64;
        for p in 0..n {
            for q in p + 1..n {
                off = off.max(a[p][q].abs());
                if a[p][q].abs() < 1e-18 * scale {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k][p], a[k][q]);
                    (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[k][p], v[k][q]);
                    (v[k][p], v[k][q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
        if off < 1e-17 * scale {
            break;
        }
    }
    let largest = (0..n).map(|i| a[i][i]).fold(0.0, f64::max);
    if (0..n).any(|k| (1e-12..1e-4).contains(&(a[k][k] / largest))) {
        return None;
    }
    let mut x = vec![0.0; n];
    for k in 0..n {
        if a[k][k] > 1e-8 * largest {
            let part: f64 = (0..n).map(|i| v[i][k] * b[i]).sum::<f64>() / a[k][k];
            for i in 0..n {
                x[i] += part * v[i][k];
            }
        }
    }
    Some(x)
}
