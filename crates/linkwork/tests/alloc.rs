//! A warm step allocates nothing: the mechanisms' working memory is laid out once.
//!
//! A binary of its own, because counting allocations replaces the global allocator.

use linkwork::{Scratch, StepParams, World, step};

/// Allocations of 20 steps after 20 to warm up.
fn allocations(name: &str, settings: &[(&str, f64)], tolerance: Option<f64>) -> u64 {
    let entry = linkwork_scenes::find(name).expect("a registered scene");
    let settings: Vec<(String, f64)> = settings.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let scene = entry.build(&settings).expect("good parameters");
    let mut world = World::build(&scene).expect("a good scene");
    let (mut scratch, params) = (Scratch::default(), StepParams { tolerance, ..StepParams::new(scene.step.dt) });
    let mut run = || {
        for _ in 0..20 {
            step(&mut world, &mut scratch, &params).expect("a step");
        }
    };
    run();
    allocation_counter::measure(run).count_total
}

#[test]
fn a_warm_step_allocates_nothing() {
    let scenes: [(&str, &[(&str, f64)]); 9] = [
        ("tree", &[]),
        ("star", &[]),
        ("wrecking-ball", &[("mass", 1e6)]),
        ("four-bar", &[]),
        ("strandbeest", &[]),
        ("excavator", &[("motion", 1.0)]),
        ("stewart", &[]),
        ("car", &[]),
        ("joints", &[]),
    ];
    for (name, settings) in scenes {
        assert_eq!(allocations(name, settings, None), 0, "{name}");
    }
}

#[test]
fn a_warm_step_under_error_control_allocates_nothing() {
    for (name, tolerance) in
        [("four-bar", 1e-3), ("four-bar", 1e-7), ("double-pendulum", 1e-9), ("joints", 1e-3), ("car", 1e-3)]
    {
        assert_eq!(allocations(name, &[], Some(tolerance)), 0, "{name} at {tolerance:e}");
    }
}
