//! The course of a run: its numbers over time, few enough to be read by people.

use linkwork::StepReport;
use linkwork::World;
use linkwork_io::recording::{STAT_COUNT, Stats};

/// So many moments are kept at most; of longer runs every second, fourth, … one.
const MOST: usize = 512;

/// Names of the numbers, as in reports; the order of [`Stats`].
pub const NAMES: [&str; STAT_COUNT] = [
    "kinetic",
    "potential",
    "elastic",
    "joint_error_m",
    "joint_error_rad",
    "penetration_m",
    "step_ms",
    "joint_iterations",
    "contact_iterations",
];

/// Numbers over time.
#[derive(Clone, Debug)]
pub struct Course {
    moments: Vec<(f64, [f32; STAT_COUNT])>,
    seen: u64,
    stride: u64,
}

impl Course {
    /// The state before the first step.
    pub fn start(world: &World) -> Self {
        Course { moments: vec![(world.time(), Stats::of(world, None, 0.0).to_array())], seen: 1, stride: 1 }
    }

    /// Adds the state after a step if it is its turn.
    pub fn add(&mut self, world: &World, report: &StepReport, step_seconds: f64) {
        if self.seen.is_multiple_of(self.stride) {
            self.moments.push((world.time(), Stats::of(world, Some(report), step_seconds).to_array()));
        }
        self.seen += 1;
        if self.moments.len() >= MOST {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }
}

impl Course {
    /// As JSON, a line for each kind of number. What is not finite is `null`.
    pub fn lines(&self) -> Vec<String> {
        let line = |name: &str, numbers: Vec<f64>| format!("    \"{name}\": {}", serde_json::json!(numbers));
        let mut lines = vec![line("time", self.moments.iter().map(|moment| rounded(moment.0)).collect())];
        for (k, name) in NAMES.iter().enumerate() {
            lines.push(line(name, self.moments.iter().map(|moment| rounded(f64::from(moment.1[k]))).collect()));
        }
        lines
    }
}

/// To the nine digits that tell all 32-bit numbers apart.
fn rounded(number: f64) -> f64 {
    format!("{number:.8e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::Scene;
    use linkwork::scene::Body;
    use linkwork::{Scratch, StepParams, step};

    #[test]
    fn a_long_run_keeps_evenly_spaced_moments() {
        let mut scene = Scene::new("ball");
        scene.body(Body::new("ball").with_mass(2.0).with_inertia([1.0; 3]));
        let mut world = World::build(&scene).unwrap();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(0.001));
        let mut course = Course::start(&world);
        for _ in 0..3000 {
            let report = step(&mut world, &mut scratch, &params).unwrap();
            course.add(&world, &report, 0.0);
        }
        assert!(course.moments.len() > MOST / 4 && course.moments.len() < MOST);
        let gap = course.stride as f64 * 0.001;
        for pair in course.moments.windows(2) {
            assert!((pair[1].0 - pair[0].0 - gap).abs() < 1e-9);
        }
        // a falling ball's energies, against the closed form
        for (time, stats) in &course.moments {
            let kinetic = 0.5 * 2.0 * (9.81 * time).powi(2);
            assert!((f64::from(stats[0]) - kinetic).abs() <= 1e-5 * kinetic.max(1.0), "{time}");
        }
    }
}
