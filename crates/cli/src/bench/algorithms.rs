//! Algorithms by themselves, measured like the steps of scenes: `linkwork bench algorithms`.

use super::cases::Target;
use super::measure::{Measured, Spread};
use crate::args::BenchOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::record::StepTimes;
use crate::time::{Elapsed, Stopwatch};
use linkwork::World;
use linkwork::glam::DVec3;
use linkwork::lcp::{self, Bounds, Problem};
use linkwork::reduced::{self, Activity, Adaptive, Data, Model, State};
use linkwork::scene::{Body, Joint, Scene, WORLD};
use std::error::Error;

/// The name under which all of them are asked for.
pub const NAME: &str = "algorithms";

/// Calls that are timed together, so that a clock's own time does not count, s.
const LONG_ENOUGH: f64 = 2e-4;
const TIMES: u64 = 100;

/// What is called again and again; what does not come to a result is not measured.
type Call = Box<dyn FnMut() -> Result<(), Box<dyn Error>>>;
type Prepared = Result<Call, Box<dyn Error>>;

/// An algorithm to be measured.
pub struct AlgorithmCase {
    /// Its name and size on one line.
    pub label: &'static str,
    /// Bodies or contacts, by which times are compared.
    size: usize,
    prepare: fn(usize) -> Prepared,
    targets: &'static [Target],
}

/// All of them.
pub const ALGORITHMS: &[AlgorithmCase] = &[
    AlgorithmCase {
        label: "articulated bodies, tree of 127",
        size: 127,
        prepare: articulated,
        targets: &[Target::StepTime(0.050)],
    },
    AlgorithmCase { label: "articulated bodies, tree of 255", size: 255, prepare: articulated, targets: &[] },
    AlgorithmCase {
        label: "articulated bodies, tree of 1023",
        size: 1023,
        prepare: articulated,
        targets: &[Target::StepTime(0.43)],
    },
    AlgorithmCase { label: "inverse dynamics, tree of 127", size: 127, prepare: inverse, targets: &[] },
    AlgorithmCase { label: "divide and conquer, tree of 127", size: 127, prepare: divided, targets: &[] },
    AlgorithmCase { label: "divide and conquer, tree of 1023", size: 1023, prepare: divided, targets: &[] },
    AlgorithmCase { label: "adaptive step, chain of 100", size: 100, prepare: adaptive, targets: &[] },
    AlgorithmCase { label: "adaptive step, chain of 1000", size: 1000, prepare: adaptive, targets: &[] },
    AlgorithmCase { label: "adaptive step, chain of 10000", size: 10_000, prepare: adaptive, targets: &[] },
    AlgorithmCase { label: "adaptive step, chain of 1000 on the ground", size: 1000, prepare: grounded, targets: &[] },
    AlgorithmCase {
        label: "adaptive step, chain of 10000 on the ground",
        size: 10_000,
        prepare: grounded,
        targets: &[],
    },
    AlgorithmCase { label: "adaptive step, tree of 127", size: 127, prepare: adaptive_tree, targets: &[] },
    AlgorithmCase { label: "adaptive step, tree of 4095", size: 4095, prepare: adaptive_tree, targets: &[] },
    AlgorithmCase { label: "articulated bodies, chain of 10000", size: 10_000, prepare: whole_chain, targets: &[] },
    AlgorithmCase {
        label: "Dantzig, 100 contacts",
        size: 100,
        prepare: |n| Ok(dantzig(n, false)),
        targets: &[Target::StepTime(5.0)],
    },
    AlgorithmCase {
        label: "Dantzig, 100 contacts with friction",
        size: 100,
        prepare: |n| Ok(dantzig(n, true)),
        targets: &[Target::StepTime(5.0)],
    },
];

/// Measures an algorithm; `None` if the user does not want to wait.
pub fn measure(case: &AlgorithmCase, options: &BenchOptions) -> Result<Option<Measured>, Failure> {
    let told = |error: Box<dyn Error>| Failure::failed(format!("{}: {error}", case.label), "");
    let mut progress = Progress::start(TIMES * u64::from(options.repeats), options.quiet);
    progress.name(case.label);
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for repeat in 0..u64::from(options.repeats) {
        let mut run = (case.prepare)(case.size).map_err(told)?;
        let watch = Stopwatch::start();
        run().map_err(told)?;
        let together = (LONG_ENOUGH / watch.elapsed().wall.max(1e-9)).ceil().clamp(1.0, 1000.0) as u32;
        let mut times = StepTimes::default();
        for time in 0..TIMES {
            if interrupt::requested() {
                progress.finish();
                return Ok(None);
            }
            let watch = Stopwatch::start();
            for _ in 0..together {
                run().map_err(told)?;
            }
            let Elapsed { wall, cpu } = watch.elapsed();
            times.add(Elapsed { wall: wall / f64::from(together), cpu: cpu / f64::from(together) });
            progress.show(repeat * TIMES + time + 1, 0.0);
        }
        wall.push(times.wall_ms().median);
        cpu.push(times.median_cpu_ms());
    }
    progress.finish();
    let measured = Measured::of_times(case.label, NAME, Spread::of(wall), Spread::of(cpu));
    Ok(Some(Measured { targets: case.targets, steps: TIMES, bodies: case.size, rows: case.size, ..measured }))
}

fn tree_scene(bodies: usize) -> Result<Scene, Box<dyn Error>> {
    let entry = linkwork_scenes::find("tree").ok_or("there is no scene \"tree\"")?;
    Ok(entry.build(&[("bodies".to_owned(), bodies as f64)])?)
}

fn at_start(scene: &Scene) -> Result<(Model, State), Box<dyn Error>> {
    let world = World::build(scene)?;
    let model = Model::of(&world);
    let state = reduced::state_of(&model, &world, None);
    Ok((model, state))
}

/// A tree of the scene "tree", where it starts.
fn tree(bodies: usize) -> Result<(Model, State), Box<dyn Error>> {
    at_start(&tree_scene(bodies)?)
}

/// Calls a function of a model, its memory, its state and zeros by rate, again and again.
fn calling(model: Model, state: State, call: fn(&Model, &mut Data, &State, &[f64])) -> Call {
    let (mut data, zero) = (Data::new(&model), vec![0.0; model.rates()]);
    Box::new(move || {
        call(&model, &mut data, &state, &zero);
        Ok(())
    })
}

fn articulated(bodies: usize) -> Prepared {
    let (model, state) = tree(bodies)?;
    Ok(calling(model, state, |model, data, at, zero| reduced::aba(model, data, &at.q, &at.v, zero, &[])))
}

fn inverse(bodies: usize) -> Prepared {
    let (model, state) = tree(bodies)?;
    Ok(calling(model, state, |model, data, at, zero| reduced::rnea(model, data, &at.q, &at.v, zero, &[])))
}

fn divided(bodies: usize) -> Prepared {
    let (model, state) = tree(bodies)?;
    Ok(calling(model, state, |model, data, at, zero| reduced::divide_and_conquer(model, data, &at.q, &at.v, zero, &[])))
}

/// Links of 0.2 m along x, hinged about y, without gravity, straight and at rest.
fn chain(links: usize) -> Result<(Model, State), Box<dyn Error>> {
    let mut scene = Scene { gravity: [0.0; 3], collisions: false, ..Scene::new("chain") };
    let mut above = WORLD.to_owned();
    for k in 0..links {
        let (name, x) = (format!("link {k}"), 0.2 * k as f64);
        scene.body(Body::new(&name).at([x + 0.1, 0.0, 0.0]).with_mass(1.0).with_inertia([3e-4, 3.5e-3, 3.5e-3]));
        scene.joint(Joint::hinge(format!("joint {k}"), &above, &name, [x, 0.0, 0.0], [0.0, 1.0, 0.0]));
        above = name;
    }
    at_start(&scene)
}

fn whole_chain(links: usize) -> Prepared {
    let (model, state) = chain(links)?;
    Ok(calling(model, state, |model, data, at, zero| reduced::aba(model, data, &at.q, &at.v, zero, &[])))
}

/// What moves is around a blow at the last body.
fn struck(model: &Model, state: &State) -> Prepared {
    let activity = Activity { most: 24, tolerance: 1e-4, settling: 0.1 };
    let none = vec![0.0; model.rates()];
    let mut tree = Adaptive::new(model, state, &none, activity)?;
    let last = model.bodies() - 1;
    let at = tree.pose(last).map_or(DVec3::ZERO, |pose| pose.position);
    if !tree.strike(last, at + DVec3::X * 0.1, DVec3::Z * 0.05) {
        return Err(format!("body {last} cannot be struck").into());
    }
    Ok(Box::new(move || {
        tree.step(1e-4)?;
        Ok(())
    }))
}

fn adaptive(links: usize) -> Prepared {
    let (model, state) = chain(links)?;
    struck(&model, &state)
}

/// The scene "chain": the last link falls on the ground, where four lie, and all of them touch it.
fn grounded(links: usize) -> Prepared {
    let entry = linkwork_scenes::find("chain").ok_or("there is no scene \"chain\"")?;
    let world = World::build(&entry.build(&[("links".to_owned(), links as f64)])?)?;
    let mut chain = Adaptive::of(&world, Activity { most: 24, tolerance: 0.5, settling: 0.1 })?;
    Ok(Box::new(move || {
        chain.step(1e-3)?;
        Ok(())
    }))
}

/// The scene "tree" without its weight, at rest.
fn adaptive_tree(bodies: usize) -> Prepared {
    let mut scene = tree_scene(bodies)?;
    scene.gravity = [0.0; 3];
    for body in &mut scene.bodies {
        (body.velocity, body.angular_velocity) = ([0.0; 3], [0.0; 3]);
    }
    let (model, state) = at_start(&scene)?;
    struck(&model, &state)
}

/// A layer of contacts between 40 bodies and the ground: six freedoms each, more contacts than they can tell apart.
fn dantzig(contacts: usize, friction: bool) -> Call {
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
    let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let a: Vec<f64> = (0..n * n).map(|k| product(&rows[k / n], &rows[k % n])).collect();
    let free: Vec<f64> = (0..6 * bodies).map(|_| unit()).collect();
    let b: Vec<f64> = rows.iter().map(|row| product(row, &free)).collect();
    let bound = |i: usize| match i % rows_each {
        0 => Bounds::Unilateral,
        axis => Bounds::Friction { normal: i - axis, mu: 0.3 },
    };
    let bounds: Vec<Bounds> = (0..n).map(bound).collect();
    Box::new(move || {
        std::hint::black_box(lcp::dantzig(&Problem { a: &a, b: &b, bounds: &bounds })?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    #[test]
    fn every_algorithm_can_be_run() {
        for case in ALGORITHMS.iter().filter(|case| case.size < 1000) {
            match (case.prepare)(case.size) {
                Ok(mut run) => {
                    if let Err(error) = run() {
                        panic!("{}: {error}", case.label)
                    }
                }
                Err(error) => panic!("{}: {error}", case.label),
            }
        }
    }

    #[test]
    fn what_comes_to_no_result_is_not_measured() {
        let case = AlgorithmCase {
            label: "nothing",
            size: 1,
            prepare: |_| Ok(Box::new(|| Err("no forces can meet row 3".into()))),
            targets: &[],
        };
        let Command::Bench(options) = Arguments::parse_from(["linkwork", "bench", "--quiet"]).command else {
            panic!("no bench")
        };
        let failure = measure(&case, &options).err().map(|failure| failure.text().to_owned());
        assert!(failure.as_ref().is_some_and(|text| text.contains("nothing: no forces")), "{failure:?}");
    }
}
