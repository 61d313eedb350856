//! The one seam to parry: hulls, convex pieces of a mesh, a tree of boxes, and the distance of convex cores.
//!
//! What crosses it is ours: our cores answer its support queries, and its answers are axes and witnesses. Its contact
//! manifolds are not used: it keeps them for up to 1 mm and 1°, and does not filter them by distance.

use super::core::Core;
use glam::{DMat3, DQuat, DVec3};
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::math::{Pose, Vector};
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};
use parry3d_f64::query::epa::EPA;
use parry3d_f64::query::gjk::{self, CsoPoint, GJKResult, VoronoiSimplex};
use parry3d_f64::shape::SupportMap;
use parry3d_f64::transformation::vhacd::{VHACD, VHACDParameters};

/// Corners and triangles of the convex hull; `None` if the points span no volume.
pub(crate) fn convex_hull(points: &[DVec3]) -> Option<(Vec<DVec3>, Vec<[u32; 3]>)> {
    parry3d_f64::transformation::try_convex_hull(points).ok()
}

/// Corners of convex pieces that together cover a closed mesh.
pub(crate) fn convex_pieces(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Vec<DVec3>> {
    let parameters = VHACDParameters { resolution: 64, concavity: 0.01, ..VHACDParameters::default() };
    let parts = VHACD::decompose(&parameters, vertices, triangles, true);
    parts.compute_exact_convex_hulls(vertices, triangles).into_iter().map(|(points, _)| points).collect()
}

impl SupportMap for Core<'_> {
    fn local_support_point(&self, direction: Vector) -> Vector {
        self.support(direction)
    }
}

/// How two cores lie to each other, in the frame of the first.
pub(crate) enum Nearness {
    /// Farther apart than asked for; the axis separates them.
    Beyond(DVec3),
    /// Nearest points and the unit direction from the first to the second; overlapping if the points are the other way round.
    Points { on_a: DVec3, on_b: DVec3, normal: DVec3 },
    /// Nothing found: the cores overlap and the search for the shallowest way out failed.
    Unknown,
}

/// Working memory of the distance queries.
#[derive(Default)]
pub(crate) struct Distances {
    simplex: VoronoiSimplex,
    epa: EPA,
}

impl Clone for Distances {
    fn clone(&self) -> Self {
        Distances::default()
    }
}

impl Distances {
    /// Distance or depth of two cores, b turned by `r` and moved by `t` in the frame of a.
    pub fn between(&mut self, a: &Core, b: &Core, r: &DMat3, t: DVec3, farthest: f64, guess: DVec3) -> Nearness {
        let pose = Pose::from_parts(t, DQuat::from_mat3(r));
        self.simplex.reset(CsoPoint::from_shapes(&pose, a, b, guess));
        match gjk::closest_points(&pose, a, b, farthest, true, &mut self.simplex) {
            GJKResult::ClosestPoints(on_a, on_b, normal) => Nearness::Points { on_a, on_b, normal },
            GJKResult::NoIntersection(axis) => Nearness::Beyond(axis),
            GJKResult::Proximity(axis) => Nearness::Beyond(axis),
            GJKResult::Intersection => match self.epa.closest_points(&pose, a, b, &self.simplex) {
                Some((on_a, on_b, normal)) if normal.is_finite() => Nearness::Points { on_a, on_b, normal },
                _ => Nearness::Unknown,
            },
        }
    }
}

/// A box with sides along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    pub low: DVec3,
    pub high: DVec3,
}

impl Bounds {
    pub const EMPTY: Bounds = Bounds { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    pub fn of(points: impl IntoIterator<Item = DVec3>) -> Self {
        points.into_iter().fold(Bounds::EMPTY, |b, p| Bounds { low: b.low.min(p), high: b.high.max(p) })
    }

    pub fn grown(&self, by: f64) -> Self {
        Bounds { low: self.low - by, high: self.high + by }
    }

    pub fn overlaps(&self, other: &Bounds) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    pub fn contains(&self, other: &Bounds) -> bool {
        self.low.cmple(other.low).all() && other.high.cmple(self.high).all()
    }

    pub fn center(&self) -> DVec3 {
        0.5 * (self.low + self.high)
    }

    pub fn half(&self) -> DVec3 {
        0.5 * (self.high - self.low)
    }

    /// The box around this one after a turn and a move.
    pub fn placed(&self, r: &DMat3, x: DVec3) -> Self {
        let center = x + *r * self.center();
        let half = r.abs() * self.half();
        Bounds { low: center - half, high: center + half }
    }
}

fn aabb(b: &Bounds) -> Aabb {
    Aabb::new(b.low, b.high)
}

/// A tree of numbered boxes.
#[derive(Clone, Default)]
pub(crate) struct BoxTree {
    tree: Bvh,
    workspace: BvhWorkspace,
}

impl BoxTree {
    pub fn of(boxes: &[Bounds]) -> Self {
        let leaves: Vec<Aabb> = boxes.iter().map(aabb).collect();
        BoxTree { tree: Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves), workspace: BvhWorkspace::default() }
    }

    /// Changes a box; [`BoxTree::settle`] before the next visit.
    pub fn change(&mut self, number: u32, bounds: &Bounds) {
        self.tree.insert_or_update_partially(aabb(bounds), number, 0.0);
    }

    /// Fits the tree to its boxes; `anew` lays it out again, for boxes that have gone far.
    pub fn settle(&mut self, anew: bool) {
        match anew {
            true => self.tree.rebuild(&mut self.workspace, BvhBuildStrategy::Binned),
            false => self.tree.refit(&mut self.workspace),
        }
    }

    /// Calls `found` with the number of every box that overlaps, in no particular order.
    pub fn visit(&self, bounds: &Bounds, found: impl FnMut(u32)) {
        self.tree.intersect_aabb(&aabb(bounds)).for_each(found);
    }

    /// The same of every box that a ray comes within `margin` of.
    pub fn visit_along(&self, from: DVec3, along: DVec3, farthest: f64, margin: f64, found: impl FnMut(u32)) {
        self.tree
            .leaves(|node| {
                let bounds = Bounds { low: node.mins(), high: node.maxs() }.grown(margin);
                let (mut enter, mut leave) = (0.0, farthest);
                for k in 0..3 {
                    if along[k] == 0.0 {
                        if from[k] < bounds.low[k] || from[k] > bounds.high[k] {
                            return false;
                        }
                        continue;
                    }
                    let (s, t) = ((bounds.low[k] - from[k]) / along[k], (bounds.high[k] - from[k]) / along[k]);
                    (enter, leave) = (f64::max(enter, s.min(t)), f64::min(leave, s.max(t)));
                }
                enter <= leave
            })
            .for_each(found);
    }
}
