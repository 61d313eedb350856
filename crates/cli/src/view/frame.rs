//! A moment of a session as bytes for the page, little-endian, everything on a multiple of four.
//!
//! | at | what |
//! | --- | --- |
//! | 0 | `L`, version 2, flags (u16): 1 time runs, 2 a step failed |
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
//! | 4 | contacts, see `contacts.rs` |
//! | 5 | watched joints: joint, coordinates (u32); errors m, rad; force, torque; unique; a coordinate: value, velocity, forces of limit, friction, motor (f32) |
//! | 6 | watched bodies: body (u32), linear and angular velocity (6 f32) |
//! | 7 | particles, system by system: positions (3 f32 each) |
//! | 8 | sleeping bodies: a bit a body, the lowest of a byte first |
//!
//! Vectors that are drawn as arrows are a unit (f32) and, for each, three numbers of it (i16): the largest has 32767 units.
//! Pages skip kinds they do not know.
//!
//! The session makes every section once that any page looks at ([`Moment::frame`]); the server puts together what each page
//! asked for ([`Frame::for_page`]).

use super::contacts::{self, Contacts};
use super::orders::Watch;
use linkwork::glam::DVec3;
use linkwork::{BodyId, JointId, World};
use linkwork_io::recording::{Stats, pack_orientation, particle_positions};
use std::collections::BTreeMap;

/// Bytes of a frame, as far as leaving out contacts can keep it at that: below 64 kB.
const BUDGET: usize = 63_900;
/// So many contacts are shown whatever else there is.
const LEAST_CONTACTS: usize = 256;

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

/// A moment in sections, for pages that look at different things.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// What every page gets: head, poses, particles.
    common: Vec<u8>,
    velocities: Vec<u8>,
    reactions: Vec<u8>,
    sleeping: Vec<u8>,
    contacts: Option<Contacts>,
    joints: BTreeMap<usize, Vec<u8>>,
    bodies: BTreeMap<usize, Vec<u8>>,
}

impl Frame {
    /// The bytes for a page that looks at these things. Of contacts the strongest, as many as there is room for.
    pub fn for_page(&self, watch: &Watch) -> Vec<u8> {
        let mut out = Vec::with_capacity(BUDGET);
        out.extend_from_slice(&self.common);
        let chosen = [
            (watch.velocities, &self.velocities),
            (watch.reactions, &self.reactions),
            (watch.sleeping, &self.sleeping),
        ];
        chosen.into_iter().filter(|(wanted, _)| *wanted).for_each(|(_, section)| out.extend_from_slice(section));
        for (kind, numbers, numbered) in [(5, &watch.joints, &self.joints), (6, &watch.bodies, &self.bodies)] {
            let found: Vec<&Vec<u8>> = numbers.iter().filter_map(|k| numbered.get(k)).collect();
            if !found.is_empty() {
                section(&mut out, kind, |out| found.into_iter().for_each(|bytes| out.extend_from_slice(bytes)));
            }
        }
        if let Some(contacts) = self.contacts.as_ref().filter(|_| watch.contacts) {
            let most = room_for_contacts(out.len());
            section(&mut out, 4, |out| contacts.write(out, most));
        }
        out
    }
}

/// How many contacts a frame can have that is so long without them.
fn room_for_contacts(length: usize) -> usize {
    (BUDGET.saturating_sub(length + 8 + contacts::HEAD) / contacts::EACH).max(LEAST_CONTACTS)
}

impl Moment<'_> {
    /// Everything that any page looks at.
    pub fn frame(&self) -> Frame {
        let watch = self.watch;
        let common = self.common();
        let made = |wanted: bool, kind: u32, content: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            if wanted {
                section(&mut out, kind, content);
            }
            out
        };
        let numbered = |numbers: &[usize], content: &dyn Fn(&mut Vec<u8>, usize)| {
            let each = numbers.iter().map(|&k| {
                let mut out = Vec::new();
                content(&mut out, k);
                (k, out)
            });
            each.filter(|(_, bytes)| !bytes.is_empty()).collect()
        };
        Frame {
            velocities: made(watch.velocities, 2, &|out| self.velocities(out)),
            reactions: made(watch.reactions, 3, &|out| self.reactions(out)),
            sleeping: made(watch.sleeping, 8, &|out| self.sleeping(out)),
            contacts: watch.contacts.then(|| Contacts::of(self.world, room_for_contacts(common.len()))),
            joints: numbered(&watch.joints, &|out, k| self.joint(out, k)),
            bodies: numbered(&watch.bodies, &|out, k| self.body(out, k)),
            common,
        }
    }

    /// What every page gets.
    fn common(&self) -> Vec<u8> {
        let n = self.bodies.len();
        let mut out = Vec::with_capacity(80 + 18 * n + 4);
        let flags = u16::from(self.playing) | u16::from(self.failed) << 1;
        out.extend([b'L', 2]);
        out.extend(flags.to_le_bytes());
        out.extend(self.scene.to_le_bytes());
        out.extend(self.revision.to_le_bytes());
        out.extend((n as u32).to_le_bytes());
        out.extend(self.world.time().to_le_bytes());
        out.extend((self.steps as f64).to_le_bytes());
        reals(&mut out, self.stats.to_array());
        reals(&mut out, [self.pace]);
        section(&mut out, 1, |out| self.poses(out));
        if self.world.particle_system_count() > 0 {
            section(&mut out, 7, |out| {
                particle_positions(self.world).for_each(|p| reals(out, p.as_vec3().to_array()));
            });
        }
        out
    }

    fn sleeping(&self, out: &mut Vec<u8>) {
        let byte = |bodies: &[BodyId]| {
            bodies.iter().enumerate().fold(0, |byte, (k, &id)| byte | u8::from(self.world.is_asleep(id)) << k)
        };
        out.extend(self.bodies.chunks(8).map(byte));
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
    use linkwork::scene::{Body, Geometry, Joint, WORLD};
    use linkwork::{Scene, Scratch, StepParams, step};

    fn frame(world: &World, watch: &Watch) -> Frame {
        let bodies: Vec<BodyId> = world.body_ids().collect();
        let joints: Vec<JointId> = world.joint_ids().collect();
        let moment = Moment {
            world,
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
        moment.frame()
    }

    fn everything() -> Watch {
        Watch {
            velocities: true,
            reactions: true,
            contacts: true,
            sleeping: true,
            bodies: vec![1, 9999],
            joints: vec![3],
        }
    }

    /// Kind and content of all sections.
    fn sections(bytes: &[u8]) -> BTreeMap<u32, &[u8]> {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let (mut at, mut sections) = (72, BTreeMap::new());
        while at < bytes.len() {
            let length = word(at + 4) as usize;
            assert!(sections.insert(word(at), &bytes[at + 8..at + 8 + length]).is_none());
            at += 8 + length.next_multiple_of(4);
        }
        sections
    }

    /// Bodies hang on joints and stand in rows on a plane, so that all kinds of arrows are there; after some steps.
    fn two_thousand_that_touch() -> World {
        let mut scene = Scene::new("many");
        scene.body(Body::fixed("ground").shape(Geometry::Plane));
        let block = Geometry::Box { size: [0.9, 0.9, 1.0] };
        for i in 0..2000 {
            let (name, at) = (format!("b{i}"), [f64::from(i % 50), f64::from(i / 50), 0.5]);
            scene.body(Body::new(&name).shape(block.clone()).at(at));
            scene.joint(Joint::slider(format!("j{i}"), WORLD, &name, at, [0.0, 0.0, 1.0]));
        }
        let mut world = World::build(&scene).unwrap();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
        for _ in 0..3 {
            step(&mut world, &mut scratch, &params).unwrap();
        }
        world
    }

    #[test]
    fn two_thousand_bodies_and_joints_with_all_arrows_are_below_64_kb() {
        let world = two_thousand_that_touch();
        let touching = world.contacts().count();
        assert!(touching > 5000, "{touching} contacts");
        let plain = frame(&world, &Watch::default()).for_page(&Watch::default());
        assert_eq!(plain.len(), 80 + (18 * 2001usize).next_multiple_of(4));
        assert_eq!(&plain[..4], [b'L', 2, 1, 0]);
        let x_of_body_5 = &plain[80 + 12 * 5..][..4];
        assert_eq!(x_of_body_5, 4.0f32.to_le_bytes());
        let full = frame(&world, &everything()).for_page(&everything());
        assert!(full.len() < 64_000 && full.len() > 63_000, "{}", full.len());
        let sections = sections(&full);
        let kinds: Vec<u32> = sections.keys().copied().collect();
        assert_eq!(kinds, [1, 2, 3, 4, 5, 6, 8]);
        let number = |at: usize| u32::from_le_bytes(sections[&4][at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(number(0), touching, "those that are left out are counted");
        assert!(number(4) >= LEAST_CONTACTS && sections[&4].len() == contacts::HEAD + contacts::EACH * number(4));
        assert_eq!(sections[&8].len(), 251);
    }

    #[test]
    fn a_pyramid_of_two_thousand_bodies_with_all_its_contacts_is_below_64_kb() {
        let scene = linkwork_scenes::find("pyramid").unwrap().build(&[("base".to_owned(), 62.0)]).unwrap();
        let mut world = World::build(&scene).unwrap();
        let (mut scratch, params) = (Scratch::default(), StepParams::new(scene.step.dt));
        for _ in 0..5 {
            step(&mut world, &mut scratch, &params).unwrap();
        }
        let touching = world.contacts().count();
        assert!(world.body_ids().count() > 1900 && touching > 5000, "{touching} contacts");
        let full = frame(&world, &everything()).for_page(&everything());
        assert!(full.len() < 64_000 && full.len() > 63_000, "{}", full.len());
        let contacts_alone = Watch { contacts: true, ..Watch::default() };
        let more = frame(&world, &everything()).for_page(&contacts_alone);
        assert!(more.len() < 64_000, "{}", more.len());
        assert!(sections(&more)[&4].len() > sections(&full)[&4].len(), "the room of other arrows is used");
    }

    #[test]
    fn a_page_gets_what_it_looks_at_and_not_what_others_do() {
        let world = World::build(&linkwork_scenes::find("four-bar").unwrap().default_scene()).unwrap();
        let shared = frame(&world, &Watch { bodies: vec![0, 1], joints: vec![0, 2], ..everything() });
        let kinds = |watch: &Watch| sections(&shared.for_page(watch)).keys().copied().collect::<Vec<_>>();
        assert_eq!(kinds(&Watch::default()), [1]);
        assert_eq!(kinds(&Watch { velocities: true, ..Watch::default() }), [1, 2]);
        assert_eq!(kinds(&Watch { contacts: true, sleeping: true, ..Watch::default() }), [1, 4, 8]);
        let bytes = shared.for_page(&Watch { joints: vec![2, 7], bodies: vec![7], ..Watch::default() });
        let found = sections(&bytes);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 5], "joint 7 and body 7 are not there");
        assert_eq!(found[&5][..4], 2u32.to_le_bytes());
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
