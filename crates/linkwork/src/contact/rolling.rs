//! Rolling and spinning friction: torques up to a lever arm times the normal force.
//!
//! Each is a row of relative angular velocity with bounds ±c N h, N h being the normal impulse of the manifold: that of the
//! last step at first, and that of the round before where contacts are soft. The first axis of rolling is that about which the
//! bodies roll now, so that the bound is a disc and not a square.

use super::members::Members;
use super::problem::{Entry, Law, Problem};
use super::{Contacts, Island};
use crate::joint::rows::Row;
use crate::world::Seen;
use glam::DVec3;

/// A row of rolling or spinning friction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roll {
    /// Among those of the island.
    manifold: usize,
    /// First of the manifold's points among the island's contacts, and their number.
    points: (usize, usize),
    /// m.
    lever: f64,
    row: Row,
}

impl Contacts {
    /// Adds the rows of an island to its problem, after the contacts' aims are set.
    pub(super) fn add_rolling(&self, island: &mut Island, world: &Seen, mechanisms: &Members) {
        island.rolls.clear();
        let mut first = 0;
        for (m, manifold) in island.touching.iter().enumerate() {
            let count = manifold.points().len();
            let points = (first, count);
            first += count;
            let material = &manifold.material;
            if material.rolling == 0.0 && material.spinning == 0.0 {
                continue;
            }
            let [a, b] = [manifold.a, manifold.b].map(|slot| self.motion(island, world, mechanisms, slot).w);
            let n = manifold.normal;
            let rolling = (b - a).reject_from_normalized(n);
            let t1 = rolling.try_normalize().unwrap_or_else(|| n.any_orthonormal_vector());
            let axes = [(n, material.spinning), (t1, material.rolling), (n.cross(t1), material.rolling)];
            for (axis, lever) in axes.into_iter().filter(|(_, lever)| *lever > 0.0) {
                let row = Row { lin: DVec3::ZERO, ang_a: -axis, ang_b: axis };
                island.rolls.push(Roll { manifold: m, points, lever, row });
            }
        }
        for k in 0..island.rolls.len() {
            let Roll { manifold, row, .. } = island.rolls[k];
            let manifold = island.touching[manifold];
            let [a, b] = [(manifold.a, false), (manifold.b, true)]
                .map(|(slot, is_b)| (self.unit[slot as usize], self.local[slot as usize] as usize, is_b));
            let mut problem = std::mem::take(&mut island.problem);
            let sides = self.sides(island, &mut problem, mechanisms, [a, b], &[row]);
            island.problem = problem;
            let motion = |slot: u32| self.motion(island, world, mechanisms, slot);
            let velocity = row.velocity(&motion(manifold.a), &motion(manifold.b));
            let entry = Entry { b: [velocity, 0.0, 0.0], ..Entry::on(Law::Bounds(0.0, 0.0), sides) };
            island.problem.entries.push(entry);
        }
        island.first_roll = island.problem.entries.len() - island.rolls.len();
        bound_rolling(&mut island.problem, &island.rolls, island.first_roll);
    }

    /// Gives the torques to the bodies.
    pub(super) fn push_rolling(&self, island: &mut Island, mechanisms: &mut Members) {
        for k in 0..island.rolls.len() {
            let (roll, impulse) = (island.rolls[k], island.problem.entries[island.first_roll + k].impulse);
            let manifold = &island.touching[roll.manifold];
            self.push_rows(island, mechanisms, [manifold.a, manifold.b], &[roll.row], &impulse[..1]);
        }
    }
}

/// Sets the bounds of rolling and spinning by the present normal impulses; returns the largest change of a bound, relative
/// to it.
pub(super) fn bound_rolling(problem: &mut Problem, rolls: &[Roll], first_roll: usize) -> f64 {
    let mut largest = 0.0_f64;
    for (k, roll) in rolls.iter().enumerate() {
        let (first, count) = roll.points;
        let normal: f64 = problem.entries[first..first + count].iter().map(|e| e.impulse[0].max(0.0)).sum();
        let bound = roll.lever * normal;
        let entry = &mut problem.entries[first_roll + k];
        if let Law::Bounds(_, before) = entry.law {
            largest = largest.max((bound - before).abs() / bound.max(f64::MIN_POSITIVE));
        }
        entry.law = Law::Bounds(-bound, bound);
        entry.impulse[0] = entry.impulse[0].clamp(-bound, bound);
    }
    largest
}
