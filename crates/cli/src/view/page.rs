//! The page: built with the command, served to browsers or written into one file.

use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};

/// The page's markup.
const MARKUP: &str = include_str!("../../web/index.html");
/// The page's style sheet.
pub const STYLE: &str = include_str!("../../web/style.css");
/// The page's script; empty if it could not be built.
pub const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer.js"));
/// Why it could not.
const MISSING: &str = include_str!(concat!(env!("OUT_DIR"), "/viewer_missing.txt"));

const STYLE_LINK: &str = "<link rel=\"stylesheet\" href=\"style.css\">";
const SCRIPT_LINK: &str = "<script defer src=\"viewer.js\"></script>";
const MODE: &str = "<meta name=\"linkwork-mode\" content=\"live\">";

/// Refuses to go on without a page.
pub fn require() -> Result<(), Failure> {
    if !SCRIPT.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("this program was built without the viewer's page: {}", MISSING.trim()),
        "install Node.js with npm, connect to its registry, `touch crates/cli/web/package.json`, and build again",
    ))
}

/// The page as a server sends it: of a simulation, or of a recording that it serves, too.
pub fn served(is_recording: bool) -> String {
    match is_recording {
        true => MARKUP.replace(MODE, &MODE.replace("live", "recording")),
        false => MARKUP.to_owned(),
    }
}

/// Writes the page with a recording in it, as one file.
pub fn write_replay(writer: &mut impl Write, title: &str, recording: &[u8]) -> io::Result<()> {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let markup = MARKUP.replace(MODE, &MODE.replace("live", "inline"));
    let markup = markup.replace("<title>Linkwork</title>", &format!("<title>{title} · Linkwork</title>"));
    let (head, tail) = markup.split_once(STYLE_LINK).unwrap_or((&markup, ""));
    let (before, after) = tail.split_once(SCRIPT_LINK).unwrap_or((tail, ""));
    write!(writer, "{head}<style>\n{STYLE}</style>{before}")?;
    let (body, end) = after.split_once("</body>").unwrap_or((after, ""));
    write!(writer, "{body}")?;
    for (id, bytes) in [("recording", recording), ("program", &deflated(SCRIPT)?)] {
        writeln!(writer, "<script type=\"application/octet-stream\" id=\"{id}\">{}</script>", STANDARD.encode(bytes))?;
    }
    write!(writer, "<script>{LOADER}</script>\n</body>{end}")
}

/// Unpacks the page's script, which is most of a short replay, and runs it.
const LOADER: &str = "(async () => {
  const packed = Uint8Array.from(atob(document.getElementById('program').textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  document.body.append(Object.assign(document.createElement('script'), { textContent: await new Response(stream).text() }));
})().catch((error) => { document.getElementById('notices').textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`; });";

fn deflated(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_markup_has_the_places_that_are_filled() {
        for place in [STYLE_LINK, SCRIPT_LINK, MODE, "<title>Linkwork</title>", "</body>"] {
            assert_eq!(MARKUP.matches(place).count(), 1, "{place}");
        }
    }

    #[test]
    fn a_replay_is_one_file_that_asks_for_nothing() {
        let mut bytes = Vec::new();
        write_replay(&mut bytes, "a <b>", b"LWR").unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let packed = STANDARD.encode(deflated(SCRIPT).unwrap());
        assert!(text.contains(&packed) && packed.len() <= SCRIPT.len() / 2 + 8, "the script is there, packed");
        let markup = text.replace(&packed, "");
        assert!(!markup.contains("href=\"style.css\"") && !markup.contains("src=\"viewer.js\""));
        assert!(markup.contains("content=\"inline\"") && markup.contains(">TFdS</script>"));
        assert!(markup.contains("<title>a &lt;b> · Linkwork</title>"));
    }
}
