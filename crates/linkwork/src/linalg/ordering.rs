//! Fill-reducing elimination order of a block graph.

use super::BlockPattern;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

/// Approximate minimum degree on the block graph, then postordered, so that a subtree is contiguous in memory.
///
/// Returns the old index of each new position.
pub(crate) fn elimination_order(pattern: &BlockPattern) -> Vec<u32> {
    let n = pattern.sizes.len();
    if n < 3 {
        return (0..n as u32).collect();
    }
    // columns of the strict upper triangle: entry (row j, column i) for every pair i > j
    let mut sorted = pattern.pairs.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let mut column_start = vec![0_usize; n + 1];
    for &(i, _) in &sorted {
        column_start[i as usize + 1] += 1;
    }
    for k in 0..n {
        column_start[k + 1] += column_start[k];
    }
    let rows: Vec<usize> = sorted.iter().map(|&(_, j)| j as usize).collect();
    let matrix = SymbolicSparseColMatRef::new_checked(n, n, &column_start, None, &rows);
    let (mut forward, mut inverse) = (vec![0_usize; n], vec![0_usize; n]);
    let mut memory = MemBuffer::new(amd::order_scratch::<usize>(n, rows.len()));
    let ordered = amd::order(&mut forward, &mut inverse, matrix, amd::Control::default(), MemStack::new(&mut memory));
    let order: Vec<u32> = match ordered {
        Ok(_) => forward.iter().map(|&k| k as u32).collect(),
        Err(_) => (0..n as u32).collect(), // out of index range only: any order is correct, this one just fills more
    };
    postordered(pattern, &order)
}

/// The parent of each column in the elimination tree of a permuted pattern; `u32::MAX` for a root.
pub(crate) fn elimination_tree(pattern: &BlockPattern) -> Vec<u32> {
    let n = pattern.sizes.len();
    let mut by_row: Vec<Vec<u32>> = vec![Vec::new(); n];
    for &(i, j) in &pattern.pairs {
        by_row[i as usize].push(j);
    }
    let mut parent = vec![u32::MAX; n];
    let mut ancestor = vec![u32::MAX; n];
    for (i, columns) in by_row.iter().enumerate() {
        for &j in columns {
            // climb from j to its root, shortening the path for the next climb
            let mut k = j;
            while k != u32::MAX && k != i as u32 {
                let next = ancestor[k as usize];
                ancestor[k as usize] = i as u32;
                if next == u32::MAX {
                    parent[k as usize] = i as u32;
                }
                k = next;
            }
        }
    }
    parent
}

fn postordered(pattern: &BlockPattern, order: &[u32]) -> Vec<u32> {
    let parent = elimination_tree(&pattern.permuted(order));
    let n = order.len();
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut stack: Vec<(u32, bool)> = Vec::new();
    for k in (0..n).rev() {
        match parent[k] {
            u32::MAX => stack.push((k as u32, false)),
            p => children[p as usize].push(k as u32),
        }
    }
    let mut post = Vec::with_capacity(n);
    while let Some((k, visited)) = stack.pop() {
        if visited {
            post.push(order[k as usize]);
        } else {
            stack.push((k, true));
            stack.extend(children[k as usize].iter().map(|&c| (c, false)));
        }
    }
    post
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_ordered_without_fill() {
        let n = 63_u32;
        let pairs = (1..n).map(|i| (i, (i - 1) / 2)).collect();
        let pattern = BlockPattern { sizes: vec![3; n as usize], pairs };
        let order = elimination_order(&pattern);
        let permuted = pattern.permuted(&order);
        let parent = elimination_tree(&permuted);
        // no fill: every column has exactly one entry below the diagonal, its parent
        for &(i, j) in &permuted.pairs {
            assert_eq!(parent[j as usize], i);
        }
        let mut seen = order.clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..n).collect::<Vec<_>>());
    }
}
