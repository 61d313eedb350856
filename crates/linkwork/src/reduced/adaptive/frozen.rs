//! A piece of a chain whose joints stand still, and what it would do if they did not.
//!
//! While its joints stand still a piece moves as one body. All there is to know about it is constant in its own frame (that of its
//! first link, axes and centre of mass), and linear in what acts on it, y = (f₁, f₂, z): the forces on its two ends and the field
//! z = (u, ω ωᵀ, 1) of its rigid motion. Its masses feel the acceleration u = g − ω × v₀ and the pull of turning, with v₀ the
//! velocity of its origin; the last entry stands for constant joint forces.
//!
//! - `near`, `far`: accelerations of both ends as if all joints were free (Featherstone's articulated handles, 1999);
//! - `metric`: Σ q̈² over its joints as a quadratic form in y (Redon, Galoppo, Lin 2005, section 4): how much is lost by keeping them still.
//!
//! Two pieces are joined by substitution: the force that passes the joint is linear in y.

use super::super::aba::inverse_of;
use super::super::handles::{Ends, Hinge, M, V, motion, product, shift, sum, times, transposed};
use super::super::kinematics::{carried_pose, columns};
use super::super::model::Link;
use super::super::spatial::Motion6;
use super::ground::{Ball, ball_around_both};
use crate::math::Placed;
use glam::{DMat3, DVec3};

/// Numbers of the field, and of all that acts.
const Z: usize = 10;
pub(super) const Y: usize = 12 + Z;

/// A sum below this part of its terms is rounding.
const ROUNDING: f64 = 1e-11;

/// Six rows over all that acts.
type Rows = [[f64; Y]; 6];

pub(super) struct Frozen {
    /// The link of its far end, in the frame of its first.
    pub span: Placed,
    pub mass: f64,
    /// Centre of mass, and moments about it.
    pub center: DVec3,
    pub inertia: DMat3,
    /// A ball around all that can touch something.
    pub ball: Ball,
    near: Rows,
    far: Rows,
    metric: Vec<[f64; Y]>,
}

/// The field in which a piece moves rigidly, in its own axes.
pub(super) fn field(pose: &Placed, gravity: DVec3, v: DVec3, w: DVec3) -> [f64; Z] {
    let back = pose.r.transpose();
    let (u, w) = (back * (gravity - w.cross(v)), back * w);
    [u.x, u.y, u.z, w.x * w.x, w.y * w.y, w.z * w.z, w.x * w.y, w.x * w.z, w.y * w.z, 1.0]
}

/// The joint of a link, carried by a link at `other`; returns the pose of the link too. Its rates stand still.
pub(super) fn hinge_at(link: &Link, other: &Placed, q: &[f64], tau: &[f64]) -> (Hinge, Placed) {
    let own = &q[link.q as usize..];
    let placed = carried_pose(link, other, &link.freedom.relative(&link.model, own));
    let (a, b) = if link.reversed { (&placed, other) } else { (other, &placed) };
    let o = b.x + b.r * link.model.anchor_b;
    let mut s = vec![Motion6::default(); link.rates as usize];
    columns(link, a, b, own, &mut s);
    let first = link.v as usize;
    let hinge = Hinge {
        s: s.iter().map(|s| motion(s.at(placed.x - o))).collect(),
        r: placed.x - other.x,
        c: [0.0; 6],
        tau: tau[first..first + link.rates as usize].to_vec(),
    };
    (hinge, placed)
}

impl Frozen {
    /// One link.
    pub fn link(link: &Link, ball: Ball) -> Frozen {
        let mut ends = [[0.0; Y]; 6];
        let (i, m) = (link.moments, link.mass);
        for k in 0..3 {
            let inverse = [1.0 / i[k], 1.0 / m];
            for (part, inverse) in inverse.into_iter().enumerate() {
                let row = 3 * part + k;
                (ends[row][row], ends[row][6 + row]) = (inverse, inverse);
            }
            ends[3 + k][12 + k] = 1.0;
        }
        // −(ω × Iω)/I in principal axes: products xy, xz, yz are entries 6, 7, 8 of the field
        ends[0][12 + 8] = (i.y - i.z) / i.x;
        ends[1][12 + 7] = (i.z - i.x) / i.y;
        ends[2][12 + 6] = (i.x - i.y) / i.z;
        Frozen {
            span: Placed::WORLD,
            mass: m,
            center: DVec3::ZERO,
            inertia: DMat3::from_diagonal(i),
            ball,
            near: ends,
            far: ends,
            metric: vec![[0.0; Y]; Y],
        }
    }

    /// Two pieces with the joint of the second's first link between them, at rest where `q` says. What hangs beside the first
    /// leaves it its far end.
    pub fn join(a: &Frozen, b: &Frozen, beside: bool, link: &Link, q: &[f64], tau: &[f64]) -> Frozen {
        let (hinge, at) = hinge_at(link, &a.span, q, tau);
        let x = shift(hinge.r);
        let turn = rotation6(&at.r);
        let field = field_map(&at);

        // what acts on b without the force that passes, and what b's near end does then
        let mut of_b = [[0.0; Y]; Y];
        for r in 0..if beside { 0 } else { 6 } {
            for c in 0..6 {
                of_b[6 + r][6 + c] = turn[c][r];
            }
        }
        for r in 0..Z {
            of_b[12 + r][12..].copy_from_slice(&field[r]);
        }
        let b_near = turned(&turn, &through(&b.near, &of_b));
        let mut of_a = [[0.0; Y]; Y];
        (0..if beside { 12 } else { 6 }).chain(12..Y).for_each(|k| of_a[k][k] = 1.0);
        let a_far = turned(&x, &through(&a.far, &of_a));
        let phi_b: M = std::array::from_fn(|r| std::array::from_fn(|c| b.near[r][c]));
        let phi_a: M = std::array::from_fn(|r| std::array::from_fn(|c| a.far[r][6 + c]));
        let phi_b = product(&product(&turn, &phi_b), &transposed(&turn));
        let phi_a = product(&product(&x, &phi_a), &transposed(&x));
        let passing = hinge.passing(&inverse_of(&sum(&phi_b, &phi_a)));

        // f = Wβ + driven and q̈, over all that acts on the whole
        let beta: Rows = std::array::from_fn(|r| std::array::from_fn(|c| a_far[r][c] - b_near[r][c]));
        let mut f = turned(&passing.w, &beta);
        (0..6).for_each(|r| f[r][Y - 1] += passing.driven[r]);
        let on_b = turned(&transposed(&turn), &f);
        let on_a = turned(&transposed(&x), &f);
        of_b[..6].copy_from_slice(&on_b);
        for r in 0..6 {
            of_a[6 + r].iter_mut().zip(on_a[r]).for_each(|(of, on)| *of -= on);
        }
        let mut metric = congruent(&a.metric, &of_a);
        for (row, add) in metric.iter_mut().zip(congruent(&b.metric, &of_b)) {
            row.iter_mut().zip(add).for_each(|(m, e)| *m += e);
        }
        for (rest, row) in passing.rest.iter().zip(&passing.rows) {
            let mut rate: [f64; Y] = std::array::from_fn(|c| -(0..6).map(|k| row[k] * beta[k][c]).sum::<f64>());
            rate[Y - 1] += rest;
            for i in 0..Y {
                for j in 0..Y {
                    metric[i][j] += rate[i] * rate[j];
                }
            }
        }

        // as one body
        let mass = a.mass + b.mass;
        let center_b = at.x + at.r * b.center;
        let center = (a.center * a.mass + center_b * b.mass) / mass;
        let about = |inertia: DMat3, mass: f64, d: DVec3| {
            inertia + (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer(d)) * mass
        };
        let inertia = about(a.inertia, a.mass, a.center - center)
            + about(at.r * b.inertia * at.r.transpose(), b.mass, center_b - center);
        let (span, far) = if beside {
            (a.span, through(&a.far, &of_a))
        } else {
            let span = Placed::new(at.x + at.r * b.span.x, (at.q * b.span.q).normalize());
            (span, turned(&turn, &through(&b.far, &of_b)))
        };
        let ball = ball_around_both(a.ball, b.ball.map(|(center, radius)| (at.x + at.r * center, radius)));
        Frozen { span, mass, center, inertia, ball, near: through(&a.near, &of_a), far, metric }
    }

    /// Both ends in the world, in a field.
    pub fn ends(&self, pose: &Placed, field: &[f64; Z]) -> Ends {
        let turn = rotation6(&pose.r);
        let back = transposed(&turn);
        let part = |rows: &Rows, first: usize| {
            let m: M = std::array::from_fn(|r| std::array::from_fn(|c| rows[r][first + c]));
            product(&product(&turn, &m), &back)
        };
        let bias = |rows: &Rows| {
            let b: V = std::array::from_fn(|r| rows[r][12..].iter().zip(field).map(|(m, z)| m * z).sum());
            times(&turn, &b)
        };
        Ends {
            near: part(&self.near, 0),
            across: part(&self.near, 6),
            far: part(&self.far, 6),
            b_near: bias(&self.near),
            b_far: bias(&self.far),
        }
    }

    /// Σ q̈² over its joints, were they free, under forces on its ends in world axes.
    pub fn metric(&self, pose: &Placed, field: &[f64; Z], near: &V, far: &V) -> f64 {
        let back = transposed(&rotation6(&pose.r));
        let mut y = [0.0; Y];
        y[..6].copy_from_slice(&times(&back, near));
        y[6..12].copy_from_slice(&times(&back, far));
        y[12..].copy_from_slice(field);
        let (mut form, mut size) = (0.0, 0.0);
        for i in 0..Y {
            for j in 0..Y {
                let term = y[i] * self.metric[i][j] * y[j];
                form += term;
                size += term.abs();
            }
        }
        // forces at the far end of a long piece act on a long lever and cancel: what is left of that is no acceleration
        if form > ROUNDING * size { form } else { 0.0 }
    }
}

fn outer(d: DVec3) -> DMat3 {
    DMat3::from_cols(d * d.x, d * d.y, d * d.z)
}

/// A rotation of both parts of a spatial vector.
fn rotation6(r: &DMat3) -> M {
    let mut out = [[0.0; 6]; 6];
    for i in 0..3 {
        for j in 0..3 {
            (out[i][j], out[3 + i][3 + j]) = (r.col(j)[i], r.col(j)[i]);
        }
    }
    out
}

fn turned(m: &M, rows: &Rows) -> Rows {
    std::array::from_fn(|r| std::array::from_fn(|c| (0..6).map(|k| m[r][k] * rows[k][c]).sum()))
}

fn through(rows: &Rows, map: &[[f64; Y]; Y]) -> Rows {
    let mut out = [[0.0; Y]; 6];
    for r in 0..6 {
        for k in (0..Y).filter(|&k| rows[r][k] != 0.0) {
            for c in 0..Y {
                out[r][c] += rows[r][k] * map[k][c];
            }
        }
    }
    out
}

/// mapᵀ M map.
fn congruent(m: &[[f64; Y]], map: &[[f64; Y]; Y]) -> Vec<[f64; Y]> {
    let product = |left: &dyn Fn(usize, usize) -> f64, right: &[[f64; Y]]| {
        let mut out = vec![[0.0; Y]; Y];
        for i in 0..Y {
            for k in 0..Y {
                let x = left(i, k);
                if x != 0.0 {
                    for j in 0..Y {
                        out[i][j] += x * right[k][j];
                    }
                }
            }
        }
        out
    };
    let half = product(&|i, k| m[i][k], map);
    product(&|i, k| map[k][i], &half)
}

/// The field of a piece from that of the piece it belongs to: its place in that one's frame.
fn field_map(at: &Placed) -> [[f64; Z]; Z] {
    let (r, back) = (at.x, at.r.transpose());
    let mut out = [[0.0; Z]; Z];
    // u' = Rᵀ(u − (ωωᵀ − ω²) r)
    for k in 0..3 {
        let column = back.col(k);
        (0..3).for_each(|i| out[i][k] = column[i]);
    }
    let units: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (c, (i, j)) in units.into_iter().enumerate() {
        let mut w = DMat3::ZERO;
        w.col_mut(j)[i] = 1.0;
        w.col_mut(i)[j] = 1.0;
        let trace = if i == j { 1.0 } else { 0.0 };
        let pull = back * (r * trace - w * r);
        (0..3).for_each(|k| out[k][3 + c] = pull[k]);
        let seen = back * w * at.r;
        for (row, (a, b)) in units.into_iter().enumerate() {
            out[3 + row][3 + c] = seen.col(b)[a];
        }
    }
    out[Z - 1][Z - 1] = 1.0;
    out
}
