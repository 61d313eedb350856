//! Piles: sweeps over contacts in lanes of four, in substeps on one linearisation, with joints exact after every sweep.
//!
//! Rows and gaps are those of the start of the step. In each of n substeps of h/n
//!
//! ```text
//! u += kick/n;  u += Ĝᵀλ (the impulses of the substep before);  joints
//! repeat  normals, with bias: v_n ≥ −s/h_s for a gap s, push-out for an overlap;  joints
//! D += h_s u
//! repeat  friction and normals, without push-out;  joints
//! ```
//!
//! where s = gap + Ĝ D. In short substeps in which nothing overlaps the second stage comes before the move and
//! the first is left out. Push-out moves poses and leaves no velocity, and the step goes on from velocities that are at rest with
//! each other. Bodies move by D once, in [`crate::contact::Contacts`]; the joints of mechanisms are closed there exactly.
//! Substeps converge faster than as many sweeps at one step would, because every one of them starts from what the others
//! have moved (Macklin et al. 2019, *Small steps in physics simulation*); contact.md, section 3, has what was measured.
//!
//! Joints are not swept: after every sweep u −= Ĵᵀ A⁻¹ (Ĵu + drift), with the factor that the mechanism has anyway.

mod apart;
mod batches;
mod island;
mod joints;
mod lanes;
mod parts;
mod shock;
mod task;
mod through;
mod turning;

use crate::collide::Manifold;
use crate::mechanism::four::{Four, Member};
use crate::mechanism::herd::Herds;
use crate::mechanism::pile::more_kick;
use crate::mechanism::{Hat, Mechanism};
use crate::parallel::for_each;
use crate::world::Seen;
pub(super) use batches::{Batches, Point};
use glam::{DMat3, DVec3};
pub(super) use island::{Plan, drift_at, drifts};
use joints::{Joints, places};
pub(super) use lanes::Against;
use lanes::gather;
use parts::{Contacts, cuts};
pub(super) use task::{PointImpulse, Spare};
use through::Throughs;
pub(super) use turning::Turn;
use wide::f64x4;

/// Substeps of a step, and sweeps of one stage at most.
#[derive(Clone, Copy)]
struct Effort {
    substeps: u32,
    sweeps: u32,
}

const USUAL: Effort = Effort { substeps: 8, sweeps: 6 };
/// Where bringing velocities back to the joints of a large mechanism costs more than the sweeps do.
const COSTLY: Effort = Effort { substeps: 4, sweeps: 4 };
/// Substeps of a halved step at least. It needs fewer, because its rows are those of its own start; with two, overlaps were a third
/// deeper on average, with four they were not (docs/method.md).
const LEAST_SUBSTEPS: u32 = 4;
/// Entries of the factors of mechanisms that stand alone, from which on they are costly.
const COSTLY_ENTRIES: usize = 50_000;
/// Where what a substep changes would move nothing farther than this until the end of the step, m, the substeps that remain are
/// taken to be like it.
const STEADY: f64 = 1e-7;
/// What is left when a stage of a substep ends: how far its last sweep moved anything, by how far what is fastest goes along or towards
/// something else in the substep, and within which limits, m. What rests must be left with far less than what tumbles: a heap whose contacts give way by
/// 3e-6 m in every substep creeps down for ever, at millimetres a second.
const PRECISION: f64 = 3e-2;
const FINEST: f64 = 1e-7;
const COARSEST: f64 = 3e-6;
/// What a sweep leaves of what the one before has left, from which on another is not worth it below the coarsest tolerance: the next
/// substep goes on from there.
const SLOW: f64 = 0.9;
/// How far a sweep may move anything for the usual number of them to be enough, m, and how many there are at most where it moves more:
/// what is light between heavy things was left half solved when these came down on it. More where bodies are held tightly (treads).
const UNSETTLED: f64 = 1e-4;
const MOST_SWEEPS: u32 = 30;
const MOST_WHERE_TIGHT: u32 = 60;
/// Those sweeps go over what moved at least this part of that in the sweep before, but for every fifth, which goes over all contacts.
const BUSY: f64 = 0.03;
const EVERY: u32 = 5;
/// Substeps up to which one stage is enough where nothing overlaps, s. In longer ones heaps slip more often with it (docs/method.md).
const LONGEST_SINGLE: f64 = 2.5e-3;
/// By how much the impulses of the substep before may raise the energy, as a factor, beyond what the kick of a step gives, before less of
/// them is taken.
const MAY_RISE: f64 = 2.0;
/// Gaps and overlaps within this are none: the velocity along the normal is to be zero there. Without it walls rock.
const DEAD_BAND: f64 = 1e-4;
/// Part of an overlap that one substep takes out, and how far a step pushes at most, m. A corner that is pushed out turns the
/// others down; they must be within reach then, or what was pushed out here is deeper there.
const PUSH_OUT: f64 = 0.2;
/// Of an overlap that is so much beyond the band half as much is pushed out, of less ever less: d²/(d + this). Bodies that are held
/// between others go on overlapping a little, and pushing from both sides with all force shakes the heap in every step.
const GENTLE: f64 = 1e-5;
const FARTHEST_PUSH: f64 = 3e-3;

/// A body that no contact moves: it has neither mass nor inertia in rows.
const NOBODY: u32 = u32::MAX;

/// Six coordinates of a body in two lanes of four: linear, none, angular, none.
pub(super) type Wide = [f64; 8];

/// Where a body is, as rows need it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frame {
    pub x: DVec3,
    /// Angular rows to hat coordinates: R I^(−½).
    pub whitening: DMat3,
    pub inv_sqrt_mass: f64,
}

impl Frame {
    /// Hat coordinates of a push along d at a place.
    fn row(&self, at: DVec3, d: DVec3, sign: f64) -> Hat {
        let linear = d * (sign * self.inv_sqrt_mass);
        let angular = self.whitening.transpose() * ((at - self.x).cross(d) * sign);
        [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
    }

    /// Nothing that moves.
    const NOTHING: Frame = Frame { x: DVec3::ZERO, whitening: DMat3::ZERO, inv_sqrt_mass: 0.0 };
}

/// A row of one impulse between two bodies of a mechanism that has bounds: a limit, dry friction or a motor.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundedRow {
    pub bodies: [Option<u32>; 2],
    pub rows: [Hat; 2],
    pub target: f64,
    pub bounds: (f64, f64),
    pub compliance: f64,
    pub impulse: f64,
    pub total: f64,
    mobility: f64,
    /// Where it is in a mechanism that is seen through.
    through: Option<(u32, u32)>,
}

/// What a pile did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub sweeps: u32,
    /// Largest change of the last sweep, m/s.
    pub residual: f64,
}

/// Working memory: bodies, contacts and joints of a pile.
#[derive(Default)]
pub(super) struct Pile {
    frames: Vec<Frame>,
    u: Vec<Wide>,
    kick: Vec<Wide>,
    /// By how much velocities lag behind the start of the step, s, and whether what pushed in the last step still presses.
    lags: Vec<(f64, bool)>,
    way: Vec<Wide>,
    /// Velocities after the kick of a substep, without what touches.
    kicked: Vec<Wide>,
    /// Velocities before a substep, and before the one before it.
    before: Vec<Wide>,
    earlier: Vec<Wide>,
    contacts: Contacts,
    /// Where things will touch that sweeps did not foresee ([`apart`]).
    unforeseen: Batches,
    joints: Joints,
    through: Throughs,
    bounded: Vec<BoundedRow>,
    levels: shock::Levels,
    effort: Effort,
    /// How far the last sweep of a stage may move anything, m.
    tolerance: f64,
    /// Whether bodies are held tightly among heavier ones (a tank on its treads). There sweeps do not go on where they were going: that
    /// took a third longer and left the same overlap, single blows deeper.
    is_tight: bool,
    /// Whether the user moves something here.
    pub is_driven: bool,
}

impl Default for Effort {
    fn default() -> Self {
        USUAL
    }
}

pub(super) fn widen(u: &Hat) -> Wide {
    [u[0], u[1], u[2], 0.0, u[3], u[4], u[5], 0.0]
}

fn product(a: &[Wide], b: &[Wide]) -> f64 {
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|s| sums[s] = a[s].mul_add(b[s], sums[s]));
    }
    sums.iter().sum()
}

fn change(before: &Hat, after: &Hat) -> Wide {
    let (before, after) = (widen(before), widen(after));
    std::array::from_fn(|k| after[k] - before[k])
}

pub(super) fn narrow(u: &Wide) -> Hat {
    [u[0], u[1], u[2], u[4], u[5], u[6]]
}

impl Pile {
    pub fn clear(&mut self) {
        self.frames.clear();
        self.u.clear();
        self.kick.clear();
        self.lags.clear();
        self.way.clear();
        self.contacts.clear();
        self.unforeseen.clear();
        self.joints.clear();
        self.through.clear();
        self.bounded.clear();
    }

    /// Makes room for bodies; each must be set.
    pub fn make_room(&mut self, bodies: usize) {
        self.frames.resize(bodies, Frame::NOTHING);
        self.u.resize(bodies, [0.0; 8]);
        self.kick.resize(bodies, [0.0; 8]);
        self.lags.resize(bodies, (0.0, false));
        self.way.clear();
        self.way.resize(bodies, [0.0; 8]);
    }

    /// Sets a body with its velocity before and after the kick of the whole step, the lag of the former, and whether what pushed it
    /// in the last step still presses.
    pub fn set_body(&mut self, body: u32, frame: Frame, (before, kicked): (&Hat, &Hat), lag: (f64, bool)) {
        let body = body as usize;
        (self.frames[body], self.lags[body]) = (frame, lag);
        (self.u[body], self.kick[body]) = (widen(before), change(before, kicked));
    }

    /// Takes up to four members of a herd.
    pub fn add_herded(&mut self, herd: u32, members: &[Member]) {
        self.joints.add_herded(herd, members);
    }

    /// Begins the step of all members of herds; keeps those that are of the simple kind just now.
    pub fn begin_herded(&mut self, herds: &Herds, world: &Seen, many: bool) {
        self.joints.begin_herded(herds, world, many);
    }

    /// Sets the bodies of all members of herds, kicked for a step of `h`; `presses` tells by their places what still presses.
    pub fn set_herded_bodies(&mut self, h: f64, presses: &[bool]) {
        let mut joints = std::mem::take(&mut self.joints);
        for four in joints.herded_mut() {
            four.kick(h);
            let members = four.members();
            four.each_body(|lane, b, (x, whitening, inv_sqrt_mass), before, kicked| {
                let (member, frame) = (&members[lane], Frame { x, whitening, inv_sqrt_mass });
                let lag = (four.lag(lane), presses[member.place as usize]);
                self.set_body(member.first_body + b as u32, frame, (&before, &kicked), lag);
            });
        }
        self.joints = joints;
    }

    /// Adds the joints of a mechanism, by its place among those of the pile, whose bodies begin at `first`.
    pub fn add_mechanism(&mut self, mechanism: u32, first: u32) {
        self.joints.add(mechanism, first);
    }

    /// Adds a contact; bodies are `None` where nothing moves, `drifts` says whether the user moves one, and `turn` how the velocity
    /// turns that friction holds ([`turning`]).
    pub fn add_contact(
        &mut self,
        number: u32,
        manifold: &Manifold,
        bodies: [Option<u32>; 2],
        drifts: bool,
        turn: Turn,
    ) {
        self.contacts.between.add(number, manifold, bodies, drifts, turn);
    }

    /// Chooses the mechanisms that are seen through, and puts the other contacts into lanes; see [`Batches::prepare`]. The step has
    /// been halved a number of times; `first` are the first bodies of mechanisms and bodies without joints, in the order of their places.
    pub fn prepare(
        &mut self,
        manifolds: &[Manifold],
        mechanisms: &[&mut Mechanism],
        tight: bool,
        shocks: bool,
        halvings: u32,
        first: &[u32],
        drift: impl Fn(&Manifold, DVec3) -> DVec3 + Sync,
    ) {
        self.joints.prepare(mechanisms, !tight);
        self.is_tight = tight;
        // shocks are passed on from body to body
        if !shocks {
            self.through.choose(&mut self.joints, &self.contacts.between.waiting, mechanisms, self.frames.len(), tight);
        }
        self.effort = if self.joints.entries_alone(mechanisms) > COSTLY_ENTRIES { COSTLY } else { USUAL };
        self.effort.substeps = (self.effort.substeps >> halvings).max(LEAST_SUBSTEPS);
        let n = f64::from(self.effort.substeps);
        self.through.take(&mut self.contacts.between.waiting, manifolds, &self.frames, n, &drift);
        if !shocks {
            let tied = self.joints.tied(first.len());
            self.divide(cuts(self.frames.len(), first, &tied));
        }
        self.contacts.prepare(manifolds, &self.frames, n, drift);
    }

    /// Divides the pile into parts that are swept over side by side ([`parts`]).
    fn divide(&mut self, cuts: Vec<parts::Cut>) {
        self.joints.divide(&cuts);
        self.contacts.divide(cuts);
    }

    /// Parts into which it is divided, or none.
    #[cfg(test)]
    pub fn parts(&self) -> usize {
        self.contacts.in_use()
    }

    /// Adds a row with bounds of its impulse; `b` is its velocity after the kick, less what is wanted.
    pub fn add_bounded(
        &mut self,
        bodies: [Option<u32>; 2],
        rows: [Hat; 2],
        (low, high): (f64, f64),
        b: f64,
        compliance: f64,
        guess: f64,
    ) {
        let n = f64::from(self.effort.substeps);
        let after_kick: f64 = bodies
            .iter()
            .zip(&rows)
            .filter_map(|(body, row)| body.map(|k| (k as usize, row)))
            .map(|(k, row)| (0..6).map(|s| row[s] * (narrow(&self.u[k])[s] + narrow(&self.kick[k])[s])).sum::<f64>())
            .sum();
        let mobility: f64 = bodies
            .iter()
            .zip(&rows)
            .filter(|(b, _)| b.is_some())
            .map(|(_, r)| r.iter().map(|x| x * x).sum::<f64>())
            .sum();
        let compliance = n * compliance;
        let through = self.through.add_bounded(bodies, &rows);
        self.bounded.push(BoundedRow {
            bodies,
            rows,
            target: after_kick - b,
            bounds: (low / n, high / n),
            compliance,
            impulse: guess.clamp(low, high) / n,
            total: 0.0,
            mobility,
            through,
        });
    }

    /// Advances all velocities over a step of `h`; `mechanisms` are those of the pile. `shocks` if these are to be propagated.
    pub fn solve(&mut self, mechanisms: &mut [&mut Mechanism], herds: &Herds, h: f64, shocks: bool) -> Outcome {
        let n = f64::from(self.effort.substeps);
        let h_s = h / n;
        let mut outcome = Outcome::default();
        for (k, first) in self.through.mechanisms() {
            // the others are closed in every substep
            let mechanism = &mut *mechanisms[k as usize];
            mechanism.close_kick(h);
            for b in 0..mechanism.movable_bodies().len() {
                let (before, kicked) = mechanism.kick_of(b);
                self.u[first as usize + b] = widen(before);
                self.kick[first as usize + b] = change(before, kicked);
            }
        }
        for ((u, kick), &(lag, presses)) in self.u.iter_mut().zip(&self.kick).zip(&self.lags) {
            let more = more_kick(lag, presses, h_s) / h;
            (0..8).for_each(|s| u[s] += more * kick[s]);
        }
        self.through.open(mechanisms, &self.u, &self.kick, n);
        for b in &mut self.bounded {
            b.mobility = b.through.map_or(b.mobility, |row| self.through.mobility(row));
        }
        let may_repeat = !shocks && self.through.is_empty();
        // sweeps over what is seen through converge too slowly for more
        self.tolerance = if may_repeat {
            (PRECISION * h_s * self.contacts.fastest(&self.u)).clamp(FINEST, COARSEST)
        } else {
            COARSEST
        };
        let share = 1.0 / n;
        let mut was_steady = false;
        for substep in 0..self.effort.substeps {
            if may_repeat {
                std::mem::swap(&mut self.before, &mut self.earlier);
                self.before.clone_from(&self.u);
            }
            self.joints.mark();
            for (u, kick) in self.u.iter_mut().zip(&self.kick) {
                (0..8).for_each(|s| u[s] += share * kick[s]);
            }
            let elapsed = f64::from(substep) * h_s;
            self.start(mechanisms, herds, elapsed, h_s);
            // with nothing to push out both stages would aim at the same: one is enough, and bodies go as friction lets them; but what is
            // seen through is not swept well with friction before its normals are (a chain of 400 links did not fall)
            let pushes_out = !may_repeat || h_s > LONGEST_SINGLE || self.contacts.overlap();
            let most = self.effort.sweeps * if pushes_out { 1 } else { 2 };
            let (pushes, pushed) = self.stage(mechanisms, herds, h_s, pushes_out, most);
            if pushes_out {
                self.joints.project(mechanisms, herds, &mut self.u);
            }
            if shocks {
                self.propagate_shocks(mechanisms, herds);
            }
            for (way, u) in self.way.iter_mut().zip(&self.u) {
                (0..8).for_each(|s| way[s] += h_s * u[s]);
            }
            self.through.go(h_s);
            let (sweeps, residual) = match pushes_out {
                true => self.stage(mechanisms, herds, h_s, false, most),
                false => (0, pushed),
            };
            if shocks {
                self.joints.project(mechanisms, herds, &mut self.u);
                self.propagate_shocks(mechanisms, herds);
            }
            outcome.sweeps += pushes + sweeps;
            outcome.residual = residual;
            self.contacts.end(1.0);
            self.through.end();
            self.bounded.iter_mut().for_each(|b| b.total += b.impulse);
            let is_steady =
                may_repeat && (pushes, sweeps) == (1, u32::from(pushes_out)) && pushed.max(residual) * h_s < STEADY;
            let left = f64::from(self.effort.substeps - 1 - substep);
            if is_steady && was_steady && self.would_go_on(elapsed + h_s, left * h_s) {
                self.repeat(left, h_s);
                break;
            }
            was_steady = is_steady;
        }
        self.project_ends(mechanisms, herds, h);
        self.through.close(mechanisms, &mut self.u, &mut self.way, h);
        outcome
    }

    /// Brings what the last sweeps of substeps have left to the joints of the next one back to them: in velocities, and in the mean ones, where
    /// once is enough because joints are linear.
    fn project_ends(&mut self, mechanisms: &mut [&mut Mechanism], herds: &Herds, h: f64) {
        self.joints.project(mechanisms, herds, &mut self.u);
        self.joints.mark();
        self.way.iter_mut().flatten().for_each(|way| *way /= h);
        self.joints.project(mechanisms, herds, &mut self.way);
        self.way.iter_mut().flatten().for_each(|mean| *mean *= h);
        self.joints.go_back();
    }

    /// Begins a substep of `h_s`, a time after the step began, with the impulses of the one before: with that part of those of contacts which leaves the
    /// least energy, if all of them make some. After a blow they are far too large, and sweeps take back too little of them.
    fn start(&mut self, mechanisms: &mut [&mut Mechanism], herds: &Herds, elapsed: f64, h_s: f64) {
        self.start_bounded();
        self.kicked.clone_from(&self.u);
        self.contacts.start(&mut self.u, &self.way, elapsed, h_s);
        self.through.start(&mut self.u, &self.way, elapsed, h_s);
        self.joints.project(mechanisms, herds, &mut self.u);
        // what is seen through has its velocities elsewhere, and what the user moves gives energy
        let is_judged = self.through.is_empty() && !self.is_driven;
        let most = MAY_RISE * product(&self.kicked, &self.kicked) + product(&self.kick, &self.kick);
        if !is_judged || product(&self.u, &self.u) <= most {
            return;
        }
        let with_all = self.u.clone();
        self.joints.go_back();
        self.u.clone_from(&self.kicked);
        self.joints.project(mechanisms, herds, &mut self.u);
        // joints are linear: the energy is a parabola over the part
        let [none, slope, all] =
            [(&self.u, &self.u), (&self.u, &with_all), (&with_all, &with_all)].map(|(a, b)| product(a, b));
        let part = ((none - slope) / (none - 2.0 * slope + all)).clamp(0.0, 1.0);
        self.contacts.keep_part(part);
        self.joints.go_back();
        self.u.clone_from(&self.kicked);
        self.contacts.start(&mut self.u, &self.way, elapsed, h_s);
        self.joints.project(mechanisms, herds, &mut self.u);
    }

    /// Whether velocities hardly changed in the last substep, which ended a time after the step began, and nothing else comes to
    /// touch within another.
    fn would_go_on(&self, elapsed: f64, time: f64) -> bool {
        let is_same = |((u, before), frame): ((&Wide, &Wide), &Frame)| {
            // of points as far from the centre of mass as the radius of gyration
            let change = (0..8).map(|s| (u[s] - before[s]).powi(2)).sum::<f64>().sqrt() * frame.inv_sqrt_mass;
            change * time < STEADY
        };
        self.u.iter().zip(&self.before).zip(&self.frames).all(is_same)
            && self.contacts.touch_nothing_else(&self.u, &self.way, elapsed, time)
    }

    /// Takes the last substep some times more, with the little by which it changed velocities if the one before did the same: over
    /// many steps that adds up to the whole motion of what slides to a stop. What fades is not to be repeated.
    fn repeat(&mut self, times: f64, h_s: f64) {
        let sum = 0.5 * times * (times + 1.0);
        let befores = self.before.iter().zip(&self.earlier);
        for ((way, u), (before, earlier)) in self.way.iter_mut().zip(&mut self.u).zip(befores) {
            for s in 0..8 {
                let (change, last) = (u[s] - before[s], before[s] - earlier[s]);
                let change = if (change - last).abs() <= 0.25 * change.abs() { change } else { 0.0 };
                way[s] += h_s * (times * u[s] + sum * change);
                u[s] += times * change;
            }
        }
        self.contacts.end(times);
        self.joints.repeat(times);
        self.bounded.iter_mut().for_each(|b| b.total += times * b.impulse);
    }

    /// Sweeps until nothing moves, or as often as that; returns how often, and how far the last sweep moved anything, m/s. Velocities are
    /// not brought back to the joints after the last sweep.
    fn stage(
        &mut self,
        mechanisms: &mut [&mut Mechanism],
        herds: &Herds,
        h_s: f64,
        biased: bool,
        most: u32,
    ) -> (u32, f64) {
        let (mut sweeps, mut last) = (0, f64::INFINITY);
        let fastest = FARTHEST_PUSH / (h_s * f64::from(self.effort.substeps));
        self.contacts.aim(h_s, biased, fastest);
        self.through.aim(h_s, biased, fastest);
        loop {
            let least = if sweeps > most && sweeps % EVERY != 0 { BUSY * UNSETTLED / h_s } else { 0.0 };
            let mut moved = self.sweep_bounded();
            moved = moved.max(self.contacts.sweep(&mut self.u, !biased, least));
            moved = moved.max(self.through.sweep(mechanisms, &mut self.u, !biased));
            sweeps += 1;
            let is_slow = moved * h_s < COARSEST && moved > SLOW * last;
            let most = match moved * h_s > UNSETTLED {
                true if self.is_tight => MOST_WHERE_TIGHT,
                true => MOST_SWEEPS,
                false => most,
            };
            if sweeps >= most || moved * h_s < self.tolerance || is_slow {
                return (sweeps, moved);
            }
            self.joints.project(mechanisms, herds, &mut self.u);
            last = moved;
            if !self.is_tight {
                self.through.go_on(&mut self.u, !biased);
            }
        }
    }

    fn start_bounded(&mut self) {
        for k in 0..self.bounded.len() {
            let impulse = self.bounded[k].impulse;
            self.push_bounded(k, impulse);
        }
    }

    fn push_bounded(&mut self, k: usize, impulse: f64) {
        let b = &self.bounded[k];
        if let Some(row) = b.through {
            return self.through.push(row, impulse);
        }
        for (body, row) in b.bodies.iter().zip(&b.rows) {
            if let Some(body) = body {
                let (u, row) = (&mut self.u[*body as usize], widen(row));
                (0..8).for_each(|s| u[s] += impulse * row[s]);
            }
        }
    }

    fn bounded_rate(&self, b: &BoundedRow) -> f64 {
        if let Some(row) = b.through {
            return self.through.rate(row);
        }
        let of = |(body, row): (&Option<u32>, &Hat)| {
            body.map_or(0.0, |k| narrow(&self.u[k as usize]).iter().zip(row).map(|(u, g)| u * g).sum::<f64>())
        };
        b.bodies.iter().zip(&b.rows).map(of).sum()
    }

    fn sweep_bounded(&mut self) -> f64 {
        let mut moved = 0.0_f64;
        for k in 0..self.bounded.len() {
            let b = &self.bounded[k];
            let response = b.mobility + b.compliance;
            if response <= 0.0 {
                continue;
            }
            let v = self.bounded_rate(b) - b.target + b.compliance * b.impulse;
            let new = (b.impulse - v / response).clamp(b.bounds.0, b.bounds.1);
            let change = new - b.impulse;
            moved = moved.max(change.abs() * response);
            self.bounded[k].impulse = new;
            self.push_bounded(k, change);
        }
        moved
    }

    /// The velocity of a body at the end of the step, and its mean over it, of what moves its pose.
    pub fn velocities(&self, body: u32, h: f64) -> (Hat, Hat) {
        let way = self.way[body as usize];
        (narrow(&self.u[body as usize]), narrow(&way.map(|d| d / h)))
    }

    /// Calls `visit` with every manifold, its points' numbers and their impulses (normal, and across it as a vector).
    pub fn each_impulse(&self, mut visit: impl FnMut(u32, usize, f64, DVec3)) {
        self.contacts.each_total(&mut visit);
        self.through.each_total(visit);
    }

    /// Members of herds, four at a time.
    pub fn fours(&self) -> &[Four] {
        self.joints.herded()
    }

    /// Finds where the members of herds go, and notes by their places how their joints were closed, if they were.
    pub fn predict_herded(
        &mut self,
        herds: &Herds,
        h: f64,
        tolerance: f64,
        (again, many): (bool, bool),
        closings: &mut [Option<u32>],
    ) {
        let (way, share) = (&self.way, f64x4::splat(1.0 / h));
        let mean = |members: &[Member; 4], b: usize| gather(way, &places(members, b)).map(|d| d * share);
        for_each(self.joints.herded_mut(), many, |_, four| {
            four.predict(herds.herd_of(four), h, tolerance, again, mean)
        });
        for four in self.joints.herded() {
            four.members().iter().zip(four.closed()).for_each(|(m, closed)| closings[m.place as usize] = *closed);
        }
    }

    /// Moves the members of herds to where they go; `pushed` tells by their places what a contact pushed.
    pub fn finish_herded(&mut self, herds: &Herds, h: f64, pushed: &[bool], many: bool) {
        let (u, substep) = (&self.u, self.substep(h));
        let end = |members: &[Member; 4], b: usize| gather(u, &places(members, b));
        for_each(self.joints.herded_mut(), many, |_, four| {
            let mut touched = [true; 4];
            four.members().iter().zip(&mut touched).for_each(|(m, touched)| *touched = pushed[m.place as usize]);
            four.finish(herds.herd_of(four), h, substep, touched, end);
        });
    }

    /// A substep of a step of `h`, s.
    pub fn substep(&self, h: f64) -> f64 {
        h / f64::from(self.effort.substeps)
    }

    /// Impulses of bounded rows, in the order in which they were added.
    pub fn bounded(&self) -> impl Iterator<Item = f64> {
        self.bounded.iter().map(|b| b.total)
    }

    /// Calls `visit` with every mechanism, its first body and the impulses of its joint rows.
    pub fn each_joint_impulse(&self, mut visit: impl FnMut(u32, u32, &[f64])) {
        self.joints.each_total(&mut visit);
        self.through.each_answer(visit);
    }
}
