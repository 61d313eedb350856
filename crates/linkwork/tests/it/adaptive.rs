//! Divide and conquer, and adaptive dynamics: against articulated bodies, and against themselves with more joints.

use crate::common::{Random, build, weightless};

use linkwork::glam::DVec3;
use linkwork::reduced::{self, Activity, Adaptive, CannotAdapt, Data, Model, State, aba};
use linkwork::scene::{Body, Geometry, Joint, JointKind, Scene, WORLD};

const KINDS: [JointKind; 4] = [JointKind::Hinge, JointKind::Ball, JointKind::Universal, JointKind::Cylindrical];

/// A chain of links of 0.2 m along x, its joints of several kinds or all hinges about y.
fn chain(links: usize, mixed: bool, held: bool, gravity: [f64; 3]) -> Model {
    let mut scene = Scene { gravity, ..Scene::new("chain") };
    scene.collisions = false;
    let mut above = WORLD.to_string();
    for k in 0..links {
        let (name, x) = (format!("link {k}"), 0.2 * k as f64);
        scene.body(
            Body::new(&name)
                .at([x + 0.1, 0.0, 0.0])
                .with_mass(1.0 + 0.1 * (k % 3) as f64)
                .shape(Geometry::Box { size: [0.2, 0.04, 0.06] }),
        );
        let kind = if mixed { KINDS[k % 4] } else { JointKind::Hinge };
        if k > 0 || held {
            let mut joint =
                Joint::new(kind, format!("joint {k}"), &above, &name).at([x, 0.0, 0.0]).axis([0.0, 1.0, 0.0]);
            if kind == JointKind::Universal {
                joint = joint.second_axis([0.0, 0.0, 1.0]);
            }
            scene.joint(joint);
        }
        above = name;
    }
    Model::of(&build(&scene))
}

/// The state of a chain bent a little everywhere, and turning a little where it is told to.
fn bent(model: &Model, moving: impl Fn(usize) -> bool) -> State {
    let mut random = Random(5);
    let mut state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let rates: Vec<f64> = (0..model.rates()).map(|_| random.between(-0.6, 0.6)).collect();
    model.integrate(&mut state.q, &rates, 1.0);
    for r in 0..model.rates() {
        if moving(r) {
            state.v[r] = random.between(-1.0, 1.0);
        }
    }
    state
}

fn everything() -> Activity {
    Activity { tolerance: 0.0, ..Activity::default() }
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

#[test]
fn with_everything_active_adaptive_dynamics_are_articulated_bodies() {
    for (links, held) in [(1, true), (2, true), (13, true), (16, false)] {
        let model = chain(links, true, held, [0.3, 0.0, -9.81]);
        let state = bent(&model, |_| true);
        let force: Vec<f64> = (0..model.rates()).map(|k| 0.1 * (k as f64).sin()).collect();
        let mut data = Data::new(&model);
        aba(&model, &mut data, &state.q, &state.v, &force, &[]);
        let mut adaptive = Adaptive::new(&model, &state, &force, everything()).unwrap();
        assert_eq!(adaptive.active().count(), links);
        let found = adaptive.accelerations();
        let scale = 1.0 + largest(&data.acceleration);
        for (a, b) in found.iter().zip(&data.acceleration) {
            assert!((a - b).abs() < 1e-10 * scale, "{links} links: {a} and {b}");
        }
        assert!(adaptive.lost() == 0.0);
    }
}

#[test]
fn the_metric_of_a_closed_piece_is_what_its_joints_would_do() {
    // nothing is active but the first joint: what is lost is the sum over all others, which articulated bodies tell
    for held in [true, false] {
        let model = chain(21, true, held, [0.5, 0.0, -9.81]);
        let mut state = bent(&model, |_| false);
        // the whole turns and flies as one
        let first = if held { 1 } else { 6 };
        (0..first).for_each(|r| state.v[r] = 0.7 + 0.2 * r as f64);
        let force: Vec<f64> = (0..model.rates()).map(|k| 0.3 * (k as f64).cos()).collect();
        let mut data = Data::new(&model);
        aba(&model, &mut data, &state.q, &state.v, &force, &[]);
        let expected = data.acceleration[first..].iter().map(|a| a * a).sum::<f64>().sqrt();
        let adaptive = Adaptive::new(&model, &state, &force, Activity { most: 0, ..everything() }).unwrap();
        assert_eq!(adaptive.active().count(), 1);
        assert!((adaptive.lost() - expected).abs() < 1e-8 * expected, "{} and {expected}", adaptive.lost());
    }
}

#[test]
fn the_error_falls_as_more_joints_are_active() {
    let model = chain(64, false, true, [0.0, 0.0, -9.81]);
    let state = bent(&model, |_| false);
    let none = vec![0.0; model.rates()];
    let mut data = Data::new(&model);
    aba(&model, &mut data, &state.q, &state.v, &none, &[]);
    let exact = data.acceleration.clone();
    let run = |most: usize| {
        let mut chain = Adaptive::new(&model, &state, &none, Activity { most, ..everything() }).unwrap();
        let off: f64 = chain.accelerations().iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        let lost = chain.lost();
        (0..100).for_each(|_| assert!(chain.step(1e-3).is_ok()));
        (lost, off, chain.pose(63).unwrap().position)
    };
    let all = run(usize::MAX).2;
    let found = [2, 8, 24, 48].map(run);
    for pair in found.windows(2) {
        assert!(pair[1].0 < pair[0].0, "lost: {} then {}", pair[0].0, pair[1].0);
    }
    let off = found.map(|(_, _, end)| end.distance(all));
    assert!(off[3] < 0.5 * off[0] && off[2] < off[0], "{off:?}");
    assert!(found[3].1 < 0.5 * found[0].1, "accelerations: {} then {}", found[0].1, found[3].1);
}

#[test]
fn a_tolerance_is_met_with_as_few_joints_as_it_takes() {
    let model = chain(128, false, true, [0.0; 3]);
    // straight, at rest, a torque at the tip: what it does dies away along the chain
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let mut force = vec![0.0; model.rates()];
    *force.last_mut().unwrap() = 0.01;
    let mut counts = Vec::new();
    for tolerance in [1.0, 1e-2, 1e-4] {
        let chain = Adaptive::new(&model, &state, &force, Activity { tolerance, ..everything() }).unwrap();
        assert!(chain.lost() <= tolerance);
        counts.push(chain.active().count());
    }
    assert!(counts[0] < counts[1] && counts[1] < counts[2] && counts[2] < 60, "{counts:?}");
}

#[test]
fn pieces_that_stand_still_move_as_one_body() {
    // poses through the assembly tree are those of the whole chain
    let model = chain(37, true, true, [0.0, 0.0, -9.81]);
    let state = bent(&model, |_| false);
    let none = vec![0.0; model.rates()];
    let mut chain = Adaptive::new(&model, &state, &none, Activity { most: 5, ..everything() }).unwrap();
    for _ in 0..50 {
        chain.step(2e-3).unwrap();
    }
    let whole = chain.state();
    let mut data = Data::new(&model);
    reduced::forward_kinematics(&model, &mut data, &whole.q, &whole.v);
    for k in 0..37 {
        let found = chain.pose(k).unwrap().position;
        assert!(found.distance(data.center_of_mass(k)) < 1e-10, "{k}: {found}");
    }
    // and its hybrid Jacobian gives the velocity of any point
    let point = data.center_of_mass(30);
    let jacobian = chain.jacobian(30, point).unwrap();
    let rates = chain.hybrid().2.v.clone();
    let n = rates.len();
    let moved = DVec3::from_array([0, 1, 2].map(|r| (0..n).map(|c| jacobian[(3 + r) * n + c] * rates[c]).sum()));
    assert!(moved.distance(data.velocity(30).0) < 1e-10);
}

#[test]
fn momentum_is_kept_when_joints_come_to_rest() {
    let model = chain(32, false, false, [0.0; 3]);
    let state = bent(&model, |r| r >= 6 && r % 5 == 0);
    let none = vec![0.0; model.rates()];
    let mut chain = Adaptive::new(&model, &state, &none, everything()).unwrap();
    let momentum = |chain: &Adaptive| {
        let whole = chain.state();
        let mut data = Data::new(&model);
        reduced::forward_kinematics(&model, &mut data, &whole.q, &whole.v);
        let c = reduced::centroidal(&model, &data);
        (c.linear, c.angular)
    };
    let before = momentum(&chain);
    assert!(before.0.length() + before.1.length() > 1e-3);
    chain.set_activity(Activity { most: 3, ..everything() });
    chain.step(1e-9).unwrap();
    assert_eq!(chain.active().count(), 4);
    let after = momentum(&chain);
    assert!(after.0.distance(before.0) < 1e-7 && after.1.distance(before.1) < 1e-7, "{after:?} {before:?}");
}

#[test]
fn a_blow_wakes_the_joints_around_it_and_limits_stop_them() {
    let model = chain(256, false, true, [0.0; 3]);
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let none = vec![0.0; model.rates()];
    let mut chain =
        Adaptive::new(&model, &state, &none, Activity { most: 16, tolerance: 1e-6, settling: 0.1 }).unwrap();
    assert_eq!(chain.active().count(), 1, "nothing moves");
    // what the whole chain would do at the struck link: the hybrid chain may only be stiffer
    let mut data = Data::new(&model);
    let point = DVec3::new(0.2 * 256.0, 0.0, 0.0);
    reduced::respond(&model, &mut data, &state.q, &none, &[(255, point, DVec3::Z * 0.01)]);
    let free = reduced::rate_of_change(&data, 255, point).z;
    assert!(chain.strike(255, point, DVec3::Z * 0.01));
    let (hybrid, data, moving, _) = chain.hybrid();
    reduced::forward_kinematics(hybrid, data, &moving.q, &moving.v);
    let last = hybrid.bodies() - 1;
    let speed =
        reduced::point_row(hybrid, data, last, point, DVec3::Z).iter().zip(&moving.v).map(|(a, b)| a * b).sum::<f64>();
    assert!(speed > 0.8 * free && speed <= free * (1.0 + 1e-9), "{speed} of {free}");

    // the last joint may turn by a hundredth
    chain.set_limit(255, -0.01, 0.01).unwrap();
    for _ in 0..2000 {
        chain.step(1e-3).unwrap();
        let end = *chain.state().q.last().unwrap();
        assert!(end.abs() < 0.0105, "{end}");
    }
    assert!(!chain.strike(256, point, DVec3::Z), "no such link");
}

#[test]
fn a_long_chain_with_a_small_active_region_costs_little() {
    // the hybrid chain is as long as what moves; a step of it costs less than one pass over all links
    let model = chain(10_000, false, true, [0.0; 3]);
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let none = vec![0.0; model.rates()];
    let activity = Activity { most: 24, tolerance: 1e-4, settling: 0.1 };
    let mut long = Adaptive::new(&model, &state, &none, activity).unwrap();
    assert!(long.strike(9_999, DVec3::X * 2000.0, DVec3::Z * 0.05));
    let best = |run: &mut dyn FnMut()| {
        let time = |run: &mut dyn FnMut()| {
            let start = std::time::Instant::now();
            run();
            start.elapsed().as_secs_f64()
        };
        (0..40).map(|_| time(run)).fold(f64::INFINITY, f64::min)
    };
    let step = best(&mut || assert!(long.step(1e-4).is_ok()));
    assert!(long.active().count() <= 25 && long.hybrid().0.bodies() <= 25);
    let mut data = Data::new(&model);
    let whole = best(&mut || aba(&model, &mut data, &state.q, &state.v, &none, &[]));
    assert!(step < whole, "{step} s and {whole} s");
}

#[test]
fn what_is_no_tree_is_refused() {
    let mut scene = weightless("triangle");
    for k in 0..3 {
        scene.body(Body::new(format!("b{k}")).at([k as f64, 0.0, 0.0]).with_mass(1.0).with_inertia([0.1; 3]));
    }
    scene.joint(Joint::ball("a", "b0", "b1", [0.5, 0.0, 0.0]));
    scene.joint(Joint::ball("b", "b0", "b2", [0.5, 0.0, 0.0]));
    let model = Model::of(&build(&scene));
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let force = vec![0.0; model.rates()];
    let refused = Adaptive::new(&model, &state, &force[1..], Activity::default());
    assert!(matches!(refused, Err(CannotAdapt::BadState)));
    assert!(Adaptive::new(&model, &state, &force, Activity::default()).is_ok());
    scene.joint(Joint::ball("c", "b1", "b2", [1.5, 1.0, 0.0]));
    let model = Model::of(&build(&scene));
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let refused = Adaptive::new(&model, &state, &vec![0.0; model.rates()], Activity::default());
    assert!(matches!(refused, Err(CannotAdapt::NotATree)));
}

/// A binary tree of levels of links of 0.2 m, with joints of several kinds; a comb of as many links if it is not `wide`.
fn branching(links: usize, wide: bool, held: bool, gravity: [f64; 3]) -> Model {
    let mut scene = Scene { gravity, collisions: false, ..Scene::new("tree") };
    let mut ends: Vec<DVec3> = Vec::new();
    for k in 0..links {
        let above = match (k, wide) {
            (0, _) => None,
            (_, true) => Some((k - 1) / 2),
            // teeth of three links on a back
            (_, false) => Some(if k % 4 == 0 { k - 4 } else { k - 1 }),
        };
        let turn = 0.9 * (k % 7) as f64 - if k % 2 == 0 { 0.4 } else { 1.1 };
        let way = DVec3::new(turn.cos(), 0.3 * (k % 3) as f64, turn.sin()).normalize();
        let start = above.map_or(DVec3::ZERO, |p: usize| ends[p]);
        ends.push(start + 0.2 * way);
        let name = format!("link {k}");
        scene.body(
            Body::new(&name)
                .at(start + 0.1 * way)
                .with_mass(1.0 + 0.1 * (k % 3) as f64)
                .with_inertia([0.004, 0.005, 0.003]),
        );
        let kind = KINDS[(k * 3) % 4];
        if k > 0 || held {
            let carrier = above.map_or(WORLD.to_string(), |p| format!("link {p}"));
            let mut joint = Joint::new(kind, format!("joint {k}"), carrier, &name).at(start).axis([0.0, 1.0, 0.0]);
            if kind == JointKind::Universal {
                joint = joint.second_axis([0.0, 0.0, 1.0]);
            }
            scene.joint(joint);
        }
    }
    Model::of(&build(&scene))
}

#[test]
fn trees_are_articulated_bodies_and_their_metric_is_what_joints_would_do() {
    for (links, wide, held) in [(15, true, true), (24, false, true), (31, true, false), (40, false, false)] {
        let model = branching(links, wide, held, [0.3, 0.0, -9.81]);
        let force: Vec<f64> = (0..model.rates()).map(|k| 0.1 * (k as f64).sin()).collect();
        let mut data = Data::new(&model);
        let state = bent(&model, |_| true);
        aba(&model, &mut data, &state.q, &state.v, &force, &[]);
        let mut all = Adaptive::new(&model, &state, &force, everything()).unwrap();
        let scale = 1.0 + largest(&data.acceleration);
        for (a, b) in all.accelerations().iter().zip(&data.acceleration) {
            assert!((a - b).abs() < 1e-9 * scale, "{links} links: {a} and {b}");
        }
        // where each of its bodies is
        reduced::forward_kinematics(&model, &mut data, &state.q, &state.v);
        for k in 0..links {
            let at = all.pose(k).unwrap().position;
            assert!(at.distance(data.center_of_mass(k)) < 1e-12, "link {k} at {at}");
        }

        let mut state = bent(&model, |_| false);
        let first = if held { model.rates_of(0).len() } else { 6 };
        (0..first).for_each(|r| state.v[r] = 0.7 + 0.2 * r as f64);
        aba(&model, &mut data, &state.q, &state.v, &force, &[]);
        for most in [0, 5, 11] {
            let adaptive = Adaptive::new(&model, &state, &force, Activity { most, ..everything() }).unwrap();
            let active: Vec<usize> = adaptive.active().collect();
            assert_eq!(active.len(), most + 1);
            let at_rest = (0..links).filter(|k| !active.contains(k)).flat_map(|k| model.rates_of(k));
            let expected = at_rest.map(|r| data.acceleration[r] * data.acceleration[r]).sum::<f64>().sqrt();
            assert!((adaptive.lost() - expected).abs() < 1e-8 * expected, "{} and {expected}", adaptive.lost());
        }
    }
}

#[test]
fn a_tree_that_stands_still_inside_moves_as_one_and_wakes_where_it_is_struck() {
    let model = branching(63, true, false, [0.0; 3]);
    let state = bent(&model, |_| false);
    let none = vec![0.0; model.rates()];
    let mut tree = Adaptive::new(&model, &state, &none, Activity { most: 12, tolerance: 1e-3, settling: 0.1 }).unwrap();
    assert_eq!(tree.active().count(), 1, "nothing moves");
    let struck = tree.pose(50).unwrap().position + DVec3::new(0.02, 0.05, 0.0);
    let impulse = DVec3::new(0.05, -0.02, 0.1);
    assert!(tree.strike(50, struck, impulse));
    assert!(tree.active().any(|k| k == 50));
    let momentum = |tree: &mut Adaptive| {
        let (model, data, state, _) = tree.hybrid();
        reduced::forward_kinematics(model, data, &state.q, &state.v);
        let c = reduced::centroidal(model, data);
        (c.linear, c.angular + c.center.cross(c.linear))
    };
    let start = momentum(&mut tree);
    assert!((start.0 - impulse).length() < 1e-12 && (start.1 - struck.cross(impulse)).length() < 1e-12);
    for _ in 0..400 {
        tree.step(1e-4).unwrap();
        assert!(tree.active().count() <= 13);
    }
    let now = momentum(&mut tree);
    assert!((now.0 - start.0).length() < 1e-6 && (now.1 - start.1).length() < 1e-6, "{start:?} and {now:?}");
}

#[test]
fn several_trees_share_what_may_be_active() {
    let mut scene = weightless("two chains");
    for (chain, y) in [("p", 0.0), ("q", 3.0)] {
        let mut above = WORLD.to_string();
        for k in 0..20 {
            let (name, x) = (format!("{chain}{k}"), 0.2 * k as f64);
            scene.body(Body::new(&name).at([x + 0.1, y, 0.0]).with_mass(1.0).with_inertia([0.001, 0.004, 0.004]));
            scene.joint(Joint::hinge(format!("{chain} joint {k}"), &above, &name, [x, y, 0.0], [0.0, 1.0, 0.0]));
            above = name;
        }
    }
    let model = Model::of(&build(&scene));
    let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
    let mut force = vec![0.0; model.rates()];
    let pushed = (0..model.bodies()).find(|&k| model.parent(k).is_none()).unwrap();
    force[model.rates_of(pushed).start] = 0.5;
    let mut data = Data::new(&model);
    aba(&model, &mut data, &state.q, &state.v, &force, &[]);
    let adaptive = Adaptive::new(&model, &state, &force, Activity { most: 6, ..everything() }).unwrap();
    let active: Vec<usize> = adaptive.active().collect();
    assert_eq!(active.len(), 8, "two that the ground carries, and six");
    let at_rest = (0..model.bodies()).filter(|k| !active.contains(k)).flat_map(|k| model.rates_of(k));
    let expected = at_rest.map(|r| data.acceleration[r] * data.acceleration[r]).sum::<f64>().sqrt();
    assert!((adaptive.lost() - expected).abs() < 1e-8 * (1.0 + expected), "{} and {expected}", adaptive.lost());
}

/// Threads share the work of dividing and conquering; the bits are those of one.
#[cfg(feature = "parallel")]
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let model = chain(1500, true, true, [0.0, 0.0, -9.81]);
    let state = bent(&model, |_| true);
    let force = vec![0.1; model.rates()];
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut data = Data::new(&model);
        pool.install(|| reduced::divide_and_conquer(&model, &mut data, &state.q, &state.v, &force, &[]));
        data.acceleration.iter().map(|a| a.to_bits()).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(one == run(2) && one == run(5));
}
