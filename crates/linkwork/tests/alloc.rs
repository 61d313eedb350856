//! A warm step allocates nothing: the mechanisms' working memory is laid out once. What touches allocates, but does not grow.
//!
//! A binary of its own, because counting allocations replaces the global allocator.

use linkwork::glam::DVec3;
use linkwork::scene::{Body, Geometry, Joint, Scene, Shape};
use linkwork::{Method, Scratch, StepParams, World, step};

/// Allocations of 20 steps after 20 to warm up.
fn allocations(name: &str, settings: &[(&str, f64)], tolerance: Option<f64>, method: Method) -> u64 {
    let entry = linkwork_scenes::find(name).expect("a registered scene");
    let settings: Vec<(String, f64)> = settings.iter().map(|(k, v)| (k.to_string(), *v)).collect();
    let scene = entry.build(&settings).expect("good parameters");
    let mut world = World::build(&scene).expect("a good scene");
    let (mut scratch, params) =
        (Scratch::default(), StepParams { tolerance, method, ..StepParams::new(scene.step.dt) });
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
        assert_eq!(allocations(name, settings, None, Method::Direct), 0, "{name}");
    }
}

#[test]
fn a_warm_step_under_error_control_allocates_nothing() {
    for (name, tolerance) in
        [("four-bar", 1e-3), ("four-bar", 1e-7), ("double-pendulum", 1e-9), ("joints", 1e-3), ("car", 1e-3)]
    {
        assert_eq!(allocations(name, &[], Some(tolerance), Method::Direct), 0, "{name} at {tolerance:e}");
    }
    for tolerance in [1e-3, 1e-7] {
        assert_eq!(
            allocations("star", &[], Some(tolerance), Method::Reduced),
            0,
            "in reduced coordinates, {tolerance:e}"
        );
    }
}

/// A million steps (4.6 hours) of a small pile, two of its boxes hinged: nothing drifts, and memory does not grow.
#[test]
fn a_small_pile_rests_for_a_million_steps() {
    let mut scene = Scene::new("pile");
    scene.body(Body::fixed("ground").placed_shape(Shape::new(Geometry::Plane)));
    let names = ["low", "middle", "high"];
    for (name, z) in names.into_iter().zip([0.1, 0.3, 0.5]) {
        scene.body(Body::new(name).at([0.0, 0.0, z]).with_mass(2.0).shape(Geometry::Box { size: [0.4, 0.3, 0.2] }));
    }
    scene.joint(Joint::hinge("hinge", "middle", "high", [0.2, 0.0, 0.4], DVec3::Y).colliding());
    let mut world = World::build(&scene).expect("a good scene");
    let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
    let bodies = names.map(|name| world.body(name).expect("a body"));
    let place = |world: &World| bodies.map(|id| world.pose(id).expect("a pose").position);
    let mut open = 0.0_f64;
    let mut run = |world: &mut World, steps: u32| {
        for _ in 0..steps {
            let report = step(world, &mut scratch, &params).expect("a step");
            open = open.max(report.joint_error.max_m);
        }
    };
    run(&mut world, 600);
    let start = place(&world);
    let kept = allocation_counter::measure(|| run(&mut world, 1_000_000)).bytes_current;
    assert!(kept.abs() < 1000, "{kept} bytes more than after the first 600 steps");
    for ((name, a), b) in names.iter().zip(start).zip(place(&world)) {
        assert!(a.distance(b) < 1e-6, "{name} drifted by {:e} m", a.distance(b));
    }
    assert!(open < 1e-9, "joint open by {open:e} m");
}
