//! Contacts make no energy, and what is pressed into each other is told.
//!
//! Rows are those of the start of the step, and what is mended after a look at its end can contradict them: a corner that is held up, a
//! middle that must not pass, and another corner that was not foreseen together shot planks off at a thousand times their speed. Light
//! links between heavy things whip, and closing their joints moves them by what a second look answers with a blow. What comes out of it with
//! more energy than it went in with takes smaller steps; in the smallest nothing is pushed apart any more, only stopped.

use super::free::Free;
use super::members::Members;
use super::problem::{Entry, Law};
use super::solve::{FASTEST_PUSH, relaxation, touching};
use super::{ContactReport, Contacts, Island, motion_by_user};
use crate::collide::Manifold;
use crate::world::Seen;

/// Part of the kinetic energy by which it may grow.
const ALLOWED: f64 = 1e-2;
/// Energy that is told from what is merely not exact, in times that of before.
const FAR_MORE: f64 = 3.0;
/// How much faster than what pushes it something may become: a ball that is wedged runs ahead.
const DRIVEN: f64 = 2.0;
/// Speed below which nothing is judged, m/s: that to which contacts are solved.
const UNJUDGED: f64 = 1e-5;
/// Overlap of what presses, m, and how fast it grows, m/s, where it is told: no load does that to contacts that have an answer.
const PRESSED: (f64, f64) = (1e-3, 1e-3);

impl Contacts {
    /// Whether contacts have given bodies more energy than they had, what the user moves gives them, and pushing apart what overlaps where the
    /// step begins may. What is soft gives energy: it is not judged.
    pub(super) fn make_energy(&self, island: &Island, world: &Seen, mechanisms: &Members, h: f64) -> bool {
        let half_squares = |u: &[f64; 6]| 0.5 * u.iter().map(|e| e * e).sum::<f64>();
        let mut before: f64 = island.states.iter().map(|state| half_squares(&state.kicked)).sum();
        let mut mass: f64 = island.states.iter().map(|state| state.inv_sqrt_mass.powi(-2)).sum();
        let mut driven = 0.0;
        let after = if mechanisms.list.is_empty() {
            if island.touching.iter().any(|m| m.material.softness.is_some()) {
                return false;
            }
            driven = fastest_by_user(island, world);
            island.states.iter().map(|state| half_squares(&state.u)).sum()
        } else {
            let work = work_of_contacts(island);
            if work <= 0.0 {
                return false;
            }
            before += mechanisms.list.iter().map(|m| m.energy_before_contacts()).sum::<f64>();
            mass += mechanisms.list.iter().map(|m| m.mass()).sum::<f64>();
            before + work
        };
        if after <= before {
            return false;
        }
        let given = pushed_apart(island, h) + DRIVEN * driven + UNJUDGED;
        let most = ((1.0 + ALLOWED) * before).sqrt() + (0.5 * mass).sqrt() * given;
        after > most * most
    }

    /// Where an island has several times the energy that it had and can have been given: the part of all impulses with which there would be the
    /// least. The energy is a parabola over the part. This is of the velocities that bodies get, also where joints answer inexactly.
    pub(super) fn part_to_give(&self, island: &Island, world: &Seen, mechanisms: &Members, h: f64) -> Option<f64> {
        // what is soft gives back what it has taken
        if island.touching.iter().any(|m| m.material.softness.is_some()) {
            return None;
        }
        let of_body = |state: &Free| {
            let changes = || state.kicked.iter().zip(&state.u).map(|(before, after)| (before, after - before));
            (changes().map(|(before, d)| before * d).sum::<f64>(), changes().map(|(_, d)| d * d).sum::<f64>())
        };
        let changes = island.states.iter().map(of_body).chain(mechanisms.list.iter().map(|m| m.change_by_contacts()));
        let (along, square) = changes.fold((0.0, 0.0), |sum, change| (sum.0 + change.0, sum.1 + change.1));
        let kinetic = |state: &Free| 0.5 * state.kicked.iter().map(|e| e * e).sum::<f64>();
        let before = island.states.iter().map(kinetic).sum::<f64>()
            + mechanisms.list.iter().map(|m| m.energy_before_contacts()).sum::<f64>();
        let mass = island.states.iter().map(|state| state.inv_sqrt_mass.powi(-2)).sum::<f64>()
            + mechanisms.list.iter().map(|m| m.mass()).sum::<f64>();
        let entries = &island.problem.entries;
        let motors = entries.iter().filter(|e| matches!(e.law, Law::Bounds(..)));
        let driven: f64 = motors.map(|e| (0.5 * e.impulse[0] * (e.b[0] + e.velocity[0])).max(0.0)).sum();
        let given = pushed_apart(island, h) + DRIVEN * fastest_by_user(island, world) + UNJUDGED;
        let made = along + 0.5 * square;
        if made <= FAR_MORE * before + driven + 0.5 * mass * given * given {
            return None;
        }
        Some((-along / square).clamp(0.0, 1.0))
    }

    /// Gives a part of all impulses.
    pub(super) fn give_part(&self, part: f64, island: &mut Island, mechanisms: &mut Members, h: f64) {
        for entry in &mut island.problem.entries {
            entry.impulse = entry.impulse.map(|p| part * p);
            (0..3).for_each(|r| entry.velocity[r] = entry.b[r] + part * (entry.velocity[r] - entry.b[r]));
        }
        self.push_all(island, mechanisms, h);
    }

    /// Two bodies that go on into each other although they press: what moves them contradicts the contact.
    pub(super) fn pressed_together(&self, island: &Island) -> Option<(u32, u32)> {
        let points = island.touching.iter().flat_map(|m| m.points().iter().map(move |p| (m, p.gap)));
        let is_pressed = |m: &Manifold, gap: f64, entry: &Entry| {
            let goes_deeper = gap < -PRESSED.0 && entry.velocity[0] < -PRESSED.1;
            goes_deeper && entry.impulse[0] > 0.0 && m.material.softness.is_none()
        };
        let mut all = points.zip(&island.problem.entries);
        all.find(|((m, gap), entry)| is_pressed(m, *gap, entry)).map(|((m, _), _)| (m.a, m.b))
    }

    /// Solves contacts once more that have made energy and so contradict each other: nothing is asked to come apart.
    pub(super) fn stop_only(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        h: f64,
        report: &mut ContactReport,
    ) {
        report.jammed = report.jammed.or(touching(island));
        // what is wanted of what slides has been lowered by its slip
        let Island { problem, slips, rigid, .. } = &mut *island;
        for (entry, slip) in problem.entries.iter_mut().zip(slips) {
            let slip = if *rigid { 0.0 } else { *slip };
            entry.target = (entry.target + slip).min(0.0) - slip;
        }
        self.solve(island, world, mechanisms, h, report);
        if !island.solved {
            self.sweep_instead(island, mechanisms, h, report);
        }
        self.push_all(island, mechanisms, h);
    }
}

/// Speed of the fastest shape that the user moves among what touches, m/s.
fn fastest_by_user(island: &Island, world: &Seen) -> f64 {
    let fastest = |m: &Manifold| {
        let of = |slot, collider| world.collisions.speed(collider, &motion_by_user(world.bodies, slot));
        of(m.a, m.collider_a).max(of(m.b, m.collider_b))
    };
    island.touching[..island.manifolds.len()].iter().map(fastest).fold(0.0, f64::max)
}

/// Speed that pushing apart what overlaps where the step begins may give, m/s: in a row of bodies that overlap the last goes as fast as all
/// pairs together are pushed apart.
fn pushed_apart(island: &Island, h: f64) -> f64 {
    let apart = |m: &Manifold| {
        let deepest = m.points().iter().map(|p| -p.gap).fold(0.0, f64::max);
        (deepest / (h + relaxation(m))).min(FASTEST_PUSH)
    };
    island.touching[..island.manifolds.len()].iter().map(apart).sum()
}

/// What the normals of contacts have given to machines: with impulses λ, velocities v with them and W = GGᵀ, that is λ·½((v − Wλ) + v), taken
/// after all else has pushed. So it is nothing of what motors, springs and moved bodies give, which joints and contacts hand on. Hard joints
/// that are solved body by body answer with them.
fn work_of_contacts(island: &Island) -> f64 {
    let Island { problem, rows, touching, .. } = island;
    let (contacts, others) = problem.entries.split_at(rows.len());
    let materials = touching.iter().flat_map(|m| m.points().iter().map(|_| &m.material));
    let hard = contacts.iter().zip(materials).filter(|(_, m)| m.softness.is_none()).map(|(entry, _)| entry);
    let given: f64 = hard.clone().map(|entry| entry.impulse[0] * entry.velocity[0]).sum();
    if given <= 0.0 {
        return 0.0;
    }
    let joints = others.iter().filter(|e| matches!(e.law, Law::Joint(_)) && e.compliance == 0.0);
    let mut z = vec![0.0; problem.size];
    hard.chain(joints).for_each(|entry| problem.push(entry, &entry.impulse, &mut z));
    given - 0.5 * z.iter().map(|z| z * z).sum::<f64>()
}
