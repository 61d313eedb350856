//! What is said when something is wrong: where, what with which number, and what to try.

use crate::body::BodyState;
use glam::DVec3;
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
    /// The state would no longer be finite, beginning with this body.
    NotFinite {
        /// The body, by name.
        body: String,
        /// Its centre of mass before the step, m.
        position: DVec3,
        /// How fast that moved, m/s.
        speed: f64,
        /// How fast the body turned, rad/s.
        spin: f64,
    },
}

impl StepError {
    /// That a body would leave the range of numbers, with what is known of it before the step.
    pub(crate) fn not_finite(body: &BodyState) -> StepError {
        StepError::NotFinite { body: body.name.to_string(), position: body.x, speed: size(body.v), spin: size(body.w) }
    }
}

/// The length of a vector of which squares may be out of range.
fn size(v: DVec3) -> f64 {
    let largest = v.abs().max_element();
    if largest > 0.0 { largest * (v / largest).length() } else { 0.0 }
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
            StepError::NotFinite { body, position: at, speed, spin } => write!(
                f,
                "body \"{body}\" would leave the range of numbers in this step; before it, it was at ({}, {}, {}) m with {} m/s and {} rad/s \
                 (if that is more than was meant, look at earlier steps; otherwise try a smaller step, and look at the masses, springs, \
                 motors and forces of this body and of what it is joined to and touches)",
                figure(at.x),
                figure(at.y),
                figure(at.z),
                figure(*speed),
                figure(*spin)
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
    use crate::scene::{Body, Geometry, Scene};
    use crate::{Scratch, StepParams, World, step};
    use glam::DVec3;

    /// Symptom: a body that leaves the range of numbers was said to do so by forces, whatever the cause.
    #[test]
    fn a_body_that_leaves_the_range_of_numbers_is_told_with_what_is_known() {
        let mut scene = Scene::new("far");
        scene.body(
            Body::new("comet")
                .at([3.0, 4.0, 5.0])
                .moving([0.0; 3], [0.0, 0.0, 2.0])
                .shape(Geometry::Sphere { radius: 1.0 }),
        );
        for fast in [0.25, 1e300] {
            let mut world = World::build(&scene).unwrap();
            if let Some(body) = world.bodies.at_mut(0) {
                (body.v, body.force) = (DVec3::X * fast, DVec3::X * f64::MAX);
                body.mass.mass = 1e-3;
            }
            let before = world.state_hash();
            let error = step(&mut world, &mut Scratch::default(), &StepParams::new(0.01)).unwrap_err();
            let speed = super::figure(fast);
            let known = format!(
                "body \"comet\" would leave the range of numbers in this step; before it, it was at (3, 4, 5) m with {speed} m/s and 2 rad/s"
            );
            assert!(error.to_string().starts_with(&known), "{error}");
            assert_eq!(world.state_hash(), before);
        }
    }

    #[test]
    fn figures_are_short() {
        let figures = [2.0, 0.25, 1.0 / 3.0, 12345.6, 9.99999, 1e-3, 1.5e-9, -4.0].map(super::figure);
        assert_eq!(figures, ["2", "0.25", "0.3333", "12346", "10", "0.001", "1.500e-9", "-4"]);
    }
}
