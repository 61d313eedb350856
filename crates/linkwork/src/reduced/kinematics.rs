//! Kinematics of a tree, both ways: positions and rates to poses and velocities, and back.
//!
//! Every link has a point O, the anchor of its joint's second body, at which all its spatial vectors are taken (for a body
//! that floats, its centre of mass). The columns S of a joint map its rates to the motion of the carried body against the
//! carrying one; a joint that is passed backwards has −S. c = Ṡ q̇ is what accelerates at constant rates.

use super::model::{Link, Model, NONE};
use super::spatial::{Force6, Inertia6, Motion6};
use crate::joint::Motion;
use crate::joint::freedom::{Freedom, Relative, Slide, Turn, quaternion};
use crate::math::{Placed, rotation};
use crate::world::World;
use glam::DVec3;

/// Positions and rates of a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Angles (rad), displacements (m) and unit quaternions (x, y, z, w), joint by joint in the order of the tree.
    pub q: Vec<f64>,
    /// Their rates, rad/s and m/s; of a quaternion the angular velocity in the frame of the carried side.
    pub v: Vec<f64>,
}

/// What is known of one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkData {
    pub placed: Placed,
    /// The point of all spatial vectors of the link, and how far it is from the parent's.
    pub o: DVec3,
    pub r: DVec3,
    /// Velocity, bias of the joint, acceleration.
    pub v: Motion6,
    pub c: Motion6,
    pub a: Motion6,
    /// Inertia (articulated, or composite) and the force that goes with it.
    pub ia: Inertia6,
    pub p: Force6,
}

impl LinkData {
    const START: LinkData = LinkData {
        placed: Placed::WORLD,
        o: DVec3::ZERO,
        r: DVec3::ZERO,
        v: Motion6 { w: DVec3::ZERO, v: DVec3::ZERO },
        c: Motion6 { w: DVec3::ZERO, v: DVec3::ZERO },
        a: Motion6 { w: DVec3::ZERO, v: DVec3::ZERO },
        ia: Inertia6 {
            a: super::spatial::Sym3 { xx: 0.0, yy: 0.0, zz: 0.0, xy: 0.0, xz: 0.0, yz: 0.0 },
            b: glam::DMat3::ZERO,
            m: super::spatial::Sym3 { xx: 0.0, yy: 0.0, zz: 0.0, xy: 0.0, xz: 0.0, yz: 0.0 },
        },
        p: Force6 { n: DVec3::ZERO, f: DVec3::ZERO },
    };

    /// From the link's point to its centre of mass.
    #[inline(always)]
    pub fn lever(&self) -> DVec3 {
        self.placed.x - self.o
    }
}

/// Working memory of the algorithms on one [`Model`], and their results.
#[derive(Clone, Default)]
pub struct Data {
    pub(crate) links: Vec<LinkData>,
    /// Columns of all joints, by rate.
    pub(crate) s: Vec<Motion6>,
    /// I S, rows of (SᵀIS)⁻¹, and what is left of the joint force; by rate.
    pub(crate) u: Vec<Force6>,
    pub(crate) d: Vec<[f64; 6]>,
    pub(crate) e: Vec<f64>,
    /// Inertias of each link with all that it carries, as one body.
    pub(crate) composite: Vec<Inertia6>,
    /// Poses and motions of what is outside.
    pub(crate) outside: Vec<(Placed, Motion)>,
    /// Result of [`aba`](super::aba()): accelerations, rad/s² and m/s².
    pub acceleration: Vec<f64>,
    /// Result of [`rnea`](super::rnea()): joint forces, N m and N.
    pub force: Vec<f64>,
    /// Result of [`crba`](super::crba()): the mass matrix, row by row.
    pub mass_matrix: Vec<f64>,
}

impl Data {
    /// Memory for a model.
    pub fn new(model: &Model) -> Data {
        Data {
            links: vec![LinkData::START; model.links.len()],
            s: vec![Motion6::default(); model.rates()],
            u: vec![Force6::default(); model.rates()],
            d: vec![[0.0; 6]; model.rates()],
            e: vec![0.0; model.rates()],
            outside: model.outside.clone(),
            acceleration: vec![0.0; model.rates()],
            force: vec![0.0; model.rates()],
            composite: Vec::new(),
            mass_matrix: Vec::new(),
        }
    }

    /// Where a body's centre of mass is, as of the last kinematics.
    ///
    /// # Panics
    /// If there is no body at that place of the tree.
    pub fn center_of_mass(&self, index: usize) -> DVec3 {
        self.links[index].placed.x
    }

    /// Velocity of a body's centre of mass and its angular velocity, world axes.
    ///
    /// # Panics
    /// If there is no body at that place of the tree.
    pub fn velocity(&self, index: usize) -> (DVec3, DVec3) {
        let l = &self.links[index];
        let at = l.v.at(l.lever());
        (at.v, at.w)
    }

    /// Acceleration of a body's centre of mass (m/s²) and its angular acceleration, as of the last dynamics.
    ///
    /// # Panics
    /// If there is no body at that place of the tree.
    pub fn body_acceleration(&self, index: usize) -> (DVec3, DVec3) {
        let l = &self.links[index];
        let (a, v) = (l.a.at(l.lever()), l.v.at(l.lever()));
        // a spatial acceleration is that of a standing point: what stands there moves on
        (a.v + v.w.cross(v.v), a.w)
    }
}

/// Says which vector does not fit a model, or that the memory is another's.
pub(crate) fn check_sizes(model: &Model, data: &Data, q: &[f64], by_rate: &[(&str, &[f64])]) {
    let (positions, rates) = (model.positions(), model.rates());
    assert!(q.len() == positions, "there are {} positions q, the model has {positions}", q.len());
    for (name, x) in by_rate {
        assert!(x.len() == rates, "{name} has {} entries, the model {rates} rates", x.len());
    }
    check_memory(model, data);
}

/// Says if the memory is another model's.
pub(crate) fn check_memory(model: &Model, data: &Data) {
    assert!(is_memory_of(model, data), "this Data was made for another model");
}

/// Whether the memory can be this model's.
pub(crate) fn is_memory_of(model: &Model, data: &Data) -> bool {
    data.links.len() == model.bodies() && data.s.len() == model.rates()
}

/// Poses and velocities of all bodies from positions and rates.
///
/// # Panics
/// If the vectors are not as long as the model's, or `data` is another model's.
pub fn forward_kinematics(model: &Model, data: &mut Data, q: &[f64], v: &[f64]) {
    check_sizes(model, data, q, &[("v", v)]);
    place(model, data, q);
    drive(model, data, v);
}

/// Poses, points and columns from positions.
pub(crate) fn place(model: &Model, data: &mut Data, q: &[f64]) {
    for (k, link) in model.links.iter().enumerate() {
        let other = other_placed(model, data, link);
        let own = &q[link.q as usize..];
        let at = link.freedom.relative(&link.model, own);
        let placed = carried_pose(link, &other, &at);
        data.links[k].placed = placed;
        attach(data, k, link, &other, &placed, own);
    }
}

/// Points and columns from poses that fit the joints, numbered as the bodies are; `q` is needed for rods alone.
pub(crate) fn place_at(model: &Model, data: &mut Data, poses: &[Placed], q: &[f64]) {
    for (k, link) in model.links.iter().enumerate() {
        let placed = poses[link.body as usize];
        data.links[k].placed = placed;
        let other = if link.other == NONE { Placed::WORLD } else { poses[link.other as usize] };
        attach(data, k, link, &other, &placed, &q[link.q as usize..]);
    }
}

#[inline(always)]
fn other_placed(model: &Model, data: &Data, link: &Link) -> Placed {
    if link.parent != NONE {
        data.links[link.parent as usize].placed
    } else if link.other == NONE {
        Placed::WORLD
    } else {
        data.outside[link.other as usize - model.movable].0
    }
}

/// Pose of the carried body.
#[inline(always)]
pub(crate) fn carried_pose(link: &Link, other: &Placed, at: &Relative) -> Placed {
    let m = &link.model;
    if link.reversed {
        // other is b: F_a = F_b Rᵀ, P_a = P_b − F_a d
        let frame = other.q * m.turn_b * at.q.inverse();
        let q = rotation::renormalised(frame * m.turn_a.inverse());
        let placed = Placed::new(DVec3::ZERO, q);
        let anchor = other.x + other.r * m.anchor_b - frame * at.d;
        Placed { x: anchor - placed.r * m.anchor_a, ..placed }
    } else {
        let q = rotation::renormalised(other.q * m.turn_a * at.q * m.turn_b.inverse());
        let placed = Placed::new(DVec3::ZERO, q);
        let slide = if link.freedom.slide == Slide::None && link.freedom.turn != Turn::Helix {
            DVec3::ZERO
        } else {
            other.r * (m.frame_a * at.d)
        };
        let anchor = other.x + other.r * m.anchor_a + slide;
        Placed { x: anchor - placed.r * m.anchor_b, ..placed }
    }
}

/// The link's point, its distance from the parent's, and the columns of its joint.
#[inline(always)]
fn attach(data: &mut Data, k: usize, link: &Link, other: &Placed, placed: &Placed, q: &[f64]) {
    let m = &link.model;
    let (a, b) = if link.reversed { (placed, other) } else { (other, placed) };
    let o = b.x + b.r * m.anchor_b;
    let from = if link.parent == NONE { DVec3::ZERO } else { data.links[link.parent as usize].o };
    data.links[k].o = o;
    data.links[k].r = o - from;
    let v = link.v as usize;
    columns(link, a, b, q, &mut data.s[v..v + link.rates as usize]);
}

/// The columns of a link's joint at its point, b's anchor, given the poses of the joint's bodies.
#[inline(always)]
pub(crate) fn columns(link: &Link, a: &Placed, b: &Placed, q: &[f64], out: &mut [Motion6]) {
    let m = &link.model;
    let sign = if link.reversed { -1.0 } else { 1.0 };
    let (slide, turn) = out.split_at_mut(link.freedom.slide_rates());
    let along = |t: DVec3| Motion6::new(DVec3::ZERO, t * sign);
    match link.freedom.slide {
        Slide::None => {}
        Slide::Axis => slide[0] = along(a.r * m.frame_a.z_axis),
        Slide::Plane => {
            slide[0] = along(a.r * m.frame_a.x_axis);
            slide[1] = along(a.r * m.frame_a.y_axis);
        }
        Slide::Space => {
            slide[0] = along(a.r * m.frame_a.x_axis);
            slide[1] = along(a.r * m.frame_a.y_axis);
            slide[2] = along(a.r * m.frame_a.z_axis);
        }
        Slide::Sphere => {
            let frame = quaternion(q);
            slide[0] = along(a.r * (m.frame_a * (frame * DVec3::Y)) * -m.length);
            slide[1] = along(a.r * (m.frame_a * (frame * DVec3::X)) * m.length);
        }
    }
    let about = |t: DVec3| Motion6::new(t * sign, DVec3::ZERO);
    match link.freedom.turn {
        Turn::None => {}
        Turn::Axis => turn[0] = about(b.r * m.frame_b.z_axis),
        Turn::Helix => {
            let z = b.r * m.frame_b.z_axis * sign;
            turn[0] = Motion6::new(z, z * m.lead);
        }
        Turn::Cross => {
            turn[0] = about(a.r * m.frame_a.z_axis);
            turn[1] = about(b.r * m.frame_b.z_axis);
        }
        Turn::Free => {
            turn[0] = about(b.r * m.frame_b.x_axis);
            turn[1] = about(b.r * m.frame_b.y_axis);
            turn[2] = about(b.r * m.frame_b.z_axis);
        }
    }
}

/// Velocity of what carries a link, at the link's point.
#[inline(always)]
pub(crate) fn carrier_velocity(model: &Model, data: &Data, link: &Link, at: &LinkData) -> Motion6 {
    if link.parent != NONE {
        data.links[link.parent as usize].v.at(at.r)
    } else {
        outside_velocity(model, data, link, at.o)
    }
}

#[cold]
fn outside_velocity(model: &Model, data: &Data, link: &Link, o: DVec3) -> Motion6 {
    if link.other == NONE {
        return Motion6::default();
    }
    let (placed, motion) = &data.outside[link.other as usize - model.movable];
    Motion6::new(motion.w, motion.v).at(o - placed.x)
}

/// Acceleration of what carries a link, at the link's point.
#[inline(always)]
pub(crate) fn carrier_acceleration(model: &Model, data: &Data, link: &Link, at: &LinkData) -> Motion6 {
    if link.parent != NONE {
        return data.links[link.parent as usize].a.at(at.r);
    }
    if link.other == NONE {
        return Motion6::default();
    }
    // moves and turns steadily: a standing point sees other parts of it pass
    let (_, motion) = &data.outside[link.other as usize - model.movable];
    Motion6::new(DVec3::ZERO, -motion.w.cross(motion.v))
}

/// Accelerations of all links from those of the joints, at driven velocities.
pub(crate) fn set_accelerations(model: &Model, data: &mut Data, acceleration: &[f64]) {
    for (k, link) in model.links.iter().enumerate() {
        let at = &data.links[k];
        let mut a = carrier_acceleration(model, data, link, at) + at.c;
        let rates = link.v as usize..link.v as usize + link.rates as usize;
        for (s, x) in data.s[rates.clone()].iter().zip(&acceleration[rates]) {
            a += *s * *x;
        }
        data.links[k].a = a;
    }
}

/// Velocities from rates, at the present columns; biases stay those of others.
pub(crate) fn set_velocities(model: &Model, data: &mut Data, v: &[f64]) {
    for (k, link) in model.links.iter().enumerate() {
        let mut own = carrier_velocity(model, data, link, &data.links[k]);
        let rates = link.v as usize..link.v as usize + link.rates as usize;
        for (s, r) in data.s[rates.clone()].iter().zip(&v[rates]) {
            own += *s * *r;
        }
        data.links[k].v = own;
    }
}

/// Velocities and biases from rates, at the present columns.
pub(crate) fn drive(model: &Model, data: &mut Data, v: &[f64]) {
    for (k, link) in model.links.iter().enumerate() {
        drive_link(model, data, k, link, v);
    }
}

#[inline(always)]
pub(crate) fn drive_link(model: &Model, data: &mut Data, k: usize, link: &Link, v: &[f64]) {
    let at = &data.links[k];
    let carrier = carrier_velocity(model, data, link, at);
    let first = link.v as usize;
    let rates = &v[first..first + link.rates as usize];
    let s = &data.s[first..first + link.rates as usize];
    if link.is_ball {
        // nothing slides: the relative motion is a spin about O, fixed to either side
        let spin = s[0].w * rates[0] + s[1].w * rates[1] + s[2].w * rates[2];
        let own = Motion6::new(carrier.w + spin, carrier.v);
        let c = Motion6::new(carrier.w.cross(spin), carrier.v.cross(spin));
        (data.links[k].v, data.links[k].c) = (own, c);
        return;
    }
    let slides = link.freedom.slide_rates();
    let mut slide = DVec3::ZERO;
    for (s, r) in s[..slides].iter().zip(rates) {
        slide += s.v * *r;
    }
    let mut turn = Motion6::default();
    for (s, r) in s[slides..].iter().zip(&rates[slides..]) {
        turn += *s * *r;
    }
    let own = carrier + turn + Motion6::new(DVec3::ZERO, slide);
    let (a, b) = if link.reversed { (own, carrier) } else { (carrier, own) };
    let mut c = b.cross(turn);
    if link.freedom.turn == Turn::Cross {
        // the first axis is fixed to a
        c += (a - b).cross(s[slides] * rates[slides]);
    }
    c.v += a.w.cross(slide);
    if link.freedom.slide == Slide::Sphere {
        // −length |ω|² n, with n from the two columns of equal length
        let n = s[0].v.cross(s[1].v);
        let length = link.model.length;
        let sign = if link.reversed { -1.0 } else { 1.0 };
        c.v += n * (sign / length * (rates[0] * rates[0] + rates[1] * rates[1])) * -1.0;
    }
    (data.links[k].v, data.links[k].c) = (own, c);
}

/// Positions and rates of a world that fit its joints; angles are those of the same turn as in `near`, where that is given.
///
/// # Panics
/// If `near` is not as long as the model's positions.
pub fn state_of(model: &Model, world: &World, near: Option<&State>) -> State {
    if let Some(near) = near {
        let (given, own) = (near.q.len(), model.positions());
        assert!(given == own, "there are {given} positions near, the model has {own}");
    }
    let mut poses = vec![Placed::WORLD; model.movable];
    let mut motions = vec![Motion::default(); model.movable];
    for link in &model.links {
        let body = model.body(model.link_of[link.body as usize] as usize).and_then(|id| world.bodies.get(id));
        if let Some(body) = body {
            poses[link.body as usize] = body.placed();
            motions[link.body as usize] = Motion { v: body.v, w: body.w };
        }
    }
    poses.extend(model.outside.iter().map(|o| o.0));
    motions.extend(model.outside.iter().map(|o| o.1));
    let mut state = State { q: near.map_or_else(|| model.neutral(), |s| s.q.clone()), v: vec![0.0; model.rates()] };
    read_positions(model, &poses, &mut state.q);
    let mut data = Data::new(model);
    place_at(model, &mut data, &poses, &state.q);
    read_rates(model, &data, &motions, &mut state.v);
    state
}

/// Positions from poses.
pub(crate) fn read_positions(model: &Model, poses: &[Placed], q: &mut [f64]) {
    for link in &model.links {
        let m = &link.model;
        let own = &poses[link.body as usize];
        let other = if link.other == NONE { &Placed::WORLD } else { &poses[link.other as usize] };
        let (a, b) = if link.reversed { (own, other) } else { (other, own) };
        let (ta, tb) = Model::turn_of(link);
        let d = if link.is_ball { DVec3::ZERO } else { m.frame_a.transpose() * (a.r.transpose() * m.gap(a, b)) };
        let at = Relative { d, q: (a.q * ta).inverse() * (b.q * tb) };
        let first = link.q as usize;
        link.freedom.read(m, &at, &mut q[first..first + link.freedom.positions()]);
    }
}

/// Rates from velocities of the centres of mass that fit the joints, at the present columns.
pub(crate) fn read_rates(model: &Model, data: &Data, motions: &[Motion], v: &mut [f64]) {
    for (k, link) in model.links.iter().enumerate() {
        let at = &data.links[k];
        let seen = |body: u32, x: DVec3| {
            let m = &motions[body as usize];
            Motion6::new(m.w, m.v).at(at.o - x)
        };
        let own = seen(link.body, at.placed.x);
        let other = if link.other == NONE {
            Motion6::default()
        } else {
            let x = match link.parent {
                NONE => data.outside[link.other as usize - model.movable].0.x,
                parent => data.links[parent as usize].placed.x,
            };
            seen(link.other, x)
        };
        let first = link.v as usize;
        let n = link.rates as usize;
        rates_of_relative(&link.freedom, &data.s[first..first + n], own - other, &mut v[first..first + n]);
    }
}

/// The rates that make a relative motion, where it is one that the joint allows.
#[inline(always)]
fn rates_of_relative(freedom: &Freedom, s: &[Motion6], relative: Motion6, v: &mut [f64]) {
    let slides = freedom.slide_rates();
    let linear = relative.v;
    match freedom.turn {
        Turn::None => {}
        Turn::Cross => {
            // two axes at an angle
            let (x, y) = (s[slides].w, s[slides + 1].w);
            let (xy, wx, wy) = (x.dot(y), x.dot(relative.w), y.dot(relative.w));
            let det = 1.0 - xy * xy;
            (v[slides], v[slides + 1]) = ((wx - xy * wy) / det, (wy - xy * wx) / det);
        }
        _ => {
            for (s, v) in s[slides..].iter().zip(&mut v[slides..]) {
                *v = s.w.dot(relative.w);
            }
        }
    }
    for (s, v) in s[..slides].iter().zip(&mut v[..slides]) {
        *v = s.v.dot(linear) / if freedom.slide == Slide::Sphere { s.v.length_squared() } else { 1.0 };
    }
}

/// Gives a world the poses and velocities of a state.
///
/// # Panics
/// If the state is not as long as the model's.
pub fn set_state(model: &Model, world: &mut World, state: &State) {
    let mut data = Data::new(model);
    forward_kinematics(model, &mut data, &state.q, &state.v);
    world.wake_all();
    for k in 0..model.links.len() {
        let (v, w) = data.velocity(k);
        let placed = data.links[k].placed;
        if let Some(body) = model.body(k).and_then(|id| world.bodies.get_mut(id)) {
            (body.x, body.q, body.v, body.w) = (placed.x, placed.q, v, w);
        }
    }
    world.forget_memory();
    world.read_coordinates();
    // loops may be open now: the next step closes them
    let loops = !model.closing.is_empty();
    (world.posed, world.disturbed) = (world.posed | loops, world.disturbed | loops);
}
