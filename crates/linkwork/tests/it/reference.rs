//! Trajectories integrated by independent codes; how they were made is told in the repository's notes on test data.

use crate::common::{Run, assert_order, registered, scientific};
use linkwork::glam::DVec3;
use linkwork::{Method, Scene, StepParams};

/// A reference trajectory: named columns of numbers.
pub struct Table {
    names: Vec<&'static str>,
    rows: Vec<Vec<f64>>,
}

/// One sample of a trajectory.
#[derive(Clone, Copy)]
pub struct Sample<'t> {
    table: &'t Table,
    values: &'t [f64],
}

impl Table {
    pub fn read(file: &str) -> Table {
        let text = match file {
            "double_pendulum_3d.csv" => include_str!("../data/double_pendulum_3d.csv"),
            "fourbar_planar.csv" => include_str!("../data/fourbar_planar.csv"),
            "dzhanibekov.csv" => include_str!("../data/dzhanibekov.csv"),
            _ => panic!("no reference {file}"),
        };
        let mut lines = text.lines();
        let names = lines.next().expect("a header").split(',').collect();
        let rows = lines.map(|l| l.split(',').map(|x| x.parse().expect("a number")).collect()).collect();
        Table { names, rows }
    }

    pub fn rows(&self) -> impl Iterator<Item = Sample<'_>> {
        self.rows.iter().map(|values| Sample { table: self, values })
    }
}

impl Sample<'_> {
    pub fn get(&self, column: &str) -> f64 {
        let k = self.table.names.iter().position(|n| *n == column).unwrap_or_else(|| panic!("no column {column}"));
        self.values[k]
    }
}

/// Where the bodies of a scene should be, by a sample.
type Expected = fn(&Sample) -> Vec<(&'static str, DVec3)>;

fn double_pendulum() -> (Scene, Table, Expected) {
    let expected: Expected = |s| {
        let at = |b: &str| DVec3::new(s.get(&format!("{b}_x")), s.get(&format!("{b}_y")), s.get(&format!("{b}_z")));
        vec![("link0", at("b0")), ("link1", at("b1"))]
    };
    (registered("double-pendulum", &[]), Table::read("double_pendulum_3d.csv"), expected)
}

fn four_bar() -> (Scene, Table, Expected) {
    let expected: Expected = |s| {
        let at = |k: u32| DVec3::new(s.get(&format!("x{k}")), 0.0, s.get(&format!("z{k}")));
        vec![("crank", at(1)), ("coupler", at(2)), ("rocker", at(3))]
    };
    (registered("four-bar", &[]), Table::read("fourbar_planar.csv"), expected)
}

/// Largest distance of any body's centre from the reference, m, over the samples up to a time.
fn largest_departure(run: &mut Run, table: &Table, expected: Expected, until: f64) -> f64 {
    let mut worst = 0.0_f64;
    for sample in table.rows().take_while(|s| s.get("t") < until + 1e-9) {
        run.to(sample.get("t"));
        for (body, at) in expected(&sample) {
            worst = worst.max(run.position(body).distance(at));
        }
    }
    assert!(run.worst_error < 1e-9);
    worst
}

fn departures<const N: usize>(
    (scene, table, expected): (Scene, Table, Expected),
    until: f64,
    steps: [f64; N],
) -> [f64; N] {
    steps.map(|h| largest_departure(&mut Run::new(&scene, h), &table, expected, until))
}

#[test]
fn fixed_steps_converge_to_the_double_pendulum_with_order_two() {
    let errors = departures(double_pendulum(), 2.0, [2e-3, 1e-3, 5e-4, 2.5e-4]);
    assert_order("double pendulum", 2.0, &errors);
    assert!(errors[3] < 2e-5, "{} m", scientific(&errors));
}

#[test]
fn fixed_steps_converge_to_the_four_bar_linkage_with_order_two() {
    let errors = departures(four_bar(), 5.0, [2e-3, 1e-3, 5e-4, 2.5e-4]);
    assert_order("four-bar", 2.0, &errors);
    assert!(errors[3] < 1e-4, "{} m", scientific(&errors));
}

#[test]
fn reduced_coordinates_converge_to_the_references() {
    for ((scene, table, expected), until, within) in [(double_pendulum(), 2.0, 2e-4), (four_bar(), 5.0, 1e-5)] {
        let errors = [2e-3, 1e-3, 5e-4].map(|h| {
            let mut run = Run::new(&scene, h);
            run.params.method = Method::Reduced;
            largest_departure(&mut run, &table, expected, until)
        });
        // at least second order: errors of fourth order still weigh on the linkage at these steps
        assert!(errors.windows(2).all(|e| e[0] > 3.4 * e[1]), "{}: {} m", scene.name, scientific(&errors));
        assert!(errors[2] < within, "{}: {} m", scene.name, scientific(&errors));
    }
}

#[test]
fn error_control_follows_the_references_to_a_micrometre() {
    let runs = [
        (double_pendulum(), 2.0, Method::Direct),
        (double_pendulum(), 2.0, Method::Reduced),
        (four_bar(), 5.0, Method::Direct),
    ];
    for ((scene, table, expected), until, method) in runs {
        let mut run = Run::new(&scene, 0.01);
        run.params = StepParams { tolerance: Some(1e-9), method, ..run.params };
        let departure = largest_departure(&mut run, &table, expected, until);
        assert!(departure < 1e-6, "{}: {departure:.2e} m", scene.name);
        assert!(run.kinds.controlled > 0 && run.kinds.accurate == 0, "{}: {:?}", scene.name, run.kinds);
    }
}
