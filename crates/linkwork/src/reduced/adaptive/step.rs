//! The step of a tree of which only a part moves, and the choice that comes before it.

use super::super::aba;
use super::super::impulse::{PrescribedVelocity, Target, prescribe_velocities};
use super::super::kinematics::forward_kinematics;
use super::super::model::NONE;
use super::Adaptive;
use super::unilateral::Source;
use crate::contact::lcp::Failure;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stepped {
    /// Joints that were active, those that the ground carries included.
    pub active: usize,
    /// √Σq̈² over all joints at rest: what the choice lost, rad/s² and m/s². [`Adaptive::lost`].
    pub lost: f64,
    /// Corners of links that pressed on a plane.
    pub contacts: usize,
    /// Joints that pressed on a bound.
    pub at_limits: usize,
    /// How far anything was beyond its bound or in the ground before it was pushed back, rad or m.
    pub overshoot: f64,
}

/// Why a step could not be made.
#[derive(Clone, Debug, PartialEq)]
pub enum CannotStep {
    /// The size of the step is not a positive number of seconds.
    Size(f64),
    /// No solver found impulses that hold limits and contacts.
    Holding(Failure),
    /// Numbers ran out of range.
    NotFinite,
}

impl fmt::Display for CannotStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotStep::Size(h) => write!(f, "a step of {h} s is not a positive number of seconds"),
            CannotStep::Holding(failure) => write!(f, "limits and contacts cannot be held: {failure}"),
            CannotStep::NotFinite => write!(f, "positions or rates ran out of range: try a smaller step"),
        }
    }
}

impl std::error::Error for CannotStep {}

/// Repetitions of the second half kick where something holds: rates of the end decide how it is held.
const REPEATS: usize = 3;

impl Adaptive {
    /// A step of `h` seconds: chooses what moves, then half a kick, the move and half a kick, with limits and contacts held in both
    /// halves. On an error everything is as it was.
    pub fn step(&mut self, h: f64) -> Result<Stepped, CannotStep> {
        if !(h > 0.0 && h.is_finite()) {
            return Err(CannotStep::Size(h));
        }
        let active: BTreeSet<u32> = self.active_nodes().collect();
        let rates = self.keep();
        let lost = self.lost;
        let near = self.near_ground(h);
        self.refine(&near);
        match self.advance(&near, h) {
            Ok(stepped) => {
                self.beyond.clear();
                Ok(stepped)
            }
            Err(error) => {
                self.lost = lost;
                self.go_back(&active, &rates);
                Err(error)
            }
        }
    }

    fn advance(&mut self, near: &[usize], h: f64) -> Result<Stepped, CannotStep> {
        let external = self.external();
        let overshoot = self.push_back(near).map_err(CannotStep::Holding)?;
        let start = self.state.v.clone();
        aba(&self.hybrid, &mut self.data, &self.state.q, &start, &self.hybrid_force, &external);
        let first = self.data.acceleration.clone();
        let mut middle: Vec<f64> = start.iter().zip(&first).map(|(v, a)| v + 0.5 * h * a).collect();
        let rows = self.hold_first(near, &mut middle, &start, h).map_err(CannotStep::Holding)?;
        self.hybrid.integrate(&mut self.state.q, &middle, h);

        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &middle);
        let mut rows = self.arrived(rows);
        // rates of the end as far as they are known: forces that depend on them stay of second order
        let mut end: Vec<f64> = if rows.is_empty() {
            middle.iter().zip(&first).map(|(v, a)| v + 0.5 * h * a).collect()
        } else {
            middle.clone()
        };
        for _ in 0..if rows.is_empty() { 1 } else { REPEATS } {
            aba(&self.hybrid, &mut self.data, &self.state.q, &end, &self.hybrid_force, &external);
            let second = self.data.acceleration.clone();
            end = if rows.is_empty() { middle.clone() } else { self.without(&rows, &middle) };
            end.iter_mut().zip(&second).for_each(|(v, a)| *v += 0.5 * h * a);
            if !rows.is_empty() {
                self.totals = self.hold_second(&rows, &mut end).map_err(CannotStep::Holding)?;
            }
        }
        rows.iter_mut().zip(&self.totals).for_each(|(row, x)| row.impulse = *x);
        self.state.v = end;
        if self.state.q.iter().chain(&self.state.v).any(|x| !x.is_finite()) {
            return Err(CannotStep::NotFinite);
        }
        self.remember(&rows, h);
        let pressing = |limit: bool| {
            let counts = |source: &Source| match source {
                Source::Limit { .. } => limit,
                Source::Contact { tangent, .. } => !limit && !tangent,
            };
            rows.iter().filter(|row| counts(&row.source) && row.impulse != 0.0).count()
        };
        let (contacts, at_limits) = (pressing(false), pressing(true));
        Ok(Stepped { active: self.pieces.len(), lost: self.lost, contacts, at_limits, overshoot })
    }

    fn active_nodes(&self) -> impl Iterator<Item = u32> {
        self.visible().into_iter().filter(|node| self.nodes[*node as usize].active)
    }

    /// Takes back a choice of active joints and what has moved since.
    fn go_back(&mut self, active: &BTreeSet<u32>, rates: &BTreeMap<u32, Vec<f64>>) {
        let now: Vec<u32> = self.active_nodes().collect();
        for &node in active {
            let n = &mut self.nodes[node as usize];
            (n.active, n.frozen) = (true, None);
        }
        // parts have larger numbers than what they are parts of
        for node in now.into_iter().rev().filter(|node| !active.contains(node)) {
            self.nodes[node as usize].active = false;
            self.freeze(node as usize);
        }
        self.lay_out(rates);
    }

    /// Nodes that must be open, with all above them: links that something acts on by itself, and joints beyond their bounds.
    fn needed(&self, near: &[usize]) -> BTreeSet<u32> {
        let above = |link: &usize| Some(self.assembly.parts[self.assembly.leaves[*link] as usize].above);
        let links = near.iter().chain(self.loads.keys()).filter_map(above);
        let joints = self.beyond.iter().filter_map(|link| self.assembly.joined_by(*link as u32));
        let mut needed = BTreeSet::new();
        for mut node in links.chain(joints) {
            while node != NONE && needed.insert(node) {
                node = self.assembly.parts[node as usize].above;
            }
        }
        needed
    }

    /// Chooses which joints are active.
    pub(super) fn refine(&mut self, near: &[usize]) {
        let needed = self.needed(near);
        if needed.iter().any(|node| !self.nodes[*node as usize].active) {
            let rates = self.keep();
            needed.iter().for_each(|node| self.activate(*node));
            self.lay_out(&rates);
        }
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        let (seen, wholes) = self.look();
        let (open, lost) = self.choose(&seen, wholes, &needed);
        self.lost = lost.sqrt();
        let closed: Vec<u32> =
            seen.keys().copied().filter(|n| self.nodes[*n as usize].active && !open.contains(n)).collect();
        let opened = open.iter().any(|n| !self.nodes[*n as usize].active);
        if closed.is_empty() && !opened {
            return;
        }
        self.bring_to_rest(&closed);
        let rates = self.keep();
        for node in &open {
            let n = &mut self.nodes[*node as usize];
            (n.active, n.frozen) = (true, None);
        }
        for node in &closed {
            self.nodes[*node as usize].active = false;
        }
        // parts have larger numbers than what they are parts of
        for node in closed.iter().rev() {
            self.freeze(*node as usize);
        }
        self.lay_out(&rates);
    }

    /// Takes the rates of joints to zero by an impact.
    fn bring_to_rest(&mut self, closed: &[u32]) {
        let joints: BTreeSet<u32> = closed.iter().filter_map(|n| self.assembly.joint(*n)).collect();
        let mut wanted = Vec::new();
        for (k, piece) in self.pieces.iter().enumerate() {
            if joints.contains(&self.assembly.parts[piece.node as usize].near) {
                let link = &self.hybrid.links[k];
                let rates = link.v as usize..link.v as usize + link.rates as usize;
                wanted.extend(rates.map(|r| PrescribedVelocity { target: Target::Rate(r), velocity: 0.0 }));
            }
        }
        let (q, v) = (&self.state.q, &self.state.v);
        if wanted.iter().all(|w| matches!(w.target, Target::Rate(r) if v[r] == 0.0)) {
            return;
        }
        if let Ok((_, rates)) = prescribe_velocities(&self.hybrid, &mut self.data, q, v, &wanted) {
            self.state.v = rates;
        }
    }
}
