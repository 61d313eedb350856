//! Bodies that no joint holds and nothing touches: free flight, and bodies that the user moves.

use crate::error::StepError;
use crate::math::{Placed, rotation};
use crate::scene::BodyKind;
use crate::world::World;
use glam::DVec3;

/// Refuses forces that would throw a body without joints out of the range of numbers.
pub(crate) fn check_free_bodies(world: &World, free: &[u32]) -> Result<(), StepError> {
    for body in free.iter().filter_map(|&slot| world.bodies.at(slot as usize)) {
        let (force, torque) = body.push_by_particles().unwrap_or_default();
        let (force, torque) = (force + body.force, torque + body.torque);
        let fits = (force / body.mass.mass).is_finite() && (torque / body.mass.moments).is_finite();
        if !fits {
            return Err(StepError::not_finite(body));
        }
    }
    Ok(())
}

/// A body without joints: half kick, flight and free rotation, half kick.
pub(crate) fn fly_freely(world: &mut World, slot: usize, h: f64) {
    let gravity = world.gravity;
    let Some(body) = world.bodies.at_mut(slot) else { return };
    let m = &body.mass;
    let acceleration = body.force / m.mass + gravity * body.gravity_scale;
    let half = 0.5 * h;
    let first = half + std::mem::take(&mut body.lag);
    let damp = |v: &mut DVec3, w: &mut DVec3| {
        if body.linear_damping > 0.0 || body.angular_damping > 0.0 {
            *v *= (-body.linear_damping * half).exp();
            *w *= (-body.angular_damping * half).exp();
        }
    };
    let (mut v, mut l) = (body.v + acceleration * first, (body.q.inverse() * body.w) * m.moments);
    l += (body.q.inverse() * body.torque) * first;
    damp(&mut v, &mut l);
    let (q, mut l) = rotation::rotate_loose(body.q, l, m.moments.recip(), h);
    body.x += v * h;
    v += acceleration * half;
    l += (q.inverse() * body.torque) * half;
    damp(&mut v, &mut l);
    body.q = q;
    body.v = v;
    body.w = q * (l / m.moments);
}

/// Where the bodies that the user moves are when the step begins.
pub(crate) fn kinematic_bodies(world: &World) -> Vec<(usize, Placed)> {
    let driven = world.bodies.iter().filter(|(_, b)| b.kind == BodyKind::Kinematic);
    driven.map(|(id, b)| (id.slot(), b.placed())).collect()
}

/// Puts them where they are after a time.
pub(crate) fn place_kinematic_bodies(world: &mut World, driven: &[(usize, Placed)], elapsed: f64) {
    for (slot, start) in driven {
        let Some(body) = world.bodies.at_mut(*slot) else { continue };
        let motion = crate::joint::Motion { v: body.v, w: body.w };
        let Placed { x, q, .. } = crate::mechanism::outside_moved(&motion, start, elapsed);
        (body.x, body.q) = (x, q);
    }
}
