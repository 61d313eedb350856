//! Writing a scene file: what a person would have written, with every number to its last bit.
//!
//! What equals its default is left out, vectors stand on one line, and in TOML every body and joint has its header.

use crate::format::Format;
use linkwork::SceneError;
use linkwork::scene::{Body, Frame, Geometry, Scene, Shape};
use serde::Serialize;
use serde_json::{Map, Value};

/// The scene as the text of a file. Read again it is the same scene to the last bit.
///
/// An error names the number that no file can hold (NaN or infinite).
pub fn write_scene(scene: &Scene, format: Format) -> Result<String, SceneError> {
    let mut tree = serde_json::to_value(scene).map_err(|error| SceneError::new("", error.to_string()))?;
    refuse_non_finite(&tree, &mut String::new())?;
    leave_out_defaults(&mut tree);
    let Value::Object(root) = tree else {
        return Err(SceneError::new("", "a scene is not a table"));
    };
    Ok(match format {
        Format::Toml => toml(&root),
        Format::Json => json(&root),
    })
}

/// JSON has no word for such a number, and so it is `null` in the tree; nothing else is.
fn refuse_non_finite(value: &Value, path: &mut String) -> Result<(), SceneError> {
    let length = path.len();
    match value {
        Value::Null => return Err(SceneError::new(path.as_str(), "not a finite number")),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                refuse_non_finite(item, path)?;
                path.truncate(length);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(key);
                refuse_non_finite(item, path)?;
                path.truncate(length);
            }
        }
        _ => {}
    }
    Ok(())
}

fn leave_out_defaults(root: &mut Value) {
    let body_defaults = tree_of(&Body::default());
    let shape_defaults = tree_of(&Shape::new(Geometry::Sphere { radius: 0.0 }));
    let frame_defaults = tree_of(&Frame::default());
    for body in elements(root, "bodies") {
        for shape in elements(body, "shapes") {
            leave_out(shape, &shape_defaults, &["geometry"]);
        }
        leave_out(body, &body_defaults, &["name"]);
    }
    for joint in elements(root, "joints") {
        for frame in ["frame_a", "frame_b"] {
            if let Some(frame) = joint.get_mut(frame) {
                leave_out(frame, &frame_defaults, &["position"]);
            }
        }
        if joint.get("name").is_some_and(|name| name == "")
            && let Some(entries) = joint.as_object_mut()
        {
            entries.shift_remove("name");
        }
    }
}

fn tree_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn elements<'v>(table: &'v mut Value, key: &str) -> impl Iterator<Item = &'v mut Value> {
    table.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn leave_out(table: &mut Value, defaults: &Value, kept: &[&str]) {
    if let Some(entries) = table.as_object_mut() {
        entries.retain(|key, value| {
            kept.contains(&key.as_str()) || defaults.get(key).is_none_or(|default| !is_same(default, value))
        });
    }
}

/// Compares as text, because −0 equals 0 but is not the same number.
fn is_same(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.to_string(), b.to_string());
    a == b
}

fn is_list_of_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.first().is_some_and(Value::is_object))
}

fn toml(root: &Map<String, Value>) -> String {
    let mut text = String::new();
    let under_header = |value: &Value| value.is_object() || is_list_of_tables(value);
    for (key, value) in root.iter().filter(|(_, value)| !under_header(value)) {
        toml_entry(&mut text, key, value);
    }
    for (key, value) in root.iter().filter(|(_, value)| under_header(value)) {
        let (header, tables) = match value {
            Value::Array(items) => (format!("\n[[{key}]]\n"), items.as_slice()),
            table => (format!("\n[{key}]\n"), std::slice::from_ref(table)),
        };
        for table in tables {
            text.push_str(&header);
            for (key, value) in table.as_object().into_iter().flatten() {
                toml_entry(&mut text, key, value);
            }
        }
    }
    text
}

fn toml_entry(text: &mut String, key: &str, value: &Value) {
    text.push_str(&format!("{key} = "));
    match value.as_array() {
        Some(items) if items.len() > 1 && is_list_of_tables(value) => {
            text.push_str("[\n");
            for item in items {
                text.push_str("  ");
                inline(text, item, Format::Toml);
                text.push_str(",\n");
            }
            text.push(']');
        }
        _ => inline(text, value, Format::Toml),
    }
    text.push('\n');
}

fn json(root: &Map<String, Value>) -> String {
    let mut text = String::from("{");
    for (i, (key, value)) in root.iter().enumerate() {
        text.push_str(if i > 0 { ",\n  " } else { "\n  " });
        quote(&mut text, key);
        text.push_str(": ");
        match value.as_array() {
            Some(items) if is_list_of_tables(value) => json_elements(&mut text, items),
            _ => inline(&mut text, value, Format::Json),
        }
    }
    text.push_str("\n}\n");
    text
}

fn json_elements(text: &mut String, items: &[Value]) {
    text.push('[');
    for (i, item) in items.iter().enumerate() {
        text.push_str(if i > 0 { ",\n    {" } else { "\n    {" });
        for (j, (key, value)) in item.as_object().into_iter().flatten().enumerate() {
            text.push_str(if j > 0 { ",\n      " } else { "\n      " });
            quote(text, key);
            text.push_str(": ");
            inline(text, value, Format::Json);
        }
        text.push_str("\n    }");
    }
    text.push_str("\n  ]");
}

/// The value on one line.
fn inline(text: &mut String, value: &Value, format: Format) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) if number.is_u64() => text.push_str(&number.to_string()),
        Value::Number(number) => match number.as_f64() {
            // The shortest text that is read as the same number, in either language.
            Some(number) => text.push_str(&format!("{number:?}")),
            None => text.push_str(&number.to_string()),
        },
        Value::String(string) => quote(text, string),
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { "" });
                inline(text, item, format);
            }
            text.push(']');
        }
        Value::Object(entries) => {
            text.push('{');
            for (i, (key, value)) in entries.iter().enumerate() {
                text.push_str(if i > 0 { ", " } else { " " });
                match format {
                    Format::Toml => text.push_str(&format!("{key} = ")),
                    Format::Json => {
                        quote(text, key);
                        text.push_str(": ");
                    }
                }
                inline(text, value, format);
            }
            text.push_str(if entries.is_empty() { "}" } else { " }" });
        }
    }
}

/// In double quotes, with the escapes that TOML and JSON have in common.
fn quote(text: &mut String, string: &str) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control.is_ascii_control() => text.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}
