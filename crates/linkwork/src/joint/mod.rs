//! Joints: what they hold (rows), what they leave free (coordinates) and what acts on that (drives).
//!
//! A joint is evaluated on two placed bodies and knows no solver. A new joint is an entry in [`parts_of`],
//! in [`coordinate::coordinates_of`] and in the list of kinds that the finite-difference test loops over.

mod black_box;
pub(crate) mod compile;
pub(crate) mod coordinate;
pub(crate) mod drive;
#[cfg(test)]
mod finite_differences;
pub(crate) mod freedom;
pub(crate) mod rows;

pub use black_box::BlackBox;
pub(crate) use black_box::Held;

use crate::error::SceneError;
use crate::handle::{BodyId, JointId};
use crate::math::{Placed, rotation};
use crate::scene::{self, JointKind};
use drive::Drive;
use glam::{DMat3, DQuat, DVec3};
use rows::{Part, Row};
use std::sync::Arc;

/// Most rows a joint can have: a joint between two rigid bodies has six relative freedoms.
pub(crate) const MAX_ROWS: usize = 6;

/// Velocity of a centre of mass and angular velocity, world axes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Motion {
    pub v: DVec3,
    pub w: DVec3,
}

impl Motion {
    /// A body moved on at this velocity for a (short) time.
    pub fn moved(&self, from: &Placed, time: f64) -> Placed {
        Placed::new(from.x + self.v * time, (rotation::exp(self.w * time) * from.q).normalize())
    }
}

/// The parts of each kind of joint.
pub(crate) fn parts_of(kind: JointKind) -> &'static [Part] {
    use Part::*;
    match kind {
        JointKind::Ball => &[PointOnPoint],
        JointKind::Hinge => &[PointOnPoint, CommonAxis],
        JointKind::Slider => &[PointOnLine, OrientationFixed],
        JointKind::Cylindrical => &[PointOnLine, CommonAxis],
        JointKind::Planar => &[PointOnPlane, CommonAxis],
        JointKind::Universal => &[PointOnPoint, ConstantAngle],
        JointKind::Fixed => &[PointOnPoint, OrientationFixed],
        JointKind::PointOnLine => &[PointOnLine],
        JointKind::PointOnPlane => &[PointOnPlane],
        JointKind::Orientation => &[OrientationFixed],
        JointKind::Distance => &[Distance],
        JointKind::Screw => &[PointOnLine, CommonAxis, Helix],
        JointKind::Rope | JointKind::Gear | JointKind::Rack | JointKind::Differential => &[],
    }
}

/// The parts of a black-box joint, by its rows.
static BLACK_BOXES: [[Part; 1]; MAX_ROWS + 1] = [
    [Part::BlackBox(0)],
    [Part::BlackBox(1)],
    [Part::BlackBox(2)],
    [Part::BlackBox(3)],
    [Part::BlackBox(4)],
    [Part::BlackBox(5)],
    [Part::BlackBox(6)],
];

/// The geometry of a joint: anchors and frames in the principal frames of its bodies.
#[derive(Clone)]
pub(crate) struct JointModel {
    pub parts: &'static [Part],
    pub coordinates: &'static [(&'static str, coordinate::CoordinateKind)],
    pub anchor_a: DVec3,
    pub anchor_b: DVec3,
    /// Joint axes as columns x, y, z.
    pub frame_a: DMat3,
    pub frame_b: DMat3,
    pub turn_a: DQuat,
    pub turn_b: DQuat,
    /// Cosine of the angle that a universal joint keeps between its axes.
    pub cos_angle: f64,
    /// Length of a rod.
    pub length: f64,
    /// Metres per radian of a screw.
    pub lead: f64,
    /// Zero of a universal joint's angles.
    pub zero_a: f64,
    pub zero_b: f64,
    pub black_box: Option<Box<Held>>,
}

impl JointModel {
    pub fn new(kind: JointKind, anchor_a: DVec3, frame_a: DMat3, anchor_b: DVec3, frame_b: DMat3) -> Self {
        JointModel {
            parts: parts_of(kind),
            coordinates: coordinate::coordinates_of(kind),
            anchor_a,
            anchor_b,
            frame_a,
            frame_b,
            turn_a: DQuat::from_mat3(&frame_a).normalize(),
            turn_b: DQuat::from_mat3(&frame_b).normalize(),
            cos_angle: 0.0,
            length: 0.0,
            lead: 0.0,
            zero_a: 0.0,
            zero_b: 0.0,
            black_box: None,
        }
    }

    /// Holds what a user's function says, and nothing else.
    pub fn hold_black_box(&mut self, held: Held) {
        self.parts = &BLACK_BOXES[held.rank()];
        self.black_box = Some(Box::new(held));
    }

    /// Takes over what changes in another copy of this model as the world moves; whether anything did.
    pub fn follow(&mut self, of_world: &JointModel) -> bool {
        match (&mut self.black_box, &of_world.black_box) {
            (Some(held), Some(from)) => held.take_basis(from),
            _ => false,
        }
    }

    /// Number of hard rows.
    pub fn row_count(&self) -> usize {
        self.parts.iter().map(|p| p.rows()).sum()
    }

    pub fn row_is_angle(&self, row: usize) -> bool {
        self.angle_rows() >> row & 1 == 1
    }

    /// The rows (bits) that measure an angle.
    #[inline]
    pub fn angle_rows(&self) -> u8 {
        if let Some(held) = &self.black_box {
            return (0..MAX_ROWS).fold(0, |bits, row| bits | u8::from(held.is_angle(row)) << row);
        }
        let (mut bits, mut first) = (0, 0);
        for part in self.parts {
            bits |= if part.is_angle() { ((1 << part.rows()) - 1) << first } else { 0 };
            first += part.rows();
        }
        bits
    }

    /// Errors of the hard rows.
    #[inline(always)]
    pub fn error(&self, a: &Placed, b: &Placed, turn: f64, out: &mut [f64]) {
        // the two that machines are full of, without a loop over their parts
        match (self.parts, out.len()) {
            ([Part::PointOnPoint], 3..) => out[..3].copy_from_slice(&self.gap(a, b).to_array()),
            ([Part::PointOnPoint, Part::CommonAxis], 5..) => {
                out[..3].copy_from_slice(&self.gap(a, b).to_array());
                out[3..5].copy_from_slice(&self.axis_error(a, b));
            }
            _ => self.error_by_parts(a, b, turn, out),
        }
    }

    fn error_by_parts(&self, a: &Placed, b: &Placed, turn: f64, out: &mut [f64]) {
        let mut k = 0;
        for part in self.parts {
            part.error(self, a, b, turn, &mut out[k..]);
            k += part.rows();
        }
    }

    /// How far the axis z of b leans towards the axes x and y of a.
    #[inline(always)]
    fn axis_error(&self, a: &Placed, b: &Placed) -> [f64; 2] {
        let z = b.r * self.frame_b.z_axis;
        [z.dot(a.r * self.frame_a.x_axis), z.dot(a.r * self.frame_a.y_axis)]
    }

    /// The hard rows.
    #[inline]
    pub fn rows(&self, a: &Placed, b: &Placed, out: &mut [Row]) {
        let mut k = 0;
        for part in self.parts {
            part.rows_into(self, a, b, &mut out[k..]);
            k += part.rows();
        }
    }

    /// Forces of the hard rows from the wrench on b, at b's anchor.
    pub fn row_forces(&self, a: &Placed, b: &Placed, force: DVec3, torque: DVec3, out: &mut [f64]) {
        let mut k = 0;
        for part in self.parts {
            part.forces_of(self, a, b, force, torque, &mut out[k..]);
            k += part.rows();
        }
    }

    /// J̇u of the hard rows.
    pub fn bias_acceleration(&self, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion, out: &mut [f64]) {
        let mut k = 0;
        for part in self.parts {
            part.bias_acceleration(self, a, b, ua, ub, &mut out[k..]);
            k += part.rows();
        }
    }

    /// From a's anchor to b's.
    #[inline(always)]
    pub fn gap(&self, a: &Placed, b: &Placed) -> DVec3 {
        (b.x + b.r * self.anchor_b) - (a.x + a.r * self.anchor_a)
    }

    fn gap_rate(&self, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion) -> DVec3 {
        (ub.v + ub.w.cross(b.r * self.anchor_b)) - (ua.v + ua.w.cross(a.r * self.anchor_a))
    }

    fn gap_bias(&self, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion) -> DVec3 {
        ub.w.cross(ub.w.cross(b.r * self.anchor_b)) - ua.w.cross(ua.w.cross(a.r * self.anchor_a))
    }

    /// Row of t·(P_b − P_a) with t fixed to a: the lever arm on a reaches to P_b.
    #[inline(always)]
    pub fn sliding_row(&self, a: &Placed, b: &Placed, t: DVec3) -> Row {
        let to_pb = (b.x + b.r * self.anchor_b) - a.x;
        Row { lin: t, ang_a: -to_pb.cross(t), ang_b: (b.r * self.anchor_b).cross(t) }
    }

    fn sliding_bias(&self, a: &Placed, b: &Placed, ua: &Motion, ub: &Motion, t: DVec3) -> f64 {
        let turning = ua.w.cross(t);
        t.dot(self.gap_bias(a, b, ua, ub))
            + 2.0 * turning.dot(self.gap_rate(a, b, ua, ub))
            + ua.w.cross(turning).dot(self.gap(a, b))
    }

    /// Rotation vector from a's frame to b's, in a's frame.
    fn rotation_vector(&self, a: &Placed, b: &Placed) -> DVec3 {
        rotation::log((a.q * self.turn_a).inverse() * (b.q * self.turn_b))
    }

    fn wrapped(&self, angle: f64) -> f64 {
        angle - std::f64::consts::TAU * (angle / std::f64::consts::TAU).round()
    }

    /// Where the joint's force attacks, seen from the centres of mass: on a, and on b.
    #[inline(always)]
    pub fn levers(&self, a: &Placed, b: &Placed) -> (DVec3, DVec3) {
        (a.r * self.anchor_a, b.r * self.anchor_b)
    }
}

/// What a coupling adds up: Σ factor · coordinate = offset.
#[derive(Clone, Debug)]
pub(crate) struct Coupling {
    pub terms: Vec<CouplingTerm>,
    pub offset: f64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CouplingTerm {
    pub joint: JointId,
    pub coordinate: usize,
    pub factor: f64,
}

/// Accurate steps whose impulses are remembered: enough to extrapolate along a cubic.
pub(crate) const REMEMBERED: usize = 4;

/// What a joint remembers from step to step; part of the world's state. What is needed in every step comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub(crate) struct JointMemory {
    /// Mean force of each row over the last substep, from which the next starts (N, N m).
    pub force: [f64; MAX_ROWS],
    /// Mean force of each row over the last step.
    pub mean_force: [f64; MAX_ROWS],
    /// Of the joint's whole mechanism: how its system is set up, once that was tested.
    pub choice: Option<SystemChoice>,
    /// Iterations of the last accurate step.
    pub iterations: u32,
    /// Rows (bits) that must be kept although their pivots are small.
    pub needed: u8,
    /// Whether a redundant row touches the joint, so that its forces are one choice of many.
    pub not_unique: bool,
    /// How many `past` impulses are filled, and the step size they are for.
    pub filled: u8,
    pub step: f64,
    /// Of the joint's whole mechanism: its energy account, and the substep that the error control would take next.
    pub account: EnergyAccount,
    pub substep: f64,
    /// Impulses of the last accurate step.
    pub impulse: [f64; MAX_ROWS],
    /// Impulses of the position correction in the last accurate steps, the latest first; in loops and under bounded rows
    /// the row velocities that curvature asked for.
    pub past: [[f64; MAX_ROWS]; REMEMBERED],
    /// What the iterative method starts from.
    pub swept: Swept,
}

/// Impulses of a joint's rows in the last step whose joints were swept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Swept {
    /// Its size; negative in contact, zero if there is nothing to start from.
    pub step: f64,
    /// Of a step that touched nothing: those of the position and of the velocity stage. In contact: without contacts, and with.
    pub first: [f64; MAX_ROWS],
    pub second: [f64; MAX_ROWS],
}

/// How a mechanism's system is set up: tested once for a graph, then kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SystemChoice {
    /// Whether bodies with many joints are split, instead of being nodes of their own.
    pub split_hubs: bool,
    /// Below which fraction of its diagonal a pivot is dropped.
    pub drop_fraction: f64,
    pub graph_version: u64,
}

/// What a mechanism has gained so far without cause, and its largest kinetic energy, J.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EnergyAccount {
    pub surplus: f64,
    pub largest_kinetic: f64,
}

/// A joint of a running world; laid out as [`crate::body::BodyState`] is.
#[derive(Clone)]
#[repr(C, align(64))]
pub(crate) struct JointState {
    pub memory: JointMemory,
    pub model: JointModel,
    /// One per coordinate of the model.
    pub drives: Box<[Drive]>,
    pub coupling: Option<Box<Coupling>>,
    pub a: Option<BodyId>,
    pub b: Option<BodyId>,
    pub name: Arc<str>,
    pub description: Arc<scene::Joint>,
    /// Where it stands in the scene it was built from, for error messages.
    pub scene_index: usize,
}

impl JointState {
    /// Coordinates that are outside their limits, as problems at `path`.
    pub fn limits_exceeded(&self, path: &str) -> Vec<SceneError> {
        let exceeded = |(drive, (name, kind)): (&Drive, &(&str, coordinate::CoordinateKind))| {
            let problem = drive.limit_exceeded(name, *kind)?;
            let error = SceneError::new(format!("{path}.coordinates"), format!("joint \"{}\": {problem}", self.name));
            Some(error.hint("start inside the limits, or widen them"))
        };
        self.drives.iter().zip(self.model.coordinates).filter_map(exceeded).collect()
    }

    pub fn is_coupling(&self) -> bool {
        self.coupling.is_some()
    }
}
