//! Explicit one-step methods, and error control that compares a step with its halves.

use super::{Adaptive, OdeError, Solver, System, Taken, Tolerance, check_step, first_step, hermite, settle, sized};

/// y + h f(y): order one, for comparison.
#[derive(Clone, Debug, Default)]
pub struct Euler {
    work: [Vec<f64>; 3],
}

impl Solver for Euler {
    fn step<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<(), OdeError> {
        check_step(h)?;
        let (n, t) = (system.dimension(), system.time());
        sized(&mut self.work, n);
        let [y0, k, y] = &mut self.work;
        system.state(y0);
        system.derivative(k);
        for i in 0..n {
            y[i] = y0[i] + h * k[i];
        }
        settle(system, (t, y0), (t + h, y))
    }
}

/// The derivative half a step ahead carries the whole step: order two.
#[derive(Clone, Debug, Default)]
pub struct Midpoint {
    work: [Vec<f64>; 3],
}

impl Solver for Midpoint {
    fn step<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<(), OdeError> {
        check_step(h)?;
        let (n, t) = (system.dimension(), system.time());
        sized(&mut self.work, n);
        let [y0, k, y] = &mut self.work;
        system.state(y0);
        system.derivative(k);
        for i in 0..n {
            y[i] = y0[i] + 0.5 * h * k[i];
        }
        system.set_state(t + 0.5 * h, y);
        system.derivative(k);
        for i in 0..n {
            y[i] = y0[i] + h * k[i];
        }
        settle(system, (t, y0), (t + h, y))
    }
}

/// The classical Runge–Kutta method: order four.
#[derive(Clone, Debug, Default)]
pub struct RungeKutta4 {
    work: [Vec<f64>; 6],
}

impl Solver for RungeKutta4 {
    fn step<S: System + ?Sized>(&mut self, system: &mut S, h: f64) -> Result<(), OdeError> {
        check_step(h)?;
        let (n, t) = (system.dimension(), system.time());
        sized(&mut self.work, n);
        let [y0, y, k1, k2, k3, k4] = &mut self.work;
        system.state(y0);
        system.derivative(k1);
        for i in 0..n {
            y[i] = y0[i] + 0.5 * h * k1[i];
        }
        system.set_state(t + 0.5 * h, y);
        system.derivative(k2);
        for i in 0..n {
            y[i] = y0[i] + 0.5 * h * k2[i];
        }
        system.set_state(t + 0.5 * h, y);
        system.derivative(k3);
        for i in 0..n {
            y[i] = y0[i] + h * k3[i];
        }
        system.set_state(t + h, y);
        system.derivative(k4);
        for i in 0..n {
            y[i] = y0[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
        }
        settle(system, (t, y0), (t + h, y))
    }
}

/// Error control by step doubling: a step of Runge–Kutta 4 against two of half the length. Their difference is the error,
/// and taken off the better one it leaves a method of order five.
#[derive(Clone, Debug)]
pub struct StepDoubling {
    tolerance: Tolerance,
    base: RungeKutta4,
    next: Option<f64>,
    /// Start, one long step, two short ones, error; derivatives at the ends.
    work: [Vec<f64>; 6],
    span: (f64, f64),
}

impl StepDoubling {
    /// Keeps the error of every step below a tolerance.
    pub fn new(tolerance: Tolerance) -> Result<Self, OdeError> {
        let tolerance = tolerance.check()?;
        Ok(StepDoubling {
            tolerance,
            base: RungeKutta4::default(),
            next: None,
            work: Default::default(),
            span: (0.0, 0.0),
        })
    }
}

impl Adaptive for StepDoubling {
    fn advance<S: System + ?Sized>(&mut self, system: &mut S, limit: f64) -> Result<Taken, OdeError> {
        let (n, t) = (system.dimension(), system.time());
        check_step(limit - t)?;
        sized(&mut self.work, n);
        let [y0, long, y, error, k0, k1] = &mut self.work;
        system.state(y0);
        system.derivative(k0);
        let mut h = self.next.unwrap_or_else(|| first_step(&self.tolerance, y0, k0, 4.0, limit - t));
        let mut rejected = 0;
        loop {
            let last = t + h * (1.0 + 1e-9) >= limit;
            let step = if last { limit - t } else { h };
            if step <= 1e-15 * t.abs().max(1e-290) {
                system.set_state(t, y0);
                return Err(OdeError::StepTooSmall { time: t, step });
            }
            let taken = self.base.step(system, step).and_then(|()| {
                system.state(long);
                system.set_state(t, y0);
                self.base.step(system, 0.5 * step)?;
                self.base.step(system, 0.5 * step)
            });
            let norm = match taken {
                Ok(()) => {
                    system.state(y);
                    for i in 0..n {
                        error[i] = (y[i] - long[i]) / 15.0;
                    }
                    self.tolerance.norm(error, y0, y)
                }
                Err(OdeError::NotFinite { .. }) => f64::INFINITY,
                Err(e) => return Err(e),
            };
            let factor = (0.9 * norm.max(1e-12).powf(-0.2)).clamp(0.2, 5.0);
            if norm <= 1.0 {
                for i in 0..n {
                    y[i] += error[i];
                }
                let end = if last { limit } else { t + step };
                settle(system, (t, y0), (end, y))?;
                system.derivative(k1);
                // a step cut short by the limit says nothing about the next one
                self.next = Some(if last { h.max(step * factor) } else { step * factor });
                self.span = (t, end);
                return Ok(Taken { from: t, to: end, rejected });
            }
            system.set_state(t, y0);
            rejected += 1;
            h = step * factor.min(0.9);
        }
    }

    fn interpolate(&self, time: f64, y: &mut [f64]) {
        let [y0, _, y1, _, k0, k1] = &self.work;
        hermite((self.span.0, y0, k0), (self.span.1, y1, k1), time, y);
    }

    fn restart(&mut self) {
        self.next = None;
    }
}
