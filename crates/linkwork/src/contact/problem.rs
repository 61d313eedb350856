//! Contacts of an island in the space of its free motions.
//!
//! The free motions of a unit (a body without joints, or a mechanism) are coordinates z in which its response to an
//! impulse is the identity: a body's hat coordinates, or a basis of what the joints leave free. A contact's rows G map z to its
//! relative velocity, v = G z + b, and its impulse λ acts by z += Gᵀλ. Entries of one row and bounds are limits, friction
//! and motors of joints.

use super::cone;
use crate::math::max_abs;

/// Units that an entry may act on at most: those of two joints that are coupled.
pub(super) const MOST_SIDES: usize = 4;

/// Rows of an entry on one unit: `rows × size` numbers at `data`, for the coordinates from `first` on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Side {
    pub first: u32,
    pub size: u32,
    pub data: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Law {
    /// Three rows, the normal first; μ.
    Cone(f64),
    /// One row with bounds of its impulse.
    Bounds(f64, f64),
    /// Up to three rows of a joint.
    Joint(u8),
}

/// An entry: what touches, or a bounded row. Its impulse answers as λ = P(start − stiffness (v − target)).
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub law: Law,
    pub sides: [Side; MOST_SIDES],
    /// Velocity without impulses.
    pub b: [f64; 3],
    /// Wanted velocity along the first row: less is resisted.
    pub target: f64,
    /// De Saxcé's μ|v_t| of the last step, for when that of this one does not settle.
    pub slip: f64,
    pub start: [f64; 3],
    pub stiffness: f64,
    /// Of a row that gives way by itself (a servo); zero for all others.
    pub compliance: f64,
    /// Of a soft contact that becomes stiffer under load: the impulse up to which it does not, and its stiffness then. Zero for
    /// all others.
    pub rest_load: f64,
    pub rest_stiffness: f64,
    /// The answer.
    pub impulse: [f64; 3],
    pub velocity: [f64; 3],
}

impl Entry {
    pub fn rows(&self) -> usize {
        match self.law {
            Law::Cone(_) => 3,
            Law::Bounds(..) => 1,
            Law::Joint(rows) => usize::from(rows),
        }
    }

    pub fn drive(&self, v: &[f64; 3]) -> [f64; 3] {
        let k = self.stiffness;
        [self.start[0] - k * (v[0] - self.target), self.start[1] - k * v[1], self.start[2] - k * v[2]]
    }

    /// Rows on up to two units, with velocities to come.
    pub fn on(law: Law, sides: [Side; 2]) -> Entry {
        let none = Side::default();
        Entry {
            law,
            sides: [sides[0], sides[1], none, none],
            b: [0.0; 3],
            target: 0.0,
            slip: 0.0,
            start: [0.0; 3],
            stiffness: 0.0,
            compliance: 0.0,
            rest_load: 0.0,
            rest_stiffness: 0.0,
            impulse: [0.0; 3],
            velocity: [0.0; 3],
        }
    }

    /// The impulse for a velocity.
    pub fn answer(&self, v: &[f64; 3]) -> [f64; 3] {
        let z = self.drive(v);
        match self.law {
            Law::Cone(mu) => cone::project(&z, mu),
            Law::Bounds(lo, hi) => [z[0].clamp(lo, hi), 0.0, 0.0],
            Law::Joint(_) => z,
        }
    }

    /// −∂λ/∂v.
    pub fn slope(&self, v: &[f64; 3]) -> [[f64; 3]; 3] {
        let z = self.drive(v);
        let mut d = match self.law {
            Law::Cone(mu) => cone::derivative(&z, mu),
            Law::Bounds(lo, hi) => {
                let inside = z[0] > lo && z[0] < hi;
                [[f64::from(inside), 0.0, 0.0], [0.0; 3], [0.0; 3]]
            }
            Law::Joint(_) => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        };
        d.iter_mut().flatten().for_each(|e| *e *= self.stiffness);
        d
    }
}

/// The entries of an island and the numbers of their rows.
#[derive(Default)]
pub(super) struct Problem {
    pub entries: Vec<Entry>,
    pub data: Vec<f64>,
    /// Number of coordinates, and where each unit begins; units are cut into blocks of up to six.
    pub size: usize,
    pub units: Vec<(u32, u32)>,
}

impl Problem {
    pub fn clear(&mut self) {
        self.entries.clear();
        self.data.clear();
        self.units.clear();
        self.size = 0;
    }

    /// Adds a unit of `size` coordinates and returns the first.
    pub fn unit(&mut self, size: usize) -> u32 {
        let first = self.size as u32;
        self.units.push((first, size as u32));
        self.size += size;
        first
    }

    /// out = G x of one entry.
    pub fn rates(&self, entry: &Entry, x: &[f64]) -> [f64; 3] {
        let mut out = [0.0; 3];
        for side in entry.sides.iter().filter(|s| s.size > 0) {
            let (first, size) = (side.first as usize, side.size as usize);
            let x = &x[first..first + size];
            let rows = &self.data[side.data as usize..side.data as usize + size * entry.rows()];
            if let Ok(x) = <&[f64; 6]>::try_from(x) {
                for (o, row) in out.iter_mut().zip(rows.as_chunks::<6>().0) {
                    let mut sum = 0.0;
                    for k in 0..6 {
                        sum += row[k] * x[k];
                    }
                    *o += sum;
                }
            } else if entry.rows() == 3 {
                // all rows at once: a sum by itself waits for each of its additions
                let (first, others) = rows.split_at(size);
                let (second, third) = others.split_at(size);
                let mut sums = [0.0; 3];
                for (((x, a), b), c) in x.iter().zip(first).zip(second).zip(third) {
                    sums[0] += a * x;
                    sums[1] += b * x;
                    sums[2] += c * x;
                }
                (0..3).for_each(|r| out[r] += sums[r]);
            } else {
                for (o, row) in out.iter_mut().zip(rows.chunks_exact(size)) {
                    *o += row.iter().zip(x).map(|(g, x)| g * x).sum::<f64>();
                }
            }
        }
        out
    }

    /// How much rounding of an entry's velocity can change it by the impulse that answers, m/s: where a contact is stiff for the heavier of
    /// its bodies, the lighter one feels the last bits.
    pub fn rounding(&self, entry: &Entry, x: &[f64]) -> f64 {
        let mut sizes = entry.b.map(f64::abs);
        for side in entry.sides.iter().filter(|s| s.size > 0) {
            let (first, size) = (side.first as usize, side.size as usize);
            let rows = &self.data[side.data as usize..side.data as usize + size * entry.rows()];
            for (sum, row) in sizes.iter_mut().zip(rows.chunks_exact(size)) {
                *sum += row.iter().zip(&x[first..first + size]).map(|(g, x)| (g * x).abs()).sum::<f64>();
            }
        }
        4.0 * f64::EPSILON * max_abs(sizes) * entry.stiffness * self.mobility(entry)
    }

    /// x += Gᵀ p of one entry.
    pub fn push(&self, entry: &Entry, p: &[f64; 3], x: &mut [f64]) {
        for side in entry.sides.iter().filter(|s| s.size > 0) {
            let (first, size) = (side.first as usize, side.size as usize);
            let x = &mut x[first..first + size];
            let rows = &self.data[side.data as usize..side.data as usize + size * entry.rows()];
            for (p, row) in p.iter().zip(rows.chunks_exact(size)) {
                for (x, g) in x.iter_mut().zip(row) {
                    *x += g * p;
                }
            }
        }
    }

    /// How far a unit impulse of an entry moves itself, mean over its rows: W_ii = G Gᵀ.
    pub fn mobility(&self, entry: &Entry) -> f64 {
        let mut sum = 0.0;
        for side in entry.sides.iter().filter(|s| s.size > 0) {
            let rows = &self.data[side.data as usize..side.data as usize + side.size as usize * entry.rows()];
            sum += rows.iter().map(|g| g * g).sum::<f64>();
        }
        sum / entry.rows() as f64
    }
}
