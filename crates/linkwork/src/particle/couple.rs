//! Particles in a world: bodies stop them, carry them and feel them.
//!
//! Once a step, before the bodies move, particles are stepped among the shapes of the bodies as these move, with the
//! velocities of dynamic bodies as further unknowns (implicit.rs). The impulses they exchange act on the bodies as forces
//! over the step that follows, joints and contacts included; then attached particles are put where their bodies have
//! come to, and those that touch are brought out of the shapes.
//!
//! What a body does without particles must be guessed: that it goes on to accelerate as it did in the last step, when
//! particles pushed it by a known force. So a hook that joints hold up is not taken for one that falls, and
//! M (V − v − h a) = P − P_last: only the change of the push meets the body's own mass.

use super::implicit::{Attached, Rider, Surroundings};
use super::solid::Solid;
use super::{ForceId, Gravity, ParticleSystem, Saved};
use crate::body::BodyState;
use crate::collide::narrow::Place;
use crate::collide::parry::Bounds;
use crate::collide::shape::Material;
use crate::error::{SceneError, StepError};
use crate::handle::BodyId;
use crate::math::Placed;
use crate::scene::Combine;
use crate::world::World;
use glam::{DMat3, DVec3};

/// A particle system of a world.
#[derive(Clone)]
pub(crate) struct SystemState {
    pub name: String,
    pub system: ParticleSystem,
    pub gravity: ForceId,
    pub anchors: Vec<Anchor>,
    pub collides: bool,
    pub friction: f64,
    pub restitution: f64,
    /// What is drawn between particles.
    pub lines: Vec<[u32; 2]>,
    pub triangles: Vec<[u32; 3]>,
}

/// A particle fixed to a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub particle: usize,
    pub body: BodyId,
    /// In the principal frame at the centre of mass.
    pub local: DVec3,
}

impl Anchor {
    pub fn here(world: &World, system: &ParticleSystem, particle: usize, body: BodyId) -> Result<Anchor, SceneError> {
        let gone = || SceneError::new("body", "is gone");
        let state = world.bodies.get(body).ok_or_else(gone)?;
        system.check_not_driven(particle)?;
        let local = state.q.inverse() * (system.x[particle] - state.x);
        Ok(Anchor { particle, body, local })
    }
}

/// What a body felt from particles in the last step, N and N m, and how it moved before that step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pushed {
    pub force: DVec3,
    pub torque: DVec3,
    pub v: DVec3,
    pub w: DVec3,
    pub span: f64,
}

/// Accelerations beyond this, m/s² and rad/s², are blows and say nothing about the next step.
const FASTEST: f64 = 300.0;

/// What is needed to undo a push.
pub(crate) struct Undo {
    systems: Vec<Saved>,
    /// Slot, force, torque, velocities, memory.
    bodies: Vec<(u32, [DVec3; 4], Option<Pushed>)>,
}

impl Undo {
    pub fn undo(self, world: &mut World) {
        for (state, saved) in world.particles.iter_mut().zip(self.systems) {
            state.system.go_back(saved);
        }
        for (slot, [force, torque, v, w], pushed) in self.bodies {
            if let Some(body) = world.bodies.at_mut(slot as usize) {
                (body.force, body.torque, body.v, body.w, body.pushed) = (force, torque, v, w, pushed);
            }
        }
    }
}

/// Steps all particle systems, and puts what they do to bodies into the forces of these.
pub(crate) fn push(world: &mut World, h: f64) -> Result<Option<Undo>, StepError> {
    if world.particles.is_empty() {
        return Ok(None);
    }
    let mut undo = Undo { systems: world.particles.iter().map(|s| s.system.save()).collect(), bodies: Vec::new() };
    for (slot, body) in world.bodies.iter().filter(|(_, b)| b.is_dynamic()) {
        undo.bodies.push((slot.slot() as u32, [body.force, body.torque, body.v, body.w], body.pushed));
    }
    let mut systems = std::mem::take(&mut world.particles);
    let mut given: Vec<Vec<(u32, DVec3, DVec3)>> = Vec::new();
    let mut failed = None;
    for state in &mut systems {
        match step_system(world, state, h) {
            Ok(impulses) => given.push(impulses),
            Err(e) => {
                let path = format!("particles \"{}\": {}", state.name, e.path);
                failed = Some(StepError::Particles(SceneError { path, ..e }));
                break;
            }
        }
    }
    world.particles = systems;
    if let Some(error) = failed {
        undo.undo(world);
        return Err(error);
    }
    // the memory of every body that may be touched: what it felt and how it moved before
    for (_, body) in world.bodies.iter_mut().filter(|(_, b)| b.is_dynamic()) {
        let before = Pushed { v: body.v, w: body.w, span: h, ..Pushed::default() };
        body.pushed = Some(before);
    }
    for (slot, linear, angular) in given.into_iter().flatten() {
        let Some(body) = world.bodies.at_mut(slot as usize) else { continue };
        body.force += linear / h;
        body.torque += angular / h;
        // what hangs on particles does not sleep
        body.wake();
        if let Some(p) = &mut body.pushed {
            p.force += linear / h;
            p.torque += angular / h;
        }
    }
    Ok(Some(undo))
}

/// Steps one system; returns the impulses on bodies, by slot.
fn step_system(world: &World, state: &mut SystemState, h: f64) -> Result<Vec<(u32, DVec3, DVec3)>, SceneError> {
    state.system.set_force(state.gravity, Gravity(world.gravity))?;
    let mut around = Surroundings::default();
    // slots of the bodies of the riders
    let mut riders: Vec<u32> = Vec::new();
    let mut rider_of = |around: &mut Surroundings, slot: u32, body: &BodyState| -> Option<usize> {
        if !body.is_dynamic() {
            return None;
        }
        if let Some(k) = riders.iter().position(|r| *r == slot) {
            return Some(k);
        }
        riders.push(slot);
        around.riders.push(predicted(body, world.gravity, h));
        Some(riders.len() - 1)
    };
    if state.collides {
        let reach = state.system.swept_bounds(h);
        let own = Material {
            friction: (state.friction, Combine::GeometricMean),
            restitution: (state.restitution, Combine::Max),
            rolling: 0.0,
            spinning: 0.0,
            softness: None,
        };
        for (id, body) in world.bodies.iter() {
            let placed = body.placed();
            for (number, c) in body.colliders.iter().enumerate().filter(|(_, c)| !c.sensor) {
                let place = Place { x: placed.x + placed.r * c.position, r: placed.r * c.turn };
                let (v, w) = (body.v, body.w);
                let mut solid = Solid::new(c.form.clone(), place, body.x, v, w);
                if !solid.swept(h, 0.05).overlaps(&reach) {
                    continue;
                }
                let touch = c.material.with(&own);
                solid = solid.material(touch.friction, touch.restitution);
                solid.rider = rider_of(&mut around, id.slot() as u32, body);
                solid.key = (id.slot() as u32) << 12 | (number as u32).min(4095);
                around.solids.push(solid);
            }
        }
    }
    for anchor in &state.anchors {
        let Some(body) = world.bodies.get(anchor.body) else { continue };
        let rider = rider_of(&mut around, anchor.body.slot() as u32, body);
        let lever = body.q * anchor.local;
        let moving = match rider {
            Some(k) => around.riders[k].point(lever),
            None => body.v + body.w.cross(lever),
        };
        let velocity = moving + (body.x + lever - state.system.x[anchor.particle]) / h;
        around.attached.push(Attached { particle: anchor.particle, rider, lever, velocity });
    }
    state.system.step_among(h, &mut around)?;
    let push = |(slot, r): (u32, &Rider)| (slot, (r.v - r.v0) * r.mass, r.inertia * (r.w - r.w0));
    Ok(riders.into_iter().zip(&around.riders).map(push).collect())
}

/// A body as it would move without particles; the first guess is that they go on to push as they did.
fn predicted(body: &BodyState, gravity: DVec3, h: f64) -> Rider {
    let r = DMat3::from_quat(body.q);
    let inertia = r * DMat3::from_diagonal(body.mass.moments) * r.transpose();
    let free = gravity * body.gravity_scale + body.force / body.mass.mass;
    let known = body.pushed.map(|p| ((body.v - p.v) / p.span, (body.w - p.w) / p.span, p.force, p.torque));
    let smooth = known.filter(|(a, b, ..)| a.length() < FASTEST && b.length() < FASTEST);
    let (a, b, force, torque) = smooth.unwrap_or((free, DVec3::ZERO, DVec3::ZERO, DVec3::ZERO));
    let (v, w) = (body.v + a * h, body.w + b * h);
    let (v0, w0) = (v - force * (h / body.mass.mass), w - inertia.inverse() * torque * h);
    Rider { mass: body.mass.mass, inertia, v0, w0, v, w }
}

/// After the bodies have moved: attached particles are where their bodies are, and none is inside a shape. If the bodies
/// could not be moved, neither have the particles.
pub(crate) fn settle(world: &mut World, pushed: Option<Undo>, moved: bool, h: f64) {
    let Some(pushed) = pushed else { return };
    if !moved {
        return pushed.undo(world);
    }
    let mut systems = std::mem::take(&mut world.particles);
    for state in &mut systems {
        state.anchors.retain(|a| world.bodies.get(a.body).is_some());
        for anchor in &state.anchors {
            let Some(body) = world.bodies.get(anchor.body) else { continue };
            let lever = body.q * anchor.local;
            state.system.x[anchor.particle] = body.x + lever;
            state.system.v[anchor.particle] = body.v + body.w.cross(lever);
        }
        if !state.collides {
            continue;
        }
        let reach = state.system.swept_bounds(h);
        for (_, body) in world.bodies.iter() {
            let placed: Placed = body.placed();
            for c in body.colliders.iter().filter(|c| !c.sensor) {
                let place = Place { x: placed.x + placed.r * c.position, r: placed.r * c.turn };
                let solid = Solid::new(c.form.clone(), place, body.x, body.v, body.w);
                if solid.swept(0.0, 0.0).overlaps(&reach) {
                    state.system.bring_out(&solid, &state.anchors);
                }
            }
        }
    }
    world.particles = systems;
}

impl ParticleSystem {
    /// Box around all particles and where they are going.
    pub(crate) fn swept_bounds(&self, h: f64) -> Bounds {
        let points = self.x.iter().zip(&self.v).flat_map(|(x, v)| [*x, *x + *v * h]);
        Bounds::of(points).grown(self.radius + 0.01)
    }

    /// Moves particles that are within a solid to its surface.
    fn bring_out(&mut self, solid: &Solid, anchors: &[Anchor]) {
        let bounds = solid.swept(0.0, self.radius);
        for i in 0..self.x.len() {
            let p = self.x[i];
            if self.w[i] == 0.0 || !bounds.overlaps(&Bounds { low: p, high: p }) {
                continue;
            }
            if let Some((d, n)) = solid.distance(p, self.radius)
                && d < self.radius
                && !anchors.iter().any(|a| a.particle == i)
            {
                self.x[i] = p + n * (self.radius - d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Geometry, Particles, Rope, Scene, WORLD};
    use crate::{Scratch, StepParams, step};

    #[test]
    fn a_push_that_bodies_do_not_follow_is_undone_to_the_bit() {
        let mut scene = Scene::new("load");
        scene.body(Body::new("load").at([0.0, 0.0, -1.0]).with_mass(1.0).shape(Geometry::Sphere { radius: 0.1 }));
        let rope = Rope::new([0.0; 3], [0.0, 0.0, -1.0], 5, 0.1, 1e4).between(WORLD, "load");
        scene.particles(Particles { ropes: vec![rope], ..Particles::new("rope") });
        let mut world = World::build(&scene).unwrap();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
        step(&mut world, &mut scratch, &params).unwrap();
        let state = |w: &World| {
            let body = w.bodies.at(0).unwrap();
            (w.state_hash(), body.force, body.torque, body.pushed, w.particles[0].system.time())
        };
        let before = state(&world);
        let undo = push(&mut world, params.dt).unwrap();
        assert_ne!(state(&world), before);
        settle(&mut world, undo, false, params.dt);
        assert_eq!(state(&world), before);
    }
}
