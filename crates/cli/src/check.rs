//! `linkwork check`.

use crate::args::CheckOptions;
use crate::failure::Failure;
use crate::output::print;
use crate::source::Source;
use crate::start;
use crate::table::{facts, figure, plural};
use linkwork::{Assembly, Census};
use linkwork_io::Problem;
use serde_json::{Value, json};

/// A gap below this was closed from the start, m and rad.
const CLOSED: f64 = 1e-9;

/// Validates and assembles a scene, counts what it has, and says what to make of it.
pub fn check(options: &CheckOptions) -> Result<(), Failure> {
    let built = Source::find(&options.scene).and_then(|source| source.build().map(|world| (source, world)));
    let (source, world) = match built {
        Err(failure) if options.json && !failure.problems().is_empty() => {
            let problems: Vec<Value> = failure.problems().iter().map(described).collect();
            print_json(&json!({"scene": options.scene.scene, "ok": false, "problems": problems}))?;
            return Err(failure);
        }
        built => built?,
    };
    let (census, assembly) = (world.census(), world.assembly());
    let particles: usize =
        (0..world.particle_system_count()).filter_map(|k| world.particle_system(k)).map(|system| system.len()).sum();
    let mut remarks = remarks(&census, particles, &assembly);
    remarks.extend(start::warnings(&world));
    if options.json {
        return print_json(&json!({
            "scene": source.name,
            "ok": true,
            "bodies": census.bodies,
            "dynamic_bodies": census.dynamic_bodies,
            "joints": census.joints,
            "constraint_rows": census.constraint_rows,
            "redundant_rows": census.redundant_rows,
            "degrees_of_freedom": census.degrees_of_freedom,
            "loops": census.loops,
            "mechanisms": census.mechanisms,
            "particles": particles,
            "matrix_entries": census.matrix_entries,
            "factor_entries": census.factor_entries,
            "assembly": {
                "iterations": assembly.iterations,
                "largest_gap_m": assembly.largest_gap_m,
                "largest_motion_m": assembly.largest_motion_m,
                "largest_turn_rad": assembly.largest_turn_rad,
            },
            "remarks": remarks,
        }));
    }
    let mut text = format!("{}: sound\n", source.name);
    text.push_str(&facts(&counts(&census, particles)));
    for remark in remarks {
        text.push_str(&format!("  note: {remark}\n"));
    }
    print(&text)
}

/// A problem, for programs; line and column if it stands in a file.
fn described(problem: &Problem) -> Value {
    json!({
        "path": problem.path,
        "problem": problem.message,
        "hint": problem.hint,
        "line": problem.place.map(|place| place.line),
        "column": problem.place.map(|place| place.column),
    })
}

fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

fn counts(census: &Census, particles: usize) -> Vec<(&'static str, String)> {
    vec![
        ("bodies", format!("{}, of which {} move by forces", census.bodies, census.dynamic_bodies)),
        ("joints", census.joints.to_string()),
        ("constraint rows", census.constraint_rows.to_string()),
        ("redundant rows", census.redundant_rows.to_string()),
        ("degrees of freedom", census.degrees_of_freedom.to_string()),
        ("loops", census.loops.to_string()),
        ("mechanisms", census.mechanisms.to_string()),
        ("particles", particles.to_string()),
    ]
}

/// What the numbers mean, and what to do about it.
fn remarks(census: &Census, particles: usize, assembly: &Assembly) -> Vec<String> {
    let mut remarks = Vec::new();
    if assembly.largest_gap_m > CLOSED || assembly.largest_motion_m > CLOSED || assembly.largest_turn_rad > CLOSED {
        remarks.push(format!(
            "the joints did not quite meet, by {} m; they were closed by moving bodies {} m and turning them {} rad at \
             most. If that is not what you meant, look at the positions of the bodies.",
            figure(assembly.largest_gap_m),
            figure(assembly.largest_motion_m),
            figure(assembly.largest_turn_rad)
        ));
    }
    if census.redundant_rows > 0 {
        remarks.push(format!(
            "{} of the joints {} what others hold already. The motion is unique all the same, the forces in those \
             joints are not. Freer joints (ball, cylindrical, universal) in the loops would make them unique.",
            plural(census.redundant_rows as u64, "row"),
            if census.redundant_rows == 1 { "holds" } else { "hold" }
        ));
    }
    if census.dynamic_bodies == 0 && particles == 0 {
        remarks.push("no body moves by forces; give one the kind \"dynamic\".".to_owned());
    } else if census.dynamic_bodies > 0 && census.degrees_of_freedom == 0 {
        remarks.push("nothing can move: the joints leave no degree of freedom. A structure is right so.".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census() -> Census {
        Census {
            bodies: 3,
            dynamic_bodies: 3,
            joints: 4,
            constraint_rows: 20,
            redundant_rows: 0,
            loops: 1,
            degrees_of_freedom: 1,
            mechanisms: 1,
            ..Census::default()
        }
    }

    fn closed() -> Assembly {
        Assembly { iterations: 0, largest_motion_m: 0.0, largest_turn_rad: 0.0, largest_gap_m: 1e-12 }
    }

    #[test]
    fn a_sound_mechanism_needs_no_remark() {
        assert!(remarks(&census(), 0, &closed()).is_empty());
    }

    #[test]
    fn what_is_odd_is_remarked_on() {
        let said = |census: Census, assembly: Assembly| remarks(&census, 0, &assembly).join("\n");
        assert!(said(Census { redundant_rows: 3, ..census() }, closed()).starts_with("3 rows of the joints hold"));
        assert!(said(Census { degrees_of_freedom: 0, ..census() }, closed()).starts_with("nothing can move"));
        assert!(said(Census { dynamic_bodies: 0, ..census() }, closed()).starts_with("no body moves by forces"));
        assert!(remarks(&Census { dynamic_bodies: 0, ..census() }, 5, &closed()).is_empty(), "particles move");
        let inexact = Assembly { largest_gap_m: 0.01, largest_motion_m: 0.005, iterations: 4, ..closed() };
        assert!(said(census(), inexact).contains("by 0.01 m"));
    }
}
