//! The task that owns the protocol and the socket.

mod attend;

use std::collections::BTreeSet;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::engine::{Effect, Engine as _, FxOf};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::unicast::{
    Config, Conn, Ending, Endpoint as Engine, Event, Input, Order, Output, Payload, Refusal, Side,
};

use super::counters::Counters;
use super::endpoint::Shared;
use super::error::Lost;
use super::pipe::{Closing, Pipe};
use super::socket::Socket;
use crate::clock::Clock;

/// System calls that receive, in one turn.
const READS: usize = 4;

/// The protocol and everything it acts upon.
pub(super) struct Task {
    clock: Clock,
    config: Config,
    engine: Engine,
    fx: FxOf<Engine>,
    socket: Socket,
    shared: Arc<Shared>,
    counters: Counters,
    /// Delivered in this turn.
    arrived: Vec<(SocketAddr, Conn, Payload)>,
    /// Peers heard in this turn: their acknowledgements may have moved.
    heard: Vec<SocketAddr>,
    /// Peers that do not answer.
    silent: Vec<SocketAddr>,
    /// Peers whose send window is full.
    blocked: BTreeSet<SocketAddr>,
    /// The message the engine gave back.
    refused: Option<(Payload, Order, Refusal)>,
    /// Peers with room again.
    writable: Vec<SocketAddr>,
    /// Connections whose last acknowledgement is waited for.
    closing: Vec<Arc<Pipe>>,
    /// The receiving halves have been let go, because everything ends.
    leaving: bool,
}

impl Task {
    pub(super) fn new(socket: Socket, config: Config, shared: Arc<Shared>) -> io::Result<Self> {
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
        let rng = Rng::new(u64::from_ne_bytes(seed));
        Ok(Self {
            clock: Clock::new(),
            engine: Engine::new(config.clone(), rng),
            config,
            fx: FxOf::<Engine>::new(),
            socket,
            shared,
            counters: Counters::default(),
            arrived: Vec::new(),
            heard: Vec::new(),
            silent: Vec::new(),
            blocked: BTreeSet::new(),
            refused: None,
            writable: Vec::new(),
            closing: Vec::new(),
            leaving: false,
        })
    }

    /// Runs until it is told to stop and everything is said, or aborted.
    pub(super) async fn run(mut self) {
        while !self.finished() {
            self.wait().await;
            self.turn();
        }
    }

    async fn wait(&self) {
        let due = self.engine.poll_timeout().map(|(at, _)| self.clock.wake_at(at));
        let timer = async {
            match due {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.shared.work.notified() => {}
            _ = self.socket.ready() => {} // What is wrong shows when it is used.
            () = timer => {}
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        self.counters.turns += 1;
        while self.engine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.engine.handle_timeout(now, &mut self.fx);
            self.gather();
        }
        for _ in 0..READS {
            if !self.read(now) {
                break;
            }
        }
        self.assign();
        self.note_acknowledged();
        self.give_up_on_the_silent(now);
        self.look_at_queued(now);
        self.feed(now, Input::Flush);
        self.check_closing();
        self.socket.flush();
        self.publish();
    }

    fn feed(&mut self, now: Instant, input: Input) {
        self.engine.handle(now, input, &mut self.fx);
        self.gather();
    }

    /// Takes what one system call brings.
    fn read(&mut self, now: Instant) -> bool {
        let Self { socket, engine, fx, heard, shared, counters, .. } = self;
        let full = shared.book().waiting.len() >= shared.backlog;
        let more = socket.receive(|peer, packet, bytes| {
            if full && !shared.book().pipes.contains_key(&peer) {
                counters.turned_away += 1;
                return;
            }
            if heard.last() != Some(&peer) {
                heard.push(peer);
            }
            engine.handle(now, Input::Packet { peer, packet, bytes }, fx);
        });
        self.gather();
        more
    }

    /// Carries out what the engine answered.
    fn gather(&mut self) {
        let mut fx = mem::take(&mut self.fx);
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Packet { peer, packet }) => self.socket.send(peer, &packet),
                Effect::Output(Output::Deliver { peer, conn, payload, .. }) => {
                    self.arrived.push((peer, conn, payload));
                }
                Effect::Output(Output::Refused { order, payload, why, .. }) => {
                    self.refused = Some((payload, order, why));
                }
                Effect::Output(Output::Writable { peer }) => self.writable.push(peer),
                Effect::Event(event) => self.event(event),
            }
        }
        self.fx = fx;
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::PeerUnreachable { peer, .. } => self.silent.push(peer),
            Event::Undelivered { peer, from, to, .. } => {
                if let Some(pipe) = self.pipe(peer) {
                    pipe.lock().numbers.push((from, to));
                }
            }
            Event::Closed { peer, conn, side: Side::Receiver, why, .. } => {
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
            state.inbox.push_back(first);
            while let Some((.., next)) = messages.next_if(|(p, c, _)| (*p, *c) == (peer, conn)) {
                state.inbox.push_back(next);
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
