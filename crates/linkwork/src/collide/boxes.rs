//! Two boxes: separating axes with memory, then the incident face clipped to the reference face.
//!
//! Frame of a throughout: b is turned by `r` and lies at `t`. Axes 0–2 are the faces of a, 3–5 those of b, 6 + 3 i + j
//! the crossed edges. The separation along an axis changes by at most the path travelled, so the best axis stays best
//! while the path is below a fraction of its lead.

use super::manifold::Touch;
use glam::{DMat3, DVec3};

/// Which axis was best, and for how much path that is certain.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AxisMemory {
    pub axis: u8,
    /// Path travelled by both shapes up to which the axis need not be searched for again; −∞ if there is none.
    pub until: f64,
}

/// Vertices this far outside a face still count: flush faces otherwise flicker between 4 and 8 points.
pub(crate) const CLIP_TOLERANCE: f64 = 1e-4;

/// Edges closer to parallel than this (sine) give no axis: a face axis is as good.
const PARALLEL: f64 = 1e-3;

/// Cosine of the angle between a face axis and an edge axis up to which faces touch.
const NEARLY_PARALLEL: f64 = 0.99;

/// In parts of the smallest half edge: overlaps and gaps up to which they do, and how much deeper they may be than the edges.
const SHALLOW: f64 = 0.1;
const FACE_FIRST: f64 = 5e-3;

/// What became of two boxes.
pub(crate) struct BoxTouch {
    /// Largest separation over the axes tried: a lower bound of the distance if positive.
    pub separation: f64,
    /// The nearest features are not those of the axis.
    pub needs_search: bool,
}

/// Corners of a face that is within reach count up to this much farther, m: while one corner is pushed out or lands, the body
/// turns about it, and the others come down within the same step.
pub(crate) const SPREAD: f64 = 0.02;

/// Fills `touch` with the contact of two boxes within `reach`.
pub(crate) fn touch(
    a: DVec3,
    b: DVec3,
    r: &DMat3,
    t: DVec3,
    reach: f64,
    path: f64,
    memory: &mut AxisMemory,
    touch: &mut Touch,
) -> BoxTouch {
    touch.clear();
    let columns = [r.x_axis, r.y_axis, r.z_axis];
    let abs = [r.x_axis.abs(), r.y_axis.abs(), r.z_axis.abs()];
    let t_in_b = DVec3::new(r.x_axis.dot(t), r.y_axis.dot(t), r.z_axis.dot(t));
    let along = |axis: usize| axis_separation(axis, a, b, &columns, &abs, t, t_in_b);
    let best = if path < memory.until { along(memory.axis as usize) } else { None };
    let separation = match best {
        Some(separation) => separation,
        None => {
            let (separation, lead) = search(a, b, &columns, &abs, t, t_in_b, memory);
            memory.until = path + 0.25 * lead;
            separation
        }
    };
    if separation > reach {
        return BoxTouch { separation, needs_search: false };
    }
    let axis = memory.axis as usize;
    match axis {
        0..3 => {
            let s = if t[axis] < 0.0 { -1.0 } else { 1.0 };
            touch.normal = unit(axis) * s;
            clip(a, b, r, t, axis, s, reach, |p, gap| touch.points.push((p - unit(axis) * (0.5 * s * gap), gap)));
        }
        3..6 => {
            let k = axis - 3;
            // b is the reference; its face looks towards a
            let s = if t_in_b[k] < 0.0 { 1.0 } else { -1.0 };
            let n = columns[k] * -s;
            touch.normal = n;
            let back = r.transpose();
            clip(b, a, &back, -t_in_b, k, s, reach, |p, gap| {
                touch.points.push((*r * (p - unit(k) * (0.5 * s * gap)) + t, gap));
            });
        }
        _ => edges(axis - 6, a, b, &columns, t, separation, touch),
    }
    // where faces are taken for crossed edges, none is deeper than those are
    touch.points.iter_mut().for_each(|p| p.1 = p.1.max(separation));
    let smallest = touch.points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    touch.reduce();
    // the deepest corner is beside the face: something else is nearer
    let size = a.min_element().min(b.min_element());
    let missed = smallest > separation + CLIP_TOLERANCE.min(1e-3 * size);
    BoxTouch { separation, needs_search: missed }
}

#[inline]
fn unit(k: usize) -> DVec3 {
    DVec3::AXES[k]
}

#[inline]
fn axis_separation(
    axis: usize,
    a: DVec3,
    b: DVec3,
    columns: &[DVec3; 3],
    abs: &[DVec3; 3],
    t: DVec3,
    t_in_b: DVec3,
) -> Option<f64> {
    match axis {
        0..3 => Some(t[axis].abs() - a[axis] - (abs[0][axis] * b.x + abs[1][axis] * b.y + abs[2][axis] * b.z)),
        3..6 => Some(t_in_b[axis - 3].abs() - b[axis - 3] - abs[axis - 3].dot(a)),
        _ => {
            let (i, j) = ((axis - 6) / 3, (axis - 6) % 3);
            let (u, v) = ((i + 1) % 3, (i + 2) % 3);
            let (m, n) = ((j + 1) % 3, (j + 2) % 3);
            // a_i × b_j has components −b_j[v] and b_j[u] along a_u and a_v
            let (bu, bv) = (columns[j][u], columns[j][v]);
            let length = (bu * bu + bv * bv).sqrt();
            if length < PARALLEL {
                return None;
            }
            let distance = (t[v] * bu - t[u] * bv).abs();
            let ra = a[u] * abs[j][v] + a[v] * abs[j][u];
            let rb = b[m] * abs[n][i] + b[n] * abs[m][i];
            Some((distance - ra - rb) / length)
        }
    }
}

/// The best axis into the memory; its separation and its lead over the second.
fn search(
    a: DVec3,
    b: DVec3,
    columns: &[DVec3; 3],
    abs: &[DVec3; 3],
    t: DVec3,
    t_in_b: DVec3,
    memory: &mut AxisMemory,
) -> (f64, f64) {
    let smallest = a.min_element().min(b.min_element());
    // an edge axis must be better than a face axis by this much: face contacts have area
    let bias = 1e-5_f64.min(1e-3 * smallest);
    let (mut best, mut second, mut face) = (f64::NEG_INFINITY, f64::NEG_INFINITY, (f64::NEG_INFINITY, 0));
    for axis in 0..15 {
        if axis == 6 {
            face = (best, memory.axis);
        }
        let Some(separation) = axis_separation(axis, a, b, columns, abs, t, t_in_b) else { continue };
        let value = if axis >= 6 { separation - bias } else { separation };
        if value > best {
            second = best;
            best = value;
            memory.axis = axis as u8;
        } else if value > second {
            second = value;
        }
    }
    if memory.axis < 6 {
        return (best, best - second);
    }
    let edge = best + bias;
    // two faces that are nearly parallel touch with their faces, even where crossed edges separate a little more: one point
    // cannot hold what lies on another, which would rock from corner to corner
    let shallow = edge.abs() < SHALLOW * smallest;
    if shallow && face.0 > edge - FACE_FIRST * smallest && aligned(memory.axis as usize - 6, face.1 as usize, columns) {
        memory.axis = face.1;
        return (edge, 0.0);
    }
    (edge, best - second)
}

/// Whether the axis of crossed edges is nearly that of a face.
fn aligned(edges: usize, face: usize, columns: &[DVec3; 3]) -> bool {
    let n = if face < 3 { unit(face) } else { columns[face - 3] };
    let axis = unit(edges / 3).cross(columns[edges % 3]);
    axis.dot(n).abs() > NEARLY_PARALLEL * axis.length()
}

/// Clips the face of the incident box that looks against the reference face (axis k, side s) and reports what lies
/// within reach, in the reference frame: (point on the incident face, gap).
fn clip(
    reference: DVec3,
    incident: DVec3,
    r: &DMat3,
    t: DVec3,
    k: usize,
    s: f64,
    reach: f64,
    mut found: impl FnMut(DVec3, f64),
) {
    let columns = [r.x_axis, r.y_axis, r.z_axis];
    // the incident face is the one most opposed to the reference normal
    let facing = [columns[0][k] * s, columns[1][k] * s, columns[2][k] * s];
    let m = (0..3).fold(0, |best, j| if facing[j].abs() > facing[best].abs() { j } else { best });
    let side = if facing[m] > 0.0 { -1.0 } else { 1.0 };
    let center = t + columns[m] * (side * incident[m]);
    let (p, q) = (columns[(m + 1) % 3] * incident[(m + 1) % 3], columns[(m + 2) % 3] * incident[(m + 2) % 3]);
    let mut polygon = [DVec3::ZERO; 12];
    polygon[..4].copy_from_slice(&[center + p + q, center - p + q, center - p - q, center + p - q]);
    let mut count = 4;
    for w in [(k + 1) % 3, (k + 2) % 3] {
        for direction in [1.0, -1.0] {
            count = cut(&mut polygon, count, |x| direction * x[w] - reference[w]);
        }
    }
    for x in &polygon[..count] {
        let gap = s * x[k] - reference[k];
        if gap <= reach + SPREAD {
            found(*x, gap);
        }
    }
}

/// Cuts a polygon by a half space (`outside` < 0 is kept); returns the new number of corners.
fn cut(polygon: &mut [DVec3; 12], count: usize, outside: impl Fn(DVec3) -> f64) -> usize {
    let mut distances = [0.0; 12];
    let mut all_inside = true;
    for i in 0..count {
        distances[i] = outside(polygon[i]);
        all_inside &= distances[i] <= CLIP_TOLERANCE;
    }
    if all_inside {
        return count;
    }
    let old = *polygon;
    let mut kept = 0;
    for i in 0..count {
        let j = if i + 1 == count { 0 } else { i + 1 };
        let (di, dj) = (distances[i], distances[j]);
        if di <= CLIP_TOLERANCE {
            polygon[kept] = old[i];
            kept += 1;
        }
        // a corner kept by tolerance stands for the crossing next to it
        let crosses = (di < 0.0 && dj > CLIP_TOLERANCE) || (di > CLIP_TOLERANCE && dj < 0.0);
        if crosses && kept < 12 {
            polygon[kept] = old[i] + (old[j] - old[i]) * (di / (di - dj));
            kept += 1;
        }
    }
    kept
}

/// The point between two crossing edges; none if the lines come nearest beyond the ends of an edge.
fn edges(pair: usize, a: DVec3, b: DVec3, columns: &[DVec3; 3], t: DVec3, gap: f64, touch: &mut Touch) {
    let (i, j) = (pair / 3, pair % 3);
    let mut n = unit(i).cross(columns[j]).normalize_or_zero();
    if n.dot(t) < 0.0 {
        n = -n;
    }
    touch.normal = n;
    let sign = |x: f64| if x < 0.0 { -1.0 } else { 1.0 };
    // middle of the edge of a farthest along n, and of b farthest along −n
    let mut on_a = DVec3::ZERO;
    let mut on_b = t;
    for k in 0..3 {
        if k != i {
            on_a[k] = a[k] * sign(n[k]);
        }
        if k != j {
            on_b -= columns[k] * (b[k] * sign(columns[k].dot(n)));
        }
    }
    // nearest points of the two lines
    let (u, v) = (unit(i), columns[j]);
    let d = on_b - on_a;
    let (uv, du, dv) = (u.dot(v), d.dot(u), d.dot(v));
    let across = 1.0 - uv * uv;
    let (s, w) = ((du - uv * dv) / across, (uv * du - dv) / across);
    if s.abs() > a[i] + CLIP_TOLERANCE || w.abs() > b[j] + CLIP_TOLERANCE {
        return;
    }
    touch.push(0.5 * (on_a + u * s + on_b + v * w), gap);
}
