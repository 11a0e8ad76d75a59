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
mod chart;
pub mod check;
mod churn;
mod event;
mod explored;
mod firewall;
mod host;
mod links;
mod merged;
mod net;
mod numbers;
mod observed;
mod outputs;
mod perform;
pub mod presets;
mod pseudonymise;
pub mod random;
mod registered;
mod scenario;
mod small;
mod streams;
mod tables;
mod tally;
mod totals;
mod traffic;
mod why;
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
    chart::{Chart, ConnectRefusal, Journey, Leg, fate},
    merged::{Together, moved, shifts},
    net::{Net, NetworkLink},
    observed::{ObservedLink, ObservedOverlay, Passed, unasked},
    pseudonymise::{PseudonymisedRecording, pseudonymise},
    tables::{Lives, TableRow, Tables},
    tally::{KindTally, RoutingTally, TallyView},
    totals::RoutingTotals,
    traffic::{Traffic, WAY},
    why::explain as why,
};
