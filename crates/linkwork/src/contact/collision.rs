//! Collision by integration (Mirtich 1996, chapter 3): the velocity of a contact point along the growing normal impulse.
//!
//! In contact coordinates (x, y tangential, z normal) the relative velocity u of the point obeys du = K dp, with K the collision
//! matrix of the two bodies together (for articulated bodies by test impulses). While the point slides in direction
//! ξ = u_t/|u_t|, the impulse is dp = (−μ ξ, 1) dp_z. Where it comes to rest it sticks if the impulse that keeps it, K⁻¹e_z, lies in
//! the cone; otherwise it slides off again in the one direction that K drives it, which may be the reverse.
//! Compression ends at u_z = 0; restitution ends when the normal impulse has given back e² of the work it took (Stronge), so
//! that no collision gains energy, whatever it does sideways.

use glam::{DMat3, DVec2, DVec3};
use std::fmt;

/// What a collision did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collision {
    /// Impulse in contact coordinates, N s.
    pub impulse: DVec3,
    /// Relative velocity afterwards, m/s.
    pub velocity: DVec3,
    /// Whether the point came to rest sideways and stayed so.
    pub sticks: bool,
}

/// Why a collision cannot be computed.
#[derive(Clone, Debug, PartialEq)]
pub struct BadCollision {
    problem: String,
}

impl fmt::Display for BadCollision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for BadCollision {}

/// Sideways speed, as a part of the speed of impact, below which the point is at rest.
const AT_REST: f64 = 1e-9;
/// Error allowed per step of the integration, as a part of the speed of impact.
const LOCAL_ERROR: f64 = 1e-10;
const MOST_STEPS: usize = 20_000;

/// Integrates a collision from the relative velocity `u` (u_z < 0: approaching).
///
/// `k` is symmetric positive definite, 1/kg; `mu` and `restitution` are Coulomb's and Stronge's coefficients.
pub fn collide(k: DMat3, u: DVec3, mu: f64, restitution: f64) -> Result<Collision, BadCollision> {
    let wrong = |problem: String| Err(BadCollision { problem });
    if !(k.is_finite() && u.is_finite()) {
        return wrong("the collision matrix or the velocity is not finite".into());
    }
    let minor = k.x_axis.x * k.y_axis.y - k.x_axis.y * k.y_axis.x;
    if !(k.x_axis.x > 0.0 && minor > 0.0 && k.determinant() > 0.0) {
        return wrong(
            "the collision matrix is not positive definite: give the point a body that can move every way".into(),
        );
    }
    if !(mu.is_finite() && mu >= 0.0) {
        return wrong(format!("coefficient of friction {mu} is not a number from 0 up"));
    }
    if !(0.0..=1.0).contains(&restitution) {
        return wrong(format!("restitution {restitution} is not between 0 and 1"));
    }
    if u.z >= 0.0 {
        return Ok(Collision { impulse: DVec3::ZERO, velocity: u, sticks: false });
    }
    let mut run = Run { k, mu, scale: u.length(), u, p: DVec3::ZERO, work: 0.0, sticks: false };
    run.until(|run| run.u.z, false)?;
    let given_back = run.work * (1.0 - restitution * restitution);
    if restitution > 0.0 {
        run.until(|run| run.work - given_back, true)?;
    }
    Ok(Collision { impulse: run.p, velocity: run.u, sticks: run.sticks })
}

struct Run {
    k: DMat3,
    mu: f64,
    scale: f64,
    u: DVec3,
    p: DVec3,
    /// Work of the normal impulse, J; negative in compression.
    work: f64,
    sticks: bool,
}

impl Run {
    /// Goes on until `goal`, which rises from below, is zero.
    fn until(&mut self, goal: impl Fn(&Run) -> f64, by_work: bool) -> Result<(), BadCollision> {
        for _ in 0..MOST_STEPS {
            let left = -goal(self);
            if left <= 0.0 {
                return Ok(());
            }
            let sideways = DVec2::new(self.u.x, self.u.y);
            if sideways.length() <= AT_REST * self.scale {
                return self.go_on_at_rest(left, by_work);
            }
            let (longest, straight) = self.sliding_step(sideways);
            let to_goal = straight_to(left, self.u.z, self.rate(self.u).z, by_work).unwrap_or(f64::INFINITY);
            let step = longest.min(to_goal);
            if !step.is_finite() {
                return Err(BadCollision { problem: "the collision jams: friction pulls the bodies together".into() });
            }
            if straight {
                self.slide_straight(step, longest <= to_goal)
            } else {
                self.slide(step)
            }
            if to_goal <= longest && (-goal(self)).abs() <= 1e-12 * self.size(by_work) {
                return Ok(());
            }
        }
        Err(BadCollision { problem: "the collision did not end: the friction is too high for this matrix".into() })
    }

    fn size(&self, by_work: bool) -> f64 {
        if by_work { self.work.abs() + self.scale * self.scale / self.k.z_axis.z } else { self.scale }
    }

    fn rate(&self, u: DVec3) -> DVec3 {
        let t = DVec2::new(u.x, u.y).normalize_or_zero() * -self.mu;
        self.k * DVec3::new(t.x, t.y, 1.0)
    }

    /// The longest normal impulse for which sliding is followed to the error allowed, and whether it is along a straight line.
    fn sliding_step(&self, sideways: DVec2) -> (f64, bool) {
        let direction = sideways.normalize_or_zero();
        let change = self.rate(self.u);
        let change = DVec2::new(change.x, change.y);
        let (along, across) = (change.dot(direction), change.perp_dot(direction));
        let speed = sideways.length();
        // straight lines are exact, however long: only turning limits the step, and coming to rest ends it
        let to_rest = if along < 0.0 { speed / -along } else { f64::INFINITY };
        if across.abs() <= 1e-14 * (along.abs() + across.abs()) {
            return (to_rest, true);
        }
        // an angle a step whose fourth order leaves the error allowed
        let angle = LOCAL_ERROR.powf(0.2);
        ((angle * speed / across.abs()).min(0.5 * to_rest), false)
    }

    /// Sliding along a straight line, to rest if it ends there.
    fn slide_straight(&mut self, dp: f64, to_rest: bool) {
        let rate = self.rate(self.u);
        let t = DVec2::new(self.u.x, self.u.y).normalize_or_zero() * -self.mu;
        self.work += dp * (self.u.z + 0.5 * dp * rate.z);
        self.u += rate * dp;
        self.p += DVec3::new(t.x, t.y, 1.0) * dp;
        if to_rest {
            (self.u.x, self.u.y) = (0.0, 0.0);
        }
        self.sticks = false;
    }

    /// One step of sliding along a curve by a normal impulse (classical Runge–Kutta).
    fn slide(&mut self, dp: f64) {
        let k1 = self.rate(self.u);
        let k2 = self.rate(self.u + k1 * (0.5 * dp));
        let k3 = self.rate(self.u + k2 * (0.5 * dp));
        let k4 = self.rate(self.u + k3 * dp);
        let before = self.u;
        let middle = self.u + (k1 + k2) * (0.25 * dp);
        self.u += (k1 + (k2 + k3) * 2.0 + k4) * (dp / 6.0);
        // Simpson's rule for the work, and the impulse that made this change
        self.work += dp / 6.0 * (before.z + 4.0 * middle.z + self.u.z);
        self.p += self.k.inverse() * (self.u - before);
        self.sticks = false;
    }

    /// From rest sideways: sticking, or sliding off along a straight line. Either ends at the goal.
    fn go_on_at_rest(&mut self, left: f64, by_work: bool) -> Result<(), BadCollision> {
        let hold = self.k.inverse() * DVec3::Z;
        let hold = hold / hold.z;
        let push = if DVec2::new(hold.x, hold.y).length() <= self.mu {
            self.sticks = true;
            hold
        } else {
            self.sticks = false;
            let d = self.way_off()?;
            DVec3::new(-self.mu * d.x, -self.mu * d.y, 1.0)
        };
        let rate = self.k * push;
        let Some(dp) = straight_to(left, self.u.z, rate.z, by_work) else {
            return Err(BadCollision { problem: "the collision jams: friction pulls the bodies together".into() });
        };
        self.work += dp * (self.u.z + 0.5 * dp * rate.z);
        (self.u.x, self.u.y) = (0.0, 0.0);
        self.u += rate * dp;
        self.p += push * dp;
        Ok(())
    }

    /// The direction in which the point slides off from rest: driven along itself.
    fn way_off(&self) -> Result<DVec2, BadCollision> {
        let driven = |angle: f64| {
            let d = DVec2::from_angle(angle);
            let r = self.k * DVec3::new(-self.mu * d.x, -self.mu * d.y, 1.0);
            let r = DVec2::new(r.x, r.y);
            (r.perp_dot(d), r.dot(d))
        };
        let pieces = 720;
        let angle = |i: usize| std::f64::consts::TAU * i as f64 / pieces as f64;
        for i in 0..pieces {
            let (mut lo, mut hi) = (angle(i), angle(i + 1));
            let (a, b) = (driven(lo), driven(hi));
            if a.0 * b.0 > 0.0 || a.1 <= 0.0 {
                continue;
            }
            for _ in 0..60 {
                let middle = 0.5 * (lo + hi);
                if driven(middle).0 * a.0 > 0.0 { lo = middle } else { hi = middle }
            }
            return Ok(DVec2::from_angle(0.5 * (lo + hi)));
        }
        Err(BadCollision { problem: "no direction in which the point can slide off".into() })
    }
}

/// Normal impulse after which the velocity u + r p is zero, or the work u p + r p²/2 is `left`; none if it never is.
fn straight_to(left: f64, u: f64, r: f64, by_work: bool) -> Option<f64> {
    if !by_work {
        return (r > 0.0).then(|| left / r);
    }
    if r.abs() * left <= 1e-18 * u * u {
        return (u > 0.0).then(|| left / u);
    }
    let root = u * u + 2.0 * r * left;
    if root < 0.0 {
        return None;
    }
    let p = 2.0 * left / (u + root.sqrt());
    (p > 0.0).then_some(p)
}
