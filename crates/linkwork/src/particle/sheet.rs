//! Cloth against cloth: vertex against face and edge against edge, so that no layer passes another.
//!
//! Triangles that may come near each other are known from step to step (nearby.rs). Response (after Bridson, Fedkiw, Anderson 2002): pairs that would come nearer than the thickness within the step are
//! kept apart by impulses, with friction. Whatever still meets on the straight paths of the step, found by advancing in
//! steps that cannot overshoot, is stopped; and what will not come free moves on as one.

use super::bending::edges;
use super::border::Elastic;
use super::nearby::{Nearby, Paths, Surface, joined};
use crate::collide::parry::Bounds;
use glam::DVec3;
use std::collections::HashMap;

/// All cloth of a system that collides with itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Sheets {
    surface: Surface,
    /// Vertices and edges of each triangle that no earlier triangle has, as bits.
    own_vertices: Vec<u8>,
    own_edges: Vec<u8>,
    pub nearby: Nearby,
    /// Boxes around the paths of the vertices within the step.
    paths: Vec<Bounds>,
    /// The same around triangles and their edges.
    of_triangles: Vec<Bounds>,
    of_edges: Vec<[Bounds; 3]>,
    /// Mean velocity in the step, which paths are seen from.
    mean: DVec3,
    thickness: f64,
    friction: f64,
    /// Pairs found last, and the velocities they were found for.
    searched: (Vec<Pair>, Vec<DVec3>),
    /// Impulses that pairs had at the end of the last step, by their features.
    pressed: HashMap<[u32; 4], (bool, f64)>,
    /// Impulses on particles that do not answer by themselves, since they were last asked for.
    absorbed: Vec<DVec3>,
}

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

impl Pair {
    /// Velocity of the first feature against the second.
    fn velocity(&self, v: &[DVec3]) -> DVec3 {
        let part = |i: usize| v[self.who[i] as usize] * self.weight[i];
        part(0) + part(1) + part(2) + part(3)
    }
}

impl Sheets {
    pub fn is_empty(&self) -> bool {
        self.surface.triangles.is_empty()
    }

    pub fn add(&mut self, x: &[DVec3], triangles: Vec<[u32; 3]>, thickness: f64, friction: f64, collides: bool) {
        if !collides {
            return;
        }
        self.thickness = self.thickness.max(thickness);
        self.friction = self.friction.max(friction);
        self.surface.add(x, triangles);
        self.nearby = Nearby::default();
        let triangles = &self.surface.triangles;
        self.own_vertices = vec![0; triangles.len()];
        self.own_edges = vec![0; triangles.len()];
        let mut seen = vec![false; x.len()];
        for (t, corners) in triangles.iter().enumerate() {
            for k in 0..3 {
                if !std::mem::replace(&mut seen[corners[k] as usize], true) {
                    self.own_vertices[t] |= 1 << k;
                }
            }
        }
        let all = edges(triangles);
        for (k, e) in all.iter().enumerate() {
            if k == 0 || (all[k - 1].0, all[k - 1].1) != (e.0, e.1) {
                let corners = triangles[e.2 as usize];
                let side = (0..3).find(|&s| corners[(s + 2) % 3] == e.3).unwrap_or(0);
                self.own_edges[e.2 as usize] |= 1 << side;
            }
        }
    }

    /// Changes velocities so that no cloth passes cloth on the way x + h v; `w` are inverse masses. Returns the number of
    /// pairs that were kept apart.
    /// Where few pairs need an impulse, cloth gives way to it as it resists being deformed, `elastic`; where they are many, or
    /// that is not known, as its masses do.
    pub fn resolve(&mut self, x: &[DVec3], v: &mut [DVec3], w: &[f64], h: f64, elastic: Option<Elastic>) -> u32 {
        if self.surface.triangles.is_empty() {
            return 0;
        }
        let searched = v.to_vec();
        let mut pairs = self.candidates(x, v, h);
        let mut touched = 0;
        if let Some(elastic) = elastic {
            touched += self.press_apart(&pairs, v, h, &elastic);
        }
        touched += self.keep_apart(&mut pairs, v, w, h);
        touched + self.stop_pairs(pairs, searched, x, v, w, h)
    }

    /// The impulses that particles without an answer of their own were given, by particle.
    pub fn take_absorbed(&mut self) -> Vec<DVec3> {
        std::mem::take(&mut self.absorbed)
    }

    /// Stops whatever meets on the way x + h v, without keeping a distance.
    pub fn stop(&mut self, x: &[DVec3], v: &mut [DVec3], w: &[f64], h: f64) -> u32 {
        if self.surface.triangles.is_empty() {
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
            let strayed: Vec<bool> = (0..v.len()).map(|i| v[i].distance(searched[i]) * h > self.margin()).collect();
            if strayed.contains(&true) {
                for i in (0..v.len()).filter(|&i| strayed[i]) {
                    searched[i] = v[i];
                }
                let anew = self.add_candidates(&Paths { x, v: &searched, h }, strayed, &mut pairs);
                changed.iter_mut().zip(anew).filter(|(_, anew)| *anew).for_each(|(c, _)| *c = round);
            }
            let mut hits = 0;
            for p in &pairs {
                if p.who.iter().all(|&i| changed[i as usize] < round) {
                    continue;
                }
                let Some((weight, normal)) = meeting(p, x, v, h) else { continue };
                hits += 1;
                let speed: f64 = (0..4).map(|i| v[p.who[i] as usize].dot(normal) * weight[i]).sum();
                let answer = answer(&p.who, &weight, w);
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
        let used: DVec3 = self.surface.triangles.iter().map(|t| v[t[0] as usize]).sum();
        self.mean = used / self.surface.triangles.len() as f64;
        self.paths.clear();
        self.paths.resize(x.len(), Bounds::EMPTY);
        let mut pairs = Vec::new();
        self.add_candidates(&Paths { x, v, h }, vec![true; x.len()], &mut pairs);
        pairs
    }

    /// Finds those of vertices that have `strayed` anew; returns these, with some that are looked at anew as well.
    fn add_candidates(&mut self, paths: &Paths, mut strayed: Vec<bool>, pairs: &mut Vec<Pair>) -> Vec<bool> {
        let slack = self.margin();
        let left = self.nearby.update(&self.surface, paths, self.thickness + 2.0 * slack, slack);
        for i in 0..strayed.len() {
            strayed[i] |= left[i];
            if strayed[i] {
                let end = paths.x[i] + (paths.v[i] - self.mean) * paths.h;
                self.paths[i] = Bounds::of([paths.x[i], end]);
            }
        }
        pairs.retain(|p| !p.who.iter().any(|&i| strayed[i as usize]));
        let triangles = &self.surface.triangles;
        let moved: Vec<bool> = triangles.iter().map(|t| t.iter().any(|&i| strayed[i as usize])).collect();
        self.of_triangles.resize(triangles.len(), Bounds::EMPTY);
        self.of_edges.resize(triangles.len(), [Bounds::EMPTY; 3]);
        for t in (0..triangles.len()).filter(|&t| moved[t]) {
            let [a, b, c] = triangles[t].map(|i| &self.paths[i as usize]);
            self.of_edges[t] = [joined(a, b), joined(b, c), joined(c, a)];
            self.of_triangles[t] = joined(&self.of_edges[t][0], c);
        }
        let near = DVec3::splat(self.thickness + 2.0 * slack);
        for &[a, b] in &self.nearby.pairs {
            let (s, t) = (a as usize, b as usize);
            if (moved[s] || moved[t]) && are_near(&self.of_triangles[s], &self.of_triangles[t], near) {
                self.features((a as usize, b as usize), paths, &strayed, pairs);
            }
        }
        strayed
    }

    /// Pairs of features of two triangles that may come near and have a vertex that has strayed.
    fn features(&self, (s, t): (usize, usize), paths: &Paths, strayed: &[bool], pairs: &mut Vec<Pair>) {
        let Paths { x, v, h } = *paths;
        let triangles = &self.surface.triangles;
        let near = DVec3::splat(self.thickness + 2.0 * self.margin());
        let mut consider = |who: [u32; 4], edges: bool| {
            if !who.iter().any(|&i| strayed[i as usize]) {
                return;
            }
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
            let face = triangles[other];
            let of_face = &self.of_triangles[other];
            for k in 0..3 {
                let vertex = triangles[one][k];
                if own >> k & 1 == 1 && are_near(&self.paths[vertex as usize], of_face, near) && !face.contains(&vertex)
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
            let corners = &triangles[triangle];
            (corners[k], corners[if k == 2 { 0 } else { k + 1 }])
        };
        for k in (0..3).filter(|k| own_s >> k & 1 == 1) {
            let (a, b) = edge(s, k);
            let of_edge = &self.of_edges[s][k];
            if !are_near(of_edge, &self.of_triangles[t], near) {
                continue;
            }
            for l in (0..3).filter(|l| own_t >> l & 1 == 1) {
                let (c, d) = edge(t, l);
                if are_near(of_edge, &self.of_edges[t][l], near) && a != c && a != d && b != c && b != d {
                    consider([a, b, c, d], true);
                }
            }
        }
    }

    /// The speed of separation that a pair at a distance needs.
    fn wanted(&self, d: f64, h: f64) -> f64 {
        let end = if d >= self.thickness { self.thickness } else { d + RECOVERY * (self.thickness - d) };
        (end - d) / h
    }

    /// The impulses that `keep_apart` looks for, found with the resistance of the cloth to being deformed: of a stiff one
    /// the few vertices of a pair cannot be moved alone without straining it. With N the directions of the pairs and K the
    /// system of the step, K⁻¹ N λ is added to the velocities, λ ≥ 0. Where pairs are few, NᵀK⁻¹N is laid out and swept over;
    /// where they are many, conjugate gradients on those that push go from the impulses of the last step as far as
    /// a few solves reach, and `keep_apart` does the rest. Returns how many pairs push.
    fn press_apart(&mut self, pairs: &[Pair], v: &mut [DVec3], h: f64, elastic: &Elastic) -> u32 {
        let before = v.to_vec();
        let known = std::mem::take(&mut self.pressed);
        let mut impulses: Vec<f64> = pairs
            .iter()
            .map(|p| known.get(&p.who).map_or(0.0, |(edges, p0)| if *edges == p.edges { *p0 } else { 0.0 }))
            .collect();
        let wanted: Vec<f64> = pairs.iter().map(|p| self.wanted(p.distance, h)).collect();
        let push = |impulses: &[f64]| -> Vec<DVec3> {
            let mut given = vec![DVec3::ZERO; before.len()];
            for (p, impulse) in pairs.iter().zip(impulses).filter(|(_, impulse)| **impulse != 0.0) {
                (0..4).for_each(|i| given[p.who[i] as usize] += p.normal * (p.weight[i] * impulse));
            }
            given
        };
        let follow = |v: &mut [DVec3], given: &[DVec3]| {
            for (i, change) in elastic.answer(given).into_iter().enumerate() {
                v[i] = before[i] + change;
            }
        };
        let speed = |k: usize, v: &[DVec3]| pairs[k].velocity(v).dot(pairs[k].normal);
        // ½ λᵀWλ − λᵀ(what is lacking) must fall, W = NᵀK⁻¹N: from impulses and velocities to others as far as it does
        let go_towards = |from: &[f64], start: &[DVec3], to: &mut [f64], v: &mut [DVec3]| {
            let (mut slope, mut curvature) = (0.0, 0.0);
            for (k, d) in to.iter().zip(from).map(|(to, from)| to - from).enumerate().filter(|(_, d)| *d != 0.0) {
                let here = speed(k, start);
                slope += d * (wanted[k] - here);
                curvature += d * (speed(k, v) - here);
            }
            let share = if slope > 0.0 && slope < curvature { slope / curvature } else { f64::from(slope > 0.0) };
            to.iter_mut().zip(from).for_each(|(to, from)| *to = from + share * (*to - from));
            v.iter_mut().zip(start).for_each(|(v, start)| *v = *start + share * (*v - *start));
        };
        if impulses.iter().any(|p| *p > 0.0) {
            follow(v, &push(&impulses));
            go_towards(&vec![0.0; pairs.len()], &before, &mut impulses, v);
        }
        for _ in 0..PRESS_ROUNDS {
            let lacking = |k: usize, v: &[DVec3]| wanted[k] - speed(k, v);
            let active: Vec<usize> = (0..pairs.len()).filter(|&k| impulses[k] > 0.0 || lacking(k, v) > 1e-6).collect();
            if active.iter().all(|&k| lacking(k, v) < PRESSED && (impulses[k] == 0.0 || lacking(k, v) > -PRESSED)) {
                break;
            }
            let (known, start) = (impulses.clone(), v.to_vec());
            if active.len() * active.len() * v.len() <= MOST_PRESSED {
                let along = |p: &Pair| -> Vec<(usize, DVec3)> {
                    (0..4).map(|i| (p.who[i] as usize, p.normal * p.weight[i])).collect()
                };
                let columns: Vec<_> = active.iter().map(|&k| along(&pairs[k])).collect();
                let compliance = elastic.compliance(&columns);
                let mut at: Vec<f64> = active.iter().map(|&k| impulses[k]).collect();
                let missing: Vec<f64> = active.iter().map(|&k| wanted[k] - speed(k, &before)).collect();
                for _ in 0..PRESS_SWEEPS {
                    for a in 0..at.len() {
                        let here = compliance[a][a];
                        if here > 0.0 {
                            let speed: f64 = compliance[a].iter().zip(&at).map(|(c, p)| c * p).sum();
                            at[a] = (at[a] + (missing[a] - speed) / here).max(0.0);
                        }
                    }
                }
                active.iter().zip(&at).for_each(|(&k, at)| impulses[k] = *at);
            } else {
                let mut r: Vec<f64> = active.iter().map(|&k| lacking(k, v)).collect();
                let mut d = r.clone();
                let mut rho: f64 = r.iter().map(|r| r * r).sum();
                let goal = 0.01 * rho;
                let mut all = vec![0.0; pairs.len()];
                for _ in 0..PRESS_SOLVES {
                    active.iter().zip(&d).for_each(|(&k, d)| all[k] = *d);
                    let answer = elastic.answer(&push(&all));
                    let q: Vec<f64> = active.iter().map(|&k| speed(k, &answer)).collect();
                    let curvature: f64 = q.iter().zip(&d).map(|(q, d)| q * d).sum();
                    if curvature <= 0.0 || rho <= goal {
                        break;
                    }
                    let step = rho / curvature;
                    for a in 0..active.len() {
                        impulses[active[a]] += step * d[a];
                        r[a] -= step * q[a];
                    }
                    let next: f64 = r.iter().map(|r| r * r).sum();
                    for a in 0..d.len() {
                        d[a] = r[a] + d[a] * (next / rho);
                    }
                    rho = next;
                }
            }
            // without those that would pull, others may do far too much
            impulses.iter_mut().for_each(|p| *p = p.max(0.0));
            follow(v, &push(&impulses));
            go_towards(&known, &start, &mut impulses, v);
        }
        let mut given = push(&impulses);
        let mut touched = 0;
        for (k, p) in pairs.iter().enumerate().filter(|(k, _)| impulses[*k] > 0.0) {
            touched += 1;
            self.pressed.insert(p.who, (p.edges, impulses[k]));
            // friction no more than what the motion of the pair's vertices alone would need
            let relative = p.velocity(v);
            let slide = relative - p.normal * relative.dot(p.normal);
            let stops = slide.length() / (speed(k, v) - speed(k, &before)).abs().max(1e-9) * impulses[k];
            let rubbed = slide.normalize_or_zero() * -(self.friction * impulses[k]).min(stops);
            (0..4).for_each(|i| given[p.who[i] as usize] += rubbed * p.weight[i]);
        }
        if touched > 0 {
            follow(v, &given);
        }
        touched
    }

    /// Impulses, by sweeps over the pairs that need them: distance at the end of the step at least the thickness, or, from
    /// within it, a little more than now. Returns how many pairs push.
    fn keep_apart(&mut self, pairs: &mut [Pair], v: &mut [DVec3], w: &[f64], h: f64) -> u32 {
        self.absorbed.resize(v.len(), DVec3::ZERO);
        let mut absorbed = std::mem::take(&mut self.absorbed);
        let wanted = |d: f64| self.wanted(d, h);
        let speed = |p: &Pair, v: &[DVec3]| p.velocity(v).dot(p.normal);
        // pair, answer, speed wanted
        let mut active: Vec<(usize, f64, f64)> = Vec::new();
        let mut is_active = vec![false; pairs.len()];
        for _ in 0..PASSES {
            let before = active.len();
            for (k, p) in pairs.iter().enumerate() {
                let wanted = wanted(p.distance);
                if !is_active[k] && speed(p, v) < wanted - 1e-6 {
                    let answer = answer(&p.who, &p.weight, w);
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
            let relative = p.velocity(v);
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

/// Whether two boxes are nearer than a distance along every axis.
fn are_near(a: &Bounds, b: &Bounds, near: DVec3) -> bool {
    (a.low - near).cmple(b.high).all() && (b.low - near).cmple(a.high).all()
}

/// How much an impulse between two features changes their velocity.
fn answer(who: &[u32; 4], weight: &[f64; 4], w: &[f64]) -> f64 {
    who.iter().zip(weight).map(|(i, q)| q * q * w[*i as usize]).sum()
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
/// Pairs, squared and times the particles, whose impulses are found with the resistance of the cloth, at most, and the sweeps
/// over them.
const MOST_PRESSED: usize = 48 * 48 * 2500;
const PRESS_SWEEPS: usize = 40;
/// Times that is done for such as have come to need an impulse, and solves each time where they are many.
const PRESS_ROUNDS: usize = 2;
/// How well they are wanted, m/s.
const PRESSED: f64 = 5e-3;
const PRESS_SOLVES: usize = 3;
/// Sweeps over them each time.
const SWEEPS: usize = 4;
/// Part of a lacking distance that is made up in one step.
const RECOVERY: f64 = 0.25;
/// Rounds in which what still meets is stopped by impulses, and rounds altogether: zones that contain two things which move
/// by themselves may never come to an end.
const IMPULSE_ROUNDS: u32 = 6;
const ROUNDS: u32 = 400;

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
