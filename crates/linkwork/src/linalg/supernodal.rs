//! The same contract as [`BlockLdlt`](super::block_ldlt::BlockLdlt) on faer's supernodal LDLᵀ: for large meshes of loops,
//! whose factor fills in so much that dense kernels on large panels win.
//!
//! The matrix is scaled to a unit diagonal, so that the pivot test is faer's dynamic regularisation: a pivot below the
//! fraction becomes so large that its row's impulse vanishes, which is what dropping means.

use super::BlockPattern;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt::factor::LdltRegularization;
use faer::perm::PermRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky, supernodal::SupernodalLdltRef,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par, Side};
use std::cell::RefCell;
use std::collections::HashMap;

const DROPPED_PIVOT: f64 = 1e30;
/// Above it a pivot is a replaced one: scaled ones are far below, even where the reference was lowered to keep a row.
const REPLACED: f64 = 1e20;

/// See the module's header.
pub(crate) struct Supernodal {
    symbolic: SymbolicCholesky<usize>,
    column_start: Vec<usize>,
    row_index: Vec<usize>,
    /// For each entry of the lower triangle by columns: where it stands in `values`.
    source: Vec<u32>,
    entries: Vec<f64>,
    /// Tiles of the matrix, row by row.
    values: Vec<f64>,
    tiles: HashMap<(u32, u32), u32>,
    l_values: Vec<f64>,
    scale: Vec<f64>,
    dropped: Vec<bool>,
    dropped_count: usize,
    signs: Vec<i8>,
    memory: RefCell<MemBuffer>,
}

impl Supernodal {
    /// Lays out the factor of a pattern in elimination order; `None` if it does not fit into memory.
    pub fn new(pattern: &BlockPattern) -> Option<Supernodal> {
        let n = pattern.sizes.len();
        let mut first = vec![0_usize; n + 1];
        for k in 0..n {
            first[k + 1] = first[k] + pattern.sizes[k] as usize;
        }
        let rows = first[n];
        let mut tiles = HashMap::new();
        let mut blocks_of_column: Vec<Vec<u32>> = (0..n).map(|j| vec![j as u32]).collect();
        for &(i, j) in &pattern.pairs {
            blocks_of_column[j as usize].push(i);
        }
        let mut size = 0_u32;
        let (mut column_start, mut row_index, mut source) = (vec![0], Vec::new(), Vec::new());
        for (j, blocks) in blocks_of_column.iter_mut().enumerate() {
            blocks.sort_unstable();
            let m = pattern.sizes[j] as usize;
            for &i in blocks.iter() {
                tiles.insert((i, j as u32), size);
                size += u32::from(pattern.sizes[i as usize]) * m as u32;
            }
            for s in 0..m {
                for &i in blocks.iter() {
                    let tile = tiles[&(i, j as u32)] as usize;
                    for r in 0..pattern.sizes[i as usize] as usize {
                        if i as usize > j || r >= s {
                            row_index.push(first[i as usize] + r);
                            source.push((tile + r * m + s) as u32);
                        }
                    }
                }
                column_start.push(row_index.len());
            }
        }
        let matrix = SymbolicSparseColMatRef::new_checked(rows, rows, &column_start, None, &row_index);
        let params = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SUPERNODAL,
            ..Default::default()
        };
        // the pattern is in elimination order; faer's `Identity` would read it as an upper triangle
        let order: Vec<usize> = (0..rows).collect();
        let order = SymmetricOrdering::Custom(PermRef::new_checked(&order, &order, rows));
        let symbolic = factorize_symbolic_cholesky(matrix, Side::Lower, order, params).ok()?;
        let need = symbolic
            .factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Default::default())
            .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        let memory = MemBuffer::try_new(need).ok()?;
        Some(Supernodal {
            l_values: vec![0.0; symbolic.len_val()],
            symbolic,
            entries: vec![0.0; row_index.len()],
            column_start,
            row_index,
            source,
            values: vec![0.0; size as usize],
            tiles,
            scale: vec![1.0; rows],
            dropped: vec![false; rows],
            dropped_count: 0,
            signs: vec![1; rows],
            memory: RefCell::new(memory),
        })
    }

    /// Entries of the factor.
    pub fn factor_entries(&self) -> usize {
        self.l_values.len()
    }

    pub fn target(&self, i: u32, j: u32) -> Option<u32> {
        self.tiles.get(&(i, j)).copied()
    }

    pub fn clear(&mut self) -> &mut [f64] {
        self.values.fill(0.0);
        &mut self.values
    }

    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    pub fn factor(&mut self, reference: &[f64], fraction: f64) {
        let rows = self.scale.len();
        for (j, &d) in reference.iter().enumerate() {
            self.scale[j] = if d != 0.0 { 1.0 / d.abs().sqrt() } else { 0.0 };
            self.signs[j] = if d < 0.0 { -1 } else { 1 };
        }
        for j in 0..rows {
            for e in self.column_start[j]..self.column_start[j + 1] {
                self.entries[e] = self.values[self.source[e] as usize] * self.scale[j] * self.scale[self.row_index[e]];
            }
        }
        let matrix = SparseColMatRef::new(
            SymbolicSparseColMatRef::new_checked(rows, rows, &self.column_start, None, &self.row_index),
            &self.entries[..],
        );
        let regularization = LdltRegularization {
            dynamic_regularization_signs: Some(&self.signs),
            dynamic_regularization_delta: DROPPED_PIVOT,
            dynamic_regularization_epsilon: fraction,
        };
        self.l_values.fill(0.0); // faer adds to what stands there
        // fails only on pivots that are exactly zero, which the regularisation replaces
        let _ = self.symbolic.factorize_numeric_ldlt(
            &mut self.l_values,
            matrix,
            Side::Lower,
            regularization,
            Par::Seq,
            MemStack::new(self.memory.get_mut()),
            Default::default(),
        );
        self.dropped_count = 0;
        if let SymbolicCholeskyRaw::Supernodal(symbolic) = self.symbolic.raw() {
            let factor = SupernodalLdltRef::<usize, f64>::new(symbolic, &self.l_values);
            for s in 0..symbolic.n_supernodes() {
                let node = factor.supernode(s);
                for k in 0..node.val().ncols() {
                    let row = node.start() + k;
                    self.dropped[row] = node.val()[(k, k)].abs() > REPLACED;
                    self.dropped_count += usize::from(self.dropped[row] && reference[row] > 0.0);
                }
            }
        }
    }

    pub fn solve(&self, x: &mut [f64]) {
        for (x, s) in x.iter_mut().zip(&self.scale) {
            *x *= s;
        }
        let rows = x.len();
        LdltRef::<usize, f64>::new(&self.symbolic, &self.l_values).solve_in_place_with_conj(
            Conj::No,
            MatMut::from_column_major_slice_mut(x, rows, 1),
            Par::Seq,
            MemStack::new(&mut self.memory.borrow_mut()),
        );
        for (k, (x, s)) in x.iter_mut().zip(&self.scale).enumerate() {
            *x = if self.dropped[k] { 0.0 } else { *x * s };
        }
    }

    pub fn is_dropped(&self, row: usize) -> bool {
        self.dropped[row]
    }

    pub fn dropped_count(&self) -> usize {
        self.dropped_count
    }
}
