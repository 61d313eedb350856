//! "Did you mean".

/// The candidate most like `name`, if any is like enough to be what was meant.
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // A pasted paragraph is nobody's misspelling, and comparing it would take its time.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_lowercase().replace(['-', ' '], "_");
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

fn distance(name: &str, candidate: &str) -> usize {
    strsim::damerau_levenshtein(name, &candidate.replace('-', "_"))
}

/// "did you mean …", or else the list of what there is.
pub(crate) fn hint(name: &str, candidates: &[&str]) -> String {
    match nearest(name, candidates.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known here: {}", candidates.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn misspellings_are_recognised() {
        let keys = ["mass", "inertia", "density", "center_of_mass", "angular_velocity"];
        for (typed, meant) in [
            ("masss", Some("mass")),
            ("amss", Some("mass")),
            ("Mass", Some("mass")),
            ("interia", Some("inertia")),
            ("centre_of_mass", Some("center_of_mass")),
            ("angular-velocity", Some("angular_velocity")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, keys), meant, "{typed}");
        }
    }

    #[test]
    fn a_long_name_is_not_compared() {
        assert_eq!(nearest(&"m".repeat(1_000_000), ["mass"]), None);
    }
}
