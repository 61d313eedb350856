//! What the fuzz targets do, as functions of bytes: also run over the corpus by `cargo test --no-default-features`.

use linkwork::{Scratch, StepParams, World, step};
use linkwork_io::{Format, parse_scene, write_scene};

/// More bodies than this only make a run slow.
const MOST_BODIES: usize = 50;
const STEPS: usize = 5;

/// Reads the bytes as TOML (or as JSON if they begin so), builds the world and takes a few steps.
///
/// Anything may be refused; nothing may panic. A scene that was read is written and read back as the same, and a step
/// either leaves finite numbers or fails and leaves the world as it was.
pub fn scene(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let format = if text.trim_start().starts_with('{') { Format::Json } else { Format::Toml };
    let Ok(scene) = parse_scene(text, format, "fuzz") else { return };
    if let Ok(written) = write_scene(&scene, format) {
        let again = parse_scene(&written, format, "again");
        assert!(again.is_ok_and(|again| format!("{again:?}") == format!("{scene:?}")), "written and read differ");
    }
    if scene.bodies.len() > MOST_BODIES || scene.joints.len() > 2 * MOST_BODIES {
        return;
    }
    let Ok(mut world) = World::build(&scene) else { return };
    let dt = scene.step.dt.clamp(1e-6, 0.1);
    let (mut scratch, params) = (Scratch::default(), StepParams::new(dt));
    for _ in 0..STEPS {
        let before = world.state_hash();
        match step(&mut world, &mut scratch, &params) {
            Err(_) => assert_eq!(world.state_hash(), before, "a failed step has changed the world"),
            Ok(_) => assert!(world.body_ids().all(|b| world.pose(b).is_some_and(|p| p.position.is_finite()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use linkwork::World;
    use linkwork_io::{Format, parse_scene};

    #[test]
    fn the_corpus_and_its_mutilations_pass() {
        for text in [include_str!("../corpus/scene/pendulum.toml"), include_str!("../corpus/scene/machine.json")] {
            let format = if text.starts_with('{') { Format::Json } else { Format::Toml };
            let scene = parse_scene(text, format, "corpus").unwrap_or_else(|e| panic!("{e}"));
            assert!(World::build(&scene).is_ok());
            super::scene(text.as_bytes());
            // every prefix, and every number replaced by awkward ones
            for end in (0..text.len()).step_by(7) {
                super::scene(&text.as_bytes()[..end]);
            }
            for awkward in ["nan", "inf", "-1.0", "0.0", "1e300", "1e-300", "\"x\"", "[]"] {
                for (at, _) in text.match_indices(|c: char| c.is_ascii_digit()).step_by(3) {
                    let mut mutilated = text.to_string();
                    mutilated.replace_range(at..at + 1, awkward);
                    super::scene(mutilated.as_bytes());
                }
            }
        }
    }
}
