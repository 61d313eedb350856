//! Newton's method on Coulomb's law itself, for problems of few coordinates.
//!
//! De Saxcé's correction makes a convex problem of Coulomb's law, with the slip of the round before as a constant, and rounds that follow a
//! slip converge slowly where wheels slide. Without it, friction is bounded by the normal impulse of the same iteration (Alart and Curnier
//! 1991): with y = λ⁰ − k(v − v* n),
//!
//! λ_n = max(0, y_n), λ_t = y_t cut to |λ_t| ≤ μ λ_n, z = Gᵀλ(Gz + b)
//!
//! There is no convex function behind it, so that Newton's matrix 1 + Gᵀ(−∂λ/∂v)G is not symmetric and a step may lead astray: it is
//! shortened until the residual falls, and an attempt that does not get on is given up.

use super::newton::Outcome;
use super::problem::{Entry, Law, Problem};
use crate::math::{length, max_abs};

/// How often a step is halved before the attempt is given up.
const MOST_HALVES: u32 = 6;

/// Working memory.
#[derive(Default)]
pub(super) struct Coulomb {
    matrix: Vec<f64>,
    residual: Vec<f64>,
    direction: Vec<f64>,
    here: Vec<f64>,
    /// D G of an entry, row by row.
    slopes: Vec<f64>,
}

impl Coulomb {
    /// Solves from `z`, leaving impulses and velocities in the entries, until contacts are within `tolerance` (m/s), in at most so many
    /// iterations.
    pub fn solve(&mut self, problem: &mut Problem, z: &mut [f64], tolerance: f64, most: u32) -> Outcome {
        let mut outcome = Outcome::default();
        let mut norm = self.evaluate(problem, z);
        loop {
            outcome.residual = max_abs(problem.entries.iter().flat_map(|e| problem.rates(e, &self.residual)));
            outcome.converged = outcome.residual <= tolerance;
            if outcome.converged || outcome.iterations == most || !norm.is_finite() {
                return outcome;
            }
            outcome.iterations += 1;
            self.assemble(problem);
            if !self.find_direction() {
                return outcome;
            }
            self.here.clear();
            self.here.extend_from_slice(z);
            let (mut part, mut halves) = (1.0, 0);
            loop {
                for (k, z) in z.iter_mut().enumerate() {
                    *z = self.here[k] - part * self.direction[k];
                }
                let there = self.evaluate(problem, z);
                if there < norm {
                    norm = there;
                    break;
                }
                if halves == MOST_HALVES {
                    return outcome;
                }
                (part, halves) = (0.5 * part, halves + 1);
            }
        }
    }

    /// Velocities, impulses and the residual z − Gᵀλ; returns the sum of its squares.
    fn evaluate(&mut self, problem: &mut Problem, z: &[f64]) -> f64 {
        self.residual.clear();
        self.residual.extend_from_slice(z);
        for k in 0..problem.entries.len() {
            let entry = &problem.entries[k];
            let mut v = problem.rates(entry, z);
            (0..3).for_each(|s| v[s] += entry.b[s]);
            let impulse = answer(entry, &v);
            problem.push(entry, &impulse.map(|p| -p), &mut self.residual);
            let entry = &mut problem.entries[k];
            (entry.velocity, entry.impulse) = (v, impulse);
        }
        self.residual.iter().map(|r| r * r).sum()
    }

    /// 1 + Gᵀ(−∂λ/∂v)G, row by row.
    fn assemble(&mut self, problem: &Problem) {
        let n = problem.size;
        self.matrix.clear();
        self.matrix.resize(n * n, 0.0);
        (0..n).for_each(|k| self.matrix[k * n + k] = 1.0);
        for entry in &problem.entries {
            let (slope, rows) = (slope(entry), entry.rows());
            if slope[..rows].iter().flatten().all(|s| *s == 0.0) {
                continue;
            }
            for right in entry.sides.iter().filter(|s| s.size > 0) {
                let size = right.size as usize;
                let g = &problem.data[right.data as usize..right.data as usize + rows * size];
                self.slopes.clear();
                self.slopes.resize(rows * size, 0.0);
                for r in 0..rows {
                    for (c, g) in g.chunks_exact(size).enumerate() {
                        let d = slope[r][c];
                        self.slopes[r * size..(r + 1) * size].iter_mut().zip(g).for_each(|(s, g)| *s += d * g);
                    }
                }
                for left in entry.sides.iter().filter(|s| s.size > 0) {
                    let g = &problem.data[left.data as usize..left.data as usize + rows * left.size as usize];
                    for (g, slopes) in g.chunks_exact(left.size as usize).zip(self.slopes.chunks_exact(size)) {
                        for (i, g) in g.iter().enumerate() {
                            let at = (left.first as usize + i) * n + right.first as usize;
                            self.matrix[at..at + size].iter_mut().zip(slopes).for_each(|(m, s)| *m += g * s);
                        }
                    }
                }
            }
        }
    }

    /// The residual divided by the matrix, by elimination with row exchanges; returns whether it could be.
    fn find_direction(&mut self) -> bool {
        let Coulomb { matrix, residual, direction, .. } = self;
        let n = residual.len();
        direction.clear();
        direction.extend_from_slice(residual);
        for k in 0..n {
            let size = |r: usize| matrix[r * n + k].abs();
            let pivot = (k + 1..n).fold(k, |best, r| if size(r) > size(best) { r } else { best });
            let largest = matrix[pivot * n + k];
            if largest == 0.0 || !largest.is_finite() {
                return false;
            }
            if pivot != k {
                (k..n).for_each(|c| matrix.swap(k * n + c, pivot * n + c));
                direction.swap(k, pivot);
            }
            let (above, below) = matrix.split_at_mut((k + 1) * n);
            let row = &above[k * n + k..];
            for (i, other) in below.chunks_exact_mut(n).enumerate() {
                let factor = other[k] / largest;
                if factor != 0.0 {
                    other[k..].iter_mut().zip(row).for_each(|(o, r)| *o -= factor * r);
                    direction[k + 1 + i] -= factor * direction[k];
                }
            }
        }
        for k in (0..n).rev() {
            let known: f64 = (k + 1..n).map(|c| matrix[k * n + c] * direction[c]).sum();
            direction[k] = (direction[k] - known) / matrix[k * n + k];
        }
        true
    }
}

/// The impulse for a velocity, by Coulomb's law where it is a contact's.
fn answer(entry: &Entry, v: &[f64; 3]) -> [f64; 3] {
    let Law::Cone(mu) = entry.law else { return entry.answer(v) };
    let y = entry.drive(v);
    let (n, across) = (y[0].max(0.0), length(y[1], y[2]));
    let part = if across > mu * n { mu * n / across } else { 1.0 };
    [n, part * y[1], part * y[2]]
}

/// −∂λ/∂v.
fn slope(entry: &Entry) -> [[f64; 3]; 3] {
    let Law::Cone(mu) = entry.law else { return entry.slope(&entry.velocity) };
    let (y, k) = (entry.drive(&entry.velocity), entry.stiffness);
    let across = length(y[1], y[2]);
    if y[0] <= 0.0 {
        return [[0.0; 3]; 3];
    }
    if across <= mu * y[0] {
        return [[k, 0.0, 0.0], [0.0, k, 0.0], [0.0, 0.0, k]];
    }
    let (d, part) = ([y[1] / across, y[2] / across], mu * y[0] / across);
    let turn = |i: usize, j: usize| k * part * (f64::from(i == j) - d[i] * d[j]);
    [[k, 0.0, 0.0], [k * mu * d[0], turn(0, 0), turn(0, 1)], [k * mu * d[1], turn(1, 0), turn(1, 1)]]
}

#[cfg(test)]
mod tests {
    use super::super::problem::Side;
    use super::*;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Contacts of two units that come together at random.
    fn problem(seed: &mut u64) -> Problem {
        let mut problem = Problem::default();
        let units = [problem.unit(6), problem.unit(6)];
        for _ in 0..3 {
            let sides = units.map(|first| {
                let data = problem.data.len() as u32;
                problem.data.extend((0..18).map(|_| random(seed)));
                Side { first, size: 6, data }
            });
            problem.entries.push(Entry {
                b: [random(seed), random(seed), random(seed)],
                stiffness: 50.0,
                start: [0.1 * random(seed), 0.1 * random(seed), 0.1 * random(seed)],
                ..Entry::on(Law::Cone(0.5 + 0.4 * random(seed)), sides)
            });
        }
        problem
    }

    #[test]
    fn what_it_finds_obeys_coulomb() {
        let (mut seed, mut solved) = (3, 0);
        for _ in 0..500 {
            let mut problem = problem(&mut seed);
            let mut z = vec![0.0; 12];
            if !Coulomb::default().solve(&mut problem, &mut z, 1e-10, 30).converged {
                continue;
            }
            solved += 1;
            let mut given = vec![0.0; 12];
            problem.entries.iter().for_each(|e| problem.push(e, &e.impulse, &mut given));
            assert!(z.iter().zip(&given).all(|(z, g)| (z - g).abs() < 1e-9));
            for e in &problem.entries {
                let Law::Cone(mu) = e.law else { unreachable!() };
                // velocities of the surface, apart from what its softness takes up
                let v = [0, 1, 2].map(|s| e.velocity[s] + (e.impulse[s] - e.start[s]) / e.stiffness);
                let [n, t] = [e.impulse[0], length(e.impulse[1], e.impulse[2])];
                assert!(n >= 0.0 && t <= mu * n + 1e-9 && v[0] > -1e-9 && (v[0] * n).abs() < 1e-8);
                let slip = length(v[1], v[2]);
                // what slides is held back with all force, against its slip
                let along = e.impulse[1] * v[1] + e.impulse[2] * v[2];
                assert!(n == 0.0 || slip < 1e-8 || (along + mu * n * slip).abs() < 1e-8, "{along} {mu} {n} {slip}");
            }
        }
        assert!(solved > 400, "{solved} of 500");
    }

    #[test]
    fn slopes_are_those_of_finite_differences() {
        let mut seed = 11;
        for _ in 0..200 {
            for mut entry in problem(&mut seed).entries {
                entry.velocity = entry.b;
                let exact = slope(&entry);
                for c in 0..3 {
                    let [up, down] = [1e-7, -1e-7].map(|e| {
                        let mut v = entry.b;
                        v[c] += e;
                        answer(&entry, &v)
                    });
                    for r in 0..3 {
                        let numeric = (down[r] - up[r]) / 2e-7;
                        assert!((numeric - exact[r][c]).abs() < 1e-3 * entry.stiffness, "{r} {c}: {numeric} {exact:?}");
                    }
                }
            }
        }
    }
}
