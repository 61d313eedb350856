//! The mouse on a particle: a damped spring to the point under the cursor, for the length of a step.

use linkwork::World;
use linkwork::glam::DVec3;
use linkwork::particle::{ForceId, Method, Motion, Pull};

/// ω, 1/s: as the mouse on a body.
const RATE: f64 = 30.0;
/// Largest ω h of an explicit step.
const STIFFEST: f64 = 0.5;
/// What hangs on a particle that is pulled, as a part of the whole system.
const CARRIED: f64 = 0.1;

/// A particle held by the mouse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleGrip {
    /// Number of the particle, over all systems.
    pub particle: usize,
    /// Where it is pulled to, in the world, m.
    pub target: DVec3,
}

/// System and place in it of a particle that is numbered over all systems.
pub fn locate(world: &World, mut particle: usize) -> Option<(usize, usize)> {
    for system in 0..world.particle_system_count() {
        let count = world.particle_system(system)?.len();
        if particle < count {
            return Some((system, particle));
        }
        particle -= count;
    }
    None
}

impl ParticleGrip {
    /// Pulls during the next step; what was added must be taken off after it.
    pub fn pull(&self, world: &mut World, dt: f64) -> Option<(usize, ForceId)> {
        let (number, particle) = locate(world, self.particle)?;
        let system = world.particle_system_mut(number)?;
        let own = system.masses()[particle];
        // an implicit step bears any stiffness, and one corner of cloth should lift it
        let (mass, rate) = match system.method() {
            Method::Implicit => (own.max(CARRIED * system.masses().iter().sum::<f64>()), RATE),
            _ => (own, RATE.min(STIFFEST / dt)),
        };
        let (stiffness, damping) = (mass * rate * rate, 2.0 * mass * rate);
        let pull = Pull { particle, to: self.target, stiffness, damping };
        system.add_force(pull).ok().map(|force| (number, force))
    }
}

/// Holds a particle where it is, or lets it go if it was held. Returns whether it is held now.
pub fn toggle_nail(world: &mut World, particle: usize) -> Result<bool, String> {
    let (number, particle) = locate(world, particle).ok_or("there is no such particle")?;
    let system = world.particle_system_mut(number).ok_or("there is no such particle")?;
    let is_held = matches!(system.motion(particle), Some(Motion::Nailed));
    let changed = if is_held { system.free(particle) } else { system.nail(particle) };
    changed.map(|()| !is_held).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::{Scratch, StepParams, step};

    #[test]
    fn a_particle_follows_the_mouse_and_can_be_nailed() {
        for name in ["tinkertoys", "cloth-sphere", "spring-mesh"] {
            let settings = if name == "cloth-sphere" { vec![("cells".to_string(), 10.0)] } else { Vec::new() };
            let scene = linkwork_scenes::find(name).unwrap().build(&settings).unwrap();
            let mut world = World::build(&scene).unwrap();
            let (mut scratch, params) = (Scratch::default(), StepParams::new(scene.step.dt));
            // the corners of the mesh are nailed
            let count = world.particle_system(0).unwrap().len();
            let particle = if name == "spring-mesh" { count - 2 } else { count - 1 };
            let start = world.particle_system(0).unwrap().positions()[particle];
            let grip = ParticleGrip { particle, target: start + DVec3::new(0.0, 0.1, 0.15) };
            let far = grip.target.distance(start);
            for _ in 0..240 {
                let force = grip.pull(&mut world, params.dt);
                step(&mut world, &mut scratch, &params).unwrap();
                let (system, id) = force.unwrap();
                assert!(world.particle_system_mut(system).unwrap().remove_force(id));
            }
            let now = world.particle_system(0).unwrap().positions()[particle];
            assert!(now.distance(grip.target) < far, "{name}: {now} of {}", grip.target);
            assert_eq!(toggle_nail(&mut world, particle), Ok(true));
            let held = world.particle_system(0).unwrap().positions()[particle];
            (0..30).for_each(|_| drop(step(&mut world, &mut scratch, &params).unwrap()));
            assert_eq!(world.particle_system(0).unwrap().positions()[particle], held);
            assert_eq!(toggle_nail(&mut world, particle), Ok(false));
        }
    }

    #[test]
    fn particles_that_do_not_exist_are_not_found() {
        let mut world = World::build(&linkwork_scenes::find("bead").unwrap().default_scene()).unwrap();
        assert_eq!(locate(&world, 1), Some((1, 0)));
        assert_eq!(locate(&world, 2), None);
        assert!(toggle_nail(&mut world, 2).is_err());
        assert!(ParticleGrip { particle: 9, target: DVec3::ZERO }.pull(&mut world, 0.01).is_none());
    }
}
