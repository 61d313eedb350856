//! The position phase of a pile: what comes nearer than sweeps foresaw is moved apart again.
//!
//! Sweeps know bodies by the rows of the start of the step. Where bodies turn by θ, rows leave joints of a lever arm l open by ½θ²l, and
//! closing them moves bodies, by millimetres where light links whip, whatever they touch. And shapes that turn meet with other faces
//! than those that were nearest at the start. With B, by how much farther bodies go than sweeps moved them, a contact that sweeps left
//! at a gap s ends at s + ĜB; of what is in doubt the gaps where it ends are taken, with the rows there. Displacements Δ are found with
//!
//! ```text
//! Δ = Ĝᵀλ,  ĴΔ = 0,  λ ≥ 0  ⟂  s + Ĝ(B + Δ) ≥ min(s, −band)
//! ```
//!
//! by the sweeps and projections of velocities, and joints are closed once more from there. Velocities know nothing of it: what was met
//! too late is stopped in the next step, at whose start it touches. What is held from two sides may have no answer; where a body would be
//! moved far, nothing is, and where pairs end deeper than before all is taken back. Friction, limits and motors take no part.

use super::batches::Batches;
use super::parts::Contacts;
use super::turning::Turn;
use super::{DEAD_BAND, FARTHEST_PUSH, Frame, NOBODY, Pile, Wide};
use crate::collide::Manifold;
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use glam::DVec3;
use wide::f64x4;

/// How far the last sweep may move anything, m, and how many there are at most.
const TOLERANCE: f64 = 1e-5;
const MOST_SWEEPS: u32 = 30;

/// How far bodies are moved at most, m, unless they are held tightly among heavier ones: then no farther than push-out moves them.
const FARTHEST: f64 = 3e-2;
/// Turn up to which the way of a body and where it ends tell the same turn, rad.
const FARTHEST_TURN: f64 = 2.5;

/// Where a body ends: its centre of mass, and how far it went and turned.
pub(super) struct End {
    pub x: DVec3,
    pub by: DVec3,
    pub turn: DVec3,
}

/// Where the bodies of a pile end, in the order of their numbers, and what touches there.
#[derive(Default)]
pub(super) struct Ends {
    pub places: Vec<End>,
    /// The mean velocities that lead there.
    pub means: Vec<Wide>,
    /// What contacts did not foresee, with the numbers of the bodies that move; gaps of points are by how much they may come nearer.
    pub touching: Vec<Manifold>,
    pub bodies: Vec<[Option<u32>; 2]>,
    /// By how much farther bodies go than sweeps moved them.
    beyond: Vec<Wide>,
    frames: Vec<Frame>,
    /// How far sweeps moved bodies, before these were moved apart.
    way: Vec<Wide>,
    /// The first bodies of all mechanisms and bodies without joints.
    pub units: Vec<u32>,
    groups: Groups,
}

/// Bodies that push each other.
#[derive(Default)]
struct Groups {
    /// By body: another of its group, or itself.
    parent: Vec<u32>,
}

impl Groups {
    /// Begins with `units` of bodies, each a group, by their first bodies.
    fn begin(&mut self, units: &[u32], bodies: usize) {
        self.parent.clear();
        for (k, &first) in units.iter().enumerate() {
            let end = units.get(k + 1).map_or(bodies, |next| *next as usize);
            self.parent.resize(end, first);
        }
    }

    fn find(&mut self, mut body: u32) -> u32 {
        while self.parent[body as usize] != body {
            let above = self.parent[self.parent[body as usize] as usize];
            self.parent[body as usize] = above;
            body = above;
        }
        body
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a as usize] = b;
    }
}

impl Ends {
    pub fn clear(&mut self) {
        self.places.clear();
        self.touching.clear();
        self.bodies.clear();
    }
}

impl Pile {
    /// Moves bodies apart that come nearer than foreseen where they end, by `least` or more; returns whether there were any. What is
    /// foreseen is noted where it `is_first` in this step.
    pub(super) fn move_apart(
        &mut self,
        ends: &mut Ends,
        mechanisms: &mut [&mut Mechanism],
        herds: &Herds,
        h: f64,
        least: f64,
        is_first: bool,
    ) -> bool {
        self.find_beyond(ends);
        self.take_unforeseen(ends);
        let mut asks = self.unforeseen.aim_at_ends(&self.u, least);
        let ways = Ways { u: &self.u, way: &self.way, beyond: &ends.beyond, h, least, is_first };
        asks |= self.contacts.aim_apart(&ways);
        asks |= self.through.aim_apart(&ways);
        if !asks {
            return false;
        }
        self.hold_rows_of_start(mechanisms, h);
        // displacements are changes of velocities that are on the joints, in a unit of time
        self.before.clone_from(&self.u);
        self.joints.mark();
        self.through.mark();
        for _ in 0..MOST_SWEEPS {
            let mut moved = self.contacts.sweep(&mut self.u, false, 0.0);
            moved = moved.max(self.unforeseen.sweep(&mut self.u, false, 0.0));
            moved = moved.max(self.through.sweep(mechanisms, &mut self.u, false));
            self.joints.project(mechanisms, herds, &mut self.u);
            if moved < TOLERANCE {
                break;
            }
        }
        self.through.give_since_mark(mechanisms, &mut self.u);
        self.joints.go_back();
        self.leave_what_goes_far(ends);
        let has_moved = self.u != self.before;
        if has_moved {
            ends.way.clone_from(&self.way);
            for (((way, u), before), mean) in self.way.iter_mut().zip(&self.u).zip(&self.before).zip(&ends.means) {
                (0..8).for_each(|s| way[s] = h * mean[s] + (u[s] - before[s]));
            }
        }
        self.u.clone_from(&self.before);
        has_moved
    }

    /// Leaves bodies where they were that would be moved far, and all that they push, directly or through others.
    fn leave_what_goes_far(&mut self, ends: &mut Ends) {
        let Ends { groups, units, .. } = ends;
        let most = if self.is_tight { FARTHEST_PUSH } else { FARTHEST };
        let far = |u: &Wide, before: &Wide, frame: &Frame| {
            let by = (0..8).map(|s| (u[s] - before[s]).powi(2)).sum::<f64>().sqrt() * frame.inv_sqrt_mass;
            // what is not finite goes far, too
            !by.is_finite() || by >= most
        };
        let is_far = |b: usize| far(&self.u[b], &self.before[b], &self.frames[b]);
        if !(0..self.u.len()).any(is_far) {
            return;
        }
        groups.begin(units, self.u.len());
        self.contacts.each_push(|a, b| groups.join(a, b));
        self.unforeseen.each_push(0, |a, b| groups.join(a, b));
        self.through.each_push(|a, b| groups.join(a, b));
        let mut left = vec![false; self.u.len()];
        (0..self.u.len()).filter(|b| is_far(*b)).for_each(|b| left[groups.find(b as u32) as usize] = true);
        for b in 0..self.u.len() {
            if left[groups.find(b as u32) as usize] {
                self.u[b] = self.before[b];
            }
        }
    }

    /// Lets bodies go as they did before they were last moved apart.
    pub(super) fn take_back(&mut self, ends: &Ends, mechanisms: &mut [&mut Mechanism], h: f64) {
        self.way.clone_from(&ends.way);
        self.hold_rows_of_start(mechanisms, h);
    }

    /// Closing the joints of mechanisms that are in no four may have left the rows of the end, where their factors are supernodal.
    fn hold_rows_of_start(&self, mechanisms: &mut [&mut Mechanism], h: f64) {
        let by_themselves = self.joints.singles().chain(self.through.mechanisms().map(|(k, _)| k));
        by_themselves.for_each(|k| mechanisms[k as usize].linearise_here(h));
    }

    fn find_beyond(&self, ends: &mut Ends) {
        let of = |((way, frame), end): ((&Wide, &Frame), &End)| {
            let [x, y, z] = (end.by / frame.inv_sqrt_mass).to_array();
            if (frame.whitening * DVec3::new(way[4], way[5], way[6])).length() > FARTHEST_TURN {
                return [0.0; 8];
            }
            // columns of the whitening are orthogonal
            let columns = [0, 1, 2].map(|k| frame.whitening.col(k));
            let [a, b, c] = columns.map(|column| column.dot(end.turn) / column.length_squared());
            let goes = [x, y, z, 0.0, a, b, c, 0.0];
            std::array::from_fn(|s| goes[s] - way[s])
        };
        ends.beyond.clear();
        ends.beyond.extend(self.way.iter().zip(&self.frames).zip(&ends.places).map(of));
    }

    /// Puts what touches where bodies end into lanes. What is seen through is left out.
    fn take_unforeseen(&mut self, ends: &mut Ends) {
        let Ends { places, touching, bodies, frames, .. } = ends;
        self.unforeseen.clear();
        if touching.is_empty() {
            return;
        }
        frames.clear();
        frames.extend(self.frames.iter().zip(places).map(|(frame, end)| Frame { x: end.x, ..*frame }));
        for (k, (manifold, &bodies)) in touching.iter().zip(&*bodies).enumerate() {
            if !bodies.iter().flatten().any(|body| self.through.has(*body)) {
                self.unforeseen.add(k as u32, manifold, bodies, false, Turn::NONE);
            }
        }
        self.unforeseen.prepare(touching, frames, 1.0, true, |_, _| DVec3::ZERO);
    }
}

/// How bodies go in a step of `h`: velocities, how far sweeps moved them, and how much farther they go; `least` asks for moving apart.
pub(super) struct Ways<'a> {
    pub u: &'a [Wide],
    pub way: &'a [Wide],
    pub beyond: &'a [Wide],
    pub h: f64,
    pub least: f64,
    /// Whether it is asked for the first time in this step: what is foreseen then is wanted later, too.
    pub is_first: bool,
}

impl Ways<'_> {
    fn from(&self, first: usize) -> Ways<'_> {
        Ways { u: &self.u[first..], way: &self.way[first..], beyond: &self.beyond[first..], ..*self }
    }
}

impl Contacts {
    fn aim_apart(&mut self, ways: &Ways) -> bool {
        let (mut asks, mut first) = (false, 0);
        for k in 0..self.in_use() {
            let (batches, next) = self.part_mut(k);
            asks |= batches.aim_apart(&ways.from(first));
            first = next;
        }
        asks | self.between.aim_apart(ways)
    }

    fn each_push(&mut self, mut visit: impl FnMut(u32, u32)) {
        let mut first = 0;
        for k in 0..self.in_use() {
            let (batches, next) = self.part_mut(k);
            batches.each_push(first, &mut visit);
            first = next as u32;
        }
        self.between.each_push(0, visit);
    }
}

impl Batches {
    /// Calls `visit` with bodies that push each other, counted from `first`.
    fn each_push(&mut self, first: u32, mut visit: impl FnMut(u32, u32)) {
        self.each_point(|pair, point| {
            let pushes = point.impulse[0].to_array();
            let [a, b] = &pair.bodies;
            for l in (0..4).filter(|&l| pushes[l] > 0.0 && a[l] != NOBODY && b[l] != NOBODY) {
                visit(first + a[l], first + b[l]);
            }
        });
    }

    /// Sets by how much points may come nearer, or must go apart, as velocities; returns whether any must.
    fn aim_apart(&mut self, ways: &Ways) -> bool {
        let &Ways { u, way, beyond, is_first, .. } = ways;
        let (h, band, least) = (f64x4::splat(ways.h), f64x4::splat(-DEAD_BAND), f64x4::splat(ways.least));
        let mut asks = false;
        self.each_point(|pair, point| {
            let [rates, moved, farther] = [u, way, beyond].map(|list| pair.against(&pair.gather(list)));
            let foreseen = point.gap + point.rate(0, pair, &moved) + point.drift[0] * h;
            let end = foreseen + point.rate(0, pair, &farther);
            if is_first {
                point.now = foreseen.min(band);
            }
            asks |= end.simd_lt(point.now - least).any();
            point.target = point.rate(0, pair, &rates) + point.drift[0] + point.now - end;
            point.impulse = [f64x4::splat(0.0); 3];
        });
        asks
    }

    /// The same of points whose gaps are what is left where bodies end.
    fn aim_at_ends(&mut self, u: &[Wide], least: f64) -> bool {
        let mut asks = false;
        self.each_point(|pair, point| {
            asks |= point.gap.simd_lt(f64x4::splat(-least)).any();
            point.target = point.rate(0, pair, &pair.against(&pair.gather(u))) - point.gap;
        });
        asks
    }
}
