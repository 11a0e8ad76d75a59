//! What the router wants: bytes on streams, answers from what we share, hits
//! for the user, files for whoever cannot reach us.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use super::wire::Wire;
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::io::Hit as Told;
use crate::node::{Answer, Effects, Event, Node, Output};
use crate::routing::{self, Router};
use crate::time::Instant;
use crate::wire::gnutella::{Hit, HitBuilder, Quality, Query};

/// Whose servent this is, in hits.
const VENDOR: [u8; 4] = *b"SRVT";
/// Bytes of one hit; more results make more hits.
const HIT: usize = 4_000;
/// What we say of our speed, in kbit/s: nobody measures it.
const SPEED: u32 = 1_000;

impl Node {
    /// Gives the router an input and carries out what it wants.
    pub(super) fn route(&mut self, now: Instant, input: routing::Input, fx: &mut Effects) {
        let mut written = Vec::new();
        self.route_one(now, input, &mut written, fx);
        self.settle(now, &written, fx);
    }

    /// The same for one of many messages that came at once. Until all of them
    /// are dealt with, nothing has left: so what one neighbour brings at once
    /// is bounded for every other by the router's window and queue.
    pub(super) fn route_one(
        &mut self,
        now: Instant,
        input: routing::Input,
        written: &mut Vec<ConnId>,
        fx: &mut Effects,
    ) {
        let mut said = Fx::new();
        self.overlay.router.handle(now, input, &mut said);
        self.obey(now, said, written, fx);
    }

    /// Carries out what the router wants.
    pub(super) fn obey_router(&mut self, now: Instant, said: FxOf<Router>, fx: &mut Effects) {
        let mut written = Vec::new();
        self.obey(now, said, &mut written, fx);
        self.settle(now, &written, fx);
    }

    fn obey(
        &mut self,
        now: Instant,
        mut said: FxOf<Router>,
        written: &mut Vec<ConnId>,
        fx: &mut Effects,
    ) {
        for effect in said.drain() {
            match effect {
                Effect::Event(event) => fx.event(Event::Routing(event)),
                Effect::Output(routing::Output::Send { to, message }) => {
                    for conn in to {
                        let wire = self.overlay.wires.get_mut(&conn);
                        if let Some(data) = wire.and_then(|wire| wire.write(&message)) {
                            fx.output(Output::Write { conn, data });
                            if !written.contains(&conn) {
                                written.push(conn);
                            }
                        }
                    }
                }
                Effect::Output(routing::Output::Close { conn }) => {
                    self.close(now, conn, true, "no neighbour any more", fx);
                }
                Effect::Output(routing::Output::Query { guid, hops, query }) => {
                    self.answer_query(now, (guid, hops), &query, fx);
                }
                Effect::Output(routing::Output::Hit { guid, conn, from, hops, hit }) => {
                    self.tell_hits(guid, (conn, from), hops, &hit, fx);
                }
                Effect::Output(routing::Output::Push { index, at }) => {
                    self.give(SocketAddr::V4(at), index, fx);
                }
                Effect::Output(routing::Output::NoWay { servent }) => {
                    fx.output(Output::Answer(Answer::NoWay { servent }));
                }
                Effect::Output(routing::Output::Host { at }) => {
                    self.hear_of(now, SocketAddr::V4(at), false, fx);
                    if self.overlay.look.is_none() {
                        self.look_around(now, fx);
                    }
                }
            }
        }
    }

    /// What was written has left as far as the host has not said otherwise.
    pub(super) fn settle(&mut self, now: Instant, written: &[ConnId], fx: &mut Effects) {
        for conn in written {
            if let Some(bytes) = self.overlay.wires.get(conn).map(|wire| wire.behind) {
                self.route(now, routing::Input::Backlog { conn: *conn, bytes }, fx);
            }
        }
    }

    /// Answers a query with what we share, unless nobody could get it: the
    /// line is full (AQ-12).
    fn answer_query(
        &mut self,
        now: Instant,
        (guid, hops): (Guid, u8),
        query: &Query,
        fx: &mut Effects,
    ) {
        if !self.queue.has_room() || self.files.len() == 0 {
            return;
        }
        let most = self.config.overlay.results as usize;
        let mut found: Vec<FileIndex> = query
            .urns()
            .filter_map(|sha1| self.files.by_sha1(sha1).map(|file| file.index))
            .take(most)
            .collect();
        if query.asks_for_everything() && hops == 0 {
            found = self.overlay.index.all(most);
        } else if found.is_empty() {
            let criteria = String::from_utf8_lossy(query.criteria());
            found = self.overlay.index.find(&criteria, most);
        }
        for hit in self.hits(&found) {
            self.route(now, routing::Input::Answer { guid, hops, hit }, fx);
        }
    }

    /// Hits that hold these files, each as large as one may be.
    fn hits(&self, files: &[FileIndex]) -> Vec<Hit> {
        let unknown = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        let at = self.place().unwrap_or(unknown);
        let quality = Quality {
            push: Some(self.reachable().is_none()),
            busy: Some(self.queue.free() == 0),
            uploaded: None,
        };
        let new = || HitBuilder::new(at, SPEED, (VENDOR, quality), self.servent, HIT);
        let (mut hits, mut hit) = (Vec::new(), new());
        for file in files.iter().filter_map(|index| self.files.get(*index)) {
            if !hit.add(file.index, file.size, &file.name, file.sha1) {
                hits.extend(core::mem::replace(&mut hit, new()).finish());
                // A name too long for any hit is in none.
                hit.add(file.index, file.size, &file.name, file.sha1);
            }
        }
        hits.extend(hit.finish());
        hits
    }

    /// Tells the user what a hit has.
    fn tell_hits(
        &mut self,
        guid: Guid,
        (conn, from): (ConnId, IpAddr),
        hops: u8,
        hit: &Hit,
        fx: &mut Effects,
    ) {
        let Some(search) = self.overlay.searches.get(&guid).copied() else { return };
        let through = self.overlay.wires.get(&conn).and_then(Wire::listens);
        let quality = hit.quality();
        for found in hit.results() {
            let name: String =
                String::from_utf8_lossy(found.name).chars().filter(|c| !c.is_control()).collect();
            fx.output(Output::Answer(Answer::Found(Told {
                search,
                at: SocketAddr::V4(hit.at()),
                index: found.index,
                name,
                size: found.size,
                sha1: found.sha1(),
                servent: hit.servent(),
                push: quality.push == Some(true),
                busy: quality.busy == Some(true),
                hops,
                from,
                through,
            })));
        }
    }
}
