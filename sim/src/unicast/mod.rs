//! Worlds of nodes that send each other messages over datagram links.
//!
//! A scenario says which nodes there are, what the links between them do to
//! datagrams, who sends what when, and what goes wrong. Every datagram has an
//! id made of its direction and its number in that direction; the random draws
//! of a direction depend on that number, so that two runs of one scenario under
//! different profiles lose the same datagrams.

mod action;
mod application;
pub mod check;
mod diagram;
mod event;
mod explored;
mod host;
pub mod line;
mod numbers;
mod perform;
pub mod presets;
pub mod random;
mod registered;
mod retold;
mod scenario;
mod small;
mod totals;
mod view;
#[doc(hidden)]
pub mod why;
mod world;

pub use self::action::{Send, UnicastAction, UnicastActionAt};
pub use self::event::{DatagramEvent, DatagramId, Event, Label, MessagingEvent, UnicastIncident};
pub use self::scenario::{Party, PathDirection, Scenario, UnicastVariant};
pub use self::world::{Unicast, UnicastWorld};
pub use crate::links::datagram::{Burst, DatagramLink, DatagramLoss, Ratio};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    diagram::{Arrow, ArrowFate, Diagram, LifelineMark, LossCause, Reason},
    totals::UnicastTotals,
    view::{Margin, Margins, Receiving, Sending, SequenceWindow, State, margins},
};
