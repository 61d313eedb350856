//! The running world: it owns the stores; the algorithm is in [`step`](crate::step()).

use crate::body::{Accelerations, BodyState};
use crate::collide::{Collisions, Sensed};
use crate::contact::{Resting, Touch};
use crate::error::{BuildError, SceneError, StepError, figure};
use crate::handle::{Arena, BodyId, JointId, kinds};
use crate::joint::{JointState, SystemChoice};
use crate::names::Namer;
use crate::observe::Assembly;
use crate::particle::couple::SystemState;
use crate::scene::Scene;
use crate::step::Scratch;
use glam::DVec3;
use std::sync::Arc;

pub(crate) type Bodies = Arena<BodyState, kinds::Body>;
pub(crate) type Joints = Arena<JointState, kinds::Joint>;

/// A running simulation.
pub struct World {
    pub(crate) bodies: Bodies,
    pub(crate) joints: Joints,
    pub(crate) gravity: DVec3,
    pub(crate) time: f64,
    pub(crate) assembly: Assembly,
    /// The user moved a body: its mechanism must be closed before the next step.
    pub(crate) posed: bool,
    /// The user changed a velocity: it must be made to fit the joints before the next step.
    pub(crate) disturbed: bool,
    /// Tells this world from others that share a [`Scratch`].
    pub(crate) identity: Arc<()>,
    /// Counts changes of the joint graph.
    pub(crate) graph_version: u64,
    /// Whether bodies collide at all.
    pub(crate) collides: bool,
    /// What the last step knew of contacts.
    pub(crate) collisions: Collisions,
    /// What is known of islands that rest.
    pub(crate) resting: Resting,
    /// What pushed in the step before the last and in the last, and the length of that.
    pub(crate) touched: Vec<Touch>,
    pub(crate) touching: Vec<Touch>,
    /// What overlapped sensors in the step before the last and in the last, in order.
    pub(crate) sensed: Vec<Sensed>,
    pub(crate) sensing: Vec<Sensed>,
    /// Systems of particles.
    pub(crate) particles: Vec<SystemState>,
}

/// What a step reads of a world, from any thread.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub bodies: &'a Bodies,
    pub joints: &'a Joints,
    pub collisions: &'a Collisions,
    pub gravity: DVec3,
}

/// The whole state of a world at one moment. Restoring it restores every bit.
#[derive(Clone)]
pub struct Snapshot {
    bodies: Bodies,
    joints: Joints,
    gravity: DVec3,
    time: f64,
    posed: bool,
    disturbed: bool,
    collides: bool,
    collisions: Collisions,
    resting: Resting,
    touches: (Vec<Touch>, Vec<Touch>),
    sensed: (Vec<Sensed>, Vec<Sensed>),
    graph_version: u64,
    particles: Vec<SystemState>,
}

impl World {
    /// An empty world.
    pub fn new(gravity: [f64; 3]) -> Result<World, SceneError> {
        let mut world = World {
            bodies: Bodies::default(),
            joints: Joints::default(),
            gravity: DVec3::ZERO,
            time: 0.0,
            assembly: Assembly::default(),
            posed: false,
            disturbed: false,
            identity: Arc::new(()),
            graph_version: 0,
            collides: true,
            collisions: Collisions::default(),
            resting: Resting::default(),
            touched: Vec::new(),
            touching: Vec::new(),
            sensed: Vec::new(),
            sensing: Vec::new(),
            particles: Vec::new(),
        };
        world.set_gravity(gravity)?;
        Ok(world)
    }

    /// Builds a world from a scene: checks everything, closes the joints of an inexact start pose, and makes velocities fit them.
    ///
    /// Every problem found is reported with its path; nothing is half-built.
    pub fn build(scene: &Scene) -> Result<World, BuildError> {
        let mut world = World::new([0.0; 3])?;
        let mut problems = Vec::from_iter(world.set_gravity(scene.gravity).err());
        world.collides = scene.collisions;
        let stepping = [("step.dt", scene.step.dt), ("step.duration", scene.step.duration)];
        for (path, value) in stepping {
            if !(value.is_finite() && value > 0.0) {
                problems.push(SceneError::new(path, format!("{value} s is not a positive time")));
            }
        }
        let mut namer = Namer::default();
        for (i, body) in scene.bodies.iter().enumerate() {
            if let Err(found) = world.insert_body(body, &format!("bodies[{i}]"), &mut namer) {
                namer.spoil_body(&body.name);
                problems.extend(found);
            }
        }
        world.insert_joints(&scene.joints, &mut namer, &mut problems);
        if problems.is_empty() {
            problems = world.assemble(|joint| format!("joints[{}]", joint.scene_index));
        }
        if problems.is_empty() {
            problems = world.insert_particles(&scene.particles);
        }
        if problems.is_empty() { Ok(world) } else { Err(BuildError { problems }) }
    }

    pub(crate) fn seen(&self) -> Seen<'_> {
        let World { bodies, joints, collisions, gravity, .. } = self;
        Seen { bodies, joints, collisions, gravity: *gravity }
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Saves the state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            bodies: self.bodies.clone(),
            joints: self.joints.clone(),
            gravity: self.gravity,
            time: self.time,
            posed: self.posed,
            disturbed: self.disturbed,
            collides: self.collides,
            collisions: self.collisions.clone(),
            resting: self.resting.clone(),
            touches: (self.touched.clone(), self.touching.clone()),
            sensed: (self.sensed.clone(), self.sensing.clone()),
            graph_version: self.graph_version,
            particles: self.particles.clone(),
        }
    }

    /// All but the particles, to go back to within a step.
    pub(crate) fn bodies_now(&mut self) -> Snapshot {
        let particles = std::mem::take(&mut self.particles);
        let snapshot = self.snapshot();
        self.particles = particles;
        snapshot
    }

    /// Goes back to where a step began; the joint graph has not changed since.
    pub(crate) fn rewind(&mut self, snapshot: Snapshot) {
        (self.bodies, self.joints) = (snapshot.bodies, snapshot.joints);
        (self.collisions, self.resting) = (snapshot.collisions, snapshot.resting);
        (self.touched, self.touching) = snapshot.touches;
        (self.sensed, self.sensing) = snapshot.sensed;
        (self.time, self.posed, self.disturbed) = (snapshot.time, snapshot.posed, snapshot.disturbed);
    }

    /// Goes back to a saved state; ids of that time are valid again.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let Snapshot {
            bodies,
            joints,
            gravity,
            time,
            posed,
            disturbed,
            collides,
            collisions,
            resting,
            touches,
            sensed,
            graph_version,
            particles,
        } = snapshot.clone();
        self.particles = particles;
        (self.bodies, self.joints) = (bodies, joints);
        (self.collides, self.collisions, self.resting) = (collides, collisions, resting);
        (self.touched, self.touching) = touches;
        (self.sensed, self.sensing) = sensed;
        (self.gravity, self.time, self.posed, self.disturbed) = (gravity, time, posed, disturbed);
        self.graph_version += 1;
        // what was chosen for the graph of then is chosen for the same graph now
        for (_, joint) in self.joints.iter_mut() {
            let choice = joint.memory.choice.filter(|c| c.graph_version == graph_version);
            joint.memory.choice = choice.map(|c| SystemChoice { graph_version: self.graph_version, ..c });
        }
    }

    /// Closes the joints from where the bodies are, and makes the velocities fit. Problems are of the joints that `path` names.
    pub(crate) fn assemble(&mut self, path: impl Fn(&JointState) -> String) -> Vec<SceneError> {
        let mut scratch = Scratch::default();
        scratch.lay_out(self);
        let (assembly, open) = self.close_mechanisms(&mut scratch);
        if !open.is_empty() {
            let problem = |(joint, gap): &(u32, f64)| {
                let joint = self.joints.at(*joint as usize)?;
                let name = &joint.name;
                Some(
                    SceneError::new(
                        path(joint),
                        format!("joint \"{name}\" cannot be closed at the start: {} m or rad remain", figure(*gap)),
                    )
                    .hint("check the positions of its bodies, the link lengths, and joints that contradict each other"),
                )
            };
            return open.iter().filter_map(problem).collect();
        }
        self.assembly = assembly;
        self.fit_velocities(&mut scratch);
        self.disturbed = false;
        self.joints.iter().flat_map(|(_, joint)| joint.limits_exceeded(&path(joint))).collect()
    }

    /// Brings every mechanism's poses onto its joints. Returns slot and gap of the worst joint of each mechanism that stays
    /// open; if there is one, nothing has changed.
    fn close_mechanisms(&mut self, scratch: &mut Scratch) -> (Assembly, Vec<(u32, f64)>) {
        let mut assembly = Assembly::default();
        let mut open = Vec::new();
        for mechanism in scratch.mechanisms_mut() {
            mechanism.gather(&self.bodies, &self.joints, self.gravity);
            let closed = mechanism.assemble();
            assembly.merge(&closed.assembly);
            open.extend(closed.open);
        }
        if !open.is_empty() {
            return (assembly, open);
        }
        for mechanism in scratch.mechanisms_mut() {
            mechanism.scatter_poses(&mut self.bodies);
        }
        self.read_coordinates();
        (assembly, open)
    }

    fn fit_velocities(&mut self, scratch: &mut Scratch) {
        for mechanism in scratch.mechanisms_mut() {
            mechanism.gather(&self.bodies, &self.joints, self.gravity);
            mechanism.fit_velocities();
            mechanism.scatter_velocities(&mut self.bodies);
        }
    }

    /// Before a step: closes joints of bodies that the user has moved. Returns the state from before if there were any, for
    /// the case that the step fails.
    pub(crate) fn reassemble_if_posed(&mut self, scratch: &mut Scratch) -> Result<Option<Snapshot>, StepError> {
        if !self.posed {
            return Ok(None);
        }
        let before = self.snapshot();
        let (_, open) = self.close_mechanisms(scratch);
        if let Some(&(joint, gap)) = open.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
            let joint = self.joints.at(joint as usize).map_or("?", |j| &j.name).to_string();
            return Err(StepError::CannotAssemble { joint, gap });
        }
        self.posed = false;
        Ok(Some(before))
    }

    pub(crate) fn velocities_disturbed(&self) -> bool {
        self.disturbed
    }

    pub(crate) fn end_step(&mut self, h: f64) {
        self.time += h;
        self.disturbed = false;
        for (_, body) in self.bodies.iter_mut() {
            body.force = DVec3::ZERO;
            body.torque = DVec3::ZERO;
        }
    }

    /// Reads every coordinate anew, keeping the turns counted so far.
    pub(crate) fn read_coordinates(&mut self) {
        let bodies = &self.bodies;
        for (_, joint) in self.joints.iter_mut() {
            let place = |id: Option<BodyId>| {
                id.and_then(|id| bodies.get(id)).map_or(crate::math::Placed::WORLD, BodyState::placed)
            };
            let (a, b) = (place(joint.a), place(joint.b));
            if joint.model.black_box.is_some() {
                joint.follow_black_box(&a, &b);
            }
            for (drive, (_, kind)) in joint.drives.iter_mut().zip(joint.model.coordinates) {
                drive.value = kind.unwrapped(&joint.model, &a, &b, drive.value);
            }
        }
    }

    /// What the steps remember of their past no longer fits: the next step starts as the first did.
    pub(crate) fn forget_memory(&mut self) {
        for (_, body) in self.bodies.iter_mut() {
            body.memory = Accelerations::default();
        }
        for (_, joint) in self.joints.iter_mut() {
            joint.memory = Default::default();
        }
    }

    pub(crate) fn body_at(&self, slot: usize) -> Option<BodyId> {
        self.bodies.id_at(slot)
    }

    pub(crate) fn joint_at(&self, slot: usize) -> Option<JointId> {
        self.joints.id_at(slot)
    }
}
