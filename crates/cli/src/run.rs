//! `linkwork run`.

use crate::adaptive::{AdaptiveReport, AdaptiveRun};
use crate::args::RunOptions;
use crate::csv::Csv;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::record::Record;
use crate::report::{End, Report};
use crate::source::{Schedule, Source};
use crate::start;
use crate::table::{facts, figure, plural};
use crate::tape::Tape;
use crate::time::Stopwatch;
use crate::view::page;
use linkwork::{Scratch, World};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Rise of energy in a run by adaptive dynamics that is told.
const MOST_RISE: f64 = 0.05;

/// Simulates a scene.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    if options.html.is_some() {
        page::require()?;
    }
    let mut source = Source::find(&options.scene)?;
    let schedule = source.schedule(&options.stepping)?;
    let outputs = Outputs::open(options, &source)?;
    interrupt::listen();
    let mut world = source.build()?;
    if !options.quiet {
        start::warnings(&world).iter().for_each(|said| drop(writeln!(std::io::stderr(), "warning: {said}")));
    }
    let adapting = &options.adapting;
    let adaptive =
        adapting.adaptive.map(|most| AdaptiveRun::start(&world, &source.name, adapting, most)).transpose()?;

    let mut csv = match outputs.csv {
        None => None,
        Some(output) => Some(CsvOutput::start(output, &world, options.every)?),
    };
    let (dt, fps) = (schedule.dt, options.fps);
    let mut tape = Tape::start(outputs.record, outputs.html, &source, &world, dt, fps)?;
    let (record, adapted, end) = simulate(&mut world, adaptive, schedule, options, csv.as_mut(), tape.as_mut());

    let report = Report::new(&source, schedule, options.stepping.solving, &world, &record, &end).adapted(adapted);
    let written = csv.map_or(Ok(()), CsvOutput::finish).and(tape.map_or(Ok(()), Tape::finish));
    // The report comes even if the table or the recording could not be written.
    if let Some(mut output) = outputs.report {
        output.write_all(report.to_json().as_bytes()).map_err(|error| output.failure(&error))?;
        output.finish()?;
    }
    written?;
    if std::io::stdout().is_terminal() && !options.quiet && !outputs.uses_stdout {
        output::print(&summary(&report))?;
    }
    conclude(&report, &end, options.quiet)
}

struct Outputs {
    report: Option<Output>,
    csv: Option<Output>,
    record: Option<Output>,
    html: Option<Output>,
    uses_stdout: bool,
}

impl Outputs {
    /// Opens all outputs before the work is done whose result they take.
    fn open(options: &RunOptions, source: &Source) -> Result<Outputs, Failure> {
        let scene_file = source.file.as_ref().map(|file| Path::new(&file.file));
        let named = [
            ("the scene", scene_file),
            ("--report", options.report.as_deref()),
            ("--csv", options.csv.as_deref()),
            ("--record", options.record.as_deref()),
            ("--html", options.html.as_deref()),
        ];
        let named: Vec<(&str, &Path)> = named.into_iter().filter_map(|(name, path)| Some((name, path?))).collect();
        output::refuse_same_file(&named)?;
        let open =
            |option: &str, path: &Option<PathBuf>| path.as_deref().map(|path| Output::open(option, path)).transpose();
        let report = open("--report", &options.report)?;
        let csv = open("--csv", &options.csv)?;
        let record = open("--record", &options.record)?;
        let html = open("--html", &options.html)?;
        let uses_stdout = [&report, &csv, &record, &html].into_iter().flatten().any(Output::is_stdout);
        Ok(Outputs { report, csv, record, html, uses_stdout })
    }
}

/// Steps until the time is over, the user ends it or a step fails.
fn simulate(
    world: &mut World,
    mut adaptive: Option<AdaptiveRun>,
    schedule: Schedule,
    options: &RunOptions,
    mut csv: Option<&mut CsvOutput>,
    mut tape: Option<&mut Tape>,
) -> (Record, Option<AdaptiveReport>, End) {
    let params = options.stepping.solving.params(schedule.dt);
    let mut scratch = Scratch::default();
    let mut record = Record::start(world);
    let mut progress = Progress::start(schedule.steps, options.quiet);
    let end = loop {
        if record.steps >= schedule.steps {
            break End::Complete;
        }
        if interrupt::requested() {
            break End::Interrupted;
        }
        let result = match &mut adaptive {
            Some(tree) => tree.step(world, schedule.dt),
            None => {
                let watch = Stopwatch::start();
                let result = linkwork::step(world, &mut scratch, &params);
                let elapsed = watch.elapsed();
                result.map(|report| (report, elapsed)).map_err(|error| error.to_string())
            }
        };
        match result {
            Ok((report, elapsed)) => {
                record.add(world, &report, elapsed);
                if let Some(tape) = tape.as_deref_mut()
                    && !tape.sample(world, &report, elapsed.wall, &record)
                {
                    break End::Interrupted;
                }
            }
            Err(error) => break End::Failed(error),
        }
        if let Some(csv) = csv.as_deref_mut()
            && !csv.sample(record.steps, world)
        {
            break End::Interrupted;
        }
        progress.show(record.steps, record.joint_error.0);
    };
    progress.finish();
    (record, adaptive.map(|tree| tree.seen), end)
}

/// The table, and what went wrong in writing it.
struct CsvOutput {
    csv: Csv<Output>,
    every: u64,
    failure: Option<Failure>,
}

impl CsvOutput {
    fn start(output: Output, world: &World, every: u64) -> Result<Self, Failure> {
        let csv = Csv::start(output, world).map_err(|error| Failure::failed(format!("--csv: {error}"), ""))?;
        let mut csv = CsvOutput { csv, every, failure: None };
        csv.sample(0, world);
        Ok(csv)
    }

    /// Writes the state after so many steps if it is its turn; false if that is no longer possible.
    fn sample(&mut self, steps: u64, world: &World) -> bool {
        if self.failure.is_none()
            && steps.is_multiple_of(self.every)
            && let Err(error) = self.csv.sample(world)
        {
            self.failure = Some(self.csv.writer().failure(&error));
        }
        self.failure.is_none()
    }

    fn finish(self) -> Result<(), Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.csv.into_inner().finish(),
        }
    }
}

fn summary(report: &Report) -> String {
    let parameters: Vec<String> = report.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut text = format!("{} {}", report.scene, parameters.join(" ")).trim_end().to_owned() + "\n";
    text.push_str(&facts(&report.summary()));
    for line in report.warning_lines() {
        text.push_str(&format!("  warning: {line}\n"));
    }
    text
}

/// Says on stderr how it ended, unless all is well.
fn conclude(report: &Report, end: &End, quiet: bool) -> Result<(), Failure> {
    match end {
        End::Failed(why) => Err(Failure::failed(
            format!("the simulation failed at {} s: {why}", figure(report.simulated_s)),
            "what was computed until then is kept; try a smaller --dt",
        )),
        _ if report.failed_steps > 0 => Err(Failure::failed(
            format!(
                "{} of {} left a joint open, by {} m at worst{}",
                plural(report.failed_steps, "step"),
                report.steps,
                figure(report.joint_error.max_m),
                report.joint_error.joint.as_ref().map(|name| format!(" at {name}")).unwrap_or_default()
            ),
            "`linkwork check` looks for contradictions in the scene; otherwise try a smaller --dt",
        )),
        End::Interrupted => {
            if !quiet {
                let (done, asked) = (figure(report.simulated_s), figure(report.duration));
                let _ = writeln!(std::io::stderr(), "interrupted after {done} of {asked} s; what was computed is kept");
            }
            Ok(())
        }
        End::Complete => {
            let rise = report.energy.max_rise_relative;
            if report.adaptive.is_some() && rise > MOST_RISE && !quiet {
                let _ = writeln!(
                    std::io::stderr(),
                    "warning: energy rose by {} % of the kinetic energy; unless forces drive the tree, take a smaller --dt: adaptive steps are explicit",
                    figure(100.0 * rise)
                );
            }
            Ok(())
        }
    }
}
