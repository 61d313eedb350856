//! What becomes an entry of an island's problem: contact points, joints that are solved body by body, and bounded rows.

use super::free::Free;
use super::problem::{Entry, Law, Problem, Side};
use super::solve::aim;
use super::{ContactReport, Contacts, Island, NONE};
use crate::collide::{ContactPoint, Manifold};
use crate::joint::rows::Row;
use crate::math::length;
use crate::mechanism::Mechanism;
use crate::world::World;
use glam::DVec3;

impl Contacts {
    /// Gathers the units of an island and its contact points.
    pub(super) fn open(
        &mut self,
        island: &mut Island,
        world: &World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        h: f64,
        report: &mut ContactReport,
    ) {
        let mut problem = std::mem::take(&mut island.problem);
        problem.clear();
        self.first_coordinate.resize(self.island_of.len(), NONE);
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            mechanism.begin_contact(h);
            self.first_coordinate[m as usize] = match mechanism.is_body_wise() {
                true => {
                    let first = problem.size as u32;
                    for _ in mechanism.movable_bodies() {
                        problem.unit(6);
                    }
                    first
                }
                false => problem.unit(mechanism.free_motions()),
            };
        }
        for &k in &island.free {
            let unit = mechanisms.len() as u32 + k;
            // the local index of a free body is that of its state
            self.local[free[k as usize] as usize] = self.states.len() as u32;
            self.states.push(Free::new(&world.bodies, free[k as usize]));
            self.first_coordinate[unit as usize] = problem.unit(6);
        }
        let body_wise = |m: &u32| mechanisms[*m as usize].is_body_wise();
        island.rigid = !island.calm && !island.mechanisms.is_empty() && !island.mechanisms.iter().any(body_wise);
        island.fastest = world.gravity.length() * h;
        island.rows.clear();
        island.hard = false;
        island.seen = island.manifolds.len();
        for &k in &island.manifolds {
            let manifold = &world.collisions.manifolds[k as usize];
            for point in manifold.points() {
                let rows = contact_rows(world, manifold, point);
                let speed = self.add_contact(&mut problem, world, mechanisms, manifold, &rows);
                island.fastest = island.fastest.max(speed);
                island.rows.push(rows);
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        island.problem = problem;
        island.joints.clear();
        island.joint_rows.clear();
        for k in 0..island.mechanisms.len() {
            let m = island.mechanisms[k];
            if mechanisms[m as usize].is_body_wise() {
                self.add_joints(island, &mechanisms[m as usize], m);
            }
        }
    }

    /// Adds a contact point; returns how fast it meets.
    pub(super) fn add_contact(
        &self,
        problem: &mut Problem,
        world: &World,
        mechanisms: &[Mechanism],
        manifold: &Manifold,
        rows: &[Row; 3],
    ) -> f64 {
        let parts =
            [(manifold.a, false), (manifold.b, true)].map(|(slot, is_b)| (self.unit[slot as usize], slot, is_b));
        let parts = parts.map(|(unit, slot, is_b)| (unit, self.local[slot as usize] as usize, is_b));
        let sides = self.sides(problem, mechanisms, parts, rows);
        let velocity = self.contact_velocity(world, mechanisms, manifold, rows);
        problem.entries.push(Entry {
            b: velocity,
            velocity,
            ..Entry::on(Law::Cone(manifold.material.friction), sides)
        });
        velocity.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Writes rows on two bodies (unit, local index, whether it is b) into a problem.
    pub(super) fn sides(
        &self,
        problem: &mut Problem,
        mechanisms: &[Mechanism],
        parts: [(u32, usize, bool); 2],
        rows: &[Row],
    ) -> [Side; 2] {
        let mut sides = [Side::default(); 2];
        for (side, (unit, local, is_b)) in sides.iter_mut().zip(parts) {
            if unit == NONE {
                continue;
            }
            let mut first = self.first_coordinate[unit as usize];
            let data = problem.data.len() as u32;
            for row in rows {
                match mechanisms.get(unit as usize) {
                    None => problem.data.extend(self.states[local].hat_row(row, is_b)),
                    Some(m) if m.is_body_wise() => problem.data.extend(m.hat_row(row, local, is_b)),
                    Some(m) => m.row_on_free_motions(row, local, is_b, &mut problem.data),
                }
            }
            if mechanisms.get(unit as usize).is_some_and(Mechanism::is_body_wise) {
                first += 6 * local as u32;
            }
            *side = Side { first, size: (problem.data.len() as u32 - data) / rows.len() as u32, data };
        }
        // two bodies of one unit: one side, with the rows of both
        if sides[0].size > 0 && sides[1].size > 0 && sides[0].first == sides[1].first {
            let [a, b] = sides;
            for k in 0..rows.len() * a.size as usize {
                problem.data[a.data as usize + k] += problem.data[b.data as usize + k];
            }
            problem.data.truncate(b.data as usize);
            sides[1] = Side::default();
        }
        sides
    }

    /// Writes the joints of a mechanism that is solved body by body.
    pub(super) fn add_joints(&self, island: &mut Island, mechanism: &Mechanism, m: u32) {
        let first = self.first_coordinate[m as usize];
        let Island { problem, joints, joint_rows, .. } = island;
        mechanism.each_joint_part(|row, count, compliance, sides| {
            let mut entry = Entry { compliance, ..Entry::on(Law::Joint(count as u8), [Side::default(); 2]) };
            for (side, (body, rows)) in entry.sides.iter_mut().zip(sides) {
                *side = Side { first: first + 6 * body, size: 6, data: problem.data.len() as u32 };
                problem.data.extend_from_slice(rows);
            }
            joints.push(entry);
            joint_rows.push((m, row));
        });
    }

    /// The joints' answer to the impulses with which contacts start.
    pub(super) fn guess_joints(&self, island: &mut Island, mechanisms: &mut [Mechanism]) {
        let Island { problem, z, joints, joint_rows, .. } = island;
        if joints.is_empty() {
            return;
        }
        let others = problem.entries.len() - joints.len();
        z.clear();
        z.resize(problem.size, 0.0);
        for entry in &problem.entries[..others] {
            problem.push(entry, &entry.impulse, z);
        }
        let mut last = NONE;
        let mut answer: &[f64] = &[];
        let mut start = 0;
        for (k, &(m, row)) in joint_rows.iter().enumerate() {
            if m != last {
                last = m;
                start = k;
            }
            if k == start {
                let first = self.first_coordinate[m as usize] as usize;
                let bodies = mechanisms[m as usize].movable_bodies().len();
                answer = mechanisms[m as usize].answer_to(z[first..first + 6 * bodies].as_chunks::<6>().0);
            }
            let entry = &mut problem.entries[others + k];
            for r in 0..entry.rows() {
                entry.impulse[r] = answer[row as usize + r];
            }
        }
    }

    /// Sets velocities, targets and first guesses of the contacts after the kick.
    pub(super) fn aim_contacts(&self, island: &mut Island, world: &World, mechanisms: &[Mechanism], h: f64) {
        island.slips.clear();
        island.bends.clear();
        let mut k = 0;
        for &m in &island.manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            for point in manifold.points() {
                let (entry, rows) = (&mut island.problem.entries[k], &island.rows[k]);
                let old = entry.b;
                entry.b = self.contact_velocity(world, mechanisms, manifold, rows);
                let slip = manifold.material.friction * length(old[1], old[2]);
                aim(entry, world, manifold, point, rows, point.gap + self.shift(manifold), h, island.rigid);
                entry.slip = slip;
                if !island.rigid {
                    entry.target -= slip;
                }
                island.slips.push(slip);
                island.bends.push(0.0);
                k += 1;
            }
        }
    }

    /// By how much a bounce within the step moved the bodies of a manifold apart.
    pub(super) fn shift(&self, manifold: &Manifold) -> f64 {
        let of = |slot: u32, units: usize| {
            let unit = self.unit[slot as usize];
            let is_free = unit != NONE && unit as usize >= units;
            if is_free { self.states[self.local[slot as usize] as usize].shift } else { DVec3::ZERO }
        };
        let units = self.mechanism_count;
        manifold.normal.dot(of(manifold.b, units) - of(manifold.a, units))
    }

    pub(super) fn add_bounded(&self, problem: &mut Problem, mechanisms: &[Mechanism], unit: u32) {
        let mechanism = &mechanisms[unit as usize];
        for bounded in mechanism.bounded_entries() {
            let movable = mechanism.movable_bodies().len();
            let parts = [(bounded.a, false), (bounded.b, true)]
                .map(|(body, is_b)| (if (body as usize) < movable { unit } else { NONE }, body as usize, is_b));
            let sides = self.sides(problem, mechanisms, parts, &[bounded.row]);
            problem.entries.push(Entry {
                b: [bounded.velocity, 0.0, 0.0],
                compliance: bounded.compliance,
                impulse: [bounded.guess.clamp(bounded.bounds.0, bounded.bounds.1), 0.0, 0.0],
                ..Entry::on(Law::Bounds(bounded.bounds.0, bounded.bounds.1), sides)
            });
        }
    }
}

/// Rows of a contact's normal and two tangents, as velocities of b against a.
pub(super) fn contact_rows(world: &World, manifold: &Manifold, point: &ContactPoint) -> [Row; 3] {
    let n = manifold.normal;
    let (t1, t2) = n.any_orthonormal_pair();
    let lever = |slot: u32| point.position - world.bodies.at(slot as usize).map_or(DVec3::ZERO, |b| b.x);
    let (ra, rb) = (lever(manifold.a), lever(manifold.b));
    [n, t1, t2].map(|d| Row { lin: d, ang_a: -ra.cross(d), ang_b: rb.cross(d) })
}
