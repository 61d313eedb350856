//! A mechanism in motion: its state in working memory, and the choice between the kinds of step.
//!
//! Velocities are kept in *hat* coordinates, u = (√m v, √I Ω) with Ω in principal body axes: there the mass matrix is the
//! identity, a constraint row is its own response, and the angular part is the body angular momentum but for a constant.

mod accurate;
mod anderson;
mod assemble;
pub(crate) mod bounded;
pub(crate) mod choice;
mod contact;
mod controlled;
mod doubling;
mod energy;
mod events;
pub(crate) mod four;
pub(crate) mod herd;
pub(crate) mod iterative;
mod last_resort;
pub(crate) mod layout;
mod linear;
pub(crate) mod pile;
mod reduced;
mod robust;
pub(crate) mod runge_kutta;
mod sensitivity;
mod service;
mod stiffness;

use crate::body::Accelerations;
use crate::joint::{EnergyAccount, JointMemory, MAX_ROWS, Motion, REMEMBERED};
use crate::linalg::kernels::with_size;
use crate::math::rotation::{LANES, in_lanes, of_lanes};
use crate::math::{Placed, max_abs, rotation};
use crate::params::{Method, StepParams};
use crate::report::{LeftToDirect, StageTimer, StepKind};
use crate::scene::BodyKind;
use crate::world::{Bodies, Joints, Seen};
use bounded::BoundedRows;
use glam::{DMat3, DQuat, DVec3};
use layout::{Layout, Source, WORLD_SLOT};
use linear::Linearisation;

/// Constants of a movable body.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Inertia {
    mass: f64,
    moments: DVec3,
    sqrt_mass: f64,
    inv_sqrt_mass: f64,
    sqrt: DVec3,
    inv_sqrt: DVec3,
    inverse: DVec3,
    middle: f64,
    linear_damping: f64,
    angular_damping: f64,
}

impl Inertia {
    fn new(mass: f64, moments: DVec3) -> Self {
        let sqrt = DVec3::new(moments.x.sqrt(), moments.y.sqrt(), moments.z.sqrt());
        let sqrt_mass = mass.sqrt();
        Inertia {
            mass,
            moments,
            sqrt_mass,
            inv_sqrt_mass: 1.0 / sqrt_mass,
            sqrt,
            inv_sqrt: sqrt.recip(),
            inverse: moments.recip(),
            middle: moments.x + moments.y + moments.z - moments.max_element() - moments.min_element(),
            linear_damping: 0.0,
            angular_damping: 0.0,
        }
    }
}

/// Hat coordinates of a velocity, impulse or acceleration of one body.
pub(crate) type Hat = [f64; 6];

/// What happened in a mechanism's step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advance {
    pub kind: StepKind,
    pub reason: Option<Reason>,
    pub iterations: u32,
    pub bounded_sweeps: u32,
    pub substeps: u32,
    /// Largest errors left, m and rad, and the joint (slot) with the largest.
    pub error_m: f64,
    pub error_rad: f64,
    pub worst_joint: Option<u32>,
    /// A body (slot) by whose name the mechanism is told from others, always the same.
    pub member: Option<u32>,
    pub closed: bool,
    pub tolerance_missed: bool,
    /// Whether sweeps over the joints ended before these were closed as far as they were to be.
    pub unfinished: bool,
    /// Why the direct method took it although reduced coordinates were asked for.
    pub left: Option<LeftToDirect>,
}

impl Advance {
    /// Two substeps as one: the worse kind counts.
    fn followed_by(self, next: &Advance) -> Advance {
        let worse = if next.kind > self.kind { next } else { &self };
        Advance {
            iterations: self.iterations + next.iterations,
            bounded_sweeps: self.bounded_sweeps + next.bounded_sweeps,
            substeps: self.substeps + next.substeps,
            left: self.left.or(next.left),
            ..*worse
        }
    }
}

/// Bounds under which the accurate step is stable (σ < 4 in theory) and resolves a rotation (rad a step).
const SIGMA_BOUND: f64 = 3.0;
const SPIN_BOUND: f64 = 1.5;
/// Above this σ the robust step is cheaper than the substeps that the accurate one would need.
const ROBUST_SIGMA: f64 = 16.0 * SIGMA_BOUND;
/// A mechanism that turns too fast is stepped in up to 2³ substeps; others are not slowed by it.
pub(crate) const MOST_HALVINGS: u32 = 3;

/// Iterations of a substep after which one twice as large is not tried. The error falls by a factor that grows with the step;
/// from 1e-4 m to 1e-9 m in eight iterations it is 0.24, at twice the step 0.47, and fifteen iterations would just do.
const HARD_TO_CLOSE: u32 = 8;

/// Why the accurate step was not used, or what to tell the user of a last resort; names a body or joint slot where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reason {
    /// Joint forces make a light body too stiff for the step (σ).
    Stiff { body: u32, sigma: f64 },
    /// A body turns too far in one step (rad).
    FastSpin { body: u32, angle: f64 },
    /// The accurate step's iteration did not converge.
    NoConvergence,
}

/// A mechanism with its working memory.
pub(crate) struct Mechanism {
    pub layout: Layout,
    inertia: Vec<Inertia>,
    /// All local bodies; those from `layout.movable` on are moved by nobody or by the user.
    pose: Vec<Placed>,
    next: Vec<Placed>,
    next_momentum: Vec<DVec3>,
    outside: Vec<Motion>,
    /// How long before the end of the last step it had its velocities, s; see [`crate::body::BodyState::lag`].
    lag: f64,
    u: Vec<Hat>,
    u_start: Vec<Hat>,
    acceleration: Vec<Accelerations>,
    /// Force and torque at each movable body, gravity included, N and N m.
    load: Vec<(DVec3, DVec3)>,
    /// By particles, which act on a mechanism in contact only.
    push: Vec<(DVec3, DVec3)>,
    /// First coordinate of each model in `values`.
    first_value: Vec<u32>,
    /// Models that are given by functions.
    black_boxes: Vec<u32>,
    /// Coordinates with their turns at the start of the step, and where they are expected at its end.
    values: Vec<f64>,
    near: Vec<f64>,
    linear: Linearisation,
    bounded: BoundedRows,
    anderson: anderson::Anderson,
    robust: robust::RobustScratch,
    contact: contact::ContactScratch,
    controlled: controlled::ControlledScratch,
    doubling: doubling::DoublingScratch,
    iterative: iterative::IterativeScratch,
    /// How its joints are held.
    pub method: Method,
    /// The mechanism as a tree, once it is stepped in reduced coordinates, and why the present step is not.
    tree: Option<Box<reduced::Tree>>,
    left: Option<LeftToDirect>,
    /// Impulses of the position stage, of the velocity stage, the system's right side and the errors.
    impulse: Vec<f64>,
    correction: Vec<f64>,
    curvature: Vec<f64>,
    rhs: Vec<f64>,
    error: Vec<f64>,
    /// Whether `error` is that of the poses at which the step ended.
    errors_hold: bool,
    /// Impulses of the last accurate steps, or what curvature asked for, the latest first; and the last impulses.
    past: [Vec<f64>; REMEMBERED],
    last_impulse: Vec<f64>,
    filled: u8,
    filled_step: f64,
    account: EnergyAccount,
    /// How often the present step was halved.
    halvings: u32,
    substep: f64,
    last_iterations: u32,
    /// Mean forces of the rows over the last substep, and their sum times its length over the whole step.
    force: Vec<f64>,
    force_sum: Vec<f64>,
    pub timer: StageTimer,
    /// What happened in the present step, if it advanced by itself.
    pub advanced: Option<Advance>,
}

impl Mechanism {
    pub fn new(layout: Layout) -> Self {
        let (rows, movable, all) = (layout.rows, layout.movable, layout.bodies.len());
        let mut first_value = Vec::with_capacity(layout.models.len());
        let mut count = 0;
        for model in &layout.models {
            first_value.push(count as u32);
            count += model.coordinates.len();
        }
        let held = layout.models.iter().enumerate().filter(|(_, m)| m.black_box.is_some());
        let black_boxes = held.map(|(k, _)| k as u32).collect();
        let mut mechanism = Mechanism {
            inertia: vec![Inertia::new(1.0, DVec3::ONE); movable],
            pose: vec![Placed::WORLD; all],
            next: vec![Placed::WORLD; all],
            next_momentum: vec![DVec3::ZERO; movable],
            outside: vec![Motion::default(); all],
            lag: 0.0,
            u: vec![[0.0; 6]; movable],
            u_start: vec![[0.0; 6]; movable],
            acceleration: vec![Accelerations::default(); movable],
            load: vec![(DVec3::ZERO, DVec3::ZERO); movable],
            push: vec![(DVec3::ZERO, DVec3::ZERO); movable],
            first_value,
            black_boxes,
            values: vec![0.0; count],
            near: vec![0.0; count],
            linear: Linearisation::new(&layout),
            bounded: BoundedRows::new(&layout),
            anderson: anderson::Anderson::new(rows),
            robust: robust::RobustScratch::new(&layout),
            contact: contact::ContactScratch::default(),
            controlled: controlled::ControlledScratch::default(),
            doubling: doubling::DoublingScratch::default(),
            iterative: iterative::IterativeScratch::default(),
            method: Method::Direct,
            tree: None,
            left: None,
            impulse: vec![0.0; rows],
            correction: vec![0.0; rows],
            curvature: vec![0.0; rows],
            rhs: vec![0.0; rows],
            error: vec![0.0; rows],
            errors_hold: false,
            past: std::array::from_fn(|_| vec![0.0; rows]),
            last_impulse: vec![0.0; rows],
            filled: 0,
            filled_step: 0.0,
            account: EnergyAccount::default(),
            halvings: 0,
            substep: 0.0,
            last_iterations: 0,
            force: vec![0.0; rows],
            force_sum: vec![0.0; rows],
            timer: StageTimer::default(),
            advanced: None,
            layout,
        };
        mechanism.linear.set_fixations(&mechanism.layout);
        mechanism
    }

    /// Begins a step: takes its method and reads the world's state, timed.
    pub fn gather_in_turn(&mut self, world: &Seen, params: &StepParams) {
        self.timer.start(params.clock);
        self.method = params.method;
        self.gather(world.bodies, world.joints, world.gravity);
        self.timer.lap(|s| &mut s.other);
    }

    /// Reads the world's state into working memory.
    pub fn gather(&mut self, bodies: &Bodies, joints: &Joints, gravity: DVec3) {
        (self.lag, self.left) = (0.0, None);
        for (k, &slot) in self.layout.bodies.iter().enumerate() {
            if slot == WORLD_SLOT {
                self.pose[k] = Placed::WORLD;
                self.outside[k] = Motion::default();
                continue;
            }
            let Some(body) = bodies.at(slot as usize) else { continue };
            self.pose[k] = body.placed();
            if k < self.layout.movable {
                let m = &body.mass;
                let inertia = &mut self.inertia[k];
                if inertia.mass != m.mass || inertia.moments != m.moments {
                    *inertia = Inertia::new(m.mass, m.moments);
                }
                (inertia.linear_damping, inertia.angular_damping) = (body.linear_damping, body.angular_damping);
                self.u[k] = hat(&self.inertia[k], &self.pose[k], body.v, body.w);
                self.acceleration[k] = body.memory;
                self.lag = self.lag.max(body.lag);
                self.load[k] = (body.force + gravity * (m.mass * body.gravity_scale), body.torque);
                self.push[k] = body.push_by_particles().unwrap_or_default();
            } else if body.kind == BodyKind::Kinematic {
                self.outside[k] = Motion { v: body.v, w: body.w };
            } else {
                self.outside[k] = Motion::default();
            }
        }
        self.filled = REMEMBERED as u8;
        for joint in self.layout.joints.iter().filter_map(|&slot| joints.at(slot as usize)) {
            let JointMemory { filled, step, account, substep, iterations, .. } = &joint.memory;
            self.filled = self.filled.min(*filled);
            (self.filled_step, self.account, self.substep, self.last_iterations) =
                (*step, *account, *substep, *iterations);
        }
        for node in &self.layout.nodes {
            let (Source::Joint { slot, .. } | Source::Coupling { slot, .. }) = node.source else { continue };
            let Some(joint) = joints.at(slot as usize) else { continue };
            let (row, count) = (node.row as usize, node.rows as usize);
            // what is not remembered is not read either
            for (past, remembered) in self.past.iter_mut().zip(&joint.memory.past).take(self.filled as usize) {
                copy_rows(count, &mut past[row..], remembered);
            }
            copy_rows(count, &mut self.last_impulse[row..], &joint.memory.impulse);
            copy_rows(count, &mut self.force[row..], &joint.memory.force);
        }
        for &k in &self.black_boxes {
            let Some(joint) = joints.at(self.layout.model_joints[k as usize] as usize) else { continue };
            if self.layout.models[k as usize].follow(&joint.model) {
                self.linear.forget();
            }
        }
        // the others do not wrap, or count no turns
        for t in &self.layout.tracked {
            let Some(joint) = joints.at(t.joint as usize) else { continue };
            self.values[(self.first_value[t.model as usize] + u32::from(t.coordinate)) as usize] =
                joint.drives[t.coordinate as usize].value;
        }
        if self.is_iterative() {
            self.gather_swept(joints);
        }
        self.gather_needed(joints);
        self.linear.gather(&self.layout, joints);
        self.bounded.gather(&self.layout, joints);
    }

    /// Writes the stepped state back into the world.
    pub fn scatter(&self, bodies: &mut Bodies, joints: &mut Joints, h: f64) {
        for k in 0..self.layout.movable {
            let Some(body) = bodies.at_mut(self.layout.bodies[k] as usize) else { continue };
            let (v, w) = self.velocity(k);
            (body.x, body.q, body.v, body.w) = (self.pose[k].x, self.pose[k].q, v, w);
            body.memory = self.acceleration[k];
            body.lag = self.lag;
        }
        let (choice, swept) = (self.choice(), self.is_iterative());
        let of_mechanism = |memory: &mut JointMemory| {
            (memory.filled, memory.step, memory.iterations) = (self.filled, self.filled_step, self.last_iterations);
            (memory.account, memory.substep, memory.choice) = (self.account, self.substep, choice);
        };
        for &slot in &self.layout.rowless_joints {
            if let Some(joint) = joints.at_mut(slot as usize) {
                of_mechanism(&mut joint.memory);
            }
        }
        for node in &self.layout.nodes {
            let (Source::Joint { slot, .. } | Source::Coupling { slot, .. }) = node.source else { continue };
            let Some(joint) = joints.at_mut(slot as usize) else { continue };
            let (row, count) = (node.row as usize, node.rows as usize);
            let memory = &mut joint.memory;
            of_mechanism(memory);
            for (past, remembered) in self.past.iter().zip(&mut memory.past).take(self.filled as usize) {
                copy_rows(count, remembered, &past[row..]);
            }
            copy_rows(count, &mut memory.impulse, &self.last_impulse[row..]);
            copy_rows(count, &mut memory.force, &self.force[row..]);
            memory.needed = self.needed_bits(row, count);
            if swept || memory.swept.step != 0.0 {
                memory.swept = self.swept_memory(row, count);
            }
            for (mean, sum) in memory.mean_force.iter_mut().zip(&self.force_sum[row..row + count]) {
                *mean = sum / h;
            }
            memory.not_unique = self.linear.not_unique[row..row + count].contains(&true);
            if joint.model.black_box.is_some() {
                // may forget what was remembered
                joint.follow_black_box(&self.pose[node.a as usize], &self.pose[node.b as usize]);
            }
        }
        self.bounded.scatter(&self.layout, joints, h);
        for t in &self.layout.tracked {
            let Some(joint) = joints.at_mut(t.joint as usize) else { continue };
            let drive = &mut joint.drives[t.coordinate as usize];
            drive.value = self.values[self.first_value[t.model as usize] as usize + t.coordinate as usize];
            drive.integrate(h);
        }
    }

    /// One step of size `h`, in substeps where this mechanism needs them.
    pub fn advance(&mut self, h: f64, params: &StepParams, disturbed: bool) -> Advance {
        if self.is_iterative() && params.tolerance.is_some() {
            // a motion that is to be followed closely needs its joints closed
            self.method = Method::Direct;
        }
        self.act_whole(false);
        if self.lag > 0.0 {
            self.catch_up(h);
        }
        let swept = self.is_iterative();
        if !swept && disturbed {
            self.linearise_here(h);
        }
        if disturbed && swept {
            self.sweep_velocities_closed(h, params.joint_tolerance);
        } else if disturbed {
            self.fit_velocities_to_hard_rows();
            self.linearise_here(h);
        }
        self.force_sum.fill(0.0);
        self.bounded.force_sum.fill(0.0);
        let mut advance = match params.tolerance {
            Some(tolerance) => self.controlled_in_tree(h, tolerance).unwrap_or_else(|| {
                self.left = (self.method == Method::Reduced).then_some(LeftToDirect::ErrorControl);
                self.linearise_here(h);
                self.controlled_step(h, tolerance, params)
            }),
            None if self.method == Method::Reduced => self.reduced_or_direct_step(h, params, 0),
            None if swept => self.swept_step(h, params, 0),
            None => self.halving_step(h, params, 0),
        };
        self.measure_closure(&mut advance, params);
        advance
    }

    /// The best step of size `h` that is fit for the present state, or two of half the size.
    fn halving_step(&mut self, h: f64, params: &StepParams, halvings: u32) -> Advance {
        self.halvings = halvings;
        self.expect_values(h);
        self.linearise_here(h);
        let reason = match self.accurate_is_unfit(h, SIGMA_BOUND, SPIN_BOUND) {
            None if self.would_not_converge(h) => Reason::NoConvergence,
            None => match self.accurate_step_with_lost_rows(h, params) {
                Some(iterations) => return self.taken(h, StepKind::Accurate, None, iterations),
                None => Reason::NoConvergence,
            },
            Some(reason) => reason,
        };
        let can_halve = halvings < MOST_HALVINGS;
        // a little too stiff or too fast: smaller steps; far too stiff: the robust step
        let robust_first = !can_halve || matches!(reason, Reason::Stiff { sigma, .. } if sigma > ROBUST_SIGMA);
        if robust_first {
            self.linearise_here(h);
            if let Some(iterations) = self.robust_step(h, params) {
                return self.taken(h, StepKind::Robust, Some(reason), iterations);
            }
        }
        if can_halve {
            let first = self.halving_step(0.5 * h, params, halvings + 1);
            let second = self.halving_step(0.5 * h, params, halvings + 1);
            return first.followed_by(&second);
        }
        self.linearise_here(h);
        let iterations = self.last_resort_step(h, params);
        self.taken(h, StepKind::LastResort, Some(reason), iterations)
    }

    /// Whether the last substep, a smaller one, took so many iterations that this one is not worth trying. Under bounded rows
    /// iterations tell less: limits that come and go take some of their own.
    fn would_not_converge(&self, h: f64) -> bool {
        let last_was_smaller = self.filled > 0 && self.filled_step < 0.75 * h;
        let hard = last_was_smaller && self.last_iterations >= HARD_TO_CLOSE;
        hard && self.halvings < MOST_HALVINGS && self.bounded.is_empty()
    }

    /// The accurate step; if it is the smallest and dropped rows alone stay open, once more with those rows kept.
    fn accurate_step_with_lost_rows(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        if let Some(iterations) = self.accurate_step(h, params) {
            return Some(iterations);
        }
        // smaller steps come first: rows that are almost redundant ask for large impulses
        if self.halvings < MOST_HALVINGS || !self.claim_lost_rows(params.joint_tolerance) {
            return None;
        }
        self.linearise_here(h);
        let taken = self.accurate_step(h, params);
        if taken.is_none() {
            // they contradict the others: a conflict, which the measurement after the step names
            let Linearisation { needed, needed_before, .. } = &mut self.linear;
            needed.clone_from(needed_before);
            self.linear.forget();
        }
        taken
    }

    /// Ends a substep of length `h`.
    fn taken(&mut self, h: f64, kind: StepKind, reason: Option<Reason>, iterations: u32) -> Advance {
        // these two end on the poses whose errors they found small enough
        self.errors_hold = matches!(kind, StepKind::Accurate | StepKind::Robust);
        self.commit_values();
        self.force_sum.iter_mut().zip(&self.force).for_each(|(sum, f)| *sum += h * f);
        self.bounded.add_to_sum(h);
        Advance {
            kind,
            reason,
            iterations,
            bounded_sweeps: self.bounded.sweeps,
            substeps: 1,
            error_m: 0.0,
            error_rad: 0.0,
            worst_joint: None,
            member: self.layout.bodies.first().copied(),
            closed: true,
            tolerance_missed: false,
            unfinished: false,
            left: self.left,
        }
    }

    /// Measures the errors that the step left.
    fn measure_closure(&mut self, advance: &mut Advance, params: &StepParams) {
        if !std::mem::take(&mut self.errors_hold) {
            std::mem::swap(&mut self.next, &mut self.pose);
            self.measure_errors();
            std::mem::swap(&mut self.next, &mut self.pose);
        }
        let mut worst = 0.0;
        for node in &self.layout.nodes {
            let (Source::Joint { slot, .. } | Source::Coupling { slot, .. }) = node.source else { continue };
            let angles = match node.source {
                Source::Joint { model, .. } => self.layout.models[model as usize].angle_rows(),
                _ => 0,
            };
            for (r, e) in self.error[node.row as usize..][..node.hard as usize].iter().enumerate() {
                let e = e.abs();
                let largest = if angles >> r & 1 == 1 { &mut advance.error_rad } else { &mut advance.error_m };
                *largest = max_abs([*largest, e]);
                if e > worst {
                    worst = e;
                    advance.worst_joint = Some(slot);
                }
            }
        }
        let error = advance.error_m.max(advance.error_rad);
        advance.unfinished = self.sweeps_are_unfinished();
        advance.closed = error <= self.closing_tolerance(params);
    }

    /// Whether the accurate step is unstable or too coarse here: σ = h² Σ ½(|r||f| + r·f)/I must stay below its bound,
    /// and so must the angle turned in one step (docs/method.md, The step).
    fn accurate_is_unfit(&mut self, h: f64, sigma_bound: f64, spin_bound: f64) -> Option<Reason> {
        self.joint_stiffness();
        let mut stiffest = (0, 0.0);
        for k in 0..self.layout.movable {
            let sigma = h * h * self.robust.stiffness[k] / self.inertia[k].middle;
            if sigma > stiffest.1 {
                stiffest = (k, sigma);
            }
            let angle = h * self.body_spin(k).length();
            if angle >= spin_bound {
                return Some(Reason::FastSpin { body: self.layout.bodies[k], angle });
            }
        }
        if stiffest.1 < sigma_bound {
            return None;
        }
        let sigma = h * h * self.free_stiffness(ROBUST_SIGMA / (h * h));
        (sigma >= sigma_bound).then_some(Reason::Stiff { body: self.layout.bodies[stiffest.0], sigma })
    }

    /// Angular velocity in body axes.
    fn body_spin(&self, k: usize) -> DVec3 {
        DVec3::new(self.u[k][3], self.u[k][4], self.u[k][5]) * self.inertia[k].inv_sqrt
    }

    /// The largest angular velocity of a body, rad/s; not a number if one is not.
    fn fastest_spin(&self) -> f64 {
        let own = (0..self.layout.movable).map(|k| self.body_spin(k).length_squared());
        let outside = self.outside[self.layout.movable..].iter().map(|m| m.w.length_squared());
        max_abs(own.chain(outside)).sqrt()
    }

    /// World velocities of a movable body.
    fn velocity(&self, k: usize) -> (DVec3, DVec3) {
        let u = &self.u[k];
        let v = DVec3::new(u[0], u[1], u[2]) * self.inertia[k].inv_sqrt_mass;
        (v, self.pose[k].r * self.body_spin(k))
    }

    fn motion(&self, k: u32) -> Motion {
        let k = k as usize;
        if k < self.layout.movable {
            let (v, w) = self.velocity(k);
            Motion { v, w }
        } else {
            self.outside[k]
        }
    }

    /// Half a kick (or a whole one) by the loads, as seen in the frame of `pose`, and damping of the bodies.
    fn kick(&mut self, time: f64) {
        for k in 0..self.layout.movable {
            let i = &self.inertia[k];
            let (force, torque) = self.load[k];
            let f = force * (time * i.inv_sqrt_mass);
            let t = (self.pose[k].r.transpose() * torque) * i.inv_sqrt * time;
            let u = &mut self.u[k];
            for (e, x) in u.iter_mut().zip([f.x, f.y, f.z, t.x, t.y, t.z]) {
                *e += x;
            }
        }
        self.damp_bodies(time);
        for (k, f) in self.linear.drive_forces.iter() {
            for (e, x) in self.u[*k as usize].iter_mut().zip(f) {
                *e += time * x;
            }
        }
    }

    /// A force and a torque on body `k`, in hat coordinates.
    fn hat_load(&self, k: usize, (force, torque): (DVec3, DVec3)) -> Hat {
        let i = &self.inertia[k];
        let f = force * i.inv_sqrt_mass;
        let t = (self.pose[k].r.transpose() * torque) * i.inv_sqrt;
        [f.x, f.y, f.z, t.x, t.y, t.z]
    }

    /// Decay of the velocities of damped bodies.
    fn damp_bodies(&mut self, time: f64) {
        for (u, i) in self.u.iter_mut().zip(&self.inertia) {
            if i.linear_damping > 0.0 || i.angular_damping > 0.0 {
                let (l, a) = ((-i.linear_damping * time).exp(), (-i.angular_damping * time).exp());
                u.iter_mut().zip([l, l, l, a, a, a]).for_each(|(e, x)| *e *= x);
            }
        }
    }

    /// Where the bodies would be after `h`: straight flight and free rotation.
    fn predict(&mut self, h: f64) {
        for first in (0..self.layout.movable).step_by(LANES) {
            self.predict_lanes(first, h);
        }
    }

    /// Eight bodies at once, the last ones repeated where the mechanism ends.
    fn predict_lanes(&mut self, first: usize, h: f64) {
        let last = self.layout.movable - 1;
        let bodies: [usize; LANES] = std::array::from_fn(|i| (first + i).min(last));
        let mut q = in_lanes(bodies.map(|k| self.pose[k].q.to_array()));
        let mut l = in_lanes(bodies.map(|k| self.body_momentum(k).to_array()));
        let quarter = in_lanes(bodies.map(|k| (0.25 * h * self.inertia[k].inverse).to_array()));
        let together = rotation::rotate_free_lanes(&mut q, &mut l, &quarter);
        let (mut q, mut l) = (of_lanes(q), of_lanes(l));
        if !together {
            for (i, &k) in bodies.iter().enumerate() {
                let turned = rotation::rotate_free(self.pose[k].q, self.body_momentum(k), self.inertia[k].inverse, h);
                (q[i], l[i]) = (turned.0.to_array(), turned.1.to_array());
            }
        }
        for i in 0..LANES.min(last + 1 - first) {
            let k = first + i;
            let u = &self.u[k];
            let x = self.pose[k].x + DVec3::new(u[0], u[1], u[2]) * (h * self.inertia[k].inv_sqrt_mass);
            let q = DQuat::from_array(q[i]);
            self.next[k] = Placed { x, q, r: DMat3::from_quat(q) };
            self.next_momentum[k] = DVec3::from_array(l[i]);
        }
    }

    /// Angular momentum of body `k` in its own axes.
    #[inline]
    fn body_momentum(&self, k: usize) -> DVec3 {
        let u = &self.u[k];
        DVec3::new(u[3], u[4], u[5]) * self.inertia[k].sqrt
    }

    /// Where bodies that nobody in this mechanism moves will be after `h`.
    fn predict_outside(&mut self, h: f64) {
        for k in self.layout.movable..self.layout.bodies.len() {
            self.next[k] = outside_moved(&self.outside[k], &self.pose[k], h);
        }
    }

    /// Accepts the predicted poses.
    fn commit_prediction(&mut self) {
        for k in 0..self.layout.movable {
            let w = self.next_momentum[k] * self.inertia[k].inv_sqrt;
            self.u[k][3..].copy_from_slice(&[w.x, w.y, w.z]);
        }
        self.pose.copy_from_slice(&self.next);
    }

    /// Errors of all rows at the predicted poses.
    fn measure_errors(&mut self) {
        for node in &self.layout.nodes {
            let row = node.row as usize;
            match node.source {
                Source::Joint { model, .. } => {
                    let m = &self.layout.models[model as usize];
                    let (a, b) = (&self.next[node.a as usize], &self.next[node.b as usize]);
                    let first = self.first_value[model as usize] as usize;
                    let turn = self.near.get(first).copied().unwrap_or(0.0);
                    m.error(a, b, turn, &mut self.error[row..row + node.hard as usize]);
                }
                Source::Coupling { first, last, .. } => {
                    let mut sum = -self.linear.coupling_offset[row];
                    for t in &self.layout.terms[first as usize..last as usize] {
                        sum += t.factor * self.coordinate_at_next(t.model, t.coordinate, t.a, t.b);
                    }
                    self.error[row] = sum;
                }
                Source::Fixation | Source::Hub => {}
            }
        }
    }

    /// A coordinate at the predicted poses.
    fn coordinate_at_next(&self, model: u32, coordinate: u8, a: u32, b: u32) -> f64 {
        let m = &self.layout.models[model as usize];
        let near = self.near[self.first_value[model as usize] as usize + coordinate as usize];
        let kind = m.coordinates[coordinate as usize].1;
        kind.unwrapped(m, &self.next[a as usize], &self.next[b as usize], near)
    }

    /// Expects every tracked coordinate where its present rate takes it, so that turns are counted right.
    fn expect_values(&mut self, h: f64) {
        self.near.copy_from_slice(&self.values);
        // a quarter of a turn against each other: even twice as far the nearest turn would be the right one
        if 2.0 * h * self.fastest_spin() < 0.25 * std::f64::consts::TAU {
            return;
        }
        for t in &self.layout.tracked {
            let m = &self.layout.models[t.model as usize];
            let kind = m.coordinates[t.coordinate as usize].1;
            if kind.wraps() {
                let (a, b) = (&self.pose[t.a as usize], &self.pose[t.b as usize]);
                let rate = kind.row(m, a, b).velocity(&self.motion(t.a), &self.motion(t.b));
                self.near[self.first_value[t.model as usize] as usize + t.coordinate as usize] += h * rate;
            }
        }
    }

    fn commit_values(&mut self) {
        for t in &self.layout.tracked {
            let m = &self.layout.models[t.model as usize];
            let k = self.first_value[t.model as usize] as usize + t.coordinate as usize;
            let kind = m.coordinates[t.coordinate as usize].1;
            let (a, b) = (&self.pose[t.a as usize], &self.pose[t.b as usize]);
            self.values[k] = kind.unwrapped(m, a, b, self.near[k]);
        }
        self.near.copy_from_slice(&self.values);
    }

    /// Remembers the impulses of an accurate step of the given size, or forgets them after another kind.
    fn remember_impulses(&mut self, accurate_step: Option<f64>) {
        let Some(h) = accurate_step else {
            self.filled = 0;
            return;
        };
        self.past.rotate_right(1);
        let remembered = if self.remembers_curvature() { &self.curvature } else { &self.impulse };
        self.past[0].copy_from_slice(remembered);
        self.last_impulse.copy_from_slice(&self.impulse);
        self.filled = if self.filled_step == h { (self.filled + 1).min(REMEMBERED as u8) } else { 1 };
        self.filled_step = h;
    }
}

/// A kinematic body after time `h`: it keeps its velocities.
pub(crate) fn outside_moved(motion: &Motion, from: &Placed, h: f64) -> Placed {
    if motion.v == DVec3::ZERO && motion.w == DVec3::ZERO {
        return *from;
    }
    Placed::new(from.x + motion.v * h, rotation::renormalised(rotation::exp(motion.w * h) * from.q))
}

/// Copies the first entries of a joint's rows, with their number known to the compiler: a call would cost more than the copy.
#[inline(always)]
fn copy_rows(count: usize, to: &mut [f64], from: &[f64]) {
    with_size!(count, M => to[..M].copy_from_slice(&from[..M]));
}

fn hat(i: &Inertia, pose: &Placed, v: DVec3, w: DVec3) -> Hat {
    let v = v * i.sqrt_mass;
    let w = (pose.r.transpose() * w) * i.sqrt;
    [v.x, v.y, v.z, w.x, w.y, w.z]
}

/// Step for which the system is linearised where only hard rows matter.
const FITTING_STEP: f64 = 1.0 / 60.0;

const _: () = assert!(MAX_ROWS == 6, "the kernels know blocks of up to six rows");
