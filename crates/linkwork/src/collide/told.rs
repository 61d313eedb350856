//! What users are told of contacts: what they gave in the whole of a step, also where their bodies took it in parts.

use super::{Collisions, ContactPoint, Manifold};
use glam::DVec3;

/// What contacts gave in parts of the last step, without the last part.
#[derive(Clone, Default)]
pub(super) struct Earlier {
    /// The whole step, s, if something took it in parts.
    step: Option<f64>,
    /// By the numbers of contacts, in order: N s on b.
    given: Vec<(u32, DVec3)>,
}

impl Earlier {
    pub fn clear(&mut self) {
        self.step = None;
        self.given.clear();
    }

    pub fn begin(&mut self, h: f64) {
        self.step = Some(h);
        self.given.clear();
    }

    /// Adds what was given with another contact, N s on b, to what one is told to have given.
    pub fn add(&mut self, number: u32, impulse: DVec3) {
        self.given.push((number, impulse));
    }

    /// All has been added.
    pub fn settle(&mut self) {
        self.given.sort_by_key(|(number, _)| *number);
        self.given.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1 += later.1;
            }
            same
        });
    }

    fn of(&self, number: usize) -> DVec3 {
        let at = self.given.binary_search_by_key(&number, |(k, _)| *k as usize);
        at.map_or(DVec3::ZERO, |at| self.given[at].1)
    }
}

/// A contact as users are told of it.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub manifold: &'a Manifold,
    /// The step over which it gave its impulses, s.
    pub step: f64,
    earlier: DVec3,
    /// Sum of the normal impulses of its points in the last part.
    pressed: f64,
}

impl<'a> Told<'a> {
    /// Its points that pushed, and what they gave b, N s. Earlier impulses are shared among the points of now as they press.
    pub fn points(self) -> impl Iterator<Item = (&'a ContactPoint, DVec3)> {
        let (points, normal) = (self.manifold.points(), self.manifold.normal);
        let share = move |p: &ContactPoint| match self.pressed > 0.0 {
            true => (p.impulse_n + p.blow) / self.pressed,
            false => 1.0 / points.len() as f64,
        };
        let given =
            move |p: &'a ContactPoint| (p, normal * (p.impulse_n + p.blow) + p.impulse_t + self.earlier * share(p));
        points.iter().map(given).filter(move |(_, impulse)| impulse.dot(normal) > 0.0)
    }

    /// All that it gave along its normal, N s.
    pub fn push(&self) -> f64 {
        self.pressed + if self.manifold.points().is_empty() { 0.0 } else { self.earlier.dot(self.manifold.normal) }
    }
}

impl Collisions {
    /// The contacts of the last step.
    pub fn told(&self) -> impl Iterator<Item = Told<'_>> {
        self.manifolds.iter().enumerate().map(|(number, manifold)| Told {
            manifold,
            step: self.earlier.step.unwrap_or(manifold.step),
            earlier: self.earlier.of(number),
            pressed: manifold.points().iter().map(|p| p.impulse_n + p.blow).sum(),
        })
    }
}
