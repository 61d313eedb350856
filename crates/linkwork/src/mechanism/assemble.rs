//! The hot loop of assembly: tiles Ĵ_i Ĵ_kᵀ with their sizes known to the compiler.

use super::layout::{HubTile, Product};
use crate::linalg::kernels::with_size;

/// Adds every product to its tile.
pub(super) fn sum_products(products: &[Product], jacobian: &[f64], values: &mut [f64]) {
    for p in products {
        let i = &jacobian[p.i as usize..p.i as usize + 6 * p.rows_i as usize];
        let k = &jacobian[p.k as usize..p.k as usize + 6 * p.rows_k as usize];
        let tile = &mut values[p.target as usize..p.target as usize + p.rows_i as usize * p.rows_k as usize];
        with_size!(p.rows_k, K => add_product::<K>(i.as_chunks::<6>().0, k, p.scale, tile));
    }
}

/// Writes the blocks that couple hub nodes with their joints, and their own −1.
pub(super) fn write_hubs(tiles: &[HubTile], diagonals: &[u32], jacobian: &[f64], values: &mut [f64]) {
    for t in tiles {
        let rows = t.rows as usize;
        let block = jacobian[t.jacobian as usize..t.jacobian as usize + 6 * rows].as_chunks::<6>().0;
        let tile = &mut values[t.target as usize..t.target as usize + 6 * rows];
        if t.transposed {
            for (r, line) in block.iter().enumerate() {
                for k in 0..6 {
                    tile[k * rows + r] = line[k];
                }
            }
        } else {
            tile.as_chunks_mut::<6>().0.copy_from_slice(block);
        }
    }
    for &d in diagonals {
        for k in 0..6 {
            values[d as usize + 7 * k] = -1.0;
        }
    }
}

/// tile (rows of i × K) += scale · Ĵ_i Ĵ_kᵀ. Columns are summed in fours, the last ones padded: what five or six columns
/// would cost in shuffles is more than the lanes that they waste.
#[inline(always)]
fn add_product<const K: usize>(i: &[[f64; 6]], k: &[f64], scale: f64, tile: &mut [f64]) {
    let (k, _) = k.as_chunks::<6>();
    let mut t = [[[0.0; 4]; 2]; 6];
    for c in 0..K {
        for s in 0..6 {
            t[s][c / 4][c % 4] = scale * k[c][s];
        }
    }
    for (row, out) in i.iter().zip(tile.as_chunks_mut::<K>().0) {
        for q in 0..K.div_ceil(4) {
            let first = 4 * q;
            let mut sum = [0.0; 4];
            for c in first..K.min(first + 4) {
                sum[c - first] = out[c];
            }
            for s in 0..6 {
                for lane in 0..4 {
                    sum[lane] += row[s] * t[s][q][lane];
                }
            }
            for c in first..K.min(first + 4) {
                out[c] = sum[c - first];
            }
        }
    }
}
