//! Blows with restitution: what they may and may not do to the energy.

use crate::common::{Complaints, Random, Run, registered, weightless, wxyz};
use linkwork::Method;
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Geometry, Joint, Scene, Shape};

/// A bar that flies at a plane, without gravity, by itself or with another on a ball joint at its end.
fn thrown_bar(random: &mut Random, jointed: bool) -> Scene {
    let mut scene = weightless("thrown bar");
    let material = |shape: Shape, restitution: f64, friction: f64| shape.restitution(restitution).friction(friction);
    let (restitution, friction) = (random.between(0.5, 1.0), random.between(0.0, 1.5));
    scene.body(Body::fixed("ground").placed_shape(material(Shape::new(Geometry::Plane), restitution, friction)));
    let size = [1.0, random.between(0.05, 0.3), 0.1];
    let turn = random.rotation();
    let centre = DVec3::Z * 1.2;
    let end = centre + turn * DVec3::X * 0.5;
    let bar = |name: &str, at: DVec3| {
        let shape = material(Shape::new(Geometry::Box { size }), restitution, friction);
        Body::new(name).at(at).oriented(wxyz(turn)).with_density(500.0).placed_shape(shape)
    };
    let velocity = DVec3::new(random.between(-4.0, 4.0), random.between(-4.0, 4.0), -4.0);
    let spin = if jointed { DVec3::ZERO } else { 3.0 * random.vector() };
    scene.body(bar("bar", centre).moving(velocity.to_array(), spin.to_array()));
    if jointed {
        scene.body(bar("other", end + turn * DVec3::X * 0.5).moving(velocity.to_array(), spin.to_array()));
        scene.joint(Joint::ball("joint", "bar", "other", end));
    }
    scene
}

/// Newton's law of restitution with Coulomb's friction makes energy where slip turns round in a blow (Kane and Levinson 1985).
#[test]
fn a_blow_on_rough_ground_makes_no_energy() {
    let mut wrong = Complaints::default();
    let mut random = Random(7);
    for k in 0..300 {
        let jointed = k % 3 == 2;
        let mut run = Run::new(&thrown_bar(&mut random, jointed), 1.0 / 1000.0);
        let start = run.energy();
        let mut highest = start;
        for _ in 0..600 {
            run.step();
            highest = highest.max(run.energy());
        }
        let what = if jointed { "two bars" } else { "a bar" };
        wrong.close(&format!("energy of {what}, throw {k}"), highest / start, 1.0, 1e-3);
    }
}

/// Balls on ropes rock about their eyes by radians a step: flights near others were judged by nothing and made energy (times seven).
#[test]
fn a_cradle_gains_nothing_at_coarse_steps() {
    let mut wrong = Complaints::default();
    for (method, h) in [
        (Method::Direct, 1.0 / 20.0),
        (Method::Direct, 1.0 / 40.0),
        (Method::Reduced, 1.0 / 20.0),
        (Method::Iterative, 1.0 / 20.0),
    ] {
        for lifted in 1..5 {
            let mut run = Run::by(method, &registered("cradle", &[("lifted", f64::from(lifted))]), h);
            let start = run.energy();
            let mut highest = start;
            while run.world.time() < 10.0 {
                run.step();
                highest = highest.max(run.energy());
            }
            // velocities of what is struck are told half a step late, which looks like a few per cent
            wrong.unless(highest < 1.05 * start, || {
                format!("{method:?}, {lifted} lifted, h = {h}: {:.3} times", highest / start)
            });
        }
    }
}
