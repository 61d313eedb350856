//! The recording of a run, for `--record` and `--html`.

use crate::failure::Failure;
use crate::output::Output;
use crate::record::Record;
use crate::source::Source;
use crate::view::page;
use linkwork::{StepReport, World};
use linkwork_io::recording::{Description, Event, Frame, Recorder, Stats};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};

/// Records a run beside the outputs, which take it when it is complete.
#[derive(Debug)]
pub struct Tape {
    /// On disk: a long run does not fit into memory.
    recorder: Recorder<BufWriter<File>>,
    record: Option<Output>,
    html: Option<Output>,
    title: String,
    period: f64,
    taken: u64,
    warnings: usize,
    failure: Option<io::Error>,
}

impl Tape {
    /// Starts to record, unless nobody wants it.
    pub fn start(
        record: Option<Output>,
        html: Option<Output>,
        source: &Source,
        world: &World,
        dt: f64,
        fps: f64,
    ) -> Result<Option<Tape>, Failure> {
        if record.is_none() && html.is_none() {
            return Ok(None);
        }
        let about = &source.scene.description;
        let description = Description::of(world, &source.name, about, &source.parameters, dt);
        let recorder = tempfile::tempfile().and_then(|file| Recorder::start(BufWriter::new(file), &description));
        let recorder = recorder.map_err(|error| cannot(&error))?;
        let (title, period) = (source.name.clone(), 1.0 / fps);
        let mut tape = Tape { recorder, record, html, title, period, taken: 0, warnings: 0, failure: None };
        tape.take(world, Stats::of(world, None, 0.0));
        Ok(Some(tape))
    }

    /// Adds the state after a step if it is its turn; false if that is no longer possible.
    pub fn sample(&mut self, world: &World, report: &StepReport, step_seconds: f64, record: &Record) -> bool {
        for warning in &record.warnings.list()[self.warnings..] {
            self.recorder.event(Event { time: warning.first_s, text: warning.message.clone() });
            self.warnings += 1;
        }
        // a thousandth of a frame early is not too early: times are sums of steps
        if world.time() >= (self.taken as f64 - 1e-3) * self.period {
            self.take(world, Stats::of(world, Some(report), step_seconds));
        }
        self.failure.is_none()
    }

    fn take(&mut self, world: &World, stats: Stats) {
        self.taken = (world.time() / self.period + 1e-3) as u64 + 1;
        if self.failure.is_none() {
            self.failure = self.recorder.frame(Frame::of(world, stats)).err();
        }
    }

    /// Completes the files.
    pub fn finish(self) -> Result<(), Failure> {
        if let Some(error) = &self.failure {
            return Err(cannot(error));
        }
        let mut bytes = Vec::new();
        let kept = self.recorder.finish().and_then(|writer| {
            let mut file = writer.into_inner().map_err(|error| error.into_error())?;
            file.rewind()?;
            file.read_to_end(&mut bytes)
        });
        kept.map_err(|error| cannot(&error))?;
        if let Some(mut output) = self.record {
            output.write_all(&bytes).map_err(|error| output.failure(&error))?;
            output.finish()?;
        }
        if let Some(mut output) = self.html {
            page::write_replay(&mut output, &self.title, &bytes).map_err(|error| output.failure(&error))?;
            output.finish()?;
        }
        Ok(())
    }
}

fn cannot(error: &io::Error) -> Failure {
    Failure::failed(format!("the run cannot be recorded: {error}"), "is the disk for temporary files full?")
}
