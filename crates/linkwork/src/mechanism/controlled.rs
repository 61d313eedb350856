//! The error-controlled mode.

use super::{Advance, Mechanism};
use crate::params::StepParams;

#[derive(Default)]
pub(super) struct ControlledScratch {}

impl Mechanism {
    pub(super) fn controlled_step(&mut self, _h: f64, _tolerance: f64, _params: &StepParams) -> Option<Advance> {
        None
    }
}
