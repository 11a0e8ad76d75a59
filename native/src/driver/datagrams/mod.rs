//! Reliable messages on a UDP socket, as the node's task hosts them: what the
//! socket receives goes into the node, what the node wants to send goes to the
//! socket, and connections ([`Pipe`]) share bounded queues with the tasks that
//! use them.
//!
//! In each turn the socket is drained with few system calls, each peer's
//! datagrams go in as one input, everything the connections ask for goes in,
//! and [`MessageInput::Flush`] ends the turn. Datagrams are sent only after what the
//! turn promises has been saved.

mod attend;
mod counters;
mod detour;
mod error;
mod options;
mod pipe;
mod shared;

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::engine::Engine as _;
use servent_core::meet::is_no_host;
use servent_core::node::{
    ConnEvent, Event, Input, MessageInput, MessageOutput, NodeAnswer, PathNews, UnicastMessage,
};
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{self, Config, ConnEnding, MessageRefusal, Side, UnicastConnId};
use servent_core::wire::meet::is_meet;
use servent_core::wire::unicast::PacketError;

pub use self::counters::EndpointCounters;
pub(crate) use self::detour::Detour;
pub use self::error::{Lost, Undelivered};
pub use self::options::{Datagrams, LARGEST, searching};
pub(crate) use self::pipe::{Closing, Pipe};
pub(crate) use self::shared::SharedEndpoint;
use super::turn::Loop;
use crate::net::udp::{Train, UdpEndpoint};

/// How long a peer's system may refuse us before we give up, and how often it
/// must: the peer may be about to start, or to start again. The system tells it with
/// every second datagram, and they are repeated ever more seldom.
const REFUSED: (Duration, u32) = (Duration::from_secs(2), 2);

/// Receiving system calls in one turn.
const READS: usize = 4;

/// An effect of the node that is about datagrams.
pub(super) enum MessageEffect {
    Wanted(MessageOutput),
    Event(unicast::Event),
    /// What a peer sent is not a datagram of ours.
    Garbled {
        from: SocketAddr,
        why: PacketError,
    },
    /// A visit has gone on: what was received last is of its place, or of its other side.
    Visited,
}

impl MessageEffect {
    /// The effect that an event is; `None` when it is not about datagrams.
    pub(super) fn from_event(event: Event) -> Option<Self> {
        match event {
            Event::Unicast(event) => Some(Self::Event(event)),
            Event::Conn(ConnEvent::Garbled { from, why, .. }) => Some(Self::Garbled { from, why }),
            _ => None,
        }
    }

    /// The effect that an answer is; `None` when it is not about a visit.
    pub(super) const fn from_answer(answer: &NodeAnswer) -> Option<Self> {
        match answer {
            NodeAnswer::Meet(_) => Some(Self::Visited),
            _ => None,
        }
    }

    const fn is_garbled(&self) -> bool {
        matches!(self, Self::Garbled { .. })
    }
}

/// The socket and its connections.
pub(super) struct Messaging {
    config: Config,
    socket: UdpEndpoint,
    shared: Arc<SharedEndpoint>,
    counters: EndpointCounters,
    /// What the socket received last. Kept only to reuse its memory.
    trains: Vec<Train>,
    /// What takes a detour at the end of the turn.
    aside: Vec<Train>,
    /// Messages delivered in this turn.
    arrived: Vec<(SocketAddr, UnicastConnId, Vec<UnicastMessage>)>,
    /// Peers heard from in this turn: their acknowledgements may have advanced.
    heard: Vec<SocketAddr>,
    /// Peers to give up on, and why.
    silent: Vec<(SocketAddr, Lost)>,
    /// Since when, and how often, the only peer's system has said that nothing
    /// listens there; and nothing came from the peer meanwhile.
    refusals: Option<(Instant, u32)>,
    /// An empty outbox. Kept only to reuse its memory.
    spare: VecDeque<UnicastMessage>,
    /// The messages the node refused and gave back.
    refused: Option<(Vec<UnicastMessage>, MessageRefusal)>,
    /// Peers whose send window has room again.
    writable: Vec<SocketAddr>,
    /// Connections that wait for their last acknowledgement.
    closing: Vec<Arc<Pipe>>,
    /// The receiving halves have been dropped, because the endpoint is
    /// stopping.
    leaving: bool,
}

impl Messaging {
    pub(super) fn new(socket: UdpEndpoint, config: Config, shared: Arc<SharedEndpoint>) -> Self {
        Self {
            config,
            socket,
            shared,
            counters: EndpointCounters::default(),
            trains: Vec::new(),
            aside: Vec::new(),
            arrived: Vec::new(),
            heard: Vec::new(),
            silent: Vec::new(),
            refusals: None,
            spare: VecDeque::new(),
            refused: None,
            writable: Vec::new(),
            closing: Vec::new(),
            leaving: false,
        }
    }

    /// The part that connections share with the task.
    pub(super) fn shared(&self) -> Arc<SharedEndpoint> {
        Arc::clone(&self.shared)
    }

    /// Waits until there is something to do.
    pub(super) async fn work(&self) {
        tokio::select! {
            () = self.shared.work.notified() => {}
            _ = self.socket.ready() => {} // An error shows when the socket is used.
        }
    }

    /// Everything of a turn except sending. Returns the time by then.
    pub(super) fn turn(&mut self, node: &mut Loop) -> Instant {
        self.counters.turns += 1;
        self.gather(node); // What the timers led to.
        let mut trains = mem::take(&mut self.trains);
        if self.shared.detours.take(&mut trains) {
            self.shared.work.notify_one(); // The next turn takes more.
        }
        let came: usize = trains.iter().map(|train| train.data.len()).sum();
        self.socket.counters.bytes_in += came as u64;
        self.arrive(trains, false, node);
        for _ in 0..READS {
            if !self.read(node) {
                break;
            }
        }
        let now = self.tick(node);
        self.assign();
        self.note_acknowledged(node);
        self.look_at_refusals(now);
        self.give_up_on_the_silent(now, node);
        self.look_at_queued(now, node);
        if node.endpoint().is_some_and(|it| it.poll_timeout().is_some_and(|(at, _)| at <= now)) {
            self.feed(now, Input::Messages(MessageInput::Flush), node);
        }
        self.check_closing(node);
        now
    }

    /// The end of a turn: sends what there is. True when everything has been
    /// sent and the endpoint is no longer wanted.
    pub(super) fn end_turn(&mut self, now: Instant, node: &mut Loop) -> bool {
        self.gather(node); // What the store led to.
        self.flush();
        if self.socket.is_refused() {
            self.shared.work.notify_one(); // The next turn counts it; it would come with a timer.
        }
        self.publish(node);
        self.finished(now, node)
    }

    /// Sends what the turn has led to.
    fn flush(&mut self) {
        self.socket.flush();
        for train in self.aside.drain(..) {
            let sent = self.shared.detours.send(&train);
            self.socket.counters.bytes_out += sent as u64;
        }
    }

    /// The time, with everything done that is due by then.
    fn tick(&mut self, node: &mut Loop) -> Instant {
        let now = node.tick();
        self.gather(node);
        now
    }

    fn feed(&mut self, now: Instant, input: Input, node: &mut Loop) {
        node.feed(now, input);
        self.gather(node);
    }

    /// Receives with one system call; false when there was nothing.
    fn read(&mut self, node: &mut Loop) -> bool {
        let mut trains = mem::take(&mut self.trains);
        let more = self.socket.receive(&mut trains);
        // No socket has an address of those who come through a door, or of a meeting.
        trains.retain(|train| !is_no_host(train.peer.ip()));
        self.arrive(trains, true, node);
        more
    }

    /// Hands to the node what has arrived, by a clock that is read after it has: a
    /// datagram that came while the turn was under way, but carried the time at which the
    /// turn began, would make the round trip shorter than the path's.
    /// `straight`: it came through the socket.
    fn arrive(&mut self, mut trains: Vec<Train>, straight: bool, node: &mut Loop) {
        let mut too_large = self.socket.take_too_large();
        too_large.extend(self.shared.detours.take_too_large());
        if trains.is_empty() && too_large.is_empty() {
            self.trains = trains;
            return;
        }
        let now = self.tick(node);
        for (to, datagrams) in self.socket.take_tested() {
            let news = PathNews::TestMarks { to, datagrams };
            node.feed(now, Input::Messages(MessageInput::Path(news)));
        }
        let full = self.shared.book().waiting.len() >= self.shared.backlog;
        for train in trains.drain(..) {
            let marked = train.marks();
            let Train { peer, segment, data, .. } = train;
            let name = node.endpoint().map_or(peer, |it| it.name_at(peer));
            let met = is_meet(&data);
            if full && !met && !self.shared.book().pipes.contains_key(&name) {
                self.counters.turned_away += data.len().div_ceil(segment) as u64;
                continue;
            }
            if self.heard.last() != Some(&name) {
                self.heard.push(name);
            }
            self.refusals = None;
            let segment = u32::try_from(segment).unwrap_or(u32::MAX);
            self.counters.datagram_in = self.counters.datagram_in.max(segment);
            let said = node.said.len();
            node.feed(now, Input::Messages(MessageInput::Datagrams { from: peer, segment, data }));
            // The place answers here, or the path was chosen; any other may send in its name.
            let visited = |one: &MessageEffect| matches!(one, MessageEffect::Visited);
            if straight && met && node.said[said..].iter().any(visited) {
                self.shared.detours.close(peer);
            }
            // What a stranger sends in its name slows it down no more than it ends it.
            if marked > 0 && !node.said[said..].iter().any(MessageEffect::is_garbled) {
                let marked = PathNews::Marked { from: peer, datagrams: marked };
                node.feed(now, Input::Messages(MessageInput::Path(marked)));
            }
        }
        for (to, bytes) in too_large {
            node.feed(now, Input::Messages(MessageInput::Path(PathNews::TooLarge { to, bytes })));
        }
        self.trains = trains;
        self.gather(node);
    }

    /// Carries out the node's effects about datagrams.
    fn gather(&mut self, node: &mut Loop) {
        let mut said = mem::take(&mut node.said);
        for one in said.drain(..) {
            match one {
                MessageEffect::Wanted(MessageOutput::Datagrams { to, segment, data }) => {
                    if self.shared.detours.has(to) {
                        let train = Train::new(to, segment as usize, data);
                        self.socket.counters.note_size(&train);
                        self.aside.push(train);
                    } else if !is_no_host(to.ip()) {
                        let heeds = || node.endpoint().is_some_and(|it| it.heeds_marks(to));
                        self.socket.send(to, segment, data, heeds);
                    } // What came by a detour that has ended is answered nowhere.
                }
                MessageEffect::Wanted(MessageOutput::Deliver { from, conn, messages }) => {
                    self.arrived.push((from, conn, messages));
                }
                MessageEffect::Wanted(MessageOutput::Refused { messages, why, .. }) => {
                    self.refused = Some((messages, why));
                }
                MessageEffect::Wanted(MessageOutput::Writable { to }) => self.writable.push(to),
                MessageEffect::Event(event) => self.event(event),
                MessageEffect::Garbled { from, why } => self.socket.garbage(from, &why),
                MessageEffect::Visited => {}
            }
        }
        node.said = said; // Its memory is reused.
    }

    fn event(&mut self, event: unicast::Event) {
        use unicast::Event as E;
        match event {
            E::PeerUnreachable { peer, .. } => self.silent.push((peer, Lost::Unreachable)),
            E::Undelivered { peer, from, to, .. } => {
                if let Some(pipe) = self.pipe(peer) {
                    pipe.lock().numbers.push((from, to));
                }
            }
            E::Closed { peer, conn, side: Side::Receiver, why, .. } => {
                let how = match why {
                    ConnEnding::Finished => Ok(()),
                    ConnEnding::Abandoned => Err(Lost::Abandoned),
                    ConnEnding::Replaced => Err(Lost::Replaced),
                    ConnEnding::Idle => Err(Lost::Idle),
                    // Of a sender.
                    ConnEnding::Asked
                    | ConnEnding::Unreachable
                    | ConnEnding::Forgotten
                    | ConnEnding::Deceived => return,
                };
                self.assign(); // Earlier deliveries come first.
                self.incoming_ended(peer, conn, how);
            }
            E::Closed { peer, side: Side::Sender, why: ConnEnding::Replaced, .. } => {
                self.silent.push((peer, Lost::Replaced));
            }
            E::Closed { peer, side: Side::Sender, why: ConnEnding::Deceived, .. } => {
                self.silent.push((peer, Lost::Deceived));
            }
            E::Closed { peer, side: Side::Sender, why: ConnEnding::Finished, .. } => {
                // We did not end it.
                let open = |pipe: Arc<Pipe>| pipe.lock().closing == Closing::No;
                if self.pipe(peer).is_some_and(open) {
                    self.silent.push((peer, Lost::Restarted));
                }
            }
            E::Moved { peer, to, .. } => self.shared.note_place(peer, to),
            other => tracing::trace!(?other, "unicast"),
        }
    }

    fn pipe(&self, peer: SocketAddr) -> Option<Arc<Pipe>> {
        self.shared.book().pipes.get(&peer).cloned()
    }

    fn incoming_ended(&self, peer: SocketAddr, conn: UnicastConnId, how: Result<(), Lost>) {
        let Some(pipe) = self.pipe(peer) else { return };
        let mut state = pipe.lock();
        if state.conn != Some(conn) {
            return;
        }
        state.incoming.get_or_insert(how);
        let over = state.left && state.closing == Closing::Done;
        drop(state);
        pipe.readable.notify_waiters();
        if over {
            self.shared.book().pipes.remove(&peer);
        }
    }

    /// Puts every message into its connection's inbox.
    fn assign(&mut self) {
        let mut arrived = mem::take(&mut self.arrived);
        let mut messages = arrived.drain(..).peekable();
        while let Some((peer, conn, first)) = messages.next() {
            let pipe = self.pipe_of(peer, conn);
            let mut state = pipe.lock();
            state.inbox.extend(first.into_iter().map(|message| message.data));
            while let Some((.., next)) = messages.next_if(|(p, c, _)| (*p, *c) == (peer, conn)) {
                state.inbox.extend(next.into_iter().map(|message| message.data));
            }
            let left = state.left;
            drop(state);
            pipe.readable.notify_waiters();
            if left {
                self.shared.wake(&pipe); // It has no reader: it is dropped.
            }
        }
        drop(messages);
        self.arrived = arrived;
    }

    /// The connection with a peer; a new one when the peer has started over.
    fn pipe_of(&self, peer: SocketAddr, conn: UnicastConnId) -> Arc<Pipe> {
        let mut book = self.shared.book();
        if let Some(pipe) = book.pipes.get(&peer).cloned() {
            let mut state = pipe.lock();
            if *state.conn.get_or_insert(conn) == conn {
                drop(state);
                return pipe;
            }
            drop(state);
            pipe.end(Lost::Replaced);
        }
        let pipe = Arc::new(Pipe::new(peer, &self.shared));
        pipe.lock().conn = Some(conn);
        book.pipes.insert(peer, Arc::clone(&pipe));
        book.waiting.push_back(Arc::clone(&pipe));
        drop(book);
        self.shared.came.notify_waiters();
        pipe
    }
}
