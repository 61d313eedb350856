//! Event-driven stepping (Baraff 1989, 1994; SimulationStep of the slides): from one collision to the next.
//!
//! Between events a world is a system of differential equations that an error-controlled solver follows. The forces of what
//! rests (contact points, limits, stuck friction and motors) are part of those equations: at every derivative they are the
//! solution of a complementarity problem in accelerations, a = Af + b ≥ 0, f ≥ 0, fᵀa = 0 ([`forces`]).
//!
//! A step of `dt`:
//! 1. *settle*: what touches and approaches is struck, all at once, until nothing approaches ([`impact`]); what is left touching
//!    rests, and slides or sticks.
//! 2. *try*: the solver takes one step as long as its tolerance allows.
//! 3. *look*: the path of the step is looked at as often as a collision could hide in it ([`watch`]). Where something has gone
//!    through something, past a limit, or has come to rest or slipped, the moment is found by bisection and the step is taken back to it.
//! 4. joints are closed; again from 1 until `dt` is over.
//!
//! *Zeno.* A ball that bounces ever lower would do so infinitely often. What meets more slowly than [`REST_SPEED`] does not
//! bounce; where time does not pass in spite of that, the speed rises tenfold, and if that does not help either, the step fails.

mod forces;
mod impact;
mod push;
mod stage;
mod watch;

use crate::error::{SceneError, StepError};
use crate::flight::{check_free_bodies, place_kinematic_bodies};
use crate::ode::{Adaptive, DormandPrince, OdeError, System, Tolerance};
use crate::params::StepParams;
use crate::report::StepReport;
use crate::step::Scratch;
use crate::world::World;
use stage::Stage;

/// How near surfaces touch, m; and coordinates their limits, m or rad.
const TOUCH: f64 = 1e-9;
/// What meets more slowly does not bounce, m/s: a bounce of this speed rises 50 nm under gravity.
const REST_SPEED: f64 = 1e-3;
/// Sideways speed below which a point may stick, m/s.
const SLIDE_SPEED: f64 = 1e-7;
/// Error allowed in a step of the solver if no tolerance is given.
const TOLERANCE: f64 = 1e-9;
/// Events in a row without progress before what meets is taken to rest at ten times the speed, and how often that may be.
const MOST_STALLED: u32 = 24;
const MOST_ESCALATIONS: u32 = 4;
/// Events and solver steps within one step: a bound on its work, far beyond what makes sense.
const MOST_EVENTS: u32 = 20_000;

/// Advances the world by `params.dt`, from event to event. On an error it is as before.
pub(crate) fn advance(world: &mut World, scratch: &mut Scratch, params: &StepParams) -> Result<StepReport, StepError> {
    if world.particle_system_count() > 0 {
        let problem = SceneError::new("stepper", "particles cannot be stepped from event to event");
        return Err(StepError::Parameter(problem.hint("take the fixed stepper for scenes with particles")));
    }
    check_free_bodies(world, scratch.free())?;
    world.wake_all();
    let before = world.snapshot();
    let outcome = run(world, scratch, params);
    outcome.map_err(|error| {
        world.restore(&before);
        match &error {
            // what is known of the body is what it did before the step
            StepError::NotFinite { body, .. } => {
                world.body(body).and_then(|id| world.bodies.get(id)).map_or(error.clone(), StepError::not_finite)
            }
            _ => error,
        }
    })
}

fn run(world: &mut World, scratch: &mut Scratch, params: &StepParams) -> Result<StepReport, StepError> {
    let (dt, began) = (params.dt, world.time());
    let mut stage = Stage::new(world, scratch, params);
    stage.close_joints();
    let stopped = |time: f64, problem: String| StepError::Events { time: began + time, problem };
    let tolerance = Tolerance::new(params.tolerance.unwrap_or(TOLERANCE));
    let mut solver = DormandPrince::new(tolerance).map_err(|e| stopped(0.0, e.to_string()))?;
    let (mut attempts, mut stalled, mut escalations) = (0, 0, 0);
    solver.suggest(dt);
    while dt - stage.time() > 1e-12 * dt {
        let from = stage.time();
        stage.settle(dt - from, stalled >= 3).map_err(|problem| stopped(from, problem))?;
        let taken = solver.advance(&mut stage, dt).map_err(|e| match (stage.failure.take(), e) {
            (Some(problem), _) => stopped(from, problem),
            (None, OdeError::NotFinite { .. }) => stage.lost_body(),
            (None, e) => stopped(from, e.to_string()),
        })?;
        // a trial that was too long may have led where no forces are; the step that was taken did not
        stage.failure = None;
        stage.substeps += 1;
        if let Some(time) = stage.first_event(&solver, &taken) {
            let mut y = vec![0.0; stage.dimension()];
            solver.interpolate(time, &mut y);
            stage.set_state(time, &y);
        }
        stage.close_joints();

        // a step that is all events: Zeno's, or a contradiction
        stalled = if stage.time() - from > 1e-7 * dt { 0 } else { stalled + 1 };
        if stalled > MOST_STALLED {
            (stalled, escalations) = (0, escalations + 1);
            stage.rest_speed *= 10.0;
        }
        attempts += 1;
        if escalations > MOST_ESCALATIONS || attempts > MOST_EVENTS {
            let near = stage.names_of_pushing();
            return Err(stopped(from, format!("events follow each other without end{near} (try the fixed stepper)")));
        }
    }
    stage.settle(0.0, false).map_err(|problem| stopped(dt, problem))?;
    let report = stage.finish(params);
    let driven = std::mem::take(&mut stage.driven);
    place_kinematic_bodies(world, &driven, dt);
    world.end_step(dt);
    world.note_touching();
    Ok(report)
}
