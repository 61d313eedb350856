//! Freedoms and redundant rows, counted from the rows of the joints at the start pose.

use std::collections::HashMap;

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{BodyKind, JointKind};

use super::{build, total_rows};

/// A row: for each body it touches, the coefficients of its velocity and angular velocity.
type Row = Vec<(usize, [f64; 6])>;

fn jacobian(scene: &Scene) -> Vec<Row> {
    let index: HashMap<&str, usize> = scene
        .bodies
        .iter()
        .enumerate()
        .filter(|(_, body)| body.kind == BodyKind::Dynamic)
        .map(|(i, body)| (body.name.as_str(), i))
        .collect();
    let mut rows = Vec::new();
    for joint in &scene.joints {
        let point = DVec3::from(joint.at.expect("placed in the world"));
        let axis = joint.axis.map_or(DVec3::Z, |axis| DVec3::from(axis).normalize());
        let (u, v) = axis.any_orthonormal_pair();
        let all = [DVec3::X, DVec3::Y, DVec3::Z];
        let (held_shifts, held_turns): (Vec<DVec3>, Vec<DVec3>) = match joint.kind {
            JointKind::Ball => (all.to_vec(), vec![]),
            JointKind::Hinge => (all.to_vec(), vec![u, v]),
            JointKind::Fixed => (all.to_vec(), all.to_vec()),
            JointKind::Slider => (vec![u, v], all.to_vec()),
            JointKind::Universal => {
                let second = DVec3::from(joint.second_axis.unwrap()).normalize();
                (all.to_vec(), vec![axis.cross(second)])
            }
            other => panic!("{other:?} is not counted here"),
        };
        let ends = [(&joint.a, -1.0), (&joint.b, 1.0)];
        let bodies = ends.map(|(end, sign)| end.as_deref().and_then(|name| index.get(name)).map(|i| (*i, sign)));
        for shift in held_shifts {
            let row = bodies.iter().flatten().map(|(i, sign)| {
                let lever = (point - DVec3::from(scene.bodies[*i].position)).cross(shift);
                (*i, (*sign * shift, *sign * lever))
            });
            rows.push(row.map(|(i, (s, l))| (i, [s.x, s.y, s.z, l.x, l.y, l.z])).collect());
        }
        for turn in held_turns {
            let row = bodies.iter().flatten().map(|(i, sign)| (*i, *sign * turn));
            rows.push(row.map(|(i, t)| (i, [0.0, 0.0, 0.0, t.x, t.y, t.z])).collect());
        }
    }
    rows
}

/// Rank of the rows by Cholesky factorisation of their products with complete pivoting, with the gap at which it stopped.
fn rank(rows: &[Row]) -> (usize, f64, f64) {
    let n = rows.len();
    let dot = |r: &Row, s: &Row| -> f64 {
        let pairs = r.iter().flat_map(|(i, x)| s.iter().filter(move |(j, _)| i == j).map(move |(_, y)| (x, y)));
        pairs.map(|(x, y)| x.iter().zip(y).map(|(p, q)| p * q).sum::<f64>()).sum()
    };
    let mut lower: Vec<Vec<f64>> = (0..n).map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    let mut left: Vec<f64> = rows.iter().map(|row| dot(row, row)).collect();
    let mut smallest = f64::INFINITY;
    for k in 0..n {
        let best = (k..n).max_by(|p, q| left[order[*p]].total_cmp(&left[order[*q]])).unwrap();
        let pivot = left[order[best]];
        if pivot < 1e-11 {
            return (k, smallest, pivot);
        }
        smallest = smallest.min(pivot);
        order.swap(k, best);
        let column = order[k];
        let root = pivot.sqrt();
        for p in k + 1..n {
            let row = order[p];
            let known: f64 = lower[row].iter().zip(&lower[column]).map(|(x, y)| x * y).sum();
            let entry = (dot(&rows[row], &rows[column]) - known) / root;
            lower[row].push(entry);
            left[row] -= entry * entry;
        }
    }
    (n, smallest, 0.0)
}

/// Asserts how many freedoms a scene has and how many of its rows are redundant.
fn assert_counts(name: &str, settings: &[(&str, f64)], freedoms: usize, redundant: usize) {
    let scene = build(name, settings);
    let dynamic = scene.bodies.iter().filter(|body| body.kind == BodyKind::Dynamic).count();
    let (rank, smallest, rest) = rank(&jacobian(&scene));
    println!("{name} {settings:?}: rank {rank} of {}, pivots {smallest:.1e} | {rest:.1e}", total_rows(&scene));
    assert_eq!((6 * dynamic - rank, total_rows(&scene) - rank), (freedoms, redundant), "{name} {settings:?}");
}

#[test]
fn mechanisms_have_the_freedoms_their_headers_promise() {
    assert_counts("scissor-lift", &[], 0, 34);
    assert_counts("four-bar", &[], 1, 3);
    assert_counts("peaucellier", &[], 1, 9);
    assert_counts("strandbeest", &[("legs", 4.0), ("fixed_frame", 0.0)], 7, 36);
    assert_counts("strandbeest", &[("legs", 4.0)], 1, 36);
    assert_counts("spider", &[("legs", 5.0)], 28, 0);
    assert_counts("walker", &[], 6, 18);
    assert_counts("crane-load", &[], 6, 0);
    assert_counts("stewart", &[], 6, 0);
    assert_counts("car", &[], 9, 0);
    assert_counts("car", &[("held", 0.0)], 15, 0);
    assert_counts("excavator", &[], 4, 12);
}

#[test]
fn tube_has_four_freedoms_a_cell_and_no_redundant_row() {
    for (rings, cells) in [(1, 5), (1, 8), (2, 6)] {
        let settings = [("rings", f64::from(rings)), ("cells", f64::from(cells))];
        assert_counts("tube", &settings, (4 * rings * cells) as usize, 0);
    }
}
