//! Delivery over links to nodes.

use alloc::vec::Vec;

use super::world::{Guest, Queue, QueuePlan};
use crate::links::stream::StreamContent;
use crate::links::stream::flow::{RangeFlow, share};
use crate::links::stream::{Intake, LinkRef, Packet, Side};
use crate::world::World;
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, DialError, Input};
use servent_core::trace::{NodeId, RecordCause};

/// Body bytes that are not being stored are passed to the node in chunks of
/// this size.
const PIECE: u64 = 4 * 1024;
/// The most body bytes that arrive together with the head before them.
const GLUED: u64 = 1_400;

impl<N: Guest> World<Queue<N>> {
    /// A connection attempt reaches its listener.
    pub(super) fn connect(&mut self, at: LinkRef) {
        let Some(link) = self.net.links.get(at) else { return };
        let (dialer, target) = (link.end(Side::Dialer).clone(), link.end(Side::Listener).host);
        let latency = link.latency;
        let firewalled = self.own(target).firewalled;
        if !self.is_up(NodeId(target)) || firewalled {
            let start = self.slot(dialer.host).starts;
            let why = if firewalled { DialError::TimedOut } else { DialError::Refused };
            let due = QueuePlan::DialFailed { host: dialer.host, conn: dialer.conn, why, start };
            self.plan(self.now() + latency, due);
            self.own_mut(dialer.host).conns.remove(&dialer.conn);
            self.net.links.remove(at);
            return;
        }
        let h = self.own_mut(target);
        let conn = ConnId(h.accepted * 2);
        h.accepted += 1;
        h.conns.insert(conn, (at, Side::Listener));
        let cause = self.own(dialer.host).causes.of_conn(dialer.conn);
        if let Some(link) = self.net.links.get_mut(at) {
            link.open = true;
            let end = link.end_mut(Side::Listener);
            end.conn = conn;
            end.known = true;
        }
        self.plan(self.now() + latency, QueuePlan::Opened { link: at });
        self.give(
            target,
            Input::Connection(conn, ConnInput::Accepted { peer: dialer.at, local: None }),
            cause,
        );
    }

    /// The connecting node learns that it is connected.
    pub(super) fn opened(&mut self, at: LinkRef) {
        let Some(link) = self.net.links.get_mut(at) else { return };
        let end = link.end_mut(Side::Dialer);
        if end.closed {
            return;
        }
        end.known = true;
        let (host, conn, local) = (end.host, end.conn, end.at);
        self.give(host, Input::Connection(conn, ConnInput::Dialed { local }), None);
        self.pump(at, Side::Dialer);
    }

    /// The next packet from one end arrives at the other.
    pub(super) fn deliver(&mut self, at: LinkRef, from: Side) {
        let side = from.other();
        let Some(end) = self.net.links.get(at).map(|link| link.end(side)) else { return };
        let (host, conn) = (end.host, end.conn);
        let stalled = self.slot(host).stalled.is_some();
        let Some(link) = self.net.links.get_mut(at) else { return };
        if stalled {
            link.end_mut(side).held += 1;
            return;
        }
        let Some(packet) = link.end_mut(from).wire.pop_front() else { return };
        if let Packet::Fin { cause } = packet {
            return self.gone(at, side, cause);
        }
        if link.end(side).closed {
            return;
        }
        match (packet, link.end(side).intake) {
            (_, Intake::Drop) | (Packet::Fin { .. }, _) => {}
            (Packet::Bytes { data, cause }, Intake::Node) => {
                self.give(host, Input::Connection(conn, ConnInput::Bytes { data }), cause);
            }
            (Packet::Bytes { mut data, cause }, Intake::Store(store)) => {
                let room = (store.bytes - store.got).min(data.len() as u64);
                let content =
                    StreamContent { sha1: servent_core::id::Sha1([0; 20]), damaged: true };
                let rest = data.split_off(usize::try_from(room).unwrap_or(usize::MAX));
                self.stored(at, side, content, room, cause);
                if !rest.is_empty() {
                    self.give(
                        host,
                        Input::Connection(conn, ConnInput::Bytes { data: rest }),
                        cause,
                    );
                }
            }
            (Packet::Body { content, bytes, cause }, Intake::Store(store)) => {
                let room = (store.bytes - store.got).min(bytes);
                self.stored(at, side, content, room, cause);
                self.surplus(at, side, bytes - room, cause);
            }
            (Packet::Body { bytes, cause, .. }, Intake::Node) => {
                self.surplus(at, side, bytes, cause);
            }
        }
    }

    /// Bytes of a range are safe on disk.
    fn stored(
        &mut self,
        at: LinkRef,
        side: Side,
        content: StreamContent,
        bytes: u64,
        cause: RecordCause,
    ) {
        let Some(end) = self.net.links.get_mut(at).map(|l| l.end_mut(side)) else { return };
        let Intake::Store(store) = &mut end.intake else { return };
        let from = store.start + store.got;
        store.got += bytes;
        let (fetch, got) = (store.fetch, store.got);
        if store.got >= store.bytes {
            end.intake = Intake::Node;
        }
        let (host, conn) = (end.host, end.conn);
        if bytes > 0 {
            self.own_mut(host).disk.stored(fetch, (from, from + bytes), content);
        }
        self.give(host, Input::Connection(conn, ConnInput::Stored { bytes: got }), cause);
    }

    /// Body bytes that the node has not asked to be stored.
    fn surplus(&mut self, at: LinkRef, side: Side, mut bytes: u64, cause: RecordCause) {
        while bytes > 0 {
            let Some(end) = self.net.links.get(at).map(|l| l.end(side)) else { return };
            if end.closed || !matches!(end.intake, Intake::Node) {
                return;
            }
            let (host, conn) = (end.host, end.conn);
            let piece = bytes.min(PIECE);
            bytes -= piece;
            let data = alloc::vec![0; usize::try_from(piece).unwrap_or(0)];
            self.give(host, Input::Connection(conn, ConnInput::Bytes { data }), cause);
        }
    }

    /// Tells an end that the connection is gone; the other end learns it later.
    pub(super) fn gone(&mut self, at: LinkRef, side: Side, cause: RecordCause) {
        self.stop_flow(at, side);
        let Some(link) = self.net.links.get_mut(at) else { return };
        let latency = link.latency;
        let end = link.end_mut(side);
        let was_open = !end.closed;
        end.closed = true;
        end.to_send.clear();
        let known = core::mem::take(&mut end.known);
        let (host, conn) = (end.host, end.conn);
        if was_open && link.end(side.other()).known {
            // It did not close by itself; bytes from the other side are
            // discarded.
            self.plan(self.now() + latency, QueuePlan::Gone { link: at, side: side.other() });
        }
        if known {
            self.own_mut(host).conns.remove(&conn);
            self.give(host, Input::Connection(conn, ConnInput::Closed), cause);
        }
        if let Some(link) = self.net.links.get(at)
            && !link.end(side).known
            && !link.end(side.other()).known
        {
            self.net.links.remove(at);
        }
    }

    pub(super) fn backlog(&mut self, at: LinkRef, side: Side) {
        let Some(end) = self.net.links.get(at).map(|l| l.end(side)) else { return };
        let (host, conn, bytes) = (end.host, end.conn, end.waiting());
        if end.known && !end.closed {
            self.give(host, Input::Connection(conn, ConnInput::Backlog { bytes }), None);
        }
    }

    /// Starts the flow of a range. Some of its first bytes may arrive together
    /// with the head before it, as on real networks.
    pub(super) fn start_flow(
        &mut self,
        at: LinkRef,
        side: Side,
        content: StreamContent,
        bytes: u64,
        cause: RecordCause,
    ) {
        let now = self.now();
        let Some(link) = self.net.links.get_mut(at) else { return };
        let glued = if link.rng.chance(1, 4) { link.rng.between(1, GLUED).min(bytes) } else { 0 };
        let end = link.end_mut(side);
        let mut done = 0;
        if let Some(Packet::Bytes { data, .. }) = end.wire.back_mut() {
            done = glued;
            data.resize(data.len() + usize::try_from(glued).unwrap_or(0), 0);
        }
        end.flows += 1;
        end.sent = Some(content);
        end.flow = Some(RangeFlow::new(content, bytes, done, end.flows, now, cause));
        let (host, to) = (end.host, link.end(side.other()).host);
        self.own_mut(host).sending.push((at, side));
        self.own_mut(to).receiving.push((at, side));
        self.share_out(host, to);
    }

    /// Ends a flow, complete or not.
    pub(super) fn stop_flow(&mut self, at: LinkRef, side: Side) {
        let Some(link) = self.net.links.get_mut(at) else { return };
        if link.end_mut(side).flow.take().is_none() {
            return;
        }
        let (host, to) = (link.end(side).host, link.end(side.other()).host);
        self.own_mut(host).sending.retain(|f| *f != (at, side));
        self.own_mut(to).receiving.retain(|f| *f != (at, side));
        self.share_out(host, to);
    }

    /// Recomputes the rates of all flows that share a link with one from `host`
    /// to `to`.
    pub(super) fn share_out(&mut self, host: u32, to: u32) {
        self.share_uplink(host);
        let others: Vec<u32> = self
            .own(to)
            .receiving
            .iter()
            .filter_map(|(at, side)| self.net.links.get(*at).map(|l| l.end(*side).host))
            .filter(|h| *h != host)
            .collect();
        for other in others {
            self.share_uplink(other);
        }
    }

    pub(super) fn share_uplink(&mut self, host: u32) {
        let h = self.own(host);
        let flows = h.sending.clone();
        let caps: Vec<u64> = flows
            .iter()
            .map(|(at, side)| {
                let Some(link) = self.net.links.get(*at) else { return 0 };
                let to = link.end(side.other()).host;
                let there = self.own(to);
                if self.slot(host).stalled.is_some() || self.slot(to).stalled.is_some() {
                    return 0;
                }
                self.net.plan.profile(to).down / there.receiving.len().max(1) as u64
            })
            .collect();
        let now = self.now();
        let rates = share(self.net.plan.profile(host).up, &caps);
        for ((at, side), rate) in flows.into_iter().zip(rates) {
            let Some(end) = self.net.links.get_mut(at).map(|l| l.end_mut(side)) else { continue };
            let Some(flow) = &mut end.flow else { continue };
            if flow.rate == rate && rate != 0 {
                continue;
            }
            flow.settle(now);
            flow.rate = rate;
            end.flows += 1;
            flow.generation = end.flows;
            if let Some(next) = flow.next_report() {
                let due = QueuePlan::Progress { link: at, from: side, generation: end.flows };
                self.plan(next, due);
            }
        }
    }

    /// A flow has reached its next progress report.
    pub(super) fn progress(&mut self, at: LinkRef, side: Side, generation: u32) {
        let now = self.now();
        let Some(link) = self.net.links.get_mut(at) else { return };
        let end = link.end_mut(side);
        let (host, conn) = (end.host, end.conn);
        let Some(flow) = end.flow.as_mut().filter(|f| f.generation == generation) else { return };
        flow.settle(now);
        let (done, whole, cause) = (flow.done, flow.done == flow.bytes, flow.cause);
        let fresh = done - flow.reported;
        flow.reported = done;
        let next = if whole { None } else { flow.next_report() };
        let body = Packet::Body { content: flow.content, bytes: fresh, cause };
        let arrives = link.send(side, now, 1, body);
        self.plan(arrives, QueuePlan::Deliver { link: at, from: side });
        if let Some(next) = next {
            self.plan(next, QueuePlan::Progress { link: at, from: side, generation });
        }
        if whole {
            self.stop_flow(at, side);
        }
        self.give(host, Input::Connection(conn, ConnInput::Served { bytes: done }), cause);
        self.pump(at, side);
    }
}
