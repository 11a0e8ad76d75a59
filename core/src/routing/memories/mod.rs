//! What a router remembers: tables in two generations, and the neighbour each entry leads to.

pub(super) mod generation;
pub(super) mod memory;
pub(super) mod route;
pub(super) mod tables;
