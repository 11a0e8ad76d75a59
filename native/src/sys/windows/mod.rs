//! Windows.

pub(super) mod batches;
pub(super) mod beneath;
pub(super) mod calls;
pub(super) mod console;
pub(super) mod control;
pub(super) mod files;
pub(super) mod machine;
pub(super) mod names;
pub(super) mod service;
pub(super) mod sockets;
