//! Writing a recording while a run goes on.

use super::{BLOCK, Description, Event, Frame, MAGIC, contacts, frames, joints, points, sleeping};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// Writes a recording, block by block, so that memory does not grow with the length of the run.
#[derive(Debug)]
pub struct Recorder<W> {
    writer: W,
    pending: Vec<Frame>,
    events: Vec<Event>,
    bodies: usize,
    joint_numbers: usize,
    particles: usize,
}

impl<W: Write> Recorder<W> {
    /// Starts a recording of what is described.
    pub fn start(mut writer: W, description: &Description) -> io::Result<Self> {
        writer.write_all(&MAGIC)?;
        let json = serde_json::to_vec(description)?;
        write_block(&mut writer, b'D', &json)?;
        let (bodies, joint_numbers) = (description.bodies.len(), joints::count(description));
        let particles = description.particles.iter().map(|system| system.count).sum();
        Ok(Recorder { writer, pending: Vec::new(), events: Vec::new(), bodies, joint_numbers, particles })
    }

    /// Adds a moment.
    pub fn frame(&mut self, frame: Frame) -> io::Result<()> {
        if frame.poses.len() != self.bodies {
            let problem = format!("a frame of {} bodies in a recording of {}", frame.poses.len(), self.bodies);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        if frame.joints.len() != self.joint_numbers {
            let (here, there) = (frame.joints.len(), self.joint_numbers);
            let problem = format!("a frame with {here} numbers of joints in a recording of {there}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        if frame.particles.len() != self.particles {
            let (found, expected) = (frame.particles.len(), self.particles);
            let problem = format!("a frame of {found} particles in a recording of {expected}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        self.pending.push(frame);
        if self.pending.len() >= BLOCK { self.write_frames() } else { Ok(()) }
    }

    /// Adds something that happened.
    pub fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn write_frames(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            write_block(&mut self.writer, b'F', &frames::encode(&self.pending))?;
            if self.joint_numbers > 0 {
                write_block(&mut self.writer, b'J', &joints::encode(&self.pending))?;
            }
            if let Some(contacts) = contacts::encode(&self.pending) {
                write_block(&mut self.writer, b'C', &contacts)?;
            }
            if self.particles > 0 {
                write_block(&mut self.writer, b'P', &points::encode(&self.pending))?;
            }
            if let Some(sleeping) = sleeping::encode(&self.pending, self.bodies) {
                write_block(&mut self.writer, b'S', &sleeping)?;
            }
            self.pending.clear();
        }
        if !self.events.is_empty() {
            write_block(&mut self.writer, b'E', &serde_json::to_vec(&self.events)?)?;
            self.events.clear();
        }
        Ok(())
    }

    /// Completes the recording and gives back what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_frames()?;
        write_block(&mut self.writer, b'Z', &[])?;
        Ok(self.writer)
    }

    /// What is written to.
    pub fn writer(&self) -> &W {
        &self.writer
    }
}

fn write_block(writer: &mut impl Write, kind: u8, content: &[u8]) -> io::Result<()> {
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
    deflated.write_all(content)?;
    let deflated = deflated.finish()?;
    let length = u32::try_from(deflated.len())
        .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "a block of more than 4 GiB"))?;
    writer.write_all(&[kind])?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(&crc32fast::hash(&deflated).to_le_bytes())?;
    writer.write_all(&deflated)
}
