//! Carries out the router's outputs: bytes on streams, answers from what we
//! share, hits for the user, files for those who cannot reach us.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use super::OverlayService;
use super::wire::OverlayWire;
use crate::address::may_dial;
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::cx::NodeCx;
use crate::node::hits::HitSender;
use crate::node::http::Http;
use crate::node::io::SearchHit as Told;
use crate::node::{Event, NodeAnswer, Output};
use crate::routing::{self, Router};
use crate::wire::gnutella::{Query, QueryHit};

/// Push proxies of one servent that the user is told.
const PROXIES: usize = 4;

impl OverlayService {
    /// Gives the router an input and carries out its outputs.
    pub(super) fn route(&mut self, cx: &mut NodeCx<'_>, http: &Http, input: routing::Input) {
        let mut written = Vec::new();
        self.route_one(cx, http, input, &mut written);
        self.settle(cx, http, &written);
    }

    /// The same for one of several messages that arrived together. Nothing is
    /// counted as sent until all of them are processed; so what one neighbour
    /// sends at once is bounded, for every other neighbour, by the router's
    /// window and queue.
    pub(super) fn route_one(
        &mut self,
        cx: &mut NodeCx<'_>,
        http: &Http,
        input: routing::Input,
        written: &mut Vec<ConnId>,
    ) {
        let mut said = Fx::new();
        self.router.handle(cx.now, input, &mut said);
        self.obey(cx, http, said, written);
    }

    /// Carries out the router's outputs.
    pub(super) fn obey_router(&mut self, cx: &mut NodeCx<'_>, http: &Http, said: FxOf<Router>) {
        let mut written = Vec::new();
        self.obey(cx, http, said, &mut written);
        self.settle(cx, http, &written);
    }

    fn obey(
        &mut self,
        cx: &mut NodeCx<'_>,
        http: &Http,
        mut said: FxOf<Router>,
        written: &mut Vec<ConnId>,
    ) {
        for effect in said.drain() {
            match effect {
                Effect::Event(event) => cx.fx.event(Event::Routing(event)),
                Effect::Output(routing::Output::Send { to, message }) => {
                    for conn in to {
                        let wire = self.wires.get_mut(&conn);
                        if let Some(data) = wire.and_then(|wire| wire.write(&message)) {
                            cx.io.write(conn, data, cx.fx);
                            if !written.contains(&conn) {
                                written.push(conn);
                            }
                        }
                    }
                }
                Effect::Output(routing::Output::Close { conn }) => {
                    self.close(cx, http, conn, true, "no neighbour any more");
                }
                Effect::Output(routing::Output::Query { guid, hops, query }) => {
                    self.answer_query(cx, http, (guid, hops), &query);
                }
                Effect::Output(routing::Output::Hit { guid, conn, from, hops, hit }) => {
                    self.tell_hits(cx, guid, (conn, from), hops, &hit);
                }
                Effect::Output(routing::Output::Push { index, at }) => {
                    http.give(cx, SocketAddr::V4(at), index);
                }
                Effect::Output(routing::Output::NoWay { servent }) => {
                    cx.fx.output(Output::Answer(NodeAnswer::NoWay { servent }));
                }
                Effect::Output(routing::Output::Host { at }) => {
                    self.hear_of(cx, SocketAddr::V4(at), false);
                    if self.look.is_none() {
                        self.look_around(cx);
                    }
                }
            }
        }
    }

    /// Counts what was written as sent, as far as the host has not reported
    /// otherwise.
    pub(super) fn settle(&mut self, cx: &mut NodeCx<'_>, http: &Http, written: &[ConnId]) {
        for conn in written {
            if let Some(bytes) = self.wires.get(conn).map(|wire| wire.behind) {
                self.route(cx, http, routing::Input::Backlog { conn: *conn, bytes });
            }
        }
    }

    /// Answers a query with what we share, unless nobody could download it
    /// because the upload queue is full (AQ-12).
    fn answer_query(
        &mut self,
        cx: &mut NodeCx<'_>,
        http: &Http,
        (guid, hops): (Guid, u8),
        query: &Query,
    ) {
        if !http.queue.has_room() || http.files.len() == 0 {
            return;
        }
        let most = cx.config.overlay.results as usize;
        let mut found: Vec<FileIndex> = query
            .urns()
            .filter_map(|sha1| http.files.by_sha1(sha1).map(|file| file.index))
            .take(most)
            .collect();
        if query.asks_for_everything() && hops == 0 {
            found = self.index.all(most);
        } else if found.is_empty() {
            let criteria = String::from_utf8_lossy(query.criteria());
            found = self.index.find(&criteria, most);
        }
        let found = found.iter().filter_map(|index| http.files.get(*index));
        for hit in self.sender(cx, http).hits(found) {
            self.route(cx, http, routing::Input::Answer { guid, hops, hit });
        }
    }

    /// What our hits say about us.
    fn sender(&self, cx: &NodeCx<'_>, http: &Http) -> HitSender {
        HitSender {
            servent: cx.us.servent,
            at: self.place(cx).unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
            push: self.reachable(cx).is_none(),
            busy: http.queue.free() == 0,
            proxies: self.router.proxies(),
        }
    }

    /// Tells the user the results of a hit.
    fn tell_hits(
        &self,
        cx: &mut NodeCx<'_>,
        guid: Guid,
        (conn, from): (ConnId, IpAddr),
        hops: u8,
        hit: &QueryHit,
    ) {
        let Some(search) = self.searches.get(&guid).copied() else { return };
        let through = self.wires.get(&conn).and_then(OverlayWire::listens);
        let quality = hit.quality();
        let proxies = hit.proxies().into_iter().map(SocketAddr::V4);
        let proxies = proxies.filter(|at| may_dial(*at, from)).take(PROXIES);
        let proxies: Vec<SocketAddr> = proxies.collect();
        for found in hit.results() {
            cx.fx.output(Output::Answer(NodeAnswer::Found(Told {
                search,
                at: SocketAddr::V4(hit.at()),
                index: found.index,
                name: found.path(),
                size: found.size,
                sha1: found.sha1(),
                servent: hit.servent(),
                push: quality.push == Some(true),
                busy: quality.busy == Some(true),
                hops,
                from,
                through,
                proxies: proxies.clone(),
            })));
        }
    }
}
