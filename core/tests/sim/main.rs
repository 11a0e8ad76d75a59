//! Tests of the simulator.

mod parrot;
mod presets;
mod timeline;
mod world;
