//! What users can read of contacts: the points that push, and what has begun or ended to touch.

use super::{Contacts, Island};
use crate::collide::Collisions;
use crate::handle::BodyId;
use crate::step::Active;
use crate::world::World;
use glam::DVec3;

/// A point at which two bodies push each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The bodies, and which of their shapes.
    pub a: BodyId,
    /// The other.
    pub b: BodyId,
    /// Index of a's shape.
    pub shape_a: usize,
    /// Index of b's shape.
    pub shape_b: usize,
    /// Midway between the surfaces, world, m.
    pub point: DVec3,
    /// From a to b.
    pub normal: DVec3,
    /// Overlap at the start of the last step, m.
    pub depth: f64,
    /// Mean force on b over the last step, sticking friction and bounces included, N; a feels the opposite.
    pub force: DVec3,
}

/// That two shapes have begun or ended to push each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactEvent {
    /// Whether it began; otherwise it ended.
    pub began: bool,
    /// One body, and which of its shapes.
    pub a: BodyId,
    /// The other.
    pub b: BodyId,
    /// Index of a's shape.
    pub shape_a: usize,
    /// Index of b's shape.
    pub shape_b: usize,
    /// Normal impulse in the step in which it began, N s; zero when it ended.
    pub impulse: f64,
}

/// Two shapes that push each other, by bodies and indices, with the sum of their normal impulses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Touch {
    key: (BodyId, u32, BodyId, u32),
    impulse: f64,
}

impl World {
    /// Every point at which bodies pushed each other in the last step.
    pub fn contacts(&self) -> impl Iterator<Item = Contact> {
        self.collisions.told().flat_map(move |told| {
            let (m, step) = (told.manifold, told.step);
            let bodies = self.body_at(m.a as usize).zip(self.body_at(m.b as usize));
            told.points().filter_map(move |(p, impulse)| {
                let (a, b) = bodies?;
                Some(Contact {
                    a,
                    b,
                    shape_a: m.shape_a as usize,
                    shape_b: m.shape_b as usize,
                    point: p.position,
                    normal: m.normal,
                    depth: -p.gap,
                    force: impulse / step,
                })
            })
        })
    }

    /// What began and ended to touch in the last step, in the order of bodies. What touched a body that was removed since has ended,
    /// with the id that the body had.
    pub fn contact_events(&self) -> impl Iterator<Item = ContactEvent> {
        let (before, now) = (&self.touched, &self.touching);
        let known = |list: &[Touch], t: &Touch| list.binary_search_by_key(&t.key, |x| x.key).is_ok();
        let ended = before.iter().filter(move |t| !known(now, t)).map(|t| (false, t));
        let began = now.iter().filter(move |t| !known(before, t)).map(|t| (true, t));
        ended.chain(began).map(|(began, t)| {
            let (a, shape_a, b, shape_b) = t.key;
            let impulse = if began { t.impulse } else { 0.0 };
            ContactEvent { began, a, b, shape_a: shape_a as usize, shape_b: shape_b as usize, impulse }
        })
    }

    /// Takes note of what pushes and what overlaps sensors, after a step.
    pub(crate) fn note_touching(&mut self) {
        self.note_sensors();
        std::mem::swap(&mut self.touched, &mut self.touching);
        self.touching.clear();
        for told in self.collisions.told() {
            let (m, impulse) = (told.manifold, told.push());
            if impulse > 0.0
                && let Some((a, b)) = self.bodies.id_at(m.a as usize).zip(self.bodies.id_at(m.b as usize))
            {
                let key = (a, m.shape_a, b, m.shape_b);
                match self.touching.last_mut().filter(|t| t.key == key) {
                    Some(same) => same.impulse += impulse,
                    None => self.touching.push(Touch { key, impulse }),
                }
            }
        }
        // pieces of one shape may stand apart
        self.touching.sort_by_key(|t| t.key);
        self.touching.dedup_by(|later, first| {
            let same = later.key == first.key;
            if same {
                first.impulse += later.impulse;
            }
            same
        });
    }
}

impl Contacts {
    /// Notes which contacts have given their impulses in a part of a step.
    pub fn note_given(&self, collisions: &mut Collisions, late: &Active) {
        let is_late = |island: &Island| match island.mechanisms.first() {
            Some(&m) => late.mechanisms[m as usize],
            None => island.free.first().is_some_and(|&k| late.free[k as usize]),
        };
        for island in self.islands[..self.count].iter().filter(|i| !i.asleep && !is_late(i)) {
            collisions.note_given(island.manifolds.iter().copied().chain(island.unseen.clone()));
        }
    }
}
