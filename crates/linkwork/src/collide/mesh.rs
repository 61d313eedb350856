//! Triangle meshes and terrain: triangles found through a tree of their boxes, with what lies across each edge.

use super::core::closest_on_triangle;
use super::hull::{area_vector, integrals, neighbours};
use super::parry::{Bounds, BoxTree};
use glam::{DVec2, DVec3};

/// Triangles that do not move in their own frame.
#[derive(Clone)]
pub(crate) struct Mesh {
    pub vertices: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
    pub normals: Vec<DVec3>,
    /// The triangle across each edge, u32::MAX for none.
    across: Vec<[u32; 3]>,
    /// Solid behind its triangles: contacts are in front of them only.
    pub one_sided: bool,
    /// Encloses a volume, which is solid.
    pub closed: bool,
    tree: BoxTree,
    pub bounds: Bounds,
}

impl std::fmt::Debug for Mesh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mesh of {} triangles", self.triangles.len())
    }
}

/// What kind of surface triangles form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// Every edge has two triangles that run along it in opposite ways.
    Closed,
    Open,
}

impl Mesh {
    /// A mesh whose triangles have area; a closed one is turned so that its normals point outwards.
    pub fn new(vertices: Vec<DVec3>, mut triangles: Vec<[u32; 3]>) -> Mesh {
        let closed = surface(&triangles) == Surface::Closed;
        if closed && integrals(&vertices, &triangles).0 < 0.0 {
            triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
        Mesh { closed, ..Mesh::laid_out(vertices, triangles, closed) }
    }

    /// Terrain over a rectangle centred on the origin; its normals point up.
    pub fn terrain(heights: &[Vec<f64>], size: [f64; 2]) -> Mesh {
        let (rows, columns) = (heights.len(), heights[0].len());
        let at = |k: usize, count: usize, extent: f64| extent * (k as f64 / (count - 1) as f64 - 0.5);
        let mut vertices = Vec::with_capacity(rows * columns);
        for (i, row) in heights.iter().enumerate() {
            for (j, &z) in row.iter().enumerate() {
                vertices.push(DVec3::new(at(j, columns, size[0]), at(i, rows, size[1]), z));
            }
        }
        let mut triangles = Vec::with_capacity(2 * (rows - 1) * (columns - 1));
        for i in 0..rows - 1 {
            for j in 0..columns - 1 {
                let corner = (i * columns + j) as u32;
                let (right, up) = (corner + 1, corner + columns as u32);
                triangles.push([corner, right, up + 1]);
                triangles.push([corner, up + 1, up]);
            }
        }
        Mesh::laid_out(vertices, triangles, true)
    }

    fn laid_out(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>, one_sided: bool) -> Mesh {
        let normals = triangles.iter().map(|t| area_vector(&vertices, t).normalize_or_zero()).collect();
        let across = match neighbours(&triangles) {
            Some(found) => found.into_iter().map(|t| t.map(|n| n.unwrap_or(u32::MAX))).collect(),
            // edges shared by more than two triangles: every edge counts as free
            None => vec![[u32::MAX; 3]; triangles.len()],
        };
        let boxes: Vec<Bounds> =
            triangles.iter().map(|t| Bounds::of(t.iter().map(|&i| vertices[i as usize]))).collect();
        let bounds = Bounds::of(vertices.iter().copied());
        Mesh { tree: BoxTree::of(&boxes), vertices, triangles, normals, across, one_sided, closed: false, bounds }
    }

    pub fn corners(&self, triangle: u32) -> [DVec3; 3] {
        self.triangles[triangle as usize].map(|i| self.vertices[i as usize])
    }

    /// Normal of the triangle across edge k of a triangle.
    pub fn normal_across(&self, triangle: u32, k: usize) -> Option<DVec3> {
        self.normals.get(self.across[triangle as usize][k] as usize).copied()
    }

    /// Appends the triangles whose boxes overlap, in order.
    pub fn near(&self, bounds: &Bounds, found: &mut Vec<u32>) {
        found.clear();
        self.tree.visit(bounds, |t| found.push(t));
        found.sort_unstable();
    }

    /// Appends the triangles whose boxes a ray passes, in order.
    pub fn along(&self, from: DVec3, along: DVec3, farthest: f64, found: &mut Vec<u32>) {
        found.clear();
        let reach = from.abs().max(self.bounds.low.abs()).max(self.bounds.high.abs()).max_element();
        self.tree.visit_along(from, along, farthest, ROUND_OFF * reach, |t| found.push(t));
        found.sort_unstable();
    }

    /// Whether a point is inside a closed mesh.
    ///
    /// It is if a ray from it leaves the mesh more often than it enters it. Triangles are seen along the ray, and whether it passes an edge
    /// on one side or the other is reckoned from the same two numbers for both triangles: it cannot slip through between them.
    pub fn contains(&self, p: DVec3) -> bool {
        let around = Bounds::of([p]);
        if !self.closed || !self.bounds.overlaps(&around) {
            return false;
        }
        let mut triangles = Vec::new();
        self.along(p, OUT, f64::INFINITY, &mut triangles);
        let mut winding = 0;
        for t in triangles {
            let corners = self.corners(t).map(|corner| corner - p);
            // where lines along the ray through the corners meet the plane across z
            let [a, b, c] = corners.map(|v| v.truncate() - OUT.truncate() * (v.z / OUT.z));
            let edges = [(b, c), (c, a), (a, b)].map(|(from, to)| (from.perp_dot(to), left_of(from, to)));
            let passed = edges[0].1 == edges[1].1 && edges[1].1 == edges[2].1;
            let area: f64 = edges.iter().map(|e| e.0).sum();
            if !passed || area == 0.0 {
                continue;
            }
            let height: f64 = edges.iter().zip(&corners).map(|(e, v)| e.0 * v.z).sum();
            if height / area > 0.0 {
                winding += if edges[0].1 { 1 } else { -1 };
            }
        }
        winding != 0
    }

    /// Where the surface is nearest to a point within a distance: distance, point, and the normal of the triangle seen most straight on.
    pub fn nearest(&self, p: DVec3, within: f64) -> Option<(f64, DVec3, DVec3)> {
        let outside = p - p.clamp(self.bounds.low, self.bounds.high);
        let typical = 2.0 * self.bounds.half().length() / (self.triangles.len() as f64).sqrt();
        let mut look = (outside.length() + typical).min(within);
        let mut triangles = Vec::new();
        loop {
            self.near(&Bounds::of([p]).grown(look), &mut triangles);
            let mut best: Option<(f64, f64, DVec3, DVec3)> = None;
            for &t in &triangles {
                let q = closest_on_triangle(&self.corners(t), p);
                let (away, normal) = (p - q, self.normals[t as usize]);
                let distance = away.length();
                let facing = away.dot(normal).abs();
                let nearer = |b: &(f64, f64, DVec3, DVec3)| distance < b.0 || (distance == b.0 && facing > b.1);
                if best.as_ref().is_none_or(nearer) {
                    best = Some((distance, facing, q, normal));
                }
            }
            match best {
                Some((distance, _, q, normal)) if distance <= look => return Some((distance, q, normal)),
                _ if look >= within => return None,
                _ => look = (2.0 * look).min(within),
            }
        }
    }
}

/// A direction that edges and corners of things that people make are unlikely to lie along.
const OUT: DVec3 = DVec3::new(0.361_803_4, 0.287_184_9, 0.886_914_7);

/// By how much of the largest coordinate a ray that is followed from box to box may be off.
const ROUND_OFF: f64 = 1e-14;

/// Whether the origin is left of a line, which is the opposite for the line the other way; on it, as if the origin were a little to the right,
/// and much less further up.
fn left_of(from: DVec2, to: DVec2) -> bool {
    let (turn, way) = (from.perp_dot(to), to - from);
    turn > 0.0 || turn == 0.0 && (way.y < 0.0 || way.y == 0.0 && way.x > 0.0)
}

/// Whether triangles close a volume.
pub(crate) fn surface(triangles: &[[u32; 3]]) -> Surface {
    match neighbours(triangles) {
        Some(found) if found.iter().all(|t| t.iter().all(Option::is_some)) => Surface::Closed,
        _ => Surface::Open,
    }
}
