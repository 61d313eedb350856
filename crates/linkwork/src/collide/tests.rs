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

/// Failures by kind of pair, so that one run tells about all of them.
#[derive(Default)]
struct Failures(std::collections::BTreeMap<String, Vec<String>>);

impl Failures {
    fn check(&mut self, holds: bool, pair: &str, what: impl FnOnce() -> String) {
        if !holds {
            self.0.entry(pair.to_string()).or_default().push(what());
        }
    }
}

impl Drop for Failures {
    fn drop(&mut self) {
        for (pair, all) in &self.0 {
            eprintln!("{pair}: {} failures, the first:\n{}", all.len(), all[0].chars().take(900).collect::<String>());
        }
        assert!(self.0.is_empty() || std::thread::panicking(), "{} kinds of pair fail", self.0.len());
    }
}

#[test]
fn gaps_of_random_pairs_agree_with_brute_force() {
    let mut random = Random(7);
    let (mut work, mut touches) = (Workspace::default(), Touches::default());
    let mut failures = Failures::default();
    for (i, j) in (0..36).map(|k| (k / 6, k % 6)) {
        let pair = format!("{} {}", NAMES[i], NAMES[j]);
        let mut near = 0;
        for trial in 0..150 {
            let (a, b) = (random_form(i, &mut random), random_form(j, &mut random));
            let (pa, pb) = (place(random.vector(0.3), random.turn()), place(random.vector(0.8), random.turn()));
            let (truth, direction) = brute_separation(&a, &pa, &b, &pb, &mut random);
            let reach = 0.3;
            let mut memory = PairMemory::default();
            let found = narrow::contacts((&a, &pa), (&b, &pb), reach, 0.0, &mut memory, &mut work, &mut touches);
            let label =
                || format!("{trial}: truth {truth} along {direction}, found {found}\n{a:?} {pa:?}\n{b:?} {pb:?}");
            if truth > reach {
                failures.check(found <= truth + 1e-3 && touches.iter().count() == 0, &pair, label);
                continue;
            }
            near += 1;
            let Some(touch) = touches.iter().next() else {
                failures.check(truth > reach - 1e-4, &pair, || format!("nothing {}", label()));
                continue;
            };
            assert!((1..=4).contains(&touch.points.len()));
            let deepest = touch.points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            // any direction's separation is at most the true one: ours is that of its normal, and no worse than brute force
            let along = separation(&a, &pa, &b, &pb, touch.normal);
            let unit = (touch.normal.length() - 1.0).abs() < 1e-9;
            let all = || format!("deepest {deepest}, along {along} {touch:?} {}", label());
            // the search for a direction between round shapes stops at about a micrometre
            let close = if (i == 3 || i == 4) || (j == 3 || j == 4) { 3e-5 } else { 1e-6 };
            failures.check(unit && (deepest - along).abs() < close && along >= truth - close, &pair, all);
            failures.check(found <= deepest + close && found >= truth - close, &pair, all);
        }
        assert!(near > 20, "{pair}: too few near pairs");
    }
}

fn in_parry(form: &Form) -> (parry3d_f64::shape::SharedShape, DQuat) {
    use parry3d_f64::shape::SharedShape;
    // parry's cylinders and cones lie along y
    let lying = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    match form {
        Form::Sphere { radius } => (SharedShape::ball(*radius), DQuat::IDENTITY),
        Form::Capsule { half, radius } => (SharedShape::capsule_z(*half, *radius), DQuat::IDENTITY),
        Form::Box { half } => (SharedShape::cuboid(half.x, half.y, half.z), DQuat::IDENTITY),
        Form::Cylinder { half, radius } => (SharedShape::cylinder(*half, *radius), lying),
        Form::Cone { half, radius } => (SharedShape::cone(*half, *radius), lying),
        Form::Hull(hull) => (SharedShape::convex_hull(&hull.points).unwrap(), DQuat::IDENTITY),
        Form::Mesh(_) | Form::Plane => unreachable!(),
    }
}

#[test]
fn gaps_of_many_thousand_pairs_agree_with_parry() {
    use parry3d_f64::math::Pose;
    let mut random = Random(99);
    let (mut work, mut touches) = (Workspace::default(), Touches::default());
    let mut failures = Failures::default();
    let mut compared = 0;
    for (i, j) in (0..36).map(|k| (k / 6, k % 6)) {
        let pair = format!("{} {}", NAMES[i], NAMES[j]);
        for trial in 0..600 {
            let (a, b) = (random_form(i, &mut random), random_form(j, &mut random));
            let (qa, qb) = (random.turn(), random.turn());
            let (pa, pb) = (place(random.vector(0.3), qa), place(random.vector(0.9), qb));
            let reach = 0.2;
            let mut memory = PairMemory::default();
            let found = narrow::contacts((&a, &pa), (&b, &pb), reach, 0.0, &mut memory, &mut work, &mut touches);
            let ((sa, la), (sb, lb)) = (in_parry(&a), in_parry(&b));
            let pose = |x: DVec3, q: DQuat| Pose::from_parts(x, q);
            let (fa, fb) = (pose(pa.x, qa * la), pose(pb.x, qb * lb));
            let theirs = parry3d_f64::query::contact(&fa, &*sa, &fb, &*sb, reach).unwrap();
            let label = || format!("{trial}: found {found}, parry {theirs:?}\n{a:?} {pa:?}\n{b:?} {pb:?}");
            let ours = touches.iter().flat_map(|t| t.points.iter().map(|p| p.1)).reduce(f64::min);
            match (ours, theirs) {
                (None, None) => {}
                (Some(gap), Some(contact)) => {
                    compared += 1;
                    // where parry's search for the shallowest way out stops early, ours must be the shallower one
                    let theirs_holds = separation(&a, &pa, &b, &pb, contact.normal1) > contact.dist - 1e-5;
                    let better = !theirs_holds
                        || gap > contact.dist
                            && (gap - separation(&a, &pa, &b, &pb, touches.iter().next().unwrap().normal)).abs() < 1e-6;
                    failures.check((gap - contact.dist).abs() < 1e-4 || better, &pair, || {
                        format!("ours {gap} {}", label())
                    });
                }
                (ours, theirs) => {
                    let edge = ours.or(theirs.map(|c| c.dist)).unwrap_or(0.0);
                    failures
                        .check((edge - reach).abs() < 1e-5, &pair, || format!("one only, ours {ours:?} {}", label()));
                }
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

fn points_of(touches: &Touches) -> Vec<(DVec3, f64)> {
    touches.iter().flat_map(|t| t.points.iter().copied()).collect()
}

fn floor_mesh(cells: usize, size: f64) -> Form {
    let heights = vec![vec![0.0; cells + 1]; cells + 1];
    Form::Mesh(Arc::new(super::mesh::Mesh::terrain(&heights, [size, size])))
}

#[test]
fn what_rests_flat_keeps_its_points_while_it_is_jittered() {
    let mut random = Random(3);
    let (mut work, mut touches) = (Workspace::default(), Touches::default());
    let prism: Vec<DVec3> = (0..12)
        .map(|k| (f64::from(k % 6) * std::f64::consts::FRAC_PI_3, if k < 6 { -0.2 } else { 0.2 }))
        .map(|(angle, z)| DVec3::new(0.3 * angle.cos(), 0.3 * angle.sin(), z))
        .collect();
    let on_side = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2);
    let resting = [
        ("box", Form::Box { half: DVec3::new(0.3, 0.2, 0.2) }, 0.2, DQuat::IDENTITY, 4),
        ("hull", Form::Hull(Arc::new(Hull::of(&prism).unwrap())), 0.2, DQuat::IDENTITY, 4),
        ("cylinder on its cap", Form::Cylinder { half: 0.2, radius: 0.3 }, 0.2, DQuat::IDENTITY, 4),
        ("cylinder on its side", Form::Cylinder { half: 0.2, radius: 0.3 }, 0.3, on_side, 2),
        ("cone on its base", Form::Cone { half: 0.2, radius: 0.3 }, 0.2, DQuat::IDENTITY, 4),
        ("capsule", Form::Capsule { half: 0.2, radius: 0.1 }, 0.1, on_side, 2),
        ("sphere", Form::Sphere { radius: 0.1 }, 0.1, DQuat::IDENTITY, 1),
    ];
    let grounds = [
        ("plane", Form::Plane, 0.0),
        ("box", Form::Box { half: DVec3::new(2.0, 2.0, 0.5) }, -0.5),
        // of the same size: all edges flush
        ("equal box", Form::Box { half: DVec3::new(0.3, 0.2, 0.5) }, -0.5),
        ("mesh", floor_mesh(7, 4.0), 0.0),
    ];
    for (ground_name, ground, z) in &grounds {
        for (name, form, height, turn, count) in &resting {
            if *ground_name == "equal box" && *name != "box" {
                continue;
            }
            let mut memory = PairMemory::default();
            let mut first: Option<Vec<(DVec3, f64)>> = None;
            let mut path = 0.0;
            for step in 0..200 {
                let jitter = random.vector(1e-6);
                let tilt = DQuat::from_scaled_axis(random.vector(1e-6));
                let pa = place(DVec3::new(0.0, 0.0, *z), DQuat::IDENTITY);
                let pb = place(
                    DVec3::new(0.013, 0.017, 0.0) * f64::from(*ground_name == "mesh")
                        + DVec3::new(0.0, 0.0, *height)
                        + jitter,
                    tilt * *turn,
                );
                path += 5e-6;
                let gap =
                    narrow::contacts((ground, &pa), (form, &pb), 4e-3, path, &mut memory, &mut work, &mut touches);
                let at = || format!("{name} on {ground_name}, step {step}: {:?}", points_of(&touches));
                assert!(gap.abs() < 1e-5, "{gap} {}", at());
                assert_eq!(touches.iter().count(), 1, "{}", at());
                let normal = touches.iter().next().unwrap().normal;
                assert!(normal.distance(DVec3::Z) < 1e-5, "{normal} {}", at());
                let points = points_of(&touches);
                // a line across triangles has a point on their edge too
                let most = if *ground_name == "mesh" && *count == 2 { 4 } else { *count };
                assert!((*count..=most).contains(&points.len()), "{}", at());
                let first = first.get_or_insert_with(|| points.clone());
                for p in &points {
                    assert!(p.1.abs() < 1e-5, "{}", at());
                    assert!(first.iter().any(|q| q.0.distance(p.0) < 1e-4), "{} first {first:?}", at());
                }
            }
        }
    }
}

#[test]
fn a_body_that_slides_over_flat_triangles_feels_no_edge() {
    let mut random = Random(11);
    let (mut work, mut touches) = (Workspace::default(), Touches::default());
    let forms = [
        ("box", Form::Box { half: DVec3::new(0.2, 0.15, 0.1) }, 0.1),
        ("sphere", Form::Sphere { radius: 0.1 }, 0.1),
        ("cylinder", Form::Cylinder { half: 0.1, radius: 0.2 }, 0.1),
        ("hull", random_hull(&mut random), f64::NAN),
        ("capsule", Form::Capsule { half: 0.1, radius: 0.05 }, 0.15),
    ];
    let mesh = floor_mesh(20, 4.0);
    let ground = Place::default();
    for (name, form, height) in &forms {
        for step in 0..400 {
            let q = DQuat::from_rotation_z(random.within(0.0, 6.3)) * DQuat::from_scaled_axis(random.vector(1e-4));
            let mut at = place(DVec3::new(random.within(-1.5, 1.5), random.within(-1.5, 1.5), 0.0), q);
            let low =
                form.convex().map(|c| (at.r * c.core.support(-(at.r.transpose() * DVec3::Z))).z - c.radius).unwrap();
            let depth = random.within(-1e-3, 2e-3);
            at.x.z = depth - low;
            assert!(height.is_nan() || (at.x.z - height).abs() < 0.01);
            let mut memory = PairMemory::default();
            narrow::contacts((&mesh, &ground), (form, &at), 4e-3, 0.0, &mut memory, &mut work, &mut touches);
            let label = || format!("{name}, step {step}: {:?}", touches.iter().collect::<Vec<_>>());
            assert!(touches.iter().count() >= 1, "{}", label());
            for touch in touches.iter() {
                assert!(touch.normal.distance(DVec3::Z) < 1e-9, "{}", label());
            }
            let deepest = points_of(&touches).iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
            assert!((deepest - depth).abs() < 2.1e-6, "deepest {deepest} of {depth}: {}", label());
        }
    }
}

#[test]
fn a_box_on_a_ridge_and_in_a_valley_of_a_mesh_touches_its_faces() {
    let (mut work, mut touches) = (Workspace::default(), Touches::default());
    let sphere = Form::Sphere { radius: 0.2 };
    for (slope, faces) in [(-0.5, 1), (0.5, 2)] {
        // a fold along y: heights slope |x|
        let row: Vec<f64> = [-1.0f64, 0.0, 1.0].iter().map(|x| slope * x.abs()).collect();
        let mesh = Form::Mesh(Arc::new(super::mesh::Mesh::terrain(&[row.clone(), row.clone(), row], [2.0, 2.0])));
        let lift = if slope > 0.0 { 0.2 * f64::hypot(1.0, slope) } else { 0.2 };
        let at = place(DVec3::new(0.0, 0.1, lift), DQuat::IDENTITY);
        narrow::contacts(
            (&mesh, &Place::default()),
            (&sphere, &at),
            1e-3,
            0.0,
            &mut PairMemory::default(),
            &mut work,
            &mut touches,
        );
        assert_eq!(touches.iter().count(), faces, "slope {slope}: {:?}", touches.iter().collect::<Vec<_>>());
        for touch in touches.iter() {
            assert!(touch.points.iter().all(|p| p.1.abs() < 1e-9));
            assert!(faces == 1 || (touch.normal.x.abs() - slope / f64::hypot(1.0, slope)).abs() < 1e-9);
        }
    }
}

mod world;
