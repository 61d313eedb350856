//! Questions about where things are: rays, casts, overlaps, nearest points, time of impact. Nothing here changes anything.
//!
//! Answers hold for the present poses. Shapes are solid, closed meshes too; open meshes and terrain are surfaces, which are met from both
//! sides and have no inside. Every collider is asked in turn, after a look at the ball around it.

use super::apart::{Moving, apart, first_touch, inside};
use super::check;
use super::convex::{self, AxisHint, Rounded, Workspace};
use super::core::Core;
use super::narrow::{Place, Touches};
use super::parry::Bounds;
use super::point;
use super::ray::ray;
use super::shape::{Collider, Form, forms};
use super::{Collisions, PlacedBody};
use crate::body::BodyState;
use crate::error::SceneError;
use crate::handle::BodyId;
use crate::math::{Placed, Pose};
use crate::scene::{BodyKind, Geometry, Shape};
use crate::world::World;
use glam::{DMat3, DVec3};
use std::collections::BTreeMap;

/// What a query found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The body.
    pub body: BodyId,
    /// Index of the shape among the body's shapes.
    pub shape: usize,
    /// On the surface of the shape, in the world, m.
    pub point: DVec3,
    /// Outward normal of the shape there.
    pub normal: DVec3,
    /// Along the ray or cast, or from the point asked about (negative inside), m.
    pub distance: f64,
}

/// Two bodies that overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeepOverlap {
    /// One of them.
    pub a: BodyId,
    /// The other.
    pub b: BodyId,
    /// Along the normal of their contact, m.
    pub depth: f64,
}

/// Which shapes a query sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryFilter {
    /// Shapes in one of these groups.
    pub mask: u32,
    /// Whether sensors are seen.
    pub sensors: bool,
    /// A body that is not seen.
    pub except: Option<BodyId>,
}

impl Default for QueryFilter {
    fn default() -> Self {
        QueryFilter { mask: u32::MAX, sensors: false, except: None }
    }
}

/// When and where two bodies meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeOfImpact {
    /// From now, s; zero if they overlap.
    pub time: f64,
    /// In the world, midway, m.
    pub point: DVec3,
    /// From the first body to the second.
    pub normal: DVec3,
}

/// Casts stop this close to the surface, m.
const CLOSE: f64 = 1e-9;

fn finite(path: &str, v: DVec3, most: f64) -> Result<DVec3, SceneError> {
    match v.is_finite() && v.abs().max_element() <= most {
        true => Ok(v),
        false => Err(SceneError::new(path, format!("{v} is not a usable vector")).hint("give finite numbers")),
    }
}

fn direction(v: DVec3) -> Result<DVec3, SceneError> {
    finite("direction", v, 1e150)?
        .try_normalize()
        .ok_or_else(|| SceneError::new("direction", "has no length").hint("give a vector that points somewhere"))
}

fn range(path: &str, farthest: f64) -> Result<f64, SceneError> {
    match (0.0..=1e9).contains(&farthest) {
        true => Ok(farthest),
        false => Err(SceneError::new(path, format!("{farthest} is not between 0 and 1e9"))),
    }
}

fn place_of(body: &Placed, collider: &Collider) -> Place {
    Place { x: body.x + body.r * collider.position, r: body.r * collider.turn }
}

/// A convex geometry of a query.
fn probe(geometry: &Geometry, pose: &Pose) -> Result<(Form, Place), SceneError> {
    check::first_of("shape", &Shape::new(geometry.clone()), BodyKind::Kinematic)?;
    finite("pose.position", pose.position, 1e9)?;
    if !pose.orientation.is_finite() || pose.orientation.length() < 1e-6 {
        return Err(SceneError::new("pose.orientation", "is not a rotation"));
    }
    let form = forms(geometry, BodyKind::Kinematic).pop().filter(|f| f.convex().is_some());
    let form = form.ok_or_else(|| {
        SceneError::new("shape.geometry", "only convex shapes can be asked about").hint("use a hull, or several shapes")
    })?;
    Ok((form, Place { x: pose.position, r: DMat3::from_quat(pose.orientation.normalize()) }))
}

impl World {
    /// The first shape that a ray meets within a distance. A ray that starts inside a solid shape hits it at once,
    /// with a normal back along the ray; closed meshes are solid, open ones and terrain are met from both sides.
    ///
    /// # Errors
    /// Numbers that are not finite, or a direction of zero length.
    pub fn cast_ray(
        &self,
        origin: DVec3,
        towards: DVec3,
        farthest: f64,
        filter: &QueryFilter,
    ) -> Result<Option<Hit>, SceneError> {
        let (origin, towards) = (finite("origin", origin, 1e9)?, direction(towards)?);
        let farthest = range("farthest", farthest)?;
        let mut best: Option<Hit> = None;
        self.each(filter, |id, body, collider| {
            let most = best.map_or(farthest, |b| b.distance);
            if !passes(origin, towards, most, body.x, collider) {
                return;
            }
            let place = place_of(body, collider);
            let (from, along) = (place.to_local(origin), place.r.transpose() * towards);
            if let Some((distance, normal)) = ray(&collider.form, from, along, most)
                && best.is_none_or(|b| distance < b.distance)
            {
                let point = origin + towards * distance;
                best =
                    Some(Hit { body: id, shape: collider.shape as usize, point, normal: place.r * normal, distance });
            }
        });
        Ok(best)
    }

    /// The first shape that a convex geometry meets when it is moved along a direction, without turning. What it overlaps or is
    /// inside of where it starts is met at once.
    ///
    /// # Errors
    /// As [`World::cast_ray`]; and a geometry that is wrong or not convex.
    pub fn cast_shape(
        &self,
        geometry: &Geometry,
        pose: Pose,
        towards: DVec3,
        farthest: f64,
        filter: &QueryFilter,
    ) -> Result<Option<Hit>, SceneError> {
        let (form, place) = probe(geometry, &pose)?;
        let (towards, farthest) = (direction(towards)?, range("farthest", farthest)?);
        let Some(moving) = form.convex() else { return Ok(None) };
        let radius = form.bounds().half().length() + form.bounds().center().length();
        let (mut work, mut touches) = (Workspace::default(), Touches::default());
        let mut best: Option<Hit> = None;
        self.each(filter, |id, body, collider| {
            let most = best.map_or(farthest, |b| b.distance);
            let grown = Collider { sweep: collider.sweep + radius, ..collider.clone() };
            if !passes(place.x, towards, most, body.x, &grown) {
                return;
            }
            let target = place_of(body, collider);
            // the inside of a mesh has no triangles
            let start = matches!(collider.form, Form::Mesh(_))
                .then(|| apart((&collider.form, &target), (&form, &place), 0.0, &mut work, &mut touches))
                .filter(|start| start.overlapping)
                .and_then(|start| start.nearest)
                .map(|(gap, point, normal)| (0.0, point - normal * (0.5 * gap), normal));
            if let Some((distance, point, normal)) =
                start.or_else(|| cast(&collider.form, &target, &moving, &place, towards, most, &mut work))
                && best.is_none_or(|b| distance < b.distance)
            {
                best = Some(Hit { body: id, shape: collider.shape as usize, point, normal, distance });
            }
        });
        Ok(best)
    }

    /// Pairs of bodies that collide with each other and overlap by more than `depth` (m) where they are now, the deepest first. Ask it of a
    /// world that has just been built: such bodies are pushed apart from the first step on, which is seldom what was meant.
    pub fn deep_overlaps(&self, depth: f64) -> Vec<DeepOverlap> {
        if !self.collides() {
            return Vec::new();
        }
        let mut placed = vec![PlacedBody::default(); self.bodies.slots()];
        let mut ids = vec![None; placed.len()];
        for (id, body) in self.bodies.iter() {
            placed[id.slot()] = PlacedBody { x: body.x, q: body.q, ..PlacedBody::default() };
            ids[id.slot()] = Some(id);
        }
        // a look of its own: that of the world belongs to its steps
        let mut collisions = Collisions::default();
        collisions.sync(0, &self.bodies, &self.joints);
        collisions.update(&placed, 0.0, 0.0);
        let mut deepest = BTreeMap::new();
        for manifold in collisions.manifolds.iter() {
            let deep = manifold.points().iter().map(|p| -p.gap).fold(0.0, f64::max);
            let most: &mut f64 = deepest.entry((manifold.a.min(manifold.b), manifold.a.max(manifold.b))).or_default();
            *most = most.max(deep);
        }
        let mut found: Vec<DeepOverlap> = deepest
            .into_iter()
            .filter(|(_, deep)| *deep > depth)
            .filter_map(|((a, b), depth)| Some(DeepOverlap { a: ids[a as usize]?, b: ids[b as usize]?, depth }))
            .collect();
        found.sort_by(|x, y| y.depth.total_cmp(&x.depth));
        found
    }

    /// All shapes that overlap a convex geometry, in the order of bodies and shapes. What is inside a closed mesh overlaps it; an open mesh
    /// and terrain are surfaces, which are overlapped only by what goes through them.
    ///
    /// # Errors
    /// As [`World::cast_shape`].
    pub fn overlaps(
        &self,
        geometry: &Geometry,
        pose: Pose,
        filter: &QueryFilter,
    ) -> Result<Vec<(BodyId, usize)>, SceneError> {
        let (form, place) = probe(geometry, &pose)?;
        let bounds = form.bounds().placed(&place.r, place.x);
        let (mut work, mut touches) = (Workspace::default(), Touches::default());
        let mut found = Vec::new();
        self.each(filter, |id, body, collider| {
            let target = place_of(body, collider);
            if !matches!(collider.form, Form::Plane) && !collider.bounds.placed(&target.r, target.x).overlaps(&bounds) {
                return;
            }
            let (a, b) = ((&collider.form, &target), (&form, &place));
            if apart(a, b, 0.0, &mut work, &mut touches).overlapping {
                found.push((id, collider.shape as usize));
            }
        });
        found.dedup();
        Ok(found)
    }

    /// The point of all shapes nearest to a point, within a distance. Inside a solid shape, a closed mesh too, the distance is
    /// negative: minus the depth. Open meshes and terrain have no inside. A concave mesh on a moving body is as many shapes as it has convex
    /// pieces.
    ///
    /// # Errors
    /// Numbers that are not finite.
    pub fn closest_point(&self, point: DVec3, farthest: f64, filter: &QueryFilter) -> Result<Option<Hit>, SceneError> {
        let point = finite("point", point, 1e9)?;
        let farthest = range("farthest", farthest)?;
        let mut best: Option<Hit> = None;
        self.each(filter, |id, body, collider| {
            let reach = best.map_or(farthest, |b| b.distance.max(0.0));
            if !matches!(collider.form, Form::Plane) && body.x.distance(point) > collider.sweep + reach {
                return;
            }
            let place = place_of(body, collider);
            if let Some((distance, normal)) = nearest(&collider.form, place.to_local(point), reach)
                && distance <= reach
                && best.is_none_or(|b| distance < b.distance)
            {
                let (shape, normal) = (collider.shape as usize, place.r * normal);
                best = Some(Hit { body: id, shape, point: point - normal * distance, normal, distance });
            }
        });
        Ok(best)
    }

    /// When two bodies first touch if both keep their present velocities, within a time (s).
    ///
    /// # Errors
    /// A body that is gone, or a time that is not finite.
    pub fn time_of_impact(&self, a: BodyId, b: BodyId, within: f64) -> Result<Option<TimeOfImpact>, SceneError> {
        let find = |id: BodyId| self.bodies.get(id).ok_or_else(|| SceneError::new("body", "is gone"));
        let (body_a, body_b) = (find(a)?, find(b)?);
        let within = range("within", within)?;
        let (mut work, mut touches) = (Workspace::default(), Touches::default());
        let mut best: Option<TimeOfImpact> = None;
        let moving = |body: &BodyState, collider| Moving { collider, start: body.placed(), v: body.v, w: body.w };
        for ca in body_a.colliders.iter().filter(|c| !c.sensor) {
            for cb in body_b.colliders.iter().filter(|c| !c.sensor) {
                let most = best.map_or(within, |b| b.time);
                let found = first_touch(&moving(body_a, ca), &moving(body_b, cb), most, &mut work, &mut touches);
                if let Some((time, point, normal)) = found.filter(|f| best.is_none_or(|b| f.0 < b.time)) {
                    best = Some(TimeOfImpact { time, point, normal });
                }
            }
        }
        Ok(best)
    }

    fn each(&self, filter: &QueryFilter, mut visit: impl FnMut(BodyId, &Placed, &Collider)) {
        for (id, body) in self.bodies.iter().filter(|(id, _)| Some(*id) != filter.except) {
            let placed = body.placed();
            for c in body.colliders.iter().filter(|c| c.group & filter.mask != 0 && (filter.sensors || !c.sensor)) {
                visit(id, &placed, c);
            }
        }
    }
}

/// Whether a ray passes the ball around a collider.
fn passes(origin: DVec3, towards: DVec3, farthest: f64, center: DVec3, collider: &Collider) -> bool {
    let s = (center - origin).dot(towards).clamp(0.0, farthest);
    matches!(collider.form, Form::Plane) || (origin + towards * s).distance(center) <= collider.sweep * (1.0 + 1e-9)
}

/// Signed distance of a point, negative inside a solid, and the outward normal, in the frame of the form; of a surface without inside, towards
/// the point.
fn nearest(form: &Form, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
    let Form::Mesh(mesh) = form else { return point::distance(form, p, p, reach) };
    if let Some((depth, _, normal)) = inside(mesh, p) {
        return Some((-depth, normal));
    }
    let (distance, on, normal) = mesh.nearest(p, reach)?;
    Some((distance, (p - on).try_normalize().unwrap_or(normal)))
}

impl super::Collisions {
    /// What a collider meets on a straight way, of all that it has no contact points with.
    pub fn met_on_the_way(&self, collider: u32, way: DVec3) -> Vec<u32> {
        let mut near = Vec::new();
        if let Some(bounds) = self.entries[collider as usize].bounds() {
            let ahead = Bounds { low: bounds.low + way.min(DVec3::ZERO), high: bounds.high + way.max(DVec3::ZERO) };
            self.broad.each_near(&ahead, |other| near.push(other));
        }
        let mut known: Vec<u32> = vec![collider];
        let mut pairs = Vec::new();
        self.each_pair_of(collider, |k| pairs.push(k));
        for pair in pairs.iter().map(|&k| &self.pairs[k as usize]).filter(|p| p.count > 0) {
            known.push(if pair.a == collider { pair.b } else { pair.a });
        }
        near.retain(|k| !known.contains(k));
        near.sort_unstable();
        let own = &self.entries[collider as usize];
        let (Some(moving), Some(towards)) = (own.collider.form.convex(), way.try_normalize()) else {
            return Vec::new();
        };
        let mut work = Workspace::default();
        near.retain(|&k| {
            let other = &self.entries[k as usize];
            !own.collider.sensor
                && !other.collider.sensor
                && super::may_touch(&self.entries, &self.apart, collider, k)
                && cast(&other.collider.form, &other.place, &moving, &own.place, towards, way.length(), &mut work)
                    .is_some()
        });
        near
    }
}

/// Moves a convex shape towards a form: (distance, point on the form, its outward normal).
fn cast(
    form: &Form,
    place: &Place,
    moving: &Rounded,
    from: &Place,
    towards: DVec3,
    farthest: f64,
    work: &mut Workspace,
) -> Option<(f64, DVec3, DVec3)> {
    let (r, t) = place.see(from);
    let d = place.r.transpose() * towards;
    let world = |(s, p, n): (f64, DVec3, DVec3)| (s, place.to_world(p), place.r * n);
    match form {
        Form::Plane => {
            let low = t + r * moving.core.support(r.transpose() * -DVec3::Z) - DVec3::Z * moving.radius;
            let s = if low.z <= 0.0 { 0.0 } else { -low.z / d.z };
            let hits = low.z <= 0.0 || (d.z < 0.0 && s <= farthest);
            hits.then(|| world((s, (low + d * s) * DVec3::new(1.0, 1.0, 0.0), DVec3::Z)))
        }
        Form::Mesh(mesh) => {
            let half = moving_bounds(moving, &r);
            let path = Bounds::of([t, t + d * farthest]);
            let swept = Bounds { low: path.low + half.low, high: path.high + half.high };
            let mut triangles = Vec::new();
            mesh.near(&swept, &mut triangles);
            let mut best: Option<(f64, DVec3, DVec3)> = None;
            for i in triangles {
                let face = Core::Triangle { corners: mesh.corners(i), normal: mesh.normals[i as usize] };
                let target = Rounded { core: face, radius: 0.0 };
                let most = best.map_or(farthest, |b| b.0);
                best = cast_convex(&target, moving, &r, t, d, most, work).or(best);
            }
            best.map(world)
        }
        _ => cast_convex(&form.convex()?, moving, &r, t, d, farthest, work).map(world),
    }
}

fn moving_bounds(moving: &Rounded, r: &DMat3) -> Bounds {
    let along = |d: DVec3| (*r * moving.core.support(r.transpose() * d)).dot(d) + moving.radius;
    Bounds {
        low: -DVec3::new(along(-DVec3::X), along(-DVec3::Y), along(-DVec3::Z)),
        high: DVec3::new(along(DVec3::X), along(DVec3::Y), along(DVec3::Z)),
    }
}

/// Conservative advancement: up to the plane that separates, again and again.
fn cast_convex(
    target: &Rounded,
    moving: &Rounded,
    r: &DMat3,
    t: DVec3,
    d: DVec3,
    farthest: f64,
    work: &mut Workspace,
) -> Option<(f64, DVec3, DVec3)> {
    let mut touch = super::manifold::Touch::default();
    let mut hint = AxisHint::None;
    let mut s = 0.0;
    for _ in 0..100 {
        let reach = 2.0 * (farthest - s) + 1.0;
        let separation = convex::touch(target, moving, r, t + d * s, reach, &mut hint, work, &mut touch);
        let &(midway, gap) = touch.points.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        if separation <= CLOSE {
            return Some((s, midway - touch.normal * (0.5 * gap), touch.normal));
        }
        let approach = -d.dot(touch.normal);
        if approach <= 1e-12 {
            return None;
        }
        s += separation / approach;
        if s > farthest {
            return None;
        }
        // a search from scratch: remembered faces are for shapes that have hardly moved
        hint = AxisHint::None;
    }
    None
}
