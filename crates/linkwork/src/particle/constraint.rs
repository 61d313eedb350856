//! What particles must hold exactly, as functions C(x) = 0 with gradients.
//!
//! Each kind tells C, its gradients J on its particles, and the acceleration J̇ẋ that it has without any force.
//!
//! | kind | C | J̇ẋ |
//! | --- | --- | --- |
//! | distance | \|d\| − L | (\|ḋ\|² − (n·ḋ)²)/\|d\| |
//! | coincide, nail, line, plane | linear | 0 |
//! | circle | out of plane; distance from the centre in the plane − r | 0; as distance |
//! | sphere | \|x − c\| − r | as distance |
//! | spline | the two directions across the tangent at the nearest point | by differences |
//! | surface | f(x), given with its gradient | by differences |

use glam::DVec3;
use std::sync::Arc;

/// Names a constraint of a system; stays valid until it is removed, and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstraintId(pub(super) u64);

/// A function whose zeros are a surface, with its gradient; best if its slope is about one there, as a distance has.
pub type SurfaceFunction = Arc<dyn Fn(DVec3) -> (f64, DVec3) + Send + Sync>;

/// Something that particles must hold.
#[derive(Clone)]
pub enum Constraint {
    /// Two particles keep a distance, m: a rod.
    Distance {
        /// First particle.
        a: usize,
        /// Second particle.
        b: usize,
        /// m.
        length: f64,
    },
    /// Two particles stay in one place.
    Coincide {
        /// First particle.
        a: usize,
        /// Second particle.
        b: usize,
    },
    /// A particle stays where it is told, by a force that can be asked for.
    Nail {
        /// The particle.
        a: usize,
        /// m.
        at: DVec3,
    },
    /// A particle stays on a line.
    OnLine {
        /// The particle.
        a: usize,
        /// A point of the line, m.
        point: DVec3,
        /// Along the line, any length.
        direction: DVec3,
    },
    /// A particle stays in a plane.
    OnPlane {
        /// The particle.
        a: usize,
        /// A point of the plane, m.
        point: DVec3,
        /// Across the plane, any length.
        normal: DVec3,
    },
    /// A particle stays on a circle.
    OnCircle {
        /// The particle.
        a: usize,
        /// m.
        center: DVec3,
        /// Across the circle's plane, any length.
        normal: DVec3,
        /// m.
        radius: f64,
    },
    /// A particle stays on a sphere.
    OnSphere {
        /// The particle.
        a: usize,
        /// m.
        center: DVec3,
        /// m.
        radius: f64,
    },
    /// A particle stays on a spline.
    OnSpline {
        /// The particle.
        a: usize,
        /// The curve.
        spline: Arc<Spline>,
    },
    /// A particle stays on the zeros of a function.
    OnSurface {
        /// The particle.
        a: usize,
        /// The function.
        surface: SurfaceFunction,
    },
}

/// Rows of one constraint on one or two particles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rows {
    pub count: usize,
    pub c: [f64; 3],
    /// By particle, then by row.
    pub j: [[DVec3; 3]; 2],
    /// J̇ẋ.
    pub bias: [f64; 3],
}

impl Constraint {
    /// Its particles; the second is missing for most.
    pub(super) fn particles(&self) -> (usize, Option<usize>) {
        match *self {
            Constraint::Distance { a, b, .. } | Constraint::Coincide { a, b } => (a, Some(b)),
            Constraint::Nail { a, .. }
            | Constraint::OnLine { a, .. }
            | Constraint::OnPlane { a, .. }
            | Constraint::OnCircle { a, .. }
            | Constraint::OnSphere { a, .. }
            | Constraint::OnSpline { a, .. }
            | Constraint::OnSurface { a, .. } => (a, None),
        }
    }

    pub(super) fn row_count(&self) -> usize {
        match self {
            Constraint::Distance { .. }
            | Constraint::OnPlane { .. }
            | Constraint::OnSphere { .. }
            | Constraint::OnSurface { .. } => 1,
            Constraint::OnLine { .. } | Constraint::OnCircle { .. } | Constraint::OnSpline { .. } => 2,
            Constraint::Coincide { .. } | Constraint::Nail { .. } => 3,
        }
    }

    /// What is wrong with its numbers.
    pub(super) fn problem(&self) -> Option<String> {
        let bad = |what: &str, fine: bool| (!fine).then(|| what.to_string());
        let positive = |what: &str, x: f64| bad(&format!("{what} {x} m must be positive"), x.is_finite() && x > 1e-12);
        let place = |what: &str, p: DVec3| bad(&format!("{what} {p} is not finite"), p.is_finite());
        let points = |what: &str, d: DVec3| {
            bad(&format!("{what} {d} has no length"), d.is_finite() && d.length() > 1e-12 && d.length() < 1e150)
        };
        match self {
            Constraint::Distance { a, b, length } => {
                positive("length", *length).or_else(|| bad(&format!("particle {a} is held to itself"), a != b))
            }
            Constraint::Coincide { a, b } => bad(&format!("particle {a} is held to itself"), a != b),
            Constraint::Nail { at, .. } => place("at", *at),
            Constraint::OnLine { point, direction, .. } => {
                place("point", *point).or_else(|| points("direction", *direction))
            }
            Constraint::OnPlane { point, normal, .. } => place("point", *point).or_else(|| points("normal", *normal)),
            Constraint::OnCircle { center, normal, radius, .. } => {
                place("center", *center).or_else(|| points("normal", *normal)).or_else(|| positive("radius", *radius))
            }
            Constraint::OnSphere { center, radius, .. } => {
                place("center", *center).or_else(|| positive("radius", *radius))
            }
            Constraint::OnSpline { .. } | Constraint::OnSurface { .. } => None,
        }
    }

    pub(super) fn evaluate(&self, x: &[DVec3], v: &[DVec3]) -> Rows {
        let mut rows = Rows { count: self.row_count(), ..Rows::default() };
        match self {
            Constraint::Distance { a, b, length } => {
                let (c, n, bias) = distance(x[*a] - x[*b], v[*a] - v[*b], *length);
                rows.c[0] = c;
                (rows.j[0][0], rows.j[1][0]) = (n, -n);
                rows.bias[0] = bias;
            }
            Constraint::Coincide { a, b } => {
                rows.c = (x[*a] - x[*b]).to_array();
                rows.j = [DVec3::AXES, DVec3::AXES.map(|n| -n)];
            }
            Constraint::Nail { a, at } => {
                rows.c = (x[*a] - *at).to_array();
                rows.j[0] = DVec3::AXES;
            }
            Constraint::OnLine { a, point, direction } => {
                let (n, m) = direction.normalize().any_orthonormal_pair();
                rows.c = [n.dot(x[*a] - *point), m.dot(x[*a] - *point), 0.0];
                rows.j[0] = [n, m, DVec3::ZERO];
            }
            Constraint::OnPlane { a, point, normal } => {
                let n = normal.normalize();
                rows.c[0] = n.dot(x[*a] - *point);
                rows.j[0][0] = n;
            }
            Constraint::OnCircle { a, center, normal, radius } => {
                let (n, d) = (normal.normalize(), x[*a] - *center);
                let flat = |u: DVec3| u - n * n.dot(u);
                let (c, out, bias) = distance(flat(d), flat(v[*a]), *radius);
                rows.c = [n.dot(d), c, 0.0];
                rows.j[0] = [n, out, DVec3::ZERO];
                rows.bias[1] = bias;
            }
            Constraint::OnSphere { a, center, radius } => {
                let (c, n, bias) = distance(x[*a] - *center, v[*a], *radius);
                rows.c[0] = c;
                rows.j[0][0] = n;
                rows.bias[0] = bias;
            }
            Constraint::OnSpline { a, spline } => {
                let (point, tangent, curvature) = spline.nearest(x[*a]);
                let (n, m) = tangent.any_orthonormal_pair();
                let d = x[*a] - point;
                rows.c = [n.dot(d), m.dot(d), 0.0];
                rows.j[0] = [n, m, DVec3::ZERO];
                // on the curve the acceleration across the tangent is the curvature times speed squared
                let speed = v[*a].dot(tangent);
                let needed = curvature * (speed * speed);
                rows.bias = [-n.dot(needed), -m.dot(needed), 0.0];
            }
            Constraint::OnSurface { a, surface } => {
                let (c, gradient) = surface(x[*a]);
                rows.c[0] = c;
                rows.j[0][0] = gradient;
                let speed = v[*a].length();
                if speed > 0.0 {
                    // d/ds of the gradient along the path
                    let s = 1e-5 / speed;
                    let (ahead, behind) = (surface(x[*a] + v[*a] * s).1, surface(x[*a] - v[*a] * s).1);
                    rows.bias[0] = (ahead - behind).dot(v[*a]) / (2.0 * s);
                }
            }
        }
        rows
    }
}

/// C, gradient and bias of a distance.
fn distance(d: DVec3, rate: DVec3, length: f64) -> (f64, DVec3, f64) {
    let r = d.length();
    // from one place every direction leads away
    let n = if r > 1e-12 { d / r } else { DVec3::X };
    let along = n.dot(rate);
    (r - length, n, (rate.length_squared() - along * along) / r.max(1e-12))
}

/// A smooth curve through points: Catmull–Rom, closed or with free ends; beyond free ends it goes on straight.
#[derive(Clone, Debug, PartialEq)]
pub struct Spline {
    points: Vec<DVec3>,
    closed: bool,
}

impl Spline {
    /// Through at least two points (three for a closed curve), each apart from the next.
    pub fn new(points: Vec<DVec3>, closed: bool) -> Option<Spline> {
        let apart = points.windows(2).all(|p| p[0].distance(p[1]) > 1e-9);
        let fits = points.len() >= if closed { 3 } else { 2 };
        let ends = !closed || points.first()?.distance(*points.last()?) > 1e-9;
        (apart && fits && ends && points.iter().all(|p| p.is_finite())).then_some(Spline { points, closed })
    }

    fn segments(&self) -> usize {
        if self.closed { self.points.len() } else { self.points.len() - 1 }
    }

    fn control(&self, k: i64) -> DVec3 {
        let n = self.points.len() as i64;
        if self.closed {
            return self.points[k.rem_euclid(n) as usize];
        }
        match k {
            k if k < 0 => 2.0 * self.points[0] - self.points[1],
            k if k >= n => 2.0 * self.points[n as usize - 1] - self.points[n as usize - 2],
            k => self.points[k as usize],
        }
    }

    /// Position and its first two derivatives at a parameter, one unit per point.
    pub fn at(&self, s: f64) -> (DVec3, DVec3, DVec3) {
        let last = self.segments() as f64;
        if !self.closed && (s < 0.0 || s > last) {
            let end = if s < 0.0 { 0.0 } else { last };
            let (p, d, _) = self.at(end);
            return (p + d * (s - end), d, DVec3::ZERO);
        }
        let k = if self.closed { s.floor() } else { s.floor().min(last - 1.0) };
        let t = s - k;
        let k = k as i64;
        let [p0, p1, p2, p3] = [-1, 0, 1, 2].map(|o| self.control(k + o));
        let (a, b, c) = ((p2 - p0) * 0.5, p0 - p1 * 2.5 + p2 * 2.0 - p3 * 0.5, (p3 - p0) * 0.5 + (p1 - p2) * 1.5);
        (p1 + (a + (b + c * t) * t) * t, a + (b * 2.0 + c * (3.0 * t)) * t, b * 2.0 + c * (6.0 * t))
    }

    /// The nearest point, the unit tangent and the curvature vector there.
    pub fn nearest(&self, x: DVec3) -> (DVec3, DVec3, DVec3) {
        const SAMPLES: usize = 8;
        let count = self.segments() * SAMPLES;
        let best = (0..=count)
            .map(|k| k as f64 / SAMPLES as f64)
            .map(|s| (self.at(s).0.distance_squared(x), s))
            .fold((f64::INFINITY, 0.0), |best, new| if new.0 < best.0 { new } else { best });
        let mut s = best.1;
        for _ in 0..30 {
            let (p, d, dd) = self.at(s);
            let (slope, bend) = ((p - x).dot(d), d.length_squared() + (p - x).dot(dd));
            // downhill in any case: Newton where the distance is convex, Gauss–Newton elsewhere
            let step = -slope / if bend > 0.1 * d.length_squared() { bend } else { d.length_squared().max(1e-300) };
            s += step.clamp(-0.5, 0.5);
            if step.abs() < 1e-14 * (1.0 + s.abs()) {
                break;
            }
        }
        let (p, d, dd) = self.at(s);
        let tangent = d.normalize_or(DVec3::X);
        let across = dd - tangent * tangent.dot(dd);
        (p, tangent, across / d.length_squared().max(1e-300))
    }
}
