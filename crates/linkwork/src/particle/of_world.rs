//! Particle systems of a world: looking at them, changing them.

use super::couple::{Anchor, SystemState};
use super::{ForceId, ParticleSystem, Spring, Springs, compile};
use crate::error::SceneError;
use crate::handle::BodyId;
use crate::scene::Particles;
use crate::world::World;
use glam::DVec3;

/// What is drawn of a particle system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleDrawing<'a> {
    /// Its name.
    pub name: &'a str,
    /// Springs, rods and pieces of rope.
    pub lines: &'a [[u32; 2]],
    /// Triangles of cloth.
    pub triangles: &'a [[u32; 3]],
}

impl World {
    pub(crate) fn insert_particles(&mut self, described: &[Particles]) -> Vec<SceneError> {
        let mut problems = Vec::new();
        for (k, p) in described.iter().enumerate() {
            let path = format!("particles[{k}]");
            match self.new_particles(p, &path) {
                Ok(()) => {}
                Err(problem) => problems.push(problem),
            }
        }
        problems
    }

    fn new_particles(&mut self, p: &Particles, path: &str) -> Result<(), SceneError> {
        if self.particles.iter().any(|s| s.name == p.name) {
            let problem = format!("\"{}\" is the name of another system", p.name);
            return Err(SceneError::new(format!("{path}.name"), problem).hint("give each its own"));
        }
        let state = compile::system(self, p, path)?;
        self.particles.push(state);
        Ok(())
    }

    /// Adds a system of particles; returns its number.
    ///
    /// # Errors
    /// What is wrong with the description, by its path. Nothing has changed then.
    pub fn add_particles(&mut self, particles: &Particles) -> Result<usize, SceneError> {
        self.new_particles(particles, "particles")?;
        Ok(self.particles.len() - 1)
    }

    /// Removes a system of particles by its number; those after it move up.
    pub fn remove_particles(&mut self, number: usize) -> bool {
        let exists = number < self.particles.len();
        if exists {
            self.particles.remove(number);
            self.bodies.iter_mut().for_each(|(_, b)| b.pushed = None);
            self.wake_all();
        }
        exists
    }

    /// How many systems of particles there are.
    pub fn particle_system_count(&self) -> usize {
        self.particles.len()
    }

    /// A system of particles by its number.
    pub fn particle_system(&self, number: usize) -> Option<&ParticleSystem> {
        self.particles.get(number).map(|s| &s.system)
    }

    /// A system of particles, to be changed: nail, script, pull, add forces and constraints.
    pub fn particle_system_mut(&mut self, number: usize) -> Option<&mut ParticleSystem> {
        self.particles.get_mut(number).map(|s| &mut s.system)
    }

    /// The number of the system of that name.
    pub fn particles_named(&self, name: &str) -> Option<usize> {
        self.particles.iter().position(|s| s.name == name)
    }

    /// What is drawn of a system.
    pub fn particle_drawing(&self, number: usize) -> Option<ParticleDrawing<'_>> {
        let s = self.particles.get(number)?;
        Some(ParticleDrawing { name: &s.name, lines: &s.lines, triangles: &s.triangles })
    }

    /// Adds a particle to a system, at rest; returns its index there, which is the last.
    ///
    /// # Errors
    /// If there is no such system, or mass or place are not numbers a particle can have.
    pub fn add_particle(&mut self, number: usize, position: DVec3, mass: f64) -> Result<usize, SceneError> {
        self.existing(number)?.system.add_particle(position, DVec3::ZERO, mass)
    }

    /// Joins two particles of a system by a spring that is as long as they are apart; stiffness in N/m, damping in N s/m.
    ///
    /// # Errors
    /// If there is no such system or particle, both are in one place, or the numbers are negative.
    pub fn join_particles(
        &mut self,
        number: usize,
        (a, b): (usize, usize),
        stiffness: f64,
        damping: f64,
    ) -> Result<ForceId, SceneError> {
        let path = format!("particles[{number}]");
        let state = self.existing(number)?;
        for i in [a, b] {
            state.system.check_particle(i)?;
        }
        let length = state.system.x[a].distance(state.system.x[b]);
        if a == b || length < 1e-9 {
            return Err(SceneError::new(path, format!("{a} and {b} are in one place")).hint("take two that are apart"));
        }
        if !(stiffness.is_finite() && damping.is_finite() && stiffness >= 0.0 && damping >= 0.0) {
            let problem = format!("a spring of {stiffness} N/m with {damping} N s/m");
            return Err(SceneError::new(path, problem).hint("neither is negative"));
        }
        let id = state.system.add_force(Springs(vec![Spring { a, b, length, stiffness, damping }]))?;
        state.lines.push([a as u32, b as u32]);
        self.wake_all();
        Ok(id)
    }

    fn existing(&mut self, number: usize) -> Result<&mut SystemState, SceneError> {
        let missing = || SceneError::new(format!("particles[{number}]"), "does not exist");
        self.particles.get_mut(number).ok_or_else(missing)
    }

    /// Fixes a particle to a body where both are.
    ///
    /// # Errors
    /// If there is no such system, particle or body, or the system is not stepped implicitly.
    pub fn attach_particle(&mut self, number: usize, particle: usize, body: BodyId) -> Result<(), SceneError> {
        let path = format!("particles[{number}]");
        let state = self.particles.get(number).ok_or_else(|| SceneError::new(&path, "does not exist"))?;
        if state.system.method() != super::Method::Implicit {
            return Err(SceneError::new(path, "is not stepped implicitly, as attachments need"));
        }
        let anchor = Anchor::here(self, &state.system, particle, body)?;
        let state = &mut self.particles[number];
        state.system.free(particle)?;
        state.anchors.retain(|a| a.particle != particle);
        state.anchors.push(anchor);
        self.wake_all();
        Ok(())
    }

    /// Takes a particle off its body; false if it was on none.
    pub fn detach_particle(&mut self, number: usize, particle: usize) -> bool {
        let Some(state) = self.particles.get_mut(number) else { return false };
        let before = state.anchors.len();
        state.anchors.retain(|a| a.particle != particle);
        let taken = state.anchors.len() < before;
        self.wake_all();
        taken
    }
}
