//! Looking along a step that was tried: whether something went through something in it, and when first.

use super::push::{Place, What, of_joints};
use super::stage::{NEAR, Stage};
use super::{SLIDE_SPEED, TOUCH};
use crate::math::Placed;
use crate::ode::{Adaptive, DormandPrince, System, Taken};
use glam::DVec3;

/// Looks at a step that nothing can pass through anything in.
const LEAST_LOOKS: f64 = 4.0;
/// Between two looks bodies come this much nearer at most, where they are near: nothing thicker is passed through, m.
const THINNEST: f64 = 1e-3;
/// But no more looks than this.
const MOST_LOOKS: f64 = 2000.0;
const BISECTIONS: u32 = 60;
/// What rests may sink this deep before it is put right, in units of what touches.
const SINKING: f64 = 1e3;
/// Slip, in units of the speed at which sliding begins, at which a point that stuck has come loose.
const LOOSE: f64 = 10.0;

/// What was so when the step began.
struct Start {
    /// Of each watched pair: the gap below which it has gone too far.
    floors: Vec<f64>,
    limits: Vec<(Place, f64, f64)>,
}

/// What a look found.
struct Look {
    violated: bool,
    /// A time in which no pair can meet, s.
    safe: f64,
}

impl Stage<'_> {
    /// The moment at which something first happens in a step, if anything does.
    pub fn first_event(&mut self, solver: &DormandPrince, taken: &Taken) -> Option<f64> {
        let mut y = vec![0.0; self.dimension()];
        let mut end = y.clone();
        self.state(&mut end);
        solver.interpolate(taken.from, &mut y);
        self.set_state(taken.from, &y);
        let mut start = self.start();
        let found = self.search(solver, taken, &mut start, &mut y);
        self.set_state(taken.to, &end);
        found
    }

    fn search(&mut self, solver: &DormandPrince, taken: &Taken, start: &mut Start, y: &mut [f64]) -> Option<f64> {
        let span = taken.to - taken.from;
        let mut safe = self.look(start).safe;
        let mut good = taken.from;
        while good < taken.to {
            let next = good + safe.clamp(span / MOST_LOOKS, span / LEAST_LOOKS);
            let next = if next >= taken.to - 1e-3 * span { taken.to } else { next };
            let look = self.look_at(solver, next, start, y);
            if look.violated {
                return Some(self.bisect(solver, good, next, start, y));
            }
            (good, safe) = (next, look.safe);
        }
        None
    }

    /// The last moment at which all is well, between one that is and one that is not.
    fn bisect(&mut self, solver: &DormandPrince, mut good: f64, mut bad: f64, start: &mut Start, y: &mut [f64]) -> f64 {
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (good + bad);
            if middle <= good || middle >= bad {
                break;
            }
            if self.look_at(solver, middle, start, y).violated { bad = middle } else { good = middle }
        }
        good
    }

    fn look_at(&mut self, solver: &DormandPrince, time: f64, start: &mut Start, y: &mut [f64]) -> Look {
        solver.interpolate(time, y);
        self.set_state(time, y);
        self.look(start)
    }

    fn start(&mut self) -> Start {
        self.write_rows(true);
        let mut floors = Vec::with_capacity(self.watched.len());
        for k in 0..self.watched.len() {
            let (gap, _) = self.gap_of(k);
            // what touches already may not come nearer; what does not has gone through when it overlaps
            floors.push(if gap > TOUCH { 0.0 } else { gap.min(0.0) - TOUCH });
        }
        let mut limits = Vec::new();
        for push in of_joints(self.world) {
            if let What::Limit { at, side, held: false, .. } = push.what {
                limits.push((at, side, push.gap.min(0.0) - TOUCH));
            }
        }
        Start { floors, limits }
    }

    fn look(&mut self, start: &mut Start) -> Look {
        let mut look = Look { violated: false, safe: f64::INFINITY };
        self.write_rows(true);
        for k in 0..self.watched.len() {
            let (gap, sunk) = self.gap_of(k);
            look.violated |= gap < start.floors[k] || sunk > SINKING * TOUCH;
            if gap > TOUCH {
                start.floors[k] = 0.0;
            }
            let speed = 1.5 * self.closing_speed(&self.watched[k]) + 1e-3;
            look.safe = look.safe.min(gap.max(THINNEST) / speed);
        }
        for (at, side, floor) in &start.limits {
            let drive = self.world.joints.at(at.joint).and_then(|j| j.drives.get(at.coordinate));
            let bound = drive.and_then(|d| d.limit).and_then(|l| if *side > 0.0 { l.min } else { l.max });
            let inside = drive.zip(bound).map_or(0.0, |(d, bound)| side * (d.value - bound));
            look.violated |= inside < *floor;
        }
        if !self.careful {
            look.violated |= self.changes_its_way();
        }
        look
    }

    /// The smallest gap of a watched pair, points that rest left out, and how deep those have sunk.
    fn gap_of(&mut self, k: usize) -> (f64, f64) {
        let manifold = self.watched[k];
        let place = |slot: u32| self.world.bodies.at(slot as usize).map_or(Placed::WORLD, |b| b.placed());
        let (a, b) = (place(manifold.a), place(manifold.b));
        let collisions = &mut self.world.collisions;
        let reach = collisions.reach(manifold.collider_a) + collisions.reach(manifold.collider_b);
        let pair = (manifold.collider_a, manifold.collider_b);
        let found = collisions.look_ahead(&manifold, &a, &b, NEAR).iter();
        let mut points: Vec<_> = found.flat_map(|t| t.points.iter().map(|p| (t.normal, p.0, p.1))).collect();
        let mut sunk = 0.0_f64;
        for rests in self.pushes.iter().filter_map(|p| p.point()) {
            if (rests.manifold.collider_a, rests.manifold.collider_b) != pair {
                continue;
            }
            let aligned = points.iter().enumerate().filter(|(_, p)| p.0.dot(rests.normal) > 0.7);
            let from = |p: &(DVec3, DVec3, f64)| rests.distance(p.1, &a, &b);
            let nearest = aligned.min_by(|x, y| from(x.1).total_cmp(&from(y.1))).map(|(i, _)| i);
            if let Some(i) = nearest {
                sunk = sunk.max(-points.swap_remove(i).2);
            }
        }
        if points.is_empty() && sunk == 0.0 {
            let far = self.world.collisions.look_ahead(&manifold, &a, &b, reach).iter();
            let gap = far.flat_map(|t| t.points.iter().map(|p| p.1)).fold(reach, f64::min);
            return (gap.max(NEAR), 0.0);
        }
        let gap = points.iter().map(|p| p.2).fold(NEAR, f64::min);
        (gap, sunk)
    }

    /// Whether something that slides has come to rest or turned back, or what was held has come loose.
    fn changes_its_way(&self) -> bool {
        self.pushes.iter().any(|push| {
            let rates = self.rates(push);
            match push.what {
                What::Contact(point) if point.manifold.material.friction > 0.0 => {
                    let along = point.tangents[0] * rates[1] + point.tangents[1] * rates[2];
                    match point.slip {
                        Some(way) => along.dot(way) < 0.0,
                        None => along.length() > LOOSE * SLIDE_SPEED && rates[0] < SLIDE_SPEED,
                    }
                }
                What::Drive { target, most, slip, .. } if most.is_finite() => match slip {
                    Some(sign) => sign * (rates[0] - target) < 0.0,
                    None => (rates[0] - target).abs() > LOOSE * SLIDE_SPEED,
                },
                _ => false,
            }
        })
    }
}
