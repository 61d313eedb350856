//! The tree of a world: which joint carries which body, and which joints are left over to close loops.
//!
//! Any graph of bodies and joints has a spanning tree; it is found here, nobody has to cut loops. Joints that hold more come
//! first, so that the tree has few freedoms and few rows are left to close; among equals, those farther from the ground, so
//! that loops close over few joints (a scissor lift is one zigzag and not two long legs).
//! Everything immovable is one ground. A body that no tree joint holds floats: it has six freedoms.

use crate::body::BodyState;
use crate::handle::{BodyId, JointId};
use crate::joint::JointModel;
use crate::joint::freedom::Freedom;
use crate::math::Placed;
use crate::scene::JointKind;
use crate::world::World;
use glam::{DMat3, DQuat, DVec3};
use std::collections::{BTreeMap, BinaryHeap};

/// No parent, or no joint.
pub(crate) const NONE: u32 = u32::MAX;

/// A body of the tree, with the joint that carries it.
#[derive(Clone)]
pub(crate) struct Link {
    /// Which body, by its number in what the tree was made of.
    pub body: u32,
    /// The link that carries it, or [`NONE`].
    pub parent: u32,
    /// The body on the other side of its joint: the parent's, or one outside.
    pub other: u32,
    /// The joint, by its number in what the tree was made of; [`NONE`] for a body that floats.
    pub joint: u32,
    /// Whether the body is the joint's first, so that the joint is passed backwards.
    pub reversed: bool,
    pub freedom: Freedom,
    /// Three turns about a point: the case for which there are short cuts.
    pub is_ball: bool,
    /// First position and first rate; how many rates.
    pub q: u32,
    pub v: u32,
    pub rates: u8,
    pub mass: f64,
    pub moments: DVec3,
    /// Anchors and turns of the joint, on the carrying side and on the carried one.
    pub model: JointModel,
}

/// A joint as the tree needs it.
pub(crate) struct Edge<'m> {
    pub a: u32,
    pub b: u32,
    pub model: &'m JointModel,
}

/// Bodies and joints as a tree: parents come before what they carry.
#[derive(Clone, Default)]
pub struct Model {
    pub(crate) links: Vec<Link>,
    /// The link of each movable body.
    pub(crate) link_of: Vec<u32>,
    /// Joints that are not in the tree although they hold something.
    pub(crate) closing: Vec<u32>,
    /// Number of movable bodies; bodies numbered from there on are outside.
    pub(crate) movable: usize,
    pub(crate) outside: Vec<(Placed, crate::joint::Motion)>,
    positions: usize,
    rates: usize,
    /// Force of gravity on each link, N.
    pub(crate) weight: Vec<DVec3>,
    body_ids: Vec<BodyId>,
    joint_ids: Vec<JointId>,
}

impl Model {
    /// The tree of all dynamic bodies of a world. Static and kinematic bodies are its ground.
    pub fn of(world: &World) -> Model {
        let mut number = BTreeMap::new();
        let mut order: Vec<(BodyId, &BodyState)> = world.bodies.iter().filter(|(_, b)| b.is_dynamic()).collect();
        let movable = order.len();
        order.extend(world.bodies.iter().filter(|(_, b)| !b.is_dynamic()));
        for (k, (id, _)) in order.iter().enumerate() {
            number.insert(id.slot(), k as u32);
        }
        let ground = order.len() as u32;
        let find = |id: Option<BodyId>| id.map_or(ground, |id| number[&id.slot()]);
        let joints: Vec<_> = world.joints.iter().filter(|(_, j)| !j.is_coupling()).collect();
        let edges: Vec<Edge> =
            joints.iter().map(|(_, j)| Edge { a: find(j.a), b: find(j.b), model: &j.model }).collect();
        let masses: Vec<(f64, DVec3)> = order[..movable].iter().map(|(_, b)| (b.mass.mass, b.mass.moments)).collect();
        let mut model = Model::new(&masses, &edges);
        model.outside = order[movable..]
            .iter()
            .map(|(_, b)| {
                let moving = b.kind == crate::scene::BodyKind::Kinematic;
                let motion = crate::joint::Motion { v: b.v, w: b.w };
                (b.placed(), if moving { motion } else { Default::default() })
            })
            .collect();
        model.outside.push((Placed::WORLD, Default::default()));
        model.body_ids = order[..movable].iter().map(|(id, _)| *id).collect();
        model.joint_ids = joints.iter().map(|(id, _)| *id).collect();
        for (link, weight) in model.links.iter().zip(&mut model.weight) {
            let body = order[link.body as usize].1;
            *weight = world.gravity * (body.mass.mass * body.gravity_scale);
        }
        model
    }

    /// The tree of movable bodies, given by mass and principal moments, and joints; bodies numbered beyond them are outside.
    pub(crate) fn new(masses: &[(f64, DVec3)], edges: &[Edge]) -> Model {
        let movable = masses.len();
        let carried = span(movable, edges);
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); movable];
        let mut roots = Vec::new();
        for body in 0..movable as u32 {
            match carried[body as usize] {
                Some((_, other)) if (other as usize) < movable => children[other as usize].push(body),
                _ => roots.push(body),
            }
        }
        let mut model = Model { link_of: vec![NONE; movable], movable, ..Model::default() };
        // depth first: a branch is read as one piece
        let mut stack: Vec<u32> = roots.into_iter().rev().collect();
        while let Some(body) = stack.pop() {
            model.push(body, carried[body as usize], masses, edges);
            stack.extend(children[body as usize].iter().rev());
        }
        let in_tree: Vec<u32> = model.links.iter().map(|l| l.joint).collect();
        let mut used = vec![false; edges.len()];
        in_tree.into_iter().filter(|&j| j != NONE).for_each(|j| used[j as usize] = true);
        model.closing = (0..edges.len())
            .filter(|&j| {
                let Edge { a, b, model } = &edges[j];
                let touches = (*a as usize) < movable || (*b as usize) < movable;
                !used[j] && touches && model.row_count() > 0
            })
            .map(|j| j as u32)
            .collect();
        model.weight = vec![DVec3::ZERO; model.links.len()];
        model
    }

    fn push(&mut self, body: u32, carried: Option<(u32, u32)>, masses: &[(f64, DVec3)], edges: &[Edge]) {
        let (mass, moments) = masses[body as usize];
        let (joint, other, model, freedom, reversed) = match carried {
            Some((joint, other)) => {
                let edge = &edges[joint as usize];
                let freedom = Freedom::of(edge.model.parts).unwrap_or(Freedom::FREE);
                (joint, other, edge.model.clone(), freedom, edge.a == body)
            }
            None => {
                let model =
                    JointModel::new(JointKind::Rope, DVec3::ZERO, DMat3::IDENTITY, DVec3::ZERO, DMat3::IDENTITY);
                (NONE, NONE, model, Freedom::FREE, false)
            }
        };
        let parent = if other == NONE || other as usize >= self.movable { NONE } else { self.link_of[other as usize] };
        self.link_of[body as usize] = self.links.len() as u32;
        self.links.push(Link {
            body,
            parent,
            other,
            joint,
            reversed,
            freedom,
            is_ball: freedom
                == Freedom { slide: crate::joint::freedom::Slide::None, turn: crate::joint::freedom::Turn::Free },
            q: self.positions as u32,
            v: self.rates as u32,
            rates: freedom.rates() as u8,
            mass,
            moments,
            model,
        });
        self.positions += freedom.positions();
        self.rates += freedom.rates();
    }

    /// A tree of given links with their parents, on the ground of another model.
    pub(crate) fn of_pieces(mut links: Vec<Link>, parents: &[u32], weight: Vec<DVec3>, ground: &Model) -> Model {
        let movable = links.len();
        let (mut positions, mut rates) = (0, 0);
        for (k, (link, &parent)) in links.iter_mut().zip(parents).enumerate() {
            (link.body, link.parent) = (k as u32, parent);
            link.other = match (parent, link.other) {
                (NONE, NONE) => NONE,
                (NONE, other) => (other as usize - ground.movable + movable) as u32,
                _ => parent,
            };
            (link.q, link.v) = (positions as u32, rates as u32);
            positions += link.freedom.positions();
            rates += link.freedom.rates();
        }
        let link_of = (0..movable as u32).collect();
        let outside = ground.outside.clone();
        Model { links, link_of, movable, outside, weight, positions, rates, ..Model::default() }
    }

    /// Number of bodies in the tree.
    pub fn bodies(&self) -> usize {
        self.links.len()
    }

    /// Length of a vector of positions: angles, displacements, unit quaternions (x, y, z, w).
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Freedoms: length of a vector of rates, accelerations or joint forces.
    pub fn rates(&self) -> usize {
        self.rates
    }

    /// Where a body stands in the tree.
    pub fn index(&self, id: BodyId) -> Option<usize> {
        let body = self.body_ids.iter().position(|b| *b == id)?;
        Some(self.link_of[body] as usize)
    }

    /// The body at a place of the tree.
    pub fn body(&self, index: usize) -> Option<BodyId> {
        self.body_ids.get(self.links.get(index)?.body as usize).copied()
    }

    /// The place of the body that carries another, if it is not the ground.
    pub fn parent(&self, index: usize) -> Option<usize> {
        self.links.get(index).filter(|l| l.parent != NONE).map(|l| l.parent as usize)
    }

    /// The joint that carries a body; `None` if the body floats.
    pub fn joint(&self, index: usize) -> Option<JointId> {
        let link = self.links.get(index).filter(|l| l.joint != NONE)?;
        self.joint_ids.get(link.joint as usize).copied()
    }

    /// The rates of the joint that carries a body, as a range of the vector of rates.
    ///
    /// # Panics
    /// If there is no body at that place of the tree.
    pub fn rates_of(&self, index: usize) -> std::ops::Range<usize> {
        let l = &self.links[index];
        l.v as usize..l.v as usize + l.rates as usize
    }

    /// The positions of the joint that carries a body.
    ///
    /// # Panics
    /// If there is no body at that place of the tree.
    pub fn positions_of(&self, index: usize) -> std::ops::Range<usize> {
        let l = &self.links[index];
        l.q as usize..l.q as usize + l.freedom.positions()
    }

    /// Joints that close loops: they hold something and carry nothing.
    pub fn closing_joints(&self) -> Vec<JointId> {
        self.closing.iter().filter_map(|&j| self.joint_ids.get(j as usize).copied()).collect()
    }

    /// Positions of the tree at rest in its zero pose: unit quaternions, all else zero.
    pub fn neutral(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.positions];
        for link in &self.links {
            let (first, slide) = (link.q as usize, link.freedom.slide_positions());
            if slide == 4 {
                q[first + 3] = 1.0;
            }
            if link.freedom.turn == crate::joint::freedom::Turn::Free {
                q[first + slide + 3] = 1.0;
            }
        }
        q
    }

    /// Moves positions on with constant rates for a time, s.
    ///
    /// # Panics
    /// If there are not as many positions or rates as the model has.
    pub fn integrate(&self, q: &mut [f64], rates: &[f64], time: f64) {
        let fits = q.len() == self.positions && rates.len() == self.rates;
        assert!(
            fits,
            "{} positions and {} rates, the model has {} and {}",
            q.len(),
            rates.len(),
            self.positions,
            self.rates
        );
        for link in &self.links {
            let (first, rate) = (link.q as usize, link.v as usize);
            let n = link.freedom.positions();
            link.freedom.integrate(&mut q[first..first + n], &rates[rate..rate + link.rates as usize], time);
        }
    }

    /// The frame of a's side of a link's joint and what it is fixed to: (joint frame turn, anchor).
    pub(crate) fn turn_of(link: &Link) -> (DQuat, DQuat) {
        (link.model.turn_a, link.model.turn_b)
    }
}

/// A joint waiting to be taken into the tree; the largest is taken first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    rows: usize,
    depth: u32,
    order: std::cmp::Reverse<u32>,
    body: u32,
    from: u32,
}

/// For every movable body the joint that carries it and the body on the other side, or nothing if it floats.
fn span(movable: usize, edges: &[Edge]) -> Vec<Option<(u32, u32)>> {
    let mut at: Vec<Vec<u32>> = vec![Vec::new(); movable];
    let mut grounded = Vec::new();
    for (j, e) in edges.iter().enumerate() {
        if Freedom::of(e.model.parts).is_none() || e.a == e.b {
            continue;
        }
        let (a, b) = ((e.a as usize) < movable, (e.b as usize) < movable);
        if a {
            at[e.a as usize].push(j as u32);
        }
        if b {
            at[e.b as usize].push(j as u32);
        }
        if a != b {
            grounded.push(j as u32);
        }
    }
    let mut carried = vec![None; movable];
    let mut taken = vec![false; movable];
    let mut heap = BinaryHeap::new();
    let offer = |heap: &mut BinaryHeap<Candidate>, j: u32, body: u32, from: u32, depth: u32| {
        heap.push(Candidate {
            rows: edges[j as usize].model.row_count(),
            depth,
            order: std::cmp::Reverse(j),
            body,
            from,
        });
    };
    for j in grounded {
        let e = &edges[j as usize];
        let (body, from) = if (e.a as usize) < movable { (e.a, e.b) } else { (e.b, e.a) };
        offer(&mut heap, j, body, from, 0);
    }
    let mut next_float = 0;
    loop {
        while let Some(c) = heap.pop() {
            if std::mem::replace(&mut taken[c.body as usize], true) {
                continue;
            }
            carried[c.body as usize] = Some((c.order.0, c.from));
            for &j in &at[c.body as usize] {
                let e = &edges[j as usize];
                let far = if e.a == c.body { e.b } else { e.a };
                if (far as usize) < movable && !taken[far as usize] {
                    offer(&mut heap, j, far, c.body, c.depth + 1);
                }
            }
        }
        // nothing holds what is left: the first body of it floats and carries the rest
        let Some(root) = (next_float..movable).find(|&b| !taken[b]) else { return carried };
        next_float = root + 1;
        taken[root] = true;
        for &j in &at[root] {
            let e = &edges[j as usize];
            let far = if e.a as usize == root { e.b } else { e.a };
            if (far as usize) < movable && !taken[far as usize] {
                offer(&mut heap, j, far, root as u32, 1);
            }
        }
    }
}
