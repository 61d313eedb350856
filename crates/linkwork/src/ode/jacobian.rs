//! Sparse Jacobians: given entry by entry or found by differences, and the factorisation of 1 − γ J.

use super::{OdeError, System};
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};
use faer::sparse::{SparseColMat, Triplet};

/// ∂f/∂y as a list of entries; entries at the same place add up.
#[derive(Clone, Debug, Default)]
pub struct Jacobian {
    entries: Vec<(u32, u32, f64)>,
}

impl Jacobian {
    /// Adds to an entry.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.entries.push((row as u32, column as u32, value));
    }

    /// All entries in the order in which they were added.
    pub fn entries(&self) -> &[(u32, u32, f64)] {
        &self.entries
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}

/// Adds ∂f/∂y by one-sided differences, several columns at once where the sparsity allows it (Curtis, Powell, Reid 1974).
pub fn differences<S: System + ?Sized>(system: &mut S, jacobian: &mut Jacobian) {
    let (n, t) = (system.dimension(), system.time());
    let (mut y, mut dy, mut moved) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    system.state(&mut y);
    system.derivative(&mut dy);
    let everywhere = || (0..n as u32).map(|i| (0..n as u32).map(|j| (j, i)).collect()).collect();
    let columns: Vec<Vec<(u32, u32)>> = match system.sparsity() {
        None => everywhere(),
        Some(mut pattern) => {
            pattern.retain(|&(i, j)| (i as usize) < n && (j as usize) < n);
            pattern.sort_unstable_by_key(|&(i, j)| (j, i));
            pattern.dedup();
            let mut columns = vec![Vec::new(); n];
            pattern.into_iter().for_each(|(i, j)| columns[j as usize].push((i, j)));
            columns
        }
    };
    let mut x = y.clone();
    for group in groups(&columns, n) {
        for &j in &group {
            x[j] = y[j] + difference(y[j]);
        }
        system.set_state(t, &x);
        system.derivative(&mut moved);
        for &j in &group {
            let h = x[j] - y[j];
            for &(i, _) in &columns[j] {
                jacobian.add(i as usize, j, (moved[i as usize] - dy[i as usize]) / h);
            }
            x[j] = y[j];
        }
    }
    system.set_state(t, &y);
}

/// Balances rounding against curvature.
fn difference(y: f64) -> f64 {
    1.5e-8 * y.abs().max(1e-5)
}

/// Columns that share no row, greedily.
fn groups(columns: &[Vec<(u32, u32)>], n: usize) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..columns.len()).filter(|&j| !columns[j].is_empty()).collect();
    let mut groups = Vec::new();
    let mut taken = vec![usize::MAX; n];
    while !left.is_empty() {
        let mut group = Vec::new();
        let number = groups.len();
        left.retain(|&j| {
            let free = columns[j].iter().all(|&(i, _)| taken[i as usize] != number);
            if free {
                columns[j].iter().for_each(|&(i, _)| taken[i as usize] = number);
                group.push(j);
            }
            !free
        });
        groups.push(group);
    }
    groups
}

/// A factorisation of 1 − γ J; the fill-reducing order is kept while the places of the entries stay the same.
#[derive(Default)]
pub(super) struct Shifted {
    places: Vec<(u32, u32)>,
    symbolic: Option<SymbolicLu<usize>>,
    lu: Option<Lu<usize, f64>>,
}

impl Shifted {
    pub fn factor(&mut self, n: usize, jacobian: &Jacobian, gamma: f64) -> Result<(), OdeError> {
        let broken = |what: &str| OdeError::Parameter(format!("the Jacobian of {n} unknowns cannot be used: {what}"));
        let mut triplets: Vec<Triplet<usize, usize, f64>> = (0..n).map(|i| Triplet::new(i, i, 1.0)).collect();
        for &(i, j, v) in &jacobian.entries {
            if i as usize >= n || j as usize >= n || !v.is_finite() {
                return Err(broken(&format!("entry ({i}, {j}) is {v}")));
            }
            triplets.push(Triplet::new(i as usize, j as usize, -gamma * v));
        }
        let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &triplets)
            .map_err(|_| broken("it does not fit into memory"))?;
        let places: Vec<(u32, u32)> = jacobian.entries.iter().map(|e| (e.0, e.1)).collect();
        if self.symbolic.is_none() || places != self.places {
            self.symbolic = SymbolicLu::try_new(matrix.symbolic()).ok();
            self.places = places;
        }
        let symbolic = self.symbolic.clone().ok_or_else(|| broken("it does not fit into memory"))?;
        let lu = Lu::try_new_with_symbolic(symbolic, matrix.as_ref());
        self.lu = Some(lu.map_err(|_| broken("1 − γ J is singular"))?);
        Ok(())
    }

    pub fn solve(&self, x: &mut [f64]) {
        if let Some(lu) = &self.lu {
            let n = x.len();
            lu.solve_in_place(faer::MatMut::from_column_major_slice_mut(x, n, 1));
        }
    }

    pub fn forget(&mut self) {
        self.lu = None;
    }

    pub fn is_known(&self) -> bool {
        self.lu.is_some()
    }
}
