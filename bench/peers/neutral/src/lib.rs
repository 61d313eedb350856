//! What all runners share: the neutral scene, the protocol of measuring, and the format of trajectories.

mod protocol;
mod scene;

pub use protocol::{Engine, Settings, run};
pub use scene::{Body, Joint, JointKind, Scene, Shape, Solid};
