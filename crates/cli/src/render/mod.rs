//! `linkwork render`: a picture of a scene at a moment, without a browser.

mod raster;
pub mod solid;
mod world;

use crate::args::RenderOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Output};
use crate::source::Source;
use crate::table::figure;
use crate::view::is_recording;
use linkwork::glam::DVec3;
use linkwork::{Scratch, StepParams, World, step};
use raster::{Camera, Floor, Light};
use std::io::Write;
use std::path::Path;

/// Samples of a pixel in each direction: edges are smooth.
const SAMPLES: usize = 2;
/// Flat faces around anything round.
const SIDES: usize = 32;
/// From the front, a little from the left and from above.
const LOOK_FROM: DVec3 = DVec3::new(-0.62, -1.0, 0.42);
const SUN: DVec3 = DVec3::new(-0.45, -0.6, 1.1);
/// Room around what is looked at.
const MARGIN: f64 = 1.12;
/// Tangent of half the angle of view.
const TANGENT: f64 = 0.364;

/// Draws a scene at a moment.
pub fn render(options: &RenderOptions) -> Result<(), Failure> {
    if is_recording(Path::new(&options.scene.scene)) {
        return Err(Failure::usage(
            format!("{} is a recording, and `render` draws scenes", options.scene.scene),
            "`linkwork view` shows it, and its key P saves a picture; or give `render` the scene that was recorded",
        ));
    }
    options.solving.check()?;
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
    world::triangles(world, 8).iter().flat_map(|t| t.corners).map(|corner| corner.z).fold(f64::INFINITY, f64::min)
}

/// The picture as a PNG file.
fn picture(world: &World, lowest: f64, options: &RenderOptions) -> Vec<u8> {
    let (width, height) = options.size;
    let mut triangles = world::triangles(world, SIDES);
    let corners = || triangles.iter().flat_map(|t| t.corners);
    let (mut low, mut high) = match corners().reduce(DVec3::min).zip(corners().reduce(DVec3::max)) {
        Some(ends) => ends,
        None => (DVec3::splat(-1.0), DVec3::ONE),
    };
    let ground = world::level_plane(world).or(Some(lowest).filter(|z| z.is_finite())).unwrap_or(low.z);
    // down to the floor unless that is far below
    if low.z - ground < 4.0 * low.distance(high) {
        (low.z, high.z) = (low.z.min(ground), high.z.max(ground));
    }
    let (middle, radius) = (0.5 * (low + high), (0.5 * low.distance(high)).max(1e-3));
    let seen: Vec<DVec3> = corners().chain([middle.with_z(low.z)]).collect();
    triangles.extend(world::holders(world, radius));
    triangles.extend(world::tilted_planes(world, 2.0 * radius));
    let from = options.from.map_or(LOOK_FROM, DVec3::from).normalize();
    let camera = look(&seen, middle, radius, from, SAMPLES * width, SAMPLES * height);
    let floor = Floor {
        height: ground,
        cell: round_up(radius / 4.0),
        colour: colour(if options.dark { 0x16191d } else { 0xeef0f2 }),
        line: colour(if options.dark { 0x4b535d } else { 0x9aa2aa }),
        shadow: if options.dark { 0.4 } else { 0.58 },
        middle: middle.with_z(ground),
        reach: 12.0 * radius,
    };
    let light = Light { sun: SUN.normalize(), strength: 0.66, sky: 0.56, ground: 0.34 };
    let samples = raster::draw(&triangles, &camera, &light, &floor);
    encode(&samples, width, height)
}

/// An eye that sees all points just so, as far from the left as from the right edge of the picture, and so upwards. Each side of
/// what it sees is a plane that touches the outermost point; the eye is where the planes of two opposite sides meet.
fn look(points: &[DVec3], middle: DVec3, radius: f64, from: DVec3, width: usize, height: usize) -> Camera {
    // straight down, y is up
    let right = DVec3::Z.cross(from).try_normalize().unwrap_or(DVec3::X);
    let up = from.cross(right);
    let fit = |axis: DVec3, tangent: f64| {
        let at = |sign: f64| points.iter().map(move |p| (sign * axis + tangent * from).dot(*p - middle));
        let (most, least) = (at(1.0).fold(f64::MIN, f64::max), -at(-1.0).fold(f64::MIN, f64::max));
        (0.5 * (most + least), 0.5 * (most - least) / tangent)
    };
    let (aside, far_aside) = fit(right, TANGENT / MARGIN * width as f64 / height as f64);
    let (upward, far_upward) = fit(up, TANGENT / MARGIN);
    let distance = far_aside.max(far_upward).max(1.2 * radius);
    let eye = middle + aside * right + upward * up + distance * from;
    Camera { eye, right, up, ahead: -from, tangent: TANGENT, near: 1e-3 * distance, width, height }
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
