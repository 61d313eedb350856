//! The contacts at the frames of a block as bytes, before they are deflated.
//!
//! number of frames (u16); for every frame its number of contacts (u32); the range (low f32, extent f32) of each of the ten
//! numbers before the bodies; then, number by number and for all contacts of the block, the differences from the contact with the
//! same place in the frame before (from 0 if there is none), modulo 2¹⁶: all low bytes, then all high bytes. The two bodies follow
//! as two words each, low and high, of the number plus one; 0 is no body.

use super::Frame;
use super::columns::Bytes;
use super::quantise::Range;
use linkwork::{BodyId, World};
use std::collections::BTreeMap;

/// Point, normal (from a to b) and force on b in the world, depth (m), and the numbers of bodies a and b (-1 for none).
pub const CONTACT_NUMBERS: usize = 12;
/// Those that are not bodies.
const QUANTISED: usize = 10;
/// Bodies are two words each.
const WORDS: usize = QUANTISED + 4;
/// No frame has more.
const MOST: usize = 10_000_000;

/// What touched in the last step, as numbers; bodies by their place in the list.
pub fn contact_numbers(world: &World, bodies: &[BodyId]) -> Vec<[f32; CONTACT_NUMBERS]> {
    let places: BTreeMap<BodyId, usize> = bodies.iter().enumerate().map(|(k, id)| (*id, k)).collect();
    let index = |id: BodyId| places.get(&id).map_or(-1.0, |&k| k as f32);
    let numbers = world.contacts().map(|c| {
        let [p, n, f] = [c.point, c.normal, c.force].map(|v| v.as_vec3());
        [p.x, p.y, p.z, n.x, n.y, n.z, f.x, f.y, f.z, c.depth as f32, index(c.a), index(c.b)]
    });
    numbers.collect()
}

/// Nothing if nothing touches.
pub(super) fn encode(frames: &[Frame]) -> Option<Vec<u8>> {
    if frames.iter().all(|frame| frame.contacts.is_empty()) {
        return None;
    }
    let mut bytes = Vec::new();
    bytes.extend((frames.len() as u16).to_le_bytes());
    frames.iter().for_each(|frame| bytes.extend((frame.contacts.len() as u32).to_le_bytes()));
    let all = |k: usize| frames.iter().flat_map(move |frame| frame.contacts.iter().map(move |c| f64::from(c[k])));
    let ranges: Vec<Range> = (0..QUANTISED).map(|k| Range::of(all(k))).collect();
    ranges.iter().for_each(|range| range.write(&mut bytes));
    for k in 0..WORDS {
        let word = |contact: &[f32; CONTACT_NUMBERS]| match k.checked_sub(QUANTISED) {
            None => ranges[k].pack(f64::from(contact[k])),
            Some(part) => {
                let number = (contact[QUANTISED + part / 2] + 1.0) as u32;
                if part % 2 == 0 { number as u16 } else { (number >> 16) as u16 }
            }
        };
        let mut differences = Vec::new();
        let mut before: &[[f32; CONTACT_NUMBERS]] = &[];
        for frame in frames {
            let last = |place: usize| before.get(place).map_or(0, &word);
            differences.extend(frame.contacts.iter().enumerate().map(|(i, c)| word(c).wrapping_sub(last(i))));
            before = &frame.contacts;
        }
        bytes.extend(differences.iter().map(|word| *word as u8));
        bytes.extend(differences.iter().map(|word| (word >> 8) as u8));
    }
    Some(bytes)
}

/// Puts the contacts of a block into its frames.
pub(super) fn decode(bytes: &[u8], bodies: usize, frames: &mut [Frame]) -> Result<(), String> {
    let mut rest = Bytes(bytes);
    let count = usize::from(u16::from_le_bytes(rest.array()?));
    if count != frames.len() {
        return Err(format!("contacts at {count} moments, for {} frames", frames.len()));
    }
    let mut counts = Vec::with_capacity(count);
    for _ in 0..count {
        counts.push(u32::from_le_bytes(rest.array()?) as usize);
    }
    let total = counts.iter().try_fold(0usize, |sum, &n| sum.checked_add(n)).filter(|&sum| sum <= MOST * count);
    let total = total.ok_or("more contacts than there can be")?;
    let ranges = (0..QUANTISED).map(|_| Range::read(&mut rest)).collect::<Result<Vec<_>, _>>()?;
    let mut columns: Vec<Vec<u16>> = Vec::with_capacity(WORDS);
    for _ in 0..WORDS {
        let (low, high) = (rest.take(total)?, rest.take(total)?);
        let mut words: Vec<u16> = Vec::with_capacity(total);
        let (mut start, mut start_before, mut count_before) = (0, 0, 0);
        for &n in &counts {
            for place in 0..n {
                let before = if place < count_before { words[start_before + place] } else { 0 };
                let difference = u16::from_le_bytes([low[start + place], high[start + place]]);
                words.push(before.wrapping_add(difference));
            }
            (start_before, count_before, start) = (start, n, start + n);
        }
        columns.push(words);
    }
    let body = |at: usize, first: usize| {
        let number = u32::from(columns[first][at]) | u32::from(columns[first + 1][at]) << 16;
        match number as usize <= bodies {
            true => Ok(number as f32 - 1.0),
            false => Err(format!("a contact of body {number} in a scene with {bodies}")),
        }
    };
    let mut at = 0;
    for (frame, &n) in frames.iter_mut().zip(&counts) {
        frame.contacts = Vec::with_capacity(n);
        for i in at..at + n {
            let mut numbers = [0.0; CONTACT_NUMBERS];
            for (k, range) in ranges.iter().enumerate() {
                numbers[k] = range.unpack(columns[k][i]) as f32;
            }
            numbers[QUANTISED] = body(i, QUANTISED)?;
            numbers[QUANTISED + 1] = body(i, QUANTISED + 2)?;
            frame.contacts.push(numbers);
        }
        at += n;
    }
    rest.end()
}
