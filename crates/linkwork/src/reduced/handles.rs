//! Pieces of a tree known by their two ends, and the joints between them (Featherstone 1999).
//!
//! A piece is known by how its ends (handles) accelerate under forces on them: a₁ = Φ₁f₁ + Φ₁₂f₂ + b₁, a₂ = Φ₁₂ᵀf₁ + Φ₂f₂ + b₂.
//! For one link Φ is its inverse inertia, at both ends. Two pieces A and B are joined by a joint with columns S, from the far end
//! of A to the near end of B: with Γ = (Φ₁ᴮ + Φ₂ᴬ)⁻¹ and W = Γ − ΓS(SᵀΓS)⁻¹SᵀΓ, the force that passes is f = Wβ + ΓS(SᵀΓS)⁻¹τ for the
//! difference β = c + a₂ᴬ − a₁ᴮ of what the two would do apart, and the whole is again such a piece: its far end is that of B, or
//! that of A where B hangs beside it.

use super::aba::inverse_of;
use super::spatial::{Inertia6, Motion6};
use glam::DVec3;

pub(super) type V = [f64; 6];
pub(super) type M = [[f64; 6]; 6];

/// Both ends of a piece at one moment, in world axes.
#[derive(Clone, Default)]
pub(super) struct Ends {
    pub near: M,
    pub far: M,
    /// Acceleration of the near end per force on the far end.
    pub across: M,
    pub b_near: V,
    pub b_far: V,
}

/// A joint between two pieces, in some frame.
#[derive(Default)]
pub(super) struct Hinge {
    /// Columns at the point of the second piece's near end.
    pub s: Vec<V>,
    /// From the point of the first piece's far end to it.
    pub r: DVec3,
    /// What the second accelerates with against the first at constant rates.
    pub c: V,
    pub tau: Vec<f64>,
}

/// What passes a joint that gives way: W, ΓS(SᵀΓS)⁻¹τ, and q̈ = rest − rows·β.
#[derive(Default)]
pub(super) struct Passing {
    pub w: M,
    pub driven: V,
    pub rest: Vec<f64>,
    pub rows: Vec<V>,
}

/// Forces on the inner ends of two joined pieces, and the acceleration of the joint between them.
#[derive(Default)]
pub(super) struct Split {
    pub a_far: V,
    pub b_near: V,
    pub b_far: V,
    pub rates: Vec<f64>,
}

impl Hinge {
    /// What passes where both sides together answer forces by Γ⁻¹.
    pub fn passing(&self, gamma: &M) -> Passing {
        let n = self.s.len();
        let gs: Vec<V> = self.s.iter().map(|s| times(gamma, s)).collect();
        let mut d = [[0.0; 6]; 6];
        (0..6).for_each(|i| d[i][i] = 1.0);
        for i in 0..n {
            for j in 0..n {
                d[i][j] = dot(&self.s[i], &gs[j]);
            }
        }
        let inverse = inverse_of(&d);
        let mut passing = Passing { w: *gamma, driven: [0.0; 6], rest: vec![0.0; n], rows: vec![[0.0; 6]; n] };
        for i in 0..n {
            for j in 0..n {
                passing.rest[i] += inverse[i][j] * self.tau[j];
                for r in 0..6 {
                    passing.driven[r] += gs[i][r] * inverse[i][j] * self.tau[j];
                    passing.rows[i][r] += inverse[i][j] * gs[j][r];
                    for c in 0..6 {
                        passing.w[r][c] -= gs[i][r] * inverse[i][j] * gs[j][c];
                    }
                }
            }
        }
        passing
    }

    /// The joint that carries a whole tree: the force that passes it, and q̈. `ground` is the acceleration of what carries it.
    pub fn root(&self, whole: &Ends, ground: &V) -> (V, Vec<f64>) {
        let passing = self.passing(&inverse_of(&whole.near));
        passing.answer(&sub(&add(&self.c, ground), &whole.b_near))
    }

    /// What passes between two pieces.
    pub fn between(&self, a: &Ends, b: &Ends) -> Passing {
        let x = shift(self.r);
        self.passing(&inverse_of(&sum(&b.near, &product(&product(&x, &a.far), &transposed(&x)))))
    }

    /// Two pieces as one, and what passes between them.
    pub fn join(&self, a: &Ends, b: &Ends, beside: bool) -> (Ends, Passing) {
        let x = shift(self.r);
        // a's ends, as they answer forces at b's point
        let (far, across) = (product(&a.far, &transposed(&x)), product(&a.across, &transposed(&x)));
        let passing = self.passing(&inverse_of(&sum(&b.near, &product(&x, &far))));
        let beta = sub(&add(&self.c, &times(&x, &a.b_far)), &b.b_near);
        let passed = add(&times(&passing.w, &beta), &passing.driven);
        let wa = product(&passing.w, &transposed(&across));
        let near = less(&a.near, &product(&across, &wa));
        let b_near = sub(&a.b_near, &times(&across, &passed));
        let ends = if beside {
            let wf = product(&passing.w, &transposed(&far));
            Ends {
                near,
                far: less(&a.far, &product(&far, &wf)),
                across: less(&a.across, &product(&across, &wf)),
                b_near,
                b_far: sub(&a.b_far, &times(&far, &passed)),
            }
        } else {
            let wb = product(&passing.w, &b.across);
            Ends {
                near,
                far: less(&b.far, &product(&transposed(&b.across), &wb)),
                across: product(&across, &wb),
                b_near,
                b_far: add(&b.b_far, &times(&transposed(&b.across), &passed)),
            }
        };
        (ends, passing)
    }

    /// What forces on the ends of two joined pieces do to the ends between them.
    pub fn split(&self, passing: &Passing, a: &Ends, b: &Ends, beside: bool, near: &V, far: &V) -> Split {
        let (on_a, on_b) = if beside { (*far, [0.0; 6]) } else { ([0.0; 6], *far) };
        let x = shift(self.r);
        let of_a = add(&add(&times(&transposed(&a.across), near), &times(&a.far, &on_a)), &a.b_far);
        let of_b = add(&times(&b.across, &on_b), &b.b_near);
        let beta = sub(&add(&self.c, &times(&x, &of_a)), &of_b);
        let (f, rates) = passing.answer(&beta);
        let a_far = sub(&on_a, &times(&transposed(&x), &f));
        Split { a_far, b_near: f, b_far: on_b, rates }
    }
}

impl Passing {
    fn answer(&self, beta: &V) -> (V, Vec<f64>) {
        let f = add(&times(&self.w, beta), &self.driven);
        let rates = self.rest.iter().zip(&self.rows).map(|(rest, row)| rest - dot(row, beta)).collect();
        (f, rates)
    }
}

pub(super) fn motion(m: Motion6) -> V {
    [m.w.x, m.w.y, m.w.z, m.v.x, m.v.y, m.v.z]
}

pub(super) fn dense(i: &Inertia6) -> M {
    let mut out = [[0.0; 6]; 6];
    let (a, b, m) = (i.a.matrix(), i.b, i.m.matrix());
    for r in 0..3 {
        for c in 0..3 {
            out[r][c] = a.col(c)[r];
            out[r][3 + c] = b.col(c)[r];
            out[3 + c][r] = b.col(c)[r];
            out[3 + r][3 + c] = m.col(c)[r];
        }
    }
    out
}

/// Motions at a point r away: v + ω × r.
pub(super) fn shift(r: DVec3) -> M {
    let mut x = [[0.0; 6]; 6];
    (0..6).for_each(|i| x[i][i] = 1.0);
    (x[3][1], x[3][2]) = (r.z, -r.y);
    (x[4][0], x[4][2]) = (-r.z, r.x);
    (x[5][0], x[5][1]) = (r.y, -r.x);
    x
}

pub(super) fn times(m: &M, v: &V) -> V {
    std::array::from_fn(|r| dot(&m[r], v))
}

pub(super) fn dot(a: &V, b: &V) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn product(a: &M, b: &M) -> M {
    std::array::from_fn(|r| std::array::from_fn(|c| (0..6).map(|k| a[r][k] * b[k][c]).sum()))
}

pub(super) fn transposed(a: &M) -> M {
    std::array::from_fn(|r| std::array::from_fn(|c| a[c][r]))
}

pub(super) fn sum(a: &M, b: &M) -> M {
    std::array::from_fn(|r| std::array::from_fn(|c| a[r][c] + b[r][c]))
}

pub(super) fn less(a: &M, b: &M) -> M {
    std::array::from_fn(|r| std::array::from_fn(|c| a[r][c] - b[r][c]))
}

pub(super) fn add(a: &V, b: &V) -> V {
    std::array::from_fn(|k| a[k] + b[k])
}

pub(super) fn sub(a: &V, b: &V) -> V {
    std::array::from_fn(|k| a[k] - b[k])
}
