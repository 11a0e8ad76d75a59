//! Worlds of routers: a meeting place, two people, and what stands between them
//! (PA-17).
//!
//! Each of the two is a whole node behind a router that maps and filters by the
//! words of RFC 4787, behind a firewall without a router, or in the open; both may
//! be behind one router. They meet, and one sends numbered messages to the other.
//! `judge` says from the routers alone which pairs can find a direct path, and
//! what else must hold.

mod judge;
mod random;
mod router;
mod world;

pub use self::judge::{MeetFault, can_meet, judge};
pub use self::router::{Filtering, Mapping, NatRouter, RouterKind};
pub use self::world::{MeetOutcome, MeetWorld, RouterArrow, RouterArrowEnd, Scenario};
