//! How every engine is run: once to write its motion down (`--out FILE`), and then, in processes of their own, to be timed
//! (`--steps N`), so that the engines can take turns.
//!
//! A trajectory file is a line of JSON (`engine`, `setting`, `h`, `bodies`, `frames`, `steps`, `done`, `spent_s`, `step_ms`,
//! `until_ms`, `note`) and then, for every frame and body, 13 little-endian doubles: centre of mass, orientation (w, x, y, z),
//! velocity of the centre of mass, angular velocity in world axes. The first frame is the start, the others follow step by step.
//! A run that is timed prints a line with `step_ms`, `until_ms` (a figure for every repeat) and `spent_s`.

use crate::Scene;
use cpu_time::ProcessTime;
use serde_json::{Value, json};
use std::io::Write;

/// What is not timed at the start of every run, steps: memory is touched and structures are built there.
const WARM_UP: u64 = 5;
/// A run that would take this many times what it is allowed is given up after this part of the time.
const HOPELESS: f64 = 2.0;
const EARLY: f64 = 0.25;

/// Settings of an engine, from the command line.
#[derive(Clone, Debug)]
pub struct Settings(Value);

impl Settings {
    /// A number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64)
    }

    /// A count, or what stands for its absence.
    pub fn count(&self, key: &str, otherwise: usize) -> usize {
        self.0.get(key).and_then(Value::as_u64).map_or(otherwise, |n| n as usize)
    }

    /// Whether something is switched on.
    pub fn is(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// An engine in motion.
pub trait Engine {
    /// One step of the scene's size, in as many parts as the settings say.
    fn step(&mut self) -> Result<(), String>;
    /// Appends the 13 numbers of every body.
    fn state(&self, out: &mut Vec<f64>);
}

struct Options {
    scene: Scene,
    settings: Settings,
    /// CPU seconds for the run that is written down, or for the repeats of one that is timed.
    budget: f64,
    /// Steps until the time of the reference motion, whose cost is told apart.
    until: u64,
    task: Task,
}

enum Task {
    Write(String),
    Time { steps: u64, repeats: usize },
}

/// Reads the command line and does what it asks for.
pub fn run(name: &str, make: impl Fn(&Scene, &Settings) -> Result<Box<dyn Engine>, String>) -> Result<(), String> {
    let options = options()?;
    match &options.task {
        Task::Write(path) => write(name, &options, path, make),
        Task::Time { steps, repeats } => time(&options, *steps, *repeats, make),
    }
}

fn write(
    name: &str,
    options: &Options,
    path: &str,
    make: impl Fn(&Scene, &Settings) -> Result<Box<dyn Engine>, String>,
) -> Result<(), String> {
    let (scene, budget) = (&options.scene, options.budget);
    let steps = (scene.duration / scene.h).round() as u64;
    let mut frames: Vec<f64> = Vec::new();
    let mut engine = make(scene, &options.settings)?;
    engine.state(&mut frames);
    let (mut note, mut time) = (String::new(), Time::new(options.until));
    for step in 1..=steps {
        if let Err(problem) = time.of(step, || engine.step()) {
            note = format!("step {step}: {problem}");
            break;
        }
        let before = frames.len();
        engine.state(&mut frames);
        if frames[before..].iter().any(|x| !x.is_finite()) {
            note = format!("not finite at step {step}");
            break;
        }
        let whole = time.total * steps as f64 / step as f64;
        let hopeless = time.total > EARLY * budget && step >= options.until && whole > HOPELESS * budget;
        if step < steps && (time.total > budget || hopeless) {
            note = format!("stopped after {step} of {steps} steps: {budget:.0} s allowed, {whole:.0} s needed");
            break;
        }
    }
    let body_count = scene.bodies.len();
    let header = json!({
        "engine": name, "setting": options.settings.0, "scene": scene.name, "h": scene.h, "bodies": body_count,
        "frames": frames.len() / (13 * body_count), "steps": steps, "done": time.steps, "spent_s": time.total,
        "step_ms": time.mean_ms(), "until_ms": time.until_ms(), "note": note,
    });
    let mut bytes = format!("{header}\n").into_bytes();
    bytes.extend(frames.iter().flat_map(|x| x.to_le_bytes()));
    let write = |bytes: &[u8]| std::fs::File::create(path)?.write_all(bytes);
    write(&bytes).map_err(|error| format!("{path}: {error}"))?;
    println!("{header}");
    Ok(())
}

/// Runs from the start again and again, as often as asked for unless the time is over; once in any case.
fn time(
    options: &Options,
    steps: u64,
    repeats: usize,
    make: impl Fn(&Scene, &Settings) -> Result<Box<dyn Engine>, String>,
) -> Result<(), String> {
    let (mut step_ms, mut until_ms, mut spent) = (Vec::new(), Vec::new(), 0.0);
    while step_ms.is_empty() || step_ms.len() < repeats && spent < options.budget {
        let (mut engine, mut time) = (make(&options.scene, &options.settings)?, Time::new(options.until));
        for step in 1..=steps {
            if time.of(step, || engine.step()).is_err() {
                break;
            }
        }
        spent += time.total;
        step_ms.push(time.mean_ms());
        until_ms.push(time.until_ms());
    }
    println!("{}", json!({"step_ms": step_ms, "until_ms": until_ms, "spent_s": spent}));
    Ok(())
}

/// CPU time of steps.
struct Time {
    total: f64,
    timed: f64,
    steps: u64,
    until: u64,
    timed_until: f64,
}

impl Time {
    fn new(until: u64) -> Self {
        Time { total: 0.0, timed: 0.0, steps: 0, until, timed_until: 0.0 }
    }

    fn of<T>(&mut self, step: u64, work: impl FnOnce() -> T) -> T {
        let start = ProcessTime::now();
        let result = work();
        let elapsed = start.elapsed().as_secs_f64();
        self.total += elapsed;
        self.steps = step;
        if step > WARM_UP {
            self.timed += elapsed;
            self.timed_until += if step <= self.until { elapsed } else { 0.0 };
        }
        result
    }

    fn mean_ms(&self) -> f64 {
        match self.steps.checked_sub(WARM_UP) {
            Some(timed) if timed > 0 => 1e3 * self.timed / timed as f64,
            _ => 1e3 * self.total / self.steps.max(1) as f64,
        }
    }
}

impl Time {
    /// The mean up to the reference motion's time; that of all steps if there is none, or the run did not get there.
    fn until_ms(&self) -> f64 {
        if self.until > WARM_UP && self.steps >= self.until {
            1e3 * self.timed_until / (self.until - WARM_UP) as f64
        } else {
            self.mean_ms()
        }
    }
}

fn options() -> Result<Options, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| {
        let at = arguments.iter().position(|a| a == flag)?;
        arguments.get(at + 1).cloned()
    };
    let number = |flag: &str, otherwise: f64| -> Result<f64, String> {
        value(flag).map_or(Ok(otherwise), |text| text.parse().map_err(|_| format!("{flag} {text}: not a number")))
    };
    let path = value("--scene").ok_or("--scene FILE.json is missing")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let settings = value("--settings").unwrap_or_else(|| "{}".to_owned());
    let scene: Scene = serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    let task = match value("--out") {
        Some(path) => Task::Write(path),
        None => Task::Time {
            steps: number("--steps", 0.0)?.max(1.0) as u64,
            repeats: number("--repeats", 1.0)?.max(1.0) as usize,
        },
    };
    Ok(Options {
        until: (number("--until", 0.0)? / scene.h).round() as u64,
        scene,
        settings: Settings(serde_json::from_str(&settings).map_err(|error| format!("--settings: {error}"))?),
        budget: number("--budget", 20.0)?,
        task,
    })
}
