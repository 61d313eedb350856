//! Implicit methods for stiff systems: backward Euler, and TR-BDF2 (Bank et al. 1985; Hosea, Shampine 1996).
//!
//! Both solve Y = base + γ f(t, Y) by Newton's method with the sparse matrix 1 − γ ∂f/∂y, factorised once and renewed
//! when the iteration becomes slow.
//!
//! TR-BDF2 goes to t + (2 − √2) h by the trapezoidal rule and on to t + h by the second backward difference; both stages
//! have the same γ = (1 − 1/√2) h, so one factor serves both. It damps the stiffest parts completely (L-stable).

use super::jacobian::Shifted;
use super::{
    Adaptive, Jacobian, OdeError, Solver, System, Taken, Tolerance, check_step, first_step, hermite, settle, sized,
};

/// Newton's method for one stage, with its factor.
#[derive(Default)]
struct Stage {
    jacobian: Jacobian,
    factor: Shifted,
    gamma: f64,
    /// Whether the Jacobian is of the start of the present step.
    fresh: bool,
    delta: Vec<f64>,
}

const MOST_ITERATIONS: u32 = 12;

impl Stage {
    /// Makes the Jacobian of the present state.
    fn renew<S: System + ?Sized>(&mut self, system: &mut S, gamma: f64) -> Result<(), OdeError> {
        self.jacobian.clear();
        system.jacobian(&mut self.jacobian);
        self.fresh = true;
        self.refactor(system.dimension(), gamma)
    }

    fn refactor(&mut self, n: usize, gamma: f64) -> Result<(), OdeError> {
        self.gamma = gamma;
        self.factor.factor(n, &self.jacobian, gamma)
    }

    /// Solves Y = base + γ f(time, Y) from a guess in `y`, with k = f(time, Y) on return: false if it does not converge.
    /// `close` is the last change allowed, in units of the tolerance.
    fn solve<S: System + ?Sized>(
        &mut self,
        system: &mut S,
        time: f64,
        base: &[f64],
        y: &mut [f64],
        k: &mut [f64],
        tolerance: &Tolerance,
        close: f64,
    ) -> bool {
        let n = y.len();
        self.delta.resize(n, 0.0);
        let mut before = f64::INFINITY;
        for iteration in 0..MOST_ITERATIONS {
            system.set_state(time, y);
            system.derivative(k);
            for i in 0..n {
                self.delta[i] = base[i] + self.gamma * k[i] - y[i];
            }
            self.factor.solve(&mut self.delta);
            for i in 0..n {
                y[i] += self.delta[i];
            }
            let change = tolerance.norm(&self.delta, base, y);
            if !change.is_finite() {
                return false;
            }
            let rate = change / before;
            let left = if iteration == 0 { change } else { change * (rate / (1.0 - rate)).max(0.0) };
            let rounded = change < 1e-13 / tolerance.relative.max(1e-13);
            if (left <= close && (iteration > 0 || change <= 1e-3 * close)) || rounded {
                // the derivative that belongs to Y by the equation itself: free, and not amplified by stiffness
                for i in 0..n {
                    k[i] = (y[i] - base[i]) / self.gamma;
                }
                return true;
            }
            if iteration > 0 && rate >= 1.0 {
                return false;
            }
            before = change;
        }
        false
    }
}

/// Fixed steps solve their equations to this fraction.
const EXACT: Tolerance = Tolerance { relative: 1e-12, absolute: 1e-14 };

/// y₁ = y₀ + h f(y₁): order one, never unstable.
#[derive(Default)]
pub struct BackwardEuler {
    stage: Stage,
    work: [Vec<f64>; 3],
}

impl Solver for BackwardEuler {
    fn step<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<(), OdeError> {
        check_step(h)?;
        let (n, t) = (system.dimension(), system.time());
        sized(&mut self.work, n);
        let [y0, y, k] = &mut self.work;
        system.state(y0);
        self.stage.renew(system, h)?;
        y.copy_from_slice(y0);
        for _ in 0..3 {
            if self.stage.solve(system, t + h, y0, y, k, &EXACT, 1.0) {
                return settle(system, (t, y0), (t + h, y));
            }
            if !y.iter().all(|y| y.is_finite()) {
                break;
            }
            // Newton's method proper: the Jacobian where the iteration has come to
            system.set_state(t + h, y);
            self.stage.renew(system, h)?;
        }
        system.set_state(t, y0);
        Err(OdeError::NoConvergence { time: t, step: h })
    }
}

/// γ of both stages per step.
const DIAGONAL: f64 = 1.0 - std::f64::consts::FRAC_1_SQRT_2;
/// Weight of the first two derivatives.
const WEIGHT: f64 = std::f64::consts::SQRT_2 / 4.0;
/// Where the first stage ends.
const MIDDLE: f64 = 2.0 - std::f64::consts::SQRT_2;
/// The method minus its companion of order three.
const ERROR: [f64; 3] = [WEIGHT - (1.0 - WEIGHT) / 3.0, WEIGHT - (3.0 * WEIGHT + 1.0) / 3.0, DIAGONAL * 2.0 / 3.0];

/// Implicit, second order, L-stable. As [`Solver`] it takes the steps it is told, as [`Adaptive`] those that the tolerance asks for.
pub struct TrBdf2 {
    tolerance: Tolerance,
    stage: Stage,
    next: Option<f64>,
    /// Three derivatives.
    k: [Vec<f64>; 3],
    /// Start, base, trial, error.
    work: [Vec<f64>; 4],
    span: (f64, f64),
}

impl TrBdf2 {
    /// Keeps the error of every step that it chooses itself below a tolerance.
    pub fn new(tolerance: Tolerance) -> Result<Self, OdeError> {
        let tolerance = tolerance.check()?;
        Ok(TrBdf2 {
            tolerance,
            stage: Stage::default(),
            next: None,
            k: Default::default(),
            work: Default::default(),
            span: (0.0, 0.0),
        })
    }

    /// Both stages from the state in `work[0]`; the new state is then in `work[2]`.
    fn attempt<S: System + ?Sized>(&mut self, system: &mut S, t: f64, h: f64, tol: &Tolerance, close: f64) -> bool {
        let [y0, base, y, _] = &mut self.work;
        let [k1, k2, k3] = &mut self.k;
        let n = y0.len();
        let d = DIAGONAL * h;
        for i in 0..n {
            base[i] = y0[i] + d * k1[i];
            y[i] = y0[i];
        }
        if !self.stage.solve(system, t + MIDDLE * h, base, y, k2, tol, close) {
            return false;
        }
        for i in 0..n {
            base[i] = y0[i] + WEIGHT * h * (k1[i] + k2[i]);
        }
        self.stage.solve(system, t + h, base, y, k3, tol, close)
    }
}

impl Solver for TrBdf2 {
    fn step<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<(), OdeError> {
        check_step(h)?;
        let (n, t) = (system.dimension(), system.time());
        sized(&mut self.k, n);
        sized(&mut self.work, n);
        system.state(&mut self.work[0]);
        system.derivative(&mut self.k[0]);
        self.stage.renew(system, DIAGONAL * h)?;
        self.next = None;
        if !self.attempt(system, t, h, &EXACT, 1.0) {
            // a Jacobian from further on, where a step that is long for its equations may be easier
            let middle: Vec<f64> = (0..n).map(|i| self.work[0][i] + 0.5 * h * self.k[0][i]).collect();
            system.set_state(t + 0.5 * h, &middle);
            let solved = self.stage.renew(system, DIAGONAL * h).is_ok() && self.attempt(system, t, h, &EXACT, 1.0);
            if !solved {
                system.set_state(t, &self.work[0]);
                return Err(OdeError::NoConvergence { time: t, step: h });
            }
        }
        settle(system, (t, &self.work[0]), (t + h, &self.work[2]))
    }
}

impl Adaptive for TrBdf2 {
    fn advance<S: System + ?Sized>(&mut self, system: &mut S, limit: f64) -> Result<Taken, OdeError> {
        let (n, t) = (system.dimension(), system.time());
        check_step(limit - t)?;
        sized(&mut self.k, n);
        sized(&mut self.work, n);
        system.state(&mut self.work[0]);
        system.derivative(&mut self.k[0]);
        self.stage.fresh = false;
        let tolerance = self.tolerance;
        let mut h = self.next.unwrap_or_else(|| first_step(&tolerance, &self.work[0], &self.k[0], 2.0, limit - t));
        let mut rejected = 0;
        loop {
            let last = t + h * (1.0 + 1e-9) >= limit;
            let step = if last { limit - t } else { h };
            if step <= 1e-15 * t.abs().max(1e-290) {
                system.set_state(t, &self.work[0]);
                return Err(OdeError::StepTooSmall { time: t, step });
            }
            if self.next.is_none() || !self.stage.factor.is_known() {
                self.stage.renew(system, DIAGONAL * step)?;
                self.next = Some(step);
            } else if (DIAGONAL * step / self.stage.gamma - 1.0).abs() > 1e-12 {
                self.stage.refactor(n, DIAGONAL * step)?;
            }
            if !self.attempt(system, t, step, &tolerance, 0.02) {
                system.set_state(t, &self.work[0]);
                rejected += 1;
                match self.stage.fresh {
                    false => self.stage.renew(system, DIAGONAL * step)?,
                    true => h = 0.25 * step,
                }
                continue;
            }
            let [y0, _, y, error] = &mut self.work;
            for i in 0..n {
                error[i] = step * (ERROR[0] * self.k[0][i] + ERROR[1] * self.k[1][i] + ERROR[2] * self.k[2][i]);
            }
            // what stiff components add to the estimate is not error of the step: filtered, as they are in the step
            self.stage.factor.solve(error);
            let norm = tolerance.norm(error, y0, y);
            if norm <= 1.0 {
                let end = if last { limit } else { t + step };
                settle(system, (t, y0), (end, y))?;
                let factor = (0.9 * norm.max(1e-9).powf(-1.0 / 3.0)).clamp(0.2, 4.0);
                // a factorisation for a step hardly longer does not pay
                let factor = if (1.0..1.2).contains(&factor) { 1.0 } else { factor };
                self.next = Some(if last { h.max(step * factor) } else { step * factor });
                self.span = (t, end);
                return Ok(Taken { from: t, to: end, rejected });
            }
            system.set_state(t, y0);
            rejected += 1;
            h = step * (0.9 * norm.powf(-1.0 / 3.0)).clamp(0.1, 0.9);
        }
    }

    fn interpolate(&self, time: f64, y: &mut [f64]) {
        let [y0, _, y1, _] = &self.work;
        hermite((self.span.0, y0, &self.k[0]), (self.span.1, y1, &self.k[2]), time, y);
    }

    fn restart(&mut self) {
        self.next = None;
        self.stage.factor.forget();
    }
}
