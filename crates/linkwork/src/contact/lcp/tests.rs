//! Thousands of problems: residuals decide, the solvers against each other, and an independent interior-point method.

use super::*;
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};

struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.unit()
    }
    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize % n
    }
}

struct Case {
    a: Vec<f64>,
    b: Vec<f64>,
    bounds: Vec<Bounds>,
}

impl Case {
    fn problem(&self) -> Problem<'_> {
        Problem { a: &self.a, b: &self.b, bounds: &self.bounds }
    }
}

/// A = GᵀDG with `rank` rows, entries of D over `decades`; b = −A x₀ + w₀ for complementary x₀ and w₀, so that x₀ solves it.
fn feasible(random: &mut Random, n: usize, rank: usize, decades: f64, equalities: bool, boxes: bool) -> Case {
    let g: Vec<f64> = (0..rank * n).map(|_| random.between(-1.0, 1.0)).collect();
    let d: Vec<f64> = (0..rank).map(|_| 10f64.powf(random.between(-0.5, 0.5) * decades)).collect();
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = (0..rank).map(|r| g[r * n + i] * d[r] * g[r * n + j]).sum();
        }
    }
    let bounds: Vec<Bounds> = (0..n)
        .map(|_| match random.below(4) {
            0 if equalities => Bounds::Equality,
            1 if boxes => Bounds::Box { lo: -random.unit(), hi: random.unit() },
            _ => Bounds::Unilateral,
        })
        .collect();
    let mut b = vec![0.0; n];
    let mut x = vec![0.0; n];
    for i in 0..n {
        (x[i], b[i]) = match bounds[i] {
            Bounds::Equality => (random.between(-1.0, 1.0), 0.0),
            Bounds::Box { lo, hi } => match random.below(3) {
                0 => (lo, random.unit()),
                1 => (hi, -random.unit()),
                _ => (random.between(lo, hi), 0.0),
            },
            // some with neither force nor velocity: degenerate
            _ => match random.below(5) {
                0 => (0.0, 0.0),
                1 | 2 => (0.0, random.unit()),
                _ => (random.unit(), 0.0),
            },
        };
    }
    for i in 0..n {
        b[i] -= a[i * n..(i + 1) * n].iter().zip(&x).map(|(a, x)| a * x).sum::<f64>();
    }
    Case { a, b, bounds }
}

/// Contacts with a pyramid of friction on random bodies: one normal and two tangential rows each.
fn contacts(random: &mut Random, count: usize, freedoms: usize, mu: f64) -> Case {
    let n = 3 * count;
    let g: Vec<f64> = (0..freedoms * n).map(|_| random.between(-1.0, 1.0)).collect();
    let mut a = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            a[i * n + j] = (0..freedoms).map(|r| g[r * n + i] * g[r * n + j]).sum::<f64>() / freedoms as f64;
        }
    }
    // free motion of the bodies: in the range of A, as that of rigid bodies is
    let u: Vec<f64> = (0..freedoms).map(|_| random.between(-1.0, 1.0)).collect();
    let b = (0..n).map(|i| (0..freedoms).map(|r| g[r * n + i] * u[r]).sum()).collect();
    let bounds = (0..n)
        .map(|i| if i % 3 == 0 { Bounds::Unilateral } else { Bounds::Friction { normal: i - i % 3, mu } })
        .collect();
    Case { a, b, bounds }
}

fn energy(case: &Case, x: &[f64]) -> f64 {
    let w = case.problem().velocities(x);
    x.iter().zip(w.iter().zip(&case.b)).map(|(x, (w, b))| 0.5 * x * (w + b)).sum()
}

#[test]
fn feasible_problems_are_solved_to_rounding() {
    let mut random = Random(1);
    let mut pivots = 0;
    for k in 0..3000 {
        let n = 1 + random.below(24);
        // full rank, and down to a half of it: redundant contacts
        let rank = if k % 2 == 0 { n } else { n.div_ceil(2) };
        let case = feasible(&mut random, n, rank, 1.0, k % 3 == 0, k % 5 == 0);
        let problem = case.problem();
        let d = dantzig(&problem).unwrap_or_else(|e| panic!("case {k}, Dantzig: {e}"));
        pivots += d.iterations;
        let l = lemke(&problem).unwrap_or_else(|e| panic!("case {k}, Lemke: {e}"));
        let scale = problem.scale(&d.x) + problem.scale(&l.x);
        assert!(d.residual <= 1e-8 * scale && l.residual <= 1e-8 * scale, "case {k}: {} {}", d.residual, l.residual);
        // x need not be unique, Ax and the energy are
        let (ed, el) = (energy(&case, &d.x), energy(&case, &l.x));
        assert!((ed - el).abs() < 1e-7 * (1.0 + ed.abs()), "case {k}: {ed} {el}");
        let off = problem
            .velocities(&d.x)
            .iter()
            .zip(problem.velocities(&l.x))
            .fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(off <= 1e-6 * scale, "case {k}: velocities differ by {off}");
    }
    assert!(pivots > 3000);
}

#[test]
fn ill_conditioned_problems_are_solved_or_refused() {
    let mut random = Random(2);
    let (mut dantzigs, mut lemkes, cases) = (0, 0, 1000);
    for k in 0..cases {
        let n = 2 + random.below(15);
        let case = feasible(&mut random, n, n, 8.0, k % 3 == 0, false);
        let problem = case.problem();
        for (solved, count) in [(dantzig(&problem), &mut dantzigs), (lemke(&problem), &mut lemkes)] {
            if let Ok(s) = solved {
                *count += 1;
                assert!(residual(&problem, &s.x) <= 1e-8 * problem.scale(&s.x), "case {k}: {}", s.residual);
            }
        }
    }
    assert!(dantzigs >= cases * 98 / 100 && lemkes >= cases * 95 / 100, "{dantzigs} and {lemkes} of {cases}");
}

#[test]
fn sweeps_end_where_pivots_do() {
    let mut random = Random(3);
    for k in 0..500 {
        let n = 2 + random.below(12);
        let mut case = feasible(&mut random, n, 2 * n, 0.5, k % 3 == 0, k % 2 == 0);
        (0..n).for_each(|i| case.a[i * n + i] += 0.3);
        let problem = case.problem();
        let d = dantzig(&problem).unwrap_or_else(|e| panic!("case {k}: {e}"));
        let s = gauss_seidel(&problem, &[], 20_000, 1e-11).unwrap_or_else(|e| panic!("case {k}: {e}"));
        for (a, b) in d.x.iter().zip(&s.x) {
            assert!((a - b).abs() < 1e-8, "case {k}: {a} {b}");
        }
    }
}

#[test]
fn an_interior_point_method_finds_the_same() {
    let mut random = Random(4);
    for k in 0..300 {
        let n = 2 + random.below(15);
        let rank = if k % 2 == 0 { n } else { n.div_ceil(2) };
        let case = feasible(&mut random, n, rank, 1.0, k % 3 == 0, k % 4 == 0);
        let ours = dantzig(&case.problem()).unwrap_or_else(|e| panic!("case {k}: {e}"));
        // minimise ½xᵀAx + bᵀx within the bounds, as s = h − Gx ≥ 0
        let columns: Vec<Vec<f64>> =
            (0..n).map(|j| (0..n).map(|i| if i <= j { case.a[i * n + j] } else { 0.0 }).collect()).collect();
        let p = dense(n, &columns);
        let (mut g, mut h): (Vec<Vec<f64>>, Vec<f64>) = (vec![Vec::new(); n], Vec::new());
        let mut row = |i: usize, by: f64, most: f64| {
            (0..n).for_each(|j| g[j].push(if i == j { by } else { 0.0 }));
            h.push(most);
        };
        for i in 0..n {
            let (lo, hi) = case.problem().range(i, &ours.x);
            if lo.is_finite() {
                row(i, -1.0, -lo);
            }
            if hi.is_finite() {
                row(i, 1.0, hi);
            }
        }
        let rows = h.len();
        let settings = DefaultSettingsBuilder::default().verbose(false).build().unwrap();
        let cones = [NonnegativeConeT(rows)];
        let mut solver = DefaultSolver::new(&p, &case.b, &dense(rows, &g), &h, &cones, settings).unwrap();
        solver.solve();
        assert!(
            matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved),
            "case {k}: {:?}",
            solver.solution.status
        );
        let (a, b) = (energy(&case, &ours.x), energy(&case, &solver.solution.x));
        assert!((a - b).abs() < 1e-5 * (1.0 + a.abs()), "case {k}: {a} {b}");
    }
}

fn dense(rows: usize, columns: &[Vec<f64>]) -> CscMatrix<f64> {
    let mut start = vec![0];
    let (mut at, mut values) = (Vec::new(), Vec::new());
    for column in columns {
        for (i, v) in column.iter().enumerate() {
            if *v != 0.0 {
                at.push(i);
                values.push(*v);
            }
        }
        start.push(at.len());
    }
    CscMatrix::new(rows, columns.len(), start, at, values)
}

#[test]
fn friction_is_solved_or_refused_and_never_wrong() {
    let mut random = Random(5);
    let (mut dantzigs, mut lemkes, cases) = (0, 0, 1000);
    for k in 0..cases {
        let count = 1 + random.below(8);
        let case = contacts(&mut random, count, 3 * count + 3, [0.1, 0.3, 0.6][k % 3]);
        let problem = case.problem();
        for (solved, solver) in [(dantzig(&problem), &mut dantzigs), (lemke(&problem), &mut lemkes)] {
            if let Ok(s) = solved {
                *solver += 1;
                assert!(residual(&problem, &s.x) <= 1e-8 * problem.scale(&s.x), "case {k}: {}", s.residual);
            }
        }
    }
    assert!(dantzigs >= cases * 95 / 100 && lemkes >= cases * 95 / 100, "{dantzigs} and {lemkes} of {cases}");
}

#[test]
fn a_block_on_a_slope_sticks_or_slides_as_coulomb_says() {
    // one contact, unit mass: normal and tangential acceleration g cos, g sin
    for degrees in [5.0_f64, 15.0, 25.0, 35.0, 50.0] {
        let (s, c) = degrees.to_radians().sin_cos();
        let (g, mu) = (9.81, 0.5);
        let bounds = [Bounds::Unilateral, Bounds::Friction { normal: 0, mu }];
        let (a, b) = ([1.0, 0.0, 0.0, 1.0], [-g * c, g * s]);
        let problem = Problem { a: &a, b: &b, bounds: &bounds };
        for solved in [dantzig(&problem), lemke(&problem), gauss_seidel(&problem, &[], 100, 1e-12)] {
            let x = solved.unwrap().x;
            assert!((x[0] - g * c).abs() < 1e-12);
            let slides = (g * s - mu * g * c).max(0.0);
            assert!((problem.velocities(&x)[1] - slides).abs() < 1e-11, "{degrees}°");
        }
    }
}

#[test]
fn what_cannot_be_met_is_refused() {
    // two equalities that contradict each other, and a contact that nothing can stop
    let contradiction =
        Problem { a: &[1.0, 1.0, 1.0, 1.0], b: &[1.0, -1.0], bounds: &[Bounds::Equality, Bounds::Equality] };
    let immovable = Problem { a: &[0.0], b: &[-1.0], bounds: &[Bounds::Unilateral] };
    for problem in [contradiction, immovable] {
        assert!(dantzig(&problem).is_err());
        assert!(lemke(&problem).is_err());
        assert!(gauss_seidel(&problem, &[], 50, 1e-9).is_err());
    }
    let bad = Problem { a: &[1.0], b: &[f64::NAN], bounds: &[Bounds::Unilateral] };
    assert!(matches!(dantzig(&bad), Err(Failure::Malformed { .. })));
    let bad = Problem { a: &[1.0], b: &[0.0], bounds: &[Bounds::Friction { normal: 0, mu: 0.5 }] };
    assert!(matches!(lemke(&bad), Err(Failure::Malformed { .. })));
}

/// Sweeps that run away panicked at a row of friction without friction, whose bounds became 0 · ∞.
#[test]
fn sweeps_that_run_away_fail_and_do_not_panic() {
    let a = [1.0, -2.0, 0.0, -2.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let bounds = [Bounds::Unilateral, Bounds::Unilateral, Bounds::Friction { normal: 1, mu: 0.0 }];
    let problem = Problem { a: &a, b: &[-1.0; 3], bounds: &bounds };
    assert!(gauss_seidel(&problem, &[], 5000, 1e-9).is_err());
}

/// A row without a response of its own has the velocity it has: it is at a bound, or its velocity is zero.
#[test]
fn rows_that_nothing_answers_are_judged_by_their_velocity() {
    let case = |b: f64, bounds: Bounds| Case {
        a: vec![2.0, 0.0, 0.0, 0.0],
        b: vec![-1.0, b],
        bounds: vec![Bounds::Unilateral, bounds],
    };
    let inside = case(3.0, Bounds::Box { lo: 0.0, hi: 1.0 });
    // a velocity inside the bounds, a force outside them: both were hidden by a response of zero
    assert!(residual(&inside.problem(), &[0.5, 0.5]) > 0.5);
    assert!(residual(&inside.problem(), &[0.5, -5.0]) > 1.0);
    assert!(residual(&inside.problem(), &[0.5, 7.0]) > 1.0);
    assert!(residual(&inside.problem(), &[0.5, 0.0]) < 1e-15);
    type Solver = fn(&Problem) -> Result<Solution, Failure>;
    let solvers: [(&str, Solver); 3] =
        [("dantzig", |p| dantzig(p)), ("lemke", |p| lemke(p)), ("sweeps", |p| gauss_seidel(p, &[], 100, 1e-12))];
    for (name, solve) in solvers {
        for (b, bounds, expected) in [
            (3.0, Bounds::Box { lo: -0.5, hi: 1.0 }, Some(-0.5)),
            (-3.0, Bounds::Box { lo: -0.5, hi: 1.0 }, Some(1.0)),
            (0.0, Bounds::Unilateral, None),
            (2.0, Bounds::Unilateral, Some(0.0)),
        ] {
            let case = case(b, bounds);
            let found = solve(&case.problem()).unwrap_or_else(|failure| panic!("{name}, {b}: {failure}"));
            assert!((found.x[0] - 0.5).abs() < 1e-9, "{name}, {b}: {:?}", found.x);
            assert!(expected.is_none_or(|x| (found.x[1] - x).abs() < 1e-9), "{name}, {b}: {:?}", found.x);
        }
        // nothing can stop what approaches
        assert!(solve(&case(-2.0, Bounds::Unilateral).problem()).is_err(), "{name}");
        assert!(solve(&case(1.0, Bounds::Equality).problem()).is_err(), "{name}");
    }
}
