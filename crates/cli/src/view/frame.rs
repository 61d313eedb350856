//! A moment of a session as bytes for the page, little-endian, everything on a multiple of four.
//!
//! | at | what |
//! | --- | --- |
//! | 0 | `L`, version 1, flags (u16): 1 time runs, 2 a step failed |
//! | 4 | number of the scene (u32) |
//! | 8 | revision of its joints (u32): numbers of joints are those of the description with this revision |
//! | 12 | number of bodies (u32) |
//! | 16 | simulated time, s (f64) |
//! | 24 | steps since the start (f64) |
//! | 32 | the nine numbers of [`Stats`] (f32) |
//! | 68 | simulated seconds per second (f32) |
//! | 72 | sections: kind (u32), length in bytes (u32), content |
//!
//! | kind | content |
//! | --- | --- |
//! | 1 | poses: positions (3 f32 a body), then orientations (3 u16 a body, as in recordings) |
//! | 2 | velocities of centres of mass, a vector a body |
//! | 3 | reactions: force on b, a vector a joint; zeros for a coupling |
//! | 4 | contacts: [`CONTACT_NUMBERS`](linkwork_io::recording::CONTACT_NUMBERS) f32 each |
//! | 5 | watched joints: joint, coordinates (u32); errors m, rad; force, torque; unique; a coordinate: value, velocity, forces of limit, friction, motor (f32) |
//! | 6 | watched bodies: body (u32), linear and angular velocity (6 f32) |
//! | 7 | particles, system by system: positions (3 f32 each) |
//! | 8 | sleeping bodies: 1 for each that does (1 byte a body) |
//!
//! Vectors that are drawn as arrows are a unit (f32) and, for each, three numbers of it (i16): the largest has 32767 units.
//! Pages skip kinds they do not know.

use super::orders::Watch;
use linkwork::glam::DVec3;
use linkwork::{BodyId, JointId, World};
use linkwork_io::recording::{Stats, contact_numbers, pack_orientation, particle_positions};

/// What a frame is made from.
pub struct Moment<'a> {
    /// The world.
    pub world: &'a World,
    /// Its bodies, in the order of the description.
    pub bodies: &'a [BodyId],
    /// Its joints.
    pub joints: &'a [JointId],
    /// Number of the scene.
    pub scene: u32,
    /// Revision of its joints.
    pub revision: u32,
    /// Time runs.
    pub playing: bool,
    /// The last step failed.
    pub failed: bool,
    /// Steps since the start.
    pub steps: u64,
    /// Numbers for the charts.
    pub stats: Stats,
    /// Simulated seconds per second.
    pub pace: f32,
    /// What the pages look at, all together.
    pub watch: &'a Watch,
}

impl Moment<'_> {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let n = self.bodies.len();
        let mut out = Vec::with_capacity(80 + 18 * n + 4);
        let flags = u16::from(self.playing) | u16::from(self.failed) << 1;
        out.extend([b'L', 1]);
        out.extend(flags.to_le_bytes());
        out.extend(self.scene.to_le_bytes());
        out.extend(self.revision.to_le_bytes());
        out.extend((n as u32).to_le_bytes());
        out.extend(self.world.time().to_le_bytes());
        out.extend((self.steps as f64).to_le_bytes());
        reals(&mut out, self.stats.to_array());
        reals(&mut out, [self.pace]);
        section(&mut out, 1, |out| self.poses(out));
        let watch = self.watch;
        if watch.velocities {
            section(&mut out, 2, |out| self.velocities(out));
        }
        if watch.reactions {
            section(&mut out, 3, |out| self.reactions(out));
        }
        if watch.contacts {
            section(&mut out, 4, |out| {
                contact_numbers(self.world, self.bodies).into_iter().for_each(|numbers| reals(out, numbers))
            });
        }
        if watch.sleeping {
            section(&mut out, 8, |out| out.extend(self.bodies.iter().map(|&id| u8::from(self.world.is_asleep(id)))));
        }
        if !watch.joints.is_empty() {
            section(&mut out, 5, |out| watch.joints.iter().for_each(|&k| self.joint(out, k)));
        }
        if !watch.bodies.is_empty() {
            section(&mut out, 6, |out| watch.bodies.iter().for_each(|&k| self.body(out, k)));
        }
        if self.world.particle_system_count() > 0 {
            section(&mut out, 7, |out| {
                particle_positions(self.world).for_each(|p| reals(out, p.as_vec3().to_array()));
            });
        }
        out
    }

    fn poses(&self, out: &mut Vec<u8>) {
        let mut turns = Vec::with_capacity(6 * self.bodies.len());
        for &id in self.bodies {
            let pose = self.world.pose(id).unwrap_or(linkwork::Pose::IDENTITY);
            reals(out, pose.position.as_vec3().to_array());
            turns.extend_from_slice(pack_orientation(pose.orientation).map(u16::to_le_bytes).as_flattened());
        }
        out.extend(turns);
    }

    fn velocities(&self, out: &mut Vec<u8>) {
        let velocity = |&id| match (self.world.velocity(id), self.world.pose(id), self.world.center_of_mass(id)) {
            (Some(twist), Some(pose), Some(center)) => twist.linear + twist.angular.cross(center - pose.position),
            _ => DVec3::ZERO,
        };
        vectors(out, self.bodies.iter().map(velocity).collect());
    }

    fn reactions(&self, out: &mut Vec<u8>) {
        let force = |&id| self.world.reaction(id).map_or(DVec3::ZERO, |reaction| reaction.wrench.force);
        vectors(out, self.joints.iter().map(force).collect());
    }

    fn joint(&self, out: &mut Vec<u8>, k: usize) {
        let Some(&id) = self.joints.get(k) else { return };
        let coordinates = self.world.coordinates(id).unwrap_or_default();
        out.extend((k as u32).to_le_bytes());
        out.extend((coordinates.len() as u32).to_le_bytes());
        let (m, rad) = self.world.joint_error(id).unwrap_or_default();
        reals(out, [m as f32, rad as f32]);
        let reaction = self.world.reaction(id);
        let wrench = reaction.map(|reaction| reaction.wrench).unwrap_or_default();
        reals(out, wrench.force.as_vec3().to_array());
        reals(out, wrench.torque.as_vec3().to_array());
        reals(out, [f32::from(u8::from(reaction.is_none_or(|reaction| reaction.unique)))]);
        for c in coordinates {
            let numbers = [c.value, c.velocity, c.limit_force, c.friction_force, c.motor_force];
            reals(out, numbers.map(|number| number as f32));
        }
    }

    fn body(&self, out: &mut Vec<u8>, k: usize) {
        let Some(twist) = self.bodies.get(k).and_then(|&id| self.world.velocity(id)) else { return };
        out.extend((k as u32).to_le_bytes());
        reals(out, twist.linear.as_vec3().to_array());
        reals(out, twist.angular.as_vec3().to_array());
    }
}

fn reals<const N: usize>(out: &mut Vec<u8>, numbers: [f32; N]) {
    out.extend_from_slice(numbers.map(f32::to_le_bytes).as_flattened());
}

/// Vectors in whole units; what is not finite is zero.
fn vectors(out: &mut Vec<u8>, mut vectors: Vec<DVec3>) {
    vectors.iter_mut().filter(|vector| !vector.is_finite()).for_each(|vector| *vector = DVec3::ZERO);
    let largest = vectors.iter().map(|vector| vector.abs().max_element()).fold(0.0, f64::max);
    let unit = (largest / f64::from(i16::MAX)).clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX));
    reals(out, [unit as f32]);
    for vector in vectors {
        let words = (vector / unit).to_array().map(|number| (number.round() as i16).to_le_bytes());
        out.extend_from_slice(words.as_flattened());
    }
}

fn section(out: &mut Vec<u8>, kind: u32, content: impl FnOnce(&mut Vec<u8>)) {
    out.extend(kind.to_le_bytes());
    let length_at = out.len();
    out.extend([0; 4]);
    content(out);
    let length = (out.len() - length_at - 4) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::Scene;
    use linkwork::scene::{Body, Joint, WORLD};

    #[test]
    fn two_thousand_bodies_and_joints_with_all_arrows_are_below_64_kb() {
        let mut scene = Scene::new("many");
        for i in 0..2000 {
            let (name, at) = (format!("b{i}"), [f64::from(i), 0.0, 0.0]);
            scene.body(Body::new(&name).with_mass(1.0).with_inertia([1.0; 3]).at(at));
            scene.joint(Joint::ball(format!("j{i}"), WORLD, &name, at));
        }
        let world = World::build(&scene).unwrap();
        let bodies: Vec<BodyId> = world.body_ids().collect();
        let joints: Vec<JointId> = world.joint_ids().collect();
        let bytes = |watch: &Watch| {
            let moment = Moment {
                world: &world,
                bodies: &bodies,
                joints: &joints,
                scene: 1,
                revision: 0,
                playing: true,
                failed: false,
                steps: 7,
                stats: Stats::default(),
                pace: 1.0,
                watch,
            };
            moment.encode()
        };
        let plain = bytes(&Watch::default());
        assert_eq!(plain.len(), 80 + 18 * 2000);
        assert_eq!(&plain[..4], [b'L', 1, 1, 0]);
        let x_of_body_5 = &plain[80 + 12 * 5..][..4];
        assert_eq!(x_of_body_5, 5.0f32.to_le_bytes());
        let everything = Watch {
            velocities: true,
            reactions: true,
            contacts: true,
            sleeping: true,
            bodies: vec![1, 9999],
            joints: vec![3],
        };
        assert!(bytes(&everything).len() < 64_000, "{}", bytes(&everything).len());
    }

    #[test]
    fn vectors_come_back_to_a_part_in_thirty_thousand() {
        let sent = [[1.0, -2.0, 3.0], [0.0, 1e-3, -12.5], [f64::NAN, 1.0, 1.0]].map(DVec3::from);
        for scale in [1e-30, 1.0, 1e30] {
            let mut out = Vec::new();
            vectors(&mut out, sent.iter().map(|vector| scale * *vector).collect());
            let unit = f64::from(f32::from_le_bytes(out[..4].try_into().unwrap()));
            let words = out[4..].as_chunks().0.iter().map(|word| unit * f64::from(i16::from_le_bytes(*word)));
            let come: Vec<f64> = words.collect();
            let wanted = [1.0, -2.0, 3.0, 0.0, 1e-3, -12.5, 0.0, 0.0, 0.0];
            for (come, wanted) in come.iter().zip(wanted) {
                assert!(
                    (come - scale * wanted).abs() < scale * 12.5 / 32767.0,
                    "{come} instead of {wanted} times {scale}"
                );
            }
        }
        let mut out = Vec::new();
        vectors(&mut out, vec![DVec3::ZERO]);
        assert_eq!(out[4..], [0; 6]);
    }
}
