//! A wall of exhibits: one joint of each kind, then what can act on a joint's coordinates, each moving in its own way.
//!
//! Exhibits stand in the plane x-z, in rows from the top, and are looked at from −y. Each has a mount that never moves,
//! and bodies and joints named after it: "hinge.mount", "hinge.bar", "hinge.joint".

mod acting;
mod kinds;

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Shape, Stepping};

use crate::Entry;

const COLUMN: f64 = 1.8;
const ROW: f64 = 2.0;
const COLUMNS: usize = 6;

pub(crate) const ENTRY: Entry = Entry {
    name: "joints",
    collides: false,
    summary: "Every kind of joint, and every limit, spring, friction and motor, each in an exhibit of its own.",
    parameters: &[],
    build: |_| Ok(wall()),
};

type Show = fn(&mut Exhibit);

fn wall() -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 120.0, duration: 10.0 }, ..Scene::default() };
    let shows: Vec<(&str, Show)> = kinds::SHOWS.iter().chain(acting::SHOWS).copied().collect();
    let rows = shows.len().div_ceil(COLUMNS);
    for (place, (name, show)) in shows.into_iter().enumerate() {
        let (row, column) = (place / COLUMNS, place % COLUMNS);
        let x = (column as f64 - (COLUMNS - 1) as f64 / 2.0) * COLUMN;
        let z = (rows - row) as f64 * ROW;
        show(&mut Exhibit { scene: &mut scene, name, at: DVec3::new(x, 0.0, z) });
    }
    scene
}

/// One place of the wall. Points are given from its middle, which has room for 0.8 m to each side.
struct Exhibit<'a> {
    scene: &'a mut Scene,
    name: &'a str,
    at: DVec3,
}

impl Exhibit<'_> {
    fn named(&self, part: &str) -> String {
        format!("{}.{part}", self.name)
    }

    fn point(&self, x: f64, y: f64, z: f64) -> DVec3 {
        self.at + DVec3::new(x, y, z)
    }

    /// The part that never moves: pieces in coordinates of the exhibit.
    fn mount(&mut self, pieces: impl IntoIterator<Item = Shape>) {
        let mut mount = Body::fixed(self.named("mount")).at(self.at);
        mount.shapes = pieces.into_iter().collect();
        self.scene.body(mount);
    }

    /// Adds a body that was made under the name of its part.
    fn part(&mut self, mut body: Body) {
        body.name = self.named(&body.name);
        self.scene.body(body);
    }

    /// Adds a joint that was made under the names of its parts.
    fn joint(&mut self, mut joint: Joint) {
        joint.name = self.named(&joint.name);
        joint.a = joint.a.map(|part| self.named(&part));
        joint.b = joint.b.map(|part| self.named(&part));
        joint.joints = joint.joints.iter().map(|part| self.named(part)).collect();
        self.scene.joint(joint);
    }
}

const STEEL: f64 = 1000.0;

/// A small block on which things hang.
fn hook(at: DVec3) -> Shape {
    Shape::new(Geometry::Box { size: [0.12; 3] }).at(at)
}
