//! A mechanism in contact: the same accurate step, with the impulses of contacts between the kick and the move.
//!
//! [`Mechanism::begin_contact`] linearises, [`Mechanism::kick_in_contact`] kicks and closes the joints in the velocities; [`Mechanism::free_motions`] gives a basis Q of what
//! the joints leave free, scaled so that the response to an impulse is QQᵀ; the island solves its contacts in those
//! coordinates; [`Mechanism::predict_contact`] finds where that leads with the joints closed, [`Mechanism::finish_contact`]
//! goes there and closes the velocities.
//! Velocities of what touches are those of the middle of the step, so that a body at rest has none.

use super::bounded::BoundedEntry;
use super::linear::Linearisation;
use super::{Advance, Hat, Mechanism, Reason, SIGMA_BOUND, SPIN_BOUND};
use crate::joint::rows::Row;
use crate::linalg::block_ldlt::BlockLdlt;
use crate::math::{Placed, multiply_add};
use crate::params::{Method, StepParams};
use crate::report::{LeftToDirect, StepKind};
use glam::DVec3;
use wide::f64x8;

/// A motion that is left with less than this of its length after the others are taken out is one of them.
const INDEPENDENT: f64 = 1e-7;
/// What is left with less than this has lost digits to it, and the others are taken out once more.
const CANCELLED: f64 = 0.1;
/// Above this many free motions a mechanism is solved body by body.
pub(super) const MOST_MOTIONS: usize = 36;
/// Bodies of one row at most, for that.
const MOST_SIDES: usize = 4;

/// Working memory for contacts.
#[derive(Default)]
pub(super) struct ContactScratch {
    body_wise: bool,
    /// Whether its joints are swept, not factorised.
    swept: bool,
    /// Whether the mechanism answers in reduced coordinates.
    pub in_tree: bool,
    /// Columns of Q, movable bodies × 6 each.
    basis: Vec<Vec<Hat>>,
    pub pushed: Vec<Hat>,
    /// Whether something that pushed it in the last step still presses.
    pub presses: bool,
    /// Poses at the start of the step, while others are tried.
    pub start: Vec<Placed>,
    /// Velocities and joint impulses without what touches.
    pub kicked: Vec<Hat>,
    /// Mechanical energy before the kick, where velocities were those of the same time as poses, J.
    energy: Option<f64>,
    pub kicked_impulse: Vec<f64>,
    /// The same with it, before positions are closed.
    pub with_contacts: Vec<Hat>,
    pub answered: Vec<f64>,
    /// Whether it turns so far in this step that the rows of the start do not close its joints.
    pub bends_off: bool,
    /// Memory for rows and factor where the step ends, beside those of its start.
    pub at_end: Option<Box<(Linearisation, BlockLdlt)>>,
    lanes: Vec<[f64x8; 6]>,
    pub lanes_rhs: Vec<f64x8>,
}

/// Impulses that a mechanism answers at once.
const LANES: usize = 8;

impl Mechanism {
    /// World slots of the movable bodies.
    pub(crate) fn movable_bodies(&self) -> &[u32] {
        &self.layout.bodies[..self.layout.movable]
    }

    /// World slots of bodies that its joints hold but do not move.
    pub(crate) fn outside_bodies(&self) -> impl Iterator<Item = u32> {
        self.layout.bodies[self.layout.movable..].iter().copied().filter(|&slot| slot != super::layout::WORLD_SLOT)
    }

    /// World slots of its joints.
    pub(crate) fn joint_slots(&self) -> &[u32] {
        &self.layout.joints
    }

    /// Gives the rest of the kick of the last step to a mechanism that has come free.
    pub(super) fn catch_up(&mut self, h: f64) {
        let lag = std::mem::take(&mut self.lag);
        if self.catch_up_in_tree(lag) {
            return;
        }
        if self.is_iterative() {
            self.refresh_drive_forces();
            self.kick(lag);
            return self.sweep_velocities_closed(h, 0.0);
        }
        self.linearise_here(h);
        self.kick(lag);
        self.close_velocities();
    }

    /// Linearises where the step begins.
    pub(crate) fn begin_contact(&mut self, h: f64) {
        self.timer.resume();
        self.halvings = 0;
        self.force_sum.fill(0.0);
        self.bounded.force_sum.fill(0.0);
        self.act_whole(true);
        self.expect_values(h);
        self.robust.start.copy_from_slice(&self.pose);
        self.contact.pushed.clear();
        self.contact.pushed.resize(self.layout.movable, [0.0; 6]);
        self.contact.in_tree = self.begin_contact_in_tree(h);
        self.contact.swept = false;
        if self.contact.in_tree {
            self.contact.body_wise = false;
            return;
        }
        let mut joints = self.layout.nodes.iter().filter(|n| !n.source.is_internal());
        let few_sides = joints.all(|n| (n.sides.1 - n.sides.0) as usize <= MOST_SIDES);
        if self.is_iterative() && few_sides {
            (self.contact.swept, self.contact.body_wise) = (true, true);
            return self.begin_swept_contact(h);
        }
        if self.is_iterative() {
            // a coupling of so many bodies is no entry of the island's problem
            self.method = Method::Direct;
        }
        self.linearise_here(h);
        self.contact.body_wise = few_sides && self.count_freedoms() > MOST_MOTIONS;
    }

    /// Takes the impulses that were pushed, as a blow: the joints answer at once.
    pub(crate) fn take_blow(&mut self) {
        if self.contact.in_tree {
            return self.take_blow_in_tree();
        }
        let mut pushed = std::mem::take(&mut self.contact.pushed);
        self.respond(&mut pushed);
        for (u, p) in self.u.iter_mut().zip(&mut pushed) {
            u.iter_mut().zip(p.iter()).for_each(|(u, p)| *u += p);
            *p = [0.0; 6];
        }
        self.contact.pushed = pushed;
    }

    /// Kicks up to the middle of the step, closes the joints in the velocities and loads springs; contacts come next.
    pub(crate) fn kick_in_contact(&mut self, h: f64) {
        self.timer.resume();
        let time = 0.5 * h + self.lag;
        self.contact.energy = self.is_judged_in_flight().then(|| self.energy_at_start());
        if self.contact.in_tree {
            return self.kick_in_tree(h, time);
        }
        self.kick_open(h, time);
        if self.contact.swept {
            self.close_swept_kick(h);
        } else if self.bounded.is_empty() {
            self.close_for_first_half(h);
        } else {
            self.open_bounded(h, h);
        }
        self.note_kick();
    }

    /// Kicks for a time in a pile. Its joints are closed together with its contacts there, so they stay open here unless bounded
    /// rows must know what is left for them.
    pub(crate) fn kick_in_pile(&mut self, h: f64, presses: bool) {
        self.timer.resume();
        (self.contact.presses, self.contact.bends_off) = (presses, false);
        self.kick_open(h, h);
        if self.bounded.is_empty() {
            self.impulse.fill(0.0);
        } else {
            self.open_bounded(h, h);
        }
        self.note_kick();
    }

    /// Closes the joints in the velocities after [`Mechanism::kick_in_pile`].
    pub(crate) fn close_kick(&mut self, h: f64) {
        if self.bounded.is_empty() {
            self.close_for_first_half(h);
            self.note_kick();
        }
    }

    /// Kicks for a `time` of a step of `h`.
    pub(super) fn kick_open(&mut self, h: f64, time: f64) {
        self.u_start.copy_from_slice(&self.u);
        self.read_soft_rates();
        self.kick(time);
        // what particles give acts at once and whole
        for k in 0..self.layout.movable {
            let push = self.hat_load(k, self.push[k]);
            self.u[k].iter_mut().zip(push).for_each(|(e, x)| *e += h * x);
        }
        self.correction.fill(0.0);
    }

    fn note_kick(&mut self) {
        self.contact.kicked.clone_from(&self.u);
        self.contact.kicked_impulse.clone_from(&self.impulse);
    }

    /// Takes the kick and all that came after it back.
    pub(crate) fn take_kick_back(&mut self) {
        self.u.copy_from_slice(&self.u_start);
    }

    /// Takes all impulses back that were pushed since the kick.
    pub(crate) fn take_pushes_back(&mut self) {
        self.contact.pushed.fill([0.0; 6]);
        self.u.copy_from_slice(&self.contact.kicked);
    }

    /// Where body `k` (local) is, in working memory.
    pub(crate) fn pose_of(&self, k: usize) -> &Placed {
        &self.pose[k]
    }

    /// Where body `k` (local) will be, once [`Mechanism::predict_contact`] has found it.
    pub(crate) fn next_pose(&self, k: usize) -> &Placed {
        &self.next[k]
    }

    /// Whether its joints are rows of the island's problem, body by body, because too much is left free for a dense basis.
    pub(crate) fn is_body_wise(&self) -> bool {
        self.contact.body_wise
    }

    /// Whether too much is left free for a dense basis.
    pub(super) fn has_many_motions(&self) -> bool {
        self.count_freedoms() > MOST_MOTIONS
    }

    /// How many motions its joints leave free.
    pub(crate) fn count_freedoms(&self) -> usize {
        let hard = self.constraint_rows() - self.redundant_rows();
        (6 * self.layout.movable).saturating_sub(hard)
    }

    /// Calls `visit` with the first row, the number of rows (three at most), the compliance and the Jacobian blocks on
    /// movable bodies of every part of every joint.
    pub(crate) fn each_joint_part(&self, mut visit: impl FnMut(u32, usize, f64, &[(u32, &[f64])])) {
        for node in self.layout.nodes.iter().filter(|n| !n.source.is_internal()) {
            let (count, hard) = (usize::from(node.rows), usize::from(node.hard));
            let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            let mut part = |from: usize, to: usize, compliance: f64| {
                let mut blocks: [(u32, &[f64]); MOST_SIDES] = [(0, &[]); MOST_SIDES];
                for (block, side) in blocks.iter_mut().zip(sides) {
                    let rows = &self.linear.jacobian[side.jacobian as usize..side.jacobian as usize + 6 * count];
                    *block = (side.body, &rows[6 * from..6 * to]);
                }
                visit(node.row + from as u32, to - from, compliance, &blocks[..sides.len()]);
            };
            (0..hard).step_by(3).for_each(|from| part(from, (from + 3).min(hard), 0.0));
            for k in node.soft.0 as usize..node.soft.1 as usize {
                let from = (self.layout.soft[k].row - node.row) as usize;
                part(from, from + 1, self.linear.soft[k].compliance);
            }
        }
    }

    /// Calls `visit` with every free motion and how much the kick has changed it.
    pub(crate) fn kick_on_free_motions(&self, mut visit: impl FnMut(usize, f64)) {
        for (k, motion) in self.contact.basis.iter().enumerate() {
            let mut sum = 0.0;
            for (q, (after, before)) in motion.iter().zip(self.contact.kicked.iter().zip(&self.u_start)) {
                sum += (0..6).map(|s| q[s] * (after[s] - before[s])).sum::<f64>();
            }
            visit(k, sum);
        }
    }

    /// Calls `visit` with every coordinate of the movable bodies' velocities and how much the kick has changed it.
    pub(crate) fn change_by_kick(&self, mut visit: impl FnMut(usize, f64)) {
        let changes = self.contact.kicked.iter().flatten().zip(self.u_start.iter().flatten());
        changes.enumerate().for_each(|(k, (after, before))| visit(k, after - before));
    }

    /// The impulses with which joints answer to pushes.
    pub(crate) fn answer_to(&mut self, pushed: &[Hat]) -> &[f64] {
        let mut pushed = pushed.to_vec();
        self.answer(&mut pushed);
        &self.rhs
    }

    /// The impulses with which joints answer to pushes, into `rhs`.
    fn answer(&mut self, pushed: &mut Vec<Hat>) {
        if self.contact.swept {
            return self.answer_by_turns(pushed);
        }
        std::mem::swap(&mut self.u, pushed);
        self.row_velocities();
        std::mem::swap(&mut self.u, pushed);
        for (r, d) in self.rhs.iter_mut().zip(&self.linear.drift) {
            *r = d - *r;
        }
        self.layout.factor.solve(&mut self.rhs);
    }

    /// Finds the free motions; returns how many there are.
    pub(crate) fn free_motions(&mut self) -> usize {
        if self.contact.in_tree {
            return self.freedoms_in_tree();
        }
        let most = self.count_freedoms();
        let soft = !self.layout.soft.is_empty();
        let mut basis = std::mem::take(&mut self.contact.basis);
        basis.resize(most, Vec::new());
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for column in &mut basis {
            column.resize(self.layout.movable, [0.0; 6]);
            for e in column.iter_mut().flatten() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *e = (seed >> 40) as f64 / (1 << 24) as f64 - 0.5;
            }
        }
        self.respond_to_all(&mut basis);
        let mut found = 0;
        for k in 0..most {
            let (others, rest) = basis.split_at_mut(k);
            let column = &mut rest[0];
            let length = norm(column);
            scale(column, 1.0 / length.max(f64::MIN_POSITIVE));
            take_out(column, &others[..found]);
            let mut left = norm(column);
            if left < CANCELLED {
                take_out(column, &others[..found]);
                left = norm(column);
            }
            if left > INDEPENDENT {
                scale(column, 1.0 / left);
                basis.swap(found, k);
                found += 1;
            }
        }
        basis.truncate(found);
        if soft {
            self.soften_basis(&mut basis);
        }
        self.contact.basis = basis;
        found
    }

    /// Velocities of body `k` (local) for each of the free motions.
    pub(crate) fn free_motions_of(&self, k: usize) -> Vec<(DVec3, DVec3)> {
        self.contact.basis.iter().map(|column| self.motion_of_hat(k, &column[k])).collect()
    }

    /// Accelerations of all movable bodies under the loads, as far as free motions allow.
    pub(crate) fn accelerations_by_loads(&self) -> Vec<(DVec3, DVec3)> {
        let loads: Vec<Hat> = (0..self.layout.movable).map(|k| self.hat_load(k, self.load[k])).collect();
        let mut sum = vec![[0.0; 6]; self.layout.movable];
        for column in &self.contact.basis {
            let part = product(column, &loads);
            sum.iter_mut().flatten().zip(column.iter().flatten()).for_each(|(s, c)| *s += part * c);
        }
        (0..self.layout.movable).map(|k| self.motion_of_hat(k, &sum[k])).collect()
    }

    pub(super) fn motion_of_hat(&self, k: usize, u: &Hat) -> (DVec3, DVec3) {
        let i = &self.inertia[k];
        let v = DVec3::new(u[0], u[1], u[2]) * i.inv_sqrt_mass;
        (v, self.pose[k].r * (DVec3::new(u[3], u[4], u[5]) * i.inv_sqrt))
    }

    /// Springs answer a push: Q becomes Q C with CCᵀ = Qᵀ (response) Q.
    fn soften_basis(&mut self, basis: &mut [Vec<Hat>]) {
        let n = basis.len();
        let responses: Vec<Vec<Hat>> = basis
            .iter()
            .map(|column| {
                let mut response = column.clone();
                self.respond(&mut response);
                response
            })
            .collect();
        let mut c = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..=i {
                let mut sum = product(&basis[i], &responses[j]);
                for k in 0..j {
                    sum -= c[i][k] * c[j][k];
                }
                c[i][j] = if i == j {
                    sum.max(0.0).sqrt()
                } else if c[j][j] > 0.0 {
                    sum / c[j][j]
                } else {
                    0.0
                };
            }
        }
        for j in 0..n {
            let mut column = vec![[0.0; 6]; self.layout.movable];
            for i in j..n {
                let x = c[i][j];
                column.iter_mut().flatten().zip(basis[i].iter().flatten()).for_each(|(o, b)| *o += x * b);
            }
            basis[j] = column;
        }
    }

    /// What is left of impulses once the joints have answered.
    pub(crate) fn respond(&mut self, impulses: &mut Vec<Hat>) {
        self.answer(impulses);
        Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, impulses);
    }

    /// The same for each of several, eight at once where the factor allows for it: it is read once for all of them.
    fn respond_to_all(&mut self, impulses: &mut [Vec<Hat>]) {
        if self.contact.swept || !self.can_respond_in_lanes() {
            impulses.iter_mut().for_each(|column| self.respond(column));
            return;
        }
        let mut lanes = std::mem::take(&mut self.contact.lanes);
        for eight in impulses.chunks_mut(LANES) {
            let zero = f64x8::splat(0.0);
            lanes.clear();
            lanes.resize(self.layout.movable, [zero; 6]);
            for (l, column) in eight.iter().enumerate() {
                for (lane, hat) in lanes.iter_mut().zip(column) {
                    (0..6).for_each(|s| lane[s].as_mut_array()[l] = hat[s]);
                }
            }
            self.respond_in_lanes(&mut lanes);
            for (l, column) in eight.iter_mut().enumerate() {
                for (lane, hat) in lanes.iter().zip(column) {
                    (0..6).for_each(|s| hat[s] = lane[s].as_array()[l]);
                }
            }
        }
        self.contact.lanes = lanes;
    }

    /// A row on body `k` (local), in the coordinates of the free motions.
    pub(crate) fn row_on_free_motions(&self, row: &Row, k: usize, is_b: bool, out: &mut Vec<f64>) {
        if self.contact.in_tree {
            return self.row_in_tree(row, k, is_b, out);
        }
        let hat = self.hat_row(row, k, is_b);
        out.extend(self.contact.basis.iter().map(|column| {
            let c = &column[k];
            (hat[0] * c[0] + hat[1] * c[1] + hat[2] * c[2]) + (hat[3] * c[3] + hat[4] * c[4] + hat[5] * c[5])
        }));
    }

    /// Present velocity of a point of body `k` (local).
    pub(crate) fn motion_of(&self, k: usize) -> (DVec3, DVec3) {
        self.velocity(k)
    }

    /// Adds a row's impulse to body `k` (local); the joints answer in [`Mechanism::predict_contact`].
    pub(crate) fn push(&mut self, row: &Row, impulse: f64, k: usize, is_b: bool) {
        let hat = self.hat_row(row, k, is_b);
        self.contact.pushed[k].iter_mut().zip(hat).for_each(|(p, x)| *p += impulse * x);
    }

    /// The limits, frictions and motors that act with the contacts.
    pub(crate) fn bounded_entries(&self) -> impl Iterator<Item = BoundedEntry> {
        (0..self.layout.bounded.len()).map(|k| self.bounded_entry(k))
    }

    /// Sets the impulse of a bounded row.
    pub(crate) fn push_bounded(&mut self, k: usize, impulse: f64) {
        let BoundedEntry { row, a, b, .. } = self.bounded_entry(k);
        self.note_bounded(k, impulse);
        for (body, is_b) in [(a, false), (b, true)] {
            if (body as usize) < self.layout.movable {
                self.push(&row, impulse, body as usize, is_b);
            }
        }
    }

    /// Notes the impulse of a bounded row that has been pushed already.
    pub(crate) fn note_bounded(&mut self, k: usize, impulse: f64) {
        self.bounded.first[k] = impulse;
        self.bounded.second[k] = 0.0;
    }

    /// Whether springs and bounded rows act with their whole impulse before the move.
    pub(super) fn act_whole(&mut self, whole: bool) {
        if self.linear.whole != whole {
            self.linear.whole = whole;
            self.linear.forget();
        }
    }

    /// Kinetic energy after the kick.
    pub(crate) fn energy_before_contacts(&self) -> f64 {
        0.5 * product(&self.contact.kicked, &self.contact.kicked)
    }

    /// What contacts, and the joints' answer to them, have changed: kicked velocities times the change, and the square of it, in hat coordinates.
    pub(crate) fn change_by_contacts(&self) -> (f64, f64) {
        let [kicked, now] = [&self.contact.kicked, &self.contact.with_contacts].map(|u| u.as_flattened());
        let changes = || kicked.iter().zip(now).map(|(before, after)| (before, after - before));
        (changes().map(|(before, d)| before * d).sum(), changes().map(|(_, d)| d * d).sum())
    }

    /// Whether its joints answer to contacts by a few sweeps at a time.
    pub(crate) fn answers_by_turns(&self) -> bool {
        self.contact.swept
    }

    /// Of all movable bodies, kg.
    pub(crate) fn mass(&self) -> f64 {
        self.inertia.iter().map(|i| i.inv_sqrt_mass.powi(-2)).sum()
    }

    /// Finds where the impulses that were pushed lead with the joints closed; `None` if they cannot be closed so.
    pub(crate) fn predict_contact(&mut self, h: f64, params: &StepParams) -> Option<u32> {
        self.timer.resume();
        if self.contact.in_tree {
            return self.predict_in_tree(h, params);
        }
        if self.contact.swept {
            return self.predict_swept(h, params);
        }
        let mut pushed = std::mem::take(&mut self.contact.pushed);
        self.answer(&mut pushed);
        self.impulse.copy_from_slice(&self.contact.kicked_impulse);
        self.impulse.iter_mut().zip(&self.rhs).for_each(|(p, d)| *p += d);
        for ((u, kicked), p) in self.u.iter_mut().zip(&self.contact.kicked).zip(&pushed) {
            (0..6).for_each(|s| u[s] = kicked[s] + p[s]);
        }
        Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.u);
        self.contact.pushed = pushed;
        self.contact.with_contacts.clone_from(&self.u);
        self.contact.answered.clone_from(&self.impulse);
        self.predict_outside(h);
        match self.accurate_is_unfit(h, 4.0 * SIGMA_BOUND, SPIN_BOUND) {
            Some(_) => None,
            None => self.close_positions(h, params.joint_tolerance, params.joint_tolerance),
        }
    }

    /// Goes where [`Mechanism::predict_contact`] found, in `iterations`, and closes the velocities.
    pub(crate) fn finish_contact(
        &mut self,
        h: f64,
        params: &StepParams,
        iterations: Option<u32>,
        supported: bool,
    ) -> Advance {
        self.timer.resume();
        let mut advance = match iterations {
            Some(iterations) if self.contact.in_tree => {
                self.move_in_tree(h, supported);
                self.taken_in_tree(h, iterations)
            }
            Some(sweeps) if self.contact.swept => {
                self.move_swept(h, params, supported);
                self.taken(h, StepKind::Accurate, None, sweeps)
            }
            Some(iterations) => {
                self.move_in_contact(h, supported);
                self.taken(h, StepKind::Accurate, None, iterations)
            }
            None if self.contact.swept && self.is_swept_enough() => {
                self.move_swept(h, params, supported);
                self.taken(h, StepKind::Accurate, None, 0)
            }
            None if self.contact.swept => {
                self.u.copy_from_slice(&self.contact.with_contacts);
                let sweeps = self.projected_in_contact(h, params);
                self.taken(h, StepKind::LastResort, Some(Reason::NoConvergence), sweeps)
            }
            None => {
                if self.contact.in_tree {
                    self.left = Some(LeftToDirect::Irregular);
                    self.give_up_tree();
                    self.linearise_here(h);
                }
                self.u.copy_from_slice(&self.contact.with_contacts);
                let unfit = self.accurate_is_unfit(h, 4.0 * SIGMA_BOUND, SPIN_BOUND);
                self.impulse.copy_from_slice(&self.contact.answered);
                self.linear.forget();
                self.linearise_here(h);
                let iterations = self.last_resort_in_contact(h, params);
                self.taken(h, StepKind::LastResort, Some(unfit.unwrap_or(Reason::NoConvergence)), iterations)
            }
        };
        // the last resort leaves the velocities of the middle of the step
        let lags = supported || advance.kind == StepKind::LastResort;
        self.lag = if lags { 0.5 * h } else { 0.0 };
        self.measure_closure(&mut advance, params);
        advance
    }

    /// Whether its energy tells if a step near others, in which nothing touched it, is plausible.
    fn is_judged_in_flight(&self) -> bool {
        // what moves a carrier works on rows that are not written in a tree
        self.lag == 0.0 && !(self.contact.in_tree && self.is_driven())
    }

    /// Whether the step that was finished has gained energy, though nothing pushed it; it was halved so many `times`.
    pub(crate) fn has_gained_in_flight(&mut self, h: f64, times: u32) -> bool {
        self.halvings = times;
        let before = self.contact.energy.take().filter(|_| self.lag == 0.0);
        before.is_some_and(|energy| !self.energy_is_plausible(energy, h, false))
    }

    fn move_in_contact(&mut self, h: f64, supported: bool) {
        self.commit_prediction();
        self.settle_after_move(h, h, supported);
    }

    /// Closes the velocities at the new poses; what nothing pushed gets the other half of a kick before, that of a step or of the
    /// substeps in which it moved.
    pub(super) fn settle_after_move(&mut self, h: f64, substep: f64, supported: bool) {
        if supported {
            self.whiten_plainly();
        } else {
            self.kick_after_move(substep);
        }
        self.linearise_here(h);
        self.correction.fill(0.0);
        self.close_velocities();
        self.bounded.average(h);
        self.average_forces(h);
        self.remember_impulses(None);
        self.remember_accelerations(h);
    }
}

/// In eight sums that do not wait for each other.
fn product(a: &[Hat], b: &[Hat]) -> f64 {
    let (a, last_a) = a.as_flattened().as_chunks::<8>();
    let (b, last_b) = b.as_flattened().as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|s| sums[s] = multiply_add(a[s], b[s], sums[s]));
    }
    let last: f64 = last_a.iter().zip(last_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + last
}

/// Leaves of a column what is at right angles to others, which are so to each other and of unit length.
fn take_out(column: &mut [Hat], others: &[Vec<Hat>]) {
    for other in others {
        let part = product(other, column);
        let pairs = column.as_flattened_mut().iter_mut().zip(other.as_flattened());
        pairs.for_each(|(c, o)| *c = multiply_add(-part, *o, *c));
    }
}

fn norm(a: &[Hat]) -> f64 {
    product(a, a).sqrt()
}

fn scale(a: &mut [Hat], by: f64) {
    a.iter_mut().flatten().for_each(|e| *e *= by);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Body, Coordinate, Joint, Scene, WORLD};
    use crate::step::Scratch;
    use crate::world::World;

    /// A chain with both ends on the world, a spring, a gear and a wheel that is nearly a hub: 19 motions are left.
    fn machine() -> World {
        let mut scene = Scene::new("machine");
        let mut above = WORLD.to_string();
        for k in 0..9 {
            let (name, x) = (format!("link {k}"), f64::from(k));
            let moments = [0.3 + 0.02 * x, 0.3, 0.4];
            scene.body(Body::new(&name).at([x + 0.5, 0.0, 0.1 * x]).with_mass(1.0 + x).with_inertia(moments));
            let at = [x, 0.0, 0.1 * x - 0.05];
            scene.joint(match k % 3 {
                0 => Joint::ball(format!("pin {k}"), &above, &name, at),
                1 => Joint::hinge(format!("pin {k}"), &above, &name, at, [0.0, 1.0, 0.2]),
                _ => Joint::hinge(format!("pin {k}"), &above, &name, at, [0.3, 0.1, 1.0])
                    .with(Coordinate::default().spring(50.0, 2.0, 0.0)),
            });
            above = name;
        }
        scene.joint(Joint::ball("end", &above, WORLD, [9.0, 0.0, 0.8]));
        scene.joint(Joint::gear("gear", "pin 1", "pin 4", 2.0));
        for k in 0..5 {
            let (name, y) = (format!("spoke {k}"), 1.0 + f64::from(k));
            scene.body(Body::new(&name).at([4.5, y, 0.4]).with_mass(0.5).with_inertia([0.1, 0.2, 0.15]));
            scene.joint(Joint::hinge(format!("spoke pin {k}"), "link 4", &name, [4.5, y - 0.5, 0.4], [1.0, 0.0, 0.0]));
        }
        World::build(&scene).unwrap()
    }

    #[test]
    fn impulses_answered_eight_at_once_are_answered_as_one_by_one() {
        let world = machine();
        let mut scratch = Scratch::default();
        scratch.lay_out(&world);
        let mechanism = &mut scratch.mechanisms_mut()[0];
        mechanism.gather(&world.bodies, &world.joints, world.gravity);
        mechanism.begin_contact(0.01);
        let bodies = mechanism.movable_bodies().len();
        let push = |column: usize, body: usize, s: usize| ((7 * column + 3 * body + s) as f64).sin();
        let mut all: Vec<Vec<Hat>> =
            (0..11).map(|c| (0..bodies).map(|b| std::array::from_fn(|s| push(c, b, s))).collect()).collect();
        let single: Vec<Vec<Hat>> = all
            .iter()
            .map(|column| {
                let mut column = column.clone();
                mechanism.respond(&mut column);
                column
            })
            .collect();
        assert!(mechanism.can_respond_in_lanes());
        mechanism.respond_to_all(&mut all);
        for (a, b) in all.iter().flatten().flatten().zip(single.iter().flatten().flatten()) {
            assert!((a - b).abs() < 1e-11, "{a} and {b}");
        }
    }
}
