//! Where a scene comes from: the registry or a file.

use crate::args::{SceneOptions, StepOptions};
use crate::failure::Failure;
use crate::number;
use linkwork::{BuildError, Scene, SceneError, World};
use linkwork_io::{FileError, Format, SceneFile};
use linkwork_scenes::{Entry, ParameterError};
use std::path::Path;

/// A scene and where it comes from.
#[derive(Debug)]
pub struct Source {
    /// The scene.
    pub scene: Scene,
    /// What it is called in reports: its name, or that of its file.
    pub name: String,
    /// The parameters it was built with, all of them; none for a file.
    pub parameters: Vec<(String, f64)>,
    /// The file it was read from.
    pub file: Option<SceneFile>,
}

/// How a scene is to be stepped.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Step size, s.
    pub dt: f64,
    /// Time asked for, s.
    pub duration: f64,
    /// Number of steps.
    pub steps: u64,
}

impl Source {
    /// Finds a scene by its name in the registry or by the path of a file.
    pub fn find(options: &SceneOptions) -> Result<Source, Failure> {
        let asked = options.scene.as_str();
        if let Some(entry) = linkwork_scenes::find(asked) {
            return Source::from_registry(entry, &options.settings);
        }
        if !looks_like_a_file(asked) {
            return Err(unknown_scene(asked));
        }
        if let Some((key, _)) = options.settings.first() {
            return Err(Failure::usage(
                format!("{asked} is a file and has no parameter `{key}`"),
                "--set belongs to the scenes of `linkwork list`; edit the file instead",
            ));
        }
        let file = linkwork_io::load(asked).map_err(|error| Failure::file(&error))?;
        Ok(Source::of_file(file))
    }

    /// A scene from the text of a file.
    pub fn of_text(file: &str, text: String, format: Format) -> Result<Source, FileError> {
        let scene = linkwork_io::parse_scene(&text, format, file)?;
        Ok(Source::of_file(SceneFile { scene, file: file.to_owned(), text, format }))
    }

    fn of_file(file: SceneFile) -> Source {
        let name = match file.scene.name.as_str() {
            "" => file.file.clone(),
            name => name.to_owned(),
        };
        Source { scene: file.scene.clone(), name, parameters: Vec::new(), file: Some(file) }
    }

    /// Builds a scene of the registry.
    pub fn from_registry(entry: &Entry, settings: &[(String, f64)]) -> Result<Source, Failure> {
        Source::of_entry(entry, settings).map_err(|error| {
            Failure::usage(
                format!("{}: {}: {}", error.scene, error.parameter, error.problem),
                error.hint.unwrap_or_else(|| format!("`linkwork list {}` explains its parameters", entry.name)),
            )
        })
    }

    /// The same, with the error as it is.
    pub fn of_entry(entry: &Entry, settings: &[(String, f64)]) -> Result<Source, ParameterError> {
        let scene = entry.build(settings)?;
        let value = |name: &str, default: f64| {
            settings.iter().rev().find(|(key, _)| key == name).map_or(default, |(_, value)| *value)
        };
        let parameters =
            entry.parameters.iter().map(|p| (p.name.to_owned(), value(p.name, p.default))).collect::<Vec<_>>();
        Ok(Source { scene, name: entry.name.to_owned(), parameters, file: None })
    }

    /// Builds the world and assembles it, or says what is wrong, in the text of the file if there is one.
    pub fn build(&self) -> Result<World, Failure> {
        World::build(&self.scene).map_err(|error| self.refusal(&error))
    }

    /// What is wrong with the scene, as far as possible in its text.
    pub fn refusal(&self, error: &BuildError) -> Failure {
        match &self.file {
            Some(file) => Failure::file(&file.explain(error)),
            None => Failure::build(&self.name, error),
        }
    }

    /// Step size and number of steps, from the command line or else from the scene, which takes them over. Refuses
    /// methods that do not go together.
    pub fn schedule(&mut self, options: &StepOptions) -> Result<Schedule, Failure> {
        options.solving.check()?;
        let step = &mut self.scene.step;
        step.dt = options.dt.unwrap_or(step.dt);
        step.duration = options.duration.unwrap_or(step.duration);
        let (dt, duration) = (step.dt, step.duration);
        let of_scene = |path: &str, problem: String, option: &str| {
            let error = SceneError::new(path, problem).hint(format!("correct it, or choose another with {option}"));
            self.refusal(&error.into())
        };
        number::valid_step(dt).map_err(|problem| of_scene("step.dt", problem, "--dt"))?;
        number::valid_duration(duration).map_err(|problem| of_scene("step.duration", problem, "--duration"))?;
        let steps = number::step_count(dt, duration)
            .map_err(|problem| Failure::usage(problem, "choose other values for --dt and --duration"))?;
        Ok(Schedule { dt, duration, steps })
    }
}

/// A path, an ending of scene files, or a name that a file has.
fn looks_like_a_file(asked: &str) -> bool {
    let path = Path::new(asked);
    asked.contains(['/', '\\']) || path.extension().is_some() || path.exists()
}

/// Says that there is no such scene, and which was meant.
pub fn unknown_scene(asked: &str) -> Failure {
    let hint = match linkwork_scenes::suggest(asked) {
        Some(name) => format!("did you mean `{name}`? `linkwork list` shows all scenes; a file ends in .toml or .json"),
        None => "`linkwork list` shows all scenes; a file ends in .toml or .json".to_owned(),
    };
    Failure::usage(format!("there is no scene `{asked}`"), hint)
}
