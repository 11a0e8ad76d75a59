//! Neighbours: the slot of each, and what is known about it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4};

use super::flow::Flow;
use super::proxies::Proxy;
use super::route::Route;
use super::{Neighbour, Why};
use crate::id::{ConnId, Guid};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::Keywords;

/// The assumed number of neighbours of a servent that does not say.
const USUAL: u32 = 6;

/// The state of a neighbour.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
    pub(super) neighbour: Neighbour,
    /// The route that leads to it.
    pub(super) route: Route,
    pub(super) flow: Flow,
    /// Its keyword table, if it sent one.
    pub(super) keywords: Option<Box<Keywords>>,
    /// It does not want queries with this many hops or more.
    pub(super) hops_flow: u8,
    /// The servent whose pushes are passed on to it.
    pub(super) proxied: Option<Guid>,
    /// Whether it passes pushes on to us.
    pub(super) proxy: Proxy,
    /// Pongs it sent, the newest last.
    pub(super) pongs: Vec<Kept>,
    /// Our last ping, and how many pongs it may still send for it.
    pub(super) pinged: Option<Guid>,
    pub(super) pongs_due: u32,
    /// When its last answered ping was answered.
    pub(super) answered: Option<Instant>,
    /// When something was last received, and when it last read something.
    pub(super) heard: Instant,
    pub(super) took: Instant,
    pub(super) strikes: u32,
    /// Limits reported since the generations changed.
    told: u32,
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) dropped: u64,
}

/// A pong that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) at: SocketAddrV4,
    pub(super) files: u32,
    pub(super) kilobytes: u32,
    pub(super) hops: u8,
}

impl Link {
    /// True the first time a limit is reached since the generations changed.
    pub(super) const fn tell(&mut self, why: Why) -> bool {
        let mark = 1 << why as u32;
        let first = self.told & mark == 0;
        self.told |= mark;
        first
    }

    /// The generations changed: limits are reported again, and strikes are
    /// forgiven.
    pub(super) const fn turn(&mut self) {
        (self.told, self.strikes) = (0, 0);
    }

    /// True for a leaf that has sent its keyword table.
    pub(super) fn is_leaf_with_keywords(&self) -> bool {
        !self.neighbour.relays && self.keywords.as_ref().is_some_and(|table| table.is_whole())
    }

    /// True when its keyword table says that a query may match there.
    pub(super) fn promises(&self, criteria: &[u8]) -> bool {
        self.keywords.as_ref().is_some_and(|table| table.is_whole())
            && self.could_match(criteria, true)
    }

    /// How many neighbours it has: what it said, or the usual number.
    pub(super) fn degree(&self) -> u32 {
        self.neighbour.degree.unwrap_or(USUAL)
    }

    /// True when a query could match there; always without a keyword table.
    pub(super) fn could_match(&self, criteria: &[u8], last: bool) -> bool {
        match &self.keywords {
            Some(table) if table.is_whole() && (last || !self.neighbour.relays) => {
                core::str::from_utf8(criteria).is_ok_and(|criteria| table.could_match(criteria))
            }
            _ => true,
        }
    }
}

/// Until when what a slot has sent would last if it were sent evenly.
#[derive(Debug, Clone, Copy)]
struct Paces {
    queries: Instant,
    tables: Instant,
}

/// One in every `pause`, and `at_once` before those last longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Even {
    pub(super) pause: Duration,
    /// Zero: no limit.
    pub(super) at_once: u32,
}

impl Even {
    fn takes(self, now: Instant, last: &mut Instant) -> bool {
        let next = now.max(*last) + self.pause;
        let fits = next.since(now) <= self.pause.ratio(self.at_once.into(), 1);
        if fits {
            *last = next;
        }
        fits || self.at_once == 0
    }
}

/// All neighbours.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    slots: Vec<Option<Box<Link>>>,
    /// How many times each slot was used before.
    used: Vec<u32>,
    /// Like a quota this stays with the slot, so that to connect again gives
    /// nobody more.
    paces: Vec<Paces>,
    by_conn: BTreeMap<ConnId, u32>,
    /// Slots in use, in order.
    open: Vec<u32>,
}

impl Links {
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Assigns a slot to a neighbour: the free one that has `spent` the least,
    /// so that a neighbour is not charged for its predecessor while another
    /// slot is free.
    pub(super) fn open(
        &mut self,
        now: Instant,
        (conn, peer, neighbour): (ConnId, SocketAddr, Neighbour),
        most: u32,
        spent: impl Fn(u32) -> u32,
    ) -> Option<u32> {
        let fresh = self.slots.len() as u32;
        let free = (0..fresh).filter(|slot| self.slots[*slot as usize].is_none());
        let room = (fresh < most.min(4_000)).then_some(fresh);
        let slot = free.chain(room).min_by_key(|slot| spent(*slot))?;
        if slot == fresh {
            self.slots.push(None);
            self.used.push(0);
            self.paces.push(Paces { queries: now, tables: now });
        }
        let route = Route::new(slot, self.used[slot as usize]);
        self.slots[slot as usize] = Some(Box::new(Link {
            conn,
            peer,
            neighbour,
            route,
            flow: Flow::default(),
            keywords: None,
            hops_flow: u8::MAX,
            proxied: None,
            proxy: Proxy::None,
            pongs: Vec::new(),
            pinged: None,
            pongs_due: 0,
            answered: None,
            heard: now,
            took: now,
            strikes: 0,
            told: 0,
            received: 0,
            sent: 0,
            dropped: 0,
        }));
        self.by_conn.insert(conn, slot);
        let place = self.open.partition_point(|other| *other < slot);
        self.open.insert(place, slot);
        Some(slot)
    }

    pub(super) fn close(&mut self, conn: ConnId) -> Option<Box<Link>> {
        let slot = self.by_conn.remove(&conn)?;
        self.open.retain(|other| *other != slot);
        self.used[slot as usize] = self.used[slot as usize].wrapping_add(1);
        self.slots[slot as usize].take()
    }

    /// Counts a query of a slot; false when it has sent too many at once.
    pub(super) fn asks(&mut self, now: Instant, slot: u32, even: Even) -> bool {
        self.paces.get_mut(slot as usize).is_some_and(|paces| even.takes(now, &mut paces.queries))
    }

    /// The same for a keyword table, or a change of one.
    pub(super) fn tells(&mut self, now: Instant, slot: u32, even: Even) -> bool {
        self.paces.get_mut(slot as usize).is_some_and(|paces| even.takes(now, &mut paces.tables))
    }

    pub(super) fn slot(&self, conn: ConnId) -> Option<u32> {
        self.by_conn.get(&conn).copied()
    }

    pub(super) fn at(&self, slot: u32) -> Option<&Link> {
        self.slots.get(slot as usize)?.as_deref()
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut Link> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    /// The neighbour a route leads to, if it is still the same one.
    pub(super) fn by_route(&self, route: Route) -> Option<&Link> {
        self.at(route.slot()?).filter(|link| link.route == route)
    }

    /// All neighbours, ordered by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.open.iter().filter_map(|slot| self.at(*slot))
    }

    /// Their slots, in order.
    pub(super) fn slots(&self) -> &[u32] {
        &self.open
    }
}
