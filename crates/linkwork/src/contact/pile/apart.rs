//! The position phase of a pile: what comes nearer than sweeps foresaw is moved apart again.
//!
//! Sweeps know bodies by the rows of the start of the step. Where bodies turn by θ, rows leave joints of a lever arm l open by ½θ²l, and
//! closing them moves bodies, by millimetres where light links whip, whatever they touch. And shapes that turn meet with other faces
//! than those that were nearest at the start. With B, by how much farther bodies go than sweeps moved them, a contact that sweeps left
//! at a gap s ends at s + ĜB; of what is in doubt the gaps where it ends are taken, with the rows there. Displacements Δ are found with
//!
//! ```text
//! Δ = Ĝᵀλ,  ĴΔ = 0,  λ ≥ 0  ⟂  s + Ĝ(B + Δ) ≥ min(s, 0)
//! ```
//!
//! by the sweeps and projections of velocities, and joints are closed once more from there. Velocities know nothing of it: what was met
//! too late is stopped in the next step, at whose start it touches.

use super::batches::Batches;
use super::parts::Contacts;
use super::{DEAD_BAND, Frame, Pile, Wide};
use crate::collide::Manifold;
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use glam::DVec3;
use wide::f64x4;

/// How far the last sweep may move anything, m, and how many there are at most.
const TOLERANCE: f64 = 1e-5;
const MOST_SWEEPS: u32 = 30;

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
    /// What contacts did not foresee; gaps of points are by how much they may come nearer.
    pub touching: Vec<Manifold>,
    /// By how much farther bodies go than sweeps moved them.
    beyond: Vec<Wide>,
    frames: Vec<Frame>,
}

impl Pile {
    /// Moves bodies apart that come nearer than foreseen where they end, by `least` or more; returns whether there were any.
    /// `number` gives bodies that can be moved by their slots.
    pub(super) fn move_apart(
        &mut self,
        ends: &mut Ends,
        number: impl Fn(u32) -> Option<u32>,
        mechanisms: &mut [&mut Mechanism],
        herds: &Herds,
        h: f64,
        least: f64,
    ) -> bool {
        self.find_beyond(ends);
        self.take_unforeseen(ends, number);
        let Ends { beyond, means, .. } = ends;
        let mut asks = self.unforeseen.aim_at_ends(&self.u, least);
        asks |= self.contacts.aim_apart(&self.u, &self.way, beyond, h, least);
        asks |= self.through.aim_apart(&self.u, &self.way, beyond, h, least);
        if !asks {
            return false;
        }
        // closing may have left the rows of the end
        let by_themselves = self.joints.singles().chain(self.through.mechanisms().map(|(k, _)| k));
        by_themselves.for_each(|k| mechanisms[k as usize].linearise_here(h));
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
        for (((way, u), before), mean) in self.way.iter_mut().zip(&mut self.u).zip(&self.before).zip(means) {
            (0..8).for_each(|s| way[s] = h * mean[s] + (u[s] - before[s]));
            *u = *before;
        }
        true
    }

    fn find_beyond(&self, ends: &mut Ends) {
        let of = |((way, frame), end): ((&Wide, &Frame), &End)| {
            let [x, y, z] = (end.by / frame.inv_sqrt_mass).to_array();
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
    fn take_unforeseen(&mut self, ends: &mut Ends, number: impl Fn(u32) -> Option<u32>) {
        let Ends { places, touching, frames, .. } = ends;
        self.unforeseen.clear();
        if touching.is_empty() {
            return;
        }
        frames.clear();
        frames.extend(self.frames.iter().zip(places).map(|(frame, end)| Frame { x: end.x, ..*frame }));
        for (k, manifold) in touching.iter().enumerate() {
            let bodies = [manifold.a, manifold.b].map(&number);
            if !bodies.iter().flatten().any(|body| self.through.has(*body)) {
                self.unforeseen.add(k as u32, manifold, bodies, false);
            }
        }
        self.unforeseen.prepare(touching, frames, 1.0, true, |_, _| DVec3::ZERO);
    }
}

impl Contacts {
    fn aim_apart(&mut self, u: &[Wide], way: &[Wide], beyond: &[Wide], h: f64, least: f64) -> bool {
        let (mut asks, mut first) = (false, 0);
        for k in 0..self.in_use() {
            let (batches, next) = self.part_mut(k);
            asks |= batches.aim_apart(&u[first..], &way[first..], &beyond[first..], h, least);
            first = next;
        }
        asks | self.between.aim_apart(u, way, beyond, h, least)
    }
}

impl Batches {
    /// Sets by how much points may come nearer, or must go apart, as velocities; returns whether any must.
    fn aim_apart(&mut self, u: &[Wide], way: &[Wide], beyond: &[Wide], h: f64, least: f64) -> bool {
        let (h, band, least) = (f64x4::splat(h), f64x4::splat(-DEAD_BAND), f64x4::splat(-least));
        let mut asks = false;
        self.each_point(|pair, point| {
            let [rates, moved, farther] = [u, way, beyond].map(|list| pair.against(&pair.gather(list)));
            let foreseen = point.gap + point.rate(0, pair, &moved) + point.drift[0] * h;
            let bend = point.rate(0, pair, &farther);
            let end = foreseen + bend;
            asks |= (bend.simd_lt(least) & end.simd_lt(band + least)).any();
            point.target = point.rate(0, pair, &rates) + point.drift[0] + foreseen.min(band) - end;
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
