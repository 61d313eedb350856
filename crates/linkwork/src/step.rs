//! The step: one function whose lines are the stages of docs/method.md.

use crate::contact::Contacts;
use crate::error::StepError;
use crate::events;
use crate::flight::{check_free_bodies, fly_freely, kinematic_bodies, place_kinematic_bodies};
use crate::math::Placed;
use crate::mechanism::herd::Herds;
use crate::mechanism::{Mechanism, choice, layout};
use crate::parallel::{MANY, for_each, on_a_thread};
use crate::params::{Method, StepParams, Stepper};
use crate::particle::couple::{self, Learned};
use crate::report::{StageTimer, Stages, StepReport};
use crate::world::World;
use std::sync::Arc;

/// Working memory of [`step`]: laid-out mechanisms and their factors. It can be dropped at any time without changing a result.
#[derive(Default)]
pub struct Scratch {
    /// The world and the state of its joint graph that the layout is for.
    laid_out_for: Option<(Arc<()>, u64)>,
    mechanisms: Vec<Mechanism>,
    /// Those of the mechanisms that are alike.
    herds: Herds,
    herds_are_known: bool,
    /// Whether the last step was taken by the direct method.
    is_direct: bool,
    free: Vec<u32>,
    contacts: Contacts,
    /// By how often the step has been halved: what takes part, and what is left for smaller steps.
    parts: [(Active, Active); Halving::MOST as usize + 1],
}

/// Advances the world by one step of `params.dt`.
///
/// On an error bodies, joints and time are exactly as before. Contact points forget the impulses from which the next step would
/// have started, what was known of resting islands is forgotten, and sleepers may have woken.
///
/// With the feature `parallel` the step of a world of more than 200 bodies is taken on one of rayon's threads, and the caller waits.
pub fn step(world: &mut World, scratch: &mut Scratch, params: &StepParams) -> Result<StepReport, StepError> {
    params.check().map_err(StepError::Parameter)?;
    scratch.lay_out(world);
    scratch.find_herds();
    scratch.is_direct = params.method == Method::Direct;
    let before = world.reassemble_if_posed(scratch)?;
    if params.stepper == Stepper::Events {
        return events::advance(world, scratch, params).inspect_err(|_| {
            world.collisions.stop_watching();
            if let Some(before) = &before {
                world.restore(before);
            }
        });
    }
    let many = world.bodies.slots() > MANY;
    on_a_thread(many, || advance_with_particles(world, scratch, params)).inspect_err(|_| {
        world.collisions.forget();
        world.collisions.stop_watching();
        world.resting = Default::default();
        if let Some(before) = &before {
            world.restore(before);
        }
    })
}

/// Times that a step is taken again because bodies did not do what particles expected.
const MOST_REPEATS: usize = 12;

/// Particles push the bodies, these move, and particles follow. What contacts and motors do to a body is known from the last
/// step only: where that has led particles astray, the step is taken again with what it has shown.
fn advance_with_particles(
    world: &mut World,
    scratch: &mut Scratch,
    params: &StepParams,
) -> Result<StepReport, StepError> {
    // what every attempt knew, and by how much bodies then missed what particles expected
    let mut attempts: Vec<(Option<Learned>, f64)> = Vec::new();
    let (mut learned, mut is_last) = (None, false);
    loop {
        let pushed = couple::push(world, &mut scratch.mechanisms, params.dt, learned.as_ref())?;
        let expects = !is_last && pushed.as_ref().is_some_and(|p| p.expects_bodies());
        let before = expects.then(|| world.bodies_now());
        let taken = advance(world, scratch, params);
        let shown = match (&taken, &pushed) {
            (Ok(_), Some(tried)) if expects => tried.learn(world),
            _ => None,
        };
        let has_failed = taken.is_err() && !attempts.is_empty() && !is_last;
        let Some(before) = before.filter(|_| shown.is_some() || has_failed) else {
            couple::settle(world, pushed, taken.is_ok(), params.dt);
            return taken;
        };
        world.rewind(before);
        couple::settle(world, pushed, false, params.dt);
        if let Some((missed, shown)) = shown {
            attempts.push((learned.replace(shown), missed));
        }
        if has_failed || attempts.len() == MOST_REPEATS {
            // none has come near enough: the best is taken
            let best = attempts.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1));
            learned = best.and_then(|best| best.0.take());
            is_last = true;
        }
    }
}

/// Mechanisms and bodies without joints that take part in a round of the step, by their place in [`Scratch`].
#[derive(Clone, Default)]
pub(crate) struct Active {
    pub mechanisms: Vec<bool>,
    pub free: Vec<bool>,
}

impl Active {
    fn fill(&mut self, mechanisms: usize, free: usize, active: bool) {
        self.mechanisms.clear();
        self.mechanisms.resize(mechanisms, active);
        self.free.clear();
        self.free.resize(free, active);
    }

    fn is_empty(&self) -> bool {
        !self.mechanisms.contains(&true) && !self.free.contains(&true)
    }
}

/// How often a step has been halved. What fails takes smaller steps up to an eighth; only what would end far from the truth (joints that do
/// not close, energy from nowhere, deep overlap) takes a thirty-second: heavy things that fall on light chains need it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Halving {
    pub times: u32,
}

impl Halving {
    const USUAL: u32 = 3;
    const MOST: u32 = 5;

    /// Whether what is not as exact as it should be is worth smaller steps.
    pub fn is_usual(self) -> bool {
        self.times < Self::USUAL
    }

    /// Whether what would be far from the truth can take smaller steps.
    pub fn is_possible(self) -> bool {
        self.times < Self::MOST
    }

    fn next(self) -> Halving {
        Halving { times: self.times + 1 }
    }
}

/// A part of a step, for those who look for contacts in it.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    /// What may have moved since the last look; `None` if that is everything.
    pub moved: Option<&'a Active>,
    /// Slots of the bodies that the user moves.
    pub driven: &'a [(usize, Placed)],
}

/// The stages of a step of a closed world; nothing changes before all of them are known to give numbers.
fn advance(world: &mut World, scratch: &mut Scratch, params: &StepParams) -> Result<StepReport, StepError> {
    check_free_bodies(world, &scratch.free)?;
    let mut report = StepReport::default();
    scratch.contacts.begin();
    if !params.sleeping && world.bodies.iter().any(|(_, b)| b.asleep) {
        world.wake_all();
    }
    let driven = kinematic_bodies(world);
    let round = Round { params, driven: &driven, elapsed: 0.0, halving: Halving::default() };
    let mut parts = std::mem::take(&mut scratch.parts);
    parts[0].0.fill(scratch.mechanisms.len(), scratch.free.len(), true);
    let outcome = round.run(world, scratch, &mut parts, None, params.dt, &mut report);
    scratch.parts = parts;
    outcome?;
    report.sleeping = world.bodies.iter().filter(|(_, b)| b.asleep).count();
    // members of herds have none
    let by_themselves = scratch.mechanisms.iter().enumerate().filter(|(k, _)| !scratch.contacts.is_herded(*k));
    report.redundant_rows = by_themselves.map(|(_, mechanism)| mechanism.redundant_rows()).sum();
    place_kinematic_bodies(world, &driven, params.dt);
    world.end_step(params.dt);
    world.note_touching();
    Ok(report)
}

/// A step, or a part of one for what needs smaller steps.
struct Round<'a> {
    params: &'a StepParams,
    driven: &'a [(usize, Placed)],
    elapsed: f64,
    halving: Halving,
}

impl Round<'_> {
    /// `parts` begins with that of this round; `part` if it is a part of a step.
    fn run(
        &self,
        world: &mut World,
        scratch: &mut Scratch,
        parts: &mut [(Active, Active)],
        part: Option<Part>,
        h: f64,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let Some(((active, late), parts)) = parts.split_first_mut() else { return Ok(()) };
        let params = &StepParams { dt: h, ..*self.params };
        let disturbed = self.elapsed == 0.0 && world.velocities_disturbed();
        let count = scratch.mechanisms.len();
        let Scratch { mechanisms, herds, free, contacts, .. } = scratch;

        // 1 what touches, and joints: every mechanism that touches nothing by itself, in working memory
        let mut timer = StageTimer::default();
        timer.start(params.clock);
        contacts.find(world, herds, free, active, h, part);
        if params.sleeping && self.halving.times == 0 {
            contacts.let_sleep(world, mechanisms, herds, free, active);
        }
        contacts.plan(world, mechanisms, herds, free, params, self.halving);
        timer.lap(|s| &mut s.collide);
        let seen = world.seen();
        let many = herds.bodies() > MANY;
        for_each(mechanisms, many, |k, mechanism| {
            if params.clock.is_some() {
                mechanism.timer.stages = Stages::default();
            }
            if active.mechanisms[k] && !contacts.gathers(k) {
                mechanism.gather_in_turn(&seen, params);
                if !contacts.touches(k) {
                    mechanism.advanced = Some(mechanism.advance(h, params, disturbed));
                    mechanism.timer.lap(|s| &mut s.other);
                }
            }
        });

        // 2 islands of what touches, joints and contacts together; some are left for smaller steps
        late.fill(count, free.len(), false);
        let spent = |mechanisms: &[Mechanism]| match params.clock {
            Some(_) => mechanisms.iter().map(|m| m.timer.stages.sum()).sum(),
            None => 0.0,
        };
        let by_joints = spent(mechanisms);
        timer.resume();
        let contact = contacts.advance(world, mechanisms, herds, free, params, self.halving, late);
        timer.lap(|s| &mut s.contact);
        timer.stages.contact = (timer.stages.contact - (spent(mechanisms) - by_joints)).max(0.0);
        report.stages.add(&timer.stages);
        for (k, mechanism) in mechanisms.iter_mut().enumerate() {
            let alone = mechanism.advanced.take().filter(|_| !late.mechanisms[k]);
            alone.into_iter().for_each(|advance| report.add(world, &advance, count));
        }
        contacts.advances().for_each(|advance| report.add(world, advance, count));
        report.add_contacts(world, &contact);
        // members of herds have their new state in contacts
        let taken = |k: usize| active.mechanisms[k] && !late.mechanisms[k] && !contacts.is_herded(k);
        for (k, mechanism) in mechanisms.iter().enumerate() {
            if taken(k) {
                mechanism.check_finite(world)?;
            }
        }
        if let Some(body) = contacts.not_finite(late).and_then(|slot| world.bodies.at(slot as usize)) {
            return Err(StepError::not_finite(body));
        }

        // 3 the world takes the new state
        if part.is_some() {
            contacts.note_given(&mut world.collisions, late);
        }
        // contacts need not go back with them: an error makes these forget
        let before =
            (!late.is_empty() && self.halving.times == 0).then(|| (world.bodies.clone(), world.joints.clone()));
        for (_, mechanism) in mechanisms.iter_mut().enumerate().filter(|(k, _)| taken(*k)) {
            mechanism.timer.resume();
            mechanism.scatter(&mut world.bodies, &mut world.joints, h);
            report.joint_solves += mechanism.take_joint_solves();
            mechanism.timer.lap(|s| &mut s.other);
            report.stages.add(&mechanism.timer.stages);
        }
        for (k, &slot) in free.iter().enumerate().filter(|(k, _)| active.free[*k]) {
            if !late.free[k] && !contacts.free_touches(k, count) {
                fly_freely(world, slot as usize, h);
            }
        }
        contacts.scatter(&mut world.bodies, &mut world.joints, late);
        if self.halving.times == 0 {
            contacts.forget_matrices(world, herds, free);
        }
        if params.sleeping && self.halving.times == 0 {
            contacts.fall_asleep(world, mechanisms, free, late, h);
        }
        if late.is_empty() {
            return Ok(());
        }

        // 4 the rest in two halves
        let mut halves = || {
            // the first part of a step finds everything moved, or waiting where it did not before
            let before = (self.halving.times > 0).then_some(&*active);
            // both halves look at the same contacts: those where there are most of them count
            let (own, mut most) = (report.contacts, 0);
            for (elapsed, moved) in [(self.elapsed, before), (self.elapsed + 0.5 * h, Some(&*late))] {
                place_kinematic_bodies(world, self.driven, elapsed);
                let half = Round { elapsed, halving: self.halving.next(), ..*self };
                parts[0].0.clone_from(late);
                report.contacts = 0;
                let part = Part { moved, driven: self.driven };
                half.run(world, scratch, parts, Some(part), 0.5 * h, report)?;
                most = most.max(report.contacts);
            }
            report.contacts = own + most;
            Ok(())
        };
        let outcome = halves();
        if self.halving.times == 0 {
            world.collisions.end_parts(h);
        }
        if let (Err(_), Some(before)) = (&outcome, before) {
            (world.bodies, world.joints) = before;
        }
        outcome
    }
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
        let mut relaid = !same;
        let left_alone =
            |k: usize| same && self.herds_are_known && self.is_direct && self.herds.is_settled(k as u32, &world.joints);
        for (_, mechanism) in self.mechanisms.iter_mut().enumerate().filter(|(k, _)| !left_alone(*k)) {
            // what is done before a step, or without one, is done directly
            mechanism.method = Method::Direct;
            let hubs = mechanism.layout.hubs;
            choice::settle(mechanism, world);
            relaid |= mechanism.layout.hubs != hubs;
        }
        if relaid {
            self.herds_are_known = false;
        }
    }

    /// Finds the mechanisms that are alike, if they have been laid out anew: only steps ask for them.
    pub(crate) fn find_herds(&mut self) {
        if !std::mem::replace(&mut self.herds_are_known, true) {
            self.herds = Herds::new(&self.mechanisms);
        }
    }

    /// Slots of the bodies without joints.
    pub(crate) fn free(&self) -> &[u32] {
        &self.free
    }

    /// Has every mechanism advanced by itself, until mechanisms are laid out anew.
    #[cfg(test)]
    pub(crate) fn disband_herds(&mut self) {
        self.herds.disband();
    }

    /// Into how many parts piles were divided in the last step, at most.
    #[cfg(test)]
    pub(crate) fn parts_of_piles(&self) -> usize {
        self.contacts.parts_of_piles()
    }

    /// Of every mechanism: whether it was advanced as a member of a herd in the last step.
    #[cfg(test)]
    pub(crate) fn herded(&self) -> Vec<bool> {
        (0..self.mechanisms.len()).map(|k| self.contacts.is_herded(k)).collect()
    }

    pub(crate) fn mechanisms_mut(&mut self) -> &mut [Mechanism] {
        &mut self.mechanisms
    }
}
