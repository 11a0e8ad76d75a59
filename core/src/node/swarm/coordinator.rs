//! The coordinator and its source: hosts `swarm::manager`. That of a divided site
//! has one for each swarm that it leads; the rest of that is in `division`.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::cx::SwarmCx;
use super::io::{SwarmAnswer, SwarmFile};
use super::partition::{PartitionedSite, name_of};
use super::peers::{AskingStep, Moving, ServingSide, SwarmPeers};
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::ConnId;
use crate::node::Event;
use crate::node::service::{EngineCall, FollowUps, RunsEngine};
use crate::node::{ConnEvent, ConnOutput, FileRef, Output, StoreError};
use crate::rng::Rng;
use crate::swarm::{self, FileNo, FileSpec, Input, LedgerRow, Manager, SwarmRefusal};
use crate::time::Instant;
use crate::wire::http::{HttpMethod, RequestHead};
use crate::wire::pdtp::{PdtpMessage, Span, Text, peer};

/// A file of our source.
#[derive(Debug, Clone)]
pub(super) struct Offered {
    pub(super) file: SwarmFile,
    /// Its number in events.
    pub(super) number: FileNo,
    pub(super) size: u64,
}

/// The coordinator, and its source on the same port.
#[derive(Debug, Clone)]
pub(super) struct Coordinator {
    pub(super) config: swarm::Config,
    pub(super) root: Rng,
    /// The one manager of all files, [`ALL`]; or in a divided site one for each
    /// file whose swarm is ours, by its number.
    pub(super) managers: BTreeMap<FileNo, Manager>,
    follow_ups: FollowUps<ManagerCall>,
    /// The manager whose effects are being carried out.
    speaking: FileNo,
    /// What clients can be given here, whichever member leads the swarm.
    pub(super) files: BTreeMap<Text, Offered>,
    pub(super) sources: BTreeMap<SocketAddr, u32>,
    /// Our place in a divided site.
    pub(super) site: Option<PartitionedSite>,
    /// Our addresses at which clients found us; those we send to our own source
    /// get the same.
    pub(super) found_at: BTreeMap<ConnId, IpAddr>,
    /// Bytes of files sent.
    pub(super) sent: u64,
    /// Requests of peers that the coordinator had not sent here.
    pub(super) refused: u64,
}

/// The number of the manager of all files.
const ALL: FileNo = 0;

/// A call of one of the managers.
#[derive(Debug, Clone)]
pub(super) struct ManagerCall {
    number: FileNo,
    /// `None`: its timers are run.
    input: Option<Input>,
}

impl RunsEngine<SwarmCx<'_>> for Coordinator {
    type Input = ManagerCall;
    type Output = swarm::Output;
    type Event = swarm::Event;

    fn follow_ups(&mut self) -> &mut FollowUps<ManagerCall> {
        &mut self.follow_ups
    }

    fn call(
        &mut self,
        cx: &mut SwarmCx<'_>,
        call: EngineCall<ManagerCall>,
        fx: &mut Fx<swarm::Output, swarm::Event>,
    ) {
        // The timers of all managers are never run at once.
        let EngineCall::Input(ManagerCall { number, input }) = call else { return };
        self.speaking = number;
        match (self.managers.get_mut(&number), input) {
            (Some(manager), Some(input)) => manager.handle(cx.now, input, fx),
            (Some(manager), None) => manager.handle_timeout(cx.now, fx),
            (None, _) => {}
        }
    }

    fn carry_out(&mut self, cx: &mut SwarmCx<'_>, effect: Effect<swarm::Output, swarm::Event>) {
        let number = self.speaking;
        match effect {
            Effect::Event(mut event) => {
                if let (Some(_), Some(file)) = (&self.site, event.file_mut()) {
                    *file = number;
                }
                cx.fx.event(Event::Swarm(event));
            }
            Effect::Output(swarm::Output::Save(row)) => cx.persist(self.saved(number, row)),
            Effect::Output(swarm::Output::Forget(owner)) => {
                cx.persist(self.forgotten(number, owner));
            }
            Effect::Output(swarm::Output::Send { conn, mut message }) => {
                self.name_ourselves(conn, &mut message);
                if self.is_news(&mut message) {
                    cx.say(conn, message);
                }
            }
            Effect::Output(swarm::Output::Close { conn }) => {
                cx.ends.push((conn, "the coordinator hangs up"));
                self.closed(conn, cx);
            }
        }
    }
}

impl Coordinator {
    pub(super) fn new(config: &swarm::Config, root: &Rng) -> Self {
        Self {
            config: config.clone(),
            root: root.clone(),
            managers: BTreeMap::from([(ALL, Manager::new(config.clone(), root))]),
            follow_ups: FollowUps::default(),
            speaking: ALL,
            files: BTreeMap::new(),
            sources: BTreeMap::new(),
            site: None,
            found_at: BTreeMap::new(),
            sent: 0,
            refused: 0,
        }
    }

    pub(super) fn serves(&self, url: &str) -> bool {
        self.files.contains_key(url)
    }

    /// What the store remembers of addresses, before any of them comes.
    pub(super) fn restore(&mut self, ledger: Vec<LedgerRow>, cx: &mut SwarmCx<'_>) {
        for row in ledger {
            self.feed(ALL, Input::Restore(row), cx);
        }
    }

    pub(super) fn serve(&mut self, file: SwarmFile, spec: FileSpec, cx: &mut SwarmCx<'_>) {
        if self.site.is_some() {
            return self.serve_of_site(file, spec, cx);
        }
        let offered = Offered { file, number: self.files.len() as FileNo, size: spec.size };
        self.files.entry(spec.url.clone()).or_insert(offered);
        self.feed(ALL, Input::Serve(spec), cx);
    }

    /// A source of all files, and how many pieces it sends at once.
    pub(super) fn source(&mut self, addr: SocketAddr, slots: u32, cx: &mut SwarmCx<'_>) {
        self.sources.insert(addr, slots);
        for number in self.numbers() {
            self.feed(number, Input::Source { addr, slots }, cx);
        }
    }

    /// A file of the source cannot be read any more: no client gets it, and all
    /// clients are told (SW-29).
    pub(super) fn source_failed(&mut self, file: SwarmFile, why: StoreError, cx: &mut SwarmCx<'_>) {
        let found = self.files.iter().find(|(_, offered)| offered.file == file);
        let Some((url, number)) = found.map(|(url, it)| (url.clone(), it.number)) else { return };
        self.files.remove(&url);
        let name = name_of(&url);
        let how = match why {
            StoreError::Changed => "was changed or is gone",
            StoreError::Denied => "may not be read any more",
            StoreError::Full | StoreError::Linked | StoreError::Failed => "cannot be read any more",
        };
        let why = format!("{name} is not given any more: at its source it {how}");
        let number = if self.site.is_some() { number } else { ALL };
        self.feed(number, Input::Withdraw { url, why: why.clone() }, cx);
        cx.answer(SwarmAnswer::Withdrawn { file, why });
    }

    /// A client connected, and found us at `local`.
    pub(super) fn opened(
        &mut self,
        conn: ConnId,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if let Some(local) = local {
            self.found_at.insert(conn, local.ip().to_canonical());
        }
        let peer = peer.ip().to_canonical();
        if self.site.is_some() {
            return self.guest(conn, peer, peers, cx);
        }
        self.feed(ALL, Input::Opened { conn, peer }, cx);
    }

    /// A client says something.
    pub(super) fn receive(
        &mut self,
        conn: ConnId,
        message: PdtpMessage,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if self.site.is_some() {
            return self.guest_says(conn, message, peers, cx);
        }
        self.feed(ALL, Input::Message { conn, message }, cx);
    }

    pub(super) fn closed(&mut self, conn: ConnId, cx: &mut SwarmCx<'_>) {
        self.found_at.remove(&conn);
        for number in self.numbers_of(conn) {
            self.feed(number, Input::Closed { conn }, cx);
        }
    }

    pub(super) fn unreadable(&mut self, conn: ConnId, why: String, cx: &mut SwarmCx<'_>) {
        if self.site.is_some() {
            return self.show_out(conn, SwarmRefusal::Unreadable, &why, cx);
        }
        self.feed(ALL, Input::Unreadable { conn, why }, cx);
    }

    pub(super) fn timeout(&mut self, cx: &mut SwarmCx<'_>) {
        for number in self.numbers() {
            let Some(manager) = self.managers.get(&number) else { continue };
            if manager.poll_timeout().is_some_and(|(at, _)| at <= cx.now) {
                RunsEngine::feed(self, cx, ManagerCall { number, input: None });
            }
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let all = self.managers.values().filter_map(Manager::poll_timeout);
        all.min_by_key(|(at, _)| *at)
    }

    fn numbers(&self) -> Vec<FileNo> {
        self.managers.keys().copied().collect()
    }

    pub(super) fn feed(&mut self, number: FileNo, input: Input, cx: &mut SwarmCx<'_>) {
        RunsEngine::feed(self, cx, ManagerCall { number, input: Some(input) });
    }

    /// Puts the address at which the client found us in place of our own
    /// source's.
    fn name_ourselves(&self, conn: ConnId, message: &mut PdtpMessage) {
        if let PdtpMessage::Transfer(transfer) = message
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
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> CoordinatorVerdict {
        if head.method != HttpMethod::Get {
            return CoordinatorVerdict::Status(405);
        }
        let Some(&Offered { file, number, size }) = self.files.get(url) else {
            return CoordinatorVerdict::Status(404);
        };
        let span = peer::span_of(head);
        let (start, end) = (span.start, span.end.unwrap_or(size));
        if start >= end || end > size {
            return CoordinatorVerdict::Status(416);
        }
        let id = head.headers.get(peer::PEER_ID).unwrap_or_default();
        let number = if self.site.is_some() { number } else { ALL };
        let manager = self.managers.get(&number);
        if !manager.is_some_and(|it| it.source_may_serve(id, url, Span::new(start, end))) {
            self.refused += 1;
            return CoordinatorVerdict::Status(403);
        }
        let moving = Moving { job: None, file, start, end, done: 0, since: cx.now };
        send(conn, moving, size, peers, cx);
        CoordinatorVerdict::Sending
    }
}

/// The answer to a request.
pub(super) enum CoordinatorVerdict {
    /// This status, without a body.
    Status(u16),
    /// A body is being sent.
    Sending,
}

/// Answers a `GET` with a range of a file.
pub(super) fn send(
    conn: ConnId,
    moving: Moving,
    size: u64,
    peers: &mut SwarmPeers,
    cx: &mut SwarmCx<'_>,
) {
    let Some(ServingSide { step, keep }) = peers.asking(conn) else { return };
    let Moving { file, start, end, .. } = moving;
    *step = AskingStep::Sending(moving);
    let head = peer::part((start, end), size, *keep);
    peers.wake(conn, cx.after(cx.limits.stall));
    cx.tell(ConnEvent::Reply { conn, status: 206, start, end });
    cx.write(conn, head);
    cx.fx.output(Output::Connection(
        conn,
        ConnOutput::Serve { file: FileRef::Swarm(file), start, end },
    ));
}
