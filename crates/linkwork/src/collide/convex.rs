//! Any two convex shapes: a separating axis, then the features that face each other along it.
//!
//! The axis comes from the distance of the cores (GJK, and EPA if they overlap) and is replaced by the normal of a face
//! that separates as well: near touching, a difference of nearest points is round-off, a face normal is not. A face that
//! was the axis before is kept without a search while the deepest point of the other core lies above it: then no small
//! turn of the axis separates more.
//! The features are polygons, edges or corners. They are seen along the axis, overlapped, and every corner of the
//! overlap gets its own gap. Frame of a throughout: b is turned by `r` and lies at `t`.

use super::boxes::{CLIP_TOLERANCE, SPREAD};
use super::core::{Core, Feature};
use super::manifold::Touch;
use super::parry::{Distances, Nearness};
use glam::{DMat3, DVec3};

/// How far shapes that just touch are moved apart for another search, by their size.
const APART: f64 = 1e-3;

/// Working memory.
#[derive(Clone, Default)]
pub(crate) struct Workspace {
    distances: Distances,
    on_a: Feature,
    on_b: Feature,
    clipped: Vec<DVec3>,
    spare: Vec<DVec3>,
    outside: Vec<f64>,
    pub triangles: Vec<u32>,
    pub part: Touch,
}

impl Workspace {
    pub fn feature(&mut self) -> &mut Feature {
        &mut self.on_a
    }
}

/// What the last contact of a pair tells the next.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum AxisHint {
    #[default]
    None,
    /// In the frame of a.
    FaceOfA(DVec3),
    /// In the frame of b.
    FaceOfB(DVec3),
    /// In the frame of a.
    Direction(DVec3),
}

/// A convex shape: its core, rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded<'a> {
    pub core: Core<'a>,
    pub radius: f64,
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    a: &'a Core<'a>,
    b: &'a Core<'a>,
    r: &'a DMat3,
    t: DVec3,
}

impl Pair<'_> {
    fn support_b(&self, d: DVec3) -> DVec3 {
        self.t + *self.r * self.b.support(self.r.transpose() * d)
    }

    fn separation(&self, n: DVec3) -> f64 {
        (self.support_b(-n) - self.a.support(n)).dot(n)
    }
}

struct Axis {
    normal: DVec3,
    /// Of the cores.
    separation: f64,
    hint: AxisHint,
    /// Nearest points on the cores, if they were searched for.
    witness: Option<(DVec3, DVec3)>,
}

/// Fills `touch` with all contact points within `reach` and [`SPREAD`] if the nearest is within `reach`; returns a lower bound of the distance (the depth if negative).
pub(crate) fn touch(
    a: &Rounded,
    b: &Rounded,
    r: &DMat3,
    t: DVec3,
    reach: f64,
    hint: &mut AxisHint,
    work: &mut Workspace,
    touch: &mut Touch,
) -> f64 {
    touch.clear();
    let pair = Pair { a: &a.core, b: &b.core, r, t };
    let radii = a.radius + b.radius;
    let axis = find_axis(&pair, reach + radii, *hint, work);
    *hint = axis.hint;
    let separation = axis.separation - radii;
    if separation > reach {
        return separation;
    }
    touch.normal = axis.normal;
    along(&pair, a.radius, b.radius, axis.normal, reach, work, touch);
    settle_depth(&pair, a.radius, b.radius, &axis, touch);
    if touch.points.is_empty() {
        // the features pass each other along a face normal: the nearest points then
        let (on_a, on_b) = match axis.witness {
            Some((on_a, on_b)) => (on_a, on_b),
            None => match work.distances.between(&a.core, &b.core, r, t, reach + radii, axis.normal) {
                Nearness::Points { on_a, on_b, .. } => (on_a, on_b),
                _ => return separation,
            },
        };
        let d = on_b - on_a;
        let n = d.normalize_or_zero();
        // overlapping cores: along the axis
        let n = if axis.separation > 0.0 && n != DVec3::ZERO { n } else { axis.normal };
        let gap = d.dot(n) - radii;
        if gap <= reach {
            touch.normal = n;
            touch.push(0.5 * (on_a + n * a.radius + on_b - n * b.radius), gap);
        }
    }
    separation
}

/// Polygons stand for round rims, clipping has a tolerance, and in deep overlap a face may miss the deepest corner: no gap is less than the separation of the cores, and one equals it.
fn settle_depth(pair: &Pair, ra: f64, rb: f64, axis: &Axis, touch: &mut Touch) {
    let least = axis.separation - ra - rb;
    let mut smallest = f64::INFINITY;
    for (_, gap) in &mut touch.points {
        *gap = gap.max(least);
        smallest = smallest.min(*gap);
    }
    if smallest <= least + 1e-9 || touch.points.is_empty() {
        return;
    }
    let n = axis.normal;
    let inside = |core: &Core, p: DVec3| core.distance_to(p).is_some_and(|d| d.0 <= CLIP_TOLERANCE);
    let (deepest_a, deepest_b) = (pair.a.support(n), pair.support_b(-n));
    let facing_b = deepest_b - n * axis.separation;
    let facing_a = deepest_a + n * axis.separation;
    let (on_a, on_b) = if inside(pair.a, facing_b) {
        (facing_b, deepest_b)
    } else if inside(pair.b, pair.r.transpose() * (facing_a - pair.t)) {
        (deepest_a, facing_a)
    } else if let Some(witness) = axis.witness {
        witness
    } else {
        return;
    };
    touch.push(0.5 * (on_a + on_b + n * (ra - rb)), least);
}

/// Contact points along a given normal.
pub(crate) fn touch_along(
    a: &Rounded,
    b: &Rounded,
    r: &DMat3,
    t: DVec3,
    normal: DVec3,
    reach: f64,
    work: &mut Workspace,
    touch: &mut Touch,
) {
    touch.clear();
    touch.normal = normal;
    along(&Pair { a: &a.core, b: &b.core, r, t }, a.radius, b.radius, normal, reach, work, touch);
}

fn find_axis(pair: &Pair, farthest: f64, hint: AxisHint, work: &mut Workspace) -> Axis {
    if let Some(axis) = remembered(pair, farthest, hint, work) {
        return axis;
    }
    // a point against a core that knows its distance
    if let Core::Point = pair.b
        && let Some((separation, normal)) = pair.a.distance_to(pair.t)
    {
        let witness = Some((pair.t - normal * separation, pair.t));
        return Axis { normal, separation, hint: AxisHint::None, witness };
    }
    if let Core::Point = pair.a
        && let Some((separation, normal)) = pair.b.distance_to(-(pair.r.transpose() * pair.t))
    {
        let normal = -(*pair.r * normal);
        return Axis { normal, separation, hint: AxisHint::None, witness: Some((DVec3::ZERO, normal * separation)) };
    }
    if let (Core::Segment { half: la }, Core::Segment { half: lb }) = (pair.a, pair.b) {
        return segments_axis(*la, *lb, pair.r.z_axis, pair.t);
    }
    let guess = match hint {
        AxisHint::Direction(n) | AxisHint::FaceOfA(n) => n,
        AxisHint::FaceOfB(n) => *pair.r * n,
        AxisHint::None => pair.t.try_normalize().unwrap_or(DVec3::Z),
    };
    let (mut normal, mut witness) = match work.distances.between(pair.a, pair.b, pair.r, pair.t, farthest, guess) {
        Nearness::Beyond(n) => {
            let separation = pair.separation(n);
            return Axis { normal: n, separation, hint: AxisHint::Direction(n), witness: None };
        }
        Nearness::Points { on_a, on_b, normal } => (normal, Some((on_a, on_b))),
        Nearness::Unknown => (best_guess(pair), None),
    };
    let mut separation = pair.separation(normal);
    let scale = pair.a.extent().max(pair.b.extent());
    let tolerance = 1e-7 * scale + 1e-12;
    // where shapes just touch, the normal that the search finds may be any: along it they overlap by far more than its nearest points do
    if let Some((on_a, on_b)) = witness
        && separation < (on_b - on_a).dot(normal) - 10.0 * tolerance
    {
        let better = search_from_afar(pair, farthest, scale, work);
        let of_better = pair.separation(better);
        if of_better > separation {
            (normal, separation, witness) = (better, of_better, None);
        }
    }
    let mut kind = AxisHint::Direction(normal);
    // a face that separates as well has the better normal
    if let Some(face) = pair.a.face_normal(normal).filter(|f| f.dot(normal) > 0.9) {
        let of_face = pair.separation(face);
        if of_face >= separation - tolerance {
            (normal, separation, kind, witness) = (face, of_face.max(separation), AxisHint::FaceOfA(face), None);
        }
    }
    if kind == AxisHint::Direction(normal)
        && let Some(face) = pair.b.face_normal(-(pair.r.transpose() * normal))
    {
        let n = -(*pair.r * face);
        let of_face = pair.separation(n);
        if n.dot(normal) > 0.9 && of_face >= separation - tolerance {
            (normal, separation, kind, witness) = (n, of_face.max(separation), AxisHint::FaceOfB(face), None);
        }
    }
    Axis { normal, separation, hint: kind, witness }
}

/// The last axis, if it is known to be still the best or to separate by more than is asked for.
fn remembered(pair: &Pair, farthest: f64, hint: AxisHint, work: &mut Workspace) -> Option<Axis> {
    let normal = match hint {
        AxisHint::None => return None,
        AxisHint::Direction(n) | AxisHint::FaceOfA(n) => n,
        AxisHint::FaceOfB(n) => -(*pair.r * n),
    };
    let (deepest_a, deepest_b) = (pair.a.support(normal), pair.support_b(-normal));
    let separation = (deepest_b - deepest_a).dot(normal);
    let axis = Axis { normal, separation, hint, witness: None };
    if separation > farthest {
        return Some(axis);
    }
    let scale = pair.a.extent().max(pair.b.extent());
    if separation < -0.2 * scale {
        return None;
    }
    let above = match hint {
        AxisHint::FaceOfA(n) => {
            pair.a.feature(n, &mut work.on_a);
            is_above(&work.on_a, deepest_b)
        }
        AxisHint::FaceOfB(n) => {
            pair.b.feature(n, &mut work.on_b);
            is_above(&work.on_b, pair.r.transpose() * (deepest_a - pair.t))
        }
        _ => false,
    };
    above.then_some(axis)
}

fn is_above(face: &Feature, p: DVec3) -> bool {
    let count = face.points.len();
    count >= 3
        && (0..count).all(|i| {
            let (from, to) = (face.points[i], face.points[(i + 1) % count]);
            (p - from).dot((to - from).cross(face.normal)) <= 0.0
        })
}

/// The axis of cores that just touch: they are searched again a little apart, along the best of what can be guessed.
fn search_from_afar(pair: &Pair, farthest: f64, scale: f64, work: &mut Workspace) -> DVec3 {
    let guess = best_guess(pair);
    let apart = pair.t + guess * (APART * scale - pair.separation(guess).min(0.0));
    let farthest = farthest + 2.0 * (apart - pair.t).length();
    match work.distances.between(pair.a, pair.b, pair.r, apart, farthest, guess) {
        Nearness::Points { normal, .. } if pair.separation(normal) > pair.separation(guess) => normal,
        _ => guess,
    }
}

/// Overlapping cores for which the search failed: the best of all faces and of the line between the centres.
fn best_guess(pair: &Pair) -> DVec3 {
    let mut best = (f64::NEG_INFINITY, DVec3::Z);
    let mut consider = |n: DVec3| {
        let separation = pair.separation(n);
        if separation > best.0 {
            best = (separation, n);
        }
    };
    consider(pair.t.try_normalize().unwrap_or(DVec3::Z));
    for k in 0..3 {
        for s in [1.0, -1.0] {
            let d = DVec3::AXES[k] * s;
            if let Some(n) = pair.a.face_normal(d) {
                consider(n);
            }
            if let Some(n) = pair.b.face_normal(d) {
                consider(-(*pair.r * n));
            }
        }
    }
    // what is round lies across its axis
    for axis in [DVec3::Z, pair.r.z_axis] {
        pair.t.reject_from_normalized(axis).try_normalize().into_iter().for_each(&mut consider);
    }
    if let Some(across) = DVec3::Z.cross(pair.r.z_axis).try_normalize() {
        [across, -across].into_iter().for_each(&mut consider);
    }
    for hull in [pair.a, pair.b] {
        if let Core::Hull(h) = hull {
            for f in &h.faces {
                consider(if std::ptr::eq(hull, pair.a) { f.normal } else { -(*pair.r * f.normal) });
            }
        }
    }
    best.1
}

/// Two segments along z and along `v`.
fn segments_axis(la: f64, lb: f64, v: DVec3, t: DVec3) -> Axis {
    let (on_a, on_b) = nearest_on_segments((DVec3::Z * -la, DVec3::Z * la), (t - v * lb, t + v * lb));
    let d = on_b - on_a;
    let separation = d.length();
    let crossed = || DVec3::Z.cross(v).try_normalize().unwrap_or(DVec3::X);
    let normal = if separation > 1e-12 { d / separation } else { crossed() };
    Axis { normal, separation, hint: AxisHint::None, witness: Some((on_a, on_b)) }
}

/// Nearest points of two segments.
pub(crate) fn nearest_on_segments(a: (DVec3, DVec3), b: (DVec3, DVec3)) -> (DVec3, DVec3) {
    let (u, v, w) = (a.1 - a.0, b.1 - b.0, a.0 - b.0);
    let (uu, uv, vv, uw, vw) = (u.length_squared(), u.dot(v), v.length_squared(), u.dot(w), v.dot(w));
    let across = uu * vv - uv * uv;
    let mut s = if across > 1e-14 * uu * vv { ((uv * vw - vv * uw) / across).clamp(0.0, 1.0) } else { 0.5 };
    let mut x = if vv > 0.0 { (uv * s + vw) / vv } else { 0.0 };
    if !(0.0..=1.0).contains(&x) {
        x = x.clamp(0.0, 1.0);
        s = if uu > 0.0 { ((uv * x - uw) / uu).clamp(0.0, 1.0) } else { 0.0 };
    }
    (a.0 + u * s, b.0 + v * x)
}

/// Overlaps the facing features, seen along the normal.
fn along(pair: &Pair, ra: f64, rb: f64, n: DVec3, reach: f64, work: &mut Workspace, touch: &mut Touch) {
    let Workspace { on_a, on_b, clipped, spare, outside, .. } = work;
    pair.a.feature(n, on_a);
    pair.b.feature(-(pair.r.transpose() * n), on_b);
    on_b.normal = *pair.r * on_b.normal;
    on_b.points.iter_mut().for_each(|p| *p = pair.t + *pair.r * *p);
    let radii = ra + rb;
    let mut found = |core_a: DVec3, core_b: DVec3| {
        let gap = (core_b - core_a).dot(n) - radii;
        if gap <= reach + SPREAD {
            touch.points.push((0.5 * (core_a + core_b + n * (ra - rb)), gap));
        }
    };
    match (on_a.points.len(), on_b.points.len()) {
        (1, 1) => {
            // two corners face each other only if they are on one line along the normal
            let (p, q) = (on_a.points[0], on_b.points[0]);
            let d = q - p;
            if (d - n * d.dot(n)).length() <= CLIP_TOLERANCE {
                found(p, q);
            }
        }
        (2, 2) => overlapped_edges([on_a.points[0], on_a.points[1]], [on_b.points[0], on_b.points[1]], n, found),
        (1, 2) => {
            let p = on_a.points[0];
            if let Some(q) = on_edge([on_b.points[0], on_b.points[1]], p, n) {
                found(p, q);
            }
        }
        (2, 1) => {
            let q = on_b.points[0];
            if let Some(p) = on_edge([on_a.points[0], on_a.points[1]], q, n) {
                found(p, q);
            }
        }
        (na, nb) => {
            // the polygon that lies better across the normal is the reference; a corner or an edge never is
            let reference_is_a = nb < 3 || (na >= 3 && on_a.normal.dot(n) >= -on_b.normal.dot(n) - 1e-3);
            let (reference, incident) = if reference_is_a { (&*on_a, &*on_b) } else { (&*on_b, &*on_a) };
            clip(reference, &incident.points, n, clipped, spare, outside);
            let (origin, normal) = (reference.points[0], reference.normal);
            let slope = normal.dot(n);
            for &p in clipped.iter() {
                let q = p - n * ((p - origin).dot(normal) / slope);
                if reference_is_a { found(q, p) } else { found(p, q) }
            }
        }
    }
}

/// Cuts a polygon, edge or corner by the walls that stand along n on the edges of a polygon.
fn clip(
    reference: &Feature,
    incident: &[DVec3],
    n: DVec3,
    clipped: &mut Vec<DVec3>,
    spare: &mut Vec<DVec3>,
    outside: &mut Vec<f64>,
) {
    clipped.clear();
    clipped.extend_from_slice(incident);
    let count = reference.points.len();
    let upright = if reference.normal.dot(n) < 0.0 { -n } else { n };
    for i in 0..count {
        let (from, to) = (reference.points[i], reference.points[(i + 1) % count]);
        let Some(wall) = (to - from).cross(upright).try_normalize() else { continue };
        outside.clear();
        outside.extend(clipped.iter().map(|p| (*p - from).dot(wall)));
        if outside.iter().all(|d| *d <= CLIP_TOLERANCE) {
            continue;
        }
        spare.clear();
        let corners = clipped.len();
        // an edge has no way back from its end to its start
        let closed = corners > 2;
        for k in 0..corners {
            let di = outside[k];
            if di <= CLIP_TOLERANCE {
                spare.push(clipped[k]);
            }
            if k + 1 == corners && !closed {
                break;
            }
            let next = (k + 1) % corners;
            let dj = outside[next];
            if (di < 0.0 && dj > CLIP_TOLERANCE) || (di > CLIP_TOLERANCE && dj < 0.0) {
                spare.push(clipped[k] + (clipped[next] - clipped[k]) * (di / (di - dj)));
            }
        }
        std::mem::swap(clipped, spare);
        if clipped.is_empty() {
            return;
        }
    }
}

/// The point of an edge that faces p along n, if there is one.
fn on_edge(edge: [DVec3; 2], p: DVec3, n: DVec3) -> Option<DVec3> {
    let flat = |v: DVec3| v - n * v.dot(n);
    let (e, d) = (flat(edge[1] - edge[0]), flat(p - edge[0]));
    let length = e.length();
    let s = if length > 1e-12 { d.dot(e) / (length * length) } else { 0.5 };
    let over = (s - s.clamp(0.0, 1.0)).abs() * length;
    let beside = (d - e * s).length();
    (over <= CLIP_TOLERANCE && beside <= CLIP_TOLERANCE).then(|| edge[0] + (edge[1] - edge[0]) * s)
}

/// Edges closer to parallel than this (sine) touch along a line.
pub(crate) const ALONGSIDE: f64 = 0.005;

/// Where two edges lie above each other along n: the crossing, or both ends of the overlap if they run alongside.
fn overlapped_edges(a: [DVec3; 2], b: [DVec3; 2], n: DVec3, mut found: impl FnMut(DVec3, DVec3)) {
    let flat = |v: DVec3| v - n * v.dot(n);
    let (u, v, w) = (flat(a[1] - a[0]), flat(b[1] - b[0]), flat(b[0] - a[0]));
    let (lu, lv) = (u.length(), v.length());
    if lu < 1e-12 || lv < 1e-12 {
        return;
    }
    let crossed = n.dot(u.cross(v));
    let point = |e: [DVec3; 2], s: f64| e[0] + (e[1] - e[0]) * s;
    if crossed.abs() < ALONGSIDE * lu * lv {
        // ends of b along a, then the overlap
        let along = |p: DVec3| p.dot(u) / (lu * lu);
        let (s0, s1) = (along(w), along(w + v));
        let (low, high) = (s0.min(s1).max(0.0), s0.max(s1).min(1.0));
        let beside = (w - u * s0).length().max((w + v - u * s1).length());
        if high < low || beside > ALONGSIDE * lv + CLIP_TOLERANCE {
            return;
        }
        for s in [low, high] {
            found(point(a, s), point(b, (s - s0) / (s1 - s0)));
        }
        return;
    }
    let s = n.dot(w.cross(v)) / crossed;
    let x = n.dot(w.cross(u)) / crossed;
    let inside = |s: f64, length: f64| (s - s.clamp(0.0, 1.0)).abs() * length <= CLIP_TOLERANCE;
    if inside(s, lu) && inside(x, lv) {
        found(point(a, s), point(b, x));
    }
}
