//! What people do, with the settings they have.

#[path = "../support/program/mod.rs"]
mod program;

mod queue;
mod several_downloads;
