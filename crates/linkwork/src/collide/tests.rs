//! The narrow phase against parry and against brute force, on random pairs.

use super::convex::Workspace;
use super::hull::Hull;
use super::narrow::{self, PairMemory, Place, Touches};
use super::shape::Form;
use glam::{DMat3, DQuat, DVec3};
use std::sync::Arc;

/// A small generator of our own: the same numbers everywhere.
pub(super) struct Random(pub u64);

impl Random {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut x = self.0;
        x ^= x >> 33;
        x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
        x ^= x >> 33;
        (x >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    pub fn vector(&mut self, most: f64) -> DVec3 {
        DVec3::new(self.within(-most, most), self.within(-most, most), self.within(-most, most))
    }

    pub fn direction(&mut self) -> DVec3 {
        loop {
            let v = self.vector(1.0);
            if (0.01..1.0).contains(&v.length()) {
                return v.normalize();
            }
        }
    }

    pub fn turn(&mut self) -> DQuat {
        // often along the axes or nearly so: that is where things go wrong
        match self.within(0.0, 5.0) as u32 {
            0 => DQuat::IDENTITY,
            1 => DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2 * self.within(0.0, 4.0).floor()),
            2 => DQuat::from_axis_angle(self.direction(), self.within(-1e-6, 1e-6)),
            _ => DQuat::from_axis_angle(self.direction(), self.within(0.0, 6.3)),
        }
    }
}

fn place(x: DVec3, q: DQuat) -> Place {
    Place { x, r: DMat3::from_quat(q) }
}

fn random_hull(random: &mut Random) -> Form {
    loop {
        let count = random.within(4.0, 30.0) as usize;
        let scale = DVec3::new(random.within(0.1, 0.6), random.within(0.1, 0.6), random.within(0.1, 0.6));
        let points: Vec<DVec3> = (0..count).map(|_| random.vector(1.0) * scale).collect();
        if let Some(hull) = Hull::of(&points) {
            return Form::Hull(Arc::new(hull));
        }
    }
}

fn random_form(kind: usize, random: &mut Random) -> Form {
    let mut size = || random.within(0.1, 0.6);
    match kind {
        0 => Form::Sphere { radius: size() },
        1 => Form::Capsule { half: size(), radius: size() },
        2 => Form::Box { half: DVec3::new(size(), size(), size()) },
        3 => Form::Cylinder { half: size(), radius: size() },
        4 => Form::Cone { half: size(), radius: size() },
        _ => random_hull(random),
    }
}

const NAMES: [&str; 6] = ["sphere", "capsule", "box", "cylinder", "cone", "hull"];

fn separation(a: &Form, pa: &Place, b: &Form, pb: &Place, n: DVec3) -> f64 {
    let (ra, rb) = (a.convex().unwrap(), b.convex().unwrap());
    let on_a = pa.to_world(ra.core.support(pa.r.transpose() * n));
    let on_b = pb.to_world(rb.core.support(-(pb.r.transpose() * n)));
    (on_b - on_a).dot(n) - ra.radius - rb.radius
}

/// Largest separation over directions: from many samples, refined around the best.
fn brute_separation(a: &Form, pa: &Place, b: &Form, pb: &Place, random: &mut Random) -> (f64, DVec3) {
    let separation = |n: DVec3| separation(a, pa, b, pb, n);
    let mut starts: Vec<(f64, DVec3)> = (0..400).map(|_| random.direction()).map(|n| (separation(n), n)).collect();
    starts.sort_by(|x, y| y.0.total_cmp(&x.0));
    let mut best = starts[0];
    for start in starts.into_iter().take(6) {
        let mut here = start;
        let mut step = 0.2;
        while step > 1e-9 {
            let mut better = false;
            for _ in 0..12 {
                let n = (here.1 + random.direction() * step).normalize();
                let s = separation(n);
                if s > here.0 {
                    here = (s, n);
                    better = true;
                }
            }
            if !better {
                step *= 0.5;
            }
        }
        if here.0 > best.0 {
            best = here;
        }
    }
    best
}

#[test]
fn gaps_of_random_pairs_agree_with_brute_force() {
    let mut random = Random(7);
    let (mut work, mut touches) = (Workspace::default(), Touches::default());
    for i in 0..6 {
        for j in 0..6 {
            let mut apart = 0;
            for trial in 0..150 {
                let (a, b) = (random_form(i, &mut random), random_form(j, &mut random));
                let (pa, pb) = (
                    place(random.vector(0.3), random.turn()),
                    place(random.vector(0.8), random.turn()),
                );
                let (truth, direction) = brute_separation(&a, &pa, &b, &pb, &mut random);
                let reach = 0.3;
                let mut memory = PairMemory::default();
                let found = narrow::contacts((&a, &pa), (&b, &pb), reach, 0.0, &mut memory, &mut work, &mut touches);
                let label = || format!("{} {} {trial}: truth {truth} along {direction}, found {found}\n{a:?} {pa:?}\n{b:?} {pb:?}", NAMES[i], NAMES[j]);
                if truth > reach {
                    apart += 1;
                    assert!(found <= truth + 1e-6, "{}", label());
                    assert_eq!(touches.iter().count(), 0, "{}", label());
                    continue;
                }
                let touch = touches.iter().next().unwrap_or_else(|| panic!("nothing: {}", label()));
                assert!((1..=4).contains(&touch.points.len()));
                assert!((touch.normal.length() - 1.0).abs() < 1e-9);
                let deepest = touch.points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
                // any direction's separation is at most the true one: ours is that of its normal, and no worse than brute force
                let along = separation(&a, &pa, &b, &pb, touch.normal);
                assert!((deepest - along).abs() < 1e-7, "{} deepest {deepest}, along {along} {:?}", label(), touch);
                assert!(along >= truth - 1e-7, "{} along {along} {:?}", label(), touch);
                assert!((found - deepest).abs() < 1e-7, "{}", label());
            }
            assert!(apart < 140, "{} {}: too few near pairs", NAMES[i], NAMES[j]);
        }
    }
}
