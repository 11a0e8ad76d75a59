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

mod act;
mod chart;
pub mod check;
mod churn;
mod disguise;
mod event;
mod firewall;
mod gathered;
mod host;
mod links;
mod net;
mod outputs;
mod perform;
pub mod presets;
pub mod random;
mod scenario;
mod streams;
mod tables;
mod tally;
mod together;
mod totals;
mod traffic;
mod why;
mod world;

pub use self::act::{Act, ActAt};
pub use self::event::{AppEvent, Event, Happening, Loss, MessageEvent, Outcome};
pub use self::scenario::{Churn, File, Scenario, Shape};
pub use self::world::{Routing, World};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    chart::{Chart, Journey, Leg, Refusal, fate},
    disguise::{Disguised, disguise},
    gathered::{Gathered, Link, Passed, unasked},
    net::{Net, Wire},
    tables::{Lives, Row, Tables},
    tally::{KindTally, Tally, TallyView},
    together::{Together, moved, shifts},
    totals::RoutingTotals,
    traffic::{Traffic, WAY},
    why::of as why,
};
