//! Collision: which shapes come near each other, and where they touch.
//!
//! [`Collisions::update`] is called once a step. It moves the colliders, finds pairs that come near (broad phase), looks
//! at those that may be within reach (narrow phase), and leaves [`Collisions::manifolds`], ordered by pair, with the
//! impulses of the last step carried over to the points that are still there.
//!
//! *Reach.* A pair is looked at up to 4 mm + g h² + h (|v_a| + |v_b| + ω_a r_a + ω_b r_b): as far as both can come in a
//! step whatever stops one of them. It must not use the relative velocity: bodies that fall together have none until
//! the lower one is stopped.
//!
//! *Parts.* What needs smaller steps takes them while the rest waits ([`Collisions::update_part`]): only contacts of what moves are
//! looked for, so that a machine that lands does not have a large world looked at again and again.
//!
//! *Path.* Every collider counts the path its points have travelled at most. A pair whose separation was s is not
//! looked at again while the path since is less than s minus its reach.

mod apart;
mod boxes;
mod broad;
pub(crate) mod check;
mod convex;
mod core;
mod crossing;
pub(crate) mod hull;
mod look;
mod manifold;
mod manifolds;
mod mesh;
pub(crate) mod narrow;
pub(crate) mod parry;
pub(crate) mod point;
mod query;
mod ray;
mod sensors;
pub(crate) mod shape;
mod told;

#[cfg(test)]
mod tests;

pub use query::{DeepOverlap, Hit, QueryFilter, TimeOfImpact};
pub(crate) use sensors::Sensed;
pub use sensors::SensorEvent;

use crate::handle::BodyId;
use crate::joint::Motion;
use crate::math::Placed;
use crate::parallel::{MANY, for_each, threads};
use crate::scene::BodyKind;
use crate::world::{Bodies, Joints};
use broad::BroadPhase;
use convex::Workspace;
use glam::{DQuat, DVec3};
use look::Finder;
pub(crate) use manifolds::{ContactPoint, Manifold, Manifolds};
pub(crate) use narrow::Touches;
use narrow::{PairMemory, Place};
use parry::Bounds;
use sensors::Watch;
use shape::Collider;
use std::sync::{Arc, OnceLock};
use told::Earlier;

/// A body as collision sees it: centre of mass, principal axes, velocities.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct PlacedBody {
    pub x: DVec3,
    pub q: DQuat,
    pub v: DVec3,
    pub w: DVec3,
    /// Speed that it is known to be given within the step, m/s.
    pub pushed: f64,
    /// Speed that the forces on it may add in the step, beyond what gravity gives to all, m/s.
    pub gain: f64,
    /// Whether it stands where it is while others take smaller steps: it has taken its own, or does not move by itself.
    pub waits: bool,
}

/// A collider in the world. What a look at a pair asks for comes first.
#[derive(Clone)]
#[repr(C, align(64))]
struct Entry {
    place: Place,
    /// How far its points have gone at most, since it exists.
    path: f64,
    /// Its share of the reach of a pair.
    reach: f64,
    body: BodyId,
    part: u32,
    kind: BodyKind,
    collider: Collider,
    /// Shared with the body: equal as long as the body's shapes are.
    source: Arc<[Collider]>,
}

impl Entry {
    fn slot(&self) -> u32 {
        self.body.slot() as u32
    }

    /// Goes where its body is; returns the box in which it may be in a step of `h`, and the margin of that, if these have changed.
    fn follow(&mut self, body: &PlacedBody, track: &Track, h: f64, gravity: f64) -> Option<(Bounds, f64)> {
        let c = &self.collider;
        let speed = (body.v.length() + body.w.length() * c.sweep + body.gain).max(body.pushed);
        let reach = 0.5 * (REACH + gravity * h * h) + h * speed;
        let step = track.moved + track.turned * c.sweep;
        if step == 0.0 && (reach == self.reach || body.waits) {
            return None;
        }
        self.reach = reach;
        if step > 0.0 {
            let placed = Placed::new(body.x, body.q);
            self.place = Place { x: placed.x + placed.r * c.position, r: placed.r * c.turn };
            self.path += if step.is_finite() { step } else { 0.0 };
        }
        let bounds = self.bounds()?;
        let margin = MARGIN.min(0.25 * c.bounds.half().max_element()) + 2.0 * h * speed;
        Some((bounds.grown(reach), if self.kind == BodyKind::Static { 1e-3 } else { margin }))
    }

    /// The box around it; none of a plane.
    fn bounds(&self) -> Option<Bounds> {
        let bounded = !matches!(self.collider.form, shape::Form::Plane);
        bounded.then(|| self.collider.bounds.placed(&self.place.r, self.place.x))
    }
}

#[derive(Clone)]
struct Pair {
    a: u32,
    b: u32,
    /// Path of both at the last look and their separation then: until their paths and reaches together come to this, they cannot
    /// touch. Looked at anew if NaN.
    until: f64,
    /// Path of both and reach at the last look; looked at anew if NaN.
    path: f64,
    reach: f64,
    /// Its manifolds of the last update.
    first: u32,
    count: u32,
    sensor: bool,
    /// What forms that ask for it leave for the next look. Most pairs are out of reach or need none, and all are gone through in every step.
    memory: Option<Box<PairMemory>>,
}

impl Pair {
    /// Stands where one is lent out.
    const NONE: Pair = Pair {
        a: 0,
        b: 0,
        until: f64::NAN,
        path: f64::NAN,
        reach: 0.0,
        first: 0,
        count: 0,
        sensor: false,
        memory: None,
    };

    /// Whether its shapes have moved so little since the last look that another would find the same.
    fn is_still(&self, path: f64, reach: f64) -> bool {
        path - self.path < STILL && reach < self.reach + STILL
    }
}

#[derive(Clone, Copy, Default)]
struct Track {
    x: DVec3,
    q: DQuat,
    moved: f64,
    turned: f64,
}

impl Track {
    /// Where a body is, and how far it has come since it was there.
    fn go_on(before: &Option<Track>, body: &PlacedBody) -> Track {
        let (moved, turned) = match before {
            Some(old) if old.x == body.x && old.q == body.q => (0.0, 0.0),
            Some(old) => (body.x.distance(old.x), turn_between(old.q, body.q)),
            None => (f64::INFINITY, 0.0),
        };
        Track { x: body.x, q: body.q, moved, turned }
    }
}

/// Collision state of a world. Everything here that influences results is copied with it.
#[derive(Clone, Default)]
pub(crate) struct Collisions {
    /// Contacts within reach, ordered by pair.
    pub manifolds: Manifolds,
    watch: Watch,
    entries: Vec<Entry>,
    /// By slot, and one more: the first collider.
    first_entry: Vec<u32>,
    pairs: Vec<Pair>,
    /// Slots of bodies that joints keep from colliding, ordered.
    apart: Vec<(u32, u32)>,
    tracks: Vec<Option<Track>>,
    broad: BroadPhase,
    synced: Option<u64>,
    look_anew: bool,
    /// Whether contacts may name bodies and colliders by numbers that have changed.
    renumbered: bool,
    /// Pairs by their second collider, if somebody has asked: the first of each collider, and the pairs.
    by_second: OnceLock<(Vec<u32>, Vec<u32>)>,
    /// Where the contacts of the present part of a step begin; those before are of what waits, or were found anew.
    part: usize,
    /// Whether something takes the present step in parts.
    in_parts: bool,
    /// Contacts that were not seen where the step began, by their numbers; no pair knows of them.
    unseen: Vec<u32>,
    /// What contacts gave in parts of the last step before the last.
    earlier: Earlier,
    // working memory
    finders: Vec<Finder>,
    old: Manifolds,
    fresh: Vec<(u32, u32)>,
    /// Pairs that are looked at in a part of a step, if they are few.
    lent: Vec<Pair>,
    progress: Vec<Progress>,
    /// By parts that are followed at once: colliders that need another fat box, where they may be, and its margin.
    leaving: Vec<Vec<(u32, Bounds, f64)>>,
    looker: Looker,
}

/// What tells whether a pair must be looked at, of one collider: many pairs look at it.
#[derive(Clone, Copy)]
struct Progress {
    path: f64,
    reach: f64,
    sweep: f64,
    slot: u32,
    waits: bool,
}

/// Working memory for a look at two colliders.
#[derive(Clone, Default)]
pub(crate) struct Looker {
    touches: Touches,
    work: Workspace,
}

impl Looker {
    fn look(&mut self, entries: &[Entry], manifold: &Manifold, a: &Placed, b: &Placed, reach: f64) -> &Touches {
        let form = |collider: u32, at: &Placed| {
            let c = &entries[collider as usize].collider;
            (&c.form, Place { x: at.x + at.r * c.position, r: at.r * c.turn })
        };
        let ((fa, pa), (fb, pb)) = (form(manifold.collider_a, a), form(manifold.collider_b, b));
        narrow::contacts(
            (fa, &pa),
            (fb, &pb),
            reach,
            0.0,
            &mut PairMemory::default(),
            &mut self.work,
            &mut self.touches,
        );
        &self.touches
    }
}

/// Path below which what two shapes touch each other with stays the same, m: what is neglected is of second order, 1e-13 m for
/// shapes of a tenth of a metre.
const STILL: f64 = 1e-7;
/// Base reach of a pair, m.
const REACH: f64 = 4e-3;
/// Fat boxes are larger by this, or by a part of the collider if that is less, m.
const MARGIN: f64 = 0.03;
/// A point is the same as before if it has moved by less than this on b, m.
const SAME_POINT: f64 = 0.02;

impl Collisions {
    /// Takes the colliders of the bodies that can meet anything at all, if something has changed since the last call.
    /// What was known of pairs that remain stays.
    pub fn sync(&mut self, version: u64, bodies: &Bodies, joints: &Joints) {
        if self.synced == Some(version) {
            return;
        }
        self.synced = Some(version);
        self.apart.clear();
        for (_, joint) in joints.iter().filter(|(_, j)| !j.description.collide) {
            if let (Some(a), Some(b)) = (joint.a, joint.b) {
                let (a, b) = (a.slot() as u32, b.slot() as u32);
                self.apart.push((a.min(b), a.max(b)));
            }
        }
        self.apart.sort_unstable();
        self.apart.dedup();

        let classes = filter_classes(bodies);
        let old = std::mem::take(&mut self.entries);
        let mut renumbered = vec![u32::MAX; old.len()];
        let mut fat = Vec::new();
        for (id, body) in bodies.iter() {
            for (part, collider) in body.colliders.iter().enumerate() {
                if !classes.iter().any(|&(group, mask)| filters_agree((collider.group, collider.mask), (group, mask))) {
                    continue;
                }
                let known = old
                    .binary_search_by(|e| (e.body, e.part).cmp(&(id, part as u32)))
                    .ok()
                    .filter(|&k| Arc::ptr_eq(&old[k].source, &body.colliders));
                let new = self.entries.len() as u32;
                match known {
                    Some(k) => {
                        renumbered[k] = new;
                        fat.push(self.broad.fat[k]);
                        self.entries.push(old[k].clone());
                    }
                    None => {
                        let plane = matches!(collider.form, shape::Form::Plane);
                        fat.push((!plane).then_some(Bounds { low: DVec3::ZERO, high: DVec3::ZERO }));
                        self.entries.push(Entry {
                            body: id,
                            kind: body.kind,
                            part: part as u32,
                            collider: collider.clone(),
                            source: body.colliders.clone(),
                            place: Place::default(),
                            path: 0.0,
                            reach: f64::NAN,
                        });
                    }
                }
            }
        }
        // slots of bodies that are gone forget where their bodies were
        let slots = self.entries.last().map_or(0, |e| e.body.slot() + 1);
        let entries = &self.entries;
        self.first_entry.clear();
        self.first_entry.extend((0..=slots).map(|slot| entries.partition_point(|e| e.body.slot() < slot) as u32));
        self.tracks.resize(slots, None);
        for (slot, track) in self.tracks.iter_mut().enumerate() {
            let known = self
                .entries
                .get(self.first_entry[slot] as usize)
                .is_some_and(|e| e.body.slot() == slot && !e.reach.is_nan());
            if !known {
                *track = None;
            }
        }
        for pair in &mut self.pairs {
            (pair.a, pair.b) = (renumbered[pair.a as usize], renumbered[pair.b as usize]);
        }
        let (entries, apart) = (&self.entries, &self.apart);
        let remains = |p: &Pair| p.a != u32::MAX && p.b != u32::MAX && may_touch(entries, apart, p.a, p.b);
        self.pairs.retain(remains);
        self.by_second.take();
        self.broad.reset(fat);
        (self.look_anew, self.renumbered) = (true, true);
    }

    /// Moves the colliders to where their bodies are (by slot) and finds what touches within the reach of a step of h.
    pub fn update(&mut self, bodies: &[PlacedBody], h: f64, gravity: f64) {
        // between events of one step sensors are told of what came by on the way here
        match std::mem::replace(&mut self.watch.on, true) {
            true => self.follow_to_sensors(|slot| bodies.get(slot).map(|b| Placed::new(b.x, b.q))),
            false => self.watch.clear(),
        }
        self.follow(bodies, h, gravity, true);
        self.find_pairs();
        self.find_contacts(bodies, h);
    }

    /// The same for a part of a step of `h`: contacts of what does not wait are found anew and added to the others, until
    /// [`Collisions::end_parts`]. `stale` are the slots of bodies that may have moved since the last look, or wait now and did not
    /// before; all of them if `None`. Sensors look on the whole way at the end of the step.
    pub fn update_part(&mut self, bodies: &[PlacedBody], stale: Option<&[u32]>, h: f64, gravity: f64) {
        match stale {
            None => self.follow(bodies, h, gravity, false),
            Some(slots) => self.follow_some(bodies, slots, h, gravity),
        }
        self.find_pairs();
        self.find_contacts_of_part(bodies, stale, h);
    }

    /// Adds contacts that solving has found where bodies end.
    /// Returns their numbers.
    pub fn add_unseen(&mut self, manifolds: &[Manifold]) -> std::ops::Range<u32> {
        let first = self.manifolds.len() as u32;
        let numbers = first..first + manifolds.len() as u32;
        self.unseen.extend(numbers.clone());
        self.manifolds.extend_from_slice(manifolds);
        numbers
    }

    /// The numbers of contacts whose bodies have taken their impulses in a part of a step.
    pub fn note_given(&mut self, numbers: impl Iterator<Item = u32>) {
        numbers.for_each(|k| self.manifolds[k as usize].given = true);
    }

    /// Contacts of the present step, or part of one, and the number of the first.
    pub fn present(&self) -> (usize, &[Manifold]) {
        (self.part, &self.manifolds[self.part..])
    }

    /// What touches between two colliders where their bodies will be, within `reach`; nothing is remembered.
    pub fn look_ahead(&mut self, manifold: &Manifold, a: &Placed, b: &Placed, reach: f64) -> &Touches {
        let Collisions { entries, looker, .. } = self;
        looker.look(entries, manifold, a, b, reach)
    }

    /// The same, with working memory of somebody else.
    pub fn look_ahead_with<'a>(
        &self,
        looker: &'a mut Looker,
        manifold: &Manifold,
        a: &Placed,
        b: &Placed,
        reach: f64,
    ) -> &'a Touches {
        looker.look(&self.entries, manifold, a, b, reach)
    }

    /// Calls `visit` with the number of every pair of a collider.
    pub fn each_pair_of(&self, collider: u32, mut visit: impl FnMut(u32)) {
        let pairs = &self.pairs;
        let (first, seconds) = self.by_second.get_or_init(|| by_second(pairs, self.entries.len()));
        let begin = pairs.partition_point(|p| p.a < collider);
        (begin..pairs.len()).take_while(|&k| pairs[k].a == collider).for_each(|k| visit(k as u32));
        let range = first[collider as usize] as usize..first[collider as usize + 1] as usize;
        seconds[range].iter().for_each(|&k| visit(k));
    }

    /// The k-th pair, without points, if it was found to be out of reach and is no sensor's.
    pub fn pair_out_of_reach(&self, k: u32) -> Option<Manifold> {
        let pair = &self.pairs[k as usize];
        (pair.count == 0 && !pair.sensor).then(|| {
            let sides = [pair.a, pair.b].map(|k| &self.entries[k as usize]);
            let (slots, shapes) = (sides.map(Entry::slot), sides.map(|e| e.collider.shape));
            let material = sides[0].collider.material.with(&sides[1].collider.material);
            Manifold::without_points(slots, [pair.a, pair.b], shapes, material)
        })
    }

    /// The colliders of the body in a slot.
    pub fn colliders_of(&self, slot: u32) -> std::ops::Range<u32> {
        match self.first_entry.get(slot as usize + 1) {
            Some(&end) => self.first_entry[slot as usize]..end,
            None => 0..0,
        }
    }

    /// The slot of a collider's body.
    pub fn slot_of(&self, collider: u32) -> u32 {
        self.entries[collider as usize].slot()
    }

    /// How far a collider was reckoned to come in the step, m.
    pub fn reach(&self, collider: u32) -> f64 {
        self.entries[collider as usize].reach
    }

    /// How near points of a pair are to be one and the same, m.
    pub fn near(&self, manifold: &Manifold) -> f64 {
        let of = |collider: u32| &self.entries[collider as usize].collider;
        near(of(manifold.collider_a), of(manifold.collider_b))
    }

    /// How far the points of a collider are from its body's centre of mass at most, m.
    pub fn sweep(&self, collider: u32) -> f64 {
        self.entries[collider as usize].collider.sweep
    }

    /// How far a collider was reckoned to come in the step, m, and its [`Collisions::sweep`]: of what [`Collisions::update`] has just seen,
    /// from few numbers that are near.
    pub fn reach_and_sweep(&self, collider: u32) -> (f64, f64) {
        let p = &self.progress[collider as usize];
        (p.reach, p.sweep)
    }

    /// How fast points of a collider move at most, m/s.
    pub fn speed(&self, collider: u32, motion: &Motion) -> f64 {
        // a plane has no size, and does not turn
        let turning = if motion.w == DVec3::ZERO { 0.0 } else { motion.w.length() * self.sweep(collider) };
        motion.v.length() + turning
    }

    /// Forgets the contact points of the body in a slot, which another may have next.
    pub fn forget_body(&mut self, slot: usize) {
        self.manifolds.iter_mut().filter(|m| [m.a, m.b].contains(&(slot as u32))).for_each(Manifold::clear);
    }

    /// Forgets the impulses of contacts.
    pub fn forget(&mut self) {
        for point in self.manifolds.iter_mut().flat_map(Manifold::points_mut) {
            (point.impulse_n, point.impulse_t, point.blow) = (0.0, DVec3::ZERO, 0.0);
        }
        self.earlier.clear();
    }

    /// Colliders go where their bodies are. Fat boxes that are far too large are made anew if they `may_shrink`: in a part of a step
    /// all are, and the next step would need the large ones again.
    fn follow(&mut self, bodies: &[PlacedBody], h: f64, gravity: f64, may_shrink: bool) {
        for (track, body) in self.tracks.iter_mut().zip(bodies) {
            *track = Some(Track::go_on(track, body));
        }
        let Collisions { entries, tracks, broad, leaving, .. } = self;
        let parts = if entries.len() < MANY { 1 } else { threads() };
        let size = entries.len().div_ceil(parts).max(1);
        leaving.resize(parts.max(leaving.len()), Vec::new());
        let seen = &*broad;
        let follow = |part: usize, entries: &mut [Entry], leaving: &mut Vec<(u32, Bounds, f64)>| {
            for (k, entry) in entries.iter_mut().enumerate() {
                let slot = entry.body.slot();
                let (Some(body), Some(Some(track))) = (bodies.get(slot), tracks.get(slot)) else { continue };
                let collider = (part * size + k) as u32;
                if let Some((bounds, margin)) = entry.follow(body, track, h, gravity)
                    && seen.must_place(collider, &bounds, margin, may_shrink)
                {
                    leaving.push((collider, bounds, margin));
                }
            }
        };
        leaving.iter_mut().for_each(Vec::clear);
        match parts {
            1 => follow(0, entries, &mut leaving[0]),
            _ => {
                let mut work: Vec<_> = entries.chunks_mut(size).zip(leaving.iter_mut()).collect();
                for_each(&mut work, true, |part, (entries, leaving)| follow(part, entries, leaving));
            }
        }
        for (collider, bounds, margin) in leaving.iter().flatten() {
            broad.place(*collider, bounds, *margin);
        }
    }

    /// Colliders of some bodies go where these are.
    fn follow_some(&mut self, bodies: &[PlacedBody], slots: &[u32], h: f64, gravity: f64) {
        for slot in slots.iter().map(|slot| *slot as usize) {
            let Some(track) = self.tracks.get_mut(slot) else { continue };
            let now = Track::go_on(track, &bodies[slot]);
            *track = Some(now);
            for collider in self.first_entry[slot]..self.first_entry[slot + 1] {
                if let Some((bounds, margin)) = self.entries[collider as usize].follow(&bodies[slot], &now, h, gravity)
                    && self.broad.must_place(collider, &bounds, margin, false)
                {
                    self.broad.place(collider, &bounds, margin);
                }
            }
        }
    }

    fn find_pairs(&mut self) {
        if !self.broad.has_moved() && !self.look_anew {
            return;
        }
        self.by_second.take();
        let broad = &self.broad;
        self.pairs.retain(|p| broad.keeps(p.a, p.b));
        self.fresh.clear();
        let (entries, apart, fresh) = (&self.entries, &self.apart, &mut self.fresh);
        let mut consider = |a: u32, b: u32| {
            if may_touch(entries, apart, a, b) {
                fresh.push((a, b));
            }
        };
        if self.look_anew {
            self.look_anew = false;
            self.broad.move_all();
            for i in (0..entries.len()).filter(|&i| matches!(entries[i].collider.form, shape::Form::Plane)) {
                for k in (0..entries.len()).filter(|&k| k != i) {
                    consider(i.min(k) as u32, i.max(k) as u32);
                }
            }
        }
        self.broad.settle(consider);
        self.fresh.sort_unstable();
        self.fresh.dedup();
        self.merge_fresh();
    }

    /// Puts the fresh pairs that are not known yet among the others, in order.
    fn merge_fresh(&mut self) {
        let mut at = 0;
        let pairs = &self.pairs;
        self.fresh.retain(|key| {
            while at < pairs.len() && (pairs[at].a, pairs[at].b) < *key {
                at += 1;
            }
            at == pairs.len() || (pairs[at].a, pairs[at].b) != *key
        });
        let Some(&last) = self.fresh.last() else { return };
        // from the back, so that every pair moves once
        let mut known = self.pairs.len();
        let mut fresh = self.fresh.len();
        let place = self.fresh_pair(last);
        self.pairs.resize(known + fresh, place);
        while fresh > 0 {
            let key = self.fresh[fresh - 1];
            let to = known + fresh - 1;
            if known > 0 && (self.pairs[known - 1].a, self.pairs[known - 1].b) > key {
                self.pairs.swap(to, known - 1);
                known -= 1;
            } else {
                self.pairs[to] = self.fresh_pair(key);
                fresh -= 1;
            }
        }
    }

    fn fresh_pair(&self, (a, b): (u32, u32)) -> Pair {
        let sensor = [a, b].iter().any(|&k| self.entries[k as usize].collider.sensor);
        Pair { a, b, sensor, ..Pair::NONE }
    }
}

fn near(a: &Collider, b: &Collider) -> f64 {
    SAME_POINT.min(0.2 * a.bounds.half().max_element().min(b.bounds.half().max_element()))
}

/// The different groups and masks of all colliders.
fn filter_classes(bodies: &Bodies) -> Vec<(u32, u32)> {
    let mut classes = Vec::new();
    for collider in bodies.iter().flat_map(|(_, body)| body.colliders.iter()) {
        let class = (collider.group, collider.mask);
        if !classes.contains(&class) {
            classes.push(class);
        }
    }
    classes
}

/// Whether each of two colliders, by group and mask, asks for the other.
pub(crate) fn filters_agree((group_a, mask_a): (u32, u32), (group_b, mask_b): (u32, u32)) -> bool {
    group_a & mask_b != 0 && group_b & mask_a != 0
}

/// Of each collider (and one more) where its pairs begin in the list that follows: pairs by their second collider.
fn by_second(pairs: &[Pair], colliders: usize) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0_u32; colliders + 1];
    pairs.iter().for_each(|p| first[p.b as usize + 1] += 1);
    (0..colliders).for_each(|k| first[k + 1] += first[k]);
    let mut next = first.clone();
    let mut list = vec![0; pairs.len()];
    for (k, pair) in pairs.iter().enumerate() {
        let place = &mut next[pair.b as usize];
        list[*place as usize] = k as u32;
        *place += 1;
    }
    (first, list)
}

/// Whether a pair is looked at at all.
fn may_touch(entries: &[Entry], apart: &[(u32, u32)], a: u32, b: u32) -> bool {
    let (ea, eb) = (&entries[a as usize], &entries[b as usize]);
    let (ca, cb) = (&ea.collider, &eb.collider);
    let sensor = ca.sensor || cb.sensor;
    let dynamic = ea.kind == BodyKind::Dynamic || eb.kind == BodyKind::Dynamic;
    let moving = ea.kind != BodyKind::Static || eb.kind != BodyKind::Static;
    let slots = (ea.slot().min(eb.slot()), ea.slot().max(eb.slot()));
    ea.body != eb.body
        && (dynamic || (sensor && moving))
        && !(ca.sensor && cb.sensor)
        && filters_agree((ca.group, ca.mask), (cb.group, cb.mask))
        && apart.binary_search(&slots).is_err()
}

/// How far a point at unit distance from the axis gets between two orientations: the chord.
fn turn_between(a: DQuat, b: DQuat) -> f64 {
    2.0 * (b * a.conjugate()).xyz().length()
}
