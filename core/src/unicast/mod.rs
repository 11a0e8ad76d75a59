//! Reliable, ordered messages over datagrams (UNICAST3).

mod clause;
mod config;
mod counters;
mod event;
mod io;

pub use self::config::{Config, Congestion, Profile};
pub use self::counters::Counters;
pub use self::event::{Ending, Event, Limit, Rejection, Side, Why};
pub use self::io::{Input, Output, Refusal, Room};
pub use crate::wire::unicast::{Conn, Order, Payload};
