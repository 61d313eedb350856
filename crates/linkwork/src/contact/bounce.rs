//! Impacts with restitution, on the velocities with which the step begins (docs/method.md, Contact).
//!
//! Contacts that will be reached within the step and approach are struck, all at once; contacts that approach because of that
//! are struck next, until none does. So a row of touching balls passes the blow on, one to the next.

use super::problem::{Entry, Problem};
use super::{Contacts, Island, NONE, rigid};
use crate::mechanism::Mechanism;
use crate::world::World;
use glam::DVec3;

const MOST_BLOWS: u32 = 100;

/// Working memory.
#[derive(Default)]
pub(super) struct Bounces {
    entries: Vec<Entry>,
    /// Of each struck entry: its place among the island's.
    struck: Vec<usize>,
    z: Vec<f64>,
    work: rigid::Rigid,
    newton: super::Newton,
}

impl Contacts {
    /// Strikes what meets; velocities of bodies and mechanisms change, and `b` of the island's entries with them.
    pub(super) fn bounce(
        &mut self,
        island: &mut Island,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        first_state: usize,
        h: f64,
        tolerance: f64,
    ) {
        let manifolds = &world.collisions.manifolds;
        if island.manifolds.iter().all(|&k| manifolds[k as usize].material.restitution == 0.0) {
            return;
        }
        let mut bounces = std::mem::take(&mut self.bounces);
        let before: Vec<DVec3> = self.states[first_state..].iter().map(|s| s.motion().v).collect();
        let mut met: Vec<f64> = vec![f64::INFINITY; before.len()];
        for _ in 0..MOST_BLOWS {
            let manifolds = &world.collisions.manifolds;
            bounces.entries.clear();
            bounces.struck.clear();
            let mut k = 0;
            for &m in &island.manifolds {
                let manifold = &manifolds[m as usize];
                let restitution = manifold.material.restitution;
                for point in manifold.points() {
                    let entry = &island.problem.entries[k];
                    let speed = -entry.b[0];
                    if restitution > 0.0
                        && speed > tolerance.max(1e-12)
                        && point.gap < h * (speed + h * world.gravity.length())
                    {
                        bounces.entries.push(Entry { target: restitution * speed, impulse: [0.0; 3], ..*entry });
                        bounces.struck.push(k);
                        let time = (point.gap.max(0.0) / speed).min(h);
                        for slot in [manifold.a, manifold.b] {
                            let unit = self.unit[slot as usize];
                            if unit != NONE && unit as usize >= mechanisms.len() {
                                let state = self.local[slot as usize] as usize - first_state;
                                met[state] = met[state].min(time);
                            }
                        }
                    }
                    k += 1;
                }
            }
            if bounces.struck.is_empty() {
                break;
            }
            bounces.entries.extend_from_slice(&island.joints);
            let mut problem = Problem {
                entries: std::mem::take(&mut bounces.entries),
                data: std::mem::take(&mut island.problem.data),
                size: island.problem.size,
                units: std::mem::take(&mut island.problem.units),
            };
            rigid::solve(&mut problem, &mut bounces.newton, &mut bounces.work, &mut bounces.z, tolerance);
            (island.problem.data, island.problem.units) = (problem.data, problem.units);
            self.take_blows(island, world, mechanisms, &problem.entries, &bounces.struck);
            bounces.entries = problem.entries;
        }
        for ((state, v), time) in self.states[first_state..].iter_mut().zip(&before).zip(&met) {
            if time.is_finite() {
                state.shift = (*v - state.motion().v) * *time;
            }
        }
        self.bounces = bounces;
    }

    fn take_blows(
        &mut self,
        island: &mut Island,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        blows: &[Entry],
        struck: &[usize],
    ) {
        let (mut k, mut next) = (0, 0);
        for &m in &island.manifolds {
            let manifold = world.collisions.manifolds[m as usize];
            let mut updated = manifold;
            for point in updated.points_mut() {
                if struck.get(next) == Some(&k) {
                    self.push_point(mechanisms, &manifold, &island.rows[k], &blows[next].impulse);
                    point.blow += blows[next].impulse[0];
                    next += 1;
                }
                k += 1;
            }
            world.collisions.manifolds[m as usize] = updated;
        }
        for &m in &island.mechanisms {
            mechanisms[m as usize].take_blow();
        }
        let mut k = 0;
        for &m in &island.manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            for _ in manifold.points() {
                let b = self.contact_velocity(world, mechanisms, manifold, &island.rows[k]);
                island.problem.entries[k].b = b;
                k += 1;
            }
        }
    }
}
