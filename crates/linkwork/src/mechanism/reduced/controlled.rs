//! The error-controlled mode in reduced coordinates, for trees.
//!
//! The methods are those of [`controlled`](crate::mechanism::controlled), but a stage is one call of the articulated-body algorithm,
//! and nothing has to be projected: joints are closed by construction. A rotation with three freedoms is followed as the vector
//! σ by which it has turned since the substep began, q = q₀ exp(σ), whose rate is the body's angular velocity ω seen through
//! the inverse of the exponential's derivative: σ̇ = ω + ½ σ × ω + (1 − ½|σ| cot ½|σ|)/|σ|² σ × (σ × ω) (Munthe-Kaas 1998).

use super::{Advance, Mechanism, Tree};
use crate::joint::freedom::{Slide, Turn};
use crate::math::max_abs;
use crate::mechanism::controlled::{LOOSE, MOST_TURN, SMALLEST_FRACTION, next_size, part_of};
use crate::mechanism::runge_kutta::{DOP853, Estimate, RK4, Tableau};
use crate::params::Method;
use crate::reduced::Motion6;
use crate::reduced::adaptor;
use crate::report::StepKind;
use glam::DVec3;

/// Rates of positions and of velocities.
#[derive(Clone, Default)]
struct Slope {
    q: Vec<f64>,
    v: Vec<f64>,
}

#[derive(Default)]
pub(super) struct Control {
    slopes: Vec<Slope>,
    q: Vec<f64>,
    v: Vec<f64>,
    /// Change of the positions since the substep began, as rates for a unit of time; and an error of positions or velocities.
    moved: Vec<f64>,
    error: Vec<f64>,
    motions: Vec<Motion6>,
}

impl Mechanism {
    /// The step followed to a tolerance; `None`, and nothing has changed, if it must be by the direct method.
    pub(in crate::mechanism) fn controlled_in_tree(&mut self, h: f64, tolerance: f64) -> Option<Advance> {
        if self.method != Method::Reduced || !self.bounded.is_empty() || self.is_driven() {
            return None;
        }
        let mut tree = self.tree.take().unwrap_or_else(|| Box::new(self.make_tree()));
        let carried_frame = |link: &adaptor::Link| link.freedom.slide == Slide::Sphere;
        let fit = tree.loops.is_none() && !tree.model.links.iter().any(carried_frame) && !self.springs_are_stiff(h);
        let advance = fit.then(|| self.follow_tree(&mut tree, h, tolerance));
        self.tree = Some(tree);
        advance
    }

    fn follow_tree(&mut self, tree: &mut Tree, h: f64, tolerance: f64) -> Advance {
        let tableau = if tolerance >= LOOSE { &RK4 } else { &DOP853 };
        let mut control = std::mem::take(&mut tree.control);
        control.slopes.resize(tableau.b.len() + 1, Slope::default());
        self.u_start.copy_from_slice(&self.u);
        self.enter_tree(tree);
        (tree.is_settled, tree.implicit) = (false, false);
        self.expect_values(0.0);
        self.slope_in_tree(tree, &mut control, 0, true);
        let (mut done, mut substeps, mut missed) = (0.0, 0, false);
        let cautious = h.min(0.5 * MOST_TURN / self.fastest_spin().max(1e-9));
        let mut size = if self.substep > 0.0 { self.substep.min(h) } else { cautious };
        while done < h * (1.0 - 1e-12) {
            let attempt = part_of(h - done, size);
            control.q.clone_from(&tree.q);
            control.v.clone_from(&tree.v);
            self.expect_values(attempt);
            let error = match attempt * self.fastest_spin() > MOST_TURN {
                true => 16.0,
                false => self.runge_kutta_in_tree(tree, &mut control, tableau, attempt, tolerance),
            };
            let fits = error <= 1.0;
            if fits || attempt <= SMALLEST_FRACTION * h {
                missed |= !fits;
                done += attempt;
                substeps += 1;
                control.slopes.swap(0, tableau.b.len());
                // turns are counted anew
                control.slopes[0].q.clone_from(&tree.v);
                self.predict_outside(0.0);
                self.leave_tree(tree);
                self.commit_values();
                self.force_sum.iter_mut().zip(&self.force).for_each(|(sum, f)| *sum += attempt * f);
            } else {
                tree.q.clone_from(&control.q);
                tree.v.clone_from(&control.v);
            }
            size = next_size(attempt, error, tableau.order, SMALLEST_FRACTION * h);
        }
        self.substep = size;
        tree.control = control;
        tree.is_settled = true;
        self.refresh_drive_forces();
        self.remember_impulses(None);
        self.remember_accelerations(h);
        let mut advance = self.taken(0.0, StepKind::Controlled, None, substeps);
        self.errors_hold = false;
        (advance.substeps, advance.tolerance_missed) = (substeps, missed);
        advance
    }

    /// Tries a substep from the kept start, which leaves the tree at its end with the slope there; returns the error in units of the
    /// tolerance.
    fn runge_kutta_in_tree(
        &mut self,
        tree: &mut Tree,
        control: &mut Control,
        tableau: &Tableau,
        h: f64,
        tolerance: f64,
    ) -> f64 {
        for (i, row) in tableau.a.iter().enumerate() {
            tree.follow(control, row, h);
            self.slope_in_tree(tree, control, i + 1, false);
        }
        let end = tableau.b.len();
        tree.follow(control, tableau.b, h);
        self.slope_in_tree(tree, control, end, false);
        let mut size_of = |weights: &dyn Fn(usize) -> f64| tree.largest_error(control, weights, h, tolerance);
        let error = match &tableau.estimate {
            Estimate::LastSlope(c) => size_of(&|k| {
                if k == end {
                    -c
                } else if k + 1 == end {
                    *c
                } else {
                    0.0
                }
            }),
            Estimate::FiveThree { e5, e3 } => {
                let five = size_of(&|k| e5.get(k).copied().unwrap_or(0.0));
                let three = size_of(&|k| e3.get(k).copied().unwrap_or(0.0));
                let scale = (five * five + 0.01 * three * three).sqrt();
                if scale > 0.0 { five * five / scale } else { 0.0 }
            }
        };
        if error.is_finite() { error } else { 1e6 }
    }

    /// The rates of the tree's state into a slope; `again`: the tree is placed, driven and factorised there.
    fn slope_in_tree(&mut self, tree: &mut Tree, control: &mut Control, stage: usize, again: bool) {
        if again {
            control.moved.clear();
            control.moved.resize(tree.v.len(), 0.0);
        } else {
            adaptor::place(&tree.model, &mut tree.data, &tree.q);
            adaptor::drive(&tree.model, &mut tree.data, &tree.v);
        }
        self.loads_at(tree, true);
        // without loops accelerations are always found
        let _ = tree.accelerate(again);
        let slope = &mut control.slopes[stage];
        slope.v.clone_from(&tree.data.acceleration);
        slope.q.clone_from(&tree.v);
        for link in tree.model.links.iter().filter(|l| l.freedom.turn == Turn::Free) {
            let first = link.v as usize + link.freedom.slide_rates();
            let turned = DVec3::from_slice(&control.moved[first..]);
            let rate = turning_rate(turned, DVec3::from_slice(&slope.q[first..]));
            slope.q[first..first + 3].copy_from_slice(&rate.to_array());
        }
    }
}

impl Tree {
    /// Positions and velocities of a stage: those of the start and h Σ w_i k_i.
    fn follow(&mut self, control: &mut Control, weights: &[f64], h: f64) {
        control.moved.fill(0.0);
        self.v.clone_from(&control.v);
        for (w, slope) in weights.iter().zip(&control.slopes).filter(|(w, _)| **w != 0.0) {
            control.moved.iter_mut().zip(&slope.q).for_each(|(m, s)| *m += h * w * s);
            self.v.iter_mut().zip(&slope.v).for_each(|(v, s)| *v += h * w * s);
        }
        self.q.clone_from(&control.q);
        self.model.integrate(&mut self.q, &control.moved, 1.0);
    }

    /// The largest of what h Σ w_i k_i means for bodies where they are, in units of the tolerance: ways and angles, velocities
    /// relative to one.
    fn largest_error(&self, control: &mut Control, weight: &dyn Fn(usize) -> f64, h: f64, tolerance: f64) -> f64 {
        let mut worst = 0.0;
        for of_velocities in [false, true] {
            control.error.clear();
            control.error.resize(self.v.len(), 0.0);
            for (k, slope) in control.slopes.iter().enumerate() {
                let (w, rates) = (h * weight(k), if of_velocities { &slope.v } else { &slope.q });
                if w != 0.0 {
                    control.error.iter_mut().zip(rates).for_each(|(e, s)| *e += w * s);
                }
            }
            self.motions_by(&control.error, &mut control.motions);
            for (k, (motion, at)) in control.motions.iter().zip(&self.data.links).enumerate() {
                let (linear, angular) = (motion.at(at.lever()).v.length(), motion.w.length());
                let (speed, spin) = match of_velocities {
                    true => self.data.velocity(k),
                    false => (DVec3::ZERO, DVec3::ZERO),
                };
                worst = max_abs([worst, linear / (1.0 + speed.length()), angular / (1.0 + spin.length())]);
            }
        }
        worst / tolerance
    }
}

/// The rate of the vector by which a body has turned, for its angular velocity in its own axes.
fn turning_rate(turned: DVec3, spin: DVec3) -> DVec3 {
    let angle = turned.length();
    // the series of the coefficient, below where it loses digits
    let coefficient = match angle < 0.1 {
        true => 1.0 / 12.0 + angle * angle * (1.0 / 720.0 + angle * angle / 30240.0),
        false => (1.0 - 0.5 * angle / (0.5 * angle).tan()) / (angle * angle),
    };
    let across = turned.cross(spin);
    spin + 0.5 * across + coefficient * turned.cross(across)
}
