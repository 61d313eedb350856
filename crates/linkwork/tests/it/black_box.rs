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
