//! JSON (RFC 8259) into nodes.
//!
//! Numbers are read by the standard library, which rounds correctly: what was written exactly is read exactly.

use crate::error::Span;
use crate::node::{Entry, Node, SyntaxError, Value};
use std::borrow::Cow;

/// Deeper than any scene, shallow enough for any stack.
const DEEPEST: usize = 64;

/// The document, or its first mistake.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, SyntaxError> {
    let mut scanner = Scanner { text, at: 0 };
    if text.starts_with('\u{feff}') {
        scanner.at = '\u{feff}'.len_utf8();
    }
    scanner.skip_space();
    let root = scanner.value(0)?;
    scanner.skip_space();
    match scanner.peek() {
        None => Ok(root),
        Some(_) => Err(scanner.unexpected("the end of the file")),
    }
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self, depth: usize) -> Result<Node<'t>, SyntaxError> {
        if depth > DEEPEST {
            let hint = "no scene is so deep; is a closing bracket missing?";
            return Err(self.error(1, format!("nested more than {DEEPEST} levels deep"), Some(hint)));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => Value::Table(self.object(depth)?),
            Some(b'[') => Value::List(self.array(depth)?),
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            _ => self.word()?,
        };
        Ok(Node { span: Span::new(start, self.at), value })
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Entry<'t>>, SyntaxError> {
        let mut entries = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take(b'}') {
            return Ok(entries);
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            let key_start = self.at;
            let key = self.string()?;
            let key_span = Span::new(key_start, self.at);
            self.skip_space();
            if !self.take(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.skip_space();
            entries.push(Entry { key, key_span, value: self.value(depth + 1)? });
            self.skip_space();
            if self.take(b'}') {
                break;
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `}`"));
            }
            self.skip_space();
        }
        refuse_duplicates(&entries)?;
        Ok(entries)
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Node<'t>>, SyntaxError> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.take(b']') {
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(items);
            }
            if !self.take(b',') {
                return Err(self.unexpected("`,` or `]`"));
            }
            self.skip_space();
        }
    }

    fn number(&mut self) -> Result<f64, SyntaxError> {
        let start = self.at;
        self.take(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits()?;
        if leading_zero && whole > 1 {
            self.at = start;
            return Err(self.error(self.token_length(), "a number must not start with 0".to_owned(), None));
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        // The grammar above is a part of what the standard library reads, so this cannot fail; if it did, NaN is refused.
        Ok(self.text[start..self.at].parse().unwrap_or(f64::NAN))
    }

    fn digits(&mut self) -> Result<usize, SyntaxError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.unexpected("a digit"));
        }
        Ok(self.at - start)
    }

    fn string(&mut self) -> Result<Cow<'t, str>, SyntaxError> {
        let open = self.at;
        self.at += 1;
        let mut decoded: Option<String> = None;
        let mut plain_start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let plain = &self.text[plain_start..self.at];
                    self.at += 1;
                    return Ok(match decoded {
                        None => Cow::Borrowed(plain),
                        Some(mut decoded) => {
                            decoded.push_str(plain);
                            Cow::Owned(decoded)
                        }
                    });
                }
                Some(b'\\') => {
                    let decoded = decoded.get_or_insert_with(String::new);
                    decoded.push_str(&self.text[plain_start..self.at]);
                    let escaped = self.escape()?;
                    decoded.push(escaped);
                    plain_start = self.at;
                }
                Some(byte) if byte >= 0x20 => self.at += 1,
                None | Some(b'\n' | b'\r') => {
                    let length = self.at - open;
                    self.at = open;
                    return Err(self.error(length, "this string has no end".to_owned(), Some("close it with `\"`")));
                }
                Some(byte) => {
                    let hint = format!("write it as `\\u{byte:04x}`");
                    return Err(self.error(1, "control character in a string".to_owned(), Some(&hint)));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => {
                self.at = start;
                return Err(self.error(
                    2,
                    "unknown escape in a string".to_owned(),
                    Some("write `\\\\` for a backslash"),
                ));
            }
        };
        self.at += 1;
        Ok(plain)
    }

    /// `\uXXXX`, or two of them for a character beyond the first plane.
    fn unicode_escape(&mut self, start: usize) -> Result<char, SyntaxError> {
        let mut units = vec![];
        while self.text[self.at..].starts_with('u') {
            let code =
                self.text.get(self.at + 1..self.at + 5).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
            let Some(unit) = code.and_then(|digits| u16::from_str_radix(digits, 16).ok()) else {
                break;
            };
            self.at += 5;
            units.push(unit);
            if let [Ok(character)] = char::decode_utf16(units.iter().copied()).collect::<Vec<_>>()[..] {
                return Ok(character);
            }
            if units.len() == 2 || !self.take(b'\\') {
                break;
            }
        }
        self.at = start;
        Err(self.error(6, "this escape is no character".to_owned(), Some("four hexadecimal digits follow `\\u`")))
    }

    fn word(&mut self) -> Result<Value<'t>, SyntaxError> {
        let word = &self.text[self.at..self.at + self.token_length()];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(self.unexpected("a value")),
        };
        self.at += word.len();
        Ok(value)
    }

    /// Length in bytes of the word or the single character here.
    fn token_length(&self) -> usize {
        let rest = &self.text[self.at..];
        let word = rest.find(|c: char| !c.is_alphanumeric() && !"_+-.".contains(c)).unwrap_or(rest.len());
        match word {
            0 => rest.chars().next().map_or(0, char::len_utf8),
            // Long enough to be recognised.
            length => floor_boundary(rest, length.min(40)),
        }
    }

    fn unexpected(&self, expected: &str) -> SyntaxError {
        let length = self.token_length();
        let found = &self.text[self.at..self.at + length];
        let hint = match found {
            "" => Some("the file ends too early"),
            "/" | "#" => Some("JSON has no comments; a .toml scene file may have them"),
            "'" => Some("JSON uses double quotes"),
            "}" | "]" if self.text[..self.at].trim_end().ends_with(',') => Some("remove the comma before it"),
            "NaN" | "nan" | "Infinity" | "-Infinity" | "inf" | "-inf" | "Inf" => Some("numbers are finite"),
            "True" | "False" | "None" => Some("write true, false or null"),
            _ => None,
        };
        let found = if found.is_empty() { "the end of the file".to_owned() } else { format!("`{found}`") };
        self.error(length, format!("expected {expected}, found {found}"), hint)
    }

    fn error(&self, length: usize, message: String, hint: Option<&str>) -> SyntaxError {
        SyntaxError { span: Span::new(self.at, self.at + length), message, hint: hint.map(str::to_owned) }
    }
}

fn floor_boundary(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

fn refuse_duplicates(entries: &[Entry<'_>]) -> Result<(), SyntaxError> {
    let mut order: Vec<&Entry<'_>> = entries.iter().collect();
    order.sort_by(|a, b| a.key.cmp(&b.key).then(a.key_span.start.cmp(&b.key_span.start)));
    match order.windows(2).find(|pair| pair[0].key == pair[1].key) {
        None => Ok(()),
        Some(pair) => Err(SyntaxError {
            span: pair[1].key_span,
            message: format!("the key `{}` is given twice", pair[1].key),
            hint: Some("keep one of them".to_owned()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text).expect_err(text).message
    }

    #[test]
    fn numbers_are_those_of_the_standard_library_and_only_those_of_json() {
        for text in ["0", "-0", "-0.0", "1e5", "1E+5", "12.5e-3", "123456789012345678901234567890", "5e-324"] {
            let node = parse(text).unwrap();
            let Value::Number(number) = node.value else { panic!("{text}: {node:?}") };
            assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
        for text in ["01", "-", "1.", ".5", "+1", "1e", "1e+", "0x10", "1_000", "--1", "NaN", "Infinity", "-Infinity"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_are_decoded() {
        for (text, expected) in [
            (r#""""#, ""),
            (r#""a\"b\\c\/d\b\f\n\r\t""#, "a\"b\\c/d\u{8}\u{c}\n\r\t"),
            (r#""\u00e9\u4E2D""#, "é中"),
            (r#""\ud83d\ude00!""#, "😀!"),
            ("\"ü😀\"", "ü😀"),
        ] {
            let node = parse(text).unwrap();
            let Value::Text(string) = &node.value else { panic!("{text}: {node:?}") };
            assert_eq!(string, expected, "{text}");
        }
        for text in [
            r#""\x""#,
            r#""\u12""#,
            r#""\ud83d""#,
            r#""\ud83d\n""#,
            r#""\ude00""#,
            r#""\u+123""#,
            "\"a",
            "\"a\nb\"",
            "\"\u{1}\"",
            "\"\\",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn mistakes_are_named_where_they_stand() {
        for (text, expected, at) in [
            ("", "expected a value, found the end of the file", 0),
            ("{", "expected a key in double quotes, found the end of the file", 1),
            ("{\"a\": 1,}", "expected a key in double quotes, found `}`", 8),
            ("[1 2]", "expected `,` or `]`, found `2`", 3),
            ("{\"a\" 1}", "expected `:`, found `1`", 5),
            ("{'a': 1}", "expected a key in double quotes, found `'`", 1),
            ("{} x", "expected the end of the file, found `x`", 3),
            ("[NaN]", "expected a value, found `NaN`", 1),
            ("{\"a\": 1, \"b\": 2, \"a\": 3}", "the key `a` is given twice", 17),
            ("[ü]", "expected a value, found `ü`", 1),
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.message, expected, "{text}");
            assert_eq!(error.span.start, at, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(1_000_000);
        assert_eq!(message(&deep), "nested more than 64 levels deep");
        let allowed = format!("{}{}", "[".repeat(64), "]".repeat(64));
        assert!(parse(&allowed).is_ok());
    }
}
