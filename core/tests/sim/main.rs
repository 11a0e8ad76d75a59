//! Tests of the simulator.

mod handover;
mod oracles;
mod parrot;
mod presets;
mod swarm;
mod timeline;
mod world;
