//! Piles so large that they are swept over in parts.

use super::{Cut, cuts, split_at_all};
use crate::handle::BodyId;
use crate::scene::{Body, Coordinate, Geometry, Joint, Scene, Shape};
use crate::{Scratch, StepParams, World, step};
use glam::DVec3;

const DT: f64 = 1.0 / 60.0;
const FRICTION: f64 = 0.5;
/// From pair to pair, with a millimetre between them: all are within each other's reach.
const PITCH: [f64; 3] = [0.191, 0.091, 0.101];
const LAYERS: usize = 4;
const ACROSS: usize = 13;
const ALONG: usize = 22;

/// A crate full of pairs of capsules, most joined by balls and some by hinges with limits, and of spheres without joints: one pile of
/// 2288 bodies.
fn full_crate() -> Scene {
    let mut scene = Scene::new("crate");
    let (x, y) = (PITCH[0] * ACROSS as f64, PITCH[1] * ALONG as f64);
    let mut ground = Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(FRICTION));
    for (at, size) in [
        ([-0.1, 0.5 * y, 1.0], [0.2, y + 0.4, 2.0]),
        ([x + 0.1, 0.5 * y, 1.0], [0.2, y + 0.4, 2.0]),
        ([0.5 * x, -0.1, 1.0], [x + 0.4, 0.2, 2.0]),
        ([0.5 * x, y + 0.1, 1.0], [x + 0.4, 0.2, 2.0]),
    ] {
        ground = ground.placed_shape(Shape::new(Geometry::Box { size }).at(at).friction(FRICTION));
    }
    scene.body(ground);
    for k in 0..LAYERS * ACROSS * ALONG {
        let (layer, i, j) = (k / (ACROSS * ALONG), k / ALONG % ACROSS, k % ALONG);
        let middle = (DVec3::new(i as f64, j as f64, layer as f64) + 0.5) * DVec3::from(PITCH);
        let joined = k % 9 != 4;
        for (side, aside) in [("a", -0.05), ("b", 0.05)] {
            let shape = match joined {
                true => Geometry::Capsule { radius: 0.045, length: 0.01 },
                false => Geometry::Sphere { radius: 0.045 },
            };
            let body = Body::new(format!("{k}{side}")).at(middle + DVec3::X * aside).with_mass(1.0);
            scene.body(body.placed_shape(Shape::new(shape).friction(FRICTION)));
        }
        let (a, b) = (format!("{k}a"), format!("{k}b"));
        if joined && k % 5 == 0 {
            let mut hinge = Joint::hinge(format!("{k}"), a, b, middle, DVec3::Y);
            if k % 10 == 0 {
                hinge.coordinates.push(Coordinate::of("angle").limit(Some(-0.3), Some(0.3)));
            }
            scene.joint(hinge);
        } else if joined {
            scene.joint(Joint::ball(format!("{k}"), a, b, middle));
        }
    }
    scene
}

/// Takes a step; returns into how many parts its pile was divided.
fn advance(world: &mut World, scratch: &mut Scratch) -> usize {
    let report = step(world, scratch, &StepParams::new(DT)).unwrap();
    assert!(report.joint_error.max_m < 1e-9 && report.penetration_m < 2e-3, "{report:?}");
    scratch.parts_of_piles()
}

#[cfg(feature = "parallel")]
#[test]
fn a_pile_in_parts_is_the_same_in_any_number_of_threads() {
    let hash = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut world, mut scratch) = (World::build(&full_crate()).unwrap(), Scratch::default());
            let parts: Vec<_> = (0..12).map(|_| advance(&mut world, &mut scratch)).collect();
            assert!(parts.contains(&2), "{parts:?}");
            world.state_hash()
        })
    };
    let alone = hash(1);
    assert_eq!([hash(2), hash(8)], [alone; 2]);
}

/// What contacts, joints and gravity give to a body is what its momentum gains: no impulse within a part or across parts is lost or given
/// to one side alone. Joints stay closed and nothing sinks in.
#[test]
fn a_pile_in_parts_obeys_newton() {
    let (mut world, mut scratch) = (World::build(&full_crate()).unwrap(), Scratch::default());
    for _ in 0..30 {
        advance(&mut world, &mut scratch);
    }
    let bodies: Vec<_> = world.body_ids().collect();
    let momenta = |world: &World| -> Vec<DVec3> {
        let of = |&b: &BodyId| world.mass(b).map_or(DVec3::ZERO, |m| m * world.velocity(b).unwrap().linear);
        bodies.iter().map(of).collect()
    };
    let (before, mut given, steps) = (momenta(&world), vec![DVec3::ZERO; bodies.len()], 30);
    for k in 0..steps {
        assert_eq!(advance(&mut world, &mut scratch), 2, "step {k}");
        let mut give = |a: Option<BodyId>, b: Option<BodyId>, force: DVec3| {
            a.into_iter().for_each(|a| given[a.slot()] -= DT * force);
            b.into_iter().for_each(|b| given[b.slot()] += DT * force);
        };
        world.contacts().for_each(|c| give(Some(c.a), Some(c.b), c.force));
        for joint in world.joint_ids() {
            let (a, b) = world.joint_bodies(joint).unwrap();
            give(a, b, world.reaction(joint).unwrap().wrench.force);
        }
    }
    let weight = world.gravity() * f64::from(steps) * DT;
    for (k, &body) in bodies.iter().enumerate().filter(|(_, b)| world.mass(**b).is_some()) {
        let missing = momenta(&world)[k] - before[k] - given[k] - weight;
        assert!(
            missing.length() < 0.02 * weight.length(),
            "{}: {missing} of {weight} N s",
            world.body_name(body).unwrap()
        );
    }
}

#[test]
fn parts_have_bodies_in_equal_numbers_and_never_begin_with_what_is_tied() {
    // 1500 units of two bodies each, solved in fours
    let first: Vec<u32> = (0..1500).map(|k| 2 * k).collect();
    let tied: Vec<bool> = (0..1500).map(|k| k % 4 != 0).collect();
    let found = cuts(3000, &first, &tied);
    assert_eq!(found, [Cut { body: 1000, place: 500 }, Cut { body: 2000, place: 1000 }]);
    assert_eq!(cuts(3000, &first, &[false, true].repeat(750))[0], Cut { body: 1000, place: 500 });
    assert!(cuts(1999, &first[..1000], &tied).is_empty(), "too small");
    assert!(cuts(3000, &first, &[true; 1500]).is_empty(), "all tied together");
    assert!(cuts(60_000, &(0..10_000).map(|k| 6 * k).collect::<Vec<_>>(), &[]).len() == 7);
}

#[test]
fn a_list_is_split_where_parts_begin() {
    let mut list = [0, 1, 2, 3, 4];
    let parts = split_at_all(&mut list, [0, 2, 5].into_iter());
    assert_eq!(parts.iter().map(|p| p.to_vec()).collect::<Vec<_>>(), [vec![], vec![0, 1], vec![2, 3, 4], vec![]]);
}
