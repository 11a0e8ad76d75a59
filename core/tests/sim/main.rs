//! Tests of the simulator.

mod handover;
mod oracles;
mod parrot;
mod presets;
mod timeline;
mod world;
