//! The system of an implicit step by the engine's block factorisation: for ropes, trusses and whatever is too stiff for an
//! iteration.
//!
//! The unknowns are those of `implicit.rs`: a node of three rows for every particle, and nodes of up to six for the
//! coordinates of every unit of riders; with v = S z + T y the blocks are SᵀAS, TᵀAS, TᵀAT. What S takes away gets ones
//! on its diagonal.

use super::implicit::{Grip, Hold};
use super::matrix::BlockMatrix;
use super::rider::Riders;
use crate::linalg::{BlockPattern, Factor, block_ldlt, ordering};
use glam::{DMat3, DVec3};

/// Multiply–adds up to which the factorisation is taken at once, and up to which it is taken at all.
const CHEAP_FLOPS: f64 = 1.5e6;
const MOST_FLOPS: f64 = 3e7;
/// Rows of a node at most.
const MOST_ROWS: usize = 6;

#[derive(Default)]
pub(super) struct Direct {
    layout: Option<Layout>,
}

struct Layout {
    start: Vec<u32>,
    column: Vec<u32>,
    /// Unit of each particle, with whether the particle itself is free along the surface.
    coupled: Vec<(u32, bool)>,
    /// Coordinates of each unit.
    units: Vec<usize>,
    /// Nodes of all units, after those of the particles: first coordinate and count.
    nodes: Vec<(usize, usize)>,
    flops: f64,
    /// Laid out only if it is wanted.
    factor: Option<Factor>,
    pattern: BlockPattern,
    place: Vec<u32>,
    first_row: Vec<u32>,
}

const NONE: u32 = u32::MAX;

fn coupling(hold: &Hold, riders: &Riders) -> (u32, bool) {
    let unit = |k: usize| riders.bodies[k].unit as u32;
    match hold {
        Hold::Free | Hold::Fixed | Hold::Contact { rider: None, .. } => (NONE, true),
        Hold::Contact { rider: Some((k, _)), .. } => (unit(*k), true),
        Hold::Attached { rider, .. } => (unit(*rider), false),
    }
}

/// Nodes of a unit, counted from the first node of a unit.
fn nodes_of(units: &[usize], unit: usize) -> std::ops::Range<usize> {
    let before: usize = units[..unit].iter().map(|d| d.div_ceil(MOST_ROWS)).sum();
    before..before + units[unit].div_ceil(MOST_ROWS)
}

/// A part of a particle's velocity: the node it belongs to, and its columns.
struct Part {
    node: usize,
    columns: Vec<DVec3>,
}

impl Layout {
    fn parts(&self, hold: &Hold, i: usize, riders: &Riders) -> Vec<Part> {
        let n = self.coupled.len();
        let own = |s: DMat3| Part { node: i, columns: vec![s.x_axis, s.y_axis, s.z_axis] };
        let of_rider = |k: usize, lever: DVec3, along: Option<DVec3>, parts: &mut Vec<Part>| {
            let columns: Vec<DVec3> =
                riders.point_motions(k, lever).map(|c| along.map_or(c, |normal| normal * normal.dot(c))).collect();
            let nodes = nodes_of(&self.units, riders.bodies[k].unit);
            for (node, chunk) in nodes.zip(columns.chunks(MOST_ROWS)) {
                parts.push(Part { node: n + node, columns: chunk.to_vec() });
            }
        };
        let mut parts = Vec::new();
        match hold {
            Hold::Free => parts.push(own(DMat3::IDENTITY)),
            Hold::Fixed => {}
            Hold::Contact { grip: Grip::Stick, rider, .. } => {
                if let Some((k, lever)) = rider {
                    of_rider(*k, *lever, None, &mut parts);
                }
            }
            Hold::Contact { normal, rider, .. } => {
                parts.push(own(DMat3::IDENTITY - super::force::outer(*normal, *normal)));
                if let Some((k, lever)) = rider {
                    of_rider(*k, *lever, Some(*normal), &mut parts);
                }
            }
            Hold::Attached { rider, lever, .. } => of_rider(*rider, *lever, None, &mut parts),
        }
        parts
    }
}

impl Direct {
    /// Whether a factorisation is cheaper than an iteration is likely to be.
    pub fn is_cheap(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: &Riders) -> bool {
        self.lay_out(matrix, holds, riders).flops <= CHEAP_FLOPS
    }

    fn lay_out(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: &Riders) -> &mut Layout {
        let coupled = || holds.iter().map(|h| coupling(h, riders));
        let units = || riders.units.iter().map(|u| u.z.len());
        let same = self.layout.as_ref().is_some_and(|l| {
            l.units.iter().copied().eq(units())
                && l.column == matrix.column
                && l.start == matrix.start
                && l.coupled.iter().copied().eq(coupled())
        });
        if !same {
            self.layout = None;
        }
        self.layout.get_or_insert_with(|| Layout::new(matrix, coupled().collect(), units().collect()))
    }

    /// Replaces residuals by changes of the unknowns; false if the system is too large.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        holds: &[Hold],
        riders: &Riders,
        z: &mut [DVec3],
        of_units: &mut [f64],
    ) -> bool {
        let layout = self.lay_out(matrix, holds, riders);
        if layout.flops > MOST_FLOPS {
            return false;
        }
        layout.factorise(matrix, holds, riders);
        layout.solve(z, of_units);
        true
    }

    /// Factorises the system, for solves to come.
    pub fn factorise(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: &Riders) {
        self.lay_out(matrix, holds, riders).factorise(matrix, holds, riders);
    }

    /// Replaces residuals by changes of the unknowns, by the last factor.
    pub fn apply(&mut self, z: &mut [DVec3], of_units: &mut [f64]) {
        if let Some(layout) = &mut self.layout {
            layout.solve(z, of_units);
        }
    }
}

impl Layout {
    fn new(matrix: &BlockMatrix, coupled: Vec<(u32, bool)>, units: Vec<usize>) -> Layout {
        let n = matrix.diagonal.len();
        let mut pairs = Vec::with_capacity(matrix.column.len());
        let mut add = |a: usize, b: usize| {
            if a != b {
                pairs.push((a.max(b) as u32, a.min(b) as u32));
            }
        };
        let nodes = |i: usize| {
            let (unit, own) = coupled[i];
            let of_unit = if unit == NONE { 0..0 } else { nodes_of(&units, unit as usize) };
            own.then_some(i).into_iter().chain(of_unit.map(|k| n + k))
        };
        for i in 0..n {
            for a in nodes(i) {
                nodes(i).for_each(|b| add(a, b));
            }
            for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
                for a in nodes(i) {
                    nodes(matrix.column[k] as usize).for_each(|b| add(a, b));
                }
            }
        }
        let (mut of_units, mut first) = (Vec::new(), 0);
        for &d in &units {
            of_units.extend((0..d).step_by(MOST_ROWS).map(|k| (first + k, (d - k).min(MOST_ROWS))));
            first += d;
        }
        let mut sizes = vec![3; n];
        sizes.extend(of_units.iter().map(|(_, count)| *count as u8));
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
            units,
            nodes: of_units,
            flops: cost.flops,
            factor: None,
            pattern: permuted,
            place,
            first_row,
        }
    }

    fn factorise(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: &Riders) {
        let n = holds.len();
        let mut factor = self.factor.take().unwrap_or_else(|| Factor::new(&self.pattern));
        factor.clear();
        let parts: Vec<Vec<Part>> = (0..n).map(|i| self.parts(&holds[i], i, riders)).collect();
        for i in 0..n {
            add_product(&mut factor, &self.place, &parts[i], &matrix.diagonal[i], &parts[i], true);
            for k in matrix.start[i] as usize..matrix.start[i + 1] as usize {
                let j = matrix.column[k] as usize;
                add_product(&mut factor, &self.place, &parts[i], &matrix.lower[k], &parts[j], false);
            }
        }
        let rows = self.pattern.sizes.iter().map(|s| *s as usize).sum();
        let mut reference = vec![0.0; rows];
        for node in 0..n + self.nodes.len() {
            let (m, k) = (if node < n { 3 } else { self.nodes[node - n].1 }, self.place[node]);
            let Some(tile) = factor.target(k, k) else { continue };
            let tile = tile as usize;
            let values = factor.values_mut();
            if node < n {
                // what S takes away
                let fill = match &holds[node] {
                    Hold::Free => DMat3::ZERO,
                    Hold::Fixed | Hold::Attached { .. } | Hold::Contact { grip: Grip::Stick, .. } => DMat3::IDENTITY,
                    Hold::Contact { normal, .. } => {
                        super::force::outer(*normal, *normal) * matrix.diagonal[node].col(0).x
                    }
                };
                for r in 0..3 {
                    for c in 0..3 {
                        values[tile + r * 3 + c] += fill.col(c)[r];
                    }
                }
            } else {
                (0..m).for_each(|r| values[tile + r * m + r] += 1.0);
            }
            let row = self.first_row[node] as usize;
            for r in 0..m {
                reference[row + r] = values[tile + r * m + r];
            }
        }
        factor.factor(&reference, 1e-14);
        self.factor = Some(factor);
    }

    fn solve(&mut self, z: &mut [DVec3], of_units: &mut [f64]) {
        let n = z.len();
        let Some(factor) = &mut self.factor else { return };
        let rows = self.pattern.sizes.iter().map(|s| *s as usize).sum();
        let mut x = vec![0.0; rows];
        for node in 0..n + self.nodes.len() {
            let row = self.first_row[node] as usize;
            match node < n {
                true => z[node].write_to_slice(&mut x[row..]),
                false => {
                    let (first, m) = self.nodes[node - n];
                    x[row..row + m].copy_from_slice(&of_units[first..first + m]);
                }
            }
        }
        factor.solve(&mut x);
        for node in 0..n + self.nodes.len() {
            let row = self.first_row[node] as usize;
            match node < n {
                true => z[node] = DVec3::from_slice(&x[row..]),
                false => {
                    let (first, m) = self.nodes[node - n];
                    of_units[first..first + m].copy_from_slice(&x[row..row + m]);
                }
            }
        }
    }
}

/// Adds LᵀAR to the tiles below the diagonal; off the diagonal of A its transpose belongs to the same tiles.
fn add_product(factor: &mut Factor, place: &[u32], left: &[Part], a: &DMat3, right: &[Part], diagonal: bool) {
    for l in left {
        for r in right {
            // A's own diagonal block gives both halves of what couples its two parts: one is enough
            if diagonal && place[l.node] < place[r.node] {
                continue;
            }
            let (rows, columns) = (l.columns.len(), r.columns.len());
            let mut product = [[0.0; MOST_ROWS]; MOST_ROWS];
            for q in 0..columns {
                let answer = *a * r.columns[q];
                for p in 0..rows {
                    product[p][q] = l.columns[p].dot(answer);
                }
            }
            let (i, j) = (place[l.node], place[r.node]);
            let Some(tile) = factor.target(i.max(j), i.min(j)) else { continue };
            let (tile, values) = (tile as usize, factor.values_mut());
            let both = i == j && !diagonal;
            for p in 0..rows {
                for q in 0..columns {
                    if i >= j {
                        values[tile + p * columns + q] += product[p][q];
                    }
                    if i < j || both {
                        values[tile + q * rows + p] += product[p][q];
                    }
                }
            }
        }
    }
}
