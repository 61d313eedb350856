//! A point and a form: signed distance and the way out, and the first touch along a path. For particles and cloth.

use super::core::{Core, closest_on_triangle};
use super::hull::Hull;
use super::mesh::Mesh;
use super::parry::Bounds;
use super::shape::Form;
use glam::DVec3;

/// Signed distance of a point (negative inside) and the outward normal there, in the frame of the form. A surface that has
/// two sides has no inside: the side is that of `from`, where the point came from. `reach` is how far is looked;
/// beyond it the answer for a mesh is `None`.
pub(crate) fn distance(form: &Form, p: DVec3, from: DVec3, reach: f64) -> Option<(f64, DVec3)> {
    match form {
        Form::Plane => Some((p.z, DVec3::Z)),
        Form::Mesh(mesh) => to_mesh(mesh, p, from, reach),
        Form::Hull(hull) => Some(Core::Hull(hull).distance_to(p).unwrap_or_else(|| outside_hull(hull, p))),
        _ => {
            let rounded = form.convex()?;
            let (d, n) = rounded.core.distance_to(p)?;
            Some((d - rounded.radius, n))
        }
    }
}

fn outside_hull(hull: &Hull, p: DVec3) -> (f64, DVec3) {
    let mut best = (f64::INFINITY, DVec3::Z);
    for (k, face) in hull.faces.iter().enumerate() {
        let above = face.normal.dot(p) - face.offset;
        if above <= 0.0 || above >= best.0 {
            continue;
        }
        let corners = hull.corners(k);
        let at = |i: usize| hull.points[corners[i] as usize];
        for i in 2..corners.len() {
            let d = p - closest_on_triangle(&[at(0), at(i - 1), at(i)], p);
            let length = d.length();
            if length < best.0 {
                best = (length, if length > 1e-12 { d / length } else { face.normal });
            }
        }
    }
    best
}

fn to_mesh(mesh: &Mesh, p: DVec3, from: DVec3, reach: f64) -> Option<(f64, DVec3)> {
    let mut near = Vec::new();
    mesh.near(&Bounds::of([p, from]).grown(reach), &mut near);
    // distance, how straight on the triangle is seen, signed distance, way out
    let mut best: Option<(f64, f64, f64, DVec3)> = None;
    for t in near {
        let (corners, face) = (mesh.corners(t), mesh.normals[t as usize]);
        let d = p - closest_on_triangle(&corners, p);
        let length = d.length();
        let facing = if length > 1e-12 { (d.dot(face) / length).abs() } else { 1.0 };
        // of triangles at the same distance, over an edge, the one seen most straight on tells the side
        let better = best.is_none_or(|(l, f, ..)| length < l - 1e-12 || (length < l + 1e-12 && facing > f));
        if !better {
            continue;
        }
        let came_from_behind = !mesh.one_sided && (from - corners[0]).dot(face) < 0.0;
        let up = if came_from_behind { -face } else { face };
        let signed = if d.dot(up) < 0.0 { -length } else { length };
        let normal = if length > 1e-9 { d / signed } else { up };
        best = Some((length, facing, signed, normal));
    }
    best.filter(|b| b.0 <= reach).map(|(_, _, signed, n)| (signed, n))
}

/// Where a point that moves from `from` to `to` first comes within `radius` of a form, as (fraction of the path, normal);
/// `None` if it does not. A start within the radius that moves away is no touch.
pub(crate) fn first_touch(form: &Form, from: DVec3, to: DVec3, radius: f64) -> Option<(f64, DVec3)> {
    let path = to - from;
    let length = path.length();
    let mut s = 0.0;
    // distances are lower bounds of the way that is free
    for _ in 0..64 {
        let p = from + path * s;
        let reach = radius + length * (1.0 - s) + 1e-6;
        let (d, n) = distance(form, p, from, reach)?;
        let gap = d - radius;
        if gap <= 1e-7 {
            return (n.dot(path) < 0.0 || d < 0.0).then_some((s, n));
        }
        if length == 0.0 {
            return None;
        }
        s += gap / length;
        if s > 1.0 {
            return None;
        }
    }
    let p = from + path * s;
    distance(form, p, from, radius + length).map(|(_, n)| (s, n))
}
