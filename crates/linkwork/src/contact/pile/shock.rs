//! Shock propagation, an option: after the sweeps, contacts from the ground up, each seeing what is below as if it could not be
//! moved (Guendelman, Bridson and Fedkiw 2003; Weinstein, Teran and Fedkiw 2006, section VI). Joints are exempt: after every
//! level velocities are brought back to them with the true masses.
//!
//! Weight does not have to travel down through many sweeps then, so that few of them hold a tall stack up; but what is below does
//! not feel what shocks give to what is above, and momentum is not kept.

use super::batches::Batches;
use super::lanes::{dot, scatter};
use super::{NOBODY, Pile, Wide};
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use wide::f64x4;

/// The level of a body that nothing leads to from the ground.
const AFLOAT: u32 = u32::MAX;
/// Sweeps over the contacts of one level.
const SWEEPS: u32 = 2;

/// How many contacts each body is away from what does not move.
#[derive(Default)]
pub(super) struct Levels {
    of: Vec<u32>,
    highest: u32,
    edges: Vec<[u32; 2]>,
}

impl Levels {
    fn level(&self, body: u32) -> u32 {
        if body == NOBODY { 0 } else { self.of[body as usize] }
    }

    /// Levels along the contacts that press by now.
    fn find(&mut self, bodies: usize, contacts: &Batches) {
        self.edges.clear();
        for batch in &contacts.batches {
            let points = &contacts.points[batch.range()];
            for l in 0..4 {
                let presses = |count: u8| points[..usize::from(count)].iter().any(|p| p.impulse[0].to_array()[l] > 0.0);
                if presses(batch.counts[l]) {
                    self.edges.push([batch.pair.bodies[0][l], batch.pair.bodies[1][l]]);
                }
            }
        }
        self.of.clear();
        self.of.resize(bodies, AFLOAT);
        self.highest = 0;
        loop {
            let mut any = false;
            for &[a, b] in &self.edges {
                for (low, high) in [(a, b), (b, a)] {
                    if self.level(low) == self.highest && self.level(high) == AFLOAT {
                        self.of[high as usize] = self.highest + 1;
                        any = true;
                    }
                }
            }
            if !any {
                return;
            }
            self.highest += 1;
        }
    }
}

impl Pile {
    /// Passes shocks up through the pile, towards the velocities that the last stage aimed at.
    pub(super) fn propagate_shocks(&mut self, mechanisms: &mut [&mut Mechanism], herds: &Herds) {
        self.levels.find(self.u.len(), &self.contacts.between);
        for level in 1..=self.levels.highest {
            for _ in 0..SWEEPS {
                self.contacts.between.push_level(&mut self.u, &self.levels, level);
            }
            self.joints.project(mechanisms, herds, &mut self.u);
        }
    }
}

impl Batches {
    /// Pushes the bodies of a level away from those below, which stay.
    fn push_level(&self, u: &mut [Wide], levels: &Levels, level: u32) {
        let (zero, one) = (f64x4::splat(0.0), f64x4::splat(1.0));
        for batch in &self.batches {
            let pair = &batch.pair;
            let [a, b] = pair.bodies.map(|bodies| bodies.map(|body| levels.level(body)));
            let above = |of: &[u32; 4], other: &[u32; 4]| {
                f64x4::new(std::array::from_fn(|l| f64::from(of[l] == level && other[l] < level)))
            };
            let moves = [above(&a, &b), above(&b, &a)];
            if moves.iter().all(|m| m.to_array() == [0.0; 4]) {
                continue;
            }
            let mut lanes = pair.gather(u);
            for point in &self.points[batch.range()] {
                let turns = &point.turns[0];
                let of_side = |side: usize| {
                    let s = pair.inv_sqrt_mass[side];
                    s.mul_add(s, dot(&turns[side], &turns[side])) * moves[side]
                };
                let response = of_side(0) + of_side(1);
                // an empty lane has no mobility
                let answers = response.simd_gt(zero) & point.mobility.simd_gt(zero);
                let inverse = answers.select(one / response, zero);
                let v = point.rate(0, pair, &pair.against(&lanes)) + point.drift[0];
                let shock = ((point.target - v) * inverse).max(zero);
                for (side, sign) in [(0, -one), (1, one)] {
                    let given = shock * moves[side];
                    let along = given * sign * pair.inv_sqrt_mass[side];
                    for c in 0..3 {
                        lanes[side][c] = pair.directions[0][c].mul_add(along, lanes[side][c]);
                        lanes[side][3 + c] = turns[side][c].mul_add(given, lanes[side][3 + c]);
                    }
                }
            }
            scatter(u, &pair.bodies, &lanes);
        }
    }
}
