//! Random mechanisms for properties that must hold in all of them.

use crate::common::{Random, wxyz};
use linkwork::Scene;
use linkwork::glam::DVec3;
use linkwork::scene::{Body, Coordinate, Joint, JointKind, WORLD};

/// What a random mechanism may contain.
#[derive(Clone, Copy)]
pub struct Ingredients {
    pub bodies: usize,
    /// Extra joints that close loops.
    pub loops: usize,
    /// Masses lie within this many decades.
    pub decades: f64,
    pub grounded: bool,
    /// Springs, dampers, dry friction and limits on the joints.
    pub acting: bool,
    /// Gears between hinges.
    pub gears: bool,
    pub gravity: f64,
    /// Largest angular velocity, rad/s.
    pub spin: f64,
}

/// A tree under gravity that hangs from the ground, turning a little.
pub const PLAIN: Ingredients = Ingredients {
    bodies: 7,
    loops: 0,
    decades: 1.0,
    grounded: true,
    acting: false,
    gears: false,
    gravity: 9.81,
    spin: 1.0,
};

pub const TREE_KINDS: &[JointKind] = &[
    JointKind::Ball,
    JointKind::Hinge,
    JointKind::Slider,
    JointKind::Cylindrical,
    JointKind::Planar,
    JointKind::Universal,
    JointKind::Fixed,
    JointKind::PointOnLine,
    JointKind::PointOnPlane,
    JointKind::Orientation,
    JointKind::Distance,
    JointKind::Screw,
];

const LOOP_KINDS: &[JointKind] =
    &[JointKind::Distance, JointKind::PointOnPlane, JointKind::PointOnLine, JointKind::Ball, JointKind::Universal];

/// Closed at its start pose; velocities are made to fit by the engine.
pub fn mechanism(seed: u64, with: Ingredients) -> Scene {
    let mut random = Random(seed);
    let mut scene = Scene { gravity: [0.0, 0.0, -with.gravity], ..Scene::new(format!("mechanism {seed}")) };
    for k in 0..with.bodies {
        let mass = 10f64.powf(random.between(-0.5, 0.5) * with.decades);
        let size = random.between(0.2, 0.6);
        let moments = DVec3::new(random.between(0.8, 1.2), random.between(0.8, 1.2), random.between(0.8, 1.2));
        scene.body(
            Body::new(format!("b{k}"))
                .at(random.vector() * 1.5)
                .oriented(wxyz(random.rotation()))
                .moving(random.vector(), random.vector() * with.spin)
                .with_mass(mass)
                .with_inertia(moments * (mass * size * size / 6.0)),
        );
    }
    let at = |scene: &Scene, k: usize| DVec3::from(scene.bodies[k].position);
    for k in 0..with.bodies {
        if k == 0 && !with.grounded {
            continue;
        }
        let (parent, from) = match k {
            0 => (WORLD.to_string(), DVec3::ZERO),
            _ => {
                let parent = random.below(k);
                (format!("b{parent}"), at(&scene, parent))
            }
        };
        let kind = TREE_KINDS[random.below(TREE_KINDS.len())];
        let between = from.lerp(at(&scene, k), random.unit()) + random.vector() * 0.2;
        let joint = placed(kind, format!("j{k}"), parent, format!("b{k}"), between, &scene, &mut random);
        scene.joint(if with.acting { acted_on(joint, &mut random) } else { joint });
    }
    for k in 0..with.loops.min(with.bodies.saturating_sub(2)) {
        let a = random.below(with.bodies);
        let b = (a + 1 + random.below(with.bodies - 1)) % with.bodies;
        let kind = LOOP_KINDS[random.below(LOOP_KINDS.len())];
        let between = at(&scene, a).lerp(at(&scene, b), random.unit()) + random.vector() * 0.2;
        let joint = placed(kind, format!("loop{k}"), format!("b{a}"), format!("b{b}"), between, &scene, &mut random);
        scene.joint(joint);
    }
    if with.gears {
        let hinges: Vec<String> =
            scene.joints.iter().filter(|j| j.kind == JointKind::Hinge).map(|j| j.name.clone()).collect();
        for pair in hinges.windows(2) {
            scene.joint(Joint::gear(format!("gear {}", pair[0]), &pair[0], &pair[1], random.between(0.5, 2.0)));
        }
    }
    scene
}

fn placed(kind: JointKind, name: String, a: String, b: String, at: DVec3, scene: &Scene, random: &mut Random) -> Joint {
    let axis = random.direction();
    match kind {
        JointKind::Distance => {
            let local = |body: &str, point: DVec3| match scene.bodies.iter().find(|x| x.name == body) {
                None => point,
                Some(x) => {
                    let [w, i, j, k] = x.orientation;
                    let q = linkwork::glam::DQuat::from_xyzw(i, j, k, w);
                    q.inverse() * (point - DVec3::from(x.position))
                }
            };
            let far = at + axis * random.between(0.3, 0.8);
            Joint::distance(name, &a, local(&a, at), &b, local(&b, far))
        }
        JointKind::Universal => {
            let second = axis.any_orthonormal_vector() + axis * random.between(-0.3, 0.3);
            Joint::new(kind, name, a, b).at(at).axis(axis).second_axis(second)
        }
        JointKind::Screw => {
            let mut joint = Joint::new(kind, name, a, b).at(at).axis(axis);
            joint.pitch = Some(random.between(-0.5, 0.5));
            joint
        }
        _ => Joint::new(kind, name, a, b).at(at).axis(axis),
    }
}

/// Adds things that take or store energy to a joint's first coordinate.
fn acted_on(joint: Joint, random: &mut Random) -> Joint {
    use JointKind::{Ball, Distance, Fixed};
    if matches!(joint.kind, Fixed | Ball | Distance) {
        return joint;
    }
    let acting = Coordinate::default();
    joint.with(match random.below(5) {
        0 => acting.spring(random.between(1.0, 100.0), 0.0, random.between(-0.2, 0.2)),
        1 => acting.damping(random.between(0.1, 10.0)),
        2 => acting.friction(random.between(0.1, 5.0)),
        3 => acting.limit(Some(-random.between(0.0, 0.5)), Some(random.between(0.0, 0.5))),
        _ => acting.spring(random.between(1.0, 1e4), random.between(0.0, 1.0), 0.0).friction(0.1),
    })
}
