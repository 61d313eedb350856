//! Adaptive dynamics (Redon, Galoppo, Lin 2005): of a long chain only the joints that matter move.
//!
//! The chain is divided in halves down to its links: the assembly tree. A node stands for the joint in the middle of its piece;
//! nodes that are *active* form the top of the tree, and the pieces below it stand still inside and move as one body each. With
//! these as links and the active joints between them there is a much shorter chain, the hybrid chain, on which all of
//! [`reduced`](super) works: [`aba`](super::aba()), Jacobians, impulses, prescribed accelerations.
//!
//! Which joints matter is found from the top: what every joint would accelerate with if all were free, Σ q̈² over a piece, follows from
//! the forces on its ends without a look inside ([`frozen`]). Pieces are opened in the order of that metric until what is
//! left is below the error allowed or enough joints are active. Joints whose piece is not opened come to rest by an impact
//! (Kokkevis), so that momentum is kept. All of this costs time by the active joints and the logarithm of the chain.

mod frozen;

use super::aba;
use super::dca::{NotAChain, V, motion};
use super::impulse::{Prescribed, PrescribedVelocity, Target, prescribe, prescribe_velocities, respond};
use super::inverse::jacobian;
use super::kinematics::{Data, State, carrier_acceleration, forward_kinematics};
use super::model::{Link, Model, NONE};
use crate::math::inertia::principal_axes;
use crate::math::{Placed, Pose};
use frozen::{Frozen, Hinge, Live, field};
use glam::{DMat3, DVec3};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;

/// How much more an active node matters than one that stands still.
const STAYS: f64 = 16.0;

/// How much of a chain moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activity {
    /// Joints that are active at most, the one that carries the chain not counted.
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

/// Why a chain cannot be simulated adaptively.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CannotAdapt {
    /// It branches.
    NotAChain(NotAChain),
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
            CannotAdapt::NotAChain(e) => write!(f, "{e}"),
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

/// A node of the assembly tree: the links from `first` on, the joint of link `middle` between the halves.
struct Node {
    first: u32,
    middle: u32,
    parts: Option<(u32, u32)>,
    above: u32,
    active: bool,
    /// What it is while it stands still.
    frozen: Option<Box<Frozen>>,
}

/// A piece of the hybrid chain.
#[derive(Clone, Copy)]
struct Piece {
    node: u32,
    /// Its body frame (centre of mass, principal axes) in the frame of its first link.
    body: Placed,
}

/// A chain of which only a part moves.
pub struct Adaptive {
    links: Vec<Link>,
    ground: Model,
    gravity: DVec3,
    nodes: Vec<Node>,
    /// Node of every link by itself.
    leaves: Vec<u32>,
    /// Positions and rates of all joints; those of active ones are in the hybrid state.
    q: Vec<f64>,
    force: Vec<f64>,
    activity: Activity,
    hybrid: Model,
    data: Data,
    state: State,
    hybrid_force: Vec<f64>,
    pieces: Vec<Piece>,
    /// Bounds of joints of one rate, by link.
    limits: BTreeMap<usize, (f64, f64)>,
    lost: f64,
}

/// A node that may be opened.
struct Candidate {
    key: f64,
    node: u32,
    metric: f64,
    near: V,
    far: V,
    pose: Placed,
    motion: (DVec3, DVec3),
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Candidate {}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.total_cmp(&other.key).then(other.node.cmp(&self.node))
    }
}

/// What was found of an active node: the ends of its parts, its joint, and Σ q̈² and Σ q̇² of all joints in it.
struct Seen {
    live: Live,
    hinge: Option<Hinge>,
    metric: f64,
    speed: f64,
    near: V,
    far: V,
}

impl Adaptive {
    /// A chain at a state; joints with a rate are active from the start. `force` is by rate (N m, N) and constant.
    ///
    /// Costs time by the length of the chain, once.
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
        for (k, link) in model.links.iter().enumerate() {
            let expected = if k == 0 { NONE } else { k as u32 - 1 };
            if link.parent != expected {
                return Err(CannotAdapt::NotAChain(NotAChain { index: k }));
            }
        }
        let gravity = model.weight[0] / model.links[0].mass;
        for (index, (link, weight)) in model.links.iter().zip(&model.weight).enumerate() {
            if (*weight / link.mass - gravity).length() > 1e-9 * (1.0 + gravity.length()) {
                return Err(CannotAdapt::Gravity { index });
            }
        }
        let mut ground = model.clone();
        ground.links.clear();
        let mut chain = Adaptive {
            links: model.links.clone(),
            ground,
            gravity,
            nodes: Vec::with_capacity(2 * n),
            leaves: vec![NONE; n],
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
        chain.divide(0, n as u32);
        for k in 1..n {
            let link = &chain.links[k];
            let rates = &state.v[link.v as usize..(link.v as usize + link.rates as usize)];
            if rates.iter().any(|v| *v != 0.0) {
                let node = chain.node_of_joint(k);
                chain.activate(node);
            }
        }
        chain.freeze_all();
        let rates_of = |link: &Link| state.v[link.v as usize..link.v as usize + link.rates as usize].to_vec();
        let moving = chain.links.iter().enumerate().map(|(k, link)| (k as u32, rates_of(link))).collect();
        chain.lay_out(&moving);
        chain.refine();
        Ok(chain)
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

    /// Places of the bodies whose joints are active, the first included.
    pub fn active(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().map(|p| self.nodes[p.node as usize].first as usize)
    }

    /// √Σq̈² over all joints at rest, as they would accelerate if all were free: what the last choice lost.
    pub fn lost(&self) -> f64 {
        self.lost
    }

    /// The short chain of what moves: its model, its memory and its state, for the algorithms of [`reduced`](super).
    pub fn hybrid(&mut self) -> (&Model, &mut Data, &State, &[f64]) {
        (&self.hybrid, &mut self.data, &self.state, &self.hybrid_force)
    }

    /// Positions and rates of the whole chain.
    pub fn state(&self) -> State {
        let mut state = State { q: self.q.clone(), v: vec![0.0; self.force.len()] };
        for (k, piece) in self.pieces.iter().enumerate() {
            let whole = &self.links[self.nodes[piece.node as usize].first as usize];
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
            let whole = &self.links[self.nodes[piece.node as usize].first as usize];
            let (to, from, rates) = (whole.v as usize, self.hybrid.links[k].v as usize, whole.rates as usize);
            out[to..to + rates].copy_from_slice(&self.data.acceleration[from..from + rates]);
        }
        out
    }

    /// The pose of a body's principal axes at its centre of mass, in time by the logarithm of the chain.
    pub fn pose(&mut self, index: usize) -> Option<Pose> {
        if index >= self.links.len() {
            return None;
        }
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        let piece = self.piece_of(index);
        let mut at = self.first_link(piece);
        let mut node = self.pieces[piece].node as usize;
        while let Some((a, b)) = self.nodes[node].parts {
            let middle = self.nodes[node].middle as usize;
            if index < middle {
                node = a as usize;
            } else {
                let before = self.frozen(a).span;
                let other = Placed::new(at.x + at.r * before.x, (at.q * before.q).normalize());
                at = Hinge::at(&self.links[middle], &other, &self.q, &self.force).1;
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
        let leaf = self.leaves[index];
        let above = self.nodes[leaf as usize].above;
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

    /// Accelerations of the hybrid chain, with joints at their limits held that would go beyond.
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
            let (min, max) = self.limits.get(&(self.nodes[piece.node as usize].first as usize))?;
            let link = &self.hybrid.links[k];
            let q = self.state.q[link.q as usize];
            let side = if q <= *min { 1.0 } else { -1.0 };
            (q <= *min || q >= *max).then_some((link.v as usize, side))
        })
    }

    /// Stops joints that run into a bound, by an impact that the whole hybrid chain answers.
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

    /// Divides links into halves down to one; returns the node.
    fn divide(&mut self, first: u32, last: u32) -> u32 {
        let id = self.nodes.len() as u32;
        let middle = first + (last - first) / 2;
        self.nodes.push(Node { first, middle, parts: None, above: NONE, active: false, frozen: None });
        if last == first + 1 {
            self.leaves[first as usize] = id;
            return id;
        }
        let a = self.divide(first, middle);
        let b = self.divide(middle, last);
        self.nodes[id as usize].parts = Some((a, b));
        (self.nodes[a as usize].above, self.nodes[b as usize].above) = (id, id);
        id
    }

    /// The node whose joint carries link `k`.
    fn node_of_joint(&self, k: usize) -> u32 {
        let mut node = self.leaves[k];
        while self.nodes[node as usize].middle as usize != k || self.nodes[node as usize].parts.is_none() {
            node = self.nodes[node as usize].above;
        }
        node
    }

    /// Makes a node and all above it active.
    fn activate(&mut self, mut node: u32) {
        while node != NONE && !self.nodes[node as usize].active {
            let n = &mut self.nodes[node as usize];
            (n.active, n.frozen) = (true, None);
            node = n.above;
        }
    }

    /// Knows every piece that stands still.
    fn freeze_all(&mut self) {
        // parts come after the whole
        for node in (0..self.nodes.len()).rev() {
            self.freeze(node);
        }
    }

    fn freeze(&mut self, node: usize) {
        if self.nodes[node].active || self.nodes[node].frozen.is_some() {
            return;
        }
        let n = &self.nodes[node];
        let frozen = match n.parts {
            None => Frozen::link(&self.links[n.first as usize]),
            Some((a, b)) => {
                let link = &self.links[n.middle as usize];
                Frozen::join(self.frozen(a), self.frozen(b), link, &self.q, &self.force)
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

    /// Writes the positions of active joints into those of the whole chain; returns their rates by link.
    fn keep(&mut self) -> BTreeMap<u32, Vec<f64>> {
        let mut rates = BTreeMap::new();
        for (k, piece) in self.pieces.iter().enumerate() {
            let first = self.nodes[piece.node as usize].first;
            let (whole, part) = (&self.links[first as usize], &self.hybrid.links[k]);
            let (to, from, n) = (whole.q as usize, part.q as usize, whole.freedom.positions());
            self.q[to..to + n].copy_from_slice(&self.state.q[from..from + n]);
            rates.insert(first, self.state.v[part.v as usize..part.v as usize + part.rates as usize].to_vec());
        }
        rates
    }

    /// The hybrid chain of the present choice; joints without a rate so far stand still.
    fn lay_out(&mut self, rates: &BTreeMap<u32, Vec<f64>>) {
        self.pieces.clear();
        let mut stack = vec![0_u32];
        while let Some(node) = stack.pop() {
            match self.nodes[node as usize].parts.filter(|_| self.nodes[node as usize].active) {
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
        for (k, piece) in self.pieces.iter().enumerate() {
            let frozen = self.frozen(piece.node);
            let whole = &self.links[self.nodes[piece.node as usize].first as usize];
            let mut link = whole.clone();
            link.mass = frozen.mass;
            if self.nodes[piece.node as usize].parts.is_some() {
                let seen = DMat3::from_quat(piece.body.q).transpose() * frozen.inertia * DMat3::from_quat(piece.body.q);
                link.moments = DVec3::new(seen.x_axis.x, seen.y_axis.y, seen.z_axis.z);
            }
            // anchors and axes on both sides, seen from the bodies of the pieces
            let before = k.checked_sub(1).map(|p| {
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
            match rates.get(&self.nodes[piece.node as usize].first) {
                Some(rates) => state.v.extend_from_slice(rates),
                None => state.v.extend(std::iter::repeat_n(0.0, whole.rates as usize)),
            }
            force.extend_from_slice(&self.force[v..v + whole.rates as usize]);
            weight.push(self.gravity * frozen.mass);
            links.push(link);
        }
        self.hybrid = Model::chain(links, weight, &self.ground);
        self.data = Data::new(&self.hybrid);
        self.state = state;
        self.hybrid_force = force;
    }

    /// Centre of mass and principal axes of a piece, in the frame of its first link.
    fn body_of(&self, node: u32) -> Placed {
        if self.nodes[node as usize].parts.is_none() {
            return Placed::WORLD;
        }
        let frozen = self.frozen(node);
        Placed::new(frozen.center, principal_axes(frozen.inertia).1)
    }

    /// The piece of the hybrid chain that a link belongs to.
    fn piece_of(&self, index: usize) -> usize {
        self.pieces.partition_point(|p| self.nodes[p.node as usize].first as usize <= index) - 1
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
        let (seen, whole) = self.look();
        let (open, lost) = self.choose(&seen, whole);
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
        let joints: BTreeSet<u32> = closed.iter().map(|n| self.nodes[*n as usize].middle).collect();
        let mut wanted = Vec::new();
        for (k, piece) in self.pieces.iter().enumerate() {
            if joints.contains(&self.nodes[piece.node as usize].first) {
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

    /// All active nodes and the pieces below them, as if every joint of the chain were free.
    fn look(&self) -> (BTreeMap<u32, Seen>, Candidate) {
        let mut seen = BTreeMap::new();
        self.gather(0, &mut seen);
        let root = &self.hybrid.links[0];
        let (placed, o) = (self.first_link(0), self.data.links[0].o);
        let ground = carrier_acceleration(&self.hybrid, &self.data, root, &self.data.links[0]).at(placed.x - o);
        let mut hinge = self.hinge_of(0, placed.x);
        hinge.r = DVec3::ZERO;
        let whole = &seen[&0];
        let (f, _) = hinge.root(&whole.live, &motion(ground));
        self.descend(0, f, [0.0; 6], &mut seen);
        let Seen { metric, speed, .. } = seen[&0];
        let first = self.motion_of_first(0);
        let whole = Candidate {
            key: self.key(metric, speed),
            node: 0,
            metric,
            near: f,
            far: [0.0; 6],
            pose: placed,
            motion: first,
        };
        (seen, whole)
    }

    fn key(&self, metric: f64, speed: f64) -> f64 {
        metric + speed / (self.activity.settling * self.activity.settling).max(f64::MIN_POSITIVE)
    }

    /// Velocity of a piece's first link, at its centre of mass.
    fn motion_of_first(&self, piece: usize) -> (DVec3, DVec3) {
        let at = &self.data.links[piece];
        let v = at.v.at(self.first_link(piece).x - at.o);
        (v.v, v.w)
    }

    /// The joint that carries a piece of the hybrid chain, moving, at the centre of mass of its first link.
    fn hinge_of(&self, piece: usize, center: DVec3) -> Hinge {
        let (link, at) = (&self.hybrid.links[piece], &self.data.links[piece]);
        let (v, n) = (link.v as usize, link.rates as usize);
        Hinge {
            s: self.data.s[v..v + n].iter().map(|s| motion(s.at(center - at.o))).collect(),
            r: DVec3::ZERO,
            c: motion(at.c.at(center - at.o)),
            tau: self.hybrid_force[v..v + n].to_vec(),
        }
    }

    /// Both ends of a node, from the bottom of the active part.
    fn gather(&self, node: u32, seen: &mut BTreeMap<u32, Seen>) {
        let n = &self.nodes[node as usize];
        let (live, hinge, speed) = match n.parts.filter(|_| n.active) {
            Some((a, b)) => {
                self.gather(a, seen);
                self.gather(b, seen);
                let piece = self.piece_of(n.middle as usize);
                let center = self.first_link(piece).x;
                let mut hinge = self.hinge_of(piece, center);
                let before = self.first_link(piece - 1);
                let last = self.frozen(self.pieces[piece - 1].node).span;
                hinge.r = center - (before.x + before.r * last.x);
                let link = &self.hybrid.links[piece];
                let rates = &self.state.v[link.v as usize..link.v as usize + link.rates as usize];
                let speed = seen[&a].speed + seen[&b].speed + rates.iter().map(|v| v * v).sum::<f64>();
                (hinge.join(&seen[&a].live, &seen[&b].live), Some(hinge), speed)
            }
            None => {
                let piece = self.piece_of(n.first as usize);
                let pose = self.first_link(piece);
                let (v, w) = self.motion_of_first(piece);
                (self.frozen(node).live(&pose, &field(&pose, self.gravity, v, w)), None, 0.0)
            }
        };
        seen.insert(node, Seen { live, hinge, metric: 0.0, speed, near: [0.0; 6], far: [0.0; 6] });
    }

    /// The forces on the ends of all nodes, from the top, and what their joints would do.
    fn descend(&self, node: u32, near: V, far: V, seen: &mut BTreeMap<u32, Seen>) -> f64 {
        let n = &self.nodes[node as usize];
        let split = n.parts.filter(|_| n.active).and_then(|(a, b)| {
            let hinge = seen[&node].hinge.as_ref()?;
            Some((a, b, hinge.split(&seen[&a].live, &seen[&b].live, &near, &far)))
        });
        let metric = match split {
            Some((a, b, (f, back, rates))) => {
                let own: f64 = rates.iter().map(|q| q * q).sum();
                own + self.descend(a, near, back, seen) + self.descend(b, f, far, seen)
            }
            None => {
                let piece = self.piece_of(n.first as usize);
                let pose = self.first_link(piece);
                let (v, w) = self.motion_of_first(piece);
                self.frozen(node).metric(&pose, &field(&pose, self.gravity, v, w), &near, &far)
            }
        };
        if let Some(s) = seen.get_mut(&node) {
            (s.metric, s.near, s.far) = (metric, near, far);
        }
        metric
    }

    /// Opens nodes from the top in the order of their keys. Returns those to be active, and Σ q̈² of the rest.
    fn choose(&self, seen: &BTreeMap<u32, Seen>, whole: Candidate) -> (BTreeSet<u32>, f64) {
        let mut heap = BinaryHeap::new();
        let mut open = BTreeSet::new();
        let allowed = self.activity.tolerance * self.activity.tolerance;
        let rest = |heap: &BinaryHeap<Candidate>| heap.iter().map(|c| c.metric).sum::<f64>();
        let start = whole.metric;
        let mut left = whole.metric;
        heap.push(whole);
        let mut lost = 0.0;
        while let Some(candidate) = heap.pop() {
            // the running sum loses digits as it falls: near the end it is taken anew
            if allowed > 0.0 && left < 2.0 * allowed + 1e-9 * start {
                left = candidate.metric + rest(&heap);
            }
            let moving = (candidate.key - candidate.metric).max(0.0);
            if open.len() >= self.activity.most || (left < allowed && moving < allowed) {
                lost += candidate.metric + rest(&heap);
                break;
            }
            left -= candidate.metric;
            let Some((a, b)) = self.nodes[candidate.node as usize].parts else { continue };
            open.insert(candidate.node);
            for part in self.open(candidate, a, b, seen) {
                left += part.metric;
                heap.push(part);
            }
        }
        (open, lost)
    }

    /// The two parts of a node, with the forces on their ends.
    fn open(&self, whole: Candidate, a: u32, b: u32, seen: &BTreeMap<u32, Seen>) -> [Candidate; 2] {
        let n = &self.nodes[whole.node as usize];
        if n.active {
            return [a, b].map(|part| {
                let s = &seen[&part];
                let piece = self.piece_of(self.nodes[part as usize].first as usize);
                // what is active stays so in doubt: closing a piece and opening it again costs more than a joint
                let stays = if self.nodes[part as usize].active { STAYS } else { 1.0 };
                Candidate {
                    key: stays * self.key(s.metric, s.speed),
                    node: part,
                    metric: s.metric,
                    near: s.near,
                    far: s.far,
                    pose: self.first_link(piece),
                    motion: self.motion_of_first(piece),
                }
            });
        }
        let (fa, fb) = (self.frozen(a), self.frozen(b));
        let pose = whole.pose;
        let other = Placed::new(pose.x + pose.r * fa.span.x, (pose.q * fa.span.q).normalize());
        let (hinge, at) = Hinge::at(&self.links[n.middle as usize], &other, &self.q, &self.force);
        let (v, w) = whole.motion;
        let moved = (v + w.cross(at.x - pose.x), w);
        let (za, zb) = (field(&pose, self.gravity, v, w), field(&at, self.gravity, moved.0, moved.1));
        let (la, lb) = (fa.live(&pose, &za), fb.live(&at, &zb));
        let (f, back, _) = hinge.split(&la, &lb, &whole.near, &whole.far);
        let (ma, mb) = (fa.metric(&pose, &za, &whole.near, &back), fb.metric(&at, &zb, &f, &whole.far));
        let part = |node, metric, near, far, pose, motion| Candidate {
            key: self.key(metric, 0.0),
            node,
            metric,
            near,
            far,
            pose,
            motion,
        };
        [part(a, ma, whole.near, back, pose, whole.motion), part(b, mb, f, whole.far, at, moved)]
    }
}

/// A frame seen from another, both in the same one.
fn relative(from: &Placed, to: &Placed) -> Placed {
    Placed::new(from.r.transpose() * (to.x - from.x), (from.q.inverse() * to.q).normalize())
}
