//! Tests of the simulator.

mod oracles;
mod parrot;
mod presets;
mod timeline;
mod world;
