//! Impacts with restitution, on the velocities with which the step begins (docs/method.md, Contact).
//!
//! Of the contacts that approach and will be reached within the step the first are struck, all that are reached at the same
//! time at once; contacts that still approach, or do because of that, are struck next, until none does. So a row of touching
//! balls passes the blow on, one to the next, and what stands in the way of a fast body shields what is behind.
//!
//! Bodies that touch at time t into the step, approaching with u and with a more per second by then, leave each other with
//! e (u + a t) and are slowed by a for what remains of the step. The kick takes a h from whatever the blow gives at the start:
//! the blow gives e u + (1 + e) a t, and the shift −Δv t puts the bodies where the flight up to the blow and after it do. Both
//! are exact in free flight: a ball of e = 1 keeps its height at any step.
//!
//! Newton's law of restitution with Coulomb's friction can make energy (Kane and Levinson 1985): where it does, bodies rebound with
//! as much of it as makes none.

use super::members::Members;
use super::problem::{Entry, Problem};
use super::{Contacts, Island, NONE, contact_velocity, rigid};
use crate::collide::Manifold;
use crate::world::Seen;
use glam::DVec3;

const MOST_BLOWS: u32 = 100;
/// What is reached within this part of the step is reached at the same time.
const AT_ONCE: f64 = 1e-2;
/// Energy that a blow may make, in parts of what it moves: rounding, and what its solution leaves.
const NO_ENERGY: f64 = 1e-6;

/// Working memory.
#[derive(Default)]
pub(super) struct Bounces {
    entries: Vec<Entry>,
    /// Of each struck entry: its place among the island's, and what gravity and forces add to its approach until it is struck, m/s.
    struck: Vec<usize>,
    gained: Vec<f64>,
    /// Impulses and velocities of the blow as restitution wants it.
    rebound: Vec<[[f64; 3]; 2]>,
    z: Vec<f64>,
    work: rigid::Rigid,
    newton: super::Newton,
}

/// A contact that is to be struck.
struct Blow {
    entry: usize,
    manifold: usize,
    time: f64,
    /// What the approach gains by then, m/s.
    gained: f64,
    speed_after: f64,
}

/// How two bodies come together at a contact point before they touch.
#[derive(Clone, Copy, Default)]
struct Approach {
    speed: f64,
    /// Of the speed, by gravity and forces on free bodies, m/s².
    growth: f64,
    /// How much it may bend that is not known here: turning bodies, reactions of joints, m/s².
    doubt: f64,
}

impl Approach {
    /// When the gap closes, if it may within the step.
    fn time_to(&self, gap: f64, h: f64) -> Option<f64> {
        let gap = gap.max(0.0);
        if gap > h * (self.speed + 0.5 * h * (self.growth + self.doubt)) {
            return None;
        }
        let root = (self.speed * self.speed + 2.0 * self.growth * gap).max(0.0).sqrt();
        Some((2.0 * gap / (self.speed + root)).min(h))
    }
}

impl Bounces {
    /// Finds the impulses of a blow: those of restitution, or as much of them as makes no energy.
    fn strike(&mut self, problem: &mut Problem, tolerance: f64) {
        rigid::solve(problem, &mut self.newton, &mut self.work, &mut self.z, tolerance);
        let moved = 0.5 * self.z.iter().map(|z| z * z).sum::<f64>();
        let made = self.made(problem);
        if made <= NO_ENERGY * moved {
            return;
        }
        self.rebound.clear();
        self.rebound.extend(problem.entries.iter().map(|e| [e.impulse, e.velocity]));
        for (entry, gained) in problem.entries.iter_mut().zip(&self.gained) {
            entry.target = *gained;
        }
        rigid::solve(problem, &mut self.newton, &mut self.work, &mut self.z, tolerance);
        let made_without = self.made(problem);
        self.blend(problem, 0.5);
        let made_halfway = self.made(problem);
        let part = part_without_energy(made_without, made_halfway, made);
        // half of the rebound is in it already: the rest is blended in from there
        self.blend(problem, 2.0 * part - 1.0);
    }

    /// Energy that contacts have made: the work that impulses do, with the mean of the velocities before and after, without that of
    /// gravity on the way to the blow, J.
    fn made(&self, problem: &Problem) -> f64 {
        let work = |(e, gained): (&Entry, &f64)| {
            let mean = |r: usize| 0.5 * (e.b[r] + e.velocity[r]);
            (0..3).map(|r| e.impulse[r] * mean(r)).sum::<f64>() - e.impulse[0] * gained
        };
        problem.entries.iter().zip(&self.gained).map(work).sum()
    }

    /// Moves impulses and velocities by a part of the way to those of the rebound.
    fn blend(&self, problem: &mut Problem, part: f64) {
        for (entry, [impulse, velocity]) in problem.entries.iter_mut().zip(&self.rebound) {
            for r in 0..3 {
                entry.impulse[r] += part * (impulse[r] - entry.impulse[r]);
                entry.velocity[r] += part * (velocity[r] - entry.velocity[r]);
            }
        }
    }
}

/// The part of a rebound that makes no energy, from what none, half and all of it make: the energy is quadratic in it.
fn part_without_energy(none: f64, half: f64, all: f64) -> f64 {
    let bend = 2.0 * (all + none) - 4.0 * half;
    let slope = all - none - bend;
    let root = (slope * slope - 4.0 * bend * none).max(0.0).sqrt();
    if none >= 0.0 || slope + root <= 0.0 { 0.0 } else { (-2.0 * none / (slope + root)).min(1.0) }
}

impl Contacts {
    fn approach(&self, island: &Island, world: &Seen, manifold: &Manifold, at: DVec3) -> Approach {
        let mut approach = Approach::default();
        for (slot, sign) in [(manifold.a, 1.0), (manifold.b, -1.0)] {
            let unit = self.unit[slot as usize];
            if unit == NONE {
                continue;
            }
            if (unit as usize) < self.mechanism_count {
                approach.doubt += 2.0 * world.gravity.length();
                continue;
            }
            let state = &island.states[self.place[unit as usize] as usize];
            approach.growth += sign * manifold.normal.dot(state.acceleration(world.bodies, world.gravity));
            approach.doubt += state.motion().w.length_squared() * at.distance(state.pose.x);
        }
        approach
    }

    /// Strikes what meets; velocities of bodies and mechanisms change, and `b` of the island's entries with them.
    pub(super) fn bounce(&self, island: &mut Island, world: &Seen, mechanisms: &mut Members, h: f64, tolerance: f64) {
        if island.touching.iter().all(|m| m.material.restitution == 0.0) {
            return;
        }
        let mut bounces = std::mem::take(&mut island.bounces);
        let before: Vec<DVec3> = island.states.iter().map(|s| s.motion().v).collect();
        let mut met: Vec<f64> = vec![f64::INFINITY; before.len()];
        for _ in 0..MOST_BLOWS {
            bounces.entries.clear();
            bounces.struck.clear();
            bounces.gained.clear();
            let coming = self.coming(island, world, h, tolerance);
            let first = coming.iter().map(|blow| blow.time).fold(f64::INFINITY, f64::min);
            for blow in coming.iter().filter(|blow| blow.time <= first + AT_ONCE * h) {
                let entry = &island.problem.entries[blow.entry];
                bounces.entries.push(Entry { target: blow.speed_after, impulse: [0.0; 3], ..*entry });
                bounces.struck.push(blow.entry);
                bounces.gained.push(blow.gained);
                let manifold = &island.touching[blow.manifold];
                for slot in [manifold.a, manifold.b] {
                    let unit = self.unit[slot as usize];
                    if unit != NONE && unit as usize >= self.mechanism_count {
                        let state = self.place[unit as usize] as usize;
                        met[state] = met[state].min(blow.time);
                    }
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
            bounces.strike(&mut problem, tolerance);
            (island.problem.data, island.problem.units) = (problem.data, problem.units);
            self.take_blows(island, world, mechanisms, &problem.entries, &bounces.struck);
            bounces.entries = problem.entries;
        }
        for ((state, v), time) in island.states.iter_mut().zip(&before).zip(&met) {
            if time.is_finite() {
                state.shift = (*v - state.motion().v) * *time;
            }
        }
        island.bounces = bounces;
    }

    /// The blows that will fall within the step as bodies move now.
    fn coming(&self, island: &Island, world: &Seen, h: f64, tolerance: f64) -> Vec<Blow> {
        let mut coming = Vec::new();
        let mut entry = 0;
        for (m, manifold) in island.touching.iter().enumerate() {
            let restitution = manifold.material.restitution;
            for point in manifold.points() {
                let speed = -island.problem.entries[entry].b[0];
                // what is soft rebounds by its own spring
                let hard = manifold.material.softness.is_none();
                if hard && restitution > 0.0 && speed > tolerance.max(1e-12) {
                    let approach = Approach { speed, ..self.approach(island, world, manifold, point.position) };
                    if let Some(time) = approach.time_to(point.gap, h) {
                        let gained = approach.growth * time;
                        let speed_after = restitution * speed + (1.0 + restitution) * gained;
                        coming.push(Blow { entry, manifold: m, time, gained, speed_after });
                    }
                }
                entry += 1;
            }
        }
        coming
    }

    fn take_blows(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        blows: &[Entry],
        struck: &[usize],
    ) {
        let (mut k, mut next) = (0, 0);
        let mut touching = std::mem::take(&mut island.touching);
        for manifold in &mut touching {
            let slots = [manifold.a, manifold.b];
            for point in manifold.points_mut() {
                if struck.get(next) == Some(&k) {
                    let rows = island.rows[k];
                    self.push_point(island, mechanisms, slots, &rows, &blows[next].impulse);
                    point.blow += blows[next].impulse[0];
                    next += 1;
                }
                k += 1;
            }
        }
        island.touching = touching;
        mechanisms.list.iter_mut().for_each(|m| m.take_blow());
        let mut k = 0;
        for m in 0..island.touching.len() {
            let manifold = &island.touching[m];
            let motions = self.motions(island, world, mechanisms, manifold);
            for _ in manifold.points() {
                let b = contact_velocity(&motions, &island.rows[k]);
                island.problem.entries[k].b = b;
                k += 1;
            }
        }
    }
}
