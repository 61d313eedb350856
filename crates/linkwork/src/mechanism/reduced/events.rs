//! A mechanism in reduced coordinates between events: accelerations by articulated bodies, impulses through the tree (Mirtich).

use super::Tree;
use crate::joint::rows::Row;
use crate::math::Wrench;
use crate::mechanism::Mechanism;
use crate::params::Method;
use crate::reduced::adaptor;
use crate::report::LeftToDirect;
use glam::DVec3;

impl Mechanism {
    /// Linear and angular accelerations of the movable bodies where they are; `None` if the direct method must find them.
    pub(in crate::mechanism) fn accelerations_in_tree(&mut self) -> Option<Vec<(DVec3, DVec3)>> {
        if self.method != Method::Reduced {
            return None;
        }
        let mut tree = self.tree.take().unwrap_or_else(|| Box::new(self.make_tree()));
        let unfit = self.unfit_for_reduced(&tree);
        let found = if unfit.is_some() { None } else { self.accelerate_bodies(&mut tree) };
        tree.answers = found.is_some();
        self.tree = Some(tree);
        found
    }

    /// Why accelerations were not found here when they were asked for last, if they were not.
    pub(in crate::mechanism) fn left_between_events(&self) -> Option<LeftToDirect> {
        let tree = self.tree.as_ref().filter(|tree| self.method == Method::Reduced && !tree.answers)?;
        Some(self.unfit_for_reduced(tree).unwrap_or(LeftToDirect::Singular))
    }

    fn accelerate_bodies(&mut self, tree: &mut Tree) -> Option<Vec<(DVec3, DVec3)>> {
        self.enter_tree(tree);
        (tree.is_settled, tree.implicit) = (false, false);
        self.loads_at(tree, false);
        tree.accelerate(true)?;
        tree.response.soft.clear(tree.v.len());
        if !tree.factor_response() {
            return None;
        }
        let accelerations = std::mem::take(&mut tree.data.acceleration);
        adaptor::set_accelerations(&tree.model, &mut tree.data, &accelerations);
        tree.data.acceleration = accelerations;
        let of = |body: usize| tree.data.body_acceleration(tree.model.link_of[body] as usize);
        Some((0..self.layout.movable).map(of).collect())
    }

    /// Changes of velocity (by world slot: linear, angular) that unit impulses along rows bring about, where
    /// [`Mechanism::accelerations_in_tree`] has found accelerations; `None` if it has not.
    pub(in crate::mechanism) fn response_in_tree(
        &mut self,
        pushes: &[(Row, usize, bool)],
    ) -> Option<Vec<(u32, DVec3, DVec3)>> {
        let mut tree = self.tree.take_if(|tree| self.method == Method::Reduced && tree.answers)?;
        let mut pushed = vec![Wrench::default(); tree.model.links.len()];
        for (row, k, is_b) in pushes {
            let (lin, ang) = if *is_b { (row.lin, row.ang_b) } else { (-row.lin, row.ang_a) };
            let wrench = &mut pushed[tree.model.link_of[*k] as usize];
            wrench.force += lin;
            wrench.torque += ang;
        }
        let mut change = tree.generalised(&pushed);
        tree.answer(&mut change);
        let mut motions = Vec::with_capacity(pushed.len());
        tree.motions_by(&change, &mut motions);
        let links = tree.model.links.iter().zip(&tree.data.links).zip(&motions);
        let mut found: Vec<(u32, DVec3, DVec3)> = links
            .map(|((link, at), own)| (self.layout.bodies[link.body as usize], own.at(at.lever()).v, own.w))
            .collect();
        found.sort_by_key(|(slot, ..)| *slot);
        self.tree = Some(tree);
        Some(found)
    }
}
