//! What connections want, and what becomes of them.

use std::mem;
use std::sync::Arc;

use servent_core::time::Instant;
use servent_core::unicast::{Input, Refusal, Room, Side};

use super::Task;
use crate::unicast::error::Lost;
use crate::unicast::pipe::{Closing, Pipe};

impl Task {
    /// Connections that were used since the last turn, or have room again.
    pub(super) fn look_at_queued(&mut self, now: Instant) {
        for peer in mem::take(&mut self.writable) {
            self.blocked.remove(&peer);
            if let Some(pipe) = self.pipe(peer) {
                self.look(now, &pipe);
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
            self.look(now, &pipe);
        }
        for pipe in all {
            let mut state = pipe.lock();
            if state.closing == Closing::No {
                state.closing = Closing::Asked;
                state.outgoing.get_or_insert(Lost::Closed);
                drop(state);
                self.look(now, &pipe);
            }
        }
    }

    fn look(&mut self, now: Instant, pipe: &Arc<Pipe>) {
        self.tell_taken(now, pipe);
        if !self.blocked.contains(&pipe.peer) {
            self.pump(now, pipe);
        }
        self.close(now, pipe);
    }

    /// Tells what the application has consumed; all of it, when it has left.
    fn tell_taken(&mut self, now: Instant, pipe: &Pipe) {
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
            self.feed(now, Input::Taken { peer: pipe.peer, messages, bytes });
        }
    }

    /// Moves messages into the send window until it is full.
    fn pump(&mut self, now: Instant, pipe: &Arc<Pipe>) {
        let peer = pipe.peer;
        let mut outbox = mem::take(&mut pipe.lock().outbox);
        if outbox.is_empty() {
            return;
        }
        let mut bytes = 0;
        while let Some((payload, order)) = outbox.pop_front() {
            let length = payload.len();
            self.feed(now, Input::Send { peer, payload, order });
            match self.refused.take() {
                None => bytes += length,
                Some((payload, order, Refusal::Full)) => {
                    outbox.push_front((payload, order));
                    self.blocked.insert(peer);
                    break;
                }
                Some((_, _, Refusal::TooLong | Refusal::TooManyPeers)) => {
                    pipe.end(Lost::TooManyPeers);
                    break;
                }
            }
        }
        let mut state = pipe.lock();
        outbox.append(&mut state.outbox); // Handed in meanwhile.
        state.outbox = outbox;
        state.outbox_bytes -= bytes;
        let room = state.room();
        drop(state);
        if room {
            pipe.writable.notify_waiters();
        }
    }

    /// Takes a wish to close one step further.
    fn close(&mut self, now: Instant, pipe: &Arc<Pipe>) {
        let peer = pipe.peer;
        let mut state = pipe.lock();
        if state.left && state.closing == Closing::No {
            state.closing = Closing::Asked;
        }
        match state.closing {
            Closing::Asked if state.outbox.is_empty() => {
                state.closing = Closing::Told;
                drop(state);
                self.feed(now, Input::Close { peer });
                self.closing.push(Arc::clone(pipe));
            }
            Closing::GivenUp => {
                drop(state);
                self.feed(now, Input::Forget { peer, side: Side::Sender });
                self.blocked.remove(&peer);
                self.closed(pipe);
            }
            Closing::Done => {
                drop(state);
                self.sweep(pipe);
            }
            _ => {}
        }
    }

    /// Our half has ended, one way or another.
    fn closed(&self, pipe: &Arc<Pipe>) {
        pipe.lock().closing = Closing::Done;
        pipe.ended.notify_waiters();
        self.sweep(pipe);
    }

    /// Takes a connection out of the book when nothing is left of it.
    fn sweep(&self, pipe: &Arc<Pipe>) {
        let state = pipe.lock();
        let over = state.left && (state.conn.is_none() || state.incoming.is_some());
        drop(state);
        if over {
            self.remove(pipe);
        }
    }

    /// Takes a connection out of the book, unless another is in its place.
    fn remove(&self, pipe: &Arc<Pipe>) {
        let mut book = self.shared.book();
        if book.pipes.get(&pipe.peer).is_some_and(|it| Arc::ptr_eq(it, pipe)) {
            book.pipes.remove(&pipe.peer);
        }
    }

    /// Which closings are acknowledged now.
    pub(super) fn check_closing(&mut self) {
        let mut closing = mem::take(&mut self.closing);
        closing.retain(|pipe| {
            if pipe.lock().closing != Closing::Told {
                return false; // It ended otherwise.
            }
            let done = self.unacknowledged(pipe) == (0, 0);
            if done {
                self.closed(pipe);
            }
            !done
        });
        self.closing = closing;
    }

    /// Messages and bytes in the send window.
    fn unacknowledged(&self, pipe: &Pipe) -> (u64, u64) {
        let Room { messages, bytes } = self.host.endpoint().room(pipe.peer);
        let all = u64::from(self.config.send_messages);
        (all.saturating_sub(messages), self.config.send_bytes.saturating_sub(bytes))
    }

    /// Notes for everybody heard how much they have acknowledged.
    pub(super) fn note_acknowledged(&mut self) {
        let mut heard = mem::take(&mut self.heard);
        if let Some(rtt) = heard.last().and_then(|peer| self.host.endpoint().rtt(*peer)) {
            self.counters.rtt_us = rtt.as_micros();
        }
        for peer in heard.drain(..) {
            if let Some(pipe) = self.pipe(peer) {
                self.acknowledged(&pipe);
            }
        }
        self.heard = heard;
    }

    fn acknowledged(&self, pipe: &Pipe) {
        let (_, kept) = self.unacknowledged(pipe);
        let mut state = pipe.lock();
        // What nobody will acknowledge is no longer kept either.
        if state.numbers.is_empty() {
            let sent = state.accepted.saturating_sub(state.outbox_bytes as u64);
            state.acknowledged = state.acknowledged.max(sent.saturating_sub(kept));
        }
    }

    /// Ends the connections with peers that do not answer.
    pub(super) fn give_up_on_the_silent(&mut self, now: Instant) {
        for peer in mem::take(&mut self.silent) {
            self.counters.unreachable += 1;
            self.blocked.remove(&peer);
            for side in [Side::Sender, Side::Receiver] {
                self.feed(now, Input::Forget { peer, side });
            }
            self.assign();
            if let Some(pipe) = self.pipe(peer) {
                pipe.end(Lost::Unreachable);
                self.remove(&pipe);
            }
        }
    }

    /// True when it was told to stop and there is nothing left to say.
    pub(super) fn finished(&mut self) -> bool {
        {
            let book = self.shared.book();
            let done = |pipe: &Arc<Pipe>| pipe.lock().closing == Closing::Done;
            if !book.stopping || !book.pipes.values().all(done) {
                return false;
            }
        }
        if !self.leaving {
            self.leaving = true;
            let now = self.clock.now();
            for view in self.host.endpoint().view() {
                self.feed(now, Input::Forget { peer: view.peer, side: Side::Receiver });
            }
            self.feed(now, Input::Flush);
            self.socket.flush();
        }
        // The text's own profile says CLOSE long after the last message.
        let said = self.config.to_the_letter() || self.host.endpoint().view().is_empty();
        said && self.socket.is_flushed()
    }

    /// Lets everybody see the counters.
    pub(super) fn publish(&mut self) {
        self.counters.protocol = self.host.endpoint().counters();
        self.counters.socket = self.socket.counters;
        *self.shared.counters() = self.counters;
    }
}

impl Drop for Task {
    /// However it ends, nobody waits for it any more.
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
        self.shared.came.notify_waiters();
    }
}
