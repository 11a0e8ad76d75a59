//! The map view: one class, [`Map`], over an overlay.

mod answers;
mod lab;
mod rows;
mod watched;

pub use lab::Map;
