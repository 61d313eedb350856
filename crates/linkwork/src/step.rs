//! The step: one function whose lines are the stages of docs/method.md.

use crate::contact::Contacts;
use crate::error::StepError;
use crate::math::{Placed, rotation};
use crate::mechanism::{Mechanism, choice, layout};
use crate::params::StepParams;
use crate::particle::couple;
use crate::report::StepReport;
use crate::scene::BodyKind;
use crate::world::World;
use glam::DVec3;
use std::sync::Arc;

/// Working memory of [`step`]: laid-out mechanisms and their factors. It can be dropped at any time without changing a result.
#[derive(Default)]
pub struct Scratch {
    /// The world and the state of its joint graph that the layout is for.
    laid_out_for: Option<(Arc<()>, u64)>,
    mechanisms: Vec<Mechanism>,
    free: Vec<u32>,
    contacts: Contacts,
}

/// Advances the world by one step of `params.dt`.
///
/// On an error the world is exactly as before.
pub fn step(world: &mut World, scratch: &mut Scratch, params: &StepParams) -> Result<StepReport, StepError> {
    params.check().map_err(StepError::Parameter)?;
    scratch.lay_out(world);
    let before = world.reassemble_if_posed(scratch)?;
    let taken = couple::push(world, params.dt).and_then(|pushed| {
        let taken = advance(world, scratch, params);
        couple::settle(world, pushed, taken.is_ok(), params.dt);
        taken
    });
    taken.inspect_err(|_| {
        if let Some(before) = &before {
            world.restore(before);
        }
    })
}

/// The stages of a step of a closed world; nothing changes before all of them are known to give numbers.
fn advance(world: &mut World, scratch: &mut Scratch, params: &StepParams) -> Result<StepReport, StepError> {
    let h = params.dt;

    // 1 joints: every mechanism by itself, in working memory
    let mut report = StepReport::default();
    let disturbed = world.velocities_disturbed();
    let count = scratch.mechanisms.len();
    let Scratch { mechanisms, free, contacts, .. } = scratch;
    check_free_bodies(world, free)?;
    contacts.find(world, mechanisms, free, h);
    for (k, mechanism) in mechanisms.iter_mut().enumerate() {
        mechanism.timer.start(params.clock);
        mechanism.gather(&world.bodies, &world.joints, world.gravity);
        if contacts.touches(k) {
            continue;
        }
        let advance = mechanism.advance(h, params, disturbed);
        report.add(world, &advance, count);
    }

    // 2 islands of what touches, joints and contacts together
    let mut advances = Vec::new();
    let contact = contacts.advance(world, mechanisms, free, params, |_, advance| advances.push(*advance));
    advances.iter().for_each(|advance| report.add(world, advance, count));
    report.add_contacts(world, &contact);
    for mechanism in mechanisms.iter() {
        mechanism.check_finite(world)?;
        report.redundant_rows += mechanism.redundant_rows();
    }
    if let Some(slot) = contacts.not_finite() {
        let name = world.bodies.at(slot as usize).map_or("?", |b| b.name.as_str());
        return Err(StepError::NotFinite { body: name.to_string() });
    }

    // 3 the world takes the new state
    for mechanism in mechanisms.iter_mut() {
        mechanism.scatter(&mut world.bodies, &mut world.joints, h);
        mechanism.timer.lap(|s| &mut s.other);
        report.stages.add(&mechanism.timer.stages);
    }
    for (k, &slot) in free.iter().enumerate() {
        if !contacts.free_touches(k, mechanisms.len()) {
            fly_freely(world, slot as usize, h);
        }
    }
    contacts.scatter(&mut world.bodies);
    move_kinematic_bodies(world, h);
    world.end_step(h);
    world.note_touching(h);
    Ok(report)
}

impl Scratch {
    /// Lays the mechanisms out anew if the joint graph has changed, and settles how their systems are set up.
    pub(crate) fn lay_out(&mut self, world: &World) {
        let key = (world.identity.clone(), world.graph_version);
        let same = self.laid_out_for.as_ref().is_some_and(|(w, v)| Arc::ptr_eq(w, &key.0) && *v == key.1);
        if !same {
            let (layouts, free) = layout::mechanisms(&world.bodies, &world.joints, world.graph_version);
            self.mechanisms = layouts.into_iter().map(|l| choice::remembered_or_new(l, world)).collect();
            self.free = free;
            self.laid_out_for = Some(key);
        }
        for mechanism in &mut self.mechanisms {
            choice::settle(mechanism, world);
        }
    }

    pub(crate) fn mechanisms_mut(&mut self) -> &mut [Mechanism] {
        &mut self.mechanisms
    }
}

/// Refuses forces that would throw a body without joints out of the range of numbers.
fn check_free_bodies(world: &World, free: &[u32]) -> Result<(), StepError> {
    for body in free.iter().filter_map(|&slot| world.bodies.at(slot as usize)) {
        let fits = (body.force / body.mass.mass).is_finite() && (body.torque / body.mass.moments).is_finite();
        if !fits {
            return Err(StepError::NotFinite { body: body.name.clone() });
        }
    }
    Ok(())
}

/// A body without joints: half kick, flight and free rotation, half kick.
fn fly_freely(world: &mut World, slot: usize, h: f64) {
    let gravity = world.gravity;
    let Some(body) = world.bodies.at_mut(slot) else { return };
    let m = &body.mass;
    let acceleration = body.force / m.mass + gravity * body.gravity_scale;
    let half = 0.5 * h;
    // what touched something has its velocities of the middle of the last step
    let first = if std::mem::take(&mut body.supported) { h } else { half };
    let damp = |v: &mut DVec3, w: &mut DVec3| {
        if body.linear_damping > 0.0 || body.angular_damping > 0.0 {
            *v *= (-body.linear_damping * half).exp();
            *w *= (-body.angular_damping * half).exp();
        }
    };
    let (mut v, mut l) = (body.v + acceleration * first, (body.q.inverse() * body.w) * m.moments);
    l += (body.q.inverse() * body.torque) * first;
    damp(&mut v, &mut l);
    let (q, mut l) = rotation::rotate_free(body.q, l, m.moments.recip(), h);
    body.x += v * h;
    v += acceleration * half;
    l += (q.inverse() * body.torque) * half;
    damp(&mut v, &mut l);
    body.q = q;
    body.v = v;
    body.w = q * (l / m.moments);
}

fn move_kinematic_bodies(world: &mut World, h: f64) {
    for (_, body) in world.bodies.iter_mut().filter(|(_, b)| b.kind == BodyKind::Kinematic) {
        let motion = crate::joint::Motion { v: body.v, w: body.w };
        let Placed { x, q, .. } = crate::mechanism::outside_moved(&motion, &body.placed(), h);
        (body.x, body.q) = (x, q);
    }
}
