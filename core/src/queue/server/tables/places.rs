//! All places, found by id, connection or address.
//!
//! An id that we draw tells where its entry is: 96 of its bits are random; the
//! others are the number of the entry, encrypted with a keyed hash of those.
//! Without the key both parts look random and reveal nothing; an id that leads
//! to an entry with a different id is unknown. Only ids restored from an
//! earlier run, which had another key, are looked up in a table.
//!
//! The hash tables ([`super::index`]) are keyed from our own random numbers and
//! never iterated, like [`crate::keyed`].

use alloc::collections::BTreeMap;
use core::hash::{BuildHasher, Hash, Hasher};
use core::net::IpAddr;

use super::entry::{EntryPhase, QueueEntry};
use super::index::HashIndex;
use super::slab::Slab;
use crate::address::owner;
use crate::id::{ConnId, Guid};
use crate::keyed::Key;
use crate::queue::Dialect;
use crate::rng::Rng;

/// Random bytes of an id; the number of its entry takes the rest.
const RANDOM: usize = 12;

/// How many entries of an address are searched for a waiting passive client. It
/// is among the first, except for those that are held or served.
const KIN_SEEN: u32 = 64;

/// The entries and their indices.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    pub(crate) slab: Slab<QueueEntry>,
    key: Key,
    /// Encrypts the entry numbers in the ids.
    mask: Key,
    /// Entries whose id does not tell where they are.
    by_ticket: HashIndex,
    by_conn: HashIndex,
    /// The first entry of each address; the others are linked to it in a ring.
    by_peer: HashIndex,
    /// How many entries each IPv6 network has. An IPv4 address is counted in
    /// its ring.
    networks: BTreeMap<IpAddr, u32>,
}

impl Places {
    /// With room for about `capacity` entries, allocated as they come.
    pub(crate) fn new(capacity: u32, rng: &mut Rng) -> Self {
        Self {
            slab: Slab::new(),
            key: Key::new(rng),
            mask: Key::new(rng),
            by_ticket: HashIndex::new(capacity),
            by_conn: HashIndex::new(capacity),
            by_peer: HashIndex::new(capacity),
            networks: BTreeMap::new(),
        }
    }

    fn hash(&self, of: impl Hash) -> u64 {
        self.key.hash_one(of)
    }

    /// Draws an id for the next entry to be inserted: one that no entry has,
    /// restored ones included.
    pub(crate) fn draw_ticket(&self, rng: &mut Rng) -> Guid {
        loop {
            let mut id = rng.bytes();
            let number = self.slab.next_key() ^ self.mask(&id);
            id[RANDOM..].copy_from_slice(&number.to_le_bytes());
            if self.with_ticket(Guid(id)).is_none() {
                return Guid(id);
            }
        }
    }

    /// The mask that encrypts the number in an id.
    fn mask(&self, id: &[u8; 16]) -> u32 {
        let mut hasher = self.mask.build_hasher();
        hasher.write(&id[..RANDOM]);
        hasher.finish() as u32
    }

    /// The entry number that an id contains.
    fn named_in(&self, ticket: Guid) -> u32 {
        let Guid([.., a, b, c, d]) = ticket;
        u32::from_le_bytes([a, b, c, d]) ^ self.mask(&ticket.0)
    }

    /// Adds an entry and links it by id and address.
    pub(crate) fn insert(&mut self, entry: QueueEntry) -> u32 {
        let ticket = entry.ticket;
        let at = self.slab.insert(entry);
        if self.named_in(ticket) != at {
            let (slab, key) = (&self.slab, &self.key);
            self.by_ticket.insert(self.hash(ticket), at, |i| key.hash_one(slab[i].ticket));
        }
        if let Some(conn) = self.slab[at].conn() {
            self.slab[at].set_conn(None);
            self.bind(at, conn);
        }
        self.link_kin(at);
        at
    }

    /// Removes an entry from all indexes.
    pub(crate) fn remove(&mut self, at: u32) -> QueueEntry {
        self.unbind(at);
        self.unlink_kin(at);
        let ticket = self.slab[at].ticket;
        if self.named_in(ticket) != at {
            self.by_ticket.remove(self.hash(ticket), at);
        }
        self.slab.remove(at)
    }

    pub(crate) fn with_ticket(&self, ticket: Guid) -> Option<u32> {
        let at = self.named_in(ticket);
        if self.slab.get(at).is_some_and(|entry| entry.ticket == ticket) {
            return Some(at);
        }
        self.by_ticket.find(self.hash(ticket), |i| self.slab[i].ticket == ticket)
    }

    pub(crate) fn with_conn(&self, conn: ConnId) -> Option<u32> {
        self.by_conn.find(self.hash(conn), |i| self.slab[i].conn() == Some(conn))
    }

    /// The waiting passive client of an address that has no connection; there
    /// is at most one. Held requests are separate entries.
    pub(crate) fn passive_of(&self, peer: IpAddr) -> Option<u32> {
        let first = self.first_of(peer)?;
        let mut at = first;
        for _ in 0..self.slab[first].kin_count.min(KIN_SEEN) {
            let entry = &self.slab[at];
            let waits = entry.dialect == Dialect::Passive && entry.phase == EntryPhase::Waiting;
            if waits && entry.conn().is_none() {
                return Some(at);
            }
            at = entry.kin_next;
        }
        None
    }

    /// How many entries an address has; for IPv6, its network.
    pub(crate) fn count_of(&self, peer: IpAddr) -> u32 {
        if peer.is_ipv6() {
            return self.networks.get(&owner(peer)).copied().unwrap_or(0);
        }
        self.first_of(peer).map_or(0, |first| self.slab[first].kin_count)
    }

    /// Counts one more entry of this address.
    fn count_in(&mut self, peer: IpAddr) {
        if peer.is_ipv6() {
            *self.networks.entry(owner(peer)).or_default() += 1;
        }
    }

    /// Counts one entry less of this address.
    fn count_out(&mut self, peer: IpAddr) {
        if peer.is_ipv6() {
            let network = owner(peer);
            match self.networks.get_mut(&network) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(self.networks.remove(&network)),
            }
        }
    }

    /// Binds an entry to a connection. The entry bound to it before is unbound.
    pub(crate) fn bind(&mut self, at: u32, conn: ConnId) {
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
        self.by_conn.insert(hash, at, |i| key.hash_one(slab[i].conn().unwrap_or_default()));
    }

    /// Unbinds an entry from its connection.
    pub(crate) fn unbind(&mut self, at: u32) {
        let Some(conn) = self.slab[at].conn() else { return };
        self.by_conn.remove(self.hash(conn), at);
        self.slab[at].set_conn(None);
    }

    /// The client of an entry asks from another address now.
    pub(crate) fn move_to(&mut self, at: u32, peer: IpAddr) {
        if self.slab[at].peer != peer {
            self.unlink_kin(at);
            let entry = &mut self.slab[at];
            entry.peer = peer;
            entry.call_port = None;
            self.link_kin(at);
        }
    }

    fn first_of(&self, peer: IpAddr) -> Option<u32> {
        self.by_peer.find(self.hash(peer), |i| self.slab[i].peer == peer)
    }

    /// A waiting passive client goes to the front of its ring, where it is
    /// searched.
    fn link_kin(&mut self, at: u32) {
        let peer = self.slab[at].peer;
        self.count_in(peer);
        let Some(first) = self.first_of(peer) else {
            let entry = &mut self.slab[at];
            (entry.kin_prev, entry.kin_next, entry.kin_count) = (at, at, 1);
            let hash = self.hash(peer);
            let (slab, key) = (&self.slab, &self.key);
            self.by_peer.insert(hash, at, |i| key.hash_one(slab[i].peer));
            return;
        };
        let last = self.slab[first].kin_prev;
        (self.slab[at].kin_prev, self.slab[at].kin_next) = (last, first);
        self.slab[last].kin_next = at;
        self.slab[first].kin_prev = at;
        let count = self.slab[first].kin_count + 1;
        self.slab[first].kin_count = count;
        let entry = &self.slab[at];
        if entry.dialect == Dialect::Passive && entry.phase == EntryPhase::Waiting {
            self.lead_kin(first, at, count);
        }
    }

    fn unlink_kin(&mut self, at: u32) {
        let QueueEntry { kin_prev, kin_next, peer, .. } = self.slab[at];
        self.count_out(peer);
        let Some(first) = self.first_of(peer) else { unreachable!("an entry has its address") };
        if kin_next == at {
            self.by_peer.remove(self.hash(peer), at);
            return;
        }
        self.slab[kin_prev].kin_next = kin_next;
        self.slab[kin_next].kin_prev = kin_prev;
        let count = self.slab[first].kin_count - 1;
        let lead = if first == at { kin_next } else { first };
        self.lead_kin(first, lead, count);
    }

    /// Makes `lead` the first entry of its address instead of `first`.
    fn lead_kin(&mut self, first: u32, lead: u32, count: u32) {
        let hash = self.hash(self.slab[lead].peer);
        self.by_peer.replace(hash, first, lead);
        self.slab[lead].kin_count = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::time::Instant;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    /// Two IPv4 addresses, two of one IPv6 network, one of another.
    fn peer(n: u8) -> IpAddr {
        match n % 5 {
            n @ 0..2 => IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)),
            n @ 2..4 => IpAddr::V6(Ipv6Addr::new(1, 2, 3, 4, 0, 0, 0, u16::from(n))),
            n => IpAddr::V6(Ipv6Addr::new(1, 2, 3, 5, 0, 0, 0, u16::from(n))),
        }
    }

    proptest! {
        #[test]
        fn every_index_finds_what_a_search_through_all_would(
            steps in prop::collection::vec((0_u8..5, any::<u8>(), any::<u8>()), 0..60),
        ) {
            let mut rng = Rng::new(1);
            let mut places = Places::new(4_096, &mut rng);
            let mut all: Vec<u32> = Vec::new();
            for (step, a, b) in steps {
                let picked = (!all.is_empty()).then(|| usize::from(a) % all.len().max(1));
                match (step, picked) {
                    (0 | 1, _) => {
                        let ours = places.draw_ticket(&mut rng);
                        let ticket = if step == 0 { ours } else { Guid([a; 16]) };
                        let mut entry = QueueEntry::new(ticket, 0, peer(b), Instant::ZERO);
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
                let find = |test: &dyn Fn(&QueueEntry) -> bool| {
                    all.iter().copied().filter(|&i| test(&places.slab[i])).collect::<Vec<_>>()
                };
                for n in [a, b] {
                    let found = places.with_ticket(Guid([n; 16]));
                    prop_assert_eq!(Vec::from_iter(found), find(&|e| e.ticket == Guid([n; 16])));
                }
                for &at in &all {
                    prop_assert_eq!(places.with_ticket(places.slab[at].ticket), Some(at));
                }
                for n in 0..8 {
                    let found = places.with_conn(ConnId(n));
                    prop_assert_eq!(Vec::from_iter(found), find(&|e| e.conn() == Some(ConnId(n))));
                }
                let networks = all.iter().map(|&at| places.slab[at].peer);
                let networks: BTreeSet<_> = networks.filter(IpAddr::is_ipv6).map(owner).collect();
                prop_assert_eq!(places.networks.len(), networks.len(), "of no other");
                for n in 0..5 {
                    let of = find(&|e| owner(e.peer) == owner(peer(n)));
                    prop_assert_eq!(places.count_of(peer(n)) as usize, of.len());
                    let passive = find(&|e| {
                        e.peer == peer(n) && e.dialect == Dialect::Passive && e.conn().is_none()
                    });
                    let found = places.passive_of(peer(n));
                    prop_assert!(found.map_or(passive.is_empty(), |at| passive.contains(&at)));
                }
            }
        }
    }

    #[test]
    fn an_id_of_ours_needs_no_table_and_half_of_one_finds_nothing() {
        let mut rng = Rng::new(1);
        let mut places = Places::new(4_096, &mut rng);
        let ids: Vec<Guid> = (0..100)
            .map(|_| {
                let id = places.draw_ticket(&mut rng);
                places.insert(QueueEntry::new(id, 0, peer(0), Instant::ZERO));
                id
            })
            .collect();
        assert!(places.by_ticket.is_empty());
        for (at, &id) in ids.iter().enumerate() {
            assert_eq!(places.with_ticket(id), Some(at as u32));
            for byte in 0..16 {
                let mut other = id;
                other.0[byte] ^= 1;
                assert_eq!(places.with_ticket(other), None);
            }
        }
        places.remove(7);
        assert_eq!(places.with_ticket(ids[7]), None);
        let next = places.draw_ticket(&mut rng);
        assert_eq!(places.insert(QueueEntry::new(next, 0, peer(0), Instant::ZERO)), 7);
        assert_eq!((places.with_ticket(ids[7]), places.with_ticket(next)), (None, Some(7)));
    }
}
