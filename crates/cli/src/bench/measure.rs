//! Running a scene several times and taking times.

use super::cases::{Case, Target, label};
use crate::args::BenchOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::record::{Record, StepTimes, quantile};
use crate::source::{Schedule, Source};
use crate::time::{self, Stopwatch};
use linkwork::{Method, Scratch, Stages, StepParams};
use serde::Serialize;

/// A smaller part of the steps than this is no sample of them.
const FEW: f64 = 0.1;

/// Median and spread over the repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Half of the repeats were below.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Spread {
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Spread { median: quantile(&values, 0.5), least: quantile(&values, 0.0), most: quantile(&values, 1.0) }
    }
}

/// Mean time per step in the stages of a step, ms.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct StageTimes {
    /// Rows and system matrix.
    pub assemble: f64,
    /// Factorisation.
    pub factor: f64,
    /// Substitutions.
    pub solve: f64,
    /// Prediction of poses.
    pub predict: f64,
    /// Finding what touches.
    pub collide: f64,
    /// Solving contacts.
    pub contact: f64,
    /// Everything else.
    pub other: f64,
}

/// What was measured of a scene.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Scene and parameters on one line.
    pub label: String,
    /// The scene's name.
    pub scene: String,
    /// All its parameters.
    pub parameters: Vec<(String, f64)>,
    /// What it must show.
    pub targets: &'static [Target],
    /// Step size, s.
    pub dt: f64,
    /// Steps per repeat.
    pub steps: u64,
    /// Number of bodies.
    pub bodies: usize,
    /// Scalar equations of all joints.
    pub rows: usize,
    /// Of these, those that follow from the others.
    pub redundant_rows: usize,
    /// Numbers in the system matrices of all mechanisms, one half.
    pub matrix_entries: usize,
    /// Numbers in their factors; what is more is fill.
    pub factor_entries: usize,
    /// Wall time per step: the median of each repeat, ms.
    pub step_ms: Spread,
    /// CPU time per step: the median of each repeat, ms.
    pub cpu_ms: Spread,
    /// The same of the steps that were accurate for all mechanisms, if these were not too few to tell.
    pub accurate_cpu_ms: Option<f64>,
    /// Stage times, ms.
    pub stages_ms: StageTimes,
    /// Largest joint gap, m.
    pub joint_error_m: f64,
    /// Largest distance of a body from its start, m.
    pub displacement_m: f64,
    /// Deepest overlap, m.
    pub overlap_m: f64,
    /// The same in the last quarter of the time.
    pub overlap_at_end_m: f64,
    /// CPU time of all steps of a repeat, s: the median.
    pub total_cpu_s: f64,
    /// Largest difference from the initial energy, as a part of the largest kinetic energy.
    pub energy_drift: f64,
    /// Largest rise above it.
    pub energy_rise: f64,
    /// Mean iterations of the joint correction per step.
    pub joint_iterations: f64,
    /// CPU time of all steps by the number of all iterations, ms; none if there were no iterations.
    pub iteration_cpu_ms: Option<f64>,
    /// Steps that left a joint open.
    pub failed_steps: u64,
    /// All repeats ended in the same state.
    pub deterministic: bool,
    /// The state at the end.
    pub state_hash: String,
}

impl Measured {
    /// What has times and nothing else.
    pub fn of_times(label: &str, scene: &str, step_ms: Spread, cpu_ms: Spread) -> Measured {
        Measured {
            label: label.to_owned(),
            scene: scene.to_owned(),
            parameters: Vec::new(),
            targets: &[],
            dt: 0.0,
            steps: 0,
            bodies: 0,
            rows: 0,
            redundant_rows: 0,
            matrix_entries: 0,
            factor_entries: 0,
            step_ms,
            cpu_ms,
            accurate_cpu_ms: None,
            stages_ms: StageTimes::default(),
            joint_error_m: 0.0,
            displacement_m: 0.0,
            overlap_m: 0.0,
            overlap_at_end_m: 0.0,
            total_cpu_s: 0.0,
            energy_drift: 0.0,
            energy_rise: 0.0,
            joint_iterations: 0.0,
            iteration_cpu_ms: None,
            failed_steps: 0,
            deterministic: true,
            state_hash: String::new(),
        }
    }
}

/// One repeat.
struct Repeat {
    record: Record,
    accurate: StepTimes,
    stages: Stages,
    late_overlap: f64,
    state_hash: u64,
}

/// Scene and parameters on one line.
pub fn label_of(
    source: &Source,
    case: Option<&'static Case>,
    method: Option<Method>,
    options: &BenchOptions,
) -> String {
    match case {
        Some(case) if method == Some(Method::Reduced) => format!("{}, reduced", case.label()),
        Some(case) => case.label(),
        None => label(&source.name, options.settings.iter().map(|(key, value)| (key.as_str(), *value))),
    }
}

/// Measures a scene by a method, or by that of the command line; `None` if the user does not want to wait.
pub fn measure(
    source: &mut Source,
    case: Option<&'static Case>,
    method: Option<Method>,
    options: &BenchOptions,
) -> Result<Option<Measured>, Failure> {
    let label = label_of(source, case, method, options);
    let schedule = schedule(source, case, options)?;
    let mut progress = Progress::start(schedule.steps * u64::from(options.repeats), options.quiet);
    progress.name(&label);

    let mut repeats = Vec::new();
    for number in 0..u64::from(options.repeats) {
        let mut world = source.build()?;
        let mut params = StepParams { clock: Some(time::seconds), ..options.stepping.solving.params(schedule.dt) };
        params.method = method.unwrap_or(params.method);
        let mut scratch = Scratch::default();
        let mut repeat = Repeat {
            record: Record::start(&world),
            accurate: StepTimes::default(),
            stages: Stages::default(),
            late_overlap: 0.0,
            state_hash: 0,
        };
        for step in 0..schedule.steps {
            if interrupt::requested() {
                progress.finish();
                return Ok(None);
            }
            let watch = Stopwatch::start();
            let result = linkwork::step(&mut world, &mut scratch, &params);
            let elapsed = watch.elapsed();
            let report = result.map_err(|error| Failure::failed(format!("{label}: {error}"), ""))?;
            let kinds = &report.kinds;
            if kinds.accurate > 0 && kinds.robust + kinds.last_resort + kinds.controlled == 0 {
                repeat.accurate.add(elapsed);
            }
            repeat.add_stages(&report.stages);
            if 4 * step >= 3 * schedule.steps {
                repeat.late_overlap = repeat.late_overlap.max(report.penetration_m);
            }
            repeat.record.add(&world, &report, elapsed);
            progress.show(number * schedule.steps + step + 1, repeat.record.joint_error.0);
        }
        repeat.state_hash = world.state_hash();
        repeats.push(repeat);
    }
    progress.finish();

    let first = &repeats[0];
    let census = first.record.census;
    let stage = |time: fn(&Stages) -> f64| {
        let steps = schedule.steps as f64;
        1e3 * Spread::of(repeats.iter().map(|repeat| time(&repeat.stages) / steps).collect()).median
    };
    let iterations = |repeat: &Repeat| repeat.record.mean_iterations().0 * repeat.record.steps as f64;
    let enough = (FEW * schedule.steps as f64) as u64;
    let accurate = repeats.iter().filter(|repeat| repeat.accurate.count() > enough);
    let accurate: Vec<f64> = accurate.map(|repeat| repeat.accurate.median_cpu_ms()).collect();
    Ok(Some(Measured {
        label,
        scene: source.name.clone(),
        parameters: source.parameters.clone(),
        targets: case.map_or(&[], |case| case.targets),
        dt: schedule.dt,
        steps: schedule.steps,
        bodies: census.bodies,
        rows: census.constraint_rows,
        redundant_rows: census.redundant_rows,
        matrix_entries: census.matrix_entries,
        factor_entries: census.factor_entries,
        step_ms: Spread::of(repeats.iter().map(|repeat| repeat.record.times.wall_ms().median).collect()),
        cpu_ms: Spread::of(repeats.iter().map(|repeat| repeat.record.times.median_cpu_ms()).collect()),
        accurate_cpu_ms: (!accurate.is_empty()).then(|| Spread::of(accurate).median),
        stages_ms: StageTimes {
            assemble: stage(|s| s.assemble),
            factor: stage(|s| s.factor),
            solve: stage(|s| s.solve),
            predict: stage(|s| s.predict),
            collide: stage(|s| s.collide),
            contact: stage(|s| s.contact),
            other: stage(|s| s.other),
        },
        joint_error_m: first.record.joint_error.0,
        displacement_m: first.record.displacement,
        overlap_m: first.record.penetration,
        overlap_at_end_m: first.late_overlap,
        total_cpu_s: Spread::of(repeats.iter().map(|repeat| repeat.record.times.total.cpu).collect()).median,
        energy_drift: first.record.energy.drift_relative(),
        energy_rise: first.record.energy.max_rise_relative(),
        joint_iterations: first.record.mean_iterations().0,
        iteration_cpu_ms: iterations(first).gt(&0.0).then(|| {
            let of_repeat = |repeat: &Repeat| 1e3 * repeat.record.times.total.cpu / iterations(repeat);
            Spread::of(repeats.iter().map(of_repeat).collect()).median
        }),
        failed_steps: first.record.failed_steps,
        deterministic: repeats.iter().all(|repeat| repeat.state_hash == first.state_hash),
        state_hash: format!("{:016x}", first.state_hash),
    }))
}

impl Measured {
    /// Mean CPU time of a step, ms.
    pub fn mean_cpu_ms(&self) -> f64 {
        1e3 * self.total_cpu_s / self.steps as f64
    }
}

impl Repeat {
    fn add_stages(&mut self, stages: &Stages) {
        self.stages.assemble += stages.assemble;
        self.stages.factor += stages.factor;
        self.stages.solve += stages.solve;
        self.stages.predict += stages.predict;
        self.stages.collide += stages.collide;
        self.stages.contact += stages.contact;
        self.stages.other += stages.other;
    }
}

/// The case's step and duration unless the command line has others.
fn schedule(source: &mut Source, case: Option<&Case>, options: &BenchOptions) -> Result<Schedule, Failure> {
    let mut stepping = options.stepping.clone();
    if let Some(case) = case {
        stepping.dt = stepping.dt.or(Some(case.dt));
        stepping.duration = stepping.duration.or(Some(case.duration));
    }
    source.schedule(&stepping)
}
