//! A router that translates addresses, as RFC 4787 describes them.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use servent_core::time::{Duration, Instant};

/// How a router maps an address behind it (RFC 4787 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// Not at all: a firewall.
    None,
    /// To the same port for every destination.
    EndpointIndependent,
    /// To another port for each destination.
    #[serde(rename = "address_and_port_dependent")]
    EndpointDependent,
}

/// What a router lets in (RFC 4787 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filtering {
    /// Everything that has a mapping.
    EndpointIndependent,
    /// What comes from an address that was written to.
    AddressDependent,
    /// What comes from an address and port that were written to.
    #[serde(rename = "address_and_port_dependent")]
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

impl Default for RouterKind {
    /// What most homes have.
    fn default() -> Self {
        Self::new(Mapping::EndpointIndependent, Filtering::PortDependent)
    }
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

    /// True for one that stops nothing.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!((self.mapping, self.filtering), (Mapping::None, Filtering::EndpointIndependent))
    }
}

/// Why a router dropped a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouterDrop {
    /// It lets no UDP pass.
    Blocked,
    /// None of its hosts has this port.
    NoMapping,
    /// Its host has not written to that address.
    Address,
    /// Its host has written to that address, but to another port.
    Port,
    /// It does not return what comes from inside to its own outer address.
    Hairpin,
    /// It is off.
    Off,
}

/// An entry of a router's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NatRow {
    /// The address behind the router.
    pub inside: SocketAddr,
    /// The address that others see.
    pub outside: SocketAddr,
    /// The only destination it is for.
    pub only: Option<SocketAddr>,
    /// Where its host has sent datagrams.
    pub written: BTreeSet<SocketAddr>,
    /// When it was used from inside last.
    pub last: Instant,
}

/// How a datagram left a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftRouter {
    /// The address it seems to come from.
    pub seen: SocketAddr,
    /// The mapping was made for it.
    pub is_new: bool,
    /// The address that lost its port to it.
    pub evicted: Option<SocketAddr>,
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

    /// Its table.
    #[must_use]
    pub fn table(&self) -> &[NatRow] {
        &self.table
    }

    /// When the next mapping runs out.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Instant> {
        self.table.iter().map(|row| row.last + self.kind.timeout).min()
    }

    /// Removes the mappings that have run out, and returns them.
    pub fn expire(&mut self, now: Instant) -> Vec<NatRow> {
        let timeout = self.kind.timeout;
        self.table.extract_if(.., |row| now.since(row.last) >= timeout).collect()
    }

    /// A datagram leaves.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn leave(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: SocketAddr,
    ) -> Result<LeftRouter, RouterDrop> {
        if self.kind.filtering == Filtering::Blocked {
            return Err(RouterDrop::Blocked);
        }
        self.expire(now);
        let only = (self.kind.mapping == Mapping::EndpointDependent).then_some(to);
        let known = self.table.iter().position(|row| (row.inside, row.only) == (from, only));
        let mut evicted = None;
        let at = known.unwrap_or_else(|| {
            let outside = SocketAddr::new(self.outside, self.port(from));
            let taken = self.table.iter().position(|row| row.outside == outside);
            evicted = taken.map(|taken| self.table.remove(taken).inside);
            let written = BTreeSet::new();
            self.table.push(NatRow { inside: from, outside, only, written, last: now });
            self.table.len() - 1
        });
        let row = &mut self.table[at];
        row.last = now;
        row.written.insert(to);
        Ok(LeftRouter { seen: row.outside, is_new: known.is_none(), evicted })
    }

    fn port(&mut self, from: SocketAddr) -> u16 {
        if self.kind.mapping == Mapping::None {
            return from.port();
        }
        self.next = (self.next + 1) % self.kind.ports.max(1);
        FIRST + self.next * 7
    }

    /// A datagram comes to a port from outside; where it goes.
    ///
    /// # Errors
    /// Why it is dropped.
    pub fn enter(
        &self,
        now: Instant,
        from: SocketAddr,
        to: SocketAddr,
    ) -> Result<SocketAddr, RouterDrop> {
        if self.kind.is_open() {
            return Ok(to);
        }
        let alive = |row: &&NatRow| row.outside == to && now.since(row.last) < self.kind.timeout;
        let row = match self.table.iter().find(alive) {
            _ if self.kind.filtering == Filtering::Blocked => return Err(RouterDrop::Blocked),
            None => return Err(RouterDrop::NoMapping),
            Some(row) => row,
        };
        let address = row.written.iter().any(|to| to.ip() == from.ip());
        match self.kind.filtering {
            Filtering::EndpointIndependent => Ok(row.inside),
            _ if !address => Err(RouterDrop::Address),
            Filtering::PortDependent if !row.written.contains(&from) => Err(RouterDrop::Port),
            _ => Ok(row.inside),
        }
    }
}
