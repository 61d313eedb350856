//! The two languages of scene files.

use std::path::Path;

/// The language a scene file is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML, for writing by hand.
    Toml,
    /// JSON, for programs.
    Json,
}

impl Format {
    /// The format that a file's extension stands for: `.toml` or `.json`, in either case.
    pub fn of_path(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?;
        [Format::Toml, Format::Json].into_iter().find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }

    /// The extension without its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Toml => "toml",
            Format::Json => "json",
        }
    }

    /// What the language calls a set of keys with values.
    pub(crate) fn table_word(self) -> &'static str {
        match self {
            Format::Toml => "a table",
            Format::Json => "an object",
        }
    }
}
