//! The mass matrix factorised along the branches of a tree, H = LᵀL.
//!
//! A rate and one that it does not carry have no common entry in H, and none in L: rows of L have entries for the rates above
//! them alone (Featherstone's factorisation of branch-induced sparsity), so that a wide tree costs little more than a short
//! chain. Where every rate is said to be above the next, the same lines are a dense factorisation.

use super::aba::rigid;
use super::kinematics::Data;
use super::model::{Model, NONE};
use super::spatial::Inertia6;

/// The inertias of all that each link carries, as one body with it.
pub(crate) fn composites(model: &Model, data: &Data, out: &mut Vec<Inertia6>) {
    out.clear();
    out.extend(model.links.iter().zip(&data.links).map(|(link, at)| rigid(link, at)));
    for (k, link) in model.links.iter().enumerate().rev() {
        if link.parent != NONE {
            let carried = out[k].carried(data.links[k].r);
            out[link.parent as usize] += carried;
        }
    }
}

/// L of a symmetric positive definite matrix.
#[derive(Clone, Default)]
pub(crate) struct Factor {
    size: usize,
    /// Row by row; entries beyond the branches are not used.
    l: Vec<f64>,
    /// The next rate above each, or [`NONE`].
    above: Vec<u32>,
}

impl Factor {
    /// A matrix with entries between any two rates.
    pub fn dense(size: usize) -> Factor {
        let above = (0..size as u32).map(|k| k.checked_sub(1).unwrap_or(NONE)).collect();
        Factor { size, l: vec![0.0; size * size], above }
    }

    /// A matrix with entries along the branches of a tree.
    pub fn of_tree(model: &Model) -> Factor {
        let mut above = vec![NONE; model.rates()];
        // the last rate on the way up to a link, itself included
        let mut last = vec![NONE; model.links.len()];
        for (k, link) in model.links.iter().enumerate() {
            let mut up = if link.parent == NONE { NONE } else { last[link.parent as usize] };
            for rate in link.v..link.v + u32::from(link.rates) {
                above[rate as usize] = up;
                up = rate;
            }
            last[k] = up;
        }
        Factor { size: above.len(), l: vec![0.0; above.len() * above.len()], above }
    }

    /// Number of rates.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The matrix to be filled before [`Factor::factorise`]: entries on and below the diagonal, row by row.
    pub fn matrix(&mut self) -> &mut [f64] {
        &mut self.l
    }

    /// Replaces the matrix by its factor; false if it is not positive definite.
    pub fn factorise(&mut self) -> bool {
        let n = self.size;
        for k in (0..n).rev() {
            let (upper, row) = self.l.split_at_mut(k * n);
            let row = &mut row[..=k];
            if !(row[k] > 0.0 && row[k].is_finite()) {
                return false;
            }
            row[k] = row[k].sqrt();
            let inverse = 1.0 / row[k];
            let mut i = self.above[k];
            while i != NONE {
                row[i as usize] *= inverse;
                i = self.above[i as usize];
            }
            let mut i = self.above[k];
            while i != NONE {
                let (at, f) = (i as usize, row[i as usize]);
                let mut j = i;
                while j != NONE {
                    upper[at * n + j as usize] -= f * row[j as usize];
                    j = self.above[j as usize];
                }
                i = self.above[at];
            }
        }
        true
    }

    /// x ← L⁻ᵀx: a row becomes one in coordinates in which the mass is the identity.
    pub fn whiten(&self, x: &mut [f64]) {
        let n = self.size;
        for k in (0..n).rev() {
            if x[k] == 0.0 {
                continue;
            }
            let row = &self.l[k * n..=k * n + k];
            let y = x[k] / row[k];
            x[k] = y;
            let mut i = self.above[k];
            while i != NONE {
                x[i as usize] -= row[i as usize] * y;
                i = self.above[i as usize];
            }
        }
    }

    /// x ← L⁻¹x.
    pub fn unwhiten(&self, x: &mut [f64]) {
        let n = self.size;
        for k in 0..n {
            let row = &self.l[k * n..=k * n + k];
            let mut sum = x[k];
            let mut i = self.above[k];
            while i != NONE {
                sum -= row[i as usize] * x[i as usize];
                i = self.above[i as usize];
            }
            x[k] = sum / row[k];
        }
    }

    /// x ← H⁻¹x.
    pub fn solve(&self, x: &mut [f64]) {
        self.whiten(x);
        self.unwhiten(x);
    }
}
