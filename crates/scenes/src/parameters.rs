//! Named numbers that shape a scene: what exists, what is allowed, and what is said when a setting is wrong.

use std::fmt;

/// A number that a scene can be built with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// What it is called in settings.
    pub name: &'static str,
    /// Its value unless set.
    pub default: f64,
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Whether only whole numbers are allowed.
    pub integer: bool,
    /// Its unit, empty for a pure number.
    pub unit: &'static str,
    /// What it does, in a few words.
    pub meaning: &'static str,
}

impl Parameter {
    pub(crate) const fn count(name: &'static str, default: f64, min: f64, max: f64, meaning: &'static str) -> Self {
        Parameter { name, default, min, max, integer: true, unit: "", meaning }
    }

    pub(crate) const fn real(
        name: &'static str,
        default: f64,
        min: f64,
        max: f64,
        unit: &'static str,
        meaning: &'static str,
    ) -> Self {
        Parameter { name, default, min, max, integer: false, unit, meaning }
    }

    pub(crate) const fn switch(name: &'static str, default: f64, meaning: &'static str) -> Self {
        Parameter { name, default, min: 0.0, max: 1.0, integer: true, unit: "", meaning }
    }

    fn problem_with(&self, value: f64) -> Option<String> {
        if !value.is_finite() {
            return Some(format!("{value} is not a finite number"));
        }
        if value < self.min || value > self.max {
            let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
            return Some(format!("{} is outside {} to {}{unit}", shown(value), self.min, self.max));
        }
        if self.integer && value.fract() != 0.0 {
            return Some(format!("{value} is not a whole number"));
        }
        None
    }
}

/// A setting that a scene cannot be built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The scene that was asked for.
    pub scene: String,
    /// The parameter as it was written.
    pub parameter: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to try.
    pub hint: Option<String>,
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scene {}, parameter {}: {}", self.scene, self.parameter, self.problem)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParameterError {}

/// The values a scene is built with: every parameter has one, and each is allowed.
pub(crate) struct Values {
    scene: &'static str,
    parameters: &'static [Parameter],
    numbers: Vec<f64>,
}

impl Values {
    pub(crate) fn defaults(scene: &'static str, parameters: &'static [Parameter]) -> Self {
        Values { scene, parameters, numbers: parameters.iter().map(|p| p.default).collect() }
    }

    pub(crate) fn set(&mut self, name: &str, value: f64) -> Result<(), ParameterError> {
        let Some(index) = self.parameters.iter().position(|p| p.name == name) else {
            return Err(self.unknown(name));
        };
        if let Some(problem) = self.parameters[index].problem_with(value) {
            return Err(self.reject(name, problem, Some(self.parameters[index].meaning.to_string())));
        }
        self.numbers[index] = value;
        Ok(())
    }

    /// The value of a parameter that the scene declares.
    pub(crate) fn real(&self, name: &str) -> f64 {
        let index = self.parameters.iter().position(|p| p.name == name);
        debug_assert!(index.is_some(), "scene {} does not declare {name}", self.scene);
        index.map_or(f64::NAN, |index| self.numbers[index])
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.real(name) as usize
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.real(name) != 0.0
    }

    pub(crate) fn reject(&self, name: &str, problem: String, hint: Option<String>) -> ParameterError {
        ParameterError { scene: self.scene.to_string(), parameter: name.to_string(), problem, hint }
    }

    fn unknown(&self, name: &str) -> ParameterError {
        let names = self.parameters.iter().map(|p| p.name);
        let hint = match nearest(name, names.clone()) {
            Some(close) => format!("did you mean {close}?"),
            None if self.parameters.is_empty() => "the scene has no parameters".to_string(),
            None => format!("it has {}", names.collect::<Vec<_>>().join(", ")),
        };
        self.reject(name, "the scene has no such parameter".to_string(), Some(hint))
    }
}

/// The candidate that is a few keystrokes away from what was written, if there is one.
pub(crate) fn nearest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let tolerated = (written.chars().count() / 3).max(2);
    candidates
        .map(|candidate| (keystrokes_between(written, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= tolerated || is_stem(written, candidate))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn is_stem(written: &str, candidate: &str) -> bool {
    written.len() >= 3 && candidate.starts_with(written)
}

/// Levenshtein distance, with capitals and the choice of `-` or `_` ignored.
fn keystrokes_between(left: &str, right: &str) -> usize {
    let fold = |text: &str| text.to_lowercase().replace('_', "-").chars().collect::<Vec<_>>();
    let (left, right) = (fold(left), fold(right));
    let mut previous: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut current = vec![i + 1];
        for (j, r) in right.iter().enumerate() {
            let replaced = previous[j] + usize::from(l != r);
            current.push(replaced.min(previous[j + 1] + 1).min(current[j] + 1));
        }
        previous = current;
    }
    previous[right.len()]
}

/// A number; one of many digits by its power of ten.
fn shown(value: f64) -> String {
    if value.abs() < 1e16 { value.to_string() } else { format!("{value:e}") }
}
