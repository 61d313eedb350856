//! A mechanism's energy as the judge of its steps: what a step gains without cause is kept account of, and bounded.

use super::layout::Node;
use super::{Hat, MOST_HALVINGS, Mechanism};
use crate::joint::EnergyAccount;
use glam::DVec3;

/// Energy that one step may gain or lose without cause, as a fraction of the kinetic energy.
const UNEXPLAINED: f64 = 0.01;
/// Part of the work of torques, drives and bounded rows that its measurement (mean speed times mean force) may miss.
const UNCERTAIN: f64 = 0.1;
/// How far the account of losses goes, as a fraction of the largest kinetic energy so far. The energy of an accurate step
/// swings (by 1.7 % on a double pendulum at h = 1/60): what it lost it must be able to gain back, or every swing is a loss.
const LOSSES_KEPT: f64 = 0.02;
/// The same for the robust step: most of what it loses is damping, but its energy swings a little too.
const DAMPED_LOSSES_KEPT: f64 = 0.0045;
/// What all steps together may gain, by the number of times the step was halved. Smaller steps have room of their own, in
/// which their much smaller errors swing while larger steps are refused.
const GAINS_KEPT: [f64; MOST_HALVINGS as usize + 1] = [0.0030, 0.0040, 0.0047, 0.0053];

impl Mechanism {
    /// Whether the step from an energy of `before` may be kept; if so, its unexplained gain goes on account.
    ///
    /// Of a step that `swings` a loss counts too, unless something dissipates; of others it is damping.
    pub(super) fn energy_is_plausible(&mut self, before: f64, h: f64, swings: bool) -> bool {
        self.energy_is_plausible_within(before, h, swings, 0.0)
    }

    /// The same where a part of the energy is not known, J.
    pub(super) fn energy_is_plausible_within(&mut self, before: f64, h: f64, swings: bool, unknown: f64) -> bool {
        let work = self.work_done(h);
        let change = self.mechanical_energy() - before - work;
        let now = self.kinetic_energy();
        let slack = UNEXPLAINED * self.kick_energy(h) + UNCERTAIN * work.abs().max(h * self.motor_turnover()) + unknown;
        let per_step = UNEXPLAINED * now + slack;
        let in_all = GAINS_KEPT[self.halvings as usize] * self.account.largest_kinetic.max(now) + slack;
        let gains_too_much = change > per_step || self.account.surplus + change > in_all;
        let loses_too_much = swings && change < -per_step && !self.dissipates();
        // what is no number compares with nothing
        if change.is_finite() && !gains_too_much && !loses_too_much {
            self.keep_account(change, if swings { LOSSES_KEPT } else { DAMPED_LOSSES_KEPT });
            return true;
        }
        false
    }

    /// Takes a change of energy to account. Of losses it keeps no more than `floor` of the largest kinetic energy.
    pub(super) fn keep_account(&mut self, change: f64, floor: f64) {
        let largest = self.account.largest_kinetic.max(self.kinetic_energy());
        let before = self.account.surplus;
        let surplus = (before + change).max(before.min(-floor * largest));
        let surplus = if self.dissipates() { 0.0 } else { surplus.max(-LOSSES_KEPT * largest) };
        self.account = EnergyAccount { surplus, largest_kinetic: largest };
    }

    /// The last resort may not gain energy: what it gained is taken out of the motion; where it lifted the bodies by more than
    /// the motion can pay for, they stay where they were for this step.
    pub(super) fn take_out_gain(&mut self, before: f64, h: f64) {
        let gain = self.mechanical_energy() - before - self.work_done(h);
        if gain <= 0.0 {
            return;
        }
        // what floats keeps its momentum: only the motion about the centre of mass can pay
        let drift = self.common_velocity();
        for (u, i) in self.u.iter_mut().zip(&self.inertia) {
            (0..3).for_each(|s| u[s] -= drift[s] * i.sqrt_mass);
        }
        let inner = self.kinetic_energy();
        let kept = ((inner - gain) / inner).max(0.0).sqrt();
        for (u, i) in self.u.iter_mut().zip(&self.inertia) {
            u.iter_mut().for_each(|e| *e *= kept);
            (0..3).for_each(|s| u[s] += drift[s] * i.sqrt_mass);
        }
        if self.is_driven() {
            self.close_velocities();
        } else if gain > inner || !gain.is_finite() {
            self.stay(h);
        }
    }

    /// Velocity of the centre of mass of a mechanism that nothing holds; zero for one that is tied to something.
    pub(super) fn common_velocity(&self) -> DVec3 {
        let tied = |n: &Node| !n.source.is_internal() && n.a.max(n.b) as usize >= self.layout.movable;
        if self.layout.nodes.iter().any(tied) {
            return DVec3::ZERO;
        }
        let (mut momentum, mut mass) = (DVec3::ZERO, 0.0);
        for (u, i) in self.u.iter().zip(&self.inertia) {
            momentum += DVec3::new(u[0], u[1], u[2]) * i.sqrt_mass;
            mass += i.mass;
        }
        momentum / mass
    }

    fn dissipates(&self) -> bool {
        !self.bounded.is_empty()
            || self.linear.soft.iter().any(|s| s.law.damping > 0.0 || s.theta > 0.0)
            || self.inertia.iter().any(|i| i.linear_damping > 0.0 || i.angular_damping > 0.0)
    }

    /// Kinetic energy that the loads alone would give bodies at rest in one step: the scale below which a gain means nothing.
    fn kick_energy(&self, h: f64) -> f64 {
        let loads = self.load.iter().zip(&self.inertia);
        loads.map(|(l, i)| 0.5 * (l.0 * (h * i.inv_sqrt_mass)).length_squared()).sum()
    }

    pub(super) fn kinetic_energy(&self) -> f64 {
        0.5 * self.u.iter().flatten().map(|e| e * e).sum::<f64>()
    }

    /// The mechanical energy at the start of a step.
    pub(super) fn energy_at_start(&self) -> f64 {
        self.energy_with_turns(&self.values)
    }

    /// The mechanical energy at the end of a step.
    pub(super) fn mechanical_energy(&self) -> f64 {
        self.energy_with_turns(&self.near)
    }

    /// Kinetic energy, potential of constant forces, elastic energy; turns are counted from the values given.
    fn energy_with_turns(&self, near: &[f64]) -> f64 {
        let mut energy = self.kinetic_energy();
        for k in 0..self.layout.movable {
            energy -= self.load[k].0.dot(self.pose[k].x);
        }
        for (k, s) in self.layout.soft.iter().enumerate() {
            let m = &self.layout.models[s.model as usize];
            let near = near[self.first_value[s.model as usize] as usize + s.coordinate as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let q = kind.unwrapped(m, &self.pose[s.a as usize], &self.pose[s.b as usize], near);
            let law = &self.linear.soft[k].law;
            energy += 0.5 * law.stiffness * (q - law.rest).powi(2) - law.bias * q;
        }
        energy
    }

    /// Work of what is not in the energy: torques, drives, bounded rows, bodies moved by the user.
    pub(super) fn work_done(&self, h: f64) -> f64 {
        let mut power = self.bounded_power();
        let mut add = |k: usize, f: &Hat| {
            let mean = (0..6).map(|s| f[s] * 0.5 * (self.u[k][s] + self.u_start[k][s])).sum::<f64>();
            power += mean;
        };
        for k in 0..self.layout.movable {
            if self.load[k].1 == DVec3::ZERO {
                continue;
            }
            let t = (self.pose[k].r.transpose() * self.load[k].1) * self.inertia[k].inv_sqrt;
            add(k, &[0.0, 0.0, 0.0, t.x, t.y, t.z]);
        }
        for (l, d) in self.force.iter().zip(&self.linear.drift) {
            power -= l * d;
        }
        power * h + self.work_of_force_motors()
    }

    /// Constant forces along coordinates: exact also where a coordinate bounces off its limit within the step, whose mean speed
    /// says little about the way.
    fn work_of_force_motors(&self) -> f64 {
        let work = |&(k, force): &(u32, f64)| {
            let t = &self.layout.tracked[k as usize];
            let m = &self.layout.models[t.model as usize];
            let at = self.first_value[t.model as usize] as usize + t.coordinate as usize;
            let (a, b) = (&self.pose[t.a as usize], &self.pose[t.b as usize]);
            let end = m.coordinates[t.coordinate as usize].1.unwrapped(m, a, b, self.near[at]);
            force * (end - self.values[at])
        };
        self.linear.force_motors.iter().map(work).sum()
    }
}
