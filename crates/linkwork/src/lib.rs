//! Articulated rigid bodies whose joints are hard.

pub mod error;
pub mod scene;

pub use error::{BuildError, SceneError};
pub use scene::Scene;
