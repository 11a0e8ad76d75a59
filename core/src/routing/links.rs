//! Neighbours: the slot of each, and what is known about it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4};

use super::flow::NeighbourFlow;
use super::memories::route::Route;
use super::proxies::Proxy;
use super::{DropReason, Neighbour};
use crate::id::{ConnId, Guid};
use crate::time::{Duration, Instant};
use crate::wire::gnutella::Keywords;

/// The assumed number of neighbours of a servent that does not say.
const USUAL: u32 = 6;

/// The state of a neighbour.
#[derive(Debug, Clone)]
pub(super) struct NeighbourLink {
    pub(super) conn: ConnId,
    pub(super) peer: SocketAddr,
    pub(super) neighbour: Neighbour,
    /// The route that leads to it.
    pub(super) route: Route,
    pub(super) flow: NeighbourFlow,
    /// Its keyword table, if it sent one.
    pub(super) keywords: Option<Box<Keywords>>,
    /// It does not want queries with this many hops or more.
    pub(super) hops_flow: u8,
    /// It has asked to be connected to, which is done once.
    pub(super) dialed_back: bool,
    /// The servent whose pushes are passed on to it.
    pub(super) proxied: Option<Guid>,
    /// Whether it passes pushes on to us.
    pub(super) proxy: Proxy,
    /// Pongs it sent, the newest last.
    pub(super) pongs: Vec<CachedPong>,
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
    pub(super) told: u32,
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) dropped: u64,
}

/// A pong that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedPong {
    pub(super) at: SocketAddrV4,
    pub(super) files: u32,
    pub(super) kilobytes: u32,
    pub(super) hops: u8,
}

impl NeighbourLink {
    /// True the first time a limit is reached since the generations changed.
    pub(super) const fn tell(&mut self, why: DropReason) -> bool {
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
pub(super) struct Paces {
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
pub(super) struct NeighbourLinks {
    slots: Vec<Option<Box<NeighbourLink>>>,
    /// How many times each slot was used before.
    pub(super) used: Vec<u32>,
    /// Like a quota this stays with the slot, so that to connect again gives
    /// no more.
    pub(super) paces: Vec<Paces>,
    by_conn: BTreeMap<ConnId, u32>,
    /// Slots in use, in order.
    open: Vec<u32>,
}

impl NeighbourLinks {
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
        self.slots[slot as usize] = Some(Box::new(NeighbourLink {
            conn,
            peer,
            neighbour,
            route,
            flow: NeighbourFlow::default(),
            keywords: None,
            hops_flow: u8::MAX,
            dialed_back: false,
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
        self.open.push(slot);
        self.open.sort_unstable();
        Some(slot)
    }

    pub(super) fn close(&mut self, conn: ConnId) -> Option<Box<NeighbourLink>> {
        let slot = self.by_conn.remove(&conn)?;
        self.open.retain(|other| *other != slot);
        self.used[slot as usize] = self.used[slot as usize].wrapping_add(1);
        self.slots[slot as usize].take()
    }

    /// Counts a query of a slot; false when it has sent too many at once.
    pub(super) fn admit_query(&mut self, now: Instant, slot: u32, even: Even) -> bool {
        self.paces.get_mut(slot as usize).is_some_and(|paces| even.takes(now, &mut paces.queries))
    }

    /// The same for a keyword table, or a change of one.
    pub(super) fn admit_table(&mut self, now: Instant, slot: u32, even: Even) -> bool {
        self.paces.get_mut(slot as usize).is_some_and(|paces| even.takes(now, &mut paces.tables))
    }

    pub(super) fn slot(&self, conn: ConnId) -> Option<u32> {
        self.by_conn.get(&conn).copied()
    }

    pub(super) fn at(&self, slot: u32) -> Option<&NeighbourLink> {
        self.slots.get(slot as usize)?.as_deref()
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut NeighbourLink> {
        self.slots.get_mut(slot as usize)?.as_deref_mut()
    }

    /// The neighbour a route leads to, if it is still the same one.
    pub(super) fn by_route(&self, route: Route) -> Option<&NeighbourLink> {
        self.at(route.slot()?).filter(|link| link.route == route)
    }

    /// All neighbours, ordered by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = &NeighbourLink> {
        self.open.iter().filter_map(|slot| self.at(*slot))
    }

    /// Their slots, in order.
    pub(super) fn slots(&self) -> &[u32] {
        &self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::gnutella::Qrp;

    fn link(links: &mut NeighbourLinks, conn: u64, spent: impl Fn(u32) -> u32) -> Option<u32> {
        let peer = SocketAddr::from(([80, 0, 0, 1], 6_346));
        let of = (ConnId(conn), peer, Neighbour::default());
        links.open(Instant::from_secs(1), of, 3, spent)
    }

    /// The keyword table of a file, as a neighbour receives it.
    fn received(name: &str) -> Keywords {
        let (mut ours, mut theirs) = (Keywords::new(8), Keywords::new(8));
        ours.add(name);
        for message in ours.messages() {
            if let Qrp::Patch { seq, count, compressor, bits, data } = message {
                theirs.patch((seq, count), compressor, bits, &data).unwrap();
            }
        }
        theirs
    }

    #[test]
    fn the_free_slot_that_has_spent_the_least_is_taken_and_no_more_than_there_may_be() {
        let mut links = NeighbourLinks::default();
        let nothing = |_: u32| 0;
        let slots = [1, 2, 3, 4].map(|conn| link(&mut links, conn, nothing));
        assert_eq!(slots, [Some(0), Some(1), Some(2), None]);
        assert_eq!((links.len(), links.slots()), (3, &[0, 1, 2][..]));
        for conn in [1, 2, 9] {
            assert_eq!(links.close(ConnId(conn)).is_some(), conn != 9);
        }
        assert_eq!((links.len(), links.slots()), (1, &[2][..]));
        assert_eq!(link(&mut links, 5, |slot| 9 - slot), Some(1), "it has spent less");
        assert_eq!((links.slot(ConnId(5)), links.slot(ConnId(1))), (Some(1), None));
        assert!(links.iter().map(|link| link.conn.0).eq([5, 3]), "in the order of slots");
        // A slot that was never used is better than one whose quota is spent.
        let mut links = NeighbourLinks::default();
        link(&mut links, 1, nothing);
        links.close(ConnId(1));
        assert_eq!(link(&mut links, 2, |slot| u32::from(slot == 0)), Some(1));
    }

    #[test]
    fn a_route_leads_to_one_neighbour_and_never_to_the_next_in_its_slot() {
        let mut links = NeighbourLinks::default();
        link(&mut links, 1, |_| 0);
        let route = links.at(0).unwrap().route;
        assert_eq!(links.by_route(route).map(|link| link.conn), Some(ConnId(1)));
        links.close(ConnId(1));
        assert!(links.by_route(route).is_none() && links.at(0).is_none());
        link(&mut links, 2, |_| 0);
        assert!(links.by_route(route).is_none() && links.by_route(Route::LOCAL).is_none());
    }

    #[test]
    fn each_limit_is_told_once_until_the_generations_change() {
        let mut links = NeighbourLinks::default();
        link(&mut links, 1, |_| 0);
        let link = links.at_mut(0).unwrap();
        for _ in 0..2 {
            for why in DropReason::ALL {
                assert!(link.tell(why), "{why:?} for the first time");
            }
            assert!(DropReason::ALL.into_iter().all(|why| !link.tell(why)));
            link.strikes = 3;
            link.turn();
            assert_eq!(link.strikes, 0);
        }
    }

    #[test]
    fn a_leaf_is_judged_by_its_keywords_and_an_ultrapeer_only_at_the_last_hop() {
        let mut links = NeighbourLinks::default();
        link(&mut links, 1, |_| 0);
        let link = links.at_mut(0).unwrap();
        assert_eq!(link.degree(), USUAL);
        link.neighbour.degree = Some(31);
        assert_eq!(link.degree(), 31);
        assert!(link.could_match(b"cedar", true) && !link.promises(b"cedar"), "nothing is known");
        assert!(!link.is_leaf_with_keywords());
        link.keywords = Some(Box::new(Keywords::new(8)));
        assert!(link.could_match(b"cedar", true), "its table has only begun");
        assert!(!link.is_leaf_with_keywords() && !link.promises(b"cedar"));
        link.keywords = Some(Box::new(received("amber")));
        for relays in [false, true] {
            link.neighbour.relays = relays;
            assert_eq!(link.is_leaf_with_keywords(), !relays);
            assert_eq!(link.could_match(b"cedar", false), relays);
            assert!(!link.could_match(b"cedar", true) && link.could_match(b"amber", true));
            assert!(link.promises(b"amber") && !link.promises(b"cedar"));
            assert!(!link.could_match(&[0xff], true), "no text, no words");
        }
    }

    #[test]
    fn evenly_sent_is_a_pause_between_two_and_so_many_at_once() {
        let (now, pause) = (Instant::from_secs(100), Duration::from_secs(10));
        let even = Even { pause, at_once: 2 };
        let mut links = NeighbourLinks::default();
        link(&mut links, 1, |_| 0);
        let mut asks = |at: u64| links.admit_query(now + Duration::from_secs(at), 0, even);
        let took = [0, 0, 0, 9, 10, 10, 40, 40, 40].map(&mut asks);
        assert_eq!(took, [true, true, false, false, true, false, true, true, false]);
        assert!(links.admit_table(now, 0, even), "tables are counted apart");
        let all = Even { at_once: 0, ..even };
        assert!((0..9).all(|_| links.admit_query(now, 0, all)), "no limit");
        assert!(!links.admit_query(now, 7, even), "no neighbour is there");
    }
}
