//! Two builds by turns: what slows the machine down for a while slows both.

use crate::args::BenchOptions;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Progress;
use crate::record::quantile;
use crate::table::{figure, table};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A build is slower if it was so in this part of the pairs, too: single pairs can be anything.
const MOST_PAIRS: f64 = 0.75;

/// Times of a scene, ms a step: the other build and this one, in pairs.
type Pairs = BTreeMap<String, Vec<(f64, f64)>>;

/// Runs both builds `repeats` times by turns; a table, and whether this one is slower by more than allowed.
pub fn duel(other: &Path, options: &BenchOptions, allowed: f64) -> Result<(String, bool), Failure> {
    let this = std::env::current_exe().map_err(|error| Failure::failed(format!("this program: {error}"), ""))?;
    let mut pairs = Pairs::new();
    let mut progress = Progress::start(u64::from(options.repeats), options.quiet);
    for repeat in 0..options.repeats {
        if interrupt::requested() {
            break;
        }
        // the first of a pair may find a colder machine, so they take turns at it
        let (before, now) = if repeat % 2 == 0 {
            let before = times(other, options)?;
            (before, times(&this, options)?)
        } else {
            let now = times(&this, options)?;
            (times(other, options)?, now)
        };
        for (label, now) in now {
            if let Some(&before) = before.get(&label) {
                pairs.entry(label).or_default().push((before, now));
            }
        }
        progress.show(u64::from(repeat) + 1, 0.0);
    }
    progress.finish();
    if pairs.is_empty() {
        return Err(match interrupt::requested() {
            true => Failure::failed("interrupted before both builds had run", ""),
            false => Failure::failed(
                format!("--against {}: the two builds have no scene in common", other.display()),
                "name a scene that both know, with the same settings",
            ),
        });
    }
    Ok(judge(&pairs, allowed))
}

fn judge(pairs: &Pairs, allowed: f64) -> (String, bool) {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        quantile(&values, 0.5)
    };
    let (mut rows, mut worse) = (Vec::new(), false);
    for (label, pairs) in pairs {
        let ratio = median(pairs.iter().map(|(before, now)| now / before).collect());
        let slower = pairs.iter().filter(|(before, now)| now > before).count() as f64 / pairs.len() as f64;
        let word = if ratio > 1.0 + allowed && slower >= MOST_PAIRS {
            worse = true;
            "SLOWER"
        } else if ratio < 1.0 - allowed && slower <= 1.0 - MOST_PAIRS {
            "faster"
        } else {
            "same"
        };
        rows.push(vec![
            label.clone(),
            figure(median(pairs.iter().map(|pair| pair.0).collect())),
            figure(median(pairs.iter().map(|pair| pair.1).collect())),
            format!("{:+.2} %", 100.0 * (ratio - 1.0)),
            format!("{:.0} %", 100.0 * slower),
            word.to_owned(),
        ]);
    }
    let header = ["scene", "other ms", "this ms", "change", "pairs slower", ""];
    (format!("{}\nMedian CPU ms a step, and the median change over pairs of runs.\n", table(&header, &rows)), worse)
}

/// One run of a build: CPU time per step of every scene.
fn times(program: &Path, options: &BenchOptions) -> Result<BTreeMap<String, f64>, Failure> {
    let mut command = Command::new(program);
    command.arg("bench").args(["--repeats", "1", "--json", "--quiet"]);
    for (key, value) in &options.settings {
        command.args(["--set", &format!("{key}={value}")]);
    }
    command.args(options.stepping.words());
    command.args(&options.scenes).stdin(Stdio::null()).stderr(Stdio::null());
    let shown = program.display();
    let output = command.output().map_err(|error| {
        Failure::usage(format!("--against {shown}: {error}"), "give the path of another build of this command")
    })?;
    let json: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        Failure::failed(
            format!("--against {shown}: it printed no figures"),
            format!(
                "is it another build of this command that knows the scenes? Try `{shown} bench {}`",
                options.scenes.join(" ")
            ),
        )
    })?;
    let results = json["results"].as_array().into_iter().flatten();
    let time = |r: &Value| Some((r["label"].as_str()?.to_owned(), r["cpu_ms"]["median"].as_f64()?));
    Ok(results.filter_map(time).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_pairs_and_the_median_must_agree() {
        let of = |pairs: &[(f64, f64)]| Pairs::from([("a".to_owned(), pairs.to_vec())]);
        let (text, worse) = judge(&of(&[(1.0, 1.2), (1.0, 1.1), (2.0, 2.3), (1.0, 0.9)]), 0.03);
        assert!(worse && text.contains("SLOWER") && text.contains("75 %"), "{text}");
        let (text, worse) = judge(&of(&[(1.0, 1.2), (1.0, 0.9), (1.0, 1.3), (1.0, 0.8)]), 0.03);
        assert!(!worse && text.contains("same"), "{text}");
        assert!(judge(&of(&[(1.0, 0.5), (1.0, 0.6)]), 0.03).0.contains("faster"));
    }
}
