//! A coarse level for the iteration of implicit steps: smooth motions of large nets, which single particles are slow to find.
//!
//! Particles are gathered into small patches of neighbours. A patch moves as one; the system of patches, Pᵀ A P, is small and
//! factorised. Its solution is added to what the diagonal blocks say: M⁻¹ = D⁻¹ + P (Pᵀ A P)⁻¹ Pᵀ, symmetric and positive
//! definite as a preconditioner must be. Iterations then depend on the size of a patch and hardly on that of the net.

use super::matrix::BlockMatrix;
use crate::linalg::{BlockPattern, Factor, ordering};
use glam::{DMat3, DVec3};

/// Below this many particles the iteration is short enough.
const FEWEST: usize = 300;
const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Coarse {
    layout: Option<Layout>,
}

struct Layout {
    start: Vec<u32>,
    column: Vec<u32>,
    /// Patch of each particle, in elimination order; `NONE` for those that do not move by themselves.
    patch: Vec<u32>,
    /// Tile of each diagonal block, and of each block below the diagonal with how it goes in.
    diagonal: Vec<u32>,
    lower: Vec<(u32, Place)>,
    factor: Factor,
    reference: Vec<f64>,
    x: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nowhere,
    /// Within a patch: the block and its transpose.
    Within,
    Straight,
    Transposed,
}

impl Coarse {
    /// Makes the coarse system of a matrix; false if there is no use for one.
    pub fn prepare(&mut self, matrix: &BlockMatrix, moves: &[bool]) -> bool {
        let n = matrix.diagonal.len();
        if n < FEWEST {
            return false;
        }
        let same = self.layout.as_ref().is_some_and(|l| {
            l.column == matrix.column
                && l.start == matrix.start
                && l.patch.iter().zip(moves).all(|(p, m)| (*p != NONE) == *m)
        });
        if !same {
            self.layout = Layout::new(matrix, moves);
        }
        let Some(layout) = &mut self.layout else { return false };
        layout.fill(matrix);
        true
    }

    /// z += P (Pᵀ A P)⁻¹ Pᵀ r.
    pub fn add(&mut self, r: &[DVec3], z: &mut [DVec3]) {
        let Some(layout) = &mut self.layout else { return };
        layout.x.fill(0.0);
        for (i, &p) in layout.patch.iter().enumerate() {
            if p != NONE {
                let x = &mut layout.x[3 * p as usize..3 * p as usize + 3];
                x[0] += r[i].x;
                x[1] += r[i].y;
                x[2] += r[i].z;
            }
        }
        layout.factor.solve(&mut layout.x);
        for (i, &p) in layout.patch.iter().enumerate() {
            if p != NONE {
                z[i] += DVec3::from_slice(&layout.x[3 * p as usize..]);
            }
        }
    }
}

/// Patches of a particle and those next to it that are in none yet; what remains joins a neighbour's.
fn patches(matrix: &BlockMatrix, moves: &[bool]) -> (Vec<u32>, usize) {
    let n = matrix.diagonal.len();
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); n];
    for i in 0..n {
        for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
            let j = matrix.column[k];
            next[i].push(j);
            next[j as usize].push(i as u32);
        }
    }
    let mut patch = vec![NONE; n];
    let mut count = 0;
    for i in 0..n {
        let free = |j: u32| moves[j as usize] && patch[j as usize] == NONE;
        if !free(i as u32) || next[i].iter().any(|&j| moves[j as usize] && patch[j as usize] != NONE) {
            continue;
        }
        patch[i] = count;
        next[i].iter().filter(|&&j| moves[j as usize]).for_each(|&j| patch[j as usize] = count);
        count += 1;
    }
    for i in 0..n {
        if moves[i] && patch[i] == NONE {
            let near = next[i].iter().map(|&j| patch[j as usize]).find(|&p| p != NONE);
            patch[i] = near.unwrap_or_else(|| {
                count += 1;
                count - 1
            });
        }
    }
    (patch, count as usize)
}

impl Layout {
    fn new(matrix: &BlockMatrix, moves: &[bool]) -> Option<Layout> {
        let n = matrix.diagonal.len();
        let (patch, count) = patches(matrix, moves);
        if count < 2 {
            return None;
        }
        let mut pairs = Vec::new();
        for i in 0..n {
            for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
                let (a, b) = (patch[i], patch[matrix.column[k] as usize]);
                if a != b && a != NONE && b != NONE {
                    pairs.push((a.max(b), a.min(b)));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let pattern = BlockPattern { sizes: vec![3; count], pairs };
        let order = ordering::elimination_order(&pattern);
        let permuted = pattern.permuted(&order);
        let mut place = vec![0_u32; count];
        order.iter().enumerate().for_each(|(k, &old)| place[old as usize] = k as u32);
        let patch: Vec<u32> = patch.into_iter().map(|p| if p == NONE { NONE } else { place[p as usize] }).collect();
        let factor = Factor::new(&permuted);
        let tile = |a: u32, b: u32| factor.target(a.max(b), a.min(b)).unwrap_or(0);
        let diagonal = patch.iter().map(|&p| if p == NONE { NONE } else { tile(p, p) }).collect();
        let mut lower = Vec::with_capacity(matrix.column.len());
        for i in 0..n {
            for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
                let (a, b) = (patch[i], patch[matrix.column[k] as usize]);
                lower.push(match (a, b) {
                    (NONE, _) | (_, NONE) => (0, Place::Nowhere),
                    _ if a == b => (tile(a, b), Place::Within),
                    _ if a > b => (tile(a, b), Place::Straight),
                    _ => (tile(a, b), Place::Transposed),
                });
            }
        }
        Some(Layout {
            start: matrix.start.clone(),
            column: matrix.column.clone(),
            patch,
            diagonal,
            lower,
            factor,
            reference: vec![0.0; 3 * count],
            x: vec![0.0; 3 * count],
        })
    }

    fn fill(&mut self, matrix: &BlockMatrix) {
        let values = self.factor.clear();
        let mut add = |tile: u32, block: &DMat3, transposed: bool| {
            let tile = tile as usize;
            for r in 0..3 {
                for c in 0..3 {
                    values[tile + 3 * r + c] += if transposed { block.col(r)[c] } else { block.col(c)[r] };
                }
            }
        };
        for (tile, block) in self.diagonal.iter().zip(&matrix.diagonal) {
            if *tile != NONE {
                add(*tile, block, false);
            }
        }
        for ((tile, place), block) in self.lower.iter().zip(&matrix.lower) {
            match place {
                Place::Nowhere => {}
                Place::Within => {
                    add(*tile, block, false);
                    add(*tile, block, true);
                }
                Place::Straight => add(*tile, block, false),
                Place::Transposed => add(*tile, block, true),
            }
        }
        for p in 0..(self.reference.len() / 3) as u32 {
            if let Some(tile) = self.factor.target(p, p) {
                for r in 0..3 {
                    self.reference[3 * p as usize + r] = self.factor.values_mut()[tile as usize + 4 * r];
                }
            }
        }
        self.factor.factor(&self.reference, 1e-14);
    }
}
