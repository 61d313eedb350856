//! The system of an implicit step by the engine's block factorisation: for ropes, trusses and whatever is too stiff for an
//! iteration.
//!
//! The unknowns are those of `implicit.rs`: a node of three rows for every particle and of six for every rider; with
//! v = S z + T V the blocks are SᵀAS, TᵀAS, TᵀAT. What S takes away gets ones on its diagonal.

use super::implicit::{Hold, Rider, cross_matrix};
use super::matrix::BlockMatrix;
use crate::linalg::{BlockPattern, Factor, block_ldlt, ordering};
use glam::{DMat3, DVec3};

/// Multiply–adds up to which the factorisation is taken at once, and up to which it is taken at all.
const CHEAP_FLOPS: f64 = 1.5e6;
const MOST_FLOPS: f64 = 3e7;

#[derive(Default)]
pub(super) struct Direct {
    layout: Option<Layout>,
}

struct Layout {
    start: Vec<u32>,
    column: Vec<u32>,
    /// Rider of each particle, with whether the particle itself is free along the surface.
    coupled: Vec<(u32, bool)>,
    riders: usize,
    flops: f64,
    /// Laid out only if it is wanted.
    factor: Option<Factor>,
    pattern: BlockPattern,
    place: Vec<u32>,
    first_row: Vec<u32>,
}

const NONE: u32 = u32::MAX;

fn coupling(hold: &Hold) -> (u32, bool) {
    match hold {
        Hold::Free | Hold::Fixed | Hold::Contact { rider: None, .. } => (NONE, true),
        Hold::Contact { rider: Some((k, _)), .. } => (*k as u32, true),
        Hold::Attached { rider, .. } => (*rider as u32, false),
    }
}

/// A part of a particle's velocity: the node it belongs to, and three rows by three or six columns.
#[derive(Clone, Copy)]
struct Part {
    node: usize,
    columns: usize,
    m: [[f64; 6]; 3],
}

fn parts(hold: &Hold, i: usize, n: usize) -> [Option<Part>; 2] {
    let own = |s: DMat3| {
        let mut m = [[0.0; 6]; 3];
        for r in 0..3 {
            for c in 0..3 {
                m[r][c] = s.col(c)[r];
            }
        }
        Some(Part { node: i, columns: 3, m })
    };
    let of_rider = |k: usize, lever: DVec3, only: DMat3| {
        let arm = only * cross_matrix(lever) * -1.0;
        let mut m = [[0.0; 6]; 3];
        for r in 0..3 {
            for c in 0..3 {
                m[r][c] = only.col(c)[r];
                m[r][c + 3] = arm.col(c)[r];
            }
        }
        Some(Part { node: n + k, columns: 6, m })
    };
    match hold {
        Hold::Free => [own(DMat3::IDENTITY), None],
        Hold::Fixed => [None, None],
        Hold::Contact { normal, rider, .. } => {
            let across = super::force::outer(*normal, *normal);
            [own(DMat3::IDENTITY - across), rider.and_then(|(k, lever)| of_rider(k, lever, across))]
        }
        Hold::Attached { rider, lever, .. } => [None, of_rider(*rider, *lever, DMat3::IDENTITY)],
    }
}

impl Direct {
    /// Whether a factorisation is cheaper than an iteration is likely to be.
    pub fn is_cheap(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: usize) -> bool {
        self.lay_out(matrix, holds, riders).flops <= CHEAP_FLOPS
    }

    fn lay_out(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: usize) -> &mut Layout {
        let coupled = || holds.iter().map(coupling);
        let same = self.layout.as_ref().is_some_and(|l| {
            l.riders == riders
                && l.column == matrix.column
                && l.start == matrix.start
                && l.coupled.iter().copied().eq(coupled())
        });
        if !same {
            self.layout = None;
        }
        self.layout.get_or_insert_with(|| Layout::new(matrix, coupled().collect(), riders))
    }

    /// Replaces residuals by changes of the unknowns; false if the system is too large.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        holds: &[Hold],
        riders: &[Rider],
        z: &mut [DVec3],
        of_riders: &mut [(DVec3, DVec3)],
    ) -> bool {
        let layout = self.lay_out(matrix, holds, riders.len());
        if layout.flops > MOST_FLOPS {
            return false;
        }
        layout.solve(matrix, holds, riders, z, of_riders);
        true
    }
}

impl Layout {
    fn new(matrix: &BlockMatrix, coupled: Vec<(u32, bool)>, riders: usize) -> Layout {
        let n = matrix.diagonal.len();
        let mut pairs = Vec::with_capacity(matrix.column.len());
        let mut add = |a: u32, b: u32| {
            if a != b {
                pairs.push((a.max(b), a.min(b)));
            }
        };
        let nodes = |i: usize| {
            let (rider, own) = coupled[i];
            [own.then_some(i as u32), (rider != NONE).then(|| n as u32 + rider)]
        };
        for i in 0..n {
            let here = nodes(i);
            if let [Some(a), Some(b)] = here {
                add(a, b);
            }
            for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
                for a in here.into_iter().flatten() {
                    nodes(matrix.column[k] as usize).into_iter().flatten().for_each(|b| add(a, b));
                }
            }
        }
        let mut sizes = vec![3; n];
        sizes.resize(n + riders, 6);
        let pattern = BlockPattern { sizes, pairs };
        let order = ordering::elimination_order(&pattern);
        let permuted = pattern.permuted(&order);
        let cost = block_ldlt::cost(&permuted.sizes, &block_ldlt::symbolic(&permuted));
        let (mut place, mut first_row) = (vec![0; order.len()], vec![0; order.len()]);
        let mut row = 0;
        for (k, &old) in order.iter().enumerate() {
            place[old as usize] = k as u32;
            first_row[old as usize] = row;
            row += u32::from(pattern.sizes[old as usize]);
        }
        Layout {
            start: matrix.start.clone(),
            column: matrix.column.clone(),
            coupled,
            riders,
            flops: cost.flops,
            factor: None,
            pattern: permuted,
            place,
            first_row,
        }
    }

    fn solve(
        &mut self,
        matrix: &BlockMatrix,
        holds: &[Hold],
        riders: &[Rider],
        z: &mut [DVec3],
        of_riders: &mut [(DVec3, DVec3)],
    ) {
        let n = holds.len();
        let factor = self.factor.get_or_insert_with(|| Factor::new(&self.pattern));
        let sizes = |node: usize| if node < n { 3 } else { 6 };
        factor.clear();
        for i in 0..n {
            let left = parts(&holds[i], i, n);
            add_product(factor, &self.place, &left, &matrix.diagonal[i], &left, true);
            for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
                let j = matrix.column[k] as usize;
                add_product(factor, &self.place, &left, &matrix.lower[k], &parts(&holds[j], j, n), false);
            }
        }
        let rows = self.pattern.sizes.iter().map(|s| *s as usize).sum();
        let (mut reference, mut x) = (vec![0.0; rows], vec![0.0; rows]);
        for node in 0..n + riders.len() {
            let (m, k) = (sizes(node), self.place[node]);
            let Some(tile) = factor.target(k, k) else { continue };
            let tile = tile as usize;
            let values = factor.values_mut();
            if node < n {
                // what S takes away
                let fill = match &holds[node] {
                    Hold::Free => DMat3::ZERO,
                    Hold::Contact { normal, .. } => {
                        super::force::outer(*normal, *normal) * matrix.diagonal[node].col(0).x
                    }
                    Hold::Fixed | Hold::Attached { .. } => DMat3::IDENTITY,
                };
                for r in 0..3 {
                    for c in 0..3 {
                        values[tile + r * 3 + c] += fill.col(c)[r];
                    }
                }
            } else {
                let body = &riders[node - n];
                for r in 0..3 {
                    values[tile + r * 7] += body.mass;
                    for c in 0..3 {
                        values[tile + (r + 3) * 6 + c + 3] += body.inertia.col(c)[r];
                    }
                }
            }
            let row = self.first_row[node] as usize;
            for r in 0..m {
                reference[row + r] = values[tile + r * m + r];
            }
            match node < n {
                true => z[node].write_to_slice(&mut x[row..]),
                false => {
                    of_riders[node - n].0.write_to_slice(&mut x[row..]);
                    of_riders[node - n].1.write_to_slice(&mut x[row + 3..]);
                }
            }
        }
        factor.factor(&reference, 1e-14);
        factor.solve(&mut x);
        for node in 0..n + riders.len() {
            let row = self.first_row[node] as usize;
            match node < n {
                true => z[node] = DVec3::from_slice(&x[row..]),
                false => of_riders[node - n] = (DVec3::from_slice(&x[row..]), DVec3::from_slice(&x[row + 3..])),
            }
        }
    }
}

/// Adds LᵀAR to the tiles below the diagonal; off the diagonal of A its transpose belongs to the same tiles.
fn add_product(
    factor: &mut Factor,
    place: &[u32],
    left: &[Option<Part>; 2],
    a: &DMat3,
    right: &[Option<Part>; 2],
    diagonal: bool,
) {
    for l in left.iter().flatten() {
        for r in right.iter().flatten() {
            // A's own diagonal block gives both halves of what couples its two parts: one is enough
            if diagonal && place[l.node] < place[r.node] {
                continue;
            }
            let mut product = [[0.0; 6]; 6];
            for i in 0..3 {
                for j in 0..3 {
                    let value = a.col(j)[i];
                    for p in 0..l.columns {
                        for q in 0..r.columns {
                            product[p][q] += l.m[i][p] * value * r.m[j][q];
                        }
                    }
                }
            }
            let (i, j) = (place[l.node], place[r.node]);
            let Some(tile) = factor.target(i.max(j), i.min(j)) else { continue };
            let (tile, values) = (tile as usize, factor.values_mut());
            let both = i == j && !diagonal;
            for p in 0..l.columns {
                for q in 0..r.columns {
                    if i >= j {
                        values[tile + p * r.columns + q] += product[p][q];
                    }
                    if i < j || both {
                        values[tile + q * l.columns + p] += product[p][q];
                    }
                }
            }
        }
    }
}
