//! Solids that particles collide with: planes, and every shape of a rigid body, at rest or in motion.
//!
//! A particle's path is looked at in the frame of the solid, which moves with its velocity during the step, and followed
//! until it comes within the particles' radius of the surface: nothing that is thin or fast is passed through.

use super::rider::{Lever, Riders};
use crate::collide::check;
use crate::collide::narrow::Place;
use crate::collide::parry::Bounds;
use crate::collide::point;
use crate::collide::shape::{Form, forms};
use crate::error::SceneError;
use crate::math::{Pose, Twist};
use crate::scene::{BodyKind, Geometry, Shape};
use glam::{DMat3, DVec3};

/// A fixed or moving obstacle of a particle system that is used without a world.
#[derive(Clone, Debug)]
pub struct Obstacle {
    /// Coefficient of friction.
    pub friction: f64,
    /// 0 to 1; slow particles come to rest whatever it is.
    pub restitution: f64,
    /// Where it is; it moves with its velocity.
    pub pose: Pose,
    /// How it moves.
    pub velocity: Twist,
    pub(super) forms: Vec<Form>,
}

impl Obstacle {
    /// The half space behind a plane.
    pub fn plane(point: DVec3, normal: DVec3) -> Result<Obstacle, SceneError> {
        let turn = normal.try_normalize().map(|n| glam::DQuat::from_rotation_arc(DVec3::Z, n));
        let Some(orientation) = turn.filter(|_| point.is_finite()) else {
            return Err(SceneError::new("normal", format!("{normal} has no direction")).hint("give three numbers"));
        };
        Obstacle::shape(&Geometry::Plane, Pose { position: point, orientation })
    }

    /// Any shape at a place.
    pub fn shape(geometry: &Geometry, pose: Pose) -> Result<Obstacle, SceneError> {
        check::first_of("obstacle", &Shape::new(geometry.clone()), BodyKind::Static)?;
        if !pose.position.is_finite() || !pose.orientation.is_finite() || pose.orientation.length() < 1e-6 {
            return Err(SceneError::new("obstacle.pose", "is not a place").hint("give finite numbers"));
        }
        let pose = Pose { orientation: pose.orientation.normalize(), ..pose };
        let forms = forms(geometry, BodyKind::Static);
        Ok(Obstacle { friction: 0.5, restitution: 0.0, pose, velocity: Twist::default(), forms })
    }

    /// Sets friction and restitution.
    pub fn with(mut self, friction: f64, restitution: f64) -> Obstacle {
        (self.friction, self.restitution) = (friction, restitution);
        self
    }

    pub(super) fn solids(&self) -> impl Iterator<Item = Solid> + '_ {
        let place = Place { x: self.pose.position, r: DMat3::from_quat(self.pose.orientation) };
        self.forms.iter().map(move |form| {
            Solid::new(form.clone(), place, place.x, self.velocity.linear, self.velocity.angular)
                .material(self.friction, self.restitution)
        })
    }
}

/// A solid during one step.
#[derive(Clone, Debug)]
pub(crate) struct Solid {
    form: Form,
    place: Place,
    /// The point whose velocity is `v`: the centre of mass of its body.
    pub center: DVec3,
    pub v: DVec3,
    pub w: DVec3,
    pub friction: f64,
    pub restitution: f64,
    /// Box around it at the start of the step.
    bounds: Bounds,
    /// The rider it belongs to, if its body answers.
    pub rider: Option<usize>,
    /// Tells it from other solids, from step to step; solids of a step are in the order of their keys.
    pub key: u32,
}

/// A particle on its way into a solid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Fraction of the path at which it touches.
    pub fraction: f64,
    /// Outward.
    pub normal: DVec3,
}

impl Solid {
    pub fn new(form: Form, place: Place, center: DVec3, v: DVec3, w: DVec3) -> Solid {
        let bounds = match form {
            Form::Plane => Bounds { low: DVec3::NEG_INFINITY, high: DVec3::INFINITY },
            _ => form.bounds().placed(&place.r, place.x),
        };
        Solid { form, place, center, v, w, friction: 0.5, restitution: 0.0, bounds, rider: None, key: 0 }
    }

    pub fn material(mut self, friction: f64, restitution: f64) -> Solid {
        (self.friction, self.restitution) = (friction, restitution);
        self
    }

    /// Velocity of the solid at a point; of a body that answers, with its answer so far.
    pub fn velocity(&self, p: DVec3, riders: &Riders) -> DVec3 {
        match self.rider.and_then(|k| riders.bodies.get(k)) {
            Some(rider) => rider.point(Lever::at(p - self.center)),
            None => self.v + self.w.cross(p - self.center),
        }
    }

    /// Box that the solid sweeps within a time, and beyond which nothing within `radius` is.
    pub fn swept(&self, h: f64, radius: f64) -> Bounds {
        if self.is_plane() {
            return self.bounds;
        }
        let size = if self.bounds.low.is_finite() { self.bounds.half().length() } else { 0.0 };
        let arm = (self.bounds.center() - self.center).length();
        let turn = if self.w == DVec3::ZERO { 0.0 } else { self.w.length() * h * (size + arm) };
        let moved = Bounds {
            low: self.bounds.low + (self.v * h).min(DVec3::ZERO),
            high: self.bounds.high + (self.v * h).max(DVec3::ZERO),
        };
        moved.grown(radius + turn)
    }

    /// Whether a particle that moves from `from` to `to` within `h` touches, seen from the solid as it moves.
    pub fn hit(&self, from: DVec3, to: DVec3, h: f64, radius: f64, riders: &Riders) -> Option<Hit> {
        let end = to - self.velocity(to, riders) * h;
        if let Form::Plane = self.form {
            let n = self.place.r.z_axis;
            let (a, b) = (n.dot(from - self.place.x) - radius, n.dot(end - self.place.x) - radius);
            return (b < 0.0).then(|| Hit { fraction: if a > 0.0 { a / (a - b) } else { 0.0 }, normal: n });
        }
        let path = Bounds::of([from, end]).grown(radius + 1e-6);
        if !path.overlaps(&self.bounds) {
            return None;
        }
        let (from, to) = (self.place.to_local(from), self.place.to_local(end));
        point::first_touch(&self.form, from, to, radius).map(|(fraction, n)| Hit { fraction, normal: self.place.r * n })
    }

    /// Signed distance of a point from the surface as it is at the start of the step, and the outward normal.
    pub fn distance(&self, p: DVec3, reach: f64) -> Option<(f64, DVec3)> {
        if !self.bounds.overlaps(&Bounds { low: p, high: p }.grown(reach)) {
            return None;
        }
        let local = self.place.to_local(p);
        point::distance(&self.form, local, local, reach).filter(|d| d.0 <= reach).map(|(d, n)| (d, self.place.r * n))
    }

    /// No point of it moves faster than this.
    pub fn fastest(&self) -> f64 {
        let size = if self.bounds.low.is_finite() { self.bounds.half().length() } else { 0.0 };
        let arm = (self.bounds.center() - self.center).length();
        self.v.length() + if self.w == DVec3::ZERO { 0.0 } else { self.w.length() * (size + arm) }
    }

    /// The corners of a polyhedron, in the world.
    pub fn corners(&self) -> Vec<DVec3> {
        let place = |p: DVec3| self.place.x + self.place.r * p;
        match &self.form {
            Form::Box { half } => {
                let sign = |k: usize, bit: usize| if k >> bit & 1 == 1 { 1.0 } else { -1.0 };
                (0..8).map(|k| place(*half * DVec3::new(sign(k, 0), sign(k, 1), sign(k, 2)))).collect()
            }
            Form::Hull(hull) => hull.points.iter().map(|p| place(*p)).collect(),
            _ => Vec::new(),
        }
    }

    /// A point inside, if it is convex.
    pub fn middle(&self) -> DVec3 {
        match &self.form {
            Form::Hull(hull) => {
                let sum: DVec3 = hull.points.iter().copied().sum();
                self.place.x + self.place.r * (sum / hull.points.len().max(1) as f64)
            }
            _ => self.place.x,
        }
    }

    pub fn is_convex(&self) -> bool {
        !matches!(self.form, Form::Mesh(_))
    }

    pub fn is_plane(&self) -> bool {
        matches!(self.form, Form::Plane)
    }
}
