//! Cloth: on a sphere, in the wind, under boxes, on a walking machine.

use super::{ground, stage};
use crate::Entry;
use crate::parameters::Parameter;
use glam::DVec3;
use linkwork::scene::{
    Attachment, Body, Cloth, Coordinate, Fabric, Geometry, Joint, Particles, Pattern, Shape, Spring, WORLD,
};

fn sheet(name: &str, corner: DVec3, along: DVec3, across: DVec3, cells: [usize; 2], fabric: Fabric) -> Particles {
    let pattern = Pattern::Grid {
        corner: corner.to_array(),
        along: along.to_array(),
        across: across.to_array(),
        columns: cells[0],
        rows: cells[1],
    };
    Particles { cloths: vec![Cloth { pattern, fabric }], ..Particles::new(name) }
}

pub(crate) const SPHERE: Entry = Entry {
    name: "cloth-sphere",
    collides: true,
    summary: "A square of cloth falls over a sphere and folds.",
    parameters: &[
        Parameter::count("cells", 49.0, 2.0, 300.0, "along each side"),
        Parameter::real("stretch", 1000.0, 1.0, 1e9, "N/m", "resistance to stretch"),
    ],
    build: |values| {
        let n = values.count("cells");
        let mut scene = stage(1.0 / 60.0, 5.0);
        scene.body(ground(0.0));
        let ball = Shape::new(Geometry::Sphere { radius: 0.35 }).friction(0.4);
        scene.body(Body::fixed("ball").at([0.0, 0.0, 0.6]).placed_shape(ball));
        let side = 1.4;
        let stretch = values.real("stretch");
        let fabric = Fabric { stretch, shear: 0.1 * stretch, thickness: 0.4 * side / n as f64, ..Fabric::default() };
        let fabric = Fabric { thickness: fabric.thickness.min(0.01), ..fabric };
        let corner = DVec3::new(-0.47 * side, -0.53 * side, 1.0);
        let mut cloth = sheet("cloth", corner, DVec3::X * side, DVec3::Y * side, [n, n], fabric);
        cloth.friction = 0.4;
        scene.particles(cloth);
        Ok(scene)
    },
};

pub(crate) const FLAG: Entry = Entry {
    name: "flag",
    collides: true,
    summary: "A flag in the wind on a mast that sways.",
    parameters: &[
        Parameter::real("wind", 8.0, 0.0, 60.0, "m/s", "speed of the air"),
        Parameter::count("cells", 16.0, 2.0, 200.0, "across the flag"),
    ],
    build: |values| {
        let (wind, rows) = (values.real("wind"), values.count("cells"));
        let columns = rows * 3 / 2;
        let mut scene = stage(1.0 / 120.0, 10.0);
        scene.body(ground(0.0));
        let height = 3.0;
        let pole = Geometry::Capsule { radius: 0.02, length: height - 0.1 };
        scene.body(Body::new("mast").at([0.0, 0.0, 0.5 * height]).with_mass(6.0).shape(pole));
        let stiff =
            Coordinate { spring: Some(Spring { stiffness: 400.0, damping: 10.0, rest: 0.0 }), ..Coordinate::default() };
        scene.joint(Joint::hinge("foot", WORLD, "mast", [0.0; 3], [0.0, 1.0, 0.0]).with(stiff));
        let fabric = Fabric { density: 0.12, bend: 2e-5, self_collision: false, ..Fabric::default() };
        let (corner, fly, hoist) = (DVec3::new(0.03, 0.0, 2.0), DVec3::X * 1.35, DVec3::Z * 0.9);
        let mut flag = sheet("flag", corner, fly, hoist, [columns, rows], fabric);
        flag.wind = [wind, 0.12 * wind, 0.0];
        flag.collides = false;
        for k in 0..=rows {
            flag.attachments.push(Attachment { point: k * (columns + 1), body: "mast".into() });
        }
        scene.particles(flag);
        Ok(scene)
    },
};

pub(crate) const HAMMOCK: Entry = Entry {
    name: "hammock",
    collides: true,
    summary: "Boxes drop into a hammock of cloth.",
    parameters: &[
        Parameter::count("boxes", 3.0, 0.0, 30.0, "number of boxes"),
        Parameter::real("mass", 2.0, 0.01, 1000.0, "kg", "of each box"),
    ],
    build: |values| {
        let mut scene = stage(1.0 / 120.0, 8.0);
        scene.body(ground(-1.2));
        for (name, x) in [("left post", -1.15), ("right post", 1.15)] {
            scene.body(Body::fixed(name).at([x, 0.0, -0.5]).shape(Geometry::Box { size: [0.1, 1.2, 1.4] }));
        }
        let (columns, rows) = (32, 16);
        let fabric = Fabric {
            stretch: 2e4,
            shear: 2e3,
            density: 0.4,
            self_collision: false,
            damping: 0.01,
            ..Fabric::default()
        };
        let corner = DVec3::new(-1.05, -0.5, 0.0);
        let mut cloth = sheet("cloth", corner, DVec3::X * 2.1, DVec3::Y, [columns, rows], fabric);
        cloth.friction = 0.8;
        cloth.radius = 0.01;
        cloth.nails = (0..=rows).flat_map(|i| [i * (columns + 1), i * (columns + 1) + columns]).collect();
        scene.particles(cloth);
        for k in 0..values.count("boxes") {
            let shape = Shape::new(Geometry::Box { size: [0.25, 0.3, 0.15] }).friction(0.8);
            let at = [0.35 * ((k % 3) as f64 - 1.0), 0.0, 0.15 + 0.3 * (k / 3) as f64];
            scene.body(Body::new(format!("box {k}")).at(at).with_mass(values.real("mass")).placed_shape(shape));
        }
        Ok(scene)
    },
};

pub(crate) const STRANDBEEST: Entry = Entry {
    name: "cloth-strandbeest",
    collides: false,
    summary: "Cloth lies over a walking machine whose legs move under it.",
    parameters: &[Parameter::count("cells", 24.0, 2.0, 200.0, "along each side")],
    build: |values| {
        let n = values.count("cells");
        let mut scene = crate::strandbeest::ENTRY.build(&[("legs".to_string(), 6.0)])?;
        scene.step = stage(1.0 / 120.0, 6.0).step;
        let top = scene.bodies.iter().map(|b| b.position[2]).fold(f64::NEG_INFINITY, f64::max);
        let middle: DVec3 =
            scene.bodies.iter().map(|b| DVec3::from(b.position)).sum::<DVec3>() / scene.bodies.len() as f64;
        let side = 1.2;
        let corner = DVec3::new(middle.x - 0.5 * side, middle.y - 0.5 * side, top + 0.35);
        let fabric = Fabric { stretch: 500.0, shear: 50.0, thickness: 0.008, ..Fabric::default() };
        let mut cloth = sheet("cloth", corner, DVec3::X * side, DVec3::Y * side, [n, n], fabric);
        cloth.radius = 0.015;
        scene.particles(cloth);
        Ok(scene)
    },
};
