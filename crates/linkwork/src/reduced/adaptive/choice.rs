//! Which joints are active: what all would do if they were free, and pieces opened in the order of that.

use super::super::handles::{Ends, Hinge, Passing, V, add, motion, times};
use super::super::kinematics::carrier_acceleration;
use super::Adaptive;
use super::frozen::{field, hinge_at};
use crate::math::Placed;
use glam::DVec3;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// How much more an active node matters than one that stands still.
const STAYS: f64 = 16.0;

/// A node that may be opened.
pub(super) struct Candidate {
    key: f64,
    node: u32,
    metric: f64,
    near: V,
    far: V,
    pose: Placed,
    motion: (DVec3, DVec3),
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Candidate {}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.total_cmp(&other.key).then(other.node.cmp(&self.node))
    }
}

/// What was found of an active node or of a piece: its ends, the joint inside it, the forces on its ends, and Σ q̈² and Σ q̇² of all
/// joints in it.
pub(super) struct Seen {
    ends: Ends,
    inside: Option<(Hinge, Passing)>,
    metric: f64,
    speed: f64,
    near: V,
    far: V,
}

impl Adaptive {
    /// All active nodes and the pieces below them, as if every joint of the tree were free; and the whole, or wholes.
    pub(super) fn look(&self) -> (BTreeMap<u32, Seen>, Vec<Candidate>) {
        let mut seen = BTreeMap::new();
        let visible = self.visible();
        // parts have larger numbers than what they are parts of
        for &node in visible.iter().rev() {
            let found = self.see(node, &seen);
            seen.insert(node, found);
        }
        for &node in &visible {
            self.pass_forces(node, &mut seen);
        }
        for &node in visible.iter().rev() {
            let parts = self.assembly.parts[node as usize].parts.filter(|_| self.nodes[node as usize].active);
            let inner = parts.map_or(0.0, |(a, b)| seen[&a].metric + seen[&b].metric);
            if let Some(s) = seen.get_mut(&node) {
                s.metric += inner;
            }
        }
        let wholes = self.assembly.roots.iter().map(|&root| self.candidate(root, &seen[&root], 1.0)).collect();
        (seen, wholes)
    }

    /// Active nodes and the pieces below them, in order.
    pub(super) fn visible(&self) -> Vec<u32> {
        let mut visible = Vec::with_capacity(2 * self.pieces.len());
        let mut stack: Vec<u32> = self.assembly.roots.clone();
        while let Some(node) = stack.pop() {
            visible.push(node);
            if let Some((a, b)) = self.assembly.parts[node as usize].parts.filter(|_| self.nodes[node as usize].active)
            {
                stack.extend([a, b]);
            }
        }
        visible.sort_unstable();
        visible
    }

    /// The ends of a node, from those of its parts.
    fn see(&self, node: u32, seen: &BTreeMap<u32, Seen>) -> Seen {
        let part = &self.assembly.parts[node as usize];
        let none = ([0.0; 6], [0.0; 6]);
        let Some((a, b)) = part.parts.filter(|_| self.nodes[node as usize].active) else {
            let (pose, (v, w)) = self.at_first(self.piece_of(part.near as usize));
            let mut ends = self.frozen(node).ends(&pose, &field(&pose, self.gravity, v, w));
            if part.parts.is_none() {
                self.load_ends(part.near as usize, &mut ends);
            }
            return Seen { ends, inside: None, metric: 0.0, speed: 0.0, near: none.0, far: none.1 };
        };
        let joint = self.assembly.parts[b as usize].near as usize;
        let piece = self.piece_of(joint);
        let center = self.first_link(piece).x;
        let mut hinge = self.hinge_of(piece, center);
        let carrier = self.hybrid.links[piece].parent as usize;
        let before = self.first_link(carrier);
        let last = self.frozen(self.pieces[carrier].node).span;
        hinge.r = center - (before.x + before.r * last.x);
        let link = &self.hybrid.links[piece];
        let rates = &self.state.v[link.v as usize..link.v as usize + link.rates as usize];
        let speed = seen[&a].speed + seen[&b].speed + rates.iter().map(|v| v * v).sum::<f64>();
        let (ends, passing) = hinge.join(&seen[&a].ends, &seen[&b].ends, part.beside);
        Seen { ends, inside: Some((hinge, passing)), metric: 0.0, speed, near: none.0, far: none.1 }
    }

    /// Adds what acts on a link by itself to its ends: loads, and contact forces of the last step.
    fn load_ends(&self, link: usize, ends: &mut Ends) {
        for on in [self.loads.get(&link), self.pushed.get(&link)].into_iter().flatten() {
            let (n, f) = (on.torque, on.force);
            let f = [n.x, n.y, n.z, f.x, f.y, f.z];
            ends.b_near = add(&ends.b_near, &times(&ends.near, &f));
            ends.b_far = add(&ends.b_far, &times(&ends.far, &f));
        }
    }

    /// Finds the forces on the ends of a node's parts and what its own joint would do, or all inside a piece that stands still.
    fn pass_forces(&self, node: u32, seen: &mut BTreeMap<u32, Seen>) {
        let part = &self.assembly.parts[node as usize];
        let piece = self.piece_of(part.near as usize);
        if part.above == super::NONE {
            let (root, at) = (&self.hybrid.links[piece], &self.data.links[piece]);
            let center = self.first_link(piece).x;
            let ground = carrier_acceleration(&self.hybrid, &self.data, root, at).at(center - at.o);
            let (f, _) = self.hinge_of(piece, center).root(&seen[&node].ends, &motion(ground));
            if let Some(s) = seen.get_mut(&node) {
                s.near = f;
            }
        }
        let whole = &seen[&node];
        let split = part.parts.zip(whole.inside.as_ref()).map(|((a, b), (hinge, passing))| {
            let (ea, eb) = (&seen[&a].ends, &seen[&b].ends);
            (a, b, hinge.split(passing, ea, eb, part.beside, &whole.near, &whole.far))
        });
        let near = whole.near;
        let metric = match split {
            Some((a, b, split)) => {
                for (id, near, far) in [(a, near, split.a_far), (b, split.b_near, split.b_far)] {
                    if let Some(s) = seen.get_mut(&id) {
                        (s.near, s.far) = (near, far);
                    }
                }
                split.rates.iter().map(|q| q * q).sum()
            }
            None => {
                let (pose, (v, w)) = self.at_first(piece);
                self.frozen(node).metric(&pose, &field(&pose, self.gravity, v, w), &near, &whole.far)
            }
        };
        if let Some(s) = seen.get_mut(&node) {
            s.metric = metric;
        }
    }

    fn key(&self, metric: f64, speed: f64) -> f64 {
        metric + speed / (self.activity.settling * self.activity.settling).max(f64::MIN_POSITIVE)
    }

    /// Pose and velocity of a piece's first link, at its centre of mass.
    pub(super) fn at_first(&self, piece: usize) -> (Placed, (DVec3, DVec3)) {
        let (at, pose) = (&self.data.links[piece], self.first_link(piece));
        let v = at.v.at(pose.x - at.o);
        (pose, (v.v, v.w))
    }

    /// The joint that carries a piece of the hybrid tree, moving, at the centre of mass of its first link.
    fn hinge_of(&self, piece: usize, center: DVec3) -> Hinge {
        let (link, at) = (&self.hybrid.links[piece], &self.data.links[piece]);
        let (v, n) = (link.v as usize, link.rates as usize);
        Hinge {
            s: self.data.s[v..v + n].iter().map(|s| motion(s.at(center - at.o))).collect(),
            r: DVec3::ZERO,
            c: motion(at.c.at(center - at.o)),
            tau: {
                let whole = self.links[self.first_of(piece)].v as usize;
                self.tau[whole..whole + n].to_vec()
            },
        }
    }

    /// A node that is seen, `stays` times as important as it is.
    fn candidate(&self, node: u32, seen: &Seen, stays: f64) -> Candidate {
        let (pose, motion) = self.at_first(self.piece_of(self.assembly.parts[node as usize].near as usize));
        let key = stays * self.key(seen.metric, seen.speed);
        Candidate { key, node, metric: seen.metric, near: seen.near, far: seen.far, pose, motion }
    }

    /// Opens nodes from the top in the order of their keys. Returns those to be active, and Σ q̈² of the rest.
    /// `needed` are opened in any case.
    pub(super) fn choose(
        &self,
        seen: &BTreeMap<u32, Seen>,
        wholes: Vec<Candidate>,
        needed: &BTreeSet<u32>,
    ) -> (BTreeSet<u32>, f64) {
        let mut open = BTreeSet::new();
        let allowed = self.activity.tolerance * self.activity.tolerance;
        let rest = |heap: &BinaryHeap<Candidate>| heap.iter().map(|c| c.metric).sum::<f64>();
        let first = |candidate: Candidate| {
            if needed.contains(&candidate.node) { Candidate { key: f64::INFINITY, ..candidate } } else { candidate }
        };
        let mut heap: BinaryHeap<Candidate> = wholes.into_iter().map(first).collect();
        let start = rest(&heap);
        let mut left = start;
        let mut lost = 0.0;
        while let Some(candidate) = heap.pop() {
            // the running sum loses digits as it falls: near the end it is taken anew
            if allowed > 0.0 && left < 2.0 * allowed + 1e-9 * start {
                left = candidate.metric + rest(&heap);
            }
            let moving = (candidate.key - candidate.metric).max(0.0);
            let is_needed = needed.contains(&candidate.node);
            if !is_needed && (open.len() >= self.activity.most || (left < allowed && moving < allowed)) {
                lost += candidate.metric + rest(&heap);
                break;
            }
            left -= candidate.metric;
            let Some((a, b)) = self.assembly.parts[candidate.node as usize].parts else { continue };
            open.insert(candidate.node);
            for part in self.open(candidate, a, b, seen) {
                left += part.metric;
                heap.push(first(part));
            }
        }
        (open, lost)
    }

    /// The two parts of a node, with the forces on their ends.
    fn open(&self, whole: Candidate, a: u32, b: u32, seen: &BTreeMap<u32, Seen>) -> [Candidate; 2] {
        if self.nodes[whole.node as usize].active {
            return [a, b].map(|part| {
                // what is active stays so in doubt: closing a piece and opening it again costs more than a joint
                let stays = if self.nodes[part as usize].active { STAYS } else { 1.0 };
                self.candidate(part, &seen[&part], stays)
            });
        }
        let (fa, fb) = (self.frozen(a), self.frozen(b));
        let pose = whole.pose;
        let other = Placed::new(pose.x + pose.r * fa.span.x, (pose.q * fa.span.q).normalize());
        let joint = self.assembly.parts[b as usize].near as usize;
        let (hinge, at) = hinge_at(&self.links[joint], &other, &self.q, &self.tau);
        let (v, w) = whole.motion;
        let moved = (v + w.cross(at.x - pose.x), w);
        let (za, zb) = (field(&pose, self.gravity, v, w), field(&at, self.gravity, moved.0, moved.1));
        let (ea, eb) = (fa.ends(&pose, &za), fb.ends(&at, &zb));
        let beside = self.assembly.parts[whole.node as usize].beside;
        let split = hinge.split(&hinge.between(&ea, &eb), &ea, &eb, beside, &whole.near, &whole.far);
        let ma = fa.metric(&pose, &za, &whole.near, &split.a_far);
        let mb = fb.metric(&at, &zb, &split.b_near, &split.b_far);
        let part = |node, metric, near, far, pose, motion| Candidate {
            key: self.key(metric, 0.0),
            node,
            metric,
            near,
            far,
            pose,
            motion,
        };
        [part(a, ma, whole.near, split.a_far, pose, whole.motion), part(b, mb, split.b_near, split.b_far, at, moved)]
    }
}
