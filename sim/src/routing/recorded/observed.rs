//! What the recording of one servent tells of the overlay: its neighbours, and every
//! message between it and them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use servent_core::id::{ConnId, Guid};
use servent_core::node::{Event, Input, NodeCommand, OverlayCommand};
use servent_core::routing::{Event as Told, RoutingVerdict};
use servent_core::time::Instant;
use servent_core::trace::again::{Again, ReplayStep};
use servent_core::trace::player::Player;
use servent_core::wire::gnutella::MessageKind;

use super::streams::Streams;
use crate::routing::shown::chart::fate;

/// A connection with a neighbour.
#[derive(Debug, Clone)]
pub struct ObservedLink {
    /// Its number on the tape.
    pub conn: ConnId,
    /// The address of the other end, as it was seen from here.
    pub peer: SocketAddr,
    /// When it was a neighbour from, and until when.
    pub opened: Instant,
    /// `None` while it is one.
    pub closed: Option<Instant>,
}

impl ObservedLink {
    /// It was dialed from here.
    #[must_use]
    pub const fn is_dialed(&self) -> bool {
        !self.conn.is_inbound()
    }
}

/// A message that left, or arrived.
#[derive(Debug, Clone, Copy)]
pub struct Passed {
    /// When.
    pub at: Instant,
    /// The number of the step.
    pub step: usize,
    /// The newest record by then.
    pub record: u64,
    /// By which link.
    pub link: u32,
    /// It left from here.
    pub ours: bool,
    /// Its number.
    pub guid: Guid,
    /// Its kind.
    pub kind: MessageKind,
    /// Hops before this one.
    pub hops: u8,
    /// What became of one that arrived.
    pub fate: u8,
}

/// What a recording tells of the overlay.
#[derive(Debug, Clone, Default)]
pub struct ObservedOverlay {
    links: Vec<ObservedLink>,
    by_conn: BTreeMap<ConnId, u32>,
    closed: Vec<(u32, Instant)>,
    /// All connections, where those of other recordings are looked for.
    streams: Streams,
    passed: Vec<Passed>,
    /// Queries that left or arrived, and hits that did.
    queries: BTreeSet<Guid>,
    hits: Vec<(Instant, Guid)>,
    /// The words of searches of its own, and of one that was not sent yet.
    searches: BTreeMap<Guid, String>,
    words: Option<String>,
}

impl ObservedOverlay {
    /// All that a recording tells.
    #[must_use]
    pub fn from_player(player: &Player) -> Self {
        let mut observed = Self::default();
        if let Some(start) = player.start() {
            Again::new(start).go_on(player, |step| {
                observed.streams.observe(step);
                observed.observe(step);
            });
        }
        observed
    }

    /// Its connections with neighbours, by when they were opened.
    #[must_use]
    pub fn links(&self) -> &[ObservedLink] {
        &self.links
    }

    /// Which of them were closed, in order.
    #[must_use]
    pub fn closed(&self) -> &[(u32, Instant)] {
        &self.closed
    }

    /// All messages, in the order of the tape.
    #[must_use]
    pub fn passed(&self) -> &[Passed] {
        &self.passed
    }

    /// The words of its own searches.
    #[must_use]
    pub const fn searches(&self) -> &BTreeMap<Guid, String> {
        &self.searches
    }

    /// The queries that it has heard or sent.
    #[must_use]
    pub const fn queries(&self) -> &BTreeSet<Guid> {
        &self.queries
    }

    /// The hits that arrived here: when, and for which query.
    #[must_use]
    pub fn hits(&self) -> &[(Instant, Guid)] {
        &self.hits
    }

    /// All its connections.
    pub(crate) const fn streams(&self) -> &Streams {
        &self.streams
    }

    /// The link that is this connection.
    pub(crate) fn link(&self, conn: ConnId) -> Option<usize> {
        self.by_conn.get(&conn).map(|link| *link as usize)
    }

    /// Takes up a step of the recording, of which nothing is to be joined with others.
    pub fn observe(&mut self, step: &ReplayStep<'_>) {
        if let Some(Input::Command(NodeCommand::Overlay(OverlayCommand::Search {
            words, ..
        }))) = step.input
        {
            self.words = Some(words.clone());
        }
        for (record, event) in step.events() {
            if let Event::Routing(told) = event {
                self.told((step.at, step.number, record), told);
            }
        }
    }

    fn told(&mut self, (at, step, record): (Instant, usize, u64), told: &Told) {
        let mut pass = |link: Option<&u32>, ours, guid, kind, hops, fate| {
            let passed = |link: &u32| {
                let link = *link;
                Passed { at, step, record, link, ours, guid, kind, hops, fate }
            };
            self.passed.extend(link.map(passed));
        };
        match told {
            Told::Opened { conn, peer, .. } => {
                self.by_conn.insert(*conn, self.links.len() as u32);
                let (conn, peer) = (*conn, *peer);
                self.links.push(ObservedLink { conn, peer, opened: at, closed: None });
            }
            Told::Closed { conn, .. } => {
                let link = self.by_conn.get(conn).copied();
                if let Some(link) = link {
                    self.links[link as usize].closed = Some(at);
                    self.closed.push((link, at));
                }
            }
            Told::Judged { conn, guid, kind, hops, verdict, .. } => {
                pass(self.by_conn.get(conn), false, *guid, *kind, *hops, fate_of(verdict));
                if let RoutingVerdict::Forward { to } = verdict {
                    for conn in to {
                        let (link, hops) = (self.by_conn.get(conn), hops.saturating_add(1));
                        pass(link, true, *guid, *kind, hops, fate::FLYING);
                    }
                }
                match kind {
                    MessageKind::Query => drop(self.queries.insert(*guid)),
                    MessageKind::Hit => self.hits.push((at, *guid)),
                    _ => {}
                }
            }
            Told::Sent { guid, kind, to, .. } => {
                for conn in to {
                    pass(self.by_conn.get(conn), true, *guid, *kind, 0, fate::FLYING);
                }
                if *kind == MessageKind::Query && self.queries.insert(*guid) {
                    self.searches.insert(*guid, self.words.take().unwrap_or_default());
                }
            }
            _ => {}
        }
    }
}

const fn fate_of(verdict: &RoutingVerdict) -> u8 {
    match verdict {
        RoutingVerdict::Forward { .. } => fate::FORWARDED,
        RoutingVerdict::Local => fate::LOCAL,
        RoutingVerdict::Drop { why } => fate::dropped(*why),
    }
}

/// The hits that arrived at any of them, and those whose query is on none of their
/// recordings: on which recording, when, and for which query.
#[must_use]
pub fn unasked(tapes: &[ObservedOverlay]) -> (usize, Vec<(usize, Instant, Guid)>) {
    let hits = tapes.iter().enumerate();
    let hits = hits.flat_map(|(k, tape)| tape.hits.iter().map(move |(at, id)| (k, *at, *id)));
    let all: Vec<_> = hits.collect();
    let asked = |id: &Guid| tapes.iter().any(|tape| tape.queries.contains(id));
    (all.len(), all.into_iter().filter(|(.., id)| !asked(id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WB-5
    #[test]
    fn a_hit_whose_query_is_on_no_tape_is_named() {
        let at = Instant::from_secs(3);
        let asks =
            ObservedOverlay { queries: [Guid([1; 16])].into(), ..ObservedOverlay::default() };
        let hears = ObservedOverlay {
            hits: [(at, Guid([1; 16])), (at, Guid([2; 16]))].into(),
            ..ObservedOverlay::default()
        };
        let lost = (1, at, Guid([2; 16]));
        assert_eq!(unasked(&[asks, hears]), (2, [lost].into()));
    }
}
