//! Named scenes with parameters, written once for tests, benches, the command line and the viewer.
//!
//! ```
//! let pendulum = linkwork_scenes::find("double-pendulum").unwrap().default_scene();
//! assert_eq!(pendulum.bodies.len(), 2);
//!
//! let lift = linkwork_scenes::find("scissor-lift").unwrap();
//! let tall = lift.build(&[("pairs".to_string(), 50.0)]).unwrap();
//! assert_eq!(tall.bodies.len(), 101);
//! ```

mod parameters;
mod place;
mod ram;

mod bridge;
mod car;
mod chain;
mod cradle;
mod crane;
mod crane_load;
mod double_pendulum;
mod excavator;
mod four_bar;
mod gripper;
mod joints;
mod magnets;
mod net;
mod particles;
mod peaucellier;
mod pyramid;
mod rings;
mod scissor_lift;
mod skeletons;
mod spider;
mod stewart;
mod strandbeest;
mod tank;
mod top;
mod tree;
mod tube;
mod walker;
mod wrecking_ball;

use linkwork::Scene;
pub use parameters::{Parameter, ParameterError};
use parameters::{Values, nearest};

/// A scene that can be built by name.
#[derive(Debug)]
pub struct Entry {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// One sentence on what it shows.
    pub summary: &'static str,
    /// Whether its bodies collide; in scenes that only show joints, parts are drawn through each other.
    pub collides: bool,
    /// What it can be built with.
    pub parameters: &'static [Parameter],
    build: fn(&Values) -> Result<Scene, ParameterError>,
}

impl Entry {
    /// The scene with some parameters set and the others at their defaults; of two settings of one parameter the later counts.
    pub fn build(&self, settings: &[(String, f64)]) -> Result<Scene, ParameterError> {
        let mut values = Values::defaults(self.name, self.parameters);
        for (name, value) in settings {
            values.set(name, *value)?;
        }
        let mut scene = (self.build)(&values)?;
        scene.name = self.name.to_string();
        scene.description = self.summary.to_string();
        scene.collisions = self.collides;
        Ok(scene)
    }

    /// The scene with every parameter at its default.
    pub fn default_scene(&self) -> Scene {
        self.build(&[]).expect("defaults are allowed, as a test checks for every scene")
    }
}

/// Every scene, in the order in which they are listed.
pub fn all() -> &'static [Entry] {
    static ENTRIES: &[Entry] = &[
        particles::rods::BEAD,
        bridge::ENTRY,
        car::ENTRY,
        chain::ENTRY,
        particles::fabric::SPHERE,
        particles::fabric::STRANDBEEST,
        cradle::ENTRY,
        crane::ENTRY,
        crane_load::ENTRY,
        double_pendulum::ENTRY,
        excavator::ENTRY,
        particles::fabric::FLAG,
        four_bar::ENTRY,
        gripper::ENTRY,
        particles::fabric::HAMMOCK,
        joints::ENTRY,
        magnets::ENTRY,
        net::ENTRY,
        particles::rods::PENDULUMS,
        peaucellier::ENTRY,
        pyramid::ENTRY,
        rings::ENTRY,
        particles::ropes::BRIDGE,
        particles::ropes::CRANE,
        scissor_lift::ENTRY,
        skeletons::ENTRY,
        spider::ENTRY,
        particles::springs::BLOCK,
        particles::springs::MESH,
        tree::STAR,
        stewart::ENTRY,
        strandbeest::ENTRY,
        tank::ENTRY,
        particles::rods::TINKERTOYS,
        top::ENTRY,
        tree::TREE,
        tube::ENTRY,
        walker::ENTRY,
        wrecking_ball::ENTRY,
    ];
    ENTRIES
}

/// The scene of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    all().iter().find(|entry| entry.name == name)
}

/// The name of a scene that was probably meant by a misspelt one.
pub fn suggest(name: &str) -> Option<&'static str> {
    nearest(name, all().iter().map(|entry| entry.name))
}

#[cfg(test)]
mod tests;
