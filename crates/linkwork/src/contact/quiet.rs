//! Islands of bodies without joints that rest: the law of [`super::solve`] for soft contacts, in lanes of four, with the factor of
//! an earlier step.
//!
//! What rests asks for the same answer step after step, but never to the last bit: contacts are so stiff that velocities of
//! 1e-11 m/s are impulses above the tolerance. Newton's method then takes one iteration a step, and nearly all of its time
//! goes into a matrix that has not changed. So the matrix of the last step in which the island was solved from scratch is
//! kept. It belongs to the world's state, not to [`crate::Scratch`]: another matrix gives other bits.
//!
//! f(u) = u − u_kicked − Ĝᵀλ(Ĝu) = 0,  u ← u − H⁻¹ f(u)  with H = 1 + Ĝᵀ(−∂λ/∂v)Ĝ of then.
//!
//! Whatever is not as expected (something moves, slips, loads change, the iteration is slow) ends the attempt before
//! anything is changed, and the island is solved from scratch.

use super::free::{Free, predict_all};
use super::newton::Laid;
use super::pile::{Against, Batches, Frame, Point, PointImpulse, Turn, Wide, drift_at, drifts, narrow, widen};
use super::solve::{FASTEST_PUSH, RELAXATION, REST_DEPTH, SLIP_TOLERANCE, SOFT_TOLERANCE, contact_stiffness};
use super::{Contacts, Island, NONE};
use crate::mechanism::herd::Herds;
use crate::params::{ContactSolver, StepParams};
use crate::world::{Seen, World};
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;
use wide::f64x4;

/// Iterations with an old matrix that are worth it; each must leave at most a tenth.
const MOST_ITERATIONS: u32 = 6;
/// A body that moves or turns more than this in a step does not rest, m and rad.
const MOST_WAY: f64 = 1e-4;
/// Growth of a load beyond which its contact would have been made stiffer: 1.5 by the power of 4/3.
const OVERLOAD: f64 = 1.717;
/// Units below which solving from scratch is as quick.
const FEWEST_BODIES: usize = 8;

/// Matrices of islands that rest, by the lowest slot of their bodies.
#[derive(Clone, Default)]
pub(crate) struct Resting {
    matrices: BTreeMap<u32, Arc<Matrix>>,
    /// Piles that Newton's method could not solve: steps until it is tried again, and how many there were in all.
    restless: BTreeMap<u32, (u32, u32)>,
    /// Piles that needed smaller steps.
    paces: BTreeMap<u32, Pace>,
}

/// How small the steps of a pile are.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Halvings that the last steps needed, those of the present one so far, and with how many it begins.
    recent: [u32; 4],
    now: u32,
    start: u32,
    steps: u32,
}

/// Steps until a pile is tried again, twice as many every time, and at most.
const PATIENCE: u32 = 60;
const MOST_PATIENCE: u32 = 3600;
/// Steps after which a pile that always needs smaller ones is tried with one twice as large.
const TRIAL: u32 = 8;

impl Resting {
    /// Whether it is too early to try a pile again, by the lowest slot of its bodies; a step passes.
    pub(super) fn is_restless(&mut self, lowest: u32) -> bool {
        let Some((left, _)) = self.restless.get_mut(&lowest) else { return false };
        let early = *left > 0;
        *left = left.saturating_sub(1);
        early
    }

    /// Whether a pile, by the lowest slot of its bodies, is known to need smaller steps than those of a number of halvings: all
    /// of its last steps did. Attempts that fail are not cheaper than those that do not.
    pub(super) fn hurries(&mut self, lowest: u32, halvings: u32) -> bool {
        let Some(pace) = self.paces.get_mut(&lowest) else { return false };
        if halvings == 0 {
            pace.recent.rotate_right(1);
            pace.recent[0] = std::mem::take(&mut pace.now);
            pace.steps += 1;
            let least = pace.recent.into_iter().min().unwrap_or(0);
            pace.start = least.saturating_sub(u32::from(pace.steps.is_multiple_of(TRIAL)));
            if pace.recent == [0; 4] {
                self.paces.remove(&lowest);
                return false;
            }
        }
        pace.start > halvings
    }

    /// Remembers with how many halvings a pile was advanced.
    pub(super) fn note_pace(&mut self, lowest: u32, halvings: u32) {
        if halvings > 0 {
            let pace = self.paces.entry(lowest).or_default();
            pace.now = pace.now.max(halvings);
        }
    }

    /// Remembers whether a pile could be solved.
    pub(super) fn note_calm(&mut self, lowest: u32, solved: bool) {
        if solved {
            self.restless.remove(&lowest);
            return;
        }
        let (left, patience) = self.restless.entry(lowest).or_insert((0, PATIENCE / 2));
        *patience = (2 * *patience).min(MOST_PATIENCE);
        *left = *patience;
    }
}

struct Matrix {
    bodies: Vec<u32>,
    laid: Laid,
}

/// Law of four points.
#[derive(Clone, Copy)]
struct Law {
    stiffness: f64x4,
    target: f64x4,
    start: [f64x4; 2],
    impulse: [f64x4; 3],
    velocity: [f64x4; 3],
    /// De Saxcé's μ|v_t| that is taken off the target.
    slip: f64x4,
    /// The load that the stiffness is for.
    load: f64x4,
}

/// Working memory.
#[derive(Default)]
pub(super) struct Quiet {
    batches: Batches,
    laws: Vec<Law>,
    frames: Vec<Frame>,
    before: Vec<Wide>,
    kicked: Vec<Wide>,
    u: Vec<Wide>,
    residual: Vec<Wide>,
    rhs: Vec<f64>,
}

impl Contacts {
    /// Keeps the matrix of an island that was solved from scratch and has come to rest.
    pub(super) fn keep_matrix(&self, island: &Island, world: &mut World, h: f64) {
        let usual = island.solved && !island.hard && !island.rested && self.solver == ContactSolver::Newton;
        if !island.mechanisms.is_empty() || island.free.len() < FEWEST_BODIES || !usual {
            return;
        }
        let states = &island.states;
        let Some(laid) = island.newton.laid().filter(|_| states.iter().all(|s| rests(s, h))) else { return };
        let bodies: Vec<u32> = states.iter().map(|s| s.slot).collect();
        let key = bodies.iter().copied().min().unwrap_or(0);
        world.resting.matrices.insert(key, Arc::new(Matrix { bodies, laid: laid.clone() }));
    }

    /// Forgets the matrices of islands that are no more.
    pub fn forget_matrices(&self, world: &mut World, herds: &Herds, free: &[u32]) {
        let mut known: Vec<u32> =
            self.islands[..self.count].iter().filter_map(|i| i.lowest_slot(herds, free)).collect();
        known.sort_unstable();
        world.resting.matrices.retain(|key, _| known.binary_search(key).is_ok());
        world.resting.restless.retain(|key, _| known.binary_search(key).is_ok());
        world.resting.paces.retain(|key, _| known.binary_search(key).is_ok());
    }

    /// Advances an island that rests; returns whether it did.
    pub(super) fn advance_quietly(
        &self,
        island: &mut Island,
        world: &Seen,
        resting: &Resting,
        free: &[u32],
        params: &StepParams,
    ) -> bool {
        let h = params.dt;
        let Some(lowest) = island.free.iter().map(|&k| free[k as usize]).min() else { return false };
        let Some(matrix) = resting.matrices.get(&lowest) else { return false };
        let same = matrix.bodies.iter().copied().eq(island.free.iter().map(|&k| free[k as usize]));
        let plain = |m: &u32| {
            let material = &world.collisions.manifolds[*m as usize].material;
            material.softness.is_none()
                && material.rolling == 0.0
                && material.spinning == 0.0
                && material.restitution == 0.0
        };
        let carried = |k: &u32| self.carried[self.mechanism_count + *k as usize];
        if !same || !island.mechanisms.is_empty() || self.solver != ContactSolver::Newton {
            return false;
        }
        if island.free.iter().any(carried) || !island.manifolds.iter().all(plain) {
            return false;
        }
        let mut quiet = std::mem::take(&mut island.quiet);
        let report = &mut island.report;
        let rested = self.fill_quietly(&mut quiet, &mut island.states, &island.free, &island.manifolds, world, free, h)
            && quiet.solve(&matrix.laid, h).is_some_and(|(iterations, residual)| {
                report.iterations += iterations;
                report.residual = report.residual.max(residual);
                true
            })
            && island.states.iter_mut().zip(&quiet.u).all(|(state, u)| {
                state.u = narrow(u);
                rests(state, h)
            });
        if rested {
            Self::take_quietly(&quiet, island, world, h);
        }
        island.quiet = quiet;
        rested
    }

    /// Kicks the bodies and puts their contacts in lanes; returns whether all of them rest.
    fn fill_quietly(
        &self,
        quiet: &mut Quiet,
        states: &mut Vec<Free>,
        numbers: &[u32],
        manifolds: &[u32],
        world: &Seen,
        free: &[u32],
        h: f64,
    ) -> bool {
        quiet.clear();
        states.clear();
        for &k in numbers {
            let mut state = Free::new(world.bodies, free[k as usize]);
            if !rests(&state, h) {
                return false;
            }
            quiet.before.push(widen(&state.u));
            state.kick_before_move(world.bodies, world.gravity, h);
            quiet.kicked.push(widen(&state.kicked));
            quiet.frames.push(state.frame());
            states.push(state);
        }
        for &m in manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            let units = [manifold.a, manifold.b].map(|slot| self.unit[slot as usize]);
            let bodies = units.map(|unit| (unit != NONE).then(|| self.place[unit as usize]));
            if manifold.points().iter().any(|p| h * drift_at(world.bodies, manifold, p.position).length() > MOST_WAY) {
                return false;
            }
            quiet.batches.add(m, manifold, bodies, drifts(world.bodies, manifold), Turn::NONE);
        }
        let gravity = world.gravity.length();
        let Quiet { batches, laws, frames, .. } = quiet;
        batches.prepare(&world.collisions.manifolds, frames, 1.0, false, |m, at| drift_at(world.bodies, m, at));
        let (zero, steps) = (f64x4::splat(0.0), f64x4::splat(1.0 / h));
        for (pair, points) in batches.iter() {
            let mass = |b: u32| frames.get(b as usize).map_or(0.0, |f| 1.0 / (f.inv_sqrt_mass * f.inv_sqrt_mass));
            let [a, b] = &pair.bodies;
            let heavier: [f64; 4] = std::array::from_fn(|l| mass(a[l]).max(mass(b[l])));
            let k = f64x4::new(heavier.map(|m| contact_stiffness(m, gravity)));
            let (rest_stiffness, rest_load) =
                (k * f64x4::splat(h * (h + RELAXATION)), k * f64x4::splat(h * REST_DEPTH));
            for point in points {
                let load = point.impulse[0].max(rest_load);
                // as `under_load`: to the power of ¾ of what exceeds the load of rest
                let root = rest_load.simd_gt(zero).select(load / rest_load, f64x4::splat(1.0)).sqrt();
                let push_out = (-point.gap * f64x4::splat(1.0 / (h + RELAXATION))).min(f64x4::splat(FASTEST_PUSH));
                let is_there = point.mobility.simd_gt(zero);
                laws.push(Law {
                    stiffness: is_there.select(rest_stiffness * root * root.sqrt(), zero),
                    target: point.gap.simd_gt(zero).select(-point.gap * steps, push_out),
                    start: [point.impulse[1], point.impulse[2]],
                    impulse: [zero; 3],
                    velocity: [zero; 3],
                    slip: zero,
                    load,
                });
            }
        }
        true
    }

    /// Notes the impulses of contact points, and moves the bodies.
    fn take_quietly(quiet: &Quiet, island: &mut Island, world: &Seen, h: f64) {
        let Island { states, pushed, report, impulses, .. } = island;
        pushed.clear();
        pushed.resize(states.len(), false);
        report.penetration = report.penetration.max(quiet.look_at_pushes(pushed));
        impulses.clear();
        quiet.each_impulse(h, |manifold, point, normal, across| {
            impulses.push(PointImpulse { manifold, point, normal, across });
        });
        report.contacts += impulses.len() as u32;
        predict_all(states, h);
        for (state, &supported) in states.iter_mut().zip(&*pushed) {
            state.advance(world.bodies, world.gravity, h, supported);
        }
    }
}

/// Whether a body moves and turns so little that contacts stay where they are.
fn rests(state: &Free, h: f64) -> bool {
    let motion = state.motion();
    let most = MOST_WAY / h;
    motion.v.length_squared() < most * most && motion.w.length_squared() < most * most
}

impl Quiet {
    fn clear(&mut self) {
        self.batches.clear();
        self.laws.clear();
        self.frames.clear();
        self.before.clear();
        self.kicked.clear();
    }

    /// Finds the velocities; returns iterations and what is left (m/s), or nothing if it is not as quick as it should be.
    fn solve(&mut self, laid: &Laid, h: f64) -> Option<(u32, f64)> {
        self.u.clone_from(&self.before);
        self.evaluate(true);
        let mut left = self.largest_rate();
        let mut iterations = 0;
        // at least once: contacts do not see every motion, a spin about a normal for one
        while iterations == 0 || left > SOFT_TOLERANCE {
            if iterations == MOST_ITERATIONS {
                return None;
            }
            iterations += 1;
            self.move_by(laid);
            self.evaluate(false);
            let now = self.largest_rate();
            if now.is_nan() || now > SOFT_TOLERANCE && now > 0.1 * left {
                return None;
            }
            left = now;
        }
        self.settled(h).then_some((iterations, left))
    }

    /// u −= H⁻¹ f(u).
    fn move_by(&mut self, laid: &Laid) {
        self.rhs.clear();
        self.rhs.resize(6 * self.u.len(), 0.0);
        let order = laid.rows().as_chunks::<6>().0;
        for (r, rows) in self.residual.iter().zip(order) {
            let r = narrow(r);
            (0..6).for_each(|s| self.rhs[rows[s] as usize] = -r[s]);
        }
        laid.solve(&mut self.rhs);
        for (u, rows) in self.u.iter_mut().zip(order) {
            let d = widen(&rows.map(|row| self.rhs[row as usize]));
            (0..8).for_each(|s| u[s] += d[s]);
        }
    }

    /// Impulses, velocities of contacts, and f(u). At the first look the slip is that with which the step begins.
    fn evaluate(&mut self, first: bool) {
        let Quiet { batches, laws, kicked, u, residual, .. } = self;
        residual.clear();
        residual.extend(u.iter().zip(&*kicked).map(|(u, k)| -> Wide { std::array::from_fn(|s| u[s] - k[s]) }));
        for (pair, points, laws) in batches.with(laws) {
            let against = pair.against(&pair.gather(u));
            let mut change = Against::none();
            for (point, law) in points.iter().zip(laws) {
                let v: [f64x4; 3] = std::array::from_fn(|r| point.rate(r, pair, &against) + point.drift[r]);
                if first {
                    law.slip = point.friction * (v[1] * v[1] + v[2] * v[2]).sqrt();
                    law.target -= law.slip;
                }
                let along = law.stiffness * (law.target - v[0]);
                let across = [law.start[0] - law.stiffness * v[1], law.start[1] - law.stiffness * v[2]];
                law.impulse = project(along, across, point.friction);
                law.velocity = v;
                for (r, impulse) in law.impulse.into_iter().enumerate() {
                    change.push(&pair.directions[r], &point.turns[r], -impulse, -impulse);
                }
            }
            pair.add(residual, &change);
        }
    }

    /// How fast any contact would move by what is left of the residual, m/s.
    fn largest_rate(&self) -> f64 {
        let zero = f64x4::splat(0.0);
        let (mut largest, mut unknown) = (zero, zero);
        for (pair, points) in self.batches.iter() {
            let against = pair.against(&pair.gather(&self.residual));
            for point in points {
                let is_there = point.mobility.simd_gt(zero);
                for r in 0..3 {
                    let rate = is_there.select(point.rate(r, pair, &against).abs(), zero);
                    largest = largest.max(rate);
                    unknown |= rate.is_nan();
                }
            }
        }
        if unknown.any() { f64::NAN } else { largest.to_array().into_iter().fold(0.0, f64::max) }
    }

    /// Whether slips and loads are what they were taken for.
    fn settled(&self, h: f64) -> bool {
        let points = self.batches.iter().flat_map(|(_, points)| points);
        points.zip(&self.laws).all(|(point, law)| {
            let slip = point.friction * (law.velocity[1] * law.velocity[1] + law.velocity[2] * law.velocity[2]).sqrt();
            let wanted = law.target + law.slip - f64x4::splat(SOFT_TOLERANCE);
            let counts = law.impulse[0].simd_gt(f64x4::splat(0.0)) | law.velocity[0].simd_lt(wanted);
            let slipped = ((slip - law.slip).abs() * f64x4::splat(h)).simd_gt(f64x4::splat(SLIP_TOLERANCE));
            let loaded = law.impulse[0].simd_gt(law.load * f64x4::splat(OVERLOAD));
            !((slipped & counts) | loaded).any()
        })
    }

    /// Marks the bodies that something pushes; returns the deepest overlap, m.
    fn look_at_pushes(&self, pushed: &mut [bool]) -> f64 {
        let mut deepest = f64x4::splat(0.0);
        let mut laws = self.laws.iter();
        for (pair, points) in self.batches.iter() {
            for (point, law) in points.iter().zip(&mut laws) {
                deepest = deepest.max(-point.gap);
                let along = law.impulse[0].to_array();
                for lane in (0..4).filter(|&lane| along[lane] > 0.0) {
                    for bodies in &pair.bodies {
                        if let Some(pushed) = pushed.get_mut(bodies[lane] as usize) {
                            *pushed = true;
                        }
                    }
                }
            }
        }
        deepest.to_array().into_iter().fold(0.0, f64::max)
    }

    /// Calls `visit` with every point's impulse along the normal, and what its friction holds, as a vector.
    fn each_impulse(&self, h: f64, visit: impl FnMut(u32, usize, f64, DVec3)) {
        let share = f64x4::splat(h / (h + RELAXATION));
        let impulse = |k: usize, point: &Point| {
            let law = &self.laws[k];
            // the spring of sticking friction, without the damping that acts with it
            let spring = law.stiffness * share;
            let m = [0, 1].map(|s| law.start[s] - spring * law.velocity[s + 1]);
            let length = (m[0] * m[0] + m[1] * m[1]).sqrt();
            let most = point.friction * law.impulse[0];
            let scale = length.simd_gt(most).select(most / length, f64x4::splat(1.0));
            [law.impulse[0], m[0] * scale, m[1] * scale]
        };
        self.batches.each_impulse(impulse, visit);
    }
}

/// The nearest point of Coulomb's cone ([`super::cone::project`]) in every lane.
#[inline(always)]
fn project(along: f64x4, across: [f64x4; 2], friction: f64x4) -> [f64x4; 3] {
    let zero = f64x4::splat(0.0);
    let t = (across[0] * across[0] + across[1] * across[1]).sqrt();
    let inside = along.simd_ge(zero) & (friction * along).simd_ge(t);
    let outside = (-along).simd_ge(friction * t);
    let n = (friction * t + along) / (f64x4::splat(1.0) + friction * friction);
    let slide = inside.select(f64x4::splat(1.0), friction * n / t);
    let n = inside.select(along, n);
    [outside.select(zero, n), outside.select(zero, slide * across[0]), outside.select(zero, slide * across[1])]
}
