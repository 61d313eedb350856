//! Particles: points with mass that forces move, constraints hold and solids stop. Masses and springs, rods, ropes, cloth.
//!
//! ```
//! use linkwork::glam::DVec3;
//! use linkwork::particle::{Constraint, Gravity, ParticleSystem};
//!
//! // a double pendulum of two rods
//! let mut system = ParticleSystem::new();
//! system.add_force(Gravity(DVec3::new(0.0, 0.0, -9.81)))?;
//! let pivot = system.add_particle(DVec3::ZERO, DVec3::ZERO, 1.0)?;
//! let first = system.add_particle(DVec3::X, DVec3::ZERO, 1.0)?;
//! let second = system.add_particle(DVec3::X * 2.0, DVec3::ZERO, 1.0)?;
//! system.nail(pivot)?;
//! system.add_constraint(Constraint::Distance { a: pivot, b: first, length: 1.0 })?;
//! system.add_constraint(Constraint::Distance { a: first, b: second, length: 1.0 })?;
//! let before = system.energy().total();
//! for _ in 0..1000 {
//!     let report = system.step(0.001)?;
//!     assert!(report.constraint_error < 1e-9);
//! }
//! assert!((system.energy().total() - before).abs() < 1e-3);
//! # Ok::<(), linkwork::SceneError>(())
//! ```
//!
//! A [`ParticleSystem`] can be used by itself, as here; given to any solver of [`ode`](crate::ode), since it is a
//! [`System`](crate::ode::System); or be part of a [`World`](crate::World), where it collides with bodies and pulls on them.
//! The methods are described in docs/particles.md.

mod force;
pub use force::{
    AngleSpring, AngleSprings, Behaviour, BehaviourFunction, Bend, Bends, Drag, Force, ForceFunction, Gravity, Points,
    Pull, Spring, Springs, Strings, UserForce,
};

mod buckets;
pub use buckets::{Buckets, Neighbours};

mod constraint;
pub use constraint::{Constraint, ConstraintId, Spline, SurfaceFunction};

mod parametric;
pub use parametric::{Parametric, ParametricId};

mod parametric_shapes;
pub use parametric_shapes::{Pendulum, Ring};

mod solid;
pub use solid::Obstacle;

mod multipliers;
pub use multipliers::LinearSolver;

mod matrix;
pub use matrix::Slopes;

mod cloth;
pub use cloth::{ClothMaterial, grid};

mod bending;
pub(crate) mod bond;
mod border;
mod nearby;
mod packed;
mod press;
mod sheet;

pub(crate) mod compile;
pub(crate) mod couple;
mod of_world;
pub use of_world::ParticleDrawing;

mod coarse;
mod direct;
mod explicit;
pub(crate) mod implicit;
mod rider;
mod solve;
mod system_of_equations;
mod way;

use crate::error::SceneError;
use crate::observe::{Energy, Momentum};
use glam::DVec3;
use implicit::Surroundings;
use multipliers::Multipliers;
use std::fmt;
use std::sync::Arc;

/// Where a particle is at a time, s.
pub type Script = Arc<dyn Fn(f64) -> DVec3 + Send + Sync>;

/// What moves a particle.
#[derive(Clone, Default)]
pub enum Motion {
    /// Forces.
    #[default]
    Free,
    /// Nothing.
    Nailed,
    /// A function of time.
    Scripted(Script),
    /// The coordinates of a parametric object.
    Driven(ParametricId),
}

impl fmt::Debug for Motion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Motion::Free => "Free",
            Motion::Nailed => "Nailed",
            Motion::Scripted(_) => "Scripted",
            Motion::Driven(_) => "Driven",
        })
    }
}

/// How a system is stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Velocity Verlet, with constraints RATTLE: explicit, second order, keeps energy. Steps must resolve the stiffest spring.
    #[default]
    Verlet,
    /// The classical Runge–Kutta method with multipliers, then projection: explicit, fourth order. Parametric objects need it.
    RungeKutta4,
    /// Backward Euler, linearised: first order, damps, stable for any stiffness at any step. Cloth needs it.
    Implicit,
}

/// Names a force of a system; stays valid until it is removed, and is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForceId(u64);

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ParticleReport {
    /// Largest C of any constraint at the end, m.
    pub constraint_error: f64,
    /// Iterations of the constraints' projection.
    pub constraint_iterations: u32,
    /// Particles that touched solids.
    pub contacts: u32,
    /// Pairs of cloth that were kept apart.
    pub self_contacts: u32,
    /// Iterations of the linear solver of an implicit step, over all its solves.
    pub iterations: u32,
}

/// Particles, what pushes and holds them, and what they collide with.
#[derive(Clone)]
pub struct ParticleSystem {
    time: f64,
    x: Vec<DVec3>,
    v: Vec<DVec3>,
    mass: Vec<f64>,
    /// 1/mass, zero for what forces do not move.
    w: Vec<f64>,
    motion: Vec<Motion>,
    forces: Vec<(ForceId, Arc<dyn Force>)>,
    constraints: Vec<(ConstraintId, Constraint)>,
    objects: Vec<parametric::Body>,
    obstacles: Vec<Obstacle>,
    next_id: u64,
    radius: f64,
    method: Method,
    linear_solver: LinearSolver,
    feedback: (f64, f64),
    /// Forces at the end of the last Verlet step, if nothing has changed since.
    f: Vec<DVec3>,
    f_is_known: bool,
    /// Mean constraint forces of the last step, by row.
    lambda: Vec<f64>,
    multipliers: Multipliers,
    implicit: implicit::Implicit,
    sheets: sheet::Sheets,
    /// Triangles of all cloth, and their longest edge at rest, m.
    faces: Vec<[u32; 3]>,
    longest_edge: f64,
    /// Positions and velocities at the start of the present step.
    start: (Vec<DVec3>, Vec<DVec3>),
}

impl fmt::Debug for ParticleSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} particles, {} forces, {} constraints at {} s",
            self.x.len(),
            self.forces.len(),
            self.constraints.len(),
            self.time
        )
    }
}

impl Default for ParticleSystem {
    fn default() -> Self {
        ParticleSystem::new()
    }
}

/// What a step changes.
pub(crate) struct Saved {
    x: Vec<DVec3>,
    v: Vec<DVec3>,
    f: Vec<DVec3>,
    f_is_known: bool,
    lambda: Vec<f64>,
    objects: Vec<parametric::Body>,
    held: implicit::Memory,
    nearby: nearby::Nearby,
    time: f64,
}

/// Constraints are closed to this after every step, m.
const CLOSED: f64 = 1e-10;

type Checked<T> = Result<T, SceneError>;

impl ParticleSystem {
    /// No particles, no forces, not even gravity.
    pub fn new() -> ParticleSystem {
        ParticleSystem {
            time: 0.0,
            x: Vec::new(),
            v: Vec::new(),
            mass: Vec::new(),
            w: Vec::new(),
            motion: Vec::new(),
            forces: Vec::new(),
            constraints: Vec::new(),
            objects: Vec::new(),
            obstacles: Vec::new(),
            next_id: 0,
            radius: 0.0,
            method: Method::Verlet,
            linear_solver: LinearSolver::Automatic,
            feedback: (100.0, 20.0),
            f: Vec::new(),
            f_is_known: false,
            lambda: Vec::new(),
            multipliers: Multipliers::default(),
            implicit: implicit::Implicit::default(),
            sheets: sheet::Sheets::default(),
            faces: Vec::new(),
            longest_edge: 0.0,
            start: Default::default(),
        }
    }

    /// Adds a particle: position (m), velocity (m/s), mass (kg). Returns its index.
    pub fn add_particle(&mut self, x: DVec3, v: DVec3, mass: f64) -> Checked<usize> {
        let i = self.x.len();
        let at = |key: &str| format!("particles[{i}].{key}");
        if !(x.is_finite() && v.is_finite()) {
            return Err(SceneError::new(at("position"), format!("{x} moving with {v} is not finite")));
        }
        if !(1e-15..=1e15).contains(&mass) {
            return Err(SceneError::new(at("mass"), format!("{mass} kg is not between 1e-15 and 1e15 kg"))
                .hint("nail the particle if it is not to move"));
        }
        self.x.push(x);
        self.v.push(v);
        self.mass.push(mass);
        self.w.push(1.0 / mass);
        self.motion.push(Motion::Free);
        self.changed();
        Ok(i)
    }

    fn changed(&mut self) {
        self.f_is_known = false;
        self.multipliers.ready = false;
    }

    fn check_particle(&self, i: usize) -> Checked<usize> {
        match i < self.x.len() {
            true => Ok(i),
            false => {
                let count = self.x.len();
                Err(SceneError::new(format!("particles[{i}]"), format!("does not exist: there are {count}")))
            }
        }
    }

    fn check_not_driven(&self, i: usize) -> Checked<usize> {
        match self.motion[self.check_particle(i)?] {
            Motion::Driven(_) => Err(SceneError::new(format!("particles[{i}]"), "belongs to a parametric object")
                .hint("hold it with a constraint")),
            _ => Ok(i),
        }
    }

    /// Holds a particle where it is.
    pub fn nail(&mut self, i: usize) -> Checked<()> {
        self.check_not_driven(i)?;
        (self.v[i], self.w[i], self.motion[i]) = (DVec3::ZERO, 0.0, Motion::Nailed);
        self.changed();
        Ok(())
    }

    /// Lets forces move a particle again.
    pub fn free(&mut self, i: usize) -> Checked<()> {
        self.check_not_driven(i)?;
        (self.w[i], self.motion[i]) = (1.0 / self.mass[i], Motion::Free);
        self.changed();
        Ok(())
    }

    /// Moves a particle by a function of time.
    pub fn script(&mut self, i: usize, script: impl Fn(f64) -> DVec3 + Send + Sync + 'static) -> Checked<()> {
        self.check_not_driven(i)?;
        let x = script(self.time);
        if !x.is_finite() {
            return Err(SceneError::new(format!("particles[{i}]"), format!("its script puts it at {x}")));
        }
        (self.x[i], self.w[i], self.motion[i]) = (x, 0.0, Motion::Scripted(Arc::new(script)));
        self.changed();
        Ok(())
    }

    /// Moves a particle, m.
    pub fn set_position(&mut self, i: usize, x: DVec3) -> Checked<()> {
        self.check_not_driven(i)?;
        if !x.is_finite() {
            return Err(SceneError::new(format!("particles[{i}].position"), format!("{x} is not finite")));
        }
        self.x[i] = x;
        self.f_is_known = false;
        Ok(())
    }

    /// Sets a particle's velocity, m/s. What is nailed or scripted keeps its own.
    pub fn set_velocity(&mut self, i: usize, v: DVec3) -> Checked<()> {
        self.check_not_driven(i)?;
        if !v.is_finite() {
            return Err(SceneError::new(format!("particles[{i}].velocity"), format!("{v} is not finite")));
        }
        if self.w[i] > 0.0 {
            self.v[i] = v;
        }
        self.f_is_known = false;
        Ok(())
    }

    fn check_force(&self, force: &dyn Force) -> Checked<()> {
        force.last_particle().map_or(Ok(()), |last| self.check_particle(last).map(drop))
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Adds a force.
    pub fn add_force(&mut self, force: impl Force + 'static) -> Checked<ForceId> {
        self.add_shared_force(Arc::new(force))
    }

    pub(crate) fn add_shared_force(&mut self, force: Arc<dyn Force>) -> Checked<ForceId> {
        self.check_force(&*force)?;
        let id = ForceId(self.new_id());
        self.forces.push((id, force));
        self.f_is_known = false;
        Ok(id)
    }

    /// Puts another force in the place of one, as when the mouse has moved.
    pub fn set_force(&mut self, id: ForceId, force: impl Force + 'static) -> Checked<()> {
        self.check_force(&force)?;
        match self.forces.iter_mut().find(|(i, _)| *i == id) {
            Some(found) => found.1 = Arc::new(force),
            None => return Err(SceneError::new("force", "is gone")),
        }
        self.f_is_known = false;
        Ok(())
    }

    /// Removes a force; false if it was gone already.
    pub fn remove_force(&mut self, id: ForceId) -> bool {
        let before = self.forces.len();
        self.forces.retain(|(i, _)| *i != id);
        self.f_is_known = false;
        self.forces.len() < before
    }

    /// Adds a constraint. The next step closes it from wherever its particles are.
    pub fn add_constraint(&mut self, constraint: Constraint) -> Checked<ConstraintId> {
        let path = || format!("constraints[{}]", self.constraints.len());
        let (a, b) = constraint.particles();
        for i in [Some(a), b].into_iter().flatten() {
            self.check_particle(i).map_err(|e| SceneError::new(path(), format!("{} {}", e.path, e.problem)))?;
        }
        if let Some(problem) = constraint.problem() {
            return Err(SceneError::new(path(), problem));
        }
        let id = ConstraintId(self.new_id());
        self.constraints.push((id, constraint));
        self.lambda.clear();
        self.changed();
        Ok(id)
    }

    /// Removes a constraint; false if it was gone already.
    pub fn remove_constraint(&mut self, id: ConstraintId) -> bool {
        let before = self.constraints.len();
        self.constraints.retain(|(i, _)| *i != id);
        self.lambda.clear();
        self.changed();
        self.constraints.len() < before
    }

    /// The mean force of a constraint in the last step on its first particle, N.
    pub fn constraint_force(&self, id: ConstraintId) -> Option<DVec3> {
        let mut first = 0;
        for (i, c) in &self.constraints {
            let count = c.row_count();
            if *i == id {
                let rows = c.evaluate(&self.x, &self.v);
                let lambda = self.lambda.get(first..first + count)?;
                return Some(lambda.iter().zip(rows.j[0]).map(|(l, j)| j * *l).sum());
            }
            first += count;
        }
        None
    }

    /// Adds a parametric object whose points have masses (kg), at coordinates `u` with rates `du`. Its points become
    /// particles; the system takes Runge–Kutta steps from now on.
    pub fn add_parametric(
        &mut self,
        shape: Arc<dyn Parametric>,
        masses: &[f64],
        u: &[f64],
        du: &[f64],
    ) -> Checked<ParametricId> {
        let id = ParametricId(self.objects.len());
        let path = format!("parametric[{}]", id.0);
        let n = shape.coordinates();
        if u.len() != n || du.len() != n || !u.iter().chain(du).all(|u| u.is_finite()) {
            return Err(SceneError::new(path, format!("needs {n} finite coordinates and {n} finite rates")));
        }
        if let Some(m) = masses.iter().find(|m| !(1e-15..=1e15).contains(*m)) {
            return Err(SceneError::new(path, format!("mass {m} kg is not between 1e-15 and 1e15 kg")));
        }
        let mut x = vec![DVec3::ZERO; masses.len()];
        shape.place(u, &mut x);
        if !x.iter().all(|x| x.is_finite()) {
            return Err(SceneError::new(path, "puts its points where no numbers are"));
        }
        let first = self.x.len();
        for (x, m) in x.into_iter().zip(masses) {
            let i = self.add_particle(x, DVec3::ZERO, *m)?;
            (self.motion[i], self.w[i]) = (Motion::Driven(id), 1.0 / m);
        }
        self.objects.push(parametric::Body::new(shape, first, masses, u, du));
        self.place_objects();
        self.changed();
        Ok(id)
    }

    /// Coordinates of a parametric object and their rates.
    pub fn parametric(&self, id: ParametricId) -> Option<(&[f64], &[f64])> {
        self.objects.get(id.0).map(|o| (&o.u[..], &o.du[..]))
    }

    /// The first of a parametric object's points among the particles.
    pub fn parametric_points(&self, id: ParametricId) -> Option<std::ops::Range<usize>> {
        self.objects.get(id.0).map(|o| o.first..o.first + o.mass.len())
    }

    fn place_objects(&mut self) {
        for object in &mut self.objects {
            object.place(&mut self.x, &mut self.v);
        }
    }

    /// Adds something to collide with.
    pub fn add_obstacle(&mut self, obstacle: Obstacle) -> usize {
        self.obstacles.push(obstacle);
        self.obstacles.len() - 1
    }

    /// An obstacle, to be moved or changed.
    pub fn obstacle_mut(&mut self, index: usize) -> Option<&mut Obstacle> {
        self.obstacles.get_mut(index)
    }

    /// Sets how near particles come to solids, m: their radius, or half the thickness of cloth.
    pub fn set_radius(&mut self, radius: f64) -> Checked<()> {
        if !(0.0..=1e6).contains(&radius) {
            return Err(SceneError::new("radius", format!("{radius} m is not between 0 and 1e6 m")));
        }
        self.radius = radius;
        Ok(())
    }

    /// Sets how the system is stepped.
    pub fn set_method(&mut self, method: Method) {
        self.method = method;
        self.f_is_known = false;
    }

    /// How the system is stepped.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Sets how multipliers are found.
    pub fn set_linear_solver(&mut self, solver: LinearSolver) {
        self.linear_solver = solver;
        self.multipliers.ready = false;
    }

    /// For solvers of [`ode`](crate::ode), which do not project: constraints are pulled back with C̈ = −k C − d Ċ. k in 1/s², d in 1/s.
    pub fn set_feedback(&mut self, stiffness: f64, damping: f64) -> Checked<()> {
        if !(stiffness.is_finite() && damping.is_finite() && stiffness >= 0.0 && damping >= 0.0) {
            return Err(SceneError::new(
                "feedback",
                format!("{stiffness} 1/s² and {damping} 1/s must not be negative"),
            ));
        }
        self.feedback = (stiffness, damping);
        Ok(())
    }

    /// How near particles come to solids, m.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are no particles.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Positions, m.
    pub fn positions(&self) -> &[DVec3] {
        &self.x
    }

    /// Velocities, m/s.
    pub fn velocities(&self) -> &[DVec3] {
        &self.v
    }

    /// Masses, kg.
    pub fn masses(&self) -> &[f64] {
        &self.mass
    }

    /// What moves a particle.
    pub fn motion(&self, i: usize) -> Option<&Motion> {
        self.motion.get(i)
    }

    /// The constraints.
    pub fn constraints(&self) -> impl Iterator<Item = (ConstraintId, &Constraint)> {
        self.constraints.iter().map(|(id, c)| (*id, c))
    }

    /// Largest C of any constraint, m.
    pub fn constraint_error(&self) -> f64 {
        let errors = self.constraints.iter().flat_map(|(_, c)| {
            let rows = c.evaluate(&self.x, &self.v);
            rows.c.into_iter().take(rows.count)
        });
        crate::math::max_abs(errors)
    }

    fn points(&self) -> Points<'_> {
        Points { x: &self.x, v: &self.v, mass: &self.mass, time: self.time }
    }

    /// Energies: of motion, of height, and of all other forces as elastic.
    pub fn energy(&self) -> Energy {
        let moved = |i: usize| !matches!(self.motion[i], Motion::Nailed | Motion::Scripted(_));
        let kinetic =
            (0..self.x.len()).filter(|&i| moved(i)).map(|i| 0.5 * self.mass[i] * self.v[i].length_squared()).sum();
        let sum = |weight: bool| {
            let forces = self.forces.iter().filter(|(_, f)| f.is_weight() == weight);
            forces.map(|(_, f)| f.energy(&self.points())).sum()
        };
        Energy { kinetic, potential: sum(true), elastic: sum(false) }
    }

    /// Momentum of the particles that forces move.
    pub fn momentum(&self) -> Momentum {
        let mut sum = Momentum::default();
        for i in 0..self.x.len() {
            if !matches!(self.motion[i], Motion::Nailed | Motion::Scripted(_)) {
                let p = self.v[i] * self.mass[i];
                sum.linear += p;
                sum.angular += self.x[i].cross(p);
            }
        }
        sum
    }

    /// Advances by a step, s. On an error the system is as before.
    pub fn step(&mut self, h: f64) -> Checked<ParticleReport> {
        if !(1e-12..=10.0).contains(&h) {
            return Err(SceneError::new("dt", format!("{h} s is not between 1e-12 and 10 s")).hint("1/60 s is usual"));
        }
        let mut solids: Vec<solid::Solid> = self.obstacles.iter().flat_map(Obstacle::solids).collect();
        solids.iter_mut().enumerate().for_each(|(k, solid)| solid.key = k as u32);
        let mut around = Surroundings { solids, ..Surroundings::default() };
        let report = self.step_among(h, &mut around)?;
        for obstacle in &mut self.obstacles {
            obstacle.pose.position += obstacle.velocity.linear * h;
            let turn = glam::DQuat::from_scaled_axis(obstacle.velocity.angular * h);
            obstacle.pose.orientation = (turn * obstacle.pose.orientation).normalize();
        }
        Ok(report)
    }

    pub(crate) fn save(&self) -> Saved {
        Saved {
            x: self.x.clone(),
            v: self.v.clone(),
            f: self.f.clone(),
            f_is_known: self.f_is_known,
            lambda: self.lambda.clone(),
            objects: self.objects.clone(),
            held: self.implicit.held.clone(),
            nearby: self.sheets.nearby.clone(),
            time: self.time,
        }
    }

    pub(crate) fn go_back(&mut self, saved: Saved) {
        (self.x, self.v, self.f, self.f_is_known) = (saved.x, saved.v, saved.f, saved.f_is_known);
        (self.lambda, self.objects, self.time) = (saved.lambda, saved.objects, saved.time);
        (self.implicit.held, self.sheets.nearby) = (saved.held, saved.nearby);
    }

    /// A step among solids and bodies. On an error the system is as before.
    pub(crate) fn step_among(&mut self, h: f64, around: &mut Surroundings) -> Checked<ParticleReport> {
        self.start.0.clone_from(&self.x);
        self.start.1.clone_from(&self.v);
        let before = (self.objects.clone(), self.time);
        let known = (self.implicit.held.clone(), self.sheets.nearby.clone());
        if self.method != Method::Implicit {
            around.riders.let_go();
        }
        let report = match self.method {
            Method::Implicit if self.objects.is_empty() => Some(self.implicit_step(h, around)),
            Method::Verlet if self.objects.is_empty() => Some(self.verlet_step(h, &around.solids, &mut around.riders)),
            _ => self.runge_kutta_step(h, &around.solids, &mut around.riders),
        };
        let finite = |s: &Self| s.x.iter().zip(&s.v).position(|(x, v)| !(x.is_finite() && v.is_finite()));
        let lost = finite(self);
        let Some(report) = report.filter(|_| lost.is_none()) else {
            (self.objects, self.time) = before;
            (self.implicit.held, self.sheets.nearby) = known;
            std::mem::swap(&mut self.x, &mut self.start.0);
            std::mem::swap(&mut self.v, &mut self.start.1);
            self.f_is_known = false;
            return Err(SceneError::new(
                format!("particles[{}]", lost.unwrap_or(0)),
                "would leave the range of numbers",
            )
            .hint("take smaller steps, or implicit ones if springs are stiff"));
        };
        Ok(report)
    }
}
