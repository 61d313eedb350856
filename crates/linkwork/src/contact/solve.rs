//! How the contacts of an island are solved: rigidly where a machine of few freedoms needs it, softly elsewhere.
//!
//! Rigid contact is exact but can contradict itself (a wedge, a press, a tread that is too tight). Soft contact always has
//! an answer, and a convex one: it is taken for bodies without joints, for mechanisms of many freedoms, whose joints then
//! are rows of the same problem, and where rigid contacts contradict each other.

use super::members::Members;
use super::problem::{Entry, Law, Problem};
use super::rolling::bound_rolling;
use super::{ContactReport, Contacts, Island, complementarity, rigid};
use crate::collide::{ContactPoint, Manifold};
use crate::joint::rows::Row;
use crate::math::length;
use crate::params::ContactSolver;
use crate::world::Seen;

/// How deep a body rests in another under its own weight, m, and the time in which deeper overlap is pushed out, s.
pub(super) const REST_DEPTH: f64 = 2e-6;
pub(super) const RELAXATION: f64 = 0.2;
/// Fraction of an overlap that rigid contact takes out in a step, at most.
const PUSH_OUT: f64 = 0.2;
/// Fastest push-out, m/s.
pub(super) const FASTEST_PUSH: f64 = 3.0;
/// How exact contacts are solved: soft ones as a velocity (m/s), rigid ones relative to the fastest that meets.
pub(super) const SOFT_TOLERANCE: f64 = 1e-6;
pub(super) const RIGID_TOLERANCE: f64 = 1e-6;
/// Overlap that an inexact solve may cause in a step, m.
const RIGID_DEPTH: f64 = 1e-7;
/// What may be left of soft contacts without being told, m/s, and how often an attempt may leave more.
const UNSOLVED: f64 = 1e-3;
const MOST_FAILURES: u32 = 4;
/// Iterations from which on a problem is hard, and coordinates from which on that matters.
const HARD: u32 = 60;
const LARGE: usize = 200;
/// Units and coordinates from which on things with joints are a pile.
const PILE_UNITS: usize = 3;
const PILE_COORDINATES: usize = 50;
const MOST_SOFT_ITERATIONS: u32 = 60;
/// Of a pile, which sweeps are left for. At rest it takes one or two; where nothing is known yet of what contacts bear, a tower
/// takes one for every other storey.
const MOST_CALM_ITERATIONS: u32 = 20;
/// Iterations after which a pile that knows what its contacts bear is left to sweeps if the residual has not halved. Piles that
/// Newton's method solves from there are done by then; on rings, which slide on each other, 20 took a tenth off the residual.
const CALM_TRIAL: u32 = 4;
/// Rounds in which the slip of contacts is corrected, and the overlap that a wrong slip may cause, m.
const MOST_SLIP_ROUNDS: u32 = 20;
/// Rounds after which slips are corrected by halves: a contact that presses with the slip of another round, and does not with the slip that
/// follows from that, would do so for ever.
const WHOLE_SLIPS: u32 = 6;
pub(super) const SLIP_TOLERANCE: f64 = 1e-7;
/// Loads, in those of rest, up to which contacts stiffen: these rest 0.2 mm deep. What presses bodies decimetres into each other would have them
/// stiffen beyond all numbers.
const MOST_LOAD: f64 = 1e8;
/// How much stiffer a contact must become under its load to be solved again.
const OVERLOAD: f64 = 1.5;

/// Softness of joints and bounded rows among soft contacts, in units of their own mobility: each round takes out all but this.
const JOINT_SOFTNESS: f64 = 1e-5;
/// Relative change of a bound of rolling friction that is not worth another round.
const ROLL_TOLERANCE: f64 = 1e-3;
/// What may be left of a joint's velocity, relative to the fastest that meets; positions are closed exactly afterwards.
const JOINT_TOLERANCE: f64 = 1e-5;

impl Island {
    /// Whether it is so many things with joints that touch each other that they are swept over: what they do while they tumble
    /// changes from step to step, and Newton's method would start anew in each.
    fn is_swept(&self) -> bool {
        let units = self.mechanisms.len() + self.free.len();
        let many = units >= PILE_UNITS && self.problem.size > PILE_COORDINATES;
        !self.mechanisms.is_empty() && (many || self.problem.size > LARGE)
    }
}

impl Contacts {
    /// Starts from the last velocities: they are the best guess where contacts are soft.
    pub(super) fn guess(&self, island: &mut Island, world: &Seen, mechanisms: &Members) {
        let Island { problem, z, states, first, .. } = island;
        z.clear();
        z.resize(problem.size, 0.0);
        for (state, &first) in states.iter().zip(&first[island.mechanisms.len()..]) {
            let (first, before) = (first as usize, state.before(world.bodies));
            (0..6).for_each(|s| z[first + s] = before[s] - state.u[s]);
        }
        for (mechanism, &first) in mechanisms.list.iter().zip(&*first) {
            let first = first as usize;
            if mechanism.is_body_wise() {
                mechanism.change_by_kick(|k, change| z[first + k] = -change);
            } else if island.calm {
                mechanism.kick_on_free_motions(|k, change| z[first + k] = -change);
            }
        }
    }

    /// Solves the contacts of an island.
    pub(super) fn solve(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        h: f64,
        report: &mut ContactReport,
    ) {
        if self.solver != ContactSolver::Newton {
            if complementarity::solve(island, self.solver, report) {
                return;
            }
            report.refused = report.refused.or(touching(island));
        }
        if !island.calm && island.is_swept() {
            self.sweep(island, mechanisms, h, report);
            return;
        }
        if island.rigid && !solve_rigidly(island, h, report) {
            report.jammed = report.jammed.or(touching(island));
            self.soften(island, world, h);
        }
        if !island.rigid {
            solve_softly(island, h, report);
            report.unsolved = unsolved(island);
            if !island.solved && !island.calm && island.problem.size > LARGE {
                self.sweep_instead(island, mechanisms, h, report);
            }
        }
    }

    /// Sweeps over the contacts of an island that Newton's method has not solved. What that has left where it is far from an answer is no
    /// place to start from: sweeps only lead downhill, from no impulses at all they cannot make energy.
    pub(super) fn sweep_instead(
        &self,
        island: &mut Island,
        mechanisms: &mut Members,
        h: f64,
        report: &mut ContactReport,
    ) {
        if island.left.1.is_nan() || island.left.1 > UNSOLVED {
            island.problem.entries.iter_mut().for_each(|entry| entry.impulse = [0.0; 3]);
        }
        self.sweep(island, mechanisms, h, report);
    }

    /// Sweeps over the contacts of an island; the joints of its mechanisms hold.
    fn sweep(&self, island: &mut Island, mechanisms: &mut Members, h: f64, report: &mut ContactReport) {
        let Island { problem, sweeps, z, slips, rigid, body_wise, .. } = island;
        body_wise.clear();
        let units = island.mechanisms.iter().zip(&island.first).filter(|(m, _)| mechanisms[**m].is_body_wise());
        body_wise.extend(units.map(|(&m, &first)| (m, first)));
        let outcome = sweeps.solve(problem, z, *rigid, slips, mechanisms, body_wise, h);
        report.iterations += outcome.sweeps;
        report.residual = report.residual.max(outcome.residual);
        report.unsolved = report.unsolved.filter(|_| !outcome.converged);
        island.hard = true;
        island.solved = true;
    }

    /// Makes rigid contacts soft ones.
    fn soften(&self, island: &mut Island, world: &Seen, h: f64) {
        island.rigid = false;
        let mut k = 0;
        for m in 0..island.touching.len() {
            let manifold = &island.touching[m];
            let shift = self.shift(island, manifold);
            for point in manifold.points() {
                let entry = &mut island.problem.entries[k];
                aim(entry, world, manifold, point, &island.rows[k], point.gap + shift, h, false);
                entry.target -= island.slips[k] + island.bends[k] / h;
                k += 1;
            }
        }
    }
}

/// Two bodies that touch in an island; none where particles alone push it.
pub(super) fn touching(island: &Island) -> Option<(u32, u32)> {
    let manifold = island.touching.first()?;
    Some((manifold.a, manifold.b))
}

/// Two bodies whose contact is left farthest from its answer, and how far, m/s, if that is to be told.
fn unsolved(island: &Island) -> Option<(u32, u32, f64)> {
    let (entry, left) = island.left;
    if island.solved || island.calm || left <= UNSOLVED {
        return None;
    }
    let mut points = island.touching.iter().flat_map(|m| m.points().iter().map(move |_| (m.a, m.b)));
    let (a, b) = points.nth(entry).or(touching(island))?;
    Some((a, b, left))
}

/// Returns whether the contacts do not contradict each other.
fn solve_rigidly(island: &mut Island, h: f64, report: &mut ContactReport) -> bool {
    let Island { problem, newton, work, z, .. } = island;
    let tolerance = (RIGID_TOLERANCE * island.fastest).min(RIGID_DEPTH / h);
    let outcome = rigid::solve(problem, newton, work, z, tolerance);
    report.iterations += outcome.iterations;
    island.solved = !outcome.jammed;
    island.hard |= outcome.iterations > HARD && problem.size > LARGE;
    if island.solved {
        report.residual = report.residual.max(outcome.residual);
    }
    island.solved
}

fn solve_softly(island: &mut Island, h: f64, report: &mut ContactReport) {
    let Island { problem, newton, z, slips, rows, work, rolls, first_roll, calm, .. } = island;
    let contacts = rows.len();
    let unknown = problem.entries[..contacts].iter().all(|e| e.impulse[0] == 0.0);
    let most_calm = MOST_CALM_ITERATIONS + if unknown { problem.units.len() as u32 } else { 0 };
    let most = if *calm { most_calm } else { MOST_SOFT_ITERATIONS };
    let mut trial = if *calm && !unknown { CALM_TRIAL } else { u32::MAX };
    newton.prepare(problem);
    let mobility = work.measure_mobility(problem);
    if mobility <= 0.0 || !mobility.is_finite() {
        // nothing here can be moved
        problem.entries.iter_mut().for_each(|e| e.impulse = [0.0; 3]);
        island.solved = true;
        return;
    }
    island.solved = false;
    let (mut iterations, mut failures) = (0, 0);
    for round in 0..MOST_SLIP_ROUNDS {
        for (entry, mobility) in problem.entries[contacts..].iter_mut().zip(&work.mobility()[contacts..]) {
            (entry.start, entry.stiffness) = match entry.compliance > 0.0 {
                true => ([0.0; 3], 1.0 / entry.compliance),
                false => (entry.impulse, 1.0 / (JOINT_SOFTNESS * mobility)),
            };
        }
        let outcome = newton.solve_if_hopeful(problem, z, SOFT_TOLERANCE, most, trial);
        island.left = (outcome.worst, outcome.residual);
        // later rounds begin near their end
        trial = u32::MAX;
        iterations += outcome.iterations;
        if *calm && (iterations > most_calm || outcome.gave_up) {
            break;
        }
        report.residual = report.residual.max(outcome.residual);
        failures += u32::from(!outcome.converged && outcome.residual > UNSOLVED);
        if failures == MOST_FAILURES || !outcome.residual.is_finite() {
            break;
        }
        let slipped = correct_slip(problem, slips, round >= WHOLE_SLIPS) * h >= SLIP_TOLERANCE;
        let stiffened = stiffen(&mut problem.entries[..contacts]);
        let rolled = bound_rolling(problem, rolls, *first_roll) > ROLL_TOLERANCE;
        let open = work.largest_residual(problem, contacts) > JOINT_TOLERANCE * island.fastest;
        if !slipped && !stiffened && !open && !rolled {
            island.solved = outcome.converged;
            break;
        }
        // a slip that does not settle is left as it is; joints are closed afterwards in any case
        let most = if open { 2 * MOST_SOFT_ITERATIONS } else { MOST_SOFT_ITERATIONS };
        if problem.size > LARGE && iterations > most {
            break;
        }
    }
    island.hard |= iterations > HARD && problem.size > LARGE;
    report.iterations += iterations;
}

/// Sets what a contact wants, how stiff it is and where its solve starts.
pub(super) fn aim(
    entry: &mut Entry,
    world: &Seen,
    manifold: &Manifold,
    point: &ContactPoint,
    rows: &[Row; 3],
    gap: f64,
    h: f64,
    rigid: bool,
) {
    let held = [rows[1].lin.dot(point.impulse_t), rows[2].lin.dot(point.impulse_t)];
    entry.impulse = [point.impulse_n, held[0], held[1]];
    entry.velocity = entry.b;
    let approach = -gap / h;
    let material = manifold.material.softness;
    entry.compliance = 0.0;
    if rigid && material.is_none() {
        // as slow as soft contacts do: what pushes apart stays in the velocities
        let apart = (PUSH_OUT / h).min(1.0 / (h + RELAXATION));
        entry.target = if gap > 0.0 { approach } else { (-gap * apart).min(FASTEST_PUSH) };
        return;
    }
    let time = relaxation(manifold);
    let stiffness = stiffness(world, manifold);
    entry.rest_stiffness = h * stiffness * (h + time);
    entry.rest_load = if material.is_none() { h * stiffness * REST_DEPTH } else { 0.0 };
    entry.stiffness = under_load(entry.rest_stiffness, entry.rest_load, point.impulse_n);
    entry.start = [0.0, held[0], held[1]];
    entry.target = match material {
        _ if gap > 0.0 => approach,
        // the law of a spring and a damper, however deep
        Some(_) => -gap / (h + time),
        None => (-gap / (h + time)).min(FASTEST_PUSH),
    };
    if rigid {
        entry.compliance = 1.0 / entry.stiffness;
    }
}

/// Stiffness of a contact that bears an impulse. It rises with the load to the power of ¾, so that the depth does with that of
/// ¼: a million times the load rests 32 times as deep. A stiffness proportional to the load would keep the depth whatever the
/// load is, and loads that are not determined by statics would wander for ever.
fn under_load(rest_stiffness: f64, rest_load: f64, impulse: f64) -> f64 {
    if rest_load == 0.0 || impulse <= rest_load {
        return rest_stiffness;
    }
    let root = (impulse / rest_load).min(MOST_LOAD).sqrt();
    rest_stiffness * root * root.sqrt()
}

/// Stiffens contacts that bear more than they were made for; returns whether there are any.
fn stiffen(contacts: &mut [Entry]) -> bool {
    let mut any = false;
    for entry in contacts {
        let needed = under_load(entry.rest_stiffness, entry.rest_load, entry.impulse[0]);
        if needed > OVERLOAD * entry.stiffness {
            entry.stiffness = needed;
            any = true;
        }
    }
    any
}

/// Takes the slip that came out of a solve for the one it went in with; returns the largest change, m/s. What does not press and comes no
/// nearer than wanted may keep any. With `halves` it goes half of the way.
fn correct_slip(problem: &mut Problem, slips: &mut [f64], halves: bool) -> f64 {
    let mut largest = 0.0_f64;
    for (entry, slip) in problem.entries.iter_mut().zip(slips) {
        let Law::Cone(mu) = entry.law else { continue };
        let comes_nearer = entry.velocity[0] < entry.target + *slip - SOFT_TOLERANCE;
        if entry.impulse[0] > 0.0 || comes_nearer {
            let new = mu * length(entry.velocity[1], entry.velocity[2]);
            largest = largest.max((new - *slip).abs());
            let new = if halves { 0.5 * (*slip + new) } else { new };
            entry.target += *slip - new;
            *slip = new;
        }
    }
    largest
}

/// The time in which overlap is pushed out, s: damping by stiffness.
pub(super) fn relaxation(manifold: &Manifold) -> f64 {
    manifold.material.softness.map_or(RELAXATION, |soft| soft.damping / soft.stiffness.max(f64::MIN_POSITIVE))
}

/// What the spring of sticking friction holds for every m/s of slip, N s: its stiffness without the damping that acts with it.
pub(super) fn sticking_spring(entry: &Entry, relaxation: f64, h: f64) -> f64 {
    entry.stiffness * h / (h + relaxation)
}

/// Stiffness of a contact point, N/m: such that the heavier body rests [`REST_DEPTH`] deep on four of them.
fn stiffness(world: &Seen, manifold: &Manifold) -> f64 {
    if let Some(soft) = manifold.material.softness {
        return soft.stiffness;
    }
    let mass = |slot: u32| world.bodies.at(slot as usize).filter(|b| b.is_dynamic()).map_or(0.0, |b| b.mass.mass);
    contact_stiffness(mass(manifold.a).max(mass(manifold.b)), world.gravity.length())
}

/// The same for the mass of the heavier body.
pub(super) fn contact_stiffness(heavier: f64, gravity: f64) -> f64 {
    heavier * gravity.max(1.0) / (4.0 * REST_DEPTH)
}
