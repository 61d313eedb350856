//! Lemke's algorithm: an artificial force z₀ on all rows makes everything feasible, and complementary pivots drive it out.
//!
//! Rows with other bounds than 0 and ∞ are rewritten: an equality is eliminated with its force (or, where its pivot is
//! nothing, found redundant); a force with two bounds is y = x − lo ≥ 0 with a multiplier for y ≤ hi − lo; a friction force
//! is the difference of two forces that push either way, with the multiplier of μ x_n − y⁺ − y⁻ ≥ 0 (Stewart and Trinkle).
//! The row that leaves is chosen lexicographically, so that degenerate problems do not cycle.

use super::{Bounds, Failure, Problem, Solution};

/// What a variable of the standard problem stands for: a force of the original problem with a sign, or a multiplier.
#[derive(Clone, Copy)]
enum Stands {
    Force {
        row: usize,
        sign: f64,
    },
    /// hi − lo − y.
    Ceiling {
        of: usize,
        room: f64,
    },
    /// μ x_n − y⁺ − y⁻.
    Cone {
        normal: usize,
        mu: f64,
        plus: usize,
    },
}

/// A pivot below this part of its column is rounding.
const PIVOT: f64 = 1e-11;

/// Responses that every force is given beside its own, in units of it, one after the other until one leads to a solution: rows
/// that others imply leave pivots of rounding, after which the ray leads nowhere; the last one still changes velocities by
/// less than what a solution may miss.
const SOFTNESS: [f64; 4] = [0.0, 1e-12, 1e-10, 1e-9];

/// Solves by complementary pivots.
pub fn lemke(problem: &Problem) -> Result<Solution, Failure> {
    problem.check()?;
    let n = problem.rows();
    let mut reduced = eliminate_equalities(problem)?;
    let unit = reduced.normalise(problem);
    let mut stands = Vec::new();
    let mut position = vec![usize::MAX; n];
    let floor = |row: usize| match problem.bounds[row] {
        // a force without a floor starts from its ceiling, turned over
        Bounds::Box { lo, hi } if lo == f64::NEG_INFINITY => (hi / unit[row], -1.0),
        Bounds::Box { lo, .. } => (lo / unit[row], 1.0),
        _ => (0.0, 1.0),
    };
    for row in (0..n).filter(|&r| reduced.kept[r]) {
        position[row] = stands.len();
        match problem.bounds[row] {
            Bounds::Friction { normal, mu } => {
                let plus = stands.len();
                stands.push(Stands::Force { row, sign: 1.0 });
                stands.push(Stands::Force { row, sign: -1.0 });
                stands.push(Stands::Cone { normal, mu: mu * unit[normal] / unit[row], plus });
            }
            Bounds::Box { lo, hi } => {
                stands.push(Stands::Force { row, sign: floor(row).1 });
                if lo.is_finite() && hi.is_finite() {
                    stands.push(Stands::Ceiling { of: stands.len() - 1, room: (hi - lo) / unit[row] });
                }
            }
            _ => stands.push(Stands::Force { row, sign: 1.0 }),
        }
    }
    let m = stands.len();
    let mut matrix = vec![0.0; m * m];
    let mut right = vec![0.0; m];
    for (i, s) in stands.iter().enumerate() {
        match *s {
            Stands::Force { row, sign } => {
                right[i] = sign * reduced.b[row];
                for (j, t) in stands.iter().enumerate() {
                    match *t {
                        Stands::Force { row: other, sign: by } => {
                            matrix[i * m + j] = sign * by * reduced.a[row * n + other];
                        }
                        Stands::Ceiling { of, .. } => matrix[i * m + j] = if of == i { 1.0 } else { 0.0 },
                        Stands::Cone { plus, .. } => {
                            matrix[i * m + j] = if plus == i || plus + 1 == i { 1.0 } else { 0.0 };
                        }
                    }
                }
                // forces start from their floors
                for other in (0..n).filter(|&r| reduced.kept[r]) {
                    let start = floor(other).0;
                    if start != 0.0 {
                        right[i] += sign * reduced.a[row * n + other] * start;
                    }
                }
            }
            Stands::Ceiling { of, room } => {
                matrix[i * m + of] = -1.0;
                right[i] = room;
            }
            Stands::Cone { normal, mu, plus } => {
                matrix[i * m + position[normal]] = mu;
                matrix[i * m + plus] = -1.0;
                matrix[i * m + plus + 1] = -1.0;
            }
        }
    }
    // forces of the original rows from those of the standard problem
    let forces = |z: &[f64]| {
        let mut x = vec![0.0; n];
        for row in (0..n).filter(|&r| reduced.kept[r]) {
            x[row] = floor(row).0;
        }
        for (s, z) in stands.iter().zip(z) {
            if let Stands::Force { row, sign } = *s {
                x[row] += sign * z;
            }
        }
        x.iter_mut().zip(&unit).for_each(|(x, u)| *x *= u);
        reduced.put_back(&mut x);
        x
    };
    let mut refused = None;
    for softness in SOFTNESS {
        for (i, _) in stands.iter().enumerate().filter(|(_, s)| matches!(s, Stands::Force { .. })) {
            matrix[i * m + i] += softness;
        }
        let solved = standard(&matrix, &right, m).map_err(|failure| match failure {
            Failure::NoSolution { row } => Failure::NoSolution { row: original(&stands, row) },
            other => other,
        });
        let judged = solved.and_then(|(z, pivots)| problem.judged(forces(&z), pivots));
        match judged {
            Ok(solution) => return Ok(solution),
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    Err(refused.unwrap_or(Failure::NoSolution { row: 0 }))
}
fn original(stands: &[Stands], at: usize) -> usize {
    match stands[at] {
        Stands::Force { row, .. } => row,
        Stands::Ceiling { of, .. } => original(stands, of),
        Stands::Cone { plus, .. } => original(stands, plus),
    }
}

/// The problem without its equalities: x_e = −A_ee⁻¹(A_ei x_i + b_e).
struct Reduced {
    a: Vec<f64>,
    b: Vec<f64>,
    kept: Vec<bool>,
    /// Rows in the order of elimination, each with what it says: x_row = constant + Σ factors · x.
    eliminated: Vec<(usize, Vec<f64>, f64)>,
}

impl Reduced {
    /// Measures forces and velocities of every row so that it answers its own force by one; returns the units of force. A row
    /// that the equalities imply answers nothing.
    fn normalise(&mut self, problem: &Problem) -> Vec<f64> {
        let n = self.b.len();
        let scale = problem.b.iter().fold(0.0_f64, |s, e| s.max(e.abs()));
        let mut unit = vec![1.0; n];
        for k in (0..n).filter(|&k| self.kept[k]) {
            let own = self.a[k * n + k];
            if own > 1e-12 * problem.a[k * n + k] {
                unit[k] = 1.0 / own.sqrt();
                continue;
            }
            for j in 0..n {
                (self.a[k * n + j], self.a[j * n + k]) = (0.0, 0.0);
            }
            if self.b[k].abs() <= 1e-11 * scale {
                self.b[k] = 0.0;
            }
        }
        for i in 0..n {
            self.b[i] *= unit[i];
            for j in 0..n {
                self.a[i * n + j] *= unit[i] * unit[j];
            }
        }
        unit
    }

    fn put_back(&self, x: &mut [f64]) {
        for (row, factors, constant) in self.eliminated.iter().rev() {
            x[*row] = constant + factors.iter().zip(x.iter()).map(|(f, x)| f * x).sum::<f64>();
        }
    }
}

fn eliminate_equalities(problem: &Problem) -> Result<Reduced, Failure> {
    let n = problem.rows();
    let mut a = problem.a.to_vec();
    let mut b = problem.b.to_vec();
    let mut kept: Vec<bool> = problem.bounds.iter().map(|x| *x != Bounds::Equality).collect();
    let mut left: Vec<usize> = (0..n).filter(|&r| !kept[r]).collect();
    let mut eliminated = Vec::new();
    let largest = (0..n).fold(0.0_f64, |m, i| m.max(problem.a[i * n + i].abs()));
    let scale = b.iter().fold(0.0_f64, |m, e| m.max(e.abs()));
    while !left.is_empty() {
        let best =
            (0..left.len()).max_by(|&i, &j| a[left[i] * n + left[i]].abs().total_cmp(&a[left[j] * n + left[j]].abs()));
        let k = left.swap_remove(best.unwrap_or(0));
        let pivot = a[k * n + k];
        if pivot.abs() <= 1e-11 * largest {
            // redundant, or against the others
            if b[k].abs() > 1e-9 * scale && (0..n).all(|j| a[k * n + j].abs() <= 1e-11 * largest) {
                return Err(Failure::NoSolution { row: k });
            }
            kept[k] = false;
            eliminated.push((k, vec![0.0; n], 0.0));
            continue;
        }
        let mut factors = vec![0.0; n];
        for j in (0..n).filter(|&j| j != k && (kept[j] || left.contains(&j))) {
            factors[j] = -a[k * n + j] / pivot;
        }
        let constant = -b[k] / pivot;
        for i in (0..n).filter(|&i| i != k) {
            let f = a[i * n + k];
            if f != 0.0 {
                for j in 0..n {
                    a[i * n + j] += f * factors[j];
                }
                b[i] += f * constant;
            }
        }
        eliminated.push((k, factors, constant));
    }
    Ok(Reduced { a, b, kept, eliminated })
}

/// w = Mz + q, w ≥ 0, z ≥ 0, wᵀz = 0. Returns z and the number of pivots.
fn standard(matrix: &[f64], q: &[f64], m: usize) -> Result<(Vec<f64>, usize), Failure> {
    if q.iter().all(|e| *e >= 0.0) {
        return Ok((vec![0.0; m], 0));
    }
    // I w − M z − d z₀ = q, columns: w (m), z (m), z₀, right side; the first m are the basis inverse of the lexicographic test.
    // d is scaled by the rows, so that the artificial force is felt alike by all of them
    let width = 2 * m + 2;
    let mut t = vec![0.0; m * width];
    for i in 0..m {
        t[i * width + i] = 1.0;
        let mut size = q[i].abs();
        for j in 0..m {
            t[i * width + m + j] = -matrix[i * m + j];
            size = size.max(matrix[i * m + j].abs());
        }
        t[i * width + 2 * m] = -if size > 0.0 { size } else { 1.0 };
        t[i * width + 2 * m + 1] = q[i];
    }
    let mut basis: Vec<usize> = (0..m).collect();
    let artificial = 2 * m;
    let scale = q.iter().fold(0.0_f64, |s, e| s.max(e.abs()));
    let finished = |t: &[f64], basis: &[usize]| {
        let mut z = vec![0.0; m];
        for (i, &b) in basis.iter().enumerate() {
            if (m..2 * m).contains(&b) {
                z[b - m] = t[i * width + 2 * m + 1].max(0.0);
            }
        }
        z
    };
    let mut row = 0;
    for i in 1..m {
        let ratio = |i: usize| t[i * width + 2 * m + 1] / -t[i * width + artificial];
        if ratio(i) < ratio(row) {
            row = i;
        }
    }
    // the artificial force at first, its largest
    let start = -t[row * width + 2 * m + 1] / t[row * width + artificial].abs();
    let start = start.abs();
    let mut entering = artificial;
    let most = 50 + 20 * m;
    for pivots in 1..=most {
        pivot(&mut t, width, m, row, entering);
        let leaving = std::mem::replace(&mut basis[row], entering);
        // driven out, or down to rounding, after which pivots mean nothing
        let spent = |i: &usize| (t[i * width + 2 * m + 1] / start.max(f64::MIN_POSITIVE)).abs() < 1e-13;
        if leaving == artificial || basis.iter().position(|&b| b == artificial).as_ref().is_some_and(spent) {
            return Ok((finished(&t, &basis), pivots));
        }
        entering = if leaving < m { leaving + m } else { leaving - m };
        let column = |i: usize| t[i * width + entering];
        let largest = (0..m).fold(0.0_f64, |s, i| s.max(column(i).abs()));
        let mut best: Option<usize> = None;
        for i in (0..m).filter(|&i| column(i) > PIVOT * largest.max(1e-3)) {
            best = Some(match best {
                None => i,
                Some(b) if lexicographically_less(&t, width, m, i, b, entering, &basis, artificial, scale) => i,
                Some(b) => b,
            });
        }
        let Some(best) = best else { return Err(Failure::NoSolution { row: entering % m }) };
        row = best;
    }
    Err(Failure::NotConverged { best: Solution { x: Vec::new(), residual: f64::INFINITY, iterations: most } })
}

/// Whether row i leaves before row k: by ratio; on a tie the artificial force, then the lexicographic order.
fn lexicographically_less(
    t: &[f64],
    width: usize,
    m: usize,
    i: usize,
    k: usize,
    entering: usize,
    basis: &[usize],
    artificial: usize,
    scale: f64,
) -> bool {
    let (ci, ck) = (t[i * width + entering], t[k * width + entering]);
    let of = |row: usize, c: f64, column: usize| t[row * width + column] / c;
    let (a, b) = (of(i, ci, 2 * m + 1), of(k, ck, 2 * m + 1));
    let rounding = 1e-13 / ci.min(ck);
    if (a - b).abs() > 1e-12 * (a.abs() + b.abs()) + scale * rounding {
        return a < b;
    }
    if basis[i] == artificial || basis[k] == artificial {
        return basis[i] == artificial;
    }
    for column in 0..m {
        let (a, b) = (of(i, ci, column), of(k, ck, column));
        if (a - b).abs() > 1e-12 * (a.abs() + b.abs()) + rounding {
            return a < b;
        }
    }
    false
}

fn pivot(t: &mut [f64], width: usize, m: usize, row: usize, column: usize) {
    let inverse = 1.0 / t[row * width + column];
    for e in &mut t[row * width..(row + 1) * width] {
        *e *= inverse;
    }
    let (before, rest) = t.split_at_mut(row * width);
    let (own, after) = rest.split_at_mut(width);
    own[column] = 1.0;
    debug_assert_eq!(before.len() + width + after.len(), m * width);
    for other in before.chunks_exact_mut(width).chain(after.chunks_exact_mut(width)) {
        let f = other[column];
        if f != 0.0 {
            other.iter_mut().zip(own.iter()).for_each(|(e, o)| *e -= f * o);
            other[column] = 0.0;
        }
    }
}
