//! How a mechanism in reduced coordinates answers what acts on it: impulses on joint coordinates and on points of bodies.
//!
//! The mass that impulses meet is H of a tree, NᵀHN of a tree with loops. Springs too stiff for an explicit step, and all springs
//! among contacts, give way implicitly: with a row j and a compliance γ (docs/method.md, Springs) they add jᵀj/γ to that mass. Its
//! factor LᵀL, along the branches of the tree, answers everything: a row's impulse p changes the rates by H⁻¹jᵀp, and jL⁻¹
//! are the row's entries in coordinates in which the mass is the identity, as contacts want them.

use super::Tree;
use crate::joint::rows::Row;
use crate::reduced::adaptor::{self, Factor};

/// Rows on coordinates of joints, in rates.
#[derive(Default)]
pub(super) struct Rows {
    /// The rows and the bodies between which they act.
    pub rows: Vec<(Row, u32, u32)>,
    rates: usize,
    /// Row by row, by rate; and what one unit of impulse changes the rates by.
    by_rate: Vec<f64>,
    answers: Vec<f64>,
    /// Velocity that bodies moved by the user give a row.
    drift: Vec<f64>,
}

impl Rows {
    pub fn clear(&mut self, rates: usize) {
        self.rates = rates;
        self.rows.clear();
        self.by_rate.clear();
        self.answers.clear();
        self.drift.clear();
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn by_rate(&self, k: usize) -> &[f64] {
        &self.by_rate[k * self.rates..(k + 1) * self.rates]
    }

    pub fn answer(&self, k: usize) -> &[f64] {
        &self.answers[k * self.rates..(k + 1) * self.rates]
    }

    /// The rate of a row's coordinate at the given rates of the tree.
    pub fn rate(&self, k: usize, v: &[f64]) -> f64 {
        self.drift[k] + self.part(k, v)
    }

    /// What the rates of the tree give to it.
    pub fn part(&self, k: usize, v: &[f64]) -> f64 {
        self.by_rate(k).iter().zip(v).map(|(a, b)| a * b).sum()
    }

    /// Adds impulses on the rows to a momentum, by rate.
    pub fn add_momenta(&self, impulses: impl Iterator<Item = f64>, momentum: &mut [f64]) {
        for (k, p) in impulses.take(self.len()).enumerate().filter(|(_, p)| *p != 0.0) {
            momentum.iter_mut().zip(self.by_rate(k)).for_each(|(m, x)| *m += p * x);
        }
    }

    /// Adds what an impulse on a row changes the rates by.
    pub fn push(&self, k: usize, impulse: f64, v: &mut [f64]) {
        if impulse != 0.0 {
            v.iter_mut().zip(self.answer(k)).for_each(|(v, a)| *v += impulse * a);
        }
    }
}

/// The factor of the mass, and the rows that act on it.
#[derive(Default)]
pub(super) struct Response {
    factor: Factor,
    /// Whether rows connect branches of the tree.
    across: bool,
    pub soft: Rows,
    pub compliance: Vec<f64>,
    pub bounded: Rows,
    free: Vec<f64>,
}

impl Response {
    /// `across`: springs connect branches of the tree.
    pub fn new(across: bool) -> Response {
        Response { across, ..Response::default() }
    }
}

impl Tree {
    /// Coordinates of its motion: rates, or those of them that loops leave free.
    pub(super) fn freedoms(&self) -> usize {
        self.loops.as_ref().map_or(self.model.rates(), |l| l.free.len())
    }

    /// Adds a row between two bodies to a set, at the present poses and the rates `v` with which the tree is driven.
    pub(super) fn write_row(&self, rows: &mut Rows, row: Row, a: u32, b: u32, v: &[f64]) {
        let k = rows.len();
        rows.rows.push((row, a, b));
        rows.by_rate.resize((k + 1) * rows.rates, 0.0);
        let entries = &mut rows.by_rate[k * rows.rates..];
        let (xa, xb) = (self.placed(a).x, self.placed(b).x);
        adaptor::each_rate(&self.model, &self.data, &row, (a, xa), (b, xb), |rate, x| entries[rate] = x);
        let drift = row.velocity(&self.motion(a), &self.motion(b)) - rows.part(k, v);
        rows.drift.push(drift);
    }

    /// Factorises the mass at the present poses, softened by the soft rows; false if it cannot be.
    pub(super) fn factor_response(&mut self) -> bool {
        self.freshen_loops();
        let size = self.freedoms();
        let Tree { model, data, loops, response, .. } = self;
        let Response { factor, across, soft, compliance, free, .. } = response;
        let dense = loops.is_some() || *across;
        if factor.size() != size || size == 0 {
            *factor = if dense { Factor::dense(size) } else { Factor::of_tree(model) };
        }
        match loops {
            Some(loops) => loops.free_mass(model, data, factor.matrix()),
            None => {
                if dense {
                    factor.matrix().fill(0.0);
                }
                adaptor::crba_placed(model, data, factor.matrix());
            }
        }
        for k in 0..soft.len() {
            let row = match loops {
                Some(loops) => {
                    loops.to_free(soft.by_rate(k), free);
                    &free[..]
                }
                None => soft.by_rate(k),
            };
            let matrix = factor.matrix();
            for i in (0..size).filter(|&i| row[i] != 0.0) {
                let x = row[i] / compliance[k];
                for j in 0..=i {
                    matrix[i * size + j] += x * row[j];
                }
            }
        }
        factor.factorise()
    }

    /// Generalised impulses, by rate, become changes of the rates.
    pub(super) fn answer(&mut self, x: &mut [f64]) {
        self.freshen_loops();
        let Tree { loops, response: Response { factor, free, .. }, .. } = self;
        match loops {
            Some(loops) => {
                loops.to_free(x, free);
                factor.solve(free);
                loops.spread_free(free, x);
            }
            None => factor.solve(x),
        }
    }

    /// Finds what each row of a set changes the rates by.
    pub(super) fn answer_rows(&mut self, rows: &mut Rows) {
        let mut answers = std::mem::take(&mut rows.answers);
        answers.clear();
        answers.extend_from_slice(&rows.by_rate);
        if rows.rates > 0 {
            answers.chunks_exact_mut(rows.rates).for_each(|row| self.answer(row));
        }
        rows.answers = answers;
    }

    /// A row on one body in coordinates in which the mass is the identity.
    pub(super) fn whiten_row(&self, row: &Row, link: usize, is_b: bool, out: &mut Vec<f64>) {
        let first = out.len();
        out.resize(first + self.freedoms(), 0.0);
        let entries = &mut out[first..];
        let (lin, ang) = if is_b { (row.lin, row.ang_b) } else { (-row.lin, row.ang_a) };
        let x = self.data.links[link].placed.x;
        adaptor::each_column(&self.model, &self.data, link, |rate, o, s| {
            let s = s.at(x - o);
            let value = lin.dot(s.v) + ang.dot(s.w);
            match &self.loops {
                Some(loops) => loops.add_to_free(rate, value, entries),
                None => entries[rate] = value,
            }
        });
        self.response.factor.whiten(&mut out[first..]);
    }
}
