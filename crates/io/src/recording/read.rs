//! Reading a recording: nothing in the file is believed.

use super::{Description, Event, Frame, MAGIC, OLDEST_VERSION, contacts, frames, joints, points, sleeping};
use flate2::read::DeflateDecoder;
use std::fmt;
use std::io::Read;

/// A block above this size is no block of ours: a second of twenty thousand bodies.
const LARGEST_BLOCK: u64 = 256 << 20;

/// A recording that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What is shown.
    pub description: Description,
    /// Its moments, in the order of the file.
    pub frames: Vec<Frame>,
    /// What happened.
    pub events: Vec<Event>,
    /// Whether the recording was completed; otherwise its end is missing.
    pub complete: bool,
}

/// Why something is no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// Where in the file, bytes from its start.
    pub offset: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.problem, self.offset)
    }
}

impl std::error::Error for RecordingError {}

impl Recording {
    /// Whether bytes begin as a recording does, of whatever version.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.len() >= MAGIC.len() && bytes[..3] == MAGIC[..3]
    }

    /// Reads a recording. One that is cut off is read as far as it goes.
    pub fn read(bytes: &[u8]) -> Result<Recording, RecordingError> {
        let wrong = |offset: usize, problem: &str| RecordingError { offset, problem: problem.to_owned() };
        if !Recording::is_one(bytes) {
            return Err(wrong(0, "this is no recording: it does not begin with LWR"));
        }
        if !(OLDEST_VERSION..=MAGIC[3]).contains(&bytes[3]) {
            let problem = format!(
                "a recording of version {}, and this program reads versions {OLDEST_VERSION} to {}",
                bytes[3], MAGIC[3]
            );
            return Err(RecordingError { offset: 3, problem });
        }
        let mut offset = MAGIC.len();
        let mut description: Option<Description> = None;
        let (mut moments, mut events, mut complete): (Vec<Frame>, _, _) = (Vec::new(), Vec::new(), false);
        // where the frames of the last block begin
        let mut last = 0;
        while let Some((kind, content, next)) = block(bytes, offset)? {
            match (kind, &description) {
                (b'D', None) => {
                    let read = serde_json::from_slice(&content);
                    description = Some(read.map_err(|e| wrong(offset, &format!("the description is wrong: {e}")))?);
                }
                (b'F', Some(description)) => {
                    let read = frames::decode(&content, description.bodies.len());
                    last = moments.len();
                    moments.extend(read.map_err(|problem| wrong(offset, &problem))?);
                }
                (b'J', Some(description)) => {
                    joints::decode(&content, joints::count(description), &mut moments[last..])
                        .map_err(|problem| wrong(offset, &problem))?;
                }
                (b'C', Some(description)) => {
                    contacts::decode(&content, description.bodies.len(), &mut moments[last..])
                        .map_err(|problem| wrong(offset, &problem))?;
                }
                (b'P', Some(_)) => {
                    points::decode(&content, &mut moments).map_err(|problem| wrong(offset, &problem))?;
                }
                (b'S', Some(description)) => {
                    sleeping::decode(&content, description.bodies.len(), &mut moments[last..])
                        .map_err(|problem| wrong(offset, &problem))?;
                }
                (b'E', Some(_)) => {
                    let read: Vec<Event> = serde_json::from_slice(&content)
                        .map_err(|e| wrong(offset, &format!("events are wrong: {e}")))?;
                    events.extend(read);
                }
                (b'Z', _) => complete = true,
                (b'F' | b'J' | b'C' | b'P' | b'S' | b'E', None) => {
                    return Err(wrong(offset, "the description is missing"));
                }
                _ => {}
            }
            offset = next;
        }
        let description = description.ok_or_else(|| wrong(offset, "the description is missing"))?;
        Ok(Recording { description, frames: moments, events, complete })
    }
}

/// Kind and content of the block at an offset, and where the next one is; nothing at the end, and where the file is cut off.
fn block(bytes: &[u8], offset: usize) -> Result<Option<(u8, Vec<u8>, usize)>, RecordingError> {
    let Some((head, rest)) = bytes[offset..].split_at_checked(9) else { return Ok(None) };
    let number = |k: usize| u32::from_le_bytes([head[k], head[k + 1], head[k + 2], head[k + 3]]);
    let (length, sum) = (number(1) as usize, number(5));
    let Some(deflated) = rest.get(..length) else { return Ok(None) };
    let wrong = |problem: String| RecordingError { offset, problem };
    if crc32fast::hash(deflated) != sum {
        return Err(wrong("a block is damaged: its checksum does not fit".to_owned()));
    }
    let mut content = Vec::new();
    let read = DeflateDecoder::new(deflated).take(LARGEST_BLOCK + 1).read_to_end(&mut content);
    read.map_err(|error| wrong(format!("a block cannot be unpacked: {error}")))?;
    if content.len() as u64 > LARGEST_BLOCK {
        return Err(wrong(format!("a block larger than {} MiB", LARGEST_BLOCK >> 20)));
    }
    Ok(Some((head[0], content, offset + 9 + length)))
}
