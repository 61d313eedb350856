//! Four mechanisms of a herd in a pile, one to a lane: what [`super::pile`] does with one mechanism, for all four at once.
//!
//! A ball joint between a and b has the rows Ĵ = [−1/√m_a, −Wᵀ_a(r_a ×), 1/√m_b, Wᵀ_b(r_b ×)], W = R I^(−½). Linear parts are multiples
//! of the identity, so one number stands for nine.
//! Nothing is remembered from step to step: the system is set up where the step begins, and once more at its end, where velocities
//! are brought to the joints. A lane that is too stiff, turns too fast or does not close quickly is given back, to be
//! advanced by its [`Mechanism`](super::Mechanism).

#[cfg(test)]
mod tests;

use super::herd::{Herd, Pin};
use super::{Advance, Hat, Mechanism, SIGMA_BOUND, pile::SPIN_IN_PILE};
use crate::joint::Motion;
use crate::math::lanes::{Poses, Vector, cross, dot, larger, times, vector, vectors};
use crate::math::{Placed, rotation};
use crate::report::StepKind;
use crate::world::Seen;
use glam::{DMat3, DQuat, DVec3};
use wide::{f64x4, f64x8};

/// Iterations in which joints must be closed; most take one.
const MOST_ITERATIONS: u32 = 8;

/// One of the four.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Member {
    /// Its number in the herd, its place in its island and its first body in the pile.
    pub number: u32,
    pub place: u32,
    pub first_body: u32,
}

/// Constants of bodies.
#[derive(Clone, Copy)]
struct Inertia {
    sqrt_mass: f64x4,
    inv_sqrt_mass: f64x4,
    sqrt: Vector,
    inv_sqrt: Vector,
    inverse: Vector,
    middle: f64x4,
}

/// Half of a joint's rows: the body's linear hat velocity times `scale`, its angular one times `turns`, row by row.
#[derive(Clone, Copy)]
struct Side {
    scale: f64x4,
    turns: [Vector; 3],
}

/// Hat coordinates of four bodies.
type Hats = [f64x4; 6];

/// What a step made of one body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedBody {
    pub slot: u32,
    pub x: DVec3,
    pub q: DQuat,
    pub v: DVec3,
    pub w: DVec3,
    pub acceleration: Hat,
    pub lag: f64,
}

/// Mean forces of a joint's rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedJoint {
    pub slot: u32,
    pub force: [f64; 3],
}

/// Up to four mechanisms of a herd.
pub(crate) struct Four {
    pub(super) herd: u32,
    members: [Member; 4],
    count: usize,
    simple: bool,
    /// Of every member: iterations that closed its joints, if they did.
    closed: [Option<u32>; 4],
    lag: [f64; 4],
    inertia: Vec<Inertia>,
    poses: Vec<Poses>,
    next: Vec<Poses>,
    /// R I^(−½), columns.
    whitening: Vec<[Vector; 3]>,
    loads: Vec<[Vector; 2]>,
    /// Velocities where the step begins, after its kick, and by now.
    start: Vec<Hats>,
    kicked: Vec<Hats>,
    u: Vec<Hats>,
    anchors: Vec<[Vector; 2]>,
    sides: Vec<[Side; 2]>,
    reference: Vec<f64x4>,
    values: Vec<f64x4>,
    below: Vec<[[f64x4; 3]; 3]>,
    rhs: Vec<f64x4>,
    error: Vec<f64x4>,
    /// Impulses of the joints in the sweeps, up to a mark, and in all.
    total: Vec<f64x4>,
    marked: Vec<f64x4>,
    impulse: Vec<f64x4>,
    /// By the forces of joints, N m.
    stiffness: Vec<f64x4>,
}

impl Default for Four {
    fn default() -> Self {
        Four {
            herd: 0,
            members: [Member::default(); 4],
            count: 0,
            simple: false,
            closed: [None; 4],
            lag: [0.0; 4],
            inertia: Vec::new(),
            poses: Vec::new(),
            next: Vec::new(),
            whitening: Vec::new(),
            loads: Vec::new(),
            start: Vec::new(),
            kicked: Vec::new(),
            u: Vec::new(),
            anchors: Vec::new(),
            sides: Vec::new(),
            reference: Vec::new(),
            values: Vec::new(),
            below: Vec::new(),
            rhs: Vec::new(),
            error: Vec::new(),
            total: Vec::new(),
            marked: Vec::new(),
            impulse: Vec::new(),
            stiffness: Vec::new(),
        }
    }
}

impl Four {
    /// Becomes these members of a herd, four at most.
    pub fn take(&mut self, herd: u32, members: &[Member]) {
        let last = members.last().copied().unwrap_or_default();
        (self.herd, self.count) = (herd, members.len());
        self.members = std::array::from_fn(|l| members.get(l).copied().unwrap_or(last));
    }

    /// Begins a step: reads the state of its members and sets their systems up.
    pub fn begin(&mut self, herd: &Herd, world: &Seen) {
        self.simple = self.gather(herd, world);
        if self.simple {
            self.read_anchors(herd);
            self.total.clear();
            self.total.resize(herd.rows(), f64x4::splat(0.0));
            self.simple = self.linearise(herd) == [false; 4];
        }
    }

    /// Whether its members are of the simple kind just now; if not they must be advanced by themselves.
    pub fn is_simple(&self) -> bool {
        self.simple
    }

    pub fn is_of_herd_of(&self, other: &Four) -> bool {
        self.herd == other.herd
    }

    pub fn members(&self) -> &[Member] {
        &self.members[..self.count]
    }

    pub fn lag(&self, lane: usize) -> f64 {
        self.lag[lane]
    }

    fn gather(&mut self, herd: &Herd, world: &Seen) -> bool {
        for list in [&mut self.start, &mut self.kicked, &mut self.u] {
            list.clear();
        }
        self.inertia.clear();
        self.poses.clear();
        self.loads.clear();
        self.lag = [0.0; 4];
        let slots = self.members.map(|m| herd.slots(m.number));
        if !self.members.iter().all(|m| herd.is_settled(m.number, world.joints)) {
            return false;
        }
        for b in 0..herd.bodies {
            let [Some(i), Some(j), Some(k), Some(l)] = slots.map(|s| world.bodies.at(s[b] as usize)) else {
                return false;
            };
            let bodies = [i, j, k, l];
            if bodies.iter().any(|b| b.linear_damping != 0.0 || b.angular_damping != 0.0) {
                return false;
            }
            let q = bodies.map(|b| b.q);
            let q = [q.map(|q| q.x), q.map(|q| q.y), q.map(|q| q.z), q.map(|q| q.w)].map(f64x4::new);
            let poses = Poses::new(vector(bodies.map(|b| b.x)), q);
            let mass = f64x4::new(bodies.map(|b| b.mass.mass));
            let inertia = Inertia::new(mass, vector(bodies.map(|b| b.mass.moments)));
            let [x, y, z] = vector(bodies.map(|b| b.v)).map(|v| v * inertia.sqrt_mass);
            let [a, b, c] = times(&poses.turn_back(&vector(bodies.map(|b| b.w))), &inertia.sqrt);
            let force = bodies.map(|b| b.force + world.gravity * (b.mass.mass * b.gravity_scale));
            self.loads.push([vector(force), vector(bodies.map(|b| b.torque))]);
            self.lag = std::array::from_fn(|l| self.lag[l].max(bodies[l].lag));
            self.start.push([x, y, z, a, b, c]);
            self.poses.push(poses);
            self.inertia.push(inertia);
        }
        true
    }

    fn read_anchors(&mut self, herd: &Herd) {
        let anchors = self.members.map(|m| herd.anchors(m.number));
        self.anchors.clear();
        self.anchors.extend((0..herd.pins.len()).map(|k| [0, 1].map(|side| vector(anchors.map(|a| a[k][side])))));
    }

    /// Rows, system and factor where the bodies are; returns the lanes whose rows are nearly redundant.
    fn linearise(&mut self, herd: &Herd) -> [bool; 4] {
        self.whitening.clear();
        self.whitening.extend(
            self.poses.iter().zip(&self.inertia).map(|(p, i)| [0, 1, 2].map(|c| p.r[c].map(|e| e * i.inv_sqrt[c]))),
        );
        self.sides.clear();
        self.reference.clear();
        for (pin, anchors) in herd.pins.iter().zip(&self.anchors) {
            let sides = [(pin.a, 0, -1.0), (pin.b, 1, 1.0)].map(|(body, side, sign)| {
                let (body, sign) = (body as usize, f64x4::splat(sign));
                let lever = self.poses[body].turn(&anchors[side]);
                // Wᵀ(r × e_k) for all k
                let columns = self.whitening[body].map(|w| cross(&w, &lever).map(|c| c * sign));
                let turns = [0, 1, 2].map(|k| columns.map(|column| column[k]));
                Side { scale: self.inertia[body].inv_sqrt_mass * sign, turns }
            });
            self.reference.extend((0..3).map(|k| {
                let of = |s: &Side| s.scale.mul_add(s.scale, dot(&s.turns[k], &s.turns[k]));
                of(&sides[0]) + of(&sides[1])
            }));
            self.sides.push(sides);
        }
        self.values.clear();
        self.values.resize(herd.pattern.factor_entries(), f64x4::splat(0.0));
        for p in &herd.products {
            let [i, k] = [p.i, p.k].map(|s| &self.sides[s as usize / 2][s as usize % 2]);
            let tile = &mut self.values[p.target as usize..p.target as usize + 9];
            for r in 0..3 {
                for c in 0..3 {
                    tile[3 * r + c] += dot(&i.turns[r], &k.turns[c]);
                }
                tile[4 * r] = i.scale.mul_add(k.scale, tile[4 * r]);
            }
        }
        herd.pattern.factor_threes(&mut self.values, &mut self.below, &self.reference, herd.drop_fraction)
    }

    /// Kicks for a time.
    pub fn kick(&mut self, time: f64) {
        self.kicked.clear();
        for k in 0..self.start.len() {
            let kick = self.kick_of(k, f64x4::splat(time));
            self.kicked.push(std::array::from_fn(|s| self.start[k][s] + kick[s]));
        }
    }

    /// What its loads give body `k` in a time.
    fn kick_of(&self, k: usize, time: f64x4) -> Hats {
        let (i, [force, torque]) = (&self.inertia[k], &self.loads[k]);
        let [x, y, z] = force.map(|f| f * (time * i.inv_sqrt_mass));
        let [a, b, c] = times(&self.poses[k].turn_back(torque), &i.inv_sqrt).map(|t| t * time);
        [x, y, z, a, b, c]
    }

    /// Calls `visit` with every body of every member: lane, body, where it is (as rows need it), velocities before and after the kick.
    pub fn each_body(&self, mut visit: impl FnMut(usize, usize, (DVec3, DMat3, f64), Hat, Hat)) {
        for b in 0..self.poses.len() {
            let x = vectors(&self.poses[b].x);
            let columns = self.whitening[b].map(|c| vectors(&c));
            let mass = self.inertia[b].inv_sqrt_mass.to_array();
            let (start, kicked) = (hats(&self.start[b]), hats(&self.kicked[b]));
            for l in 0..self.count {
                let whitening = DMat3::from_cols(columns[0][l], columns[1][l], columns[2][l]);
                visit(l, b, (x[l], whitening, mass[l]), start[l], kicked[l]);
            }
        }
    }

    /// Brings velocities of N fours of one herd back to the joints, u −= Ĵᵀ A⁻¹ Ĵu; impulses are added up. Velocities of body b of all
    /// members are read by `read` and given to `write`.
    #[inline(always)]
    pub fn project<const N: usize, V: ?Sized>(
        mut fours: [&mut Four; N],
        herd: &Herd,
        velocities: &mut V,
        read: impl Fn(&V, &[Member; 4], usize) -> Hats,
        write: impl Fn(&mut V, &[Member], usize, &Hats),
    ) {
        for four in &mut fours {
            four.u.clear();
            four.u.extend((0..herd.bodies).map(|b| read(velocities, &four.members, b)));
        }
        Four::close_rows(&mut fours, herd);
        for four in fours {
            for (total, p) in four.total.iter_mut().zip(&four.rhs) {
                *total += *p;
            }
            for (b, u) in four.u.iter().enumerate() {
                write(velocities, &four.members[..four.count], b, u);
            }
        }
    }

    /// Takes out what the joints do not allow; the impulses are left in `rhs`.
    fn close_rows<const N: usize>(fours: &mut [&mut Four; N], herd: &Herd) {
        let mut all = fours.each_mut().map(|four| {
            four.rhs.resize(herd.rows(), f64x4::splat(0.0));
            (&mut four.u[..], &four.sides[..herd.pins.len()], &mut four.rhs[..], &four.values[..])
        });
        for (k, pin) in herd.pins.iter().enumerate() {
            for (u, sides, rhs, _) in &mut all {
                let ([a, b], ua, ub) = (&sides[k], &u[pin.a as usize], &u[pin.b as usize]);
                let of = |r: usize| {
                    let of_a = a.scale.mul_add(ua[r], dot(&a.turns[r], &[ua[3], ua[4], ua[5]]));
                    let of_b = b.scale.mul_add(ub[r], dot(&b.turns[r], &[ub[3], ub[4], ub[5]]));
                    -(of_a + of_b)
                };
                rhs[3 * k..3 * k + 3].copy_from_slice(&[of(0), of(1), of(2)]);
            }
        }
        let values = all.each_ref().map(|(_, _, _, values)| *values);
        herd.pattern.solve_threes(values, all.each_mut().map(|(_, _, rhs, _)| &mut **rhs));
        for (k, pin) in herd.pins.iter().enumerate() {
            all.iter_mut().for_each(|(u, sides, p, _)| push(pin, &sides[k], &p[3 * k..3 * k + 3], u));
        }
    }

    /// Remembers the impulses so far.
    pub fn mark(&mut self) {
        self.marked.clone_from(&self.total);
    }

    /// Forgets what was given since then.
    pub fn go_back(&mut self) {
        self.total.clone_from(&self.marked);
    }

    /// Gives what was given since then some times more.
    pub fn repeat(&mut self, times: f64) {
        let many = f64x4::splat(times);
        for (total, before) in self.total.iter_mut().zip(&self.marked) {
            *total += many * (*total - *before);
        }
    }

    /// Impulses of the rows of a member in the sweeps.
    pub fn totals(&self, lane: usize) -> impl Iterator<Item = f64> {
        self.total.iter().map(move |t| t.to_array()[lane])
    }

    /// Finds where mean velocities of a step lead with the joints closed to a tolerance. [`Four::closed`] tells how that went.
    /// `again` if it has been asked before in this step.
    pub fn predict(
        &mut self,
        herd: &Herd,
        h: f64,
        tolerance: f64,
        again: bool,
        mean: impl Fn(&[Member; 4], usize) -> Hats,
    ) {
        self.u.clear();
        self.u.extend((0..herd.bodies).map(|b| mean(&self.members, b)));
        if !again {
            self.impulse.clone_from(&self.total);
        }
        let unfit = self.unfit(herd, h);
        let mut closed: [Option<u32>; 4] = [None; 4];
        let mut given_up = unfit;
        let mut before = [[f64::INFINITY; 4]; 2];
        for iteration in 0..MOST_ITERATIONS {
            self.go(h);
            let worst = self.measure_errors(herd);
            for l in 0..4 {
                if closed[l].is_none() && worst[l] < tolerance {
                    closed[l] = Some(iteration);
                }
                // not a number counts as not closing
                let closes = worst[l] <= 0.7 * before[0][l];
                given_up[l] |= closed[l].is_none() && !closes;
            }
            if (0..4).all(|l| closed[l].is_some() || given_up[l]) {
                break;
            }
            before = [before[1], worst];
            let open =
                f64x4::new(std::array::from_fn(|l| if closed[l].is_none() && !given_up[l] { -1.0 / h } else { 0.0 }));
            self.rhs.clear();
            self.rhs.extend(self.error.iter().map(|e| *e * open));
            herd.pattern.solve_threes([&self.values], [&mut self.rhs]);
            self.impulse.iter_mut().zip(&self.rhs).for_each(|(p, d)| *p += *d);
            apply(&herd.pins, &self.sides, &self.rhs, &mut self.u);
        }
        self.closed = std::array::from_fn(|l| closed[l].filter(|_| !unfit[l]));
    }

    /// Of every member: the iterations in which its joints were closed, or that it must be advanced by itself.
    pub fn closed(&self) -> &[Option<u32>] {
        &self.closed[..self.count]
    }

    /// The lanes in which a body is too stiff under what its joints have borne in the sweeps, or turns too far: bounds of
    /// `accurate_is_unfit`, which looks closer at what is beyond them.
    fn unfit(&mut self, herd: &Herd, h: f64) -> [bool; 4] {
        let zero = f64x4::splat(0.0);
        let mut stiffness = std::mem::take(&mut self.stiffness);
        stiffness.clear();
        stiffness.resize(herd.bodies, zero);
        let (half, inverse) = (f64x4::splat(0.5), f64x4::splat(1.0 / h));
        for (k, (pin, anchors)) in herd.pins.iter().zip(&self.anchors).enumerate() {
            let force: Vector = std::array::from_fn(|c| self.total[3 * k + c] * inverse);
            for (body, side, sign) in [(pin.a, 0, -1.0), (pin.b, 1, 1.0)] {
                let lever = self.poses[body as usize].turn(&anchors[side]);
                let along = dot(&lever, &force) * f64x4::splat(sign);
                let size = (dot(&lever, &lever) * dot(&force, &force)).sqrt();
                stiffness[body as usize] += half * (size + along);
            }
        }
        let (mut sigma, mut spin) = (zero, zero);
        for ((s, u), i) in stiffness.iter().zip(&self.u).zip(&self.inertia) {
            sigma = larger(sigma, *s / i.middle);
            let w = times(&[u[3], u[4], u[5]], &i.inv_sqrt);
            spin = larger(spin, dot(&w, &w));
        }
        self.stiffness = stiffness;
        let (sigma, spin) = (sigma.to_array(), spin.to_array());
        std::array::from_fn(|l| !(h * h * sigma[l] < 4.0 * SIGMA_BOUND && h * spin[l].sqrt() < SPIN_IN_PILE))
    }

    /// Where velocities lead: straight flight and free rotation.
    fn go(&mut self, h: f64) {
        self.next.clear();
        let n = self.poses.len();
        for first in (0..n).step_by(2) {
            let two = [first, (first + 1).min(n - 1)];
            let momentum = two.map(|k| times(&[self.u[k][3], self.u[k][4], self.u[k][5]], &self.inertia[k].sqrt));
            let quarter = two.map(|k| self.inertia[k].inverse.map(|i| i * f64x4::splat(0.25 * h)));
            let mut q: [f64x8; 4] = std::array::from_fn(|c| both(two.map(|k| self.poses[k].q[c])));
            let mut l: [f64x8; 3] = std::array::from_fn(|c| both(momentum.map(|m| m[c])));
            let quarters: [f64x8; 3] = std::array::from_fn(|c| both(quarter.map(|v| v[c])));
            let together = rotation::rotate_free_lanes(&mut q, &mut l, &quarters);
            for (place, &k) in two.iter().enumerate().take(n - first) {
                let u = &self.u[k];
                let scale = self.inertia[k].inv_sqrt_mass * f64x4::splat(h);
                let x = std::array::from_fn(|c| u[c].mul_add(scale, self.poses[k].x[c]));
                let q = match together {
                    true => q.map(|c| one_of(c, place)),
                    false => rotated_one_by_one(&self.poses[k], &momentum[place], &self.inertia[k].inverse, h),
                };
                self.next.push(Poses::new(x, q));
            }
        }
    }

    /// Errors of all rows at the next poses; returns the largest of every lane.
    fn measure_errors(&mut self, herd: &Herd) -> [f64; 4] {
        self.error.clear();
        let mut worst = f64x4::splat(0.0);
        for (pin, anchors) in herd.pins.iter().zip(&self.anchors) {
            let (a, b) = (&self.next[pin.a as usize], &self.next[pin.b as usize]);
            let (on_a, on_b) = (a.turn(&anchors[0]), b.turn(&anchors[1]));
            for c in 0..3 {
                let gap = (b.x[c] + on_b[c]) - (a.x[c] + on_a[c]);
                worst = larger(worst, gap.abs());
                self.error.push(gap);
            }
        }
        worst.to_array()
    }

    /// Where a body of a member will be.
    pub fn next_pose(&self, lane: usize, body: usize) -> Placed {
        self.next[body].one(lane)
    }

    /// The mean velocities with which a body of every member goes there.
    pub fn means(&self, body: usize) -> [Hat; 4] {
        hats(&self.u[body])
    }

    /// How a body of every member moves.
    pub fn motions(&self, body: usize) -> [Motion; 4] {
        let (v, w) = self.velocities(body);
        let (v, w) = (vectors(&v), vectors(&w));
        std::array::from_fn(|l| Motion { v: v[l], w: w[l] })
    }

    fn velocities(&self, body: usize) -> (Vector, Vector) {
        let (u, i) = (&self.u[body], &self.inertia[body]);
        let v = [u[0], u[1], u[2]].map(|e| e * i.inv_sqrt_mass);
        (v, self.poses[body].turn(&times(&[u[3], u[4], u[5]], &i.inv_sqrt)))
    }

    /// Goes where [`Four::predict`] found, with the velocities of the end of the pile's last `substep`, brought to the joints there. What
    /// nothing `pushed` gets the other half of that substep's kick.
    pub fn finish(
        &mut self,
        herd: &Herd,
        h: f64,
        substep: f64,
        pushed: [bool; 4],
        end: impl Fn(&[Member; 4], usize) -> Hats,
    ) {
        self.u.clear();
        let half = f64x4::new(pushed.map(|p| if p { 0.0 } else { 0.5 * substep }));
        for b in 0..herd.bodies {
            let (u, i) = (end(&self.members, b), &self.inertia[b]);
            // momentum stays as it is in the world
            let momentum = self.poses[b].turn(&times(&[u[3], u[4], u[5]], &i.sqrt));
            let [x, y, z] = times(&self.next[b].turn_back(&momentum), &i.inv_sqrt);
            self.u.push([u[0], u[1], u[2], x, y, z]);
        }
        std::mem::swap(&mut self.poses, &mut self.next);
        if pushed.contains(&false) {
            for b in 0..herd.bodies {
                let kick = self.kick_of(b, half);
                (0..6).for_each(|s| self.u[b][s] += kick[s]);
            }
        }
        self.linearise(herd);
        Four::close_rows(&mut [self], herd);
        self.lag = pushed.map(|p| if p { 0.5 * substep } else { 0.0 });
        let per_h = f64x4::splat(1.0 / h);
        for (start, u) in self.start.iter_mut().zip(&self.u) {
            // from here on the mean acceleration
            (0..6).for_each(|s| start[s] = (u[s] - start[s]) * per_h);
        }
    }

    /// Calls `visit` with what [`Four::finish`] made of every body, and the lane.
    pub fn each_moved(&self, herd: &Herd, mut visit: impl FnMut(usize, MovedBody)) {
        for b in 0..herd.bodies {
            let (v, w) = self.velocities(b);
            let (v, w, x) = (vectors(&v), vectors(&w), vectors(&self.poses[b].x));
            let (q, acceleration) = (self.poses[b].quaternions(), hats(&self.start[b]));
            for (l, m) in self.members().iter().enumerate() {
                let slot = herd.slots(m.number)[b];
                let moved = MovedBody {
                    slot,
                    x: x[l],
                    q: q[l],
                    v: v[l],
                    w: w[l],
                    acceleration: acceleration[l],
                    lag: self.lag[l],
                };
                visit(l, moved);
            }
        }
    }

    /// Calls `visit` with the forces of every joint over a step of `h`, and the lane.
    pub fn each_force(&self, herd: &Herd, h: f64, mut visit: impl FnMut(usize, LoadedJoint)) {
        for k in 0..herd.pins.len() {
            let p: Vector = std::array::from_fn(|c| self.impulse[3 * k + c]);
            let p = vectors(&p);
            for (l, m) in self.members().iter().enumerate() {
                visit(l, LoadedJoint { slot: herd.joints(m.number)[k], force: (p[l] / h).to_array() });
            }
        }
    }

    /// What a member's step was, once it is done.
    pub fn advance(&self, herd: &Herd, lane: usize, iterations: u32) -> Advance {
        let errors = self.error.iter().map(|e| e.to_array()[lane].abs());
        let worst = errors.enumerate().fold((0, 0.0), |best, (k, e)| if e > best.1 { (k, e) } else { best });
        let number = self.members[lane].number;
        Advance {
            kind: StepKind::Accurate,
            reason: None,
            iterations,
            bounded_sweeps: 0,
            substeps: 1,
            error_m: worst.1,
            error_rad: 0.0,
            worst_joint: (worst.1 > 0.0).then(|| herd.joints(number)[worst.0 / 3]),
            member: herd.slots(number).first().copied(),
            closed: true,
            tolerance_missed: false,
            unfinished: false,
            left: None,
        }
    }
}

impl Mechanism {
    /// Takes poses and velocities of a lane, for what asks where the mechanism goes and how it moves; nothing else.
    pub(crate) fn show(&mut self, four: &Four, lane: usize) {
        for b in 0..four.poses.len() {
            (self.pose[b], self.next[b]) = (four.poses[b].one(lane), four.next[b].one(lane));
            self.u[b] = hats(&four.u[b])[lane];
            let i = &four.inertia[b];
            self.inertia[b].inv_sqrt_mass = i.inv_sqrt_mass.to_array()[lane];
            self.inertia[b].inv_sqrt = vectors(&i.inv_sqrt)[lane];
        }
    }
}

impl Inertia {
    fn new(mass: f64x4, moments: Vector) -> Inertia {
        let one = f64x4::splat(1.0);
        let (sqrt_mass, sqrt) = (mass.sqrt(), moments.map(|m| m.sqrt()));
        let [a, b, c] = moments;
        // of three numbers the one between the others
        let middle = a.min(b).max(a.max(b).min(c));
        Inertia {
            sqrt_mass,
            inv_sqrt_mass: one / sqrt_mass,
            sqrt,
            inv_sqrt: sqrt.map(|s| one / s),
            inverse: moments.map(|m| one / m),
            middle,
        }
    }
}

/// u += Ĵᵀp.
#[inline(always)]
fn apply(pins: &[Pin], sides: &[[Side; 2]], p: &[f64x4], u: &mut [Hats]) {
    for ((pin, sides), p) in pins.iter().zip(sides).zip(p.chunks_exact(3)) {
        push(pin, sides, p, u);
    }
}

/// The same of one joint.
#[inline(always)]
fn push(pin: &Pin, sides: &[Side; 2], p: &[f64x4], u: &mut [Hats]) {
    for (body, side) in [pin.a, pin.b].into_iter().zip(sides) {
        let u = &mut u[body as usize];
        for r in 0..3 {
            u[r] = side.scale.mul_add(p[r], u[r]);
            (0..3).for_each(|c| u[3 + c] = side.turns[r][c].mul_add(p[r], u[3 + c]));
        }
    }
}

fn hats(lanes: &Hats) -> [Hat; 4] {
    let lanes = lanes.map(|c| c.to_array());
    std::array::from_fn(|l| lanes.map(|c| c[l]))
}

fn both(of: [f64x4; 2]) -> f64x8 {
    let [a, b] = of.map(|v| v.to_array());
    f64x8::new([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]])
}

fn one_of(both: f64x8, place: usize) -> f64x4 {
    let all = both.to_array();
    f64x4::new(std::array::from_fn(|l| all[4 * place + l]))
}

fn rotated_one_by_one(poses: &Poses, momentum: &Vector, inverse: &Vector, h: f64) -> [f64x4; 4] {
    let (q, l, inverse) = (poses.quaternions(), vectors(momentum), vectors(inverse));
    let turned: [DQuat; 4] = std::array::from_fn(|k| rotation::rotate_free(q[k], l[k], inverse[k], h).0);
    [0, 1, 2, 3].map(|c| f64x4::new(turned.map(|q| q.to_array()[c])))
}
