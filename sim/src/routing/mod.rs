//! Worlds of routers: what the overlay map of the page shows.
//!
//! A scenario says how many servents there are, how they are connected, who
//! searches for what when, and what goes wrong. Every node is the router that
//! the servent runs, and a link carries the message's bytes: encoded by one
//! router, decoded for the next. The links begin connected; there is no
//! handshake, and a link accepts any number of bytes at a time.
//!
//! Up to [`Scenario::NODES`] nodes. A clone of the world shares what neither
//! changes, so that a keyframe of a large world costs only what changed since
//! the last one.

mod action;
pub mod check;
mod churn;
mod event;
mod explored;
mod firewall;
mod host;
mod links;
mod net;
mod outputs;
mod perform;
pub mod presets;
pub mod random;
mod recorded;
mod registered;
mod scenario;
mod shown;
mod small;
mod world;

pub use self::action::{RoutingAction, RoutingActionAt};
pub use self::event::{
    Event, MessageEvent, MessageLoss, MessageOutcome, RoutingIncident, SearchEvent,
};
pub use self::scenario::{Churn, Scenario, ScenarioFile, Shape};
pub use self::world::{Routing, RoutingWorld};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    net::{Net, NetworkLink},
    recorded::merged::{MergedOverlay, moved, shifts},
    recorded::observed::{ObservedLink, ObservedOverlay, Passed, unasked},
    recorded::pseudonymise::{PseudonymisedRecording, pseudonymise},
    recorded::traffic::{Traffic, WAY},
    shown::chart::{Chart, ConnectRefusal, Journey, Leg, fate},
    shown::tables::{Lives, TableRow, Tables},
    shown::tally::{KindTally, RoutingTally, TallyView},
    shown::totals::RoutingTotals,
    shown::why::explain as why,
};
