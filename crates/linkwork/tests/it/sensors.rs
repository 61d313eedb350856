//! Sensors: what they notice within a step, and when that begins and ends.

use crate::common::{Complaints, Random, Run, weightless, wxyz};
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Geometry, Scene, Shape};
use linkwork::{BodyId, SensorEvent, Stepper, World};

const H: f64 = 1.0 / 60.0;

fn ball(at: DVec3, velocity: DVec3, radius: f64) -> Body {
    Body::new("ball").at(at).moving(velocity, [0.0; 3]).shape(Geometry::Sphere { radius })
}

fn eye(name: &str, geometry: Geometry) -> Body {
    Body::fixed(name).placed_shape(Shape::new(geometry).sensor())
}

fn events(world: &World) -> Vec<(bool, BodyId, BodyId)> {
    world.sensor_events().map(|e| (e.began, e.sensor, e.other)).collect()
}

/// Symptom: a sensor of 1 cm did not notice a ball of 100 m/s. Cause: only what overlapped where the step began was looked at.
#[test]
fn a_thin_gate_notices_what_flies_through_within_a_step() {
    let mut random = Random(21);
    let mut complaints = Complaints::default();
    let (half, radius) = (DVec3::new(0.5, 0.4, 0.005), 0.05);
    let mut through = 0;
    for case in 0..300 {
        let stepper = if case % 10 == 9 { Stepper::Events } else { Stepper::Fixed };
        let turn = random.rotation();
        let start = DVec3::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0), random.between(0.1, 3.0));
        let velocity = DVec3::new(random.between(-40.0, 40.0), random.between(-40.0, 40.0), -100.0);
        let mut scene = weightless("gate");
        scene.body(eye("gate", Geometry::Box { size: (2.0 * half).to_array() }).oriented(wxyz(turn)));
        scene.body(ball(turn * start, turn * velocity, radius));
        let mut run = Run::new(&scene, H);
        run.params.stepper = stepper;
        // the ball flies straight on: whether it is in the gate at some time of each step is known
        let gap = |from: DVec3| {
            let distance = |t: f64| ((from + velocity * t).abs() - half).max(DVec3::ZERO).length() - radius;
            (0..=20_000).map(|k| distance(H * f64::from(k) / 20_000.0)).fold(f64::INFINITY, f64::min)
        };
        let (mut before, mut grazes) = (false, false);
        for k in 0..4 {
            run.step();
            let nearest = gap(start + velocity * (H * f64::from(k)));
            grazes |= nearest.abs() < 2e-4;
            let now = nearest <= 0.0;
            let ids = (run.body("gate"), run.body("ball"));
            let expected = if now == before { vec![] } else { vec![(now, ids.0, ids.1)] };
            let told = events(&run.world);
            complaints
                .unless(grazes || told == expected, || format!("case {case} step {k}: {told:?}, not {expected:?}"));
            let touches = run.world.sensor_touches().count();
            complaints
                .unless(grazes || touches == usize::from(now), || format!("case {case} step {k}: {touches} touches"));
            complaints.unless(run.world.contact_events().count() == 0, || format!("case {case}: a contact"));
            through += usize::from(now && !before);
            before = now;
        }
    }
    assert!(through > 60, "{through} balls go through");
}

#[test]
fn a_sensor_tells_of_coming_staying_and_going() {
    // a ball falls through a sensor of one metre onto the floor: it is in from 1.1 m to the floor, which is below
    let mut scene = Scene::new("fall");
    scene.body(Body::fixed("floor").shape(Geometry::Plane));
    scene.body(eye("eye", Geometry::Box { size: [1.0; 3] }).at([0.0, 0.0, 0.5]));
    scene.body(ball(DVec3::new(0.0, 0.0, 2.0), DVec3::ZERO, 0.1));
    let mut run = Run::new(&scene, 0.01);
    let (eye, ball) = (run.body("eye"), run.body("ball"));
    let enters = (2.0_f64 * 0.9 / 9.81).sqrt();
    let mut came = None;
    for _ in 0..200 {
        run.step();
        for event in run.world.sensor_events() {
            let SensorEvent { began, sensor, other, .. } = event;
            assert!(began && came.is_none() && (sensor, other) == (eye, ball), "{event:?}");
            came = Some(run.world.time());
        }
        assert_eq!(run.world.sensor_touches().count(), usize::from(came.is_some()));
    }
    let came = came.unwrap();
    assert!((came - enters).abs() <= 0.0101, "{came} instead of {enters}");
    assert!(run.world.contact_events().count() == 0 && run.world.contacts().any(|c| c.b == ball || c.a == ball));

    // what is put elsewhere has gone, and comes again where it is put
    let mut pose = run.world.pose(ball).unwrap();
    pose.position.x = 50.0;
    run.world.set_pose(ball, pose).unwrap();
    run.step();
    assert_eq!(events(&run.world), [(false, eye, ball)]);
    pose.position.x = 0.0;
    run.world.set_pose(ball, pose).unwrap();
    run.step();
    assert_eq!(events(&run.world), [(true, eye, ball)]);
}

/// Symptom: a body that took the place of one that was removed was told to be in a sensor. Cause: sensors knew bodies by their slots.
#[test]
fn what_takes_the_place_of_a_removed_body_is_another() {
    let mut scene = weightless("places");
    scene.body(eye("eye", Geometry::Sphere { radius: 1.0 }));
    scene.body(ball(DVec3::ZERO, DVec3::ZERO, 0.1));
    let mut run = Run::new(&scene, H);
    run.step();
    let (eye, gone) = (run.body("eye"), run.body("ball"));
    assert_eq!(events(&run.world), [(true, eye, gone)]);
    let saved = run.world.snapshot();
    run.world.remove_body(gone);
    let new = run.world.add_body(&ball(DVec3::new(9.0, 0.0, 0.0), DVec3::ZERO, 0.1)).unwrap();
    assert_eq!(run.world.sensor_touches().count(), 0);
    run.step();
    assert_eq!(events(&run.world), [(false, eye, gone)]);
    assert_ne!(gone, new);
    run.world.restore(&saved);
    assert_eq!(events(&run.world), [(true, eye, gone)]);
    run.step();
    assert_eq!((events(&run.world).len(), run.world.sensor_touches().count()), (0, 1));
}

#[test]
fn a_closed_mesh_notices_what_is_inside() {
    let corners = |k: usize| [1, 2, 4].map(|bit| if k & bit == 0 { -1.0 } else { 1.0 });
    let mesh = Geometry::ConvexHull { points: (0..8).map(corners).collect() }.hull_as_mesh().unwrap();
    let mut scene = weightless("room");
    scene.body(eye("room", mesh));
    scene.body(ball(DVec3::new(-2.0, 0.3, 0.1), DVec3::X, 0.05));
    let mut run = Run::new(&scene, 0.01);
    let inside = |x: f64| x.abs() < 1.05;
    for _ in 0..400 {
        let from = run.position("ball").x;
        run.step();
        let to = run.position("ball").x;
        // within a nanometre of where it enters and leaves, either is right
        if ![from, to].iter().any(|x| (x.abs() - 1.05).abs() < 1e-6) {
            assert_eq!(run.world.sensor_touches().count() == 1, inside(from) || inside(to), "from {from} to {to}");
        }
    }
}
