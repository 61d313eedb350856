//! Recordings: what comes back is what was there, to the promised error, and nothing in a file can do harm.

use linkwork::scene::{Body, Geometry, Joint};
use linkwork::{Scene, Scratch, StepParams, World, step};
use linkwork_io::recording::{ANGLE_BOUND, Description, Event, Frame, POSITION_STEPS, Recorder, Recording, Stats};
use proptest::prelude::*;

/// A double pendulum of boxes beside a ball that falls on the ground: joints, a free body and contacts.
fn scene() -> Scene {
    let mut scene = Scene::new("two and a ball");
    let rod = |name: &str, x: f64| Body::new(name).at([x, 0.0, 0.0]).shape(Geometry::Box { size: [1.0, 0.1, 0.1] });
    scene.body(rod("upper", 0.5)).body(rod("lower", 1.5));
    scene.body(Body::new("ball").at([0.0, 3.0, 0.0]).shape(Geometry::Sphere { radius: 0.2 }));
    scene.body(Body::fixed("post").at([0.0, -3.0, 1.0]).shape(Geometry::Cylinder { radius: 0.1, length: 2.0 }));
    scene.body(Body::fixed("ground").at([0.0, 0.0, -2.5]).shape(Geometry::Plane));
    scene.joint(Joint::hinge("pivot", "world", "upper", [0.0; 3], [0.0, 1.0, 0.0]));
    scene.joint(Joint::ball("elbow", "upper", "lower", [1.0, 0.0, 0.0]));
    scene
}

fn described(world: &World) -> Description {
    Description::of(world, "two and a ball", "", &[("mass".to_owned(), 2.0)], 1.0 / 60.0)
}

/// A recording of so many frames, and the frames.
fn recorded(count: usize) -> (Vec<u8>, Vec<Frame>, Description) {
    let mut world = World::build(&scene()).unwrap();
    let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
    let description = described(&world);
    let mut recorder = Recorder::start(Vec::new(), &description).unwrap();
    let mut frames = Vec::new();
    for _ in 0..count {
        let report = step(&mut world, &mut scratch, &params).unwrap();
        let frame = Frame::of(&world, Stats::of(&world, Some(&report), 1e-3));
        frames.push(frame.clone());
        recorder.frame(frame).unwrap();
    }
    recorder.event(Event { time: 0.5, text: "half a second".to_owned() });
    (recorder.finish().unwrap(), frames, description)
}

#[test]
fn a_recording_comes_back_within_its_error() {
    let (bytes, frames, description) = recorded(200);
    let read = Recording::read(&bytes).unwrap();
    assert!(read.complete);
    assert_eq!(read.description, description);
    assert_eq!(read.events, [Event { time: 0.5, text: "half a second".to_owned() }]);
    assert_eq!(read.frames.len(), frames.len());
    for (block, original) in read.frames.chunks(64).zip(frames.chunks(64)) {
        for body in 0..description.bodies.len() {
            for axis in 0..3 {
                let values = || original.iter().map(|f| f.poses[body].position[axis]);
                let span = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
                // the ends of the range are 32-bit numbers of up to 60 m
                let bound = 0.5 * span / POSITION_STEPS * (1.0 + 1e-6) + 60.0 * f64::from(f32::EPSILON);
                for (read, value) in block.iter().zip(values()) {
                    let error = (read.poses[body].position[axis] - value).abs();
                    assert!(error <= bound, "body {body} axis {axis}: {error} > {bound}");
                }
            }
            for (read, written) in block.iter().zip(original) {
                let turn = written.poses[body].orientation.inverse() * read.poses[body].orientation;
                assert!(2.0 * turn.xyz().length().min(1.0).asin() < ANGLE_BOUND);
            }
        }
        for (read, written) in block.iter().zip(original) {
            assert_eq!((read.time, read.stats), (written.time, written.stats));
        }
        for k in 0..original[0].joints.len() {
            within_half_a_step(block, original, |frame| vec![f64::from(frame.joints[k])]);
        }
        for k in 0..10 {
            within_half_a_step(block, original, |frame| frame.contacts.iter().map(|c| f64::from(c[k])).collect());
        }
        for (read, written) in block.iter().zip(original) {
            let bodies = |frame: &Frame| frame.contacts.iter().map(|c| [c[10], c[11]]).collect::<Vec<_>>();
            assert_eq!(bodies(read), bodies(written));
        }
    }
    assert!(frames[0].contacts.is_empty() && frames.iter().any(|frame| !frame.contacts.is_empty()), "the ball lands");
    let per_frame = bytes.len() as f64 / frames.len() as f64;
    assert!(per_frame < 140.0, "{per_frame} bytes");
}

/// Numbers come back as 16-bit fractions of the range that they span.
fn within_half_a_step(read: &[Frame], written: &[Frame], numbers: impl Fn(&Frame) -> Vec<f64>) {
    let all: Vec<f64> = written.iter().flat_map(&numbers).collect();
    let (low, high) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
    let bound = 0.5 * (high - low) / POSITION_STEPS * (1.0 + 1e-3) + 2e-7 * low.abs().max(high.abs());
    for (read, written) in read.iter().zip(written) {
        let (back, was) = (numbers(read), numbers(written));
        assert_eq!(back.len(), was.len());
        for (back, was) in back.iter().zip(&was) {
            assert!((back - was).abs() <= bound, "{back} {was} {bound}");
        }
    }
}

#[test]
fn the_numbers_of_joints_are_those_of_the_world() {
    let mut world = World::build(&scene()).unwrap();
    let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
    for _ in 0..10 {
        step(&mut world, &mut scratch, &params).unwrap();
    }
    let frame = Frame::of(&world, Stats::default());
    let pivot = world.joint("pivot").unwrap();
    let (reaction, angle) = (world.reaction(pivot).unwrap(), world.coordinates(pivot).unwrap()[0]);
    let force = reaction.wrench.force.as_vec3().to_array();
    assert!(force[2] > 1.0, "the pivot carries the pendulum: {force:?}");
    assert_eq!(frame.joints[2..5], force);
    assert_eq!(frame.joints[8], 1.0, "unique");
    assert_eq!(frame.joints[9..11], [angle.value as f32, angle.velocity as f32]);
}

#[test]
fn a_recording_of_version_1_is_read() {
    // as it was written then: without joints, contacts and what collides
    let (bytes, frames, _) = recorded(70);
    let mut old = b"LWR\x01".to_vec();
    let mut at = 4;
    while at < bytes.len() {
        let end = at + 9 + u32::from_le_bytes(bytes[at + 1..at + 5].try_into().unwrap()) as usize;
        if !b"JCS".contains(&bytes[at]) {
            old.extend(&bytes[at..end]);
        }
        at = end;
    }
    assert!(old.len() < bytes.len());
    let read = Recording::read(&old).unwrap();
    assert!(read.complete && read.frames.len() == frames.len());
    assert!(read.frames.iter().all(|frame| frame.joints.is_empty() && frame.contacts.is_empty()));
    assert!(read.frames.iter().all(|frame| frame.sleeping.is_empty()), "unknown");
    let mut described = serde_json::to_value(&read.description).unwrap();
    described.as_object_mut().unwrap().remove("collides").unwrap();
    assert_eq!(serde_json::from_value::<Description>(described).unwrap().collides, None);
}

#[test]
fn a_recording_knows_what_sleeps() {
    let mut scene = Scene::new("a box that comes to rest, a stone that falls for ever, and more");
    scene.body(Body::fixed("ground").shape(Geometry::Box { size: [4.0, 4.0, 1.0] }));
    let block = Geometry::Box { size: [0.5, 0.5, 0.5] };
    scene.body(Body::new("stone").at([9.0, 0.0, 0.0]).shape(block.clone()));
    for k in 0..9 {
        let [x, y] = [f64::from(k % 3) - 1.0, f64::from(k / 3) - 1.0];
        scene.body(Body::new(format!("box {k}")).at([x, y, 0.76 + 0.2 * f64::from(k)]).shape(block.clone()));
    }
    let mut world = World::build(&scene).unwrap();
    let (mut scratch, mut params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
    params.sleeping = true;
    let mut recorder = Recorder::start(Vec::new(), &described(&world)).unwrap();
    let mut slept: Vec<Vec<bool>> = Vec::new();
    for _ in 0..200 {
        step(&mut world, &mut scratch, &params).unwrap();
        slept.push(world.body_ids().map(|id| world.is_asleep(id)).collect());
        recorder.frame(Frame::of(&world, Stats::default())).unwrap();
    }
    let read = Recording::read(&recorder.finish().unwrap()).unwrap();
    assert_eq!(read.frames.iter().map(|frame| frame.sleeping.clone()).collect::<Vec<_>>(), slept);
    let asleep = |frame: usize| slept[frame].iter().filter(|on| **on).count();
    assert!(asleep(0) == 0 && asleep(199) >= 9, "{} of them sleep in the end", asleep(199));
    assert!(!slept[199][1], "the stone falls");
}

#[test]
fn the_description_knows_mechanisms_and_joint_frames() {
    let world = World::build(&scene()).unwrap();
    let description = described(&world);
    let mechanisms: Vec<_> = description.bodies.iter().map(|body| body.mechanism).collect();
    assert_eq!(mechanisms, [Some(0), Some(0), Some(1), None, None]);
    let elbow = &description.joints[1];
    assert_eq!((elbow.a, elbow.b), (Some(0), Some(1)));
    let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(near(elbow.frame_a.unwrap().position, [0.5, 0.0, 0.0]));
    assert!(near(elbow.frame_b.unwrap().position, [-0.5, 0.0, 0.0]));
    // z of the hinge's frame is its axis
    let [w, x, y, z] = description.joints[0].frame_a.unwrap().orientation;
    let axis = linkwork::glam::DQuat::from_xyzw(x, y, z, w) * linkwork::glam::DVec3::Z;
    assert!((axis.y.abs() - 1.0).abs() < 1e-12, "{axis}");
    assert_eq!(description.joints[0].coordinates[0].name, "angle");
    let json = serde_json::to_string(&description).unwrap();
    assert_eq!(serde_json::from_str::<Description>(&json).unwrap(), description);
}

#[test]
fn a_recording_that_was_cut_off_is_read_as_far_as_it_goes() {
    let (bytes, frames, _) = recorded(150);
    let mut most = 0;
    for length in (0..bytes.len()).step_by(7) {
        if let Ok(read) = Recording::read(&bytes[..length]) {
            assert!(!read.complete && read.frames.len() <= frames.len());
            assert!(read.frames.len() >= most, "more bytes, fewer frames");
            most = read.frames.len();
        }
    }
    assert!(most >= 128, "{most}");
}

#[test]
fn damage_is_noticed() {
    let (bytes, ..) = recorded(10);
    let mut damaged = bytes.clone();
    let middle = bytes.len() / 2;
    damaged[middle] ^= 0x10;
    assert!(Recording::read(&damaged).unwrap_err().problem.contains("checksum"));
    assert!(Recording::read(b"PK\x03\x04").unwrap_err().problem.contains("no recording"));
    let mut newer = bytes.clone();
    newer[3] = 9;
    assert!(Recording::read(&newer).unwrap_err().problem.contains("version 9"));
    assert!(Recording::read(b"LWR\x01").unwrap_err().problem.contains("description is missing"));
}

#[test]
fn a_block_that_unpacks_to_too_much_is_refused() {
    use std::io::Write;
    let mut bytes = b"LWR\x01".to_vec();
    let mut deflated = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    (0..300).for_each(|_| deflated.write_all(&zeros).unwrap());
    let deflated = deflated.finish().unwrap();
    bytes.push(b'D');
    bytes.extend((deflated.len() as u32).to_le_bytes());
    bytes.extend(crc32fast::hash(&deflated).to_le_bytes());
    bytes.extend(&deflated);
    assert!(Recording::read(&bytes).unwrap_err().problem.contains("larger than 256 MiB"));
}

#[test]
fn a_frame_of_another_scene_is_refused() {
    let world = World::build(&scene()).unwrap();
    let mut recorder = Recorder::start(Vec::new(), &described(&world)).unwrap();
    let frame = Frame::of(&world, Stats::default());
    let refused = |recorder: &mut Recorder<Vec<u8>>, frame| recorder.frame(frame).unwrap_err().to_string();
    let bodiless = Frame { poses: Vec::new(), ..frame.clone() };
    assert!(refused(&mut recorder, bodiless).contains("0 bodies in a recording of 5"));
    let loose = Frame { joints: Vec::new(), ..frame };
    assert!(refused(&mut recorder, loose).contains("0 numbers of joints in a recording of 48"));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(mut noise in prop::collection::vec(any::<u8>(), 0..200), block in prop::option::of(prop::sample::select(b"FJC".to_vec()))) {
        // with and without a checksum that fits, so that what is inside is reached, too
        let mut bytes = b"LWR\x01".to_vec();
        if let Some(kind) = block {
            let (good, ..) = recorded(2);
            let length = 9 + u32::from_le_bytes([good[5], good[6], good[7], good[8]]) as usize;
            // the description and the frames; joints and contacts belong to frames
            let frames = 4 + length + 9 + u32::from_le_bytes(good[5 + length..9 + length].try_into().unwrap()) as usize;
            bytes = good[..if kind == b'F' { 4 + length } else { frames }].to_vec();
            let mut deflated = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut deflated, &noise).unwrap();
            noise = deflated.finish().unwrap();
            bytes.push(kind);
            bytes.extend((noise.len() as u32).to_le_bytes());
            bytes.extend(crc32fast::hash(&noise).to_le_bytes());
        }
        bytes.extend(&noise);
        let _ = Recording::read(&bytes);
    }
}

#[test]
fn particles_come_back_within_their_error_and_hostile_blocks_do_no_harm() {
    use linkwork::scene::{Particles, Rope, WORLD};
    let mut scene = scene();
    let rope = Rope::new([0.0, 3.0, 2.0], [0.0, 3.0, 0.0], 8, 0.2, 1e4).between(WORLD, "ball");
    scene.particles(Particles { ropes: vec![rope], collides: false, ..Particles::new("rope") });
    let mut world = World::build(&scene).unwrap();
    let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
    let description = described(&world);
    assert_eq!((description.particles[0].count, description.particles[0].lines.len()), (9, 8));
    let mut recorder = Recorder::start(Vec::new(), &description).unwrap();
    let mut frames = Vec::new();
    for _ in 0..150 {
        step(&mut world, &mut scratch, &params).unwrap();
        frames.push(Frame::of(&world, Stats::default()));
        recorder.frame(frames[frames.len() - 1].clone()).unwrap();
    }
    let missing = Frame { particles: Vec::new(), ..frames[0].clone() };
    assert!(recorder.frame(missing).is_err());
    let bytes = recorder.finish().unwrap();
    let read = Recording::read(&bytes).unwrap();
    assert_eq!(read.description, description);
    for (read, written) in read.frames.iter().zip(&frames) {
        assert_eq!(read.particles.len(), 9);
        for (a, b) in read.particles.iter().zip(&written.particles) {
            // within a range of a few metres
            assert!(a.distance(*b) < 1e-4, "{a} instead of {b}");
        }
    }
    for cut in (0..bytes.len()).step_by(37) {
        let _ = Recording::read(&bytes[..cut]);
        let mut damaged = bytes.clone();
        damaged[cut] ^= 0x55;
        let _ = Recording::read(&damaged);
    }
}
