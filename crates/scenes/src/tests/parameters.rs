//! Settings that are wrong are refused, by name.

use super::build;
use crate::{ParameterError, all, find, suggest};

fn refused(scene: &str, key: &str, value: f64) -> ParameterError {
    find(scene).unwrap().build(&[(key.to_string(), value)]).unwrap_err()
}

#[test]
fn unknown_parameters_are_refused_with_the_nearest_name() {
    let error = refused("tree", "bodys", 31.0);
    assert_eq!(
        error.to_string(),
        "scene tree, parameter bodys: the scene has no such parameter (did you mean bodies?)"
    );
    let error = refused("wrecking-ball", "colour", 1.0);
    assert!(error.to_string().ends_with("(it has links, mass)"), "{error}");
    assert!(refused("four-bar", "length", 1.0).to_string().ends_with("(the scene has no parameters)"));
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    let error = refused("wrecking-ball", "mass", -1.0);
    assert!(error.problem.contains("-1 is outside 0.001 to 1000000000 kg"), "{error}");
    assert!(refused("tree", "bodies", 1.0).problem.contains("outside 3 to 65535"));
    assert!(refused("tree", "bodies", f64::NAN).problem.contains("finite"));
}

#[test]
fn fractions_are_refused_where_things_are_counted() {
    assert!(refused("scissor-lift", "pairs", 2.5).problem.contains("whole number"));
}

#[test]
fn a_tree_must_be_full() {
    let error = refused("tree", "bodies", 100.0);
    assert_eq!(error.hint.as_deref(), Some("try 63 or 127"));
}

#[test]
fn a_slow_top_has_no_steady_precession() {
    let settings = [("steady".to_string(), 1.0), ("spin".to_string(), 5.0)];
    let error = find("top").unwrap().build(&settings).unwrap_err();
    assert_eq!(error.parameter, "spin");
}

#[test]
fn the_later_of_two_settings_counts() {
    assert_eq!(build("scissor-lift", &[("pairs", 3.0), ("pairs", 2.0)]).bodies.len(), 5);
}

#[test]
fn entries_are_documented_sorted_and_allow_their_defaults() {
    assert!(all().is_sorted_by_key(|entry| entry.name), "the list is sorted by name");
    for entry in all() {
        assert!(entry.summary.ends_with('.'));
        for parameter in entry.parameters {
            assert!(!parameter.meaning.is_empty());
            for value in [parameter.default, parameter.min, parameter.max] {
                assert!(!parameter.integer || value.fract() == 0.0, "{} {}", entry.name, parameter.name);
            }
            let setting = [(parameter.name.to_string(), parameter.default)];
            assert_eq!(entry.build(&setting).unwrap(), entry.default_scene());
        }
    }
}

#[test]
fn misspelt_scenes_are_recognised() {
    assert_eq!(suggest("wreking_ball"), Some("wrecking-ball"));
    assert_eq!(suggest("Tree"), Some("tree"));
    assert_eq!(suggest("scissor"), Some("scissor-lift"));
    assert_eq!(suggest("aquarium"), None);
    assert!(find("nothing").is_none());
}
