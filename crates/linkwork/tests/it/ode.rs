//! Solvers of differential equations against closed forms and published values.

use crate::common::{Run, assert_close, assert_near, assert_order, registered, scientific};
use linkwork::ode::{
    Adaptive, BackwardEuler, Direction, DormandPrince, Equation, Euler, Jacobian, Midpoint, OdeError, Outcome,
    RungeKutta4, Solver, StepDoubling, System, Tolerance, TrBdf2, differences,
};
use linkwork::scene::Body;
use linkwork::{Scene, Scratch, StepParams, World, WorldEquations, step};

/// y' = y cos t, so y = exp(sin t): neither linear in t nor autonomous. Coupled with a rotation.
fn wave(t: f64, y: &[f64], dy: &mut [f64]) {
    dy[0] = y[0] * t.cos();
    dy[1] = y[2];
    dy[2] = -y[1];
}

fn wave_error(values: &[f64], t: f64) -> f64 {
    let exact = [t.sin().exp(), t.sin(), t.cos()];
    values.iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn errors_of(mut solver: impl Solver, steps: [u32; 4]) -> Vec<f64> {
    let error = |n: u32| {
        let mut system = Equation::new([1.0, 0.0, 1.0], wave);
        solver.run(&mut system, 2.0, 2.0 / f64::from(n)).unwrap();
        assert_close("time", system.time(), 2.0, 1e-12);
        wave_error(system.values(), 2.0)
    };
    steps.into_iter().map(error).collect()
}

#[test]
fn every_fixed_step_method_has_its_order() {
    assert_order("Euler", 1.0, &errors_of(Euler::default(), [200, 400, 800, 1600]));
    assert_order("midpoint", 2.0, &errors_of(Midpoint::default(), [40, 80, 160, 320]));
    assert_order("Runge-Kutta 4", 4.0, &errors_of(RungeKutta4::default(), [20, 40, 80, 160]));
    assert_order("backward Euler", 1.0, &errors_of(BackwardEuler::default(), [400, 800, 1600, 3200]));
    assert_order("TR-BDF2", 2.0, &errors_of(TrBdf2::new(Tolerance::new(1e-6)).unwrap(), [40, 80, 160, 320]));
}

fn controlled_error(solver: &mut impl Adaptive) -> (f64, u64) {
    let mut system = Equation::new([1.0, 0.0, 1.0], wave);
    let steps = solver.integrate(&mut system, 10.0).unwrap();
    (wave_error(system.values(), 10.0), steps)
}

#[test]
fn error_control_follows_the_tolerance_with_the_steps_that_the_order_allows() {
    let tolerances = [1e-4, 1e-6, 1e-8, 1e-10];
    let run = |name: &str, order: f64, mut make: Box<dyn FnMut(f64) -> (f64, u64)>| {
        let results: Vec<(f64, u64)> = tolerances.iter().map(|&t| make(t)).collect();
        for ((error, steps), t) in results.iter().zip(tolerances) {
            // errors of single steps add up at worst
            let sum = *steps as f64 * t;
            assert!(*error < 2.0 * sum, "{name}: error {error:.2e} at tolerance {t:.0e} in {steps} steps");
        }
        // a hundredth of the tolerance costs 100^(1/order) times the steps
        let growth = results[3].1 as f64 / results[2].1 as f64;
        let expected = 100.0_f64.powf(1.0 / order);
        assert!((growth / expected - 1.0).abs() < 0.25, "{name}: {growth:.2} times the steps, {expected:.2} expected");
    };
    run("doubling", 5.0, Box::new(|t| controlled_error(&mut StepDoubling::new(Tolerance::new(t)).unwrap())));
    run("Dormand-Prince", 5.0, Box::new(|t| controlled_error(&mut DormandPrince::new(Tolerance::new(t)).unwrap())));
    run("TR-BDF2", 3.0, Box::new(|t| controlled_error(&mut TrBdf2::new(Tolerance::new(t)).unwrap())));
}

/// Largest error between the ends of steps, for a solver whose tolerance makes steps of about the same length.
fn dense_error(solver: &mut impl Adaptive, longest: f64) -> f64 {
    let mut system = Equation::new([1.0, 0.0, 1.0], wave);
    let mut worst = 0.0_f64;
    let mut y = [0.0; 3];
    while system.time() < 2.0 - 1e-9 {
        let limit = (system.time() + longest).min(2.0);
        let step = solver.advance(&mut system, limit).unwrap();
        for k in 0..=10 {
            let t = step.from + (step.to - step.from) * f64::from(k) / 10.0;
            solver.interpolate(t, &mut y);
            worst = worst.max(wave_error(&y, t));
        }
    }
    worst
}

#[test]
fn dense_output_is_as_good_between_the_steps() {
    // a loose tolerance, so that the limit sets the step: errors of order h⁴ globally
    let lengths = [0.2, 0.1, 0.05];
    let loose = || Tolerance::new(1e-1);
    let pair: Vec<f64> = lengths.map(|h| dense_error(&mut DormandPrince::new(loose()).unwrap(), h)).into();
    for two in pair.windows(2) {
        assert!((two[0] / two[1]).log2() > 3.7, "order of dense output: {}", scientific(&pair));
    }
    let cubic: Vec<f64> = lengths.map(|h| dense_error(&mut StepDoubling::new(loose()).unwrap(), h)).into();
    for two in cubic.windows(2) {
        assert!((two[0] / two[1]).log2() > 3.7, "order of the cubic: {}", scientific(&cubic));
    }
}

/// The notes' equation 2–1: ẋ = −x, ẏ = −k y. The particle belongs on the x axis; an explicit step must be below 2/k.
fn notes_2_1(k: f64) -> impl FnMut(f64, &[f64], &mut [f64]) {
    move |_, y, dy| {
        dy[0] = -y[0];
        dy[1] = -k * y[1];
    }
}

#[test]
fn explicit_steps_beyond_two_by_k_explode_where_implicit_ones_hold() {
    let k = 1000.0;
    let h = 2.5 / k;
    let mut explicit = Equation::new([1.0, 1.0], notes_2_1(k));
    Euler::default().run(&mut explicit, 1.0, h).unwrap();
    assert!(explicit.values()[1].abs() > 1e50, "Euler at 2.5/k: {}", explicit.values()[1]);

    // forty times beyond the limit of stability
    let h = 0.1;
    let mut implicit = Equation::new([1.0, 1.0], notes_2_1(k));
    BackwardEuler::default().run(&mut implicit, 1.0, h).unwrap();
    assert_close("backward Euler", implicit.values()[0], (1.0 + h).powi(-10), 1e-12);
    assert!(implicit.values()[1].abs() < 1e-15);
    let mut implicit = Equation::new([1.0, 1.0], notes_2_1(k));
    TrBdf2::new(Tolerance::new(1e-6)).unwrap().run(&mut implicit, 1.0, h).unwrap();
    assert_close("TR-BDF2", implicit.values()[0], (-1.0_f64).exp(), 1e-3);
    assert!(implicit.values()[1].abs() < 1e-10, "L-stable: {}", implicit.values()[1]);
}

struct Robertson {
    time: f64,
    y: [f64; 3],
    evaluations: u32,
    exact_jacobian: bool,
}

impl System for Robertson {
    fn dimension(&self) -> usize {
        3
    }
    fn time(&self) -> f64 {
        self.time
    }
    fn state(&self, y: &mut [f64]) {
        y.copy_from_slice(&self.y);
    }
    fn set_state(&mut self, time: f64, y: &[f64]) {
        self.time = time;
        self.y.copy_from_slice(y);
    }
    fn derivative(&mut self, dy: &mut [f64]) {
        self.evaluations += 1;
        let [a, b, c] = self.y;
        dy[0] = -0.04 * a + 1e4 * b * c;
        dy[1] = 0.04 * a - 1e4 * b * c - 3e7 * b * b;
        dy[2] = 3e7 * b * b;
    }
    fn jacobian(&mut self, j: &mut Jacobian) {
        if !self.exact_jacobian {
            return differences(self, j);
        }
        let [_, b, c] = self.y;
        for (row, column, value) in [
            (0, 0, -0.04),
            (0, 1, 1e4 * c),
            (0, 2, 1e4 * b),
            (1, 0, 0.04),
            (1, 1, -1e4 * c - 6e7 * b),
            (1, 2, -1e4 * b),
            (2, 1, 6e7 * b),
        ] {
            j.add(row, column, value);
        }
    }
}

/// Reference values of the stiff test problem: Hairer and Wanner, Solving ODEs II, and the test set of Mazzia and Magherini.
const ROBERTSON: [(f64, [f64; 3]); 3] = [
    (0.4, [0.985_172_113_861, 3.386_395_378_974e-5, 1.479_402_218_536e-2]),
    (40.0, [0.715_827_068_718, 9.185_534_764_557e-6, 0.284_163_745_747]),
    (4e5, [4.938_275_2e-3, 1.984_993_8e-8, 0.995_061_704_7]),
];

#[test]
fn robertson_is_followed_over_eight_decades() {
    for exact_jacobian in [true, false] {
        let mut system = Robertson { time: 0.0, y: [1.0, 0.0, 0.0], evaluations: 0, exact_jacobian };
        let mut solver = TrBdf2::new(Tolerance { relative: 1e-6, absolute: 1e-10 }).unwrap();
        for (t, expected) in ROBERTSON {
            solver.integrate(&mut system, t).unwrap();
            for (value, wanted) in system.y.iter().zip(expected) {
                assert_close(&format!("at {t} s"), *value, wanted, 2e-4 * wanted);
            }
            assert_close("mass", system.y.iter().sum(), 1.0, 1e-8);
        }
        assert!(system.evaluations < 60_000, "{} evaluations", system.evaluations);
    }
}

#[test]
fn an_explicit_method_creeps_through_robertson() {
    let mut system = Robertson { time: 0.0, y: [1.0, 0.0, 0.0], evaluations: 0, exact_jacobian: true };
    let mut solver = DormandPrince::new(Tolerance { relative: 1e-4, absolute: 1e-8 }).unwrap();
    solver.integrate(&mut system, 40.0).unwrap();
    let explicit = system.evaluations;
    let mut system = Robertson { time: 0.0, y: [1.0, 0.0, 0.0], evaluations: 0, exact_jacobian: true };
    TrBdf2::new(Tolerance { relative: 1e-4, absolute: 1e-8 }).unwrap().integrate(&mut system, 40.0).unwrap();
    assert!(explicit > 20 * system.evaluations, "{explicit} against {}", system.evaluations);
}

/// Heat in a rod: tridiagonal and stiff.
struct Rod {
    time: f64,
    y: Vec<f64>,
    evaluations: u32,
    sparse: bool,
}

impl Rod {
    fn new(n: usize, sparse: bool) -> Rod {
        let y = (1..=n).map(|i| (std::f64::consts::PI * i as f64 / (n + 1) as f64).sin()).collect();
        Rod { time: 0.0, y, evaluations: 0, sparse }
    }

    /// Slowest rate of decay of the discrete rod; its start is the mode that has it.
    fn rate(&self) -> f64 {
        let cells = (self.y.len() + 1) as f64;
        4.0 * cells * cells * (0.5 * std::f64::consts::PI / cells).sin().powi(2)
    }
}

impl System for Rod {
    fn dimension(&self) -> usize {
        self.y.len()
    }
    fn time(&self) -> f64 {
        self.time
    }
    fn state(&self, y: &mut [f64]) {
        y.copy_from_slice(&self.y);
    }
    fn set_state(&mut self, time: f64, y: &[f64]) {
        self.time = time;
        self.y.copy_from_slice(y);
    }
    fn derivative(&mut self, dy: &mut [f64]) {
        self.evaluations += 1;
        let (n, cells) = (self.y.len(), (self.y.len() + 1) as f64);
        for i in 0..n {
            let left = if i > 0 { self.y[i - 1] } else { 0.0 };
            let right = if i + 1 < n { self.y[i + 1] } else { 0.0 };
            dy[i] = cells * cells * (left - 2.0 * self.y[i] + right);
        }
    }
    fn sparsity(&self) -> Option<Vec<(u32, u32)>> {
        let n = self.y.len() as u32;
        let near = move |i: u32| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j));
        self.sparse.then(|| (0..n).flat_map(near).collect())
    }
}

#[test]
fn sparse_differences_need_three_derivatives_for_a_rod_of_any_length() {
    let mut rod = Rod::new(400, true);
    TrBdf2::new(Tolerance::new(1e-6)).unwrap().step(&mut rod, 0.02).unwrap();
    assert!(rod.evaluations < 20, "{} evaluations", rod.evaluations);
    let (mut sparse, mut dense) = (Jacobian::default(), Jacobian::default());
    let (mut a, mut b) = (Rod::new(20, true), Rod::new(20, false));
    a.jacobian(&mut sparse);
    b.jacobian(&mut dense);
    let at =
        |j: &Jacobian, r: u32, c: u32| j.entries().iter().filter(|e| (e.0, e.1) == (r, c)).map(|e| e.2).sum::<f64>();
    for r in 0..20 {
        for c in 0..20 {
            assert_close("entry", at(&sparse, r, c), at(&dense, r, c), 1e-3);
        }
    }
}

#[test]
fn heat_in_a_rod_decays_as_its_mode_does() {
    let mut rod = Rod::new(300, true);
    let rate = rod.rate();
    let mut solver = TrBdf2::new(Tolerance::new(1e-7)).unwrap();
    let steps = solver.integrate(&mut rod, 0.2).unwrap();
    assert_close("middle", rod.y[150], (std::f64::consts::PI * 151.0 / 301.0).sin() * (-rate * 0.2).exp(), 1e-5);
    assert!(steps < 400, "{steps} steps; explicit ones would have to be below 6e-6 s, 36 000 of them");
}

#[test]
fn events_are_located_in_order_and_in_their_direction() {
    let circle = |_t: f64, y: &[f64], dy: &mut [f64]| {
        dy[0] = y[1];
        dy[1] = -y[0];
    };
    let pi = std::f64::consts::PI;
    for (direction, expected) in [(Direction::Rising, 2.0 * pi), (Direction::Falling, pi), (Direction::Either, pi)] {
        let mut system = Equation::new([0.0, 1.0], circle);
        let mut solver = DormandPrince::new(Tolerance::new(1e-10)).unwrap();
        let outcome = solver.integrate_until(&mut system, 10.0, direction, |_, y| y[0]).unwrap();
        let Outcome::Event { time } = outcome else { panic!("no event for {direction:?}") };
        assert_close(&format!("{direction:?}"), time, expected, 1e-8);
        assert_close("state there", system.values()[0], 0.0, 1e-8);
        assert_close("time there", system.time(), time, 0.0);
    }
    let mut system = Equation::new([0.0, 1.0], circle);
    let mut solver = StepDoubling::new(Tolerance::new(1e-8)).unwrap();
    let outcome = solver.integrate_until(&mut system, 3.0, Direction::Rising, |_, y| y[0] - 2.0).unwrap();
    assert_eq!(outcome, Outcome::Reached);
    assert_close("time", system.time(), 3.0, 0.0);
}

#[test]
fn a_bouncing_ball_bounces_at_the_right_times() {
    let mut ball = Equation::new([1.0, 0.0], |_t, y, dy| {
        dy[0] = y[1];
        dy[1] = -10.0;
    });
    let mut solver = DormandPrince::new(Tolerance::new(1e-10)).unwrap();
    let mut expected = (2.0_f64 / 10.0).sqrt();
    let mut speed = 20.0_f64.sqrt();
    for _ in 0..6 {
        let outcome = solver.integrate_until(&mut ball, 10.0, Direction::Falling, |_, y| y[0]).unwrap();
        let Outcome::Event { time } = outcome else { panic!("it falls") };
        assert_close("bounce", time, expected, 1e-8);
        speed *= 0.8;
        expected += 2.0 * speed / 10.0;
        let v = ball.values()[1];
        ball.set_state(time, &[1e-300, -0.8 * v]);
    }
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_the_system_as_it_was() {
    assert!(matches!(DormandPrince::new(Tolerance::new(0.0)), Err(OdeError::Parameter(_))));
    assert!(matches!(TrBdf2::new(Tolerance::new(f64::NAN)), Err(OdeError::Parameter(_))));
    let mut system = Equation::new([1.0], |_t, y, dy| dy[0] = y[0]);
    assert!(matches!(Euler::default().step(&mut system, -1.0), Err(OdeError::Parameter(_))));
    assert!(matches!(RungeKutta4::default().run(&mut system, 1.0, f64::NAN), Err(OdeError::Parameter(_))));
    // y' = y² ends at t = 1
    let mut pole = Equation::new([1.0], |_t, y, dy| dy[0] = y[0] * y[0]);
    let mut solver = DormandPrince::new(Tolerance::new(1e-6)).unwrap();
    let failed = solver.integrate(&mut pole, 2.0);
    assert!(matches!(failed, Err(OdeError::StepTooSmall { time, .. }) if (time - 1.0).abs() < 1e-4), "{failed:?}");
    let mut broken = Equation::new([1.0], |t, _y, dy| dy[0] = if t > 0.5 { f64::NAN } else { 1.0 });
    assert!(matches!(Euler::default().run(&mut broken, 2.0, 0.1), Err(OdeError::NotFinite { .. })));
    assert!(broken.values()[0].is_finite());
    let mut implicit = Equation::new([1.0], |_t, _y, dy| dy[0] = f64::NAN);
    assert!(BackwardEuler::default().step(&mut implicit, 0.1).is_err());
    assert_eq!(implicit.values(), &[1.0]);
}

#[test]
fn a_world_is_a_system_of_equations() {
    // an open chain and a closed one: against the error-controlled steps of the engine
    for name in ["double-pendulum", "four-bar"] {
        let mut scene = registered(name, &[]);
        scene.collisions = false;
        let mut run = Run::new(&scene, 0.05);
        run.params.tolerance = Some(1e-11);
        let mut equations = WorldEquations::new(World::build(&scene).unwrap()).unwrap();
        let start = equations.world().energy().total();
        run.steps(10);
        let mut solver = DormandPrince::new(Tolerance::new(1e-11)).unwrap();
        solver.integrate(&mut equations, 0.5).unwrap();
        for id in run.world.body_ids() {
            let (a, b) = (run.world.pose(id).unwrap(), equations.world().pose(id).unwrap());
            assert_near(name, a.position, b.position, 1e-7);
        }
        // nothing drives the pendulum
        if name == "double-pendulum" {
            assert_close("energy", equations.world().energy().total(), start, 1e-7 * (1.0 + start.abs()));
        }
        // and the world goes on by steps
        let mut world = equations.into_world();
        step(&mut world, &mut Scratch::default(), &StepParams::new(1.0 / 60.0)).unwrap();
    }
}

#[test]
fn a_free_body_tumbles_with_its_momentum() {
    let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("tumble") };
    let body = Body::new("brick").with_mass(2.0).with_inertia([0.1, 0.2, 0.25]);
    scene.body(body.moving([1.0, 0.0, 0.0], [0.1, 3.0, 0.2]));
    let mut tumbling = WorldEquations::new(World::build(&scene).unwrap()).unwrap();
    let before = tumbling.world().momentum();
    DormandPrince::new(Tolerance::new(1e-12)).unwrap().integrate(&mut tumbling, 10.0).unwrap();
    let after = tumbling.world().momentum();
    assert_near("linear", after.linear, before.linear, 1e-10);
    assert_near("angular", after.angular, before.angular, 1e-8);
    assert_close("time", tumbling.time(), 10.0, 1e-12);
}
