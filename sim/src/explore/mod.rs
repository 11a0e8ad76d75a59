//! Exploring: every order of events of a small world, and the shortest story
//! that breaks a rule.
//!
//! The timing of an explored world is open: a message in flight may be delivered,
//! lost or doubled at any moment, a timer may run while messages are under way,
//! and what the scenario's applications do comes at any time, in its order. Time
//! advances to what was chosen: it stands still while messages are delivered, and
//! moves to the deadline of a timer that runs. So two orders of independent events
//! end in the same state, and such states are walked once.
//!
//! [`Explorer`] walks them breadth first, so the first violation it finds is a
//! shortest one. It has no threads and no clock: the host passes chunks of a level
//! to as many cores as it has, and gives the results back in order. The counts are
//! therefore the same on one core and on many.

mod choice;
mod explorer;
mod fingerprint;
mod state;
mod story;
mod walk;

pub use self::choice::ExploredProtocol;
pub use self::explorer::{Explorer, Successor};
pub use self::fingerprint::Fingerprint;
pub use self::state::ExploredState;
pub use self::story::{Story, tell};
pub(crate) use self::walk::walk;
pub use crate::registry::{Choice, Ended, Explored, InFlight, Limits, StoryStep};
