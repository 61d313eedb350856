//! A body without joints in contact.

use crate::joint::Motion;
use crate::joint::rows::Row;
use crate::math::rotation::{LANES, in_lanes, of_lanes};
use crate::math::{Placed, rotation};
use crate::mechanism::pile::turn_spin;
use crate::world::Bodies;
use glam::{DQuat, DVec3};

/// A body without joints, in working memory.
#[derive(Clone, Copy)]
pub(super) struct Free {
    pub slot: u32,
    pub inv_sqrt_mass: f64,
    pub inv_sqrt: DVec3,
    pub pose: Placed,
    pub u: [f64; 6],
    /// Velocities without impulses of contacts.
    pub kicked: [f64; 6],
    /// Where it will be at the end of the step, and its spin then.
    pub next: Placed,
    next_spin: [f64; 3],
    /// How long before the start of the step it had its velocities, s.
    pub lag: f64,
    /// How far a bounce within the step has carried it, against a bounce at its start.
    pub shift: DVec3,
}

impl Free {
    pub fn new(bodies: &Bodies, slot: u32) -> Free {
        let Some(body) = bodies.at(slot as usize) else {
            unreachable!("free bodies are listed from the world's own bodies")
        };
        let m = &body.mass;
        let root = DVec3::new(m.moments.x.sqrt(), m.moments.y.sqrt(), m.moments.z.sqrt());
        let mut state = Free {
            slot,
            inv_sqrt_mass: 1.0 / m.mass.sqrt(),
            inv_sqrt: root.recip(),
            pose: body.placed(),
            u: [0.0; 6],
            kicked: [0.0; 6],
            next: body.placed(),
            next_spin: [0.0; 3],
            lag: body.lag,
            shift: DVec3::ZERO,
        };
        state.u = state.hat(body.v, body.w);
        state
    }

    /// Of free flight.
    pub fn acceleration(&self, bodies: &Bodies, gravity: DVec3) -> DVec3 {
        let Some(body) = bodies.at(self.slot as usize) else { return DVec3::ZERO };
        body.force / body.mass.mass + gravity * body.gravity_scale
    }

    /// Kicks up to the middle of the step.
    pub fn kick_before_move(&mut self, bodies: &Bodies, gravity: DVec3, h: f64) {
        self.kick(bodies, gravity, h, 0.5 * h + self.lag);
    }

    /// Kicks for a `time` of a step of `h`.
    pub fn kick(&mut self, bodies: &Bodies, gravity: DVec3, h: f64, time: f64) {
        let Some(body) = bodies.at(self.slot as usize) else { return };
        let acceleration = self.acceleration(bodies, gravity);
        let spin = self.pose.r * (self.pose.r.transpose() * body.torque / body.mass.moments);
        let damp = |rate: f64| damping(rate, h);
        let Motion { v, w } = self.motion();
        // what particles give acts at once and whole
        let (force, torque) = body.push_by_particles().unwrap_or_default();
        let given = self.pose.r * (self.pose.r.transpose() * torque / body.mass.moments);
        let v = (v + acceleration * time + force * (h / body.mass.mass)) * damp(body.linear_damping);
        let w = (w + spin * time + given * h) * damp(body.angular_damping);
        self.u = self.hat(v, w);
        self.kicked = self.u;
    }

    pub fn hat(&self, v: DVec3, w: DVec3) -> [f64; 6] {
        let v = v / self.inv_sqrt_mass;
        let w = (self.pose.r.transpose() * w) / self.inv_sqrt;
        [v.x, v.y, v.z, w.x, w.y, w.z]
    }

    pub fn motion(&self) -> Motion {
        let u = &self.u;
        let v = DVec3::new(u[0], u[1], u[2]) * self.inv_sqrt_mass;
        Motion { v, w: self.pose.r * (DVec3::new(u[3], u[4], u[5]) * self.inv_sqrt) }
    }

    pub fn hat_row(&self, row: &Row, is_b: bool) -> [f64; 6] {
        let (sign, g) = if is_b { (self.inv_sqrt_mass, row.ang_b) } else { (-self.inv_sqrt_mass, row.ang_a) };
        let l = row.lin * sign;
        let g = (self.pose.r.transpose() * g) * self.inv_sqrt;
        [l.x, l.y, l.z, g.x, g.y, g.z]
    }

    pub fn push(&mut self, row: &Row, impulse: f64, is_b: bool) {
        let hat = self.hat_row(row, is_b);
        self.u.iter_mut().zip(hat).for_each(|(u, x)| *u += impulse * x);
    }

    /// Velocities before the step.
    pub fn before(&self, bodies: &Bodies) -> [f64; 6] {
        bodies.at(self.slot as usize).map_or([0.0; 6], |b| self.hat(b.v, b.w))
    }

    fn momentum(&self) -> DVec3 {
        DVec3::new(self.u[3], self.u[4], self.u[5]) / self.inv_sqrt
    }

    fn go_to(&mut self, q: DQuat, momentum: DVec3, h: f64) {
        let v = DVec3::new(self.u[0], self.u[1], self.u[2]) * self.inv_sqrt_mass;
        self.next = Placed::new(self.pose.x + v * h + self.shift, q);
        self.next_spin = (momentum * self.inv_sqrt).to_array();
    }

    /// Takes other velocities than those that led to where [`predict_all`] found, in the frame of the start.
    pub fn turn_to_end(&mut self, end: &[f64; 6]) {
        let turned = turn_spin(&self.pose, &self.next, &self.inv_sqrt.recip(), end);
        self.u = turned;
        self.next_spin.copy_from_slice(&turned[3..]);
    }

    /// Goes where [`predict_all`] found; a body that nothing pushed gets the other half of its kick.
    pub fn advance(&mut self, bodies: &Bodies, gravity: DVec3, h: f64, supported: bool) {
        self.arrive(if supported { 0.5 * h } else { 0.0 });
        if !supported {
            self.kick_after_move(bodies, gravity, h, 0.0);
        }
    }

    /// The same in a pile, where the kick is that of a substep, and so is its damping.
    pub fn advance_in_pile(&mut self, bodies: &Bodies, gravity: DVec3, substep: f64, supported: bool) {
        self.arrive(if supported { 0.5 * substep } else { 0.0 });
        if !supported {
            self.kick_after_move(bodies, gravity, substep, 0.5 * substep);
        }
    }

    fn arrive(&mut self, lag: f64) {
        self.pose = self.next;
        self.u[3..].copy_from_slice(&self.next_spin);
        self.lag = lag;
    }

    fn kick_after_move(&mut self, bodies: &Bodies, gravity: DVec3, h: f64, damped_for: f64) {
        let Some(body) = bodies.at(self.slot as usize) else { return };
        let acceleration = self.acceleration(bodies, gravity);
        let spin = self.pose.r * (self.pose.r.transpose() * body.torque / body.mass.moments);
        let Motion { v, w } = self.motion();
        let v = (v + acceleration * 0.5 * h) * damping(body.linear_damping, damped_for);
        let w = (w + spin * 0.5 * h) * damping(body.angular_damping, damped_for);
        self.u = self.hat(v, w);
    }
}

/// What is left of a velocity after a time.
fn damping(rate: f64, time: f64) -> f64 {
    if rate > 0.0 { (-rate * time).exp() } else { 1.0 }
}

/// Finds where the present velocities lead, eight bodies at once.
pub(super) fn predict_all(states: &mut [Free], h: f64) {
    for eight in states.chunks_mut(LANES) {
        let each: [&Free; LANES] = std::array::from_fn(|i| &eight[i.min(eight.len() - 1)]);
        let mut q = in_lanes(each.map(|state| state.pose.q.to_array()));
        let mut l = in_lanes(each.map(|state| state.momentum().to_array()));
        let quarter = in_lanes(each.map(|state| (0.25 * h * (state.inv_sqrt * state.inv_sqrt)).to_array()));
        let together = rotation::rotate_free_lanes(&mut q, &mut l, &quarter);
        let (q, l) = (of_lanes(q), of_lanes(l));
        for (i, state) in eight.iter_mut().enumerate() {
            let (inverse, momentum) = (state.inv_sqrt * state.inv_sqrt, state.momentum());
            let (turned, momentum) =
                match together && rotation::keeps_energy(momentum, DVec3::from_array(l[i]), inverse) {
                    true => (DQuat::from_array(q[i]), DVec3::from_array(l[i])),
                    false => rotation::rotate_loose(state.pose.q, momentum, inverse, h),
                };
            state.go_to(turned, momentum, h);
        }
    }
}
