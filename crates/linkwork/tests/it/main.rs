//! Integration tests of the engine, one binary. Each file is a subject; each test holds against another truth than the engine's own.

mod common;
mod dense;
mod random_mechanism;

mod assembly;
mod bad_input;
mod couplings;
mod determinism;
mod editing;
mod equivalence;
mod friction;
mod invariants;
mod joints;
mod limits;
mod motors;
mod observing;
mod pendulums;
mod reactions;
mod reference;
mod scenes;
mod springs;
mod tops;

// `black_box.rs` and `pending.rs` hold tests that fail today; each says why. They join the list when they pass.
