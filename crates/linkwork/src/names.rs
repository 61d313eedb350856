//! Names of bodies and joints: which are known, and which was meant.

use crate::handle::{BodyId, JointId};
use crate::scene::{Joint, WORLD};
use std::collections::{HashMap, HashSet};

/// Names to ids while a scene is being built.
#[derive(Default)]
pub(crate) struct Namer {
    pub bodies: HashMap<String, BodyId>,
    pub joints: HashMap<String, JointId>,
    /// Names of bodies and joints that have problems of their own: what depends on them is not looked at.
    pub spoiled: [HashSet<String>; 2],
}

impl Namer {
    pub fn spoil_body(&mut self, name: &str) {
        self.spoiled[0].insert(name.to_string());
    }

    /// Whether a joint or coupling is about something whose own problem has been told.
    pub fn depends_on_spoiled(&self, joint: &Joint) -> bool {
        let bodies = [&joint.a, &joint.b].into_iter().flatten().any(|name| self.spoiled[0].contains(name));
        bodies || joint.joints.iter().any(|name| self.spoiled[1].contains(name))
    }
}

/// The name of what has none.
pub(crate) fn named(name: &str, what: &str, id: impl std::fmt::Debug) -> String {
    if name.is_empty() { format!("{what} {id:?}") } else { name.to_string() }
}

/// A list of names that can still be read.
pub(crate) fn all_of<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> String {
    const MOST: usize = 8;
    let count = names.len();
    let mut shown: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
    shown.sort();
    shown.truncate(MOST);
    let more = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
    format!("there are {}{more}, and \"{WORLD}\"", shown.join(", "))
}

/// The name that was meant, if one is like it.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n String>) -> Option<String> {
    let distance = |other: &str| {
        let (a, b): (Vec<char>, Vec<char>) = (name.chars().collect(), other.chars().collect());
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for i in 0..a.len() {
            let mut corner = row[0];
            row[0] = i + 1;
            for j in 0..b.len() {
                let change = corner + usize::from(a[i] != b[j]);
                corner = row[j + 1];
                row[j + 1] = change.min(corner + 1).min(row[j] + 1);
            }
        }
        row[b.len()]
    };
    let mut close: Vec<(usize, &String)> = known.filter(|k| k.len() < 200).map(|k| (distance(k), k)).collect();
    close.sort();
    // a name of which nothing is left is another name
    let like = |c: &&(usize, &String)| c.0 <= 1 + name.len() / 4 && c.0 < name.chars().count();
    close.first().filter(like).map(|c| c.1.clone())
}
