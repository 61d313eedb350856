//! Contacts that see through the joints of a mechanism.
//!
//! A contact on a light body of a large mechanism does not feel what that body weighs but what its joints let it feel. With
//! R = 1 − ĴᵀA⁻¹Ĵ, the response of the mechanism, and G the hat rows of all contacts and bounded rows on it,
//!
//! ```text
//! W = G R Gᵀ,   v ← v + W Δλ
//! ```
//!
//! (Tomcin, Sibbing and Kobbelt 2014, section 7, for all contacts at once). Columns of W are found once a step, eight at a time, and
//! only of rows that push. The mechanism is nothing but the velocities v of its contact rows then, and joints hold through every
//! single push. Its bodies get the sum of all impulses at the end. So convergence does not depend on how heavy is what lies on
//! light links.

use super::apart::Ways;
use super::batches::Waiting;
use super::joints::{Joints, Single};
use super::turning::Turn;
use super::{DEAD_BAND, Frame, GENTLE, NOBODY, PUSH_OUT, Wide, narrow, widen};
use crate::collide::Manifold;
use crate::math::{multiply_add, rotation};
use crate::mechanism::pile::Response;
use crate::mechanism::{Hat, Mechanism};
use glam::DVec3;
use wide::f64x8;

/// Rows of contacts up to which a mechanism is seen through, whatever it costs; and, where that is a choice, how many times the
/// entries of its factor the square of their number may be. A push costs as much as there are rows; bringing all velocities back
/// to the joints after every sweep costs two passes over the factor.
const MOST_ROWS: usize = 3000;
const MOST_WORK: usize = 8;

const NONE: u32 = u32::MAX;

/// Columns found together.
const LANES: usize = 8;

/// A row on one or two bodies of a mechanism, by their local numbers.
type SparseRow = [(u32, Hat); 2];

/// A mechanism that is seen through.
struct Through {
    mechanism: u32,
    first_body: u32,
    rows: Vec<SparseRow>,
    /// Which of them have bounds and are no contacts.
    bounded: Vec<u32>,
    /// Columns of W, and of each row which of them is its own.
    w: Vec<f64>,
    column: Vec<u32>,
    /// Its part of the velocities and of the ways along the rows, and what the kick of a substep adds to the velocities.
    v: Vec<f64>,
    way: Vec<f64>,
    kick: Vec<f64>,
    /// How much farther the rows go than that way, where the bodies end.
    bends: Vec<f64>,
    /// Impulses given so far, those given before bodies were moved apart, and the sum over the moves, by the time of each.
    given: Vec<f64>,
    marked: Vec<f64>,
    moved: Vec<f64>,
    /// Impulses of its joints.
    answer: Vec<f64>,
}

impl Through {
    /// Gives an impulse along a row whose column is known.
    #[inline(always)]
    fn push(&mut self, row: usize, impulse: f64) {
        if impulse == 0.0 {
            return;
        }
        self.given[row] += impulse;
        let n = self.v.len();
        let from = self.column[row] as usize * n;
        for (v, w) in self.v.iter_mut().zip(&self.w[from..from + n]) {
            *v = multiply_add(*w, impulse, *v);
        }
    }

    /// Gives impulses along two rows in one pass over the velocities.
    #[inline(always)]
    fn push_both(&mut self, rows: [usize; 2], impulse: [f64; 2]) {
        if impulse == [0.0; 2] {
            return;
        }
        let n = self.v.len();
        let [a, b] = rows.map(|row| self.column[row] as usize * n);
        for (row, p) in rows.into_iter().zip(impulse) {
            self.given[row] += p;
        }
        let columns = self.w[a..a + n].iter().zip(&self.w[b..b + n]);
        for (v, (a, b)) in self.v.iter_mut().zip(columns) {
            *v = multiply_add(*b, impulse[1], multiply_add(*a, impulse[0], *v));
        }
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.w[self.column[j] as usize * self.rows.len() + i]
    }

    /// Finds the columns of up to eight rows.
    fn find_columns(&mut self, rows: &[usize], mechanism: &Mechanism, work: &mut Response) {
        let n = self.rows.len();
        let first = self.w.len();
        self.w.resize(first + rows.len() * n, 0.0);
        work.clear();
        for (lane, &row) in rows.iter().enumerate() {
            self.column[row] = (first / n + lane) as u32;
            parts(&self.rows[row]).for_each(|(b, hat)| work.push(*b, lane, hat));
        }
        mechanism.respond_lanes(work);
        for (i, row) in self.rows.iter().enumerate() {
            let mut sum = f64x8::splat(0.0);
            for (b, hat) in parts(row) {
                let u = work.velocity(*b);
                (0..6).for_each(|c| sum = u[c].mul_add(f64x8::splat(hat[c]), sum));
            }
            let sum = sum.to_array();
            (0..rows.len()).for_each(|lane| self.w[first + lane * n + i] = sum[lane]);
        }
    }
}

fn parts(row: &SparseRow) -> impl Iterator<Item = &(u32, Hat)> {
    row.iter().filter(|(b, _)| *b != NONE)
}

/// What a row gathers from the bodies of a mechanism that begin at `first`.
fn along(row: &SparseRow, first: u32, u: &[Wide]) -> f64 {
    let of =
        |(b, hat): &(u32, Hat)| -> f64 { narrow(&u[(first + b) as usize]).iter().zip(hat).map(|(u, g)| u * g).sum() };
    parts(row).map(of).sum::<f64>()
}

/// Gives bodies of a mechanism an impulse along a row.
fn give(bodies: &mut [Hat], row: &SparseRow, impulse: f64) {
    for (b, hat) in parts(row) {
        (0..6).for_each(|c| bodies[*b as usize][c] += impulse * hat[c]);
    }
}

/// One side of a contact.
#[derive(Clone, Copy)]
enum Side {
    Nothing,
    Body(u32, [Wide; 3]),
    /// A mechanism that is seen through, and the first of three rows there.
    Through(u32, u32),
}

/// A contact point with a mechanism on one side at least that is seen through.
struct Point {
    manifold: u32,
    number: u32,
    directions: [DVec3; 3],
    sides: [Side; 2],
    /// Velocity that bodies moved by the user give, and with that by which what friction holds turns.
    given: [f64; 3],
    turn: Turn,
    drift: [f64; 3],
    /// The substep that impulses are of.
    since: f64,
    gap: f64,
    now: f64,
    target: f64,
    /// Whether its response is known.
    ready: bool,
    inverse: [f64; 2],
    mobility: f64,
    friction: f64,
    impulse: [f64; 3],
    total: [f64; 3],
    /// The impulse before the present sweep, and how it goes on.
    before: [f64; 3],
    course: [f64; 3],
}

/// All mechanisms of a pile that are seen through, and the contacts on them.
#[derive(Default)]
pub(super) struct Throughs {
    throughs: Vec<Through>,
    points: Vec<Point>,
    /// By body of the pile: the mechanism that it belongs to, if that is seen through.
    of_body: Vec<u32>,
    counts: Vec<usize>,
    waiting: Vec<Waiting>,
    /// Of each of the mechanisms: working memory of its response.
    work: Vec<Response>,
    needed: Vec<usize>,
    alone: Vec<Hat>,
    /// What the last sweep changed, as energy; nothing at the first of a stage.
    change: Option<f64>,
}

impl Throughs {
    pub fn clear(&mut self) {
        self.throughs.clear();
        self.points.clear();
        self.of_body.clear();
    }

    /// Chooses the mechanisms that are seen through among those that stand alone, and takes them out of `joints`.
    /// Where bodies are held `tight`ly among heavier ones, nothing else converges.
    pub fn choose(
        &mut self,
        joints: &mut Joints,
        contacts: &[Waiting],
        mechanisms: &[&mut Mechanism],
        bodies: usize,
        tight: bool,
    ) {
        self.counts.clear();
        self.counts.resize(bodies, 0);
        for w in contacts {
            let same = w.bodies[0] == w.bodies[1];
            for &b in w.bodies.iter().take(if same { 1 } else { 2 }).filter(|b| **b != NOBODY) {
                self.counts[b as usize] += 3 * usize::from(w.points);
            }
        }
        self.of_body.resize(bodies, NONE);
        let Throughs { throughs, of_body, counts, .. } = self;
        joints.take_singles(|single| {
            let Single { mechanism, first_body, .. } = *single;
            let model = &*mechanisms[mechanism as usize];
            let range = first_body as usize..first_body as usize + model.movable_bodies().len();
            let rows: usize = counts[range.clone()].iter().sum();
            let cheap = tight || rows * rows <= MOST_WORK * model.layout.factor.entries();
            let fit = rows > 0 && rows <= MOST_ROWS && cheap && model.can_respond_in_lanes();
            if fit {
                of_body[range].fill(throughs.len() as u32);
                throughs.push(Through {
                    mechanism,
                    first_body,
                    rows: Vec::with_capacity(rows),
                    bounded: Vec::new(),
                    w: Vec::new(),
                    column: Vec::new(),
                    v: Vec::new(),
                    way: Vec::new(),
                    kick: Vec::new(),
                    bends: Vec::new(),
                    given: Vec::new(),
                    marked: Vec::new(),
                    moved: Vec::new(),
                    answer: Vec::new(),
                });
            }
            fit
        });
    }

    /// The mechanisms, with the first body of each.
    pub fn mechanisms(&self) -> impl Iterator<Item = (u32, u32)> {
        self.throughs.iter().map(|t| (t.mechanism, t.first_body))
    }

    pub fn is_empty(&self) -> bool {
        self.throughs.is_empty()
    }

    pub fn has(&self, body: u32) -> bool {
        self.of_body.get(body as usize).is_some_and(|t| *t != NONE)
    }

    /// Takes the contacts on these mechanisms out of `contacts`.
    pub fn take(
        &mut self,
        contacts: &mut Vec<Waiting>,
        manifolds: &[Manifold],
        frames: &[Frame],
        n: f64,
        drift: impl Fn(&Manifold, DVec3) -> DVec3,
    ) {
        if self.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.clear();
        contacts.retain(|w| {
            let seen = w.bodies.iter().any(|b| self.has(*b));
            waiting.extend(seen.then_some(*w));
            !seen
        });
        for w in &waiting {
            let manifold = &manifolds[w.number as usize];
            for number in 0..manifold.points().len() {
                self.add_point(w, manifold, number, frames, n, &drift);
            }
        }
        self.waiting = waiting;
    }

    fn add_point(
        &mut self,
        w: &Waiting,
        manifold: &Manifold,
        number: usize,
        frames: &[Frame],
        n: f64,
        drift: &impl Fn(&Manifold, DVec3) -> DVec3,
    ) {
        let point = &manifold.points()[number];
        let (t1, t2) = manifold.normal.any_orthonormal_pair();
        let directions = [manifold.normal, t1, t2];
        let mut sides = [Side::Nothing; 2];
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let body = w.bodies[side];
            let Some(frame) = frames.get(body as usize) else { continue };
            let rows = directions.map(|d| frame.row(point.position, d, sign));
            sides[side] = match self.of_body[body as usize] {
                NONE => Side::Body(body, rows.map(|row| widen(&row))),
                t => self.add_rows(t, body, &rows, &mut sides[0]),
            };
        }
        let moved = if w.drifts { drift(manifold, point.position) } else { DVec3::ZERO };
        let drift = directions.map(|d| d.dot(moved));
        self.points.push(Point {
            manifold: w.number,
            number: number as u32,
            directions,
            sides,
            given: drift,
            turn: w.turn,
            drift,
            // the mean over the last step
            since: -0.5 * n,
            gap: point.gap,
            now: 0.0,
            target: 0.0,
            ready: false,
            inverse: [0.0; 2],
            mobility: 0.0,
            friction: manifold.material.friction,
            impulse: [point.impulse_n / n, t1.dot(point.impulse_t) / n, t2.dot(point.impulse_t) / n],
            total: [0.0; 3],
            before: [0.0; 3],
            course: [0.0; 3],
        });
    }

    /// Adds three rows on a body; if the other side is of the same mechanism, they are one with its rows.
    fn add_rows(&mut self, t: u32, body: u32, rows: &[Hat; 3], other: &mut Side) -> Side {
        let through = &mut self.throughs[t as usize];
        let local = body - through.first_body;
        if let Side::Through(same, first) = other
            && *same == t
        {
            for (sparse, row) in through.rows[*first as usize..].iter_mut().zip(rows) {
                sparse[1] = (local, *row);
            }
            return Side::Nothing;
        }
        let first = through.rows.len() as u32;
        through.rows.extend(rows.map(|row| [(local, row), (NONE, [0.0; 6])]));
        Side::Through(t, first)
    }

    /// Adds a row with bounds; returns its mechanism and its place there.
    pub fn add_bounded(&mut self, bodies: [Option<u32>; 2], rows: &[Hat; 2]) -> Option<(u32, u32)> {
        let body = bodies.iter().flatten().next()?;
        let t = *self.of_body.get(*body as usize).filter(|t| **t != NONE)?;
        let through = &mut self.throughs[t as usize];
        let part = |side: usize| bodies[side].map_or((NONE, [0.0; 6]), |b| (b - through.first_body, rows[side]));
        let row = [part(0), part(1)];
        through.rows.push(row);
        let place = through.rows.len() as u32 - 1;
        through.bounded.push(place);
        Some((t, place))
    }

    /// Finds the velocities with which the step begins, and the response to what pushed last; `kick` is that of a whole step
    /// of `n` substeps.
    pub fn open(&mut self, mechanisms: &[&mut Mechanism], u: &[Wide], kick: &[Wide], n: f64) {
        let Throughs { throughs, points, work, needed, .. } = self;
        work.resize_with(work.len().max(throughs.len()), Response::default);
        for (t, (through, work)) in throughs.iter_mut().zip(work).enumerate() {
            let mechanism = &*mechanisms[through.mechanism as usize];
            work.watch(mechanism, through.rows.iter().flat_map(|row| parts(row).map(|(b, _)| *b)));
            let first = through.first_body;
            let rows = &through.rows;
            through.v = rows.iter().map(|row| along(row, first, u)).collect();
            through.kick = rows.iter().map(|row| along(row, first, kick) / n).collect();
            through.column = vec![NONE; rows.len()];
            for list in [&mut through.way, &mut through.given, &mut through.moved] {
                *list = vec![0.0; rows.len()];
            }
            needed.clear();
            needed.extend(points.iter().filter(|p| p.impulse != [0.0; 3]).flat_map(|p| p.rows_on(t)));
            needed.extend(through.bounded.iter().map(|&row| row as usize));
            for rows in needed.chunks(LANES) {
                through.find_columns(rows, mechanism, work);
            }
        }
        for point in points.iter_mut().filter(|p| p.impulse != [0.0; 3]) {
            point.measure(throughs);
        }
    }

    /// How a row with bounds answers its own impulse.
    pub fn mobility(&self, (t, row): (u32, u32)) -> f64 {
        self.throughs[t as usize].entry(row as usize, row as usize)
    }

    pub fn rate(&self, (t, row): (u32, u32)) -> f64 {
        self.throughs[t as usize].v[row as usize]
    }

    pub fn push(&mut self, (t, row): (u32, u32), impulse: f64) {
        self.throughs[t as usize].push(row as usize, impulse);
    }

    /// Begins a substep, a time after the step began.
    pub fn start(&mut self, u: &mut [Wide], way: &[Wide], elapsed: f64, h_s: f64) {
        let Throughs { throughs, points, .. } = self;
        for through in throughs.iter_mut() {
            through.v.iter_mut().zip(&through.kick).for_each(|(v, k)| *v += k);
        }
        for point in points {
            if point.turn.rate > 0.0 {
                point.turn(elapsed, h_s);
            }
            point.now = point.gap + point.along(0, throughs, way, |t| &t.way) + point.drift[0] * elapsed;
            if point.impulse != [0.0; 3] {
                point.push(point.impulse, throughs, u);
            }
        }
    }

    /// Sets the velocities along the normals that are wanted; overlap is pushed out at most at `fastest`.
    pub fn aim(&mut self, h_s: f64, biased: bool, fastest: f64) {
        self.change = None;
        for p in &mut self.points {
            p.target = -(p.now - DEAD_BAND).max(0.0) / h_s;
            if biased {
                let deep = (-p.now - DEAD_BAND).max(0.0);
                p.target += (PUSH_OUT * deep * deep / (deep + GENTLE) / h_s).min(fastest);
            }
        }
    }

    /// One sweep, with or without friction; returns how much it changed any velocity at most, m/s.
    pub fn sweep(&mut self, mechanisms: &[&mut Mechanism], u: &mut [Wide], friction: bool) -> f64 {
        let mut moved = 0.0_f64;
        self.points.iter_mut().for_each(|p| p.before = p.impulse);
        for k in 0..self.points.len() {
            if !self.points[k].is_pressed(&self.throughs, u) {
                continue;
            }
            if !self.points[k].ready {
                self.find_responses_from(k, mechanisms, u);
            }
            moved = moved.max(self.points[k].relax(&mut self.throughs, u, friction));
        }
        moved
    }

    /// Goes on where the sweeps of this stage were going: what a sweep changed is taken for a gradient, and sweeps are made a
    /// method of conjugate gradients (Silcowitz-Hansen, Niebe and Erleben 2010). What a heavy body lies on with many light ones
    /// passes its weight on in few sweeps then.
    /// The stage without friction leaves friction as it is.
    pub fn go_on(&mut self, u: &mut [Wide], friction: bool) {
        let Throughs { throughs, points, change, .. } = self;
        let energy = |p: &Point| p.mobility * (0..3).map(|s| (p.impulse[s] - p.before[s]).powi(2)).sum::<f64>();
        let now: f64 = points.iter().filter(|p| p.ready).map(energy).sum();
        let ratio = share_of_course(change.replace(now), now);
        for p in points.iter_mut().filter(|p| p.ready) {
            let changed: [f64; 3] = std::array::from_fn(|s| p.impulse[s] - p.before[s]);
            let further = ratio.map_or([0.0; 3], |ratio| p.course.map(|c| ratio * c));
            p.course = std::array::from_fn(|s| further[s] + changed[s]);
            if further == [0.0; 3] {
                continue;
            }
            let mut new = [(p.impulse[0] + further[0]).max(0.0), p.impulse[1], p.impulse[2]];
            if friction {
                let (t1, t2) = (p.impulse[1] + further[1], p.impulse[2] + further[2]);
                let (length, most) = (t1.hypot(t2), p.friction * new[0]);
                let scale = if length > most { most / length } else { 1.0 };
                (new[1], new[2]) = (scale * t1, scale * t2);
            }
            let given = std::array::from_fn(|s| new[s] - p.impulse[s]);
            p.impulse = new;
            p.push(given, throughs, u);
        }
    }

    /// Finds the response to point `k`, and in the lanes left that to the next one that will ask for it.
    fn find_responses_from(&mut self, k: usize, mechanisms: &[&mut Mechanism], u: &[Wide]) {
        let Throughs { throughs, points, work, needed, .. } = self;
        let next = (k + 1..points.len()).find(|&j| !points[j].ready && points[j].is_pressed(throughs, u));
        let asked = || std::iter::once(k).chain(next);
        for (t, (through, work)) in throughs.iter_mut().zip(work).enumerate() {
            needed.clear();
            needed.extend(asked().flat_map(|j| points[j].rows_on(t)));
            if !needed.is_empty() {
                through.find_columns(needed, &*mechanisms[through.mechanism as usize], work);
            }
        }
        asked().for_each(|j| points[j].measure(throughs));
    }

    /// Moves what touches on.
    pub fn go(&mut self, h_s: f64) {
        for t in &mut self.throughs {
            t.way.iter_mut().zip(&t.v).for_each(|(way, v)| *way += h_s * v);
            t.moved.iter_mut().zip(&t.given).for_each(|(moved, given)| *moved += h_s * given);
        }
    }

    /// Ends a substep.
    pub fn end(&mut self) {
        for p in &mut self.points {
            (0..3).for_each(|r| p.total[r] += p.impulse[r]);
        }
    }

    /// Gives the bodies what contacts gave their mechanisms; `way` is over a step of `h`.
    pub fn close(&mut self, mechanisms: &mut [&mut Mechanism], u: &mut [Wide], way: &mut [Wide], h: f64) {
        let Throughs { throughs, alone, .. } = self;
        for t in throughs {
            let mechanism = &mut *mechanisms[t.mechanism as usize];
            let first = t.first_body as usize;
            let range = first..first + mechanism.movable_bodies().len();
            for (all, impulses, scale) in [(&mut *way, &t.moved, 1.0 / h), (&mut *u, &t.given, 1.0)] {
                alone.clear();
                alone.extend(all[range.clone()].iter().map(|u| narrow(u).map(|x| scale * x)));
                t.rows.iter().zip(impulses).for_each(|(row, p)| give(alone, row, scale * p));
                t.answer.clear();
                t.answer.extend_from_slice(mechanism.project_velocities(alone));
                for (u, v) in all[range.clone()].iter_mut().zip(&*alone) {
                    *u = widen(&v.map(|x| x / scale));
                }
            }
        }
    }

    /// Sets by how much points may come nearer, or must go apart ([`super::apart`]); returns whether any must.
    pub fn aim_apart(&mut self, ways: &Ways) -> bool {
        let &Ways { u, way, beyond, h, least, is_first } = ways;
        let Throughs { throughs, points, .. } = self;
        for t in throughs.iter_mut() {
            let Through { rows, way: ways, bends, first_body, .. } = t;
            ways.clear();
            ways.extend(rows.iter().map(|row| along(row, *first_body, way)));
            bends.clear();
            bends.extend(rows.iter().map(|row| along(row, *first_body, beyond)));
        }
        let mut asks = false;
        for p in points {
            let foreseen = p.gap + p.along(0, throughs, way, |t| &t.way) + p.drift[0] * h;
            let end = foreseen + p.along(0, throughs, beyond, |t| &t.bends);
            if is_first {
                p.now = foreseen.min(-DEAD_BAND);
            }
            asks |= end < p.now - least;
            p.target = p.along(0, throughs, u, |t| &t.v) + p.drift[0] + p.now - end;
            p.impulse = [0.0; 3];
        }
        asks
    }

    /// Calls `visit` with bodies that push each other; of a mechanism that is seen through with its first one.
    pub fn each_push(&self, mut visit: impl FnMut(u32, u32)) {
        let body = |side: &Side| match side {
            Side::Nothing => None,
            Side::Body(b, _) => Some(*b),
            Side::Through(t, _) => Some(self.throughs[*t as usize].first_body),
        };
        for p in self.points.iter().filter(|p| p.impulse[0] > 0.0) {
            if let [Some(a), Some(b)] = [body(&p.sides[0]), body(&p.sides[1])] {
                visit(a, b);
            }
        }
    }

    /// Remembers the impulses so far.
    pub fn mark(&mut self) {
        self.throughs.iter_mut().for_each(|t| t.marked.clone_from(&t.given));
    }

    /// Gives the bodies what their mechanisms were given since then.
    pub fn give_since_mark(&mut self, mechanisms: &mut [&mut Mechanism], u: &mut [Wide]) {
        let Throughs { throughs, alone, .. } = self;
        for t in throughs {
            let mechanism = &mut *mechanisms[t.mechanism as usize];
            let first = t.first_body as usize;
            let range = first..first + mechanism.movable_bodies().len();
            alone.clear();
            alone.extend(u[range.clone()].iter().map(narrow));
            for ((row, given), before) in t.rows.iter().zip(&t.given).zip(&t.marked) {
                give(alone, row, given - before);
            }
            mechanism.project_velocities(alone);
            u[range].iter_mut().zip(&*alone).for_each(|(u, v)| *u = widen(v));
        }
    }

    pub fn each_total(&self, mut visit: impl FnMut(u32, usize, f64, DVec3)) {
        for p in &self.points {
            let across = p.directions[1] * p.total[1] + p.directions[2] * p.total[2];
            visit(p.manifold, p.number as usize, p.total[0], across);
        }
    }

    /// Calls `visit` with every mechanism, its first body and the impulses of its joint rows.
    pub fn each_answer(&self, mut visit: impl FnMut(u32, u32, &[f64])) {
        self.throughs.iter().for_each(|t| visit(t.mechanism, t.first_body, &t.answer));
    }
}

/// How much of its last course what is swept over goes on with, if the last sweep changed so much and this one so much, as energies. A
/// sweep that changes more than the one before begins anew, and so does one after nothing was changed.
fn share_of_course(last: Option<f64>, now: f64) -> Option<f64> {
    last.filter(|last| now < *last).map(|last| now / last)
}

impl Point {
    /// Begins a substep of `h_s`, a time after the step began: impulses turn along, and friction is to hold what velocities have become.
    fn turn(&mut self, elapsed: f64, h_s: f64) {
        let [sin, cos] = Turn::factors(self.turn.rate, elapsed, h_s);
        let turned = self.turn.first * sin + self.turn.second * cos;
        (1..3).for_each(|r| self.drift[r] = self.given[r] - self.directions[r].dot(turned));
        let substep = elapsed / h_s + 0.5;
        let passed = h_s * (substep - std::mem::replace(&mut self.since, substep));
        let (sin, cos) = rotation::sin_cos(self.turn.spin.dot(self.directions[0]) * passed);
        let [_, a, b] = self.impulse;
        (self.impulse[1], self.impulse[2]) = (cos * a - sin * b, sin * a + cos * b);
    }

    /// Whether it pushes, or what it touches comes nearer than it may.
    fn is_pressed(&self, throughs: &[Through], u: &[Wide]) -> bool {
        self.impulse != [0.0; 3] || self.along(0, throughs, u, |t| &t.v) + self.drift[0] < self.target
    }

    /// Its rows on one of the mechanisms that are seen through.
    fn rows_on(&self, mechanism: usize) -> impl Iterator<Item = usize> + use<> {
        self.sides.into_iter().flat_map(move |side| match side {
            Side::Through(t, first) if t as usize == mechanism => first as usize..first as usize + 3,
            _ => 0..0,
        })
    }

    /// What a row gathers from bodies and, by `of`, from mechanisms.
    #[inline(always)]
    fn along(&self, r: usize, throughs: &[Through], u: &[Wide], of: impl Fn(&Through) -> &Vec<f64>) -> f64 {
        let mut sum = 0.0;
        for side in &self.sides {
            match side {
                Side::Nothing => {}
                Side::Body(b, rows) => {
                    let u = &u[*b as usize];
                    sum += (0..8).map(|c| rows[r][c] * u[c]).sum::<f64>();
                }
                Side::Through(t, first) => sum += of(&throughs[*t as usize])[*first as usize + r],
            }
        }
        sum
    }

    #[inline(always)]
    fn push(&self, impulse: [f64; 3], throughs: &mut [Through], u: &mut [Wide]) {
        for side in &self.sides {
            match side {
                Side::Nothing => {}
                Side::Body(b, rows) => {
                    let u = &mut u[*b as usize];
                    for (row, p) in rows.iter().zip(impulse) {
                        (0..8).for_each(|c| u[c] += p * row[c]);
                    }
                }
                Side::Through(t, first) => {
                    let (through, first) = (&mut throughs[*t as usize], *first as usize);
                    through.push(first, impulse[0]);
                    through.push_both([first + 1, first + 2], [impulse[1], impulse[2]]);
                }
            }
        }
    }

    /// Finds what turns a velocity along the normal, or across it, into the impulse that takes it out.
    fn measure(&mut self, throughs: &[Through]) {
        let mut w = [0.0; 4];
        for side in &self.sides {
            let entry = |i: usize, j: usize| match side {
                Side::Nothing => 0.0,
                Side::Body(_, rows) => (0..8).map(|c| rows[i][c] * rows[j][c]).sum(),
                Side::Through(t, first) => throughs[*t as usize].entry(*first as usize + i, *first as usize + j),
            };
            for (w, (i, j)) in w.iter_mut().zip([(0, 0), (1, 1), (1, 2), (2, 2)]) {
                *w += entry(i, j);
            }
        }
        // tangents by the largest eigenvalue of their response
        let largest = 0.5 * (w[1] + w[3]) + (0.5 * (w[1] - w[3])).hypot(w[2]);
        let invert = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
        (self.inverse, self.mobility, self.ready) = ([invert(w[0]), invert(largest)], w[0], true);
    }

    fn relax(&mut self, throughs: &mut [Through], u: &mut [Wide], friction: bool) -> f64 {
        let mut moved = 0.0_f64;
        if friction {
            let old = self.impulse;
            let [v1, v2] = [1, 2].map(|r| self.along(r, throughs, u, |t| &t.v) + self.drift[r]);
            let (t1, t2) = (old[1] - v1 * self.inverse[1], old[2] - v2 * self.inverse[1]);
            let (length, most) = (t1.hypot(t2), self.friction * old[0]);
            let scale = if length > most { most / length } else { 1.0 };
            let change = [scale * t1 - old[1], scale * t2 - old[2]];
            (self.impulse[1], self.impulse[2]) = (scale * t1, scale * t2);
            self.push([0.0, change[0], change[1]], throughs, u);
            moved = change[0].abs().max(change[1].abs()) * self.mobility;
        }
        let v = self.along(0, throughs, u, |t| &t.v) + self.drift[0];
        let old = self.impulse[0];
        let new = (old - (v - self.target) * self.inverse[0]).max(0.0);
        self.impulse[0] = new;
        self.push([new - old, 0.0, 0.0], throughs, u);
        moved.max((new - old).abs() * self.mobility)
    }
}

#[cfg(test)]
mod tests {
    use super::share_of_course;

    /// Steps of many skeletons in one pile were not finite now and then: after a sweep without a contact that presses, whose sum is -0,
    /// the share was -infinity, and all courses were not numbers from then on.
    #[test]
    fn a_sweep_after_one_that_changed_nothing_begins_anew() {
        assert_eq!(share_of_course(Some(-0.0), 0.02), None);
        assert_eq!(share_of_course(Some(0.0), 0.0), None);
        assert_eq!(share_of_course(None, 0.02), None);
        assert_eq!(share_of_course(Some(0.01), 0.02), None);
        assert_eq!(share_of_course(Some(0.02), 0.01), Some(0.5));
    }
}
