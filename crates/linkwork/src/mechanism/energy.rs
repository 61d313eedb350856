//! A mechanism's energy as the judge of its steps: what a step gains without cause is kept account of, and bounded.

use super::{Hat, Mechanism};
use crate::joint::EnergyAccount;

/// Energy that one step may gain or lose without cause, as a fraction of the kinetic energy.
const UNEXPLAINED: f64 = 0.01;
/// What all steps together may gain, and how far the account of losses goes, as a fraction of the largest kinetic energy
/// so far: from its lowest to its highest the energy rises by less than twice that.
const UNEXPLAINED_IN_ALL: f64 = 0.0045;

impl Mechanism {
    /// Whether the step from an energy of `before` may be kept; if so, its unexplained gain goes on account.
    ///
    /// With `both_ways` a loss counts too, unless something dissipates.
    pub(super) fn energy_is_plausible(&mut self, before: f64, h: f64, both_ways: bool) -> bool {
        let work = self.work_done(h);
        let change = self.mechanical_energy() - before - work;
        let now = self.kinetic_energy();
        let slack = UNEXPLAINED * self.kick_energy(h) + work.abs();
        let per_step = UNEXPLAINED * now + slack;
        let in_all = UNEXPLAINED_IN_ALL * self.account.largest_kinetic.max(now) + slack;
        let gains_too_much = change > per_step || self.account.surplus + change > in_all;
        let loses_too_much = both_ways && change < -per_step && !self.dissipates();
        if !gains_too_much && !loses_too_much {
            self.keep_account(change);
            return true;
        }
        false
    }

    /// Takes a change of energy to account. What was lost may not all be gained back: the account is not overdrawn.
    pub(super) fn keep_account(&mut self, change: f64) {
        let largest = self.account.largest_kinetic.max(self.kinetic_energy());
        let surplus = if self.dissipates() { 0.0 } else { self.account.surplus + change };
        self.account = EnergyAccount { surplus: surplus.max(-UNEXPLAINED_IN_ALL * largest), largest_kinetic: largest };
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

    /// Kinetic energy, potential of constant forces, elastic energy.
    pub(super) fn mechanical_energy(&self) -> f64 {
        let mut energy = self.kinetic_energy();
        for k in 0..self.layout.movable {
            energy -= self.load[k].0.dot(self.pose[k].x);
        }
        for (k, s) in self.layout.soft.iter().enumerate() {
            let m = &self.layout.models[s.model as usize];
            let near = self.near[self.first_value[s.model as usize] as usize + s.coordinate as usize];
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
            if self.load[k].1 == glam::DVec3::ZERO {
                continue;
            }
            let t = (self.pose[k].r.transpose() * self.load[k].1) * self.inertia[k].inv_sqrt;
            add(k, &[0.0, 0.0, 0.0, t.x, t.y, t.z]);
        }
        for (k, f) in &self.linear.drive_forces {
            add(*k as usize, f);
        }
        for (l, d) in self.force.iter().zip(&self.linear.drift) {
            power -= l * d;
        }
        power * h
    }
}
