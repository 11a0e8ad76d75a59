//! Bytes to messages and back. Nothing here knows the time, and nothing here
//! trusts a length it has not counted itself.

pub mod http;
pub mod queue;
pub mod unicast;
