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
use std::cmp::Ordering;

/// Multiply–adds up to which the factorisation is taken at once. Where riders hang on particles its pattern changes with the
/// contacts and must be laid out anew each time, which only small systems are quick at.
const CHEAP_FLOPS: f64 = 1.5e6;
/// Multiply–adds up to which it is taken at once without riders, and at all with them: three milliseconds.
const MOST_FLOPS: f64 = 3e7;
/// Rows of a node at most.
const MOST_ROWS: usize = 6;

#[derive(Default)]
pub(super) struct Direct {
    layout: Option<Layout>,
    /// What the matrix costs without riders, with its pattern.
    alone: Option<Alone>,
}

struct Alone {
    start: Vec<u32>,
    column: Vec<u32>,
    flops: f64,
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
    /// By node: the block of the pattern that it is in, the rows of that block before it, and its first row of all.
    place: Vec<u32>,
    offset: Vec<u32>,
    first_row: Vec<u32>,
    /// Where the blocks of the matrix go, if no rider stands between.
    targets: Vec<Target>,
}

/// Where a block of the matrix goes: its first entry among the factor's, the length of rows there, and whether it is transposed
/// on the way, or wanted both ways.
#[derive(Clone, Copy)]
struct Target {
    first: u32,
    stride: u32,
    way: Way,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Straight,
    Transposed,
    /// Two particles in one block of the factor.
    Both {
        other: u32,
    },
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
        let without_riders = holds.iter().all(|h| coupling(h, riders).0 == NONE);
        let alone = self.cost_alone(matrix);
        match without_riders {
            true => alone <= MOST_FLOPS,
            false => alone <= CHEAP_FLOPS && self.lay_out(matrix, holds, riders).flops <= CHEAP_FLOPS,
        }
    }

    fn cost_alone(&mut self, matrix: &BlockMatrix) -> f64 {
        match &self.alone {
            Some(alone) if alone.column == matrix.column && alone.start == matrix.start => alone.flops,
            _ => {
                let n = matrix.diagonal.len();
                let flops = Layout::new(matrix, vec![(NONE, true); n], Vec::new()).flops;
                let (start, column) = (matrix.start.clone(), matrix.column.clone());
                self.alone = Some(Alone { start, column, flops });
                flops
            }
        }
    }

    /// Whether a factorisation is worth while at all.
    pub fn is_bearable(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: &Riders) -> bool {
        self.lay_out(matrix, holds, riders).flops <= MOST_FLOPS
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

    /// Replaces residuals by changes of the unknowns.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        holds: &[Hold],
        riders: &Riders,
        z: &mut [DVec3],
        of_units: &mut [f64],
    ) {
        let layout = self.lay_out(matrix, holds, riders);
        layout.factorise(matrix, holds, riders);
        layout.solve(z, of_units);
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
        let structure = block_ldlt::symbolic(&permuted);
        let cost = block_ldlt::cost(&permuted.sizes, &structure);
        let is_particle = |k: usize| (order[k] as usize) < n;
        let block = match cost.flops > CHEAP_FLOPS {
            true => in_pairs(&structure, is_particle),
            false => (0..order.len() as u32).collect(),
        };
        let (mut place, mut first_row) = (vec![0; order.len()], vec![0; order.len()]);
        let mut offset = vec![0; order.len()];
        let mut row = 0;
        for (k, &old) in order.iter().enumerate() {
            let old = old as usize;
            place[old] = block[k];
            if k > 0 && block[k] == block[k - 1] {
                offset[old] = 3;
            }
            first_row[old] = row;
            row += u32::from(pattern.sizes[old]);
        }
        let permuted = permuted.gathered(&block);
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
            offset,
            first_row,
            targets: Vec::new(),
        }
    }

    /// Finds out where the blocks of the matrix go: its diagonal, then what is below it.
    fn aim(&mut self, factor: &Factor) {
        let n = self.coupled.len();
        let of = |i: usize, j: usize| {
            let (pi, pj) = (self.place[i], self.place[j]);
            let stride = u32::from(self.pattern.sizes[pi.min(pj) as usize]);
            let tile = factor.target(pi.max(pj), pi.min(pj)).unwrap_or(0);
            let at = |row: usize, column: usize| tile + self.offset[row] * stride + self.offset[column];
            match pi.cmp(&pj) {
                Ordering::Greater => Target { first: at(i, j), stride, way: Way::Straight },
                Ordering::Less => Target { first: at(j, i), stride, way: Way::Transposed },
                Ordering::Equal if i == j => Target { first: at(i, j), stride, way: Way::Straight },
                Ordering::Equal => Target { first: at(i, j), stride, way: Way::Both { other: at(j, i) } },
            }
        };
        let below = (0..n).flat_map(|i| {
            self.column[self.start[i] as usize..self.start[i + 1] as usize].iter().map(move |&j| (i, j as usize))
        });
        self.targets = (0..n).map(|i| (i, i)).chain(below).map(|(i, j)| of(i, j)).collect();
    }

    fn factorise(&mut self, matrix: &BlockMatrix, holds: &[Hold], riders: &Riders) {
        let n = holds.len();
        let mut factor = match self.factor.take() {
            Some(factor) => factor,
            None => {
                let factor = Factor::new(&self.pattern);
                self.aim(&factor);
                factor
            }
        };
        factor.clear();
        // with v = S z + T y: S alone where no rider is, which is most often nothing to do
        let alone = |i: usize| self.coupled[i].0 == NONE;
        let parts: Vec<Vec<Part>> =
            (0..n).map(|i| if alone(i) { Vec::new() } else { self.parts(&holds[i], i, riders) }).collect();
        let own: Vec<Option<DMat3>> = holds.iter().map(left_free).collect();
        for i in 0..n {
            let mut enter = |k: usize, j: usize, block: &DMat3| match (alone(i), alone(j)) {
                (true, true) => self.targets[k].add(factor.values_mut(), &between(own[i], block, own[j])),
                (one, other) => {
                    let (mine, theirs);
                    let left = if one {
                        mine = self.parts(&holds[i], i, riders);
                        &mine
                    } else {
                        &parts[i]
                    };
                    let right = if other {
                        theirs = self.parts(&holds[j], j, riders);
                        &theirs
                    } else {
                        &parts[j]
                    };
                    self.add_product(&mut factor, left, block, right, i == j);
                }
            };
            enter(i, i, &matrix.diagonal[i]);
            for k in matrix.row(i) {
                enter(n + k, matrix.column[k] as usize, &matrix.lower[k]);
            }
        }
        let rows = self.pattern.sizes.iter().map(|s| *s as usize).sum();
        let mut reference = vec![0.0; rows];
        for node in 0..n + self.nodes.len() {
            let (m, k) = (if node < n { 3 } else { self.nodes[node - n].1 }, self.place[node]);
            let Some(tile) = factor.target(k, k) else { continue };
            let stride = usize::from(self.pattern.sizes[k as usize]);
            let tile = tile as usize + self.offset[node] as usize * (stride + 1);
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
                        values[tile + r * stride + c] += fill.col(c)[r];
                    }
                }
            } else {
                (0..m).for_each(|r| values[tile + r * stride + r] += 1.0);
            }
            let row = self.first_row[node] as usize;
            for r in 0..m {
                reference[row + r] = values[tile + r * stride + r];
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

    /// Adds LᵀAR to the tiles below the diagonal; off the diagonal of A its transpose belongs to the same tiles.
    fn add_product(&self, factor: &mut Factor, left: &[Part], a: &DMat3, right: &[Part], diagonal: bool) {
        for l in left {
            for r in right {
                let (i, j) = (self.place[l.node], self.place[r.node]);
                // A's own diagonal block gives both halves of what couples its two parts: one is enough
                if diagonal && i < j {
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
                let Some(tile) = factor.target(i.max(j), i.min(j)) else { continue };
                let stride = usize::from(self.pattern.sizes[i.min(j) as usize]);
                let (of_l, of_r) = (self.offset[l.node] as usize, self.offset[r.node] as usize);
                let (tile, values) = (tile as usize, factor.values_mut());
                let both = i == j && !diagonal;
                for p in 0..rows {
                    for q in 0..columns {
                        if i >= j {
                            values[tile + (of_l + p) * stride + of_r + q] += product[p][q];
                        }
                        if i < j || both {
                            values[tile + (of_r + q) * stride + of_l + p] += product[p][q];
                        }
                    }
                }
            }
        }
    }
}

/// What a hold leaves of a particle's own velocity: `None` all of it.
fn left_free(hold: &Hold) -> Option<DMat3> {
    match hold {
        Hold::Free => None,
        Hold::Contact { grip: Grip::Slip(_), normal, .. } => {
            Some(DMat3::IDENTITY - super::force::outer(*normal, *normal))
        }
        _ => Some(DMat3::ZERO),
    }
}

/// S A S.
fn between(left: Option<DMat3>, a: &DMat3, right: Option<DMat3>) -> DMat3 {
    match (left, right) {
        (None, None) => *a,
        (Some(l), None) => l * *a,
        (None, Some(r)) => *a * r,
        (Some(l), Some(r)) => l * *a * r,
    }
}

impl Target {
    fn add(&self, values: &mut [f64], block: &DMat3) {
        let (first, stride) = (self.first as usize, self.stride as usize);
        let mut put = |first: usize, block: &DMat3| {
            for r in 0..3 {
                let row = &mut values[first + r * stride..first + r * stride + 3];
                (0..3).for_each(|c| row[c] += block.col(c)[r]);
            }
        };
        match self.way {
            Way::Straight => put(first, block),
            Way::Transposed => put(first, &block.transpose()),
            Way::Both { other } => {
                put(first, block);
                put(other as usize, &block.transpose());
            }
        }
    }
}

/// Zeros that a pair of particles may cost, against the blocks of the factor below it.
const PADDING: usize = 4;

/// Particles that are eliminated one after the other, with nearly the same blocks of the factor below them, two to a block:
/// larger blocks are faster than many. Returns the block of each.
fn in_pairs(structure: &[Vec<u32>], is_particle: impl Fn(usize) -> bool) -> Vec<u32> {
    let (mut block, mut count, mut k) = (Vec::with_capacity(structure.len()), 0, 0);
    while k < structure.len() {
        // what is below the first is then below the second too
        let fits = |next: &Vec<u32>| {
            structure[k].first() == Some(&(k as u32 + 1))
                && (next.len() + 1 - structure[k].len()) * PADDING <= next.len() + PADDING
        };
        let pair = is_particle(k) && structure.get(k + 1).is_some_and(|next| is_particle(k + 1) && fits(next));
        block.push(count);
        if pair {
            block.push(count);
            k += 1;
        }
        count += 1;
        k += 1;
    }
    block
}
