//! What the documents say about the repository is so.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All documents written for people: those at the top, and those in docs.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [root(), root().join("docs")] {
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        found.extend(entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    found.sort();
    assert!(found.len() >= 8, "{found:?}");
    found
}

/// What stands between backticks, outside of blocks of code.
fn code(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// Whether something in backticks claims to be a path of the repository.
fn is_path(code: &str) -> bool {
    let first = code.split('/').next().unwrap_or_default();
    let known = ["crates", "docs", "bench", ".ci", ".cargo"];
    known.contains(&first) && code.contains('/') && !code.contains([' ', '$', '<'])
}

/// Whether a path is there; a `*` stands for anything in the last part.
fn exists(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return path.exists() };
    let Some((start, end)) = name.split_once('*') else { return path.exists() };
    let Some(Ok(entries)) = path.parent().map(std::fs::read_dir) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(start) && name.ends_with(end)
    })
}

/// Targets of links that are no addresses, without what follows a `#`.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    files.map(|target| target.split('#').next().unwrap_or_default()).collect()
}

#[test]
fn every_path_in_the_documents_exists() {
    let mut missing = Vec::new();
    let mut seen = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let folder = document.parent().unwrap();
        let named = code(&text).into_iter().filter(|code| is_path(code)).map(|path| root().join(path));
        for path in named.chain(links(&text).into_iter().map(|link| folder.join(link))) {
            seen += 1;
            if !exists(&path) {
                missing.push(format!("{} names {}", document.display(), path.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(seen > 150, "only {seen} paths were found: are they still written in backticks?");
}

#[test]
fn the_gallery_shows_every_scene() {
    let gallery = std::fs::read_to_string(root().join("docs/gallery.md")).unwrap();
    for entry in linkwork_scenes::all() {
        let shown = gallery.lines().find(|line| line.contains(&format!("(pictures/gallery/{}.", entry.name)));
        let said = format!("**{}**: {} |", entry.name, entry.summary);
        assert!(
            shown.is_some_and(|line| line.ends_with(&said)),
            "docs/gallery.md lacks a picture of {0}, or \"{said}\" beside it; `crates/cli/web/test/gallery.mjs \
             {0}` draws one",
            entry.name
        );
    }
}
