//! `linkwork view`: the server as pages meet it, friendly and otherwise.

use crate::command::{Folder, PENDULUM, linkwork};
use crate::viewer::{Frame, REQUIRED, Viewer, skip};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tungstenite::Message;

#[test]
fn the_page_is_served_with_its_rules() {
    let Some(viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let host = format!("host: {}", viewer.host);
    let (status, page) = viewer.request("GET /", &[&host], b"");
    assert_eq!(status, 200);
    assert!(page.contains("content-security-policy") && page.contains("frame-ancestors 'none'"));
    assert!(page.contains("linkwork-mode\" content=\"live\""));
    for (path, kind) in [("/viewer.js", "text/javascript"), ("/style.css", "text/css")] {
        let (status, answer) = viewer.request(&format!("GET {path}"), &[&host], b"");
        assert!(status == 200 && answer.contains(kind), "{path}: {status}");
    }
    assert_eq!(viewer.request("GET /../Cargo.toml", &[&host], b"").0, 404);
    assert_eq!(viewer.request("GET /recording.lwr", &[&host], b"").0, 404);
}

#[test]
fn what_is_required_is_not_skipped() {
    // asked of this test binary itself, of which one test skips on purpose
    let tests = std::env::current_exe().unwrap();
    let run = |required: bool| {
        let mut command = std::process::Command::new(&tests);
        command.args(["--exact", "--ignored", "view::skips_on_purpose"]).env_remove(REQUIRED);
        if required {
            command.env(REQUIRED, "1");
        }
        let output = command.output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("running 1 test"));
        output.status.success()
    };
    assert!(run(false) && !run(true));
}

#[test]
#[ignore = "run by what_is_required_is_not_skipped"]
fn skips_on_purpose() {
    skip("on purpose");
}

#[test]
fn strangers_are_refused() {
    let Some(viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let own = format!("host: {}", viewer.host);
    let port = viewer.host.rsplit(':').next().unwrap();
    for path in ["GET /", "GET /viewer.js", "GET /socket", "POST /scene/a.toml"] {
        for head in [vec!["host: example.org".to_owned()], vec![format!("host: example.org:{port}")], vec![]] {
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let (status, _) = viewer.request(path, &head, b"");
            assert!([400, 403].contains(&status), "{path} {head:?}: {status}");
        }
        let (status, said) = viewer.request(path, &[&own, "origin: http://example.org"], b"");
        assert!(status == 403 && said.contains("Origin is refused"), "{path}: {status}");
    }
    assert!(viewer.page_from("http://example.org").err().unwrap().contains("403"));
    assert!(viewer.page_from("null").err().unwrap().contains("403"));
}

#[test]
fn time_runs_stops_steps_and_starts_again() {
    let Some(viewer) = Viewer::start(&["double-pendulum", "--dt", "0.01"]) else { return };
    let mut page = viewer.page();
    let hello = page.text("hello", |_| true);
    assert_eq!(hello["scenes"].as_array().unwrap().len(), linkwork_scenes::all().len());
    page.scene_number();
    let early = page.frame(|frame| frame.playing && frame.steps > 0.0);
    let late = page.frame(|frame| frame.steps > early.steps + 5.0);
    assert!(late.time > early.time && late.positions != early.positions);

    page.send(&json!({"type": "play", "on": false}));
    page.text("status", |status| status["playing"] == false);
    let still = page.frame(|frame| !frame.playing);
    page.send(&json!({"type": "step", "count": 1}));
    let next = page.frame(|frame| frame.steps > still.steps);
    assert_eq!(next.steps, still.steps + 1.0);
    assert!((next.time - still.time - 0.01).abs() < 1e-12);

    page.send(&json!({"type": "dt", "value": 0.005}));
    page.send(&json!({"type": "step", "count": 3}));
    let finer = page.frame(|frame| frame.steps > next.steps);
    assert!((finer.time - next.time - 0.015).abs() < 1e-12, "{}", finer.time - next.time);

    // steps are made before what is ordered after them
    page.send(&json!({"type": "step", "count": 2}));
    page.send(&json!({"type": "dt", "value": 0.5}));
    let two = page.frame(|frame| frame.steps >= finer.steps + 2.0);
    assert!((two.time - finer.time - 0.01).abs() < 1e-12, "{}", two.time - finer.time);

    page.send(&json!({"type": "reset"}));
    let start = page.frame(|frame| frame.steps == 0.0);
    assert_eq!(start.time, 0.0);
}

#[test]
fn a_thousand_slow_steps_can_be_broken_off() {
    // 2000 bodies: a step takes milliseconds, and all of them some seconds
    let Some(viewer) = Viewer::start(&["spider", "--set", "legs=666", "--paused"]) else { return };
    let mut page = viewer.page();
    page.send(&json!({"type": "step", "count": 1000}));
    let on_the_way = page.frame(|frame| frame.steps > 0.0);
    assert!(on_the_way.steps < 1000.0, "frames are shown on the way");
    page.send(&json!({"type": "reset"}));
    page.frame(|frame| frame.steps == 0.0);
    page.send(&json!({"type": "step", "count": 1}));
    assert_eq!(page.frame(|frame| frame.steps > 0.0).steps, 1.0, "the others are not made after all");
}

#[test]
fn orders_after_many_slow_steps_are_heard_at_once() {
    let Some(viewer) = Viewer::start(&["spider", "--set", "legs=666", "--paused"]) else { return };
    let (mut page, mut other) = (viewer.page(), viewer.page());
    let scene = page.scene_number();
    for _ in 0..5 {
        page.send(&json!({"type": "step", "count": 1000}));
    }
    let begun = Instant::now();
    // one that follows the steps, and some that cannot wait for them
    page.send(&json!({"type": "gravity", "value": [0, 0, -3]}));
    page.send(&json!({"type": "drag", "scene": scene, "body": 1, "point": [0, 0, 0], "target": [0, 0, 1]}));
    page.send(&json!({"type": "release"}));
    page.send(&json!({"type": "speed", "value": 2}));
    page.text("status", |status| status["speed"] == 2.0 && status["gravity"] != json!([0.0, 0.0, -3.0]));
    other.send(&json!({"type": "scene", "name": "no-such-scene"}));
    other.text("notice", |notice| notice["text"].as_str().unwrap().contains("no-such-scene"));
    let on_the_way = other.frame(|frame| frame.steps > 0.0).steps;
    assert!(on_the_way < 5000.0, "frames are shown on the way: {on_the_way} steps are made");
    page.send(&json!({"type": "reset"}));
    page.text("status", |status| status["gravity"] == json!([0.0, 0.0, -3.0]));
    let start = page.frame(|frame| frame.steps == 0.0 && frame.time == 0.0);
    assert!(!start.playing);
    // all of them would take several times that
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());

    // no end of steps can be ordered
    for _ in 0..11 {
        page.send(&json!({"type": "step", "count": 1000}));
    }
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("at most 10000 can wait"));
    page.send(&json!({"type": "play", "on": false}));
    let broken_off = page.frame(|_| true).steps;
    page.send(&json!({"type": "step", "count": 1}));
    assert!(page.frame(|frame| frame.steps > broken_off).steps < 2000.0);
}

#[test]
fn gravity_speed_and_method_are_taken_over() {
    let Some(viewer) = Viewer::start(&["double-pendulum", "--paused"]) else { return };
    let mut page = viewer.page();
    page.send(&json!({"type": "gravity", "value": [0, 0, 1.5]}));
    page.text("status", |status| status["gravity"] == json!([0.0, 0.0, 1.5]));
    page.send(&json!({"type": "speed", "value": null}));
    page.text("status", |status| status["speed"].is_null());
    page.send(&json!({"type": "tolerance", "value": 1e-6}));
    page.text("status", |status| status["tolerance"] == 1e-6);
    page.send(&json!({"type": "method", "name": "direct"}));
    page.text("status", |status| status["method"] == "direct");
    page.send(&json!({"type": "method", "name": "magic"}));
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("no method \"magic\""));
    page.send(&json!({"type": "play", "on": true}));
    let frame = page.frame(|frame| frame.time > 5.0);
    assert!(frame.playing, "as fast as possible is faster than real time here");
}

#[test]
fn events_are_shown_and_methods_that_do_not_go_together_are_refused() {
    let Some(viewer) = Viewer::start(&["double-pendulum", "--paused", "--stepper", "events"]) else { return };
    let mut page = viewer.page();
    page.text("status", |status| status["stepper"] == "events");
    page.send(&json!({"type": "step", "count": 30}));
    page.frame(|frame| frame.steps == 30.0);
    page.send(&json!({"type": "method", "name": "iterative"}));
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("no effect with --stepper events"));
    page.send(&json!({"type": "stepper", "name": "fixed"}));
    page.text("status", |status| status["stepper"] == "fixed" && status["method"] == "direct");
    page.send(&json!({"type": "method", "name": "iterative"}));
    page.text("status", |status| status["method"] == "iterative");
    page.send(&json!({"type": "stepper", "name": "events"}));
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("no effect with --stepper events"));
}

#[test]
fn scenes_and_parameters_change() {
    let Some(viewer) = Viewer::start(&["double-pendulum", "--paused"]) else { return };
    let mut page = viewer.page();
    let first = page.scene_number();
    page.send(&json!({"type": "scene", "name": "scissor-lift", "parameters": {"pairs": 3}}));
    let scene = page.text("scene", |scene| scene["name"] == "scissor-lift");
    assert!(scene["scene"].as_u64().unwrap() > first && scene["parameters"]["pairs"] == 3.0);
    let bodies = scene["bodies"].as_array().unwrap().len();
    let frame = page.frame(|frame| u64::from(frame.scene) > first);
    assert_eq!(frame.positions.len(), bodies);
    for wrong in [
        json!({"type": "scene", "name": "scissor-lift", "parameters": {"pairs": -1}}),
        json!({"type": "scene", "name": "scissor-lift", "parameters": {"pears": 3}}),
        json!({"type": "scene", "name": "no-such-scene"}),
    ] {
        page.send(&wrong);
        page.text("notice", |notice| notice["level"] == "error");
    }
    // an order for the scene before does nothing
    page.send(&json!({"type": "nail", "scene": first, "body": 0, "point": [0, 0, 0]}));
    page.send(&json!({"type": "step", "count": 1}));
    page.frame(|frame| frame.steps == 1.0);
    assert_eq!(page.scene["nails"], json!([]));
}

#[test]
fn a_scene_that_takes_long_to_build_stops_nobody() {
    let Some(viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let (mut page, mut other) = (viewer.page(), viewer.page());
    let before = page.scene_number();
    page.send(&json!({"type": "scene", "name": "spider", "parameters": {"legs": 5000}}));
    // all pages are told; what runs goes on and can be driven
    let told = other.text("status", |status| status["building"] == "spider");
    assert_eq!(told["scene"].as_u64(), Some(before));
    let early = other.frame(|frame| frame.steps > 0.0);
    other.frame(|frame| frame.steps > early.steps + 3.0);
    other.send(&json!({"type": "play", "on": false}));
    other.text("status", |status| status["playing"] == false && status["building"] == "spider");
    // only the last one that is wanted is shown
    page.send(&json!({"type": "scene", "name": "four-bar"}));
    other.text("status", |status| status["building"] == "four-bar");
    let scene = other.text("scene", |scene| scene["scene"].as_u64() > Some(before));
    assert_eq!(scene["name"], "four-bar");
    other.text("status", |status| status["building"].is_null() && status["scene"] == scene["scene"]);
}

#[test]
fn what_the_user_chose_outlives_a_change_of_parameters() {
    let Some(viewer) = Viewer::start(&["double-pendulum", "--paused", "--dt", "1/50"]) else { return };
    let mut page = viewer.page();
    let chosen = |dt: f64, g: f64| {
        move |status: &serde_json::Value| {
            let near = |value: &serde_json::Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-12;
            near(&status["dt"], dt) && near(&status["gravity"][2], g) && status["building"].is_null()
        }
    };
    page.text("status", |status| status["scene"] == 1);
    let own = linkwork_scenes::find("scissor-lift").unwrap().default_scene();
    page.send(&json!({"type": "scene", "name": "scissor-lift", "parameters": {"pairs": 3}}));
    // another scene has its own
    page.text("status", |status| status["scene"] == 2 && chosen(own.step.dt, own.gravity[2])(status));
    page.send(&json!({"type": "dt", "value": 0.003}));
    page.send(&json!({"type": "gravity", "value": [0, 0, -1.5]}));
    page.text("status", chosen(0.003, -1.5));
    page.send(&json!({"type": "scene", "name": "scissor-lift", "parameters": {"pairs": 4}}));
    page.text("status", |status| status["scene"] == 3 && chosen(0.003, -1.5)(status));
    page.send(&json!({"type": "step", "count": 1}));
    assert!((page.frame(|frame| frame.steps == 1.0).time - 0.003).abs() < 1e-12);
    page.send(&json!({"type": "scene", "name": "four-bar"}));
    let own = linkwork_scenes::find("four-bar").unwrap().default_scene();
    page.text("status", |status| status["scene"] == 4 && chosen(own.step.dt, own.gravity[2])(status));
}

#[test]
fn dragging_moves_the_body_and_nails_hold_it() {
    let Some(viewer) = Viewer::start(&["wrecking-ball", "--set", "mass=10"]) else { return };
    let mut page = viewer.page();
    let scene = page.scene_number();
    let ball = page.scene["bodies"].as_array().unwrap().len() - 1;
    let distance = |frame: &Frame, to: [f32; 3]| {
        frame.positions[ball].iter().zip(to).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt()
    };
    // the chain of 4 m hangs from the origin: up there it comes only if it is pulled
    let target = [1.0, 0.5, 2.5];
    page.send(&json!({"type": "drag", "scene": scene, "body": ball, "point": [0, 0, 0], "target": target}));
    let near = page.frame(|frame| distance(frame, target.map(|c| c as f32)) < 0.3);
    page.send(&json!({"type": "play", "on": false}));
    page.text("status", |status| status["playing"] == false);
    page.send(&json!({"type": "release"}));
    page.send(&json!({"type": "nail", "scene": scene, "body": ball, "point": [0, 0, 0]}));
    page.text("scene", |scene| scene["nails"].as_array().unwrap().len() == 1);
    let nailed = page.frame(|frame| !frame.playing && frame.steps >= near.steps);
    let at = nailed.positions[ball];
    page.send(&json!({"type": "play", "on": true}));
    let later = page.frame(|frame| frame.steps > nailed.steps + 40.0);
    assert!(distance(&later, at) < 1e-3, "the nail holds: {} m", distance(&later, at));
    page.send(&json!({"type": "pull_nails", "scene": scene, "body": null}));
    page.text("scene", |scene| scene["nails"] == json!([]));
    page.frame(|frame| distance(frame, at) > 0.5);
}

#[test]
fn a_page_keeps_its_particle_when_another_makes_one() {
    // two systems of one particle each, which have the numbers 0 and 1 in frames
    let system = |name: &str, x: f64| {
        format!("[[particles]]\nname = \"{name}\"\npoints = [{{ position = [{x}, 0, 1], mass = 1 }}]\n")
    };
    let folder = Folder::new();
    let file = folder.with("two.toml", &(system("one", 0.0) + &system("other", 1.0)));
    let Some(viewer) = Viewer::start(&[&file, "--paused"]) else { return };
    let (mut page, mut other) = (viewer.page(), viewer.page());
    let scene = page.scene_number();
    let points = |frame: &Frame| -> Vec<[f32; 3]> {
        let numbers = frame.section(7).unwrap().as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word));
        numbers.collect::<Vec<_>>().as_chunks::<3>().0.to_vec()
    };
    let start = points(&page.frame(|_| true));
    assert_eq!(start.len(), 2);
    // the first page holds the second system's bead; then the other makes a particle in the first system
    let held = start[1].map(f64::from);
    let up = [held[0], held[1], held[2] + 0.2];
    page.send(&json!({"type": "drag_particle", "scene": scene, "particle": [1, 0], "target": up}));
    let order = json!({"type": "create_particle", "scene": scene, "revision": 0, "target": [0, 0, 5], "to": [0, 0]});
    other.send(&order);
    let grown = page.text("scene", |scene| scene["revision"] == 1);
    assert_eq!((&grown["particles"][0]["count"], &grown["particles"][1]["count"]), (&json!(2), &json!(1)));
    // what was ordered before the page knew of the new one means the same particle as before
    page.send(&json!({"type": "nail_particle", "scene": scene, "revision": 0, "particle": [1, 0]}));
    let nailed = page.text("scene", |scene| scene["revision"] == 2);
    assert_eq!(nailed["nailed_particles"], json!([[1, 0]]));
    page.send(&json!({"type": "step", "count": 3}));
    let after = points(&page.frame(|frame| frame.steps == 3.0));
    assert_eq!(after[2], start[1], "the nailed one stays: it is the third number now");
    assert_ne!(after[1], [0.0, 0.0, 5.0], "the new one falls");
    // after a reset, what was ordered for what was made before is refused
    page.send(&json!({"type": "reset"}));
    page.text("scene", |scene| scene["revision"] == 3);
    page.send(&order);
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("went back to its start"));
    page.send(&json!({"type": "nail_particle", "scene": scene, "revision": 3, "particle": [1, 7]}));
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("no such particle"));
}

#[test]
fn motors_and_watched_joints() {
    let Some(viewer) = Viewer::start(&["strandbeest", "--set", "legs=3"]) else { return };
    let mut page = viewer.page();
    let scene = page.scene_number();
    let joints = page.scene["joints"].as_array().unwrap().clone();
    let driven = joints.iter().position(|joint| joint["coordinates"][0]["acting"]["motor"].is_object()).unwrap();
    page.send(&json!({"type": "watch", "joints": [driven, 9999], "bodies": [0], "velocities": true, "reactions": true, "contacts": true}));
    let frame = page.frame(|frame| frame.section(5).is_some());
    let watched = frame.section(5).unwrap();
    assert_eq!(u32::from_le_bytes(watched[..4].try_into().unwrap()) as usize, driven);
    assert_eq!(frame.section(2).unwrap().len(), 4 + 6 * frame.positions.len());
    assert_eq!(frame.section(3).unwrap().len(), 4 + 6 * joints.len());
    assert_eq!(frame.section(4).unwrap()[..8], [0; 8], "there are no contacts");
    assert_eq!(frame.section(6).unwrap().len(), 28);
    let speed_of = |frame: &Frame| {
        let at = 4 * (11 + 1);
        f32::from_le_bytes(frame.section(5).unwrap()[at..at + 4].try_into().unwrap())
    };
    let motor = json!({"velocity": {"target": -3.0}});
    page.send(&json!({"type": "motor", "scene": scene, "joint": driven, "coordinate": "angle", "motor": motor}));
    page.text("status", |status| status["motors"][0]["motor"]["velocity"]["target"] == -3.0);
    page.frame(|frame| frame.section(5).is_some() && (speed_of(frame) + 3.0).abs() < 1e-3);
    page.send(&json!({"type": "motor", "scene": scene, "joint": driven, "coordinate": "wings", "motor": motor}));
    page.text("notice", |notice| notice["text"].as_str().unwrap().contains("wings"));
}

#[test]
fn every_page_gets_what_it_looks_at() {
    let Some(viewer) = Viewer::start(&["strandbeest", "--set", "legs=3"]) else { return };
    let (mut curious, mut plain, mut other) = (viewer.page(), viewer.page(), viewer.page());
    curious.send(&json!({"type": "watch", "velocities": true, "reactions": true, "contacts": true, "joints": [0, 1]}));
    other.send(&json!({"type": "watch", "joints": [1], "sleeping": true}));
    let seen = curious.frame(|frame| frame.section(5).is_some());
    assert!([2, 3, 4].iter().all(|&kind| seen.section(kind).is_some()) && seen.section(8).is_none());
    let seen = other.frame(|frame| frame.section(5).is_some() && frame.section(8).is_some());
    assert_eq!(seen.section(5).unwrap()[..4], 1u32.to_le_bytes(), "its own joint, not that of another page");
    assert!([2, 3, 4].iter().all(|&kind| seen.section(kind).is_none()));
    // later than what the others were sent
    let frame = plain.frame(|frame| frame.steps > seen.steps);
    assert!((2..=8).all(|kind| frame.section(kind).is_none()));
}

#[test]
fn a_page_that_takes_nothing_is_still_heard() {
    let Some(viewer) = Viewer::start(&["tree", "--set", "bodies=8191", "--dt", "1/60"]) else { return };
    let (mut deaf, mut other) = (viewer.page(), viewer.page());
    deaf.send(&json!({"type": "watch", "velocities": true, "reactions": true}));
    deaf.send(&json!({"type": "speed", "value": null}));
    // 240 kB a frame: what the buffers of the system hold is full long before the end
    let mut last = other.frame(|frame| frame.steps > 0.0).steps;
    for _ in 0..60 {
        last = other.frame(|frame| frame.steps > last).steps;
    }
    let begun = Instant::now();
    deaf.send(&json!({"type": "play", "on": false}));
    other.text("status", |status| status["playing"] == false);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn every_server_has_a_name_of_its_own() {
    let sessions: Vec<_> = (0..2)
        .filter_map(|_| {
            let viewer = Viewer::start(&["double-pendulum", "--paused"])?;
            let [one, other] =
                [viewer.page(), viewer.page()].map(|mut page| page.text("hello", |_| true)["session"].clone());
            assert_eq!(one, other, "the same for all pages of a server");
            one.as_str().map(str::to_owned)
        })
        .collect();
    assert!(sessions.len() != 2 || sessions[0] != sessions[1] && sessions[0].len() == 16, "{sessions:?}");
}

#[test]
fn many_pages_share_a_session() {
    let Some(viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let mut pages: Vec<_> = (0..5).map(|_| viewer.page()).collect();
    pages[0].text("status", |status| status["pages"] == 5);
    pages[3].send(&json!({"type": "play", "on": false}));
    for page in &mut pages {
        page.text("status", |status| status["playing"] == false);
    }
    let times: Vec<f64> = pages.iter_mut().map(|page| page.frame(|frame| !frame.playing).time).collect();
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
    pages[1].send(&json!({"type": "play", "on": true}));
    let mut seen = pages[2].frame(|frame| frame.playing && frame.time > times[0]).time;
    // closing pages stops nothing and loses nothing. A busy machine may give the server little time while nobody looks, so the
    // absence grows; what passes while a page is there does not count.
    drop(pages);
    for absence in [300, 600, 1200, 2400, 4800] {
        std::thread::sleep(Duration::from_millis(absence));
        let mut late = viewer.page();
        late.text("status", |status| status["pages"] == 1);
        let frame = late.frame(|_| true);
        if frame.time > seen + 0.1 {
            return;
        }
        seen = frame.time;
    }
    panic!("time stands still at {seen} s while no page is open");
}

#[test]
fn a_page_that_reads_nothing_slows_nobody() {
    let Some(viewer) = Viewer::start(&["tree", "--set", "bodies=8191", "--dt", "1/60"]) else { return };
    let (mut slow, mut fast) = (viewer.page(), viewer.page());
    fast.scene_number();
    fast.send(&json!({"type": "speed", "value": null}));
    for page in [&mut slow, &mut fast] {
        page.send(&json!({"type": "watch", "velocities": true, "reactions": true}));
    }
    // 240 kB a frame: what the buffers of the system hold for the slow page is full long before the end, and all is over
    // before the server takes the slow page for gone, also on a busy machine
    let mut last = fast.frame(|frame| frame.section(3).is_some());
    let first = last.clone();
    for _ in 0..60 {
        last = fast.frame(|_| true);
    }
    assert!(first.bytes.len() > 200_000 && last.time > first.time);
    slow.scene_number();
    // what was in buffers comes first, and then the present, not all that was missed
    let (mut read, begun) = (0, Instant::now());
    while slow.frame(|frame| frame.section(3).is_some()).time < last.time {
        read += 1;
        assert!(begun.elapsed() < Duration::from_secs(20), "the slow page never catches up");
    }
    assert!(read < 55, "{read} of 60 frames were kept for the slow page");
}

#[test]
fn nonsense_is_answered_and_nothing_breaks() {
    let Some(mut viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let mut page = viewer.page();
    let scene = page.scene_number();
    for text in ["", "hello", "{}", "[1,2,3]", "{\"type\":\"play\"}", "{\"type\":\"dt\",\"value\":-1}", "\u{0}\u{ffff}"]
    {
        page.socket.send(Message::text(text)).unwrap();
        page.text("notice", |notice| notice["level"] == "error");
    }
    page.socket.send(Message::binary(vec![1, 2, 3])).unwrap();
    page.text("notice", |notice| notice["text"] == "pages send text");
    for order in [
        json!({"type": "drag", "scene": scene, "body": 12345, "point": [0, 0, 0], "target": [1, 1, 1]}),
        json!({"type": "nail", "scene": scene, "body": 12345, "point": [0, 0, 0]}),
        json!({"type": "motor", "scene": scene, "joint": 12345, "coordinate": "x", "motor": {"force": {"value": 1}}}),
        json!({"type": "gravity", "value": [1e300, 0, 0]}),
        json!({"type": "watch", "bodies": [99999], "joints": [99999]}),
    ] {
        page.send(&order);
    }
    // noise of every length, the same in every run
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for _ in 0..300 {
        let length = random() % 200;
        let noise: String = (0..length).map(|_| char::from_u32((random() % 0x2_0000) as u32).unwrap_or('{')).collect();
        page.socket.send(Message::text(noise)).unwrap();
    }
    page.send(&json!({"type": "play", "on": false}));
    page.text("status", |status| status["playing"] == false);

    // a message that is too long ends the connection that brought it, and no other
    let mut loud = viewer.page();
    loud.scene_number();
    let _ = loud.socket.send(Message::text("x".repeat(1 << 20)));
    let ended = (0..10_000).any(|_| loud.socket.read().is_err());
    assert!(ended);
    for bytes in
        [&b"\x00\xff\x00\xff"[..], b"GET / HTTP/9.9\r\n\r\n", b"GET /socket HTTP/1.1\r\nupgrade: websocket\r\n\r\n"]
    {
        let mut stream = TcpStream::connect(&viewer.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(bytes).unwrap();
        let _ = stream.read(&mut [0; 64]);
    }
    page.send(&json!({"type": "step", "count": 1}));
    page.frame(|frame| !frame.playing);
    assert!(viewer.lives());
}

#[test]
fn scene_files_are_opened_and_mistakes_are_told_where_they_stand() {
    let Some(viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let mut page = viewer.page();
    page.scene_number();
    let own = [format!("host: {}", viewer.host), format!("origin: http://{}", viewer.host)];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    assert_eq!(viewer.request("POST /scene/mine.toml", &own, PENDULUM.as_bytes()).0, 204);
    let scene = page.text("scene", |scene| scene["name"] == "pendulum");
    assert_eq!((&scene["registry"], &scene["dt"]), (&json!(false), &json!(0.01)));
    for (file, text, said) in [
        ("mine.toml", PENDULUM.replace("mass", "maas"), "mine.toml:10:1: unknown key `maas`"),
        ("mine.toml", PENDULUM.replace("mass = 2.0", "mass = -2.0"), "bodies[0].mass"),
        ("mine.json", PENDULUM.to_owned(), "mine.json:1"),
        ("mine.txt", PENDULUM.to_owned(), "end in .toml or .json"),
        ("dig.lwr", PENDULUM.to_owned(), "`linkwork view FILE.lwr`"),
    ] {
        let (status, answer) = viewer.request(&format!("POST /scene/{file}"), &own, text.as_bytes());
        assert!(status == 422 && answer.contains(said), "{file}: {status} {answer}");
    }
    let (status, answer) = viewer.request("POST /scene/mine.toml", &own, b"\xff\xfe");
    assert!(status == 422 && answer.contains("not text"), "{answer}");
    assert_eq!(viewer.request("POST /scene/mine.toml", &own, &vec![b' '; 17 << 20]).0, 413);
    let frame = page.frame(|frame| frame.positions.len() == 1);
    assert!(frame.playing, "the scene before the refusals goes on");
}

#[test]
fn a_recording_is_served_and_what_is_none_is_refused() {
    let folder = Folder::new();
    let file = folder.name("pendulum.lwr");
    linkwork(&["run", "double-pendulum", "--duration", "1", "--record", &file]).exits_with(0);
    let bytes = std::fs::read(&file).unwrap();
    let renamed = folder.name("pendulum.old");
    std::fs::write(&renamed, &bytes).unwrap();
    if let Some(viewer) = Viewer::start(&[&renamed]) {
        let (status, page) = viewer.request("GET /", &[&format!("host: {}", viewer.host)], b"");
        assert!(status == 200 && page.contains("linkwork-mode\" content=\"recording\""), "by any name");
    }
    if let Some(viewer) = Viewer::start(&[&file]) {
        let host = format!("host: {}", viewer.host);
        let (status, page) = viewer.request("GET /", &[&host], b"");
        assert!(status == 200 && page.contains("linkwork-mode\" content=\"recording\""));
        let (status, answer) = viewer.request("GET /recording.lwr", &[&host], b"");
        assert!(status == 200 && answer.contains(&format!("content-length: {}", bytes.len())));
        assert_eq!(viewer.request("GET /socket", &[&host], b"").0, 404);
        linkwork(&["view", &file, "--no-open", "--set", "mass=1"]).exits_with(2).says("has no parameter");
        let broken = folder.name("broken.lwr");
        std::fs::write(&broken, &bytes[1..]).unwrap();
        linkwork(&["view", &broken, "--no-open"]).exits_with(1).says("this is no recording");
        linkwork(&["view", &folder.name("none.lwr"), "--no-open"]).exits_with(2).says("cannot be read");
        linkwork(&["view", "no-such-scene", "--no-open"]).exits_with(2).says("there is no scene");
        let port = viewer.host.rsplit(':').next().unwrap();
        linkwork(&["view", "tree", "--no-open", "--port", port]).exits_with(2).says("cannot listen");
    }
}

#[test]
fn a_scene_that_cannot_be_built_is_told_before_anything_is_served() {
    let folder = Folder::new();
    let scene = folder.with("wrong.toml", &PENDULUM.replace("mass = 2.0", "mass = -2.0"));
    let ran = linkwork(&["view", &scene, "--no-open"]);
    if ran.stderr.contains("built without the viewer's page") {
        return skip(&ran.stderr);
    }
    let ran = ran.exits_with(1).says("wrong.toml:10:8]").says("bodies[0].mass");
    assert_eq!(ran.stdout, "", "no address");
    linkwork(&["view", "tree", "--no-open", "--set", "bodies=4"]).exits_with(2).says("bodies");
    linkwork(&["view", "tree", "--no-open", "--host", "nowhere"]).exits_with(2).says("--host");
}

#[test]
fn listening_to_others_is_possible_and_warned_of() {
    let Some(viewer) = Viewer::start(&["double-pendulum", "--host", "0.0.0.0"]) else { return };
    assert!(viewer.host.starts_with("127.0.0.1:"), "{}", viewer.host);
    assert_eq!(viewer.request("GET /", &[&format!("host: {}", viewer.host)], b"").0, 200);
    let port = viewer.host.rsplit(':').next().unwrap();
    assert_eq!(viewer.request("GET /", &[&format!("host: 10.1.2.3:{port}")], b"").0, 200);
    // names stay refused: they can be made to point anywhere
    assert_eq!(viewer.request("GET /", &[&format!("host: example.org:{port}")], b"").0, 403);
    assert!(viewer.stop().contains("everybody who reaches this address"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_viewer_with_success() {
    let Some(viewer) = Viewer::start(&["double-pendulum"]) else { return };
    let _page = viewer.page();
    assert_eq!(viewer.interrupt(), Some(0));
}
