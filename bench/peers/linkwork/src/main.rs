//! Linkwork by the protocol of the peers; and the neutral dump of its scenes.
//!
//!     peer-linkwork dump NAME key=value... [h=SECONDS] [duration=SECONDS] --to FILE.json
//!     peer-linkwork --scene FILE.json --settings '{"tolerance": 1e-6}' --out FILE, or --steps N (neutral/src/protocol.rs)
//!
//! The run builds the scene from the dump, as every other engine does.

use glam::{DQuat, DVec3};
use linkwork::scene::{self as scenes, Frame, Geometry};
use linkwork::{BodyId, Method, Pose, Scratch, StepParams, World};
use neutral::{Body, Engine, Joint, JointKind, Scene, Settings, Shape, Solid};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some("dump") => dump(&arguments[1..]),
        _ => neutral::run("linkwork", start),
    };
    if let Err(problem) = result {
        eprintln!("peer-linkwork: {problem}");
        std::process::exit(1);
    }
}

fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

fn quaternion(q: [f64; 4]) -> DQuat {
    DQuat::from_xyzw(q[1], q[2], q[3], q[0])
}

/// Writes a scene of the registry as it is after assembly.
fn dump(arguments: &[String]) -> Result<(), String> {
    let name = arguments.first().ok_or("which scene?")?;
    let to = arguments.iter().position(|a| a == "--to").and_then(|at| arguments.get(at + 1)).ok_or("--to FILE.json")?;
    let mut settings: Vec<(String, f64)> = Vec::new();
    for argument in &arguments[1..] {
        let Some((key, value)) = argument.split_once('=') else { continue };
        settings.push((key.to_owned(), value.parse().map_err(|_| format!("{argument}: not a number"))?));
    }
    let mut take = |key: &str| settings.iter().position(|s| s.0 == key).map(|at| settings.remove(at).1);
    let (h, duration) = (take("h"), take("duration"));
    let entry = linkwork_scenes::find(name).ok_or_else(|| format!("no scene `{name}`"))?;
    let scene = entry.build(&settings).map_err(|error| error.to_string())?;
    let world = World::build(&scene).map_err(|error| error.to_string())?;

    let ids: Vec<BodyId> = world.body_ids().collect();
    let index =
        |id: Option<BodyId>| id.map_or(-1, |id| ids.iter().position(|&other| other == id).map_or(-1, |k| k as i64));
    let bodies = ids.iter().map(|&id| body(&world, id)).collect::<Option<Result<Vec<Body>, String>>>();
    let mut joints = Vec::new();
    for id in world.joint_ids() {
        let described = world.joint_description(id).ok_or("a joint without description")?;
        let kind = match described.kind {
            scenes::JointKind::Ball => JointKind::Ball,
            scenes::JointKind::Hinge => JointKind::Hinge,
            other => return Err(format!("{}: {other:?} joints are not in the neutral scene", described.name)),
        };
        if !described.coordinates.is_empty() {
            return Err(format!("{}: limits, springs and motors are not in the neutral scene", described.name));
        }
        let ((a, b), (frame_a, frame_b)) =
            world.joint_bodies(id).zip(world.joint_frames(id)).ok_or("a joint without frames")?;
        let local = |body: Option<BodyId>, frame: Pose| {
            let pose = body.and_then(|id| world.pose(id)).unwrap_or(Pose::IDENTITY);
            let turn = pose.orientation.inverse() * frame.orientation;
            (pose.to_local(frame.position).to_array(), wxyz(turn))
        };
        let ((point_a, turn_a), (point_b, turn_b)) = (local(a, frame_a), local(b, frame_b));
        joints.push(Joint { kind, a: index(a), b: index(b), point_a, point_b, turn_a, turn_b });
    }
    let neutral = Scene {
        name: arguments[..].iter().take_while(|a| *a != "--to").cloned().collect::<Vec<_>>().join(" "),
        gravity: scene.gravity,
        h: h.unwrap_or(scene.step.dt),
        duration: duration.unwrap_or(scene.step.duration),
        collisions: world.collides(),
        bodies: bodies.ok_or("a body is missing")??,
        joints,
    };
    let text = serde_json::to_string(&neutral).map_err(|error| error.to_string())?;
    std::fs::write(to, text).map_err(|error| format!("{to}: {error}"))
}

fn body(world: &World, id: BodyId) -> Option<Result<Body, String>> {
    let (name, pose, twist) = (world.body_name(id)?, world.pose(id)?, world.velocity(id)?);
    let center = world.center_of_mass(id)?;
    let (moments, axes) = world.principal_inertia(id).unwrap_or((DVec3::ZERO, DQuat::IDENTITY));
    let mut shapes = Vec::new();
    for shape in world.shapes(id)?.iter().filter(|s| world.collides() && s.group != 0 && s.mask != 0) {
        let solid = match shape.geometry {
            Geometry::Sphere { radius } => Solid::Sphere { radius },
            Geometry::Box { size } => Solid::Box { size },
            Geometry::Capsule { radius, length } => Solid::Capsule { radius, length },
            Geometry::Cylinder { radius, length } => Solid::Cylinder { radius, length },
            Geometry::Plane => Solid::Plane,
            _ => return Some(Err(format!("{name}: a shape that is not in the neutral scene"))),
        };
        shapes.push(Shape {
            solid,
            position: shape.position,
            orientation: shape.orientation,
            friction: shape.friction,
            restitution: shape.restitution,
            group: shape.group,
            mask: shape.mask,
        });
    }
    Some(Ok(Body {
        name: name.to_owned(),
        dynamic: world.mass(id).is_some(),
        position: pose.position.to_array(),
        orientation: wxyz(pose.orientation),
        velocity: (twist.linear + twist.angular.cross(center - pose.position)).to_array(),
        angular_velocity: twist.angular.to_array(),
        mass: world.mass(id).unwrap_or(0.0),
        center: pose.to_local(center).to_array(),
        moments: moments.to_array(),
        axes: wxyz(axes),
        shapes,
    }))
}

struct Run {
    world: World,
    scratch: Scratch,
    params: StepParams,
    parts: usize,
    ids: Vec<BodyId>,
}

fn start(scene: &Scene, settings: &Settings) -> Result<Box<dyn Engine>, String> {
    let world = World::build(&described(scene)).map_err(|error| error.to_string())?;
    let parts = settings.count("substeps", 1);
    let params = StepParams {
        method: if settings.is("reduced") { Method::Reduced } else { Method::Direct },
        tolerance: settings.number("tolerance"),
        ..StepParams::new(scene.h / parts as f64)
    };
    let ids = world.body_ids().collect();
    Ok(Box::new(Run { world, scratch: Scratch::default(), params, parts, ids }))
}

/// The dump as Linkwork's own scene.
fn described(scene: &Scene) -> scenes::Scene {
    let mut out =
        scenes::Scene { gravity: scene.gravity, collisions: scene.collisions, ..scenes::Scene::new(&scene.name) };
    for body in &scene.bodies {
        let kind = if body.dynamic { scenes::BodyKind::Dynamic } else { scenes::BodyKind::Static };
        // diagonal in the body's own axes where it was so before, with products otherwise
        let r = glam::DMat3::from_quat(quaternion(body.axes));
        let tensor = r * glam::DMat3::from_diagonal(DVec3::from(body.moments)) * r.transpose();
        let products = [tensor.y_axis.x, tensor.z_axis.x, tensor.z_axis.y];
        let lever = quaternion(body.orientation) * DVec3::from(body.center);
        let omega = DVec3::from(body.angular_velocity);
        let mut described = scenes::Body {
            kind,
            orientation: body.orientation,
            center_of_mass: body.dynamic.then_some(body.center),
            mass: body.dynamic.then_some(body.mass),
            inertia: body.dynamic.then_some([tensor.x_axis.x, tensor.y_axis.y, tensor.z_axis.z]),
            inertia_products: body.dynamic.then_some(products),
            ..scenes::Body::new(&body.name)
        }
        .at(body.position)
        .moving((DVec3::from(body.velocity) - omega.cross(lever)).to_array(), body.angular_velocity);
        for shape in &body.shapes {
            let geometry = match shape.solid {
                Solid::Box { size } => Geometry::Box { size },
                Solid::Sphere { radius } => Geometry::Sphere { radius },
                Solid::Capsule { radius, length } => Geometry::Capsule { radius, length },
                Solid::Cylinder { radius, length } => Geometry::Cylinder { radius, length },
                Solid::Plane => Geometry::Plane,
            };
            described.shapes.push(
                scenes::Shape::new(geometry)
                    .at(shape.position)
                    .oriented(shape.orientation)
                    .friction(shape.friction)
                    .restitution(shape.restitution)
                    .groups(shape.group, shape.mask),
            );
        }
        out.body(described);
    }
    for (k, joint) in scene.joints.iter().enumerate() {
        let name = |body: i64| usize::try_from(body).map_or(scenes::WORLD, |b| scene.bodies[b].name.as_str());
        let frame = |point: [f64; 3], turn: [f64; 4]| {
            let turn = quaternion(turn);
            Frame::at(point).axis((turn * DVec3::Z).to_array()).reference((turn * DVec3::X).to_array())
        };
        let (a, b) = (name(joint.a), name(joint.b));
        let mut described = match joint.kind {
            JointKind::Ball => scenes::Joint::ball(format!("joint{k}"), a, b, [0.0; 3]),
            JointKind::Hinge => scenes::Joint::hinge(format!("joint{k}"), a, b, [0.0; 3], [0.0, 0.0, 1.0]),
        };
        (described.at, described.axis) = (None, None);
        described.frame_a = Some(frame(joint.point_a, joint.turn_a));
        described.frame_b = Some(frame(joint.point_b, joint.turn_b));
        out.joint(described);
    }
    out
}

impl Engine for Run {
    fn step(&mut self) -> Result<(), String> {
        for _ in 0..self.parts {
            linkwork::step(&mut self.world, &mut self.scratch, &self.params).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn state(&self, out: &mut Vec<f64>) {
        for &id in &self.ids {
            let (Some(pose), Some(twist), Some(center)) =
                (self.world.pose(id), self.world.velocity(id), self.world.center_of_mass(id))
            else {
                continue;
            };
            out.extend(center.to_array());
            out.extend(wxyz(pose.orientation));
            out.extend((twist.linear + twist.angular.cross(center - pose.position)).to_array());
            out.extend(twist.angular.to_array());
        }
    }
}
