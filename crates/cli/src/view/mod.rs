//! `linkwork view`: the simulation in a browser.
//!
//! [`session`] runs the simulation on its own thread, [`server`] lets pages look at it and act on it, and [`page`] is what
//! they see. The page's sources are in `crates/cli/web`.

// nothing that a page says may end the program
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod ahead;
mod backlog;
mod browser;
mod building;
mod contacts;
mod frame;
mod guard;
mod orders;
pub mod page;
mod particle_grip;
mod server;
mod session;
mod spring;
mod stage;

use crate::args::{SceneOptions, ViewOptions};
use crate::failure::Failure;
use crate::source::Source;
use crate::{interrupt, output};
use guard::Guard;
use linkwork_io::recording::Recording;
use server::Show;
use session::{Session, Settings};
use stage::Stage;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// Shows a scene or a recording until the user ends it.
pub fn view(options: &ViewOptions) -> Result<(), Failure> {
    page::require()?;
    let show = match is_recording(Path::new(&options.scene)) {
        true => Show::Recording(recording(options)?.into()),
        false => Show::Session(session(options)?),
    };
    interrupt::listen();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("the server cannot be started: {error}"), ""))?;
    let served = runtime.block_on(serve(options, show));
    // pages that are still connected are not waited for
    runtime.shutdown_background();
    served
}

/// By its name, or by what it begins with, whatever it is called.
pub fn is_recording(file: &Path) -> bool {
    if file.extension().is_some_and(|extension| extension == "lwr") {
        return true;
    }
    let mut start = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && Recording::is_one(&start)
}

fn session(options: &ViewOptions) -> Result<session::Published, Failure> {
    options.solving.check()?;
    let scene = SceneOptions { scene: options.scene.clone(), settings: options.settings.clone() };
    let stage = Stage::build(Source::find(&scene)?).or_else(|problem| {
        // the command shows the text of the file, which a page cannot
        Source::find(&scene)?.build()?;
        Err(Failure::failed(problem, ""))
    })?;
    let settings = Settings { dt: options.dt, solving: options.solving, playing: !options.paused };
    Session::start(stage, settings)
        .map_err(|error| Failure::failed(format!("the simulation cannot be started: {error}"), ""))
}

/// The bytes of a recording, which is read once so that the user is told here if it cannot be.
fn recording(options: &ViewOptions) -> Result<Vec<u8>, Failure> {
    let file = &options.scene;
    if let Some((key, _)) = options.settings.first() {
        return Err(Failure::usage(
            format!("{file} is a recording and has no parameter `{key}`"),
            "--set belongs to the scenes of `linkwork list`",
        ));
    }
    let bytes = std::fs::read(file)
        .map_err(|error| Failure::usage(format!("{file}: cannot be read: {error}"), "is the path right?"))?;
    let recording = Recording::read(&bytes).map_err(|error| {
        Failure::failed(format!("{file}: {error}"), "recordings are made by `linkwork run SCENE --record FILE.lwr`")
    })?;
    if !recording.complete {
        let _ = writeln!(std::io::stderr(), "warning: {file} was cut off; what is there is shown");
    }
    Ok(bytes)
}

async fn serve(options: &ViewOptions, show: Show) -> Result<(), Failure> {
    let asked = SocketAddr::new(options.host, options.port);
    let refused = |error: std::io::Error| {
        Failure::usage(format!("cannot listen on {asked}: {error}"), "choose another --port or --host, or neither")
    };
    let listener = tokio::net::TcpListener::bind(asked).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    let open = !options.host.is_loopback();
    let shown = match options.host {
        IpAddr::V4(address) if address.is_unspecified() => SocketAddr::new([127, 0, 0, 1].into(), bound.port()),
        IpAddr::V6(address) if address.is_unspecified() => SocketAddr::new(IpAddr::V6(1.into()), bound.port()),
        _ => bound,
    };
    let address = format!("http://{shown}/");
    if open {
        let _ = writeln!(
            std::io::stderr(),
            "warning: listening on {bound}: everybody who reaches this address can drive the simulator"
        );
    }
    output::print(&format!("{address}\n"))?;
    if !options.no_open && !browser::open(&address) {
        let _ = writeln!(std::io::stderr(), "open the address in a browser; Ctrl-C ends the viewer");
    }
    let lost = lost(show.clone());
    let router = server::router(show, Guard { port: bound.port(), open });
    tokio::select! {
        served = axum::serve(listener, router) => {
            served.map_err(|error| Failure::failed(format!("the server failed: {error}"), ""))
        }
        () = ended() => Ok(()),
        () = lost => Err(Failure::failed(
            "the simulation has ended by a fault of the engine",
            "what it said is above; please report it with the scene and what was done",
        )),
    }
}

/// Returns when the thread of the simulation is no more, which only a fault can bring about.
async fn lost(show: Show) {
    match show {
        Show::Session(mut published) => while published.status.changed().await.is_ok() {},
        Show::Recording(_) => std::future::pending().await,
    }
}

async fn ended() {
    while !interrupt::requested() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
