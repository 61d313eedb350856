//! `linkwork run`.

use crate::command::{Folder, PENDULUM, linkwork};
use serde_json::Value;

const SHORT_TREE: [&str; 6] = ["run", "tree", "--set", "bodies=31", "--duration", "1"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

#[test]
fn nothing_is_printed_when_nobody_watches() {
    let ran = linkwork(&SHORT_TREE).exits_with(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
}

#[test]
fn the_report_has_every_key() {
    let report = linkwork(&with(&SHORT_TREE, &["--report", "-"])).exits_with(0).json();
    for path in [
        "/dt",
        "/steps",
        "/simulated_s",
        "/bodies",
        "/joints",
        "/constraint_rows",
        "/redundant_rows",
        "/wall_s",
        "/cpu_s",
        "/step_ms/mean",
        "/step_ms/median",
        "/step_ms/p99",
        "/step_ms/max",
        "/joint_error/max_m",
        "/joint_error/max_rad",
        "/displacement/max_m",
        "/penetration/max_m",
        "/energy/initial_j",
        "/energy/final_j",
        "/energy/largest_kinetic_j",
        "/energy/drift_relative",
        "/energy/max_rise_relative",
        "/step_kinds/accurate",
        "/step_kinds/robust",
        "/step_kinds/last_resort",
        "/iterations/joint_mean",
        "/iterations/contact_mean",
        "/failed_steps",
    ] {
        let value = report.pointer(path).unwrap_or_else(|| panic!("{path} is missing"));
        assert!(value.is_number(), "{path}: {value}");
    }
    assert_eq!(report["scene"], "tree");
    assert_eq!(report["parameters"]["bodies"], 31);
    assert_eq!(report["dt"], 1.0 / 30.0);
    assert_eq!(report["steps"], 30);
    assert_eq!(report["bodies"], 31);
    assert_eq!(report["joints"], 31);
    assert_eq!(report["constraint_rows"], 93);
    assert!((report["simulated_s"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert!(report["joint_error"]["max_m"].as_f64().unwrap() < 1e-9);
    assert!(report["displacement"]["max_m"].as_f64().unwrap() > 0.1);
    assert!(report["cpu_s"].as_f64().unwrap() > 0.0);
    assert!(report["warnings"].is_array());
    let hash = report["state_hash"].as_str().unwrap();
    assert!(hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
}

#[test]
fn equal_runs_have_equal_hashes_and_the_report_goes_to_its_file() {
    let folder = Folder::new();
    let (a, b, c) = (folder.name("a.json"), folder.name("b.json"), folder.name("c.json"));
    linkwork(&with(&SHORT_TREE, &["--report", &a])).exits_with(0);
    linkwork(&with(&SHORT_TREE, &["--report", &b, "--quiet"])).exits_with(0);
    linkwork(&with(&SHORT_TREE, &["--report", &c, "--dt", "1/31"])).exits_with(0);
    let hash = |name: &str| folder.read_json(name)["state_hash"].clone();
    assert_eq!(hash("a.json"), hash("b.json"));
    assert_ne!(hash("a.json"), hash("c.json"));
    assert_eq!(folder.names(), ["a.json", "b.json", "c.json"], "nothing else is left behind");
}

#[test]
fn the_table_has_a_row_per_sample_and_body() {
    let folder = Folder::new();
    let csv = folder.name("motion.csv");
    linkwork(&["run", "double-pendulum", "--dt", "0.01", "--duration", "0.1", "--csv", &csv, "--every", "3"])
        .exits_with(0);
    let text = folder.read("motion.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 2 * 4, "steps 0, 3, 6 and 9 of two bodies");
    let times: Vec<f64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    for (time, expected) in times.iter().zip([0.0, 0.0, 0.03, 0.03, 0.06, 0.06, 0.09, 0.09]) {
        assert!((time - expected).abs() < 1e-12, "{times:?}");
    }
    for row in &rows {
        assert_eq!(row.len(), 15);
        for number in &row[2..] {
            // Full precision: the shortest text of the number read is the text itself.
            let value: f64 = number.parse().unwrap();
            assert_eq!(format!("{value:?}"), *number);
        }
    }
}

#[test]
fn a_file_runs_as_it_says_and_names_may_be_awkward() {
    let folder = Folder::new();
    let scene = folder.with("pendulum.toml", &PENDULUM.replace("\"bob\"", "'a \"b\", c'"));
    let csv = folder.name("motion.csv");
    let report = linkwork(&["run", &scene, "--report", "-", "--csv", &csv]).exits_with(0).json();
    assert_eq!(report["scene"], "pendulum");
    assert_eq!(report["file"], Value::from(scene));
    assert_eq!(report["steps"], 50);
    assert_eq!(report["displacement"]["body"], "a \"b\", c");
    let text = folder.read("motion.csv");
    assert!(text.lines().nth(1).unwrap().starts_with("0.0,\"a \"\"b\"\", c\",1.0,0.0,0.0,1.0,"), "{text}");
}

#[test]
fn a_pendulum_falls_as_a_pendulum_does() {
    let folder = Folder::new();
    let scene = folder.with("pendulum.json", &as_json(PENDULUM));
    let report = linkwork(&["run", &scene, "--report", "-", "--dt", "1e-3", "--duration", "1/4"]).exits_with(0).json();
    // Released level, the bob of length 1 m and small inertia turns with g/(1 + I/m) rad/s² at first.
    let fallen = report["displacement"]["max_m"].as_f64().unwrap();
    let (mut angle, mut rate, h) = (0.0f64, 0.0f64, 1e-5);
    for _ in 0..25_000 {
        rate += h * 9.81 / (1.0 + 0.4 * 0.01) * angle.cos();
        angle += h * rate;
    }
    let expected = 2.0 * (angle / 2.0).sin();
    assert!((fallen - expected).abs() < 1e-4, "{fallen} {expected}");
    assert!(report["energy"]["drift_relative"].as_f64().unwrap() < 1e-4);
}

fn as_json(toml: &str) -> String {
    let scene = linkwork_io::parse_scene(toml, linkwork_io::Format::Toml, "scene").unwrap();
    linkwork_io::write_scene(&scene, linkwork_io::Format::Json).unwrap()
}

#[test]
fn error_control_is_available() {
    let arguments = ["run", "double-pendulum", "--duration", "1", "--tolerance", "1e-8", "--report", "-"];
    let report = linkwork(&arguments).exits_with(0).json();
    assert_eq!(report["tolerance"], 1e-8);
    assert!(report["step_kinds"]["controlled"].as_u64().unwrap() > 0, "{}", report["step_kinds"]);
    assert!(report["energy"]["drift_relative"].as_f64().unwrap() < 1e-6);
}

#[cfg(unix)]
#[test]
fn devices_are_written_to_and_links_are_kept() {
    let folder = Folder::new();
    let (target, link) = (folder.with("target.json", "old"), folder.file("link.json"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let arguments = ["--report", link.to_str().unwrap(), "--csv", "/dev/null"];
    linkwork(&with(&SHORT_TREE, &arguments)).exits_with(0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(folder.read_json("target.json")["scene"], "tree");
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn steps_left_to_the_direct_method_are_counted_and_told_once() {
    let bridge = ["run", "bridge", "--duration", "0.2", "--method", "reduced", "--report", "-"];
    let report = linkwork(&bridge).exits_with(0).json();
    let steps = report["steps"].as_u64().unwrap();
    assert_eq!(report["step_kinds"]["left_to_direct"], steps);
    let warnings = report["warnings"].as_array().unwrap();
    let said: Vec<&Value> =
        warnings.iter().filter(|w| w["message"].as_str().unwrap().contains("by the direct method")).collect();
    assert_eq!(said.len(), 1, "{warnings:?}");
    assert_eq!(said[0]["count"], steps);
    let report = linkwork(&with(&SHORT_TREE, &["--method", "reduced", "--report", "-"])).exits_with(0).json();
    assert_eq!(report["step_kinds"]["left_to_direct"], 0);
}

#[test]
fn adaptive_runs_tell_what_is_wrong_with_them() {
    linkwork(&["run", "top", "--adaptive", "3"]).exits_with(0).says("energy rose");
    let pyramid = ["run", "pyramid", "--set", "base=2", "--adaptive", "8", "--duration", "0.05"];
    linkwork(&pyramid).exits_with(0).says("pass through each other");
    assert_eq!(linkwork(&["run", "chain", "--adaptive", "8", "--duration", "0.05"]).exits_with(0).stderr, "");
}

#[test]
fn a_chain_runs_adaptively_and_the_report_tells_how() {
    let chain = ["run", "chain", "--set", "links=400", "--duration", "0.3", "--adaptive", "24", "--lost", "0.5"];
    let adaptive = linkwork(&with(&chain, &["--report", "-"])).exits_with(0).json();
    assert_eq!(adaptive["method"], "adaptive");
    let seen = &adaptive["adaptive"];
    assert!(seen["active_max"].as_u64().unwrap() <= 40 && seen["contacts_max"].as_u64().unwrap() >= 3, "{seen}");
    assert!(seen["lost_max"].as_f64().unwrap() < 0.5 && seen["overshoot_max"].as_f64().unwrap() < 1e-5, "{seen}");
    assert!(adaptive["joint_error"]["max_m"].as_f64().unwrap() < 1e-9);
    assert!((adaptive["simulated_s"].as_f64().unwrap() - 0.3).abs() < 1e-9);
    // what falls is what falls by the direct method
    let direct = linkwork(&with(&chain[..6], &["--report", "-"])).exits_with(0).json();
    let energy = |report: &Value| report["energy"]["final_j"].as_f64().unwrap();
    let lost = adaptive["energy"]["initial_j"].as_f64().unwrap() - energy(&adaptive);
    assert!(lost > 0.1 && (energy(&direct) - energy(&adaptive)).abs() < 0.02 * lost, "{lost}");
}
