//! The map view: one class, [`Map`], over an overlay.

mod answers;
mod lab;
mod layout;
mod rows;
mod watched;

pub use lab::Map;
