//! Adaptive dynamics (Redon, Galoppo, Lin 2005): of a large tree only the joints that matter move.
//!
//! The tree is put together from its links two pieces at a time ([`assembly`](super::assembly)). A node stands for the joint
//! between its two parts; nodes that are *active* form the top of the assembly, and the pieces below it stand still inside and move
//! as one body each. With these as links and the active joints between them there is a much smaller tree, the hybrid tree, on which
//! all of [`reduced`](super) works: [`aba`](super::aba()), Jacobians, impulses, prescribed accelerations.
//!
//! Which joints matter is found from the top: what every joint would accelerate with if all were free, Σ q̈² over a piece, follows from
//! the forces on its ends without a look inside ([`frozen`]). Pieces are opened in the order of that metric until what is
//! left is below the error allowed or enough joints are active ([`choice`]). Joints whose piece is not opened come to rest by an
//! impact (Kokkevis), so that momentum is kept. All of this costs time by the active joints and the depth of the assembly.

mod choice;
mod frozen;

use super::aba;
use super::assembly::Assembly;
use super::impulse::{Prescribed, PrescribedVelocity, Target, prescribe, prescribe_velocities, respond};
use super::inverse::jacobian;
use super::kinematics::{Data, State, forward_kinematics};
use super::model::{Link, Model, NONE};
use crate::math::inertia::principal_axes;
use crate::math::{Placed, Pose};
use frozen::{Frozen, hinge_at};
use glam::{DMat3, DVec3};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How much of a tree moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Joints that are active at most, those that carry the whole not counted.
    pub most: usize,
    /// Accelerations that may be lost, √Σq̈² over all joints at rest, rad/s² and m/s².
    pub tolerance: f64,
    /// A joint that moves matters as if it had q̇ over this time as an acceleration more, s.
    pub settling: f64,
}

impl Default for Activity {
    fn default() -> Self {
        Activity { most: usize::MAX, tolerance: 1e-3, settling: 0.1 }
    }
}

/// Why a tree cannot be simulated adaptively.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CannotAdapt {
    /// Gravity acts differently on this body than on the first.
    Gravity {
        /// Place of the body in the tree.
        index: usize,
    },
    /// The tree has loops, or no bodies at all.
    NotATree,
    /// Positions, rates or forces are not as many as the model's, or not finite.
    BadState,
}

impl fmt::Display for CannotAdapt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotAdapt::Gravity { index } => {
                write!(f, "gravity acts on body {index} otherwise than on the first: give all the same gravity_scale")
            }
            CannotAdapt::NotATree => write!(f, "there are no bodies, or joints that close loops: use aba"),
            CannotAdapt::BadState => {
                write!(f, "positions, rates and forces must be finite and as many as the model has")
            }
        }
    }
}

impl std::error::Error for CannotAdapt {}

/// What is known of a piece of the assembly.
#[derive(Default)]
struct Node {
    active: bool,
    /// What it is while it stands still.
    frozen: Option<Box<Frozen>>,
}

/// A piece of the hybrid tree.
#[derive(Clone, Copy)]
struct Piece {
    node: u32,
    /// Its body frame (centre of mass, principal axes) in the frame of its first link.
    body: Placed,
}

/// A tree of which only a part moves.
pub struct Adaptive {
    links: Vec<Link>,
    ground: Model,
    gravity: DVec3,
    assembly: Assembly,
    nodes: Vec<Node>,
    /// Positions and rates of all joints; those of active ones are in the hybrid state.
    q: Vec<f64>,
    force: Vec<f64>,
    activity: Activity,
    hybrid: Model,
    data: Data,
    state: State,
    hybrid_force: Vec<f64>,
    /// By the place of their first links in the assembly's order.
    pieces: Vec<Piece>,
    /// Bounds of joints of one rate, by link.
    limits: BTreeMap<usize, (f64, f64)>,
    lost: f64,
}

impl Adaptive {
    /// A tree at a state; joints with a rate are active from the start. `force` is by rate (N m, N) and constant.
    ///
    /// Costs time by the number of links, once.
    pub fn new(model: &Model, state: &State, force: &[f64], activity: Activity) -> Result<Adaptive, CannotAdapt> {
        let n = model.bodies();
        let fits = state.q.len() == model.positions() && state.v.len() == model.rates() && force.len() == model.rates();
        let mut numbers = state.q.iter().chain(&state.v).chain(force);
        if !fits || numbers.any(|x| !x.is_finite()) {
            return Err(CannotAdapt::BadState);
        }
        if n == 0 || !model.closing.is_empty() {
            return Err(CannotAdapt::NotATree);
        }
        let gravity = model.weight[0] / model.links[0].mass;
        for (index, (link, weight)) in model.links.iter().zip(&model.weight).enumerate() {
            if (*weight / link.mass - gravity).length() > 1e-9 * (1.0 + gravity.length()) {
                return Err(CannotAdapt::Gravity { index });
            }
        }
        let mut ground = model.clone();
        ground.links.clear();
        let parents: Vec<u32> = model.links.iter().map(|l| l.parent).collect();
        let assembly = Assembly::of(&parents);
        let mut tree = Adaptive {
            links: model.links.clone(),
            ground,
            gravity,
            nodes: assembly.parts.iter().map(|_| Node::default()).collect(),
            assembly,
            q: state.q.clone(),
            force: force.to_vec(),
            activity,
            hybrid: Model::default(),
            data: Data::default(),
            state: State::default(),
            hybrid_force: Vec::new(),
            pieces: Vec::new(),
            limits: BTreeMap::new(),
            lost: 0.0,
        };
        for (k, link) in model.links.iter().enumerate() {
            let rates = &state.v[link.v as usize..(link.v as usize + link.rates as usize)];
            if rates.iter().any(|v| *v != 0.0)
                && let Some(node) = tree.assembly.joined_by(k as u32)
            {
                tree.activate(node);
            }
        }
        // parts come after the whole
        (0..tree.nodes.len()).rev().for_each(|node| tree.freeze(node));
        let rates_of = |link: &Link| state.v[link.v as usize..link.v as usize + link.rates as usize].to_vec();
        let moving = tree.links.iter().enumerate().map(|(k, link)| (k as u32, rates_of(link))).collect();
        tree.lay_out(&moving);
        tree.refine();
        Ok(tree)
    }

    /// How much moves, from the next step on.
    pub fn set_activity(&mut self, activity: Activity) {
        self.activity = activity;
    }

    /// The bounds of a joint of one rate, by the place of the body that it carries. False if it has not one rate.
    pub fn set_limit(&mut self, index: usize, min: f64, max: f64) -> bool {
        let single = self.links.get(index).is_some_and(|l| l.rates == 1) && min <= max;
        if single {
            self.limits.insert(index, (min, max));
        }
        single
    }

    /// Places of the bodies whose joints are active, those that the ground carries included.
    pub fn active(&self) -> impl Iterator<Item = usize> {
        (0..self.pieces.len()).map(|piece| self.first_of(piece))
    }

    /// √Σq̈² over all joints at rest, as they would accelerate if all were free: what the last choice lost.
    pub fn lost(&self) -> f64 {
        self.lost
    }

    /// The small tree of what moves: its model, its memory and its state, for the algorithms of [`reduced`](super).
    pub fn hybrid(&mut self) -> (&Model, &mut Data, &State, &[f64]) {
        (&self.hybrid, &mut self.data, &self.state, &self.hybrid_force)
    }

    /// Positions and rates of the whole tree.
    pub fn state(&self) -> State {
        let mut state = State { q: self.q.clone(), v: vec![0.0; self.force.len()] };
        for (k, piece) in self.pieces.iter().enumerate() {
            let whole = &self.links[self.assembly.parts[piece.node as usize].near as usize];
            let part = &self.hybrid.links[k];
            let (n, rates) = (whole.freedom.positions(), whole.rates as usize);
            let (to, from) = (whole.q as usize, part.q as usize);
            state.q[to..to + n].copy_from_slice(&self.state.q[from..from + n]);
            let (to, from) = (whole.v as usize, part.v as usize);
            state.v[to..to + rates].copy_from_slice(&self.state.v[from..from + rates]);
        }
        state
    }

    /// Accelerations of all joints at this moment, zero of those at rest.
    pub fn accelerations(&mut self) -> Vec<f64> {
        let mut out = vec![0.0; self.force.len()];
        aba(&self.hybrid, &mut self.data, &self.state.q, &self.state.v, &self.hybrid_force, &[]);
        for (k, piece) in self.pieces.iter().enumerate() {
            let whole = &self.links[self.assembly.parts[piece.node as usize].near as usize];
            let (to, from, rates) = (whole.v as usize, self.hybrid.links[k].v as usize, whole.rates as usize);
            out[to..to + rates].copy_from_slice(&self.data.acceleration[from..from + rates]);
        }
        out
    }

    /// The pose of a body's principal axes at its centre of mass, in time by the depth of the assembly.
    pub fn pose(&mut self, index: usize) -> Option<Pose> {
        if index >= self.links.len() {
            return None;
        }
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        let piece = self.piece_of(index);
        let mut at = self.first_link(piece);
        let mut node = self.pieces[piece].node as usize;
        let place = self.assembly.place[index];
        while let Some((a, b)) = self.assembly.parts[node].parts {
            let joint = self.assembly.parts[b as usize].near as usize;
            if place < self.assembly.place[joint] {
                node = a as usize;
            } else {
                let before = self.frozen(a).span;
                let other = Placed::new(at.x + at.r * before.x, (at.q * before.q).normalize());
                at = hinge_at(&self.links[joint], &other, &self.q, &self.force).1;
                node = b as usize;
            }
        }
        Some(Pose { position: at.x, orientation: at.q })
    }

    /// The hybrid Jacobian of a world point of a body over the active rates, in six rows as of [`jacobian`](super::jacobian()).
    pub fn jacobian(&mut self, index: usize, point: DVec3) -> Vec<f64> {
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        jacobian(&self.hybrid, &self.data, self.piece_of(index.min(self.links.len() - 1)), point)
    }

    /// Gives an impulse (N s) to a world point of a body. The joints around the body become active, the rest answers as rigid pieces.
    pub fn strike(&mut self, index: usize, point: DVec3, impulse: DVec3) -> bool {
        if index >= self.links.len() || !point.is_finite() || !impulse.is_finite() {
            return false;
        }
        let above = self.assembly.parts[self.assembly.leaves[index] as usize].above;
        if above != NONE && !self.nodes[above as usize].active {
            let rates = self.keep();
            self.activate(above);
            self.lay_out(&rates);
        }
        let piece = self.piece_of(index);
        let none = vec![0.0; self.hybrid.rates()];
        respond(&self.hybrid, &mut self.data, &self.state.q, &none, &[(piece, point, impulse)]);
        self.state.v.iter_mut().zip(&self.data.acceleration).for_each(|(v, dv)| *v += dv);
        true
    }

    /// A step of `h` seconds: chooses what moves, then half a kick, the move, half a kick, limits by impact and by held acceleration.
    pub fn step(&mut self, h: f64) {
        self.refine();
        self.accelerate();
        let first: Vec<f64> = self.data.acceleration.clone();
        self.state.v.iter_mut().zip(&first).for_each(|(v, a)| *v += 0.5 * h * a);
        self.hybrid.integrate(&mut self.state.q, &self.state.v, h);
        // rates of the end as far as they are known: forces that depend on them stay of second order
        let middle = self.state.v.clone();
        self.state.v.iter_mut().zip(&first).for_each(|(v, a)| *v += 0.5 * h * a);
        self.accelerate();
        for (k, v) in self.state.v.iter_mut().enumerate() {
            *v = middle[k] + 0.5 * h * self.data.acceleration[k];
        }
        self.stop_at_limits();
    }

    /// Accelerations of the hybrid tree, with joints at their limits held that would go beyond.
    fn accelerate(&mut self) {
        aba(&self.hybrid, &mut self.data, &self.state.q, &self.state.v, &self.hybrid_force, &[]);
        let mut held: Vec<Prescribed> = Vec::new();
        // what is held can push others beyond theirs: a few rounds, one more joint each at least
        loop {
            let beyond = self.limited().filter(|(rate, side)| {
                let resting = self.state.v[*rate] * side <= 1e-9;
                let known = held.iter().any(|h| h.target == Target::Rate(*rate));
                resting && !known && self.data.acceleration[*rate] * side < -1e-12
            });
            let more: Vec<_> = beyond.map(|(r, _)| Prescribed { target: Target::Rate(r), acceleration: 0.0 }).collect();
            if more.is_empty() {
                return;
            }
            held.extend(more);
            let (q, v, force) = (&self.state.q, &self.state.v, &self.hybrid_force);
            if prescribe(&self.hybrid, &mut self.data, q, v, force, &[], &held).is_err() {
                return;
            }
        }
    }

    /// Active joints at or beyond a bound: rate, and the sign of the way back.
    fn limited(&self) -> impl Iterator<Item = (usize, f64)> {
        self.pieces.iter().enumerate().filter_map(|(k, piece)| {
            let (min, max) = self.limits.get(&(self.assembly.parts[piece.node as usize].near as usize))?;
            let link = &self.hybrid.links[k];
            let q = self.state.q[link.q as usize];
            let side = if q <= *min { 1.0 } else { -1.0 };
            (q <= *min || q >= *max).then_some((link.v as usize, side))
        })
    }

    /// Stops joints that run into a bound, by an impact that the whole hybrid tree answers.
    fn stop_at_limits(&mut self) {
        for _ in 0..8 {
            let coming = self.limited().filter(|(rate, side)| self.state.v[*rate] * side < -1e-12);
            let stop = |(rate, _)| PrescribedVelocity { target: Target::Rate(rate), velocity: 0.0 };
            let wanted: Vec<_> = coming.map(stop).collect();
            if wanted.is_empty() {
                return;
            }
            let (q, v) = (&self.state.q, &self.state.v);
            let Ok((_, rates)) = prescribe_velocities(&self.hybrid, &mut self.data, q, v, &wanted) else { return };
            self.state.v = rates;
        }
    }

    /// Makes a node and all above it active.
    fn activate(&mut self, mut node: u32) {
        while node != NONE && !self.nodes[node as usize].active {
            let n = &mut self.nodes[node as usize];
            (n.active, n.frozen) = (true, None);
            node = self.assembly.parts[node as usize].above;
        }
    }

    /// Knows a piece that stands still, if its parts are known.
    fn freeze(&mut self, node: usize) {
        if self.nodes[node].active || self.nodes[node].frozen.is_some() {
            return;
        }
        let part = self.assembly.parts[node];
        let frozen = match part.parts {
            None => Frozen::link(&self.links[part.near as usize]),
            Some((a, b)) => {
                let link = &self.links[self.assembly.parts[b as usize].near as usize];
                Frozen::join(self.frozen(a), self.frozen(b), part.beside, link, &self.q, &self.force)
            }
        };
        self.nodes[node].frozen = Some(Box::new(frozen));
    }

    fn frozen(&self, node: u32) -> &Frozen {
        let Some(frozen) = &self.nodes[node as usize].frozen else {
            unreachable!("what stands still is known from when it came to rest")
        };
        frozen
    }

    /// Writes the positions of active joints into those of the whole tree; returns their rates by link.
    fn keep(&mut self) -> BTreeMap<u32, Vec<f64>> {
        let mut rates = BTreeMap::new();
        for (k, piece) in self.pieces.iter().enumerate() {
            let first = self.assembly.parts[piece.node as usize].near;
            let (whole, part) = (&self.links[first as usize], &self.hybrid.links[k]);
            let (to, from, n) = (whole.q as usize, part.q as usize, whole.freedom.positions());
            self.q[to..to + n].copy_from_slice(&self.state.q[from..from + n]);
            rates.insert(first, self.state.v[part.v as usize..part.v as usize + part.rates as usize].to_vec());
        }
        rates
    }

    /// The hybrid tree of the present choice; joints without a rate so far stand still.
    fn lay_out(&mut self, rates: &BTreeMap<u32, Vec<f64>>) {
        self.pieces.clear();
        let mut stack: Vec<u32> = self.assembly.roots.iter().rev().copied().collect();
        while let Some(node) = stack.pop() {
            match self.assembly.parts[node as usize].parts.filter(|_| self.nodes[node as usize].active) {
                Some((a, b)) => stack.extend([b, a]),
                None => {
                    let body = self.body_of(node);
                    self.pieces.push(Piece { node, body });
                }
            }
        }
        let mut links = Vec::with_capacity(self.pieces.len());
        let mut weight = Vec::with_capacity(self.pieces.len());
        let mut state = State::default();
        let mut force = Vec::new();
        let mut parents = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let frozen = self.frozen(piece.node);
            let whole = &self.links[self.assembly.parts[piece.node as usize].near as usize];
            let mut link = whole.clone();
            link.mass = frozen.mass;
            if self.assembly.parts[piece.node as usize].parts.is_some() {
                let seen = DMat3::from_quat(piece.body.q).transpose() * frozen.inertia * DMat3::from_quat(piece.body.q);
                link.moments = DVec3::new(seen.x_axis.x, seen.y_axis.y, seen.z_axis.z);
            }
            // anchors and axes on both sides, seen from the bodies of the pieces
            let carrier = (whole.parent != NONE).then(|| self.piece_of(whole.parent as usize));
            parents.push(carrier.map_or(NONE, |p| p as u32));
            let before = carrier.map(|p| {
                let last = self.frozen(self.pieces[p].node).span;
                relative(&self.pieces[p].body, &last)
            });
            let own = relative(&piece.body, &Placed::WORLD);
            let (on_a, on_b) = if link.reversed { (Some(own), before) } else { (before, Some(own)) };
            let m = &mut link.model;
            if let Some(at) = on_a {
                m.anchor_a = at.x + at.r * m.anchor_a;
                (m.frame_a, m.turn_a) = (at.r * m.frame_a, (at.q * m.turn_a).normalize());
            }
            if let Some(at) = on_b {
                m.anchor_b = at.x + at.r * m.anchor_b;
                (m.frame_b, m.turn_b) = (at.r * m.frame_b, (at.q * m.turn_b).normalize());
            }
            let (q, v) = (whole.q as usize, whole.v as usize);
            state.q.extend_from_slice(&self.q[q..q + whole.freedom.positions()]);
            match rates.get(&self.assembly.parts[piece.node as usize].near) {
                Some(rates) => state.v.extend_from_slice(rates),
                None => state.v.extend(std::iter::repeat_n(0.0, whole.rates as usize)),
            }
            force.extend_from_slice(&self.force[v..v + whole.rates as usize]);
            weight.push(self.gravity * frozen.mass);
            links.push(link);
        }
        self.hybrid = Model::of_pieces(links, &parents, weight, &self.ground);
        self.data = Data::new(&self.hybrid);
        self.state = state;
        self.hybrid_force = force;
    }

    /// Centre of mass and principal axes of a piece, in the frame of its first link.
    fn body_of(&self, node: u32) -> Placed {
        if self.assembly.parts[node as usize].parts.is_none() {
            return Placed::WORLD;
        }
        let frozen = self.frozen(node);
        Placed::new(frozen.center, principal_axes(frozen.inertia).1)
    }

    /// The link that carries a piece of the hybrid tree, its first.
    fn first_of(&self, piece: usize) -> usize {
        self.assembly.parts[self.pieces[piece].node as usize].near as usize
    }

    /// The piece of the hybrid tree that a link belongs to.
    fn piece_of(&self, index: usize) -> usize {
        let place = &self.assembly.place;
        self.pieces.partition_point(|p| place[self.assembly.parts[p.node as usize].near as usize] <= place[index]) - 1
    }

    /// Where the first link of a piece is, as of the last kinematics.
    fn first_link(&self, piece: usize) -> Placed {
        let at = self.data.links[piece].placed;
        let body = &self.pieces[piece].body;
        let q = (at.q * body.q.inverse()).normalize();
        let turned = Placed::new(DVec3::ZERO, q);
        Placed { x: at.x - turned.r * body.x, ..turned }
    }

    /// Chooses which joints are active.
    fn refine(&mut self) {
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        let (seen, wholes) = self.look();
        let (open, lost) = self.choose(&seen, wholes);
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

/// A frame seen from another, both in the same one.
fn relative(from: &Placed, to: &Placed) -> Placed {
    Placed::new(from.r.transpose() * (to.x - from.x), (from.q.inverse() * to.q).normalize())
}
