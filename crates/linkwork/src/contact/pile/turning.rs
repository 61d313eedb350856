//! How what friction holds in a pile goes on what turns.
//!
//! Substeps see the rows of the start of the step: what lies on a turntable would go straight, and end ½ω²r h² farther out in every step
//! (as in [`crate::contact::slip`]). So the velocity that friction holds turns with the bodies. Of two that turn together at w, each of a
//! unit whose rows let its place X go straight, b goes past a at
//!
//! v_b − v_a = w × (x_b − x_a) + (exp(t w) − 1) (w × (X_b − X_a))
//!
//! a time t after the start (Rodrigues 1840). X is the middle of what is free, with its joints, for the rows of these hold it as it is at the start; it is the
//! anchor of what hangs on something, and the place of what the user moves. Units are brought to their joints where they end.

use crate::body::BodyState;
use crate::collide::Manifold;
use crate::contact::{Contacts, Island, NONE};
use crate::math::rotation;
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use crate::scene::BodyKind;
use crate::world::Seen;
use glam::DVec3;

/// How much the velocities of two things may differ that turn together, as a part of the larger one.
const NEAR: f64 = 0.1;
/// Velocities that are none, m/s or rad/s: what turns about its own middle does not move it but for rounding.
const STILL: f64 = 1e-9;
/// How much less than this bodies would creep is not worth it, m/s.
const CREEP: f64 = 1e-8;

/// How a velocity turns: by (exp(t w) − 1) v = sin(|w| t) first + (1 − cos(|w| t)) second.
#[derive(Clone, Copy)]
pub(in crate::contact) struct Turn {
    pub first: DVec3,
    pub second: DVec3,
    /// w and |w|, rad/s; none if nothing turns.
    pub spin: DVec3,
    pub rate: f64,
}

impl Turn {
    pub const NONE: Turn = Turn { first: DVec3::ZERO, second: DVec3::ZERO, spin: DVec3::ZERO, rate: 0.0 };

    fn new(w: DVec3, v: DVec3) -> Turn {
        let axis = w.normalize_or_zero();
        let first = axis.cross(v);
        Turn { first, second: axis.cross(first), spin: w, rate: w.length() }
    }

    /// Means of both factors over a substep of `h_s`, a time after the step began.
    pub fn factors(rate: f64, elapsed: f64, h_s: f64) -> [f64; 2] {
        let half = 0.5 * rate * h_s;
        let chord = if half > 0.0 { rotation::sin_cos(half).0 / half } else { 1.0 };
        let (sin, cos) = rotation::sin_cos(rate * (elapsed + 0.5 * h_s));
        [chord * sin, 1.0 - chord * cos]
    }
}

/// How something turns as one: at its spin, while its place goes straight as far as its rows know.
#[derive(Clone, Copy)]
struct Turner {
    spin: DVec3,
    place: DVec3,
}

/// What turns with what, in a step of a pile.
pub(super) struct Turning<'a> {
    contacts: &'a Contacts,
    island: &'a Island,
    world: Seen<'a>,
    herds: &'a Herds,
    free: &'a [u32],
    h: f64,
    /// Of units, as far as they were asked for: how they turn, if they turn as one.
    known: Vec<Option<Option<Turner>>>,
}

impl<'a> Turning<'a> {
    pub fn new(
        contacts: &'a Contacts,
        island: &'a Island,
        world: Seen<'a>,
        herds: &'a Herds,
        free: &'a [u32],
        h: f64,
    ) -> Self {
        Turning { contacts, island, world, herds, free, h, known: vec![None; island.first.len()] }
    }

    /// How the velocity of b past a turns if friction holds them together.
    pub fn of(&mut self, manifold: &Manifold, mechanisms: &[&mut Mechanism]) -> Turn {
        let sides = [manifold.a, manifold.b].map(|slot| (slot, self.contacts.unit[slot as usize]));
        let turns_in_itself =
            |unit: u32| unit != NONE && matches!(self.known[self.contacts.place_in(self.island, unit)], Some(None));
        let nothing_turns = || sides.iter().any(|(slot, _)| self.body(*slot).is_none_or(|b| b.w == DVec3::ZERO));
        if sides[0].1 == sides[1].1 || sides.iter().any(|(_, unit)| turns_in_itself(*unit)) || nothing_turns() {
            return Turn::NONE;
        }
        let [Some(a), Some(b)] = sides.map(|(slot, unit)| self.turner(slot, unit, mechanisms)) else {
            return Turn::NONE;
        };
        if !is_near(a.spin, b.spin) {
            return Turn::NONE;
        }
        let w = 0.5 * (a.spin + b.spin);
        let turn = Turn::new(w, w.cross(b.place - a.place));
        if turn.rate * turn.first.length() * self.h > CREEP { turn } else { Turn::NONE }
    }

    fn body(&self, slot: u32) -> Option<&BodyState> {
        self.world.bodies.at(slot as usize).filter(|b| b.kind != BodyKind::Static)
    }

    /// What a body turns as a part of.
    fn turner(&mut self, slot: u32, unit: u32, mechanisms: &[&mut Mechanism]) -> Option<Turner> {
        if unit == NONE {
            return self.as_one(&[slot]);
        }
        let place = self.contacts.place_in(self.island, unit);
        let number = self.island.mechanisms.get(place);
        // members of herds hang on nothing
        if number.is_some_and(|&number| self.herds.of(number).is_none())
            && let Some(anchor) = mechanisms[place].anchor()
        {
            let body = self.body(slot)?;
            let turns_about_it = is_near(body.v, body.w.cross(body.x - anchor));
            return turns_about_it.then_some(Turner { spin: body.w, place: anchor });
        }
        if let Some(known) = self.known[place] {
            return known;
        }
        let found = match number {
            Some(&number) => self.as_one(self.herds.bodies_of(number)),
            None => self.as_one(&[self.free[self.island.free[place - self.island.mechanisms.len()] as usize]]),
        };
        self.known[place] = Some(found);
        found
    }

    /// How bodies turn that nothing else holds, if all of them turn as one does.
    fn as_one(&self, slots: &[u32]) -> Option<Turner> {
        let bodies = || slots.iter().filter_map(|&slot| self.body(slot));
        let spin = bodies().next()?.w;
        if !bodies().all(|b| is_near(b.w, spin)) {
            return None;
        }
        let mass: f64 = bodies().map(|b| b.mass.mass).sum();
        let place = match slots.len() {
            1 => bodies().map(|b| b.x).sum(),
            _ => bodies().map(|b| b.x * (b.mass.mass / mass)).sum(),
        };
        Some(Turner { spin, place })
    }
}

fn is_near(a: DVec3, b: DVec3) -> bool {
    (a - b).length() <= NEAR * a.length().max(b.length()) + STILL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn velocities_turn_by_their_mean_over_a_substep() {
        let (w, v) = (DVec3::new(0.3, -1.2, 2.0), DVec3::new(0.7, 0.2, -0.4));
        let turn = Turn::new(w, v);
        for (elapsed, h_s) in [(0.0, 1e-3), (0.1, 0.2), (0.5, 1e-9)] {
            let [sin, cos] = Turn::factors(turn.rate, elapsed, h_s);
            let found = turn.first * sin + turn.second * cos;
            // Simpson's rule over turned vectors
            let count = 200;
            let turned = |k: usize| rotation::exp(w * (elapsed + h_s * k as f64 / count as f64)) * v - v;
            let weight = |k: usize| match k {
                0 => 1.0,
                _ if k == count => 1.0,
                _ if k % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let mean = (0..=count).map(|k| turned(k) * weight(k)).sum::<DVec3>() / (3 * count) as f64;
            assert!(found.distance(mean) < 1e-12, "{found} {mean}");
        }
        assert_eq!(Turn::factors(0.0, 0.1, 0.1), [0.0, 0.0]);
    }
}
