//! Spatial buckets, and forces between particles that are near each other, in time linear in their number.
//!
//! Particles are sorted by the cube of space they are in (counting sort over a hashed number of the cube). A cube as wide
//! as the cut-off has all partners of a particle in itself and its 26 neighbours; half of these are looked at, so that
//! every pair is seen once, in an order that depends on positions alone.

use super::force::{Force, Points, outer};
use super::matrix::Slopes;
use glam::{DMat3, DVec3, I64Vec3};

/// Particles sorted into cubes.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    width: f64,
    mask: usize,
    /// First entry of each bucket.
    start: Vec<u32>,
    /// Particles by bucket, with their cube: different cubes may share a bucket.
    entries: Vec<(u32, I64Vec3)>,
}

/// The half of the neighbourhood that comes after a cube.
const AFTER: [[i64; 3]; 13] = [
    [1, 0, 0],
    [-1, 1, 0],
    [0, 1, 0],
    [1, 1, 0],
    [-1, -1, 1],
    [0, -1, 1],
    [1, -1, 1],
    [-1, 0, 1],
    [0, 0, 1],
    [1, 0, 1],
    [-1, 1, 1],
    [0, 1, 1],
    [1, 1, 1],
];

fn hash(cube: I64Vec3) -> usize {
    let h = (cube.x.wrapping_mul(73_856_093)) ^ (cube.y.wrapping_mul(19_349_663)) ^ (cube.z.wrapping_mul(83_492_791));
    h as usize
}

impl Buckets {
    /// Sorts points into cubes of a width, m.
    pub fn sort(&mut self, points: &[DVec3], width: f64) {
        self.width = width.max(1e-9);
        let count = (2 * points.len().max(8)).next_power_of_two();
        self.mask = count - 1;
        self.start.clear();
        self.start.resize(count + 1, 0);
        self.entries.clear();
        self.entries.resize(points.len(), (0, I64Vec3::ZERO));
        let cubes: Vec<I64Vec3> = points.iter().map(|p| self.cube(*p)).collect();
        for c in &cubes {
            self.start[(hash(*c) & self.mask) + 1] += 1;
        }
        for k in 0..count {
            self.start[k + 1] += self.start[k];
        }
        let mut next = self.start.clone();
        for (i, c) in cubes.into_iter().enumerate() {
            let place = &mut next[hash(c) & self.mask];
            self.entries[*place as usize] = (i as u32, c);
            *place += 1;
        }
    }

    fn cube(&self, p: DVec3) -> I64Vec3 {
        (p / self.width).floor().as_i64vec3()
    }

    fn bucket(&self, cube: I64Vec3) -> &[(u32, I64Vec3)] {
        let k = hash(cube) & self.mask;
        &self.entries[self.start[k] as usize..self.start[k + 1] as usize]
    }

    /// Calls `found` once for every pair of points not farther apart than the width.
    pub fn pairs(&self, points: &[DVec3], mut found: impl FnMut(usize, usize)) {
        let most = self.width * self.width;
        for (k, &(i, cube)) in self.entries.iter().enumerate() {
            let x = points[i as usize];
            let mut meet = |j: u32| {
                if x.distance_squared(points[j as usize]) <= most {
                    found(i as usize, j as usize);
                }
            };
            let end = self.start[(hash(cube) & self.mask) + 1] as usize;
            self.entries[k + 1..end].iter().filter(|e| e.1 == cube).for_each(|e| meet(e.0));
            for offset in AFTER {
                let other = cube + I64Vec3::from_array(offset);
                self.bucket(other).iter().filter(|e| e.1 == other).for_each(|e| meet(e.0));
            }
        }
    }

    /// Calls `found` for every point within the width of a place.
    pub fn near(&self, points: &[DVec3], place: DVec3, mut found: impl FnMut(usize)) {
        let (center, most) = (self.cube(place), self.width * self.width);
        for dx in -1..=1 {
            for dy in -1..=1 {
                for dz in -1..=1 {
                    let cube = center + I64Vec3::new(dx, dy, dz);
                    for &(i, c) in self.bucket(cube) {
                        if c == cube && points[i as usize].distance_squared(place) <= most {
                            found(i as usize);
                        }
                    }
                }
            }
        }
    }
}

/// Attraction and repulsion between all particles nearer than a cut-off.
///
/// The force along the line between two, positive if it pushes them apart, is k (1 − r/ρ)(1 − r/R): it repels below the
/// distance of rest ρ, attracts up to the cut-off R, and fades to nothing there. With ρ = R it only repels. The
/// damping acts on the relative velocity along the line and fades in the same way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// Force at no distance, N.
    pub strength: f64,
    /// Distance of rest, m.
    pub rest: f64,
    /// Cut-off, m.
    pub cutoff: f64,
    /// N s/m.
    pub damping: f64,
}

impl Neighbours {
    /// Particles that push each other away below a distance.
    pub fn repulsion(strength: f64, cutoff: f64) -> Self {
        Neighbours { strength, rest: cutoff, cutoff, damping: 0.0 }
    }

    fn each(&self, at: &Points, mut found: impl FnMut(usize, usize, DVec3, f64)) {
        let mut buckets = Buckets::default();
        buckets.sort(at.x, self.cutoff);
        buckets.pairs(at.x, |i, j| {
            let d = at.x[i] - at.x[j];
            let r = d.length();
            if r > 1e-12 {
                found(i, j, d / r, r);
            }
        });
    }
}

impl Force for Neighbours {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        self.each(at, |i, j, n, r| {
            let fade = 1.0 - r / self.cutoff;
            let rate = (at.v[i] - at.v[j]).dot(n);
            let push = n * (fade * (self.strength * (1.0 - r / self.rest) - self.damping * rate));
            f[i] += push;
            f[j] -= push;
        });
    }

    fn energy(&self, at: &Points) -> f64 {
        // the integral of the force from r to the cut-off
        let (a, b) = (1.0 / self.rest, 1.0 / self.cutoff);
        let antiderivative = |r: f64| r - 0.5 * (a + b) * r * r + a * b * r * r * r / 3.0;
        let mut sum = 0.0;
        self.each(at, |_, _, _, r| sum += self.strength * (antiderivative(self.cutoff) - antiderivative(r)));
        sum
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        let (a, b) = (1.0 / self.rest, 1.0 / self.cutoff);
        self.each(at, |i, j, n, r| {
            let along = outer(n, n);
            let stiffness = (self.strength * (a + b - 2.0 * a * b * r)).max(0.0);
            let tension = (-self.strength * (1.0 - r * a) * (1.0 - r * b) / r).max(0.0);
            let k = (along * (stiffness - tension) + DMat3::IDENTITY * tension) * -1.0;
            slopes.pair(i, j, k, along * (-self.damping * (1.0 - r * b)));
        });
    }
}
