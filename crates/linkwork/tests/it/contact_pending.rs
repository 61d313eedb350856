//! Tests of contact that fail today (see the note of each run: `contact.rs` and its siblings hold those that pass). They join the list
//! when they pass; they use the helpers of `contact.rs`.

#[test]
fn a_ball_rebounds_to_the_square_of_its_restitution() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 240.0, 1.0 / 60.0] {
        for e in [0.3, 0.7, 1.0] {
            let mut scene = Scene::new("bounce");
            scene.body(ground(0.0));
            let shape = Shape::new(Geometry::Sphere { radius: 0.1 }).restitution(e);
            scene.body(Body::new("ball").placed_shape(shape).at([0.0, 0.0, 1.1]));
            let mut run = Run::new(&scene, h);
            let fall = (2.0 / G).sqrt();
            run.to(((1.0 + 0.5 * e) * fall / h).round() * h);
            let mut highest = 0.0_f64;
            for _ in 0..((e * fall) / h) as usize {
                run.step();
                highest = highest.max(run.position("ball").z - 0.1);
            }
            // the blow falls at the end of a step: the speed is off by up to g h
            let tolerance = 2.0 * e * G * h * fall + 1e-3;
            wrong.close(&format!("height, e = {e}, h = {h}"), highest, e * e, tolerance);
        }
    }
}

#[test]
fn a_bullet_does_not_pass_a_thin_wall() {
    let mut wrong = Complaints::default();
    for offset in [0.0, 1.0, 2.7, 5.1, 8.0] {
        for (kind, mass) in [(BodyKind::Static, None), (BodyKind::Dynamic, Some(100.0))] {
            let mut scene = weightless("bullet");
            let wall = cuboid("wall", [0.01, 2.0, 2.0], 0.5);
            scene.body(Body { kind, mass, ..wall });
            let start = DVec3::new(-20.0 - offset, 0.13, 0.21);
            scene.body(sphere("bullet", 0.01, 0.5).with_mass(0.01).at(start).moving([500.0, 0.0, 0.0], [0.0; 3]));
            let mut run = Run::new(&scene, 1.0 / 60.0);
            let mut deepest = f64::NEG_INFINITY;
            for _ in 0..30 {
                run.step();
                // seen from the wall, which a bullet moves a little
                let pose = run.world.pose(run.body("wall")).unwrap();
                let seen = pose.orientation.inverse() * (run.position("bullet") - pose.position);
                deepest = deepest.max(seen.x + 0.015);
            }
            wrong.unless(deepest < 1e-4, || format!("offset {offset}, {kind:?}: {deepest:e} m into the wall"));
        }
    }
}

#[test]
fn a_kinematic_body_pushes_and_a_belt_carries() {
    let mut wrong = Complaints::default();
    let mut scene = Scene::new("push");
    scene.body(ground(0.5));
    let pusher = Body { kind: BodyKind::Kinematic, ..cuboid("pusher", [0.2, 1.0, 1.0], 0.5) };
    scene.body(pusher.at([-0.8, 0.0, 0.6]).moving([1.0, 0.0, 0.0], [0.0; 3]));
    scene.body(cuboid("box", [1.0; 3], 0.5).at([0.0, 0.0, 0.5]));
    let mut run = Run::new(&scene, 1.0 / 60.0);
    let mut least = f64::INFINITY;
    for _ in 0..180 {
        run.step();
        least = least.min(run.position("box").x - run.position("pusher").x - 0.6);
    }
    wrong.unless(least > -1e-4, || format!("{least:e} m between box and pusher"));
    wrong.close("pushed", run.position("box").x - run.position("pusher").x, 0.6, 2e-3);
    wrong.close("at the speed", run.velocity("box").x, 1.0, 1e-3);

    // a belt: the box slips until it has the belt's speed, v/(mu g) long, v²/(2 mu g) far behind
    let (speed, mu) = (2.0, 0.4);
    let mut scene = Scene::new("belt");
    let belt = Body { kind: BodyKind::Kinematic, ..cuboid("belt", [50.0, 2.0, 0.2], mu) };
    scene.body(belt.at([0.0, 0.0, -0.1]).moving([speed, 0.0, 0.0], [0.0; 3]));
    scene.body(cuboid("box", [0.5, 0.5, 0.2], mu).at([0.0, 0.0, 0.1]));
    let mut run = Run::new(&scene, 1.0 / 120.0);
    run.to(2.0);
    let expected = 2.0 * speed - speed * speed / (2.0 * mu * G);
    wrong.close("carried", run.position("box").x, expected, 1e-3);
    wrong.close("speed of the belt", run.velocity("box").x, speed, 1e-5);
}

#[test]
fn a_sliding_block_stops_after_v_squared_over_two_mu_g() {
    let mut wrong = Complaints::default();
    for h in [1.0 / 240.0, 1.0 / 60.0, 1.0 / 30.0] {
        for mu in [0.1, 0.3, 0.8] {
            let speed = 4.0;
            let mut scene = Scene::new("slide");
            scene.body(ground(mu));
            scene.body(cuboid("block", [1.0, 1.0, 0.2], mu).at([0.0, 0.0, 0.1]).moving([speed, 0.0, 0.0], [0.0; 3]));
            let mut run = Run::new(&scene, h);
            let duration = speed / (mu * G);
            run.steps((duration / h).ceil() as usize + 5);
            let stopped = run.position("block");
            // the velocity is constant within a step: within the one in which it stops, up to this much is lost
            let resolution = 0.5 * mu * G * h * h;
            let what = format!("distance at h = {h}, mu = {mu}");
            wrong.close(&what, stopped.x, speed * speed / (2.0 * mu * G), resolution + 1e-5);
            wrong.close("sideways", stopped.y, 0.0, 1e-9);
            run.steps((1.0 / h) as usize);
            wrong.near("it stays", run.position("block"), stopped, 1e-6);
        }
    }
}

#[test]
fn landing_bodies_do_not_penetrate() {
    let mut wrong = Complaints::default();
    let shapes = [
        Geometry::Box { size: [0.5, 0.3, 0.2] },
        Geometry::Sphere { radius: 0.2 },
        Geometry::Capsule { radius: 0.1, length: 0.5 },
        Geometry::Cylinder { radius: 0.2, length: 0.3 },
    ];
    for h in [1.0 / 60.0, 1.0 / 30.0] {
        for (k, geometry) in shapes.iter().enumerate() {
            for (spin, turn) in [(DVec3::ZERO, 0.0), (DVec3::new(1.0, -2.0, 0.5), 0.7), (DVec3::new(0.0, 3.0, 1.0), 1.3)] {
                let mut scene = Scene::new("landing");
                scene.body(ground(0.5));
                let turn = DQuat::from_axis_angle(DVec3::new(1.0, 1.0, 0.3).normalize(), turn);
                let body = Body::new("body").shape(geometry.clone()).at([0.0, 0.0, 1.0]).oriented(wxyz(turn));
                scene.body(body.moving([1.0, 0.0, -5.0], spin));
                let mut run = Run::new(&scene, h);
                let (a, b) = (run.body("ground"), run.body("body"));
                let mut worst = 0.0_f64;
                for _ in 0..(2.0 / h) as usize {
                    run.step();
                    worst = worst.max(overlap::between(&run.world, a, b));
                }
                wrong.unless(worst < 1e-4, || format!("shape {k} spinning {spin}, h = {h}: {worst:e} m deep"));
            }
        }
    }
}
