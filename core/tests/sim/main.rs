//! Tests of the simulator.

mod parrot;
mod timeline;
mod world;
