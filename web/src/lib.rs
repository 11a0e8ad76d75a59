//! The core in the browser: one module for every view of the page.
//!
//! Each view asks a class of its own; recorded traces are another. Structured
//! answers are JSON text; instants are microseconds.

mod board;
mod common;
mod ladder;
mod map;
mod matrix;
mod panic;
mod queue;
mod trace;

pub use ladder::Ladder;
pub use map::Map;
pub use matrix::Matrix;
pub use queue::Lab;
pub use trace::Tape;
