//! Checks of shapes at the edge: what passes compiles.

use super::hull::{Hull, area_vector, integrals};
use super::mesh::{Surface, surface};
use crate::error::SceneError;
use crate::scene::{BodyKind, Geometry, Shape};
use glam::DVec3;

type Checked = Result<(), SceneError>;

/// Largest coordinate, m, that is taken for meant.
const FARTHEST: f64 = 1e9;
/// Most corners or triangles of one shape.
const MOST: usize = 10_000_000;

fn wrong(path: String, problem: impl Into<String>, hint: &str) -> Checked {
    Err(SceneError::new(path, problem).hint(hint))
}

/// Everything of a shape except its place.
pub(crate) fn shape(path: &str, shape: &Shape, kind: BodyKind) -> Checked {
    geometry(&format!("{path}.geometry"), &shape.geometry, kind)?;
    let within = |key: &str, value: f64, most: f64, unit: &str| match (0.0..=most).contains(&value) {
        true => Ok(()),
        false => wrong(
            format!("{path}.{key}"),
            format!("{value}{unit} is not between 0 and {most}{unit}"),
            "see the shape's documentation",
        ),
    };
    within("friction", shape.friction, 1e6, "")?;
    within("restitution", shape.restitution, 1.0, "")?;
    within("rolling_friction", shape.rolling_friction, 1e3, " m")?;
    within("spinning_friction", shape.spinning_friction, 1e3, " m")?;
    if let Some(soft) = shape.softness {
        if !(soft.stiffness.is_finite() && soft.stiffness > 0.0) {
            return wrong(
                format!("{path}.softness.stiffness"),
                format!("{} N/m is not a positive stiffness", soft.stiffness),
                "leave `softness` out for a rigid contact",
            );
        }
        within("softness.damping", soft.damping, 1e12, " N s/m")?;
    }
    Ok(())
}

fn geometry(path: &str, geometry: &Geometry, kind: BodyKind) -> Checked {
    let positive = |key: &str, value: f64| match value.is_finite() && value > 0.0 && value < FARTHEST {
        true => Ok(()),
        false if value.is_finite() && value >= FARTHEST => {
            Err(SceneError::new(format!("{path}.{key}"), format!("{value:e} m is longer than {FARTHEST:e} m")))
        }
        false => Err(SceneError::new(format!("{path}.{key}"), format!("{value} m is not a positive length"))),
    };
    let round = |name: &str, radius: f64, length: f64| {
        positive(&format!("{name}.radius"), radius)?;
        positive(&format!("{name}.length"), length)
    };
    let held = |what: &str| match kind {
        BodyKind::Dynamic => wrong(
            path.to_string(),
            format!("{what} on a body that forces move"),
            "make the body static, or kinematic to move it yourself",
        ),
        _ => Ok(()),
    };
    match geometry {
        Geometry::Sphere { radius } => positive("sphere.radius", *radius),
        Geometry::Box { size } => size.iter().try_for_each(|&s| positive("box.size", s)),
        Geometry::Capsule { radius, length } => round("capsule", *radius, *length),
        Geometry::Cylinder { radius, length } => round("cylinder", *radius, *length),
        Geometry::Cone { radius, length } => round("cone", *radius, *length),
        Geometry::ConvexHull { points } => hull(&format!("{path}.convex_hull.points"), points),
        Geometry::Mesh { vertices, triangles } => mesh(&format!("{path}.mesh"), vertices, triangles, kind),
        Geometry::HeightField { heights, size } => {
            held("a height field")?;
            size.iter().try_for_each(|&s| positive("height_field.size", s))?;
            terrain(&format!("{path}.height_field.heights"), heights)
        }
        Geometry::Plane => match kind {
            BodyKind::Static => Ok(()),
            _ => wrong(path.to_string(), "a plane without end on a body that moves", "make the body static"),
        },
    }
}

fn corners(path: &str, points: &[[f64; 3]]) -> Checked {
    if points.len() > MOST {
        return wrong(path.to_string(), format!("{} points are more than {MOST}", points.len()), "simplify the shape");
    }
    for (i, p) in points.iter().enumerate() {
        let [x, y, z] = *p;
        if !p.iter().all(|c| c.is_finite() && c.abs() < FARTHEST) {
            return wrong(format!("{path}[{i}]"), format!("({x}, {y}, {z}) m is not a point"), "give finite metres");
        }
    }
    Ok(())
}

fn hull(path: &str, points: &[[f64; 3]]) -> Checked {
    corners(path, points)?;
    if points.len() < 4 {
        return wrong(path.to_string(), format!("{} points span no volume", points.len()), "give at least four");
    }
    let points: Vec<DVec3> = points.iter().map(|&p| p.into()).collect();
    match Hull::of(&points) {
        Some(_) => Ok(()),
        None => wrong(
            path.to_string(),
            format!("the {} points lie in a plane, on a line or in a point", points.len()),
            "give the thin direction a thickness",
        ),
    }
}

fn mesh(path: &str, vertices: &[[f64; 3]], triangles: &[[u32; 3]], kind: BodyKind) -> Checked {
    corners(&format!("{path}.vertices"), vertices)?;
    if triangles.is_empty() || triangles.len() > MOST {
        return wrong(
            format!("{path}.triangles"),
            format!("{} triangles are not between 1 and {MOST}", triangles.len()),
            "give the triangles of the surface",
        );
    }
    let points: Vec<DVec3> = vertices.iter().map(|&p| p.into()).collect();
    for (i, t) in triangles.iter().enumerate() {
        let at = || format!("{path}.triangles[{i}]");
        if let Some(bad) = t.iter().find(|&&v| v as usize >= points.len()) {
            return wrong(
                at(),
                format!("there is no vertex {bad}: the mesh has {}", points.len()),
                "vertices count from 0",
            );
        }
        let [a, b, c] = t.map(|v| points[v as usize]);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        let area = area_vector(&points, t).length();
        if longest == 0.0 || area <= 1e-10 * longest * longest {
            return wrong(
                at(),
                format!("its corners {}, {} and {} lie on a line: it has no area", t[0], t[1], t[2]),
                "leave it out, or merge its corners",
            );
        }
    }
    if kind != BodyKind::Dynamic {
        return Ok(());
    }
    if surface(triangles) == Surface::Open {
        return wrong(
            format!("{path}.triangles"),
            "an open mesh on a body that forces move: some edge is not shared by exactly two triangles that run along it in opposite ways",
            "close its holes, merge equal vertices and turn all triangles the same way; or make the body static",
        );
    }
    let (volume, ..) = integrals(&points, triangles);
    let size = points.iter().map(|p| p.distance(points[0])).fold(0.0, f64::max);
    if volume.abs() < 1e-12 * size.powi(3) {
        return wrong(
            format!("{path}.triangles"),
            format!("encloses {volume:.3e} m³, which is no volume"),
            "turn its triangles so that all are counter-clockwise seen from outside",
        );
    }
    Ok(())
}

fn terrain(path: &str, heights: &[Vec<f64>]) -> Checked {
    let columns = heights.first().map_or(0, Vec::len);
    if heights.len() < 2 || columns < 2 {
        return wrong(
            path.to_string(),
            format!("{} rows of {columns} heights", heights.len()),
            "give at least two rows of two",
        );
    }
    if heights.len().saturating_mul(columns) > MOST {
        return wrong(path.to_string(), format!("more than {MOST} heights"), "divide the terrain");
    }
    for (i, row) in heights.iter().enumerate() {
        if row.len() != columns {
            return wrong(
                format!("{path}[{i}]"),
                format!("{} heights where the first row has {columns}", row.len()),
                "give rows of equal length",
            );
        }
        if let Some(j) = row.iter().position(|z| !(z.is_finite() && z.abs() < FARTHEST)) {
            return wrong(format!("{path}[{i}][{j}]"), format!("{} m is not a height", row[j]), "give finite metres");
        }
    }
    Ok(())
}
