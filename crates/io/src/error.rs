//! What is wrong with a scene file, and where.

use std::fmt;
use std::ops::Range;

/// A stretch of a file's text, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end: end.max(start) }
    }

    /// The span cut to its first line and moved onto character boundaries of `text`, so that it can be underlined.
    pub(crate) fn first_line(self, text: &str) -> Span {
        let start = floor_boundary(text, self.start);
        let end = floor_boundary(text, self.end).max(start);
        let line = &text[start..end];
        let length = line.find('\n').unwrap_or(line.len());
        Span::new(start, start + line[..length].trim_end().len())
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Span::new(range.start, range.end)
    }
}

fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Where in a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The text to underline.
    pub span: Span,
}

impl Place {
    /// The place of a span of `text`.
    pub fn of(text: &str, span: Span) -> Self {
        let before = &text[..floor_boundary(text, span.start)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].chars().filter(|&c| c != '\u{feff}').count() + 1,
            span,
        }
    }
}

/// One thing wrong in a scene file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it concerns, as in `joints[3].axis`; empty if it concerns the file as a whole or its syntax.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to try.
    pub hint: Option<String>,
    /// Where it stands, if it stands anywhere.
    pub place: Option<Place>,
}

impl Problem {
    /// A problem of the file as a whole.
    pub(crate) fn of_file(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem { path: String::new(), message: message.into(), hint: Some(hint.into()), place: None }
    }
}

/// Everything wrong with a scene file: at least one problem, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file's name as the caller gave it.
    pub file: String,
    /// The file's text; `None` if the file could not be read as text at all.
    pub text: Option<String>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// How many further problems were found and left out.
    pub omitted: usize,
}

impl FileError {
    /// The file is not there, not a scene file by its name, or not readable as text.
    pub fn is_unreadable(&self) -> bool {
        self.text.is_none()
    }

    pub(crate) fn unreadable(file: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        FileError { file: file.to_owned(), text: None, problems: vec![Problem::of_file(message, hint)], omitted: 0 }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            f.write_str(&self.file)?;
            if let Some(place) = problem.place {
                write!(f, ":{}:{}", place.line, place.column)?;
            }
            write!(f, ": {}", problem.message)?;
            if let Some(hint) = &problem.hint {
                write!(f, " ({hint})")?;
            }
        }
        if self.omitted > 0 {
            write!(f, "\n{}: {} more problems", self.file, self.omitted)?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}
