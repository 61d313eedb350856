//! The step in reduced coordinates: the mechanism as a tree of its joints' coordinates, with its loops closed.
//!
//! Half kick, move, half kick: q̇½ = q̇ + h/2 a(q, q̇); q' = q ⊕ h q̇½; loops are closed at q' by the dependent coordinates;
//! q̇' = q̇½ + h/2 a(q', q̇'), found by repetition because a depends on q̇', so that the step is its own inverse with −h.
//! Accelerations are those of articulated bodies (trees) or of the free rates (loops): docs/reduced.md. Joints of the tree are
//! closed by construction. A mechanism that floats keeps its momentum: what the coordinates lose of it is given back as a
//! motion of the whole.
//!
//! Soft springs and dampers are explicit forces; stiff ones, limits, dry friction and bounded motors act by impulses in both
//! halves (acting.rs), and contacts through the same response (contact.rs). Couplings, black boxes and screws that are left over
//! close loops as other joints do. A step that gains or loses energy without cause is halved, and then left to the direct method.

mod acting;
mod contact;
mod controlled;
mod events;
mod response;

use super::anderson::Anderson;
use super::layout::Source;
use super::{Advance, MOST_HALVINGS, Mechanism, hat};
use crate::joint::Motion;
use crate::joint::freedom::Slide;
use crate::joint::rows::Row;
use crate::math::{Wrench, max_abs};
use crate::params::StepParams;
use crate::reduced::adaptor::{self, Closing, Data, Edge, Loops, Model, Term};
use crate::report::{LeftToDirect, StepKind};
use glam::DVec3;

/// Freedoms of a mechanism with loops up to which its system is set up densely; beyond, the direct method is faster.
const MOST_FREE: usize = 64;
/// h²k/m and h d/m of a spring or damper up to which it may be explicit.
const SOFT_BOUND: f64 = 0.25;
/// Repetitions of the second half kick, and the change of a position (m, rad) that the next one would make at which they end:
/// at a frame's step far below the error of the step, and falling with its third power as that error does.
const MOST_REPEATS: usize = 6;
const REPEATED_TO: f64 = 1e-7;
const FRAME: f64 = 1.0 / 60.0;
/// Iterations that close the loops.
const MOST_CLOSING: usize = 12;

/// A mechanism as a tree.
pub(super) struct Tree {
    model: Model,
    data: Data,
    loops: Option<Loops>,
    floats: bool,
    /// Whether springs are stiff in the present step, or act among contacts, and so are implicit.
    implicit: bool,
    response: response::Response,
    /// Between events: whether accelerations and responses were found here.
    answers: bool,
    /// Whether the last step ended well, so that poses and factor belong together.
    is_settled: bool,
    /// The node (of the layout) of each link's joint, or none; and the nodes of the closing joints.
    node_of_link: Vec<Option<u32>>,
    closing_nodes: Vec<u32>,
    neutral: Vec<f64>,
    q: Vec<f64>,
    q_start: Vec<f64>,
    v: Vec<f64>,
    /// Rates after the first half kick alone.
    kicked: Vec<f64>,
    half: Vec<f64>,
    trial: Vec<f64>,
    change: Vec<f64>,
    zero: Vec<f64>,
    external: Vec<Wrench>,
    /// Forces of the soft rows, and their impulses in both halves where they are implicit.
    soft_force: Vec<f64>,
    soft_first: Vec<f64>,
    soft_second: Vec<f64>,
    /// Whether the links' forces are those that their joints transmit; with loops they are once somebody asks.
    transmits: bool,
    motions: Vec<Motion>,
    /// Where a step among contacts goes.
    ahead: Option<contact::Ahead>,
    faster: Anderson,
    /// For steps that are followed to a tolerance.
    control: controlled::Control,
}

impl Mechanism {
    /// One step of size `h` in reduced coordinates, in substeps where it needs them, or by the direct method where it must be.
    pub(super) fn reduced_or_direct_step(&mut self, h: f64, params: &StepParams, halvings: u32) -> Advance {
        if self.tree.is_none() {
            self.tree = Some(Box::new(self.make_tree()));
        }
        let Some(mut tree) = self.tree.take() else { return self.halving_step(h, params, halvings) };
        self.halvings = halvings;
        let unfit = self.unfit_for_reduced(&tree);
        let taken = if unfit.is_some() { None } else { Some(self.reduced_step(&mut tree, h, params)) };
        self.tree = Some(tree);
        match taken {
            Some(Some(iterations)) => {
                let advance = self.taken(h, StepKind::Accurate, None, iterations);
                // nobody has measured them yet
                self.errors_hold = false;
                advance
            }
            Some(None) if halvings < MOST_HALVINGS => {
                let first = self.reduced_or_direct_step(0.5 * h, params, halvings + 1);
                let second = self.reduced_or_direct_step(0.5 * h, params, halvings + 1);
                first.followed_by(&second)
            }
            // with steps of its own below this one
            _ => {
                self.left = Some(unfit.unwrap_or(LeftToDirect::Irregular));
                self.halving_step(h, params, 0)
            }
        }
    }

    /// The mechanism as a tree, with memory for its step.
    fn make_tree(&self) -> Tree {
        let movable = self.layout.movable;
        let masses: Vec<(f64, DVec3)> = self.inertia.iter().map(|i| (i.mass, i.moments)).collect();
        let (mut edges, mut nodes, mut couplings) = (Vec::new(), Vec::new(), Vec::new());
        for (k, node) in self.layout.nodes.iter().enumerate() {
            match node.source {
                Source::Joint { model, .. } if node.hard > 0 => {
                    edges.push(Edge { a: node.a, b: node.b, model: &self.layout.models[model as usize] });
                    nodes.push(k as u32);
                }
                Source::Coupling { first, last, .. } => {
                    couplings.push((k as u32, first as usize..last as usize));
                }
                Source::Joint { .. } | Source::Fixation | Source::Hub => {}
            }
        }
        let model = Model::new(&masses, &edges);
        let joint = |&j: &u32| {
            let e = &edges[j as usize];
            Closing::Joint { a: e.a, b: e.b, model: Box::new(e.model.clone()), turn: 0.0 }
        };
        let term = |t: &super::layout::Term| {
            let model = Box::new(self.layout.models[t.model as usize].clone());
            let kind = model.coordinates[t.coordinate as usize].1;
            Term { a: t.a, b: t.b, model, kind, factor: t.factor, near: 0.0 }
        };
        let mut closing: Vec<Closing> = model.closing.iter().map(joint).collect();
        closing.extend(couplings.iter().map(|(_, terms)| {
            let terms = self.layout.terms[terms.clone()].iter().map(term).collect();
            Closing::Coupling { terms, offset: 0.0 }
        }));
        let outside = |body: u32| body as usize >= movable;
        let grounded = edges.iter().any(|e| outside(e.a) || outside(e.b));
        let closing_nodes =
            model.closing.iter().map(|&j| nodes[j as usize]).chain(couplings.iter().map(|c| c.0)).collect();
        let node_of_link = model.links.iter().map(|l| nodes.get(l.joint as usize).copied()).collect();
        let rates = model.rates();
        let node_models = |node: &Option<u32>| match self.layout.nodes[(*node)? as usize].source {
            Source::Joint { model, .. } => Some(model),
            _ => None,
        };
        let node_of_link: Vec<Option<u32>> = node_of_link;
        let in_tree: Vec<u32> = node_of_link.iter().filter_map(node_models).collect();
        let across = self.layout.soft.iter().any(|s| !in_tree.contains(&s.model));
        let mut data = Data::new(&model);
        data.outside = vec![(crate::math::Placed::WORLD, Motion::default()); self.layout.bodies.len() - movable];
        Tree {
            loops: (!closing.is_empty()).then(|| Loops::new(closing, rates)),
            floats: !grounded,
            implicit: false,
            response: response::Response::new(across),
            answers: false,
            is_settled: false,
            node_of_link,
            closing_nodes,
            neutral: model.neutral(),
            q: model.neutral(),
            q_start: model.neutral(),
            v: vec![0.0; rates],
            kicked: vec![0.0; rates],
            half: vec![0.0; rates],
            trial: vec![0.0; rates],
            change: vec![0.0; rates],
            zero: vec![0.0; rates],
            external: vec![Wrench::default(); model.links.len()],
            soft_force: vec![0.0; self.layout.soft.len()],
            soft_first: Vec::new(),
            soft_second: Vec::new(),
            transmits: false,
            motions: vec![Motion::default(); self.layout.bodies.len()],
            ahead: None,
            faster: Anderson::new(rates),
            control: controlled::Control::default(),
            data,
            model,
        }
    }

    /// Takes the step, or leaves poses and velocities as they were and returns `None`. Returns the repetitions used.
    fn reduced_step(&mut self, tree: &mut Tree, h: f64, params: &StepParams) -> Option<u32> {
        self.expect_values(h);
        self.u_start.copy_from_slice(&self.u);
        self.robust.start.copy_from_slice(&self.pose);
        self.robust.kept_force.copy_from_slice(&self.force);
        let energy = self.energy_at_start();
        self.enter_tree(tree);
        tree.is_settled = false;
        let before = tree.floats.then(|| adaptor::centroidal(&tree.model, &tree.data));

        // half kick
        tree.implicit = self.springs_are_stiff(h);
        let acts = tree.implicit || !self.bounded.is_empty();
        self.loads_at(tree, false);
        tree.accelerate(true)?;
        tree.q_start.copy_from_slice(&tree.q);
        for k in 0..tree.v.len() {
            tree.half[k] = tree.v[k] + 0.5 * h * tree.data.acceleration[k];
        }
        tree.kicked.copy_from_slice(&tree.half);
        let mut pushed: (DVec3, DVec3) = tree.external_sum();
        let mut turned = DVec3::ZERO;
        (pushed.0, pushed.1) = (pushed.0 * (0.5 * h), pushed.1 * (0.5 * h));
        tree.response.soft.clear(tree.v.len());
        if acts {
            let v = std::mem::take(&mut tree.v);
            let prepared = self.prepare_acting(tree, &v, h, false);
            tree.v = v;
            prepared?;
            self.load_springs(tree, h, 0.5 * h);
            self.push_bounded_first(tree);
        }

        // move
        self.predict_outside(h);
        let closing = self.move_tree(tree, h, params.joint_tolerance)?;
        if let Some(before) = &before {
            let outer = self.outer_impulse(tree, &tree.soft_first, &self.bounded.first);
            (pushed.0, turned) = (pushed.0 + outer.0, turned + outer.1);
            tree.shift_to(before.center + (before.linear + pushed.0) * (h / before.mass));
            for (link, at) in tree.model.links.iter().zip(&tree.data.links) {
                self.next[link.body as usize] = at.placed;
            }
        }

        let repeats = self.second_kick(tree, h, params.joint_tolerance, acts)?;
        if let Some(before) = &before {
            let now = tree.external_sum();
            let outer = self.outer_impulse(tree, &tree.soft_second, &self.bounded.second);
            let (linear, angular) = (now.0 * (0.5 * h) + outer.0, now.1 * (0.5 * h) + outer.1);
            tree.restore_momentum(before, pushed.0 + linear, pushed.1 + turned + angular);
        }
        if acts {
            self.react_to_acting(tree, h);
        } else if tree.loops.is_some() {
            let accelerations = std::mem::take(&mut tree.data.acceleration);
            tree.react(&accelerations);
            tree.data.acceleration = accelerations;
        }

        self.leave_tree(tree);
        self.refresh_drive_forces();
        // where carriers are moved from outside, their work is not known here
        if !self.is_driven() && !self.energy_is_plausible(energy, h, true) {
            self.pose.copy_from_slice(&self.robust.start);
            self.u.copy_from_slice(&self.u_start);
            self.force.copy_from_slice(&self.robust.kept_force);
            return None;
        }
        self.remember_impulses(None);
        self.remember_accelerations(h);
        // a mechanism that floats was shifted after its factor was found
        tree.is_settled = !tree.floats;
        Some(closing + repeats)
    }

    /// The half kick after the move, repeated until it fits its own end, with the impulses of what acts on coordinates; `tree.half`
    /// becomes `tree.trial`, with which the tree is driven. Returns the repetitions.
    fn second_kick(&mut self, tree: &mut Tree, h: f64, tolerance: f64, acts: bool) -> Option<u32> {
        for k in 0..tree.v.len() {
            tree.trial[k] = tree.half[k] + (tree.kicked[k] - tree.v[k]);
        }
        let mut repeats = 0;
        let repeated_to = (REPEATED_TO * (h / FRAME).powi(3)).max(1e-14);
        let mut trial = std::mem::take(&mut tree.change);
        trial.resize(tree.v.len(), 0.0);
        loop {
            tree.change = trial;
            tree.drive_closed();
            trial = std::mem::take(&mut tree.change);
            if self.loads_vary() {
                self.loads_at(tree, true);
            }
            if tree.accelerate(repeats > 0).is_none() {
                tree.change = trial;
                return None;
            }
            for k in 0..tree.v.len() {
                trial[k] = tree.half[k] + 0.5 * h * tree.data.acceleration[k];
            }
            if acts {
                if repeats == 0 {
                    self.read_bounded_at_end();
                    let v = std::mem::take(&mut tree.trial);
                    let prepared = self.prepare_acting(tree, &v, h, false);
                    tree.trial = v;
                    if prepared.is_none() {
                        tree.change = trial;
                        return None;
                    }
                }
                self.push_second(tree, &mut trial, h, tolerance);
            }
            repeats += 1;
            let worst = max_abs(trial.iter().zip(&tree.trial).map(|(n, t)| n - t));
            std::mem::swap(&mut tree.trial, &mut trial);
            if !worst.is_finite() {
                tree.change = trial;
                return None;
            }
            if worst * h <= repeated_to || repeats >= MOST_REPEATS {
                break;
            }
        }
        tree.change = trial;
        tree.drive_closed();
        Some(repeats as u32)
    }

    /// Forces of all joints as means over the step, in which springs and bounded rows pushed.
    fn react_to_acting(&mut self, tree: &mut Tree, h: f64) {
        let mut mean = std::mem::take(&mut tree.change);
        for k in 0..mean.len() {
            // all impulses of the step, and the accelerations of its end
            mean[k] = (tree.trial[k] - tree.kicked[k]) / h + 0.5 * tree.data.acceleration[k];
        }
        self.load_acting(tree, h);
        tree.react(&mean);
        tree.change = mean;
    }

    /// Whether a spring or damper needs an implicit step.
    fn springs_are_stiff(&self, h: f64) -> bool {
        self.layout.soft.iter().zip(&self.linear.soft).any(|(s, soft)| {
            let m = &self.layout.models[s.model as usize];
            let (a, b) = (&self.pose[s.a as usize], &self.pose[s.b as usize]);
            let row = m.coordinates[s.coordinate as usize].1.row(m, a, b);
            (h * h * soft.law.stiffness + h * soft.law.damping) * self.mobility_of(&row, s.a, s.b) > SOFT_BOUND
        })
    }

    /// Why the direct method must take the step, for what the mechanism is made of.
    fn unfit_for_reduced(&self, tree: &Tree) -> Option<LeftToDirect> {
        let freedoms = tree.model.rates().saturating_sub(tree.loops.as_ref()?.rows);
        (freedoms > MOST_FREE).then_some(LeftToDirect::Loops { freedoms, most: MOST_FREE })
    }

    /// Positions and rates of the tree from the mechanism's poses and velocities.
    fn enter_tree(&mut self, tree: &mut Tree) {
        self.place_tree(tree);
        adaptor::drive(&tree.model, &mut tree.data, &tree.v);
    }

    /// The same without the tree being driven.
    fn place_tree(&mut self, tree: &mut Tree) {
        let movable = self.layout.movable;
        let mut changed = false;
        for link in &mut tree.model.links {
            let i = &self.inertia[link.body as usize];
            changed |= (link.mass, link.moments) != (i.mass, i.moments);
            (link.mass, link.moments) = (i.mass, i.moments);
        }
        for (k, outside) in tree.data.outside.iter_mut().enumerate() {
            let placed = &self.pose[movable + k];
            changed |= (outside.0.x, outside.0.q) != (placed.x, placed.q);
            *outside = (*placed, self.outside[movable + k]);
        }
        for k in 0..self.layout.bodies.len() {
            tree.motions[k] = self.motion(k as u32);
        }
        changed |= self.follow_closing(tree);
        // every step starts from the same turn: what is kept between steps is the world's state alone
        tree.q.copy_from_slice(&tree.neutral);
        adaptor::read_positions(&tree.model, &self.pose, &mut tree.q);
        // where the last step ended, its factor serves this one: the same numbers give the same factor
        if changed || !tree.stands_at(&self.pose) {
            adaptor::place_at(&tree.model, &mut tree.data, &self.pose, &tree.q);
            match &mut tree.loops {
                Some(loops) => loops.eliminate(&tree.model, &tree.data),
                None => adaptor::factor(&tree.model, &mut tree.data),
            }
        }
        adaptor::read_rates(&tree.model, &tree.data, &tree.motions, &mut tree.v);
    }

    /// Lets what closes loops know where its turns are counted from, and the directions of black boxes; whether these were
    /// others.
    fn follow_closing(&self, tree: &mut Tree) -> bool {
        let mut changed = false;
        let Some(loops) = &mut tree.loops else { return false };
        let near = |model: u32, coordinate: u8| {
            self.near.get(self.first_value[model as usize] as usize + coordinate as usize).copied().unwrap_or(0.0)
        };
        for (&node, closing) in tree.closing_nodes.iter().zip(&mut loops.closing) {
            let node = &self.layout.nodes[node as usize];
            match (node.source, closing) {
                (Source::Joint { model, .. }, Closing::Joint { model: own, turn, .. }) => {
                    *turn = near(model, 0);
                    changed |= own.follow(&self.layout.models[model as usize]);
                }
                (Source::Coupling { first, last, .. }, Closing::Coupling { terms, offset }) => {
                    *offset = self.linear.coupling_offset[node.row as usize];
                    for (t, of) in terms.iter_mut().zip(&self.layout.terms[first as usize..last as usize]) {
                        t.near = near(of.model, of.coordinate);
                    }
                }
                _ => {}
            }
        }
        changed
    }

    /// Gives the mechanism the tree's poses, velocities and forces.
    fn leave_tree(&mut self, tree: &Tree) {
        for (k, link) in tree.model.links.iter().enumerate() {
            let body = link.body as usize;
            let at = &tree.data.links[k];
            let (v, w) = tree.data.velocity(k);
            self.pose[body] = at.placed;
            self.u[body] = hat(&self.inertia[body], &at.placed, v, w);
        }
        self.pose[self.layout.movable..].copy_from_slice(&self.next[self.layout.movable..]);
        for (k, link) in tree.model.links.iter().enumerate() {
            let Some(node) = tree.node_of_link[k] else { continue };
            let node = &self.layout.nodes[node as usize];
            let Source::Joint { model, .. } = node.source else { continue };
            let f = tree.transmitted(k);
            let sign = if link.reversed { -1.0 } else { 1.0 };
            let (a, b) = (&self.pose[node.a as usize], &self.pose[node.b as usize]);
            let rows = node.row as usize..node.row as usize + node.hard as usize;
            self.layout.models[model as usize].row_forces(a, b, f.f * sign, f.n * sign, &mut self.force[rows]);
        }
        if let Some(loops) = &tree.loops {
            let mut k = 0;
            for (&node, closing) in tree.closing_nodes.iter().zip(&loops.closing) {
                let row = self.layout.nodes[node as usize].row as usize;
                let rows = closing.rows();
                let found = &loops.multipliers[k..k + rows];
                closing.forces(&tree.model, &tree.data, found, &mut self.force[row..row + rows]);
                k += rows;
            }
        }
        for (k, s) in self.layout.soft.iter().enumerate() {
            self.force[s.row as usize] = tree.soft_force[k];
        }
    }

    /// Whether loads depend on where the bodies are and how they move.
    fn loads_vary(&self) -> bool {
        !self.layout.soft.is_empty()
            || !self.linear.force_motors.is_empty()
            || self.inertia.iter().any(|i| i.linear_damping > 0.0 || i.angular_damping > 0.0)
    }

    /// Loads, damping, springs and force motors on the bodies of the tree as it is placed and driven. `moved`: at the end of the
    /// step, where turns are counted from there.
    fn loads_at(&self, tree: &mut Tree, moved: bool) {
        for (k, link) in tree.model.links.iter().enumerate() {
            let (force, torque) = self.load[link.body as usize];
            let i = &self.inertia[link.body as usize];
            let mut wrench = Wrench { force, torque };
            if i.linear_damping > 0.0 || i.angular_damping > 0.0 {
                let (v, w) = tree.data.velocity(k);
                let r = &tree.data.links[k].placed.r;
                wrench.force -= v * (i.linear_damping * i.mass);
                wrench.torque -= *r * (i.moments * (r.transpose() * w)) * i.angular_damping;
            }
            tree.external[k] = wrench;
        }
        let explicit = if tree.implicit { &[] } else { &self.layout.soft[..] };
        for (k, s) in explicit.iter().enumerate() {
            let m = &self.layout.models[s.model as usize];
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let near = if moved { self.near[at] } else { self.values[at] };
            let kind = m.coordinates[s.coordinate as usize].1;
            let (a, b) = (tree.placed(s.a), tree.placed(s.b));
            let row = kind.row(m, &a, &b);
            let (value, rate) = (kind.unwrapped(m, &a, &b, near), row.velocity(&tree.motion(s.a), &tree.motion(s.b)));
            let law = &self.linear.soft[k].law;
            let force = law.bias - law.stiffness * (value - law.rest) - law.damping * rate;
            tree.soft_force[k] = force;
            tree.push(&row, force, s.a, s.b);
        }
        for &(k, force) in &self.linear.force_motors {
            let t = &self.layout.tracked[k as usize];
            let m = &self.layout.models[t.model as usize];
            let row = m.coordinates[t.coordinate as usize].1.row(m, &tree.placed(t.a), &tree.placed(t.b));
            tree.push(&row, force, t.a, t.b);
        }
    }
}

impl Tree {
    /// Accelerations at the driven velocities; `again`: the tree is factorised where it is.
    fn accelerate(&mut self, again: bool) -> Option<()> {
        self.freshen_loops();
        let Tree { model, data, loops, zero, external, transmits, .. } = self;
        *transmits = false;
        match loops {
            Some(loops) => loops.accelerate(model, data, external),
            None => {
                adaptor::accelerate_driven(model, data, zero, external, again);
                Some(())
            }
        }
    }

    /// Whether the tree is placed and factorised at these poses.
    fn stands_at(&self, poses: &[crate::math::Placed]) -> bool {
        // a rod's rates are measured in a frame that its positions carry along
        self.is_settled
            && self.model.links.iter().zip(&self.data.links).all(|(link, at)| {
                let p = &poses[link.body as usize];
                (at.placed.x, at.placed.q) == (p.x, p.q) && link.freedom.slide != Slide::Sphere
            })
    }

    /// Poses at the present positions, loops closed to a tolerance; returns the iterations.
    fn place_closed(&mut self, tolerance: f64) -> Option<u32> {
        self.freshen_loops();
        adaptor::place(&self.model, &mut self.data, &self.q);
        let Some(loops) = &mut self.loops else { return Some(0) };
        let mut before = f64::INFINITY;
        for iteration in 0..MOST_CLOSING {
            let worst = loops.errors(&self.model, &self.data);
            // whether somebody needs the elimination at these poses is not known yet
            if worst <= 0.2 * tolerance {
                loops.stale = true;
                return Some(iteration as u32);
            }
            if worst.is_nan() || worst > 0.5 * before {
                if iteration > 1 && worst <= tolerance {
                    loops.stale = true;
                    return Some(iteration as u32);
                }
                if worst.is_nan() || iteration > 4 {
                    return None;
                }
                loops.eliminate(&self.model, &self.data);
            }
            before = worst;
            loops.errors(&self.model, &self.data);
            loops.position_correction(&mut self.change);
            self.model.integrate(&mut self.q, &self.change, 1.0);
            adaptor::place(&self.model, &mut self.data, &self.q);
        }
        None
    }

    /// Eliminates the rows of loops at the present poses, where that was put off.
    pub(super) fn freshen_loops(&mut self) {
        if let Some(loops) = self.loops.as_mut().filter(|l| l.stale) {
            loops.eliminate(&self.model, &self.data);
        }
    }

    /// Drives the tree with the trial rates, which are made to close the loops.
    fn drive_closed(&mut self) {
        self.freshen_loops();
        if let Some(loops) = &mut self.loops {
            adaptor::set_velocities(&self.model, &mut self.data, &self.trial);
            loops.velocity_correction(&self.model, &self.data, &mut self.change);
            self.trial.iter_mut().zip(&self.change).for_each(|(t, c)| *t += c);
        }
        adaptor::drive(&self.model, &mut self.data, &self.trial);
    }

    /// Finds what the joints transmit under accelerations and the present loads.
    fn react(&mut self, accelerations: &[f64]) {
        self.freshen_loops();
        let Tree { model, data, loops, external, .. } = self;
        match loops {
            Some(loops) => loops.react(model, data, accelerations, external),
            None => adaptor::rnea_driven(model, data, accelerations, external),
        }
        self.transmits = true;
    }

    /// The force that a link's joint transmits to it, at the link's point.
    fn transmitted(&self, k: usize) -> crate::reduced::Force6 {
        let at = &self.data.links[k];
        if self.transmits { at.p } else { at.ia.times(at.a) + at.p }
    }

    /// How links move, each at its own point, by rates at the present columns, those outside standing still.
    fn motions_by(&self, rates: &[f64], motions: &mut Vec<crate::reduced::Motion6>) {
        motions.clear();
        for (link, at) in self.model.links.iter().zip(&self.data.links) {
            let carrier = motions.get(link.parent as usize).copied().unwrap_or_default();
            let mut own = carrier.at(at.r);
            for rate in link.v as usize..link.v as usize + link.rates as usize {
                own += self.data.s[rate] * rates[rate];
            }
            motions.push(own);
        }
    }

    /// Sum of the external forces, and of their torques about the common centre of mass.
    fn external_sum(&self) -> (DVec3, DVec3) {
        if !self.floats {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let (mut force, mut moment, mut mass, mut first) = (DVec3::ZERO, DVec3::ZERO, 0.0, DVec3::ZERO);
        for (k, link) in self.model.links.iter().enumerate() {
            let (w, x) = (&self.external[k], self.data.links[k].placed.x);
            force += w.force;
            moment += w.torque + x.cross(w.force);
            mass += link.mass;
            first += x * link.mass;
        }
        (force, moment - (first / mass).cross(force))
    }

    /// Moves the whole so that its centre of mass is where its momentum takes it.
    fn shift_to(&mut self, center: DVec3) {
        let shift = center - adaptor::centroidal(&self.model, &self.data).center;
        for at in &mut self.data.links {
            at.placed.x += shift;
            at.o += shift;
        }
        // the root's distance is from the origin
        for (link, at) in self.model.links.iter().zip(&mut self.data.links) {
            if link.parent == u32::MAX {
                at.r += shift;
                let q = link.q as usize;
                (0..3).for_each(|s| self.q[q + s] += shift[s]);
            }
        }
    }

    /// Gives back, as a motion of the whole, what the momentum differs from the one before and the impulses since.
    fn restore_momentum(&mut self, before: &crate::reduced::Centroidal, impulse: DVec3, turn: DVec3) {
        let now = adaptor::centroidal(&self.model, &self.data);
        let linear = (before.linear + impulse - now.linear) / now.mass;
        let angular = now.inertia.inverse() * (before.angular + turn - now.angular);
        for at in &mut self.data.links {
            at.v.w += angular;
            at.v.v += linear + angular.cross(at.o - now.center);
        }
    }

    fn placed(&self, body: u32) -> crate::math::Placed {
        match self.model.link_of.get(body as usize) {
            Some(&link) => self.data.links[link as usize].placed,
            None => self.data.outside[body as usize - self.model.movable].0,
        }
    }

    fn motion(&self, body: u32) -> Motion {
        match self.model.link_of.get(body as usize) {
            Some(&link) => {
                let (v, w) = self.data.velocity(link as usize);
                Motion { v, w }
            }
            None => self.data.outside[body as usize - self.model.movable].1,
        }
    }

    /// A row's force on the two bodies of its joint.
    fn push(&mut self, row: &Row, force: f64, a: u32, b: u32) {
        for (body, lin, ang) in [(a, -row.lin, row.ang_a), (b, row.lin, row.ang_b)] {
            if let Some(&link) = self.model.link_of.get(body as usize) {
                let w = &mut self.external[link as usize];
                w.force += lin * force;
                w.torque += ang * force;
            }
        }
    }
}
