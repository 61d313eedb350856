//! Ctrl-C ends a run with what was computed.
#![cfg(unix)]

use crate::command::{Folder, command};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_interrupted_run_keeps_what_was_computed() {
    let folder = Folder::new();
    let (report, csv) = (folder.name("report.json"), folder.name("motion.csv"));
    let arguments =
        ["run", "double-pendulum", "--duration", "1e6", "--every", "100", "--report", &report, "--csv", &csv];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The outputs are opened before the run: once they are there the run goes on or begins.
    let start = Instant::now();
    while folder.names().len() < 2 && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("interrupted after"), "{stderr}");
    assert_eq!(folder.names(), ["motion.csv", "report.json"]);
    let report = folder.read_json("report.json");
    assert_eq!(report["interrupted"], true);
    let steps = report["steps"].as_u64().unwrap();
    assert!(steps > 0);
    let rows = folder.read("motion.csv").lines().count() as u64 - 1;
    assert_eq!(rows, 2 * (1 + steps / 100));
}
