//! The same bits every time: twice, in threads, in debug and in release, on every machine.

use crate::common::{Run, registered};
use linkwork::Scene;

/// A scene, its settings, and its hash.
type Golden = (&'static str, &'static [(&'static str, f64)], u64);

/// State hash after 60 steps at the scene's own step size.
///
/// These change only in a commit that says why: another order of operations is reason enough, an accident is not.
/// To make them anew: `cargo test --release -p linkwork --test it golden -- --nocapture` prints the table.
const GOLDEN: &[Golden] = &[
    ("double-pendulum", &[], 0x59417ca116f1f57e),
    ("four-bar", &[], 0x864a938a02c16100),
    ("wrecking-ball", &[("links", 8.0)], 0x7dc915c3db6ce49c),
    ("joints", &[], 0x199b64e0b8420de4),
    ("excavator", &[("motion", 1.0)], 0x78267b7e88cec8d7),
    ("car", &[], 0xb346b745c2017b7a),
    ("stewart", &[], 0x2c2b320a9507afa7),
    ("strandbeest", &[("legs", 3.0)], 0x5d0de68e5d9a9f19),
    ("spider", &[("legs", 16.0)], 0x3bc618ccbaf4b1ce),
    ("star", &[("bodies", 15.0)], 0x8fdb9f83c47e9dae),
    ("tree", &[("bodies", 31.0)], 0x62be5875f68fb2f0),
    ("scissor-lift", &[("pairs", 4.0)], 0x4200d1202fcb794a),
    ("peaucellier", &[], 0x945a855992561867),
    ("top", &[], 0x7e14b7f7f882e1fc),
    ("crane-load", &[], 0x15c548ab0e88430e),
    ("walker", &[], 0xa1b0237c048c9e18),
    ("tube", &[("rings", 1.0), ("cells", 5.0)], 0x10e49c9fdb734aec),
];

fn hash_after(scene: &Scene, steps: usize) -> u64 {
    let mut run = Run::new(scene, scene.step.dt);
    run.steps(steps);
    run.world.state_hash()
}

#[test]
fn golden_hashes_are_the_same_in_every_profile() {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for (name, settings, golden) in GOLDEN {
        let hash = hash_after(&registered(name, settings), 60);
        table += &format!("    (\"{name}\", &{settings:?}, 0x{hash:016x}),\n");
        if hash != *golden {
            wrong.push(*name);
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "hashes of {wrong:?} have changed; now:\n{table}");
}

#[test]
fn the_same_scene_runs_the_same_twice_and_in_threads_at_once() {
    for (name, settings, _) in GOLDEN {
        let scene = registered(name, settings);
        let first = hash_after(&scene, 40);
        std::thread::scope(|threads| {
            let running: Vec<_> = (0..3).map(|_| threads.spawn(|| hash_after(&scene, 40))).collect();
            for thread in running {
                assert_eq!(thread.join().unwrap(), first, "{name}");
            }
        });
    }
}
