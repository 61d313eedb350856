//! The surfaces of shapes as flat polygons, corners anticlockwise seen from outside.

use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Geometry, Shape};
use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// The surface of a shape in its own frame; `sides` flat faces around what is round. A plane is endless and has none.
pub fn surface(geometry: &Geometry, sides: usize) -> Vec<Vec<DVec3>> {
    // half a circle from pole to pole, its upper half moved up by `half` and its lower half down
    let round = |radius: f64, half: f64| {
        let steps = 2 * (sides / 4).max(1);
        let at = |k: usize, half: f64| {
            let angle = PI * k as f64 / steps as f64 - FRAC_PI_2;
            (radius * angle.cos(), radius * angle.sin() + half)
        };
        let lower = (0..=steps / 2).map(|k| at(k, -half));
        lower.chain((steps / 2..=steps).map(|k| at(k, half))).collect::<Vec<_>>()
    };
    match geometry {
        Geometry::Box { size } => cuboid(0.5 * DVec3::from(*size)),
        Geometry::Sphere { radius } => revolved(&round(*radius, 0.0), sides),
        Geometry::Capsule { radius, length } => revolved(&round(*radius, 0.5 * length), sides),
        Geometry::Cylinder { radius, length } => {
            let (r, z) = (*radius, 0.5 * length);
            revolved(&[(0.0, -z), (r, -z), (r, z), (0.0, z)], sides)
        }
        Geometry::Cone { radius, length } => {
            let z = 0.5 * length;
            revolved(&[(0.0, -z), (*radius, -z), (0.0, z)], sides)
        }
        Geometry::Mesh { vertices, triangles } => {
            triangles.iter().map(|t| t.map(|i| DVec3::from(vertices[i as usize])).to_vec()).collect()
        }
        Geometry::ConvexHull { .. } => geometry.hull_as_mesh().map_or(Vec::new(), |mesh| surface(&mesh, sides)),
        Geometry::HeightField { heights, size } => terrain(heights, *size),
        Geometry::Plane => Vec::new(),
    }
}

/// The normal of a shape's surface at a corner of one of its polygons, whose own normal is given: round shapes have no edges.
pub fn normal_at(geometry: &Geometry, corner: DVec3, of_polygon: DVec3) -> DVec3 {
    let radial = DVec3::new(corner.x, corner.y, 0.0);
    let smooth = match geometry {
        Geometry::Sphere { .. } => corner,
        Geometry::Capsule { length, .. } => corner - DVec3::Z * corner.z.clamp(-0.5 * length, 0.5 * length),
        Geometry::Cylinder { .. } if of_polygon.z.abs() < 0.5 => radial,
        // the tip has no direction of its own
        Geometry::Cone { radius, length } if of_polygon.z > -0.99 && radial.length() > 1e-9 * radius => {
            radial.normalize() * *length + DVec3::Z * *radius
        }
        _ => of_polygon,
    };
    smooth.normalize_or(of_polygon)
}

/// A point of a shape in the frame of its body.
pub fn placed(shape: &Shape, point: DVec3) -> DVec3 {
    DVec3::from(shape.position) + turned(shape, point)
}

/// A direction of a shape in the frame of its body.
pub fn turned(shape: &Shape, direction: DVec3) -> DVec3 {
    orientation(shape) * direction
}

/// How a shape lies in the frame of its body.
pub fn orientation(shape: &Shape) -> DQuat {
    let [w, x, y, z] = shape.orientation;
    DQuat::from_xyzw(x, y, z, w).normalize()
}

fn cuboid(half: DVec3) -> Vec<Vec<DVec3>> {
    let mut polygons = Vec::new();
    for axis in 0..3 {
        for side in [1.0, -1.0] {
            let (mut n, mut u, mut v) = (DVec3::ZERO, DVec3::ZERO, DVec3::ZERO);
            n[axis] = side * half[axis];
            u[(axis + 1) % 3] = half[(axis + 1) % 3];
            v[(axis + 2) % 3] = side * half[(axis + 2) % 3];
            polygons.push(vec![n - u - v, n + u - v, n + u + v, n - u + v]);
        }
    }
    polygons
}

/// A profile of (radius, height), upwards, turned about z.
fn revolved(profile: &[(f64, f64)], sides: usize) -> Vec<Vec<DVec3>> {
    let at = |(radius, z): (f64, f64), k: usize| {
        let angle = TAU * k as f64 / sides as f64;
        DVec3::new(radius * angle.cos(), radius * angle.sin(), z)
    };
    let mut polygons = Vec::new();
    for pair in profile.windows(2).filter(|pair| pair[0] != pair[1]) {
        for k in 0..sides {
            polygons.push(vec![at(pair[0], k), at(pair[0], k + 1), at(pair[1], k + 1), at(pair[1], k)]);
        }
    }
    polygons
}

/// Heights in rows along y, columns along x, centred.
fn terrain(heights: &[Vec<f64>], [width, depth]: [f64; 2]) -> Vec<Vec<DVec3>> {
    let columns = heights.iter().map(Vec::len).min().unwrap_or(0);
    let part = |k: usize, count: usize| k as f64 / (count - 1) as f64 - 0.5;
    let at = |i: usize, j: usize| DVec3::new(width * part(i, columns), depth * part(j, heights.len()), heights[j][i]);
    let mut triangles = Vec::new();
    for j in 1..heights.len() {
        for i in 1..columns {
            triangles.push(vec![at(i - 1, j - 1), at(i, j - 1), at(i, j)]);
            triangles.push(vec![at(i - 1, j - 1), at(i, j), at(i - 1, j)]);
        }
    }
    triangles
}
