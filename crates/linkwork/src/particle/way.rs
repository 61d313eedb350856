//! Where stiff cloth begins its way to what a solve found (implicit.rs): at velocities that strain nothing.

use super::implicit::{Grip, Hold, Implicit};
use super::matrix::BlockMatrix;
use glam::DVec3;

/// Sweeps over contacts that find how cloth can move as one.
const SWEEPS: usize = 8;

/// Where the way to what a solve found begins. Cloth that nothing holds moves as one there, which strains nothing, as its
/// momentum says but so that it goes into no solid; or, from the velocities `from` that were taken before, as much like these as
/// goes into no solid. Cloth that is held somewhere moves with what holds it.
pub(super) fn start_of_way(
    work: &Implicit,
    holds: &[Hold],
    mass: &[f64],
    from: Option<&[DVec3]>,
    v: &[DVec3],
) -> Vec<DVec3> {
    let n = v.len();
    let of = pieces(&work.matrix);
    // momentum and mass of a piece, and of those of it that are held
    let mut sums = vec![[(DVec3::ZERO, 0.0); 2]; n];
    let mut bound = vec![false; n];
    for i in 0..n {
        let held = usize::from(!matches!(holds[i], Hold::Free));
        for sum in &mut sums[of[i]][..=held] {
            *sum = (sum.0 + v[i] * mass[i], sum.1 + mass[i]);
        }
        bound[of[i]] |= matches!(holds[i], Hold::Fixed | Hold::Attached { .. });
    }
    // normals and the least speeds along them
    let mut least: Vec<(usize, DVec3, f64)> = Vec::new();
    for i in 0..n {
        if let Hold::Contact { normal, target, given, .. } = holds[i] {
            least.push((i, normal, target + normal.dot(given)));
        }
    }
    for p in work.presses.iter().filter(|p| p.active) {
        least.push((p.who[0], p.normal, p.normal.dot(p.target)));
    }
    least.retain(|l| !bound[of[l.0]]);
    let mean = |i: usize| {
        let [all, held] = sums[i];
        if bound[i] && held.1 > 0.0 { held.0 / held.1 } else { all.0 / all.1.max(f64::MIN_POSITIVE) }
    };
    let mut as_one: Vec<DVec3> = (0..n).map(mean).collect();
    for _ in 0..SWEEPS {
        for &(i, normal, least) in &least {
            let lacking = least - normal.dot(as_one[of[i]]);
            as_one[of[i]] += normal * lacking.max(0.0);
        }
    }
    let mut start: Vec<DVec3> = (0..n).map(|i| as_one[of[i]]).collect();
    if let Some(from) = from {
        let mut share = vec![1.0_f64; n];
        for &(i, normal, least) in &least {
            let (here, there) = (normal.dot(start[i]), normal.dot(from[i]));
            if there < least {
                let part = ((here - least) / (here - there).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                share[of[i]] = share[of[i]].min(part);
            }
        }
        for i in 0..n {
            start[i] = start[i].lerp(from[i], share[of[i]]);
        }
    }
    for i in 0..n {
        match holds[i] {
            Hold::Fixed | Hold::Attached { .. } => start[i] = v[i],
            Hold::Contact { normal, grip, .. } if bound[of[i]] => match grip {
                Grip::Stick => start[i] = v[i],
                _ => start[i] = start[i] + normal * normal.dot(v[i] - start[i]),
            },
            _ => {}
        }
    }
    start
}

/// The connected piece of every particle, by its first one.
fn pieces(matrix: &BlockMatrix) -> Vec<usize> {
    let n = matrix.diagonal.len();
    let mut piece: Vec<u32> = (0..n as u32).collect();
    fn root(piece: &mut [u32], mut i: u32) -> u32 {
        while piece[i as usize] != i {
            piece[i as usize] = piece[piece[i as usize] as usize];
            i = piece[i as usize];
        }
        i
    }
    for i in 0..n {
        for &j in &matrix.column[matrix.row(i)] {
            let (a, b) = (root(&mut piece, i as u32), root(&mut piece, j));
            piece[a.max(b) as usize] = a.min(b);
        }
    }
    (0..n as u32).map(|i| root(&mut piece, i) as usize).collect()
}
