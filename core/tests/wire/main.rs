//! Bytes to messages and back.

mod gnutella;
mod gnutella_handshake;
mod http;
mod pdtp;
mod unicast;
