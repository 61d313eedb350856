//! Broad phase: which colliders come near each other.
//!
//! Every collider has a fat box. While its box, grown by how far it may go in a step, stays inside, nothing is done for
//! it; once outside it gets a new fat box and its pairs are looked up in the tree. Pairs are those whose fat boxes
//! overlap: a matter of the boxes alone, not of the shape of the tree or its history.

use super::parry::{Bounds, BoxTree};

/// Fat boxes in a tree.
#[derive(Clone, Default)]
pub(crate) struct BroadPhase {
    tree: BoxTree,
    /// By collider; `None` for planes, which are near everything.
    pub fat: Vec<Option<Bounds>>,
    planes: Vec<u32>,
    moved: Vec<u32>,
    /// By collider: whether it is among those moved.
    is_moved: Vec<bool>,
    /// Boxes changed since the tree was laid out.
    changes: usize,
}

/// A fat box this many margins too large is made anew, or a body that was once fast would keep its many pairs.
const SHRINK: f64 = 6.0;

impl BroadPhase {
    /// Starts anew from fat boxes.
    pub fn reset(&mut self, fat: Vec<Option<Bounds>>) {
        self.tree = BoxTree::default();
        for (i, bounds) in fat.iter().enumerate() {
            if let Some(bounds) = bounds {
                self.tree.change(i as u32, bounds);
            }
        }
        self.is_moved.clear();
        self.is_moved.resize(fat.len(), false);
        self.planes = (0..fat.len() as u32).filter(|&k| fat[k as usize].is_none()).collect();
        self.fat = fat;
        self.moved.clear();
        // new colliders are not where they belong yet
        self.changes = usize::MAX / 2;
    }

    /// Whether a collider that may be there in this step needs another fat box, a larger one or, if it `may_shrink`, a smaller.
    pub fn must_place(&self, collider: u32, bounds: &Bounds, margin: f64, may_shrink: bool) -> bool {
        let Some(fat) = &self.fat[collider as usize] else { return false };
        let much_smaller = || may_shrink && (fat.half() - bounds.half()).max_element() > SHRINK * margin;
        !fat.contains(bounds) || much_smaller()
    }

    /// Gives a collider another fat box, around where it may be in this step.
    pub fn place(&mut self, collider: u32, bounds: &Bounds, margin: f64) {
        let Some(fat) = &mut self.fat[collider as usize] else { return };
        *fat = bounds.grown(margin);
        self.tree.change(collider, fat);
        self.moved.push(collider);
        self.is_moved[collider as usize] = true;
    }

    /// Whether any fat box has changed since the last call of [`BroadPhase::settle`].
    pub fn has_moved(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Whether the fat boxes of two colliders still overlap, if either has changed.
    pub fn keeps(&self, a: u32, b: u32) -> bool {
        !(self.is_moved[a as usize] || self.is_moved[b as usize]) || self.overlap(a, b)
    }

    /// All pairs are to be found anew.
    pub fn move_all(&mut self) {
        self.moved.clear();
        self.moved.extend(0..self.fat.len() as u32);
        self.is_moved.fill(true);
    }

    /// Calls `found` for every overlap of a changed fat box, once for each pair, then forgets the changes.
    pub fn settle(&mut self, mut found: impl FnMut(u32, u32)) {
        if self.moved.is_empty() {
            return;
        }
        self.changes = self.changes.saturating_add(self.moved.len());
        let anew = self.changes > self.fat.len();
        self.tree.settle(anew);
        if anew {
            self.changes = 0;
        }
        for &collider in &self.moved {
            if let Some(fat) = &self.fat[collider as usize] {
                self.tree.visit(fat, |other| {
                    // of two that have changed, the lower one finds the other
                    if other > collider || (other < collider && !self.is_moved[other as usize]) {
                        found(collider.min(other), collider.max(other));
                    }
                });
            }
        }
        for &collider in &self.moved {
            self.is_moved[collider as usize] = false;
        }
        self.moved.clear();
    }

    /// Calls `found` with every collider whose fat box overlaps, and with all planes, in no particular order.
    pub fn each_near(&self, bounds: &Bounds, mut found: impl FnMut(u32)) {
        self.planes.iter().for_each(|&plane| found(plane));
        self.tree.visit(bounds, found);
    }

    fn overlap(&self, a: u32, b: u32) -> bool {
        match (&self.fat[a as usize], &self.fat[b as usize]) {
            (Some(a), Some(b)) => a.overlaps(b),
            _ => true,
        }
    }
}
