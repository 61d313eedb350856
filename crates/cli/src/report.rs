//! The report of a run: what `--report` writes and the summary says. All numbers in SI units.

use crate::adaptive::AdaptiveReport;
use crate::args::{SolveOptions, name_of};
use crate::record::{Record, SeenWarning, StepMilliseconds};
use crate::series::Course;
use crate::source::{Schedule, Source};
use crate::table::figure;
use linkwork::World;
use serde::Serialize;
use serde_json::{Map, Value};

/// A run.
///
/// A number that is not finite (which only a failed run has) is `null`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scene's name.
    pub scene: String,
    /// All parameters it was built with; empty for a file.
    pub parameters: Map<String, Value>,
    /// The file it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Version of the program.
    pub version: &'static str,
    /// How joints were held.
    pub method: String,
    /// How time passed.
    pub stepper: String,
    /// How contacts were solved.
    pub contact: String,
    /// Whether shocks were propagated through heaps.
    pub shock_propagation: bool,
    /// Tolerance of the error control, if it was on.
    pub tolerance: Option<f64>,
    /// Step size, s.
    pub dt: f64,
    /// Steps done.
    pub steps: u64,
    /// Time that was asked for, s.
    pub duration: f64,
    /// Time that was simulated, s.
    pub simulated_s: f64,
    /// The run was ended by the user.
    pub interrupted: bool,
    /// Why the run ended early, unless the user ended it.
    pub error: Option<String>,
    /// Number of bodies.
    pub bodies: usize,
    /// Of these, those moved by forces.
    pub dynamic_bodies: usize,
    /// Number of joints.
    pub joints: usize,
    /// Scalar equations of all joints.
    pub constraint_rows: usize,
    /// Equations that follow from the others, in the start pose.
    pub redundant_rows: usize,
    /// Closed loops of bodies and joints.
    pub loops: usize,
    /// Ways to move that the joints leave in the start pose.
    pub degrees_of_freedom: usize,
    /// Groups of bodies that joints connect.
    pub mechanisms: usize,
    /// Numbers in the system matrices of all mechanisms, one half.
    pub matrix_entries: usize,
    /// Numbers in their factors.
    pub factor_entries: usize,
    /// How an inexact start pose was closed.
    pub assembly: AssemblyReport,
    /// Time on the clock for all steps, s; observing and writing are not counted.
    pub wall_s: f64,
    /// CPU time of the same, s.
    pub cpu_s: f64,
    /// Wall time per step, ms.
    pub step_ms: StepMilliseconds,
    /// Largest error of a joint after any step.
    pub joint_error: JointErrorReport,
    /// Largest distance of a body from its start.
    pub displacement: DisplacementReport,
    /// Deepest penetration of two bodies.
    pub penetration: PenetrationReport,
    /// Energies.
    pub energy: EnergyReport,
    /// How many steps of mechanisms were of which kind.
    pub step_kinds: KindsReport,
    /// Iterations per step.
    pub iterations: IterationsReport,
    /// What adaptive dynamics did, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<AdaptiveReport>,
    /// Steps after which a joint was not closed, and the step that could not be made.
    pub failed_steps: u64,
    /// What the engine warned of, each warning once.
    pub warnings: Vec<SeenWarning>,
    /// Number of warnings beyond those listed.
    pub warnings_omitted: u64,
    /// Hash of the final state: equal runs have equal hashes.
    pub state_hash: String,
    /// Energies (J), errors, step times and iterations over time, for `linkwork plot`.
    #[serde(skip)]
    pub course: Course,
}

/// How an inexact start pose was closed.
#[derive(Clone, Debug, Serialize)]
pub struct AssemblyReport {
    /// Newton iterations.
    pub iterations: u32,
    /// Largest gap before, m or rad.
    pub largest_gap_m: f64,
    /// Largest motion of a body, m.
    pub largest_motion_m: f64,
    /// Largest turn of a body, rad.
    pub largest_turn_rad: f64,
}

/// Largest error of a joint after any step.
#[derive(Clone, Debug, Serialize)]
pub struct JointErrorReport {
    /// Largest gap, m.
    pub max_m: f64,
    /// Largest angle, rad.
    pub max_rad: f64,
    /// The joint with the largest gap.
    pub joint: Option<String>,
}

/// Largest distance of a body's origin from where it started, over the whole run.
#[derive(Clone, Debug, Serialize)]
pub struct DisplacementReport {
    /// The distance, m.
    pub max_m: f64,
    /// The body.
    pub body: Option<String>,
}

/// Deepest penetration of two bodies.
#[derive(Clone, Debug, Serialize)]
pub struct PenetrationReport {
    /// The depth, m.
    pub max_m: f64,
}

/// Kinetic, potential and elastic energy together.
///
/// Relative figures are parts of the largest kinetic energy of the run, because the zero of potential energy is
/// arbitrary. (In a scene at rest they are parts of 1e-9 of all energy, so that rounding is not mistaken for drift.)
/// Motors, friction, damping and kinematic bodies change the energy rightly.
#[derive(Clone, Debug, Serialize)]
pub struct EnergyReport {
    /// At the start, J.
    pub initial_j: f64,
    /// At the end, J.
    pub final_j: f64,
    /// Largest kinetic energy, J.
    pub largest_kinetic_j: f64,
    /// Largest difference from the initial energy, in either direction.
    pub drift_relative: f64,
    /// Largest rise above the initial energy.
    pub max_rise_relative: f64,
    /// Largest rise above the energy at any earlier time.
    pub max_regain_relative: f64,
}

/// How many steps of mechanisms were of which kind.
#[derive(Clone, Debug, Serialize)]
pub struct KindsReport {
    /// Second order, conserves energy.
    pub accurate: u64,
    /// Damped, where the accurate step would be unstable.
    pub robust: u64,
    /// Strongly damped, where nothing else worked.
    pub last_resort: u64,
    /// Error-controlled.
    pub controlled: u64,
    /// Of all these, those asked for in reduced coordinates and left to the direct method.
    pub left_to_direct: u64,
    /// Steps that the error control made of those.
    pub substeps: u64,
}

/// Iterations per step.
#[derive(Clone, Debug, Serialize)]
pub struct IterationsReport {
    /// To close the joints.
    pub joint_mean: f64,
    /// To satisfy what is bounded: limits, friction, motors and contacts.
    pub contact_mean: f64,
}

/// What ended a run.
#[derive(Clone, Debug)]
pub enum End {
    /// The time asked for was simulated.
    Complete,
    /// The user ended it.
    Interrupted,
    /// A step could not be made, or its result not be kept.
    Failed(String),
}

impl Report {
    /// Puts together what is known at the end of a run.
    pub fn new(
        source: &Source,
        schedule: Schedule,
        solving: SolveOptions,
        world: &World,
        record: &Record,
        end: &End,
    ) -> Self {
        let (census, assembly) = (record.census, world.assembly());
        let (joint_mean, contact_mean) = record.mean_iterations();
        let (interrupted, error) = match end {
            End::Complete => (false, None),
            End::Interrupted => (true, None),
            End::Failed(why) => (false, Some(why.clone())),
        };
        Report {
            scene: source.name.clone(),
            parameters: source.parameters.iter().map(|(key, value)| (key.clone(), whole_or_real(*value))).collect(),
            file: source.file.as_ref().map(|file| file.file.clone()),
            version: env!("CARGO_PKG_VERSION"),
            method: name_of(&solving.method),
            stepper: name_of(&solving.stepper),
            contact: name_of(&solving.contact),
            shock_propagation: solving.shock,
            tolerance: solving.tolerance,
            dt: schedule.dt,
            steps: record.steps,
            duration: schedule.duration,
            simulated_s: world.time(),
            interrupted,
            error,
            bodies: census.bodies,
            dynamic_bodies: census.dynamic_bodies,
            joints: census.joints,
            constraint_rows: census.constraint_rows,
            redundant_rows: census.redundant_rows,
            loops: census.loops,
            degrees_of_freedom: census.degrees_of_freedom,
            mechanisms: census.mechanisms,
            matrix_entries: census.matrix_entries,
            factor_entries: census.factor_entries,
            assembly: AssemblyReport {
                iterations: assembly.iterations,
                largest_gap_m: assembly.largest_gap_m,
                largest_motion_m: assembly.largest_motion_m,
                largest_turn_rad: assembly.largest_turn_rad,
            },
            wall_s: record.times.total.wall,
            cpu_s: record.times.total.cpu,
            step_ms: record.times.wall_ms(),
            joint_error: JointErrorReport {
                max_m: record.joint_error.0,
                max_rad: record.joint_error.1,
                joint: record.worst_joint.and_then(|id| world.joint_name(id)).map(str::to_owned),
            },
            displacement: DisplacementReport {
                max_m: record.displacement,
                body: record.displaced_body.and_then(|id| world.body_name(id)).map(str::to_owned),
            },
            penetration: PenetrationReport { max_m: record.penetration },
            energy: EnergyReport {
                initial_j: record.energy.initial,
                final_j: record.energy.last,
                largest_kinetic_j: record.energy.largest_kinetic,
                drift_relative: record.energy.drift_relative(),
                max_rise_relative: record.energy.max_rise_relative(),
                max_regain_relative: record.energy.max_regain_relative(),
            },
            step_kinds: KindsReport {
                accurate: record.kinds.accurate,
                robust: record.kinds.robust,
                last_resort: record.kinds.last_resort,
                controlled: record.kinds.controlled,
                left_to_direct: record.kinds.left_to_direct,
                substeps: record.substeps,
            },
            iterations: IterationsReport { joint_mean, contact_mean },
            adaptive: None,
            failed_steps: record.failed_steps + u64::from(matches!(end, End::Failed(_))),
            warnings: record.warnings.list().to_vec(),
            warnings_omitted: record.warnings.omitted(),
            state_hash: format!("{:016x}", world.state_hash()),
            course: record.course.clone(),
        }
    }

    /// The same of a run by adaptive dynamics.
    pub fn adapted(mut self, seen: Option<AdaptiveReport>) -> Self {
        if seen.is_some() {
            (self.method, self.contact, self.adaptive) = ("adaptive".to_owned(), "lcp".to_owned(), seen);
        }
        self
    }

    /// The report as the text of a file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        // the course is thousands of numbers, for programs: a line for each kind of them
        text.truncate(text.rfind('}').unwrap_or(0));
        text.truncate(text.trim_end().len());
        text.push_str(",\n  \"course\": {\n");
        text.push_str(&self.course.lines().join(",\n"));
        text.push_str("\n  }\n}\n");
        text
    }

    /// The lines of the summary: what, and how much.
    pub fn summary(&self) -> Vec<(&'static str, String)> {
        let ms = &self.step_ms;
        let ratio = if self.wall_s > 0.0 { self.simulated_s / self.wall_s } else { 0.0 };
        let named = |name: &Option<String>| match name.as_deref() {
            Some(name) if !name.is_empty() => format!(" ({name})"),
            _ => String::new(),
        };
        let mut lines = vec![
            ("simulated", format!("{} s in {} steps of {} s", figure(self.simulated_s), self.steps, figure(self.dt))),
            ("bodies, joints", format!("{}, {}", self.bodies, self.joints)),
            ("rows", format!("{}, of which {} redundant", self.constraint_rows, self.redundant_rows)),
            ("time", format!("{} s, CPU {} s, {} × real time", figure(self.wall_s), figure(self.cpu_s), figure(ratio))),
            (
                "time per step",
                format!(
                    "median {} ms, mean {}, 99 % {}, longest {}",
                    figure(ms.median),
                    figure(ms.mean),
                    figure(ms.p99),
                    figure(ms.max)
                ),
            ),
            (
                "joint error",
                format!(
                    "{} m, {} rad{}",
                    figure(self.joint_error.max_m),
                    figure(self.joint_error.max_rad),
                    named(&self.joint_error.joint)
                ),
            ),
            ("displacement", format!("{} m{}", figure(self.displacement.max_m), named(&self.displacement.body))),
            (
                "energy",
                format!(
                    "{} J to {} J, drift {} %, rise {} % of {} J kinetic",
                    figure(self.energy.initial_j),
                    figure(self.energy.final_j),
                    figure(100.0 * self.energy.drift_relative),
                    figure(100.0 * self.energy.max_rise_relative),
                    figure(self.energy.largest_kinetic_j)
                ),
            ),
            ("step kinds", self.kinds_in_words()),
            ("iterations", format!("{} a step for joints", figure(self.iterations.joint_mean))),
        ];
        if self.iterations.contact_mean > 0.0 {
            let bounded = figure(self.iterations.contact_mean);
            lines.push(("bounded rows", format!("{bounded} sweeps a step (limits, friction, motors)")));
        }
        if self.penetration.max_m > 0.0 {
            lines.push(("penetration", format!("{} m", figure(self.penetration.max_m))));
        }
        if let Some(seen) = &self.adaptive {
            lines.retain(|(what, _)| !matches!(*what, "step kinds" | "iterations"));
            let (mean, most, lost) = (figure(seen.active_mean), seen.active_max, figure(seen.lost_max));
            lines.push(("active joints", format!("{mean} in the mean, {most} at most; {lost} rad/s² lost at most")));
            let (contacts, limits, over) = (seen.contacts_max, seen.at_limits_max, figure(seen.overshoot_max));
            lines.push(("held", format!("{contacts} contacts, {limits} limits at most; overshoot {over} m or rad")));
        }
        lines.push(("failed steps", self.failed_steps.to_string()));
        lines.push(("state hash", self.state_hash.clone()));
        lines
    }

    fn kinds_in_words(&self) -> String {
        let kinds = &self.step_kinds;
        let named = [
            (kinds.accurate, "accurate"),
            (kinds.robust, "robust"),
            (kinds.last_resort, "last resort"),
            (kinds.controlled, "error-controlled"),
        ];
        let words: Vec<String> =
            named.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
        let left = match kinds.left_to_direct {
            0 => String::new(),
            count => format!("; {count} by the direct method instead of reduced coordinates"),
        };
        if words.is_empty() { "none".to_owned() } else { words.join(", ") + &left }
    }

    /// The warnings, in words; the first few.
    pub fn warning_lines(&self) -> Vec<String> {
        const SHOWN: usize = 5;
        let times = |warning: &SeenWarning| match warning.count {
            1 => String::new(),
            count => format!(", {count} times"),
        };
        let mut lines: Vec<String> = self
            .warnings
            .iter()
            .take(SHOWN)
            .map(|warning| format!("{} (at {} s{})", warning.message, figure(warning.first_s), times(warning)))
            .collect();
        let more = self.warnings.len().saturating_sub(SHOWN) as u64 + self.warnings_omitted;
        if more > 0 {
            lines.push(format!("and {more} more; see --report"));
        }
        lines
    }
}

/// `127`, not `127.0`: most parameters are counts.
pub fn whole_or_real(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { Value::from(value as i64) } else { Value::from(value) }
}
