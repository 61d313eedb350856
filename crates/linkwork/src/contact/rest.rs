//! Islands that sleep and fall asleep.

use super::{Contacts, Island};
use crate::mechanism::Mechanism;
use crate::mechanism::herd::Herds;
use crate::scene::BodyKind;
use crate::step::Active;
use crate::world::World;
use glam::DVec3;

/// Whether a mechanism is moved from outside, or by a motor that is told to run, however slowly.
fn is_driven(world: &World, mechanism: &Mechanism) -> bool {
    let carried = mechanism
        .outside_bodies()
        .filter_map(|slot| world.bodies.at(slot as usize))
        .any(|b| b.kind == BodyKind::Kinematic && (b.v != DVec3::ZERO || b.w != DVec3::ZERO));
    let mut joints = mechanism.joint_slots().iter().filter_map(|&slot| world.joints.at(slot as usize));
    carried || joints.any(|joint| joint.drives.iter().any(|drive| drive.is_running()))
}

impl Contacts {
    /// Finds what sleeps: islands of sleeping bodies that nothing moving reaches, and sleepers that touch nothing. What
    /// sleeps is no longer active; what shares an island with something awake wakes.
    pub fn let_sleep(
        &mut self,
        world: &mut World,
        mechanisms: &[Mechanism],
        herds: &Herds,
        free: &[u32],
        active: &mut Active,
    ) {
        for mechanism in mechanisms {
            if is_driven(world, mechanism) {
                world.wake_slots(mechanism.movable_bodies());
            }
        }
        for k in 0..self.count {
            let mut island = self.lend(k);
            island.collect_bodies(herds, free);
            let driven = |slot: u32| {
                let body = world.bodies.at(slot as usize).filter(|b| b.kind == BodyKind::Kinematic);
                body.is_some_and(|b| b.v != DVec3::ZERO || b.w != DVec3::ZERO)
            };
            let disturbed = island.manifolds.iter().any(|&m| {
                let m = &world.collisions.manifolds[m as usize];
                driven(m.a) || driven(m.b)
            });
            island.asleep = !disturbed && world.all_asleep(&island.bodies);
            if !island.asleep {
                world.wake_sleepers(&island.bodies);
            }
            self.give_back(k, island);
        }
        for (k, mechanism) in mechanisms.iter().enumerate() {
            active.mechanisms[k] &= !world.all_asleep(mechanism.movable_bodies());
        }
        for (k, slot) in free.iter().enumerate() {
            active.free[k] &= !world.all_asleep(std::slice::from_ref(slot));
        }
    }

    /// Lets what has been at rest fall asleep, after a step; what is late has not made its step yet.
    pub fn fall_asleep(&self, world: &mut World, mechanisms: &[Mechanism], free: &[u32], late: &Active, dt: f64) {
        world.note_rest(dt);
        let is_late = |i: &Island| {
            i.mechanisms.iter().any(|&m| late.mechanisms[m as usize]) || i.free.iter().any(|&k| late.free[k as usize])
        };
        for island in self.islands[..self.count].iter().filter(|i| !i.asleep && !is_late(i)) {
            world.fall_asleep(&island.bodies);
        }
        for (_, mechanism) in mechanisms.iter().enumerate().filter(|(k, _)| !self.touches(*k) && !late.mechanisms[*k]) {
            world.fall_asleep(mechanism.movable_bodies());
        }
        for (k, slot) in free.iter().enumerate() {
            if !self.free_touches(k, mechanisms.len()) && !late.free[k] {
                world.fall_asleep(std::slice::from_ref(slot));
            }
        }
    }
}
