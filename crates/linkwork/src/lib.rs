//! Articulated rigid bodies whose joints are hard: closed to 1e-9 m at every step, at any mass ratio, with any number of
//! closed loops, at large steps, with nothing to tune.
//!
//! ```
//! use linkwork::scene::{Body, Geometry, Joint, Scene, WORLD};
//! use linkwork::{Scratch, StepParams, World, step};
//!
//! // a thousand-kilogram ball on a chain of one-kilogram links
//! let mut scene = Scene::new("wrecking ball");
//! let mut above = WORLD.to_string();
//! for i in 0..20 {
//!     let link = format!("link {i}");
//!     let x = 0.2 * f64::from(i);
//!     scene.body(Body::new(&link).at([x + 0.1, 0.0, 0.0]).with_mass(1.0).shape(Geometry::Box { size: [0.2, 0.04, 0.04] }));
//!     scene.joint(Joint::ball(format!("pin {i}"), &above, &link, [x, 0.0, 0.0]));
//!     above = link;
//! }
//! scene.body(Body::new("ball").at([4.0, 0.0, 0.0]).with_mass(1000.0).shape(Geometry::Sphere { radius: 0.3 }));
//! scene.joint(Joint::ball("hook", &above, "ball", [4.0, 0.0, 0.0]));
//!
//! let mut world = World::build(&scene)?;
//! let (mut scratch, params) = (Scratch::default(), StepParams::new(1.0 / 60.0));
//! for _ in 0..60 {
//!     let report = step(&mut world, &mut scratch, &params)?;
//!     assert!(report.joint_error.max_m < 1e-9);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading order: [`scene`] describes, [`World`] runs, [`step()`] advances it, [`StepReport`] says what happened.

pub mod scene;

mod params;
pub use params::{ContactSolver, Method, StepParams, Stepper};

mod events;
mod flight;
mod sleep;
mod step;
pub use step::{Scratch, step};

mod world;
pub use world::{Snapshot, World};

mod edit;
mod observe;
pub use observe::{Assembly, Census, CoordinateReading, Energy, Momentum, Reaction};

mod names;
mod range;
mod report;
pub use report::{Cause, JointError, LeftToDirect, Stages, StepKind, StepKinds, StepReport, Warning};

mod error;
pub use error::{BuildError, SceneError, StepError};

mod handle;
pub use handle::{BodyId, Id, JointId, kinds};

mod body;
mod joint;
pub use joint::BlackBox;

mod mechanism;
pub mod reduced;

mod contact;
mod parallel;
pub use contact::{Contact, ContactEvent, collision, lcp};

mod collide;
pub use collide::{DeepOverlap, Hit, QueryFilter, SensorEvent, TimeOfImpact};

mod math;
pub use math::{Pose, Twist, Wrench};

mod linalg;

pub mod ode;
pub mod particle;

mod equations;
pub use equations::WorldEquations;

pub use glam;
pub use scene::Scene;
