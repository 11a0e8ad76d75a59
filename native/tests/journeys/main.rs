//! What people do, with the settings they have.

#[path = "../program/mod.rs"]
mod program;

mod several_downloads;
