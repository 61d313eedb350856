//! What is written is read again, to the last bit.

use linkwork::scene::*;
use linkwork_io::{Format, parse_scene, write_scene};
use proptest::prelude::*;

/// Any finite number, denormal and −0 included.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite()),
        Just(0.0),
        Just(-0.0),
        Just(f64::MAX),
        Just(5e-324),
        -10.0..10.0f64,
    ]
}

/// Numbers whose zero has no sign: a key that is left out when it is zero does not remember the sign.
fn unsigned_zero() -> impl Strategy<Value = f64> {
    number().prop_map(|x| if x == 0.0 { 0.0 } else { x })
}

fn vector() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(number())
}

fn quaternion() -> impl Strategy<Value = [f64; 4]> {
    prop_oneof![Just([1.0, 0.0, 0.0, 0.0]), prop::array::uniform4(number())]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[a-z_]{1,8}",
        ".{0,12}",
        prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
        Just("\u{0}\u{7f}\"\\\r\n\t'''\"\"\" # ]".to_owned()),
    ]
}

fn geometry() -> impl Strategy<Value = Geometry> {
    prop_oneof![
        number().prop_map(|radius| Geometry::Sphere { radius }),
        vector().prop_map(|size| Geometry::Box { size }),
        (number(), number()).prop_map(|(radius, length)| Geometry::Capsule { radius, length }),
        (number(), number()).prop_map(|(radius, length)| Geometry::Cylinder { radius, length }),
        (number(), number()).prop_map(|(radius, length)| Geometry::Cone { radius, length }),
        prop::collection::vec(vector(), 0..5).prop_map(|points| Geometry::ConvexHull { points }),
        (prop::collection::vec(vector(), 0..4), prop::collection::vec(any::<[u32; 3]>(), 0..4))
            .prop_map(|(vertices, triangles)| Geometry::Mesh { vertices, triangles }),
        (prop::collection::vec(prop::collection::vec(number(), 0..3), 0..3), prop::array::uniform2(number()))
            .prop_map(|(heights, size)| Geometry::HeightField { heights, size }),
        Just(Geometry::Plane),
    ]
}

fn combine() -> impl Strategy<Value = Combine> {
    prop::sample::select(
        [Combine::Average, Combine::GeometricMean, Combine::Min, Combine::Multiply, Combine::Max].as_slice(),
    )
}

fn shape() -> impl Strategy<Value = Shape> {
    let surface = (prop::array::uniform4(number()), combine(), combine());
    let softness = prop::option::of((number(), number()))
        .prop_map(|soft| soft.map(|(stiffness, damping)| Softness { stiffness, damping }));
    let groups = (any::<u32>(), any::<u32>(), any::<bool>());
    (geometry(), vector(), quaternion(), surface, softness, groups).prop_map(
        |(geometry, position, orientation, surface, softness, (group, mask, sensor))| Shape {
            geometry,
            position,
            orientation,
            friction: surface.0[0],
            restitution: surface.0[1],
            rolling_friction: surface.0[2],
            spinning_friction: surface.0[3],
            friction_combine: surface.1,
            restitution_combine: surface.2,
            softness,
            group,
            mask,
            sensor,
        },
    )
}

fn body() -> impl Strategy<Value = Body> {
    let kind = prop_oneof![Just(BodyKind::Dynamic), Just(BodyKind::Static), Just(BodyKind::Kinematic)];
    let motion = (vector(), quaternion(), vector(), vector());
    let mass = (
        prop::option::of(number()),
        prop::option::of(vector()),
        prop::option::of(vector()),
        prop::option::of(vector()),
        prop::option::of(number()),
    );
    let rest = (prop::collection::vec(shape(), 0..3), number(), number(), number());
    (text(), kind, motion, mass, rest).prop_map(|(name, kind, motion, mass, rest)| Body {
        name,
        kind,
        position: motion.0,
        orientation: motion.1,
        velocity: motion.2,
        angular_velocity: motion.3,
        mass: mass.0,
        inertia: mass.1,
        inertia_products: mass.2,
        center_of_mass: mass.3,
        density: mass.4,
        shapes: rest.0,
        gravity_scale: rest.1,
        linear_damping: rest.2,
        angular_damping: rest.3,
    })
}

fn frame() -> impl Strategy<Value = Frame> {
    (vector(), vector(), prop::option::of(vector())).prop_map(|(position, axis, reference)| Frame {
        position,
        axis,
        reference,
    })
}

fn motor() -> impl Strategy<Value = Motor> {
    let most = || prop::option::of(number());
    prop_oneof![
        number().prop_map(|value| Motor::Force { value }),
        (number(), most()).prop_map(|(target, max_force)| Motor::Velocity { target, max_force }),
        ([number(), number(), number()], number(), number(), most()).prop_map(
            |([target, target_velocity, stiffness], damping, integral, max_force)| Motor::Servo {
                target,
                target_velocity,
                stiffness,
                damping,
                integral,
                max_force
            }
        ),
    ]
}

fn coordinate() -> impl Strategy<Value = Coordinate> {
    let limit = (prop::option::of(number()), prop::option::of(number()), unsigned_zero())
        .prop_map(|(min, max, restitution)| Limit { min, max, restitution });
    let spring =
        (number(), number(), number()).prop_map(|(stiffness, damping, rest)| Spring { stiffness, damping, rest });
    (
        prop::option::of(text()),
        prop::option::of(limit),
        unsigned_zero(),
        unsigned_zero(),
        prop::option::of(spring),
        prop::option::of(motor()),
    )
        .prop_map(|(of, limit, friction, damping, spring, motor)| Coordinate {
            of,
            limit,
            friction,
            damping,
            spring,
            motor,
        })
}

const KINDS: [JointKind; 16] = [
    JointKind::Ball,
    JointKind::Hinge,
    JointKind::Slider,
    JointKind::Cylindrical,
    JointKind::Planar,
    JointKind::Universal,
    JointKind::Fixed,
    JointKind::PointOnLine,
    JointKind::PointOnPlane,
    JointKind::Orientation,
    JointKind::Distance,
    JointKind::Rope,
    JointKind::Screw,
    JointKind::Gear,
    JointKind::Rack,
    JointKind::Differential,
];

fn joint() -> impl Strategy<Value = Joint> {
    let bodies = (prop::option::of(text()), prop::option::of(text()));
    let world = (prop::option::of(vector()), prop::option::of(vector()), prop::option::of(vector()));
    let frames = (prop::option::of(frame()), prop::option::of(frame()));
    let sizes = prop::array::uniform4(prop::option::of(number()));
    let lists = (prop::collection::vec(text(), 0..3), prop::collection::vec(coordinate(), 0..3));
    let kind = (prop::sample::select(KINDS.as_slice()), any::<bool>());
    (text(), kind, bodies, world, frames, sizes, lists).prop_map(
        |(name, (kind, collide), bodies, world, frames, [ratio, radius, pitch, length], lists)| Joint {
            name,
            a: bodies.0,
            b: bodies.1,
            at: world.0,
            axis: world.1,
            second_axis: world.2,
            frame_a: frames.0,
            frame_b: frames.1,
            joints: lists.0,
            ratio,
            radius,
            pitch,
            length,
            coordinates: lists.1,
            collide,
            ..Joint::new(kind, "", "", "")
        },
    )
}

fn scene() -> impl Strategy<Value = Scene> {
    let step = (number(), number()).prop_map(|(dt, duration)| Stepping { dt, duration });
    (text(), text(), vector(), step, prop::collection::vec(body(), 0..4), prop::collection::vec(joint(), 0..4))
        .prop_map(|(name, description, gravity, step, bodies, joints)| Scene {
            name,
            description,
            gravity,
            step,
            bodies,
            joints,
            ..Scene::default()
        })
        .prop_flat_map(|scene| any::<bool>().prop_map(move |collisions| Scene { collisions, ..scene.clone() }))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_scene_survives_both_formats_bit_for_bit(scene in scene()) {
        for format in [Format::Toml, Format::Json] {
            let text = write_scene(&scene, format).unwrap();
            let again = parse_scene(&text, format, "scene")
                .map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            // Debug output tells −0 from 0 and every bit from its neighbour, which equality does not.
            prop_assert_eq!(format!("{:?}", again), format!("{:?}", scene), "{}", text);
        }
    }
}

#[test]
fn a_number_that_no_file_can_hold_is_refused_by_its_path() {
    let mut scene = Scene::new("bad");
    scene.body(Body::new("a")).body(Body::new("b").at([0.0, f64::NAN, 0.0]));
    for format in [Format::Toml, Format::Json] {
        let error = write_scene(&scene, format).unwrap_err();
        assert_eq!(error.to_string(), "bodies[1].position[1]: not a finite number");
    }
    scene.bodies[1].position[1] = 0.0;
    scene.joint(Joint::rope("r", "a", [0.0; 3], "b", [0.0; 3], f64::INFINITY));
    let error = write_scene(&scene, Format::Toml).unwrap_err();
    assert_eq!(error.path, "joints[0].coordinates[0].limit.max");
}

#[test]
fn a_written_scene_is_what_a_person_would_write() {
    let mut scene = Scene::new("pendulum");
    scene.body(Body::new("bob").at([1.0, 0.0, 0.0]).with_mass(2.0).shape(Geometry::Sphere { radius: 0.1 })).joint(
        Joint::hinge("pivot", WORLD, "bob", [0.0; 3], [0.0, 1.0, 0.0])
            .with(Coordinate::of("angle").limit(Some(-1.5), None).friction(0.25)),
    );
    assert_eq!(
        write_scene(&scene, Format::Toml).unwrap(),
        r#"name = "pendulum"
gravity = [0.0, 0.0, -9.81]

[step]
dt = 0.016666666666666666
duration = 10.0

[[bodies]]
name = "bob"
position = [1.0, 0.0, 0.0]
mass = 2.0
shapes = [{ geometry = { sphere = { radius = 0.1 } } }]

[[joints]]
name = "pivot"
type = "hinge"
a = "world"
b = "bob"
at = [0.0, 0.0, 0.0]
axis = [0.0, 1.0, 0.0]
coordinates = [{ of = "angle", limit = { min = -1.5 }, friction = 0.25 }]
"#
    );
    assert_eq!(
        write_scene(&scene, Format::Json).unwrap(),
        r#"{
  "name": "pendulum",
  "gravity": [0.0, 0.0, -9.81],
  "step": { "dt": 0.016666666666666666, "duration": 10.0 },
  "bodies": [
    {
      "name": "bob",
      "position": [1.0, 0.0, 0.0],
      "mass": 2.0,
      "shapes": [{ "geometry": { "sphere": { "radius": 0.1 } } }]
    }
  ],
  "joints": [
    {
      "name": "pivot",
      "type": "hinge",
      "a": "world",
      "b": "bob",
      "at": [0.0, 0.0, 0.0],
      "axis": [0.0, 1.0, 0.0],
      "coordinates": [{ "of": "angle", "limit": { "min": -1.5 }, "friction": 0.25 }]
    }
  ]
}
"#
    );
}

#[test]
fn a_file_describes_how_shapes_touch() {
    let text = r#"
collisions = true
[[bodies]]
name = "ground"
kind = "static"
shapes = [{ geometry = "plane", friction = 0.8, friction_combine = "min" }]
[[bodies]]
name = "rock"
[[bodies.shapes]]
geometry = { convex_hull = { points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]] } }
restitution = 0.5
restitution_combine = "multiply"
rolling_friction = 0.01
spinning_friction = 0.02
softness = { stiffness = 1e5, damping = 10 }
group = 2
mask = 4294967295
sensor = false
[[bodies]]
name = "hills"
kind = "static"
shapes = [{ geometry = { height_field = { heights = [[0, 1], [1, 0]], size = [2, 2] } } }, { geometry = { mesh = { vertices = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], triangles = [[0, 1, 2]] } }, sensor = true }]
[[joints]]
type = "ball"
a = "ground"
b = "rock"
at = [0, 0, 0]
collide = true
"#;
    let scene = parse_scene(text, Format::Toml, "touch.toml").unwrap();
    assert_eq!(scene.bodies[0].shapes[0].geometry, Geometry::Plane);
    assert_eq!(scene.bodies[0].shapes[0].friction_combine, Combine::Min);
    let rock = &scene.bodies[1].shapes[0];
    assert_eq!((rock.group, rock.mask, rock.friction), (2, u32::MAX, 0.5));
    assert_eq!(rock.softness, Some(Softness { stiffness: 1e5, damping: 10.0 }));
    assert!(scene.joints[0].collide && scene.collisions && scene.bodies[2].shapes[1].sensor);
    linkwork::World::build(&scene).unwrap();
    for wrong in ["group = -1", "group = 4294967296", "sensor = 1", "friction_combine = \"sum\"", "stiffness = 3"] {
        let text = text.replace("restitution = 0.5", wrong);
        assert!(parse_scene(&text, Format::Toml, "touch.toml").is_err(), "{wrong}");
    }
}
