//! A world of routers: what the map of the overlay shows.
//!
//! A scenario says how many servents there are, how they are joined, who asks
//! for what when, and what goes wrong. Every node is the router that the
//! servent runs, and what goes over a link is the message's bytes: written by
//! one router, parsed for the next. The links begin joined; there is no
//! handshake, and a link takes any number of bytes at a time.
//!
//! Up to [`Scenario::NODES`] nodes. A clone of the world shares what neither
//! changes, so that keyframes of a large one cost what happened between them.

mod act;
mod chart;
pub mod check;
mod churn;
mod event;
mod host;
mod links;
mod net;
mod outputs;
mod perform;
pub mod presets;
pub mod random;
mod scenario;
mod tables;
mod tally;
mod totals;
mod why;
mod world;

pub use self::act::{Act, ActAt};
pub use self::event::{AppEvent, Event, Happening, Loss, MessageEvent, Outcome};
pub use self::scenario::{Churn, File, Scenario, Shape};
pub use self::world::{Routing, World};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    chart::{Chart, Journey, Leg, fate},
    net::{Net, Wire},
    tables::{Row, Tables},
    tally::{KindTally, Tally, TallyView},
    totals::RoutingTotals,
    why::of as why,
};
