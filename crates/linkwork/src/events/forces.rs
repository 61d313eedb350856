//! The forces of what rests: complementarity problems in accelerations, velocities or distances, group by group.
//!
//! A row i of one problem has the rate w_i = Σ_j A_ij x_j + b_i, A_ij = j_i · (response to force j): through joints, of all bodies of
//! the units that both act on (course notes, appendix D, where bodies are free). A point that slides has one unknown, its normal
//! force, which pushes along n − μ t; A is not symmetric then (Baraff 1994, section 6). A point that sticks has three, with a
//! pyramid of friction whose first axis is where the point would go without it.

use super::push::{Push, What, row_at, tangents};
use super::stage::{Stage, Unit};
use super::{SLIDE_SPEED, TOUCH};
use crate::contact::lcp::{self, Bounds, Failure, Solution};
use crate::equations;
use crate::joint::rows::Row;
use crate::params::ContactSolver;
use glam::DVec3;

/// Unknown forces of one row.
#[derive(Clone, Copy)]
pub(super) struct Unknown {
    /// Which push, and which of its rows.
    pub push: usize,
    pub line: usize,
    /// What is measured, and what the force acts along.
    pub row: Row,
    pub along: Row,
    /// Friction counts its normal's place among all unknowns.
    pub bounds: Bounds,
    pub b: f64,
}

/// Changes of bodies, by slot: linear, angular.
pub(super) type Changes = Vec<(u32, DVec3, DVec3)>;

/// Every row gives way by this part of its own response, so that points that can share a load in many ways share it evenly; more
/// where pivots of rounding lead astray.
const SOFTNESS: [f64; 2] = [1e-6, 1e-4];
/// Rounds in which what gives way is taken back, and what may remain of it, as a part of the largest acceleration.
const MOST_ROUNDS: usize = 8;
const HELD: f64 = 1e-12;
/// Sweeps of projected Gauss-Seidel, the last to be asked.
const MOST_SWEEPS: usize = 3000;
/// What is missed, as a part of the largest number in the problem, where no solver does better.
const TOLERATED: f64 = 1e-6;

impl Unknown {
    pub fn new(push: usize, line: usize, row: Row, bounds: Bounds, b: f64) -> Unknown {
        Unknown { push, line, row, along: row, bounds, b }
    }
}

impl Stage<'_> {
    /// Accelerations of all bodies by slot, with the forces of what rests; these are left in the pushes.
    pub fn accelerations(&mut self, may_slide: bool) -> Result<Vec<(DVec3, DVec3)>, String> {
        let mut found = equations::accelerations(self.world, self.scratch);
        self.write_contact_bias();
        self.add_known_forces(&mut found);
        self.turn_tangents(&found);
        let mut unknowns = Vec::new();
        for (k, push) in self.pushes.iter().enumerate() {
            let b = |r: usize| rate(&push.rows[r], push, &found) + push.bias[r];
            match push.what {
                What::Contact(point) => {
                    let normal = unknowns.len();
                    let mut first = Unknown::new(k, 0, push.rows[0], Bounds::Unilateral, b(0));
                    let mu = point.manifold.material.friction;
                    match point.slip.filter(|_| may_slide) {
                        Some(_) if mu > 0.0 => {
                            let [t1, t2] = self.slip_direction(push).map(|x| -mu * x);
                            first.along = push.rows[0].plus(&push.rows[1].scaled(t1)).plus(&push.rows[2].scaled(t2));
                            unknowns.push(first);
                        }
                        None if mu > 0.0 => {
                            unknowns.push(first);
                            for r in [1, 2] {
                                let bounds = Bounds::Friction { normal, mu };
                                unknowns.push(Unknown::new(k, r, push.rows[r], bounds, b(r)));
                            }
                        }
                        _ => unknowns.push(first),
                    }
                }
                What::Limit { held, .. } => {
                    let bounds = if held { Bounds::Equality } else { Bounds::Unilateral };
                    unknowns.push(Unknown::new(k, 0, push.rows[0], bounds, b(0)));
                }
                What::Drive { most, slip: None, .. } => {
                    let finite = Bounds::Box { lo: -most, hi: most };
                    let bounds = if most.is_finite() { finite } else { Bounds::Equality };
                    unknowns.push(Unknown::new(k, 0, push.rows[0], bounds, b(0)));
                }
                What::Drive { .. } | What::Servo { .. } => {}
            }
        }
        let solved = self.solve(&unknowns);
        let (x, changes) = match solved {
            // sliding friction can leave no forces at all (Painlevé): then what slides sticks for the moment
            Err(_) if may_slide && self.pushes.iter().any(|p| p.point().is_some_and(|p| p.slip.is_some())) => {
                return self.accelerations(false);
            }
            other => other?,
        };
        for push in &mut self.pushes {
            if !matches!(push.what, What::Drive { slip: Some(_), .. } | What::Servo { .. }) {
                push.force = [0.0; 3];
            }
        }
        for (unknown, x) in unknowns.iter().zip(&x) {
            let slides = may_slide && self.pushes[unknown.push].point().is_some_and(|p| p.slip.is_some());
            self.pushes[unknown.push].force[unknown.line] = *x;
            if slides {
                let push = &self.pushes[unknown.push];
                let mu = push.point().map_or(0.0, |p| p.manifold.material.friction);
                let [t1, t2] = self.slip_direction(push);
                self.pushes[unknown.push].force = [*x, -mu * x * t1, -mu * x * t2];
            }
        }
        add(&mut found, &changes);
        Ok(found)
    }

    /// Finds the forces; returns the accelerations of every push's rows.
    pub fn forces(&mut self, may_slide: bool) -> Result<Vec<[f64; 3]>, String> {
        let found = self.accelerations(may_slide)?;
        let rates = |push: &Push| [0, 1, 2].map(|r| rate(&push.rows[r], push, &found) + push.bias[r]);
        Ok(self.pushes.iter().map(rates).collect())
    }

    /// Friction and motors that slip push with all they have, servos by their law.
    fn add_known_forces(&mut self, found: &mut [(DVec3, DVec3)]) {
        for k in 0..self.pushes.len() {
            let push = self.pushes[k];
            let force = match push.what {
                What::Drive { most, slip: Some(sign), .. } => -most * sign,
                What::Servo { at, law, most } => {
                    let drive = self.world.joints.at(at.joint).and_then(|j| j.drives.get(at.coordinate));
                    let value = drive.map_or(0.0, |d| d.value);
                    let rate = self.rates(&push)[0];
                    (law.bias - law.stiffness * (value - law.rest) - law.damping * rate).clamp(-most, most)
                }
                _ => continue,
            };
            self.pushes[k].force = [force, 0.0, 0.0];
            let changes = self.response(push.a, push.b, &push.rows[0].scaled(force));
            add(found, &changes);
        }
    }

    /// Turns the first tangent of what sticks to where it would go.
    fn turn_tangents(&mut self, found: &[(DVec3, DVec3)]) {
        for k in 0..self.pushes.len() {
            let push = self.pushes[k];
            let Some(point) = push.point().filter(|p| p.slip.is_none()) else { continue };
            let pull = [1, 2].map(|r| rate(&push.rows[r], &push, found) + push.bias[r]);
            let way = point.tangents[0] * pull[0] + point.tangents[1] * pull[1];
            if way.length() <= 1e-9 {
                continue;
            }
            let turned = tangents(point.normal, way);
            let bias = point.tangents[0] * push.bias[1] + point.tangents[1] * push.bias[2];
            let (a, b) = (self.placed(push.a), self.placed(push.b));
            let position = point.position;
            let push = &mut self.pushes[k];
            for (r, t) in turned.iter().enumerate() {
                push.rows[r + 1] = row_at(*t, position, &a, &b);
                push.bias[r + 1] = bias.dot(*t);
            }
            if let Some(point) = push.point_mut() {
                point.tangents = turned;
            }
        }
    }

    /// Where a point slides, along its tangents: as it moves, or as it is going to.
    fn slip_direction(&self, push: &Push) -> [f64; 2] {
        let Some(point) = push.point() else { return [0.0; 2] };
        let known = point.slip.unwrap_or(DVec3::ZERO);
        let rates = self.rates(push);
        let along = point.tangents[0] * rates[1] + point.tangents[1] * rates[2];
        let way = if along.length() > SLIDE_SPEED && along.dot(known) > 0.0 { along } else { known };
        let [x, y] = [point.tangents[0].dot(way), point.tangents[1].dot(way)];
        let length = x.hypot(y).max(f64::MIN_POSITIVE);
        [x / length, y / length]
    }

    /// Takes the rest of the speed from what is at rest: rounding, and what the solver has left.
    pub fn polish(&mut self) -> Result<(), String> {
        let mut unknowns = Vec::new();
        let small = 10.0 * SLIDE_SPEED;
        let mut worst = 0.0_f64;
        for (k, push) in self.pushes.iter().enumerate() {
            let rates = self.rates(push);
            let mut ask = |line: usize, bounds: Bounds, b: f64| {
                let idle = bounds == Bounds::Unilateral && b > 0.0;
                worst = worst.max(if idle { 0.0 } else { b.abs() });
                unknowns.push(Unknown::new(k, line, push.rows[line], bounds, b));
            };
            match push.what {
                What::Contact(point) if rates[0] <= small => {
                    ask(0, Bounds::Unilateral, rates[0]);
                    if point.manifold.material.friction > 0.0 && rates[1].hypot(rates[2]) <= small {
                        [1, 2].into_iter().for_each(|r| ask(r, Bounds::Equality, rates[r]));
                    }
                }
                What::Limit { held, .. } if held || rates[0] <= small => {
                    ask(0, if held { Bounds::Equality } else { Bounds::Unilateral }, rates[0]);
                }
                What::Drive { target, most, .. } if most == f64::INFINITY || (rates[0] - target).abs() <= small => {
                    ask(0, Bounds::Equality, rates[0] - target);
                }
                _ => {}
            }
        }
        if worst <= 1e-13 {
            return Ok(());
        }
        equations::accelerations(self.world, self.scratch);
        let (_, changes) = self.solve(&unknowns)?;
        self.change_velocities(&changes);
        Ok(())
    }

    /// The least motion that takes all that touches out of overlap.
    pub fn motion_out(&mut self) -> Result<Changes, String> {
        equations::accelerations(self.world, self.scratch);
        let mut unknowns = Vec::new();
        for (k, push) in self.pushes.iter().enumerate() {
            match push.what {
                What::Contact(_) | What::Limit { held: false, .. } => {
                    let b = push.gap - 0.1 * TOUCH;
                    unknowns.push(Unknown::new(k, 0, push.rows[0], Bounds::Unilateral, b));
                }
                What::Limit { .. } => unknowns.push(Unknown::new(k, 0, push.rows[0], Bounds::Equality, push.gap)),
                _ => {}
            }
        }
        Ok(self.solve(&unknowns)?.1)
    }

    pub fn change_velocities(&mut self, changes: &Changes) {
        for (slot, v, w) in changes {
            if let Some(body) = self.world.bodies.at_mut(*slot as usize) {
                body.v += *v;
                body.w += *w;
            }
        }
    }

    /// Solves for all unknowns, those that cannot feel each other apart; returns them and what they do to the bodies. Mechanisms must
    /// be gathered and factorised.
    pub fn solve(&mut self, unknowns: &[Unknown]) -> Result<(Vec<f64>, Changes), String> {
        let mut x = vec![0.0; unknowns.len()];
        let mut changes = Changes::new();
        for group in self.groups(unknowns) {
            let (values, responses) = self.solve_group(unknowns, &group)?;
            for ((&k, value), response) in group.iter().zip(&values).zip(&responses) {
                x[k] = *value;
                changes.extend(response.iter().map(|(slot, v, w)| (*slot, *v * *value, *w * *value)));
            }
        }
        Ok((x, changes))
    }

    /// Unknowns that act on the same bodies and mechanisms, directly or by way of others, in order.
    pub fn groups(&self, unknowns: &[Unknown]) -> Vec<Vec<usize>> {
        let shift = self.units.len();
        let unit = |slot: Option<u32>| match slot.map(|slot| (slot as usize, self.units[slot as usize])) {
            Some((slot, Unit::Free)) => Some(slot),
            Some((_, Unit::Of(m, _))) => Some(shift + m),
            _ => None,
        };
        let largest = unknowns.iter().flat_map(|u| [self.pushes[u.push].a, self.pushes[u.push].b]);
        let count = largest.filter_map(unit).max().map_or(0, |m| m + 1);
        let mut parent: Vec<usize> = (0..count).collect();
        fn root(parent: &mut [usize], mut k: usize) -> usize {
            while parent[k] != k {
                parent[k] = parent[parent[k]];
                k = parent[k];
            }
            k
        }
        for u in unknowns {
            if let (Some(a), Some(b)) = (unit(self.pushes[u.push].a), unit(self.pushes[u.push].b)) {
                let (a, b) = (root(&mut parent, a), root(&mut parent, b));
                parent[a.max(b)] = a.min(b);
            }
        }
        let mut number = vec![usize::MAX; count];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (k, u) in unknowns.iter().enumerate() {
            let Some(unit) = unit(self.pushes[u.push].a).or(unit(self.pushes[u.push].b)) else { continue };
            let root = root(&mut parent, unit);
            if number[root] == usize::MAX {
                number[root] = groups.len();
                groups.push(Vec::new());
            }
            groups[number[root]].push(k);
        }
        groups
    }

    /// The responses of a group, and its matrix.
    pub fn matrix(&mut self, unknowns: &[Unknown], group: &[usize]) -> (Vec<f64>, Vec<Changes>) {
        let n = group.len();
        let mut responses = Vec::with_capacity(n);
        for &k in group {
            let u = &unknowns[k];
            let (a, b) = (self.pushes[u.push].a, self.pushes[u.push].b);
            responses.push(self.response(a, b, &u.along));
        }
        let mut matrix = vec![0.0; n * n];
        for (i, &k) in group.iter().enumerate() {
            let u = &unknowns[k];
            let push = &self.pushes[u.push];
            for (j, response) in responses.iter().enumerate() {
                matrix[i * n + j] = change_of(&u.row, push, response);
            }
        }
        (matrix, responses)
    }

    fn solve_group(&mut self, unknowns: &[Unknown], group: &[usize]) -> Result<(Vec<f64>, Vec<Changes>), String> {
        let n = group.len();
        let (mut a, responses) = self.matrix(unknowns, group);
        let largest = (0..n).map(|i| a[i * n + i].abs()).fold(0.0, f64::max);
        if largest == 0.0 {
            return Ok((vec![0.0; n], responses));
        }
        // what joints hold already has hardly a response of its own
        let own: Vec<f64> = (0..n).map(|i| a[i * n + i]).collect();
        let place = |k: usize| group.iter().position(|&g| g == k).unwrap_or(0);
        let bounds: Vec<Bounds> = group
            .iter()
            .map(|&k| match unknowns[k].bounds {
                Bounds::Friction { normal, mu } => Bounds::Friction { normal: place(normal), mu },
                other => other,
            })
            .collect();
        let b: Vec<f64> = group.iter().map(|&k| unknowns[k].b).collect();
        let mut failure = None;
        for softness in SOFTNESS {
            let soft: Vec<f64> = own.iter().map(|own| softness * own.abs().max(1e-3 * largest)).collect();
            (0..n).for_each(|i| a[i * n + i] = own[i] + soft[i]);
            match self.solve_softly(&a, &b, &bounds, &soft) {
                Ok(x) => return Ok((x, responses)),
                Err(f) => failure = Some(f),
            }
        }
        let failure = failure.map_or(String::new(), |f| f.to_string());
        Err(format!(
            "no forces hold what touches{}: {failure} (less friction or the fixed stepper may help)",
            self.names_of_pushing()
        ))
    }

    /// Rows that give way hold on to the forces of the round before: after a few rounds nothing gives way any more.
    fn solve_softly(&mut self, a: &[f64], b: &[f64], bounds: &[Bounds], soft: &[f64]) -> Result<Vec<f64>, Failure> {
        let size = b.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        let mut x = vec![0.0; b.len()];
        for _ in 0..MOST_ROUNDS {
            let held: Vec<f64> = (0..b.len()).map(|i| b[i] - soft[i] * x[i]).collect();
            let solution = complementary(&lcp::Problem { a, b: &held, bounds }, self.solver)?;
            self.report.iterations += solution.iterations as u32;
            let gave = (0..b.len()).fold(0.0_f64, |m, i| m.max(soft[i] * (solution.x[i] - x[i]).abs()));
            x = solution.x;
            if gave <= HELD * size {
                break;
            }
        }
        Ok(x)
    }
}

/// Asks the solver that was chosen, then the others.
fn complementary(problem: &lcp::Problem, first: ContactSolver) -> Result<Solution, Failure> {
    let sweep = || {
        let size = problem.b.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        lcp::gauss_seidel(problem, &vec![0.0; problem.rows()], MOST_SWEEPS, 1e-10 * size)
    };
    let solved = match first {
        ContactSolver::Newton | ContactSolver::Dantzig => lcp::dantzig(problem).or_else(|_| lcp::lemke(problem)),
        ContactSolver::Lemke => lcp::lemke(problem).or_else(|_| lcp::dantzig(problem)),
        ContactSolver::GaussSeidel => sweep().or_else(|_| lcp::dantzig(problem)).or_else(|_| lcp::lemke(problem)),
    };
    solved.or_else(|first| match sweep() {
        Ok(solution) => Ok(solution),
        Err(Failure::NotConverged { best }) => {
            let size = problem.b.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
            if best.residual <= TOLERATED * size { Ok(best) } else { Err(first) }
        }
        Err(_) => Err(first),
    })
}

/// The rate of a row under accelerations of all bodies by slot.
pub(super) fn rate(row: &Row, push: &Push, found: &[(DVec3, DVec3)]) -> f64 {
    let of = |slot: Option<u32>| slot.map_or((DVec3::ZERO, DVec3::ZERO), |slot| found[slot as usize]);
    let ((va, wa), (vb, wb)) = (of(push.a), of(push.b));
    row.lin.dot(vb - va) + row.ang_a.dot(wa) + row.ang_b.dot(wb)
}

/// The rate of a row under changes of a few bodies, in the order of slots.
pub(super) fn change_of(row: &Row, push: &Push, changes: &Changes) -> f64 {
    let of = |slot: Option<u32>| {
        let found = slot.and_then(|slot| changes.binary_search_by_key(&slot, |c| c.0).ok());
        found.map_or((DVec3::ZERO, DVec3::ZERO), |k| (changes[k].1, changes[k].2))
    };
    let ((va, wa), (vb, wb)) = (of(push.a), of(push.b));
    row.lin.dot(vb - va) + row.ang_a.dot(wa) + row.ang_b.dot(wb)
}

fn add(found: &mut [(DVec3, DVec3)], changes: &Changes) {
    for (slot, v, w) in changes {
        found[*slot as usize].0 += *v;
        found[*slot as usize].1 += *w;
    }
}
