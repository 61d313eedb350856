//! Contacts in batches of four that share no body, one to a lane.

use super::lanes::{Against, Pair, Vector, dot, in_lanes, with_fourth};
use super::turning::Turn;
use super::{DEAD_BAND, Frame, GENTLE, NOBODY, PUSH_OUT, STEADY, Wide};
use crate::collide::Manifold;
use crate::math::lanes::cross;
use crate::math::rotation;
use glam::DVec3;
use wide::f64x4;

/// Colours: bits of a word. What finds no colour goes into batches of its own.
const COLOURS: usize = 64;

/// A manifold on its way into a batch.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub number: u32,
    pub bodies: [u32; 2],
    pub points: u8,
    colour: u8,
    /// Whether a body that the user moves is in it.
    pub drifts: bool,
    /// How the velocity of b past a turns that friction holds.
    pub turn: Turn,
}

/// What can be in one batch: the same colour and about as many points.
const GROUPS: usize = 3 * (COLOURS + 1);

impl Waiting {
    /// Places for points in its batch: one, two or four.
    fn lanes_of_points(&self) -> usize {
        match self.points {
            0 | 1 => 1,
            2 => 2,
            _ => 4,
        }
    }

    fn group(&self) -> usize {
        3 * usize::from(self.colour) + self.lanes_of_points() / 2
    }
}

/// Four points in lanes.
#[derive(Clone, Copy, Default)]
pub(in crate::contact) struct Point {
    /// How pushes along the normal, and along the two directions across it, turn the bodies: rows without their linear part,
    /// which all points of a manifold have in common. None in an empty lane.
    pub turns: [[Vector; 2]; 3],
    /// Velocity that bodies moved by the user give.
    pub drift: [f64x4; 3],
    pub(super) target: f64x4,
    /// What turns a velocity along the normal, or across it, into the impulse that takes it out.
    inverse: [f64x4; 2],
    /// Zero in an empty lane.
    pub mobility: f64x4,
    pub friction: f64x4,
    pub impulse: [f64x4; 3],
    total: [f64x4; 3],
    pub gap: f64x4,
    /// Gap by now; where bodies are moved apart, the gap that is wanted.
    pub(super) now: f64x4,
}

/// Four manifolds that share no body, if they are to be swept over.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    pub(super) pair: Pair,
    numbers: [u32; 4],
    pub(super) counts: [u8; 4],
    first: u32,
    points: u32,
    /// How much the last sweep changed velocities, m/s.
    moved: f64x4,
}

/// How velocities across turn that friction holds ([`Turn`]) along the directions of a batch, and what drifts have got of that.
#[derive(Clone, Copy)]
struct Turns {
    batch: u32,
    rates: [f64; 4],
    first: [f64x4; 3],
    second: [f64x4; 3],
    given: [f64x4; 3],
    /// About the normal, rad/s.
    spin: [f64; 4],
    /// The substep that impulses are of.
    since: f64,
}

impl Turns {
    /// Begins a substep of `h_s`, a time after the step began: impulses turn along, and friction is to hold what velocities have become.
    fn start(&mut self, points: &mut [Point], elapsed: f64, h_s: f64) {
        let factors = self.rates.map(|rate| Turn::factors(rate, elapsed, h_s));
        let [sin, cos] = [0, 1].map(|k| f64x4::new(factors.map(|f| f[k])));
        let now: [f64x4; 3] = std::array::from_fn(|r| -(self.first[r] * sin + self.second[r] * cos));
        let before = std::mem::replace(&mut self.given, now);
        let substep = elapsed / h_s + 0.5;
        let passed = h_s * (substep - std::mem::replace(&mut self.since, substep));
        let turned = self.spin.map(|spin| rotation::sin_cos(spin * passed));
        let (sin, cos) = (f64x4::new(turned.map(|t| t.0)), f64x4::new(turned.map(|t| t.1)));
        for point in points {
            (1..3).for_each(|r| point.drift[r] += now[r] - before[r]);
            let [_, a, b] = point.impulse;
            (point.impulse[1], point.impulse[2]) = (cos * a - sin * b, sin * a + cos * b);
        }
    }
}

impl Batch {
    /// Where its points are.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.points) as usize
    }
}

/// The contacts of a pile.
#[derive(Default)]
pub(in crate::contact) struct Batches {
    pub(super) waiting: Vec<Waiting>,
    pub(super) batches: Vec<Batch>,
    /// Of those batches in which something turns.
    turns: Vec<Turns>,
    /// More than are in use: their memory is kept.
    pub(super) points: Vec<Point>,
    used: usize,
    /// By body: colours taken.
    taken: Vec<u64>,
    order: Vec<u32>,
}

impl Batches {
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.batches.clear();
        self.turns.clear();
        self.used = 0;
    }

    /// Takes a manifold by its number; bodies are `None` where nothing moves. `drifts` if the user moves one of them.
    pub fn add(&mut self, number: u32, manifold: &Manifold, bodies: [Option<u32>; 2], drifts: bool, turn: Turn) {
        self.waiting.push(Waiting {
            number,
            bodies: bodies.map(|b| b.unwrap_or(NOBODY)),
            points: manifold.points().len() as u8,
            colour: 0,
            drifts,
            turn,
        });
    }

    /// Puts all contacts into lanes, with impulses of one of `n` substeps. What is to be swept over is coloured, so that no
    /// batch has a body twice. `drift` is the velocity of b against a at a place, of bodies that the user moves.
    pub fn prepare(
        &mut self,
        manifolds: &[Manifold],
        frames: &[Frame],
        n: f64,
        coloured: bool,
        drift: impl Fn(&Manifold, DVec3) -> DVec3,
    ) {
        if coloured {
            self.colour();
        }
        let order = self.order();
        let mut at = 0;
        while at < order.len() {
            let head = self.waiting[order[at] as usize];
            let same = |k: &u32| self.waiting[*k as usize].group() == head.group();
            // what found no colour shares no batch
            let most = if usize::from(head.colour) == COLOURS { 1 } else { 4 };
            let count = order[at..].iter().take(most).take_while(|k| same(k)).count();
            let nothing =
                Waiting { number: NOBODY, bodies: [NOBODY; 2], points: 0, colour: 0, drifts: false, turn: Turn::NONE };
            let members: [Waiting; 4] = std::array::from_fn(|l| match l < count {
                true => self.waiting[order[at + l] as usize],
                false => nothing,
            });
            self.push_batch(&members, head.lanes_of_points(), manifolds, frames, n, &drift);
            at += count;
        }
        self.order = order;
    }

    /// The order of contacts by group, in each as they came.
    fn order(&mut self) -> Vec<u32> {
        let mut order = std::mem::take(&mut self.order);
        let mut next = [0_u32; GROUPS + 1];
        self.waiting.iter().for_each(|w| next[w.group() + 1] += 1);
        (0..GROUPS).for_each(|g| next[g + 1] += next[g]);
        order.clear();
        order.resize(self.waiting.len(), 0);
        for (k, w) in self.waiting.iter().enumerate() {
            order[next[w.group()] as usize] = k as u32;
            next[w.group()] += 1;
        }
        order
    }

    fn push_batch(
        &mut self,
        members: &[Waiting; 4],
        points: usize,
        manifolds: &[Manifold],
        frames: &[Frame],
        n: f64,
        drift: &impl Fn(&Manifold, DVec3) -> DVec3,
    ) {
        let of = members.map(|m| manifolds.get(m.number as usize));
        let normal =
            in_lanes(of.map(|m| m.map_or([0.0, 0.0, 1.0, 0.0], |m| with_fourth(m.normal, m.material.friction))));
        let [nx, ny, nz, friction] = normal;
        let normal = [nx, ny, nz];
        let across = orthonormal(&normal);
        let directions = [normal, across[0], across[1]];
        let bodies = [0, 1].map(|side| members.map(|m| m.bodies[side]));
        let placed = bodies.map(|b| Placed::of(frames, &b));
        let pair = Pair::new(bodies, directions, [placed[0].inv_sqrt_mass, placed[1].inv_sqrt_mass]);
        let first = self.used;
        let along = |v: [DVec3; 4]| {
            let [x, y, z, _] = in_lanes(v.map(|v| with_fourth(v, 0.0)));
            directions.map(|d| dot(&[x, y, z], &d))
        };
        if members.iter().any(|m| m.turn.rate > 0.0) {
            self.turns.push(Turns {
                batch: self.batches.len() as u32,
                rates: members.map(|m| m.turn.rate),
                first: along(members.map(|m| m.turn.first)),
                second: along(members.map(|m| m.turn.second)),
                spin: along(members.map(|m| m.turn.spin))[0].to_array(),
                given: [f64x4::splat(0.0); 3],
                // the mean over the last step
                since: -0.5 * n,
            });
        }
        self.batches.push(Batch {
            pair,
            numbers: members.map(|m| m.number),
            counts: members.map(|m| m.points),
            first: first as u32,
            points: points as u32,
            moved: f64x4::splat(0.0),
        });
        self.used += points;
        if self.points.len() < self.used {
            self.points.resize(self.used, Point::default());
        }
        let (zero, one, share) = (f64x4::splat(0.0), f64x4::splat(1.0), f64x4::splat(1.0 / n));
        for (p, point) in self.points[first..].iter_mut().enumerate().take(points) {
            let there = of.map(|m| m.and_then(|m| m.points().get(p)));
            let [x, y, z, gap] =
                in_lanes(there.map(|q| q.map_or([0.0, 0.0, 0.0, 1.0], |q| with_fourth(q.position, q.gap))));
            let [hx, hy, hz, pressed] =
                in_lanes(there.map(|q| q.map_or([0.0; 4], |q| with_fourth(q.impulse_t, q.impulse_n))));
            let some = f64x4::new(there.map(|q| f64::from(q.is_some())));
            // across each other directions have no linear part in common
            let linear = pair.inverse_mass * some;
            let mut response = [linear, linear, zero, linear];
            for (side, sign) in [(0, -some), (1, some)] {
                let body = &placed[side];
                let lever = [x - body.x[0], y - body.x[1], z - body.x[2]];
                for (turn, d) in point.turns.iter_mut().zip(&directions) {
                    turn[side] = body.turn(&lever, d, sign);
                }
                let turns = [&point.turns[0][side], &point.turns[1][side], &point.turns[2][side]];
                response[0] += dot(turns[0], turns[0]);
                response[1] += dot(turns[1], turns[1]);
                response[2] += dot(turns[1], turns[2]);
                response[3] += dot(turns[2], turns[2]);
            }
            // tangents by the largest eigenvalue of their response
            let half = (response[1] - response[3]) * f64x4::splat(0.5);
            let largest =
                (response[1] + response[3]) * f64x4::splat(0.5) + (half * half + response[2] * response[2]).sqrt();
            let invert = |x: f64x4| x.simd_gt(zero).select(one / x, zero);
            point.inverse = [invert(response[0]), invert(largest)];
            point.mobility = response[0];
            (point.gap, point.friction) = (gap, friction);
            let held = [hx, hy, hz];
            point.impulse = [pressed * share, dot(&held, &across[0]) * share, dot(&held, &across[1]) * share];
            point.total = [zero; 3];
            point.drift = [zero; 3];
            if members.iter().any(|m| m.drifts) {
                let moved: [[f64; 4]; 4] = std::array::from_fn(|l| match (of[l], there[l]) {
                    (Some(m), Some(q)) if members[l].drifts => with_fourth(drift(m, q.position), 0.0),
                    _ => [0.0; 4],
                });
                let [dx, dy, dz, _] = in_lanes(moved);
                point.drift = directions.map(|d| dot(&[dx, dy, dz], &d));
            }
        }
    }

    /// Gives every contact the first colour that neither of its bodies has yet.
    fn colour(&mut self) {
        let bodies = self.waiting.iter().flat_map(|w| w.bodies).filter(|b| *b != NOBODY).max().map_or(0, |b| b + 1);
        self.taken.clear();
        self.taken.resize(bodies as usize, 0);
        for w in &mut self.waiting {
            let used = w.bodies.iter().filter(|b| **b != NOBODY).fold(0, |m, b| m | self.taken[*b as usize]);
            let colour = (!used).trailing_zeros() as usize;
            w.colour = colour as u8;
            if colour < COLOURS {
                for &b in w.bodies.iter().filter(|b| **b != NOBODY) {
                    self.taken[b as usize] |= 1 << colour;
                }
            }
        }
    }

    /// Bodies and points of every batch.
    pub fn iter(&self) -> impl Iterator<Item = (&Pair, &[Point])> {
        self.batches.iter().map(|b| (&b.pair, &self.points[b.range()]))
    }

    /// The same, with what goes with every point.
    pub fn with<'a, T>(&'a self, laws: &'a mut [T]) -> impl Iterator<Item = (&'a Pair, &'a [Point], &'a mut [T])> {
        let mut rest = laws;
        self.batches.iter().map(move |b| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(b.points as usize);
            rest = later;
            (&b.pair, &self.points[b.range()], now)
        })
    }

    /// Calls `visit` with every manifold, the number of its point, and what `impulses` gives for it: along the normal, and
    /// across it as a vector.
    pub fn each_impulse(
        &self,
        impulses: impl Fn(usize, &Point) -> [f64x4; 3],
        mut visit: impl FnMut(u32, usize, f64, DVec3),
    ) {
        for batch in &self.batches {
            let points = &self.points[batch.range()];
            for (p, point) in points.iter().enumerate() {
                let [along, a, b] = impulses(batch.first as usize + p, point);
                let [_, across_a, across_b] = &batch.pair.directions;
                let t: Vector = std::array::from_fn(|c| across_a[c] * a + across_b[c] * b);
                let (along, t) = (along.to_array(), t.map(|t| t.to_array()));
                for l in (0..4).filter(|&l| p < usize::from(batch.counts[l])) {
                    visit(batch.numbers[l], p, along[l], DVec3::new(t[0][l], t[1][l], t[2][l]));
                }
            }
        }
    }

    /// The impulses of a whole step.
    pub fn each_total(&self, visit: impl FnMut(u32, usize, f64, DVec3)) {
        self.each_impulse(|_, point| point.total, visit);
    }

    /// Whether there is an overlap to be pushed out, by now.
    pub fn overlap(&self) -> bool {
        self.points[..self.used].iter().any(|p| p.now.simd_lt(f64x4::splat(-DEAD_BAND)).any())
    }

    /// Calls `visit` with every point and its bodies.
    pub(super) fn each_point(&mut self, mut visit: impl FnMut(&Pair, &mut Point)) {
        let Batches { batches, points, .. } = self;
        for batch in batches {
            points[batch.range()].iter_mut().for_each(|point| visit(&batch.pair, point));
        }
    }

    fn points_in_use(&mut self) -> &mut [Point] {
        &mut self.points[..self.used]
    }

    /// Begins a substep of `h_s`, a time after the step began: gaps by now, velocities that friction holds, and the impulses of the substep
    /// before.
    pub fn start(&mut self, u: &mut [Wide], way: &[Wide], elapsed: f64, h_s: f64) {
        let time = f64x4::splat(elapsed);
        let Batches { batches, points, turns, .. } = self;
        for turns in turns {
            let range = batches[turns.batch as usize].range();
            turns.start(&mut points[range], elapsed, h_s);
        }
        for batch in batches {
            let pair = &batch.pair;
            let moved = pair.against(&pair.gather(way));
            let lanes = pair.gather(u);
            let mut against = pair.against(&lanes);
            for point in &mut points[batch.range()] {
                point.now = point.gap + point.rate(0, pair, &moved) + point.drift[0] * time;
                for r in 0..3 {
                    point.push(r, pair, point.impulse[r], &mut against);
                }
            }
            pair.scatter(u, lanes, &against);
        }
    }

    /// Leaves of all impulses a part.
    pub fn keep_part(&mut self, part: f64) {
        let part = f64x4::splat(part);
        self.points_in_use().iter_mut().for_each(|p| p.impulse = p.impulse.map(|impulse| part * impulse));
    }

    /// How fast what is near comes nearer or goes away, or what presses rubs, at most, m/s.
    pub fn fastest(&self, u: &[Wide]) -> f64 {
        let none = f64x4::splat(0.0);
        let mut most = none;
        for batch in &self.batches {
            let pair = &batch.pair;
            let against = pair.against(&pair.gather(u));
            for point in &self.points[batch.range()] {
                let [n, s, t] = [0, 1, 2].map(|r| point.rate(r, pair, &against) + point.drift[r]);
                let rubs = point.impulse[0].simd_gt(none).select(s.mul_add(s, t * t), none);
                most = most.max(n.mul_add(n, rubs));
            }
        }
        most.to_array().into_iter().fold(0.0, f64::max).sqrt()
    }

    /// Sets the velocities along the normals that are wanted; overlap is pushed out at most at `fastest`.
    pub fn aim(&mut self, h_s: f64, biased: bool, fastest: f64) {
        let (band, inverse) = (f64x4::splat(DEAD_BAND), f64x4::splat(1.0 / h_s));
        let (zero, gentle) = (f64x4::splat(0.0), f64x4::splat(GENTLE));
        for p in self.points_in_use() {
            let open = (p.now - band).fast_max(zero);
            p.target = -open * inverse;
            if biased {
                let deep = (-p.now - band).fast_max(zero);
                let pushed = deep * deep / (deep + gentle);
                p.target += (pushed * inverse * f64x4::splat(PUSH_OUT)).fast_min(f64x4::splat(fastest));
            }
        }
    }

    /// One sweep, with or without friction, over what the last sweep changed by `least` or more; returns how much it changed any
    /// velocity at most, m/s.
    pub fn sweep(&mut self, u: &mut [Wide], friction: bool, least: f64) -> f64 {
        let Batches { batches, points, .. } = self;
        let (mut most, least) = (f64x4::splat(0.0), f64x4::splat(least));
        for batch in batches {
            if batch.moved.simd_lt(least).all() {
                continue;
            }
            let (points, pair) = (&mut points[batch.range()], &batch.pair);
            let lanes = pair.gather(u);
            let mut against = pair.against(&lanes);
            let mut moved = f64x4::splat(0.0);
            for point in points {
                if friction {
                    moved = moved.fast_max(point.relax_across(pair, &mut against));
                }
                moved = moved.fast_max(point.relax_along(pair, &mut against));
            }
            pair.scatter(u, lanes, &against);
            batch.moved = moved;
            most = most.fast_max(moved);
        }
        most.to_array().into_iter().fold(0.0, f64::max)
    }

    /// Whether all points that do not press stay apart for a time, if bodies go on as they do a time after the step began.
    pub fn touch_nothing_else(&self, u: &[Wide], way: &[Wide], elapsed: f64, time: f64) -> bool {
        let (elapsed, time) = (f64x4::splat(elapsed), f64x4::splat(time));
        let (none, band) = (f64x4::splat(-STEADY), f64x4::splat(DEAD_BAND));
        self.batches.iter().all(|batch| {
            let pair = &batch.pair;
            let [moves, moved] = [u, way].map(|list| pair.against(&pair.gather(list)));
            self.points[batch.range()].iter().all(|point| {
                let nearer = (point.rate(0, pair, &moves) + point.drift[0]) * time;
                let gap = point.gap + point.rate(0, pair, &moved) + point.drift[0] * elapsed;
                // what presses before it touches is stopped where it does
                let presses = point.impulse[0].simd_gt(f64x4::splat(0.0)) & gap.simd_le(band);
                (presses | nearer.simd_gt(none) | (gap + nearer).simd_gt(band)).all()
            })
        })
    }

    /// Ends as many substeps with the same impulses.
    pub fn end(&mut self, times: f64) {
        let times = f64x4::splat(times);
        for p in self.points_in_use() {
            (0..3).for_each(|r| p.total[r] = p.impulse[r].mul_add(times, p.total[r]));
        }
    }
}

impl Point {
    /// Velocity along direction `r`.
    #[inline(always)]
    pub fn rate(&self, r: usize, pair: &Pair, against: &Against) -> f64x4 {
        against.rate(&pair.directions[r], &self.turns[r])
    }

    /// Gives an impulse along direction `r` to velocities.
    #[inline(always)]
    fn push(&self, r: usize, pair: &Pair, impulse: f64x4, against: &mut Against) {
        against.push(&pair.directions[r], &self.turns[r], impulse * pair.inverse_mass, impulse);
    }

    #[inline(always)]
    fn relax_along(&mut self, pair: &Pair, against: &mut Against) -> f64x4 {
        let v = self.rate(0, pair, against) + self.drift[0];
        let old = self.impulse[0];
        let new = (old - (v - self.target) * self.inverse[0]).fast_max(f64x4::splat(0.0));
        let change = new - old;
        self.impulse[0] = new;
        self.push(0, pair, change, against);
        change.abs() * self.mobility
    }

    #[inline(always)]
    fn relax_across(&mut self, pair: &Pair, against: &mut Against) -> f64x4 {
        let v1 = self.rate(1, pair, against) + self.drift[1];
        let v2 = self.rate(2, pair, against) + self.drift[2];
        let (old1, old2) = (self.impulse[1], self.impulse[2]);
        let t1 = old1 - v1 * self.inverse[1];
        let t2 = old2 - v2 * self.inverse[1];
        let (square, most) = (t1.mul_add(t1, t2 * t2), self.friction * self.impulse[0]);
        let slips = square.simd_gt(most * most);
        let (mut new1, mut new2) = (t1, t2);
        // what sticks everywhere needs no root
        if slips.any() {
            let scale = slips.select(most / square.sqrt(), f64x4::splat(1.0));
            (new1, new2) = (scale * t1, scale * t2);
        }
        let (d1, d2) = (new1 - old1, new2 - old2);
        (self.impulse[1], self.impulse[2]) = (new1, new2);
        self.push(1, pair, d1, against);
        self.push(2, pair, d2, against);
        d1.abs().fast_max(d2.abs()) * self.mobility
    }
}

/// Four bodies as rows need them, one to a lane.
struct Placed {
    x: Vector,
    /// Columns of the whitening.
    whitening: [Vector; 3],
    inv_sqrt_mass: f64x4,
}

impl Placed {
    fn of(frames: &[Frame], bodies: &[u32; 4]) -> Placed {
        let frames = bodies.map(|b| frames.get(b as usize).unwrap_or(&Frame::NOTHING));
        let [x, y, z, inv_sqrt_mass] = in_lanes(frames.map(|f| with_fourth(f.x, f.inv_sqrt_mass)));
        let column = |c: usize| {
            let [x, y, z, _] = in_lanes(frames.map(|f| with_fourth(f.whitening.col(c), 0.0)));
            [x, y, z]
        };
        Placed { x: [x, y, z], whitening: [column(0), column(1), column(2)], inv_sqrt_mass }
    }

    /// Angular hat coordinates of a push along d at a lever arm.
    #[inline(always)]
    fn turn(&self, lever: &Vector, d: &Vector, sign: f64x4) -> Vector {
        let turn = cross(lever, d);
        self.whitening.map(|column| dot(&column, &turn) * sign)
    }
}

/// Two directions across a unit vector (Duff et al. 2017, *Building an orthonormal basis, revisited*).
#[inline(always)]
fn orthonormal(n: &Vector) -> [Vector; 2] {
    let one = f64x4::splat(1.0);
    let sign = n[2].simd_ge(f64x4::splat(0.0)).select(one, -one);
    let a = -one / (sign + n[2]);
    let b = n[0] * n[1] * a;
    [[one + sign * n[0] * n[0] * a, sign * b, -sign * n[0]], [b, sign + n[1] * n[1] * a, -n[1]]]
}
