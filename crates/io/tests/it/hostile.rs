//! Files that are no scene files: a clear error, never a panic, in bounded time.

use linkwork_io::{Format, load, locate, parse_scene, read_scene, write_scene};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn in_folder(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    (folder, path)
}

fn message_of(name: &str, content: &[u8]) -> String {
    let (_folder, path) = in_folder(name, content);
    let error = read_scene(&path).expect_err(name);
    assert!(error.to_string().starts_with(&path.display().to_string()));
    format!("{} ({})", error.problems[0].message, error.problems[0].hint.as_deref().unwrap_or(""))
}

#[test]
fn what_is_no_scene_file_is_said_to_be_none() {
    let empty = "the file is empty (a scene has at least one body; `linkwork export` writes scenes to start from)";
    assert_eq!(message_of("a.toml", b""), empty);
    assert_eq!(message_of("a.toml", b" \n\n# only a comment\n"), empty);
    assert_eq!(message_of("a.json", b"  \n"), empty);
    assert_eq!(message_of("a.json", b"{}"), empty);
    assert_eq!(message_of("a.yaml", b"x"), "not a scene file by its name (scene files end in .toml or .json)");
    assert_eq!(message_of("a", b"x"), "not a scene file by its name (scene files end in .toml or .json)");
    assert_eq!(
        message_of("a.toml", b"name = 'x'\n# \xff\n"),
        "not text: byte 0xff in line 2 is not UTF-8 (save the file as UTF-8; is this the right file?)"
    );
    assert!(message_of("a.json", b"\x89PNG\r\n\x1a\n").starts_with("not text: byte 0x89 in line 1"));
    assert!(message_of("a.json", b"[1, 2]").starts_with("expected an object, found an array"));
}

#[test]
fn a_file_that_is_not_there_may_have_another_extension() {
    let (folder, path) = in_folder("crane.toml", b"name = 'crane'");
    let error = load(path.with_extension("")).unwrap_err();
    assert!(error.is_unreadable());
    assert_eq!(error.problems[0].hint.as_deref(), Some(format!("did you mean `{}`?", path.display()).as_str()));
    let error = load(folder.path().join("none.toml")).unwrap_err();
    assert_eq!(error.problems[0].message, "no such file");
    let error = load(folder.path()).unwrap_err();
    assert_eq!(error.problems[0].message, "not a file");
    assert!(error.problems[0].hint.as_deref().unwrap().contains("folder"));
}

#[test]
fn a_huge_file_is_refused_before_it_is_read_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.toml");
    fs::File::create(&path).unwrap().set_len(linkwork_io::LARGEST_FILE + 1).unwrap();
    let error = read_scene(&path).unwrap_err();
    assert_eq!(error.problems[0].message, "larger than 128 MiB");
}

#[test]
fn large_and_deep_texts_take_bounded_time() {
    let n = 200_000;
    let texts = [
        format!("x = {}", "[".repeat(n)),
        format!("x = {}", "{a=".repeat(n)),
        format!("{} = 1", vec!["a"; n].join(".")),
        "[[bodies]]\nmasss = 1\n".repeat(n / 10),
        "[[bodies]]\nmass = 'x'\n".repeat(n / 10),
        "= = =\n".repeat(n / 10),
        (0..n / 10).map(|i| format!("k{i} = 1\n")).collect(),
        "\"".repeat(n),
        "\u{0}".repeat(n),
        format!("{{\"bodies\": [{}]}}", vec!["{\"mass\": \"x\"}"; n / 10].join(",")),
        format!("{{{}}}", (0..n / 10).map(|i| format!("\"k{i}\": 1")).collect::<Vec<_>>().join(",")),
        format!("{{\"gravity\": [0, 0, {}]}}", "9".repeat(n)),
    ];
    let start = Instant::now();
    for text in &texts {
        for format in [Format::Toml, Format::Json] {
            assert!(parse_scene(text, format, "scene").is_err(), "{}", &text[..20]);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A scene that has every kind of thing in it, to be damaged.
const SPECIMEN: &str = r#"
name = "machine"
gravity = [0, 0, -9.81]
[step]
dt = 0.01
[[bodies]]
name = "arm"
mass = 1.0
inertia = [1, 2, 2.5]
shapes = [{ geometry = { sphere = { radius = 1.0 } } }, { geometry = { box = { size = [1, 2, 3] } } }]
[[joints]]
name = "elbow"
type = "hinge"
b = "arm"
axis = [0, 0, 1]
[[joints.coordinates]]
of = "angle"
limit = { min = -2.0, max = 1.0 }
motor = { servo = { target = 1.0, stiffness = 5 } }
"#;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damaged_text_never_panics(
        cut in 0usize..2000,
        at in 0usize..2000,
        insert in prop_oneof!["[\\[\\]{}=.,\"'#\\\\ \n0-9a-z-]{0,6}", ".{0,4}"],
        path in "[a-z.\\[\\]0-9]{0,20}",
    ) {
        let scene = parse_scene(SPECIMEN, Format::Toml, "specimen").unwrap();
        let json = write_scene(&scene, Format::Json).unwrap();
        for (format, text) in [(Format::Toml, SPECIMEN), (Format::Json, json.as_str())] {
            let mut damaged: Vec<char> = text.chars().collect();
            let start = at % damaged.len();
            let end = (start + cut % 8).min(damaged.len());
            damaged.splice(start..end, insert.chars());
            let damaged: String = damaged.into_iter().collect();
            match parse_scene(&damaged, format, "damaged") {
                Ok(scene) => drop(write_scene(&scene, format).unwrap()),
                Err(error) => {
                    prop_assert!(!error.problems.is_empty());
                    for problem in &error.problems {
                        if let Some(place) = problem.place {
                            prop_assert!(damaged.get(place.span.start..place.span.end).is_some(), "{:?}", place);
                        }
                    }
                }
            }
            if let Some(span) = locate(&damaged, format, &path) {
                prop_assert!(damaged.get(span.start..span.end).is_some());
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        for format in [Format::Toml, Format::Json] {
            let _ = parse_scene(&text, format, "noise");
            let _ = locate(&text, format, &text);
        }
    }
}
