//! The narrow phase of a step: pairs that may be within reach are looked at, and points keep the impulses of the step before.

use super::apart::apart;
use super::convex::Workspace;
use super::narrow::{self, PairMemory, Touches};
use super::sensors::{Near, Watch};
use super::{Collisions, ContactPoint, Entry, Manifold, Manifolds, Pair, PlacedBody, Progress, near};
use crate::math::Placed;
use crate::parallel::{for_each, threads};
use glam::DVec3;

/// Pairs below which one thread looks at all of them.
const FEW_PAIRS: usize = 1000;
/// Parts for every thread otherwise: some pairs take far longer than others.
const PARTS: usize = 4;
/// Where at most one in so many colliders moves, their pairs are looked up; else all pairs are gone through.
const FEW: usize = 8;

impl Collisions {
    /// Whether all pairs touch as they did at the last look, or do not touch.
    fn are_all_still(&self) -> bool {
        let mut touching = 0;
        let as_before = |pair: &Pair| {
            let (a, b) = (&self.progress[pair.a as usize], &self.progress[pair.b as usize]);
            let (path, reach) = (a.path + b.path, a.reach + b.reach);
            touching += pair.count as usize;
            if pair.sensor {
                return false;
            }
            match pair.until > path + reach {
                true => pair.count == 0,
                false => pair.count > 0 && pair.is_still(path, reach),
            }
        };
        // fewer if a pair that touched is no more
        self.pairs.iter().all(as_before) && touching == self.manifolds.len()
    }

    /// What tells whether pairs of a collider must be looked at.
    fn progress_of(entry: &Entry, bodies: &[PlacedBody]) -> Progress {
        let slot = entry.slot();
        let waits = bodies[slot as usize].waits;
        Progress { path: entry.path, reach: entry.reach, sweep: entry.collider.sweep, slot, waits }
    }

    /// Finds what touches within reach; contacts are left in the order of their pairs.
    pub(super) fn find_contacts(&mut self, bodies: &[PlacedBody], h: f64) {
        (self.part, self.in_parts) = (0, false);
        self.earlier.clear();
        self.unseen.clear();
        self.progress.clear();
        self.progress.extend(self.entries.iter().map(|e| Collisions::progress_of(e, bodies)));
        if !std::mem::take(&mut self.renumbered) && self.are_all_still() {
            self.manifolds.iter_mut().for_each(|m| m.follow(&bodies[m.a as usize], &bodies[m.b as usize], h));
            return;
        }
        std::mem::swap(&mut self.manifolds, &mut self.old);
        self.manifolds.clear();
        let Collisions { pairs, entries, old, manifolds, watch, finders, progress, .. } = self;
        let looks = Looks { entries, progress, old, bodies, h, part: false };
        finders.iter_mut().for_each(Finder::clear);
        if finders.is_empty() {
            finders.push(Finder::default());
        }
        std::mem::swap(manifolds, &mut finders[0].manifolds);
        let (parts, size) = looks.look_at_all(pairs, finders);
        std::mem::swap(manifolds, &mut finders[0].manifolds);
        for finder in &finders[..parts] {
            watch.found.extend_from_slice(&finder.watch.found);
            watch.near.extend_from_slice(&finder.watch.near);
        }
        if parts > 1 {
            put_together(manifolds, pairs.chunks_mut(size).zip(finders).skip(1), |_| true);
        }
        // while everything stands still this one is not used, and must not grow after that
        old.clear();
        old.make_room(manifolds.len());
    }

    /// Finds what touches what does not wait, in a part of a step; these contacts come after all others.
    pub(super) fn find_contacts_of_part(&mut self, bodies: &[PlacedBody], stale: Option<&[u32]>, h: f64) {
        let Collisions { entries, progress, first_entry, .. } = self;
        match stale {
            None => progress.iter_mut().zip(&*entries).for_each(|(p, e)| *p = Collisions::progress_of(e, bodies)),
            Some(slots) => {
                for slot in slots.iter().map(|slot| *slot as usize).filter(|slot| slot + 1 < first_entry.len()) {
                    for k in first_entry[slot] as usize..first_entry[slot + 1] as usize {
                        progress[k] = Collisions::progress_of(&entries[k], bodies);
                    }
                }
            }
        }
        (self.part, self.in_parts) = (self.manifolds.len(), true);
        let few = self.few_that_move(stale);
        let Collisions { pairs, entries, manifolds, finders, progress, lent, .. } = self;
        finders.iter_mut().for_each(Finder::clear);
        let looks = Looks { entries, progress, old: manifolds, bodies, h, part: true };
        let asked = |pair: &Pair| takes_part(progress, pair);
        let Some(few) = few else {
            let (_, size) = looks.look_at_all(pairs, finders);
            return put_together(manifolds, pairs.chunks_mut(size).zip(finders), asked);
        };
        lent.clear();
        lent.extend(few.iter().map(|&k| std::mem::replace(&mut pairs[k as usize], Pair::NONE)));
        let (_, size) = looks.look_at_all(lent, finders);
        put_together(manifolds, lent.chunks_mut(size).zip(finders), asked);
        few.iter().zip(lent).for_each(|(&k, pair)| std::mem::swap(&mut pairs[k as usize], pair));
    }

    /// The pairs of colliders that do not wait, in order, if these are few; `stale` has the slots of all that do not wait, if not all do.
    fn few_that_move(&self, stale: Option<&[u32]>) -> Option<Vec<u32>> {
        let moves = |k: &u32| !self.progress[*k as usize].waits;
        let colliders: Vec<u32> = match stale {
            None => (0..self.entries.len() as u32).filter(moves).collect(),
            Some(slots) => slots.iter().flat_map(|slot| self.colliders_of(*slot)).filter(moves).collect(),
        };
        if colliders.len() > self.entries.len() / FEW {
            return None;
        }
        let mut pairs = Vec::new();
        colliders.iter().for_each(|&collider| self.each_pair_of(collider, |k| pairs.push(k)));
        pairs.sort_unstable();
        pairs.dedup();
        Some(pairs)
    }

    /// Ends a step of `h` of which something took parts: every pair keeps the contacts that were found last, and what those before gave.
    pub fn end_parts(&mut self, h: f64) {
        self.part = 0;
        if !std::mem::take(&mut self.in_parts) {
            return;
        }
        let Collisions { pairs, manifolds, old, unseen, earlier, .. } = self;
        let pair_of = |pairs: &[Pair], m: &Manifold| {
            pairs.binary_search_by(|p| (p.a, p.b).cmp(&(m.collider_a, m.collider_b))).ok()
        };
        let kept = |pairs: &[Pair], pair: usize| {
            let pair = &pairs[pair];
            pair.first..pair.first + pair.count
        };
        // those of an earlier part are not told once their pair has been looked at again
        unseen.retain(|&k| {
            let pair = pair_of(pairs, &manifolds[k as usize]).map(|pair| &pairs[pair]);
            pair.is_some_and(|pair| pair.count > 0 && pair.first < k)
        });
        let is_told = |k: u32, m: &Manifold| {
            unseen.binary_search(&k).is_ok() || pair_of(pairs, m).is_some_and(|pair| kept(pairs, pair).contains(&k))
        };
        let numbered = (0..).zip(manifolds.iter());
        let before: Vec<u32> = numbered.filter(|(k, m)| m.given && !is_told(*k, m)).map(|(k, _)| k).collect();
        old.clear();
        for pair in pairs.iter_mut().filter(|pair| pair.count > 0) {
            let found = pair.first as usize..(pair.first + pair.count) as usize;
            pair.first = old.len() as u32;
            old.extend_from_slice(&manifolds[found]);
        }
        for k in unseen.iter_mut() {
            let before = std::mem::replace(k, old.len() as u32);
            old.extend_from_slice(&manifolds[before as usize..=before as usize]);
        }
        earlier.begin(h);
        let first_gone = old.len();
        for m in before.iter().map(|k| &manifolds[*k as usize]) {
            let now = pair_of(pairs, m).filter(|pair| pairs[*pair].count > 0).map(|pair| kept(pairs, pair));
            let gone = first_gone as u32..old.len() as u32;
            let same = now.into_iter().flatten().chain(gone).find(|k| m.is_along(&old[*k as usize]));
            match same {
                Some(same) => earlier.add(same, m.impulse()),
                None => {
                    // nothing of it is left to be told with: what bounced within the step
                    unseen.push(old.len() as u32);
                    old.extend_from_slice(std::slice::from_ref(m));
                }
            }
        }
        earlier.settle();
        std::mem::swap(manifolds, old);
        old.clear();
        old.make_room(manifolds.len());
    }
}

/// Whether a pair is looked at in a part of a step.
fn takes_part(progress: &[Progress], pair: &Pair) -> bool {
    let waits = |collider: u32| progress[collider as usize].waits;
    !(pair.sensor || waits(pair.a) && waits(pair.b))
}

/// Adds what parts of the pairs found to the contacts of those before them; the pairs that were looked at are those `asked`.
fn put_together<'a>(
    contacts: &mut Manifolds,
    parts: impl Iterator<Item = (&'a mut [Pair], &'a mut Finder)>,
    asked: impl Fn(&Pair) -> bool + Sync,
) {
    let parts: Vec<_> = parts.collect();
    let mut first = contacts.len() as u32;
    let mut places = contacts.add_many(parts.iter().map(|(_, finder)| finder.manifolds.len()).sum());
    let mut work = Vec::with_capacity(parts.len());
    for (pairs, finder) in parts {
        let (now, later) = std::mem::take(&mut places).split_at_mut(finder.manifolds.len());
        let count = now.len() as u32;
        work.push((pairs, now, &finder.manifolds, first));
        (first, places) = (first + count, later);
    }
    for_each(&mut work, true, |_, (pairs, places, found, first)| {
        pairs.iter_mut().filter(|pair| pair.count > 0 && asked(pair)).for_each(|pair| pair.first += *first);
        places.iter_mut().zip(found.iter()).for_each(|(place, manifold)| place.take(manifold));
    });
}

/// What pairs look at.
struct Looks<'a> {
    entries: &'a [Entry],
    progress: &'a [Progress],
    old: &'a [Manifold],
    bodies: &'a [PlacedBody],
    h: f64,
    /// Whether only pairs that take part in a part of a step are looked at.
    part: bool,
}

/// What a part of the pairs found, and its working memory.
#[derive(Clone, Default)]
pub(super) struct Finder {
    manifolds: Manifolds,
    watch: Watch,
    touches: Touches,
    work: Workspace,
}

impl Finder {
    fn clear(&mut self) {
        self.manifolds.clear();
        self.watch.clear();
    }
}

impl Looks<'_> {
    /// Looks at pairs, many of them in parts of equal size that are shared among threads; returns how many parts, and their size.
    fn look_at_all(&self, pairs: &mut [Pair], finders: &mut Vec<Finder>) -> (usize, usize) {
        let parts = if pairs.len() < FEW_PAIRS || threads() == 1 { 1 } else { PARTS * threads() };
        let size = pairs.len().div_ceil(parts).max(1);
        if finders.len() < parts {
            finders.resize(parts, Finder::default());
        }
        match parts {
            1 => self.look_at(pairs, &mut finders[0]),
            _ => {
                let mut work: Vec<_> = pairs.chunks_mut(size).zip(finders.iter_mut()).collect();
                for_each(&mut work, true, |_, (pairs, finder)| self.look_at(pairs, finder));
            }
        }
        (parts, size)
    }

    /// Looks at pairs that may be within reach; their manifolds are counted from the first of this part.
    fn look_at(&self, pairs: &mut [Pair], finder: &mut Finder) {
        let Looks { entries, progress, old, bodies, h, part } = *self;
        let Finder { manifolds, watch, touches, work } = finder;
        for pair in pairs.iter_mut().filter(|pair| !part || takes_part(progress, pair)) {
            let (a, b) = (&progress[pair.a as usize], &progress[pair.b as usize]);
            let path = a.path + b.path;
            let reach = a.reach + b.reach;
            let before = pair.first as usize..(pair.first + pair.count) as usize;
            (pair.first, pair.count) = (manifolds.len() as u32, 0);
            if pair.until > path + reach {
                continue;
            }
            let known = old.get(before).unwrap_or(&[]);
            let (body_a, body_b) = (&bodies[a.slot as usize], &bodies[b.slot as usize]);
            if !known.is_empty() && pair.is_still(path, reach) {
                manifolds.extend_from_slice(known);
                for manifold in &mut manifolds[pair.first as usize..] {
                    // numbers may have changed with other bodies
                    (manifold.a, manifold.b) = (a.slot, b.slot);
                    (manifold.collider_a, manifold.collider_b) = (pair.a, pair.b);
                    manifold.follow(body_a, body_b, h);
                }
                pair.count = known.len() as u32;
                continue;
            }
            let (ea, eb) = (&entries[pair.a as usize], &entries[pair.b as usize]);
            let (ca, cb) = (&ea.collider, &eb.collider);
            let (a_here, b_here) = ((&ca.form, &ea.place), (&cb.form, &eb.place));
            if pair.sensor {
                let found = apart(a_here, b_here, reach, work, touches);
                pair.until = path + found.separation;
                let from = [body_a, body_b].map(|body| Placed::new(body.x, body.q));
                let near = match ca.sensor {
                    true => Near { colliders: (pair.a, pair.b), from, separation: found.separation },
                    false => {
                        Near { colliders: (pair.b, pair.a), from: [from[1], from[0]], separation: found.separation }
                    }
                };
                match found.overlapping {
                    true => watch.found.push(near.colliders),
                    false => watch.near.push(near),
                }
                continue;
            }
            let mut none = PairMemory::default();
            let memory = match narrow::asks_for_memory(a_here, b_here) {
                true => pair.memory.get_or_insert_default(),
                false => &mut none,
            };
            let separation = narrow::contacts(a_here, b_here, reach, path, memory, work, touches);
            pair.until = path + separation;
            // without a separation it is looked at anew
            (pair.path, pair.reach) = (if separation.is_nan() { f64::NAN } else { path }, reach);
            let near = near(ca, cb);
            // that of a pair stays the same as long as there is the pair
            let material = known.first().map_or_else(|| ca.material.with(&cb.material), |m| m.material);
            let (back_a, back_b) = (body_a.q.inverse(), body_b.q.inverse());
            for touch in touches.iter() {
                let manifold = manifolds.add(touch.points.len());
                (manifold.a, manifold.b) = (a.slot, b.slot);
                (manifold.collider_a, manifold.collider_b) = (pair.a, pair.b);
                (manifold.shape_a, manifold.shape_b) = (ca.shape, cb.shape);
                (manifold.normal, manifold.material, manifold.step) = (touch.normal, material, h);
                manifold.given = false;
                for (point, &(position, gap)) in manifold.points_mut().iter_mut().zip(&touch.points) {
                    *point = ContactPoint {
                        position,
                        gap,
                        found_gap: gap,
                        local_a: back_a * (position - body_a.x),
                        local_b: back_b * (position - body_b.x),
                        ..ContactPoint::NONE
                    };
                }
                carry_over(known, manifold, near);
                pair.count += 1;
            }
        }
    }
}

/// Gives points the impulses of the nearest points of before, each at most once and for the new step; friction turns with
/// the normal.
fn carry_over(before: &[Manifold], manifold: &mut Manifold, near: f64) {
    for old in before {
        let aligned = old.normal.dot(manifold.normal);
        if aligned < 0.7 {
            continue;
        }
        let scale = manifold.step / old.step;
        // the shortest turn from the old normal to the new one (Rodrigues 1840)
        let axis = old.normal.cross(manifold.normal);
        let turned = |v: DVec3| aligned * v + axis.cross(v) + axis * (axis.dot(v) / (1.0 + aligned));
        let mut taken = [false; 4];
        for point in manifold.points_mut() {
            let mut best = (near * near, usize::MAX);
            for (k, o) in old.points().iter().enumerate().filter(|(k, _)| !taken[*k]) {
                let d = o.local_b.distance_squared(point.local_b);
                if d < best.0 {
                    best = (d, k);
                }
            }
            if best.1 != usize::MAX && point.impulse_n == 0.0 {
                taken[best.1] = true;
                let o = &old.points()[best.1];
                point.impulse_n = scale * o.impulse_n;
                point.impulse_t = scale * turned(o.impulse_t);
            }
        }
    }
}
