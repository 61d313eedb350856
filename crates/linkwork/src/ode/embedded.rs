//! The pair of orders 5 and 4 of Dormand and Prince (1980), with their dense output of order 4.

use super::{Adaptive, OdeError, System, Taken, Tolerance, check_step, first_step, settle, sized};

const C: [f64; 7] = [0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0];
const A: [[f64; 6]; 7] = [
    [0.0; 6],
    [1.0 / 5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
/// Order five minus order four.
const E: [f64; 7] =
    [71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0];
/// What dense output needs beyond the two states and derivatives (Hairer, Nørsett, Wanner, II.6).
const D: [f64; 7] = [
    -12715105075.0 / 11282082432.0,
    0.0,
    87487479700.0 / 32700410799.0,
    -10690763975.0 / 1880347072.0,
    701980252875.0 / 199316789632.0,
    -1453857185.0 / 822651844.0,
    69997945.0 / 29380423.0,
];

/// Error-controlled Runge–Kutta of order five. The last derivative of a step is the first of the next.
#[derive(Clone, Debug)]
pub struct DormandPrince {
    tolerance: Tolerance,
    next: Option<f64>,
    last_norm: f64,
    /// Seven derivatives.
    k: [Vec<f64>; 7],
    /// Start, trial, error.
    work: [Vec<f64>; 3],
    span: (f64, f64),
}

impl DormandPrince {
    /// Keeps the error of every step below a tolerance.
    pub fn new(tolerance: Tolerance) -> Result<Self, OdeError> {
        let tolerance = tolerance.check()?;
        Ok(DormandPrince {
            tolerance,
            next: None,
            last_norm: 1e-4,
            k: Default::default(),
            work: Default::default(),
            span: (0.0, 0.0),
        })
    }

    /// The length to try next, s, where the caller knows better than a first guess.
    pub fn suggest(&mut self, step: f64) {
        self.next = (step.is_finite() && step > 0.0).then_some(step);
    }
}

impl Adaptive for DormandPrince {
    fn advance<S: System + ?Sized>(&mut self, system: &mut S, limit: f64) -> Result<Taken, OdeError> {
        let (n, t) = (system.dimension(), system.time());
        check_step(limit - t)?;
        sized(&mut self.k, n);
        sized(&mut self.work, n);
        let [y0, y, error] = &mut self.work;
        system.state(y0);
        system.derivative(&mut self.k[0]);
        let mut h = self.next.unwrap_or_else(|| first_step(&self.tolerance, y0, &self.k[0], 5.0, limit - t));
        let mut rejected = 0;
        loop {
            let last = t + h * (1.0 + 1e-9) >= limit;
            let step = if last { limit - t } else { h };
            if step <= 1e-15 * t.abs().max(1e-290) {
                system.set_state(t, y0);
                return Err(OdeError::StepTooSmall { time: t, step });
            }
            let end = if last { limit } else { t + step };
            for s in 1..7 {
                for i in 0..n {
                    let mut sum = 0.0;
                    for r in 0..s {
                        sum += A[s][r] * self.k[r][i];
                    }
                    y[i] = y0[i] + step * sum;
                }
                system.set_state(t + C[s] * step, y);
                system.derivative(&mut self.k[s]);
            }
            for i in 0..n {
                let mut sum = 0.0;
                for s in 0..7 {
                    sum += E[s] * self.k[s][i];
                }
                error[i] = step * sum;
            }
            let norm = self.tolerance.norm(error, y0, y);
            if norm <= 1.0 {
                settle(system, (t, y0), (end, y))?;
                // proportional–integral control: smoother sequences of steps at the border of stability
                let factor = (0.9 * norm.max(1e-12).powf(-0.17) * self.last_norm.powf(0.04)).clamp(0.2, 8.0);
                self.last_norm = norm.max(1e-4);
                self.next = Some(if last { h.max(step * factor) } else { step * factor });
                self.span = (t, end);
                return Ok(Taken { from: t, to: end, rejected });
            }
            system.set_state(t, y0);
            rejected += 1;
            h = step * (0.9 * norm.powf(-0.2)).clamp(0.1, 0.9);
        }
    }

    fn interpolate(&self, time: f64, y: &mut [f64]) {
        let (from, to) = self.span;
        let h = to - from;
        let s = if h > 0.0 { (time - from) / h } else { 1.0 };
        let r = 1.0 - s;
        let [y0, y1, _] = &self.work;
        for i in 0..y.len() {
            let rise = y1[i] - y0[i];
            let bend = h * self.k[0][i] - rise;
            let twist = rise - h * self.k[6][i] - bend;
            let rest: f64 = (0..7).map(|k| D[k] * self.k[k][i]).sum();
            y[i] = y0[i] + s * (rise + r * (bend + s * (twist + r * h * rest)));
        }
    }

    fn restart(&mut self) {
        self.next = None;
        self.last_norm = 1e-4;
    }
}
