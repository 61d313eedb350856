//! The spatial double pendulum of the reference trajectory: two boxes on ball joints, stretched along +x and turning.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Stepping, WORLD};

use crate::Entry;

const SIZE: [f64; 3] = [1.0, 0.1, 0.06];
const MASS: f64 = 1.0;
const TURNING: [DVec3; 2] = [DVec3::new(0.3, 0.2, 1.0), DVec3::new(-0.5, 0.4, -0.7)];

pub(crate) const ENTRY: Entry = Entry {
    name: "double-pendulum",
    collides: false,
    summary: "Two boxes on ball joints swing in space, as in the reference trajectory.",
    parameters: &[],
    build: |_| Ok(pendulum()),
};

fn pendulum() -> Scene {
    let mut scene = Scene { step: Stepping { dt: 0.01, duration: 2.0 }, ..Scene::default() };
    let mut above = WORLD.to_string();
    let mut pin = DVec3::ZERO;
    let mut pin_velocity = DVec3::ZERO;
    for (link, turning) in TURNING.into_iter().enumerate() {
        let name = format!("link{link}");
        let half = DVec3::X * SIZE[0] / 2.0;
        let center_velocity = pin_velocity + turning.cross(half);
        scene.body(
            Body::new(&name)
                .at(pin + half)
                .moving(center_velocity, turning)
                .with_mass(MASS)
                .shape(Geometry::Box { size: SIZE }),
        );
        scene.joint(Joint::ball(format!("ball{link}"), above, &name, pin));
        pin += 2.0 * half;
        pin_velocity += turning.cross(2.0 * half);
        above = name;
    }
    scene
}
