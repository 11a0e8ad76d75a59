//! The coordinator and its source: hosts `swarm::manager`.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::net::{IpAddr, SocketAddr};

use super::cx::Cx;
use super::io::{Answer, Op, SwarmFile};
use super::peers::{Asking, AskingStep, Moving, Peers};
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::id::ConnId;
use crate::node::Event;
use crate::node::{ConnEvent, FileRef, Output, StoreError};
use crate::rng::Rng;
use crate::swarm::{self, FileSpec, Input, Manager};
use crate::wire::http::{Method, RequestHead};
use crate::wire::pdtp::{Message, Span, Text, peer};

/// A file of our source.
#[derive(Debug, Clone, Copy)]
struct Offered {
    file: SwarmFile,
    size: u64,
}

/// The coordinator, and its source on the same port.
#[derive(Debug, Clone)]
pub(super) struct Coordinator {
    pub(super) manager: Manager,
    files: BTreeMap<Text, Offered>,
    /// Our addresses at which clients found us; those we send to our own source
    /// get the same.
    found_at: BTreeMap<ConnId, IpAddr>,
    /// Bytes of files sent.
    pub(super) sent: u64,
    /// Requests of peers that the coordinator had not sent here.
    pub(super) refused: u64,
}

impl Coordinator {
    pub(super) fn new(config: &swarm::Config, root: &Rng) -> Self {
        Self {
            manager: Manager::new(config.clone(), root),
            files: BTreeMap::new(),
            found_at: BTreeMap::new(),
            sent: 0,
            refused: 0,
        }
    }

    pub(super) fn serves(&self, url: &str) -> bool {
        self.files.contains_key(url)
    }

    pub(super) fn serve(&mut self, file: SwarmFile, spec: FileSpec, cx: &mut Cx<'_>) {
        let offered = Offered { file, size: spec.size };
        self.files.entry(spec.url.clone()).or_insert(offered);
        self.feed(Input::Serve(spec), cx);
    }

    /// A file of the source cannot be read any more: nobody gets it, and all
    /// clients are told (SW-29).
    pub(super) fn source_failed(&mut self, file: SwarmFile, why: StoreError, cx: &mut Cx<'_>) {
        let found = self.files.iter().find(|(_, offered)| offered.file == file);
        let Some(url) = found.map(|(url, _)| url.clone()) else { return };
        self.files.remove(&url);
        let name = url.rsplit('/').next().unwrap_or_default();
        let how = match why {
            StoreError::Changed => "was changed or is gone",
            StoreError::Denied => "may not be read any more",
            StoreError::Full | StoreError::Failed => "cannot be read any more",
        };
        let why = format!("{name} is not given any more: at its source it {how}");
        self.feed(Input::Withdraw { url, why: why.clone() }, cx);
        cx.answer(Answer::Withdrawn { file, why });
    }

    /// A client connected, and found us at `local`.
    pub(super) fn opened(
        &mut self,
        conn: ConnId,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        cx: &mut Cx<'_>,
    ) {
        if let Some(local) = local {
            self.found_at.insert(conn, local.ip().to_canonical());
        }
        self.feed(Input::Opened { conn, peer: peer.ip().to_canonical() }, cx);
    }

    pub(super) fn closed(&mut self, conn: ConnId, cx: &mut Cx<'_>) {
        self.found_at.remove(&conn);
        self.feed(Input::Closed { conn }, cx);
    }

    pub(super) fn unreadable(&mut self, conn: ConnId, why: String, cx: &mut Cx<'_>) {
        self.feed(Input::Unreadable { conn, why }, cx);
    }

    pub(super) fn timeout(&mut self, cx: &mut Cx<'_>) {
        if self.manager.poll_timeout().is_some_and(|(at, _)| at <= cx.now) {
            let mut said = Fx::new();
            self.manager.handle_timeout(cx.now, &mut said);
            self.carry_out(said, cx);
        }
    }

    pub(super) fn feed(&mut self, input: Input, cx: &mut Cx<'_>) {
        let mut said = Fx::new();
        self.manager.handle(cx.now, input, &mut said);
        self.carry_out(said, cx);
    }

    fn carry_out(&mut self, mut said: FxOf<Manager>, cx: &mut Cx<'_>) {
        for effect in said.drain() {
            match effect {
                Effect::Event(event) => cx.fx.event(Event::Swarm(event)),
                Effect::Output(swarm::Output::Save(row)) => cx.persist(Op::Ledger(row)),
                Effect::Output(swarm::Output::Forget(owner)) => {
                    cx.persist(Op::LedgerGone(owner));
                }
                Effect::Output(swarm::Output::Send { conn, mut message }) => {
                    self.name_ourselves(conn, &mut message);
                    cx.say(conn, message);
                }
                Effect::Output(swarm::Output::Close { conn }) => {
                    self.found_at.remove(&conn);
                    cx.ends.push((conn, "the coordinator hangs up"));
                }
            }
        }
    }

    /// Puts the address at which the client found us in place of our own
    /// source's.
    fn name_ourselves(&self, conn: ConnId, message: &mut Message) {
        if let Message::Transfer(transfer) = message
            && transfer.about.peer_id.is_empty()
            && transfer.about.peer.is_unspecified()
            && let Some(local) = self.found_at.get(&conn)
        {
            transfer.about.peer = *local;
        }
    }

    /// A peer requests a piece from the source: it gets it if the coordinator
    /// sent it here for that piece.
    pub(super) fn asked(
        &mut self,
        conn: ConnId,
        (head, url): (&RequestHead, &Text),
        peers: &mut Peers,
        cx: &mut Cx<'_>,
    ) -> Verdict {
        if head.method != Method::Get {
            return Verdict::Status(405);
        }
        let Some(&Offered { file, size }) = self.files.get(url) else {
            return Verdict::Status(404);
        };
        let span = peer::span_of(head);
        let (start, end) = (span.start, span.end.unwrap_or(size));
        if start >= end || end > size {
            return Verdict::Status(416);
        }
        let id = head.headers.get(peer::PEER_ID).unwrap_or_default();
        if !self.manager.source_may_serve(id, url, Span::new(start, end)) {
            self.refused += 1;
            return Verdict::Status(403);
        }
        let moving = Moving { job: None, file, start, end, done: 0, since: cx.now };
        send(conn, moving, size, peers, cx);
        Verdict::Sending
    }
}

/// The answer to a request.
pub(super) enum Verdict {
    /// This status, without a body.
    Status(u16),
    /// A body is being sent.
    Sending,
}

/// Answers a `GET` with a range of a file.
pub(super) fn send(conn: ConnId, moving: Moving, size: u64, peers: &mut Peers, cx: &mut Cx<'_>) {
    let Some(Asking { step, keep }) = peers.asking(conn) else { return };
    let Moving { file, start, end, .. } = moving;
    *step = AskingStep::Sending(moving);
    let head = peer::part((start, end), size, *keep);
    peers.wake(conn, cx.after(cx.limits.stall));
    cx.tell(ConnEvent::Reply { conn, status: 206, start, end });
    cx.write(conn, head);
    cx.fx.output(Output::Serve { conn, file: FileRef::Swarm(file), start, end });
}
