//! Bytes to messages and back.

mod gnutella;
mod gnutella_handshake;
mod http;
mod meet;
mod pdtp;
mod unicast;
