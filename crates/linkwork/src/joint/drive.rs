//! What acts on a joint coordinate: limit, dry friction, damping, spring, motor.

use super::coordinate::CoordinateKind;
use crate::scene::{Limit, Motor, Spring};

/// How far outside its limit a coordinate may be and count as inside, m or rad.
const LIMIT_SLACK: f64 = 1e-6;

/// What acts on one coordinate of a joint, and the state that belongs to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drive {
    pub limit: Option<Limit>,
    pub friction: f64,
    pub damping: f64,
    pub spring: Option<Spring>,
    pub motor: Option<Motor>,
    /// Value of the coordinate with all its turns, at the end of the last step.
    pub value: f64,
    /// Time integral of a servo's error.
    pub integral: f64,
    /// Mean forces over the last substep, from which the next starts (N, N m): limit, dry friction, motor.
    pub forces: BoundedForces,
    /// Mean forces over the last step.
    pub mean: BoundedForces,
}

/// Forces of the bounded rows of a coordinate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BoundedForces {
    pub limit: f64,
    pub friction: f64,
    pub motor: f64,
}

/// The sum of all linear forces on a coordinate: f = bias − stiffness·(q − rest) − damping·q̇.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Linear {
    pub stiffness: f64,
    pub damping: f64,
    pub rest: f64,
    pub bias: f64,
}

impl Linear {
    fn add(&mut self, stiffness: f64, damping: f64, rest: f64) {
        let total = self.stiffness + stiffness;
        if total > 0.0 {
            self.rest = (self.stiffness * self.rest + stiffness * rest) / total;
        }
        self.stiffness = total;
        self.damping += damping;
    }
}

/// A motor's force that has a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum BoundedMotor {
    /// Hold a velocity.
    Velocity { target: f64, max_force: f64 },
    /// Follow a linear law.
    Servo { law: Linear, max_force: f64 },
}

impl Drive {
    /// Whether a motor is told to run, however slowly.
    pub fn is_running(&self) -> bool {
        matches!(self.motor, Some(Motor::Velocity { target, .. }) if target != 0.0)
    }

    /// Whether a soft row is needed: a spring, damper or unbounded servo.
    pub fn is_soft(&self) -> bool {
        self.damping > 0.0 || self.spring.is_some() || matches!(self.motor, Some(Motor::Servo { max_force: None, .. }))
    }

    /// The linear law of the soft row.
    pub fn linear(&self) -> Linear {
        let mut law = Linear::default();
        law.add(0.0, self.damping, 0.0);
        if let Some(s) = self.spring {
            law.add(s.stiffness, s.damping, s.rest);
        }
        if let Some(Motor::Servo { max_force: None, .. }) = self.motor {
            let servo = self.servo_law();
            law.add(servo.stiffness, servo.damping, servo.rest);
            law.bias += servo.bias;
        }
        law
    }

    fn servo_law(&self) -> Linear {
        match self.motor {
            Some(Motor::Servo { target, target_velocity, stiffness, damping, integral, .. }) => {
                Linear { stiffness, damping, rest: target, bias: damping * target_velocity - integral * self.integral }
            }
            _ => Linear::default(),
        }
    }

    /// The motor, if its force has a bound (a velocity motor without one has an infinite bound).
    pub fn bounded_motor(&self) -> Option<BoundedMotor> {
        match self.motor? {
            Motor::Velocity { target, max_force } => {
                Some(BoundedMotor::Velocity { target, max_force: max_force.unwrap_or(f64::INFINITY) })
            }
            Motor::Servo { max_force: Some(max_force), .. } => {
                Some(BoundedMotor::Servo { law: self.servo_law(), max_force })
            }
            _ => None,
        }
    }

    /// The constant force of a force motor.
    pub fn force(&self) -> f64 {
        match self.motor {
            Some(Motor::Force { value }) => value,
            _ => 0.0,
        }
    }

    /// Says how the present value is outside the limit, if it is by more than what steps leave open.
    pub fn limit_exceeded(&self, name: &str, kind: CoordinateKind) -> Option<String> {
        let limit = self.limit?;
        let low = limit.min.is_some_and(|m| self.value < m - LIMIT_SLACK);
        let high = limit.max.is_some_and(|m| self.value > m + LIMIT_SLACK);
        if !low && !high {
            return None;
        }
        let unit = if kind.is_angle() { "rad" } else { "m" };
        let range = match (limit.min, limit.max) {
            (Some(min), Some(max)) => format!("from {min} to {max} {unit}"),
            (Some(min), None) => format!("from {min} {unit} up"),
            (None, max) => format!("up to {} {unit}", max.unwrap_or_default()),
        };
        Some(format!("{name} is at {:.6} {unit}, outside its limits {range}", self.value))
    }

    /// Whether anything acts at all that the step must look at.
    pub fn is_idle(&self) -> bool {
        self.limit.is_none() && self.friction == 0.0 && !self.is_soft() && self.motor.is_none()
    }

    /// Which rows the drive needs, and whether the step must look at it at all: when this changes, the mechanism is laid out anew.
    pub fn shape(&self) -> [bool; 5] {
        let rows = [self.is_soft(), self.limit.is_some(), self.friction > 0.0, self.bounded_motor().is_some()];
        [rows[0], rows[1], rows[2], rows[3], self.is_idle()]
    }

    /// Counts the integral of a servo on, unless its force is at its bound (anti-windup).
    pub fn integrate(&mut self, h: f64) {
        if let Some(Motor::Servo { target, integral, max_force, .. }) = self.motor {
            let saturated = max_force.is_some_and(|most| self.forces.motor.abs() >= most * (1.0 - 1e-9));
            if integral != 0.0 && !saturated {
                self.integral += h * (self.value - target);
            }
        }
    }

    /// Elastic energy of springs and servos at the present value, J.
    pub fn energy(&self) -> f64 {
        self.spring.map_or(0.0, |s| 0.5 * s.stiffness * (self.value - s.rest).powi(2))
    }
}
