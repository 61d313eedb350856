//! A wall of boxes in the shape of a pyramid, as engines are compared by.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Shape, Stepping};

use crate::Entry;
use crate::parameters::Parameter;

const GAP: f64 = 0.01;
const FRICTION: f64 = 0.5;

pub(crate) const ENTRY: Entry = Entry {
    name: "pyramid",
    collides: true,
    summary: "A pyramid of unit cubes, one box thick, on the ground.",
    parameters: &[
        Parameter::count("base", 20.0, 1.0, 200.0, "boxes in the lowest row"),
        Parameter::real("drop", 0.0, 0.0, 1.0, "m", "vertical gap between rows at the start"),
    ],
    build: |values| {
        let (base, drop) = (values.count("base"), values.real("drop"));
        let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
        scene.body(Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(FRICTION)));
        for row in 0..base {
            let count = base - row;
            for k in 0..count {
                let x = (k as f64 - 0.5 * (count - 1) as f64) * (1.0 + GAP);
                let z = 0.5 + row as f64 + (row + 1) as f64 * drop;
                let cube = Shape::new(Geometry::Box { size: [1.0; 3] }).friction(FRICTION);
                let body = Body::new(format!("box{row}.{k}")).at(DVec3::new(x, 0.0, z)).with_density(1000.0);
                scene.body(body.placed_shape(cube));
            }
        }
        Ok(scene)
    },
};
