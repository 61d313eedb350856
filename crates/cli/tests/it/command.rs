//! Running the command.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A pendulum that is right.
pub const PENDULUM: &str = r#"name = "pendulum"

[step]
dt = 0.01
duration = 0.5

[[bodies]]
name = "bob"
position = [1.0, 0.0, 0.0]
mass = 2.0
shapes = [{ geometry = { sphere = { radius = 0.1 } } }]

[[joints]]
name = "pivot"
type = "hinge"
b = "bob"
at = [0.0, 0.0, 0.0]
axis = [0.0, 1.0, 0.0]
"#;

/// What the command did.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// Checks the exit code and that nothing went wrong in a way nobody meant.
    pub fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Checks that stderr says something.
    pub fn says(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "`{words}` is not in:\n{}", self.stderr);
        self
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The command with arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linkwork"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the command.
pub fn linkwork(arguments: &[&str]) -> Ran {
    command(arguments).output().unwrap().into()
}

/// A folder of its own, gone when the test is over.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The same as text.
    pub fn name(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    /// A file in it with this content.
    pub fn with(&self, name: &str, content: &str) -> String {
        std::fs::write(self.file(name), content).unwrap();
        self.name(name)
    }

    /// The names of all files in it.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A file in it as text.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// A file in it as JSON.
    pub fn read_json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }
}
