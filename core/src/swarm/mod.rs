//! The swarm: a coordinator decides which client sends which piece of a file to which other, so
//! that all are served soon and no client only downloads.
//!
//! A client registers, says which pieces it wants ([`PdtpMessage::Request`]) and
//! which it has, and is told by the coordinator, piece by piece, to download
//! from or upload to a peer, or to download from the source. Both ends report;
//! what both confirm counts. One upload earns a number of downloads (the
//! *ratio*, 2 at first); the first piece is free. A client that needs pieces
//! and has no credit is *stalled*, and is the first to be asked for uploads,
//! because that is how it earns credit.
//!
//! The order of selection (SW-14 to SW-21): a piece that failed comes before
//! all others, and never from a peer that failed it. An active client, one that
//! accepts connections, is served by passive ones first, because those can
//! serve no other; a passive client only by active ones. Among those,
//! stalled ones come first, the longest stalled at the head; then the fastest.
//! What no peer can provide comes from the source.
//!
//! Two policies share all of that. [`SwarmPolicy::Seed2004`] does no more, and
//! deadlocks: every client that could upload is stalled, and none with credit
//! needs their pieces. [`SwarmPolicy::Adaptive`] adds that no upload slot stays idle
//! that a client could use (a client without credit gets a *grant*), that the
//! source first sends pieces that no peer has, that the rarest piece is chosen,
//! and that the ratio and the number of concurrent transfers follow
//! measurements.
//!
//! | module | what it holds |
//! |---|---|
//! | [`manager`] | the coordinator, an engine |
//! | [`client`] | the other end, an engine |
//! | `ledger`, `credit` | what an address has uploaded and downloaded, and its credit |
//! | `bits`, `rarity`, `pace` | sets of pieces, the rarest of them, how many transfers at once |
//!
//! [`PdtpMessage::Request`]: crate::wire::pdtp::PdtpMessage::Request

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

pub use self::config::{Config, SwarmPolicy};
pub use self::event::{Event, Failure, FileNo, Pick, SwarmLimit, SwarmRefusal};
pub use self::io::{FileSpec, Input, Output};
pub use self::ledger::LedgerRow;
pub use self::manager::Manager;

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    credit::{CreditAccount, credit},
    event::{Funnel, Led},
};
