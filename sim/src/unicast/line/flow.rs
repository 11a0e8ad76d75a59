//! One flow: two nodes, the application on each side, and the way back.

use alloc::vec::Vec;

use bytes::Bytes;
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::node::{
    self, Input, MessageCommand, MessageInput, MessageOutput, Node, NodeCommand, Output, PathNews,
    RestoredNode, UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::unicast::{Config, DeliveryOrder, UnicastPayload};

use super::lie::Liar;
use super::run::{address, is_sender};
use super::{LineFlow, LineWorld};
use crate::links::datagram::Direction;

/// Messages offered at once.
const OFFER: usize = 8;
/// Of the datagrams that may be marked, those that a host marks itself.
const TESTS: core::ops::RangeInclusive<u64> = 33..=35;

/// A datagram that leaves a node.
pub(super) type Leaving = (u32, UnicastPayload);

/// A node with its application.
pub(super) struct End {
    pub(super) node: Node,
    fx: Fx<Output, node::Event>,
    /// The number of the node at the other end.
    peer: u32,
    /// The instant for which the world has planned a wake-up.
    pub(super) armed: Option<Instant>,
    /// The send window is full.
    blocked: bool,
    /// Delivered and not consumed: messages, bytes.
    untaken: (u64, u64),
    reads: bool,
    /// Bytes delivered to the application, ever.
    pub(super) delivered: u64,
    /// An end that an event reported.
    pub(super) ended: Option<Instant>,
}

impl End {
    pub(super) fn new(plan: &LineWorld, flow: &LineFlow, number: u32) -> Self {
        let dice = Rng::new(plan.seed).fork("node", u64::from(number));
        let unicast = Config { congestion: flow.congestion, ..plan.config.clone() };
        let config =
            node::Config { http: false, datagrams: Some(unicast), ..node::Config::default() };
        Self {
            node: Node::new(config, dice.fork("boot", 0).next_u64()),
            fx: Fx::new(),
            peer: number ^ 1,
            armed: None,
            blocked: false,
            untaken: (0, 0),
            reads: true,
            delivered: 0,
            ended: None,
        }
    }

    pub(super) fn start(&mut self, now: Instant, out: &mut Vec<Leaving>) {
        self.input(now, Input::Start(RestoredNode::default()), out);
    }

    pub(super) fn input(&mut self, now: Instant, input: Input, out: &mut Vec<Leaving>) {
        self.node.handle(now, input, &mut self.fx);
        self.carry_out(now, out);
    }

    pub(super) fn arrived(
        &mut self,
        now: Instant,
        from: u32,
        (data, marked): (UnicastPayload, bool),
        out: &mut Vec<Leaving>,
    ) {
        let (from, segment) = (address(from), data.len() as u32);
        self.input(now, Input::Messages(MessageInput::Datagrams { from, segment, data }), out);
        if marked {
            let news = PathNews::Marked { from, datagrams: 1 };
            self.input(now, Input::Messages(MessageInput::Path(news)), out);
        }
    }

    /// Runs the timers that are due.
    pub(super) fn wake(&mut self, now: Instant, out: &mut Vec<Leaving>) {
        while self.node.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.node.handle_timeout(now, &mut self.fx);
            self.carry_out(now, out);
        }
    }

    /// The application offers messages until the window is full.
    pub(super) fn offer(&mut self, now: Instant, payload: &Bytes, out: &mut Vec<Leaving>) {
        while !self.blocked && self.ended.is_none() {
            let message =
                || UnicastMessage { order: DeliveryOrder::InOrder, data: payload.clone() };
            let messages = (0..OFFER).map(|_| message()).collect();
            let to = address(self.peer);
            let send = MessageCommand::Send { to, messages };
            self.input(now, Input::Command(NodeCommand::Messages(send)), out);
        }
    }

    /// The application stops reading, or goes on.
    pub(super) fn read(&mut self, now: Instant, on: bool, out: &mut Vec<Leaving>) {
        self.reads = on;
        self.take(now, out);
    }

    fn take(&mut self, now: Instant, out: &mut Vec<Leaving>) {
        let (messages, bytes) = self.untaken;
        if self.reads && messages > 0 {
            self.untaken = (0, 0);
            let from = address(self.peer);
            let taken = MessageCommand::Taken { from, messages, bytes };
            self.input(now, Input::Command(NodeCommand::Messages(taken)), out);
        }
    }

    /// Bytes that have arrived and wait for something earlier.
    pub(super) fn waiting(&self) -> u64 {
        let views = self.node.datagrams().map(servent_core::unicast::Endpoint::view);
        let receivers = views.into_iter().flatten().filter_map(|peer| peer.receiver);
        receivers.map(|receiver| receiver.held).sum()
    }

    fn carry_out(&mut self, now: Instant, out: &mut Vec<Leaving>) {
        use servent_core::unicast::Event as E;
        let mut fx = core::mem::take(&mut self.fx);
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Messages(MessageOutput::Datagrams {
                    segment,
                    data,
                    ..
                })) => {
                    for at in (0..data.len()).step_by(segment as usize) {
                        let end = data.len().min(at + segment as usize);
                        out.push((self.peer, UnicastPayload::copy_from_slice(&data[at..end])));
                    }
                }
                Effect::Output(Output::Messages(MessageOutput::Deliver { messages, .. })) => {
                    let bytes: usize = messages.iter().map(|it| it.data.len()).sum();
                    self.delivered += bytes as u64;
                    self.untaken.0 += messages.len() as u64;
                    self.untaken.1 += bytes as u64;
                }
                Effect::Output(Output::Messages(MessageOutput::Refused { .. })) => {
                    self.blocked = true
                }
                Effect::Output(Output::Messages(MessageOutput::Writable { .. })) => {
                    self.blocked = false
                }
                Effect::Event(node::Event::Unicast(
                    E::Closed { .. } | E::PeerUnreachable { .. } | E::Undelivered { .. },
                )) => {
                    self.ended.get_or_insert(now);
                }
                Effect::Event(_) | Effect::Output(_) => {}
            }
        }
        self.fx = fx;
        self.take(now, out);
    }
}

/// A flow: its ends, and the datagrams on their way back.
pub(super) struct Flow {
    pub(super) ends: [End; 2],
    pub(super) back: Direction,
    pub(super) plan: LineFlow,
    /// Datagrams sent to the receiver, and those of them that might be marked.
    pub(super) sent: u64,
    pub(super) capable: u64,
    pub(super) liar: Option<Liar>,
}

impl Flow {
    pub(super) fn new(plan: &LineWorld, index: u32) -> Self {
        let flow = &plan.flows[index as usize];
        let number = 2 * index;
        debug_assert!(is_sender(number));
        Self {
            ends: [End::new(plan, flow, number), End::new(plan, flow, number + 1)],
            back: Direction::new(Rng::new(plan.seed).fork("back", u64::from(index))),
            plan: flow.clone(),
            sent: 0,
            capable: 0,
            liar: plan.lie.map(|lie| Liar::new(lie, plan.config.seal, plan.back.latency)),
        }
    }

    /// True when the sender's host says of what it sends that it may be marked (RFC 3168).
    pub(super) fn may_be_marked(&self) -> bool {
        let endpoint = self.ends[0].node.datagrams();
        endpoint.is_some_and(|endpoint| endpoint.heeds_marks(address(self.ends[0].peer)))
    }

    /// True when the next datagram leaves with a mark of the host's own, which shows
    /// whether marks arrive.
    pub(super) fn tests_marks(&mut self, now: Instant) -> bool {
        let tests = TESTS.contains(&self.capable);
        if tests {
            let news = PathNews::TestMarks { to: address(self.ends[0].peer), datagrams: 1 };
            let input = Input::Messages(MessageInput::Path(news));
            self.ends[0].input(now, input, &mut Vec::new());
        }
        tests
    }

    pub(super) fn end(&mut self, number: u32) -> &mut End {
        &mut self.ends[(number & 1) as usize]
    }
}
