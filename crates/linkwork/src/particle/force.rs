//! Forces on particles: objects that look at all particles and add what they do to each.
//!
//! A force may also tell its energy, and how it changes with positions and velocities, which implicit steps need. Where
//! a Hessian is indefinite (a compressed spring), the part that would make the step ill-posed is left out, as is usual:
//! what is left is positive semidefinite, and only the speed with which the step follows such a motion suffers.

use super::matrix::Slopes;
use glam::{DMat3, DVec3};
use std::sync::Arc;

/// What forces see of the particles.
#[derive(Clone, Copy)]
pub struct Points<'a> {
    /// Positions, m.
    pub x: &'a [DVec3],
    /// Velocities, m/s.
    pub v: &'a [DVec3],
    /// Masses, kg.
    pub mass: &'a [f64],
    /// s.
    pub time: f64,
}

/// Something that pushes particles.
pub trait Force: Send + Sync {
    /// Adds to the force on every particle, N.
    fn apply(&self, at: &Points, f: &mut [DVec3]);

    /// Potential energy, J; zero for forces that have none.
    fn energy(&self, _at: &Points) -> f64 {
        0.0
    }

    /// Adds ∂f/∂x and ∂f/∂v for implicit steps. Without it the force is taken as constant over a step.
    fn slopes(&self, _at: &Points, _slopes: &mut Slopes) {}

    /// Whether `slopes` also gives the force itself (`Slopes::push`), so that `apply` is not asked for implicit steps: for
    /// forces whose slopes are taken elsewhere than at the start of the step (`Slopes::about`).
    fn is_in_slopes(&self) -> bool {
        false
    }

    /// For such a force: its energy at the end of a step of length h with velocities `v`, less what its slopes `about` other
    /// velocities predict, J. What is more than predicted makes the step shorter, and slopes are taken anew.
    fn beyond_slopes(&self, _at: &Points, _h: f64, _about: &[DVec3], _v: &[DVec3]) -> f64 {
        0.0
    }

    /// Whether it acts in some places and not at all in others, as strings do: slopes must then be taken where the step ends.
    fn is_one_sided(&self) -> bool {
        false
    }

    /// Whether what it does to a particle depends on that particle alone, so that it may be asked about parts of the system.
    fn acts_alone(&self) -> bool {
        false
    }

    /// Whether its energy is that of height in gravity.
    fn is_weight(&self) -> bool {
        false
    }

    /// The largest particle index it needs, so that one that does not exist is found when the force is added.
    fn last_particle(&self) -> Option<usize> {
        None
    }
}

pub(super) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// The same acceleration for all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gravity(
    /// m/s².
    pub DVec3,
);

impl Force for Gravity {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for (f, m) in f.iter_mut().zip(at.mass) {
            *f += self.0 * *m;
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        -at.x.iter().zip(at.mass).map(|(x, m)| m * self.0.dot(*x)).sum::<f64>()
    }

    fn is_weight(&self) -> bool {
        true
    }

    fn acts_alone(&self) -> bool {
        true
    }
}

/// Viscous drag −k (v − wind), the same for every particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// N s/m.
    pub coefficient: f64,
    /// Velocity of the air, m/s.
    pub wind: DVec3,
}

impl Drag {
    /// Drag in air at rest, N s/m.
    pub fn new(coefficient: f64) -> Self {
        Drag { coefficient, wind: DVec3::ZERO }
    }
}

impl Force for Drag {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for (f, v) in f.iter_mut().zip(at.v) {
            *f += self.coefficient * (self.wind - *v);
        }
    }

    fn acts_alone(&self) -> bool {
        true
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        let d = DMat3::from_diagonal(DVec3::splat(-self.coefficient));
        (0..at.x.len()).for_each(|i| slopes.add(i, i, DMat3::ZERO, d));
    }
}

/// A damped spring between two particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// First particle.
    pub a: usize,
    /// Second particle.
    pub b: usize,
    /// Length without force, m.
    pub length: f64,
    /// N/m.
    pub stiffness: f64,
    /// Along the spring, N s/m.
    pub damping: f64,
}

/// A spring where velocities lead to within a step, and what its slopes there are.
#[derive(Clone, Copy)]
struct Stretch {
    /// From the second particle to the first there, and how that has changed since the step began.
    d: DVec3,
    moved: DVec3,
    length: f64,
    /// Longer than without force by this, m.
    strain: f64,
    /// Part of the stiffness that acts across the spring: only tension does. What compression pushes away is left out.
    across: f64,
}

impl Stretch {
    /// None between particles in one place, which have no direction between them.
    fn new(s: &Spring, at: &Points, h: f64, about: impl Fn(usize) -> DVec3) -> Option<Stretch> {
        let moved = (about(s.a) - about(s.b)) * h;
        let d = at.x[s.a] - at.x[s.b] + moved;
        let length = d.length();
        let across = (1.0 - s.length / length).max(0.0);
        (length > 1e-12).then_some(Stretch { d, moved, length, strain: length - s.length, across })
    }

    /// Puts force and slopes, counted from the start of the step, into its system.
    fn enter(&self, s: &Spring, slopes: &mut Slopes) {
        let h = slopes.step();
        let along = outer(self.d, self.d) * (1.0 / (self.length * self.length));
        let k = (along * (1.0 - self.across) + DMat3::IDENTITY * self.across) * s.stiffness;
        let pull = k * self.moved - self.d * (s.stiffness * self.strain / self.length);
        slopes.push(s.a, pull);
        slopes.push(s.b, -pull);
        let block = k * (h * h) + along * (s.damping * h);
        slopes.enter(s.a, s.a, block);
        slopes.enter(s.b, s.b, block);
        slopes.enter(s.a, s.b, block * -1.0);
    }

    /// The strain after a further change of `d`, m.
    fn after(&self, change: DVec3) -> f64 {
        (self.d + change).length() - (self.length - self.strain)
    }

    /// The energy that the slopes predict then, by the stiffness, m².
    fn predicted(&self, change: DVec3) -> f64 {
        let along = self.d.dot(change) / self.length;
        let curvature = along * along * (1.0 - self.across) + change.length_squared() * self.across;
        0.5 * (self.strain * self.strain + curvature) + self.strain * along
    }
}

/// Damped springs between pairs of particles: f = −(k (|d| − L) + c ḋ·n) n on a, the opposite on b.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Springs(
    /// The springs.
    pub Vec<Spring>,
);

impl Force for Springs {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for s in &self.0 {
            let d = at.x[s.a] - at.x[s.b];
            let length = d.length();
            // two particles in one place have no direction between them
            if length < 1e-12 {
                continue;
            }
            let n = d / length;
            let pull = s.stiffness * (length - s.length) + s.damping * (at.v[s.a] - at.v[s.b]).dot(n);
            f[s.a] -= n * pull;
            f[s.b] += n * pull;
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        self.0.iter().map(|s| 0.5 * s.stiffness * (at.x[s.a].distance(at.x[s.b]) - s.length).powi(2)).sum()
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        for s in &self.0 {
            if let Some(stretch) = Stretch::new(s, at, slopes.step(), |i| slopes.about(i)) {
                stretch.enter(s, slopes);
            }
        }
    }

    fn is_in_slopes(&self) -> bool {
        true
    }

    fn beyond_slopes(&self, at: &Points, h: f64, about: &[DVec3], v: &[DVec3]) -> f64 {
        let of = |s: &Spring| {
            let change = ((v[s.a] - about[s.a]) - (v[s.b] - about[s.b])) * h;
            Stretch::new(s, at, h, |i| about[i])
                .map_or(0.0, |stretch| s.stiffness * (0.5 * stretch.after(change).powi(2) - stretch.predicted(change)))
        };
        self.0.iter().map(of).sum()
    }

    fn last_particle(&self) -> Option<usize> {
        self.0.iter().map(|s| s.a.max(s.b)).max()
    }
}

/// Strings: springs that pull and never push.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings(
    /// The pieces.
    pub Vec<Spring>,
);

impl Strings {
    fn taut<'a>(&'a self, at: &'a Points) -> impl Iterator<Item = (&'a Spring, DVec3, f64)> {
        self.0.iter().filter_map(|s| {
            let d = at.x[s.a] - at.x[s.b];
            let length = d.length();
            (length > s.length && length > 1e-12).then(|| (s, d / length, length))
        })
    }
}

impl Force for Strings {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for (s, n, length) in self.taut(at) {
            let pull = s.stiffness * (length - s.length) + s.damping * (at.v[s.a] - at.v[s.b]).dot(n);
            f[s.a] -= n * pull;
            f[s.b] += n * pull;
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        self.taut(at).map(|(s, _, length)| 0.5 * s.stiffness * (length - s.length).powi(2)).sum()
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        for s in &self.0 {
            // slack pieces keep their place in the matrix
            match Stretch::new(s, at, slopes.step(), |i| slopes.about(i)).filter(|stretch| stretch.strain > 0.0) {
                Some(stretch) => stretch.enter(s, slopes),
                None => slopes.pair(s.a, s.b, DMat3::ZERO, DMat3::ZERO),
            }
        }
    }

    fn is_one_sided(&self) -> bool {
        true
    }

    fn is_in_slopes(&self) -> bool {
        true
    }

    fn beyond_slopes(&self, at: &Points, h: f64, about: &[DVec3], v: &[DVec3]) -> f64 {
        let of = |s: &Spring| {
            let change = ((v[s.a] - about[s.a]) - (v[s.b] - about[s.b])) * h;
            Stretch::new(s, at, h, |i| about[i]).map_or(0.0, |stretch| {
                let predicted = if stretch.strain > 0.0 { stretch.predicted(change) } else { 0.0 };
                s.stiffness * (0.5 * stretch.after(change).max(0.0).powi(2) - predicted)
            })
        };
        self.0.iter().map(of).sum()
    }

    fn last_particle(&self) -> Option<usize> {
        self.0.iter().map(|s| s.a.max(s.b)).max()
    }
}

/// Bending: keeps the second difference a − 2b + c of three particles near its rest length, E = ½ k |a − 2b + c|².
/// For a straight rest shape it is a bend spring that needs no angle and is linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// One end.
    pub a: usize,
    /// The middle.
    pub b: usize,
    /// The other end.
    pub c: usize,
    /// N/m.
    pub stiffness: f64,
    /// N s/m.
    pub damping: f64,
}

/// Springs that straighten triples of particles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bends(
    /// The triples.
    pub Vec<Bend>,
);

const SECOND_DIFFERENCE: [f64; 3] = [1.0, -2.0, 1.0];

impl Force for Bends {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for s in &self.0 {
            let d = at.x[s.a] - 2.0 * at.x[s.b] + at.x[s.c];
            let rate = at.v[s.a] - 2.0 * at.v[s.b] + at.v[s.c];
            let g = d * -s.stiffness + rate * -s.damping;
            f[s.a] += g;
            f[s.b] -= 2.0 * g;
            f[s.c] += g;
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        let d = |s: &Bend| at.x[s.a] - 2.0 * at.x[s.b] + at.x[s.c];
        self.0.iter().map(|s| 0.5 * s.stiffness * d(s).length_squared()).sum()
    }

    fn slopes(&self, _at: &Points, slopes: &mut Slopes) {
        for s in &self.0 {
            let who = [s.a, s.b, s.c];
            for i in 0..3 {
                for j in 0..=i {
                    let w = SECOND_DIFFERENCE[i] * SECOND_DIFFERENCE[j];
                    let one = |k: f64| DMat3::from_diagonal(DVec3::splat(-k * w));
                    slopes.add(who[i], who[j], one(s.stiffness), one(s.damping));
                }
            }
        }
    }

    fn last_particle(&self) -> Option<usize> {
        self.0.iter().map(|s| s.a.max(s.b).max(s.c)).max()
    }
}

/// An angular spring at b: C = angle(a, b, c) − rest, f = −(k C + d Ċ) ∂C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AngleSpring {
    /// One end.
    pub a: usize,
    /// The vertex.
    pub b: usize,
    /// The other end.
    pub c: usize,
    /// Angle without torque, rad, 0 to π.
    pub angle: f64,
    /// N m/rad.
    pub stiffness: f64,
    /// N m s/rad.
    pub damping: f64,
}

/// Angular springs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AngleSprings(
    /// The springs.
    pub Vec<AngleSpring>,
);

impl AngleSpring {
    /// The angle and its gradients on a, b, c; none where an arm has no length or the arms are in line.
    fn angle_and_gradients(&self, x: &[DVec3]) -> Option<(f64, [DVec3; 3])> {
        let (p, q) = (x[self.a] - x[self.b], x[self.c] - x[self.b]);
        let across = p.cross(q);
        let sine = across.length();
        let angle = sine.atan2(p.dot(q));
        if sine <= 1e-9 * (p.length() * q.length()).max(1e-300) {
            return None;
        }
        let n = across / sine;
        let ga = p.cross(n) / p.length_squared();
        let gc = n.cross(q) / q.length_squared();
        Some((angle, [ga, -ga - gc, gc]))
    }
}

impl Force for AngleSprings {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for s in &self.0 {
            let Some((angle, g)) = s.angle_and_gradients(at.x) else { continue };
            let rate = g[0].dot(at.v[s.a]) + g[1].dot(at.v[s.b]) + g[2].dot(at.v[s.c]);
            let pull = s.stiffness * (angle - s.angle) + s.damping * rate;
            for (who, g) in [s.a, s.b, s.c].into_iter().zip(g) {
                f[who] -= g * pull;
            }
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        let angle = |s: &AngleSpring| {
            let (p, q) = (at.x[s.a] - at.x[s.b], at.x[s.c] - at.x[s.b]);
            p.cross(q).length().atan2(p.dot(q))
        };
        self.0.iter().map(|s| 0.5 * s.stiffness * (angle(s) - s.angle).powi(2)).sum()
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        for s in &self.0 {
            let Some((_, g)) = s.angle_and_gradients(at.x) else { continue };
            slopes.gauss_newton(&[s.a, s.b, s.c], &g, s.stiffness, s.damping);
        }
    }

    fn last_particle(&self) -> Option<usize> {
        self.0.iter().map(|s| s.a.max(s.b).max(s.c)).max()
    }
}

/// A function of positions that wants to be zero; writes its gradient on each of its particles.
pub type BehaviourFunction = Arc<dyn Fn(&[DVec3], &mut [DVec3]) -> f64 + Send + Sync>;

/// A force from a behaviour function C: f = −(k C + d Ċ) ∂C (course notes, chapter C, "energy functions").
///
/// ```
/// use linkwork::glam::DVec3;
/// use linkwork::particle::Behaviour;
/// use std::sync::Arc;
///
/// // two particles that want to be at the same height
/// let level = Behaviour {
///     particles: vec![0, 1],
///     stiffness: 100.0,
///     damping: 1.0,
///     function: Arc::new(|x, gradient| {
///         gradient[0] = DVec3::Z;
///         gradient[1] = -DVec3::Z;
///         x[0].z - x[1].z
///     }),
/// };
/// # let _ = level;
/// ```
#[derive(Clone)]
pub struct Behaviour {
    /// The particles it is a function of.
    pub particles: Vec<usize>,
    /// N/m if C is a length.
    pub stiffness: f64,
    /// N s/m if C is a length.
    pub damping: f64,
    /// C and its gradients.
    pub function: BehaviourFunction,
}

impl Behaviour {
    fn evaluate(&self, at: &Points) -> (f64, Vec<DVec3>) {
        let x: Vec<DVec3> = self.particles.iter().map(|&p| at.x[p]).collect();
        let mut gradient = vec![DVec3::ZERO; x.len()];
        let c = (self.function)(&x, &mut gradient);
        (c, gradient)
    }
}

impl Force for Behaviour {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        let (c, gradient) = self.evaluate(at);
        let rate: f64 = self.particles.iter().zip(&gradient).map(|(&p, g)| g.dot(at.v[p])).sum();
        for (&p, g) in self.particles.iter().zip(&gradient) {
            f[p] -= *g * (self.stiffness * c + self.damping * rate);
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        0.5 * self.stiffness * self.evaluate(at).0.powi(2)
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        let (_, gradient) = self.evaluate(at);
        slopes.gauss_newton(&self.particles, &gradient, self.stiffness, self.damping);
    }

    fn last_particle(&self) -> Option<usize> {
        self.particles.iter().copied().max()
    }
}

/// The mouse: a damped spring of no length from a particle to a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// The particle.
    pub particle: usize,
    /// Where to, m.
    pub to: DVec3,
    /// N/m.
    pub stiffness: f64,
    /// N s/m.
    pub damping: f64,
}

impl Force for Pull {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        f[self.particle] += (self.to - at.x[self.particle]) * self.stiffness - at.v[self.particle] * self.damping;
    }

    fn energy(&self, at: &Points) -> f64 {
        0.5 * self.stiffness * at.x[self.particle].distance_squared(self.to)
    }

    fn slopes(&self, _at: &Points, slopes: &mut Slopes) {
        let one = |k: f64| DMat3::from_diagonal(DVec3::splat(-k));
        slopes.add(self.particle, self.particle, one(self.stiffness), one(self.damping));
    }

    fn last_particle(&self) -> Option<usize> {
        Some(self.particle)
    }
}

/// Adds to the forces on all particles.
pub type ForceFunction = Arc<dyn Fn(&Points, &mut [DVec3]) + Send + Sync>;

/// A force given by a function of all particles.
#[derive(Clone)]
pub struct UserForce(
    /// Adds to the forces.
    pub ForceFunction,
);

impl Force for UserForce {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        (self.0)(at, f);
    }
}
