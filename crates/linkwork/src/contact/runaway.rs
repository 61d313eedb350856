//! Mechanisms that touched nothing where the step began, and that motors, springs and loads drive farther than contacts were looked for.
//!
//! Contacts are looked for as far as bodies go by the speed that they have. What is driven from rest may be through a wall before it is
//! seen: a ram of 1 kg goes 28 cm in the first sixtieth of a second under 2 kN. So what has gone farther than that is looked at where it
//! ends, and cast along its way. If it meets something, it takes smaller steps, with whatever it hits; how fast it was is known to these.

use super::look::{TOO_DEEP, flown};
use super::{ContactReport, Contacts, Island, NONE};
use crate::collide::Looker;
use crate::joint::Motion;
use crate::math::{Placed, rotation};
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use crate::step::Active;
use crate::world::{Seen, World};

/// A collider that goes farther than it was reckoned to.
struct Thrown {
    mechanism: u32,
    slot: u32,
    collider: u32,
    motion: Motion,
}

impl Contacts {
    /// Leaves mechanisms for smaller steps that were advanced by themselves into or through something.
    pub(super) fn stop_runaways(&mut self, world: &Seen, mechanisms: &[Mechanism], h: f64, late: &mut Active) {
        let mut looker = Looker::default();
        for thrown in self.find_thrown(world, mechanisms, h) {
            for other in self.find_met(world, mechanisms, &mut looker, &thrown, h) {
                late.mechanisms[thrown.mechanism as usize] = true;
                let speed = world.collisions.speed(thrown.collider, &thrown.motion);
                self.note_push(thrown.slot, if speed.is_finite() { speed } else { 0.0 });
                let unit = self.unit[other as usize];
                self.hit.extend(Some(unit).filter(|unit| *unit != NONE && *unit != thrown.mechanism));
            }
        }
    }

    /// Leaves what was hit from outside its island for smaller steps, and wakes it: it must not stand still while it is hit.
    pub(super) fn delay_hits(&self, world: &mut World, herds: &Herds, free: &[u32], late: &mut Active) {
        for unit in self.hit.iter().map(|&unit| unit as usize) {
            match unit < self.mechanism_count {
                true => world.wake_sleepers(herds.bodies_of(unit as u32)),
                false => world.wake_sleepers(&free[unit - self.mechanism_count..][..1]),
            }
            match self.island_of[unit] {
                NONE if unit < self.mechanism_count => late.mechanisms[unit] = true,
                NONE => late.free[unit - self.mechanism_count] = true,
                island => self.islands[island as usize].delay(late),
            }
        }
    }

    /// Tells what islands did that are done. Of what is left for smaller steps these will tell, also of what was advanced before something hit it.
    pub(super) fn tell(&mut self, late: &Active, report: &mut ContactReport) {
        for island in self.islands[..self.count].iter_mut().filter(|island| !island.asleep) {
            let is_late = |island: &Island| {
                island.mechanisms.iter().any(|&m| late.mechanisms[m as usize])
                    || island.free.iter().any(|&k| late.free[k as usize])
            };
            match is_late(island) {
                true => island.advances.clear(),
                false => {
                    report.add(&island.report);
                    self.advances.append(&mut island.advances);
                }
            }
        }
    }

    fn find_thrown(&self, world: &Seen, mechanisms: &[Mechanism], h: f64) -> Vec<Thrown> {
        let mut thrown = Vec::new();
        for (k, mechanism) in mechanisms.iter().enumerate().filter(|(_, m)| m.advanced.is_some()) {
            for (b, &slot) in mechanism.movable_bodies().iter().enumerate() {
                let colliders = world.collisions.colliders_of(slot);
                let Some(body) = world.bodies.at(slot as usize).filter(|_| !colliders.is_empty()) else { continue };
                let (here, end) = (body.placed(), mechanism.pose_of(b));
                let motion = Motion { v: (end.x - here.x) / h, w: rotation::log(end.q * here.q.conjugate()) / h };
                for collider in colliders {
                    if h * world.collisions.speed(collider, &motion) > world.collisions.reach(collider) {
                        thrown.push(Thrown { mechanism: k as u32, slot, collider, motion });
                    }
                }
            }
        }
        thrown
    }

    /// Slots of the bodies that a thrown collider ends in, or meets on its way.
    fn find_met(
        &self,
        world: &Seen,
        mechanisms: &[Mechanism],
        looker: &mut Looker,
        thrown: &Thrown,
        h: f64,
    ) -> Vec<u32> {
        let (collisions, mut met) = (world.collisions, Vec::new());
        let end = |slot: u32| -> Placed {
            let mechanism = mechanisms.get(self.unit[slot as usize] as usize).filter(|m| m.advanced.is_some());
            mechanism.map_or_else(|| flown(world, slot, h), |m| *m.pose_of(self.local[slot as usize] as usize))
        };
        collisions.each_pair_of(thrown.collider, |k| {
            let Some(pair) = collisions.pair_out_of_reach(k) else { return };
            let touches = collisions.look_ahead_with(looker, &pair, &end(pair.a), &end(pair.b), 0.0);
            if touches.iter().any(|t| t.points.iter().any(|p| p.1 < -TOO_DEEP)) {
                met.push(if pair.a == thrown.slot { pair.b } else { pair.a });
            }
        });
        let way = thrown.motion.v * h;
        // what may fly so far was looked for that far
        if way.length() <= collisions.reach(thrown.collider) {
            return met;
        }
        let others = collisions.met_on_the_way(thrown.collider, way);
        met.extend(others.iter().map(|&other| collisions.slot_of(other)));
        met
    }
}
