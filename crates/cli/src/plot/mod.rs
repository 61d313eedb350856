//! `linkwork plot`: charts of runs as SVG.

mod chart;
mod data;

use crate::args::PlotOptions;
use crate::failure::Failure;
use crate::output::{self, Output};
use chart::{Axis, Chart, Line};
use data::{Data, Series};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Draws charts of files.
pub fn plot(options: &PlotOptions) -> Result<(), Failure> {
    let files = options.files.iter().map(|path| Data::read(path)).collect::<Result<Vec<Data>, Failure>>()?;
    let charts = match options.show.as_slice() {
        [] => usual(&files),
        asked => asked.iter().map(|what| asked_for(what.trim(), &files)).collect::<Result<Vec<Chart>, Failure>>()?,
    };
    if charts.is_empty() {
        let name = files.first().map(|file| file.name.as_str()).unwrap_or_default();
        return Err(Failure::failed(
            format!("{name}: there is nothing to draw in it"),
            "a run of at least two steps has something",
        ));
    }
    let target = options.to.clone().unwrap_or_else(|| beside(&options.files[0]));
    let mut named: Vec<(&str, &Path)> = options.files.iter().map(|file| ("the input", file.as_path())).collect();
    named.dedup();
    if let Some(input) = named.iter().find(|(_, path)| *path == target) {
        return Err(Failure::usage(
            format!("--to would overwrite {}", input.1.display()),
            "choose another name with --to FILE.svg",
        ));
    }
    let mut output = Output::open("--to", &target)?;
    let quiet = output.is_stdout();
    output.write_all(chart::svg(&charts).as_bytes()).map_err(|error| output.failure(&error))?;
    output.finish()?;
    if quiet { Ok(()) } else { output::print(&format!("{}\n", target.display())) }
}

fn beside(file: &Path) -> PathBuf {
    file.with_extension("svg")
}

/// What charts can be called, and the series that they are of.
const QUANTITIES: [(&str, &str, &str, &[&str], bool); 5] = [
    ("energy", "energy", "J", &["kinetic", "potential", "elastic", "total"], false),
    ("joint-error", "largest joint error", "m, rad", &["joint_error_m", "joint_error_rad"], true),
    ("penetration", "deepest penetration", "m", &["penetration_m"], true),
    ("step-time", "time per step", "ms", &["step_ms"], false),
    ("iterations", "iterations per step", "", &["joint_iterations", "contact_iterations"], false),
];
/// Bodies of a table that are drawn where none is asked for.
const MOST_BODIES: usize = 8;
const WORK_PRECISION: &str = "work-precision";

/// Without wishes: everything that is not zero throughout, what several reports tell together, and positions of tables.
fn usual(files: &[Data]) -> Vec<Chart> {
    let mut charts: Vec<Chart> = QUANTITIES.iter().filter_map(|quantity| of_quantity(quantity.0, files)).collect();
    if files.iter().filter(|file| file.work.is_some()).count() > 1 {
        charts.extend(work_precision(files));
    }
    charts.extend(positions(files));
    charts
}

/// Where the bodies of tables are, a chart for each axis; of the first ones if there are many.
fn positions(files: &[Data]) -> Vec<Chart> {
    let bodies = |file: &Data| file.bodies().iter().take(MOST_BODIES).cloned().collect::<Vec<String>>();
    let of_axis = |axis: &str| {
        let mut lines = Vec::new();
        for file in files {
            for body in bodies(file) {
                let Ok(series) = file.column(&format!("{body}.{axis}")) else { continue };
                let label = if files.len() > 1 { format!("{} {body}", short(file, files)) } else { body };
                lines.push(line(label, &series));
            }
        }
        let has_something = lines.iter().any(|line| line.points.len() > 1);
        has_something.then(|| Chart {
            title: axis.to_owned(),
            x: Axis::linear("time, s"),
            y: Axis::linear(data::unit_of(axis)),
            lines,
        })
    };
    ["x", "y", "z"].into_iter().filter_map(of_axis).collect()
}

fn asked_for(what: &str, files: &[Data]) -> Result<Chart, Failure> {
    let first = files.first().map(|file| file.name.as_str()).unwrap_or_default();
    let known = QUANTITIES.iter().any(|quantity| quantity.0 == what);
    if known {
        return of_quantity(what, files).ok_or_else(|| {
            Failure::failed(
                format!("{first}: it has no {what} that changes"),
                "reports and recordings have the course of time in them; tables have poses and velocities only",
            )
        });
    }
    if what == WORK_PRECISION {
        return work_precision(files).ok_or_else(|| {
            Failure::failed(
                format!("{first}: {WORK_PRECISION} needs reports of runs with different step sizes or tolerances"),
                "make them with `linkwork run SCENE --dt H --report FILE.json`",
            )
        });
    }
    column(what, files)
}

/// The lines of a quantity in all files that have it.
fn of_quantity(what: &str, files: &[Data]) -> Option<Chart> {
    let &(_, title, unit, columns, logarithmic) = QUANTITIES.iter().find(|quantity| quantity.0 == what)?;
    let mut lines = Vec::new();
    for file in files {
        for &column in columns {
            let Some(series) = file.series(column).filter(|series| !series.is_zero()) else { continue };
            let name = column.trim_end_matches("_m").trim_end_matches("_rad").trim_end_matches("_ms").replace('_', " ");
            let unit = if column.ends_with("_rad") { " (rad)" } else { "" };
            let label =
                if files.len() > 1 { format!("{} {name}{unit}", short(file, files)) } else { format!("{name}{unit}") };
            lines.push(line(label, &series));
        }
    }
    let y = if logarithmic { Axis::logarithmic(unit) } else { Axis::linear(unit) };
    (!lines.is_empty()).then(|| Chart { title: title.to_owned(), x: Axis::linear("time, s"), y, lines })
}

/// What a file is called among others: without its folder, unless another one has the same name.
fn short<'a>(file: &'a Data, files: &[Data]) -> &'a str {
    let base = |name: &'a str| Path::new(name).file_name().and_then(|base| base.to_str()).unwrap_or(name);
    let own = base(&file.name);
    let same = files.iter().filter(|other| Path::new(&other.name).file_name() == Path::new(own).file_name()).count();
    if same > 1 { &file.name } else { own }
}

fn line(label: String, series: &Series) -> Line {
    Line { label, points: series.points.clone(), marks: Vec::new() }
}

/// A column of one body of the tables.
fn column(what: &str, files: &[Data]) -> Result<Chart, Failure> {
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| file.is_table()) {
        let series = file.column(what)?;
        let label = if files.len() > 1 { format!("{} {what}", short(file, files)) } else { what.to_owned() };
        lines.push(line(label, &series));
    }
    if lines.is_empty() {
        let names: Vec<&str> = QUANTITIES.iter().map(|quantity| quantity.0).chain([WORK_PRECISION]).collect();
        let first = files.first().map(|file| file.name.as_str()).unwrap_or_default();
        return Err(Failure::usage(
            format!("{first}: it has no `{what}` to draw"),
            format!("it may have {}; BODY.COLUMN is for tables of `run --csv`", names.join(", ")),
        ));
    }
    let unit = data::unit_of(what);
    Ok(Chart { title: what.to_owned(), x: Axis::linear("time, s"), y: Axis::linear(unit), lines })
}

/// Error against work, a line for every scene and method, a mark for every report.
fn work_precision(files: &[Data]) -> Option<Chart> {
    let mut lines: Vec<Line> = Vec::new();
    for work in files.iter().filter_map(|file| file.work.as_ref()) {
        if !(work.cpu_s_per_s > 0.0 && work.drift > 0.0) {
            continue;
        }
        let index = lines.iter().position(|line| line.label == work.label).unwrap_or_else(|| {
            lines.push(Line { label: work.label.clone(), points: Vec::new(), marks: Vec::new() });
            lines.len() - 1
        });
        lines[index].points.push((work.cpu_s_per_s, work.drift));
        lines[index].marks.push((work.cpu_s_per_s, work.drift, work.setting.clone()));
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let enough = lines.iter().map(|line| line.points.len()).sum::<usize>() > 1;
    enough.then(|| Chart {
        title: "work and precision".to_owned(),
        x: Axis::logarithmic("CPU time per simulated time, s/s"),
        y: Axis::logarithmic("relative energy drift"),
        lines,
    })
}
