//! Holding what was measured against what must be shown.

use super::cases::{Relation, Target};
use super::measure::Measured;
use crate::table::figure;
use serde_json::{Value, json};

/// Whether a target is met.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Which case.
    pub label: String,
    /// What it is about, with its unit.
    pub quantity: &'static str,
    /// What was measured.
    pub value: f64,
    /// What is allowed.
    pub bound: f64,
    /// Whether that is met.
    pub met: bool,
    /// Times depend on the machine; everything else on the engine alone.
    pub is_time: bool,
}

impl Verdict {
    /// The engine did not do what it must.
    pub fn is_wrong(&self) -> bool {
        !self.met && !self.is_time
    }

    /// On one line.
    pub fn text(&self) -> String {
        format!("{}: {} {}, target {}", self.label, self.quantity, figure(self.value), figure(self.bound))
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        json!({
            "label": self.label,
            "quantity": self.quantity,
            "value": self.value,
            "target": self.bound,
            "met": self.met,
        })
    }
}

/// Judges all targets of all results, and the relations between those that were measured.
pub fn judge(results: &[Measured], relations: &[Relation]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for result in results {
        verdicts.extend(result.targets.iter().map(|target| judge_target(result, *target)));
        let at_most_none = |quantity, count: u64| Verdict {
            label: result.label.clone(),
            quantity,
            value: count as f64,
            bound: 0.0,
            met: count == 0,
            is_time: false,
        };
        if result.failed_steps > 0 || !result.targets.is_empty() {
            verdicts.push(at_most_none("failed steps", result.failed_steps));
        }
        if !result.deterministic {
            verdicts.push(at_most_none("repeats that end differently", 1));
        }
    }
    verdicts.extend(relations.iter().filter_map(|relation| judge_relation(results, *relation)));
    verdicts
}

fn judge_target(result: &Measured, target: Target) -> Verdict {
    let (quantity, value, bound) = match target {
        Target::JointError(bound) => ("joint error in m", result.joint_error_m, bound),
        Target::StepTime(bound) => ("CPU ms a step", result.cpu_ms.median, bound),
        Target::AccurateStepTime(bound) => {
            ("CPU ms an accurate step", result.accurate_cpu_ms.unwrap_or(f64::NAN), bound)
        }
        Target::EnergyRise(bound) => ("rise of energy", result.energy_rise, bound),
        Target::EnergyDrift(bound) => ("drift of energy", result.energy_drift, bound),
        Target::Displacement(bound) => ("displacement in m", result.displacement_m, bound),
        Target::RedundantRows(rows) => ("redundant rows", result.redundant_rows as f64, rows as f64),
        Target::JointIterations(bound) => ("iterations a step", result.joint_iterations, bound),
        Target::MeanStepTime(bound) => ("CPU ms a step, mean", result.mean_cpu_ms(), bound),
        Target::TotalTime(bound) => ("CPU s in all", result.total_cpu_s, bound),
        Target::Overlap(bound) => ("overlap in m", result.overlap_m, bound),
        Target::OverlapAtEnd(bound) => ("overlap at the end in m", result.overlap_at_end_m, bound),
    };
    let met = match target {
        Target::RedundantRows(_) => value == bound,
        _ => value <= bound,
    };
    let is_time = matches!(
        target,
        Target::StepTime(_) | Target::AccurateStepTime(_) | Target::MeanStepTime(_) | Target::TotalTime(_)
    );
    Verdict { label: result.label.clone(), quantity, value, bound, met, is_time }
}

fn judge_relation(results: &[Measured], relation: Relation) -> Option<Verdict> {
    let find = |label: &str| results.iter().find(|result| result.label == label);
    let (label, quantity, value, bound) = match relation {
        Relation::Growth { from, to, exponent } => {
            let (small, large) = (find(from)?, find(to)?);
            let (small_ms, large_ms) = comparable_ms(small, large);
            let power = power(small, large, small_ms, large_ms);
            (format!("{from} to {to}"), "time grows with the rows to the power of", power, exponent)
        }
        Relation::MeanGrowth { from, to, exponent } => {
            let (small, large) = (find(from)?, find(to)?);
            let power = power(small, large, small.mean_cpu_ms(), large.mean_cpu_ms());
            (format!("{from} to {to}"), "mean time grows with the rows to the power of", power, exponent)
        }
        Relation::IterationGrowth { from, to, exponent } => {
            let (small, large) = (find(from)?, find(to)?);
            let power = power(small, large, small.iteration_cpu_ms?, large.iteration_cpu_ms?);
            (format!("{from} to {to}"), "time of an iteration grows with the rows to the power of", power, exponent)
        }
        Relation::PerRow { case, against, factor } => {
            let (case, against) = (find(case)?, find(against)?);
            let (case_ms, against_ms) = comparable_ms(case, against);
            let times = case_ms / case.rows as f64 / (against_ms / against.rows as f64);
            (format!("{} against {}", case.label, against.label), "time per row, times", times, factor)
        }
    };
    Some(Verdict { label, quantity, value, bound, met: value <= bound, is_time: true })
}

/// How a time grows with the rows: 1 is linear.
fn power(small: &Measured, large: &Measured, small_ms: f64, large_ms: f64) -> f64 {
    (large_ms / small_ms).ln() / (large.rows as f64 / small.rows as f64).ln()
}

/// Times of steps of the same kind: accurate ones, or else all. Other kinds take several times as long.
fn comparable_ms(a: &Measured, b: &Measured) -> (f64, f64) {
    match (a.accurate_cpu_ms, b.accurate_cpu_ms) {
        (Some(a), Some(b)) => (a, b),
        _ => (a.cpu_ms.median, b.cpu_ms.median),
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Spread, StageTimes};
    use super::*;

    fn measured(label: &str, rows: usize, ms: f64, targets: &'static [Target]) -> Measured {
        let spread = Spread { median: ms, least: ms, most: ms };
        Measured {
            label: label.to_owned(),
            scene: label.to_owned(),
            parameters: Vec::new(),
            targets,
            dt: 0.01,
            steps: 10,
            bodies: 1,
            rows,
            redundant_rows: 3,
            matrix_entries: 0,
            factor_entries: 0,
            step_ms: spread,
            cpu_ms: spread,
            accurate_cpu_ms: None,
            stages_ms: StageTimes::default(),
            joint_error_m: 1e-10,
            displacement_m: f64::NAN,
            overlap_m: 2e-3,
            overlap_at_end_m: 1e-4,
            total_cpu_s: 0.01 * ms,
            energy_drift: 0.5,
            energy_rise: 0.0,
            joint_iterations: 2.0,
            iteration_cpu_ms: Some(0.5 * ms),
            failed_steps: 0,
            deterministic: true,
            state_hash: String::new(),
        }
    }

    #[test]
    fn targets_are_judged() {
        const TARGETS: &[Target] = &[
            Target::JointError(1e-9),
            Target::StepTime(0.1),
            Target::AccurateStepTime(0.3),
            Target::EnergyDrift(0.02),
            Target::EnergyRise(0.01),
            Target::Displacement(1.0),
            Target::RedundantRows(3),
            Target::JointIterations(4.0),
            Target::MeanStepTime(1.0),
            Target::TotalTime(1e-3),
            Target::Overlap(1e-3),
            Target::OverlapAtEnd(1e-3),
        ];
        let result = Measured { accurate_cpu_ms: Some(0.25), ..measured("a", 100, 0.2, TARGETS) };
        let verdicts = judge(&[result], &[]);
        let met: Vec<bool> = verdicts.iter().map(|verdict| verdict.met).collect();
        assert_eq!(met, [true, false, true, false, true, false, true, true, true, false, false, true, true]);
        let wrong: Vec<&str> = verdicts.iter().filter(|v| v.is_wrong()).map(|v| v.quantity).collect();
        assert_eq!(wrong, ["drift of energy", "displacement in m", "overlap in m"]);
    }

    #[test]
    fn relations_are_judged_where_both_sides_are_measured() {
        let results = [measured("a", 100, 1.0, &[]), measured("b", 400, 16.0, &[])];
        let growth = Relation::Growth { from: "a", to: "b", exponent: 1.15 };
        let per_row = Relation::PerRow { case: "b", against: "a", factor: 4.5 };
        let absent = Relation::PerRow { case: "c", against: "a", factor: 1.0 };
        let iteration = Relation::IterationGrowth { from: "a", to: "b", exponent: 1.15 };
        let mean = Relation::MeanGrowth { from: "a", to: "b", exponent: 1.15 };
        let mut results = results;
        results[1].iteration_cpu_ms = Some(2.0);
        results[1].total_cpu_s = 4.0 * results[0].total_cpu_s;
        let verdicts = judge(&results, &[growth, per_row, absent, iteration, mean]);
        assert_eq!(verdicts.len(), 4);
        assert!((verdicts[3].value - 1.0).abs() < 1e-12 && verdicts[3].met);
        assert!((verdicts[2].value - 1.0).abs() < 1e-12 && verdicts[2].met);
        assert!((verdicts[0].value - 2.0).abs() < 1e-12 && !verdicts[0].met && !verdicts[0].is_wrong());
        assert!((verdicts[1].value - 4.0).abs() < 1e-12 && verdicts[1].met);
    }

    #[test]
    fn a_failed_step_or_a_different_end_is_always_told() {
        let broken = Measured { failed_steps: 2, deterministic: false, ..measured("a", 1, 1.0, &[]) };
        let verdicts = judge(&[broken], &[]);
        assert_eq!(verdicts.iter().filter(|verdict| verdict.is_wrong()).count(), 2);
    }
}
