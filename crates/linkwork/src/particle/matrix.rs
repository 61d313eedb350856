//! Symmetric block matrices of implicit steps: A = M − h ∂f/∂v − h² ∂f/∂x, three rows to a particle.
//!
//! The pattern is found by filling: a block that has no place yet is noted, and once all forces have been asked the
//! pattern is laid out anew from what was asked for, and filled again. While the forces stay, it stays.

use super::force::outer;
use glam::{DMat3, DVec3};

/// Diagonal blocks, and the blocks below the diagonal by rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockMatrix {
    pub diagonal: Vec<DMat3>,
    pub start: Vec<u32>,
    pub column: Vec<u32>,
    pub lower: Vec<DMat3>,
    /// Sum of the masses in it, kg.
    pub masses: f64,
    /// The places that blocks were entered at last, in that order: most often the next time too.
    pub order: Vec<u32>,
}

impl BlockMatrix {
    /// Where the blocks of a row are, in `column` and `lower`.
    pub fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    fn slot(&self, i: usize, j: usize) -> Option<usize> {
        let row = self.row(i);
        // rows are short: a walk is as quick as a search
        self.column[row.clone()].iter().position(|&c| c as usize == j).map(|k| row.start + k)
    }

    /// The same, with a guess.
    fn slot_near(&self, guess: Option<u32>, i: usize, j: usize) -> Option<usize> {
        match guess.map(|k| k as usize) {
            Some(k) if self.row(i).contains(&k) && self.column[k] as usize == j => Some(k),
            _ => self.slot(i, j),
        }
    }

    /// Adds a block that has a place; for i ≠ j its transpose belongs to (j, i).
    pub fn add(&mut self, i: usize, j: usize, block: DMat3) {
        if i == j {
            self.diagonal[i] += block;
            return;
        }
        let (row, column, block) = if i > j { (i, j, block) } else { (j, i, block.transpose()) };
        if let Some(k) = self.slot(row, column) {
            self.lower[k] += block;
        }
    }

    /// y = A x.
    pub fn multiply(&self, x: &[DVec3], y: &mut [DVec3]) {
        for (y, (d, x)) in y.iter_mut().zip(self.diagonal.iter().zip(x)) {
            *y = *d * *x;
        }
        for i in 0..self.diagonal.len() {
            let xi = x[i];
            let mut sum = DVec3::ZERO;
            for k in self.start[i] as usize..self.start[i + 1] as usize {
                let (b, j) = (&self.lower[k], self.column[k] as usize);
                sum += *b * x[j];
                // the transposed block, without transposing it
                y[j] += DVec3::new(b.x_axis.dot(xi), b.y_axis.dot(xi), b.z_axis.dot(xi));
            }
            y[i] += sum;
        }
    }
}

/// How forces change with positions and velocities, block by block.
pub struct Slopes<'a> {
    matrix: &'a mut BlockMatrix,
    /// Right-hand side, from which −h ∂f/∂v v₀ is taken.
    right: &'a mut [DVec3],
    v: &'a [DVec3],
    end: &'a [DVec3],
    about: &'a [DVec3],
    decisions: Vec<bool>,
    h: f64,
    missing: Vec<(u32, u32)>,
    used: Vec<bool>,
    /// Blocks off the diagonal so far.
    entered: usize,
}

impl Slopes<'_> {
    /// The velocity that a particle is expected to have at the end of the step.
    pub fn end_velocity(&self, i: usize) -> DVec3 {
        self.end[i]
    }

    /// Notes whether a force that acts on one side only acts in this step. If what is decided at the velocities that come
    /// out is something else, the step is solved again with these.
    pub fn decide(&mut self, acts: bool) -> bool {
        self.decisions.push(acts);
        acts
    }

    /// Length of the step, s.
    pub fn step(&self) -> f64 {
        self.h
    }

    /// Velocities about which a force whose slopes change much within a step takes them: where these lead to, positions are
    /// those of the start plus the step times this. Other forces take theirs where the step begins.
    pub fn about(&self, i: usize) -> DVec3 {
        self.about[i]
    }

    /// Adds to the matrix of the step itself, A = M − h ∂f/∂v − h² ∂f/∂x. For i ≠ j the transposed block belongs to (j, i) and
    /// must not be added again.
    pub fn enter(&mut self, i: usize, j: usize, block: DMat3) {
        if i == j {
            self.matrix.diagonal[i] += block;
            return;
        }
        let block = if i > j { block } else { block.transpose() };
        if let Some(k) = self.place(i, j) {
            self.matrix.lower[k] += block;
        }
    }

    /// The same for a block that is a number times the identity.
    pub fn enter_uniform(&mut self, i: usize, j: usize, size: f64) {
        let block = match i == j {
            true => &mut self.matrix.diagonal[i],
            false => match self.place(i, j) {
                Some(k) => &mut self.matrix.lower[k],
                None => return,
            },
        };
        block.x_axis.x += size;
        block.y_axis.y += size;
        block.z_axis.z += size;
    }

    /// Where a block off the diagonal goes; noted if it has no place yet.
    fn place(&mut self, i: usize, j: usize) -> Option<usize> {
        let (row, column) = (i.max(j), i.min(j));
        let guess = self.matrix.order.get(self.entered).copied();
        let Some(k) = self.matrix.slot_near(guess, row, column) else {
            self.missing.push((row as u32, column as u32));
            return None;
        };
        self.used[k] = true;
        if guess != Some(k as u32) {
            self.matrix.order.truncate(self.entered);
            self.matrix.order.push(k as u32);
        }
        self.entered += 1;
        Some(k)
    }

    /// Adds ∂fᵢ/∂xⱼ and ∂fᵢ/∂vⱼ. For i ≠ j the transposed block belongs to (j, i) and must not be added again.
    pub fn add(&mut self, i: usize, j: usize, dx: DMat3, dv: DMat3) {
        let h = self.h;
        let block = dv * -h + dx * (-h * h);
        self.right[i] -= dv * self.v[j] * h;
        if i != j {
            self.right[j] -= dv.transpose() * self.v[i] * h;
        }
        self.enter(i, j, block);
    }

    /// Adds a force on a particle to those of the step, where the slopes count from another force than that of now.
    pub fn push(&mut self, i: usize, force: DVec3) {
        self.right[i] += force * self.h;
    }

    /// Adds what a force between two particles does that depends on their difference alone: `dx` and `dv` are the slopes
    /// of the force on the first by its own position and velocity.
    pub fn pair(&mut self, a: usize, b: usize, dx: DMat3, dv: DMat3) {
        self.add(a, a, dx, dv);
        self.add(b, b, dx, dv);
        self.add(a, b, dx * -1.0, dv * -1.0);
    }

    /// Adds the slopes of f = −(k C + d Ċ) ∂C with gradients g, without the second derivatives of C.
    pub fn gauss_newton(&mut self, particles: &[usize], g: &[DVec3], stiffness: f64, damping: f64) {
        for i in 0..particles.len() {
            for j in 0..=i {
                let o = outer(g[i], g[j]);
                self.add(particles[i], particles[j], o * -stiffness, o * -damping);
            }
        }
    }
}

impl BlockMatrix {
    /// Fills the matrix with masses and slopes, and adds to the right-hand side; `fill` is asked again if the pattern grew.
    /// Slopes are taken at the velocities `v`, or `about` others; returns what one-sided forces decided, by those expected
    /// at the `end`.
    pub fn assemble(
        &mut self,
        mass: &[f64],
        [v, end, about]: [&[DVec3]; 3],
        h: f64,
        right: &mut [DVec3],
        mut fill: impl FnMut(&mut Slopes),
    ) -> Vec<bool> {
        let n = mass.len();
        if self.start.len() != n + 1 {
            *self = BlockMatrix { start: vec![0; n + 1], ..BlockMatrix::default() };
        }
        self.masses = mass.iter().sum();
        let before = right.to_vec();
        let mut decided = Vec::new();
        for _ in 0..2 {
            self.diagonal.clear();
            self.diagonal.extend(mass.iter().map(|m| DMat3::from_diagonal(DVec3::splat(*m))));
            self.lower.fill(DMat3::ZERO);
            right.copy_from_slice(&before);
            let used = vec![false; self.column.len()];
            let (missing, decisions) = (Vec::new(), Vec::new());
            let mut slopes = Slopes { matrix: self, right, v, end, about, decisions, h, missing, used, entered: 0 };
            fill(&mut slopes);
            let (missing, used) = (slopes.missing, slopes.used);
            decided = slopes.decisions;
            // exactly what the forces ask for: the pattern must not depend on what they once asked for
            if missing.is_empty() && used.iter().all(|u| *u) {
                break;
            }
            self.lay_out(n, missing, &used);
        }
        decided
    }

    fn lay_out(&mut self, n: usize, missing: Vec<(u32, u32)>, used: &[bool]) {
        let mut places = missing;
        for i in 0..n {
            for k in self.start[i] as usize..self.start[i + 1] as usize {
                if used[k] {
                    places.push((i as u32, self.column[k]));
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        self.start = vec![0; n + 1];
        for &(i, _) in &places {
            self.start[i as usize + 1] += 1;
        }
        for i in 0..n {
            self.start[i + 1] += self.start[i];
        }
        self.column = places.iter().map(|p| p.1).collect();
        self.lower = vec![DMat3::ZERO; self.column.len()];
    }
}
