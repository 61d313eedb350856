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
    ("double-pendulum", &[], 0x7489fbd2c738f046),
    ("four-bar", &[], 0x97a13d025c51b24d),
    ("wrecking-ball", &[("links", 8.0)], 0x25e0332795203571),
    ("joints", &[], 0xa2e0a09ad39d2dcc),
    ("excavator", &[("motion", 1.0)], 0xc1a706cb3fdbdfe8),
    ("car", &[], 0x7b0cefd7b6d4ae0f),
    ("stewart", &[], 0xd6c9e8742c75a26f),
    ("strandbeest", &[("legs", 3.0)], 0x9b4f02c25000dddb),
    ("spider", &[("legs", 16.0)], 0xb7318427a099534b),
    ("star", &[("bodies", 15.0)], 0xca9d359be10454e8),
    ("tree", &[("bodies", 31.0)], 0xe2e2f14551e44450),
    ("scissor-lift", &[("pairs", 4.0)], 0x43aa3f29c8d7a653),
    ("peaucellier", &[], 0x4860e4bcc4a2bded),
    ("top", &[], 0x71db9c25f6a96513),
    ("crane-load", &[], 0x9e33eb63f6c32e8e),
    ("walker", &[], 0xc2f60b5b72d92634),
    ("tube", &[("rings", 1.0), ("cells", 5.0)], 0xca9b77cb8aab00a5),
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

/// Piles are solved several at once, pairs looked at in parts, mechanisms advanced side by side: none of it may show.
#[test]
fn the_number_of_threads_changes_no_bit() {
    let scenes = [
        ("rings", &[("rings", 100.0)][..], 60),
        ("skeletons", &[("skeletons", 4.0)], 90),
        ("pyramid", &[("base", 30.0)], 20),
        ("joints", &[], 60),
    ];
    for (name, settings, steps) in scenes {
        let scene = registered(name, settings);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| hash_after(&scene, steps))
        };
        let alone = with(1);
        for threads in [2, 8] {
            assert_eq!(with(threads), alone, "{name} with {threads} threads");
        }
    }
}

/// What a pile or an island at rest remembers belongs to the world: working memory that is thrown away changes nothing.
#[test]
fn piles_and_stacks_do_not_notice_that_working_memory_is_thrown_away() {
    for (name, settings, steps) in [("rings", &[("rings", 50.0)][..], 60), ("pyramid", &[("base", 8.0)], 60)] {
        let scene = registered(name, settings);
        let mut run = Run::new(&scene, scene.step.dt);
        for k in 0..steps {
            if k % 7 == 3 {
                run.scratch = linkwork::Scratch::default();
            }
            run.steps(1);
        }
        assert_eq!(run.world.state_hash(), hash_after(&scene, steps), "{name}");
    }
}
