//! How far a body slips on another within a step.
//!
//! Friction holds velocities along the rows of the start of the step. On what turns that is not enough: a body that lies on a turntable and
//! goes straight along its velocity ends ½ω²r h² farther out, in every step. So the way that surfaces slip is found from where bodies begin
//! and end, and what it is longer than velocities say is given to the solver (docs/method.md, The second look).
//!
//! With c the place of contact, x the middle of a body, u its way and θ its turn, both seen from the other body,
//!
//! slip = u + θ × ½((c − x) + (c' − x'))
//!
//! What is held has no θ, and its slip is exact however far both are turned. What rolls on something flat has the same lever c − x at both
//! ends, and its slip is exact, too. Two round bodies that roll on each other are neither; there it is of second order.

use crate::math::{Placed, rotation};
use glam::DVec3;

/// The way of b's surface along a's, where they touch: at `from` where the step begins, at `to` where it ends. Poses are those of the
/// start and of the end; the way is told in the axes of the start.
pub(super) fn slip(a: [&Placed; 2], b: [&Placed; 2], [from, to]: [DVec3; 2]) -> DVec3 {
    let (of_b, of_a) = (seen_from(a, b, [from, to]), seen_from(b, a, [from, to]));
    // the one whose lever stays is round, or is held
    if of_b.lever_changes <= of_a.lever_changes { of_b.way } else { -of_a.way }
}

/// The angle about an axis by which both bodies turn: friction that holds them turns along.
pub(super) fn common_spin(a: [&Placed; 2], b: [&Placed; 2], axis: DVec3) -> f64 {
    let [a, b] = [a, b].map(|[start, end]| rotation::log(end.q * start.q.inverse()).dot(axis));
    if a.signum() != b.signum() { 0.0 } else { a.abs().min(b.abs()) * a.signum() }
}

struct Way {
    way: DVec3,
    lever_changes: f64,
}

/// How the surface of `body` goes along that of `other`, from which it is looked at.
fn seen_from(other: [&Placed; 2], body: [&Placed; 2], [from, to]: [DVec3; 2]) -> Way {
    let back = other[0].r * other[1].r.transpose();
    let seen = |point: DVec3| other[0].x + back * (point - other[1].x);
    let turn = rotation::log(other[0].q * other[1].q.inverse() * body[1].q * body[0].q.inverse());
    let (end, levers) = (seen(body[1].x), [from - body[0].x, seen(to) - seen(body[1].x)]);
    Way {
        way: end - body[0].x + turn.cross(0.5 * (levers[0] + levers[1])),
        lever_changes: (levers[1] - levers[0]).length_squared(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn placed(x: [f64; 3], turn: [f64; 3]) -> Placed {
        Placed::new(x.into(), rotation::exp(turn.into()))
    }

    #[test]
    fn what_is_held_does_not_slip_however_both_are_turned() {
        let (a, b) = (placed([0.1, -0.2, 0.3], [0.4, 0.1, -0.2]), placed([1.0, 0.4, 0.2], [-0.3, 0.2, 0.5]));
        let motion = placed([0.3, 0.1, -0.4], [0.7, -0.9, 1.1]);
        let carried = |p: &Placed| Placed::new(motion.x + motion.r * p.x, motion.q * p.q);
        let touch = DVec3::new(0.5, 0.1, 0.2);
        let slipped = slip([&a, &carried(&a)], [&b, &carried(&b)], [touch, motion.x + motion.r * touch]);
        assert!(slipped.length() < 1e-15, "{slipped}");
        // the same with a shove of b along x before both are carried
        let shoved = Placed::new(b.x + DVec3::X * 0.01, b.q);
        let slipped = slip([&a, &carried(&a)], [&b, &carried(&shoved)], [touch, motion.x + motion.r * touch]);
        assert!((slipped - DVec3::X * 0.01).length() < 1e-15, "{slipped}");
    }

    #[test]
    fn a_ball_that_rolls_does_not_slip_whichever_body_it_is() {
        let (radius, angle) = (0.3, 0.8);
        let (ground, way) = (placed([5.0, -7.0, 0.0], [0.0; 3]), DVec3::X * radius * angle);
        let ball = placed([0.2, 0.1, radius], [0.3, 0.2, 0.1]);
        let rolled = Placed::new(ball.x + way, DQuat::from_rotation_y(angle) * ball.q);
        let touch = DVec3::new(0.2, 0.1, 0.0);
        let places = [touch, touch + way];
        assert!(slip([&ground, &ground], [&ball, &rolled], places).length() < 1e-15);
        assert!(slip([&ball, &rolled], [&ground, &ground], places).length() < 1e-15);
        // a ball that only spins slips by its arc, and b goes the other way if it is the ground
        let spun = Placed::new(ball.x, rolled.q);
        let arc = slip([&ground, &ground], [&ball, &spun], [touch; 2]);
        assert!((arc + way).length() < 1e-15, "{arc}");
        assert!((slip([&ball, &spun], [&ground, &ground], [touch; 2]) - way).length() < 1e-15);
    }
}
