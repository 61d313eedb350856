//! Sparse symmetric block systems of joint rows.

pub(crate) mod block_ldlt;
pub(crate) mod box_qp;
pub(crate) mod kernels;
pub(crate) mod ordering;
pub(crate) mod supernodal;

/// A pivot below a fraction of its original diagonal belongs to a row that others already imply: the row is dropped.
///
/// Measured: genuine pivots of the scissor lifts and the strandbeest are above 1e-5, rounding in the lifts below 3e-6 (220
/// pairs) or 1e-6 (50 pairs). The first of these lies between; the next is tried when a test finds a constraint lost
/// (docs/method.md, Linear algebra).
pub(crate) const DROP_FRACTIONS: [f64; 6] = [5e-6, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14];
/// The same for mechanisms without loops, whose rows are always independent: only what is numerically zero is dropped,
/// so that a ton on a gram keeps its joint.
pub(crate) const DROP_FRACTION_OF_TREES: f64 = 1e-14;

/// The factorisation of a mechanism's system: our own block code, or the supernodal one where it is predicted to be faster.
pub(crate) enum Factor {
    /// Trees, chains, machines.
    Block(block_ldlt::BlockLdlt),
    /// Large meshes of loops.
    Supernodal(Box<supernodal::Supernodal>),
}

/// Multiply–adds above which the supernodal code is faster (docs/method.md, Linear algebra, says how it was measured).
const SUPERNODAL_FLOPS: f64 = 6e7;

macro_rules! delegate {
    ($self:ident, $f:ident => $call:expr) => {
        match $self {
            Factor::Block($f) => $call,
            Factor::Supernodal($f) => $call,
        }
    };
}

impl Default for Factor {
    fn default() -> Self {
        Factor::Block(block_ldlt::BlockLdlt::new(&[], &[]))
    }
}

impl Factor {
    /// Lays out the factor of a pattern in elimination order.
    pub fn new(pattern: &BlockPattern) -> Factor {
        Factor::with(pattern, block_ldlt::BlockLdlt::new)
    }

    /// The same for a matrix that is positive definite.
    pub fn definite(pattern: &BlockPattern) -> Factor {
        Factor::with(pattern, block_ldlt::BlockLdlt::definite)
    }

    fn with(pattern: &BlockPattern, block: fn(&[u8], &[Vec<u32>]) -> block_ldlt::BlockLdlt) -> Factor {
        let structure = block_ldlt::symbolic(pattern);
        let cost = block_ldlt::cost(&pattern.sizes, &structure);
        if cost.flops > SUPERNODAL_FLOPS
            && let Some(factor) = supernodal::Supernodal::new(pattern)
        {
            return Factor::Supernodal(Box::new(factor));
        }
        Factor::Block(block(&pattern.sizes, &structure))
    }

    /// Offset in the values of the tile of block row `i`, block column `j`, i ≥ j.
    pub fn target(&self, i: u32, j: u32) -> Option<u32> {
        delegate!(self, f => f.target(i, j))
    }

    /// The matrix to be factorised, zeroed.
    pub fn clear(&mut self) -> &mut [f64] {
        delegate!(self, f => f.clear())
    }

    /// The matrix to be factorised.
    pub fn values_mut(&mut self) -> &mut [f64] {
        delegate!(self, f => f.values_mut())
    }

    /// Factorises what the values hold; `reference` is each row's diagonal before anything is eliminated, in full, and
    /// `fraction` that of it below which a pivot is dropped.
    pub fn factor(&mut self, reference: &[f64], fraction: f64) {
        delegate!(self, f => f.factor(reference, fraction));
    }

    /// Replaces `x` by A⁻¹x on the independent rows, zero on the dropped ones.
    pub fn solve(&self, x: &mut [f64]) {
        delegate!(self, f => f.solve(x));
    }

    /// Whether a scalar row was dropped.
    pub fn is_dropped(&self, row: usize) -> bool {
        delegate!(self, f => f.is_dropped(row))
    }

    /// Redundant rows found by the last factorisation.
    pub fn dropped_count(&self) -> usize {
        delegate!(self, f => f.dropped_count())
    }

    /// Scalar entries of the factor.
    pub fn entries(&self) -> usize {
        match self {
            Factor::Block(f) => f.factor_entries(),
            Factor::Supernodal(f) => f.factor_entries(),
        }
    }
}

/// Sizes of the diagonal blocks and the off-diagonal blocks that are not zero, as pairs (row, column) with row > column.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockPattern {
    pub sizes: Vec<u8>,
    pub pairs: Vec<(u32, u32)>,
}

impl BlockPattern {
    /// Numbers in the blocks on and below the diagonal; diagonal blocks whole, as a factor keeps them.
    pub fn entries(&self) -> usize {
        let size = |block: u32| usize::from(self.sizes[block as usize]);
        let diagonal: usize = self.sizes.iter().map(|&m| usize::from(m) * usize::from(m)).sum();
        diagonal + self.pairs.iter().map(|&(i, j)| size(i) * size(j)).sum::<usize>()
    }

    /// The pattern with block `order[k]` as block k, pairs sorted by column and without repeats.
    pub fn permuted(&self, order: &[u32]) -> BlockPattern {
        let mut place = vec![0_u32; order.len()];
        for (k, &old) in order.iter().enumerate() {
            place[old as usize] = k as u32;
        }
        let sizes = order.iter().map(|&old| self.sizes[old as usize]).collect();
        let mut pairs: Vec<(u32, u32)> = self
            .pairs
            .iter()
            .map(|&(i, j)| {
                let (i, j) = (place[i as usize], place[j as usize]);
                (i.max(j), i.min(j))
            })
            .collect();
        pairs.sort_unstable_by_key(|&(i, j)| (j, i));
        pairs.dedup();
        BlockPattern { sizes, pairs }
    }

    /// The pattern with neighbouring blocks made one: block k becomes part of `block[k]`.
    pub fn gathered(&self, block: &[u32]) -> BlockPattern {
        let mut sizes = vec![0; block.last().map_or(0, |last| *last as usize + 1)];
        block.iter().zip(&self.sizes).for_each(|(b, size)| sizes[*b as usize] += size);
        let of = |&(i, j): &(u32, u32)| (block[i as usize], block[j as usize]);
        let mut pairs: Vec<(u32, u32)> = self.pairs.iter().map(of).filter(|(i, j)| i != j).collect();
        pairs.sort_unstable_by_key(|&(i, j)| (j, i));
        pairs.dedup();
        BlockPattern { sizes, pairs }
    }
}
