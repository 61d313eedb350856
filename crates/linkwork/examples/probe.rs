//! Runs scenes and prints figures.
use linkwork::{Scratch, StepParams, World, step};
use std::time::Instant;
fn cpu() -> f64 {
    let t = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    t.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1e-9
}
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let name = &args[0];
    let duration: f64 = args[1].parse().unwrap();
    let dt: f64 = 1.0 / args[2].parse::<f64>().unwrap();
    let settings: Vec<(String, f64)> =
        args[3..].iter().filter_map(|a| a.split_once('=')).map(|(k, v)| (k.to_string(), v.parse().unwrap())).collect();
    let scene = linkwork_scenes::find(name).unwrap().build(&settings).unwrap();
    let mut world = World::build(&scene).unwrap();
    let mut scratch = Scratch::default();
    let params = StepParams::new(dt);
    let steps = (duration / dt).round() as usize;
    let (mut je, mut pen, mut late_pen, mut its, mut lates) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64, 0.0);
    let (start, wall) = (cpu(), Instant::now());
    let mut failed = 0;
    let mut worst = 0.0_f64;
    for k in 0..steps {
        let c = cpu();
        match step(&mut world, &mut scratch, &params) {
            Ok(r) => {
                je = je.max(r.joint_error.max_m);
                pen = pen.max(r.penetration_m);
                if std::env::var("DEEP").is_ok() && r.penetration_m > 3e-3 {
                    if let Some(c) = world.contacts().max_by(|a, b| a.depth.total_cmp(&b.depth)) {
                        println!(
                            "{k} {:.1} mm {} {} n {:.2?} f {:.0} contacts {}",
                            1e3 * c.depth,
                            world.body_name(c.a).unwrap_or("?"),
                            world.body_name(c.b).unwrap_or("?"),
                            c.normal.to_array(),
                            c.force.length(),
                            r.contacts
                        );
                    }
                }
                its += r.contact_iterations;
                if k > steps * 3 / 4 {
                    late_pen = late_pen.max(r.penetration_m);
                }
            }
            Err(e) => {
                failed += 1;
                println!("{k}: {e}");
                if failed > 3 {
                    break;
                }
            }
        }
        if let Ok(pair) = std::env::var("PAIR") {
            let (x, y) = pair.split_once(',').unwrap();
            let (ia, ib) = (world.body(x).unwrap(), world.body(y).unwrap());
            for c in world.contacts().filter(|c| (c.a == ia && c.b == ib) || (c.a == ib && c.b == ia)) {
                println!(
                    "  {k} depth {:.3} mm n {:.3?} f {:.1} p {:.3?}",
                    1e3 * c.depth,
                    c.normal.to_array(),
                    c.force.length(),
                    c.point.to_array()
                );
            }
            let (p, v) = (world.pose(ia).unwrap(), world.velocity(ia).unwrap());
            println!("  {k} {:?} {:?}", p, v);
        }
        worst = worst.max(cpu() - c);
        if std::env::var("TRACE").is_ok() && k % 30 == 0 {
            println!("{k} cpu {:.3} ms kin {:.2e} it {:.0}", 1e3 * (cpu() - c), world.energy().kinetic, its);
        }
        if k == steps / 2 {
            lates = cpu();
        }
    }
    let (all, pressing) = (world.contacts().count(), world.contacts().filter(|c| c.force.length() > 0.0).count());
    println!("contacts {all}, pressing {pressing}");
    let e = world.energy();
    println!(
        "{name} {settings:?} h=1/{:.0}: cpu {:.3} ms/step (second half {:.3}, worst {:.1}), wall {:.2} s, joint {je:.1e} pen {:.3} mm late {:.3} mm, sweeps {:.1}, kinetic {:.3e}",
        1.0 / dt,
        1e3 * (cpu() - start) / steps as f64,
        1e3 * (cpu() - lates) / (steps - steps / 2) as f64,
        worst * 1e3,
        wall.elapsed().as_secs_f64(),
        pen * 1e3,
        late_pen * 1e3,
        its / steps as f64,
        e.kinetic
    );
}
