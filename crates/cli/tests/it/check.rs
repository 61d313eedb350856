//! `linkwork check`.

use crate::command::{Folder, PENDULUM, linkwork};

#[test]
fn a_sound_scene_is_counted() {
    let folder = Folder::new();
    let scene = folder.with("pendulum.toml", PENDULUM);
    let said = linkwork(&["check", &scene]).exits_with(0).stdout;
    assert!(said.starts_with("pendulum: sound\n"), "{said}");
    let counted = linkwork(&["check", &scene, "--json"]).exits_with(0).json();
    assert_eq!(counted["ok"], true);
    assert_eq!(counted["bodies"], 1);
    assert_eq!(counted["joints"], 1);
    assert_eq!(counted["constraint_rows"], 5);
    assert_eq!(counted["redundant_rows"], 0);
    assert_eq!(counted["degrees_of_freedom"], 1);
    assert_eq!(counted["loops"], 0);
}

#[test]
fn an_overconstrained_structure_is_recognised() {
    let counted = linkwork(&["check", "scissor-lift", "--set", "pairs=10", "--json"]).exits_with(0).json();
    // 5 rows for each of 3 n + 2 hinges, 6 freedoms for each of 2 n + 1 bodies, and nothing moves.
    assert_eq!(counted["redundant_rows"], 34);
    assert_eq!(counted["degrees_of_freedom"], 0);
    let said = linkwork(&["check", "scissor-lift"]).exits_with(0).stdout;
    assert!(said.contains("34 rows of the joints hold what others hold already"), "{said}");
    assert!(said.contains("nothing can move"), "{said}");
}

#[test]
fn every_scene_of_the_registry_is_sound() {
    for entry in linkwork_scenes::all() {
        linkwork(&["check", entry.name]).exits_with(0);
    }
}

#[test]
fn bodies_that_overlap_where_a_scene_begins_are_named() {
    let folder = Folder::new();
    let block = |name: &str, y: f64| {
        format!(
            "[[bodies]]\nname = \"{name}\"\nmass = 1.0\nposition = [0.0, {y:.1}, 0.0]\n\
             [[bodies.shapes]]\ngeometry = {{ box = {{ size = [1.0, 1.0, 1.0] }} }}\n"
        )
    };
    let scene = folder.with("crowd.toml", &(block("left", 0.0) + &block("right", 0.8)));
    let told = "bodies \"left\" and \"right\" overlap by 0.2 m";
    let said = linkwork(&["check", &scene]).exits_with(0).stdout;
    assert!(said.contains(told), "{said}");
    linkwork(&["run", &scene, "--duration", "0.1"]).exits_with(0).says(told);
    assert_eq!(linkwork(&["run", &scene, "--duration", "0.1", "--quiet"]).exits_with(0).stderr, "");
    let apart = folder.with("apart.toml", &(block("left", 0.0) + &block("right", 1.0)));
    assert_eq!(linkwork(&["run", &apart, "--duration", "0.1"]).exits_with(0).stderr, "");
}

#[test]
fn mistakes_are_shown_in_the_text() {
    let folder = Folder::new();
    let wrong = PENDULUM.replace("mass = 2.0", "masss = 2.0").replace("\"hinge\"", "\"hnige\"");
    let scene = folder.with("wrong.toml", &wrong);
    let ran = linkwork(&["check", &scene]).exits_with(1);
    let ran = ran.says("unknown key `masss`").says("did you mean `mass`?").says("wrong.toml:10:1]").says("masss = 2.0");
    ran.says("unknown choice `hnige`").says("did you mean `hinge`?").says("wrong.toml:15:8]");
    linkwork(&["run", &scene]).exits_with(1).says("unknown key `masss`");
    // programs are told the same
    let json = linkwork(&["check", &scene, "--json"]).exits_with(1).json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["problems"].as_array().map(Vec::len), Some(2));
    assert_eq!((&json["problems"][0]["line"], &json["problems"][0]["column"]), (&10.into(), &1.into()));
    assert_eq!(json["problems"][1]["hint"], "did you mean `hinge`?");
}

#[test]
fn what_the_engine_refuses_is_shown_in_the_text() {
    let folder = Folder::new();
    let scene = folder.with("axis.toml", &PENDULUM.replace("[0.0, 1.0, 0.0]", "[0.0, 0.0, 0.0]"));
    for command in ["check", "run"] {
        linkwork(&[command, &scene])
            .exits_with(1)
            .says("joints[0].axis")
            .says("axis.toml:18:8]")
            .says("[0.0, 0.0, 0.0]");
    }
    let wrong = PENDULUM.replace("mass = 2.0", "mass = -2.0").replace("duration = 0.5", "duration = -1");
    let scene = folder.with("mass.toml", &wrong);
    linkwork(&["check", &scene]).exits_with(1).says("mass.toml:5:12]").says("mass.toml:10:8]").says("bodies[0].mass");
    let json = linkwork(&["check", &scene, "--json"]).exits_with(1).json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["problems"][1]["path"], "bodies[0].mass");
    assert_eq!(json["problems"][1]["line"], 10);
    let scene = folder.with("name.toml", &PENDULUM.replace("b = \"bob\"", "b = \"bub\""));
    linkwork(&["check", &scene]).exits_with(1).says("name.toml:16:5]").says("bub");
}

#[test]
fn a_step_that_a_file_asks_for_must_be_possible() {
    let folder = Folder::new();
    let scene = folder.with("step.toml", &PENDULUM.replace("dt = 0.01", "dt = 0.0"));
    linkwork(&["run", &scene]).exits_with(1).says("step.toml:4:6]").says("does not move time forward");
    linkwork(&["run", &scene, "--dt", "0.01"]).exits_with(0);
}
