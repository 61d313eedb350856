//! Where results go: stdout, or files that appear only when they are complete.

use crate::failure::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Prints on stdout.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| not_printed(&error))
}

fn not_printed(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::nobody_listens(),
        _ => Failure::failed(format!("stdout cannot be written to: {error}"), ""),
    }
}

/// A file to be written, opened before the work whose result it takes.
///
/// A file that exists keeps its content until [`Output::finish`].
#[derive(Debug)]
pub struct Output {
    target: Target,
    shown: String,
}

#[derive(Debug)]
enum Target {
    Stdout(BufWriter<io::Stdout>),
    /// A device or a pipe, which cannot be replaced.
    Direct(BufWriter<File>),
    Replaced {
        temporary: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

impl Output {
    /// Opens a file for writing, or stdout for `-`. The option that names the file is named when that fails.
    pub fn open(option: &str, path: &Path) -> Result<Output, Failure> {
        let shown = path.display().to_string();
        let refused = |problem: String, hint: &str| Failure::usage(format!("{option} {shown}: {problem}"), hint);
        if path == Path::new("-") {
            return Ok(Output { target: Target::Stdout(BufWriter::new(io::stdout())), shown: "stdout".to_owned() });
        }
        if path.is_dir() {
            return Err(refused("this is a folder".to_owned(), "name a file in it"));
        }
        // A link is followed, so that what it points to is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let before = fs::metadata(&path).ok();
        let cannot = |error: io::Error| refused(format!("cannot be written: {error}"), "choose another place");
        if let Some(before) = &before {
            if before.permissions().readonly() {
                return Err(refused("the file is write-protected".to_owned(), "choose another name"));
            }
            if !before.is_file() {
                let file = OpenOptions::new().write(true).open(&path).map_err(cannot)?;
                return Ok(Output { target: Target::Direct(BufWriter::new(file)), shown });
            }
        }
        let folder = folder_of(&path);
        if !folder.is_dir() {
            return Err(refused(format!("the folder {} does not exist", folder.display()), "create it first"));
        }
        let temporary = temporary_in(folder, before.map(|before| before.permissions())).map_err(cannot)?;
        Ok(Output { target: Target::Replaced { temporary: BufWriter::new(temporary), path }, shown })
    }

    /// Whether this is stdout.
    pub fn is_stdout(&self) -> bool {
        matches!(self.target, Target::Stdout(_))
    }

    /// Completes the file: from now on it has the new content.
    pub fn finish(self) -> Result<(), Failure> {
        let shown = self.shown;
        let cannot = |error: io::Error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::nobody_listens(),
            _ => Failure::failed(format!("{shown} cannot be written: {error}"), ""),
        };
        match self.target {
            Target::Stdout(mut stdout) => stdout.flush().map_err(cannot),
            Target::Direct(mut file) => file.flush().map_err(cannot),
            Target::Replaced { temporary, path } => {
                let temporary = temporary.into_inner().map_err(|error| cannot(error.into_error()))?;
                temporary.persist(path).map(drop).map_err(|error| cannot(error.error))
            }
        }
    }

    /// Says that writing failed half-way.
    pub fn failure(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::nobody_listens(),
            _ => Failure::failed(format!("{} cannot be written: {error}", self.shown), "is the disk full?"),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.target {
            Target::Stdout(stdout) => stdout.write(bytes),
            Target::Direct(file) => file.write(bytes),
            Target::Replaced { temporary, .. } => temporary.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stdout(stdout) => stdout.flush(),
            Target::Direct(file) => file.flush(),
            Target::Replaced { temporary, .. } => temporary.flush(),
        }
    }
}

/// Refuses two names for one file.
pub fn refuse_same_file(named: &[(&str, &Path)]) -> Result<(), Failure> {
    for (i, (first, path)) in named.iter().enumerate() {
        for (second, other) in &named[..i] {
            if identity(path) == identity(other) {
                return Err(Failure::usage(
                    format!("{second} and {first} name the same file, {}", path.display()),
                    "one would overwrite the other; choose two names",
                ));
            }
        }
    }
    Ok(())
}

/// The file that a path leads to, whether it exists or not.
fn identity(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    match (fs::canonicalize(folder_of(path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn temporary_in(folder: &Path, permissions: Option<fs::Permissions>) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".linkwork-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: what the user's mask leaves of it.
        builder.permissions(permissions.unwrap_or_else(|| fs::Permissions::from_mode(0o666)));
    }
    #[cfg(not(unix))]
    drop(permissions);
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_content_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let mut output = Output::open("--csv", &path).unwrap();
        output.write_all(b"new").unwrap();
        output.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        output.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        drop(Output::open("--csv", &path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "an abandoned output leaves nothing behind");
    }

    #[test]
    fn one_file_under_two_names_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let a = folder.path().join("a.txt");
        let other = folder.path().join(".").join("a.txt");
        let b = folder.path().join("b.txt");
        assert!(refuse_same_file(&[("--csv", &a), ("--report", &other)]).is_err());
        assert!(refuse_same_file(&[("--csv", &a), ("--report", &b)]).is_ok());
        assert!(refuse_same_file(&[("--csv", Path::new("-")), ("--report", Path::new("-"))]).is_err());
    }
}
