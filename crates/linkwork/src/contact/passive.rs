//! Contacts of bodies without joints make no energy.
//!
//! Rows are those of the start of the step, and what is mended after a look at its end can contradict them: a corner that is held up, a
//! middle that must not pass, and another corner that was not foreseen together shot planks off at a thousand times their speed. What comes
//! out of it with more energy than it went in with takes smaller steps; in the smallest nothing is pushed apart any more, only stopped.

use super::members::Members;
use super::solve::{FASTEST_PUSH, relaxation};
use super::{ContactReport, Contacts, Island};
use crate::scene::BodyKind;
use crate::world::Seen;

/// Part of the kinetic energy by which it may grow.
const ALLOWED: f64 = 1e-2;

impl Contacts {
    /// Whether contacts have given bodies more energy than pushing apart what overlaps where the step begins may. What the user moves and
    /// what is soft gives energy, and so do motors.
    pub(super) fn make_energy(&self, island: &Island, world: &Seen, h: f64) -> bool {
        let is_driven = |slot: u32| world.bodies.at(slot as usize).is_some_and(|b| b.kind == BodyKind::Kinematic);
        let gives = |m: &crate::collide::Manifold| m.material.softness.is_some() || is_driven(m.a) || is_driven(m.b);
        if !island.mechanisms.is_empty() || island.touching.iter().any(gives) {
            return false;
        }
        let half_squares = |u: &[f64; 6]| 0.5 * u.iter().map(|e| e * e).sum::<f64>();
        let before: f64 = island.states.iter().map(|state| half_squares(&state.kicked)).sum();
        let after: f64 = island.states.iter().map(|state| half_squares(&state.u)).sum();
        let apart = |m: &crate::collide::Manifold| {
            let deepest = m.points().iter().map(|p| -p.gap).fold(0.0, f64::max);
            (deepest / (h + relaxation(m))).min(FASTEST_PUSH)
        };
        let fastest = island.touching[..island.manifolds.len()].iter().map(apart).fold(0.0, f64::max);
        let mass: f64 = island.states.iter().map(|state| state.inv_sqrt_mass.powi(-2)).sum();
        after > (1.0 + ALLOWED) * before + 0.5 * mass * fastest * fastest
    }

    /// Solves contacts once more that have made energy: nothing is asked to come apart.
    pub(super) fn stop_only(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        h: f64,
        report: &mut ContactReport,
    ) {
        let contacts = island.rows.len();
        island.problem.entries[..contacts].iter_mut().for_each(|entry| entry.target = entry.target.min(0.0));
        self.solve(island, world, mechanisms, h, report);
        if !island.solved {
            self.sweep_instead(island, mechanisms, h, report);
        }
        self.push_all(island, mechanisms, h);
    }
}
