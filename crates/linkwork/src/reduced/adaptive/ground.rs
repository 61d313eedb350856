//! What a tree touches: planes, and the points of its links that can touch them.
//!
//! Against a plane a convex body is its corners: the centres of a sphere or of a capsule's ends with their radius, the corners of a
//! box or a hull. A piece that stands still knows a ball that holds all its corners, in its own frame, so that what is far from
//! every plane is passed over as a whole, and a link near one is found in time by the depth of the assembly.

use super::Adaptive;
use super::frozen::hinge_at;
use crate::collide::shape::{Collider, Form, Material, PairMaterial};
use crate::handle::BodyId;
use crate::math::Placed;
use crate::reduced::kinematics::forward_kinematics;
use glam::DVec3;

/// A ball that holds the corners of a piece: centre and radius.
pub(super) type Ball = Option<(DVec3, f64)>;

/// A point of a link with a radius, in the link's frame.
#[derive(Clone, Copy)]
pub(super) struct Corner {
    pub at: DVec3,
    pub radius: f64,
    surface: Surface,
}

/// How a shape touches, and what.
#[derive(Clone, Copy)]
struct Surface {
    material: Material,
    group: u32,
    mask: u32,
}

/// A plane: what is below it belongs to the ground.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub normal: DVec3,
    pub offset: f64,
    /// The body whose shape it is: links that a joint fixes to it do not touch it.
    pub body: BodyId,
    surface: Surface,
}

impl Surface {
    fn of(collider: &Collider) -> Surface {
        Surface { material: collider.material, group: collider.group, mask: collider.mask }
    }
}

impl Plane {
    /// The plane of a collider of a standing body, if it is one.
    pub fn of(collider: &Collider, placed: &Placed, body: BodyId) -> Option<Plane> {
        let Form::Plane = collider.form else { return None };
        let normal = placed.r * collider.turn.z_axis;
        let on_it = placed.x + placed.r * collider.position;
        Some(Plane { normal, offset: normal.dot(on_it), body, surface: Surface::of(collider) })
    }

    /// How a corner touches it, if it does at all.
    pub fn with(&self, corner: &Corner) -> Option<PairMaterial> {
        let (a, b) = (&self.surface, &corner.surface);
        let agree = a.group & b.mask != 0 && b.group & a.mask != 0;
        agree.then(|| a.material.with(&b.material))
    }

    /// How far a ball is above it.
    pub fn gap(&self, center: DVec3, radius: f64) -> f64 {
        self.normal.dot(center) - self.offset - radius
    }
}

/// The corners of a collider in the frame of its body; none if it has no finite number of them.
pub(super) fn corners_of(collider: &Collider) -> Option<Vec<Corner>> {
    let corner = |at: DVec3, radius: f64| Corner {
        at: collider.position + collider.turn * at,
        radius,
        surface: Surface::of(collider),
    };
    Some(match &collider.form {
        Form::Sphere { radius } => vec![corner(DVec3::ZERO, *radius)],
        Form::Capsule { half, radius } => [-1.0, 1.0].map(|s| corner(DVec3::Z * (s * half), *radius)).to_vec(),
        Form::Box { half } => {
            let side = |k: usize, bit: usize| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
            (0..8).map(|k| corner(*half * DVec3::new(side(k, 0), side(k, 1), side(k, 2)), 0.0)).collect()
        }
        Form::Hull(hull) => hull.points.iter().map(|p| corner(*p, 0.0)).collect(),
        Form::Cylinder { .. } | Form::Cone { .. } | Form::Mesh(_) | Form::Plane => return None,
    })
}

/// A ball around corners.
pub(super) fn ball_around(corners: &[Corner]) -> Ball {
    let center = corners.iter().map(|c| c.at).sum::<DVec3>() / corners.len().max(1) as f64;
    let radius = corners.iter().map(|c| c.at.distance(center) + c.radius).fold(0.0, f64::max);
    (!corners.is_empty()).then_some((center, radius))
}

/// The smallest ball around two.
pub(super) fn ball_around_both(a: Ball, b: Ball) -> Ball {
    let (Some((ca, ra)), Some((cb, rb))) = (a, b) else { return a.or(b) };
    let apart = ca.distance(cb);
    if apart + rb <= ra {
        return a;
    }
    if apart + ra <= rb {
        return b;
    }
    let radius = 0.5 * (apart + ra + rb);
    Some((ca + (cb - ca) * ((radius - ra) / apart), radius))
}

impl Adaptive {
    /// How far something that moves may come within a step: twice as far as its speed and its weight take it.
    pub(super) fn reach(&self, speed: f64, h: f64) -> f64 {
        2.0 * h * (speed + h * self.gravity.length())
    }

    /// Links that may touch a plane within a step.
    pub(super) fn near_ground(&mut self, h: f64) -> Vec<usize> {
        let mut found = Vec::new();
        if self.planes.is_empty() {
            return found;
        }
        forward_kinematics(&self.hybrid, &mut self.data, &self.state.q, &self.state.v);
        for piece in 0..self.pieces.len() {
            let (pose, (v, w)) = self.at_first(piece);
            let mut waiting = vec![(self.pieces[piece].node, pose)];
            while let Some((node, at)) = waiting.pop() {
                let Some((center, radius)) = self.frozen(node).ball else { continue };
                let center = at.x + at.r * center;
                let speed = (v + w.cross(center - pose.x)).length() + w.length() * radius;
                let reach = self.reach(speed, h);
                if self.planes.iter().all(|plane| plane.gap(center, radius) > reach) {
                    continue;
                }
                let part = &self.assembly.parts[node as usize];
                let Some((a, b)) = part.parts else {
                    found.push(part.near as usize);
                    continue;
                };
                let before = self.frozen(a).span;
                let other = Placed::new(at.x + at.r * before.x, (at.q * before.q).normalize());
                let joint = self.assembly.parts[b as usize].near as usize;
                waiting.push((a, at));
                waiting.push((b, hinge_at(&self.links[joint], &other, &self.q, &self.tau).1));
            }
        }
        found.sort_unstable();
        found
    }
}
