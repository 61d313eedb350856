//! The system of one joint: up to six rows against its own bodies' inertia, inverted.

use crate::joint::MAX_ROWS;

pub(super) type Rows = [f64; MAX_ROWS];
pub(super) type Square = [Rows; MAX_ROWS];

pub(super) const ZERO: Square = [[0.0; MAX_ROWS]; MAX_ROWS];

/// A pivot below this fraction of its rows' scale is one that the other rows of the joint imply.
const IMPLIED: f64 = 1e-9;

/// Inverts the leading `n` rows of `a`. `scale` is the size of each row's diagonal, by which metres and radians are made
/// comparable. Rows that others imply get no answer: their rows and columns are zero.
///
/// Gauss and Jordan with full pivoting: the matrix of a Newton step is not symmetric.
pub(super) fn inverse(a: &Square, n: usize, scale: &Rows) -> Square {
    let mut root = [0.0; MAX_ROWS];
    for k in 0..n {
        root[k] = if scale[k] > 0.0 { 1.0 / scale[k].sqrt() } else { 0.0 };
    }
    let mut left = ZERO;
    let mut right = ZERO;
    for i in 0..n {
        for k in 0..n {
            left[i][k] = a[i][k] * root[i] * root[k];
        }
        right[i][i] = 1.0;
    }
    // which row each unknown was solved from
    let (mut row_of, mut used) = ([usize::MAX; MAX_ROWS], [false; MAX_ROWS]);
    for _ in 0..n {
        let (mut pivot, mut at) = (IMPLIED, None);
        for i in (0..n).filter(|&i| !used[i]) {
            for k in (0..n).filter(|&k| row_of[k] == usize::MAX) {
                if left[i][k].abs() > pivot {
                    (pivot, at) = (left[i][k].abs(), Some((i, k)));
                }
            }
        }
        let Some((i, k)) = at else { break };
        (used[i], row_of[k]) = (true, i);
        let over = 1.0 / left[i][k];
        for c in 0..n {
            left[i][c] *= over;
            right[i][c] *= over;
        }
        for r in (0..n).filter(|&r| r != i) {
            let part = left[r][k];
            if part != 0.0 {
                for c in 0..n {
                    left[r][c] -= part * left[i][c];
                    right[r][c] -= part * right[i][c];
                }
            }
        }
    }
    let mut out = ZERO;
    for k in (0..n).filter(|&k| row_of[k] != usize::MAX) {
        for c in (0..n).filter(|&c| used[c]) {
            out[k][c] = right[row_of[k]][c] * root[k] * root[c];
        }
    }
    out
}

/// The product of the leading `n` rows with a vector.
#[inline]
pub(super) fn times(a: &Square, n: usize, v: &Rows) -> Rows {
    let mut out = [0.0; MAX_ROWS];
    for (o, row) in out.iter_mut().zip(a).take(n) {
        *o = row[..n].iter().zip(v).map(|(a, v)| a * v).sum();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_a_matrix_that_is_not_symmetric() {
        let mut a = ZERO;
        for i in 0..6 {
            for k in 0..6 {
                a[i][k] = ((7 * i + 3 * k) % 11) as f64 - 4.0 + if i == k { 9.0 } else { 0.0 };
            }
        }
        let inverse = inverse(&a, 6, &[9.0, 1e-3, 9.0, 1e4, 9.0, 1.0]);
        for k in 0..6 {
            let mut unit = [0.0; 6];
            unit[k] = 1.0;
            let back = times(&inverse, 6, &times(&a, 6, &unit));
            for i in 0..6 {
                assert!((back[i] - unit[i]).abs() < 1e-10, "{i} {k}: {back:?}");
            }
        }
    }

    #[test]
    fn a_row_that_another_implies_gets_no_answer() {
        // rows 0 and 2 are the same
        let a = |i: usize, k: usize| [[2.0, 0.5, 2.0], [0.5, 3.0, 0.5], [2.0, 0.5, 2.0]][i][k];
        let mut m = ZERO;
        (0..9).for_each(|e| m[e / 3][e % 3] = a(e / 3, e % 3));
        let inverse = inverse(&m, 3, &[2.0, 3.0, 2.0, 0.0, 0.0, 0.0]);
        let wanted = [1.0, -1.0, 1.0, 0.0, 0.0, 0.0];
        let met = times(&m, 3, &times(&inverse, 3, &wanted));
        (0..3).for_each(|k| assert!((met[k] - wanted[k]).abs() < 1e-12, "{met:?}"));
        assert!(inverse[2] == [0.0; 6] || inverse[0] == [0.0; 6]);
    }
}
