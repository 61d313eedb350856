//! A document whose every part knows where it stands in the text; what both formats are read into.

use crate::error::Span;
use crate::format::Format;
use crate::{json, toml_tree};
use std::borrow::Cow;

/// Reads a text, or says where it does not follow its language.
pub(crate) fn document(text: &str, format: Format) -> Result<Node<'_>, Vec<SyntaxError>> {
    match format {
        Format::Toml => toml_tree::parse(text),
        Format::Json => json::parse(text).map_err(|error| vec![error]),
    }
}

/// A value and where it stands.
#[derive(Debug)]
pub(crate) struct Node<'t> {
    /// The value's text. For a table under a header (`[[joints]]`) it is the header.
    pub span: Span,
    pub value: Value<'t>,
}

#[derive(Debug)]
pub(crate) enum Value<'t> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'t, str>),
    List(Vec<Node<'t>>),
    Table(Vec<Entry<'t>>),
    /// Something that no scene contains, by its name ("a date").
    Foreign(&'static str),
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Entry<'t> {
    pub key: Cow<'t, str>,
    pub key_span: Span,
    pub value: Node<'t>,
}

/// A place where the text does not follow its language.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub span: Span,
    pub message: String,
    pub hint: Option<String>,
}

impl<'t> Node<'t> {
    pub fn get(&self, key: &str) -> Option<&Entry<'t>> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// What it is, in words.
    pub fn description(&self, table_word: &'static str) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "an array",
            Value::Table(_) => table_word,
            Value::Foreign(what) => what,
        }
    }

    /// What to underline when the value as a whole is meant: of a table with a name the name, otherwise its first line.
    pub fn highlight(&self, text: &str) -> Span {
        let span = match self.get("name") {
            Some(name) => Span::new(name.key_span.start, name.value.span.end),
            None => self.span,
        };
        span.first_line(text)
    }

    /// The path from here to `target`, which is found by identity.
    pub fn path_to(&self, target: &Node<'_>) -> Option<String> {
        let mut path = String::new();
        self.trace(target, &mut path).then_some(path)
    }

    fn trace(&self, target: &Node<'_>, path: &mut String) -> bool {
        if std::ptr::addr_eq(self, target) {
            return true;
        }
        let length = path.len();
        match &self.value {
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push_str(&format!("[{index}]"));
                    if item.trace(target, path) {
                        return true;
                    }
                    path.truncate(length);
                }
            }
            Value::Table(entries) => {
                for entry in entries {
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(&entry.key);
                    if entry.value.trace(target, path) {
                        return true;
                    }
                    path.truncate(length);
                }
            }
            _ => {}
        }
        false
    }
}
