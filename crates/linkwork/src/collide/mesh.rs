//! Triangle meshes and terrain: triangles found through a tree of their boxes, with what lies across each edge.

use super::hull::{area_vector, integrals, neighbours};
use super::parry::{Bounds, BoxTree};
use glam::DVec3;

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
        Mesh::laid_out(vertices, triangles, closed)
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
        Mesh { tree: BoxTree::of(&boxes), vertices, triangles, normals, across, one_sided, bounds }
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
}

/// Whether triangles close a volume.
pub(crate) fn surface(triangles: &[[u32; 3]]) -> Surface {
    match neighbours(triangles) {
        Some(found) if found.iter().all(|t| t.iter().all(Option::is_some)) => Surface::Closed,
        _ => Surface::Open,
    }
}
