//! Reactions of joints against statics by hand, and whether they are unique.

use crate::common::{Run, assert_close, assert_near, bar, build, registered};
use crate::dense;
use linkwork::glam::{DVec2, DVec3};
use linkwork::scene::{Joint, JointKind, WORLD};
use linkwork::{JointId, Scene, World};
use std::collections::HashMap;

const G: f64 = 9.81;

#[test]
fn the_crane_carries_its_load_with_the_forces_of_its_drawing() {
    // numbers of the scene's header, for M = 7500 kg and for any other
    for load in [7500.0, 10.0, 1e6] {
        let tie = G * (3.0 * 200.0 + 2.0 * 50.0 + 6.0 * (20.0 + load)) / 2.4;
        if load == 7500.0 {
            assert_close("tension of the drawing", tie, 187_289.25, 1e-6);
        }
        let mut run = Run::new(&registered("crane-load", &[("load", load)]), 1.0 / 30.0);
        run.to(2.0);
        let allowed = 1e-6 * tie;
        let foot = run.reaction("foot");
        let lifted = (200.0 + 25.0 + 20.0 + load) * G - 0.6 * tie;
        assert_near("foot", foot.wrench.force, DVec3::new(0.8 * tie, 0.0, lifted), allowed);
        assert_near("foot's moment", foot.wrench.torque, DVec3::ZERO, allowed);
        // on the tie rod: the boom pulls with −(T u − ½ R g z)
        let pull = DVec3::new(0.8, 0.0, -0.6) * tie + DVec3::Z * 25.0 * G;
        assert_near("tie foot", run.reaction("tie foot").wrench.force, pull, allowed);
        assert_near("hook", run.reaction("hook").wrench.force, DVec3::Z * load * G, allowed);
        assert_near("tip", run.reaction("tip").wrench.force, DVec3::Z * (load + 20.0) * G, allowed);
        for joint in ["foot", "tie foot", "tie head", "tip", "hook"] {
            assert!(run.reaction(joint).unique, "{joint} is determined");
        }
        assert!(run.worst_error < 1e-9);
    }
}

#[test]
fn every_pin_of_a_hanging_chain_carries_what_hangs_below() {
    let mut scene = Scene::new("chain");
    let mut above = WORLD.to_string();
    let masses: Vec<f64> = (0..12).map(|k| 10f64.powf(f64::from(k) / 2.0 - 3.0)).collect();
    for (k, mass) in masses.iter().enumerate() {
        let name = format!("link{k}");
        let top = DVec3::NEG_Z * k as f64;
        scene.body(bar(&name, top, top - DVec3::Z, *mass));
        scene.joint(Joint::ball(format!("pin{k}"), &above, &name, top));
        above = name;
    }
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(1.0);
    for k in 0..masses.len() {
        let below: f64 = masses[k..].iter().sum();
        let reaction = run.reaction(&format!("pin{k}"));
        assert_near("pin", reaction.wrench.force, DVec3::Z * below * G, 1e-6 * below * G);
        assert!(reaction.unique);
    }
}

#[test]
fn a_cantilever_is_held_by_force_and_moment() {
    let mut scene = Scene::new("cantilever");
    scene.body(bar("beam", DVec3::ZERO, DVec3::X * 3.0, 40.0));
    scene.body(bar("arm", DVec3::X * 3.0, DVec3::new(3.0, 2.0, 0.0), 10.0));
    scene.joint(Joint::fixed("wall", WORLD, "beam", DVec3::ZERO));
    scene.joint(Joint::fixed("elbow", "beam", "arm", DVec3::X * 3.0));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.to(1.0);
    let moment = |arm: DVec3, mass: f64| -arm.cross(DVec3::NEG_Z * mass * G);
    let elbow = run.reaction("elbow").wrench;
    assert_near("elbow's force", elbow.force, DVec3::Z * 10.0 * G, 1e-7);
    assert_near("elbow's moment", elbow.torque, moment(DVec3::Y, 10.0), 1e-7);
    let wall = run.reaction("wall").wrench;
    assert_near("wall's force", wall.force, DVec3::Z * 50.0 * G, 1e-7);
    let expected = moment(DVec3::X * 1.5, 40.0) + moment(DVec3::new(3.0, 1.0, 0.0), 10.0);
    assert_near("wall's moment", wall.torque, expected, 1e-6);
}

#[test]
fn a_reaction_acts_on_b_whichever_way_round_the_joint_is_named() {
    for (a, b, sign) in [(WORLD, "bob", 1.0), ("bob", WORLD, -1.0)] {
        let mut scene = Scene::new("pendulum");
        scene.body(bar("bob", DVec3::ZERO, DVec3::NEG_Z, 2.0));
        scene.joint(Joint::ball("pin", a, b, DVec3::ZERO));
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.to(0.5);
        assert_near("pin", run.reaction("pin").wrench.force, DVec3::Z * sign * 2.0 * G, 1e-8);
    }
}

/// What planar statics says each joint transmits: force on b (x, z) at b's anchor, and its moment about y.
///
/// One body gives three equations; a hinge or ball has two unknowns, a slider or fixed joint three. Everything that hangs on
/// `ground` is solved for; masses, centres and pins are read off the pose.
fn planar_statics(world: &World, ground: &str) -> HashMap<JointId, (DVec2, f64)> {
    let ground = world.body(ground);
    let held = |body: Option<linkwork::BodyId>| body.is_none() || body == ground;
    let joints: Vec<JointId> = world
        .joint_ids()
        .filter(|j| world.joint_bodies(*j).is_some_and(|(a, b)| !(held(a) && held(b))))
        .filter(|j| !["ground", "slew"].contains(&world.joint_name(*j).unwrap()))
        .collect();
    let in_plane = |p: DVec3| DVec2::new(p.x, p.z);
    let mut equation = HashMap::new();
    for j in &joints {
        let (a, b) = world.joint_bodies(*j).unwrap();
        for body in [a, b].into_iter().flatten().filter(|body| !held(Some(*body))) {
            let next = 3 * equation.len();
            equation.entry(body).or_insert(next);
        }
    }
    let size = 3 * equation.len();
    let mut matrix = vec![vec![0.0; size]; size];
    let mut right = vec![0.0; size];
    for (body, row) in &equation {
        right[row + 1] = world.mass(*body).unwrap() * G;
    }
    let mut column = 0;
    let mut columns = HashMap::new();
    for j in &joints {
        let (a, b) = world.joint_bodies(*j).unwrap();
        let at = in_plane(world.joint_anchors(*j).unwrap().1);
        let kind = world.joint_description(*j).unwrap().kind;
        let unknowns = if matches!(kind, JointKind::Slider | JointKind::Fixed) { 3 } else { 2 };
        columns.insert(*j, (column, unknowns));
        for (body, sign) in [(a, -1.0), (b, 1.0)] {
            let Some(&row) = body.and_then(|body| equation.get(&body)) else { continue };
            let arm = at - in_plane(world.center_of_mass(body.unwrap()).unwrap());
            matrix[row][column] += sign;
            matrix[row + 1][column + 1] += sign;
            // moment about y of (fx, fz) at arm (x, z): z fx − x fz
            matrix[row + 2][column] += sign * arm.y;
            matrix[row + 2][column + 1] -= sign * arm.x;
            if unknowns == 3 {
                matrix[row + 2][column + 2] += sign;
            }
        }
        column += unknowns;
    }
    assert_eq!(column, size, "statically determinate in its plane");
    let solution = dense::solve(matrix, right).expect("a rigid machine");
    let read = |(first, unknowns): (usize, usize)| {
        let moment = if unknowns == 3 { solution[first + 2] } else { 0.0 };
        (DVec2::new(solution[first], solution[first + 1]), moment)
    };
    columns.into_iter().map(|(j, c)| (j, read(c))).collect()
}

#[test]
fn the_excavator_holds_a_full_bucket_with_the_pin_forces_of_statics() {
    for load in [1000.0, 4000.0] {
        let mut run = Run::new(&registered("excavator", &[("load", load)]), 1.0 / 30.0);
        run.to(5.0);
        assert!(run.worst_error < 1e-9, "pins open by {:e} m", run.worst_error);
        let statics = planar_statics(&run.world, "house");
        assert_eq!(statics.len(), 16);
        let largest = statics.values().map(|s| s.0.length()).fold(0.0, f64::max);
        assert!(largest > 5e4, "the boom ram carries tonnes: {largest} N");
        for (joint, (force, moment)) in &statics {
            let wrench = run.world.reaction(*joint).unwrap().wrench;
            let name = run.world.joint_name(*joint).unwrap();
            assert_near(
                name,
                DVec3::new(wrench.force.x, 0.0, wrench.force.z),
                DVec3::new(force.x, 0.0, force.y),
                1e-5 * largest,
            );
            assert_close(&format!("{name}, moment"), wrench.torque.y, *moment, 1e-5 * largest);
        }
        assert_near(
            "ground",
            run.reaction("ground").wrench.force,
            DVec3::Z * weight(&run.world),
            1e-6 * weight(&run.world),
        );
    }
}

fn weight(world: &World) -> f64 {
    world.body_ids().filter_map(|b| world.mass(b)).sum::<f64>() * G
}

/// Sum of the forces that the ground exerts.
fn ground_force(world: &World) -> DVec3 {
    let movable = |body: Option<linkwork::BodyId>| body.is_some_and(|b| world.mass(b).is_some());
    let mut sum = DVec3::ZERO;
    for joint in world.joint_ids() {
        let (Some((a, b)), Some(reaction)) = (world.joint_bodies(joint), world.reaction(joint)) else { continue };
        match (movable(a), movable(b)) {
            (false, true) => sum += reaction.wrench.force,
            (true, false) => sum -= reaction.wrench.force,
            _ => {}
        }
    }
    sum
}

#[test]
fn the_ground_carries_the_weight_of_what_rests_on_it() {
    for (name, settings, h, rest) in [
        ("crane-load", vec![], 1.0 / 30.0, 1.0),
        ("excavator", vec![], 1.0 / 30.0, 4.0),
        ("scissor-lift", vec![("pairs", 10.0)], 1.0 / 60.0, 1.0),
        ("scissor-lift", vec![("pairs", 50.0)], 1.0 / 60.0, 1.0),
        ("stewart", vec![], 1.0 / 120.0, 6.0),
    ] {
        let mut run = Run::new(&registered(name, &settings), h);
        run.to(rest);
        let weight = weight(&run.world);
        assert_near(name, ground_force(&run.world), DVec3::Z * weight, 1e-6 * weight);
    }
}

#[test]
fn in_any_motion_the_ground_and_gravity_change_the_momentum() {
    for (name, settings, h) in [("double-pendulum", vec![], 0.01), ("tree", vec![("bodies", 31.0)], 1.0 / 120.0)] {
        let mut run = Run::new(&registered(name, &settings), h);
        let mut before = run.world.momentum().linear;
        let weight = weight(&run.world);
        for _ in 0..200 {
            run.step();
            let now = run.world.momentum().linear;
            let rate = (now - before) / h + DVec3::Z * weight;
            let scale = weight.max(rate.length());
            assert_near(name, ground_force(&run.world), rate, 1e-6 * scale);
            before = now;
        }
    }
}

#[test]
fn a_centrifuge_pulls_on_its_hub_with_m_r_omega_squared() {
    let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("centrifuge") };
    let spin = DVec3::Z * 6.0;
    scene.body(bar("arm", DVec3::ZERO, DVec3::X * 2.0, 3.0).moving(spin.cross(DVec3::X), spin));
    scene.joint(Joint::hinge("hub", WORLD, "arm", DVec3::ZERO, DVec3::Z));
    let mut run = Run::new(&scene, 1e-3);
    run.to(1.0);
    let inward = -run.position("arm").normalize();
    assert_near("pull", run.reaction("hub").wrench.force, inward * 3.0 * 36.0, 0.5);
    assert_close("magnitude", run.reaction("hub").wrench.force.length(), 108.0, 1e-3);
}

#[test]
fn reactions_in_planar_loops_are_called_not_unique_and_those_of_a_branch_are() {
    let mut scene = registered("four-bar", &[]);
    let at = DVec3::new(0.3, 0.0, -0.05);
    scene.body(bar("bob", at, at - DVec3::Z, 1.0));
    scene.joint(Joint::ball("branch", "crank", "bob", at));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    run.steps(20);
    for joint in ["A", "B", "C", "D"] {
        assert!(!run.reaction(joint).unique, "{joint} shares what acts across the plane");
    }
    assert!(run.reaction("branch").unique, "a branch carries what hangs on it");
}

#[test]
fn reactions_of_trees_are_unique_and_those_of_an_overconstrained_lift_are_not() {
    let mut tree = Run::new(&registered("tree", &[("bodies", 31.0)]), 1.0 / 60.0);
    tree.steps(10);
    let all_unique = |run: &Run| run.world.joint_ids().all(|j| run.world.reaction(j).is_none_or(|r| r.unique));
    assert!(all_unique(&tree));
    let mut lift = Run::new(&registered("scissor-lift", &[("pairs", 4.0)]), 1.0 / 60.0);
    lift.steps(10);
    for joint in lift.world.joint_ids() {
        let name = lift.world.joint_name(joint).unwrap();
        assert!(!lift.world.reaction(joint).unwrap().unique, "{name} is in a planar loop");
    }
}

#[test]
fn a_loop_closed_without_excess_has_unique_reactions() {
    // a spatial four-bar: hinge, ball, universal, hinge hold 5 + 3 + 4 + 5 = 17 of 18 freedoms
    let mut scene = registered("four-bar", &[]);
    let c = scene.joints[2].at.unwrap();
    let b = scene.joints[1].at.unwrap();
    scene.joints[1] = Joint::ball("B", "crank", "coupler", b);
    let along = DVec3::from(c) - DVec3::from(b);
    scene.joints[2] = Joint::new(JointKind::Universal, "C", "coupler", "rocker")
        .at(c)
        .axis(DVec3::Y.cross(along))
        .second_axis(DVec3::Y);
    let census = build(&scene).census();
    assert_eq!((census.redundant_rows, census.degrees_of_freedom), (0, 1));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    run.steps(20);
    for joint in ["A", "B", "C", "D"] {
        assert!(run.reaction(joint).unique, "{joint}");
    }
}
