//! Worlds of nodes that send each other messages over datagram links.
//!
//! A scenario says which nodes there are, what the links between them do to
//! datagrams, who sends what when, and what goes wrong. Every datagram has an
//! id made of its direction and its number in that direction; the random draws
//! of a direction depend on that number, so that two runs of one scenario under
//! different profiles lose the same datagrams.

mod act;
mod application;
pub mod check;
mod diagram;
mod event;
mod host;
mod perform;
pub mod presets;
pub mod random;
mod scenario;
mod totals;
mod view;
#[doc(hidden)]
pub mod why;
mod world;

pub use self::act::{Act, ActAt, Send};
pub use self::event::{AppEvent, DatagramEvent, DatagramId, Event, Happening, Label};
pub use self::scenario::{Party, Scenario, Variant, Way};
pub use self::world::{Unicast, World};
pub use crate::links::datagram::{Burst, Link, Loss, Ratio};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    diagram::{Arrow, Cause, Diagram, Fate, Mark, Reason},
    totals::UnicastTotals,
    view::{Margin, Margins, Receiving, Sending, State, Window, margins},
};
