//! What touches, kept from step to step.

use super::PlacedBody;
use super::shape::PairMaterial;
use glam::DVec3;
use std::ops::{Deref, DerefMut};

/// A contact point, in the world. What solvers ask for comes first and is one line of the cache, the rest another.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct ContactPoint {
    /// Midway between the surfaces.
    pub position: DVec3,
    /// Along the normal; negative is overlap.
    pub gap: f64,
    /// Of the last step, for the solver to start from and to leave for the next.
    pub impulse_n: f64,
    /// World vector across the normal.
    pub impulse_t: DVec3,
    /// In the principal frame of b, by which the point is found again.
    pub local_b: DVec3,
    /// In that of a, and the gap where both said the same: what is still needs no other look.
    pub local_a: DVec3,
    pub found_gap: f64,
    /// Normal impulse of bounces in the last step; not carried over.
    pub blow: f64,
}

impl ContactPoint {
    pub const NONE: ContactPoint = ContactPoint {
        position: DVec3::ZERO,
        gap: 0.0,
        local_b: DVec3::ZERO,
        local_a: DVec3::ZERO,
        found_gap: 0.0,
        impulse_n: 0.0,
        impulse_t: DVec3::ZERO,
        blow: 0.0,
    };
}

/// Contact points of two bodies along one normal. Many passes go over all of them for who touches whom: that is the first line of the
/// cache, the material the second, and each point two more.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Manifold {
    /// Slots of the bodies.
    pub a: u32,
    pub b: u32,
    /// Colliders, by index into [`super::Collisions`], and the shapes of the bodies that they are.
    pub collider_a: u32,
    pub collider_b: u32,
    pub shape_a: u32,
    pub shape_b: u32,
    count: u8,
    /// Whether its bodies have taken its impulses in a part of the step; in the world's list only.
    pub given: bool,
    /// The step that its impulses are of, s.
    pub step: f64,
    /// World, from a to b.
    pub normal: DVec3,
    pub material: PairMaterial,
    points: [ContactPoint; 4],
}

/// Cosine of the angle within which normals are much the same.
const ALONG: f64 = 0.7;

const _: () = assert!(size_of::<ContactPoint>() == 128 && size_of::<Manifold>() == 128 + 4 * 128);

impl Manifold {
    /// Of no two bodies, without points.
    const NONE: Manifold = Manifold {
        a: 0,
        b: 0,
        collider_a: 0,
        collider_b: 0,
        shape_a: 0,
        shape_b: 0,
        normal: DVec3::Z,
        material: PairMaterial::NONE,
        step: 1.0,
        points: [ContactPoint::NONE; 4],
        count: 0,
        given: false,
    };

    /// Moves points to where two bodies that have hardly moved have carried them, for a step of `h`.
    pub(super) fn follow(&mut self, a: &PlacedBody, b: &PlacedBody, h: f64) {
        let (scale, normal) = (h / self.step, self.normal);
        (self.step, self.given) = (h, false);
        for point in self.points_mut() {
            let (on_a, on_b) = (a.x + a.q * point.local_a, b.x + b.q * point.local_b);
            point.position = 0.5 * (on_a + on_b);
            point.gap = point.found_gap + normal.dot(on_b - on_a);
            point.impulse_n *= scale;
            point.impulse_t *= scale;
            point.blow = 0.0;
        }
    }

    /// Of two colliders that do not touch, with the slots of their bodies.
    pub fn without_points(bodies: [u32; 2], colliders: [u32; 2], shapes: [u32; 2], material: PairMaterial) -> Manifold {
        let ([a, b], [collider_a, collider_b], [shape_a, shape_b]) = (bodies, colliders, shapes);
        Manifold { a, b, collider_a, collider_b, shape_a, shape_b, material, ..Manifold::NONE }
    }

    /// The same pair along another normal, with other points (four at most).
    pub fn with_points(&self, normal: DVec3, points: &[ContactPoint]) -> Manifold {
        let count = points.len().min(4);
        let mut manifold = Manifold { normal, count: count as u8, ..*self };
        manifold.points[..count].copy_from_slice(&points[..count]);
        manifold
    }

    /// Becomes another one, of which only points in use are touched.
    pub fn take(&mut self, m: &Manifold) {
        let Manifold {
            a,
            b,
            collider_a,
            collider_b,
            shape_a,
            shape_b,
            normal,
            material,
            step,
            points: _,
            count,
            given,
        } = *m;
        (self.a, self.b, self.collider_a, self.collider_b) = (a, b, collider_a, collider_b);
        (self.shape_a, self.shape_b, self.count, self.given) = (shape_a, shape_b, count, given);
        (self.normal, self.material, self.step) = (normal, material, step);
        self.points_mut().copy_from_slice(m.points());
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether it is between the same two colliders as another, and pushes much the same way.
    pub fn is_along(&self, other: &Manifold) -> bool {
        let colliders = |m: &Manifold| (m.collider_a, m.collider_b);
        colliders(self) == colliders(other) && self.normal.dot(other.normal) > ALONG
    }

    /// All that it gives to b, N s.
    pub fn impulse(&self) -> DVec3 {
        self.points().iter().map(|p| self.normal * (p.impulse_n + p.blow) + p.impulse_t).sum()
    }

    pub fn points(&self) -> &[ContactPoint] {
        &self.points[..self.count as usize]
    }

    pub fn points_mut(&mut self) -> &mut [ContactPoint] {
        &mut self.points[..self.count as usize]
    }
}

/// A list of manifolds that keeps the memory of those that are gone, and of four places for points touches only those in use:
/// there are two such lists, read and written by turns in every step, and most manifolds have one or two points.
#[derive(Debug, Default)]
pub(crate) struct Manifolds {
    places: Vec<Manifold>,
    used: usize,
}

impl Manifolds {
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds one with as many points (four at most). All of it is that of another until it is written.
    pub fn add(&mut self, points: usize) -> &mut Manifold {
        if self.used == self.places.len() {
            self.places.push(Manifold::NONE);
        }
        let place = &mut self.places[self.used];
        self.used += 1;
        place.count = points.min(place.points.len()) as u8;
        place
    }

    pub fn extend_from_slice(&mut self, manifolds: &[Manifold]) {
        for m in manifolds {
            self.add(m.points().len()).take(m);
        }
    }

    /// Adds places for as many; all of them are those of others until they are written.
    pub fn add_many(&mut self, count: usize) -> &mut [Manifold] {
        let first = self.used;
        self.used += count;
        self.make_room(self.used);
        &mut self.places[first..self.used]
    }

    /// Has memory for as many in all.
    pub fn make_room(&mut self, count: usize) {
        if self.places.len() < count {
            self.places.resize(count, Manifold::NONE);
        }
    }
}

impl Clone for Manifolds {
    fn clone(&self) -> Self {
        let mut copy = Manifolds::default();
        copy.extend_from_slice(self);
        copy
    }

    fn clone_from(&mut self, other: &Self) {
        self.clear();
        self.extend_from_slice(other);
    }
}

impl Deref for Manifolds {
    type Target = [Manifold];

    fn deref(&self) -> &[Manifold] {
        &self.places[..self.used]
    }
}

impl DerefMut for Manifolds {
    fn deref_mut(&mut self) -> &mut [Manifold] {
        &mut self.places[..self.used]
    }
}
