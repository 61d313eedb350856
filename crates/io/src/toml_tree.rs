//! TOML into nodes, by way of the `toml` crate's tree with spans.

use crate::error::Span;
use crate::node::{Entry, Node, SyntaxError, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Deeper than any scene, shallow enough for any stack. The `toml` crate bounds brackets and braces but not `a.b.c`.
const MOST_KEY_PARTS: usize = 32;

/// The document, or every mistake in it.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, Vec<SyntaxError>> {
    if let Some(error) = overlong_key(text) {
        return Err(vec![error]);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node { span: Span::new(0, text.len()), value: table(root.into_inner()) });
    }
    let mut errors: Vec<SyntaxError> = errors.iter().map(|error| syntax_error(text, error)).collect();
    errors.sort_by_key(|error| error.span.start);
    errors.dedup_by_key(|error| error.span.start);
    Err(errors)
}

/// The first key with too many parts. Numbers look the same to the lexer (`1.5`), but have two parts only.
fn overlong_key(text: &str) -> Option<SyntaxError> {
    let mut dots = 0;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Whitespace | TokenKind::Atom | TokenKind::BasicString | TokenKind::LiteralString => {}
            _ => dots = 0,
        }
        if dots > MOST_KEY_PARTS {
            return Some(SyntaxError {
                span: Span::new(token.span().start(), token.span().end()),
                message: format!("a key of more than {MOST_KEY_PARTS} parts"),
                hint: Some("no key of a scene has more than a few; is a quote missing?".to_owned()),
            });
        }
    }
    None
}

fn syntax_error(text: &str, error: &toml::de::Error) -> SyntaxError {
    let span = error.span().map_or(Span::new(text.len(), text.len()), Span::from);
    let found = text.get(span.start..span.end).unwrap_or("").trim();
    // the library's words for this are about its own stack
    if error.message().contains("recurs") {
        let hint = Some("no scene is so deep; is a closing bracket missing?".to_owned());
        return SyntaxError { span, message: "brackets nested too deeply".to_owned(), hint };
    }
    let hint = match error.message() {
        message if message.starts_with("duplicate key") => {
            Some("keep one of them, or write [[…]] for one more element")
        }
        _ if found.starts_with('\'') || found.starts_with('"') => None,
        _ if found.starts_with("//") => Some("comments start with #"),
        message if message.contains("quot") => Some("strings stand in double quotes"),
        _ => None,
    };
    SyntaxError { span, message: error.message().to_owned(), hint: hint.map(str::to_owned) }
}

fn node(spanned: Spanned<DeValue<'_>>) -> Node<'_> {
    let span = Span::from(spanned.span());
    let value = match spanned.into_inner() {
        DeValue::String(string) => Value::Text(string),
        DeValue::Integer(number) => Value::Number(integer(&number)),
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(_) => Value::Foreign("a date"),
        DeValue::Array(items) => Value::List(items.into_iter().map(node).collect()),
        DeValue::Table(entries) => table(entries),
    };
    Node { span, value }
}

fn table(entries: DeTable<'_>) -> Value<'_> {
    let mut entries: Vec<Entry<'_>> = entries
        .into_iter()
        .map(|(key, value)| Entry { key_span: Span::from(key.span()), key: key.into_inner(), value: node(value) })
        .collect();
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

/// Every quantity of a scene is a floating-point number, so an integer is only another way to write one.
fn integer(number: &DeInteger<'_>) -> f64 {
    match number.radix() {
        10 => number.as_str().parse().unwrap_or(f64::NAN),
        radix => u128::from_str_radix(number.as_str(), radix).map_or(f64::NAN, |value| value as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> f64 {
        let document = format!("x = {text}");
        let root = parse(&document).unwrap();
        match root.get("x").unwrap().value.value {
            Value::Number(number) => number,
            ref other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn numbers_keep_their_bits() {
        for (text, expected) in [
            ("1", 1.0),
            ("-0.0", -0.0),
            ("+2.5", 2.5),
            ("1_000.5", 1000.5),
            ("1e-7", 1e-7),
            ("0xff", 255.0),
            ("0b101", 5.0),
            ("123456789012345678901234567890", 123456789012345678901234567890.0),
            ("inf", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(number(text).to_bits(), expected.to_bits(), "{text}");
        }
        assert!(number("nan").is_nan());
    }

    #[test]
    fn every_syntax_error_is_reported() {
        let errors = parse("a = \nb = 1\nc = [1, 2\nd = 3\n").unwrap_err();
        assert!(errors.len() >= 2, "{errors:?}");
        assert!(errors.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start));
    }

    #[test]
    fn depth_is_bounded() {
        let n = 200_000;
        for text in [
            format!("x = {}", "[".repeat(n)),
            format!("x = {}", "{a=".repeat(n)),
            format!("x{} = 1", ".x".repeat(n)),
            format!("[x{}]", " . \"x\"".repeat(n)),
            format!("[[x{}]]", ".'x'".repeat(n)),
            format!("x = {{ x{} = 1 }}", ".x".repeat(n)),
        ] {
            assert!(parse(&text).is_err(), "{}", &text[..20]);
        }
    }

    #[test]
    fn many_numbers_on_a_line_are_no_deep_key() {
        assert!(parse(&format!("x = [{}]", "1.5, ".repeat(1000))).is_ok());
    }
}
