//! What cannot be done is said before anything is done: exit code 2, a reason and what to do instead.

use crate::command::{Folder, PENDULUM, linkwork};

#[test]
fn impossible_numbers_are_refused() {
    for (option, values) in [
        ("--dt", &["0", "-1", "-1/60", "nan", "inf", "1e-12", "11", "1/0", "fast", "", "1/60s"][..]),
        ("--duration", &["0", "-1", "nan", "inf", "1e10", "1/0", "long", ""]),
        ("--tolerance", &["0", "1", "-1e-6", "nan", "tight"]),
        ("--every", &["0", "-1", "1.5", "often", "99999999999999999999"]),
        ("--method", &["magic", ""]),
        ("--set", &["bodies", "bodies=", "=1", "bodies=many", "bodies=nan", "bodies=-1", "bodies=1e99", "nobodies=1"]),
    ] {
        for value in values {
            let ran = linkwork(&["run", "tree", option, value]).exits_with(2);
            assert!(ran.stderr.contains("error"), "{option} {value}: {}", ran.stderr);
            assert!(ran.stdout.is_empty(), "{option} {value}");
        }
    }
    linkwork(&["run", "tree", "--dt", "1", "--duration", "0.5"]).exits_with(2).says("shorter than one step");
    linkwork(&["run", "tree", "--dt", "1e-8", "--duration", "1e6"]).exits_with(2).says("steps, more than");
    for command in [&["run"][..], &["view", "--no-open"], &["render", "--png", "-"]] {
        let events = [command, &["top", "--stepper", "events", "--method", "iterative"]].concat();
        linkwork(&events).exits_with(2).says("--method iterative has no effect with --stepper events");
    }
    for option in ["--method", "--stepper", "--contact"] {
        let value = if option == "--contact" {
            "lemke"
        } else if option == "--method" {
            "direct"
        } else {
            "events"
        };
        linkwork(&["run", "chain", "--adaptive", "8", option, value]).exits_with(2).says("cannot be used with");
    }
    linkwork(&["run", "chain", "--lost", "1"]).exits_with(2).says("--adaptive");
    linkwork(&["run", "chain", "--adaptive", "8", "--lost", "-1"]).exits_with(2).says("not an acceleration");
    linkwork(&["run", "four-bar", "--adaptive", "8"]).exits_with(2).says("closes a loop");
    linkwork(&["run", "flag", "--adaptive", "8"]).exits_with(2).says("particles");
    for option in ["--sleep", "--shock"] {
        let events = ["run", "top", "--stepper", "events", option];
        linkwork(&events).exits_with(2).says(&format!("{option} has no effect with --stepper events"));
    }
    linkwork(&["bench", "top", "--repeats", "0"]).exits_with(2);
    linkwork(&["bench", "--set", "bodies=1"]).exits_with(2);
}

#[test]
fn unknown_scenes_commands_and_parameters_are_refused_with_a_suggestion() {
    linkwork(&["run", "scisor-lift"]).exits_with(2).says("did you mean `scissor-lift`?");
    linkwork(&["run", "nothing-of-the-kind-at-all"]).exits_with(2).says("`linkwork list` shows all scenes");
    linkwork(&["run", ""]).exits_with(2);
    linkwork(&["check", "tre"]).exits_with(2).says("there is no scene `tre`");
    linkwork(&["run", "tree", "--set", "bodys=3"]).exits_with(2).says("did you mean bodies?");
    linkwork(&["rum", "tree"]).exits_with(2).says("run");
    linkwork(&["run"]).exits_with(2);
    linkwork(&["run", "tree", "--fast"]).exits_with(2);
    linkwork(&[]).exits_with(2).says("Usage");
    linkwork(&["--help"]).exits_with(0);
    linkwork(&["--version"]).exits_with(0);
}

#[test]
fn files_that_are_not_there_or_no_scene_files_are_refused() {
    let folder = Folder::new();
    linkwork(&["run", &folder.name("none.toml")]).exits_with(2).says("no such file");
    linkwork(&["check", &folder.with("scene.txt", "name = 'x'")]).exits_with(2).says("end in .toml or .json");
    linkwork(&["run", folder.path().to_str().unwrap()]).exits_with(2).says("this is a folder");
    let pendulum = folder.with("pendulum.toml", PENDULUM);
    linkwork(&["run", pendulum.strip_suffix(".toml").unwrap()]).exits_with(2).says("did you mean");
    linkwork(&["run", &pendulum, "--set", "length=2"]).exits_with(2).says("edit the file instead");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_run() {
    let folder = Folder::new();
    let long = ["run", "tree", "--duration", "1e6"];
    let refused = |more: &[&str]| linkwork(&[&long, more].concat()).exits_with(2);
    refused(&["--report", &folder.name("none/report.json")]).says("does not exist");
    refused(&["--csv", &folder.name("none/motion.csv")]).says("does not exist");
    refused(&["--report", folder.path().to_str().unwrap()]).says("this is a folder");
    refused(&["--report", ""]).says("a value is required");
    let same = folder.name("same");
    refused(&["--report", &same, "--csv", &same]).says("name the same file");
    refused(&["--report", "-", "--csv", "-"]).says("name the same file");
    let protected = folder.with("protected.json", "old");
    let mut permissions = std::fs::metadata(&protected).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&protected, permissions).unwrap();
    refused(&["--report", &protected]).says("write-protected");
    assert_eq!(folder.read("protected.json"), "old");
    let scene = folder.with("pendulum.toml", PENDULUM);
    linkwork(&["run", &scene, "--csv", &scene]).exits_with(2).says("name the same file");
    assert_eq!(folder.read("pendulum.toml"), PENDULUM);
    assert_eq!(folder.names(), ["pendulum.toml", "protected.json"], "nothing is left behind");
}
