//! A block of frames as bytes, before they are deflated.
//!
//! number of frames (u16), of bodies (u32); times (f64 each); charts' numbers, column by column (f32); for every body and axis
//! the range (low f32, extent f32); for every body a byte that says whether it turns, and its first orientation
//! (3 u16); then, for every number that changes, its column: positions of body 0 along x, y, z, of body 1, …, and then
//! orientations in the same way. A column is the differences from one frame to the next, modulo 2¹⁶ and beginning at 0: all
//! low bytes, then all high bytes.

use super::columns::{Bytes, column};
use super::quantise::{Range, pack_orientation, unpack_orientation};
use super::{Frame, STAT_COUNT, Stats};
use linkwork::Pose;
use linkwork::glam::DVec3;

/// Frames share a range in blocks of this many: about a second.
pub(super) const BLOCK: usize = 64;

pub(super) fn encode(frames: &[Frame]) -> Vec<u8> {
    let bodies = frames.first().map_or(0, |frame| frame.poses.len());
    let mut bytes = Vec::with_capacity(frames.len() * bodies * 12 + 64);
    bytes.extend((frames.len() as u16).to_le_bytes());
    bytes.extend((bodies as u32).to_le_bytes());
    frames.iter().for_each(|frame| bytes.extend(frame.time.to_le_bytes()));
    for stat in 0..STAT_COUNT {
        frames.iter().for_each(|frame| bytes.extend(frame.stats.to_array()[stat].to_le_bytes()));
    }
    let mut ranges = Vec::with_capacity(3 * bodies);
    for body in 0..bodies {
        for axis in 0..3 {
            let range = Range::of(frames.iter().map(|frame| frame.poses[body].position[axis]));
            range.write(&mut bytes);
            ranges.push(range);
        }
    }
    let turns: Vec<Vec<[u16; 3]>> = (0..bodies)
        .map(|body| frames.iter().map(|frame| pack_orientation(frame.poses[body].orientation)).collect())
        .collect();
    for turn in &turns {
        bytes.push(u8::from(is_turning(turn)));
        turn[0].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    }
    for (k, range) in ranges.iter().enumerate().filter(|(_, range)| range.extent > 0.0) {
        column(&mut bytes, frames.iter().map(|frame| range.pack(frame.poses[k / 3].position[k % 3])));
    }
    for turn in turns.iter().filter(|turn| is_turning(turn)) {
        for k in 0..3 {
            column(&mut bytes, turn.iter().map(|words| words[k]));
        }
    }
    bytes
}

fn is_turning(turn: &[[u16; 3]]) -> bool {
    turn.iter().any(|words| *words != turn[0])
}

/// The frames of a block; what is wrong with it otherwise.
pub(super) fn decode(bytes: &[u8], bodies: usize) -> Result<Vec<Frame>, String> {
    let mut rest = Bytes(bytes);
    let count = usize::from(u16::from_le_bytes(rest.array()?));
    let written = u32::from_le_bytes(rest.array()?) as usize;
    if written != bodies {
        return Err(format!("{written} bodies in a frame of a scene with {bodies}"));
    }
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(f64::from_le_bytes(rest.array()?));
    }
    let mut stats = vec![[0.0f32; STAT_COUNT]; count];
    for stat in 0..STAT_COUNT {
        for numbers in &mut stats {
            numbers[stat] = f32::from_le_bytes(rest.array()?);
        }
    }
    let mut ranges = Vec::new();
    for _ in 0..3 * bodies {
        ranges.push(Range::read(&mut rest)?);
    }
    let mut turns = Vec::new();
    for _ in 0..bodies {
        let [turning] = rest.array()?;
        let words: [u8; 6] = rest.array()?;
        let word = |k: usize| u16::from_le_bytes([words[2 * k], words[2 * k + 1]]);
        turns.push((turning != 0, [word(0), word(1), word(2)]));
    }
    let mut positions = vec![vec![DVec3::ZERO; bodies]; count];
    for (k, range) in ranges.iter().enumerate() {
        let words = if range.extent > 0.0 { rest.column(count)? } else { vec![0; count] };
        for (frame, word) in positions.iter_mut().zip(words) {
            frame[k / 3][k % 3] = range.unpack(word);
        }
    }
    let mut orientations = vec![Vec::with_capacity(bodies); count];
    for (turning, first) in turns {
        let columns = match turning {
            true => [rest.column(count)?, rest.column(count)?, rest.column(count)?],
            false => first.map(|word| vec![word; count]),
        };
        for (k, frame) in orientations.iter_mut().enumerate() {
            frame.push(unpack_orientation([columns[0][k], columns[1][k], columns[2][k]]));
        }
    }
    rest.end()?;
    let moments = times.into_iter().zip(stats).zip(positions.into_iter().zip(orientations));
    let frame = |((time, stats), (positions, orientations)): ((f64, _), (Vec<DVec3>, Vec<_>))| Frame {
        time,
        stats: Stats::from_array(stats),
        poses: positions
            .into_iter()
            .zip(orientations)
            .map(|(position, orientation)| Pose { position, orientation })
            .collect(),
        joints: Vec::new(),
        particles: Vec::new(),
        contacts: Vec::new(),
        sleeping: Vec::new(),
    };
    Ok(moments.map(frame).collect())
}
