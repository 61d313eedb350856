//! The mouse: a damped spring between a point of a body and the point under the cursor.
//!
//! f = m (ω² (target − p) − 2 ω ṗ), critical damping. m is the smallest mass that the body shows at p when it is pushed there
//! without its joints. Joints can only make it heavier, so that a step of h is stable as long as ω h is, and it is at most
//! [`STIFFEST`]: 2 ω h = 1 takes away the velocity of a free point in one step and never more.

use linkwork::glam::DVec3;
use linkwork::{BodyId, World};

/// ω, 1/s: follows the mouse in a tenth of a second.
const RATE: f64 = 30.0;
/// Largest ω h.
const STIFFEST: f64 = 0.5;

/// A body held by the mouse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grip {
    /// The body.
    pub body: BodyId,
    /// The point held, in its frame, m.
    pub point: DVec3,
    /// Where it is pulled to, in the world, m.
    pub target: DVec3,
}

impl Grip {
    /// Force (N) on the body at the world point where it is held, for a step of `dt`; none if forces do not move the body.
    pub fn force(&self, world: &World, dt: f64) -> Option<(DVec3, DVec3)> {
        let (pose, twist) = (world.pose(self.body)?, world.velocity(self.body)?);
        let at = pose.transform(self.point);
        let velocity = twist.linear + twist.angular.cross(at - pose.position);
        let mobility = world.point_mobility(self.body, at)?;
        // a bound on its largest eigenvalue
        let largest = (0..3).map(|k| mobility.row(k).abs().element_sum()).fold(0.0, f64::max);
        let (mass, rate) = (1.0 / largest, RATE.min(STIFFEST / dt));
        let force = (self.target - at) * rate * rate - velocity * 2.0 * rate;
        Some((force * mass, at)).filter(|(force, _)| force.is_finite())
    }

    /// Pulls during the next step.
    pub fn pull(&self, world: &mut World, dt: f64) {
        if let Some((force, at)) = self.force(world, dt) {
            // refused only if the force is out of the range of numbers: then nothing is pulled
            let _ = world.apply_force(self.body, force, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkwork::scene::{Body, BodyKind};
    use linkwork::{Scene, Scratch, StepParams, step};

    /// Pulls a point 1 m to the side for 3 s; how far it is from there in the end, and the fastest motion on the way.
    fn pulled(scene: &Scene, body: &str, point: DVec3, dt: f64) -> (f64, f64) {
        let mut world = World::build(scene).unwrap();
        world.set_gravity([0.0; 3]).unwrap();
        let body = world.body(body).unwrap();
        let start = world.pose(body).unwrap().transform(point);
        let grip = Grip { body, point, target: start + DVec3::new(0.3, 0.9, -0.3) };
        let (mut scratch, params, mut fastest) = (Scratch::default(), StepParams::new(dt), 0.0_f64);
        while world.time() < 3.0 {
            grip.pull(&mut world, dt);
            step(&mut world, &mut scratch, &params).unwrap();
            fastest = fastest.max(world.energy().kinetic);
        }
        (world.pose(body).unwrap().transform(point).distance(grip.target), fastest)
    }

    #[test]
    fn a_free_body_comes_to_the_mouse_at_any_step_size() {
        let mut scene = Scene::new("rod");
        scene.body(Body::new("rod").with_mass(3.0).with_inertia([0.001, 1.0, 1.0]));
        for dt in [1.0 / 240.0, 1.0 / 60.0, 1.0 / 30.0, 0.1, 0.5] {
            for point in [DVec3::ZERO, DVec3::new(1.0, 0.0, 0.0), DVec3::new(0.3, 0.05, 0.0)] {
                let (distance, kinetic) = pulled(&scene, "rod", point, dt);
                // pulled with at most ω² per kg over one metre
                assert!(kinetic < 0.5 * 3.0 * RATE * RATE, "dt {dt}, {point}: {kinetic} J");
                let slow = RATE.min(STIFFEST / dt) * 3.0 < 10.0;
                assert!(slow || distance < 0.1, "dt {dt}, {point}: {distance} m");
            }
        }
    }

    #[test]
    fn machines_neither_explode_nor_come_apart() {
        for (name, dt) in
            [("excavator", 1.0 / 60.0), ("strandbeest", 1.0 / 60.0), ("wrecking-ball", 1.0 / 60.0), ("four-bar", 0.1)]
        {
            let scene = linkwork_scenes::find(name).unwrap().default_scene();
            for body in scene.bodies.iter().filter(|body| body.kind == BodyKind::Dynamic).step_by(5) {
                let start = World::build(&scene).unwrap().energy().kinetic;
                let (_, kinetic) = pulled(&scene, &body.name, DVec3::new(0.0, 0.0, 0.1), dt);
                let mass: f64 = World::build(&scene).map(|w| w.body_ids().filter_map(|id| w.mass(id)).sum()).unwrap();
                assert!(kinetic < start + 0.5 * mass * RATE * RATE, "{name}, {}: {kinetic} J", body.name);
            }
        }
    }

    #[test]
    fn what_forces_do_not_move_is_not_pulled() {
        let mut scene = Scene::new("post");
        scene.body(Body::fixed("post"));
        let world = World::build(&scene).unwrap();
        let grip = Grip { body: world.body("post").unwrap(), point: DVec3::ZERO, target: DVec3::ONE };
        assert_eq!(grip.force(&world, 0.01), None);
    }
}
