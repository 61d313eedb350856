//! A mechanism in reduced coordinates among contacts: its free motions are its rates, and it answers impulses through its mass.
//!
//! The step is that of the direct method (mechanism/contact.rs) with the joints closed by their coordinates: kick, contacts and
//! bounded rows solved together, move, and velocities of the middle of the step where something pushes. With u the velocities
//! of the bodies, M their masses and J = ∂u/∂q̇ at the poses of the start:
//!
//!   Jᵀ M w = Jᵀ (M u + impulses)      w leads from the poses of the start to those of the end in straight flight and free rotation
//!   q̇' = H'⁻¹ J'ᵀ M w'                w' is w where it arrives
//!
//! The first line is solved for the rates of the move by repetition with H (discrete Euler–Lagrange equations, SHAKE in
//! coordinates); the second leaves no velocity that would open a joint. Nothing in it depends on accelerations: an explicit kick
//! by the terms that are quadratic in the rates made energy without bound, and lost momentum. Here a mechanism that floats keeps
//! its momentum, linear and angular, as far as the first line is solved. A second look needs the poses of the start again, so the
//! move is made in memory of its own.

use super::Tree;
use crate::math::{Wrench, max_abs, rotation};
use crate::mechanism::{Advance, Hat, Mechanism, SPIN_BOUND, hat};
use crate::params::{Method, StepParams};
use crate::reduced::Force6;
use crate::reduced::adaptor::{self, Data, Loops};
use crate::report::{LeftToDirect, StepKind};
use glam::DVec3;

/// Freedoms up to which a mechanism answers contacts in reduced coordinates; beyond, the direct method solves body by body.
const MOST_FREEDOMS: usize = 96;
/// Repetitions that find the rates of a move, and what each may leave of the rest. By themselves they bring it down by about the
/// angle, in rad, by which joints turn in the step, times the ratio of a link's inertias; Anderson's acceleration takes the few
/// directions out in which that does not converge. What needs more turns too far, and takes smaller steps.
const MOST_REPEATS: usize = 24;
const MOST_LEFT: f64 = 0.9;
/// Part of the joint tolerance, as the way that is wrong in the step, to which what floats keeps its momentum.
const FLOATING: f64 = 1e-3;
/// Square of a turn, rad², below which its series is exact to rounding and its closed form is not.
const SMALL_TURN: f64 = 1e-4;

/// Where a contact step goes.
pub(super) struct Ahead {
    data: Data,
    loops: Option<Loops>,
    /// Impulses on the links, and of the springs after the kick.
    pushed: Vec<Wrench>,
    soft_kicked: Vec<f64>,
    /// Momentum that the kick gave, by rate.
    momentum: Vec<f64>,
}

impl Mechanism {
    /// Begins a step among contacts in reduced coordinates; false if the direct method must take it.
    pub(in crate::mechanism) fn begin_contact_in_tree(&mut self, h: f64) -> bool {
        if self.method != Method::Reduced {
            return false;
        }
        let mut tree = self.tree.take().unwrap_or_else(|| Box::new(self.make_tree()));
        self.left = self.unfit_for_reduced(&tree);
        if self.left.is_none() {
            self.place_tree(&mut tree);
            tree.is_settled = false;
            tree.implicit = !self.layout.soft.is_empty();
            adaptor::drive(&tree.model, &mut tree.data, &tree.v);
            tree.q_start.copy_from_slice(&tree.q);
            let v = std::mem::take(&mut tree.v);
            let freedoms = tree.freedoms();
            if freedoms > MOST_FREEDOMS {
                self.left = Some(LeftToDirect::Contact { freedoms, most: MOST_FREEDOMS });
            } else if self.prepare_acting(&mut tree, &v, h, true).is_none() {
                self.left = Some(LeftToDirect::Singular);
            }
            tree.v = v;
        }
        self.tree = Some(tree);
        self.left.is_none()
    }

    pub(in crate::mechanism) fn freedoms_in_tree(&self) -> usize {
        self.tree.as_ref().map_or(0, |t| t.freedoms())
    }

    pub(in crate::mechanism) fn row_in_tree(
        &self,
        row: &crate::joint::rows::Row,
        k: usize,
        is_b: bool,
        out: &mut Vec<f64>,
    ) {
        if let Some(tree) = &self.tree {
            tree.whiten_row(row, tree.model.link_of[k] as usize, is_b, out);
        }
    }

    /// Takes the impulses that were pushed, as a blow.
    pub(in crate::mechanism) fn take_blow_in_tree(&mut self) {
        let Some(mut tree) = self.tree.take() else { return };
        let mut change = tree.generalised(&self.wrenches(&self.contact.pushed, &tree));
        tree.answer(&mut change);
        tree.v.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
        self.contact.pushed.fill([0.0; 6]);
        adaptor::drive(&tree.model, &mut tree.data, &tree.v);
        self.take_velocities(&tree);
        self.tree = Some(tree);
    }

    /// Kicks for a `time` of a step of `h` and loads springs; contacts come next.
    pub(in crate::mechanism) fn kick_in_tree(&mut self, h: f64, time: f64) {
        let Some(mut tree) = self.tree.take() else { return };
        self.refresh_drive_forces();
        self.kick_open(h, time);
        let momentum = tree.generalised(&self.wrenches(&self.u, &tree));
        let mut change = self.momentum_beyond(&tree);
        tree.half.copy_from_slice(&tree.v);
        self.open_springs(&mut tree, h);
        tree.answer(&mut change);
        tree.half.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
        tree.let_springs_follow(&change);
        self.aim_bounded_first(&tree, h, h);
        tree.kicked.copy_from_slice(&tree.half);
        let soft_kicked = tree.soft_first.clone();
        adaptor::set_velocities(&tree.model, &mut tree.data, &tree.half);
        self.take_velocities(&tree);
        self.contact.kicked.clone_from(&self.u);
        let ahead = tree.ahead.take();
        let (data, loops) = match ahead {
            Some(ahead) => (ahead.data, ahead.loops),
            None => (tree.data.clone(), tree.loops.clone()),
        };
        tree.ahead = Some(Ahead { data, loops, pushed: Vec::new(), soft_kicked, momentum });
        self.tree = Some(tree);
    }

    /// Finds where the impulses that were pushed lead; `None` if loops or limits cannot be closed there.
    pub(in crate::mechanism) fn predict_in_tree(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        let mut tree = self.tree.take()?;
        let pushed = self.wrenches(&self.contact.pushed, &tree);
        let by_rate = tree.generalised(&pushed);
        let mut change = by_rate.clone();
        tree.answer(&mut change);
        for k in 0..tree.half.len() {
            tree.half[k] = tree.kicked[k] + change[k];
        }
        let Some(mut ahead) = tree.ahead.take() else {
            self.tree = Some(tree);
            return None;
        };
        tree.soft_first.clone_from(&ahead.soft_kicked);
        tree.let_springs_follow(&change);
        adaptor::set_velocities(&tree.model, &mut tree.data, &tree.half);
        self.take_velocities(&tree);
        self.contact.with_contacts.clone_from(&self.u);
        self.predict_outside(h);
        let spins = (0..self.layout.movable).any(|k| h * self.body_spin(k).length() >= SPIN_BOUND);
        let momentum: Vec<f64> = ahead.momentum.iter().zip(&by_rate).map(|(m, p)| m + p).collect();
        let found = if spins { None } else { self.find_move(&mut tree, &mut ahead, &momentum, h, params) };
        ahead.pushed = pushed;
        tree.ahead = Some(ahead);
        self.tree = Some(tree);
        // even a tree bends its way: its bodies go round their joints
        found.map(|iterations| iterations + 1)
    }

    /// Finds the rates `tree.half` that lead to poses to which the bodies come with a `momentum`, by rate, and what springs and
    /// limits add to it. Returns the iterations, or `None` if loops or limits cannot be closed there, or it turns too far.
    fn find_move(
        &mut self,
        tree: &mut Tree,
        ahead: &mut Ahead,
        momentum: &[f64],
        h: f64,
        params: &StepParams,
    ) -> Option<u32> {
        let given = self.bounded.first.clone();
        let enough = params.joint_tolerance;
        // what floats keeps its momentum to far less than that; loops are not closed so well that more could be asked of them
        let wanted = if tree.floats && tree.loops.is_none() { FLOATING * enough } else { enough };
        let (mut iterations, mut before) = (0, f64::INFINITY);
        let weight = vec![1.0; tree.half.len()];
        tree.faster.restart();
        for _ in 0..MOST_REPEATS {
            // the move is made elsewhere: what a second look needs stays where it is
            ahead.data.outside.clone_from(&tree.data.outside);
            if let (Some(loops), Some(from)) = (&mut ahead.loops, &tree.loops) {
                loops.copy_from(from);
            }
            ahead.swap(tree);
            let moved = self.move_tree(tree, h, params.joint_tolerance);
            ahead.swap(tree);
            iterations += moved?;
            for k in 0..self.layout.movable {
                self.u[k] = self.way(k, h);
            }
            let mut left = tree.generalised(&self.wrenches(&self.u, tree));
            left.iter_mut().zip(momentum).for_each(|(l, m)| *l = m - *l);
            let Tree { response, soft_first, .. } = &*tree;
            response.soft.add_momenta(soft_first.iter().copied(), &mut left);
            response.bounded.add_momenta(self.bounded.first.iter().zip(&given).map(|(p, g)| p - g), &mut left);
            tree.answer(&mut left);
            let worst = h * max_abs(left.iter().copied());
            if worst <= wanted || worst <= enough && worst > 0.5 * before {
                return Some(iterations);
            }
            if !worst.is_finite() || worst > MOST_LEFT * before {
                return None;
            }
            before = worst;
            tree.trial.copy_from_slice(&tree.half);
            tree.faster.accelerate(&mut left, &weight, &mut tree.half);
            left.iter_mut().zip(tree.half.iter().zip(&tree.trial)).for_each(|(l, (after, v))| *l = after - v);
            tree.let_springs_follow(&left);
            iterations += 1;
        }
        None
    }

    /// Goes where [`Mechanism::predict_in_tree`] found.
    pub(in crate::mechanism) fn move_in_tree(&mut self, h: f64, supported: bool) {
        let Some(mut tree) = self.tree.take() else { return };
        let Some(mut ahead) = tree.ahead.take() else { return };
        ahead.swap(&mut tree);
        for k in 0..self.layout.movable {
            self.u[k] = self.arrival(k, h);
        }
        self.pose.copy_from_slice(&self.next);
        if !supported {
            self.refresh_drive_forces();
            self.kick(0.5 * h);
        }
        tree.trial.copy_from_slice(&tree.half);
        self.close_velocities_in_tree(&mut tree);
        // mean forces over the step
        self.loads_at(&mut tree, true);
        for ((w, p), link) in tree.external.iter_mut().zip(&ahead.pushed).zip(&tree.model.links) {
            let by_particles = self.push[link.body as usize];
            w.force += p.force / h + by_particles.0;
            w.torque += p.torque / h + by_particles.1;
        }
        tree.soft_second.clear();
        self.load_springs_forces(&mut tree, h);
        self.bounded.average(h);
        let mean: Vec<f64> = tree.trial.iter().zip(&tree.v).map(|(after, before)| (after - before) / h).collect();
        tree.react(&mean);
        self.leave_tree(&tree);
        self.refresh_drive_forces();
        self.remember_impulses(None);
        self.remember_accelerations(h);
        // its memory serves the next step, and where that begins at the same poses, so does the elimination
        tree.ahead = Some(ahead);
        tree.is_settled = tree.loops.is_some();
        self.tree = Some(tree);
    }

    /// What the last resort starts from: the velocities with contacts, and no impulses of joints.
    pub(in crate::mechanism) fn give_up_tree(&mut self) {
        self.impulse.fill(0.0);
        self.contact.answered.clone_from(&self.impulse);
    }

    /// Gives the rest of the kick of the last step to a mechanism that has come free.
    pub(in crate::mechanism) fn catch_up_in_tree(&mut self, time: f64) -> bool {
        if self.method != Method::Reduced {
            return false;
        }
        let mut tree = self.tree.take().unwrap_or_else(|| Box::new(self.make_tree()));
        let fit = self.unfit_for_reduced(&tree).is_none();
        if fit {
            self.enter_tree(&mut tree);
            self.refresh_drive_forces();
            // springs have had their whole impulse
            self.kick(time);
            tree.trial.copy_from_slice(&tree.v);
            self.close_velocities_in_tree(&mut tree);
            self.take_velocities(&tree);
        }
        self.tree = Some(tree);
        fit
    }

    pub(in crate::mechanism) fn taken_in_tree(&mut self, h: f64, iterations: u32) -> Advance {
        let advance = self.taken(h, StepKind::Accurate, None, iterations);
        // nobody has measured them yet
        self.errors_hold = false;
        advance
    }

    /// Drives the tree, where it is placed, with the rates nearest to the velocities of the bodies that close loops; `tree.trial`
    /// becomes these rates.
    fn close_velocities_in_tree(&mut self, tree: &mut Tree) {
        tree.drive_closed();
        // hard joints alone
        let soft = std::mem::take(&mut tree.response.soft);
        let mut change = self.momentum_beyond(tree);
        if tree.factor_response() {
            tree.answer(&mut change);
            tree.trial.iter_mut().zip(&change).for_each(|(v, c)| *v += c);
            adaptor::drive(&tree.model, &mut tree.data, &tree.trial);
        }
        tree.response.soft = soft;
    }

    /// Momentum of the bodies' velocities beyond those with which the tree is driven, by rate.
    fn momentum_beyond(&self, tree: &Tree) -> Vec<f64> {
        let mut beyond = self.u.clone();
        for (k, link) in tree.model.links.iter().enumerate() {
            let body = link.body as usize;
            let (v, w) = tree.data.velocity(k);
            let driven = hat(&self.inertia[body], &tree.data.links[k].placed, v, w);
            beyond[body].iter_mut().zip(driven).for_each(|(u, d)| *u -= d);
        }
        tree.generalised(&self.wrenches(&beyond, tree))
    }

    /// The velocity with which body `k` (local) must start to be at its next pose after `h`.
    fn way(&self, k: usize, h: f64) -> Hat {
        self.way_with(k, h, 1.0)
    }

    /// The velocity with which it arrives there.
    fn arrival(&self, k: usize, h: f64) -> Hat {
        self.way_with(k, h, -1.0)
    }

    /// Straight flight, and free rotation by the discrete Euler–Poincaré equations with the exponential map: of a turn θ = hω the
    /// momenta at start and end are l = p ± ½ θ × p + c θ × (θ × p) with p = Iω and c = (1 − ½θ cot ½θ)/θ², and the turn takes
    /// one to the other. What turns about a principal axis has l = Iω: wheels turn as fast as their velocity says.
    fn way_with(&self, k: usize, h: f64, sign: f64) -> Hat {
        let (i, from, to) = (&self.inertia[k], &self.pose[k], &self.next[k]);
        let v = (to.x - from.x) * (i.sqrt_mass / h);
        let turn = from.q.conjugate() * to.q;
        let theta = rotation::log(turn);
        let square = theta.length_squared();
        let c = if square < SMALL_TURN {
            1.0 / 12.0 + square / 720.0
        } else {
            // quaternions have sine and cosine of half the angle, of either sign
            (1.0 - 0.5 * square.sqrt() * (turn.w / turn.xyz().length()).abs()) / square
        };
        let p = i.moments * theta / h;
        let across = theta.cross(p);
        let l = (p + across * (0.5 * sign) + theta.cross(across) * c) * i.inv_sqrt;
        [v.x, v.y, v.z, l.x, l.y, l.z]
    }

    /// Hat velocities of the bodies as the tree is driven.
    fn take_velocities(&mut self, tree: &Tree) {
        for (k, link) in tree.model.links.iter().enumerate() {
            let body = link.body as usize;
            let (v, w) = tree.data.velocity(k);
            self.u[body] = hat(&self.inertia[body], &tree.data.links[k].placed, v, w);
        }
    }

    /// Momenta, or impulses, of the bodies as those at the links' centres of mass.
    fn wrenches(&self, hats: &[Hat], tree: &Tree) -> Vec<Wrench> {
        let of = |link: &crate::reduced::adaptor::Link| {
            let (p, i) = (&hats[link.body as usize], &self.inertia[link.body as usize]);
            Wrench {
                force: DVec3::new(p[0], p[1], p[2]) * i.sqrt_mass,
                torque: self.pose[link.body as usize].r * (DVec3::new(p[3], p[4], p[5]) * i.sqrt),
            }
        };
        tree.model.links.iter().map(of).collect()
    }
}

impl Ahead {
    fn swap(&mut self, tree: &mut Tree) {
        std::mem::swap(&mut self.data, &mut tree.data);
        std::mem::swap(&mut self.loops, &mut tree.loops);
    }
}

impl Tree {
    /// Impulses at the centres of mass of the links, by rate.
    pub(super) fn generalised(&self, pushed: &[Wrench]) -> Vec<f64> {
        let mut at: Vec<Force6> = pushed
            .iter()
            .zip(&self.data.links)
            .map(|(w, link)| Force6::new(w.torque + link.lever().cross(w.force), w.force))
            .collect();
        let mut out = vec![0.0; self.model.rates()];
        for (k, link) in self.model.links.iter().enumerate().rev() {
            for rate in link.v as usize..link.v as usize + link.rates as usize {
                out[rate] = self.data.s[rate].dot(at[k]);
            }
            if link.parent != u32::MAX {
                let carried = at[k].carried(self.data.links[k].r);
                at[link.parent as usize] += carried;
            }
        }
        out
    }
}
