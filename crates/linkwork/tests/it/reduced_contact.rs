//! Machines in reduced coordinates that are thrown about among contacts: energy, momentum, and the direct method's way.

use crate::common::{Complaints, Run, assert_close, distance};
use crate::contact::{cuboid, ground, sphere};
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, Motor, Shape};
use linkwork::{Method, Scene};

const DRUM_SPEED: f64 = 2.5;

/// A chain of five capsules on ball joints in a drum of twelve staves that turns about y.
fn tumbling_chain() -> Scene {
    let mut scene = Scene { collisions: true, ..Scene::new("tumbling chain") };
    let mut drum = Body::kinematic("drum").at([0.0, 0.0, 1.0]).moving([0.0; 3], [0.0, DRUM_SPEED, 0.0]);
    for k in 0..12 {
        let angle = std::f64::consts::TAU * f64::from(k) / 12.0;
        let turned = DQuat::from_rotation_y(-angle);
        let stave = Shape::new(Geometry::Box { size: [0.1, 1.0, 0.55] }).friction(0.5);
        let at = [0.95 * angle.cos(), 0.0, 0.95 * angle.sin()];
        drum = drum.placed_shape(stave.at(at).oriented([turned.w, turned.x, turned.y, turned.z]));
    }
    for y in [-0.55, 0.55] {
        drum = drum.placed_shape(Shape::new(Geometry::Box { size: [2.0, 0.1, 2.0] }).at([0.0, y, 0.0]));
    }
    scene.body(drum);
    let lying = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    for k in 0..5 {
        let x = -0.4 + 0.2 * f64::from(k);
        let shape = Shape::new(Geometry::Capsule { radius: 0.05, length: 0.1 });
        let link = Body::new(format!("link {k}")).at([x, -0.3, 0.8]).moving([1.0, 0.2, 0.0], [0.0; 3]);
        let shape = shape.oriented([lying.w, lying.x, lying.y, lying.z]);
        scene.body(link.with_mass(0.5).placed_shape(shape));
        if k > 0 {
            let (before, own) = (format!("link {}", k - 1), format!("link {k}"));
            scene.joint(Joint::ball(format!("joint {k}"), before, own, [x - 0.1, -0.3, 0.8]));
        }
    }
    scene
}

/// The energy of a chain in a drum went beyond 1e200 J without a warning: in contact, terms quadratic in the rates were one
/// explicit kick. Iteratively it had 2800 J after a step: what contacts and swept joints could not solve in the smallest step was given whole.
#[test]
fn a_tumbling_chain_makes_no_energy() {
    let mut complaints = Complaints::default();
    let scene = tumbling_chain();
    for (method, steps_a_second) in
        [(Method::Reduced, 30.0), (Method::Reduced, 60.0), (Method::Reduced, 240.0), (Method::Iterative, 60.0)]
    {
        let mut run = Run::by(method, &scene, 1.0 / steps_a_second);
        // as it starts; what the drum lifts and throws stays below that, at its wall the chain has 16 J
        let most = 1.25 * run.energy();
        let mut left = 0;
        for _ in 0..(8.0 * steps_a_second) as usize {
            left += run.step().left_to_direct;
            let energy = run.energy();
            let what = format!("{method:?}, 1/{steps_a_second} s");
            complaints.unless(energy < most, || format!("{what}: {energy:.3e} J at {}", run.world.time()));
            if energy >= most {
                break;
            }
        }
        complaints.unless(left == 0, || format!("1/{steps_a_second} s: {left} steps by the direct method"));
    }
}

/// Two chains of four boxes on ball joints fly at each other; nothing else is there.
fn two_chains() -> Scene {
    let mut scene = Scene { collisions: true, ..Scene::new("two chains") };
    scene.gravity = [0.0; 3];
    let chains = [("a", DVec3::new(-2.0, 0.0, 0.1), 3.0), ("b", DVec3::new(2.0, 0.2, 0.0), -2.0)];
    for (name, at, speed) in chains {
        for k in 0..4 {
            let link = cuboid(&format!("{name}{k}"), [0.2, 0.2, 0.4], 0.5).at(at + DVec3::Z * (0.5 * f64::from(k)));
            scene.body(link.with_mass(1.0 + f64::from(k)).moving([speed, 0.0, 0.0], [0.0; 3]));
            if k > 0 {
                let (before, own) = (format!("{name}{}", k - 1), format!("{name}{k}"));
                let pin = at + DVec3::Z * (0.5 * f64::from(k) - 0.25);
                scene.joint(Joint::ball(format!("{name} pin {k}"), before, own, pin));
            }
        }
    }
    scene
}

/// Momentum of 0.1 kg m/s was lost or made in a collision, at any step: what coordinates do not keep of it was not given back in
/// contact.
#[test]
fn chains_that_collide_keep_their_momentum() {
    let mut complaints = Complaints::default();
    for steps_a_second in [60.0, 240.0] {
        let mut run = Run::by(Method::Reduced, &two_chains(), 1.0 / steps_a_second);
        let before = run.world.momentum();
        let mut touched = false;
        for _ in 0..(2.0 * steps_a_second) as usize {
            run.step();
            touched |= run.world.contacts().next().is_some();
        }
        let after = run.world.momentum();
        let lost = (after.linear - before.linear).length().max((after.angular - before.angular).length());
        complaints.unless(touched, || "they miss each other".to_string());
        complaints.unless(lost < 1e-7, || format!("1/{steps_a_second} s: {lost:.1e} are lost"));
    }
}

/// Five planks on hinges slide and turn on the ground from the start.
fn sliding_planks() -> Scene {
    let mut scene = Scene { collisions: true, ..Scene::new("sliding planks") };
    scene.body(ground(0.4));
    for k in 0..5 {
        let x = 0.5 * f64::from(k);
        let plank = cuboid(&format!("plank {k}"), [0.44, 0.1, 0.1], 0.4).at([x, 0.0, 0.05]);
        scene.body(plank.with_mass(1.0).moving([0.5, 0.6 * f64::from(k), 0.0], [0.0, 0.0, 1.2]));
        if k > 0 {
            let (before, own) = (format!("plank {}", k - 1), format!("plank {k}"));
            scene.joint(Joint::hinge(format!("hinge {k}"), before, own, [x - 0.25, 0.0, 0.05], DVec3::Z));
        }
    }
    scene
}

/// Both methods solve the same equations there, one for the forces of joints and one for their coordinates.
#[test]
fn both_methods_slide_the_same_way() {
    let scene = sliding_planks();
    for h in [1.0 / 60.0, 1.0 / 240.0] {
        let (mut reduced, mut direct) = (Run::by(Method::Reduced, &scene, h), Run::new(&scene, h));
        reduced.to(0.5);
        direct.to(0.5);
        let apart = distance(&reduced, &direct);
        // corners can share the weight in many ways, and friction goes with it
        assert!(apart < 1e-3, "{h} s: {apart:.1e} m apart");
    }
}

/// By Cayley's map for their turn, wheels went 1.3 % slower than the motor turned them.
#[test]
fn a_driven_cart_rolls_as_fast_as_its_wheels_turn() {
    let mut scene = Scene { collisions: true, ..Scene::new("cart") };
    scene.body(ground(0.8));
    scene.body(cuboid("cart", [2.0, 0.8, 0.2], 0.8).at([0.0, 0.0, 0.5]).with_mass(100.0));
    for (k, x, y) in [(0, 0.8, 0.8), (1, 0.8, -0.8), (2, -0.8, 0.8), (3, -0.8, -0.8)] {
        let wheel = format!("wheel {k}");
        scene.body(sphere(&wheel, 0.3, 0.8).at([x, y, 0.3]).with_mass(10.0));
        let turns = Coordinate::default().motor(Motor::Velocity { target: 12.0, max_force: Some(80.0) });
        scene.joint(Joint::hinge(format!("axle {k}"), "cart", &wheel, [x, y, 0.3], DVec3::Y).with(turns));
    }
    let mut run = Run::by(Method::Reduced, &scene, 1.0 / 60.0);
    run.to(2.0);
    let before = run.position("cart").x;
    run.to(3.0);
    assert_close("way in a second", run.position("cart").x - before, 12.0 * 0.3, 1e-3);
}
