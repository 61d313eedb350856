//! Draws scenes of the registry in motion as SVG: `draw SCENE SECONDS FILE.svg`, or all pictures of the README without arguments.
//!
//! Shapes become flat faces, seen from a fixed direction without perspective; faces that look away are left out, the
//! others are painted from back to front.

// the command draws the same surfaces
#[allow(dead_code)]
#[path = "../src/render/solid.rs"]
mod solid;

use linkwork::glam::{DMat3, DVec2, DVec3};
use linkwork::scene::{BodyKind, Geometry};
use linkwork::{Scratch, StepParams, World, step};
use std::error::Error;
use std::fmt::Write;

/// Scenes of the README and times in s.
const PICTURES: &[(&str, f64)] = &[("excavator", 1.0), ("strandbeest", 1.0), ("stewart", 1.0), ("wrecking-ball", 1.5)];
/// Parameters of these that are not at their defaults.
const SETTINGS: &[(&str, &str, f64)] = &[("excavator", "motion", 1.0)];

const WIDTH: f64 = 800.0;
const MARGIN: f64 = 30.0;
/// Tall scenes are drawn narrower, so that the picture is at most this high.
const HEIGHT: f64 = 560.0;
/// Flat faces around anything round, and around what is so thin (m) that nobody sees them.
const SIDES: usize = 28;
const SIDES_OF_THIN: usize = 10;
const THIN: f64 = 0.06;
const STATIC: [f64; 3] = [150.0, 150.0, 146.0];
const COLOURS: &[[f64; 3]] = &[
    [233.0, 163.0, 55.0],
    [82.0, 139.0, 181.0],
    [205.0, 98.0, 77.0],
    [112.0, 161.0, 108.0],
    [141.0, 122.0, 176.0],
    [96.0, 110.0, 125.0],
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => {
            for &(scene, time) in PICTURES {
                let own = SETTINGS.iter().filter(|setting| setting.0 == scene);
                let settings: Vec<(String, f64)> = own.map(|&(_, key, value)| (key.to_string(), value)).collect();
                draw(scene, &settings, time, &format!("docs/pictures/{scene}.svg"))?;
            }
            Ok(())
        }
        [scene, time, file] => draw(scene, &[], time.parse()?, file),
        _ => Err("usage: draw [SCENE SECONDS FILE.svg]".into()),
    }
}

/// Steps a scene for `time` seconds and writes its picture.
fn draw(name: &str, settings: &[(String, f64)], time: f64, file: &str) -> Result<(), Box<dyn Error>> {
    let entry = linkwork_scenes::find(name).ok_or_else(|| format!("there is no scene \"{name}\""))?;
    let scene = entry.build(settings)?;
    let mut world = World::build(&scene)?;
    let (mut scratch, params) = (Scratch::default(), StepParams::new(scene.step.dt));
    while world.time() < time - 0.5 * params.dt {
        step(&mut world, &mut scratch, &params)?;
    }
    let svg = picture(&world);
    std::fs::write(file, &svg)?;
    println!("{file}: {name} at {time} s, {} kB", svg.len() / 1000);
    Ok(())
}

/// A flat piece of surface, corners anticlockwise seen from outside.
struct Face {
    corners: Vec<DVec3>,
    /// Faces of round shapes have no edges to show.
    is_round: bool,
    colour: [f64; 3],
}

/// Axes of the picture in the world: right, up, and towards the eye.
struct Camera(DMat3);

impl Camera {
    /// From the front, a little from the left and from above.
    fn oblique() -> Self {
        let eye = DVec3::new(-0.5, -1.0, 0.42).normalize();
        let right = DVec3::Z.cross(eye).normalize();
        Camera(DMat3::from_cols(right, eye.cross(right), eye))
    }

    fn flat(&self, point: DVec3) -> DVec2 {
        DVec2::new(self.0.x_axis.dot(point), -self.0.y_axis.dot(point))
    }

    fn nearness(&self, point: DVec3) -> f64 {
        self.0.z_axis.dot(point)
    }
}

fn picture(world: &World) -> String {
    let camera = Camera::oblique();
    let mut faces = faces(world);
    let floor = faces.iter().flat_map(|f| &f.corners).map(|c| c.z).fold(f64::INFINITY, f64::min);
    let grid = grid(&faces, floor);
    faces.retain(|face| camera.nearness(normal(&face.corners)) > 0.0);
    faces.sort_by(|a, b| camera.nearness(center(&a.corners)).total_cmp(&camera.nearness(center(&b.corners))));

    let bodies = faces.iter().flat_map(|face| &face.corners).map(|&c| camera.flat(c));
    let all: Vec<DVec2> = bodies.chain(grid.iter().flatten().map(|&c| camera.flat(c))).collect();
    let low = all.iter().copied().reduce(DVec2::min).unwrap_or_default();
    let high = all.iter().copied().reduce(DVec2::max).unwrap_or_default();
    let extent = (high - low).max(DVec2::splat(1e-9));
    let scale = ((WIDTH - 2.0 * MARGIN) / extent.x).min((HEIGHT - 2.0 * MARGIN) / extent.y);
    let size = extent * scale + 2.0 * MARGIN;
    let place = |point: DVec3| (camera.flat(point) - low) * scale + MARGIN;

    let (w, h) = (size.x.ceil(), size.y.ceil());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#f8f7f3\"/>\n<g stroke=\"#dedbd2\" stroke-width=\"1\">\n"
    );
    for [from, to] in grid {
        let (a, b) = (place(from), place(to));
        let _ = writeln!(svg, "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>", a.x, a.y, b.x, b.y);
    }
    svg.push_str("</g>\n<g stroke-linejoin=\"round\" stroke-width=\"0.7\">\n");
    for face in &faces {
        let fill = shade(face.colour, normal(&face.corners));
        let edge = if face.is_round { fill } else { fill.map(|c| 0.72 * c) };
        let mut path = String::new();
        for (k, &corner) in face.corners.iter().enumerate() {
            let p = place(corner);
            let _ = write!(path, "{}{:.1} {:.1}", if k == 0 { 'M' } else { 'L' }, p.x, p.y);
        }
        let _ = writeln!(svg, "<path d=\"{path}Z\" fill=\"{}\" stroke=\"{}\"/>", hex(fill), hex(edge));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Faces of all shapes of all bodies.
fn faces(world: &World) -> Vec<Face> {
    let mut faces = Vec::new();
    for (k, id) in world.body_ids().enumerate() {
        let (Some(pose), Some(shapes)) = (world.pose(id), world.shapes(id)) else { continue };
        let is_static = world.body_kind(id) == Some(BodyKind::Static);
        let colour = if is_static { STATIC } else { COLOURS[k % COLOURS.len()] };
        for shape in shapes {
            let is_round = !matches!(shape.geometry, Geometry::Box { .. });
            for polygon in solid::surface(&shape.geometry, sides(&shape.geometry)) {
                let corners = polygon.into_iter().map(|p| pose.transform(solid::placed(shape, p))).collect();
                faces.push(Face { corners, is_round, colour });
            }
        }
    }
    faces
}

fn sides(geometry: &Geometry) -> usize {
    let radius = match *geometry {
        Geometry::Sphere { radius }
        | Geometry::Capsule { radius, .. }
        | Geometry::Cylinder { radius, .. }
        | Geometry::Cone { radius, .. } => radius,
        _ => 0.0,
    };
    if radius < THIN { SIDES_OF_THIN } else { SIDES }
}

/// Lines on the floor under the bodies, at a round distance from each other.
fn grid(faces: &[Face], floor: f64) -> Vec<[DVec3; 2]> {
    let corners = || faces.iter().flat_map(|f| f.corners.iter().copied());
    let low = corners().reduce(DVec3::min).unwrap_or_default();
    let high = corners().reduce(DVec3::max).unwrap_or_default();
    let wanted = (high - low).truncate().max_element().max(1e-3) / 8.0;
    let power = 10.0_f64.powf(wanted.log10().floor());
    let cell = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&c| c >= wanted).unwrap_or(wanted);
    let (first, last) = ((low / cell).floor() - 1.0, (high / cell).ceil() + 1.0);
    let line = |x0: f64, y0: f64, x1: f64, y1: f64| {
        [DVec3::new(x0 * cell, y0 * cell, floor), DVec3::new(x1 * cell, y1 * cell, floor)]
    };
    let along_x = (first.y as i64..=last.y as i64).map(|y| line(first.x, y as f64, last.x, y as f64));
    let along_y = (first.x as i64..=last.x as i64).map(|x| line(x as f64, first.y, x as f64, last.y));
    along_x.chain(along_y).collect()
}

fn center(corners: &[DVec3]) -> DVec3 {
    corners.iter().copied().sum::<DVec3>() / corners.len() as f64
}

/// From the diagonals, which survive where an edge has shrunk to a point.
fn normal(corners: &[DVec3]) -> DVec3 {
    (corners[2] - corners[0]).cross(corners[3 % corners.len()] - corners[1]).normalize_or_zero()
}

/// Light from above and from the left, and some from everywhere.
fn shade(colour: [f64; 3], normal: DVec3) -> [f64; 3] {
    let light = normal.dot(DVec3::new(-0.35, -0.55, 0.9).normalize()).max(0.0);
    colour.map(|c| (c * (0.62 + 0.5 * light)).min(255.0))
}

fn hex(colour: [f64; 3]) -> String {
    let [r, g, b] = colour.map(|c| c.round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}
