//! What is remembered of a run, step by step.

use crate::series::Course;
use crate::time::Elapsed;
use linkwork::{BodyId, Census, Energy, JointId, LeftToDirect, StepReport, Warning, World};
use std::collections::HashMap;

/// So many different warnings are kept.
const MOST_WARNINGS: usize = 100;
/// So many step times are kept; of longer runs every second, fourth, … one.
const MOST_TIMES: usize = 1 << 20;
/// Below this part of all energy a change is rounding, and no motion to compare it with.
const ROUNDING: f64 = 1e-9;

/// A run so far.
#[derive(Debug)]
pub struct Record {
    /// What the world was made of at the start.
    pub census: Census,
    /// Steps done.
    pub steps: u64,
    /// How long they took.
    pub times: StepTimes,
    /// Largest joint error after any step: m, rad.
    pub joint_error: (f64, f64),
    /// The joint that had it.
    pub worst_joint: Option<JointId>,
    /// Largest distance of any body from its start, m.
    pub displacement: f64,
    /// The body that was there.
    pub displaced_body: Option<BodyId>,
    /// Deepest penetration, m.
    pub penetration: f64,
    /// Energies.
    pub energy: EnergyRecord,
    /// How many mechanism steps were of which kind.
    pub kinds: KindCounts,
    /// Steps that the error control made of them.
    pub substeps: u64,
    /// Sum over the steps of their mean iterations: joints, contacts.
    iterations: (f64, f64),
    /// Steps after which a joint was not closed.
    pub failed_steps: u64,
    /// What the engine warned of.
    pub warnings: Warnings,
    /// Energies, errors and times over time.
    pub course: Course,
    start: Vec<(BodyId, [f64; 3])>,
}

/// How many mechanism steps were of which kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct KindCounts {
    /// Accurate steps.
    pub accurate: u64,
    /// Robust steps.
    pub robust: u64,
    /// Last resorts.
    pub last_resort: u64,
    /// Frames under error control.
    pub controlled: u64,
    /// Of all these, those asked for in reduced coordinates and left to the direct method.
    pub left_to_direct: u64,
}

impl Record {
    /// Nothing done yet.
    pub fn start(world: &World) -> Self {
        let place = |id| world.pose(id).map(|pose| (id, pose.position.to_array()));
        Record {
            census: world.census(),
            steps: 0,
            times: StepTimes::default(),
            joint_error: (0.0, 0.0),
            worst_joint: None,
            displacement: 0.0,
            displaced_body: None,
            penetration: 0.0,
            energy: EnergyRecord::start(world.energy()),
            kinds: KindCounts::default(),
            substeps: 0,
            iterations: (0.0, 0.0),
            failed_steps: 0,
            warnings: Warnings::default(),
            course: Course::start(world),
            start: world.body_ids().filter_map(place).collect(),
        }
    }

    /// Adds a step that was just made.
    pub fn add(&mut self, world: &World, report: &StepReport, elapsed: Elapsed) {
        self.steps += 1;
        self.times.add(elapsed);
        let error = &report.joint_error;
        if exceeds(error.max_m, self.joint_error.0) {
            self.joint_error.0 = error.max_m;
            self.worst_joint = error.worst;
        }
        if exceeds(error.max_rad, self.joint_error.1) {
            self.joint_error.1 = error.max_rad;
        }
        if exceeds(report.penetration_m, self.penetration) {
            self.penetration = report.penetration_m;
        }
        self.energy.add(world.energy());
        self.course.add(world, report, elapsed.wall);
        self.kinds.accurate += u64::from(report.kinds.accurate);
        self.kinds.robust += u64::from(report.kinds.robust);
        self.kinds.last_resort += u64::from(report.kinds.last_resort);
        self.kinds.controlled += u64::from(report.kinds.controlled);
        self.kinds.left_to_direct += u64::from(report.left_to_direct);
        self.iterations.0 += report.joint_iterations;
        self.iterations.1 += report.contact_iterations;
        self.failed_steps += u64::from(report.failed || !error.max_m.is_finite() || !error.max_rad.is_finite());
        self.substeps += u64::from(report.substeps);
        for warning in &report.warnings {
            self.warnings.note(warning, world);
        }
        self.follow_bodies(world);
    }

    fn follow_bodies(&mut self, world: &World) {
        let mut farthest = self.displacement * self.displacement;
        for (id, start) in &self.start {
            let Some(pose) = world.pose(*id) else { continue };
            let here = pose.position.to_array();
            let squared: f64 = here.iter().zip(start).map(|(x, x0)| (x - x0) * (x - x0)).sum();
            if exceeds(squared, farthest) {
                farthest = squared;
                self.displacement = squared.sqrt();
                self.displaced_body = Some(*id);
            }
        }
    }

    /// Mean iterations per step: joints, contacts.
    pub fn mean_iterations(&self) -> (f64, f64) {
        let steps = self.steps.max(1) as f64;
        (self.iterations.0 / steps, self.iterations.1 / steps)
    }
}

/// Whether a number is worse than the worst so far. What is not a number is worst of all, and stays.
fn exceeds(new: f64, worst: f64) -> bool {
    new > worst || (new.is_nan() && !worst.is_nan())
}

/// Energy over a run.
#[derive(Clone, Copy, Debug)]
pub struct EnergyRecord {
    /// At the start, J.
    pub initial: f64,
    /// Now, J.
    pub last: f64,
    /// The largest kinetic energy, J.
    pub largest_kinetic: f64,
    largest_change: f64,
    largest_rise: f64,
    largest_regain: f64,
    lowest: f64,
    largest_total: f64,
}

impl EnergyRecord {
    fn start(energy: Energy) -> Self {
        let total = energy.total();
        EnergyRecord {
            initial: total,
            last: total,
            largest_kinetic: energy.kinetic,
            largest_change: 0.0,
            largest_rise: 0.0,
            largest_regain: 0.0,
            lowest: total,
            largest_total: magnitude(energy),
        }
    }

    fn add(&mut self, energy: Energy) {
        let total = energy.total();
        let raise = |worst: &mut f64, new: f64| {
            if exceeds(new, *worst) {
                *worst = new;
            }
        };
        self.last = total;
        self.lowest = self.lowest.min(total);
        raise(&mut self.largest_kinetic, energy.kinetic);
        raise(&mut self.largest_change, (total - self.initial).abs());
        raise(&mut self.largest_rise, total - self.initial);
        raise(&mut self.largest_regain, total - self.lowest);
        raise(&mut self.largest_total, magnitude(energy));
    }

    /// Largest difference from the initial energy.
    pub fn drift_relative(&self) -> f64 {
        self.relative(self.largest_change)
    }

    /// Largest rise above the initial energy.
    pub fn max_rise_relative(&self) -> f64 {
        self.relative(self.largest_rise)
    }

    /// Largest rise above an earlier energy.
    pub fn max_regain_relative(&self) -> f64 {
        self.relative(self.largest_regain)
    }

    /// Relative to the largest kinetic energy: the zero of potential energy is arbitrary, that of motion is not.
    fn relative(&self, change: f64) -> f64 {
        let scale = self.largest_kinetic.max(ROUNDING * self.largest_total);
        if change == 0.0 { 0.0 } else { change / scale }
    }
}

fn magnitude(energy: Energy) -> f64 {
    energy.kinetic.abs() + energy.potential.abs() + energy.elastic.abs()
}

/// How long steps took.
#[derive(Clone, Debug)]
pub struct StepTimes {
    /// All steps together.
    pub total: Elapsed,
    count: u64,
    longest: f64,
    kept: Vec<Elapsed>,
    stride: u64,
}

impl Default for StepTimes {
    fn default() -> Self {
        StepTimes { total: Elapsed::default(), count: 0, longest: 0.0, kept: Vec::new(), stride: 1 }
    }
}

/// Times per step, ms.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct StepMilliseconds {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half of the steps took less.
    pub median: f64,
    /// 99 of 100 steps took less.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl StepTimes {
    /// Adds a step.
    pub fn add(&mut self, elapsed: Elapsed) {
        self.total.wall += elapsed.wall;
        self.total.cpu += elapsed.cpu;
        self.longest = self.longest.max(elapsed.wall);
        if self.count.is_multiple_of(self.stride) {
            self.kept.push(elapsed);
        }
        self.count += 1;
        if self.kept.len() >= MOST_TIMES {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// Wall time per step.
    pub fn wall_ms(&self) -> StepMilliseconds {
        let mut sorted: Vec<f64> = self.kept.iter().map(|elapsed| elapsed.wall).collect();
        sorted.sort_by(f64::total_cmp);
        StepMilliseconds {
            mean: 1e3 * self.total.wall / self.count.max(1) as f64,
            median: 1e3 * quantile(&sorted, 0.5),
            p99: 1e3 * quantile(&sorted, 0.99),
            max: 1e3 * self.longest,
        }
    }

    /// Median CPU time per step, ms.
    pub fn median_cpu_ms(&self) -> f64 {
        let mut sorted: Vec<f64> = self.kept.iter().map(|elapsed| elapsed.cpu).collect();
        sorted.sort_by(f64::total_cmp);
        1e3 * quantile(&sorted, 0.5)
    }

    /// Number of steps.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The value below which the given part of the sorted values lies, interpolated; 0 of nothing.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = part * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// Warnings, each topic kept once with its first time and how often it came.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    seen: Vec<SeenWarning>,
    index: HashMap<Topic, usize>,
    omitted: u64,
}

/// What a warning is about. Its numbers change from step to step and make no new warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Topic {
    LastResort(Option<BodyId>),
    Conflict(JointId),
    Unfinished(JointId),
    ToleranceMissed(JointId),
    Jam(BodyId, BodyId),
    Unsolved(BodyId, BodyId),
    Refused(BodyId, BodyId),
    RollsFreely(BodyId, BodyId),
    LeftToDirect(Option<BodyId>, std::mem::Discriminant<LeftToDirect>),
}

impl Topic {
    fn of(warning: &Warning) -> Self {
        match *warning {
            Warning::LastResort { body, .. } => Topic::LastResort(body),
            Warning::Conflict { joint, .. } => Topic::Conflict(joint),
            Warning::Unfinished { joint, .. } => Topic::Unfinished(joint),
            Warning::ToleranceMissed { joint } => Topic::ToleranceMissed(joint),
            Warning::Jam { a, b } => Topic::Jam(a, b),
            Warning::Unsolved { a, b, .. } => Topic::Unsolved(a, b),
            Warning::Refused { a, b } => Topic::Refused(a, b),
            Warning::RollsFreely { a, b } => Topic::RollsFreely(a, b),
            Warning::LeftToDirect { body, why } => Topic::LeftToDirect(body, std::mem::discriminant(&why)),
        }
    }
}

/// A warning.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SeenWarning {
    /// What the engine said first.
    pub message: String,
    /// Simulated time at which it said so first, s.
    pub first_s: f64,
    /// How often it said so.
    pub count: u64,
}

impl Warnings {
    fn add(&mut self, topic: Topic, time: f64, message: impl FnOnce() -> String) {
        if let Some(&index) = self.index.get(&topic) {
            self.seen[index].count += 1;
        } else if self.seen.len() < MOST_WARNINGS {
            self.index.insert(topic, self.seen.len());
            self.seen.push(SeenWarning { message: message(), first_s: time, count: 1 });
        } else {
            self.omitted += 1;
        }
    }

    /// Adds what a step warned of.
    pub fn note(&mut self, warning: &Warning, world: &World) {
        self.add(Topic::of(warning), world.time(), || warning.describe(world));
    }

    /// All that were kept, in the order of their first time.
    pub fn list(&self) -> &[SeenWarning] {
        &self.seen
    }

    /// How many came that were not kept.
    pub fn omitted(&self) -> u64 {
        self.omitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::Scene;
    use linkwork::scene::Body;

    #[test]
    fn quantiles_are_interpolated() {
        assert_eq!(quantile(&[], 0.5), 0.0);
        assert_eq!(quantile(&[3.0], 0.99), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), 3.0);
    }

    #[test]
    fn a_long_run_keeps_a_sample_of_its_times() {
        let mut times = StepTimes::default();
        let steps = 3 * MOST_TIMES as u64;
        for step in 0..steps {
            times.add(Elapsed { wall: step as f64, cpu: 0.0 });
        }
        let ms = times.wall_ms();
        assert!(times.kept.len() < MOST_TIMES);
        assert_eq!(times.count(), steps);
        assert_eq!(ms.max, 1e3 * (steps - 1) as f64);
        assert!((ms.mean / (500.0 * (steps - 1) as f64) - 1.0).abs() < 1e-12);
        assert!((ms.median / (500.0 * steps as f64) - 1.0).abs() < 1e-3, "{}", ms.median);
    }

    #[test]
    fn what_is_not_a_number_is_worst() {
        assert!(exceeds(1.0, 0.5) && !exceeds(0.5, 1.0));
        assert!(exceeds(f64::NAN, 1e300) && !exceeds(1e300, f64::NAN) && !exceeds(f64::NAN, f64::NAN));
    }

    #[test]
    fn energy_is_compared_with_the_largest_kinetic_energy() {
        let at = |kinetic, potential| Energy { kinetic, potential, elastic: 0.0 };
        let mut record = EnergyRecord::start(at(0.0, 1000.0));
        for (kinetic, potential) in [(50.0, 945.0), (100.0, 890.0), (40.0, 955.0), (1.0, 1001.0)] {
            record.add(at(kinetic, potential));
        }
        assert_eq!(record.largest_kinetic, 100.0);
        assert_eq!(record.last, 1002.0);
        assert!((record.drift_relative() - 0.10).abs() < 1e-12);
        assert!((record.max_rise_relative() - 0.02).abs() < 1e-12);
        assert!((record.max_regain_relative() - 0.12).abs() < 1e-12);
    }

    #[test]
    fn rounding_of_a_resting_scene_is_no_drift() {
        let at = |kinetic, potential| Energy { kinetic, potential, elastic: 0.0 };
        let mut record = EnergyRecord::start(at(0.0, 1e6));
        record.add(at(1e-25, 1e6 + 1e-9));
        assert!(record.drift_relative() < 1e-5, "{}", record.drift_relative());
        let mut still = EnergyRecord::start(at(0.0, 0.0));
        still.add(at(0.0, 0.0));
        assert_eq!(still.drift_relative(), 0.0);
    }

    #[test]
    fn a_warning_is_kept_once() {
        let mut scene = Scene::new("many");
        for i in 0..150 {
            scene.body(Body::fixed(format!("b{i}")));
        }
        let world = World::build(&scene).unwrap();
        let mut warnings = Warnings::default();
        for round in 0..5 {
            for (i, id) in world.body_ids().enumerate() {
                warnings.add(Topic::LastResort(Some(id)), f64::from(round), || format!("warning {i}, round {round}"));
            }
        }
        assert_eq!(warnings.list().len(), MOST_WARNINGS);
        let expected = SeenWarning { message: "warning 7, round 0".to_owned(), first_s: 0.0, count: 5 };
        assert_eq!(warnings.list()[7], expected);
        assert_eq!(warnings.omitted(), 250);
    }
}
