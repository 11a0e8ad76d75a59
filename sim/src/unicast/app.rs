//! The applications: they write what the script says, and read what comes.

use alloc::vec::Vec;

use super::event::{AppEvent, Event};
use super::host::{Host, Unsent};
use super::world::{World, address};
use servent_core::engine::Engine as _;
use servent_core::node::messenger::{Command, Input, Messenger, Output};
use servent_core::trace::{Cause, NodeId, Record};
use servent_core::unicast::{Conn, Order, Payload};

/// The next thing an application does.
enum Next {
    Tell(Command),
    Write(u32, Unsent),
    Close(u32),
}

impl Host {
    fn next(&mut self) -> Option<Next> {
        let reads = self.reads;
        for (to, talk) in (0..).zip(&mut self.talks) {
            let (messages, bytes) = talk.taken;
            if reads && messages > 0 {
                talk.taken = (0, 0);
                let from = address(NodeId(to));
                return Some(Next::Tell(Command::Taken { from, messages, bytes }));
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

impl World {
    /// Lets an application do what it can do now.
    pub(super) fn application(&mut self, host: u32, cause: Cause, out: &mut Vec<Record<Event>>) {
        loop {
            let h = &mut self.hosts[host as usize];
            if h.stalled || h.messenger.is_none() {
                return;
            }
            match h.next() {
                None => return,
                Some(Next::Tell(command)) => self.tell(host, command, cause, out),
                Some(Next::Write(to, unsent)) => self.write(host, to, unsent, cause, out),
                Some(Next::Close(to)) => {
                    let to = NodeId(to);
                    let seq = self.note(host, cause, Event::App(AppEvent::Closes { to }), out);
                    self.tell(host, Command::Close { to: address(to) }, Some(seq), out);
                }
            }
        }
    }

    fn tell(&mut self, host: u32, command: Command, cause: Cause, out: &mut Vec<Record<Event>>) {
        let now = self.agenda.now();
        if let Some(messenger) = &mut self.hosts[host as usize].messenger {
            messenger.handle(now, Input::Command(command), &mut self.fx);
        }
        self.carry(host, cause, out);
    }

    fn write(
        &mut self,
        host: u32,
        to: u32,
        unsent: Unsent,
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) {
        let (now, at) = (self.agenda.now(), address(NodeId(to)));
        let h = &mut self.hosts[host as usize];
        let Some(messenger) = &mut h.messenger else { return };
        let before = messenger.endpoint().sending(at);
        let Unsent { n, size, order } = unsent;
        let command = Command::Send { to: at, order, data: message(n, size) };
        messenger.handle(now, Input::Command(command), &mut self.fx);
        let talk = &mut h.talks[to as usize];
        let to = NodeId(to);
        let app = if self.fx.outputs().any(|o| matches!(o, Output::Refused { .. })) {
            talk.outbox.push_front(unsent);
            talk.waits = true;
            AppEvent::Waits { to, n }
        } else {
            let (conn, from, last) = numbers(messenger, before, at);
            AppEvent::Wrote { to, n, bytes: size, order, conn, from, last }
        };
        let seq = self.note(host, cause, Event::App(app), out);
        self.hosts[host as usize].talks[to.0 as usize].last = Some(seq);
        self.carry(host, Some(seq), out);
    }

    /// A message has come.
    pub(super) fn read(
        &mut self,
        host: u32,
        (from, conn, order, data): (u32, Conn, Order, Payload),
        cause: Cause,
        out: &mut Vec<Record<Event>>,
    ) {
        let n = number(&data);
        debug_assert_eq!(data, message(n, data.len() as u32), "what was sent is what is read");
        let taken = &mut self.hosts[host as usize].talks[from as usize].taken;
        *taken = (taken.0 + 1, taken.1 + data.len() as u64);
        let app = AppEvent::Read { from: NodeId(from), n, order, conn };
        self.note(host, cause, Event::App(app), out);
    }
}

/// The connection and the numbers of the message that was just taken.
fn numbers(
    messenger: &Messenger,
    before: Option<(Conn, u64)>,
    at: core::net::SocketAddr,
) -> (Conn, u64, u64) {
    let (conn, last) = messenger.endpoint().sending(at).unwrap_or_default();
    let first = before.filter(|(old, _)| *old == conn).map_or(1, |(_, last)| last + 1);
    (conn, first, last)
}

/// The `n`-th message: its number, then bytes that depend on it.
fn message(n: u64, size: u32) -> Payload {
    let mut bytes = alloc::vec![n as u8; size as usize];
    for (byte, digit) in bytes.iter_mut().zip(n.to_be_bytes()) {
        *byte = digit;
    }
    bytes.into()
}

fn number(data: &Payload) -> u64 {
    data.iter().take(8).fold(0, |n, byte| n << 8 | u64::from(*byte))
}
