//! The scene of a session, and the world made from it.

use super::ahead::Ahead;
use super::orders::ParticlePlace;
use super::particle_grip::{self, ParticleGrip};
use super::spring::Grip;
use crate::source::Source;
use linkwork::glam::DVec3;
use linkwork::scene::{Joint, Motor, WORLD};
use linkwork::{BodyId, JointId, Scratch, Snapshot, StepError, StepParams, StepReport, World, step};
use linkwork_io::recording::Description;
use serde_json::{Value, json};
use std::time::Instant;

/// What a mouse holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    /// A point of a body.
    Body(Grip),
    /// A particle.
    Particle(ParticleGrip),
}

/// A scene that runs.
pub struct Stage {
    source: Source,
    /// The world.
    pub world: World,
    scratch: Scratch,
    start: Snapshot,
    /// Bodies in the order of the description.
    pub bodies: Vec<BodyId>,
    /// Joints in the order of the description.
    pub joints: Vec<JointId>,
    nails: Vec<JointId>,
    /// Particles that were nailed.
    nailed: Vec<ParticlePlace>,
    motors: Vec<(JointId, String, Motor)>,
    ahead: Ahead,
}

impl Stage {
    /// Builds the world of a scene; says in plain words what is wrong with it otherwise.
    pub fn build(source: Source) -> Result<Stage, String> {
        let refused = |error: &linkwork::BuildError| match &source.file {
            Some(file) => file.explain(error).to_string(),
            None => error.to_string(),
        };
        let begun = Instant::now();
        let mut world = World::build(&source.scene).map_err(|error| refused(&error))?;
        let start = world.snapshot();
        let ahead = Ahead::of(&mut world, source.scene.step.dt, source.scene.step.duration, begun.elapsed());
        world.restore(&start);
        let mut stage = Stage {
            start,
            source,
            world,
            scratch: Scratch::default(),
            bodies: Vec::new(),
            joints: Vec::new(),
            nails: Vec::new(),
            nailed: Vec::new(),
            motors: Vec::new(),
            ahead,
        };
        stage.number();
        Ok(stage)
    }

    fn number(&mut self) {
        self.bodies = self.world.body_ids().collect();
        self.joints = self.world.joint_ids().collect();
    }

    /// Whether another stage shows the same scene of the registry, perhaps with other parameters.
    pub fn is_same_scene(&self, other: &Stage) -> bool {
        let [here, there] = [&self.source, &other.source];
        here.file.is_none() && there.file.is_none() && here.name == there.name
    }

    /// The step size that the scene asks for, s.
    pub fn dt(&self) -> f64 {
        self.source.scene.step.dt
    }

    /// One step, with the mice of all pages pulling.
    pub fn step<'g>(
        &mut self,
        params: &StepParams,
        grips: impl Iterator<Item = &'g Held>,
    ) -> Result<StepReport, StepError> {
        let mut pulls = Vec::new();
        for grip in grips {
            match grip {
                Held::Body(grip) => grip.pull(&mut self.world, params.dt),
                Held::Particle(grip) => pulls.extend(grip.pull(&mut self.world, params.dt)),
            }
        }
        let taken = step(&mut self.world, &mut self.scratch, params);
        for (system, force) in pulls {
            self.world.particle_system_mut(system).map(|system| system.remove_force(force));
        }
        taken
    }

    /// Goes back to the start, without nails and with the motors of the scene. Gravity stays as the user chose it.
    pub fn reset(&mut self) {
        let gravity = self.world.gravity();
        self.world.restore(&self.start);
        // it was allowed before
        let _ = self.world.set_gravity(gravity.to_array());
        self.nails.clear();
        self.nailed.clear();
        self.motors.clear();
        self.number();
    }

    /// Holds a point of a body where it is, by a ball joint with the world.
    pub fn nail(&mut self, body: usize, point: [f64; 3]) -> Result<(), String> {
        let id = *self.bodies.get(body).ok_or("there is no such body")?;
        let name = self.world.body_name(id).unwrap_or_default().to_owned();
        if self.world.mass(id).is_none() {
            return Err(format!("\"{name}\" is not moved by forces and needs no nail"));
        }
        let at = self.world.pose(id).ok_or("there is no such body")?.transform(DVec3::from(point));
        let free = (1..).map(|k| format!("nail {k}")).find(|name| self.world.joint(name).is_none()).unwrap_or_default();
        let joint = Joint::ball(free, WORLD, name.clone(), at.to_array());
        let nail = self.world.add_joint(&joint).map_err(|error| format!("\"{name}\" cannot be nailed: {error}"))?;
        self.nails.push(nail);
        self.number();
        Ok(())
    }

    /// Holds a particle where it is, or lets it go if it was held. Returns whether it is held now.
    pub fn nail_particle(&mut self, place: ParticlePlace) -> Result<bool, String> {
        let is_held = particle_grip::toggle_nail(&mut self.world, place)?;
        self.nailed.retain(|&nailed| nailed != place);
        if is_held {
            self.nailed.push(place);
        }
        Ok(is_held)
    }

    /// Takes out the nails of a body, or all, those of particles too. Returns whether there were any.
    pub fn pull_nails(&mut self, body: Option<usize>) -> bool {
        let only = body.and_then(|k| self.bodies.get(k).copied());
        let (world, before) = (&mut self.world, self.nails.len() + self.nailed.len());
        if body.is_none() {
            for [system, particle] in self.nailed.drain(..) {
                // it was nailed, so it can be freed
                world.particle_system_mut(system).map(|system| system.free(particle));
            }
        }
        self.nails.retain(|&nail| {
            let held = world.joint_bodies(nail).and_then(|(_, b)| b);
            let stays = body.is_some() && held != only;
            if !stays {
                world.remove_joint(nail);
            }
            stays
        });
        self.number();
        self.nails.len() + self.nailed.len() != before
    }

    /// Changes what drives a coordinate.
    pub fn set_motor(&mut self, joint: usize, coordinate: &str, motor: Motor) -> Result<(), String> {
        let id = *self.joints.get(joint).ok_or("there is no such joint")?;
        self.world.set_motor(id, coordinate, Some(motor)).map_err(|error| error.to_string())?;
        self.motors.retain(|(j, c, _)| !(*j == id && c == coordinate));
        self.motors.push((id, coordinate.to_owned(), motor));
        Ok(())
    }

    /// Motors that were changed since the start, with the number of their joint.
    pub fn changed_motors(&self) -> Vec<Value> {
        let changed = |(id, coordinate, motor): &(JointId, String, Motor)| {
            let joint = self.joints.iter().position(|joint| joint == id)?;
            Some(json!({"joint": joint, "coordinate": coordinate, "motor": motor}))
        };
        self.motors.iter().filter_map(changed).collect()
    }

    /// What pages need to know about the scene besides frames.
    pub fn describe(&self, scene: u32, revision: u32, dt: f64) -> Value {
        let Source { name, parameters, scene: described, file, .. } = &self.source;
        let description = Description::of(&self.world, name, &described.description, parameters, dt);
        let mut value = serde_json::to_value(&description).unwrap_or_default();
        value["type"] = "scene".into();
        value["scene"] = scene.into();
        value["revision"] = revision.into();
        value["registry"] = file.is_none().into();
        value["ahead"] = self.ahead.as_json();
        let nails = self.nails.iter().filter_map(|nail| self.joints.iter().position(|joint| joint == nail));
        value["nails"] = nails.collect::<Vec<_>>().into();
        value["nailed_particles"] = json!(self.nailed);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn stage(name: &str) -> Stage {
        let entry = linkwork_scenes::find(name).unwrap();
        Stage::build(Source::of_entry(entry, &[]).unwrap()).unwrap()
    }

    #[test]
    fn looking_ahead_leaves_no_trace() {
        for name in ["double-pendulum", "excavator", "wrecking-ball"] {
            let mut stage = stage(name);
            let scene = linkwork_scenes::find(name).unwrap().default_scene();
            let mut plain = World::build(&scene).unwrap();
            let (mut scratch, params) = (Scratch::default(), StepParams::new(scene.step.dt));
            for _ in 0..20 {
                step(&mut plain, &mut scratch, &params).unwrap();
                stage.step(&params, std::iter::empty()).unwrap();
            }
            assert_eq!(stage.world.state_hash(), plain.state_hash(), "{name}");
        }
    }

    #[test]
    fn a_pendulum_is_seen_at_its_lowest() {
        let stage = stage("double-pendulum");
        let start = stage.world.pose(stage.bodies[1]).unwrap().position.z;
        assert!(stage.ahead.low.z < start - 0.5, "{:?}", stage.ahead);
    }

    #[test]
    fn reset_takes_out_nails_and_restores_motors_and_keeps_gravity() {
        let mut stage = stage("excavator");
        let before = stage.world.state_hash();
        let joints = stage.joints.len();
        let body = stage.bodies.iter().position(|&id| stage.world.mass(id).is_some()).unwrap();
        stage.nail(body, [0.0; 3]).unwrap();
        assert_eq!(stage.joints.len(), joints + 1);
        stage.world.set_gravity([0.0, 0.0, -1.6]).unwrap();
        let params = StepParams::new(stage.dt());
        stage.step(&params, std::iter::empty()).unwrap();
        stage.reset();
        assert_eq!((stage.world.state_hash(), stage.joints.len()), (before, joints));
        assert_eq!(stage.world.gravity().z, -1.6);
        assert!(!stage.pull_nails(None) && stage.changed_motors().is_empty());
    }

    #[test]
    fn nailed_particles_are_told_and_let_go_with_the_other_nails() {
        let mut stage = stage("spring-mesh");
        let held = |stage: &Stage| stage.describe(1, 0, 0.01)["particles"][0]["held"].as_array().map_or(0, Vec::len);
        let before = held(&stage);
        assert!(before > 0, "the mesh hangs on its corners");
        let particle = stage.world.particle_system(0).unwrap().len() - 2;
        assert_eq!(stage.nail_particle([0, particle]), Ok(true));
        assert_eq!(stage.describe(1, 1, 0.01)["nailed_particles"], json!([[0, particle]]));
        assert_eq!(held(&stage), before + 1);
        assert!(!stage.pull_nails(Some(0)), "no nail of a body");
        assert!(stage.pull_nails(None) && !stage.pull_nails(None));
        assert_eq!(held(&stage), before);
        // by the same key
        assert_eq!((stage.nail_particle([0, particle]), stage.nail_particle([0, particle])), (Ok(true), Ok(false)));
        assert!(!stage.pull_nails(None) && stage.nail_particle([0, 1 << 20]).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_place() {
        let text = "[[bodies]]\nname = \"a\"\nmass = -1.0\n".to_owned();
        let format = linkwork_io::Format::of_path(Path::new("a.toml")).unwrap();
        let problem = Stage::build(Source::of_text("a.toml", text, format).unwrap()).err().unwrap();
        assert!(problem.contains("a.toml:3"), "{problem}");
    }
}
