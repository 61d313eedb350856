//! A world as triangles: shapes of bodies, bars of joints, particles, and the points that the world holds.

use super::raster::Triangle;
use super::{colour, solid};
use linkwork::glam::{DQuat, DVec3};
use linkwork::particle::ParticleSystem;
use linkwork::scene::{BodyKind, Geometry, JointKind, Shape};
use linkwork::{BodyId, JointId, Pose, World};
use linkwork_io::recording::held_particles;

const STATIC: u32 = 0x94948e;
const KINEMATIC: u32 = 0x7d8fa3;
const BAR: u32 = 0x8a7f70;
const PALETTE: [u32; 6] = [0xe9a337, 0x528bb5, 0xcd624d, 0x70a16c, 0x8d7ab0, 0x606e7d];
const OF_PARTICLES: [u32; 5] = [0xc8553d, 0x3d7ea6, 0x8a9a3b, 0x9b5d9e, 0xd29a35];

/// All shapes of all bodies, the bars of distance joints, and particles.
pub fn triangles(world: &World, sides: usize) -> Vec<Triangle> {
    let mut triangles = Vec::new();
    for (k, id) in world.body_ids().enumerate() {
        let (Some(pose), Some(shapes)) = (world.pose(id), world.shapes(id)) else { continue };
        let colour = match world.body_kind(id) {
            Some(BodyKind::Static) => colour(STATIC),
            Some(BodyKind::Kinematic) => colour(KINEMATIC),
            _ => colour(PALETTE[k % PALETTE.len()]),
        };
        // a body without a shape is shown as a ball of its mass in water
        let ball = |mass: f64| {
            Shape::new(Geometry::Sphere { radius: (mass * 0.75 / 1000.0 / std::f64::consts::PI).cbrt() })
                .at(world.center_of_mass(id).map_or([0.0; 3], |center| pose.to_local(center).to_array()))
        };
        let stand_in = world.mass(id).filter(|_| shapes.is_empty()).map(ball);
        for shape in shapes.iter().filter(|shape| !shape.sensor).chain(&stand_in) {
            add(&mut triangles, &pose, shape, colour, sides);
        }
    }
    for id in world.joint_ids() {
        if let (Some(JointKind::Distance | JointKind::Rope), Some((from, to))) =
            (kind(world, id), world.joint_anchors(id))
        {
            add_bar(&mut triangles, from, to, 0.008 * from.distance(to), colour(BAR), 8);
        }
    }
    for k in 0..world.particle_system_count() {
        add_particles(&mut triangles, world, k, sides);
    }
    triangles
}

fn kind(world: &World, id: JointId) -> Option<JointKind> {
    world.joint_description(id).map(|joint| joint.kind)
}

/// A system of particles: cloth as it is, lines as bars, particles without either as balls, grey where the world holds them.
fn add_particles(triangles: &mut Vec<Triangle>, world: &World, k: usize, sides: usize) {
    let (Some(system), Some(drawing)) = (world.particle_system(k), world.particle_drawing(k)) else { return };
    let (x, colour_of_system) = (system.positions(), colour(OF_PARTICLES[k % OF_PARTICLES.len()]));
    let (lines, faces) = (drawing.lines, drawing.triangles);
    let normals = normals(x, faces);
    for face in faces {
        let [a, b, c] = face.map(|i| i as usize);
        let face = |[a, b, c]: [usize; 3], sign: f64| Triangle {
            corners: [x[a], x[b], x[c]],
            normals: [sign * normals[a], sign * normals[b], sign * normals[c]],
            colour: colour_of_system,
        };
        // cloth is seen from both sides
        triangles.extend([face([a, b, c], 1.0), face([a, c, b], -1.0)]);
    }
    let size = ball_size(system, lines);
    if faces.is_empty() {
        for line in lines {
            let [from, to] = line.map(|i| x[i as usize]);
            add_bar(triangles, from, to, 0.35 * size, colour_of_system, 6);
        }
        // a thousand balls are small ones
        let sides = if x.len() > 1000 { 6 } else { (sides / 2).max(8) };
        x.iter().for_each(|&at| add_ball(triangles, at, size, colour_of_system, sides));
    }
    for particle in held_particles(system) {
        add_ball(triangles, x[particle as usize], 1.35 * size, colour(STATIC), (sides / 2).max(8));
    }
}

/// Normals of cloth at its particles: the mean of those of the triangles around, by their areas.
fn normals(x: &[DVec3], faces: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; if faces.is_empty() { 0 } else { x.len() }];
    for face in faces {
        let [a, b, c] = face.map(|i| x[i as usize]);
        face.iter().for_each(|&i| normals[i as usize] += (b - a).cross(c - a));
    }
    normals.into_iter().map(DVec3::normalize_or_zero).collect()
}

/// How large the balls of particles are, so that neighbours can be told apart, m.
fn ball_size(system: &ParticleSystem, lines: &[[u32; 2]]) -> f64 {
    let x = system.positions();
    let mut lengths: Vec<f64> = lines.iter().map(|l| x[l[0] as usize].distance(x[l[1] as usize])).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    system.radius().max(0.12 * lengths.get(lengths.len() / 2).copied().unwrap_or(0.1))
}

/// Balls where the world holds a point of a body, and rails where it guides one, so that nothing hangs on nothing; `size` is
/// that of the scene, m.
pub fn holders(world: &World, size: f64) -> Vec<Triangle> {
    let mut triangles = Vec::new();
    for id in world.joint_ids() {
        if let Some((from, to)) = rail(world, id, size) {
            add_bar(&mut triangles, from, to, 0.005 * size, colour(STATIC), 10);
        }
        let holds_point = matches!(
            kind(world, id),
            Some(JointKind::Ball | JointKind::Hinge | JointKind::Universal | JointKind::Distance | JointKind::Rope)
        );
        let (Some((a, b)), Some((on_a, on_b))) = (world.joint_bodies(id), world.joint_anchors(id)) else { continue };
        let (at, body) = match (a, b) {
            (None, Some(body)) if holds_point => (on_a, body),
            (Some(body), None) if holds_point => (on_b, body),
            _ => continue,
        };
        let radius = (0.75 * thickness(world, body)).clamp(0.008 * size, 0.03 * size);
        add_ball(&mut triangles, at, radius, colour(STATIC), 16);
    }
    triangles
}

/// The ends of the line along which the world guides a point of a body: as far as its limits let it go, or half the scene to
/// both sides.
fn rail(world: &World, id: JointId, size: f64) -> Option<(DVec3, DVec3)> {
    let joint = world.joint_description(id)?;
    let has_line =
        [JointKind::Slider, JointKind::Cylindrical, JointKind::Screw, JointKind::PointOnLine].contains(&joint.kind);
    let (on_a, on_b) = world.joint_frames(id).filter(|_| has_line)?;
    let readings = world.coordinates(id).unwrap_or_default();
    let first = readings.first().map(|reading| reading.name);
    let length = readings.iter().find(|reading| !reading.is_angle).map(|reading| reading.name);
    let limit = joint.coordinates.iter().find(|c| c.of.as_deref().or(first) == length).and_then(|c| c.limit);
    let (min, max) = limit.map_or((None, None), |limit| (limit.min, limit.max));
    let end = |value: Option<f64>, otherwise: f64| value.filter(|v| v.abs() < 3.0 * size).unwrap_or(otherwise);
    let (low, high) = (end(min, -0.5 * size), end(max, 0.5 * size));
    // what moves is b; seen from there a moves the other way
    match world.joint_bodies(id)? {
        (None, Some(_)) => {
            let along = on_a.orientation * DVec3::Z;
            Some((on_a.position + low * along, on_a.position + high * along))
        }
        (Some(_), None) => {
            let along = on_b.orientation * DVec3::Z;
            Some((on_b.position - high * along, on_b.position - low * along))
        }
        _ => None,
    }
}

/// The smallest width of a body's shapes, m; zero if that is not known.
fn thickness(world: &World, body: BodyId) -> f64 {
    let width = |shape: &Shape| match shape.geometry {
        Geometry::Box { size: [x, y, z] } => x.min(y).min(z),
        Geometry::Sphere { radius } | Geometry::Capsule { radius, .. } => 2.0 * radius,
        Geometry::Cylinder { radius, length } | Geometry::Cone { radius, length } => length.min(2.0 * radius),
        _ => f64::INFINITY,
    };
    let least = world.shapes(body).unwrap_or_default().iter().map(width).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

fn add_ball(triangles: &mut Vec<Triangle>, position: DVec3, radius: f64, colour: DVec3, sides: usize) {
    let ball = Shape::new(Geometry::Sphere { radius });
    add(triangles, &Pose { position, ..Pose::IDENTITY }, &ball, colour, sides);
}

fn add_bar(triangles: &mut Vec<Triangle>, from: DVec3, to: DVec3, radius: f64, colour: DVec3, sides: usize) {
    let along = (to - from).normalize_or(DVec3::Z);
    let pose = Pose { position: 0.5 * (from + to), orientation: DQuat::from_rotation_arc(DVec3::Z, along) };
    let bar = Shape::new(Geometry::Cylinder { radius, length: from.distance(to) });
    add(triangles, &pose, &bar, colour, sides);
}

fn add(triangles: &mut Vec<Triangle>, pose: &Pose, shape: &Shape, colour: DVec3, sides: usize) {
    let out = |p: DVec3| pose.transform(solid::placed(shape, p));
    let turn = |d: DVec3| pose.orientation * solid::turned(shape, d);
    for polygon in solid::surface(&shape.geometry, sides) {
        for k in 2..polygon.len() {
            let corners = [polygon[0], polygon[k - 1], polygon[k]];
            let flat = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
            if flat != DVec3::ZERO {
                let normals = corners.map(|corner| turn(solid::normal_at(&shape.geometry, corner, flat)));
                triangles.push(Triangle { corners: corners.map(out), normals, colour });
            }
        }
    }
}

/// Planes with what is their outside in the world: a point, and the normal.
fn planes(world: &World) -> Vec<(DVec3, DVec3)> {
    let of_body = |id| {
        let pose = world.pose(id).unwrap_or(Pose::IDENTITY);
        let shapes = world.shapes(id).unwrap_or_default();
        let planes = shapes.iter().filter(|shape| shape.geometry == Geometry::Plane);
        planes
            .map(|s| (pose.transform(solid::placed(s, DVec3::ZERO)), pose.orientation * solid::turned(s, DVec3::Z)))
            .collect::<Vec<_>>()
    };
    world.body_ids().flat_map(of_body).collect()
}

/// The height of a level plane, which the floor is drawn in place of.
pub fn level_plane(world: &World) -> Option<f64> {
    planes(world).into_iter().filter(|(_, normal)| normal.z > 0.9999).map(|(point, _)| point.z).reduce(f64::max)
}

/// Planes that are not level, as squares of twice this width, m.
pub fn tilted_planes(world: &World, half: f64) -> Vec<Triangle> {
    let tilted = planes(world).into_iter().filter(|(_, normal)| normal.z <= 0.9999);
    let square = |(point, normal): (DVec3, DVec3)| {
        let u = normal.any_orthonormal_vector() * half;
        let v = normal.cross(u);
        let piece = |corners| Triangle { corners, normals: [normal; 3], colour: colour(STATIC) };
        [piece([point - u - v, point + u - v, point + u + v]), piece([point - u - v, point + u + v, point - u + v])]
    };
    tilted.flat_map(square).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::Scene;
    use linkwork::scene::{Body, Coordinate, Joint, WORLD};

    /// From where to where along x the holders of a cart reach, whose slider is between these two.
    fn reach(a: &str, b: &str, limit: Option<(f64, f64)>) -> (f64, f64) {
        let mut scene = Scene::new("cart");
        scene.body(Body::new("cart").at([5.0, 0.0, 0.0]).with_mass(1.0).shape(Geometry::Box { size: [0.4, 0.3, 0.2] }));
        let slider = Joint::slider("rail", a, b, [5.0, 0.0, 0.0], [1.0, 0.0, 0.0]);
        scene.joint(match limit {
            Some((min, max)) => slider.with(Coordinate::of("displacement").limit(Some(min), Some(max))),
            None => slider,
        });
        let world = World::build(&scene).unwrap();
        let triangles = holders(&world, 10.0);
        let x = || triangles.iter().flat_map(|triangle| triangle.corners).map(|corner| corner.x);
        (x().fold(f64::MAX, f64::min), x().fold(f64::MIN, f64::max))
    }

    #[test]
    fn rails_are_as_long_as_limits_let_a_body_go() {
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
        assert!(near(reach(WORLD, "cart", Some((-1.0, 2.0))), (4.0, 7.0)));
        // the displacement is that of b, here the world: the cart goes the other way
        assert!(near(reach("cart", WORLD, Some((-1.0, 2.0))), (3.0, 6.0)));
        assert!(near(reach(WORLD, "cart", None), (0.0, 10.0)));
    }

    #[test]
    fn what_hangs_has_a_ball_to_hang_on() {
        let count = |name: &str| {
            let world = World::build(&linkwork_scenes::find(name).unwrap().default_scene()).unwrap();
            holders(&world, 1.0).len()
        };
        assert!(count("double-pendulum") > 100, "a ball at the pivot");
        assert_eq!(count("pyramid"), 0, "boxes that lie need none");
    }
}
