//! Carrying out the outputs of routers.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::Hasher as _;

use super::event::{Event, MessageEvent, MessageOutcome, SearchEvent};
use super::host::{address, node_at};
use super::links::wire_of;
use super::scenario::ScenarioFile;
use super::world::{DelayedReply, RoutingPlan, RoutingWorld, read_header};
use servent_core::engine::Effect;
use servent_core::routing::{self, DropReason, Input, Output, RoutingVerdict};
use servent_core::time::Duration;
use servent_core::trace::{Digest, NodeId, RecordCause};
use servent_core::wire::gnutella::{
    HEADER, HitBuilder, MessageBody, MessageHeader, MessageKind, OverlayPayload, Quality, Query,
    QueryHit, matches,
};

/// Payload bytes of one of our hits.
const HIT: usize = 4_096;

impl RoutingWorld {
    /// Records what happened to a message; returns the record.
    pub(super) fn judged(
        &mut self,
        host: u32,
        (id, from, data): (u64, u32, &OverlayPayload),
        cause: u64,
    ) -> u64 {
        let mut verdict = None;
        for event in self.fx.events() {
            if let routing::Event::Judged { verdict: told, .. } = event {
                verdict = Some(match told {
                    RoutingVerdict::Forward { to } => {
                        (MessageOutcome::Forwarded, None, to.len() as u32)
                    }
                    RoutingVerdict::Local => (MessageOutcome::Local, None, 0),
                    RoutingVerdict::Drop { why } => (MessageOutcome::Dropped, Some(*why), 0),
                });
                break;
            }
        }
        // Nothing is known of a message that could not be decoded.
        let (verdict, why, on) =
            verdict.unwrap_or((MessageOutcome::Dropped, Some(DropReason::Improper), 0));
        let Some((MessageHeader { guid, ttl, hops, .. }, kind)) = read_header(data) else {
            return cause;
        };
        let (of, set) = self.about(kind, data);
        self.net.tally.arrived(kind, why);
        self.own_mut(host).tally.arrived(kind, why);
        let from = NodeId(from);
        let judged =
            MessageEvent::Judged { id, from, kind, guid, ttl, hops, verdict, why, on, of, set };
        self.note(host, Some(cause), Event::Message(judged))
    }

    /// The node a message is about, and a fingerprint of a hit's content.
    pub(super) fn about(&self, kind: MessageKind, data: &OverlayPayload) -> (Option<NodeId>, u32) {
        match kind {
            MessageKind::Hit | MessageKind::Push => {}
            _ => return (None, 0),
        }
        match MessageBody::parse(kind, data.slice(HEADER..)) {
            Ok(MessageBody::Push(push)) => (self.bearer(push.servent), 0),
            Ok(MessageBody::Hit(hit)) => {
                let mut print = Digest::default();
                print.write(hit.result_set());
                let of = node_at((*hit.at().ip()).into()).map(NodeId);
                (of, print.value() as u32 | 1)
            }
            _ => (None, 0),
        }
    }

    /// Carries out effects in order; `cause` is the record they follow from.
    pub(super) fn carry(&mut self, host: u32, cause: RecordCause) {
        let mut fx = core::mem::take(&mut self.fx);
        let (mut answers, mut wanted) = (Vec::new(), Vec::new());
        for effect in fx.drain() {
            match effect {
                Effect::Event(routing::Event::Judged { .. } | routing::Event::Sent { .. }) => {}
                Effect::Event(event) => {
                    self.note(host, cause, Event::Routing(event));
                }
                Effect::Output(Output::Send { to, message }) => {
                    let data = OverlayPayload::from(message.to_bytes());
                    for conn in to {
                        let (wire, _) = wire_of(conn);
                        self.launch(host, wire, data.clone(), cause);
                    }
                }
                Effect::Output(Output::Close { conn }) => self.hang_up(host, conn),
                Effect::Output(Output::Query { guid, hops, query }) => {
                    answers.extend(self.matching(host, &query).map(|hit| (guid, hops, hit)));
                }
                Effect::Output(Output::Hit { guid, from, hops, hit, .. }) => {
                    let of = node_at((*hit.at().ip()).into()).map(NodeId);
                    if let (Some(of), Some(neighbour)) = (of, node_at(from)) {
                        self.own_mut(host).brought.insert(of.0, neighbour);
                    }
                    // The last link counts as a hop too.
                    let hops = hops.saturating_add(1);
                    let found = SearchEvent::Found { guid, of, files: hit.count().into(), hops };
                    let seq = self.said(host, found, cause);
                    let told = hit.quality().push == Some(true);
                    wanted.extend(of.map(|of| ((of, told), seq)));
                }
                Effect::Output(Output::Push { at, .. }) => {
                    let to = node_at((*at.ip()).into()).map(NodeId);
                    let seq = self.said(host, SearchEvent::Obeyed { to }, cause);
                    if let Some(to) = to {
                        let _ = self.dial(host, to.0, Some(seq));
                    }
                }
                Effect::Output(Output::NoWay { servent }) => {
                    if let Some(of) = self.bearer(servent) {
                        self.said(host, SearchEvent::NoWay { of }, cause);
                    }
                }
                // Hosts of this world know who can be connected to.
                Effect::Output(
                    Output::Host { .. } | Output::OffersDialBack { .. } | Output::DialBack { .. },
                ) => {}
            }
        }
        self.fx = fx;
        for (what, found) in wanted {
            self.want(host, what, found);
        }
        for (guid, hops, (hit, after)) in answers {
            let boot = self.slot(host).starts;
            let reply = DelayedReply { host, boot, guid, hops, hit, cause };
            if after == Duration::ZERO {
                self.answer(reply);
                continue;
            }
            // Replies are planned with increasing numbers, so this one is
            // unused.
            let number = self.net.replies.last_key_value().map_or(0, |(last, _)| last + 1);
            self.net.replies.insert(number, reply);
            self.plan(self.now() + after, RoutingPlan::Reply { number });
        }
    }

    /// A planned reply is due.
    pub(super) fn reply(&mut self, number: u64) {
        let Some(reply) = self.net.replies.remove(&number) else { return };
        if self.slot(reply.host).starts == reply.boot {
            self.answer(reply);
        }
    }

    fn answer(&mut self, reply: DelayedReply) {
        let DelayedReply { host, guid, hops, hit, cause, .. } = reply;
        let answered = SearchEvent::Answered { guid, files: hit.count().into() };
        let seq = self.said(host, answered, cause);
        self.give(host, Input::Answer { guid, hops, hit }, Some(seq));
    }

    /// The files of a node that match a query, and the delay of the reply.
    fn matching(&self, host: u32, query: &Query) -> Option<(QueryHit, Duration)> {
        let files = self.net.stage.shares.get(&host)?;
        let criteria = core::str::from_utf8(query.criteria()).ok()?;
        let stage = Arc::clone(&self.net.stage);
        let servent = stage.servents[host as usize];
        let push = self.is_closed(host).then_some(true);
        let quality = Quality { push, ..Quality::default() };
        let mut hit = HitBuilder::new(address(host), 100, (*b"SVNT", quality), servent, HIT);
        let mut latest = Duration::ZERO;
        for index in files {
            let ScenarioFile { name, after, .. } = &stage.plan.files[index.0 as usize];
            if matches(criteria, name) {
                hit.add(*index, 4_096, name, None);
                latest = latest.max(*after);
            }
        }
        Some((hit.finish()?, latest))
    }
}
