//! Shapes: what a body is made of, how it touches and what it touches.

use serde::{Deserialize, Serialize};

/// A piece of a body's geometry, placed in the body frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// What it is.
    pub geometry: Geometry,
    /// Its origin in the body frame, m.
    #[serde(default)]
    pub position: [f64; 3],
    /// Its orientation in the body frame, quaternion (w, x, y, z).
    #[serde(default = "identity_quaternion")]
    pub orientation: [f64; 4],
    /// Coefficient of Coulomb friction.
    #[serde(default = "default_friction")]
    pub friction: f64,
    /// How the frictions of two touching shapes become one.
    #[serde(default = "geometric_mean")]
    pub friction_combine: Combine,
    /// Fraction of the speed of approach with which bodies part again, 0 to 1.
    #[serde(default)]
    pub restitution: f64,
    /// How the restitutions of two touching shapes become one.
    #[serde(default = "maximum")]
    pub restitution_combine: Combine,
    /// Resistance to rolling as a lever arm: largest torque per normal force, m. The larger of the two shapes counts.
    #[serde(default)]
    pub rolling_friction: f64,
    /// Resistance to spinning about the normal as a lever arm, m. The larger of the two shapes counts.
    #[serde(default)]
    pub spinning_friction: f64,
    /// Makes contacts soft; rigid if absent. Two soft shapes act as two springs in series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softness: Option<Softness>,
    /// The groups the shape belongs to, a bit each.
    #[serde(default = "first_group")]
    pub group: u32,
    /// The groups it collides with. Two shapes collide if each is in a group of the other's mask.
    #[serde(default = "all_groups")]
    pub mask: u32,
    /// A sensor notices what overlaps it ([`World::sensor_touches`](crate::World::sensor_touches),
    /// [`World::sensor_events`](crate::World::sensor_events)) and pushes nothing.
    #[serde(default)]
    pub sensor: bool,
}

fn identity_quaternion() -> [f64; 4] {
    [1.0, 0.0, 0.0, 0.0]
}

fn default_friction() -> f64 {
    0.5
}

fn geometric_mean() -> Combine {
    Combine::GeometricMean
}

fn maximum() -> Combine {
    Combine::Max
}

fn first_group() -> u32 {
    1
}

fn all_groups() -> u32 {
    u32::MAX
}

impl Geometry {
    /// A convex hull as the mesh of its surface, for drawing; `None` for other shapes and for points without volume.
    pub fn hull_as_mesh(&self) -> Option<Geometry> {
        let Geometry::ConvexHull { points } = self else { return None };
        let points: Vec<glam::DVec3> = points.iter().map(|&p| p.into()).collect();
        let hull = crate::collide::hull::Hull::of(&points)?;
        let vertices = hull.points.iter().map(glam::DVec3::to_array).collect();
        Some(Geometry::Mesh { vertices, triangles: hull.triangles() })
    }
}

impl Shape {
    /// A shape at the body's origin.
    pub fn new(geometry: Geometry) -> Self {
        Shape {
            geometry,
            position: [0.0; 3],
            orientation: identity_quaternion(),
            friction: default_friction(),
            friction_combine: geometric_mean(),
            restitution: 0.0,
            restitution_combine: maximum(),
            rolling_friction: 0.0,
            spinning_friction: 0.0,
            softness: None,
            group: first_group(),
            mask: all_groups(),
            sensor: false,
        }
    }

    /// Moves the shape in the body frame, m.
    pub fn at(mut self, position: impl Into<[f64; 3]>) -> Self {
        self.position = position.into();
        self
    }

    /// Turns the shape in the body frame, quaternion (w, x, y, z).
    pub fn oriented(mut self, w_x_y_z: [f64; 4]) -> Self {
        self.orientation = w_x_y_z;
        self
    }

    /// Sets the coefficient of friction.
    pub fn friction(mut self, coefficient: f64) -> Self {
        self.friction = coefficient;
        self
    }

    /// Sets the restitution, 0 to 1.
    pub fn restitution(mut self, restitution: f64) -> Self {
        self.restitution = restitution;
        self
    }

    /// Sets the groups the shape belongs to and the groups it collides with.
    pub fn groups(mut self, group: u32, mask: u32) -> Self {
        (self.group, self.mask) = (group, mask);
        self
    }

    /// Makes the shape a sensor.
    pub fn sensor(mut self) -> Self {
        self.sensor = true;
        self
    }
}

/// How a value of two touching shapes becomes one. If the shapes ask for different rules, the one further down counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// (a + b)/2.
    Average,
    /// √(a b).
    GeometricMean,
    /// The smaller.
    Min,
    /// a b.
    Multiply,
    /// The larger.
    Max,
}

/// A soft contact: a spring and a damper at every contact point, also across it while friction holds. It rebounds by its
/// spring; `restitution` is for hard contacts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Softness {
    /// Normal force per depth at a contact point, N/m.
    pub stiffness: f64,
    /// Normal force per speed at a contact point, N s/m.
    #[serde(default)]
    pub damping: f64,
}

/// Solid geometry, centred on its own origin unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Geometry {
    /// A ball.
    Sphere {
        /// Radius, m.
        radius: f64,
    },
    /// A box with faces across x, y and z.
    Box {
        /// Full extents, m.
        size: [f64; 3],
    },
    /// A cylinder along z with half balls on its ends.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Length of the segment between the centres of the half balls, m.
        length: f64,
    },
    /// A cylinder along z.
    Cylinder {
        /// Radius, m.
        radius: f64,
        /// Length, m.
        length: f64,
    },
    /// A cone along z: base at −length/2, tip at +length/2. Its centre of mass is at −length/4.
    Cone {
        /// Radius of the base, m.
        radius: f64,
        /// Height, m.
        length: f64,
    },
    /// The convex hull of points.
    ConvexHull {
        /// At least four points that do not lie in one plane, m.
        points: Vec<[f64; 3]>,
    },
    /// Triangles. A closed mesh (every edge between two triangles that run along it in opposite ways) is solid, also to rays and other
    /// questions; on a body that forces move it must be closed, and where it is not convex it
    /// collides as convex pieces, of which a warning tells. An open mesh is a surface with two sides
    /// and no inside, for bodies that forces do not move.
    Mesh {
        /// Corners, m.
        vertices: Vec<[f64; 3]>,
        /// Three corners each, counter-clockwise seen from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// Terrain: heights over a rectangle centred on the origin. Bodies rest on its upper side; to questions it is a surface without
    /// inside. For bodies that forces do not move.
    HeightField {
        /// Heights (z), m: rows along y, each from smallest to largest x; at least two rows of two.
        heights: Vec<Vec<f64>>,
        /// Extents along x and y, m.
        size: [f64; 2],
    },
    /// Everything below the plane z = 0 of the shape, without end. For bodies that forces do not move.
    Plane,
}
