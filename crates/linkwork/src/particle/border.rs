//! A system solved by the factor of what it was before a few contacts changed, and with bodies that answer.
//!
//! The factor is that of K = P A P, with P what contacts left free when it was made. Since then directions R have been let
//! go, directions C have been taken, and A has grown by U Δ Uᵀ (friction, faces that press). With δ = z + R y the change
//! of the velocities that is wanted,
//!
//! | K      P A R   P Cᵀ   P U  | | z |   | P r  |
//! | RᵀA P  RᵀA R   RᵀCᵀ   0    | | y |   | Rᵀ r |
//! | C P    C R     0      0    | | λ | = | 0    |
//! | UᵀP    0       0     −Δ⁻¹  | | μ |   | 0    |
//!
//! of which K is eliminated first: what is left has as many rows as directions have changed. Coordinates of riders are
//! like directions that were let go, with T in place of R, and one more on the diagonal: their own inertia. For Bᵀ K⁻¹ B the columns B
//! go only half of the way through the factor, and only along the few branches that they touch.

use super::implicit::{Grip, Hold};
use super::matrix::BlockMatrix;
use super::press::{Press, on_riders};
use super::rider::Riders;
use crate::linalg::Factor;
use glam::{DMat3, DVec3};
use wide::f64x8;

/// Directions that may have changed; beyond that a new factor is cheaper.
pub(super) const MOST_COLUMNS: usize = 96;
const LANES: usize = 8;

/// What a factor was made of.
pub(super) struct Base {
    pub holds: Vec<Hold>,
    pub presses: Vec<Press>,
}

/// What a contact leaves of a particle's velocity.
#[derive(Clone, Copy, PartialEq)]
enum Left {
    All,
    Nothing,
    /// All but along this normal.
    Along(DVec3),
}

impl Left {
    fn of(hold: &Hold) -> Left {
        match hold {
            Hold::Free => Left::All,
            Hold::Contact { normal, grip: Grip::Drag(_), .. } => Left::Along(*normal),
            _ => Left::Nothing,
        }
    }

    fn project(&self, v: DVec3) -> DVec3 {
        match self {
            Left::All => v,
            Left::Nothing => DVec3::ZERO,
            Left::Along(n) => v - *n * n.dot(v),
        }
    }
}

/// Friction that is in the matrix: how much, and across which normal.
fn drag(hold: &Hold) -> Option<(f64, DVec3)> {
    match hold {
        Hold::Contact { normal, grip: Grip::Drag(drag), .. } => Some((*drag, *normal)),
        _ => None,
    }
}

fn tangents(normal: DVec3) -> [DVec3; 2] {
    let (a, b) = normal.any_orthonormal_pair();
    [a, b]
}

/// One direction that has changed.
enum Change {
    Released(usize, DVec3),
    Taken(usize, DVec3),
    /// Along Σ over particles of these vectors the matrix has grown by so much.
    Grown(Vec<(usize, DVec3)>, f64),
}

/// What has changed; `None` if that is too much.
fn changes(base: &Base, holds: &[Hold], presses: &[Press]) -> Option<Vec<Change>> {
    let mut all = Vec::new();
    for (i, (was, is)) in base.holds.iter().zip(holds).enumerate() {
        let (before, after) = (Left::of(was), Left::of(is));
        let (rubbed, rubs) = (drag(was), drag(is));
        if before == after && rubbed == rubs {
            continue;
        }
        match (before, after) {
            (a, b) if a == b => {}
            (Left::Nothing, Left::Along(n)) => all.extend(tangents(n).map(|t| Change::Released(i, t))),
            (Left::Along(n), Left::Nothing) => all.extend(tangents(n).map(|t| Change::Taken(i, t))),
            (a, b) => {
                match a {
                    Left::All => {}
                    Left::Nothing => {
                        all.extend(DMat3::IDENTITY.to_cols_array_2d().map(|c| Change::Released(i, c.into())))
                    }
                    Left::Along(n) => all.push(Change::Released(i, n)),
                }
                match b {
                    Left::All => {}
                    Left::Nothing => all.extend(DMat3::IDENTITY.to_cols_array_2d().map(|c| Change::Taken(i, c.into()))),
                    Left::Along(n) => all.push(Change::Taken(i, n)),
                }
            }
        }
        // what did not move before is in the columns of what is released, and what may not move now does not matter
        if before != Left::Nothing && after != Left::Nothing && rubbed != rubs {
            for (part, sign) in [(rubbed, -1.0), (rubs, 1.0)] {
                let Some((size, normal)) = part.filter(|p| p.0 > 0.0) else { continue };
                all.extend(tangents(normal).map(|t| Change::Grown(vec![(i, t)], sign * size)));
            }
        }
        if all.len() > MOST_COLUMNS {
            return None;
        }
    }
    for (was, is) in base.presses.iter().zip(presses) {
        let along = |press: &Press| match (press.active, press.grip) {
            (false, _) => 0.0,
            (true, Grip::Stick) => press.kappa,
            (true, Grip::Drag(drag)) => drag,
        };
        let mut grow = |d: DVec3, size: f64| {
            if size != 0.0 {
                all.push(Change::Grown((0..3).map(|k| (is.who[k], d * is.weight[k])).collect(), size));
            }
        };
        grow(is.normal, is.kappa * (f64::from(u8::from(is.active)) - f64::from(u8::from(was.active))));
        tangents(is.normal).into_iter().for_each(|t| grow(t, along(is) - along(was)));
    }
    (all.len() <= MOST_COLUMNS).then_some(all)
}

/// Replaces residuals by changes of velocities and of the coordinates of riders; `row` is where a particle's rows are in the
/// factor. False if too many contacts have changed for that.
pub(super) fn solve(
    factor: &Factor,
    row: impl Fn(usize) -> usize,
    matrix: &BlockMatrix,
    base: &Base,
    (holds, presses, riders): (&[Hold], &[Press], &Riders),
    r: &mut [DVec3],
    of_units: &mut [f64],
) -> bool {
    let Some(changes) = changes(base, holds, presses) else { return false };
    let n = r.len();
    let before: Vec<Left> = base.holds.iter().map(Left::of).collect();
    let apply = |z: &[DVec3]| -> Vec<f64> {
        let mut x = vec![0.0; 3 * n];
        for i in 0..n {
            before[i].project(z[i]).write_to_slice(&mut x[row(i)..]);
        }
        factor.solve(&mut x);
        x
    };
    let take = |x: &[f64], i: usize| DVec3::from_slice(&x[row(i)..]);
    let first = apply(r);
    let count = changes.len() + riders.size;
    if count == 0 {
        (0..n).for_each(|i| r[i] = take(&first, i));
        return true;
    }
    let mut border = Border::new(n, count);
    for (k, change) in changes.iter().enumerate() {
        border.enter(k, change, &before, r);
    }
    for (k, change) in changes.iter().enumerate() {
        if let Change::Taken(i, d) = change {
            border.cross(k, *i, *d);
        }
    }
    border.enter_riders(changes.len(), (holds, presses, riders), &before, of_units);
    border.couple(matrix, &before);
    border.eliminate_factor(factor, &row);
    for (k, column) in border.columns.iter().enumerate() {
        border.right[k] -= column.iter().map(|&(i, d)| d.dot(take(&first, i))).sum::<f64>();
    }
    let Border { columns, mut corner, right: mut y, fields } = border;
    eliminate(&mut corner, &mut y);
    let mut rest = r.to_vec();
    for (column, y) in columns.iter().zip(&y) {
        column.iter().for_each(|&(i, d)| rest[i] -= d * *y);
    }
    let found = apply(&rest);
    for i in 0..n {
        r[i] = take(&found, i);
        fields[i].iter().filter(|field| field.0 < changes.len()).for_each(|&(k, d)| r[i] += d * y[k]);
    }
    of_units.copy_from_slice(&y[changes.len()..]);
    true
}

/// How a factorised system answers to impulses.
pub(super) struct Elastic<'a> {
    pub factor: &'a Factor,
    pub first_row: &'a [u32],
    pub base: &'a Base,
}

impl Elastic<'_> {
    fn left(&self) -> Vec<Left> {
        self.base.holds.iter().map(Left::of).collect()
    }

    /// What impulses do to the velocities.
    pub fn answer(&self, impulses: &[DVec3]) -> Vec<DVec3> {
        let left = self.left();
        let mut x = vec![0.0; 3 * impulses.len()];
        for (i, impulse) in impulses.iter().enumerate() {
            left[i].project(*impulse).write_to_slice(&mut x[self.first_row[i] as usize..]);
        }
        self.factor.solve(&mut x);
        (0..impulses.len()).map(|i| left[i].project(DVec3::from_slice(&x[self.first_row[i] as usize..]))).collect()
    }

    /// What a unit impulse of each column does along each.
    pub fn compliance(&self, columns: &[Vec<(usize, DVec3)>]) -> Vec<Vec<f64>> {
        let left = self.left();
        let mut border = Border::new(left.len(), columns.len());
        for (to, from) in border.columns.iter_mut().zip(columns) {
            to.extend(from.iter().map(|&(i, d)| (i, left[i].project(d))));
        }
        border.eliminate_factor(self.factor, &|i| self.first_row[i] as usize);
        border.corner.iter_mut().flatten().for_each(|c| *c = -*c);
        border.corner
    }
}

/// The rows and columns around the factor.
struct Border {
    /// B, by column: particles and what stands there.
    columns: Vec<Vec<(usize, DVec3)>>,
    corner: Vec<Vec<f64>>,
    right: Vec<f64>,
    /// By particle: the columns that move it, and how: R and T.
    fields: Vec<Vec<(usize, DVec3)>>,
}

impl Border {
    fn new(n: usize, count: usize) -> Border {
        Border {
            columns: vec![Vec::new(); count],
            corner: vec![vec![0.0; count]; count],
            right: vec![0.0; count],
            fields: vec![Vec::new(); n],
        }
    }

    fn enter(&mut self, k: usize, change: &Change, before: &[Left], r: &[DVec3]) {
        match change {
            Change::Released(i, d) => {
                self.fields[*i].push((k, *d));
                self.right[k] = d.dot(r[*i]);
            }
            Change::Taken(i, d) => self.columns[k].push((*i, before[*i].project(*d))),
            Change::Grown(parts, size) => {
                self.columns[k].extend(parts.iter().map(|&(i, d)| (i, before[i].project(d))));
                self.corner[k][k] = -1.0 / size;
            }
        }
    }

    /// A vector at a particle of column `k` against whatever moves that particle.
    fn cross(&mut self, k: usize, i: usize, d: DVec3) {
        for &(other, along) in &self.fields[i] {
            self.corner[k][other] += d.dot(along);
            self.corner[other][k] += d.dot(along);
        }
    }

    /// Bodies that answer: they move the particles that they hold, are moved by faces that press, and resist.
    fn enter_riders(
        &mut self,
        first: usize,
        (holds, presses, riders): (&[Hold], &[Press], &Riders),
        before: &[Left],
        of_units: &[f64],
    ) {
        let place = |k: usize| first + riders.units[riders.bodies[k].unit].first;
        for c in 0..riders.size {
            self.corner[first + c][first + c] = 1.0;
            self.right[first + c] = of_units[c];
        }
        for body in riders.bodies.iter().filter(|b| b.turning != DMat3::ZERO) {
            let at = first + riders.units[body.unit].first;
            for (c, motion) in body.motions.iter().enumerate() {
                let moment = body.turning * motion.1;
                body.motions.iter().enumerate().for_each(|(e, m)| self.corner[at + e][at + c] += m.1.dot(moment));
            }
        }
        for (i, hold) in holds.iter().enumerate() {
            let (k, lever, along) = match hold {
                Hold::Contact { rider: Some((k, lever)), grip: Grip::Stick, .. } => (*k, *lever, None),
                Hold::Contact { rider: Some((k, lever)), normal, .. } => (*k, *lever, Some(*normal)),
                Hold::Attached { rider, lever, .. } => (*rider, *lever, None),
                _ => continue,
            };
            for (c, motion) in riders.point_motions(k, lever).enumerate() {
                let motion = along.map_or(motion, |normal| normal * normal.dot(motion));
                self.fields[i].push((place(k) + c, motion));
            }
        }
        for press in on_riders(presses, holds) {
            let Some((k, lever)) = press.rider else { continue };
            for (c, motion) in riders.point_motions(k, lever).enumerate() {
                let (column, resisted) = (place(k) + c, press.resist(motion));
                for (&i, &weight) in press.who.iter().zip(&press.weight) {
                    self.columns[column].push((i, before[i].project(resisted * -weight)));
                    self.cross(column, i, resisted * -weight);
                }
                for (e, other) in riders.point_motions(k, lever).enumerate() {
                    self.corner[place(k) + e][column] += other.dot(resisted);
                }
            }
        }
    }

    /// What moves particles meets the matrix.
    fn couple(&mut self, matrix: &BlockMatrix, before: &[Left]) {
        let Border { columns, corner, fields, .. } = self;
        let mut couple = |i: usize, j: usize, block: DMat3| {
            for &(k, d) in &fields[j] {
                let answer = block * d;
                columns[k].push((i, before[i].project(answer)));
                for &(other, along) in &fields[i] {
                    corner[other][k] += along.dot(answer);
                }
            }
        };
        for i in 0..before.len() {
            couple(i, i, matrix.diagonal[i]);
            for k in matrix.row(i) {
                let j = matrix.column[k] as usize;
                if !fields[i].is_empty() || !fields[j].is_empty() {
                    couple(i, j, matrix.lower[k]);
                    couple(j, i, matrix.lower[k].transpose());
                }
            }
        }
    }

    /// Takes Bᵀ K⁻¹ B off the corner.
    fn eliminate_factor(&mut self, factor: &Factor, row: &impl Fn(usize) -> usize) {
        let (rows, count) = (3 * self.fields.len(), self.columns.len());
        let Factor::Block(factor) = factor else {
            for b in 0..count {
                let mut x = vec![0.0; rows];
                for &(i, d) in &self.columns[b] {
                    (0..3).for_each(|c| x[row(i) + c] += d[c]);
                }
                factor.solve(&mut x);
                for (a, column) in self.columns.iter().enumerate() {
                    self.corner[a][b] -=
                        column.iter().map(|&(i, d)| d.dot(DVec3::from_slice(&x[row(i)..]))).sum::<f64>();
                }
            }
            return;
        };
        let mut through: Vec<Vec<f64x8>> = Vec::new();
        for eight in self.columns.chunks(LANES) {
            let mut x = vec![[0.0; LANES]; rows];
            for (lane, column) in eight.iter().enumerate() {
                for &(i, d) in column {
                    (0..3).for_each(|c| x[row(i) + c][lane] += d[c]);
                }
            }
            let mut x: Vec<f64x8> = x.into_iter().map(f64x8::new).collect();
            factor.go_ahead(&mut x);
            through.push(x);
        }
        for (a, left) in through.iter().enumerate() {
            for (b, other) in through.iter().enumerate().skip(a) {
                let product = factor.inner(left, other);
                for p in 0..LANES.min(count - a * LANES) {
                    for q in 0..LANES.min(count - b * LANES) {
                        self.corner[a * LANES + p][b * LANES + q] -= product[p][q];
                        if a != b {
                            self.corner[b * LANES + q][a * LANES + p] -= product[p][q];
                        }
                    }
                }
            }
        }
    }
}

/// Solves a small symmetric system, indefinite and of mixed units: scaled, then by rows with the largest pivot.
fn eliminate(a: &mut [Vec<f64>], x: &mut [f64]) {
    let n = x.len();
    let scale: Vec<f64> = (0..n).map(|k| a[k][k].abs().max(f64::MIN_POSITIVE).sqrt().recip()).collect();
    for i in 0..n {
        (0..n).for_each(|j| a[i][j] *= scale[i] * scale[j]);
        x[i] *= scale[i];
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&p, &q| a[p][k].abs().total_cmp(&a[q][k].abs())).unwrap_or(k);
        a.swap(k, pivot);
        x.swap(k, pivot);
        if a[k][k] == 0.0 {
            continue;
        }
        let (above, below) = a.split_at_mut(k + 1);
        let top = &above[k];
        for (i, line) in below.iter_mut().enumerate() {
            let part = line[k] / top[k];
            if part != 0.0 {
                line[k..].iter_mut().zip(&top[k..]).for_each(|(l, t)| *l -= part * t);
                x[k + 1 + i] -= part * x[k];
            }
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            x[k] -= a[k][j] * x[j];
        }
        x[k] = if a[k][k] == 0.0 { 0.0 } else { x[k] / a[k][k] };
    }
    (0..n).for_each(|k| x[k] *= scale[k]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::particle::direct::Direct;
    use crate::particle::force::outer;

    fn noise(k: usize) -> f64 {
        ((k as f64 * 12.9898).sin() * 43_758.545).fract()
    }

    fn direction(k: usize) -> DVec3 {
        DVec3::new(noise(3 * k), noise(3 * k + 1), noise(3 * k + 2)).normalize()
    }

    fn hold(kind: usize, k: usize) -> Hold {
        let grip = match kind {
            0 => return Hold::Free,
            1 => Grip::Stick,
            _ => Grip::Drag(0.5 + noise(k + 7).abs()),
        };
        let normal = direction(k);
        Hold::Contact { normal, target: 0.0, given: DVec3::ZERO, solid: 0, rider: None, grip }
    }

    /// A strip of particles with springs between neighbours of neighbours, positive definite.
    fn strip(n: usize) -> BlockMatrix {
        let mut matrix = BlockMatrix { start: vec![0], ..BlockMatrix::default() };
        matrix.diagonal = vec![DMat3::IDENTITY * 0.1; n];
        let mut springs = Vec::new();
        for i in 0..n {
            for j in i.saturating_sub(2)..i {
                matrix.column.push(j as u32);
                matrix.lower.push(DMat3::ZERO);
                springs.push((i, j));
            }
            matrix.start.push(matrix.column.len() as u32);
        }
        for (k, (i, j)) in springs.into_iter().enumerate() {
            let spring = outer(direction(k), direction(k)) * 30.0 + DMat3::IDENTITY;
            matrix.add(i, i, spring);
            matrix.add(j, j, spring);
            matrix.add(i, j, -spring);
        }
        matrix
    }

    fn with_drags(matrix: &BlockMatrix, holds: &[Hold]) -> BlockMatrix {
        let mut matrix = matrix.clone();
        for (i, hold) in holds.iter().enumerate() {
            if let Some((size, n)) = drag(hold) {
                matrix.diagonal[i] += (DMat3::IDENTITY - outer(n, n)) * size;
            }
        }
        matrix
    }

    #[test]
    fn changed_contacts_are_solved_as_by_a_new_factor() {
        let n = 40;
        let bare = strip(n);
        for seed in 0..20 {
            let kind = |i: usize| (noise(seed * 100 + i).abs() * 3.0) as usize % 3;
            let was: Vec<Hold> = (0..n).map(|i| hold(kind(i), i)).collect();
            // every fifth is something else now, some of the same normal and some not
            let is: Vec<Hold> = (0..n)
                .map(|i| match i % 5 == seed % 5 {
                    true => hold((kind(i) + 1 + i % 2) % 3, if i % 3 == 0 { i + 500 } else { i }),
                    false => was[i],
                })
                .collect();
            let right: Vec<DVec3> = (0..n).map(|i| Left::of(&is[i]).project(direction(900 + i))).collect();
            let riders = Riders::default();
            let (mut old, mut new) = (Direct::default(), Direct::default());
            old.solve(&with_drags(&bare, &was), (&was, &[]), &riders, &mut right.clone(), &mut []);
            let (mut by_border, mut by_factor) = (right.clone(), right);
            let matrix = with_drags(&bare, &is);
            old.solve(&matrix, (&is, &[]), &riders, &mut by_border, &mut []);
            new.solve(&matrix, (&is, &[]), &riders, &mut by_factor, &mut []);
            for i in 0..n {
                let wanted = Left::of(&is[i]).project(by_factor[i]);
                let off = by_border[i].distance(wanted);
                assert!(off < 1e-9, "seed {seed}, particle {i}: {} for {wanted}", by_border[i]);
            }
        }
    }
}
