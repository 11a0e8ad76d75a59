//! Tests of the world of nodes that send each other messages.

mod digests;
mod drawn_lines;
mod lines;
mod oracles;
mod pa;
mod pa_lies;
mod presets;
mod random;
mod stories;
mod timeline;
