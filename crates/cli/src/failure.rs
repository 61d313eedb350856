//! Why the command could not do what it was asked to.

use crate::diagnose;
use linkwork::{BuildError, SceneError};
use linkwork_io::{FileError, Problem};

/// What is said on stderr, and the exit code.
#[derive(Debug)]
pub struct Failure {
    text: String,
    exit_code: u8,
    /// What is wrong with the scene, if it is that.
    problems: Vec<Problem>,
}

/// The model or the simulation failed.
const FAILED: u8 = 1;
/// The command was asked for something impossible.
const USAGE: u8 = 2;

impl Failure {
    /// The command was asked for something impossible: exit code 2.
    pub fn usage(message: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Failure::saying(sentence(message.as_ref(), hint.as_ref()), USAGE)
    }

    /// The model or the simulation failed: exit code 1.
    pub fn failed(message: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Failure::saying(sentence(message.as_ref(), hint.as_ref()), FAILED)
    }

    /// A scene file that cannot be read (exit code 2), or whose content is wrong (1).
    pub fn file(error: &FileError) -> Self {
        let exit_code = if error.is_unreadable() { USAGE } else { FAILED };
        Failure { problems: error.problems.clone(), ..Failure::saying(diagnose::file_error(error), exit_code) }
    }

    /// A scene without a file that the engine refuses: exit code 1.
    pub fn build(scene: &str, error: &BuildError) -> Self {
        let problem = |e: &SceneError| Problem {
            path: e.path.clone(),
            message: e.problem.clone(),
            hint: e.hint.clone(),
            place: None,
        };
        let problems = error.problems.iter().map(problem).collect();
        Failure { problems, ..Failure::saying(diagnose::build_error(scene, error), FAILED) }
    }

    /// Everything is said already: exit code 1.
    pub fn told() -> Self {
        Failure::saying(String::new(), FAILED)
    }

    /// Whoever read our output has closed it, as `head` does. That is nobody's failure.
    pub fn nobody_listens() -> Self {
        Failure::saying(String::new(), 0)
    }

    fn saying(text: String, exit_code: u8) -> Self {
        Failure { text, exit_code, problems: Vec::new() }
    }

    /// What is wrong with the scene, if that is why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What to say on stderr.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

fn sentence(message: &str, hint: &str) -> String {
    match hint {
        "" => format!("error: {message}\n"),
        hint => format!("error: {message}\n  help: {hint}\n"),
    }
}
