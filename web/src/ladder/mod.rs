//! The ladder view: one class, [`Ladder`], over a world of messengers.

mod answers;
mod lab;
mod watched;

pub use lab::Ladder;
