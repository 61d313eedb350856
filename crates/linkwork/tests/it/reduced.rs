//! Reduced coordinates: the algorithms against each other, against finite differences, against energy, against Pinocchio.

use crate::common::{Complaints, Random, build};
use crate::random_mechanism::{Ingredients, PLAIN, TREE_KINDS, mechanism};
use linkwork::glam::{DQuat, DVec3};
use linkwork::reduced::{
    self, CannotPrescribe, Data, Model, State, aba, centroidal, crba, forward_kinematics, jacobian, rnea,
};
use linkwork::scene::{Body, Frame, Joint, JointKind, WORLD};
use linkwork::{Scene, World, Wrench};

const TREE: Ingredients = Ingredients { bodies: 12, spin: 2.0, ..PLAIN };

/// Worlds of random trees: all kinds of joint in each place, on the ground and floating.
fn trees() -> impl Iterator<Item = (String, World)> {
    (0..60).map(|seed| {
        let with = Ingredients { grounded: seed % 3 != 0, bodies: 1 + seed as usize % 14, ..TREE };
        let mut scene = mechanism(1000 + seed, with);
        // joints passed backwards, too
        for joint in scene.joints.iter_mut().skip(seed as usize % 2).step_by(3) {
            if joint.at.is_some() {
                std::mem::swap(&mut joint.a, &mut joint.b);
            }
        }
        (scene.name.clone(), build(&scene))
    })
}

fn random_rates(model: &Model, random: &mut Random) -> Vec<f64> {
    (0..model.rates()).map(|_| random.between(-1.5, 1.5)).collect()
}

fn random_wrenches(model: &Model, random: &mut Random) -> Vec<Wrench> {
    (0..model.bodies()).map(|_| Wrench { force: random.vector() * 5.0, torque: random.vector() }).collect()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

#[test]
fn every_kind_of_joint_occurs_in_the_random_trees() {
    let mut seen = vec![0; TREE_KINDS.len()];
    for (_, world) in trees() {
        let model = Model::of(&world);
        for k in 0..model.bodies() {
            if let Some(joint) = model.joint(k) {
                let kind = world.joint_description(joint).unwrap().kind;
                seen[TREE_KINDS.iter().position(|k| *k == kind).unwrap()] += 1;
            }
        }
        assert!(model.closing_joints().is_empty());
    }
    assert!(seen.iter().all(|n| *n >= 5), "{seen:?}");
}

#[test]
fn articulated_bodies_composite_bodies_and_newton_euler_agree() {
    let mut complaints = Complaints::default();
    for (name, world) in trees() {
        let model = Model::of(&world);
        let (mut data, mut random) = (Data::new(&model), Random(7));
        let state = reduced::state_of(&model, &world, None);
        let v = random_rates(&model, &mut random);
        let (tau, external) = (random_rates(&model, &mut random), random_wrenches(&model, &mut random));
        aba(&model, &mut data, &state.q, &v, &tau, &external);
        let acceleration = data.acceleration.clone();
        rnea(&model, &mut data, &state.q, &v, &acceleration, &external);
        let scale = 1.0 + largest(&acceleration);
        for (i, (f, t)) in data.force.iter().zip(&tau).enumerate() {
            complaints.close(&format!("{name}: force {i}"), *f, *t, 1e-10 * scale);
        }
        rnea(&model, &mut data, &state.q, &v, &vec![0.0; model.rates()], &external);
        let bias = data.force.clone();
        crba(&model, &mut data, &state.q);
        let n = model.rates();
        for i in 0..n {
            let row = &data.mass_matrix[i * n..(i + 1) * n];
            let sum: f64 = row.iter().zip(&acceleration).map(|(h, a)| h * a).sum();
            complaints.close(&format!("{name}: row {i} of the mass matrix"), sum + bias[i], tau[i], 1e-10 * scale);
        }
    }
}

#[test]
fn the_mass_matrix_is_that_of_the_kinetic_energy() {
    for (name, mut world) in trees() {
        let model = Model::of(&world);
        let (mut data, mut random) = (Data::new(&model), Random(8));
        let state = reduced::state_of(&model, &world, None);
        let v = random_rates(&model, &mut random);
        crba(&model, &mut data, &state.q);
        let n = model.rates();
        let mut twice = 0.0;
        for i in 0..n {
            for j in 0..n {
                twice += v[i] * data.mass_matrix[i * n + j] * v[j];
            }
        }
        reduced::set_state(&model, &mut world, &State { q: state.q, v });
        let kinetic = world.energy().kinetic;
        assert!((0.5 * twice - kinetic).abs() < 1e-11 * (1.0 + kinetic), "{name}: {twice} for {kinetic}");
    }
}

#[test]
fn coordinates_go_to_poses_and_back() {
    for (name, mut world) in trees() {
        let model = Model::of(&world);
        let before: Vec<_> =
            world.body_ids().map(|id| (world.pose(id).unwrap(), world.velocity(id).unwrap())).collect();
        let state = reduced::state_of(&model, &world, None);
        reduced::set_state(&model, &mut world, &state);
        for (id, (pose, twist)) in world.body_ids().collect::<Vec<_>>().into_iter().zip(before) {
            let (p, t) = (world.pose(id).unwrap(), world.velocity(id).unwrap());
            assert!(p.position.distance(pose.position) < 1e-9, "{name} {id:?}: {} {}", p.position, pose.position);
            assert!(p.orientation.dot(pose.orientation).abs() > 1.0 - 1e-12, "{name} {id:?}");
            assert!(
                t.linear.distance(twist.linear) < 1e-8 && t.angular.distance(twist.angular) < 1e-8,
                "{name} {id:?}"
            );
        }
        let again = reduced::state_of(&model, &world, Some(&state));
        let off = again.q.iter().zip(&state.q).chain(again.v.iter().zip(&state.v)).map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f64::max) < 1e-8, "{name}");
        for joint in world.joint_ids() {
            let (m, rad) = world.joint_error(joint).unwrap();
            assert!(m.max(rad) < 1e-12, "{name} {joint:?}: {m} {rad}");
        }
    }
}

#[test]
fn velocities_and_accelerations_are_derivatives() {
    const STEP: f64 = 1e-5;
    for (name, world) in trees() {
        let model = Model::of(&world);
        let (mut data, mut random) = (Data::new(&model), Random(9));
        let q = reduced::state_of(&model, &world, None).q;
        let v = random_rates(&model, &mut random);
        let tau = random_rates(&model, &mut random);
        aba(&model, &mut data, &q, &v, &tau, &[]);
        let acceleration = data.acceleration.clone();
        let told: Vec<_> = (0..model.bodies()).map(|k| (data.velocity(k), data.body_acceleration(k))).collect();
        let mut at = |t: f64| {
            // second order in time: positions with the mean rates of the interval
            let mean: Vec<f64> = v.iter().zip(&acceleration).map(|(v, a)| v + 0.5 * t * a).collect();
            let end: Vec<f64> = v.iter().zip(&acceleration).map(|(v, a)| v + t * a).collect();
            let mut moved = q.clone();
            model.integrate(&mut moved, &mean, t);
            forward_kinematics(&model, &mut data, &moved, &end);
            (0..model.bodies()).map(|k| (data.center_of_mass(k), data.velocity(k))).collect::<Vec<_>>()
        };
        let (plus, minus) = (at(STEP), at(-STEP));
        for k in 0..model.bodies() {
            let ((v, _), (a, alpha)) = told[k];
            let scale = 1.0 + a.length() + alpha.length();
            let slope = (plus[k].0 - minus[k].0) / (2.0 * STEP);
            assert!(slope.distance(v) < 1e-7 * scale, "{name} body {k}: velocity {v}, slope {slope}");
            let slope = (plus[k].1.0 - minus[k].1.0) / (2.0 * STEP);
            assert!(slope.distance(a) < 1e-6 * scale, "{name} body {k}: acceleration {a}, slope {slope}");
            let slope = (plus[k].1.1 - minus[k].1.1) / (2.0 * STEP);
            assert!(slope.distance(alpha) < 1e-6 * scale, "{name} body {k}: turning {alpha}, slope {slope}");
        }
    }
}

#[test]
fn jacobians_and_momentum_are_those_of_the_bodies() {
    for (name, mut world) in trees() {
        let model = Model::of(&world);
        let (mut data, mut random) = (Data::new(&model), Random(10));
        let state = State { q: reduced::state_of(&model, &world, None).q, v: random_rates(&model, &mut random) };
        forward_kinematics(&model, &mut data, &state.q, &state.v);
        reduced::set_state(&model, &mut world, &state);
        let n = model.rates();
        for k in 0..model.bodies() {
            let point = random.vector();
            let rows = jacobian(&model, &data, k, point);
            let product: Vec<f64> =
                (0..6).map(|r| rows[r * n..(r + 1) * n].iter().zip(&state.v).map(|(j, v)| j * v).sum()).collect();
            let (v, w) = data.velocity(k);
            let expected = v + w.cross(point - data.center_of_mass(k));
            assert!(DVec3::from_slice(&product[..3]).distance(w) < 1e-12 * (1.0 + w.length()), "{name} body {k}");
            assert!(DVec3::from_slice(&product[3..]).distance(expected) < 1e-11 * (1.0 + expected.length()), "{name}");
        }
        let (all, momentum) = (centroidal(&model, &data), world.momentum());
        assert!(all.linear.distance(momentum.linear) < 1e-11 * (1.0 + momentum.linear.length()), "{name}");
        let about_origin = all.angular + all.center.cross(all.linear);
        assert!(about_origin.distance(momentum.angular) < 1e-11 * (1.0 + momentum.angular.length()), "{name}");
    }
}

#[test]
fn any_graph_has_a_tree_and_the_rest_closes_it() {
    for seed in 0..20 {
        let scene = mechanism(seed, Ingredients { loops: 4, grounded: seed % 2 == 0, ..TREE });
        let world = build(&scene);
        let model = Model::of(&world);
        assert_eq!(model.bodies(), 12);
        assert_eq!(model.closing_joints().len(), 4, "{}", scene.name);
        for k in 0..model.bodies() {
            assert!(model.parent(k).is_none_or(|p| p < k));
            assert_eq!(model.index(model.body(k).unwrap()), Some(k));
        }
        // what holds more is in the tree: no closing joint holds more than every joint of the tree
        let rows = |kind: JointKind| match kind {
            JointKind::Distance | JointKind::PointOnPlane => 1,
            JointKind::PointOnLine => 2,
            JointKind::Ball | JointKind::Orientation | JointKind::Planar => 3,
            JointKind::Universal | JointKind::Cylindrical => 4,
            JointKind::Fixed => 6,
            _ => 5,
        };
        let kind = |id| world.joint_description(id).unwrap().kind;
        let most = (0..model.bodies()).filter_map(|k| model.joint(k)).map(|j| rows(kind(j))).max().unwrap();
        assert!(model.closing_joints().into_iter().all(|j| rows(kind(j)) <= most));
    }
}

/// A tree that Pinocchio has computed; the format is told in tests/data/make_pinocchio.py.
struct Told {
    name: String,
    scene: Scene,
    kinds: Vec<String>,
    force: Vec<f64>,
    acceleration: Vec<f64>,
    moves: Vec<(DVec3, DVec3)>,
    mass: Vec<f64>,
    momentum: (DVec3, DVec3),
}

fn told() -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for line in include_str!("../data/pinocchio.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = |from: usize| words[from..].iter().map(|w| w.parse().unwrap()).collect::<Vec<f64>>();
        let three = |v: &[f64], k: usize| DVec3::new(v[k], v[k + 1], v[k + 2]);
        match words[0] {
            "case" => all.push(Told {
                name: words[1].into(),
                scene: Scene::new(words[1]),
                kinds: Vec::new(),
                force: Vec::new(),
                acceleration: Vec::new(),
                moves: Vec::new(),
                mass: Vec::new(),
                momentum: Default::default(),
            }),
            "body" => {
                let case = all.last_mut().unwrap();
                add_body(case, words[1].parse().unwrap(), words[2], &numbers(3));
            }
            "force" => all.last_mut().unwrap().force = numbers(1),
            "acceleration" => all.last_mut().unwrap().acceleration = numbers(1),
            "moves" => {
                let v = numbers(2);
                all.last_mut().unwrap().moves.push((three(&v, 0), three(&v, 3)));
            }
            "mass" => all.last_mut().unwrap().mass = numbers(1),
            "momentum" => {
                let v = numbers(1);
                all.last_mut().unwrap().momentum = (three(&v, 0), three(&v, 3));
            }
            other => panic!("no item {other}"),
        }
    }
    all
}

fn add_body(case: &mut Told, parent: i64, kind: &str, v: &[f64]) {
    let name = format!("b{}", case.scene.bodies.len());
    let mut body = Body::new(&name)
        .at([v[17], v[18], v[19]])
        .oriented([v[20], v[21], v[22], v[23]])
        .moving([v[24], v[25], v[26]], [v[27], v[28], v[29]])
        .with_mass(v[0])
        .with_inertia([v[4], v[5], v[6]]);
    body.center_of_mass = Some([v[1], v[2], v[3]]);
    body.inertia_products = Some([v[7], v[8], v[9]]);
    case.scene.body(body);
    case.kinds.push(kind.to_string());
    let joint_kind = match kind {
        "hinge" => JointKind::Hinge,
        "slider" => JointKind::Slider,
        "ball" => JointKind::Ball,
        "cylindrical" => JointKind::Cylindrical,
        "planar" => JointKind::Planar,
        "universal" => JointKind::Universal,
        "orientation" => JointKind::Orientation,
        _ => return,
    };
    let turn = DQuat::from_xyzw(v[14], v[15], v[16], v[13]);
    let on_a = Frame::at([v[10], v[11], v[12]]).axis(turn * DVec3::Z).reference(turn * DVec3::X);
    let on_b = if joint_kind == JointKind::Universal {
        Frame::at([0.0; 3]).axis(DVec3::X).reference(DVec3::Y)
    } else {
        Frame::at([0.0; 3]).axis(DVec3::Z).reference(DVec3::X)
    };
    let above = if parent < 0 { WORLD.to_string() } else { format!("b{parent}") };
    case.scene.joint(Joint::new(joint_kind, format!("j{name}"), above, name).frames(on_a, on_b));
}

#[test]
fn pinocchio_says_the_same() {
    let mut complaints = Complaints::default();
    let cases = told();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let world = build(&case.scene);
        let model = Model::of(&world);
        let mut data = Data::new(&model);
        let state = reduced::state_of(&model, &world, None);
        // by rate: from the order of the bodies in the file to that of the tree
        let mut place = Vec::new();
        for k in 0..case.kinds.len() {
            let id = world.body(&format!("b{k}")).unwrap();
            place.extend(model.rates_of(model.index(id).unwrap()));
        }
        let n = model.rates();
        assert_eq!(place.len(), n);
        let mut tau = vec![0.0; n];
        place.iter().zip(&case.force).for_each(|(&p, f)| tau[p] = *f);
        aba(&model, &mut data, &state.q, &state.v, &tau, &[]);
        let floating = case.kinds[0] == "free";
        let scale = 1.0 + largest(&case.acceleration);
        for (i, (&p, a)) in place.iter().zip(&case.acceleration).enumerate().skip(if floating { 6 } else { 0 }) {
            complaints.close(&format!("{} acceleration {i}", case.name), data.acceleration[p], *a, 1e-10 * scale);
        }
        for (k, (a, alpha)) in case.moves.iter().enumerate() {
            let index = model.index(world.body(&format!("b{k}")).unwrap()).unwrap();
            let (own, turning) = data.body_acceleration(index);
            complaints.near(&format!("{} body {k}", case.name), own, *a, 1e-10 * scale);
            complaints.near(&format!("{} turning of body {k}", case.name), turning, *alpha, 1e-10 * scale);
        }
        let all = centroidal(&model, &data);
        complaints.near(&format!("{} momentum", case.name), all.linear, case.momentum.0, 1e-10);
        complaints.near(&format!("{} angular momentum", case.name), all.angular, case.momentum.1, 1e-10);
        let acceleration = data.acceleration.clone();
        rnea(&model, &mut data, &state.q, &state.v, &acceleration, &[]);
        for (i, (&p, f)) in place.iter().zip(&case.force).enumerate() {
            complaints.close(&format!("{} force {i}", case.name), data.force[p], *f, 1e-10 * scale);
        }
        crba(&model, &mut data, &state.q);
        for (k, h) in case.mass.iter().enumerate() {
            let (i, j) = (place[k / n], place[k % n]);
            complaints.close(&format!("{} mass {k}", case.name), data.mass_matrix[i * n + j], *h, 1e-10);
        }
    }
}

/// H⁻¹ b by elimination, for the mass matrix in `data`.
fn solve_mass(data: &Data, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let (mut h, mut x) = (data.mass_matrix.clone(), b.to_vec());
    for j in 0..n {
        for i in j + 1..n {
            let f = h[i * n + j] / h[j * n + j];
            (j..n).for_each(|c| h[i * n + c] -= f * h[j * n + c]);
            x[i] -= f * x[j];
        }
    }
    for j in (0..n).rev() {
        let sum: f64 = (j + 1..n).map(|c| h[j * n + c] * x[c]).sum();
        x[j] = (x[j] - sum) / h[j * n + j];
    }
    x
}

#[test]
fn test_impulses_measure_what_the_mass_matrix_says() {
    for (name, world) in trees() {
        let model = Model::of(&world);
        let (mut data, mut random) = (Data::new(&model), Random(11));
        let q = reduced::state_of(&model, &world, None).q;
        let index = random.below(model.bodies());
        let point = world.center_of_mass(model.body(index).unwrap()).unwrap() + random.vector();
        let k = reduced::collision_matrix(&model, &mut data, &q, index, point);
        crba(&model, &mut data, &q);
        let n = model.rates();
        let rows = jacobian(&model, &data, index, point);
        let largest = k.to_cols_array().iter().fold(0.0_f64, |m, e| m.max(e.abs()));
        for i in 0..3 {
            let answer = solve_mass(&data, &rows[(3 + i) * n..(4 + i) * n]);
            for j in 0..3 {
                let expected: f64 = rows[(3 + j) * n..(4 + j) * n].iter().zip(&answer).map(|(a, b)| a * b).sum();
                assert!((k.col(i)[j] - expected).abs() < 1e-9 * (1.0 + largest), "{name}: {} {expected}", k.col(i)[j]);
            }
        }
    }
}

#[test]
fn prescribed_accelerations_come_about() {
    use linkwork::reduced::{Prescribed, Target, prescribe};
    let mut tried = 0;
    for (name, world) in trees() {
        let model = Model::of(&world);
        if model.rates() < 6 {
            continue;
        }
        let (mut data, mut random) = (Data::new(&model), Random(12));
        let state = reduced::state_of(&model, &world, None);
        let tau = random_rates(&model, &mut random);
        let index = model.bodies() - 1;
        let point = world.center_of_mass(model.body(index).unwrap()).unwrap() + random.vector() * 0.1;
        let direction = random.direction();
        let wanted = [
            Prescribed { target: Target::Rate(0), acceleration: 1.5 },
            Prescribed { target: Target::Rate(3), acceleration: -0.7 },
            Prescribed { target: Target::Point { index, point, direction }, acceleration: 0.4 },
        ];
        // a body that those two joints carry alone may have no motion left that way: then it is refused
        let Ok(forces) = prescribe(&model, &mut data, &state.q, &state.v, &tau, &[], &wanted) else { continue };
        tried += 1;
        let size = 1.0 + largest(&forces);
        assert!((data.acceleration[0] - 1.5).abs() < 1e-8 * size, "{name}: {}", data.acceleration[0]);
        assert!((data.acceleration[3] + 0.7).abs() < 1e-8 * size, "{name}: {}", data.acceleration[3]);
        let (a, alpha) = data.body_acceleration(index);
        let (w, r) = (data.velocity(index).1, point - data.center_of_mass(index));
        let point_acceleration = a + alpha.cross(r) + w.cross(w.cross(r));
        assert!((point_acceleration.dot(direction) - 0.4).abs() < 1e-7 * size, "{name}: {point_acceleration}");
        // inverse dynamics asks for the same joint forces
        let (given, acceleration) = (tau.clone(), data.acceleration.clone());
        let outer: Vec<Wrench> = (0..model.bodies())
            .map(|k| match k == index {
                true => Wrench { force: direction * forces[2], torque: r.cross(direction * forces[2]) },
                false => Wrench::default(),
            })
            .collect();
        rnea(&model, &mut data, &state.q, &state.v, &acceleration, &outer);
        for (i, (f, t)) in data.force.iter().zip(&given).enumerate() {
            let expected = t + [forces[0], 0.0, 0.0, forces[1]].get(i).copied().unwrap_or(0.0);
            assert!((f - expected).abs() < 1e-8 * size, "{name}: joint force {i}: {f} {expected}");
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn prescribed_velocities_come_about() {
    use linkwork::reduced::{PrescribedVelocity, Target, prescribe_velocities};
    let mut tried = 0;
    for (name, world) in trees() {
        let model = Model::of(&world);
        if model.rates() < 6 {
            continue;
        }
        let (mut data, mut random) = (Data::new(&model), Random(14));
        let state = reduced::state_of(&model, &world, None);
        let index = model.bodies() - 1;
        let point = world.center_of_mass(model.body(index).unwrap()).unwrap() + random.vector() * 0.1;
        let direction = random.direction();
        let wanted = [
            PrescribedVelocity { target: Target::Rate(1), velocity: 0.8 },
            PrescribedVelocity { target: Target::Point { index, point, direction }, velocity: -0.6 },
        ];
        let Ok((impulses, after)) = prescribe_velocities(&model, &mut data, &state.q, &state.v, &wanted) else {
            continue;
        };
        tried += 1;
        let size = 1.0 + largest(&impulses);
        assert!((after[1] - 0.8).abs() < 1e-8 * size, "{name}: {}", after[1]);
        reduced::forward_kinematics(&model, &mut data, &state.q, &after);
        let (v, w) = data.velocity(index);
        let reached = (v + w.cross(point - data.center_of_mass(index))).dot(direction);
        assert!((reached + 0.6).abs() < 1e-7 * size, "{name}: {reached}");
        // the mass matrix knows nothing of responses: H Δv = Jᵀ p
        let row = reduced::point_row(&model, &data, index, point, direction);
        reduced::crba(&model, &mut data, &state.q);
        let n = model.rates();
        for i in 0..n {
            let momentum: f64 = (0..n).map(|j| data.mass_matrix[i * n + j] * (after[j] - state.v[j])).sum();
            let pushed = row[i] * impulses[1] + if i == 1 { impulses[0] } else { 0.0 };
            assert!((momentum - pushed).abs() < 1e-8 * size, "{name}: rate {i}: {momentum} {pushed}");
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn contradicting_prescriptions_are_refused() {
    use linkwork::reduced::{CannotPrescribe, Prescribed, Target, prescribe};
    let (_, world) = trees().nth(4).unwrap();
    let model = Model::of(&world);
    let mut data = Data::new(&model);
    let state = reduced::state_of(&model, &world, None);
    let zero = vec![0.0; model.rates()];
    let twice = |a: f64| {
        [
            Prescribed { target: Target::Rate(0), acceleration: 1.0 },
            Prescribed { target: Target::Rate(0), acceleration: a },
        ]
    };
    let refused = prescribe(&model, &mut data, &state.q, &state.v, &zero, &[], &twice(2.0));
    assert!(matches!(refused, Err(CannotPrescribe::Contradiction { number: 1, .. })), "{refused:?}");
    let forces = prescribe(&model, &mut data, &state.q, &state.v, &zero, &[], &twice(1.0)).unwrap();
    assert!(forces[1] == 0.0 && (data.acceleration[0] - 1.0).abs() < 1e-9);
    let nowhere = [Prescribed { target: Target::Rate(model.rates()), acceleration: 1.0 }];
    let refused = prescribe(&model, &mut data, &state.q, &state.v, &zero, &[], &nowhere);
    assert!(matches!(refused, Err(CannotPrescribe::NoSuchTarget { number: 0 })));
}

/// A chain of joints of many kinds.
fn chain(bodies: usize, grounded: bool) -> World {
    let mut scene = mechanism(77, Ingredients { bodies, grounded, ..TREE });
    let mut random = Random(78);
    for k in 0..scene.joints.len() {
        let last = scene.joints[k].b.clone().unwrap();
        let number: usize = last[1..].parse().unwrap();
        let kind = TREE_KINDS[(number * 5) % 8];
        let above = if number == 0 { WORLD.to_string() } else { format!("b{}", number - 1) };
        let axis = random.direction();
        let at = DVec3::from(scene.bodies[number].position) + random.vector() * 0.3;
        let mut joint = Joint::new(kind, format!("j{number}"), above, last).at(at).axis(axis);
        if kind == JointKind::Universal {
            joint = joint.second_axis(axis.any_orthonormal_vector());
        }
        scene.joints[k] = joint;
    }
    build(&scene)
}

#[test]
fn dividing_and_conquering_is_the_articulated_body_algorithm() {
    let lengths = [(1, true), (2, true), (3, false), (9, true), (16, false), (40, true)];
    let chains = lengths.map(|(bodies, grounded)| (format!("chain of {bodies}"), chain(bodies, grounded)));
    let mut branches = 0;
    for (name, world) in chains.into_iter().chain(trees()).chain(forests()) {
        let model = Model::of(&world);
        branches += (1..model.bodies()).filter(|&k| model.parent(k) != Some(k - 1)).count();
        let (mut data, mut random) = (Data::new(&model), Random(13));
        let q = reduced::state_of(&model, &world, None).q;
        let (v, tau) = (random_rates(&model, &mut random), random_rates(&model, &mut random));
        let external = random_wrenches(&model, &mut random);
        aba(&model, &mut data, &q, &v, &tau, &external);
        let expected = data.acceleration.clone();
        reduced::divide_and_conquer(&model, &mut data, &q, &v, &tau, &external);
        let scale = 1.0 + largest(&expected);
        for (i, (a, e)) in data.acceleration.iter().zip(&expected).enumerate() {
            assert!((a - e).abs() < 1e-8 * scale, "{name}, rate {i}: {a} {e}");
        }
    }
    assert!(branches > 100, "{branches}");
}

/// Several trees in one world, some on the ground and some floating, and a star of many arms.
fn forests() -> impl Iterator<Item = (String, World)> {
    let several = (0..4).map(|seed| {
        let mut scene = mechanism(4000 + seed, Ingredients { bodies: 9, ..TREE });
        // every third joint is left out: what it carried floats
        scene.joints = scene.joints.into_iter().enumerate().filter(|(k, _)| k % 3 != 2).map(|(_, j)| j).collect();
        ("several trees".to_string(), build(&scene))
    });
    let mut star = Scene::new("star");
    star.body(Body::new("hub").with_mass(2.0).with_inertia([0.2, 0.3, 0.4]));
    for k in 0..40 {
        let name = format!("arm {k}");
        let out = DVec3::new((k as f64).cos(), (k as f64).sin(), 0.3 * (k % 5) as f64);
        star.body(Body::new(&name).at(out * 1.5).with_mass(0.1 + 0.01 * k as f64).with_inertia([0.01, 0.02, 0.015]));
        star.joint(Joint::ball(format!("ball {k}"), "hub", &name, out));
    }
    several.chain(std::iter::once(("star".to_string(), build(&star))))
}

#[test]
fn what_is_prescribed_is_checked() {
    let model = Model::of(&build(&mechanism(7, TREE)));
    let (mut data, q, n) = (Data::new(&model), model.neutral(), model.rates());
    let (zero, short, bad) = (vec![0.0; n], vec![0.0; n - 1], vec![f64::NAN; n]);
    let push = [Wrench { force: DVec3::X * f64::INFINITY, ..Wrench::default() }];
    let mut asked = |q: &[f64], v: &[f64], force: &[f64], external: &[Wrench]| {
        reduced::prescribe(&model, &mut data, q, v, force, external, &[]).err()
    };
    let wrong = |what| Some(CannotPrescribe::BadState { what });
    assert_eq!(asked(&q[1..], &zero, &zero, &[]), wrong("q"));
    assert_eq!(asked(&q, &short, &zero, &[]), wrong("v"));
    assert_eq!(asked(&q, &zero, &bad, &[]), wrong("force"));
    assert_eq!(asked(&q, &zero, &zero, &push), wrong("external"));
    assert_eq!(asked(&q, &zero, &zero, &[]), None);
    let other = reduced::prescribe_velocities(&model, &mut Data::default(), &q, &zero, &[]);
    assert_eq!(other, Err(CannotPrescribe::BadState { what: "data" }));
    let refused = reduced::prescribe_velocities(&model, &mut data, &q, &bad, &[]);
    assert_eq!(refused, Err(CannotPrescribe::BadState { what: "v" }));
}

#[test]
#[should_panic(expected = "force has 2 entries")]
fn a_vector_that_does_not_fit_is_named() {
    let model = Model::of(&build(&mechanism(7, TREE)));
    let zero = vec![0.0; model.rates()];
    reduced::aba(&model, &mut Data::new(&model), &model.neutral(), &zero, &zero[..2], &[]);
}

#[test]
#[should_panic(expected = "another model")]
fn memory_of_another_model_is_refused() {
    let (model, other) = (Model::of(&build(&mechanism(7, TREE))), Model::of(&build(&mechanism(7, PLAIN))));
    reduced::crba(&model, &mut Data::new(&other), &model.neutral());
}
