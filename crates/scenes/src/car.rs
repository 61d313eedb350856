//! Bender's car: a motor for each wheel, sprung and damped sliders for the suspension, one servo for the steering.
//!
//! x is forward, y to the left. At each corner a carrier slides up and down in the chassis on a spring. Rear wheels turn on
//! the carriers; front wheels turn on knuckles that swivel on the carriers about the vertical. The steering rack slides across
//! the chassis and pulls the arms of the knuckles through tie rods (Cardan joint at the rack, ball joint at the arm).
//! With `ground` the car drives over a bumpy field; only its wheels collide.
//! Nine freedoms while the chassis is held: four springs, four wheels, one rack. No row is redundant.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, JointKind, Motor, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{bar, block, silent, tube};

const HALF_WHEELBASE: f64 = 1.25;
const CARRIER_OFFSET: f64 = 0.6;
const WHEEL_OFFSET: f64 = 0.78;
const WHEEL_RADIUS: f64 = 0.32;
const WHEEL_WIDTH: f64 = 0.2;
/// From the swivel axis back to the tie rod's joint.
const STEERING_ARM: f64 = 0.15;
const RACK_HALF_LENGTH: f64 = 0.3;
const TYRE_FRICTION: f64 = 0.9;
const CHASSIS_MASS: f64 = 1000.0;
const SPRING: f64 = 25e3;
const DAMPER: f64 = 2.5e3;

pub(crate) const ENTRY: Entry = Entry {
    name: "car",
    collides: true,
    summary: "A car with driven wheels, sprung suspension and rack steering, on a stand.",
    parameters: &[
        Parameter::real("speed", 20.0, -200.0, 200.0, "rad/s", "speed of the wheels' motors"),
        Parameter::real("steer", 20.0, -30.0, 30.0, "deg", "steering angle, positive to the left"),
        Parameter::switch("held", 1.0, "1: the chassis is held on a stand, 0: the car falls"),
        Parameter::switch("ground", 0.0, "1: the car, held by nothing, drives over bumpy ground"),
        Parameter::real("bumps", 0.06, 0.0, 0.5, "m", "height of the bumps"),
    ],
    build: |values| Ok(car(values)),
};

fn car(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 5.0 }, ..Scene::default() };
    let chassis_center = DVec3::Z * 0.6;
    let local = |x: f64, z: f64| DVec3::new(x, 0.0, z) - chassis_center;
    scene.body(
        Body::new("chassis")
            .at(chassis_center)
            .with_mass(CHASSIS_MASS)
            .placed_shape(block(local(0.0, 0.55), [3.6, 1.1, 0.3]))
            .placed_shape(block(local(-0.2, 0.85), [1.8, 1.0, 0.3]))
            .placed_shape(block(local(HALF_WHEELBASE, 0.4), [0.3, 1.2, 0.2]))
            .placed_shape(block(local(-HALF_WHEELBASE, 0.4), [0.3, 1.2, 0.2])),
    );
    let on_ground = values.is_on("ground");
    if values.is_on("held") && !on_ground {
        scene.joint(Joint::fixed("stand", WORLD, "chassis", chassis_center));
    }
    add_steering_rack(&mut scene, values.real("steer").to_radians());
    for (corner, forward, left) in
        [("front left", 1.0, 1.0), ("front right", 1.0, -1.0), ("rear left", -1.0, 1.0), ("rear right", -1.0, -1.0)]
    {
        add_corner(&mut scene, corner, forward, left, values.real("speed"));
    }
    for body in &mut scene.bodies {
        let rolls = on_ground && body.name.ends_with("wheel");
        for shape in &mut body.shapes {
            if rolls { shape.friction = TYRE_FRICTION } else { silent(shape) }
        }
    }
    if on_ground {
        scene.body(bumpy_ground(values.real("bumps")));
    }
    scene
}

/// Waves in both directions that start level under the car and nowhere rise above it.
fn bumpy_ground(height: f64) -> Body {
    let (cells, cell) = (200, 0.4);
    let at = |k: usize| (k as f64 - 0.5 * cells as f64) * cell;
    let field = |x: f64, y: f64| {
        let far = ((x.hypot(y) - 2.5) / 3.0).clamp(0.0, 1.0);
        -0.25 * height * far * (2.0 - (2.1 * x).cos() - (1.7 * y + 0.3 * x).cos())
    };
    let heights = (0..=cells).map(|j| (0..=cells).map(|i| field(at(i), at(j))).collect()).collect();
    let size = [cells as f64 * cell; 2];
    Body::fixed("ground").placed_shape(Shape::new(Geometry::HeightField { heights, size }).friction(TYRE_FRICTION))
}

fn rack_center() -> DVec3 {
    DVec3::new(HALF_WHEELBASE - STEERING_ARM, 0.0, WHEEL_RADIUS)
}

fn add_steering_rack(scene: &mut Scene, angle: f64) {
    let end = DVec3::Y * RACK_HALF_LENGTH;
    scene.body(bar("rack", rack_center() - end, rack_center() + end, 0.05).with_mass(5.0));
    // The arms point backwards, so wheels turn left when the rack goes to the right.
    let servo = Motor::Servo {
        target: -STEERING_ARM * angle.sin(),
        target_velocity: 0.0,
        stiffness: 2e5,
        damping: 1e4,
        integral: 0.0,
        max_force: Some(5e3),
    };
    let drive = Coordinate::of("displacement").motor(servo).limit(Some(-0.1), Some(0.1));
    scene.joint(Joint::slider("steering", "chassis", "rack", rack_center(), DVec3::Y).with(drive));
}

fn add_corner(scene: &mut Scene, corner: &str, forward: f64, left: f64, speed: f64) {
    let named = |part: &str| format!("{corner} {part}");
    let hub = DVec3::new(forward * HALF_WHEELBASE, left * CARRIER_OFFSET, WHEEL_RADIUS);
    let wheel = DVec3::new(forward * HALF_WHEELBASE, left * WHEEL_OFFSET, WHEEL_RADIUS);

    let stub_axle = tube(DVec3::ZERO, wheel - hub, 0.03);
    let steered = forward > 0.0;
    let mut carrier = Body::new(named("carrier")).at(hub).with_mass(15.0);
    carrier = carrier.shape(Geometry::Box { size: [0.1, 0.06, 0.3] });
    scene.body(if steered { carrier } else { carrier.placed_shape(stub_axle.clone()) });
    // In the start pose the spring bears a quarter of the car.
    let compressed = CHASSIS_MASS * 9.81 / 4.0 / SPRING;
    let suspension = Coordinate::of("displacement").spring(SPRING, DAMPER, -compressed).limit(Some(-0.1), Some(0.1));
    scene.joint(Joint::slider(named("spring"), "chassis", named("carrier"), hub, DVec3::Z).with(suspension));

    let mut axle_body = named("carrier");
    if steered {
        axle_body = named("knuckle");
        let arm = hub - DVec3::X * STEERING_ARM;
        scene.body(
            Body::new(&axle_body)
                .at(hub)
                .with_mass(10.0)
                .shape(Geometry::Box { size: [0.12, 0.12, 0.16] })
                .placed_shape(block(DVec3::X * -STEERING_ARM / 2.0, [STEERING_ARM, 0.04, 0.04]))
                .placed_shape(stub_axle),
        );
        scene.joint(Joint::hinge(named("swivel"), named("carrier"), &axle_body, hub, DVec3::Z));

        let rack_end = rack_center() + DVec3::Y * left * RACK_HALF_LENGTH;
        let tie = named("tie rod");
        scene.body(bar(&tie, rack_end, arm, 0.03).with_mass(2.0));
        scene.joint(
            Joint::new(JointKind::Universal, named("inner tie joint"), "rack", &tie)
                .at(rack_end)
                .axis(DVec3::X)
                .second_axis(DVec3::Z),
        );
        scene.joint(Joint::ball(named("outer tie joint"), tie, &axle_body, arm));
    }

    let half_width = DVec3::Y * WHEEL_WIDTH / 2.0;
    let rim = Body::new(named("wheel")).at(wheel).with_mass(18.0);
    scene.body(rim.placed_shape(tube(-half_width, half_width, WHEEL_RADIUS)));
    let motor = Motor::Velocity { target: speed, max_force: Some(500.0) };
    let drive = Joint::hinge(named("motor"), axle_body, named("wheel"), wheel, DVec3::Y);
    scene.joint(drive.with(Coordinate::of("angle").motor(motor)));
}
