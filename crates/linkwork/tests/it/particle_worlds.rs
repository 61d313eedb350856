//! Particles in a world: contact with bodies, attachment, momentum, snapshots, bad input.

use crate::common::{Run, assert_close, assert_near, build, registered, wxyz};
use linkwork::glam::DVec3;
use linkwork::particle::{Gravity, Method, ParticleSystem, Pull, Spring, Strings};
use linkwork::scene::{
    Attachment, Body, Cloth, Fabric, Geometry, Joint, ParametricObject, ParticleMethod, Particles, Pattern, PointAngle,
    PointBend, PointSpring, Rod, Rope, Scene, WORLD, Wire,
};
use linkwork::{Scratch, StepParams, World, step};

fn sheet(corner: [f64; 3], side: f64, cells: usize, fabric: Fabric) -> Particles {
    let pattern =
        Pattern::Grid { corner, along: [side, 0.0, 0.0], across: [0.0, side, 0.0], columns: cells, rows: cells };
    Particles { cloths: vec![Cloth { pattern, fabric }], ..Particles::new("sheet") }
}

fn total_momentum(world: &World) -> DVec3 {
    let particles: DVec3 =
        (0..world.particle_system_count()).map(|k| world.particle_system(k).unwrap().momentum().linear).sum();
    world.momentum().linear + particles
}

#[test]
fn a_ball_thrown_into_loose_cloth_shares_its_momentum() {
    let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("catch") };
    let fabric = Fabric { density: 2.0, air: 0.0, ..Fabric::default() };
    scene.body(
        Body::new("ball")
            .at([0.0, 0.0, 0.3])
            .with_mass(1.0)
            .shape(Geometry::Sphere { radius: 0.1 })
            .moving([0.2, 0.0, -4.0], [0.0; 3]),
    );
    scene.particles(sheet([-0.5, -0.5, 0.0], 1.0, 16, fabric));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    let before = total_momentum(&run.world);
    for _ in 0..120 {
        run.step();
        assert_near("momentum", total_momentum(&run.world), before, 2e-3 * before.length());
        let ball = run.position("ball");
        for x in run.world.particle_system(0).unwrap().positions() {
            assert!(x.distance(ball) > 0.1, "cloth is {:.2e} m inside the ball", 0.1 - x.distance(ball));
        }
    }
    let slowed = run.velocity("ball").z;
    assert!(slowed > -3.0, "the cloth slowed the ball to {slowed} m/s");
    let cloth = run.world.particle_system(0).unwrap();
    assert!(cloth.momentum().linear.z < -0.5, "and took what it lost");
}

#[test]
fn a_hammock_carries_a_box_and_its_posts_feel_the_weight() {
    let mut scene = Scene::new("hammock");
    scene.body(Body::new("box").at([0.0, 0.0, 0.1]).with_mass(5.0).shape(Geometry::Box { size: [0.3, 0.2, 0.15] }));
    let fabric = Fabric { stretch: 5e3, shear: 500.0, density: 0.3, self_collision: false, ..Fabric::default() };
    let mut cloth = sheet([-0.6, -0.3, 0.0], 1.2, 12, fabric);
    let Pattern::Grid { across, .. } = &mut cloth.cloths[0].pattern else { unreachable!() };
    *across = [0.0, 0.6, 0.0];
    cloth.nails = (0..=12).flat_map(|i| [i * 13, i * 13 + 12]).collect();
    scene.particles(cloth);
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.steps(600);
    let z = run.position("box").z;
    assert!(z > -0.4 && z < 0.1, "it hangs at {z} m");
    let speed = run.velocity("box").length();
    assert!(speed < 0.05, "at rest but for {speed} m/s");
}

#[test]
fn a_rope_of_particles_carries_a_load() {
    for (mass, segments) in [(1.0, 20), (100.0, 20)] {
        let mut scene = Scene::new("rope");
        scene.body(Body::new("load").at([0.0, 0.0, -2.0]).with_mass(mass).shape(Geometry::Sphere { radius: 0.1 }));
        let rope = Rope::new([0.0; 3], [0.0, 0.0, -2.0], segments, 0.5, 1e5).between(WORLD, "load");
        scene.particles(Particles { ropes: vec![rope], collides: false, ..Particles::new("rope") });
        let mut run = Run::new(&scene, 1.0 / 60.0);
        run.steps(600);
        // stretched by weight over stiffness, its own weight counting half
        let expected = 2.0 * (1.0 + (mass + 0.25) * 9.81 / 1e5);
        assert_close(&format!("{mass} kg"), -run.position("load").z, expected, 1e-3);
        let end = run.world.particle_system(0).unwrap().positions()[segments];
        assert_near("the end of the rope", end, run.position("load"), 1e-9);
    }
}

#[test]
fn a_pendulum_on_a_rope_swings_with_the_period_of_its_length() {
    let mut scene = Scene::new("swing");
    let at = [2.0 * 0.1_f64.sin(), 0.0, -2.0 * 0.1_f64.cos()];
    scene.body(Body::new("bob").at(at).with_mass(2.0).with_inertia([1e-3; 3]));
    let rope = Rope { damping: 1e-4, ..Rope::new([0.0; 3], at, 10, 0.001, 1e6).between(WORLD, "bob") };
    scene.particles(Particles { ropes: vec![rope], collides: false, ..Particles::new("rope") });
    let mut run = Run::new(&scene, 1.0 / 400.0);
    let (mut last, mut crossings) = (run.position("bob").x, Vec::new());
    while crossings.len() < 3 && run.world.time() < 20.0 {
        run.step();
        let x = run.position("bob").x;
        if last > 0.0 && x <= 0.0 {
            crossings.push(run.world.time());
        }
        last = x;
    }
    let period = (crossings[2] - crossings[0]) / 2.0;
    let expected = std::f64::consts::TAU * (2.0_f64 / 9.81).sqrt() * (1.0 + 0.01 / 16.0);
    assert_close("period", period, expected, 0.01 * expected);
}

#[test]
fn a_rope_pulls_on_a_mechanism() {
    // an arm on a hinge, level, held up at its end by a rope
    let mut scene = Scene::new("drawbridge");
    scene.body(Body::new("arm").at([0.5, 0.0, 0.0]).with_mass(4.0).shape(Geometry::Box { size: [1.0, 0.1, 0.1] }));
    scene.joint(Joint::hinge("hinge", WORLD, "arm", [0.0; 3], [0.0, 1.0, 0.0]));
    let rope = Rope::new([1.0, 0.0, 1.0], [1.0, 0.0, 0.0], 10, 0.01, 1e5).between(WORLD, "arm");
    scene.particles(Particles { ropes: vec![rope], collides: false, ..Particles::new("rope") });
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.steps(300);
    // half of its weight hangs on the rope, which that stretches; the other half on the hinge
    let half = 0.5 * 4.0 * 9.81;
    assert_close("the arm is as level as the rope is stiff", run.value_of("hinge", "angle"), half / 1e5, 1e-6);
    let mut force = DVec3::ZERO;
    for step in 0..60 {
        run.step();
        let now = run.world.reaction(run.world.joint("hinge").unwrap()).unwrap();
        force = now.wrench.force;
        assert_close(&format!("step {step}: hinge force"), force.z.abs(), half, 1e-3 * half);
    }
    assert_near("nothing sideways", DVec3::new(force.x, force.y, 0.0), DVec3::ZERO, 1e-3 * half);
}

#[test]
fn two_systems_share_one_load() {
    // each system sees the load through what the other did: it must not swing between them
    let mut scene = Scene::new("two");
    scene.body(Body::new("load").at([0.0, 0.0, -1.0]).with_mass(3.0).shape(Geometry::Box { size: [0.4, 0.1, 0.1] }));
    for (name, x, stiffness) in [("left", -0.2, 1e5), ("right", 0.2, 1e5)] {
        let rope = Rope::new([x, 0.0, 0.0], [x, 0.0, -1.0], 8, 0.01, stiffness).between(WORLD, "load");
        scene.particles(Particles { ropes: vec![rope], collides: false, ..Particles::new(name) });
    }
    let mut run = Run::new(&scene, 1.0 / 60.0);
    run.steps(600);
    let lowest = run.position("load").z;
    assert_close("each carries half", -lowest - 1.0, (1.5 + 0.005) * 9.81 / 1e5, 1e-6);
    for _ in 0..30 {
        run.step();
        // what is left swings as a pendulum does
        assert!(run.velocity("load").z.abs() < 1e-7, "{} m/s", run.velocity("load"));
    }
}

#[test]
fn a_swinging_arm_and_the_net_it_drags_keep_their_momentum() {
    // two bodies on a hinge and a cloth between them, all free: joints and attachment exchange momentum, none is lost
    let mut scene = Scene { gravity: [0.0; 3], ..Scene::new("tumbling") };
    let arm = |name: &str, x: f64, spin: f64| {
        Body::new(name)
            .at([x, 0.0, 0.0])
            .with_mass(1.0)
            .shape(Geometry::Box { size: [0.9, 0.05, 0.05] })
            .moving([0.3, 0.0, spin * x], [0.0, -spin, 0.0])
    };
    scene.body(arm("left", -0.5, -1.0));
    scene.body(arm("right", 0.5, 2.0));
    scene.joint(Joint::hinge("hinge", "left", "right", [0.0; 3], [0.0, 1.0, 0.0]));
    let mut cloth = sheet([-0.4, 0.1, 0.0], 0.8, 8, Fabric { density: 1.0, air: 0.0, ..Fabric::default() });
    cloth.collides = false;
    cloth.attachments =
        vec![Attachment { point: 0, body: "left".into() }, Attachment { point: 8, body: "right".into() }];
    scene.particles(cloth);
    let mut run = Run::new(&scene, 1.0 / 120.0);
    let before = total_momentum(&run.world);
    for step in 0..240 {
        run.step();
        let lost = (total_momentum(&run.world) - before).length() / before.length();
        assert!(lost < 1e-3, "step {step}: {lost:.1e} of the momentum");
    }
}

#[test]
fn a_corner_of_a_box_does_not_come_through_a_face() {
    // cells wider than the box: no vertex is where its corner comes down
    let mut scene = Scene::new("corner");
    let on_corner = linkwork::glam::DQuat::from_rotation_arc(DVec3::ONE.normalize(), DVec3::Z);
    let mut body = Body::new("box").at([0.13, 0.07, 0.3]).with_mass(1.0).shape(Geometry::Box { size: [0.15; 3] });
    body.orientation = wxyz(on_corner);
    scene.body(body);
    let mut cloth = sheet([-0.5, -0.5, 0.0], 1.0, 4, Fabric { stretch: 5e3, shear: 2e3, ..Fabric::default() });
    cloth.nails = (0..25).filter(|k| k % 5 == 0 || k % 5 == 4 || *k < 5 || *k > 19).collect();
    cloth.radius = 0.01;
    scene.particles(cloth);
    let mut run = Run::new(&scene, 1.0 / 60.0);
    let (_, triangles) = linkwork::particle::grid(DVec3::ZERO, DVec3::X, DVec3::Y, 4, 4);
    for step in 0..240 {
        run.step();
        let pose = run.world.pose(run.body("box")).unwrap();
        let x = run.world.particle_system(0).unwrap().positions();
        for k in 0..8 {
            let sign = |bit: usize| if k >> bit & 1 == 1 { 0.075 } else { -0.075 };
            let corner = pose.position + pose.orientation * DVec3::new(sign(0), sign(1), sign(2));
            for gap in crate::cloth::gap_below(corner, x, &triangles) {
                assert!(gap > 0.0, "step {step}: corner {k} is {:.2e} m through the cloth", -gap);
            }
        }
    }
    assert!(run.position("box").z > -0.3 && run.velocity("box").length() < 0.05, "it lies on the cloth");
}

#[test]
fn a_string_that_carries_a_load_does_not_chatter() {
    let mut s = ParticleSystem::new();
    s.add_force(Gravity(DVec3::Z * -9.81)).unwrap();
    let top = s.add_particle(DVec3::ZERO, DVec3::ZERO, 1.0).unwrap();
    let load = s.add_particle(DVec3::Z * -0.95, DVec3::ZERO, 2.0).unwrap();
    s.nail(top).unwrap();
    s.add_force(Strings(vec![Spring { a: top, b: load, length: 1.0, stiffness: 1e6, damping: 0.0 }])).unwrap();
    s.set_method(Method::Implicit);
    for _ in 0..60 {
        s.step(1.0 / 60.0).unwrap();
    }
    for step in 0..60 {
        s.step(1.0 / 60.0).unwrap();
        let pull = 1e6 * (s.positions()[load].length() - 1.0);
        assert_close(&format!("step {step}: pull"), pull, 2.0 * 9.81, 1e-6 * 19.62);
    }
    // thrown up, it flies: the string does not hold it back
    s.set_velocity(load, DVec3::Z * 2.0).unwrap();
    s.step(1.0 / 60.0).unwrap();
    assert_close("free", s.velocities()[load].z, 2.0 - 9.81 / 60.0, 1e-9);
}

#[test]
fn particles_rest_on_bodies_that_move() {
    // a plate that goes up carries beads along
    let mut scene = Scene::new("lift");
    scene.body(
        Body::kinematic("plate").shape(Geometry::Box { size: [1.0, 1.0, 0.1] }).moving([0.5, 0.0, 0.3], [0.0; 3]),
    );
    let mut beads =
        Particles { method: ParticleMethod::Verlet, radius: 0.02, friction: 1.0, ..Particles::new("beads") };
    for k in 0..5 {
        beads.point([0.1 * k as f64 - 0.2, 0.0, 0.08], 0.1);
    }
    scene.particles(beads);
    let mut run = Run::new(&scene, 1.0 / 120.0);
    run.steps(240);
    let plate = run.position("plate");
    for x in run.world.particle_system(0).unwrap().positions() {
        assert_close("above the plate", x.z - plate.z, 0.07, 2e-3);
        assert!((x.x - plate.x).abs() < 0.5, "carried along: {} of {}", x.x, plate.x);
    }
}

fn busy() -> Scene {
    let mut scene = Scene::new("busy");
    scene.body(Body::new("ball").at([0.05, 0.02, 0.4]).with_mass(0.5).shape(Geometry::Sphere { radius: 0.1 }));
    let mut cloth = sheet([-0.3, -0.3, 0.0], 0.6, 8, Fabric::default());
    cloth.nails = vec![0, 8, 72, 80];
    scene.particles(cloth);
    let rope = Rope::new([0.05, 0.02, 0.4], [0.5, 0.0, 0.4], 6, 0.05, 1e3).between("ball", WORLD);
    scene.particles(Particles { ropes: vec![rope], ..Particles::new("rope") });
    scene
}

#[test]
fn a_snapshot_restores_every_bit_and_what_follows_is_the_same() {
    let mut world = build(&busy());
    let params = StepParams::new(1.0 / 60.0);
    let mut scratch = Scratch::default();
    for _ in 0..30 {
        step(&mut world, &mut scratch, &params).unwrap();
    }
    let saved = world.snapshot();
    let at = world.state_hash();
    let run = |world: &mut World| {
        let mut scratch = Scratch::default();
        for _ in 0..30 {
            step(world, &mut scratch, &params).unwrap();
        }
        world.state_hash()
    };
    let first = run(&mut world);
    world.restore(&saved);
    assert_eq!(world.state_hash(), at);
    assert_eq!(run(&mut world), first);
    let mut again = build(&busy());
    let mut scratch = Scratch::default();
    for _ in 0..60 {
        step(&mut again, &mut scratch, &params).unwrap();
    }
    assert_eq!(again.state_hash(), first, "the same scene gives the same bits");
}

#[test]
fn a_failed_step_leaves_particles_as_they_were() {
    let params = StepParams::new(1.0 / 60.0);
    let mut scratch = Scratch::default();
    // a spring that throws a particle out of the range of numbers
    let mut world = build(&busy());
    step(&mut world, &mut scratch, &params).unwrap();
    let before = world.state_hash();
    let pull = Pull { particle: 3, to: DVec3::splat(1e300), stiffness: 1e300, damping: 0.0 };
    world.particle_system_mut(0).unwrap().add_force(pull).unwrap();
    let failed = step(&mut world, &mut scratch, &params).unwrap_err().to_string();
    assert!(failed.contains("sheet"), "{failed}");
    assert_eq!(world.state_hash(), before);
}

#[test]
fn points_are_attached_and_taken_off_while_running() {
    let mut world = build(&busy());
    let ball = world.body("ball").unwrap();
    world.attach_particle(0, 40, ball).unwrap();
    assert!(world.attach_particle(0, 4000, ball).is_err());
    assert!(world.attach_particle(7, 0, ball).is_err());
    let offset = world.particle_system(0).unwrap().positions()[40] - world.pose(ball).unwrap().position;
    let params = StepParams::new(1.0 / 60.0);
    let mut scratch = Scratch::default();
    for _ in 0..20 {
        step(&mut world, &mut scratch, &params).unwrap();
    }
    let pose = world.pose(ball).unwrap();
    let now = pose.orientation.inverse() * (world.particle_system(0).unwrap().positions()[40] - pose.position);
    assert_near("offset", now, offset, 1e-9);
    assert!(world.detach_particle(0, 40));
    assert!(!world.detach_particle(0, 40));
    world.remove_body(ball);
    for _ in 0..20 {
        step(&mut world, &mut scratch, &params).unwrap();
    }
}

#[test]
fn descriptions_with_mistakes_are_refused_by_path() {
    let told = |p: Particles| {
        let mut scene = Scene::new("bad");
        scene.particles(p);
        World::build(&scene).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let two = || {
        let mut p = Particles::new("two");
        p.point([0.0; 3], 1.0);
        p.point([1.0, 0.0, 0.0], 1.0);
        p
    };
    assert_eq!(told(two()), "");
    let cases: Vec<(&str, Particles)> = vec![
        (
            "particles[0].points[0]",
            Particles { points: vec![linkwork::scene::Point { mass: -1.0, ..Default::default() }], ..two() },
        ),
        (
            "particles[0].springs[0]",
            Particles {
                springs: vec![PointSpring { a: 0, b: 5, length: None, stiffness: 1.0, damping: 0.0 }],
                ..two()
            },
        ),
        (
            "particles[0].springs[0].stiffness",
            Particles {
                springs: vec![PointSpring { a: 0, b: 1, length: None, stiffness: f64::NAN, damping: 0.0 }],
                ..two()
            },
        ),
        ("particles[0].rods[0]", Particles { rods: vec![Rod { a: 0, b: 1, length: Some(-1.0) }], ..two() }),
        ("particles[0].nails[0]", Particles { nails: vec![9], ..two() }),
        (
            "particles[0].attachments[0]",
            Particles { attachments: vec![Attachment { point: 0, body: "nobody".into() }], ..two() },
        ),
        (
            "particles[0].ropes[0].through",
            Particles { ropes: vec![Rope::new([0.0; 3], [0.0; 3], 3, 1.0, 1.0)], ..two() },
        ),
        (
            "particles[0].ropes[0].segments",
            Particles { ropes: vec![Rope::new([0.0; 3], [1.0; 3], 0, 1.0, 1.0)], ..two() },
        ),
        (
            "particles[0].wires[0]",
            Particles {
                wires: vec![Wire::Circle { point: 0, center: [0.0; 3], normal: [0.0; 3], radius: 1.0 }],
                ..two()
            },
        ),
        ("particles[0].radius", Particles { radius: -1.0, ..two() }),
        ("particles[0].friction", Particles { friction: f64::NAN, ..two() }),
        ("particles[0].restitution", Particles { restitution: 1.5, ..two() }),
        (
            "particles[0].springs[0]",
            Particles {
                springs: vec![PointSpring { a: 1, b: 1, length: None, stiffness: 1.0, damping: 0.0 }],
                ..two()
            },
        ),
        (
            "particles[0].springs[0].length",
            Particles {
                springs: vec![PointSpring { a: 0, b: 1, length: Some(-1.0), stiffness: 1.0, damping: 0.0 }],
                ..two()
            },
        ),
        (
            "particles[0].bends[0]",
            Particles { bends: vec![PointBend { a: 0, b: 1, c: 1, stiffness: 1.0, damping: 0.0 }], ..two() },
        ),
        (
            "particles[0].bends[0].damping",
            Particles { bends: vec![PointBend { a: 0, b: 1, c: 0, stiffness: 1.0, damping: -1.0 }], ..two() },
        ),
        (
            "particles[0].angles[0]",
            Particles {
                angles: vec![PointAngle { a: 0, b: 0, c: 1, angle: 1.0, stiffness: 1.0, damping: 0.0 }],
                ..two()
            },
        ),
        (
            "particles[0].angles[0].angle",
            Particles {
                angles: vec![PointAngle { a: 0, b: 1, c: 0, angle: f64::INFINITY, stiffness: 1.0, damping: 0.0 }],
                ..two()
            },
        ),
        ("particles[0].rods[0]", Particles { rods: vec![Rod { a: 1, b: 1, length: None }], ..two() }),
        ("particles[0].ropes[0].mass", Particles { ropes: vec![Rope::new([0.0; 3], [1.0; 3], 3, 0.0, 1.0)], ..two() }),
        (
            "particles[0].ropes[0].length",
            Particles {
                ropes: vec![Rope { length: Some(0.0), ..Rope::new([0.0; 3], [1.0; 3], 3, 1.0, 1.0) }],
                ..two()
            },
        ),
        (
            "particles[0].ropes[0].end",
            Particles {
                ropes: vec![Rope { end: Some("nobody".into()), ..Rope::new([0.0; 3], [1.0; 3], 3, 1.0, 1.0) }],
                ..two()
            },
        ),
        ("particles[0].ropes[0]", Particles { ropes: vec![Rope::new([0.0; 3], [1.0; 3], 1 << 40, 1.0, 1.0)], ..two() }),
        ("particles[0].cloths[0]", sheet([0.0; 3], 1.0, 0, Fabric::default())),
        ("particles[0].cloths[0]", sheet([0.0; 3], 1.0, 1 << 30, Fabric::default())),
        (
            "particles[0].parametric[0]",
            Particles {
                method: ParticleMethod::RungeKutta,
                parametric: vec![ParametricObject::Pendulum {
                    pivot: [0.0; 3],
                    lengths: vec![1.0, 1.0],
                    masses: vec![1.0],
                    angles: vec![0.0],
                }],
                ..two()
            },
        ),
        ("particles[0].wind", Particles { wind: [f64::NAN, 0.0, 0.0], ..two() }),
        ("particles[0].cloths[0]", sheet([0.0; 3], 0.0, 3, Fabric::default())),
        ("particles[0].cloths[0]", sheet([0.0; 3], 1.0, 3, Fabric { stretch: -1.0, ..Fabric::default() })),
        (
            "particles[0].method",
            Particles { method: ParticleMethod::Verlet, ..sheet([0.0; 3], 1.0, 3, Fabric::default()) },
        ),
        (
            "particles[0].method",
            Particles {
                parametric: vec![ParametricObject::Pendulum {
                    pivot: [0.0; 3],
                    lengths: vec![1.0],
                    masses: vec![1.0],
                    angles: vec![0.0],
                }],
                ..two()
            },
        ),
    ];
    for (path, p) in cases {
        let told = told(p);
        let (has_path, rest) = (path.replace(".radius", ""), told.replace(": radius", ""));
        assert!(rest.starts_with(&has_path), "{path}: {told:?}");
    }
    let mut scene = Scene::new("explicit and attached");
    scene.body(Body::new("load").with_mass(1.0).shape(Geometry::Sphere { radius: 0.1 }));
    let attachments = vec![Attachment { point: 0, body: "load".into() }];
    scene.particles(Particles { method: ParticleMethod::Verlet, attachments, ..two() });
    let told = World::build(&scene).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(told.starts_with("particles[0].method"), "{told}");
    let mut scene = Scene::new("twice");
    scene.particles(two()).particles(two());
    let told = World::build(&scene).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(told.starts_with("particles[1].name"), "{told}");
}

/// Steps a scene of the registry and returns the largest rise of its energy above an earlier value, and what it began with.
fn rise_of_energy(name: &str, rate: f64, until: f64) -> (f64, f64) {
    let mut run = Run::new(&registered(name, &[]), 1.0 / rate);
    let start = run.world.energy().total();
    let (mut least, mut rise) = (start, 0.0_f64);
    while run.world.time() < until {
        run.step();
        let energy = run.world.energy().total();
        least = least.min(energy);
        rise = rise.max(energy - least);
    }
    (rise, start)
}

/// Layers of a cloth that slides down a sphere were pressed apart with what impulses that pull, and were cut off, had balanced:
/// single vertices were thrown, and the energy rose by 2 J to 3 MJ in a step.
#[test]
fn layers_that_are_pressed_apart_make_no_energy() {
    for (cells, stretch, allowed) in [(22.0, 3e3, 0.5), (24.0, 3e3, 0.5), (36.0, 1e4, 1.0)] {
        let scene = registered("cloth-sphere", &[("cells", cells), ("stretch", stretch)]);
        let mut run = Run::new(&scene, 1.0 / 60.0);
        let mut before = run.world.energy().total();
        for step in 0..120 {
            run.step();
            let now = run.world.energy().total();
            assert!(now - before < allowed, "{cells} cells, {stretch} N/m, step {step}: {:.2} J more", now - before);
            before = now;
        }
    }
}

#[test]
fn a_bridge_of_planks_on_stiff_ropes_makes_no_energy_under_a_heavy_ball() {
    // pieces of 2e6 N/m between planks of 2 kg, a ball of 20 kg that lands on them: bursts of kilojoules were seen
    for (rate, allowed) in [(240.0, 0.01), (120.0, 0.01), (60.0, 0.02)] {
        let (rise, start) = rise_of_energy("rope-bridge", rate, 2.0);
        assert!(rise < allowed * start, "at 1/{rate} s: {rise:.1} J of {start:.0} J");
    }
}

/// Slopes of cloth among bodies were taken once a step: boxes that fell into a hammock of 2e4 N/m gained 30 J at 1/30 s and 2 J
/// at 1/60 s in one step.
#[test]
fn boxes_that_fall_into_a_hammock_make_no_energy_at_coarse_steps() {
    for rate in [30.0, 60.0, 120.0] {
        let (rise, start) = rise_of_energy("hammock", rate, 3.0);
        assert!(rise < 0.01, "at 1/{rate} s: {rise:.3} J of {start:.1} J");
    }
}

/// Friction was a given impulse, μ times the push of the solve before, on vertices of half a gram; faces that press were as
/// stiff as contacts that slide, which were in turn as sticky as those; and cloth did not know that a motor holds the crank,
/// which it threw: the energy rose by 761 J in a step, and the cloth had 370 J of strain after two seconds.
/// It is chaotic: of eight step sizes that differ by 1e-7 five rise by less than 30 J, one by 341 J in a step. So the middle of three counts.
#[test]
fn cloth_caught_between_the_bars_of_a_walking_machine_is_not_torn() {
    let mut worst: Vec<(f64, f64)> = Vec::new();
    for k in 0..3 {
        let dt = (1.0 + 1e-7 * f64::from(k)) / 120.0;
        let mut run = Run::new(&registered("cloth-strandbeest", &[]), dt);
        let (mut before, mut rise, mut strain) = (run.world.energy().total(), 0.0_f64, 0.0_f64);
        for _ in 0..240 {
            run.step();
            let energy = run.world.energy();
            (rise, strain) = (rise.max(energy.total() - before), strain.max(energy.elastic));
            before = energy.total();
        }
        worst.push((rise, strain));
    }
    let middle = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = worst.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[1]
    };
    assert!(middle(|w| w.0) < 150.0 && middle(|w| w.1) < 100.0, "J in a step, J of strain: {worst:?}");
}

#[test]
fn a_load_that_a_motor_hoists_hangs_still_on_a_stiff_rope_at_any_step() {
    // the motor holds the hoist whatever the rope does: a rope that took it for free would shake it
    for rate in [240.0, 120.0, 60.0, 30.0] {
        let mut run = Run::new(&registered("rope-crane", &[("slew", 0.0)]), 1.0 / rate);
        run.steps((4.0 * rate) as usize);
        let weight = 200.0 * 9.81;
        for step in 0..30 {
            run.step();
            let x = run.world.particle_system(0).unwrap().positions();
            let piece = 2.1 / 20.0;
            let pull = 1e6 * (x[19].distance(x[20]) / piece - 1.0);
            assert_close(&format!("1/{rate} s, step {step}: pull"), pull, weight + 0.5 * 9.81 / 20.0, 0.01 * weight);
        }
    }
}

#[test]
fn a_heavy_box_on_a_light_plate_that_ropes_carry_rests() {
    // ropes feel the plate with what lies on it
    let mut scene = Scene::new("scale");
    scene.body(Body::new("plate").at([0.0, 0.0, -1.0]).with_mass(1.0).shape(Geometry::Box { size: [0.6, 0.6, 0.04] }));
    scene.body(Body::new("box").at([0.0, 0.0, -0.87]).with_mass(50.0).shape(Geometry::Box { size: [0.2; 3] }));
    let mut ropes = Particles { collides: false, ..Particles::new("ropes") };
    for (x, y) in [(-0.25, -0.25), (0.25, -0.25), (-0.25, 0.25), (0.25, 0.25)] {
        ropes.ropes.push(Rope::new([x, y, 0.0], [x, y, -1.0], 4, 0.02, 1e5).between(WORLD, "plate"));
    }
    scene.particles(ropes);
    for rate in [240.0, 60.0, 30.0] {
        let mut run = Run::new(&scene, 1.0 / rate);
        run.steps((3.0 * rate) as usize);
        let sunk = -run.position("plate").z - 1.0;
        let expected = (51.0 + 4.0 * 0.01) * 9.81 / 4.0 / 1e5;
        assert_close(&format!("1/{rate} s: stretch"), sunk, expected, 0.02 * expected);
        assert!(run.velocity("box").length() < 1e-3, "1/{rate} s: {} m/s", run.velocity("box"));
    }
}

#[test]
fn finer_steps_of_a_plank_on_ropes_come_to_the_same_motion() {
    // a plank swings and turns on two stiff ropes: backward Euler is of first order
    let mut scene = Scene::new("swing");
    scene.body(
        Body::new("plank")
            .at([0.3, 0.0, -1.0])
            .with_mass(2.0)
            .shape(Geometry::Box { size: [0.2, 0.8, 0.03] })
            .moving([0.0, 0.5, 0.0], [0.0, 0.0, 1.0]),
    );
    let mut ropes = Particles { collides: false, ..Particles::new("ropes") };
    for y in [-0.4, 0.4] {
        ropes.ropes.push(Rope::new([0.0, y, 0.0], [0.3, y, -1.0], 3, 0.05, 1e5).between(WORLD, "plank"));
    }
    scene.particles(ropes);
    let place = |rate: f64| {
        let mut run = Run::new(&scene, 1.0 / rate);
        run.steps((0.5 * rate) as usize);
        run.position("plank")
    };
    let [coarse, middle, fine, finest] = [120.0, 240.0, 480.0, 3840.0].map(place);
    let errors = [coarse, middle, fine].map(|x| x.distance(finest));
    assert!(errors[0] < 0.02, "{errors:?}");
    assert!(errors[1] < 0.7 * errors[0] && errors[2] < 0.7 * errors[1], "{errors:?}");
}
