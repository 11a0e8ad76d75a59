//! Reliable messages over datagrams: the service that joins
//! [`wire::unicast`](crate::wire::unicast), which knows bytes and no time, with
//! a [`unicast::Endpoint`], which knows time and no bytes.
//!
//! Datagrams are passed in and out as the system's fast path has them: many of
//! one size, to or from one peer, in one buffer. All effects of an input are in
//! the caller's list when the call returns; successive datagrams to one peer,
//! and successive messages from one, are one output.

mod train;

use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

use self::train::Train;
use super::cx::NodeCx;
use super::service::Service;
use super::{
    ConnEvent, ConnInput, Event, MessageCommand, MessageOutput, NodeEffects, Output, PathNews,
    UnicastMessage,
};
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::ConnId;
use crate::rng::Rng;
use crate::time::Instant;
use crate::unicast::{self, Config, Endpoint, MessageRefusal, UnicastConnId};
use crate::wire::unicast::{Packet, UnicastPayload};

/// An endpoint with its wire format.
#[derive(Debug, Clone)]
pub(super) struct Datagrams {
    endpoint: Endpoint,
    train: Train,
    /// Empty between calls; kept to reuse its memory.
    said: Fx<unicast::Output, unicast::Event>,
}

impl Datagrams {
    /// Without peers. `rng` draws the ids of connections.
    pub(super) fn new(config: &Config, rng: Rng) -> Self {
        Self {
            endpoint: Endpoint::new(config.clone(), rng),
            train: Train::default(),
            said: Fx::new(),
        }
    }

    /// The protocol engine, read-only.
    pub(super) const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Datagrams of one peer were received, each `segment` bytes long.
    pub(super) fn arrived(
        &mut self,
        cx: &mut NodeCx<'_>,
        (from, segment, data): (SocketAddr, u32, &UnicastPayload),
    ) {
        let segment = (segment as usize).max(1);
        // A message that is kept keeps the buffer it was received in: at most
        // twice its own datagram, never that of many others.
        let shared = data.len() <= 2 * segment;
        for at in (0..data.len()).step_by(segment) {
            let datagram = at..data.len().min(at + segment);
            let datagram = if shared {
                data.slice(datagram)
            } else {
                UnicastPayload::copy_from_slice(&data[datagram])
            };
            self.datagram(cx.now, from, &datagram, cx.fx);
        }
        self.answer(cx.fx);
    }

    fn datagram(
        &mut self,
        now: Instant,
        from: SocketAddr,
        data: &UnicastPayload,
        fx: &mut NodeEffects,
    ) {
        let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
        match Packet::parse(data, &self.endpoint.config().seal) {
            Ok(packet) => {
                let input = unicast::Input::Packet { peer: from, packet, bytes };
                self.endpoint.handle(now, input, &mut self.said);
            }
            Err(why) => fx.event(Event::Conn(ConnEvent::Garbled { from, bytes, why })),
        }
    }

    /// Sends until a message is refused, and returns the rest to the caller.
    fn send(
        &mut self,
        now: Instant,
        to: SocketAddr,
        messages: Vec<UnicastMessage>,
        fx: &mut NodeEffects,
    ) {
        let mut messages = messages.into_iter();
        for UnicastMessage { order, data: payload } in messages.by_ref() {
            let before = self.said.len();
            let input = unicast::Input::Send { peer: to, payload, order };
            self.endpoint.handle(now, input, &mut self.said);
            if self.said.as_slice()[before..].iter().any(is_refusal) {
                break;
            }
        }
        if let Some((first, why)) = self.answer(fx) {
            let messages = core::iter::once(first).chain(messages).collect();
            fx.output(Output::Messages(MessageOutput::Refused { to, messages, why }));
        }
    }

    /// The system said something of a path.
    pub(super) fn path(&mut self, cx: &mut NodeCx<'_>, news: PathNews) {
        let input = match news {
            PathNews::TooLarge { to: peer, bytes } => unicast::Input::TooLarge { peer, bytes },
            PathNews::Marked { from: peer, datagrams } => {
                unicast::Input::Marked { peer, datagrams }
            }
            PathNews::TestMarks { to: peer, datagrams } => {
                unicast::Input::TestMarks { peer, datagrams }
            }
        };
        self.endpoint.handle(cx.now, input, &mut self.said);
        self.answer(cx.fx);
    }

    /// What is for a peer goes to this address from now on (PA-13).
    pub(super) fn route(&mut self, cx: &mut NodeCx<'_>, peer: SocketAddr, to: SocketAddr) {
        self.endpoint.handle(cx.now, unicast::Input::Route { peer, to }, &mut self.said);
        self.answer(cx.fx);
    }

    /// The host's turn is over.
    pub(super) fn flush(&mut self, cx: &mut NodeCx<'_>) {
        self.endpoint.handle(cx.now, unicast::Input::Flush, &mut self.said);
        self.answer(cx.fx);
    }

    /// Encodes the endpoint's outputs. Returns the message that was refused, if
    /// one was.
    fn answer(&mut self, fx: &mut NodeEffects) -> Option<(UnicastMessage, MessageRefusal)> {
        let Self { endpoint, train, said } = self;
        let Config { seal, mtu, .. } = endpoint.config();
        let mut arrived = Arrived::default();
        let mut refused = None;
        for effect in said.drain() {
            if !matches!(effect, Effect::Output(unicast::Output::Packet { .. })) {
                train.leave(fx);
            }
            if !matches!(effect, Effect::Output(unicast::Output::Deliver { .. })) {
                arrived.leave(fx);
            }
            match effect {
                Effect::Event(event) => fx.event(Event::Unicast(event)),
                Effect::Output(unicast::Output::Packet { peer, packet }) => {
                    train.add(peer, &packet, (seal, *mtu), fx);
                }
                Effect::Output(unicast::Output::Deliver { peer, conn, order, payload }) => {
                    arrived.add((peer, conn), UnicastMessage { order, data: payload }, fx);
                }
                Effect::Output(unicast::Output::Refused { order, payload, why, .. }) => {
                    refused = Some((UnicastMessage { order, data: payload }, why));
                }
                Effect::Output(unicast::Output::Writable { peer }) => {
                    fx.output(Output::Messages(MessageOutput::Writable { to: peer }));
                }
            }
        }
        train.leave(fx);
        arrived.leave(fx);
        refused
    }
}

/// It has no connections, and is restored from nothing. Effects of the endpoint
/// never lead to an input of it, so they are encoded as they are.
impl Service for Datagrams {
    type Command = MessageCommand;
    type Restored = ();

    fn restore(&mut self, _: &mut NodeCx<'_>, (): ()) {}

    fn on(&mut self, _: &mut NodeCx<'_>, _: ConnId, _: ConnInput) {}

    fn read(&mut self, _: &mut NodeCx<'_>, _: ConnId) {}

    fn command(&mut self, cx: &mut NodeCx<'_>, command: MessageCommand) {
        let input = match command {
            MessageCommand::Send { to, messages } => {
                return self.send(cx.now, to, messages, cx.fx);
            }
            MessageCommand::Taken { from: peer, messages, bytes } => {
                unicast::Input::Taken { peer, messages, bytes }
            }
            MessageCommand::Close { to: peer } => unicast::Input::Close { peer },
            MessageCommand::Forget { peer, side } => unicast::Input::Forget { peer, side },
            MessageCommand::Abandon { to: peer } => unicast::Input::Abandon { peer },
        };
        self.endpoint.handle(cx.now, input, &mut self.said);
        self.answer(cx.fx);
    }

    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        self.endpoint.handle_timeout(cx.now, &mut self.said);
        self.answer(cx.fx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.endpoint.poll_timeout()
    }
}

fn is_refusal(effect: &Effect<unicast::Output, unicast::Event>) -> bool {
    matches!(effect, Effect::Output(unicast::Output::Refused { .. }))
}

/// Successive messages of one connection.
#[derive(Default)]
struct Arrived {
    from: Option<(SocketAddr, UnicastConnId)>,
    messages: Vec<UnicastMessage>,
}

impl Arrived {
    fn add(
        &mut self,
        from: (SocketAddr, UnicastConnId),
        message: UnicastMessage,
        fx: &mut NodeEffects,
    ) {
        if self.from != Some(from) {
            self.leave(fx);
            self.from = Some(from);
        }
        self.messages.push(message);
    }

    fn leave(&mut self, fx: &mut NodeEffects) {
        if let Some((from, conn)) = self.from.take() {
            let messages = mem::take(&mut self.messages);
            fx.output(Output::Messages(MessageOutput::Deliver { from, conn, messages }));
        }
    }
}
