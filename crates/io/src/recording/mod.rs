//! Recordings of runs (`.lwr`): what a scene looks like, and where its bodies were, small enough to be sent around.
//!
//! A file is `LWR`, a version byte, and blocks: kind (1 byte), length (u32), CRC-32 (u32) of the bytes that follow, and
//! these bytes, deflated. All numbers are little-endian.
//!
//! | kind | content |
//! | --- | --- |
//! | `D` | the [`Description`] as JSON; the first block |
//! | `F` | frames, see below |
//! | `J` | numbers of the joints at the frames of the last `F`, see `joints.rs` |
//! | `C` | contacts at the frames of the last `F`, see `contacts.rs` |
//! | `P` | particles of the frames before it, if there are any |
//! | `S` | which bodies sleep at the frames of the last `F`, see `sleeping.rs`; not in older recordings |
//! | `E` | events as JSON: what the engine warned of, and when |
//! | `Z` | nothing; the recording was completed |
//!
//! Readers skip kinds they do not know. A file without `Z` was cut off; what comes before is good. Version 1 had no `J` and no
//! `C`, and its description does not say what collides; it is still read.
//!
//! Frames of one block share a range per body and axis. Positions are 16-bit fractions of that range, so the error is
//! at most [`POSITION_STEPS`]⁻¹ of half the path that a body spans within a block. Orientations are the three smallest components
//! of the quaternion, 15 bits each: at most [`ANGLE_BOUND`] rad. Numbers are written as differences from frame to frame, low
//! bytes apart from high bytes, which is what makes them deflate well.

mod columns;
mod contacts;
mod describe;
mod frames;
mod joints;
mod points;
mod quantise;
mod read;
mod sleeping;
mod write;

pub use contacts::{CONTACT_NUMBERS, contact_numbers};
pub use describe::{
    BodyDescription, CoordinateDescription, Description, FrameDescription, JointDescription, ParticlesDescription,
    held_particles,
};
pub use quantise::{ANGLE_BOUND, POSITION_STEPS, pack_orientation, unpack_orientation};
pub use read::{Recording, RecordingError};
pub use write::Recorder;

use frames::BLOCK;
use linkwork::glam::DVec3;
use linkwork::{BodyId, Pose, StepReport, World};
use serde::{Deserialize, Serialize};

/// The file begins with this; the last byte is the version of the format.
const MAGIC: [u8; 4] = *b"LWR\x02";
/// Older versions that are still read.
const OLDEST_VERSION: u8 = 1;

/// Numbers of a frame that are drawn as charts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Energy of motion, J.
    pub kinetic: f32,
    /// Energy of height, J.
    pub potential: f32,
    /// Energy of springs, J.
    pub elastic: f32,
    /// Largest gap of a joint, m.
    pub joint_error_m: f32,
    /// Largest angle of a joint, rad.
    pub joint_error_rad: f32,
    /// Deepest overlap, m.
    pub penetration_m: f32,
    /// Time for the step on the clock, ms.
    pub step_ms: f32,
    /// Iterations for the joints.
    pub joint_iterations: f32,
    /// Iterations for contacts and bounds.
    pub contact_iterations: f32,
}

/// How many numbers [`Stats`] are.
pub const STAT_COUNT: usize = 9;

impl Stats {
    /// The energies of a world, and what its last step reported.
    pub fn of(world: &World, report: Option<&StepReport>, step_seconds: f64) -> Stats {
        let energy = world.energy();
        let of_step = report.map_or(Stats::default(), |report| Stats {
            joint_error_m: report.joint_error.max_m as f32,
            joint_error_rad: report.joint_error.max_rad as f32,
            penetration_m: report.penetration_m as f32,
            step_ms: (1e3 * step_seconds) as f32,
            joint_iterations: report.joint_iterations as f32,
            contact_iterations: report.contact_iterations as f32,
            ..Stats::default()
        });
        Stats {
            kinetic: energy.kinetic as f32,
            potential: energy.potential as f32,
            elastic: energy.elastic as f32,
            ..of_step
        }
    }

    /// All of them, in the order of the format.
    pub fn to_array(&self) -> [f32; STAT_COUNT] {
        [
            self.kinetic,
            self.potential,
            self.elastic,
            self.joint_error_m,
            self.joint_error_rad,
            self.penetration_m,
            self.step_ms,
            self.joint_iterations,
            self.contact_iterations,
        ]
    }

    /// From the order of the format.
    pub fn from_array(numbers: [f32; STAT_COUNT]) -> Stats {
        let [kinetic, potential, elastic, joint_error_m, joint_error_rad, penetration_m, step_ms, joint, contact] =
            numbers;
        Stats {
            kinetic,
            potential,
            elastic,
            joint_error_m,
            joint_error_rad,
            penetration_m,
            step_ms,
            joint_iterations: joint,
            contact_iterations: contact,
        }
    }
}

/// Something that happened during a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Simulated time, s.
    pub time: f64,
    /// What happened, in plain words.
    pub text: String,
}

/// A moment of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Simulated time, s.
    pub time: f64,
    /// Numbers for charts.
    pub stats: Stats,
    /// Of all bodies, in the order of the description.
    pub poses: Vec<Pose>,
    /// Of all joints, in the order of the description: error (m, rad); unless it is a coupling, the force and torque on b (world
    /// axes, N and N m) and whether they are unique (1 or 0); of every coordinate value, velocity, forces of limit, friction,
    /// motor. Nothing in recordings of version 1.
    pub joints: Vec<f32>,
    /// What touches: [`CONTACT_NUMBERS`] each. Nothing in recordings of version 1.
    pub contacts: Vec<[f32; CONTACT_NUMBERS]>,
    /// Of all particles, system by system.
    pub particles: Vec<DVec3>,
    /// Which bodies sleep, in the order of the description; nothing in recordings that do not say.
    pub sleeping: Vec<bool>,
}

/// Where all particles are, system by system.
pub fn particle_positions(world: &World) -> impl Iterator<Item = DVec3> + '_ {
    let systems = (0..world.particle_system_count()).filter_map(|k| world.particle_system(k));
    systems.flat_map(|system| system.positions().iter().copied())
}

impl Frame {
    /// The present moment of a world.
    pub fn of(world: &World, stats: Stats) -> Frame {
        let poses = world.body_ids().filter_map(|id| world.pose(id)).collect();
        let bodies: Vec<BodyId> = world.body_ids().collect();
        let contacts = contact_numbers(world, &bodies);
        Frame {
            time: world.time(),
            stats,
            poses,
            joints: joints::numbers(world),
            contacts,
            particles: particle_positions(world).collect(),
            sleeping: bodies.iter().map(|&id| world.is_asleep(id)).collect(),
        }
    }
}
