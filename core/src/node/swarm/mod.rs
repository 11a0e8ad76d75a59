//! A node's part in swarms: the coordinator of files with its source, and the
//! client of another coordinator. The decisions are made in `crate::swarm`;
//! here messages become frames, requests to peers become heads, and pieces go
//! straight from the host's sockets to its disk.
//!
//! | file | what it holds |
//! |---|---|
//! | `io`, `config`, `view` | the boundary: plain data |
//! | `peers` | connections: what each is used for, and its deadline |
//! | `coordinator`, `member` | the two parts |
//! | `partition` | a coordinator that leads some swarms of a divided site |
//! | `line`, `jobs` | the client's connection to its coordinator, its transfers |
//! | `cx` | the context of a call |

mod config;
mod coordinator;
mod cx;
mod io;
mod jobs;
mod line;
mod member;
mod partition;
mod peers;
mod view;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::net::SocketAddr;

pub use self::config::{Config, SwarmLimits};
use self::coordinator::{Coordinator, CoordinatorVerdict};
use self::cx::SwarmCx;
pub use self::io::{
    Input, Output, PartialFile, PartitionedAccount, RestoredSwarm, SwarmAnswer, SwarmCommand,
    SwarmFile, SwarmOp, swarm_key,
};
use self::jobs::{reply, rest};
use self::member::SwarmMember;
use self::peers::{
    AskedStep, AskingStep, Moving, PeerLink, RequestSide, Role, ServingSide, SwarmPeers,
};
use super::connections::Owner;
use super::event::request_received;
use super::service::Service;
use super::{ConnEvent, ConnInput, NodeLimit, StoreError, cx as node};
use crate::engine::{Engine as _, earlier};
use crate::id::ConnId;
use crate::lease::Partition as SitePart;
use crate::lease::membership::Leader;
use crate::rng::Rng;
use crate::swarm::client;
use crate::time::Instant;
use crate::wire::http::{HeadLimits, HttpMethod, RequestHead};
use crate::wire::pdtp::{self, Text, TransferMethod as PeerMethod, parse, peer, url_from};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::view::{CoordinatorHalf, MemberView, SwarmFileView, SwarmView};

/// A node's part in swarms.
#[derive(Debug, Clone)]
pub(super) struct Swarm {
    limits: SwarmLimits,
    coordinator: Option<Coordinator>,
    member: Option<SwarmMember>,
    peers: SwarmPeers,
    /// What the store remembered and no command has asked for yet.
    parts: BTreeMap<SwarmFile, PartialFile>,
}

impl Swarm {
    pub(super) fn new(config: &Config, root: &Rng) -> Self {
        Self {
            limits: config.limits,
            coordinator: config.coordinator.as_ref().map(|config| Coordinator::new(config, root)),
            member: config.client.as_ref().map(|config| SwarmMember::new(config, root)),
            peers: SwarmPeers::default(),
            parts: BTreeMap::new(),
        }
    }

    /// True when a connection may begin with a PDTP frame.
    pub(super) const fn takes_frames(&self) -> bool {
        self.coordinator.is_some()
    }

    /// True when the request that a connection begins with comes from a swarm
    /// peer.
    pub(super) fn claims(&self, head: &RequestHead) -> bool {
        let of_a_peer = head.headers.get(peer::PEER_ID).is_some()
            || matches!(&head.method, HttpMethod::Other(method) if method == "PUT");
        let on = self.coordinator.is_some() || self.member.is_some();
        on && (of_a_peer || self.knows(&url_from(&head.target)))
    }

    fn knows(&self, url: &str) -> bool {
        self.coordinator.as_ref().is_some_and(|half| half.serves(url))
            || self.member.as_ref().is_some_and(|half| half.has(url))
    }

    /// Completes what the call left to do, then writes the messages it
    /// produced.
    fn settle(&mut self, cx: &mut SwarmCx<'_>) {
        while let Some(conn) = cx.again.pop() {
            self.read_request(conn, cx);
        }
        cx.finish(&mut self.peers);
    }

    /// The context of a call.
    fn enter<'a>(&self, node: &'a mut node::NodeCx<'_>) -> SwarmCx<'a> {
        SwarmCx::new(node.now, node.io, self.limits, node.fx)
    }

    /// Our listening address, for peers.
    pub(super) fn listening(&mut self, node: &mut node::NodeCx<'_>) {
        let port = node.us.listen.map(|at| at.port());
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.member {
            half.feed(client::Input::Listen { port }, &mut self.peers, cx);
        }
        self.settle(cx);
    }

    /// Handles an answer of the host.
    pub(super) fn input(&mut self, node: &mut node::NodeCx<'_>, input: Input) {
        let cx = &mut self.enter(node);
        if let Input::Accounts { accounts } = input {
            if let Some(half) = &mut self.coordinator {
                half.remember(accounts, cx);
            }
            return;
        }
        let Some(half) = &mut self.member else { return };
        let peers = &mut self.peers;
        match input {
            Input::Accounts { .. } => {}
            Input::Hashed { ask, sha256 } => half.hashed(ask, Ok(sha256), peers, cx),
            Input::HashFailed { ask, why } => half.hashed(ask, Err(why), peers, cx),
            Input::Completed { file } => half.completed(file, Ok(()), cx),
            Input::CompleteFailed { file, why } => half.completed(file, Err(why), cx),
        }
        self.settle(cx);
    }

    /// Who answers for each part of our site, from now on.
    pub(super) fn divided(&mut self, node: &mut node::NodeCx<'_>, leaders: &[Leader]) {
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.coordinator {
            half.divided(leaders, &mut self.peers, cx);
        }
        self.settle(cx);
    }

    /// These parts of the site are ours from now on.
    pub(super) fn leads(&mut self, node: &mut node::NodeCx<'_>, parts: &BTreeSet<SitePart>) {
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.coordinator {
            half.leads(parts, cx);
        }
        self.settle(cx);
    }

    /// Takes over a connection; returns the addresses of both its ends.
    fn adopt(
        node: &mut node::NodeCx<'_>,
        conn: ConnId,
    ) -> Option<(SocketAddr, Option<SocketAddr>)> {
        node.io.rest(conn);
        let state = node.io.pass_to(conn, Owner::Swarm)?;
        Some((state.peer, state.local))
    }

    /// A connection began with a frame: it is a client of the coordinator.
    pub(super) fn opened(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId) {
        let Some(ends) = Self::adopt(node, conn) else { return };
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.coordinator {
            self.peers.insert(conn, Role::Client(PeerLink::default()));
            half.opened(conn, ends, &mut self.peers, cx);
        }
        self.settle(cx);
        self.read(node, conn);
    }

    /// A connection began with a request: takes it over if it comes from a
    /// swarm peer.
    pub(super) fn asked(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId) -> bool {
        let Some(state) = node.io.open(conn) else { return false };
        let head = RequestHead::parse(&state.unread, &head_limits(&self.limits));
        let Ok(Some((head, used))) = head else { return false };
        if !self.claims(&head) {
            return false;
        }
        state.drop_read(used);
        let Some((peer, _)) = Self::adopt(node, conn) else { return false };
        let cx = &mut self.enter(node);
        cx.tell(request_received(conn, &head));
        self.peers.insert(conn, Role::Asking(ServingSide { step: AskingStep::Head, keep: true }));
        self.request(conn, peer, &head, cx);
        self.settle(cx);
        self.read(node, conn);
        true
    }

    /// Parses messages from the received bytes, and passes them to the
    /// coordinator or to the client.
    fn frames(&mut self, conn: ConnId, data: &[u8], cx: &mut SwarmCx<'_>) {
        let Some(link) = self.peers.link(conn) else { return };
        let limits = pdtp::PdtpLimits::default();
        let (mut heard, mut wrong) = (Vec::new(), None);
        let taken = link.reader.take(data, |frame| match parse(frame, &limits) {
            Ok(messages) if wrong.is_none() => heard.extend(messages),
            Ok(_) => {}
            Err(why) => wrong = wrong.take().or_else(|| Some(why.to_string())),
        });
        let wrong = wrong.or_else(|| taken.err().map(|why| why.to_string()));
        let is_client = matches!(self.peers.role(conn), Some(Role::Client(_)));
        for message in heard {
            match (&mut self.coordinator, &mut self.member) {
                (Some(half), _) if is_client => {
                    half.receive(conn, message, &mut self.peers, cx);
                }
                (_, Some(half)) => half.receive(conn, message, &mut self.peers, cx),
                _ => {}
            }
        }
        match (wrong, &mut self.coordinator) {
            (None, _) => {}
            (Some(why), Some(half)) if is_client => half.unreadable(conn, why, cx),
            (Some(_), _) => {
                cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::Garbage });
                self.give_up(conn, "the coordinator cannot be understood", cx);
            }
        }
    }

    /// Reads the next request of a peer.
    fn read_request(&mut self, conn: ConnId, cx: &mut SwarmCx<'_>) {
        if !matches!(self.peers.asking(conn), Some(ServingSide { step: AskingStep::Head, .. })) {
            return;
        }
        let bytes = self.peers.unread(conn);
        if bytes.is_empty() {
            return;
        }
        match RequestHead::parse(&bytes, &cx.head_limits()) {
            Ok(None) => {
                self.peers.put_back(conn, bytes, 0);
                self.peers.wake(conn, cx.after(cx.limits.stall));
            }
            Ok(Some((head, used))) => {
                self.peers.put_back(conn, bytes, used);
                let Some(peer) = cx.io.get(conn).map(|state| state.peer) else { return };
                cx.tell(request_received(conn, &head));
                self.request(conn, peer, &head, cx);
            }
            Err(_) => self.give_up(conn, "not a request we can read", cx),
        }
    }

    /// Answers a request, or has the client verify it first.
    fn request(
        &mut self,
        conn: ConnId,
        from: SocketAddr,
        head: &RequestHead,
        cx: &mut SwarmCx<'_>,
    ) {
        let Some(asking) = self.peers.asking(conn) else { return };
        asking.keep = head.keep_alive();
        let waits = head.headers.get("Expect").is_some();
        let method = match &head.method {
            HttpMethod::Get => Some(PeerMethod::Get),
            HttpMethod::Other(other) if other == "PUT" => Some(PeerMethod::Put),
            _ => None,
        };
        let put = (method == Some(PeerMethod::Put)).then(|| (peer::length_of(head), waits));
        let url: Text = url_from(&head.target);
        let source = self.coordinator.as_mut().filter(|half| half.serves(&url));
        let status = match (method, source, &mut self.member) {
            (Some(_), Some(half), _) => match half.asked(conn, (head, &url), &mut self.peers, cx) {
                CoordinatorVerdict::Sending => return,
                CoordinatorVerdict::Status(status) => status,
            },
            (Some(method), None, Some(half)) if half.has(&url) => {
                asking.step = AskingStep::Verify { put };
                self.peers.rest(conn);
                let peer_id: Text = head.headers.get(peer::PEER_ID).unwrap_or_default().into();
                half.met(&peer_id, self.limits.counted as usize);
                let request = client::PeerRequest {
                    conn,
                    peer: from.ip().to_canonical(),
                    peer_id,
                    method,
                    url,
                    span: peer::span_of(head),
                };
                return half.feed(client::Input::Incoming(request), &mut self.peers, cx);
            }
            (Some(_), None, _) => 404,
            (None, _, _) => 405,
        };
        if let Some(asking) = self.peers.asking(conn) {
            // When the request may have a body, the connection must end after
            // the reply.
            asking.keep &= status != 405 && put.is_none_or(|(_, waits)| waits);
        }
        reply(conn, status, &mut self.peers, cx);
    }

    /// A dial succeeded.
    fn dialed(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId) {
        let Some((at, _)) = Self::adopt(node, conn) else { return };
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.member {
            match self.peers.role(conn) {
                Some(Role::Coordinator(_)) => half.linked(conn, at, &mut self.peers, cx),
                Some(Role::Asked(_)) => half.jobs.dialed(conn, &mut self.peers, cx),
                _ => {}
            }
        }
        self.settle(cx);
    }

    /// A connection was lost, or a dial failed.
    fn left(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId) {
        let cx = &mut self.enter(node);
        if let Some(role) = self.peers.remove(conn) {
            let dialing =
                matches!(&role, Role::Asked(RequestSide { step: AskedStep::Dialing { .. }, .. }));
            match (&role, &mut self.member) {
                (Role::Asked(_), Some(half)) if !dialing => {
                    let ended = half.jobs.hung_up(&role, &mut self.peers, cx);
                    half.ended(ended, &mut self.peers, cx);
                }
                _ => self.lost(conn, &role, cx),
            }
        }
        self.settle(cx);
    }

    /// Closes a connection that is not needed any more.
    fn give_up(&mut self, conn: ConnId, why: &str, cx: &mut SwarmCx<'_>) {
        if let Some(role) = self.peers.remove(conn) {
            cx.close(conn, false, why);
            self.lost(conn, &role, cx);
        }
    }

    /// Tells the part that a lost connection belonged to.
    fn lost(&mut self, conn: ConnId, role: &Role, cx: &mut SwarmCx<'_>) {
        match (role, &mut self.coordinator, &mut self.member) {
            (Role::Client(_), Some(half), _) => half.closed(conn, cx),
            (Role::Coordinator(_), _, Some(half)) => half.unlinked(conn, &mut self.peers, cx),
            (Role::Asking(ServingSide { step: AskingStep::Verify { .. }, .. }), _, Some(half)) => {
                half.feed(client::Input::Gone { conn }, &mut self.peers, cx);
            }
            (role, _, Some(half)) => {
                let ended = half.jobs.gone(role);
                half.ended(ended, &mut self.peers, cx);
            }
            _ => {}
        }
    }

    /// So many bytes of the range being sent have been sent.
    fn served(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId, bytes: u64) {
        let cx = &mut self.enter(node);
        if let Some(moving) = self.peers.moving(conn) {
            let (more, whole, moving) = (moving.reach(bytes), moving.is_whole(), *moving);
            if let (None, Some(half)) = (moving.job, &mut self.coordinator) {
                half.sent += more;
            }
            if !whole {
                self.peers.wake(conn, cx.after(cx.limits.stall));
                return self.settle(cx);
            }
            cx.tell(ConnEvent::Sent { conn, bytes: moving.done });
            rest(conn, &mut self.peers, cx);
            if let Some(half) = &mut self.member {
                let ended = half.jobs.sent(conn, moving, &mut self.peers, cx);
                half.ended(ended, &mut self.peers, cx);
            }
        }
        self.settle(cx);
    }

    /// So many bytes of the range being received are on disk.
    fn stored(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId, bytes: u64) {
        let cx = &mut self.enter(node);
        if let Some(moving) = self.peers.moving(conn) {
            moving.reach(bytes);
            let (whole, moving) = (moving.is_whole(), *moving);
            match &mut self.member {
                Some(half) if whole => half.jobs.stored(conn, moving, &mut self.peers, cx),
                _ => self.peers.wake(conn, cx.after(cx.limits.stall)),
            }
        }
        self.settle(cx);
    }

    /// A disk error on a connection.
    fn disk_failed(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId, why: StoreError) {
        let cx = &mut self.enter(node);
        if let Some(role) = self.peers.remove(conn) {
            cx.close(conn, false, "the file cannot be read or written");
            if let (Some(half), Role::Asking(asking)) = (&mut self.coordinator, &role)
                && let AskingStep::Sending(Moving { job: None, file, .. }) = asking.step
            {
                half.source_failed(file, why, cx);
            }
            if let Some(half) = &mut self.member {
                let ended = half.jobs.disk_failed(&role, why, cx);
                half.ended(ended, &mut self.peers, cx);
            }
        }
        self.settle(cx);
    }

    /// Messages on this connection have not been sent yet.
    fn backlog(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId, bytes: u64) {
        let cx = &mut self.enter(node);
        match self.peers.role(conn) {
            Some(Role::Client(_)) if bytes > self.limits.backlog => {
                cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::Backlog });
                self.give_up(conn, "messages pile up unread", cx);
            }
            Some(Role::Client(_) | Role::Coordinator(_)) if bytes > 0 => {
                self.peers.wake(conn, cx.after(cx.limits.stall));
            }
            Some(Role::Client(_) | Role::Coordinator(_)) => self.peers.rest(conn),
            _ => {}
        }
        self.settle(cx);
    }

    /// Says goodbye. What is persisted stays for the next start.
    pub(super) fn stop(&mut self, node: &mut node::NodeCx<'_>) {
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.member {
            for url in half.urls() {
                half.leave(&url, &mut self.peers, cx);
            }
        }
        cx.finish(&mut self.peers);
        // Messages must still be sent; bytes of pieces need not be.
        for (conn, speaks) in self.peers.all() {
            cx.close(conn, speaks, "the servent stops");
        }
    }

    /// Its state, with at most `clients` clients of each file of the
    /// coordinator.
    pub(super) fn view(&self, clients: u32, now: Instant) -> SwarmView {
        SwarmView {
            coordinator: self.coordinator.as_ref().map(|half| CoordinatorHalf {
                sent: half.sent,
                refused: half.refused,
                swarm: half.view(clients, now),
            }),
            client: self.member.as_ref().map(SwarmMember::view),
        }
    }
}

impl Service for Swarm {
    type Command = SwarmCommand;
    type Restored = RestoredSwarm;

    fn restore(&mut self, node: &mut node::NodeCx<'_>, restored: RestoredSwarm) {
        let cx = &mut self.enter(node);
        if let Some(half) = &mut self.coordinator {
            half.restore(restored.ledger, cx);
        }
        self.parts = restored.parts.into_iter().map(|part| (part.file, part)).collect();
        self.listening(node);
    }

    fn on(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId, input: ConnInput) {
        match input {
            ConnInput::Dialed { .. } => self.dialed(node, conn),
            ConnInput::DialFailed { .. } | ConnInput::Closed => self.left(node, conn),
            ConnInput::Backlog { bytes } => self.backlog(node, conn, bytes),
            ConnInput::Served { bytes } => self.served(node, conn, bytes),
            ConnInput::Stored { bytes } => self.stored(node, conn, bytes),
            ConnInput::DiskFailed { why } => self.disk_failed(node, conn, why),
            // The length of every body is known here, and nothing is judged or
            // kept; the rest is for the layer below.
            ConnInput::Accepted { .. }
            | ConnInput::Bytes { .. }
            | ConnInput::BodyEnded { .. }
            | ConnInput::Authenticated { .. }
            | ConnInput::Committed { .. }
            | ConnInput::Retracted { .. } => {}
        }
    }

    fn read(&mut self, node: &mut node::NodeCx<'_>, conn: ConnId) {
        let Some(state) = node.io.open(conn) else { return };
        let data = core::mem::take(&mut state.unread);
        if data.is_empty() {
            return;
        }
        let cx = &mut self.enter(node);
        match self.peers.role(conn) {
            None => {}
            Some(Role::Client(_) | Role::Coordinator(_)) => self.frames(conn, &data, cx),
            Some(Role::Asking(_)) => {
                if self.peers.push(conn, data) > self.limits.early as usize {
                    self.give_up(conn, "too much comes ahead of its turn", cx);
                } else {
                    self.read_request(conn, cx);
                }
            }
            Some(Role::Asked(_)) => {
                if self.peers.push(conn, data) > self.limits.early as usize {
                    self.give_up(conn, "too much comes ahead of its turn", cx);
                } else if let Some(half) = &mut self.member {
                    let ended = half.jobs.read(conn, &mut self.peers, cx);
                    half.ended(ended, &mut self.peers, cx);
                }
            }
        }
        self.settle(cx);
    }

    fn command(&mut self, node: &mut node::NodeCx<'_>, command: SwarmCommand) {
        let cx = &mut self.enter(node);
        let file = match command {
            SwarmCommand::Serve { file, .. }
            | SwarmCommand::Want { file, .. }
            | SwarmCommand::Offer { file, .. }
            | SwarmCommand::Leave { file } => file,
            SwarmCommand::Source { at, slots } => {
                if let Some(half) = &mut self.coordinator {
                    half.source(at, slots, cx);
                }
                return self.settle(cx);
            }
        };
        match (command, &mut self.coordinator, &mut self.member) {
            (SwarmCommand::Serve { spec, .. }, Some(half), _) => half.serve(file, spec, cx),
            (SwarmCommand::Want { url, coordinator, sha256, .. }, _, Some(half)) => {
                let part = self.parts.remove(&file).filter(|part| part.url == url);
                let more = (part, sha256, false);
                half.add(file, (url, coordinator), more, &mut self.peers, cx);
            }
            (SwarmCommand::Offer { url, coordinator, .. }, _, Some(half)) => {
                let more = (None, None, true);
                half.add(file, (url, coordinator), more, &mut self.peers, cx);
            }
            (SwarmCommand::Leave { .. }, _, member) => {
                if let Some(half) = member
                    && let Some(url) = half.url_of(file)
                {
                    half.leave(&url, &mut self.peers, cx);
                }
                self.parts.remove(&file);
                cx.persist(SwarmOp::PartGone(file));
            }
            _ => {
                let why = "this node has no such part in swarms".to_string();
                cx.answer(SwarmAnswer::Refused { file, why });
            }
        }
        self.settle(cx);
    }

    fn handle_timeout(&mut self, node: &mut node::NodeCx<'_>) {
        let cx = &mut self.enter(node);
        while let Some(conn) = self.peers.expired(cx.now) {
            self.give_up(conn, "nothing came for too long", cx);
        }
        if let Some(half) = &mut self.member {
            half.timeout(&mut self.peers, cx);
        }
        if let Some(half) = &mut self.coordinator {
            half.timeout(cx);
        }
        self.settle(cx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let peers = self.peers.next_due().map(|at| (at, "peer"));
        let client = self.member.as_ref().and_then(|half| half.client.poll_timeout());
        let manager = self.coordinator.as_ref().and_then(|half| half.poll_timeout());
        earlier(peers, earlier(client, manager))
    }
}

const fn head_limits(limits: &SwarmLimits) -> HeadLimits {
    HeadLimits { bytes: limits.head_bytes, lines: limits.head_lines }
}
