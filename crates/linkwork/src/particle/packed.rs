//! The matrix of an implicit step as the iteration reads it: whole rows one after the other, each block as three columns of
//! four lanes, the fourth empty. Twice the memory of the half that is assembled, and no scattered writes.

use super::matrix::BlockMatrix;
use glam::{DMat3, DVec3};
use wide::f64x4;

pub(super) type Lanes = [f64x4; 3];

#[derive(Default)]
pub(super) struct Packed {
    /// Rows of the pattern: first block of each, and particle of each block.
    start: Vec<u32>,
    column: Vec<u32>,
    blocks: Vec<Lanes>,
    /// Places of the diagonal blocks, and of each block below the diagonal with that of its transpose.
    diagonal: Vec<u32>,
    lower: Vec<[u32; 2]>,
    /// The pattern it was laid out for.
    known: (Vec<u32>, Vec<u32>),
}

pub(super) fn lanes(m: &DMat3) -> Lanes {
    [m.x_axis, m.y_axis, m.z_axis].map(|c| f64x4::new([c.x, c.y, c.z, 0.0]))
}

/// Adds a block times a vector to three sums, which are one in the end: additions that need not wait for each other.
fn accumulate(sums: Lanes, block: &Lanes, x: DVec3) -> Lanes {
    [
        block[0].mul_add(f64x4::splat(x.x), sums[0]),
        block[1].mul_add(f64x4::splat(x.y), sums[1]),
        block[2].mul_add(f64x4::splat(x.z), sums[2]),
    ]
}

fn total(sums: Lanes) -> DVec3 {
    let [x, y, z, _] = (sums[0] + sums[1] + sums[2]).to_array();
    DVec3::new(x, y, z)
}

/// A block times a vector.
pub(super) fn times(block: &Lanes, x: DVec3) -> DVec3 {
    total(accumulate([f64x4::splat(0.0); 3], block, x))
}

impl Packed {
    pub fn fill(&mut self, matrix: &BlockMatrix) {
        if self.known.0 != matrix.start || self.known.1 != matrix.column {
            self.lay_out(matrix);
        }
        for (k, block) in self.diagonal.iter().zip(&matrix.diagonal) {
            self.blocks[*k as usize] = lanes(block);
        }
        for ([k, transposed], block) in self.lower.iter().zip(&matrix.lower) {
            self.blocks[*k as usize] = lanes(block);
            self.blocks[*transposed as usize] = lanes(&block.transpose());
        }
    }

    fn lay_out(&mut self, matrix: &BlockMatrix) {
        let n = matrix.diagonal.len();
        // columns of each row in order: those below the diagonal, the diagonal, then what rows further down have here
        let mut rows: Vec<Vec<u32>> = (0..n).map(|i| matrix.column[matrix.row(i)].to_vec()).collect();
        rows.iter_mut().enumerate().for_each(|(i, row)| row.push(i as u32));
        for i in 0..n {
            matrix.column[matrix.row(i)].iter().for_each(|&j| rows[j as usize].push(i as u32));
        }
        self.start = vec![0];
        self.column.clear();
        for row in &rows {
            self.column.extend(row);
            self.start.push(self.column.len() as u32);
        }
        self.diagonal = (0..n).map(|i| self.start[i] + matrix.row(i).len() as u32).collect();
        let mut free: Vec<u32> = self.diagonal.iter().map(|d| d + 1).collect();
        self.lower.clear();
        for i in 0..n {
            for (k, &j) in matrix.column[matrix.row(i)].iter().enumerate() {
                self.lower.push([self.start[i] + k as u32, free[j as usize]]);
                free[j as usize] += 1;
            }
        }
        self.blocks = vec![[f64x4::splat(0.0); 3]; self.column.len()];
        self.known = (matrix.start.clone(), matrix.column.clone());
    }

    /// y = A x.
    pub fn multiply(&self, x: &[DVec3], y: &mut [DVec3]) {
        for (y, row) in y.iter_mut().zip(self.start.windows(2)) {
            let row = row[0] as usize..row[1] as usize;
            let mut sums = [f64x4::splat(0.0); 3];
            for (block, j) in self.blocks[row.clone()].iter().zip(&self.column[row]) {
                sums = accumulate(sums, block, x[*j as usize]);
            }
            *y = total(sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rows_are_the_same_matrix() {
        let n = 40;
        let number = |k: usize| ((k * 7919 + 13) % 101) as f64 / 101.0 - 0.5;
        let vector = |k: usize| DVec3::new(number(3 * k), number(3 * k + 1), number(3 * k + 2));
        let block = |k: usize| DMat3::from_cols(vector(k), vector(k + 50), vector(k + 90));
        let mut matrix = BlockMatrix { start: vec![0], ..BlockMatrix::default() };
        for i in 0..n {
            matrix.diagonal.push(block(i) + block(i).transpose());
            for j in (0..i).filter(|j| (i * j + i + j) % 5 == 0) {
                matrix.column.push(j as u32);
                matrix.lower.push(block(i * n + j));
            }
            matrix.start.push(matrix.column.len() as u32);
        }
        let x: Vec<DVec3> = (0..n).map(|k| vector(k + 1000)).collect();
        let (mut expected, mut found) = (vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
        matrix.multiply(&x, &mut expected);
        let mut packed = Packed::default();
        packed.fill(&matrix);
        packed.multiply(&x, &mut found);
        for (a, b) in expected.iter().zip(&found) {
            assert!(a.distance(*b) < 1e-14, "{a} {b}");
        }
    }
}
