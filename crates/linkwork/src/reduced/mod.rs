//! Reduced coordinates: a world as a tree whose joints are its coordinates, and Featherstone's algorithms on it.
//!
//! A [`Model`] is made from any [`World`](crate::World); [`Data`] is working memory and results; the algorithms are free
//! functions of both. [`state_of`] and [`set_state`] go between the poses of a world and the coordinates of its tree.
//!
//! ```
//! use linkwork::reduced::{self, Data, Model};
//! use linkwork::scene::{Body, Joint, Scene, WORLD};
//! use linkwork::World;
//!
//! // a pendulum of 2 kg, 0.5 m below its hinge, held out horizontally
//! let mut scene = Scene::new("pendulum");
//! scene.body(Body::new("bob").at([0.5, 0.0, 0.0]).with_mass(2.0).with_inertia([0.1, 0.1, 0.1]));
//! scene.joint(Joint::hinge("hinge", WORLD, "bob", [0.0; 3], [0.0, 1.0, 0.0]));
//! let world = World::build(&scene)?;
//!
//! let model = Model::of(&world);
//! let (mut data, state) = (Data::new(&model), reduced::state_of(&model, &world, None));
//! reduced::aba(&model, &mut data, &state.q, &state.v, &[0.0], &[]);
//! let expected = 2.0 * 9.81 * 0.5 / (0.1 + 2.0 * 0.5 * 0.5);
//! assert!((data.acceleration[0] - expected).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! docs/reduced.md has the equations and the table of symbols.

mod model;
pub use model::Model;

mod kinematics;
pub use kinematics::{Data, State, forward_kinematics, set_state, state_of};

mod aba;
pub use aba::aba;

mod inverse;
pub use inverse::{Centroidal, centroidal, crba, jacobian, rnea};

mod assembly;
mod handles;

mod dca;
pub use dca::divide_and_conquer;

mod adaptive;
pub use adaptive::{Activity, Adaptive, CannotAdapt, CannotStep, Stepped, would_touch};

mod impulse;
pub use impulse::{
    CannotPrescribe, Prescribed, PrescribedVelocity, Target, collision_matrix, point_row, prescribe,
    prescribe_velocities, rate_of_change, respond,
};

mod closing;
mod loops;

mod mass;

mod spatial;
pub use spatial::{Force6, Motion6};

/// What the step of a mechanism uses.
pub(crate) mod adaptor {
    pub(crate) use super::aba::{accelerate_driven, factor};
    pub(crate) use super::closing::{Closing, Term};
    pub(crate) use super::inverse::{centroidal, crba_placed, each_column, rnea_driven};
    pub(crate) use super::kinematics::{
        Data, drive, place, place_at, read_positions, read_rates, set_accelerations, set_velocities,
    };
    pub(crate) use super::loops::{Loops, each_rate};
    pub(crate) use super::mass::Factor;
    pub(crate) use super::model::{Edge, Link, Model};
}
