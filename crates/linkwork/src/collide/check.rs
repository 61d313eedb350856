//! Checks of shapes at the edge: what passes compiles. All that is wrong is told, not only the first.

use super::hull::{Hull, area_vector, integrals};
use super::mesh::{Surface, surface};
use crate::error::SceneError;
use crate::range::{FARTHEST, STRONGEST};
use crate::scene::{BodyKind, Geometry, Shape};
use glam::DVec3;

/// So many problems of one shape are told; a mesh may have any number.
const MOST_TOLD: usize = 1000;
/// Most corners or triangles of one shape.
const MOST: usize = 10_000_000;

/// Problems found so far, each with its place.
struct Problems<'a> {
    found: &'a mut Vec<SceneError>,
    path: &'a str,
    first: usize,
}

impl Problems<'_> {
    /// Adds a problem at a key of the path, or at the path itself.
    fn add(&mut self, key: impl std::fmt::Display, problem: impl Into<String>, hint: &str) {
        if self.count() < MOST_TOLD {
            let key = key.to_string();
            let dot = if key.is_empty() { "" } else { "." };
            self.found.push(SceneError::new(format!("{}{dot}{key}", self.path), problem).hint(hint));
        }
    }

    fn count(&self) -> usize {
        self.found.len() - self.first
    }

    fn positive(&mut self, key: &str, value: f64) {
        match value {
            _ if value > 0.0 && value < FARTHEST => {}
            _ if value.is_finite() && value >= FARTHEST => {
                self.add(key, format!("{value:e} m is longer than {FARTHEST:e} m"), "use metres");
            }
            _ => self.add(key, format!("{value} m is not a positive length"), "give a number greater than 0"),
        }
    }

    fn within(&mut self, key: &str, value: f64, most: f64, unit: &str) {
        if !(0.0..=most).contains(&value) {
            let problem = format!("{value:?}{unit} is not between 0 and {most}{unit}");
            self.add(key, problem, "see the shape's documentation");
        }
    }
}

/// The same of a shape by itself: the first problem, if there is one.
pub(crate) fn first_of(path: &str, shape: &Shape, kind: BodyKind) -> Result<(), SceneError> {
    let mut found = Vec::new();
    self::shape(path, shape, kind, &mut found);
    found.into_iter().next().map_or(Ok(()), Err)
}

/// Adds all that is wrong with a shape, except with its place.
pub(crate) fn shape(path: &str, shape: &Shape, kind: BodyKind, found: &mut Vec<SceneError>) {
    let geometry_path = format!("{path}.geometry");
    geometry(&mut Problems { first: found.len(), found, path: &geometry_path }, &shape.geometry, kind);
    let mut problems = Problems { first: found.len(), found, path };
    problems.within("friction", shape.friction, 1e6, "");
    problems.within("restitution", shape.restitution, 1.0, "");
    problems.within("rolling_friction", shape.rolling_friction, 1e3, " m");
    problems.within("spinning_friction", shape.spinning_friction, 1e3, " m");
    if let Some(soft) = shape.softness {
        if !(soft.stiffness > 0.0 && soft.stiffness <= STRONGEST) {
            problems.add(
                "softness.stiffness",
                format!("{:?} N/m is not a positive stiffness up to {STRONGEST:e} N/m", soft.stiffness),
                "leave `softness` out for a rigid contact",
            );
        }
        problems.within("softness.damping", soft.damping, 1e12, " N s/m");
    }
}

fn geometry(problems: &mut Problems, geometry: &Geometry, kind: BodyKind) {
    match geometry {
        Geometry::Sphere { radius } => problems.positive("sphere.radius", *radius),
        Geometry::Box { size } => size.iter().for_each(|&s| problems.positive("box.size", s)),
        Geometry::Capsule { radius, length } => round(problems, "capsule", *radius, *length),
        Geometry::Cylinder { radius, length } => round(problems, "cylinder", *radius, *length),
        Geometry::Cone { radius, length } => round(problems, "cone", *radius, *length),
        Geometry::ConvexHull { points } => hull(problems, points),
        Geometry::Mesh { vertices, triangles } => mesh(problems, vertices, triangles, kind),
        Geometry::HeightField { heights, size } => {
            if kind == BodyKind::Dynamic {
                let hint = "make the body static, or kinematic to move it yourself";
                problems.add("", "a height field on a body that forces move", hint);
            }
            size.iter().for_each(|&s| problems.positive("height_field.size", s));
            terrain(problems, heights);
        }
        Geometry::Plane if kind == BodyKind::Static => {}
        Geometry::Plane => problems.add("", "a plane without end on a body that moves", "make the body static"),
    }
}

fn round(problems: &mut Problems, name: &str, radius: f64, length: f64) {
    problems.positive(&format!("{name}.radius"), radius);
    problems.positive(&format!("{name}.length"), length);
}

/// Whether points are points: nothing else can be said of what has others.
fn corners(problems: &mut Problems, key: &str, points: &[[f64; 3]]) -> bool {
    let before = problems.count();
    if points.len() > MOST {
        problems.add(key, format!("{} points are more than {MOST}", points.len()), "simplify the shape");
        return false;
    }
    for (i, p) in points.iter().enumerate() {
        if !p.iter().all(|c| c.is_finite() && c.abs() < FARTHEST) {
            let problem = format!("({:?}, {:?}, {:?}) m is not a point within {FARTHEST:e} m", p[0], p[1], p[2]);
            problems.add(format_args!("{key}[{i}]"), problem, "give finite metres");
        }
    }
    problems.count() == before
}

fn hull(problems: &mut Problems, points: &[[f64; 3]]) {
    let key = "convex_hull.points";
    let are_points = corners(problems, key, points);
    if points.len() < 4 {
        return problems.add(key, format!("{} points span no volume", points.len()), "give at least four");
    }
    let points: Vec<DVec3> = points.iter().map(|&p| p.into()).collect();
    if are_points && Hull::of(&points).is_none() {
        let problem = format!("the {} points lie in a plane, on a line or in a point", points.len());
        problems.add(key, problem, "give the thin direction a thickness");
    }
}

fn mesh(problems: &mut Problems, vertices: &[[f64; 3]], triangles: &[[u32; 3]], kind: BodyKind) {
    let before = problems.count();
    let are_points = corners(problems, "mesh.vertices", vertices);
    if triangles.is_empty() || triangles.len() > MOST {
        let problem = format!("{} triangles are not between 1 and {MOST}", triangles.len());
        return problems.add("mesh.triangles", problem, "give the triangles of the surface");
    }
    let points: Vec<DVec3> = vertices.iter().map(|&p| p.into()).collect();
    for (i, t) in triangles.iter().enumerate() {
        let key = format_args!("mesh.triangles[{i}]");
        if let Some(bad) = t.iter().find(|&&v| v as usize >= points.len()) {
            let problem = format!("there is no vertex {bad}: the mesh has {}", points.len());
            problems.add(key, problem, "vertices count from 0");
            continue;
        }
        let [a, b, c] = t.map(|v| points[v as usize]);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let area = area_vector(&points, t).length();
        if are_points && (longest == 0.0 || area <= 1e-10 * longest * longest) {
            let problem = format!("its corners {}, {} and {} lie on a line: it has no area", t[0], t[1], t[2]);
            problems.add(key, problem, "leave it out, or merge its corners");
        }
    }
    if kind != BodyKind::Dynamic || problems.count() > before {
        return;
    }
    if surface(triangles) == Surface::Open {
        return problems.add(
            "mesh.triangles",
            "an open mesh on a body that forces move: some edge is not shared by exactly two triangles that run along it in opposite ways",
            "close its holes, merge equal vertices and turn all triangles the same way; or make the body static",
        );
    }
    let (volume, ..) = integrals(&points, triangles);
    let size = points.iter().map(|p| p.distance(points[0])).fold(0.0, f64::max);
    if volume.abs() < 1e-12 * size.powi(3) {
        problems.add(
            "mesh.triangles",
            format!("encloses {volume:.3e} m³, which is no volume"),
            "turn its triangles so that all are counter-clockwise seen from outside",
        );
    }
}

fn terrain(problems: &mut Problems, heights: &[Vec<f64>]) {
    let key = "height_field.heights";
    let columns = heights.first().map_or(0, Vec::len);
    if heights.len() < 2 || columns < 2 {
        let problem = format!("{} rows of {columns} heights", heights.len());
        return problems.add(key, problem, "give at least two rows of two");
    }
    if heights.len().saturating_mul(columns) > MOST {
        return problems.add(key, format!("more than {MOST} heights"), "divide the terrain");
    }
    for (i, row) in heights.iter().enumerate() {
        if row.len() != columns {
            let problem = format!("{} heights where the first row has {columns}", row.len());
            problems.add(format_args!("{key}[{i}]"), problem, "give rows of equal length");
        }
        for (j, z) in row.iter().enumerate().filter(|(_, z)| !(z.is_finite() && z.abs() < FARTHEST)) {
            let problem = format!("{z:?} m is not a height within {FARTHEST:e} m");
            problems.add(format_args!("{key}[{i}][{j}]"), problem, "give finite metres");
        }
    }
}
