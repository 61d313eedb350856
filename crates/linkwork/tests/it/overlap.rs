//! How deep shapes overlap, from geometry alone: nothing of the engine's collision detection is used.

use linkwork::glam::{DMat3, DQuat, DVec3};
use linkwork::scene::{Geometry, Shape};
use linkwork::{BodyId, World};

/// A shape in the world.
struct Placed<'a> {
    geometry: &'a Geometry,
    x: DVec3,
    r: DMat3,
}

fn shapes_of(world: &World, id: BodyId) -> impl Iterator<Item = (Placed<'_>, &Shape)> {
    let pose = world.pose(id).unwrap();
    world.shapes(id).unwrap().iter().map(move |s| {
        let [w, x, y, z] = s.orientation;
        let q = pose.orientation * DQuat::from_xyzw(x, y, z, w);
        let position = pose.transform(DVec3::from(s.position));
        (Placed { geometry: &s.geometry, x: position, r: DMat3::from_quat(q) }, s)
    })
}

/// Deepest overlap of any two shapes of bodies that may collide, m, and whose it is. Bodies joined together are left out.
pub fn deepest(world: &World) -> (f64, String) {
    let ids: Vec<BodyId> = world.body_ids().collect();
    let joined: Vec<(Option<BodyId>, Option<BodyId>)> =
        world.joint_ids().filter_map(|j| world.joint_bodies(j)).collect();
    let mut worst = (0.0, String::new());
    for (k, &a) in ids.iter().enumerate() {
        for &b in &ids[k + 1..] {
            let pair = [(Some(a), Some(b)), (Some(b), Some(a))];
            if joined.iter().any(|j| pair.contains(j)) {
                continue;
            }
            let depth = between(world, a, b);
            if depth > worst.0 {
                worst = (depth, format!("{} and {}", world.body_name(a).unwrap(), world.body_name(b).unwrap()));
            }
        }
    }
    worst
}

/// Deepest overlap of two bodies, m; negative if they are apart.
pub fn between(world: &World, a: BodyId, b: BodyId) -> f64 {
    let mut depth = f64::NEG_INFINITY;
    for (p, s) in shapes_of(world, a) {
        for (q, t) in shapes_of(world, b) {
            if s.group & t.mask != 0 && t.group & s.mask != 0 {
                depth = depth.max(overlap(&p, &q));
            }
        }
    }
    depth
}

/// Overlap along the direction in which it is smallest.
fn overlap(a: &Placed, b: &Placed) -> f64 {
    use Geometry::{Box, Capsule, Plane, Sphere};
    match (a.geometry, b.geometry) {
        (Plane, Plane) => f64::NEG_INFINITY,
        (Plane, _) => below(a, b),
        (_, Plane) => below(b, a),
        (Box { size: p }, Box { size: q }) => {
            boxes((a.x, a.r, DVec3::from(*p) / 2.0), (b.x, b.r, DVec3::from(*q) / 2.0))
        }
        (Box { size }, Sphere { .. } | Capsule { .. }) => round_in_box(b, a, DVec3::from(*size) / 2.0),
        (Sphere { .. } | Capsule { .. }, Box { size }) => round_in_box(a, b, DVec3::from(*size) / 2.0),
        (Sphere { .. } | Capsule { .. }, Sphere { .. } | Capsule { .. }) => {
            let ((p, q, ra), (r, s, rb)) = (segment(a), segment(b));
            ra + rb - segments_apart(p, q, r, s)
        }
        other => panic!("teach the oracle about {other:?}"),
    }
}

/// Ends and radius of a sphere or a capsule.
fn segment(s: &Placed) -> (DVec3, DVec3, f64) {
    match *s.geometry {
        Geometry::Sphere { radius } => (s.x, s.x, radius),
        Geometry::Capsule { radius, length } => {
            let half = s.r * DVec3::Z * (length / 2.0);
            (s.x - half, s.x + half, radius)
        }
        ref other => panic!("{other:?} is not round"),
    }
}

/// How far a shape reaches below a plane.
fn below(plane: &Placed, s: &Placed) -> f64 {
    let n = plane.r * DVec3::Z;
    let down = s.r.transpose() * -n;
    let reach = match *s.geometry {
        Geometry::Sphere { radius } => radius,
        Geometry::Box { size } => (DVec3::from(size) / 2.0).dot(down.abs()),
        Geometry::Capsule { radius, length } => radius + 0.5 * length * down.z.abs(),
        Geometry::Cylinder { radius, length } => radius * down.truncate().length() + 0.5 * length * down.z.abs(),
        ref other => panic!("teach the oracle about {other:?}"),
    };
    reach - (s.x - plane.x).dot(n)
}

/// Separating axes: faces and crossed edges.
fn boxes((xa, ra, ha): (DVec3, DMat3, DVec3), (xb, rb, hb): (DVec3, DMat3, DVec3)) -> f64 {
    let d = xb - xa;
    let faces = [ra.x_axis, ra.y_axis, ra.z_axis, rb.x_axis, rb.y_axis, rb.z_axis];
    let edges = (0..9).map(|k| ra.col(k / 3).cross(rb.col(k % 3))).filter(|e| e.length() > 1e-3);
    let axes = faces.into_iter().chain(edges.map(|e| e.normalize()));
    let along = |r: &DMat3, h: DVec3, n: DVec3| h.dot((r.transpose() * n).abs());
    axes.map(|n| along(&ra, ha, n) + along(&rb, hb, n) - d.dot(n).abs()).fold(f64::INFINITY, f64::min)
}

/// Signed distance to a box is convex along a line: a ternary search finds its least value on a segment.
fn round_in_box(round: &Placed, cuboid: &Placed, half: DVec3) -> f64 {
    let (p, q, radius) = segment(round);
    let local = |x: DVec3| cuboid.r.transpose() * (x - cuboid.x);
    let (p, q) = (local(p), local(q));
    let distance = |s: f64| {
        let outside = p.lerp(q, s).abs() - half;
        outside.max(DVec3::ZERO).length() + outside.max_element().min(0.0)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let (s, t) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if distance(s) < distance(t) { high = t } else { low = s }
    }
    radius - distance(0.5 * (low + high)).min(distance(0.0)).min(distance(1.0))
}

/// Distance of two segments: of the best of ends against segments, and of the two lines where they pass each other.
fn segments_apart(p: DVec3, q: DVec3, r: DVec3, s: DVec3) -> f64 {
    let to_segment = |x: DVec3, a: DVec3, b: DVec3| {
        let along = (b - a).length_squared();
        let t = if along > 0.0 { ((x - a).dot(b - a) / along).clamp(0.0, 1.0) } else { 0.0 };
        x.distance(a.lerp(b, t))
    };
    let ends = [to_segment(p, r, s), to_segment(q, r, s), to_segment(r, p, q), to_segment(s, p, q)];
    let least = ends.into_iter().fold(f64::INFINITY, f64::min);
    let (u, v, w) = (q - p, s - r, r - p);
    let n = u.cross(v);
    let area = n.length_squared();
    if area < 1e-12 * u.length_squared() * v.length_squared() || area == 0.0 {
        return least;
    }
    let (t, o) = (w.cross(v).dot(n) / area, w.cross(u).dot(n) / area);
    if (0.0..=1.0).contains(&t) && (0.0..=1.0).contains(&o) { least.min(w.dot(n).abs() / area.sqrt()) } else { least }
}
