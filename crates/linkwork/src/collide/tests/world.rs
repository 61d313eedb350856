//! The whole of a step's collision: broad phase, memory, warm starts, sensors, filters, and how long it takes.

use super::Random;
use crate::collide::narrow::{self, PairMemory, Place, Touches};
use crate::collide::shape::Form;
use crate::collide::{Collisions, ContactPoint, Manifold, PlacedBody};
use crate::math::Placed;
use crate::scene::{Body, Geometry, Joint, Scene, Shape};
use crate::world::World;
use glam::{DMat3, DQuat, DVec3};

const H: f64 = 1.0 / 60.0;
const G: f64 = 9.81;

fn placed(world: &World) -> Vec<PlacedBody> {
    let of = |slot: usize| {
        world.bodies.at(slot).map(|b| PlacedBody { x: b.x, q: b.q, v: b.v, w: b.w, ..PlacedBody::default() })
    };
    (0..world.bodies.len()).map(|slot| of(slot).unwrap_or_default()).collect()
}

fn update(world: &World, collisions: &mut Collisions) {
    collisions.sync(world.graph_version, &world.bodies, &world.joints);
    collisions.update(&placed(world), H, G);
}

fn random_geometry(random: &mut Random) -> Geometry {
    let kind = random.within(0.0, 5.0) as u32;
    let mut size = || random.within(0.05, 0.2);
    match kind {
        0 => Geometry::Sphere { radius: size() },
        1 => Geometry::Capsule { radius: size(), length: size() },
        2 => Geometry::Cylinder { radius: size(), length: size() },
        _ => Geometry::Box { size: [size(), size(), size()] },
    }
}

/// All contacts by asking every pair of colliders.
fn all_pairs(world: &World) -> Vec<(u32, u32, usize)> {
    let bodies = placed(world);
    let mut found = Vec::new();
    let (mut work, mut touches) = (Default::default(), Touches::default());
    let list: Vec<_> = world.bodies.iter().collect();
    for (i, (ia, a)) in list.iter().enumerate() {
        for (ib, b) in &list[i + 1..] {
            if !a.is_dynamic() && !b.is_dynamic() {
                continue;
            }
            for ca in a.colliders.iter() {
                for cb in b.colliders.iter() {
                    let (pa, pb) = (&bodies[ia.slot()], &bodies[ib.slot()]);
                    let speed = |p: &PlacedBody, sweep: f64| p.v.length() + p.w.length() * sweep;
                    let reach = 4e-3 + G * H * H + H * (speed(pa, ca.sweep) + speed(pb, cb.sweep));
                    let at = |p: &PlacedBody, c: &crate::collide::shape::Collider| {
                        let r = DMat3::from_quat(p.q);
                        Place { x: p.x + r * c.position, r: r * c.turn }
                    };
                    let (qa, qb) = (at(pa, ca), at(pb, cb));
                    let mut memory = PairMemory::default();
                    narrow::contacts(
                        (&ca.form, &qa),
                        (&cb.form, &qb),
                        reach,
                        0.0,
                        &mut memory,
                        &mut work,
                        &mut touches,
                    );
                    let count = touches.iter().map(|t| t.points.len()).sum();
                    if count > 0 {
                        found.push((ia.slot() as u32, ib.slot() as u32, count));
                    }
                }
            }
        }
    }
    found
}

fn moving_cloud(count: usize, spread: f64) -> World {
    let mut random = Random(5);
    let mut scene = Scene::new("cloud");
    scene.body(Body::fixed("floor").shape(Geometry::Plane).at([0.0, 0.0, -spread]));
    for i in 0..count {
        let body = Body::new(format!("{i}"))
            .at(random.vector(spread).to_array())
            .moving(random.vector(3.0).to_array(), random.vector(4.0).to_array());
        scene.body(body.shape(random_geometry(&mut random)));
    }
    World::build(&scene).unwrap()
}

fn fly(world: &mut World, bounce: f64) {
    for (_, b) in world.bodies.iter_mut().filter(|(_, b)| b.is_dynamic()) {
        b.x += b.v * H;
        b.q = (crate::math::rotation::exp(b.w * H) * b.q).normalize();
        for k in 0..3 {
            if b.x[k].abs() > bounce {
                b.v[k] = -b.v[k].abs() * b.x[k].signum();
            }
        }
    }
}

#[test]
fn the_broad_phase_finds_what_asking_all_pairs_finds() {
    let mut world = moving_cloud(120, 0.8);
    let mut collisions = Collisions::default();
    let mut seen = 0;
    for step in 0..60 {
        update(&world, &mut collisions);
        let mut found: Vec<(u32, u32, usize)> = Vec::new();
        for m in collisions.manifolds.iter() {
            match found.last_mut() {
                Some(last) if (last.0, last.1) == (m.a, m.b) => last.2 += m.points().len(),
                _ => found.push((m.a, m.b, m.points().len())),
            }
        }
        let expected = all_pairs(&world);
        let pairs = |list: &[(u32, u32, usize)]| list.iter().map(|p| (p.0, p.1)).collect::<Vec<_>>();
        assert_eq!(pairs(&found), pairs(&expected), "step {step}");
        seen += expected.len();
        fly(&mut world, 0.8);
    }
    assert!(seen > 1000, "{seen}");
}

/// While some take smaller steps the others wait where these have taken them; contacts of the former alone are looked for.
#[test]
fn a_part_of_a_step_finds_what_a_look_from_scratch_finds_and_keeps_the_rest() {
    for (every, spread) in [(3, 0.5), (40, 0.6)] {
        let mut world = moving_cloud(120, spread);
        let moves = |slot: usize| slot % every == 1;
        let (mut collisions, mut looked_at) = (Collisions::default(), 0);
        for _ in 0..10 {
            update(&world, &mut collisions);
            let whole: Vec<Manifold> = collisions.manifolds.to_vec();
            let mut last: Vec<Manifold> = Vec::new();
            // all have moved before the first part, and only some before the second
            for stale in [None, Some((0..121).filter(|slot| moves(*slot as usize)).collect::<Vec<u32>>())] {
                for (id, b) in
                    world.bodies.iter_mut().filter(|(id, b)| b.is_dynamic() && (stale.is_none() || moves(id.slot())))
                {
                    b.x += b.v * if moves(id.slot()) { 0.5 * H } else { H };
                }
                let mut bodies = placed(&world);
                bodies.iter_mut().enumerate().for_each(|(slot, b)| b.waits = !moves(slot));
                collisions.update_part(&bodies, stale.as_deref(), 0.5 * H, G);
                let mut scratch = Collisions::default();
                scratch.sync(world.graph_version, &world.bodies, &world.joints);
                scratch.update(&placed(&world), 0.5 * H, G);
                let of_what_moves = |m: &&Manifold| moves(m.a as usize) || moves(m.b as usize);
                // how many points depends on the axis that a pair of boxes remembers
                let ends = |m: &Manifold| (m.a, m.b);
                let found: Vec<_> = collisions.present().1.iter().map(ends).collect();
                let expected: Vec<_> = scratch.manifolds.iter().filter(of_what_moves).map(ends).collect();
                assert_eq!(found, expected);
                looked_at += found.len();
                last = collisions.present().1.to_vec();
                // one that solving finds at the end: that of the first part is not told, because its pair is looked at again
                collisions.add_unseen(&last[..1]);
            }
            let unseen = last[0];
            collisions.end_parts(H);
            let mut expected: Vec<Manifold> =
                whole.into_iter().filter(|m| !moves(m.a as usize) && !moves(m.b as usize)).chain(last).collect();
            expected.sort_by_key(|m| (m.collider_a, m.collider_b));
            expected.push(unseen);
            assert_eq!(bits(&collisions.manifolds), bits(&expected));
        }
        assert!(looked_at > 100, "{looked_at}");
    }
}

fn bits(manifolds: &[Manifold]) -> Vec<u64> {
    let point = |p: &crate::collide::ContactPoint| {
        [p.gap, p.position.x, p.position.y, p.position.z, p.impulse_n].map(f64::to_bits)
    };
    manifolds.iter().flat_map(|m| m.points().iter().flat_map(point).collect::<Vec<_>>()).collect()
}

#[test]
fn a_copy_goes_on_bit_for_bit_even_after_its_colliders_are_taken_anew() {
    let mut world = moving_cloud(80, 0.6);
    let mut collisions = Collisions::default();
    for _ in 0..10 {
        update(&world, &mut collisions);
        collisions.manifolds.iter_mut().flat_map(Manifold::points_mut).for_each(|p| p.impulse_n = p.gap + 1.0);
        fly(&mut world, 0.6);
    }
    let mut copy = collisions.clone();
    copy.synced = None;
    for step in 0..20 {
        update(&world, &mut collisions);
        update(&world, &mut copy);
        assert_eq!(bits(&collisions.manifolds), bits(&copy.manifolds), "step {step}");
        fly(&mut world, 0.6);
    }
}

fn stack() -> Scene {
    let mut scene = Scene::new("stack");
    scene.body(Body::fixed("floor").shape(Geometry::Plane));
    for i in 0..3 {
        scene.body(
            Body::new(format!("box {i}")).at([0.0, 0.0, 0.5 + f64::from(i)]).shape(Geometry::Box { size: [1.0; 3] }),
        );
    }
    scene
}

#[test]
fn impulses_stay_with_their_points() {
    let mut world = World::build(&stack()).unwrap();
    let mut collisions = Collisions::default();
    update(&world, &mut collisions);
    assert_eq!(collisions.manifolds.len(), 3);
    assert!(collisions.manifolds.iter().all(|m| m.points().len() == 4 && m.normal.distance(DVec3::Z) < 1e-12));
    for (i, m) in collisions.manifolds.iter_mut().enumerate() {
        for (k, p) in m.points_mut().iter_mut().enumerate() {
            p.impulse_n = (10 * i + k + 1) as f64;
            p.impulse_t = DVec3::X * p.impulse_n;
        }
    }
    let corner = |m: &Manifold, k: usize| m.points()[k].position;
    let before = collisions.manifolds.clone();
    // everything moves and turns together a little
    let turn = glam::DQuat::from_rotation_y(1e-3);
    for (_, b) in world.bodies.iter_mut().filter(|(_, b)| b.is_dynamic()) {
        b.x = turn * b.x;
        b.q = turn * b.q;
    }
    update(&world, &mut collisions);
    for (old, new) in before.iter().zip(collisions.manifolds.iter()).skip(1) {
        for p in new.points() {
            let k = (0..4).find(|&k| (turn * corner(old, k)).distance(p.position) < 1e-3).unwrap();
            assert_eq!(p.impulse_n, old.points()[k].impulse_n);
            assert!((p.impulse_t - turn * old.points()[k].impulse_t).length() < 1e-6 * p.impulse_n);
        }
    }
}

/// Sensors and what overlaps them, by slots, in a step that moves nothing.
fn sensed(world: &World, collisions: &mut Collisions) -> Vec<(usize, usize)> {
    let seen = collisions.end_watch(|slot| world.bodies.at(slot).map(|b| b.placed()));
    seen.map(|(sensor, _, other, _)| (sensor.slot(), other.slot())).collect()
}

#[test]
fn joined_bodies_groups_sensors_and_edits_decide_what_collides() {
    let pairs = |world: &World, collisions: &mut Collisions| {
        update(world, collisions);
        collisions.manifolds.iter().map(|m| (m.a, m.b)).collect::<Vec<_>>()
    };
    let mut scene = stack();
    scene.joint(Joint::fixed("joint", "box 0", "box 1", [0.0, 0.0, 1.0]));
    let mut world = World::build(&scene).unwrap();
    let mut collisions = Collisions::default();
    assert_eq!(pairs(&world, &mut collisions), [(0, 1), (2, 3)]);
    let joint = world.joint("joint").unwrap();
    world.remove_joint(joint);
    assert_eq!(pairs(&world, &mut collisions), [(0, 1), (1, 2), (2, 3)]);

    scene.joints[0].collide = true;
    assert_eq!(pairs(&World::build(&scene).unwrap(), &mut Collisions::default()), [(0, 1), (1, 2), (2, 3)]);

    let mut scene = stack();
    scene.bodies[2].shapes[0] = scene.bodies[2].shapes[0].clone().groups(2, 1);
    scene.bodies[3].shapes[0] = scene.bodies[3].shapes[0].clone().groups(2, 1);
    let mut world = World::build(&scene).unwrap();
    let mut collisions = Collisions::default();
    assert_eq!(pairs(&world, &mut collisions), [(0, 1), (1, 2)]);

    let top = world.body("box 2").unwrap();
    world.remove_body(top);
    let sensor = Shape::new(Geometry::Sphere { radius: 0.1 }).sensor();
    world.add_body(&Body::fixed("eye").at([0.0, 0.0, 2.0]).placed_shape(sensor)).unwrap();
    assert_eq!(pairs(&world, &mut collisions), [(0, 1), (1, 2)]);
    assert_eq!(sensed(&world, &mut collisions), [(3, 2)]);
}

#[test]
fn two_bodies_that_fall_together_are_seen_before_the_lower_one_stops() {
    let mut scene = stack();
    scene.bodies.truncate(3);
    scene.bodies[2].position[2] = 1.62;
    for body in &mut scene.bodies[1..] {
        body.velocity = [0.0, 0.0, -5.0];
    }
    let world = World::build(&scene).unwrap();
    let mut collisions = Collisions::default();
    update(&world, &mut collisions);
    let between = collisions.manifolds.iter().find(|m| m.a == 1 && m.b == 2).unwrap();
    assert!(between.points().iter().all(|p| (p.gap - 0.12).abs() < 1e-12));
}

/// Symptom: a sensor told of a body that had been put elsewhere. Cause: where all pairs are still nothing was looked at, and their
/// pair was none any more.
#[test]
fn a_sensor_forgets_what_is_put_elsewhere() {
    let mut scene = Scene::new("eye");
    scene.body(Body::fixed("eye").placed_shape(Shape::new(Geometry::Sphere { radius: 0.5 }).sensor()));
    scene.body(Body::new("ball").shape(Geometry::Sphere { radius: 0.1 }));
    let world = World::build(&scene).unwrap();
    let mut collisions = Collisions::default();
    update(&world, &mut collisions);
    assert_eq!(sensed(&world, &mut collisions), [(0, 1)]);
    let mut bodies = placed(&world);
    bodies[1].x.x += 100.0;
    collisions.update(&bodies, H, G);
    assert!(collisions.end_watch(|slot| Some(Placed::new(bodies[slot].x, bodies[slot].q))).next().is_none());
}

/// Points that follow bodies which hardly move are those that a look from scratch finds, to second order.
#[test]
fn points_of_what_hardly_moves_follow() {
    let world = World::build(&stack()).unwrap();
    let (mut random, mut followed) = (Random(3), Collisions::default());
    update(&world, &mut followed);
    let mut bodies = placed(&world);
    for _ in 0..3 {
        for body in bodies.iter_mut().skip(1) {
            body.x += random.vector(5e-9);
            body.q = (DQuat::from_scaled_axis(random.vector(5e-9)) * body.q).normalize();
        }
        let mut pair_by_pair = followed.clone();
        pair_by_pair.renumbered = true;
        pair_by_pair.update(&bodies, H, G);
        followed.update(&bodies, H, G);
        assert_eq!(bits(&followed.manifolds), bits(&pair_by_pair.manifolds));
        let mut anew = Collisions::default();
        anew.sync(world.graph_version, &world.bodies, &world.joints);
        anew.update(&bodies, H, G);
        assert_eq!(followed.manifolds.len(), anew.manifolds.len());
        for (a, b) in followed.manifolds.iter().zip(anew.manifolds.iter()) {
            assert_eq!((a.a, a.b, a.points().len()), (b.a, b.b, b.points().len()));
            for point in a.points() {
                let apart = |p: &&ContactPoint| p.position.distance(point.position);
                let other = b.points().iter().min_by(|p, q| apart(p).total_cmp(&apart(q))).unwrap();
                assert!(apart(&other) < 1e-6 && (other.gap - point.gap).abs() < 1e-13, "{point:?}\n{other:?}");
            }
        }
    }
    assert!(followed.manifolds.iter().flat_map(|m| m.points()).any(|p| p.gap != p.found_gap), "no look was spared");
}

#[test]
fn a_warm_update_allocates_nothing() {
    let world = World::build(&stack()).unwrap();
    let mut collisions = Collisions::default();
    collisions.sync(world.graph_version, &world.bodies, &world.joints);
    let mut bodies = placed(&world);
    let mut slide = |steps: usize| {
        for _ in 0..steps {
            bodies.iter_mut().skip(1).for_each(|b| b.x.x += 1e-4);
            collisions.update(&bodies, H, G);
        }
    };
    slide(3);
    let counted = allocation_counter::measure(|| slide(20));
    assert_eq!(counted.count_total, 0);
    assert_eq!(collisions.manifolds.len(), 3);
}

/// Prints times; run by hand: `cargo test --release --lib collide_takes -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn collide_takes() {
    let clock = std::time::Instant::now;
    let mut scene = Scene::new("pyramid");
    scene.body(Body::fixed("floor").shape(Geometry::Plane));
    for row in 0..20 {
        for k in 0..20 - row {
            let (x, z) = (f64::from(k) + 0.5 * f64::from(row), 0.5 + f64::from(row));
            scene.body(Body::new(format!("{row} {k}")).at([x, 0.0, z]).shape(Geometry::Box { size: [0.99, 1.0, 1.0] }));
        }
    }
    let world = World::build(&scene).unwrap();
    let mut bodies = placed(&world);
    let mut collisions = Collisions::default();
    let mut random = Random(1);
    update(&world, &mut collisions);
    let steps = 600;
    let start = clock();
    for _ in 0..steps {
        bodies.iter_mut().skip(1).for_each(|b| b.x += random.vector(1e-6));
        collisions.update(&bodies, H, G);
    }
    let each = start.elapsed().as_secs_f64() / f64::from(steps);
    let points: usize = collisions.manifolds.iter().map(|m| m.points().len()).sum();
    println!("pyramid of 210: {:.3} ms a step, {} manifolds, {points} points", 1e3 * each, collisions.manifolds.len());

    let half = Form::Box { half: DVec3::splat(0.5) };
    let (pa, mut pb) = (Place::default(), Place { x: DVec3::new(0.3, 0.2, 0.9999), ..Place::default() });
    let (mut work, mut touches, mut memory) = (Default::default(), Touches::default(), PairMemory::default());
    for (name, step) in [("kept axis", 0.0), ("searched axis", 1e9)] {
        let start = clock();
        let mut path = 0.0;
        for k in 0..200_000 {
            pb.x.x = 0.3 + 1e-9 * f64::from(k % 10);
            path += step;
            narrow::contacts((&half, &pa), (&half, &pb), 4e-3, path, &mut memory, &mut work, &mut touches);
        }
        println!("box-box, {name}: {:.3} µs", start.elapsed().as_secs_f64() * 1e6 / 2e5);
    }

    for count in [1000, 10_000] {
        let spread = 0.4 * f64::cbrt(count as f64);
        let mut world = moving_cloud(count, spread);
        let mut collisions = Collisions::default();
        update(&world, &mut collisions);
        let (mut broad, mut all) = (0.0, 0.0);
        for _ in 0..60 {
            fly(&mut world, spread);
            let bodies = placed(&world);
            let start = clock();
            collisions.follow(&bodies, H, G, true);
            collisions.find_pairs();
            broad += start.elapsed().as_secs_f64();
            collisions.find_contacts(&bodies, 1.0 / 60.0);
            all += start.elapsed().as_secs_f64();
        }
        println!(
            "{count} flying bodies: broad phase {:.3} ms, all {:.3} ms, {} pairs, {} manifolds",
            1e3 * broad / 60.0,
            1e3 * all / 60.0,
            collisions.pairs.len(),
            collisions.manifolds.len()
        );
    }
}
