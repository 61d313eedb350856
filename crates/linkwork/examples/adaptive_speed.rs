//! Time of a step of adaptive dynamics on chains of growing length, a few joints of which are active.
//!
//! `cargo run --release -p linkwork --example adaptive_speed`

use linkwork::World;
use linkwork::glam::DVec3;
use linkwork::reduced::{self, Activity, Adaptive, Data, Model, State};
use linkwork::scene::{Body, Geometry, Joint, Scene, WORLD};
use std::time::Instant;

/// Links of 0.2 m along x, hinged about y, without gravity.
fn chain(links: usize) -> Scene {
    let mut scene = Scene { gravity: [0.0; 3], collisions: false, ..Scene::new("chain") };
    let mut above = WORLD.to_string();
    for k in 0..links {
        let (name, x) = (format!("link {k}"), 0.2 * k as f64);
        let shape = Geometry::Box { size: [0.2, 0.04, 0.04] };
        scene.body(Body::new(&name).at([x + 0.1, 0.0, 0.0]).with_mass(1.0).shape(shape));
        scene.joint(Joint::hinge(format!("joint {k}"), &above, &name, [x, 0.0, 0.0], [0.0, 1.0, 0.0]));
        above = name;
    }
    scene
}

/// The best of many times, µs: a busy machine only adds.
fn best(count: usize, mut run: impl FnMut()) -> f64 {
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..count).for_each(|_| run());
        start.elapsed().as_secs_f64() / count as f64 * 1e6
    };
    (0..15).map(|_| time(&mut run)).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!(
        "links   set up, ms   adaptive step, µs (active joints)   articulated bodies, µs   divide and conquer, µs"
    );
    for links in [100, 1000, 10_000] {
        let world = World::build(&chain(links)).unwrap();
        let model = Model::of(&world);
        let state = State { q: model.neutral(), v: vec![0.0; model.rates()] };
        let none = vec![0.0; model.rates()];
        let start = Instant::now();
        let activity = Activity { most: 24, tolerance: 1e-4, settling: 0.1 };
        let mut adaptive = Adaptive::new(&model, &state, &none, activity).unwrap();
        let set_up = start.elapsed().as_secs_f64() * 1e3;
        // a blow at the free end: what moves is there
        let end = DVec3::new(0.2 * links as f64, 0.0, 0.0);
        assert!(adaptive.strike(links - 1, end, DVec3::Z * 0.05));
        let step = best(20, || adaptive.step(1e-4));
        let active = adaptive.active().count();
        let mut data = Data::new(&model);
        let count = (20_000 / links).max(1);
        let aba = best(count, || reduced::aba(&model, &mut data, &state.q, &state.v, &none, &[]));
        let divided = best(count.min(5), || {
            reduced::divide_and_conquer(&model, &mut data, &state.q, &state.v, &none, &[]).unwrap();
        });
        println!("{links:>5}   {set_up:>10.1}   {step:>17.1} ({active:>2})   {aba:>35.1}   {divided:>22.1}");
    }
}
