//! Ordinary differential equations ẏ = f(t, y): solvers for any system, usable without the rest of the engine.
//!
//! A [`System`] has a state (numbers) and a time, and tells its derivative there. Solvers read the state, ask for
//! derivatives wherever they like, and leave the state at the new time. Which one to take:
//!
//! | solver | order | for |
//! | --- | --- | --- |
//! | [`Euler`], [`Midpoint`], [`RungeKutta4`] | 1, 2, 4 | fixed steps, smooth and not stiff |
//! | [`StepDoubling`] | 5 | any tolerance; compares a step with its halves |
//! | [`DormandPrince`] | 5 | the usual choice: error control from an embedded formula, dense output of order 4 |
//! | [`BackwardEuler`] | 1 | stiff, fixed steps, strongest damping |
//! | [`TrBdf2`] | 2 | stiff, fixed or error-controlled steps, sparse Jacobians |
//!
//! ```
//! use linkwork::ode::{Adaptive, DormandPrince, Direction, Equation, Outcome, Tolerance};
//!
//! // a ball thrown up: height and speed
//! let mut ball = Equation::new([0.0, 10.0], |_t, y, dy| {
//!     dy[0] = y[1];
//!     dy[1] = -9.81;
//! });
//! let mut solver = DormandPrince::new(Tolerance::new(1e-9))?;
//! // until it comes down
//! let outcome = solver.integrate_until(&mut ball, 5.0, Direction::Falling, |_t, y| y[0])?;
//! let Outcome::Event { time } = outcome else { panic!("it comes down") };
//! assert!((time - 2.0 * 10.0 / 9.81).abs() < 1e-9);
//! # Ok::<(), linkwork::ode::OdeError>(())
//! ```
//!
//! The course notes' interface (Witkin, Baraff, Kass 1999, chapter B) is the same four questions.

mod jacobian;
pub use jacobian::{Jacobian, differences};

mod explicit;
pub use explicit::{Euler, Midpoint, RungeKutta4, StepDoubling};

mod embedded;
pub use embedded::DormandPrince;

mod implicit;
pub use implicit::{BackwardEuler, TrBdf2};

mod event;
pub use event::{Direction, Outcome};

use std::fmt;

/// Something that moves by ẏ = f(t, y).
pub trait System {
    /// How many numbers the state is.
    fn dimension(&self) -> usize;
    /// Present time, s.
    fn time(&self) -> f64;
    /// Writes the present state.
    fn state(&self, y: &mut [f64]);
    /// Goes to a time and a state.
    fn set_state(&mut self, time: f64, y: &[f64]);
    /// Writes ẏ at the present time and state.
    fn derivative(&mut self, dy: &mut [f64]);
    /// Where ∂f/∂y may be other than zero, as (row, column); `None` if anywhere. Differences need as many derivatives
    /// as there are columns that share a row.
    fn sparsity(&self) -> Option<Vec<(u32, u32)>> {
        None
    }
    /// Adds ∂f/∂y at the present time and state; by differences unless told otherwise. It must leave the state as it is.
    fn jacobian(&mut self, jacobian: &mut Jacobian) {
        differences(self, jacobian);
    }
}

/// A system given by a function of time and state.
pub struct Equation<F> {
    time: f64,
    y: Vec<f64>,
    f: F,
}

impl<F: FnMut(f64, &[f64], &mut [f64])> Equation<F> {
    /// Starts at time zero; `f` writes the derivative.
    pub fn new(start: impl Into<Vec<f64>>, f: F) -> Self {
        Equation { time: 0.0, y: start.into(), f }
    }

    /// The present state.
    pub fn values(&self) -> &[f64] {
        &self.y
    }
}

impl<F: FnMut(f64, &[f64], &mut [f64])> System for Equation<F> {
    fn dimension(&self) -> usize {
        self.y.len()
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn state(&self, y: &mut [f64]) {
        y.copy_from_slice(&self.y);
    }

    fn set_state(&mut self, time: f64, y: &[f64]) {
        self.time = time;
        self.y.copy_from_slice(y);
    }

    fn derivative(&mut self, dy: &mut [f64]) {
        (self.f)(self.time, &self.y, dy);
    }
}

/// Takes steps of a given length.
pub trait Solver {
    /// One step. On an error the system is as before.
    fn step<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<(), OdeError>;

    /// Equal steps of at most `h` to a time.
    fn run<S: System + ?Sized>(&mut self, system: &mut S, until: f64, h: f64) -> Result<(), OdeError> {
        let span = until - system.time();
        if !(h.is_finite() && h > 0.0 && span.is_finite() && span >= 0.0) {
            return Err(OdeError::Parameter(format!("no steps of {h} s lead from {} s to {until} s", system.time())));
        }
        let count = (span / h - 1e-9).ceil().max(0.0);
        for _ in 0..count as u64 {
            self.step(system, span / count)?;
        }
        Ok(())
    }
}

/// Chooses its steps to keep an error below a tolerance.
pub trait Adaptive {
    /// One step that is accurate enough and does not go beyond `limit`. On an error the system is as before.
    fn advance<S: System + ?Sized>(&mut self, system: &mut S, limit: f64) -> Result<Taken, OdeError>;

    /// Writes the state at a time within the last step taken.
    fn interpolate(&self, time: f64, y: &mut [f64]);

    /// Forgets the length of the last step, for a system that has jumped.
    fn restart(&mut self);

    /// Advances to a time; returns the number of steps.
    fn integrate<S: System + ?Sized>(&mut self, system: &mut S, until: f64) -> Result<u64, OdeError> {
        let mut steps = 0;
        while system.time() < until {
            self.advance(system, until)?;
            steps += 1;
        }
        Ok(steps)
    }

    /// Advances to a time, or to the first zero of `g(t, y)` that it crosses in the direction asked for. The crossing is
    /// found on the dense output; the system is left there. A zero at the start does not count.
    fn integrate_until<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        until: f64,
        direction: Direction,
        mut g: impl FnMut(f64, &[f64]) -> f64,
    ) -> Result<Outcome, OdeError>
    where
        Self: Sized,
    {
        while system.time() < until {
            let taken = self.advance(system, until)?;
            if let Some(time) = event::first_crossing(self, &taken, system.dimension(), direction, &mut g) {
                let mut y = vec![0.0; system.dimension()];
                self.interpolate(time, &mut y);
                system.set_state(time, &y);
                self.restart();
                return Ok(Outcome::Event { time });
            }
        }
        Ok(Outcome::Reached)
    }
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Start of the step, s.
    pub from: f64,
    /// Its end, s.
    pub to: f64,
    /// Attempts that were too inaccurate before it.
    pub rejected: u32,
}

/// What error is allowed in one step: |error| ≤ absolute + relative · |y|, component by component, in the mean square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Fraction of the value.
    pub relative: f64,
    /// In the unit of the value.
    pub absolute: f64,
}

impl Tolerance {
    /// The same number for both.
    pub fn new(tolerance: f64) -> Self {
        Tolerance { relative: tolerance, absolute: tolerance }
    }

    pub(crate) fn check(self) -> Result<Self, OdeError> {
        let fine = |x: f64| x.is_finite() && x >= 0.0;
        if fine(self.relative) && fine(self.absolute) && self.relative.max(self.absolute) > 0.0 {
            return Ok(self);
        }
        Err(OdeError::Parameter(format!("{self:?} allows no error or any: 1e-6 is usual")))
    }

    /// Error in units of the tolerance: 1 is just allowed. NaN counts as infinite.
    fn norm(&self, error: &[f64], y0: &[f64], y1: &[f64]) -> f64 {
        let mut sum = 0.0;
        for i in 0..error.len() {
            let scale = self.absolute + self.relative * y0[i].abs().max(y1[i].abs());
            let e = error[i] / scale.max(1e-300);
            sum += e * e;
        }
        let norm = (sum / error.len().max(1) as f64).sqrt();
        if norm.is_finite() { norm } else { f64::INFINITY }
    }
}

/// Why a solver could not go on.
#[derive(Clone, Debug, PartialEq)]
pub enum OdeError {
    /// A number given to the solver is out of range.
    Parameter(String),
    /// The derivative or the state is no longer finite.
    NotFinite {
        /// Where, s.
        time: f64,
    },
    /// The implicit equations of a step have not been solved.
    NoConvergence {
        /// Start of the step, s.
        time: f64,
        /// Length of the step, s.
        step: f64,
    },
    /// The tolerance cannot be met with steps that numbers can still tell apart.
    StepTooSmall {
        /// Where, s.
        time: f64,
        /// The step that was still too long, s.
        step: f64,
    },
}

impl fmt::Display for OdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OdeError::Parameter(what) => f.write_str(what),
            OdeError::NotFinite { time } => {
                write!(f, "at {time} s the state leaves the range of numbers (take smaller or implicit steps)")
            }
            OdeError::NoConvergence { time, step } => {
                write!(
                    f,
                    "at {time} s the equations of an implicit step of {step:.3e} s were not solved (take smaller steps)"
                )
            }
            OdeError::StepTooSmall { time, step } => write!(
                f,
                "at {time} s a step of {step:.3e} s is still too inaccurate (the derivative jumps there, or the tolerance is too small)"
            ),
        }
    }
}

impl std::error::Error for OdeError {}

/// Working memory: vectors of the dimension of the system.
fn sized(vectors: &mut [Vec<f64>], n: usize) {
    for v in vectors {
        v.resize(n, 0.0);
    }
}

fn check_step(h: f64) -> Result<(), OdeError> {
    match h.is_finite() && h > 0.0 {
        true => Ok(()),
        false => Err(OdeError::Parameter(format!("a step of {h} s leads nowhere: give a positive length"))),
    }
}

/// Ends a step: the new state if it is finite, the old one and an error otherwise.
fn settle<S: System + ?Sized>(system: &mut S, from: (f64, &[f64]), to: (f64, &[f64])) -> Result<(), OdeError> {
    if to.1.iter().all(|y| y.is_finite()) {
        system.set_state(to.0, to.1);
        return Ok(());
    }
    system.set_state(from.0, from.1);
    Err(OdeError::NotFinite { time: to.0 })
}

/// Cubic through two states and derivatives.
fn hermite(from: (f64, &[f64], &[f64]), to: (f64, &[f64], &[f64]), time: f64, y: &mut [f64]) {
    let h = to.0 - from.0;
    let s = if h > 0.0 { (time - from.0) / h } else { 1.0 };
    let (a, b) = ((1.0 + 2.0 * s) * (1.0 - s) * (1.0 - s), s * s * (3.0 - 2.0 * s));
    let (c, d) = (s * (1.0 - s) * (1.0 - s) * h, s * s * (s - 1.0) * h);
    for i in 0..y.len() {
        y[i] = a * from.1[i] + b * to.1[i] + c * from.2[i] + d * to.2[i];
    }
}

/// The first length to try: small against the time in which state and derivative change (Hairer, Nørsett, Wanner, II.4).
fn first_step(tolerance: &Tolerance, y: &[f64], dy: &[f64], order: f64, span: f64) -> f64 {
    let (d0, d1) = (tolerance.norm(y, y, y), tolerance.norm(dy, y, y));
    let guess = if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 };
    let by_error = if d1.is_finite() && d1 > 1e-15 { (0.01 / d1).powf(1.0 / (order + 1.0)) } else { guess };
    guess.min(100.0 * by_error).min(span)
}
