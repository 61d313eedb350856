//! How far two forms are apart, as solids, and when they first touch. For questions and sensors: contacts see the front of a closed mesh only
//! ([`super::narrow`]), here what is inside of it overlaps it.

use super::convex::{self, AxisHint, Rounded, Workspace};
use super::core::Core;
use super::mesh::Mesh;
use super::narrow::{self, PairMemory, Place, Touches};
use super::shape::{Collider, Form};
use crate::math::{Placed, rotation};
use glam::DVec3;

/// Gap at which moving bodies touch, m.
const TOUCHING: f64 = 1e-7;
/// Looks after which a motion is given up: bodies that turn fast and come near slowly.
const MOST_LOOKS: usize = 10_000;

/// Where two forms are nearest: a lower bound of their distance as far as the reach goes (negative if they overlap), and within reach the gap, the point
/// midway and the normal from the first to the second.
pub(super) struct Apart {
    pub separation: f64,
    pub overlapping: bool,
    pub nearest: Option<(f64, DVec3, DVec3)>,
}

impl Apart {
    const NEVER: Apart = Apart { separation: f64::INFINITY, overlapping: false, nearest: None };
}

pub(super) fn apart(
    a: (&Form, &Place),
    b: (&Form, &Place),
    reach: f64,
    work: &mut Workspace,
    touches: &mut Touches,
) -> Apart {
    match (a.0, b.0) {
        (Form::Mesh(mesh), other) if other.convex().is_some() => from_mesh((mesh, a.1), (other, b.1), reach, work),
        (other, Form::Mesh(mesh)) if other.convex().is_some() => {
            let found = from_mesh((mesh, b.1), (other, a.1), reach, work);
            Apart { nearest: found.nearest.map(|(gap, point, normal)| (gap, point, -normal)), ..found }
        }
        _ => {
            let separation = narrow::contacts(a, b, reach, 0.0, &mut PairMemory::default(), work, touches);
            let points = touches.iter().flat_map(|t| t.points.iter().map(|p| (p.1, p.0, t.normal)));
            Apart { separation, overlapping: separation <= 0.0, nearest: points.min_by(|x, y| x.0.total_cmp(&y.0)) }
        }
    }
}

/// A mesh and a convex form: the nearest of its triangles, from whichever side, or the inside of a closed one.
fn from_mesh((mesh, ground): (&Mesh, &Place), other: (&Form, &Place), reach: f64, work: &mut Workspace) -> Apart {
    let Some(rounded) = other.0.convex() else { return Apart::NEVER };
    let (r, t) = ground.see(other.1);
    let bounds = other.0.bounds().placed(&r, t);
    let mut triangles = std::mem::take(&mut work.triangles);
    mesh.near(&bounds.grown(reach), &mut triangles);
    let mut part = std::mem::take(&mut work.part);
    let (mut separation, mut nearest) = (reach, None::<(f64, DVec3, DVec3)>);
    let mut overlapping = false;
    for &triangle in &triangles {
        let mut corners = mesh.corners(triangle);
        let mut normal = mesh.normals[triangle as usize];
        if !mesh.closed && (bounds.center() - corners[0]).dot(normal) < 0.0 {
            normal = -normal;
            corners.swap(1, 2);
        }
        let face = Rounded { core: Core::Triangle { corners, normal }, radius: 0.0 };
        let gap = convex::touch(&face, &rounded, &r, t, reach, &mut AxisHint::FaceOfA(normal), work, &mut part);
        separation = separation.min(gap);
        overlapping |= gap <= 0.0;
        // out of a solid, even where the way through its surface is shorter inwards
        if mesh.closed && gap <= 0.0 && part.normal.dot(normal) < 0.0 {
            convex::touch_along(&face, &rounded, &r, t, normal, reach, work, &mut part);
        }
        let least = part.points.iter().min_by(|x, y| x.1.total_cmp(&y.1));
        if let Some(&(point, gap)) = least
            && nearest.is_none_or(|(least, ..)| gap < least)
        {
            nearest = Some((gap, point, part.normal));
        }
    }
    (work.triangles, work.part) = (triangles, part);
    if !overlapping && let Some((depth, point, normal)) = inside(mesh, t + r * rounded.core.support(DVec3::Z)) {
        (separation, overlapping, nearest) = (-depth, true, Some((-depth, point, normal)));
    }
    let world = |(gap, point, normal): (f64, DVec3, DVec3)| (gap, ground.to_world(point), ground.r * normal);
    Apart { separation, overlapping, nearest: nearest.map(world) }
}

/// Of a point inside a closed mesh: its depth, where the surface is nearest, and the way out.
pub(super) fn inside(mesh: &Mesh, p: DVec3) -> Option<(f64, DVec3, DVec3)> {
    let (depth, nearest, normal) = mesh.contains(p).then(|| mesh.nearest(p, f64::INFINITY))??;
    Some((depth, nearest, (nearest - p).try_normalize().unwrap_or(normal)))
}

/// A collider whose body moves steadily: where this is, its velocities, m/s and rad/s.
#[derive(Clone, Copy)]
pub(super) struct Moving<'a> {
    pub collider: &'a Collider,
    pub start: Placed,
    pub v: DVec3,
    pub w: DVec3,
}

impl Moving<'_> {
    fn place(&self, time: f64) -> Place {
        let body = Placed::new(self.start.x + self.v * time, rotation::exp(self.w * time) * self.start.q);
        let c = self.collider;
        Place { x: body.x + body.r * c.position, r: body.r * c.turn }
    }

    /// How fast its points move at most, m/s.
    pub fn fastest(&self) -> f64 {
        self.v.length() + self.turning()
    }

    /// How fast its points move at most because it turns, m/s.
    fn turning(&self) -> f64 {
        let c = self.collider;
        match c.form {
            // a ball that turns about its middle stays where it is
            Form::Sphere { .. } => self.w.length() * c.position.length(),
            _ if self.w == DVec3::ZERO => 0.0,
            _ => self.w.length() * c.sweep,
        }
    }
}

/// When two colliders first touch within a time, the point midway, and the normal from the first to the second. Conservative advancement:
/// as long as they cannot touch yet, again and again.
pub(super) fn first_touch(
    a: &Moving,
    b: &Moving,
    within: f64,
    work: &mut Workspace,
    touches: &mut Touches,
) -> Option<(f64, DVec3, DVec3)> {
    let turning = a.turning() + b.turning();
    let relative = b.v - a.v;
    let fastest = relative.length() + turning;
    let has_mesh = [a, b].iter().any(|m| matches!(m.collider.form, Form::Mesh(_)));
    let mut time = 0.0;
    for _ in 0..MOST_LOOKS {
        let (pa, pb) = (a.place(time), b.place(time));
        // far looks are dear on meshes: an eighth of what is left at a time
        let reach = (fastest * (within - time) / 8.0).max(1e-3);
        let found = apart((&a.collider.form, &pa), (&b.collider.form, &pb), reach, work, touches);
        let mut speed = fastest;
        if let Some((gap, point, normal)) = found.nearest {
            if gap <= TOUCHING {
                return Some((time, point, normal));
            }
            // of a convex pair the plane between them stays between them for as long as they do not come up to it
            if !has_mesh {
                speed = turning - relative.dot(normal);
            }
        }
        if speed <= 1e-12 {
            return None;
        }
        time += found.separation.min(reach).max(0.1 * TOUCHING) / speed;
        if time > within {
            return None;
        }
    }
    None
}
