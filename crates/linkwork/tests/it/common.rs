//! What the tests share: building scenes, running them, reading them, comparing numbers.

use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Scene, WORLD};
use linkwork::{BodyId, JointId, Method, Reaction, Scratch, StepKinds, StepParams, StepReport, World, step};

/// A world in motion, with a record of what its steps reported.
pub struct Run {
    name: String,
    pub world: World,
    pub scratch: Scratch,
    pub params: StepParams,
    pub worst_error: f64,
    pub kinds: StepKinds,
}

impl Run {
    pub fn new(scene: &Scene, h: f64) -> Run {
        Run { name: scene.name.clone(), ..Run::of(build(scene), h) }
    }

    pub fn by(method: Method, scene: &Scene, h: f64) -> Run {
        let mut run = Run::new(scene, h);
        run.params.method = method;
        run
    }

    pub fn of(world: World, h: f64) -> Run {
        let (scratch, params) = (Scratch::default(), StepParams::new(h));
        Run { name: String::new(), world, scratch, params, worst_error: 0.0, kinds: StepKinds::default() }
    }

    /// One step that must succeed.
    pub fn step(&mut self) -> StepReport {
        let taken = step(&mut self.world, &mut self.scratch, &self.params);
        let report = taken.unwrap_or_else(|e| panic!("{}: {e}", self.name));
        if report.failed {
            let told: Vec<String> = report.warnings.iter().map(|w| w.describe(&self.world)).collect();
            panic!("{} at {} s: {}", self.name, self.world.time(), told.join("; "));
        }
        self.worst_error = self.worst_error.max(report.joint_error.max_m).max(report.joint_error.max_rad);
        self.kinds.accurate += report.kinds.accurate;
        self.kinds.robust += report.kinds.robust;
        self.kinds.last_resort += report.kinds.last_resort;
        self.kinds.controlled += report.kinds.controlled;
        report
    }

    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step();
        }
    }

    /// Steps to a time that is a multiple of the step size.
    pub fn to(&mut self, time: f64) {
        self.steps(((time - self.world.time()) / self.params.dt).round() as usize);
    }

    pub fn body(&self, name: &str) -> BodyId {
        self.world.body(name).unwrap_or_else(|| panic!("no body {name}"))
    }

    pub fn joint(&self, name: &str) -> JointId {
        self.world.joint(name).unwrap_or_else(|| panic!("no joint {name}"))
    }

    pub fn position(&self, body: &str) -> DVec3 {
        self.world.pose(self.body(body)).unwrap().position
    }

    pub fn orientation(&self, body: &str) -> DQuat {
        self.world.pose(self.body(body)).unwrap().orientation
    }

    /// Velocity of the body's origin.
    pub fn velocity(&self, body: &str) -> DVec3 {
        self.world.velocity(self.body(body)).unwrap().linear
    }

    pub fn spin(&self, body: &str) -> DVec3 {
        self.world.velocity(self.body(body)).unwrap().angular
    }

    /// The only coordinate of a joint, or one of several by name.
    pub fn value_of(&self, joint: &str, coordinate: &str) -> f64 {
        self.world.coordinate(self.joint(joint), coordinate).unwrap_or_else(|| panic!("no {coordinate} of {joint}"))
    }

    pub fn rate_of(&self, joint: &str, coordinate: &str) -> f64 {
        let readings = self.world.coordinates(self.joint(joint)).unwrap();
        readings.iter().find(|r| r.name == coordinate).unwrap_or_else(|| panic!("no {coordinate} of {joint}")).velocity
    }

    pub fn reaction(&self, joint: &str) -> Reaction {
        self.world.reaction(self.joint(joint)).unwrap()
    }

    pub fn energy(&self) -> f64 {
        self.world.energy().total()
    }
}

/// Largest distance between the bodies of two runs, m.
pub fn distance(a: &Run, b: &Run) -> f64 {
    let at = |run: &Run| run.world.body_ids().map(|id| run.world.center_of_mass(id).unwrap()).collect::<Vec<_>>();
    at(a).iter().zip(at(b)).fold(0.0, |m: f64, (x, y)| m.max(x.distance(y)))
}

pub fn build(scene: &Scene) -> World {
    World::build(scene).unwrap_or_else(|e| panic!("scene {}: {e}", scene.name))
}

/// A scene of the registry.
pub fn registered(name: &str, settings: &[(&str, f64)]) -> Scene {
    let settings: Vec<(String, f64)> = settings.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let entry = linkwork_scenes::find(name).unwrap_or_else(|| panic!("no scene {name}"));
    entry.build(&settings).unwrap_or_else(|e| panic!("{e}"))
}

pub fn weightless(name: &str) -> Scene {
    Scene { gravity: [0.0; 3], ..Scene::new(name) }
}

/// A body with an inertia that makes no axis special.
pub fn lump(name: &str, mass: f64) -> Body {
    Body::new(name).with_mass(mass).with_inertia([0.02 * mass, 0.03 * mass, 0.04 * mass])
}

/// A uniform bar from one point to another, x along it.
pub fn bar(name: &str, from: DVec3, to: DVec3, mass: f64) -> Body {
    let turn = DQuat::from_rotation_arc(DVec3::X, (to - from).normalize());
    Body::new(name)
        .at((from + to) / 2.0)
        .oriented(wxyz(turn))
        .with_mass(mass)
        .shape(Geometry::Box { size: [from.distance(to), 0.05, 0.05] })
}

pub fn wxyz(q: DQuat) -> [f64; 4] {
    [q.w, q.x, q.y, q.z]
}

/// A body of the given mass on a slider from the world along an axis, with something acting on it.
pub fn on_slider(gravity: [f64; 3], axis: DVec3, mass: f64, acting: Coordinate) -> Scene {
    let mut scene = Scene { gravity, ..Scene::new("slider") };
    scene.body(lump("block", mass));
    scene.joint(Joint::slider("rail", WORLD, "block", DVec3::ZERO, axis).with(acting));
    scene
}

/// A body of moment `inertia` about the world's z, hinged there at its centre, with something acting on it.
pub fn on_axle(inertia: f64, acting: Coordinate) -> Scene {
    let mut scene = weightless("axle");
    scene.body(Body::new("wheel").with_mass(1.0).with_inertia([inertia; 3]));
    scene.joint(Joint::hinge("axle", WORLD, "wheel", DVec3::ZERO, DVec3::Z).with(acting));
    scene
}

pub fn servo(target: f64, stiffness: f64, damping: f64) -> Motor {
    Motor::Servo { target, target_velocity: 0.0, stiffness, damping, integral: 0.0, max_force: None }
}

#[track_caller]
pub fn assert_close(what: &str, value: f64, expected: f64, tolerance: f64) {
    let off = (value - expected).abs();
    assert!(off <= tolerance, "{what}: {value} instead of {expected}, off by {off:.3e}, allowed {tolerance:.1e}");
}

#[track_caller]
pub fn assert_near(what: &str, value: DVec3, expected: DVec3, tolerance: f64) {
    let off = value.distance(expected);
    assert!(off <= tolerance, "{what}: {value} instead of {expected}, off by {off:.3e}, allowed {tolerance:.1e}");
}

pub fn scientific(errors: &[f64]) -> String {
    errors.iter().map(|e| format!("{e:.2e}")).collect::<Vec<_>>().join(", ")
}

/// Errors that belong to step sizes halved each time: every ratio must show the order.
#[track_caller]
pub fn assert_order(what: &str, order: f64, errors: &[f64]) {
    for pair in errors.windows(2) {
        let observed = (pair[0] / pair[1]).log2();
        assert!(
            (observed - order).abs() < 0.2,
            "{what}: observed order {observed:.3} in errors {}",
            scientific(errors)
        );
    }
}

/// Angle between two orientations, rad, exact for small ones too.
pub fn angle_between(p: DQuat, q: DQuat) -> f64 {
    (p.inverse() * q).to_scaled_axis().length()
}

/// Splitmix64: scenes of tests are the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// Each component in [−1, 1).
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.between(-1.0, 1.0), self.between(-1.0, 1.0), self.between(-1.0, 1.0))
    }

    pub fn direction(&mut self) -> DVec3 {
        loop {
            let v = self.vector();
            if (0.1..1.0).contains(&v.length()) {
                return v.normalize();
            }
        }
    }

    pub fn rotation(&mut self) -> DQuat {
        let axis = self.direction();
        DQuat::from_axis_angle(axis, self.between(-3.0, 3.0))
    }
}

/// Collects what is wrong in many cases, so that a failing test tells all of it at once.
#[derive(Default)]
pub struct Complaints(Vec<String>);

impl Complaints {
    pub fn unless(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }

    pub fn close(&mut self, what: &str, value: f64, expected: f64, tolerance: f64) {
        let off = (value - expected).abs();
        self.unless(off <= tolerance, || {
            format!("{what}: {value} instead of {expected}, off by {off:.3e}, allowed {tolerance:.1e}")
        });
    }

    pub fn near(&mut self, what: &str, value: DVec3, expected: DVec3, tolerance: f64) {
        let off = value.distance(expected);
        self.unless(off <= tolerance, || {
            format!("{what}: {value:.6} instead of {expected:.6}, off by {off:.3e}, allowed {tolerance:.1e}")
        });
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        if !self.0.is_empty() && !std::thread::panicking() {
            panic!("{} complaints:\n{}", self.0.len(), self.0.join("\n"));
        }
    }
}
