//! Mistakes in a scene, shown with the text they stand in.

use linkwork::BuildError;
use linkwork_io::{FileError, Problem, Span};
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents,
};
use std::fmt;
use std::io::IsTerminal;

/// A line that reaches farther than this to either side of a mistake, in bytes, is cut. A scene written by a program may be one
/// long line.
const REACH: usize = 100;
/// So much is left of it on either side: what fits beside a line number.
const KEPT: usize = 44;

/// Everything wrong with a scene file, each with the offending text underlined.
pub fn file_error(error: &FileError) -> String {
    let shown = |problem| Shown {
        problem,
        excerpt: error.text.as_deref().map(|text| Excerpt { file: &error.file, text }),
        file: &error.file,
    };
    let mut said = String::new();
    for (i, problem) in error.problems.iter().enumerate() {
        said.push_str(if i > 0 { "\n" } else { "" });
        said.push_str(&rendered(&shown(problem)));
    }
    if error.omitted > 0 {
        said.push_str(&format!("and {} more problems in {}\n", error.omitted, error.file));
    }
    said
}

/// Everything that the engine refuses in a scene that has no file.
pub fn build_error(scene: &str, error: &BuildError) -> String {
    let mut said = format!("error: the scene {scene} cannot be built\n");
    for problem in &error.problems {
        said.push_str(&format!("  {}: {}\n", problem.path, problem.problem));
        if let Some(hint) = &problem.hint {
            said.push_str(&format!("    help: {hint}\n"));
        }
    }
    said
}

fn rendered(diagnostic: &dyn Diagnostic) -> String {
    let colourful =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let theme = if colourful { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let mut text = String::new();
    match handler.render_report(&mut text, diagnostic) {
        Ok(()) => text,
        Err(_) => format!("error: {diagnostic}\n"),
    }
}

#[derive(Debug)]
struct Shown<'a> {
    problem: &'a Problem,
    excerpt: Option<Excerpt<'a>>,
    file: &'a str,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With a place the file stands above the text.
        if self.problem.place.is_none() {
            write!(f, "{}: ", self.file)?;
        }
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.hint.as_ref().map(|hint| Box::new(hint) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.problem.place?;
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let Span { start, end } = self.problem.place?.span;
        let end = end.min(start + KEPT);
        Some(Box::new(std::iter::once(LabeledSpan::underline(start..end))))
    }
}

/// The lines around a mistake, cut to a length that can be read.
#[derive(Debug)]
struct Excerpt<'a> {
    file: &'a str,
    text: &'a str,
}

impl Excerpt<'_> {
    /// What to show of the text for a mistake: whole lines, unless they are too long to be read.
    fn window(&self, from: usize, to: usize, lines_before: usize, lines_after: usize) -> (usize, usize) {
        let text = self.text;
        if lines_before + lines_after == 0 {
            return (from, to);
        }
        let (mut start, mut end) = (line_start(text, from), line_end(text, to));
        if from - start > REACH || end - from > 2 * REACH {
            return (
                start.max(boundary(text, from.saturating_sub(KEPT))),
                end.min(boundary(text, from + KEPT)).max(to.min(end)),
            );
        }
        for _ in 0..lines_before {
            let above = line_start(text, start.saturating_sub(1));
            start = if start - above > REACH { start } else { above };
        }
        for _ in 0..lines_after {
            let below = line_end(text, (end + 1).min(text.len()));
            end = if below - end > REACH { end } else { below };
        }
        (start, end)
    }
}

impl SourceCode for Excerpt<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let text = self.text;
        let at = span.offset();
        if at + span.len() > text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let (start, end) = self.window(at, at + span.len(), lines_before, lines_after);
        let line = text[..start].bytes().filter(|&byte| byte == b'\n').count();
        let column = text[line_start(text, start)..start].chars().filter(|&c| c != '\u{feff}').count();
        let content = &text.as_bytes()[start..end];
        let line_count = content.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Ok(Box::new(MietteSpanContents::new_named(
            self.file.to_owned(),
            content,
            (start, end - start).into(),
            line,
            column,
            line_count,
        )))
    }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..boundary(text, at)].rfind('\n').map_or(0, |newline| newline + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    let at = boundary(text, at);
    text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork_io::{Format, parse_scene};

    fn shown(text: &str, format: Format) -> String {
        file_error(&parse_scene(text, format, "scene").unwrap_err())
    }

    #[test]
    fn the_offending_text_is_underlined() {
        let text = "name = 'x'\n\n[[bodies]]\nname = 'arm'\nmasss = 1.0\nposition = [0, 0, 0]\n";
        let said = shown(text, Format::Toml);
        assert!(said.contains("unknown key `masss`"), "{said}");
        assert!(said.contains("[scene:5:1]"), "{said}");
        assert!(said.contains("masss = 1.0"), "{said}");
        assert!(said.contains("─────"), "{said}");
        assert!(said.contains("help: did you mean `mass`?"), "{said}");
    }

    #[test]
    fn a_scene_on_one_long_line_is_shown_in_part() {
        let bodies = "{\"mass\": 1.0},".repeat(50_000);
        let text = format!("{{\"bodies\": [{bodies}{{\"mas\": 2.0}},{bodies}{{}}]}}");
        let said = shown(&text, Format::Json);
        assert!(said.contains("\"mas\": 2.0"), "{said}");
        assert!(said.len() < 5_000, "{}", said.len());
        let column = text.find("\"mas\"").unwrap() + 1;
        assert!(said.contains(&format!("[scene:1:{column}]")), "{said}");
    }

    #[test]
    fn deep_nesting_is_told_in_a_line_that_can_be_read() {
        let deep = |open: &str, close: &str| format!("a = {}{}", open.repeat(3000), close.repeat(3000));
        for text in [deep("[", "]"), deep("{a=", "}"), format!("[a{}]", ".a".repeat(3000)), "[".repeat(3000)] {
            let said = shown(&text, Format::Toml);
            assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
            assert!(said.contains("help:") && said.contains("scene:1:"), "{said}");
        }
        let said = shown(&deep("[", "]"), Format::Toml);
        assert!(said.contains("nested too deeply"), "{said}");
    }

    #[test]
    fn wide_characters_and_ends_of_files_are_no_trouble() {
        for text in ["{\"größe\": 1}", "{\"name\": \"ü", "{", "{\"name\": 1\n\n\n", "\u{feff}{\"😀\": 1}"] {
            assert!(shown(text, Format::Json).contains("scene:"), "{text}");
        }
    }
}
