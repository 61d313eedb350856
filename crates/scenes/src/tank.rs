//! A tank on two treads of 34 hinged links each, driven by polygonal gears; it drives off a table.
//!
//! In the plane of a tread: the pins lie on two half circles of ten-sided gears and on two straight lines, so that all links
//! have one length. A gear is a prism of ten sides, whose flats carry the links: its corners turn the tread like teeth. The rear
//! gear is driven, the front one runs free; three road wheels bear the hull on the lower run.
//! Links collide with gears, wheels and ground, and with what they are not hinged to. x is forward.
//! A tread is a closed planar loop: three of its rows are redundant. (After Weinstein 2006, whose links were joined to gears
//! by proximity; here contact drives.)

use glam::{DQuat, DVec2, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Shape, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{block, heading, in_xz, silent, tube, wxyz};

const ON_GEAR: usize = 5;
const ON_RUN: usize = 12;
const LINKS: usize = 2 * (ON_GEAR + ON_RUN);
/// Of the circle on which the pins lie.
const GEAR_RADIUS: f64 = 0.3;
const LINK_THICKNESS: f64 = 0.05;
const TREAD_WIDTH: f64 = 0.35;
const TREAD_ASIDE: f64 = 0.75;
const WHEEL_RADIUS: f64 = 0.16;
const FRICTION: f64 = 0.9;
/// Play between links, gears and wheels at the start.
const PLAY: f64 = 0.002;
/// Collision groups.
const GROUND: u32 = 1;
const TREAD: u32 = 2;
const GEAR: u32 = 4;
const HULL: u32 = 8;

pub(crate) const ENTRY: Entry = Entry {
    name: "tank",
    collides: true,
    summary: "A tank on treads of hinged links, driven by gears, drives off a table.",
    parameters: &[
        Parameter::real("left", 4.0, -30.0, 30.0, "rad/s", "speed of the left gear"),
        Parameter::real("right", 4.0, -30.0, 30.0, "rad/s", "speed of the right gear"),
        Parameter::real("table", 0.5, 0.0, 3.0, "m", "height of the table it starts on, 0 for none"),
    ],
    build: |values| Ok(tank(values)),
};

/// Length of a link between its pins.
fn pitch() -> f64 {
    2.0 * GEAR_RADIUS * (std::f64::consts::FRAC_PI_2 / ON_GEAR as f64).sin()
}

/// Half the distance of the gears' axles.
fn half_base() -> f64 {
    0.5 * ON_RUN as f64 * pitch()
}

/// The k-th pin, seen from the middle between the axles: up the front, back along the top, down the rear, along the ground.
fn pin(k: usize) -> DVec2 {
    let k = k % LINKS;
    let step = std::f64::consts::PI / ON_GEAR as f64;
    let quarter = std::f64::consts::FRAC_PI_2;
    let front = DVec2::X * half_base();
    if k <= ON_GEAR {
        front + GEAR_RADIUS * heading(k as f64 * step - quarter)
    } else if k <= ON_GEAR + ON_RUN {
        front + DVec2::new(-((k - ON_GEAR) as f64) * pitch(), GEAR_RADIUS)
    } else if k <= 2 * ON_GEAR + ON_RUN {
        -front + GEAR_RADIUS * heading((k - ON_GEAR - ON_RUN) as f64 * step + quarter)
    } else {
        -front + DVec2::new((k - 2 * ON_GEAR - ON_RUN) as f64 * pitch(), -GEAR_RADIUS)
    }
}

/// Centre of the k-th of three road wheels, seen from the middle between the axles.
fn road_wheel(k: i32) -> DVec3 {
    let down = GEAR_RADIUS - LINK_THICKNESS / 2.0 - PLAY - WHEEL_RADIUS;
    DVec3::new(f64::from(k - 1) * 0.5 * half_base(), 0.0, -down)
}

fn tank(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 120.0, duration: 8.0 }, ..Scene::default() };
    let table = values.real("table");
    let mut ground =
        Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(FRICTION).groups(GROUND, !0));
    if table > 0.0 {
        let top = block(DVec3::new(-0.5, 0.0, table / 2.0), [5.0, 4.0, table]);
        ground = ground.placed_shape(top.friction(FRICTION).groups(GROUND, !0));
    }
    scene.body(ground);
    let axles = DVec3::Z * (table + GEAR_RADIUS + LINK_THICKNESS / 2.0 + PLAY);
    let hull = block(DVec3::Z * 0.05, [2.0 * half_base() + 0.3, 1.0, 0.35]).groups(HULL, GROUND);
    let turret = block(DVec3::new(-0.1, 0.0, 0.4), [1.0, 0.8, 0.35]).groups(HULL, GROUND);
    let gun = tube(DVec3::new(0.4, 0.0, 0.4), DVec3::new(1.6, 0.0, 0.45), 0.05).groups(HULL, GROUND);
    let mut body = Body::new("hull").at(axles).with_mass(1500.0);
    body = body.placed_shape(hull).placed_shape(turret).placed_shape(gun);
    let road_wheels = (0..3).map(road_wheel);
    for at in [DVec3::X * half_base(), DVec3::X * -half_base()].into_iter().chain(road_wheels) {
        let mut axle = tube(at - DVec3::Y * TREAD_ASIDE, at + DVec3::Y * TREAD_ASIDE, 0.04);
        silent(&mut axle);
        body = body.placed_shape(axle);
    }
    scene.body(body);
    for (name, side) in [("left", 1.0), ("right", -1.0)] {
        let center = axles + DVec3::Y * side * TREAD_ASIDE;
        add_wheels(&mut scene, name, center, values.real(name));
        add_tread(&mut scene, name, center);
    }
    scene
}

fn add_wheels(scene: &mut Scene, side: &str, center: DVec3, speed: f64) {
    let half = 0.5 * TREAD_WIDTH;
    let inner = GEAR_RADIUS * (std::f64::consts::FRAC_PI_2 / ON_GEAR as f64).cos() - LINK_THICKNESS / 2.0 - PLAY;
    let corner_radius = inner / (std::f64::consts::FRAC_PI_2 / ON_GEAR as f64).cos();
    let mut axle = |name: String, at: DVec3, geometry: Shape, mass: f64, motor: Option<Motor>| {
        scene.body(
            Body::new(&name).at(at).with_mass(mass).placed_shape(geometry.friction(FRICTION).groups(GEAR, TREAD)),
        );
        let mut joint = Joint::hinge(format!("{name} axle"), "hull", &name, at, DVec3::Y);
        if let Some(motor) = motor {
            joint = joint.with(Coordinate::of("angle").motor(motor));
        }
        scene.joint(joint);
    };
    for (part, forward) in [("front", 1.0), ("rear", -1.0)] {
        // a flat looks up, so that corners meet the pins of the start
        let corner = |k: usize| {
            corner_radius * heading((k as f64) * std::f64::consts::PI / ON_GEAR as f64 - std::f64::consts::FRAC_PI_2)
        };
        let points = (0..2 * ON_GEAR)
            .flat_map(|k| [-half, half].map(|y| (in_xz(corner(k)) + DVec3::Y * y).to_array()))
            .collect();
        let motor = (forward < 0.0).then_some(Motor::Velocity { target: speed, max_force: Some(4000.0) });
        let at = center + DVec3::X * forward * half_base();
        axle(format!("{side} {part} gear"), at, Shape::new(Geometry::ConvexHull { points }), 60.0, motor);
    }
    for k in 0..3 {
        let at = center + road_wheel(k);
        let wheel = tube(DVec3::Y * -half, DVec3::Y * half, WHEEL_RADIUS);
        axle(format!("{side} wheel{k}"), at, wheel, 30.0, None);
    }
}

fn add_tread(scene: &mut Scene, side: &str, center: DVec3) {
    let name = |k: usize| format!("{side} link{}", k % LINKS);
    for k in 0..LINKS {
        let (from, to) = (center + in_xz(pin(k)), center + in_xz(pin(k + 1)));
        // turned about y alone, so that neighbours' sides stay parallel
        let d = (to - from).normalize();
        let turn = DQuat::from_rotation_y(-d.z.atan2(d.x));
        let plate = Shape::new(Geometry::Box { size: [0.9 * pitch(), TREAD_WIDTH, LINK_THICKNESS] });
        let plate = plate.friction(FRICTION).groups(TREAD, GROUND | GEAR | TREAD);
        scene.body(Body::new(name(k)).at((from + to) / 2.0).oriented(wxyz(turn)).with_mass(8.0).placed_shape(plate));
    }
    for k in 0..LINKS {
        let at = center + in_xz(pin(k + 1));
        scene.joint(Joint::hinge(format!("{side} pin{k}"), name(k), name(k + 1), at, DVec3::Y));
    }
}
