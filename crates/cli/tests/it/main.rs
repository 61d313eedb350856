//! The command as a user meets it: exit codes, messages, files.

mod bench;
mod check;
mod command;
mod documents;
mod export;
mod interrupt;
mod list;
mod page;
mod plot;
mod recording;
mod refusals;
mod render;
mod run;
mod view;
mod viewer;
