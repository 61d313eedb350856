//! A mechanism in reduced coordinates among contacts: its free motions are its rates, and it answers impulses through its mass.
//!
//! The order is that of the direct method (mechanism/contact.rs): kick, contacts and bounded rows solved together, move with the
//! joints closed, and velocities of the middle of the step where something pushes. The kick is h q̈(q, q̇) with the velocities
//! that the last step lets expect for its middle; a second look needs the poses of the start again, so the move is made in
//! memory of its own.

use super::Tree;
use crate::joint::Motion;
use crate::math::Wrench;
use crate::mechanism::{Advance, Mechanism, SPIN_BOUND, hat};
use crate::params::{Method, StepParams};
use crate::reduced::Force6;
use crate::reduced::adaptor::{self, Data, Loops};
use crate::report::{LeftToDirect, StepKind};
use glam::DVec3;

/// Freedoms up to which a mechanism answers contacts in reduced coordinates; beyond, the direct method solves body by body.
const MOST_FREEDOMS: usize = 96;

/// Where a contact step goes.
pub(super) struct Ahead {
    data: Data,
    loops: Option<Loops>,
    /// Impulses on the links, and of the springs after the kick.
    pushed: Vec<Wrench>,
    soft_kicked: Vec<f64>,
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
            // what rests is kicked with the velocities of the middle of the step; rows need those of its start
            if self.lag == 0.0 || tree.implicit || !self.bounded.is_empty() {
                adaptor::drive(&tree.model, &mut tree.data, &tree.v);
            }
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
        let mut change = tree.generalised(&self.pushed_wrenches(&tree));
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
        self.u_start.copy_from_slice(&self.u);
        if self.lag > 0.0 {
            self.expect_middle(&mut tree, time);
        }
        self.loads_at(&mut tree, false);
        let accelerates = tree.accelerate(true).is_some();
        for k in 0..tree.v.len() {
            let a = if accelerates { tree.data.acceleration[k] } else { 0.0 };
            tree.half[k] = tree.v[k] + time * a;
        }
        self.load_springs(&mut tree, h, h);
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
        tree.ahead = Some(Ahead { data, loops, pushed: Vec::new(), soft_kicked });
        self.tree = Some(tree);
    }

    /// Finds where the impulses that were pushed lead; `None` if loops or limits cannot be closed there.
    pub(in crate::mechanism) fn predict_in_tree(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        let mut tree = self.tree.take()?;
        let pushed = self.pushed_wrenches(&tree);
        let mut change = tree.generalised(&pushed);
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
        // the move is made elsewhere: what a second look needs stays where it is
        ahead.data.outside.clone_from(&tree.data.outside);
        if let (Some(loops), Some(from)) = (&mut ahead.loops, &tree.loops) {
            loops.copy_from(from);
        }
        ahead.swap(&mut tree);
        let closed = if spins { None } else { self.move_tree(&mut tree, h, params.joint_tolerance) };
        ahead.swap(&mut tree);
        ahead.pushed = pushed;
        tree.ahead = Some(ahead);
        self.tree = Some(tree);
        // even a tree bends its way: its bodies go round their joints
        closed.map(|iterations| iterations + 1)
    }

    /// Goes where [`Mechanism::predict_in_tree`] found.
    pub(in crate::mechanism) fn move_in_tree(&mut self, h: f64, params: &StepParams, supported: bool) {
        let Some(mut tree) = self.tree.take() else { return };
        let Some(mut ahead) = tree.ahead.take() else { return };
        ahead.swap(&mut tree);
        tree.trial.copy_from_slice(&tree.half);
        let kicked = !supported && self.second_kick(&mut tree, h, params.joint_tolerance, false).is_some();
        if !kicked {
            tree.trial.copy_from_slice(&tree.half);
            tree.drive_closed();
        }
        // mean forces over the step
        self.loads_at(&mut tree, true);
        for (w, p) in tree.external.iter_mut().zip(&ahead.pushed) {
            w.force += p.force / h;
            w.torque += p.torque / h;
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
            // springs have had their whole impulse
            tree.implicit = true;
            self.loads_at(&mut tree, false);
            if tree.accelerate(true).is_some() {
                for k in 0..tree.v.len() {
                    tree.v[k] += time * tree.data.acceleration[k];
                }
            }
            adaptor::drive(&tree.model, &mut tree.data, &tree.v);
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

    /// Drives the tree with the velocities to expect in the middle of the kick, from those of the last step.
    fn expect_middle(&self, tree: &mut Tree, time: f64) {
        for k in 0..self.layout.movable {
            let i = &self.inertia[k];
            let u: [f64; 6] = std::array::from_fn(|s| self.u[k][s] + 0.5 * time * self.acceleration[k].last[s]);
            let w = self.pose[k].r * (DVec3::new(u[3], u[4], u[5]) * i.inv_sqrt);
            tree.motions[k] = Motion { v: DVec3::new(u[0], u[1], u[2]) * i.inv_sqrt_mass, w };
        }
        adaptor::read_rates(&tree.model, &tree.data, &tree.motions, &mut tree.trial);
        adaptor::drive(&tree.model, &mut tree.data, &tree.trial);
    }

    /// Hat velocities of the bodies as the tree is driven.
    fn take_velocities(&mut self, tree: &Tree) {
        for (k, link) in tree.model.links.iter().enumerate() {
            let body = link.body as usize;
            let (v, w) = tree.data.velocity(k);
            self.u[body] = hat(&self.inertia[body], &tree.data.links[k].placed, v, w);
        }
    }

    /// What was pushed, as impulses at the links' centres of mass.
    fn pushed_wrenches(&self, tree: &Tree) -> Vec<Wrench> {
        let of = |link: &crate::reduced::adaptor::Link| {
            let (p, i) = (&self.contact.pushed[link.body as usize], &self.inertia[link.body as usize]);
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
