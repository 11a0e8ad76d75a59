//! Pages that connect by WebSocket: whose they are, how they reach each other,
//! and what the host can do about them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddrV4};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use servent_core::address::owner;
use servent_core::id::ConnId;

use super::Outbox;
use super::code::GuardedCode;
use super::websocket::{Origins, RelayLimits, Relayed, Switchboard};

/// Addresses that may be put out.
const OUT: usize = 256;

/// The pages of a servent.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(super) origins: Origins,
    pub(super) relay: Arc<Switchboard>,
    there: Mutex<PageSlot>,
    code: GuardedCode,
}

#[derive(Debug, Default)]
struct PageSlot {
    /// Connections to the servent itself, by address.
    conns: BTreeMap<ConnId, (IpAddr, Arc<Outbox>)>,
    /// Who was put out.
    out: BTreeSet<IpAddr>,
}

impl Pages {
    pub(crate) fn new(origins: Origins, limits: RelayLimits) -> Self {
        let relay = Arc::new(Switchboard::new(limits));
        Self { origins, relay, there: Mutex::default(), code: GuardedCode::new() }
    }

    fn there(&self) -> MutexGuard<'_, PageSlot> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has passed from page to page.
    pub(crate) fn relayed(&self) -> Relayed {
        self.relay.relayed()
    }

    /// True when a page has this address, and this is its secret.
    pub(crate) fn has(&self, at: SocketAddrV4, secret: &str) -> bool {
        self.relay.has(at, secret)
    }

    /// Tells every page a line, which has no line ends in it.
    pub(crate) fn tell(&self, line: &str) {
        self.relay.tell(None, line);
    }

    /// Ends every WebSocket of an address, and answers none of it any more; false
    /// when that is too many. A /64 network of IPv6 is one address.
    pub(crate) fn put_out(&self, ip: IpAddr) -> bool {
        let ip = owner(ip);
        let mut there = self.there();
        if there.out.len() >= OUT && !there.out.contains(&ip) {
            return false;
        }
        there.out.insert(ip);
        let its = there.conns.values().filter(|(of, _)| *of == ip);
        its.for_each(|(_, outbox)| outbox.cut());
        drop(there);
        self.relay.put_out(ip);
        true
    }

    /// Answers all pages again.
    pub(crate) fn let_in(&self) {
        self.there().out.clear();
    }

    /// How many addresses were put out.
    pub(crate) fn out(&self) -> usize {
        self.there().out.len()
    }

    /// The code that pages need; `None` when they need none.
    pub(crate) fn code(&self) -> Option<String> {
        self.code.get()
    }

    /// Draws another code that pages need from now on, or lets them in without. Who
    /// is here stays, and is told.
    pub(crate) fn renew_code(&self, needed: bool) {
        self.code.renew(needed);
        self.tell("CLASS");
    }

    /// True when a visitor at this address sends the code, or needs none.
    pub(super) fn knows(&self, ip: IpAddr, code: Option<&str>) -> bool {
        self.code.fits(ip, code)
    }

    /// True for an address that was not removed.
    pub(super) fn admits(&self, ip: IpAddr) -> bool {
        !self.there().out.contains(&owner(ip))
    }

    /// A page connects to the servent itself.
    pub(super) fn enter(&self, conn: ConnId, ip: IpAddr, outbox: &Arc<Outbox>) {
        self.there().conns.insert(conn, (owner(ip), Arc::clone(outbox)));
    }

    /// Its connection has ended.
    pub(super) fn leave(&self, conn: ConnId) {
        self.there().conns.remove(&conn);
    }
}
