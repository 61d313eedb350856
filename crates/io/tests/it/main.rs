//! Scene files as a user meets them: round trips, mistakes, and files that are no scene files.

mod hostile;
mod mistakes;
mod recording;
mod round_trip;
