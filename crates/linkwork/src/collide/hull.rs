//! Convex polyhedra: corners, faces as polygons, edges; and exact integrals over closed triangle surfaces.

use super::parry;
use glam::{DMat3, DVec3};

/// A convex polyhedron in its own frame.
#[derive(Clone, Debug)]
pub(crate) struct Hull {
    pub points: Vec<DVec3>,
    pub faces: Vec<Face>,
    /// Corners of all faces, one face after the other, counter-clockwise seen from outside.
    pub loops: Vec<u32>,
    pub edges: Vec<[u32; 2]>,
    /// Edges at each corner: `corner_edges[corner_start[i]..corner_start[i + 1]]`.
    corner_start: Vec<u32>,
    corner_edges: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Face {
    pub normal: DVec3,
    /// `normal · x` of its points.
    pub offset: f64,
    pub start: u32,
    pub count: u32,
}

impl Hull {
    /// The hull of points; `None` if they span no volume (less than 1e-6 of their extent thick).
    pub fn of(points: &[DVec3]) -> Option<Hull> {
        let (points, triangles) = parry::convex_hull(points)?;
        let size = points.iter().map(|p| p.distance(points[0])).fold(0.0, f64::max);
        let (volume, ..) = integrals(&points, &triangles);
        let area: f64 = triangles.iter().map(|t| area_vector(&points, t).length()).sum();
        // volume per area is a third of the thickness
        if !(volume > 0.0 && 6.0 * volume > 1e-6 * size * area) {
            return None;
        }
        Hull::from_triangles(points, &triangles, size)
    }

    fn from_triangles(points: Vec<DVec3>, triangles: &[[u32; 3]], size: f64) -> Option<Hull> {
        let neighbours = neighbours(triangles)?;
        let normals: Vec<DVec3> = triangles.iter().map(|t| area_vector(&points, t)).collect();
        // flat triangles that touch become one face, grown from the largest triangles
        let mut order: Vec<usize> = (0..triangles.len()).collect();
        order.sort_by(|&a, &b| normals[b].length().total_cmp(&normals[a].length()).then(a.cmp(&b)));
        let mut face_of = vec![usize::MAX; triangles.len()];
        let mut hull = Hull {
            points,
            faces: Vec::new(),
            loops: Vec::new(),
            edges: Vec::new(),
            corner_start: Vec::new(),
            corner_edges: Vec::new(),
        };
        for seed in order {
            if face_of[seed] != usize::MAX {
                continue;
            }
            let face = hull.faces.len();
            let normal = normals[seed].try_normalize()?;
            let offset = normal.dot(hull.points[triangles[seed][0] as usize]);
            face_of[seed] = face;
            let mut members = vec![seed];
            let mut next = 0;
            while next < members.len() {
                let t = members[next];
                next += 1;
                for other in neighbours[t].iter().flatten().map(|&o| o as usize) {
                    let flat = triangles[other]
                        .iter()
                        .all(|&v| (normal.dot(hull.points[v as usize]) - offset).abs() < 1e-9 * size);
                    if face_of[other] == usize::MAX && flat {
                        face_of[other] = face;
                        members.push(other);
                    }
                }
            }
            let start = hull.loops.len();
            boundary(&members, triangles, &neighbours, &face_of, face, &mut hull.loops)?;
            let count = hull.loops.len() - start;
            hull.faces.push(Face { normal, offset, start: start as u32, count: count as u32 });
        }
        hull.find_edges();
        Some(hull)
    }

    fn find_edges(&mut self) {
        let mut corner_edges = vec![Vec::new(); self.points.len()];
        for f in 0..self.faces.len() {
            let Face { start, count, .. } = self.faces[f];
            let corners = &self.loops[start as usize..(start + count) as usize];
            for k in 0..corners.len() {
                let (a, b) = (corners[k], corners[(k + 1) % corners.len()]);
                if a < b {
                    let edge = self.edges.len() as u32;
                    corner_edges[a as usize].push(edge);
                    corner_edges[b as usize].push(edge);
                    self.edges.push([a, b]);
                }
            }
        }
        for edges in corner_edges {
            self.corner_start.push(self.corner_edges.len() as u32);
            self.corner_edges.extend(edges);
        }
        self.corner_start.push(self.corner_edges.len() as u32);
    }

    /// Corners of a face, by index.
    pub fn corners(&self, face: usize) -> &[u32] {
        let f = &self.faces[face];
        &self.loops[f.start as usize..(f.start + f.count) as usize]
    }

    /// Index of the corner farthest along a direction.
    pub fn farthest(&self, direction: DVec3) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        for (i, p) in self.points.iter().enumerate() {
            let d = direction.dot(*p);
            if d > best.0 {
                best = (d, i);
            }
        }
        best.1
    }

    /// The face that looks most along a direction.
    pub fn facing(&self, direction: DVec3) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        for (i, f) in self.faces.iter().enumerate() {
            let d = direction.dot(f.normal);
            if d > best.0 {
                best = (d, i);
            }
        }
        best.1
    }

    /// Ends of the edges at a corner.
    pub fn edges_at(&self, corner: usize) -> impl Iterator<Item = [u32; 2]> + '_ {
        let range = self.corner_start[corner] as usize..self.corner_start[corner + 1] as usize;
        self.corner_edges[range].iter().map(|&e| self.edges[e as usize])
    }
}

/// Twice the area of a triangle along its normal.
pub(crate) fn area_vector(points: &[DVec3], t: &[u32; 3]) -> DVec3 {
    let [a, b, c] = t.map(|i| points[i as usize]);
    (b - a).cross(c - a)
}

/// For every triangle the triangles across its edges (v0 v1), (v1 v2), (v2 v0); `None` if three share an edge or two
/// run along it the same way.
pub(crate) fn neighbours(triangles: &[[u32; 3]]) -> Option<Vec<[Option<u32>; 3]>> {
    let mut sides: Vec<(u32, u32, u32, u8)> = Vec::with_capacity(3 * triangles.len());
    for (t, v) in triangles.iter().enumerate() {
        for k in 0..3 {
            sides.push((v[k], v[(k + 1) % 3], t as u32, k as u8));
        }
    }
    sides.sort_unstable();
    if sides.windows(2).any(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1)) {
        return None;
    }
    let mut found = vec![[None; 3]; triangles.len()];
    for &(a, b, t, k) in &sides {
        if let Ok(i) = sides.binary_search_by(|s| (s.0, s.1).cmp(&(b, a))) {
            found[t as usize][k as usize] = Some(sides[i].2);
        }
    }
    Some(found)
}

/// Appends the corners around a group of triangles, in order.
fn boundary(
    members: &[usize],
    triangles: &[[u32; 3]],
    neighbours: &[[Option<u32>; 3]],
    face_of: &[usize],
    face: usize,
    out: &mut Vec<u32>,
) -> Option<()> {
    let mut sides = Vec::new();
    for &t in members {
        for k in 0..3 {
            let inside = neighbours[t][k].is_some_and(|o| face_of[o as usize] == face);
            if !inside {
                sides.push((triangles[t][k], triangles[t][(k + 1) % 3]));
            }
        }
    }
    let first = *sides.first()?;
    out.push(first.0);
    let mut at = first.1;
    for _ in 1..sides.len() {
        if at == first.0 {
            break;
        }
        out.push(at);
        at = sides.iter().find(|s| s.0 == at)?.1;
    }
    Some(())
}

/// Volume, centre and inertia tensor at unit density about that centre, of what a closed surface encloses.
///
/// Signed tetrahedra from a reference point r to every triangle: with corners a, b, c from r, V = a·(b×c)/6,
/// ∫x = V (a+b+c)/4, ∫x xᵀ = V/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ), s = a+b+c.
pub(crate) fn integrals(points: &[DVec3], triangles: &[[u32; 3]]) -> (f64, DVec3, DMat3) {
    let outer = |v: DVec3| DMat3::from_cols(v * v.x, v * v.y, v * v.z);
    // a reference amid the points keeps the cancellation small
    let reference = points.iter().sum::<DVec3>() / points.len().max(1) as f64;
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for t in triangles {
        let [a, b, c] = t.map(|i| points[i as usize] - reference);
        let v = a.dot(b.cross(c)) / 6.0;
        let s = a + b + c;
        volume += v;
        first += s * (0.25 * v);
        second += (outer(a) + outer(b) + outer(c) + outer(s)) * (v / 20.0);
    }
    let center = if volume == 0.0 { DVec3::ZERO } else { first / volume };
    let about = second - outer(center) * volume;
    let trace = about.x_axis.x + about.y_axis.y + about.z_axis.z;
    (volume, reference + center, DMat3::from_diagonal(DVec3::splat(trace)) - about)
}

impl Hull {
    /// The faces as triangles.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        let fan = |f: usize| {
            let c = self.corners(f);
            (1..c.len() - 1).map(|k| [c[0], c[k], c[k + 1]]).collect::<Vec<_>>()
        };
        (0..self.faces.len()).flat_map(fan).collect()
    }

    pub fn volume(&self) -> f64 {
        integrals(&self.points, &self.triangles()).0
    }
}
