//! `linkwork run --record` and `--html`.

use crate::command::{Folder, linkwork};
use crate::viewer::skip;
use linkwork_io::recording::Recording;

#[test]
fn a_run_is_recorded_at_the_rate_asked_for() {
    let folder = Folder::new();
    let file = folder.name("a.lwr");
    let run = ["run", "double-pendulum", "--dt", "0.001", "--duration", "2", "--record", &file];
    for (fps, frames) in [("60", 121), ("10", 21), ("1/2", 2), ("10000", 2001)] {
        linkwork(&[&run[..], &["--fps", fps]].concat()).exits_with(0);
        let recording = Recording::read(&std::fs::read(&file).unwrap()).unwrap();
        assert!(recording.complete);
        assert_eq!(recording.frames.len(), frames, "{fps} a second");
        assert_eq!(recording.frames[0].time, 0.0);
    }
    linkwork(&[&run[..], &["--fps", "0"]].concat()).exits_with(2).says("frame rate");
}

#[test]
fn a_recording_ends_where_the_run_does() {
    let folder = Folder::new();
    let (lwr, csv) = (folder.name("a.lwr"), folder.name("a.csv"));
    linkwork(&["run", "four-bar", "--duration", "1", "--record", &lwr, "--csv", &csv]).exits_with(0);
    let recording = Recording::read(&std::fs::read(&lwr).unwrap()).unwrap();
    let last = recording.frames.last().unwrap();
    let table = folder.read("a.csv");
    let rows: Vec<&str> = table.lines().rev().take(last.poses.len()).collect();
    for (row, pose) in rows.iter().rev().zip(&last.poses) {
        let numbers: Vec<f64> = row.split(',').filter_map(|field| field.parse().ok()).collect();
        assert_eq!(numbers[0], last.time, "{row}");
        for (axis, number) in numbers[1..4].iter().enumerate() {
            assert!((number - pose.position[axis]).abs() < 1e-4, "{row} {pose:?}");
        }
    }
}

#[test]
fn a_replay_is_one_small_page() {
    let folder = Folder::new();
    let file = folder.name("a.html");
    let ran = linkwork(&["run", "excavator", "--html", &file]);
    if ran.stderr.contains("built without the viewer's page") {
        skip(&ran.stderr);
        ran.exits_with(2);
        return;
    }
    ran.exits_with(0);
    let page = folder.read("a.html");
    assert!(page.contains("<title>excavator · Linkwork</title>") && page.contains("content=\"inline\""));
    assert!(!page.contains("src=\"viewer.js\"") && !page.contains("href=\"style.css\""));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    linkwork(&["run", "excavator", "--html", &file, "--record", &file]).exits_with(2).says("name the same file");
}
