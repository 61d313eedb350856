//! Forward dynamics by dividing and conquering (Featherstone 1999), for chains.
//!
//! A piece of a chain is known by how its two ends (handles) accelerate under forces on them:
//! a₁ = Φ₁f₁ + Φ₁₂f₂ + b₁, a₂ = Φ₁₂ᵀf₁ + Φ₂f₂ + b₂. For one link Φ is its inverse inertia. Two pieces A and B are joined by a joint
//! with columns S: with Γ = (Φ₁ᴮ + Φ₂ᴬ)⁻¹ and W = Γ − ΓS(SᵀΓS)⁻¹SᵀΓ, the force that passes is f = Wβ + ΓS(SᵀΓS)⁻¹τ for the difference
//! β = c + a₂ᴬ − a₁ᴮ of what the two would do apart, and the whole is again such a piece. Pieces are joined in a balanced tree,
//! whose depth is log₂ n: pieces of one level do not wait for each other, and with the feature `parallel` threads share them. Forces
//! come back down the same tree. No sum depends on who does what, so neither do the bits of the result.

use super::aba::{inverse_of, momentum, rigid};
use super::kinematics::{Data, carrier_acceleration, drive, place};
use super::model::{Model, NONE};
use super::spatial::{Force6, Inertia6, Motion6};
use crate::math::Wrench;
use glam::DVec3;
use std::fmt;

pub(super) type V = [f64; 6];
pub(super) type M = [[f64; 6]; 6];

/// A tree that branches, or several trees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotAChain {
    /// Place of a body that is not carried by the one before it.
    pub index: usize,
}

impl fmt::Display for NotAChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "body {} of the tree is not carried by the one before it: use aba for trees that branch", self.index)
    }
}

impl std::error::Error for NotAChain {}

/// A piece of a chain.
#[derive(Clone, Default)]
struct Piece {
    near: M,
    far: M,
    /// Acceleration of the near end per force on the far end.
    across: M,
    b_near: V,
    b_far: V,
    /// Of the joint inside: W, ΓS(SᵀΓS)⁻¹τ, and c.
    w: M,
    driven: V,
    c: V,
}

/// Accelerations from joint forces, as [`aba`](super::aba()) finds them: `data.acceleration`.
pub fn divide_and_conquer(
    model: &Model,
    data: &mut Data,
    q: &[f64],
    v: &[f64],
    force: &[f64],
    external: &[Wrench],
) -> Result<(), NotAChain> {
    let n = model.links.len();
    for (k, link) in model.links.iter().enumerate() {
        let expected = if k == 0 { NONE } else { k as u32 - 1 };
        if link.parent != expected {
            return Err(NotAChain { index: k });
        }
    }
    if n == 0 {
        return Ok(());
    }
    place(model, data, q);
    drive(model, data, v);
    let mut pieces = vec![Piece::default(); 2 * n - 1];
    let task = Task { model, force, external };
    task.assemble(data, 0, n, &mut pieces);
    let whole = &pieces[2 * n - 2];

    // the ground carries the whole: nothing gives way on its side
    let ground = carrier_acceleration(model, data, &model.links[0], &data.links[0]);
    let c = add(&motion(data.links[0].c), &motion(ground));
    let (w, driven, _) = joint(model, data, force, 0, &inverse_of(&whole.near));
    let beta = sub(&c, &whole.b_near);
    let f = add(&times(&w, &beta), &driven);
    let a = add(&times(&whole.near, &f), &whole.b_near);
    let mut acceleration = std::mem::take(&mut data.acceleration);
    let (own, rest) = acceleration.split_at_mut(model.links[0].rates as usize);
    rates(model, data, 0, &sub(&a, &c), own);
    task.resolve(data, 0, n, &pieces, f, [0.0; 6], rest);
    data.acceleration = acceleration;
    Ok(())
}

/// Links below which a thread is not worth its start.
#[cfg(feature = "parallel")]
const WORTH_A_THREAD: usize = 32;

/// Does two things that do not wait for each other; who does which changes no bit.
fn both(links: usize, a: impl FnOnce() + Send, b: impl FnOnce() + Send) {
    #[cfg(feature = "parallel")]
    if links >= WORTH_A_THREAD {
        rayon::join(a, b);
        return;
    }
    let _ = links;
    a();
    b();
}

#[derive(Clone, Copy)]
struct Task<'a> {
    model: &'a Model,
    force: &'a [f64],
    external: &'a [Wrench],
}

impl Task<'_> {
    /// The pieces of links `first` to `last`: those of the first half, those of the second, and last the two joined.
    fn assemble(&self, data: &Data, first: usize, last: usize, pieces: &mut [Piece]) {
        let Some((joined, parts)) = pieces.split_last_mut() else { return };
        if last == first + 1 {
            *joined = single(self.model, data, self.external, first);
            return;
        }
        let middle = first + (last - first) / 2;
        let (near, far) = parts.split_at_mut(2 * (middle - first) - 1);
        both(last - first, || self.assemble(data, first, middle, near), || self.assemble(data, middle, last, far));
        let (Some(pa), Some(pb)) = (near.last(), far.last()) else { return };
        let gamma = inverse_of(&sum(&pb.near, &pa.far));
        let (w, driven, _) = joint(self.model, data, self.force, middle, &gamma);
        let c = motion(data.links[middle].c);
        let passed = add(&times(&w, &sub(&add(&c, &pa.b_far), &pb.b_near)), &driven);
        // f = W(β₀ + Φ₂₁ᴬ f₁ − Φ₁₂ᴮ f₃) + driven, pushing B forward and A back
        let wa = product(&w, &transposed(&pa.across));
        let wb = product(&w, &pb.across);
        *joined = Piece {
            near: less(&pa.near, &product(&pa.across, &wa)),
            far: less(&pb.far, &product(&transposed(&pb.across), &wb)),
            across: product(&pa.across, &wb),
            b_near: sub(&pa.b_near, &times(&pa.across, &passed)),
            b_far: add(&pb.b_far, &times(&transposed(&pb.across), &passed)),
            w,
            driven,
            c,
        };
    }

    /// Down the tree: forces on the ends of a piece give the force of its joint and the accelerations on both sides of it.
    /// `out` are the accelerations of all joints inside.
    fn resolve(&self, data: &Data, first: usize, last: usize, pieces: &[Piece], near: V, far: V, out: &mut [f64]) {
        let Some((piece, parts)) = pieces.split_last() else { return };
        if last == first + 1 {
            return;
        }
        let middle = first + (last - first) / 2;
        let (a, b) = parts.split_at(2 * (middle - first) - 1);
        let (Some(pa), Some(pb)) = (a.last(), b.last()) else { return };
        let of_a = add(&times(&transposed(&pa.across), &near), &pa.b_far);
        let of_b = add(&times(&pb.across, &far), &pb.b_near);
        let beta = sub(&add(&piece.c, &of_a), &of_b);
        let f = add(&times(&piece.w, &beta), &piece.driven);
        let back = f.map(|x| -x);
        let a_side = add(&of_a, &times(&pa.far, &back));
        let b_side = add(&of_b, &times(&pb.near, &f));
        let links = &self.model.links;
        let before = (links[middle].v - links[first].v) as usize - links[first].rates as usize;
        let (of_near, rest) = out.split_at_mut(before);
        let (own, of_far) = rest.split_at_mut(links[middle].rates as usize);
        rates(self.model, data, middle, &sub(&sub(&b_side, &a_side), &piece.c), own);
        both(
            last - first,
            || self.resolve(data, first, middle, a, near, back, of_near),
            || self.resolve(data, middle, last, b, f, far, of_far),
        );
    }
}

/// One link: near handle at its own point, far handle at the point of the link it carries.
fn single(model: &Model, data: &Data, external: &[Wrench], k: usize) -> Piece {
    let (link, at) = (&model.links[k], &data.links[k]);
    let near = inverse_of(&dense(&rigid(link, at)));
    let mut p = at.v.cross_force(momentum(link, at));
    let outer = external.get(k).copied().unwrap_or_default();
    let f = model.weight[k] + outer.force;
    p -= Force6::new(outer.torque + at.lever().cross(f), f);
    let b_near = times(&near, &[-p.n.x, -p.n.y, -p.n.z, -p.f.x, -p.f.y, -p.f.z]);
    let r = data.links.get(k + 1).map_or(DVec3::ZERO, |next| next.r);
    let x = shift(r);
    let across = product(&near, &transposed(&x));
    Piece {
        far: product(&x, &across),
        across,
        b_far: times(&x, &b_near),
        near,
        b_near,
        w: [[0.0; 6]; 6],
        driven: [0.0; 6],
        c: [0.0; 6],
    }
}

/// W and ΓS(SᵀΓS)⁻¹τ of a joint, and (SᵀΓS)⁻¹.
fn joint(model: &Model, data: &Data, force: &[f64], k: usize, gamma: &M) -> (M, V, M) {
    let link = &model.links[k];
    let (first, n) = (link.v as usize, link.rates as usize);
    let s: Vec<V> = data.s[first..first + n].iter().map(|s| motion(*s)).collect();
    let gs: Vec<V> = s.iter().map(|s| times(gamma, s)).collect();
    let mut d = [[0.0; 6]; 6];
    (0..6).for_each(|i| d[i][i] = 1.0);
    for i in 0..n {
        for j in 0..n {
            d[i][j] = dot(&s[i], &gs[j]);
        }
    }
    let inverse = inverse_of(&d);
    let (mut w, mut driven) = (*gamma, [0.0; 6]);
    for i in 0..n {
        for j in 0..n {
            for r in 0..6 {
                driven[r] += gs[i][r] * inverse[i][j] * force[first + j];
                for c in 0..6 {
                    w[r][c] -= gs[i][r] * inverse[i][j] * gs[j][c];
                }
            }
        }
    }
    (w, driven, inverse)
}

/// The accelerations of a joint from the relative acceleration that they make.
fn rates(model: &Model, data: &Data, k: usize, relative: &V, out: &mut [f64]) {
    let link = &model.links[k];
    let (first, n) = (link.v as usize, link.rates as usize);
    let s: Vec<V> = data.s[first..first + n].iter().map(|s| motion(*s)).collect();
    let mut d = [[0.0; 6]; 6];
    (0..6).for_each(|i| d[i][i] = 1.0);
    for i in 0..n {
        for j in 0..n {
            d[i][j] = dot(&s[i], &s[j]);
        }
    }
    let inverse = inverse_of(&d);
    for i in 0..n {
        out[i] = (0..n).map(|j| inverse[i][j] * dot(&s[j], relative)).sum();
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
