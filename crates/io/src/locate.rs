//! From a path such as `joints[3].axis` to the text it stands for.

use crate::error::Span;
use crate::format::Format;
use crate::node::{Node, Value, document};

/// The text that `path` stands for, or else that of the nearest enclosing thing that exists.
///
/// `None` if not even the first step of the path exists, or if the text is not of that format.
///
/// ```
/// use linkwork_io::{Format, locate};
/// let text = "[[joints]]\nname = 'elbow'\naxis = [0, 0, 0]\n";
/// let axis = locate(text, Format::Toml, "joints[0].axis").unwrap();
/// assert_eq!(&text[axis.start..axis.end], "[0, 0, 0]");
/// let absent = locate(text, Format::Toml, "joints[0].length").unwrap();
/// assert_eq!(&text[absent.start..absent.end], "name = 'elbow'");
/// ```
pub fn locate(text: &str, format: Format, path: &str) -> Option<Span> {
    locate_all(text, format, std::iter::once(path)).pop()?
}

/// [`locate`] for many paths with one reading of the text.
pub(crate) fn locate_all<'p>(text: &str, format: Format, paths: impl Iterator<Item = &'p str>) -> Vec<Option<Span>> {
    match document(text, format) {
        Ok(root) => paths.map(|path| find(&root, text, path)).collect(),
        Err(_) => paths.map(|_| None).collect(),
    }
}

fn find(root: &Node<'_>, text: &str, path: &str) -> Option<Span> {
    let mut here = root;
    for step in steps(path) {
        match child(here, step) {
            Some(next) => here = next,
            None => break,
        }
    }
    (!std::ptr::eq(here, root)).then(|| here.highlight(text))
}

fn child<'n, 't>(node: &'n Node<'t>, step: Step<'_>) -> Option<&'n Node<'t>> {
    match (step, &node.value) {
        (Step::Index(index), Value::List(items)) => items.get(index),
        (Step::Key(key), Value::Table(entries)) => match node.get(key) {
            Some(entry) => Some(&entry.value),
            // `geometry = { sphere = { radius = 1 } }`: the engine knows the radius as `geometry.radius`.
            None => match entries.as_slice() {
                [only] => Some(&only.value.get(key)?.value),
                _ => None,
            },
        },
        _ => None,
    }
}

/// One step of a path such as `joints[3].axis`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

/// The steps of a path; what is no path ends it.
fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    let mut rest = path;
    std::iter::from_fn(move || {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(bracket) = rest.strip_prefix('[') {
            let (digits, after) = bracket.split_once(']')?;
            rest = after;
            return digits.parse().ok().map(Step::Index);
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        rest = after;
        (!key.is_empty()).then_some(Step::Key(key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"
name = "machine"
gravity = [0, 0, -9.81]

[[bodies]]
name = "arm"
inertia = [1, 2, 30]
shapes = [{ geometry = { sphere = { radius = -1.0 } } }]

[[bodies]]
mass = 1.0

[[joints]]
name = "elbow"
type = "hinge"
axis = [0, 0, 0]

[[joints.coordinates]]
of = "angle"
limit = { min = 2.0, max = 1.0 }
"#;

    const JSON: &str = r#"{
  "name": "machine",
  "bodies": [
    { "name": "arm", "inertia": [1, 2, 30], "shapes": [{"geometry": {"sphere": {"radius": -1.0}}}] },
    {
      "mass": 1.0
    }
  ],
  "joints": [{ "name": "elbow", "type": "hinge", "axis": [0, 0, 0],
    "coordinates": [{ "of": "angle", "limit": {"min": 2.0, "max": 1.0} }] }]
}"#;

    fn located(text: &str, format: Format, path: &str) -> Option<String> {
        locate(text, format, path).map(|span| text[span.start..span.end].to_owned())
    }

    #[test]
    fn a_path_leads_to_its_value_in_both_formats() {
        for (path, expected) in [
            ("name", "\"machine\""),
            ("bodies[0].inertia", "[1, 2, 30]"),
            ("bodies[0].inertia[2]", "30"),
            ("bodies[0].shapes[0].geometry.sphere.radius", "-1.0"),
            ("bodies[0].shapes[0].geometry.radius", "-1.0"),
            ("joints[0].axis", "[0, 0, 0]"),
            ("joints[0].coordinates[0].limit.min", "2.0"),
        ] {
            assert_eq!(located(TOML, Format::Toml, path).as_deref(), Some(expected), "TOML {path}");
            assert_eq!(located(JSON, Format::Json, path).as_deref(), Some(expected), "JSON {path}");
        }
    }

    #[test]
    fn what_is_absent_leads_to_what_should_contain_it() {
        for (path, toml, json) in [
            ("bodies[0].mass", "name = \"arm\"", "\"name\": \"arm\""),
            ("bodies[1].inertia", "[[bodies]]", "{"),
            ("bodies[7].mass", "[[bodies]]", "["),
            (
                "joints[0].coordinates[0].spring.stiffness",
                "[[joints.coordinates]]",
                "{ \"of\": \"angle\", \"limit\": {\"min\": 2.0, \"max\": 1.0} }",
            ),
            ("joints[0].coordinates[0].limit.restitution", "{ min = 2.0, max = 1.0 }", "{\"min\": 2.0, \"max\": 1.0}"),
        ] {
            assert_eq!(located(TOML, Format::Toml, path).as_deref(), Some(toml), "TOML {path}");
            assert_eq!(located(JSON, Format::Json, path).as_deref(), Some(json), "JSON {path}");
        }
    }

    #[test]
    fn what_is_nowhere_is_nowhere() {
        for path in ["", "step.dt", "[", "[0]", "[x].a", "..", "bodies[99999999999999999999999]x"] {
            let found = located(TOML, Format::Toml, path);
            assert!(found.is_none() || path.starts_with("bodies"), "{path}: {found:?}");
        }
        assert_eq!(locate("not toml", Format::Toml, "name"), None);
    }
}
