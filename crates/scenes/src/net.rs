//! Weinstein's net: a lattice of 15 by 15 meshes hangs from its corners and catches boxes.
//!
//! 256 knots (small balls) and 480 rods between them, a ball joint at each end of each rod: 736 bodies, 960 joints, and four
//! more hold the corners. The net starts slack: the height of a knot is a sum of a part for its row and one for its column, so
//! that rods of one row or column repeat. Rods and knots collide with boxes, not with each other.

use glam::{DQuat, DVec3};
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Seeded, wxyz};

const SPACING: f64 = 0.3;
const SLOPE: f64 = 0.35;
const HEIGHT: f64 = 4.0;
const KNOT_RADIUS: f64 = 0.04;
const ROD_RADIUS: f64 = 0.025;
const BOX_EDGE: f64 = 0.7;
/// Collision groups.
const NET: u32 = 2;
const OTHER: u32 = 1;

pub(crate) const ENTRY: Entry = Entry {
    name: "net",
    collides: true,
    summary: "A net of jointed rods hangs from its corners and catches boxes.",
    parameters: &[
        Parameter::count("meshes", 15.0, 1.0, 60.0, "meshes along each side"),
        Parameter::count("boxes", 10.0, 0.0, 200.0, "boxes that fall into it"),
    ],
    build: |values| Ok(net(values)),
};

fn net(values: &Values) -> Scene {
    let meshes = values.count("meshes");
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let ground = Shape::new(Geometry::Plane).groups(OTHER, OTHER | NET);
    scene.body(Body::fixed("ground").placed_shape(ground));
    let aside = |k: usize| (k as f64 - 0.5 * meshes as f64) * SPACING;
    let knot = |i: usize, j: usize| {
        let (x, y) = (aside(i), aside(j));
        let corner = 2.0 * SLOPE * aside(meshes);
        DVec3::new(x, y, HEIGHT - corner + SLOPE * (x.abs() + y.abs()))
    };
    let of_net = |geometry: Geometry| Shape::new(geometry).groups(NET, OTHER);
    let name = |i: usize, j: usize| format!("knot{i}.{j}");
    for j in 0..=meshes {
        for i in 0..=meshes {
            let ball = of_net(Geometry::Sphere { radius: KNOT_RADIUS });
            scene.body(Body::new(name(i, j)).at(knot(i, j)).with_mass(0.2).placed_shape(ball));
            if (i == 0 || i == meshes) && (j == 0 || j == meshes) {
                scene.joint(Joint::ball(format!("hook{i}.{j}"), WORLD, name(i, j), knot(i, j)));
            }
        }
    }
    for j in 0..=meshes {
        for i in 0..=meshes {
            for (part, k, l) in [("x", i + 1, j), ("y", i, j + 1)] {
                if k > meshes || l > meshes {
                    continue;
                }
                let (from, to) = (knot(i, j), knot(k, l));
                let rod = format!("rod{part}{i}.{j}");
                let turn = DQuat::from_rotation_arc(DVec3::Z, (to - from).normalize());
                let length = from.distance(to) - 2.0 * KNOT_RADIUS;
                let capsule = of_net(Geometry::Capsule { radius: ROD_RADIUS, length });
                let body = Body::new(&rod).at((from + to) / 2.0).oriented(wxyz(turn)).with_mass(0.2);
                scene.body(body.placed_shape(capsule));
                scene.joint(Joint::ball(format!("{rod}.a"), name(i, j), &rod, from));
                scene.joint(Joint::ball(format!("{rod}.b"), name(k, l), &rod, to));
            }
        }
    }
    let mut random = Seeded::new(15);
    let reach = (0.25 * meshes as f64 * SPACING).max(0.01);
    for k in 0..values.count("boxes") {
        let at =
            DVec3::new(random.between(-reach, reach), random.between(-reach, reach), HEIGHT + 1.0 + 1.3 * k as f64);
        let turn = DQuat::from_axis_angle(random.direction(), random.between(0.0, 1.0));
        let cube = Shape::new(Geometry::Box { size: [BOX_EDGE; 3] }).groups(OTHER, OTHER | NET);
        scene.body(Body::new(format!("box{k}")).at(at).oriented(wxyz(turn)).with_mass(20.0).placed_shape(cube));
    }
    scene
}
