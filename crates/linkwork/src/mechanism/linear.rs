//! The linear system of a mechanism at given poses: rows in hat coordinates, A = ĴĴᵀ (+ compliance) and its factor.

use super::layout::{Layout, Side, Source};
use super::{Hat, Mechanism};
use crate::joint::drive::Linear;
use crate::joint::rows::Row;
use crate::joint::{MAX_ROWS, Motion};
use crate::linalg::kernels::with_size;
use crate::math::{Placed, dot, multiply_add};
use crate::world::Joints;
use glam::{DMat3, DQuat, DVec3};

/// What a row's compliance is limited to, in units of its own mobility: softer than this is a constant force.
const SOFTEST: f64 = 1e20;
/// The compliance of rows that must not act at all.
pub(super) const INFINITELY_SOFT: f64 = 1e150;

/// Rows, system and factor at one set of poses.
#[derive(Clone)]
pub(super) struct Linearisation {
    /// Ĵ by sides, rows × 6 each.
    pub jacobian: Vec<f64>,
    /// Velocity that bodies moved by the user give a row.
    pub drift: Vec<f64>,
    /// Square of a row's norm: how much one unit of its impulse moves it, the row alone.
    pub mobility: Vec<f64>,
    /// What a pivot is compared with: mobility and compliance.
    pub reference: Vec<f64>,
    /// Linear joint force on b per unit of row: lin of each row.
    pub directions: Vec<DVec3>,
    /// Law and compliance of every soft row, in the order of `layout.soft`.
    pub soft: Vec<SoftLaw>,
    /// Rates of the soft rows' coordinates at the start of the step.
    pub soft_rates: Vec<f64>,
    pub coupling_offset: Vec<f64>,
    /// Constant forces of force motors, hat accelerations of bodies.
    pub drive_forces: Vec<(u32, Hat)>,
    pub force_motors: Vec<(u32, f64)>,
    /// Per movable body: Ĵ_ang = whiteningᵀ · angular row, ω = whitening · (angular hat velocity).
    pub whitening: Vec<DMat3>,
    /// Rows that must be kept although their pivots are small, sorted; and those of the step before.
    pub needed: Vec<u32>,
    pub needed_before: Vec<u32>,
    /// Whether a row's impulse is one choice of many, and how many rows were dropped when that was found.
    pub not_unique: Vec<bool>,
    pub dropped_count: usize,
    /// Whether springs act with their whole impulse before the move.
    pub whole: bool,
    /// The poses, step and laws for which all this holds.
    held_for: Option<f64>,
    poses: Vec<(DVec3, DQuat)>,
    laws: Vec<(f64, f64)>,
    motions: Vec<Motion>,
}

/// A soft row: its linear law, and how it enters a step of size h.
///
/// The force f = bias − k (q − rest) − d q̇ acts over both halves of a step. With q̇½ = (q₁ − q₀)/h, the first half takes it
/// at (1−θ)q₀ + θq₁ and (1−φ)q̇₀ + φq̇½, the second at q₁ + θh q̇₁ and (1−φ)q̇½ + φq̇₁, so that both have the compliance
/// γ = 2/(h²kθ + hdφ). θ goes from 0 to 1 with h²k·mobility and φ from ½ to 1 with (hd·mobility)²: second order on slow
/// springs and dampers, L-stable on stiff ones (docs/method.md, Springs).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SoftLaw {
    pub law: Linear,
    pub theta: f64,
    phi: f64,
    pub compliance: f64,
    /// The part of the step's impulse that comes before the move.
    share: f64,
}

/// Rises from 0 to 1, flat at both ends, so that slow rows keep their order and stiff ones their stability.
fn blend(x: f64) -> f64 {
    let square = x * x;
    if square.is_finite() { square / (1.0 + square) } else { 1.0 }
}

impl SoftLaw {
    pub fn of(law: Linear) -> Self {
        SoftLaw { law, ..SoftLaw::default() }
    }

    pub fn new(law: Linear, h: f64, mobility: f64) -> Self {
        let theta = blend(h * h * law.stiffness * mobility);
        let phi = 0.5 + 0.5 * blend((h * law.damping * mobility).powi(2));
        let softest = SOFTEST * mobility.max(f64::MIN_POSITIVE);
        let compliance = (2.0 / (h * h * law.stiffness * theta + h * law.damping * phi)).min(softest);
        SoftLaw { law, theta, phi, compliance, share: 0.5 }
    }

    /// The law where all of a step's impulse comes before the move (backward Euler): of what is in contact.
    pub fn whole(law: Linear, h: f64, mobility: f64) -> Self {
        let softest = SOFTEST * mobility.max(f64::MIN_POSITIVE);
        let compliance = (1.0 / (h * h * law.stiffness + h * law.damping)).min(softest);
        SoftLaw { law, theta: 1.0, phi: 1.0, compliance, share: 1.0 }
    }

    /// What must vanish at the end of the first half, for a coordinate that goes from q₀ (at rate q̇₀) to q₁.
    pub fn position_residual(&self, q0: f64, rate0: f64, q1: f64, impulse: f64, h: f64) -> f64 {
        let Linear { stiffness: k, damping: d, rest, bias } = self.law;
        let elastic = k * ((1.0 - self.theta) * (q0 - rest) + self.theta * (q1 - rest));
        let viscous = d * ((1.0 - self.phi) * rate0 + self.phi * (q1 - q0) / h);
        self.compliance * (impulse + self.share * h * (elastic + viscous - bias))
    }

    /// What must vanish after the second half, at q₁ and rate q̇₁, for a mean rate q̇½ over the step.
    pub fn velocity_residual(&self, q1: f64, mean_rate: f64, rate1: f64, impulse: f64, h: f64) -> f64 {
        let Linear { stiffness: k, damping: d, rest, bias } = self.law;
        let elastic = k * (q1 - rest + self.theta * h * rate1);
        let viscous = d * ((1.0 - self.phi) * mean_rate + self.phi * rate1);
        self.compliance * (impulse + 0.5 * h * (elastic + viscous - bias))
    }
}

impl Linearisation {
    pub fn new(layout: &Layout) -> Self {
        Linearisation {
            jacobian: vec![0.0; layout.jacobian_len],
            drift: vec![0.0; layout.rows],
            mobility: vec![0.0; layout.rows],
            reference: vec![0.0; layout.rows],
            directions: vec![DVec3::ZERO; layout.rows],
            soft: vec![SoftLaw::default(); layout.soft.len()],
            soft_rates: vec![0.0; layout.soft.len()],
            coupling_offset: vec![0.0; layout.rows],
            drive_forces: Vec::with_capacity(2 * layout.tracked.len()),
            force_motors: Vec::with_capacity(layout.tracked.len()),
            whitening: vec![DMat3::ZERO; layout.movable],
            needed: Vec::new(),
            needed_before: Vec::new(),
            not_unique: vec![false; layout.rows],
            dropped_count: 0,
            whole: false,
            held_for: None,
            poses: vec![(DVec3::ZERO, DQuat::IDENTITY); layout.bodies.len()],
            laws: vec![(0.0, 0.0); layout.soft.len()],
            motions: vec![Motion::default(); layout.bodies.len()],
        }
    }

    /// Parts of a hub move together: ±1 in hat coordinates, whatever the pose. A hub's own node has the pivot −1.
    pub fn set_fixations(&mut self, layout: &Layout) {
        for node in &layout.nodes {
            let rows = node.row as usize..node.row as usize + node.rows as usize;
            match node.source {
                Source::Fixation => self.mobility[rows].fill(2.0),
                Source::Hub => self.mobility[rows].fill(-1.0),
                _ => {}
            }
        }
        for node in layout.nodes.iter().filter(|n| n.source == Source::Fixation) {
            for s in node.sides.0..node.sides.1 {
                let side = &layout.sides[s as usize];
                for k in 0..6 {
                    self.jacobian[side.jacobian as usize + 7 * k] = if side.is_b { -1.0 } else { 1.0 };
                }
            }
        }
    }

    pub fn gather(&mut self, layout: &Layout, joints: &Joints) {
        for (k, s) in layout.soft.iter().enumerate() {
            if let Some(joint) = joints.at(s.joint as usize) {
                self.soft[k].law = joint.drives[s.coordinate as usize].linear();
            }
        }
        for node in &layout.nodes {
            if let Source::Coupling { slot, .. } = node.source {
                let coupling = joints.at(slot as usize).and_then(|j| j.coupling.as_ref());
                self.coupling_offset[node.row as usize] = coupling.map_or(0.0, |c| c.offset);
            }
        }
        self.force_motors.clear();
        for (k, t) in layout.tracked.iter().enumerate() {
            let force = joints.at(t.joint as usize).map_or(0.0, |j| j.drives[t.coordinate as usize].force());
            if force != 0.0 {
                self.force_motors.push((k as u32, force));
            }
        }
    }

    /// Whether a system stands here that was linearised at these poses of the movable bodies.
    pub fn holds_at(&self, poses: impl Iterator<Item = (DVec3, DQuat)>) -> bool {
        self.held_for.is_some() && self.poses.iter().zip(poses).all(|(l, p)| *l == p)
    }

    /// Takes over what a step reads of the joints, and which rows it needs, from another one of the same mechanism.
    pub fn read_like(&mut self, other: &Linearisation) {
        self.needed.clone_from(&other.needed);
        self.coupling_offset.clone_from(&other.coupling_offset);
    }

    /// Forgets what was linearised, so that the next call does it anew.
    pub fn forget(&mut self) {
        self.held_for = None;
    }
}

impl Mechanism {
    /// Linearises at the present poses for steps of size `h`, unless that is what the system already holds.
    pub(crate) fn linearise_here(&mut self, h: f64) {
        let lin = &self.linear;
        // without soft rows the system does not depend on the step
        let same = lin.held_for.is_some_and(|held| held == h || lin.soft.is_empty())
            && lin.poses.iter().zip(&self.pose).all(|(l, p)| l.0 == p.x && l.1 == p.q)
            && lin.laws.iter().zip(&lin.soft).all(|(l, s)| *l == (s.law.stiffness, s.law.damping))
            && lin.motions.iter().zip(&self.outside).all(|(l, m)| l.v == m.v && l.w == m.w);
        if !same {
            self.whiten_plainly();
            self.linearise(h);
            let lin = &mut self.linear;
            lin.held_for = Some(h);
            for (l, p) in lin.poses.iter_mut().zip(&self.pose) {
                *l = (p.x, p.q);
            }
            for (l, s) in lin.laws.iter_mut().zip(&lin.soft) {
                *l = (s.law.stiffness, s.law.damping);
            }
            lin.motions.copy_from_slice(&self.outside);
            self.find_not_unique();
            self.bounded.stale = true;
        }
        self.refresh_drive_forces();
    }

    /// Hat coordinates of the bodies' own inertia at `pose`.
    pub(super) fn whiten_plainly(&mut self) {
        for k in 0..self.layout.movable {
            let i = self.inertia[k].inv_sqrt;
            let r = &self.pose[k].r;
            self.linear.whitening[k] = DMat3::from_cols(r.x_axis * i.x, r.y_axis * i.y, r.z_axis * i.z);
        }
    }

    /// Rows, system and factor at `pose`, in the hat coordinates of `whitening`. The compliance of soft rows is for steps of `h`.
    pub(super) fn linearise(&mut self, h: f64) {
        self.linear.forget();
        self.write_rows();
        self.timer.lap(|s| &mut s.assemble);
        self.set_soft_laws(h);
        self.sum_products(|soft| soft.compliance);
        self.timer.lap(|s| &mut s.assemble);
        self.factorise();
        self.timer.lap(|s| &mut s.factor);
    }

    /// How soft rows enter a step of `h`, once rows are written.
    pub(super) fn set_soft_laws(&mut self, h: f64) {
        for (k, s) in self.layout.soft.iter().enumerate() {
            let mobility = self.linear.mobility[s.row as usize];
            let law = if self.linear.whole { SoftLaw::whole } else { SoftLaw::new };
            self.linear.soft[k] = law(self.linear.soft[k].law, h, mobility);
        }
    }

    /// Writes Ĵ, drift, mobility and directions at `pose`.
    pub(super) fn write_rows(&mut self) {
        let at_midpoint = self.is_iterative();
        let lin = &mut self.linear;
        let mut rows = [Row::default(); MAX_ROWS];
        for node in &self.layout.nodes {
            let first = node.row as usize;
            let (count, hard) = (node.rows as usize, node.hard as usize);
            match node.source {
                Source::Joint { model, .. } => {
                    let m = &self.layout.models[model as usize];
                    let (a, b) = (&self.pose[node.a as usize], &self.pose[node.b as usize]);
                    m.rows(a, b, &mut rows);
                    for (k, s) in self.layout.soft[node.soft.0 as usize..node.soft.1 as usize].iter().enumerate() {
                        rows[hard + k] = m.coordinates[s.coordinate as usize].1.row(m, a, b);
                    }
                    if at_midpoint {
                        rows[..count].iter_mut().for_each(|row| super::iterative::act_at_midpoint(row, a.x, b.x));
                    }
                    lin.mobility[first..first + count].fill(0.0);
                    lin.drift[first..first + count].fill(0.0);
                    for r in 0..count {
                        lin.directions[first + r] = rows[r].lin;
                    }
                    for side in &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize] {
                        let (w, m) =
                            (&lin.whitening[side.body as usize], self.inertia[side.body as usize].inv_sqrt_mass);
                        let (out, mobility) = (&mut lin.jacobian[..], &mut lin.mobility[first..]);
                        with_size!(count, M => write_side::<M>(side, &rows, w, m, out, mobility));
                    }
                    for (body, is_b) in [(node.a, false), (node.b, true)] {
                        let motion = &self.outside[body as usize];
                        if body as usize >= self.layout.movable && (motion.v != DVec3::ZERO || motion.w != DVec3::ZERO)
                        {
                            for r in 0..count {
                                let (l, g) = if is_b { (1.0, rows[r].ang_b) } else { (-1.0, rows[r].ang_a) };
                                lin.drift[first + r] += l * rows[r].lin.dot(motion.v) + g.dot(motion.w);
                            }
                        }
                    }
                }
                Source::Coupling { first: t0, last: t1, .. } => {
                    for s in node.sides.0..node.sides.1 {
                        let at = self.layout.sides[s as usize].jacobian as usize;
                        lin.jacobian[at..at + 6].fill(0.0);
                    }
                    lin.drift[first] = 0.0;
                    for t in &self.layout.terms[t0 as usize..t1 as usize] {
                        let m = &self.layout.models[t.model as usize];
                        let (a, b) = (&self.pose[t.a as usize], &self.pose[t.b as usize]);
                        let mut row = m.coordinates[t.coordinate as usize].1.row(m, a, b).scaled(t.factor);
                        if at_midpoint {
                            super::iterative::act_at_midpoint(&mut row, a.x, b.x);
                        }
                        for (body, sign, ang) in [(t.a, -1.0, row.ang_a), (t.b, 1.0, row.ang_b)] {
                            if body as usize >= self.layout.movable {
                                let motion = &self.outside[body as usize];
                                lin.drift[first] += sign * row.lin.dot(motion.v) + ang.dot(motion.w);
                                continue;
                            }
                            let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
                            if let Some(side) = sides.iter().find(|s| s.body == body) {
                                let l = row.lin * (sign * self.inertia[body as usize].inv_sqrt_mass);
                                let g = lin.whitening[body as usize].transpose() * ang;
                                let out = &mut lin.jacobian[side.jacobian as usize..][..6];
                                for (e, x) in out.iter_mut().zip([l.x, l.y, l.z, g.x, g.y, g.z]) {
                                    *e += x;
                                }
                            }
                        }
                    }
                    lin.directions[first] = DVec3::ZERO;
                    lin.mobility[first] = (node.sides.0..node.sides.1)
                        .map(|s| self.layout.sides[s as usize].jacobian as usize)
                        .map(|at| lin.jacobian[at..at + 6].iter().map(|e| e * e).sum::<f64>())
                        .sum();
                }
                Source::Fixation | Source::Hub => {}
            }
        }
    }

    /// Softens every row by a fraction of its own mobility, so that rows that are almost redundant do not divide a small
    /// gap by a small pivot (Levenberg and Marquardt's damping, in the space of the rows).
    pub(super) fn soften(&mut self, fraction: f64) {
        for (index, node) in self.layout.nodes.iter().enumerate() {
            let m = node.rows as usize;
            let Some(tile) = self.layout.factor.target(index as u32, index as u32) else { continue };
            for r in 0..if node.source.is_internal() { 0 } else { m } {
                let row = node.row as usize + r;
                let softening = fraction * self.linear.mobility[row];
                self.linear.reference[row] += softening;
                self.layout.factor.values_mut()[tile as usize + r * (m + 1)] += softening;
            }
        }
    }

    /// Factorises the system that stands in the factor's store.
    pub(super) fn factorise(&mut self) {
        self.keep_needed_rows();
        self.layout.factor.factor(&self.linear.reference, self.layout.drop_fraction);
    }

    /// Sums A = Σ Ĵ_i Ĵ_kᵀ into the factor's store, and the compliance of soft rows on its diagonal.
    pub(super) fn sum_products(&mut self, compliance: impl Fn(&SoftLaw) -> f64) {
        let Layout { products, hub_tiles, hub_diagonals, factor, nodes, soft, .. } = &mut self.layout;
        let lin = &mut self.linear;
        super::assemble::sum_products(products, &lin.jacobian, factor.clear());
        super::assemble::write_hubs(hub_tiles, hub_diagonals, &lin.jacobian, factor.values_mut());
        lin.reference.copy_from_slice(&lin.mobility);
        for (index, node) in nodes.iter().enumerate().filter(|(_, n)| n.soft.0 < n.soft.1) {
            let Some(tile) = factor.target(index as u32, index as u32) else { continue };
            for k in node.soft.0 as usize..node.soft.1 as usize {
                let row = soft[k].row as usize;
                let compliance = compliance(&lin.soft[k]);
                lin.reference[row] += compliance;
                let place = (row - node.row as usize) * (node.rows as usize + 1);
                factor.values_mut()[tile as usize + place] += compliance;
            }
        }
    }

    /// Row velocities Ĵu + drift into `rhs`.
    pub(super) fn row_velocities(&mut self) {
        let lin = &self.linear;
        for node in &self.layout.nodes {
            let first = node.row as usize;
            let count = node.rows as usize;
            if node.source.is_internal() {
                self.rhs[first..first + count].fill(0.0);
                continue;
            }
            let sides = &self.layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            let (drift, out) = (&lin.drift[first..], &mut self.rhs[first..]);
            with_size!(count, M => row_velocities_of::<M>(sides, &lin.jacobian, &self.u, drift, out));
        }
    }

    /// u += Ĵᵀ p. What holds inside a body does not show.
    pub(super) fn apply(layout: &Layout, jacobian: &[f64], p: &[f64], u: &mut [Hat]) {
        for node in &layout.nodes {
            if node.source.is_internal() {
                continue;
            }
            let sides = &layout.sides[node.sides.0 as usize..node.sides.1 as usize];
            let p = &p[node.row as usize..];
            with_size!(node.rows, M => apply_node::<M>(sides, jacobian, p, u));
        }
    }

    /// Corrects the velocities so that every hard row is at rest and every soft row has had its second half; the impulses go to `correction`.
    pub(super) fn correct_velocities(&mut self, h: f64) {
        self.row_velocities();
        for (k, s) in self.layout.soft.iter().enumerate() {
            let at = self.first_value[s.model as usize] as usize + s.coordinate as usize;
            let r = s.row as usize;
            let m = &self.layout.models[s.model as usize];
            let kind = m.coordinates[s.coordinate as usize].1;
            let q = kind.unwrapped(m, &self.pose[s.a as usize], &self.pose[s.b as usize], self.near[at]);
            let mean_rate = (q - self.values[at]) / h;
            self.rhs[r] = self.linear.soft[k].velocity_residual(q, mean_rate, self.rhs[r], 0.0, h);
        }
        for r in &mut self.rhs {
            *r = -*r;
        }
        self.layout.factor.solve(&mut self.rhs);
        self.correction.copy_from_slice(&self.rhs);
        Self::apply(&self.layout, &self.linear.jacobian, &self.correction, &mut self.u);
    }

    /// Brings velocities that the user disturbed back to the joints, by impulses of the hard rows alone.
    pub(super) fn close_velocities(&mut self) {
        if self.is_iterative() {
            return self.stop_hard_rows(super::FITTING_STEP, 0.0);
        }
        self.row_velocities();
        for s in &self.layout.soft {
            self.rhs[s.row as usize] = 0.0;
        }
        for r in &mut self.rhs {
            *r = -*r;
        }
        self.layout.factor.solve(&mut self.rhs);
        for s in &self.layout.soft {
            self.rhs[s.row as usize] = 0.0;
        }
        Self::apply(&self.layout, &self.linear.jacobian, &self.rhs, &mut self.u);
    }

    /// The same where springs must not share in the impulses at all: velocities from outside fit no row yet, and what springs
    /// were given of the correction would be missing.
    pub(super) fn fit_velocities_to_hard_rows(&mut self) {
        if !self.layout.soft.is_empty() {
            self.sum_products(|_| INFINITELY_SOFT);
            self.factorise();
            self.linear.forget();
        }
        self.close_velocities();
    }

    /// Constant forces of force motors at the present poses.
    pub(super) fn refresh_drive_forces(&mut self) {
        self.linear.drive_forces.clear();
        for &(k, force) in &self.linear.force_motors {
            let t = &self.layout.tracked[k as usize];
            let m = &self.layout.models[t.model as usize];
            let kind = m.coordinates[t.coordinate as usize].1;
            let (a, b): (&Placed, &Placed) = (&self.pose[t.a as usize], &self.pose[t.b as usize]);
            let row = kind.row(m, a, b).scaled(force);
            for (body, is_b) in [(t.a, false), (t.b, true)] {
                if (body as usize) < self.layout.movable {
                    self.linear.drive_forces.push((body, self.hat_row(&row, body as usize, is_b)));
                }
            }
        }
    }

    /// A row on one of its bodies, in hat coordinates of the bodies' own inertia.
    pub(crate) fn hat_row(&self, row: &Row, body: usize, is_b: bool) -> Hat {
        let i = &self.inertia[body];
        let (sign, g) = if is_b { (i.inv_sqrt_mass, row.ang_b) } else { (-i.inv_sqrt_mass, row.ang_a) };
        let l = row.lin * sign;
        let g = (self.pose[body].r.transpose() * g) * i.inv_sqrt;
        [l.x, l.y, l.z, g.x, g.y, g.z]
    }
}

/// The M rows of a side in Ĵ.
#[inline(always)]
fn rows_of<'j, const M: usize>(side: &Side, jacobian: &'j [f64]) -> &'j [[f64; 6]; M] {
    let at = side.jacobian as usize;
    jacobian[at..at + 6 * M].as_chunks::<6>().0.first_chunk().expect("M rows of six")
}

/// Writes M rows on one of their bodies in hat coordinates, and adds the squares of their norms to their mobility.
#[inline(always)]
fn write_side<const M: usize>(
    side: &Side,
    rows: &[Row; MAX_ROWS],
    whitening: &DMat3,
    inv_sqrt_mass: f64,
    jacobian: &mut [f64],
    mobility: &mut [f64],
) {
    let at = side.jacobian as usize;
    let out = jacobian[at..at + 6 * M].as_chunks_mut::<6>().0;
    let mobility: &mut [f64; M] = mobility.first_chunk_mut().expect("M rows");
    let to_hat = whitening.transpose();
    for r in 0..M {
        let (l, g) = if side.is_b { (inv_sqrt_mass, rows[r].ang_b) } else { (-inv_sqrt_mass, rows[r].ang_a) };
        let (l, g) = (rows[r].lin * l, to_hat * g);
        out[r] = [l.x, l.y, l.z, g.x, g.y, g.z];
        mobility[r] += l.length_squared() + g.length_squared();
    }
}

/// Ĵu + drift of the M rows of a node.
#[inline(always)]
fn row_velocities_of<const M: usize>(sides: &[Side], jacobian: &[f64], u: &[Hat], drift: &[f64], out: &mut [f64]) {
    let mut sum: [f64; M] = *drift.first_chunk().expect("M rows");
    for side in sides {
        let (rows, u) = (rows_of::<M>(side, jacobian), &u[side.body as usize]);
        for r in 0..M {
            sum[r] += dot(&rows[r], u);
        }
    }
    *out.first_chunk_mut().expect("M rows") = sum;
}

/// u += Ĵᵀ p of the M rows of a node.
#[inline(always)]
fn apply_node<const M: usize>(sides: &[Side], jacobian: &[f64], p: &[f64], u: &mut [Hat]) {
    let p: &[f64; M] = p.first_chunk().expect("M rows");
    for side in sides {
        let (rows, u) = (rows_of::<M>(side, jacobian), &mut u[side.body as usize]);
        let mut sum = *u;
        for r in 0..M {
            for k in 0..6 {
                sum[k] = multiply_add(rows[r][k], p[r], sum[k]);
            }
        }
        *u = sum;
    }
}
