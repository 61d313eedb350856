//! How a mechanism's system is set up so that it holds every constraint: how its hubs enter, and when a row is dropped.
//!
//! The choice is tested on the poses at which the first step starts, and then belongs to the world's state (the joints
//! remember it), so that working memory can be dropped at any time without changing a result.

use super::Mechanism;
use super::layout::{self, Hubs, Layout, Source};
use crate::joint::SystemChoice;
use crate::linalg::{DROP_FRACTION_OF_TREES, DROP_FRACTIONS};
use crate::math::max_abs;
use crate::world::{Joints, World};

/// A row that moves by more than this fraction of its mobility's root after velocities were made to fit is lost.
const LOST: f64 = 1e-4;
/// Rows are needed although they were dropped if their errors are this much larger than all others'.
const STANDS_OUT: f64 = 10.0;

/// A mechanism as its joints remember it; else one whose choice is still to be made.
pub(crate) fn remembered_or_new(layout: Layout, world: &World) -> Mechanism {
    let remembered = remembered_choice(&layout, world);
    let mut mechanism = match remembered {
        Some(SystemChoice { split_hubs: true, .. }) => laid_out_again(layout, world, Hubs::Split),
        _ => Mechanism::new(layout),
    };
    if let Some(choice) = remembered {
        mechanism.layout.drop_fraction = choice.drop_fraction;
    }
    mechanism
}

/// Makes the choice if the world does not hold it yet: hubs as nodes if that holds everything, else split, and the
/// largest drop fraction that does.
pub(crate) fn settle(mechanism: &mut Mechanism, world: &World) {
    if !mechanism.layout.can_be_redundant
        || remembered_choice(&mechanism.layout, world).is_some()
        || mechanism.was_settled_here(world)
    {
        return;
    }
    let mut best = (f64::INFINITY, Hubs::AsNodes, DROP_FRACTIONS[0]);
    for hubs in [Hubs::AsNodes, Hubs::Split] {
        lay_out_with(mechanism, world, hubs);
        for fraction in DROP_FRACTIONS {
            mechanism.layout.drop_fraction = fraction;
            mechanism.gather(&world.bodies, &world.joints, world.gravity);
            mechanism.linearise_anew();
            let loss = mechanism.constraint_loss();
            if loss < LOST {
                return;
            }
            if loss < best.0 {
                best = (loss, hubs, fraction);
            }
        }
        if mechanism.layout.hub_diagonals.is_empty() {
            break;
        }
    }
    // nothing holds everything (a singular pose): what holds most
    lay_out_with(mechanism, world, best.1);
    mechanism.layout.drop_fraction = best.2;
    mechanism.gather(&world.bodies, &world.joints, world.gravity);
    mechanism.linearise_anew();
}

fn lay_out_with(mechanism: &mut Mechanism, world: &World, hubs: Hubs) {
    if mechanism.layout.hubs != hubs {
        let layout = std::mem::take(&mut mechanism.layout);
        *mechanism = laid_out_again(layout, world, hubs);
    }
}

fn laid_out_again(layout: Layout, world: &World, hubs: Hubs) -> Mechanism {
    Mechanism::new(layout::mechanism(&world.bodies, &world.joints, layout.joints, hubs, layout.graph_version))
}

/// What the joints remember, if it was chosen for the present graph.
fn remembered_choice(layout: &Layout, world: &World) -> Option<SystemChoice> {
    let joint = world.joints.at(*layout.joints.first()? as usize)?;
    joint.memory.choice.filter(|choice| choice.graph_version == world.graph_version)
}

impl Mechanism {
    pub(super) fn choice(&self) -> Option<SystemChoice> {
        let Layout { hubs, drop_fraction, graph_version, .. } = self.layout;
        let split_hubs = hubs == Hubs::Split;
        self.layout.can_be_redundant.then_some(SystemChoice { split_hubs, drop_fraction, graph_version })
    }

    /// Whether the system that stands in working memory was linearised at the world's present poses.
    fn was_settled_here(&self, world: &World) -> bool {
        let bodies = self.layout.bodies[..self.layout.movable].iter().map(|&slot| world.bodies.at(slot as usize));
        self.linear.holds_at(bodies.flatten().map(|b| (b.x, b.q)))
    }

    /// After a step that did not close: marks dropped rows as needed if theirs are the errors that remain.
    /// A pivot falls below the drop fraction where rows come close to being redundant without being so.
    pub(super) fn claim_lost_rows(&mut self, tolerance: f64) -> bool {
        if self.layout.factor.dropped_count() == 0 {
            return false;
        }
        let is_dropped = |r: &usize| self.layout.factor.is_dropped(*r);
        let worst =
            |dropped: bool| max_abs((0..self.layout.rows).filter(|r| is_dropped(r) == dropped).map(|r| self.error[r]));
        let (lost, others) = (worst(true), worst(false));
        let stands_out = lost > tolerance && lost > STANDS_OUT * others;
        if !stands_out {
            return false;
        }
        self.linear.needed_before.clone_from(&self.linear.needed);
        let rows = (0..self.layout.rows).filter(is_dropped).filter(|&r| self.error[r].abs() > 0.1 * lost);
        self.linear.needed.extend(rows.map(|r| r as u32));
        self.linear.needed.sort_unstable();
        self.linear.needed.dedup();
        self.linear.forget();
        true
    }

    /// Lowers the references of needed rows, so that they are dropped only when numerically zero.
    pub(super) fn keep_needed_rows(&mut self) {
        let scale = (DROP_FRACTION_OF_TREES / self.layout.drop_fraction).min(1.0);
        for &r in &self.linear.needed {
            self.linear.reference[r as usize] *= scale;
        }
    }

    /// Reads which rows the joints remember as needed; the system is made anew if they are others than before.
    pub(super) fn gather_needed(&mut self, joints: &Joints) {
        let (linear, layout) = (&mut self.linear, &self.layout);
        std::mem::swap(&mut linear.needed, &mut linear.needed_before);
        linear.needed.clear();
        for node in &layout.nodes {
            let (Source::Joint { slot, .. } | Source::Coupling { slot, .. }) = node.source else { continue };
            let bits = joints.at(slot as usize).map_or(0, |j| j.memory.needed);
            if bits != 0 {
                let rows = (0..u32::from(node.rows)).filter(|r| bits >> r & 1 == 1);
                linear.needed.extend(rows.map(|r| node.row + r));
            }
        }
        linear.needed.sort_unstable();
        if linear.needed != linear.needed_before {
            linear.forget();
        }
    }

    /// The bits of a joint's needed rows.
    pub(super) fn needed_bits(&self, first: usize, count: usize) -> u8 {
        let rows = self.linear.needed.iter().map(|&r| r as usize).filter(|r| (first..first + count).contains(r));
        rows.fold(0, |bits, r| bits | 1 << (r - first))
    }
}
