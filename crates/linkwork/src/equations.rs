//! A world as a system of differential equations, for any solver of [`ode`](crate::ode).
//!
//! State: of every dynamic body its centre of mass, orientation (world from principal axes, x y z w), velocity and angular
//! velocity in world axes, thirteen numbers. Their rates come from the accelerations: Newton and Euler for a body alone;
//! for a mechanism A λ = −(Ĵ a₀ + J̇ u), a = a₀ + Ĵᵀ λ, as in the error-controlled steps.
//!
//! What happens at moments, contacts, limits and dry friction, is not in the equations: who follows them looks for such
//! events with [`integrate_until`](crate::ode::Adaptive::integrate_until), answers (by [`collision`](crate::collision) and
//! [`lcp`](crate::lcp)), and goes on. That is how [`Stepper::Events`](crate::Stepper) works (Baraff 1989, 1994).
//! Solvers do not project: joints open by as much as the solver errs.

use crate::body::BodyState;
use crate::error::SceneError;
use crate::ode::System;
use crate::step::Scratch;
use crate::world::World;
use glam::{DMat3, DQuat, DVec3};

/// Numbers of a body.
pub(crate) const OF_BODY: usize = 13;

/// A world whose motion any solver can follow.
///
/// ```
/// use linkwork::ode::{Adaptive, DormandPrince, Direction, Outcome, Tolerance};
/// use linkwork::scene::{Body, Geometry};
/// use linkwork::{Scene, World, WorldEquations};
///
/// let mut scene = Scene::new("drop");
/// scene.body(Body::new("ball").at([0.0, 0.0, 5.0]).with_mass(1.0).shape(Geometry::Sphere { radius: 0.1 }));
/// let mut falling = WorldEquations::new(World::build(&scene)?)?;
/// let height = 2; // the third number is z
/// let touches = |_t: f64, y: &[f64]| y[height] - 0.1;
/// let mut solver = DormandPrince::new(Tolerance::new(1e-10))?;
/// let Outcome::Event { time } = solver.integrate_until(&mut falling, 5.0, Direction::Falling, touches)? else { panic!() };
/// assert!((time - (2.0 * 4.9 / 9.81_f64).sqrt()).abs() < 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WorldEquations {
    world: World,
    scratch: Scratch,
    slots: Vec<usize>,
    time: f64,
}

impl WorldEquations {
    /// Takes a world over. Its dynamic bodies are numbered in the order of the world.
    ///
    /// # Errors
    /// If it has particles: these are a [`System`] of their own.
    pub fn new(mut world: World) -> Result<WorldEquations, SceneError> {
        if world.particle_system_count() > 0 {
            return Err(SceneError::new("particles", "are a system of equations by themselves")
                .hint("take World::particle_system, or step the world"));
        }
        let slots = world.bodies.iter().filter(|(_, b)| b.is_dynamic()).map(|(id, _)| id.slot()).collect();
        // velocities of the ends of steps from now on
        world.bodies.iter_mut().for_each(|(_, b)| b.lag = 0.0);
        let time = world.time();
        Ok(WorldEquations { world, scratch: Scratch::default(), slots, time })
    }

    /// The world as it is now.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// To apply forces or impulses, or change motors, between integrations. Forces stay until they are changed.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Gives the world back.
    pub fn into_world(mut self) -> World {
        self.world.forget_memory();
        self.world
    }
}

impl System for WorldEquations {
    fn dimension(&self) -> usize {
        OF_BODY * self.slots.len()
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn state(&self, y: &mut [f64]) {
        for (slot, y) in self.slots.iter().zip(y.chunks_exact_mut(OF_BODY)) {
            let Some(b) = self.world.bodies.at(*slot) else { continue };
            write_body(b, y);
        }
    }

    fn set_state(&mut self, time: f64, y: &[f64]) {
        self.time = time;
        for (slot, y) in self.slots.iter().zip(y.chunks_exact(OF_BODY)) {
            let Some(b) = self.world.bodies.at_mut(*slot) else { continue };
            read_body(y, b);
        }
        self.world.read_coordinates();
    }

    fn derivative(&mut self, dy: &mut [f64]) {
        let (world, scratch) = (&mut self.world, &mut self.scratch);
        scratch.lay_out(world);
        let accelerations = accelerations(world, scratch);
        for (slot, dy) in self.slots.iter().zip(dy.chunks_exact_mut(OF_BODY)) {
            let Some(b) = world.bodies.at(*slot) else { continue };
            write_rates(b, accelerations[*slot], dy);
        }
    }
}

/// Writes the numbers of a body.
pub(crate) fn write_body(b: &BodyState, y: &mut [f64]) {
    b.x.write_to_slice(&mut y[0..]);
    b.q.write_to_slice(&mut y[3..]);
    b.v.write_to_slice(&mut y[7..]);
    b.w.write_to_slice(&mut y[10..]);
}

/// Puts a body where its numbers say.
pub(crate) fn read_body(y: &[f64], b: &mut BodyState) {
    b.x = DVec3::from_slice(&y[0..]);
    // a solver's orientation is not quite one; none at all if it has lost its way, which it finds out itself
    let q = DQuat::from_slice(&y[3..]);
    b.q = if q.length_squared() > 1e-12 { q.normalize() } else { DQuat::IDENTITY };
    b.v = DVec3::from_slice(&y[7..]);
    b.w = DVec3::from_slice(&y[10..]);
}

/// Writes the rates of a body's numbers.
pub(crate) fn write_rates(b: &BodyState, (a, turn): (DVec3, DVec3), dy: &mut [f64]) {
    let rate = DQuat::from_xyzw(0.5 * b.w.x, 0.5 * b.w.y, 0.5 * b.w.z, 0.0) * b.q;
    b.v.write_to_slice(&mut dy[0..]);
    rate.write_to_slice(&mut dy[3..]);
    a.write_to_slice(&mut dy[7..]);
    turn.write_to_slice(&mut dy[10..]);
}

/// Linear and angular accelerations by slot, where the bodies are and without contacts; mechanisms are left gathered and factorised.
pub(crate) fn accelerations(world: &World, scratch: &mut Scratch) -> Vec<(DVec3, DVec3)> {
    let slots = world.bodies.iter().map(|(id, _)| id.slot() + 1).max().unwrap_or(0);
    let mut accelerations = vec![(DVec3::ZERO, DVec3::ZERO); slots];
    for slot in scratch.free() {
        let Some(b) = world.bodies.at(*slot as usize) else { continue };
        let r = DMat3::from_quat(b.q);
        let spin = r.transpose() * b.w;
        let torque = r.transpose() * b.torque - spin.cross(b.mass.moments * spin);
        let a = b.force / b.mass.mass + world.gravity * b.gravity_scale - b.v * b.linear_damping;
        accelerations[*slot as usize] = (a, r * (torque / b.mass.moments) - b.w * b.angular_damping);
    }
    for mechanism in scratch.mechanisms_mut() {
        mechanism.gather(&world.bodies, &world.joints, world.gravity);
        let found = mechanism.accelerations();
        for (slot, a) in mechanism.movable_bodies().iter().zip(found) {
            accelerations[*slot as usize] = a;
        }
    }
    accelerations
}
