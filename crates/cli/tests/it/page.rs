//! The page: its logic in node, and the page itself in a browser, where there are any.

use crate::command::{Folder, linkwork};
use crate::viewer::{Viewer, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web")
}

/// Whether a program can be started.
fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs a command; shows what it said if it failed.
fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    said
}

/// Its centre of mass goes with (1, 2, 3) m/s whatever its origin does.
const CLUB: &str = r#"name = "club"
gravity = [0, 0, 0]
step = { dt = 0.01, duration = 0.5 }
[[bodies]]
name = "club"
mass = 2.0
inertia = [1.0, 1.0, 1.0]
center_of_mass = [0.0, 0.5, 0.0]
velocity = [3.5, 2.0, 3.0]
angular_velocity = [0.0, 0.0, 5.0]
"#;

#[test]
fn the_logic_of_the_page_passes_its_tests() {
    if !exists("node") {
        return skip("there is no node to run the tests in crates/cli/web/test");
    }
    // frames and recordings that the program wrote are what the page has to read
    let folder = Folder::new();
    let [lwr, csv] = ["a.lwr", "a.csv"].map(|name| folder.name(name));
    linkwork(&["run", "four-bar", "--duration", "2", "--record", &lwr, "--csv", &csv]).exits_with(0);
    // a club that spins about its centre of mass, far from its origin, and boxes that come to rest
    let [club, boxes] = ["club.lwr", "boxes.lwr"].map(|name| folder.name(name));
    let scene = folder.with("club.toml", CLUB);
    linkwork(&["run", &scene, "--record", &club]).exits_with(0);
    linkwork(&["run", "pyramid", "--set", "base=3", "--sleep", "--duration", "3", "--record", &boxes]).exits_with(0);
    // where the page was built there is three.js, which some of the tests need
    let built = Path::new(env!("OUT_DIR")).join("web");
    let tests = std::fs::read_dir(web().join("test")).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<PathBuf> = tests.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    assert!(!tests.is_empty());
    std::fs::create_dir_all(built.join("test")).unwrap();
    let mut command = Command::new("node");
    command.arg("--test").current_dir(&built).env("RECORDING", &lwr).env("TABLE", &csv);
    command.env("CLUB", &club).env("BOXES", &boxes);
    for test in &tests {
        let copy = built.join("test").join(test.file_name().unwrap());
        std::fs::copy(test, &copy).unwrap();
        command.arg(copy);
    }
    let said = succeeds(&mut command);
    if !said.lines().any(|line| line.ends_with("skipped 0")) {
        skip(&format!("node skipped some tests, as where three.js is not there: {said}"));
    }
}

/// The browser's program, if there is one.
fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|program| exists(program))
}

#[test]
fn the_page_works_in_a_browser() {
    let (Some(browser), true) = (browser(), exists("node") && exists("npm")) else {
        return skip("the test of the page needs chromium, node and npm");
    };
    // two at a time, each with a simulation of its own
    let scripts = [vec!["browser.mjs"], vec!["looks.mjs", "scenes.mjs"]];
    let viewers: Vec<Viewer> = scripts.iter().filter_map(|_| Viewer::start(&["double-pendulum"])).collect();
    if viewers.is_empty() {
        return;
    }
    let folder = Folder::new();
    // installed outside of the source tree
    let test = web().join("test");
    let others = ["harness.mjs", "package.json", "package-lock.json", ".npmrc"];
    for file in scripts.iter().flatten().copied().chain(others) {
        std::fs::copy(test.join(file), folder.file(file)).unwrap();
    }
    let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"];
    let installed = Command::new("npm").args(install).current_dir(folder.path()).output().unwrap();
    if !installed.status.success() {
        return skip(&format!("npm cannot install playwright-core: {}", String::from_utf8_lossy(&installed.stderr)));
    }
    let html = folder.name("replay.html");
    linkwork(&["run", "four-bar", "--duration", "1", "--html", &html]).exits_with(0);
    let run = |script: &str, viewer: &Viewer| {
        let begun = Instant::now();
        let mut command = Command::new("node");
        command.arg(script).current_dir(folder.path());
        command.env("BROWSER", browser).env("PROGRAM", env!("CARGO_BIN_EXE_linkwork"));
        command.env("ADDRESS", format!("http://{}/", viewer.host)).env("REPLAY", &html);
        println!("{}: {} ({:.0?})", script, succeeds(&mut command).trim(), begun.elapsed());
    };
    std::thread::scope(|scope| {
        for (scripts, viewer) in scripts.iter().zip(&viewers) {
            let run = &run;
            scope.spawn(move || scripts.iter().for_each(|script| run(script, viewer)));
        }
    });
}
