//! Carrying out the outputs of nodes.

use alloc::format;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::contents::{PartContents, SHA1_OF_NOTHING};
use super::world::{Guest, Queue, QueuePlan};
use crate::links::stream::StreamContent;
use crate::links::stream::{Intake, LinkEnd, LinkRef, Packet, Side, Store, StreamLink};
use crate::world::World;
use servent_core::engine::Effect;
use servent_core::id::{ConnId, FetchId};
use servent_core::node::{
    ConnOutput, DialError, DownloadSource, FetchCommand, FetchInput, FetchOutput, FileRef, Input,
    MessageOutput, NodeAnswer, NodeCommand, Output,
};
use servent_core::time::Duration;
use servent_core::trace::{Event, NodeId, RecordCause, RecordSubject, subjects};

/// How long a connection attempt waits for an answer.
const DIAL_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes per second at which a finished download is hashed.
const HASH_RATE: u64 = 200_000_000;
/// Unsent bytes above which the node is told about them.
const BACKLOG: u64 = 16 * 1024;
/// Longer lists of effects are not searched for causes within themselves.
const CAUSES_WITHIN: usize = 64;

/// True for what the other end of a connection notices.
const fn is_said(wanted: &ConnOutput) -> bool {
    matches!(wanted, ConnOutput::Write { .. } | ConnOutput::Serve { .. } | ConnOutput::Close { .. })
}

/// The connections that the events in a list are about, with the numbers their
/// records will get: a request counts as sent after it was passed to the
/// connection, wherever in the list that event is.
fn causes_within(list: &[Effect<Output, Event>], next: u64, about: &mut Vec<(ConnId, u64)>) {
    let ties = |effect: &Effect<Output, Event>| matches!(effect, Effect::Output(Output::Connection(_, wanted)) if is_said(wanted));
    if list.len() > CAUSES_WITHIN || !list.iter().any(ties) {
        return;
    }
    let events = list.iter().filter_map(|effect| match effect {
        Effect::Event(event) => Some(event),
        Effect::Output(_) => None,
    });
    about.extend(events.zip(next..).filter_map(|(event, seq)| match subjects(event)[1] {
        Some(RecordSubject::Conn(conn)) => Some((conn, seq)),
        _ => None,
    }));
}

/// The source that a `Location` of these worlds names.
fn leads_to(location: &str) -> Option<DownloadSource> {
    let (host, path) = location.strip_prefix("//")?.split_once('/')?;
    Some(DownloadSource { at: host.parse().ok()?, target: format!("/{path}"), host: host.into() })
}

impl<N: Guest> World<Queue<N>> {
    /// Carries out one list of effects, in order. Changes of durable state are
    /// safe before anything after them is done: write-ahead.
    pub(super) fn carry(&mut self, host: u32, cause: RecordCause) {
        if self.fx.is_empty() {
            return;
        }
        let mut fx = core::mem::take(&mut self.fx);
        let mut about = core::mem::take(&mut self.net.about);
        let (mut first, mut last) = (None, cause);
        let (mut unsafe_yet, mut promises) = (false, false);
        let member = self.net.is_member(host);
        causes_within(fx.as_slice(), self.next_record(), &mut about);
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => {
                    let next = self.next_record();
                    let causes = &mut self.own_mut(host).causes;
                    let why = first.or(cause).or_else(|| causes.find_cause(&event));
                    causes.note(next, &event);
                    let seq = self.note(host, why, event);
                    first = first.or(Some(seq));
                    last = Some(seq);
                }
                Effect::Output(Output::Persist(op)) if member => {
                    self.member_changes(host, op);
                    promises = true;
                }
                Effect::Output(Output::Persist(op)) => {
                    let now = self.now();
                    self.own_mut(host).disk.write(now, op);
                    unsafe_yet = true;
                }
                Effect::Output(output) => {
                    if core::mem::take(&mut unsafe_yet) {
                        self.own_mut(host).disk.flush();
                    }
                    let within = match &output {
                        Output::Connection(conn, wanted) if is_said(wanted) => {
                            about.iter().rev().find(|(of, _)| of == conn).map(|(_, seq)| *seq)
                        }
                        _ => None,
                    };
                    let why = within.or(last);
                    if member {
                        self.member_says(host, output, promises, why);
                    } else {
                        self.output(host, output, why);
                    }
                }
            }
        }
        about.clear();
        self.fx = fx;
        self.net.about = about;
        if member {
            self.member_turned(host);
        }
    }

    pub(super) fn output(&mut self, host: u32, output: Output, cause: RecordCause) {
        match output {
            Output::Connection(conn, wanted) => self.serve_conn(host, conn, wanted, cause),
            Output::Fetch(FetchOutput::Verify { fetch }) => {
                let size = self.size_of(host, fetch).unwrap_or_default();
                let took = Duration::from_micros(size.saturating_mul(1_000_000) / HASH_RATE);
                let start = self.slot(host).starts;
                self.plan(self.now() + took, QueuePlan::Hashed { host, fetch, start });
            }
            Output::Fetch(FetchOutput::Hash { fetch, start, end }) => {
                let contents = self.own(host).disk.contents(fetch).cloned().unwrap_or_default();
                let tth = Some(contents.tth((start, end)));
                self.give(host, Input::Fetch(FetchInput::Hashed { fetch, start, tth }), None);
            }
            Output::Fetch(FetchOutput::Allocate { fetch, size: Some(size), .. }) => {
                self.own_mut(host).disk.allocated(fetch, size);
            }
            Output::Fetch(FetchOutput::Allocate { .. } | FetchOutput::Complete { .. }) => {}
            Output::Messages(wanted) => self.carry_messages(host, wanted, cause),
            Output::Answer(answer) => self.answered(host, answer),
            // What is to be saved is on the disk already; nodes of this world
            // are in no swarm.
            Output::Persist(_) | Output::Swarm(_) => {}
        }
    }

    fn serve_conn(&mut self, host: u32, conn: ConnId, wanted: ConnOutput, cause: RecordCause) {
        match wanted {
            ConnOutput::Dial { to } => self.dial(host, conn, to),
            ConnOutput::Write { data } => self.send(host, conn, Packet::Bytes { data, cause }),
            ConnOutput::Serve { file, start, end } => {
                if let Some(content) = self.content(host, file, start) {
                    let bytes = end.saturating_sub(start);
                    self.send(host, conn, Packet::Body { content, bytes, cause });
                }
            }
            ConnOutput::Close { flush } => self.close(host, conn, flush, cause),
            ConnOutput::Store { file: FileRef::Fetch(fetch), start, end, early } => {
                self.store(host, conn, fetch, (start, end), early.len() as u64);
            }
            // Nodes of this world require no password, have no inbox, and know
            // the length of their files.
            ConnOutput::Store { .. }
            | ConnOutput::StoreBody { .. }
            | ConnOutput::Authenticate { .. }
            | ConnOutput::Incoming { .. }
            | ConnOutput::Commit { .. } => {}
        }
    }

    fn carry_messages(&mut self, host: u32, wanted: MessageOutput, cause: RecordCause) {
        match wanted {
            MessageOutput::Datagrams { to, segment, data } => {
                self.fly(host, to, (segment, data), cause);
            }
            MessageOutput::Deliver { from, messages, .. } => self.read(host, from, messages),
            MessageOutput::Refused { to, messages, why } => self.refused(host, to, (messages, why)),
            MessageOutput::Writable { to } => self.write_again(host, to),
        }
    }

    fn answered(&mut self, host: u32, answer: NodeAnswer) {
        if let NodeAnswer::Moved { fetch, from, to } = &answer {
            let (fetch, from, to) = (*fetch, from.clone(), leads_to(to));
            return self.give(
                host,
                Input::Command(NodeCommand::Fetch(FetchCommand::Moved { fetch, from, to })),
                None,
            );
        }
        let h = self.own_mut(host);
        match &answer {
            NodeAnswer::Fetching { fetch } if !h.fetches.contains(fetch) => h.fetches.push(*fetch),
            NodeAnswer::Fetched { .. } => h.finished += 1,
            NodeAnswer::Failed { .. } => h.failed += 1,
            _ => {}
        }
        h.answers.push(answer);
    }

    /// The content a node would send for a file from `start` on.
    fn content(&self, host: u32, file: FileRef, start: u64) -> Option<StreamContent> {
        match file {
            FileRef::Shared(index) => {
                let file = self.net.plan.files.get(index.0 as usize)?;
                let sha1 = self.own(host).edition.of_file(file).sha1?;
                Some(StreamContent { sha1, damaged: self.net.plan.profile(host).corrupt })
            }
            FileRef::Fetch(fetch) => self.own(host).disk.contents(fetch)?.at(start),
            FileRef::Swarm(_) => None,
        }
    }

    /// The size of a download's content.
    fn size_of(&self, host: u32, fetch: FetchId) -> Option<u64> {
        let contents = self.own(host).disk.contents(fetch)?;
        let sha1 = contents.at(0).map(|content| content.sha1);
        let known = self.net.plan.files.iter().find(|f| f.sha1 == sha1);
        Some(known.map_or_else(|| contents.end(), |f| f.size))
    }

    pub(super) fn hashed(&mut self, host: u32, fetch: FetchId, start: u32) {
        if self.slot(host).starts != start {
            return;
        }
        let disk = &mut self.own_mut(host).disk;
        let sha1 = disk.contents(fetch).map_or(SHA1_OF_NOTHING, PartContents::found);
        if disk.contents(fetch).is_some_and(PartContents::is_damaged) {
            disk.erase(fetch); // It will be downloaded again.
        }
        self.give(host, Input::Fetch(FetchInput::Verified { fetch, sha1: Some(sha1) }), None);
    }

    fn dial(&mut self, host: u32, conn: ConnId, to: SocketAddr) {
        let start = self.slot(host).starts;
        let plan = &self.net.plan;
        let fail = |why| QueuePlan::DialFailed { host, conn, why, start };
        let target = plan.addresses.get(&to.ip().to_canonical()).copied();
        let Some(target) = target.map(|host| self.net.member_for(host).unwrap_or(host)) else {
            let due = fail(DialError::Unreachable);
            return self.plan(self.now() + plan.profile(host).latency, due);
        };
        let latency = plan.profile(host).latency + plan.profile(target).latency;
        let from = plan.profile(host).at.ip();
        let there = self.own(target);
        if there.firewalled {
            return self.plan(self.now() + DIAL_TIMEOUT, fail(DialError::TimedOut));
        }
        if !self.is_up(NodeId(target)) || to.port() != super::host::PORT {
            let due = fail(DialError::Refused);
            return self.plan(self.now() + latency + latency, due);
        }
        let dice = plan.dice.fork("link", self.net.links.made());
        let h = self.own_mut(host);
        h.dialed = h.dialed.wrapping_add(1);
        let port = 20_000 + h.dialed % 40_000;
        let here = LinkEnd::new(host, conn, SocketAddr::new(from, port));
        let there = LinkEnd::new(target, ConnId(0), to);
        let link = self.net.links.insert(StreamLink::new([here, there], latency, dice));
        self.own_mut(host).conns.insert(conn, (link, Side::Dialer));
        self.plan(self.now() + latency, QueuePlan::Knock { link });
    }

    fn place_of(&self, host: u32, conn: ConnId) -> Option<(LinkRef, Side)> {
        self.own(host).conns.get(&conn).copied()
    }

    fn send(&mut self, host: u32, conn: ConnId, item: Packet) {
        let Some((at, side)) = self.place_of(host, conn) else { return };
        let Some(link) = self.net.links.get_mut(at) else { return };
        let (open, end) = (link.open, link.end_mut(side));
        if end.closed {
            return;
        }
        if open && end.flow.is_none() && end.to_send.is_empty() {
            return self.transmit(at, side, item);
        }
        end.to_send.push_back(item);
        self.pump(at, side);
        if self.net.links.get(at).is_some_and(|l| l.end(side).waiting() > BACKLOG) {
            self.plan(self.now(), QueuePlan::Backlog { link: at, side });
        }
    }

    fn close(&mut self, host: u32, conn: ConnId, flush: bool, cause: RecordCause) {
        let Some((at, side)) = self.place_of(host, conn) else { return };
        let Some(link) = self.net.links.get_mut(at) else { return };
        let end = link.end_mut(side);
        if !end.closed {
            end.intake = Intake::Drop;
            // A connection attempt that is given up ends like a connection.
            end.known = true;
            if !link.open {
                link.end_mut(side).closed = true;
                return self.plan(self.now(), QueuePlan::Gone { link: at, side });
            }
            if !flush {
                link.end_mut(side).to_send.clear();
                self.stop_flow(at, side);
            }
            if let Some(link) = self.net.links.get_mut(at) {
                link.end_mut(side).to_send.push_back(Packet::Fin { cause });
            }
            self.pump(at, side);
        }
    }

    fn store(
        &mut self,
        host: u32,
        conn: ConnId,
        fetch: FetchId,
        (start, end): (u64, u64),
        early: u64,
    ) {
        let bytes = end.saturating_sub(start);
        let Some((link, side)) = self.place_of(host, conn) else { return };
        let Some(l) = self.net.links.get_mut(link) else { return };
        let got = early.min(bytes);
        l.end_mut(side).intake = Intake::Store(Store { fetch, start, bytes, got });
        if let (Some(content), true) = (l.end(side.other()).sent, got > 0) {
            // Safe a moment later, like everything that is received afterwards.
            self.own_mut(host).disk.stored(fetch, (start, start + got), content);
            self.plan(self.now(), QueuePlan::Deliver { link, from: side.other() });
            if let Some(l) = self.net.links.get_mut(link) {
                let from = l.end_mut(side.other());
                from.wire.push_front(Packet::Body { content, bytes: 0, cause: None });
            }
        }
    }

    /// Sends what can be sent from one end, in order.
    pub(super) fn pump(&mut self, at: LinkRef, side: Side) {
        loop {
            let Some(link) = self.net.links.get_mut(at) else { return };
            if !link.open || link.end(side).flow.is_some() {
                return;
            }
            let Some(item) = link.end_mut(side).to_send.pop_front() else { return };
            let last = matches!(item, Packet::Fin { .. });
            self.transmit(at, side, item);
            if last {
                return;
            }
        }
    }

    /// Puts the next item of one end on the wire.
    fn transmit(&mut self, at: LinkRef, side: Side, item: Packet) {
        let now = self.now();
        let Some(link) = self.net.links.get_mut(at) else { return };
        let up = self.net.plan.profile(link.end(side).host).up;
        let due = QueuePlan::Deliver { link: at, from: side };
        match item {
            Packet::Bytes { data, cause } => {
                let (first, rest) = link.chunks(data);
                let arrives = link.send(side, now, up, Packet::Bytes { data: first, cause });
                let later =
                    rest.map(|data| link.send(side, now, up, Packet::Bytes { data, cause }));
                self.plan(arrives, due);
                if let Some(later) = later {
                    self.plan(later, due);
                }
            }
            Packet::Body { content, bytes, cause } => {
                self.start_flow(at, side, content, bytes, cause);
            }
            Packet::Fin { cause } => {
                let arrives = link.send(side, now, up, Packet::Fin { cause });
                link.end_mut(side).closed = true;
                self.plan(arrives, due);
                self.plan(now, QueuePlan::Gone { link: at, side });
            }
        }
    }
}
