//! The hot loop of assembly: tiles Ĵ_i Ĵ_kᵀ with their sizes known to the compiler.

use super::layout::{HubTile, Product};
use crate::linalg::kernels::with_size;

/// tile (N × K) += scale · Ĵ_i Ĵ_kᵀ.
pub(super) type ProductKernel = fn(&mut [f64], &[f64], &[f64], f64);

/// The product kernel for n rows of i and k rows of k.
pub(super) fn product_kernel(n: u8, k: u8) -> ProductKernel {
    with_size!(n, N => with_size!(k, K => add_product::<N, K>))
}

/// Adds every product to its tile.
pub(super) fn sum_products(products: &[Product], jacobian: &[f64], values: &mut [f64]) {
    for p in products {
        let tile = &mut values[p.target as usize..];
        (p.kernel)(tile, &jacobian[p.i as usize..], &jacobian[p.k as usize..], p.scale);
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

fn add_product<const N: usize, const K: usize>(tile: &mut [f64], i: &[f64], k: &[f64], scale: f64) {
    let (tile, i, k) = (tile.as_chunks_mut::<K>().0, i.as_chunks::<6>().0, k.as_chunks::<6>().0);
    let (tile, i, k) = (&mut tile[..N], &i[..N], &k[..K]);
    let mut t = [[0.0; K]; 6];
    for c in 0..K {
        for s in 0..6 {
            t[s][c] = scale * k[c][s];
        }
    }
    for r in 0..N {
        let mut row = tile[r];
        for s in 0..6 {
            for c in 0..K {
                row[c] += i[r][s] * t[s][c];
            }
        }
        tile[r] = row;
    }
}
