//! What a build needed, kept in a file, and another build held against it.

use crate::failure::Failure;
use crate::output::Output;
use crate::table::{figure, table};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Instructions of a whole run, start of the program included.
    Instructions,
    /// CPU time per step, ms.
    CpuMs,
}

impl Quantity {
    fn unit(self) -> &'static str {
        match self {
            Quantity::Instructions => "instructions",
            Quantity::CpuMs => "CPU ms a step",
        }
    }
}

/// The figures of a build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// What they are of.
    pub quantity: Quantity,
    /// The options of all runs that are not in their labels; none for the table of targets.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// One for every scene.
    pub entries: Vec<Entry>,
}

/// The figure of a scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Scene and parameters.
    pub label: String,
    /// Half of the repeats were below.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

impl Entry {
    /// A figure that is the same every time.
    pub fn exact(label: String, value: f64) -> Entry {
        Entry { label, median: value, least: value, most: value }
    }
}

/// How a scene compares.
#[derive(Debug, PartialEq)]
struct Change<'a> {
    before: &'a Entry,
    now: &'a Entry,
}

impl Change<'_> {
    fn ratio(&self) -> f64 {
        self.now.median / self.before.median
    }

    /// More than allowed, and no repeat of one build among those of the other.
    fn is_worse(&self, allowed: f64) -> bool {
        self.ratio() > 1.0 + allowed && self.now.least > self.before.most
    }

    fn is_better(&self, allowed: f64) -> bool {
        self.ratio() < 1.0 - allowed && self.now.most < self.before.least
    }
}

/// What is said of scenes that are not the same.
const OTHER_SCENES: &str = "measure the same scenes with the same settings as when it was saved";

impl Baseline {
    /// Reads a file that [`Baseline::save`] wrote.
    pub fn load(path: &Path) -> Result<Baseline, Failure> {
        let hint = "such files are written by `linkwork bench --save FILE`";
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("--compare {shown}: {error}"), hint))?;
        let baseline: Baseline = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("--compare {shown}: not a file of saved figures: {error}"), hint)
        })?;
        let wrong = |entry: &&Entry| {
            let values = [entry.least, entry.median, entry.most];
            !(values[0] > 0.0 && values[2].is_finite() && values.is_sorted())
        };
        match baseline.entries.iter().find(wrong) {
            Some(Entry { label, median, least, most }) => Err(Failure::usage(
                format!(
                    "--compare {shown}: {label}: {least}, {median}, {most} are not the least, median and most of figures"
                ),
                hint,
            )),
            None => Ok(baseline),
        }
    }

    /// Refuses to be compared with something else; known before anything is measured, which takes long.
    pub fn check(&self, quantity: Quantity, options: &str, labels: &[String]) -> Result<(), Failure> {
        if self.quantity != quantity {
            return Err(Failure::usage(
                format!("--compare: the file has {}, measured are {}", self.quantity.unit(), quantity.unit()),
                "--instructions counts instructions, without it times are taken",
            ));
        }
        if self.options != options {
            let shown =
                |options: &str| if options.is_empty() { "no options".to_owned() } else { format!("`{options}`") };
            return Err(Failure::usage(
                format!("--compare: the file is of runs with {}, these have {}", shown(&self.options), shown(options)),
                "measure with the same options as when it was saved",
            ));
        }
        if !self.entries.iter().any(|entry| labels.contains(&entry.label)) {
            let known: Vec<&str> = self.entries.iter().map(|entry| entry.label.as_str()).collect();
            let message = match known.is_empty() {
                true => "--compare: the file has no scenes".to_owned(),
                false => format!("--compare: no scene of the file is measured; it has {}", known.join(", ")),
            };
            return Err(Failure::usage(message, OTHER_SCENES));
        }
        Ok(())
    }

    /// Writes the figures.
    pub fn save(&self, mut output: Output) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure::failed(error.to_string(), ""))?;
        writeln!(output, "{text}").map_err(|error| output.failure(&error))?;
        output.finish()
    }

    /// A table of the changes, and whether any scene became worse by more than this part.
    pub fn compare(&self, now: &Baseline, allowed: f64) -> Result<(String, bool), Failure> {
        let labels: Vec<String> = now.entries.iter().map(|entry| entry.label.clone()).collect();
        self.check(now.quantity, &now.options, &labels)?;
        let (mut rows, mut worse) = (Vec::new(), false);
        for entry in &now.entries {
            let Some(before) = self.entries.iter().find(|before| before.label == entry.label) else {
                rows.push([entry.label.clone(), "".into(), figure(entry.median), "".into(), "not in the file".into()]);
                continue;
            };
            let change = Change { before, now: entry };
            worse |= change.is_worse(allowed);
            let word = match (change.is_worse(allowed), change.is_better(allowed)) {
                (true, _) => "WORSE",
                (_, true) => "better",
                _ => "same",
            };
            let percent = format!("{:+.2} %", 100.0 * (change.ratio() - 1.0));
            rows.push([entry.label.clone(), figure(before.median), figure(entry.median), percent, word.into()]);
        }
        let measured = |label: &str| now.entries.iter().any(|entry| entry.label == label);
        for before in self.entries.iter().filter(|before| !measured(&before.label)) {
            rows.push([before.label.clone(), figure(before.median), "".into(), "".into(), "not measured".into()]);
        }
        let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
        let header = ["scene", "before", "now", "change", ""];
        let text = format!(
            "{}\nMedians of {}. Same: within {:.1} %, or the repeats of the two overlap.\n",
            table(&header, &rows),
            self.quantity.unit(),
            100.0 * allowed
        );
        Ok((text, worse))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(quantity: Quantity, entries: &[(&str, f64, f64, f64)]) -> Baseline {
        let entry =
            |&(label, median, least, most): &(&str, f64, f64, f64)| Entry { label: label.into(), median, least, most };
        Baseline { quantity, options: String::new(), entries: entries.iter().map(entry).collect() }
    }

    #[test]
    fn a_rise_beyond_what_is_allowed_is_worse_unless_repeats_overlap() {
        let before = of(Quantity::CpuMs, &[("a", 1.0, 0.9, 1.1), ("b", 1.0, 0.9, 1.1), ("c", 1.0, 0.9, 1.1)]);
        let same = of(Quantity::CpuMs, &[("a", 1.2, 1.05, 1.3), ("b", 1.02, 1.2, 1.3), ("new", 1.0, 1.0, 1.0)]);
        let (text, worse) = before.compare(&same, 0.03).unwrap();
        assert!(!worse && text.contains("not in the file"), "{text}");
        let slower = of(Quantity::CpuMs, &[("a", 1.2, 1.15, 1.3), ("c", 0.7, 0.6, 0.8)]);
        let (text, worse) = before.compare(&slower, 0.03).unwrap();
        assert!(worse && text.contains("WORSE") && text.contains("better") && text.contains("+20.00 %"), "{text}");
    }

    #[test]
    fn times_are_not_compared_with_instructions() {
        let times = of(Quantity::CpuMs, &[("a", 1.0, 1.0, 1.0)]);
        let counts = of(Quantity::Instructions, &[("a", 1e6, 1e6, 1e6)]);
        assert!(times.compare(&counts, 0.03).unwrap_err().text().contains("--instructions"));
    }

    #[test]
    fn other_options_and_other_scenes_are_not_compared() {
        let before = of(Quantity::CpuMs, &[("a", 1.0, 1.0, 1.0)]);
        let refused = |options: &str, label: &str| match before.check(Quantity::CpuMs, options, &[label.to_owned()]) {
            Err(failure) => failure.text().to_owned(),
            Ok(()) => String::new(),
        };
        assert_eq!(refused("", "a"), "");
        assert!(refused("--duration 2", "a").contains("no options"), "{}", refused("--duration 2", "a"));
        assert!(refused("", "b").contains("it has a"), "{}", refused("", "b"));
    }
}
