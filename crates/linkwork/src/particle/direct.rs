//! The system of an implicit step by the engine's block factorisation: for ropes, trusses, cloth of some thousand points.
//!
//! A node of three rows for every particle, with SᵀAS of `implicit.rs` and something on the diagonal where S takes away.
//! Bodies that answer, and contacts that have changed since, are rows at the border of it (border.rs): its pattern is that
//! of the forces, whatever touches.

use super::border::{self, Base, Elastic};
use super::force::outer;
use super::implicit::{Grip, Hold};
use super::matrix::BlockMatrix;
use super::press::Press;
use super::rider::Riders;
use crate::linalg::{BlockPattern, Factor, block_ldlt, ordering};
use glam::{DMat3, DVec3};
use std::cmp::Ordering;

/// Multiply–adds from which particles are eliminated two at a time.
const LARGE_FLOPS: f64 = 1.5e6;
/// Multiply–adds up to which a factorisation is taken: three milliseconds.
const MOST_FLOPS: f64 = 3e7;
/// Coordinates of bodies that answer up to which it is taken.
const MOST_COORDINATES: usize = 256;

#[derive(Default)]
pub(super) struct Direct {
    layout: Option<Layout>,
    /// What the factor was made of, while the matrix has not been set up anew.
    base: Option<Base>,
}

struct Layout {
    start: Vec<u32>,
    column: Vec<u32>,
    flops: f64,
    /// Laid out only if it is wanted.
    factor: Option<Factor>,
    pattern: BlockPattern,
    /// By particle: the block of the pattern that it is in, the rows of that block before it, and its first row of all.
    place: Vec<u32>,
    offset: Vec<u32>,
    first_row: Vec<u32>,
    /// Where the blocks of the matrix go.
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

impl Direct {
    /// Whether a factorisation is cheaper than an iteration is likely to be.
    pub fn is_cheap(&mut self, matrix: &BlockMatrix, riders: &Riders) -> bool {
        riders.size <= MOST_COORDINATES && self.lay_out(matrix).flops <= MOST_FLOPS
    }

    /// The matrix has been set up anew.
    pub fn forget(&mut self) {
        self.base = None;
    }

    /// How the system that was factorised last answers to impulses.
    pub fn elastic(&self) -> Option<Elastic<'_>> {
        let (Some(Layout { factor: Some(factor), first_row, .. }), Some(base)) = (&self.layout, &self.base) else {
            return None;
        };
        Some(Elastic { factor, first_row, base })
    }

    fn lay_out(&mut self, matrix: &BlockMatrix) -> &mut Layout {
        if self.layout.as_ref().is_some_and(|l| l.column != matrix.column || l.start != matrix.start) {
            self.layout = None;
        }
        self.layout.get_or_insert_with(|| Layout::new(matrix))
    }

    /// Replaces residuals by changes of the unknowns, those of bodies included. The factor of an earlier solve serves as long as
    /// the matrix has not been set up anew and few contacts have changed.
    pub fn solve(
        &mut self,
        matrix: &BlockMatrix,
        now: (&[Hold], &[Press]),
        riders: &Riders,
        z: &mut [DVec3],
        of_units: &mut [f64],
    ) {
        self.lay_out(matrix);
        let Direct { layout: Some(layout), base } = self else { return };
        for _ in 0..2 {
            if base.is_none() {
                layout.factorise(matrix, now.0);
                *base = Some(Base { holds: now.0.to_vec(), presses: now.1.to_vec() });
            }
            let (Some(factor), Some(of)) = (&layout.factor, &*base) else { return };
            let row = |i: usize| layout.first_row[i] as usize;
            if border::solve(factor, row, matrix, of, (now.0, now.1, riders), z, of_units) {
                return;
            }
            *base = None;
        }
    }
}

impl Layout {
    fn new(matrix: &BlockMatrix) -> Layout {
        let n = matrix.diagonal.len();
        let of_row = |i: usize| matrix.column[matrix.row(i)].iter().map(move |&j| (i as u32, j));
        let pattern = BlockPattern { sizes: vec![3; n], pairs: (0..n).flat_map(of_row).collect() };
        let order = ordering::elimination_order(&pattern);
        let permuted = pattern.permuted(&order);
        let structure = block_ldlt::symbolic(&permuted);
        let cost = block_ldlt::cost(&permuted.sizes, &structure);
        let block = match cost.flops > LARGE_FLOPS {
            true => in_pairs(&structure),
            false => (0..n as u32).collect(),
        };
        let (mut place, mut first_row, mut offset) = (vec![0; n], vec![0; n], vec![0; n]);
        for (k, &old) in order.iter().enumerate() {
            let old = old as usize;
            place[old] = block[k];
            if k > 0 && block[k] == block[k - 1] {
                offset[old] = 3;
            }
            first_row[old] = 3 * k as u32;
        }
        Layout {
            start: matrix.start.clone(),
            column: matrix.column.clone(),
            flops: cost.flops,
            factor: None,
            pattern: permuted.gathered(&block),
            place,
            offset,
            first_row,
            targets: Vec::new(),
        }
    }

    /// Finds out where the blocks of the matrix go: its diagonal, then what is below it.
    fn aim(&mut self, factor: &Factor) {
        let n = self.place.len();
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

    fn factorise(&mut self, matrix: &BlockMatrix, holds: &[Hold]) {
        let n = holds.len();
        let mut factor = match self.factor.take() {
            Some(factor) => factor,
            None => {
                let factor = Factor::definite(&self.pattern);
                self.aim(&factor);
                factor
            }
        };
        let values = factor.clear();
        let own: Vec<Option<DMat3>> = holds.iter().map(left_free).collect();
        for i in 0..n {
            let mut block = between(own[i], &matrix.diagonal[i], own[i]);
            // what S takes away
            block += match &holds[i] {
                Hold::Free => DMat3::ZERO,
                Hold::Contact { grip: Grip::Drag(_), normal, .. } => {
                    outer(*normal, *normal) * matrix.diagonal[i].col(0).x
                }
                _ => DMat3::IDENTITY,
            };
            self.targets[i].add(values, &block);
            for k in matrix.row(i) {
                let block = between(own[i], &matrix.lower[k], own[matrix.column[k] as usize]);
                self.targets[n + k].add(values, &block);
            }
        }
        let mut reference = vec![0.0; 3 * n];
        for i in 0..n {
            let Target { first, stride, .. } = self.targets[i];
            let row = self.first_row[i] as usize;
            (0..3).for_each(|r| reference[row + r] = values[first as usize + r * (stride as usize + 1)]);
        }
        factor.factor(&reference, 1e-14);
        self.factor = Some(factor);
    }
}

/// What a hold leaves of a particle's own velocity: `None` all of it.
fn left_free(hold: &Hold) -> Option<DMat3> {
    match hold {
        Hold::Free => None,
        Hold::Contact { grip: Grip::Drag(_), normal, .. } => {
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
fn in_pairs(structure: &[Vec<u32>]) -> Vec<u32> {
    let (mut block, mut count, mut k) = (Vec::with_capacity(structure.len()), 0, 0);
    while k < structure.len() {
        // what is below the first is then below the second too
        let fits = |next: &Vec<u32>| {
            structure[k].first() == Some(&(k as u32 + 1))
                && (next.len() + 1 - structure[k].len()) * PADDING <= next.len() + PADDING
        };
        let pair = structure.get(k + 1).is_some_and(fits);
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
