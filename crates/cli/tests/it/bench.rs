//! `linkwork bench`.

use crate::command::{Folder, PENDULUM, linkwork};

#[test]
fn a_scene_is_measured() {
    let arguments = ["bench", "tree", "--set", "bodies=15", "--duration", "0.5", "--repeats", "3"];
    let text = linkwork(&arguments).exits_with(0).stdout;
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("scene "), "{text}");
    assert!(lines.next().unwrap().starts_with("tree bodies=15 "), "{text}");
    let json = linkwork(&[&arguments[..], &["--json"]].concat()).exits_with(0).json();
    let result = &json["results"][0];
    assert_eq!(json["repeats"], 3);
    assert_eq!(result["steps"], 15);
    assert_eq!(result["parameters"]["bodies"], 15);
    assert_eq!(result["deterministic"], true);
    let ms = |key: &str| result["step_ms"][key].as_f64().unwrap();
    assert!(0.0 < ms("least") && ms("least") <= ms("median") && ms("median") <= ms("most"), "{result}");
    let stages: f64 = result["stages_ms"].as_object().unwrap().values().map(|time| time.as_f64().unwrap()).sum();
    assert!(stages > 0.0, "{result}");
}

#[test]
fn a_scene_of_the_table_is_held_against_its_targets() {
    let json =
        linkwork(&["bench", "wrecking-ball", "--repeats", "1", "--duration", "0.5", "--json"]).exits_with(0).json();
    let labels: Vec<&str> = json["results"].as_array().unwrap().iter().map(|r| r["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["wrecking-ball mass=1000", "wrecking-ball mass=1000000"]);
    let targets = json["targets"].as_array().unwrap();
    let joint_error = targets.iter().find(|target| target["quantity"] == "joint error in m").unwrap();
    assert_eq!(joint_error["met"], true);
    assert_eq!(joint_error["target"], 1e-9);
}

#[test]
fn files_are_measured_too() {
    let folder = Folder::new();
    let scene = folder.with("pendulum.toml", PENDULUM);
    let json = linkwork(&["bench", &scene, "--repeats", "1", "--json"]).exits_with(0).json();
    assert_eq!(json["results"][0]["scene"], "pendulum");
    assert_eq!(json["results"][0]["steps"], 50);
}

#[test]
fn figures_are_kept_and_held_against() {
    let folder = Folder::new();
    let file = folder.name("before.json");
    let arguments = ["bench", "tree", "--set", "bodies=15", "--duration", "0.5", "--repeats", "3"];
    linkwork(&[&arguments[..], &["--save", &file]].concat()).exits_with(0);
    let saved: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(saved["quantity"], "cpu_ms");
    assert_eq!(saved["entries"][0]["label"], "tree bodies=15");
    let text = linkwork(&[&arguments[..], &["--compare", &file, "--allow", "1000"]].concat()).exits_with(0).stdout;
    assert!(text.contains("before") && text.contains(" same"), "{text}");

    let fast = r#"{"quantity": "cpu_ms", "options": "--duration 0.5", "entries": [{"label": "tree bodies=15", "median": 1e-9, "least": 1e-9, "most": 1e-9}]}"#;
    let fast = folder.with("fast.json", fast);
    let text = linkwork(&[&arguments[..], &["--compare", &fast]].concat()).exits_with(1).stdout;
    assert!(text.contains("WORSE"), "{text}");

    let wrong = folder.with("wrong.json", "{}");
    let told = linkwork(&[&arguments[..], &["--compare", &wrong]].concat()).exits_with(2).stderr;
    assert!(told.contains("--save"), "{told}");

    // what cannot be compared is told before anything is measured
    for (more, said) in [
        (&["bench", "tree", "--set", "bodies=15", "--compare"][..], "`--duration 0.5`"),
        (&["bench", "four-bar", "--duration", "0.5", "--compare"], "it has tree bodies=15"),
        (&["bench", "--instructions", "--compare"], "--instructions counts instructions"),
    ] {
        let outcome = linkwork(&[more, &[&file]].concat()).exits_with(2);
        assert!(outcome.stderr.contains(said) && outcome.stdout.is_empty(), "{} {}", outcome.stdout, outcome.stderr);
    }
    let told = linkwork(&[&arguments[..], &["--save", &folder.name("no/such.json")]].concat()).exits_with(2);
    assert!(told.stdout.is_empty() && told.stderr.contains("does not exist"), "{} {}", told.stdout, told.stderr);
    let unordered = r#"{"quantity": "cpu_ms", "entries": [{"label": "tree", "median": 1, "least": 2, "most": 3}]}"#;
    let unordered = folder.with("unordered.json", unordered);
    let told = linkwork(&["bench", "tree", "--compare", &unordered]).exits_with(2).stderr;
    assert!(told.contains("tree: 2, 1, 3"), "{told}");
}

#[test]
fn a_scene_that_is_not_there_is_told_before_instructions_are_counted() {
    let told = linkwork(&["bench", "no-such-scene", "--instructions"]).exits_with(2).stderr;
    assert!(told.contains("there is no scene `no-such-scene`"), "{told}");
    let told = linkwork(&["bench", "four-bar", "--set", "size=3", "--instructions"]).exits_with(2).stderr;
    assert!(told.contains("no such parameter"), "{told}");
}

#[test]
fn two_builds_run_by_turns() {
    let this = env!("CARGO_BIN_EXE_linkwork");
    let arguments = ["bench", "tree", "--set", "bodies=15", "--duration", "0.5", "--repeats", "4", "--against"];
    let text = linkwork(&[&arguments[..], &[this, "--allow", "1000"]].concat()).exits_with(0).stdout;
    assert!(text.contains("tree bodies=15") && text.contains("same"), "{text}");
    let told = linkwork(&[&arguments[..], &["no-such-program"]].concat()).exits_with(2).stderr;
    assert!(told.contains("no-such-program"), "{told}");
}

/// Says why the guard is skipped; where it is required (.ci/run) that is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("LINKWORK_REQUIRE_VALGRIND").is_none(), "{why}");
    eprintln!("skipped: {why}");
}

/// The guard against slow-downs: instruction counts of a few scenes against those of the repository.
///
/// Counts depend on how the program was built, so this is for the profile of `test.sh` alone. If a change is meant to cost more,
/// or another compiler makes other code, write the file anew:
/// `cargo build --profile checked && target/checked/linkwork bench --instructions --save bench/instructions.json`.
#[test]
fn no_scene_needs_more_instructions_than_before() {
    let this = std::path::Path::new(env!("CARGO_BIN_EXE_linkwork"));
    if this.parent().and_then(|folder| folder.file_name()).is_none_or(|profile| profile != "checked") {
        return skip("the counts are of the profile `checked`");
    }
    if std::process::Command::new("valgrind").arg("--version").output().is_err() {
        return skip("valgrind is not installed");
    }
    let before = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/instructions.json");
    let outcome = linkwork(&["bench", "--instructions", "--compare", before, "--allow", "10"]);
    eprint!("{}", outcome.stderr); // scenes that valgrind cannot run, if any
    if outcome.stderr.contains("valgrind does not know an instruction") && outcome.stdout.is_empty() {
        return skip(&outcome.stderr);
    }
    let text = outcome.exits_with(0).stdout;
    assert!(!text.contains("not in the file"), "{text}");
}
