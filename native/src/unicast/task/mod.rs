//! The task that owns the protocol and the socket.

mod attend;
mod host;

use std::collections::BTreeSet;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use servent_core::engine::Effect;
use servent_core::node::messenger;
use servent_core::time::Instant;
use servent_core::unicast::{
    Config, Conn, Ending, Event, Input, Order, Output, Payload, Refusal, Side,
};

use self::host::Host;
use super::alarm::Alarm;
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
    alarm: Alarm,
    config: Config,
    host: Host,
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
    pub(super) fn new(
        socket: Socket,
        config: Config,
        shared: Arc<Shared>,
        trace: Option<&Path>,
    ) -> io::Result<Self> {
        let mut seed = [0; 8];
        rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
        let clock = Clock::new();
        let host = Host::new(clock.now(), config.clone(), u64::from_ne_bytes(seed), trace)?;
        Ok(Self {
            clock,
            alarm: Alarm::new()?,
            host,
            config,
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
        let now = self.clock.now();
        let wait = |at: Instant| Duration::from_micros(at.since(now).as_micros());
        let after = self.host.poll_timeout().map(wait);
        tokio::select! {
            biased; // The timer is set only if there is nothing else.
            () = self.shared.work.notified() => {}
            _ = self.socket.ready() => {} // What is wrong shows when it is used.
            () = self.alarm.ring(after) => {}
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        self.counters.turns += 1;
        while self.host.poll_timeout().is_some_and(|at| at <= now) {
            self.host.handle_timeout(now);
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
        self.host.end_turn();
        self.publish();
    }

    fn feed(&mut self, now: Instant, input: Input) {
        self.host.handle(now, input);
        if self.host.has_answers() {
            self.gather();
        }
    }

    /// Takes what one system call brings.
    fn read(&mut self, now: Instant) -> bool {
        let Self { socket, host, heard, shared, counters, .. } = self;
        let full = shared.book().waiting.len() >= shared.backlog;
        let mut garbage = Vec::new();
        let more = socket.receive(|peer, datagram| {
            if full && !shared.book().pipes.contains_key(&peer) {
                counters.turned_away += 1;
                return;
            }
            if heard.last() != Some(&peer) {
                heard.push(peer);
            }
            if let Err(why) = host.datagram(now, peer, datagram) {
                garbage.push((peer, why));
            }
        });
        for (from, why) in garbage {
            self.socket.garbage(from, why);
        }
        self.gather();
        more
    }

    /// Carries out what the protocol answered.
    fn gather(&mut self) {
        match &mut self.host {
            Host::Bare { fx, .. } => {
                let mut answers = mem::take(fx);
                answers.drain().for_each(|effect| self.effect(effect));
                if let Host::Bare { fx, .. } = &mut self.host {
                    *fx = answers; // Its memory is used again.
                }
            }
            Host::Taped(taped) => {
                let answers = mem::take(&mut taped.answers);
                answers.into_iter().for_each(|effect| self.taped_effect(effect));
            }
        }
    }

    fn effect(&mut self, effect: Effect<Output, Event>) {
        match effect {
            Effect::Output(Output::Packet { peer, packet }) => {
                self.socket.send(peer, |seal, out| packet.encode(seal, out));
            }
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

    /// The same from behind bytes.
    fn taped_effect(&mut self, effect: Effect<messenger::Output, messenger::Event>) {
        use messenger::{Event as Said, NodeEvent, Output as Wanted};
        let output = match effect {
            Effect::Output(Wanted::Datagram { to, data }) => {
                return self.socket.send(to, |_, out| out.extend_from_slice(&data));
            }
            Effect::Event(Said::Node(NodeEvent::Garbled { from, why, .. })) => {
                return self.socket.garbage(from, why);
            }
            Effect::Event(Said::Node(NodeEvent::Started)) => return,
            Effect::Event(Said::Unicast(event)) => return self.event(event),
            Effect::Output(Wanted::Deliver { from: peer, conn, order, data: payload }) => {
                Output::Deliver { peer, conn, order, payload }
            }
            Effect::Output(Wanted::Refused { to: peer, order, data: payload, why }) => {
                Output::Refused { peer, order, payload, why }
            }
            Effect::Output(Wanted::Writable { to: peer }) => Output::Writable { peer },
        };
        self.effect(Effect::Output(output));
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
