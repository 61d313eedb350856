//! The command as a user meets it: exit codes, messages, files.

mod bench;
mod check;
mod command;
mod export;
mod interrupt;
mod list;
mod page;
mod plot;
mod recording;
mod refusals;
mod run;
mod view;
mod viewer;
