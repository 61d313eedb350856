//! Reading a scene file.

use crate::error::{FileError, Place, Problem, Span};
use crate::format::Format;
use crate::locate::locate_all;
use crate::node::{Node, SyntaxError, Value, document};
use crate::reading::{self, Finding};
use crate::schema::SCHEMA_KEY;
use linkwork::{BuildError, Scene, SceneError};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Files above this size, in bytes, are refused: no scene is so large, and reading one takes thirty times its size.
pub const LARGEST_FILE: u64 = 128 << 20;

/// So many problems are shown; more help nobody.
const MOST_PROBLEMS: usize = 20;

/// A scene and the text it was read from.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The scene.
    pub scene: Scene,
    /// The file's name as the caller gave it.
    pub file: String,
    /// The file's text.
    pub text: String,
    /// What the text is written in.
    pub format: Format,
}

impl SceneFile {
    /// Finds in the text what [`World::build`](linkwork::World::build) refused.
    pub fn explain(&self, error: &BuildError) -> FileError {
        let (shown, omitted) = split(&error.problems);
        let spans = locate_all(&self.text, self.format, shown.iter().map(|problem| problem.path.as_str()));
        let locate = |(problem, span): (&SceneError, Option<Span>)| Problem {
            path: problem.path.clone(),
            message: match problem.path.as_str() {
                "" => problem.problem.clone(),
                path => format!("{path}: {}", problem.problem),
            },
            hint: problem.hint.clone(),
            place: span.map(|span| Place::of(&self.text, span)),
        };
        let mut problems: Vec<Problem> = shown.iter().zip(spans).map(locate).collect();
        problems.sort_by_key(|problem| problem.place.map(|place| place.span.start));
        refusal(&self.file, &self.text, problems, omitted)
    }
}

/// Reads a scene file, TOML or JSON by its extension.
pub fn read_scene(path: impl AsRef<Path>) -> Result<Scene, FileError> {
    load(path).map(|file| file.scene)
}

/// Reads a scene file and keeps its text, in which [`SceneFile::explain`] finds what is refused later.
pub fn load(path: impl AsRef<Path>) -> Result<SceneFile, FileError> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let format = Format::of_path(path);
    // A file that is not there is worth more saying than that its name would be wrong, too.
    let bytes = read_bytes(path).map_err(|error| unreadable(path, &file, &error))?;
    let Some(format) = format else {
        return Err(FileError::unreadable(&file, "not a scene file by its name", "scene files end in .toml or .json"));
    };
    let text = String::from_utf8(bytes)
        .map_err(|error| not_text(&file, error.utf8_error().valid_up_to(), error.as_bytes()))?;
    let scene = parse_scene(&text, format, &file)?;
    Ok(SceneFile { scene, file, text, format })
}

/// Reads a scene from text. `file_name` is what errors call it.
pub fn parse_scene(text: &str, format: Format, file_name: &str) -> Result<Scene, FileError> {
    let mut root = document(text, format).map_err(|errors| {
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            return nothing_in_it(file_name, text);
        }
        let (shown, omitted) = split(&errors);
        let problem = |error: &SyntaxError| Problem {
            path: String::new(),
            message: error.message.clone(),
            hint: error.hint.clone(),
            place: Some(Place::of(text, error.span.first_line(text))),
        };
        refusal(file_name, text, shown.iter().map(problem).collect(), omitted)
    })?;
    if let Value::Table(entries) = &mut root.value {
        entries.retain(|entry| entry.key != SCHEMA_KEY);
        if entries.is_empty() {
            return Err(nothing_in_it(file_name, text));
        }
    }
    reading::read(&root, format).map_err(|mut findings| {
        findings.sort_by_key(|finding| span_of(finding, &root, text).start);
        let (shown, omitted) = split(&findings);
        let problems = shown.iter().map(|finding| problem(finding, &root, text)).collect();
        refusal(file_name, text, problems, omitted)
    })
}

fn span_of(finding: &Finding<'_, '_>, root: &Node<'_>, text: &str) -> Span {
    match finding.key {
        Some(entry) => entry.key_span.first_line(text),
        None if std::ptr::eq(finding.node, root) => Span::new(0, text.len()).first_line(text),
        None => finding.node.highlight(text),
    }
}

fn problem(finding: &Finding<'_, '_>, root: &Node<'_>, text: &str) -> Problem {
    let mut path = root.path_to(finding.node).unwrap_or_default();
    if let Some(entry) = finding.key {
        let dot = if path.is_empty() { "" } else { "." };
        path = format!("{path}{dot}{}", entry.key);
    }
    let place = Place::of(text, span_of(finding, root, text));
    Problem { path, message: finding.message.clone(), hint: finding.hint.clone(), place: Some(place) }
}

/// What is shown, and how many are not. Finding the line of a mistake takes time: that of the shown ones only.
fn split<T>(problems: &[T]) -> (&[T], usize) {
    let shown = problems.len().min(MOST_PROBLEMS);
    (&problems[..shown], problems.len() - shown)
}

fn refusal(file: &str, text: &str, problems: Vec<Problem>, omitted: usize) -> FileError {
    FileError { file: file.to_owned(), text: Some(text.to_owned()), problems, omitted }
}

fn nothing_in_it(file: &str, text: &str) -> FileError {
    let hint = "a scene has at least one body; `linkwork export` writes scenes to start from";
    refusal(file, text, vec![Problem::of_file("the file is empty", hint)], 0)
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.len() <= LARGEST_FILE {
        // A pipe has no length: one byte beyond the limit tells that the limit is exceeded.
        file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= LARGEST_FILE {
            return Ok(bytes);
        }
    }
    Err(io::ErrorKind::FileTooLarge.into())
}

fn unreadable(path: &Path, file: &str, error: &io::Error) -> FileError {
    let hint = match error.kind() {
        _ if path.is_dir() => "this is a folder; name a .toml or .json file in it".to_owned(),
        io::ErrorKind::NotFound => match with_other_extension(path) {
            Some(other) => format!("did you mean `{}`?", other.display()),
            None => "is the path right?".to_owned(),
        },
        io::ErrorKind::FileTooLarge => "no scene file is so large; is this the right file?".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not read it; check its permissions".to_owned(),
        _ => "check the path".to_owned(),
    };
    let message = match error.kind() {
        _ if path.is_dir() => "not a file".to_owned(),
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::FileTooLarge => format!("larger than {} MiB", LARGEST_FILE >> 20),
        _ => format!("cannot be read: {error}"),
    };
    FileError::unreadable(file, message, hint)
}

fn with_other_extension(path: &Path) -> Option<std::path::PathBuf> {
    ["toml", "json"].into_iter().map(|extension| path.with_extension(extension)).find(|other| other.is_file())
}

fn not_text(file: &str, valid: usize, bytes: &[u8]) -> FileError {
    let line = bytes[..valid].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let message = format!("not text: byte 0x{:02x} in line {line} is not UTF-8", bytes[valid]);
    FileError::unreadable(file, message, "save the file as UTF-8; is this the right file?")
}
