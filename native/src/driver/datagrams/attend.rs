//! What connections ask for: sending, closing, and giving up on peers.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use servent_core::node::{Input, MessageCommand, MessageInput, NodeCommand, UnicastMessage};
use servent_core::time::Instant;
use servent_core::unicast::{MessageRefusal, Room, Side};

use super::{Closing, Loop, Lost, Messaging, Pipe, REFUSED};

/// Messages in one input: enough that the cost of the input itself is
/// negligible, few enough that their list stays in the processor's cache.
const TOGETHER: usize = 256;

impl Messaging {
    /// Looks at the connections that were used since the last turn, or whose
    /// send window has room again.
    pub(super) fn look_at_queued(&mut self, now: Instant, node: &mut Loop) {
        for peer in mem::take(&mut self.writable) {
            if let Some(pipe) = self.pipe(peer) {
                pipe.lock().blocked = false;
                self.look(now, &pipe, node);
            }
        }
        let (queued, all) = {
            let mut book = self.shared.book();
            let all: Vec<Arc<Pipe>> =
                if book.stopping { book.pipes.values().cloned().collect() } else { Vec::new() };
            (mem::take(&mut book.queued), all)
        };
        for pipe in queued {
            pipe.seen();
            self.look(now, &pipe, node);
        }
        for pipe in all {
            let mut state = pipe.lock();
            if state.closing == Closing::No {
                state.closing = Closing::Asked;
                state.outgoing.get_or_insert(Lost::Closed);
                drop(state);
                self.look(now, &pipe, node);
            }
        }
    }

    fn look(&mut self, now: Instant, pipe: &Arc<Pipe>, node: &mut Loop) {
        self.tell_taken(now, pipe, node);
        self.pump(now, pipe, node);
        self.close(now, pipe, node);
    }

    /// Reports to the node what the application has consumed; everything, once
    /// the application has dropped the connection.
    fn tell_taken(&mut self, now: Instant, pipe: &Pipe, node: &mut Loop) {
        let mut state = pipe.lock();
        if state.left {
            for payload in mem::take(&mut state.inbox) {
                state.taken.0 += 1;
                state.taken.1 += payload.len() as u64;
            }
        }
        let (messages, bytes) = mem::take(&mut state.taken);
        drop(state);
        if messages > 0 {
            let taken =
                NodeCommand::Messages(MessageCommand::Taken { from: pipe.peer, messages, bytes });
            self.feed(now, Input::Command(taken), node);
        }
    }

    /// Moves messages into the send window until it is full.
    fn pump(&mut self, now: Instant, pipe: &Arc<Pipe>, node: &mut Loop) {
        let to = pipe.peer;
        let mut state = pipe.lock();
        let ends = matches!(state.closing, Closing::Abandoned | Closing::GivenUp | Closing::Done);
        if state.blocked || state.outbox.is_empty() || ends {
            return;
        }
        let mut outbox = mem::replace(&mut state.outbox, mem::take(&mut self.spare));
        drop(state);
        let length =
            |messages: &[UnicastMessage]| messages.iter().map(|it| it.data.len()).sum::<usize>();
        let mut refused = None;
        while refused.is_none() && !outbox.is_empty() {
            let fitting = fitting(&outbox, room(node, pipe));
            let messages: Vec<UnicastMessage> = outbox.drain(..fitting).collect();
            let mut bytes = length(&messages);
            self.feed(
                now,
                Input::Command(NodeCommand::Messages(MessageCommand::Send { to, messages })),
                node,
            );
            refused = self.refused.take().map(|(messages, why)| {
                bytes -= length(&messages);
                messages.into_iter().rev().for_each(|message| outbox.push_front(message));
                why
            });
            pipe.passed_on(bytes);
        }
        if refused.is_some_and(|why| why != MessageRefusal::Full) {
            pipe.end(Lost::TooManyPeers);
        }
        let mut state = pipe.lock();
        state.blocked = refused == Some(MessageRefusal::Full);
        if !outbox.is_empty() {
            outbox.append(&mut state.outbox); // Handed in meanwhile.
            mem::swap(&mut outbox, &mut state.outbox);
        }
        drop(state);
        self.spare = outbox;
    }

    /// Takes a requested close one step further.
    fn close(&mut self, now: Instant, pipe: &Arc<Pipe>, node: &mut Loop) {
        let peer = pipe.peer;
        let mut state = pipe.lock();
        if state.left && state.closing == Closing::No {
            state.closing = Closing::Asked;
        }
        match state.closing {
            Closing::Asked if state.outbox.is_empty() => {
                state.closing = Closing::Told;
                drop(state);
                let close = NodeCommand::Messages(MessageCommand::Close { to: peer });
                self.feed(now, Input::Command(close), node);
                self.closing.push(Arc::clone(pipe));
            }
            Closing::Abandoned => {
                drop(state);
                let abandon = NodeCommand::Messages(MessageCommand::Abandon { to: peer });
                self.feed(now, Input::Command(abandon), node);
                self.closed(pipe);
            }
            Closing::GivenUp => {
                drop(state);
                self.forget(now, peer, Side::Sender, node);
                self.closed(pipe);
            }
            Closing::Done => {
                drop(state);
                self.sweep(pipe);
            }
            _ => {}
        }
    }

    /// Our half of the connection has ended, one way or another.
    fn closed(&self, pipe: &Arc<Pipe>) {
        pipe.lock().closing = Closing::Done;
        pipe.ended.notify_waiters();
        self.sweep(pipe);
    }

    /// Removes a connection from the book when nothing is left of it.
    fn sweep(&self, pipe: &Arc<Pipe>) {
        let state = pipe.lock();
        let over = state.left && (state.conn.is_none() || state.incoming.is_some());
        drop(state);
        if over {
            self.remove(pipe);
        }
    }

    /// Removes a connection from the book, unless another has taken its place.
    fn remove(&self, pipe: &Arc<Pipe>) {
        let mut book = self.shared.book();
        if book.pipes.get(&pipe.peer).is_some_and(|it| Arc::ptr_eq(it, pipe)) {
            book.pipes.remove(&pipe.peer);
        }
    }

    /// Ends the closes whose last message is acknowledged by now.
    pub(super) fn check_closing(&mut self, node: &Loop) {
        let mut closing = mem::take(&mut self.closing);
        closing.retain(|pipe| {
            if pipe.lock().closing != Closing::Told {
                return false; // It ended in another way.
            }
            let done = unacknowledged(node, pipe) == (0, 0);
            if done {
                self.closed(pipe);
            }
            !done
        });
        self.closing = closing;
    }

    /// Notes, for every peer heard from in this turn, how much it has
    /// acknowledged.
    pub(super) fn note_acknowledged(&mut self, node: &Loop) {
        let mut heard = mem::take(&mut self.heard);
        if let Some(rtt) = heard.last().and_then(|peer| node.endpoint()?.rtt(*peer)) {
            self.counters.rtt_us = rtt.as_micros();
        }
        let size = heard.last().and_then(|peer| node.endpoint()?.datagram_size(*peer));
        self.counters.datagram_out = size.unwrap_or(self.counters.datagram_out);
        for peer in heard.drain(..) {
            if let Some(pipe) = self.pipe(peer) {
                Self::acknowledged(&pipe, node);
            }
        }
        self.heard = heard;
    }

    fn acknowledged(pipe: &Pipe, node: &Loop) {
        let (_, kept) = unacknowledged(node, pipe);
        let count = node.endpoint().map_or(0, |it| it.heard(pipe.peer));
        let mut state = pipe.lock();
        // What only looks as if it came from there does not hide that it is silent.
        if count != std::mem::replace(&mut state.heard_count, count) && count > 0 {
            state.heard = tokio::time::Instant::now();
        }
        // Once messages are known to be undelivered, a smaller send window no
        // longer means that they were acknowledged.
        if state.numbers.is_empty() {
            let sent = state.accepted.saturating_sub(state.outbox_bytes as u64);
            state.acknowledged = state.acknowledged.max(sent.saturating_sub(kept));
        }
    }

    /// Notes the peer whose system refuses our datagrams again and again. A dark
    /// path is different: nothing at all comes back on it. What a stranger forges
    /// ends nothing, because the peer's own datagrams come in between.
    pub(super) fn look_at_refusals(&mut self, now: Instant) {
        if self.socket.take_refused() {
            let (since, count) = self.refusals.unwrap_or_else(|| {
                self.look_again();
                (now, 0)
            });
            self.refusals = Some((since, count + 1));
        }
        let Some((since, count)) = self.refusals else { return };
        if now.since(since) < REFUSED.0 || count < REFUSED.1 {
            return;
        }
        self.refusals = None;
        let why = |pipe: &Arc<Pipe>| match pipe.lock().acknowledged {
            0 => (pipe.peer, Lost::Refused),
            _ => (pipe.peer, Lost::Vanished),
        };
        self.silent.extend(self.shared.book().pipes.values().map(why));
    }

    /// Has refusals judged when their time is over: by then messages are repeated so
    /// seldom that the next refusal may take seconds more.
    fn look_again(&self) {
        let (shared, wait) = (Arc::clone(&self.shared), REFUSED.0.as_micros());
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_micros(wait)).await;
            shared.work.notify_one();
        });
    }

    /// Ends the connections with peers that do not answer.
    pub(super) fn give_up_on_the_silent(&mut self, now: Instant, node: &mut Loop) {
        self.silent.append(&mut self.shared.book().gone);
        for (peer, why) in mem::take(&mut self.silent) {
            self.counters.unreachable += 1;
            for side in [Side::Sender, Side::Receiver] {
                self.forget(now, peer, side, node);
            }
            self.assign();
            if let Some(pipe) = self.pipe(peer) {
                pipe.end(why);
                self.remove(&pipe);
            }
        }
    }

    fn forget(&mut self, now: Instant, peer: SocketAddr, side: Side, node: &mut Loop) {
        self.feed(
            now,
            Input::Command(NodeCommand::Messages(MessageCommand::Forget { peer, side })),
            node,
        );
    }

    /// True when the endpoint was told to stop and nothing is left to send.
    pub(super) fn finished(&mut self, now: Instant, node: &mut Loop) -> bool {
        {
            let book = self.shared.book();
            let done = |pipe: &Arc<Pipe>| pipe.lock().closing == Closing::Done;
            if !book.stopping || !book.pipes.values().all(done) {
                return false;
            }
        }
        let peers = |node: &Loop| -> Vec<SocketAddr> {
            let views = node.endpoint().map(|it| it.view()).unwrap_or_default();
            views.iter().map(|view| view.peer).collect()
        };
        if !self.leaving {
            self.leaving = true;
            for peer in peers(node) {
                self.forget(now, peer, Side::Receiver, node);
            }
            self.feed(now, Input::Messages(MessageInput::Flush), node);
            self.flush();
        }
        // With the timing of the specification, CLOSE follows long after the
        // last message.
        let said = self.config.to_the_letter() || peers(node).is_empty();
        said && self.socket.is_flushed() && self.shared.detours.is_flushed()
    }

    /// Publishes the counters.
    pub(super) fn publish(&mut self, node: &Loop) {
        if let Some(endpoint) = node.endpoint() {
            self.counters.protocol = endpoint.counters();
        }
        self.counters.socket = self.socket.counters;
        *self.shared.counters() = self.counters;
    }
}

/// How much more the send window of a connection would take.
fn room(node: &Loop, pipe: &Pipe) -> Room {
    node.endpoint().map_or(Room { messages: 0, bytes: 0 }, |it| it.room(pipe.peer))
}

/// Unacknowledged messages and bytes in the send window of a connection.
fn unacknowledged(node: &Loop, pipe: &Pipe) -> (u64, u64) {
    node.endpoint().map_or((0, 0), |it| it.unacknowledged(pipe.peer))
}

/// How many messages to offer at once: those that fit and one more, so that the
/// node knows that a sender is waiting for room.
fn fitting(outbox: &VecDeque<UnicastMessage>, room: Room) -> usize {
    let Room { messages, mut bytes } = room;
    let fits = |message: &&UnicastMessage| {
        let length = message.data.len() as u64;
        let fits = length <= bytes;
        bytes = bytes.saturating_sub(length);
        fits
    };
    let most = usize::try_from(messages).unwrap_or(TOGETHER).min(TOGETHER);
    let fitting = outbox.iter().take(most).take_while(fits).count();
    outbox.len().min(fitting + 1)
}

impl Drop for Messaging {
    /// However the task ends, no connection may go on waiting for it.
    fn drop(&mut self) {
        let pipes = {
            let mut book = self.shared.book();
            book.over = true;
            book.waiting.clear();
            mem::take(&mut book.pipes)
        };
        for pipe in pipes.values() {
            pipe.end(Lost::Closed);
        }
        self.shared.detours.end();
        self.shared.came.notify_waiters();
    }
}
