//! Sockets. Every connection has one task that moves bytes and knows nothing of
//! protocols: received bytes go to the node's task as a [`Report`], what the
//! node wants done comes back through the connection's [`Outbox`].

mod alarm;
mod arrive;
pub(crate) mod caches;
mod code;
mod conn;
mod distrust;
mod identity;
mod limits;
pub(crate) mod listen;
mod outbox;
pub(crate) mod outgoing;
mod pace;
mod pages;
mod receive;
mod route;
mod serve;
mod stream;
mod stun;
mod trust;
pub(crate) mod udp;
mod websocket;

use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::id::ConnId;
use servent_core::node::Input;

pub(crate) use self::alarm::Alarm;
pub use self::distrust::{Distrust, DistrustKind};
pub use self::identity::{Identity, IdentityError};
pub use self::limits::{Descriptors, LAB_CONNECTIONS, LAB_WAITING, raise_descriptors};
pub(crate) use self::listen::{Admission, ConnectionEntry};
pub(crate) use self::outbox::{ConnectionJob, Outbox, ServeFrom};
pub use self::outgoing::credentials::Credentials;
pub use self::outgoing::eyeballs::{
    connect_first, first_to_answer, resolve_host, without_brackets,
};
pub(crate) use self::outgoing::names::SourceNames;
pub(crate) use self::outgoing::proxy::ProxyAccess;
pub use self::outgoing::proxy::{Proxies, ProxyError};
pub use self::pace::Rate;
pub(crate) use self::pace::{Pace, Paces};
pub(crate) use self::pages::Pages;
pub(crate) use self::receive::BodyLength;
pub use self::route::{SourceRoute, is_route, route_address};
pub(crate) use self::trust::Trust;
pub use self::websocket::{Origins, RelayLimits, Relayed};

/// What other tasks report to the node's task.
#[derive(Debug)]
pub(crate) enum Report {
    /// A connection was accepted.
    Accepted { conn: ConnId, peer: SocketAddr, local: Option<SocketAddr>, outbox: Arc<Outbox> },
    /// An input, passed on unchanged.
    Input(Input),
    /// The library changed.
    Library(crate::library::ShareChange),
}

/// Reports that may wait for the node's task. A task that has another one
/// waits, and does not read from its socket meanwhile.
pub(crate) const REPORTS: usize = 1_024;

pub(crate) type Reports = tokio::sync::mpsc::Sender<Report>;

impl From<crate::library::ShareChange> for Report {
    fn from(change: crate::library::ShareChange) -> Self {
        Self::Library(change)
    }
}
