//! Joints of a pile: velocities brought back to them after every sweep, u −= Ĵᵀ A⁻¹ (Ĵu + drift).
//!
//! A pile is often many of the same thing. Mechanisms that are laid out alike are solved four at a time, one to a lane, with
//! their own Jacobians and factors; what stands alone is solved by itself.

use super::lanes::{gather, scatter_one};
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
    u: Vec<[f64x4; 6]>,
    rhs: Vec<f64x4>,
    alone: Vec<Hat>,
}

impl Joints {
    pub fn clear(&mut self) {
        self.added.clear();
        self.used = 0;
        self.fours.clear();
        self.singles.clear();
        self.lanes.clear();
        self.single_totals.clear();
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

    /// Entries of the factors of mechanisms that are solved by themselves.
    pub fn entries_alone(&self, mechanisms: &[&mut Mechanism]) -> usize {
        self.singles.iter().map(|s| mechanisms[s.mechanism as usize].layout.factor.entries()).sum()
    }

    /// Brings velocities back to the joints.
    pub fn project(&mut self, mechanisms: &mut [&mut Mechanism], herds: &Herds, u: &mut [Wide]) {
        for four in &mut self.herded[..self.used] {
            let read = |u: &[Wide], members: &[Member; 4], b: usize| gather(u, &places(members, b));
            let write = |u: &mut [Wide], members: &[Member], b: usize, lanes: &[f64x4; 6]| {
                scatter_one(u, &places(members, b), lanes);
            };
            four.project(herds.herd_of(four), u, read, write);
        }
        for k in 0..self.fours.len() {
            self.project_four(k, mechanisms, u);
        }
        for single in &self.singles {
            let mechanism = &mut *mechanisms[single.mechanism as usize];
            let first = single.first_body as usize;
            let bodies = mechanism.movable_bodies().len();
            self.alone.clear();
            self.alone.extend(u[first..first + bodies].iter().map(narrow));
            let impulses = mechanism.project_velocities(&mut self.alone);
            for (total, p) in self.single_totals[single.total as usize..].iter_mut().zip(impulses) {
                *total += p;
            }
            for (u, v) in u[first..first + bodies].iter_mut().zip(&self.alone) {
                *u = widen(v);
            }
        }
    }

    fn project_four(&mut self, k: usize, mechanisms: &[&mut Mechanism], u: &mut [Wide]) {
        let Joints { fours, lanes, u: local, rhs, .. } = self;
        let four = &fours[k];
        let pattern = &*mechanisms[four.members[0] as usize];
        let bodies = pattern.movable_bodies().len();
        let place = |body: usize| four.first_body.map(|f| if f == NOBODY { NOBODY } else { f + body as u32 });
        local.clear();
        local.extend((0..bodies).map(|b| gather(u, &place(b))));
        let (jacobian, rest) = lanes[four.jacobian as usize..].split_at_mut((four.factor - four.jacobian) as usize);
        let (factor, rest) = rest.split_at_mut((four.drift - four.factor) as usize);
        let (drift, total) = rest.split_at_mut((four.total - four.drift) as usize);
        rhs.clear();
        rhs.extend_from_slice(drift);
        pattern.project_lanes(jacobian, factor, rhs, local);
        for (total, p) in total.iter_mut().zip(&*rhs) {
            *total += *p;
        }
        for (b, lanes) in local.iter().enumerate() {
            scatter_one(u, &place(b), lanes);
        }
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

/// Where the `b`-th bodies of members are in the pile.
#[inline(always)]
pub(super) fn places(members: &[Member], b: usize) -> [u32; 4] {
    std::array::from_fn(|l| members.get(l).map_or(NOBODY, |m| m.first_body + b as u32))
}
