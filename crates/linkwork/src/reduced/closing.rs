//! What closes loops of a tree: joints that carry nothing, and couplings between the coordinates of joints.

use super::kinematics::Data;
use super::model::Model;
use crate::joint::coordinate::CoordinateKind;
use crate::joint::rows::{self, Row};
use crate::joint::{JointModel, MAX_ROWS, Motion};
use crate::math::Placed;
use glam::{DMat3, DVec3};

/// Something that closes a loop; bodies by their numbers.
#[derive(Clone)]
pub(crate) enum Closing {
    /// A joint, with the unwrapped angle near which a screw counts its turns.
    Joint { a: u32, b: u32, model: Box<JointModel>, turn: f64 },
    /// Σ factor · coordinate = offset.
    Coupling { terms: Vec<Term>, offset: f64 },
}

/// A coordinate of a coupling, with the value near which its turns are counted.
#[derive(Clone)]
pub(crate) struct Term {
    pub a: u32,
    pub b: u32,
    pub model: Box<JointModel>,
    pub kind: CoordinateKind,
    pub factor: f64,
    pub near: f64,
}

/// Rows between two bodies: all of a joint, or what one coordinate adds to the row of a coupling.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub a: u32,
    pub b: u32,
    /// Centres of mass.
    pub xa: DVec3,
    pub xb: DVec3,
    /// Number of the first row, and where they stand.
    pub row: u32,
    pub first: u32,
    pub last: u32,
}

impl Part {
    /// Visits its rows with their numbers.
    pub fn each(&self, held: &[Row], mut visit: impl FnMut(usize, &Row)) {
        let rows = &held[self.first as usize..self.last as usize];
        rows.iter().enumerate().for_each(|(k, row)| visit(self.row as usize + k, row));
    }
}

impl Closing {
    pub fn rows(&self) -> usize {
        match self {
            Closing::Joint { model, .. } => model.row_count(),
            Closing::Coupling { .. } => 1,
        }
    }

    /// Writes its rows at the present poses, the first of them with number `row`.
    pub(super) fn write(&self, model: &Model, data: &Data, row: u32, parts: &mut Vec<Part>, held: &mut Vec<Row>) {
        let mut add = |a: u32, b: u32, rows: &dyn Fn(&Placed, &Placed, &mut Vec<Row>)| {
            let (at_a, at_b) = (placed(model, data, a), placed(model, data, b));
            let first = held.len() as u32;
            rows(&at_a, &at_b, held);
            parts.push(Part { a, b, xa: at_a.x, xb: at_b.x, row, first, last: held.len() as u32 });
        };
        match self {
            Closing::Joint { a, b, model: joint, .. } => add(*a, *b, &|at_a, at_b, held| {
                let mut rows = [Row::default(); MAX_ROWS];
                joint.rows(at_a, at_b, &mut rows);
                if let Some(axes) = own_axes(joint, at_a) {
                    let (ra, rb) = (at_a.r * joint.anchor_a, at_b.r * joint.anchor_b);
                    for k in 0..3 {
                        let lin = axes.col(k);
                        rows[k] = Row { lin, ang_a: -ra.cross(lin), ang_b: rb.cross(lin) };
                    }
                }
                held.extend_from_slice(&rows[..joint.row_count()]);
            }),
            Closing::Coupling { terms, .. } => {
                for t in terms {
                    add(t.a, t.b, &|at_a, at_b, held| held.push(t.kind.row(&t.model, at_a, at_b).scaled(t.factor)));
                }
            }
        }
    }

    /// The forces of its joint's rows from those of the rows here.
    pub fn forces(&self, model: &Model, data: &Data, multipliers: &[f64], out: &mut [f64]) {
        out.copy_from_slice(multipliers);
        if let Closing::Joint { a, model: joint, .. } = self
            && let Some(axes) = own_axes(joint, &placed(model, data, *a))
        {
            (axes * DVec3::from_slice(multipliers)).write_to_slice(&mut out[..3]);
        }
    }

    /// How far it is from closed.
    pub(super) fn errors(&self, model: &Model, data: &Data, out: &mut [f64]) {
        match self {
            Closing::Joint { a, b, model: joint, turn } => {
                let at_a = placed(model, data, *a);
                joint.error(&at_a, &placed(model, data, *b), *turn, out);
                to_own_axes(joint, &at_a, out);
            }
            Closing::Coupling { terms, offset } => {
                let value = |t: &Term| {
                    let (a, b) = (placed(model, data, t.a), placed(model, data, t.b));
                    t.factor * t.kind.unwrapped(&t.model, &a, &b, t.near)
                };
                out[0] = terms.iter().map(value).sum::<f64>() - offset;
            }
        }
    }

    /// What its rows change by at constant velocities, J̇u.
    pub(super) fn bias(&self, model: &Model, data: &Data, out: &mut [f64]) {
        let moving = |body: u32| (placed(model, data, body), motion(model, data, body));
        match self {
            Closing::Joint { a, b, model: joint, .. } => {
                let ((a, ua), (b, ub)) = (moving(*a), moving(*b));
                joint.bias_acceleration(&a, &b, &ua, &ub, out);
                to_own_axes(joint, &a, out);
            }
            Closing::Coupling { terms, .. } => {
                let of = |t: &Term| {
                    let ((a, ua), (b, ub)) = (moving(t.a), moving(t.b));
                    t.factor * t.kind.bias_acceleration(&t.model, &a, &b, &ua, &ub)
                };
                out[0] = terms.iter().map(of).sum();
            }
        }
    }
}

/// The axes along which a joint that keeps two points together is measured here: its own, so that a row across the plane of a
/// flat linkage stays apart from those in it, however the linkage stands in the world.
fn own_axes(joint: &JointModel, at_a: &Placed) -> Option<DMat3> {
    (joint.parts.first() == Some(&rows::Part::PointOnPoint)).then(|| at_a.r * joint.frame_a)
}

fn to_own_axes(joint: &JointModel, at_a: &Placed, out: &mut [f64]) {
    if let Some(axes) = own_axes(joint, at_a) {
        (axes.transpose() * DVec3::from_slice(out)).write_to_slice(&mut out[..3]);
    }
}

/// The link of a body, or −1 for what is outside.
pub(super) fn link_of(model: &Model, body: u32) -> i64 {
    model.link_of.get(body as usize).map_or(-1, |&l| i64::from(l))
}

pub(super) fn placed(model: &Model, data: &Data, body: u32) -> Placed {
    match link_of(model, body) {
        -1 => data.outside[body as usize - model.movable].0,
        link => data.links[link as usize].placed,
    }
}

pub(super) fn motion(model: &Model, data: &Data, body: u32) -> Motion {
    match link_of(model, body) {
        -1 => data.outside[body as usize - model.movable].1,
        link => {
            let (v, w) = data.velocity(link as usize);
            Motion { v, w }
        }
    }
}

pub(super) fn acceleration(model: &Model, data: &Data, body: u32) -> Motion {
    match link_of(model, body) {
        -1 => Motion::default(),
        link => {
            let (v, w) = data.body_acceleration(link as usize);
            Motion { v, w }
        }
    }
}
