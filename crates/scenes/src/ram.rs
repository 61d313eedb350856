//! Hydraulic rams: a cylinder and a rod that slide in each other, hinged at both ends.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Coordinate, Joint};

use crate::place::{ball, between, tube};

/// A ram between two bodies of a planar mechanism across y.
pub(crate) struct Ram<'a> {
    pub(crate) name: &'a str,
    /// Body and point at the cylinder's foot.
    pub(crate) foot: (&'a str, DVec3),
    /// Body and point at the rod's head.
    pub(crate) head: (&'a str, DVec3),
    /// Outer radius of the cylinder, m.
    pub(crate) radius: f64,
    /// Mass of cylinder and rod together, kg.
    pub(crate) mass: f64,
    /// What moves and stops the rod: the `displacement`, positive when the ram extends.
    pub(crate) drive: Coordinate,
}

impl Ram<'_> {
    /// Adds two bodies `<name>.cylinder`, `<name>.rod` and the joints `<name>.foot`, `<name>.slide`, `<name>.head`.
    pub(crate) fn add_to(self, scene: &mut Scene) {
        let (foot, head) = (self.foot.1, self.head.1);
        let length = foot.distance(head);
        let along = (head - foot) / length;
        let (cylinder, rod) = (format!("{}.cylinder", self.name), format!("{}.rod", self.name));
        let lip = foot + 0.6 * length * along;
        let piston = head - 0.65 * length * along;
        let half = |part: f64| DVec3::X * part * length / 2.0;
        scene.body(between(&cylinder, foot, lip).with_mass(0.65 * self.mass).placed_shape(tube(
            -half(0.6),
            half(0.6),
            self.radius,
        )));
        scene.body(
            between(&rod, piston, head)
                .with_mass(0.35 * self.mass)
                .placed_shape(tube(-half(0.65), half(0.65), 0.55 * self.radius))
                .placed_shape(ball(half(0.65), 0.8 * self.radius)),
        );
        scene.joint(Joint::hinge(format!("{}.foot", self.name), self.foot.0, &cylinder, foot, DVec3::Y));
        scene.joint(Joint::slider(format!("{}.slide", self.name), cylinder, &rod, lip, along).with(self.drive));
        scene.joint(Joint::hinge(format!("{}.head", self.name), rod, self.head.0, head, DVec3::Y));
    }
}
