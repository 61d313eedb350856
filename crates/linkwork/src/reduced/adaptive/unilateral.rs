//! What holds the hybrid tree from one side: bounds of joints, and corners on planes.
//!
//! A row j takes rates to the speed at which a gap φ opens: a rate by itself, or a point along a direction. Impulses answer
//! through the hybrid tree, K = j M⁻¹ jᵀ by one test impulse a row (Mirtich, Kokkevis), and are found with the solvers of
//! [`lcp`](crate::lcp):
//!
//! - in the first half of a step so that the move ends no farther than the gap, 0 ≤ j v½ + φ/h ⟂ p ≥ 0;
//! - in the second half over the impulses of the whole step, of what has arrived, 0 ≤ j v' + e j v ⟂ x ≥ 0: so a joint or a link
//!   leaves when forces say so, and not later;
//! - friction along two tangents, |x_t| ≤ μ x_n, in both;
//! - what is beyond its bound nevertheless (a corner goes round its joint, a bound was set behind a joint) is pushed back before
//!   the step by the least motion, φ + K μ ≥ 0 ⟂ μ ≥ 0, which gives it no speed.

use super::Adaptive;
use super::ground::Corner;
use crate::contact::lcp::{self, Bounds, Failure, Problem};
use crate::math::Wrench;
use crate::reduced::aba::factor;
use crate::reduced::impulse::{Target, respond_again};
use crate::reduced::inverse::each_column;
use crate::reduced::kinematics::{Data, place};
use crate::reduced::model::Model;
use glam::DVec3;

/// How far beyond its bound something may be and count as at it, m or rad.
const AT_BOUND: f64 = 1e-9;
/// Rounds in which what is beyond its bound is pushed back.
const MOST_ROUNDS: usize = 20;
/// Rows up to which pivots are tried; beyond, sweeps.
const MOST_PIVOTED: usize = 300;
/// Part of its own response by which a row gives way where nothing else finds forces: redundant points share a load then.
const SOFTENED: f64 = 1e-9;

/// Part of the largest response below which a row does not answer at all, and the bounds it has then.
const STIFF: f64 = 1e-12;
const NO_FORCE: Bounds = Bounds::Box { lo: 0.0, hi: 0.0 };

/// What a row stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Source {
    /// A bound of the joint of a link: smallest value, largest, or both in one.
    Limit { link: usize, side: Side },
    /// A corner of a link on a plane: along the normal, or along a tangent.
    Contact { link: usize, corner: usize, plane: usize, tangent: bool },
}

/// Which bound of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Side {
    Min,
    Max,
    Held,
}

pub(super) struct Row {
    pub source: Source,
    target: Target,
    /// Along the target, or against it.
    sign: f64,
    pub bounds: Bounds,
    pub gap: f64,
    restitution: f64,
    /// Speed before the step.
    approach: f64,
    pub impulse: f64,
    /// Entries by rate.
    entries: Vec<(usize, f64)>,
}

impl Row {
    fn new(model: &Model, data: &Data, source: Source, target: Target, sign: f64, bounds: Bounds) -> Row {
        let mut row = Row {
            source,
            target,
            sign,
            bounds,
            gap: 0.0,
            restitution: 0.0,
            approach: 0.0,
            impulse: 0.0,
            entries: Vec::new(),
        };
        row.aim(model, data, target);
        row
    }

    /// Where it acts now.
    fn aim(&mut self, model: &Model, data: &Data, target: Target) {
        self.target = target;
        self.entries.clear();
        match target {
            Target::Rate(r) => self.entries.push((r, self.sign)),
            Target::Point { index, point, direction } => each_column(model, data, index, |column, o, s| {
                self.entries.push((column, self.sign * s.at(point - o).v.dot(direction)));
            }),
        }
    }

    fn speed(&self, v: &[f64]) -> f64 {
        self.entries.iter().map(|&(r, x)| x * v[r]).sum()
    }

    fn is_tangent(&self) -> bool {
        matches!(self.bounds, Bounds::Friction { .. })
    }
}

impl Adaptive {
    /// Rows of the bounds of active joints that the rates would break within a time, except those that are there already.
    fn broken_limits(&self, v: &[f64], h: f64, rows: &[Row]) -> Vec<Row> {
        let mut more = Vec::new();
        for (piece, hybrid) in self.hybrid.links.iter().enumerate() {
            let link = self.first_of(piece);
            let Some(limit) = self.limits.get(&link) else { continue };
            let (rate, q) = (hybrid.v as usize, self.state.q[hybrid.q as usize]);
            let mut add = |side: Side, gap: f64, sign: f64, bounds: Bounds| {
                let source = Source::Limit { link, side };
                let wanted = bounds == Bounds::Equality || gap + h * sign * v[rate] < 0.0;
                if wanted && !rows.iter().any(|row| row.source == source) {
                    let row = Row::new(&self.hybrid, &self.data, source, Target::Rate(rate), sign, bounds);
                    more.push(Row { gap, restitution: limit.restitution, ..row });
                }
            };
            if limit.min == limit.max {
                add(Side::Held, q - limit.min, 1.0, Bounds::Equality);
            } else {
                add(Side::Min, q - limit.min, 1.0, Bounds::Unilateral);
                add(Side::Max, limit.max - q, -1.0, Bounds::Unilateral);
            }
        }
        more
    }

    /// Rows of the corners of links that come within reach of a plane; `slip` tells friction from the velocity of each corner.
    fn contact_rows(&self, links: &[usize], v: &[f64], h: f64, friction: bool) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for &link in links {
            let piece = self.piece_of(link);
            let at = &self.data.links[piece];
            for (corner, c) in self.corners[link].iter().enumerate() {
                let center = at.placed.x + at.placed.r * c.at;
                for (plane, ground) in self.planes.iter().enumerate() {
                    let Some(material) = self.touches(link, c, plane) else { continue };
                    let (gap, speed) = (ground.gap(center, c.radius), at.v.at(center - at.o).v.length());
                    if gap > self.reach(speed, h) {
                        continue;
                    }
                    let point = center - ground.normal * c.radius;
                    let along = |direction| Target::Point { index: piece, point, direction };
                    let normal = rows.len();
                    let source = |tangent| Source::Contact { link, corner, plane, tangent };
                    let (model, data) = (&self.hybrid, &self.data);
                    let row = Row::new(model, data, source(false), along(ground.normal), 1.0, Bounds::Unilateral);
                    rows.push(Row { gap, restitution: material.restitution, ..row });
                    if friction && material.friction > 0.0 {
                        let slip = self.slip(piece, point, ground.normal, v);
                        let bounds = Bounds::Friction { normal, mu: material.friction };
                        for direction in [slip, ground.normal.cross(slip)] {
                            rows.push(Row::new(model, data, source(true), along(direction), 1.0, bounds));
                        }
                    }
                }
            }
        }
        rows
    }

    fn touches(&self, link: usize, corner: &Corner, plane: usize) -> Option<crate::collide::shape::PairMaterial> {
        let plane = &self.planes[plane];
        if self.fixed_to[link] == Some(plane.body) { None } else { plane.with(corner) }
    }

    /// The direction in a plane in which a point slips, or any.
    fn slip(&self, piece: usize, point: DVec3, normal: DVec3, v: &[f64]) -> DVec3 {
        let mut velocity = DVec3::ZERO;
        each_column(&self.hybrid, &self.data, piece, |column, o, s| velocity += s.at(point - o).v * v[column]);
        let across = velocity - normal * normal.dot(velocity);
        if across.length() > 1e-9 { across.normalize() } else { normal.any_orthonormal_vector() }
    }

    /// Impulses that meet rows at rates v, as totals; `asked` is what each row's speed is counted from.
    fn impulses(&mut self, rows: &[Row], v: &[f64], asked: impl Fn(&Row) -> f64) -> Result<Vec<f64>, Failure> {
        let n = rows.len();
        let mut a = vec![0.0; n * n];
        for (j, row) in rows.iter().enumerate() {
            // rows times rates, and not velocities of points: those of a long chain are sums of large terms that cancel
            let change = self.answer(std::slice::from_ref(row), &[1.0]);
            for (i, row) in rows.iter().enumerate() {
                a[i * n + j] = row.speed(change);
            }
        }
        let b: Vec<f64> = rows.iter().map(|row| row.speed(v) + asked(row)).collect();
        // a row along which nothing can move has no force: what is left of its response is rounding
        let largest = (0..n).fold(0.0_f64, |m, i| m.max(a[i * n + i]));
        let is_stiff = |i: usize| a[i * n + i] <= STIFF * largest;
        let bounds: Vec<Bounds> = (0..n)
            .map(|i| match rows[i].bounds {
                Bounds::Friction { normal, .. } if is_stiff(i) || is_stiff(normal) => NO_FORCE,
                _ if is_stiff(i) => NO_FORCE,
                bounds => bounds,
            })
            .collect();
        let guess: Vec<f64> = rows.iter().map(|row| row.impulse).collect();
        solved(&mut a, &b, &bounds, &guess)
    }

    /// What impulses on rows change the rates by, at the poses of the last dynamics.
    fn answer(&mut self, rows: &[Row], impulses: &[f64]) -> &[f64] {
        let mut joints = vec![0.0; self.hybrid.rates()];
        let mut points = Vec::new();
        for (row, p) in rows.iter().zip(impulses) {
            match row.target {
                Target::Rate(r) => joints[r] += row.sign * p,
                Target::Point { index, point, direction } => points.push((index, point, direction * (row.sign * p))),
            }
        }
        respond_again(&self.hybrid, &mut self.data, &joints, &points);
        &self.data.acceleration
    }

    /// Pushes back what is beyond its bound, without giving it speed. Returns how far the farthest was.
    pub(super) fn push_back(&mut self, links: &[usize]) -> Result<f64, Failure> {
        let still = vec![0.0; self.hybrid.rates()];
        let mut farthest = 0.0_f64;
        let mut before = (f64::INFINITY, Vec::new());
        for round in 0..MOST_ROUNDS {
            place(&self.hybrid, &mut self.data, &self.state.q);
            let mut rows = self.contact_rows(links, &still, 0.0, false);
            rows.extend(self.broken_limits(&still, 1.0, &rows));
            let off = |row: &Row| if row.bounds == Bounds::Equality { row.gap.abs() } else { -row.gap };
            let worst = rows.iter().map(off).fold(0.0, f64::max);
            farthest = if round == 0 { worst } else { farthest };
            if worst > before.0 {
                // what no small motion can push back stays where it is
                self.state.q = before.1;
                break;
            }
            if worst <= AT_BOUND {
                break;
            }
            before = (worst, self.state.q.clone());
            factor(&self.hybrid, &mut self.data);
            // what is pushed back may push others beyond theirs
            let change = loop {
                let impulses = self.impulses(&rows, &still, |row| row.gap)?;
                let change = self.answer(&rows, &impulses).to_vec();
                let more = self.broken_limits(&change, 1.0, &rows);
                if more.is_empty() {
                    break change;
                }
                rows.extend(more);
            };
            self.hybrid.integrate(&mut self.state.q, &change, 1.0);
        }
        Ok(farthest)
    }

    /// After the first half of a kick, where the tree is placed: rows that hold it within a step, with their impulses, which are
    /// given to the rates.
    pub(super) fn hold_first(
        &mut self,
        links: &[usize],
        v: &mut [f64],
        start: &[f64],
        h: f64,
    ) -> Result<Vec<Row>, Failure> {
        let mut rows = self.contact_rows(links, v, h, true);
        rows.extend(self.broken_limits(v, h, &rows));
        loop {
            if rows.is_empty() {
                return Ok(rows);
            }
            let within = |row: &Row| match row.bounds {
                Bounds::Equality => row.gap / h,
                Bounds::Friction { .. } => 0.0,
                _ => row.gap.max(0.0) / h,
            };
            let impulses = self.impulses(&rows, v, within)?;
            let mut held = v.to_vec();
            held.iter_mut().zip(self.answer(&rows, &impulses)).for_each(|(v, dv)| *v += dv);
            let more = self.broken_limits(&held, h, &rows);
            if more.is_empty() {
                v.copy_from_slice(&held);
                for (row, p) in rows.iter_mut().zip(impulses) {
                    (row.impulse, row.approach) = (p, row.speed(start));
                }
                return Ok(rows);
            }
            rows.extend(more);
        }
    }

    /// Of the rows of the first half those that have arrived, where the tree is placed after its move.
    pub(super) fn arrived(&self, rows: Vec<Row>) -> Vec<Row> {
        let mut kept: Vec<Row> = Vec::new();
        let mut normal = None;
        for mut row in rows {
            match row.source {
                Source::Limit { link, .. } => {
                    if row.impulse != 0.0 || row.bounds == Bounds::Equality {
                        let rate = self.hybrid.links[self.piece_of(link)].v as usize;
                        row.aim(&self.hybrid, &self.data, Target::Rate(rate));
                        kept.push(row);
                    }
                }
                Source::Contact { link, corner, plane, tangent } => {
                    let (piece, c) = (self.piece_of(link), &self.corners[link][corner]);
                    let (at, ground) = (&self.data.links[piece].placed, &self.planes[plane]);
                    let center = at.x + at.r * c.at;
                    let Target::Point { direction, .. } = row.target else { continue };
                    let point = center - ground.normal * c.radius;
                    row.aim(&self.hybrid, &self.data, Target::Point { index: piece, point, direction });
                    if !tangent {
                        row.gap = ground.gap(center, c.radius);
                        let stays = row.impulse > 0.0 || row.gap <= AT_BOUND;
                        normal = stays.then_some(kept.len());
                        if stays {
                            kept.push(row);
                        }
                    } else if let (Some(normal), Bounds::Friction { mu, .. }) = (normal, row.bounds) {
                        kept.push(Row { bounds: Bounds::Friction { normal, mu }, ..row });
                    }
                }
            }
        }
        kept
    }

    /// Rates without the impulses of the first half, at the poses of the end.
    pub(super) fn without(&mut self, rows: &[Row], v: &[f64]) -> Vec<f64> {
        let back: Vec<f64> = rows.iter().map(|row| -row.impulse).collect();
        v.iter().zip(self.answer(rows, &back)).map(|(v, dv)| v + dv).collect()
    }

    /// The impulses of the whole step on rows, from the rates without any; they are given to the rates.
    pub(super) fn hold_second(&mut self, rows: &[Row], v: &mut [f64]) -> Result<Vec<f64>, Failure> {
        let bounce = |row: &Row| if row.is_tangent() { 0.0 } else { row.restitution * row.approach.min(0.0) };
        let impulses = self.impulses(rows, v, bounce)?;
        v.iter_mut().zip(self.answer(rows, &impulses)).for_each(|(v, dv)| *v += dv);
        Ok(impulses)
    }

    /// Remembers mean forces over the step, from which the next choice of active joints starts.
    pub(super) fn remember(&mut self, rows: &[Row], h: f64) {
        for piece in 0..self.pieces.len() {
            let link = self.first_of(piece);
            if self.limits.contains_key(&link) {
                let rate = self.links[link].v as usize;
                self.tau[rate] = self.force[rate];
            }
        }
        self.pushed.clear();
        for row in rows {
            match (row.source, row.target) {
                (Source::Limit { link, .. }, _) => self.tau[self.links[link].v as usize] += row.sign * row.impulse / h,
                (Source::Contact { link, .. }, Target::Point { index, point, direction }) => {
                    let force = direction * (row.impulse / h);
                    let on: &mut Wrench = self.pushed.entry(link).or_default();
                    on.force += force;
                    on.torque += (point - self.data.links[index].placed.x).cross(force);
                }
                _ => {}
            }
        }
    }
}

/// The solvers in turn: pivots where the rows are few, then sweeps; and all of them again with rows that give way a little.
fn solved(a: &mut [f64], b: &[f64], bounds: &[Bounds], guess: &[f64]) -> Result<Vec<f64>, Failure> {
    let n = b.len();
    let scale = b.iter().fold(0.0_f64, |s, x| s.max(x.abs()));
    if scale == 0.0 {
        return Ok(vec![0.0; n]);
    }
    let attempt = |a: &[f64]| {
        let problem = Problem { a, b, bounds };
        let pivots =
            if n <= MOST_PIVOTED { lcp::dantzig(&problem).or_else(|_| lcp::lemke(&problem)).ok() } else { None };
        match pivots {
            Some(solution) => Ok(solution.x),
            None => lcp::gauss_seidel(&problem, guess, 20_000, 1e-9 * scale).map(|solution| solution.x),
        }
    };
    attempt(a).or_else(|_| {
        for i in 0..n {
            a[i * n + i] *= 1.0 + SOFTENED;
        }
        attempt(a)
    })
}
