//! Rigid bodies that answer to particles.
//!
//! Bodies that joints connect answer as one *unit*, in coordinates z of what the joints leave free: the velocities of a
//! body are V = V₀ + B z, with B scaled so that an impulse P changes z by BᵀP. A body without joints is a unit of six
//! coordinates. V₀ is what the body is expected to do if particles push as they did in the last step (couple.rs), so that
//!
//! z = Bᵀ (P − P_last).

use glam::{DMat3, DVec3};

/// How a point of a body moves when that turns: its velocity is V + L W, and an impulse P at it has the moment Lᵀ P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lever(pub DMat3);

impl Lever {
    /// Of a point at a vector from the centre of mass: L W = W × r.
    pub fn at(r: DVec3) -> Lever {
        Lever(DMat3::from_cols(DVec3::X.cross(r), DVec3::Y.cross(r), DVec3::Z.cross(r)))
    }

    pub fn velocity(&self, w: DVec3) -> DVec3 {
        self.0 * w
    }

    pub fn moment(&self, impulse: DVec3) -> DVec3 {
        self.0.transpose() * impulse
    }
}

/// A body that particles push.
#[derive(Clone, Debug)]
pub(crate) struct Rider {
    pub unit: usize,
    /// Its linear and angular velocity for each coordinate of the unit.
    pub motions: Vec<(DVec3, DVec3)>,
    /// Present velocities: V₀ + B z.
    pub v: DVec3,
    pub w: DVec3,
    /// What particles have given it within the step: impulse, and moment about its centre of mass.
    pub impulse: DVec3,
    pub moment: DVec3,
    /// What resists a change of its angular velocity because attached particles that pull would be turned (way.rs), kg m².
    pub turning: DMat3,
}

/// Coordinates of bodies that answer together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    pub z: Vec<f64>,
    /// BᵀP_last.
    pub known: Vec<f64>,
    /// First of its coordinates among those of all units.
    pub first: usize,
    pub riders: Vec<usize>,
}

/// All bodies that answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Riders {
    pub bodies: Vec<Rider>,
    pub units: Vec<Unit>,
    /// Coordinates of all units together.
    pub size: usize,
    /// Energy of motion where the step begins, J.
    pub moving: f64,
}

impl Rider {
    pub fn point(&self, lever: Lever) -> DVec3 {
        self.v + lever.velocity(self.w)
    }

    fn note(&mut self, impulse: DVec3, lever: Lever) {
        self.impulse += impulse;
        self.moment += lever.moment(impulse);
    }
}

/// Motions of a body without joints, by mass and inertia in world axes: B Bᵀ is the inverse of both.
pub(crate) fn free_motions(mass: f64, axes: DMat3, moments: DVec3) -> Vec<(DVec3, DVec3)> {
    let linear = DVec3::AXES.map(|axis| (axis / mass.sqrt(), DVec3::ZERO));
    let angular = [0, 1, 2].map(|k| (DVec3::ZERO, axes.col(k) / moments[k].sqrt()));
    linear.into_iter().chain(angular).collect()
}

impl Riders {
    /// Adds a unit with a number of coordinates.
    pub fn add_unit(&mut self, coordinates: usize) -> usize {
        let zeros = vec![0.0; coordinates];
        self.units.push(Unit { z: zeros.clone(), known: zeros, first: self.size, riders: Vec::new() });
        self.size += coordinates;
        self.units.len() - 1
    }

    /// Adds a body to a unit, with its expected velocities and what particles gave it in the last step.
    pub fn add(
        &mut self,
        unit: usize,
        motions: Vec<(DVec3, DVec3)>,
        (v, w): (DVec3, DVec3),
        last: (DVec3, DVec3),
    ) -> usize {
        let of = &mut self.units[unit];
        for (known, (lin, ang)) in of.known.iter_mut().zip(&motions) {
            *known += lin.dot(last.0) + ang.dot(last.1);
        }
        of.riders.push(self.bodies.len());
        self.bodies.push(Rider {
            unit,
            motions,
            v,
            w,
            impulse: DVec3::ZERO,
            moment: DVec3::ZERO,
            turning: DMat3::ZERO,
        });
        self.bodies.len() - 1
    }

    pub fn point(&self, k: usize, lever: Lever) -> DVec3 {
        self.bodies[k].point(lever)
    }

    /// An impulse at a lever of body `k`; its unit answers.
    pub fn push(&mut self, k: usize, impulse: DVec3, lever: Lever) {
        let body = &mut self.bodies[k];
        body.note(impulse, lever);
        let moment = lever.moment(impulse);
        let change: Vec<f64> = body.motions.iter().map(|(lin, ang)| lin.dot(impulse) + ang.dot(moment)).collect();
        let unit = body.unit;
        self.shift(unit, &change);
    }

    /// Notes an impulse that the unit's coordinates know of already.
    pub fn note(&mut self, k: usize, impulse: DVec3, lever: Lever) {
        self.bodies[k].note(impulse, lever);
    }

    fn shift(&mut self, unit: usize, change: &[f64]) {
        let of = &mut self.units[unit];
        of.z.iter_mut().zip(change).for_each(|(z, c)| *z += c);
        for &k in &of.riders {
            let body = &mut self.bodies[k];
            for ((lin, ang), c) in body.motions.iter().zip(change) {
                body.v += *lin * *c;
                body.w += *ang * *c;
            }
        }
    }

    /// Adds a change of all coordinates.
    pub fn shift_all(&mut self, change: &[f64], s: f64) {
        for unit in 0..self.units.len() {
            let (first, count) = (self.units[unit].first, self.units[unit].z.len());
            let part: Vec<f64> = change[first..first + count].iter().map(|c| c * s).collect();
            self.shift(unit, &part);
        }
    }

    /// Takes back what particles gave in the last step, so that pushes count from nothing.
    pub fn let_go(&mut self) {
        for unit in 0..self.units.len() {
            let known: Vec<f64> = self.units[unit].known.iter_mut().map(|k| -std::mem::take(k)).collect();
            self.shift(unit, &known);
        }
    }

    /// −z − BᵀP_last: what the coordinates lack before what particles do now is added.
    pub fn lacking(&self, out: &mut [f64]) {
        for unit in &self.units {
            for (k, out) in out[unit.first..unit.first + unit.z.len()].iter_mut().enumerate() {
                *out = -unit.z[k] - unit.known[k];
            }
        }
    }

    /// The coordinates of all units.
    pub fn coordinates(&self) -> Vec<f64> {
        self.units.iter().flat_map(|u| &u.z).copied().collect()
    }

    /// Present velocities of every body.
    pub fn velocities(&self) -> Vec<(DVec3, DVec3)> {
        self.bodies.iter().map(|b| (b.v, b.w)).collect()
    }

    /// Forgets what was noted.
    pub fn forget_notes(&mut self) {
        self.bodies.iter_mut().for_each(|b| (b.impulse, b.moment) = (DVec3::ZERO, DVec3::ZERO));
    }

    /// Adds to impulses on coordinates what resists that bodies turn by a change of these.
    pub fn resist_turning(&self, change: &[f64], on_units: &mut [f64]) {
        for body in self.bodies.iter().filter(|b| b.turning != DMat3::ZERO) {
            let first = self.units[body.unit].first;
            let w: DVec3 = body.motions.iter().zip(&change[first..]).map(|(m, c)| m.1 * *c).sum();
            let moment = body.turning * w;
            body.motions.iter().zip(&mut on_units[first..]).for_each(|(m, on)| *on += m.1.dot(moment));
        }
    }

    /// Linear and angular velocity of every body for coordinates.
    pub fn motions_of(&self, coordinates: &[f64], out: &mut Vec<(DVec3, DVec3)>) {
        out.clear();
        for body in &self.bodies {
            let first = self.units[body.unit].first;
            let (mut v, mut w) = (DVec3::ZERO, DVec3::ZERO);
            for ((lin, ang), c) in body.motions.iter().zip(&coordinates[first..]) {
                v += *lin * *c;
                w += *ang * *c;
            }
            out.push((v, w));
        }
    }

    /// Adds BᵀP of impulses and moments on every body to coordinates.
    pub fn gather(&self, impulses: &[(DVec3, DVec3)], coordinates: &mut [f64]) {
        for (body, p) in self.bodies.iter().zip(impulses) {
            let first = self.units[body.unit].first;
            for ((lin, ang), c) in body.motions.iter().zip(&mut coordinates[first..]) {
                *c += lin.dot(p.0) + ang.dot(p.1);
            }
        }
    }

    /// The velocity of a point of body `k` for each coordinate of its unit.
    pub fn point_motions(&self, k: usize, lever: Lever) -> impl Iterator<Item = DVec3> + '_ {
        self.bodies[k].motions.iter().map(move |(lin, ang)| *lin + lever.velocity(*ang))
    }
}
