//! Skeletons fall in a pile: 21 bones and 19 joints each.
//!
//! Twenty bones hang together by nineteen joints: balls in spine, shoulders and hips, hinges with limits in elbows, knees, wrists
//! and ankles. The jaw lies loose under the skull and falls off. Each skeleton lies on its back in the air, head along +x
//! before it is turned about the vertical.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Shape, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Seeded, wxyz};

const DENSITY: f64 = 1500.0;
const LEVELS_APART: f64 = 0.45;

pub(crate) const ENTRY: Entry = Entry {
    name: "skeletons",
    collides: true,
    summary: "Skeletons of 21 bones fall in a pile.",
    parameters: &[Parameter::count("skeletons", 20.0, 1.0, 500.0, "number of skeletons")],
    build: |values| Ok(pile(values)),
};

/// How a bone hangs on another.
enum Hang {
    Ball,
    /// Bends between two angles, rad.
    Hinge(f64, f64),
}

/// A bone: name, the bone it hangs on, where from and where to, radius, how.
type Bone = (&'static str, &'static str, [f64; 3], [f64; 3], f64, Hang);

fn middle() -> Vec<Bone> {
    vec![
        ("lumbar", "pelvis", [0.1, 0.0, 0.0], [0.22, 0.0, 0.0], 0.04, Hang::Ball),
        ("abdomen", "lumbar", [0.22, 0.0, 0.0], [0.34, 0.0, 0.0], 0.04, Hang::Ball),
        ("chest", "abdomen", [0.44, 0.0, 0.0], [0.6, 0.0, 0.0], 0.1, Hang::Ball),
        ("neck", "chest", [0.68, 0.0, 0.0], [0.78, 0.0, 0.0], 0.03, Hang::Ball),
        ("skull", "neck", [0.8, 0.0, 0.0], [0.93, 0.0, 0.0], 0.08, Hang::Ball),
    ]
}

fn limbs(side: f64) -> Vec<Bone> {
    let y = |y: f64| side * y;
    vec![
        ("shoulder", "chest", [0.6, y(0.1), 0.0], [0.62, y(0.2), 0.0], 0.02, Hang::Ball),
        ("upper arm", "shoulder", [0.62, y(0.24), 0.0], [0.4, y(0.3), 0.0], 0.03, Hang::Ball),
        ("forearm", "upper arm", [0.37, y(0.31), 0.0], [0.15, y(0.34), 0.0], 0.025, Hang::Hinge(0.0, 2.4)),
        ("hand", "forearm", [0.12, y(0.345), 0.0], [0.02, y(0.355), 0.0], 0.02, Hang::Hinge(-0.8, 0.8)),
        ("thigh", "pelvis", [-0.06, y(0.1), 0.0], [-0.42, y(0.13), 0.0], 0.045, Hang::Ball),
        ("shin", "thigh", [-0.48, y(0.135), 0.0], [-0.85, y(0.15), 0.0], 0.035, Hang::Hinge(-2.4, 0.0)),
        ("foot", "shin", [-0.91, y(0.152), 0.0], [-0.94, y(0.152), 0.14], 0.03, Hang::Hinge(-0.6, 0.6)),
    ]
}

fn pile(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    scene.body(Body::fixed("ground").shape(Geometry::Plane));
    let mut random = Seeded::new(20);
    for k in 0..values.count("skeletons") {
        let aside = DVec3::new(random.between(-0.3, 0.3), random.between(-0.3, 0.3), 0.0);
        let at = aside + DVec3::Z * (0.6 + LEVELS_APART * k as f64);
        let turn = DQuat::from_rotation_z(random.between(0.0, std::f64::consts::TAU));
        add_skeleton(&mut scene, &format!("skeleton{k}"), at, turn);
    }
    scene
}

fn add_skeleton(scene: &mut Scene, name: &str, at: DVec3, turn: DQuat) {
    let world = |p: [f64; 3]| at + turn * DVec3::from(p);
    let bone = |part: &str, from: [f64; 3], to: [f64; 3], radius: f64| {
        let (from, to) = (world(from), world(to));
        let along = DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize());
        Body::new(format!("{name}.{part}"))
            .at((from + to) / 2.0)
            .oriented(wxyz(along))
            .with_density(DENSITY)
            .shape(Geometry::Capsule { radius, length: from.distance(to) })
    };
    scene.body(bone("pelvis", [0.0, -0.09, 0.0], [0.0, 0.09, 0.0], 0.06));
    let jaw = Shape::new(Geometry::Box { size: [0.05, 0.06, 0.02] });
    let loose = Body::new(format!("{name}.jaw")).at(world([0.82, 0.0, 0.1])).oriented(wxyz(turn));
    scene.body(loose.with_density(DENSITY).placed_shape(jaw));
    let mut add = |side: &str, bones: Vec<Bone>| {
        for (part, on, from, to, radius, hang) in bones {
            let own = format!("{side}{part}");
            let holds = if matches!(on, "pelvis" | "chest" | "lumbar" | "abdomen" | "neck") {
                format!("{name}.{on}")
            } else {
                format!("{name}.{side}{on}")
            };
            scene.body(bone(&own, from, to, radius));
            let (joint, body, pin) = (format!("{name}.{own} joint"), format!("{name}.{own}"), world(from));
            scene.joint(match hang {
                Hang::Ball => Joint::ball(joint, holds, body, pin),
                Hang::Hinge(least, most) => Joint::hinge(joint, holds, body, pin, turn * DVec3::Y)
                    .with(Coordinate::of("angle").limit(Some(least), Some(most))),
            });
        }
    };
    add("", middle());
    add("left ", limbs(1.0));
    add("right ", limbs(-1.0));
}
