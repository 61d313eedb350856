//! Joints that a function defines, against the built-in ones that they equal.

use crate::common::{Random, Run, assert_close, assert_near, bar, build, lump};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Frame, Joint, WORLD};
use linkwork::{BlackBox, Pose, Scene};
use std::sync::Arc;

/// Keeps a point of b on a sphere round a's frame.
struct OnSphere(f64);

impl BlackBox for OnSphere {
    fn nearest(&self, relative: Pose) -> Pose {
        Pose { position: relative.position.normalize() * self.0, ..relative }
    }
}

#[test]
fn a_black_box_that_keeps_a_distance_is_a_rod() {
    let mut scene = Scene::new("rod");
    scene.body(lump("bob", 1.5).at([0.9, 0.0, 0.0]).moving([0.0, 1.0, 0.5], [1.0, 2.0, 0.5]));
    let mut boxed = Run::new(&scene, 1.0 / 240.0);
    let bob = boxed.body("bob");
    let point = Frame::at([0.1, 0.0, 0.0]);
    boxed.world.add_black_box_joint("rod", None, Some((bob, point)), Arc::new(OnSphere(1.0))).unwrap();
    let mut with_rod = scene.clone();
    with_rod.joint(Joint::distance("rod", WORLD, [0.0; 3], "bob", [0.1, 0.0, 0.0]));
    let mut rod = Run::new(&with_rod, 1.0 / 240.0);
    assert_eq!(boxed.world.census().degrees_of_freedom, 5);
    for _ in 0..480 {
        boxed.step();
        rod.step();
        assert_near("bob", boxed.position("bob"), rod.position("bob"), 1e-5);
        let end = boxed.world.pose(bob).unwrap().transform(DVec3::X * 0.1);
        assert_close("length", end.length(), 1.0, 1e-8);
    }
    let (one, other) = (boxed.reaction("rod").wrench.force, rod.reaction("rod").wrench.force);
    assert_near("tension", one, other, 1e-3 * other.length());
}

/// Holds everything but the rotation about z.
struct AboutZ;

impl BlackBox for AboutZ {
    fn nearest(&self, relative: Pose) -> Pose {
        let q = relative.orientation;
        Pose { position: DVec3::ZERO, orientation: DQuat::from_xyzw(0.0, 0.0, q.z, q.w).normalize() }
    }
}

#[test]
fn a_black_box_that_leaves_a_rotation_is_a_hinge() {
    let mut scene = Scene::new("hinge");
    scene.body(bar("bar", DVec3::ZERO, DVec3::X, 1.0));
    let mut boxed = Run::new(&scene, 1.0 / 240.0);
    let bar = boxed.body("bar");
    let on_bar = Frame::at([-0.5, 0.0, 0.0]).reference(DVec3::X);
    boxed.world.set_gravity([0.0, -9.81, 0.0]).unwrap();
    boxed.world.add_black_box_joint("pin", None, Some((bar, on_bar)), Arc::new(AboutZ)).unwrap();
    let mut with_hinge = Scene { gravity: [0.0, -9.81, 0.0], ..scene.clone() };
    with_hinge.joint(Joint::hinge("pin", WORLD, "bar", DVec3::ZERO, DVec3::Z));
    let mut hinge = Run::new(&with_hinge, 1.0 / 240.0);
    assert_eq!(boxed.world.census().degrees_of_freedom, 1);
    for _ in 0..480 {
        boxed.step();
        hinge.step();
        assert_near("bar", boxed.position("bar"), hinge.position("bar"), 1e-5);
    }
}

/// A bead on the parabola z = x² of a's frame.
struct OnParabola;

impl BlackBox for OnParabola {
    fn nearest(&self, relative: Pose) -> Pose {
        let p = relative.position;
        // the nearest point of the curve by Newton on (x − p.x) + 2x (x² − p.z) = 0
        let mut x = p.x;
        for _ in 0..30 {
            x -= ((x - p.x) + 2.0 * x * (x * x - p.z)) / (1.0 + 6.0 * x * x - 2.0 * p.z);
        }
        Pose { position: DVec3::new(x, 0.0, x * x), ..relative }
    }
}

#[test]
fn a_bead_slides_on_a_parabola_and_keeps_its_energy() {
    let mut scene = Scene::new("bead");
    scene.body(lump("bead", 0.5).at([0.6, 0.0, 0.36]));
    let mut run = Run::new(&scene, 1.0 / 240.0);
    let bead = run.body("bead");
    run.world.add_black_box_joint("wire", None, Some((bead, Frame::default())), Arc::new(OnParabola)).unwrap();
    let start = run.energy();
    let (mut leftmost, mut drift) = (0.0_f64, 0.0_f64);
    for _ in 0..480 {
        run.step();
        let p = run.position("bead");
        assert!(p.y.abs() < 1e-8 && (p.z - p.x * p.x).abs() < 1e-8, "off the wire at {p}");
        leftmost = leftmost.min(p.x);
        drift = drift.max((run.energy() - start).abs());
    }
    assert!(leftmost < -0.59, "it swings to the other side: {leftmost}");
    assert!(drift < 1e-3 * 0.5 * 9.81 * 0.36, "energy drifts by {drift:e} J");
}

#[test]
fn a_black_box_holds_as_many_rows_wherever_it_stands() {
    let mut random = Random(21);
    let placed = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(0.6, 0.8, 0.0)];
    for at in placed.into_iter().chain((0..5).map(|_| random.direction())) {
        let mut scene = Scene::new("rod");
        scene.body(lump("bob", 1.5).at(at));
        let mut world = build(&scene);
        let bob = world.body("bob").unwrap();
        world.add_black_box_joint("rod", None, Some((bob, Frame::default())), Arc::new(OnSphere(1.0))).unwrap();
        let census = world.census();
        assert_eq!((census.constraint_rows, census.degrees_of_freedom), (1, 5), "at {at}");
    }
}

/// A bead on the circle of the given radius in the plane y = 0 of a's frame; the bead keeps its orientation.
struct OnCircle(f64);

impl BlackBox for OnCircle {
    fn nearest(&self, relative: Pose) -> Pose {
        let p = relative.position.with_y(0.0).normalize() * self.0;
        Pose { position: p, orientation: DQuat::IDENTITY }
    }
}

/// A bead swung round a circle, in the given mode, from `angle` at rest; the times at which it passes the lowest point.
fn passes(angle: f64, radius: f64, tolerance: Option<f64>) -> Vec<f64> {
    let mut scene = Scene::new("bead");
    scene.body(lump("bead", 0.5).at([radius * angle.sin(), 0.0, -radius * angle.cos()]));
    let mut run = Run::new(&scene, 1.0 / 500.0);
    run.params.tolerance = tolerance;
    let bead = run.body("bead");
    run.world.add_black_box_joint("ring", None, Some((bead, Frame::default())), Arc::new(OnCircle(radius))).unwrap();
    assert_eq!(run.world.census().degrees_of_freedom, 1);
    let mut passes = Vec::new();
    let mut before = (0.0, run.position("bead").x);
    for _ in 0..2500 {
        run.step();
        let p = run.position("bead");
        assert_close("radius", p.length(), radius, 1e-9);
        let now = (run.world.time(), p.x);
        if before.1 * now.1 < 0.0 && p.z < 0.0 {
            passes.push(before.0 + (now.0 - before.0) * before.1 / (before.1 - now.1));
        }
        before = now;
    }
    passes
}

/// The bead is a pendulum: its period is 2π√(r/g) / agm(1, cos(θ/2)), whatever the swing.
#[test]
fn a_bead_on_a_circle_has_the_period_of_a_pendulum() {
    let radius = 0.4;
    for angle in [0.1, 1.5, 2.8] {
        let (mut a, mut b) = (1.0_f64, (0.5_f64 * angle).cos());
        for _ in 0..20 {
            (a, b) = (0.5 * (a + b), (a * b).sqrt());
        }
        let period = std::f64::consts::TAU * (radius / 9.81_f64).sqrt() / a;
        for (tolerance, allowed) in [(None, 2e-4), (Some(1e-9), 1e-6)] {
            let passes = passes(angle, radius, tolerance);
            let swings = (passes.len() - 1) as f64 / 2.0;
            assert!(swings >= 1.5, "{} passes", passes.len());
            let measured = (passes[passes.len() - 1] - passes[0]) / swings;
            assert_close(&format!("period from {angle} rad"), measured, period, allowed * period);
        }
    }
}

/// The directions in which a black box measures its errors are kept from step to step: they are part of the state.
#[test]
fn a_black_box_goes_on_bit_for_bit_from_a_snapshot_and_with_new_working_memory() {
    let mut scene = Scene::new("bead");
    scene.body(lump("bead", 0.5).at([0.4, 0.0, 0.0]));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    let bead = run.body("bead");
    run.world.add_black_box_joint("ring", None, Some((bead, Frame::default())), Arc::new(OnCircle(0.4))).unwrap();
    for _ in 0..50 {
        run.step();
    }
    let kept = run.world.snapshot();
    let mut hashes = Vec::new();
    for fresh_every in [usize::MAX, 1] {
        run.world.restore(&kept);
        for k in 0..100 {
            if k % fresh_every == 0 {
                run.scratch = Default::default();
            }
            run.step();
        }
        hashes.push(run.world.state_hash());
    }
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn a_function_that_is_no_projection_is_refused_and_nothing_changes() {
    struct Everything;
    impl BlackBox for Everything {
        fn nearest(&self, relative: Pose) -> Pose {
            relative
        }
    }
    struct Doubles;
    impl BlackBox for Doubles {
        fn nearest(&self, relative: Pose) -> Pose {
            Pose { position: relative.position * 2.0, ..relative }
        }
    }
    struct Nothing;
    impl BlackBox for Nothing {
        fn nearest(&self, relative: Pose) -> Pose {
            Pose { position: DVec3::NAN, ..relative }
        }
    }
    /// Comes half as near each time: its derivative is no projector.
    struct HalfWay;
    impl BlackBox for HalfWay {
        fn nearest(&self, relative: Pose) -> Pose {
            Pose { position: relative.position * 0.75, ..relative }
        }
    }
    let mut scene = Scene::new("bob");
    scene.body(lump("bob", 1.5).at([1e-4, 0.0, 0.0]));
    let mut world = build(&scene);
    let bob = world.body("bob").unwrap();
    let refused: [(Arc<dyn BlackBox>, &str); 4] = [
        (Arc::new(Everything), "allows every pose"),
        (Arc::new(Doubles), "not a smooth projection"),
        (Arc::new(Nothing), "gives no pose"),
        (Arc::new(HalfWay), "not a smooth projection"),
    ];
    let before = world.state_hash();
    for (function, words) in refused {
        let error = world.add_black_box_joint("odd", None, Some((bob, Frame::default())), function).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!((world.state_hash(), world.joint_ids().count()), (before, 0));
}
