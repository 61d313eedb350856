//! Every kind of joint: freedoms, coordinates, and that it holds while it tumbles.

use crate::common::{Random, Run, angle_between, build, lump, weightless, wxyz};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Frame, Joint, JointKind, WORLD};
use linkwork::{Pose, Scene, World};

/// A kind of joint, what it leaves free, and the pose of b's joint frame in a's at given coordinates.
struct Kind {
    kind: JointKind,
    freedoms: usize,
    coordinates: &'static [&'static str],
    pose: fn(&[f64]) -> Pose,
}

fn at(position: DVec3, orientation: DQuat) -> Pose {
    Pose { position, orientation }
}

/// Axis z, angles from x. Coordinates that are angles lie within half a turn.
fn kinds() -> Vec<Kind> {
    vec![
        Kind {
            kind: JointKind::Ball,
            freedoms: 3,
            coordinates: &["x", "y", "z"],
            pose: |c| at(DVec3::ZERO, DQuat::from_scaled_axis(DVec3::new(c[0], c[1], c[2]))),
        },
        Kind {
            kind: JointKind::Hinge,
            freedoms: 1,
            coordinates: &["angle"],
            pose: |c| at(DVec3::ZERO, DQuat::from_rotation_z(c[0])),
        },
        Kind {
            kind: JointKind::Slider,
            freedoms: 1,
            coordinates: &["displacement"],
            pose: |c| at(DVec3::Z * c[0], DQuat::IDENTITY),
        },
        Kind {
            kind: JointKind::Cylindrical,
            freedoms: 2,
            coordinates: &["displacement", "angle"],
            pose: |c| at(DVec3::Z * c[0], DQuat::from_rotation_z(c[1])),
        },
        Kind {
            kind: JointKind::Planar,
            freedoms: 3,
            coordinates: &["x", "y", "angle"],
            pose: |c| at(DVec3::new(c[0], c[1], 0.0), DQuat::from_rotation_z(c[2])),
        },
        Kind {
            // about z of a, then about z of b, which stands across it at the start
            kind: JointKind::Universal,
            freedoms: 2,
            coordinates: &["angle_a", "angle_b"],
            pose: |c| at(DVec3::ZERO, DQuat::from_rotation_z(c[0]) * across() * DQuat::from_rotation_z(c[1])),
        },
        Kind { kind: JointKind::Fixed, freedoms: 0, coordinates: &[], pose: |_| Pose::IDENTITY },
        Kind {
            kind: JointKind::PointOnLine,
            freedoms: 4,
            coordinates: &["displacement"],
            pose: |c| at(DVec3::Z * c[0], tilted()),
        },
        Kind {
            kind: JointKind::PointOnPlane,
            freedoms: 5,
            coordinates: &["x", "y"],
            pose: |c| at(DVec3::new(c[0], c[1], 0.0), tilted()),
        },
        Kind {
            kind: JointKind::Orientation,
            freedoms: 3,
            coordinates: &["x", "y", "z"],
            pose: |c| at(DVec3::new(c[0], c[1], c[2]), DQuat::IDENTITY),
        },
        Kind {
            kind: JointKind::Screw,
            freedoms: 1,
            coordinates: &["angle", "displacement"],
            pose: |c| at(DVec3::Z * (PITCH * c[0] / std::f64::consts::TAU), DQuat::from_rotation_z(c[0])),
        },
        Kind {
            kind: JointKind::Distance,
            freedoms: 5,
            coordinates: &[],
            pose: |_| at(tilted() * DVec3::X * LENGTH, tilted()),
        },
        Kind {
            kind: JointKind::Rope,
            freedoms: 6,
            coordinates: &["length"],
            pose: |c| at(DVec3::X * c[0].abs(), tilted()),
        },
    ]
}

const PITCH: f64 = 0.7;
const LENGTH: f64 = 0.8;

fn across() -> DQuat {
    // z of b along x of a, x of b along z of a: coordinate zero of a universal joint
    DQuat::from_mat3(&linkwork::glam::DMat3::from_cols(DVec3::Z, DVec3::NEG_Y, DVec3::X))
}

fn tilted() -> DQuat {
    DQuat::from_scaled_axis(DVec3::new(0.3, 0.5, -0.8))
}

/// Where the joint sits on a and on b, in their coordinates: its origin and turn.
struct Placing {
    on_a: Pose,
    on_b: Pose,
}

impl Placing {
    fn random(random: &mut Random) -> Placing {
        let mut pose = || at(random.vector() * 0.5, random.rotation());
        Placing { on_a: pose(), on_b: pose() }
    }

    fn frame(pose: &Pose) -> Frame {
        Frame::at(pose.position).axis(pose.orientation * DVec3::Z).reference(pose.orientation * DVec3::X)
    }

    /// The pose of body b, given that of a and of b's joint frame in a's.
    fn body_b(&self, a: &Pose, relative: &Pose) -> Pose {
        let frame = at(
            a.transform(self.on_a.transform(relative.position)),
            a.orientation * self.on_a.orientation * relative.orientation,
        );
        let orientation = frame.orientation * self.on_b.orientation.inverse();
        at(frame.position - orientation * self.on_b.position, orientation)
    }
}

fn joint(kind: &Kind, a: &str, placing: &Placing) -> Joint {
    let mut joint =
        Joint::new(kind.kind, "joint", a, "b").frames(Placing::frame(&placing.on_a), Placing::frame(&placing.on_b));
    joint.pitch = (kind.kind == JointKind::Screw).then_some(PITCH);
    joint.length = (kind.kind == JointKind::Distance).then_some(LENGTH);
    joint
}

fn placed(name: &str, pose: &Pose) -> Body {
    let mut body = lump(name, 1.3).at(pose.position).oriented(wxyz(pose.orientation));
    body.center_of_mass = Some([0.1, -0.05, 0.2]);
    body
}

/// Two free bodies and the joint between them, at its coordinates.
fn pair(kind: &Kind, coordinates: &[f64], random: &mut Random) -> (Scene, Placing) {
    let placing = Placing::random(random);
    let a = at(random.vector(), random.rotation());
    let b = placing.body_b(&a, &(kind.pose)(coordinates));
    let mut scene = weightless("pair");
    scene.body(placed("a", &a));
    scene.body(placed("b", &b));
    scene.joint(joint(kind, "a", &placing));
    (scene, placing)
}

fn random_coordinates(kind: &Kind, random: &mut Random) -> Vec<f64> {
    let mut c: Vec<f64> = (0..3).map(|_| random.between(-1.2, 1.2)).collect();
    if kind.kind == JointKind::Screw {
        c[1] = PITCH * c[0] / std::f64::consts::TAU;
    }
    if kind.kind == JointKind::Rope {
        c[0] = c[0].abs() + 0.1;
    }
    c
}

#[test]
fn every_kind_of_joint_leaves_its_freedoms() {
    let mut random = Random(1);
    for kind in kinds() {
        let (scene, _) = pair(&kind, &random_coordinates(&kind, &mut random), &mut random);
        let census = build(&scene).census();
        assert_eq!(census.degrees_of_freedom, 6 + kind.freedoms, "{:?}", kind.kind);
        assert_eq!(census.constraint_rows, 6 - kind.freedoms, "{:?}", kind.kind);
        assert_eq!((census.redundant_rows, census.loops), (0, 0), "{:?}", kind.kind);
    }
}

fn assert_reads(world: &World, kind: &Kind, coordinates: &[f64]) {
    let joint = world.joint("joint").unwrap();
    for (name, expected) in kind.coordinates.iter().zip(coordinates) {
        let value = world.coordinate(joint, name).unwrap();
        assert!((value - expected).abs() < 1e-9, "{:?}: {name} reads {value} instead of {expected}", kind.kind);
    }
}

#[test]
fn coordinates_read_what_the_pose_was_made_from() {
    let mut random = Random(2);
    for kind in kinds() {
        for _ in 0..20 {
            let c = random_coordinates(&kind, &mut random);
            let (scene, _) = pair(&kind, &c, &mut random);
            let world = build(&scene);
            assert!(world.assembly().largest_gap_m < 1e-12, "{:?} starts closed", kind.kind);
            assert_reads(&world, &kind, &c);
        }
    }
}

#[test]
fn a_body_posed_along_the_freedom_stays_there_and_is_read() {
    let mut random = Random(3);
    for kind in kinds() {
        let (scene, placing) = pair(&kind, &random_coordinates(&kind, &mut random), &mut random);
        let mut run = Run::new(&scene, 1e-3);
        for _ in 0..10 {
            let c = random_coordinates(&kind, &mut random);
            let a = run.world.pose(run.body("a")).unwrap();
            let b = run.body("b");
            let there = placing.body_b(&a, &(kind.pose)(&c));
            run.world.set_pose(b, there).unwrap();
            run.step();
            let now = run.world.pose(b).unwrap();
            assert!(now.position.distance(there.position) < 1e-8, "{:?} moved away", kind.kind);
            assert_reads(&run.world, &kind, &c);
        }
    }
}

#[test]
fn rates_are_the_derivatives_of_values() {
    let mut random = Random(4);
    for kind in kinds() {
        let (mut scene, _) = pair(&kind, &random_coordinates(&kind, &mut random), &mut random);
        for body in &mut scene.bodies {
            body.velocity = random.vector().into();
            body.angular_velocity = random.vector().into();
        }
        let h = 1e-4;
        let mut run = Run::new(&scene, h);
        run.steps(3);
        let joint = run.joint("joint");
        let before = run.world.coordinates(joint).unwrap();
        run.step();
        let middle = run.world.coordinates(joint).unwrap();
        run.step();
        let after = run.world.coordinates(joint).unwrap();
        for ((b, m), a) in before.iter().zip(&middle).zip(&after) {
            let difference = (a.value - b.value) / (2.0 * h);
            let off = (m.velocity - difference).abs();
            // poses are closed to 1e-9, so the difference is known to 1e-5
            assert!(off < 3e-5, "{:?} {}: rate {} but moves with {difference}", kind.kind, m.name, m.velocity);
        }
    }
}

#[test]
fn every_kind_of_joint_holds_while_its_bodies_tumble() {
    let mut random = Random(5);
    for kind in kinds() {
        for grounded in [false, true] {
            let (mut scene, _) = pair(&kind, &random_coordinates(&kind, &mut random), &mut random);
            for body in &mut scene.bodies {
                body.velocity = random.vector().into();
                body.angular_velocity = (random.vector() * 6.0).into();
            }
            if grounded {
                (scene.bodies[0].velocity, scene.bodies[0].angular_velocity) = ([0.0; 3], [0.0; 3]);
                scene.bodies[0].kind = linkwork::scene::BodyKind::Static;
            }
            let mut run = Run::new(&scene, 1.0 / 60.0);
            let energy = run.energy();
            for _ in 0..240 {
                run.step();
                let joint = run.joint("joint");
                let (m, rad) = run.world.joint_error(joint).unwrap();
                assert!(m < 1e-9 && rad < 1e-9, "{:?}: open by {m:e} m, {rad:e} rad", kind.kind);
            }
            let gained = run.energy() - energy;
            assert!(gained < 0.02 * energy, "{:?}: energy from {energy} to {}", kind.kind, energy + gained);
        }
    }
}

#[test]
fn a_joint_named_in_world_coordinates_is_the_one_named_by_frames() {
    let mut random = Random(6);
    for kind in kinds().iter().filter(|k| !matches!(k.kind, JointKind::Distance | JointKind::Rope)) {
        let start = vec![0.0; 3];
        let (mut scene, placing) = pair(kind, &start, &mut random);
        for body in &mut scene.bodies {
            body.angular_velocity = random.vector().into();
        }
        let a = at(scene.bodies[0].position.into(), {
            let [w, x, y, z] = scene.bodies[0].orientation;
            DQuat::from_xyzw(x, y, z, w)
        });
        let mut by_world = scene.clone();
        let frame = a.orientation * placing.on_a.orientation;
        let relative = (kind.pose)(&start);
        let mut joint = Joint::new(kind.kind, "joint", "a", "b")
            .at(a.transform(placing.on_a.transform(relative.position)))
            .axis(frame * DVec3::Z * 3.0);
        if kind.kind == JointKind::Universal {
            joint = joint.second_axis(frame * relative.orientation * DVec3::Z);
        }
        joint.pitch = (kind.kind == JointKind::Screw).then_some(PITCH);
        by_world.joints[0] = joint;
        let (mut one, mut other) = (Run::new(&scene, 0.01), Run::new(&by_world, 0.01));
        one.steps(50);
        other.steps(50);
        let (p, q) = (one.world.pose(one.body("b")).unwrap(), other.world.pose(other.body("b")).unwrap());
        assert!(p.position.distance(q.position) < 1e-7, "{:?}: {} and {}", kind.kind, p.position, q.position);
        assert!(angle_between(p.orientation, q.orientation) < 1e-7, "{:?}", kind.kind);
    }
}

#[test]
fn a_locked_coordinate_makes_a_stronger_joint() {
    // a cylindrical joint whose angle is limited to a point moves as a slider; its reaction says so too
    let mut scene = Scene::new("locked");
    scene.body(lump("b", 2.0).at([0.3, 0.0, 0.0]));
    let lock = Coordinate::of("angle").limit(Some(0.0), Some(0.0));
    let axis = DVec3::new(0.0, 1.0, 1.0);
    scene.joint(Joint::new(JointKind::Cylindrical, "joint", WORLD, "b").at(DVec3::ZERO).axis(axis).with(lock));
    let mut slider = scene.clone();
    slider.joints[0] = Joint::slider("joint", WORLD, "b", DVec3::ZERO, axis);
    let (mut locked, mut slider) = (Run::new(&scene, 1.0 / 60.0), Run::new(&slider, 1.0 / 60.0));
    locked.to(1.0);
    slider.to(1.0);
    assert!(locked.position("b").distance(slider.position("b")) < 1e-7);
    let (one, other) = (locked.reaction("joint").wrench, slider.reaction("joint").wrench);
    assert!(one.force.distance(other.force) < 1e-5, "{} and {}", one.force, other.force);
    assert!(one.torque.distance(other.torque) < 1e-5, "{} and {}", one.torque, other.torque);
}

#[test]
fn coordinates_count_along_the_axes_that_users_expect() {
    // x of the frame of a joint with this axis, and no axis at all
    let frame = |axis: Option<DVec3>| {
        let mut scene = Scene::new("frames");
        scene.body(Body::new("b").with_mass(1.0).with_inertia([1.0; 3]).at([0.1, 0.2, 0.3]));
        let ball = Joint::ball("joint", WORLD, "b", [0.1, 0.2, 0.3]);
        scene.joint(axis.map_or(ball.clone(), |axis| ball.axis(axis)));
        let world = World::build(&scene).unwrap();
        let (on_a, on_b) = world.joint_frames(world.joint("joint").unwrap()).unwrap();
        for unit in [DVec3::X, DVec3::Y, DVec3::Z] {
            assert!((on_a.orientation * unit).distance(on_b.orientation * unit) < 1e-12);
        }
        [DVec3::X, DVec3::Y, DVec3::Z].map(|unit| on_a.orientation * unit)
    };
    let near = |a: [DVec3; 3], b: [DVec3; 3]| a.iter().zip(b).all(|(a, b)| a.distance(b) < 1e-12);
    assert!(near(frame(None), [DVec3::X, DVec3::Y, DVec3::Z]));
    assert!(near(frame(Some(DVec3::Z)), [DVec3::X, DVec3::Y, DVec3::Z]));
    assert!(near(frame(Some(DVec3::Y)), [DVec3::X, DVec3::NEG_Z, DVec3::Y]));
    assert!(near(frame(Some(DVec3::X)), [DVec3::Y, DVec3::Z, DVec3::X]));
    // of all directions across a slanting axis, x is the one nearest to X
    let axis = DVec3::new(0.4, -0.3, 1.7).normalize();
    let [x, y, z] = frame(Some(axis));
    assert!(z.distance(axis) < 1e-12);
    for k in 0..100 {
        let angle = f64::from(k) * 0.0628;
        assert!((x * angle.cos() + y * angle.sin()).x <= x.x + 1e-12);
    }
}

#[test]
fn a_plate_that_slides_along_x_has_a_coordinate_x_that_grows() {
    let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("plate") };
    let plate = Body::new("plate").with_mass(1.0).with_inertia([1.0; 3]).at([0.0, 0.0, 0.5]);
    scene.body(plate.moving([2.0, -1.0, 0.0], [0.0; 3]));
    scene.joint(Joint::new(JointKind::Planar, "table", WORLD, "plate").at([0.0, 0.0, 0.5]).axis([0.0, 0.0, 1.0]));
    let mut world = World::build(&scene).unwrap();
    let (mut scratch, params) = (linkwork::Scratch::default(), linkwork::StepParams::new(0.01));
    for _ in 0..50 {
        linkwork::step(&mut world, &mut scratch, &params).unwrap();
    }
    let table = world.joint("table").unwrap();
    let [x, y] = ["x", "y"].map(|name| world.coordinate(table, name).unwrap());
    assert!((x - 1.0).abs() < 1e-9 && (y + 0.5).abs() < 1e-9, "{x} {y}");
}
