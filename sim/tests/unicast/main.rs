//! Tests of the world of messengers.

mod digests;
mod oracles;
mod presets;
mod random;
mod stories;
mod timeline;
