//! Which joint forces are unique: those on which no self-stress of the mechanism acts.
//!
//! A self-stress is a vector n with An = 0. A random combination of all of them is the dropped rows' random impulses y
//! against the others' answer z = −A⁻¹Ay; where it is not zero, the force is one choice of many. One solve, and only
//! when the self-stresses have changed, not whenever rounding makes another choice of the rows to drop.

use super::Mechanism;

/// Below this fraction of its largest entry a self-stress counts as zero: the rows' rounding is far below.
const ZERO: f64 = 1e-6;

impl Mechanism {
    pub(super) fn find_not_unique(&mut self) {
        if self.self_stresses_are_as_before() {
            return;
        }
        let rows = self.layout.rows;
        let factor = &self.layout.factor;
        self.linear.dropped_count = factor.dropped_count();
        self.linear.not_unique.fill(false);
        let mut y = vec![0.0; rows];
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for r in 0..rows {
            if factor.is_dropped(r) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                y[r] = 1.0 + (seed >> 40) as f64 / (1 << 24) as f64;
            }
        }
        let mut z = self.times_system(&y);
        for e in &mut z {
            *e = -*e;
        }
        factor.solve(&mut z);
        for r in 0..rows {
            // in units of the row's own motion, so that forces and torques compare
            z[r] = (z[r] + y[r]).abs() * self.linear.mobility[r].abs().sqrt();
        }
        let largest = z.iter().copied().fold(0.0, f64::max);
        for node in &self.layout.nodes {
            let span = node.row as usize..(node.row + u32::from(node.rows)) as usize;
            if span.clone().any(|r| z[r] > ZERO * largest) {
                self.linear.not_unique[span].fill(true);
            }
        }
    }

    /// As many rows are dropped as when the flags were found, and all of them where a self-stress was found: it is the same
    /// space of self-stresses, from which other rows were chosen.
    fn self_stresses_are_as_before(&self) -> bool {
        let factor = &self.layout.factor;
        let is_flagged =
            |r: usize| self.linear.not_unique[r] || !factor.is_dropped(r) || self.linear.mobility[r] == 0.0;
        self.linear.dropped_count == factor.dropped_count()
            && (self.linear.dropped_count == 0 || (0..self.layout.rows).all(is_flagged))
    }

    /// How far rows still move after random velocities were made to fit, relative to the root of their mobility: what
    /// dropped rows hold that nothing else implies. One of relative pivot δ leaves about √δ; rounding leaves far less.
    pub(crate) fn constraint_loss(&mut self) -> f64 {
        if self.layout.factor.dropped_count() == 0 {
            return 0.0;
        }
        let mut seed = 0x2545_F491_4F6C_DD1D_u64;
        let mut velocities = vec![[0.0; 6]; self.layout.movable];
        for e in velocities.iter_mut().flatten() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *e = (seed >> 40) as f64 / (1 << 24) as f64 - 0.5;
        }
        std::mem::swap(&mut self.u, &mut velocities);
        self.close_velocities();
        self.row_velocities();
        std::mem::swap(&mut self.u, &mut velocities);
        let joint_nodes = self.layout.nodes.iter().filter(|n| !n.source.is_internal());
        let hard_rows = joint_nodes.flat_map(|n| n.row as usize..(n.row + u32::from(n.hard)) as usize);
        let moves = |r: usize| self.rhs[r].abs() / self.linear.mobility[r].sqrt().max(f64::MIN_POSITIVE);
        crate::math::max_abs(hard_rows.map(moves))
    }

    /// A y by way of the bodies' parts.
    fn times_system(&self, y: &[f64]) -> Vec<f64> {
        let mut parts = vec![[0.0; 6]; self.layout.part_count];
        let mut out = vec![0.0; y.len()];
        for gather in [true, false] {
            for node in &self.layout.nodes {
                for s in node.sides.0..node.sides.1 {
                    let side = &self.layout.sides[s as usize];
                    for r in 0..node.rows as usize {
                        let at = side.jacobian as usize + 6 * r;
                        let row = &self.linear.jacobian[at..at + 6];
                        let part = &mut parts[side.part as usize];
                        let k = node.row as usize + r;
                        if gather {
                            part.iter_mut().zip(row).for_each(|(p, j)| *p += side.scale * j * y[k]);
                        } else {
                            out[k] += side.scale * part.iter().zip(row).map(|(p, j)| p * j).sum::<f64>();
                        }
                    }
                }
            }
        }
        out
    }
}
