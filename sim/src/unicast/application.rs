//! The applications: they send what the script says, and read what arrives.

use alloc::vec;

use super::event::{Event, MessagingEvent};
use super::host::{Application, Unsent};
use super::world::{UnicastWorld, address};
use servent_core::node::{
    Input, MessageCommand, MessageOutput, NodeCommand, Output, UnicastMessage,
};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::unicast::{UnicastConnId, UnicastPayload};

/// The next action of an application.
enum Next {
    Tell(NodeCommand),
    Write(u32, Unsent),
    Close(u32),
}

impl Application {
    fn next(&mut self) -> Option<Next> {
        let reads = self.reads;
        for (to, talk) in (0..).zip(&mut self.talks) {
            let (messages, bytes) = talk.taken;
            if reads && messages > 0 {
                talk.taken = (0, 0);
                let from = address(NodeId(to));
                return Some(Next::Tell(NodeCommand::Messages(MessageCommand::Taken {
                    from,
                    messages,
                    bytes,
                })));
            }
            if !talk.waits
                && let Some(unsent) = talk.outbox.pop_front()
            {
                return Some(Next::Write(to, unsent));
            }
            if talk.closes && talk.outbox.is_empty() {
                talk.closes = false;
                return Some(Next::Close(to));
            }
        }
        None
    }
}

impl UnicastWorld {
    /// Lets an application do what it can do now.
    pub(super) fn application(&mut self, host: u32, cause: RecordCause) {
        loop {
            let slot = self.slot_mut(host);
            if slot.stalled.is_some() || slot.engine.is_none() {
                return;
            }
            match slot.own.next() {
                None => return,
                Some(Next::Tell(command)) => self.tell(host, command, cause),
                Some(Next::Write(to, unsent)) => self.write(host, to, unsent, cause),
                Some(Next::Close(to)) => {
                    let to = NodeId(to);
                    let seq = self.note(host, cause, Event::App(MessagingEvent::Closes { to }));
                    self.tell(
                        host,
                        NodeCommand::Messages(MessageCommand::Close { to: address(to) }),
                        Some(seq),
                    );
                }
            }
        }
    }

    fn tell(&mut self, host: u32, command: NodeCommand, cause: RecordCause) {
        self.handle(host, Input::Command(command));
        self.carry(host, cause);
    }

    fn write(&mut self, host: u32, to: u32, unsent: Unsent, cause: RecordCause) {
        let at = address(NodeId(to));
        let sending =
            |world: &Self| world.node(NodeId(host)).and_then(|node| node.datagrams()?.sending(at));
        let before = sending(self);
        let Unsent { n, size, order } = unsent;
        let messages = vec![UnicastMessage { order, data: message(n, size) }];
        let command = NodeCommand::Messages(MessageCommand::Send { to: at, messages });
        self.handle(host, Input::Command(command));
        let refused =
            self.fx.outputs().any(|o| matches!(o, Output::Messages(MessageOutput::Refused { .. })));
        let after = sending(self);
        let talk = &mut self.own_mut(host).talks[to as usize];
        let to = NodeId(to);
        let app = if refused {
            talk.outbox.push_front(unsent);
            talk.waits = true;
            MessagingEvent::Waits { to, n }
        } else {
            let (conn, from, last) = numbers(before, after);
            MessagingEvent::Wrote { to, n, bytes: size, order, conn, from, last }
        };
        let seq = self.note(host, cause, Event::App(app));
        self.own_mut(host).talks[to.0 as usize].last = Some(seq);
        self.carry(host, Some(seq));
    }

    /// A message was delivered.
    pub(super) fn read(
        &mut self,
        host: u32,
        (from, conn, UnicastMessage { order, data }): (u32, UnicastConnId, UnicastMessage),
        cause: RecordCause,
    ) {
        let n = number(&data);
        debug_assert_eq!(data, message(n, data.len() as u32), "what was sent is what is read");
        let taken = &mut self.own_mut(host).talks[from as usize].taken;
        *taken = (taken.0 + 1, taken.1 + data.len() as u64);
        let app = MessagingEvent::Read { from: NodeId(from), n, order, conn };
        self.note(host, cause, Event::App(app));
    }
}

/// The connection and the sequence numbers of the message that was just
/// accepted.
fn numbers(
    before: Option<(UnicastConnId, u64)>,
    after: Option<(UnicastConnId, u64)>,
) -> (UnicastConnId, u64, u64) {
    let (conn, last) = after.unwrap_or_default();
    let first = before.filter(|(old, _)| *old == conn).map_or(1, |(_, last)| last + 1);
    (conn, first, last)
}

/// The content of the `n`-th message: its number, then bytes that depend on it.
fn message(n: u64, size: u32) -> UnicastPayload {
    let mut bytes = vec![n as u8; size as usize];
    for (byte, digit) in bytes.iter_mut().zip(n.to_be_bytes()) {
        *byte = digit;
    }
    bytes.into()
}

fn number(data: &UnicastPayload) -> u64 {
    data.iter().take(8).fold(0, |n, byte| n << 8 | u64::from(*byte))
}
