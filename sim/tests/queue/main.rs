//! Tests of the simulator.

mod digests;
mod estimates;
mod handover;
mod oracles;
mod parrot;
mod presets;
mod random;
mod remanence;
mod site;
mod starvation;
mod timeline;
mod world;
