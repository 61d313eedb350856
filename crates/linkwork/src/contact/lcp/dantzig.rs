//! Dantzig's algorithm as Baraff has it (*Fast contact force computation for nonpenetrating rigid bodies*, 1994), with friction.
//!
//! Rows are brought in one at a time: equalities, then normal forces, then friction. The force of the row at hand is changed
//! until its w is zero or a bound is reached; meanwhile *clamped* rows keep w = 0 by changing their forces too, all others
//! stay at their bounds, and a friction force at its bound follows its normal force, x_s = ±μ x_n. Where a row meets a bound or
//! loses its w on the way, it changes sides and the direction is found anew.
//! The inverse of the clamped block is kept and changed by one row at a time, so that a pivot costs O(n²); it is not symmetric
//! once friction slides. Without friction and with A symmetric positive semidefinite the algorithm ends with a solution if
//! there is one; with friction it may find none (Baraff 1994, section 7), which is told and not hidden.

use super::{Bounds, Failure, Problem, Solution, dot};

/// A pivot below this part of the row's own response is rounding.
const PIVOT: f64 = 1e-11;
/// A velocity below this part of the largest term of w is zero.
const AT_REST: f64 = 1e-13;

/// Solves by pivots, one row after the other.
pub fn dantzig(problem: &Problem) -> Result<Solution, Failure> {
    problem.check()?;
    // rows that almost imply each other can make a bad basis: another order finds another one
    let first = attempt(problem, PIVOT, false);
    if first.is_ok() {
        return first;
    }
    let second = attempt(problem, 1e2 * PIVOT, true);
    if second.is_ok() {
        return second;
    }
    attempt(problem, 1e4 * PIVOT, false).or(first)
}

fn attempt(problem: &Problem, pivot: f64, backwards: bool) -> Result<Solution, Failure> {
    let mut d = Dantzig::new(problem, pivot);
    let rank = |row: usize| match problem.bounds[row] {
        Bounds::Equality => 0,
        Bounds::Unilateral | Bounds::Box { .. } => 1,
        Bounds::Friction { .. } => 2,
    };
    let mut order: Vec<usize> = (0..problem.rows()).collect();
    if backwards {
        order.reverse();
    }
    order.sort_by_key(|&row| rank(row));
    for row in order {
        match d.bring_in(row) {
            // sides may change back and forth where a row is at rest but for rounding: the residual tells
            Err(Failure::NotConverged { best }) => return problem.judged(best.x, best.iterations),
            brought_in => brought_in?,
        }
    }
    d.polish();
    let (x, pivots) = (d.x, d.pivots);
    problem.judged(x, pivots)
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Not brought in yet, or found to be implied by others.
    Out,
    Clamped(usize),
    AtLow,
    AtHigh,
}

enum Event {
    /// The row at hand is at rest.
    Done,
    /// The row at hand is at its lower or upper bound.
    Stopped(Place),
    /// A clamped row meets a bound.
    Leaves(usize, Place),
    /// A row at its bound has lost its w.
    Joins(usize),
    /// The friction of a contact without force changes its direction.
    Turns(usize),
}

struct Dantzig<'p> {
    problem: &'p Problem<'p>,
    n: usize,
    x: Vec<f64>,
    w: Vec<f64>,
    place: Vec<Place>,
    /// Friction rows of each normal row.
    friction: Vec<Vec<usize>>,
    clamped: Vec<usize>,
    /// Inverse of the clamped block, n entries a row.
    inverse: Vec<f64>,
    dx: Vec<f64>,
    dw: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
    pivots: usize,
    most: usize,
    /// A response below this part of the row's own is rounding.
    pivot: f64,
    /// The largest term of b and of the velocities that the rows at hand started from.
    size: f64,
}

impl<'p> Dantzig<'p> {
    fn new(problem: &'p Problem<'p>, pivot: f64) -> Self {
        let n = problem.rows();
        let mut friction = vec![Vec::new(); n];
        for (row, bounds) in problem.bounds.iter().enumerate() {
            if let Bounds::Friction { normal, .. } = bounds {
                friction[*normal].push(row);
            }
        }
        let x: Vec<f64> = problem
            .bounds
            .iter()
            .map(|b| match b {
                Bounds::Box { lo, hi } => 0.0_f64.clamp(*lo, *hi),
                _ => 0.0,
            })
            .collect();
        Dantzig {
            w: problem.velocities(&x),
            problem,
            n,
            x,
            place: vec![Place::Out; n],
            friction,
            clamped: Vec::with_capacity(n),
            inverse: vec![0.0; n * n],
            dx: vec![0.0; n],
            dw: vec![0.0; n],
            left: vec![0.0; n],
            right: vec![0.0; n],
            pivots: 0,
            most: 50 + 20 * n,
            pivot,
            size: problem.b.iter().fold(0.0, |m: f64, e| m.max(e.abs())),
        }
    }

    fn a(&self, i: usize, j: usize) -> f64 {
        self.problem.a[i * self.n + j]
    }

    /// Response of row i to the force of row j, with the friction that slides along with j.
    fn response(&self, i: usize, j: usize) -> f64 {
        let mut sum = self.a(i, j);
        for &s in &self.friction[j] {
            sum += self.a(i, s) * self.slip(s);
        }
        sum
    }

    /// Force of a sliding friction row per normal force; zero if it does not slide.
    fn slip(&self, s: usize) -> f64 {
        let Bounds::Friction { mu, .. } = self.problem.bounds[s] else { return 0.0 };
        match self.place[s] {
            Place::AtLow => -mu,
            Place::AtHigh => mu,
            _ => 0.0,
        }
    }

    fn bring_in(&mut self, row: usize) -> Result<(), Failure> {
        // rows that were not in yet did not follow
        self.w[row] = self.problem.b[row] + dot(&self.problem.a[row * self.n..(row + 1) * self.n], &self.x);
        self.size = self.size.max(self.w[row].abs());
        let (lo, hi) = self.problem.range(row, &self.x);
        if self.problem.bounds[row] != Bounds::Equality {
            // at rest against a bound from the start
            if self.x[row] <= lo && self.w[row] >= 0.0 {
                self.place[row] = Place::AtLow;
                return Ok(());
            }
            if self.x[row] >= hi && self.w[row] <= 0.0 {
                self.place[row] = Place::AtHigh;
                return Ok(());
            }
        }
        loop {
            if self.pivots >= self.most {
                let x = std::mem::take(&mut self.x);
                let residual = super::residual(self.problem, &x);
                return Err(Failure::NotConverged { best: Solution { x, residual, iterations: self.pivots } });
            }
            if self.w[row].abs() <= AT_REST * self.size {
                // at rest but for rounding: going on would only change sides back and forth
                self.w[row] = 0.0;
                self.join(row);
                return Ok(());
            }
            self.pivots += 1;
            let up = if self.w[row] < 0.0 { 1.0 } else { -1.0 };
            self.find_direction(row, up);
            let Some((event, t)) = self.next_event(row, up) else {
                // nothing stops it and it does not come to rest: implied by others, or against them
                let scale = self.problem.scale(&self.x);
                if self.w[row].abs() <= 1e-9 * scale {
                    return Ok(());
                }
                return Err(Failure::NoSolution { row });
            };
            for i in 0..self.n {
                self.x[i] += t * self.dx[i];
                self.w[i] += t * self.dw[i];
            }
            match event {
                Event::Done => {
                    self.w[row] = 0.0;
                    self.join_along(row, up);
                    return Ok(());
                }
                Event::Stopped(place) => {
                    self.stop_at(row, place);
                    return Ok(());
                }
                Event::Leaves(i, place) => {
                    self.leave(i);
                    self.stop_at(i, place);
                }
                Event::Joins(i) => {
                    self.unslide(i);
                    self.w[i] = 0.0;
                    self.join(i);
                }
                Event::Turns(i) => {
                    let other = if self.place[i] == Place::AtLow { Place::AtHigh } else { Place::AtLow };
                    self.unslide(i);
                    self.w[i] = 0.0;
                    self.stop_at(i, other);
                }
            }
        }
    }

    /// Changes of all forces and velocities when the force of `row` changes by `up`.
    fn find_direction(&mut self, row: usize, up: f64) {
        let k = self.clamped.len();
        self.dx.fill(0.0);
        self.dx[row] = up;
        for p in 0..k {
            self.right[p] = self.response(self.clamped[p], row) * up;
        }
        for p in 0..k {
            let line = &self.inverse[p * self.n..p * self.n + k];
            let sum = dot(line, &self.right[..k]);
            self.dx[self.clamped[p]] = -sum;
        }
        for s in 0..self.n {
            if let Bounds::Friction { normal, .. } = self.problem.bounds[s] {
                let slip = self.slip(s);
                if slip != 0.0 && s != row {
                    self.dx[s] = slip * self.dx[normal];
                }
            }
        }
        // clamped rows stay at rest, and nobody asks for those that are not in yet
        for i in 0..self.n {
            self.dw[i] = match self.place[i] {
                Place::AtLow | Place::AtHigh => dot(&self.problem.a[i * self.n..(i + 1) * self.n], &self.dx),
                _ => 0.0,
            };
        }
        self.dw[row] = dot(&self.problem.a[row * self.n..(row + 1) * self.n], &self.dx);
    }

    /// What happens first along the direction, and when.
    fn next_event(&self, row: usize, up: f64) -> Option<(Event, f64)> {
        let mut best: Option<(Event, f64)> = None;
        let mut offer = |event: Event, t: f64| {
            let t = t.max(0.0);
            if best.as_ref().is_none_or(|b| t < b.1) {
                best = Some((event, t));
            }
        };
        let own = self.a(row, row).abs().max(f64::MIN_POSITIVE);
        // friction first: it must let go before its normal force does
        for i in (0..self.n).rev() {
            let bounded = self.problem.bounds[i] != Bounds::Equality;
            match self.place[i] {
                Place::Clamped(_) if bounded => {
                    if let Some((t, place)) = self.time_to_bound(i) {
                        offer(Event::Leaves(i, place), t);
                    }
                }
                Place::AtLow | Place::AtHigh => {
                    let sign = if self.place[i] == Place::AtLow { 1.0 } else { -1.0 };
                    let rate = self.dw[i] * sign;
                    let response = self.a(i, i).abs().max(f64::MIN_POSITIVE);
                    if rate < -self.pivot * (response * own).sqrt() {
                        let t = (self.w[i] * sign).max(0.0) / -rate;
                        offer(if self.is_idle_friction(i) { Event::Turns(i) } else { Event::Joins(i) }, t);
                    }
                }
                _ => {}
            }
        }
        if self.dw[row] * up > self.pivot * own {
            offer(Event::Done, -self.w[row] / self.dw[row]);
        }
        if self.problem.bounds[row] != Bounds::Equality
            && let Some((t, place)) = self.time_to_bound(row)
        {
            offer(Event::Stopped(place), t);
        }
        best
    }

    /// Friction of a contact that has no normal force and gets none.
    fn is_idle_friction(&self, i: usize) -> bool {
        matches!(self.problem.bounds[i], Bounds::Friction { normal, mu }
            if mu * self.x[normal] <= 0.0 && (mu == 0.0 || self.dx[normal] == 0.0))
    }

    /// When a force that changes meets a bound, which may change too.
    fn time_to_bound(&self, i: usize) -> Option<(f64, Place)> {
        let (lo, hi) = self.problem.range(i, &self.x);
        let spread = match self.problem.bounds[i] {
            Bounds::Friction { normal, mu } => mu * self.dx[normal],
            _ => 0.0,
        };
        let (down, up) = (-(self.dx[i] + spread), self.dx[i] - spread);
        let mut first: Option<(f64, Place)> = None;
        if down > 0.0 && lo.is_finite() {
            first = Some((((self.x[i] - lo) / down).max(0.0), Place::AtLow));
        }
        if up > 0.0 && hi.is_finite() {
            let t = ((hi - self.x[i]) / up).max(0.0);
            if first.is_none_or(|f| t < f.0) {
                first = Some((t, Place::AtHigh));
            }
        }
        first
    }

    /// Puts a row at a bound; a friction row slides along with its normal force from now on.
    fn stop_at(&mut self, i: usize, place: Place) {
        let (lo, hi) = self.problem.range(i, &self.x);
        self.x[i] = if place == Place::AtLow { lo } else { hi };
        self.place[i] = place;
        if let Bounds::Friction { normal, .. } = self.problem.bounds[i] {
            self.change_column(normal, i, self.slip(i));
        }
    }

    /// Takes a friction row off its normal force.
    fn unslide(&mut self, i: usize) {
        let slip = self.slip(i);
        self.place[i] = Place::Out;
        if let Bounds::Friction { normal, .. } = self.problem.bounds[i] {
            self.change_column(normal, i, -slip);
        }
    }

    /// The column of a clamped normal force changes by `by` times that of one of its friction rows.
    fn change_column(&mut self, normal: usize, friction: usize, by: f64) {
        let Place::Clamped(p) = self.place[normal] else { return };
        if by == 0.0 {
            return;
        }
        let (n, k) = (self.n, self.clamped.len());
        for i in 0..k {
            self.right[i] = self.a(self.clamped[i], friction) * by;
        }
        for i in 0..k {
            let line = &self.inverse[i * n..i * n + k];
            self.left[i] = dot(line, &self.right[..k]);
        }
        let denominator = 1.0 + self.left[p];
        if denominator.abs() < 1e-12 {
            self.rebuild();
            return;
        }
        self.right[..k].copy_from_slice(&self.inverse[p * n..p * n + k]);
        for i in 0..k {
            let f = self.left[i] / denominator;
            if f != 0.0 {
                let line = &mut self.inverse[i * n..i * n + k];
                line.iter_mut().zip(&self.right[..k]).for_each(|(e, r)| *e -= f * r);
            }
        }
    }

    /// Clamps a row whose w is zero. One that the clamped rows imply is left out: its w stays zero with theirs.
    fn join(&mut self, i: usize) {
        let (n, k) = (self.n, self.clamped.len());
        for p in 0..k {
            self.right[p] = self.response(self.clamped[p], i);
        }
        let mut schur = self.response(i, i);
        for p in 0..k {
            let line = &self.inverse[p * n..p * n + k];
            self.left[p] = dot(line, &self.right[..k]);
            schur -= self.response(i, self.clamped[p]) * self.left[p];
        }
        self.attach(i, schur);
    }

    /// The same for the row whose direction was just found: the direction is its column times the inverse.
    fn join_along(&mut self, i: usize, up: f64) {
        for (left, &c) in self.left.iter_mut().zip(&self.clamped) {
            *left = -up * self.dx[c];
        }
        self.attach(i, up * self.dw[i]);
    }

    /// Adds row i to the inverse, given its column times the inverse in `left` and what is left of its own response.
    fn attach(&mut self, i: usize, schur: f64) {
        let (n, k) = (self.n, self.clamped.len());
        if schur.abs() <= self.pivot * self.a(i, i).abs() {
            self.place[i] = Place::Out;
            return;
        }
        // row i times the inverse
        self.right[..k].fill(0.0);
        for p in 0..k {
            let f = self.response(i, self.clamped[p]);
            if f != 0.0 {
                let line = &self.inverse[p * n..p * n + k];
                self.right[..k].iter_mut().zip(line).for_each(|(r, e)| *r += f * e);
            }
        }
        let inverse = 1.0 / schur;
        for p in 0..k {
            let f = self.left[p] * inverse;
            let line = &mut self.inverse[p * n..p * n + k + 1];
            line[..k].iter_mut().zip(&self.right[..k]).for_each(|(e, r)| *e += f * r);
            line[k] = -f;
        }
        for p in 0..k {
            self.inverse[k * n + p] = -self.right[p] * inverse;
        }
        self.inverse[k * n + k] = inverse;
        self.place[i] = Place::Clamped(k);
        self.clamped.push(i);
    }

    /// Takes a row out of the clamped ones.
    fn leave(&mut self, i: usize) {
        let Place::Clamped(p) = self.place[i] else { return };
        let (n, last) = (self.n, self.clamped.len() - 1);
        if p != last {
            for q in 0..=last {
                self.inverse.swap(q * n + p, q * n + last);
            }
            for q in 0..=last {
                self.inverse.swap(p * n + q, last * n + q);
            }
            self.clamped.swap(p, last);
            self.place[self.clamped[p]] = Place::Clamped(p);
        }
        self.clamped.pop();
        self.place[i] = Place::Out;
        let corner = self.inverse[last * n + last];
        if corner == 0.0 {
            self.rebuild();
            return;
        }
        self.right[..last].copy_from_slice(&self.inverse[last * n..last * n + last]);
        for q in 0..last {
            let f = self.inverse[q * n + last] / corner;
            let line = &mut self.inverse[q * n..q * n + last];
            line.iter_mut().zip(&self.right[..last]).for_each(|(e, r)| *e -= f * r);
        }
    }

    /// The inverse anew.
    fn rebuild(&mut self) {
        for i in std::mem::take(&mut self.clamped) {
            self.place[i] = Place::Out;
            self.join(i);
        }
    }

    /// Newton steps on the clamped rows take out what the updates have lost.
    fn polish(&mut self) {
        for round in 0..3 {
            if round == 1 {
                self.rebuild();
            }
            let w = self.problem.velocities(&self.x);
            let off = self.clamped.iter().fold(0.0_f64, |m, &c| m.max(w[c].abs()));
            if off <= AT_REST * self.size {
                return;
            }
            let k = self.clamped.len();
            for p in 0..k {
                let line = &self.inverse[p * self.n..p * self.n + k];
                self.left[p] = line.iter().zip(&self.clamped).map(|(a, &c)| a * w[c]).sum();
            }
            for p in 0..k {
                self.x[self.clamped[p]] -= self.left[p];
            }
            for i in 0..self.n {
                if !matches!(self.problem.bounds[i], Bounds::Equality | Bounds::Friction { .. }) {
                    let (lo, hi) = self.problem.range(i, &self.x);
                    self.x[i] = self.x[i].clamp(lo, hi);
                }
            }
            for s in 0..self.n {
                let slip = self.slip(s);
                if let Bounds::Friction { normal, .. } = self.problem.bounds[s]
                    && matches!(self.place[s], Place::AtLow | Place::AtHigh)
                {
                    self.x[s] = slip * self.x[normal];
                }
            }
        }
    }
}
