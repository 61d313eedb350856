//! `linkwork run --adaptive`: a tree of which only the joints move that matter.

use crate::args::AdaptiveOptions;
use crate::failure::Failure;
use crate::time::{Elapsed, Stopwatch};
use linkwork::reduced::{Activity, Adaptive, Model, would_touch};
use linkwork::{JointError, StepReport, World};
use serde::Serialize;

/// A tree in motion beside the world that shows it.
pub struct AdaptiveRun {
    tree: Adaptive,
    model: Model,
    /// What happened so far.
    pub seen: AdaptiveReport,
    steps: u64,
}

/// What adaptive dynamics did in a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct AdaptiveReport {
    /// Joints that were active at the same time: mean over the steps.
    pub active_mean: f64,
    /// The same, at most.
    pub active_max: usize,
    /// Largest √Σq̈² over all joints at rest, rad/s² and m/s².
    pub lost_max: f64,
    /// Corners of bodies that pressed on the ground at the same time, at most.
    pub contacts_max: usize,
    /// Joints that pressed on their limits at the same time, at most.
    pub at_limits_max: usize,
    /// How far anything was in the ground or beyond a limit before it was pushed back, m or rad.
    pub overshoot_max: f64,
}

impl AdaptiveRun {
    /// The tree of a world; refuses what adaptive dynamics do not know.
    pub fn start(world: &World, scene: &str, options: &AdaptiveOptions, most: usize) -> Result<AdaptiveRun, Failure> {
        let activity = Activity { most, tolerance: options.lost, ..Activity::default() };
        let tree = Adaptive::of(world, activity).map_err(|error| {
            Failure::usage(format!("{scene}: {error}"), "leave --adaptive out; docs/reduced.md tells what it knows")
        })?;
        if let Some((a, b)) = would_touch(world) {
            let name = |id| world.body_name(id).unwrap_or_default().to_owned();
            let (a, b) = (name(a), name(b));
            eprintln!(
                "warning: bodies pass through each other with --adaptive, \"{a}\" and \"{b}\" among them; the ground alone stops them"
            );
        }
        Ok(AdaptiveRun { tree, model: Model::of(world), seen: AdaptiveReport::default(), steps: 0 })
    }

    /// A step, which the world shows afterwards. The time is that of the step alone.
    pub fn step(&mut self, world: &mut World, dt: f64) -> Result<(StepReport, Elapsed), String> {
        let watch = Stopwatch::start();
        let stepped = self.tree.step(dt).map_err(|error| error.to_string())?;
        let elapsed = watch.elapsed();
        self.tree.show(world, &self.model, dt);
        self.steps += 1;
        let seen = &mut self.seen;
        seen.active_mean += (stepped.active as f64 - seen.active_mean) / self.steps as f64;
        seen.active_max = seen.active_max.max(stepped.active);
        seen.lost_max = seen.lost_max.max(stepped.lost);
        seen.contacts_max = seen.contacts_max.max(stepped.contacts);
        seen.at_limits_max = seen.at_limits_max.max(stepped.at_limits);
        seen.overshoot_max = seen.overshoot_max.max(stepped.overshoot);
        let report =
            StepReport { joint_error: joint_error(world), contacts: stepped.contacts as u32, ..StepReport::default() };
        Ok((report, elapsed))
    }
}

/// How well the joints are closed, as the world shows them.
fn joint_error(world: &World) -> JointError {
    let mut error = JointError::default();
    for id in world.joint_ids() {
        let Some((m, rad)) = world.joint_error(id) else { continue };
        if m.max(rad) > error.max_m.max(error.max_rad) {
            error.worst = Some(id);
        }
        (error.max_m, error.max_rad) = (error.max_m.max(m), error.max_rad.max(rad));
    }
    error
}
