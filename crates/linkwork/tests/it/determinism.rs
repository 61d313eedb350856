//! The same bits every time: twice, in threads, in debug and in release, on every machine.

use crate::common::{Run, registered};
use linkwork::Scene;

/// State hash after 60 steps at the scene's own step size.
///
/// These change only in a commit that says why: another order of operations is reason enough, an accident is not.
/// To make them anew: `cargo test --release -p linkwork --test it golden -- --nocapture` prints the table.
const GOLDEN: &[(&str, &[(&str, f64)], u64)] = &[
    ("double-pendulum", &[], 0x5aaa25cc12fdb7ea),
    ("four-bar", &[], 0x56693e60d3d5624b),
    ("wrecking-ball", &[("links", 8.0)], 0xb61f0f090b768b9b),
    ("joints", &[], 0x8457c6dc96102de1),
    ("excavator", &[("motion", 1.0)], 0xba2e8c2b1793f728),
    ("car", &[], 0x9db218dfb11e2d1e),
    ("stewart", &[], 0xa64908ea2685ca62),
    ("strandbeest", &[("legs", 3.0)], 0x7e82eeaab8a382d9),
    ("spider", &[("legs", 16.0)], 0x59765e8c59e4a9ab),
    ("star", &[("bodies", 15.0)], 0xef8b51c57025b3cd),
    ("tree", &[("bodies", 31.0)], 0xf2a2c1ed907bf7ff),
    ("scissor-lift", &[("pairs", 4.0)], 0x361341e5a72011a3),
    ("peaucellier", &[], 0x01596cccd6e904a2),
    ("top", &[], 0xb6b1d5d3ee999c10),
    ("crane-load", &[], 0xd95a735cb86a6d5c),
    ("walker", &[], 0x4e4e4c90d321cf9a),
    ("tube", &[("rings", 1.0), ("cells", 5.0)], 0x5814bdcdd3b4366a),
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
