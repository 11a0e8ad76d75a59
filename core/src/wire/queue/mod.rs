//! The headers of Active Queueing and PARQ, and the `QUEUE` and `GIV` lines.

mod leave;
mod line;
mod loss;
mod place;
mod reply;
mod seconds;
mod vars;

pub use self::leave::{leaves, may_leave, write_leave, write_may_leave};
pub use self::line::SignalLine;
pub use self::loss::PositionLoss;
pub use self::place::{
    Dialect, PositionClaim, QueuePosition, write_claim, write_place, write_sleeps,
};
pub use self::reply::{QueueReply, ToldPlace};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    place::{callback, sleeps, spoken, waits},
    seconds::Seconds,
};
