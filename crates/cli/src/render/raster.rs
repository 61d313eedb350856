//! A small rasteriser: triangles into a buffer of what is nearest, shaded afterwards by a sun with shadows and by the sky.
//!
//! A projection maps a point of the world to a place of the picture (pixels, y downwards) and a key that grows towards the eye
//! and is linear on the screen: 1/z in perspective, minus the distance along parallel rays. So both the picture and the map
//! of shadows come from the same few lines.

use linkwork::glam::{DVec2, DVec3};

/// A triangle with normals at its corners.
pub struct Triangle {
    /// Anticlockwise seen from outside.
    pub corners: [DVec3; 3],
    /// Of length one.
    pub normals: [DVec3; 3],
    /// Red, green, blue, 0 to 1.
    pub colour: DVec3,
}

/// How the picture is lit.
pub struct Light {
    /// Towards the sun, of length one.
    pub sun: DVec3,
    /// Brightness of the sun, of the sky from above and of the ground from below.
    pub strength: f64,
    /// From above.
    pub sky: f64,
    /// From below.
    pub ground: f64,
}

/// What is under the bodies.
pub struct Floor {
    /// m.
    pub height: f64,
    /// Distance between lines, m.
    pub cell: f64,
    /// Colours of the room and of the lines.
    pub colour: DVec3,
    /// Of the lines.
    pub line: DVec3,
    /// How much of the colour is left in a shadow.
    pub shadow: f64,
    /// The grid fades out around this place, within this distance, m.
    pub middle: DVec3,
    /// m.
    pub reach: f64,
}

/// An eye.
pub struct Camera {
    /// Where it is.
    pub eye: DVec3,
    /// To the right, of length one.
    pub right: DVec3,
    /// Up in the picture.
    pub up: DVec3,
    /// Forward.
    pub ahead: DVec3,
    /// Tangent of half the vertical angle of view.
    pub tangent: f64,
    /// Nearer than this nothing is seen, m.
    pub near: f64,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
}

impl Camera {
    fn scale(&self) -> f64 {
        0.5 * self.height as f64 / self.tangent
    }

    fn project(&self, p: DVec3) -> (DVec2, f64) {
        let d = p - self.eye;
        let scale = self.scale() / d.dot(self.ahead);
        let middle = 0.5 * DVec2::new(self.width as f64, self.height as f64);
        (middle + scale * DVec2::new(d.dot(self.right), -d.dot(self.up)), 1.0 / d.dot(self.ahead))
    }

    /// Through the middle of a pixel; one metre along it is one metre ahead.
    fn ray(&self, x: usize, y: usize) -> DVec3 {
        let at = |k: usize, count: usize| (k as f64 + 0.5 - 0.5 * count as f64) / self.scale();
        self.ahead + at(x, self.width) * self.right - at(y, self.height) * self.up
    }
}

/// The nearest thing at every pixel.
struct Buffer {
    width: usize,
    height: usize,
    key: Vec<f32>,
    triangle: Vec<u32>,
}

const NOTHING: u32 = u32::MAX;

impl Buffer {
    fn new(width: usize, height: usize) -> Buffer {
        let count = width * height;
        Buffer { width, height, key: vec![f32::NEG_INFINITY; count], triangle: vec![NOTHING; count] }
    }

    fn draw(&mut self, number: u32, corners: [(DVec2, f64); 3]) {
        let [(a, ka), (b, kb), (c, kc)] = corners;
        let area = (b - a).perp_dot(c - a);
        if area.is_nan() || area.abs() <= 1e-12 {
            return;
        }
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        let pixels = |low: f64, high: f64, count: usize| {
            let first = (low - 0.5).ceil().max(0.0) as usize;
            first..((high - 0.5).floor() + 1.0).clamp(0.0, count as f64) as usize
        };
        for y in pixels(low.y, high.y, self.height) {
            for x in pixels(low.x, high.x, self.width) {
                let p = DVec2::new(x as f64 + 0.5, y as f64 + 0.5);
                let wa = (b - p).perp_dot(c - p) / area;
                let wb = (c - p).perp_dot(a - p) / area;
                let wc = 1.0 - wa - wb;
                if wa < 0.0 || wb < 0.0 || wc < 0.0 {
                    continue;
                }
                let (key, at) = ((wa * ka + wb * kb + wc * kc) as f32, y * self.width + x);
                if key > self.key[at] {
                    (self.key[at], self.triangle[at]) = (key, number);
                }
            }
        }
    }
}

/// How far shadows reach, seen from the sun.
struct Shadows {
    buffer: Buffer,
    right: DVec3,
    up: DVec3,
    sun: DVec3,
    middle: DVec3,
    /// Pixels per metre.
    scale: f64,
}

const SHADOW_PIXELS: usize = 2048;

impl Shadows {
    fn cast(triangles: &[Triangle], sun: DVec3) -> Shadows {
        let corners = || triangles.iter().flat_map(|t| t.corners);
        let low = corners().reduce(DVec3::min).unwrap_or_default();
        let high = corners().reduce(DVec3::max).unwrap_or_default();
        let (middle, radius) = (0.5 * (low + high), (0.5 * low.distance(high)).max(1e-6));
        let right = sun.any_orthonormal_vector();
        let scale = 0.5 * SHADOW_PIXELS as f64 / radius;
        let buffer = Buffer::new(SHADOW_PIXELS, SHADOW_PIXELS);
        let mut shadows = Shadows { buffer, right, up: sun.cross(right), sun, middle, scale };
        for (k, triangle) in triangles.iter().enumerate() {
            let corners = triangle.corners.map(|corner| shadows.project(corner));
            shadows.buffer.draw(k as u32, corners);
        }
        shadows
    }

    fn project(&self, p: DVec3) -> (DVec2, f64) {
        let d = p - self.middle;
        let middle = DVec2::splat(0.5 * SHADOW_PIXELS as f64);
        (middle + self.scale * DVec2::new(d.dot(self.right), d.dot(self.up)), d.dot(self.sun))
    }

    /// How much of the sun a point sees, 0 to 1: the mean over a few pixels around it.
    fn lit(&self, point: DVec3, normal: DVec3) -> f64 {
        // off the surface, so that it does not shadow itself
        let (at, key) = self.project(point + normal * (2.5 / self.scale));
        let key = (key + 1.5 / self.scale) as f32;
        let mut seen = 0;
        for dy in -1..=1 {
            for dx in -1..=1 {
                let (x, y) = (at.x.floor() + f64::from(dx), at.y.floor() + f64::from(dy));
                let size = SHADOW_PIXELS as f64;
                let inside = x >= 0.0 && y >= 0.0 && x < size && y < size;
                let hidden = inside && self.buffer.key[y as usize * SHADOW_PIXELS + x as usize] > key;
                seen += i32::from(!hidden);
            }
        }
        f64::from(seen) / 9.0
    }
}

/// Draws a scene: red, green, blue (0 to 1) of every pixel, rows from the top.
pub fn draw(triangles: &[Triangle], camera: &Camera, light: &Light, floor: &Floor) -> Vec<DVec3> {
    let mut buffer = Buffer::new(camera.width, camera.height);
    for (k, triangle) in triangles.iter().enumerate() {
        for corners in in_front(&triangle.corners, camera) {
            buffer.draw(k as u32, corners.map(|corner| camera.project(corner)));
        }
    }
    let shadows = Shadows::cast(triangles, light.sun);
    let mut picture = Vec::with_capacity(camera.width * camera.height);
    for y in 0..camera.height {
        for x in 0..camera.width {
            let at = y * camera.width + x;
            let ray = camera.ray(x, y);
            let depth = 1.0 / f64::from(buffer.key[at]);
            let to_floor = (floor.height - camera.eye.z) / ray.z;
            let sees_floor = to_floor > camera.near && camera.eye.z > floor.height;
            picture.push(match triangles.get(buffer.triangle[at] as usize) {
                // what lies in the floor is seen
                Some(triangle) if !sees_floor || depth <= to_floor * (1.0 + 1e-6) => {
                    shade(triangle, camera.eye + ray * depth, camera, light, &shadows)
                }
                _ if sees_floor => floor_colour(floor, camera, ray, to_floor, &shadows),
                _ => floor.colour,
            });
        }
    }
    picture
}

/// The part of a triangle that is in front of the eye, as triangles.
fn in_front(corners: &[DVec3; 3], camera: &Camera) -> impl Iterator<Item = [DVec3; 3]> {
    let depth = |p: DVec3| (p - camera.eye).dot(camera.ahead) - camera.near;
    let mut polygon: Vec<DVec3> = Vec::with_capacity(4);
    for k in 0..3 {
        let (p, q) = (corners[k], corners[(k + 1) % 3]);
        let (here, there) = (depth(p), depth(q));
        if here >= 0.0 {
            polygon.push(p);
        }
        if (here >= 0.0) != (there >= 0.0) {
            polygon.push(p + (q - p) * (here / (here - there)));
        }
    }
    (2..polygon.len()).map(move |k| [polygon[0], polygon[k - 1], polygon[k]])
}

fn shade(triangle: &Triangle, point: DVec3, camera: &Camera, light: &Light, shadows: &Shadows) -> DVec3 {
    let [a, b, c] = triangle.corners;
    let across = (b - a).cross(c - a);
    let part = |p: DVec3, q: DVec3| (p - point).cross(q - point).dot(across) / across.length_squared();
    let weights = [part(b, c), part(c, a), part(a, b)];
    let smooth: DVec3 = triangle.normals.iter().zip(weights).map(|(n, w)| *n * w).sum();
    let mut normal = smooth.normalize_or(across.normalize_or_zero());
    // the back of an open surface is lit, too
    if normal.dot(camera.eye - point) < 0.0 && across.dot(camera.eye - point) < 0.0 {
        normal = -normal;
    }
    let sun = normal.dot(light.sun).max(0.0);
    let sunlight = if sun > 0.0 { light.strength * sun * shadows.lit(point, normal) } else { 0.0 };
    let above = 0.5 + 0.5 * normal.z;
    triangle.colour * (sunlight + light.sky * above + light.ground * (1.0 - above))
}

fn floor_colour(floor: &Floor, camera: &Camera, ray: DVec3, depth: f64, shadows: &Shadows) -> DVec3 {
    let point = camera.eye + ray * depth;
    let fade = 1.0 - ((point.distance(floor.middle) / floor.reach - 0.25) / 0.75).clamp(0.0, 1.0);
    // a pixel on the floor is so wide across the line of sight, and longer along it
    let pixel = depth / camera.scale();
    let grazing = (-ray.z / ray.length()).max(1e-3);
    let lines = |cell: f64| {
        let on_line = |x: f64, wide: f64| {
            let away = ((x / cell - 0.5).rem_euclid(1.0) - 0.5).abs() * cell / wide;
            // lines closer together than pixels would only flicker
            (1.0 - away).max(0.0) * (1.0 - (wide / cell - 0.15) / 0.35).clamp(0.0, 1.0)
        };
        let along = DVec2::new(ray.x, ray.y).normalize_or_zero().abs();
        let wide = |along: f64| pixel * (1.0 - along + along / grazing).max(1.0);
        on_line(point.x, wide(along.x)).max(on_line(point.y, wide(along.y)))
    };
    let line = fade * (0.55 * lines(floor.cell)).max(lines(5.0 * floor.cell));
    let lit = shadows.lit(point, DVec3::Z);
    floor.colour.lerp(floor.line, line) * (floor.shadow + (1.0 - floor.shadow) * lit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        // from ten metres in front, looking along y; 100 pixels are 10 m at a distance of 10 m
        let (right, up, ahead) = (DVec3::X, DVec3::Z, DVec3::Y);
        Camera { eye: -10.0 * DVec3::Y, right, up, ahead, tangent: 0.5, near: 0.01, width: 100, height: 100 }
    }

    fn triangle(corners: [DVec3; 3], colour: DVec3) -> Triangle {
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize();
        Triangle { corners, normals: [normal; 3], colour }
    }

    fn drawn(triangles: &[Triangle]) -> Vec<DVec3> {
        let light = Light { sun: -DVec3::Y, strength: 0.5, sky: 0.5, ground: 0.5 };
        let (colour, line, middle) = (DVec3::ONE, DVec3::ONE, DVec3::ZERO);
        let floor = Floor { height: -1e3, cell: 1.0, colour, line, shadow: 0.5, middle, reach: 1.0 };
        draw(triangles, &camera(), &light, &floor)
    }

    fn square(y: f64, half: f64, colour: DVec3) -> [Triangle; 2] {
        let at = |x: f64, z: f64| DVec3::new(half * x, y, half * z);
        [
            triangle([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0)], colour),
            triangle([at(-1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)], colour),
        ]
    }

    #[test]
    fn a_square_covers_the_pixels_it_should_and_is_shaded_by_hand() {
        let picture = drawn(&square(0.0, 2.0, DVec3::X));
        // 4 m at 10 m are 40 of 100 pixels; facing the sun: sun 0.5, and half sky and half ground
        let red = |c: &&DVec3| c.distance(DVec3::X) < 1e-9;
        assert_eq!(picture.iter().filter(red).count(), 1600);
        assert!(picture[50 * 100 + 30].y < 1e-9 && picture[50 * 100 + 29] == DVec3::ONE);
        // twice as far it is half as large
        let far = drawn(&square(10.0, 2.0, DVec3::X));
        assert_eq!(far.iter().filter(red).count(), 400);
    }

    #[test]
    fn what_is_nearer_hides_what_is_behind_and_shadows_it() {
        let [a, b] = square(3.0, 4.0, DVec3::Y);
        let [c, d] = square(0.0, 1.0, DVec3::X);
        let picture = drawn(&[a, b, c, d]);
        assert!(picture[50 * 100 + 50].distance(DVec3::X) < 1e-9, "the small one is in front");
        // seen from the sun, at infinity, the small square covers 1 m; seen from the eye it hides 1.3 m: no shadow is seen
        assert!(picture[50 * 100 + 70].distance(DVec3::Y) < 1e-9);
        // with the sun from above the eye the shadow comes out below
        let light = Light { sun: DVec3::new(0.0, -1.0, 1.0).normalize(), strength: 1.0, sky: 0.0, ground: 0.0 };
        let floor = Floor {
            height: -1e3,
            cell: 1.0,
            colour: DVec3::ONE,
            line: DVec3::ONE,
            shadow: 0.5,
            middle: DVec3::ZERO,
            reach: 1.0,
        };
        let ([a, b], [c, d]) = (square(3.0, 4.0, DVec3::Y), square(0.0, 1.0, DVec3::X));
        let picture = draw(&[a, b, c, d], &camera(), &light, &floor);
        // 3 m behind and 3 m lower: z from -4 to -2, at 13 m, that is pixels 65 to 81 from the top
        let green = |row: usize| picture[row * 100 + 50].y;
        assert!(green(73) < 1e-9, "in the shadow");
        assert!(green(63) > 0.6 && picture[73 * 100 + 65].y > 0.6, "beside it");
    }

    #[test]
    fn what_is_behind_the_eye_is_not_seen() {
        let picture = drawn(&square(-20.0, 5.0, DVec3::X));
        assert!(picture.iter().all(|c| *c == DVec3::ONE));
        // one that reaches past the eye is cut off, and the rest is there
        let floor_like = triangle(
            [DVec3::new(-50.0, -30.0, -2.0), DVec3::new(50.0, -30.0, -2.0), DVec3::new(0.0, 60.0, -2.0)],
            DVec3::X,
        );
        let picture = drawn(&[floor_like]);
        assert!(picture[95 * 100 + 50].y < 1e-9 && picture[20 * 100 + 50] == DVec3::ONE);
    }
}
