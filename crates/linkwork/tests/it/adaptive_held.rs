//! Adaptive dynamics with limits, forces and contacts: against a dense complementarity problem, closed forms, the same tree with
//! everything active, and the direct method.

use crate::common::{Random, Run, build, registered, weightless};
use crate::dense;

use linkwork::glam::DVec3;
use linkwork::reduced::{self, Activity, Adaptive, CannotAdapt, CannotStep, Data, Model, State, would_touch};
use linkwork::scene::{Body, Coordinate, Geometry, Joint, JointKind, Motor, Scene, Shape, WORLD};
use linkwork::{Method, Wrench};

fn everything() -> Activity {
    Activity { tolerance: 0.0, ..Activity::default() }
}

/// Hinges about y between bars of 0.3 m along x, at angles of their own.
fn arm(links: usize, gravity: [f64; 3]) -> Scene {
    let mut scene = Scene { gravity, collisions: false, ..Scene::new("arm") };
    let mut above = WORLD.to_string();
    for k in 0..links {
        let (name, x) = (format!("bar {k}"), 0.3 * k as f64);
        let mass = 1.0 + 0.4 * (k % 3) as f64;
        scene.body(
            Body::new(&name).at([x + 0.15, 0.0, 0.0]).with_mass(mass).shape(Geometry::Box { size: [0.3, 0.05, 0.05] }),
        );
        scene.joint(Joint::hinge(format!("joint {k}"), &above, &name, [x, 0.0, 0.0], [0.0, 1.0, 0.0]));
        above = name;
    }
    scene
}

/// M q̈ = r + Σ s λ with s q̈ ≥ 0 ⟂ λ ≥ 0 on the limited rates, by trying which of them are held.
fn accelerations_at_limits(mass: &[f64], free_force: &[f64], limited: &[(usize, f64)]) -> Vec<f64> {
    let n = free_force.len();
    let mut found: Option<Vec<f64>> = None;
    for held in 0..1_u32 << limited.len() {
        let holds = |k: usize| held >> k & 1 == 1;
        let rows = n + held.count_ones() as usize;
        let mut a = vec![vec![0.0; rows]; rows];
        let mut b = vec![0.0; rows];
        for i in 0..n {
            a[i][..n].copy_from_slice(&mass[i * n..(i + 1) * n]);
            b[i] = free_force[i];
        }
        let held = limited.iter().enumerate().filter(|(k, _)| holds(*k));
        for (row, (_, &(rate, side))) in (n..).zip(held) {
            (a[rate][row], a[row][rate]) = (-side, side);
        }
        let Some(x) = dense::solve(a, b) else { continue };
        let opens = limited.iter().all(|&(rate, side)| side * x[rate] >= -1e-9);
        let pushes = x[n..].iter().all(|lambda| *lambda >= -1e-9);
        if opens && pushes {
            found = Some(x[..n].to_vec());
        }
    }
    found.expect("a positive definite problem has a solution")
}

#[test]
fn limits_are_a_complementarity_problem_and_not_a_list_of_joints_to_hold() {
    // Holding every joint that would go beyond its bound holds some that the others' bounds push back inside.
    let model = Model::of(&build(&arm(5, [0.0, 0.0, -9.81])));
    let (mut random, mut data) = (Random(11), Data::new(&model));
    let (mut differ, h) = (0, 1e-7);
    for _ in 0..300 {
        let q: Vec<f64> = (0..5).map(|_| random.between(-1.0, 1.0)).collect();
        let force: Vec<f64> = (0..5).map(|_| random.between(-20.0, 20.0)).collect();
        let limited: Vec<(usize, f64)> = (0..5)
            .filter_map(|rate| match random.below(3) {
                0 => None,
                1 => Some((rate, 1.0)),
                _ => Some((rate, -1.0)),
            })
            .collect();
        let state = State { q: q.clone(), v: vec![0.0; 5] };
        reduced::rnea(&model, &mut data, &q, &state.v, &[0.0; 5], &[]);
        let free_force: Vec<f64> = force.iter().zip(&data.force).map(|(f, bias)| f - bias).collect();
        reduced::crba(&model, &mut data, &q);
        let expected = accelerations_at_limits(&data.mass_matrix, &free_force, &limited);

        let mut tree = Adaptive::new(&model, &state, &force, everything()).unwrap();
        for &(rate, side) in &limited {
            let (min, max) = if side > 0.0 { (q[rate], f64::INFINITY) } else { (f64::NEG_INFINITY, q[rate]) };
            tree.set_limit(rate, min, max).unwrap();
        }
        tree.step(h).unwrap();
        let v = tree.state().v;
        let scale = expected.iter().fold(1.0_f64, |m, a| m.max(a.abs()));
        for rate in 0..5 {
            let found = v[rate] / h;
            assert!((found - expected[rate]).abs() < 1e-5 * scale, "rate {rate}: {found} and {}", expected[rate]);
        }
        // M q̈ − r is what the limits push with
        for &(rate, side) in &limited {
            let pushed = (0..5).map(|c| data.mass_matrix[rate * 5 + c] * expected[c]).sum::<f64>() - free_force[rate];
            assert!((tree.limit_force(rate) - pushed).abs() < 1e-4 * scale, "{} and {pushed}", tree.limit_force(rate));
            assert!(side * pushed > -1e-6);
        }
        // how often it matters: joints that would go beyond, freely, and leave
        reduced::aba(&model, &mut data, &q, &state.v, &force, &[]);
        differ += usize::from(limited.iter().any(|&(r, s)| s * data.acceleration[r] < -1e-3 && s * expected[r] > 1e-3));
    }
    assert!(differ > 20, "only {differ} cases tell the two apart");
}

#[test]
fn a_joint_leaves_its_limit_when_the_force_says_so() {
    // one bar without weight on a hinge, pushed against its bound and then away from it
    let scene = arm(1, [0.0; 3]);
    let model = Model::of(&build(&scene));
    let mut data = Data::new(&model);
    reduced::crba(&model, &mut data, &[0.0]);
    let inertia = data.mass_matrix[0];
    let state = State { q: vec![0.1], v: vec![0.0] };
    let mut bar = Adaptive::new(&model, &state, &[-0.5], everything()).unwrap();
    bar.set_limit(0, 0.0, 1.0).unwrap();
    let arrives = (2.0 * 0.1 * inertia / 0.5_f64).sqrt();
    let h = 1e-3;
    let steps = (arrives / h).ceil() as usize + 50;
    for _ in 0..steps {
        bar.step(h).unwrap();
        assert!(bar.state().q[0] >= -1e-12, "beyond its bound: {}", bar.state().q[0]);
    }
    assert!(bar.state().q[0].abs() < 1e-12 && bar.state().v[0].abs() < 1e-12, "{:?}", bar.state());
    assert!((bar.limit_force(0) - 0.5).abs() < 1e-12, "{}", bar.limit_force(0));
    bar.set_force(0, &[0.2]).unwrap();
    for _ in 0..200 {
        bar.step(h).unwrap();
    }
    let expected = 0.5 * 0.2 / inertia * 0.2 * 0.2;
    assert!((bar.state().q[0] - expected).abs() < 1e-9, "{} and {expected}", bar.state().q[0]);
    assert_eq!(bar.limit_force(0), 0.0);
}

#[test]
fn a_joint_beyond_its_bounds_is_moved_back_without_speed() {
    let model = Model::of(&build(&arm(4, [0.0; 3])));
    let state = State { q: vec![0.3, -0.2, 0.5, 0.1], v: vec![0.0; 4] };
    let mut tree = Adaptive::new(&model, &state, &[0.0; 4], Activity { most: 0, ..everything() }).unwrap();
    assert_eq!(tree.active().count(), 1, "all but the first stand still");
    tree.set_limit(2, -0.1, 0.1).unwrap();
    tree.set_limit(1, 0.0, 0.0).unwrap();
    let stepped = tree.step(1e-3).unwrap();
    assert!((stepped.overshoot - 0.4).abs() < 1e-12, "{}", stepped.overshoot);
    let now = tree.state();
    assert!((now.q[2] - 0.1).abs() < 1e-9 && now.q[1].abs() < 1e-9, "{:?}", now.q);
    assert!(now.v.iter().all(|v| v.abs() < 1e-9), "{:?}", now.v);
}

#[test]
fn a_joint_with_one_value_is_held() {
    let model = Model::of(&build(&arm(3, [0.0, 0.0, -9.81])));
    let state = State { q: vec![0.0, 0.4, 0.0], v: vec![0.0; 3] };
    let mut tree = Adaptive::new(&model, &state, &[0.0; 3], everything()).unwrap();
    tree.set_limit(1, 0.4, 0.4).unwrap();
    for _ in 0..500 {
        tree.step(1e-3).unwrap();
        let now = tree.state();
        assert!((now.q[1] - 0.4).abs() < 1e-9 && now.v[1].abs() < 1e-9, "{now:?}");
    }
    assert!(tree.state().q[0].abs() > 0.1, "the others swing");
}

#[test]
fn what_is_asked_of_a_tree_is_checked() {
    let mut scene = arm(2, [0.0; 3]);
    scene.body(Body::new("bob").at([0.7, 0.0, 0.0]).with_mass(1.0).with_inertia([0.1; 3]));
    scene.joint(Joint::ball("ball", "bar 1", "bob", [0.6, 0.0, 0.0]));
    let model = Model::of(&build(&scene));
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let mut tree = Adaptive::new(&model, &state, &vec![0.0; model.rates()], everything()).unwrap();
    assert_eq!(tree.set_limit(2, -1.0, 1.0), Err(CannotAdapt::NotOneRate { index: 2 }));
    assert_eq!(tree.set_limit(9, -1.0, 1.0), Err(CannotAdapt::NotOneRate { index: 9 }));
    assert!(matches!(tree.set_limit(0, 1.0, -1.0), Err(CannotAdapt::Bounds { index: 0, .. })));
    assert!(matches!(tree.set_limit(0, f64::NAN, 1.0), Err(CannotAdapt::Bounds { .. })));
    assert_eq!(tree.set_force(2, &[0.0]), Err(CannotAdapt::BadState));
    assert_eq!(tree.set_force(7, &[0.0]), Err(CannotAdapt::NoSuchBody { index: 7 }));
    assert!(tree.set_load(3, Wrench::default()).is_err());
    assert!(tree.jacobian(3, DVec3::ZERO).is_none());
    for h in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(tree.step(h), Err(CannotStep::Size(_))), "{h}");
    }
    tree.step(1e-3).unwrap();
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let model = Model::of(&build(&arm(12, [0.0, 0.0, -9.81])));
    let state = State { q: (0..12).map(|k| 0.1 * (k % 3) as f64).collect(), v: vec![0.0; 12] };
    let mut tree = Adaptive::new(&model, &state, &[0.0; 12], Activity { most: 4, ..everything() }).unwrap();
    (0..20).for_each(|_| assert!(tree.step(1e-3).is_ok()));
    let (before, active, lost) = (tree.state(), tree.active().collect::<Vec<_>>(), tree.lost());
    tree.set_activity(Activity { most: 9, ..everything() });
    assert_eq!(tree.step(1e200), Err(CannotStep::NotFinite));
    assert_eq!(tree.state(), before);
    assert_eq!((tree.active().collect::<Vec<_>>(), tree.lost()), (active, lost));
    tree.step(1e-3).unwrap();
    assert_eq!(tree.active().count(), 10);
}

#[test]
fn limits_among_active_joints_are_those_of_the_direct_method() {
    // an arm that falls into its bounds and swings back out of them
    let mut scene = arm(4, [0.0, 0.0, -9.81]);
    for (k, joint) in scene.joints.iter_mut().enumerate().skip(1) {
        joint.coordinates.push(Coordinate::of("angle").limit(Some(-0.2), Some(0.15 + 0.1 * k as f64)));
    }
    let world = build(&scene);
    let model = Model::of(&world);
    let ends = [2e-3, 1e-3, 5e-4].map(|h| {
        let mut tree = Adaptive::of(&world, everything()).unwrap();
        let mut shown = build(&scene);
        let mut pressed = 0;
        for _ in 0..(0.8 / h) as usize {
            pressed += tree.step(h).unwrap().at_limits;
        }
        assert!(pressed > 50, "bounds must matter");
        tree.show(&mut shown, &model, 0.8);
        let mut direct = Run::by(Method::Direct, &scene, h);
        direct.to(0.8);
        let end = shown.body("bar 3").unwrap();
        let at = |world: &linkwork::World| world.pose(end).unwrap().position;
        at(&shown).distance(direct.position("bar 3"))
    });
    assert!(ends[0] < 1e-3 && ends[1] < 2e-4 && ends[2] < 1e-4, "{ends:?}");
}

#[test]
fn a_joint_at_rest_at_its_limit_is_not_active_and_loses_nothing() {
    // A joint that its limit holds would accelerate without it: a metric that ignores limits keeps it active for ever.
    let mut scene = arm(8, [0.0, 0.0, -9.81]);
    for joint in &mut scene.joints {
        joint.coordinates.push(Coordinate::of("angle").limit(Some(-0.5), Some(0.05)));
    }
    let world = build(&scene);
    let mut tree = Adaptive::of(&world, Activity { most: usize::MAX, tolerance: 0.05, settling: 0.05 }).unwrap();
    assert!(tree.active().count() > 5);
    for _ in 0..1500 {
        tree.step(1e-3).unwrap();
    }
    // it has fallen onto its bounds and lies there
    assert_eq!(tree.active().count(), 1, "lost {}", tree.lost());
    assert!(tree.lost() < 0.05);
    assert!(tree.state().q.iter().all(|q| (q - 0.05).abs() < 1e-3), "{:?}", tree.state().q);
    // until a force lifts it
    tree.set_force(6, &[-60.0]).unwrap();
    for _ in 0..100 {
        tree.step(1e-3).unwrap();
    }
    assert!(tree.state().q[6] < 0.0 && tree.active().count() > 1, "{:?}", tree.state().q);
}

#[test]
fn loads_act_on_one_link_and_open_the_way_to_it() {
    let model = Model::of(&build(&arm(40, [0.0; 3])));
    let state = State { q: vec![0.02; 40], v: vec![0.0; 40] };
    let none = vec![0.0; 40];
    let load = Wrench { force: DVec3::new(0.3, 0.0, 1.0), torque: DVec3::Y * 0.2 };
    let mut outer = vec![Wrench::default(); 40];
    outer[33] = load;
    let mut data = Data::new(&model);
    reduced::aba(&model, &mut data, &state.q, &state.v, &none, &outer);
    let mut all = Adaptive::new(&model, &state, &none, everything()).unwrap();
    all.set_load(33, load).unwrap();
    let scale = data.acceleration.iter().fold(0.0_f64, |m, a| m.max(a.abs()));
    for (found, expected) in all.accelerations().iter().zip(&data.acceleration) {
        assert!((found - expected).abs() < 1e-10 * scale);
    }
    let lost = |most: usize| {
        let mut tree = Adaptive::new(&model, &state, &none, Activity { most, ..everything() }).unwrap();
        tree.set_load(33, load).unwrap();
        let stepped = tree.step(1e-6).unwrap();
        assert!(tree.active().any(|link| link == 33), "the link has a joint of its own");
        // the metric knows the load: what is lost is what articulated bodies say of the joints at rest
        let active: Vec<usize> = tree.active().collect();
        let at_rest = (0..40).filter(|k| !active.contains(k));
        let expected = at_rest.map(|k| data.acceleration[k] * data.acceleration[k]).sum::<f64>().sqrt();
        assert!((stepped.lost - expected).abs() < 1e-6 * (1.0 + expected), "{} and {expected}", stepped.lost);
        stepped.lost
    };
    let found = [8, 16, 32].map(lost);
    assert!(found[0] > found[1] && found[1] > found[2], "{found:?}");
    let mut tree = Adaptive::new(&model, &state, &none, everything()).unwrap();
    tree.set_load(33, load).unwrap();
    tree.set_load(33, Wrench::default()).unwrap();
    tree.step(1e-3).unwrap();
    assert!(tree.state().v.iter().all(|v| v.abs() < 1e-12), "a load that was taken away");
}

#[test]
fn forces_change_inside_pieces_that_stand_still() {
    let model = Model::of(&build(&arm(32, [0.0, 0.0, -9.81])));
    let state = State { q: vec![0.05; 32], v: vec![0.0; 32] };
    let mut force = vec![0.0; 32];
    let mut tree = Adaptive::new(&model, &state, &force, Activity { most: 3, ..everything() }).unwrap();
    for (joint, value) in [(5, 2.0), (20, -3.0), (31, 0.5)] {
        force[joint] = value;
        tree.set_force(joint, &[value]).unwrap();
    }
    let mut data = Data::new(&model);
    reduced::aba(&model, &mut data, &state.q, &state.v, &force, &[]);
    tree.step(1e-12).unwrap();
    let active: Vec<usize> = tree.active().collect();
    let at_rest = (0..32).filter(|k| !active.contains(k)).map(|k| data.acceleration[k]);
    let expected = at_rest.map(|a| a * a).sum::<f64>().sqrt();
    assert!((tree.lost() - expected).abs() < 1e-8 * expected, "{} and {expected}", tree.lost());
}

/// A bar on a hinge above the ground, its free end falling onto it.
fn falling_bar(friction: f64, restitution: f64) -> Scene {
    let mut scene = Scene::new("falling bar");
    let surface = |geometry| Shape::new(geometry).friction(friction).restitution(restitution);
    scene.body(Body::fixed("ground").placed_shape(surface(Geometry::Plane)));
    let shape = surface(Geometry::Sphere { radius: 0.05 }).at([0.5, 0.0, 0.0]);
    scene.body(Body::new("bar").at([0.5, 0.0, 0.3]).with_mass(2.0).with_inertia([0.01, 0.2, 0.2]).placed_shape(shape));
    scene.joint(Joint::hinge("hinge", WORLD, "bar", [0.0, 0.0, 0.3], [0.0, 1.0, 0.0]));
    scene
}

#[test]
fn a_link_falls_onto_a_plane_and_rests_there() {
    let world = build(&falling_bar(0.0, 0.0));
    let mut tree = Adaptive::of(&world, everything()).unwrap();
    let mut deepest = 0.0_f64;
    for _ in 0..1000 {
        let stepped = tree.step(1e-3).unwrap();
        deepest = deepest.max(stepped.overshoot);
    }
    assert!(deepest < 1e-6, "{deepest}");
    // the end of the bar, 1 m from the hinge, lies 5 cm above the ground
    let angle = (0.25_f64 / 1.0).asin();
    assert!((tree.state().q[0] - angle).abs() < 1e-6, "{} and {angle}", tree.state().q[0]);
    assert!(tree.state().v[0].abs() < 1e-12);
    // all its mass is at that end: the ground carries the weight
    let on = tree.contact_on(0);
    assert!((on.force - DVec3::Z * 2.0 * 9.81).length() < 1e-4, "{on:?}");
}

#[test]
fn a_link_bounces_as_high_as_it_should() {
    let world = build(&falling_bar(0.0, 0.5));
    let mut tree = Adaptive::of(&world, everything()).unwrap();
    let (mut struck, mut before, mut highest) = (false, 0.0_f64, f64::INFINITY);
    for _ in 0..6000 {
        let v = tree.state().v[0];
        let contacts = tree.step(1e-4).unwrap().contacts;
        let now = tree.state();
        if contacts > 0 && !struck {
            (struck, before) = (true, v);
            assert!((now.v[0] + 0.5 * before).abs() < 2e-3 * before, "{} after {before}", now.v[0]);
        } else if struck && contacts > 0 {
            break;
        }
        highest = if struck { highest.min(now.q[0]) } else { highest };
    }
    // with half its speed it rises until m g r (sin a − sin b) = I w²/2
    let inertia = 0.2 + 2.0 * 1.0;
    let low = 0.25_f64.asin();
    let rise = 0.5 * inertia * (0.5 * before).powi(2) / (2.0 * 9.81 * 1.0);
    let expected = (low.sin() - rise).asin();
    assert!((highest - expected).abs() < 1e-3, "{highest} and {expected}");
}

#[test]
fn a_block_on_a_slider_slides_to_rest_as_friction_says() {
    // along the ground on a planar joint: v²/2μg, and nothing sideways
    let mut scene = Scene::new("block");
    scene.body(Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane).friction(0.4)));
    let shape = Shape::new(Geometry::Box { size: [0.4, 0.3, 0.2] }).friction(0.4);
    scene.body(
        Body::new("block").at([0.0, 0.0, 0.1]).with_mass(3.0).placed_shape(shape).moving([1.2, 0.9, 0.0], [0.0; 3]),
    );
    let world = build(&scene);
    let mut tree = Adaptive::of(&world, everything()).unwrap();
    for _ in 0..800 {
        let stepped = tree.step(1e-3).unwrap();
        assert!(stepped.overshoot < 1e-9);
    }
    let at = tree.pose(0).unwrap().position;
    let way = DVec3::new(0.8, 0.6, 0.0) * (1.5 * 1.5 / (2.0 * 0.4 * 9.81));
    assert!(at.distance(way + DVec3::Z * 0.1) < 1e-4, "{at} and {way}");
    assert!((tree.contact_on(0).force - DVec3::Z * 3.0 * 9.81).length() < 1e-6, "{:?}", tree.contact_on(0));
}

/// The chain of the scene, by some method, for a time; where its last links are.
fn fallen(scene: &Scene, links: usize, activity: Activity, h: f64, time: f64) -> (Vec<DVec3>, usize, usize) {
    let world = build(scene);
    let mut tree = Adaptive::of(&world, activity).unwrap();
    let (mut active, mut contacts) = (0, 0);
    for _ in 0..(time / h).round() as usize {
        let stepped = tree.step(h).unwrap();
        (active, contacts) = (active.max(stepped.active), contacts.max(stepped.contacts));
    }
    ((links - 6..links).map(|k| tree.pose(k).unwrap().position).collect(), active, contacts)
}

fn farthest(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

#[test]
fn a_chain_that_falls_on_the_ground_is_the_direct_methods() {
    let links = 12;
    let scene = registered("chain", &[("links", links as f64), ("lying", 5.0)]);
    let off = [1e-3, 5e-4].map(|h| {
        let (all, _, contacts) = fallen(&scene, links, everything(), h, 0.3);
        assert!(contacts >= 4, "{contacts}");
        let mut direct = Run::by(Method::Direct, &scene, h);
        direct.to(0.3);
        let there: Vec<DVec3> = (links - 6..links).map(|k| direct.position(&format!("link{k}"))).collect();
        farthest(&all, &there)
    });
    assert!(off[0] < 2e-3 && off[1] < 1e-3, "{off:?}");
}

#[test]
fn a_long_chain_on_the_ground_moves_where_something_happens_alone() {
    let links = 300;
    let scene = registered("chain", &[("links", links as f64), ("lying", 5.0)]);
    let (all, ..) = fallen(&scene, links, everything(), 1e-3, 0.3);
    let off: Vec<(f64, usize)> = [1.0, 0.1, 0.01]
        .iter()
        .map(|&tolerance| {
            let activity = Activity { most: 64, tolerance, settling: 0.1 };
            let (some, active, contacts) = fallen(&scene, links, activity, 1e-3, 0.3);
            assert!(active < 80 && contacts >= 4, "{active} joints active, {contacts} contacts");
            (farthest(&all, &some), active)
        })
        .collect();
    assert!(off.iter().all(|(off, _)| *off < 5e-3), "{off:?}");
    assert!(off[2].0 < 1e-3, "{off:?}");
}

#[test]
fn what_adaptive_dynamics_do_not_know_is_refused_by_name() {
    let refused = |change: &dyn Fn(&mut Scene)| {
        let mut scene = falling_bar(0.5, 0.0);
        change(&mut scene);
        match Adaptive::of(&build(&scene), everything()) {
            Err(error @ CannotAdapt::Unsupported { .. }) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("taken"),
        }
    };
    let drive = |acting: Coordinate| move |scene: &mut Scene| scene.joints[0].coordinates.push(acting.clone());
    for acting in [
        Coordinate::of("angle").damping(1.0),
        Coordinate::of("angle").friction(1.0),
        Coordinate::of("angle").motor(Motor::Velocity { target: 1.0, max_force: None }),
    ] {
        assert!(refused(&drive(acting)).contains("hinge"));
    }
    let text = refused(&|scene: &mut Scene| {
        scene.body(Body::fixed("step").at([3.0, 0.0, 0.0]).shape(Geometry::Box { size: [1.0; 3] }));
    });
    assert!(text.contains("\"step\""), "{text}");
    let text = refused(&|scene: &mut Scene| {
        scene.bodies[1].shapes[0].geometry = Geometry::Cylinder { radius: 0.1, length: 0.2 };
    });
    assert!(text.contains("\"bar\""), "{text}");
    let text = refused(&|scene: &mut Scene| {
        scene.joint(Joint::ball("second", WORLD, "bar", [1.0, 0.0, 0.3]));
    });
    assert!(text.contains("loop"), "{text}");
    let text = refused(&|scene: &mut Scene| scene.joints[0].collide = true);
    assert!(text.contains("\"hinge\"") && text.contains("collide"), "{text}");
    let mut scene = weightless("two");
    scene.body(Body::new("a").with_mass(1.0).with_inertia([1.0; 3]));
    scene.joint(
        Joint::new(JointKind::Universal, "cross", WORLD, "a")
            .at([0.0; 3])
            .axis([1.0, 0.0, 0.0])
            .second_axis([0.0, 1.0, 0.0]),
    );
    scene.joints[0].coordinates.push(Coordinate::of("angle_a").limit(Some(-0.1), Some(0.1)));
    assert!(matches!(Adaptive::of(&build(&scene), everything()), Err(CannotAdapt::Unsupported { .. })));
}

/// Links that would touch each other are told; groups and masks, and joints, keep bodies apart.
#[test]
fn bodies_that_would_pass_through_each_other_are_told() {
    let mut scene = registered("pyramid", &[("base", 2.0)]);
    let world = build(&scene);
    let (a, b) = would_touch(&world).expect("boxes");
    assert_ne!(a, b);
    scene.collisions = false;
    assert_eq!(would_touch(&build(&scene)), None);
    assert_eq!(would_touch(&build(&registered("chain", &[("links", 5.0)]))), None);
    assert_eq!(would_touch(&build(&falling_bar(0.5, 0.0))), None);
}
