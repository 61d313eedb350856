//! Faces of cloth against solids: a corner or an edge of a body that is sharper than the mesh is fine meets cloth between
//! its vertices.
//!
//! For every face near a solid, the point of it that is nearest to the solid where the step begins, x = Σ wᵢ xᵢ, with the
//! gap there and the normal n. If the gap would become smaller than half the particles' radius by the end of the step,
//! a spring presses, as stiff as makes no difference to the cloth: its impulse along n is
//!
//! P = κ (T − n·(Σ wᵢ vᵢ − V)),   T = (radius/2 − gap)/h,   P ≥ 0,
//!
//! with V the velocity of the solid. While it sticks, κ resists sliding as well; where that would take more than μ P, it
//! slides, and c = μ P / |velocity of sliding| of the solve before resists instead: a given impulse of μ P drives whatever is
//! lighter than the guess of P was good for. Its vertices are coupled in the system of the step like those of the face itself are.
//! Half the radius: a chord of a round body that vertices touch at the whole of it is not to be mistaken for a contact.
//! Polyhedra have no chords, and keep faces at nearly the whole radius.

use super::ParticleSystem;
use super::implicit::{Grip, Hold, Surroundings};
use super::matrix::BlockMatrix;
use super::rider::{Lever, Riders};
use super::sheet::nearest_face;
use super::solid::Solid;
use crate::collide::parry::Bounds;
use glam::{DMat3, DVec3};
use std::collections::HashMap;

/// How much stiffer than the cloth at its vertices a contact of a face is.
const STIFFER: f64 = 30.0;
/// A nearest point with this weight at one vertex is the vertex, which collides by itself.
const AT_VERTEX: f64 = 0.999;
/// Overlap is taken out at no more than this, m/s.
const FASTEST_RECOVERY: f64 = 2.0;

/// A face that may be pressed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Press {
    pub who: [usize; 3],
    pub weight: [f64; 3],
    pub normal: DVec3,
    pub rider: Option<(usize, Lever)>,
    /// n T, with the velocity of a solid that does not answer.
    pub target: DVec3,
    pub kappa: f64,
    pub mu: f64,
    /// The key of the solid.
    pub solid: u32,
    pub active: bool,
    /// How it holds along the surface, or will when it is taken up.
    pub grip: Grip,
    /// The drag that it was last found to slide with, kg; zero if it does not.
    pub drag: f64,
}

/// What couples particles and bodies that answer besides being held: faces that these press, and particles that slide on them.
pub(super) fn on_riders(presses: &[Press], holds: &[Hold]) -> Vec<Press> {
    let mut all: Vec<Press> = presses.iter().filter(|p| p.active && p.rider.is_some()).copied().collect();
    for (i, hold) in holds.iter().enumerate() {
        if let Hold::Contact { grip: Grip::Drag(drag), normal, rider: Some(rider), .. } = *hold {
            all.push(Press {
                who: [i; 3],
                weight: [1.0, 0.0, 0.0],
                normal,
                rider: Some(rider),
                target: DVec3::ZERO,
                kappa: 0.0,
                mu: 0.0,
                solid: 0,
                active: true,
                grip: Grip::Drag(drag),
                drag,
            });
        }
    }
    all
}

impl Press {
    /// Velocity of the face against the body that answers.
    pub fn velocity(&self, v: &[DVec3], bodies: &[(DVec3, DVec3)]) -> DVec3 {
        let own: DVec3 = (0..3).map(|i| v[self.who[i]] * self.weight[i]).sum();
        own - self.of_body(bodies)
    }

    /// Velocity of the body that answers.
    pub fn of_body(&self, bodies: &[(DVec3, DVec3)]) -> DVec3 {
        self.rider.map_or(DVec3::ZERO, |(k, lever)| bodies[k].0 + lever.velocity(bodies[k].1))
    }

    /// What it does against a velocity.
    pub fn resist(&self, velocity: DVec3) -> DVec3 {
        match self.grip {
            Grip::Stick => velocity * self.kappa,
            Grip::Drag(drag) => {
                let across = self.normal * self.normal.dot(velocity);
                across * self.kappa + (velocity - across) * drag
            }
        }
    }

    /// Its impulse on the face at velocities, friction included; into the solid if it would have to pull.
    pub fn impulse(&self, v: &[DVec3], bodies: &[(DVec3, DVec3)]) -> DVec3 {
        self.resist(self.target - self.velocity(v, bodies))
    }

    /// Adds what an impulse does to the coordinates of the body that answers.
    pub fn push_units(&self, riders: &Riders, impulse: DVec3, units: &mut [f64]) {
        let Some((k, lever)) = self.rider else { return };
        let first = riders.units[riders.bodies[k].unit].first;
        for (c, motion) in riders.point_motions(k, lever).enumerate() {
            units[first + c] += motion.dot(impulse);
        }
    }

    /// What it must become at the velocities found: whether it acts, and how it holds along the surface.
    pub fn next(&self, v: &[DVec3], bodies: &[(DVec3, DVec3)]) -> (bool, Grip) {
        let impulse = self.impulse(v, bodies);
        let push = impulse.dot(self.normal);
        if push <= 0.0 {
            return (false, if self.active { Grip::Stick } else { self.grip });
        }
        if !self.active {
            return (true, self.grip);
        }
        let most = self.mu * push;
        let speed = match self.grip {
            Grip::Stick => {
                let excess = (impulse - self.normal * push).length() - most;
                if excess <= 0.0 {
                    return (true, Grip::Stick);
                }
                // the cloth alone would go so fast
                excess * STIFFER / self.kappa
            }
            Grip::Drag(_) => {
                let slide = self.velocity(v, bodies) - self.target;
                (slide - self.normal * slide.dot(self.normal)).length()
            }
        };
        (true, if most < self.kappa * speed { Grip::Drag(most / speed) } else { Grip::Stick })
    }

    /// Puts it into the system of the step, or takes it out with the sign −1.
    pub fn enter(&self, matrix: &mut BlockMatrix, right: &mut [DVec3], sign: f64) {
        let across = super::force::outer(self.normal, self.normal);
        let along = if let Grip::Drag(drag) = self.grip { drag } else { self.kappa };
        let resistance = (across * self.kappa + (DMat3::IDENTITY - across) * along) * sign;
        let wanted = self.resist(self.target) * sign;
        for i in 0..3 {
            right[self.who[i]] += wanted * self.weight[i];
            for j in 0..=i {
                matrix.add(self.who[i], self.who[j], resistance * (self.weight[i] * self.weight[j]));
            }
        }
    }
}

impl ParticleSystem {
    /// Faces that may touch solids within the step.
    pub(super) fn faces_near(
        &self,
        h: f64,
        around: &Surroundings,
        resistance: &[DMat3],
        slid: &HashMap<(u32, [usize; 3]), f64>,
    ) -> Vec<Press> {
        let mut found = Vec::new();
        if self.faces.is_empty() {
            return found;
        }
        let fastest = self.v.iter().map(|v| v.length_squared()).fold(0.0, f64::max).sqrt();
        let mut near: Vec<Option<(f64, DVec3)>> = Vec::new();
        // a plane meets vertices first
        for solid in around.solids.iter().filter(|s| !s.is_plane()) {
            let (corners, middle) = (solid.corners(), solid.middle());
            let reach = if corners.is_empty() { 0.5 } else { 0.9 } * self.radius;
            let motion = h * (fastest + solid.fastest()) + 0.01;
            let far = self.longest_edge + reach + motion;
            let bounds = solid.swept(0.0, far);
            near.clear();
            near.extend(self.x.iter().map(|&p| {
                let inside = bounds.overlaps(&Bounds { low: p, high: p });
                inside.then(|| solid.distance(p, far)).flatten()
            }));
            for face in &self.faces {
                let who = face.map(|i| i as usize);
                let [Some(a), Some(b), Some(c)] = who.map(|i| near[i]) else { continue };
                let x = who.map(|i| self.x[i]);
                let known = [a, b, c];
                let relative = |i: usize| (self.v[who[i]] - solid.velocity(x[i], &around.riders)).length();
                let moves = h * relative(0).max(relative(1)).max(relative(2)) + 0.1 * reach + 0.001;
                if solid.is_convex() && least(&x, &known) > reach + moves {
                    continue;
                }
                let mut add = |weight: [f64; 3], gap: f64, normal: DVec3| {
                    let at = x[0] * weight[0] + x[1] * weight[1] + x[2] * weight[2];
                    let rider = solid.rider.map(|k| (k, Lever::at(at - solid.center)));
                    let given = if rider.is_some() { DVec3::ZERO } else { solid.velocity(at, &Riders::default()) };
                    let stiffest = who.iter().map(|&i| normal.dot(resistance[i] * normal)).fold(0.0, f64::max);
                    let target = normal * ((reach - gap) / h).min(FASTEST_RECOVERY) + given;
                    let kappa = STIFFER * stiffest;
                    found.push(Press {
                        who,
                        weight,
                        normal,
                        rider,
                        target,
                        kappa,
                        mu: solid.friction,
                        solid: solid.key,
                        active: false,
                        grip: slid.get(&(solid.key, who)).map_or(Grip::Stick, |drag| Grip::Drag(*drag)),
                        drag: 0.0,
                    });
                };
                let mut at_corner = false;
                let outward = if corners.is_empty() { None } else { outward(&x, middle) };
                for (normal, &corner) in outward.iter().flat_map(|n| corners.iter().map(move |c| (*n, c))) {
                    if let Some((weight, gap)) = over_corner(&x, normal, corner, reach + moves) {
                        at_corner = true;
                        add(weight, gap, normal);
                    }
                }
                let (weight, gap, normal) = nearest_point(solid, &x, &known, far, reach + moves);
                let at_vertex = weight.iter().any(|w| *w > AT_VERTEX);
                // deep in a polyhedron the nearest way out may be through the cloth: its corners know better
                let lost = at_corner && gap <= 0.0;
                if gap < reach + moves && !at_vertex && !lost {
                    add(weight, gap, normal);
                }
            }
        }
        found
    }
}

/// The normal of a face that points away from the middle of a solid, so that a corner of it which has come through goes back
/// the way it came.
fn outward(x: &[DVec3; 3], middle: DVec3) -> Option<DVec3> {
    let normal = (x[1] - x[0]).cross(x[2] - x[0]).try_normalize()?;
    Some(if normal.dot(x[0] - middle) < 0.0 { -normal } else { normal })
}

/// Where a face lies over a corner of a solid, and how far from it, if that is less than `enough`.
fn over_corner(x: &[DVec3; 3], normal: DVec3, corner: DVec3, enough: f64) -> Option<([f64; 3], f64)> {
    let gap = normal.dot(x[0] - corner);
    let foot = corner + normal * gap;
    let longest = x[1].distance_squared(x[0]).max(x[2].distance_squared(x[0]));
    if gap >= enough || foot.distance_squared(x[0]) > longest {
        return None;
    }
    let [_, a, b, c] = nearest_face([foot, x[0], x[1], x[2]]);
    let weight = [-a, -b, -c];
    let point = x[0] * weight[0] + x[1] * weight[1] + x[2] * weight[2];
    (point.distance_squared(foot) < 1e-18).then_some((weight, gap))
}

/// A bound below the distance of any point of a face from a convex solid: it lies in front of the planes that touch the solid
/// nearest to its vertices.
fn least(x: &[DVec3; 3], known: &[(f64, DVec3); 3]) -> f64 {
    let of = |i: usize| (0..3).map(|j| known[i].0 + known[i].1.dot(x[j] - x[i])).fold(f64::INFINITY, f64::min);
    of(0).max(of(1)).max(of(2))
}

/// The point of a face that is nearest to a solid, or deepest in it: weights, distance, normal. Down the slope of the distance
/// along the face, by steps that are halved when they do not help. The distance from a convex solid is a convex function, so
/// that every slope bounds it from below: nothing better than what is found, or nothing that is near `enough`, ends the search.
fn nearest_point(
    solid: &Solid,
    x: &[DVec3; 3],
    known: &[(f64, DVec3); 3],
    far: f64,
    enough: f64,
) -> ([f64; 3], f64, DVec3) {
    let mut best = ([1.0, 0.0, 0.0], known[0].0, known[0].1);
    for (i, k) in known.iter().enumerate().skip(1) {
        if k.0 < best.1 {
            let mut weight = [0.0; 3];
            weight[i] = 1.0;
            best = (weight, k.0, k.1);
        }
    }
    let point = |w: &[f64; 3]| x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
    let size = (x[1] - x[0]).length().max((x[2] - x[0]).length());
    let mut bound = if solid.is_convex() { least(x, known) } else { f64::NEG_INFINITY };
    let attempt = |weight: [f64; 3], best: &mut ([f64; 3], f64, DVec3), bound: &mut f64| {
        let at = point(&weight);
        let Some((d, n)) = solid.distance(at, far) else { return false };
        if solid.is_convex() {
            *bound = bound.max(x.iter().map(|x| d + n.dot(*x - at)).fold(f64::INFINITY, f64::min));
        }
        let better = d < best.1 - 1e-12;
        if better {
            *best = (weight, d, n);
        }
        better
    };
    attempt([1.0 / 3.0; 3], &mut best, &mut bound);
    let mut step = 0.5 * size;
    let across = (x[1] - x[0]).cross(x[2] - x[0]).normalize_or_zero();
    while step > 1e-4 * size && bound <= enough && best.1 - bound > 1e-9 * size {
        let along = best.2 - across * across.dot(best.2);
        let to = point(&best.0) - along.normalize_or_zero() * step;
        let [_, a, b, c] = nearest_face([to, x[0], x[1], x[2]]);
        if !attempt([-a, -b, -c], &mut best, &mut bound) {
            step *= 0.5;
        }
    }
    best
}
