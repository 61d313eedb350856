//! Why the command could not do what it was asked to.

use crate::diagnose;
use linkwork::BuildError;
use linkwork_io::FileError;

/// What is said on stderr, and the exit code.
#[derive(Debug)]
pub struct Failure {
    text: String,
    exit_code: u8,
}

/// The model or the simulation failed.
const FAILED: u8 = 1;
/// The command was asked for something impossible.
const USAGE: u8 = 2;

impl Failure {
    /// The command was asked for something impossible: exit code 2.
    pub fn usage(message: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Failure { text: sentence(message.as_ref(), hint.as_ref()), exit_code: USAGE }
    }

    /// The model or the simulation failed: exit code 1.
    pub fn failed(message: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        Failure { text: sentence(message.as_ref(), hint.as_ref()), exit_code: FAILED }
    }

    /// A scene file that cannot be read (exit code 2), or whose content is wrong (1).
    pub fn file(error: &FileError) -> Self {
        let exit_code = if error.is_unreadable() { USAGE } else { FAILED };
        Failure { text: diagnose::file_error(error), exit_code }
    }

    /// A scene without a file that the engine refuses: exit code 1.
    pub fn build(scene: &str, error: &BuildError) -> Self {
        Failure { text: diagnose::build_error(scene, error), exit_code: FAILED }
    }

    /// Everything is said already: exit code 1.
    pub fn told() -> Self {
        Failure { text: String::new(), exit_code: FAILED }
    }

    /// Whoever read our output has closed it, as `head` does. That is nobody's failure.
    pub fn nobody_listens() -> Self {
        Failure { text: String::new(), exit_code: 0 }
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
