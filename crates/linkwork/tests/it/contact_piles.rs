//! Stacks and towers stand, and nothing sinks into anything.

use crate::common::Run;
use crate::contact::{cuboid, ground};
use crate::overlap;
use linkwork::glam::DVec3;
use linkwork::scene::Scene;

/// A tower of boxes, the lowest first, with a gap below each.
fn tower(masses: &[f64], gap: f64) -> Scene {
    let mut scene = Scene::new("tower");
    scene.body(ground(0.5));
    for (k, &mass) in masses.iter().enumerate() {
        let z = 0.5 + k as f64 + (k + 1) as f64 * gap;
        scene.body(cuboid(&format!("box{k}"), [1.0; 3], 0.5).with_mass(mass).at([0.0, 0.0, z]));
    }
    scene
}

pub fn stands(masses: &[f64], gap: f64, h: f64) {
    let what = format!("{} boxes, top of {} kg, gap {gap}, h = {h}", masses.len(), masses[masses.len() - 1]);
    let mut run = Run::new(&tower(masses, gap), h);
    let mut worst = 0.0_f64;
    for _ in 0..(5.0 / h) as usize {
        run.step();
        worst = worst.max(overlap::deepest(&run.world).0);
    }
    assert!(worst < 1e-4, "{what}: {worst:e} m deep");
    let mut last = Vec::new();
    for k in 0..masses.len() {
        let name = format!("box{k}");
        let at = run.position(&name);
        let expected = DVec3::new(0.0, 0.0, 0.5 + k as f64);
        assert!(at.distance(expected) < 1e-3, "{what}: box {k} at {at}");
        assert!(run.velocity(&name).length() < 1e-5, "{what}: box {k} at {}", run.velocity(&name));
        last.push(at);
    }
    run.to(10.0);
    for (k, at) in last.iter().enumerate() {
        let moved = run.position(&format!("box{k}")).distance(*at);
        assert!(moved < 1e-5, "{what}: box {k} moves {moved:e} m in five seconds");
    }
}

#[test]
fn a_stack_of_ten_boxes_stands() {
    stands(&[1000.0; 10], 0.0, 1.0 / 60.0);
    stands(&[1000.0; 10], 0.0, 1.0 / 30.0);
}

#[test]
fn a_dropped_stack_of_ten_boxes_stands() {
    stands(&[1000.0; 10], 0.01, 1.0 / 60.0);
    stands(&[1000.0; 10], 0.01, 1.0 / 30.0);
}
