//! Particles of a scene: points, springs, rods, ropes, cloth, and what they are attached to.
//!
//! Points of a system are numbered: first `points`, then those of each rope, of each parametric object, of each cloth.

use super::{is_false, is_true, is_zero};
use serde::{Deserialize, Serialize};

/// A system of particles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Particles {
    /// Unique name.
    pub name: String,
    /// How it is stepped.
    pub method: ParticleMethod,
    /// How near particles come to shapes, m.
    pub radius: f64,
    /// Coefficient of friction against shapes.
    pub friction: f64,
    /// Restitution against shapes, 0 to 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub restitution: f64,
    /// Whether particles collide with the bodies of the scene.
    #[serde(skip_serializing_if = "is_true")]
    pub collides: bool,
    /// Drag of every particle in the air, N s/m.
    #[serde(skip_serializing_if = "is_zero")]
    pub drag: f64,
    /// Velocity of the air, m/s.
    #[serde(skip_serializing_if = "is_calm")]
    pub wind: [f64; 3],
    /// Attraction and repulsion between particles near each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourForce>,
    /// Particles one by one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// Springs between two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub springs: Vec<PointSpring>,
    /// Springs that straighten three in a row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bends: Vec<PointBend>,
    /// Springs on the angle of three.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub angles: Vec<PointAngle>,
    /// Distances that are kept exactly.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rods: Vec<Rod>,
    /// Curves and surfaces that points stay on exactly.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wires: Vec<Wire>,
    /// Rows of particles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ropes: Vec<Rope>,
    /// Objects by their coordinates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parametric: Vec<ParametricObject>,
    /// Sheets of triangles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cloths: Vec<Cloth>,
    /// Points held where they start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nails: Vec<usize>,
    /// Points fixed to bodies where they start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

fn is_calm(wind: &[f64; 3]) -> bool {
    *wind == [0.0; 3]
}

impl Default for Particles {
    fn default() -> Self {
        Particles {
            name: String::new(),
            method: ParticleMethod::Implicit,
            radius: 0.005,
            friction: 0.5,
            restitution: 0.0,
            collides: true,
            drag: 0.0,
            wind: [0.0; 3],
            neighbours: None,
            points: Vec::new(),
            springs: Vec::new(),
            bends: Vec::new(),
            angles: Vec::new(),
            rods: Vec::new(),
            wires: Vec::new(),
            ropes: Vec::new(),
            parametric: Vec::new(),
            cloths: Vec::new(),
            nails: Vec::new(),
            attachments: Vec::new(),
        }
    }
}

impl Particles {
    /// A system without particles.
    pub fn new(name: impl Into<String>) -> Self {
        Particles { name: name.into(), ..Particles::default() }
    }

    /// Adds a particle; returns its number, which holds as long as ropes, objects and cloth come later.
    pub fn point(&mut self, position: impl Into<[f64; 3]>, mass: f64) -> usize {
        self.points.push(Point { position: position.into(), mass, ..Point::default() });
        self.points.len() - 1
    }

    /// Adds a rod between two points, as long as they are apart at the start.
    pub fn rod(&mut self, a: usize, b: usize) -> &mut Self {
        self.rods.push(Rod { a, b, length: None });
        self
    }

    /// Adds a spring between two points, relaxed at the start.
    pub fn spring(&mut self, a: usize, b: usize, stiffness: f64, damping: f64) -> &mut Self {
        self.springs.push(PointSpring { a, b, length: None, stiffness, damping });
        self
    }
}

/// How particles are stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ParticleMethod {
    /// Backward Euler: damps, stable at any stiffness.
    #[default]
    Implicit,
    /// Velocity Verlet: keeps energy; the step must resolve the stiffest spring.
    Verlet,
    /// Runge–Kutta of fourth order; parametric objects need it.
    RungeKutta,
}

/// A particle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Point {
    /// m.
    pub position: [f64; 3],
    /// m/s.
    pub velocity: [f64; 3],
    /// kg.
    pub mass: f64,
    /// Held where it is.
    #[serde(skip_serializing_if = "is_false")]
    pub nailed: bool,
}

impl Default for Point {
    fn default() -> Self {
        Point { position: [0.0; 3], velocity: [0.0; 3], mass: 1.0, nailed: false }
    }
}

/// A damped spring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointSpring {
    /// First point.
    pub a: usize,
    /// Second point.
    pub b: usize,
    /// Length without force, m; that of the start if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// N/m.
    pub stiffness: f64,
    /// N s/m.
    #[serde(default)]
    pub damping: f64,
}

/// A spring that pulls the middle of three points between the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointBend {
    /// One end.
    pub a: usize,
    /// The middle.
    pub b: usize,
    /// The other end.
    pub c: usize,
    /// N/m.
    pub stiffness: f64,
    /// N s/m.
    #[serde(default)]
    pub damping: f64,
}

/// A spring on the angle at b.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PointAngle {
    /// One end.
    pub a: usize,
    /// The vertex.
    pub b: usize,
    /// The other end.
    pub c: usize,
    /// Angle without torque, rad.
    pub angle: f64,
    /// N m/rad.
    pub stiffness: f64,
    /// N m s/rad.
    #[serde(default)]
    pub damping: f64,
}

/// A distance that is kept exactly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rod {
    /// First point.
    pub a: usize,
    /// Second point.
    pub b: usize,
    /// m; that of the start if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
}

/// A curve or surface that a point stays on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wire {
    /// A straight line.
    Line {
        /// The point that stays on it.
        point: usize,
        /// A place on it, m.
        through: [f64; 3],
        /// Along it.
        direction: [f64; 3],
    },
    /// A circle.
    Circle {
        /// The point that stays on it.
        point: usize,
        /// m.
        center: [f64; 3],
        /// Across it.
        normal: [f64; 3],
        /// m.
        radius: f64,
    },
    /// A smooth curve.
    Spline {
        /// The point that stays on it.
        point: usize,
        /// Places it goes through, m.
        through: Vec<[f64; 3]>,
        /// Whether it closes.
        #[serde(default)]
        closed: bool,
    },
    /// A plane.
    Plane {
        /// The point that stays in it.
        point: usize,
        /// A place in it, m.
        through: [f64; 3],
        /// Across it.
        normal: [f64; 3],
    },
    /// A sphere.
    Sphere {
        /// The point that stays on it.
        point: usize,
        /// m.
        center: [f64; 3],
        /// m.
        radius: f64,
    },
}

/// A row of particles with springs between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rope {
    /// Places it goes through, m; straight between them.
    pub through: Vec<[f64; 3]>,
    /// Number of springs.
    pub segments: usize,
    /// kg.
    pub mass: f64,
    /// Length without force, m; that of its course if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// Force per relative stretch, N: Young's modulus times cross-section. Pieces keep their length, and fold when pushed.
    pub stiffness: f64,
    /// Damping as a time, s.
    #[serde(default = "rope_damping")]
    pub damping: f64,
    /// Resistance to bending, N m².
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bend: f64,
    /// The body that its first point is fixed to; `"world"` nails it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// The body that its last point is fixed to; `"world"` nails it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

fn rope_damping() -> f64 {
    0.01
}

impl Rope {
    /// A straight rope.
    pub fn new(from: impl Into<[f64; 3]>, to: impl Into<[f64; 3]>, segments: usize, mass: f64, stiffness: f64) -> Self {
        let through = vec![from.into(), to.into()];
        let damping = rope_damping();
        Rope { through, segments, mass, length: None, stiffness, damping, bend: 0.0, start: None, end: None }
    }

    /// Fixes its ends to bodies, `"world"` for a nail.
    pub fn between(mut self, start: impl Into<String>, end: impl Into<String>) -> Self {
        (self.start, self.end) = (Some(start.into()), Some(end.into()));
        self
    }
}

/// Points by coordinates: no constraint, no drift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ParametricObject {
    /// A bead on a circular wire.
    Bead {
        /// m.
        center: [f64; 3],
        /// Across the circle.
        normal: [f64; 3],
        /// m.
        radius: f64,
        /// kg.
        mass: f64,
        /// Where it starts, m; the nearest place of the circle.
        start: [f64; 3],
        /// rad/s.
        #[serde(default)]
        rate: f64,
    },
    /// A chain of rods in the plane of x and z, from a pivot.
    Pendulum {
        /// m.
        pivot: [f64; 3],
        /// Lengths of the rods, m.
        lengths: Vec<f64>,
        /// Masses at their ends, kg.
        masses: Vec<f64>,
        /// Angles of the rods against x, rad.
        angles: Vec<f64>,
    },
}

/// A sheet of triangles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cloth {
    /// Its shape without forces.
    pub pattern: Pattern,
    /// What it is made of.
    #[serde(default)]
    pub fabric: Fabric,
}

/// The shape of cloth at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// A parallelogram: points row by row, (columns + 1)(rows + 1) of them.
    Grid {
        /// m.
        corner: [f64; 3],
        /// Along the columns, to the next corner, m.
        along: [f64; 3],
        /// Along the rows, to the next corner, m.
        across: [f64; 3],
        /// Cells along.
        columns: usize,
        /// Cells across.
        rows: usize,
    },
    /// Any triangles.
    Mesh {
        /// m.
        vertices: Vec<[f64; 3]>,
        /// Three vertices each.
        triangles: Vec<[u32; 3]>,
    },
}

/// What cloth is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Fabric {
    /// kg/m².
    pub density: f64,
    /// Resistance to stretch, N/m.
    pub stretch: f64,
    /// Resistance to shear, N/m.
    pub shear: f64,
    /// Resistance to bending, N m.
    pub bend: f64,
    /// Damping as a time, s.
    pub damping: f64,
    /// Half the density of air times the drag coefficient, kg/m³.
    pub air: f64,
    /// How near layers come to each other, m.
    pub thickness: f64,
    /// Coefficient of friction between layers.
    pub friction: f64,
    /// Whether the cloth collides with itself.
    pub self_collision: bool,
}

impl Default for Fabric {
    fn default() -> Self {
        let m = crate::particle::ClothMaterial::default();
        Fabric {
            density: m.density,
            stretch: m.stretch,
            shear: m.shear,
            bend: m.bend,
            damping: m.damping,
            air: m.air,
            thickness: m.thickness,
            friction: m.friction,
            self_collision: m.self_collision,
        }
    }
}

/// A point fixed to a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// The point.
    pub point: usize,
    /// The body.
    pub body: String,
}

/// Attraction and repulsion: k (1 − r/rest)(1 − r/cutoff), positive pushes apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NeighbourForce {
    /// Force at no distance, N.
    pub strength: f64,
    /// Distance of rest, m.
    pub rest: f64,
    /// Distance beyond which there is none, m.
    pub cutoff: f64,
    /// N s/m.
    #[serde(default)]
    pub damping: f64,
}
