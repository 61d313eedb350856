//! The second look: where the solved velocities really lead.
//!
//! Contact rows are those of the start of the step. Bodies that turn, and joints that are closed afterwards, bend the way:
//! the gap at the end is not gap + h v. So the shapes are looked at where they will be; what their gaps miss is added to the
//! targets, points that were not seen before are added, and the contacts are solved once more. It is the modified Newton
//! iteration that closes the joints, on gaps.

use super::entries::contact_rows;
use super::members::Members;
use super::problem::{Entry, Law};
use super::slip::{common_spin, slip};
use super::solve::{aim, relaxation, sticking_spring};
use super::{Contacts, Island, NONE};
use crate::collide::{ContactPoint, Manifold};
use crate::joint::Motion;
use crate::math::{Placed, length};
use crate::mechanism::outside_moved;
use crate::step::Halving;
use crate::world::Seen;
use glam::{DQuat, DVec3};

pub(super) const MOST_LOOKS: u32 = 8;
/// Overlap that is not worth another look, m.
pub(super) const TOLERANCE: f64 = 1e-7;
/// Overlap that asks for a smaller step, m, and for a very small one.
pub(super) const TOO_DEEP: f64 = 1e-4;
const MUCH_TOO_DEEP: f64 = 1e-3;
/// How far apart shapes are looked at, m.
const REACH: f64 = 4e-3;
/// How much deeper soft contacts may become in a step, m.
const SOFT: f64 = 2e-5;
/// How far bodies may pass along each other before their nearest faces are doubted, m.
const PASSING: f64 = 2e-3;
/// How far what presses may come off, m.
const LIFT: f64 = 1e-5;
/// How fast what friction holds may slip, m/s.
const CREEP: f64 = 1e-7;

/// Overlap that asks for a smaller step than one that has been halved so often, m.
pub(super) fn too_deep(halving: Halving) -> f64 {
    if halving.is_usual() { TOO_DEEP } else { MUCH_TOO_DEEP }
}

/// A contact point that was not seen at the start of the step.
struct Unseen {
    /// One of the same pair, among those of the island.
    manifold: usize,
    normal: DVec3,
    points: Vec<ContactPoint>,
}

/// A body that is met beyond its reach.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    /// If it is of another island, or of none.
    unit: Option<u32>,
    slot: u32,
    /// m/s.
    speed: f64,
}

impl Contacts {
    /// Looks where bodies will be; returns how much deeper than wanted they will overlap there, m. Where that is worth it
    /// and `mend` is set, contacts must be solved again: targets and points are mended, and impulses taken back.
    pub(super) fn look_again(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        h: f64,
        mend: bool,
    ) -> f64 {
        let mut worst = 0.0_f64;
        let mut unseen: Vec<Unseen> = Vec::new();
        // of each manifold: its first contact
        let mut starts = Vec::with_capacity(island.touching.len());
        let mut contacts = 0;
        for manifold in &island.touching {
            starts.push(contacts);
            contacts += manifold.points().len();
        }
        let (mut at, seen) = (0, island.manifolds.len());
        while at < seen {
            // all manifolds of one pair together, those that were added too
            let first = &island.touching[at];
            let same = |k: &usize| {
                let m = &island.touching[*k];
                (m.collider_a, m.collider_b) == (first.collider_a, first.collider_b)
            };
            let mut group: Vec<usize> = (at..seen).take_while(same).collect();
            at += group.len();
            group.extend((seen..island.touching.len()).filter(same));
            if !island.solved || self.bends_its_way(world, mechanisms, island, first, h) {
                let deeper = self.look_at_pair(island, world, mechanisms, &group, &starts, h, &mut unseen);
                worst = worst.max(deeper);
            }
        }
        if mend && worst > TOLERANCE {
            self.take_back(island, mechanisms);
            self.add_unseen(island, world, mechanisms, &unseen, h);
        }
        worst
    }

    /// Whether the end of the step may be elsewhere than the velocities say.
    fn bends_its_way(&self, world: &Seen, mechanisms: &Members, island: &Island, manifold: &Manifold, h: f64) -> bool {
        // what passes by may meet with other faces than those that were nearest
        let sides = [(manifold.a, manifold.collider_a), (manifold.b, manifold.collider_b)];
        let [a, b] = sides.map(|(slot, _)| self.motion(island, world, mechanisms, slot));
        let across = (b.v - a.v).reject_from_normalized(manifold.normal).length();
        if h * across > PASSING && sides.iter().all(|(_, collider)| world.collisions.sweep(*collider).is_finite()) {
            return true;
        }
        sides.into_iter().any(|(slot, collider)| {
            let unit = self.unit[slot as usize];
            let place = island.mechanisms.iter().position(|&m| m == unit);
            let closed_by_moving = place.is_some_and(|k| island.closings[k] != Some(0));
            let angle = h * self.motion(island, world, mechanisms, slot).w.length();
            closed_by_moving || (angle > 0.0 && 0.5 * angle * angle * world.collisions.sweep(collider) > TOLERANCE)
        })
    }

    /// Notes how the gaps of one pair's points bend; returns how much deeper than wanted the deepest will be.
    fn look_at_pair(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &Members,
        group: &[usize],
        starts: &[usize],
        h: f64,
        unseen: &mut Vec<Unseen>,
    ) -> f64 {
        let first = &island.touching[group[0]];
        let [a, b] = [first.a, first.b].map(|slot| self.end(island, world, mechanisms, slot, h));
        let turned = |slot: u32, collider: u32| match self.motion(island, world, mechanisms, slot).w.length() {
            0.0 => 0.0,
            spin => h * spin * world.collisions.sweep(collider),
        };
        let near = world.collisions.near(first) + turned(first.a, first.collider_a) + turned(first.b, first.collider_b);
        let touches = world.collisions.look_ahead_with(&mut island.looker, &island.touching[group[0]], &a, &b, REACH);
        // normal, place, place in b, gap
        let mut seen: Vec<(DVec3, DVec3, DVec3, f64)> = Vec::new();
        for touch in touches.iter() {
            for &(position, gap) in &touch.points {
                seen.push((touch.normal, position, b.r.transpose() * (position - b.x), gap));
            }
        }
        let here = |slot: u32| world.bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
        let [here_a, here_b] = [first.a, first.b].map(here);
        let mut taken = vec![false; seen.len()];
        // by manifold and place in it; what the spring of sticking friction does not know yet of its stretch, N s
        let mut found = Vec::new();
        let mut worst = 0.0_f64;
        for &position in group {
            let manifold = &island.touching[position];
            for (k, point) in (starts[position]..).zip(manifold.points()) {
                let mut best = (near * near, usize::MAX);
                for (i, s) in seen.iter().enumerate().filter(|(i, _)| !taken[*i]) {
                    let d = s.2.distance_squared(point.local_b);
                    if s.0.dot(manifold.normal) > 0.7 && d < best.0 {
                        best = (d, i);
                    }
                }
                if best.1 != usize::MAX {
                    taken[best.1] = true;
                    let wanted = point.gap + self.shift(island, manifold) + h * island.problem.entries[k].velocity[0];
                    let end = seen[best.1].3;
                    let predicted = wanted + island.bends[k];
                    let presses = island.problem.entries[k].impulse[0] > 0.0;
                    let lifted = if presses { (end - predicted) * TOLERANCE / LIFT } else { 0.0 };
                    // what was added had not touched at the start
                    let start = if position < island.manifolds.len() { point.gap.min(0.0) } else { 0.0 };
                    let deeper = start - end;
                    let gives_way = manifold.material.softness.is_some();
                    let unsolved = if deeper > SOFT && !gives_way { deeper } else { 0.0 };
                    worst = worst.max(predicted.min(0.0) - end).max(lifted).max(unsolved);
                    let bend = end - wanted;
                    island.problem.entries[k].target += (island.bends[k] - bend) / h;
                    island.bends[k] = bend;
                    let way = slip([&here_a, &a], [&here_b, &b], [point.position, seen[best.1].1])
                        - self.shifted(island, manifold);
                    let (entry, rows) = (&mut island.problem.entries[k], &island.rows[k]);
                    let missed = [1, 2].map(|s| rows[s].lin.dot(way) - h * entry.velocity[s]);
                    let mut stretch = DVec3::ZERO;
                    if holds(entry) {
                        worst = worst.max(length(missed[0], missed[1]) * TOLERANCE / (CREEP * h));
                        stretch = rows[1].lin * missed[0] + rows[2].lin * missed[1];
                    }
                    let springy = !island.rigid || manifold.material.softness.is_some();
                    let spring = if springy { sticking_spring(entry, relaxation(manifold), h) / h } else { 0.0 };
                    found.push((position, k - starts[position], spring * stretch));
                    (entry.b[1], entry.b[2]) = (entry.b[1] + missed[0] / h, entry.b[2] + missed[1] / h);
                }
            }
        }
        for (position, k, missed) in found {
            // it turns with the normal when the point is found again
            let manifold = &mut island.touching[position];
            let spun =
                DQuat::from_axis_angle(manifold.normal, common_spin([&here_a, &a], [&here_b, &b], manifold.normal));
            let point = &mut manifold.points_mut()[k];
            point.impulse_t = spun * (point.impulse_t - missed);
        }
        let mut add = |normal: DVec3, position: DVec3, local_b: DVec3, gap: f64| {
            worst = worst.max(-gap);
            let point = ContactPoint { position, gap, local_b, ..ContactPoint::NONE };
            let manifold = group[0];
            match unseen.iter_mut().find(|u| u.manifold == manifold && u.normal == normal) {
                Some(u) => u.points.push(point),
                None => unseen.push(Unseen { manifold, normal, points: vec![point] }),
            }
        };
        for (s, _) in seen.iter().zip(&taken).filter(|(s, taken)| !**taken && s.3 < -TOLERANCE) {
            add(s.0, s.1, s.2, s.3);
        }
        let pair = &island.touching[group[0]];
        if let Some(crossing) = world.collisions.crossing(pair, [&here_a, &here_b], [&a, &b]) {
            add(crossing.normal, crossing.position, crossing.local_b, crossing.gap);
        }
        worst
    }

    /// Adds points that were seen at the end alone, at the place of their bodies now.
    fn add_unseen(&self, island: &mut Island, world: &Seen, mechanisms: &Members, unseen: &[Unseen], h: f64) {
        let bounded = island.problem.entries.split_off(island.rows.len());
        let before = island.problem.entries.len();
        for Unseen { manifold, normal, points } in unseen {
            let pair = island.touching[*manifold];
            let motions = self.motions(island, world, mechanisms, &pair);
            let mut added = pair.with_points(*normal, points);
            let b = world.bodies.at(pair.b as usize).map_or(Placed::WORLD, |b| b.placed());
            let mut problem = std::mem::take(&mut island.problem);
            for point in added.points_mut() {
                point.position = b.x + b.r * point.local_b;
                let rows = contact_rows(world, &pair.with_points(*normal, &[*point]), point);
                let speed = self.add_contact(island, &mut problem, mechanisms, &pair, &motions, &rows);
                island.fastest = island.fastest.max(speed);
                let Some(entry) = problem.entries.last() else { continue };
                let rates = problem.rates(entry, &island.z);
                point.gap -= h * (entry.b[0] + rates[0]);
                let Some(entry) = problem.entries.last_mut() else { continue };
                aim(entry, world, &pair, point, &rows, point.gap, h, island.rigid);
                island.rows.push(rows);
                island.slips.push(0.0);
                island.bends.push(0.0);
            }
            island.problem = problem;
            island.touching.push(added);
        }
        island.first_roll += island.problem.entries.len() - before;
        island.problem.entries.extend(bounded);
    }

    /// Whether a blow throws a body into something that contacts were not looked for with; both speeds are noted for the
    /// next search.
    pub(super) fn outruns_its_reach(&self, island: &mut Island, world: &Seen, mechanisms: &Members, h: f64) -> bool {
        let mut thrown = Vec::new();
        for m in &island.touching {
            for (slot, collider) in [(m.a, m.collider_a), (m.b, m.collider_b)] {
                if self.unit[slot as usize] != NONE
                    && h * self.speed(island, world, mechanisms, slot, collider) > world.collisions.reach(collider)
                {
                    thrown.push(collider);
                }
            }
        }
        self.meets_beyond_reach(island, world, mechanisms, thrown, h)
    }

    /// The same, of colliders that are known to go farther than contacts were looked for.
    pub(super) fn meets_beyond_reach(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &Members,
        mut thrown: Vec<u32>,
        h: f64,
    ) -> bool {
        if thrown.is_empty() {
            return false;
        }
        thrown.sort_unstable();
        thrown.dedup();
        let mut any = false;
        let mut pairs = Vec::new();
        for &collider in &thrown {
            world.collisions.each_pair_of(collider, |k| pairs.push(k));
        }
        pairs.sort_unstable();
        pairs.dedup();
        for &k in &pairs {
            let Some(pair) = world.collisions.pair_out_of_reach(k) else { continue };
            let [a, b] = [pair.a, pair.b].map(|slot| match self.is_in(island, slot) {
                true => self.end(island, world, mechanisms, slot, h),
                false => flown(world, slot, h),
            });
            let touches = world.collisions.look_ahead_with(&mut island.looker, &pair, &a, &b, 0.0);
            if touches.iter().any(|t| t.points.iter().any(|p| p.1 < -TOO_DEEP)) {
                self.note_hit(island, world, mechanisms, [(pair.a, pair.collider_a), (pair.b, pair.collider_b)]);
                any = true;
            }
        }
        for &collider in &thrown {
            any |= self.meets_on_its_way(island, world, mechanisms, collider, h);
        }
        any
    }

    /// Whether a thrown collider meets something on its way that was out of reach, even if it will have passed it.
    fn meets_on_its_way(&self, island: &mut Island, world: &Seen, mechanisms: &Members, collider: u32, h: f64) -> bool {
        let slot = world.collisions.slot_of(collider);
        let way = self.motion(island, world, mechanisms, slot).v * h;
        // what may fly so far was looked for that far
        if way.length() <= world.collisions.reach(collider) {
            return false;
        }
        let met = world.collisions.met_on_the_way(collider, way);
        for &other in &met {
            self.note_hit(island, world, mechanisms, [(slot, collider), (world.collisions.slot_of(other), other)]);
        }
        !met.is_empty()
    }

    /// Notes how fast bodies are that meet, and who is hit from outside the island.
    fn note_hit(&self, island: &mut Island, world: &Seen, mechanisms: &Members, sides: [(u32, u32); 2]) {
        for (slot, collider) in sides {
            let inside = self.is_in(island, slot);
            let speed = if inside { self.speed(island, world, mechanisms, slot, collider) } else { 0.0 };
            let unit = Some(self.unit[slot as usize]).filter(|unit| *unit != NONE && !inside);
            island.hits.push(Hit { unit, slot, speed: if speed.is_finite() { speed } else { 0.0 } });
        }
    }

    /// Takes note of what an island hits.
    pub(super) fn take_hits(&mut self, island: &mut Island) {
        for Hit { unit, slot, speed } in island.hits.drain(..) {
            self.hit.extend(unit);
            self.note_push(slot, speed);
        }
    }

    /// Takes note of how fast a body will be, for the smaller steps to come.
    pub(super) fn note_push(&mut self, slot: u32, speed: f64) {
        self.pushes.resize(self.pushes.len().max(slot as usize + 1), 0.0);
        let known = &mut self.pushes[slot as usize];
        *known = known.max(speed);
    }

    fn is_in(&self, island: &Island, slot: u32) -> bool {
        let first = match island.mechanisms.first() {
            Some(&m) => m as usize,
            None => self.mechanism_count + island.free.first().map_or(0, |&k| k as usize),
        };
        let unit = self.unit[slot as usize];
        unit != NONE && self.island_of[unit as usize] == self.island_of[first]
    }

    /// How fast points of a collider move at most.
    fn speed(&self, island: &Island, world: &Seen, mechanisms: &Members, slot: u32, collider: u32) -> f64 {
        world.collisions.speed(collider, &self.motion(island, world, mechanisms, slot))
    }

    /// Where a body will be.
    pub(super) fn end(&self, island: &Island, world: &Seen, mechanisms: &Members, slot: u32, h: f64) -> Placed {
        let unit = self.unit[slot as usize];
        if unit == NONE {
            let here = world.bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
            return outside_moved(&self.motion(island, world, mechanisms, slot), &here, h);
        }
        match (unit as usize) < self.mechanism_count {
            true => *mechanisms[unit].next_pose(self.local[slot as usize] as usize),
            false => self.state(island, unit).next,
        }
    }
}

/// Where a body that this island does not move will be, if nothing stops it.
pub(super) fn flown(world: &Seen, slot: u32, h: f64) -> Placed {
    let Some(body) = world.bodies.at(slot as usize) else { return Placed::WORLD };
    outside_moved(&Motion { v: body.v, w: body.w }, &body.placed(), h)
}

/// Whether friction holds a contact: it could give more.
fn holds(entry: &Entry) -> bool {
    let Law::Cone(friction) = entry.law else { return false };
    length(entry.impulse[1], entry.impulse[2]) < (1.0 - 1e-6) * friction * entry.impulse[0]
}
