//! `linkwork export`.

use crate::command::{Folder, PENDULUM, linkwork};

#[test]
fn an_exported_scene_runs_to_the_same_state() {
    let folder = Folder::new();
    let hash_of = |scene: &str, settings: &[&str]| {
        let run = ["run", scene, "--duration", "1", "--report", "-"];
        linkwork(&[&run, settings].concat()).exits_with(0).json()["state_hash"].clone()
    };
    for (scene, setting) in [("wrecking-ball", "mass=1e6"), ("strandbeest", "legs=3"), ("tree", "bodies=15")] {
        let expected = hash_of(scene, &["--set", setting]);
        let (toml, json, again) = (folder.name("a.toml"), folder.name("a.json"), folder.name("b.toml"));
        linkwork(&["export", scene, "--to", &toml, "--set", setting]).exits_with(0);
        linkwork(&["export", scene, "--to", &json, "--set", setting]).exits_with(0);
        linkwork(&["export", &json, "--to", &again]).exits_with(0);
        assert_eq!(hash_of(&toml, &[]), expected, "{scene} as TOML");
        assert_eq!(hash_of(&json, &[]), expected, "{scene} as JSON");
        assert_eq!(folder.read("a.toml"), folder.read("b.toml"), "{scene} from JSON to TOML");
    }
}

#[test]
fn every_scene_of_the_registry_survives_export() {
    let folder = Folder::new();
    for entry in linkwork_scenes::all() {
        let scene = entry.default_scene();
        for extension in ["toml", "json"] {
            let file = folder.name(&format!("{}.{extension}", entry.name));
            linkwork(&["export", entry.name, "--to", &file]).exits_with(0);
            assert_eq!(linkwork_io::read_scene(&file).unwrap(), scene, "{file}");
        }
    }
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let folder = Folder::new();
    linkwork(&["export", "tree", "--to", &folder.name("tree.txt")]).exits_with(2).says("end in .toml or .json");
    linkwork(&["export", "tree", "--to", &folder.name("none/tree.toml")]).exits_with(2).says("does not exist");
    linkwork(&["export", "tree"]).exits_with(2).says("--to");
    let scene = folder.with("pendulum.toml", PENDULUM);
    linkwork(&["export", &scene, "--to", &scene]).exits_with(2).says("name the same file");
    assert_eq!(folder.read("pendulum.toml"), PENDULUM);
    assert_eq!(folder.names(), ["pendulum.toml"]);
}
