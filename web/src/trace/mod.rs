//! Recorded traces: a node that is re-executed.

mod lab;
mod tape;

pub use tape::Tape;
