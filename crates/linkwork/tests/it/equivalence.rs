//! The sparse engine against a dense oracle: accelerations from the equations of motion, written down from geometry alone.

use crate::common::{Random, Run, wxyz};
use crate::dense;
use linkwork::glam::{DMat3, DQuat, DVec3};
use linkwork::scene::{Body, Frame, Joint, JointKind, Scene, WORLD};
use linkwork::{BodyId, Pose, Twist, World};

/// A joint of the oracle: frames on two bodies, `None` for the world.
struct Held {
    kind: JointKind,
    a: Option<usize>,
    b: usize,
    on_a: Pose,
    on_b: Pose,
    length: f64,
    /// Metres per radian of a screw.
    lead: f64,
}

/// A gear of the oracle: the second hinge's angle is `ratio` times the first's.
struct Geared {
    first: usize,
    second: usize,
    ratio: f64,
}

const KINDS: &[JointKind] = &[
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
    JointKind::Screw,
];

fn placed_on(body: Option<&Pose>, frame: &Pose) -> Pose {
    let body = body.unwrap_or(&Pose::IDENTITY);
    Pose { position: body.transform(frame.position), orientation: body.orientation * frame.orientation }
}

impl Held {
    /// What the joint keeps at zero.
    fn errors(&self, poses: &[Pose]) -> Vec<f64> {
        use JointKind::*;
        let a = placed_on(self.a.map(|a| &poses[a]), &self.on_a);
        let b = placed_on(Some(&poses[self.b]), &self.on_b);
        let gap = b.position - a.position;
        let axis = |p: &Pose, e: DVec3| p.orientation * e;
        let [xa, ya, za] = [axis(&a, DVec3::X), axis(&a, DVec3::Y), axis(&a, DVec3::Z)];
        let [xb, yb, zb] = [axis(&b, DVec3::X), axis(&b, DVec3::Y), axis(&b, DVec3::Z)];
        let point = gap.to_array().to_vec();
        let line = vec![gap.dot(xa), gap.dot(ya)];
        let plane = vec![gap.dot(za)];
        let parallel = vec![zb.dot(xa), zb.dot(ya)];
        let aligned = vec![xb.dot(ya), yb.dot(za), zb.dot(xa)];
        match self.kind {
            Ball => point,
            Hinge => [point, parallel].concat(),
            Slider => [line, aligned].concat(),
            Cylindrical => [line, parallel].concat(),
            Planar => [plane, parallel].concat(),
            // the axes are z of a and x of b here, at a right angle
            Universal => [point, vec![za.dot(xb)]].concat(),
            Fixed => [point, aligned].concat(),
            PointOnLine => line,
            PointOnPlane => plane,
            Orientation => aligned,
            Distance => vec![gap.length() - self.length],
            Screw => {
                let angle = self.angle(poses);
                [line, parallel, vec![gap.dot(za) - self.lead * angle]].concat()
            }
            other => panic!("no oracle for {other:?}"),
        }
    }

    /// Rotation of b about a's axis, near zero.
    fn angle(&self, poses: &[Pose]) -> f64 {
        let a = placed_on(self.a.map(|a| &poses[a]), &self.on_a);
        let b = placed_on(Some(&poses[self.b]), &self.on_b);
        let x = a.orientation.inverse() * (b.orientation * DVec3::X);
        x.y.atan2(x.x)
    }

    fn joint(&self, name: String) -> Joint {
        let body = |b: Option<usize>| b.map_or(WORLD.to_string(), |b| format!("b{b}"));
        let frame =
            |p: &Pose, z: DVec3, x: DVec3| Frame::at(p.position).axis(p.orientation * z).reference(p.orientation * x);
        let on_b = match self.kind {
            JointKind::Universal => frame(&self.on_b, DVec3::X, DVec3::Y),
            _ => frame(&self.on_b, DVec3::Z, DVec3::X),
        };
        let joint = Joint::new(self.kind, name, body(self.a), body(Some(self.b)));
        let mut joint = joint.frames(frame(&self.on_a, DVec3::Z, DVec3::X), on_b);
        joint.length = (self.kind == JointKind::Distance).then_some(self.length);
        joint.pitch = (self.kind == JointKind::Screw).then_some(self.lead * std::f64::consts::TAU);
        joint
    }
}

struct Machine {
    scene: Scene,
    joints: Vec<Held>,
    gears: Vec<Geared>,
    masses: Vec<(f64, DVec3)>,
    poses: Vec<Pose>,
}

/// A random machine, closed: every joint's frames are taken from where the bodies are.
fn machine(seed: u64, bodies: usize, loops: usize) -> Machine {
    let mut random = Random(seed);
    let mut scene = Scene::new(format!("machine {seed}"));
    let (mut masses, mut poses) = (Vec::new(), Vec::new());
    for k in 0..bodies {
        let mass = 10f64.powf(random.between(-1.0, 1.0));
        let shape = DVec3::new(random.between(0.7, 1.3), random.between(0.7, 1.3), random.between(0.7, 1.3));
        let moments = shape * mass * 0.1;
        let pose = Pose { position: random.vector() * 1.5, orientation: random.rotation() };
        scene.body(
            Body::new(format!("b{k}"))
                .at(pose.position)
                .oriented(wxyz(pose.orientation))
                .moving(random.vector() * 2.0, random.vector() * 3.0)
                .with_mass(mass)
                .with_inertia(moments),
        );
        masses.push((mass, moments));
        poses.push(pose);
    }
    let mut joints = Vec::new();
    for b in 0..bodies {
        let a = (b > 0).then(|| random.below(b));
        let kind = KINDS[random.below(KINDS.len())];
        joints.push(hold(kind, a, b, &poses, &mut random));
    }
    for _ in 0..loops {
        let a = random.below(bodies);
        let b = (a + 1 + random.below(bodies - 1)) % bodies;
        let kind = [JointKind::Distance, JointKind::PointOnPlane, JointKind::Ball, JointKind::Hinge][random.below(4)];
        joints.push(hold(kind, Some(a), b, &poses, &mut random));
    }
    let mut machine = Machine { scene, joints, gears: Vec::new(), masses, poses };
    machine.describe_joints();
    machine
}

impl Machine {
    fn describe_joints(&mut self) {
        self.scene.joints = self.joints.iter().enumerate().map(|(k, held)| held.joint(format!("j{k}"))).collect();
        for (k, gear) in self.gears.iter().enumerate() {
            let (first, second) = (format!("j{}", gear.first), format!("j{}", gear.second));
            self.scene.joint(Joint::gear(format!("gear{k}"), first, second, gear.ratio));
        }
    }

    /// What all joints and gears keep at zero.
    fn errors(&self, poses: &[Pose]) -> Vec<f64> {
        let mut errors: Vec<f64> = self.joints.iter().flat_map(|j| j.errors(poses)).collect();
        let angle = |k: usize| self.joints[k].angle(poses);
        errors.extend(self.gears.iter().map(|g| angle(g.second) - g.ratio * angle(g.first)));
        errors
    }
}

fn hold(kind: JointKind, a: Option<usize>, b: usize, poses: &[Pose], random: &mut Random) -> Held {
    let frame = Pose { position: random.vector(), orientation: random.rotation() };
    let far = Pose { position: frame.position + random.direction(), ..frame };
    let inward = |pose: &Pose, frame: &Pose| Pose {
        position: pose.to_local(frame.position),
        orientation: pose.orientation.inverse() * frame.orientation,
    };
    let on_a = a.map_or(frame, |a| inward(&poses[a], &frame));
    let at_b = if kind == JointKind::Distance { &far } else { &frame };
    Held { kind, a, b, on_a, on_b: inward(&poses[b], at_b), length: 1.0, lead: random.between(-0.3, 0.3) }
}

/// Poses after a motion with constant velocities (v, ω) of every body.
fn moved(poses: &[Pose], motion: &[f64], time: f64) -> Vec<Pose> {
    let at = |k: usize| DVec3::from_slice(&motion[k..]) * time;
    let shift = |(k, p): (usize, &Pose)| Pose {
        position: p.position + at(6 * k),
        orientation: DQuat::from_scaled_axis(at(6 * k + 3)) * p.orientation,
    };
    poses.iter().enumerate().map(shift).collect()
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

/// Accelerations (v̇, ω̇) by M a = f + Jᵀλ, J a = −J̇u. `None` near a singular pose.
fn accelerations(machine: &Machine, poses: &[Pose], velocity: &[f64], gravity: DVec3) -> Option<Vec<f64>> {
    let n = 6 * poses.len();
    let errors = |p: &[Pose]| machine.errors(p);
    let e = 1e-5;
    let column = |k: usize| -> Vec<f64> {
        let mut unit = vec![0.0; n];
        unit[k] = 1.0;
        let (plus, minus) = (errors(&moved(poses, &unit, e)), errors(&moved(poses, &unit, -e)));
        plus.iter().zip(&minus).map(|(p, m)| (p - m) / (2.0 * e)).collect()
    };
    let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    let rows: Vec<Vec<f64>> = (0..columns[0].len()).map(|r| columns.iter().map(|c| c[r]).collect()).collect();
    let e = 1e-4;
    let (plus, here, minus) = (errors(&moved(poses, velocity, e)), errors(poses), errors(&moved(poses, velocity, -e)));
    let bias: Vec<f64> = (0..rows.len()).map(|r| (plus[r] - 2.0 * here[r] + minus[r]) / (e * e)).collect();

    let mut free = Vec::new();
    let mut inverse = Vec::new();
    for (k, (mass, moments)) in machine.masses.iter().enumerate() {
        let r = DMat3::from_quat(poses[k].orientation);
        let tensor = |d: DVec3| r * DMat3::from_diagonal(d) * r.transpose();
        let spin = DVec3::from_slice(&velocity[6 * k + 3..]);
        let gyroscopic = -(spin.cross(tensor(*moments) * spin));
        free.extend(gravity.to_array());
        free.extend((tensor(moments.recip()) * gyroscopic).to_array());
        inverse.push((1.0 / mass, tensor(moments.recip())));
    }
    let respond = |force: &Vec<f64>| -> Vec<f64> {
        let block = |k: usize| {
            let (inverse_mass, tensor) = inverse[k];
            let f = DVec3::from_slice(&force[6 * k..]) * inverse_mass;
            let t = tensor * DVec3::from_slice(&force[6 * k + 3..]);
            [f.x, f.y, f.z, t.x, t.y, t.z]
        };
        (0..poses.len()).flat_map(block).collect()
    };
    let responses: Vec<Vec<f64>> = rows.iter().map(respond).collect();
    let matrix = rows.iter().map(|r| responses.iter().map(|s| dot(r, s)).collect()).collect();
    let right: Vec<f64> = rows.iter().zip(&bias).map(|(r, b)| -b - dot(r, &free)).collect();
    let lambda = dense::solve_semidefinite(matrix, &right)?;
    let mut acceleration = free;
    for (response, l) in responses.iter().zip(&lambda) {
        acceleration.iter_mut().zip(response).for_each(|(a, x)| *a += l * x);
    }
    Some(acceleration)
}

fn state(world: &World, bodies: &[BodyId]) -> (Vec<Pose>, Vec<f64>) {
    let poses = bodies.iter().map(|b| world.pose(*b).unwrap()).collect();
    let motion = bodies.iter().flat_map(|b| {
        let t = world.velocity(*b).unwrap();
        [t.linear.to_array(), t.angular.to_array()].concat()
    });
    (poses, motion.collect())
}

/// Largest difference of the engine's and the oracle's acceleration, in parts of the largest acceleration.
///
/// The engine's is the mean of a step forwards and one from the reversed velocities: the mean over a step is off by half a
/// step's change of acceleration, which the reversed motion has with the other sign.
fn disagreement(machine: &Machine) -> Option<f64> {
    let h = 1e-5;
    let mut run = Run::new(&machine.scene, h);
    let bodies: Vec<BodyId> = run.world.body_ids().collect();
    let (poses, before) = state(&run.world, &bodies);
    let expected = accelerations(machine, &poses, &before, run.world.gravity())?;
    let mut reversed = Run::new(&machine.scene, h);
    for body in &bodies {
        let twist = run.world.velocity(*body).unwrap();
        let back = Twist { linear: -twist.linear, angular: -twist.angular };
        reversed.world.set_velocity(*body, back).unwrap();
    }
    run.step();
    reversed.step();
    let (after, earlier) = (state(&run.world, &bodies).1, state(&reversed.world, &bodies).1);
    let scale = expected.iter().fold(1.0_f64, |m, a| m.max(a.abs()));
    // the reversed run starts at −before
    let measured = |k: usize| 0.5 * ((after[k] - before[k]) + (earlier[k] + before[k])) / h;
    let off = (0..before.len()).map(|k| (measured(k) - expected[k]).abs()).fold(0.0, f64::max);
    Some(off / scale)
}

/// The largest difference measured over all machines here is 6.4e-7.
const AGREED: f64 = 2e-6;

#[test]
fn trees_of_all_joints_accelerate_as_the_dense_equations_say() {
    for seed in 0..150 {
        let bodies = 1 + seed as usize % 7;
        if let Some(off) = disagreement(&machine(seed, bodies, 0)) {
            assert!(off < AGREED, "seed {seed}, {bodies} bodies: off by {off:e}");
        }
    }
}

#[test]
fn loops_of_joints_accelerate_as_the_dense_equations_say() {
    let mut compared = 0;
    for seed in 1000..1150 {
        let (bodies, loops) = (3 + seed as usize % 5, 1 + seed as usize % 3);
        if let Some(off) = disagreement(&machine(seed, bodies, loops)) {
            assert!(off < AGREED, "seed {seed}, {bodies} bodies, {loops} loops: off by {off:e}");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} machines were compared");
}

#[test]
fn each_kind_of_joint_alone_accelerates_as_the_dense_equations_say() {
    for (k, kind) in KINDS.iter().enumerate() {
        for seed in 0..10 {
            let mut machine = machine(100 * seed + k as u64, 2, 0);
            machine.joints = vec![hold(*kind, Some(0), 1, &machine.poses, &mut Random(seed))];
            machine.describe_joints();
            let off = disagreement(&machine).expect("far from singular");
            assert!(off < AGREED, "{kind:?}, seed {seed}: off by {off:e}");
        }
    }
}

#[test]
fn hinges_coupled_by_gears_accelerate_as_the_dense_equations_say() {
    let mut compared = 0;
    for seed in 2000..2100 {
        let bodies = 2 + seed as usize % 4;
        let mut machine = machine(seed, bodies, 0);
        let mut random = Random(seed);
        for held in &mut machine.joints {
            let (a, b) = (held.a, held.b);
            *held = hold(JointKind::Hinge, a, b, &machine.poses, &mut random);
        }
        machine.gears =
            (1..bodies).map(|k| Geared { first: k - 1, second: k, ratio: random.between(-2.0, 2.0) }).collect();
        machine.describe_joints();
        if let Some(off) = disagreement(&machine) {
            assert!(off < AGREED, "seed {seed}, {bodies} bodies: off by {off:e}");
            compared += 1;
        }
    }
    // the oracle leaves out those where it cannot tell small eigenvalues from none, more than half of these
    assert!(compared > 30, "{compared} machines were compared");
}
