//! What a step did, in numbers and in plain words.

use crate::contact::ContactReport;
use crate::error::figure;
use crate::handle::{BodyId, JointId};
use crate::mechanism::{Advance, Reason};
use crate::world::World;
use std::fmt;

/// The kinds of step a mechanism can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// Error-controlled.
    Controlled,
    /// RATTLE: second order, symplectic.
    Accurate,
    /// Generalised-α with geometric stiffness: for light bodies under large joint forces.
    Robust,
    /// Projection: dissipates, never explodes.
    LastResort,
}

/// How many mechanisms took which kind of step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepKinds {
    /// RATTLE.
    pub accurate: u32,
    /// Generalised-α.
    pub robust: u32,
    /// Projection.
    pub last_resort: u32,
    /// Error-controlled.
    pub controlled: u32,
}

/// How well the joints are closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointError {
    /// Largest gap, m.
    pub max_m: f64,
    /// Largest angle, rad.
    pub max_rad: f64,
    /// The joint with the largest error.
    pub worst: Option<JointId>,
}

/// Time spent in the stages of a step, s; zero without a clock in [`StepParams`](crate::StepParams).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    /// Rows and system matrix.
    pub assemble: f64,
    /// Factorisation.
    pub factor: f64,
    /// Substitutions and joint errors.
    pub solve: f64,
    /// Prediction of poses.
    pub predict: f64,
    /// Finding what touches.
    pub collide: f64,
    /// Solving contacts, without what the joints of machines among them take. Of steps by several threads it is what remains of
    /// the time that passes, and little.
    pub contact: f64,
    /// Everything else.
    pub other: f64,
}

/// Something the user should know about a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// A mechanism had to take the last resort: energy was lost.
    LastResort {
        /// The body at fault, where one is known.
        body: Option<BodyId>,
        /// Why the accurate step could not be used.
        cause: Cause,
    },
    /// Joints that contradict each other: this one stays open.
    Conflict {
        /// The joint with the largest gap.
        joint: JointId,
        /// What remains open, m or rad.
        gap: f64,
    },
    /// Contacts that press against each other so that no impulses can meet all of them: overlap is shared among them.
    Jam {
        /// Two bodies that touch in the island that jams.
        a: BodyId,
        /// The other.
        b: BodyId,
    },
    /// Newton's method ended before the contacts of an island were solved: they give way, or overlap more than they should.
    Unsolved {
        /// Two bodies whose contact is farthest from its answer.
        a: BodyId,
        /// The other.
        b: BodyId,
        /// What is left there, m/s.
        residual: f64,
    },
    /// The contact solver that was asked for refused an island: Newton's method solved it.
    Refused {
        /// Two bodies that touch in it.
        a: BodyId,
        /// The other.
        b: BodyId,
    },
    /// Rolling or spinning friction that the event-driven stepper does not feel.
    RollsFreely {
        /// Two bodies that touch with it.
        a: BodyId,
        /// The other.
        b: BodyId,
    },
    /// The iterative method ended its sweeps before the joints were closed as far as they were to be. Below 1 mm the step has
    /// not failed.
    Unfinished {
        /// The joint with the largest error.
        joint: JointId,
        /// What remains open, m or rad.
        gap: f64,
    },
    /// The error control could not reach its tolerance with the smallest step it takes.
    ToleranceMissed {
        /// A joint of the mechanism.
        joint: JointId,
    },
    /// A mechanism that was to move in reduced coordinates was advanced by the direct method, in this step or a part of it.
    LeftToDirect {
        /// A body of the mechanism, always the same one.
        body: Option<BodyId>,
        /// Why.
        why: LeftToDirect,
    },
}

/// Why the direct method took a step that was asked for in reduced coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeftToDirect {
    /// A mechanism with loops has more freedoms than its dense system is set up for.
    Loops {
        /// Freedoms of its tree beyond the rows that close loops.
        freedoms: usize,
        /// Up to how many it is done.
        most: usize,
    },
    /// A mechanism in contact has more freedoms than its dense response is set up for.
    Contact {
        /// Its freedoms.
        freedoms: usize,
        /// Up to how many it is done.
        most: usize,
    },
    /// Error control follows this mechanism with its joints held directly: it has loops, rods, bounded rows, stiff springs or a
    /// carrier that is moved.
    ErrorControl,
    /// A step of an eighth of the size (in contact a thirty-second) gained or lost energy without cause, or its loops or limits could
    /// not be closed.
    Irregular,
    /// Its mass in the coordinates of its joints is not positive definite, to rounding.
    Singular,
}

impl fmt::Display for LeftToDirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftToDirect::Loops { freedoms, most } => {
                write!(f, "it has loops and {freedoms} freedoms, and reduced coordinates go up to {most} there")
            }
            LeftToDirect::Contact { freedoms, most } => {
                write!(
                    f,
                    "it touches something with {freedoms} freedoms, and reduced coordinates go up to {most} there"
                )
            }
            LeftToDirect::ErrorControl => write!(f, "a tolerance was asked for, which the direct method controls"),
            LeftToDirect::Irregular => {
                write!(f, "even steps of an eighth were not plausible in reduced coordinates; try a smaller step")
            }
            LeftToDirect::Singular => write!(f, "its mass in reduced coordinates is singular"),
        }
    }
}

/// Why a mechanism left the accurate step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// Joint forces make the body too stiff sideways for the step size; σ is what stability bounds by 4.
    Stiff {
        /// h² · stiffness / inertia.
        sigma: f64,
    },
    /// The body turns too far in one step, rad.
    FastSpin {
        /// rad per step.
        angle: f64,
    },
    /// The iteration did not converge.
    NoConvergence,
}

impl Warning {
    /// The warning in plain words, with names.
    pub fn describe(&self, world: &World) -> String {
        match *self {
            Warning::LastResort { body, cause } => {
                let body = body.and_then(|b| world.body_name(b)).unwrap_or("a body");
                let why = match cause {
                    Cause::Stiff { sigma } => {
                        format!("body \"{body}\" is too light for its joint forces at this step (σ = {sigma:.3})")
                    }
                    Cause::FastSpin { angle } => format!("body \"{body}\" turns {angle:.2} rad in one step"),
                    Cause::NoConvergence => {
                        format!("the joints of \"{body}\" and its mechanism could not be closed by a small correction")
                    }
                };
                format!("last resort taken, energy is lost: {why}; try a smaller step")
            }
            Warning::Conflict { joint, gap } => {
                let name = world.joint_name(joint).unwrap_or("?");
                format!(
                    "joint \"{name}\" cannot be closed: {} m or rad remain; other joints or moved bodies contradict it",
                    figure(gap)
                )
            }
            Warning::Jam { a, b } => {
                let name = |id: BodyId| world.body_name(id).unwrap_or("?");
                format!("contacts jam near \"{}\" and \"{}\": no impulses can keep all of them apart", name(a), name(b))
            }
            Warning::Unsolved { a, b, residual } => {
                let name = |id: BodyId| world.body_name(id).unwrap_or("?");
                format!(
                    "contacts near \"{}\" and \"{}\" were not solved, {} m/s are left: they may give way; try a smaller step, or masses that differ less",
                    name(a),
                    name(b),
                    figure(residual)
                )
            }
            Warning::Refused { a, b } => {
                let name = |id: BodyId| world.body_name(id).unwrap_or("?");
                format!(
                    "the contact solver refused the contacts near \"{}\" and \"{}\": Newton's method solved them",
                    name(a),
                    name(b)
                )
            }
            Warning::RollsFreely { a, b } => {
                let name = |id: BodyId| world.body_name(id).unwrap_or("?");
                format!(
                    "rolling and spinning friction between \"{}\" and \"{}\" is not felt between events: take the fixed stepper for it",
                    name(a),
                    name(b)
                )
            }
            Warning::Unfinished { joint, gap } => {
                let name = world.joint_name(joint).unwrap_or("?");
                format!(
                    "joint \"{name}\" is left open by {} m or rad: sweeps over the joints did not converge; try a smaller step, or the direct method",
                    figure(gap)
                )
            }
            Warning::LeftToDirect { body, why } => {
                let body = body.and_then(|b| world.body_name(b)).unwrap_or("a body");
                format!(
                    "the mechanism of \"{body}\" was advanced by the direct method and not in reduced coordinates: {why}"
                )
            }
            Warning::ToleranceMissed { joint } => {
                let name = world.joint_name(joint).unwrap_or("?");
                format!(
                    "the mechanism of joint \"{name}\" could not be followed to the tolerance asked for; the motion may be rougher than that"
                )
            }
        }
    }
}

/// What a step did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// How well the joints are closed at the end.
    pub joint_error: JointError,
    /// Kinds of step taken.
    pub kinds: StepKinds,
    /// Mean iterations of the joint correction over the mechanisms.
    pub joint_iterations: f64,
    /// Systems of single joints that the iterative method solved: its work, whatever the machine.
    pub joint_solves: u64,
    /// Mechanisms that were to move in reduced coordinates and were advanced by the direct method, wholly or in part.
    pub left_to_direct: u32,
    /// Points at which shapes touch or may touch within the step.
    pub contacts: u32,
    /// Mean sweeps over bounded rows, and iterations of the contact solver.
    pub contact_iterations: f64,
    /// Deepest overlap of shapes at the start of the step, m.
    pub penetration_m: f64,
    /// How far contacts are from their law after the solve, as a velocity, m/s.
    pub contact_residual: f64,
    /// Bodies that sleep.
    pub sleeping: usize,
    /// Rows that others imply.
    pub redundant_rows: usize,
    /// Substeps of the error control, summed over the mechanisms.
    pub substeps: u32,
    /// Whether a joint could not be closed.
    pub failed: bool,
    /// What the user should know; empty in the usual case.
    pub warnings: Vec<Warning>,
    /// Time by stages.
    pub stages: Stages,
}

impl StepReport {
    /// Adds what one mechanism did; `mechanisms` is how many there are.
    pub(crate) fn add(&mut self, world: &World, advance: &Advance, mechanisms: usize) {
        match advance.kind {
            StepKind::Accurate => self.kinds.accurate += 1,
            StepKind::Robust => self.kinds.robust += 1,
            StepKind::LastResort => self.kinds.last_resort += 1,
            StepKind::Controlled => self.kinds.controlled += 1,
        }
        let worst = advance.worst_joint.and_then(|slot| world.joint_at(slot as usize));
        if advance.error_m.max(advance.error_rad) > self.joint_error.max_m.max(self.joint_error.max_rad) {
            self.joint_error.worst = worst;
        }
        self.joint_error.max_m = self.joint_error.max_m.max(advance.error_m);
        self.joint_error.max_rad = self.joint_error.max_rad.max(advance.error_rad);
        self.joint_iterations += f64::from(advance.iterations) / mechanisms as f64;
        self.contact_iterations += f64::from(advance.bounded_sweeps) / mechanisms as f64;
        self.substeps += advance.substeps;
        if let (false, Some(joint)) = (advance.closed, worst) {
            self.failed = true;
            self.warnings.push(Warning::Conflict { joint, gap: advance.error_m.max(advance.error_rad) });
        }
        if let (true, true, Some(joint)) = (advance.unfinished, advance.closed, worst) {
            self.warnings.push(Warning::Unfinished { joint, gap: advance.error_m.max(advance.error_rad) });
        }
        if let (true, Some(joint)) = (advance.tolerance_missed, worst) {
            self.warnings.push(Warning::ToleranceMissed { joint });
        }
        if let Some(why) = advance.left {
            self.left_to_direct += 1;
            let body = advance.member.and_then(|slot| world.body_at(slot as usize));
            self.warnings.push(Warning::LeftToDirect { body, why });
        }
        if let (StepKind::LastResort, Some(reason)) = (advance.kind, advance.reason) {
            let at = |slot: u32| world.body_at(slot as usize);
            let (body, cause) = match reason {
                Reason::Stiff { body, sigma } => (at(body), Cause::Stiff { sigma }),
                Reason::FastSpin { body, angle } => (at(body), Cause::FastSpin { angle }),
                // the whole mechanism is meant
                Reason::NoConvergence => (advance.member.and_then(at), Cause::NoConvergence),
            };
            self.warnings.push(Warning::LastResort { body, cause });
        }
    }
}

impl StepReport {
    /// Adds what contacts did.
    pub(crate) fn add_contacts(&mut self, world: &World, contact: &ContactReport) {
        self.contacts += contact.contacts;
        self.contact_residual = self.contact_residual.max(contact.residual);
        self.contact_iterations += f64::from(contact.iterations);
        self.penetration_m = self.penetration_m.max(contact.penetration);
        if let Some((a, b)) = contact.jammed
            && let (Some(a), Some(b)) = (world.body_at(a as usize), world.body_at(b as usize))
        {
            self.warn(Warning::Jam { a, b });
        }
        if let Some((a, b, residual)) = contact.unsolved
            && let (Some(a), Some(b)) = (world.body_at(a as usize), world.body_at(b as usize))
        {
            self.warn(Warning::Unsolved { a, b, residual });
        }
        if let Some((a, b)) = contact.refused
            && let (Some(a), Some(b)) = (world.body_at(a as usize), world.body_at(b as usize))
        {
            self.warn(Warning::Refused { a, b });
        }
        if let Some((a, b)) = contact.rolls_freely
            && let (Some(a), Some(b)) = (world.body_at(a as usize), world.body_at(b as usize))
        {
            self.warn(Warning::RollsFreely { a, b });
        }
    }

    /// Adds a warning; parts of a step may find the same again.
    fn warn(&mut self, warning: Warning) {
        let same = |known: &Warning| match (known, &warning) {
            (Warning::Unsolved { a, b, .. }, Warning::Unsolved { a: c, b: d, .. }) => (a, b) == (c, d),
            (known, warning) => known == warning,
        };
        if !self.warnings.iter().any(same) {
            self.warnings.push(warning);
        }
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StepKind::Accurate => "accurate",
            StepKind::Robust => "robust",
            StepKind::LastResort => "last resort",
            StepKind::Controlled => "controlled",
        })
    }
}

/// Laps of the caller's clock, if it gave one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StageTimer {
    clock: Option<fn() -> f64>,
    since: f64,
    pub stages: Stages,
}

impl StageTimer {
    pub fn start(&mut self, clock: Option<fn() -> f64>) {
        self.clock = clock;
        self.stages = Stages::default();
        self.since = clock.map_or(0.0, |now| now());
    }

    /// Forgets the time since the last lap: others took it.
    #[inline]
    pub fn resume(&mut self) {
        if let Some(clock) = self.clock {
            self.since = clock();
        }
    }

    #[inline]
    pub fn lap(&mut self, stage: fn(&mut Stages) -> &mut f64) {
        if let Some(clock) = self.clock {
            let now = clock();
            *stage(&mut self.stages) += now - self.since;
            self.since = now;
        }
    }
}

impl Stages {
    pub(crate) fn add(&mut self, other: &Stages) {
        self.assemble += other.assemble;
        self.factor += other.factor;
        self.solve += other.solve;
        self.predict += other.predict;
        self.collide += other.collide;
        self.contact += other.contact;
        self.other += other.other;
    }

    pub(crate) fn sum(&self) -> f64 {
        self.assemble + self.factor + self.solve + self.predict + self.collide + self.contact + self.other
    }
}
