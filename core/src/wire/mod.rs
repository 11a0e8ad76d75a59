//! Bytes to messages and back. Nothing here knows the time, and no length that
//! a peer announces is trusted.

pub mod gnutella;
pub mod http;
pub mod meet;
pub mod pdtp;
pub(crate) mod percent;
pub mod queue;
mod scan;
pub mod tar;
#[doc(hidden)]
pub mod thex;
pub mod unicast;
