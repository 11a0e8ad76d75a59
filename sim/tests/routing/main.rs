//! Whole overlays: presets, oracles, time travel, and overlays drawn at random.

mod digests;
mod dynamic;
mod firewall;
mod large;
mod oracles;
mod presets;
mod random;
mod timeline;
mod together;
