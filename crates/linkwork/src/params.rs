//! How to step: everything has a default that need not be touched.

use crate::error::SceneError;

/// How the joints of a world are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// One sparse system per mechanism, solved exactly.
    #[default]
    Direct,
    /// Coordinates of the joints of a tree (articulated bodies), loops closed by dependent coordinates. Mechanisms with very many
    /// freedoms in loops or contact are advanced as by [`Method::Direct`], and so is everything under error control; a warning of
    /// the report says so ([`LeftToDirect`](crate::LeftToDirect)). docs/reduced.md.
    Reduced,
    /// Joint by joint, in sweeps (Weinstein, Teran and Fedkiw 2006): linear in bodies and joints, joints closed to 1e-6 m where
    /// sweeps converge and to 1 mm at least, or the step counts as failed. Under error control joints are held directly.
    Iterative,
}

/// How time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stepper {
    /// One step of `dt`, contacts and joints solved together at its end.
    #[default]
    Fixed,
    /// From event to event: between collisions the equations of motion are followed to a tolerance, contact forces included.
    /// For few bodies and high accuracy. docs/reduced.md.
    Events,
}

/// How the impulses of contacts are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactSolver {
    /// Newton's method on the whole island: Coulomb's cone, any size.
    #[default]
    Newton,
    /// Baraff's version of Dantzig's algorithm: a pyramid of friction, small islands.
    Dantzig,
    /// Lemke's algorithm: a pyramid of friction, small islands.
    Lemke,
    /// Projected Gauss-Seidel: a pyramid of friction, small islands.
    GaussSeidel,
}

/// Parameters of a step.
#[derive(Clone, Copy, Debug)]
pub struct StepParams {
    /// Step size, s.
    pub dt: f64,
    /// How time passes within it.
    pub stepper: Stepper,
    /// How the joints are held.
    pub method: Method,
    /// How the impulses of contacts are found. What the complementarity solvers refuse is left to Newton's method, with a
    /// warning. docs/reduced.md.
    pub contact: ContactSolver,
    /// Error control: local error allowed per step, m and rad. `None`: one step of `dt`, whatever its accuracy; 1e-9 between
    /// events.
    pub tolerance: Option<f64>,
    /// How far joints are closed at the end of every step, m and rad. 1e-9: a thousandth of a micrometre, and still a
    /// hundred thousand times the rounding of coordinates of a few metres. [`Method::Iterative`] goes no further than 1e-6.
    pub joint_tolerance: f64,
    /// Whether what has come to rest sleeps until something disturbs it: it costs nothing then, and does not move at all.
    pub sleeping: bool,
    /// Whether heaps and stacks are swept over with shock propagation: contacts from the ground up, each seeing what is below as
    /// if it could not be moved. An option of the source papers; contacts need it nowhere here. docs/method.md, Piles.
    pub shock_propagation: bool,
    /// A clock, s, if the report is to have stage times; the engine has none of its own.
    pub clock: Option<fn() -> f64>,
}

impl StepParams {
    /// The defaults at a step size, s.
    pub fn new(dt: f64) -> Self {
        StepParams {
            dt,
            stepper: Stepper::Fixed,
            method: Method::Direct,
            contact: ContactSolver::Newton,
            tolerance: None,
            joint_tolerance: 1e-9,
            sleeping: false,
            shock_propagation: false,
            clock: None,
        }
    }

    /// Checks the numbers.
    pub(crate) fn check(&self) -> Result<(), SceneError> {
        positive("dt", self.dt, "s", 1e-9, 10.0, "1/60 s is usual")?;
        positive("joint_tolerance", self.joint_tolerance, "m", 1e-12, 1e-3, "1e-9 m is the default")?;
        if let Some(t) = self.tolerance {
            positive("tolerance", t, "m", 1e-12, 1.0, "1e-6 m follows a motion closely")?;
        }
        Ok(())
    }
}

fn positive(path: &str, value: f64, unit: &str, least: f64, most: f64, hint: &str) -> Result<(), SceneError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(SceneError::new(path, format!("{value} {unit} is not between {least:e} and {most} {unit}")).hint(hint))
}
