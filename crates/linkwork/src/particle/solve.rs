//! The linear system of an implicit step (implicit.rs), solved for velocities of particles and coordinates of riders.
//!
//! Directly where the pattern says that this is cheap, which it is for a cloth of some 2500 points; otherwise by conjugate
//! gradients, preconditioned with diagonal blocks and the coarse level of what holds leave free.

use super::coarse::Coarse;
use super::implicit::{Grip, Hold, Implicit};
use super::matrix::BlockMatrix;
use super::packed::{Lanes, lanes, times};
use super::press::{Press, on_riders};
use super::rider::{Lever, Riders};
use glam::{DMat3, DVec3};

/// Residual relative to the right-hand side, in the norm of the preconditioner: what friction and contact do not notice.
pub(super) const ACCURACY: f64 = 1e-3;
/// At rest the right-hand side vanishes; velocities need not be known better than the accuracy times this, m/s.
const SLOW: f64 = 0.05;
/// Iterations at most. What has been found by then is taken: it is nearer to the minimum of the step's energy than the start
/// was, so that nothing explodes.
const PATIENCE: u32 = 120;

/// A vector of reduced unknowns: particles, and coordinates of units of riders.
#[derive(Clone, Default)]
struct Reduced {
    z: Vec<DVec3>,
    units: Vec<f64>,
}

impl Reduced {
    fn dot(&self, other: &Reduced) -> f64 {
        let particles = dot(&self.z, &other.z);
        let units: f64 = self.units.iter().zip(&other.units).map(|(a, b)| a * b).sum();
        particles + units
    }

    /// self = other + s self.
    fn follow(&mut self, other: &Reduced, s: f64) {
        for (a, b) in self.z.iter_mut().zip(&other.z) {
            *a = *b + *a * s;
        }
        for (a, b) in self.units.iter_mut().zip(&other.units) {
            *a = *b + *a * s;
        }
    }
}

/// The sum of products, in four sums that need not wait for each other.
fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    let mut sums = [0.0; 4];
    let (mut fours, mut others) = (a.chunks_exact(4), b.chunks_exact(4));
    for (a, b) in (&mut fours).zip(&mut others) {
        for k in 0..4 {
            sums[k] += a[k].dot(b[k]);
        }
    }
    let rest: f64 = fours.remainder().iter().zip(others.remainder()).map(|(a, b)| a.dot(*b)).sum();
    sums.iter().sum::<f64>() + rest
}

/// Particles and riders side by side, with working memory for what goes from one to the other.
struct Between<'a> {
    holds: &'a [Hold],
    /// Particles that are not free.
    held: Vec<usize>,
    /// Velocities of riders, or impulses on them.
    of_bodies: Vec<(DVec3, DVec3)>,
}

impl Between<'_> {
    fn new(holds: &[Hold]) -> Between<'_> {
        let held = (0..holds.len()).filter(|&i| !matches!(holds[i], Hold::Free)).collect();
        Between { holds, held, of_bodies: Vec::new() }
    }

    /// v = S z + T y.
    fn expand(&mut self, riders: &Riders, u: &Reduced, v: &mut [DVec3]) {
        riders.motions_of(&u.units, &mut self.of_bodies);
        let point = |k: usize, lever: Lever| self.of_bodies[k].0 + lever.velocity(self.of_bodies[k].1);
        v.copy_from_slice(&u.z);
        for &i in &self.held {
            let z = u.z[i];
            v[i] = match self.holds[i] {
                Hold::Free => z,
                Hold::Fixed => DVec3::ZERO,
                Hold::Contact { grip: Grip::Stick, rider, .. } => {
                    rider.map_or(DVec3::ZERO, |(k, lever)| point(k, lever))
                }
                Hold::Contact { normal, rider, .. } => {
                    let along = z - normal * normal.dot(z);
                    rider.map_or(along, |(k, lever)| along + normal * normal.dot(point(k, lever)))
                }
                Hold::Attached { rider, lever, .. } => point(rider, lever),
            };
        }
    }

    /// (Sᵀ f, Tᵀ f): the former in place, the latter added to the units.
    fn reduce(&mut self, riders: &Riders, f: &mut [DVec3], units: &mut [f64]) {
        self.of_bodies.clear();
        self.of_bodies.resize(riders.bodies.len(), (DVec3::ZERO, DVec3::ZERO));
        let on_bodies = &mut self.of_bodies;
        let mut push = |k: usize, lever: Lever, f: DVec3| {
            on_bodies[k].0 += f;
            on_bodies[k].1 += lever.moment(f);
        };
        for &i in &self.held {
            let here = f[i];
            f[i] = match self.holds[i] {
                Hold::Free => here,
                Hold::Fixed => DVec3::ZERO,
                Hold::Contact { grip: Grip::Stick, rider, .. } => {
                    if let Some((k, lever)) = rider {
                        push(k, lever, here);
                    }
                    DVec3::ZERO
                }
                Hold::Contact { normal, rider, .. } => {
                    let across = normal * normal.dot(here);
                    if let Some((k, lever)) = rider {
                        push(k, lever, across);
                    }
                    here - across
                }
                Hold::Attached { rider, lever, .. } => {
                    push(rider, lever, here);
                    DVec3::ZERO
                }
            };
        }
        riders.gather(&self.of_bodies, units);
    }
}

/// What particles do to riders at the velocities found: the part of b − A v that the particles themselves do not follow.
pub(super) fn note_impulses(work: &Implicit, holds: &[Hold], riders: &mut Riders, v: &[DVec3]) {
    if riders.bodies.is_empty() {
        return;
    }
    riders.forget_notes();
    let product = work.product(v, holds, riders);
    let bodies = riders.velocities();
    for p in on_riders(&work.presses, holds) {
        if let Some((k, lever)) = p.rider {
            riders.note(k, -p.impulse(v, &bodies), lever);
        }
    }
    for i in 0..holds.len() {
        let lost = work.right[i] - product[i];
        match holds[i] {
            Hold::Contact { grip: Grip::Stick, rider: Some((k, lever)), .. } => riders.note(k, lost, lever),
            Hold::Contact { normal, rider: Some((k, lever)), .. } => {
                riders.note(k, normal * normal.dot(lost), lever);
            }
            Hold::Attached { rider, lever, .. } => riders.note(rider, lost, lever),
            _ => {}
        }
    }
    settle_with_coordinates(riders);
}

/// Bodies must be given what their coordinates say, to rounding: an iteration leaves a little, which a stiff contact makes a
/// large impulse, and a body that got it would be thrown. The smallest change of the impulses that fits is P += B y.
fn settle_with_coordinates(riders: &mut Riders) {
    for number in 0..riders.units.len() {
        let unit = &riders.units[number];
        let d = unit.z.len();
        let mut lacking: Vec<f64> = (0..d).map(|c| unit.z[c] + unit.known[c]).collect();
        let mut gram = vec![Vec::new(); d];
        for (c, row) in gram.iter_mut().enumerate() {
            row.resize(c + 1, 0.0);
        }
        let members = || riders.bodies.iter().filter(|b| b.unit == number);
        for body in members() {
            for c in 0..d {
                let (lin, ang) = body.motions[c];
                lacking[c] -= lin.dot(body.impulse) + ang.dot(body.moment);
                for e in 0..=c {
                    gram[c][e] += lin.dot(body.motions[e].0) + ang.dot(body.motions[e].1);
                }
            }
        }
        let size = (0..d).map(|c| gram[c][c]).fold(0.0, f64::max);
        (0..d).for_each(|c| gram[c][c] += 1e-12 * size + f64::MIN_POSITIVE);
        Cholesky::of(gram).solve(&mut lacking);
        for body in riders.bodies.iter_mut().filter(|b| b.unit == number) {
            for c in 0..d {
                body.impulse += body.motions[c].0 * lacking[c];
                body.moment += body.motions[c].1 * lacking[c];
            }
        }
    }
}

/// Gives held particles of a guess the velocities that their holds say.
pub(super) fn follow_holds(holds: &[Hold], riders: &Riders, v: &mut [DVec3]) {
    for (v, hold) in v.iter_mut().zip(holds) {
        match *hold {
            Hold::Free | Hold::Fixed => {}
            Hold::Contact { normal, target, given, rider, grip, .. } => {
                let at = rider.map_or(given, |(k, lever)| riders.point(k, lever));
                match grip {
                    Grip::Stick => *v = at + normal * target,
                    Grip::Drag(_) => *v += normal * (target + normal.dot(at - *v)),
                }
            }
            Hold::Attached { rider, lever, drift } => *v = riders.point(rider, lever) + drift,
        }
    }
}

/// Solves for velocities (`v` is the guess, which follows the holds) and those of the riders; returns iterations.
pub(super) fn solve(work: &mut Implicit, holds: &[Hold], riders: &mut Riders, v: &mut [DVec3]) -> u32 {
    let n = v.len();
    let matrix = &work.matrix;
    let mut between = Between::new(holds);
    let presses = on_riders(&work.presses, holds);
    let mut q = work.product(v, holds, riders);
    let zero = Reduced { z: vec![DVec3::ZERO; n], units: vec![0.0; riders.size] };
    let mut r = zero.clone();
    for i in 0..n {
        r.z[i] = work.right[i] - q[i];
    }
    riders.lacking(&mut r.units);
    between.reduce(riders, &mut r.z, &mut r.units);
    let bodies = riders.velocities();
    presses.iter().for_each(|p| p.push_units(riders, -p.impulse(v, &bodies), &mut r.units));

    if work.direct.is_cheap(matrix, riders) {
        let mut u = r;
        work.direct.solve(matrix, (holds, &work.presses), riders, &mut u.z, &mut u.units);
        add(&mut between, &u, &mut q, v, riders);
        return 1;
    }
    let moves: Vec<bool> = holds.iter().map(|h| matches!(h, Hold::Free | Hold::Contact { .. })).collect();
    hold_back(matrix, holds, &mut work.held_matrix);
    let coarse = work.coarse.prepare(&work.held_matrix, &moves).then_some(&mut work.coarse);
    let mut precondition = Blocks::new(matrix, &work.held_matrix, holds, riders, coarse);
    work.packed.fill(matrix);
    let mut right = Reduced { z: work.right.clone(), units: zero.units.clone() };
    between.reduce(riders, &mut right.z, &mut right.units);
    let mut z = zero.clone();
    precondition.apply(&between, riders, &right, &mut z);
    let size = right.dot(&z);
    precondition.apply(&between, riders, &r, &mut z);
    let mut rho = r.dot(&z);
    let slow = SLOW * SLOW * matrix.masses;
    let goal = ACCURACY * ACCURACY * size.max(slow);
    let mut d = z.clone();
    let mut p = zero.z;
    let (mut pushed, mut moved) = (vec![0.0; riders.size], vec![0.0; riders.size]);
    let mut iterations = 0;
    while rho > goal && iterations < PATIENCE {
        between.expand(riders, &d, &mut p);
        work.packed.multiply(&p, &mut q);
        // faces against riders: κ (s − V)², of which the matrix has κ s²
        pushed.copy_from_slice(&d.units);
        riders.resist_turning(&d.units, &mut pushed);
        let of_units: f64 = d.units.iter().zip(&pushed).map(|(d, p)| d * p).sum();
        let mut of_riders = 0.0;
        for press in &presses {
            let body = press.of_body(&between.of_bodies);
            let (resisted, of_body) = (press.resist(press.velocity(&p, &between.of_bodies)), press.resist(body));
            (0..3).for_each(|i| q[press.who[i]] -= of_body * press.weight[i]);
            press.push_units(riders, -resisted, &mut pushed);
            of_riders -= resisted.dot(body);
        }
        let curvature = dot(&p, &q) + of_riders + of_units;
        if curvature <= 0.0 {
            break;
        }
        between.reduce(riders, &mut q, &mut pushed);
        let step = rho / curvature;
        for i in 0..n {
            v[i] += p[i] * step;
            r.z[i] -= q[i] * step;
        }
        for k in 0..moved.len() {
            moved[k] += d.units[k] * step;
            r.units[k] -= pushed[k] * step;
        }
        precondition.apply(&between, riders, &r, &mut z);
        let next = r.dot(&z);
        d.follow(&z, next / rho);
        rho = next;
        iterations += 1;
    }
    riders.shift_all(&moved, 1.0);
    iterations
}

/// Adds a change of the unknowns.
fn add(between: &mut Between, u: &Reduced, p: &mut [DVec3], v: &mut [DVec3], riders: &mut Riders) {
    between.expand(riders, u, p);
    for i in 0..v.len() {
        v[i] += p[i];
    }
    riders.shift_all(&u.units, 1.0);
}

/// SᵀAS, with something on the diagonal where S takes away: a preconditioner that did not know what is held would take
/// motions for soft that are impossible.
fn hold_back(matrix: &BlockMatrix, holds: &[Hold], out: &mut BlockMatrix) {
    out.clone_from(matrix);
    // how a particle is held: not at all, wholly, or along a normal
    let normal = |i: usize| match holds[i] {
        Hold::Free => None,
        Hold::Fixed | Hold::Attached { .. } | Hold::Contact { grip: Grip::Stick, .. } => Some(DVec3::ZERO),
        Hold::Contact { normal, .. } => Some(normal),
    };
    let only = |n: DVec3| DMat3::IDENTITY - super::force::outer(n, n);
    for i in 0..holds.len() {
        let mine = normal(i);
        if let Some(n) = mine {
            let size = out.diagonal[i].x_axis.x;
            out.diagonal[i] = match n == DVec3::ZERO {
                true => DMat3::from_diagonal(DVec3::splat(size)),
                false => only(n) * out.diagonal[i] * only(n) + super::force::outer(n, n) * size,
            };
        }
        for k in out.start[i] as usize..out.start[i + 1] as usize {
            let theirs = normal(out.column[k] as usize);
            if mine.is_none() && theirs.is_none() {
                continue;
            }
            if mine == Some(DVec3::ZERO) || theirs == Some(DVec3::ZERO) {
                out.lower[k] = DMat3::ZERO;
                continue;
            }
            if let Some(n) = mine {
                out.lower[k] = only(n) * out.lower[k];
            }
            if let Some(n) = theirs {
                out.lower[k] *= only(n);
            }
        }
    }
}

/// The matrix of every unit by itself, with that of the particles which it moves: 1 + Σ Tᵀ Aᵢᵢ T.
fn units_with_what_they_hold(block: impl Fn(usize) -> DMat3, holds: &[Hold], riders: &Riders) -> Vec<Cholesky> {
    let mut blocks: Vec<Vec<Vec<f64>>> = riders
        .units
        .iter()
        .map(|u| (0..u.z.len()).map(|i| (0..=i).map(|j| f64::from(u8::from(i == j))).collect()).collect())
        .collect();
    for i in 0..holds.len() {
        let (k, lever, along) = match holds[i] {
            Hold::Contact { rider: Some((k, lever)), grip: Grip::Stick, .. } => (k, lever, None),
            Hold::Contact { rider: Some((k, lever)), normal, .. } => (k, lever, Some(normal)),
            Hold::Attached { rider, lever, .. } => (rider, lever, None),
            _ => continue,
        };
        let a = block(i);
        let columns: Vec<DVec3> =
            riders.point_motions(k, lever).map(|c| along.map_or(c, |normal| normal * normal.dot(c))).collect();
        let block = &mut blocks[riders.bodies[k].unit];
        for (p, row) in block.iter_mut().enumerate() {
            let answer = a * columns[p];
            row.iter_mut().zip(&columns).for_each(|(e, c)| *e += answer.dot(*c));
        }
    }
    blocks.into_iter().map(Cholesky::of).collect()
}

/// Where particles and bodies go with the momentum `right` and nothing but inertia between them; `v` follows the holds.
pub(super) fn go_on(mass: &[f64], right: &[DVec3], holds: &[Hold], riders: &mut Riders, v: &mut [DVec3]) {
    let mut between = Between::new(holds);
    let z = (0..v.len()).map(|i| right[i] - v[i] * mass[i]).collect();
    let mut u = Reduced { z, units: vec![0.0; riders.size] };
    riders.lacking(&mut u.units);
    between.reduce(riders, &mut u.z, &mut u.units);
    u.z.iter_mut().zip(mass).for_each(|(z, m)| *z /= *m);
    let factors = units_with_what_they_hold(|i| DMat3::from_diagonal(DVec3::splat(mass[i])), holds, riders);
    for (unit, factor) in riders.units.iter().zip(&factors) {
        factor.solve(&mut u.units[unit.first..unit.first + unit.z.len()]);
    }
    let mut change = vec![DVec3::ZERO; v.len()];
    add(&mut between, &u, &mut change, v, riders);
}

/// Twice the energy that the system of the step has in a change of velocities and of coordinates of bodies.
pub(super) fn curvature(work: &Implicit, holds: &[Hold], riders: &Riders, change: &[DVec3], of_units: &[f64]) -> f64 {
    let mut product = vec![DVec3::ZERO; change.len()];
    work.matrix.multiply(change, &mut product);
    let mut bodies = Vec::new();
    riders.motions_of(of_units, &mut bodies);
    let pressed = |p: &Press| {
        let body = p.of_body(&bodies);
        p.resist(body).dot(body - (0..3).map(|i| change[p.who[i]] * (2.0 * p.weight[i])).sum::<DVec3>())
    };
    let presses: f64 = on_riders(&work.presses, holds).iter().map(pressed).sum();
    let mut resisted = of_units.to_vec();
    riders.resist_turning(of_units, &mut resisted);
    dot(change, &product) + presses + of_units.iter().zip(&resisted).map(|(z, r)| z * r).sum::<f64>()
}

/// Inverses of the diagonal blocks; that of a unit with all that hangs on it; and the coarse level.
struct Blocks<'a> {
    particles: Vec<Lanes>,
    units: Vec<Cholesky>,
    coarse: Option<&'a mut Coarse>,
}

impl<'a> Blocks<'a> {
    fn new(
        matrix: &BlockMatrix,
        held: &BlockMatrix,
        holds: &[Hold],
        riders: &Riders,
        coarse: Option<&'a mut Coarse>,
    ) -> Self {
        let units = units_with_what_they_hold(|i| matrix.diagonal[i], holds, riders);
        let particles = held.diagonal.iter().map(|d| lanes(&d.inverse())).collect();
        Blocks { particles, units, coarse }
    }

    fn apply(&mut self, between: &Between, riders: &Riders, r: &Reduced, z: &mut Reduced) {
        for ((z, d), r) in z.z.iter_mut().zip(&self.particles).zip(&r.z) {
            *z = times(d, *r);
        }
        if let Some(coarse) = &mut self.coarse {
            coarse.add(&r.z, &mut z.z);
        }
        for &i in &between.held {
            let z = &mut z.z[i];
            *z = match between.holds[i] {
                Hold::Free => *z,
                Hold::Fixed | Hold::Attached { .. } | Hold::Contact { grip: Grip::Stick, .. } => DVec3::ZERO,
                Hold::Contact { normal, .. } => *z - normal * normal.dot(*z),
            };
        }
        z.units.copy_from_slice(&r.units);
        for (unit, factor) in riders.units.iter().zip(&self.units) {
            factor.solve(&mut z.units[unit.first..unit.first + unit.z.len()]);
        }
    }
}

/// A small dense Cholesky factor, by rows of its lower triangle.
pub(super) struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// Of a positive definite matrix.
    pub fn of(mut a: Vec<Vec<f64>>) -> Cholesky {
        for i in 0..a.len() {
            for j in 0..=i {
                let (above, here) = a.split_at_mut(i);
                let row = &mut here[0];
                let other: &[f64] = if j < i { &above[j] } else { &[] };
                let mut sum = row[j];
                for k in 0..j {
                    sum -= row[k] * if j < i { other[k] } else { row[k] };
                }
                row[j] = if j < i { sum / other[j] } else { sum.max(f64::MIN_POSITIVE).sqrt() };
            }
        }
        Cholesky(a)
    }

    pub fn solve(&self, x: &mut [f64]) {
        let l = &self.0;
        for i in 0..x.len() {
            for k in 0..i {
                x[i] -= l[i][k] * x[k];
            }
            x[i] /= l[i][i];
        }
        for i in (0..x.len()).rev() {
            x[i] /= l[i][i];
            for k in 0..i {
                x[k] -= l[i][k] * x[i];
            }
        }
    }
}
