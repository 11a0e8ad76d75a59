//! Carries out the router's outputs: bytes on streams, answers from what we
//! share, hits for the user, files for those who cannot reach us.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use super::OverlayService;
use super::wire::OverlayWire;
use crate::address::may_dial;
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::cx::{CrossWish, NodeCx};
use crate::node::hits::HitSender;
use crate::node::io::SearchHit as Told;
use crate::node::service::{EngineCall, FollowUps, RunsEngine};
use crate::node::{Event, NodeAnswer, Output};
use crate::routing;
use crate::wire::gnutella::{HitMeeting, OverlayMessage, Query, QueryHit};

/// Push proxies of one servent that the user is told.
const PROXIES: usize = 4;

impl RunsEngine<NodeCx<'_>> for OverlayService {
    type Input = routing::Input;
    type Output = routing::Output;
    type Event = routing::Event;

    fn follow_ups(&mut self) -> &mut FollowUps<routing::Input> {
        &mut self.follow_ups
    }

    fn call(
        &mut self,
        cx: &mut NodeCx<'_>,
        call: EngineCall<routing::Input>,
        fx: &mut Fx<routing::Output, routing::Event>,
    ) {
        match call {
            EngineCall::Input(input) => self.router.handle(cx.now, input, fx),
            EngineCall::Timeout => self.router.handle_timeout(cx.now, fx),
        }
    }

    fn carry_out(&mut self, cx: &mut NodeCx<'_>, effect: Effect<routing::Output, routing::Event>) {
        let wanted = match effect {
            Effect::Event(event) => return cx.fx.event(Event::Routing(event)),
            Effect::Output(wanted) => wanted,
        };
        match wanted {
            routing::Output::Send { to, message } => self.send(cx, to, &message),
            routing::Output::Close { conn } => {
                self.close(cx, conn, true, "no neighbour any more");
            }
            routing::Output::Query { guid, hops, query } => {
                self.answer_query(cx, (guid, hops), &query);
            }
            routing::Output::Hit { guid, conn, from, hops, hit } => {
                self.tell_hits(cx, guid, (conn, from), hops, &hit);
            }
            routing::Output::Push { index, at } => {
                self.push_came(cx);
                cx.wishes.push_back(CrossWish::Giv { to: SocketAddr::V4(at), index });
            }
            routing::Output::NoWay { servent } => {
                cx.fx.output(Output::Answer(NodeAnswer::NoWay { servent }));
            }
            routing::Output::OffersDialBack { conn } => self.test(cx, conn),
            routing::Output::DialBack { conn, port } => self.dial_back(cx, conn, port),
            routing::Output::Host { at } => {
                self.hear_of(cx, SocketAddr::V4(at), false);
                if self.look.is_none() {
                    self.look_around(cx);
                }
            }
        }
    }
}

impl OverlayService {
    /// Gives the router an input and carries out its outputs. What they lead to
    /// waits until all are carried out; only then is what was written counted as
    /// sent.
    pub(super) fn route(&mut self, cx: &mut NodeCx<'_>, input: routing::Input) {
        self.feed(cx, input);
        self.settle(cx);
    }

    /// Counts what was written as sent, as far as the host has not reported
    /// otherwise. Of several messages that arrived together, nothing is counted
    /// until all of them are processed; so what one neighbour sends at once is
    /// bounded, for every other neighbour, by the router's window and queue.
    pub(super) fn settle(&mut self, cx: &mut NodeCx<'_>) {
        if self.follow_ups.are_collected() {
            return;
        }
        while let Some(conn) = self.written.pop_front() {
            if let Some(bytes) = self.wires.get(&conn).map(|wire| wire.behind) {
                self.feed(cx, routing::Input::Backlog { conn, bytes });
            }
        }
    }

    fn send(&mut self, cx: &mut NodeCx<'_>, to: Vec<ConnId>, message: &OverlayMessage) {
        for conn in to {
            let wire = self.wires.get_mut(&conn);
            if let Some(data) = wire.and_then(|wire| wire.write(message)) {
                cx.io.write(conn, data, cx.fx);
                if !self.written.contains(&conn) {
                    self.written.push_back(conn);
                }
            }
        }
    }

    /// Answers a query with what we share, unless no servent could download it
    /// because the upload queue is full (AQ-12).
    fn answer_query(&mut self, cx: &mut NodeCx<'_>, (guid, hops): (Guid, u8), query: &Query) {
        if !cx.shelf.queue.has_room || cx.shelf.files.len() == 0 {
            return;
        }
        let most = cx.config.overlay.results as usize;
        let mut found: Vec<FileIndex> = query
            .urns()
            .filter_map(|sha1| cx.shelf.files.by_sha1(sha1).map(|file| file.index))
            .take(most)
            .collect();
        if query.asks_for_everything() && hops == 0 {
            found = self.index.all(most);
        } else if found.is_empty() {
            let criteria = String::from_utf8_lossy(query.criteria());
            found = self.index.find(&criteria, most);
        }
        let found = found.iter().filter_map(|index| cx.shelf.files.get(*index));
        for hit in self.sender(cx).hits(found) {
            self.route(cx, routing::Input::Answer { guid, hops, hit });
        }
    }

    /// What our hits say about us.
    fn sender(&self, cx: &NodeCx<'_>) -> HitSender {
        let six = self.place_six(cx);
        let port = six.map_or(0, |at| at.port());
        HitSender {
            servent: cx.us.servent,
            at: self.place(cx).unwrap_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port)),
            six: six.map(|at| *at.ip()),
            // Old servents cannot read the other address: they get it by push.
            push: self.reachable(cx).is_none(),
            busy: !cx.shelf.queue.has_free_slot,
            proxies: self.router.proxies(),
            meeting: self.meeting.hits.clone(),
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
        let at = hit.address();
        let push = quality.push == Some(true) && at.is_ipv4();
        // Its hosts may be sent a few datagrams: the same gate as for connections.
        if let Some(meeting) = hit.meeting().filter(|it| may_dial(it.at, from)) {
            let HitMeeting { at, code } = meeting;
            let servent = hit.servent();
            cx.fx.output(Output::Answer(NodeAnswer::Meets { search, servent, at, code }));
        }
        for found in hit.results() {
            cx.fx.output(Output::Answer(NodeAnswer::Found(Told {
                search,
                at,
                index: found.index,
                name: found.path(),
                size: found.size,
                sha1: found.sha1(),
                servent: hit.servent(),
                push,
                busy: quality.busy == Some(true),
                hops,
                from,
                through,
                proxies: proxies.clone(),
            })));
        }
    }
}
