//! Counting the instructions of a run: the same whatever else the machine does, so that a loss of a percent is seen.
//!
//! The command starts itself under valgrind. The count is of the whole run, reading arguments and building the scene included;
//! these are small beside the steps of the scenes below.

use super::baseline::{Baseline, Entry, Quantity};
use super::cases::label;
use crate::args::BenchOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
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

/// Counts the scenes named, or those of the table above.
pub fn count(options: &BenchOptions) -> Result<Baseline, Failure> {
    let mut plan: Vec<(String, Vec<String>)> = Vec::new();
    let duration = |otherwise: Option<f64>| options.stepping.duration.or(otherwise);
    for (scene, settings, seconds) in SCENES.iter().filter(|_| options.scenes.is_empty()) {
        let settings: Vec<(String, f64)> = settings.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
        plan.push(asked(scene, &settings, duration(Some(*seconds)), options));
    }
    for scene in &options.scenes {
        plan.push(asked(scene, &options.settings, duration(None), options));
    }
    let mut progress = Progress::start(plan.len() as u64, options.quiet);
    let mut entries = Vec::new();
    for (k, (label, arguments)) in plan.into_iter().enumerate() {
        if interrupt::requested() {
            break;
        }
        progress.name(&label);
        let instructions = count_run(&label, &arguments)?;
        entries.push(Entry::exact(label, instructions));
        progress.show(k as u64 + 1, 0.0);
    }
    progress.finish();
    Ok(Baseline { quantity: Quantity::Instructions, entries })
}

/// The label of a run and the arguments that make it.
fn asked(
    scene: &str,
    settings: &[(String, f64)],
    duration: Option<f64>,
    options: &BenchOptions,
) -> (String, Vec<String>) {
    let mut arguments = ["run", scene, "--quiet", "--threads", "1"].map(str::to_owned).to_vec();
    for (key, value) in settings {
        arguments.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    let steps = &options.stepping;
    let mut label = label(scene, settings.iter().map(|(key, value)| (key.as_str(), *value)));
    for (flag, value) in [("--duration", duration), ("--dt", steps.dt)] {
        if let Some(value) = value {
            label.push_str(&format!(" {flag} {value}"));
            arguments.extend([flag.to_owned(), value.to_string()]);
        }
    }
    for word in steps.solving.words() {
        label.push_str(&format!(" {word}"));
        arguments.push(word);
    }
    (label, arguments)
}

fn count_run(label: &str, arguments: &[String]) -> Result<f64, Failure> {
    let this = std::env::current_exe().map_err(|error| Failure::failed(format!("this program: {error}"), ""))?;
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(this)
        .args(arguments)
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
        return Err(Failure::failed(
            format!("{label}: {UNKNOWN_INSTRUCTION}"),
            "a newer valgrind may know it; times can be compared without --instructions",
        ));
    }
    if !output.status.success() {
        let own: Vec<&str> = said.lines().filter(|line| !line.starts_with("==")).collect();
        return Err(Failure::failed(format!("{label}: {}", own.join(" ")), "run it without --instructions to see why"));
    }
    total(&said).ok_or_else(|| {
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
