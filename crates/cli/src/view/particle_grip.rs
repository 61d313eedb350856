//! What can be done to particles in a page: pulled by the mouse (a damped spring to the point under the cursor, for the length
//! of a step), nailed, made, and attached to each other and to bodies.

use super::orders::ParticlePlace;
use linkwork::glam::DVec3;
use linkwork::particle::{ForceId, Method, Motion, Pull};
use linkwork::scene::Particles;
use linkwork::{BodyId, World};

/// ω, 1/s: as the mouse on a body.
const RATE: f64 = 30.0;
/// Largest ω h of an explicit step.
const STIFFEST: f64 = 0.5;
/// What hangs on a particle that is pulled, as a part of the whole system.
const CARRIED: f64 = 0.1;

/// A particle held by the mouse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticleGrip {
    /// The particle.
    pub particle: ParticlePlace,
    /// Where it is pulled to, in the world, m.
    pub target: DVec3,
}

/// System and place in it, if there is such a particle.
fn locate(world: &World, [system, particle]: ParticlePlace) -> Result<(usize, usize), String> {
    let count = world.particle_system(system).map_or(0, |system| system.len());
    let found = Some((system, particle)).filter(|_| particle < count);
    found.ok_or_else(|| "there is no such particle".to_owned())
}

impl ParticleGrip {
    /// Pulls during the next step; what was added must be taken off after it.
    pub fn pull(&self, world: &mut World, dt: f64) -> Option<(usize, ForceId)> {
        let (number, particle) = locate(world, self.particle).ok()?;
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
pub fn toggle_nail(world: &mut World, particle: ParticlePlace) -> Result<bool, String> {
    let (number, particle) = locate(world, particle)?;
    let system = world.particle_system_mut(number).ok_or("there is no such particle")?;
    let is_held = matches!(system.motion(particle), Some(Motion::Nailed));
    let changed = if is_held { system.free(particle) } else { system.nail(particle) };
    changed.map(|()| !is_held).map_err(|error| error.to_string())
}

/// Mass of a particle that has no others to be like, kg.
const USUAL_MASS: f64 = 0.1;

/// Springs are longer than this, m.
const LEAST_APART: f64 = 1e-6;

/// Makes a particle like the others of its system, joined to one of them if that is named; where there are none, in a system
/// of its own.
pub fn create(world: &mut World, at: [f64; 3], to: Option<ParticlePlace>, dt: f64) -> Result<(), String> {
    let other = to.map(|place| locate(world, place)).transpose()?;
    let number = match other {
        Some((number, _)) => number,
        None if world.particle_system_count() > 0 => world.particle_system_count() - 1,
        None => world.add_particles(&Particles::new("made")).map_err(|error| error.to_string())?,
    };
    let apart = |k: usize| world.particle_system(number).map_or(0.0, |s| s.positions()[k].distance(DVec3::from(at)));
    if other.is_some_and(|(_, k)| apart(k) < LEAST_APART) {
        return Err("a particle that hangs on another must be apart from it".to_owned());
    }
    let masses = world.particle_system(number).map_or(&[][..], |s| s.masses());
    let mass = other.map(|(_, k)| masses[k]).or(masses.last().copied()).unwrap_or(USUAL_MASS);
    let made = world.add_particle(number, DVec3::from(at), mass).map_err(|error| error.to_string())?;
    match other {
        Some((_, k)) => join(world, number, (k, made), dt),
        None => Ok(()),
    }
}

/// Joins a particle to another of its system by a spring, or fixes it to a body. Returns what is told about it.
pub fn attach(
    world: &mut World,
    particle: ParticlePlace,
    to: Option<ParticlePlace>,
    body: Option<BodyId>,
    dt: f64,
) -> Result<&'static str, String> {
    let (number, particle) = locate(world, particle)?;
    if let Some(body) = body {
        world.attach_particle(number, particle, body).map_err(|error| error.to_string())?;
        return Ok("The particle is fixed to the body.");
    }
    let (other_number, other) = locate(world, to.ok_or("a particle is attached to another or to a body")?)?;
    if other_number != number {
        return Err("the two particles belong to different systems, which springs cannot join".to_string());
    }
    join(world, number, (particle, other), dt)?;
    Ok("The two particles are joined by a spring.")
}

/// A spring as stiff as a mouse pulls, or as the step bears.
fn join(world: &mut World, number: usize, (a, b): (usize, usize), dt: f64) -> Result<(), String> {
    let system = world.particle_system(number).ok_or("there is no such particle")?;
    let (mass, rate) = match system.method() {
        Method::Implicit => (system.masses()[a].max(system.masses()[b]), 4.0 * RATE),
        _ => (system.masses()[a].min(system.masses()[b]), (4.0 * RATE).min(STIFFEST / dt)),
    };
    let (stiffness, damping) = (mass * rate * rate, 0.2 * mass * rate);
    world.join_particles(number, (a, b), stiffness, damping).map(drop).map_err(|error| error.to_string())
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
            let grip = ParticleGrip { particle: [0, particle], target: start + DVec3::new(0.0, 0.1, 0.15) };
            let far = grip.target.distance(start);
            for _ in 0..240 {
                let force = grip.pull(&mut world, params.dt);
                step(&mut world, &mut scratch, &params).unwrap();
                let (system, id) = force.unwrap();
                assert!(world.particle_system_mut(system).unwrap().remove_force(id));
            }
            let now = world.particle_system(0).unwrap().positions()[particle];
            assert!(now.distance(grip.target) < far, "{name}: {now} of {}", grip.target);
            assert_eq!(toggle_nail(&mut world, [0, particle]), Ok(true));
            let held = world.particle_system(0).unwrap().positions()[particle];
            (0..30).for_each(|_| drop(step(&mut world, &mut scratch, &params).unwrap()));
            assert_eq!(world.particle_system(0).unwrap().positions()[particle], held);
            assert_eq!(toggle_nail(&mut world, [0, particle]), Ok(false));
        }
    }

    #[test]
    fn particles_are_made_and_attached() {
        let scene = linkwork_scenes::find("hammock").unwrap().default_scene();
        let mut world = World::build(&scene).unwrap();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(scene.step.dt));
        let count = world.particle_system(0).unwrap().len();
        let corner = world.particle_system(0).unwrap().positions()[count - 1];
        // hung on the last corner of the cloth by a spring
        create(&mut world, (corner - DVec3::Z * 0.3).to_array(), Some([0, count - 1]), params.dt).unwrap();
        assert_eq!(world.particle_system(0).unwrap().len(), count + 1);
        assert_eq!(world.particle_drawing(0).unwrap().lines.last(), Some(&[count as u32 - 1, count as u32]));
        (0..120).for_each(|_| drop(step(&mut world, &mut scratch, &params).unwrap()));
        let (hung, corner) = (world.particle_system(0).unwrap().positions()[count], corner);
        assert!((hung.distance(corner) - 0.3).abs() < 0.1, "{hung} below {corner}");
        // nothing is made where it cannot hang
        let there = world.particle_system(0).unwrap().positions()[3].to_array();
        assert!(create(&mut world, there, Some([0, 3]), params.dt).is_err());
        assert_eq!(world.particle_system(0).unwrap().len(), count + 1);
        // to another particle, to a body, and not to itself or to nothing
        assert!(attach(&mut world, [0, count], Some([0, count - 2]), None, params.dt).is_ok());
        let body = world.body_ids().find(|id| world.mass(*id).is_some()).unwrap();
        assert!(attach(&mut world, [0, count], None, Some(body), params.dt).is_ok());
        assert!(attach(&mut world, [0, count], Some([0, count]), None, params.dt).is_err());
        assert!(attach(&mut world, [0, count + 9], Some([0, 0]), None, params.dt).is_err());
        let offset = |world: &World| {
            let pose = world.pose(body).unwrap();
            pose.orientation.inverse() * (world.particle_system(0).unwrap().positions()[count] - pose.position)
        };
        let before = offset(&world);
        (0..60).for_each(|_| drop(step(&mut world, &mut scratch, &params).unwrap()));
        assert!(offset(&world).distance(before) < 1e-9, "it goes with the body");
        // where there are no particles at all
        let mut world = World::build(&linkwork_scenes::find("excavator").unwrap().default_scene()).unwrap();
        create(&mut world, [0.0, 0.0, 3.0], None, 0.01).unwrap();
        create(&mut world, [0.0, 0.0, 2.5], Some([0, 0]), 0.01).unwrap();
        assert_eq!(world.particle_system(0).unwrap().len(), 2);
    }

    #[test]
    fn particles_that_do_not_exist_are_not_found() {
        let mut world = World::build(&linkwork_scenes::find("bead").unwrap().default_scene()).unwrap();
        assert_eq!(locate(&world, [1, 0]), Ok((1, 0)));
        for missing in [[0, 1], [1, 1], [2, 0], [usize::MAX, usize::MAX]] {
            assert!(locate(&world, missing).is_err());
            assert!(toggle_nail(&mut world, missing).is_err());
        }
        assert!(ParticleGrip { particle: [0, 9], target: DVec3::ZERO }.pull(&mut world, 0.01).is_none());
    }
}
