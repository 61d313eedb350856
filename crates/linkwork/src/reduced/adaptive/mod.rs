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
mod ground;
mod step;
mod unilateral;
mod world;

pub use step::{CannotStep, Stepped};
pub use world::would_touch;

use super::aba;
use super::assembly::Assembly;
use super::impulse::respond;
use super::inverse::jacobian;
use super::kinematics::{Data, State, forward_kinematics};
use super::model::{Link, Model, NONE};
use crate::handle::BodyId;
use crate::math::inertia::principal_axes;
use crate::math::{Placed, Pose, Wrench};
use frozen::{Frozen, hinge_at};
use glam::{DMat3, DVec3};
use ground::{Corner, Plane, ball_around};
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
#[derive(Clone, Debug, PartialEq)]
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
    /// There is no such body.
    NoSuchBody {
        /// The place that was asked for.
        index: usize,
    },
    /// Only joints of one rate have bounds.
    NotOneRate {
        /// Place of the body that the joint carries.
        index: usize,
    },
    /// Bounds that leave nothing between them.
    Bounds {
        /// Place of the body that the joint carries.
        index: usize,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// Something of a world that is not simulated adaptively, in plain words.
    Unsupported {
        /// What it is, by name.
        what: String,
    },
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
            CannotAdapt::NoSuchBody { index } => write!(f, "the tree has no body {index}"),
            CannotAdapt::NotOneRate { index } => {
                write!(
                    f,
                    "the joint of body {index} has not one rate, or there is no such body: hinges, sliders and screws have limits"
                )
            }
            CannotAdapt::Bounds { index, min, max } => {
                write!(f, "the joint of body {index}: nothing is between {min} and {max}")
            }
            CannotAdapt::Unsupported { what } => {
                write!(f, "{what}: adaptive dynamics do not know that; use the direct or the reduced method")
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
    /// Joint forces with those of limits in the last step, by rate of the whole tree.
    tau: Vec<f64>,
    /// Bounds of joints of one rate, by link; and the links of joints that may be beyond theirs.
    limits: BTreeMap<usize, Limit>,
    beyond: BTreeSet<usize>,
    /// What acts on links by itself, at their centres of mass in world axes, and what planes pushed them with in the last step.
    loads: BTreeMap<usize, Wrench>,
    pushed: BTreeMap<usize, Wrench>,
    planes: Vec<Plane>,
    /// By link: the points that can touch a plane, and the standing body that a joint fixes it to.
    corners: Vec<Vec<Corner>>,
    fixed_to: Vec<Option<BodyId>>,
    /// Impulses of the last step.
    totals: Vec<f64>,
    lost: f64,
}

/// Bounds of a joint of one rate.
#[derive(Clone, Copy)]
struct Limit {
    min: f64,
    max: f64,
    restitution: f64,
}

impl Adaptive {
    /// A tree at a state; joints with a rate are active from the start. `force` is by rate (N m, N) and constant.
    ///
    /// Costs time by the number of links, once.
    pub fn new(model: &Model, state: &State, force: &[f64], activity: Activity) -> Result<Adaptive, CannotAdapt> {
        Adaptive::with_corners(model, state, force, activity, vec![Vec::new(); model.bodies()])
    }

    fn with_corners(
        model: &Model,
        state: &State,
        force: &[f64],
        activity: Activity,
        corners: Vec<Vec<Corner>>,
    ) -> Result<Adaptive, CannotAdapt> {
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
            tau: force.to_vec(),
            limits: BTreeMap::new(),
            beyond: BTreeSet::new(),
            loads: BTreeMap::new(),
            pushed: BTreeMap::new(),
            planes: Vec::new(),
            corners,
            fixed_to: vec![None; n],
            totals: Vec::new(),
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
        tree.refine(&[]);
        Ok(tree)
    }

    /// How much moves, from the next step on.
    pub fn set_activity(&mut self, activity: Activity) {
        self.activity = activity;
    }

    /// The bounds of a joint of one rate, by the place of the body that it carries; infinite where there is none. A joint beyond
    /// its bounds is moved back in the next step; one whose bounds are the same is held.
    pub fn set_limit(&mut self, index: usize, min: f64, max: f64) -> Result<(), CannotAdapt> {
        self.bound(index, Limit { min, max, restitution: 0.0 })
    }

    fn bound(&mut self, index: usize, limit: Limit) -> Result<(), CannotAdapt> {
        if self.links.get(index).is_none_or(|link| link.rates != 1) {
            return Err(CannotAdapt::NotOneRate { index });
        }
        let (min, max) = (limit.min, limit.max);
        if min.is_nan() || max.is_nan() || min > max || min == f64::INFINITY || max == f64::NEG_INFINITY {
            return Err(CannotAdapt::Bounds { index, min, max });
        }
        self.limits.insert(index, limit);
        self.beyond.insert(index);
        Ok(())
    }

    /// The forces of the joint that carries a body, by rate (N m, N), from now on. Costs time by the depth of the assembly.
    pub fn set_force(&mut self, index: usize, force: &[f64]) -> Result<(), CannotAdapt> {
        let Some(link) = self.links.get(index) else { return Err(CannotAdapt::NoSuchBody { index }) };
        let (first, rates) = (link.v as usize, link.rates as usize);
        if force.len() != rates || force.iter().any(|f| !f.is_finite()) {
            return Err(CannotAdapt::BadState);
        }
        for (k, f) in force.iter().enumerate() {
            self.tau[first + k] += f - self.force[first + k];
            self.force[first + k] = *f;
        }
        let piece = self.piece_of(index);
        if self.first_of(piece) == index {
            let own = self.hybrid.links[piece].v as usize;
            self.hybrid_force[own..own + rates].copy_from_slice(force);
        }
        // what stands still knows the forces in it
        let mut node = self.assembly.joined_by(index as u32).unwrap_or(NONE);
        while node != NONE && !self.nodes[node as usize].active {
            self.nodes[node as usize].frozen = None;
            self.freeze(node as usize);
            node = self.assembly.parts[node as usize].above;
        }
        Ok(())
    }

    /// What acts on a body besides gravity and joints, at its centre of mass in world axes, from now on. The joints around a
    /// body with a load are active.
    pub fn set_load(&mut self, index: usize, load: Wrench) -> Result<(), CannotAdapt> {
        if index >= self.links.len() {
            return Err(CannotAdapt::NoSuchBody { index });
        }
        if !load.force.is_finite() || !load.torque.is_finite() {
            return Err(CannotAdapt::BadState);
        }
        if load == Wrench::default() {
            self.loads.remove(&index);
        } else {
            self.loads.insert(index, load);
        }
        Ok(())
    }

    /// The force and torque with which planes pushed a body in the last step, at its centre of mass, means over the step.
    pub fn contact_on(&self, index: usize) -> Wrench {
        self.pushed.get(&index).copied().unwrap_or_default()
    }

    /// The force of a limit in the last step, along the joint that carries a body (N m, N), mean over the step.
    pub fn limit_force(&self, index: usize) -> f64 {
        let rate = self.links.get(index).filter(|_| self.limits.contains_key(&index)).map(|link| link.v as usize);
        rate.map_or(0.0, |rate| self.tau[rate] - self.force[rate])
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

    /// Accelerations of all joints at this moment, zero of those at rest, without what limits and contacts do to them.
    pub fn accelerations(&mut self) -> Vec<f64> {
        let mut out = vec![0.0; self.force.len()];
        let external = self.external();
        aba(&self.hybrid, &mut self.data, &self.state.q, &self.state.v, &self.hybrid_force, &external);
        for (k, piece) in self.pieces.iter().enumerate() {
            let whole = &self.links[self.assembly.parts[piece.node as usize].near as usize];
            let (to, from, rates) = (whole.v as usize, self.hybrid.links[k].v as usize, whole.rates as usize);
            out[to..to + rates].copy_from_slice(&self.data.acceleration[from..from + rates]);
        }
        out
    }

    /// Loads on the pieces of the hybrid tree, at their centres of mass.
    fn external(&mut self) -> Vec<Wrench> {
        if self.loads.is_empty() {
            return Vec::new();
        }
        let mut external = vec![Wrench::default(); self.pieces.len()];
        let loads: Vec<(usize, Wrench)> = self.loads.iter().map(|(link, load)| (*link, *load)).collect();
        for (link, load) in loads {
            let Some(at) = self.pose(link) else { continue };
            let piece = self.piece_of(link);
            let lever = at.position - self.data.links[piece].placed.x;
            external[piece].force += load.force;
            external[piece].torque += load.torque + lever.cross(load.force);
        }
        external
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
                at = hinge_at(&self.links[joint], &other, &self.q, &self.tau).1;
                node = b as usize;
            }
        }
        Some(Pose { position: at.x, orientation: at.q })
    }

    /// The hybrid Jacobian of a world point of a body over the active rates, in six rows as of [`jacobian`](super::jacobian()).
    /// None if there is no such body.
    pub fn jacobian(&mut self, index: usize, point: DVec3) -> Option<Vec<f64>> {
        if index >= self.links.len() {
            return None;
        }
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        Some(jacobian(&self.hybrid, &self.data, self.piece_of(index), point))
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
            None => {
                let link = part.near as usize;
                Frozen::link(&self.links[link], ball_around(&self.corners[link]))
            }
            Some((a, b)) => {
                let link = &self.links[self.assembly.parts[b as usize].near as usize];
                Frozen::join(self.frozen(a), self.frozen(b), part.beside, link, &self.q, &self.tau)
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
}

/// A frame seen from another, both in the same one.
fn relative(from: &Placed, to: &Placed) -> Placed {
    Placed::new(from.r.transpose() * (to.x - from.x), (from.q.inverse() * to.q).normalize())
}
