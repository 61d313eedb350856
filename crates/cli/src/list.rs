//! `linkwork list`.

use crate::args::ListOptions;
use crate::failure::Failure;
use crate::output::print;
use crate::report::whole_or_real;
use crate::source::unknown_scene;
use crate::table::facts;
use linkwork_scenes::{Entry, Parameter};
use serde_json::{Value, json};

/// Lists the scenes, or explains one.
pub fn list(options: &ListOptions) -> Result<(), Failure> {
    let chosen: Vec<&Entry> = match options.scene.as_deref() {
        None => linkwork_scenes::all().iter().collect(),
        Some(name) => vec![linkwork_scenes::find(name).ok_or_else(|| unknown_scene(name))?],
    };
    let text = match (options.json, options.scene.is_some()) {
        (true, _) => format!("{:#}\n", Value::from(chosen.into_iter().map(as_json).collect::<Vec<_>>())),
        (false, false) => one_line_each(&chosen),
        (false, true) => chosen.into_iter().map(explained).collect(),
    };
    print(&text)
}

fn one_line_each(entries: &[&Entry]) -> String {
    let settings = |entry: &Entry| {
        let setting = |parameter: &Parameter| format!("{}={}", parameter.name, whole_or_real(parameter.default));
        entry.parameters.iter().map(setting).collect::<Vec<_>>().join(" ")
    };
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let line = |entry: &&Entry| {
        let settings = settings(entry);
        let settings = if settings.is_empty() { String::new() } else { format!(" [{settings}]") };
        format!("{:width$}  {}{settings}\n", entry.name, entry.summary)
    };
    entries.iter().map(line).collect()
}

fn explained(entry: &Entry) -> String {
    let fact = |parameter: &Parameter| {
        let unit = if parameter.unit.is_empty() { String::new() } else { format!(" {}", parameter.unit) };
        let range = format!("{} to {}{unit}", whole_or_real(parameter.min), whole_or_real(parameter.max));
        let setting = format!("{} = {}{unit}", parameter.name, whole_or_real(parameter.default));
        (setting, format!("{} ({range})", parameter.meaning))
    };
    let rows: Vec<(String, String)> = entry.parameters.iter().map(fact).collect();
    let rows: Vec<(&str, String)> = rows.iter().map(|(setting, meaning)| (setting.as_str(), meaning.clone())).collect();
    format!("{}: {}\n{}", entry.name, entry.summary, facts(&rows))
}

/// A scene with its parameters, for programs.
pub fn as_json(entry: &Entry) -> Value {
    let parameter = |p: &Parameter| {
        json!({
            "name": p.name,
            "default": whole_or_real(p.default),
            "min": whole_or_real(p.min),
            "max": whole_or_real(p.max),
            "integer": p.integer,
            "unit": p.unit,
            "meaning": p.meaning,
        })
    };
    let parameters: Vec<Value> = entry.parameters.iter().map(parameter).collect();
    json!({"name": entry.name, "summary": entry.summary, "parameters": parameters})
}
