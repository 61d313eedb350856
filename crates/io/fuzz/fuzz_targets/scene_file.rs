//! Whatever a scene file contains: an error with a place in the text, or a scene that is written and read unchanged and
//! that the engine builds or refuses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linkwork::World;
use linkwork_io::{Format, SceneFile, parse_scene, write_scene};

fuzz_target!(|text: &str| {
    for format in [Format::Toml, Format::Json] {
        match parse_scene(text, format, "fuzzed") {
            Err(error) => {
                assert!(!error.problems.is_empty());
                for place in error.problems.iter().filter_map(|problem| problem.place) {
                    assert!(text.get(place.span.start..place.span.end).is_some());
                }
            }
            Ok(scene) => {
                for written_as in [Format::Toml, Format::Json] {
                    let written = write_scene(&scene, written_as).expect("what was read is finite");
                    assert_eq!(parse_scene(&written, written_as, "written").as_ref(), Ok(&scene));
                }
                if let Err(error) = World::build(&scene) {
                    let file = SceneFile { scene, file: "fuzzed".to_owned(), text: text.to_owned(), format };
                    assert!(!file.explain(&error).problems.is_empty());
                }
            }
        }
    }
});
