//! Cloth against cloth: vertex against face and edge against edge, so that no layer passes another.
//!
//! Culling: a tree of boxes over the triangles, laid out once on the surface and fitted to every step's motion. Where the
//! normals below a node differ little, the patch cannot meet itself and is skipped whole (Volino, Magnenat-Thalmann 1994);
//! the same for two patches that adjoin each other. What remains are folds and layers.
//!
//! Response (after Bridson, Fedkiw, Anderson 2002): pairs that would come nearer than the thickness within the step are
//! kept apart by impulses, with friction. Whatever still meets on the straight paths of the step, found by advancing in
//! steps that cannot overshoot, is stopped; and what will not come free moves on as one.

use super::bending::edges;
use crate::collide::parry::Bounds;
use glam::DVec3;

/// All cloth of a system.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheets {
    triangles: Vec<[u32; 3]>,
    /// Vertices and edges of each triangle that no earlier triangle has, as bits.
    /// Edges and twice the area of each triangle at rest.
    at_rest: Vec<([f64; 3], f64)>,
    own_vertices: Vec<u8>,
    own_edges: Vec<u8>,
    nodes: Vec<Node>,
    /// Boxes around the paths of the vertices within the step.
    paths: Vec<Bounds>,
    thickness: f64,
    friction: f64,
    /// Pairs found last, and the velocities they were found for.
    searched: (Vec<Pair>, Vec<DVec3>),
    /// Impulses on particles that do not answer by themselves, since they were last asked for.
    absorbed: Vec<DVec3>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    /// First child; the second is `other`. A leaf has `NONE` and its triangle in `other`.
    child: u32,
    other: u32,
    rest: Bounds,
    bounds: Bounds,
    /// The piece of cloth that all its triangles belong to; `NONE` if to several.
    piece: u32,
    /// All normals of the patch lie in the ball around `normal` of this radius.
    normal: DVec3,
    spread: f64,
}

const NONE: u32 = u32::MAX;

/// Two features that may meet: a vertex and the corners of a face, or the ends of two edges.
#[derive(Clone, Copy, Debug)]
struct Pair {
    who: [u32; 4],
    edges: bool,
    weight: [f64; 4],
    normal: DVec3,
    distance: f64,
    impulse: f64,
}

impl Sheets {
    pub fn is_empty(&self) -> bool {
        self.triangles.is_empty()
    }

    pub fn add(&mut self, x: &[DVec3], triangles: Vec<[u32; 3]>, thickness: f64, friction: f64, collides: bool) {
        if !collides {
            return;
        }
        self.thickness = self.thickness.max(thickness);
        self.friction = self.friction.max(friction);
        self.triangles.extend(triangles);
        self.nodes.clear();
        let count = self.triangles.len();
        let center = |t: u32| self.triangles[t as usize].iter().map(|&i| x[i as usize]).sum::<DVec3>() / 3.0;
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut nodes = Vec::with_capacity(2 * count);
        let pieces = pieces(&self.triangles, x.len());
        split(&mut order, &center, &pieces, &mut nodes);
        self.nodes = nodes;
        let triangles = std::mem::take(&mut self.triangles);
        self.fit(&triangles, |t| Bounds::of(t.iter().map(|&i| x[i as usize])), |_, _| (DVec3::Z, 0.0));
        self.triangles = triangles;
        self.nodes.iter_mut().for_each(|n| n.rest = n.bounds.grown(1e-9));
        let measure = |t: &[u32; 3]| size(t.map(|i| x[i as usize]));
        let known = self.at_rest.len();
        self.at_rest.extend(self.triangles[known..].iter().map(measure));
        self.own_vertices = vec![0; count];
        self.own_edges = vec![0; count];
        let mut seen = vec![false; x.len()];
        for (t, corners) in self.triangles.iter().enumerate() {
            for k in 0..3 {
                if !std::mem::replace(&mut seen[corners[k] as usize], true) {
                    self.own_vertices[t] |= 1 << k;
                }
            }
        }
        let all = edges(&self.triangles);
        for (k, e) in all.iter().enumerate() {
            if k == 0 || (all[k - 1].0, all[k - 1].1) != (e.0, e.1) {
                let corners = self.triangles[e.2 as usize];
                let side = (0..3).find(|&s| corners[(s + 2) % 3] == e.3).unwrap_or(0);
                self.own_edges[e.2 as usize] |= 1 << side;
            }
        }
    }

    /// Fits boxes and normals, children before parents.
    fn fit(
        &mut self,
        triangles: &[[u32; 3]],
        bounds: impl Fn(&[u32; 3]) -> Bounds,
        normals: impl Fn(&[u32; 3], usize) -> (DVec3, f64),
    ) {
        for k in (0..self.nodes.len()).rev() {
            let node = self.nodes[k];
            let (b, n) = match node.child {
                NONE => {
                    let t = &triangles[node.other as usize];
                    (bounds(t), normals(t, node.other as usize))
                }
                _ => {
                    let (a, b) = (&self.nodes[node.child as usize], &self.nodes[node.other as usize]);
                    let around = Bounds { low: a.bounds.low.min(b.bounds.low), high: a.bounds.high.max(b.bounds.high) };
                    (around, merged(a, b))
                }
            };
            (self.nodes[k].bounds, (self.nodes[k].normal, self.nodes[k].spread)) = (b, n);
        }
    }

    /// Changes velocities so that no cloth passes cloth on the way x + h v; `w` are inverse masses. Returns the number of
    /// pairs that were kept apart.
    pub fn resolve(&mut self, x: &[DVec3], v: &mut [DVec3], w: &[f64], h: f64) -> u32 {
        if self.triangles.is_empty() {
            return 0;
        }
        let searched = v.to_vec();
        let mut pairs = self.candidates(x, v, h);
        let touched = self.keep_apart(&mut pairs, v, w, h);
        touched + self.stop_pairs(pairs, searched, x, v, w, h)
    }

    /// The impulses that particles without an answer of their own were given, by particle.
    pub fn take_absorbed(&mut self) -> Vec<DVec3> {
        std::mem::take(&mut self.absorbed)
    }

    /// Stops whatever meets on the way x + h v, without keeping a distance.
    pub fn stop(&mut self, x: &[DVec3], v: &mut [DVec3], w: &[f64], h: f64) -> u32 {
        if self.triangles.is_empty() {
            return 0;
        }
        // what was searched last in this step serves as long as paths have not strayed from it
        let (pairs, searched) = match std::mem::take(&mut self.searched) {
            (pairs, searched) if searched.len() == v.len() => (pairs, searched),
            _ => (self.candidates(x, v, h), v.to_vec()),
        };
        self.stop_pairs(pairs, searched, x, v, w, h)
    }

    /// The same, with pairs that were found for the velocities `searched`. It ends when nothing meets: what impulses do not
    /// part becomes one zone after the other, and zones only grow.
    fn stop_pairs(
        &mut self,
        mut pairs: Vec<Pair>,
        mut searched: Vec<DVec3>,
        x: &[DVec3],
        v: &mut [DVec3],
        w: &[f64],
        h: f64,
    ) -> u32 {
        self.absorbed.resize(v.len(), DVec3::ZERO);
        let mut absorbed = std::mem::take(&mut self.absorbed);
        let mut touched = 0;
        let mut zones = Zones::default();
        // the round in which a particle's velocity changed last
        let mut changed = vec![1_u32; v.len()];
        for round in 1..=ROUNDS {
            // pairs hold all that may meet as long as paths stay near those that were searched
            let strayed = |i: usize| v[i].distance(searched[i]) * h > self.margin();
            if (0..v.len()).any(strayed) {
                pairs = self.candidates(x, v, h);
                searched.copy_from_slice(v);
                changed.fill(round);
            }
            let mut hits = 0;
            for p in &pairs {
                if p.who.iter().all(|&i| changed[i as usize] < round) {
                    continue;
                }
                let Some((weight, normal)) = meeting(p, x, v, h) else { continue };
                hits += 1;
                let speed: f64 = (0..4).map(|i| v[p.who[i] as usize].dot(normal) * weight[i]).sum();
                let answer: f64 = (0..4).map(|i| weight[i] * weight[i] * w[p.who[i] as usize]).sum();
                if round > IMPULSE_ROUNDS || speed >= 0.0 || answer <= 0.0 {
                    zones.join(&p.who);
                    continue;
                }
                let stop = Pair { weight, ..*p };
                push(&stop, normal * (-1.05 * speed / answer), v, w, &mut absorbed);
                p.who.iter().for_each(|&i| changed[i as usize] = round + 1);
            }
            if hits == 0 {
                break;
            }
            touched += hits;
            zones.move_as_one(v, w, &mut absorbed, |i| changed[i] = round + 1);
        }
        self.absorbed = absorbed;
        self.searched = (pairs, searched);
        touched
    }

    /// How far a path may stray from the one that was searched, m.
    fn margin(&self) -> f64 {
        (0.25 * self.thickness).max(1e-6)
    }

    /// Pairs of features that may come nearer than the thickness.
    fn candidates(&mut self, x: &[DVec3], v: &[DVec3], h: f64) -> Vec<Pair> {
        // only motion against the rest of the cloth counts
        let used: DVec3 = self.triangles.iter().map(|t| v[t[0] as usize]).sum();
        let mean = used / self.triangles.len() as f64;
        let (triangles, at_rest) = (std::mem::take(&mut self.triangles), std::mem::take(&mut self.at_rest));
        let grow = 0.5 * self.thickness + self.margin();
        let ends: Vec<DVec3> = x.iter().zip(v).map(|(x, v)| *x + (*v - mean) * h).collect();
        let end = |i: u32| ends[i as usize];
        let mut paths = std::mem::take(&mut self.paths);
        paths.clear();
        paths.extend(x.iter().zip(&ends).map(|(a, b)| Bounds { low: a.min(*b), high: a.max(*b) }));
        self.fit(
            &triangles,
            |t| around(&paths, *t).grown(grow),
            |t, number| {
                let area = |p: &[DVec3; 3]| (p[1] - p[0]).cross(p[2] - p[0]).normalize_or_zero();
                let before = [x[t[0] as usize], x[t[1] as usize], x[t[2] as usize]];
                let after = [end(t[0]), end(t[1]), end(t[2])];
                let (a, b) = (area(&before), area(&after));
                let middle = (a + b) * 0.5;
                if is_squeezed(&before, &at_rest[number]) || is_squeezed(&after, &at_rest[number]) {
                    return (middle, ANY_NORMAL);
                }
                (middle, a.distance(middle))
            },
        );
        (self.triangles, self.at_rest, self.paths) = (triangles, at_rest, paths);
        let mut pairs = Vec::new();
        let mut stack = vec![(0_u32, 0_u32)];
        while let Some((a, b)) = stack.pop() {
            let (na, nb) = (&self.nodes[a as usize], &self.nodes[b as usize]);
            if a == b {
                let flat = na.piece != NONE && is_flat(na.normal, na.spread);
                if na.child != NONE && !flat {
                    stack.extend([(na.child, na.child), (na.other, na.other), (na.child, na.other)]);
                }
                continue;
            }
            if !na.bounds.overlaps(&nb.bounds) {
                continue;
            }
            if na.piece == nb.piece && na.piece != NONE && na.rest.overlaps(&nb.rest) {
                let (normal, spread) = merged(na, nb);
                if is_flat(normal, spread) {
                    continue;
                }
            }
            match (na.child, nb.child) {
                (NONE, NONE) => {
                    self.features((na.other as usize, nb.other as usize), x, v, h, &mut pairs);
                }
                (NONE, _) => stack.extend([(a, nb.child), (a, nb.other)]),
                (_, NONE) => stack.extend([(na.child, b), (na.other, b)]),
                _ if na.bounds.half().length_squared() > nb.bounds.half().length_squared() => {
                    stack.extend([(na.child, b), (na.other, b)]);
                }
                _ => stack.extend([(a, nb.child), (a, nb.other)]),
            }
        }
        pairs
    }

    fn features(&self, (s, t): (usize, usize), x: &[DVec3], v: &[DVec3], h: f64, pairs: &mut Vec<Pair>) {
        let near = DVec3::splat(self.thickness + 2.0 * self.margin());
        let mut consider = |who: [u32; 4], edges: bool| {
            let p = [x[who[0] as usize], x[who[1] as usize], x[who[2] as usize], x[who[3] as usize]];
            let (weight, offset) = nearest(p, edges);
            let distance = offset.length();
            // edges that are nearest at an end: a vertex and a face are as near, unless these meet within the step
            let at_rim = edges && weight.contains(&0.0);
            if at_rim || distance > self.thickness {
                let motion = reach(who, edges, v) * h + 2.0 * self.margin();
                if distance > self.thickness + motion || (at_rim && distance > motion) {
                    return;
                }
            }
            let normal = match distance > 1e-9 {
                true => offset / distance,
                // in one place: along what is across both
                false => {
                    let across =
                        if edges { (p[1] - p[0]).cross(p[3] - p[2]) } else { (p[2] - p[1]).cross(p[3] - p[1]) };
                    across.normalize_or(DVec3::Z)
                }
            };
            pairs.push(Pair { who, edges, weight, normal, distance, impulse: 0.0 });
        };
        for (one, other) in [(s, t), (t, s)] {
            let own = self.own_vertices[one];
            if own == 0 {
                continue;
            }
            // boxes around their motions first: most features of two triangles that are near are not near themselves
            let face = self.triangles[other];
            let of_face = around(&self.paths, face);
            for k in 0..3 {
                let vertex = self.triangles[one][k];
                if own >> k & 1 == 1
                    && are_near(&self.paths[vertex as usize], &of_face, near)
                    && !face.contains(&vertex)
                {
                    consider([vertex, face[0], face[1], face[2]], false);
                }
            }
        }
        let (own_s, own_t) = (self.own_edges[s], self.own_edges[t]);
        if own_s == 0 || own_t == 0 {
            return;
        }
        let edge = |triangle: usize, k: usize| {
            let corners = &self.triangles[triangle];
            (corners[k], corners[if k == 2 { 0 } else { k + 1 }])
        };
        let path = |(a, b): (u32, u32)| joined(&self.paths[a as usize], &self.paths[b as usize]);
        let others = [path(edge(t, 0)), path(edge(t, 1)), path(edge(t, 2))];
        for k in (0..3).filter(|k| own_s >> k & 1 == 1) {
            let (a, b) = edge(s, k);
            let of_edge = path((a, b));
            for l in (0..3).filter(|l| own_t >> l & 1 == 1) {
                let (c, d) = edge(t, l);
                if are_near(&of_edge, &others[l], near) && a != c && a != d && b != c && b != d {
                    consider([a, b, c, d], true);
                }
            }
        }
    }

    /// Impulses, by sweeps over the pairs that need them: distance at the end of the step at least the thickness, or, from
    /// within it, a little more than now. Returns how many pairs push.
    fn keep_apart(&mut self, pairs: &mut [Pair], v: &mut [DVec3], w: &[f64], h: f64) -> u32 {
        self.absorbed.resize(v.len(), DVec3::ZERO);
        let mut absorbed = std::mem::take(&mut self.absorbed);
        let wanted = |d: f64| {
            let end = if d >= self.thickness { self.thickness } else { d + RECOVERY * (self.thickness - d) };
            (end - d) / h
        };
        let speed = |p: &Pair, v: &[DVec3]| -> f64 {
            let part = |i: usize| v[p.who[i] as usize] * p.weight[i];
            (part(0) + part(1) + part(2) + part(3)).dot(p.normal)
        };
        let answer = |p: &Pair| -> f64 { (0..4).map(|i| p.weight[i] * p.weight[i] * w[p.who[i] as usize]).sum() };
        // pair, answer, speed wanted
        let mut active: Vec<(usize, f64, f64)> = Vec::new();
        let mut is_active = vec![false; pairs.len()];
        for _ in 0..PASSES {
            let before = active.len();
            for (k, p) in pairs.iter().enumerate() {
                let wanted = wanted(p.distance);
                if !is_active[k] && speed(p, v) < wanted - 1e-6 {
                    let answer = answer(p);
                    if answer > 0.0 {
                        is_active[k] = true;
                        active.push((k, answer, wanted));
                    }
                }
            }
            if active.len() == before {
                break;
            }
            for _ in 0..SWEEPS {
                let mut largest = 0.0_f64;
                for &(k, answer, wanted) in &active {
                    let p = &mut pairs[k];
                    let impulse = (p.impulse + (wanted - speed(p, v)) / answer).max(0.0);
                    let change = impulse - p.impulse;
                    if change != 0.0 {
                        p.impulse = impulse;
                        largest = largest.max(change.abs() * answer);
                        push(p, p.normal * change, v, w, &mut absorbed);
                    }
                }
                if largest < 1e-3 {
                    break;
                }
            }
        }
        let mut touched = 0;
        for &(k, answer, _) in &active {
            let p = pairs[k];
            if p.impulse <= 0.0 {
                continue;
            }
            touched += 1;
            let relative: DVec3 = (0..4).map(|i| v[p.who[i] as usize] * p.weight[i]).sum();
            let along = relative - p.normal * relative.dot(p.normal);
            let slide = along.length();
            if slide > 1e-12 {
                let rubbed = along * (-(self.friction * p.impulse).min(slide / answer) / slide);
                push(&p, rubbed, v, w, &mut absorbed);
            }
        }
        self.absorbed = absorbed;
        touched
    }
}

fn joined(a: &Bounds, b: &Bounds) -> Bounds {
    Bounds { low: a.low.min(b.low), high: a.high.max(b.high) }
}

/// The box around the paths of a triangle.
fn around(paths: &[Bounds], [a, b, c]: [u32; 3]) -> Bounds {
    joined(&joined(&paths[a as usize], &paths[b as usize]), &paths[c as usize])
}

/// Whether two boxes are nearer than a distance along every axis.
fn are_near(a: &Bounds, b: &Bounds, near: DVec3) -> bool {
    (a.low - near).cmple(b.high).all() && (b.low - near).cmple(a.high).all()
}

/// An impulse between the two features of a pair.
fn push(p: &Pair, impulse: DVec3, v: &mut [DVec3], w: &[f64], absorbed: &mut [DVec3]) {
    for i in 0..4 {
        let who = p.who[i] as usize;
        match w[who] > 0.0 {
            true => v[who] += impulse * (p.weight[i] * w[who]),
            false => absorbed[who] += impulse * p.weight[i],
        }
    }
}

/// Times that pairs are looked through for such as have come to need an impulse.
const PASSES: usize = 3;
/// Sweeps over them each time.
const SWEEPS: usize = 4;
/// Part of a lacking distance that is made up in one step.
const RECOVERY: f64 = 0.25;
/// Rounds in which what still meets is stopped by impulses, and rounds altogether: zones that contain two things which move
/// by themselves may never come to an end.
const IMPULSE_ROUNDS: u32 = 6;
const ROUNDS: u32 = 400;

/// Radius of a ball that holds all normals there are.
const ANY_NORMAL: f64 = 4.0;
/// Part of its edges and of its area that a triangle keeps where a flat patch cannot meet itself.
const KEPT: f64 = 0.5;

/// Lengths of the edges and twice the area.
fn size(p: [DVec3; 3]) -> ([f64; 3], f64) {
    let edges = [p[0].distance(p[1]), p[1].distance(p[2]), p[2].distance(p[0])];
    (edges, (p[1] - p[0]).cross(p[2] - p[0]).length())
}

/// Whether a triangle is so much smaller than at rest that its neighbours may meet in its plane: then equal normals say
/// nothing about the patch.
fn is_squeezed(p: &[DVec3; 3], rest: &([f64; 3], f64)) -> bool {
    let shorter = |a: usize, b: usize, rest: f64| p[a].distance_squared(p[b]) < KEPT * KEPT * rest * rest;
    let area = (p[1] - p[0]).cross(p[2] - p[0]).length_squared();
    area < KEPT * KEPT * rest.1 * rest.1
        || shorter(0, 1, rest.0[0])
        || shorter(1, 2, rest.0[1])
        || shorter(2, 0, rest.0[2])
}

/// Whether all normals of a patch are within thirty degrees of their mean.
fn is_flat(normal: DVec3, spread: f64) -> bool {
    spread * spread < 0.25 * normal.length_squared()
}

/// The ball around two balls of normals.
fn merged(a: &Node, b: &Node) -> (DVec3, f64) {
    let d = a.normal.distance(b.normal);
    if d + b.spread <= a.spread {
        return (a.normal, a.spread);
    }
    if d + a.spread <= b.spread {
        return (b.normal, b.spread);
    }
    let radius = 0.5 * (d + a.spread + b.spread);
    (a.normal.lerp(b.normal, (radius - a.spread) / d.max(1e-300)), radius)
}

/// Lays out a tree over the triangles in `order`, parents before children.
fn split(order: &mut [u32], center: &impl Fn(u32) -> DVec3, pieces: &[u32], nodes: &mut Vec<Node>) -> u32 {
    let here = nodes.len();
    let empty = Bounds::EMPTY;
    let first = pieces[order[0] as usize];
    let piece = if order.iter().all(|&t| pieces[t as usize] == first) { first } else { NONE };
    nodes.push(Node {
        child: NONE,
        other: order[0],
        rest: empty,
        bounds: empty,
        piece,
        normal: DVec3::ZERO,
        spread: 0.0,
    });
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

/// How fast two features can come towards each other.
fn reach(who: [u32; 4], edges: bool, v: &[DVec3]) -> f64 {
    let u = [v[who[0] as usize], v[who[1] as usize], v[who[2] as usize], v[who[3] as usize]];
    let mean = (u[0] + u[1] + u[2] + u[3]) * 0.25;
    let from = |k: usize| u[k].distance_squared(mean);
    let s = [from(0), from(1), from(2), from(3)];
    match edges {
        true => s[0].max(s[1]).sqrt() + s[2].max(s[3]).sqrt(),
        false => s[0].sqrt() + s[1].max(s[2]).max(s[3]).sqrt(),
    }
}

/// Weights of the nearest points, first feature positive and second negative, and the vector between them.
fn nearest(p: [DVec3; 4], edges: bool) -> ([f64; 4], DVec3) {
    let weight = if edges { nearest_edges(p) } else { nearest_face(p) };
    (weight, p[0] * weight[0] + p[1] * weight[1] + p[2] * weight[2] + p[3] * weight[3])
}

pub(super) fn nearest_face([x, a, b, c]: [DVec3; 4]) -> [f64; 4] {
    let (ab, ac, ax) = (b - a, c - a, x - a);
    let (d1, d2) = (ab.dot(ax), ac.dot(ax));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, -1.0, 0.0, 0.0];
    }
    let bx = x - b;
    let (d3, d4) = (ab.dot(bx), ac.dot(bx));
    if d3 >= 0.0 && d4 <= d3 {
        return [1.0, 0.0, -1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let s = d1 / (d1 - d3);
        return [1.0, s - 1.0, -s, 0.0];
    }
    let cx = x - c;
    let (d5, d6) = (ab.dot(cx), ac.dot(cx));
    if d6 >= 0.0 && d5 <= d6 {
        return [1.0, 0.0, 0.0, -1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let s = d2 / (d2 - d6);
        return [1.0, s - 1.0, 0.0, -s];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let s = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return [1.0, 0.0, s - 1.0, -s];
    }
    let sum = va + vb + vc;
    if sum <= 0.0 {
        return [1.0, -1.0, 0.0, 0.0];
    }
    let (s, t) = (vb / sum, vc / sum);
    [1.0, s + t - 1.0, -s, -t]
}

fn nearest_edges([a, b, c, d]: [DVec3; 4]) -> [f64; 4] {
    let (u, v, w) = (b - a, d - c, a - c);
    let (uu, vv, uv, uw, vw) = (u.dot(u), v.dot(v), u.dot(v), u.dot(w), v.dot(w));
    let determinant = uu * vv - uv * uv;
    let parallel = determinant <= 1e-12 * uu * vv;
    let mut s = if parallel { 0.0 } else { ((uv * vw - vv * uw) / determinant).clamp(0.0, 1.0) };
    let mut t = if vv > 0.0 { (uv * s + vw) / vv } else { 0.0 };
    if !(0.0..=1.0).contains(&t) {
        t = t.clamp(0.0, 1.0);
        s = if uu > 0.0 { ((uv * t - uw) / uu).clamp(0.0, 1.0) } else { 0.0 };
    }
    [1.0 - s, s, t - 1.0, -t]
}

/// Whether a pair meets within the step: weights and normal shortly before. Steps that cannot overshoot, until nine tenths
/// of the distance are gone (Li, Kaufman, Jiang 2021).
fn meeting(p: &Pair, x: &[DVec3], v: &[DVec3], h: f64) -> Option<([f64; 4], DVec3)> {
    let speed = reach(p.who, p.edges, v) * h;
    let (mut distance, mut t) = (p.distance, 0.0);
    if speed <= 0.0 || distance > speed {
        return None;
    }
    let place = |k: usize, t: f64| {
        let i = p.who[k] as usize;
        x[i] + v[i] * (h * t)
    };
    let enough = 0.1 * distance;
    for round in 0..64 {
        if round > 0 && distance <= enough || distance < 1e-12 {
            let at = [place(0, t), place(1, t), place(2, t), place(3, t)];
            let (weight, offset) = nearest(at, p.edges);
            return Some((weight, offset.try_normalize().unwrap_or(p.normal)));
        }
        t += 0.9 * distance / speed;
        if t >= 1.0 {
            return None;
        }
        let at = [place(0, t), place(1, t), place(2, t), place(3, t)];
        distance = nearest(at, p.edges).1.length();
    }
    Some((p.weight, p.normal))
}

/// Particles that move on as one.
#[derive(Default)]
struct Zones {
    /// Particle and the zone it leads to, sorted by particle.
    parent: std::collections::BTreeMap<u32, u32>,
}

impl Zones {
    fn root(&mut self, i: u32) -> u32 {
        let up = *self.parent.entry(i).or_insert(i);
        if up == i {
            return i;
        }
        let root = self.root(up);
        self.parent.insert(i, root);
        root
    }

    fn join(&mut self, who: &[u32; 4]) {
        let root = self.root(who[0]);
        for &i in &who[1..] {
            let other = self.root(i);
            self.parent.insert(other, root);
        }
    }

    /// The mean motion of each zone; that of what does not answer, if it has such.
    fn move_as_one(&mut self, v: &mut [DVec3], w: &[f64], absorbed: &mut [DVec3], mut moved: impl FnMut(usize)) {
        let all: Vec<u32> = self.parent.keys().copied().collect();
        let mut zones: std::collections::BTreeMap<u32, Vec<u32>> = Default::default();
        for i in all {
            let root = self.root(i);
            zones.entry(root).or_default().push(i);
        }
        for members in zones.values() {
            let held = members.iter().find(|&&i| w[i as usize] == 0.0);
            let (mut momentum, mut mass) = (DVec3::ZERO, 0.0);
            for &i in members.iter().filter(|&&i| w[i as usize] > 0.0) {
                mass += 1.0 / w[i as usize];
                momentum += v[i as usize] / w[i as usize];
            }
            let mean = held.map_or(momentum / mass, |&i| v[i as usize]);
            for i in members.iter().map(|&i| i as usize) {
                if w[i] > 0.0 && v[i] != mean {
                    if let Some(&held) = held {
                        absorbed[held as usize] += (v[i] - mean) / w[i];
                    }
                    v[i] = mean;
                    moved(i);
                }
            }
        }
    }
}
