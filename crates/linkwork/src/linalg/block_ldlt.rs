//! Block-sparse LDLᵀ of a symmetric matrix, positive semidefinite but for nodes whose pivots are known to be negative.
//!
//! Before: blocks of 1–6 rows in elimination order; [`BlockLdlt::values_mut`] filled through [`BlockLdlt::target`]
//! (lower blocks, diagonal blocks in full); a reference per row, with which a pivot shares its sign and against which it
//! is too small. After [`BlockLdlt::factor`]: [`BlockLdlt::solve`] gives A⁻¹b on the
//! independent rows and zero on the dropped ones. It cannot fail: a row without a usable pivot is dropped and counted.
//! Right-looking; the targets of all updates are a flat list made once, so that no index is searched in a step.

mod threes;

use super::BlockPattern;
use super::kernels::{
    PanelKernel, UpdateKernel, fused_update_kernel, invert_dropping, panel_kernel, update_kernel, with_size,
};
use super::ordering::elimination_tree;
use crate::math::multiply_add;
use wide::{f64x4, f64x8};

#[derive(Clone, Copy)]
struct RowBlock {
    block: u32,
    /// First scalar row.
    row: u32,
    /// Offset of its tile in `values`.
    tile: u32,
    size: u8,
}

#[derive(Clone, Copy)]
struct Update {
    target: u32,
    /// Tile of the row block in `values`.
    l: u32,
    /// Transposed tile of the column block in `transposed`.
    bt: u32,
    kernel: UpdateKernel,
}

#[derive(Clone, Copy)]
struct Column {
    size: u8,
    row: u32,
    diagonal: u32,
    panel: u32,
    panel_end: u32,
    rows: (u32, u32),
    updates: (u32, u32),
}

/// The factorisation; see the module's header for its contract.
#[derive(Clone)]
pub(crate) struct BlockLdlt {
    columns: Vec<Column>,
    row_blocks: Vec<RowBlock>,
    /// What turns each row block's tile into one of L.
    panel_kernels: Vec<PanelKernel>,
    updates: Vec<Update>,
    /// Diagonal blocks and, below them, panels: A before, D⁻¹ and L after.
    values: Vec<f64>,
    reference: Vec<f64>,
    /// Bᵀ of every panel's tiles, where `values` has L = B D⁻¹: going ahead through B D⁻¹x and back through L, both
    /// substitutions add multiples of whole lines.
    transposed: Vec<f64>,
    dropped: Vec<bool>,
    dropped_count: usize,
}

/// Multiply–adds that a factorisation of this pattern takes, and the scalar entries of L.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    pub flops: f64,
    pub entries: usize,
}

/// Structure of L: for every column the sorted row blocks below its diagonal.
pub(crate) fn symbolic(pattern: &BlockPattern) -> Vec<Vec<u32>> {
    let n = pattern.sizes.len();
    let parent = elimination_tree(pattern);
    let mut structure: Vec<Vec<u32>> = vec![Vec::new(); n];
    for &(i, j) in &pattern.pairs {
        structure[j as usize].push(i);
    }
    for j in 0..n {
        structure[j].sort_unstable();
        structure[j].dedup();
        if parent[j] != u32::MAX {
            let (head, tail) = structure.split_at_mut(parent[j] as usize);
            tail[0].extend(head[j].iter().copied().filter(|&i| i != parent[j]));
        }
    }
    structure
}

/// The cost of factorising a structure.
pub(crate) fn cost(sizes: &[u8], structure: &[Vec<u32>]) -> Cost {
    let mut cost = Cost::default();
    for (j, rows) in structure.iter().enumerate() {
        let m = f64::from(sizes[j]);
        let below: f64 = rows.iter().map(|&i| f64::from(sizes[i as usize])).sum();
        cost.flops += m * m * m / 3.0 + below * m * m + 0.5 * below * below * m;
        cost.entries += (m * below + 0.5 * m * (m + 1.0)) as usize;
    }
    cost
}

impl BlockLdlt {
    /// Lays out the factor of a pattern in elimination order, given its symbolic structure.
    pub fn new(sizes: &[u8], structure: &[Vec<u32>]) -> BlockLdlt {
        BlockLdlt::with_kernels(sizes, structure, update_kernel)
    }

    /// The same for a matrix that is positive definite, where rounding makes no pivot of nothing.
    pub fn definite(sizes: &[u8], structure: &[Vec<u32>]) -> BlockLdlt {
        BlockLdlt::with_kernels(sizes, structure, fused_update_kernel)
    }

    fn with_kernels(sizes: &[u8], structure: &[Vec<u32>], kernel: fn(u8, u8, u8) -> UpdateKernel) -> BlockLdlt {
        let n = sizes.len();
        let mut first_row = vec![0_u32; n + 1];
        for k in 0..n {
            first_row[k + 1] = first_row[k] + u32::from(sizes[k]);
        }
        let mut columns = Vec::with_capacity(n);
        let mut row_blocks: Vec<RowBlock> = Vec::new();
        let mut panel_kernels = Vec::new();
        let mut offset = 0_u32;
        for j in 0..n {
            let m = u32::from(sizes[j]);
            let diagonal = offset;
            offset += m * m;
            let (panel, first) = (offset, row_blocks.len() as u32);
            for &i in &structure[j] {
                let size = sizes[i as usize];
                row_blocks.push(RowBlock { block: i, row: first_row[i as usize], tile: offset, size });
                panel_kernels.push(panel_kernel(size, sizes[j]));
                offset += u32::from(size) * m;
            }
            columns.push(Column {
                size: sizes[j],
                row: first_row[j],
                diagonal,
                panel,
                panel_end: offset,
                rows: (first, row_blocks.len() as u32),
                updates: (0, 0),
            });
        }
        let mut factor = BlockLdlt {
            columns,
            row_blocks,
            panel_kernels,
            updates: Vec::new(),
            values: vec![0.0; offset as usize],
            reference: vec![0.0; first_row[n] as usize],
            transposed: vec![0.0; offset as usize],
            dropped: vec![false; first_row[n] as usize],
            dropped_count: 0,
        };
        factor.list_updates(kernel);
        factor
    }

    fn list_updates(&mut self, kernel: fn(u8, u8, u8) -> UpdateKernel) {
        for j in 0..self.columns.len() {
            let column = self.columns[j];
            let start = self.updates.len() as u32;
            for k in column.rows.0..column.rows.1 {
                for i in k..column.rows.1 {
                    let (bi, bk) = (self.row_blocks[i as usize], self.row_blocks[k as usize]);
                    let target = self.target(bi.block, bk.block).unwrap_or(u32::MAX);
                    debug_assert_ne!(target, u32::MAX, "symbolic structure covers every update");
                    self.updates.push(Update {
                        target,
                        l: bi.tile,
                        bt: bk.tile,
                        kernel: kernel(bi.size, column.size, bk.size),
                    });
                }
            }
            self.columns[j].updates = (start, self.updates.len() as u32);
        }
    }

    /// Entries of the factor.
    pub fn factor_entries(&self) -> usize {
        self.values.len()
    }

    /// Offset in the values of the tile of block row `i`, block column `j`, i ≥ j.
    pub fn target(&self, i: u32, j: u32) -> Option<u32> {
        let column = &self.columns[j as usize];
        if i == j {
            return Some(column.diagonal);
        }
        let rows = &self.row_blocks[column.rows.0 as usize..column.rows.1 as usize];
        rows.binary_search_by_key(&i, |r| r.block).ok().map(|k| rows[k].tile)
    }

    /// The matrix to be factorised, zeroed.
    pub fn clear(&mut self) -> &mut [f64] {
        self.values.fill(0.0);
        &mut self.values
    }

    /// The matrix to be factorised.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Factorises what the values hold; a pivot below `fraction` of its row's reference is dropped.
    pub fn factor(&mut self, reference: &[f64], fraction: f64) {
        self.dropped_count = 0;
        self.reference.copy_from_slice(reference);
        for j in 0..self.columns.len() {
            with_size!(self.columns[j].size, M => self.eliminate::<M>(j, fraction));
        }
    }

    #[inline]
    fn eliminate<const M: usize>(&mut self, j: usize, fraction: f64) {
        let c = self.columns[j];
        let row = c.row as usize;
        let diagonal = c.diagonal as usize;
        let (before, panel) = self.values.split_at_mut(c.panel as usize);
        let inverse = &mut before[diagonal..diagonal + M * M];
        let mask = invert_dropping::<M>(inverse, &self.reference[row..row + M], fraction);
        for k in 0..M {
            let out = mask >> k & 1 == 1;
            self.dropped[row + k] = out;
            // a row that touches nothing that can move is empty, not redundant
            self.dropped_count += usize::from(out && self.reference[row + k] > 0.0);
        }
        // keep Bᵀ by tiles, put L = B D⁻¹ in place of B
        let blocks = c.rows.0 as usize..c.rows.1 as usize;
        for (b, kernel) in self.row_blocks[blocks.clone()].iter().zip(&self.panel_kernels[blocks]) {
            kernel(&mut panel[(b.tile - c.panel) as usize..], inverse, &mut self.transposed[b.tile as usize..]);
        }
        // every target lies in a later column
        let (panel, later) = self.values.split_at_mut(c.panel_end as usize);
        for u in &self.updates[c.updates.0 as usize..c.updates.1 as usize] {
            (u.kernel)(
                &mut later[(u.target - c.panel_end) as usize..],
                &panel[u.l as usize..],
                &self.transposed[u.bt as usize..],
            );
        }
    }

    /// Replaces `x` by A⁻¹x.
    pub fn solve(&self, x: &mut [f64]) {
        for c in &self.columns {
            with_size!(c.size, M => self.ahead::<M>(c, x));
        }
        for c in self.columns.iter().rev() {
            with_size!(c.size, M => self.back::<M>(c, x));
        }
    }

    /// Divides by D, then takes column j of B D⁻¹ = L out of the rows below.
    #[inline(always)]
    fn ahead<const M: usize>(&self, c: &Column, x: &mut [f64]) {
        let row = c.row as usize;
        let (head, tail) = x.split_at_mut(row + M);
        let place: &mut [f64; M] = head[row..].first_chunk_mut().expect("M entries");
        let inverse = self.values[c.diagonal as usize..c.diagonal as usize + M * M].as_chunks::<M>().0;
        let mut divided = [0.0; M];
        for s in 0..M {
            for k in 0..M {
                divided[k] = multiply_add(inverse[s][k], place[s], divided[k]);
            }
        }
        *place = divided;
        for b in &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize] {
            let below = &mut tail[b.row as usize - row - M..];
            let tile = &self.transposed[b.tile as usize..];
            with_size!(b.size, N => take_out::<M, N>(tile, &divided, below));
        }
    }

    #[inline(always)]
    fn back<const M: usize>(&self, c: &Column, x: &mut [f64]) {
        let row = c.row as usize;
        let (head, tail) = x.split_at_mut(row + M);
        let xj: &mut [f64; M] = head[row..].first_chunk_mut().expect("M entries");
        let mut rest = *xj;
        for b in &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize] {
            let below = &tail[b.row as usize - row - M..];
            let tile = &self.values[b.tile as usize..];
            with_size!(b.size, N => take_out::<N, M>(tile, below.first_chunk::<N>().expect("N entries"), &mut rest));
        }
        *xj = rest;
    }

    /// Replaces `x` by L⁻¹x, eight at a time: a vector that is mostly zero touches few columns.
    pub fn go_ahead(&self, x: &mut [f64x8]) {
        for c in &self.columns {
            with_size!(c.size, M => {
                let row = c.row as usize;
                let xj: [f64x8; M] = std::array::from_fn(|k| x[row + k]);
                if xj != [f64x8::ZERO; M] {
                    self.take_out_lanes::<M, f64, f64x8>(c, &self.values, &xj, x);
                }
            });
        }
    }

    /// aᵀD⁻¹b of vectors that have been through [`BlockLdlt::go_ahead`].
    pub fn inner(&self, a: &[f64x8], b: &[f64x8]) -> [[f64; 8]; 8] {
        let mut sums = [f64x8::ZERO; 8];
        for c in &self.columns {
            with_size!(c.size, M => {
                let row = c.row as usize;
                let left: [f64x8; M] = std::array::from_fn(|k| a[row + k]);
                let right: [f64x8; M] = std::array::from_fn(|k| b[row + k]);
                if left == [f64x8::ZERO; M] || right == [f64x8::ZERO; M] {
                    continue;
                }
                let divided = self.divide_lanes::<M, f64, f64x8>(c, &self.values, &right);
                for k in 0..M {
                    let ours = left[k].to_array();
                    for p in 0..8 {
                        sums[p] = divided[k].mul_add(f64x8::splat(ours[p]), sums[p]);
                    }
                }
            });
        }
        sums.map(|s| s.to_array())
    }

    /// The factor, once it is one: D⁻¹ and L.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether two factors have the same blocks in the same places.
    pub fn is_laid_out_like(&self, other: &BlockLdlt) -> bool {
        self.columns.len() == other.columns.len()
            && self.row_blocks.len() == other.row_blocks.len()
            && self.columns.iter().zip(&other.columns).all(|(a, b)| (a.size, a.rows) == (b.size, b.rows))
            && self.row_blocks.iter().zip(&other.row_blocks).all(|(a, b)| a.block == b.block)
    }

    /// [`BlockLdlt::solve`] in lanes: for factors that are laid out as this one, a factor to a lane, or for this one's own `values`.
    pub fn solve_lanes<V: Copy + Into<X>, X: Lanes>(&self, values: &[V], x: &mut [X]) {
        self.solve_columns(self.columns.iter(), values, x);
    }

    /// The same of a right side that is zero elsewhere, and for the answers there, in blocks that [`BlockLdlt::reached_from`] gave.
    pub fn solve_lanes_among<X: Lanes + From<f64>>(&self, reached: &[u32], x: &mut [X]) {
        self.solve_columns(reached.iter().map(|&j| &self.columns[j as usize]), &self.values, x);
    }

    #[inline(always)]
    fn solve_columns<'a, V: Copy + Into<X>, X: Lanes>(
        &self,
        columns: impl DoubleEndedIterator<Item = &'a Column> + Clone,
        values: &[V],
        x: &mut [X],
    ) {
        for c in columns.clone() {
            with_size!(c.size, M => self.ahead_lanes::<M, V, X>(c, values, x));
        }
        for c in columns.rev() {
            with_size!(c.size, M => self.back_lanes::<M, V, X>(c, values, x));
        }
    }

    /// Blocks that a right side in some of them reaches, in order: these, and all above them in the elimination tree.
    pub fn reached_from(&self, blocks: &[u32]) -> Vec<u32> {
        let mut is_reached = vec![false; self.columns.len()];
        blocks.iter().for_each(|&j| is_reached[j as usize] = true);
        for (j, c) in self.columns.iter().enumerate() {
            if is_reached[j] && c.rows.0 < c.rows.1 {
                // rows are sorted: the first is the parent
                is_reached[self.row_blocks[c.rows.0 as usize].block as usize] = true;
            }
        }
        (0..self.columns.len() as u32).filter(|&j| is_reached[j as usize]).collect()
    }

    #[inline(always)]
    fn ahead_lanes<const M: usize, V: Copy + Into<X>, X: Lanes>(&self, c: &Column, values: &[V], x: &mut [X]) {
        let row = c.row as usize;
        let xj: [X; M] = std::array::from_fn(|k| x[row + k]);
        // what a push does not reach: most of a large mechanism
        if xj == [X::ZERO; M] {
            return;
        }
        self.take_out_lanes::<M, V, X>(c, values, &xj, x);
        x[row..row + M].copy_from_slice(&self.divide_lanes::<M, V, X>(c, values, &xj));
    }

    /// Takes column j of L out of the rows below.
    #[inline(always)]
    fn take_out_lanes<const M: usize, V: Copy + Into<X>, X: Lanes>(
        &self,
        c: &Column,
        values: &[V],
        xj: &[X; M],
        x: &mut [X],
    ) {
        for b in &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize] {
            let tile = values[b.tile as usize..b.tile as usize + b.size as usize * M].as_chunks::<M>().0;
            for (y, line) in x[b.row as usize..b.row as usize + tile.len()].iter_mut().zip(tile) {
                let mut sum = *y;
                for k in 0..M {
                    sum = sum.less(line[k].into(), xj[k]);
                }
                *y = sum;
            }
        }
    }

    /// D⁻¹ of a column.
    #[inline(always)]
    fn divide_lanes<const M: usize, V: Copy + Into<X>, X: Lanes>(
        &self,
        c: &Column,
        values: &[V],
        xj: &[X; M],
    ) -> [X; M] {
        let inverse = values[c.diagonal as usize..c.diagonal as usize + M * M].as_chunks::<M>().0;
        let mut out = [X::ZERO; M];
        for s in 0..M {
            for k in 0..M {
                out[k] = out[k].plus(inverse[s][k].into(), xj[s]);
            }
        }
        out
    }

    #[inline(always)]
    fn back_lanes<const M: usize, V: Copy + Into<X>, X: Lanes>(&self, c: &Column, values: &[V], x: &mut [X]) {
        let row = c.row as usize;
        let mut xj: [X; M] = std::array::from_fn(|k| x[row + k]);
        for b in &self.row_blocks[c.rows.0 as usize..c.rows.1 as usize] {
            let tile = values[b.tile as usize..b.tile as usize + b.size as usize * M].as_chunks::<M>().0;
            for (y, line) in x[b.row as usize..b.row as usize + tile.len()].iter().zip(tile) {
                for k in 0..M {
                    xj[k] = xj[k].less(line[k].into(), *y);
                }
            }
        }
        x[row..row + M].copy_from_slice(&xj);
    }

    /// Whether a scalar row was dropped.
    pub fn is_dropped(&self, row: usize) -> bool {
        self.dropped[row]
    }

    /// Redundant rows found by the last factorisation.
    pub fn dropped_count(&self) -> usize {
        self.dropped_count
    }
}

/// Numbers that are worked on together.
pub(crate) trait Lanes: Copy + PartialEq {
    const ZERO: Self;
    /// self + a b.
    fn plus(self, a: Self, b: Self) -> Self;
    /// self − a b.
    fn less(self, a: Self, b: Self) -> Self;
}

macro_rules! lanes {
    ($($kind:ident),*) => {$(
        impl Lanes for $kind {
            const ZERO: Self = $kind::splat(0.0);
            #[inline(always)]
            fn plus(self, a: Self, b: Self) -> Self {
                a.mul_add(b, self)
            }
            #[inline(always)]
            fn less(self, a: Self, b: Self) -> Self {
                a.mul_neg_add(b, self)
            }
        }
    )*};
}

lanes!(f64x4, f64x8);

/// to −= Σ from[k] · line k of the tile (F lines of T).
#[inline(always)]
fn take_out<const F: usize, const T: usize>(tile: &[f64], from: &[f64; F], to: &mut [f64]) {
    let tile = &tile.as_chunks::<T>().0[..F];
    let to: &mut [f64; T] = to.first_chunk_mut().expect("T entries");
    let mut sum = *to;
    for (line, x) in tile.iter().zip(from) {
        for k in 0..T {
            sum[k] = multiply_add(-x, line[k], sum[k]);
        }
    }
    *to = sum;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::ordering::elimination_order;

    /// A deterministic stream of numbers in (−1, 1).
    struct Noise(u64);
    impl Noise {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 11) as f64) / (1_u64 << 52) as f64 - 1.0
        }
        fn below(&mut self, n: usize) -> usize {
            ((self.next() + 1.0) * 0.5 * n as f64) as usize % n
        }
    }

    /// A random Gram matrix G Gᵀ with block sparsity, as joints over bodies make it, and its rank. With `redundant`,
    /// every third block repeats the rows of an earlier one, mixed.
    fn random_system(seed: u64, redundant: bool) -> (BlockPattern, Vec<Vec<f64>>, usize) {
        let mut noise = Noise(seed);
        let blocks = 2 + noise.below(30);
        let bodies = 3 * blocks;
        let mut sizes: Vec<u8> = (0..blocks).map(|_| 1 + noise.below(6) as u8).collect();
        let mut g: Vec<Vec<f64>> = Vec::new();
        let mut touches: Vec<[usize; 2]> = Vec::new();
        let mut rank = 0;
        for b in 0..blocks {
            let model = (redundant && b % 3 == 2).then(|| noise.below(b));
            if let Some(model) = model {
                let first: usize = sizes[..model].iter().map(|&s| s as usize).sum();
                sizes[b] = sizes[model];
                for _ in 0..sizes[b] {
                    let mix: Vec<f64> = (0..sizes[model]).map(|_| noise.next()).collect();
                    let row = (0..6 * bodies).map(|c| mix.iter().enumerate().map(|(r, m)| m * g[first + r][c]).sum());
                    g.push(row.collect());
                }
                touches.push(touches[model]);
                continue;
            }
            // one body of its own makes a block independent of all others
            let sides = [b, blocks + noise.below(2 * blocks)];
            rank += sizes[b] as usize;
            for _ in 0..sizes[b] {
                let mut row = vec![0.0; 6 * bodies];
                for s in sides {
                    for k in 0..6 {
                        row[6 * s + k] = noise.next();
                    }
                }
                g.push(row);
            }
            touches.push(sides);
        }
        let mut pairs = Vec::new();
        for i in 0..blocks {
            for j in 0..i {
                if touches[i].iter().any(|s| touches[j].contains(s)) {
                    pairs.push((i as u32, j as u32));
                }
            }
        }
        (BlockPattern { sizes, pairs }, g, rank)
    }

    fn starts(sizes: &[u8]) -> Vec<usize> {
        let mut starts = vec![0];
        for &s in sizes {
            starts.push(starts[starts.len() - 1] + s as usize);
        }
        starts
    }

    #[test]
    fn solves_random_block_systems_and_drops_exactly_the_redundant_rows() {
        for seed in 0..200 {
            let redundant = seed % 2 == 1;
            let (pattern, g, rank) = random_system(seed, redundant);
            let order = elimination_order(&pattern);
            let permuted = pattern.permuted(&order);
            let old_start = starts(&pattern.sizes);
            let rows: Vec<usize> =
                order.iter().flat_map(|&b| old_start[b as usize]..old_start[b as usize + 1]).collect();
            let a: Vec<Vec<f64>> = rows
                .iter()
                .map(|&i| rows.iter().map(|&j| g[i].iter().zip(&g[j]).map(|(x, y)| x * y).sum()).collect())
                .collect();
            let structure = symbolic(&permuted);
            let mut factor = BlockLdlt::new(&permuted.sizes, &structure);
            let start = starts(&permuted.sizes);
            let blocks = permuted.sizes.len() as u32;
            let mut fill = Vec::new();
            for j in 0..blocks {
                fill.push((j, j));
            }
            fill.extend(permuted.pairs.iter().copied());
            factor.clear();
            for (i, j) in fill {
                let tile = factor.target(i, j).unwrap() as usize;
                let (mi, mj) = (permuted.sizes[i as usize] as usize, permuted.sizes[j as usize] as usize);
                for r in 0..mi {
                    for s in 0..mj {
                        factor.values_mut()[tile + r * mj + s] = a[start[i as usize] + r][start[j as usize] + s];
                    }
                }
            }
            let reference: Vec<f64> = (0..rows.len()).map(|k| a[k][k]).collect();
            factor.factor(&reference, crate::linalg::DROP_FRACTIONS[2]);
            // a right side that a redundant system can meet: b = A y
            let mut noise = Noise(seed + 1000);
            let y: Vec<f64> = (0..rows.len()).map(|_| noise.next()).collect();
            let b: Vec<f64> = a.iter().map(|line| line.iter().zip(&y).map(|(p, q)| p * q).sum()).collect();
            let mut x = b.clone();
            factor.solve(&mut x);
            for (line, wanted) in a.iter().zip(&b) {
                let got: f64 = line.iter().zip(&x).map(|(p, q)| p * q).sum();
                assert!((got - wanted).abs() < 1e-6, "seed {seed}: {got} for {wanted}");
            }
            assert_eq!(rows.len() - factor.dropped_count(), rank, "seed {seed}");
            // pushes in two blocks: their answers are those of a solve that goes through all blocks
            let pushed = [noise.below(blocks as usize) as u32, noise.below(blocks as usize) as u32];
            let mut whole = vec![0.0; rows.len()];
            for k in pushed.iter().flat_map(|&j| start[j as usize]..start[j as usize + 1]) {
                whole[k] = noise.next();
            }
            let mut some: Vec<f64x8> = whole.iter().map(|&e| f64x8::splat(e)).collect();
            factor.solve(&mut whole);
            factor.solve_lanes_among(&factor.reached_from(&pushed), &mut some);
            let largest = whole.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
            for k in pushed.iter().flat_map(|&j| start[j as usize]..start[j as usize + 1]) {
                let got = some[k].to_array()[3];
                assert!((got - whole[k]).abs() <= 1e-9 * largest, "seed {seed}: {got} for {}", whole[k]);
            }
        }
    }
}
