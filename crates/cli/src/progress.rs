//! The progress bar, for people who watch.

use crate::table::figure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often the text changes; faster cannot be read.
const PERIOD: Duration = Duration::from_millis(100);

/// A bar on stderr, or nothing if nobody watches.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    shown: Instant,
}

impl Progress {
    /// A bar for so many steps, unless `quiet` or stderr is not a terminal.
    pub fn start(steps: u64, quiet: bool) -> Self {
        let watched = !quiet && std::io::stderr().is_terminal();
        let target = if watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix}{bar:30} {percent:>3} %  {msg}  {eta} left") {
            bar.set_style(style);
        }
        let start = Instant::now();
        Progress { bar, start, shown: start }
    }

    /// Puts a name before the bar.
    pub fn name(&self, name: &str) {
        self.bar.set_prefix(format!("{name}  "));
    }

    /// So many steps are done, with this joint error at worst.
    pub fn show(&mut self, steps: u64, joint_error: f64) {
        if self.bar.is_hidden() || self.shown.elapsed() < PERIOD {
            return;
        }
        self.shown = Instant::now();
        self.bar.set_position(steps);
        let rate = steps as f64 / self.start.elapsed().as_secs_f64();
        self.bar.set_message(format!("{} steps/s, joint error {} m", figure(rate), figure(joint_error)));
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
