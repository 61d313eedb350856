//! Bodies whose inside goes through the surface of another within a step.
//!
//! A coin that is stopped at its rim turns so fast that its middle is behind the ground when the step ends. There the ground is not seen
//! any more, if it is the front of a terrain, or pushes it out on the other side, if it is thin. So the largest ball about the middle of a
//! shape is followed from where it was to where it will be: it must not pass.

use super::ray::{ray, ray_mesh};
use super::shape::{Collider, Form};
use super::{Collisions, Manifold};
use crate::math::Placed;
use glam::DVec3;

/// Part of the ball's radius up to which its middle may move without being followed.
const SHORT: f64 = 0.5;

/// Where the inside of a body passes into another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// Of the surface, where the step begins, from a to b.
    pub normal: DVec3,
    /// The point of the ball that is nearest to it, where the step begins: in the world and in the principal frame of b.
    pub position: DVec3,
    pub local_b: DVec3,
    /// How far the ball is behind the surface where the step ends (negative), m.
    pub gap: f64,
}

impl Form {
    /// A ball inside, about the middle; none in what has no inside.
    fn inner_ball(&self) -> Option<(DVec3, f64)> {
        match self {
            Form::Sphere { radius } | Form::Capsule { radius, .. } => Some((DVec3::ZERO, *radius)),
            Form::Box { half } => Some((DVec3::ZERO, half.min_element())),
            Form::Cylinder { half, radius } => Some((DVec3::ZERO, half.min(*radius))),
            Form::Cone { half, radius } => {
                // touches base and side
                let ball = 2.0 * half * radius / (radius + radius.hypot(2.0 * half));
                Some((DVec3::Z * (ball - half), ball))
            }
            Form::Hull(hull) => {
                let middle = hull.points.iter().sum::<DVec3>() / hull.points.len().max(1) as f64;
                let inside = |f: &super::hull::Face| f.offset - f.normal.dot(middle);
                Some((middle, hull.faces.iter().map(inside).fold(f64::INFINITY, f64::min)))
            }
            Form::Mesh(_) | Form::Plane => None,
        }
    }
}

impl Collisions {
    /// Where the inside of one body of a pair passes into the other, if it does; of both, a first, where they are when the step begins and
    /// when it ends. What was inside before is left to contact points.
    pub fn crossing(&self, manifold: &Manifold, before: [&Placed; 2], after: [&Placed; 2]) -> Option<Crossing> {
        let colliders = [manifold.collider_a, manifold.collider_b].map(|k| &self.entries[k as usize].collider);
        [(1, 0), (0, 1)].into_iter().find_map(|(mover, other)| {
            let (inside, around) = (colliders[mover], colliders[other]);
            // beneath a plane everything is seen
            let (middle, radius) = inside.form.inner_ball().filter(|_| !matches!(around.form, Form::Plane))?;
            let local = inside.position + inside.turn * middle;
            let at = |placed: &Placed| placed.x + placed.r * local;
            let (from, to) = (
                seen_from(around, before[other], at(before[mover])),
                seen_from(around, after[other], at(after[mover])),
            );
            let length = from.distance(to);
            if length.is_nan() || length <= SHORT * radius {
                return None;
            }
            let along = (to - from) / length;
            let hit = match &around.form {
                // out of a terrain is no crossing
                Form::Mesh(mesh) if mesh.one_sided => ray_mesh(mesh, from, along, length, |n| n.dot(along) < 0.0),
                form => ray(form, from, along, length),
            };
            let (distance, normal) = hit.filter(|hit| hit.0 > 0.0)?;
            let hit = from.lerp(to, distance / length);
            let towards_mover = before[other].r * (around.turn * normal);
            let position = at(before[mover]) - towards_mover * radius;
            Some(Crossing {
                normal: if mover == 1 { towards_mover } else { -towards_mover },
                local_b: before[1].r.transpose() * (position - before[1].x),
                position,
                gap: (to - hit).dot(normal) - radius,
            })
        })
    }
}

/// A point of the world in the frame of a collider.
fn seen_from(collider: &Collider, body: &Placed, point: DVec3) -> DVec3 {
    collider.turn.transpose() * (body.r.transpose() * (point - body.x) - collider.position)
}
