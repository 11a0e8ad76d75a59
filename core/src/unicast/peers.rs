//! Peers by address.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::peer::{PathChange, UnicastPeer};
use super::{Config, UnicastConnId};
use crate::meet::is_meeting_peer;
use crate::time::Instant;

/// Peers that are remembered before they are known.
const EXPECTED: usize = 64;

/// A peer that is not known yet.
#[derive(Debug, Clone)]
struct ExpectedPeer {
    name: SocketAddr,
    /// Where it will be, and where it goes from there.
    home: SocketAddr,
    to: Option<SocketAddr>,
}

/// All peers: a slab, a sorted index over it, and the peer used last, because
/// messages come in runs. An index rather than a hash map, because an address
/// is more than a number; even the longest index is moved within microseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct UnicastPeers {
    index: Vec<(SocketAddr, u32)>,
    slab: Vec<Option<(SocketAddr, UnicastPeer)>>,
    free: Vec<u32>,
    /// Peers that spoke first, counted by the owner of their address.
    strangers: BTreeMap<IpAddr, u32>,
    last: Option<(SocketAddr, u32)>,
    /// Where peers are that have proven another address than their name, and
    /// back (PA-9).
    moved: BTreeMap<SocketAddr, SocketAddr>,
    /// Peers that are not known yet, the latest last.
    expected: VecDeque<ExpectedPeer>,
}

impl UnicastPeers {
    /// The position of an address in the index, or where it would be inserted.
    fn place(&self, addr: SocketAddr) -> Result<usize, usize> {
        self.index.binary_search_by(|(other, _)| other.cmp(&addr))
    }

    pub(super) fn find(&mut self, addr: SocketAddr) -> Option<u32> {
        if let Some((last, at)) = self.last
            && last == addr
        {
            return Some(at);
        }
        let (_, at) = self.index[self.place(addr).ok()?];
        self.last = Some((addr, at));
        Some(at)
    }

    pub(super) fn get(&self, addr: SocketAddr) -> Option<&UnicastPeer> {
        let (_, at) = self.index[self.place(addr).ok()?];
        self.slab[at as usize].as_ref().map(|(_, peer)| peer)
    }

    /// The name of the peer that is now at an address.
    pub(super) fn name(&self, addr: SocketAddr) -> SocketAddr {
        self.moved.get(&addr).copied().unwrap_or(addr)
    }

    /// Where a peer is.
    pub(super) fn whereabouts(&mut self, at: u32) -> SocketAddr {
        let (name, peer) = self.at(at);
        peer.route.unwrap_or(name)
    }

    /// True when a host at that address, which has proven it and knows a connection of a peer,
    /// is taken for the peer.
    pub(super) fn may_travel(&mut self, now: Instant, at: u32, to: SocketAddr) -> bool {
        self.was_at(at, to) || self.at(at).1.is_silent(now)
    }

    /// True when a peer was at that address before.
    fn was_at(&mut self, at: u32, to: SocketAddr) -> bool {
        let (name, peer) = self.at(at);
        [Some(name), peer.home, peer.left].contains(&Some(to))
    }

    /// A peer is at another address from now on. What comes from where a peer of a meeting
    /// was at first is of that peer still, if it has gone on by the meeting: it was under way,
    /// or its own word to move was lost.
    pub(super) fn travel(&mut self, at: u32, to: SocketAddr, change: PathChange) {
        let (back, from) = (self.was_at(at, to), self.whereabouts(at));
        let (name, peer) = self.at(at);
        if is_meeting_peer(name.ip()) {
            peer.home.get_or_insert(to);
        }
        let home = peer.home.filter(|_| change == PathChange::Route);
        peer.candidate = None;
        // It may always return whence it came, and not where it turned out not to be.
        peer.left = match change {
            PathChange::Route => None,
            PathChange::Port | PathChange::Address if back => peer.left,
            PathChange::Port | PathChange::Address => Some(from),
        };
        peer.route = (to != name).then_some(to);
        self.moved.retain(|at, other| *other != name || Some(*at) == home);
        if to != name {
            self.moved.insert(to, name);
        }
    }

    /// What comes from an address is no longer of the peer with this name.
    fn leave(&mut self, name: SocketAddr, at: SocketAddr) {
        if self.moved.get(&at) == Some(&name) {
            self.moved.remove(&at);
        }
    }

    /// What comes from an address is of another peer from now on: true when the one with
    /// this name is not elsewhere.
    pub(super) fn displace(&mut self, name: SocketAddr, at: SocketAddr) -> bool {
        self.expect_no_more(name);
        let Some(key) = self.find(name) else { return false };
        let (_, peer) = self.at(key);
        peer.home = peer.home.filter(|home| *home != at);
        let elsewhere = peer.route.is_some_and(|route| route != at);
        self.leave(name, at);
        !elsewhere
    }

    /// A peer will be at another address than its name.
    pub(super) fn expect(&mut self, name: SocketAddr, to: SocketAddr) {
        self.moved.insert(to, name);
        if let Some(known) = self.expected.iter_mut().find(|it| it.name == name) {
            known.to = Some(to);
            return;
        }
        if self.expected.len() >= EXPECTED
            && let Some(oldest) = self.expected.front().map(|it| it.name)
        {
            self.expect_no_more(oldest);
        }
        self.expected.push_back(ExpectedPeer { name, home: to, to: None });
    }

    /// A peer that was expected is there, or does not come.
    fn expect_no_more(&mut self, name: SocketAddr) -> Option<ExpectedPeer> {
        let at = self.expected.iter().position(|it| it.name == name)?;
        let it = self.expected.remove(at)?;
        for at in [it.home].into_iter().chain(it.to) {
            self.leave(name, at);
        }
        Some(it)
    }

    /// The peer that has a connection.
    pub(super) fn with_conn(&self, conn: UnicastConnId) -> Option<u32> {
        let has = |peer: &UnicastPeer| peer.has(conn);
        let found = |(at, entry): (usize, &Option<(SocketAddr, UnicastPeer)>)| {
            entry.as_ref().filter(|(_, peer)| has(peer)).map(|_| at as u32)
        };
        self.slab.iter().enumerate().find_map(found)
    }

    /// `None` when there are too many peers, in total or of the owner of a
    /// stranger's address.
    pub(super) fn find_or_add(
        &mut self,
        addr: SocketAddr,
        stranger: Option<IpAddr>,
        config: &Config,
    ) -> Option<u32> {
        if let Some(at) = self.find(addr) {
            return Some(at);
        }
        let of = stranger.and_then(|owner| self.strangers.get(&owner)).copied().unwrap_or(0);
        if self.index.len() >= config.peers as usize || of >= config.peers_per_ip {
            return None;
        }
        if let Some(owner) = stranger {
            *self.strangers.entry(owner).or_default() += 1;
        }
        let mut peer = UnicastPeer::new(config);
        peer.stranger = stranger;
        let entry = Some((addr, peer));
        let at = match self.free.pop() {
            Some(at) => {
                self.slab[at as usize] = entry;
                at
            }
            None => {
                self.slab.push(entry);
                self.slab.len() as u32 - 1
            }
        };
        if let Err(place) = self.place(addr) {
            self.index.insert(place, (addr, at));
        }
        self.last = Some((addr, at));
        if let Some(ExpectedPeer { home, to, .. }) = self.expect_no_more(addr) {
            for place in [home].into_iter().chain(to) {
                self.travel(at, place, PathChange::Route);
            }
        }
        Some(at)
    }

    /// A peer by its key.
    ///
    /// # Panics
    /// When there is no peer under that key.
    pub(super) fn at(&mut self, at: u32) -> (SocketAddr, &mut UnicastPeer) {
        let (addr, peer) = self.slab[at as usize].as_mut().expect("a peer stands where it was put");
        (*addr, peer)
    }

    pub(super) fn remove(&mut self, at: u32) {
        if let Some((addr, peer)) = self.slab[at as usize].take() {
            for place in [peer.route, peer.home].into_iter().flatten() {
                self.leave(addr, place);
            }
            if let Some(owner) = peer.stranger
                && let Some(count) = self.strangers.get_mut(&owner)
            {
                *count -= 1;
                if *count == 0 {
                    self.strangers.remove(&owner);
                }
            }
            if let Ok(place) = self.place(addr) {
                self.index.remove(place);
            }
            self.free.push(at);
            self.last = None;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SocketAddr, &UnicastPeer)> {
        self.index.iter().filter_map(|(addr, at)| {
            self.slab[*at as usize].as_ref().map(|(_, peer)| (*addr, peer))
        })
    }
}
