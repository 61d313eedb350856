//! Forward dynamics by dividing and conquering (Featherstone 1999), for any tree.
//!
//! Links are put together two pieces at a time ([`assembly`](super::assembly)), each piece known by its two ends
//! ([`handles`](super::handles)); forces come back down the same tree. Its depth is that of the assembly: the logarithm of the number
//! of links. Pieces of one level do not wait for each other, and with the feature `parallel` threads share them. No sum
//! depends on who does what, so neither do the bits of the result.

use super::aba::{inverse_of, momentum, rigid};
use super::assembly::Assembly;
use super::handles::{Ends, Hinge, Passing, Split, V, dense, motion, times};
use super::kinematics::{Data, carrier_acceleration, check_sizes, drive, place};
use super::model::Model;
use super::spatial::Force6;
use crate::math::Wrench;
use crate::parallel;

/// Pieces of a level from which on threads share them.
const WORTH_THREADS: usize = 32;

/// A piece, the joint inside it, and what its parts feel.
#[derive(Default)]
struct Piece {
    ends: Ends,
    hinge: Hinge,
    passing: Passing,
    split: Split,
    /// Forces on its ends.
    near: V,
    far: V,
}

/// Accelerations from joint forces, as [`aba`](super::aba()) finds them: `data.acceleration`.
///
/// # Panics
/// If the vectors are not as long as the model's, or `data` is another model's.
pub fn divide_and_conquer(model: &Model, data: &mut Data, q: &[f64], v: &[f64], force: &[f64], external: &[Wrench]) {
    check_sizes(model, data, q, &[("v", v), ("force", force)]);
    place(model, data, q);
    drive(model, data, v);
    let parents: Vec<u32> = model.links.iter().map(|l| l.parent).collect();
    let assembly = Assembly::of(&parents);
    let levels = Levels::of(&assembly);
    let mut pieces: Vec<Piece> = levels.order.iter().map(|_| Piece::default()).collect();
    let hinge = |link: usize| hinge(model, data, force, link);

    for (first, last) in levels.ranges() {
        let (below, level) = pieces.split_at_mut(first);
        parallel::for_each(&mut level[..last - first], last - first >= WORTH_THREADS, |k, piece| {
            let id = levels.order[first + k];
            let part = &assembly.parts[id as usize];
            let (Some((a, b)), Some(joint)) = (part.parts, assembly.joint(id)) else {
                piece.ends = single(model, data, external, part.near as usize);
                return;
            };
            let (a, b) = (&below[levels.slot(a)], &below[levels.slot(b)]);
            piece.hinge = hinge(joint as usize);
            (piece.ends, piece.passing) = piece.hinge.join(&a.ends, &b.ends, part.beside);
        });
    }

    let mut roots = Vec::with_capacity(assembly.roots.len());
    for &root in &assembly.roots {
        let link = assembly.parts[root as usize].near as usize;
        let ground = carrier_acceleration(model, data, &model.links[link], &data.links[link]);
        let whole = &mut pieces[levels.slot(root)];
        let (f, rates) = hinge(link).root(&whole.ends, &motion(ground));
        whole.near = f;
        roots.push((link, rates));
    }
    for (first, last) in levels.ranges().rev() {
        let (rest, above) = pieces.split_at_mut(last);
        let (below, level) = rest.split_at_mut(first);
        parallel::for_each(level, last - first >= WORTH_THREADS, |k, piece| {
            let id = levels.order[first + k];
            let part = &assembly.parts[id as usize];
            if let Some(of) = assembly.parts.get(part.above as usize) {
                let split = &above[levels.slot(part.above) - last].split;
                let whole = &above[levels.slot(part.above) - last];
                let is_first = of.parts.is_some_and(|(a, _)| a == id);
                (piece.near, piece.far) =
                    if is_first { (whole.near, split.a_far) } else { (split.b_near, split.b_far) };
            }
            let Some((a, b)) = part.parts else { return };
            let (a, b) = (&below[levels.slot(a)].ends, &below[levels.slot(b)].ends);
            piece.split = piece.hinge.split(&piece.passing, a, b, part.beside, &piece.near, &piece.far);
        });
    }

    let inner =
        levels.order.iter().zip(&pieces).filter_map(|(&id, p)| Some((assembly.joint(id)? as usize, &p.split.rates)));
    for (link, rates) in inner.chain(roots.iter().map(|(link, rates)| (*link, rates))) {
        data.acceleration[model.rates_of(link)].copy_from_slice(rates);
    }
}

/// Pieces by height: those of one height do not wait for each other.
struct Levels {
    order: Vec<u32>,
    slots: Vec<u32>,
    /// Where each height begins, and the end.
    begins: Vec<usize>,
}

impl Levels {
    fn of(assembly: &Assembly) -> Levels {
        let heights = assembly.heights();
        let mut order: Vec<u32> = (0..heights.len() as u32).collect();
        order.sort_by_key(|&id| heights[id as usize]);
        let mut slots = vec![0; order.len()];
        order.iter().enumerate().for_each(|(slot, &id)| slots[id as usize] = slot as u32);
        let mut begins: Vec<usize> = (0..order.len())
            .filter(|&k| k == 0 || heights[order[k] as usize] != heights[order[k - 1] as usize])
            .collect();
        begins.push(order.len());
        Levels { order, slots, begins }
    }

    fn slot(&self, id: u32) -> usize {
        self.slots[id as usize] as usize
    }

    fn ranges(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> {
        self.begins.windows(2).map(|w| (w[0], w[1]))
    }
}

/// One link; both ends are at its own point.
fn single(model: &Model, data: &Data, external: &[Wrench], k: usize) -> Ends {
    let (link, at) = (&model.links[k], &data.links[k]);
    let answer = inverse_of(&dense(&rigid(link, at)));
    let mut p = at.v.cross_force(momentum(link, at));
    let outer = external.get(k).copied().unwrap_or_default();
    let f = model.weight[k] + outer.force;
    p -= Force6::new(outer.torque + at.lever().cross(f), f);
    let bias = times(&answer, &[-p.n.x, -p.n.y, -p.n.z, -p.f.x, -p.f.y, -p.f.z]);
    Ends { near: answer, far: answer, across: answer, b_near: bias, b_far: bias }
}

/// The joint that carries a link.
fn hinge(model: &Model, data: &Data, force: &[f64], k: usize) -> Hinge {
    let (at, rates) = (&data.links[k], model.rates_of(k));
    Hinge {
        s: data.s[rates.clone()].iter().map(|s| motion(*s)).collect(),
        r: at.r,
        c: motion(at.c),
        tau: force[rates].to_vec(),
    }
}
