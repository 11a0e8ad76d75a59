//! The headers of Active Queueing and PARQ, and the `QUEUE` and `GIV` lines.

mod leave;
mod line;
mod loss;
mod place;
mod seconds;
mod told;
mod vars;

pub use self::leave::{leaves, may_leave, write_leave, write_may_leave};
pub use self::line::Line;
pub use self::loss::Loss;
pub use self::place::{Claim, Dialect, Place, write_claim, write_place, write_sleeps};
pub use self::told::{Told, ToldPlace};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    place::{callback, sleeps, spoken, waits},
    seconds::Seconds,
};
