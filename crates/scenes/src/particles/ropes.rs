//! Ropes of particles that carry bodies: a bridge of planks, and a crane.

use super::{ground, stage};
use crate::Entry;
use crate::parameters::Parameter;
use glam::DVec3;
use linkwork::scene::{Attachment, Body, Coordinate, Geometry, Joint, Limit, Motor, Particles, Rope, Shape, WORLD};

pub(crate) const BRIDGE: Entry = Entry {
    name: "rope-bridge",
    collides: true,
    summary: "Planks hang on two ropes of particles, and a heavy ball rolls over them.",
    parameters: &[
        Parameter::count("planks", 11.0, 1.0, 200.0, "number of planks"),
        Parameter::real("ball", 20.0, 0.1, 1000.0, "kg", "mass of the ball"),
    ],
    build: |values| {
        let (planks, mass) = (values.count("planks"), values.real("ball"));
        let mut scene = stage(1.0 / 120.0, 10.0);
        scene.body(ground(-2.0));
        let (pitch, half) = (0.3, 0.4);
        let span = pitch * (planks + 1) as f64;
        let x0 = -0.5 * span;
        for side in [-1.0, 1.0] {
            let post = Geometry::Box { size: [0.2, 1.2, 0.2] };
            let name = if side < 0.0 { "left abutment" } else { "right abutment" };
            scene.body(Body::fixed(name).at([side * (0.5 * span + 0.1), 0.0, -0.1]).shape(post));
        }
        let plank = |k: usize| format!("plank {k}");
        for k in 0..planks {
            let shape = Shape::new(Geometry::Box { size: [0.2, 2.0 * half, 0.03] }).friction(0.8);
            let at = [x0 + pitch * (k + 1) as f64, 0.0, 0.0];
            scene.body(Body::new(plank(k)).at(at).with_mass(2.0).placed_shape(shape));
        }
        let mut ropes = Particles { collides: false, drag: 0.05, ..Particles::new("ropes") };
        // three springs a pitch: two ends of each plank's edge are points of the rope
        let segments = 3 * (planks + 1);
        for (side, y) in [(0, -half), (1, half)] {
            let (from, to) = ([x0, y, 0.0], [-x0, y, 0.0]);
            let length = Some(1.02 * span);
            ropes.ropes.push(Rope { length, ..Rope::new(from, to, segments, 2.0, 2e5).between(WORLD, WORLD) });
            for k in 0..planks {
                let middle = side * (segments + 1) + 3 * (k + 1);
                for point in [middle - 1, middle, middle + 1] {
                    ropes.attachments.push(Attachment { point, body: plank(k) });
                }
            }
        }
        scene.particles(ropes);
        let ball = Shape::new(Geometry::Sphere { radius: 0.2 }).friction(0.8);
        let at = [-0.5 * span + 0.3, 0.0, 0.6];
        scene.body(Body::new("ball").at(at).with_mass(mass).placed_shape(ball).moving([1.2, 0.0, 0.0], [0.0; 3]));
        Ok(scene)
    },
};

pub(crate) const CRANE: Entry = Entry {
    name: "rope-crane",
    collides: true,
    summary: "A slewing crane hoists a load on a rope of particles.",
    parameters: &[
        Parameter::real("load", 200.0, 0.1, 1e6, "kg", "mass of the load"),
        Parameter::count("segments", 20.0, 1.0, 1000.0, "springs of the rope"),
        Parameter::real("slew", 0.3, -5.0, 5.0, "rad/s", "speed of the jib"),
    ],
    build: |values| {
        let mut scene = stage(1.0 / 120.0, 12.0);
        scene.body(ground(0.0));
        scene.body(Body::fixed("mast").at([0.0, 0.0, 2.0]).shape(Geometry::Box { size: [0.3, 0.3, 4.0] }));
        // the hoist runs on a guide that hangs from the jib
        let guide = Shape::new(Geometry::Cylinder { radius: 0.03, length: 1.7 }).at([1.5, 0.0, -0.95]).groups(2, 0);
        let beam = Shape::new(Geometry::Box { size: [3.6, 0.2, 0.2] });
        scene.body(Body::new("jib").at([1.5, 0.0, 4.2]).with_mass(300.0).placed_shape(beam).placed_shape(guide));
        let motor = |target: f64| Some(Motor::Velocity { target, max_force: None });
        let slewing = Coordinate { motor: motor(values.real("slew")), ..Coordinate::default() };
        scene.joint(Joint::hinge("slewing", "mast", "jib", [0.0, 0.0, 4.1], [0.0, 0.0, 1.0]).with(slewing));
        // the hoist goes up below the jib, until its stop
        let hoist = DVec3::new(3.0, 0.0, 2.6);
        scene.body(Body::new("hoist").at(hoist).with_mass(20.0).shape(Geometry::Sphere { radius: 0.1 }));
        let up = Coordinate {
            motor: motor(0.2),
            limit: Some(Limit { min: None, max: Some(1.2), restitution: 0.0 }),
            ..Coordinate::default()
        };
        scene.joint(Joint::slider("hoisting", "jib", "hoist", hoist, [0.0, 0.0, 1.0]).with(up));
        let load = DVec3::new(3.0, 0.0, 0.25);
        scene.body(Body::new("load").at(load).with_mass(values.real("load")).shape(Geometry::Box { size: [0.5; 3] }));
        let eye = load + DVec3::Z * 0.25;
        let rope = Rope::new(hoist, eye, values.count("segments"), 1.0, 1e6).between("hoist", "load");
        scene.particles(Particles { ropes: vec![rope], collides: false, drag: 0.02, ..Particles::new("rope") });
        Ok(scene)
    },
};
