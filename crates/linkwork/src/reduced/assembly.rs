//! How a tree of links is put together from pieces, two at a time.
//!
//! A piece is connected and has two ends: `near`, the link that something else carries, and `far`, the one link of it that others
//! may hang from. A joint at the far end of one piece joins it with the near end of another. *Along* a path the far end of the whole
//! is that of the second; what hangs *beside* a path carries nothing more, and the whole keeps the far end of the first.
//!
//! Every link's path goes on with the child that carries most (heavy paths). Paths are divided where both parts weigh most nearly
//! the same, with all that hangs beside them, so that the depth is the logarithm of the number of links, and on a link with
//! many branches one more for each of them, the heaviest branch on top. A chain is divided in halves.

use super::model::NONE;

/// A piece: one link, or two pieces joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub near: u32,
    pub far: u32,
    /// The two pieces; the joint between them carries the near end of the second.
    pub parts: Option<(u32, u32)>,
    /// Whether the second hangs beside the first, which keeps its far end.
    pub beside: bool,
    /// The piece it is a part of, or [`NONE`].
    pub above: u32,
}

/// All pieces of a tree, or of several. Parts come after what they are parts of.
#[derive(Default)]
pub(super) struct Assembly {
    pub parts: Vec<Part>,
    /// The pieces that are whole trees.
    pub roots: Vec<u32>,
    /// The piece of every link by itself.
    pub leaves: Vec<u32>,
    /// An order of the links in which every piece is a range that begins with its near end.
    pub place: Vec<u32>,
}

/// What a piece is made of, while it waits to be divided.
#[derive(Clone, Copy)]
enum Made {
    /// Of the links of a path from one to another place of [`Paths::links`], and of what hangs beside them.
    Path(usize, usize),
    /// Of a link and so many of its branches, the lightest first.
    Link(u32, usize),
}

struct Paths {
    /// Of each link: those it carries, the lightest first.
    children: Vec<Vec<u32>>,
    links: Vec<u32>,
    /// Weight of all links before each place, with what hangs beside them.
    weight: Vec<u32>,
}

impl Paths {
    fn new(parents: &[u32]) -> Paths {
        let n = parents.len();
        let mut size = vec![1_u32; n];
        let mut children = vec![Vec::new(); n];
        for k in (0..n).rev().filter(|&k| parents[k] != NONE) {
            size[parents[k] as usize] += size[k];
            children[parents[k] as usize].push(k as u32);
        }
        for list in &mut children {
            list.sort_by_key(|&k| (size[k as usize], std::cmp::Reverse(k)));
        }
        Paths { children, links: Vec::new(), weight: vec![0] }.with_weights(&size)
    }

    /// Lays every path out, so that a piece of it is a range.
    fn with_weights(mut self, size: &[u32]) -> Paths {
        let n = size.len();
        let mut on_path = vec![false; n];
        for start in 0..n {
            let mut at = start as u32;
            while !std::mem::replace(&mut on_path[at as usize], true) {
                let next = self.children[at as usize].last().copied();
                let beside = size[at as usize] - next.map_or(0, |k| size[k as usize]);
                self.links.push(at);
                self.weight.push(self.weight[self.weight.len() - 1] + beside);
                let Some(next) = next else { break };
                at = next;
            }
        }
        self
    }

    /// The path that begins with each link that begins one.
    fn starts(&self) -> Vec<(usize, usize)> {
        let mut ranges = vec![(0, 0); self.links.len()];
        let mut first = 0;
        for at in 0..self.links.len() {
            if self.children[self.links[at] as usize].is_empty() {
                ranges[self.links[first] as usize] = (first, at + 1);
                first = at + 1;
            }
        }
        ranges
    }

    /// Where a path is divided.
    fn middle(&self, first: usize, last: usize) -> usize {
        let twice = self.weight[first] + self.weight[last];
        let after = first + 1 + self.weight[first + 1..last].partition_point(|&w| 2 * w < twice);
        let unevenness = |at: usize| (2 * self.weight[at]).abs_diff(twice);
        let after = after.min(last - 1);
        if after > first + 1 && unevenness(after - 1) <= unevenness(after) { after - 1 } else { after }
    }
}

impl Assembly {
    /// Puts links together; each comes after the one that carries it, or has [`NONE`].
    pub fn of(parents: &[u32]) -> Assembly {
        let paths = Paths::new(parents);
        let starts = paths.starts();
        let mut assembly = Assembly { leaves: vec![NONE; parents.len()], ..Assembly::default() };
        let mut waiting = Vec::new();
        for root in (0..parents.len()).filter(|&k| parents[k] == NONE) {
            let (first, last) = starts[root];
            let id = assembly.add(NONE);
            assembly.roots.push(id);
            waiting.push((id, Made::Path(first, last)));
        }
        while let Some((id, made)) = waiting.pop() {
            let (a, b, beside) = match made {
                Made::Path(first, last) if last == first + 1 => {
                    let link = paths.links[first];
                    // the heaviest child goes on along the path
                    let branches = paths.children[link as usize].len().saturating_sub(1);
                    waiting.push((id, Made::Link(link, branches)));
                    continue;
                }
                Made::Path(first, last) => {
                    let middle = paths.middle(first, last);
                    (Made::Path(first, middle), Made::Path(middle, last), false)
                }
                Made::Link(link, 0) => {
                    assembly.leaves[link as usize] = id;
                    let part = &mut assembly.parts[id as usize];
                    (part.near, part.far) = (link, link);
                    continue;
                }
                Made::Link(link, branches) => {
                    let branch = paths.children[link as usize][branches - 1];
                    let (first, last) = starts[branch as usize];
                    (Made::Link(link, branches - 1), Made::Path(first, last), true)
                }
            };
            let parts = (assembly.add(id), assembly.add(id));
            let part = &mut assembly.parts[id as usize];
            (part.parts, part.beside) = (Some(parts), beside);
            waiting.extend([(parts.0, a), (parts.1, b)]);
        }
        assembly.find_ends();
        assembly
    }

    fn add(&mut self, above: u32) -> u32 {
        self.parts.push(Part { near: NONE, far: NONE, parts: None, beside: false, above });
        self.parts.len() as u32 - 1
    }

    fn find_ends(&mut self) {
        for id in (0..self.parts.len()).rev() {
            if let Some((a, b)) = self.parts[id].parts {
                let (first, second) = (self.parts[a as usize], self.parts[b as usize]);
                let part = &mut self.parts[id];
                part.near = first.near;
                part.far = if part.beside { first.far } else { second.far };
            }
        }
        self.place = vec![NONE; self.leaves.len()];
        let mut stack: Vec<u32> = self.roots.iter().rev().copied().collect();
        let mut next = 0;
        while let Some(id) = stack.pop() {
            match self.parts[id as usize].parts {
                Some((a, b)) => stack.extend([b, a]),
                None => {
                    self.place[self.parts[id as usize].near as usize] = next;
                    next += 1;
                }
            }
        }
    }

    /// The link whose joint joins the parts of a piece.
    pub fn joint(&self, id: u32) -> Option<u32> {
        let (_, b) = self.parts[id as usize].parts?;
        Some(self.parts[b as usize].near)
    }

    /// The piece whose parts are joined by the joint that carries a link; none for a root.
    pub fn joined_by(&self, link: u32) -> Option<u32> {
        let mut id = self.leaves[link as usize];
        while self.joint(id) != Some(link) {
            id = self.parts[id as usize].above;
            if id == NONE {
                return None;
            }
        }
        Some(id)
    }

    /// How many joints a piece is put together by at most on the way to any of its links.
    pub fn heights(&self) -> Vec<u32> {
        let mut heights = vec![0; self.parts.len()];
        for id in (0..self.parts.len()).rev() {
            if let Some((a, b)) = self.parts[id].parts {
                heights[id] = 1 + heights[a as usize].max(heights[b as usize]);
            }
        }
        heights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that joints sit at far ends, that what hangs beside carries nothing more, and that pieces are ranges.
    fn check(parents: &[u32]) -> u32 {
        let assembly = Assembly::of(parents);
        assert_eq!(assembly.parts.len() + assembly.roots.len(), 2 * parents.len());
        for (id, part) in assembly.parts.iter().enumerate() {
            let Some((a, b)) = part.parts else { continue };
            assert!(a as usize > id && b as usize > id);
            let (first, second) = (&assembly.parts[a as usize], &assembly.parts[b as usize]);
            assert_eq!(parents[second.near as usize], first.far);
            assert_eq!(part.near, first.near);
            assert_eq!(part.far, if part.beside { first.far } else { second.far });
            assert!(assembly.place[first.near as usize] < assembly.place[second.near as usize]);
        }
        for (link, &parent) in parents.iter().enumerate() {
            assert_eq!(assembly.joined_by(link as u32).is_none(), parent == NONE);
        }
        let mut places = assembly.place.clone();
        places.sort_unstable();
        assert!(places.iter().enumerate().all(|(k, p)| k as u32 == *p));
        assembly.roots.iter().map(|&r| assembly.heights()[r as usize]).max().unwrap_or(0)
    }

    #[test]
    fn chains_are_halved_and_trees_stay_flat() {
        let chain: Vec<u32> = (0..1000_u32).map(|k| k.checked_sub(1).unwrap_or(NONE)).collect();
        assert_eq!(check(&chain), 10);
        let tree: Vec<u32> = (0..1023_u32).map(|k| if k == 0 { NONE } else { (k - 1) / 2 }).collect();
        assert!(check(&tree) <= 20);
        let star: Vec<u32> = (0..50_u32).map(|k| if k == 0 { NONE } else { 0 }).collect();
        assert_eq!(check(&star), 49);
        // a comb: teeth of ten links on a path of a hundred
        let mut comb: Vec<u32> = (0..100_u32).map(|k| k.checked_sub(1).unwrap_or(NONE)).collect();
        for tooth in 0..100_u32 {
            for k in 0..10 {
                comb.push(if k == 0 { tooth } else { comb.len() as u32 - 1 });
            }
        }
        assert!(check(&comb) <= 16);
        // two trees, and single links
        assert_eq!(check(&[NONE, 0, NONE, NONE, 3, 3]), 2);
        assert_eq!(check(&[]), 0);
    }
}
