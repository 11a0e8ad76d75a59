//! A router that translates addresses, as RFC 4787 describes them.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use servent_core::time::{Duration, Instant};

/// How a router maps an address behind it (RFC 4787 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mapping {
    /// Not at all: a firewall.
    None,
    /// To the same port for every destination.
    EndpointIndependent,
    /// To another port for each destination.
    EndpointDependent,
}

/// What a router lets in (RFC 4787 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Filtering {
    /// Everything that has a mapping.
    EndpointIndependent,
    /// What comes from an address that was written to.
    AddressDependent,
    /// What comes from an address and port that were written to.
    PortDependent,
    /// Nothing, and nothing leaves either: UDP is blocked.
    Blocked,
}

/// What a router is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouterKind {
    /// How it maps.
    pub mapping: Mapping,
    /// What it lets in.
    pub filtering: Filtering,
    /// What one host behind it sends to the router's outer address reaches another.
    pub hairpin: bool,
    /// How long a mapping lives that is not used from inside.
    pub timeout: Duration,
    /// Ports it has: with few, an old mapping loses its port to a new one.
    pub ports: u16,
}

impl RouterKind {
    /// A router with this mapping and filtering, and otherwise an ordinary one.
    #[must_use]
    pub const fn new(mapping: Mapping, filtering: Filtering) -> Self {
        let timeout = Duration::from_secs(60);
        Self { mapping, filtering, hairpin: false, timeout, ports: 1_000 }
    }

    /// No router at all: everything arrives.
    #[must_use]
    pub const fn open() -> Self {
        Self::new(Mapping::None, Filtering::EndpointIndependent)
    }
}

/// An entry of a router's table.
#[derive(Debug, Clone)]
struct NatRow {
    inside: SocketAddr,
    /// The only destination it is for.
    only: Option<SocketAddr>,
    port: u16,
    written: BTreeSet<SocketAddr>,
    last: Instant,
}

/// A router and its table.
#[derive(Debug, Clone)]
pub struct NatRouter {
    /// What it is like.
    pub kind: RouterKind,
    /// Its outer address.
    pub outside: IpAddr,
    table: Vec<NatRow>,
    next: u16,
}

/// The first port that it gives.
const FIRST: u16 = 20_000;

impl NatRouter {
    /// A router with an empty table.
    #[must_use]
    pub const fn new(kind: RouterKind, outside: IpAddr) -> Self {
        Self { kind, outside, table: Vec::new(), next: 0 }
    }

    /// A datagram leaves; the address it seems to come from, unless it is dropped.
    pub fn leave(&mut self, now: Instant, from: SocketAddr, to: SocketAddr) -> Option<SocketAddr> {
        if self.kind.filtering == Filtering::Blocked {
            return None;
        }
        let timeout = self.kind.timeout;
        self.table.retain(|row| now.since(row.last) < timeout);
        let only = (self.kind.mapping == Mapping::EndpointDependent).then_some(to);
        let known = self.table.iter().position(|row| (row.inside, row.only) == (from, only));
        let at = known.unwrap_or_else(|| {
            let port = self.port(from);
            self.table.retain(|row| row.port != port);
            let written = BTreeSet::new();
            self.table.push(NatRow { inside: from, only, port, written, last: now });
            self.table.len() - 1
        });
        let row = &mut self.table[at];
        row.last = now;
        row.written.insert(to);
        Some(SocketAddr::new(self.outside, row.port))
    }

    fn port(&mut self, from: SocketAddr) -> u16 {
        if self.kind.mapping == Mapping::None {
            return from.port();
        }
        self.next = (self.next + 1) % self.kind.ports.max(1);
        FIRST + self.next * 7
    }

    /// A datagram comes to a port from outside; where it goes, unless it is dropped.
    #[must_use]
    pub fn enter(&self, now: Instant, from: SocketAddr, port: u16) -> Option<SocketAddr> {
        let alive = |row: &&NatRow| row.port == port && now.since(row.last) < self.kind.timeout;
        let row = self.table.iter().find(alive)?;
        let passes = match self.kind.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::AddressDependent => row.written.iter().any(|to| to.ip() == from.ip()),
            Filtering::PortDependent => row.written.contains(&from),
            Filtering::Blocked => false,
        };
        passes.then_some(row.inside)
    }
}
