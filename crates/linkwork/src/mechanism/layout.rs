//! The joint graph of a world cut into mechanisms, each laid out for elimination.
//!
//! A mechanism is a set of dynamic bodies connected by joints; static and kinematic bodies do not connect.
//! Its nodes are joints and couplings in elimination order, so that rows, bodies and Jacobians are read front to back.
//!
//! A body with many joints would be a clique of all of them. Such a *hub* becomes a node of its own, its velocity an
//! unknown beside the impulses (Baraff 1996): [A Ĵ; Ĵᵀ −1]. That loses a constraint that only shows when two hubs move
//! against each other; where a test finds this, hubs are split instead (Tomcin, Sibbing and Kobbelt 2014, section 5) into
//! parts of equal mass held together by fixation nodes. Either is inside the linear system only: the body stays one.

use super::assemble::{ProductKernel, product_kernel};
use crate::body::BodyState;
use crate::joint::{JointModel, JointState};
use crate::linalg::ordering::elimination_order;
use crate::linalg::{BlockPattern, DROP_FRACTION_OF_TREES, DROP_FRACTIONS, Factor};
use crate::world::{Bodies, Joints};

/// A body with more joints than this is a hub.
const HUB_JOINTS: usize = 6;
/// More hubs than this are split: as nodes they would all be eliminated last, in one dense block.
const MOST_HUB_NODES: usize = 8;
/// Joints that share one part of a hub.
const JOINTS_PER_PART: usize = 3;
/// Local index of the immovable world in [`Layout::bodies`] terms: the slot it is stored under.
pub(crate) const WORLD_SLOT: u32 = u32::MAX;

/// Where a node's rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A joint, by its slot in the world and its model's index in the layout.
    Joint { slot: u32, model: u32 },
    /// A coupling, by its slot and the range of its terms in [`Layout::terms`].
    Coupling { slot: u32, first: u32, last: u32 },
    /// Two parts of a hub.
    Fixation,
    /// The velocity of a hub.
    Hub,
}

impl Source {
    /// Whether the node belongs to a body's inside, not to a joint.
    pub fn is_internal(self) -> bool {
        matches!(self, Source::Fixation | Source::Hub)
    }

    /// The joint or coupling, by its slot.
    pub fn slot(self) -> Option<u32> {
        match self {
            Source::Joint { slot, .. } | Source::Coupling { slot, .. } => Some(slot),
            Source::Fixation | Source::Hub => None,
        }
    }
}

/// How bodies with many joints enter the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hubs {
    #[default]
    AsNodes,
    Split,
}

/// A block of Ĵ between a hub's node and one of its joints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HubTile {
    pub jacobian: u32,
    pub rows: u8,
    pub target: u32,
    /// Whether the hub is eliminated after the joint, so that the tile is Ĵᵀ.
    pub transposed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub source: Source,
    /// All rows and, first among them, the hard ones.
    pub rows: u8,
    pub hard: u8,
    /// First scalar row in elimination order.
    pub row: u32,
    /// Local indices of the joint's bodies.
    pub a: u32,
    pub b: u32,
    /// Its sides in [`Layout::sides`].
    pub sides: (u32, u32),
    /// Its soft rows in [`Layout::soft`].
    pub soft: (u32, u32),
}

/// A node's Jacobian block on one movable body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub body: u32,
    /// Which part of the body, numbered over the mechanism.
    pub part: u32,
    /// Square root of the number of parts: a lighter part moves more.
    pub scale: f64,
    /// Offset of rows × 6 entries.
    pub jacobian: u32,
    pub is_b: bool,
}

/// A spring, damper or servo as a row of its joint's node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Soft {
    pub joint: u32,
    pub model: u32,
    pub coordinate: u8,
    pub a: u32,
    pub b: u32,
    pub row: u32,
}

/// A term of a coupling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub model: u32,
    pub coordinate: u8,
    pub factor: f64,
    pub a: u32,
    pub b: u32,
}

/// A limit, dry friction or force-limited motor: one bounded row each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded {
    pub joint: u32,
    pub model: u32,
    pub coordinate: u8,
    pub kind: BoundedKind,
    pub a: u32,
    pub b: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundedKind {
    Limit,
    Friction,
    Motor,
}

/// A joint coordinate whose turns are counted or on which a constant force acts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracked {
    pub joint: u32,
    pub model: u32,
    pub coordinate: u8,
    pub a: u32,
    pub b: u32,
}

/// A product Ĵ_i Ĵ_kᵀ that the system matrix is the sum of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    /// Jacobian offsets.
    pub i: u32,
    pub k: u32,
    pub kernel: ProductKernel,
    pub target: u32,
    pub scale: f64,
}

/// A mechanism's structure; depends on the graph alone, not on poses.
#[derive(Default)]
pub(crate) struct Layout {
    /// World slots: movable bodies first, then those that are only referred to.
    pub bodies: Vec<u32>,
    pub movable: usize,
    pub nodes: Vec<Node>,
    pub sides: Vec<Side>,
    pub soft: Vec<Soft>,
    pub terms: Vec<Term>,
    pub bounded: Vec<Bounded>,
    pub tracked: Vec<Tracked>,
    pub models: Vec<JointModel>,
    /// (world slot, body indices) of the joint of each model.
    pub model_joints: Vec<u32>,
    pub products: Vec<Product>,
    pub hub_tiles: Vec<HubTile>,
    /// Diagonal tiles of hub nodes.
    pub hub_diagonals: Vec<u32>,
    /// The joints (world slots) of the mechanism, and those of them that have no rows.
    pub joints: Vec<u32>,
    pub rowless_joints: Vec<u32>,
    /// Whether rows can depend on each other: in loops, couplings and black boxes.
    pub can_be_redundant: bool,
    /// How hubs entered, and the version of the world's graph that was laid out.
    pub hubs: Hubs,
    pub graph_version: u64,
    /// Below which fraction of its diagonal a pivot is dropped.
    pub drop_fraction: f64,
    pub factor: Factor,
    /// Numbers in the matrix before anything is eliminated.
    pub matrix_entries: usize,
    /// Scalar rows of all nodes, and size of the Jacobian store.
    pub rows: usize,
    pub jacobian_len: usize,
    /// Parts of all movable bodies.
    pub part_count: usize,
}

impl Layout {
    /// Independent loops of joints; everything immovable counts as one ground.
    pub fn loops(&self) -> usize {
        let joints = self.nodes.iter().filter(|n| matches!(n.source, Source::Joint { .. })).filter(|n| n.hard > 0);
        let (mut edges, mut grounded) = (0, 0);
        for node in joints {
            edges += 1;
            grounded |= usize::from(node.sides.1 - node.sides.0 < 2);
        }
        (edges + 1 - grounded).saturating_sub(self.movable)
    }
}

/// Cuts the world into mechanisms, and names the slots of movable bodies without joints.
pub(crate) fn mechanisms(bodies: &Bodies, joints: &Joints, graph_version: u64) -> (Vec<Layout>, Vec<u32>) {
    let slots = bodies.iter().map(|(id, _)| id.slot() + 1).max().unwrap_or(0);
    let mut group = DisjointSets::new(slots);
    let mut jointed = vec![false; slots];
    let movable = |slot: usize| bodies.at(slot).is_some_and(BodyState::is_dynamic);
    for (_, joint) in joints.iter() {
        let touched = touched_bodies(joint, joints, &movable);
        for &slot in &touched {
            jointed[slot] = true;
            group.join(touched[0], slot);
        }
    }
    let mut joints_of: Vec<Vec<u32>> = vec![Vec::new(); slots];
    for (id, joint) in joints.iter() {
        if let Some(&slot) = touched_bodies(joint, joints, &movable).first() {
            joints_of[group.find(slot)].push(id.slot() as u32);
        }
    }
    let layouts = (0..slots)
        .filter(|&root| !joints_of[root].is_empty())
        .map(|root| mechanism(bodies, joints, joints_of[root].clone(), Hubs::AsNodes, graph_version))
        .collect();
    let free = (0..slots).filter(|&s| movable(s) && !jointed[s]).map(|s| s as u32).collect();
    (layouts, free)
}

/// Lays out the mechanism of the given joints.
pub(crate) fn mechanism(bodies: &Bodies, joints: &Joints, slots: Vec<u32>, hubs: Hubs, graph_version: u64) -> Layout {
    let mut layout = Builder::new(bodies, joints, &slots, hubs).build();
    let mut with_rows: Vec<u32> = layout.nodes.iter().filter_map(|n| n.source.slot()).collect();
    with_rows.sort_unstable();
    layout.rowless_joints = slots.iter().copied().filter(|slot| with_rows.binary_search(slot).is_err()).collect();
    (layout.joints, layout.hubs, layout.graph_version) = (slots, hubs, graph_version);
    layout.can_be_redundant = layout.loops() > 0 || !layout.terms.is_empty();
    layout.drop_fraction = if layout.can_be_redundant { DROP_FRACTIONS[0] } else { DROP_FRACTION_OF_TREES };
    layout
}

fn touched_bodies(joint: &JointState, joints: &Joints, movable: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let mut slots = Vec::new();
    let mut add = |j: &JointState| {
        slots.extend([j.a, j.b].into_iter().flatten().map(|id| id.slot()).filter(|&s| movable(s)));
    };
    match &joint.coupling {
        Some(coupling) => coupling.terms.iter().filter_map(|t| joints.get(t.joint)).for_each(add),
        None => add(joint),
    }
    slots
}

struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn new(n: usize) -> Self {
        DisjointSets((0..n).collect())
    }
    fn find(&mut self, mut k: usize) -> usize {
        while self.0[k] != k {
            self.0[k] = self.0[self.0[k]];
            k = self.0[k];
        }
        k
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// A node before elimination order is known.
struct Draft {
    source: Source,
    rows: u8,
    hard: u8,
    a: u32,
    b: u32,
    /// (body, part, is_b, sign for fixations)
    sides: Vec<(u32, u32, bool)>,
    soft: Vec<(u8, u32, u32)>,
}

struct Builder<'w> {
    bodies: &'w Bodies,
    joints: &'w Joints,
    slots: &'w [u32],
    local: std::collections::BTreeMap<u32, u32>,
    layout: Layout,
    drafts: Vec<Draft>,
    /// First part and number of parts of every movable body.
    parts: Vec<(u32, u32)>,
    hubs: Hubs,
    /// The draft of each body's hub node.
    hub_draft: Vec<Option<u32>>,
    /// Where each draft stands in elimination order.
    place_of_draft: Vec<Option<u32>>,
}

impl<'w> Builder<'w> {
    fn new(bodies: &'w Bodies, joints: &'w Joints, slots: &'w [u32], hubs: Hubs) -> Self {
        Builder {
            bodies,
            joints,
            slots,
            local: std::collections::BTreeMap::new(),
            layout: Layout::default(),
            drafts: Vec::new(),
            parts: Vec::new(),
            hubs,
            hub_draft: Vec::new(),
            place_of_draft: Vec::new(),
        }
    }

    fn build(mut self) -> Layout {
        self.number_bodies();
        self.draft_joints();
        self.draft_couplings();
        self.place_hubs();
        self.order_and_place();
        self.list_products();
        self.layout
    }

    fn number_bodies(&mut self) {
        let mut referred: Vec<u32> = Vec::new();
        for &slot in self.slots {
            let Some(joint) = self.joints.at(slot as usize) else { continue };
            for body in [joint.a, joint.b] {
                referred.push(body.map_or(WORLD_SLOT, |id| id.slot() as u32));
            }
        }
        // couplings refer to bodies of their joints, which are in this mechanism or immovable
        for &slot in self.slots {
            let Some(joint) = self.joints.at(slot as usize) else { continue };
            for term in joint.coupling.iter().flat_map(|c| &c.terms) {
                if let Some(j) = self.joints.get(term.joint) {
                    referred.extend([j.a, j.b].map(|b| b.map_or(WORLD_SLOT, |id| id.slot() as u32)));
                }
            }
        }
        let movable = |slot: u32| self.bodies.at(slot as usize).is_some_and(BodyState::is_dynamic);
        for wanted in [true, false] {
            for &slot in &referred {
                if movable(slot) == wanted && !self.local.contains_key(&slot) {
                    self.local.insert(slot, self.layout.bodies.len() as u32);
                    self.layout.bodies.push(slot);
                }
            }
            if wanted {
                self.layout.movable = self.layout.bodies.len();
            }
        }
    }

    fn local_bodies(&self, joint: &JointState) -> (u32, u32) {
        let find = |b: Option<crate::handle::BodyId>| self.local[&b.map_or(WORLD_SLOT, |id| id.slot() as u32)];
        (find(joint.a), find(joint.b))
    }

    fn model_of(&mut self, slot: u32) -> u32 {
        match self.layout.model_joints.iter().position(|&s| s == slot) {
            Some(k) => k as u32,
            None => {
                let joint = self.joints.at(slot as usize).expect("slot of a joint of this mechanism");
                self.layout.models.push(joint.model.clone());
                self.layout.model_joints.push(slot);
                self.layout.models.len() as u32 - 1
            }
        }
    }

    fn draft_joints(&mut self) {
        let joints = self.joints;
        for &slot in self.slots {
            let Some(joint) = joints.at(slot as usize).filter(|j| !j.is_coupling()) else { continue };
            let (a, b) = self.local_bodies(joint);
            self.layout.models.push(joint.model.clone());
            self.layout.model_joints.push(slot);
            let model = self.layout.models.len() as u32 - 1;
            let hard = joint.model.row_count() as u8;
            let mut soft = Vec::new();
            for (k, drive) in joint.drives.iter().enumerate() {
                let coordinate = k as u8;
                if drive.is_soft() {
                    soft.push((coordinate, slot, model));
                }
                let mut bounded = |kind| {
                    self.layout.bounded.push(Bounded { joint: slot, model, coordinate, kind, a, b });
                };
                if drive.limit.is_some() {
                    bounded(BoundedKind::Limit);
                }
                if drive.friction > 0.0 {
                    bounded(BoundedKind::Friction);
                }
                if drive.bounded_motor().is_some() {
                    bounded(BoundedKind::Motor);
                }
                let coordinate_kind = joint.model.coordinates[k].1;
                // a twist means something within half a turn only: its turns are not counted
                let counts_turns = coordinate_kind.wraps() && coordinate_kind.can_be_driven();
                if counts_turns || !drive.is_idle() {
                    self.layout.tracked.push(Tracked { joint: slot, model, coordinate, a, b });
                }
            }
            let rows = hard + soft.len() as u8;
            if rows == 0 {
                continue;
            }
            let sides = [(a, false), (b, true)]
                .into_iter()
                .filter(|&(body, _)| (body as usize) < self.layout.movable)
                .map(|(body, is_b)| (body, 0, is_b))
                .collect();
            self.drafts.push(Draft { source: Source::Joint { slot, model }, rows, hard, a, b, sides, soft });
        }
    }

    fn draft_couplings(&mut self) {
        let joints = self.joints;
        for &slot in self.slots {
            let Some(coupling) = joints.at(slot as usize).and_then(|j| j.coupling.as_ref()) else { continue };
            let first = self.layout.terms.len() as u32;
            let mut sides: Vec<(u32, u32, bool)> = Vec::new();
            for term in &coupling.terms {
                let Some(joint) = joints.get(term.joint) else { continue };
                let (a, b) = self.local_bodies(joint);
                let joint_slot = term.joint.slot() as u32;
                let model = self.model_of(joint_slot);
                self.layout.terms.push(Term { model, coordinate: term.coordinate as u8, factor: term.factor, a, b });
                for body in [a, b] {
                    if (body as usize) < self.layout.movable && !sides.iter().any(|s| s.0 == body) {
                        sides.push((body, 0, false));
                    }
                }
            }
            let last = self.layout.terms.len() as u32;
            let world = self.layout.bodies.len() as u32; // a coupling has no frame of its own
            let source = Source::Coupling { slot, first, last };
            self.drafts.push(Draft { source, rows: 1, hard: 1, a: world, b: world, sides, soft: Vec::new() });
        }
    }

    /// Gives every side its part: hubs become nodes, or parts that joints share which hang together without the hub.
    fn place_hubs(&mut self) {
        let movable = self.layout.movable;
        let mut sides_of: Vec<Vec<(usize, usize)>> = vec![Vec::new(); movable];
        for (n, draft) in self.drafts.iter().enumerate() {
            for (s, side) in draft.sides.iter().enumerate() {
                sides_of[side.0 as usize].push((n, s));
            }
        }
        let is_hub = |body: usize| sides_of[body].len() > HUB_JOINTS;
        self.hub_draft = vec![None; movable];
        let count = (0..movable).filter(|&b| is_hub(b)).count();
        if self.hubs == Hubs::AsNodes && count <= MOST_HUB_NODES {
            self.hubs_as_nodes(&sides_of);
            return;
        }
        // what hangs together when hubs are taken away, named by its first node
        let mut cluster = DisjointSets::new(self.drafts.len());
        for (body, sides) in sides_of.iter().enumerate() {
            if !is_hub(body) {
                for pair in sides.windows(2) {
                    cluster.join(pair[0].0, pair[1].0);
                }
            }
        }
        let mut fixations = Vec::new();
        let mut next_part = 0;
        for body in 0..movable {
            let mut sides = sides_of[body].clone();
            let mut count = 1;
            if is_hub(body) {
                sides.sort_by_key(|&(n, _)| (cluster.find(n), n));
                let (mut part, mut filled, mut last_cluster) = (0, 0, usize::MAX);
                for &(n, s) in &sides {
                    let own = cluster.find(n);
                    if filled >= JOINTS_PER_PART && own != last_cluster {
                        part += 1;
                        filled = 0;
                    }
                    filled += 1;
                    last_cluster = own;
                    self.drafts[n].sides[s].1 = next_part + part;
                }
                count = part + 1;
                for p in 0..part {
                    fixations.push(Draft {
                        source: Source::Fixation,
                        rows: 6,
                        hard: 6,
                        a: body as u32,
                        b: body as u32,
                        sides: vec![(body as u32, next_part + p, false), (body as u32, next_part + p + 1, true)],
                        soft: Vec::new(),
                    });
                }
            } else {
                for &(n, s) in &sides {
                    self.drafts[n].sides[s].1 = next_part;
                }
            }
            self.parts.push((next_part, count));
            next_part += count;
        }
        self.drafts.extend(fixations);
        self.layout.part_count = next_part as usize;
    }

    fn hubs_as_nodes(&mut self, sides_of: &[Vec<(usize, usize)>]) {
        for (body, sides) in sides_of.iter().enumerate() {
            for &(n, s) in sides {
                self.drafts[n].sides[s].1 = body as u32;
            }
            self.parts.push((body as u32, 1));
            if sides.len() > HUB_JOINTS {
                self.hub_draft[body] = Some(self.drafts.len() as u32);
                let body = body as u32;
                let none = (Vec::new(), Vec::new());
                self.drafts.push(Draft {
                    source: Source::Hub,
                    rows: 6,
                    hard: 6,
                    a: body,
                    b: body,
                    sides: none.0,
                    soft: none.1,
                });
            }
        }
        self.layout.part_count = sides_of.len();
    }

    fn draft_pairs(&self) -> Vec<(u32, u32)> {
        let mut by_part: Vec<Vec<u32>> = vec![Vec::new(); self.layout.part_count];
        for (n, draft) in self.drafts.iter().enumerate() {
            for side in &draft.sides {
                by_part[side.1 as usize].push(n as u32);
            }
        }
        let mut pairs = Vec::new();
        for (part, nodes) in by_part.iter().enumerate() {
            // with hubs as nodes a part is a body
            if let Some(hub) = self.hub_draft.get(part).copied().flatten() {
                pairs.extend(nodes.iter().map(|&j| (hub.max(j), hub.min(j))));
                continue;
            }
            for (k, &j) in nodes.iter().enumerate() {
                pairs.extend(nodes[k + 1..].iter().map(|&i| (i.max(j), i.min(j))));
            }
        }
        pairs.retain(|(i, j)| i != j);
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    fn order_and_place(&mut self) {
        let drafted = BlockPattern { sizes: self.drafts.iter().map(|d| d.rows).collect(), pairs: self.draft_pairs() };
        let order = self.elimination_order(&drafted);
        self.place_of_draft = vec![None; order.len()];
        for (k, &d) in order.iter().enumerate() {
            self.place_of_draft[d as usize] = Some(k as u32);
        }
        let mut row = 0_u32;
        for &d in &order {
            let draft = &self.drafts[d as usize];
            let layout = &mut self.layout;
            let first_side = layout.sides.len() as u32;
            for &(body, part, is_b) in &draft.sides {
                let scale = match draft.source {
                    Source::Fixation => 1.0,
                    _ => f64::from(self.parts[body as usize].1).sqrt(),
                };
                layout.sides.push(Side { body, part, scale, jacobian: layout.jacobian_len as u32, is_b });
                layout.jacobian_len += draft.rows as usize * 6;
            }
            let first_soft = layout.soft.len() as u32;
            for (k, &(coordinate, joint, model)) in draft.soft.iter().enumerate() {
                let row = row + u32::from(draft.hard) + k as u32;
                layout.soft.push(Soft { joint, model, coordinate, a: draft.a, b: draft.b, row });
            }
            layout.nodes.push(Node {
                source: draft.source,
                rows: draft.rows,
                hard: draft.hard,
                row,
                a: draft.a,
                b: draft.b,
                sides: (first_side, layout.sides.len() as u32),
                soft: (first_soft, layout.soft.len() as u32),
            });
            row += u32::from(draft.rows);
        }
        self.layout.rows = row as usize;
        self.layout.matrix_entries = drafted.entries();
        self.layout.factor = Factor::new(&drafted.permuted(&order));
        self.renumber();
    }

    /// Fill-reducing order; hubs come after all joints of other bodies, and joints that only hubs hold come last, because
    /// nothing else gives them a pivot.
    fn elimination_order(&self, drafted: &BlockPattern) -> Vec<u32> {
        if self.hub_draft.iter().all(Option::is_none) {
            return elimination_order(drafted);
        }
        let is_hub = |body: u32| self.hub_draft[body as usize].is_some();
        let rank = |d: &Draft| match d.source {
            Source::Hub => 1,
            _ if d.sides.iter().all(|s| is_hub(s.0)) => 2,
            _ => 0,
        };
        let ranks: Vec<u8> = self.drafts.iter().map(rank).collect();
        let plain: Vec<u32> = (0..ranks.len() as u32).filter(|&d| ranks[d as usize] == 0).collect();
        let mut place = vec![u32::MAX; ranks.len()];
        for (k, &d) in plain.iter().enumerate() {
            place[d as usize] = k as u32;
        }
        let within = |&(i, j): &(u32, u32)| {
            let (i, j) = (place[i as usize], place[j as usize]);
            (i != u32::MAX && j != u32::MAX).then(|| (i.max(j), i.min(j)))
        };
        let pattern = BlockPattern {
            sizes: plain.iter().map(|&d| drafted.sizes[d as usize]).collect(),
            pairs: drafted.pairs.iter().filter_map(within).collect(),
        };
        let mut order: Vec<u32> = elimination_order(&pattern).into_iter().map(|k| plain[k as usize]).collect();
        for wanted in [1, 2] {
            order.extend((0..ranks.len() as u32).filter(|&d| ranks[d as usize] == wanted));
        }
        order
    }

    /// Numbers models and bodies in elimination order, so that a sweep over nodes reads memory front to back.
    fn renumber(&mut self) {
        let layout = &mut self.layout;
        let mut models: Vec<u32> = Vec::new();
        let mut bodies: Vec<u32> = Vec::new();
        let mut seen_model = vec![u32::MAX; layout.models.len()];
        let mut seen_body = vec![u32::MAX; layout.bodies.len()];
        for node in &layout.nodes {
            if let Source::Joint { model, .. } = node.source
                && seen_model[model as usize] == u32::MAX
            {
                seen_model[model as usize] = models.len() as u32;
                models.push(model);
            }
            for side in &layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                if seen_body[side.body as usize] == u32::MAX {
                    seen_body[side.body as usize] = bodies.len() as u32;
                    bodies.push(side.body);
                }
            }
        }
        for k in 0..layout.models.len() {
            if seen_model[k] == u32::MAX {
                seen_model[k] = models.len() as u32;
                models.push(k as u32);
            }
        }
        for pass in [true, false] {
            for k in 0..layout.bodies.len() {
                if seen_body[k] == u32::MAX && (k < layout.movable) == pass {
                    seen_body[k] = bodies.len() as u32;
                    bodies.push(k as u32);
                }
            }
        }
        layout.models = models.iter().map(|&k| layout.models[k as usize].clone()).collect();
        layout.model_joints = models.iter().map(|&k| layout.model_joints[k as usize]).collect();
        layout.bodies = bodies.iter().map(|&k| layout.bodies[k as usize]).collect();
        let body = |k: u32| seen_body.get(k as usize).copied().unwrap_or(k);
        let model = |k: u32| seen_model[k as usize];
        for node in &mut layout.nodes {
            (node.a, node.b) = (body(node.a), body(node.b));
            if let Source::Joint { model: m, .. } = &mut node.source {
                *m = model(*m);
            }
        }
        for side in &mut layout.sides {
            side.body = body(side.body);
        }
        for s in &mut layout.soft {
            (s.model, s.a, s.b) = (model(s.model), body(s.a), body(s.b));
        }
        for t in &mut layout.terms {
            (t.model, t.a, t.b) = (model(t.model), body(t.a), body(t.b));
        }
        for b in &mut layout.bounded {
            (b.model, b.a, b.b) = (model(b.model), body(b.a), body(b.b));
        }
        for t in &mut layout.tracked {
            (t.model, t.a, t.b) = (model(t.model), body(t.a), body(t.b));
        }
    }

    fn list_products(&mut self) {
        let layout = &mut self.layout;
        let mut by_part: Vec<Vec<(u32, u32)>> = vec![Vec::new(); layout.part_count];
        for (n, node) in layout.nodes.iter().enumerate() {
            for s in node.sides.0..node.sides.1 {
                by_part[layout.sides[s as usize].part as usize].push((n as u32, s));
            }
        }
        let hub_node = |part: usize| {
            let draft = self.hub_draft.get(part).copied().flatten()?;
            self.place_of_draft[draft as usize]
        };
        for (part, sides) in by_part.iter().enumerate() {
            if let Some(hub) = hub_node(part) {
                let diagonal = layout.factor.target(hub, hub).expect("every node has a diagonal block");
                layout.hub_diagonals.push(diagonal);
                for &(n, s) in sides {
                    let target = layout.factor.target(n.max(hub), n.min(hub)).expect("a hub's joint is in the pattern");
                    let jacobian = layout.sides[s as usize].jacobian;
                    let rows = layout.nodes[n as usize].rows;
                    layout.hub_tiles.push(HubTile { jacobian, rows, target, transposed: hub > n });
                }
                continue;
            }
            for (x, &(k, sk)) in sides.iter().enumerate() {
                for &(i, si) in &sides[x..] {
                    // a joint from a body to itself cannot exist, so i ≥ k in elimination order
                    let (side_i, side_k) = (layout.sides[si as usize], layout.sides[sk as usize]);
                    let target = layout.factor.target(i, k).expect("a pair of nodes on one part is in the pattern");
                    layout.products.push(Product {
                        i: side_i.jacobian,
                        k: side_k.jacobian,
                        kernel: product_kernel(layout.nodes[i as usize].rows, layout.nodes[k as usize].rows),
                        target,
                        scale: side_i.scale * side_k.scale,
                    });
                }
            }
        }
        layout.products.sort_by_key(|p| p.target);
    }
}
