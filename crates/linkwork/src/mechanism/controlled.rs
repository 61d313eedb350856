//! The error-controlled mode.

use super::{Advance, Mechanism};
use crate::params::StepParams;

#[derive(Default)]
pub(super) struct ControlledScratch {}

impl Mechanism {
    pub(super) fn controlled_step(&mut self, h: f64, _tolerance: f64, params: &StepParams) -> Advance {
        self.halving_step(h, params, 0)
    }
}
