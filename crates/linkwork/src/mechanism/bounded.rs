//! Limits, dry friction and force-limited motors: rows whose impulse is bounded, solved together through the mechanism.
//!
//! With A = ĴĴᵀ, one unit of impulse on bounded row j moves the mechanism by r = ĵᵀ − ĴᵀA⁻¹Ĵĵᵀ (Tomcin, Sibbing and
//! Kobbelt 2014, section 7): so W = ĵ r over all bounded rows, and their impulses are the box-constrained solution of
//! v = Wx + b. Each half of a step has such a solve; between them the position iteration keeps limits exact.

use super::layout::{Bounded, BoundedKind, Layout};
use super::linear::SoftLaw;
use super::{Hat, Mechanism};
use crate::joint::drive::BoundedMotor;
use crate::joint::rows::Row;
use crate::linalg::box_qp::{self, BoxScratch};
use crate::scene::Limit;
use crate::world::Joints;

/// See [`Mechanism::bounded_entry`].
pub(crate) struct BoundedEntry {
    pub row: Row,
    pub a: u32,
    pub b: u32,
    pub velocity: f64,
    pub bounds: (f64, f64),
    pub compliance: f64,
    pub guess: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    Limit(Limit),
    Friction(f64),
    Velocity { target: f64, max_force: f64 },
    Servo { law: SoftLaw, max_force: f64 },
}

/// A range narrower than this is held as a point, m or rad.
const POINT_RANGE: f64 = 1e-9;

pub(super) struct BoundedRows {
    pub laws: Vec<Law>,
    pub rows: Vec<Row>,
    /// Response of all movable bodies, and of the joint rows, to one unit of each bounded row.
    response: Vec<Hat>,
    joint_response: Vec<f64>,
    pub w: Vec<f64>,
    /// The system with the compliance of servos on its diagonal.
    pub system: Vec<f64>,
    pub value: Vec<f64>,
    pub start_value: Vec<f64>,
    pub incoming: Vec<f64>,
    pub b: Vec<f64>,
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// Impulses of the first and second half.
    pub first: Vec<f64>,
    pub second: Vec<f64>,
    pub trial: Vec<f64>,
    pub forces: Vec<f64>,
    /// Impulses over the whole step, of which the forces may be those of a substep.
    pub force_sum: Vec<f64>,
    column: Vec<f64>,
    motion: Vec<Hat>,
    scratch: BoxScratch,
    pub sweeps: u32,
    pub stale: bool,
}

impl BoundedRows {
    pub fn new(layout: &Layout) -> Self {
        let n = layout.bounded.len();
        BoundedRows {
            laws: vec![Law::Friction(0.0); n],
            rows: vec![Row::default(); n],
            response: vec![[0.0; 6]; n * layout.movable],
            joint_response: vec![0.0; n * layout.rows],
            w: vec![0.0; n * n],
            system: vec![0.0; n * n],
            value: vec![0.0; n],
            start_value: vec![0.0; n],
            incoming: vec![0.0; n],
            b: vec![0.0; n],
            lo: vec![0.0; n],
            hi: vec![0.0; n],
            first: vec![0.0; n],
            second: vec![0.0; n],
            trial: vec![0.0; n],
            forces: vec![0.0; n],
            force_sum: vec![0.0; n],
            column: vec![0.0; layout.rows],
            motion: vec![[0.0; 6]; layout.movable],
            scratch: BoxScratch::new(n),
            sweeps: 0,
            stale: true,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.laws.is_empty()
    }

    pub fn has_limits(&self) -> bool {
        self.laws.iter().any(|l| matches!(l, Law::Limit(_)))
    }

    pub fn gather(&mut self, layout: &Layout, joints: &Joints) {
        for (k, b) in layout.bounded.iter().enumerate() {
            let Some(drive) = joints.at(b.joint as usize).map(|j| &j.drives[b.coordinate as usize]) else { continue };
            let (law, force) = match b.kind {
                BoundedKind::Limit => {
                    let limit = drive.limit.unwrap_or(Limit { min: None, max: None, restitution: 0.0 });
                    (Law::Limit(limit), drive.forces.limit)
                }
                BoundedKind::Friction => (Law::Friction(drive.friction), drive.forces.friction),
                BoundedKind::Motor => {
                    let law = match drive.bounded_motor() {
                        Some(BoundedMotor::Velocity { target, max_force }) => Law::Velocity { target, max_force },
                        Some(BoundedMotor::Servo { law, max_force }) => Law::Servo { law: SoftLaw::of(law), max_force },
                        None => Law::Friction(0.0),
                    };
                    (law, drive.forces.motor)
                }
            };
            self.laws[k] = law;
            self.forces[k] = force;
        }
        self.sweeps = 0;
    }

    pub fn scatter(&self, layout: &Layout, joints: &mut Joints, h: f64) {
        for (k, b) in layout.bounded.iter().enumerate() {
            let Some(joint) = joints.at_mut(b.joint as usize) else { continue };
            let drive = &mut joint.drives[b.coordinate as usize];
            for (forces, force) in [(&mut drive.forces, self.forces[k]), (&mut drive.mean, self.force_sum[k] / h)] {
                match b.kind {
                    BoundedKind::Limit => forces.limit = force,
                    BoundedKind::Friction => forces.friction = force,
                    BoundedKind::Motor => forces.motor = force,
                }
            }
        }
    }

    /// Counts the forces of a substep of length `h`.
    pub fn add_to_sum(&mut self, h: f64) {
        self.force_sum.iter_mut().zip(&self.forces).for_each(|(sum, f)| *sum += h * f);
    }

    /// Turns the impulses of a step into mean forces.
    pub fn average(&mut self, h: f64) {
        for k in 0..self.forces.len() {
            self.forces[k] = (self.first[k] + self.second[k]) / h;
        }
    }

    /// Adds the compliance of servos for steps of `h` to the system.
    pub fn soften_servos(&mut self, h: f64, whole: bool) {
        let n = self.laws.len();
        self.system.copy_from_slice(&self.w);
        for k in 0..n {
            let mobility = self.w[k * n + k];
            if let Law::Servo { law, .. } = &mut self.laws[k] {
                let new = if whole { SoftLaw::whole } else { SoftLaw::new };
                *law = new(law.law, h, mobility);
                self.system[k * n + k] += law.compliance;
            }
        }
    }

    /// W is symmetric but for rounding: makes it so.
    pub fn symmetrise(&mut self) {
        let n = self.laws.len();
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (self.w[i * n + j] + self.w[j * n + i]);
                (self.w[i * n + j], self.w[j * n + i]) = (mean, mean);
            }
        }
    }

    /// Velocity, bounds and guess of a row of present rate `rate` for the first half of a step of `h`, in which friction and
    /// motors act for a time `share`.
    pub fn aim_first(&mut self, k: usize, rate: f64, h: f64, share: f64) {
        let value = self.value[k];
        let (b, lo, hi) = match self.laws[k] {
            Law::Limit(_) => match self.limit_bound(k, h * rate) {
                Some(bound) => {
                    let (lo, hi) = self.limit_sign(k, bound);
                    (rate + (value - bound) / h, lo, hi)
                }
                None => (0.0, 0.0, 0.0),
            },
            Law::Friction(f) => (rate, -f * share, f * share),
            Law::Velocity { target, max_force } => (rate - target, -max_force * share, max_force * share),
            Law::Servo { law, max_force } => {
                let r = law.position_residual(value, self.incoming[k], value + h * rate, 0.0, h);
                (r, -max_force * share, max_force * share)
            }
        };
        (self.b[k], self.lo[k], self.hi[k]) = (b, lo, hi);
        // the force of the last step is the best guess
        self.first[k] = self.forces[k] * share;
    }

    /// The same for the second half: limits that are reached stop (or bounce).
    pub fn aim_second(&mut self, k: usize, rate: f64, h: f64, tolerance: f64) {
        let (b, lo, hi) = self.second_law(k, rate, h, tolerance);
        (self.b[k], self.lo[k], self.hi[k]) = (b, lo, hi);
        self.second[k] = if lo < hi { self.first[k] } else { 0.0 };
    }

    /// Velocity and bounds of a row of present rate `rate` in the second half.
    pub fn second_law(&self, k: usize, rate: f64, h: f64, tolerance: f64) -> (f64, f64, f64) {
        let share = 0.5 * h;
        let value = self.value[k];
        match self.laws[k] {
            Law::Limit(limit) => match self.limit_bound(k, 0.0) {
                Some(bound) => {
                    let (lo, hi) = self.limit_sign(k, bound);
                    let inside = if lo == 0.0 { value - bound } else { bound - value };
                    if inside <= 10.0 * tolerance || self.first[k] != 0.0 {
                        let incoming = self.incoming[k];
                        let approaching = if lo == 0.0 { incoming < 0.0 } else { incoming > 0.0 };
                        let bounce = if approaching { limit.restitution * incoming } else { 0.0 };
                        (rate + bounce, lo, hi)
                    } else {
                        (0.0, 0.0, 0.0)
                    }
                }
                None => (0.0, 0.0, 0.0),
            },
            Law::Friction(f) => (rate, -f * share, f * share),
            Law::Velocity { target, max_force } => (rate - target, -max_force * share, max_force * share),
            Law::Servo { law, max_force } => {
                let mean_rate = (value - self.start_value[k]) / h;
                (law.velocity_residual(value, mean_rate, rate, 0.0, h), -max_force * share, max_force * share)
            }
        }
    }

    /// Solves for the impulses of the first or second half.
    pub fn solve(&mut self, first: bool) {
        let x = if first { &mut self.first } else { &mut self.second };
        let tolerance = 1e-13 * (1.0 + crate::math::max_abs(self.b.iter().copied()));
        let solution = box_qp::solve(&self.system, &self.b, &self.lo, &self.hi, x, tolerance, &mut self.scratch);
        self.sweeps += solution.sweeps;
    }

    pub fn limit_bound(&self, k: usize, reach: f64) -> Option<f64> {
        let Law::Limit(limit) = self.laws[k] else { return None };
        let ahead = self.value[k] + reach;
        match (limit.min, limit.max) {
            (Some(lo), Some(hi)) => Some(if ahead - lo <= hi - ahead { lo } else { hi }),
            (lo, hi) => lo.or(hi),
        }
    }

    /// Bounds of a limit row's impulse: it only pushes back into the range.
    pub fn limit_sign(&self, k: usize, bound: f64) -> (f64, f64) {
        match self.laws[k] {
            Law::Limit(Limit { min: Some(lo), max: Some(hi), .. }) if hi - lo <= POINT_RANGE => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
            Law::Limit(Limit { min: Some(lo), .. }) if bound == lo => (0.0, f64::INFINITY),
            _ => (f64::NEG_INFINITY, 0.0),
        }
    }
}

impl Mechanism {
    /// Responses and W at the present linearisation, and the compliance of servos for steps of `h`.
    fn prepare_bounded(&mut self, h: f64) {
        if std::mem::take(&mut self.bounded.stale) {
            self.respond_to_bounded();
        }
        self.bounded.soften_servos(h, self.linear.whole);
    }

    fn respond_to_bounded(&mut self) {
        let (n, movable) = (self.layout.bounded.len(), self.layout.movable);
        for k in 0..n {
            let b = self.layout.bounded[k];
            let row = self.bounded_row(&b);
            self.bounded.rows[k] = row;
            self.bounded.motion.fill([0.0; 6]);
            for (body, is_b) in [(b.a, false), (b.b, true)] {
                if (body as usize) < movable {
                    self.bounded.motion[body as usize] = self.hat_row(&row, body as usize, is_b);
                }
            }
            // z = A⁻¹ Ĵ ĵᵀ, response ĵᵀ − Ĵᵀ z
            std::mem::swap(&mut self.u, &mut self.bounded.motion);
            std::mem::swap(&mut self.rhs, &mut self.bounded.column);
            self.row_velocities();
            for (r, d) in self.rhs.iter_mut().zip(&self.linear.drift) {
                *r = -(*r - d);
            }
            self.layout.factor.solve(&mut self.rhs);
            Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.u);
            std::mem::swap(&mut self.rhs, &mut self.bounded.column);
            std::mem::swap(&mut self.u, &mut self.bounded.motion);
            let rows = self.layout.rows;
            self.bounded.response[k * movable..(k + 1) * movable].copy_from_slice(&self.bounded.motion);
            self.bounded.joint_response[k * rows..(k + 1) * rows].copy_from_slice(&self.bounded.column);
        }
        for i in 0..n {
            for j in 0..n {
                let response = &self.bounded.response[j * movable..(j + 1) * movable];
                self.bounded.w[i * n + j] = self.bounded_rate_of(i, response);
            }
        }
        self.bounded.symmetrise();
    }

    pub(super) fn bounded_row(&self, b: &Bounded) -> Row {
        let m = &self.layout.models[b.model as usize];
        m.coordinates[b.coordinate as usize].1.row(m, &self.pose[b.a as usize], &self.pose[b.b as usize])
    }

    fn bounded_rate_of(&self, k: usize, u: &[Hat]) -> f64 {
        let (b, row) = (&self.layout.bounded[k], &self.bounded.rows[k]);
        let mut rate = 0.0;
        for (body, is_b) in [(b.a, false), (b.b, true)] {
            if (body as usize) < self.layout.movable {
                let hat = self.hat_row(row, body as usize, is_b);
                rate += hat.iter().zip(&u[body as usize]).map(|(x, y)| x * y).sum::<f64>();
            }
        }
        rate
    }

    /// Rate of a bounded row's coordinate, bodies moved by the user included.
    pub(super) fn bounded_rate(&self, k: usize) -> f64 {
        let (b, row) = (&self.layout.bounded[k], &self.bounded.rows[k]);
        row.velocity(&self.motion(b.a), &self.motion(b.b))
    }

    pub(super) fn read_bounded_values(&mut self) {
        for (k, b) in self.layout.bounded.iter().enumerate() {
            let m = &self.layout.models[b.model as usize];
            let near = self.near[self.first_value[b.model as usize] as usize + b.coordinate as usize];
            let kind = m.coordinates[b.coordinate as usize].1;
            let (a, b) = (&self.pose[b.a as usize], &self.pose[b.b as usize]);
            self.bounded.value[k] = kind.unwrapped(m, a, b, near);
        }
    }

    /// Impulses of the bounded rows over a time `share` at the start of a step of size `h`, for the kicked velocities `u`.
    /// Joints are first closed in the velocities (to the row velocities in `correction`, which the curvature of the motion
    /// asks for), which starts `impulse`; both then take the bounded impulses.
    pub(super) fn bounded_first_half(&mut self, h: f64, share: f64) {
        self.open_bounded(h, share);
        self.bounded.solve(true);
        self.bounded.trial.copy_from_slice(&self.bounded.first);
        self.apply_bounded();
    }

    /// Velocities, bounds and guesses of the bounded rows once the joints are closed in the velocities.
    pub(super) fn open_bounded(&mut self, h: f64, share: f64) {
        self.read_bounded_values();
        self.bounded.start_value.copy_from_slice(&self.bounded.value);
        self.prepare_bounded(h);
        for k in 0..self.layout.bounded.len() {
            self.bounded.incoming[k] = self.bounded_incoming(k);
        }
        self.close_for_first_half(h);
        for k in 0..self.layout.bounded.len() {
            let rate = self.bounded_rate(k);
            self.bounded.aim_first(k, rate, h, share);
        }
    }

    /// A bounded row as it stands before any impulse: its row, bodies (local), velocity, bounds, compliance and first guess.
    pub(super) fn bounded_entry(&self, k: usize) -> BoundedEntry {
        let (rows, layout) = (&self.bounded, &self.layout.bounded[k]);
        BoundedEntry {
            row: rows.rows[k],
            a: layout.a,
            b: layout.b,
            velocity: rows.b[k],
            bounds: (rows.lo[k], rows.hi[k]),
            compliance: if let Law::Servo { law, .. } = &rows.laws[k] { law.compliance } else { 0.0 },
            guess: rows.first[k],
        }
    }

    /// Speed of a coordinate before the step, for the restitution of its limit.
    pub(super) fn bounded_incoming(&self, k: usize) -> f64 {
        let b = &self.layout.bounded[k];
        let mut rate = self.bounded_rate_of(k, &self.u_start);
        for (body, is_b) in [(b.a, false), (b.b, true)] {
            if (body as usize) >= self.layout.movable {
                let (m, row) = (&self.outside[body as usize], &self.bounded.rows[k]);
                rate +=
                    if is_b { row.lin.dot(m.v) + row.ang_b.dot(m.w) } else { -row.lin.dot(m.v) + row.ang_a.dot(m.w) };
            }
        }
        rate
    }

    /// Closes hard rows and loads soft rows in the velocities, as the first iteration of the position stage would.
    pub(super) fn close_for_first_half(&mut self, h: f64) {
        self.row_velocities();
        for (r, curvature) in self.rhs.iter_mut().zip(&self.correction) {
            *r -= curvature;
        }
        for (k, s) in self.layout.soft.iter().enumerate() {
            let m = &self.layout.models[s.model as usize];
            let near = self.near[self.first_value[s.model as usize] as usize + s.coordinate as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let q = kind.unwrapped(m, &self.pose[s.a as usize], &self.pose[s.b as usize], near);
            let r = s.row as usize;
            let rate = self.linear.soft_rates[k];
            self.rhs[r] = self.linear.soft[k].position_residual(q, rate, q + h * self.rhs[r], 0.0, h);
        }
        for r in &mut self.rhs {
            *r = -*r;
        }
        self.layout.factor.solve(&mut self.rhs);
        self.impulse.copy_from_slice(&self.rhs);
        Self::apply(&self.layout, &self.linear.jacobian, &self.impulse, &mut self.u);
    }

    /// Adds the trial impulses to bodies and joints.
    fn apply_bounded(&mut self) {
        let (movable, rows) = (self.layout.movable, self.layout.rows);
        for k in 0..self.layout.bounded.len() {
            let x = self.bounded.trial[k];
            if x == 0.0 {
                continue;
            }
            let response = &self.bounded.response[k * movable..(k + 1) * movable];
            for (u, r) in self.u.iter_mut().zip(response) {
                for s in 0..6 {
                    u[s] += x * r[s];
                }
            }
            for (p, r) in self.impulse.iter_mut().zip(&self.bounded.joint_response[k * rows..(k + 1) * rows]) {
                *p += x * r;
            }
        }
    }

    /// Adds the impulses of the first half to the whole mechanism: they were found through its joints, and on a light body
    /// alone they would be far too large.
    pub(super) fn apply_bounded_to_mechanism(&mut self) {
        self.bounded.trial.copy_from_slice(&self.bounded.first);
        self.apply_bounded();
    }

    /// How far a limit is from where it should be at the predicted poses, m or rad: beyond its bound, or off it while it pushes.
    pub(super) fn limit_violation(&self) -> f64 {
        let mut worst = 0.0_f64;
        for (k, b) in self.layout.bounded.iter().enumerate().filter(|(_, b)| b.kind == BoundedKind::Limit) {
            let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
            let Some(bound) = self.bounded.limit_bound(k, q - self.bounded.value[k]) else { continue };
            let (lo, hi) = self.bounded.limit_sign(k, bound);
            let outside = if lo == 0.0 { bound - q } else { q - bound };
            let holds = self.bounded.first[k] != 0.0 || (lo < 0.0 && hi > 0.0);
            worst = crate::math::max_abs([worst, if holds { outside } else { outside.max(0.0) }]);
        }
        worst
    }

    /// One iteration on the limits at the predicted poses: pushes them to their bound or lets them go.
    pub(super) fn correct_limits(&mut self, h: f64) {
        self.find_limit_corrections(h);
        self.apply_bounded();
    }

    /// What that changes the impulses of the first half by, into `trial`.
    pub(super) fn find_limit_corrections(&mut self, h: f64) {
        let n = self.layout.bounded.len();
        for k in 0..n {
            let b = self.layout.bounded[k];
            let x = self.bounded.first[k];
            (self.bounded.lo[k], self.bounded.hi[k], self.bounded.b[k]) = (x, x, 0.0);
            if b.kind == BoundedKind::Limit {
                let q = self.coordinate_at_next(b.model, b.coordinate, b.a, b.b);
                if let Some(bound) = self.bounded.limit_bound(k, q - self.bounded.value[k]) {
                    (self.bounded.lo[k], self.bounded.hi[k]) = self.bounded.limit_sign(k, bound);
                    self.bounded.b[k] = (q - bound) / h;
                }
            }
        }
        // b is the velocity at the present impulses: take their part out
        for k in 0..n {
            let own: f64 = (0..n).map(|j| self.bounded.system[k * n + j] * self.bounded.first[j]).sum();
            self.bounded.b[k] -= own;
            self.bounded.trial[k] = -self.bounded.first[k];
        }
        self.bounded.solve(true);
        for (t, x) in self.bounded.trial.iter_mut().zip(&self.bounded.first) {
            *t += x;
        }
    }

    /// Impulses of the second half: friction and motors again, limits that are reached stop (or bounce).
    /// `impulse` is used as a bin for the joints' share, which goes to `correction`.
    pub(super) fn bounded_second_half(&mut self, h: f64, tolerance: f64) {
        self.read_bounded_values();
        self.prepare_bounded(h);
        for k in 0..self.layout.bounded.len() {
            let rate = self.bounded_rate(k);
            self.bounded.aim_second(k, rate, h, tolerance);
        }
        self.bounded.solve(false);
        self.bounded.trial.copy_from_slice(&self.bounded.second);
        std::mem::swap(&mut self.impulse, &mut self.correction);
        self.apply_bounded();
        std::mem::swap(&mut self.impulse, &mut self.correction);
    }

    /// Mean power of the bounded rows over the step just taken. Limits and friction can only take.
    pub(super) fn bounded_power(&self) -> f64 {
        let power = |k: usize| {
            let mean = self.bounded.forces[k] * 0.5 * (self.bounded.incoming[k] + self.bounded_rate(k));
            let passive = matches!(self.bounded.laws[k], Law::Limit(_) | Law::Friction(_));
            if passive { mean.min(0.0) } else { mean }
        };
        (0..self.layout.bounded.len()).map(power).sum()
    }

    /// How much power motors take and give, W: what they take and give in one step cancels where a coordinate turns round in it, but not
    /// what is not known of it.
    pub(super) fn motor_turnover(&self) -> f64 {
        let motors = (0..self.layout.bounded.len())
            .filter(|&k| !matches!(self.bounded.laws[k], Law::Limit(_) | Law::Friction(_)));
        let speed = |k: usize| 0.5 * (self.bounded.incoming[k].abs() + self.bounded_rate(k).abs());
        motors.map(|k| self.bounded.forces[k].abs() * speed(k)).sum()
    }

    /// Constant hat forces of the bounded rows for a whole step, for the steps that are not split in halves.
    pub(super) fn bounded_forces(&mut self, h: f64) {
        self.bounded.first.fill(0.0);
        self.bounded.second.fill(0.0);
        for f in &mut self.robust.bounded_force {
            *f = [0.0; 6];
        }
        if self.bounded.is_empty() {
            return;
        }
        let mut kept = std::mem::take(&mut self.robust.kept_u);
        kept.clear();
        kept.extend_from_slice(&self.u);
        self.read_soft_rates();
        self.kick(h);
        self.correction.fill(0.0);
        self.bounded_first_half(h, h);
        for k in 0..self.layout.bounded.len() {
            let b = self.layout.bounded[k];
            let row = self.bounded.rows[k].scaled(self.bounded.first[k] / h);
            for (body, is_b) in [(b.a, false), (b.b, true)] {
                if (body as usize) < self.layout.movable {
                    let f = self.hat_row(&row, body as usize, is_b);
                    for (e, x) in self.robust.bounded_force[body as usize].iter_mut().zip(f) {
                        *e += x;
                    }
                }
            }
        }
        self.u.copy_from_slice(&kept);
        self.robust.kept_u = kept;
    }
}
