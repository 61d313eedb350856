//! What holds bodies besides their joints while particles push them: contacts that push, motors that keep their speed, stops.
//!
//! A plank on a stiff rope answers to it with its own mass only until something lies on it. A rope that took the plank for
//! free would pull by so much too little in one step and too much in the next, and with a ball ten times as heavy as the plank
//! both grow. So rows G of relative velocities that were held in the last step are taken out of the coordinates of
//! the riders: z = N q with G B N = 0 and NᵀN = 1, so that an impulse P changes q by (B N)ᵀP. Units that
//! contacts connect become one, and what is expected of them without particles is made to fit the rows.

use super::rider::{Riders, Unit};
use super::solve::Cholesky;
use crate::handle::JointId;
use crate::joint::drive::BoundedMotor;
use crate::world::World;
use glam::DVec3;

/// Rows that depend on others up to this part are left out.
const DEPENDENT: f64 = 1e-6;
/// Of the most that friction or a motor can do; above that it is taken to give way.
const NEARLY_ALL: f64 = 0.99;

/// A point at which two bodies pushed each other, by slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touching {
    pub a: u32,
    pub b: u32,
    pub point: DVec3,
    pub normal: DVec3,
    /// What b got there, N s.
    pub impulse: DVec3,
    pub friction: f64,
    pub sticks: bool,
}

impl Touching {
    /// Along the normal, and two directions across it.
    pub fn directions(&self) -> [DVec3; 3] {
        let (s, t) = self.normal.any_orthonormal_pair();
        [self.normal, s, t]
    }

    /// Whether the contact would still hold, and stick, with so much more along its directions.
    pub fn endures(&self, more: [f64; 3]) -> (bool, bool) {
        let [n, s, t] = self.directions().map(|d| d.dot(self.impulse));
        let (push, rub) = (n + more[0], (s + more[1]).hypot(t + more[2]));
        (push > 0.0, rub <= self.friction * push)
    }
}

/// What held bodies in a step: contacts, and coordinates of joints by their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    pub touching: Vec<Touching>,
    pub driven: Vec<(JointId, usize)>,
}

impl Holding {
    /// In the last step.
    pub fn last(world: &World) -> Holding {
        let mut holding = Holding::default();
        for m in world.collisions.manifolds.iter() {
            for p in m.points().iter().filter(|p| p.impulse_n > 0.0) {
                let sticks = p.impulse_t.length() < NEARLY_ALL * m.material.friction * p.impulse_n;
                holding.touching.push(Touching {
                    a: m.a,
                    b: m.b,
                    point: p.position,
                    normal: m.normal,
                    impulse: m.normal * p.impulse_n + p.impulse_t,
                    friction: m.material.friction,
                    sticks,
                });
            }
        }
        for (id, joint) in world.joints.iter().filter(|(_, j)| !j.is_coupling()) {
            for (k, drive) in joint.drives.iter().enumerate() {
                let runs = match drive.bounded_motor() {
                    Some(BoundedMotor::Velocity { max_force, .. }) => drive.mean.motor.abs() < NEARLY_ALL * max_force,
                    _ => false,
                };
                let rubs = drive.mean.friction != 0.0 && drive.mean.friction.abs() < NEARLY_ALL * drive.friction;
                if runs || rubs || drive.mean.limit != 0.0 {
                    holding.driven.push((id, k));
                }
            }
        }
        holding
    }
}

/// A row of velocities that is held.
#[derive(Clone, Debug)]
pub(crate) struct Bond {
    /// By body its part on the linear and the angular velocity.
    pub parts: Vec<(usize, DVec3, DVec3)>,
    /// What the sum of them is held at; as it is if none.
    pub rate: Option<f64>,
}

/// Velocities of a body, linear and angular, for each coordinate of its unit.
type Motions = Vec<(DVec3, DVec3)>;

/// Units that were bound together, as they were: what holds them must be found from what they would do without.
pub(crate) struct Cluster {
    /// By bond: its number, its row, and behind it what was lacking.
    rows: Vec<(usize, Vec<f64>)>,
    known: Vec<f64>,
    /// By rider: its number, where the coordinates of its unit begin, and its motions.
    riders: Vec<(usize, usize, Motions)>,
}

impl Cluster {
    /// What its bonds do more than they did before, for the impulses that its bodies have got: number of the bond, N s.
    /// Of bonds that share a load each takes a part.
    pub fn more(&self, riders: &Riders) -> Vec<(usize, f64)> {
        let size = self.known.len();
        let mut alone: Vec<f64> = self.known.iter().map(|k| -k).collect();
        for (k, at, motions) in &self.riders {
            let body = &riders.bodies[*k];
            for (y, (lin, ang)) in alone[*at..].iter_mut().zip(motions) {
                *y += lin.dot(body.impulse) + ang.dot(body.moment);
            }
        }
        let dot = |a: &[f64], b: &[f64]| a[..size].iter().zip(&b[..size]).map(|(a, b)| a * b).sum::<f64>();
        let mut lacking: Vec<f64> = self.rows.iter().map(|(_, row)| row[size] - dot(row, &alone)).collect();
        let mut gram: Vec<Vec<f64>> = Vec::new();
        for (i, (_, row)) in self.rows.iter().enumerate() {
            gram.push(self.rows[..=i].iter().map(|(_, other)| dot(row, other)).collect());
        }
        let largest = gram.iter().filter_map(|g| g.last()).fold(0.0_f64, |a, b| a.max(*b));
        gram.iter_mut().filter_map(|g| g.last_mut()).for_each(|g| *g += 1e-9 * largest + f64::MIN_POSITIVE);
        Cholesky::of(gram).solve(&mut lacking);
        self.rows.iter().zip(lacking).map(|((bond, _), more)| (*bond, more)).collect()
    }
}

/// Where the coordinates of a unit are after binding: the unit that has them now, and what its coordinates make of each.
pub(crate) struct Bound {
    pub unit: usize,
    /// By coordinate of then; empty if they are the same.
    rows: Vec<Vec<f64>>,
}

impl Bound {
    /// The coordinates of then.
    pub fn unfold(&self, q: &[f64]) -> Vec<f64> {
        match self.rows.is_empty() {
            true => q.to_vec(),
            false => self.rows.iter().map(|row| row.iter().zip(q).map(|(n, q)| n * q).sum()).collect(),
        }
    }
}

impl Riders {
    /// Takes what is held out of the coordinates, before any of them has changed. Returns where those of every unit are, and
    /// what has been bound.
    pub fn bind(&mut self, bonds: &[Bond]) -> (Vec<Bound>, Vec<Cluster>) {
        let mut clusters = Vec::new();
        let together = self.clusters(bonds);
        let old = std::mem::take(&mut self.units);
        self.size = 0;
        let mut bound: Vec<Bound> = old.iter().map(|_| Bound { unit: 0, rows: Vec::new() }).collect();
        for first in 0..old.len() {
            if together[first] != first {
                continue;
            }
            let members: Vec<usize> = (first..old.len()).filter(|&u| together[u] == first).collect();
            let mut place = vec![usize::MAX; old.len()];
            let mut size = 0;
            for &u in &members {
                place[u] = size;
                size += old[u].z.len();
            }
            let row_of = |bond: &Bond| {
                let mut row = vec![0.0; size];
                for &(k, lin, ang) in &bond.parts {
                    let at = place[self.bodies[k].unit];
                    for (e, motion) in row[at..].iter_mut().zip(&self.bodies[k].motions) {
                        *e += lin.dot(motion.0) + ang.dot(motion.1);
                    }
                }
                let now =
                    |&(k, lin, ang): &(usize, DVec3, DVec3)| lin.dot(self.bodies[k].v) + ang.dot(self.bodies[k].w);
                // what is lacking stands behind the row and is changed like it
                row.push(bond.rate.map_or(0.0, |rate| rate - bond.parts.iter().map(now).sum::<f64>()));
                row
            };
            let of_cluster = |(_, bond): &(usize, &Bond)| {
                bond.parts.first().is_some_and(|b| together[self.bodies[b.0].unit] == first)
            };
            let of_bonds = bonds.iter().enumerate().filter(of_cluster);
            let rows: Vec<(usize, Vec<f64>)> = of_bonds.map(|(k, bond)| (k, row_of(bond))).collect();
            let unit = self.units.len();
            let free = if rows.is_empty() { None } else { Some(left_free(&rows, size)) };
            let Some((columns, lacking)) = free else {
                let of = &old[first];
                self.units.push(Unit { first: self.size, ..of.clone() });
                self.size += size;
                bound[first].unit = unit;
                of.riders.iter().for_each(|&k| self.bodies[k].unit = unit);
                continue;
            };
            let mut merged = Unit { z: vec![0.0; columns.len()], first: self.size, ..Unit::default() };
            let known: Vec<f64> = members.iter().flat_map(|&u| &old[u].known).copied().collect();
            merged.known = columns.iter().map(|n| n.iter().zip(&known).map(|(n, k)| n * k).sum()).collect();
            let mut cluster = Cluster { rows, known, riders: Vec::new() };
            for &u in &members {
                let (at, count) = (place[u], old[u].z.len());
                bound[u] =
                    Bound { unit, rows: (at..at + count).map(|c| columns.iter().map(|n| n[c]).collect()).collect() };
                for &k in &old[u].riders {
                    let body = &mut self.bodies[k];
                    let sum = |n: &Vec<f64>| {
                        let parts = body.motions.iter().zip(&n[at..]);
                        parts.fold((DVec3::ZERO, DVec3::ZERO), |s, (m, n)| (s.0 + m.0 * *n, s.1 + m.1 * *n))
                    };
                    let (v, w) = sum(&lacking);
                    (body.v, body.w) = (body.v + v, body.w + w);
                    let motions = columns.iter().map(sum).collect();
                    cluster.riders.push((k, at, std::mem::replace(&mut body.motions, motions)));
                    body.unit = unit;
                    merged.riders.push(k);
                }
            }
            self.size += columns.len();
            self.units.push(merged);
            clusters.push(cluster);
        }
        (bound, clusters)
    }

    /// By unit the first of those that bonds connect it with.
    fn clusters(&self, bonds: &[Bond]) -> Vec<usize> {
        let mut cluster: Vec<usize> = (0..self.units.len()).collect();
        for bond in bonds.iter().map(|b| &b.parts) {
            let of = |part: &(usize, DVec3, DVec3)| self.bodies[part.0].unit;
            let Some(least) = bond.iter().map(|p| cluster[of(p)]).min() else { continue };
            for part in bond {
                let other = cluster[of(part)];
                cluster.iter_mut().filter(|c| **c == other).for_each(|c| *c = least);
            }
        }
        cluster
    }
}

/// Orthonormal columns across all rows, and the least change that gives the rows what stands behind them.
fn left_free(rows: &[(usize, Vec<f64>)], size: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for (_, row) in rows {
        let held = across(row.clone(), size, &all);
        all.extend(held);
    }
    let mut change = vec![0.0; size];
    for row in &all {
        change.iter_mut().zip(row).for_each(|(c, r)| *c += r * row[size]);
    }
    let rank = all.len();
    for k in 0..size {
        let mut axis = vec![0.0; size + 1];
        axis[k] = 1.0;
        let column = across(axis, size, &all);
        all.extend(column);
    }
    (all.split_off(rank), change)
}

/// What of a vector is across orthonormal others, of length one; none if that is next to nothing. Beyond `size` only what is
/// done to the vector is done too.
fn across(mut vector: Vec<f64>, size: usize, others: &[Vec<f64>]) -> Option<Vec<f64>> {
    let norm = |v: &[f64]| v[..size].iter().map(|x| x * x).sum::<f64>().sqrt();
    let whole = norm(&vector);
    // the second time for what rounding left of the first
    for _ in 0..2 {
        for other in others {
            let part: f64 = other[..size].iter().zip(&vector).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(other).for_each(|(v, o)| *v -= part * o);
        }
    }
    let left = norm(&vector);
    (left > DEPENDENT * whole).then(|| vector.iter().map(|x| x / left).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::particle::rider::free_motions;
    use glam::DMat3;

    #[test]
    fn two_bodies_bound_along_an_axis_answer_with_both_masses_along_it_and_with_their_own_across() {
        let mut riders = Riders::default();
        for mass in [2.0, 20.0] {
            let unit = riders.add_unit(6);
            let motions = free_motions(mass, DMat3::IDENTITY, DVec3::ONE);
            riders.add(unit, motions, (DVec3::ZERO, DVec3::ZERO), (DVec3::ZERO, DVec3::ZERO));
        }
        riders.bodies[1].v.z = -2.2;
        let parts = vec![(0, DVec3::Z, DVec3::ZERO), (1, -DVec3::Z, DVec3::ZERO)];
        let bond = Bond { parts, rate: Some(0.0) };
        let (bound, clusters) = riders.bind(&[bond.clone(), bond]);
        assert_eq!((riders.units.len(), riders.size), (1, 11));
        let close = |a: DVec3, b: DVec3| assert!(a.distance(b) < 1e-12, "{a} for {b}");
        // together they have the momentum that they had
        close(riders.bodies[0].v, DVec3::Z * -2.0);
        close(riders.bodies[1].v, DVec3::Z * -2.0);
        riders.push(0, DVec3::new(4.0, 0.0, 44.0), crate::particle::rider::Lever::at(DVec3::ZERO));
        close(riders.bodies[0].v, DVec3::new(2.0, 0.0, 0.0));
        close(riders.bodies[1].v, DVec3::ZERO);
        // 4 N s have stopped the second from falling faster than the first, 40 N s of the push go on to it: each bond has half
        for (bond, more) in clusters[0].more(&riders) {
            assert!((more + 22.0).abs() < 1e-5, "bond {bond} does {more} N s more");
        }
        // coordinates of then: velocity times the root of the mass
        let first = bound[0].unfold(&riders.units[0].z);
        let second = bound[1].unfold(&riders.units[0].z);
        close(DVec3::from_slice(&first), DVec3::new(2.0, 0.0, 2.0) * 2.0_f64.sqrt());
        close(DVec3::from_slice(&second), DVec3::new(0.0, 0.0, 2.0) * 20.0_f64.sqrt());
    }
}
