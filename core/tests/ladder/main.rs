//! Tests of the world of messengers.

mod digests;
mod oracles;
mod presets;
mod stories;
mod swarm;
mod timeline;
