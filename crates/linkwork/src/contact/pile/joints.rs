//! Joints of a pile: velocities brought back to them after every sweep, u −= Ĵᵀ A⁻¹ (Ĵu + drift).
//!
//! A pile is often many of the same thing. Mechanisms that are laid out alike are solved four at a time, one to a lane, with
//! their own Jacobians and factors; what stands alone is solved by itself.

use super::lanes::{gather, scatter_one};
use super::parts::{Cut, split_at_all};
use super::{NOBODY, Wide, narrow, widen};
use crate::mechanism::four::{Four as Herded, Member};
use crate::mechanism::herd::Herds;
use crate::mechanism::{Hat, Mechanism};
use crate::parallel::for_each;
use crate::world::Seen;
use wide::f64x4;

/// Up to four mechanisms that are laid out alike.
struct Four {
    members: [u32; 4],
    first_body: [u32; 4],
    count: usize,
    /// First of its numbers in the lanes' stores.
    jacobian: u32,
    factor: u32,
    drift: u32,
    total: u32,
}

impl Four {
    /// Where the impulses of its rows are.
    fn totals(&self) -> std::ops::Range<usize> {
        let rows = self.total - self.drift;
        self.total as usize..(self.total + rows) as usize
    }
}

pub(super) struct Single {
    pub mechanism: u32,
    pub first_body: u32,
    total: u32,
}

/// The mechanisms of a pile.
#[derive(Default)]
pub(super) struct Joints {
    added: Vec<(u32, u32)>,
    /// Mechanisms of herds, and how many of these places are in use.
    herded: Vec<Herded>,
    used: usize,
    fours: Vec<Four>,
    singles: Vec<Single>,
    lanes: Vec<f64x4>,
    single_totals: Vec<f64>,
    marked: Vec<f64x4>,
    marked_singles: Vec<f64>,
    /// Where all parts of the pile but the first begin.
    cuts: Vec<Cut>,
    /// Working memory of every part.
    works: Vec<Work>,
}

#[derive(Default)]
struct Work {
    u: Vec<[f64x4; 6]>,
    rhs: Vec<f64x4>,
    alone: Vec<Hat>,
}

/// The mechanisms of one part of a pile, with all that bringing its velocities back to their joints changes.
struct Section<'a, 'm> {
    herded: &'a mut [Herded],
    fours: &'a [Four],
    /// Of those in `fours`, and the number of the first.
    lanes: &'a mut [f64x4],
    first_lane: u32,
    singles: &'a [Single],
    /// Of those in `singles`, and the number of the first.
    totals: &'a mut [f64],
    first_total: u32,
    mechanisms: &'a mut [&'m mut Mechanism],
    u: &'a mut [Wide],
    /// Its first body, and its first mechanism.
    first: Cut,
    work: &'a mut Work,
}

impl Joints {
    pub fn clear(&mut self) {
        self.added.clear();
        self.used = 0;
        self.fours.clear();
        self.singles.clear();
        self.lanes.clear();
        self.single_totals.clear();
        self.cuts.clear();
    }

    /// Takes up to four members of a herd.
    pub fn add_herded(&mut self, herd: u32, members: &[Member]) {
        if self.used == self.herded.len() {
            self.herded.push(Herded::default());
        }
        self.herded[self.used].take(herd, members);
        self.used += 1;
    }

    /// Begins their step; keeps those that are of the simple kind just now.
    pub fn begin_herded(&mut self, herds: &Herds, world: &Seen, many: bool) {
        for_each(self.herded_mut(), many, |_, four| four.begin(herds.herd_of(four), world));
        let mut kept = 0;
        for k in 0..self.used {
            if self.herded[k].is_simple() {
                self.herded.swap(kept, k);
                kept += 1;
            }
        }
        self.used = kept;
    }

    /// Mechanisms of herds.
    pub fn herded(&self) -> &[Herded] {
        &self.herded[..self.used]
    }

    pub fn herded_mut(&mut self) -> &mut [Herded] {
        &mut self.herded[..self.used]
    }

    pub fn add(&mut self, mechanism: u32, first_body: u32) {
        self.added.push((mechanism, first_body));
    }

    /// Takes Jacobians and factors, of four mechanisms that are alike together if `lanes` says so.
    pub fn prepare(&mut self, mechanisms: &[&mut Mechanism], lanes: bool) {
        let added = std::mem::take(&mut self.added);
        let mut at = 0;
        while at < added.len() {
            let head = &*mechanisms[added[at].0 as usize];
            let alike = |(m, _): &&(u32, u32)| head.is_laid_out_like(mechanisms[*m as usize]);
            let count = added[at..].iter().take(if lanes { 4 } else { 1 }).take_while(alike).count();
            if count > 1 {
                self.add_four(mechanisms, &added[at..at + count]);
                at += count;
            } else {
                let total = self.single_totals.len();
                self.single_totals.resize(total + head.row_count(), 0.0);
                self.singles.push(Single { mechanism: added[at].0, first_body: added[at].1, total: total as u32 });
                at += 1;
            }
        }
        self.added = added;
    }

    fn add_four(&mut self, mechanisms: &[&mut Mechanism], members: &[(u32, u32)]) {
        let count = members.len();
        let of = |l: usize| members[l.min(count - 1)];
        let parts: [_; 4] = std::array::from_fn(|l| mechanisms[of(l).0 as usize].joint_system());
        let store = |lanes: &mut Vec<f64x4>, part: [&[f64]; 4]| {
            let first = lanes.len() as u32;
            lanes.extend((0..part[0].len()).map(|k| f64x4::new([part[0][k], part[1][k], part[2][k], part[3][k]])));
            first
        };
        let jacobian = store(&mut self.lanes, parts.map(|p| p.jacobian));
        let factor = store(&mut self.lanes, parts.map(|p| p.factor));
        let drift = store(&mut self.lanes, parts.map(|p| p.drift));
        let total = self.lanes.len() as u32;
        self.lanes.resize(self.lanes.len() + parts[0].drift.len(), f64x4::splat(0.0));
        self.fours.push(Four {
            members: std::array::from_fn(|l| of(l).0),
            first_body: std::array::from_fn(|l| if l < count { of(l).1 } else { NOBODY }),
            count,
            jacobian,
            factor,
            drift,
            total,
        });
    }

    /// Gives up those of the mechanisms that are solved by themselves which are `taken`.
    pub fn take_singles(&mut self, mut taken: impl FnMut(&Single) -> bool) {
        self.singles.retain(|single| !taken(single));
    }

    /// Mechanisms that are solved by themselves.
    pub fn singles(&self) -> impl Iterator<Item = u32> {
        self.singles.iter().map(|s| s.mechanism)
    }

    /// Entries of the factors of mechanisms that are solved by themselves.
    pub fn entries_alone(&self, mechanisms: &[&mut Mechanism]) -> usize {
        self.singles.iter().map(|s| mechanisms[s.mechanism as usize].layout.factor.entries()).sum()
    }

    /// By place: whether a mechanism is solved together with one before it, so that no part of the pile may begin with it.
    pub fn tied(&self, units: usize) -> Vec<bool> {
        let mut tied = vec![false; units];
        let mut tie = |first: u32, last: u32| tied[first as usize + 1..=last as usize].fill(true);
        for four in self.herded() {
            let places = four.members().iter().map(|m| m.place);
            tie(places.clone().min().unwrap_or(0), places.max().unwrap_or(0));
        }
        for four in &self.fours {
            let places = four.members.iter().copied();
            tie(places.clone().min().unwrap_or(0), places.max().unwrap_or(0));
        }
        tied
    }

    /// Divides them among the parts of the pile.
    pub fn divide(&mut self, cuts: &[Cut]) {
        self.cuts.clear();
        self.cuts.extend_from_slice(cuts);
    }

    /// Brings velocities back to the joints.
    pub fn project(&mut self, mechanisms: &mut [&mut Mechanism], herds: &Herds, u: &mut [Wide]) {
        let Joints { herded, used, fours, singles, lanes, single_totals, cuts, works, .. } = self;
        let herded = &mut herded[..*used];
        if works.len() <= cuts.len() {
            works.resize_with(cuts.len() + 1, Work::default);
        }
        if cuts.is_empty() {
            let (first, work) = (Cut::default(), &mut works[0]);
            let (totals, first_total, first_lane) = (&mut single_totals[..], 0, 0);
            Section { herded, fours, lanes, first_lane, singles, totals, first_total, mechanisms, u, first, work }
                .project(herds);
            return;
        }
        // all lists are in the order of bodies
        let of_herded = cuts.iter().map(|cut| herded.partition_point(|f| f.members()[0].first_body < cut.body));
        let of_herded: Vec<usize> = of_herded.collect();
        let of_fours = |cut: &Cut| fours.partition_point(|f| f.first_body[0] < cut.body);
        let of_singles = |cut: &Cut| singles.partition_point(|s| s.first_body < cut.body);
        let lane_of = |k: usize| fours.get(k).map_or(lanes.len(), |f| f.jacobian as usize);
        let total_of = |k: usize| singles.get(k).map_or(single_totals.len(), |s| s.total as usize);
        let lane_begins: Vec<usize> = cuts.iter().map(|cut| lane_of(of_fours(cut))).collect();
        let total_begins: Vec<usize> = cuts.iter().map(|cut| total_of(of_singles(cut))).collect();
        let places = cuts.iter().map(|cut| (cut.place as usize).min(mechanisms.len())).collect::<Vec<_>>();
        let mut sections: Vec<Section> = Vec::with_capacity(cuts.len() + 1);
        let lists = split_at_all(herded, of_herded.into_iter())
            .into_iter()
            .zip(split_at_all(lanes, lane_begins.iter().copied()))
            .zip(split_at_all(single_totals, total_begins.iter().copied()))
            .zip(split_at_all(mechanisms, places.into_iter()))
            .zip(split_at_all(u, cuts.iter().map(|cut| cut.body as usize)))
            .zip(works.iter_mut());
        for (k, (((((herded, lanes), totals), mechanisms), u), work)) in lists.enumerate() {
            let first = if k == 0 { Cut::default() } else { cuts[k - 1] };
            let range = |of: &dyn Fn(&Cut) -> usize, all: usize| {
                let begin = if k == 0 { 0 } else { of(&cuts[k - 1]) };
                begin..cuts.get(k).map_or(all, of)
            };
            sections.push(Section {
                herded,
                fours: &fours[range(&of_fours, fours.len())],
                lanes,
                first_lane: if k == 0 { 0 } else { lane_begins[k - 1] as u32 },
                singles: &singles[range(&of_singles, singles.len())],
                totals,
                first_total: if k == 0 { 0 } else { total_begins[k - 1] as u32 },
                mechanisms,
                u,
                first,
                work,
            });
        }
        for_each(&mut sections, true, |_, section| section.project(herds));
    }

    /// Remembers the impulses so far.
    pub fn mark(&mut self) {
        self.herded_mut().iter_mut().for_each(Herded::mark);
        self.marked.clear();
        for four in &self.fours {
            self.marked.extend_from_slice(&self.lanes[four.totals()]);
        }
        self.marked_singles.clone_from(&self.single_totals);
    }

    /// Forgets what was given since then.
    pub fn go_back(&mut self) {
        self.herded_mut().iter_mut().for_each(Herded::go_back);
        let Joints { fours, lanes, marked, .. } = &mut *self;
        let mut marked = marked.iter();
        for four in fours {
            lanes[four.totals()].iter_mut().zip(&mut marked).for_each(|(total, before)| *total = *before);
        }
        self.single_totals.clone_from(&self.marked_singles);
    }

    /// Gives what was given since then some times more.
    pub fn repeat(&mut self, times: f64) {
        self.herded_mut().iter_mut().for_each(|four| four.repeat(times));
        let (Joints { fours, lanes, marked, .. }, many) = (&mut *self, f64x4::splat(times));
        let mut marked = marked.iter();
        for four in fours {
            for (total, before) in lanes[four.totals()].iter_mut().zip(&mut marked) {
                *total += many * (*total - *before);
            }
        }
        for (total, before) in self.single_totals.iter_mut().zip(&self.marked_singles) {
            *total += times * (*total - before);
        }
    }

    pub fn each_total(&self, mut visit: impl FnMut(u32, u32, &[f64])) {
        let mut one = Vec::new();
        for four in &self.fours {
            let total = &self.lanes[four.totals()];
            for l in 0..four.count {
                one.clear();
                one.extend(total.iter().map(|t| t.to_array()[l]));
                visit(four.members[l], four.first_body[l], &one);
            }
        }
        for single in &self.singles {
            visit(single.mechanism, single.first_body, &self.single_totals[single.total as usize..]);
        }
    }
}

impl Section<'_, '_> {
    fn project(&mut self, herds: &Herds) {
        let first = self.first.body;
        let of = |members: &[Member], b: usize| places(members, b).map(|body| body.wrapping_sub(first));
        let read = |u: &[Wide], members: &[Member; 4], b: usize| gather(u, &of(members, b));
        let write = |u: &mut [Wide], members: &[Member], b: usize, lanes: &[f64x4; 6]| {
            scatter_one(u, &of(members, b), lanes);
        };
        let mut rest = &mut *self.herded;
        while !rest.is_empty() {
            let herd = herds.herd_of(&rest[0]);
            let alike = rest.get(1).is_some_and(|two| two.is_of_herd_of(&rest[0]));
            let (now, later) = rest.split_at_mut(if alike { 2 } else { 1 });
            match now {
                [one, two] => Herded::project([one, two], herd, self.u, read, write),
                _ => Herded::project([&mut now[0]], herd, self.u, read, write),
            }
            rest = later;
        }
        for four in self.fours {
            self.project_four(four);
        }
        for single in self.singles {
            let mechanism = &mut *self.mechanisms[(single.mechanism - self.first.place) as usize];
            let first = (single.first_body - self.first.body) as usize;
            let u = &mut self.u[first..first + mechanism.movable_bodies().len()];
            let alone = &mut self.work.alone;
            alone.clear();
            alone.extend(u.iter().map(narrow));
            let impulses = mechanism.project_velocities(alone);
            let totals = &mut self.totals[(single.total - self.first_total) as usize..];
            totals.iter_mut().zip(impulses).for_each(|(total, p)| *total += p);
            u.iter_mut().zip(alone).for_each(|(u, v)| *u = widen(v));
        }
    }

    fn project_four(&mut self, four: &Four) {
        let Work { u: local, rhs, .. } = &mut *self.work;
        let pattern = &*self.mechanisms[(four.members[0] - self.first.place) as usize];
        let bodies = pattern.movable_bodies().len();
        let place =
            |body: usize| four.first_body.map(|f| if f == NOBODY { NOBODY } else { f - self.first.body + body as u32 });
        local.clear();
        local.extend((0..bodies).map(|b| gather(self.u, &place(b))));
        let lanes = &mut self.lanes[(four.jacobian - self.first_lane) as usize..];
        let (jacobian, rest) = lanes.split_at_mut((four.factor - four.jacobian) as usize);
        let (factor, rest) = rest.split_at_mut((four.drift - four.factor) as usize);
        let (drift, total) = rest.split_at_mut((four.total - four.drift) as usize);
        rhs.clear();
        rhs.extend_from_slice(drift);
        pattern.project_lanes(jacobian, factor, rhs, local);
        for (total, p) in total.iter_mut().zip(&*rhs) {
            *total += *p;
        }
        for (b, lanes) in local.iter().enumerate() {
            scatter_one(self.u, &place(b), lanes);
        }
    }
}

/// Where the `b`-th bodies of members are in the pile.
#[inline(always)]
pub(super) fn places(members: &[Member], b: usize) -> [u32; 4] {
    std::array::from_fn(|l| members.get(l).map_or(NOBODY, |m| m.first_body + b as u32))
}
