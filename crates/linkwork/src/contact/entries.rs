//! What becomes an entry of an island's problem: contact points, joints that are solved body by body, and bounded rows.

use super::free::Free;
use super::members::Members;
use super::problem::{Entry, Law, Problem, Side};
use super::solve::aim;
use super::{ContactReport, Contacts, Island, NONE, contact_velocity};
use crate::collide::{ContactPoint, Manifold};
use crate::joint::Motion;
use crate::joint::rows::Row;
use crate::math::length;
use crate::mechanism::Mechanism;
use crate::world::Seen;
use glam::DVec3;

impl Contacts {
    /// Gathers the units of an island and its contact points.
    pub(super) fn open(
        &self,
        island: &mut Island,
        world: &Seen,
        mechanisms: &mut Members,
        free: &[u32],
        h: f64,
        report: &mut ContactReport,
    ) {
        let mut problem = std::mem::take(&mut island.problem);
        problem.clear();
        island.first.clear();
        for mechanism in &mut mechanisms.list {
            mechanism.begin_contact(h);
            island.first.push(match mechanism.is_body_wise() {
                true => {
                    let first = problem.size as u32;
                    for _ in mechanism.movable_bodies() {
                        problem.unit(6);
                    }
                    first
                }
                false => problem.unit(mechanism.free_motions()),
            });
        }
        island.states.clear();
        for &k in &island.free {
            island.states.push(Free::new(world.bodies, free[k as usize]));
            island.first.push(problem.unit(6));
        }
        self.forget_pushes(island);
        let is_body_wise = mechanisms.list.iter().any(|m| m.is_body_wise());
        island.rigid = !island.calm && !island.mechanisms.is_empty() && !is_body_wise;
        island.fastest = world.gravity.length() * h;
        island.rows.clear();
        (island.hard, island.solved, island.left) = (false, false, (0, 0.0));
        island.touching.clear();
        island.touching.extend(island.manifolds.iter().map(|&m| world.collisions.manifolds[m as usize]));
        for m in 0..island.touching.len() {
            let manifold = &island.touching[m];
            let motions = self.motions(island, world, mechanisms, manifold);
            for point in manifold.points() {
                let rows = contact_rows(world, manifold, point);
                let speed = self.add_contact(island, &mut problem, mechanisms, manifold, &motions, &rows);
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
            if mechanisms.list[k].is_body_wise() {
                add_joints(island, mechanisms.list[k], k);
            }
        }
    }

    /// Adds a contact point; returns how fast it meets.
    pub(super) fn add_contact(
        &self,
        island: &Island,
        problem: &mut Problem,
        mechanisms: &Members,
        manifold: &Manifold,
        motions: &[Motion; 2],
        rows: &[Row; 3],
    ) -> f64 {
        let parts =
            [(manifold.a, false), (manifold.b, true)].map(|(slot, is_b)| (self.unit[slot as usize], slot, is_b));
        let parts = parts.map(|(unit, slot, is_b)| (unit, self.local[slot as usize] as usize, is_b));
        let sides = self.sides(island, problem, mechanisms, parts, rows);
        let velocity = contact_velocity(motions, rows);
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
        island: &Island,
        problem: &mut Problem,
        mechanisms: &Members,
        parts: [(u32, usize, bool); 2],
        rows: &[Row],
    ) -> [Side; 2] {
        let mut sides = [Side::default(); 2];
        for (side, (unit, local, is_b)) in sides.iter_mut().zip(parts) {
            if unit == NONE {
                continue;
            }
            let mut first = island.first[self.place_in(island, unit)];
            let data = problem.data.len() as u32;
            let mechanism = ((unit as usize) < self.mechanism_count).then(|| &mechanisms[unit]);
            for row in rows {
                match mechanism {
                    None => problem.data.extend(self.state(island, unit).hat_row(row, is_b)),
                    Some(m) if m.is_body_wise() => problem.data.extend(m.hat_row(row, local, is_b)),
                    Some(m) => m.row_on_free_motions(row, local, is_b, &mut problem.data),
                }
            }
            if mechanism.is_some_and(Mechanism::is_body_wise) {
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

    /// Sets velocities, targets and first guesses of the contacts after the kick.
    pub(super) fn aim_contacts(&self, island: &mut Island, world: &Seen, mechanisms: &Members, h: f64) {
        island.slips.clear();
        island.bends.clear();
        let mut k = 0;
        for m in 0..island.touching.len() {
            let manifold = &island.touching[m];
            let shift = self.shift(island, manifold);
            let motions = self.motions(island, world, mechanisms, manifold);
            for point in manifold.points() {
                let velocity = contact_velocity(&motions, &island.rows[k]);
                let (entry, rows) = (&mut island.problem.entries[k], &island.rows[k]);
                let old = std::mem::replace(&mut entry.b, velocity);
                let slip = manifold.material.friction * length(old[1], old[2]);
                aim(entry, world, manifold, point, rows, point.gap + shift, h, island.rigid);
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
    pub(super) fn shift(&self, island: &Island, manifold: &Manifold) -> f64 {
        manifold.normal.dot(self.shifted(island, manifold))
    }

    /// How a bounce within the step moved b against a.
    pub(super) fn shifted(&self, island: &Island, manifold: &Manifold) -> DVec3 {
        let of = |slot: u32| {
            let unit = self.unit[slot as usize];
            let is_free = unit != NONE && unit as usize >= self.mechanism_count;
            if is_free { self.state(island, unit).shift } else { DVec3::ZERO }
        };
        of(manifold.b) - of(manifold.a)
    }

    /// Adds the bounded rows of all mechanisms.
    pub(super) fn add_bounded(&self, island: &mut Island, mechanisms: &Members) {
        let mut problem = std::mem::take(&mut island.problem);
        for (&unit, mechanism) in island.mechanisms.iter().zip(&mechanisms.list) {
            let movable = mechanism.movable_bodies().len();
            for bounded in mechanism.bounded_entries() {
                let parts = [(bounded.a, false), (bounded.b, true)]
                    .map(|(body, is_b)| (if (body as usize) < movable { unit } else { NONE }, body as usize, is_b));
                let sides = self.sides(island, &mut problem, mechanisms, parts, &[bounded.row]);
                problem.entries.push(Entry {
                    b: [bounded.velocity, 0.0, 0.0],
                    compliance: bounded.compliance,
                    impulse: [bounded.guess.clamp(bounded.bounds.0, bounded.bounds.1), 0.0, 0.0],
                    ..Entry::on(Law::Bounds(bounded.bounds.0, bounded.bounds.1), sides)
                });
            }
        }
        island.problem = problem;
    }
}

/// The joints' answer to the impulses with which contacts start.
pub(super) fn guess_joints(island: &mut Island, mechanisms: &mut Members) {
    let Island { problem, z, joints, joint_rows, first, .. } = island;
    if joints.is_empty() {
        return;
    }
    let others = problem.entries.len() - joints.len();
    z.clear();
    z.resize(problem.size, 0.0);
    for entry in &problem.entries[..others] {
        problem.push(entry, &entry.impulse, z);
    }
    let mut entries = problem.entries[others..].iter_mut();
    for of_mechanism in joint_rows.chunk_by(|a, b| a.0 == b.0) {
        let place = of_mechanism[0].0 as usize;
        let (mechanism, first) = (&mut mechanisms.list[place], first[place] as usize);
        let bodies = mechanism.movable_bodies().len();
        let answer = mechanism.answer_to(z[first..first + 6 * bodies].as_chunks::<6>().0);
        for (&(_, row), entry) in of_mechanism.iter().zip(&mut entries) {
            for r in 0..entry.rows() {
                entry.impulse[r] = answer[row as usize + r];
            }
        }
    }
}

/// Writes the joints of a mechanism that is solved body by body, by its place in the island.
fn add_joints(island: &mut Island, mechanism: &Mechanism, place: usize) {
    let Island { problem, joints, joint_rows, .. } = island;
    let first = island.first[place];
    mechanism.each_joint_part(|row, count, compliance, sides| {
        let mut entry = Entry { compliance, ..Entry::on(Law::Joint(count as u8), [Side::default(); 2]) };
        for (side, (body, rows)) in entry.sides.iter_mut().zip(sides) {
            *side = Side { first: first + 6 * body, size: 6, data: problem.data.len() as u32 };
            problem.data.extend_from_slice(rows);
        }
        joints.push(entry);
        joint_rows.push((place as u32, row));
    });
}

/// Rows of a contact's normal and two tangents, as velocities of b against a.
pub(super) fn contact_rows(world: &Seen, manifold: &Manifold, point: &ContactPoint) -> [Row; 3] {
    let n = manifold.normal;
    let (t1, t2) = n.any_orthonormal_pair();
    let lever = |slot: u32| point.position - world.bodies.at(slot as usize).map_or(DVec3::ZERO, |b| b.x);
    let (ra, rb) = (lever(manifold.a), lever(manifold.b));
    [n, t1, t2].map(|d| Row { lin: d, ang_a: -ra.cross(d), ang_b: rb.cross(d) })
}
