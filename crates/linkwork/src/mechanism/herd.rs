//! Mechanisms that are alike: laid out in the same way, held by ball joints alone, on bodies of their own.
//!
//! Heaps are often many of the same simple thing. In a pile these are advanced four at a time, one to a lane, in working memory that
//! all piles share ([`Four`]): a mechanism by itself has tens of kilobytes, and hundreds of them are fetched from far away in
//! every step. What is not of this kind, and what turns out to need more care, is advanced by [`Mechanism`].

use super::Mechanism;
use super::four::Four;
use super::layout::{Layout, Source};
use crate::joint::rows::Part;
use crate::linalg::block_ldlt::BlockLdlt;
use crate::linalg::{DROP_FRACTION_OF_TREES, DROP_FRACTIONS, Factor};
use crate::world::Joints;
use glam::DVec3;

/// No herd.
const NONE: u32 = u32::MAX;
/// Entries of Ĵ of a ball joint on one body.
const SIDE: usize = 18;

/// A ball joint: the bodies that it holds. Its rows are three times its number and the next two.
#[derive(Clone, Copy)]
pub(super) struct Pin {
    pub a: u32,
    pub b: u32,
}

/// A product Ĵ_i Ĵ_kᵀ that the system matrix is the sum of; sides are those of joints, two each.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub i: u32,
    pub k: u32,
    pub target: u32,
}

/// Mechanisms that are alike.
pub(crate) struct Herd {
    /// Bodies and joints of one.
    pub bodies: usize,
    pub(super) pins: Vec<Pin>,
    pub(super) products: Vec<Product>,
    pub(super) pattern: BlockLdlt,
    /// Below which fraction of its reference a pivot is dropped where velocities are brought to the joints at the end of a step.
    pub(super) drop_fraction: f64,
    /// Whether how the system is set up must be known before, and for which version of the graph.
    pub(super) chosen_for: Option<u64>,
    /// Of all, one after the other: bodies, joints (slots), and anchors of joints on a and b.
    slots: Vec<u32>,
    joints: Vec<u32>,
    anchors: Vec<[DVec3; 2]>,
}

impl Herd {
    fn of(mechanism: &Mechanism) -> Option<Herd> {
        let layout = &mechanism.layout;
        let Factor::Block(factor) = &layout.factor else { return None };
        let simple = layout.soft.is_empty()
            && layout.terms.is_empty()
            && layout.bounded.is_empty()
            && layout.tracked.is_empty()
            && layout.hub_diagonals.is_empty()
            && layout.rowless_joints.is_empty()
            && layout.bodies.len() == layout.movable
            && layout.nodes.len() == layout.joints.len();
        let is_pin = |node: &super::layout::Node| {
            let Source::Joint { model, .. } = node.source else { return false };
            let sides = &layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            let model = &layout.models[model as usize];
            model.parts == [Part::PointOnPoint]
                && model.black_box.is_none()
                && (node.rows, node.hard) == (3, 3)
                && sides.len() == 2
                && sides.iter().all(|side| side.scale == 1.0)
        };
        if !simple || !factor.is_of_threes() || !layout.nodes.iter().all(is_pin) {
            return None;
        }
        // by where its rows begin: three of six entries each
        let mut sides = vec![NONE; layout.jacobian_len / SIDE];
        for (k, node) in layout.nodes.iter().enumerate() {
            for side in &layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                sides[side.jacobian as usize / SIDE] = 2 * k as u32 + u32::from(side.is_b);
            }
        }
        let side_at = |jacobian: u32| {
            let side = sides.get(jacobian as usize / SIDE).copied();
            side.filter(|side| *side != NONE && (jacobian as usize).is_multiple_of(SIDE))
        };
        let products = layout.products.iter().map(|p| {
            let (i, k) = (side_at(p.i)?, side_at(p.k)?);
            (p.scale == 1.0).then_some(Product { i, k, target: p.target })
        });
        Some(Herd {
            bodies: layout.movable,
            pins: layout.nodes.iter().map(|n| Pin { a: n.a, b: n.b }).collect(),
            products: products.collect::<Option<_>>()?,
            pattern: factor.clone(),
            drop_fraction: if layout.can_be_redundant { DROP_FRACTIONS[0] } else { DROP_FRACTION_OF_TREES },
            chosen_for: layout.can_be_redundant.then_some(layout.graph_version),
            slots: Vec::new(),
            joints: Vec::new(),
            anchors: Vec::new(),
        })
    }

    fn add(&mut self, layout: &Layout) {
        self.slots.extend_from_slice(&layout.bodies);
        for node in &layout.nodes {
            let Source::Joint { slot, model } = node.source else { continue };
            let model = &layout.models[model as usize];
            self.joints.push(slot);
            self.anchors.push([model.anchor_a, model.anchor_b]);
        }
    }

    pub fn rows(&self) -> usize {
        3 * self.pins.len()
    }

    /// Whether it is known how the system of a member is set up.
    pub fn is_settled(&self, member: u32, joints: &Joints) -> bool {
        let Some(version) = self.chosen_for else { return true };
        let joint = self.joints(member).first().and_then(|&slot| joints.at(slot as usize));
        joint.and_then(|j| j.memory.choice).is_some_and(|choice| choice.graph_version == version)
    }

    /// How many motions the joints of one leave free.
    pub fn freedoms(&self) -> usize {
        (6 * self.bodies).saturating_sub(self.rows())
    }

    /// Whether each has so few freedoms that what pushes a body moves all of them, as [`Mechanism::is_machine`] tells.
    pub fn is_of_machines(&self) -> bool {
        let freedoms = self.freedoms();
        freedoms <= super::contact::MOST_MOTIONS && freedoms < self.bodies
    }

    /// Slots of the bodies of a member.
    pub fn slots(&self, member: u32) -> &[u32] {
        &self.slots[member as usize * self.bodies..][..self.bodies]
    }

    /// Slots of its joints.
    pub fn joints(&self, member: u32) -> &[u32] {
        &self.joints[member as usize * self.pins.len()..][..self.pins.len()]
    }

    pub(super) fn anchors(&self, member: u32) -> &[[DVec3; 2]] {
        &self.anchors[member as usize * self.pins.len()..][..self.pins.len()]
    }
}

/// All mechanisms of a world by their bodies, and those that are in herds.
#[derive(Default)]
pub(crate) struct Herds {
    list: Vec<Herd>,
    /// Of every mechanism: its herd, if it is in one, and its number there.
    of: Vec<(u32, u32)>,
    /// The first body of every mechanism, and one more, in the list of all of them by their slots. What asks all mechanisms for their
    /// bodies in every step asks this, not their own memory.
    first: Vec<u32>,
    slots: Vec<u32>,
}

impl Herds {
    /// Finds those of the mechanisms that are alike; one that no other is like is in no herd.
    pub fn new(mechanisms: &[Mechanism]) -> Herds {
        // of each kind its first and how many there are
        let mut kinds: Vec<(&Mechanism, u32)> = Vec::new();
        let mut kind_of = Vec::with_capacity(mechanisms.len());
        for mechanism in mechanisms {
            let known = kinds.iter().position(|(first, _)| first.is_alike(mechanism));
            let kind = known.unwrap_or_else(|| {
                kinds.push((mechanism, 0));
                kinds.len() - 1
            });
            kinds[kind].1 += 1;
            kind_of.push(kind);
        }
        let mut list = Vec::new();
        let numbers: Vec<u32> = kinds
            .iter()
            .map(|(first, count)| {
                let Some(herd) = (*count > 1).then(|| Herd::of(first)).flatten() else { return NONE };
                list.push(herd);
                list.len() as u32 - 1
            })
            .collect();
        let mut of = vec![(NONE, 0); mechanisms.len()];
        for ((mechanism, &kind), of) in mechanisms.iter().zip(&kind_of).zip(&mut of) {
            if let Some(herd) = list.get_mut(numbers[kind] as usize) {
                *of = (numbers[kind], (herd.slots.len() / herd.bodies) as u32);
                herd.add(&mechanism.layout);
            }
        }
        let mut herds = Herds { list, of, first: vec![0], slots: Vec::new() };
        for mechanism in mechanisms {
            herds.slots.extend_from_slice(mechanism.movable_bodies());
            herds.first.push(herds.slots.len() as u32);
        }
        herds
    }

    #[cfg(test)]
    pub fn disband(&mut self) {
        self.of.fill((NONE, 0));
    }

    /// How many mechanisms there are, in herds or not.
    pub fn mechanisms(&self) -> usize {
        self.of.len()
    }

    /// Slots of the bodies of a mechanism.
    pub fn bodies_of(&self, mechanism: u32) -> &[u32] {
        &self.slots[self.first[mechanism as usize] as usize..self.first[mechanism as usize + 1] as usize]
    }

    /// Bodies of all mechanisms.
    pub fn bodies(&self) -> usize {
        self.slots.len()
    }

    /// The herd of a mechanism, by its number, and the mechanism's number in it.
    pub fn of(&self, mechanism: u32) -> Option<(u32, u32)> {
        self.of.get(mechanism as usize).copied().filter(|(herd, _)| *herd != NONE)
    }

    /// Whether a mechanism is in a herd, and how its system is set up is known: nothing is to be done for it before a step.
    pub fn is_settled(&self, mechanism: u32, joints: &Joints) -> bool {
        self.of(mechanism).is_some_and(|(herd, member)| self.list[herd as usize].is_settled(member, joints))
    }

    pub fn herd_of(&self, four: &Four) -> &Herd {
        &self.list[four.herd as usize]
    }
}

impl Mechanism {
    /// Whether it can be in one herd with another, if that can be in any.
    fn is_alike(&self, other: &Mechanism) -> bool {
        let (a, b) = (&self.layout, &other.layout);
        let simple = |l: &Layout| {
            (l.soft.len(), l.terms.len(), l.bounded.len(), l.tracked.len(), l.rowless_joints.len(), l.models.len())
        };
        let holds_same = |(a, b): (&crate::joint::JointModel, &crate::joint::JointModel)| {
            a.parts == b.parts && a.black_box.is_none() == b.black_box.is_none()
        };
        let same_bodies = a.nodes.iter().zip(&b.nodes).all(|(a, b)| (a.a, a.b) == (b.a, b.b));
        (a.bodies.len(), a.nodes.len()) == (b.bodies.len(), b.nodes.len())
            && simple(a) == simple(b)
            && a.can_be_redundant == b.can_be_redundant
            && self.is_laid_out_like(other)
            && same_bodies
            && a.models.iter().zip(&b.models).all(holds_same)
    }
}
