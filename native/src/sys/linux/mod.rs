//! Linux.

pub(super) mod batches;
pub(super) mod beneath;
pub(super) mod console;
pub(super) mod control;
mod cork;
pub(super) mod files;
pub(super) mod machine;
mod many;
mod mode;
pub(super) mod names;
pub(super) mod service;
pub(super) mod sockets;
mod timer;
mod unacknowledged;
mod untimed;
