//! Bending of cloth: the quadratic energy of Bergou et al. (2006) for surfaces that hardly stretch.
//!
//! Over an edge with ends x₀, x₁ and opposite corners x₂, x₃, the vector Σ Kᵢ xᵢ is the bend of the edge times its length;
//! K follows from the cotangents at rest, E = ½ k/(A₀ + A₁) |Σ Kᵢ xᵢ|². It is zero for a flat sheet, does not resist
//! stretch of a flat one, and its Hessian is constant. The rest shape counts as flat: a pattern cut from a plane.
//!
//! The factor is a third of Bergou's, so that a strip of a grid bends as a plate of stiffness k does: rolled up, only the
//! edges along the roll bend, and each stands for a whole cell.

use super::force::{Force, Points};
use super::matrix::Slopes;
use glam::DVec3;

#[derive(Clone, Copy, Debug)]
struct Hinge {
    who: [u32; 4],
    k: [f64; 4],
    stiffness: f64,
}

/// All edges of a cloth that have a triangle on both sides.
pub(super) struct Hinges {
    hinges: Vec<Hinge>,
    damping: f64,
}

/// Edges with the triangles on their sides: (smaller end, larger end, triangle, corner opposite), sorted.
pub(super) fn edges(triangles: &[[u32; 3]]) -> Vec<(u32, u32, u32, u32)> {
    let mut all = Vec::with_capacity(3 * triangles.len());
    for (t, c) in triangles.iter().enumerate() {
        for k in 0..3 {
            let (a, b) = (c[k], c[(k + 1) % 3]);
            all.push((a.min(b), a.max(b), t as u32, c[(k + 2) % 3]));
        }
    }
    all.sort_unstable();
    all
}

impl Hinges {
    pub fn new(x: &[DVec3], triangles: &[[u32; 3]], stiffness: f64, damping: f64) -> Hinges {
        let all = edges(triangles);
        let mut hinges = Vec::new();
        for pair in all.windows(2) {
            let (one, other) = (pair[0], pair[1]);
            if (one.0, one.1) != (other.0, other.1) || one.3 == other.3 {
                continue;
            }
            hinges.extend(Hinge::new(x, [one.0, one.1, one.3, other.3], stiffness));
        }
        Hinges { hinges, damping }
    }
}

/// Stiffness of bending in a step against the mass of a corner, below which the coupling of far corners is left out.
const WEAK: f64 = 0.3;

/// Cotangent of the angle at `at` between two points.
fn cotangent(at: DVec3, a: DVec3, b: DVec3) -> f64 {
    let (u, v) = (a - at, b - at);
    u.dot(v) / u.cross(v).length().max(1e-300)
}

impl Hinge {
    fn new(x: &[DVec3], who: [u32; 4], stiffness: f64) -> Option<Hinge> {
        let p = who.map(|i| x[i as usize]);
        let area = |c: DVec3| 0.5 * (p[1] - p[0]).cross(c - p[0]).length();
        let sum = area(p[2]) + area(p[3]);
        let (c01, c02) = (cotangent(p[0], p[1], p[2]), cotangent(p[0], p[1], p[3]));
        let (c11, c12) = (cotangent(p[1], p[0], p[2]), cotangent(p[1], p[0], p[3]));
        let k = [c11 + c12, c01 + c02, -c01 - c11, -c02 - c12];
        let stiffness = stiffness / sum;
        (sum > 0.0 && stiffness > 0.0 && k.iter().all(|k| k.is_finite())).then_some(Hinge { who, k, stiffness })
    }

    fn sum(&self, x: &[DVec3]) -> DVec3 {
        (0..4).map(|i| x[self.who[i] as usize] * self.k[i]).sum()
    }
}

impl Force for Hinges {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        for h in &self.hinges {
            let g = (h.sum(at.x) + h.sum(at.v) * self.damping) * -h.stiffness;
            for i in 0..4 {
                f[h.who[i] as usize] += g * h.k[i];
            }
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        self.hinges.iter().map(|h| 0.5 * h.stiffness * h.sum(at.x).length_squared()).sum()
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        let h = slopes.step();
        let span = h * (h + self.damping);
        for hinge in &self.hinges {
            let sum = hinge.sum(at.x) * -hinge.stiffness;
            // Where bending is weak against inertia, x₂ᵀ c x₃ of the opposite corners is replaced by ½ c (|x₂|² + |x₃|²):
            // more by a weak spring ½ c |x₂ − x₃|², c > 0, and the matrix has entries along edges only, half of all. The
            // spring resists changes of the velocities, not these.
            let mut far = hinge.k[2] * hinge.k[3];
            let is_weak = hinge.stiffness * far * span < WEAK * at.mass[hinge.who[2] as usize];
            let mut enter = |i: usize, j: usize, product: f64| {
                slopes.enter_uniform(hinge.who[i] as usize, hinge.who[j] as usize, hinge.stiffness * span * product);
            };
            if !is_weak {
                enter(3, 2, far);
                far = 0.0;
            }
            let resistance = hinge.stiffness * far * span / h;
            for i in 0..4 {
                for j in 0..=i {
                    match (i, j) {
                        (3, 2) => {}
                        (2, 2) | (3, 3) => enter(i, j, hinge.k[i] * hinge.k[j] + far),
                        _ => enter(i, j, hinge.k[i] * hinge.k[j]),
                    }
                }
            }
            let [_, _, a, b] = hinge.who.map(|i| i as usize);
            let weak = (at.v[a] - at.v[b]) * resistance;
            slopes.push(a, weak);
            slopes.push(b, -weak);
            (0..4).for_each(|i| slopes.push(hinge.who[i] as usize, sum * hinge.k[i]));
        }
    }

    fn is_in_slopes(&self) -> bool {
        true
    }

    fn last_particle(&self) -> Option<usize> {
        self.hinges.iter().flat_map(|h| h.who).max().map(|i| i as usize)
    }
}
