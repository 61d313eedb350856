//! The table of targets: which scenes, at which size and step, and what they must show.

use crate::failure::Failure;
use crate::source::{Source, unknown_scene};

/// A scene to be measured.
#[derive(Debug)]
pub struct Case {
    /// Its name in the registry.
    pub scene: &'static str,
    /// Its parameters.
    pub settings: &'static [(&'static str, f64)],
    /// Step size, s.
    pub dt: f64,
    /// Time to simulate, s.
    pub duration: f64,
    /// What it must show.
    pub targets: &'static [Target],
}

/// What a scene must show.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Every joint closed to this gap, m, and no step failed.
    JointError(f64),
    /// Median CPU time of a step, ms.
    StepTime(f64),
    /// Median CPU time of the steps that were accurate, ms.
    AccurateStepTime(f64),
    /// Energy does not rise above the initial one by more than this part of the largest kinetic energy.
    EnergyRise(f64),
    /// Energy does not differ from the initial one by more than this part of the largest kinetic energy.
    EnergyDrift(f64),
    /// No body moves farther than this from its start, m.
    Displacement(f64),
    /// So many rows are found redundant.
    RedundantRows(usize),
    /// Mean iterations of the joint correction.
    JointIterations(f64),
    /// Mean CPU time of a step, ms.
    MeanStepTime(f64),
    /// CPU time of all steps, s.
    TotalTime(f64),
    /// Nothing is deeper in anything else than this, m.
    Overlap(f64),
    /// The same in the last quarter of the time.
    OverlapAtEnd(f64),
}

/// What the times of two cases must show.
#[derive(Clone, Copy, Debug)]
pub enum Relation {
    /// Time grows at most with this power of the number of rows.
    Growth {
        /// Label of the smaller case.
        from: &'static str,
        /// Label of the larger case.
        to: &'static str,
        /// The power.
        exponent: f64,
    },
    /// Mean time of a step grows at most with this power of the number of rows: for motions whose steps take now one substep and now
    /// eight, so that a median says which of the two is the more frequent and not how much time is spent.
    MeanGrowth {
        /// Label of the smaller case.
        from: &'static str,
        /// Label of the larger case.
        to: &'static str,
        /// The power.
        exponent: f64,
    },
    /// Time of an iteration grows at most with this power of the number of rows: for motions that differ from size to size, so that
    /// their steps take more or fewer iterations.
    IterationGrowth {
        /// Label of the smaller case.
        from: &'static str,
        /// Label of the larger case.
        to: &'static str,
        /// The power.
        exponent: f64,
    },
    /// Time per row is at most this many times that of another case.
    PerRow {
        /// Label of the case.
        case: &'static str,
        /// Label of the one it is held against.
        against: &'static str,
        /// How many times.
        factor: f64,
    },
}

/// How close to linear "linear" is.
const LINEAR: f64 = 1.15;

/// Well below linear: a chain ten times as long costs less than three times as much.
const SUBLINEAR: f64 = 0.5;

/// Milliseconds of a frame: what takes no longer runs in real time at 60 Hz.
const FRAME_MS: f64 = 1e3 / 60.0;
/// How close to linear growth contact scenes stay.
const LINEAR_IN_CONTACT: f64 = 1.1;

use Target::{
    AccurateStepTime, Displacement, EnergyDrift, EnergyRise, JointError, JointIterations, MeanStepTime, Overlap,
    OverlapAtEnd, RedundantRows, StepTime, TotalTime,
};

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        scene: "tree",
        settings: &[("bodies", 127.0)],
        dt: 1.0 / 30.0,
        duration: 10.0,
        targets: &[JointError(1e-9), EnergyRise(0.01), AccurateStepTime(0.12)],
    },
    Case {
        scene: "tree",
        settings: &[("bodies", 1023.0)],
        dt: 1.0 / 30.0,
        duration: 10.0,
        targets: &[JointError(1e-9), EnergyRise(0.01)],
    },
    Case {
        scene: "tree",
        settings: &[("bodies", 4095.0)],
        dt: 1.0 / 30.0,
        duration: 4.0,
        targets: &[JointError(1e-9), EnergyRise(0.01)],
    },
    Case {
        scene: "star",
        settings: &[("bodies", 127.0)],
        dt: 1.0 / 30.0,
        duration: 10.0,
        targets: &[JointError(1e-9)],
    },
    Case {
        scene: "wrecking-ball",
        settings: &[("mass", 1e3)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), EnergyDrift(0.02), StepTime(0.05)],
    },
    Case {
        scene: "wrecking-ball",
        settings: &[("mass", 1e6)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), EnergyDrift(0.02), StepTime(0.05)],
    },
    Case {
        scene: "scissor-lift",
        settings: &[("pairs", 10.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), Displacement(1e-6), StepTime(0.03), RedundantRows(34)],
    },
    Case {
        scene: "scissor-lift",
        settings: &[("pairs", 50.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), Displacement(1e-6), StepTime(0.15), RedundantRows(154)],
    },
    Case {
        scene: "scissor-lift",
        settings: &[("pairs", 220.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), Displacement(1e-6), StepTime(0.7), RedundantRows(664)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 12.0)],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-9)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 50.0)],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-9), StepTime(0.7)],
    },
    // the same radius, so that legs move alike: a wider body turns faster at its rim, which takes more iterations and substeps
    Case {
        scene: "spider",
        settings: &[("legs", 50.0), ("radius", 0.8)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9)],
    },
    Case {
        scene: "spider",
        settings: &[("legs", 200.0), ("radius", 0.8)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9)],
    },
    Case {
        scene: "peaucellier",
        settings: &[],
        dt: 0.03,
        duration: 15.0,
        targets: &[JointError(1e-9), JointIterations(4.0)],
    },
    Case { scene: "tube", settings: &[("rings", 8.0)], dt: 1.0 / 60.0, duration: 0.5, targets: &[JointError(1e-9)] },
    Case { scene: "excavator", settings: &[], dt: 1.0 / 30.0, duration: 10.0, targets: &[JointError(1e-9)] },
    Case { scene: "crane-load", settings: &[], dt: 1.0 / 30.0, duration: 10.0, targets: &[JointError(1e-9)] },
    // contact
    Case {
        scene: "pyramid",
        settings: &[("base", 20.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[Overlap(1e-4), Displacement(1e-3)],
    },
    Case {
        scene: "pyramid",
        settings: &[("base", 20.0), ("drop", 0.01)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[OverlapAtEnd(1e-3)],
    },
    Case { scene: "pyramid", settings: &[("base", 50.0)], dt: 1.0 / 60.0, duration: 5.0, targets: &[Overlap(5e-4)] },
    Case {
        scene: "rings",
        settings: &[("rings", 90.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), OverlapAtEnd(5e-4)],
    },
    Case {
        scene: "rings",
        settings: &[("rings", 360.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), OverlapAtEnd(5e-4)],
    },
    // as many to a pole as 360 on 25, for as long: while heaps come to rest steps take ever less time
    Case {
        scene: "rings",
        settings: &[("rings", 1440.0), ("poles", 10.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), OverlapAtEnd(5e-4)],
    },
    // ten to a pole, from the smallest size to the largest
    Case {
        scene: "rings",
        settings: &[("rings", 90.0), ("poles", 3.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), OverlapAtEnd(5e-4)],
    },
    Case {
        scene: "rings",
        settings: &[("rings", 1440.0), ("poles", 12.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), OverlapAtEnd(5e-4)],
    },
    // from 12 m on poles of 3 m: a heap in violent motion
    Case {
        scene: "rings",
        settings: &[("rings", 1440.0)],
        dt: 1.0 / 60.0,
        duration: 1.0,
        targets: &[JointError(1e-6)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 12.0), ("load", 0.0), ("ground", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.06)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 12.0), ("load", 20.0), ("ground", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.06)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 50.0), ("load", 0.0), ("ground", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.3)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 50.0), ("load", 20.0), ("ground", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.3)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 12.0), ("load", 20.0), ("ground", 1.0), ("slope", 0.2), ("brake", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.06)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 50.0), ("load", 20.0), ("ground", 1.0), ("slope", 0.2), ("brake", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.3)],
    },
    // runs down the slope, as in MuJoCo
    Case {
        scene: "strandbeest",
        settings: &[("legs", 12.0), ("load", 20.0), ("ground", 1.0), ("slope", 0.2)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4)],
    },
    Case {
        scene: "crane",
        settings: &[("load", 50.0)],
        dt: 0.25,
        duration: 10.0,
        targets: &[JointError(1e-6), Overlap(1e-6)],
    },
    Case {
        scene: "crane",
        settings: &[("load", 5e7)],
        dt: 0.25,
        duration: 10.0,
        targets: &[JointError(1e-6), Overlap(1e-6)],
    },
    Case {
        scene: "gripper",
        settings: &[("mass", 10.0), ("lift", 0.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), Displacement(1e-6)],
    },
    Case {
        scene: "gripper",
        settings: &[("mass", 1e4), ("lift", 0.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-6), Displacement(1e-6)],
    },
    Case {
        scene: "net",
        settings: &[],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-6), MeanStepTime(FRAME_MS)],
    },
    Case {
        scene: "bridge",
        settings: &[],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-6), MeanStepTime(FRAME_MS)],
    },
    Case {
        scene: "tank",
        settings: &[],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-6), MeanStepTime(FRAME_MS)],
    },
    Case {
        scene: "magnets",
        settings: &[],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-6), MeanStepTime(FRAME_MS)],
    },
    Case {
        scene: "skeletons",
        settings: &[],
        dt: 1.0 / 60.0,
        duration: 5.0,
        targets: &[JointError(1e-6), MeanStepTime(FRAME_MS)],
    },
];

/// The same in reduced coordinates.
pub const REDUCED: &[Case] = &[
    // before it whips, after five seconds: then steps are halved
    Case {
        scene: "tree",
        settings: &[("bodies", 127.0)],
        dt: 1.0 / 30.0,
        duration: 4.0,
        targets: &[JointError(1e-9), EnergyRise(0.01), StepTime(0.09)],
    },
    Case {
        scene: "scissor-lift",
        settings: &[("pairs", 10.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), Displacement(1e-6), StepTime(0.05)],
    },
    Case {
        scene: "scissor-lift",
        settings: &[("pairs", 50.0)],
        dt: 1.0 / 60.0,
        duration: 10.0,
        targets: &[JointError(1e-9), Displacement(1e-6), StepTime(0.3)],
    },
    Case {
        scene: "strandbeest",
        settings: &[("legs", 12.0), ("load", 20.0), ("ground", 1.0)],
        dt: 0.02,
        duration: 5.0,
        targets: &[JointError(1e-6), Overlap(1e-4), TotalTime(0.026)],
    },
];

/// What the cases must show together.
pub const RELATIONS: &[Relation] = &[
    Relation::Growth { from: "tree bodies=127", to: "tree bodies=4095", exponent: LINEAR },
    Relation::PerRow { case: "star bodies=127", against: "tree bodies=127", factor: 2.0 },
    Relation::Growth { from: "strandbeest legs=12", to: "strandbeest legs=50", exponent: LINEAR },
    Relation::MeanGrowth { from: "spider legs=50 radius=0.8", to: "spider legs=200 radius=0.8", exponent: LINEAR },
    Relation::IterationGrowth { from: "spider legs=50 radius=0.8", to: "spider legs=200 radius=0.8", exponent: LINEAR },
    Relation::Growth { from: "rings rings=90", to: "rings rings=1440", exponent: LINEAR_IN_CONTACT },
    Relation::Growth { from: "rings rings=90 poles=3", to: "rings rings=1440 poles=12", exponent: LINEAR_IN_CONTACT },
    Relation::Growth { from: "rings rings=360", to: "rings rings=1440 poles=10", exponent: LINEAR_IN_CONTACT },
    Relation::Growth { from: "adaptive step, chain of 1000", to: "adaptive step, chain of 10000", exponent: SUBLINEAR },
    Relation::Growth {
        from: "adaptive step, chain of 1000 on the ground",
        to: "adaptive step, chain of 10000 on the ground",
        exponent: SUBLINEAR,
    },
    Relation::Growth { from: "particles neighbours=10000", to: "particles neighbours=40000", exponent: LINEAR },
];

impl Case {
    /// Scene and parameters on one line.
    pub fn label(&self) -> String {
        label(self.scene, self.settings.iter().map(|&(key, value)| (key, value)))
    }

    /// The scene.
    pub fn source(&self) -> Result<Source, Failure> {
        let entry = linkwork_scenes::find(self.scene).ok_or_else(|| unknown_scene(self.scene))?;
        let settings: Vec<(String, f64)> = self.settings.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
        Source::from_registry(entry, &settings)
    }
}

/// Scene and parameters on one line.
pub fn label<'a>(scene: &str, settings: impl Iterator<Item = (&'a str, f64)>) -> String {
    let mut label = scene.to_owned();
    for (key, value) in settings {
        label.push_str(&format!(" {key}={value}"));
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_built_and_every_relation_names_cases() {
        for case in CASES.iter().chain(REDUCED) {
            if let Err(failure) = case.source() {
                panic!("{}: {}", case.label(), failure.text());
            }
        }
        let mut labels: Vec<String> = CASES.iter().map(Case::label).collect();
        labels.extend(super::super::algorithms::ALGORITHMS.iter().map(|case| case.label.to_owned()));
        labels.extend(super::super::particles::SYSTEMS.iter().map(|case| case.label.to_owned()));
        for relation in RELATIONS {
            let (Relation::Growth { from: a, to: b, .. }
            | Relation::MeanGrowth { from: a, to: b, .. }
            | Relation::IterationGrowth { from: a, to: b, .. }
            | Relation::PerRow { case: a, against: b, .. }) = relation;
            for label in [a, b] {
                assert!(labels.iter().any(|known| known == label), "{label}");
            }
        }
    }
}
