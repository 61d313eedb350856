//! Rapier by the protocol of the peers; built twice, in double and in single precision.
//!
//! Settings: `iterations` (solver), `substeps`, `multibody` (joints that form a tree in reduced coordinates, the others as impulses),
//! `undamped` (multibodies without their default damping), `contact_frequency` (Hz),
//! `no_slop` (no error is allowed on purpose), `warm_joints` (joints begin with the impulses of the step before).

#![allow(clippy::unnecessary_cast)] // of f64 to `Real`, which is f32 in one of the two builds

use neutral::{Engine, JointKind, Scene, Settings, Solid};
use rapier::math::{Pose, Real, Rotation, Vector};
use rapier::prelude::*;

const NAME: &str = if size_of::<Real>() == 8 { "rapier-f64" } else { "rapier-f32" };

fn main() {
    if let Err(problem) = neutral::run(NAME, start) {
        eprintln!("{NAME}: {problem}");
        std::process::exit(1);
    }
}

fn vector(v: [f64; 3]) -> Vector {
    Vector::new(v[0] as Real, v[1] as Real, v[2] as Real)
}

fn rotation(q: [f64; 4]) -> Rotation {
    Rotation::from_xyzw(q[1] as Real, q[2] as Real, q[3] as Real, q[0] as Real).normalize()
}

fn pose(position: [f64; 3], orientation: [f64; 4]) -> Pose {
    Pose::from_parts(vector(position), rotation(orientation))
}

struct Run {
    pipeline: PhysicsPipeline,
    gravity: Vector,
    parameters: IntegrationParameters,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    impulse_joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
    ccd: CCDSolver,
    handles: Vec<RigidBodyHandle>,
    /// Centres of mass in the frames of the bodies: theirs are known only after the first step.
    centers: Vec<Vector>,
    parts: usize,
}

fn start(scene: &Scene, settings: &Settings) -> Result<Box<dyn Engine>, String> {
    let parts = settings.count("substeps", 1);
    let defaults = IntegrationParameters::default();
    let mut parameters = IntegrationParameters {
        dt: (scene.h / parts as f64) as Real,
        num_solver_iterations: settings.count("iterations", defaults.num_solver_iterations),
        warmstart_joints: settings.is("warm_joints"),
        ..defaults
    };
    if let Some(frequency) = settings.number("contact_frequency") {
        parameters.contact_softness.natural_frequency = frequency as Real;
        parameters.static_contact_softness.natural_frequency = 2.0 * frequency as Real;
    }
    if settings.is("no_slop") {
        parameters.normalized_allowed_linear_error = 0.0;
    }

    let (mut bodies, mut colliders) = (RigidBodySet::new(), ColliderSet::new());
    let world = bodies.insert(RigidBodyBuilder::fixed());
    let mut handles = Vec::new();
    for body in &scene.bodies {
        let builder = if body.dynamic { RigidBodyBuilder::dynamic() } else { RigidBodyBuilder::fixed() };
        let mass = MassProperties::with_principal_inertia_frame(
            vector(body.center),
            body.mass as Real,
            vector(body.moments),
            rotation(body.axes),
        );
        let mut builder = builder.pose(pose(body.position, body.orientation)).can_sleep(false);
        if body.dynamic {
            builder = builder
                .additional_mass_properties(mass)
                .linvel(vector(body.velocity))
                .angvel(vector(body.angular_velocity));
        }
        let handle = bodies.insert(builder);
        handles.push(handle);
        for shape in &body.shapes {
            let mut place = pose(shape.position, shape.orientation);
            let collider = match shape.solid {
                Solid::Box { size: [x, y, z] } => {
                    ColliderBuilder::cuboid(0.5 * x as Real, 0.5 * y as Real, 0.5 * z as Real)
                }
                Solid::Sphere { radius } => ColliderBuilder::ball(radius as Real),
                Solid::Capsule { radius, length } => ColliderBuilder::capsule_z(0.5 * length as Real, radius as Real),
                Solid::Cylinder { radius, length } => {
                    // theirs stands along y
                    place.rotation *= Rotation::from_rotation_x(std::f64::consts::FRAC_PI_2 as Real);
                    ColliderBuilder::cylinder(0.5 * length as Real, radius as Real)
                }
                Solid::Plane => ColliderBuilder::new(SharedShape::halfspace(Vector::Z)),
            };
            let groups = InteractionGroups::new(
                Group::from_bits_truncate(shape.group),
                Group::from_bits_truncate(shape.mask),
                InteractionTestMode::And,
            );
            let collider = collider
                .position(place)
                .density(0.0)
                .friction(shape.friction as Real)
                .friction_combine_rule(CoefficientCombineRule::GeometricMean)
                .restitution(shape.restitution as Real)
                .collision_groups(groups);
            colliders.insert_with_parent(collider, handle, &mut bodies);
        }
    }

    let (mut impulse_joints, mut multibody_joints) = (ImpulseJointSet::new(), MultibodyJointSet::new());
    // their hinge turns about x, the neutral one about z
    let z_from_x = Rotation::from_rotation_y(-std::f64::consts::FRAC_PI_2 as Real);
    for joint in &scene.joints {
        let handle = |body: i64| usize::try_from(body).map_or(world, |b| handles[b]);
        let axes = match joint.kind {
            JointKind::Ball => JointAxesMask::LOCKED_SPHERICAL_AXES,
            JointKind::Hinge => JointAxesMask::LOCKED_REVOLUTE_AXES,
        };
        let frame = |point, turn| Pose::from_parts(vector(point), rotation(turn) * z_from_x);
        let data = GenericJointBuilder::new(axes)
            .local_frame1(frame(joint.point_a, joint.turn_a))
            .local_frame2(frame(joint.point_b, joint.turn_b))
            .contacts_enabled(false)
            .build();
        let (a, b) = (handle(joint.a), handle(joint.b));
        let reduced = settings.is("multibody") && multibody_joints.insert(a, b, data, true).is_some();
        if !reduced {
            impulse_joints.insert(a, b, data, true);
        }
    }
    if settings.is("multibody") {
        start_multibodies(&bodies, &mut multibody_joints, &handles, settings.is("undamped"));
    }

    Ok(Box::new(Run {
        pipeline: PhysicsPipeline::new(),
        gravity: vector(scene.gravity),
        parameters,
        islands: IslandManager::new(),
        broad_phase: BroadPhaseBvh::new(),
        narrow_phase: NarrowPhase::new(),
        bodies,
        colliders,
        impulse_joints,
        multibody_joints,
        soft_bodies: SoftBodySet::new(),
        ccd: CCDSolver::new(),
        handles,
        centers: scene.bodies.iter().map(|body| vector(body.center)).collect(),
        parts,
    }))
}

/// Gives multibodies the velocities of their bodies: they keep velocities of their joints, in the frames of the joints.
fn start_multibodies(
    bodies: &RigidBodySet,
    joints: &mut MultibodyJointSet,
    handles: &[RigidBodyHandle],
    undamped: bool,
) {
    let mut seen = Vec::new();
    for &handle in handles {
        let Some(link) = joints.rigid_body_link(handle).copied() else { continue };
        if seen.contains(&link.multibody) {
            continue;
        }
        seen.push(link.multibody);
        let Some(multibody) = joints.get_multibody_mut(link.multibody) else { continue };
        let freedoms = |link: &MultibodyLink| 6 - link.joint.data.locked_axes.bits().count_ones() as usize;
        let of_joints: usize = multibody.links().skip(1).map(freedoms).sum();
        let mut at = multibody.ndofs() - of_joints;
        let mut velocities = Vec::new();
        for link in multibody.links().skip(1) {
            let parent =
                link.parent_id().and_then(|id| multibody.link(id)).map(|parent| &bodies[parent.rigid_body_handle()]);
            let (Some(parent), child) = (parent, &bodies[link.rigid_body_handle()]) else { continue };
            let turn = parent.rotation() * link.joint.data.local_frame1.rotation;
            let relative = turn.inverse() * (child.angvel() - parent.angvel());
            match freedoms(link) {
                1 => velocities.push((at, relative.x)),
                _ => velocities.extend([(at, relative.x), (at + 1, relative.y), (at + 2, relative.z)]),
            }
            at += freedoms(link);
        }
        for (k, value) in velocities {
            multibody.generalized_velocity_mut()[k] = value;
        }
        if undamped {
            multibody.damping_mut().fill(0.0);
        }
    }
}

impl Engine for Run {
    fn step(&mut self) -> Result<(), String> {
        for _ in 0..self.parts {
            self.pipeline.step(
                self.gravity,
                &self.parameters,
                &mut self.islands,
                &mut self.broad_phase,
                &mut self.narrow_phase,
                &mut self.bodies,
                &mut self.colliders,
                &mut self.impulse_joints,
                &mut self.multibody_joints,
                &mut self.soft_bodies,
                &mut self.ccd,
                &(),
                &(),
            );
        }
        Ok(())
    }

    fn state(&self, out: &mut Vec<f64>) {
        for (&handle, &local) in self.handles.iter().zip(&self.centers) {
            let body = &self.bodies[handle];
            let pose = body.position();
            let center = pose.transform_point(local);
            let (q, v, w) = (pose.rotation, body.linvel(), body.angvel());
            let numbers = [center.x, center.y, center.z, q.w, q.x, q.y, q.z, v.x, v.y, v.z, w.x, w.y, w.z];
            out.extend(numbers.map(|x| x as f64));
        }
    }
}
