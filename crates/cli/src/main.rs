//! The `linkwork` command.
//!
//! Exit codes: 0 for success, 1 if a model or a simulation failed, 2 if the command was asked for something impossible.

mod adaptive;
mod args;
mod bench;
mod check;
mod csv;
mod diagnose;
mod export;
mod failure;
mod interrupt;
mod list;
mod number;
mod output;
mod plot;
mod progress;
mod record;
mod render;
mod report;
mod run;
mod series;
mod source;
mod start;
mod table;
mod tape;
mod time;
mod view;

use args::{Arguments, Command};
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Arguments { threads, command } = Arguments::parse();
    let one_by_default = matches!(command, Command::Bench(_)).then_some(1);
    if let Some(threads) = threads.or(one_by_default) {
        // fails only if threads have been started already, and none have
        let _ = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
    }
    let result = match command {
        Command::List(options) => list::list(&options),
        Command::Run(options) => run::run(&options),
        Command::Check(options) => check::check(&options),
        Command::Export(options) => export::export(&options),
        Command::Schema => export::schema(),
        Command::View(options) => view::view(&options),
        Command::Render(options) => render::render(&options),
        Command::Plot(options) => plot::plot(&options),
        Command::Bench(options) => bench::bench(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to be told to if stderr is closed, too.
            let _ = std::io::stderr().write_all(failure.text().as_bytes());
            ExitCode::from(failure.exit_code())
        }
    }
}
