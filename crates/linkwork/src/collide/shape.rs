//! Colliders: the shapes of a body, compiled for collision in the frame of its centre of mass and principal axes.

use super::convex::Rounded;
use super::core::Core;
use super::hull::Hull;
use super::mesh::Mesh;
use super::parry::{self, Bounds};
use crate::math::inertia::MassProperties;
use crate::scene::{Body, BodyKind, Combine, Geometry, Shape, Softness};
use glam::{DMat3, DQuat, DVec3};
use std::sync::Arc;

/// How much more than a mesh its hull may enclose for the mesh to be convex, by its volume.
const CONVEX: f64 = 1e-6;

/// What a collider is, in its own frame.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Sphere { radius: f64 },
    Capsule { half: f64, radius: f64 },
    Box { half: DVec3 },
    Cylinder { half: f64, radius: f64 },
    Cone { half: f64, radius: f64 },
    Hull(Arc<Hull>),
    Mesh(Arc<Mesh>),
    Plane,
}

/// A shape, or a convex piece of one, fixed to a body. What a look at a pair asks for comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Collider {
    pub form: Form,
    /// Index of the shape in the body's description.
    pub shape: u32,
    pub group: u32,
    pub mask: u32,
    pub sensor: bool,
    /// Radius about the centre of mass that holds all of it: how far its points move when the body turns.
    pub sweep: f64,
    /// In its own frame; infinite for a plane.
    pub bounds: Bounds,
    /// Place in the principal frame at the centre of mass.
    pub position: DVec3,
    pub turn: DMat3,
    pub material: Material,
}

/// How a shape touches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Material {
    pub friction: (f64, Combine),
    pub restitution: (f64, Combine),
    pub rolling: f64,
    pub spinning: f64,
    pub softness: Option<Softness>,
}

/// How two shapes touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairMaterial {
    pub friction: f64,
    pub restitution: f64,
    /// m.
    pub rolling: f64,
    /// m.
    pub spinning: f64,
    pub softness: Option<Softness>,
}

impl PairMaterial {
    /// Of what does not rub, bounce or give way.
    pub const NONE: PairMaterial =
        PairMaterial { friction: 0.0, restitution: 0.0, rolling: 0.0, spinning: 0.0, softness: None };
}

impl Material {
    pub fn with(&self, other: &Material) -> PairMaterial {
        let softness = match (self.softness, other.softness) {
            // two springs, two dampers in series
            (Some(a), Some(b)) => {
                let series = |x: f64, y: f64| if x + y > 0.0 { x * y / (x + y) } else { 0.0 };
                Some(Softness { stiffness: series(a.stiffness, b.stiffness), damping: series(a.damping, b.damping) })
            }
            (one, other) => one.or(other),
        };
        PairMaterial {
            friction: combine(self.friction, other.friction),
            restitution: combine(self.restitution, other.restitution),
            rolling: self.rolling.max(other.rolling),
            spinning: self.spinning.max(other.spinning),
            softness,
        }
    }
}

fn combine(a: (f64, Combine), b: (f64, Combine)) -> f64 {
    match a.1.max(b.1) {
        Combine::Average => 0.5 * (a.0 + b.0),
        Combine::GeometricMean => (a.0 * b.0).sqrt(),
        Combine::Min => a.0.min(b.0),
        Combine::Multiply => a.0 * b.0,
        Combine::Max => a.0.max(b.0),
    }
}

impl Form {
    /// The rounded core of a convex form.
    pub fn convex(&self) -> Option<Rounded<'_>> {
        let (core, radius) = match self {
            Form::Sphere { radius } => (Core::Point, *radius),
            Form::Capsule { half, radius } => (Core::Segment { half: *half }, *radius),
            Form::Box { half } => (Core::Box { half: *half }, 0.0),
            Form::Cylinder { half, radius } => (Core::Cylinder { half: *half, radius: *radius }, 0.0),
            Form::Cone { half, radius } => (Core::Cone { half: *half, radius: *radius }, 0.0),
            Form::Hull(hull) => (Core::Hull(hull), 0.0),
            Form::Mesh(_) | Form::Plane => return None,
        };
        Some(Rounded { core, radius })
    }

    pub fn bounds(&self) -> Bounds {
        let around = |half: DVec3| Bounds { low: -half, high: half };
        match self {
            Form::Sphere { radius } => around(DVec3::splat(*radius)),
            Form::Capsule { half, radius } => around(DVec3::new(*radius, *radius, half + radius)),
            Form::Box { half } => around(*half),
            Form::Cylinder { half, radius } | Form::Cone { half, radius } => {
                around(DVec3::new(*radius, *radius, *half))
            }
            Form::Hull(hull) => Bounds::of(hull.points.iter().copied()),
            Form::Mesh(mesh) => mesh.bounds,
            Form::Plane => around(DVec3::INFINITY),
        }
    }

    /// Largest distance of its points from a point.
    fn reach_from(&self, p: DVec3) -> f64 {
        match self {
            Form::Sphere { radius } => p.length() + radius,
            Form::Capsule { half, radius } => (p.abs() + DVec3::new(0.0, 0.0, *half)).length() + radius,
            Form::Hull(hull) => hull.points.iter().map(|q| q.distance(p)).fold(0.0, f64::max),
            Form::Mesh(mesh) => mesh.vertices.iter().map(|q| q.distance(p)).fold(0.0, f64::max),
            Form::Plane => 0.0,
            _ => {
                let b = self.bounds();
                (p - b.center()).abs().length().max(((p - b.center()).abs() + b.half()).length())
            }
        }
    }
}

/// The form of a geometry that has passed its checks; several convex pieces for a concave mesh on a moving body.
pub(crate) fn forms(geometry: &Geometry, kind: BodyKind) -> Vec<Form> {
    let points = |p: &[[f64; 3]]| p.iter().map(|&v| DVec3::from(v)).collect::<Vec<_>>();
    vec![match geometry {
        Geometry::Sphere { radius } => Form::Sphere { radius: *radius },
        Geometry::Box { size } => Form::Box { half: 0.5 * DVec3::from(*size) },
        Geometry::Capsule { radius, length } => Form::Capsule { half: 0.5 * length, radius: *radius },
        Geometry::Cylinder { radius, length } => Form::Cylinder { half: 0.5 * length, radius: *radius },
        Geometry::Cone { radius, length } => Form::Cone { half: 0.5 * length, radius: *radius },
        Geometry::ConvexHull { points: corners } => match Hull::of(&points(corners)) {
            Some(hull) => Form::Hull(Arc::new(hull)),
            None => return Vec::new(),
        },
        Geometry::Mesh { vertices, triangles } if kind == BodyKind::Dynamic => {
            return convex_parts(&points(vertices), triangles).into_iter().map(|h| Form::Hull(Arc::new(h))).collect();
        }
        Geometry::Mesh { vertices, triangles } => Form::Mesh(Arc::new(Mesh::new(points(vertices), triangles.clone()))),
        Geometry::HeightField { heights, size } => Form::Mesh(Arc::new(Mesh::terrain(heights, *size))),
        Geometry::Plane => Form::Plane,
    }]
}

/// A closed mesh as convex pieces: one, its hull, if that encloses the same volume.
fn convex_parts(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Hull> {
    let volume = super::hull::integrals(vertices, triangles).0.abs();
    let used: Vec<DVec3> = triangles.iter().flatten().map(|&i| vertices[i as usize]).collect();
    let Some(hull) = Hull::of(&used) else { return Vec::new() };
    if hull.volume() <= volume * (1.0 + CONVEX) {
        return vec![hull];
    }
    parry::convex_pieces(vertices, triangles).iter().filter_map(|points| Hull::of(points)).collect()
}

/// Where a mesh collides as hulls that are not the mesh itself: how much more these enclose, by the volume of the mesh.
fn volume_added(geometry: &Geometry, forms: &[Form]) -> Option<f64> {
    let Geometry::Mesh { vertices, triangles } = geometry else { return None };
    let of = |form: &Form| if let Form::Hull(hull) = form { Some(hull.volume()) } else { None };
    let volumes: Vec<f64> = forms.iter().map(of).collect::<Option<_>>()?;
    let vertices: Vec<DVec3> = vertices.iter().map(|&v| DVec3::from(v)).collect();
    let volume = super::hull::integrals(&vertices, triangles).0.abs();
    let more = volumes.iter().sum::<f64>() / volume - 1.0;
    (forms.len() != 1 || more > CONVEX).then_some(more)
}

/// Compiles the shapes of a body; a warning for every shape that collides as something else.
pub(crate) fn compile(body: &Body, mass: &MassProperties) -> (Vec<Collider>, Vec<String>) {
    let mut colliders = Vec::new();
    let mut warnings = Vec::new();
    for (i, shape) in body.shapes.iter().enumerate() {
        let forms = forms(&shape.geometry, body.kind);
        if let Some(more) = volume_added(&shape.geometry, &forms) {
            warnings.push(format!(
                "body \"{}\", shapes[{i}]: its mesh is not convex and collides as {} convex {}, which enclose {:.1} % more than the mesh",
                body.name,
                forms.len(),
                if forms.len() == 1 { "piece" } else { "pieces" },
                100.0 * more
            ));
        }
        colliders.extend(forms.into_iter().map(|form| collider(form, i, shape, mass)));
    }
    (colliders, warnings)
}

fn collider(form: Form, index: usize, shape: &Shape, mass: &MassProperties) -> Collider {
    let [w, x, y, z] = shape.orientation;
    let q = mass.axes.inverse() * DQuat::from_xyzw(x, y, z, w).normalize();
    let position = mass.axes.inverse() * (DVec3::from(shape.position) - mass.center);
    let turn = DMat3::from_quat(q);
    Collider {
        shape: index as u32,
        position,
        turn,
        material: Material {
            friction: (shape.friction, shape.friction_combine),
            restitution: (shape.restitution, shape.restitution_combine),
            rolling: shape.rolling_friction,
            spinning: shape.spinning_friction,
            softness: shape.softness,
        },
        group: shape.group,
        mask: shape.mask,
        sensor: shape.sensor,
        bounds: form.bounds(),
        sweep: form.reach_from(-(turn.transpose() * position)),
        form,
    }
}
