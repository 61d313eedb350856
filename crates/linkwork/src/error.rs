//! What is said when something is wrong: where, what with which number, and what to try.

use std::fmt;

/// One thing wrong in a scene or in a call that changes a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneError {
    /// Where it is, as in `joints[3].axis`.
    pub path: String,
    /// What is wrong, with its number and unit.
    pub problem: String,
    /// What to try.
    pub hint: Option<String>,
}

impl SceneError {
    /// An error at a path.
    pub fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        SceneError { path: path.into(), problem: problem.into(), hint: None }
    }

    /// Adds what to try.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for SceneError {}

/// Everything wrong that [`World::build`](crate::World::build) found, at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The problems in the order in which they stand in the scene.
    pub problems: Vec<SceneError>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

impl From<SceneError> for BuildError {
    fn from(problem: SceneError) -> Self {
        BuildError { problems: vec![problem] }
    }
}

/// Why a step could not be taken. The world is as it was before.
#[derive(Clone, Debug, PartialEq)]
pub enum StepError {
    /// A parameter of the step is out of range.
    Parameter(SceneError),
    /// The user moved bodies to where this joint cannot be closed.
    CannotAssemble {
        /// The joint with the largest gap, by name.
        joint: String,
        /// What remains open, m or rad.
        gap: f64,
    },
    /// Particles could not be stepped.
    Particles(SceneError),
    /// Between events the motion could not be followed on.
    Events {
        /// When, s.
        time: f64,
        /// What stood in the way, and what to try.
        problem: String,
    },
    /// The state is no longer finite, beginning with this body.
    NotFinite {
        /// The body, by name.
        body: String,
    },
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::Parameter(e) | StepError::Particles(e) => write!(f, "{e}"),
            StepError::CannotAssemble { joint, gap } => write!(
                f,
                "joint \"{joint}\" cannot be closed from where its bodies were put: {} m or rad remain (move the bodies of a mechanism together)",
                figure(*gap)
            ),
            StepError::Events { time, problem } => write!(f, "at {} s {problem}", figure(*time)),
            StepError::NotFinite { body } => write!(
                f,
                "body \"{body}\" would leave the range of numbers (check forces and velocities applied to it)"
            ),
        }
    }
}

impl std::error::Error for StepError {}

/// Four digits, as people write them.
pub(crate) fn figure(value: f64) -> String {
    match value.abs() {
        size if (1e-3..1e5).contains(&size) => {
            let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
            let digits = format!("{value:.decimals$}");
            match digits.contains('.') {
                true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => digits,
            }
        }
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn figures_are_short() {
        let figures = [2.0, 0.25, 1.0 / 3.0, 12345.6, 9.99999, 1e-3, 1.5e-9, -4.0].map(super::figure);
        assert_eq!(figures, ["2", "0.25", "0.3333", "12346", "10", "0.001", "1.500e-9", "-4"]);
    }
}
