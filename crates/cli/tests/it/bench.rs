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
