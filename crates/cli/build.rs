//! Bundles the viewer's page with esbuild, in the build folder. Without npm, or offline, the command is built all the
//! same, and `linkwork view` says what is missing.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for source in ["package.json", "package-lock.json", ".npmrc", "src"] {
        println!("cargo::rerun-if-changed=web/{source}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LINKWORK_WITHOUT_PAGE");
    let (script, missing) = match bundle(&out.join("web")) {
        Ok(script) => (script, String::new()),
        Err(missing) => {
            println!("cargo::warning=`linkwork view` will not be available: {missing}");
            (String::new(), missing)
        }
    };
    for (name, text) in [("viewer.js", script), ("viewer_missing.txt", missing)] {
        if let Err(error) = fs::write(out.join(name), text) {
            println!("cargo::error=cannot write {name} into the build folder: {error}");
        }
    }
}

/// The page's script, or what is missing to build it.
fn bundle(folder: &Path) -> Result<String, String> {
    if env::var_os("LINKWORK_WITHOUT_PAGE").is_some() {
        return Err("LINKWORK_WITHOUT_PAGE was set when this program was built".to_owned());
    }
    // installed beside the other products of the build, so that the source tree stays as it is
    let copied = copy(Path::new("web/src"), &folder.join("src"))
        .and_then(|()| fs::copy("web/package.json", folder.join("package.json")))
        .and_then(|_| fs::copy("web/.npmrc", folder.join(".npmrc")));
    copied.map_err(|error| format!("the page's sources cannot be copied: {error}"))?;
    install(folder)?;
    let script = folder.join("viewer.js");
    let outcome = Command::new("node")
        .current_dir(folder)
        .arg("node_modules/esbuild/bin/esbuild")
        .args(["src/main.js", "--bundle", "--minify", "--format=iife", "--target=es2022", "--charset=utf8"])
        .args(["--legal-comments=none", "--log-level=warning", "--outfile=viewer.js"])
        .output()
        .map_err(|error| format!("node cannot be started: {error}"))?;
    if !outcome.status.success() {
        return Err(format!("esbuild failed: {}", said(&outcome.stderr)));
    }
    fs::read_to_string(script).map_err(|error| format!("the page's script cannot be read: {error}"))
}

/// Installs what the lock file names, unless it is there already.
fn install(folder: &Path) -> Result<(), String> {
    let cannot = |error: io::Error| format!("the page's lock file cannot be read: {error}");
    let wanted = fs::read("web/package-lock.json").map_err(cannot)?;
    let lock = folder.join("package-lock.json");
    if folder.join("node_modules/esbuild").is_dir() && fs::read(&lock).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    let _ = fs::remove_file(&lock);
    fs::copy("web/package-lock.json", &lock).map_err(cannot)?;
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let outcome = Command::new(npm)
        .current_dir(folder)
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=0"])
        .output()
        .map_err(|error| format!("npm cannot be started: {error}"))?;
    if !outcome.status.success() {
        let _ = fs::remove_file(&lock);
        return Err(format!("npm could not install the page's packages: {}", said(&outcome.stderr)));
    }
    Ok(())
}

/// The first lines of what a program said.
fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
    lines.join("; ")
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}
