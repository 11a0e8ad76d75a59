//! The world of a swarm: its presets, time travel over it, what can be done to
//! it, and why it does what it does.

mod acts;
mod digests;
mod oracles;
mod presets;
mod random;
mod timeline;
mod why;
