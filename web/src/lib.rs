//! The core in the browser.
//!
//! One class, [`Lab`]: a scenario that is simulated, or a trace that is
//! re-executed, behind the same methods. Structured answers are JSON text;
//! instants are microseconds.

mod answers;
mod lab;
mod panics;
mod room;
mod scenario;
mod survey;
mod trace;

pub use lab::Lab;
