//! The ways to other servents: to ours and those that answer pages by WebSocket,
//! to other pages on a channel, and through ours to those that no channel reaches.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::rc::Rc;

use futures::channel::oneshot;
use js_sys::{Date, Uint8Array};
use serde::Serialize;
use servent_core::fetch::DialError;
use servent_core::id::ConnId;
use servent_core::node::{
    ConnInput, Input, MessageCommand, MessageInput, NodeCommand, OverlayCommand, UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::unicast::{DeliveryOrder, MessageRefusal, Side, UnicastPayload};
use wasm_bindgen_futures::spawn_local;

use super::channel::{self, Channel, LINGER, SignalOutcome};
use super::config::CONNECTIONS;
use super::host::{Happened, PageHost};
use super::line::is_page;
use super::socket::{self, ByteChannel, Socket, SocketJob, sleep};

/// A page to which no channel has opened is reached through the servent for so
/// long, in milliseconds.
const AVOIDED: f64 = 600_000.0;
/// Pages of which that is remembered.
const AVOIDS: usize = 256;
/// Bytes of a download that may wait to be saved before the other end is asked
/// to pause.
const BEHIND: u64 = 4 << 20;
/// The lowest port of an address that stands for a channel.
const PORTS: u16 = 1_024;

type SharedRoutes = Rc<RefCell<PageHost>>;

/// What is known of the ways.
#[derive(Default)]
pub(super) struct Ways {
    /// Pages to which no channel opens, until when.
    avoided: BTreeMap<SocketAddr, f64>,
    /// Channels that were called for so far.
    calls: u16,
    /// Loses so many of a thousand datagrams.
    loss: Option<(u32, Rng)>,
    /// The room's servent is not to be reached.
    cut: bool,
    /// Pages that are not to be reached.
    apart: BTreeSet<SocketAddr>,
    pub(super) counts: Counts,
}

/// What happened on channels since the start.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct Counts {
    /// Channels that have opened.
    pub(super) opened: u64,
    /// Those that did not.
    failed: u64,
    /// What was said that is no signal, or was not asked for.
    refused: u64,
    /// Datagrams given to channels.
    posted: u64,
    /// Datagrams that were lost before that.
    lost: u64,
}

/// How a connection reaches its other end.
#[derive(Debug, Clone, Serialize)]
pub(super) struct WayView {
    conn: ConnId,
    /// Who was dialed, or has called.
    peer: Option<SocketAddr>,
    way: RouteKind,
}

/// The kinds of ways.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum RouteKind {
    /// To a servent.
    Servent,
    /// To a page, through our servent.
    Relay,
    /// To a page, through no server.
    Channel,
}

impl PageHost {
    /// The ways of all connections that are open.
    pub(super) fn way_views(&self) -> Vec<WayView> {
        let open = self.sockets.iter().filter(|(_, socket)| socket.open);
        let view = |(conn, socket): (&ConnId, &Socket)| {
            let way = match &socket.wire {
                ByteChannel::Channel(_) => RouteKind::Channel,
                ByteChannel::Web(_) if socket.calls || socket.caller.is_some() => RouteKind::Relay,
                ByteChannel::Web(_) => RouteKind::Servent,
            };
            WayView { conn: *conn, peer: socket.caller.or(socket.dialed), way }
        };
        open.map(view).collect()
    }

    /// What happened on channels so far.
    pub(super) const fn counts(&self) -> Counts {
        self.ways.counts
    }

    /// From now on loses so many of a thousand datagrams, which ones by the seed.
    pub(super) fn lose(&mut self, per_mille: u32, seed: u64) {
        self.ways.loss = (per_mille > 0).then(|| (per_mille, Rng::new(seed)));
    }

    /// Where a page finds a servent: its own by the address it came from, another
    /// page through that, any other by its port.
    fn url(&self, to: SocketAddr) -> String {
        if is_page(to) {
            return format!("{}/call/{to}", self.how.url);
        }
        if self.how.own.contains(&to) { self.how.url.clone() } else { format!("ws://{to}/servent") }
    }

    /// Dials: another page by a channel, if there may be one.
    pub(super) fn dial(
        &mut self,
        this: &SharedRoutes,
        conn: ConnId,
        to: SocketAddr,
    ) -> Result<Socket, DialError> {
        if (self.ways.cut && !is_page(to)) || self.ways.apart.contains(&to) {
            return Err(DialError::Unreachable);
        }
        let now = Date::now();
        self.ways.avoided.retain(|_, until| *until > now);
        let direct = is_page(to) && channel::is_possible() && !self.ways.avoided.contains_key(&to);
        let wire = if direct {
            let peer = self.free_address(to);
            let url = format!("{}/signal/{to}", self.how.url);
            let channel = Channel::signal(this, conn, &url, peer);
            ByteChannel::Channel(channel.map_err(|_| DialError::Unreachable)?)
        } else {
            socket::dial(this, conn, &self.url(to))?
        };
        let mut socket = Socket::new(wire);
        (socket.dialed, socket.calls) = (Some(to), is_page(to) && !direct);
        Ok(socket)
    }

    /// Cuts us off from the room's servent, or mends that.
    pub(super) fn cut(this: &SharedRoutes, off: bool) {
        let mut host = this.borrow_mut();
        if host.ways.cut == off {
            return;
        }
        host.ways.cut = off;
        let what: Vec<Happened> = if off {
            let there = |socket: &Socket| socket.dialed.is_some_and(|to| !is_page(to));
            let sockets = host.sockets.iter().filter(|(_, socket)| there(socket));
            sockets.map(|(conn, _)| Happened::Closed(*conn)).collect()
        } else {
            let join = |at: &SocketAddr| {
                Happened::Input(Input::Command(NodeCommand::Overlay(OverlayCommand::Join {
                    at: *at,
                })))
            };
            host.how.own.first().map(join).into_iter().collect()
        };
        drop(host);
        Self::happened(this, what);
    }

    /// Ends every connection to another page that was dialed here, and dials none; or
    /// does again. What that page has dialed is for it to end.
    pub(super) fn apart(this: &SharedRoutes, page: SocketAddr, off: bool) {
        let mut host = this.borrow_mut();
        if !off {
            host.ways.apart.remove(&page);
            drop(host);
            return Self::happened(this, [Happened::Woke]);
        }
        host.ways.apart.insert(page);
        let dialed = host.sockets.iter().filter(|(_, socket)| socket.dialed == Some(page));
        let all: Vec<Happened> = dialed.map(|(conn, _)| Happened::Closed(*conn)).collect();
        drop(host);
        Self::happened(this, all);
    }

    /// An address that stands for one more channel to a page: each is another
    /// connection, which the page's own address cannot tell apart.
    fn free_address(&mut self, to: SocketAddr) -> SocketAddr {
        loop {
            let port = PORTS + self.ways.calls % (u16::MAX - PORTS);
            self.ways.calls = self.ways.calls.wrapping_add(1);
            let peer = SocketAddr::new(to.ip(), port);
            if self.by_peer(peer).is_none() {
                return peer;
            }
        }
    }

    fn by_peer(&mut self, peer: SocketAddr) -> Option<(ConnId, &mut Channel)> {
        let all = self.sockets.iter_mut();
        let mut channels = all.filter_map(|(conn, socket)| Some((*conn, socket.channel()?)));
        channels.find(|(_, channel)| channel.peer == peer)
    }

    fn channel(&mut self, conn: ConnId) -> Option<&mut Channel> {
        self.sockets.get_mut(&conn)?.channel()
    }

    /// A page calls: the answer is a connection, which the node accepts. One who
    /// calls more often than there is room for is not answered.
    pub(super) fn called(this: &SharedRoutes, conn: ConnId, ticket: &str, peer: SocketAddr) {
        let mut host = this.borrow_mut();
        if host.sockets.len() >= CONNECTIONS as usize {
            return;
        }
        let url = format!("{}/take/{ticket}", host.how.url);
        if let Ok(wire) = socket::dial(this, conn, &url) {
            let mut socket = Socket::new(wire);
            socket.caller = Some(peer);
            host.sockets.insert(conn, socket);
        }
    }

    /// A page wants to arrange a channel.
    pub(super) fn signalled(this: &SharedRoutes, conn: ConnId, ticket: &str, peer: SocketAddr) {
        let mut host = this.borrow_mut();
        if host.sockets.len() >= CONNECTIONS as usize {
            return;
        }
        let url = format!("{}/take/{ticket}", host.how.url);
        if let Ok(channel) = Channel::signal(this, conn, &url, peer) {
            let mut socket = Socket::new(ByteChannel::Channel(channel));
            socket.caller = Some(peer);
            host.sockets.insert(conn, socket);
        }
    }

    /// What happens on channels.
    pub(super) fn channel_happened(
        &mut self,
        this: &SharedRoutes,
        what: Happened,
    ) -> Option<Input> {
        match what {
            Happened::Signal(conn, data) => self.hear(this, conn, &data.to_vec()),
            Happened::SignalsOver(conn) => {
                // A page that has said how to speak may have said all.
                let over = self.channel(conn).is_some_and(|channel| !channel.described);
                if over { self.no_channel(this, conn) } else { None }
            }
            Happened::NoChannel(conn) => self.no_channel(this, conn),
            Happened::ChannelOver(conn) => {
                self.channel(conn)?;
                if self.sockets.get(&conn).is_some_and(|socket| socket.open) {
                    self.waiting.push_front(Happened::Closed(conn));
                    return None;
                }
                self.no_channel(this, conn)
            }
            Happened::Datagram(conn, data) => {
                let socket = self.sockets.get_mut(&conn).filter(|socket| socket.open)?;
                let (from, segment) = (socket.channel()?.peer, data.length());
                Some(Input::Messages(MessageInput::Datagrams {
                    from,
                    segment,
                    data: UnicastPayload::from(data.to_vec()),
                }))
            }
            Happened::Send(conn) => self.send(conn),
            Happened::Lingered(conn) => {
                self.channel(conn).filter(|channel| channel.ends)?;
                self.waiting.push_front(Happened::Closed(conn));
                None
            }
            _ => None,
        }
    }

    /// The other page has answered, or says something.
    fn hear(&mut self, this: &SharedRoutes, conn: ConnId, data: &[u8]) -> Option<Input> {
        let stun = self.how.stun.clone();
        let socket = self.sockets.get_mut(&conn)?;
        let calls = socket.caller.is_none();
        let channel = socket.channel()?;
        if !channel.answered {
            // The servent says so to the page that calls; the one that answers was called.
            if channel.arrange(this, (conn, calls), stun.as_deref()).is_err() {
                channel.decline();
                return self.no_channel(this, conn);
            }
        }
        match channel.hear(data) {
            SignalOutcome::Well => None,
            SignalOutcome::No => self.no_channel(this, conn),
            SignalOutcome::Nonsense => {
                self.ways.counts.refused += 1;
                self.no_channel(this, conn)
            }
        }
    }

    /// No channel opens: the page that has dialed goes on through the servent.
    fn no_channel(&mut self, this: &SharedRoutes, conn: ConnId) -> Option<Input> {
        let socket = self.sockets.get_mut(&conn).filter(|socket| !socket.open)?;
        let answered = socket.channel()?.answered;
        self.ways.counts.failed += 1;
        let Some(to) = socket.dialed else {
            self.sockets.remove(&conn); // The node does not know of it.
            return None;
        };
        if answered {
            if self.ways.avoided.len() >= AVOIDS {
                self.ways.avoided.pop_first();
            }
            self.ways.avoided.insert(to, Date::now() + AVOIDED);
        }
        match socket::dial(this, conn, &self.url(to)) {
            Ok(wire) => {
                let socket = self.sockets.get_mut(&conn)?;
                (socket.wire, socket.calls) = (wire, true);
                None
            }
            Err(why) => {
                self.sockets.remove(&conn);
                Some(Input::Connection(conn, ConnInput::DialFailed { why }))
            }
        }
    }

    /// Closes a connection, with `flush` after what is to be sent.
    pub(super) fn close(&mut self, this: &SharedRoutes, conn: ConnId, flush: bool) {
        let Some(socket) = self.sockets.get_mut(&conn) else { return };
        if flush && socket.open {
            self.end(this, conn);
        } else if socket.cut() {
            self.waiting.push_back(Happened::Closed(conn));
        }
    }

    fn end(&mut self, this: &SharedRoutes, conn: ConnId) {
        self.push(this, conn, SocketJob::Close);
        if self.channel(conn).is_some() {
            let this = Rc::clone(this);
            spawn_local(async move {
                sleep(LINGER).await;
                Self::happened(&this, [Happened::Lingered(conn)]);
            });
        }
    }

    /// Gives a channel bytes of a file; what is returned resolves when it can take
    /// more. `None` when it is gone.
    pub(super) fn give(
        this: &SharedRoutes,
        conn: ConnId,
        data: &[u8],
    ) -> Option<oneshot::Receiver<()>> {
        let mut host = this.borrow_mut();
        let channel = host.channel(conn)?;
        channel.write(data);
        let room = channel.room();
        drop(host);
        Self::happened(this, [Happened::Timer]);
        Some(room)
    }

    /// Bytes on a channel that the other end does not have yet.
    pub(super) fn unsent(this: &SharedRoutes, conn: ConnId) -> u64 {
        let mut host = this.borrow_mut();
        let Some(peer) = host.channel(conn).map(|channel| channel.peer) else { return 0 };
        let Some(endpoint) = host.node.datagrams() else { return 0 };
        endpoint.config().send_bytes - endpoint.room(peer).bytes
    }

    /// Messages for the send window: what fits, and at least one, so that the node
    /// says when there is room again.
    fn send(&mut self, conn: ConnId) -> Option<Input> {
        let channel = self.sockets.get_mut(&conn)?.channel()?;
        channel.due = false;
        let (to, mut room) = (channel.peer, self.node.datagrams()?.room(channel.peer).bytes);
        let mut messages = Vec::new();
        while !channel.full
            && let Some(data) = channel.out.pop_front()
        {
            let length = data.len() as u64;
            let fits = length <= room;
            room = room.saturating_sub(length);
            messages.push(UnicastMessage { order: DeliveryOrder::InOrder, data });
            if !fits {
                break;
            }
        }
        (!messages.is_empty())
            .then_some(Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })))
    }

    /// The send window of a channel is full, or there is none for it.
    pub(super) fn refused(
        &mut self,
        to: SocketAddr,
        messages: Vec<UnicastMessage>,
        why: MessageRefusal,
    ) {
        let Some((conn, channel)) = self.by_peer(to) else { return };
        channel.full = true;
        messages.into_iter().rev().for_each(|message| channel.out.push_front(message.data));
        if why != MessageRefusal::Full {
            self.waiting.push_back(Happened::Closed(conn));
        }
    }

    /// It has room again.
    pub(super) fn writable(&mut self, to: SocketAddr) {
        if let Some((_, channel)) = self.by_peer(to) {
            channel.full = false;
        }
        self.pump();
    }

    /// Sends datagrams of the node.
    pub(super) fn post(&mut self, to: SocketAddr, segment: u32, data: &UnicastPayload) {
        let Self { ways: Ways { loss, counts, .. }, sockets, .. } = self;
        let all = sockets.values_mut().filter_map(Socket::channel);
        let Some(channel) = all.into_iter().find(|channel| channel.peer == to) else { return };
        for datagram in data.chunks((segment as usize).max(1)) {
            let is_lost = loss
                .as_mut()
                .is_some_and(|(per_mille, rng)| rng.below(1_000) < u64::from(*per_mille));
            if !is_lost && channel.post(datagram) {
                counts.posted += 1;
            } else {
                counts.lost += 1;
            }
        }
    }

    /// Messages have arrived: the bytes of a connection, or its end.
    pub(super) fn deliver(&mut self, from: SocketAddr, messages: Vec<UnicastMessage>) {
        let Some((conn, channel)) = self.by_peer(from) else { return };
        let mut all = Vec::new();
        for UnicastMessage { data, .. } in messages {
            channel.owed.0 += 1;
            channel.owed.1 += data.len() as u64;
            all.push(match data.is_empty() {
                true => Happened::Closed(conn),
                false => Happened::Data(conn, Uint8Array::from(&data[..])),
            });
        }
        self.waiting.extend(all);
    }

    /// Does for every channel what is due.
    pub(super) fn pump(&mut self) {
        let Self { sockets, waiting, node, .. } = self;
        let Some(endpoint) = node.datagrams() else { return };
        for (conn, socket) in sockets {
            let behind = socket.behind();
            let Some(channel) = socket.channel() else { continue };
            if behind <= BEHIND && channel.owed.0 > 0 {
                let (messages, bytes) = std::mem::take(&mut channel.owed);
                let taken = NodeCommand::Messages(MessageCommand::Taken {
                    from: channel.peer,
                    messages,
                    bytes,
                });
                waiting.push_back(Happened::Input(Input::Command(taken)));
            }
            if !channel.out.is_empty() && !channel.full && !channel.due {
                channel.due = true;
                waiting.push_back(Happened::Send(*conn));
            }
            if channel.due {
                continue;
            }
            channel.say_room();
            let all = u64::from(endpoint.config().send_messages);
            if channel.ends && channel.out.is_empty() && endpoint.room(channel.peer).messages == all
            {
                channel.ends = false;
                waiting.push_back(Happened::Closed(*conn));
            }
        }
    }

    /// A connection has ended: if it was a channel, nothing more of it is resent.
    pub(super) fn forget_channel(&mut self, socket: &mut Socket) {
        let Some(peer) = socket.channel().map(|channel| channel.peer) else { return };
        for side in [Side::Sender, Side::Receiver] {
            self.next(Input::Command(NodeCommand::Messages(MessageCommand::Forget { peer, side })));
        }
    }
}
