//! Oracles: what must be true of any run of nodes that send messages, checked
//! on its records alone.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::action::UnicastAction;
use super::event::{DatagramEvent, DatagramId, Event, Label, MessagingEvent, UnicastIncident};
use super::scenario::Scenario;
use crate::check::{Oracle, RecordViolations, Violation};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::{self, DeliveryOrder, UnicastConnId};

/// The most retransmissions per lost message; a reordered one counts as lost,
/// because the sender cannot tell.
const RESENDS: u64 = 6;
/// Additional retransmissions per connection: the first message to a peer that
/// does not answer yet, and the last one.
const SPARE: u64 = 60;

/// A message that was written.
#[derive(Debug, Clone)]
struct WrittenMessage {
    conn: UnicastConnId,
    from: u64,
    last: u64,
    /// The last run of the reader in which it was read, if it was.
    read: Option<u32>,
    /// It was reported as possibly undelivered.
    named: bool,
    /// The writer, or a reader that had parts of it, has crashed since.
    excused: bool,
}

/// A connection, from the sender's events.
#[derive(Debug, Clone, Default)]
struct SenderRecord {
    ha: u64,
    hs: u64,
    resent: u64,
    /// Messages in datagrams that were lost, delayed or duplicated, and such
    /// datagrams of the other direction.
    trouble: u64,
}

/// A direction of a connection, from the reader's events.
#[derive(Debug, Clone, Default)]
struct Reader {
    boot: u32,
    last: u64,
}

/// All oracles over a world.
#[derive(Debug, Clone, Default)]
pub struct UnicastOracles {
    send_messages: u64,
    recv_messages: u64,
    /// Restarts of each node so far.
    boots: Vec<u32>,
    /// By direction and number.
    messages: BTreeMap<(u64, u64), WrittenMessage>,
    senders: BTreeMap<u64, SenderRecord>,
    /// By reader and connection.
    readers: BTreeMap<(u64, u64), Reader>,
    /// Directions whose writer waits for room, and its message.
    waiting: BTreeMap<u64, u64>,
    /// The messages in datagrams that are in transit.
    flying: BTreeMap<u64, Vec<(UnicastConnId, u64)>>,
    /// The messages in the datagram that arrived last.
    at_hand: Vec<(UnicastConnId, u64)>,
    /// Datagrams may be reordered, and then each may look lost.
    disorder: bool,
    last_sent: Option<Instant>,
    /// For this long before the end nothing may be sent.
    quiet: Duration,
    violations: Vec<Violation>,
}

fn direction(from: NodeId, to: NodeId) -> u64 {
    u64::from(from.0) << 32 | u64::from(to.0)
}

impl UnicastOracles {
    /// For a scenario: the rules depend on its configuration.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let links = scenario.ways.iter().map(|way| &way.link).chain([&scenario.link]);
        let stalls = |act: &UnicastAction| matches!(act, UnicastAction::Stall { .. });
        Self {
            send_messages: scenario.config.send_messages.into(),
            recv_messages: scenario.config.recv_messages.into(),
            boots: alloc::vec![0; scenario.nodes.len()],
            disorder: links.into_iter().any(|link| link.jitter > Duration::ZERO || link.rate > 0)
                || scenario.faults.iter().any(|fault| stalls(&fault.act)),
            ..Self::default()
        }
    }

    /// The same, with the additional rule that nothing is sent for this long
    /// before the end.
    #[must_use]
    pub const fn quiet_for(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    fn app(&mut self, node: NodeId, event: &MessagingEvent, found: &mut RecordViolations<'_>) {
        match event {
            MessagingEvent::Wrote { to, n, conn, from, last, .. } => {
                let (conn, from, last) = (*conn, *from, *last);
                let message =
                    WrittenMessage { conn, from, last, read: None, named: false, excused: false };
                self.messages.insert((direction(node, *to), *n), message);
                self.waiting.remove(&direction(node, *to));
            }
            MessagingEvent::Waits { to, n } => {
                self.waiting.insert(direction(node, *to), *n);
            }
            MessagingEvent::Read { from, n, order, conn } => {
                self.read((node, *from), *n, *order, *conn, found);
            }
            MessagingEvent::Closes { .. } | MessagingEvent::Reads { .. } => {}
        }
    }

    /// Checks that messages are read in order and exactly once (UC-1).
    fn read(
        &mut self,
        (node, from): (NodeId, NodeId),
        n: u64,
        order: DeliveryOrder,
        conn: UnicastConnId,
        found: &mut RecordViolations<'_>,
    ) {
        let boot = self.boots.get(node.0 as usize).copied().unwrap_or_default();
        let told = [("n", format!("{n}")), ("conn", format!("{conn}"))];
        let Some(message) = self.messages.get_mut(&(direction(from, node), n)) else {
            return found.violation("order", "check.never_written", told);
        };
        if message.read.replace(boot) == Some(boot) {
            found.violation("once", "check.twice", told.clone());
        }
        if order == DeliveryOrder::InOrder {
            let reader = self.readers.entry((node.0.into(), conn.0)).or_default();
            if reader.boot == boot && reader.last >= n {
                found.violation("order", "check.order", told);
            }
            *reader = Reader { boot, last: n };
        }
    }

    fn unicast(&mut self, event: &unicast::Event, found: &mut RecordViolations<'_>) {
        use unicast::Event as E;
        match event {
            E::Sent { conn, to, .. } => {
                let sender = self.senders.entry(conn.0).or_default();
                sender.hs = sender.hs.max(*to);
                let kept = sender.hs.saturating_sub(sender.ha);
                if kept > self.send_messages {
                    let kept = format!("{kept}");
                    found.violation("memory", "check.send_window", [("kept", kept)]);
                }
            }
            E::Acked { conn, highest_acked: ha, highest_sent: hs, .. } => {
                let sender = self.senders.entry(conn.0).or_default();
                if ha > hs || *ha < sender.ha || *hs > sender.hs {
                    let told = [("ha", format!("{ha}")), ("hs", format!("{hs}"))];
                    found.violation("acknowledged", "check.ha_hs", told);
                }
                sender.ha = sender.ha.max(*ha);
            }
            E::AckSent { upto, newest, .. } if newest - upto > self.recv_messages => {
                let held = format!("{}", newest - upto);
                found.violation("memory", "check.receive_window", [("held", held)]);
            }
            E::Resent { conn, from, to, .. } => {
                self.senders.entry(conn.0).or_default().resent += to - from + 1;
            }
            E::Undelivered { conn, from, to, .. } => self.named(*conn, *from, *to),
            E::Rejected { conn, .. } => {
                // It arrived and was not accepted: that is as good as lost.
                let (refused, rest) = self.at_hand.drain(..).partition(|(of, _)| of == conn);
                self.at_hand = rest;
                self.trouble(&refused);
            }
            _ => {}
        }
    }

    fn named(&mut self, conn: UnicastConnId, from: u64, to: u64) {
        for message in self.messages.values_mut() {
            let touches = message.conn == conn && message.from <= to && from <= message.last;
            message.named |= touches;
        }
    }

    fn crashed(&mut self, node: NodeId) {
        if let Some(boot) = self.boots.get_mut(node.0 as usize) {
            *boot += 1;
        }
        let (as_sender, node) = (u64::from(node.0) << 32, u64::from(node.0));
        for ((direction, _), message) in &mut self.messages {
            let wrote = direction & !u64::from(u32::MAX) == as_sender;
            // Parts of it may have been acknowledged, and are now lost.
            let had_parts = direction & u64::from(u32::MAX) == node && message.from < message.last;
            message.excused |= wrote || had_parts;
        }
        self.waiting.retain(|direction, _| direction & !u64::from(u32::MAX) != as_sender);
        self.lost_with(node);
    }

    /// A reader that crashes loses what it has not acknowledged, in whole
    /// datagrams that arrived well.
    fn lost_with(&mut self, reader: u64) {
        let to_it = |direction: &u64| direction & u64::from(u32::MAX) == reader;
        let conns: BTreeSet<u64> = (self.messages.iter())
            .filter(|((direction, _), _)| to_it(direction))
            .map(|(_, message)| message.conn.0)
            .collect();
        for conn in conns {
            if let Some(sender) = self.senders.get_mut(&conn) {
                sender.trouble += sender.hs.saturating_sub(sender.ha);
            }
        }
    }

    /// The messages in a datagram that is lost, delayed or duplicated may be
    /// sent again.
    fn datagram(&mut self, at: Instant, event: &DatagramEvent) {
        match event {
            DatagramEvent::Sent { id, blocks, .. } => {
                self.last_sent = Some(at);
                let said: Vec<(UnicastConnId, u64)> = blocks.iter().map(weight).collect();
                if self.disorder {
                    self.trouble(&said);
                } else {
                    self.flying.insert(id.0 as u64, said);
                }
            }
            DatagramEvent::Arrived { id, .. } => {
                self.at_hand = self.flying.remove(&(id.0 as u64)).unwrap_or_default();
            }
            DatagramEvent::Lost { id, .. }
            | DatagramEvent::Delayed { id, .. }
            | DatagramEvent::Duplicated { id, .. } => self.troubled(*id),
        }
    }

    fn troubled(&mut self, id: DatagramId) {
        let said = self.flying.remove(&(id.0 as u64));
        self.trouble(&said.unwrap_or_default());
    }

    fn trouble(&mut self, said: &[(UnicastConnId, u64)]) {
        for (conn, weight) in said {
            self.senders.entry(conn.0).or_default().trouble += weight;
        }
    }
}

impl Oracle for UnicastOracles {
    type Event = Event;

    fn observe(&mut self, record: &Record<Event>) {
        let mut list = core::mem::take(&mut self.violations);
        let mut found = RecordViolations::at(record, &mut list);
        match &record.event {
            Event::App(event) => self.app(record.node, event, &mut found),
            Event::Unicast(event) => self.unicast(event, &mut found),
            Event::Datagram(event) => self.datagram(record.at, event),
            Event::World(UnicastIncident::Crashed) => self.crashed(record.node),
            Event::World(_) | Event::Conn(_) => {}
        }
        self.violations = list;
    }

    /// The run has ended, long enough after its last fault: everything was read
    /// or reported as undelivered, retransmission has ended, and nothing was
    /// sent for the required time.
    fn finish(&mut self, end: Instant) {
        let mut list = core::mem::take(&mut self.violations);
        let mut found = RecordViolations::at_end(end, &mut list);
        for ((direction, n), message) in self.messages.iter() {
            if message.read.is_none() && !message.named && !message.excused {
                let told = [
                    ("from", format!("{}", direction >> 32)),
                    ("to", format!("{}", direction & u64::from(u32::MAX))),
                    ("n", format!("{n}")),
                ];
                found.violation("delivered", "check.lost_silently", told);
            }
        }
        for (direction, n) in self.waiting.iter() {
            let told = [("from", format!("{}", direction >> 32)), ("n", format!("{n}"))];
            found.violation("delivered", "check.waits", told);
        }
        for (conn, sender) in self.senders.iter() {
            let most = RESENDS * sender.trouble + SPARE;
            if sender.resent > most {
                let told = [
                    ("conn", format!("{}", UnicastConnId(*conn))),
                    ("resent", format!("{}", sender.resent)),
                    ("trouble", format!("{}", sender.trouble)),
                ];
                found.violation("resends", "check.endless", told);
            }
        }
        if let Some(at) = self.last_sent.filter(|at| end.since(*at) < self.quiet) {
            let told = [("at", format!("{}", at.as_micros()))];
            found.violation("silence", "check.noise", told);
        }
        self.violations = list;
    }

    fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

/// The connection of a block, and how many messages may be sent again when it
/// does not arrive in time.
fn weight(label: &Label) -> (UnicastConnId, u64) {
    match label {
        Label::Data { conn, from, to, .. } => (*conn, to - from + 1),
        Label::Ack { conn, missing, .. } => (*conn, 1 + *missing),
        Label::Request { conn }
        | Label::Close { conn, .. }
        | Label::Closed { conn, .. }
        | Label::Probe { conn, .. }
        | Label::SizeProbe { conn, .. }
        | Label::SizeFound { conn, .. }
        | Label::Challenge { conn }
        | Label::Response { conn } => (*conn, 1),
    }
}
