//! What can be asked of the command.

use crate::failure::Failure;
use crate::number;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use linkwork::StepParams;
use std::path::PathBuf;

/// Articulated rigid bodies with hard joints: run, check and measure scenes.
#[derive(Debug, Parser)]
#[command(name = "linkwork", version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 success, 1 a model or a simulation failed, 2 asked for something impossible.")]
pub struct Arguments {
    /// Threads that share the work; as many as the machine has cores if absent, one for bench. Results do not depend on it
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the command does.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the scenes with their parameters and defaults
    List(ListOptions),
    /// Simulate a scene
    Run(RunOptions),
    /// Validate and assemble a scene, and count what it has
    Check(CheckOptions),
    /// Write a scene to a file
    Export(ExportOptions),
    /// Print the JSON Schema of scene files
    Schema,
    /// Show a scene or a recording in the browser: watch, drag, pause, step, inspect
    View(ViewOptions),
    /// Draw a scene at a moment as a PNG picture, without a browser
    Render(RenderOptions),
    /// Draw charts of reports, tables and recordings as SVG
    Plot(PlotOptions),
    /// Measure the time per step, by default on the scenes and targets of docs/results.md
    Bench(BenchOptions),
}

/// What to list.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// Explain the parameters of this scene
    #[arg(value_name = "SCENE")]
    pub scene: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which scene.
#[derive(Debug, Args)]
pub struct SceneOptions {
    /// A scene of `linkwork list`, or a scene file (.toml or .json)
    #[arg(value_name = "SCENE", value_parser = NonEmptyStringValueParser::new())]
    pub scene: String,
    /// Set a parameter of the scene; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = number::setting)]
    pub settings: Vec<(String, f64)>,
}

/// What a choice is called on the command line.
pub fn name_of(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// How a method is called on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MethodName {
    /// Every joint exactly, by a sparse factorisation
    Direct,
    /// In the coordinates of the joints, by articulated bodies
    Reduced,
    /// Joint by joint, in sweeps
    Iterative,
}

impl MethodName {
    /// The engine's name for it.
    pub fn method(self) -> linkwork::Method {
        match self {
            MethodName::Direct => linkwork::Method::Direct,
            MethodName::Reduced => linkwork::Method::Reduced,
            MethodName::Iterative => linkwork::Method::Iterative,
        }
    }
}

/// How a way of passing time is called on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StepperName {
    /// One step of dt, contacts and joints together
    Fixed,
    /// From collision to collision, the motion between them followed to a tolerance; for few bodies
    Events,
}

impl StepperName {
    /// The engine's name for it.
    pub fn stepper(self) -> linkwork::Stepper {
        match self {
            StepperName::Fixed => linkwork::Stepper::Fixed,
            StepperName::Events => linkwork::Stepper::Events,
        }
    }
}

/// How a contact solver is called on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ContactName {
    /// Newton's method with Coulomb's cone, for any number of contacts
    Newton,
    /// Dantzig's algorithm with a pyramid of friction
    Dantzig,
    /// Lemke's algorithm with a pyramid of friction
    Lemke,
    /// Projected Gauss-Seidel with a pyramid of friction
    Pgs,
}

impl ContactName {
    /// The engine's name for it.
    pub fn solver(self) -> linkwork::ContactSolver {
        match self {
            ContactName::Newton => linkwork::ContactSolver::Newton,
            ContactName::Dantzig => linkwork::ContactSolver::Dantzig,
            ContactName::Lemke => linkwork::ContactSolver::Lemke,
            ContactName::Pgs => linkwork::ContactSolver::GaussSeidel,
        }
    }
}

/// By which methods to step.
#[derive(Clone, Copy, Debug, Args)]
pub struct SolveOptions {
    /// How time passes within dt
    #[arg(long, value_enum, default_value = "fixed")]
    pub stepper: StepperName,
    /// How joints are held
    #[arg(long, value_enum, default_value = "direct")]
    pub method: MethodName,
    /// How contacts are solved; what a complementarity solver refuses is left to Newton's method, with a warning
    #[arg(long, value_enum, default_value = "newton")]
    pub contact: ContactName,
    /// Control the error of the motion to this tolerance (m and rad per step) instead of taking one step per dt
    #[arg(long, value_name = "T", value_parser = number::tolerance, allow_hyphen_values = true)]
    pub tolerance: Option<f64>,
    /// Let what has come to rest sleep until something disturbs it
    #[arg(long)]
    pub sleep: bool,
    /// Sweep over heaps and stacks with shock propagation, from the ground up
    #[arg(long)]
    pub shock: bool,
}

impl SolveOptions {
    /// The choice as words of a command line for another process, without what is the default.
    pub fn words(&self) -> Vec<String> {
        let named = [
            ("--stepper", name_of(&self.stepper), "fixed"),
            ("--method", name_of(&self.method), "direct"),
            ("--contact", name_of(&self.contact), "newton"),
        ];
        let named = named.into_iter().filter(|(_, name, default)| name != default);
        let mut words: Vec<String> = named.flat_map(|(flag, name, _)| [flag.to_owned(), name]).collect();
        words.extend(self.tolerance.iter().flat_map(|t| ["--tolerance".to_owned(), t.to_string()]));
        let switches = [("--sleep", self.sleep), ("--shock", self.shock)];
        words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
        words
    }

    /// Refuses a choice that would have no effect.
    pub fn check(&self) -> Result<(), Failure> {
        if matches!(self.stepper, StepperName::Fixed) {
            return Ok(());
        }
        let idle = [
            (
                matches!(self.method, MethodName::Iterative),
                "--method iterative",
                "joints are held exactly: take direct or reduced",
            ),
            (self.sleep, "--sleep", "nothing falls asleep"),
            (self.shock, "--shock", "all that rests is solved together"),
        ];
        if let Some((_, option, why)) = idle.iter().find(|(asked, ..)| *asked) {
            let message = format!("{option} has no effect with --stepper events");
            return Err(Failure::usage(
                message,
                format!("between events {why}; leave it out, or take the fixed stepper"),
            ));
        }
        Ok(())
    }

    /// What the engine is told.
    pub fn params(&self, dt: f64) -> StepParams {
        let (method, tolerance) = (self.method.method(), self.tolerance);
        let (stepper, contact) = (self.stepper.stepper(), self.contact.solver());
        let (sleeping, shock_propagation) = (self.sleep, self.shock);
        StepParams { stepper, method, contact, tolerance, sleeping, shock_propagation, ..StepParams::new(dt) }
    }
}

/// How to step, and how long.
#[derive(Clone, Debug, Args)]
pub struct StepOptions {
    /// Step size in seconds, as 0.01 or 1/60; that of the scene if absent
    #[arg(long, value_name = "SECONDS", value_parser = number::time_step, allow_hyphen_values = true)]
    pub dt: Option<f64>,
    /// Time to simulate in seconds; that of the scene if absent
    #[arg(long, value_name = "SECONDS", value_parser = number::duration, allow_hyphen_values = true)]
    pub duration: Option<f64>,
    /// By which methods.
    #[command(flatten)]
    pub solving: SolveOptions,
}

impl StepOptions {
    /// The choice as words of a command line, without what is the default.
    pub fn words(&self) -> Vec<String> {
        let quantities = [("--duration", self.duration), ("--dt", self.dt)].into_iter();
        let quantities = quantities.filter_map(|(flag, value)| value.map(|value| [flag.to_owned(), value.to_string()]));
        quantities.flatten().chain(self.solving.words()).collect()
    }
}

/// Adaptive dynamics.
#[derive(Clone, Copy, Debug, Args)]
pub struct AdaptiveOptions {
    /// Move at most N joints of a tree at once, those that matter most, besides those around contacts; trees over planes alone,
    /// whose links do not touch each other
    #[arg(
        long,
        value_name = "N",
        conflicts_with_all = ["method", "stepper", "contact", "tolerance", "sleep", "shock"]
    )]
    pub adaptive: Option<usize>,
    /// Accelerations that --adaptive may lose, √Σq̈² over all joints that do not move, rad/s² and m/s²
    #[arg(
        long,
        value_name = "A",
        requires = "adaptive",
        default_value = "1e-3",
        value_parser = lost,
        allow_hyphen_values = true
    )]
    pub lost: f64,
}

/// What to simulate, and what to keep of it.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Which scene.
    #[command(flatten)]
    pub scene: SceneOptions,
    /// How to step.
    #[command(flatten)]
    pub stepping: StepOptions,
    /// Of a tree, how many joints move.
    #[command(flatten)]
    pub adapting: AdaptiveOptions,
    /// Write a report in JSON; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write poses and velocities of all bodies; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write every N-th step to the CSV file
    #[arg(long, value_name = "N", default_value = "1", value_parser = every, allow_negative_numbers = true)]
    pub every: u64,
    /// Write a page with a replay of the run, one file that any browser opens
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write a recording, for `linkwork view` and `linkwork plot`
    #[arg(long, value_name = "FILE.lwr")]
    pub record: Option<PathBuf>,
    /// Frames per simulated second of --html and --record
    #[arg(long, value_name = "N", default_value = "60", value_parser = number::frame_rate, allow_hyphen_values = true)]
    pub fps: f64,
    /// No progress bar and no summary
    #[arg(long, short)]
    pub quiet: bool,
}

/// What to check.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// Which scene.
    #[command(flatten)]
    pub scene: SceneOptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What to export, and where to.
#[derive(Debug, Args)]
pub struct ExportOptions {
    /// Which scene.
    #[command(flatten)]
    pub scene: SceneOptions,
    /// The file to write; .toml or .json
    #[arg(long, value_name = "FILE")]
    pub to: PathBuf,
}

/// What to show, and to whom.
#[derive(Debug, Args)]
pub struct ViewOptions {
    /// A scene of `linkwork list`, a scene file (.toml or .json), or a recording (.lwr)
    #[arg(value_name = "SCENE", value_parser = NonEmptyStringValueParser::new(), default_value = "excavator")]
    pub scene: String,
    /// Set a parameter of the scene; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = number::setting)]
    pub settings: Vec<(String, f64)>,
    /// Step size in seconds, as 0.01 or 1/60; that of the scene if absent
    #[arg(long, value_name = "SECONDS", value_parser = number::time_step, allow_hyphen_values = true)]
    pub dt: Option<f64>,
    /// By which methods to step.
    #[command(flatten)]
    pub solving: SolveOptions,
    /// Start with the time standing still
    #[arg(long)]
    pub paused: bool,
    /// Port of the page; a free one if absent
    #[arg(long, value_name = "PORT", default_value = "0")]
    pub port: u16,
    /// Address to listen on. Anybody who reaches it can drive the simulator: the default lets in this machine only. Any other
    /// address lets in requests for whatever address in numbers, and for localhost; names of machines stay refused
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1", value_parser = address)]
    pub host: std::net::IpAddr,
    /// Print the address of the page and do not open it
    #[arg(long)]
    pub no_open: bool,
}

/// What to take a picture of.
#[derive(Debug, Args)]
pub struct RenderOptions {
    /// Which scene.
    #[command(flatten)]
    pub scene: SceneOptions,
    /// The moment in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = number::moment, allow_hyphen_values = true)]
    pub at: f64,
    /// The file to write; `-` for stdout
    #[arg(long, value_name = "FILE.png")]
    pub png: PathBuf,
    /// Step size in seconds, as 0.01 or 1/60; that of the scene if absent
    #[arg(long, value_name = "SECONDS", value_parser = number::time_step, allow_hyphen_values = true)]
    pub dt: Option<f64>,
    /// By which methods to step.
    #[command(flatten)]
    pub solving: SolveOptions,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "960x540", value_parser = picture_size, allow_hyphen_values = true)]
    pub size: (usize, usize),
    /// The direction to look from, z is up; without it from the front, a little from the left and from above
    #[arg(long, value_name = "X,Y,Z", value_parser = direction, allow_hyphen_values = true)]
    pub from: Option<[f64; 3]>,
    /// A dark room
    #[arg(long)]
    pub dark: bool,
}

/// What to draw.
#[derive(Debug, Args)]
pub struct PlotOptions {
    /// Reports (`run --report`), tables (`run --csv`) or recordings (`run --record`)
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What to draw: energy, joint-error, penetration, step-time, iterations, work-precision, or a column of a table as
    /// BODY.COLUMN; separated by commas. Without it, what the files have
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    pub show: Vec<String>,
    /// The file to write; `-` for stdout. Without it, the name of the first file with .svg
    #[arg(long, value_name = "FILE.svg")]
    pub to: Option<PathBuf>,
}

/// What to measure.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// Scenes of `linkwork list` or scene files, "particles" for systems of particles by themselves, or "algorithms"; without any, the whole table of targets
    #[arg(value_name = "SCENE", value_parser = NonEmptyStringValueParser::new())]
    pub scenes: Vec<String>,
    /// Set a parameter of every scene named, instead of the sizes of the table of targets; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = number::setting, requires = "scenes")]
    pub settings: Vec<(String, f64)>,
    /// How to step.
    #[command(flatten)]
    pub stepping: StepOptions,
    /// Runs of every scene, from which median and spread are taken
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000), allow_negative_numbers = true)]
    pub repeats: u32,
    /// Count instructions under valgrind instead of taking times: they do not depend on what else the machine does. Without
    /// scenes, a few small ones that together use all of the engine
    #[arg(long, conflicts_with = "json")]
    pub instructions: bool,
    /// Keep the figures in a file, to hold another build against
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Hold the figures against those of a file made with --save; exit code 1 if any is worse
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub compare: Option<PathBuf>,
    /// Run another build of this command and this one by turns, --repeats times; exit code 1 if this one is slower
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["json", "instructions", "save", "compare"])]
    pub against: Option<PathBuf>,
    /// What --compare and --against let pass, in percent
    #[arg(long, value_name = "PERCENT", default_value = "3", value_parser = percent, allow_hyphen_values = true)]
    pub allow: f64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

/// How many steps make a line of the CSV file.
fn every(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{text}` is not a whole number of steps, 1 or more")),
    }
}

fn lost(text: &str) -> Result<f64, String> {
    match number::quantity(text)? {
        lost if lost < 0.0 => Err(format!("{lost} is not an acceleration, 0 or more")),
        lost => Ok(lost),
    }
}

/// How much worse is not worse.
fn percent(text: &str) -> Result<f64, String> {
    match number::quantity(text)? {
        percent if (0.0..=1000.0).contains(&percent) => Ok(percent),
        percent => Err(format!("{percent} % is not between 0 and 1000 %")),
    }
}

/// Where to listen.
fn address(text: &str) -> Result<std::net::IpAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "`{text}` is no address in numbers; write 127.0.0.1 for this machine only, or 0.0.0.0 for all that reach it"
        )
    })
}

/// Width and height of a picture.
fn picture_size(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    match numbers {
        Some((width @ 16..=8192, height @ 16..=8192)) => Ok((width, height)),
        Some((width, height)) => {
            Err(format!("a picture of {width} by {height} pixels; 16 to 8192 are possible in each direction"))
        }
        None => Err(format!("`{text}` is not a size in pixels; write 960x540")),
    }
}

/// A direction as three numbers.
fn direction(text: &str) -> Result<[f64; 3], String> {
    let numbers = text.split(',').map(number::quantity).collect::<Result<Vec<f64>, _>>()?;
    match <[f64; 3]>::try_from(numbers) {
        Ok(direction) if direction.iter().map(|c| c * c).sum::<f64>().sqrt() > 1e-9 => Ok(direction),
        Ok(_) => Err(format!("`{text}` is no direction: its length is zero")),
        Err(numbers) => Err(format!("`{text}` has {} numbers; write three, as -1,-2,1", numbers.len())),
    }
}
