//! The step of an island that is a pile (docs/method.md, Piles).

use super::{Frame, Pile};
use crate::collide::Manifold;
use crate::contact::free::{Free, predict_all};
use crate::contact::problem::Law;
use crate::contact::{ContactReport, Contacts, Island, NONE};
use crate::mechanism::{Hat, Mechanism};
use crate::params::{ContactSolver, StepParams};
use crate::scene::BodyKind;
use crate::world::World;
use glam::DVec3;

/// Units and freedoms from which on things with joints are a pile.
const PILE_UNITS: usize = 3;
const PILE_FREEDOMS: usize = 50;
/// Freedoms from which on they are one whatever the units.
const LARGE: usize = 200;

/// How far bodies may pass along each other, or the ends of a turning one bend off, before their contacts are doubted, m.
const PASSING: f64 = 5e-3;
const TURNING: f64 = 3e-4;
/// How much deeper than foreseen asks for a smaller step, m.
const DEEPER: f64 = 1e-3;

impl Contacts {
    /// Whether an island is so many things with joints that touch each other that they are swept over: what they do while they
    /// tumble changes from step to step, and Newton's method would start anew in each.
    pub(in crate::contact) fn is_pile(
        &self,
        island: &Island,
        world: &World,
        mechanisms: &mut [Mechanism],
        h: f64,
    ) -> bool {
        if island.mechanisms.is_empty() || self.solver != ContactSolver::Newton {
            return false;
        }
        let mut freedoms = 6 * island.free.len();
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            mechanism.begin_contact(h);
            freedoms += mechanism.freedoms();
            if !mechanism.can_pile() || self.carried[m as usize] {
                return false;
            }
        }
        let carried = |k: &u32| self.carried[self.mechanism_count + *k as usize];
        let units = island.mechanisms.len() + island.free.len();
        let many = units >= PILE_UNITS && freedoms > PILE_FREEDOMS || freedoms > LARGE;
        let plain = |m: &u32| {
            let material = &world.collisions.manifolds[*m as usize].material;
            material.softness.is_none() && material.rolling == 0.0 && material.spinning == 0.0
        };
        many && !island.free.iter().any(carried) && island.manifolds.iter().all(plain)
    }

    /// Advances a pile; returns whether it did, or needs a smaller step.
    pub(in crate::contact) fn advance_pile(
        &mut self,
        island: &mut Island,
        world: &mut World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        params: &StepParams,
        may_halve: bool,
        report: &mut ContactReport,
    ) -> bool {
        let h = params.dt;
        let first_state = self.states.len();
        let mut pile = std::mem::take(&mut island.pile);
        pile.clear();
        self.fill(&mut pile, island, world, mechanisms, free, h, report);
        let outcome = pile.solve(mechanisms, 2.0 * h * world.gravity.length(), h);
        report.iterations += outcome.sweeps;
        report.residual = report.residual.max(outcome.residual);
        self.take_impulses(&pile, island, world, mechanisms);
        let advanced = self.predict_pile(&pile, island, mechanisms, first_state, params);
        let misses = may_halve
            && (!advanced
                || self.ends_too_deep(island, world, mechanisms, h)
                || self.outruns_its_reach(island, world, mechanisms, h));
        if misses {
            self.states.truncate(first_state);
            island.pile = pile;
            return false;
        }
        self.finish_pile(&pile, island, world, mechanisms, first_state, params);
        island.pile = pile;
        true
    }

    /// Kicks all units and gives the pile their bodies, joints and contacts.
    fn fill(
        &mut self,
        pile: &mut Pile,
        island: &mut Island,
        world: &World,
        mechanisms: &mut [Mechanism],
        free: &[u32],
        h: f64,
        report: &mut ContactReport,
    ) {
        self.first_coordinate.resize(self.island_of.len(), NONE);
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            mechanism.kick_in_contact(h);
            let mut first = NONE;
            for k in 0..mechanism.movable_bodies().len() {
                let (x, whitening, inv_sqrt_mass) = mechanism.frame_of(k);
                let (before, kicked) = mechanism.kick_of(k);
                let body = pile.add_body(Frame { x, whitening, inv_sqrt_mass }, before, kicked);
                first = first.min(body);
            }
            self.first_coordinate[m as usize] = first;
            pile.add_mechanism(m, first);
        }
        for &k in &island.free {
            let slot = free[k as usize];
            let mut state = Free::new(&world.bodies, slot);
            let before = state.u;
            state.kick(&world.bodies, world.gravity, h);
            let body = pile.add_body(state.frame(), &before, &state.kicked);
            self.local[slot as usize] = self.states.len() as u32;
            self.first_coordinate[self.mechanism_count + k as usize] = body;
            self.states.push(state);
        }
        island.seen = island.manifolds.len();
        for &m in &island.manifolds {
            let manifold = &world.collisions.manifolds[m as usize];
            let bodies = [manifold.a, manifold.b].map(|slot| self.body_in_pile(slot));
            pile.add_contact(m, manifold, bodies, self.drifts(world, manifold));
            for point in manifold.points() {
                report.contacts += 1;
                report.penetration = report.penetration.max(-point.gap);
            }
        }
        pile.prepare(&world.collisions.manifolds, mechanisms, |manifold, at| drift_at(world, manifold, at));
        for &m in &island.mechanisms {
            let mechanism = &mechanisms[m as usize];
            let (first, movable) = (self.first_coordinate[m as usize], mechanism.movable_bodies().len());
            for b in mechanism.bounded_entries() {
                let sides = [(b.a as usize, false), (b.b as usize, true)];
                let bodies = sides.map(|(k, _)| (k < movable).then_some(first + k as u32));
                let rows = sides.map(|(k, is_b)| match k < movable {
                    true => mechanism.hat_row(&b.row, k, is_b),
                    false => [0.0; 6],
                });
                let law = Law::Bounds(b.bounds.0, b.bounds.1);
                pile.add_bounded(bodies, rows, law, b.velocity, b.compliance, b.guess);
            }
        }
    }

    /// The number of a body in the pile; `None` if nothing here moves it.
    pub(in crate::contact) fn body_in_pile(&self, slot: u32) -> Option<u32> {
        let unit = self.unit[slot as usize];
        let local = if (unit as usize) < self.mechanism_count { self.local[slot as usize] } else { 0 };
        (unit != NONE).then(|| self.first_coordinate[unit as usize] + local)
    }

    /// Whether the user moves one of two bodies that touch.
    pub(in crate::contact) fn drifts(&self, world: &World, manifold: &Manifold) -> bool {
        [manifold.a, manifold.b].into_iter().any(|slot| {
            self.unit[slot as usize] == NONE
                && world.bodies.at(slot as usize).is_some_and(|b| b.kind == BodyKind::Kinematic)
        })
    }

    /// Gives the impulses to the memory of the contact points and to bounded rows.
    fn take_impulses(&mut self, pile: &Pile, island: &Island, world: &mut World, mechanisms: &mut [Mechanism]) {
        for &m in &island.mechanisms {
            self.pushed[m as usize] = self.carried[m as usize];
        }
        let manifolds = &mut world.collisions.manifolds;
        let (unit, pushed) = (&self.unit, &mut self.pushed);
        pile.each_impulse(|m, p, normal, across| {
            let manifold = &mut manifolds[m as usize];
            if normal > 0.0 {
                for slot in [manifold.a, manifold.b] {
                    if let Some(pushed) = pushed.get_mut(unit[slot as usize] as usize) {
                        *pushed = true;
                    }
                }
            }
            let point = &mut manifold.points_mut()[p];
            (point.impulse_n, point.impulse_t) = (normal, across);
        });
        let mut bounded = pile.bounded();
        for &m in &island.mechanisms {
            let mechanism = &mut mechanisms[m as usize];
            for k in 0..mechanism.bounded_entries().count() {
                mechanism.note_bounded(k, bounded.next().unwrap_or(0.0));
            }
        }
    }

    /// Finds where all bodies go; returns whether all joints can be closed there.
    fn predict_pile(
        &mut self,
        pile: &Pile,
        island: &mut Island,
        mechanisms: &mut [Mechanism],
        first_state: usize,
        params: &StepParams,
    ) -> bool {
        let h = params.dt;
        let Island { closings, .. } = island;
        closings.clear();
        closings.resize(island.mechanisms.len(), None);
        let mut mean: Vec<Hat> = Vec::new();
        pile.each_joint_impulse(|m, impulses| {
            let mechanism = &mut mechanisms[m as usize];
            let first = self.first_coordinate[m as usize];
            mean.clear();
            mean.extend((0..mechanism.movable_bodies().len()).map(|k| pile.velocities(first + k as u32, h).1));
            let place = island.mechanisms.partition_point(|&other| other < m);
            closings[place] = mechanism.predict_in_pile(h, params, &mean, impulses);
        });
        for state in &mut self.states[first_state..] {
            let body = self.first_coordinate[self.unit[state.slot as usize] as usize];
            state.u = pile.velocities(body, h).1;
        }
        predict_all(&mut self.states[first_state..], h);
        closings.iter().all(Option::is_some)
    }

    /// Whether something that passes by or turns fast ends deeper than its contacts, which are those of the start, foresaw.
    fn ends_too_deep(&self, island: &Island, world: &mut World, mechanisms: &[Mechanism], h: f64) -> bool {
        let mut last = (NONE, NONE);
        island.manifolds.iter().any(|&m| {
            let manifold = world.collisions.manifolds[m as usize];
            let pair = (manifold.collider_a, manifold.collider_b);
            if pair == last || !self.passes_by(world, mechanisms, &manifold, h) {
                return false;
            }
            last = pair;
            let depth = manifold.points().iter().map(|p| -p.gap).fold(0.0, f64::max);
            let (a, b) = (self.end(world, mechanisms, manifold.a, h), self.end(world, mechanisms, manifold.b, h));
            let touches = world.collisions.look_ahead(&manifold, &a, &b, 0.0);
            touches.iter().flat_map(|t| &t.points).any(|p| -p.1 > depth + DEEPER)
        })
    }

    fn passes_by(&self, world: &World, mechanisms: &[Mechanism], manifold: &Manifold, h: f64) -> bool {
        let sides = [(manifold.a, manifold.collider_a), (manifold.b, manifold.collider_b)];
        let [a, b] = sides.map(|(slot, _)| self.motion(world, mechanisms, slot));
        let across = (b.v - a.v).reject_from_normalized(manifold.normal).length_squared();
        let turns = |w: DVec3, collider: u32| {
            let angle = h * w.length();
            // a plane has no size, and does not turn
            angle > 0.0 && 0.5 * angle * angle * world.collisions.sweep(collider) > TURNING
        };
        h * h * across > PASSING * PASSING || turns(a.w, sides[0].1) || turns(b.w, sides[1].1)
    }

    fn finish_pile(
        &mut self,
        pile: &Pile,
        island: &Island,
        world: &World,
        mechanisms: &mut [Mechanism],
        first_state: usize,
        params: &StepParams,
    ) {
        let h = params.dt;
        let mut end: Vec<Hat> = Vec::new();
        for (&m, &iterations) in island.mechanisms.iter().zip(&island.closings) {
            let mechanism = &mut mechanisms[m as usize];
            let first = self.first_coordinate[m as usize];
            end.clear();
            end.extend((0..mechanism.movable_bodies().len()).map(|k| pile.velocities(first + k as u32, h).0));
            let touched = self.pushed[m as usize];
            self.advances.push(mechanism.finish_in_pile(h, params, iterations, &end, touched));
        }
        for state in &mut self.states[first_state..] {
            let unit = self.unit[state.slot as usize];
            let end = pile.velocities(self.first_coordinate[unit as usize], h).0;
            state.turn_to_end(&end);
            state.advance(&world.bodies, world.gravity, h, self.pushed[unit as usize]);
        }
    }
}

/// The velocity of b against a at a place, of those of the two that the user moves.
pub(in crate::contact) fn drift_at(world: &World, manifold: &Manifold, at: DVec3) -> DVec3 {
    let of = |slot: u32| {
        let body = world.bodies.at(slot as usize).filter(|b| b.kind == BodyKind::Kinematic);
        body.map_or(DVec3::ZERO, |b| b.v + b.w.cross(at - b.x))
    };
    of(manifold.b) - of(manifold.a)
}

impl Free {
    pub(in crate::contact) fn frame(&self) -> Frame {
        let (r, i) = (&self.pose.r, self.inv_sqrt);
        let whitening = glam::DMat3::from_cols(r.x_axis * i.x, r.y_axis * i.y, r.z_axis * i.z);
        Frame { x: self.pose.x, whitening, inv_sqrt_mass: self.inv_sqrt_mass }
    }
}
