//! What people do, with the settings they have.

#[path = "../support/program/mod.rs"]
mod program;

mod several_downloads;
