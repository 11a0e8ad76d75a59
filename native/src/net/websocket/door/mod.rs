//! What a stranger at the WebSocket door can reach, without sockets: the opening
//! handshake, the frames behind it, and the register of pages and calls. The
//! fuzzer hosts exactly this.

pub(crate) mod frames;
pub(crate) mod handshake;
pub(crate) mod relay;
