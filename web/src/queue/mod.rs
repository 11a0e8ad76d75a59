//! The queue view: a scenario that is simulated.

mod lab;
mod scenario;
mod survey;

pub use lab::Lab;
