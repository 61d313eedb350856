//! `linkwork render`: a picture of a scene at a moment, without a browser.

mod raster;
pub mod solid;

use crate::args::RenderOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Output};
use crate::source::Source;
use crate::table::figure;
use linkwork::glam::DVec3;
use linkwork::scene::{BodyKind, Geometry, JointKind, Shape};
use linkwork::{Pose, Scratch, StepParams, World, step};
use raster::{Camera, Floor, Light, Triangle};
use std::io::Write;
use std::path::Path;

/// Samples of a pixel in each direction: edges are smooth.
const SAMPLES: usize = 2;
/// Flat faces around anything round.
const SIDES: usize = 32;
/// From the front, a little from the left and from above.
const LOOK_FROM: DVec3 = DVec3::new(-0.62, -1.0, 0.42);
const SUN: DVec3 = DVec3::new(-0.45, -0.6, 1.1);
/// Tangent of half the angle of view.
const TANGENT: f64 = 0.364;
const STATIC: u32 = 0x94948e;
const KINEMATIC: u32 = 0x7d8fa3;
const BAR: u32 = 0x8a7f70;
const PALETTE: [u32; 6] = [0xe9a337, 0x528bb5, 0xcd624d, 0x70a16c, 0x8d7ab0, 0x606e7d];

/// Draws a scene at a moment.
pub fn render(options: &RenderOptions) -> Result<(), Failure> {
    let source = Source::find(&options.scene)?;
    let scene_file = source.file.as_ref().map(|file| ("the scene", Path::new(&file.file)));
    let named: Vec<_> = scene_file.into_iter().chain([("--png", options.png.as_path())]).collect();
    output::refuse_same_file(&named)?;
    let mut output = Output::open("--png", &options.png)?;
    interrupt::listen();
    let mut world = source.build()?;
    let dt = options.dt.unwrap_or(source.scene.step.dt);
    crate::number::valid_step(dt).map_err(|problem| Failure::usage(problem, "choose another --dt"))?;
    let lowest = advance(&mut world, &options.solving.params(dt), options.at)?;
    let bytes = picture(&world, lowest, options);
    output.write_all(&bytes).map_err(|error| output.failure(&error))?;
    output.finish()
}

/// Steps to a time; returns the lowest point of any body on the way, as far as a look at every tenth of it tells.
fn advance(world: &mut World, params: &StepParams, time: f64) -> Result<f64, Failure> {
    let mut scratch = Scratch::default();
    let mut lowest = lowest_point(world);
    let mut looked_at = 0.0;
    while world.time() < time - 0.5 * params.dt {
        if interrupt::requested() {
            return Err(Failure::failed(format!("interrupted at {} s", figure(world.time())), ""));
        }
        step(world, &mut scratch, params).map_err(|error| {
            let at = figure(world.time());
            Failure::failed(
                format!("the simulation failed at {at} s: {error}"),
                "try an earlier --at or a smaller --dt",
            )
        })?;
        if world.time() >= looked_at + 0.1 * time {
            (lowest, looked_at) = (lowest.min(lowest_point(world)), world.time());
        }
    }
    Ok(lowest.min(lowest_point(world)))
}

fn lowest_point(world: &World) -> f64 {
    triangles(world, 8).iter().flat_map(|t| t.corners).map(|corner| corner.z).fold(f64::INFINITY, f64::min)
}

/// The picture as a PNG file.
fn picture(world: &World, lowest: f64, options: &RenderOptions) -> Vec<u8> {
    let (width, height) = options.size;
    let mut triangles = triangles(world, SIDES);
    let corners = || triangles.iter().flat_map(|t| t.corners);
    let (mut low, mut high) = match corners().reduce(DVec3::min).zip(corners().reduce(DVec3::max)) {
        Some(ends) => ends,
        None => (DVec3::splat(-1.0), DVec3::ONE),
    };
    let ground = level_plane(world).or(Some(lowest).filter(|z| z.is_finite())).unwrap_or(low.z);
    // down to the floor unless that is far below
    if low.z - ground < 4.0 * low.distance(high) {
        (low.z, high.z) = (low.z.min(ground), high.z.max(ground));
    }
    let (middle, radius) = (0.5 * (low + high), (0.5 * low.distance(high)).max(1e-3));
    triangles.extend(tilted_planes(world, 2.0 * radius));
    let from = options.from.map_or(LOOK_FROM, DVec3::from).normalize();
    let camera = look(low, high, from, SAMPLES * width, SAMPLES * height);
    let floor = Floor {
        height: ground,
        cell: round_up(radius / 4.0),
        colour: colour(if options.dark { 0x16191d } else { 0xeef0f2 }),
        line: colour(if options.dark { 0x4b535d } else { 0x9aa2aa }),
        shadow: if options.dark { 0.5 } else { 0.78 },
        middle: middle.with_z(ground),
        reach: 12.0 * radius,
    };
    let light = Light { sun: SUN.normalize(), strength: 0.66, sky: 0.56, ground: 0.34 };
    let samples = raster::draw(&triangles, &camera, &light, &floor);
    encode(&samples, width, height)
}

/// An eye that sees all corners of a box.
fn look(low: DVec3, high: DVec3, from: DVec3, width: usize, height: usize) -> Camera {
    let middle = 0.5 * (low + high);
    // straight down, y is up
    let right = DVec3::Z.cross(from).try_normalize().unwrap_or(DVec3::X);
    let up = from.cross(right);
    let aspect = width as f64 / height as f64;
    let mut distance = 0.6 * low.distance(high);
    for k in 0..8 {
        let corner = DVec3::select(linkwork::glam::BVec3::new(k & 1 > 0, k & 2 > 0, k & 4 > 0), high, low) - middle;
        let aside = (corner.dot(right).abs() / aspect).max(corner.dot(up).abs()) / TANGENT;
        distance = distance.max(1.1 * aside + corner.dot(from));
    }
    let eye = middle + from * distance;
    Camera { eye, right, up, ahead: -from, tangent: TANGENT, near: 1e-3 * distance, width, height }
}

/// All shapes of all bodies, and the bars of distance joints.
fn triangles(world: &World, sides: usize) -> Vec<Triangle> {
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
        let kind = world.joint_description(id).map(|joint| joint.kind);
        if let (Some(JointKind::Distance | JointKind::Rope), Some((from, to))) = (kind, world.joint_anchors(id)) {
            let length = from.distance(to);
            let pose = Pose {
                position: 0.5 * (from + to),
                orientation: linkwork::glam::DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize_or(DVec3::Z)),
            };
            let bar = Shape::new(Geometry::Cylinder { radius: 0.012 * length, length });
            add(&mut triangles, &pose, &bar, colour(BAR), 8);
        }
    }
    add_particles(&mut triangles, world);
    triangles
}

/// Systems of particles: cloth as it is, lines as bars, particles without either as balls.
fn add_particles(triangles: &mut Vec<Triangle>, world: &World) {
    for k in 0..world.particle_system_count() {
        let (Some(system), Some(drawing)) = (world.particle_system(k), world.particle_drawing(k)) else { continue };
        let (x, colour) = (system.positions(), colour(PALETTE[k % PALETTE.len()]));
        let (lines, faces) = (drawing.lines, drawing.triangles);
        for face in faces {
            let corners = face.map(|i| x[i as usize]);
            let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize_or_zero();
            // cloth is seen from both sides
            triangles.push(Triangle { corners, normals: [normal; 3], colour });
            triangles.push(Triangle { corners: [corners[0], corners[2], corners[1]], normals: [-normal; 3], colour });
        }
        let thickness: f64 = lines.iter().map(|l| x[l[0] as usize].distance(x[l[1] as usize])).sum::<f64>()
            / (25.0 * lines.len().max(1) as f64);
        for line in lines.iter().filter(|_| faces.is_empty()) {
            let (from, to) = (x[line[0] as usize], x[line[1] as usize]);
            let pose = Pose {
                position: 0.5 * (from + to),
                orientation: linkwork::glam::DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize_or(DVec3::Z)),
            };
            let bar = Shape::new(Geometry::Cylinder { radius: thickness, length: from.distance(to) });
            add(triangles, &pose, &bar, colour, 6);
        }
        if faces.is_empty() {
            let ball = Shape::new(Geometry::Sphere { radius: (2.0 * thickness).max(0.01) });
            for position in x {
                add(triangles, &Pose { position: *position, ..Pose::IDENTITY }, &ball, colour, 8);
            }
        }
    }
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
fn level_plane(world: &World) -> Option<f64> {
    planes(world).into_iter().filter(|(_, normal)| normal.z > 0.9999).map(|(point, _)| point.z).reduce(f64::max)
}

fn tilted_planes(world: &World, half: f64) -> Vec<Triangle> {
    let tilted = planes(world).into_iter().filter(|(_, normal)| normal.z <= 0.9999);
    let square = |(point, normal): (DVec3, DVec3)| {
        let u = normal.any_orthonormal_vector() * half;
        let v = normal.cross(u);
        let piece = |corners| Triangle { corners, normals: [normal; 3], colour: colour(STATIC) };
        [piece([point - u - v, point + u - v, point + u + v]), piece([point - u - v, point + u + v, point - u + v])]
    };
    tilted.flat_map(square).collect()
}

/// 1, 2 or 5 times a power of ten, at least so much.
fn round_up(wanted: f64) -> f64 {
    let power = 10.0_f64.powf(wanted.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&c| c >= wanted).unwrap_or(wanted)
}

/// Red, green, blue as light, from a number as in 0xffcc00.
fn colour(rgb: u32) -> DVec3 {
    let channel = |shift: u32| (f64::from(rgb >> shift & 0xff) / 255.0).powf(GAMMA);
    DVec3::new(channel(16), channel(8), channel(0))
}

/// Between light and the numbers of a picture.
const GAMMA: f64 = 2.2;

/// Averages the samples of every pixel and writes PNG.
fn encode(samples: &[DVec3], width: usize, height: usize) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(3 * width * height);
    for y in 0..height {
        for x in 0..width {
            let mut sum = DVec3::ZERO;
            for k in 0..SAMPLES * SAMPLES {
                sum += samples[(SAMPLES * y + k / SAMPLES) * SAMPLES * width + SAMPLES * x + k % SAMPLES];
            }
            let mean = (sum / (SAMPLES * SAMPLES) as f64).clamp(DVec3::ZERO, DVec3::ONE);
            pixels.extend(mean.to_array().map(|c| (255.0 * c.powf(1.0 / GAMMA)).round() as u8));
        }
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // a vector takes everything
    let _ = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
    bytes
}
