//! Scene files: TOML, and the same as JSON; and [recordings](recording) of runs.
//!
//! ```
//! use linkwork_io::{Format, parse_scene, write_scene};
//!
//! let text = r#"
//! name = "pendulum"
//! [[bodies]]
//! name = "bob"
//! position = [1.0, 0.0, 0.0]
//! mass = 2.0
//! inertia = [0.1, 0.1, 0.1]
//! [[joints]]
//! type = "ball"
//! b = "bob"
//! at = [0.0, 0.0, 0.0]
//! "#;
//! let scene = parse_scene(text, Format::Toml, "pendulum.toml").unwrap();
//! let json = write_scene(&scene, Format::Json).unwrap();
//! assert_eq!(parse_scene(&json, Format::Json, "pendulum.json").unwrap(), scene);
//!
//! let wrong = parse_scene(&text.replace("mass", "maas"), Format::Toml, "pendulum.toml").unwrap_err();
//! assert_eq!(wrong.to_string(), "pendulum.toml:6:1: unknown key `maas` (did you mean `mass`?)");
//! ```
//!
//! Both formats are first read into one tree whose nodes know where they stand in the text, and the scene is read from
//! that tree. So a misspelt key, a wrong type and what [`World::build`](linkwork::World::build) finds wrong later all
//! point at the text in the same way, and the whole file is reported on, not only its first mistake.

mod error;
mod format;
mod json;
mod locate;
mod node;
mod read;
mod reading;
pub mod recording;
mod schema;
mod suggest;
mod toml_tree;
mod write;

pub use error::{FileError, Place, Problem, Span};
pub use format::Format;
pub use locate::locate;
pub use read::{LARGEST_FILE, SceneFile, load, parse_scene, read_scene};
pub use schema::schema;
pub use suggest::nearest;
pub use write::write_scene;
