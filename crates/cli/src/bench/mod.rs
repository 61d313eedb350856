//! `linkwork bench`: time per step, and whether the targets are met.

mod algorithms;
mod baseline;
mod cases;
mod duel;
mod instructions;
mod measure;
mod particles;
mod targets;

use crate::args::{BenchOptions, SceneOptions};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{Output, print};
use crate::report::whole_or_real;
use crate::source::Source;
use crate::table::{figure, table};
use baseline::{Baseline, Entry, Quantity};
use cases::{CASES, Case, REDUCED, RELATIONS};
use linkwork::Method;
use measure::Measured;
use serde_json::{Map, Value, json};
use std::io::Write;
use targets::Verdict;

/// Measures scenes and holds the results against the targets.
///
/// A missed accuracy is a failure (exit code 1), a missed time is not: the machine may be slow or busy.
pub fn bench(options: &BenchOptions) -> Result<(), Failure> {
    let allowed = 0.01 * options.allow;
    interrupt::listen();
    if let Some(other) = &options.against {
        plan(options)?;
        let (text, slower) = duel::duel(other, options, allowed)?;
        print(&text)?;
        return if slower { Err(Failure::told()) } else { Ok(()) };
    }
    // before anything is measured, which takes long
    let before = options.compare.as_deref().map(Baseline::load).transpose()?;
    let save = options.save.as_deref().map(|path| Output::open("--save", path)).transpose()?;
    let fits = |quantity, how: &str, labels: &[String]| {
        before.as_ref().map_or(Ok(()), |before| before.check(quantity, how, labels))
    };
    if options.instructions {
        let plan = instructions::plan(options)?;
        let labels: Vec<String> = plan.iter().map(|run| run.label.clone()).collect();
        fits(Quantity::Instructions, "", &labels)?;
        let now = instructions::count(&plan, options)?;
        if before.is_none() {
            let line = |entry: &Entry| format!("{:>16.0}  {}\n", entry.median, entry.label);
            print(&now.entries.iter().map(line).collect::<String>())?;
        }
        return keep_and_compare(&now, save, before.as_ref(), options);
    }
    let mut plan = plan(options)?;
    let named = |name: &str| options.scenes.is_empty() || options.scenes.iter().any(|scene| scene == name);
    let algorithms = if named(algorithms::NAME) { algorithms::ALGORITHMS } else { &[] };
    let systems = if named(particles::NAME) { particles::SYSTEMS } else { &[] };
    let how = options.stepping.words().join(" ");
    let labels = plan.iter().map(|(source, case, method)| measure::label_of(source, *case, *method, options));
    let others = algorithms.iter().map(|case| case.label).chain(systems.iter().map(|case| case.label));
    fits(Quantity::CpuMs, &how, &labels.chain(others.map(str::to_owned)).collect::<Vec<_>>())?;
    let mut results: Vec<Measured> = Vec::new();
    for (source, case, method) in &mut plan {
        match measure::measure(source, *case, *method, options)? {
            Some(measured) => results.push(measured),
            None => break,
        }
    }
    for case in algorithms {
        match algorithms::measure(case, options)? {
            Some(measured) => results.push(measured),
            None => break,
        }
    }
    for case in systems {
        match particles::measure(case, options)? {
            Some(measured) => results.push(measured),
            None => break,
        }
    }
    let wanted = plan.len() + algorithms.len() + systems.len();
    if results.len() < wanted {
        let _ = writeln!(std::io::stderr(), "interrupted after {} of {wanted} scenes", results.len());
    }
    let verdicts = targets::judge(&results, RELATIONS);
    print(&if options.json { as_json(&results, &verdicts, options) } else { as_text(&results, &verdicts) })?;
    let entry = |m: &Measured| {
        let times = m.cpu_ms;
        Entry { label: m.label.clone(), median: times.median, least: times.least, most: times.most }
    };
    let now = Baseline { quantity: Quantity::CpuMs, options: how, entries: results.iter().map(entry).collect() };
    keep_and_compare(&now, save, before.as_ref(), options)?;
    match verdicts.iter().any(|verdict| verdict.is_wrong()) {
        true => Err(Failure::told()),
        false => Ok(()),
    }
}

/// What `--save` and `--compare` ask for.
fn keep_and_compare(
    now: &Baseline,
    save: Option<Output>,
    before: Option<&Baseline>,
    options: &BenchOptions,
) -> Result<(), Failure> {
    if let Some(output) = save {
        now.save(output)?;
    }
    let Some(before) = before else { return Ok(()) };
    let (text, worse) = before.compare(now, 0.01 * options.allow)?;
    print(&text)?;
    if worse { Err(Failure::told()) } else { Ok(()) }
}

/// A scene to be measured, the line of the table it is, and the method that the line asks for.
type Planned = (Source, Option<&'static Case>, Option<Method>);

/// What is measured: the table of targets or the part of it that concerns the scenes named, or these as they are.
fn plan(options: &BenchOptions) -> Result<Vec<Planned>, Failure> {
    let of_case = |case: &'static Case| Ok((case.source()?, Some(case), None));
    let of_reduced = |case: &'static Case| Ok((case.source()?, Some(case), Some(Method::Reduced)));
    if options.scenes.is_empty() {
        return CASES.iter().map(of_case).chain(REDUCED.iter().map(of_reduced)).collect();
    }
    let as_in_the_table = options.settings.is_empty() && options.stepping.dt.is_none();
    let is_reduced = options.stepping.solving.method.method() == Method::Reduced;
    let by_themselves = [algorithms::NAME, particles::NAME];
    let mut plan = Vec::new();
    for scene in options.scenes.iter().filter(|scene| !by_themselves.contains(&scene.as_str())) {
        let wanted = |case: &&'static Case| as_in_the_table && case.scene == scene;
        let own: Vec<Planned> =
            REDUCED.iter().filter(wanted).filter(|_| is_reduced).map(of_reduced).collect::<Result<_, Failure>>()?;
        let cases: Vec<Planned> = match own.is_empty() {
            true => CASES.iter().filter(wanted).map(of_case).collect::<Result<_, Failure>>()?,
            false => own,
        };
        if cases.is_empty() {
            let chosen = SceneOptions { scene: scene.clone(), settings: options.settings.clone() };
            plan.push((Source::find(&chosen)?, None, None));
        }
        plan.extend(cases);
    }
    Ok(plan)
}

const HEADER: [&str; 16] = [
    "scene",
    "bodies",
    "rows",
    "steps",
    "median ms",
    "from",
    "to",
    "CPU ms",
    "assemble",
    "factor",
    "solve",
    "predict",
    "collide",
    "contact",
    "other",
    "joint error m",
];

fn as_text(results: &[Measured], verdicts: &[Verdict]) -> String {
    let row = |measured: &Measured| {
        let numbers = [
            measured.step_ms.median,
            measured.step_ms.least,
            measured.step_ms.most,
            measured.cpu_ms.median,
            measured.stages_ms.assemble,
            measured.stages_ms.factor,
            measured.stages_ms.solve,
            measured.stages_ms.predict,
            measured.stages_ms.collide,
            measured.stages_ms.contact,
            measured.stages_ms.other,
            measured.joint_error_m,
        ];
        let mut cells = vec![measured.label.clone()];
        cells.extend([measured.bodies, measured.rows].map(|count| count.to_string()));
        cells.push(measured.steps.to_string());
        cells.extend(numbers.map(figure));
        cells
    };
    let mut text = table(&HEADER, &results.iter().map(row).collect::<Vec<_>>());
    text.push_str(
        "\nMilliseconds a step: median of a repeat, over the repeats the median, the smallest and the largest; \
         CPU likewise;\nstages are means over all steps.\n",
    );
    if !verdicts.is_empty() {
        text.push_str("\ntargets\n");
    }
    for verdict in verdicts {
        text.push_str(&format!("{} {}\n", if verdict.met { "  met   " } else { "  MISSED" }, verdict.text()));
    }
    text
}

fn as_json(results: &[Measured], verdicts: &[Verdict], options: &BenchOptions) -> String {
    let result = |measured: &Measured| {
        let parameters: Map<String, Value> =
            measured.parameters.iter().map(|(key, value)| (key.clone(), whole_or_real(*value))).collect();
        json!({
            "label": measured.label,
            "scene": measured.scene,
            "parameters": parameters,
            "dt": measured.dt,
            "steps": measured.steps,
            "bodies": measured.bodies,
            "constraint_rows": measured.rows,
            "redundant_rows": measured.redundant_rows,
            "matrix_entries": measured.matrix_entries,
            "factor_entries": measured.factor_entries,
            "step_ms": measured.step_ms,
            "cpu_ms": measured.cpu_ms,
            "accurate_cpu_ms": measured.accurate_cpu_ms,
            "stages_ms": measured.stages_ms,
            "joint_error": {"max_m": measured.joint_error_m},
            "displacement": {"max_m": measured.displacement_m},
            "energy": {
                "drift_relative": measured.energy_drift,
                "max_rise_relative": measured.energy_rise,
            },
            "iterations": {"joint_mean": measured.joint_iterations, "cpu_ms": measured.iteration_cpu_ms},
            "failed_steps": measured.failed_steps,
            "deterministic": measured.deterministic,
            "state_hash": measured.state_hash,
        })
    };
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "repeats": options.repeats,
        "results": results.iter().map(result).collect::<Vec<_>>(),
        "targets": verdicts.iter().map(Verdict::to_json).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
