//! The swarm matrix: one class, [`Matrix`], over a swarm of clients.

mod answers;
mod lab;
mod picture;
mod watched;

pub use lab::Matrix;
