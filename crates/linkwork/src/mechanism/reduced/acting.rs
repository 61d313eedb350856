//! What acts on joint coordinates in a step in reduced coordinates: limits, dry friction, motors with a bound, stiff springs.
//!
//! The laws are those of the direct method (bounded.rs, SoftLaw), and so is their place in the step: impulses before the move
//! that bring limits to their bounds and springs to their force at its end, and impulses after it. The rows are on rates
//! here; between the two halves Newton's method makes limits and springs exact where a coordinate is not linear in the rates.

use super::Tree;
use crate::math::max_abs;
use crate::mechanism::Mechanism;
use crate::mechanism::linear::SoftLaw;
use glam::DVec3;

/// Iterations that make limits and springs exact at the end of the step.
const MOST_ITERATIONS: usize = 12;

impl Mechanism {
    /// Rows of stiff springs and of bounded drives at the present poses, with the tree driven at `v`, and the mass that answers
    /// them. `whole`: springs act with all their impulse before the move.
    pub(super) fn prepare_acting(&mut self, tree: &mut Tree, v: &[f64], h: f64, whole: bool) -> Option<()> {
        let rates = tree.model.rates();
        let mut soft = std::mem::take(&mut tree.response.soft);
        soft.clear(rates);
        tree.response.compliance.clear();
        for k in 0..if tree.implicit { self.layout.soft.len() } else { 0 } {
            let s = self.layout.soft[k];
            let m = &self.layout.models[s.model as usize];
            let row = m.coordinates[s.coordinate as usize].1.row(m, &tree.placed(s.a), &tree.placed(s.b));
            let law = if whole { SoftLaw::whole } else { SoftLaw::new };
            let law = law(self.linear.soft[k].law, h, self.mobility_of(&row, s.a, s.b));
            self.linear.soft[k] = law;
            tree.write_row(&mut soft, row, s.a, s.b, v);
            tree.response.compliance.push(law.compliance);
        }
        if tree.implicit {
            self.linear.forget();
        }
        let mut bounded = std::mem::take(&mut tree.response.bounded);
        bounded.clear(rates);
        for k in 0..self.layout.bounded.len() {
            let b = self.layout.bounded[k];
            let m = &self.layout.models[b.model as usize];
            let row = m.coordinates[b.coordinate as usize].1.row(m, &tree.placed(b.a), &tree.placed(b.b));
            self.bounded.rows[k] = row;
            tree.write_row(&mut bounded, row, b.a, b.b, v);
        }
        tree.response.soft = soft;
        let is_fit = tree.factor_response();
        if is_fit {
            let mut soft = std::mem::take(&mut tree.response.soft);
            tree.answer_rows(&mut soft);
            tree.response.soft = soft;
            tree.answer_rows(&mut bounded);
            let n = bounded.len();
            for i in 0..n {
                for j in 0..n {
                    self.bounded.w[i * n + j] = bounded.part(i, bounded.answer(j));
                }
            }
            self.bounded.symmetrise();
            self.bounded.soften_servos(h, whole);
            self.bounded.stale = true;
        }
        tree.response.bounded = bounded;
        is_fit.then_some(())
    }

    /// Loads springs and opens the bounded rows for the first half of a step, at the kicked rates `tree.half`; friction and motors
    /// act for a time `share`. Springs change the rates; bounded rows are left to be solved.
    pub(super) fn load_springs(&mut self, tree: &mut Tree, h: f64, share: f64) {
        self.open_springs(tree, h);
        self.aim_bounded_first(tree, h, share);
    }

    /// Loads springs alone.
    pub(super) fn open_springs(&mut self, tree: &mut Tree, h: f64) {
        let mut half = std::mem::take(&mut tree.half);
        let residuals: Vec<f64> = (0..tree.response.soft.len())
            .map(|k| {
                let rows = &tree.response.soft;
                let start = self.soft_start(k);
                self.linear.soft_rates[k] = rows.rate(k, &tree.v);
                let end = start + h * rows.rate(k, &half);
                self.linear.soft[k].position_residual(start, self.linear.soft_rates[k], end, 0.0, h)
            })
            .collect();
        tree.soft_first.clear();
        tree.soft_first.resize(residuals.len(), 0.0);
        tree.push_springs(&residuals, &mut half);
        tree.half = half;
    }

    /// Opens the bounded rows alone.
    pub(super) fn aim_bounded_first(&mut self, tree: &Tree, h: f64, share: f64) {
        self.read_bounded_values();
        self.bounded.start_value.copy_from_slice(&self.bounded.value);
        for k in 0..tree.response.bounded.len() {
            self.bounded.incoming[k] = tree.response.bounded.rate(k, &tree.v);
            self.bounded.aim_first(k, tree.response.bounded.rate(k, &tree.half), h, share);
        }
    }

    /// Solves the bounded rows of the first half and gives their impulses to `tree.half`.
    pub(super) fn push_bounded_first(&mut self, tree: &mut Tree) {
        self.bounded.solve(true);
        self.bounded.trial.copy_from_slice(&self.bounded.first);
        self.push_trial(tree);
    }

    fn push_trial(&mut self, tree: &mut Tree) {
        let mut change = std::mem::take(&mut tree.change);
        change.fill(0.0);
        for k in 0..tree.response.bounded.len() {
            tree.response.bounded.push(k, self.bounded.trial[k], &mut change);
        }
        tree.let_springs_follow(&change);
        tree.half.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
        tree.change = change;
    }

    /// Moves the tree from `tree.q_start` with `tree.half`, which is corrected until limits and springs are exact at the end.
    /// `tree.q` and the poses of the tree's data are those of the end then, and so is `next`; returns the iterations.
    pub(super) fn move_tree(&mut self, tree: &mut Tree, h: f64, tolerance: f64) -> Option<u32> {
        let movable = self.layout.movable;
        for (k, outside) in tree.data.outside.iter_mut().enumerate() {
            outside.0 = self.next[movable + k];
        }
        let mut before = f64::INFINITY;
        let mut iterations = 0;
        for _ in 0..MOST_ITERATIONS {
            tree.q.copy_from_slice(&tree.q_start);
            tree.model.integrate(&mut tree.q, &tree.half, h);
            iterations += tree.place_closed(tolerance)?;
            for (link, at) in tree.model.links.iter().zip(&tree.data.links) {
                self.next[link.body as usize] = at.placed;
            }
            let mut worst = if self.bounded.has_limits() { self.limit_violation() } else { 0.0 };
            let mut residuals = Vec::with_capacity(tree.response.soft.len());
            for k in 0..tree.response.soft.len() {
                let (s, law) = (&self.layout.soft[k], &self.linear.soft[k]);
                let end = self.coordinate_at_next(s.model, s.coordinate, s.a, s.b);
                let r =
                    law.position_residual(self.soft_start(k), self.linear.soft_rates[k], end, tree.soft_first[k], h);
                let (row, a, b) = &tree.response.soft.rows[k];
                let mobility = self.mobility_of(row, *a, *b);
                worst = max_abs([worst, r * h * mobility / (mobility + law.compliance)]);
                residuals.push(r);
            }
            if worst <= tolerance {
                return Some(iterations);
            }
            if worst.is_nan() || worst > 0.7 * before {
                return None;
            }
            before = worst;
            iterations += 1;
            let mut half = std::mem::take(&mut tree.half);
            tree.push_springs(&residuals, &mut half);
            tree.half = half;
            if self.bounded.has_limits() {
                self.find_limit_corrections(h);
                self.push_trial(tree);
            }
        }
        None
    }

    /// Reads the bounded coordinates at the end of the step.
    pub(super) fn read_bounded_at_end(&mut self) {
        for k in 0..self.layout.bounded.len() {
            let b = self.layout.bounded[k];
            self.bounded.value[k] = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
        }
    }

    /// Impulses of springs and bounded rows after the move, for the kicked rates `v`, which they change. The rows are those of
    /// the end of the step, prepared.
    pub(super) fn push_second(&mut self, tree: &mut Tree, v: &mut [f64], h: f64, tolerance: f64) {
        let residuals: Vec<f64> = (0..tree.response.soft.len())
            .map(|k| {
                let s = &self.layout.soft[k];
                let end = self.coordinate_at_next(s.model, s.coordinate, s.a, s.b);
                let mean = (end - self.soft_start(k)) / h;
                self.linear.soft[k].velocity_residual(end, mean, tree.response.soft.rate(k, v), 0.0, h)
            })
            .collect();
        let first = std::mem::take(&mut tree.soft_first);
        tree.soft_first.extend(std::iter::repeat_n(0.0, first.len()));
        tree.push_springs(&residuals, v);
        let n = tree.response.bounded.len();
        if n > 0 {
            for k in 0..n {
                self.bounded.aim_second(k, tree.response.bounded.rate(k, v), h, tolerance);
            }
            self.bounded.solve(false);
            let mut change = vec![0.0; v.len()];
            (0..n).for_each(|k| tree.response.bounded.push(k, self.bounded.second[k], &mut change));
            tree.let_springs_follow(&change);
            v.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
        }
        tree.soft_second = std::mem::replace(&mut tree.soft_first, first);
    }

    /// Adds the mean forces of springs and bounded rows over a step to the loads of the tree, at the rows at hand.
    pub(super) fn load_acting(&mut self, tree: &mut Tree, h: f64) {
        self.bounded.average(h);
        self.load_springs_forces(tree, h);
        for k in 0..tree.response.bounded.len() {
            let (row, a, b) = tree.response.bounded.rows[k];
            tree.push(&row, self.bounded.forces[k], a, b);
        }
    }

    /// The same of springs alone.
    pub(super) fn load_springs_forces(&mut self, tree: &mut Tree, h: f64) {
        for k in 0..tree.response.soft.len() {
            tree.soft_force[k] = (tree.soft_first[k] + tree.soft_second.get(k).copied().unwrap_or(0.0)) / h;
            let (row, a, b) = tree.response.soft.rows[k];
            tree.push(&row, tree.soft_force[k], a, b);
        }
    }

    /// A soft coordinate at the start of the step.
    fn soft_start(&self, k: usize) -> f64 {
        let s = &self.layout.soft[k];
        self.values[self.first_value[s.model as usize] as usize + s.coordinate as usize]
    }

    /// How far a unit impulse on a row moves it, the bodies alone.
    pub(super) fn mobility_of(&self, row: &crate::joint::rows::Row, a: u32, b: u32) -> f64 {
        let mut mobility = 0.0;
        for (body, is_b) in [(a, false), (b, true)] {
            if (body as usize) < self.layout.movable {
                mobility += self.hat_row(row, body as usize, is_b).iter().map(|x| x * x).sum::<f64>();
            }
        }
        mobility
    }

    /// The sum of impulses of springs and bounded rows on the mechanism as a whole, and of their moments about its centre of mass.
    pub(super) fn outer_impulse(&self, tree: &Tree, springs: &[f64], bounded: &[f64]) -> (DVec3, DVec3) {
        let (mut sum, mut moment, mut mass, mut center) = (DVec3::ZERO, DVec3::ZERO, 0.0, DVec3::ZERO);
        if !tree.floats {
            return (sum, moment);
        }
        for (k, link) in tree.model.links.iter().enumerate() {
            mass += link.mass;
            center += tree.data.links[k].placed.x * link.mass;
        }
        center /= mass;
        let soft = tree.response.soft.rows.iter().zip(springs);
        for (&(row, a, b), &p) in soft.chain(tree.response.bounded.rows.iter().zip(bounded)) {
            for (body, lin, ang) in [(a, -row.lin, row.ang_a), (b, row.lin, row.ang_b)] {
                if (body as usize) < self.layout.movable {
                    sum += lin * p;
                    moment += (ang + (tree.placed(body).x - center).cross(lin)) * p;
                }
            }
        }
        (sum, moment)
    }
}

impl Tree {
    /// Gives springs the impulses that take out their residuals, to first order: rates and `soft_first` change.
    pub(super) fn push_springs(&mut self, residuals: &[f64], v: &mut [f64]) {
        if residuals.is_empty() {
            return;
        }
        let mut change = vec![0.0; v.len()];
        for (k, r) in residuals.iter().enumerate() {
            self.soft_first[k] -= r / self.response.compliance[k];
            self.response.soft.push(k, -r / self.response.compliance[k], &mut change);
        }
        self.let_springs_follow(&change);
        v.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
    }

    /// Springs give way to a change of the rates.
    pub(super) fn let_springs_follow(&mut self, change: &[f64]) {
        for k in 0..self.soft_first.len() {
            self.soft_first[k] -= self.response.soft.part(k, change) / self.response.compliance[k];
        }
    }
}
