//! The same bits every time: twice, in threads, in debug and in release, on every machine.

use crate::common::{Run, registered};
use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, BodyKind, Geometry, Joint, Shape};

/// A scene, its settings, and its hash.
type Golden = (&'static str, &'static [(&'static str, f64)], u64);

/// State hash after 60 steps at the scene's own step size.
///
/// These change only in a commit that says why: another order of operations is reason enough, an accident is not.
/// To make them anew: `cargo test --release -p linkwork --test it golden -- --nocapture` prints the table.
const GOLDEN: &[Golden] = &[
    ("double-pendulum", &[], 0x2dcea64bda2937c2),
    ("four-bar", &[], 0x95fe1d5a4fc60e74),
    ("wrecking-ball", &[("links", 8.0)], 0x8c76efa8cc5c2827),
    ("joints", &[], 0xc50532f5e25234d1),
    ("excavator", &[("motion", 1.0)], 0x276b7e7f7c921b8a),
    ("car", &[], 0x91441115cd36ff9b),
    ("stewart", &[], 0xaa58880c6f9fe728),
    ("strandbeest", &[("legs", 3.0)], 0x92eac67d2fce6054),
    ("spider", &[("legs", 16.0)], 0x9afdf9013b00ce84),
    ("star", &[("bodies", 15.0)], 0x2d4f54fd2f3f1a29),
    ("tree", &[("bodies", 31.0)], 0x5b3c5c8d2bfe8e34),
    ("scissor-lift", &[("pairs", 4.0)], 0x706a778f1448d6fc),
    ("peaucellier", &[], 0x05979adaaf866206),
    ("top", &[], 0x42048375a3bbb906),
    ("crane-load", &[], 0x591568bdd93fa797),
    ("walker", &[], 0x2bef15da7ce6d5fc),
    ("tube", &[("rings", 1.0), ("cells", 5.0)], 0x6fe1275f1a3edd00),
    ("walker", &[("ground", 1.0)], 0x6b32cd644ce7a933),
    ("gripper", &[], 0xa6bd3baa7c4ab7fb),
    ("cradle", &[], 0x05b32b4c0f6546ef),
    ("pyramid", &[("base", 8.0)], 0xb04621b4d3fcafad),
    ("rings", &[("rings", 50.0)], 0x916270d5a091e7bd),
    ("rings", &[("rings", 56.0), ("poles", 2.0)], 0x7bd10d8694db965d),
    ("net", &[("meshes", 5.0), ("boxes", 2.0)], 0x9a5b2ae5b6475085),
    ("skeletons", &[("skeletons", 2.0)], 0x48c2a2d6f042c0ed),
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
        ("net", &[("meshes", 6.0), ("boxes", 3.0)], 90),
    ];
    for (name, settings, steps) in scenes {
        any_number_of_threads_agrees(&registered(name, settings), name, steps);
    }
}

fn any_number_of_threads_agrees(scene: &Scene, name: &str, steps: usize) {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| hash_after(scene, steps))
    };
    let alone = with(1);
    for threads in [2, 8] {
        assert_eq!(with(threads), alone, "{name} with {threads} threads");
    }
}

/// Machines that walk beside each other are islands of their own, each solved by Newton's method, as are towers of boxes that come
/// to rest, balls that bounce, and a ball that is struck into another one out of its reach. The first machine does what it does
/// when it is alone, if its bodies come first.
#[test]
fn machines_and_stacks_side_by_side_do_the_same_in_any_number_of_threads_and_as_if_alone() {
    let walker = registered("walker", &[("ground", 1.0)]);
    let floor = walker.bodies.iter().find(|b| b.name == "ground").unwrap().position[2];
    let mut scene = herd(&walker, 12, DVec3::Y * 5.0);
    for tower in 0..4 {
        for k in 0..10 {
            let at = DVec3::new(40.0 + 2.0 * f64::from(tower), 0.0, floor + 0.25 + 0.5 * f64::from(k));
            let block = Body::new(format!("block {tower} {k}")).at(at).with_mass(1.0);
            scene.bodies.push(block.shape(Geometry::Box { size: [0.5; 3] }));
        }
    }
    let ball = |name: String, at: DVec3| {
        let bouncing = Shape::new(Geometry::Sphere { radius: 0.2 }).restitution(0.8);
        Body::new(name).at(at).with_mass(1.0).placed_shape(bouncing)
    };
    for k in 0..20 {
        let at = DVec3::new(-40.0, 2.0 * f64::from(k), 1.0 + 0.1 * f64::from(k));
        scene.bodies.push(ball(format!("ball {k}"), at));
    }
    for k in 0..4 {
        // beside the machines, not through them
        let lane = DVec3::new(-50.0, 100.0 + 2.0 * f64::from(k), floor + 0.2);
        let shot = ball(format!("shot {k}"), lane);
        scene.bodies.push(Body { velocity: [60.0, 0.0, 0.0], ..shot });
        scene.bodies.push(ball(format!("struck {k}"), lane + DVec3::X * 2.0));
        scene.bodies.push(ball(format!("behind {k}"), lane + DVec3::X * 3.0));
    }
    any_number_of_threads_agrees(&scene, "a herd", 90);

    let end = |scene: &Scene, forgets: bool| {
        let mut run = Run::new(scene, scene.step.dt);
        for k in 0..90 {
            if forgets && k % 7 == 3 {
                run.scratch = linkwork::Scratch::default();
            }
            run.steps(1);
        }
        run
    };
    let (together, alone) = (end(&scene, false), end(&walker, false));
    assert_eq!(end(&scene, true).world.state_hash(), together.world.state_hash(), "without working memory");
    assert_eq!(together.position("trunk"), alone.position("trunk"));
    assert!(together.velocity("block 0 9").length() < 1e-6, "a tower rests");
    assert!(together.position("behind 0").x > -46.0, "what stood behind was struck");
}

/// A scene with copies of all that moves in it, each farther on than the last.
fn herd(scene: &Scene, count: usize, apart: DVec3) -> Scene {
    let mut all = scene.clone();
    let moves = |name: &str| scene.bodies.iter().any(|b| b.name == name && b.kind == BodyKind::Dynamic);
    for k in 1..count {
        let shifted = |place: [f64; 3]| (DVec3::from(place) + apart * k as f64).to_array();
        let renamed = |name: &str| format!("{k}.{name}");
        for body in scene.bodies.iter().filter(|b| moves(&b.name)) {
            all.bodies.push(Body { name: renamed(&body.name), position: shifted(body.position), ..body.clone() });
        }
        for joint in &scene.joints {
            let end = |body: &Option<String>| body.as_deref().map(|b| if moves(b) { renamed(b) } else { b.into() });
            all.joints.push(Joint {
                name: renamed(&joint.name),
                a: end(&joint.a),
                b: end(&joint.b),
                at: joint.at.map(shifted),
                ..joint.clone()
            });
        }
    }
    all
}

/// What a pile or an island at rest remembers belongs to the world: working memory that is thrown away changes nothing.
#[test]
fn piles_and_stacks_do_not_notice_that_working_memory_is_thrown_away() {
    let net = &[("meshes", 5.0), ("boxes", 2.0)][..];
    for (name, settings, steps) in
        [("rings", &[("rings", 56.0), ("poles", 2.0)][..], 60), ("pyramid", &[("base", 8.0)], 60), ("net", net, 90)]
    {
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
