//! A scissor lift with a load, hinged to the world at both feet: rigid and overconstrained, so nothing may move.
//!
//! Pair i fills the height from i to i + 1 m: bars of 2 m at 30° to the horizontal cross in the middle.
//! In its plane the lift has one condition too many; in space, with n pairs, 15 n + 10 rows hold 12 n + 6 freedoms.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::bar;

const BAR_LENGTH: f64 = 2.0;
const BAR_MASS: f64 = 5.0;
const BAR_SECTION: f64 = 0.06;
const LOAD_MASS: f64 = 1000.0;
const LOAD_INERTIA: f64 = 15.0;

pub(crate) const ENTRY: Entry = Entry {
    name: "scissor-lift",
    collides: false,
    summary: "An overconstrained scissor lift holds a tonne and does not move.",
    parameters: &[Parameter::count(
        "pairs",
        10.0,
        1.0,
        2000.0,
        "number of crossing pairs of bars, one above the other",
    )],
    build: |values| Ok(lift(values)),
};

fn lift(values: &Values) -> Scene {
    let pairs = values.count("pairs");
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let half_width = BAR_LENGTH * 30.0_f64.to_radians().cos() / 2.0;
    let rise = BAR_LENGTH / 2.0;
    let left = |level: usize| DVec3::new(-half_width, 0.0, level as f64 * rise);
    let right = |level: usize| DVec3::new(half_width, 0.0, level as f64 * rise);

    for pair in 0..pairs {
        let (rising, falling) = (format!("rising{pair}"), format!("falling{pair}"));
        scene.body(bar(&rising, left(pair), right(pair + 1), BAR_SECTION).with_mass(BAR_MASS));
        scene.body(bar(&falling, left(pair + 1), right(pair), BAR_SECTION).with_mass(BAR_MASS));
        let middle = (left(pair) + right(pair + 1)) / 2.0;
        // What stands on the right ends on the left, so each bar carries the other bar of the pair above.
        let (below_left, below_right) = match pair {
            0 => (WORLD.to_string(), WORLD.to_string()),
            _ => (format!("falling{}", pair - 1), format!("rising{}", pair - 1)),
        };
        scene.joint(Joint::hinge(format!("left{pair}"), below_left, &rising, left(pair), DVec3::Y));
        scene.joint(Joint::hinge(format!("right{pair}"), below_right, &falling, right(pair), DVec3::Y));
        scene.joint(Joint::hinge(format!("cross{pair}"), rising, falling, middle, DVec3::Y));
    }

    let platform = Geometry::Box { size: [2.0 * half_width, 0.4, 0.2] };
    scene.body(
        Body::new("load")
            .at((left(pairs) + right(pairs)) / 2.0)
            .with_mass(LOAD_MASS)
            .with_inertia([LOAD_INERTIA; 3])
            .shape(platform),
    );
    let (top_left, top_right) = (format!("falling{}", pairs - 1), format!("rising{}", pairs - 1));
    scene.joint(Joint::hinge(format!("left{pairs}"), top_left, "load", left(pairs), DVec3::Y));
    scene.joint(Joint::hinge(format!("right{pairs}"), top_right, "load", right(pairs), DVec3::Y));
    scene
}
