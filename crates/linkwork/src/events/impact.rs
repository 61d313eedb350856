//! Collisions: impulses of all that meets at one moment, through joints.
//!
//! All points (and limits) that touch and approach are struck at once: v⁺ = v⁻ + Kp, each leaving with v⁺ + e v⁻ ≥ 0, p ≥ 0, one of
//! them zero, and a pyramid of friction (course notes, chapter on simultaneous collisions). What approaches because of that is
//! struck next, so that a row of touching balls passes a blow on. One point alone is integrated (Mirtich, [`collision`]):
//! it may stick, slide and slide back within the blow. Where several at once would gain energy, as Newton's law of restitution
//! with friction can (Kane's pendulum), they bounce less.

use super::forces::{Changes, Unknown};
use super::push::{What, tangents};
use super::stage::Stage;
use crate::contact::collision;
use crate::contact::lcp::Bounds;
use crate::equations;
use glam::{DMat3, DVec3};

/// Rounds of blows; from half of them on nothing bounces any more, and all that touches is struck together.
const MOST_ROUNDS: u32 = 400;
/// Speed of approach that is none, m/s.
const NONE: f64 = 1e-9;

impl Stage<'_> {
    /// Strikes what meets until nothing does.
    pub fn strike(&mut self) -> Result<(), String> {
        for round in 0..MOST_ROUNDS {
            let tired = 2 * round >= MOST_ROUNDS;
            let mut coming = Vec::new();
            for (k, push) in self.pushes.iter().enumerate() {
                let speed = -self.rates(push)[0];
                let (meets, restitution) = match push.what {
                    What::Contact(point) => (true, point.manifold.material.restitution),
                    What::Limit { restitution, held: false, .. } => (true, restitution),
                    _ => (false, 0.0),
                };
                let bounces = speed > self.rest_speed && !tired;
                if meets && (speed > NONE || tired && speed > -NONE) {
                    coming.push((k, speed, if bounces { restitution } else { 0.0 }));
                }
            }
            let held = self.pushes.iter().any(|push| match push.what {
                What::Drive { target, most: f64::INFINITY, .. } => (self.rates(push)[0] - target).abs() > NONE,
                _ => false,
            });
            let meets = coming.iter().any(|(_, speed, _)| *speed > NONE);
            if meets || (held && round == 0) {
                self.strike_once(&coming)?;
            } else {
                return Ok(());
            }
        }
        Err(format!("blows follow each other without end{} (try the fixed stepper)", self.names_of_pushing()))
    }

    /// One round: (push, speed of approach, restitution).
    fn strike_once(&mut self, coming: &[(usize, f64, f64)]) -> Result<(), String> {
        self.aim_tangents(coming);
        equations::accelerations(self.world, self.scratch);
        let mut unknowns = Vec::new();
        for (k, push) in self.pushes.iter().enumerate() {
            let rates = self.rates(push);
            let struck = coming.iter().find(|(struck, ..)| *struck == k);
            match push.what {
                What::Contact(point) if struck.is_some() => {
                    let normal = unknowns.len();
                    unknowns.push(Unknown::new(k, 0, push.rows[0], Bounds::Unilateral, rates[0]));
                    let mu = point.manifold.material.friction;
                    for r in [1, 2].into_iter().filter(|_| mu > 0.0) {
                        unknowns.push(Unknown::new(k, r, push.rows[r], Bounds::Friction { normal, mu }, rates[r]));
                    }
                }
                What::Limit { held: false, .. } if struck.is_some() => {
                    unknowns.push(Unknown::new(k, 0, push.rows[0], Bounds::Unilateral, rates[0]));
                }
                // what is held stays so in a blow
                What::Limit { held: true, .. } => {
                    unknowns.push(Unknown::new(k, 0, push.rows[0], Bounds::Equality, rates[0]));
                }
                What::Drive { target, most: f64::INFINITY, .. } => {
                    unknowns.push(Unknown::new(k, 0, push.rows[0], Bounds::Equality, rates[0] - target));
                }
                _ => {}
            }
        }
        for group in self.groups(&unknowns) {
            let of_one = |push: usize| group.iter().all(|&k| unknowns[k].push == push);
            let first = unknowns[group[0]].push;
            let alone = of_one(first) && self.pushes[first].point().is_some();
            let integrated = if alone { self.integrate(first, coming) } else { None };
            let (values, changes) = match integrated {
                Some(found) => found,
                None => self.strike_together(&unknowns, &group, coming)?,
            };
            self.change_velocities(&changes);
            self.note_blows(&values);
        }
        Ok(())
    }

    /// First tangents along the slip, so that the pyramid is exact there.
    fn aim_tangents(&mut self, coming: &[(usize, f64, f64)]) {
        for (k, ..) in coming {
            let rates = self.rates(&self.pushes[*k]);
            if let Some(point) = self.pushes[*k].point_mut() {
                let slip = point.tangents[0] * rates[1] + point.tangents[1] * rates[2];
                if slip.length() > NONE {
                    point.tangents = tangents(point.normal, slip);
                }
            }
        }
        self.write_rows(false);
    }

    /// A point that is struck alone; none if it cannot be moved every way.
    fn integrate(&mut self, k: usize, coming: &[(usize, f64, f64)]) -> Option<(Vec<(usize, DVec3)>, Changes)> {
        let (_, _, restitution) = *coming.iter().find(|(struck, ..)| *struck == k)?;
        let push = self.pushes[k];
        let mu = push.point()?.manifold.material.friction;
        let rows = [push.rows[1], push.rows[2], push.rows[0]];
        let responses = rows.map(|row| self.response(push.a, push.b, &row));
        let column =
            |j: usize| DVec3::from_array([0, 1, 2].map(|i| super::forces::change_of(&rows[i], &push, &responses[j])));
        let matrix = DMat3::from_cols(column(0), column(1), column(2));
        let u = self.rates(&push);
        let found = collision::collide(matrix, DVec3::new(u[1], u[2], u[0]), mu, restitution).ok()?;
        let p = found.impulse;
        let mut changes = Changes::new();
        for (response, p) in responses.iter().zip(p.to_array()) {
            changes.extend(response.iter().map(|(slot, v, w)| (*slot, *v * p, *w * p)));
        }
        Some((vec![(k, DVec3::new(p.z, p.x, p.y))], changes))
    }

    /// All of a group at once.
    fn strike_together(
        &mut self,
        unknowns: &[Unknown],
        group: &[usize],
        coming: &[(usize, f64, f64)],
    ) -> Result<(Vec<(usize, DVec3)>, Changes), String> {
        let (matrix, responses) = self.matrix(unknowns, group);
        let n = group.len();
        let mut bounciness = 1.0;
        loop {
            let aimed: Vec<Unknown> = unknowns
                .iter()
                .map(|u| {
                    let back = coming.iter().find(|(k, ..)| *k == u.push && u.line == 0);
                    Unknown { b: u.b - back.map_or(0.0, |(_, speed, e)| bounciness * e * speed.max(0.0)), ..*u }
                })
                .collect();
            let chosen: Vec<Unknown> = group.iter().map(|&k| aimed[k]).collect();
            let local = |bounds: Bounds| match bounds {
                Bounds::Friction { normal, mu } => {
                    Bounds::Friction { normal: group.iter().position(|&g| g == normal).unwrap_or(0), mu }
                }
                other => other,
            };
            let chosen: Vec<Unknown> = chosen.into_iter().map(|u| Unknown { bounds: local(u.bounds), ..u }).collect();
            let (x, _) = self.solve(&chosen)?;
            // ½ pᵀ(v⁻ + v⁺)
            let mut gained = 0.0;
            let mut size = 0.0;
            for i in 0..n {
                let before = unknowns[group[i]].b;
                let after = before + (0..n).map(|j| matrix[i * n + j] * x[j]).sum::<f64>();
                gained += 0.5 * x[i] * (before + after);
                size += (x[i] * before).abs();
            }
            let driven = group.iter().any(|&k| matches!(self.pushes[unknowns[k].push].what, What::Drive { .. }));
            if gained > 1e-9 * size && bounciness > 0.0 && !driven {
                bounciness = if bounciness > 0.1 { 0.5 * bounciness } else { 0.0 };
                continue;
            }
            let mut changes = Changes::new();
            let mut values: Vec<(usize, DVec3)> = Vec::new();
            for (i, &k) in group.iter().enumerate() {
                changes.extend(responses[i].iter().map(|(slot, v, w)| (*slot, *v * x[i], *w * x[i])));
                let Unknown { push, line, .. } = unknowns[k];
                if line == 0 {
                    values.push((push, DVec3::ZERO));
                }
                if let Some((_, p)) = values.last_mut() {
                    p[line] = x[i];
                }
            }
            return Ok((values, changes));
        }
    }

    /// Remembers the impulses of points, for those who ask after the step.
    fn note_blows(&mut self, values: &[(usize, DVec3)]) {
        for (k, p) in values {
            let Some(point) = self.pushes[*k].point().copied() else { continue };
            if p.x > 0.0 {
                let across = point.tangents[0] * p.y + point.tangents[1] * p.z;
                self.blows.push((point, p.x, across));
            }
        }
    }
}
