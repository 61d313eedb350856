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

/// Replaces the symmetric block `a` by its inverse on its independent rows, zero on the others: scalar LDLᵀ in which a pivot below
/// `fraction` of its reference, or of the other sign, is dropped (its impulse is zero). Returns the mask of dropped rows.
pub(crate) fn invert_dropping<const M: usize>(a: &mut [f64], reference: &[f64], fraction: f64) -> u8 {
    let (a, _) = a.as_chunks_mut::<M>();
    let (a, reference) = (&mut a[..M], &reference[..M]);
    let mut l = [[0.0; M]; M];
    let mut inverse_d = [0.0; M];
    let mut d = [0.0; M];
    let mut dropped = 0_u8;
    for k in 0..M {
        let mut pivot = a[k][k];
        for s in 0..k {
            pivot -= l[k][s] * l[k][s] * d[s];
        }
        if pivot * reference[k].signum() > fraction * reference[k].abs() {
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
    // inverse of the unit lower triangle, then L⁻ᵀ D⁺ L⁻¹
    let mut w = [[0.0; M]; M];
    for k in 0..M {
        w[k][k] = 1.0;
        for i in k + 1..M {
            let mut e = 0.0;
            for s in k..i {
                e -= l[i][s] * w[s][k];
            }
            w[i][k] = e;
        }
    }
    for i in 0..M {
        for j in 0..=i {
            let mut e = 0.0;
            for s in i..M {
                e += w[s][i] * inverse_d[s] * w[s][j];
            }
            a[i][j] = e;
            a[j][i] = e;
        }
    }
    dropped
}
