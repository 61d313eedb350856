//! Newton's method on z = Σ Gᵀ λ(G z + b): the gradient of a convex function, so that the whole step is downhill and an
//! exact search along it always ends (contact.md, sections 1 and 3b).
//!
//! The matrix 1 + Σ Gᵀ (−∂λ/∂v) G couples units that touch; it is factorised by the engine's own block code, whose
//! layout is kept while the same units touch.

use super::problem::{Entry, Problem, Side};
use crate::linalg::BlockPattern;
use crate::linalg::block_ldlt::{BlockLdlt, symbolic};
use crate::linalg::ordering::elimination_order;
use crate::math::max_abs;

const BLOCK: u32 = 6;
const SIX: usize = BLOCK as usize;
/// Iterations after which what is left may be rounding.
const MANY: u32 = 8;
const MOST_ROUNDING: f64 = 1e-3;
const MOST_SEARCHES: u32 = 12;
/// Points that are tried after that.
const MOST_HALVES: u32 = 50;

/// Working memory of the method.
#[derive(Default)]
pub(super) struct Newton {
    factor: Option<Laid>,
    /// Whether the factor was made since [`Newton::prepare`].
    fresh: bool,
    residual: Vec<f64>,
    direction: Vec<f64>,
    reference: Vec<f64>,
    rates: Vec<[f64; 3]>,
    edges: Vec<(u32, u32)>,
}

/// A factor laid out for units and the pairs of them that touch.
#[derive(Clone)]
pub(super) struct Laid {
    units: Vec<(u32, u32)>,
    edges: Vec<(u32, u32)>,
    ldlt: BlockLdlt,
    /// Position of each block in elimination order, first block of each unit, scalar row of each coordinate.
    place: Vec<u32>,
    first_block: Vec<u32>,
    row: Vec<u32>,
}

/// What a call of [`Newton::solve`] did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub iterations: u32,
    /// What is left, as a velocity of a contact, m/s.
    pub residual: f64,
    /// The entry of which that is.
    pub worst: usize,
    pub converged: bool,
    /// Whether it was given up because its first iterations did not halve what was left.
    pub gave_up: bool,
}

impl Newton {
    /// The factor of the last solve, if it needed one.
    pub fn laid(&self) -> Option<&Laid> {
        self.factor.as_ref().filter(|_| self.fresh)
    }

    /// Prepares for a problem: the layout is made anew if other units touch than before.
    pub fn prepare(&mut self, problem: &Problem) {
        self.fresh = false;
        self.edges.clear();
        for entry in &problem.entries {
            let unit = |s: &Side| problem.units.partition_point(|u| u.0 <= s.first) as u32 - 1;
            for (k, side) in entry.sides.iter().enumerate().skip(1).filter(|(_, s)| s.size > 0) {
                let a = unit(side);
                for other in entry.sides[..k].iter().filter(|s| s.size > 0) {
                    let b = unit(other);
                    if a != b {
                        self.edges.push((a.max(b), a.min(b)));
                    }
                }
            }
        }
        self.edges.sort_unstable();
        self.edges.dedup();
        let same = self.factor.as_ref().is_some_and(|f| f.units == problem.units && f.edges == self.edges);
        if !same {
            self.factor = Some(Laid::new(&problem.units, &self.edges));
        }
    }

    /// Solves from `z`, leaving impulses and velocities in the entries, until contacts are within `tolerance` (m/s), in at most
    /// so many iterations.
    pub fn solve(&mut self, problem: &mut Problem, z: &mut [f64], tolerance: f64, most: u32) -> Outcome {
        self.solve_if_hopeful(problem, z, tolerance, most, u32::MAX)
    }

    /// The same, given up after `trial` iterations if those have not halved what was left.
    pub fn solve_if_hopeful(
        &mut self,
        problem: &mut Problem,
        z: &mut [f64],
        tolerance: f64,
        most: u32,
        trial: u32,
    ) -> Outcome {
        let n = problem.size;
        self.residual.resize(n, 0.0);
        self.rates.resize(problem.entries.len(), [0.0; 3]);
        let mut outcome = Outcome::default();
        let mut start = f64::INFINITY;
        loop {
            self.evaluate(problem, z);
            (outcome.residual, outcome.worst) = (0.0, 0);
            for (k, entry) in problem.entries.iter().enumerate() {
                let left = max_abs(problem.rates(entry, &self.residual));
                // what is not a number is the worst
                if left > outcome.residual || left.is_nan() {
                    (outcome.residual, outcome.worst) = (left, k);
                }
            }
            outcome.converged =
                outcome.residual <= tolerance || outcome.iterations >= MANY && outcome.residual <= rounding(problem, z);
            if outcome.iterations == 0 {
                start = outcome.residual;
            }
            outcome.gave_up = outcome.iterations == trial && outcome.residual > 0.5 * start;
            if outcome.converged || outcome.gave_up || outcome.iterations >= most || !outcome.residual.is_finite() {
                return outcome;
            }
            outcome.iterations += 1;
            self.find_direction(problem);
            let length = self.search(problem, z);
            for (z, d) in z.iter_mut().zip(&self.direction) {
                *z += length * d;
            }
        }
    }

    /// Velocities, impulses and the residual z − Gᵀλ.
    fn evaluate(&mut self, problem: &mut Problem, z: &[f64]) {
        self.residual.copy_from_slice(z);
        for k in 0..problem.entries.len() {
            let entry = &problem.entries[k];
            let mut v = problem.rates(entry, z);
            (0..3).for_each(|s| v[s] += entry.b[s]);
            let impulse = entry.answer(&v);
            problem.push(entry, &impulse.map(|p| -p), &mut self.residual);
            let entry = &mut problem.entries[k];
            (entry.velocity, entry.impulse) = (v, impulse);
        }
    }

    fn find_direction(&mut self, problem: &Problem) {
        let Some(laid) = &mut self.factor else { return };
        laid.assemble(problem, &mut self.reference);
        self.fresh = true;
        self.direction.clear();
        self.direction.resize(problem.size, 0.0);
        for (k, &row) in laid.row.iter().enumerate() {
            self.direction[row as usize] = -self.residual[k];
        }
        laid.ldlt.solve(&mut self.direction);
        // back from elimination order; `reference` is free again
        self.reference.copy_from_slice(&self.direction);
        for (k, &row) in laid.row.iter().enumerate() {
            self.direction[k] = self.reference[row as usize];
        }
        for (rate, entry) in self.rates.iter_mut().zip(&problem.entries) {
            *rate = problem.rates(entry, &self.direction);
        }
    }

    /// The length at which the residual is orthogonal to the direction, by regula falsi on a function that only rises. Where a light body
    /// meets a heavy one the function is flat up to where they meet and rises 10⁵ times faster from there on: what regula falsi does not
    /// find is found from above, by the slope there, or by halves.
    fn search(&self, problem: &Problem, z: &[f64]) -> f64 {
        let dz: f64 = self.direction.iter().zip(z).map(|(d, z)| d * z).sum();
        let dd: f64 = self.direction.iter().map(|d| d * d).sum();
        let velocity_at = |entry: &Entry, rate: &[f64; 3], a: f64| [0, 1, 2].map(|s| entry.velocity[s] + a * rate[s]);
        let slope_at = |a: f64| {
            let mut sum = dz + a * dd;
            for (entry, rate) in problem.entries.iter().zip(&self.rates) {
                let p = entry.answer(&velocity_at(entry, rate, a));
                sum -= (0..3).map(|s| p[s] * rate[s]).sum::<f64>();
            }
            sum
        };
        let bend_at = |a: f64| {
            let mut sum = dd;
            for (entry, rate) in problem.entries.iter().zip(&self.rates) {
                let slope = entry.slope(&velocity_at(entry, rate, a));
                sum += (0..3).map(|r| (0..3).map(|c| rate[r] * slope[r][c] * rate[c]).sum::<f64>()).sum::<f64>();
            }
            sum
        };
        let start = slope_at(0.0);
        let enough = 0.1 * start.abs();
        let (mut low, mut high) = ((0.0, start), (1.0, slope_at(1.0)));
        if high.1 <= enough {
            return 1.0;
        }
        for _ in 0..MOST_SEARCHES {
            let best = low.0 - low.1 * (high.0 - low.0) / (high.1 - low.1);
            let here = slope_at(best);
            if here.abs() <= enough {
                return best;
            }
            if here > 0.0 {
                high = (best, here);
                low.1 *= 0.5;
            } else {
                low = (best, here);
                high.1 *= 0.5;
            }
        }
        let (mut low, mut high) = (low.0, high.0);
        for _ in 0..MOST_HALVES {
            let from_above = high - slope_at(high) / bend_at(high);
            let best = if from_above > low && from_above < high { from_above } else { 0.5 * (low + high) };
            let here = slope_at(best);
            if here.abs() <= enough {
                return best;
            }
            *(if here > 0.0 { &mut high } else { &mut low }) = best;
        }
        // where it falls, not where it rises
        low
    }
}

/// What rounding alone may leave, m/s, but not what other contacts than those that round so much would feel.
fn rounding(problem: &Problem, z: &[f64]) -> f64 {
    problem.entries.iter().map(|entry| problem.rounding(entry, z)).fold(0.0, f64::max).min(MOST_ROUNDING)
}

impl Laid {
    fn new(units: &[(u32, u32)], edges: &[(u32, u32)]) -> Laid {
        let mut first_block = vec![0_u32];
        let mut sizes = Vec::new();
        for &(_, size) in units {
            let mut left = size;
            while left > 0 {
                sizes.push(left.min(BLOCK) as u8);
                left -= left.min(BLOCK);
            }
            first_block.push(sizes.len() as u32);
        }
        let blocks = |unit: u32| first_block[unit as usize]..first_block[unit as usize + 1];
        let mut pairs = Vec::new();
        for unit in 0..units.len() as u32 {
            for i in blocks(unit) {
                pairs.extend((blocks(unit).start..i).map(|j| (i, j)));
            }
        }
        for &(a, b) in edges {
            for i in blocks(a) {
                pairs.extend(blocks(b).map(|j| (i.max(j), i.min(j))));
            }
        }
        let pattern = BlockPattern { sizes, pairs };
        let order = elimination_order(&pattern);
        let permuted = pattern.permuted(&order);
        let ldlt = BlockLdlt::new(&permuted.sizes, &symbolic(&permuted));
        let mut place = vec![0_u32; order.len()];
        let mut start = vec![0_u32; order.len()];
        let mut at = 0;
        for (k, &old) in order.iter().enumerate() {
            place[old as usize] = k as u32;
            start[old as usize] = at;
            at += u32::from(permuted.sizes[k]);
        }
        let mut row = Vec::new();
        for (block, &size) in pattern.sizes.iter().enumerate() {
            row.extend((0..u32::from(size)).map(|r| start[block] + r));
        }
        Laid { units: units.to_vec(), edges: edges.to_vec(), ldlt, place, first_block, row }
    }

    /// Scalar row of each coordinate.
    pub fn rows(&self) -> &[u32] {
        &self.row
    }

    /// Replaces `x`, by rows, by what the factor makes of it.
    pub fn solve(&self, x: &mut [f64]) {
        self.ldlt.solve(x);
    }

    /// 1 + Gᵀ S G, factorised.
    fn assemble(&mut self, problem: &Problem, reference: &mut Vec<f64>) {
        self.ldlt.clear();
        reference.clear();
        reference.resize(problem.size, 1.0);
        for (unit, &(_, size)) in self.units.iter().enumerate() {
            for (k, block) in (self.first_block[unit]..self.first_block[unit + 1]).enumerate() {
                let place = self.place[block as usize];
                let m = (size - k as u32 * BLOCK).min(BLOCK) as usize;
                let Some(tile) = self.ldlt.target(place, place) else { continue };
                for r in 0..m {
                    self.ldlt.values_mut()[tile as usize + r * (m + 1)] = 1.0;
                }
            }
        }
        let mut tiles = Tiles::default();
        for entry in &problem.entries {
            let slope = entry.slope(&entry.velocity);
            let rows = entry.rows();
            if slope[..rows].iter().flatten().all(|s| *s == 0.0) {
                continue;
            }
            let [a, b, c, d] = &entry.sides;
            let at_two = c.size == 0 && d.size == 0;
            if at_two && [a.size, b.size].iter().all(|&s| s == 0 || s == BLOCK) {
                self.add_small(problem, rows, &slope, a, b, &mut tiles);
                continue;
            }
            for (k, side) in entry.sides.iter().enumerate().filter(|(_, s)| s.size > 0) {
                self.add(problem, rows, &slope, side, side);
                for other in entry.sides[..k].iter().filter(|s| s.size > 0) {
                    self.add(problem, rows, &slope, side, other);
                }
            }
        }
        self.read_diagonal(reference);
        self.ldlt.factor(reference, 1e-15);
    }

    fn read_diagonal(&mut self, reference: &mut [f64]) {
        for (unit, &(first, size)) in self.units.iter().enumerate() {
            for (k, block) in (self.first_block[unit]..self.first_block[unit + 1]).enumerate() {
                let place = self.place[block as usize];
                let m = (size - k as u32 * BLOCK).min(BLOCK) as usize;
                let row = self.row[first as usize + k * BLOCK as usize] as usize;
                let Some(tile) = self.ldlt.target(place, place) else { continue };
                for r in 0..m {
                    reference[row + r] = self.ldlt.values_mut()[tile as usize + r * (m + 1)];
                }
            }
        }
    }

    /// The usual case: bodies. Points of one manifold follow each other and share their tiles.
    fn add_small(
        &mut self,
        problem: &Problem,
        rows: usize,
        slope: &[[f64; 3]; 3],
        a: &Side,
        b: &Side,
        tiles: &mut Tiles,
    ) {
        let key = Some([a, b].map(|s| (s.size > 0).then_some(s.first)));
        if tiles.key != key {
            tiles.key = key;
            let place = |s: &Side| (s.size > 0).then(|| self.place[self.first_block[self.unit_of(s)] as usize]);
            let (pa, pb) = (place(a), place(b));
            let own = |p: Option<u32>| p.and_then(|p| self.ldlt.target(p, p));
            tiles.own = [own(pa), own(pb)];
            tiles.between = pa.zip(pb).and_then(|(i, k)| self.ldlt.target(i.max(k), i.min(k)));
            tiles.a_is_later = pa > pb;
        }
        // rows that an entry does not have are zero
        let rows = |s: &Side| {
            let from = s.data as usize;
            (s.size > 0).then(|| {
                let mut all = [0.0; 18];
                all[..6 * rows].copy_from_slice(&problem.data[from..from + 6 * rows]);
                all
            })
        };
        let values = self.ldlt.values_mut();
        for (side, tile) in [a, b].into_iter().zip(tiles.own) {
            if let (Some(tile), Some(g)) = (tile, rows(side)) {
                add_product(slope, &g, &g, &mut values[tile as usize..tile as usize + 36]);
            }
        }
        if let (Some(tile), Some(ga), Some(gb)) = (tiles.between, rows(a), rows(b)) {
            let (later, earlier) = if tiles.a_is_later { (&ga, &gb) } else { (&gb, &ga) };
            add_product(slope, later, earlier, &mut values[tile as usize..tile as usize + 36]);
        }
    }

    fn unit_of(&self, side: &Side) -> usize {
        self.units.partition_point(|u| u.0 <= side.first) - 1
    }

    /// Adds Gᵢᵀ S G_k to the tiles of two sides (all of them for one side with itself).
    fn add(&mut self, problem: &Problem, rows: usize, slope: &[[f64; 3]; 3], i: &Side, k: &Side) {
        let own = i.first == k.first;
        let (ui, uk) = (self.unit_of(i), self.unit_of(k));
        let (ni, nk) = (i.size as usize, k.size as usize);
        let gi = &problem.data[i.data as usize..i.data as usize + rows * ni];
        let gk = &problem.data[k.data as usize..k.data as usize + rows * nk];
        for (bi, block_i) in (self.first_block[ui]..self.first_block[ui + 1]).enumerate() {
            let (mi, g) = block_of(gi, ni, bi);
            let sg = slope.map(|s| std::array::from_fn(|c| s[0] * g[0][c] + s[1] * g[1][c] + s[2] * g[2][c]));
            for (bk, block_k) in (self.first_block[uk]..self.first_block[uk + 1]).enumerate() {
                let (pi, pk) = (self.place[block_i as usize], self.place[block_k as usize]);
                if own && pi < pk {
                    continue;
                }
                let (mk, g) = block_of(gk, nk, bk);
                let Some(tile) = self.ldlt.target(pi.max(pk), pi.min(pk)) else { continue };
                let values = &mut self.ldlt.values_mut()[tile as usize..tile as usize + mi * mk];
                let (later, earlier, width) = if pi >= pk { (&sg, &g, mk) } else { (&g, &sg, mi) };
                match values.as_chunks_mut().0 {
                    [tile, ..] => add_outer(later, earlier, tile),
                    [] => values
                        .chunks_exact_mut(width)
                        .enumerate()
                        .for_each(|(a, line)| add_line(later, earlier, a, line)),
                }
            }
        }
    }
}

/// Three rows on a block of up to six of a unit's coordinates, and how many these are; what is not there is zero.
#[inline]
fn block_of(rows: &[f64], size: usize, block: usize) -> (usize, [[f64; SIX]; 3]) {
    let from = block * SIX;
    let count = (size - from).min(SIX);
    let mut all = [[0.0; SIX]; 3];
    for (to, row) in all.iter_mut().zip(rows.chunks_exact(size)) {
        match row[from..].first_chunk() {
            Some(whole) => *to = *whole,
            None => to[..count].copy_from_slice(&row[from..]),
        }
    }
    (count, all)
}

/// tile += Σ aᵣ bᵣᵀ.
#[inline]
fn add_outer(a: &[[f64; SIX]; 3], b: &[[f64; SIX]; 3], tile: &mut [f64; SIX * SIX]) {
    tile.as_chunks_mut::<SIX>().0.iter_mut().enumerate().for_each(|(i, line)| add_line(a, b, i, line));
}

#[inline(always)]
fn add_line(a: &[[f64; SIX]; 3], b: &[[f64; SIX]; 3], i: usize, line: &mut [f64]) {
    for (c, v) in line.iter_mut().enumerate() {
        *v = *v + a[0][i] * b[0][c] + a[1][i] * b[1][c] + a[2][i] * b[2][c];
    }
}

/// Where the tiles of two bodies stand.
#[derive(Default)]
struct Tiles {
    /// First coordinates of both, of those that have any.
    key: Option<[Option<u32>; 2]>,
    own: [Option<u32>; 2],
    between: Option<u32>,
    a_is_later: bool,
}

/// tile += Gᵢᵀ S G_k for three rows on six coordinates.
#[inline]
fn add_product(s: &[[f64; 3]; 3], gi: &[f64; 18], gk: &[f64; 18], tile: &mut [f64]) {
    let (gi, gk) = (gi.as_chunks::<6>().0, gk.as_chunks::<6>().0);
    let mut sg = [[0.0; 6]; 3];
    for r in 0..3 {
        for c in 0..6 {
            sg[r][c] = s[r][0] * gi[0][c] + s[r][1] * gi[1][c] + s[r][2] * gi[2][c];
        }
    }
    for (a, line) in tile.as_chunks_mut::<6>().0.iter_mut().enumerate() {
        for c in 0..6 {
            line[c] += sg[0][a] * gk[0][c] + sg[1][a] * gk[1][c] + sg[2][a] * gk[2][c];
        }
    }
}
