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
    moved: Vec<u32>,
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
        self.tree.settle();
        self.fat = fat;
        self.moved.clear();
    }

    /// Tells where a collider may be in this step; returns whether its fat box has changed.
    pub fn place(&mut self, collider: u32, bounds: &Bounds, margin: f64) -> bool {
        let Some(fat) = &mut self.fat[collider as usize] else { return false };
        let much_smaller = || (fat.half() - bounds.half()).max_element() > SHRINK * margin;
        if fat.contains(bounds) && !much_smaller() {
            return false;
        }
        *fat = bounds.grown(margin);
        self.tree.change(collider, fat);
        self.moved.push(collider);
        true
    }

    /// Colliders whose fat boxes have changed since the last call of [`BroadPhase::settle`], in order.
    pub fn moved(&self) -> &[u32] {
        &self.moved
    }

    /// All pairs are to be found anew.
    pub fn move_all(&mut self) {
        self.moved.clear();
        self.moved.extend(0..self.fat.len() as u32);
    }

    /// Calls `found(moved, other)` for every overlap of a changed fat box, then forgets the changes.
    pub fn settle(&mut self, mut found: impl FnMut(u32, u32)) {
        if self.moved.is_empty() {
            return;
        }
        self.tree.settle();
        for &collider in &self.moved {
            if let Some(fat) = &self.fat[collider as usize] {
                self.tree.visit(fat, |other| {
                    if other != collider {
                        found(collider, other);
                    }
                });
            }
        }
        self.moved.clear();
    }

    pub fn overlap(&self, a: u32, b: u32) -> bool {
        match (&self.fat[a as usize], &self.fat[b as usize]) {
            (Some(a), Some(b)) => a.overlaps(b),
            _ => true,
        }
    }
}
