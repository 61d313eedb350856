//! Lagrange multipliers: (J W Jᵀ) λ = b, where W is how particles answer forces.
//!
//! Two ways to solve it. Conjugate gradients need only products with J and W, take any W (parametric objects answer as a
//! whole), and do not mind redundant constraints: b lies in the range. The engine's block LDLᵀ (linalg) is made for
//! chains and trusses: its cost is known from the pattern alone and decides; it drops redundant rows. W is then diagonal.
//!
//! Positions are brought onto the constraints by Newton's method, x ← x + W Jᵀ λ with (J W Jᵀ) λ = −C, and velocities by one
//! solve with C replaced by J v: nothing can drift, because every step ends there.

use super::constraint::{Constraint, Rows};
use super::parametric::Body as Parametric;
use crate::linalg::{BlockPattern, Factor, block_ldlt, ordering};
use glam::DVec3;
use std::fmt;

/// How multipliers are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearSolver {
    /// Whichever is predicted to be faster.
    #[default]
    Automatic,
    /// Conjugate gradients.
    ConjugateGradients,
    /// Block LDLᵀ; conjugate gradients where parametric objects are constrained.
    Direct,
}

/// Multiply–adds of a factorisation above which conjugate gradients are taken.
const DIRECT_FLOPS: f64 = 2e8;
/// Redundant rows leave pivots of this fraction.
const DROP: f64 = 1e-10;

/// What a matrix of constraints looks like and its factor; made anew when constraints or nails change.
struct Layout {
    /// Constraint of each block, in elimination order, and first row.
    place: Vec<u32>,
    first_row: Vec<u32>,
    factor: Factor,
    /// Products of gradients on a shared particle: (constraint, side, constraint, side, particle, tile).
    products: Vec<Product>,
    reference: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Product {
    row: u32,
    row_side: u8,
    column: u32,
    column_side: u8,
    particle: u32,
    tile: u32,
}

/// Constraints evaluated at a state, with what solves for their multipliers.
#[derive(Default)]
pub(super) struct Multipliers {
    /// Particles of each constraint; the second repeats the first where there is none.
    pub particles: Vec<[u32; 2]>,
    pub sides: Vec<u8>,
    pub rows: Vec<Rows>,
    pub first: Vec<usize>,
    pub total: usize,
    layout: Option<Layout>,
    x: Vec<f64>,
    /// Whether it knows the constraints as they are.
    pub ready: bool,
}

impl Clone for Multipliers {
    /// Working memory: found again when needed.
    fn clone(&self) -> Self {
        Multipliers::default()
    }
}

impl fmt::Debug for Multipliers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Multipliers of {} rows", self.total)
    }
}

/// How particles answer forces: their own inverse masses, or that of the parametric object they belong to.
pub(super) struct Answer<'a> {
    pub w: &'a [f64],
    pub objects: &'a [Parametric],
}

impl Answer<'_> {
    /// a = W f.
    pub fn apply(&self, f: &[DVec3], a: &mut [DVec3]) {
        for i in 0..f.len() {
            a[i] = f[i] * self.w[i];
        }
        for object in self.objects {
            object.answer(f, a);
        }
    }
}

impl Multipliers {
    /// Takes up a set of constraints: everything that depends on which they are.
    pub fn lay_out<'a>(
        &mut self,
        constraints: impl Iterator<Item = &'a Constraint>,
        w: &[f64],
        solver: LinearSolver,
        direct_allowed: bool,
    ) {
        self.particles.clear();
        self.sides.clear();
        self.first.clear();
        self.total = 0;
        let mut sizes = Vec::new();
        for c in constraints {
            let (a, b) = c.particles();
            self.particles.push([a as u32, b.unwrap_or(a) as u32]);
            self.sides.push(if b.is_some() { 2 } else { 1 });
            self.first.push(self.total);
            sizes.push(c.row_count() as u8);
            self.total += c.row_count();
        }
        self.ready = true;
        self.rows.clear();
        self.rows.resize(sizes.len(), Rows::default());
        self.layout = None;
        if !sizes.is_empty() && direct_allowed && solver != LinearSolver::ConjugateGradients {
            self.lay_out_factor(sizes, w, solver);
        }
    }

    fn lay_out_factor(&mut self, sizes: Vec<u8>, w: &[f64], solver: LinearSolver) {
        let mut at: Vec<Vec<(u32, u8)>> = vec![Vec::new(); w.len()];
        for (k, p) in self.particles.iter().enumerate() {
            for side in 0..self.sides[k] {
                if w[p[side as usize] as usize] > 0.0 {
                    at[p[side as usize] as usize].push((k as u32, side));
                }
            }
        }
        let mut pairs = Vec::new();
        for here in &at {
            for &(k, _) in here {
                pairs.extend(here.iter().filter(|(l, _)| *l < k).map(|&(l, _)| (k, l)));
            }
        }
        let pattern = BlockPattern { sizes, pairs };
        let order = ordering::elimination_order(&pattern);
        let permuted = pattern.permuted(&order);
        if solver == LinearSolver::Automatic {
            let cost = block_ldlt::cost(&permuted.sizes, &block_ldlt::symbolic(&permuted));
            if cost.flops > DIRECT_FLOPS {
                return;
            }
        }
        let mut place = vec![0_u32; order.len()];
        let mut first_row = vec![0_u32; order.len()];
        let mut row = 0;
        for (k, &old) in order.iter().enumerate() {
            place[old as usize] = k as u32;
            first_row[old as usize] = row;
            row += u32::from(pattern.sizes[old as usize]);
        }
        let factor = Factor::new(&permuted);
        let mut products = Vec::new();
        for (particle, here) in at.iter().enumerate() {
            for &(row, row_side) in here {
                for &(column, column_side) in here {
                    let (i, j) = (place[row as usize], place[column as usize]);
                    if i < j {
                        continue;
                    }
                    if let Some(tile) = factor.target(i, j) {
                        let particle = particle as u32;
                        products.push(Product { row, row_side, column, column_side, particle, tile });
                    }
                }
            }
        }
        self.layout = Some(Layout { place, first_row, factor, products, reference: vec![0.0; row as usize] });
    }

    /// Evaluates all constraints.
    pub fn evaluate<'a>(&mut self, constraints: impl Iterator<Item = &'a Constraint>, x: &[DVec3], v: &[DVec3]) {
        for (rows, c) in self.rows.iter_mut().zip(constraints) {
            *rows = c.evaluate(x, v);
        }
    }

    /// Factorises J W Jᵀ of the gradients last evaluated.
    pub fn factor(&mut self, w: &[f64]) {
        let Some(layout) = &mut self.layout else { return };
        let values = layout.factor.clear();
        for p in &layout.products {
            let (a, b) = (&self.rows[p.row as usize], &self.rows[p.column as usize]);
            let (ja, jb) = (&a.j[p.row_side as usize], &b.j[p.column_side as usize]);
            let weight = w[p.particle as usize];
            for r in 0..a.count {
                for s in 0..b.count {
                    values[p.tile as usize + r * b.count + s] += weight * ja[r].dot(jb[s]);
                }
            }
        }
        for k in 0..self.rows.len() {
            let (rows, p) = (&self.rows[k], self.particles[k]);
            for r in 0..rows.count {
                let mut diagonal = 0.0;
                for side in 0..self.sides[k] as usize {
                    diagonal += w[p[side] as usize] * rows.j[side][r].length_squared();
                }
                layout.reference[layout.first_row[k] as usize + r] = diagonal;
            }
        }
        debug_assert_eq!(layout.place.len(), self.rows.len());
        layout.factor.factor(&layout.reference, DROP);
    }

    /// J v, row by row.
    pub fn rate(&self, v: &[DVec3], out: &mut [f64]) {
        for k in 0..self.rows.len() {
            let (rows, p) = (&self.rows[k], self.particles[k]);
            for r in 0..rows.count {
                let mut sum = rows.j[0][r].dot(v[p[0] as usize]);
                if self.sides[k] == 2 {
                    sum += rows.j[1][r].dot(v[p[1] as usize]);
                }
                out[self.first[k] + r] = sum;
            }
        }
    }

    /// f += Jᵀ λ.
    pub fn add_forces(&self, lambda: &[f64], f: &mut [DVec3]) {
        for k in 0..self.rows.len() {
            let (rows, p) = (&self.rows[k], self.particles[k]);
            for r in 0..rows.count {
                let l = lambda[self.first[k] + r];
                f[p[0] as usize] += rows.j[0][r] * l;
                if self.sides[k] == 2 {
                    f[p[1] as usize] += rows.j[1][r] * l;
                }
            }
        }
    }

    pub fn errors(&self, out: &mut [f64]) {
        for (rows, first) in self.rows.iter().zip(&self.first) {
            out[*first..first + rows.count].copy_from_slice(&rows.c[..rows.count]);
        }
    }

    pub fn largest_error(&self) -> f64 {
        crate::math::max_abs(self.rows.iter().flat_map(|r| r.c[..r.count].iter().copied()))
    }

    /// Replaces `b` by λ with (J W Jᵀ) λ = b.
    pub fn solve(&mut self, answer: &Answer, b: &mut [f64]) {
        match &self.layout {
            Some(layout) => {
                self.x.resize(b.len(), 0.0);
                for (k, rows) in self.rows.iter().enumerate() {
                    let (from, to) = (self.first[k], layout.first_row[k] as usize);
                    self.x[to..to + rows.count].copy_from_slice(&b[from..from + rows.count]);
                }
                layout.factor.solve(&mut self.x);
                for (k, rows) in self.rows.iter().enumerate() {
                    let (to, from) = (self.first[k], layout.first_row[k] as usize);
                    b[to..to + rows.count].copy_from_slice(&self.x[from..from + rows.count]);
                }
            }
            None => self.conjugate_gradients(answer, b),
        }
    }

    /// Conjugate gradients on the least squares of J W Jᵀ λ − b, rows scaled by their diagonal: where constraints are
    /// redundant and b contradicts itself a little, as errors of positions do, the best compromise comes out.
    fn conjugate_gradients(&self, answer: &Answer, b: &mut [f64]) {
        let n = answer.w.len();
        let (mut f, mut a) = (vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
        let mut scale = vec![0.0; b.len()];
        for k in 0..self.rows.len() {
            let (rows, p) = (&self.rows[k], self.particles[k]);
            for r in 0..rows.count {
                let mut diagonal = 0.0;
                for side in 0..self.sides[k] as usize {
                    diagonal += answer.w[p[side] as usize] * rows.j[side][r].length_squared();
                }
                scale[self.first[k] + r] = if diagonal > 0.0 { 1.0 / diagonal } else { 0.0 };
            }
        }
        let vectors = |x: &[DVec3], y: &[DVec3]| x.iter().zip(y).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let scaled = |x: &[f64]| x.iter().zip(&scale).map(|(x, s)| x * x * s).sum::<f64>();
        let mut lambda = vec![0.0; b.len()];
        let mut r = b.to_vec();
        // a direction of multipliers and the accelerations it makes
        let mut d: Vec<f64> = r.iter().zip(&scale).map(|(r, s)| r * s).collect();
        self.add_forces(&d, &mut f);
        answer.apply(&f, &mut a);
        let mut along = a.clone();
        let mut gamma = vectors(&f, &a);
        let goal = gamma * 1e-28;
        let mut y = vec![0.0; b.len()];
        for _ in 0..4 * b.len() + 50 {
            // nothing left, or nothing left that forces could change
            if !(gamma > goal && gamma > 1e-28 * scaled(&r)) {
                break;
            }
            self.rate(&along, &mut y);
            let step = gamma / scaled(&y);
            if !step.is_finite() {
                break;
            }
            for i in 0..lambda.len() {
                lambda[i] += step * d[i];
                r[i] -= step * y[i];
                y[i] = r[i] * scale[i];
            }
            f.fill(DVec3::ZERO);
            self.add_forces(&y, &mut f);
            answer.apply(&f, &mut a);
            let next = vectors(&f, &a);
            let beta = next / gamma;
            gamma = next;
            for i in 0..d.len() {
                d[i] = y[i] + beta * d[i];
            }
            for (along, a) in along.iter_mut().zip(&a) {
                *along = *a + *along * beta;
            }
        }
        b.copy_from_slice(&lambda);
    }
}
