//! Loops of a tree: the rates that keep them closed, and the accelerations and forces that go with them.
//!
//! The rows J of the joints that close loops are sparse: each has entries for the joints of its loop alone. Elimination with
//! the largest entry of every row as pivot makes some rates *dependent* and leaves the others *free*; rows that others imply
//! vanish. With N, the rates that the free ones bring about, q̇ = N z, motion has as many equations as the mechanism has freedoms:
//! (NᵀHN) z̈ = Nᵀ(τ − bias(q, q̇, a_p)), a = a_p + N z̈, where J a_p = −J̇q̇. A structure that cannot move has none at all.
//! The forces follow from Jᵀλ = bias(q, q̇, a) − τ; of rows that others imply they are zero.

use super::closing::{Closing, Part, acceleration, link_of, motion};
use super::inverse::rnea_driven;
use super::kinematics::{Data, carrier_acceleration};
use super::mass::composites;
use super::model::{Model, NONE};
use super::spatial::{Force6, Inertia6, Motion6};
use crate::joint::MAX_ROWS;
use crate::joint::rows::Row;
use crate::math::Wrench;
use glam::DVec3;

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

/// Entries that are all below this part of what could have stood there are rounding from the start: axes of a flat linkage are
/// parallel no better than its joints are closed, and what pivots add to them stays far below [`IMPLIED`].
const ROUNDING: f64 = 1e-8;

/// What is left of an entry that cancels, as a part of what could stand in its row.
const DUST: f64 = 4.0 * f64::EPSILON;

/// A rate on the way around a loop: its column at the centre of mass of the closing joint's body on that side.
#[derive(Clone, Copy)]
struct Step {
    rate: u32,
    is_a: bool,
    s: Motion6,
}

/// A column while a row is eliminated.
#[derive(Clone, Copy)]
struct Column {
    /// Of the row at hand.
    value: f64,
    /// The row in which it was last touched.
    touched_in: u32,
    /// The pivot in it, or none.
    pivot: u32,
    /// How many loops it is a part of.
    loops: u32,
}

const UNTOUCHED: Column = Column { value: 0.0, touched_in: NONE, pivot: NONE, loops: 0 };

/// An entry may be the pivot of its row if it has so much of the largest one: of these the one of the fewest loops is, so that a
/// crank on which many legs turn stays free, and what is eliminated in one leg is not felt in the others.
const PIVOT: f64 = 0.1;

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
    /// Rows at the poses of the elimination.
    parts: Vec<Part>,
    held: Vec<Row>,
    columns: Vec<Column>,
    /// Whether loops are counted by column.
    counted: bool,
    pub free: Vec<u32>,
    /// The place of each column among the free ones, or none.
    place_of: Vec<u32>,
    /// Places among the free rates of those that others depend on, and N without its unit entries for these: a vector of all
    /// rates each. A rate that nothing depends on, as those of a floating base, moves by itself.
    leading: Vec<u32>,
    null: Vec<f64>,
    touched: Vec<u32>,
    work: Vec<f64>,
    /// Pivots that the row in work has yet to take out, a bit each.
    pending: Vec<u64>,
    path: Vec<Step>,
    /// The longest columns on it: linear, and angular on both sides.
    reach: [f64; 3],
    /// What could stand in the row in work, and what does.
    row_size: (f64, f64),
    /// NᵀHN at the poses of the elimination, once somebody needed it.
    mass: Option<Vec<f64>>,
    composite: Vec<Inertia6>,
    momenta: Vec<Force6>,
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
        let rows = closing.iter().map(Closing::rows).sum();
        Loops {
            closing,
            rows,
            columns: vec![UNTOUCHED; rates],
            place_of: vec![NONE; rates],
            pending: vec![0; rates.div_ceil(64)],
            work: vec![0.0; rates],
            residual: vec![0.0; rows],
            multipliers: vec![0.0; rows],
            ..Loops::default()
        }
    }

    /// The same elimination as of another of the same loops, in the memory at hand; its rows are not.
    pub fn copy_from(&mut self, other: &Loops) {
        self.pivots.clone_from(&other.pivots);
        self.entries.clone_from(&other.entries);
        self.taken.clone_from(&other.taken);
        self.taken_of.clone_from(&other.taken_of);
        self.free.clone_from(&other.free);
        self.place_of.clone_from(&other.place_of);
        self.leading.clone_from(&other.leading);
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
        self.columns.iter_mut().for_each(|c| *c = Column { loops: c.loops, ..UNTOUCHED });
        self.stale = false;
        self.mass = None;
        self.parts.clear();
        self.held.clear();
        let mut row = 0;
        for closing in &self.closing {
            closing.write(model, data, row, &mut self.parts, &mut self.held);
            row += closing.rows() as u32;
        }
        if !std::mem::replace(&mut self.counted, true) {
            for part in &self.parts {
                let columns = &mut self.columns;
                between(model, data, (part.a, part.xa), (part.b, part.xb), |rate, _, _| columns[rate].loops += 1);
            }
        }
        for k in 0..self.parts.len() {
            let part = self.parts[k];
            self.walk(model, data, &part);
            // a coupling adds up the parts of its coordinates
            let is_first = k == 0 || self.parts[k - 1].row != part.row;
            let is_last = self.parts.get(k + 1).is_none_or(|next| next.row != part.row);
            for (row, at) in (part.row as usize..).zip(part.first as usize..part.last as usize) {
                if is_first {
                    self.touched.clear();
                    self.row_size = (0.0, 0.0);
                }
                let held = self.held[at];
                self.write_row(row, &held);
                if is_last {
                    self.finish_row(row);
                }
            }
        }
        self.find_null_space(model.rates());
    }

    /// Finds the rates on the way between the bodies of a closing joint.
    fn walk(&mut self, model: &Model, data: &Data, part: &Part) {
        let Loops { path, reach, .. } = self;
        path.clear();
        *reach = [0.0; 3];
        between(model, data, (part.a, part.xa), (part.b, part.xb), |rate, is_a, s| {
            path.push(Step { rate: rate as u32, is_a, s });
            reach[0] = reach[0].max(s.v.length_squared());
            let angular = &mut reach[if is_a { 1 } else { 2 }];
            *angular = angular.max(s.w.length_squared());
        });
        reach.iter_mut().for_each(|r| *r = r.sqrt());
    }

    /// Adds what a row says about the rates on its way to the row in `work`.
    fn write_row(&mut self, row: usize, r: &Row) {
        let Loops { columns, touched, path, .. } = self;
        let (mut size, mut found) = self.row_size;
        let [linear, on_a, on_b] = self.reach;
        size = size.max(r.lin.length() * linear + (r.ang_a.length() * on_a).max(r.ang_b.length() * on_b));
        for step in path.iter() {
            let value = match step.is_a {
                true => (-r.lin).dot(step.s.v) + r.ang_a.dot(step.s.w),
                false => r.lin.dot(step.s.v) + r.ang_b.dot(step.s.w),
            };
            found = found.max(value.abs());
            let column = &mut columns[step.rate as usize];
            if column.touched_in != row as u32 {
                (column.touched_in, column.value) = (row as u32, 0.0);
                touched.push(step.rate);
            }
            column.value += value;
        }
        self.row_size = (size, found);
    }

    /// Eliminates the row at hand, unless all of it is rounding, as of a row across the plane of a flat linkage: what could have
    /// stood there counts.
    fn finish_row(&mut self, row: usize) {
        let (size, found) = self.row_size;
        if found <= ROUNDING * size {
            self.taken_of.push((self.taken.len() as u32, self.taken.len() as u32));
        } else {
            self.eliminate_row(row, size);
        }
    }

    /// Takes earlier pivots out of the row at hand; what is left below a small part of `size` is rounding.
    fn eliminate_row(&mut self, row: usize, size: f64) {
        let first = self.taken.len() as u32;
        let Loops { columns, touched, pending, pivots, entries, taken, .. } = self;
        let await_pivot = |pending: &mut [u64], p: u32| {
            if p != NONE {
                pending[p as usize / 64] |= 1 << (p % 64);
            }
        };
        touched.iter().for_each(|&column| await_pivot(pending, columns[column as usize].pivot));
        // pivots in their order: what one brings in, a later one takes out
        let mut at = 0;
        while 64 * at < pivots.len() {
            if pending[at] == 0 {
                at += 1;
                continue;
            }
            let p = 64 * at + pending[at].trailing_zeros() as usize;
            pending[at] &= pending[at] - 1;
            let pivot = pivots[p];
            let factor = std::mem::take(&mut columns[pivot.column as usize].value);
            if factor.abs() <= DUST * size {
                continue;
            }
            taken.push((p as u32, factor));
            for &(column, value) in &entries[pivot.entries.0 as usize..pivot.entries.1 as usize] {
                let entry = &mut columns[column as usize];
                if entry.touched_in != row as u32 {
                    (entry.touched_in, entry.value) = (row as u32, 0.0);
                    touched.push(column);
                    await_pivot(pending, entry.pivot);
                }
                entry.value -= factor * value;
            }
        }
        self.taken_of.push((first, taken.len() as u32));
        let largest = touched.iter().fold(0.0_f64, |m, &c| m.max(columns[c as usize].value.abs()));
        if largest > IMPLIED * size {
            let (mut best, mut least) = (NONE, (u32::MAX, 0.0));
            for &c in touched.iter() {
                let column = &columns[c as usize];
                let x = column.value.abs();
                if x >= PIVOT * largest && (column.loops < least.0 || column.loops == least.0 && x > least.1) {
                    (best, least) = (c, (column.loops, x));
                }
            }
            let scale = 1.0 / columns[best as usize].value;
            let begin = entries.len() as u32;
            for &column in touched.iter().filter(|c| **c != best) {
                let value = columns[column as usize].value;
                if value.abs() > DUST * size {
                    entries.push((column, value * scale));
                }
            }
            columns[best as usize].pivot = pivots.len() as u32;
            pivots.push(Pivot { column: best, row: row as u32, scale, entries: (begin, entries.len() as u32) });
        }
    }

    /// Finds the free rates and what they bring about.
    fn find_null_space(&mut self, rates: usize) {
        self.free.clear();
        for column in 0..rates as u32 {
            let is_free = self.columns[column as usize].pivot == NONE;
            self.place_of[column as usize] = if is_free { self.free.len() as u32 } else { NONE };
            if is_free {
                self.free.push(column);
            }
        }
        self.leading.clear();
        let columns = &mut self.columns;
        columns.iter_mut().for_each(|c| c.touched_in = NONE);
        self.entries.iter().for_each(|&(column, _)| columns[column as usize].touched_in = 0);
        let leads = |j: &u32| columns[self.free[*j as usize] as usize].touched_in == 0;
        self.leading.extend((0..self.free.len() as u32).filter(leads));
        self.null.clear();
        self.null.resize(self.leading.len() * rates, 0.0);
        for (&j, column) in self.leading.iter().zip(self.null.chunks_exact_mut(rates.max(1))) {
            let own = self.free[j as usize] as usize;
            column[own] = 1.0;
            back_substitute(&self.pivots, &self.entries, None, column);
            column[own] = 0.0;
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
            c.errors(model, data, &mut self.residual[k..k + c.rows()]);
            k += c.rows();
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

    /// Makes rates close the loops, with the motions of what is outside; `data` moves with them, where rows were eliminated.
    pub fn velocity_correction(&mut self, model: &Model, data: &Data, change: &mut [f64]) {
        let mut right = std::mem::take(&mut self.residual);
        right.fill(0.0);
        for part in &self.parts {
            let (ua, ub) = (motion(model, data, part.a), motion(model, data, part.b));
            part.each(&self.held, |row, r| right[row] -= r.velocity(&ua, &ub));
        }
        self.solve(&right, change);
        self.residual = right;
    }

    /// Accelerations under external wrenches that keep the loops closed, at driven velocities: `data.acceleration`. `None` if the
    /// system of the free rates is not positive definite.
    pub fn accelerate(&mut self, model: &Model, data: &mut Data, external: &[Wrench]) -> Option<()> {
        // what accelerates at constant rates
        for (k, link) in model.links.iter().enumerate() {
            let at = &data.links[k];
            data.links[k].a = carrier_acceleration(model, data, link, at) + at.c;
        }
        let mut right = std::mem::take(&mut self.residual);
        let mut k = 0;
        for c in &self.closing {
            let mut bias = [0.0; MAX_ROWS];
            c.bias(model, data, &mut bias);
            right[k..k + c.rows()].iter_mut().zip(bias).for_each(|(x, b)| *x = -b);
            k += c.rows();
        }
        for part in &self.parts {
            let (aa, ab) = (acceleration(model, data, part.a), acceleration(model, data, part.b));
            part.each(&self.held, |row, r| right[row] -= r.velocity(&aa, &ab));
        }
        let mut particular = std::mem::take(&mut data.acceleration);
        self.solve(&right, &mut particular);
        self.residual = right;
        if !self.free.is_empty() {
            rnea_driven(model, data, &particular, external);
            let mut z = std::mem::take(&mut self.z);
            self.to_free(&data.force, &mut z);
            z.iter_mut().for_each(|z| *z = -*z);
            self.free_system(model, data);
            let is_definite = solve_positive(&mut self.system, &mut z);
            if is_definite {
                self.add_free(&z, &mut particular);
            }
            self.z = z;
            if !is_definite {
                data.acceleration = particular;
                return None;
            }
        }
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
        out.extend(self.free.iter().map(|&rate| x[rate as usize]));
        for (&j, column) in self.leading.iter().zip(self.null.chunks_exact(x.len().max(1))) {
            out[j as usize] += column.iter().zip(x).map(|(n, x)| n * x).sum::<f64>();
        }
    }

    /// Adds Nᵀx of an x with a single entry.
    pub fn add_to_free(&self, rate: usize, x: f64, out: &mut [f64]) {
        let place = self.place_of[rate];
        if place != NONE {
            out[place as usize] += x;
            return;
        }
        for (&j, column) in self.leading.iter().zip(self.null.chunks_exact(self.place_of.len())) {
            out[j as usize] += column[rate] * x;
        }
    }

    /// Nz: all rates that the free ones bring about.
    pub fn spread_free(&self, z: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        self.add_free(z, x);
    }

    fn add_free(&self, z: &[f64], x: &mut [f64]) {
        self.free.iter().zip(z).for_each(|(&rate, z)| x[rate as usize] += z);
        for (&j, column) in self.leading.iter().zip(self.null.chunks_exact(x.len().max(1))) {
            x.iter_mut().zip(column).for_each(|(x, n)| *x += z[j as usize] * n);
        }
    }

    /// NᵀHN: of rates that lead others by the motions that they bring about, of all others as composite bodies.
    fn free_system(&mut self, model: &Model, data: &Data) {
        if let Some(mass) = &self.mass {
            self.system.clone_from(mass);
            return;
        }
        let (f, n, links) = (self.free.len(), model.rates(), model.links.len());
        self.system.clear();
        self.system.resize(f * f, 0.0);
        let leads = |place: u32| self.leading.binary_search(&place).is_ok();
        if self.leading.len() < f {
            composites(model, data, &mut self.composite);
            for (place, &rate) in self.free.iter().enumerate().filter(|(place, _)| !leads(*place as u32)) {
                let mut k = model.links.partition_point(|link| link.v <= rate) - 1;
                let mut force = self.composite[k].times(data.s[rate as usize]);
                loop {
                    let link = &model.links[k];
                    for column in link.v..(link.v + u32::from(link.rates)).min(rate + 1) {
                        let other = self.place_of[column as usize];
                        if other != NONE && !leads(other) {
                            self.system[place * f + other as usize] = data.s[column as usize].dot(force);
                        }
                    }
                    if link.parent == NONE {
                        break;
                    }
                    force = force.carried(data.links[k].r);
                    k = link.parent as usize;
                }
            }
        }
        self.motions.clear();
        self.motions.resize(self.leading.len() * links, Motion6::default());
        self.momenta.clear();
        self.momenta.resize(self.leading.len() * links, Force6::default());
        for (l, &lead) in self.leading.iter().enumerate() {
            let (column, own) = (&self.null[l * n..(l + 1) * n], self.free[lead as usize]);
            let motions = &mut self.motions[l * links..(l + 1) * links];
            let momenta = &mut self.momenta[l * links..(l + 1) * links];
            for (k, link) in model.links.iter().enumerate() {
                let at = &data.links[k];
                let mut m =
                    if link.parent == NONE { Motion6::default() } else { motions[link.parent as usize].at(at.r) };
                for i in link.v..link.v + u32::from(link.rates) {
                    m += data.s[i as usize] * (column[i as usize] + if i == own { 1.0 } else { 0.0 });
                }
                motions[k] = m;
                momenta[k] = super::aba::inertia_times(link, at, m);
            }
        }
        for (a, &first) in self.leading.iter().enumerate() {
            let momenta = &self.momenta[a * links..(a + 1) * links];
            for (b, &second) in self.leading.iter().enumerate().skip(a) {
                let motions = &self.motions[b * links..(b + 1) * links];
                let entry: f64 = motions.iter().zip(momenta).map(|(m, p)| m.dot(*p)).sum();
                self.system[second as usize * f + first as usize] = entry;
            }
        }
        // what a leading rate gives to all that a rate by itself carries
        for (l, &lead) in self.leading.iter().enumerate() {
            let momenta = &mut self.momenta[l * links..(l + 1) * links];
            for (k, link) in model.links.iter().enumerate().rev() {
                for rate in link.v..link.v + u32::from(link.rates) {
                    let place = self.place_of[rate as usize];
                    if place != NONE && !leads(place) {
                        let (row, column) = (place.max(lead) as usize, place.min(lead) as usize);
                        self.system[row * f + column] = data.s[rate as usize].dot(momenta[k]);
                    }
                }
                if link.parent != NONE {
                    let carried = momenta[k].carried(data.links[k].r);
                    momenta[link.parent as usize] += carried;
                }
            }
        }
        self.mass = Some(self.system.clone());
    }

    /// Adds the forces of the closing rows to what the joints of the tree transmit.
    fn transmit(&mut self, model: &Model, data: &mut Data) {
        let mut extra = vec![Force6::default(); model.links.len()];
        for part in &self.parts {
            part.each(&self.held, |row, r| {
                let force = self.multipliers[row];
                for (body, x, lin, ang) in [(part.a, part.xa, -r.lin, r.ang_a), (part.b, part.xb, r.lin, r.ang_b)] {
                    let link = link_of(model, body);
                    if link >= 0 {
                        let (lever, f) = (x - data.links[link as usize].o, lin * force);
                        extra[link as usize] += Force6::new(ang * force + lever.cross(f), f);
                    }
                }
            });
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
