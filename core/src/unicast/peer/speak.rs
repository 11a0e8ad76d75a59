//! What a peer is sent in a turn, and how much of it while its address is not
//! proven.

use super::{GOODBYES, UnicastPeer};
use crate::meet::is_meeting_peer;
use crate::time::Duration;
use crate::unicast::cx::UnicastCx;
use crate::unicast::packer::Packer;
use crate::unicast::receiver::AckCause;
use crate::unicast::sender::SenderEntry;
use crate::unicast::{Config, Event, Output, UnicastConnId, UnicastLimit};
use crate::wire::unicast::{ConnBlock, FirstMessageRequest};

/// Bytes sent per byte received from an unproven peer (decision 9).
const AMPLIFICATION: u64 = 3;

impl UnicastPeer {
    /// Sends everything that may be sent now, in as few datagrams as possible.
    pub(in crate::unicast) fn flush(
        &mut self,
        token: impl Fn(UnicastConnId) -> u64,
        cx: &mut UnicastCx<'_>,
    ) {
        let mut acks = 0;
        self.ask_size(cx);
        loop {
            let mut packer = Packer::new(self.size(cx.config));
            self.say_control(&mut packer, &token, cx);
            self.say_ack(&mut packer, &mut acks, cx);
            if let Some(sender) = &mut self.sender {
                sender.fill_again(&mut packer, cx);
                sender.fill_probe(&mut packer, cx);
                sender.fill_slice(&mut packer, cx);
                sender.fill_new(&mut packer, cx);
            }
            if !self.emit(packer, cx) {
                break;
            }
        }
        self.ask_doubt(cx);
        if let Some(receiver) = &mut self.receiver {
            receiver.asked_enough(cx);
        }
        if let Some(sender) = &mut self.sender {
            sender.note_idle(cx.now);
        }
        self.ask_for_proof(cx);
        self.task = false;
    }

    /// Sends full datagrams without waiting for the end of the turn.
    pub(in crate::unicast) fn flush_full(&mut self, cx: &mut UnicastCx<'_>) {
        let size = self.size(cx.config);
        let answers = cx.config.prove && self.receiver.is_some();
        while let Some(sender) = &mut self.sender
            && !(answers && sender.begins()) // With an acknowledgement, at the end of the turn.
            && sender.unsent() >= size as u64
            && sender.may_send(cx.now)
            && self.budget.free
        {
            let mut packer = Packer::new(size);
            sender.fill_new(&mut packer, cx);
            if !self.emit(packer, cx) {
                return;
            }
        }
    }

    /// Asks the path whether it carries larger datagrams (PA-6).
    fn ask_size(&mut self, cx: &mut UnicastCx<'_>) {
        let Some(sender) = self.sender.as_ref().filter(|it| it.is_measuring()) else { return };
        if cx.config.to_the_letter() || !self.budget.free {
            return;
        }
        let conn = sender.conn;
        if let Some(size) = self.path.ask(cx.now, self.rtt.timeout(0)) {
            let mut packer = Packer::new(size as usize - cx.config.seal.len());
            packer.push(ConnBlock::SizeProbe { conn, size }, 0);
            self.emit(packer, cx);
        }
    }

    /// A small datagram of its own asks whether large ones still arrive. It follows those of
    /// this turn: after a darkness they arrive first.
    fn ask_doubt(&mut self, cx: &mut UnicastCx<'_>) {
        let Some(sender) = &mut self.sender else { return };
        let mut packer = Packer::new(self.path.size() as usize - cx.config.seal.len());
        sender.fill_doubt(&mut packer, cx.now);
        self.emit(packer, cx);
    }

    /// Sends a datagram; false when it is empty.
    fn emit(&mut self, packer: Packer, cx: &mut UnicastCx<'_>) -> bool {
        let used = packer.used() + cx.config.seal.len();
        let Some(packet) = packer.finish() else { return false };
        self.budget.sent = self.budget.sent.saturating_add(used as u64);
        let peer = self.route.unwrap_or(cx.peer);
        if is_meeting_peer(peer.ip()) {
            return true; // The meeting is over: it has no address any more.
        }
        cx.counters.packets_out += 1;
        cx.fx.output(Output::Packet { peer, packet });
        true
    }

    /// The size of the next datagram, not counting the seal.
    fn size(&self, config: &Config) -> usize {
        let mtu = self.path.size() as usize;
        let most = if self.budget.free {
            mtu
        } else {
            let allowed = self.budget.received.saturating_mul(AMPLIFICATION);
            usize::try_from(allowed.saturating_sub(self.budget.sent)).unwrap_or(mtu).min(mtu)
        };
        most.saturating_sub(config.seal.len())
    }

    /// An unproven peer would be sent more than it may get: asks it for an
    /// answer first; the rest waits.
    fn ask_for_proof(&mut self, cx: &mut UnicastCx<'_>) {
        let Some(sender) = self.sender.as_ref().filter(|_| !self.budget.free) else { return };
        if !sender.may_send(cx.now) && !sender.has_again() {
            return;
        }
        cx.limit(UnicastLimit::Amplification);
        let probe = ConnBlock::Probe { conn: sender.conn, sent: sender.highest_sent() };
        let mut packer = Packer::new(self.size(cx.config));
        if packer.push(probe, 0) {
            self.emit(packer, cx);
        }
    }

    /// Adds everything that is neither an acknowledgement nor data.
    fn say_control(
        &mut self,
        packer: &mut Packer,
        token: &impl Fn(UnicastConnId) -> u64,
        cx: &mut UnicastCx<'_>,
    ) {
        if let Some(answer) = self.answer.take() {
            packer.push(answer, 0);
        }
        if let Some((conn, at)) = self.first_wanted
            && at <= cx.now
            && (self.task || !cx.config.to_the_letter())
        {
            self.first_wanted = None;
            if packer.push(ConnBlock::Request(FirstMessageRequest { conn, token: token(conn) }), 0)
            {
                self.first_asked = Some((conn, cx.now));
                cx.fx.event(Event::FirstRequested { peer: cx.peer, conn });
            }
        }
        let pause = if cx.config.to_the_letter() {
            cx.config.task_interval.scaled(cx.config.time_scale)
        } else {
            Duration::ZERO
        };
        let rtt = &self.rtt;
        self.farewells.retain_mut(|farewell| {
            if farewell.at <= cx.now && farewell.said < GOODBYES {
                packer.push(ConnBlock::Close(farewell.close), 0);
                farewell.at = cx.now + pause.max(rtt.timeout(farewell.said));
                farewell.said += 1;
            }
            farewell.at > cx.now
        });
    }

    fn say_ack(&mut self, packer: &mut Packer, acks: &mut u32, cx: &mut UnicastCx<'_>) {
        let Some(receiver) = &mut self.receiver else { return };
        let sends = self.sender.as_ref().is_some_and(|s| s.speaks_now(cx.now));
        // What begins our own half shows that we have heard the peer: it asks no more.
        let begins = cx.config.prove && self.sender.as_ref().is_some_and(SenderEntry::begins);
        let speaks = receiver.must_speak(AckCause::Due, cx)
            || (sends && (begins || receiver.must_speak(AckCause::Company, cx)));
        if speaks && *acks < cx.config.request_packets.max(1) {
            *acks += 1;
            if !receiver.speak(packer, &self.rtt, cx) && packer.used() == 0 {
                // Not even an empty datagram has room for it: the budget of an
                // unproven peer is used up, until its next datagram.
                receiver.hush(cx);
                cx.limit(UnicastLimit::Amplification);
            }
        }
    }
}
