//! Scenes of particles: masses and springs, rods, ropes and cloth, by themselves and on bodies.

pub(crate) mod fabric;
pub(crate) mod rods;
pub(crate) mod ropes;
pub(crate) mod springs;

use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Shape, Stepping};

const FRICTION: f64 = 0.6;

fn stage(dt: f64, duration: f64) -> Scene {
    Scene { step: Stepping { dt, duration }, ..Scene::default() }
}

/// A plane at a height.
fn ground(height: f64) -> Body {
    Body::fixed("ground").at([0.0, 0.0, height]).placed_shape(Shape::new(Geometry::Plane).friction(FRICTION))
}

/// A small ball that stands for a nail.
fn knob(name: impl Into<String>, at: [f64; 3]) -> Body {
    Body::fixed(name).at(at).shape(Geometry::Sphere { radius: 0.02 })
}
