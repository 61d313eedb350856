//! Convex cores: what remains of a convex shape when its rounding (the radius of a ball or capsule) is taken off.
//!
//! Every core answers three questions in its own frame: which point is farthest along a direction, which feature
//! (corner, edge, face) faces a direction, and where it is nearest to a point.

use super::hull::Hull;
use glam::DVec3;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Core<'a> {
    Point,
    /// Along z.
    Segment {
        half: f64,
    },
    Box {
        half: DVec3,
    },
    /// Along z.
    Cylinder {
        half: f64,
        radius: f64,
    },
    /// Along z, tip up.
    Cone {
        half: f64,
        radius: f64,
    },
    Hull(&'a Hull),
    Triangle {
        corners: [DVec3; 3],
        normal: DVec3,
    },
}

/// A flat piece of a core's surface: one point, two ends of an edge, or a polygon counter-clockwise about its normal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feature {
    pub points: Vec<DVec3>,
    /// Of a polygon.
    pub normal: DVec3,
}

impl Feature {
    fn set(&mut self, normal: DVec3, points: impl IntoIterator<Item = DVec3>) {
        self.normal = normal;
        self.points.clear();
        self.points.extend(points);
    }
}

/// A face or an edge takes part in a contact if it is turned by less than this (15°) from the contact plane: its
/// points carry their own gaps, so taking part too early is harmless and too late makes manifolds flicker.
pub(super) const TURNED: f64 = 0.965_925_826_289_068_3;
const TILTED: f64 = 0.258_819_045_102_520_74;

/// Rims are seen as octagons fixed to the body, with the lowest point added once they tilt.
const RIM: usize = 8;
const LEVEL: f64 = 1e-6;

fn sign(x: f64) -> f64 {
    if x < 0.0 { -1.0 } else { 1.0 }
}

impl Core<'_> {
    /// A point farthest along a direction.
    #[inline]
    pub fn support(&self, d: DVec3) -> DVec3 {
        match self {
            Core::Point => DVec3::ZERO,
            Core::Segment { half } => DVec3::new(0.0, 0.0, half * sign(d.z)),
            Core::Box { half } => DVec3::new(half.x * sign(d.x), half.y * sign(d.y), half.z * sign(d.z)),
            Core::Cylinder { half, radius } => rim(d, *radius, half * sign(d.z)),
            Core::Cone { half, radius } => {
                let tip = DVec3::new(0.0, 0.0, *half);
                let base = rim(d, *radius, -half);
                if d.dot(tip) >= d.dot(base) { tip } else { base }
            }
            Core::Hull(hull) => hull.points[hull.farthest(d)],
            Core::Triangle { corners, .. } => {
                let along = corners.map(|c| c.dot(d));
                let best = if along[0] >= along[1] && along[0] >= along[2] {
                    0
                } else if along[1] >= along[2] {
                    1
                } else {
                    2
                };
                corners[best]
            }
        }
    }

    /// The feature that faces a unit direction.
    pub fn feature(&self, d: DVec3, out: &mut Feature) {
        match self {
            Core::Point => out.set(d, [DVec3::ZERO]),
            Core::Segment { half } => {
                let ends = [DVec3::new(0.0, 0.0, -half), DVec3::new(0.0, 0.0, *half)];
                match d.z.abs() > TURNED {
                    true => out.set(d, [self.support(d)]),
                    false => out.set(d, ends),
                }
            }
            Core::Box { half } => box_feature(*half, d, out),
            Core::Cylinder { half, radius } => {
                if d.z.abs() > TURNED {
                    disc(sign(d.z) * half, *radius, d, out);
                } else if d.z.abs() < TILTED {
                    out.set(d, [rim(d, *radius, -half), rim(d, *radius, *half)]);
                } else {
                    out.set(d, [self.support(d)]);
                }
            }
            Core::Cone { half, radius } => {
                let side = DVec3::new(2.0 * half, 0.0, *radius).normalize();
                let along_side = side.x * d.truncate().length() + side.z * d.z;
                if -d.z > TURNED {
                    disc(-half, *radius, d, out);
                } else if along_side > TURNED {
                    out.set(d, [rim(d, *radius, -half), DVec3::new(0.0, 0.0, *half)]);
                } else {
                    out.set(d, [self.support(d)]);
                }
            }
            Core::Hull(hull) => {
                let face = hull.facing(d);
                if hull.faces[face].normal.dot(d) > TURNED {
                    let corners = hull.corners(face).iter().map(|&i| hull.points[i as usize]);
                    return out.set(hull.faces[face].normal, corners);
                }
                let corner = hull.farthest(d);
                let tilt = |e: &[u32; 2]| {
                    let along = hull.points[e[1] as usize] - hull.points[e[0] as usize];
                    along.dot(d).abs() / along.length()
                };
                let flattest = hull.edges_at(corner).map(|e| (tilt(&e), e)).min_by(|a, b| a.0.total_cmp(&b.0));
                match flattest {
                    Some((tilt, e)) if tilt < TILTED => out.set(d, e.map(|i| hull.points[i as usize])),
                    _ => out.set(d, [hull.points[corner]]),
                }
            }
            Core::Triangle { corners: [a, b, c], normal } => {
                if normal.dot(d) > TURNED {
                    return out.set(*normal, [*a, *b, *c]);
                }
                if normal.dot(d) < -TURNED {
                    return out.set(-*normal, [*a, *c, *b]);
                }
                let far = self.support(d);
                let edges = [[*a, *b], [*b, *c], [*c, *a]];
                let tilt = |e: &[DVec3; 2]| (e[1] - e[0]).dot(d).abs() / (e[1] - e[0]).length();
                let at_far = edges.into_iter().filter(|e| e.contains(&far));
                let flattest = at_far.map(|e| (tilt(&e), e)).min_by(|a, b| a.0.total_cmp(&b.0));
                match flattest {
                    Some((tilt, e)) if tilt < TILTED => out.set(d, e),
                    _ => out.set(d, [far]),
                }
            }
        }
    }

    /// The face normal nearest to a direction, for cores with faces.
    pub fn face_normal(&self, d: DVec3) -> Option<DVec3> {
        match self {
            Core::Point | Core::Segment { .. } => None,
            Core::Box { .. } => {
                let a = d.abs();
                Some(if a.x >= a.y && a.x >= a.z {
                    DVec3::X * sign(d.x)
                } else if a.y >= a.z {
                    DVec3::Y * sign(d.y)
                } else {
                    DVec3::Z * sign(d.z)
                })
            }
            Core::Cylinder { .. } => Some(DVec3::Z * sign(d.z)),
            Core::Cone { .. } => (d.z < 0.0).then_some(-DVec3::Z),
            Core::Hull(hull) => Some(hull.faces[hull.facing(d)].normal),
            Core::Triangle { normal, .. } => Some(*normal * sign(normal.dot(d))),
        }
    }

    /// Signed distance of a point (negative inside) and the outward normal there; `None` where a search is needed.
    pub fn distance_to(&self, p: DVec3) -> Option<(f64, DVec3)> {
        match self {
            Core::Point => Some((p.length(), p.try_normalize().unwrap_or(DVec3::Z))),
            Core::Segment { half } => {
                let d = p - DVec3::new(0.0, 0.0, p.z.clamp(-half, *half));
                Some((d.length(), d.try_normalize().unwrap_or(DVec3::X)))
            }
            Core::Box { half } => {
                let over = p.abs() - *half;
                let outside = over.max(DVec3::ZERO);
                let length = outside.length();
                if length > 0.0 {
                    let n = outside / length;
                    return Some((length, DVec3::new(n.x * sign(p.x), n.y * sign(p.y), n.z * sign(p.z))));
                }
                let normal = if over.x >= over.y && over.x >= over.z {
                    DVec3::X * sign(p.x)
                } else if over.y >= over.z {
                    DVec3::Y * sign(p.y)
                } else {
                    DVec3::Z * sign(p.z)
                };
                Some((over.max_element(), normal))
            }
            Core::Cylinder { half, radius } => {
                let (rho, out) = polar(p);
                let (side, cap) = (rho - radius, p.z.abs() - half);
                let up = DVec3::Z * sign(p.z);
                if side > 0.0 && cap > 0.0 {
                    let length = side.hypot(cap);
                    return Some((length, (out * side + up * cap) / length));
                }
                Some(if side > cap { (side, out) } else { (cap, up) })
            }
            Core::Cone { half, radius } => Some(cone_distance(*half, *radius, p)),
            Core::Hull(hull) => {
                let mut best = (f64::NEG_INFINITY, DVec3::Z);
                for f in &hull.faces {
                    let d = f.normal.dot(p) - f.offset;
                    if d > best.0 {
                        best = (d, f.normal);
                    }
                }
                (best.0 <= 0.0).then_some(best)
            }
            Core::Triangle { corners, normal } => {
                let d = p - closest_on_triangle(corners, p);
                let length = d.length();
                Some((length, if length > 1e-12 { d / length } else { *normal }))
            }
        }
    }

    /// Half the extent along a direction, roughly: the scale against which depths are small.
    pub fn extent(&self) -> f64 {
        match self {
            Core::Point => 0.0,
            Core::Segment { half } => *half,
            Core::Box { half } => half.min_element(),
            Core::Cylinder { half, radius } | Core::Cone { half, radius } => half.min(*radius),
            Core::Hull(hull) => hull.faces.iter().map(|f| f.offset.abs()).fold(f64::INFINITY, f64::min),
            Core::Triangle { .. } => 0.0,
        }
    }
}

fn rim(d: DVec3, radius: f64, z: f64) -> DVec3 {
    let across = d.x.hypot(d.y);
    match across > 1e-300 {
        true => DVec3::new(radius * d.x / across, radius * d.y / across, z),
        false => DVec3::new(radius, 0.0, z),
    }
}

/// Distance from the z axis and the direction away from it.
fn polar(p: DVec3) -> (f64, DVec3) {
    let rho = p.x.hypot(p.y);
    (rho, if rho > 1e-300 { DVec3::new(p.x / rho, p.y / rho, 0.0) } else { DVec3::X })
}

fn disc(z: f64, radius: f64, d: DVec3, out: &mut Feature) {
    out.normal = DVec3::Z * sign(z);
    out.points.clear();
    let lowest = d.truncate();
    // counter-clockwise about the outward normal
    let turn = sign(z);
    let angle_of_lowest = (lowest.y * turn).atan2(lowest.x).rem_euclid(std::f64::consts::TAU);
    let tilted = lowest.length() > LEVEL;
    let mut added = !tilted;
    for k in 0..RIM {
        let angle = k as f64 * (std::f64::consts::TAU / RIM as f64);
        if !added && angle_of_lowest <= angle {
            added = true;
            out.points.push(rim(d, radius, z));
        }
        let (s, c) = RIM_POINTS[k];
        out.points.push(DVec3::new(radius * c, radius * s * turn, z));
    }
    if !added {
        out.points.push(rim(d, radius, z));
    }
}

const DIAGONAL: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// (sine, cosine) of multiples of 45°.
const RIM_POINTS: [(f64, f64); RIM] = [
    (0.0, 1.0),
    (DIAGONAL, DIAGONAL),
    (1.0, 0.0),
    (DIAGONAL, -DIAGONAL),
    (0.0, -1.0),
    (-DIAGONAL, -DIAGONAL),
    (-1.0, 0.0),
    (-DIAGONAL, DIAGONAL),
];

fn box_feature(half: DVec3, d: DVec3, out: &mut Feature) {
    let a = d.abs();
    let s = DVec3::new(sign(d.x), sign(d.y), sign(d.z));
    let axis = (0..3).fold(0, |best, k| if a[k] > a[best] { k } else { best });
    let corner = s * half;
    if a[axis] > TURNED {
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut normal = DVec3::ZERO;
        normal[axis] = s[axis];
        let point = |su: f64, sv: f64| {
            let mut p = corner;
            (p[u], p[v]) = (su * half[u], sv * half[v] * s[axis]);
            p
        };
        return out.set(normal, [point(1.0, 1.0), point(-1.0, 1.0), point(-1.0, -1.0), point(1.0, -1.0)]);
    }
    let flattest = (0..3).fold(0, |best, k| if a[k] < a[best] { k } else { best });
    if a[flattest] < TILTED {
        let mut other = corner;
        other[flattest] = -other[flattest];
        return out.set(d, [corner, other]);
    }
    out.set(d, [corner]);
}

/// Signed distance to a cone: its profile is a triangle in the half plane of distance from the axis and height.
fn cone_distance(half: f64, radius: f64, p: DVec3) -> (f64, DVec3) {
    let (rho, out) = polar(p);
    let (l, r) = (2.0 * half, radius);
    let slant = l.hypot(r);
    let (nr, nz) = (l / slant, r / slant);
    // along the side from the rim to the tip, and away from it
    let (along, away) = ((rho - r) * -nz + (p.z + half) * nr, (rho - r) * nr + (p.z + half) * nz);
    let below = -half - p.z;
    let to = |dr: f64, dz: f64| {
        let length = dr.hypot(dz);
        (length, if length > 0.0 { (out * dr + DVec3::Z * dz) / length } else { DVec3::Z })
    };
    let side = (away, out * nr + DVec3::Z * nz);
    if away <= 0.0 && below <= 0.0 {
        return if away > below { side } else { (below, -DVec3::Z) };
    }
    if below > 0.0 && rho <= r {
        return (below, -DVec3::Z);
    }
    if away > 0.0 && (0.0..=slant).contains(&along) {
        return side;
    }
    if along > slant { to(rho, p.z - half) } else { to(rho - r, p.z + half) }
}

/// The point of a triangle nearest to p.
pub(crate) fn closest_on_triangle(corners: &[DVec3; 3], p: DVec3) -> DVec3 {
    let [a, b, c] = *corners;
    let n = (b - a).cross(c - a);
    let beyond = |from: DVec3, to: DVec3| (p - from).dot((to - from).cross(n)) > 0.0;
    let (ab, bc, ca) = (beyond(a, b), beyond(b, c), beyond(c, a));
    if !(ab || bc || ca) {
        return p - n * ((p - a).dot(n) / n.length_squared());
    }
    let mut best = (f64::INFINITY, a);
    for (from, to) in [(a, b), (b, c), (c, a)] {
        let e = to - from;
        let s = ((p - from).dot(e) / e.length_squared()).clamp(0.0, 1.0);
        let q = from + e * s;
        let d = p.distance_squared(q);
        if d < best.0 {
            best = (d, q);
        }
    }
    best.1
}
