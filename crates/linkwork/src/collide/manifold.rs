//! Contact points in the making, and the choice of the four that matter.

use glam::DVec3;

/// Contact points between two shapes along one normal, in the frame of the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touch {
    /// From the first to the second.
    pub normal: DVec3,
    /// (midway point, gap along the normal).
    pub points: Vec<(DVec3, f64)>,
}

impl Touch {
    pub fn clear(&mut self) {
        self.points.clear();
    }

    pub fn push(&mut self, midway: DVec3, gap: f64) {
        self.points.push((midway, gap));
    }

    /// Keeps the deepest point and the three that span the largest area with it and are not far from touching.
    pub fn reduce(&mut self) {
        if self.points.len() <= 4 {
            return;
        }
        let chosen = four_of(&self.points, self.normal);
        let kept = chosen.map(|k| self.points[k]);
        self.points.clear();
        self.points.extend(kept);
    }
}

/// Points this much less deep than the deepest count as equally deep, or round-off would choose among flush points.
const EQUALLY_DEEP: f64 = 2e-6;

/// One choice replaces another only if it is better by this part: ties must not be decided by round-off.
const CLEARLY: f64 = 1e-3;

/// How much farther out a point must be for every metre by which it is less deep than the deepest. A body that turns about that one
/// brings down last what is high and near: of a thin box that is tipped the corners below count, not those above them.
const STEEPEST: f64 = 2.0;

/// Indices, in rising order, of four points: deepest, farthest from it, and the largest area to either side.
fn four_of(points: &[(DVec3, f64)], normal: DVec3) -> [usize; 4] {
    let deepest = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    // among equally deep points the one farthest out in a fixed direction, so that the choice is stable
    let outward = normal.any_orthonormal_vector();
    let origin = points[0].0;
    let size = points.iter().map(|p| p.0.distance_squared(origin)).fold(0.0, f64::max).sqrt();
    let score = |p: &(DVec3, f64)| match p.1 <= deepest + EQUALLY_DEEP {
        true => (p.0 - origin).dot(outward),
        false => f64::NEG_INFINITY,
    };
    let first = best(points.len(), CLEARLY * size, |k| score(&points[k]));
    let a = points[first].0;
    let nearer = |k: usize| STEEPEST * (points[k].1 - deepest);
    let aside = |k: usize| (points[k].0 - a).reject_from(normal).length();
    let others = |k: usize| if k == first { f64::NEG_INFINITY } else { aside(k) - nearer(k) };
    let second = best(points.len(), CLEARLY * size, others);
    let b = points[second].0;
    let base = aside(second).max(CLEARLY * size);
    let side = |k: usize| (b - a).cross(points[k].0 - a).dot(normal);
    let third = best(points.len(), CLEARLY * size * size, |k| side(k) - base * nearer(k));
    let fourth = best(points.len(), CLEARLY * size * size, |k| -side(k) - base * nearer(k));
    let mut chosen = [first, second, third, fourth];
    chosen.sort_unstable();
    // all points on one line or on one side: fill up with those left that count most
    for k in 0..4 {
        if chosen[..k].contains(&chosen[k]) {
            let left = (0..points.len()).filter(|i| !chosen.contains(i));
            let score = |k: &usize| side(*k).abs() - base * nearer(*k);
            chosen[k] = left.max_by(|i, j| score(i).total_cmp(&score(j))).unwrap_or(0);
        }
    }
    chosen.sort_unstable();
    chosen
}

fn best(count: usize, clearly: f64, score: impl Fn(usize) -> f64) -> usize {
    let mut found = (f64::NEG_INFINITY, 0);
    for k in 0..count {
        let s = score(k);
        if s > found.0 + clearly {
            found = (s, k);
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_corners_of_an_octagon_with_the_deepest() {
        let mut touch = Touch { normal: DVec3::Z, points: Vec::new() };
        for k in 0..8 {
            let angle = f64::from(k) * std::f64::consts::FRAC_PI_4;
            touch.push(DVec3::new(angle.cos(), angle.sin(), 0.0), if k == 3 { -1e-3 } else { 0.0 });
        }
        touch.reduce();
        assert_eq!(touch.points.len(), 4);
        assert!(touch.points.iter().any(|p| p.1 == -1e-3));
        let area = |p: &[(DVec3, f64)]| 0.5 * (p[2].0 - p[0].0).cross(p[3].0 - p[1].0).length();
        assert!(area(&touch.points) > 1.99, "{:?}", touch.points);
    }

    /// Symptom: a thin box that rocked on the ground ended 5 mm deep in it. Cause: corners of its upper face, two centimetres above the
    /// ground, were kept for those below them, because they were a little farther out.
    #[test]
    fn of_a_thin_box_that_is_tipped_the_corners_below_count() {
        let half = DVec3::new(0.025, 0.03, 0.01);
        for (k, axis) in
            [DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.0), DVec3::new(-1.0, 2.0, 0.5)].into_iter().enumerate()
        {
            for angle in [-0.4, -0.2, -0.05, 0.05, 0.2, 0.4] {
                let turn = glam::DQuat::from_axis_angle(axis.normalize(), angle);
                let mut touch = Touch { normal: DVec3::Z, points: Vec::new() };
                for c in 0..8 {
                    let sign = |bit: i32| if c & bit == 0 { -1.0 } else { 1.0 };
                    let corner = turn * (half * DVec3::new(sign(1), sign(2), sign(4)));
                    touch.push(corner.with_z(0.5 * corner.z), corner.z);
                }
                touch.reduce();
                let is_below = |p: &(DVec3, f64)| (turn.conjugate() * p.0.with_z(p.1)).z < 0.0;
                assert!(touch.points.iter().all(is_below), "axis {k}, {angle} rad: {:?}", touch.points);
            }
        }
    }

    /// Where all others rise steeply from the deepest one, the next lowest count.
    #[test]
    fn of_a_box_on_its_corner_the_lowest_corners_are_kept() {
        for half in [DVec3::splat(0.01), DVec3::new(0.01, 0.01, 0.03)] {
            let turn = glam::DQuat::from_rotation_arc(DVec3::ONE.normalize(), DVec3::Z);
            let mut touch = Touch { normal: DVec3::Z, points: Vec::new() };
            for c in 0..8 {
                let sign = |bit: i32| if c & bit == 0 { -1.0 } else { 1.0 };
                let corner = turn * (half * DVec3::new(sign(1), sign(2), sign(4)));
                touch.push(corner.with_z(0.5 * corner.z), corner.z);
            }
            let mut heights: Vec<f64> = touch.points.iter().map(|p| p.1).collect();
            heights.sort_by(f64::total_cmp);
            touch.reduce();
            let mut kept: Vec<f64> = touch.points.iter().map(|p| p.1).collect();
            kept.sort_by(f64::total_cmp);
            assert_eq!(kept[..3], heights[..3], "of {heights:?}");
        }
    }
}
