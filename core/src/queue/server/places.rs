//! All places, found by id, by connection and by address.
//!
//! The hash tables hold nothing but the number of an entry: what is compared
//! lies in the entry itself, which makes ten bytes an entry and table. They
//! are keyed from our own dice and never iterated, like [`crate::keyed`].

use core::hash::{BuildHasher, Hash};
use core::net::IpAddr;

use hashbrown::HashTable;

use super::entry::{Entry, Phase};
use super::slab::Slab;
use crate::id::{ConnId, Guid};
use crate::keyed::Key;
use crate::queue::Dialect;
use crate::rng::Rng;

/// The entries and their indices.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) slab: Slab<Entry>,
    key: Key,
    by_ticket: HashTable<u32>,
    by_conn: HashTable<u32>,
    /// The first entry of each address; the others hang on it in a ring.
    by_peer: HashTable<u32>,
}

impl Places {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self {
            slab: Slab::new(),
            key: Key::new(rng),
            by_ticket: HashTable::new(),
            by_conn: HashTable::new(),
            by_peer: HashTable::new(),
        }
    }

    fn hash(&self, of: impl Hash) -> u64 {
        self.key.hash_one(of)
    }

    /// Adds an entry and links it under its id and address.
    pub(super) fn insert(&mut self, entry: Entry) -> u32 {
        let hash = self.hash(entry.ticket);
        let at = self.slab.insert(entry);
        let (slab, key) = (&self.slab, &self.key);
        self.by_ticket.insert_unique(hash, at, |&i| key.hash_one(slab[i].ticket));
        if let Some(conn) = self.slab[at].conn() {
            self.slab[at].set_conn(None);
            self.bind(at, conn);
        }
        self.link_kin(at);
        at
    }

    /// Takes an entry out of everything.
    pub(super) fn remove(&mut self, at: u32) -> Entry {
        self.unbind(at);
        self.unlink_kin(at);
        let hash = self.hash(self.slab[at].ticket);
        if let Ok(found) = self.by_ticket.find_entry(hash, |&i| i == at) {
            found.remove();
        }
        self.slab.remove(at)
    }

    pub(super) fn with_ticket(&self, ticket: Guid) -> Option<u32> {
        let found = self.by_ticket.find(self.hash(ticket), |&i| self.slab[i].ticket == ticket);
        found.copied()
    }

    pub(super) fn with_conn(&self, conn: ConnId) -> Option<u32> {
        self.by_conn.find(self.hash(conn), |&i| self.slab[i].conn() == Some(conn)).copied()
    }

    /// The waiting passive client of an address; there is at most one.
    pub(super) fn passive_of(&self, peer: IpAddr) -> Option<u32> {
        let first = self.first_of(peer)?;
        let entry = &self.slab[first];
        let waits = entry.dialect == Dialect::Passive && entry.phase == Phase::Waiting;
        waits.then_some(first)
    }

    /// How many entries an address has.
    pub(super) fn count_of(&self, peer: IpAddr) -> u32 {
        self.first_of(peer).map_or(0, |first| self.slab[first].kin_count)
    }

    /// Ties an entry to a connection. What was tied to it before is let go.
    pub(super) fn bind(&mut self, at: u32, conn: ConnId) {
        if self.slab[at].conn() == Some(conn) {
            return;
        }
        self.unbind(at);
        if let Some(other) = self.with_conn(conn) {
            self.unbind(other);
        }
        self.slab[at].set_conn(Some(conn));
        let hash = self.hash(conn);
        let (slab, key) = (&self.slab, &self.key);
        self.by_conn.insert_unique(hash, at, |&i| key.hash_one(slab[i].conn().unwrap_or_default()));
    }

    /// Lets the connection of an entry go.
    pub(super) fn unbind(&mut self, at: u32) {
        let Some(conn) = self.slab[at].conn() else { return };
        if let Ok(found) = self.by_conn.find_entry(self.hash(conn), |&i| i == at) {
            found.remove();
        }
        self.slab[at].set_conn(None);
    }

    /// The owner of an entry asks from another address now.
    pub(super) fn move_to(&mut self, at: u32, peer: IpAddr) {
        if self.slab[at].peer != peer {
            self.unlink_kin(at);
            let entry = &mut self.slab[at];
            entry.peer = peer;
            entry.call_port = None;
            self.link_kin(at);
        }
    }

    fn first_of(&self, peer: IpAddr) -> Option<u32> {
        self.by_peer.find(self.hash(peer), |&i| self.slab[i].peer == peer).copied()
    }

    /// A waiting passive client goes to the front, where it is looked for.
    fn link_kin(&mut self, at: u32) {
        let peer = self.slab[at].peer;
        let Some(first) = self.first_of(peer) else {
            let entry = &mut self.slab[at];
            (entry.kin_prev, entry.kin_next, entry.kin_count) = (at, at, 1);
            let hash = self.hash(peer);
            let (slab, key) = (&self.slab, &self.key);
            self.by_peer.insert_unique(hash, at, |&i| key.hash_one(slab[i].peer));
            return;
        };
        let last = self.slab[first].kin_prev;
        (self.slab[at].kin_prev, self.slab[at].kin_next) = (last, first);
        self.slab[last].kin_next = at;
        self.slab[first].kin_prev = at;
        let count = self.slab[first].kin_count + 1;
        self.slab[first].kin_count = count;
        let entry = &self.slab[at];
        if entry.dialect == Dialect::Passive && entry.phase == Phase::Waiting {
            self.lead_kin(first, at, count);
        }
    }

    fn unlink_kin(&mut self, at: u32) {
        let Entry { kin_prev, kin_next, peer, .. } = self.slab[at];
        let Some(first) = self.first_of(peer) else { unreachable!("an entry has its address") };
        if kin_next == at {
            if let Ok(found) = self.by_peer.find_entry(self.hash(peer), |&i| i == at) {
                found.remove();
            }
            return;
        }
        self.slab[kin_prev].kin_next = kin_next;
        self.slab[kin_next].kin_prev = kin_prev;
        let count = self.slab[first].kin_count - 1;
        let lead = if first == at { kin_next } else { first };
        self.lead_kin(first, lead, count);
    }

    /// Makes `lead` the first of its address in place of `first`.
    fn lead_kin(&mut self, first: u32, lead: u32, count: u32) {
        let hash = self.hash(self.slab[lead].peer);
        if let Some(found) = self.by_peer.find_mut(hash, |&i| i == first) {
            *found = lead;
        }
        self.slab[lead].kin_count = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::time::Instant;
    use core::net::Ipv4Addr;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn peer(n: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, n % 3))
    }

    proptest! {
        #[test]
        fn every_index_finds_what_a_search_through_all_would(
            steps in prop::collection::vec((0_u8..5, any::<u8>(), any::<u8>()), 0..60),
        ) {
            let mut places = Places::new(&mut Rng::new(1));
            let mut all: Vec<u32> = Vec::new();
            for (step, a, b) in steps {
                let picked = (!all.is_empty()).then(|| usize::from(a) % all.len().max(1));
                match (step, picked) {
                    (0 | 1, _) => {
                        let mut entry = Entry::new(Guid([a; 16]), 0, peer(b), Instant::ZERO);
                        let passive = places.passive_of(peer(b)).is_none() && a % 2 == 0;
                        entry.dialect = if passive { Dialect::Passive } else { Dialect::Parq };
                        if places.with_ticket(entry.ticket).is_none() {
                            all.push(places.insert(entry));
                        }
                    }
                    (2, Some(at)) => drop(places.remove(all.swap_remove(at))),
                    (3, Some(at)) => places.bind(all[at], ConnId(u64::from(b % 8))),
                    (4, Some(at)) if places.slab[all[at]].dialect == Dialect::Parq => {
                        places.move_to(all[at], peer(b));
                    }
                    _ => {}
                }
                let find = |test: &dyn Fn(&Entry) -> bool| {
                    all.iter().copied().filter(|&i| test(&places.slab[i])).collect::<Vec<_>>()
                };
                for n in [a, b] {
                    let found = places.with_ticket(Guid([n; 16]));
                    prop_assert_eq!(Vec::from_iter(found), find(&|e| e.ticket == Guid([n; 16])));
                }
                for n in 0..8 {
                    let found = places.with_conn(ConnId(n));
                    prop_assert_eq!(Vec::from_iter(found), find(&|e| e.conn() == Some(ConnId(n))));
                }
                for n in 0..3 {
                    let of = find(&|e| e.peer == peer(n));
                    prop_assert_eq!(places.count_of(peer(n)) as usize, of.len());
                    let passive = find(&|e| e.peer == peer(n) && e.dialect == Dialect::Passive);
                    prop_assert_eq!(Vec::from_iter(places.passive_of(peer(n))), passive);
                }
            }
        }
    }
}
