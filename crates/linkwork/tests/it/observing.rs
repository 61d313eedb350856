//! Looking at a world: what is told about joints and bodies fits what they do.

use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Geometry, Joint};
use linkwork::{Scene, Scratch, StepParams, World, step};

#[test]
fn the_mobility_of_a_point_is_the_answer_to_an_impulse_there() {
    let mut scene = Scene::new("rod");
    let turn = DQuat::from_euler(linkwork::glam::EulerRot::XYZ, 0.3, -0.8, 1.1);
    let rod = Body::new("rod").oriented([turn.w, turn.x, turn.y, turn.z]).at([1.0, 2.0, 3.0]);
    scene.body(rod.shape(Geometry::Box { size: [1.0, 0.2, 0.1] })).body(Body::fixed("post"));
    let mut world = World::build(&scene).unwrap();
    let (rod, post) = (world.body("rod").unwrap(), world.body("post").unwrap());
    let at = DVec3::new(1.3, 2.1, 2.8);
    let mobility = world.point_mobility(rod, at).unwrap();
    let impulse = DVec3::new(0.7, -0.2, 1.3);
    world.apply_impulse(rod, impulse, at).unwrap();
    let (pose, twist) = (world.pose(rod).unwrap(), world.velocity(rod).unwrap());
    let velocity = twist.linear + twist.angular.cross(at - pose.position);
    assert!(velocity.distance(mobility * impulse) < 1e-12 * velocity.length());
    // at the centre of mass nothing turns
    let center = world.center_of_mass(rod).unwrap();
    let at_center = world.point_mobility(rod, center).unwrap() * impulse;
    assert!(at_center.distance(impulse / world.mass(rod).unwrap()) < 1e-12);
    assert_eq!(world.point_mobility(post, at), None);
}

#[test]
fn the_frames_of_a_joint_stay_together_as_far_as_it_holds_them() {
    let mut scene = Scene::new("pendulum");
    scene.body(Body::new("rod").at([0.5, 0.0, 0.0]).shape(Geometry::Box { size: [1.0, 0.1, 0.1] }));
    scene.body(Body::new("bob").at([1.2, 0.0, 0.0]).shape(Geometry::Sphere { radius: 0.2 }));
    scene.joint(Joint::hinge("pivot", "world", "rod", [0.0; 3], [0.0, 2.0, 0.0]));
    scene.joint(Joint::ball("end", "rod", "bob", [1.0, 0.0, 0.0]));
    let mut world = World::build(&scene).unwrap();
    let (mut scratch, params) = (Scratch::default(), StepParams::new(0.01));
    for _ in 0..50 {
        step(&mut world, &mut scratch, &params).unwrap();
    }
    let pivot = world.joint("pivot").unwrap();
    let (on_a, on_b) = world.joint_frames(pivot).unwrap();
    assert!(on_a.position.length() < 1e-9 && on_b.position.length() < 1e-9);
    for frame in [on_a, on_b] {
        assert!((frame.orientation * DVec3::Z).distance(DVec3::Y) < 1e-9, "z is the axis");
    }
    let turned = (on_a.orientation.inverse() * on_b.orientation).to_axis_angle().1;
    assert!((turned - world.coordinate(pivot, "angle").unwrap().abs()).abs() < 1e-9);
    let end = world.joint("end").unwrap();
    let ((on_rod, on_bob), (anchor_a, anchor_b)) =
        (world.joint_frames(end).unwrap(), world.joint_anchors(end).unwrap());
    assert!(on_rod.position.distance(anchor_a) < 1e-12 && on_bob.position.distance(anchor_b) < 1e-12);
}
