//! Narrow phase: the contact of two placed forms, whatever they are.

use super::boxes::{self, AxisMemory};
use super::convex::{self, AxisHint, Rounded, Workspace};
use super::core::{Core, Feature, TURNED};
use super::manifold::Touch;
use super::mesh::Mesh;
use super::shape::Form;
use glam::{DMat3, DVec2, DVec3};

/// Where a form is in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub x: DVec3,
    pub r: DMat3,
}

impl Default for Place {
    fn default() -> Self {
        Place { x: DVec3::ZERO, r: DMat3::IDENTITY }
    }
}

impl Place {
    /// The other place seen from this one.
    pub fn see(&self, other: &Place) -> (DMat3, DVec3) {
        let back = self.r.transpose();
        (back * other.r, back * (other.x - self.x))
    }

    pub fn to_world(self, p: DVec3) -> DVec3 {
        self.x + self.r * p
    }

    pub fn to_local(self, p: DVec3) -> DVec3 {
        self.r.transpose() * (p - self.x)
    }
}

/// What a pair remembers of its last narrow phase.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PairMemory {
    boxes: AxisMemory,
    hint: AxisHint,
}

/// Contacts of one pair in the world, one for each normal; its memory is reused.
#[derive(Clone, Default)]
pub(crate) struct Touches {
    all: Vec<Touch>,
    count: usize,
}

impl Touches {
    pub fn clear(&mut self) {
        self.count = 0;
    }

    pub fn iter(&self) -> impl Iterator<Item = &Touch> {
        self.all[..self.count].iter()
    }

    fn next(&mut self) -> &mut Touch {
        if self.count == self.all.len() {
            self.all.push(Touch::default());
        }
        self.count += 1;
        let touch = &mut self.all[self.count - 1];
        touch.clear();
        touch
    }
}

/// Finds the contacts of a and b if they are within `reach`, with corners a little beyond it too ([`boxes::SPREAD`]; normals
/// from a to b); returns a lower bound of their distance, or minus
/// their depth. `path` is how far both have travelled, for what `memory` holds.
pub(crate) fn contacts(
    a: (&Form, &Place),
    b: (&Form, &Place),
    reach: f64,
    path: f64,
    memory: &mut PairMemory,
    work: &mut Workspace,
    out: &mut Touches,
) -> f64 {
    out.clear();
    match (a.0, b.0) {
        (Form::Box { half: ha }, Form::Box { half: hb }) => {
            let (r, t) = a.1.see(b.1);
            let touch = out.next();
            let found = boxes::touch(*ha, *hb, &r, t, reach, path, &mut memory.boxes, touch);
            let mut separation = found.separation;
            if found.needs_search {
                let rounded = |half: &DVec3| Rounded { core: Core::Box { half: *half }, radius: 0.0 };
                let (a, b) = (rounded(ha), rounded(hb));
                separation = convex::touch(&a, &b, &r, t, reach, &mut AxisHint::None, work, touch);
                touch.reduce();
            }
            finish(out, a.1, false);
            separation
        }
        (Form::Plane, Form::Plane) | (Form::Mesh(_), Form::Mesh(_)) => f64::INFINITY,
        (Form::Plane, Form::Mesh(_)) | (Form::Mesh(_), Form::Plane) => f64::INFINITY,
        (Form::Plane, other) => plane(a.1, (other, b.1), reach, false, work, out),
        (other, Form::Plane) => plane(b.1, (other, a.1), reach, true, work, out),
        (Form::Mesh(mesh), other) => surface((mesh, a.1), (other, b.1), reach, false, work, out),
        (other, Form::Mesh(mesh)) => surface((mesh, b.1), (other, a.1), reach, true, work, out),
        (Form::Capsule { half: ha, radius: ra }, Form::Capsule { half: hb, radius: rb })
            if crossed(a.1.r.z_axis, b.1.r.z_axis) =>
        {
            capsules((*ha, *ra, a.1), (*hb, *rb, b.1), reach, out)
        }
        (one, other) => {
            let (Some(ra), Some(rb)) = (one.convex(), other.convex()) else { return f64::INFINITY };
            let (r, t) = a.1.see(b.1);
            let touch = out.next();
            let separation = convex::touch(&ra, &rb, &r, t, reach, &mut memory.hint, work, touch);
            touch.reduce();
            finish(out, a.1, false);
            separation
        }
    }
}

/// Whether [`contacts`] of two forms where they are uses what it remembers of them.
pub(crate) fn asks_for_memory(a: (&Form, &Place), b: (&Form, &Place)) -> bool {
    match (a.0, b.0) {
        (Form::Plane | Form::Mesh(_), _) | (_, Form::Plane | Form::Mesh(_)) => false,
        (Form::Capsule { .. }, Form::Capsule { .. }) => !crossed(a.1.r.z_axis, b.1.r.z_axis),
        _ => true,
    }
}

/// Whether two capsules lie so much across each other that they touch in one point.
fn crossed(a: DVec3, b: DVec3) -> bool {
    a.cross(b).length_squared() > convex::ALONGSIDE * convex::ALONGSIDE
}

/// Two capsules that do not lie alongside: the nearest points of their axes. The pair that piles of links have most of.
fn capsules(a: (f64, f64, &Place), b: (f64, f64, &Place), reach: f64, out: &mut Touches) -> f64 {
    let axis =
        |(half, _, place): (f64, f64, &Place)| (place.x - place.r.z_axis * half, place.x + place.r.z_axis * half);
    let (on_a, on_b) = convex::nearest_on_segments(axis(a), axis(b));
    let d = on_b - on_a;
    let length = d.length();
    let gap = length - a.1 - b.1;
    if gap > reach {
        return gap;
    }
    let normal = if length > 1e-12 { d / length } else { a.2.r.z_axis.cross(b.2.r.z_axis).normalize_or(DVec3::Z) };
    let touch = out.next();
    touch.normal = normal;
    touch.push(0.5 * (on_a + on_b + normal * (a.1 - b.1)), gap);
    gap
}

/// Takes contacts from the frame of a place to the world, and drops the empty last one.
fn finish(out: &mut Touches, place: &Place, flipped: bool) {
    for touch in &mut out.all[..out.count] {
        let n = place.r * touch.normal;
        touch.normal = if flipped { -n } else { n };
        touch.points.iter_mut().for_each(|p| p.0 = place.to_world(p.0));
    }
    if out.count > 0 && out.all[out.count - 1].points.is_empty() {
        out.count -= 1;
    }
}

/// A half space below z = 0 and a convex form.
fn plane(
    ground: &Place,
    other: (&Form, &Place),
    reach: f64,
    flipped: bool,
    work: &mut Workspace,
    out: &mut Touches,
) -> f64 {
    let Some(rounded) = other.0.convex() else { return f64::INFINITY };
    let (r, t) = ground.see(other.1);
    // the plane's normal seen from the other form
    let up = r.transpose() * DVec3::Z;
    let lowest = (t + r * rounded.core.support(-up)).z - rounded.radius;
    if lowest > reach {
        return lowest;
    }
    let touch = out.next();
    touch.normal = DVec3::Z;
    let mut add = |p: DVec3| {
        let p = t + r * p;
        let gap = p.z - rounded.radius;
        if gap <= reach {
            touch.points.push((DVec3::new(p.x, p.y, 0.5 * gap), gap));
        }
    };
    match &rounded.core {
        Core::Point => add(DVec3::ZERO),
        Core::Segment { half } => [-half, *half].into_iter().for_each(|z| add(DVec3::new(0.0, 0.0, z))),
        Core::Box { half } => {
            for k in 0..8 {
                let s = |bit: usize| if k & bit == 0 { 1.0 } else { -1.0 };
                add(*half * DVec3::new(s(1), s(2), s(4)));
            }
        }
        Core::Hull(hull) => hull.points.iter().copied().for_each(add),
        // whatever of the rims may come down within a step, not only what faces the plane now
        Core::Cylinder { half, radius } => {
            let (near, far) = if up.z > 0.0 { (-half, *half) } else { (*half, -half) };
            round_rim(-up, *radius, near).for_each(&mut add);
            add(farthest_of_rim(-up, *radius, far));
        }
        Core::Cone { half, radius } => {
            round_rim(-up, *radius, -half).for_each(&mut add);
            add(DVec3::new(0.0, 0.0, *half));
        }
        core => {
            let mut feature: Feature = std::mem::take(work.feature());
            core.feature(-up, &mut feature);
            feature.points.iter().copied().for_each(add);
            *work.feature() = feature;
        }
    }
    touch.reduce();
    finish(out, ground, flipped);
    lowest
}

/// Sine of a tilt below which a rim lies flat: its lowest point would wander around it with every breath, and the eight
/// that stay miss that one by less than a millionth of the radius.
const FLAT_RIM: f64 = 1e-5;

/// Cosine of the angle within which the lowest point of a rim replaces one of the eight that stay.
const SAME_RIM_POINT: f64 = 0.98;

/// The point of the circle at height z that is farthest along d.
fn farthest_of_rim(d: DVec3, radius: f64, z: f64) -> DVec3 {
    (radius * d.truncate().normalize_or(DVec2::X)).extend(z)
}

/// Half a right angle apart.
const EIGHT: [DVec2; 8] = {
    const S: f64 = std::f64::consts::FRAC_1_SQRT_2;
    [
        DVec2::X,
        DVec2::new(S, S),
        DVec2::Y,
        DVec2::new(-S, S),
        DVec2::NEG_X,
        DVec2::new(-S, -S),
        DVec2::NEG_Y,
        DVec2::new(S, -S),
    ]
};

/// Points of the circle at height z: the one farthest along d, and, where the circle is nearly flat, eight that stay where they are on the
/// body. Of what rolls on its rim those ahead go straight down as far as rows know, though the rim turns them up again: wheels would
/// bump along on them.
fn round_rim(d: DVec3, radius: f64, z: f64) -> impl Iterator<Item = DVec3> {
    let farthest = (d.truncate().length() > FLAT_RIM).then(|| d.truncate().normalize());
    let steady = if d.z.abs() > TURNED { &EIGHT[..] } else { &[] };
    let steady = steady.iter().copied().filter(move |p| farthest.is_none_or(|f| f.dot(*p) < SAME_RIM_POINT));
    farthest.into_iter().chain(steady).map(move |p| (radius * p).extend(z))
}

/// Contacts whose normals differ by less than this (cosine) are one.
const SAME_NORMAL: f64 = 1.0 - 1e-6;

/// A mesh and a convex form: triangle by triangle.
///
/// Where triangles meet in a flat or hollow edge, a body that slides across must not feel the edge: normals there are
/// corrected to the face. Over a ridge the normal may lean as far as the next face does.
fn surface(
    (mesh, ground): (&Mesh, &Place),
    other: (&Form, &Place),
    reach: f64,
    flipped: bool,
    work: &mut Workspace,
    out: &mut Touches,
) -> f64 {
    let Some(rounded) = other.0.convex() else { return f64::INFINITY };
    let (r, t) = ground.see(other.1);
    let bounds = other.0.bounds().placed(&r, t);
    let center = bounds.center();
    let mut triangles = std::mem::take(&mut work.triangles);
    mesh.near(&bounds.grown(reach), &mut triangles);
    let mut part = std::mem::take(&mut work.part);
    let mut separation = reach;
    for &triangle in &triangles {
        let mut corners = mesh.corners(triangle);
        let mut normal = mesh.normals[triangle as usize];
        let behind = (center - corners[0]).dot(normal) < 0.0;
        if behind && mesh.one_sided {
            continue;
        }
        if behind {
            normal = -normal;
            corners.swap(1, 2);
        }
        let face = Rounded { core: Core::Triangle { corners, normal }, radius: 0.0 };
        let mut hint = AxisHint::FaceOfA(normal);
        let gap = convex::touch(&face, &rounded, &r, t, reach, &mut hint, work, &mut part);
        separation = separation.min(gap);
        if gap > reach {
            continue;
        }
        if part.points.is_empty()
            || part.normal.distance(normal) > 1e-9 && !may_lean(mesh, triangle, normal, behind, part.normal)
        {
            convex::touch_along(&face, &rounded, &r, t, normal, reach, work, &mut part);
        }
        merge(&part, out);
    }
    for touch in &mut out.all[..out.count] {
        touch.reduce();
    }
    (work.triangles, work.part) = (triangles, part);
    finish(out, ground, flipped);
    separation
}

/// Whether a contact normal on a triangle lies between its face and the faces across the edges it leans over.
fn may_lean(mesh: &Mesh, triangle: u32, face: DVec3, behind: bool, normal: DVec3) -> bool {
    let corners = mesh.corners(triangle);
    (0..3).all(|k| {
        let edge = corners[(k + 1) % 3] - corners[k];
        // outward in the plane of the triangle, whichever side is up
        let outward = edge.cross(mesh.normals[triangle as usize]).normalize_or_zero();
        let lean = normal.dot(outward);
        if lean < 1e-10 {
            return true;
        }
        let Some(next) = mesh.normal_across(triangle, k) else { return true };
        let next = if behind { -next } else { next };
        let most = next.dot(outward).atan2(next.dot(face));
        most > 1e-6 && lean.atan2(normal.dot(face)) <= most + 1e-3
    })
}

/// Points nearer to each other than this are one.
const SAME_POINT: f64 = 1e-5;

fn merge(part: &Touch, out: &mut Touches) {
    let same = out.all[..out.count].iter().position(|t| t.normal.dot(part.normal) > SAME_NORMAL);
    let touch = match same {
        Some(k) => &mut out.all[k],
        None if part.points.is_empty() => return,
        None => {
            let touch = out.next();
            touch.normal = part.normal;
            touch
        }
    };
    for p in &part.points {
        match touch.points.iter_mut().find(|q| q.0.distance_squared(p.0) < SAME_POINT * SAME_POINT) {
            Some(q) => q.1 = q.1.min(p.1),
            None => touch.points.push(*p),
        }
    }
}
