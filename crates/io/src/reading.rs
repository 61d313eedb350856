//! From nodes to a value, with everything that is wrong on the way.
//!
//! Serde stops at the first error. Here a mistake is noted, the node that holds it is set aside and the reading goes
//! on: unknown keys and broken elements of a list within the same pass, anything else in a further pass that treats
//! what was set aside as absent. A key that is missing only because its value was set aside is no further mistake.

use crate::format::Format;
use crate::node::{Entry, Node, Value};
use crate::suggest;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

/// After so many mistakes no further pass is made.
const ENOUGH: usize = 20;

/// Something wrong, and the node or key where it is.
#[derive(Debug)]
pub(crate) struct Finding<'a, 't> {
    pub node: &'a Node<'t>,
    /// Set if it is the key that is wrong, not its value.
    pub key: Option<&'a Entry<'t>>,
    pub message: String,
    pub hint: Option<String>,
}

/// Reads a value from a document, or finds what is wrong with the document: at least one thing.
pub(crate) fn read<'a, 't, T: DeserializeOwned>(root: &'a Node<'t>, format: Format) -> Result<T, Vec<Finding<'a, 't>>> {
    let reading = Reading { format, findings: RefCell::default(), set_aside: RefCell::default() };
    loop {
        let known = reading.set_aside.borrow().len();
        let result = T::deserialize(Cursor { node: root, reading: &reading });
        let result = result.map_err(|failure| reading.note(failure, root));
        let found = reading.findings.borrow().len();
        match result {
            Ok(value) if found == 0 => return Ok(value),
            // a root that is no table has been told of once and would be again
            _ if found >= ENOUGH || reading.set_aside.borrow().len() == known || reading.is_set_aside(root) => {
                return Err(reading.findings.into_inner());
            }
            _ => {}
        }
    }
}

struct Reading<'a, 't> {
    format: Format,
    findings: RefCell<Vec<Finding<'a, 't>>>,
    /// Nodes not to be read again, by address.
    set_aside: RefCell<HashSet<usize>>,
}

impl<'a, 't> Reading<'a, 't> {
    fn is_set_aside(&self, node: &Node<'_>) -> bool {
        let set_aside = self.set_aside.borrow();
        !set_aside.is_empty() && set_aside.contains(&address(node))
    }

    /// Takes note of what went wrong at `node`; returns what its parents are to know.
    fn note(&self, failure: Failure, node: &'a Node<'t>) -> Failure {
        match failure {
            Failure::Noted => return Failure::Noted,
            Failure::Consequence => {}
            Failure::New { message, hint } => {
                self.findings.borrow_mut().push(Finding { node, key: None, message, hint })
            }
            Failure::Missing(key) => {
                if !self.was_there(node, key) {
                    let message = format!("missing key `{key}`");
                    self.findings.borrow_mut().push(Finding { node, key: None, message, hint: None });
                }
            }
        }
        self.set_aside.borrow_mut().insert(address(node));
        Failure::Noted
    }

    /// Whether a key is absent only because what stood there was set aside, be it under a misspelt name.
    fn was_there(&self, node: &Node<'_>, key: &str) -> bool {
        let Value::Table(entries) = &node.value else { return false };
        let meant = |entry: &Entry<'_>| suggest::nearest(&entry.key, [key]).is_some();
        entries.iter().any(|entry| self.is_set_aside(&entry.value) && meant(entry))
    }

    /// Takes note that a key is wrong, and sets its value aside.
    fn note_key(&self, node: &'a Node<'t>, entry: &'a Entry<'t>, message: String, hint: String) {
        self.findings.borrow_mut().push(Finding { node, key: Some(entry), message, hint: Some(hint) });
        self.set_aside.borrow_mut().insert(address(&entry.value));
    }

    fn refuse_unknown_keys(&self, node: &'a Node<'t>, entries: &'a [Entry<'t>], known: &[&str]) {
        for entry in entries {
            if !known.contains(&entry.key.as_ref()) && !self.is_set_aside(&entry.value) {
                let message = format!("unknown key `{}`", shortened(&entry.key));
                self.note_key(node, entry, message, suggest::hint(&entry.key, known));
            }
        }
    }
}

fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[derive(Debug)]
enum Failure {
    New {
        message: String,
        hint: Option<String>,
    },
    Missing(&'static str),
    /// Follows from something that is set aside.
    Consequence,
    /// Noted already, further in.
    Noted,
}

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Failure::New { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Failure::New { message, .. } => Failure::New { message, hint: Some(hint.into()) },
            other => other,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::New { message, .. } => f.write_str(message),
            Failure::Missing(key) => write!(f, "missing key `{key}`"),
            Failure::Consequence | Failure::Noted => f.write_str("noted"),
        }
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Failure::new(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Failure::new(format!("expected {expected}"))
    }

    fn missing_field(key: &'static str) -> Self {
        Failure::Missing(key)
    }
}

#[derive(Clone, Copy)]
struct Cursor<'r, 'a, 't> {
    node: &'a Node<'t>,
    reading: &'r Reading<'a, 't>,
}

impl<'r, 'a, 't> Cursor<'r, 'a, 't> {
    fn at(self, node: &'a Node<'t>) -> Self {
        Cursor { node, ..self }
    }

    fn wrong_type(self, expected: impl fmt::Display) -> Failure {
        Failure::new(format!("expected {expected}, found {}", self.node.description(self.table_word())))
    }

    fn table_word(self) -> &'static str {
        self.reading.format.table_word()
    }

    /// Reads what is here; what goes wrong is noted here unless it was further in.
    fn read_with<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        seed.deserialize(self).map_err(|failure| self.reading.note(failure, self.node))
    }

    fn list<'de, V: Visitor<'de>>(
        self,
        items: &'a [Node<'t>],
        visitor: V,
        fixed_length: bool,
    ) -> Result<V::Value, Failure> {
        visitor.visit_seq(Items { items: items.iter(), cursor: self, fixed_length })
    }

    fn table<'de, V: Visitor<'de>>(self, entries: &'a [Entry<'t>], visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_map(Entries { entries: entries.iter(), value: None, cursor: self })
    }

    fn fields<'de, V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Table(entries) => {
                self.reading.refuse_unknown_keys(self.node, entries, fields);
                self.table(entries, visitor)
            }
            _ => Err(self.wrong_type(self.table_word()).hint(format!("its keys are {}", fields.join(", ")))),
        }
    }
}

impl<'de> de::Deserializer<'de> for Cursor<'_, '_, '_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(value) => match whole(*value) {
                Some(integer) => visitor.visit_i64(integer),
                None => visitor.visit_f64(*value),
            },
            Value::Text(text) => visitor.visit_str(text),
            Value::List(items) => self.list(items, visitor, false),
            Value::Table(entries) => self.table(entries, visitor),
            Value::Foreign(what) => Err(Failure::new(format!("{what} has no place here"))),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Number(value) if value.is_finite() => visitor.visit_f64(value),
            Value::Number(value) => Err(Failure::new("not a finite number").hint(if value.is_nan() {
                "every quantity of a scene is a number with a value"
            } else {
                "leave the key out where no bound is meant; the largest number is about 1.8e308"
            })),
            Value::Text(_) => {
                Err(self.wrong_type("a number").hint("write the number alone, without quotes and unit; units are SI"))
            }
            _ => Err(self.wrong_type("a number")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::Text(text) => visitor.visit_str(text),
            _ => Err(self.wrong_type("a string")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::List(items) => self.list(items, visitor, false),
            Value::Table(_) if self.reading.format == Format::Toml => {
                Err(self.wrong_type("an array").hint("write [[…]] above every element, or put [ ] around it"))
            }
            _ => Err(self.wrong_type("an array")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Failure> {
        match &self.node.value {
            Value::List(items) if items.len() == length => self.list(items, visitor, true),
            Value::List(items) => Err(Failure::new(format!("expected {length} numbers, found {}", items.len()))),
            _ => Err(self.wrong_type(format_args!("an array of {length} numbers"))),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.fields(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let (variant, chosen) = match &self.node.value {
            Value::Text(text) => (text.as_ref(), None),
            Value::Table(entries) => match entries.as_slice() {
                [only] if self.reading.is_set_aside(&only.value) => return Err(Failure::Consequence),
                [only] => (only.key.as_ref(), Some(only)),
                _ => {
                    let message = format!("expected one key, found {}", entries.len());
                    return Err(Failure::new(message).hint(format!("choose one of {}", variants.join(", "))));
                }
            },
            _ => return Err(self.wrong_type("a choice").hint(format!("choose one of {}", variants.join(", ")))),
        };
        if variants.contains(&variant) {
            return visitor.visit_enum(Choice { variant, content: chosen.map(|entry| &entry.value), cursor: self });
        }
        let message = format!("unknown choice `{}`", shortened(variant));
        let hint = suggest::hint(variant, variants);
        match chosen {
            None => Err(Failure::new(message).hint(hint)),
            Some(entry) => {
                self.reading.note_key(self.node, entry, message, hint);
                Err(Failure::Noted)
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct newtype_struct
        tuple_struct map identifier
    }
}

/// The integer that a number is, where a type asks for one. −0 is none: its sign would be lost.
fn whole(value: f64) -> Option<i64> {
    let exact = value.fract() == 0.0 && value.abs() < 2f64.powi(53) && !(value == 0.0 && value.is_sign_negative());
    exact.then_some(value as i64)
}

struct Items<'r, 'a, 't> {
    items: std::slice::Iter<'a, Node<'t>>,
    cursor: Cursor<'r, 'a, 't>,
    /// Elements cannot be left out.
    fixed_length: bool,
}

impl<'de> SeqAccess<'de> for Items<'_, '_, '_> {
    type Error = Failure;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let cursor = self.cursor;
        let next = match self.fixed_length {
            true => self.items.next(),
            false => self.items.find(|item| !cursor.reading.is_set_aside(item)),
        };
        let Some(item) = next else {
            return Ok(None);
        };
        if cursor.reading.is_set_aside(item) {
            return Err(Failure::Consequence);
        }
        cursor.at(item).read_with(seed).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct Entries<'r, 'a, 't> {
    entries: std::slice::Iter<'a, Entry<'t>>,
    value: Option<&'a Node<'t>>,
    cursor: Cursor<'r, 'a, 't>,
}

impl<'de> MapAccess<'de> for Entries<'_, '_, '_> {
    type Error = Failure;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Failure> {
        let cursor = self.cursor;
        let next = self.entries.find(|entry| !cursor.reading.is_set_aside(&entry.value));
        let Some(entry) = next else {
            return Ok(None);
        };
        self.value = Some(&entry.value);
        seed.deserialize(entry.key.as_ref().into_deserializer()).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Failure> {
        match self.value.take() {
            Some(node) => self.cursor.at(node).read_with(seed),
            None => Err(Failure::new("a value without a key")),
        }
    }
}

/// One of several: a bare name, or a table whose only key is the name.
struct Choice<'r, 'a, 't> {
    variant: &'a str,
    content: Option<&'a Node<'t>>,
    cursor: Cursor<'r, 'a, 't>,
}

impl<'de, 'r, 'a, 't> EnumAccess<'de> for Choice<'r, 'a, 't> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Failure> {
        let name = seed.deserialize(IntoDeserializer::<Failure>::into_deserializer(self.variant))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'_, '_, '_> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        match self.content {
            None => Ok(()),
            Some(_) => Err(self.cursor.wrong_type("a string").hint(format!("write \"{}\"", self.variant))),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Failure> {
        self.cursor.at(self.content.ok_or_else(|| self.without_content(&[]))?).read_with(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Failure> {
        let content = self.cursor.at(self.content.ok_or_else(|| self.without_content(&[]))?);
        de::Deserializer::deserialize_tuple(content, length, visitor)
            .map_err(|failure| content.reading.note(failure, content.node))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Failure> {
        let content = self.cursor.at(self.content.ok_or_else(|| self.without_content(fields))?);
        content.fields(fields, visitor).map_err(|failure| content.reading.note(failure, content.node))
    }
}

impl Choice<'_, '_, '_> {
    fn without_content(&self, fields: &[&str]) -> Failure {
        let (variant, format) = (self.variant, self.cursor.reading.format);
        let example = match format {
            Format::Toml => format!("{{ {variant} = {{ … }} }}"),
            Format::Json => format!("{{\"{variant}\": {{ … }}}}"),
        };
        let keys = if fields.is_empty() { String::new() } else { format!(" with {}", fields.join(", ")) };
        Failure::new(format!("`{variant}` needs its sizes")).hint(format!("write {example}{keys}"))
    }
}
