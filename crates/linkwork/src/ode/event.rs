//! Where a function of the state crosses zero within a step.

use super::{Adaptive, Taken};

/// Which crossings count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From negative to positive.
    Rising,
    /// From positive to negative.
    Falling,
    /// Both.
    Either,
}

/// How an integration that waits for an event ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The time asked for was reached.
    Reached,
    /// The event came first.
    Event {
        /// When, s.
        time: f64,
    },
}

/// A step is looked at in this many pieces, so that a quick dip within it is not overlooked.
const PIECES: usize = 8;

pub(super) fn first_crossing<A: Adaptive>(
    solver: &A,
    step: &Taken,
    dimension: usize,
    direction: Direction,
    g: &mut impl FnMut(f64, &[f64]) -> f64,
) -> Option<f64> {
    let mut y = vec![0.0; dimension];
    let mut at = |t: f64| {
        solver.interpolate(t, &mut y);
        g(t, &y)
    };
    let mut low = (step.from, at(step.from));
    for piece in 1..=PIECES {
        let t = match piece {
            PIECES => step.to,
            _ => step.from + (step.to - step.from) * (piece as f64 / PIECES as f64),
        };
        let high = (t, at(t));
        let crosses = match direction {
            Direction::Rising => low.1 < 0.0 && high.1 >= 0.0,
            Direction::Falling => low.1 > 0.0 && high.1 <= 0.0,
            Direction::Either => low.1 * high.1 < 0.0 || (low.1 != 0.0 && high.1 == 0.0),
        };
        if crosses {
            return Some(root(low, high, &mut at));
        }
        low = high;
    }
    None
}

/// The end of the bracket beyond the zero, once no number lies between: secants that keep the bracket (the Illinois
/// method), and bisection whenever three of them have not halved it.
fn root(mut low: (f64, f64), mut high: (f64, f64), at: &mut impl FnMut(f64) -> f64) -> f64 {
    let mut width = high.0 - low.0;
    let mut side = 0;
    for round in 1..200 {
        if high.1 == 0.0 || high.0 - low.0 <= 4.0 * f64::EPSILON * high.0.abs() {
            break;
        }
        let mut t = low.0 + (high.0 - low.0) * (low.1 / (low.1 - high.1));
        if round % 3 == 0 {
            if high.0 - low.0 > 0.5 * width {
                t = 0.5 * (low.0 + high.0);
            }
            width = high.0 - low.0;
        }
        if !(t > low.0 && t < high.0) {
            t = 0.5 * (low.0 + high.0);
            if !(t > low.0 && t < high.0) {
                break;
            }
        }
        let value = at(t);
        if (value > 0.0) == (low.1 > 0.0) && value != 0.0 {
            low = (t, value);
            high.1 *= if side == -1 { 0.5 } else { 1.0 };
            side = -1;
        } else {
            high = (t, value);
            low.1 *= if side == 1 { 0.5 } else { 1.0 };
            side = 1;
        }
    }
    high.0
}
