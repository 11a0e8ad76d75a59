//! Files and streams over [reliable unicast](crate::unicast), checked from
//! end to end: the sender's last word is the length and the SHA-256 of
//! everything, the receiver's answer says whether that is what arrived.

mod message;
mod receive;
mod send;
mod target;

pub use self::receive::{Arrived, ReceiveError, Transfer, refuse};
pub use self::send::{SendFailure, Sent, send, stop};
pub use self::target::Target;
