//! Mistakes in a scene file are named where they stand, all of them, with what to do.

use linkwork::{BuildError, SceneError};
use linkwork_io::{FileError, Format, SceneFile, parse_scene};

fn refused(text: &str, format: Format) -> FileError {
    parse_scene(text, format, "scene").expect_err(text)
}

/// Each problem as `line:column "underlined" message (hint)`.
fn listed(error: &FileError) -> Vec<String> {
    let text = error.text.as_deref().unwrap();
    let line = |problem: &linkwork_io::Problem| {
        let place = problem.place.expect("a mistake in the text has a place");
        let underlined = &text[place.span.start..place.span.end];
        let hint = problem.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}:{} `{underlined}` {}{hint}", place.line, place.column, problem.message)
    };
    error.problems.iter().map(line).collect()
}

#[test]
fn all_mistakes_of_a_file_are_listed_in_order() {
    let text = r#"name = "x"
gravitty = [0, 0, -9.81]

[[bodies]]
name = "arm"
mass = "heavy"
position = [0, 0]
shapes = [{ geometry = { sphere = { radius = "big", colour = 1 } } }, { geometry = { spher = { radius = 1 } } }]

[[bodies]]
kind = "statik"
inertia = [1, true, 3]
velocity = nan

[[joints]]
name = "elbow"
b = "arm"

[[joints]]
name = "wrist"
type = "hnige"
coordinates = [{ of = 3, limit = { min = 1, maximum = inf } }]
"#;
    assert_eq!(
        listed(&refused(text, Format::Toml)),
        [
            "2:1 `gravitty` unknown key `gravitty` (did you mean `gravity`?)",
            "6:8 `\"heavy\"` expected a number, found a string (write the number alone, without quotes and unit; units are SI)",
            "7:12 `[0, 0]` expected 3 numbers, found 2",
            "8:46 `\"big\"` expected a number, found a string (write the number alone, without quotes and unit; units are SI)",
            "8:53 `colour` unknown key `colour` (known here: radius)",
            "8:86 `spher` unknown choice `spher` (did you mean `sphere`?)",
            "11:8 `\"statik\"` unknown choice `statik` (did you mean `static`?)",
            "12:15 `true` expected a number, found true or false",
            "13:12 `nan` expected an array of 3 numbers, found a number",
            "16:1 `name = \"elbow\"` missing key `type`",
            "21:8 `\"hnige\"` unknown choice `hnige` (did you mean `hinge`?)",
            "22:23 `3` expected a string, found a number",
            "22:45 `maximum` unknown key `maximum` (known here: min, max, restitution)",
        ]
    );
}

#[test]
fn the_same_mistakes_are_found_in_json() {
    let text = r#"{
  "bodies": [{"name": "arm", "mas": 1}, 5],
  "joints": {"type": "ball"},
  "step": {"dt": null, "duration": 1e999}
}"#;
    assert_eq!(
        listed(&refused(text, Format::Json)),
        [
            "2:30 `\"mas\"` unknown key `mas` (did you mean `mass`?)",
            "2:41 `5` expected an object, found a number (its keys are name, kind, position, orientation, velocity, \
             angular_velocity, mass, inertia, inertia_products, center_of_mass, density, shapes, gravity_scale, \
             linear_damping, angular_damping)",
            "3:13 `{\"type\": \"ball\"}` expected an array, found an object",
            "4:18 `null` expected a number, found null",
            "4:36 `1e999` not a finite number (leave the key out where no bound is meant; the largest number is about \
             1.8e308)",
        ]
    );
}

#[test]
fn a_choice_written_in_the_wrong_way_is_explained() {
    let text = "[[bodies]]\nshapes = [{ geometry = 'sphere' }]\n[[joints]]\ntype = { hinge = {} }\n";
    assert_eq!(
        listed(&refused(text, Format::Toml)),
        [
            "2:24 `'sphere'` `sphere` needs its sizes (write { sphere = { … } } with radius)",
            "4:8 `{ hinge = {} }` expected a string, found a table (write \"hinge\")",
        ]
    );
    let text =
        "[[bodies]]\nshapes = [{ geometry = { sphere = {radius=1}, box = {size=[1,1,1]} } }, { geometry = {} }]\n";
    assert_eq!(
        listed(&refused(text, Format::Toml)),
        [
            "2:24 `{ sphere = {radius=1}, box = {size=[1,1,1]} }` expected one key, found 2 (choose one of sphere, box, \
             capsule, cylinder, cone, convex_hull, mesh, height_field, plane)",
            "2:86 `{}` expected one key, found 0 (choose one of sphere, box, capsule, cylinder, cone, convex_hull, mesh, height_field, plane)",
        ]
    );
}

#[test]
fn a_misspelt_key_is_not_missing_as_well() {
    let error = refused("[[joints]]\ntpye = 'ball'\n[[joints]]\ncolour = 'red'\n", Format::Toml);
    let messages: Vec<&str> = error.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["unknown key `tpye`", "missing key `type`", "unknown key `colour`"]);
    assert_eq!(error.problems[1].place.unwrap().line, 3);
}

#[test]
fn a_single_table_where_a_list_belongs_is_explained() {
    let error = refused("[bodies]\nname = 'a'\n", Format::Toml);
    assert_eq!(
        listed(&error),
        ["2:1 `name = 'a'` expected an array, found a table (write [[…]] above every element, or put [ ] around it)"]
    );
}

#[test]
fn nan_and_infinity_are_refused_everywhere() {
    for number in ["nan", "-nan", "inf", "-inf", "1e400"] {
        for line in
            ["gravity = [0, 0, X]", "[step]\ndt = X", "[[bodies]]\nmass = X", "[[joints]]\ntype='gear'\nratio = X"]
        {
            let text = line.replace('X', number);
            let error = refused(&text, Format::Toml);
            assert_eq!(error.problems.len(), 1, "{text}: {error}");
            assert_eq!(error.problems[0].message, "not a finite number", "{text}");
        }
    }
}

#[test]
fn syntax_errors_point_at_the_text() {
    let error = refused("name = \"x\nmass = 1\n", Format::Toml);
    assert_eq!(error.problems[0].place.unwrap().line, 1, "{error}");
    let error = refused("[[bodies]]\nmass = 1\nmass = 2\n", Format::Toml);
    assert_eq!(listed(&error), ["3:1 `mass` duplicate key (keep one of them, or write [[…]] for one more element)"]);
    let error = refused("{\n  \"name\": \"x\",\n}", Format::Json);
    assert_eq!(listed(&error), ["3:1 `}` expected a key in double quotes, found `}` (remove the comma before it)"]);
}

#[test]
fn columns_count_characters_and_lines_may_end_in_any_way() {
    let error = refused("name = 'größe 😀'\r\nstep = { dt = 'ü', dd = 1 }\r\n", Format::Toml);
    assert_eq!(
        listed(&error),
        [
            "2:15 `'ü'` expected a number, found a string (write the number alone, without quotes and unit; units are SI)",
            "2:20 `dd` unknown key `dd` (did you mean `dt`?)"
        ]
    );
    let error = refused("\u{feff}{\"nam\": 1}", Format::Json);
    assert_eq!(listed(&error), ["1:2 `\"nam\"` unknown key `nam` (did you mean `name`?)"]);
}

#[test]
fn a_thousand_mistakes_are_counted_not_listed() {
    let text: String = (0..1000).map(|i| format!("key_{i} = 1\n")).collect();
    let error = refused(&text, Format::Toml);
    assert_eq!((error.problems.len(), error.omitted), (20, 980));
    assert!(error.to_string().ends_with("scene: 980 more problems"));
}

#[test]
fn what_the_engine_refuses_is_found_in_the_text() {
    let text = "[[bodies]]\nname = 'arm'\nmass = -1\n[[joints]]\nname = 'elbow'\ntype = 'hinge'\nb = 'arm'\n";
    for (format, text) in [
        (Format::Toml, text.to_owned()),
        (
            Format::Json,
            "{\"bodies\": [{\n\"name\": 'arm', \"mass\": -1}],\n\n\"joints\":[\n{\"name\": 'elbow', \"type\": 'hinge'}]}"
                .replace('\'', "\""),
        ),
    ] {
        let scene = parse_scene(&text, format, "scene").unwrap();
        let file = SceneFile { scene, file: "scene".to_owned(), text, format };
        let error = file.explain(&BuildError {
            problems: vec![
                SceneError::new("joints[0].axis", "zero length"),
                SceneError::new("bodies[0].mass", "−1 kg is negative").hint("give a positive mass"),
                SceneError::new("step.dt", "too large"),
            ],
        });
        let shown: Vec<_> = error.problems.iter().map(|p| (p.message.as_str(), p.place.map(|place| place.line))).collect();
        assert_eq!(
            shown,
            [
                ("step.dt: too large", None),
                ("bodies[0].mass: −1 kg is negative", Some(if format == Format::Toml { 3 } else { 2 })),
                ("joints[0].axis: zero length", Some(5)),
            ]
        );
        assert_eq!(error.problems[1].hint.as_deref(), Some("give a positive mass"));
    }
}

#[test]
fn an_editor_may_name_the_schema() {
    for (format, text) in [
        (Format::Toml, "\"$schema\" = 'scene.schema.json'\nname = 'x'\n"),
        (Format::Json, "{\"$schema\": \"scene.schema.json\", \"name\": \"x\"}"),
    ] {
        assert_eq!(parse_scene(text, format, "scene").unwrap().name, "x");
    }
}

/// A root of the wrong kind was told of twice.
#[test]
fn a_file_that_is_no_table_is_told_of_once() {
    for text in ["[1, 2]", "\"x\"", "3", "null"] {
        let error = refused(text, Format::Json);
        assert_eq!(listed(&error).len(), 1, "{text}: {error}");
    }
}
