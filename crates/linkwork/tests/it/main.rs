//! Integration tests of the engine, one binary. Each file is a subject; each test holds against another truth than the engine's own.

mod common;

mod couplings;
mod friction;
mod limits;
mod motors;
mod pendulums;
mod reference;
mod springs;
mod tops;
