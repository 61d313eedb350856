//! Loops of a tree: the rates that keep them closed, and the accelerations and forces that go with them.
//!
//! The rows J of the joints that close loops are sparse: each has entries for the joints of its loop alone. Elimination with
//! the largest entry of every row as pivot makes some rates *dependent* and leaves the others *free*; rows that others imply
//! vanish. With N, the rates that the free ones bring about, q̇ = N z, motion has as many equations as the mechanism has freedoms:
//! (NᵀHN) z̈ = Nᵀ(τ − bias(q, q̇, a_p)), a = a_p + N z̈, where J a_p = −J̇q̇. A structure that cannot move has none at all.
//! The forces follow from Jᵀλ = bias(q, q̇, a) − τ; of rows that others imply they are zero.

use super::inverse::rnea_driven;
use super::kinematics::{Data, carrier_acceleration};
use super::model::{Model, NONE};
use super::spatial::{Force6, Motion6};
use crate::joint::rows::Row;
use crate::joint::{JointModel, MAX_ROWS, Motion};
use crate::math::{Placed, Wrench};
use glam::DVec3;

/// A joint that closes a loop, with the numbers of its bodies.
#[derive(Clone)]
pub(crate) struct Closing {
    pub a: u32,
    pub b: u32,
    pub model: JointModel,
    pub rows: usize,
}

/// A row after elimination: one at its own column, the rest at later ones.
#[derive(Clone, Copy)]
struct Pivot {
    column: u32,
    row: u32,
    scale: f64,
    entries: (u32, u32),
}

/// An entry below this part of the row's largest, after others were taken out, is rounding.
const IMPLIED: f64 = 1e-6;

/// Entries that are all below this part of what could have stood there are rounding from the start.
const ROUNDING: f64 = 1e-10;

/// A rate on the way around a loop: its column at the centre of mass of the closing joint's body on that side, and its lengths.
#[derive(Clone, Copy)]
struct Step {
    rate: u32,
    is_a: bool,
    s: Motion6,
    linear: f64,
    angular: f64,
}

/// The loops of a tree and the elimination of their rows.
#[derive(Clone, Default)]
pub(crate) struct Loops {
    pub closing: Vec<Closing>,
    pub rows: usize,
    pivots: Vec<Pivot>,
    entries: Vec<(u32, f64)>,
    /// What was taken out of each row: pivots with factors, by row.
    taken: Vec<(u32, f64)>,
    taken_of: Vec<(u32, u32)>,
    /// The pivot of each column, or none.
    pivot_of: Vec<u32>,
    pub free: Vec<u32>,
    /// N by free rate: a vector of all rates each.
    null: Vec<f64>,
    work: Vec<f64>,
    touched: Vec<u32>,
    /// The row in which each column was last touched.
    touched_in: Vec<u32>,
    next: Vec<u32>,
    path: Vec<Step>,
    /// NᵀHN at the poses of the elimination, once somebody needed it.
    mass: Option<Vec<f64>>,
    /// Whether the poses are others than those of the elimination: whoever needs it has it made then.
    pub stale: bool,
    y: Vec<f64>,
    residual: Vec<f64>,
    motions: Vec<Motion6>,
    system: Vec<f64>,
    z: Vec<f64>,
    pub multipliers: Vec<f64>,
}

impl Loops {
    pub fn new(closing: Vec<Closing>, rates: usize) -> Self {
        let rows = closing.iter().map(|c| c.rows).sum();
        Loops {
            closing,
            rows,
            pivot_of: vec![NONE; rates],
            work: vec![0.0; rates],
            touched_in: vec![NONE; rates],
            residual: vec![0.0; rows],
            multipliers: vec![0.0; rows],
            ..Loops::default()
        }
    }

    /// The same elimination as of another of the same loops, in the memory at hand.
    pub fn copy_from(&mut self, other: &Loops) {
        self.pivots.clone_from(&other.pivots);
        self.entries.clone_from(&other.entries);
        self.taken.clone_from(&other.taken);
        self.taken_of.clone_from(&other.taken_of);
        self.pivot_of.clone_from(&other.pivot_of);
        self.free.clone_from(&other.free);
        self.null.clone_from(&other.null);
        self.multipliers.clone_from(&other.multipliers);
        self.mass.clone_from(&other.mass);
        self.stale = other.stale;
    }

    /// Eliminates the rows at the present poses.
    pub fn eliminate(&mut self, model: &Model, data: &Data) {
        self.pivots.clear();
        self.entries.clear();
        self.taken.clear();
        self.taken_of.clear();
        self.pivot_of.fill(NONE);
        self.touched_in.fill(NONE);
        self.stale = false;
        self.mass = None;
        let mut row = 0;
        let all = std::mem::take(&mut self.closing);
        for closing in &all {
            let (a, b) = (placed(model, data, closing.a), placed(model, data, closing.b));
            let mut rows = [Row::default(); MAX_ROWS];
            closing.model.rows(&a, &b, &mut rows);
            self.path.clear();
            let Loops { path, .. } = self;
            between(model, data, (closing.a, a.x), (closing.b, b.x), |rate, is_a, s| {
                path.push(Step { rate: rate as u32, is_a, s, linear: s.v.length(), angular: s.w.length() });
            });
            for r in rows.iter().take(closing.rows) {
                self.touched.clear();
                let Loops { work, touched, touched_in, path, .. } = self;
                let (lin, ang_a, ang_b) = (r.lin.length(), r.ang_a.length(), r.ang_b.length());
                // entries may all be rounding, of a row across the plane of a flat linkage: what could have stood there counts
                let (mut size, mut found) = (0.0_f64, 0.0_f64);
                for step in path.iter() {
                    let value = match step.is_a {
                        true => (-r.lin).dot(step.s.v) + r.ang_a.dot(step.s.w),
                        false => r.lin.dot(step.s.v) + r.ang_b.dot(step.s.w),
                    };
                    size = size.max(lin * step.linear + if step.is_a { ang_a } else { ang_b } * step.angular);
                    found = found.max(value.abs());
                    work[step.rate as usize] = value;
                    touched.push(step.rate);
                    touched_in[step.rate as usize] = row as u32;
                }
                if found <= ROUNDING * size {
                    // whatever is taken out of it, nothing but rounding is left
                    touched.iter().for_each(|&c| work[c as usize] = 0.0);
                    self.taken_of.push((self.taken.len() as u32, self.taken.len() as u32));
                } else {
                    self.eliminate_row(row, size);
                }
                row += 1;
            }
        }
        self.closing = all;
        self.free = (0..model.rates() as u32).filter(|&c| self.pivot_of[c as usize] == NONE).collect();
        self.find_null_space(model.rates());
    }

    /// Takes earlier pivots out of the row in `work`; what is left below a small part of `size` is rounding.
    fn eliminate_row(&mut self, row: usize, size: f64) {
        let first = self.taken.len() as u32;
        // pivots in their order: what one brings in, a later one takes out
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend(self.touched.iter().map(|&c| self.pivot_of[c as usize]).filter(|&p| p != NONE));
        next.sort_unstable_by(|a, b| b.cmp(a));
        while let Some(p) = next.pop() {
            if next.last() == Some(&p) {
                continue;
            }
            let pivot = self.pivots[p as usize];
            let factor = self.work[pivot.column as usize];
            if factor == 0.0 {
                continue;
            }
            self.taken.push((p, factor));
            self.work[pivot.column as usize] = 0.0;
            for e in pivot.entries.0..pivot.entries.1 {
                let (column, value) = self.entries[e as usize];
                if self.touched_in[column as usize] != row as u32 {
                    self.touched_in[column as usize] = row as u32;
                    self.touched.push(column);
                    self.work[column as usize] = 0.0;
                    let q = self.pivot_of[column as usize];
                    if q != NONE {
                        let at = next.partition_point(|&x| x > q);
                        next.insert(at, q);
                    }
                }
                self.work[column as usize] -= factor * value;
            }
        }
        self.next = next;
        self.taken_of.push((first, self.taken.len() as u32));
        let best = self
            .touched
            .iter()
            .copied()
            .max_by(|&a, &b| self.work[a as usize].abs().total_cmp(&self.work[b as usize].abs()).then(b.cmp(&a)));
        if let Some(column) = best
            && self.work[column as usize].abs() > IMPLIED * size
        {
            let scale = 1.0 / self.work[column as usize];
            let begin = self.entries.len() as u32;
            self.touched.sort_unstable();
            for &c in &self.touched {
                if c != column && self.work[c as usize] != 0.0 {
                    self.entries.push((c, self.work[c as usize] * scale));
                }
            }
            self.pivot_of[column as usize] = self.pivots.len() as u32;
            let entries = (begin, self.entries.len() as u32);
            self.pivots.push(Pivot { column, row: row as u32, scale, entries });
        }
        for &c in &self.touched {
            self.work[c as usize] = 0.0;
        }
    }

    fn find_null_space(&mut self, rates: usize) {
        self.null.clear();
        self.null.resize(self.free.len() * rates, 0.0);
        for (j, &free) in self.free.iter().enumerate() {
            let column = &mut self.null[j * rates..(j + 1) * rates];
            column[free as usize] = 1.0;
            back_substitute(&self.pivots, &self.entries, None, column);
        }
    }

    /// Rates with J x = `right` whose free ones are zero.
    pub fn solve(&mut self, right: &[f64], x: &mut [f64]) {
        self.y.clear();
        for p in &self.pivots {
            let (first, last) = self.taken_of[p.row as usize];
            let mut y = right[p.row as usize];
            for &(earlier, factor) in &self.taken[first as usize..last as usize] {
                y -= factor * self.y[earlier as usize];
            }
            self.y.push(y * p.scale);
        }
        x.fill(0.0);
        back_substitute(&self.pivots, &self.entries, Some(&self.y), x);
    }

    /// Forces of the rows with Jᵀλ = `right`, a vector that they can make.
    fn solve_transposed(&mut self, right: &[f64]) {
        self.work.copy_from_slice(right);
        self.y.clear();
        for p in &self.pivots {
            let y = self.work[p.column as usize];
            for &(column, value) in &self.entries[p.entries.0 as usize..p.entries.1 as usize] {
                self.work[column as usize] -= value * y;
            }
            self.y.push(y);
        }
        self.work.fill(0.0);
        self.multipliers.fill(0.0);
        for (k, p) in self.pivots.iter().enumerate().rev() {
            let force = self.y[k] * p.scale;
            self.multipliers[p.row as usize] = force;
            let (first, last) = self.taken_of[p.row as usize];
            for &(earlier, factor) in &self.taken[first as usize..last as usize] {
                self.y[earlier as usize] -= factor * force;
            }
        }
    }

    /// Errors of the closing joints at the present poses; returns the largest.
    pub fn errors(&mut self, model: &Model, data: &Data) -> f64 {
        let mut k = 0;
        for c in &self.closing {
            let (a, b) = (placed(model, data, c.a), placed(model, data, c.b));
            c.model.error(&a, &b, 0.0, &mut self.residual[k..k + c.rows]);
            k += c.rows;
        }
        crate::math::max_abs(self.residual.iter().copied())
    }

    /// The change of positions, to first order, that takes out the errors just found.
    pub fn position_correction(&mut self, change: &mut [f64]) {
        let mut right = std::mem::take(&mut self.residual);
        right.iter_mut().for_each(|r| *r = -*r);
        self.solve(&right, change);
        self.residual = right;
    }

    /// Makes rates close the loops, with the motions of what is outside; `data` is driven with them.
    pub fn velocity_correction(&mut self, model: &Model, data: &Data, change: &mut [f64]) {
        let mut k = 0;
        let mut right = std::mem::take(&mut self.residual);
        for c in &self.closing {
            let (a, b) = (placed(model, data, c.a), placed(model, data, c.b));
            let (ua, ub) = (motion(model, data, c.a), motion(model, data, c.b));
            let mut rows = [Row::default(); MAX_ROWS];
            c.model.rows(&a, &b, &mut rows);
            for r in rows.iter().take(c.rows) {
                right[k] = -r.velocity(&ua, &ub);
                k += 1;
            }
        }
        self.solve(&right, change);
        self.residual = right;
    }

    /// Accelerations under external wrenches that keep the loops closed, at driven velocities: `data.acceleration`. The forces
    /// of the closing rows are in `multipliers`, and every link knows what its joint transmits.
    /// `None` if the system of the free rates is not positive definite.
    pub fn accelerate(&mut self, model: &Model, data: &mut Data, external: &[Wrench]) -> Option<()> {
        // what accelerates at constant rates
        for (k, link) in model.links.iter().enumerate() {
            let at = &data.links[k];
            data.links[k].a = carrier_acceleration(model, data, link, at) + at.c;
        }
        let mut right = std::mem::take(&mut self.residual);
        let mut k = 0;
        for c in &self.closing {
            let (a, b) = (placed(model, data, c.a), placed(model, data, c.b));
            let (ua, ub) = (motion(model, data, c.a), motion(model, data, c.b));
            let (aa, ab) = (acceleration(model, data, c.a), acceleration(model, data, c.b));
            let mut rows = [Row::default(); MAX_ROWS];
            c.model.rows(&a, &b, &mut rows);
            let mut bias = [0.0; MAX_ROWS];
            c.model.bias_acceleration(&a, &b, &ua, &ub, &mut bias);
            for r in 0..c.rows {
                right[k] = -(rows[r].velocity(&aa, &ab) + bias[r]);
                k += 1;
            }
        }
        let mut particular = std::mem::take(&mut data.acceleration);
        self.solve(&right, &mut particular);
        self.residual = right;
        if !self.free.is_empty() {
            rnea_driven(model, data, &particular, external);
            let n = model.rates();
            let z = &mut self.z;
            z.clear();
            for j in 0..self.free.len() {
                let column = &self.null[j * n..(j + 1) * n];
                z.push(-column.iter().zip(&data.force).map(|(a, b)| a * b).sum::<f64>());
            }
            self.free_system(model, data);
            if !solve_positive(&mut self.system, &mut self.z) {
                data.acceleration = particular;
                return None;
            }
            for (j, z) in self.z.iter().enumerate() {
                let column = &self.null[j * n..(j + 1) * n];
                particular.iter_mut().zip(column).for_each(|(p, c)| *p += z * c);
            }
        }
        self.react(model, data, &particular, external);
        data.acceleration = particular;
        Some(())
    }

    /// The forces of the closing rows under accelerations that keep the loops closed, and what every joint transmits.
    pub fn react(&mut self, model: &Model, data: &mut Data, accelerations: &[f64], external: &[Wrench]) {
        rnea_driven(model, data, accelerations, external);
        let force = std::mem::take(&mut data.force);
        self.solve_transposed(&force);
        data.force = force;
        self.transmit(model, data);
    }

    /// The mass that the free rates move, NᵀHN, on and below the diagonal.
    pub fn free_mass(&mut self, model: &Model, data: &Data, matrix: &mut [f64]) {
        self.free_system(model, data);
        matrix.copy_from_slice(&self.system);
    }

    /// Nᵀx: what acts on all rates, as it acts on the free ones.
    pub fn to_free(&self, x: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(self.null.chunks_exact(x.len().max(1)).map(|n| n.iter().zip(x).map(|(n, x)| n * x).sum::<f64>()));
    }

    /// Nz: all rates that the free ones bring about.
    pub fn spread_free(&self, z: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        for (z, column) in z.iter().zip(self.null.chunks_exact(x.len().max(1))) {
            x.iter_mut().zip(column).for_each(|(x, n)| *x += z * n);
        }
    }

    /// NᵀHN by the motions that the free rates bring about.
    fn free_system(&mut self, model: &Model, data: &Data) {
        if let Some(mass) = &self.mass {
            self.system.clone_from(mass);
            return;
        }
        let (f, n, links) = (self.free.len(), model.rates(), model.links.len());
        self.motions.clear();
        self.motions.resize(f * links, Motion6::default());
        self.system.clear();
        self.system.resize(f * f, 0.0);
        for j in 0..f {
            let column = &self.null[j * n..(j + 1) * n];
            for (k, link) in model.links.iter().enumerate() {
                let at = &data.links[k];
                let mut m = if link.parent == NONE {
                    Motion6::default()
                } else {
                    self.motions[j * links + link.parent as usize].at(at.r)
                };
                for i in link.v as usize..link.v as usize + link.rates as usize {
                    m += data.s[i] * column[i];
                }
                self.motions[j * links + k] = m;
            }
        }
        for (k, link) in model.links.iter().enumerate() {
            let inertia = super::aba::rigid(link, &data.links[k]);
            for j in 0..f {
                let p = inertia.times(self.motions[j * links + k]);
                for i in j..f {
                    self.system[i * f + j] += self.motions[i * links + k].dot(p);
                }
            }
        }
        self.mass = Some(self.system.clone());
    }

    /// Adds the forces of the closing rows to what the joints of the tree transmit.
    fn transmit(&mut self, model: &Model, data: &mut Data) {
        let mut k = 0;
        let mut extra = vec![Force6::default(); model.links.len()];
        for c in &self.closing {
            let (a, b) = (placed(model, data, c.a), placed(model, data, c.b));
            let mut rows = [Row::default(); MAX_ROWS];
            c.model.rows(&a, &b, &mut rows);
            for r in rows.iter().take(c.rows) {
                let force = self.multipliers[k];
                k += 1;
                for (body, x, lin, ang) in [(c.a, a.x, -r.lin, r.ang_a), (c.b, b.x, r.lin, r.ang_b)] {
                    let link = link_of(model, body);
                    if link >= 0 {
                        let lever = x - data.links[link as usize].o;
                        let f = lin * force;
                        extra[link as usize] += Force6::new(ang * force + lever.cross(f), f);
                    }
                }
            }
        }
        for k in (0..model.links.len()).rev() {
            let f = extra[k];
            data.links[k].p -= f;
            let parent = model.links[k].parent;
            if parent != NONE {
                extra[parent as usize] += f.carried(data.links[k].r);
            }
        }
    }
}

fn back_substitute(pivots: &[Pivot], entries: &[(u32, f64)], right: Option<&[f64]>, x: &mut [f64]) {
    for (k, p) in pivots.iter().enumerate().rev() {
        let mut sum = right.map_or(0.0, |y| y[k]);
        for &(column, value) in &entries[p.entries.0 as usize..p.entries.1 as usize] {
            sum -= value * x[column as usize];
        }
        x[p.column as usize] = sum;
    }
}

/// Cholesky's solution in place, lower half given; false if the matrix is not positive definite.
fn solve_positive(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    for j in 0..n {
        for k in 0..j {
            a[j * n + j] -= a[j * n + k] * a[j * n + k];
        }
        if a[j * n + j].is_nan() || a[j * n + j] <= 0.0 {
            return false;
        }
        a[j * n + j] = a[j * n + j].sqrt();
        for i in j + 1..n {
            for k in 0..j {
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            }
            a[i * n + j] /= a[j * n + j];
        }
    }
    for i in 0..n {
        for k in 0..i {
            b[i] -= a[i * n + k] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            b[i] -= a[k * n + i] * b[k];
        }
        b[i] /= a[i * n + i];
    }
    true
}

/// Visits the rates on the way between two bodies, each given with its centre of mass: how a row's velocity goes with them.
pub(crate) fn each_rate(
    model: &Model,
    data: &Data,
    row: &Row,
    a: (u32, DVec3),
    b: (u32, DVec3),
    mut visit: impl FnMut(usize, f64),
) {
    between(model, data, a, b, |rate, is_a, s| {
        let (lin, ang) = if is_a { (-row.lin, row.ang_a) } else { (row.lin, row.ang_b) };
        visit(rate, lin.dot(s.v) + ang.dot(s.w));
    });
}

/// Visits the rates on the way between two bodies: whether they move the first, and their column at that body's centre of mass.
fn between(model: &Model, data: &Data, a: (u32, DVec3), b: (u32, DVec3), mut visit: impl FnMut(usize, bool, Motion6)) {
    let (mut la, mut lb) = (link_of(model, a.0), link_of(model, b.0));
    while la != lb {
        // parents come before what they carry: the later of the two is not above the other
        let is_a = la > lb;
        let (link, x) = if is_a { (la, a.1) } else { (lb, b.1) };
        let l = &model.links[link as usize];
        let lever = x - data.links[link as usize].o;
        for column in l.v as usize..l.v as usize + l.rates as usize {
            visit(column, is_a, data.s[column].at(lever));
        }
        let above = if l.parent == NONE { -1 } else { i64::from(l.parent) };
        if is_a {
            la = above;
        } else {
            lb = above;
        }
    }
}

/// The link of a body, or −1 for what is outside.
fn link_of(model: &Model, body: u32) -> i64 {
    model.link_of.get(body as usize).map_or(-1, |&l| i64::from(l))
}

fn placed(model: &Model, data: &Data, body: u32) -> Placed {
    match link_of(model, body) {
        -1 => data.outside[body as usize - model.movable].0,
        link => data.links[link as usize].placed,
    }
}

fn motion(model: &Model, data: &Data, body: u32) -> Motion {
    match link_of(model, body) {
        -1 => data.outside[body as usize - model.movable].1,
        link => {
            let (v, w) = data.velocity(link as usize);
            Motion { v, w }
        }
    }
}

fn acceleration(model: &Model, data: &Data, body: u32) -> Motion {
    match link_of(model, body) {
        -1 => Motion::default(),
        link => {
            let (v, w) = data.body_acceleration(link as usize);
            Motion { v, w }
        }
    }
}
