//! Integration tests of the engine, one binary. Each file is a subject; each test holds against another truth than the engine's own.

mod common;
mod dense;
mod overlap;
mod random_mechanism;

mod assembly;
mod bad_input;
mod black_box;
mod cloth;
mod contact;
mod contact_mechanisms;
mod contact_piles;
mod controlled;
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
mod ode;
mod particle_worlds;
mod particles;
mod pendulums;
mod reactions;
mod reference;
mod scenes;
mod shapes;
mod springs;
mod tops;
