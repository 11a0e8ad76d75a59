//! The headers of Active Queueing and PARQ, and the `QUEUE` and `GIV` lines.

mod line;
mod place;
mod seconds;
mod told;
mod vars;

pub use self::line::Line;
pub use self::place::{Claim, Dialect, Place, callback, spoken, waits, write_claim, write_place};
pub use self::seconds::Seconds;
pub use self::told::{Told, ToldPlace};
