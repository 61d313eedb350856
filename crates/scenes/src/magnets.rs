//! Weinstein's magnets: letters slide down a refrigerator's door and pile up on its ledge.
//!
//! The door is the plane y = 0. Every letter is held to it by a planar joint, whose friction lets it slide and turn slowly;
//! letters collide with each other, with the ledge and with the walls at the sides. A letter is made of bars.

use glam::DVec3;
use linkwork::Scene;
use linkwork::scene::{Body, Coordinate, Joint, JointKind, Shape, Stepping};

use crate::Entry;
use crate::parameters::{Parameter, Values};
use crate::place::{Seeded, block, silent, wxyz};

const LETTER_HEIGHT: f64 = 0.06;
const LETTER_WIDTH: f64 = 0.04;
const BAR: f64 = 0.012;
const THICKNESS: f64 = 0.01;
const MASS: f64 = 0.02;
const COLUMNS: usize = 14;
const PITCH: f64 = 0.085;
const LEDGE_DEPTH: f64 = 0.03;

pub(crate) const ENTRY: Entry = Entry {
    name: "magnets",
    collides: true,
    summary: "Magnetic letters slide down the door of a refrigerator and pile up.",
    parameters: &[
        Parameter::count("letters", 210.0, 1.0, 2000.0, "number of letters"),
        Parameter::real("friction", 0.05, 0.0, 10.0, "N", "friction of a letter on the door"),
    ],
    build: |values| Ok(magnets(values)),
};

/// Bars of a letter: the left and right uprights, and the bars at the foot, in the middle and at the top.
const LETTERS: [[bool; 5]; 6] = [
    [true, false, true, false, false], // L
    [true, true, true, false, false],  // U
    [true, false, true, true, true],   // E
    [true, false, false, true, true],  // F
    [true, true, false, true, false],  // H
    [true, true, true, false, true],   // O
];

fn magnets(values: &Values) -> Scene {
    let mut scene = Scene { step: Stepping { dt: 1.0 / 60.0, duration: 10.0 }, ..Scene::default() };
    let letters = values.count("letters");
    let width = COLUMNS as f64 * PITCH;
    let height = PITCH * letters.div_ceil(COLUMNS) as f64 + 0.6;
    let mut door = block(DVec3::new(0.0, 0.05, height / 2.0), [width + 0.1, 0.08, height]);
    silent(&mut door);
    scene.body(Body::fixed("door").placed_shape(door));
    let mut frame = Body::fixed("ledge").placed_shape(block(DVec3::Z * -0.01, [width + 0.1, LEDGE_DEPTH, 0.02]));
    for side in [-1.0, 1.0] {
        let wall = DVec3::new(side * (width / 2.0 + 0.04), 0.0, height / 2.0);
        frame = frame.placed_shape(block(wall, [0.02, LEDGE_DEPTH, height]));
    }
    scene.body(frame);
    let mut random = Seeded::new(210);
    let slides = values.real("friction");
    for k in 0..letters {
        let (column, row) = (k % COLUMNS, k / COLUMNS);
        let x = (column as f64 - 0.5 * (COLUMNS - 1) as f64) * PITCH;
        let at = DVec3::new(x, 0.0, 0.5 + row as f64 * PITCH);
        let turn = glam::DQuat::from_rotation_y(random.between(-0.3, 0.3));
        let name = format!("letter{k}");
        let mut body = Body::new(&name).at(at).oriented(wxyz(turn)).with_mass(MASS);
        body.shapes = bars(LETTERS[k % LETTERS.len()]);
        scene.body(body);
        let mut joint = Joint::new(JointKind::Planar, format!("magnet{k}"), "door", &name).at(at).axis(DVec3::Y);
        if slides > 0.0 {
            joint = joint
                .with(Coordinate::of("x").friction(slides))
                .with(Coordinate::of("y").friction(slides))
                .with(Coordinate::of("angle").friction(0.3 * slides * LETTER_HEIGHT));
        }
        scene.joint(joint);
    }
    scene
}

fn bars(letter: [bool; 5]) -> Vec<Shape> {
    let (x, z) = ((LETTER_WIDTH - BAR) / 2.0, (LETTER_HEIGHT - BAR) / 2.0);
    let upright = |x: f64| block(DVec3::X * x, [BAR, THICKNESS, LETTER_HEIGHT]);
    let level = |z: f64| block(DVec3::Z * z, [LETTER_WIDTH, THICKNESS, BAR]);
    let all = [upright(-x), upright(x), level(-z), level(0.0), level(z)];
    all.into_iter().zip(letter).filter(|(_, present)| *present).map(|(bar, _)| bar).collect()
}
