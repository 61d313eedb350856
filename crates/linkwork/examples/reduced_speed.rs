//! Times of the algorithms in reduced coordinates and of the complementarity solvers.
//!
//! `cargo run --release -p linkwork --example reduced_speed`; the same for Pinocchio: `bench/peers/pinocchio_aba.py`.

use linkwork::World;
use linkwork::lcp::{self, Bounds, Problem};
use linkwork::reduced::{self, Data, Model};
use std::time::Instant;

/// The best of many times, µs: a busy machine only adds.
fn best(count: usize, mut run: impl FnMut()) -> f64 {
    (0..30)
        .map(|_| {
            let start = Instant::now();
            (0..count).for_each(|_| run());
            start.elapsed().as_secs_f64() / count as f64 * 1e6
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    for bodies in [127.0, 1023.0] {
        let scene = linkwork_scenes::find("tree").unwrap().build(&[("bodies".into(), bodies)]).unwrap();
        let world = World::build(&scene).unwrap();
        let model = Model::of(&world);
        let (mut data, state) = (Data::new(&model), reduced::state_of(&model, &world, None));
        let zero = vec![0.0; model.rates()];
        let count = 20_000 / bodies as usize;
        let aba = best(count, || reduced::aba(&model, &mut data, &state.q, &state.v, &zero, &[]));
        let rnea = best(count, || reduced::rnea(&model, &mut data, &state.q, &state.v, &zero, &[]));
        println!("tree of {bodies}: articulated bodies {aba:.1} µs, inverse dynamics {rnea:.1} µs");
    }
    for (contacts, friction) in [(100, false), (100, true)] {
        let (a, b, bounds) = contact_problem(contacts, friction);
        let problem = Problem { a: &a, b: &b, bounds: &bounds };
        let solved = lcp::dantzig(&problem);
        let told = solved
            .as_ref()
            .map_or_else(|e| e.to_string(), |s| format!("{} pivots, residual {:.1e}", s.iterations, s.residual));
        let time = best(1, || {
            let _ = lcp::dantzig(&problem);
        });
        println!("Dantzig on {contacts} contacts, friction {friction}: {:.2} ms, {told}", time / 1e3);
    }
}

/// A layer of contacts between 40 bodies and the ground: six freedoms each, more contacts than they can tell apart.
fn contact_problem(contacts: usize, friction: bool) -> (Vec<f64>, Vec<f64>, Vec<Bounds>) {
    let rows_each = if friction { 3 } else { 1 };
    let (n, bodies) = (contacts * rows_each, 40);
    let mut seed = 1_u64;
    let mut unit = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let mut rows = vec![vec![0.0; 6 * bodies]; n];
    for (i, row) in rows.iter_mut().enumerate() {
        let contact = i / rows_each;
        for (body, sign) in [(contact % bodies, 1.0), ((contact * 7 + 3) % bodies, -1.0)] {
            for s in 0..6 {
                row[6 * body + s] += sign * if s == i % rows_each + 2 { 1.0 } else { 0.3 * unit() };
            }
        }
    }
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = rows[i].iter().zip(&rows[j]).map(|(x, y)| x * y).sum();
        }
    }
    let free: Vec<f64> = (0..6 * bodies).map(|_| unit()).collect();
    let b = rows.iter().map(|row| row.iter().zip(&free).map(|(x, y)| x * y).sum()).collect();
    let bounds = (0..n)
        .map(|i| {
            let normal = i - i % rows_each;
            if i == normal { Bounds::Unilateral } else { Bounds::Friction { normal, mu: 0.3 } }
        })
        .collect();
    (a, b, bounds)
}
