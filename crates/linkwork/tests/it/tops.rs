//! Rotation in space: tops against closed forms and the reference of the intermediate axis.

use crate::common::{Run, assert_close, assert_near, assert_order, registered, scientific, weightless};
use crate::reference::Table;
use linkwork::Scene;
use linkwork::glam::{DQuat, DVec3};
use linkwork::scene::{Body, Joint, WORLD};

#[test]
fn a_heavy_top_started_steadily_goes_round_at_its_rate_and_keeps_its_tilt() {
    // C s p − A p² cos t = m g r, the slower root, with the numbers of the scene
    let (spin, tilt) = (100.0_f64, 30.0_f64.to_radians());
    let (along, across, moment) = (0.01 / 2.0, (0.03 + 0.0004) / 12.0 + 0.0225, 9.81 * 0.15);
    let discriminant = (along * spin).powi(2) - 4.0 * across * tilt.cos() * moment;
    let rate = (along * spin - discriminant.sqrt()) / (2.0 * across * tilt.cos());
    let scene = registered("top", &[("steady", 1.0), ("spin", spin), ("tilt", 30.0)]);
    let errors = [1.0 / 500.0, 1.0 / 1000.0, 1.0 / 2000.0].map(|h| {
        let mut run = Run::new(&scene, h);
        let mut worst = 0.0_f64;
        while run.world.time() < 1.0 - 1e-9 {
            run.step();
            let angle = rate * run.world.time();
            let expected = DVec3::new(tilt.sin() * angle.cos(), tilt.sin() * angle.sin(), tilt.cos()) * 0.15;
            worst = worst.max(run.position("top").distance(expected));
        }
        worst
    });
    assert!(errors[2] < 1e-4, "position errors of the centre, m: {}", scientific(&errors));
    assert_order("steady precession", 2.0, &errors);
}

/// Orientation of a torque-free symmetric top: its axis goes round the angular momentum, and it turns about its axis.
fn symmetric_top(spin: DVec3, across: f64, along: f64, time: f64) -> DQuat {
    let momentum = spin * DVec3::new(across, across, along);
    let about_momentum = DQuat::from_axis_angle(momentum.normalize(), momentum.length() / across * time);
    about_momentum * DQuat::from_rotation_z(spin.z * (1.0 - along / across) * time)
}

fn torque_free(spin: DVec3, inertia: [f64; 3], pinned: bool) -> Scene {
    let mut scene = weightless("torque-free top");
    scene.body(Body::new("top").moving(DVec3::ZERO, spin).with_mass(1.0).with_inertia(inertia));
    if pinned {
        scene.joint(Joint::ball("centre", WORLD, "top", DVec3::ZERO));
    }
    scene
}

#[test]
fn a_torque_free_symmetric_top_turns_as_poinsot_says_alone_and_on_a_joint() {
    let spin = DVec3::new(1.5, 0.0, 6.0);
    for (pinned, inertia) in
        [(false, [1.0, 1.0, 1.8]), (true, [1.0, 1.0, 1.8]), (false, [1.0, 1.0, 0.2]), (true, [1.0, 1.0, 0.2])]
    {
        let errors = [0.02, 0.01, 0.005].map(|h| {
            let mut run = Run::new(&torque_free(spin, inertia, pinned), h);
            run.to(5.0);
            run.orientation("top").angle_between(symmetric_top(spin, inertia[0], inertia[2], 5.0))
        });
        assert!(errors[2] < 2e-3, "pinned {pinned}, {inertia:?}: {} rad", scientific(&errors));
        assert_order("symmetric top", 2.0, &errors);
    }
}

#[test]
fn a_body_flips_about_its_middle_axis_as_in_the_reference_and_keeps_its_momentum() {
    let reference = Table::read("dzhanibekov.csv");
    for pinned in [false, true] {
        let errors = [0.01, 0.005, 0.0025].map(|h| {
            let mut run = Run::new(&torque_free(DVec3::new(0.05, 4.0, 0.02), [1.0, 2.0, 3.0], pinned), h);
            let start = run.world.momentum().angular;
            let mut worst = 0.0_f64;
            for row in reference.rows() {
                run.to(row.get("t"));
                let q = DQuat::from_xyzw(row.get("qx"), row.get("qy"), row.get("qz"), row.get("qw"));
                worst = worst.max(run.orientation("top").angle_between(q));
                assert_near("angular momentum", run.world.momentum().angular, start, 1e-11);
            }
            assert_close("energy", run.world.energy().kinetic, 0.5 * (0.0025 + 32.0 + 0.0012), 2.0 * h * h);
            worst
        });
        assert!(errors[2] < 1e-3, "pinned {pinned}: {} rad", scientific(&errors));
        assert_order("intermediate axis", 2.0, &errors);
    }
}
