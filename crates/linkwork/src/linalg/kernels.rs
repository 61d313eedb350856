//! Small dense kernels with the sizes known to the compiler: blocks of 1 to 6 rows.

use crate::math::multiply_add;

/// Runs `$body` with `$M` a constant equal to `$m` (1 to 6).
macro_rules! with_size {
    ($m:expr, $M:ident => $body:expr) => {
        match $m {
            1 => {
                const $M: usize = 1;
                $body
            }
            2 => {
                const $M: usize = 2;
                $body
            }
            3 => {
                const $M: usize = 3;
                $body
            }
            4 => {
                const $M: usize = 4;
                $body
            }
            5 => {
                const $M: usize = 5;
                $body
            }
            _ => {
                const $M: usize = 6;
                $body
            }
        }
    };
}
pub(crate) use with_size;

/// c (MI×MK) −= l (MI×MJ) · bt (MJ×MK), all row by row. Not by fused multiply–adds: those round two equal products apart, and
/// of pivots that should vanish something is left (scissor-lift of 220 pairs: a redundant row was missed).
pub(crate) type UpdateKernel = fn(&mut [f64], &[f64], &[f64]);

fn update<const MI: usize, const MJ: usize, const MK: usize, const FUSED: bool>(c: &mut [f64], l: &[f64], bt: &[f64]) {
    let (c, _) = c.as_chunks_mut::<MK>();
    let (l, _) = l.as_chunks::<MJ>();
    let (bt, _) = bt.as_chunks::<MK>();
    let (c, l, bt) = (&mut c[..MI], &l[..MI], &bt[..MJ]);
    for i in 0..MI {
        let mut row = c[i];
        for j in 0..MJ {
            for k in 0..MK {
                row[k] = match FUSED {
                    true => multiply_add(-l[i][j], bt[j][k], row[k]),
                    false => row[k] - l[i][j] * bt[j][k],
                };
            }
        }
        c[i] = row;
    }
}

/// The update kernel for given block sizes.
pub(crate) fn update_kernel(mi: u8, mj: u8, mk: u8) -> UpdateKernel {
    with_size!(mi, MI => with_size!(mj, MJ => with_size!(mk, MK => update::<MI, MJ, MK, false>)))
}

/// The same by fused multiply–adds, which are faster, for the blocks of particles, one or two to a block.
pub(crate) fn fused_update_kernel(mi: u8, mj: u8, mk: u8) -> UpdateKernel {
    match (mi, mj, mk) {
        (3, 3, 3) => update::<3, 3, 3, true>,
        (3, 3, 6) => update::<3, 3, 6, true>,
        (3, 6, 3) => update::<3, 6, 3, true>,
        (3, 6, 6) => update::<3, 6, 6, true>,
        (6, 3, 3) => update::<6, 3, 3, true>,
        (6, 3, 6) => update::<6, 3, 6, true>,
        (6, 6, 3) => update::<6, 6, 3, true>,
        (6, 6, 6) => update::<6, 6, 6, true>,
        _ => update_kernel(mi, mj, mk),
    }
}

/// tile (N×M, row by row) ← tile · inverse, with the tile's transpose kept in `bt`.
pub(crate) type PanelKernel = fn(&mut [f64], &[f64], &mut [f64]);

fn divide_panel<const N: usize, const M: usize>(tile: &mut [f64], inverse: &[f64], bt: &mut [f64]) {
    let (tile, _) = tile.as_chunks_mut::<M>();
    let (inverse, _) = inverse.as_chunks::<M>();
    let (bt, _) = bt.as_chunks_mut::<N>();
    let (tile, inverse, bt) = (&mut tile[..N], &inverse[..M], &mut bt[..M]);
    for r in 0..N {
        let line = tile[r];
        let mut out = [0.0; M];
        for s in 0..M {
            bt[s][r] = line[s];
            for k in 0..M {
                out[k] += line[s] * inverse[s][k];
            }
        }
        tile[r] = out;
    }
}

/// The panel kernel for a row block of n rows in a column of m.
pub(crate) fn panel_kernel(n: u8, m: u8) -> PanelKernel {
    with_size!(n, N => with_size!(m, M => divide_panel::<N, M>))
}

/// A pivot that is kept below this part of its reference is looked at again: others may do without its row.
pub(super) const WEAK: f64 = 1e-4;

/// Replaces the symmetric block `a` by its inverse on its independent rows, zero on the others: scalar LDLᵀ in which a pivot below
/// `fraction` of its reference, or of the other sign, is dropped (its impulse is zero). Returns the mask of dropped rows.
///
/// Where a pivot is weak the strongest rows go first. Of the three rows that close a flat loop two count; if the third came
/// early, tilted by a thousandth out of its plane, it would be kept, and what holds the loop in its plane dropped.
pub(crate) fn invert_dropping<const M: usize>(a: &mut [f64], reference: &[f64], fraction: f64) -> u8 {
    let (a, _) = a.as_chunks_mut::<M>();
    let (a, reference): (&mut [[f64; M]; M], &[f64; M]) =
        (a.first_chunk_mut().expect("M lines"), reference.first_chunk().expect("M references"));
    let in_order = Scalars::of(a, reference, fraction);
    if !in_order.weak {
        in_order.invert(a);
        return in_order.dropped;
    }
    let order = strongest_first(*a, reference);
    let mut sorted = order.map(|i| order.map(|j| a[i][j]));
    let scalars = Scalars::of(&sorted, &order.map(|k| reference[k]), fraction);
    scalars.invert(&mut sorted);
    let mut dropped = 0;
    for (i, &row) in order.iter().enumerate() {
        dropped |= (scalars.dropped >> i & 1) << row;
        order.iter().enumerate().for_each(|(j, &column)| a[row][column] = sorted[i][j]);
    }
    dropped
}

/// The rows of a symmetric block in the order of their pivots relative to their references, the largest of all that remain first.
fn strongest_first<const M: usize>(mut a: [[f64; M]; M], reference: &[f64; M]) -> [usize; M] {
    let mut order: [usize; M] = std::array::from_fn(|k| k);
    for k in 0..M {
        let strength = |row: usize| if reference[row] == 0.0 { 0.0 } else { a[row][row] / reference[row] };
        let mut best = k;
        for other in k + 1..M {
            if strength(order[other]) > strength(order[best]) {
                best = other;
            }
        }
        order.swap(k, best);
        let row = order[k];
        if strength(row) <= 0.0 {
            break;
        }
        for &i in &order[k + 1..] {
            let part = a[i][row] / a[row][row];
            for &j in &order[k + 1..] {
                a[i][j] -= part * a[row][j];
            }
        }
    }
    order
}

/// The scalar LDLᵀ of a block.
struct Scalars<const M: usize> {
    l: [[f64; M]; M],
    inverse_d: [f64; M],
    dropped: u8,
    /// Whether a pivot that is kept is small.
    weak: bool,
}

impl<const M: usize> Scalars<M> {
    #[inline(always)]
    fn of(a: &[[f64; M]; M], reference: &[f64; M], fraction: f64) -> Scalars<M> {
        let mut l = [[0.0; M]; M];
        let mut inverse_d = [0.0; M];
        let mut d = [0.0; M];
        let mut dropped = 0_u8;
        let mut weak = false;
        for k in 0..M {
            let mut pivot = a[k][k];
            for s in 0..k {
                pivot -= l[k][s] * l[k][s] * d[s];
            }
            if pivot * reference[k].signum() > fraction * reference[k].abs() {
                weak |= pivot.abs() < WEAK * reference[k].abs();
                d[k] = pivot;
                inverse_d[k] = 1.0 / pivot;
                for i in k + 1..M {
                    let mut e = a[i][k];
                    for s in 0..k {
                        e -= l[i][s] * l[k][s] * d[s];
                    }
                    l[i][k] = e * inverse_d[k];
                }
            } else {
                dropped |= 1 << k;
            }
        }
        Scalars { l, inverse_d, dropped, weak }
    }

    /// Writes the inverse: that of the unit lower triangle, then L⁻ᵀ D⁺ L⁻¹.
    #[inline(always)]
    fn invert(&self, a: &mut [[f64; M]; M]) {
        let mut w = [[0.0; M]; M];
        for k in 0..M {
            w[k][k] = 1.0;
            for i in k + 1..M {
                let mut e = 0.0;
                for s in k..i {
                    e -= self.l[i][s] * w[s][k];
                }
                w[i][k] = e;
            }
        }
        for i in 0..M {
            for j in 0..=i {
                let mut e = 0.0;
                for s in i..M {
                    e += w[s][i] * self.inverse_d[s] * w[s][j];
                }
                a[i][j] = e;
                a[j][i] = e;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUNDING: f64 = 1e-13;

    /// Three rows of rank two, A = I − nnᵀ, whose plane is tilted out of the axes by angles of all sizes, as a flat loop is that a
    /// machine carries about; rounding as the elimination of other rows leaves it.
    #[test]
    fn rows_of_a_tilted_plane_are_kept_so_that_impulses_stay_small() {
        for exponent in 0..80 {
            let tilt = 10.0_f64.powf(-0.1 * f64::from(exponent));
            for upright in 0..3 {
                let mut n = [0.6 * tilt.sin(), 0.8 * tilt.sin(), tilt.cos()];
                n.rotate_right(upright);
                let a: [[f64; 3]; 3] = std::array::from_fn(|i| {
                    std::array::from_fn(|j| f64::from(u8::from(i == j)) - n[i] * n[j] + ROUNDING)
                });
                let mut inverse = a.concat();
                let dropped = invert_dropping::<3>(&mut inverse, &[1.0; 3], 5e-6);
                assert_eq!(dropped.count_ones(), 1, "tilt {tilt:e}: rows {dropped:b} dropped");
                // impulses for velocities that the rows can have: b = A (1, −2, 3)
                let b: [f64; 3] = std::array::from_fn(|i| a[i][0] - 2.0 * a[i][1] + 3.0 * a[i][2]);
                let x: [f64; 3] = std::array::from_fn(|i| (0..3).map(|j| inverse[3 * i + j] * b[j]).sum());
                for i in 0..3 {
                    let got: f64 = (0..3).map(|j| a[i][j] * x[j]).sum();
                    // a row that is kept with a pivot δ makes rounding 1/δ times as large, and impulses 1/√δ times
                    assert!((got - b[i]).abs() < 10.0 * ROUNDING / WEAK, "tilt {tilt:e}: {got} for {}", b[i]);
                    assert!(x[i].abs() < 5.0 / WEAK.sqrt(), "tilt {tilt:e}: an impulse of {}", x[i]);
                }
            }
        }
    }
}
