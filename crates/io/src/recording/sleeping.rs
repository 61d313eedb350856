//! Which bodies sleep at the frames of a block, as bytes, before they are deflated.
//!
//! number of frames (u16), of bodies (u32); then, frame by frame, a bit for each body (the lowest of a byte first), exclusive or
//! with those of the frame before: what goes on sleeping is zeros.

use super::Frame;
use super::columns::Bytes;

/// Nothing if the frames do not say what sleeps.
pub(super) fn encode(frames: &[Frame], bodies: usize) -> Option<Vec<u8>> {
    if frames.iter().any(|frame| frame.sleeping.len() != bodies) {
        return None;
    }
    let mut bytes = Vec::with_capacity(6 + frames.len() * bodies.div_ceil(8));
    bytes.extend((frames.len() as u16).to_le_bytes());
    bytes.extend((bodies as u32).to_le_bytes());
    let mut before = vec![0; bodies.div_ceil(8)];
    for frame in frames {
        let bits =
            frame.sleeping.chunks(8).map(|eight| eight.iter().rev().fold(0, |byte, &on| byte << 1 | u8::from(on)));
        for (last, now) in before.iter_mut().zip(bits) {
            bytes.push(*last ^ now);
            *last = now;
        }
    }
    Some(bytes)
}

/// Puts what sleeps into the frames of a block.
pub(super) fn decode(bytes: &[u8], bodies: usize, frames: &mut [Frame]) -> Result<(), String> {
    let mut rest = Bytes(bytes);
    let count = usize::from(u16::from_le_bytes(rest.array()?));
    let written = u32::from_le_bytes(rest.array()?) as usize;
    if count != frames.len() || written != bodies {
        let here = frames.len();
        return Err(format!(
            "{written} sleepers at {count} moments, for a scene with {bodies} bodies and {here} frames"
        ));
    }
    let mut now = vec![0; bodies.div_ceil(8)];
    for frame in frames {
        let changed = rest.take(now.len())?;
        now.iter_mut().zip(changed).for_each(|(bits, change)| *bits ^= change);
        frame.sleeping = (0..bodies).map(|k| now[k / 8] >> (k % 8) & 1 != 0).collect();
    }
    rest.end()
}
