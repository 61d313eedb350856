//! Contacts of a pile. Those of a large one are in parts, each of which has bodies of its own: what touches within a part is swept over
//! side by side with the other parts, what touches across parts after that.
//!
//! A colour of contacts that share no body would do as well for threads, but a colour of a thousand bodies takes as long as waking a
//! thread does. A part takes a whole sweep before it has to wait for the others.
//!
//! How a pile is divided depends on the pile alone, so that its bits do not depend on the number of threads.

use super::batches::Batches;
use super::{Frame, NOBODY, Wide};
use crate::collide::Manifold;
use crate::parallel::for_each;
use glam::DVec3;

/// Bodies of a part at least, and parts at most. What touches across parts is swept over by one thread, lanes of more parts are less well
/// filled, and threads have to wait for each other in every sweep (docs/method.md, Threads).
const PART: usize = 1000;
const MOST_PARTS: usize = 8;

/// Where a part begins: its first body, and its first mechanism by its place in the pile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    pub body: u32,
    pub place: u32,
}

/// Where the parts of a pile begin that have bodies in about equal numbers; none for one that is too small. `first` are the first
/// bodies of all mechanisms and bodies without joints, by their places, which `tied` tells must not begin a part.
pub(super) fn cuts(bodies: usize, first: &[u32], tied: &[bool]) -> Vec<Cut> {
    let parts = (bodies / PART).min(MOST_PARTS);
    let mut cuts: Vec<Cut> = Vec::new();
    for k in 1..parts {
        let wanted = first.partition_point(|f| (*f as usize) < k * bodies / parts);
        let place = (wanted..first.len()).find(|place| !tied.get(*place).is_some_and(|tied| *tied));
        let cut = place.map(|place| Cut { body: first[place], place: place as u32 });
        cuts.extend(cut.filter(|cut| cuts.last().is_none_or(|last| last.body < cut.body)));
    }
    cuts
}

/// Splits a list of things into those of every part; `begins` are the numbers of the first of all parts but the first one.
pub(super) fn split_at_all<T>(mut list: &mut [T], begins: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let (mut parts, mut before) = (Vec::new(), 0);
    for begin in begins {
        let (now, later) = std::mem::take(&mut list).split_at_mut(begin - before);
        parts.push(now);
        (list, before) = (later, begin);
    }
    parts.push(list);
    parts
}

/// Contacts of one part, with bodies counted from its first.
#[derive(Default)]
struct Part {
    batches: Batches,
    /// How far a sweep moved anything, m/s.
    moved: f64,
}

/// The contacts of a pile.
#[derive(Default)]
pub(super) struct Contacts {
    parts: Vec<Part>,
    /// Where all parts but the first begin; no parts at all where there are none.
    cuts: Vec<Cut>,
    /// What touches across parts, or all that touches.
    pub between: Batches,
}

impl Contacts {
    pub fn clear(&mut self) {
        self.parts.iter_mut().for_each(|part| part.batches.clear());
        self.cuts.clear();
        self.between.clear();
    }

    /// Divides contacts into parts; they must have been added and not been put into lanes.
    pub fn divide(&mut self, cuts: Vec<Cut>) {
        self.cuts = cuts;
        if self.cuts.is_empty() {
            return;
        }
        if self.parts.len() <= self.cuts.len() {
            self.parts.resize_with(self.cuts.len() + 1, Part::default);
        }
        let (parts, cuts) = (&mut self.parts, &self.cuts);
        self.between.waiting.retain(|w| {
            let mut of = w.bodies.iter().filter(|b| **b != NOBODY).map(|b| cuts.partition_point(|cut| cut.body <= *b));
            let Some(part) = of.next().filter(|part| of.all(|other| other == *part)) else { return true };
            let first = if part == 0 { 0 } else { cuts[part - 1].body };
            let mut mine = *w;
            mine.bodies = w.bodies.map(|b| if b == NOBODY { NOBODY } else { b - first });
            parts[part].batches.waiting.push(mine);
            false
        });
    }

    /// Puts all contacts into lanes; see [`Batches::prepare`].
    pub fn prepare(
        &mut self,
        manifolds: &[Manifold],
        frames: &[Frame],
        n: f64,
        drift: impl Fn(&Manifold, DVec3) -> DVec3 + Sync,
    ) {
        let begins: Vec<usize> = self.begins().collect();
        self.each_part(|k, part| {
            let first = if k == 0 { 0 } else { begins[k - 1] };
            let end = begins.get(k).copied().unwrap_or(frames.len());
            part.batches.prepare(manifolds, &frames[first..end], n, true, &drift);
        });
        self.between.prepare(manifolds, frames, n, true, &drift);
    }

    fn begins(&self) -> impl Iterator<Item = usize> {
        self.cuts.iter().map(|cut| cut.body as usize)
    }

    /// Parts of the pile, or none.
    pub fn in_use(&self) -> usize {
        if self.cuts.is_empty() { 0 } else { self.cuts.len() + 1 }
    }

    /// The contacts of a part, and the first body of the next.
    pub fn part_mut(&mut self, k: usize) -> (&mut Batches, usize) {
        let next = self.cuts.get(k).map_or(0, |cut| cut.body as usize);
        (&mut self.parts[k].batches, next)
    }

    fn each_part(&mut self, work: impl Fn(usize, &mut Part) + Sync + Send) {
        let parts = self.in_use();
        for_each(&mut self.parts[..parts], true, |k, part| work(k, part));
    }

    /// Works on every part, with its bodies.
    fn each_with(&mut self, u: &mut [Wide], work: impl Fn(&mut Part, &mut [Wide], usize) + Sync + Send) {
        let parts = self.in_use();
        if parts == 0 {
            return;
        }
        let bodies = split_at_all(u, self.cuts.iter().map(|cut| cut.body as usize));
        let firsts: Vec<usize> = std::iter::once(0).chain(self.begins()).collect();
        let mut tasks: Vec<_> = self.parts[..parts].iter_mut().zip(bodies).collect();
        for_each(&mut tasks, true, |k, (part, u)| work(part, u, firsts[k]));
    }

    /// All contacts, and the bodies that these are counted among.
    fn all(&self) -> impl Iterator<Item = (&Batches, std::ops::RangeFrom<usize>)> {
        let firsts = std::iter::once(0).chain(self.begins());
        let parts = self.parts[..self.in_use()].iter().zip(firsts).map(|(part, first)| (&part.batches, first..));
        parts.chain([(&self.between, 0..)])
    }

    /// See [`Batches::overlap`].
    pub fn overlap(&self) -> bool {
        self.all().any(|(batches, _)| batches.overlap())
    }

    /// See [`Batches::start`].
    pub fn start(&mut self, u: &mut [Wide], way: &[Wide], elapsed: f64, h_s: f64) {
        self.each_with(u, |part, u, first| part.batches.start(u, &way[first..first + u.len()], elapsed, h_s));
        self.between.start(u, way, elapsed, h_s);
    }

    /// See [`Batches::keep_part`].
    pub fn keep_part(&mut self, part: f64) {
        self.each_part(|_, contacts| contacts.batches.keep_part(part));
        self.between.keep_part(part);
    }

    /// See [`Batches::fastest`].
    pub fn fastest(&self, u: &[Wide]) -> f64 {
        self.all().map(|(batches, bodies)| batches.fastest(&u[bodies])).fold(0.0, f64::max)
    }

    /// See [`Batches::aim`].
    pub fn aim(&mut self, h_s: f64, biased: bool, fastest: f64) {
        self.each_part(|_, part| part.batches.aim(h_s, biased, fastest));
        self.between.aim(h_s, biased, fastest);
    }

    /// See [`Batches::sweep`].
    pub fn sweep(&mut self, u: &mut [Wide], friction: bool, least: f64) -> f64 {
        self.each_with(u, |part, u, _| part.moved = part.batches.sweep(u, friction, least));
        let moved = self.parts[..self.in_use()].iter().map(|part| part.moved).fold(0.0, f64::max);
        moved.max(self.between.sweep(u, friction, least))
    }

    /// See [`Batches::touch_nothing_else`].
    pub fn touch_nothing_else(&self, u: &[Wide], way: &[Wide], elapsed: f64, time: f64) -> bool {
        self.all().all(|(batches, bodies)| {
            let (u, way) = (&u[bodies.clone()], &way[bodies]);
            batches.touch_nothing_else(u, way, elapsed, time)
        })
    }

    /// See [`Batches::end`].
    pub fn end(&mut self, times: f64) {
        self.each_part(|_, part| part.batches.end(times));
        self.between.end(times);
    }

    /// See [`Batches::each_total`].
    pub fn each_total(&self, mut visit: impl FnMut(u32, usize, f64, DVec3)) {
        self.all().for_each(|(batches, _)| batches.each_total(&mut visit));
    }
}

#[cfg(test)]
mod tests;
