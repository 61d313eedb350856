//! What does not change from frame to frame.

use linkwork::particle::{Constraint, Motion, ParticleSystem};
use linkwork::scene::{BodyKind, Coordinate, JointKind, Shape};
use linkwork::{BodyId, JointId, Pose, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything a view of a world needs to know besides poses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// What the scene is called.
    pub name: String,
    /// One sentence on what it shows.
    pub description: String,
    /// The parameters it was built with.
    pub parameters: BTreeMap<String, f64>,
    /// Gravity, m/s².
    pub gravity: [f64; 3],
    /// Step size, s.
    pub dt: f64,
    /// Whether bodies collide; unknown in recordings of version 1.
    #[serde(default)]
    pub collides: Option<bool>,
    /// The bodies, in the order of the frames.
    pub bodies: Vec<BodyDescription>,
    /// The joints.
    pub joints: Vec<JointDescription>,
    /// Systems of particles, in the order of the frames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub particles: Vec<ParticlesDescription>,
}

/// A system of particles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParticlesDescription {
    /// Its name.
    pub name: String,
    /// How many particles it has.
    pub count: usize,
    /// How near they come to shapes, m.
    pub radius: f64,
    /// What is drawn between two.
    pub lines: Vec<[u32; 2]>,
    /// Triangles of cloth.
    pub triangles: Vec<[u32; 3]>,
    /// Particles that the world holds; not in older recordings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<u32>,
}

/// A body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BodyDescription {
    /// Its name.
    pub name: String,
    /// How it moves.
    pub kind: BodyKind,
    /// kg; none if forces do not move it.
    pub mass: Option<f64>,
    /// Centre of mass in the body frame, m.
    pub center: [f64; 3],
    /// What it is made of.
    pub shapes: Vec<Shape>,
    /// What it collides as, where that is not its shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colliders: Option<Vec<Shape>>,
    /// Bodies with the same number are connected by joints.
    pub mechanism: Option<usize>,
}

/// A joint or a coupling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JointDescription {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: JointKind,
    /// Index of the first body; none for the world.
    pub a: Option<usize>,
    /// Index of the second body; none for the world.
    pub b: Option<usize>,
    /// Its frame on a, in a's coordinates; none for a coupling.
    pub frame_a: Option<FrameDescription>,
    /// Its frame on b, in b's coordinates.
    pub frame_b: Option<FrameDescription>,
    /// What it leaves free.
    pub coordinates: Vec<CoordinateDescription>,
}

/// A frame on a body.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameDescription {
    /// Origin, m.
    pub position: [f64; 3],
    /// Quaternion (w, x, y, z); z is the joint's axis.
    pub orientation: [f64; 4],
}

/// A joint coordinate and what acts on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinateDescription {
    /// Its name.
    pub name: String,
    /// Whether it is an angle (rad) or a length (m).
    pub is_angle: bool,
    /// Limit, spring, motor, friction.
    pub acting: Coordinate,
}

impl Description {
    /// Describes a world. Name, sentence, parameters and step size are the caller's.
    pub fn of(world: &World, name: &str, description: &str, parameters: &[(String, f64)], dt: f64) -> Description {
        let bodies: Vec<BodyId> = world.body_ids().collect();
        let index: BTreeMap<BodyId, usize> = bodies.iter().enumerate().map(|(k, &id)| (id, k)).collect();
        let mechanisms = mechanisms(world, &bodies, &index);
        let body = |(k, &id): (usize, &BodyId)| BodyDescription {
            name: world.body_name(id).unwrap_or_default().to_owned(),
            kind: world.body_kind(id).unwrap_or_default(),
            mass: world.mass(id),
            center: match (world.pose(id), world.center_of_mass(id)) {
                (Some(pose), Some(center)) => pose.to_local(center).to_array(),
                _ => [0.0; 3],
            },
            shapes: world.shapes(id).unwrap_or_default().to_vec(),
            colliders: world.collision_shapes(id).filter(|pieces| world.shapes(id) != Some(pieces.as_slice())),
            mechanism: mechanisms[k],
        };
        Description {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: parameters.iter().cloned().collect(),
            gravity: world.gravity().to_array(),
            dt,
            collides: Some(world.collides()),
            bodies: bodies.iter().enumerate().map(body).collect(),
            joints: world.joint_ids().filter_map(|id| joint(world, id, &index)).collect(),
            particles: (0..world.particle_system_count()).filter_map(|k| particles(world, k)).collect(),
        }
    }
}

fn particles(world: &World, number: usize) -> Option<ParticlesDescription> {
    let (system, drawing) = (world.particle_system(number)?, world.particle_drawing(number)?);
    Some(ParticlesDescription {
        held: held_particles(system),
        name: drawing.name.to_owned(),
        count: system.len(),
        radius: system.radius(),
        lines: drawing.lines.to_vec(),
        triangles: drawing.triangles.to_vec(),
    })
}

/// Particles of a system that the world holds where they are.
pub fn held_particles(system: &ParticleSystem) -> Vec<u32> {
    let nailed = (0..system.len()).filter(|&i| matches!(system.motion(i), Some(Motion::Nailed)));
    let constrained = system.constraints().filter_map(|(_, constraint)| match constraint {
        Constraint::Nail { a, .. } => Some(*a),
        _ => None,
    });
    let mut held: Vec<u32> = nailed.chain(constrained).map(|i| i as u32).collect();
    held.sort_unstable();
    held.dedup();
    held
}

fn joint(world: &World, id: JointId, index: &BTreeMap<BodyId, usize>) -> Option<JointDescription> {
    let description = world.joint_description(id)?;
    let (a, b) = world.joint_bodies(id)?;
    let pose = |body: Option<BodyId>| body.and_then(|id| world.pose(id)).unwrap_or(Pose::IDENTITY);
    let local = |body: Option<BodyId>, frame: Pose| {
        let pose = pose(body);
        let turn = (pose.orientation.inverse() * frame.orientation).normalize();
        FrameDescription {
            position: pose.to_local(frame.position).to_array(),
            orientation: [turn.w, turn.x, turn.y, turn.z],
        }
    };
    let frames = world.joint_frames(id);
    let readings = world.coordinates(id).unwrap_or_default();
    let first = readings.first().map(|reading| reading.name);
    let coordinate = |reading: &linkwork::CoordinateReading| CoordinateDescription {
        name: reading.name.to_owned(),
        is_angle: reading.is_angle,
        acting: description
            .coordinates
            .iter()
            .find(|c| c.of.as_deref().or(first) == Some(reading.name))
            .cloned()
            .unwrap_or_default(),
    };
    Some(JointDescription {
        name: world.joint_name(id).unwrap_or_default().to_owned(),
        kind: description.kind,
        a: a.and_then(|id| index.get(&id).copied()),
        b: b.and_then(|id| index.get(&id).copied()),
        frame_a: frames.map(|(on_a, _)| local(a, on_a)),
        frame_b: frames.map(|(_, on_b)| local(b, on_b)),
        coordinates: readings.iter().map(coordinate).collect(),
    })
}

/// Numbers the groups of bodies that joints and couplings connect, as far as forces move them.
fn mechanisms(world: &World, bodies: &[BodyId], index: &BTreeMap<BodyId, usize>) -> Vec<Option<usize>> {
    let mut parent: Vec<usize> = (0..bodies.len()).collect();
    fn root(parent: &mut [usize], mut k: usize) -> usize {
        while parent[k] != k {
            parent[k] = parent[parent[k]];
            k = parent[k];
        }
        k
    }
    let moves = |id: Option<BodyId>| id.filter(|&id| world.mass(id).is_some()).and_then(|id| index.get(&id).copied());
    let members = |id: JointId| {
        let (a, b) = world.joint_bodies(id).unwrap_or_default();
        [moves(a), moves(b)].into_iter().flatten().collect::<Vec<_>>()
    };
    let joints: Vec<JointId> = world.joint_ids().collect();
    let by_name: BTreeMap<&str, JointId> =
        joints.iter().filter_map(|&id| world.joint_name(id).map(|name| (name, id))).collect();
    for &id in &joints {
        let coupled = world.joint_description(id).map(|d| d.joints.as_slice()).unwrap_or_default();
        let mut group = members(id);
        group.extend(coupled.iter().filter_map(|name| by_name.get(name.as_str())).flat_map(|&id| members(id)));
        for pair in group.windows(2) {
            let (p, q) = (root(&mut parent, pair[0]), root(&mut parent, pair[1]));
            parent[p.max(q)] = p.min(q);
        }
    }
    let mut numbers = BTreeMap::new();
    let number = |k: usize| {
        moves(Some(bodies[k])).map(|_| {
            let next = numbers.len();
            *numbers.entry(root(&mut parent, k)).or_insert(next)
        })
    };
    (0..bodies.len()).map(number).collect()
}
