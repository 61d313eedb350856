//! Four matrices of one pattern factorised at once, one to a lane, where all blocks have three rows.

use super::super::kernels::WEAK;
use super::BlockLdlt;
use crate::math::lanes::smaller;
use wide::f64x4;

type Tile = [[f64x4; 3]; 3];

impl BlockLdlt {
    pub fn is_of_threes(&self) -> bool {
        self.columns.iter().all(|c| c.size == 3)
    }

    /// Factorises the matrices in `values`, for [`BlockLdlt::solve_lanes`]: as [`BlockLdlt::factor`] does one, but rows are dropped in
    /// the order in which they come. `below` is working memory. Returns the lanes in which a pivot is so weak that the order
    /// of rows may matter.
    pub fn factor_threes(
        &self,
        values: &mut [f64x4],
        below: &mut Vec<Tile>,
        reference: &[f64x4],
        fraction: f64,
    ) -> [bool; 4] {
        let mut weakest = f64x4::splat(f64::INFINITY);
        for c in &self.columns {
            let inverse = tile(values, c.diagonal);
            let reference = &reference[c.row as usize..c.row as usize + 3];
            let inverse = invert(&inverse, reference, fraction, &mut weakest);
            write(values, c.diagonal, &inverse);
            let blocks = &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize];
            below.clear();
            for b in blocks {
                let above = tile(values, b.tile);
                below.push(above);
                write(values, b.tile, &product(&above, &inverse));
            }
            let mut updates = self.updates[c.updates.0 as usize..c.updates.1 as usize].iter();
            for k in 0..blocks.len() {
                for b in &blocks[k..] {
                    let Some(update) = updates.next() else { break };
                    let (l, mut target) = (tile(values, b.tile), tile(values, update.target));
                    for r in 0..3 {
                        for s in 0..3 {
                            (0..3).for_each(|j| target[r][s] = l[r][j].mul_neg_add(below[k][s][j], target[r][s]));
                        }
                    }
                    write(values, update.target, &target);
                }
            }
        }
        weakest.to_array().map(|w| w.is_nan() || w < WEAK)
    }

    /// [`BlockLdlt::solve_lanes`] with N such factors of four matrices each, side by side: numbers of one wait for each other.
    pub fn solve_threes<const N: usize>(&self, values: [&[f64x4]; N], mut x: [&mut [f64x4]; N]) {
        for c in &self.columns {
            let xj: [Three; N] = std::array::from_fn(|n| three(x[n], c.row));
            for b in &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize] {
                for n in 0..N {
                    let (tile, mut y) = (tile(values[n], b.tile), three(x[n], b.row));
                    (0..3).for_each(|k| (0..3).for_each(|r| y[r] = tile[r][k].mul_neg_add(xj[n][k], y[r])));
                    x[n][b.row as usize..b.row as usize + 3].copy_from_slice(&y);
                }
            }
            for n in 0..N {
                let (inverse, [a, b, d]) = (tile(values[n], c.diagonal), xj[n]);
                let of = |k: usize| inverse[2][k].mul_add(d, inverse[1][k].mul_add(b, inverse[0][k] * a));
                x[n][c.row as usize..c.row as usize + 3].copy_from_slice(&[of(0), of(1), of(2)]);
            }
        }
        for c in self.columns.iter().rev() {
            let mut xj: [Three; N] = std::array::from_fn(|n| three(x[n], c.row));
            for b in &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize] {
                for n in 0..N {
                    let (tile, y) = (tile(values[n], b.tile), three(x[n], b.row));
                    (0..3).for_each(|r| (0..3).for_each(|k| xj[n][k] = tile[r][k].mul_neg_add(y[r], xj[n][k])));
                }
            }
            (0..N).for_each(|n| x[n][c.row as usize..c.row as usize + 3].copy_from_slice(&xj[n]));
        }
    }
}

type Three = [f64x4; 3];

#[inline(always)]
fn three(x: &[f64x4], row: u32) -> Three {
    let part = &x[row as usize..row as usize + 3];
    [part[0], part[1], part[2]]
}

#[inline(always)]
fn tile(values: &[f64x4], at: u32) -> Tile {
    let part = &values[at as usize..at as usize + 9];
    std::array::from_fn(|r| std::array::from_fn(|c| part[3 * r + c]))
}

#[inline(always)]
fn write(values: &mut [f64x4], at: u32, tile: &Tile) {
    let part = &mut values[at as usize..at as usize + 9];
    (0..9).for_each(|k| part[k] = tile[k / 3][k % 3]);
}

#[inline(always)]
fn product(a: &Tile, b: &Tile) -> Tile {
    std::array::from_fn(|r| {
        std::array::from_fn(|c| a[r][0].mul_add(b[0][c], a[r][1].mul_add(b[1][c], a[r][2] * b[2][c])))
    })
}

/// The inverse on the rows whose pivots are at least a `fraction` of their references, zero on the others; notes the weakest pivot by
/// its reference.
#[inline(always)]
fn invert(a: &Tile, reference: &[f64x4], fraction: f64, weakest: &mut f64x4) -> Tile {
    let (zero, one) = (f64x4::splat(0.0), f64x4::splat(1.0));
    let mut inverse_of = |pivot: f64x4, reference: f64x4| {
        let strength = pivot / reference;
        *weakest = smaller(*weakest, strength);
        strength.simd_gt(f64x4::splat(fraction)).select(one / pivot, zero)
    };
    let d0 = inverse_of(a[0][0], reference[0]);
    let (l10, l20) = (a[1][0] * d0, a[2][0] * d0);
    let d1 = inverse_of(l10.mul_neg_add(a[1][0], a[1][1]), reference[1]);
    let l21 = l20.mul_neg_add(a[1][0], a[2][1]) * d1;
    let left = l20.mul_neg_add(a[2][0], a[2][2]);
    let d2 = inverse_of(l21.mul_neg_add(l20.mul_neg_add(a[1][0], a[2][1]), left), reference[2]);
    // L⁻¹, then L⁻ᵀ D⁻¹ L⁻¹
    let (w10, w21) = (-l10, -l21);
    let w20 = l21.mul_add(l10, -l20);
    let (e1, e2) = (w10 * d1, w20 * d2);
    let m00 = w10.mul_add(e1, w20.mul_add(e2, d0));
    let m10 = w21.mul_add(e2, e1);
    let m11 = w21.mul_add(w21 * d2, d1);
    let m21 = w21 * d2;
    [[m00, m10, e2], [m10, m11, m21], [e2, m21, d2]]
}

#[cfg(test)]
mod tests {
    use super::super::{BlockLdlt, symbolic};
    use crate::linalg::BlockPattern;
    use wide::f64x4;

    /// A wheel of joints, each of which meets its neighbours and every third one, as a matrix in lane `l`: A = 30 + XXᵀ in blocks. With `tie`, one
    /// row is the sum of two others in that lane.
    fn fill(factor: &BlockLdlt, pattern: &BlockPattern, l: usize, tie: bool) -> (Vec<f64>, Vec<f64>) {
        let n = pattern.sizes.len();
        let x = |i: usize, c: usize| (1.3 * i as f64 + 0.7 * c as f64 + l as f64).sin();
        let entry = |i: usize, j: usize| {
            let near = (0..4).map(|c| x(i, c) * x(j, c)).sum::<f64>();
            near + if i == j { 30.0 } else { 0.0 }
        };
        let mut values = vec![0.0; factor.factor_entries()];
        let mut put = |i: usize, j: usize| {
            let tile = factor.target(i as u32, j as u32).unwrap() as usize;
            for r in 0..3 {
                for c in 0..3 {
                    values[tile + 3 * r + c] = entry(3 * i + r, 3 * j + c);
                }
            }
        };
        (0..n).for_each(|k| put(k, k));
        pattern.pairs.iter().for_each(|&(i, j)| put(i as usize, j as usize));
        if tie {
            // the last row of the first block is the sum of the others
            let d = factor.target(0, 0).unwrap() as usize;
            (values[d + 6], values[d + 7]) = (values[d] + values[d + 3], values[d + 1] + values[d + 4]);
            (values[d + 2], values[d + 5]) = (values[d + 6], values[d + 7]);
            values[d + 8] = values[d + 6] + values[d + 7];
        }
        let reference = (0..3 * n).map(|k| entry(k, k)).collect();
        (values, reference)
    }

    #[test]
    fn four_matrices_at_once_are_factorised_as_one_by_one() {
        let n = 9_u32;
        let pairs = (0..n)
            .flat_map(|i| (0..i).filter(move |j| i - j == 1 || i - j == 3 || i - j == n - 1).map(move |j| (i, j)));
        let pattern = BlockPattern { sizes: vec![3; n as usize], pairs: pairs.collect() };
        let mut factor = BlockLdlt::new(&pattern.sizes, &symbolic(&pattern));
        let systems: [(Vec<f64>, Vec<f64>); 4] = std::array::from_fn(|l| fill(&factor, &pattern, l, false));
        let lanes =
            |of: [&[f64]; 4]| -> Vec<f64x4> { (0..of[0].len()).map(|k| f64x4::new(of.map(|v| v[k]))).collect() };
        let mut values = lanes(systems.each_ref().map(|s| &s.0[..]));
        let reference = lanes(systems.each_ref().map(|s| &s.1[..]));
        let weak = factor.factor_threes(&mut values, &mut Vec::new(), &reference, 1e-6);
        assert_eq!(weak, [false; 4]);
        let rhs: Vec<f64> = (0..27).map(|k| (0.37 * k as f64).cos()).collect();
        let mut together: Vec<f64x4> = rhs.iter().map(|r| f64x4::splat(*r)).collect();
        let mut twice = [together.clone(), together.clone()];
        factor.solve_lanes(&values, &mut together);
        factor.solve_threes([&values, &values], twice.each_mut().map(|x| &mut x[..]));
        assert_eq!(twice, [together.clone(), together.clone()]);
        for (l, (values, reference)) in systems.iter().enumerate() {
            factor.values_mut().copy_from_slice(values);
            factor.factor(reference, 1e-6);
            let mut alone = rhs.clone();
            factor.solve(&mut alone);
            for (a, b) in alone.iter().zip(&together) {
                assert!((a - b.to_array()[l]).abs() < 1e-12, "{a} and {} in lane {l}", b.to_array()[l]);
            }
        }
    }

    #[test]
    fn a_lane_with_a_redundant_row_is_told_and_leaves_the_others_alone() {
        let pattern = BlockPattern { sizes: vec![3; 2], pairs: Vec::new() };
        let factor = BlockLdlt::new(&pattern.sizes, &symbolic(&pattern));
        let systems: [(Vec<f64>, Vec<f64>); 4] = std::array::from_fn(|l| fill(&factor, &pattern, l, l == 2));
        let of = |k: usize| f64x4::new(systems.each_ref().map(|s| s.0[k]));
        let mut values: Vec<f64x4> = (0..systems[0].0.len()).map(of).collect();
        let reference: Vec<f64x4> = (0..6).map(|k| f64x4::new(systems.each_ref().map(|s| s.1[k]))).collect();
        assert_eq!(factor.factor_threes(&mut values, &mut Vec::new(), &reference, 1e-6), [false, false, true, false]);
        let mut x: Vec<f64x4> = vec![f64x4::splat(1.0); 6];
        factor.solve_lanes(&values, &mut x);
        assert_eq!(x[2].to_array()[2], 0.0, "the row that others imply has no impulse");
        assert!(x.iter().all(|x| x.is_finite().all()));
    }
}
