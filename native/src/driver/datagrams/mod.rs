//! Reliable messages on a UDP socket, as the node's task hosts them: what the
//! socket brings goes into the node, what the node wants sent goes to the
//! socket, and connections ([`Pipe`]) share bounded queues with whoever uses
//! them.
//!
//! In a turn the socket is emptied with few system calls, each peer's
//! datagrams go in as one input, everything the connections want goes in, and
//! [`Input::Flush`] ends it. What leaves, leaves after what the turn promises
//! has been saved.

mod attend;
mod counters;
mod error;
mod options;
mod pipe;
mod shared;

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::engine::{Effect, Engine as _};
use servent_core::node::{ConnEvent, Event, Input, Message, Output};
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{self, Config, Conn, Ending, Refusal, Side};

pub use self::counters::Counters;
pub use self::error::{Lost, Undelivered};
pub use self::options::Datagrams;
pub(crate) use self::pipe::{Closing, Pipe};
pub(crate) use self::shared::Shared;
use super::turn::Loop;
use crate::net::udp::{Socket, Train};

/// Whoever refuses us for so long does so for good; it may be about to start.
const REFUSED: Duration = Duration::from_secs(2);

/// System calls that receive, in one turn.
const READS: usize = 4;

/// The socket and the connections.
pub(super) struct Messaging {
    config: Config,
    socket: Socket,
    shared: Arc<Shared>,
    counters: Counters,
    /// What the socket brought last. Kept for its memory alone.
    trains: Vec<Train>,
    /// Delivered in this turn.
    arrived: Vec<(SocketAddr, Conn, Vec<Message>)>,
    /// Peers heard in this turn: their acknowledgements may have moved.
    heard: Vec<SocketAddr>,
    /// Peers that do not answer, and how that shows.
    silent: Vec<(SocketAddr, Lost)>,
    /// Since when the only peer's system says that nobody listens there.
    closed: Option<Instant>,
    /// An empty outbox. Kept for its memory alone.
    spare: VecDeque<Message>,
    /// The messages the node gave back.
    refused: Option<(Vec<Message>, Refusal)>,
    /// Peers with room again.
    writable: Vec<SocketAddr>,
    /// Connections whose last acknowledgement is waited for.
    closing: Vec<Arc<Pipe>>,
    /// The receiving halves have been let go, because everything ends.
    leaving: bool,
}

impl Messaging {
    pub(super) fn new(socket: Socket, config: Config, shared: Arc<Shared>) -> Self {
        Self {
            config,
            socket,
            shared,
            counters: Counters::default(),
            trains: Vec::new(),
            arrived: Vec::new(),
            heard: Vec::new(),
            silent: Vec::new(),
            closed: None,
            spare: VecDeque::new(),
            refused: None,
            writable: Vec::new(),
            closing: Vec::new(),
            leaving: false,
        }
    }

    /// What those who use connections see of it.
    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Waits until there is something to do.
    pub(super) async fn work(&self) {
        tokio::select! {
            () = self.shared.work.notified() => {}
            _ = self.socket.ready() => {} // What is wrong shows when it is used.
        }
    }

    /// Everything of a turn but for what leaves.
    pub(super) fn turn(&mut self, now: Instant, node: &mut Loop) {
        self.counters.turns += 1;
        self.gather(node); // What the timers led to.
        for _ in 0..READS {
            if !self.read(now, node) {
                break;
            }
        }
        self.assign();
        self.note_acknowledged(node);
        self.look_at_refusals(now);
        self.give_up_on_the_silent(now, node);
        self.look_at_queued(now, node);
        if node.endpoint().is_some_and(|it| it.poll_timeout().is_some_and(|(at, _)| at <= now)) {
            self.feed(now, Input::Flush, node);
        }
        self.check_closing(node);
    }

    /// The end of a turn: what there is leaves. True when everything is said
    /// and nobody wants this any more.
    pub(super) fn end_turn(&mut self, now: Instant, node: &mut Loop) -> bool {
        self.socket.flush();
        self.publish(node);
        self.finished(now, node)
    }

    fn feed(&mut self, now: Instant, input: Input, node: &mut Loop) {
        node.feed(now, input);
        self.gather(node);
    }

    /// Takes what one system call brings.
    fn read(&mut self, now: Instant, node: &mut Loop) -> bool {
        let full = self.shared.book().waiting.len() >= self.shared.backlog;
        let mut trains = mem::take(&mut self.trains);
        let more = self.socket.receive(&mut trains);
        for Train { peer, segment, data } in trains.drain(..) {
            if full && !self.shared.book().pipes.contains_key(&peer) {
                self.counters.turned_away += data.len().div_ceil(segment) as u64;
                continue;
            }
            if self.heard.last() != Some(&peer) {
                self.heard.push(peer);
            }
            let segment = u32::try_from(segment).unwrap_or(u32::MAX);
            node.feed(now, Input::Datagrams { from: peer, segment, data });
        }
        self.trains = trains;
        self.gather(node);
        more
    }

    /// Carries out what the node answered.
    fn gather(&mut self, node: &mut Loop) {
        let mut said = mem::take(&mut node.said);
        for effect in said.drain(..) {
            match effect {
                Effect::Output(Output::Datagrams { to, segment, data }) => {
                    self.socket.send(to, segment, data);
                }
                Effect::Output(Output::Deliver { from, conn, messages }) => {
                    self.arrived.push((from, conn, messages));
                }
                Effect::Output(Output::Refused { messages, why, .. }) => {
                    self.refused = Some((messages, why));
                }
                Effect::Output(Output::Writable { to }) => self.writable.push(to),
                Effect::Event(Event::Unicast(event)) => self.event(event),
                Effect::Event(Event::Conn(ConnEvent::Garbled { from, why, .. })) => {
                    self.socket.garbage(from, &why);
                }
                Effect::Output(_) | Effect::Event(_) => {} // Not of datagrams.
            }
        }
        node.said = said; // Its memory is used again.
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
                    Ending::Finished => Ok(()),
                    Ending::Abandoned => Err(Lost::Abandoned),
                    Ending::Replaced => Err(Lost::Replaced),
                    Ending::Idle => Err(Lost::Idle),
                    Ending::Asked | Ending::Unreachable | Ending::Forgotten => return,
                };
                self.assign(); // What was delivered before comes before.
                self.incoming_ended(peer, conn, how);
            }
            other => tracing::trace!(?other, "unicast"),
        }
    }

    fn pipe(&self, peer: SocketAddr) -> Option<Arc<Pipe>> {
        self.shared.book().pipes.get(&peer).cloned()
    }

    fn incoming_ended(&self, peer: SocketAddr, conn: Conn, how: Result<(), Lost>) {
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
                self.shared.wake(&pipe); // Nobody takes it: it is thrown away.
            }
        }
        drop(messages);
        self.arrived = arrived;
    }

    /// The connection with a peer; a new one when the peer began anew.
    fn pipe_of(&self, peer: SocketAddr, conn: Conn) -> Arc<Pipe> {
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
        let pipe = Arc::new(Pipe::new(peer));
        pipe.lock().conn = Some(conn);
        book.pipes.insert(peer, Arc::clone(&pipe));
        book.waiting.push_back(Arc::clone(&pipe));
        drop(book);
        self.shared.came.notify_waiters();
        pipe
    }
}
