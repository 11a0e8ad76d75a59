//! Worlds of routers: a meeting place, people, and what stands between them
//! (PA-17).
//!
//! Each person has a whole node behind a router that maps and filters by the
//! words of RFC 4787, behind a firewall without a router, or in the open; several may
//! be behind one router. Two of them meet, and one sends numbered messages to the
//! other. `check` says from the routers alone which pairs can find a direct path, and
//! what else must hold.

mod check;
mod diagram;
mod event;
mod host;
mod network;
pub mod presets;
pub mod random;
mod registered;
mod router;
mod scenario;
mod totals;
mod view;
mod world;

pub use self::check::{MeetOracles, can_meet};
pub use self::diagram::{MeetArrow, MeetDiagram, MeetMark, MeetMarkKind, PacketFate};
pub use self::event::{Event, MeetIncident, PacketEvent, PacketKind, PersonEvent, RouterEvent};
pub use self::host::{AtPort, MeetHost, MeetOutcome, MeetSite};
pub use self::network::FlyingDatagrams;
pub use self::router::{Filtering, LeftRouter, Mapping, NatRouter, NatRow, RouterDrop, RouterKind};
pub use self::scenario::{MeetAction, PairSetup, PersonSetup, RouterSetup, Scenario};
pub use self::totals::MeetTotals;
pub use self::view::{MappingView, MeetNodeView};
pub use self::world::{Meet, MeetPlan, MeetWorld};
