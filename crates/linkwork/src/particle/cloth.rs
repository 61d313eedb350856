//! Cloth: triangles that resist stretch and shear (Baraff, Witkin 1998) and air, and hinges that resist bending.
//!
//! In each triangle the deformation is linear: w_u = Σ bᵢ xᵢ and w_v = Σ cᵢ xᵢ are the images of the unit vectors along
//! warp and weft. The energy per area is
//!
//! ½ kₛ (|w_u| − 1)² + ½ kₛ (|w_v| − 1)² + ½ k_h (w_u·w_v)²,
//!
//! with kₛ and k_h in N/m, so that a finer mesh is the same cloth. Damping is τ times the stiffness, along the same
//! conditions. Air pushes a triangle along its normal by c A |u·n| (u·n), u the velocity of the air against it.

use super::bending::Hinges;
use super::force::{Force, Points, outer};
use super::matrix::Slopes;
use super::{Checked, ParticleSystem};
use crate::error::SceneError;
use glam::{DMat3, DVec3};
use std::ops::Range;

/// What cloth is made of. The default is something like cotton.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClothMaterial {
    /// kg/m².
    pub density: f64,
    /// Resistance to stretch along warp and weft, N/m.
    pub stretch: f64,
    /// Resistance to shear, N/m.
    pub shear: f64,
    /// Resistance to bending, N m.
    pub bend: f64,
    /// Damping as a time, s: what it does to a motion of stretch is τ times the stiffness.
    pub damping: f64,
    /// Half the density of air times the drag coefficient, kg/m³: about 0.6.
    pub air: f64,
    /// Velocity of the air, m/s.
    pub wind: DVec3,
    /// How near layers come to each other, m.
    pub thickness: f64,
    /// Coefficient of friction between layers.
    pub friction: f64,
    /// Direction of the warp in the start pose; the weft is across it.
    pub warp: DVec3,
    /// Whether the cloth collides with itself.
    pub self_collision: bool,
}

impl Default for ClothMaterial {
    fn default() -> Self {
        ClothMaterial {
            density: 0.2,
            stretch: 1000.0,
            shear: 100.0,
            bend: 1e-5,
            damping: 0.005,
            air: 0.6,
            wind: DVec3::ZERO,
            thickness: 0.004,
            friction: 0.3,
            warp: DVec3::X,
            self_collision: true,
        }
    }
}

impl ClothMaterial {
    fn check(&self, path: &str) -> Checked<()> {
        let numbers = [
            ("density", self.density, 1e-9),
            ("stretch", self.stretch, 0.0),
            ("shear", self.shear, 0.0),
            ("bend", self.bend, 0.0),
            ("damping", self.damping, 0.0),
            ("air", self.air, 0.0),
            ("thickness", self.thickness, 0.0),
            ("friction", self.friction, 0.0),
        ];
        for (key, value, least) in numbers {
            if !(value.is_finite() && value >= least && value <= 1e12) {
                let problem = format!("{value} is not between {least:e} and 1e12");
                return Err(SceneError::new(format!("{path}.{key}"), problem).hint("use SI units"));
            }
        }
        if !(self.wind.is_finite() && self.warp.is_finite() && self.wind.length() < 1e6) {
            return Err(SceneError::new(format!("{path}.wind"), "is not a finite vector"));
        }
        Ok(())
    }
}

/// A triangle at rest.
#[derive(Clone, Copy, Debug)]
struct Element {
    corners: [u32; 3],
    area: f64,
    /// w_u = Σ bᵢ xᵢ, w_v = Σ cᵢ xᵢ.
    b: [f64; 3],
    c: [f64; 3],
}

/// The triangles of a cloth as a force.
pub(super) struct Membrane {
    elements: Vec<Element>,
    material: ClothMaterial,
}

impl ParticleSystem {
    /// Adds cloth: vertices become particles, free ones at rest, in the shape the cloth has without forces. Returns their
    /// indices. The system takes implicit steps from now on.
    ///
    /// ```
    /// use linkwork::glam::DVec3;
    /// use linkwork::particle::{ClothMaterial, Gravity, ParticleSystem, grid};
    ///
    /// let mut system = ParticleSystem::new();
    /// system.add_force(Gravity(DVec3::new(0.0, 0.0, -9.81)))?;
    /// let (vertices, triangles) = grid(DVec3::ZERO, DVec3::X, DVec3::Y, 10, 10);
    /// let cloth = system.add_cloth(&vertices, &triangles, ClothMaterial::default())?;
    /// system.nail(cloth.start)?;
    /// for _ in 0..60 {
    ///     system.step(1.0 / 60.0)?;
    /// }
    /// # Ok::<(), linkwork::SceneError>(())
    /// ```
    ///
    /// # Errors
    /// Numbers out of range, vertices that do not exist, triangles without area.
    pub fn add_cloth(
        &mut self,
        vertices: &[DVec3],
        triangles: &[[u32; 3]],
        material: ClothMaterial,
    ) -> Checked<Range<usize>> {
        material.check("cloth")?;
        let first = self.x.len();
        let mut mass = vec![0.0; vertices.len()];
        let mut elements = Vec::with_capacity(triangles.len());
        for (t, triangle) in triangles.iter().enumerate() {
            let path = format!("cloth.triangles[{t}]");
            if let Some(missing) = triangle.iter().find(|&&i| i as usize >= vertices.len()) {
                let problem = format!("vertex {missing} does not exist: there are {}", vertices.len());
                return Err(SceneError::new(path, problem));
            }
            let element = element(triangle.map(|i| vertices[i as usize]), material.warp);
            let Some((area, b, c)) = element else {
                return Err(SceneError::new(path, "has no area").hint("leave it out, or move its corners apart"));
            };
            triangle.iter().for_each(|&i| mass[i as usize] += material.density * area / 3.0);
            elements.push(Element { corners: triangle.map(|i| i + first as u32), area, b, c });
        }
        if let Some(loose) = mass.iter().position(|&m| m == 0.0) {
            return Err(
                SceneError::new(format!("cloth.vertices[{loose}]"), "belongs to no triangle").hint("leave it out")
            );
        }
        for (k, (x, m)) in vertices.iter().zip(&mass).enumerate() {
            if let Err(e) = self.add_particle(*x, DVec3::ZERO, *m) {
                self.forget_particles(first);
                return Err(SceneError::new(format!("cloth.vertices[{k}]"), e.problem));
            }
        }
        let moved: Vec<[u32; 3]> = elements.iter().map(|e| e.corners).collect();
        let hinges = Hinges::new(&self.x, &moved, material.bend, material.damping);
        self.add_force(Membrane { elements, material })?;
        self.add_force(hinges)?;
        for corners in &moved {
            let x = corners.map(|i| self.x[i as usize]);
            let longest = x[0].distance(x[1]).max(x[1].distance(x[2])).max(x[2].distance(x[0]));
            self.longest_edge = self.longest_edge.max(longest);
        }
        self.faces.extend_from_slice(&moved);
        self.sheets.add(&self.x, moved, material.thickness, material.friction, material.self_collision);
        self.set_method(super::Method::Implicit);
        Ok(first..self.x.len())
    }

    fn forget_particles(&mut self, from: usize) {
        self.x.truncate(from);
        self.v.truncate(from);
        self.mass.truncate(from);
        self.w.truncate(from);
        self.motion.truncate(from);
        self.changed();
    }
}

/// A rectangle of cloth: vertices row by row, (columns + 1)(rows + 1) of them, and triangles whose diagonals alternate, so
/// that no direction is favoured.
pub fn grid(corner: DVec3, along: DVec3, across: DVec3, columns: usize, rows: usize) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let (columns, rows) = (columns.max(1), rows.max(1));
    let at = |i: usize, j: usize| corner + along * (j as f64 / columns as f64) + across * (i as f64 / rows as f64);
    let vertices = (0..=rows).flat_map(|i| (0..=columns).map(move |j| at(i, j))).collect();
    let mut triangles = Vec::with_capacity(2 * columns * rows);
    for i in 0..rows {
        for j in 0..columns {
            let a = (i * (columns + 1) + j) as u32;
            let (b, c) = (a + 1, a + columns as u32 + 1);
            let d = c + 1;
            match (i + j) % 2 {
                0 => triangles.extend([[a, b, d], [a, d, c]]),
                _ => triangles.extend([[a, b, c], [b, d, c]]),
            }
        }
    }
    (vertices, triangles)
}

/// Area and the coefficients of w_u and w_v; `None` without area.
fn element([p, q, r]: [DVec3; 3], warp: DVec3) -> Option<(f64, [f64; 3], [f64; 3])> {
    let (d, e) = (q - p, r - p);
    let normal = d.cross(e);
    let twice = normal.length();
    let longest = d.length_squared().max(e.length_squared()).max((r - q).length_squared());
    if !(twice.is_finite() && twice > 1e-9 * longest && longest > 1e-24) {
        return None;
    }
    let n = normal / twice;
    // the warp as it lies in the triangle
    let flat = |w: DVec3| w - n * n.dot(w);
    let u =
        [warp, DVec3::X, DVec3::Y].into_iter().map(flat).find(|w| w.length() > 0.1 * warp.length().clamp(1e-9, 1.0))?;
    let u = u.normalize();
    let v = n.cross(u);
    let (d, e) = ((d.dot(u), d.dot(v)), (e.dot(u), e.dot(v)));
    let determinant = d.0 * e.1 - e.0 * d.1;
    // (w_u, w_v) = (q − p, r − p) (d, e)⁻¹
    let (bq, br) = (e.1 / determinant, -d.1 / determinant);
    let (cq, cr) = (-e.0 / determinant, d.0 / determinant);
    Some((0.5 * twice, [-bq - br, bq, br], [-cq - cr, cq, cr]))
}

impl Element {
    fn images(&self, x: &[DVec3]) -> (DVec3, DVec3) {
        self.combine(self.corners.map(|i| x[i as usize]))
    }

    fn combine(&self, p: [DVec3; 3]) -> (DVec3, DVec3) {
        let sum = |w: &[f64; 3]| p[0] * w[0] + p[1] * w[1] + p[2] * w[2];
        (sum(&self.b), sum(&self.c))
    }
}

impl Membrane {
    /// For the image `w` of warp or weft, `moved` since the step began: the slope of the energy there, less what the Hessian
    /// makes of the motion, so that it counts from the start; and the Hessian with damping, as the step's matrix has it.
    fn stretched(&self, e: &Element, w: DVec3, moved: DVec3, h: f64) -> (DVec3, DMat3) {
        let m = &self.material;
        let length = w.length().max(1e-12);
        let n = w / length;
        // compression would push sideways: left out
        let across = (1.0 - 1.0 / length).max(0.0);
        let k = e.area * m.stretch;
        let slope = n * (k * (length - 1.0 - (1.0 - across) * n.dot(moved))) - moved * (k * across);
        let along = k * (h * h * (1.0 - across) + h * m.damping);
        (slope, outer(n * along, n) + DMat3::from_diagonal(DVec3::splat(k * h * h * across)))
    }

    /// Velocity of the air against a triangle, and its area vector.
    fn air(&self, at: &Points, e: &Element) -> (DVec3, DVec3) {
        let [p, q, r] = e.corners.map(|i| i as usize);
        let against = self.material.wind - (at.v[p] + at.v[q] + at.v[r]) / 3.0;
        (against, (at.x[q] - at.x[p]).cross(at.x[r] - at.x[p]) * 0.5)
    }
}

impl Force for Membrane {
    fn apply(&self, at: &Points, f: &mut [DVec3]) {
        let m = &self.material;
        for e in &self.elements {
            let ((u, v), (du, dv)) = (e.images(at.x), e.images(at.v));
            let mut gu = DVec3::ZERO;
            let mut gv = DVec3::ZERO;
            // d energy / d w_u and w_v, damping included
            for (w, dw, g) in [(u, du, &mut gu), (v, dv, &mut gv)] {
                let length = w.length();
                if length > 1e-12 {
                    let n = w / length;
                    *g += n * (e.area * m.stretch * (length - 1.0 + m.damping * n.dot(dw)));
                }
            }
            let shear = u.dot(v) + m.damping * (du.dot(v) + u.dot(dv));
            gu += v * (e.area * m.shear * shear);
            gv += u * (e.area * m.shear * shear);
            for k in 0..3 {
                f[e.corners[k] as usize] -= gu * e.b[k] + gv * e.c[k];
            }
            if m.air > 0.0 {
                let (against, area) = self.air(at, e);
                let size = area.length();
                if size > 1e-300 {
                    let n = area / size;
                    let speed = against.dot(n);
                    let push = n * (m.air * size * speed.abs() * speed / 3.0);
                    e.corners.iter().for_each(|&i| f[i as usize] += push);
                }
            }
        }
    }

    fn energy(&self, at: &Points) -> f64 {
        let m = &self.material;
        let density = |e: &Element| {
            let (u, v) = e.images(at.x);
            let stretch = (u.length() - 1.0).powi(2) + (v.length() - 1.0).powi(2);
            0.5 * e.area * (m.stretch * stretch + m.shear * u.dot(v).powi(2))
        };
        self.elements.iter().map(density).sum()
    }

    fn slopes(&self, at: &Points, slopes: &mut Slopes) {
        let (m, h) = (&self.material, slopes.step());
        for e in &self.elements {
            let who = e.corners.map(|i| i as usize);
            let ((u, v), rates) = (e.images(at.x), e.combine(who.map(|i| slopes.about(i))));
            let (u, v) = (u + rates.0 * h, v + rates.1 * h);
            let (mut gu, ku) = self.stretched(e, u, rates.0 * h, h);
            let (mut gv, kv) = self.stretched(e, v, rates.1 * h, h);
            let k = e.area * m.shear;
            let shear = k * (u.dot(v) - h * (rates.0.dot(v) + u.dot(rates.1)));
            gu += v * shear;
            gv += u * shear;
            let (mut air, mut push) = (DMat3::ZERO, DVec3::ZERO);
            if m.air > 0.0 {
                let (against, area) = self.air(at, e);
                let size = area.length().max(1e-300);
                let n = area / size;
                let speed = against.dot(n);
                let slope = 2.0 * m.air * size * speed.abs() / 9.0;
                let moves = at.v[who[0]] + at.v[who[1]] + at.v[who[2]];
                push = n * (m.air * size * speed.abs() * speed / 3.0 + slope * n.dot(moves));
                air = outer(n, n) * (slope * h);
            }
            let (k, g) = (k * h * (h + m.damping), [0, 1, 2].map(|i| v * e.b[i] + u * e.c[i]));
            for i in 0..3 {
                slopes.push(who[i], push - gu * e.b[i] - gv * e.c[i]);
                for j in 0..=i {
                    let block = ku * (e.b[i] * e.b[j]) + kv * (e.c[i] * e.c[j]) + outer(g[i] * k, g[j]) + air;
                    slopes.enter(who[i], who[j], block);
                }
            }
        }
    }

    fn is_in_slopes(&self) -> bool {
        true
    }

    fn beyond_slopes(&self, at: &Points, h: f64, about: &[DVec3], v: &[DVec3]) -> f64 {
        let m = &self.material;
        let mut sum = 0.0;
        for e in &self.elements {
            let who = e.corners.map(|i| i as usize);
            let ((u, w), base) = (e.images(at.x), e.combine(who.map(|i| about[i] * h)));
            let (u, w) = (u + base.0, w + base.1);
            let (du, dw) = e.combine(who.map(|i| (v[i] - about[i]) * h));
            let mut beyond = 0.0;
            for (w, d) in [(u, du), (w, dw)] {
                let length = w.length().max(1e-12);
                let (strain, across) = (length - 1.0, (1.0 - 1.0 / length).max(0.0));
                let along = w.dot(d) / length;
                let curvature = along * along * (1.0 - across) + d.length_squared() * across;
                let end = (w + d).length() - 1.0;
                beyond += m.stretch * (0.5 * (end * end - strain * strain - curvature) - strain * along);
            }
            let (shear, rate) = (u.dot(w), du.dot(w) + u.dot(dw));
            let end = (u + du).dot(w + dw);
            beyond += m.shear * (0.5 * (end * end - shear * shear - rate * rate) - shear * rate);
            sum += e.area * beyond;
        }
        sum
    }

    fn last_particle(&self) -> Option<usize> {
        self.elements.iter().flat_map(|e| e.corners).max().map(|i| i as usize)
    }
}
