//! Tests of the world of nodes that send each other messages.

mod digests;
mod oracles;
mod presets;
mod random;
mod stories;
mod timeline;
