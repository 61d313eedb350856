//! Which triangles of cloth may come near each other, known from step to step.
//!
//! A tree of boxes over the triangles is laid out once on the surface. Where the normals below a node differ little, the
//! patch cannot meet itself and is skipped whole (Volino, Magnenat-Thalmann 1994); the same for two patches that adjoin each
//! other. What remains are folds and layers.
//!
//! Coherence: every vertex has a box around its path within a step, with some slack, seen from the middle of all cloth. As
//! long as paths stay within their boxes, the pairs of triangles found hold all that may come near. Only those of vertices
//! that have left theirs are searched again, unless these are many.

use crate::collide::parry::Bounds;
use glam::DVec3;

const NONE: u32 = u32::MAX;
/// Vertices out of their boxes, one in so many, that call for a search of everything.
const MANY: usize = 4;
/// Radius of a ball that holds all normals there are.
const ANY_NORMAL: f64 = 4.0;
/// Part of its edges and of its area that a triangle keeps where a flat patch cannot meet itself.
const KEPT: f64 = 0.5;

/// Triangles in a tree, at rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Surface {
    pub triangles: Vec<[u32; 3]>,
    /// Edges and twice the area of each triangle at rest.
    at_rest: Vec<([f64; 3], f64)>,
    nodes: Vec<Node>,
    /// By vertex: the leaves of the triangles around it.
    around: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// First child; the second is `other`. A leaf has `NONE` and its triangle in `other`.
    child: u32,
    other: u32,
    /// The piece of cloth that all its triangles belong to; `NONE` if to several.
    piece: u32,
    /// Box at rest.
    rest: Bounds,
}

/// A node as it was when it was searched.
#[derive(Clone, Copy, Debug)]
struct Fitted {
    bounds: Bounds,
    /// All normals of the patch lie in the ball around `normal` of this radius.
    normal: DVec3,
    spread: f64,
}

impl Fitted {
    fn normals(&self) -> (DVec3, f64) {
        (self.normal, self.spread)
    }
}

/// What was found, and for which paths. What follows depends on it to the bit, so it is part of the state.
#[derive(Clone, Debug, Default)]
pub(super) struct Nearby {
    pub pairs: Vec<[u32; 2]>,
    boxes: Vec<Bounds>,
    fitted: Vec<Fitted>,
    /// By vertex: whether the triangles around it are flat together, so that none of them meets another.
    smooth: Vec<bool>,
}

/// The paths of a step.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a> {
    pub x: &'a [DVec3],
    pub v: &'a [DVec3],
    pub h: f64,
}

impl Surface {
    /// Adds triangles, whose vertices are where they are at rest.
    pub fn add(&mut self, x: &[DVec3], triangles: Vec<[u32; 3]>) {
        self.at_rest.extend(triangles.iter().map(|t| size(t.map(|i| x[i as usize]))));
        self.triangles.extend(triangles);
        let center = |t: u32| self.triangles[t as usize].iter().map(|&i| x[i as usize]).sum::<DVec3>() / 3.0;
        let mut order: Vec<u32> = (0..self.triangles.len() as u32).collect();
        let mut nodes = Vec::with_capacity(2 * order.len());
        split(&mut order, &center, &pieces(&self.triangles, x.len()), &mut nodes);
        for k in (0..nodes.len()).rev() {
            let Node { child, other, .. } = nodes[k];
            nodes[k].rest = match child {
                NONE => Bounds::of(self.triangles[other as usize].iter().map(|&i| x[i as usize])).grown(1e-9),
                _ => joined(&nodes[child as usize].rest, &nodes[other as usize].rest),
            };
        }
        self.around = vec![Vec::new(); x.len()];
        for (k, node) in nodes.iter().enumerate().filter(|(_, node)| node.child == NONE) {
            self.triangles[node.other as usize].iter().for_each(|&i| self.around[i as usize].push(k as u32));
        }
        self.nodes = nodes;
    }

    /// The vertices that two triangles share: how many, and one of them.
    fn shared(&self, a: u32, b: u32) -> (usize, u32) {
        let other = &self.triangles[b as usize];
        let shared = self.triangles[a as usize].iter().filter(|i| other.contains(i));
        shared.fold((0, NONE), |(count, _), i| (count + 1, *i))
    }

    /// The box of a triangle, and the normals it has on the way: N(t) = (e₀ + t ė) × (f₀ + t ḟ) is a mean of N(0), N(1) and
    /// ½(e₀ × f₁ + e₁ × f₀) at every time, so that its direction is between theirs.
    fn of_leaf(&self, triangle: &[u32; 3], number: usize, boxes: &[Bounds], paths: &Paths, grow: f64) -> Fitted {
        let before = triangle.map(|i| paths.x[i as usize]);
        let after = triangle.map(|i| paths.x[i as usize] + paths.v[i as usize] * paths.h);
        let edges = |p: &[DVec3; 3]| [p[1] - p[0], p[2] - p[0], p[2] - p[1]];
        let (e, f) = (edges(&before), edges(&after));
        let normals = [e[0].cross(e[1]), (e[0].cross(f[1]) + f[0].cross(e[1])) * 0.5, f[0].cross(f[1])];
        let (lengths, area) = self.at_rest[number];
        let shortest = |k: usize| shortest_between(e[k], f[k]);
        // in the order of `size`: from 0 to 1, from 1 to 2, from 2 to 0
        let shorter = |k: usize, side: usize| shortest(k) < KEPT * KEPT * lengths[side] * lengths[side];
        let squeezed = normals.iter().any(|n| n.length_squared() < KEPT * KEPT * area * area)
            || shorter(0, 0)
            || shorter(2, 1)
            || shorter(1, 2);
        let units = normals.map(|n| n.normalize_or_zero());
        let middle = (units[0] + units[2]) * 0.5;
        let spread = match squeezed {
            // its neighbours may meet in its plane: equal normals say nothing about the patch
            true => ANY_NORMAL,
            false => units.iter().map(|n| n.distance(middle)).fold(0.0, f64::max),
        };
        Fitted { bounds: around(boxes, *triangle).grown(grow), normal: middle, spread }
    }
}

impl Nearby {
    /// Makes the pairs hold all triangles that may come nearer than `distance` on the paths, which may stray by `slack` from
    /// then on. Returns the vertices that had left their boxes.
    pub fn update(&mut self, surface: &Surface, paths: &Paths, distance: f64, slack: f64) -> Vec<bool> {
        let Paths { x, v, h } = *paths;
        // seen from the middle of all cloth: only motion against the rest of it counts
        let corners = || surface.triangles.iter().map(|t| t[0] as usize);
        let count = surface.triangles.len().max(1) as f64;
        let start = corners().map(|i| x[i]).sum::<DVec3>() / count;
        let end = corners().map(|i| x[i] + v[i] * h).sum::<DVec3>() / count;
        let path = |i: usize| Bounds::of([x[i] - start, x[i] + v[i] * h - end]);
        let used = |i: usize| surface.around.get(i).is_some_and(|leaves| !leaves.is_empty());
        let known = self.boxes.len() == x.len() && self.fitted.len() == surface.nodes.len();
        let mut left = vec![false; x.len()];
        let (mut out, mut all) = (0, 0);
        for i in (0..x.len()).filter(|&i| used(i)) {
            all += 1;
            if !known || !contains(&self.boxes[i], &path(i)) {
                left[i] = true;
                out += 1;
            }
        }
        if out == 0 {
            return left;
        }
        let grow = 0.5 * distance;
        if !known || out * MANY > all {
            (0..x.len()).for_each(|i| left[i] = used(i));
            self.boxes = (0..x.len()).map(|i| if used(i) { path(i).grown(slack) } else { Bounds::EMPTY }).collect();
            self.fit(surface, paths, grow, |_| true);
            self.pairs.clear();
            self.search_all(surface);
            return left;
        }
        (0..x.len()).filter(|&i| left[i]).for_each(|i| self.boxes[i] = path(i).grown(slack));
        let moved = |t: u32| surface.triangles[t as usize].iter().any(|&i| left[i as usize]);
        self.fit(surface, paths, grow, moved);
        self.pairs.retain(|[a, b]| !moved(*a) && !moved(*b));
        for leaf in (0..surface.nodes.len()).filter(|&k| surface.nodes[k].child == NONE) {
            if moved(surface.nodes[leaf].other) {
                self.search(surface, leaf as u32, moved);
            }
        }
        left
    }

    /// Fits the nodes of triangles that have moved and those above them, children before parents.
    fn fit(&mut self, surface: &Surface, paths: &Paths, grow: f64, moved: impl Fn(u32) -> bool) {
        let nodes = &surface.nodes;
        let nothing = Fitted { bounds: Bounds::EMPTY, normal: DVec3::ZERO, spread: 0.0 };
        self.fitted.resize(nodes.len(), nothing);
        let mut changed = vec![false; nodes.len()];
        for k in (0..nodes.len()).rev() {
            let Node { child, other, .. } = nodes[k];
            let number = other as usize;
            if child == NONE {
                if moved(other) {
                    self.fitted[k] = surface.of_leaf(&surface.triangles[number], number, &self.boxes, paths, grow);
                    changed[k] = true;
                }
            } else if changed[child as usize] || changed[number] {
                let (a, b) = (&self.fitted[child as usize], &self.fitted[number]);
                let (normal, spread) = merged(a.normals(), b.normals());
                self.fitted[k] = Fitted { bounds: joined(&a.bounds, &b.bounds), normal, spread };
                changed[k] = true;
            }
        }
        self.smooth.resize(surface.around.len(), false);
        for i in 0..surface.around.len() {
            if surface.around[i].iter().any(|&leaf| changed[leaf as usize]) {
                let normals = surface.around[i].iter().map(|&leaf| self.fitted[leaf as usize].normals());
                self.smooth[i] = normals.reduce(merged).is_some_and(|(normal, spread)| is_flat(normal, spread));
            }
        }
    }

    /// Whether two patches cannot meet: they are apart, or they adjoin and are flat together.
    fn cannot_meet(&self, surface: &Surface, a: u32, b: u32) -> bool {
        let (fa, fb) = (&self.fitted[a as usize], &self.fitted[b as usize]);
        if !fa.bounds.overlaps(&fb.bounds) {
            return true;
        }
        let (na, nb) = (&surface.nodes[a as usize], &surface.nodes[b as usize]);
        if na.child == NONE && nb.child == NONE {
            // what lies between two triangles that meet in a corner may be folded, though both lie alike
            match surface.shared(na.other, nb.other) {
                (0, _) => return false,
                (1, corner) => return self.smooth[corner as usize],
                _ => {}
            }
        }
        na.piece == nb.piece && na.piece != NONE && na.rest.overlaps(&nb.rest) && {
            let (normal, spread) = merged(fa.normals(), fb.normals());
            is_flat(normal, spread)
        }
    }

    fn search_all(&mut self, surface: &Surface) {
        let mut stack = vec![(0_u32, 0_u32)];
        while let Some((a, b)) = stack.pop() {
            let (na, nb) = (&surface.nodes[a as usize], &surface.nodes[b as usize]);
            if a == b {
                let f = &self.fitted[a as usize];
                let flat = na.piece != NONE && is_flat(f.normal, f.spread);
                if na.child != NONE && !flat {
                    stack.extend([(na.child, na.child), (na.other, na.other), (na.child, na.other)]);
                }
                continue;
            }
            if self.cannot_meet(surface, a, b) {
                continue;
            }
            let size = |k: u32| self.fitted[k as usize].bounds.half().length_squared();
            match (na.child, nb.child) {
                (NONE, NONE) => self.pairs.push([na.other, nb.other]),
                (NONE, _) => stack.extend([(a, nb.child), (a, nb.other)]),
                (_, NONE) => stack.extend([(na.child, b), (na.other, b)]),
                _ if size(a) > size(b) => stack.extend([(na.child, b), (na.other, b)]),
                _ => stack.extend([(a, nb.child), (a, nb.other)]),
            }
        }
    }

    /// Pairs of one triangle with all others; those of two that have moved once only.
    fn search(&mut self, surface: &Surface, leaf: u32, moved: impl Fn(u32) -> bool) {
        let own = surface.nodes[leaf as usize].other;
        let mut stack = vec![0_u32];
        while let Some(k) = stack.pop() {
            if k == leaf || self.cannot_meet(surface, leaf, k) {
                continue;
            }
            let node = &surface.nodes[k as usize];
            match node.child {
                NONE if node.other > own || !moved(node.other) => self.pairs.push([own, node.other]),
                NONE => {}
                _ => stack.extend([node.child, node.other]),
            }
        }
    }
}

fn contains(outer: &Bounds, inner: &Bounds) -> bool {
    outer.low.cmple(inner.low).all() && inner.high.cmple(outer.high).all()
}

pub(super) fn joined(a: &Bounds, b: &Bounds) -> Bounds {
    Bounds { low: a.low.min(b.low), high: a.high.max(b.high) }
}

/// The box around those of a triangle's corners.
fn around(boxes: &[Bounds], [a, b, c]: [u32; 3]) -> Bounds {
    joined(&joined(&boxes[a as usize], &boxes[b as usize]), &boxes[c as usize])
}

/// Lengths of the edges and twice the area.
fn size(p: [DVec3; 3]) -> ([f64; 3], f64) {
    let edges = [p[0].distance(p[1]), p[1].distance(p[2]), p[2].distance(p[0])];
    (edges, (p[1] - p[0]).cross(p[2] - p[0]).length())
}

/// The square of the shortest that a vector becomes which goes straight from one to another.
fn shortest_between(a: DVec3, b: DVec3) -> f64 {
    let d = b - a;
    let t = (-a.dot(d) / d.length_squared().max(1e-300)).clamp(0.0, 1.0);
    (a + d * t).length_squared()
}

/// Whether all normals of a patch are within thirty degrees of their mean.
fn is_flat(normal: DVec3, spread: f64) -> bool {
    spread * spread < 0.25 * normal.length_squared()
}

/// The ball around two balls of normals.
fn merged(a: (DVec3, f64), b: (DVec3, f64)) -> (DVec3, f64) {
    let d = a.0.distance(b.0);
    if d + b.1 <= a.1 {
        return a;
    }
    if d + a.1 <= b.1 {
        return b;
    }
    let radius = 0.5 * (d + a.1 + b.1);
    (a.0.lerp(b.0, (radius - a.1) / d.max(1e-300)), radius)
}

/// Lays out a tree over the triangles in `order`, parents before children.
fn split(order: &mut [u32], center: &impl Fn(u32) -> DVec3, pieces: &[u32], nodes: &mut Vec<Node>) -> u32 {
    let here = nodes.len();
    let first = pieces[order[0] as usize];
    let piece = if order.iter().all(|&t| pieces[t as usize] == first) { first } else { NONE };
    nodes.push(Node { child: NONE, other: order[0], piece, rest: Bounds::EMPTY });
    if piece == NONE {
        // the first piece apart from the others: flatness means something on one piece only
        order.sort_by_key(|&t| (pieces[t as usize], t));
        let least = pieces[order[0] as usize];
        let count = order.iter().take_while(|&&t| pieces[t as usize] == least).count();
        let (left, right) = order.split_at_mut(count);
        let child = split(left, center, pieces, nodes);
        let other = split(right, center, pieces, nodes);
        (nodes[here].child, nodes[here].other) = (child, other);
    } else if order.len() > 1 {
        let size = Bounds::of(order.iter().map(|&t| center(t))).half();
        let axis = if size.x >= size.y && size.x >= size.z {
            0
        } else if size.y >= size.z {
            1
        } else {
            2
        };
        order.sort_by(|&a, &b| center(a)[axis].total_cmp(&center(b)[axis]).then(a.cmp(&b)));
        let (left, right) = order.split_at_mut(order.len() / 2);
        let child = split(left, center, pieces, nodes);
        let other = split(right, center, pieces, nodes);
        (nodes[here].child, nodes[here].other) = (child, other);
    }
    here as u32
}

/// The connected piece of each triangle.
fn pieces(triangles: &[[u32; 3]], vertices: usize) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..vertices as u32).collect();
    fn root(parent: &mut [u32], mut i: u32) -> u32 {
        while parent[i as usize] != i {
            parent[i as usize] = parent[parent[i as usize] as usize];
            i = parent[i as usize];
        }
        i
    }
    for t in triangles {
        for &i in &t[1..] {
            let (a, b) = (root(&mut parent, t[0]), root(&mut parent, i));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    triangles.iter().map(|t| root(&mut parent, t[0])).collect()
}
