//! Where a ray meets a form, in closed form.
//!
//! What a line has in common with a convex solid is one span of it. Planes, cylinders and cones cut such spans out of the line, and the
//! ray hits where the span that is left begins. Squares of lengths far from the solid would lose the digits that matter, so the line is
//! measured from where it passes the middle.

use super::mesh::Mesh;
use super::shape::Form;
use glam::{DVec2, DVec3};

/// Distance along a ray and outward normal, in the frame of the form; a ray that starts inside a solid hits it at once, and its normal is
/// back along the ray.
pub(super) fn ray(form: &Form, from: DVec3, along: DVec3, farthest: f64) -> Option<(f64, DVec3)> {
    let nearest = -from.dot(along);
    let line = Line { p: from + along * nearest, d: along };
    let span = match form {
        Form::Plane => {
            return match from.z {
                z if z <= 0.0 => Some((0.0, DVec3::Z)),
                z => Some((-z / along.z, DVec3::Z)).filter(|h| along.z < 0.0 && h.0 <= farthest),
            };
        }
        Form::Mesh(mesh) if mesh.contains(from) => return Some((0.0, -along)),
        Form::Mesh(mesh) => return ray_mesh(mesh, from, along, farthest, |_| true),
        Form::Hull(hull) => {
            let faces = hull.faces.iter().map(|f| (f.normal, f.offset));
            faces.into_iter().try_fold(Span::WHOLE, |span, (n, offset)| line.below(n, offset, span))
        }
        Form::Sphere { radius } => line.in_ball(DVec3::ZERO, *radius),
        Form::Box { half } => [DVec3::X, DVec3::Y, DVec3::Z].into_iter().try_fold(Span::WHOLE, |span, axis| {
            let h = axis.dot(*half);
            line.below(axis, h, span).and_then(|span| line.below(-axis, h, span))
        }),
        Form::Capsule { half, radius } => line.in_capsule(*half, *radius),
        Form::Cylinder { half, radius } => line.in_cylinder(*half, *radius),
        Form::Cone { half, radius } => line.in_cone(*half, *radius),
    }?;
    let (enter, leave) = (nearest + span.enter.0, nearest + span.leave);
    match enter > 0.0 {
        true => (enter <= farthest).then_some((enter, span.enter.1)),
        false => (leave >= 0.0).then_some((0.0, -along)),
    }
}

/// The same of the surface of a mesh, of those triangles whose normals are `asked` for.
pub(super) fn ray_mesh(
    mesh: &Mesh,
    from: DVec3,
    along: DVec3,
    farthest: f64,
    asked: impl Fn(DVec3) -> bool,
) -> Option<(f64, DVec3)> {
    let mut triangles = Vec::new();
    mesh.along(from, along, farthest, &mut triangles);
    let mut best: Option<(f64, DVec3)> = None;
    for t in triangles {
        let n = mesh.normals[t as usize];
        if asked(n)
            && let Some(distance) = ray_triangle(&mesh.corners(t), from, along)
            && distance <= best.map_or(farthest, |b| b.0)
        {
            best = Some((distance, if n.dot(along) > 0.0 { -n } else { n }));
        }
    }
    best
}

fn ray_triangle([a, b, c]: &[DVec3; 3], from: DVec3, along: DVec3) -> Option<f64> {
    let (u, v) = (*b - *a, *c - *a);
    let p = along.cross(v);
    let determinant = u.dot(p);
    if determinant.abs() < 1e-300 {
        return None;
    }
    let w = from - *a;
    let x = w.dot(p) / determinant;
    let q = w.cross(u);
    let y = along.dot(q) / determinant;
    let distance = v.dot(q) / determinant;
    (x >= -1e-12 && y >= -1e-12 && x + y <= 1.0 + 1e-12 && distance >= 0.0).then_some(distance)
}

/// Part of a line: where it enters, with the normal there, and where it leaves.
#[derive(Clone, Copy)]
struct Span {
    enter: (f64, DVec3),
    leave: f64,
}

impl Span {
    const WHOLE: Span = Span { enter: (f64::NEG_INFINITY, DVec3::ZERO), leave: f64::INFINITY };

    /// What two spans have in common.
    fn and(self, other: Span) -> Option<Span> {
        let enter = if other.enter.0 > self.enter.0 { other.enter } else { self.enter };
        let span = Span { enter, leave: self.leave.min(other.leave) };
        (span.enter.0 <= span.leave).then_some(span)
    }
}

/// p + t d, d of unit length.
#[derive(Clone, Copy)]
struct Line {
    p: DVec3,
    d: DVec3,
}

impl Line {
    fn at(&self, t: f64) -> DVec3 {
        self.p + self.d * t
    }

    /// The part of a span behind a plane.
    fn below(&self, normal: DVec3, offset: f64, span: Span) -> Option<Span> {
        let (speed, outside) = (normal.dot(self.d), normal.dot(self.p) - offset);
        if speed.abs() < 1e-300 {
            return (outside <= 0.0).then_some(span);
        }
        let t = -outside / speed;
        span.and(match speed < 0.0 {
            true => Span { enter: (t, normal), ..Span::WHOLE },
            false => Span { leave: t, ..Span::WHOLE },
        })
    }

    fn in_ball(&self, center: DVec3, radius: f64) -> Option<Span> {
        let p = self.p - center;
        let b = p.dot(self.d);
        let beside = (p - self.d * b).length();
        if beside > radius {
            return None;
        }
        let root = ((radius - beside) * (radius + beside)).sqrt();
        let enter = -b - root;
        Some(Span { enter: (enter, (p + self.d * enter) / radius), leave: -b + root })
    }

    /// Within a radius of the z axis.
    fn in_tube(&self, radius: f64) -> Option<Span> {
        let (p, d) = (self.p.truncate(), self.d.truncate());
        let speed = d.length();
        if speed < 1e-300 {
            return (p.length() <= radius).then_some(Span::WHOLE);
        }
        let d = d / speed;
        let (b, beside) = (p.dot(d), p.perp_dot(d).abs());
        if beside > radius {
            return None;
        }
        let root = ((radius - beside) * (radius + beside)).sqrt();
        let normal = (p + d * (-b - root)) / radius;
        Some(Span { enter: ((-b - root) / speed, normal.extend(0.0)), leave: (-b + root) / speed })
    }

    fn in_cylinder(&self, half: f64, radius: f64) -> Option<Span> {
        let between = self.below(DVec3::Z, half, Span::WHOLE).and_then(|span| self.below(-DVec3::Z, half, span))?;
        between.and(self.in_tube(radius)?)
    }

    fn in_capsule(&self, half: f64, radius: f64) -> Option<Span> {
        let ends = [half, -half].map(|z| self.in_ball(DVec3::Z * z, radius));
        // convex: from where the first of its parts is entered to where the last is left
        [self.in_cylinder(half, radius), ends[0], ends[1]].into_iter().flatten().reduce(|a, b| Span {
            // the flat end of the cylinder lies within the ball
            enter: if b.enter.0 <= a.enter.0 { b.enter } else { a.enter },
            leave: a.leave.max(b.leave),
        })
    }

    /// With w = half − z and k the radius over the height, the cone is x² + y² ≤ k² w², w ≥ 0, above its base. On the line
    /// x² + y² − k² w² = A t² + 2 B t + C. By Lagrange's identity B² − A C is a sum over the components of (x, y, w) × its rate,
    /// which loses fewer digits.
    fn in_cone(&self, half: f64, radius: f64) -> Option<Span> {
        let k = radius / (2.0 * half);
        let (u, v) = (self.p.truncate().extend(half - self.p.z), self.d.truncate().extend(-self.d.z));
        let form = |a: DVec3, b: DVec3| a.x * b.x + a.y * b.y - k * k * a.z * b.z;
        let (a, b, c) = (form(v, v), form(u, v), form(u, u));
        let turn = u.cross(v);
        let (grows, shrinks) = (k * turn.truncate().length(), turn.z.abs());
        if a >= 0.0 && shrinks > grows {
            return None;
        }
        let root = ((grows - shrinks).max(0.0) * (grows + shrinks)).sqrt();
        let q = -(b + root.copysign(b));
        let (t1, t2) = match (q == 0.0, a == 0.0) {
            // along the side, or through the tip
            (true, true) => return None,
            (true, false) => (0.0, 0.0),
            (false, true) => (c / q, c / q),
            (false, false) => (f64::min(c / q, q / a), f64::max(c / q, q / a)),
        };
        let side = |t: f64| {
            let out = self.at(t).truncate().try_normalize().unwrap_or(DVec2::ZERO);
            (t, (out * (2.0 * half)).extend(radius).normalize())
        };
        let inside = match a {
            // across: in and out through the same of the two cones that meet in the tip
            _ if a > 0.0 && u.z + v.z * (0.5 * (t1 + t2)) >= 0.0 => Span { enter: side(t1), leave: t2 },
            _ if a > 0.0 => return None,
            // so steep that it stays in the one it goes to, down into this or up out of it
            _ if v.z > 0.0 && (a < 0.0 || b < 0.0) => Span { enter: side(t2), ..Span::WHOLE },
            _ if v.z < 0.0 && (a < 0.0 || b > 0.0) => Span { leave: t1, ..Span::WHOLE },
            _ => return None,
        };
        self.below(-DVec3::Z, half, inside)
    }
}
