//! A mechanism among contacts whose joints are swept: its bodies are units of the island's problem, its joints entries of it.
//!
//! The order is that of the direct method (`mechanism/contact.rs`). Wherever that asks the factor for the joints' answer to
//! impulses, joints answer here by sweeps, a few after every sweep over the contacts (Weinstein, Teran and Fedkiw 2006, section
//! VI: contacts and articulation by turns) and until they are closed once the contacts are known.

use super::super::{Hat, Mechanism, SPIN_BOUND};
use super::position::Bounds;
use super::velocity::Answering;
use super::{MOST_SWEEPS, PROMISED, TOO_OPEN};
use crate::params::StepParams;

/// Sweeps over the joints after each over the contacts.
const BY_TURNS: u32 = 8;

impl Mechanism {
    /// Rows where the step begins.
    pub(in crate::mechanism) fn begin_swept_contact(&mut self, h: f64) {
        self.iterative.step = h;
        self.prepare_sweeps(h);
        self.invert_joints(Answering::All);
        // what joints answered to the contacts of the last step
        let step = self.iterative.memory.step;
        let scale = if step < 0.0 { -h / step } else { 0.0 };
        let scratch = &mut self.iterative;
        scratch.answered.clear();
        scratch.answered.extend(scratch.second.iter().zip(&scratch.first).map(|(all, kick)| scale * (all - kick)));
    }

    /// Closes the kicked velocities: hard rows stand, springs are loaded; bounded rows wait for the contacts.
    pub(in crate::mechanism) fn close_swept_kick(&mut self, h: f64) {
        self.read_bounded_values();
        self.bounded.start_value.copy_from_slice(&self.bounded.value);
        for k in 0..self.layout.bounded.len() {
            self.bounded.incoming[k] = self.bounded_incoming(k);
        }
        self.iterative.offset.fill(0.0);
        for (k, s) in self.layout.soft.iter().enumerate() {
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let m = &self.layout.models[s.model as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let q = kind.unwrapped(m, &self.pose[s.a as usize], &self.pose[s.b as usize], self.near[at]);
            let rate = self.linear.soft_rates[k];
            self.iterative.offset[s.row as usize] = self.linear.soft[k].position_residual(q, rate, q, 0.0, h);
        }
        let step = self.iterative.memory.step;
        for k in 0..self.layout.rows {
            self.impulse[k] = if step < 0.0 { -h / step * self.iterative.first[k] } else { h * self.force[k] };
        }
        let mut x = std::mem::take(&mut self.impulse);
        Self::apply(&self.layout, &self.linear.jacobian, &x, &mut self.u);
        self.sweep_velocities(&mut x, Answering::All, self.swept_speed(), MOST_SWEEPS, None);
        self.impulse = x;
        for k in 0..self.layout.bounded.len() {
            let rate = self.bounded_rate(k);
            self.bounded.aim_first(k, rate, h, h);
        }
    }

    /// Velocities below which rows count as standing.
    fn swept_speed(&self) -> f64 {
        super::STOPPED * super::CLOSED / self.iterative.step
    }

    /// The impulses with which joints answer to pushes, into `rhs`, as far as a few sweeps find them.
    pub(in crate::mechanism) fn answer_by_turns(&mut self, pushed: &[Hat]) {
        let mut x = std::mem::take(&mut self.rhs);
        x.fill(0.0);
        self.answer_from(&mut x, pushed, BY_TURNS);
        self.rhs = x;
    }

    /// Finds x with Ĵ(pushed + Ĵᵀx) + γx = 0, from the x given; leaves pushed + Ĵᵀx in `velocities`.
    fn answer_from(&mut self, x: &mut [f64], pushed: &[Hat], most: u32) {
        let mut velocities = std::mem::take(&mut self.iterative.velocities);
        velocities.clear();
        velocities.extend_from_slice(pushed);
        Self::apply(&self.layout, &self.linear.jacobian, x, &mut velocities);
        // bodies that the user moves have moved the rows already
        self.iterative.offset.iter_mut().zip(&self.linear.drift).for_each(|(o, d)| *o = -d);
        std::mem::swap(&mut self.u, &mut velocities);
        self.sweep_velocities(x, Answering::All, self.swept_speed(), most, None);
        std::mem::swap(&mut self.u, &mut velocities);
        self.iterative.velocities = velocities;
    }

    /// Finds where the impulses that were pushed lead with the joints closed; `None` if sweeps leave them too far open.
    pub(in crate::mechanism) fn predict_swept(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        let mut x = std::mem::take(&mut self.iterative.answered);
        let pushed = std::mem::take(&mut self.contact.pushed);
        self.answer_from(&mut x, &pushed, MOST_SWEEPS);
        self.contact.pushed = pushed;
        for k in 0..self.layout.movable {
            (0..6).for_each(|s| self.u[k][s] = self.contact.kicked[k][s] + self.iterative.velocities[k][s]);
        }
        for k in 0..self.layout.rows {
            self.impulse[k] = self.contact.kicked_impulse[k] + x[k];
        }
        self.iterative.answered = x;
        self.contact.with_contacts.clone_from(&self.u);
        self.contact.answered.clone_from(&self.impulse);
        self.iterative.left = f64::INFINITY;
        if (0..self.layout.movable).any(|k| h * self.body_spin(k).length() >= SPIN_BOUND) {
            return None;
        }
        self.predict_outside(h);
        self.predict(h);
        let tolerance = Self::swept_tolerance(params);
        let swept = self.sweep_positions(h, Bounds::Limits, tolerance);
        self.measure_errors();
        self.iterative.unfinished = swept.worst > tolerance || swept.worst.is_nan();
        self.iterative.left = swept.worst;
        // even where joints are closed at once, bodies go round them: a second look is due
        (swept.worst <= TOO_OPEN.max(tolerance)).then_some(swept.sweeps + 1)
    }

    /// Whether what was found is within what the method promises, though too far open while smaller steps could be taken.
    pub(in crate::mechanism) fn is_swept_enough(&self) -> bool {
        self.iterative.left <= PROMISED
    }

    /// Goes where [`Mechanism::predict_swept`] found and closes the velocities.
    pub(in crate::mechanism) fn move_swept(&mut self, h: f64, params: &StepParams, supported: bool) {
        self.commit_prediction();
        if !supported {
            self.kick_after_move(h);
        }
        self.sweep_velocities_closed(h, params.joint_tolerance);
        self.correction.fill(0.0);
        self.bounded.average(h);
        self.average_forces(h);
        self.remember_contact_sweeps(h);
        self.remember_impulses(None);
        self.remember_accelerations(h);
    }

    /// Remembers the impulses without and with the contacts.
    pub(super) fn remember_contact_sweeps(&mut self, h: f64) {
        self.iterative.memory.step = -h;
        self.iterative.first.copy_from_slice(&self.contact.kicked_impulse);
        self.iterative.second.copy_from_slice(&self.impulse);
    }
}
