//! Rigid contact: the proximal method of multipliers with de Saxcé's correction (contact.md, section 1).
//!
//! Every round solves a softened problem that starts from the last round's impulses; the softness vanishes from the answer as the
//! rounds converge. Coulomb impulses are not unique; this finds those near the ones it starts from, so that loads spread
//! evenly and stay where they were.

use super::cone;
use super::coulomb::Coulomb;
use super::newton::{Newton, Outcome as Inner};
use super::problem::{Entry, Law, Problem};
use crate::math::{length, max_abs};

const MOST_ROUNDS: u32 = 60;
const MOST_ITERATIONS: u32 = 20;
/// The same with the slip of the same iteration, which is tried first in small problems: it converges soon or not at all.
const MOST_AT_ONCE: u32 = 12;
/// Failures of it after which it is tried only in every so-many-th round.
const FAILURES: u32 = 3;
/// Softness of a round in units of a contact's own mobility, and how far it may be changed.
const SOFTNESS: f64 = 1e-2;
const SOFTEST: f64 = 0.1;
const HARDEST: f64 = 1e-6;
/// Softness of joints in units of that of contacts.
const JOINT_HARDNESS: f64 = 1e-3;
/// Iterations in which the slip must settle (three times as many in small problems), and those without it.
const SLIP_ITERATIONS: u32 = 40;
const MOST_LAGGED: u32 = 100;
const LARGE: usize = 50;
/// How much less exact the problem with the last step's slip is solved.
const LAGGED_EXACTNESS: f64 = 10.0;
/// So many tolerances are good enough if it gets no better.
const ALMOST: f64 = 30.0;
/// A residual of so many tolerances is a contradiction.
const JAMMED: f64 = 1e3;
/// Rounds without progress after which the contacts contradict each other.
const PATIENCE: u32 = 12;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub iterations: u32,
    pub residual: f64,
    pub jammed: bool,
}

/// Working memory.
#[derive(Default)]
pub(super) struct Rigid {
    mobility: Vec<f64>,
    target: Vec<f64>,
    /// The targets and impulses it was given.
    aim: Vec<f64>,
    first: Vec<[f64; 3]>,
    best: Vec<[f64; 3]>,
    last: Vec<[f64; 3]>,
    coulomb: Coulomb,
}

impl Rigid {
    /// Measures how far a unit impulse of each entry moves itself; returns the largest.
    pub fn measure_mobility(&mut self, problem: &Problem) -> f64 {
        self.mobility.clear();
        self.mobility.extend(problem.entries.iter().map(|e| problem.mobility(e)));
        let largest = self.mobility.iter().copied().fold(0.0, f64::max);
        self.mobility.iter_mut().for_each(|w| *w = w.max(1e-9 * largest));
        largest
    }

    pub fn mobility(&self) -> &[f64] {
        &self.mobility
    }

    /// How far entries from a given one on are from their laws, m/s.
    pub fn largest_residual(&self, problem: &Problem, from: usize) -> f64 {
        let entries = problem.entries.iter().zip(&self.mobility).skip(from);
        max_abs(entries.map(|(e, w)| residual_of(e, *w, e.target, false)))
    }
}

/// Solves for impulses that meet Coulomb's law within `tolerance` (m/s), starting from `entry.impulse`.
pub(super) fn solve(
    problem: &mut Problem,
    newton: &mut Newton,
    work: &mut Rigid,
    z: &mut Vec<f64>,
    tolerance: f64,
) -> Outcome {
    let mut outcome = Outcome::default();
    newton.prepare(problem);
    if work.measure_mobility(problem) == 0.0 {
        problem.entries.iter_mut().for_each(|e| (e.impulse, e.velocity) = ([0.0; 3], e.b));
        return outcome;
    }
    work.target.clear();
    work.target.extend(problem.entries.iter().map(|e| e.target));
    work.aim.clone_from(&work.target);
    let mut lagged = false;
    work.first.clear();
    work.first.extend(problem.entries.iter().map(|e| e.impulse));
    // the last impulses, unless none at all are better
    let nothing = state_without(problem, z, &work.mobility, &work.target, lagged);
    problem.entries.iter_mut().zip(&work.first).for_each(|(e, p)| e.impulse = *p);
    let mut residual = state_of(problem, z, &work.mobility, &work.target, lagged);
    let cold = nothing < residual;
    if cold {
        residual = state_without(problem, z, &work.mobility, &work.target, lagged);
    }
    work.best.clear();
    work.best.extend(problem.entries.iter().map(|e| e.impulse));
    let mut best = residual;
    let (mut softness, mut idle) = (SOFTNESS, 0);
    let mut failures = 0;
    for round in 0..MOST_ROUNDS {
        let correct = !(lagged || cold && round == 0);
        work.last.clear();
        work.last.extend(problem.entries.iter().map(|e| e.impulse));
        for (k, e) in problem.entries.iter_mut().enumerate() {
            (e.start, e.stiffness) = match e.law {
                // a soft material among rigid ones holds its own law
                Law::Cone(_) if e.compliance > 0.0 => (e.start, 1.0 / e.compliance),
                _ if e.compliance > 0.0 => ([0.0; 3], 1.0 / e.compliance),
                _ => (e.impulse, 1.0 / (softness * hardness(e) * work.mobility[k])),
            };
        }
        let exact = (0.1 * residual).max(0.1 * tolerance);
        let mut inner = Inner::default();
        if correct && problem.size <= LARGE && (failures < FAILURES || round % FAILURES == 0) {
            problem.entries.iter_mut().zip(&work.target).for_each(|(e, target)| e.target = *target);
            inner = work.coulomb.solve(problem, z, exact, MOST_AT_ONCE);
            outcome.iterations += inner.iterations;
            failures += u32::from(!inner.converged);
            if !inner.converged {
                problem.entries.iter_mut().zip(&work.last).for_each(|(e, p)| e.impulse = *p);
                state_of(problem, z, &work.mobility, &work.target, lagged);
            }
        }
        if !inner.converged {
            for (e, target) in problem.entries.iter_mut().zip(&work.target) {
                let slip = match e.law {
                    Law::Cone(mu) if correct => mu * length(e.velocity[1], e.velocity[2]),
                    _ => 0.0,
                };
                e.target = target - slip;
            }
            inner = newton.solve(problem, z, exact, MOST_ITERATIONS);
            outcome.iterations += inner.iterations;
        }
        let before = residual;
        residual = natural_residual(problem, &work.mobility, &work.target, lagged);
        if residual < best {
            best = residual;
            work.best.clear();
            work.best.extend(problem.entries.iter().map(|e| e.impulse));
            idle = 0;
        } else {
            idle += 1;
        }
        if best <= if lagged { LAGGED_EXACTNESS * tolerance } else { tolerance } {
            break;
        }
        let patient = if problem.size > LARGE { SLIP_ITERATIONS } else { 3 * SLIP_ITERATIONS };
        if !lagged && idle >= PATIENCE && best < ALMOST * tolerance {
            break;
        }
        if !lagged && (outcome.iterations > patient || idle >= PATIENCE) {
            // the slip does not settle: with that of the last step the problem is convex
            lagged = true;
            for (target, e) in work.target.iter_mut().zip(&problem.entries) {
                *target -= e.slip;
            }
            problem.entries.iter_mut().zip(&work.first).for_each(|(e, p)| e.impulse = *p);
            residual = state_of(problem, z, &work.mobility, &work.target, lagged);
            best = residual;
            work.best.clone_from(&work.first);
            (softness, idle) = (SOFTNESS, 0);
            continue;
        }
        if idle >= PATIENCE || outcome.iterations > patient + MOST_LAGGED {
            break;
        }
        if !inner.converged {
            softness = (10.0 * softness).min(SOFTEST);
            if residual > 2.0 * before {
                problem.entries.iter_mut().zip(&work.last).for_each(|(e, p)| e.impulse = *p);
                residual = state_of(problem, z, &work.mobility, &work.target, lagged);
            }
        } else if residual > 0.3 * before {
            softness = (0.1 * softness).max(HARDEST);
        }
    }
    problem.entries.iter_mut().zip(&work.best).for_each(|(e, p)| e.impulse = *p);
    outcome.residual = state_of(problem, z, &work.mobility, &work.target, lagged);
    problem.entries.iter_mut().zip(&work.aim).for_each(|(e, t)| e.target = *t);
    outcome.jammed = outcome.residual > JAMMED * tolerance;
    outcome
}

/// Joints are linear: nothing is lost if they start harder.
fn hardness(entry: &Entry) -> f64 {
    if matches!(entry.law, Law::Joint(_)) { JOINT_HARDNESS } else { 1.0 }
}

/// The same without impulses.
fn state_without(problem: &mut Problem, z: &mut Vec<f64>, mobility: &[f64], target: &[f64], lagged: bool) -> f64 {
    problem.entries.iter_mut().for_each(|e| e.impulse = [0.0; 3]);
    state_of(problem, z, mobility, target, lagged)
}

/// Makes z and the velocities those of the present impulses; returns the residual.
fn state_of(problem: &mut Problem, z: &mut Vec<f64>, mobility: &[f64], target: &[f64], lagged: bool) -> f64 {
    z.clear();
    z.resize(problem.size, 0.0);
    for e in &problem.entries {
        problem.push(e, &e.impulse, z);
    }
    for k in 0..problem.entries.len() {
        let mut v = problem.rates(&problem.entries[k], z);
        (0..3).for_each(|s| v[s] += problem.entries[k].b[s]);
        problem.entries[k].velocity = v;
    }
    natural_residual(problem, mobility, target, lagged)
}

/// How far impulses and velocities are from Coulomb's law (or from the convex one with a given slip) and the bounds, m/s.
fn natural_residual(problem: &Problem, mobility: &[f64], target: &[f64], lagged: bool) -> f64 {
    let entries = problem.entries.iter().zip(mobility).zip(target);
    max_abs(entries.map(|((e, w), t)| residual_of(e, *w, *t, lagged)))
}

fn residual_of(e: &Entry, w: f64, target: f64, lagged: bool) -> f64 {
    let v = [e.velocity[0] - target, e.velocity[1], e.velocity[2]];
    let y = e.impulse.map(|p| w * p);
    match e.law {
        Law::Cone(mu) if e.compliance > 0.0 => {
            let slip = if lagged { 0.0 } else { mu * length(v[1], v[2]) };
            let k = 1.0 / e.compliance;
            let p = cone::project(&[-k * (v[0] + slip), e.start[1] - k * v[1], e.start[2] - k * v[2]], mu);
            w / (1.0 + k * w) * max_abs((0..3).map(|s| e.impulse[s] - p[s]))
        }
        Law::Cone(mu) if lagged => {
            let p = cone::project(&[y[0] - v[0], y[1] - v[1], y[2] - v[2]], mu);
            max_abs((0..3).map(|s| y[s] - p[s]))
        }
        Law::Cone(mu) => {
            let normal = v[0].min(y[0]).abs();
            let bound = mu * y[0].max(0.0);
            let (a, b) = (y[1] - v[1], y[2] - v[2]);
            let along = length(a, b);
            let scale = if along > bound { bound / along } else { 1.0 };
            max_abs([normal, length(y[1] - scale * a, y[2] - scale * b)])
        }
        Law::Joint(rows) => max_abs((0..usize::from(rows)).map(|r| v[r] + e.compliance * e.impulse[r])),
        Law::Bounds(lo, hi) => y[0] - (y[0] - v[0] - e.compliance * e.impulse[0]).clamp(w * lo, w * hi),
    }
}
