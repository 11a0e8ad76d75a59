//! One file a command.

pub(crate) mod bench;
pub(crate) mod campaign;
pub(crate) mod conformance;
pub(crate) mod demo;
pub(crate) mod dist;
pub(crate) mod fuzz;
pub(crate) mod mutants;
pub(crate) mod page;
pub(crate) mod room;
pub(crate) mod soak;
pub(crate) mod test;
pub(crate) mod tidy;
pub(crate) mod windows;
pub(crate) mod worlds;
