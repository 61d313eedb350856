//! A scene: plain data that describes bodies and joints, written by hand, by a program or read from a file.
//!
//! SI units throughout; z is up by convention, because gravity's default points along −z.
//! Nothing here is checked: [`World::build`](crate::World::build) checks everything and names what is wrong by its path.

mod shape;
pub use shape::{Combine, Geometry, Shape, Softness};

mod particles;
pub use particles::{
    Attachment, Cloth, Fabric, NeighbourForce, ParametricObject, ParticleMethod, Particles, Pattern, Point, PointAngle,
    PointBend, PointSpring, Rod, Rope, Wire,
};

use serde::{Deserialize, Serialize};

/// The name that stands for the immovable world wherever a joint asks for a body.
pub const WORLD: &str = "world";

/// Everything needed to start a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Scene {
    /// What the scene is called in reports.
    pub name: String,
    /// One sentence on what it shows.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Gravitational acceleration, m/s².
    pub gravity: [f64; 3],
    /// How the scene wants to be stepped; the caller may choose otherwise.
    pub step: Stepping,
    /// The bodies, in the order of their ids.
    pub bodies: Vec<Body>,
    /// The joints, in the order of their ids.
    pub joints: Vec<Joint>,
    /// Systems of particles: masses and springs, ropes, cloth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub particles: Vec<Particles>,
    /// Whether bodies collide at all.
    #[serde(skip_serializing_if = "is_true")]
    pub collisions: bool,
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Default for Scene {
    fn default() -> Self {
        Scene {
            name: String::new(),
            description: String::new(),
            gravity: [0.0, 0.0, -9.81],
            step: Stepping::default(),
            bodies: Vec::new(),
            joints: Vec::new(),
            particles: Vec::new(),
            collisions: true,
        }
    }
}

impl Scene {
    /// An empty scene under ordinary gravity.
    pub fn new(name: impl Into<String>) -> Self {
        Scene { name: name.into(), ..Scene::default() }
    }

    /// Appends a body.
    pub fn body(&mut self, body: Body) -> &mut Self {
        self.bodies.push(body);
        self
    }

    /// Appends a system of particles.
    pub fn particles(&mut self, particles: Particles) -> &mut Self {
        self.particles.push(particles);
        self
    }

    /// Appends a joint.
    pub fn joint(&mut self, joint: Joint) -> &mut Self {
        self.joints.push(joint);
        self
    }
}

/// The step size and the time for which a scene is meant to run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Stepping {
    /// Step size, s.
    pub dt: f64,
    /// Time to simulate, s.
    pub duration: f64,
}

impl Default for Stepping {
    fn default() -> Self {
        Stepping { dt: 1.0 / 60.0, duration: 10.0 }
    }
}

/// How a body moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BodyKind {
    /// Moved by forces and joints.
    #[default]
    Dynamic,
    /// Never moves.
    Static,
    /// Moved by the user: its velocity is what the user says, whatever pushes against it.
    Kinematic,
}

/// A rigid body.
///
/// Mass properties come from, in this order: `mass` with `inertia`; `mass` spread over the shapes; `density` times the shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Body {
    /// Unique name, by which joints refer to the body.
    pub name: String,
    /// How the body moves.
    pub kind: BodyKind,
    /// Origin of the body frame in the world, m.
    pub position: [f64; 3],
    /// Orientation of the body frame as a quaternion (w, x, y, z); normalised when read.
    pub orientation: [f64; 4],
    /// Velocity of the body's origin, m/s.
    pub velocity: [f64; 3],
    /// Angular velocity in world axes, rad/s.
    pub angular_velocity: [f64; 3],
    /// Mass, kg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mass: Option<f64>,
    /// Moments of inertia (xx, yy, zz) about the centre of mass in body axes, kg m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inertia: Option<[f64; 3]>,
    /// Products of inertia (xy, xz, yz), the off-diagonal entries of the tensor, kg m².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inertia_products: Option<[f64; 3]>,
    /// Centre of mass in the body frame, m. Without it: that of the shapes, or the origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center_of_mass: Option<[f64; 3]>,
    /// Density of the shapes, kg/m³ (1000 if neither it nor `mass` is given).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// The shapes the body is made of.
    pub shapes: Vec<Shape>,
    /// Factor on gravity for this body alone.
    pub gravity_scale: f64,
    /// Linear velocity decays at this rate, 1/s.
    pub linear_damping: f64,
    /// Angular velocity decays at this rate, 1/s.
    pub angular_damping: f64,
}

impl Default for Body {
    fn default() -> Self {
        Body {
            name: String::new(),
            kind: BodyKind::Dynamic,
            position: [0.0; 3],
            orientation: [1.0, 0.0, 0.0, 0.0],
            velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            mass: None,
            inertia: None,
            inertia_products: None,
            center_of_mass: None,
            density: None,
            shapes: Vec::new(),
            gravity_scale: 1.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
        }
    }
}

impl Body {
    /// A dynamic body at the origin; give it a mass or a shape.
    pub fn new(name: impl Into<String>) -> Self {
        Body { name: name.into(), ..Body::default() }
    }

    /// A body that never moves.
    pub fn fixed(name: impl Into<String>) -> Self {
        Body { kind: BodyKind::Static, ..Body::new(name) }
    }

    /// A body moved by the user.
    pub fn kinematic(name: impl Into<String>) -> Self {
        Body { kind: BodyKind::Kinematic, ..Body::new(name) }
    }

    /// Places the body's origin, m.
    pub fn at(mut self, position: impl Into<[f64; 3]>) -> Self {
        self.position = position.into();
        self
    }

    /// Orients the body by a quaternion (w, x, y, z).
    pub fn oriented(mut self, w_x_y_z: [f64; 4]) -> Self {
        self.orientation = w_x_y_z;
        self
    }

    /// Gives the velocity of the origin (m/s) and the angular velocity in world axes (rad/s).
    pub fn moving(mut self, velocity: impl Into<[f64; 3]>, angular_velocity: impl Into<[f64; 3]>) -> Self {
        self.velocity = velocity.into();
        self.angular_velocity = angular_velocity.into();
        self
    }

    /// Sets the mass, kg; the inertia follows from the shapes unless given.
    pub fn with_mass(mut self, kilograms: f64) -> Self {
        self.mass = Some(kilograms);
        self
    }

    /// Sets the principal moments of inertia about the centre of mass, kg m².
    pub fn with_inertia(mut self, moments: impl Into<[f64; 3]>) -> Self {
        self.inertia = Some(moments.into());
        self
    }

    /// Sets the density of the shapes, kg/m³.
    pub fn with_density(mut self, density: f64) -> Self {
        self.density = Some(density);
        self
    }

    /// Adds a shape at the body's origin.
    pub fn shape(mut self, geometry: Geometry) -> Self {
        self.shapes.push(Shape::new(geometry));
        self
    }

    /// Adds a shape with a place of its own.
    pub fn placed_shape(mut self, shape: Shape) -> Self {
        self.shapes.push(shape);
        self
    }
}

/// What a joint holds and what it leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Two points coincide. Coordinates `x`, `y`, `z` (rotation vector, rad), `swing` and `twist` (limits only, rad).
    Ball,
    /// Rotation about the axis. Coordinate `angle`, rad.
    Hinge,
    /// Translation along the axis. Coordinate `displacement`, m.
    Slider,
    /// Rotation about and translation along the axis. Coordinates `displacement`, `angle`.
    Cylindrical,
    /// Motion in the plane across the axis and rotation about it. Coordinates `x`, `y`, `angle`.
    Planar,
    /// Cardan joint: rotation about the axis of a and about the second axis, of b. Coordinates `angle_a`, `angle_b`.
    Universal,
    /// Nothing moves.
    Fixed,
    /// A point of b stays on a line of a. Coordinate `displacement`.
    PointOnLine,
    /// A point of b stays in a plane of a. Coordinates `x`, `y`.
    PointOnPlane,
    /// Orientations stay fixed to each other, positions are free. Coordinates `x`, `y`, `z`, m.
    Orientation,
    /// The distance between two points is constant (a rod). Coordinate `length`, m.
    ///
    /// With a limit on `length` and without `length` itself it is a rope: see [`Joint::rope`].
    Distance,
    /// Holds nothing; carries the limits, springs and motors of the `length` between two points (rope, spring, ram).
    Rope,
    /// Helix: the displacement follows the angle. Coordinates `angle`, `displacement`.
    Screw,
    /// The coordinate of the second joint is `ratio` times that of the first.
    Gear,
    /// The displacement of the second joint is `radius` times the angle of the first.
    Rack,
    /// The coordinate of the third joint is the mean of the first two.
    Differential,
}

/// A joint between two bodies, or (gear, rack, differential) a coupling between joints.
///
/// Place it either in world coordinates of the start pose (`at`, `axis`, `second_axis`), or in the frames of its bodies (`frame_a`, `frame_b`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Joint {
    /// Unique name.
    #[serde(default)]
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: JointKind,
    /// First body, `"world"` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// Second body, `"world"` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
    /// The joint's point in world coordinates at the start, m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<[f64; 3]>,
    /// The joint's axis in world coordinates at the start, any length. For a ball it is the axis of cone and twist.
    ///
    /// It is z of the joint's frame. x, along which coordinates `x` count, is the world's X as far as that is across the axis, or the
    /// world's Y if the axis is within 8° of X; y is across both. So a joint with axis Z, or without an axis, counts along X, Y, Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axis: Option<[f64; 3]>,
    /// Universal joint: the axis fixed to b, in world coordinates at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_axis: Option<[f64; 3]>,
    /// The joint's frame on a, in a's coordinates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_a: Option<Frame>,
    /// The joint's frame on b, in b's coordinates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_b: Option<Frame>,
    /// Gear, rack, differential: the joints coupled, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<String>,
    /// Gear: coordinate of the second joint per coordinate of the first (negative for wheels that mesh outside).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Rack: metres of displacement per radian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Screw: metres of displacement per turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pitch: Option<f64>,
    /// Distance: the length kept, m; that of the start pose if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<f64>,
    /// What acts on the joint's coordinates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coordinates: Vec<Coordinate>,
    /// Whether the two bodies joined collide with each other; most overlap where they are joined.
    #[serde(default, skip_serializing_if = "is_false")]
    pub collide: bool,
}

/// A joint frame on a body: a point, an axis (z of the frame) and optionally the direction from which angles count (x).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Frame {
    /// Origin in the body frame, m.
    pub position: [f64; 3],
    /// Axis in the body frame, any length.
    pub axis: [f64; 3],
    /// Zero direction of angles, across the axis, and x of the frame; X of the body if absent, or Y if the axis is close to X.
    /// Given on both bodies it defines coordinate zero; otherwise the start pose does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<[f64; 3]>,
}

impl Default for Frame {
    fn default() -> Self {
        Frame { position: [0.0; 3], axis: [0.0, 0.0, 1.0], reference: None }
    }
}

impl Frame {
    /// A frame at a point, axis z.
    pub fn at(position: impl Into<[f64; 3]>) -> Self {
        Frame { position: position.into(), ..Frame::default() }
    }

    /// Sets the axis.
    pub fn axis(mut self, axis: impl Into<[f64; 3]>) -> Self {
        self.axis = axis.into();
        self
    }

    /// Sets the zero direction of angles.
    pub fn reference(mut self, reference: impl Into<[f64; 3]>) -> Self {
        self.reference = Some(reference.into());
        self
    }
}

/// What acts on one coordinate of a joint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Coordinate {
    /// The coordinate's name (`angle`, `displacement`, …); the joint's first if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Range that is never left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Dry (Coulomb) friction: largest force (N) or torque (N m) with which the joint resists motion.
    #[serde(skip_serializing_if = "is_zero")]
    pub friction: f64,
    /// Viscous damping, N s/m or N m s/rad.
    #[serde(skip_serializing_if = "is_zero")]
    pub damping: f64,
    /// A spring towards a rest value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spring: Option<Spring>,
    /// What drives the coordinate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub motor: Option<Motor>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Range of a joint coordinate, rad (beyond ±π for more than one turn) or m.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Smallest value; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest value; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Fraction of the speed with which the coordinate leaves its stop again, 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restitution: f64,
}

/// A linear spring on a joint coordinate, integrated implicitly at any stiffness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Spring {
    /// N/m or N m/rad.
    pub stiffness: f64,
    /// N s/m or N m s/rad.
    #[serde(default)]
    pub damping: f64,
    /// Value of the coordinate at which the spring is relaxed.
    #[serde(default)]
    pub rest: f64,
}

/// What drives a joint coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Motor {
    /// A constant force (N) or torque (N m).
    Force {
        /// N or N m.
        value: f64,
    },
    /// Holds a velocity with at most a given force.
    Velocity {
        /// m/s or rad/s.
        target: f64,
        /// N or N m; as much as it takes if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_force: Option<f64>,
    },
    /// Drives to a value: PID, stable at any gain.
    Servo {
        /// m or rad.
        target: f64,
        /// Target velocity, m/s or rad/s.
        #[serde(default)]
        target_velocity: f64,
        /// Proportional gain, N/m or N m/rad.
        stiffness: f64,
        /// Derivative gain, N s/m or N m s/rad.
        #[serde(default)]
        damping: f64,
        /// Integral gain, N/(m s) or N m/(rad s); the integral stops while the force is at its maximum.
        #[serde(default)]
        integral: f64,
        /// N or N m; as much as it takes if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_force: Option<f64>,
    },
}

impl Joint {
    /// A joint of any kind between two bodies (or [`WORLD`]).
    pub fn new(kind: JointKind, name: impl Into<String>, a: impl Into<String>, b: impl Into<String>) -> Self {
        Joint { a: Some(a.into()), b: Some(b.into()), ..Joint::unplaced(kind, name.into()) }
    }

    fn unplaced(kind: JointKind, name: String) -> Self {
        Joint {
            name,
            kind,
            a: None,
            b: None,
            at: None,
            axis: None,
            second_axis: None,
            frame_a: None,
            frame_b: None,
            joints: Vec::new(),
            ratio: None,
            radius: None,
            pitch: None,
            length: None,
            coordinates: Vec::new(),
            collide: false,
        }
    }

    /// A ball joint at a point of the start pose.
    pub fn ball(name: impl Into<String>, a: impl Into<String>, b: impl Into<String>, at: impl Into<[f64; 3]>) -> Self {
        Joint::new(JointKind::Ball, name, a, b).at(at)
    }

    /// A hinge at a point of the start pose, about an axis.
    pub fn hinge(
        name: impl Into<String>,
        a: impl Into<String>,
        b: impl Into<String>,
        at: impl Into<[f64; 3]>,
        axis: impl Into<[f64; 3]>,
    ) -> Self {
        Joint::new(JointKind::Hinge, name, a, b).at(at).axis(axis)
    }

    /// A slider along an axis.
    pub fn slider(
        name: impl Into<String>,
        a: impl Into<String>,
        b: impl Into<String>,
        at: impl Into<[f64; 3]>,
        axis: impl Into<[f64; 3]>,
    ) -> Self {
        Joint::new(JointKind::Slider, name, a, b).at(at).axis(axis)
    }

    /// Two bodies as one.
    pub fn fixed(name: impl Into<String>, a: impl Into<String>, b: impl Into<String>, at: impl Into<[f64; 3]>) -> Self {
        Joint::new(JointKind::Fixed, name, a, b).at(at)
    }

    /// A rod between a point of a and a point of b, each in its body's coordinates.
    pub fn distance(
        name: impl Into<String>,
        a: impl Into<String>,
        point_a: impl Into<[f64; 3]>,
        b: impl Into<String>,
        point_b: impl Into<[f64; 3]>,
    ) -> Self {
        Joint::new(JointKind::Distance, name, a, b).frames(Frame::at(point_a), Frame::at(point_b))
    }

    /// A rope: the distance between a point of a and a point of b never exceeds `longest`.
    pub fn rope(
        name: impl Into<String>,
        a: impl Into<String>,
        point_a: impl Into<[f64; 3]>,
        b: impl Into<String>,
        point_b: impl Into<[f64; 3]>,
        longest: f64,
    ) -> Self {
        Joint::new(JointKind::Rope, name, a, b)
            .frames(Frame::at(point_a), Frame::at(point_b))
            .with(Coordinate::default().limit(None, Some(longest)))
    }

    /// A coupling: coordinate of `second` = `ratio` × coordinate of `first`.
    pub fn gear(name: impl Into<String>, first: impl Into<String>, second: impl Into<String>, ratio: f64) -> Self {
        Joint {
            joints: vec![first.into(), second.into()],
            ratio: Some(ratio),
            ..Joint::unplaced(JointKind::Gear, name.into())
        }
    }

    /// A coupling: displacement of `slider` = `radius` × angle of `hinge`.
    pub fn rack(name: impl Into<String>, hinge: impl Into<String>, slider: impl Into<String>, radius: f64) -> Self {
        Joint {
            joints: vec![hinge.into(), slider.into()],
            radius: Some(radius),
            ..Joint::unplaced(JointKind::Rack, name.into())
        }
    }

    /// A coupling: coordinate of `mean` = mean of the coordinates of `first` and `second`.
    pub fn differential(
        name: impl Into<String>,
        first: impl Into<String>,
        second: impl Into<String>,
        mean: impl Into<String>,
    ) -> Self {
        Joint {
            joints: vec![first.into(), second.into(), mean.into()],
            ..Joint::unplaced(JointKind::Differential, name.into())
        }
    }

    /// Places the joint at a world point of the start pose.
    pub fn at(mut self, point: impl Into<[f64; 3]>) -> Self {
        self.at = Some(point.into());
        self
    }

    /// Gives the joint its axis in world coordinates of the start pose.
    pub fn axis(mut self, axis: impl Into<[f64; 3]>) -> Self {
        self.axis = Some(axis.into());
        self
    }

    /// Gives a universal joint the axis of b, in world coordinates of the start pose.
    pub fn second_axis(mut self, axis: impl Into<[f64; 3]>) -> Self {
        self.second_axis = Some(axis.into());
        self
    }

    /// Places the joint by a frame on each body.
    pub fn frames(mut self, on_a: Frame, on_b: Frame) -> Self {
        self.frame_a = Some(on_a);
        self.frame_b = Some(on_b);
        self
    }

    /// Lets the two bodies joined collide with each other.
    pub fn colliding(mut self) -> Self {
        self.collide = true;
        self
    }

    /// Adds what acts on a coordinate.
    pub fn with(mut self, coordinate: Coordinate) -> Self {
        self.coordinates.push(coordinate);
        self
    }
}

impl Coordinate {
    /// The coordinate of that name.
    pub fn of(name: impl Into<String>) -> Self {
        Coordinate { of: Some(name.into()), ..Coordinate::default() }
    }

    /// Limits the coordinate.
    pub fn limit(mut self, min: Option<f64>, max: Option<f64>) -> Self {
        self.limit = Some(Limit { min, max, restitution: 0.0 });
        self
    }

    /// Adds dry friction, N or N m.
    pub fn friction(mut self, largest: f64) -> Self {
        self.friction = largest;
        self
    }

    /// Adds viscous damping, N s/m or N m s/rad.
    pub fn damping(mut self, damping: f64) -> Self {
        self.damping = damping;
        self
    }

    /// Adds a spring.
    pub fn spring(mut self, stiffness: f64, damping: f64, rest: f64) -> Self {
        self.spring = Some(Spring { stiffness, damping, rest });
        self
    }

    /// Adds a motor.
    pub fn motor(mut self, motor: Motor) -> Self {
        self.motor = Some(motor);
        self
    }
}
