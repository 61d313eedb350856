//! `linkwork list`.

use crate::command::{command, linkwork};
use std::process::Stdio;

#[test]
fn every_scene_has_one_line_with_its_parameters() {
    let listed = linkwork(&["list"]).exits_with(0);
    let lines: Vec<&str> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), linkwork_scenes::all().len());
    for (line, entry) in lines.iter().zip(linkwork_scenes::all()) {
        assert!(line.starts_with(entry.name) && line.contains(entry.summary), "{line}");
        for parameter in entry.parameters {
            assert!(line.contains(&format!("{}=", parameter.name)), "{line}");
        }
    }
    let tree = lines.iter().find(|line| line.starts_with("tree ")).unwrap();
    assert!(tree.contains("bodies=127"), "{tree}");
}

#[test]
fn programs_get_json() {
    let listed = linkwork(&["list", "--json"]).exits_with(0).json();
    let scenes = listed.as_array().unwrap();
    assert_eq!(scenes.len(), linkwork_scenes::all().len());
    let ball = scenes.iter().find(|scene| scene["name"] == "wrecking-ball").unwrap();
    let mass = ball["parameters"].as_array().unwrap().iter().find(|p| p["name"] == "mass").unwrap();
    assert_eq!(mass["default"], 1000);
    assert_eq!(mass["unit"], "kg");
}

#[test]
fn one_scene_is_explained() {
    let explained = linkwork(&["list", "scissor-lift"]).exits_with(0).stdout;
    assert!(explained.starts_with("scissor-lift: "), "{explained}");
    assert!(explained.contains("pairs = 10"), "{explained}");
    linkwork(&["list", "scisor-lift"]).exits_with(2).says("did you mean `scissor-lift`?");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    for arguments in [&["list"][..], &["list", "--json"], &["schema"], &["run", "top", "--csv", "-"]] {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The reader goes before anything is written, or soon after.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn the_schema_is_printed() {
    let schema = linkwork(&["schema"]).exits_with(0).json();
    assert_eq!(schema["title"], "Linkwork scene");
    assert!(schema["$defs"]["Joint"]["properties"]["type"].is_object());
}
