//! Numbers that cannot be meant, at every field of a scene and every setter: an error that names the place, nothing changed.

use crate::common::{Run, build, lump, on_axle, registered};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{
    Body, BodyKind, Coordinate, Frame, Geometry, Joint, JointKind, Limit, Motor, Scene, Shape, Spring, WORLD,
};
use linkwork::{Pose, SceneError, StepError, StepParams, Twist, World, step};

const NOT_FINITE: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// A scene that uses every field.
fn valid() -> Scene {
    let mut scene = Scene::new("valid");
    let mut first = Body::new("first").with_mass(1.0).with_inertia([0.2, 0.3, 0.4]).moving([0.0; 3], [0.0, 0.0, 1.0]);
    first.inertia_products = Some([0.01, 0.0, 0.0]);
    first.center_of_mass = Some([0.0; 3]);
    scene.body(first);
    let shape = Shape::new(Geometry::Box { size: [1.0, 0.5, 0.2] }).at([0.1, 0.0, 0.0]);
    scene.body(Body::new("second").at([1.0, 0.0, 0.0]).with_density(10.0).placed_shape(shape));
    scene.body(Body::new("third").at([2.0, 0.0, 0.0]).shape(Geometry::Capsule { radius: 0.1, length: 0.3 }));
    let acting = Coordinate::default()
        .limit(Some(-2.0), Some(2.0))
        .friction(0.1)
        .damping(0.2)
        .spring(3.0, 0.1, 0.0)
        .motor(Motor::Velocity { target: 1.0, max_force: Some(5.0) });
    scene.joint(Joint::hinge("hinge", WORLD, "first", [0.0; 3], [0.0, 0.0, 1.0]).with(acting));
    let servo = Motor::Servo {
        target: 0.1,
        target_velocity: 0.0,
        stiffness: 10.0,
        damping: 1.0,
        integral: 0.5,
        max_force: Some(4.0),
    };
    let slider = Joint::slider("slider", WORLD, "second", [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]);
    scene.joint(slider.with(Coordinate::of("displacement").motor(servo)));
    let frame = Frame::at([0.1, 0.0, 0.0]).axis([0.0, 1.0, 0.0]).reference([1.0, 0.0, 0.0]);
    scene.joint(
        Joint::new(JointKind::Universal, "cardan", WORLD, "third")
            .at([2.0, 0.0, 0.0])
            .axis([0.0, 0.0, 1.0])
            .second_axis([1.0, 0.0, 0.0]),
    );
    let mut rod = Joint::distance("rod", "first", [0.5, 0.0, 0.0], "third", [0.1, 0.0, 0.0]);
    rod.length = Some(1.6);
    scene.joint(rod);
    scene.joint(Joint::gear("gear", "hinge", "slider", 0.5));
    scene.joint(Joint::rack("rack", "hinge", "slider", 0.5));
    let mut screw =
        Joint::new(JointKind::Screw, "screw", WORLD, "fourth").frames(frame, Frame { position: [0.0; 3], ..frame });
    screw.pitch = Some(0.1);
    scene.body(lump("fourth", 1.0).at([0.1, 0.0, 0.0]));
    scene.joint(screw);
    scene
}

type Mutation = (&'static str, fn(&mut Scene, f64));

/// Fields of a scene with what they are called in errors.
const FIELDS: &[Mutation] = &[
    ("gravity", |s, x| s.gravity[2] = x),
    ("step.dt", |s, x| s.step.dt = x),
    ("step.duration", |s, x| s.step.duration = x),
    ("bodies[0].position", |s, x| s.bodies[0].position[1] = x),
    ("bodies[0].orientation", |s, x| s.bodies[0].orientation = [x, 0.0, 0.0, 0.0]),
    ("bodies[0].velocity", |s, x| s.bodies[0].velocity[1] = x),
    ("bodies[0].angular_velocity", |s, x| s.bodies[0].angular_velocity[0] = x),
    ("bodies[0].mass", |s, x| s.bodies[0].mass = Some(x)),
    ("bodies[0].inertia", |s, x| s.bodies[0].inertia = Some([0.2, x, 0.4])),
    ("bodies[0].inertia_products", |s, x| s.bodies[0].inertia_products = Some([x, 0.0, 0.0])),
    ("bodies[0].center_of_mass", |s, x| s.bodies[0].center_of_mass = Some([x, 0.0, 0.0])),
    ("bodies[1].density", |s, x| s.bodies[1].density = Some(x)),
    ("bodies[1].shapes[0].geometry.box.size", |s, x| {
        s.bodies[1].shapes[0].geometry = Geometry::Box { size: [1.0, x, 1.0] }
    }),
    ("bodies[1].shapes[0].geometry.sphere.radius", |s, x| {
        s.bodies[1].shapes[0].geometry = Geometry::Sphere { radius: x }
    }),
    ("bodies[1].shapes[0].geometry.capsule.radius", |s, x| {
        s.bodies[1].shapes[0].geometry = Geometry::Capsule { radius: x, length: 1.0 }
    }),
    ("bodies[1].shapes[0].geometry.capsule.length", |s, x| {
        s.bodies[1].shapes[0].geometry = Geometry::Capsule { radius: 1.0, length: x }
    }),
    ("bodies[1].shapes[0].geometry.cylinder.radius", |s, x| {
        s.bodies[1].shapes[0].geometry = Geometry::Cylinder { radius: x, length: 1.0 }
    }),
    ("bodies[1].shapes[0].geometry.cylinder.length", |s, x| {
        s.bodies[1].shapes[0].geometry = Geometry::Cylinder { radius: 1.0, length: x }
    }),
    ("bodies[1].shapes[0].position", |s, x| s.bodies[1].shapes[0].position[0] = x),
    ("bodies[1].shapes[0].orientation", |s, x| s.bodies[1].shapes[0].orientation = [0.0, x, 0.0, 0.0]),
    ("bodies[0].gravity_scale", |s, x| s.bodies[0].gravity_scale = x),
    ("bodies[0].linear_damping", |s, x| s.bodies[0].linear_damping = x),
    ("bodies[0].angular_damping", |s, x| s.bodies[0].angular_damping = x),
    ("joints[0].at", |s, x| s.joints[0].at = Some([x, 0.0, 0.0])),
    ("joints[0].axis", |s, x| s.joints[0].axis = Some([x, 0.0, 0.0])),
    ("joints[2].second_axis", |s, x| s.joints[2].second_axis = Some([x, 0.0, 0.0])),
    ("joints[3].frame_a.position", |s, x| s.joints[3].frame_a.as_mut().unwrap().position[0] = x),
    ("joints[3].frame_b.position", |s, x| s.joints[3].frame_b.as_mut().unwrap().position[0] = x),
    ("joints[6].frame_a.axis", |s, x| s.joints[6].frame_a.as_mut().unwrap().axis = [0.0, x, 0.0]),
    ("joints[6].frame_b.reference", |s, x| s.joints[6].frame_b.as_mut().unwrap().reference = Some([x, 0.0, 0.0])),
    ("joints[3].length", |s, x| s.joints[3].length = Some(x)),
    ("joints[4].ratio", |s, x| s.joints[4].ratio = Some(x)),
    ("joints[5].radius", |s, x| s.joints[5].radius = Some(x)),
    ("joints[6].pitch", |s, x| s.joints[6].pitch = Some(x)),
    ("joints[0].coordinates[0].friction", |s, x| acting(s).friction = x),
    ("joints[0].coordinates[0].damping", |s, x| acting(s).damping = x),
    ("joints[0].coordinates[0].limit.min", |s, x| {
        acting(s).limit = Some(Limit { min: Some(x), max: None, restitution: 0.0 })
    }),
    ("joints[0].coordinates[0].limit.max", |s, x| {
        acting(s).limit = Some(Limit { min: None, max: Some(x), restitution: 0.0 })
    }),
    ("joints[0].coordinates[0].limit.restitution", |s, x| {
        acting(s).limit = Some(Limit { min: None, max: None, restitution: x })
    }),
    ("joints[0].coordinates[0].spring.stiffness", |s, x| {
        acting(s).spring = Some(Spring { stiffness: x, damping: 0.0, rest: 0.0 })
    }),
    ("joints[0].coordinates[0].spring.damping", |s, x| {
        acting(s).spring = Some(Spring { stiffness: 1.0, damping: x, rest: 0.0 })
    }),
    ("joints[0].coordinates[0].spring.rest", |s, x| {
        acting(s).spring = Some(Spring { stiffness: 1.0, damping: 0.0, rest: x })
    }),
    ("joints[0].coordinates[0].motor.value", |s, x| acting(s).motor = Some(Motor::Force { value: x })),
    ("joints[0].coordinates[0].motor.target", |s, x| {
        acting(s).motor = Some(Motor::Velocity { target: x, max_force: None })
    }),
    ("joints[0].coordinates[0].motor.max_force", |s, x| {
        acting(s).motor = Some(Motor::Velocity { target: 1.0, max_force: Some(x) })
    }),
    ("joints[0].coordinates[0].motor.target", |s, x| acting(s).motor = Some(Servo { target: x, ..SERVO }.motor())),
    ("joints[0].coordinates[0].motor.target_velocity", |s, x| {
        acting(s).motor = Some(Servo { target_velocity: x, ..SERVO }.motor())
    }),
    ("joints[0].coordinates[0].motor.stiffness", |s, x| {
        acting(s).motor = Some(Servo { stiffness: x, ..SERVO }.motor())
    }),
    ("joints[0].coordinates[0].motor.damping", |s, x| acting(s).motor = Some(Servo { damping: x, ..SERVO }.motor())),
    ("joints[0].coordinates[0].motor.integral", |s, x| acting(s).motor = Some(Servo { integral: x, ..SERVO }.motor())),
    ("joints[0].coordinates[0].motor.max_force", |s, x| {
        acting(s).motor = Some(Servo { max_force: x, ..SERVO }.motor())
    }),
];

#[derive(Clone, Copy)]
struct Servo {
    target: f64,
    target_velocity: f64,
    stiffness: f64,
    damping: f64,
    integral: f64,
    max_force: f64,
}

const SERVO: Servo =
    Servo { target: 0.0, target_velocity: 0.0, stiffness: 1.0, damping: 1.0, integral: 1.0, max_force: 1.0 };

impl Servo {
    fn motor(self) -> Motor {
        let Servo { target, target_velocity, stiffness, damping, integral, max_force } = self;
        Motor::Servo { target, target_velocity, stiffness, damping, integral, max_force: Some(max_force) }
    }
}

fn acting(scene: &mut Scene) -> &mut Coordinate {
    &mut scene.joints[0].coordinates[0]
}

/// Fields that must be greater than zero, or must not be negative.
const POSITIVE: &[&str] = &[
    "step.dt",
    "step.duration",
    "bodies[0].mass",
    "bodies[0].inertia",
    "bodies[1].density",
    "bodies[1].shapes[0].geometry.box.size",
    "bodies[1].shapes[0].geometry.sphere.radius",
    "bodies[1].shapes[0].geometry.capsule.radius",
    "bodies[1].shapes[0].geometry.capsule.length",
    "bodies[1].shapes[0].geometry.cylinder.radius",
    "bodies[1].shapes[0].geometry.cylinder.length",
    "joints[3].length",
];
const NOT_ZERO: &[&str] = &[
    "bodies[0].orientation",
    "bodies[1].shapes[0].orientation",
    "joints[0].axis",
    "joints[2].second_axis",
    "joints[6].frame_a.axis",
    "joints[6].frame_b.reference",
    "joints[4].ratio",
    "joints[5].radius",
];
const NOT_NEGATIVE: &[&str] = &[
    "bodies[0].linear_damping",
    "bodies[0].angular_damping",
    "joints[0].coordinates[0].friction",
    "joints[0].coordinates[0].damping",
    "joints[0].coordinates[0].limit.restitution",
    "joints[0].coordinates[0].spring.stiffness",
    "joints[0].coordinates[0].spring.damping",
    "joints[0].coordinates[0].motor.max_force",
    "joints[0].coordinates[0].motor.stiffness",
    "joints[0].coordinates[0].motor.damping",
    "joints[0].coordinates[0].motor.integral",
];

fn mutated(change: fn(&mut Scene, f64), x: f64) -> Scene {
    let mut scene = valid();
    change(&mut scene, x);
    scene
}

/// What is wrong with how a scene with `x` at `path` is refused.
fn complaint(path: &str, x: f64, scene: &Scene) -> Option<String> {
    let Err(error) = World::build(scene) else { return Some(format!("{path} = {x} was taken")) };
    let named = error.problems.iter().any(|p| p.path == path && !p.problem.is_empty());
    (!named).then(|| format!("{path} = {x}: the error names another place: {error}"))
}

#[track_caller]
fn assert_none(complaints: impl IntoIterator<Item = String>) {
    let complaints: Vec<String> = complaints.into_iter().collect();
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn the_valid_scene_is_valid() {
    // the gear and the rack say the same: harmless
    build(&valid());
}

#[test]
fn a_field_that_is_not_finite_is_refused_by_its_path() {
    let complaints = FIELDS
        .iter()
        .flat_map(|(path, change)| NOT_FINITE.into_iter().filter_map(|x| complaint(path, x, &mutated(*change, x))));
    assert_none(complaints);
}

#[test]
fn zero_and_negative_are_refused_where_they_mean_nothing() {
    let mut complaints = Vec::new();
    for (path, change) in FIELDS {
        let refused: &[f64] = match *path {
            p if POSITIVE.contains(&p) => &[0.0, -0.0, -1.0, -1e300],
            p if NOT_ZERO.contains(&p) => &[0.0],
            p if NOT_NEGATIVE.contains(&p) => &[-1e-3, -1e300],
            _ => &[],
        };
        complaints.extend(refused.iter().filter_map(|x| complaint(path, *x, &mutated(*change, *x))));
    }
    assert_none(complaints);
}

/// Huge, tiny and denormal numbers: refused by name, or taken and then stepped without a panic.
#[test]
fn extreme_numbers_are_refused_or_survived() {
    for (path, change) in FIELDS {
        for x in [1e300, -1e300, f64::MAX, 1e100, 1e30, 1e16, -1e16, 1e-300, 5e-324, -5e-324, 1e-30] {
            match World::build(&mutated(*change, x)) {
                Err(error) => {
                    assert!(error.problems.iter().all(|p| !p.path.is_empty() && !p.problem.is_empty()), "{path} = {x}");
                }
                Ok(world) => survive(world, path, x),
            }
        }
    }
}

/// Symptom: a centre of mass at 1e200 m was taken, and some steps later a body left the range of numbers. Cause: lengths, masses, stiffnesses
/// and forces had bounds in some places and none in others. What is taken can be stepped, whatever it is.
#[test]
fn what_is_absurdly_large_or_small_is_refused_where_it_is_given_or_steps() {
    let sizes = [1e12, 1e18, 1e31, 1e50, 1e75, 1e100, 1e155, 1e200, 1e300, 1e-40, 1e-100, 1e-160, 1e-200, 1e-300];
    let mut complaints = Vec::new();
    for (path, change) in FIELDS {
        for x in sizes.into_iter().flat_map(|x| [x, -x]) {
            let Ok(mut world) = World::build(&mutated(*change, x)) else { continue };
            let mut scratch = linkwork::Scratch::default();
            for k in 0..60 {
                let taken = step(&mut world, &mut scratch, &StepParams::new(1.0 / 60.0));
                if let Err(StepError::NotFinite { .. }) = taken {
                    complaints.push(format!("{path} = {x:e} was taken, and in step {k}: {taken:?}"));
                    break;
                }
            }
        }
    }
    for (path, change) in FIELDS.iter().filter(|(path, _)| !NORMALISED.contains(path)) {
        complaints.extend([1e18, 1e200].into_iter().filter_map(|x| complaint(path, x, &mutated(*change, x))));
    }
    assert_none(complaints);
}

/// Fields whose size does not matter: turns and directions, of which only the direction counts, a length of time that is only for shows, and
/// masses, which may be those of planets.
const NORMALISED: &[&str] = &[
    "step.dt",
    "step.duration",
    "bodies[0].orientation",
    "bodies[0].mass",
    "bodies[0].inertia",
    "bodies[0].inertia_products",
    "bodies[1].density",
    "bodies[1].shapes[0].orientation",
    "joints[0].axis",
    "joints[2].second_axis",
    "joints[6].frame_a.axis",
    "joints[6].frame_b.reference",
    "joints[0].coordinates[0].limit.min",
    "joints[0].coordinates[0].limit.max",
];

/// Symptom: of several mistakes within a shape only the first was told, and the next after that was mended.
#[test]
fn every_mistake_of_a_body_and_its_shapes_is_told_at_once() {
    let mut scene = valid();
    let body = &mut scene.bodies[0];
    (body.mass, body.center_of_mass) = (Some(-1.0), Some([0.0, 1e200, 0.0]));
    (body.position[0], body.velocity[1], body.linear_damping) = (f64::NAN, 1e30, -1.0);
    let mut shape = Shape::new(Geometry::Cylinder { radius: -1.0, length: 1e300 }).friction(-1.0).restitution(2.0);
    (shape.orientation, shape.position) = ([0.0; 4], [0.0, 0.0, f64::INFINITY]);
    body.shapes.push(shape);
    let vertices = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, f64::NAN], [0.0, 0.0, 1e10]];
    let triangles = vec![[0, 1, 2], [0, 1, 9], [7, 1, 2]];
    body.shapes.push(Shape::new(Geometry::Mesh { vertices, triangles }));
    let vertices = vec![[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    let triangles = vec![[0, 1, 2], [0, 1, 3], [1, 2, 0]];
    body.shapes.push(Shape::new(Geometry::Mesh { vertices, triangles }));
    scene.bodies[1].density = Some(-1.0);
    let error = World::build(&scene).err().unwrap();
    let told: Vec<&str> = error.problems.iter().map(|p| p.path.as_str()).collect();
    let expected = [
        "bodies[0].shapes[0].geometry.cylinder.radius",
        "bodies[0].shapes[0].geometry.cylinder.length",
        "bodies[0].shapes[0].friction",
        "bodies[0].shapes[0].restitution",
        "bodies[0].shapes[0].position",
        "bodies[0].shapes[0].orientation",
        "bodies[0].shapes[1].geometry.mesh.vertices[2]",
        "bodies[0].shapes[1].geometry.mesh.vertices[3]",
        "bodies[0].shapes[1].geometry.mesh.triangles[1]",
        "bodies[0].shapes[1].geometry.mesh.triangles[2]",
        "bodies[0].shapes[2].geometry.mesh.triangles[0]",
        "bodies[0].shapes[2].geometry.mesh.triangles[2]",
        "bodies[0].mass",
        "bodies[0].center_of_mass",
        "bodies[0].position",
        "bodies[0].velocity",
        "bodies[0].linear_damping",
        "bodies[1].density",
    ];
    assert_eq!(told, expected, "{error}");
}

/// Steps a world that may be absurd: every step either works and leaves finite numbers, or fails and leaves the world as it was.
fn survive(mut world: World, path: &str, x: f64) {
    let mut scratch = linkwork::Scratch::default();
    for _ in 0..5 {
        let before = world.state_hash();
        match step(&mut world, &mut scratch, &StepParams::new(1.0 / 60.0)) {
            Ok(_) => {
                for body in world.body_ids() {
                    let (pose, twist) = (world.pose(body).unwrap(), world.velocity(body).unwrap());
                    let finite = pose.position.is_finite()
                        && pose.orientation.is_finite()
                        && twist.linear.is_finite()
                        && twist.angular.is_finite();
                    assert!(finite, "{path} = {x:e}: {pose:?} {twist:?}");
                }
            }
            Err(_) => assert_eq!(world.state_hash(), before, "{path} = {x:e}: a failed step has changed the world"),
        }
    }
}

#[test]
fn words_that_fit_nowhere_are_refused_by_their_path() {
    let cases: Vec<Mutation> = vec![
        ("bodies[1].name", |s, _| s.bodies[1].name = "first".into()),
        ("bodies[1].name", |s, _| s.bodies[1].name = "world".into()),
        ("joints[1].name", |s, _| s.joints[1].name = "hinge".into()),
        ("joints[0].b", |s, _| s.joints[0].b = Some("frist".into())),
        ("joints[0].a", |s, _| s.joints[0].a = Some("nowhere".into())),
        ("joints[0].b", |s, _| s.joints[0].b = Some(WORLD.into())),
        ("joints[4].joints[0]", |s, _| s.joints[4].joints[0] = "hing".into()),
        ("joints[4].joints", |s, _| s.joints[4].joints.clear()),
        ("joints[0].coordinates[0].of", |s, _| acting(s).of = Some("displacement".into())),
        ("joints[0].axis", |s, _| s.joints[0].axis = None),
        ("joints[0].at", |s, _| s.joints[0].at = None),
        ("joints[4].ratio", |s, _| s.joints[4].ratio = None),
        ("joints[5].radius", |s, _| s.joints[5].radius = None),
        ("joints[6].pitch", |s, _| s.joints[6].pitch = None),
        ("joints[2].second_axis", |s, _| s.joints[2].second_axis = None),
        ("joints[3].frame_b", |s, _| s.joints[3].frame_b = None),
        ("joints[0].pitch", |s, _| s.joints[0].pitch = Some(1.0)),
        ("joints[0].coordinates[0].limit", |s, _| {
            acting(s).limit = Some(Limit { min: Some(1.0), max: Some(-1.0), restitution: 0.0 })
        }),
        ("joints[0].coordinates[1]", |s, _| s.joints[0].coordinates.push(Coordinate::of("angle"))),
        ("bodies[0].inertia", |s, _| s.bodies[0].inertia = Some([1.0, 1.0, 3.0])),
        ("bodies[0].inertia", |s, _| (s.bodies[0].inertia, s.bodies[0].inertia_products) = (None, None)),
        ("bodies[0].inertia_products", |s, _| {
            (s.bodies[0].inertia, s.bodies[0].shapes) = (None, s.bodies[1].shapes.clone())
        }),
        ("bodies[0].density", |s, _| s.bodies[0].density = Some(1.0)),
        ("bodies[0].velocity", |s, _| s.bodies[0].kind = BodyKind::Static),
        ("joints[2].second_axis", |s, _| s.joints[2].second_axis = Some([0.0, 0.0, 1.0])),
    ];
    assert_none(cases.into_iter().filter_map(|(path, change)| complaint(path, 0.0, &mutated(change, 0.0))));
}

#[test]
fn every_problem_of_a_scene_is_reported_at_once() {
    let mut scene = valid();
    scene.bodies[0].mass = Some(-1.0);
    scene.bodies[1].density = Some(f64::NAN);
    scene.step.dt = 0.0;
    let error = World::build(&scene).err().unwrap();
    let paths: Vec<&str> = error.problems.iter().map(|p| p.path.as_str()).collect();
    for path in ["step.dt", "bodies[0].mass", "bodies[1].density"] {
        assert!(paths.contains(&path), "{path} is missing in {paths:?}");
    }
}

type Setter = (&'static str, fn(&mut World, f64) -> Result<(), SceneError>);

fn link(world: &World) -> linkwork::BodyId {
    world.body("first").unwrap()
}

fn hinge(world: &World) -> linkwork::JointId {
    world.joint("hinge").unwrap()
}

/// Setters with what the number is called in errors.
const SETTERS: &[Setter] = &[
    ("gravity", |w, x| w.set_gravity([0.0, x, 0.0])),
    ("pose.position", |w, x| w.set_pose(link(w), Pose { position: DVec3::X * x, orientation: DQuat::IDENTITY })),
    ("pose.orientation", |w, x| {
        w.set_pose(link(w), Pose { position: DVec3::ZERO, orientation: DQuat::from_xyzw(x, 0.0, 0.0, 0.0) })
    }),
    ("velocity.linear", |w, x| w.set_velocity(link(w), Twist { linear: DVec3::Y * x, angular: DVec3::ZERO })),
    ("velocity.angular", |w, x| w.set_velocity(link(w), Twist { linear: DVec3::ZERO, angular: DVec3::Y * x })),
    ("gravity_scale", |w, x| w.set_gravity_scale(link(w), x)),
    ("linear_damping", |w, x| w.set_damping(link(w), x, 0.0)),
    ("angular_damping", |w, x| w.set_damping(link(w), 0.0, x)),
    ("force", |w, x| w.apply_force(link(w), DVec3::splat(x), DVec3::ZERO)),
    ("at", |w, x| w.apply_force(link(w), DVec3::X, DVec3::splat(x))),
    ("force", |w, x| w.apply_central_force(link(w), DVec3::splat(x))),
    ("torque", |w, x| w.apply_torque(link(w), DVec3::splat(x))),
    ("impulse", |w, x| w.apply_impulse(link(w), DVec3::splat(x), DVec3::ZERO)),
    ("at", |w, x| w.apply_impulse(link(w), DVec3::X, DVec3::splat(x))),
    ("impulse", |w, x| w.apply_angular_impulse(link(w), DVec3::splat(x))),
    ("motor.value", |w, x| w.set_motor(hinge(w), "angle", Some(Motor::Force { value: x }))),
    ("motor.target", |w, x| w.set_motor(hinge(w), "angle", Some(Motor::Velocity { target: x, max_force: None }))),
    ("motor.max_force", |w, x| {
        w.set_motor(hinge(w), "angle", Some(Motor::Velocity { target: 0.0, max_force: Some(x) }))
    }),
    ("motor.stiffness", |w, x| w.set_motor(hinge(w), "angle", Some(Servo { stiffness: x, ..SERVO }.motor()))),
    ("limit.min", |w, x| w.set_limit(hinge(w), "angle", Some(Limit { min: Some(x), max: None, restitution: 0.0 }))),
    ("limit.restitution", |w, x| w.set_limit(hinge(w), "angle", Some(Limit { min: None, max: None, restitution: x }))),
    ("spring.stiffness", |w, x| {
        w.set_spring(hinge(w), "angle", Some(Spring { stiffness: x, damping: 0.0, rest: 0.0 }))
    }),
    ("spring.rest", |w, x| w.set_spring(hinge(w), "angle", Some(Spring { stiffness: 1.0, damping: 0.0, rest: x }))),
    ("friction", |w, x| w.set_friction(hinge(w), "angle", x, 0.0)),
    ("damping", |w, x| w.set_friction(hinge(w), "angle", 0.0, x)),
    ("mass", |w, x| w.change_body(link(w), &lump("x", x))),
    ("body.position", |w, x| w.add_body(&lump("x", 1.0).at([x, 0.0, 0.0])).map(drop)),
    ("joint.at", |w, x| w.add_joint(&Joint::ball("x", WORLD, "second", [x, 0.0, 0.0])).map(drop)),
    ("joint.axis", |w, x| {
        w.change_joint(hinge(w), &Joint::hinge("", WORLD, "first", [0.0; 3], [0.0, 0.0, x])).map(drop)
    }),
];

/// A few steps of the world: what a refused call must leave unchanged.
fn continued(mut run: Run) -> u64 {
    run.steps(5);
    run.world.state_hash()
}

#[test]
fn setters_refuse_what_is_not_finite_and_change_nothing() {
    let started = || {
        let mut scene = valid();
        // the gear and the rack are for fields; a world without them can have its hinge changed
        scene.joints.drain(4..6);
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.steps(3);
        run
    };
    let untouched = continued(started());
    let mut complaints = Vec::new();
    for (path, set) in SETTERS {
        for x in NOT_FINITE {
            let mut run = started();
            let before = run.world.state_hash();
            match set(&mut run.world, x) {
                Ok(()) => complaints.push(format!("{path} = {x} was taken")),
                Err(e) if !e.path.ends_with(path) => complaints.push(format!("{path} = {x} is called {e}")),
                Err(_) if run.world.state_hash() != before => {
                    complaints.push(format!("{path} = {x} has changed the state"))
                }
                Err(_) if continued(run) != untouched => {
                    complaints.push(format!("{path} = {x} has changed later steps"))
                }
                Err(_) => {}
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn setters_refuse_or_survive_extreme_numbers() {
    for (path, set) in SETTERS {
        for x in [1e300, -1e300, 1e100, 1e15, -1e15, 1e12, 0.0, -1.0, 1e-300, 5e-324] {
            let mut scene = valid();
            scene.joints.drain(4..6);
            let mut world = build(&scene);
            if set(&mut world, x).is_ok() {
                survive(world, path, x);
            }
        }
    }
}

#[test]
fn step_parameters_out_of_range_are_refused_and_nothing_moves() {
    let mut run = Run::new(&registered("double-pendulum", &[]), 0.01);
    run.steps(3);
    let good = run.params;
    let before = run.world.state_hash();
    for x in [f64::NAN, f64::INFINITY, 0.0, -0.01, 1e300, 1e-300] {
        for (name, params) in [
            ("dt", StepParams { dt: x, ..good }),
            ("joint_tolerance", StepParams { joint_tolerance: x, ..good }),
            ("tolerance", StepParams { tolerance: Some(x), ..good }),
        ] {
            let error = step(&mut run.world, &mut run.scratch, &params).expect_err(name);
            let StepError::Parameter(error) = error else { panic!("{error}") };
            assert_eq!(error.path, name);
            assert_eq!(run.world.state_hash(), before);
        }
    }
}

#[test]
fn unknown_coordinates_are_refused_with_those_that_exist() {
    let mut world = build(&registered("double-pendulum", &[]));
    let joint = world.joint("ball0").unwrap();
    let error = world.set_friction(joint, "angel", 1.0, 0.0).expect_err("no such coordinate");
    assert!(error.hint.as_deref().unwrap_or("").contains("x, y, z"), "{error}");
}

#[test]
fn every_field_table_entry_is_in_the_valid_scene() {
    // a mutation of a field to a harmless value must leave the scene valid, or the tables above prove nothing
    for (path, change) in FIELDS {
        let harmless = match *path {
            "bodies[0].inertia" => 0.3,
            "bodies[0].inertia_products" | "bodies[0].center_of_mass" | "joints[0].at" => 0.0,
            "bodies[0].position" | "bodies[0].velocity" | "bodies[0].angular_velocity" => 0.0,
            "joints[0].axis" => continue,
            "joints[3].length" | "joints[3].frame_a.position" | "joints[3].frame_b.position" => continue,
            p if p.ends_with("limit.min") => -1.0,
            _ => 1.0,
        };
        let scene = mutated(*change, harmless);
        assert!(World::build(&scene).is_ok(), "{path} = {harmless}: {}", World::build(&scene).err().unwrap());
    }
}

/// A gear of a hinge with itself says θ = ratio · θ, which silently held the hinge fast.
#[test]
fn a_gear_of_a_joint_with_itself_is_refused() {
    let mut scene = on_axle(0.1, Coordinate::default());
    scene.joint(Joint::gear("gear", "axle", "axle", 2.0));
    let error = World::build(&scene).err().unwrap();
    assert_eq!(error.problems[0].path, "joints[1].joints[1]");
    assert!(error.to_string().contains("coupled with itself"), "{error}");
}

#[test]
fn gears_of_gears_are_refused_with_what_to_do() {
    let mut scene = on_axle(0.1, Coordinate::default());
    scene.joint(Joint::gear("first", "second", "axle", 2.0));
    scene.joint(Joint::gear("second", "first", "axle", 2.0));
    let error = World::build(&scene).err().unwrap();
    assert_eq!(error.problems[0].path, "joints[1].joints[0]");
    assert!(error.to_string().contains("a coupling has no coordinate"), "{error}");
}

#[test]
fn what_is_refused_is_told_with_its_unit_and_what_to_try() {
    let told = |change: &dyn Fn(&mut Scene)| {
        let mut scene = valid();
        change(&mut scene);
        World::build(&scene).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let coordinate = |scene: &mut Scene, joint: usize, c: Coordinate| scene.joints[joint].coordinates = vec![c];
    let limit = |s: &mut Scene, joint, of| coordinate(s, joint, Coordinate::of(of).limit(Some(2.0), Some(1.0)));
    assert!(told(&|s| limit(s, 0, "angle")).contains("min 2 rad is above max 1 rad"));
    assert!(told(&|s| limit(s, 1, "displacement")).contains("min 2 m is above max 1 m"));
    let friction = told(&|s| coordinate(s, 0, Coordinate::of("angle").friction(-3.0)));
    assert!(friction.contains("joints[0].coordinates[0].friction") && friction.contains("-3.0 N m"), "{friction}");
    let spring = told(&|s| coordinate(s, 1, Coordinate::of("displacement").spring(-5.0, 0.0, 0.0)));
    assert!(spring.contains("spring.stiffness") && spring.contains("-5.0 N/m"), "{spring}");
    let taken = told(&|s| s.bodies[1].name = "first".to_owned());
    assert!(taken.contains("taken by another body") && taken.contains("a name of its own"), "{taken}");
    // a name that is close is suggested, one that has nothing in common is not
    assert!(told(&|s| s.joints[0].b = Some("firts".to_owned())).contains("did you mean \"first\"?"));
    let other = |s: &mut Scene| {
        s.body(lump("q", 1.0).at([9.0, 9.0, 9.0]));
        s.joints[0].b = Some("z".to_owned());
    };
    assert!(told(&other).contains("there are \"first\", "), "{}", told(&other));
    let apart = told(&|s| {
        s.body(lump("far", 1.0).at([50.0, 0.0, 0.0]));
        let frame = |x: f64| Frame::at([x, 0.0, 0.0]);
        s.joint(Joint::new(JointKind::Fixed, "one", WORLD, "far").frames(frame(50.0), frame(0.0)));
        s.joint(Joint::new(JointKind::Fixed, "two", WORLD, "far").frames(frame(53.0), frame(0.0)));
    });
    assert!(apart.contains("cannot be closed at the start: 1.5 m"), "{apart}");
}
