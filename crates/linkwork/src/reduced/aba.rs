//! Forward dynamics in linear time: Featherstone's articulated-body algorithm.
//!
//! Outward: velocities, biases c, and p = v ×* I v − f_ext. Inward, from the leaves:
//! U = I S, D = SᵀU, e = τ − Sᵀp; what the carrying body feels is I − U D⁻¹ Uᵀ and p + (I − U D⁻¹ Uᵀ) c + U D⁻¹ e.
//! Outward: a' = a_parent + c, q̈ = D⁻¹(e − Uᵀa'), a = a' + S q̈.
//! Everything is in world axes at the link's own point, so that passing a joint costs a shift and no rotation.
//! Three turns about a point (a ball) leave a mass matrix alone: with I = [A B; Bᵀ M], the carrying body feels M − BᵀA⁻¹B at O.

use super::kinematics::{Data, LinkData, carrier_acceleration, check_sizes, drive_link, place};
use super::model::{Link, Model, NONE};
use super::spatial::{Force6, Inertia6, Motion6, Sym3};
use crate::math::Wrench;
use glam::{DMat3, DVec3};

/// Accelerations from joint forces: `data.acceleration`.
///
/// `force` is by rate (N m, N); `external` acts at the centres of mass, by body, and may be empty; gravity acts by itself.
///
/// # Panics
/// If the vectors are not as long as the model's, or `data` is another model's.
pub fn aba(model: &Model, data: &mut Data, q: &[f64], v: &[f64], force: &[f64], external: &[Wrench]) {
    check_sizes(model, data, q, &[("v", v), ("force", force)]);
    place(model, data, q);
    aba_placed(model, data, v, force, external);
}

/// The same where the tree is already placed.
pub(crate) fn aba_placed(model: &Model, data: &mut Data, v: &[f64], force: &[f64], external: &[Wrench]) {
    for (k, link) in model.links.iter().enumerate() {
        drive_link(model, data, k, link, v);
        load_link(model, data, k, link, external, true);
    }
    factor_and_absorb(model, data, force);
    accelerate(model, data, true);
}

/// The same where the tree is placed and driven; `again`: the articulated inertias of the last time, or of [`factor`], hold.
pub(crate) fn accelerate_driven(model: &Model, data: &mut Data, force: &[f64], external: &[Wrench], again: bool) {
    for (k, link) in model.links.iter().enumerate() {
        load_link(model, data, k, link, external, !again);
    }
    if again {
        absorb(model, data, force);
    } else {
        factor_and_absorb(model, data, force);
    }
    accelerate(model, data, true);
}

/// Articulated inertias at the present poses.
pub(crate) fn factor(model: &Model, data: &mut Data) {
    for (k, link) in model.links.iter().enumerate() {
        data.links[k].ia = rigid(link, &data.links[k]);
    }
    for k in (0..model.links.len()).rev() {
        let link = &model.links[k];
        let carried = factor_link(data, k, link);
        if link.parent != NONE {
            data.links[link.parent as usize].ia += carried;
        }
    }
}

/// The inertia of a link by itself, at its point.
#[inline(always)]
pub(crate) fn rigid(link: &Link, at: &LinkData) -> Inertia6 {
    Inertia6::rigid(link.mass, Sym3::rotated(&at.placed.r, link.moments), at.lever())
}

/// p = v ×* I v − f_ext, and the inertia to start from.
#[inline(always)]
fn load_link(model: &Model, data: &mut Data, k: usize, link: &Link, external: &[Wrench], start: bool) {
    let at = &mut data.links[k];
    let lever = at.lever();
    let spin = Sym3::rotated(&at.placed.r, link.moments);
    if start {
        at.ia = Inertia6::rigid(link.mass, spin, lever);
    }
    let linear = (at.v.v + at.v.w.cross(lever)) * link.mass;
    let momentum = Force6::new(spin.times(at.v.w) + lever.cross(linear), linear);
    let mut p = at.v.cross_force(momentum);
    let mut force = model.weight[k];
    if let Some(w) = external.get(k) {
        force += w.force;
        p.n -= w.torque;
    }
    p.f -= force;
    p.n -= lever.cross(force);
    at.p = p;
}

/// Momentum of a link about its point.
#[inline(always)]
pub(crate) fn momentum(link: &Link, at: &LinkData) -> Force6 {
    inertia_times(link, at, at.v)
}

/// The inertia of a link by itself times a motion, both at its point.
#[inline(always)]
pub(crate) fn inertia_times(link: &Link, at: &LinkData, m: Motion6) -> Force6 {
    let lever = at.lever();
    let linear = (m.v + m.w.cross(lever)) * link.mass;
    let spin = at.placed.r * (link.moments * (at.placed.r.transpose() * m.w));
    Force6::new(spin + lever.cross(linear), linear)
}

fn factor_and_absorb(model: &Model, data: &mut Data, force: &[f64]) {
    for k in (0..model.links.len()).rev() {
        let link = &model.links[k];
        let first = link.v as usize;
        let tau = &force[first..first + link.rates as usize];
        let (ia, p) = if link.is_ball {
            ball(data, k, link, tau)
        } else {
            let ia = factor_link_whole(data, k, link);
            (ia, absorb_link_with(data, k, link, tau, &ia))
        };
        if link.parent != NONE {
            let r = data.links[k].r;
            let carried = if link.is_ball { carried_mass(&ia.m, r) } else { ia.carried(r) };
            let parent = &mut data.links[link.parent as usize];
            parent.ia += carried;
            parent.p += p.carried(r);
        }
    }
}

/// Inward: what is left of the forces at every joint, by the factor at hand.
pub(crate) fn absorb(model: &Model, data: &mut Data, force: &[f64]) {
    for k in (0..model.links.len()).rev() {
        let link = &model.links[k];
        let first = link.v as usize;
        let p = absorb_link(data, k, link, &force[first..first + link.rates as usize]);
        if link.parent != NONE {
            let r = data.links[k].r;
            data.links[link.parent as usize].p += p.carried(r);
        }
    }
}

/// A mass without inertia at the point, seen at the point from which its own is `r` away.
#[inline(always)]
fn carried_mass(m: &Sym3, r: DVec3) -> Inertia6 {
    let mm = m.matrix();
    let b = DMat3::from_cols(r.cross(mm.x_axis), r.cross(mm.y_axis), r.cross(mm.z_axis));
    let bt = b.transpose();
    let a = DMat3::from_cols(r.cross(bt.x_axis), r.cross(bt.y_axis), r.cross(bt.z_axis));
    Inertia6 { a: Sym3::of(&a), b, m: *m }
}

/// Factor of a link and what its carrier feels of its inertia, at the carrier's point.
#[inline(always)]
fn factor_link(data: &mut Data, k: usize, link: &Link) -> Inertia6 {
    if link.is_ball {
        let m = factor_ball(data, k, link);
        carried_mass(&m, data.links[k].r)
    } else {
        factor_link_whole(data, k, link).carried(data.links[k].r)
    }
}

/// A⁻¹ into the factor; returns M − BᵀA⁻¹B.
#[inline(always)]
fn factor_ball(data: &mut Data, k: usize, link: &Link) -> Sym3 {
    let ia = &data.links[k].ia;
    let inverse = ia.a.inverse();
    let i = &inverse;
    data.d[link.v as usize] = [i.xx, i.yy, i.zz, i.xy, i.xz, i.yz];
    let b = &ia.b;
    let (gx, gy, gz) = (inverse.times(b.x_axis), inverse.times(b.y_axis), inverse.times(b.z_axis));
    let m = &ia.m;
    Sym3 {
        xx: m.xx - b.x_axis.dot(gx),
        yy: m.yy - b.y_axis.dot(gy),
        zz: m.zz - b.z_axis.dot(gz),
        xy: m.xy - b.x_axis.dot(gy),
        xz: m.xz - b.x_axis.dot(gz),
        yz: m.yz - b.y_axis.dot(gz),
    }
}

#[inline(always)]
fn ball_inverse(d: &[f64; 6]) -> Sym3 {
    Sym3 { xx: d[0], yy: d[1], zz: d[2], xy: d[3], xz: d[4], yz: d[5] }
}

#[inline(always)]
fn ball(data: &mut Data, k: usize, link: &Link, tau: &[f64]) -> (Inertia6, Force6) {
    let m = factor_ball(data, k, link);
    let p = absorb_ball(data, k, link, tau, &m);
    (Inertia6 { m, ..Inertia6::default() }, p)
}

#[inline(always)]
fn absorb_ball(data: &mut Data, k: usize, link: &Link, tau: &[f64], m: &Sym3) -> Force6 {
    let first = link.v as usize;
    let s = &data.s[first..first + 3];
    let torque = s[0].w * tau[0] + s[1].w * tau[1] + s[2].w * tau[2];
    let at = &data.links[k];
    let y = ball_inverse(&data.d[first]).times(torque - at.p.n);
    let b = &at.ia.b;
    let through = DVec3::new(b.x_axis.dot(y), b.y_axis.dot(y), b.z_axis.dot(y));
    let p = Force6::new(torque, at.p.f + m.times(at.c.v) + through);
    data.e[first..first + 3].copy_from_slice(&y.to_array());
    p
}

macro_rules! by_rates {
    ($n:expr, $N:ident => $body:expr) => {
        match $n {
            1 => {
                const $N: usize = 1;
                $body
            }
            2 => {
                const $N: usize = 2;
                $body
            }
            3 => {
                const $N: usize = 3;
                $body
            }
            4 => {
                const $N: usize = 4;
                $body
            }
            5 => {
                const $N: usize = 5;
                $body
            }
            _ => {
                const $N: usize = 6;
                $body
            }
        }
    };
}

/// Factor of a link; returns what is left of its inertia, at its own point.
#[inline(always)]
fn factor_link_whole(data: &mut Data, k: usize, link: &Link) -> Inertia6 {
    if link.rates == 0 {
        return data.links[k].ia;
    }
    by_rates!(link.rates, N => factor_sized::<N>(data, k, link))
}

fn factor_sized<const N: usize>(data: &mut Data, k: usize, link: &Link) -> Inertia6 {
    let first = link.v as usize;
    let ia = data.links[k].ia;
    let s: &[Motion6; N] = data.s[first..first + N].try_into().expect("as many columns as rates");
    let u: [Force6; N] = std::array::from_fn(|i| ia.times(s[i]));
    let mut d = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            d[i][j] = s[i].dot(u[j]);
        }
    }
    let inverse = inverse_of(&d);
    for i in 0..N {
        data.u[first + i] = u[i];
        data.d[first + i][..N].copy_from_slice(&inverse[i]);
    }
    let w: [Force6; N] = std::array::from_fn(|i| {
        let mut sum = Force6::default();
        for j in 0..N {
            sum += u[j] * inverse[i][j];
        }
        sum
    });
    ia.less(&u, &w)
}

/// Inverse of a positive definite matrix of which the lower half is given.
#[inline(always)]
pub(crate) fn inverse_of<const N: usize>(d: &[[f64; N]; N]) -> [[f64; N]; N] {
    if N == 1 {
        return [[1.0 / d[0][0]; N]; N];
    }
    // L Lᵀ = d, then columns of L⁻¹
    let mut l = *d;
    for j in 0..N {
        for k in 0..j {
            l[j][j] -= l[j][k] * l[j][k];
        }
        l[j][j] = l[j][j].sqrt();
        for i in j + 1..N {
            for k in 0..j {
                l[i][j] -= l[i][k] * l[j][k];
            }
            l[i][j] /= l[j][j];
        }
    }
    let mut x = [[0.0; N]; N];
    for j in 0..N {
        x[j][j] = 1.0 / l[j][j];
        for i in j + 1..N {
            let mut sum = 0.0;
            for k in j..i {
                sum += l[i][k] * x[k][j];
            }
            x[i][j] = -sum / l[i][i];
        }
    }
    let mut out = [[0.0; N]; N];
    for i in 0..N {
        for j in 0..=i {
            let sum: f64 = (i..N).map(|k| x[k][i] * x[k][j]).sum();
            out[i][j] = sum;
            out[j][i] = sum;
        }
    }
    out
}

/// What the carrier feels of a link's force, at the link's point.
#[inline(always)]
fn absorb_link(data: &mut Data, k: usize, link: &Link, tau: &[f64]) -> Force6 {
    if link.is_ball {
        let at = &data.links[k];
        let (inverse, b) = (ball_inverse(&data.d[link.v as usize]), at.ia.b);
        // only M' c is needed of the mass that is left
        let c = at.c.v;
        let g = inverse.times(b * c);
        let mc = at.ia.m.times(c) - DVec3::new(b.x_axis.dot(g), b.y_axis.dot(g), b.z_axis.dot(g));
        let p = absorb_ball(data, k, link, tau, &Sym3::default());
        return Force6::new(p.n, p.f + mc);
    }
    let at = &data.links[k];
    let ic = at.ia.times(at.c);
    absorb_rest(data, k, link, tau, ic, true)
}

#[inline(always)]
fn absorb_link_with(data: &mut Data, k: usize, link: &Link, tau: &[f64], left: &Inertia6) -> Force6 {
    let ic = left.times(data.links[k].c);
    absorb_rest(data, k, link, tau, ic, false)
}

/// p + (I − U D⁻¹ Uᵀ) c + U D⁻¹ e, given either that product with c or (`whole`) I c.
#[inline(always)]
fn absorb_rest(data: &mut Data, k: usize, link: &Link, tau: &[f64], ic: Force6, whole: bool) -> Force6 {
    let first = link.v as usize;
    let n = link.rates as usize;
    let at = &data.links[k];
    let mut out = at.p + ic;
    for i in 0..n {
        data.e[first + i] = tau[i] - data.s[first + i].dot(at.p);
    }
    for i in 0..n {
        let mut y = 0.0;
        for j in 0..n {
            let part = if whole { at.c.dot(data.u[first + j]) } else { 0.0 };
            y += data.d[first + i][j] * (data.e[first + j] - part);
        }
        out += data.u[first + i] * y;
    }
    out
}

/// Outward: accelerations of joints and links; for impulses what is outside stands still.
pub(crate) fn accelerate(model: &Model, data: &mut Data, outside_moves: bool) {
    for (k, link) in model.links.iter().enumerate() {
        let first = link.v as usize;
        let at = &data.links[k];
        let stands = link.parent == NONE && !outside_moves;
        let carrier = if stands { Motion6::default() } else { carrier_acceleration(model, data, link, at) };
        let base = carrier + at.c;
        if link.is_ball {
            let y = DVec3::new(data.e[first], data.e[first + 1], data.e[first + 2]);
            let w = y - ball_inverse(&data.d[first]).times(at.ia.b * base.v);
            let spin = w - base.w;
            for i in 0..3 {
                data.acceleration[first + i] = data.s[first + i].w.dot(spin);
            }
            data.links[k].a = Motion6::new(w, base.v);
            continue;
        }
        let n = link.rates as usize;
        let mut left = [0.0; 6];
        for i in 0..n {
            left[i] = data.e[first + i] - base.dot(data.u[first + i]);
        }
        let mut a = base;
        for i in 0..n {
            let mut qdd = 0.0;
            for j in 0..n {
                qdd += data.d[first + i][j] * left[j];
            }
            data.acceleration[first + i] = qdd;
            a += data.s[first + i] * qdd;
        }
        data.links[k].a = a;
    }
}
