//! Positions of particles in a block of frames, before they are deflated.
//!
//! number of frames (u16), of particles (u32); for x, y and z the range of all of them (low f32, extent f32); then, for
//! every particle and axis, its column as in blocks of poses. All systems of particles one after the other.

use super::Frame;
use super::columns::{Bytes, column};
use super::quantise::Range;
use linkwork::glam::DVec3;

pub(super) fn encode(frames: &[Frame]) -> Vec<u8> {
    let count = frames.first().map_or(0, |frame| frame.particles.len());
    let mut bytes = Vec::with_capacity(30 + 6 * frames.len() * count);
    bytes.extend((frames.len() as u16).to_le_bytes());
    bytes.extend((count as u32).to_le_bytes());
    let ranges = [0, 1, 2].map(|axis| Range::of(frames.iter().flat_map(|f| f.particles.iter().map(move |p| p[axis]))));
    for range in &ranges {
        bytes.extend(range.low.to_le_bytes());
        bytes.extend(range.extent.to_le_bytes());
    }
    for k in 0..count {
        for (axis, range) in ranges.iter().enumerate() {
            column(&mut bytes, frames.iter().map(|frame| range.pack(frame.particles[k][axis])));
        }
    }
    bytes
}

/// Puts the positions of a block into the last of the frames read so far; what is wrong with it otherwise.
pub(super) fn decode(bytes: &[u8], frames: &mut [Frame]) -> Result<(), String> {
    let mut rest = Bytes(bytes);
    let moments = usize::from(u16::from_le_bytes(rest.array()?));
    let count = u32::from_le_bytes(rest.array()?) as usize;
    let before = frames.len().checked_sub(moments).ok_or("particles of frames that are missing")?;
    let frames = &mut frames[before..];
    let mut ranges = Vec::new();
    for _ in 0..3 {
        let (low, extent) = (f32::from_le_bytes(rest.array()?), f32::from_le_bytes(rest.array()?));
        ranges.push(Range { low, extent });
    }
    for _ in 0..count {
        let mut columns = Vec::with_capacity(3);
        for _ in 0..3 {
            columns.push(rest.column(moments)?);
        }
        for (k, frame) in frames.iter_mut().enumerate() {
            let at = |axis: usize| ranges[axis].unpack(columns[axis][k]);
            frame.particles.push(DVec3::new(at(0), at(1), at(2)));
        }
    }
    match rest.0.is_empty() {
        true => Ok(()),
        false => Err(format!("{} bytes too many in a block of particles", rest.0.len())),
    }
}
