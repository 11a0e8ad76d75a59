//! Tombstones: a few numbers about receiver entries that are gone, kept for a
//! time so that nothing is delivered twice (decision 6).

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

use crate::time::Instant;
use crate::wire::unicast::UnicastConnId;

/// How a connection ended here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnEnd {
    /// The sender sent CLOSE.
    Finished,
    /// Our side dropped the entry; the sender may continue.
    Dropped,
    /// The sender started another connection: this one never comes back.
    Replaced,
}

/// A tombstone: a connection that has ended here.
#[derive(Debug, Clone)]
pub(super) struct Tombstone {
    /// The first number that was not delivered in order.
    pub(super) next: u64,
    /// Later numbers that were delivered at once.
    pub(super) early: Vec<u64>,
    pub(super) end: ConnEnd,
    until: Instant,
}

/// All tombstones; the oldest is removed first.
#[derive(Debug, Clone, Default)]
pub(super) struct Tombstones {
    /// Sorted by peer and connection.
    list: Vec<((SocketAddr, UnicastConnId), Tombstone)>,
    order: VecDeque<(Instant, SocketAddr, UnicastConnId)>,
}

impl Tombstones {
    /// The position of a tombstone, or where it would be inserted.
    fn place(&self, peer: SocketAddr, conn: UnicastConnId) -> Result<usize, usize> {
        self.list.binary_search_by(|(whose, _)| whose.cmp(&(peer, conn)))
    }

    /// Remembers a connection until `until`. True when another one had to be
    /// forgotten early for it.
    pub(super) fn bury(
        &mut self,
        (peer, conn): (SocketAddr, UnicastConnId),
        (next, early, end): (u64, Vec<u64>, ConnEnd),
        (now, until): (Instant, Instant),
        limit: u32,
    ) -> bool {
        while self.order.front().is_some_and(|(until, ..)| *until <= now) {
            self.forget_oldest();
        }
        let full = self.order.len() >= limit.max(1) as usize;
        if full {
            self.forget_oldest();
        }
        let tombstone = Tombstone { next, early, end, until };
        match self.place(peer, conn) {
            Ok(place) => self.list[place].1 = tombstone,
            Err(place) => self.list.insert(place, ((peer, conn), tombstone)),
        }
        self.order.push_back((until, peer, conn));
        full
    }

    pub(super) fn get(
        &self,
        now: Instant,
        peer: SocketAddr,
        conn: UnicastConnId,
    ) -> Option<&Tombstone> {
        let place = self.place(peer, conn).ok()?;
        self.list
            .get(place)
            .map(|(_, tombstone)| tombstone)
            .filter(|tombstone| tombstone.until > now)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Removes the oldest tombstone; a connection that was buried again since
    /// keeps its own.
    fn forget_oldest(&mut self) {
        if let Some((until, peer, conn)) = self.order.pop_front()
            && let Ok(place) = self.place(peer, conn)
            && self.list[place].1.until == until
        {
            self.list.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_for_a_time_and_no_more_than_it_may() {
        let mut tombstones = Tombstones::default();
        let peer: SocketAddr = "10.0.0.1:1".parse().unwrap();
        let bury = |tombstones: &mut Tombstones, n: u64, at: u64| {
            let times = (Instant::from_secs(at), Instant::from_secs(at + 10));
            tombstones.bury((peer, UnicastConnId(n)), (n, Vec::new(), ConnEnd::Dropped), times, 2)
        };
        assert!(!bury(&mut tombstones, 1, 0));
        assert!(!bury(&mut tombstones, 2, 1));
        assert!(bury(&mut tombstones, 3, 2), "the limit was reached");
        let known = |tombstones: &Tombstones, n, at| {
            tombstones.get(Instant::from_secs(at), peer, UnicastConnId(n)).is_some()
        };
        assert!(!known(&tombstones, 1, 2) && known(&tombstones, 2, 2) && known(&tombstones, 3, 2));
        assert!(!known(&tombstones, 2, 11), "its time is over");
        assert!(!bury(&mut tombstones, 3, 11), "what has expired makes room");
        assert!(known(&tombstones, 3, 20));
        assert_eq!(tombstones.len(), 1);
    }
}
