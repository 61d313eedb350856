//! Mass properties: from shapes, or given and checked; principal axes.

use crate::collide::hull::{Hull, integrals};
use crate::range::{FARTHEST, MASSES, MOMENTS};
use crate::scene::{Body, Geometry};
use glam::{DMat3, DQuat, DVec3};
use std::ops::RangeInclusive;

/// Mass, centre of mass and principal inertia of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct MassProperties {
    pub mass: f64,
    /// Principal moments about the centre of mass.
    pub moments: DVec3,
    /// Centre of mass in the body frame.
    pub center: DVec3,
    /// Body frame from principal axes.
    pub axes: DQuat,
}

/// What is wrong with mass properties: the key of [`Body`] at fault, the problem, a hint.
pub(crate) struct MassError {
    pub key: &'static str,
    pub problem: String,
    pub hint: &'static str,
}

fn fault(key: &'static str, problem: String, hint: &'static str) -> MassError {
    MassError { key, problem, hint }
}

const DEFAULT_DENSITY: f64 = 1000.0;

/// What is wrong with the mass properties that a description gives.
pub(crate) fn wrong_masses(body: &Body) -> Vec<MassError> {
    let mut found = Vec::new();
    let mut tell = |key, problem: String, hint| found.push(fault(key, problem, hint));
    match body.mass {
        Some(m) if !(m.is_finite() && m > 0.0) => {
            tell("mass", format!("{m} kg is not a positive mass"), "make the body static to hold it in place");
        }
        Some(m) if !MASSES.contains(&m) => tell("mass", out_of(m, &MASSES, "kg"), "use kilograms"),
        _ => {}
    }
    if let Some(d) = body.density.filter(|d| !(d.is_finite() && *d > 0.0)) {
        tell("density", format!("{d} kg/m³ is not a positive density"), "water has 1000, steel 7850");
    }
    if body.mass.is_some() && body.density.is_some() {
        tell("density", "given beside a mass".into(), "give one of the two");
    }
    if body.inertia.is_none() && body.inertia_products.is_some() {
        tell("inertia_products", "given without `inertia`".into(), "give the moments (xx, yy, zz) too");
    }
    for (key, given) in [("inertia", body.inertia), ("inertia_products", body.inertia_products)] {
        let Some(i) = given else { continue };
        if i.iter().any(|e| !e.is_finite()) {
            tell(key, format!("{:?}, {:?}, {:?} kg m² are not all finite", i[0], i[1], i[2]), "give three numbers");
        } else if let Some(e) = i.iter().find(|e| e.abs() > *MOMENTS.end()) {
            tell(key, format!("{e:?} kg m² is more than {:e} kg m²", MOMENTS.end()), "use kg m²");
        }
    }
    let center = body.center_of_mass.map_or(DVec3::ZERO, DVec3::from);
    if !center.is_finite() {
        tell("center_of_mass", format!("{center} is not finite"), "give three numbers in metres");
    } else if center.abs().max_element() > FARTHEST {
        let [x, y, z] = center.to_array();
        tell("center_of_mass", format!("[{x:?}, {y:?}, {z:?}] m is beyond {FARTHEST:e} m"), "use metres");
    }
    found
}

fn out_of(value: f64, range: &RangeInclusive<f64>, unit: &str) -> String {
    format!("{value:?} {unit} is not between {:e} and {:e} {unit}", range.start(), range.end())
}

/// Mass properties of a dynamic body as its description gives them, with nothing in it that [`wrong_masses`] finds and sound shapes.
pub(crate) fn mass_properties(body: &Body) -> Result<MassProperties, MassError> {
    let of_shapes = shapes_properties(body);
    let mass = match (body.mass, of_shapes) {
        (Some(m), _) => m,
        (None, Some((volume, _, _))) => volume * body.density.unwrap_or(DEFAULT_DENSITY),
        (None, None) => {
            return Err(fault("mass", "a dynamic body needs a mass".into(), "give `mass` and `inertia`, or a shape"));
        }
    };
    let center = body.center_of_mass.map(DVec3::from).or(of_shapes.map(|s| s.1)).unwrap_or(DVec3::ZERO);
    if !MASSES.contains(&mass) {
        let key = if body.density.is_some() { "density" } else { "shapes" };
        return Err(fault(key, format!("the mass of its shapes, {}", out_of(mass, &MASSES, "kg")), "give a mass"));
    }
    let tensor = match (body.inertia, of_shapes) {
        (Some(d), _) => {
            let p = body.inertia_products.unwrap_or([0.0; 3]);
            DMat3::from_cols(DVec3::new(d[0], p[0], p[1]), DVec3::new(p[0], d[1], p[2]), DVec3::new(p[1], p[2], d[2]))
        }
        // the shapes' tensor is about the shapes' own centre; a given centre of mass only shifts the body frame
        (None, Some((volume, _, unit_density))) => unit_density * (mass / volume),
        (None, None) => {
            return Err(fault(
                "inertia",
                "a body without shapes needs its inertia".into(),
                "give `inertia`, or a shape",
            ));
        }
    };
    let (moments, axes) = principal_axes(tensor);
    check_moments(moments)?;
    Ok(MassProperties { mass, center, moments, axes })
}

/// Moments of inertia must be positive and none larger than the sum of the other two: ∫x² + ∫y² ≥ 0.
fn check_moments(moments: DVec3) -> Result<(), MassError> {
    let m = moments;
    if !m.is_finite() || m.min_element() <= 0.0 {
        return Err(fault(
            "inertia",
            format!("principal moments {}, {}, {} kg m² are not all positive", m.x, m.y, m.z),
            "a solid body of size L and mass m has moments of about m L²/12",
        ));
    }
    if let Some(wrong) = m.to_array().into_iter().find(|moment| !MOMENTS.contains(moment)) {
        return Err(fault("inertia", format!("a principal moment, {}", out_of(wrong, &MOMENTS, "kg m²")), "use kg m²"));
    }
    let sum = m.x + m.y + m.z;
    let largest = m.max_element();
    // a lamina or a thin rod touches equality: allow rounding
    if largest > (sum - largest) * (1.0 + 1e-9) {
        return Err(fault(
            "inertia",
            format!(
                "principal moments {}, {}, {} kg m² cannot exist: {largest} is more than the sum of the other two, {}",
                m.x,
                m.y,
                m.z,
                sum - largest
            ),
            "check units and axes; every moment is at most the sum of the other two",
        ));
    }
    if largest > 1e9 * m.min_element() {
        return Err(fault(
            "inertia",
            format!(
                "smallest and largest principal moment, {} and {largest} kg m², are too far apart",
                m.min_element()
            ),
            "give the thin direction a thickness",
        ));
    }
    Ok(())
}

/// Volume, centre and inertia tensor at unit density about that centre, of all shapes together.
///
/// Sensors have no mass. Where shapes overlap, the overlap counts twice.
fn shapes_properties(body: &Body) -> Option<(f64, DVec3, DMat3)> {
    let parts: Vec<(f64, DVec3, DMat3)> = body
        .shapes
        .iter()
        .filter(|shape| !shape.sensor)
        .map(|shape| {
            let (volume, center, tensor) = solid(&shape.geometry);
            let [w, x, y, z] = shape.orientation;
            let r = DMat3::from_quat(DQuat::from_xyzw(x, y, z, w).normalize());
            (volume, DVec3::from(shape.position) + r * center, r * tensor * r.transpose())
        })
        .collect();
    let volume: f64 = parts.iter().map(|p| p.0).sum();
    if parts.is_empty() || volume <= 0.0 {
        return None;
    }
    let center = parts.iter().map(|p| p.1 * p.0).sum::<DVec3>() / volume;
    let mut tensor = DMat3::ZERO;
    for (v, c, i) in parts {
        let d = c - center;
        let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        tensor += i + (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer) * v;
    }
    Some((volume, center, tensor))
}

/// Volume, centre and inertia tensor at unit density about that centre, in the frame of the geometry.
fn solid(geometry: &Geometry) -> (f64, DVec3, DMat3) {
    use std::f64::consts::PI;
    let diagonal = |volume: f64, center: DVec3, moments: DVec3| (volume, center, DMat3::from_diagonal(moments));
    match geometry {
        Geometry::Sphere { radius: r } => {
            let v = 4.0 / 3.0 * PI * r.powi(3);
            diagonal(v, DVec3::ZERO, DVec3::splat(0.4 * v * r * r))
        }
        Geometry::Box { size: [a, b, c] } => {
            let v = a * b * c;
            diagonal(v, DVec3::ZERO, v / 12.0 * DVec3::new(b * b + c * c, a * a + c * c, a * a + b * b))
        }
        Geometry::Cylinder { radius: r, length: l } => {
            let v = PI * r * r * l;
            let across = v * (3.0 * r * r + l * l) / 12.0;
            diagonal(v, DVec3::ZERO, DVec3::new(across, across, 0.5 * v * r * r))
        }
        Geometry::Capsule { radius: r, length: l } => {
            let tube = PI * r * r * l;
            let ball = 4.0 / 3.0 * PI * r.powi(3);
            // a half ball's centre lies 3r/8 from its flat face
            let across = tube * (3.0 * r * r + l * l) / 12.0 + ball * (0.4 * r * r + 0.25 * l * l + 0.375 * l * r);
            diagonal(tube + ball, DVec3::ZERO, DVec3::new(across, across, 0.5 * tube * r * r + 0.4 * ball * r * r))
        }
        Geometry::Cone { radius: r, length: l } => {
            let v = PI * r * r * l / 3.0;
            // a quarter of the height above the base
            let across = 3.0 / 80.0 * v * (4.0 * r * r + l * l);
            diagonal(v, DVec3::new(0.0, 0.0, -0.25 * l), DVec3::new(across, across, 0.3 * v * r * r))
        }
        Geometry::ConvexHull { points } => {
            let points: Vec<DVec3> = points.iter().map(|&p| p.into()).collect();
            Hull::of(&points).map_or((0.0, DVec3::ZERO, DMat3::ZERO), |hull| integrals(&hull.points, &hull.triangles()))
        }
        Geometry::Mesh { vertices, triangles } => {
            let vertices: Vec<DVec3> = vertices.iter().map(|&p| p.into()).collect();
            let (volume, center, tensor) = integrals(&vertices, triangles);
            // a mesh may be turned inside out
            (volume.abs(), center, tensor * volume.signum())
        }
        // never on a body that forces move
        Geometry::HeightField { .. } | Geometry::Plane => (0.0, DVec3::ZERO, DMat3::ZERO),
    }
}

/// Eigenvalues and axes of a symmetric tensor by Jacobi rotations; a diagonal tensor keeps its axes.
pub(crate) fn principal_axes(tensor: DMat3) -> (DVec3, DQuat) {
    let mut a = tensor.to_cols_array_2d();
    let mut v = DMat3::IDENTITY.to_cols_array_2d();
    let scale = a[0][0].abs() + a[1][1].abs() + a[2][2].abs();
    for _ in 0..60 {
        let (mut p, mut q) = (0, 1);
        for (i, j) in [(0, 2), (1, 2)] {
            if a[i][j].abs() > a[p][q].abs() {
                (p, q) = (i, j);
            }
        }
        if a[p][q].abs() <= 1e-17 * scale || !scale.is_finite() {
            break;
        }
        let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
        let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
        let c = 1.0 / (t * t + 1.0).sqrt();
        let s = t * c;
        for k in 0..3 {
            let (x, y) = (a[p][k], a[q][k]);
            (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
        }
        for k in 0..3 {
            let (x, y) = (a[k][p], a[k][q]);
            (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
            let (x, y) = (v[p][k], v[q][k]);
            (v[p][k], v[q][k]) = (c * x - s * y, s * x + c * y);
        }
    }
    let axes = DMat3::from_cols_array_2d(&v);
    let axes = if axes.determinant() < 0.0 { axes * -1.0 } else { axes };
    (DVec3::new(a[0][0], a[1][1], a[2][2]), DQuat::from_mat3(&axes).normalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principal_axes_rebuild_the_tensor() {
        let r = DMat3::from_quat(crate::math::rotation::exp(DVec3::new(0.5, -1.2, 0.7)));
        let tensor = r * DMat3::from_diagonal(DVec3::new(1.0, 2.0, 2.5)) * r.transpose();
        let (moments, q) = principal_axes(tensor);
        let q = DMat3::from_quat(q);
        let rebuilt = q * DMat3::from_diagonal(moments) * q.transpose();
        assert!((rebuilt - tensor).to_cols_array().iter().all(|e| e.abs() < 1e-14));
        assert_eq!(principal_axes(DMat3::from_diagonal(DVec3::new(3.0, 1.0, 2.0))).1, DQuat::IDENTITY);
    }

    #[test]
    fn two_half_boxes_are_one_box() {
        use crate::scene::Shape;
        let whole = Body::new("whole").with_density(7.0).shape(Geometry::Box { size: [2.0, 1.0, 0.5] });
        let half = Geometry::Box { size: [1.0, 1.0, 0.5] };
        let halves = Body::new("halves")
            .with_density(7.0)
            .placed_shape(Shape::new(half.clone()).at([0.5, 0.0, 0.0]))
            .placed_shape(Shape::new(half).at([-0.5, 0.0, 0.0]));
        let (a, b) = (mass_properties(&whole).ok().unwrap(), mass_properties(&halves).ok().unwrap());
        assert!((a.mass - b.mass).abs() < 1e-12 && (a.moments - b.moments).length() < 1e-12);
    }

    #[test]
    fn a_capsule_is_its_integral() {
        // integrate discs along the axis
        let (r, l) = (0.3, 0.8);
        let (v, _, tensor) = solid(&Geometry::Capsule { radius: r, length: l });
        let i = DVec3::new(tensor.x_axis.x, tensor.y_axis.y, tensor.z_axis.z);
        let (mut vs, mut across, mut along) = (0.0, 0.0, 0.0);
        let n = 200_000;
        let dz = (l + 2.0 * r) / f64::from(n);
        for k in 0..n {
            let z = (f64::from(k) + 0.5) * dz - 0.5 * l - r;
            let over = (z.abs() - 0.5 * l).max(0.0);
            let rho2 = r * r - over * over;
            let dv = std::f64::consts::PI * rho2 * dz;
            vs += dv;
            along += 0.5 * dv * rho2;
            across += dv * (0.25 * rho2 + z * z);
        }
        assert!((v - vs).abs() < 1e-8 && (i.z - along).abs() < 1e-8 && (i.x - across).abs() < 1e-8);
    }
}
