//! The numbers of joints at the frames of a block as bytes, before they are deflated.
//!
//! number of frames (u16), of columns (u32); for every column the range (low f32, extent f32); then every column that changes, as
//! positions are written (see `frames.rs`). Columns are those of [`Frame::joints`](super::Frame). Numbers are 16-bit fractions of
//! the range that they span within the block.

use super::Description;
use super::columns::{Bytes, column};
use super::quantise::Range;
use linkwork::World;

/// Error, and wrench with its flag, in numbers.
const ERROR: usize = 2;
const REACTION: usize = 7;
/// A coordinate in numbers.
const COORDINATE: usize = 5;

/// What is kept of the joints of a world.
pub(super) fn numbers(world: &World) -> Vec<f32> {
    let mut numbers = Vec::new();
    for id in world.joint_ids() {
        let (m, rad) = world.joint_error(id).unwrap_or_default();
        numbers.extend([m as f32, rad as f32]);
        // there is one if the joint has frames
        if let Some(reaction) = world.reaction(id) {
            numbers.extend(reaction.wrench.force.as_vec3().to_array());
            numbers.extend(reaction.wrench.torque.as_vec3().to_array());
            numbers.push(f32::from(u8::from(reaction.unique)));
        }
        for c in world.coordinates(id).unwrap_or_default() {
            let coordinate: [f64; COORDINATE] = [c.value, c.velocity, c.limit_force, c.friction_force, c.motor_force];
            numbers.extend(coordinate.map(|number| number as f32));
        }
    }
    numbers
}

/// How many numbers the joints of a scene have in a frame.
pub(super) fn count(description: &Description) -> usize {
    let joint = |joint: &super::JointDescription| {
        ERROR + joint.frame_a.map_or(0, |_| REACTION) + COORDINATE * joint.coordinates.len()
    };
    description.joints.iter().map(joint).sum()
}

pub(super) fn encode(frames: &[super::Frame]) -> Vec<u8> {
    let columns = frames.first().map_or(0, |frame| frame.joints.len());
    let mut bytes = Vec::with_capacity(6 + 8 * columns);
    bytes.extend((frames.len() as u16).to_le_bytes());
    bytes.extend((columns as u32).to_le_bytes());
    let values = |k: usize| frames.iter().map(move |frame| f64::from(frame.joints[k]));
    let ranges: Vec<Range> = (0..columns).map(|k| Range::of(values(k))).collect();
    ranges.iter().for_each(|range| range.write(&mut bytes));
    for (k, range) in ranges.iter().enumerate().filter(|(_, range)| range.extent > 0.0) {
        column(&mut bytes, values(k).map(|value| range.pack(value)));
    }
    bytes
}

/// Puts the numbers of a block into its frames.
pub(super) fn decode(bytes: &[u8], columns: usize, frames: &mut [super::Frame]) -> Result<(), String> {
    let mut rest = Bytes(bytes);
    let count = usize::from(u16::from_le_bytes(rest.array()?));
    let written = u32::from_le_bytes(rest.array()?) as usize;
    if count != frames.len() || written != columns {
        return Err(format!(
            "{written} numbers of joints at {count} moments, for a scene with {columns} and {} frames",
            frames.len()
        ));
    }
    let ranges = (0..columns).map(|_| Range::read(&mut rest)).collect::<Result<Vec<_>, _>>()?;
    frames.iter_mut().for_each(|frame| frame.joints = Vec::with_capacity(columns));
    for range in &ranges {
        let words = if range.extent > 0.0 { rest.column(count)? } else { vec![0; count] };
        for (frame, word) in frames.iter_mut().zip(words) {
            frame.joints.push(range.unpack(word) as f32);
        }
    }
    rest.end()
}
