//! The swarm: a coordinator regulates who sends which piece of a file to whom,
//! so that all are served soon and nobody only takes.
//!
//! A client registers, says what it wants ([`Message::Request`]) and what it
//! has, and is told by the coordinator, piece by piece, to fetch from or to
//! send to a peer, or to fetch from the source. Both ends report; what both
//! confirm counts. One upload earns so many downloads (the *ratio*, 2 at
//! first); the first piece is free. Who needs pieces and has no credit is
//! *stalled*, and is the first to be asked for pieces, because that is how it
//! earns.
//!
//! The order of selection (SW-14 to SW-21): a piece that failed comes before
//! all others, and from nobody who failed it. An active client, one that
//! accepts connections, is served by passive ones first, because those can
//! serve nobody else; a passive one by active ones only. Among those, stalled
//! ones first, the longest stalled at the head; then the fastest. What no peer
//! can give comes from the source.
//!
//! Two policies share all of that. [`Policy::Seed2004`] does no more, and
//! deadlocks: everybody is stalled, and nobody who is not needs what they
//! have. [`Policy::Adaptive`] adds that no upload slot stays idle that
//! somebody could use (who has not earned it gets a *grant*), that the source
//! gives first what no peer has, that the rarest piece is taken, and that the
//! ratio, and how many transfers run at once, follow what is measured.
//!
//! | module | what it holds |
//! |---|---|
//! | [`manager`] | the coordinator, an engine |
//! | [`client`] | the other end, an engine |
//! | `ledger`, `credit` | what an address has given and taken, and what follows |
//! | `bits`, `rarity`, `pace` | sets of pieces, the rarest of them, how many at once |
//!
//! [`Message::Request`]: crate::wire::pdtp::Message::Request

#[doc(hidden)]
pub mod bits;
mod clause;
pub mod client;
mod config;
mod credit;
mod event;
mod io;
mod ledger;
#[doc(hidden)]
pub mod manager;
mod pace;
mod rarity;

pub use self::config::{Config, Policy};
pub use self::event::{Event, Failure, FileNo, Limit, Pick, Refusal};
pub use self::io::{FileSpec, Input, Output};
pub use self::ledger::Row;
pub use self::manager::Manager;

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    credit::{Account, credit},
    event::{Funnel, Led},
};
