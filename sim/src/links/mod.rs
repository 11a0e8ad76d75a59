//! The links between nodes: for byte streams, datagrams, and pieces of files.

pub(crate) mod datagram;
pub(crate) mod piece;
pub(crate) mod stream;
