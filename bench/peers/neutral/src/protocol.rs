//! How every engine is run: one run that is written down, then runs that are timed.
//!
//! A trajectory file is a line of JSON (`engine`, `version`, `setting`, `h`, `every`, `bodies`, `frames`, `step_ms`, `until_ms`, `note`) and
//! then, for every frame and body, 13 little-endian doubles: centre of mass, orientation (w, x, y, z), velocity of the centre of
//! mass, angular velocity in world axes. The first frame is the start.

use crate::Scene;
use cpu_time::ProcessTime;
use serde_json::{Value, json};
use std::io::Write;

/// What is not timed at the start of every run, steps: memory is touched and structures are built there.
const WARM_UP: u64 = 5;
/// A run that took more than this part of the allowed time is not repeated.
const TOO_LONG: f64 = 0.3;

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
    out: String,
    settings: Settings,
    every: u64,
    repeats: usize,
    budget: f64,
    /// Steps until the time of the reference motion, whose cost is told apart.
    until: u64,
}

/// Reads the command line, runs, writes the trajectory.
pub fn run(
    name: &str,
    version: &str,
    make: impl Fn(&Scene, &Settings) -> Result<Box<dyn Engine>, String>,
) -> Result<(), String> {
    let options = options()?;
    let (scene, settings) = (&options.scene, &options.settings);
    let steps = (scene.duration / scene.h).round() as u64;

    let mut frames: Vec<f64> = Vec::new();
    let mut engine = make(scene, settings)?;
    engine.state(&mut frames);
    let (mut note, mut first) = (String::new(), Time::new(options.until));
    for step in 1..=steps {
        let result = first.of(step, || engine.step());
        if let Err(problem) = result {
            note = format!("step {step}: {problem}");
            break;
        }
        if step % options.every == 0 {
            let before = frames.len();
            engine.state(&mut frames);
            if frames[before..].iter().any(|x| !x.is_finite()) {
                note = format!("not finite at step {step}");
                break;
            }
        }
        if first.total > options.budget {
            note = format!("stopped after {step} of {steps} steps: {:.0} s allowed", options.budget);
            break;
        }
    }
    drop(engine);

    let (mut step_ms, mut until_ms) = (vec![first.mean_ms()], vec![first.until_ms()]);
    let done = first.steps;
    if first.total < TOO_LONG * options.budget {
        step_ms.clear();
        until_ms.clear();
        let mut spent = 0.0;
        while step_ms.len() < options.repeats && spent < options.budget {
            let (mut engine, mut time) = (make(scene, settings)?, Time::new(options.until));
            for step in 1..=done {
                if time.of(step, || engine.step()).is_err() {
                    break;
                }
            }
            spent += time.total;
            step_ms.push(time.mean_ms());
            until_ms.push(time.until_ms());
        }
    }
    let body_count = scene.bodies.len();
    let header = json!({
        "engine": name, "version": version, "setting": settings.0, "scene": scene.name, "h": scene.h, "every": options.every,
        "bodies": body_count, "frames": frames.len() / (13 * body_count), "steps": steps, "step_ms": step_ms,
        "until_ms": until_ms, "note": note,
    });
    let mut bytes = format!("{header}\n").into_bytes();
    bytes.extend(frames.iter().flat_map(|x| x.to_le_bytes()));
    let write = |bytes: &[u8]| std::fs::File::create(&options.out)?.write_all(bytes);
    write(&bytes).map_err(|error| format!("{}: {error}", options.out))?;
    println!("{header}");
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
    Ok(Options {
        until: (number("--until", 0.0)? / scene.h).round() as u64,
        scene,
        out: value("--out").ok_or("--out FILE is missing")?,
        settings: Settings(serde_json::from_str(&settings).map_err(|error| format!("--settings: {error}"))?),
        every: number("--every", 1.0)?.max(1.0) as u64,
        repeats: number("--repeats", 5.0)?.max(1.0) as usize,
        budget: number("--budget", 30.0)?,
    })
}
