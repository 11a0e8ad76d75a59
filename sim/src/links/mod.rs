//! What lies between nodes: streams of bytes, datagrams, and pieces of files.

pub(crate) mod datagram;
pub(crate) mod piece;
pub(crate) mod stream;
