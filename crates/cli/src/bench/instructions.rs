//! Counting the instructions of a run: the same whatever else the machine does, so that a loss of a percent is seen.
//!
//! The command starts itself under valgrind. The count is of the whole run, reading arguments and building the scene included;
//! these are small beside the steps of the scenes below.

use super::baseline::{Baseline, Entry, Quantity};
use super::cases::label;
use crate::args::{BenchOptions, SceneOptions, StepOptions};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::source::Source;
use std::io::Write;
use std::process::{Command, Stdio};

/// A scene whose instructions are counted, and for how long, s.
type Counted = (&'static str, &'static [(&'static str, f64)], f64);

/// Small, and together all of the engine: trees, loops, redundant rows, contact alone, contact with joints.
const SCENES: &[Counted] = &[
    ("tree", &[("bodies", 127.0)], 1.0),
    ("wrecking-ball", &[("mass", 1000.0)], 1.0),
    ("scissor-lift", &[("pairs", 10.0)], 1.0),
    ("strandbeest", &[("legs", 12.0), ("load", 20.0), ("ground", 1.0)], 1.0),
    ("pyramid", &[("base", 10.0)], 0.5),
    ("rings", &[("rings", 25.0)], 0.5),
];

/// What is said when valgrind is older than the instructions the compiler chose: a limit of the tool, no loss of speed.
const UNKNOWN_INSTRUCTION: &str = "valgrind does not know an instruction of this program";

/// A run whose instructions are counted.
pub struct Run {
    /// Scene, parameters and options on one line.
    pub label: String,
    /// What this program is started with.
    arguments: Vec<String>,
}

/// The scenes named, or those of the table above.
pub fn plan(options: &BenchOptions) -> Result<Vec<Run>, Failure> {
    let mut plan = Vec::new();
    let duration = |otherwise: Option<f64>| options.stepping.duration.or(otherwise);
    for (scene, settings, seconds) in SCENES.iter().filter(|_| options.scenes.is_empty()) {
        let settings: Vec<(String, f64)> = settings.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
        plan.push(asked(scene, &settings, duration(Some(*seconds)), options));
    }
    for scene in &options.scenes {
        // what is wrong with it is told here, not by the program under valgrind
        let chosen = SceneOptions { scene: scene.clone(), settings: options.settings.clone() };
        let mut source = Source::find(&chosen)?;
        source.schedule(&options.stepping)?;
        source.build()?;
        plan.push(asked(scene, &options.settings, duration(None), options));
    }
    Ok(plan)
}

/// Counts them one after the other. What valgrind cannot run is left out and told, unless that is all.
pub fn count(plan: &[Run], options: &BenchOptions) -> Result<Baseline, Failure> {
    let mut progress = Progress::start(plan.len() as u64, options.quiet);
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    for (k, run) in plan.iter().enumerate() {
        if interrupt::requested() {
            break;
        }
        progress.name(&run.label);
        match count_run(run)? {
            Some(instructions) => entries.push(Entry::exact(run.label.clone(), instructions)),
            None => left_out.push(run.label.as_str()),
        }
        progress.show(k as u64 + 1, 0.0);
    }
    progress.finish();
    let told = format!("not counted, because {UNKNOWN_INSTRUCTION}: {}", left_out.join(", "));
    if entries.is_empty() && !left_out.is_empty() {
        return Err(Failure::failed(
            told,
            "a newer valgrind may know it; times can be compared without --instructions",
        ));
    }
    if !left_out.is_empty() {
        let _ = writeln!(std::io::stderr(), "warning: {told}");
    }
    Ok(Baseline { quantity: Quantity::Instructions, options: String::new(), entries })
}

fn asked(scene: &str, settings: &[(String, f64)], duration: Option<f64>, options: &BenchOptions) -> Run {
    let mut arguments = ["run", scene, "--quiet", "--threads", "1"].map(str::to_owned).to_vec();
    for (key, value) in settings {
        arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let mut label = label(scene, settings.iter().map(|(key, value)| (key.as_str(), *value)));
    for word in (StepOptions { duration, ..options.stepping.clone() }).words() {
        label.push_str(&format!(" {word}"));
        arguments.push(word);
    }
    Run { label, arguments }
}

/// The instructions of a run; none if valgrind is older than one of them.
fn count_run(run: &Run) -> Result<Option<f64>, Failure> {
    let label = &run.label;
    let this = std::env::current_exe().map_err(|error| Failure::failed(format!("this program: {error}"), ""))?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(this)
        .args(&run.arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            Failure::usage(
                format!("--instructions needs valgrind: {error}"),
                "install it, or leave --instructions out and compare times",
            )
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("unhandled instruction bytes") {
        return Ok(None);
    }
    if !output.status.success() {
        let own: Vec<&str> = said.lines().filter(|line| !line.starts_with("==") && !line.starts_with("--")).collect();
        return Err(Failure::failed(format!("{label}: {}", own.join(" ")), "run it without --instructions to see why"));
    }
    total(&said).map(Some).ok_or_else(|| {
        Failure::failed(format!("{label}: valgrind did not say how many instructions"), "is it version 3.15 or later?")
    })
}

/// The number in `==123== I   refs:      12,345`.
fn total(said: &str) -> Option<f64> {
    let line = said.lines().find(|line| line.contains("refs:"))?;
    let digits: String = line.rsplit(':').next()?.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read() {
        assert_eq!(total("==7== Cachegrind\n==7== I   refs:      1,234,567\n"), Some(1_234_567.0));
        assert_eq!(total("==7== nothing\n"), None);
    }
}
