//! Ctrl-C: the first ends the work after the step in hand, the second ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// What the shell reports for a program that Ctrl-C ended.
const ENDED_BY_INTERRUPT: i32 = 130;

/// From now on Ctrl-C (and the wish of the system to end the program) is only noted.
pub fn listen() {
    // Without a handler Ctrl-C ends the program at once, as it always did.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(ENDED_BY_INTERRUPT);
        }
    });
}

/// Whether the user asked for an end.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
