//! What can push two bodies while nothing collides: contact points, limits, dry friction and motors of joints.

use crate::collide::Manifold;
use crate::joint::Motion;
use crate::joint::drive::{BoundedMotor, Linear};
use crate::joint::rows::Row;
use crate::math::Placed;
use crate::world::World;
use glam::DVec3;

/// A contact point.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// The pair that it belongs to.
    pub manifold: Manifold,
    /// In the frames of both bodies, by which it is found again: a corner stays on its body, whatever it slides on.
    pub local_a: DVec3,
    pub local_b: DVec3,
    pub normal: DVec3,
    pub position: DVec3,
    pub tangents: [DVec3; 2],
    /// The direction in which b slides over a; none while it sticks.
    pub slip: Option<DVec3>,
}

/// A coordinate of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Slot.
    pub joint: usize,
    pub coordinate: usize,
}

/// What it is that pushes; nearly all are contacts, so that the size of those is that of all.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Copy)]
pub(super) enum What {
    Contact(Point),
    /// A coordinate at a bound: `side` is 1 at the lower one, −1 at the upper. `held`: both bounds are the same.
    Limit {
        at: Place,
        side: f64,
        held: bool,
        restitution: f64,
    },
    /// Dry friction (target zero) or a motor that holds a rate with at most so much force. `slip` is the sign of the rate
    /// against the target; none while it is held.
    Drive {
        at: Place,
        motor: bool,
        target: f64,
        most: f64,
        slip: Option<f64>,
    },
    /// A servo with a bound on its force.
    Servo {
        at: Place,
        law: Linear,
        most: f64,
    },
}

/// Something that pushes.
#[derive(Clone, Copy)]
pub(super) struct Push {
    /// Slots; none is the ground.
    pub a: Option<u32>,
    pub b: Option<u32>,
    pub what: What,
    /// The normal (then tangents) of a contact, or the coordinate: positive is apart, or into the range.
    pub rows: [Row; 3],
    /// What the rates of the rows change by without accelerations: J̇u.
    pub bias: [f64; 3],
    pub gap: f64,
    /// Forces along the rows.
    pub force: [f64; 3],
}

impl Point {
    pub fn new(manifold: Manifold, normal: DVec3, position: DVec3, a: &Placed, b: &Placed) -> Point {
        let tangents = tangents(normal, DVec3::ZERO);
        let (local_a, local_b) = (DVec3::ZERO, DVec3::ZERO);
        let mut point = Point { manifold, local_a, local_b, normal, position, tangents, slip: None };
        point.put(normal, position, a, b);
        point
    }

    /// How far a place is from where the point would be as part of either body, m.
    pub fn distance(&self, position: DVec3, a: &Placed, b: &Placed) -> f64 {
        let (in_a, in_b) = (a.x + a.q * self.local_a, b.x + b.q * self.local_b);
        position.distance(in_a).min(position.distance(in_b))
    }

    /// Moves it to a place.
    pub fn put(&mut self, normal: DVec3, position: DVec3, a: &Placed, b: &Placed) {
        (self.normal, self.position) = (normal, position);
        self.local_a = a.q.inverse() * (position - a.x);
        self.local_b = b.q.inverse() * (position - b.x);
        self.tangents = tangents(normal, self.tangents[0]);
    }
}

impl Push {
    pub fn new(a: Option<u32>, b: Option<u32>, what: What) -> Push {
        Push { a, b, what, rows: [Row::default(); 3], bias: [0.0; 3], gap: 0.0, force: [0.0; 3] }
    }

    pub fn point(&self) -> Option<&Point> {
        match &self.what {
            What::Contact(point) => Some(point),
            _ => None,
        }
    }

    pub fn point_mut(&mut self) -> Option<&mut Point> {
        match &mut self.what {
            What::Contact(point) => Some(point),
            _ => None,
        }
    }
}

/// Rows of directions at a point of two bodies, as velocities of b against a.
pub(super) fn row_at(direction: DVec3, position: DVec3, a: &Placed, b: &Placed) -> Row {
    let (ra, rb) = (position - a.x, position - b.x);
    Row { lin: direction, ang_a: -ra.cross(direction), ang_b: rb.cross(direction) }
}

/// Two tangents, the first along `first` as far as that is across the normal.
pub(super) fn tangents(normal: DVec3, first: DVec3) -> [DVec3; 2] {
    let along = first - normal * normal.dot(first);
    let t = along.try_normalize().unwrap_or_else(|| normal.any_orthonormal_vector());
    [t, normal.cross(t)]
}

/// The limits that are reached or may be, friction and bounded motors of all joints; their gaps are how far limits are away.
pub(super) fn of_joints(world: &World) -> Vec<Push> {
    let mut found = Vec::new();
    for (id, joint) in world.joints.iter() {
        let slot = |id: Option<crate::handle::BodyId>| id.map(|id| id.slot() as u32);
        let (a, b) = (slot(joint.a), slot(joint.b));
        for (coordinate, drive) in joint.drives.iter().enumerate() {
            let at = Place { joint: id.slot(), coordinate };
            let mut add = |what: What, gap: f64| found.push(Push { gap, ..Push::new(a, b, what) });
            if let Some(limit) = drive.limit {
                let range = limit.min.zip(limit.max).map_or(f64::INFINITY, |(lo, hi)| hi - lo);
                let held = range <= super::TOUCH;
                let restitution = limit.restitution;
                if let Some(min) = limit.min {
                    add(What::Limit { at, side: 1.0, held, restitution }, drive.value - min);
                }
                if let Some(max) = limit.max.filter(|_| !held) {
                    add(What::Limit { at, side: -1.0, held, restitution }, max - drive.value);
                }
            }
            if drive.friction > 0.0 {
                add(What::Drive { at, motor: false, target: 0.0, most: drive.friction, slip: None }, 0.0);
            }
            match drive.bounded_motor() {
                Some(BoundedMotor::Velocity { target, max_force }) => {
                    add(What::Drive { at, motor: true, target, most: max_force, slip: None }, 0.0)
                }
                Some(BoundedMotor::Servo { law, max_force }) => add(What::Servo { at, law, most: max_force }, 0.0),
                None => {}
            }
        }
    }
    found
}

/// The row of a joint's coordinate, its value, and J̇u.
pub(super) fn coordinate_row(
    world: &World,
    at: Place,
    placed: (&Placed, &Placed),
    motion: (&Motion, &Motion),
) -> Option<(Row, f64, f64)> {
    let joint = world.joints.at(at.joint)?;
    let kind = joint.model.coordinates.get(at.coordinate)?.1;
    let value = joint.drives.get(at.coordinate)?.value;
    let row = kind.row(&joint.model, placed.0, placed.1);
    let bias = kind.bias_acceleration(&joint.model, placed.0, placed.1, motion.0, motion.1);
    Some((row, value, bias))
}
