//! What people do, with the settings they have.

#[path = "../support/program/mod.rs"]
mod program;

mod full_disk;
mod pauses;
mod queue;
mod several_downloads;
