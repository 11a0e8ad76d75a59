//! A world of messengers over datagram links: what the retransmission ladder
//! shows.
//!
//! A scenario names the nodes, what the links between them do to datagrams,
//! who sends what when, and what goes wrong. Every datagram has an id that
//! says its direction and its number there; the dice of a direction belong to
//! that number, so two runs of one scenario under different profiles lose the
//! same datagrams.

mod act;
mod app;
pub mod check;
mod deed;
mod event;
mod host;
mod link;
pub mod presets;
pub mod random;
mod scenario;
mod sheet;
mod view;
mod way;
pub mod why;
mod world;

pub use self::act::{Act, ActAt, Send};
pub use self::event::{AppEvent, DatagramEvent, DatagramId, Event, Happening, Label, Loss};
pub use self::link::{Burst, Link, Ratio};
pub use self::scenario::{Party, Scenario, Variant, Way};
pub use self::sheet::{Arrow, Cause, Fate, Mark, Reason, Sheet};
pub use self::view::{Margin, Margins, Receiving, Sending, State, Window};
pub use self::world::World;
