//! Clocks. The engine has none of its own: it is lent one.

use cpu_time::{ProcessTime, ThreadTime};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Seconds since the first call; for the engine's stages.
pub fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Wall and CPU time since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Elapsed {
    /// Time on the clock, s.
    pub wall: f64,
    /// Time of all threads of this process on a processor, s.
    pub cpu: f64,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Stopwatch { cpu: cpu_now(), wall: Instant::now() }
    }

    /// Since the start.
    pub fn elapsed(&self) -> Elapsed {
        let wall = self.wall.elapsed();
        Elapsed { wall: wall.as_secs_f64(), cpu: cpu_now().saturating_sub(self.cpu).as_secs_f64() }
    }
}

/// Time of this thread on a processor; zero on a system without such a clock.
pub fn of_this_thread() -> Duration {
    ThreadTime::try_now().map_or(Duration::ZERO, |time| time.as_duration())
}

/// Zero on a system without such a clock.
fn cpu_now() -> Duration {
    ProcessTime::try_now().map_or(Duration::ZERO, |time| time.as_duration())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_run() {
        let watch = Stopwatch::start();
        let mut x = 1.0f64;
        while watch.elapsed().cpu < 0.02 {
            assert!(watch.elapsed().wall < 60.0, "working takes CPU time");
            x = std::hint::black_box(x.sin());
        }
        let before = seconds();
        let watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(50));
        assert!(watch.elapsed().wall >= 0.05 && seconds() - before >= 0.05);
    }
}
