//! Bender's tree of bars, and the same bars all hung on the root.
//!
//! A full binary tree hangs straight down from the origin. A bar is a box along its own z, length from 11.4 m (root)
//! geometrically to 1.0 m (deepest level), square section a tenth of that, 100 kg/m³.
//! Every bar hangs by its top end on the bottom end of the bar above, 0.05 of that bar's length to the left or right.
//! At the start the whole turns like one rigid body about the origin.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Geometry, Joint, Stepping, WORLD};

use crate::Entry;
use crate::parameters::{Parameter, ParameterError, Values};

const LONGEST: f64 = 11.4;
const SHORTEST: f64 = 1.0;
const SECTION_PER_LENGTH: f64 = 0.1;
const OFFSET_PER_LENGTH: f64 = 0.05;
const DENSITY: f64 = 100.0;
const ANGULAR_VELOCITY: DVec3 = DVec3::new(0.5, 1.0, 0.2);

const PARAMETERS: &[Parameter] =
    &[Parameter::count("bodies", 127.0, 3.0, 65535.0, "number of bars: 3, 7, 15, ..., one less than a power of two")];

pub(crate) const TREE: Entry = Entry {
    name: "tree",
    collides: false,
    summary: "A binary tree of bars on ball joints, turning and then whipping.",
    parameters: PARAMETERS,
    build: |values| Ok(hang(bodies(values)?, |bar| Hook { parent: (bar - 1) / 2, offset: alternate(bar) })),
};

pub(crate) const STAR: Entry = Entry {
    name: "star",
    collides: false,
    summary: "The bars of the tree, all jointed to the root: one body with very many joints.",
    parameters: PARAMETERS,
    // Spread evenly along the same offset, or bars of one length would move as one.
    build: |values| {
        let bodies = bodies(values)?;
        Ok(hang(bodies, |bar| Hook { parent: 0, offset: 2.0 * (bar - 1) as f64 / (bodies - 2) as f64 - 1.0 }))
    },
};

/// Where a bar hangs: on which bar, and how far towards the left (−1) or the right (+1) of its bottom end.
struct Hook {
    parent: usize,
    offset: f64,
}

fn alternate(bar: usize) -> f64 {
    if bar % 2 == 1 { -1.0 } else { 1.0 }
}

fn bodies(values: &Values) -> Result<usize, ParameterError> {
    let bodies = values.count("bodies");
    if (bodies + 1).is_power_of_two() {
        return Ok(bodies);
    }
    let above = (bodies + 1).next_power_of_two();
    let problem = format!("{bodies} is not one less than a power of two");
    Err(values.reject("bodies", problem, Some(format!("try {} or {}", above / 2 - 1, above - 1))))
}

fn hang(bodies: usize, hook: impl Fn(usize) -> Hook) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 30.0, duration: 10.0 }, ..Scene::default() };
    let deepest = level(bodies - 1);
    let length = |bar: usize| LONGEST * (SHORTEST / LONGEST).powf(level(bar) as f64 / deepest as f64);
    let mut tops = vec![DVec3::ZERO];
    for bar in 1..bodies {
        let Hook { parent, offset } = hook(bar);
        let step = DVec3::new(offset * OFFSET_PER_LENGTH, 0.0, -1.0) * length(parent);
        tops.push(tops[parent] + step);
    }
    for (bar, top) in tops.iter().enumerate() {
        let l = length(bar);
        let center = *top - DVec3::Z * l / 2.0;
        scene.body(
            Body::new(format!("bar{bar}"))
                .at(center)
                .moving(ANGULAR_VELOCITY.cross(center), ANGULAR_VELOCITY)
                .with_density(DENSITY)
                .shape(Geometry::Box { size: [SECTION_PER_LENGTH * l, SECTION_PER_LENGTH * l, l] }),
        );
        let above = if bar == 0 { WORLD.to_string() } else { format!("bar{}", hook(bar).parent) };
        scene.joint(Joint::ball(format!("ball{bar}"), above, format!("bar{bar}"), *top));
    }
    scene
}

/// Level of a bar, counting bars in breadth-first order and levels from the root.
fn level(bar: usize) -> u32 {
    (bar + 1).ilog2()
}
