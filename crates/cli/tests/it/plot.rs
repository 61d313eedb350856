//! `linkwork plot`.

use crate::command::{Folder, linkwork};

#[test]
fn reports_tables_and_recordings_are_drawn() {
    let folder = Folder::new();
    let [report, csv, lwr, svg] = ["a.json", "a.csv", "a.lwr", "out.svg"].map(|name| folder.name(name));
    linkwork(&["run", "double-pendulum", "--duration", "1", "--report", &report, "--csv", &csv, "--record", &lwr])
        .exits_with(0);
    for file in [&report, &lwr] {
        linkwork(&["plot", file, "--to", &svg]).exits_with(0);
        let picture = folder.read("out.svg");
        assert!(picture.contains(">energy<") && picture.contains("largest joint error"), "{file}");
        assert!(!picture.contains("deepest penetration"), "what is zero is not drawn");
    }
    linkwork(&["plot", &report]).exits_with(0);
    assert!(folder.read("a.svg").contains("time per step"), "beside the report by default");
    let (first, second) = body_names(&folder.read("a.csv"));
    let show = format!("{first}.z,{second}.vx");
    let picture = linkwork(&["plot", &csv, "--show", &show, "--to", "-"]).exits_with(0).stdout;
    assert!(picture.starts_with("<svg") && picture.contains(&format!(">{first}.z<")) && picture.contains("m/s"));
    // without a wish: where the bodies are
    let picture = linkwork(&["plot", &csv, "--to", "-"]).exits_with(0).stdout;
    assert!([">x<", ">y<", ">z<"].iter().all(|title| picture.contains(title)), "{picture}");
    assert!(picture.matches(&format!(">{first}<")).count() == 3 && !picture.contains("energy"));
    let other = folder.with("b.old", "");
    std::fs::copy(&lwr, &other).unwrap();
    assert!(
        linkwork(&["plot", &other, "--to", "-"]).exits_with(0).stdout.contains("energy"),
        "a recording by any name"
    );
}

/// Names of lines that did not fit beside each other were cut off.
#[test]
fn all_names_of_many_lines_can_be_read() {
    let folder = Folder::new();
    let files = ["one", "two", "three", "four"].map(|name| {
        let file = folder.name(&format!("a-run-with-a-long-name-{name}.json"));
        linkwork(&["run", "double-pendulum", "--duration", "0.2", "--report", &file]).exits_with(0);
        file
    });
    let [a, b, c, d] = files.each_ref().map(String::as_str);
    let picture = linkwork(&["plot", a, b, c, d, "--show", "energy,joint-error", "--to", "-"]).exits_with(0).stdout;
    let number = |text: &str, key: &str| -> f64 {
        let from = text.find(&format!("{key}=\"")).unwrap() + key.len() + 2;
        text[from..].split('"').next().unwrap().parse().unwrap()
    };
    let (width, height) = (number(&picture, " width"), number(&picture, " height"));
    let mut names = 0;
    for text in picture.split("<text ").skip(1).filter(|text| text.contains(".json ")) {
        let label = text.split('>').nth(1).unwrap().split('<').next().unwrap();
        names += 1;
        let end = number(text, "x") + 6.0 * label.chars().count() as f64;
        // a name that is longer than the chart has a row of its own
        assert!(end < width || (number(text, "x") - 100.0).abs() < 1e-9, "{label} ends at {end} of {width}");
    }
    assert_eq!(names, 4 * 3 + 4, "kinetic, potential and total energy, and the error, of each");
    assert!(height > 700.0, "charts make room for names: {height}");
    assert!(picture.contains("stroke-dasharray"), "twelve lines of eight colours can be told apart");
}

fn body_names(table: &str) -> (String, String) {
    let name = |line: usize| table.lines().nth(line).unwrap().split(',').nth(1).unwrap().to_owned();
    (name(1), name(2))
}

#[test]
fn several_reports_give_work_and_precision() {
    let folder = Folder::new();
    let files = ["0.02", "0.01", "0.005"].map(|dt| {
        let file = folder.name(&format!("{dt}.json"));
        linkwork(&["run", "double-pendulum", "--duration", "1", "--dt", dt, "--report", &file]).exits_with(0);
        file
    });
    let arguments = ["plot", &files[0], &files[1], &files[2], "--show", "work-precision", "--to", "-"];
    let picture = linkwork(&arguments).exits_with(0).stdout;
    assert!(picture.contains("dt 0.005") && picture.contains("relative energy drift"));
    assert_eq!(picture.matches("<circle").count(), 3);
    linkwork(&["plot", &files[0], "--show", "work-precision", "--to", "-"]).exits_with(1).says("different step sizes");
}

#[test]
fn what_cannot_be_drawn_is_told_with_file_and_column() {
    let folder = Folder::new();
    let csv = folder.with("t.csv", "time,body,x\n0,bob,1\n1,bob,2\n");
    linkwork(&["plot", &csv, "--show", "bob.q"]).exits_with(1).says("t.csv: there is no column `q`");
    linkwork(&["plot", &csv, "--show", "rob.x"]).exits_with(1).says("t.csv: there is no body `rob`");
    linkwork(&["plot", &csv, "--show", "energy"]).exits_with(1).says("t.csv: it has no energy");
    let broken = folder.with("b.csv", "time,body,x\n0,bob,1\n1,bob,two\n");
    linkwork(&["plot", &broken, "--show", "bob.x"]).exits_with(1).says("b.csv:3: column `x`: `two` is no number");
    let short = folder.with("s.csv", "time,body,x\n0,bob\n");
    linkwork(&["plot", &short, "--show", "bob.x"]).exits_with(1).says("s.csv:2: 2 fields under 3 columns");
    let json = folder.with("r.json", "{\"scene\": \"tree\"}");
    linkwork(&["plot", &json]).exits_with(1).says("r.json: no report of a run");
    let json = folder.with("c.json", "{\"course\": {\"time\": [0, 1], \"kinetic\": [0, \"x\"]}}");
    linkwork(&["plot", &json]).exits_with(1).says("course.kinetic[1]: \"x\" is no number");
    linkwork(&["plot", &folder.name("none.json")]).exits_with(2).says("none.json: cannot be read");
    linkwork(&["plot", &folder.with("a.txt", "")]).exits_with(2).says("reports end in .json");
    linkwork(&["plot", &csv, "--show", "bob.x", "--to", &csv]).exits_with(2).says("overwrite");
    linkwork(&["plot"]).exits_with(2);
}
