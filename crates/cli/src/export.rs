//! `linkwork export` and `linkwork schema`.

use crate::args::ExportOptions;
use crate::failure::Failure;
use crate::output::{self, Output, print};
use crate::source::Source;
use crate::table::plural;
use linkwork::BuildError;
use linkwork_io::Format;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Writes a scene to a file.
pub fn export(options: &ExportOptions) -> Result<(), Failure> {
    let path = options.to.as_path();
    let format = Format::of_path(path).ok_or_else(|| {
        Failure::usage(
            format!("--to {}: not the name of a scene file", path.display()),
            "scene files end in .toml or .json",
        )
    })?;
    let source = Source::find(&options.scene)?;
    if let Some(file) = &source.file {
        output::refuse_same_file(&[("the scene", Path::new(&file.file)), ("--to", path)])?;
    }
    let mut output = Output::open("--to", path)?;
    let text = linkwork_io::write_scene(&source.scene, format)
        .map_err(|error| source.refusal(&BuildError { problems: vec![error] }))?;
    output.write_all(text.as_bytes()).map_err(|error| output.failure(&error))?;
    output.finish()?;
    if std::io::stdout().is_terminal() {
        let (bodies, joints) = (source.scene.bodies.len(), source.scene.joints.len());
        let bodies = if bodies == 1 { "1 body".to_owned() } else { format!("{bodies} bodies") };
        print(&format!("{}: {bodies}, {}\n", path.display(), plural(joints as u64, "joint")))?;
    }
    Ok(())
}

/// Prints the JSON Schema of scene files.
pub fn schema() -> Result<(), Failure> {
    print(&format!("{:#}\n", linkwork_io::schema()))
}
