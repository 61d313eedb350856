//! How much of the work is for nothing.

use crate::common::{Run, registered};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<f64> = const { Cell::new(0.0) };
}

/// A clock that goes on by one whenever it is looked at: stage times become numbers of stages.
fn calls() -> f64 {
    CALLS.with(|calls| calls.replace(calls.get() + 1.0))
}

/// Symptom: a spider's step of 1/60 s was tried, found not to converge and halved, again and again, and so were its halves; a third
/// of all iterations were thrown away. Cause: nothing was learnt from the substeps before.
#[test]
fn steps_that_will_not_converge_are_hardly_ever_tried() {
    let mut run = Run::new(&registered("spider", &[("legs", 50.0), ("radius", 0.8)]), 1.0 / 60.0);
    run.params.clock = Some(calls);
    let (mut predictions, mut used, mut halved) = (0.0, 0.0, 0);
    for _ in 0..300 {
        let report = run.step();
        predictions += report.stages.predict;
        // a substep predicts once more than it corrects
        used += report.joint_iterations + f64::from(report.substeps);
        halved += usize::from(report.substeps > 1);
    }
    assert!(halved > 100, "the motion is not fast enough to tell anything: {halved} steps were halved");
    let wasted = 1.0 - used / predictions;
    assert!((0.0..0.1).contains(&wasted), "{used} of {predictions} predictions were of use");
}

/// Symptom: in a pile of many mechanisms the stages added up to many times the time of the step. Cause: each of them counted the time
/// in which the others, or the contacts, were at work.
#[test]
fn stages_add_up_to_the_time_of_a_step() {
    thread_local! {
        static START: std::time::Instant = std::time::Instant::now();
    }
    fn seconds() -> f64 {
        START.with(|start| start.elapsed().as_secs_f64())
    }
    for (name, settings) in
        [("rings", &[("rings", 20.0)][..]), ("strandbeest", &[("ground", 1.0)]), ("pyramid", &[("base", 8.0)])]
    {
        let mut run = Run::new(&registered(name, settings), 1.0 / 60.0);
        run.params.clock = Some(seconds);
        run.to(0.8);
        // of several attempts the best: others may be given the processor at any time
        let (mut best, mut most_contact) = (0.0_f64, 0.0_f64);
        for _ in 0..5 {
            let (mut stages, mut contact) = (0.0, 0.0);
            let before = seconds();
            for _ in 0..20 {
                let s = run.step().stages;
                stages += s.assemble + s.factor + s.solve + s.predict + s.collide + s.contact + s.other;
                contact += s.contact + s.collide;
            }
            let elapsed = seconds() - before;
            assert!(stages <= elapsed, "{name}: {stages} of {elapsed} s");
            best = best.max(stages / elapsed);
            most_contact = most_contact.max(contact / stages);
        }
        assert!(most_contact > 0.1, "{name}: contacts take {most_contact} of the stages");
        assert!(best > 0.6, "{name}: stages are {best} of the time");
    }
}
